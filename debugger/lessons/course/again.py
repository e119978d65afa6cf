"""Lesson 1: a body that runs again."""

from __future__ import annotations

from random import Random

from ....runtime.text import counted
from ..lesson import Lesson, Step
from ..question import Question, Reply, StateQuestion, ValueQuestion, Wrong
from ..scene import Scene
from ..stand import Stand

SCENE = Scene("add3.onnxtxt", {"n": 5, "x0": 0})


def _times(wanted: int, stand: Stand) -> Reply | None:
    """The body has run exactly so many times."""
    if not stand.at_boundary:
        return None
    here = stand.iteration
    numbers = f"numbers 0 to {here - 1}" if here > 1 else "number 0"
    if stand.ended is not None:
        return Reply(False, f"All {here} have run, and the loop ended.")
    if here == wanted:
        return Reply(True, f"{here} have run, {numbers}. Before iteration {here} the body has run {here} times.")
    if here == 0:
        return Reply(False, "None yet: a loop opens before its first iteration.")
    told = f"Here {here} have run, {numbers}."
    if here == wanted + 1:
        return Reply(False, f"{told} Counting begins at 0: before iteration {wanted} it has run {wanted} times.")
    return Reply(False, f"{told} The title says which one comes next.")


def times(n: int, wanted: int) -> StateQuestion:
    """Stand where the body has run so often."""
    return StateQuestion(
        SCENE.given(n=n),
        f"Stand where the body has run exactly {counted(wanted, 'time')}; then `answer here`.",
        lambda stand: _times(wanted, stand),
        "At a boundary the title says which iteration comes next.",
        (
            "Count the presses of `s`.",
            "`r` goes back to the beginning, `s` runs one iteration, `←` takes one back.",
            f"`r`, then `s` {counted(wanted, 'time')}: the title then says iteration {wanted}.",
        ),
        claimed=True,
    )


def _value(wanted: int, stand: Stand) -> Reply | None:
    """x is so much."""
    if not stand.at_boundary:
        return None
    x, here = stand.carried("x"), stand.iteration
    if x == wanted:
        return Reply(True, f"x is {x} before iteration {here}: so many iterations have added 3 each.")
    return Reply(False, f"x is {x} here, before iteration {here}.")


def value(n: int, x0: int, iteration: int) -> StateQuestion:
    """Stand where x is what it is before an iteration."""
    wanted = x0 + 3 * iteration
    return StateQuestion(
        SCENE.given(n=n, x0=x0),
        f"x begins with {x0}. Stand where x is {wanted}; then `answer here`.",
        lambda stand: _value(wanted, stand),
        "Watch the row of x while you press `s`.",
        (
            "x grows by 3 an iteration.",
            "`s` and `←` move by an iteration.",
            f"`r`, then `s` {counted(iteration, 'time')}.",
        ),
        claimed=True,
    )


def draw(random: Random) -> Question:
    """Either of them."""
    n = random.randint(6, 9)
    if random.random() < 0.5:
        return times(n, random.randint(2, n - 1))
    return value(n, random.randint(0, 9), random.randint(2, n - 1))


ASK = times(5, 3)
LESSON = Lesson(
    1,
    "A body that runs again",
    3,
    "Know where one stands: before which iteration, after how many.",
    ("body", "iteration", "boundary", "trip count"),
    {"A": SCENE},
    "A loop runs its body again and again; each run is an iteration, and what it is to run at most is its trip "
    "count. Here the body makes x_next = x + 3, the trip count n is 5, and x begins with 0.",
    (
        Step("s", "step", "to the next boundary: between two iterations"),
        Step("s", "step", "and to the one after it"),
        Step("←", "back", "one boundary back"),
        Step("s", "step", "and on again"),
    ),
    "The title says `iteration 2` of 5: that one runs next, so two have run. In its own row x went `3 → 6`: what "
    "iteration 1 received, and what it made of it.",
    ASK,
    draw,
    "Before iteration N the body has run N times.\nIf you have a minute: `f` runs to the end. What does the title "
    "say there?",
    say=ValueQuestion(
        SCENE,
        "What is x_last, when all is done?",
        lambda played: played["x_last"],
        lambda played: f"{played['n']} iterations add 3 each.",
        (
            Wrong(lambda played: played["x0"] + 3 * (played["n"] - 1), "One iteration is missing."),
            Wrong(lambda played: played["x0"] + 3, "That is after one iteration."),
        ),
        "`f` runs to the end.",
    ),
)


def never(x0: int = 7) -> ValueQuestion:
    """Asked again in lesson 4: no iteration runs."""
    return ValueQuestion(
        SCENE.given(n=0, x0=x0),
        lambda played: f"Lesson 1's loop, which adds 3, with n = 0 and x0 = {played['x0']}: what is x_last?",
        lambda played: played["x_last"],
        lambda played: (
            f"A trip count of 0 lets nothing run, and the initial value {played['x0']} comes out as it went in."
        ),
        (
            Wrong(lambda played: played["x0"] + 3, "That is after one iteration, and none runs."),
            Wrong(lambda _: 0, "Nobody made it 0: a carried value always has one, the initial value."),
            Wrong(lambda _: "nothing|error|nan|none", "A carried value always has one: the initial value."),
        ),
        "Read the title: how many iterations ran? And what does the row of x show?",
        ("What does the row of x show?", "`f`, then read the row of x."),
    )
