"""Lesson 9: cutting."""

from __future__ import annotations

from ..lesson import Lesson, Step
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene
from . import absent

SCENE = Scene("digits.onnxtxt", {"x": [1, 2, 3, 4]})


def _number(played: Played, loop: str, iteration: int) -> int | None:
    """What number is before an iteration; None where there is none."""
    if iteration > len(played["x"]):
        return None
    number: int = played.received(loop, "number", iteration)
    return number


def _put_before(played: Played) -> int:
    """The second digit in front of the first, not behind it."""
    first, second = played["x"][-1], played["x"][-2]
    return int(f"{second}{first}")


ASK = ValueQuestion(
    SCENE,
    lambda played: f"x is {played['x']}: in backwards, before iteration 2, what is number?",
    lambda played: _number(played, "backwards", 2),
    lambda played: f"Two parts have come, from the end: {played['x'][-1]}, then {played['x'][-2]} behind it.",
    (
        Wrong(lambda played: _number(played, "forwards", 2), "That is forwards."),
        Wrong(
            _put_before,
            lambda played: (
                f"{played['x'][-1]} comes first, then {played['x'][-2]}, and each is put behind: "
                f"{played['x'][-1]}, then {played['x'][-1]}·10 + {played['x'][-2]}."
            ),
        ),
        Wrong(lambda played: _number(played, "backwards", 1), "That is one part; two come before iteration 2."),
        Wrong(lambda played: _number(played, "backwards", 3), "That is after three parts, one iteration further."),
    ),
    "`f`, then `s` into backwards, and `s` twice: what does the row of number say?",
    ("Which part comes first?", "`scene A` may be run: `f`, `s` into backwards, `s`, `s`; read the row of number."),
)
DRAW = varied(ASK, lambda random: {"x": random.sample(range(1, 10), random.randint(3, 5))})
LESSON = Lesson(
    9,
    "Cutting",
    5,
    "Know what a sliced input hands out, from either end, and what ends such a loop.",
    ("sliced input", "part"),
    {"A": SCENE},
    "Two loops without a count, over the sliced input x: each iteration gets one part of it, its digit, and makes "
    "number_next = number·10 + digit, from 0. The first reads x from the front and gives 1234; the second reads it "
    "from the back.",
    (
        Step("s", "step", "the first part: number is 1"),
        Step("s", "step", "the second: number is 12"),
        Step("f", "finish", "to the end of forwards"),
        Step("s", "step", "twice: into backwards, and one iteration: number is 4", 2),
        Step("f", "finish", "to its end"),
        Step("W", "why", "what ended it"),
    ),
    "In the listing of backwards the part is cut as `x[k-1-i]`, in forwards as x[i]; why says: x has `no more part`. "
    "No count is given.",
    ASK,
    DRAW,
    "One part an iteration, from the front or the back; no part left, no iteration. ONNX Scan and TensorRT's iterator "
    "drop the axis (digit is a scalar), OpenVINO keeps it ([1]); in an ONNX Loop the body indexes with i.",
    first=absent.ONCE_MORE,
)
