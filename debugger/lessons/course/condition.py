"""Lesson 3: the condition speaks of the next iteration."""

from __future__ import annotations

from random import Random

from ..lesson import Lesson, Step
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene

SCENE = Scene("counter.onnx", {"max_trips": 10, "start": 0, "step": 3, "limit": 20})


def _last(played: Played) -> int:
    last: int = played["counts"][-1]
    return last


def _before(played: Played) -> int:
    counts = played["counts"]
    before: int = counts[-2] if len(counts) > 1 else played["start"]
    return before


ASK = ValueQuestion(
    SCENE,
    lambda played: (
        f"start is {played['start']}, step is {played['step']}, limit is {played['limit']}: what is the last element "
        "of counts?"
    ),
    _last,
    lambda played: (
        f"Iteration {played.iterations - 1} runs, yields {_last(played)} < {played['limit']}, which is false, and is "
        "collected all the same. The next one does not run."
    ),
    (
        Wrong(
            _before,
            lambda played: (
                f"Iteration {played.iterations - 1} has run when it yields false: its {_last(played)} is collected and "
                "carried out. It is the next one that does not run."
            ),
        ),
        Wrong(lambda played: played["limit"], "limit is only compared with; nothing stores it."),
        Wrong(lambda played: played.iterations, "That is how many there are; what is in the last?"),
        Wrong(
            lambda played: played["start"] + played["step"] * played["max_trips"],
            lambda played: (
                f"{played['max_trips']} trips would be the most. below is false after {played.iterations}, and that "
                "ends it sooner."
            ),
        ),
    ),
    lambda played: f"Stand before iteration {played.iterations - 1}, press `n` twice, and watch below.",
    (
        "In scene A, before iteration 6, press `n` twice: is 21 there before below is false?",
        "`scene A`, `s` six times, `n`, `n`, then `f`: what does counts end with, 18 or 21?",
    ),
)


def _inputs(random: Random) -> dict[str, int]:
    step = random.randint(2, 7)
    return {"start": random.randint(0, 4), "step": step, "limit": step * random.randint(2, 6) + random.randint(1, 6)}


DRAW = varied(ASK, _inputs)
LESSON = Lesson(
    3,
    "The condition speaks of the next iteration",
    5,
    "Know which iteration a false condition stops.",
    ("condition",),
    {"A": SCENE},
    "Now each iteration yields a condition as well: count_next = count + step, then below = count_next < limit, and "
    "counts collects count_next. Where the condition is false the loop ends. The trip count is 10.",
    (
        Step("s", "step", "six times: count goes 15 → 18", 6),
        Step("n", "next", "count_next is 21"),
        Step("n", "next", "below is false"),
        Step("W", "why", "why the loop ended"),
    ),
    "The condition pane, and the first line of why: below is false, `21 < 20`, and the loop ends after 7 iterations: "
    "iteration 6 yielded it, and has run. In the row seen the first T is the condition before iteration 0.",
    ASK,
    DRAW,
    "What an iteration yields decides about the next one; the iteration that yields false still counts.",
)
