"""Lesson 11: nested loops."""

from __future__ import annotations

from random import Random

from ..learner_state import LearnerState
from ..lesson import Lesson, LessonStep
from ..question import Feedback, Question, StateQuestion, ValueQuestion, WrongRule
from ..scene import Scene, SceneRun

SCENE = Scene("stairs.onnxtxt", {"n": 3})


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
        SCENE.with_inputs(n=n),
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


def generate_question(random: Random) -> Question:
    """A random boundary of stair after its first entry."""
    n = random.randint(4, 5)
    outer_iteration = random.randint(1, n - 1)
    return position_question(n, random.randint(0, outer_iteration), outer_iteration * (outer_iteration + 1) // 2)


def _rows_of_full_length(run: SceneRun) -> list[int]:
    """The rows if every entry ran as often as the last."""
    return [run["n"]] * int(run["n"])


def _rows_with_kept_height(run: SceneRun) -> list[int]:
    """The rows if h were kept from entry to entry."""
    return [k * (k + 1) // 2 for k in range(1, run["n"] + 1)]


LESSON = Lesson(
    11,
    "A loop in a loop",
    5,
    "Keep two iterations apart, and know what an inner loop keeps.",
    ("frame", "entry"),
    {"A": SCENE},
    "The body of stairs holds another loop: stair runs i + 1 iterations, counts h up from 0, and gives its last value "
    "as height; total adds the heights up, rows collects them. Each time that stair is entered is an entry; a running "
    "loop is a frame.",
    (
        LessonStep("i", "into", "the first node of the outer body"),
        LessonStep("i", "into", "twice: up to the inner loop, and into it", 2),
        LessonStep("s", "step", "one iteration of the inner loop"),
        LessonStep("[", "up", "look at the frame around"),
        LessonStep("]", "down", "and at the frame inside again"),
    ),
    "The stack: `stairs` with its iteration, and `stair` with its own. Steps are about the one that is selected.",
    position_question(3, 1, 3),
    generate_question,
    "Each entry is a new loop: trip count, initial values and captures are taken again.",
    guess_question=ValueQuestion(
        SCENE,
        "What is rows in the end?",
        lambda run: run["rows"],
        "one height an outer iteration, of 1, 2 and 3 inner ones.",
        (
            WrongRule(_rows_with_kept_height, "yours would keep h from entry to entry."),
            WrongRule(_rows_of_full_length, "yours would fix the inner trip count."),
        ),
        "`f` runs to the end.",
    ),
)
