"""What a screen shows of a session: frozen, so that a view never sees an engine at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime.frame import BackEdge, NodeState
from ...runtime.graph import Array, Loop, StoppedBy
from ..frame import AnyFrame
from ..words.names import scan_names
from .debuggee import Debuggee
from .session import Stop

#: Of a scan output at most this many of the newest elements are copied.
SCAN_TAIL = 64


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
    tail: tuple[Array, ...]


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
    """One frame; ``loop`` is part of the loop graph, which never changes."""

    name: str
    path: str
    loop: Loop | None
    iteration: int
    trip_count: int | None
    condition: bool | None
    stopped_by: StoppedBy | None
    at_boundary: bool
    back_edges: tuple[BackEdge, ...]
    scans: tuple[ScanSnapshot, ...]
    nodes: tuple[NodeSnapshot, ...]
    #: Captures and invariant inputs that the body uses: name -> value.
    captures: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A whole session at a stop. ``frames``: outermost first, the main graph before all loops."""

    model: str
    stop: Stop
    frames: tuple[FrameSnapshot, ...]
    #: The frame that a screen shows: the innermost, or after the end the loop that ended last.
    frame: FrameSnapshot
    outputs: tuple[tuple[str, Any], ...] | None


def take(session: Debuggee) -> Snapshot:
    """A snapshot of a session that is stopped, or of a recording."""
    frames = tuple(_frame(frame) for frame in session.frames)
    top = _frame(session.frame) if session.done else frames[-1]
    outputs = session.outputs
    return Snapshot(session.model.name, session.stop, frames, top, None if outputs is None else tuple(outputs.items()))


def _frame(frame: AnyFrame) -> FrameSnapshot:
    values = frame.values
    nodes = []
    made: set[str] = set()
    used: list[str] = []
    for entry in frame.nodes:
        outputs = tuple(v.name for v in entry.node.outputs if v is not None)
        inputs = tuple("" if v is None else v.name for v in entry.node.inputs)
        made.update(outputs)
        used.extend(name for name in inputs if name)
        nodes.append(
            NodeSnapshot(
                entry.node.name,
                entry.node.op_type,
                inputs,
                outputs,
                entry.depth,
                entry.branch,
                isinstance(entry.node, Loop),
                entry.state,
                tuple(values.get(name) for name in outputs) if entry.state is NodeState.DONE else (),
            )
        )
    own = made | {v.name for v in (frame.loop.body.inputs if frame.loop else ())}
    captures = tuple((name, values.get(name)) for name in dict.fromkeys(used) if name not in own and name in values)
    return FrameSnapshot(
        frame.name,
        frame.path,
        frame.loop,
        frame.iteration,
        frame.trip_count,
        frame.condition,
        frame.stopped_by,
        frame.at_boundary,
        tuple(frame.back_edges),
        tuple(_scan(frame)),
        tuple(nodes),
        captures,
    )


def _scan(frame: AnyFrame) -> list[ScanSnapshot]:
    if frame.loop is None:
        return []
    scans = []
    for k, (port, name) in enumerate(zip(frame.loop.scan_outputs, scan_names(frame.loop), strict=True)):
        count, shape, dtype, tail = frame.scan_tail(k, SCAN_TAIL)
        scans.append(ScanSnapshot(name, port.axis, port.stack, port.reverse, count, shape, dtype, tuple(tail)))
    return scans
