"""Frames of a recording: what a running loop showed at a recorded boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.api_boundary import public_class
from ...runtime.dtypes import dtype_from_name as dtype_of
from ...runtime.engine.history.value_history import EMPTY_VALUE, tensor_statistics
from ...runtime.frame import BodyNode, CarriedValue, NodeState
from ...runtime.graph import MAIN, Array, If, Loop, Node, ScanOutput, StoppedBy, TensorType, Value, bodies, walk
from ...runtime.graph.slicing import join_scan_output, scan_output_shape
from ...runtime.plugin_registry import load_plugin
from ..describe.frame_text import position_text
from ..expression.language import parse
from ..scope.frame_scope import FrameScope
from ..scope.iteration_values import IterationValues
from ..scope.tracked_values import bucket_rows
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution
from .graph_index import GraphIndex, LoopBodyIndex
from .probes import PortKind
from .queries import BoundaryFilter
from .recorded_values import PortValues, RecordedValues
from .trace_store import BoundaryRef, RecordedEntry


class RecordedFrameInternals:
    """What is behind a recorded frame.

    A frame around the innermost one stands inside an iteration: ``running`` is the loop that runs there. ``now``: the
    boundary at which the recording stands.
    """

    def __init__(
        self,
        outline: GraphIndex,
        index: int,
        now: int,
        entry: RecordedEntry | None = None,
        mark: BoundaryRef | None = None,
        iteration: int = 0,
        inside: int | None = None,
        over: bool = False,
    ) -> None:
        self.graph_index = outline
        self.index = index
        self.current_boundary = now
        self.boundary = mark
        #: The model has ended.
        self.model_ended = over
        self.body: LoopBodyIndex | None = outline.loops[index] if index >= 0 else None
        self.loop: Loop | None = self.body.loop if self.body else None
        self.trace = outline.trace
        self.entry = entry
        self.iteration = iteration
        self.running_loop = None if inside is None else outline.loops[inside].loop
        self._port_values: dict[tuple[PortKind, int], PortValues] = {}

    @property
    def ended(self) -> StoppedBy | None:
        """Why the loop ends at this boundary; None while it goes on."""
        return self.boundary.ended if self.boundary else None

    def enclosing(self) -> RecordedFrameInternals | None:
        """The same of the frame in which this loop runs; None of the main graph."""
        if self.body is None or self.entry is None:
            return None
        outline, parent, around = self.graph_index, self.body.parent, self.entry.around
        if parent < 0:
            return RecordedFrameInternals(outline, -1, self.current_boundary, inside=self.index, over=self.model_ended)
        started = outline.entry_start(parent, around[:-1])
        entry = None if started is None else started[0]
        found = RecordedFrameInternals(outline, parent, self.current_boundary, entry, None, around[-1], self.index)
        found.boundary = found.boundary_at(around[-1])
        return found

    @property
    def entry_id(self) -> int | None:
        """The number of the entry in the trace; None of the main graph."""
        return self.entry.id if self.entry else None

    def boundary_at(self, iteration: int) -> BoundaryRef | None:
        """The boundary of this entry before an iteration, where it was recorded."""
        return self._find_boundary(BoundaryFilter(entry=self.entry_id, iteration=iteration))

    def _find_boundary(self, which: BoundaryFilter) -> BoundaryRef | None:
        return None if which.entry is None else self.trace.boundary_ref(which, newest=True)

    def previous_frame(self) -> RecordedFrame | None:
        """The frame at the recorded boundary of this entry before this one."""
        return self._previous_frame

    @cached_property
    def _previous_frame(self) -> RecordedFrame | None:
        mark = self._find_boundary(BoundaryFilter(entry=self.entry_id, below=self.iteration))
        return None if mark is None else frame_at(self.graph_index, mark)

    def port_values(self, kind: PortKind, mark: BoundaryRef | None = None) -> PortValues:
        """What was recorded of a kind at a boundary of this loop: at the one before the iteration that runs."""
        mark = mark or self.boundary
        key = (kind, 0 if mark is None else mark.id)
        if key not in self._port_values:
            self._port_values[key] = PortValues(self.trace, self.index, mark, kind)
        return self._port_values[key]

    def scope(self) -> Mapping[str, Value]:
        """The values of the graph by name. Names as the body sees them: its own before those of enclosing graphs."""
        return self.graph_index.scope(self.index)

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """As :meth:`~...runtime.frame.Frame.scan_tail`, of the elements that were recorded."""
        assert self.loop is not None
        port = self.loop.scan_outputs[k]
        tail = self.scan_elements(port, length)
        if tail:
            shape = scan_output_shape(tail[-1].shape, port, self.iteration)
            return self.iteration, shape, tail[-1].dtype.name, tail
        declared = port.result.type if isinstance(port.result.type, TensorType) else TensorType()
        dtype = "float32" if declared.dtype is None else declared.dtype.name
        shape = scan_output_shape(
            tuple(d if isinstance(d, int) else 0 for d in declared.shape or ()), port, self.iteration
        )
        return self.iteration, shape, dtype, []

    def scan_elements(self, port: ScanOutput, length: int) -> list[Array]:
        """The newest recorded elements, oldest first."""
        if self.boundary is None or self.entry is None:
            return []
        rows = self.trace.newest_values(self.entry, PortKind.SCAN, port.outer.name, self.iteration, length)
        return [row for row in rows if isinstance(row, np.ndarray)]

    @cached_property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order; of those before an inner loop that runs it is known that they are done."""
        graph = self.loop.body if self.loop else self.graph_index.graph
        flat = list(_flatten_nodes(graph.nodes, 0, "", ()))
        path: tuple[Node, ...] = ()
        ahead = 0
        if self.running_loop is None:
            # At a boundary nothing of the next iteration is computed; once the model has ended, all is.
            ahead = self._count_condition_nodes(flat)
            position = len(flat) if self.model_ended and self.body is None else ahead if self.ended is None else -1
        else:
            position, path = next((k, path) for k, (node, _, _, path) in enumerate(flat) if node is self.running_loop)
        return [
            BodyNode(
                k,
                node,
                depth,
                branch,
                self._condition_node_state(node, branch)
                if k < ahead
                else self._node_state(k, node, branch, around, position, path),
            )
            for k, (node, depth, branch, around) in enumerate(flat)
        ]

    def _count_condition_nodes(self, flat: Sequence[tuple[Any, ...]]) -> int:
        """How many nodes at the front were run before the boundary, to decide about the iteration."""
        if self.body is None or self.ended is StoppedBy.TRIP_COUNT:
            return 0
        return sum(any(value in self.body.condition_values for value in entry[0].outputs) for entry in flat)

    def _condition_node_state(self, node: Node, branch: str) -> NodeState:
        """Of a node that ran before the boundary; the recorded values tell which branch of an If did."""
        if not branch:
            return NodeState.DONE
        known = self.port_values(PortKind.NODE)
        if not known:
            return NodeState.TODO
        names = [value.name for value in node.outputs if value is not None]
        return NodeState.DONE if any(name in known for name in names) else NodeState.SKIPPED

    def _node_state(
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
            after = self.boundary_at(self.iteration + 1)
            yielded = self.port_values(PortKind.NODE, after) if after is not None else {}
            if not yielded:
                return NodeState.TODO
            names = [value.name for value in node.outputs if value is not None]
            return NodeState.DONE if any(name in yielded for name in names) else NodeState.SKIPPED
        if branch and around:
            # In the other branch of an If that the running loop is in.
            inside = self.running_loop
            for word, graph in bodies(around[-1]):
                if word == branch and inside is not None:
                    return NodeState.DONE if any(n is inside for n in walk(graph)) else NodeState.SKIPPED
        return NodeState.DONE

    def producer_state(self, value: Value) -> NodeState | None:
        """Where the node stands that computes a value; None where none of this body does."""
        return self._states.get(value)

    @cached_property
    def _states(self) -> dict[Value, NodeState]:
        return {value: entry.state for entry in self.nodes for value in entry.node.outputs if value is not None}


class RecordedFrame:
    """One loop of a recording, or the main graph, as :class:`~..session.frames.Frame` shows it of a run.

    What was not recorded is not there: where not every boundary is, a back edge has no previous value, and a scan
    output only the elements that were recorded.
    """

    def __init__(self, inside: RecordedFrameInternals) -> None:
        #: For our own readers: what is in there may change with any version.
        self._internals = inside

    def __repr__(self) -> str:
        return f"<RecordedFrame {self.path}{'' if self.loop is None else f', {position_text(self)}'}>"

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("frame", self)
        return drawn

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression, as ``frame["max(abs(h))"]``.

        Raises:
            UsageError: it is no expression, or something in it has no value here.
        """
        return parse(expression).evaluate(FrameScope(self, self.history))

    def iteration_of(self, name: str) -> int | None:
        """The iteration that the value of a name is of; None for what is the same in all of them.

        Raises:
            UsageError: the loop has no value of that name.
        """
        return FrameScope(self).iteration_of(name)

    @property
    def index(self) -> int:
        return self._internals.index

    @property
    def loop(self) -> Loop | None:
        return self._internals.loop

    @property
    def name(self) -> str:
        return self.loop.name if self.loop else MAIN

    @property
    def path(self) -> str:
        return self._internals.body.path if self._internals.body else MAIN

    @property
    def entry(self) -> tuple[int, ...]:
        entry = self._internals.entry
        return entry.around if entry else ()

    @property
    def iteration(self) -> int:
        return self._internals.iteration

    @property
    def trip_count(self) -> int | None:
        entry = self._internals.entry
        return entry.trip_count if entry else None

    @property
    def condition(self) -> bool | None:
        mark = self._internals.boundary
        return mark.condition if mark else None

    @property
    def stopped_by(self) -> StoppedBy | None:
        return self._internals.ended

    @property
    def at_boundary(self) -> bool:
        return self.loop is not None and self._internals.running_loop is None

    # -- other moments

    @property
    def around(self) -> RecordedFrame | None:
        """The frame in which this loop runs; None of the main graph."""
        return self._around

    @cached_property
    def _around(self) -> RecordedFrame | None:
        around = self._internals.enclosing()
        return None if around is None else RecordedFrame(around)

    @property
    def history(self) -> RecordedIterationValues:
        """The values of this entry of the loop at other recorded boundaries."""
        return RecordedIterationValues(self)

    @cached_property
    def evolution(self) -> Evolution:
        """What was recorded of this entry's values so far, as numbers."""
        inside = self._internals
        body, trace, entry, until = inside.body, inside.trace, inside.entry, inside.iteration
        if body is None or entry is None:
            return EMPTY_EVOLUTION
        followed = inside.graph_index.tracked_values(inside.index)
        found = [
            trace.statistics_until(entry, PortKind.CARRIED, edge.param.name, until) for edge in body.loop.back_edges
        ]
        rows = sorted({iteration for one, _ in found for iteration in one})
        for side in followed.sides:
            one, wide = trace.statistics_until(entry, PortKind.NODE, side.name, until)
            there, data = self.values.read(side) if not one and side not in body.own_values else (False, 0)
            if there and isinstance(data, np.ndarray) and (same := tensor_statistics(data)) is not None:
                # What comes from outside is the same all the time.
                one, wide = dict.fromkeys(rows, same), data.size != 1
            found.append((one, wide))
        rows = sorted({iteration for one, _ in found for iteration in one})
        missing = (EMPTY_VALUE,) * 4  # a tensor without elements, too, has no numbers in a recording
        numbers = [np.array([one.get(k, missing) for k in rows]) if one else np.empty((0, 4)) for one, _ in found]
        return followed.evolution(bucket_rows(np.array(rows, np.int64), numbers, [wide for _, wide in found]))

    # -- values

    @property
    def carried(self) -> Mapping[str, Any]:
        return self._internals.port_values(PortKind.CARRIED)

    @property
    def back_edges(self) -> list[CarriedValue]:
        last = self._internals.previous_frame() if self._internals.iteration and self.at_boundary else None
        known = {} if last is None or last.iteration != self._internals.iteration - 1 else last.carried
        edges = []
        for edge in self.loop.back_edges if self.loop else ():
            name = edge.param.name
            names = (name, edge.result.name, edge.param.type)
            now = self.carried.get(name)
            if self.at_boundary:
                edges.append(CarriedValue(*names, known.get(name), now, name in self.carried))
            else:
                ready = edge.result is edge.param or self._internals.producer_state(edge.result) is NodeState.DONE
                there, value = self.values.read(edge.result) if ready else (False, None)
                edges.append(CarriedValue(*names, now, value, there))
        return edges

    @cached_property
    def values(self) -> RecordedValues:
        """Every value that is known here by name."""
        return RecordedValues(self)

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        """What each scan output has collected so far; those of which every element was recorded."""
        found = {}
        for k, port in enumerate(self.loop.scan_outputs if self.loop else ()):
            if not self._internals.iteration:
                _, shape, dtype, _ = self._internals.scan_tail(k, 1)
                found[port.outer.name] = np.zeros(shape, dtype_of(dtype))
                continue
            rows = self._internals.scan_elements(port, self._internals.iteration)
            if rows and len(rows) == self._internals.iteration:
                found[port.outer.name] = join_scan_output(np.stack(rows), port).copy()
        return found

    # -- the body

    @property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order; of those before an inner loop that runs it is known that they are done."""
        return self._internals.nodes


def frame_at(outline: GraphIndex, mark: BoundaryRef, *, over: bool = False) -> RecordedFrame:
    """The loop that a boundary is one of, standing at it."""
    entry = outline.trace.entry(mark.entry)
    return RecordedFrame(RecordedFrameInternals(outline, entry.loop, mark.id, entry, mark, mark.iteration, over=over))


@public_class
class RecordedIterationValues(IterationValues):
    """What the values of one entry of a loop were at the boundaries that were recorded."""

    frame: RecordedFrame

    def boundary(self, iteration: int) -> RecordedFrame | None:
        mark = self.frame._internals.boundary_at(iteration)
        return None if mark is None else frame_at(self.frame._internals.graph_index, mark)


def _flatten_nodes(
    nodes: Sequence[Node], depth: int, branch: str, around: tuple[Node, ...]
) -> Iterator[tuple[Any, ...]]:
    for node in nodes:
        yield node, depth, branch, around
        if isinstance(node, If):
            for word, graph in bodies(node):
                yield from _flatten_nodes(graph.nodes, depth + 1, word, (*around, node))
