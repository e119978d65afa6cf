"""How often a loop that runs may run at most."""

from __future__ import annotations

from .engine.engine import Engine
from .graph import limiting
from .plan.plan import LoopPlan


def most_iterations(engine: Engine, plan: LoopPlan) -> int | None:
    """The most iterations of the last entry; None: no limit. Sliced inputs count where they decide."""
    if plan.loop.counted_by_slices:
        return engine.loops.parts(plan.index)
    return limiting(engine.loop_state(plan.index)[1])
