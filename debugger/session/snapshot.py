"""Snapshots: immutable copies of a stop for front ends, which never read a running engine.

A snapshot is taken once per stop, in the engine's thread. Its arrays are copies or never written again; large tensors
are references that become stale when the session moves, so a stop costs only what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...runtime.frame import BodyNode, CarriedValue, NodeState
from ...runtime.graph import Array, Loop, Node, ScanOutput, SlicedInput, StoppedBy, Value
from ...runtime.graph.index_values import index_values
from ...runtime.graph.slicing import entry_parts
from ..breakpoints.breakpoint import Breakpoint, Trigger
from ..breakpoints.symbol_table import SymbolTable
from ..describe.listing import Listing, ListingContext
from ..describe.pseudo_code import PseudoCode
from ..describe.value_names import scan_names
from ..frame_protocol import FrameReader
from ..statistics.sampling import ElementSample
from ..statistics.tensor_ref import REFERENCE_MIN_BYTES, TensorRef, as_tensor_ref
from ..statistics.value_history import Evolution
from .stop import Stop
from .timeline import Branch

if TYPE_CHECKING:
    from .controller import Controller

#: Maximum number of newest elements copied from a scan output.
SCAN_TAIL_ELEMENTS = 64
_ABSENT = object()


@dataclass(frozen=True, eq=False)
class ScanSnapshot:
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
class FrameSnapshot:
    """One frame; ``loop`` is part of the immutable loop graph. ``entry``: the iterations of the enclosing loops,
    outermost first."""

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
    scans: tuple[ScanSnapshot, ...]
    nodes: tuple[BodyNode, ...]
    #: Captures and invariant inputs that the body uses: name -> value.
    captures: tuple[tuple[str, Any], ...]
    #: The values of one iteration: the running one, or at a boundary the previous one. Outer values are the same in
    #: both.
    results: Mapping[Value, Any]
    #: The same by name; of branches that share a name, the one that was taken.
    values: Mapping[str, Any]
    #: Histories of its values over all iterations so far, by name.
    history: Evolution

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


@dataclass(frozen=True, eq=False)
class BreakpointSnapshot:
    """A breakpoint; ``nodes``: it stops before them; ``loops``: it is tested at their boundaries.

    ``boundary_loops``: loops at each of whose boundaries it stops; ``iterations``: the only ones at which it stops,
    empty for any. ``condition_text``: its condition, "" for none; ``ignore``: number of hits to pass; ``commands``:
    console commands that a stop runs.
    """

    number: int
    kind_name: str
    title: str
    enabled: bool
    hits: int
    nodes: frozenset[Node]
    loops: tuple[int, ...]
    boundary_loops: frozenset[Loop] = frozenset()
    iterations: tuple[int, ...] = ()
    condition_text: str = ""
    ignore: int = 0
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BranchSnapshot:
    """A branch; ``parent``: the number of the branch that it left at ``fork``; ``tip``: its last position."""

    number: int
    parent: int | None
    fork: tuple[int, ...] | None
    edits: tuple[str, ...]
    current: bool
    tip: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A complete stop. ``frames``: outermost first, the main graph before all loops; ``position``: in the execution;
    it orders the stops of one branch."""

    model: str
    stop: Stop
    position: tuple[int, ...]
    frames: tuple[FrameSnapshot, ...]
    #: The frame to display: the innermost, or after the end the loop that ended last.
    frame: FrameSnapshot
    outputs: tuple[tuple[str, Any], ...] | None
    breakpoints: tuple[BreakpointSnapshot, ...]
    #: Empty if there is only one branch.
    branches: tuple[BranchSnapshot, ...]
    #: Signs next to the lines of nodes (``Controller.line_signs``).
    line_signs: Mapping[Node, str] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.stop.done


class StoppedSession(Protocol):
    """What a snapshot reads of a session."""

    @property
    def controller(self) -> Controller:
        """The controller."""


def take_snapshot(session: StoppedSession) -> Snapshot:
    """A snapshot of a stopped session."""
    controller = session.controller
    stop = controller.stop
    branches: Sequence[Branch] = controller.branches if controller.has_branches else ()
    branch = controller.branch if branches else None
    frames = tuple([snapshot_frame(reader) for reader in controller.frames])
    top = frames[-1]
    if stop.done and controller.frame.index >= 0:
        top = snapshot_frame(controller.frame)
    outputs = controller.outputs
    return Snapshot(
        controller.model.name,
        stop,
        controller.position,
        frames,
        top,
        None if outputs is None else tuple(outputs.items()),
        tuple([_snapshot_breakpoint(b, controller.symbols) for b in controller.breakpoints]),
        tuple([_snapshot_branch(b, b is branch) for b in branches]),
        controller.line_signs,
    )


def _snapshot_breakpoint(breakpoint_: Breakpoint, symbols: SymbolTable) -> BreakpointSnapshot:
    loops = breakpoint_.loops if breakpoint_.kind is Trigger.BOUNDARY else ()
    boundary_loops = frozenset(symbols.loops[k].loop for k in loops)
    return BreakpointSnapshot(
        breakpoint_.number,
        breakpoint_.kind_name,
        breakpoint_.title,
        breakpoint_.enabled,
        breakpoint_.hits,
        breakpoint_.nodes,
        breakpoint_.loops,
        boundary_loops,
        tuple(breakpoint_.iterations),
        breakpoint_.condition_text,
        breakpoint_.ignore,
        tuple(breakpoint_.commands),
    )


def _snapshot_branch(branch: Branch, current: bool) -> BranchSnapshot:
    parent = None if branch.parent is None else branch.parent.number
    return BranchSnapshot(branch.number, parent, branch.fork, tuple(branch.edits), current, branch.tip)


def snapshot_frame(reader: FrameReader) -> FrameSnapshot:
    """A snapshot of one frame."""
    frame = reader.by_reference()
    nodes, edges, loop = tuple(frame.nodes), tuple(frame.back_edges), frame.loop
    outer = _outer_values(nodes, loop)
    results = _read_results(frame, nodes, edges, loop, outer)
    return FrameSnapshot(
        frame.index,
        frame.name,
        frame.path,
        loop,
        frame.entry,
        frame.iteration,
        frame.trip_count,
        frame.condition,
        frame.stopped_by,
        frame.at_boundary,
        edges,
        tuple(_snapshot_scans(frame)),
        nodes,
        tuple([(value.name, results[value]) for value in outer if value in results]),
        MappingProxyType(results),
        MappingProxyType({value.name: data for value, data in results.items()}),
        frame.evolution,
    )


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
    """The outer values, and the parameters and results of one iteration; see :attr:`FrameSnapshot.results`."""
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


def _snapshot_scans(frame: FrameReader) -> list[ScanSnapshot]:
    if frame.loop is None or not frame.loop.scan_outputs:
        return []
    scans = []
    outputs = frame.scan_outputs
    for k, (port, name) in enumerate(zip(frame.loop.scan_outputs, scan_names(frame.loop), strict=True)):
        count, shape, dtype, tail = frame.scan_tail(k, SCAN_TAIL_ELEMENTS)
        scans.append(
            ScanSnapshot(
                name,
                port.axis,
                port.stack,
                port.reverse,
                count,
                shape,
                dtype,
                tuple(tail),
                outputs.get(port.outer.name),
                length=_scan_length(frame, port),
                valid=_scan_valid_mask(frame, port),
                is_index=port.result in index_values(frame.loop),
            )
        )
    return scans


def _scan_length(frame: FrameReader, port: ScanOutput) -> int | None:
    if port.length is None:
        return None
    is_present, value = frame.read(port.length)
    return int(np.asarray(value).reshape(())) if is_present else None


def _scan_valid_mask(frame: FrameReader, port: ScanOutput) -> Array | None:
    if frame.loop is None or port.valid is None:
        return None
    sliced = next((s for s in frame.loop.sliced_inputs if s.inner is port.valid), None)
    if sliced is None:
        return None
    is_present, outer = frame.read(sliced.outer)
    if not is_present or not isinstance(outer, np.ndarray | TensorRef):
        return None

    def read(array: Array) -> Array:
        parts = entry_parts(array, sliced, frame.name, frame.trip_count)
        return np.array(parts.reshape(len(parts), -1) if parts.dtype.kind == "b" else parts)

    return as_tensor_ref(outer).with_array(read)
