"""Frames of a recording: what a running loop showed at a recorded boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.errors import LoopdbgError
from ...runtime.frame import BackEdge, BodyNode, NodeState
from ...runtime.graph import MAIN, Array, Graph, If, Loop, Node, ScanOutput, StoppedBy, TensorType, Value, bodies, walk
from ...runtime.slices import cut, join
from .ports import PortKind
from .reader import Entry, Mark, Trace


class RecordedValues(dict[str, Any]):
    """Values by name; asking for one that the recording lacks says how to get it."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"the recording holds no value '{name}' here; --record-nodes records all body values")


class RecordedFrame:
    """One loop of a recording, or the main graph, as :class:`~...runtime.frame.Frame` shows it of a run.

    A frame around the innermost one stands inside an iteration: ``inside`` is the loop that runs there. What was not
    recorded is not there: with ``--every K`` a back edge has no previous value, and a scan output only the elements
    that were recorded.
    """

    def __init__(
        self,
        trace: Trace,
        loops: Sequence[Loop],
        index: int,
        entry: Entry | None = None,
        mark: Mark | None = None,
        iteration: int = 0,
        inside: int | None = None,
        over: bool = False,
    ) -> None:
        self._trace = trace
        self._loops = loops
        self._index = index
        self._entry = entry
        self._mark = mark
        self._iteration = iteration
        self._inside = None if inside is None else loops[inside]
        #: Of the main graph: the model has ended.
        self._over = over
        self.loop: Loop | None = loops[index] if index >= 0 else None

    def __repr__(self) -> str:
        return f"<RecordedFrame {self.path}, iteration {self.iteration}>"

    @property
    def name(self) -> str:
        return self.loop.name if self.loop else MAIN

    @property
    def path(self) -> str:
        return self._trace.loops[self._index].path if self.loop else MAIN

    @property
    def entry(self) -> tuple[int, ...]:
        return self._entry.around if self._entry else ()

    @property
    def iteration(self) -> int:
        return self._iteration

    @property
    def trip_count(self) -> int | None:
        return self._entry.trip_count if self._entry else None

    @property
    def condition(self) -> bool | None:
        return self._mark.condition if self._mark else None

    @property
    def stopped_by(self) -> StoppedBy | None:
        return self._mark.ended if self._mark else None

    @property
    def at_boundary(self) -> bool:
        return self.loop is not None and self._inside is None

    # -- values

    @cached_property
    def _here(self) -> Mapping[PortKind, Mapping[str, Any]]:
        if self._mark is None:
            return {kind: {} for kind in PortKind}
        return self._trace.values(self._mark.id, self._index)

    @cached_property
    def _before(self) -> Mapping[str, Any]:
        """What was carried into the iteration before this boundary, where that boundary was recorded."""
        mark = self._at(self._iteration - 1)
        return {} if mark is None else self._trace.values(mark.id, self._index)[PortKind.CARRIED]

    @cached_property
    def _yielded(self) -> Mapping[str, Any] | None:
        """Inside an iteration: the body values that it computes, known from the boundary after it."""
        mark = self._at(self._iteration + 1) if self._inside is not None else None
        return None if mark is None else self._trace.values(mark.id, self._index)[PortKind.NODE]

    def _at(self, iteration: int) -> Mark | None:
        if self._entry is None:
            return None
        return next(self._trace.marks("WHERE entry = ? AND iteration = ?", self._entry.id, iteration), None)

    @property
    def carried(self) -> Mapping[str, Any]:
        return self._here[PortKind.CARRIED]

    @property
    def back_edges(self) -> list[BackEdge]:
        edges = []
        for edge in self.loop.back_edges if self.loop else ():
            names = (edge.param.name, edge.result.name, edge.param.type)
            now = self.carried.get(edge.param.name)
            if not self.at_boundary:
                edges.append(BackEdge(*names, now, None, False))
                continue
            previous = self._before.get(edge.param.name) if self._iteration else None
            edges.append(BackEdge(*names, previous, now, edge.param.name in self.carried))
        return edges

    @property
    def values(self) -> RecordedValues:
        """Every value that is known here by name: carried ones, body values that were recorded, captures, constants,
        inputs, and those of the frames around."""
        return self._values

    @cached_property
    def _values(self) -> RecordedValues:
        found = RecordedValues()
        loop = self.loop
        outer = self._outer()
        if outer is None or loop is None:
            found.update(self._trace.inputs)
            found.update(self._captured_in_main())
            found.update(_constants(self._trace.graph))
            return found
        found.update(outer.values)
        # Names of the body hide those of the graphs around it, also where nothing is known of them.
        for value in _scope(loop.body):
            found.pop(value.name, None)
        captured = self._captures()
        found.update(captured)
        for invariant in loop.invariants:
            if invariant.outer.name in captured or invariant.outer.name in outer.values:
                found[invariant.inner.name] = captured.get(invariant.outer.name, outer.values.get(invariant.outer.name))
            elif invariant.outer.constant is not None:
                found[invariant.inner.name] = invariant.outer.constant.copy()
        found.update(_constants(loop.body))
        self._add_iteration(found, captured, outer.values)
        found.update(self._results())
        found.update(self._here[PortKind.NODE] if self.at_boundary else self._done_values())
        found.update(self.carried)
        return found

    def _add_iteration(self, found: RecordedValues, captured: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
        """Iteration number, condition and parts of sliced inputs: what the iteration gets that runs, at a boundary what
        the next one would get."""
        loop = self.loop
        assert loop is not None
        if loop.iteration is not None:
            kind = np.int32 if _declared(loop.iteration).dtype == np.int32 else np.int64
            found[loop.iteration.name] = np.full(_one(loop.iteration), self._iteration, kind)
        if loop.condition_input is not None:
            # An iteration that runs was allowed to; where the loop has no condition, the body gets true.
            told = self.condition is not False or not self.at_boundary
            found[loop.condition_input.name] = np.full(_one(loop.condition_input), told)
        for sliced in loop.sliced_inputs:
            whole = captured.get(sliced.outer.name, outer.get(sliced.outer.name, sliced.outer.constant))
            if isinstance(whole, np.ndarray):
                try:
                    parts = cut(whole, sliced, loop.describe())
                except LoopdbgError:
                    continue
                if len(parts):
                    found[sliced.inner.name] = parts[min(self._iteration, len(parts) - 1)].copy()

    def _results(self) -> dict[str, Any]:
        """Body values that are known without --record-nodes: what the back edges carry and the scan outputs got."""
        loop = self.loop
        assert loop is not None
        if not self.at_boundary or not self._iteration:
            return {}
        params = set(loop.body.inputs)
        found = {}
        if loop.condition is not None and loop.condition not in params and self.condition is not None:
            found[loop.condition.name] = np.asarray(self.condition)
        for scan in loop.scan_outputs:
            if scan.outer.name in self._here[PortKind.SCAN] and scan.result not in params:
                found[scan.result.name] = self._here[PortKind.SCAN][scan.outer.name]
        for edge in loop.back_edges:
            if edge.param.name in self.carried and edge.result not in params:
                found[edge.result.name] = self.carried[edge.param.name]
        return found

    def _done_values(self) -> dict[str, Any]:
        yielded = self._yielded or {}
        names = (v.name for n in self.nodes if n.state is NodeState.DONE for v in n.node.outputs if v is not None)
        return {name: yielded[name] for name in names if name in yielded}

    def _captures(self) -> dict[str, Any]:
        """What the body read from outside when this entry began."""
        first = self._at(0)
        return {} if first is None else self._trace.values(first.id, self._index)[PortKind.CAPTURE]

    def _captured_in_main(self) -> dict[str, Any]:
        """Values of the main graph that the loops in it read; of those that were entered."""
        found: dict[str, Any] = {}
        for loop in self._trace.loops:
            if loop.parent is None:
                for entry in self._trace.entries(loop.index):
                    frame = RecordedFrame(self._trace, self._loops, loop.index, entry)
                    found.update(frame._captures())
        return found

    def _outer(self) -> RecordedFrame | None:
        """The frame around this one."""
        if self._index < 0 or self._entry is None:
            return None
        parent = self._trace.loops[self._index].parent
        return frame_around(self._trace, self._loops, parent, self._entry.around, self._index)

    # -- scan outputs

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        """What each scan output has collected so far; those of which every element was recorded."""
        found = {}
        for port in self.loop.scan_outputs if self.loop else ():
            rows = self._elements(port, self._iteration)
            if rows and len(rows) == self._iteration:
                found[port.outer.name] = join(np.stack(rows), port).copy()
        return found

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """As :meth:`~...runtime.frame.Frame.scan_tail`, of the elements that were recorded."""
        assert self.loop is not None
        port = self.loop.scan_outputs[k]
        tail = self._elements(port, length)
        if tail:
            shape = _joined_shape(tail[-1].shape, port, self._iteration)
            return self._iteration, shape, tail[-1].dtype.name, tail
        declared = _declared(port.result)
        dtype = "float32" if declared.dtype is None else declared.dtype.name
        shape = _joined_shape(
            tuple(d if isinstance(d, int) else 0 for d in declared.shape or ()), port, self._iteration
        )
        return self._iteration, shape, dtype, []

    def _elements(self, port: ScanOutput, length: int) -> list[Array]:
        """The newest recorded elements, oldest first."""
        if self._mark is None or self._entry is None:
            return []
        marks = self._trace.marks(
            "WHERE entry = ? AND iteration BETWEEN 1 AND ? ORDER BY iteration DESC LIMIT ?",
            self._entry.id,
            self._iteration,
            length,
        )
        found = []
        for mark in reversed(list(marks)):
            value = self._trace.values(mark.id, self._index)[PortKind.SCAN].get(port.outer.name)
            if isinstance(value, np.ndarray):
                found.append(value)
        return found

    # -- the body

    @cached_property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order; of those before an inner loop that runs it is known that they are done."""
        graph = self.loop.body if self.loop else self._trace.graph
        flat = list(_flat(graph.nodes, 0, "", ()))
        path: tuple[Node, ...] = ()
        if self._inside is None:
            # At a boundary nothing of the next iteration is computed; once the model has ended, all is.
            position = len(flat) if self._over else 0 if self.stopped_by is None else -1
        else:
            position, path = next((k, path) for k, (node, _, _, path) in enumerate(flat) if node is self._inside)
        return [
            BodyNode(k, node, depth, branch, self._state(k, node, branch, around, position, path))
            for k, (node, depth, branch, around) in enumerate(flat)
        ]

    def _state(
        self, k: int, node: Node, branch: str, around: tuple[Node, ...], position: int, path: tuple[Node, ...]
    ) -> NodeState:
        if k == position:
            return NodeState.NEXT
        if k > position:
            return NodeState.TODO
        if node in path:
            # The Ifs around the loop that runs: their outputs are written where the branches join.
            return NodeState.TODO
        if branch and not set(around) <= set(path):
            # Which branch an earlier If took shows in what it computed.
            names = [value.name for value in node.outputs if value is not None]
            if not self._yielded:
                return NodeState.TODO
            return NodeState.DONE if any(name in self._yielded for name in names) else NodeState.SKIPPED
        if branch and around:
            # In the other branch of an If that the running loop is in.
            inside = self._inside
            for word, graph in bodies(around[-1]):
                if word == branch and inside is not None:
                    return NodeState.DONE if any(n is inside for n in walk(graph)) else NodeState.SKIPPED
        return NodeState.DONE


def frame_around(
    trace: Trace, loops: Sequence[Loop], parent: int | None, around: tuple[int, ...], inside: int
) -> RecordedFrame:
    """The frame in which the loop ``inside`` runs; ``around``: the iterations of all loops around that one."""
    if parent is None:
        return RecordedFrame(trace, loops, -1, inside=inside)
    text = "/".join(map(str, around[:-1]))
    for (number,) in trace.rows("SELECT id FROM entry WHERE loop = ? AND around = ?", parent, text):
        entry = trace.entry(number)
        mark = next(trace.marks("WHERE entry = ? AND iteration = ?", number, around[-1]), None)
        return RecordedFrame(trace, loops, parent, entry, mark, around[-1], inside)
    return RecordedFrame(trace, loops, parent, None, None, around[-1], inside)


def _declared(value: Value) -> TensorType:
    return value.type if isinstance(value.type, TensorType) else TensorType()


def _one(value: Value) -> tuple[int, ...]:
    """The shape that a one-element body parameter gets."""
    shape = _declared(value).shape
    return (1,) if shape is not None and len(shape) == 1 else ()


def _flat(nodes: Sequence[Node], depth: int, branch: str, around: tuple[Node, ...]) -> Iterator[tuple[Any, ...]]:
    for node in nodes:
        yield node, depth, branch, around
        if isinstance(node, If):
            for word, graph in bodies(node):
                yield from _flat(graph.nodes, depth + 1, word, (*around, node))


def _constants(graph: Graph) -> dict[str, Any]:
    """Constants of a graph, and of the branches of its Ifs."""
    found = {value.name: value.constant.copy() for value in graph.constants if value.constant is not None}
    for node in graph.nodes:
        if isinstance(node, If):
            for _, branch in bodies(node):
                found = {**_constants(branch), **found}
    return found


def _scope(graph: Graph) -> Iterator[Value]:
    """Values that a graph itself defines, and those of the branches of its Ifs."""
    yield from (*graph.inputs, *graph.constants)
    for node in graph.nodes:
        yield from (value for value in node.outputs if value is not None)
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _scope(branch)


def _joined_shape(element: tuple[int, ...], port: ScanOutput, count: int) -> tuple[int, ...]:
    """The shape of a scan output of so many elements."""
    dims = list(element)
    if port.stack:
        axis = port.axis + len(dims) + 1 if port.axis < 0 else port.axis
        dims.insert(min(max(axis, 0), len(dims)), count)
    elif dims:
        axis = port.axis + len(dims) if port.axis < 0 else port.axis
        dims[min(max(axis, 0), len(dims) - 1)] *= count
    else:
        dims = [count]
    return tuple(dims)
