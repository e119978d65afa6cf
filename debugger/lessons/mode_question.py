"""Questions for the mode of a loop: its row in its system's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import ClassVar

from ...runtime.errors import UsageError
from ...runtime.graph import StoppedBy, System
from ...runtime.text import count_text
from ..describe.termination import LoopKind, loop_end_cause
from .loop_modes import SYSTEM_NAMES, TABLE_TITLES, LoopMode, find_loop_mode, limit_lines, modes_of_system
from .question import Feedback, Question, QuestionGenerator, RunText
from .scene import Scene, SceneRun

_CHOICE_LETTERS = "abcde"
#: A loop that runs longer counts as endless.
MAX_ITERATIONS = 40


@dataclass(frozen=True, eq=False)
class ModeQuestion(Question):
    """Asks for the row of a scene's first loop. ``variant_files``: models with the same body in the other rows, run
    as counterexamples to wrong answers. ``seed``: the order of the choices."""

    locks_scene: ClassVar[bool] = True

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
        """The correct row, classified from the graph."""
        return find_loop_mode(self.scene.cached_model())

    @property
    def answer(self) -> str:
        """The kind of the correct row."""
        return self.row.kind_text

    @property
    def prompt(self) -> str:  # type: ignore[override]
        """The limits of the loop, and the question."""
        inputs = ", ".join(f"{name} = {value}" for name, value in self.scene.inputs.items())
        lines = [
            f"{SYSTEM_NAMES[self.row.system]}: {self.body_text}. Inputs: {inputs}.",
            *(f"  {line}" for line in self._limit_lines),
        ]
        return "\n".join([*lines, f"Which row of {TABLE_TITLES[self.row.system]} is it?"])

    @cached_property
    def _limit_lines(self) -> list[str]:
        return limit_lines(self.scene.cached_model())

    @cached_property
    def choices(self) -> dict[str, str]:
        """The kinds of loops in the table."""
        words = [row.kind_text for row in modes_of_system(self.row.system)]
        return dict(zip(_CHOICE_LETTERS, Random(self.seed).sample(words, len(words)), strict=False))

    def grade(self, text: str) -> Feedback:
        """Grade an answer, with the explanation and the result of a run.

        Raises:
            UsageError: the answer is no row of the table.
        """
        word = text.strip().strip("'\"").lower()
        word = self.choices.get(word, word)
        kinds = {row.kind_text: row for row in modes_of_system(self.row.system)}
        if word not in kinds:
            raise UsageError(
                f"'{text}' is no answer here; there are {', '.join(kinds)}", expected=", ".join(kinds), got=text
            )
        if word == self.answer:
            return Feedback(
                True, f"In {self._explanation()} With these inputs it {_run_summary(self.scene.reference_run)}."
            )
        return Feedback(
            False, f"{self._find_counterexample(kinds[word])} The answer is {self.answer}: in {self._explanation()}"
        )

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return str(self.hints[number])
        return f"The answer is {self.answer}: in {self._explanation()}"

    def reveals_answer(self, number: int) -> bool:
        return number >= len(self.hints)

    def _explanation(self) -> str:
        return f"row {self.row.inputs} {self.row.ending_text}."

    def _find_counterexample(self, row: LoopMode) -> str:
        """Compare the loop with the same body in another row, with inputs that distinguish them."""
        if row.kind not in self.variant_files:
            return f"It is not {row.kind_text}: with these inputs it {_run_summary(self.scene.reference_run)}."
        for inputs in self._trial_inputs():
            variant = Scene(self.variant_files[row.kind], inputs, self.scene.folder, MAX_ITERATIONS)
            original = replace(self.scene, inputs=inputs)
            if variant.reference_run.iterations != original.reference_run.iterations:
                break
        values = ", ".join(f"{name} = {value}" for name, value in inputs.items())
        return (
            f"With {values} a loop of row {row.text}, {_run_summary(variant.reference_run)}; this one"
            f" {_run_summary(original.reference_run)}."
        )

    def _trial_inputs(self) -> Iterator[Mapping[str, int]]:
        """Trial inputs: the given ones, and ones for which the initial condition or the count decides."""
        inputs = self.scene.inputs
        yield inputs
        yield {**inputs, "x0": inputs["limit"] + 1}
        yield {**inputs, "n": 2, "x0": 1}


def make_mode_question(scene: Scene) -> ModeQuestion:
    """Create the question for the mode of the first loop of a scene's model.

    Raises:
        UsageError: the model has no loop, or no row of the table matches.
    """
    model = scene.cached_model()
    if not model.loops:
        raise UsageError(f"{scene.path.name} has no loop whose mode could be asked for")
    try:
        find_loop_mode(model)
    except StopIteration:
        raise UsageError(f"the loop of {scene.path.name} is in no row of its system's table") from None
    name = model.loops[0].name
    return ModeQuestion(
        Scene(scene.model, scene.inputs, scene.folder, MAX_ITERATIONS), f"loop '{name}' of {scene.model}", {}
    )


def _run_summary(run: SceneRun) -> str:
    """``makes 3 iterations, and the condition ends it``."""
    if run.stopped_by is StoppedBy.LIMIT:
        return f"does not end: it was stopped after {count_text(run.iterations, 'iteration')}"
    cause = run.stopped_by
    cause_text = "nothing" if cause is None else loop_end_cause(cause)
    return f"makes {count_text(run.iterations, 'iteration')}, and {cause_text} ends it"


#: The bodies of the questions, and the file name parts of each row.
_BODY_TEXTS = {"adds": "x_next = x + 2", "doubles": "x_next = x + x"}
_FILE_AFFIXES = {System.ONNX: ("onnx", "onnxtxt"), System.OPENVINO: ("ir", "xml"), System.TENSORRT: ("trt", "py")}
_FILE_NUMBERS = {LoopKind.ENDLESS: 3, LoopKind.WHILE: 1, LoopKind.DO_WHILE: 5, LoopKind.FOR: 2, LoopKind.FOR_WHILE: 4}


def mode_question_generator(system: System, *kinds: LoopKind) -> QuestionGenerator:
    """A generator of mode questions for a system, limited to some kinds if given."""
    rows = [row for row in modes_of_system(system) if not kinds or row.kind in kinds]

    def draw(random: Random) -> Question:
        row, name = random.choice(rows), random.choice(sorted(_BODY_TEXTS))
        prefix, suffix = _FILE_AFFIXES[system]
        files = {mode.kind: f"{prefix}_{name}_{_FILE_NUMBERS[mode.kind]}.{suffix}" for mode in modes_of_system(system)}
        scene = Scene(files[row.kind], _random_inputs(random), max_iterations=MAX_ITERATIONS)
        return ModeQuestion(scene, f"{_BODY_TEXTS[name]} in the body", files, random.randrange(1 << 30))

    return draw


def _random_inputs(random: Random) -> Mapping[str, int]:
    """Inputs with which iteration 0 runs in every row, so that the initial stop reveals nothing."""
    return {"n": random.randint(6, 9), "x0": random.randint(1, 4), "limit": random.randint(6, 14)}
