"""Runs a model from boundary to boundary, with the operands and results of all nodes of each iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...runtime.engine.engine import Engine
from ...runtime.frame_internals import BodyNode, FrameInternals
from ...runtime.graph import Loop, Node, Operation, StoppedBy, Value
from ...runtime.plan.plan import LoopPlan


@dataclass(eq=False)
class NodeRun:
    """One execution of a node: its operands and results, None where there is none."""

    node: Operation
    inputs: list[Any]
    outputs: list[Any]


@dataclass(eq=False)
class IterationRun:
    """An iteration that has just ended, or the main graph at the end of a run (``plan`` is None).

    ``before``: the inputs of the body as the iteration got them. ``goes_on``: the loop begins another iteration.
    """

    frame: FrameInternals
    before: Mapping[Value, Any] = field(default_factory=dict)

    @property
    def plan(self) -> LoopPlan | None:
        return self.frame.plan

    @property
    def loop(self) -> Loop | None:
        return self.frame.loop

    @property
    def path(self) -> str:
        return self.frame.path

    @property
    def iteration(self) -> int:
        return max(self.frame.iteration - 1, 0)

    @property
    def goes_on(self) -> bool:
        return self.frame.stopped_by is None

    def node_runs(self) -> Iterator[NodeRun]:
        """The operations that ran, in order; those that compute constants are left out."""
        plan = self.frame.engine.plan
        for entry in self.frame.nodes:
            if isinstance(entry.node, Operation) and not _is_constant(entry.node, plan.constant_values):
                run = self._node_run(entry, entry.node)
                if run is not None:
                    yield run

    def _node_run(self, entry: BodyNode, node: Operation) -> NodeRun | None:
        engine = self.frame.engine
        values = [value for value in (*node.inputs, *node.outputs) if value is not None]
        slots = self.frame.available(values)
        if not all(value is None or value in slots for value in node.outputs):
            return None
        # The test of the next iteration has run already, with the values of that iteration.
        before = self.before if self.plan is None or entry.position >= self.plan.head else {}

        def read(value: Value | None) -> Any:
            if value is None:
                return None
            if value in before:
                return before[value]
            return engine.peek(slots[value]) if value in slots else value.constant

        return NodeRun(node, [read(value) for value in node.inputs], [read(value) for value in node.outputs])


def _is_constant(node: Node, constants: set[Value]) -> bool:
    return all(value is None or value in constants for value in node.outputs)


class IterationRuns:
    """The iterations of a run, as they end. ``stopped_by``: what ended the run before its end; None: nothing did.

    Args:
        engine: at the start of a run.
        until: a position of the engine at which to end; None: the end of the run.

    Raises:
        ExecutionError: from the iterator, where a node or a boundary fails.
    """

    def __init__(self, engine: Engine, until: tuple[int, ...] | None = None) -> None:
        self._engine = engine
        self._until = until
        self.stopped_by: StoppedBy | None = None

    def __iter__(self) -> Iterator[IterationRun]:
        before: dict[int, dict[Value, Any]] = {}
        engine = self._engine
        while self._until is None or engine.position < self._until:
            engine.stop_anywhere()
            event, index = engine.resume()
            if event in ("interrupt", "limit"):
                self.stopped_by = StoppedBy.INTERRUPT if event == "interrupt" else StoppedBy.LIMIT
                return
            if event == "end":
                yield IterationRun(FrameInternals(engine, -1))
                return
            if event != "boundary":
                continue
            frame = FrameInternals(engine, index)
            assert frame.loop is not None
            if frame.iteration:
                yield IterationRun(frame, before.get(index, {}))
            before[index] = frame.read_filled_slots(frame.loop.body.inputs)
