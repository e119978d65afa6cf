"""After the hour: no new facts, no hints, in any order."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from ....runtime.graph import StoppedBy
from ..lesson import Card, Kind, Tasks
from ..question import Reply, StateQuestion, ValueQuestion, Wrong, varied
from ..scene import Scene
from ..stand import Stand

SCALE = Scene("vanishing_scale.onnx")
SPEC = Scene("spec_ab.onnx", {"a": 10, "b": 6, "max_trip_count": 10, "keepgoing": True})
SQRT = Scene("newton_sqrt.onnx", {"a": 1.0, "tol": 1e-6})


def _bad(values: object) -> bool:
    array = np.asarray(values)
    return array.dtype.kind == "f" and not bool(np.isfinite(array).all())


def _first_nan(stand: Stand) -> Reply | None:
    """Where the first NaN or infinity came from."""
    boundaries = stand.played.boundaries.get(stand.loop, [])
    made = next((b.iteration for b in boundaries if any(map(_bad, b.carried.values()))), 0) - 1
    if made < 0:
        return None
    if stand.iteration == made or (stand.at_boundary and stand.iteration == made + 1):
        return Reply(True, f"Iteration {made} made it: everything after it is NaN or infinity.")
    if stand.iteration > made + 1 and stand.at_boundary:
        return Reply(False, f"Before iteration {stand.iteration} it is there already: it came from an earlier one.")
    return None


NAN = StateQuestion(
    SCALE,
    "vanishing_scale: its state ends as NaN. Stand in or right behind the iteration that the first NaN or infinity "
    "came from; then `answer here`.",
    _first_nan,
    "A breakpoint can wait for it.",
    ("No hints here.",),
    claimed=True,
)
TRIPS = ValueQuestion(
    SPEC,
    lambda played: (
        f"spec_ab, the loop of ONNX's own page: a is {played['a']}, b begins with {played['b']}, and there are "
        f"{played['max_trip_count']} trips at most. Each iteration yields a - b as the next b, and a + b > a - b as "
        "its condition. How many iterations run?"
    ),
    lambda played: played.iterations,
    lambda played: (
        f"It runs {played.iterations} iterations, and the "
        f"{'trip count' if played.ended is StoppedBy.TRIP_COUNT else 'condition'} ends it."
    ),
    (
        Wrong(lambda played: played["max_trip_count"], "The condition is false before that."),
        Wrong(lambda played: played.iterations - 1, "The iteration that yields false counts as well."),
    ),
    "`f` runs it, and `W` says what ended it.",
)
ROOT = ValueQuestion(
    SQRT,
    lambda played: (
        "newton_sqrt begins with x = a (at least 1), and goes on while x changes by more than tol; the condition "
        f"before iteration 0 is |x·x - a| > tol. With a = {played['a']:g} and tol = {played['tol']:g}: what is root?"
    ),
    lambda played: float(played["root"]),
    lambda played: (
        f"{played.iterations} iterations ran: the initial condition is false, so the initial value comes out."
    ),
    (
        Wrong(lambda _: 0, "Nothing sets it to 0: the initial value comes out."),
        Wrong(lambda _: "nothing|error|nan|none", "A carried value always has one: the initial value."),
    ),
    "Read the title, and `W`.",
)


def _trips(random: Random) -> dict[str, Any]:
    b = random.randint(2, 9)
    # With a not above b the second iteration is the last, whatever the numbers are.
    a = random.randint(2, b) if random.random() < 0.2 else b + random.randint(1, 6)
    return {"a": a, "b": b, "max_trip_count": random.randint(4, 9)}


def _root(random: Random) -> dict[str, Any]:
    return {"a": float(random.randint(2, 30)), "tol": float(random.randint(1000, 2000))}


TASKS = Tasks(
    13,
    "After the hour",
    10,
    (
        Card(Kind.TASK, "", SCALE, NAN),
        Card(Kind.TASK, "", SPEC, draw=varied(TRIPS, _trips)),
        Card(Kind.TASK, "", SQRT, draw=varied(ROOT, _root)),
        Card(Kind.READ, "A model of your own: open it, say how its loop ends, then let explain and why judge.", SQRT),
        Card(Kind.LAST, "", SQRT),
    ),
)
