"""Lesson 2: two values, one edge."""

from __future__ import annotations

from random import Random

from ..lesson import Lesson, LessonStep
from ..question import ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene, SceneRun

SCENE = Scene("twice.onnxtxt", {"n": 4, "x0": 1})


def _got_and_final_value(run: SceneRun) -> list[int]:
    return [*run["got"], run["x_last"]]


def _repeated_initial_value(run: SceneRun) -> list[int]:
    return [run["x0"]] * run["n"]


def _extra_element_feedback(run: SceneRun) -> str:
    last = run["x_last"]
    return (
        f"A scan output gets one element an iteration, {run['n']} in all: {last} is yielded last, and no "
        "iteration receives it; it leaves as x_last."
    )


QUESTION = ValueQuestion(
    SCENE,
    lambda run: f"n is {run['n']} and x0 is {run['x0']}: what does got hold in the end?",
    lambda run: run["got"],
    lambda run: f"got collects what came in, so it begins with the initial value; gave is {run['gave']}.",
    (
        WrongRule(
            lambda run: run["gave"],
            lambda run: (
                "That is gave. Computing x_next does not overwrite x: `r`, `n`, and x_next is "
                f"{2 * run['x0']} while x is {run['x0']}."
            ),
        ),
        WrongRule(_got_and_final_value, _extra_element_feedback),
        WrongRule(
            _repeated_initial_value,
            "Inside one iteration x stays; at the boundary the back edge hands x_next to the next one.",
        ),
    ),
    "Step with `s` and watch got grow among the scan outputs.",
    (
        "Which of the two names is in the line that feeds got?",
        "`scene A` may be run: `s` and `s`, and got grows by one element each time.",
    ),
    multiple_choice=True,
)
#: The recall question of lesson 5, on the other scan output.
RECALL_QUESTION = ValueQuestion(
    SCENE.with_inputs(n=3, x0=5),
    lambda run: (
        "Once more lesson 2's loop: x_next = x + x, got collects x, gave collects x_next. With "
        f"n = {run['n']} and x0 = {run['x0']}, what does gave hold in the end?"
    ),
    lambda run: run["gave"],
    "gave collects what each iteration yields: it begins after the first doubling, and ends with x_last.",
    (
        WrongRule(lambda run: run["got"], "That is got: what each iteration received."),
        WrongRule(_got_and_final_value, lambda run: f"gave collects one element an iteration, {run['n']} in all."),
        WrongRule(
            _repeated_initial_value,
            "Inside one iteration x stays; at the boundary the back edge hands x_next to the next one.",
        ),
    ),
    "Step with `s` and watch gave grow.",
    ("Which name is in the line that feeds gave?", "Lesson 2 has the loop to be run: `lesson 2`, then `f`."),
    multiple_choice=True,
)


def _random_inputs(random: Random) -> dict[str, int]:
    return {"n": random.randint(3, 5), "x0": random.choice([-4, -3, -2, 2, 3, 5, 6, 7])}


generate_question, generate_recall = vary_inputs(QUESTION, _random_inputs), vary_inputs(RECALL_QUESTION, _random_inputs)
LESSON = Lesson(
    2,
    "Two values, one edge",
    5,
    "Tell what an iteration receives from what it yields.",
    ("yield", "back edge", "carried value", "scan output"),
    {"A": SCENE},
    "The body receives x and yields x_next = x + x. A back edge hands x_next to the next iteration as its x: a "
    "carried value. A scan output collects one element an iteration: got collects x, gave collects x_next.",
    (
        LessonStep("n", "next", "one node: x_next is 2"),
        LessonStep("n", "next", "what was received is 1 still: x did not change"),
        LessonStep("n", "next", "the last node, and then the boundary: now x is 2"),
        LessonStep("s", "step", "a whole iteration at once"),
        LessonStep("f", "finish", "to the end"),
    ),
    "The row of x among the back edges. During an iteration: what it received → what it yields. At a boundary: what "
    "the iteration just done received and what it yielded, here `8 → 16`.",
    QUESTION,
    generate_question,
    "x is what came in, x_next what goes out; only the back edge makes x_next the next x, at a boundary. (ONNX's "
    "own page mixed them up at first: its C code gives [-6, 12], its graph [12, -6].)",
    do_text="Watch the row of x while the first iteration runs node by node.",
)
