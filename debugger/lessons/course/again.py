"""Lesson 1: a body that runs again."""

from __future__ import annotations

from ..lesson import Lesson, Step
from ..question import Reply, StateQuestion, ValueQuestion, Wrong
from ..scene import Scene
from ..stand import Stand

SCENE = Scene("add3.onnxtxt", {"n": 5, "x0": 0})


def _three(stand: Stand) -> Reply | None:
    """The body has run exactly three times."""
    if stand.ended is not None and stand.at_boundary:
        return Reply(False, f"All {stand.iteration} have run, and the loop ended; `←` twice.")
    if not stand.at_boundary:
        return None
    if stand.iteration == 3:
        return Reply(True, "Three have run: numbers 0, 1 and 2. Before iteration 3 stands who has three behind.")
    if stand.iteration == 2:
        return Reply(False, "Two so far, numbers 0 and 1. The title says which one comes next.")
    if stand.iteration == 4:
        text = "Four: numbers 0, 1, 2, 3. Counting begins at 0: before iteration 3 it has run three times. `←`."
        return Reply(False, text)
    return Reply(False, "None yet: a loop opens before its first iteration.") if stand.iteration == 0 else None


def _twelve(stand: Stand) -> Reply | None:
    """x is 12."""
    if not stand.at_boundary:
        return None
    x = stand.carried("x")
    if x == 12:
        return Reply(True, "x is 12 before iteration 4: four iterations have added 3 each.")
    if x == 9:
        return Reply(False, "x is 9 here, before iteration 3: one more has to run.")
    return Reply(False, "x is 15: one too many has run; `←`.") if x == 15 else None


ASK = StateQuestion(
    SCENE,
    "Stand where the body has run exactly three times.",
    _three,
    "Count the presses of `s`, from the beginning: `r`.",
    (
        "Count the presses of `s`.",
        "`r` goes back to the beginning, `s` runs one iteration, `←` takes one back.",
        "`r`, then `s` three times: the title then says iteration 3.",
    ),
)
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
    again=(
        StateQuestion(
            SCENE,
            "Stand where x is 12.",
            _twelve,
            "Watch the row of x while you press `s`.",
            ("x grows by 3 an iteration.", "`s` and `←` move by an iteration.", "`r`, then `s` four times."),
        ),
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
