"""A stop, frozen: what a screen and other front ends show, so that none ever sees an engine at work.

It is taken once a stop, in the thread that runs the engine. All arrays in it are copies, or never written again; large
tensors are references, which say so when the session has gone on: a stop costs what is read.
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

#: Of a scan output at most this many of the newest elements are copied.
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
    #: All that it has collected, as its loop would return it; None where that is not known.
    full_value: Any = None
    #: A sample, if the whole cannot be read: its loop runs.
    sample: ElementSample | None = None
    #: How many elements it will have in the end, where that is said beforehand: what the loop does not give is zeros.
    length: int | None = None
    #: For each iteration which parts of its element along the first axis are more than filling (``[iterations,
    #: parts]``), or how many from the first one (``[iterations]``); None: all are.
    valid: Array | None = None
    #: Its numbers pick something: how large they are means nothing.
    is_index: bool = False


@dataclass(frozen=True, eq=False)
class NodeSnapshot:
    """A body node: the names that it reads and writes, its state, and its outputs where they are computed."""

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
    """One frame; ``loop`` is part of the loop graph, which never changes. ``entry``: the iterations that the loops
    around it are in, outermost first."""

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
    #: By name, all of one iteration: the one that runs, or at a boundary the one before. What a body has from outside
    #: is the same in both.
    values: Mapping[str, Any]
    #: What its values were in all iterations so far, by name.
    history: Evolution

    @property
    def carried(self) -> dict[str, Any]:
        """Parameter -> what the iteration got that runs, or at a boundary what the next one gets, where it is known."""
        edges = self.back_edges
        if self.at_boundary:
            return {edge.param: edge.value for edge in edges if edge.ready}
        return {edge.param: edge.previous for edge in edges}


@dataclass(frozen=True, eq=False)
class BreakpointSnapshot:
    """A breakpoint; ``nodes``: those that it stops before, ``loops``: those at whose boundaries it is tested.

    ``heads``: loops at each of whose boundaries it stops; ``iterations``: those at which alone it does, empty for any.
    ``stops_if``: its condition, "" for none; ``ignore``: so many hits it passes; ``commands``: what the console runs
    where it stops.
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
    """A line of time; ``parent``: the number of the one that it left at ``fork``; ``tip``: the last position reached on
    it."""

    number: int
    parent: int | None
    fork: tuple[int, ...] | None
    edits: tuple[str, ...]
    current: bool
    tip: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A whole stop. ``frames``: outermost first, the main graph before all loops; ``position``: in the execution;
    it orders the stops of one branch."""

    model: str
    stop: Stop
    position: tuple[int, ...]
    frames: tuple[FrameSnapshot, ...]
    #: The frame that a screen shows: the innermost, or after the end the loop that ended last.
    frame: FrameSnapshot
    outputs: tuple[tuple[str, Any], ...] | None
    breakpoints: tuple[BreakpointSnapshot, ...]
    #: Empty where there is one line of time only.
    branches: tuple[BranchSnapshot, ...]

    @property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.stop.reason is Reason.DONE


def take_snapshot(debuggee: SessionBase) -> Snapshot:
    """A snapshot of what is stopped."""
    inside = debuggee._internals
    frames = tuple(_snapshot_frame(inside.inspection_frame(frame), frame.evolution) for frame in debuggee.frames)
    top, last = frames[-1], debuggee.frame
    if debuggee.done and last.loop is not None:
        top = _snapshot_frame(inside.inspection_frame(last), last.evolution)
    outputs = debuggee.outputs
    return Snapshot(
        debuggee.model.name,
        debuggee.stop,
        inside.position,
        frames,
        top,
        None if outputs is None else tuple(outputs.items()),
        tuple(_snapshot_breakpoint(one, inside.symbols) for one in debuggee.breakpoints),
        tuple(_snapshot_branch(one, one is debuggee.branch) for one in debuggee.branches)
        if inside.has_branches
        else (),
    )


def _snapshot_breakpoint(one: Breakpoint, places: SymbolTable) -> BreakpointSnapshot:
    every = one.loops if one.kind is Trigger.BOUNDARY else ()
    heads = frozenset(places.loops[k].loop for k in every)
    return BreakpointSnapshot(
        one.number,
        one.kind_name,
        one.title,
        one.enabled,
        one.hits,
        one.nodes,
        one.loops,
        heads,
        tuple(one.iterations),
        one.condition_text,
        one.ignore,
        tuple(one.commands),
    )


def _snapshot_branch(one: Branch, current: bool) -> BranchSnapshot:
    parent = None if one.parent is None else one.parent.number
    return BranchSnapshot(one.number, parent, one.fork, tuple(one.edits), current, one.tip)


def _snapshot_frame(frame: FrameProtocol, history: Evolution) -> FrameSnapshot:
    values, loop = frame.values, frame.loop
    nodes = tuple(_snapshot_node(entry, values) for entry in frame.nodes)
    edges = tuple(frame.back_edges)
    own = {name for node in nodes for name in node.outputs} | {v.name for v in (loop.body.inputs if loop else ())}
    used = dict.fromkeys(name for node in nodes for name in node.inputs if name and name not in own)
    captures = {name: values.get(name, _ABSENT) for name in used}
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
    found = dict(captures)
    for node in nodes:
        if node.state is NodeState.DONE:
            found.update(zip(node.outputs, node.values, strict=True))
    loop = frame.loop
    if loop is None:
        return found
    # At a boundary nothing of the iteration that comes is computed, and what the one before computed is there.
    between = frame.at_boundary and frame.iteration > 0
    got = _previous_parameters(frame, loop, edges) if between else {}
    names = [value.name for value in loop.body.inputs if value.name not in got]
    names += [name for node in nodes for name in node.outputs if between and name not in found]
    readable = frame.values
    found.update((name, readable.get(name, _ABSENT)) for name in names)
    found.update(got)
    if frame.at_boundary and frame.stopped_by is not None:
        # What the graph around gets when the loop is left, by the names that it has there.
        carried = {edge.param: edge.value for edge in edges}
        for last in loop.last_values:
            edge = loop.back_edge_for(last)
            value = found.get(last.result.name, _ABSENT) if edge is None else carried[edge.param.name]
            found.setdefault(last.outer.name, value)
    return {name: value for name, value in found.items() if value is not _ABSENT}


def _previous_parameters(frame: FrameProtocol, loop: Loop, edges: Sequence[CarriedValue]) -> dict[str, Any]:
    """What the iteration before got in those parameters that are another value in each; _ABSENT where that is not
    known. At a boundary they hold what the next one gets already."""
    got: dict[str, Any] = {}
    if loop.condition_input is not None:
        got[loop.condition_input.name] = _ABSENT
    if loop.iteration is not None:
        there, number = frame.values.read(loop.iteration)
        got[loop.iteration.name] = np.full_like(number, frame.iteration - 1) if there else _ABSENT
    for sliced in loop.sliced_inputs if frame.stopped_by is None else ():
        there, whole = frame.values.read(sliced.outer)
        got[sliced.inner.name] = _previous_slice(whole, sliced, frame) if there else _ABSENT
    for edge in edges:
        got[edge.param] = _ABSENT if edge.previous is None else edge.previous
    return got


def _previous_slice(whole: Any, sliced: SlicedInput, frame: FrameProtocol) -> Any:
    """What the iteration before got of a sliced input; a part of a reference is one."""
    before = frame.iteration - 1
    if not isinstance(whole, np.ndarray | TensorRef):
        return _ABSENT
    ref, trips = as_tensor_ref(whole), frame.trip_count

    def parts(do: Callable[[Array], Any]) -> Any:
        return ref.with_array(lambda array: do(entry_parts(array, sliced, frame.name, trips)))

    count, dtype, shape = parts(lambda cuts: (len(cuts), cuts.dtype, cuts.shape[1:]))
    if before >= count:
        return _ABSENT
    part = TensorRef(dtype, shape, lambda do: parts(lambda cuts: do(cuts[before])))
    return part if part.nbytes >= REFERENCE_MIN_BYTES else np.asarray(part)


def _snapshot_scans(frame: FrameProtocol) -> list[ScanSnapshot]:
    if frame.loop is None:
        return []
    scans = []
    wholes = frame.scan_outputs
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
                wholes.get(port.outer.name),
                length=_scan_length(frame, port),
                valid=_scan_valid_mask(frame, port),
                is_index=port.result in index_values(frame.loop),
            )
        )
    return scans


def _scan_length(frame: FrameProtocol, port: ScanOutput) -> int | None:
    if port.length is None:
        return None
    there, value = frame.values.read(port.length)
    return int(np.asarray(value).reshape(())) if there else None


def _scan_valid_mask(frame: FrameProtocol, port: ScanOutput) -> Array | None:
    loop = frame.loop
    sliced = None if loop is None else next((s for s in loop.sliced_inputs if s.inner is port.valid), None)
    if sliced is None or port.valid is None:
        return None
    there, whole = frame.values.read(sliced.outer)
    if not there or not isinstance(whole, np.ndarray | TensorRef):
        return None

    def read(array: Array) -> Array:
        parts = entry_parts(array, sliced, frame.name, frame.trip_count)
        return np.array(parts.reshape(len(parts), -1) if parts.dtype.kind == "b" else parts)

    return as_tensor_ref(whole).with_array(read)
