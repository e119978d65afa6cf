"""Where a real runtime would have done something else with the loop that just ran (SEMANTICS 0.2).

What a look at the model alone tells is in ``Loop.notes``, from the front ends; here are the findings that depend on
the numbers. Their labels are those of SEMANTICS' table B, seen in OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .engine import Engine
from .graph import System
from .plan import LoopPlan

_PLUGIN = "OpenVINO's CPU plugin"
_INT32 = np.iinfo(np.int32)
_INT64_MAX = np.iinfo(np.int64).max


def observed(plan: LoopPlan, engine: Engine) -> Iterator[str]:
    """One sentence a finding about a loop's last entry; the engine stands at the end of the run."""
    yield from _trip_count(plan, engine)
    yield from _carried(plan, engine)


def _trip_count(plan: LoopPlan, engine: Engine) -> Iterator[str]:
    # A constant one is read in 64 bits, and what it does is in Loop.notes.
    if plan.trip_count < 0 or engine.is_known(plan.trip_count):
        return
    given = int(np.asarray(engine.value(plan.trip_count)).reshape(()))
    if given == -1 and plan.loop.system is System.ONNX:
        yield f"{_PLUGIN} would take the trip count -1 as no limit."
    elif given < 0:  # B14
        yield f"{_PLUGIN} would return uninitialised memory for the trip count {given}."
    elif given > _INT32.max and given != _INT64_MAX:  # B15
        trips = max(int(np.array(given).astype(np.int32)), 0)
        yield f"{_PLUGIN} would run {trips} trips: it truncates the trip count {given} to 32 bits."


def _carried(plan: LoopPlan, engine: Engine) -> Iterator[str]:
    for edge in plan.edges:
        value = engine.value(edge.param)
        if not isinstance(value, np.ndarray) or value.dtype not in (np.int64, np.uint64) or not value.size:
            continue
        if value.max() > _INT32.max or value.min() < _INT32.min:  # B29
            yield (
                f"{_PLUGIN} computes '{edge.edge.param.name}' in 32 bits, and here it does not fit: "
                f"its result would differ."
            )
