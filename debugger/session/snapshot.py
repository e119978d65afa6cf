"""Snapshots: immutable copies of a stop for front ends, which never read a running engine.

A snapshot is taken once per stop, in the engine's thread. Its arrays are copies or never written again; large tensors
are references that become stale when the session moves, so a stop costs only what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...runtime.frame import BodyNode, CarriedValue, NodeState
from ...runtime.graph import Array, Loop, Node, ScanOutput, SlicedInput, StoppedBy
from ...runtime.graph.index_values import index_values
from ...runtime.graph.slicing import entry_parts
from ..breakpoints.breakpoint import Breakpoint, Trigger
from ..breakpoints.symbol_table import SymbolTable
from ..describe.value_names import scan_names
from ..frame_protocol import FrameProtocol, FrameValuesProtocol
from ..statistics.sampling import ElementSample
from ..statistics.tensor_ref import REFERENCE_MIN_BYTES, TensorRef, as_tensor_ref
from ..statistics.value_history import Evolution
from .branches import Branch
from .session_base import SessionBase
from .stop import Reason, Stop

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
class NodeSnapshot:
    """A body node: the names that it reads and writes, its state, and its computed outputs."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    depth: int
    branch: str
    is_loop: bool
    state: NodeState
    values: tuple[Any, ...]


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
    nodes: tuple[NodeSnapshot, ...]
    #: Captures and invariant inputs that the body uses: name -> value.
    captures: tuple[tuple[str, Any], ...]
    #: By name, all of one iteration: the running one, or at a boundary the previous one. Outer values are the same in
    #: both.
    values: Mapping[str, Any]
    #: Histories of its values over all iterations so far, by name.
    history: Evolution

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

    @property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.stop.reason is Reason.DONE


def take_snapshot(session: SessionBase) -> Snapshot:
    """A snapshot of a stopped session."""
    controller = session._internals
    frames = tuple(_snapshot_frame(controller.inspection_frame(frame), frame.evolution) for frame in session.frames)
    top, current = frames[-1], session.frame
    if session.done and current.loop is not None:
        top = _snapshot_frame(controller.inspection_frame(current), current.evolution)
    outputs = session.outputs
    return Snapshot(
        session.model.name,
        session.stop,
        controller.position,
        frames,
        top,
        None if outputs is None else tuple(outputs.items()),
        tuple(_snapshot_breakpoint(b, controller.symbols) for b in session.breakpoints),
        tuple(_snapshot_branch(b, b is session.branch) for b in session.branches) if controller.has_branches else (),
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


def _snapshot_frame(frame: FrameProtocol, history: Evolution) -> FrameSnapshot:
    values, loop = frame.values, frame.loop
    nodes = tuple(_snapshot_node(entry, values) for entry in frame.nodes)
    edges = tuple(frame.back_edges)
    local_names = {name for node in nodes for name in node.outputs} | {
        v.name for v in (loop.body.inputs if loop else ())
    }
    outer_names = dict.fromkeys(name for node in nodes for name in node.inputs if name and name not in local_names)
    captures = {name: values.get(name, _ABSENT) for name in outer_names}
    captures = {name: value for name, value in captures.items() if value is not _ABSENT}
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
        tuple(captures.items()),
        MappingProxyType(_snapshot_values(frame, nodes, edges, captures)),
        history,
    )


def _snapshot_node(entry: BodyNode, values: FrameValuesProtocol) -> NodeSnapshot:
    node = entry.node
    outputs = tuple(v.name for v in node.outputs if v is not None)
    return NodeSnapshot(
        node.name,
        node.op_type,
        tuple("" if v is None else v.name for v in node.inputs),
        outputs,
        entry.depth,
        entry.branch,
        isinstance(node, Loop),
        entry.state,
        tuple(values.get(name) for name in outputs) if entry.state is NodeState.DONE else (),
    )


def _snapshot_values(
    frame: FrameProtocol, nodes: Sequence[NodeSnapshot], edges: Sequence[CarriedValue], captures: Mapping[str, Any]
) -> dict[str, Any]:
    """See :attr:`FrameSnapshot.values`."""
    values = dict(captures)
    for node in nodes:
        if node.state is NodeState.DONE:
            values.update(zip(node.outputs, node.values, strict=True))
    loop = frame.loop
    if loop is None:
        return values
    # At a boundary the next iteration is not computed yet, and the values of the previous one are available.
    has_previous = frame.at_boundary and frame.iteration > 0
    previous = _previous_parameters(frame, loop, edges) if has_previous else {}
    names = [value.name for value in loop.body.inputs if value.name not in previous]
    names += [name for node in nodes for name in node.outputs if has_previous and name not in values]
    readable = frame.values
    values.update((name, readable.get(name, _ABSENT)) for name in names)
    values.update(previous)
    if frame.at_boundary and frame.stopped_by is not None:
        # Outputs of the loop by their names in the enclosing graph.
        carried = {edge.param: edge.value for edge in edges}
        for output in loop.last_values:
            edge = loop.back_edge_for(output)
            value = values.get(output.result.name, _ABSENT) if edge is None else carried[edge.param.name]
            values.setdefault(output.outer.name, value)
    return {name: value for name, value in values.items() if value is not _ABSENT}


def _previous_parameters(frame: FrameProtocol, loop: Loop, edges: Sequence[CarriedValue]) -> dict[str, Any]:
    """Values of the varying parameters in the previous iteration; _ABSENT if unknown. At a boundary the slots already
    hold the values of the next iteration."""
    values: dict[str, Any] = {}
    if loop.condition_input is not None:
        values[loop.condition_input.name] = _ABSENT
    if loop.iteration is not None:
        is_present, number = frame.values.read(loop.iteration)
        values[loop.iteration.name] = np.full_like(number, frame.iteration - 1) if is_present else _ABSENT
    for port in loop.sliced_inputs if frame.stopped_by is None else ():
        is_present, outer = frame.values.read(port.outer)
        values[port.inner.name] = _previous_slice(outer, port, frame) if is_present else _ABSENT
    for edge in edges:
        values[edge.param] = _ABSENT if edge.previous is None else edge.previous
    return values


def _previous_slice(outer: Any, sliced: SlicedInput, frame: FrameProtocol) -> Any:
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


def _snapshot_scans(frame: FrameProtocol) -> list[ScanSnapshot]:
    if frame.loop is None:
        return []
    scans = []
    outputs = frame.scan_outputs
    for k, (port, name) in enumerate(zip(frame.loop.scan_outputs, scan_names(frame.loop), strict=True)):
        count, shape, dtype, tail = frame._internals.scan_tail(k, SCAN_TAIL_ELEMENTS)
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


def _scan_length(frame: FrameProtocol, port: ScanOutput) -> int | None:
    if port.length is None:
        return None
    is_present, value = frame.values.read(port.length)
    return int(np.asarray(value).reshape(())) if is_present else None


def _scan_valid_mask(frame: FrameProtocol, port: ScanOutput) -> Array | None:
    loop = frame.loop
    sliced = None if loop is None else next((s for s in loop.sliced_inputs if s.inner is port.valid), None)
    if sliced is None or port.valid is None:
        return None
    is_present, outer = frame.values.read(sliced.outer)
    if not is_present or not isinstance(outer, np.ndarray | TensorRef):
        return None

    def read(array: Array) -> Array:
        parts = entry_parts(array, sliced, frame.name, frame.trip_count)
        return np.array(parts.reshape(len(parts), -1) if parts.dtype.kind == "b" else parts)

    return as_tensor_ref(outer).with_array(read)
