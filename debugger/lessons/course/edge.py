"""Lesson 2: two values, one edge."""

from __future__ import annotations

from random import Random

from ..lesson import Lesson, Step
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene

SCENE = Scene("twice.onnxtxt", {"n": 4, "x0": 1})


def _both(played: Played) -> list[int]:
    return [*played["got"], played["x_last"]]


def _still(played: Played) -> list[int]:
    return [played["x0"]] * played["n"]


def _gave_too_long(played: Played) -> str:
    last = played["x_last"]
    return (
        f"A scan output gets one element an iteration, {played['n']} in all: {last} is yielded last, and no "
        "iteration receives it; it leaves as x_last."
    )


ASK = ValueQuestion(
    SCENE,
    lambda played: f"n is {played['n']} and x0 is {played['x0']}: what does got hold in the end?",
    lambda played: played["got"],
    lambda played: f"got collects what came in, so it begins with the initial value; gave is {played['gave']}.",
    (
        Wrong(
            lambda played: played["gave"],
            lambda played: (
                "That is gave. Computing x_next does not overwrite x: `r`, `n`, and x_next is "
                f"{2 * played['x0']} while x is {played['x0']}."
            ),
        ),
        Wrong(_both, _gave_too_long),
        Wrong(_still, "Inside one iteration x stays; at the boundary the back edge hands x_next to the next one."),
    ),
    "Step with `s` and watch got grow among the scan outputs.",
    (
        "Which of the two names stands in the line that feeds got?",
        "`scene A` may be run: `s` and `s`, and got grows by one element each time.",
    ),
    choice=True,
)
#: Asked again before lesson 5: the other scan output.
GAVE = ValueQuestion(
    SCENE.given(n=3, x0=5),
    lambda played: (
        "Once more lesson 2's loop: x_next = x + x, got collects x, gave collects x_next. With "
        f"n = {played['n']} and x0 = {played['x0']}, what does gave hold in the end?"
    ),
    lambda played: played["gave"],
    "gave collects what each iteration yields: it begins after the first doubling, and ends with x_last.",
    (
        Wrong(lambda played: played["got"], "That is got: what each iteration received."),
        Wrong(_both, lambda played: f"gave collects one element an iteration, {played['n']} in all."),
        Wrong(_still, "Inside one iteration x stays; at the boundary the back edge hands x_next to the next one."),
    ),
    "Step with `s` and watch gave grow.",
    ("Which name stands in the line that feeds gave?", "Lesson 2 has the loop to be run: `lesson 2`, then `f`."),
    choice=True,
)


def _inputs(random: Random) -> dict[str, int]:
    return {"n": random.randint(3, 5), "x0": random.choice([-4, -3, -2, 2, 3, 5, 6, 7])}


DRAW, RECALL = varied(ASK, _inputs), varied(GAVE, _inputs)
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
        Step("n", "next", "one node: x_next is 2"),
        Step("n", "next", "what was received is 1 still: x did not change"),
        Step("n", "next", "the last node, and then the boundary: now x is 2"),
        Step("s", "step", "a whole iteration at once"),
        Step("f", "finish", "to the end"),
    ),
    "The row of x among the back edges. During an iteration: what it received → what it yields. At a boundary: what "
    "the iteration just done received and what it yielded, here `8 → 16`.",
    ASK,
    DRAW,
    "x is what came in, x_next what goes out; only the back edge makes x_next the next x, at a boundary. (ONNX's "
    "own page mixed them up at first: its C code gives [-6, 12], its graph [12, -6].)",
    doing="Watch the row of x while the first iteration runs node by node.",
)
