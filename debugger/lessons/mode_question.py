"""Which mode is this: a loop as its file has it, whose row in its system's table is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import ClassVar

from ...runtime.errors import UsageError
from ...runtime.graph import StoppedBy, System
from ...runtime.text import count_text
from ..describe.termination import LoopKind, stop_cause
from .loop_modes import SYSTEM_NAMES, TABLE_TITLES, LoopMode, find_mode, limit_lines, modes_of_system
from .question import Feedback, Question, QuestionGenerator, RunText
from .scene import Scene, SceneRun

_CHOICE_LETTERS = "abcde"
#: A loop that runs longer has no end here.
MAX_ITERATIONS = 40


@dataclass(frozen=True, eq=False)
class ModeQuestion(Question):
    """Asks for the row of the first loop of a scene. ``others``: the same body in the other rows of its table, with the
    same inputs: a wrong answer is held against what they do when they run. ``seed``: of the order of the answers."""

    freezes_scene: ClassVar[bool] = True

    scene: Scene
    body_text: str
    variant_files: Mapping[LoopKind, str]
    seed: int = 0
    hides_listing: bool = True
    hints: Sequence[RunText] = (
        "Two questions: does anything count the iterations? And who says whether iteration 0 runs?",
        "Look for what counts; then for the first condition: asked of something, the constant true, or nothing at all; "
        "and whether what the body yields is listened to.",
    )

    @cached_property
    def row(self) -> LoopMode:
        """The right row, as the graph has it."""
        return find_mode(self.scene.cached_model())

    @property
    def answer(self) -> str:
        """What the right row is called."""
        return self.row.kind_text

    @property
    def prompt(self) -> str:  # type: ignore[override]
        """The loop as its file has it, and what is asked."""
        given = ", ".join(f"{name} = {value}" for name, value in self.scene.inputs.items())
        told = [
            f"{SYSTEM_NAMES[self.row.system]}: {self.body_text}. Inputs: {given}.",
            *(f"  {one}" for one in self._limit_lines),
        ]
        return "\n".join([*told, f"Which row of {TABLE_TITLES[self.row.system]} is it?"])

    @cached_property
    def _limit_lines(self) -> list[str]:
        return limit_lines(self.scene.cached_model())

    @cached_property
    def choices(self) -> dict[str, str]:
        """The kinds of loops that the table has."""
        words = [row.kind_text for row in modes_of_system(self.row.system)]
        return dict(zip(_CHOICE_LETTERS, Random(self.seed).sample(words, len(words)), strict=False))

    def grade(self, text: str) -> Feedback:
        """What is said to an answer: why, and what running it gives.

        Raises:
            UsageError: it is no row of the table.
        """
        word = text.strip().strip("'\"").lower()
        word = self.choices.get(word, word)
        kinds = {row.kind_text: row for row in modes_of_system(self.row.system)}
        if word not in kinds:
            raise UsageError(f"'{text}' is no answer here; there are {', '.join(kinds)}")
        if word == self.answer:
            return Feedback(
                True, f"In {self._explanation()} With these inputs it {_run_summary(self.scene.reference_run)}."
            )
        return Feedback(
            False, f"{self._counterexample(kinds[word])} The answer is {self.answer}: in {self._explanation()}"
        )

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return str(self.hints[number])
        return f"The answer is {self.answer}: in {self._explanation()}"

    def reveals_answer(self, number: int) -> bool:
        return number >= len(self.hints)

    def _explanation(self) -> str:
        return f"row {self.row.inputs} {self.row.ending_text}."

    def _counterexample(self, row: LoopMode) -> str:
        """What the same body does in another row, beside what this one does: with numbers that tell them apart."""
        if row.kind not in self.variant_files:
            return f"It is not {row.kind_text}: with these inputs it {_run_summary(self.scene.reference_run)}."
        for inputs in self._trial_inputs():
            other = Scene(self.variant_files[row.kind], inputs, self.scene.folder, MAX_ITERATIONS)
            this = replace(self.scene, inputs=inputs)
            if other.reference_run.iterations != this.reference_run.iterations:
                break
        given = ", ".join(f"{name} = {value}" for name, value in inputs.items())
        return (
            f"With {given} a loop of row {row.text}, {_run_summary(other.reference_run)}; this one"
            f" {_run_summary(this.reference_run)}."
        )

    def _trial_inputs(self) -> Iterator[Mapping[str, int]]:
        """Inputs to run it with: those that are given, and such as the first condition, or the count, decides on."""
        given = self.scene.inputs
        yield given
        yield {**given, "x0": given["limit"] + 1}
        yield {**given, "n": 2, "x0": 1}


def _run_summary(played: SceneRun) -> str:
    """``makes 3 iterations, and the condition ends it``."""
    if played.stopped_by is StoppedBy.LIMIT:
        return f"does not end: it was stopped after {count_text(played.iterations, 'iteration')}"
    ended = played.stopped_by
    stopped_by = "nothing" if ended is None else stop_cause(ended)
    return f"makes {count_text(played.iterations, 'iteration')}, and {stopped_by} ends it"


#: The loops that are asked about: bodies by what they do, and the file of each row.
_BODY_TEXTS = {"adds": "x_next = x + 2", "doubles": "x_next = x + x"}
_FILE_AFFIXES = {System.ONNX: ("onnx", "onnxtxt"), System.OPENVINO: ("ir", "xml"), System.TENSORRT: ("trt", "py")}
_FILE_NUMBERS = {
    LoopKind.ENDLESS: 3,
    LoopKind.WHILE: 1,
    LoopKind.DO_WHILE: 5,
    LoopKind.FOR: 2,
    LoopKind.FOR_WHILE: 4,
}


def mode_question_generator(system: System, *kinds: LoopKind) -> QuestionGenerator:
    """Asks for the mode of a loop of a system: one of these rows, or any."""
    rows = [row for row in modes_of_system(system) if not kinds or row.kind in kinds]

    def draw(random: Random) -> Question:
        row, name = random.choice(rows), random.choice(sorted(_BODY_TEXTS))
        prefix, suffix = _FILE_AFFIXES[system]
        files = {one.kind: f"{prefix}_{name}_{_FILE_NUMBERS[one.kind]}.{suffix}" for one in modes_of_system(system)}
        scene = Scene(files[row.kind], _random_inputs(random), max_iterations=MAX_ITERATIONS)
        return ModeQuestion(scene, f"{_BODY_TEXTS[name]} in the body", files, random.randrange(1 << 30))

    return draw


def _random_inputs(random: Random) -> Mapping[str, int]:
    """Numbers with which iteration 0 runs in every row: a loop that opens after its end would say what it is."""
    return {"n": random.randint(6, 9), "x0": random.randint(1, 4), "limit": random.randint(6, 14)}
