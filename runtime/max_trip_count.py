"""The trip count limit of a running loop."""

from __future__ import annotations

from .engine.engine import Engine
from .graph import effective_trip_count
from .plan.plan import LoopPlan


def max_trip_count(engine: Engine, plan: LoopPlan) -> int | None:
    """The maximum number of iterations of the last entry; None: unlimited. Includes the limit by sliced inputs."""
    if plan.loop.counted_by_slices:
        return engine.loops.part_count(plan.index)
    return effective_trip_count(engine.loop_state(plan.index)[1])
