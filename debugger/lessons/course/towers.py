"""Lesson 22: loops in loops, and how often in all."""

from __future__ import annotations

from ..lesson import Card, Kind, Step, Tasks
from ..question import ValueQuestion, Wrong, varied
from ..scene import Played, Scene

_TOWERS = Scene("towers.onnxtxt", {"n": 3, "height0": 1})


def _inner(played: Played) -> int:
    return sum(played["counts"])


INNER = ValueQuestion(
    _TOWERS,
    lambda played: (
        f"towers runs {played['n']} times and carries height, from {played['height0']}, which each iteration doubles "
        "at its end; tower inside runs height times. How many iterations of tower run in all?"
    ),
    _inner,
    lambda played: f"Its entries run {', '.join(map(str, played['counts']))} times.",
    (
        Wrong(lambda played: played["counts"][-1], "That is the last entry alone."),
        Wrong(
            lambda played: played["n"] * played["height0"], "Each entry takes its trip count anew, and height doubles."
        ),
        Wrong(lambda played: 2 * _inner(played), "height is doubled at the end of an iteration, after tower has run."),
        Wrong(lambda played: played["n"] * played["counts"][-1], "Only the last entry runs so often."),
    ),
    "`c` to the end: the title, and `info loops`, say how often each loop ran.",
    ("How often does tower run in each iteration of towers?", "`scene A` may be run: `i` goes into the next tower."),
)
LESSON = Tasks(
    22,
    "Loops in loops: how often in all",
    4,
    (
        Card(
            Kind.READ,
            "towers carries height and doubles it; its inner loop tower runs height times. Its trip count is taken "
            "anew in each entry: from what is carried outside.",
            _TOWERS,
        ),
        Card(
            Kind.DO,
            "",
            _TOWERS,
            steps=(
                Step("i", "into", "three times: into the first tower", 3),
                Step("f", "finish", "to its end"),
                Step("s", "step", "to the next iteration of towers"),
            ),
        ),
        Card(Kind.ASK, "", _TOWERS, draw=varied(INNER, lambda r: {"n": r.randint(3, 5), "height0": r.randint(1, 4)})),
        Card(Kind.LAST, "An inner loop runs as often as each entry says; in all it is the sum of them.", _TOWERS),
    ),
    "Count what runs inside of what runs.",
    {"A": _TOWERS},
)
