"""Lesson 8: what the body can see."""

from __future__ import annotations

from random import Random

from ..lesson import Lesson, Step
from ..question import Question, Reply, StateQuestion, ValueQuestion, Wrong
from ..scene import Played, Scene
from ..stand import Stand

SCENE = Scene("grow.onnxtxt", {"n": 3, "start": 1})


def _before(played: Played) -> int:
    """What x is before iteration 2."""
    x: int = played.received("grow", "x", 2)
    return x


def _becomes(wanted: int, stand: Stand) -> Reply | None:
    """x_last became so much, by one change of start before iteration 2."""
    edits = stand.edits
    if stand.ended is None or not stand.at_boundary or not edits:
        return None
    x, edit = stand.carried("x"), edits[0]
    before = _before(stand.played)
    if len(edits) > 1:
        return Reply(False, f"x_last is {x}, by {len(edits)} changes; one is enough: `r`.")
    if edit.name != "start":
        right = "is right, but" if x == wanted else f"is {x}, and"
        return Reply(
            False, f"x_last {right} you changed {edit.name}, which the back edge carries. Leave it alone: `r`."
        )
    added = stand.value("start")
    if x == wanted and edit.iteration == 2:
        return Reply(True, f"Iteration 2 received {before} and read start anew: {before} + {added} is {wanted}.")
    if edit.iteration < 2:
        return Reply(
            False,
            f"x_last is {x}: every iteration from {edit.iteration} on adds {added}. But see: x itself did not jump to "
            f"{added}; the initial value was taken once. Set it before iteration 2.",
        )
    return Reply(False, f"x_last is {x}: iteration 2 adds start to what it received, {before} + {added}.")


def question(start: int, wanted: int) -> StateQuestion:
    """Bring x_last to a number."""
    return StateQuestion(
        SCENE.given(start=start),
        f"Before iteration 2 change start alone so that x_last becomes {wanted}; then `f`.",
        lambda stand: _becomes(wanted, stand),
        "`r`, `s`, `s`, then set start, then `f`: the row of x says what x_last is.",
        (
            f"x before iteration 2, plus what, is {wanted}?",
            "`r`, `s`, `s`, set a value of start, `f`.",
            lambda played: f"x is {_before(played)} there: `set start = {wanted - _before(played)}`.",
        ),
    )


def draw(random: Random) -> Question:
    """Any start, and an x_last that no start gives in all three iterations."""
    start, added = random.randint(1, 4), random.randint(7, 20)
    return question(start, 3 * start + added)


LESSON = Lesson(
    8,
    "What the body can see",
    5,
    "Tell a value read once, at the start, from one read in every iteration.",
    ("capture",),
    {"A": SCENE},
    "x begins with start, and x_next = x + start: the body reads start a second time, by its name, from the graph "
    "around it. That is a capture. n is 3 and start is 1.",
    (
        Step("s", "step", "x goes 1 → 2"),
        Step("s", "step", "x goes 2 → 3"),
    ),
    "x moves, `2 → 3`, and the inputs of the body say `start` 1, which no step moves.",
    question(1, 13),
    draw,
    "The initial value is read once, a capture in every iteration, and no iteration can change a capture. (In OpenVINO "
    "a body sees nothing around it: what ONNX captures comes in as an invariant input.)",
    say=ValueQuestion(
        SCENE,
        "What is x_last?",
        lambda played: played["x_last"],
        "it begins with 1, and three iterations add 1 each.",
        (Wrong(lambda _: 8, "8 would be doubling: it takes start for x."),),
        "`f` runs to the end.",
    ),
)
