"""Frames of a recording: reading the state of loops at a recorded boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.dtypes import dtype_from_name as dtype_of
from ...runtime.engine.history.value_history import EMPTY_VALUE, HistoryView, is_empty_value, tensor_statistics
from ...runtime.errors import LoopdbgError
from ...runtime.frame import BodyNode, CarriedValue, FrameValues, NodeState
from ...runtime.graph import MAIN, Array, If, Loop, Node, ScanOutput, StoppedBy, TensorType, Value, bodies, walk
from ...runtime.graph.slicing import entry_parts, join_scan_output, scan_output_shape
from ..scope.other_iterations import IterationValues
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution, Numbers
from .graph_index import GraphIndex, LoopBodyIndex
from .probes import PortKind
from .queries import BoundaryFilter
from .recorded_values import NOT_FOUND, Lookup, PortValues
from .trace_store import BoundaryRef, RecordedEntry


class RecordedFrameReader:
    """One loop of a recording at a recorded boundary, or the main graph.

    An enclosing loop is inside an iteration: ``inside`` is the inner loop that runs there. ``now``: the current
    boundary of the recording.
    """

    def __init__(
        self,
        graph_index: GraphIndex,
        index: int,
        now: int,
        entry: RecordedEntry | None = None,
        ref: BoundaryRef | None = None,
        iteration: int = 0,
        inside: int | None = None,
        model_ended: bool = False,
    ) -> None:
        self.graph_index = graph_index
        self.index = index
        self.current_boundary = now
        self.ref = ref
        #: The model has ended.
        self.model_ended = model_ended
        self.body: LoopBodyIndex | None = graph_index.loops[index] if index >= 0 else None
        self.loop: Loop | None = self.body.loop if self.body else None
        self.name = self.loop.name if self.loop else MAIN
        self.path = self.body.path if self.body else MAIN
        self.trace = graph_index.trace
        self.recorded_entry = entry
        #: The iterations of the enclosing loops.
        self.entry: tuple[int, ...] = entry.around if entry else ()
        self.iteration = iteration
        self.trip_count = entry.trip_count if entry else None
        self.running_loop = None if inside is None else graph_index.loops[inside].loop
        self.at_boundary = self.loop is not None and self.running_loop is None
        self._port_values: dict[tuple[PortKind, int], PortValues] = {}

    def current(self) -> RecordedFrameReader:
        """Itself: a recording stays as it is."""
        return self

    def with_references(self) -> RecordedFrameReader:
        """Itself: values are read from the file."""
        return self

    @property
    def stopped_by(self) -> StoppedBy | None:
        """Why the loop ends at this boundary; None while it goes on."""
        return self.ref.ended if self.ref else None

    @property
    def condition(self) -> bool | None:
        return self.ref.condition if self.ref else None

    # -- other loops and iterations

    @cached_property
    def around(self) -> RecordedFrameReader | None:
        """The enclosing loop; None for the main graph."""
        if self.body is None or self.recorded_entry is None:
            return None
        graph_index, parent, around = self.graph_index, self.body.parent, self.entry
        if parent < 0:
            return RecordedFrameReader(
                graph_index, -1, self.current_boundary, inside=self.index, model_ended=self.model_ended
            )
        start = graph_index.entry_start(parent, around[:-1])
        entry = None if start is None else start[0]
        frame = RecordedFrameReader(graph_index, parent, self.current_boundary, entry, None, around[-1], self.index)
        frame.ref = frame.boundary_ref(around[-1])
        return frame

    @property
    def entry_id(self) -> int | None:
        """The number of the entry in the trace; None for the main graph."""
        return self.recorded_entry.id if self.recorded_entry else None

    def boundary_ref(self, iteration: int) -> BoundaryRef | None:
        """The boundary of this entry before an iteration, if recorded."""
        return self._find_boundary(BoundaryFilter(entry=self.entry_id, iteration=iteration))

    def _find_boundary(self, filter_: BoundaryFilter) -> BoundaryRef | None:
        return None if filter_.entry is None else self.trace.boundary_ref(filter_, newest=True)

    def boundary(self, iteration: int) -> RecordedFrameReader | None:
        ref = self.boundary_ref(iteration)
        return None if ref is None else frame_at(self.graph_index, ref)

    def previous_frame(self) -> RecordedFrameReader | None:
        """The frame at the previous recorded boundary of this entry."""
        return self._previous_frame

    @cached_property
    def _previous_frame(self) -> RecordedFrameReader | None:
        ref = self._find_boundary(BoundaryFilter(entry=self.entry_id, below=self.iteration))
        return None if ref is None else frame_at(self.graph_index, ref)

    @property
    def history(self) -> IterationValues:
        return IterationValues(self)

    @cached_property
    def evolution(self) -> Evolution:
        """The recorded histories of this entry's values so far, as numbers."""
        body, trace, entry, until = self.body, self.trace, self.recorded_entry, self.iteration
        if body is None or entry is None:
            return EMPTY_EVOLUTION
        tracked = self.graph_index.tracked_values(self.index)
        series = [
            trace.statistics_until(entry, PortKind.CARRIED, edge.param.name, until) for edge in body.loop.back_edges
        ]
        rows = _union_of_iterations([iterations for iterations, _, _ in series])
        for side in tracked.sides:
            iterations, table, tensor = trace.statistics_until(entry, PortKind.NODE, side.name, until)
            is_present, data = self.read(side) if not len(table) and side not in body.own_values else (False, 0)
            if is_present and isinstance(data, np.ndarray) and (stats := tensor_statistics(data)) is not None:
                # An outer value is constant.
                iterations, table, tensor = rows, np.tile(np.asarray(stats, float), (len(rows), 1)), data.size != 1
            series.append((iterations, table, tensor))
        rows = _union_of_iterations([iterations for iterations, _, _ in series])
        numbers = []
        for iterations, table, _ in series:
            # Missing values are as a tensor without elements.
            full = np.full((len(rows) if len(table) else 0, 4), EMPTY_VALUE)
            full[np.searchsorted(rows, iterations)] = table
            numbers.append(full)
        return tracked.evolution(build_history_view(rows, numbers, [tensor for _, _, tensor in series]))

    def history_reader(self) -> Callable[[], Evolution]:
        return lambda: self.evolution

    # -- values

    def port_values(self, kind: PortKind, ref: BoundaryRef | None = None) -> PortValues:
        """The recorded values of a kind at a boundary of this loop; default: before the running iteration."""
        ref = ref or self.ref
        key = (kind, 0 if ref is None else ref.id)
        if key not in self._port_values:
            self._port_values[key] = PortValues(self.trace, self.index, ref, kind)
        return self._port_values[key]

    @property
    def carried(self) -> Mapping[str, Any]:
        return self.port_values(PortKind.CARRIED)

    @property
    def back_edges(self) -> list[CarriedValue]:
        previous = self.previous_frame() if self.iteration and self.at_boundary else None
        known = {} if previous is None or previous.iteration != self.iteration - 1 else previous.carried
        carried = self.carried
        edges = []
        for edge in self.loop.back_edges if self.loop else ():
            name = edge.param.name
            names = (name, edge.result.name, edge.param.type)
            current = carried.get(name)
            if self.at_boundary:
                edges.append(CarriedValue(*names, known.get(name), current, name in carried))
            else:
                ready = edge.result is edge.param or self.producer_state(edge.result) is NodeState.DONE
                is_present, value = self.read(edge.result) if ready else (False, None)
                edges.append(CarriedValue(*names, current, value, is_present))
        return edges

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        """The collected value of each scan output of which every element was recorded."""
        ports = self.loop.scan_outputs if self.loop else []
        outputs = {port.outer.name: self.scan_output(k) for k, port in enumerate(ports)}
        return {name: value for name, value in outputs.items() if value is not None}

    def scan_output(self, k: int) -> Array | None:
        """The collected value of scan output k; None if an element was not recorded."""
        assert self.loop is not None
        if not self.iteration:
            _, shape, dtype, _ = self.scan_tail(k, 1)
            return np.zeros(shape, dtype_of(dtype))
        port = self.loop.scan_outputs[k]
        rows = self.scan_elements(port, self.iteration)
        return join_scan_output(np.stack(rows), port).copy() if rows and len(rows) == self.iteration else None

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """As :meth:`~...runtime.frame.Frame.scan_tail`, for the recorded elements."""
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
        if self.ref is None or self.recorded_entry is None:
            return []
        rows = self.trace.newest_values(self.recorded_entry, PortKind.SCAN, port.outer.name, self.iteration, length)
        return [row for row in rows if isinstance(row, np.ndarray)]

    @property
    def values(self) -> FrameValues:
        return FrameValues(self)

    def scope(self) -> Mapping[str, Value]:
        """The values in scope by name; names of the body shadow those of enclosing graphs."""
        return self.graph_index.scope(self.index)

    @cached_property
    def _recorded_values(self) -> RecordedValues:
        return RecordedValues(self)

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph is available here, and the value; works for values that share a name."""
        return self._recorded_values.read(value)

    def read_all(self, values: Iterable[Value]) -> dict[Value, Any]:
        """Those values of the loop graph that are available."""
        lookups = ((value, self.read(value)) for value in values)
        return {value: data for value, (is_present, data) in lookups if is_present}

    available = read_all

    def absence_reason(self, name: str, value: Value) -> str:
        """Why a value is not available; with a hint how to record it."""
        return self._recorded_values.absence_reason(value)

    # -- the body

    @cached_property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order; those before a running inner loop are done."""
        graph = self.loop.body if self.loop else self.graph_index.graph
        flat = list(_flatten_nodes(graph.nodes, 0, "", ()))
        path: tuple[Node, ...] = ()
        tested = 0
        if self.running_loop is None:
            # At a boundary no node of the next iteration has run; after the model's end all have.
            tested = self._count_condition_nodes(flat)
            position = (
                len(flat) if self.model_ended and self.body is None else tested if self.stopped_by is None else -1
            )
        else:
            position, path = next((k, path) for k, (node, _, _, path) in enumerate(flat) if node is self.running_loop)
        return [
            BodyNode(
                k,
                node,
                depth,
                branch,
                self._condition_node_state(node, branch)
                if k < tested
                else self._node_state(k, node, branch, around, position, path),
            )
            for k, (node, depth, branch, around) in enumerate(flat)
        ]

    def _count_condition_nodes(self, flat: Sequence[tuple[Any, ...]]) -> int:
        """The number of leading nodes that ran before the boundary for the loop test."""
        if self.body is None or self.stopped_by is StoppedBy.TRIP_COUNT:
            return 0
        return sum(any(value in self.body.condition_values for value in entry[0].outputs) for entry in flat)

    def _condition_node_state(self, node: Node, branch: str) -> NodeState:
        """The state of a node of the loop test; recorded values show which branch of an If ran."""
        if not branch:
            return NodeState.DONE
        recorded = self.port_values(PortKind.NODE)
        if not recorded:
            return NodeState.TODO
        names = [value.name for value in node.outputs if value is not None]
        return NodeState.DONE if any(name in recorded for name in names) else NodeState.SKIPPED

    def _node_state(
        self, k: int, node: Node, branch: str, around: tuple[Node, ...], position: int, path: tuple[Node, ...]
    ) -> NodeState:
        if k == position:
            return NodeState.NEXT
        if k > position:
            return NodeState.TODO
        if node in path:
            # Ifs that contain the running loop: their outputs are written at the join.
            return NodeState.TODO
        if branch and not set(around) <= set(path):
            # The computed values show which branch an earlier If took.
            next_ref = self.boundary_ref(self.iteration + 1)
            recorded = self.port_values(PortKind.NODE, next_ref) if next_ref is not None else {}
            if not recorded:
                return NodeState.TODO
            names = [value.name for value in node.outputs if value is not None]
            return NodeState.DONE if any(name in recorded for name in names) else NodeState.SKIPPED
        if branch and around:
            # An If contains the running loop, possibly in its other branch.
            running = self.running_loop
            for word, graph in bodies(around[-1]):
                if word == branch and running is not None:
                    return NodeState.DONE if any(n is running for n in walk(graph)) else NodeState.SKIPPED
        return NodeState.DONE

    def producer_state(self, value: Value) -> NodeState | None:
        """The state of the node that computes a value; None if no node of this body does."""
        return self._states.get(value)

    @cached_property
    def _states(self) -> dict[Value, NodeState]:
        return {value: entry.state for entry in self.nodes for value in entry.node.outputs if value is not None}


def frame_at(graph_index: GraphIndex, ref: BoundaryRef, *, model_ended: bool = False) -> RecordedFrameReader:
    """The loop of a boundary at the boundary."""
    entry = graph_index.trace.entry(ref.entry)
    return RecordedFrameReader(graph_index, entry.loop, ref.id, entry, ref, ref.iteration, model_ended=model_ended)


def main_frame(graph_index: GraphIndex, ref: BoundaryRef | None, *, model_ended: bool) -> RecordedFrameReader:
    """The main graph at a boundary; None: before all of them."""
    return RecordedFrameReader(graph_index, -1, 0 if ref is None else ref.id, model_ended=model_ended)


def _flatten_nodes(
    nodes: Sequence[Node], depth: int, branch: str, around: tuple[Node, ...]
) -> Iterator[tuple[Any, ...]]:
    for node in nodes:
        yield node, depth, branch, around
        if isinstance(node, If):
            for word, graph in bodies(node):
                yield from _flatten_nodes(graph.nodes, depth + 1, word, (*around, node))


class RecordedValues:
    """Reads the values that are available at a recorded frame: carried values, body values, captures, constants,
    inputs, and those of enclosing frames."""

    def __init__(self, frame: RecordedFrameReader) -> None:
        self._frame = frame
        self._graph_index = frame.graph_index
        self._body = frame.body

    def read(self, value: Value) -> Lookup:
        """Whether a value of the loop graph is available here, and the value; unambiguous for values that share a
        name."""
        if value.constant is not None:
            return True, value.constant.copy()
        if self._body is None:
            return self._read_main(value)
        if value in self._body.own_values:
            return self._read_param(value) if value in self._body.params else self._read_result(value)
        captured = self._entry_values(PortKind.CAPTURE).find(value.name)
        outer = self._frame.around
        return captured if captured[0] or outer is None else outer.read(value)

    def absence_reason(self, value: Value) -> str:
        """Why a value is not available, with a hint how to record it."""
        frame, name = self._frame, value.name
        holder: RecordedFrameReader | None = frame
        while holder is not None and holder.body is not None and value not in holder.body.own_values:
            holder = holder.around
        if holder is None or holder.body is None:
            constants = self._graph_index.graph.constants
            location = f" of {MAIN}"
        else:
            constants = holder.body.loop.body.constants
            location = " here"
            if value in holder.body.producers:
                state = holder.producer_state(value)
                if holder.iteration == 0 and state is not NodeState.DONE:
                    return f"'{name}' is not computed yet in iteration 0"
                return f"the recording holds no value '{name}' here; a recording with nodes holds all body values"
        if value in constants:
            return f"the recording leaves out '{name}', a large constant"
        return f"the recording holds no value '{name}'{location}"

    # -- the main graph

    def _read_main(self, value: Value) -> Lookup:
        index, name = self._graph_index, value.name
        if value in index.graph.inputs:
            inputs = index.inputs if name in index.inputs else index.graph.defaults
            return (True, _copy_value(inputs[name])) if name in inputs else NOT_FOUND
        if self._frame.model_ended and name in index.outputs:
            return True, _copy_value(index.outputs[name])
        return self._read_child_input(value)

    def _read_child_input(self, value: Value) -> Lookup:
        """A value that an inner loop read at its entry, among the entries so far."""
        frame = self._frame
        entry = () if frame.body is None else (*frame.entry, frame.iteration)
        for inner in self._graph_index.child_loops(frame.index):
            start = self._graph_index.entry_start(inner.index, entry)
            if start is None or start[1].id > frame.current_boundary:
                continue
            trace, ref = self._graph_index.trace, start[1]
            captured = trace.find_value(ref.id, inner.index, PortKind.CAPTURE, value.name)
            if captured[0]:
                return captured
            for edge in inner.loop.back_edges:
                if edge.initial is value:
                    return trace.find_value(ref.id, inner.index, PortKind.CARRIED, edge.param.name)
        return NOT_FOUND

    # -- parameters of the running iteration, at a boundary of the next one

    def _read_param(self, value: Value) -> Lookup:
        frame, body = self._frame, self._body
        assert body is not None
        if value in body.edges:
            return frame.port_values(PortKind.CARRIED).find(value.name)
        if value in body.sliced:
            return self._read_slice(value)
        if value in body.invariants:
            return self.read(body.invariants[value])
        if value is body.loop.iteration:
            dtype = np.int32 if _declared_type(value).dtype == np.int32 else np.int64
            return True, np.full(_one_element_shape(value), frame.iteration, dtype)
        if value is body.loop.condition_input:
            # True in a running iteration; without a condition, the body gets true as well.
            return True, np.full(_one_element_shape(value), frame.condition is not False or not frame.at_boundary)
        return NOT_FOUND

    def _read_slice(self, value: Value) -> Lookup:
        assert self._body is not None
        sliced = self._body.sliced[value]
        outer = self.read(sliced.outer)[1]
        if not isinstance(outer, np.ndarray):
            return NOT_FOUND
        try:
            parts = entry_parts(outer, sliced, self._body.loop.describe(), self._frame.trip_count)
        except LoopdbgError:
            return NOT_FOUND
        # After the last iteration the value stays the last part.
        return (True, parts[min(self._frame.iteration, len(parts) - 1)].copy()) if len(parts) else NOT_FOUND

    # -- results

    def _read_result(self, value: Value) -> Lookup:
        """A result of the running iteration, or of the previous one if it is not computed yet."""
        frame = self._frame
        if self._body is not None and value in self._body.condition_values:
            return self._read_condition_value(value)
        state = None if frame.at_boundary else frame.producer_state(value)
        if state is NodeState.DONE:
            recorded = self._result_at(frame.boundary_ref(frame.iteration + 1), value)
            return recorded if recorded[0] else self._read_child_input(value)
        if state is NodeState.SKIPPED or not frame.iteration:
            return NOT_FOUND
        return self._result_at(frame.ref, value)

    def _read_condition_value(self, value: Value) -> Lookup:
        """A value of the loop test: a boundary has the one of its own iteration. If the trip count ends the loop, the
        newest one is of the previous iteration."""
        frame, ref, iteration = self._frame, self._frame.ref, self._frame.iteration
        if ref is not None and ref.ended is StoppedBy.TRIP_COUNT:
            iteration -= 1
            ref = frame.boundary_ref(iteration) if iteration >= 0 else None
        return NOT_FOUND if ref is None else self._recorded_result(ref, frame.boundary_ref(iteration + 1), value)

    def _result_at(self, ref: BoundaryRef | None, value: Value) -> Lookup:
        """A result of the iteration before a boundary: recorded, or derived from its uses."""
        return NOT_FOUND if ref is None or self._body is None else self._recorded_result(ref, ref, value)

    def _recorded_result(self, ref: BoundaryRef, after: BoundaryRef | None, value: Value) -> Lookup:
        """A result as recorded at a boundary; otherwise derived from its uses at ``after``."""
        body = self._body
        assert body is not None
        recorded = self._frame.port_values(PortKind.NODE, ref).find(value.name)
        if recorded[0]:
            return recorded
        if value is body.loop.condition and ref.condition is not None:
            return True, np.asarray(ref.condition)
        return self._result_from_ports(after, value)

    def _result_from_ports(self, ref: BoundaryRef | None, value: Value) -> Lookup:
        """A result of the iteration before a boundary, derived from its uses."""
        frame, body = self._frame, self._body
        if ref is None or body is None:
            return NOT_FOUND
        for name in body.scans_of_result.get(value, ()):
            recorded = frame.port_values(PortKind.SCAN, ref).find(name)
            if recorded[0]:
                return recorded
        for edge in body.edges_of_result.get(value, ()):
            recorded = frame.port_values(PortKind.CARRIED, ref).find(edge.param.name)
            if recorded[0]:
                return recorded
        return NOT_FOUND

    def _entry_values(self, kind: PortKind) -> PortValues:
        return self._frame.port_values(kind, self._entry_boundary)

    @cached_property
    def _entry_boundary(self) -> BoundaryRef | None:
        """The first boundary of this entry of the loop."""
        start = self._graph_index.entry_start(self._frame.index, self._frame.entry)
        return None if start is None else start[1]


def _union_of_iterations(series: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """All iterations of some series, ascending; most often they are the same."""
    if all(np.array_equal(iterations, series[0]) for iterations in series[1:]):
        return series[0] if series else np.empty(0, np.int64)
    return np.unique(np.concatenate(series))


def _copy_value(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value


def _declared_type(value: Value) -> TensorType:
    return value.type if isinstance(value.type, TensorType) else TensorType()


def _one_element_shape(value: Value) -> tuple[int, ...]:
    """The shape of a one-element body parameter."""
    shape = _declared_type(value).shape
    return (1,) if shape is not None and len(shape) == 1 else ()


def build_history_view(
    origin: int | npt.NDArray[np.int64], numbers: Sequence[Numbers], flags: Sequence[bool]
) -> HistoryView:
    """Return the view that an engine would have recorded: each series has rows ``[rows, norm smallest largest mean]``;
    a side has an empty first row. ``origin``: the iteration of the first row, or those of all rows."""
    rows = max((len(array) for array in numbers), default=0)
    width = 1
    while rows > 512 * width:
        width *= 2
    starts = np.arange(0, rows, width)
    stats = np.full((len(starts), len(numbers), 4, 5), np.nan)
    for k, series in enumerate(numbers):
        if not len(series) or not rows:
            continue
        finite = np.isfinite(series)
        stats[:, k, :, 0] = np.fmin.reduceat(np.where(finite, series, np.nan), starts)
        stats[:, k, :, 1] = np.fmax.reduceat(np.where(finite, series, np.nan), starts)
        stats[:, k, :, 2] = series[starts]
        stats[:, k, :, 3] = series[np.append(starts[1:], rows) - 1]
        odd = ~finite & ~is_empty_value(np.ascontiguousarray(series, np.float64))
        stats[:, k, :, 4] = np.add.reduceat(odd.astype(np.float64), starts)
    has_numbers = tuple(len(array) > 0 for array in numbers)
    return HistoryView(0, origin, rows, width, stats, has_numbers, tuple(flags), True)
