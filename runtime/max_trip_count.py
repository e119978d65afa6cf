"""How often a loop that runs may run at most."""

from __future__ import annotations

from .engine.engine import Engine
from .graph import effective_trip_count
from .plan.plan import LoopPlan


def max_trip_count(engine: Engine, plan: LoopPlan) -> int | None:
    """The most iterations of the last entry; None: no limit. Sliced inputs count where they decide."""
    if plan.loop.counted_by_slices:
        return engine.loops.part_count(plan.index)
    return effective_trip_count(engine.loop_state(plan.index)[1])
