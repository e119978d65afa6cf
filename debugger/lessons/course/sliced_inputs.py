"""Lesson 9: cutting."""

from __future__ import annotations

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun
from . import absent_condition

SCENE = Scene("digits.onnxtxt", {"x": [1, 2, 3, 4]})


def _number_before_iteration(run: SceneRun, loop: str, iteration: int) -> int | None:
    """The value of number before an iteration; None if it does not exist."""
    if iteration > len(run["x"]):
        return None
    number: int = run.carried_value(loop, "number", iteration)
    return number


def _prepended_digits(run: SceneRun) -> int:
    """The number with the second digit put before the first."""
    first, second = run["x"][-1], run["x"][-2]
    return int(f"{second}{first}")


QUESTION = ValueQuestion(
    SCENE,
    lambda run: f"x is {run['x']}: in backwards, before iteration 2, what is number?",
    lambda run: _number_before_iteration(run, "backwards", 2),
    lambda run: f"Two parts have come, from the end: {run['x'][-1]}, then {run['x'][-2]} behind it.",
    (
        WrongRule(lambda run: _number_before_iteration(run, "forwards", 2), "That is forwards."),
        WrongRule(
            _prepended_digits,
            lambda run: (
                f"{run['x'][-1]} comes first, then {run['x'][-2]}, and each is put behind: "
                f"{run['x'][-1]}, then {run['x'][-1]}·10 + {run['x'][-2]}."
            ),
        ),
        WrongRule(
            lambda run: _number_before_iteration(run, "backwards", 1), "That is one part; two come before iteration 2."
        ),
        WrongRule(
            lambda run: _number_before_iteration(run, "backwards", 3),
            "That is after three parts, one iteration further.",
        ),
    ),
    "`f`, then `s` into backwards, and `s` twice: what does the row of number say?",
    ("Which part comes first?", "`scene A` may be run: `f`, `s` into backwards, `s`, `s`; read the row of number."),
)
generate_question = vary_inputs(QUESTION, lambda random: {"x": random.sample(range(1, 10), random.randint(3, 5))})
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
        LessonStep("s", "step", "the first part: number is 1"),
        LessonStep("s", "step", "the second: number is 12"),
        LessonStep("f", "finish", "to the end of forwards"),
        LessonStep("s", "step", "twice: into backwards, and one iteration: number is 4", 2),
        LessonStep("f", "finish", "to its end"),
        LessonStep("W", "why", "what ended it"),
    ),
    "In the listing of backwards the part is cut as `x[k-1-i]`, in forwards as x[i]; why says: x has `no more part`. "
    "No count is given.",
    QUESTION,
    generate_question,
    "One part an iteration, from the front or the back; no part left, no iteration. ONNX Scan and TensorRT's iterator "
    "drop the axis (digit is a scalar), OpenVINO keeps it ([1]); in an ONNX Loop the body indexes with i.",
    generate_recall=absent_condition.generate_recall,
)
