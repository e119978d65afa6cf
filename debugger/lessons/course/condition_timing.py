"""Lesson 3: the condition speaks of the next iteration."""

from __future__ import annotations

from random import Random

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

SCENE = Scene("counter.onnx", {"max_trips": 10, "start": 0, "step": 3, "limit": 20})


def _last_count(played: SceneRun) -> int:
    last: int = played["counts"][-1]
    return last


def _second_to_last_count(played: SceneRun) -> int:
    counts = played["counts"]
    before: int = counts[-2] if len(counts) > 1 else played["start"]
    return before


QUESTION = ValueQuestion(
    SCENE,
    lambda played: (
        f"start is {played['start']}, step is {played['step']}, limit is {played['limit']}: what is the last element "
        "of counts?"
    ),
    _last_count,
    lambda played: (
        f"Iteration {played.iterations - 1} runs, yields {_last_count(played)} < {played['limit']}, which is false, and"
        " is collected all the same. The next one does not run."
    ),
    (
        WrongRule(
            _second_to_last_count,
            lambda played: (
                f"Iteration {played.iterations - 1} has run when it yields false: its {_last_count(played)} is"
                " collected and carried out. It is the next one that does not run."
            ),
        ),
        WrongRule(lambda played: played["limit"], "limit is only compared with; nothing stores it."),
        WrongRule(lambda played: played.iterations, "That is how many there are; what is in the last?"),
        WrongRule(
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


def _random_inputs(random: Random) -> dict[str, int]:
    step = random.randint(2, 7)
    return {"start": random.randint(0, 4), "step": step, "limit": step * random.randint(2, 6) + random.randint(1, 6)}


generate_question = vary_inputs(QUESTION, _random_inputs)
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
        LessonStep("s", "step", "six times: count goes 15 → 18", 6),
        LessonStep("n", "next", "count_next is 21"),
        LessonStep("n", "next", "below is false"),
        LessonStep("W", "why", "why the loop ended"),
    ),
    "The condition pane, and the first line of why: below is false, `21 < 20`, and the loop ends after 7 iterations: "
    "iteration 6 yielded it, and has run. In the row seen the first T is the condition before iteration 0.",
    QUESTION,
    generate_question,
    "What an iteration yields decides about the next one; the iteration that yields false still counts.",
)
