"""The built-in course: the files of this folder, and what Python computes for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

from ..course_reader import LessonCode, read_built_in_lesson
from ..lesson import Card, CardKind, Course, ExerciseSet, Quiz
from ..loop_modes import LOOP_MODES, SYSTEM_NAMES
from ..mode_question import mode_question_generator
from ..question import Question, QuestionGenerator
from ..scene import Scene
from .computed_values import COMPUTED_VALUES, DRAWN_INPUTS, sequential_assignment
from .state_questions import STATE_QUESTIONS

_Compare = Callable[[Scene, str], str]


def _absent_condition_note(scene: Scene, compare: _Compare) -> str:
    return (
        "ONNX Runtime and OpenVINO test what the body yields all the same, and stop where more is false: know this "
        "before you convert a model. "
        f"{compare(Scene('climb_absent.onnxtxt', {'n': 6, 'x0': 0}), 'onnxruntime')} shows it."
    )


def _simultaneous_back_edges_note(scene: Scene, compare: _Compare) -> str:
    scene = Scene("swap.onnxtxt", {"n": 3, "a0": 1, "b0": 2})
    values = sequential_assignment(scene.reference_run)
    return (
        f"OpenVINO's CPU plugin writes back edges one after another where a body hands an input on: it gives "
        f"{tuple(values)} here. {compare(scene, 'openvino')} shows it."
    )


def _tensor_iterator_note(scene: Scene, compare: _Compare) -> str:
    return (
        "OpenVINO's CPU plugin reads from element 0 on, wherever the range begins: "
        f"{compare(Scene('cut_tail.xml'), 'openvino')} shows it. And it refuses a range whose end is not -1 or 0: it "
        "counts the end in when it infers shapes, and not when it runs."
    )


def _mode_questions() -> Mapping[str, tuple[Question, QuestionGenerator]]:
    generators = {f"{system.name.lower()}_modes": mode_question_generator(system) for system in SYSTEM_NAMES}
    return {name: (generator(Random(0)), generator) for name, generator in generators.items()}


_CODE = LessonCode(
    COMPUTED_VALUES,
    DRAWN_INPUTS,
    {**STATE_QUESTIONS, **_mode_questions()},
    {
        "absent_condition": _absent_condition_note,
        "simultaneous_back_edges": _simultaneous_back_edges_note,
        "tensor_iterator_parts": _tensor_iterator_note,
    },
)
#: The questions of the quiz, which covers every row of the three tables.
_QUIZ_LENGTH = 20


def deal_quiz_cards(random: Random) -> Sequence[Card]:
    """Draw each row once and some twice, shuffled."""
    rows = [*LOOP_MODES, *random.sample(LOOP_MODES, _QUIZ_LENGTH - len(LOOP_MODES))]
    random.shuffle(rows)
    scene = Scene("onnx_adds_1.onnxtxt", {"n": 6, "x0": 12, "limit": 9})
    cards = [
        Card(CardKind.QUIZ, "", scene, generate_question=mode_question_generator(row.system, row.kind), row=row)
        for row in rows
    ]
    return (*cards, Card(CardKind.LAST, "", scene))


_QUIZ = Quiz(
    23,
    "Quiz: twenty loops, all rows of the three tables",
    10,
    deal_quiz_cards(Random(0)),
    "Name the row of any loop, in the table of its system.",
    card_generator=deal_quiz_cards,
)
#: The lessons in order: the names of their files, or the quiz, which is drawn.
_SOURCES: Sequence[str | ExerciseSet] = (
    "repeated_body",
    "back_edge",
    "condition_timing",
    "initial_condition",
    "two_limits",
    "absent_condition",
    "simultaneous_back_edges",
    "captures",
    "sliced_inputs",
    "concatenated_outputs",
    "nested_loops",
    "three_systems",
    "final_exercises",
    "onnx_modes",
    "openvino_modes",
    "tensorrt_modes",
    "tensor_iterator_parts",
    "scan_directions",
    "branches",
    "recurrent_layers",
    "tensorrt_outputs",
    "inner_iteration_counts",
    _QUIZ,
    "test_a_loop",
    "cost_of_a_run",
    "narrow_numbers",
    "work_outside_the_loop",
    "faults_without_reference",
    "invariants_of_runs",
)


@cache
def _read_lesson(name: str) -> tuple[ExerciseSet, Mapping[str, QuestionGenerator]]:
    path = Path(__file__).with_name(f"{name}.toml")
    return read_built_in_lesson(_SOURCES.index(name) + 1, path, _CODE, _question_generator)


def _question_generator(name: str) -> QuestionGenerator:
    """A question of another lesson, as ``file.question``."""
    file, _, question = name.partition(".")
    return _read_lesson(file)[1][question]


class _BuiltInLessons(Mapping[int, ExerciseSet]):
    """The lessons by number; a file is read when its lesson is first used."""

    def __getitem__(self, number: int) -> ExerciseSet:
        if not 1 <= number <= len(_SOURCES):
            raise KeyError(number)
        source = _SOURCES[number - 1]
        return _read_lesson(source)[0] if isinstance(source, str) else source

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, len(_SOURCES) + 1))

    def __len__(self) -> int:
        return len(_SOURCES)


LESSONS_BY_NUMBER: Mapping[int, ExerciseSet] = _BuiltInLessons()
COURSE = Course("loops", "Loops in neural-network models", LESSONS_BY_NUMBER)
