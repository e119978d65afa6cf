"""Lesson 4: the first look: while, do-while, nothing."""

from __future__ import annotations

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, choose_generator, vary_inputs
from ..scene import Scene
from . import repeated_body

A = Scene("halve.onnxtxt", {"first": True, "x0": 5})
B = A.with_inputs(x0=0)
C = A.with_inputs(first=False)

QUESTION = ValueQuestion(
    C,
    lambda run: f"In scene C first is false and x0 is {run['x0']}: what is x_last?",
    lambda run: run["x_last"],
    "The initial condition is tested before iteration 0, so none runs, and what went in comes out.",
    (
        WrongRule(lambda run: A.with_inputs(x0=run["x0"]).reference_run["x_last"],
                  "That is what A ends with. In C the body never runs."),
        WrongRule(lambda run: run["x0"] // 2, "That is after one iteration. The initial condition is tested "
                  "before iteration 0."),
        WrongRule(lambda _: "nothing|error|nan|none|empty", "rows is empty. A carried value always has one: where no "
              "iteration runs, its initial value."),
    ),
    "Open scene C and read the title: how many iterations ran? And what does the row of x show?",
    ("How many iterations run in C?", "`scene C` may be run with other numbers: read the row of x, then `s`."),
)  # fmt: skip
generate_question = choose_generator(
    vary_inputs(QUESTION, lambda random: {"x0": random.choice([3, 5, 6, 7, 9, 11, 12, 14])}),
    vary_inputs(repeated_body.zero_iterations_question(), lambda random: {"x0": random.choice([2, 4, 5, 7, 8, 9, 11])}),
)
LESSON = Lesson(
    4,
    "The first look: while, do-while, nothing",
    5,
    "Know who decides about iteration 0, and what a loop gives that never ran.",
    ("initial condition",),
    {"A": A, "B": B, "C": C},
    "x_next = x / 2, more = x_next > 0 is the condition, rows collects x_next; there is no trip count. first is the "
    "initial condition: it comes from outside. A: first true, x0 5. B: first true, x0 0. C: first false, x0 5.",
    (
        LessonStep("f", "finish", "in A: three iterations, rows is [2, 1, 0]"),
        LessonStep("scene B", "scene", "first is true, but there is nothing to halve"),
        LessonStep("f", "finish", "one iteration ran all the same"),
        LessonStep("scene C", "scene", "first is false"),
        LessonStep("W", "why", "why no iteration ran"),
        LessonStep("s", "step", "to the end of the model"),
    ),
    "In C: `first` is false, and the outputs: rows is empty, `i64 [0]`. A loop whose first is x0 > 0 is a while "
    "loop; one whose first is the constant true is a do-while loop.",
    QUESTION,
    generate_question,
    "The initial condition decides about iteration 0, the body about all others; no iteration, no change.",
)
