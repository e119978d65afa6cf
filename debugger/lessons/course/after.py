"""After the hour: no new facts, no hints, in any order."""

from __future__ import annotations

import numpy as np

from ..lesson import Card, Kind, Tasks
from ..question import OpenQuestion, Reply, StateQuestion, ValueQuestion, Wrong
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
        return Reply(True, f"Iteration {made} made it: everything after it is spoilt.")
    if stand.iteration > made + 1 and stand.at_boundary:
        return Reply(False, f"Before iteration {stand.iteration} it is there already: it came from an earlier one.")
    return None


NAN = StateQuestion(
    SCALE,
    "vanishing_scale: its state ends as NaN. Stand in or right behind the iteration that the first NaN or infinity "
    "came from.",
    _first_nan,
    "A breakpoint can wait for it.",
    ("No hints here.",),
)
TRIPS = ValueQuestion(
    SPEC,
    "spec_ab, the loop of ONNX's own page, with a = 10: how many iterations, and by which limit? Say the number.",
    lambda played: played.iterations,
    lambda played: f"{played.iterations}, by the trip count: the condition is true to the end.",
    (Wrong(lambda _: 2, "So it is with a = 3, where the condition ends it."),),
    "`f` runs it, and `W` says what ended it.",
)
ROOT = ValueQuestion(
    SQRT,
    "newton_sqrt with a = 1: what is root, and why?",
    lambda played: float(played["root"]),
    lambda played: (
        f"{played.iterations} iterations ran: the initial condition is false, so the initial value comes out."
    ),
    (
        Wrong(lambda _: 0, "Nobody made it 0: the initial value comes out."),
        Wrong(lambda _: "nothing|error|nan|none", "A carried value always has one: the initial value."),
    ),
    "Read the title, and `W`.",
)
OWN = OpenQuestion(
    SQRT,
    "A model of your own: open it, say how its loop ends, then let explain and why judge. Answer anything when you "
    "have.",
)
TASKS = Tasks(
    13,
    "After the hour",
    10,
    (
        Card(Kind.TASK, "", SCALE, NAN),
        Card(Kind.TASK, "", SPEC, TRIPS),
        Card(Kind.TASK, "", SQRT, ROOT),
        Card(Kind.TASK, "", SQRT, OWN),
        Card(Kind.LAST, "", SQRT),
    ),
)
