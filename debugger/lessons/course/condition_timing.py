"""Lesson 3: the condition speaks of the next iteration."""

from __future__ import annotations

from random import Random

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

SCENE = Scene("counter.onnx", {"max_trips": 10, "start": 0, "step": 3, "limit": 20})


def _last_count(run: SceneRun) -> int:
    last: int = run["counts"][-1]
    return last


def _second_to_last_count(run: SceneRun) -> int:
    counts = run["counts"]
    count: int = counts[-2] if len(counts) > 1 else run["start"]
    return count


QUESTION = ValueQuestion(
    SCENE,
    lambda run: (
        f"start is {run['start']}, step is {run['step']}, limit is {run['limit']}: what is the last element of counts?"
    ),
    _last_count,
    lambda run: (
        f"Iteration {run.iterations - 1} runs, yields {_last_count(run)} < {run['limit']}, which is false, and"
        " is collected all the same. The next one does not run."
    ),
    (
        WrongRule(
            _second_to_last_count,
            lambda run: (
                f"Iteration {run.iterations - 1} has run when it yields false: its {_last_count(run)} is"
                " collected and carried out. It is the next one that does not run."
            ),
        ),
        WrongRule(lambda run: run["limit"], "limit is only compared with; nothing stores it."),
        WrongRule(lambda run: run.iterations, "That is how many there are; what is in the last?"),
        WrongRule(
            lambda run: run["start"] + run["step"] * run["max_trips"],
            lambda run: (
                f"{run['max_trips']} trips would be the most. below is false after {run.iterations}, and that "
                "ends it sooner."
            ),
        ),
    ),
    lambda run: f"Stand before iteration {run.iterations - 1}, press `n` twice, and watch below.",
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
