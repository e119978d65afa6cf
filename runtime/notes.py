"""Where a real runtime would have done something else with the loop that just ran (docs/semantics.md 1).

What a look at the model alone tells is in ``Loop.notes``, from the front ends; here are the findings that depend on
the numbers. docs/diff.md has their labels; they were seen in OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .engine.engine import Engine
from .graph import Note, System
from .peer_counts import trip_count_note
from .plan.plan import LoopPlan

_PLUGIN = "OpenVINO's CPU plugin"
_INT32 = np.iinfo(np.int32)


def observed(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    """One sentence a finding about a loop's last entry; the engine stands at the end of the run."""
    yield from _trip_count(plan, engine)
    yield from _carried(plan, engine)


def _trip_count(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    # What a constant one does is in Loop.notes.
    if plan.trip_count < 0 or engine.memory.is_known(plan.trip_count):
        return
    if plan.initial_condition >= 0 and not np.asarray(engine.value(plan.initial_condition)).reshape(-1)[:1].all():
        return  # nothing runs anywhere
    given = int(np.asarray(engine.value(plan.trip_count)).reshape(()))
    note = trip_count_note(plan.loop, given, engine.loop_state(plan.index)[0])
    if note is not None:
        yield note


def _carried(plan: LoopPlan, engine: Engine) -> Iterator[Note]:
    if plan.loop.system is System.TENSORRT:
        return  # no model of OpenVINO's
    for edge in plan.edges:
        if edge.edge.result is edge.edge.param:
            continue  # it is handed through as it came
        value = engine.value(edge.param)
        if not isinstance(value, np.ndarray) or value.dtype not in (np.int64, np.uint64) or not value.size:
            continue
        if value.max() > _INT32.max or value.min() < _INT32.min:
            yield Note(
                "B29",
                f"{_PLUGIN} computes '{edge.edge.param.name}' in 32 bits, and here it does not fit: "
                f"its result would differ.",
            )
