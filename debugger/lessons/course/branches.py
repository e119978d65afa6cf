"""Lesson 19: an If inside a loop."""

from __future__ import annotations

from ..lesson import Card, Kind, Step, Tasks
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene

_FORK = Scene("fork.onnxtxt", {"n": 4, "x0": 7})


def _forked(played: Played, even: bool, odd: bool) -> int:
    """What a rule makes of it: which branches it takes."""
    x = int(played["x0"])
    for _ in range(played["n"]):
        is_even = x % 2 == 0
        x = x // 2 if (is_even and even) or (not is_even and not odd) else 3 * x + 1
    return x


def _less(played: Played, n: int) -> int | None:
    if played["n"] + n < 0:
        return None
    x: int = played.scene.given(n=played["n"] + n).played["x_last"]
    return x


FORKED = ValueQuestion(
    _FORK,
    lambda played: (
        f"x begins with {played['x0']}. Each iteration halves x where it is even; where it is odd x becomes 3x + 1. "
        f"What is x_last after {played['n']} iterations?"
    ),
    lambda played: played["x_last"],
    "An If runs one branch, which may be another one in each iteration.",
    (
        Wrong(lambda played: _less(played, -1), "One iteration is missing."),
        Wrong(lambda played: _less(played, 1), "That is one iteration too many."),
        Wrong(
            lambda played: _forked(played, even=True, odd=False), "That halves always: the other branch is never taken."
        ),
        Wrong(lambda played: _forked(played, even=False, odd=True), "That takes the other branch always."),
    ),
    "Step with `n`: the listing marks the branch that runs.",
    ("Is x even or odd in each iteration?", "`scene A` may be run: step with `n` through the If."),
)
LESSON = Tasks(
    19,
    "An If inside a loop",
    4,
    (
        Card(
            Kind.READ,
            "A body may hold an If: its branches are graphs of their own, of which one runs in each iteration. What it "
            "gives has one name, whichever branch made it.",
            _FORK,
        ),
        Card(
            Kind.DO,
            "",
            _FORK,
            steps=(
                Step("n", "next", "three nodes: up to the If", 3),
                Step("s", "step", "to the boundary: 7 is odd, so x is 22"),
                Step("s", "step", "22 is even, so x is 11"),
            ),
        ),
        Card(Kind.ASK, "", _FORK, draw=varied(FORKED, lambda r: {"n": r.randint(3, 6), "x0": r.randint(3, 20)})),
        Card(Kind.LAST, "One branch an iteration; the other one is not computed.", _FORK),
    ),
    "Follow a body that chooses.",
    {"A": _FORK},
)
