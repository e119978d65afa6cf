"""Captures the inputs and outputs of a loop: for all iterations of one entry, or for one iteration of its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError, LimitError, UsageError
from ...runtime.frame import Frame, frame_reader
from ...runtime.graph import Loop, SlicedInput, Value
from ...runtime.model import Data, Model
from ...runtime.plan.plan import LoopPlan
from ..compare.running.value_readers import IterationReader, iteration_inputs, pre_condition_values
from ..session.positions import NonDeterminismError, Position, run_to
from .submodel import NOT_COMPUTED

#: Returns an engine stopped at a position of a run; the caller owns it.
EngineAtPosition = Callable[[Position], Engine]


@dataclass(frozen=True)
class LoopEntryRef:
    """One entry of a loop. ``entry``: the iteration numbers of the enclosing loops, outermost first."""

    plan: LoopPlan
    entry: tuple[int, ...]

    def position(self, plans: Sequence[LoopPlan], iteration: int) -> Position:
        """The position of the loop's boundary before an iteration."""
        outer_plans = []
        index = self.plan.parent
        while index >= 0:
            outer_plans.append(plans[index])
            index = plans[index].parent
        pairs = zip(reversed(outer_plans), self.entry, strict=True)
        outer = [step for plan, number in pairs for step in (plan.enter, number)]
        return (*outer, self.plan.enter, iteration, self.plan.head)


class CaptureRuns:
    """Runs of a model that stop at loop entries. ``limit``: the maximum number of iterations of any loop."""

    def __init__(
        self, model: Model, inputs: Mapping[str, Data], limit: int | None = None, locate: EngineAtPosition | None = None
    ) -> None:
        self.model = model
        self.inputs = inputs
        self.limit = limit
        self._bound_inputs = model.check(inputs)
        self._failures: dict[tuple[int, tuple[int, ...], int], str] = {}
        #: A session passes a function that positions engines on its current branch.
        self._engine_at = locate or self._rerun_to

    def first_entry(self, plan: LoopPlan) -> LoopEntryRef:
        """The first entry of a loop.

        Raises:
            UsageError: the loop is not entered.
        """
        engine = self._start_engine()
        engine.stop_at(plan.index, 0)
        stop_kind, _ = engine.resume()
        self._expect_stop(engine, stop_kind, "boundary", plan)
        return LoopEntryRef(plan, Frame(engine, plan.index).entry)

    def last_iteration(self, entry_ref: LoopEntryRef) -> int:
        """The number of the last iteration of an entry; a failing iteration is the last.

        Raises:
            UsageError: the entry has no iteration.
        """
        engine = self.engine_before_iteration(entry_ref, 0)
        try:
            self._run_to_end(engine, entry_ref.plan)
        except ExecutionError:
            return Frame(engine, entry_ref.plan.index).iteration
        count = Frame(engine, entry_ref.plan.index).iteration
        if not count:
            raise UsageError(f"loop '{entry_ref.plan.loop.name}' ran no iteration", loop=entry_ref.plan.loop.name)
        return count - 1

    def engine_before_iteration(self, entry_ref: LoopEntryRef, iteration: int) -> Engine:
        """An engine stopped at the boundary before an iteration.

        Raises:
            UsageError: there is no such entry, or it ended earlier.
        """
        plan = entry_ref.plan
        try:
            return self._engine_at(entry_ref.position(self.model.plan.loops, iteration))
        except NonDeterminismError:
            entry_text = f" of entry {'/'.join(map(str, entry_ref.entry))}" if entry_ref.entry else ""
            raise UsageError(
                f"loop '{plan.loop.name}' has no iteration {iteration}{entry_text}",
                loop=plan.loop.name,
                iteration=iteration,
            ) from None

    def capture_iteration(
        self, entry_ref: LoopEntryRef, number: int, feeds: Iterable[Value], results: Iterable[Value]
    ) -> tuple[dict[Value, Any], dict[Value, Any]]:
        """Inputs and outputs of one iteration. If a node fails, the outputs not computed before it are
        ``NOT_COMPUTED``.

        Raises:
            UsageError: the entry ended earlier.
            ExecutionError: the iteration failed before its first node, as with a sliced input that is too short.
        """
        plan, loop = entry_ref.plan, entry_ref.plan.loop
        engine = self.engine_before_iteration(entry_ref, number)
        frame = Frame(engine, plan.index)
        if frame.stopped_by is not None:
            raise UsageError(
                f"loop '{loop.name}' has no iteration {number}: it ended after {frame.iteration} ({frame.stopped_by})",
                loop=loop.name,
                iteration=number,
            )
        inputs = iteration_inputs(frame)
        fixed = {value: _engine_value(engine, value) for value in _invariant_values(loop, feeds) if value not in inputs}
        engine.clear_stops()
        engine.stop_at(plan.index, number + 1)
        failure = self._run_iteration(engine, plan)
        if failure and engine.pc == plan.head:
            raise ExecutionError(failure)
        if failure:
            self._failures[plan.index, entry_ref.entry, number] = failure
        params = [*loop.body.inputs, *pre_condition_values(loop)]
        end = Frame(engine, plan.index)
        reader = IterationReader({**fixed, **inputs}, params, end.values)
        is_known = {value: not failure or frame_reader(end).is_computed(value) for value in results}
        return {value: self._read_value(reader, value, loop) for value in feeds}, {
            value: self._read_value(reader, value, loop) if flag else NOT_COMPUTED for value, flag in is_known.items()
        }

    def failure_of_iteration(self, entry_ref: LoopEntryRef, number: int) -> str:
        """Why a captured iteration failed; empty if it did not."""
        return self._failures.get((entry_ref.plan.index, entry_ref.entry, number), "")

    def _run_iteration(self, engine: Engine, plan: LoopPlan) -> str:
        """Run the iteration; return the error message, empty on success."""
        try:
            stop_kind, _ = engine.resume()
        except ExecutionError as error:
            return str(error)
        self._expect_stop(engine, stop_kind, "boundary", plan)
        return ""

    def capture_entry(
        self, entry_ref: LoopEntryRef, feeds: Iterable[Value], results: Sequence[Value]
    ) -> tuple[dict[Value, Any], dict[Value, Any]]:
        """Inputs of one loop entry, and its outputs after all iterations.

        Raises:
            UsageError: there is no such entry.
            LimitError: the entry reached the limit.
        """
        engine = self.engine_before_iteration(entry_ref, 0)
        inputs = {value: _engine_value(engine, value) for value in feeds}
        inputs.update(
            (value, data) for value, data in _current_initial_values(engine, entry_ref.plan).items() if value in inputs
        )
        self._run_to_end(engine, entry_ref.plan)
        return inputs, self._capture_results(engine, entry_ref, results)

    def _capture_results(self, engine: Engine, entry_ref: LoopEntryRef, results: Sequence[Value]) -> dict[Value, Any]:
        """Run until the results of an ended loop are computed: to the next node around it, or the next boundary."""
        parent, depth = entry_ref.plan.parent, len(engine.stack) - 1
        while True:
            engine.clear_stops()
            engine.stop_at_node(depth)
            if parent >= 0:
                engine.stop_at(parent, entry_ref.entry[-1] + 1)
            stop_kind, _ = engine.resume()
            frame = Frame(engine, parent)
            if stop_kind in ("end", "boundary") or all(frame_reader(frame).is_computed(value) for value in results):
                read = frame.values.read
                return {value: read(value)[1] for value in results}
            self._expect_stop(engine, stop_kind, "node", entry_ref.plan)

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
            self._expect_stop(engine, engine.resume()[0], "boundary", plan)

    def _expect_stop(self, engine: Engine, stop_kind: str, expected: str, plan: LoopPlan) -> None:
        if stop_kind == "interrupt":
            raise InterruptError("interrupted")
        if stop_kind == "limit":
            raise LimitError(
                f"loop '{plan.loop.name}' did not come to its end within {self.limit} iterations",
                loop=plan.loop.name,
                iteration=self.limit,
            )
        if stop_kind == "end" and expected != "end":
            raise UsageError(f"loop '{plan.loop.name}' is not entered in this run", loop=plan.loop.name)

    def _read_value(self, reader: IterationReader, value: Value, loop: Loop) -> Any:
        is_known, data = reader.read(value)
        if not is_known:
            raise ExecutionError(
                f"loop '{loop.name}': '{value.name}' has no value in this iteration", loop=loop.name, name=value.name
            )
        return data


def _invariant_values(loop: Loop, feeds: Iterable[Value]) -> list[Value]:
    """Fed values that are the same in all iterations; the iteration itself computes the others."""
    computed = {value for node in loop.body.nodes for value in node.outputs}
    return [value for value in feeds if value not in computed and value is not loop.iteration]


def _engine_value(engine: Engine, value: Value) -> Any:
    if value.constant is not None:
        return value.constant
    return engine.value(engine.plan.slot_of[value])


def _current_initial_values(engine: Engine, plan: LoopPlan) -> dict[Value, Any]:
    """Initial values of a loop before its iteration 0, including edits made in a session."""
    initial_values: dict[Value, Any] = {}
    for edge in plan.edges:
        if isinstance(edge.edge.initial, Value):
            initial_values[edge.edge.initial] = engine.value(edge.param)
    _, trips, condition, _, _ = engine.loop_state(plan.index)
    for value, current in ((plan.loop.trip_count, trips), (plan.loop.initial_condition, condition)):
        if value is not None and current is not None and value not in initial_values:
            original = _engine_value(engine, value)
            is_same = original is None or int(np.asarray(original).reshape(())) == current or trips is None
            initial_values[value] = original if is_same else np.full_like(original, current)
    return initial_values


def outer_values_read(loop: Loop) -> Iterable[Value]:
    """Outer values that a loop reads, without duplicates, in the order of its ports."""
    values = [value for value in loop.inputs if value is not None]
    for edge in loop.back_edges:
        values.append(edge.initial.outer if isinstance(edge.initial, SlicedInput) else edge.initial)
    return dict.fromkeys(values)
