"""The states that lessons 1, 5, 8, 11 and 13 ask to reach."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np

from ....runtime.graph import StoppedBy
from ....runtime.text import count_text
from ..question import Feedback, Question, QuestionGenerator, StateQuestion
from ..scene import Scene, SceneRun
from ..session_queries import LearnerState
from .computed_values import COUNTER

_ADD3 = Scene("add3.onnxtxt", {"n": 5, "x0": 0})
_GROW = Scene("grow.onnxtxt", {"n": 3, "start": 1})
_STAIRS = Scene("stairs.onnxtxt", {"n": 3})


# -- lesson 1


def _check_run_count(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that the body has run the wanted number of times."""
    if not state.at_boundary:
        return None
    count = state.iteration
    numbers = f"numbers 0 to {count - 1}" if count > 1 else "number 0"
    if state.stopped_by is not None:
        return Feedback(False, f"All {count} have run, and the loop ended.")
    if count == wanted:
        return Feedback(True, f"{count} have run, {numbers}. Before iteration {count} the body has run {count} times.")
    if count == 0:
        return Feedback(False, "None yet: the loop is before its first iteration.")
    status = f"Here {count} have run, {numbers}."
    if count == wanted + 1:
        return Feedback(False, f"{status} Counting begins at 0: before iteration {wanted} it has run {wanted} times.")
    return Feedback(False, f"{status} The title says which one comes next.")


def run_count_question(n: int, wanted: int) -> StateQuestion:
    """Ask for the stop after a number of iterations."""
    return StateQuestion(
        _ADD3.with_inputs(n=n),
        f"Stand where the body has run exactly {count_text(wanted, 'time')}; then `answer here`.",
        lambda state: _check_run_count(wanted, state),
        "At a boundary the title says which iteration comes next.",
        (
            "Count the presses of `s`.",
            "`r` goes back to the beginning, `s` runs one iteration, `←` takes one back.",
            f"`r`, then `s` {count_text(wanted, 'time')}: the title then says iteration {wanted}.",
        ),
        requires_claim=True,
    )


def _check_carried_value(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that x has the wanted value."""
    if not state.at_boundary:
        return None
    x, iteration = state.carried("x"), state.iteration
    if x == wanted:
        return Feedback(True, f"x is {x} before iteration {iteration}: that many iterations have added 3 each.")
    return Feedback(False, f"x is {x} here, before iteration {iteration}.")


def carried_value_question(n: int, x0: int, iteration: int) -> StateQuestion:
    """Ask for the stop with the value of x before an iteration."""
    wanted = x0 + 3 * iteration
    return StateQuestion(
        _ADD3.with_inputs(n=n, x0=x0),
        f"x begins with {x0}. Stand where x is {wanted}; then `answer here`.",
        lambda state: _check_carried_value(wanted, state),
        "Watch the row of x while you press `s`.",
        (
            "x grows by 3 an iteration.",
            "`s` and `←` move by an iteration.",
            f"`r`, then `s` {count_text(iteration, 'time')}.",
        ),
        requires_claim=True,
    )


def _generate_run_question(random: Random) -> Question:
    """One of the two questions, at random."""
    n = random.randint(6, 9)
    if random.random() < 0.5:
        return run_count_question(n, random.randint(2, n - 1))
    return carried_value_question(n, random.randint(0, 9), random.randint(2, n - 1))


# -- lesson 5


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
        COUNTER,
        f"Before iteration 0 change one value so that it ends after exactly {wanted} iterations; then `f`.",
        lambda state: _check_iteration_count(wanted, state),
        "`r`, then set one value, then `f`: the title says how many ran.",
        hints,
    )


def _generate_iteration_count(random: Random) -> Question:
    """Any number except the original one."""
    return iteration_count_question(random.choice([3, 4, 5, 6, 8, 9]))


# -- lesson 8


def _carried_before_iteration_2(run: SceneRun) -> int:
    """The value of x before iteration 2."""
    x: int = run.carried_value("grow", "x", 2)
    return x


def _check_final_value(wanted: int, state: LearnerState) -> Feedback | None:
    """Check that one change of start before iteration 2 gives the wanted x_last."""
    edits = state.edits
    if state.stopped_by is None or not state.at_boundary or not edits:
        return None
    x, edit = state.carried("x"), edits[0]
    old_x = _carried_before_iteration_2(state.reference_run)
    if len(edits) > 1:
        return Feedback(False, f"x_last is {x}, by {len(edits)} changes; one is enough: `r`.")
    if edit.name != "start":
        status = "is right, but" if x == wanted else f"is {x}, and"
        return Feedback(
            False, f"x_last {status} you changed {edit.name}, which the back edge carries. Leave it alone: `r`."
        )
    added = state.value("start")
    if x == wanted and edit.iteration == 2:
        return Feedback(True, f"Iteration 2 received {old_x} and read start again: {old_x} + {added} is {wanted}.")
    if edit.iteration < 2:
        return Feedback(
            False,
            f"x_last is {x}: every iteration from {edit.iteration} on adds {added}. But see: x itself did not jump to "
            f"{added}; the initial value was taken once. Set it before iteration 2.",
        )
    return Feedback(False, f"x_last is {x}: iteration 2 adds start to what it received, {old_x} + {added}.")


def final_value_question(start: int, wanted: int) -> StateQuestion:
    """Ask to change x_last to a number."""
    return StateQuestion(
        _GROW.with_inputs(start=start),
        f"Before iteration 2 change start alone so that x_last becomes {wanted}; then `f`.",
        lambda state: _check_final_value(wanted, state),
        "`r`, `s`, `s`, then set start, then `f`: the row of x says what x_last is.",
        (
            f"x before iteration 2, plus what, is {wanted}?",
            "`r`, `s`, `s`, set a value of start, `f`.",
            lambda run: (
                f"x is {_carried_before_iteration_2(run)} there: `set start ="
                f" {wanted - _carried_before_iteration_2(run)}`."
            ),
        ),
    )


def _generate_final_value(random: Random) -> Question:
    """Any start, and an x_last that no start gives in all three iterations."""
    start, added = random.randint(1, 4), random.randint(7, 20)
    return final_value_question(start, 3 * start + added)


# -- lesson 11


def _check_position(h: int, total: int, state: LearnerState) -> Feedback | None:
    """Check that the stop is in stair with the given h and total."""
    if state.loop_name != "stair" or not state.at_boundary:
        return None
    current, outer = state.carried("h"), state.carried("total", 1)
    k = state.outer_iteration
    if (current, outer) == (h, total) and state.stopped_by is None:
        return Feedback(True, f"Iteration {state.iteration} of stair, in iteration {k} of stairs: the one boundary.")
    if outer == total and current == h - 1:
        return Feedback(False, f"Each entry begins at 0, and h is {current}: one `s` more.")
    if outer == total and current is not None and current > h:
        return Feedback(False, f"h is {current}: one too far; `←`.")
    if current == h and state.stopped_by is not None:
        return Feedback(False, f"This entry, in iteration {k} of stairs, has no more iteration; on to the next.")
    if current == h and outer is not None and outer < total:
        return Feedback(False, f"Outer iteration {k}: total is {outer}. A later entry.")
    return None


def position_question(n: int, h: int, total: int) -> StateQuestion:
    """Ask for the stop with the given h and total."""
    outer_iteration = next(k for k in range(n) if k * (k + 1) // 2 == total)
    return StateQuestion(
        _STAIRS.with_inputs(n=n),
        f"n is {n}. Stand in stair where h is {h} and total is {total}; then `answer here`.",
        lambda state: _check_position(h, total, state),
        "`i` goes into the next stair, `s` runs one iteration of it; the stack shows both loops.",
        (
            "total is 0, 1, 3, 6, 10 before the outer iterations 0, 1, 2, 3, 4.",
            f"`B`, then iter {outer_iteration},{h}, and `c`; or with `s` and `i`, entry by entry.",
            f"`r`, `break iter {outer_iteration},{h}`, `c`.",
        ),
        requires_claim=True,
    )


def _generate_position(random: Random) -> Question:
    """A random boundary of stair after its first entry."""
    n = random.randint(4, 5)
    outer_iteration = random.randint(1, n - 1)
    return position_question(n, random.randint(0, outer_iteration), outer_iteration * (outer_iteration + 1) // 2)


# -- lesson 13


def _has_non_finite(values: object) -> bool:
    array = np.asarray(values)
    return array.dtype.kind == "f" and not bool(np.isfinite(array).all())


def _check_first_nan(state: LearnerState) -> Feedback | None:
    """Check the position against the origin of the first NaN or infinity."""
    boundaries = state.reference_run.boundaries.get(state.loop_name, [])
    first = next((b.iteration for b in boundaries if any(map(_has_non_finite, b.carried.values()))), 0) - 1
    if first < 0:
        return None
    if state.iteration == first or (state.at_boundary and state.iteration == first + 1):
        return Feedback(True, f"Iteration {first} made it: everything after it is NaN or infinity.")
    if state.iteration > first + 1 and state.at_boundary:
        return Feedback(False, f"Before iteration {state.iteration} it is there already: it came from an earlier one.")
    return None


_FIRST_NAN = StateQuestion(
    Scene("vanishing_scale.onnx"),
    "vanishing_scale: its state ends as NaN. Stand in or right behind the iteration that the first NaN or infinity "
    "came from; then `answer here`.",
    _check_first_nan,
    "A breakpoint can wait for it.",
    ("No hints here.",),
    requires_claim=True,
)
#: Each as first asked, and its generator; by the names in the lesson files.
STATE_QUESTIONS: Mapping[str, tuple[Question, QuestionGenerator | None]] = {
    "run_count": (run_count_question(5, 3), _generate_run_question),
    "iteration_count": (iteration_count_question(5), _generate_iteration_count),
    "final_value": (final_value_question(1, 13), _generate_final_value),
    "nested_position": (position_question(3, 1, 3), _generate_position),
    "first_nan": (_FIRST_NAN, None),
}
