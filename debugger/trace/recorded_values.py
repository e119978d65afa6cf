"""Values of a recording, read lazily from the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.errors import LoopdbgError
from ...runtime.frame import NodeState
from ...runtime.graph import MAIN, StoppedBy, TensorType, Value
from ...runtime.graph.slicing import entry_parts
from .probes import PortKind
from .trace_store import BoundaryRef, TraceStore

if TYPE_CHECKING:
    from .recorded_frames import RecordedFrameReader

_Lookup = tuple[bool, Any]
_NOT_FOUND: _Lookup = (False, None)


class PortValues(Mapping[str, Any]):
    """The recorded values of one kind at one boundary of a loop."""

    def __init__(self, trace: TraceStore, loop: int, ref: BoundaryRef | None, kind: PortKind) -> None:
        self._trace = trace
        self._loop = loop
        self._boundary = ref
        self._kind = kind
        self._cache: dict[str, _Lookup] = {}

    def find(self, name: str) -> _Lookup:
        """Whether a value was recorded, and the value."""
        if self._boundary is None:
            return _NOT_FOUND
        if name not in self._cache:
            self._cache[name] = self._trace.find_value(self._boundary.id, self._loop, self._kind, name)
        return self._cache[name]

    def __getitem__(self, name: str) -> Any:
        is_present, value = self.find(name)
        if not is_present:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for kind, name in self._trace.ports(self._loop) if kind is self._kind and self.find(name)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class RecordedValues:
    """Reads the values that are available at a recorded frame: carried values, body values, captures, constants,
    inputs, and those of enclosing frames."""

    def __init__(self, frame: RecordedFrameReader) -> None:
        self._frame = frame
        self._graph_index = frame.graph_index
        self._body = frame.body

    def read(self, value: Value) -> _Lookup:
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

    def _read_main(self, value: Value) -> _Lookup:
        index, name = self._graph_index, value.name
        if value in index.graph.inputs:
            inputs = index.inputs if name in index.inputs else index.graph.defaults
            return (True, _copy(inputs[name])) if name in inputs else _NOT_FOUND
        if self._frame.model_ended and name in index.outputs:
            return True, _copy(index.outputs[name])
        return self._read_child_input(value)

    def _read_child_input(self, value: Value) -> _Lookup:
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
        return _NOT_FOUND

    # -- parameters of the running iteration, at a boundary of the next one

    def _read_param(self, value: Value) -> _Lookup:
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
        return _NOT_FOUND

    def _read_slice(self, value: Value) -> _Lookup:
        assert self._body is not None
        sliced = self._body.sliced[value]
        outer = self.read(sliced.outer)[1]
        if not isinstance(outer, np.ndarray):
            return _NOT_FOUND
        try:
            parts = entry_parts(outer, sliced, self._body.loop.describe(), self._frame.trip_count)
        except LoopdbgError:
            return _NOT_FOUND
        # After the last iteration the value stays the last part.
        return (True, parts[min(self._frame.iteration, len(parts) - 1)].copy()) if len(parts) else _NOT_FOUND

    # -- results

    def _read_result(self, value: Value) -> _Lookup:
        """A result of the running iteration, or of the previous one if it is not computed yet."""
        frame = self._frame
        if self._body is not None and value in self._body.condition_values:
            return self._read_condition_value(value)
        state = None if frame.at_boundary else frame.producer_state(value)
        if state is NodeState.DONE:
            recorded = self._result_at(frame.boundary_ref(frame.iteration + 1), value)
            return recorded if recorded[0] else self._read_child_input(value)
        if state is NodeState.SKIPPED or not frame.iteration:
            return _NOT_FOUND
        return self._result_at(frame.ref, value)

    def _read_condition_value(self, value: Value) -> _Lookup:
        """A value of the loop test: a boundary has the one of its own iteration. If the trip count ends the loop, the
        newest one is of the previous iteration."""
        frame, ref, iteration = self._frame, self._frame.ref, self._frame.iteration
        if ref is not None and ref.ended is StoppedBy.TRIP_COUNT:
            iteration -= 1
            ref = frame.boundary_ref(iteration) if iteration >= 0 else None
        return _NOT_FOUND if ref is None else self._recorded_result(ref, frame.boundary_ref(iteration + 1), value)

    def _result_at(self, ref: BoundaryRef | None, value: Value) -> _Lookup:
        """A result of the iteration before a boundary: recorded, or derived from its uses."""
        return _NOT_FOUND if ref is None or self._body is None else self._recorded_result(ref, ref, value)

    def _recorded_result(self, ref: BoundaryRef, after: BoundaryRef | None, value: Value) -> _Lookup:
        """A result as recorded at a boundary; otherwise derived from its uses at ``after``."""
        body = self._body
        assert body is not None
        recorded = self._frame.port_values(PortKind.NODE, ref).find(value.name)
        if recorded[0]:
            return recorded
        if value is body.loop.condition and ref.condition is not None:
            return True, np.asarray(ref.condition)
        return self._result_from_ports(after, value)

    def _result_from_ports(self, ref: BoundaryRef | None, value: Value) -> _Lookup:
        """A result of the iteration before a boundary, derived from its uses."""
        frame, body = self._frame, self._body
        if ref is None or body is None:
            return _NOT_FOUND
        for name in body.scans_of_result.get(value, ()):
            recorded = frame.port_values(PortKind.SCAN, ref).find(name)
            if recorded[0]:
                return recorded
        for edge in body.edges_of_result.get(value, ()):
            recorded = frame.port_values(PortKind.CARRIED, ref).find(edge.param.name)
            if recorded[0]:
                return recorded
        return _NOT_FOUND

    def _entry_values(self, kind: PortKind) -> PortValues:
        return self._frame.port_values(kind, self._entry_boundary)

    @cached_property
    def _entry_boundary(self) -> BoundaryRef | None:
        """The first boundary of this entry of the loop."""
        start = self._graph_index.entry_start(self._frame.index, self._frame.entry)
        return None if start is None else start[1]


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value


def _declared_type(value: Value) -> TensorType:
    return value.type if isinstance(value.type, TensorType) else TensorType()


def _one_element_shape(value: Value) -> tuple[int, ...]:
    """The shape of a one-element body parameter."""
    shape = _declared_type(value).shape
    return (1,) if shape is not None and len(shape) == 1 else ()
