"""Lesson 17: parts of a TensorIterator."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from ....runtime.text import counted
from ..lesson import Card, Kind, Step, Tasks
from ..question import Draw, Question, ValueQuestion, Wrong, one_of, varied
from ..scene import Scene


class Cut:
    """How a TensorIterator cuts x, as its file has it."""

    def __init__(self, file: str, start: int = 0, end: int = -1, stride: int = 1, size: int = 1) -> None:
        self.file, self.start, self.end, self.stride, self.size = file, start, end, stride, size

    @property
    def text(self) -> str:
        """Its attributes."""
        return f'start="{self.start}" end="{self.end}" stride="{self.stride}" part_size="{self.size}"'

    def parts(
        self, x: list[int], *, start: int | None = None, backward: bool | None = None, more: int = 0
    ) -> list[Any]:
        """What a rule makes of it: all parts one after the other, ten times. ``start``: another one; ``backward``:
        the other direction; ``more``: so many elements beyond the end."""
        first, last = (v if v >= 0 else len(x) + 1 + v for v in (self.start, self.end))
        low, high = min(first, last), max(first, last)
        if start is not None:
            low, high = start, start + high - low
        pieces = [x[k : k + self.size] for k in range(low, min(high + more, len(x)), abs(self.stride))]
        back = self.stride < 0 if backward is None else backward
        return [10 * value for piece in (reversed(pieces) if back else pieces) for value in piece]


CUTS = (
    Cut("cut_pairs.xml", stride=2, size=2),
    Cut("cut_threes.xml", stride=3, size=3),
    Cut("cut_range.xml", start=1, end=5),
    Cut("cut_from_end.xml", start=-5, end=-2),
    Cut("cut_tail.xml", start=2),
    Cut("cut_back.xml", start=-1, end=0, stride=-1),
    Cut("cut_pairs_back.xml", start=-1, end=0, stride=-2, size=2),
    Cut("cut_range_back.xml", start=5, end=2, stride=-1),
)
_SIX = [1, 2, 3, 4, 5, 6]


def cut_question(cut: Cut) -> ValueQuestion:
    """What a TensorIterator joins of ten times its parts."""
    scene = Scene(cut.file, {"x": _SIX})
    return ValueQuestion(
        scene,
        lambda played: (
            f"A TensorIterator cuts x = {played['x']} with {cut.text}. Each iteration makes ten times its part; tens "
            "joins them in the order of the iterations. What is tens?"
        ),
        lambda played: played["tens"],
        lambda played: (
            f"It runs {played.iterations} iterations, with {counted(cut.size, 'element')} each. A negative start "
            "or end counts from one behind the last element, end is exclusive, and a negative stride turns the order "
            "of the parts, not what is inside of them."
        ),
        (
            Wrong(lambda played: cut.parts(played["x"], backward=cut.stride > 0), "The parts come in the other order."),
            Wrong(
                lambda played: cut.parts(played["x"])[::-1],
                "Inside of a part nothing is turned round, whatever the sign of the stride.",
            ),
            Wrong(
                lambda played: cut.parts(played["x"], start=0),
                "That begins at element 0; start says where the range begins.",
            ),
            Wrong(lambda played: cut.parts(played["x"], more=1), "That is one element too many: end is exclusive."),
            Wrong(lambda played: [10 * v for v in played["x"]], "That is all of x in its own order."),
            Wrong(
                lambda played: [10 * v for v in played["x"][:: abs(cut.stride)]],
                "A part has part_size elements; stride is only how far it is to the next part.",
            ),
            Wrong(lambda played: cut.parts(played["x"])[: -cut.size], "One part is missing."),
            Wrong(lambda played: cut.parts(played["x"])[cut.size :], "One part is missing."),
        ),
        "`r`, then `s`: the row of part among the inputs of the body says what each iteration gets.",
        (
            "First which elements lie in the range, then how many a part has, then in which order the parts come.",
            "`scene A` and `scene B` may be run: `s`, and watch part.",
        ),
        choice=True,
    )


def _six(random: Random) -> dict[str, Any]:
    return {"x": random.sample(range(1, 10), 6)}


def _cut(*files: str) -> Draw:
    return one_of(*(varied(cut_question(cut), _six) for cut in CUTS if cut.file in files))


def _number(cut: Cut) -> ValueQuestion:
    """How many iterations a cut makes."""
    return ValueQuestion(
        Scene(cut.file, {"x": _SIX}),
        f"A TensorIterator cuts six elements with {cut.text}. How many iterations run?",
        lambda played: played.iterations,
        lambda played: (
            f"From start to end it is {played.iterations * abs(cut.stride)} elements, a part every {abs(cut.stride)}."
        ),
        (
            Wrong(lambda played: played.iterations + 1, "That is one too many: end is exclusive."),
            Wrong(lambda _: 6, "That is the number of elements; not every one begins a part."),
        ),
        "`f` runs it, and the title says how many.",
        ("How many elements lie between start and end?", "`scene A` and `scene B` may be run."),
        covered=True,
    )


def _how_many(random: Random) -> Question:
    """How many iterations a cut makes: each number as often as the others."""
    counts: dict[int, list[ValueQuestion]] = {}
    for question in map(_number, CUTS):
        counts.setdefault(question.answer, []).append(question)
    return random.choice(counts[random.choice(sorted(counts))]).drawn(random, {})


def _parts_note(scene: Scene, against: Callable[[Scene, str], str]) -> str:
    return (
        "OpenVINO's CPU plugin reads from element 0 on, wherever the range begins: "
        f"{against(Scene('cut_tail.xml'), 'openvino')} shows it. And it refuses a range whose end is not -1 or 0: it "
        "counts the end in when it infers shapes, and not when it runs."
    )


_PARTS = {"A": Scene("cut_pairs.xml", {"x": _SIX}), "B": Scene("cut_back.xml", {"x": _SIX})}
LESSON = Tasks(
    17,
    "Parts: start, end, stride, part_size",
    7,
    (
        Card(
            Kind.READ,
            "OpenVINO's TensorIterator cuts a tensor along an axis: start and end are the range, stride is how far it "
            "is from one part to the next, part_size how many elements a part has. In A stride and part_size are 2, "
            "in B the stride is -1.",
            _PARTS["A"],
        ),
        Card(
            Kind.DO,
            "",
            _PARTS["A"],
            steps=(
                Step("s", "step", "the first part of A: two elements"),
                Step("f", "finish", "to its end: three parts"),
                Step("scene B", "scene", "the same x from its end"),
                Step("s", "step", "the first part of B is the last element"),
                Step("f", "finish", "to its end: six parts"),
            ),
        ),
        Card(Kind.ASK, "", _PARTS["A"], draw=_cut("cut_pairs.xml", "cut_threes.xml")),
        Card(Kind.ASK, "", _PARTS["A"], draw=_cut("cut_range.xml", "cut_from_end.xml", "cut_tail.xml")),
        Card(Kind.ASK, "", _PARTS["A"], draw=_cut("cut_back.xml", "cut_range_back.xml")),
        Card(Kind.ASK, "", _PARTS["A"], draw=_cut("cut_pairs_back.xml")),
        Card(Kind.ASK, "", _PARTS["A"], draw=_how_many),
        Card(Kind.LAST, "start and end say which elements, part_size how many together, stride how far to the next.",
             _PARTS["A"]),
    ),
    "Read how a TensorIterator cuts its input.",
    _PARTS,
    _parts_note,
)  # fmt: skip
