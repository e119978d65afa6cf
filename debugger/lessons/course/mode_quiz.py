"""Lesson 23: a quiz on twenty loops that covers every row of the three tables."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ..lesson import Card, CardKind, Quiz
from ..loop_modes import LOOP_MODES
from ..mode_question import mode_question_generator
from ..scene import Scene

QUESTION_COUNT = 20


def deal_quiz_cards(random: Random) -> Sequence[Card]:
    """Draw each row once and some twice, shuffled."""
    rows = [*LOOP_MODES, *random.sample(LOOP_MODES, QUESTION_COUNT - len(LOOP_MODES))]
    random.shuffle(rows)
    scene = Scene("onnx_adds_1.onnxtxt", {"n": 6, "x0": 12, "limit": 9})
    cards = [
        Card(CardKind.QUIZ, "", scene, generate_question=mode_question_generator(row.system, row.kind), row=row)
        for row in rows
    ]
    return (*cards, Card(CardKind.LAST, "", scene))


QUIZ = Quiz(
    23,
    "Quiz: twenty loops, all rows of the three tables",
    10,
    deal_quiz_cards(Random(0)),
    "Name the row of any loop, in the table of its system.",
    card_generator=deal_quiz_cards,
)
