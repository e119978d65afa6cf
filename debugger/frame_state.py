"""The state of a frame at a stop: one immutable value, of which all front ends are functions.

It is read once per stop, in the engine's thread. Its arrays are copies or never written again; large tensors are
references that become stale when the session moves, so a stop costs only what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..runtime.frame import BodyNode, CarriedValue, NodeState
from ..runtime.graph import Array, Loop, Node, SlicedInput, StoppedBy, Value
from ..runtime.graph.index_values import find_index_values
from ..runtime.graph.slicing import entry_parts
from .describe.listing import Listing, ListingContext, find_next_line
from .describe.pseudo_code import PseudoCode, PseudoCodeLine
from .describe.value_names import scan_names
from .frame_protocol import FrameReader
from .statistics.sampling import ElementSample
from .statistics.tensor_statistics import REFERENCE_MIN_BYTES, TensorRef, as_tensor_ref
from .statistics.value_history import EMPTY_EVOLUTION, Evolution

#: Maximum number of newest elements copied from a scan output.
SCAN_TAIL_ELEMENTS = 64
_ABSENT = object()
#: The values of loops that are indices; weak keys.
_INDEX_VALUES: WeakKeyDictionary[Loop, frozenset[Value]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ScanState:
    """A scan output: ``shape`` so far, and its newest elements, oldest first."""

    name: str
    axis: int
    stack: bool
    reverse: bool
    count: int
    shape: tuple[int, ...]
    dtype: str
    tail: tuple[Any, ...]
    #: All collected elements, as its loop would return them; None if unknown.
    full_value: Any = None
    #: A sample, if its loop is running and the value cannot be read.
    sample: ElementSample | None = None
    #: Its final number of elements, if known beforehand; missing elements are zeros.
    length: int | None = None
    #: For each iteration, which parts of its element along the first axis are no padding (``[iterations, parts]``), or
    #: how many from the first one (``[iterations]``); None: all.
    valid: Array | None = None
    #: Its numbers are indices, so their magnitude has no meaning.
    is_index: bool = False


@dataclass(frozen=True, eq=False)
class FrameState:
    """One frame; ``loop`` is part of the immutable loop graph. ``entry``: the iterations of the enclosing loops,
    outermost first; ``is_running``: False for a loop that ended, in a model that did."""

    index: int
    name: str
    path: str
    loop: Loop | None
    entry: tuple[int, ...]
    iteration: int
    trip_count: int | None
    condition: bool | None
    stopped_by: StoppedBy | None
    at_boundary: bool
    back_edges: tuple[CarriedValue, ...]
    scans: tuple[ScanState, ...]
    nodes: tuple[BodyNode, ...]
    #: Captures and invariant inputs that the body uses: name -> value.
    captures: tuple[tuple[str, Any], ...]
    #: The values of one iteration: the running one, or at a boundary the previous one. Outer values are the same in
    #: both.
    results: Mapping[Value, Any]
    #: The same by name; of branches that share a name, the one that was taken.
    values: Mapping[str, Any]
    read_history: Callable[[], Evolution]
    is_running: bool = True

    @cached_property
    def history(self) -> Evolution:
        """Histories of its values over all iterations so far, by name."""
        return self.read_history()

    @cached_property
    def states(self) -> Mapping[Node, NodeState]:
        """The progress of each node of the body."""
        return {entry.node: entry.state for entry in self.nodes}

    @cached_property
    def computed_names(self) -> frozenset[str]:
        """The names of the results of all nodes of the body."""
        return frozenset([v.name for entry in self.nodes for v in entry.node.outputs if v is not None])

    def listing(
        self, source: PseudoCode, *, running: bool, breakpoints: Collection[Node] = (), hide_notes: bool = False
    ) -> Listing:
        """All lines of its loop. ``running``: it has not ended; ``breakpoints``: the nodes with one."""
        return Listing(
            source,
            ListingContext(
                self.loop,
                self.iteration,
                self.at_boundary,
                self.stopped_by,
                running=running,
                states=self.states,
                read=self.read,
                breakpoints=breakpoints,
                hide_notes=hide_notes,
            ),
        )

    @property
    def index_values(self) -> frozenset[Value]:
        """See :func:`~..runtime.graph.index_values.find_index_values`."""
        return frozenset() if self.loop is None else _cached_index_values(self.loop)

    def next_line(self, source: PseudoCode) -> PseudoCodeLine | None:
        """The line that runs next, or that runs; None if there is none."""
        lines = source if self.loop is None else source.lines_of_loop(self.loop)
        nodes = [entry.node for entry in self.nodes if entry.state is NodeState.NEXT]
        return find_next_line(lines, nodes[0] if nodes else None, self.loop, self.stopped_by)

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether the frame has a value of the loop graph, and the value."""
        return value in self.results, self.results.get(value)

    @property
    def carried(self) -> dict[str, Any]:
        """Parameter -> value of the running iteration, or at a boundary of the next one, if known."""
        edges = self.back_edges
        if self.at_boundary:
            return {edge.param: edge.value for edge in edges if edge.ready}
        return {edge.param: edge.previous for edge in edges}


def read_frame(frame: FrameReader, is_running: bool = True) -> FrameState:
    """The state of a frame, whose reader gives large tensors by reference."""
    nodes, loop = tuple(frame.nodes), frame.loop
    edges = () if loop is None else tuple(frame.back_edges)
    outer = _outer_values(nodes, loop)
    results = _read_results(frame, nodes, edges, loop, outer)
    return FrameState(
        frame.index,
        frame.name,
        frame.path,
        loop,
        () if loop is None else frame.entry,
        frame.iteration,
        None if loop is None else frame.trip_count,
        frame.condition,
        frame.stopped_by,
        frame.at_boundary,
        edges,
        () if loop is None else tuple(_read_scans(frame, loop)),
        nodes,
        tuple([(value.name, results[value]) for value in outer if value in results]),
        MappingProxyType(results),
        MappingProxyType({value.name: data for value, data in results.items()}),
        _empty_history if loop is None else frame.history_reader(),
        is_running,
    )


def _cached_index_values(loop: Loop) -> frozenset[Value]:
    indices = _INDEX_VALUES.get(loop)
    if indices is None:
        indices = _INDEX_VALUES[loop] = find_index_values(loop)
    return indices


def _empty_history() -> Evolution:
    return EMPTY_EVOLUTION


def _outer_values(nodes: Sequence[BodyNode], loop: Loop | None) -> list[Value]:
    """The values of enclosing graphs that the nodes of a body read, in the order of their first use."""
    seen = set() if loop is None else {value.name for value in loop.body.inputs}
    for entry in nodes:
        for value in entry.node.outputs:
            if value is not None:
                seen.add(value.name)
    outer: list[Value] = []
    for entry in nodes:
        for value in entry.node.inputs:
            if value is not None and value.name not in seen:
                seen.add(value.name)
                outer.append(value)
    return outer


def _read_results(
    frame: FrameReader, nodes: Sequence[BodyNode], edges: Sequence[CarriedValue], loop: Loop | None, outer: list[Value]
) -> dict[Value, Any]:
    """The outer values, and the parameters and results of one iteration; see :attr:`FrameState.results`."""
    # At a boundary the next iteration is not computed yet, and the values of the previous one are available.
    has_previous = frame.at_boundary and frame.iteration > 0
    wanted = list(outer)
    for entry in nodes:
        if has_previous or entry.state is NodeState.DONE:
            for value in entry.node.outputs:
                if value is not None:
                    wanted.append(value)
    if loop is None:
        return frame.read_all(wanted)
    varying: set[Value | None] = set()
    if has_previous:
        varying = {loop.condition_input, *[edge.param for edge in loop.back_edges]}
        varying.update([port.inner for port in loop.sliced_inputs] if frame.stopped_by is None else ())
    wanted += [value for value in loop.body.inputs if value not in varying]
    results = frame.read_all(wanted)
    if has_previous:
        _add_previous_parameters(frame, loop, edges, results)
    if frame.at_boundary and frame.stopped_by is not None:
        # Outputs of the loop, which have names of their own in the enclosing graph.
        carried = {edge.param: edge.value for edge in edges}
        for output in loop.last_values:
            edge = loop.back_edge_for(output)
            data = results.get(output.result, _ABSENT) if edge is None else carried[edge.param.name]
            if data is not _ABSENT:
                results.setdefault(output.outer, data)
    return results


def _add_previous_parameters(
    frame: FrameReader, loop: Loop, edges: Sequence[CarriedValue], results: dict[Value, Any]
) -> None:
    """Add the known values of the varying parameters in the previous iteration; at a boundary the slots already hold
    the values of the next one."""
    if loop.iteration in results:
        assert loop.iteration is not None
        results[loop.iteration] = np.full_like(results[loop.iteration], frame.iteration - 1)
    for port in loop.sliced_inputs if frame.stopped_by is None else ():
        is_present, outer = frame.read(port.outer)
        part = _previous_slice(outer, port, frame) if is_present else _ABSENT
        if part is not _ABSENT:
            results[port.inner] = part
    for edge, carried in zip(loop.back_edges, edges, strict=True):
        if carried.previous is not None:
            results[edge.param] = carried.previous


def _previous_slice(outer: Any, sliced: SlicedInput, frame: FrameReader) -> Any:
    """The slice that the previous iteration got of a sliced input; a slice of a reference is a reference."""
    previous = frame.iteration - 1
    if not isinstance(outer, np.ndarray | TensorRef):
        return _ABSENT
    ref, trips = as_tensor_ref(outer), frame.trip_count

    def parts(function: Callable[[Array], Any]) -> Any:
        return ref.with_array(lambda array: function(entry_parts(array, sliced, frame.name, trips)))

    count, dtype, shape = parts(lambda cuts: (len(cuts), cuts.dtype, cuts.shape[1:]))
    if previous >= count:
        return _ABSENT
    part = TensorRef(dtype, shape, lambda do: parts(lambda cuts: do(cuts[previous])))
    return part if part.nbytes >= REFERENCE_MIN_BYTES else np.asarray(part)


def _read_scans(frame: FrameReader, loop: Loop) -> list[ScanState]:
    scans: list[ScanState] = []
    if not loop.scan_outputs:
        return scans
    indices = _cached_index_values(loop)
    for k, (port, name) in enumerate(zip(loop.scan_outputs, scan_names(loop), strict=True)):
        count, shape, dtype, tail = frame.scan_tail(k, SCAN_TAIL_ELEMENTS)
        scans.append(
            ScanState(
                name,
                port.axis,
                port.stack,
                port.reverse,
                count,
                shape,
                dtype,
                tuple(tail),
                frame.scan_output(k),
                length=None if port.length is None else _scan_length(frame, port.length),
                valid=None if port.valid is None else _scan_valid_mask(frame, loop, port.valid),
                is_index=port.result in indices,
            )
        )
    return scans


def _scan_length(frame: FrameReader, length: Value) -> int | None:
    is_present, value = frame.read(length)
    return int(np.asarray(value).reshape(())) if is_present else None


def _scan_valid_mask(frame: FrameReader, loop: Loop, valid: Value) -> Array | None:
    sliced = next((s for s in loop.sliced_inputs if s.inner is valid), None)
    if sliced is None:
        return None
    is_present, outer = frame.read(sliced.outer)
    if not is_present or not isinstance(outer, np.ndarray | TensorRef):
        return None

    def read(array: Array) -> Array:
        parts = entry_parts(array, sliced, frame.name, frame.trip_count)
        return np.array(parts.reshape(len(parts), -1) if parts.dtype.kind == "b" else parts)

    return as_tensor_ref(outer).with_array(read)
