"""The result of a run: outputs and loop totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .engine.engine import Engine
from .frame_internals import max_trip_count
from .graph import StoppedBy
from .input_validation import Data
from .lazy_function_registry import load_plugin
from .plan.plan import LoopPlan
from .record import record


@record(frozen=True)
class LoopTotals:
    """Totals of a loop in a run: iterations over all entries, and reasons why entries ended.

    ``seconds`` is wall time inside the loop; 0.0 for nested loops.

    >>> totals = model.execute(inputs).loops[0]
    >>> totals.name, totals.iterations, totals.entries, totals.trip_count
    ('sqrt', 5, 1, None)
    """

    name: str
    path: str
    iterations: int
    entries: int
    #: Why the last entry ended; None: the loop was never entered.
    stopped_by: StoppedBy | None
    reasons: Mapping[StoppedBy, int]
    #: The iteration limit of the last entry; None: unlimited.
    trip_count: int | None
    #: Wall time inside the loop, seconds; 0.0 for nested loops.
    seconds: float
    notes: tuple[str, ...] = ()


@record
class Run:
    """The result of a headless run: outputs and loop totals.

    >>> run = model.execute(inputs, max_iterations=2)
    >>> run.outputs, run.stopped_by, run.message
    ({}, <StoppedBy.LIMIT: 'limit'>, "loop 'sqrt' reached the limit of 2 iterations without ending")
    """

    outputs: dict[str, Data] = field(default_factory=dict)
    loops: list[LoopTotals] = field(default_factory=list)
    #: The limit or interrupt that ended the run before its end, else None.
    stopped_by: StoppedBy | None = None
    message: str = ""
    #: Remarks about the file, or about execution outside of any loop; one sentence each.
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("run", self)
        return html


def run_totals(engine: Engine, ended: StoppedBy | None = None) -> list[LoopTotals]:
    """The loop totals; ``ended``: the reason why active loops stopped."""
    return [_loop_totals(plan, engine, ended) for plan in engine.plan.loops]


def _loop_totals(plan: LoopPlan, engine: Engine, ended: StoppedBy | None) -> LoopTotals:
    iterations, entries, reasons, seconds = engine.loops.totals(plan.index)
    _, _, _, last_reason, active = engine.loop_state(plan.index)
    return LoopTotals(
        plan.loop.name,
        plan.path,
        iterations,
        entries,
        (ended if active else last_reason) if entries else None,
        reasons,
        max_trip_count(engine, plan),
        seconds,
        tuple(plan.loop.notes),
    )
