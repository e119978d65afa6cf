"""After the hour: no new facts, no hints, in any order."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from ....runtime.graph import StoppedBy
from ..learner_state import LearnerState
from ..lesson import Card, CardKind, ExerciseSet
from ..question import Feedback, StateQuestion, ValueQuestion, WrongRule, vary_inputs
from ..scene import Scene

SCALE_SCENE = Scene("vanishing_scale.onnx")
SPEC_SCENE = Scene("spec_ab.onnx", {"a": 10, "b": 6, "max_trip_count": 10, "keepgoing": True})
SQRT_SCENE = Scene("newton_sqrt.onnx", {"a": 1.0, "tol": 1e-6})


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


FIRST_NAN_QUESTION = StateQuestion(
    SCALE_SCENE,
    "vanishing_scale: its state ends as NaN. Stand in or right behind the iteration that the first NaN or infinity "
    "came from; then `answer here`.",
    _check_first_nan,
    "A breakpoint can wait for it.",
    ("No hints here.",),
    requires_claim=True,
)
ITERATIONS_QUESTION = ValueQuestion(
    SPEC_SCENE,
    lambda run: (
        f"spec_ab, the loop of ONNX's own page: a is {run['a']}, b begins with {run['b']}, and there are "
        f"{run['max_trip_count']} trips at most. Each iteration yields a - b as the next b, and a + b > a - b as "
        "its condition. How many iterations run?"
    ),
    lambda run: run.iterations,
    lambda run: (
        f"It runs {run.iterations} iterations, and the "
        f"{'trip count' if run.stopped_by is StoppedBy.TRIP_COUNT else 'condition'} ends it."
    ),
    (
        WrongRule(lambda run: run["max_trip_count"], "The condition is false before that."),
        WrongRule(lambda run: run.iterations - 1, "The iteration that yields false counts as well."),
    ),
    "`f` runs it, and `W` says what ended it.",
)
ROOT_QUESTION = ValueQuestion(
    SQRT_SCENE,
    lambda run: (
        "newton_sqrt begins with x = a (at least 1), and goes on while x changes by more than tol; the condition "
        f"before iteration 0 is |x·x - a| > tol. With a = {run['a']:g} and tol = {run['tol']:g}: what is root?"
    ),
    lambda run: float(run["root"]),
    lambda run: f"{run.iterations} iterations ran: the initial condition is false, so the initial value comes out.",
    (
        WrongRule(lambda _: 0, "Nothing sets it to 0: the initial value comes out."),
        WrongRule(lambda _: "nothing|error|nan|none", "A carried value always has one: the initial value."),
    ),
    "Read the title, and `W`.",
)


def _iterations_inputs(random: Random) -> dict[str, Any]:
    b = random.randint(2, 9)
    # With a <= b the second iteration is always the last.
    a = random.randint(2, b) if random.random() < 0.2 else b + random.randint(1, 6)
    return {"a": a, "b": b, "max_trip_count": random.randint(4, 9)}


def _root_inputs(random: Random) -> dict[str, Any]:
    return {"a": float(random.randint(2, 30)), "tol": float(random.randint(1000, 2000))}


EXERCISES = ExerciseSet(
    13,
    "After the hour",
    10,
    (
        Card(CardKind.TASK, "", SCALE_SCENE, FIRST_NAN_QUESTION),
        Card(CardKind.TASK, "", SPEC_SCENE, generate_question=vary_inputs(ITERATIONS_QUESTION, _iterations_inputs)),
        Card(CardKind.TASK, "", SQRT_SCENE, generate_question=vary_inputs(ROOT_QUESTION, _root_inputs)),
        Card(
            CardKind.READ,
            "A model of your own: open it, say how its loop ends, then let explain and why judge.",
            SQRT_SCENE,
        ),
        Card(CardKind.LAST, "", SQRT_SCENE),
    ),
)
