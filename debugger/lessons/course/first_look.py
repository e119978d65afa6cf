"""Lesson 4: the first look: while, do-while, nothing."""

from __future__ import annotations

from ..lesson import Lesson, Step
from ..question import ValueQuestion, Wrong, one_of, varied
from ..scene import Scene
from . import again

A = Scene("halve.onnxtxt", {"first": True, "x0": 5})
B = A.given(x0=0)
C = A.given(first=False)

ASK = ValueQuestion(
    C,
    lambda played: f"In scene C first is false and x0 is {played['x0']}: what is x_last?",
    lambda played: played["x_last"],
    "The initial condition is asked before iteration 0, so none runs; and what went in comes out.",
    (
        Wrong(lambda played: A.given(x0=played["x0"]).played["x_last"], "So ends A. Here the body never ran, and "
              "nobody halved anything."),
        Wrong(lambda played: played["x0"] // 2, "That is after one iteration. None is free: the initial condition is "
              "asked before iteration 0."),
        Wrong(lambda _: "nothing|error|nan|none|empty", "rows is empty. A carried value always has one: the initial "
              "value, if nothing replaced it."),
    ),
    "Open scene C and read the title: how many iterations ran? And what does the row of x show?",
    ("How many iterations run in C?", "`scene C` may be run with other numbers: read the row of x, then `s`."),
)  # fmt: skip
DRAW = one_of(
    varied(ASK, lambda random: {"x0": random.choice([3, 5, 6, 7, 9, 11, 12, 14])}),
    varied(again.never(), lambda random: {"x0": random.choice([2, 4, 5, 7, 8, 9, 11])}),
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
        Step("f", "finish", "in A: three iterations, rows is [2, 1, 0]"),
        Step("scene B", "scene", "first is true, but there is nothing to halve"),
        Step("f", "finish", "it ran once all the same"),
        Step("scene C", "scene", "first is false"),
        Step("W", "why", "who said no"),
        Step("s", "step", "to the end of the model"),
    ),
    "In C: `first` is false, and the outputs: rows is empty, `i64 [0]`. With x0 > 0 for first this is a while loop, "
    "with the constant true a do-while loop.",
    ASK,
    DRAW,
    "The initial condition decides about iteration 0, the body about all others; no iteration, no change.",
)
