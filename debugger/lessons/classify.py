"""Which mode is this: a loop as its file has it, whose row in its system's table is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import ClassVar

from ...runtime.errors import UsageError
from ...runtime.graph import StoppedBy, System
from ...runtime.text import counted
from ..words.endings import LoopKind, stopper
from .modes import NAMES, TITLES, Row, limits, row_of, table
from .question import Draw, Question, Reply, Told
from .scene import Played, Scene

_LETTERS = "abcde"
#: A loop that runs longer has no end here.
MOST = 40


@dataclass(frozen=True, eq=False)
class ModeQuestion(Question):
    """Asks for the row of the first loop of a scene. ``others``: the same body in the other rows of its table, with the
    same inputs: a wrong answer is held against what they do when they run. ``seed``: of the order of the answers."""

    still: ClassVar[bool] = True

    scene: Scene
    body: str
    others: Mapping[LoopKind, str]
    seed: int = 0
    covered: bool = True
    hints: Sequence[Told] = (
        "Two questions: does anything count the iterations? And who says whether iteration 0 runs?",
        "Look for what counts; then for the first condition: asked of something, the constant true, or nothing at all; "
        "and whether what the body yields is listened to.",
    )

    @cached_property
    def row(self) -> Row:
        """The right row, as the graph has it."""
        return row_of(self.scene.known())

    @property
    def answer(self) -> str:
        """What the right row is called."""
        return self.row.word

    @property
    def asks(self) -> str:  # type: ignore[override]
        """The loop as its file has it, and what is asked."""
        given = ", ".join(f"{name} = {value}" for name, value in self.scene.inputs.items())
        told = [f"{NAMES[self.row.system]}: {self.body}. Inputs: {given}.", *(f"  {one}" for one in self._limits)]
        return "\n".join([*told, f"Which row of {TITLES[self.row.system]} is it?"])

    @cached_property
    def _limits(self) -> list[str]:
        return limits(self.scene.known())

    @cached_property
    def choices(self) -> dict[str, str]:
        """The kinds of loops that the table has."""
        words = [row.word for row in table(self.row.system)]
        return dict(zip(_LETTERS, Random(self.seed).sample(words, len(words)), strict=False))

    def judge(self, text: str) -> Reply:
        """What is said to an answer: why, and what running it gives.

        Raises:
            UsageError: it is no row of the table.
        """
        word = text.strip().strip("'\"").lower()
        word = self.choices.get(word, word)
        kinds = {row.word: row for row in table(self.row.system)}
        if word not in kinds:
            raise UsageError(f"'{text}' is no answer here; there are {', '.join(kinds)}")
        if word == self.answer:
            return Reply(True, f"In {self._why()} With these inputs it {_ran(self.scene.played)}.")
        return Reply(False, f"{self._otherwise(kinds[word])} The answer is {self.answer}: in {self._why()}")

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return str(self.hints[number])
        return f"The answer is {self.answer}: in {self._why()}"

    def tells(self, number: int) -> bool:
        return number >= len(self.hints)

    def _why(self) -> str:
        return f"row {self.row.inputs} {self.row.ends}."

    def _otherwise(self, row: Row) -> str:
        """What the same body does in another row, beside what this one does: with numbers that tell them apart."""
        if row.kind not in self.others:
            return f"It is not {row.word}: with these inputs it {_ran(self.scene.played)}."
        for inputs in self._trials():
            other = Scene(self.others[row.kind], inputs, self.scene.folder, MOST)
            this = replace(self.scene, inputs=inputs)
            if other.played.iterations != this.played.iterations:
                break
        given = ", ".join(f"{name} = {value}" for name, value in inputs.items())
        return f"With {given} a loop of row {row.text}, {_ran(other.played)}; this one {_ran(this.played)}."

    def _trials(self) -> Iterator[Mapping[str, int]]:
        """Inputs to run it with: those that are given, and such as the first condition, or the count, decides on."""
        given = self.scene.inputs
        yield given
        yield {**given, "x0": given["limit"] + 1}
        yield {**given, "n": 2, "x0": 1}


def _ran(played: Played) -> str:
    """``makes 3 iterations, and the condition ends it``."""
    if played.ended is StoppedBy.LIMIT:
        return f"does not end: it was stopped after {counted(played.iterations, 'iteration')}"
    ended = played.ended
    stopped_by = "nothing" if ended is None else stopper(ended)
    return f"makes {counted(played.iterations, 'iteration')}, and {stopped_by} ends it"


#: The loops that are asked about: bodies by what they do, and the file of each row.
_BODIES = {"adds": "x_next = x + 2", "doubles": "x_next = x + x"}
_FILES = {System.ONNX: ("onnx", "onnxtxt"), System.OPENVINO: ("ir", "xml"), System.TENSORRT: ("trt", "py")}
_NUMBERS = {
    LoopKind.ENDLESS: 3,
    LoopKind.WHILE: 1,
    LoopKind.DO_WHILE: 5,
    LoopKind.FOR: 2,
    LoopKind.FOR_WHILE: 4,
}


def mode(system: System, *kinds: LoopKind) -> Draw:
    """Asks for the mode of a loop of a system: one of these rows, or any."""
    rows = [row for row in table(system) if not kinds or row.kind in kinds]

    def draw(random: Random) -> Question:
        row, name = random.choice(rows), random.choice(sorted(_BODIES))
        prefix, suffix = _FILES[system]
        files = {one.kind: f"{prefix}_{name}_{_NUMBERS[one.kind]}.{suffix}" for one in table(system)}
        scene = Scene(files[row.kind], _inputs(random), most=MOST)
        return ModeQuestion(scene, f"{_BODIES[name]} in the body", files, random.randrange(1 << 30))

    return draw


def _inputs(random: Random) -> Mapping[str, int]:
    """Numbers with which iteration 0 runs in every row: a loop that opens after its end would say what it is."""
    return {"n": random.randint(6, 9), "x0": random.randint(1, 4), "limit": random.randint(6, 14)}
