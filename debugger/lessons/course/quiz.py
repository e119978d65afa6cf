"""Lesson 23: twenty loops, every row of the three tables among them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ..classify import mode
from ..lesson import Card, Kind, Quiz
from ..modes import ROWS
from . import modes

COUNT = 20


def dealt(random: Random) -> Sequence[Card]:
    """Each row once, and some of them twice, in any order."""
    rows = [*ROWS, *random.sample(ROWS, COUNT - len(ROWS))]
    random.shuffle(rows)
    scene = modes.ONNX.scene
    asked = [Card(Kind.QUIZ, "", scene, draw=mode(row.system, row.kind), row=row) for row in rows]
    return (*asked, Card(Kind.LAST, "", scene))


QUIZ = Quiz(
    23,
    "Quiz: twenty loops, all rows of the three tables",
    10,
    dealt(Random(0)),
    "Name the row of any loop, in the table of its system.",
    dealt=dealt,
)
