"""What a loop was given and what it gave: all iterations of one entry, or one iteration of its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError, LimitError, UsageError
from ...runtime.frame import Frame
from ...runtime.graph import Loop, SlicedInput, Value
from ...runtime.model import Data, Model
from ...runtime.plan.plan import LoopPlan
from ..compare.running.value_readers import IterationReader, iteration_inputs, pre_condition_values
from ..session.positions import NonDeterminismError, Position, run_to
from .submodel import NOT_COMPUTED

#: Gives an engine that stands at a position of a run, and that nobody else moves.
EngineAtPosition = Callable[[Position], Engine]


@dataclass(frozen=True)
class LoopEntryRef:
    """One entry of a loop. ``entry``: the iterations that the loops around it are in, outermost first."""

    plan: LoopPlan
    entry: tuple[int, ...]

    def position(self, plans: Sequence[LoopPlan], iteration: int) -> Position:
        """The position of its boundary before an iteration."""
        around = []
        index = self.plan.parent
        while index >= 0:
            around.append(plans[index])
            index = plans[index].parent
        pairs = zip(reversed(around), self.entry, strict=True)
        outer = [number for plan, at in pairs for number in (plan.enter, at)]
        return (*outer, self.plan.enter, iteration, self.plan.head)


class CaptureRuns:
    """Runs of a model with inputs that visit places. ``limit``: the most iterations of any loop."""

    def __init__(
        self, model: Model, inputs: Mapping[str, Data], limit: int | None = None, at: EngineAtPosition | None = None
    ) -> None:
        self.model = model
        self.inputs = inputs
        self.limit = limit
        self._bound_inputs = model.check(inputs)
        self._failures: dict[tuple[int, tuple[int, ...], int], str] = {}
        #: A session puts engines to positions of the branch that it is on.
        self._engine_at = at or self._rerun_to

    def first_entry(self, plan: LoopPlan) -> LoopEntryRef:
        """The entry of a loop that comes first.

        Raises:
            UsageError: it is not entered.
        """
        engine = self._start_engine()
        engine.stop_at(plan.index, 0)
        what, _ = engine.resume()
        self._expect(engine, what, "boundary", plan)
        return LoopEntryRef(plan, Frame(engine, plan.index).entry)

    def last_iteration(self, place: LoopEntryRef) -> int:
        """The number of the last iteration of an entry: one that fails is the last.

        Raises:
            UsageError: it has none.
        """
        engine = self.engine_before(place, 0)
        try:
            self._run_to_end(engine, place.plan)
        except ExecutionError:
            return Frame(engine, place.plan.index).iteration
        count = Frame(engine, place.plan.index).iteration
        if not count:
            raise UsageError(f"loop '{place.plan.loop.name}' ran no iteration")
        return count - 1

    def engine_before(self, place: LoopEntryRef, iteration: int) -> Engine:
        """An engine that stands at the boundary before an iteration.

        Raises:
            UsageError: there is no such entry, or it ended before.
        """
        plan = place.plan
        try:
            return self._engine_at(place.position(self.model.plan.loops, iteration))
        except NonDeterminismError:
            at = f" of entry {'/'.join(map(str, place.entry))}" if place.entry else ""
            raise UsageError(f"loop '{plan.loop.name}' has no iteration {iteration}{at}") from None

    def capture_iteration(
        self, place: LoopEntryRef, number: int, fed: Iterable[Value], results: Iterable[Value]
    ) -> tuple[dict[Value, Any], dict[Value, Any]]:
        """What one iteration is given and what it gives; of one in which a node fails what was computed before, and
        ``NOT_COMPUTED`` for the rest.

        Raises:
            UsageError: the entry ended before.
            ExecutionError: it failed before any node of it, as where a sliced input has no part for it.
        """
        plan, loop = place.plan, place.plan.loop
        engine = self.engine_before(place, number)
        frame = Frame(engine, plan.index)
        if frame.stopped_by is not None:
            raise UsageError(
                f"loop '{loop.name}' has no iteration {number}: it ended after {frame.iteration} ({frame.stopped_by})"
            )
        got = iteration_inputs(frame)
        read = {value: _engine_value(engine, value) for value in _invariant_values(loop, fed) if value not in got}
        engine.clear_stops()
        engine.stop_at(plan.index, number + 1)
        failure = self._run_iteration(engine, plan)
        if failure and engine.pc == plan.head:
            raise ExecutionError(failure)
        if failure:
            self._failures[plan.index, place.entry, number] = failure
        params = [*loop.body.inputs, *pre_condition_values(loop)]
        left = Frame(engine, plan.index)
        after = IterationReader({**read, **got}, params, left.values)
        there = {value: not failure or left._internals.is_computed(value) for value in results}
        return {value: self._read_value(after, value, loop) for value in fed}, {
            value: self._read_value(after, value, loop) if known else NOT_COMPUTED for value, known in there.items()
        }

    def failure_of_iteration(self, place: LoopEntryRef, number: int) -> str:
        """Why an iteration that was asked for failed; empty: it did not."""
        return self._failures.get((place.plan.index, place.entry, number), "")

    def _run_iteration(self, engine: Engine, plan: LoopPlan) -> str:
        """Run the iteration; returns why it failed, or nothing."""
        try:
            what, _ = engine.resume()
        except ExecutionError as error:
            return str(error)
        self._expect(engine, what, "boundary", plan)
        return ""

    def capture_entry(
        self, place: LoopEntryRef, fed: Iterable[Value], results: Sequence[Value]
    ) -> tuple[dict[Value, Any], dict[Value, Any]]:
        """What one entry of a loop is given, and what it gives once all its iterations ran.

        Raises:
            UsageError: there is no such entry.
            LimitError: it reached the limit.
        """
        engine = self.engine_before(place, 0)
        found = {value: _engine_value(engine, value) for value in fed}
        found.update(
            (value, data) for value, data in _current_initial_values(engine, place.plan).items() if value in found
        )
        self._run_to_end(engine, place.plan)
        return found, self._capture_results(engine, place, results)

    def _capture_results(self, engine: Engine, place: LoopEntryRef, results: Sequence[Value]) -> dict[Value, Any]:
        """Runs on to where a loop that ended has given its results: the next node around it, or the next boundary."""
        parent, depth = place.plan.parent, len(engine.stack) - 1
        while True:
            engine.clear_stops()
            engine.stop_at_node(depth)
            if parent >= 0:
                engine.stop_at(parent, place.entry[-1] + 1)
            what, _ = engine.resume()
            frame = Frame(engine, parent)
            if what in ("end", "boundary") or all(frame._internals.is_computed(value) for value in results):
                read = frame.values.read
                return {value: read(value)[1] for value in results}
            self._expect(engine, what, "node", place.plan)

    # -- running

    def _start_engine(self) -> Engine:
        engine = Engine(self.model.plan)
        engine.start(self._bound_inputs)
        engine.set_limits(self.limit, refuse_endless=True)
        return engine

    def _rerun_to(self, position: Position) -> Engine:
        engine = self._start_engine()
        run_to(engine, position)
        return engine

    def _run_to_end(self, engine: Engine, plan: LoopPlan) -> None:
        if Frame(engine, plan.index).stopped_by is None:
            engine.clear_stops()
            engine.stop_at_end(plan.index)
            self._expect(engine, engine.resume()[0], "boundary", plan)

    def _expect(self, engine: Engine, what: str, wanted: str, plan: LoopPlan) -> None:
        if what == "interrupt":
            raise InterruptError("interrupted")
        if what == "limit":
            raise LimitError(f"loop '{plan.loop.name}' did not come to its end within {self.limit} iterations")
        if what == "end" and wanted != "end":
            raise UsageError(f"loop '{plan.loop.name}' is not entered in this run")

    def _read_value(self, after: IterationReader, value: Value, loop: Loop) -> Any:
        there, data = after.read(value)
        if not there:
            raise ExecutionError(f"loop '{loop.name}': '{value.name}' has no value in this iteration")
        return data


def _invariant_values(loop: Loop, fed: Iterable[Value]) -> list[Value]:
    """What is fed that is the same in all iterations: the rest is made by the iteration itself."""
    made = {value for node in loop.body.nodes for value in node.outputs}
    return [value for value in fed if value not in made and value is not loop.iteration]


def _engine_value(engine: Engine, value: Value) -> Any:
    if value.constant is not None:
        return value.constant
    return engine.value(engine.plan.slot_of[value])


def _current_initial_values(engine: Engine, plan: LoopPlan) -> dict[Value, Any]:
    """What a loop begins with, before its iteration 0: other than what it was given where a session changed that."""
    found: dict[Value, Any] = {}
    for edge in plan.edges:
        if isinstance(edge.edge.initial, Value):
            found[edge.edge.initial] = engine.value(edge.param)
    _, trips, condition, _, _ = engine.loop_state(plan.index)
    for value, now in ((plan.loop.trip_count, trips), (plan.loop.initial_condition, condition)):
        if value is not None and now is not None and value not in found:
            before = _engine_value(engine, value)
            same = before is None or int(np.asarray(before).reshape(())) == now or trips is None
            found[value] = before if same else np.full_like(before, now)
    return found


def outer_values_read(loop: Loop) -> Iterable[Value]:
    """What a loop reads around it, each once, in the order of its ports."""
    found = [value for value in loop.inputs if value is not None]
    for edge in loop.back_edges:
        found.append(edge.initial.outer if isinstance(edge.initial, SlicedInput) else edge.initial)
    return dict.fromkeys(found)
