"""Lesson 10: joining."""

from __future__ import annotations

from typing import Any

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene

SCENE = Scene("pairs.xml", {"x": [1, 2, 3]})


def _reversed_values(values: list[Any]) -> list[Any]:
    return values[::-1]


QUESTION = ValueQuestion(
    SCENE,
    lambda run: f"x is {run['x']}: what is backwards in the end?",
    lambda run: run["backwards"],
    "The last iteration comes first; each part is as its iteration made it.",
    (
        WrongRule(
            lambda run: _reversed_values(run["joined"]),
            "The order of the parts is turned; inside a part nothing moves.",
        ),
        WrongRule(lambda run: run["joined"], "That is joined; a negative stride puts the last iteration first."),
        WrongRule(
            lambda run: _reversed_values(run["as_rows"]),
            "Those are rows, on a new axis. Concatenating makes an axis longer, it adds none.",
        ),
    ),
    "Step with `s`, and look at backwards among the scan outputs after each iteration.",
    (
        "In scene A, look at backwards before iteration 2: [2, 20, 1, 10].",
        "`scene A` may be run: `s`, `s`, `s`, and watch backwards grow.",
    ),
    multiple_choice=True,
)
generate_question = vary_inputs(QUESTION, lambda random: {"x": random.sample(range(-4, 10), 3)})
LESSON = Lesson(
    10,
    "Joining",
    5,
    "Know the shape and the order of what is collected.",
    ("stacked", "concatenated"),
    {"A": SCENE},
    "Each iteration gets one part v of x and makes the pair [v, 10·v]. as_rows stacks the pairs, a row an iteration; "
    "joined concatenates them along the axis that they have; backwards does so too, with a negative stride.",
    (
        LessonStep("s", "step", "one pair"),
        LessonStep("s", "step", "two: look at all three outputs"),
        LessonStep("print as_rows", "print", "a row an iteration"),
        LessonStep("print joined", "print", "the same numbers in one row"),
    ),
    "The scan outputs, here before iteration 2: as_rows is `[2, 2]`, which holds [[1, 10], [2, 20]], and joined is "
    "`[4]`, which holds [1, 10, 2, 20].",
    QUESTION,
    generate_question,
    "Stacked: a new axis, one row an iteration (ONNX, TensorRT). Concatenated: an axis that is there gets longer "
    "(OpenVINO). A negative stride joins the parts in reverse order; the elements inside of a part keep theirs.",
)
