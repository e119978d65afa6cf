"""Lesson 5: two limits."""

from __future__ import annotations

from random import Random

from ....runtime.graph import StoppedBy
from ..learner_state import LearnerState
from ..lesson import Lesson, LessonStep
from ..question import Feedback, OpenQuestion, Question, StateQuestion
from . import back_edge
from .condition_timing import SCENE


def _check_iteration_count(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that the loop ended after the wanted number of iterations, by one change."""
    edits = state.edits
    if state.stopped_by is None or not state.at_boundary or not edits:
        return None
    count, reference = state.iteration, state.reference_run.iterations
    last, limit = state.carried("count"), state.value("limit")
    if count == wanted and len(edits) > 1:
        return Feedback(False, f"It ran {wanted}, but by {len(edits)} changes; do it with one now, from `r` on.")
    if count == wanted and state.stopped_by is StoppedBy.TRIP_COUNT:
        text = f"The trip count ended it: below was true ({last} < {limit}), so it would have gone on."
        return Feedback(True, f"{text} There is a way by the condition as well.")
    if count == wanted:
        return Feedback(
            True, f"The condition ended it: {last} < {limit} is false. The trip count could have done it too."
        )
    if count == reference:
        return Feedback(False, f"It ran {count} iterations, as before: what you changed did not decide.")
    if count > reference and count > wanted:
        return Feedback(
            False, f"It ran {count} iterations: you moved the condition away, and the trip count of 10 is next."
        )
    if count < wanted:
        reply = f"It ran {count}: {last} < {limit} is false already in iteration {count - 1}, and that one is the last."
        if state.stopped_by is StoppedBy.TRIP_COUNT:
            reply = f"It ran {count}: a trip count can only shorten, and this one does so too much."
        return Feedback(False, reply)
    return Feedback(False, f"It ran {count}: in iteration {wanted - 1} the comparison still says go on.")


def iteration_count_question(wanted: int) -> StateQuestion:
    """Ask for a given number of iterations; by default the seventh count_next is the first not below 20."""
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
        lambda state: _check_iteration_count(wanted, state),
        "`r`, then set one value, then `f`: the title says how many ran.",
        hints,
    )


def generate_question(random: Random) -> Question:
    """Any number except the original one."""
    return iteration_count_question(random.choice([3, 4, 5, 6, 8, 9]))


LESSON = Lesson(
    5,
    "Two limits",
    5,
    "Say which of trip count and condition ended a loop, and move either.",
    (),
    {"A": SCENE},
    "Lesson 3's counter: by its condition it ends after 7 iterations, of the 10 that the trip count allows.",
    (
        LessonStep("set limit = 12", "set", "it was 20", exact=False),
        LessonStep("f", "finish", "to the end: how many ran?"),
        LessonStep("W", "why", "which limit it was"),
    ),
    "The first line of why: the condition, the trip count, or both; and above it `4 iterations`, of 10. Then r "
    "goes back to the beginning, where nothing is changed.",
    iteration_count_question(5),
    generate_question,
    "The limit that is reached first ends the loop. Where both are reached at once, why names the condition.\n"
    "If you have a minute: the same by the other limit.",
    guess_question=OpenQuestion(SCENE, "Which single value would you change to get exactly 5 iterations, and to what?"),
    generate_recall=back_edge.generate_recall,
)
