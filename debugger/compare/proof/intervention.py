"""Runs one side of a comparison again with changes, and tests whether the difference to the other side is gone."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....runtime.engine.engine import Engine
from ....runtime.errors import InterruptError, LoopdbgError
from ....runtime.frame import Frame
from ....runtime.graph import Graph, StoppedBy, Value
from ....runtime.model import Data
from ....runtime.plan.plan import compile_graph
from ....runtime.run_result import run_totals
from ...session.boundary import Boundary, read_boundary
from ..report.findings import Comparison, Difference, LoopFindings
from ..running.output_comparison import compare_outputs
from ..running.progress import OnTick, ProgressReporter
from ..running.sides import ModelSide, TraceSide
from ..running.value_comparison import Tolerance, compare

#: The most reruns in search of a cause.
MAX_RERUNS = 24
#: A rerun may take this multiple of the compared runs, and at least a second: a chosen edit may slow a model down.
_MAX_SECONDS_RATIO, _MIN_SECONDS = 2.0, 1.0


class RerunsExhaustedError(Exception):
    """The most reruns were made."""


@dataclass(frozen=True)
class BoundaryPosition:
    """A boundary: the one after some iterations of a loop entry, or before the first."""

    loop: str
    entry: tuple[int, ...]
    iteration: int


@dataclass
class ChangedRun:
    """What a changed model gave. ``outputs``: None if it did not end; ``graph``: its graph; ``boundaries``: those that
    were requested and reached."""

    label: str
    graph: Graph
    outputs: Mapping[str, Data] | None = None
    boundaries: dict[BoundaryPosition, Boundary] = field(default_factory=dict)


class Reruns:
    """Runs a model again with changes. ``limit``: the most iterations of a loop entry; ``seconds``: the time of the
    compared runs."""

    def __init__(self, side: ModelSide, limit: int, seconds: float, on_tick: OnTick | None = None) -> None:
        self.side = side
        self.count = 0
        self._limit, self._on_tick = limit, on_tick
        self._max_seconds = max(_MIN_SECONDS, _MAX_SECONDS_RATIO * seconds)

    def run(
        self,
        graph: Graph,
        inputs: Mapping[Value, Any] | None = None,
        positions: Collection[BoundaryPosition] = (),
        to_end: bool = True,
    ) -> ChangedRun | None:
        """Run a graph with the inputs of the side.

        Args:
            graph: a copy of the model's graph with changes.
            inputs: other data for some inputs.
            positions: boundaries to record.
            to_end: whether the outputs are needed; otherwise the run ends with the last of the positions.

        Returns:
            What it gave; None if it failed, or took much longer than the compared runs.

        Raises:
            RerunsExhaustedError: too many runs were made.
            InterruptError: Ctrl-C.
        """
        if self.count >= MAX_RERUNS:
            raise RerunsExhaustedError
        self.count += 1
        try:
            return self._run_engine(graph, inputs or {}, set(positions), to_end)
        except InterruptError:
            raise
        except LoopdbgError:
            return None

    def _run_engine(
        self, graph: Graph, inputs: Mapping[Value, Any], pending: set[BoundaryPosition], to_end: bool
    ) -> ChangedRun | None:
        plan = compile_graph(graph)
        engine = Engine(plan)
        bound = {value: data for value, data in self.side.bound_inputs() if value in plan.slot_of} | dict(inputs)
        engine.start({plan.slot_of[value]: data for value, data in bound.items()}, not pending)
        engine.set_limits(self._limit, refuse_endless=True)
        report = ProgressReporter(self._on_tick, True, lambda: run_totals(engine))
        end = time.monotonic() + self._max_seconds

        def tick() -> None:
            report()
            if time.monotonic() > end:
                engine.interrupt()

        engine.on_tick = tick
        run = ChangedRun(self.side.label, graph)
        indices = {loop.path: loop.index for loop in plan.loops}
        while True:
            engine.clear_stops()
            for position in pending:
                engine.stop_at(indices[position.loop], position.iteration)
            event, index = engine.resume()
            if event == "boundary":
                frame = Frame(engine, index)
                position = BoundaryPosition(frame.path, frame.entry, frame.iteration)
                if position in pending:
                    pending.discard(position)
                    run.boundaries[position] = read_boundary(frame)
                    if not pending and not to_end:
                        return run
            elif event == "interrupt":
                if time.monotonic() > end:
                    return None
                raise InterruptError("interrupted")
            else:
                run.outputs = engine.results() if event == "end" else None
                return run


class Interventions:
    """Tests whether the left model with changes behaves like the right side: it has the same outputs, and the same
    iterations of all loops; where neither differs, the same first values that differ in loops.

    ``slack``: by output, how far rounding moves it, which is no difference.
    """

    def __init__(
        self,
        result: Comparison,
        reruns: Reruns,
        right: ModelSide | TraceSide,
        tolerance: Tolerance,
        names: Mapping[str, str],
    ) -> None:
        self.reruns, self.right = reruns, right
        self.slack: Mapping[str, float] = {}
        #: Whether the last run had the right side's results bit for bit.
        self.bit_identical = False
        self._tolerance, self._names = tolerance, names
        self.compares_outputs = bool(result.outputs)
        #: The outputs alone were compared, since no edit explains how often loops run.
        self.ignores_iterations = False
        self._trips = {_trip_count_boundary(loop): loop for loop in result.loops if loop.trips is not None}
        self._firsts: dict[BoundaryPosition, Difference] = {}
        if not result.outputs and not self._trips:
            self._firsts = {
                difference_position(loop.left, loop.first): loop.first
                for loop in result.loops
                if loop.first is not None
            }

    @property
    def subject(self) -> str:
        """What both sides have in common once the difference is gone."""
        parts = ["the outputs"] * self.compares_outputs + ["the iterations"] * bool(self._trips)
        return " and ".join(parts) or "the first values that differed"

    def ignore_iterations(self) -> bool:
        """Compare the outputs alone from now on; whether that makes a difference."""
        self.ignores_iterations = self.compares_outputs and bool(self._trips)
        if self.ignores_iterations:
            self._trips = {}
        return self.ignores_iterations

    def removes_difference(self, graph: Graph) -> bool:
        """Whether a changed graph of the left model behaves like the right side."""
        run = self.reruns.run(graph, None, [*self._trips, *self._firsts], self.compares_outputs)
        if run is None:
            return False
        self.bit_identical = self._run_agrees(run, Tolerance(0.0, 0.0))
        return self.bit_identical or self._run_agrees(run, self._tolerance)

    def _run_agrees(self, run: ChangedRun, tolerance: Tolerance) -> bool:
        if self.compares_outputs:
            scratch = Comparison("streams", run.label, self.right.label)
            compare_outputs(scratch, run, self.right, tolerance, self._names)
            beyond = [item for item in scratch.outputs if item.delta.absolute > self.slack.get(item.name, 0.0)]
            if beyond or not scratch.compared_outputs:
                return False
        ends_alike = all(_ends_like_right(run.boundaries.get(place), loop) for place, loop in self._trips.items())
        return ends_alike and all(
            _has_right_value(run.boundaries.get(place), first, tolerance) for place, first in self._firsts.items()
        )


def difference_position(loop: str, difference: Difference) -> BoundaryPosition:
    """The boundary that has the values of a difference."""
    return BoundaryPosition(loop, difference.entry, 0 if difference.iteration is None else difference.iteration + 1)


def _trip_count_boundary(loop: LoopFindings) -> BoundaryPosition:
    """The boundary that tells whether a loop runs as often as on the right: its last one there; where the right side
    was not followed to its end, one more than there are on the left."""
    trips = loop.trips
    assert trips is not None
    count = min(trips.left + 1, trips.right) if trips.right_ended is StoppedBy.LIMIT else trips.right
    return BoundaryPosition(loop.left, trips.entry, count)


def _ends_like_right(boundary: Boundary | None, loop: LoopFindings) -> bool:
    assert loop.trips is not None
    if boundary is None:
        return False
    return loop.trips.right_ended is StoppedBy.LIMIT or boundary.ended is not None


def _has_right_value(boundary: Boundary | None, first: Difference, tolerance: Tolerance) -> bool:
    """Whether a boundary has the value that the right side has there."""
    if boundary is None:
        return False
    if first.role == "condition":
        return bool(boundary.condition == first.right)
    return not compare(boundary_value(boundary, first), first.right, tolerance, loose_shape=first.role == "scan").kind


def boundary_value(boundary: Boundary, difference: Difference) -> Any:
    """The value at a boundary that a difference is about, carried or scanned; None if there is none."""
    values: Mapping[str, Any] = boundary.scanned if difference.role == "scan" else boundary.carried
    return values.get(difference.name)
