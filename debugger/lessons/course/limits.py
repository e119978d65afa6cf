"""Lesson 5: two limits."""

from __future__ import annotations

from random import Random

from ....runtime.graph import StoppedBy
from ..lesson import Lesson, Step
from ..question import OpenQuestion, Question, Reply, StateQuestion
from ..stand import Stand
from . import edge
from .condition import SCENE


def _exactly(wanted: int, stand: Stand) -> Reply | None:
    """The loop ended after so many iterations, by one change."""
    edits = stand.edits
    if stand.ended is None or not stand.at_boundary or not edits:
        return None
    ran, usual = stand.iteration, stand.played.iterations
    last, limit = stand.carried("count"), stand.value("limit")
    if ran == wanted and len(edits) > 1:
        return Reply(False, f"It ran {wanted}, but by {len(edits)} changes; do it with one now, from `r` on.")
    if ran == wanted and stand.ended is StoppedBy.TRIP_COUNT:
        text = f"The trip count ended it: below was true ({last} < {limit}), so it would have gone on."
        return Reply(True, f"{text} There is a way by the condition as well.")
    if ran == wanted:
        return Reply(True, f"The condition ended it: {last} < {limit} is false. The trip count could have done it too.")
    if ran == usual:
        return Reply(False, f"It ran {ran} iterations, as before: what you changed did not decide.")
    if ran > usual and ran > wanted:
        return Reply(False, f"It ran {ran} iterations: you moved the condition away, and the trip count of 10 is next.")
    if ran < wanted:
        told = f"It ran {ran}: {last} < {limit} is false already in iteration {ran - 1}, and that one is the last."
        if stand.ended is StoppedBy.TRIP_COUNT:
            told = f"It ran {ran}: a trip count can only shorten, and this one does so too much."
        return Reply(False, told)
    return Reply(False, f"It ran {ran}: in iteration {wanted - 1} the comparison still says go on.")


def question(wanted: int) -> StateQuestion:
    """Bring it to end after so many iterations: the seventh count_next is the first that is not below 20."""
    last = 3 * wanted
    first = f"The count_next of iteration {wanted - 1} is {last}: which comparison is false there, true at {last - 3}?"
    if wanted > 7:
        first = f"A trip count can only shorten. Which comparison must still be true at {last - 3}?"
    hints = (
        first,
        f"`r`, set a limit above {last - 3} and not above {last}, then `f`.",
        f"`r`, `set limit = {last - 2}`, `f`.",
    )
    return StateQuestion(
        SCENE,
        f"Before iteration 0 change one value so that it ends after exactly {wanted} iterations; then `f`.",
        lambda stand: _exactly(wanted, stand),
        "`r`, then set one value, then `f`: the title says how many ran.",
        hints,
    )


def draw(random: Random) -> Question:
    """Any number but that of its own numbers."""
    return question(random.choice([3, 4, 5, 6, 8, 9]))


LESSON = Lesson(
    5,
    "Two limits",
    5,
    "Say which of trip count and condition ended a loop, and move either.",
    (),
    {"A": SCENE},
    "Lesson 3's counter: by its condition it ends after 7 iterations, of the 10 that the trip count allows.",
    (
        Step("set limit = 12", "set", "it was 20", exact=False),
        Step("f", "finish", "to the end: how many ran?"),
        Step("W", "why", "which limit it was"),
    ),
    "The first line of why: the condition, the trip count, or both; and above it `4 iterations`, of 10. Then r "
    "goes back to the beginning, where nothing is changed.",
    question(5),
    draw,
    "The limit that is reached first ends the loop. Where both are reached at once, why names the condition.\n"
    "If you have a minute: the same by the other limit.",
    say=OpenQuestion(SCENE, "Which single value would you change to get exactly 5 iterations, and to what?"),
    first=edge.RECALL,
)
