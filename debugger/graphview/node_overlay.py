"""The overlay of a stop on a graph view: the next node, the value of each box, NaN and Inf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.frame import NodeState, frame_reader
from ...runtime.graph import If, Loop, Node, ScanOutput, bodies
from ..frame_protocol import FrameProtocol, FrameReader
from ..frame_state import FrameState, read_frame
from ..statistics.tensor_statistics import TensorRef
from ..value_text import statistics_of
from .graph_view import BoxKind, GraphBox, GraphView

#: The maximum number of elements checked for NaN and Inf at a stop.
FINITE_CHECK_MAX_ELEMENTS = 1 << 24


#: The running frames by loop; None for the main graph.
FramesByLoop = Mapping[Loop | None, FrameState]


def frames_by_loop(frame: FrameProtocol) -> FramesByLoop:
    """The states of a frame and its enclosing frames."""
    states: dict[Loop | None, FrameState] = {}
    current: FrameReader | None = frame_reader(frame)
    while current is not None:
        states[current.loop] = read_frame(current.with_references())
        current = current.around
    return states


@dataclass(frozen=True, eq=False)
class NodeOverlay:
    """Annotations of the boxes of a view, by index. ``values``: the known values; ``stale``: values of the previous
    iteration; ``skipped``: boxes in the branch not taken; ``scan_counts``: the length and shape of scan outputs;
    ``loop_progress``: ``iteration 3 / 10`` of running loops."""

    values: Mapping[int, Any] = field(default_factory=dict)
    stale: frozenset[int] = frozenset()
    next_box: int | None = None
    non_finite: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()
    scan_counts: Mapping[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    loop_progress: Mapping[int, str] = field(default_factory=dict)


def build_overlay(view: GraphView, frames: FramesByLoop) -> NodeOverlay:
    """The overlay of a view; empty if its loop does not run."""
    frame = frames.get(view.frame)
    running = {k: _progress_text(frames[box.node]) for k, box in _loop_boxes(view) if box.node in frames}  # type: ignore[index]
    if frame is None:
        return NodeOverlay(loop_progress=running)
    reader = _BoxValueReader(view, frame)
    values = {k: value for k, box in enumerate(view.boxes) for known, value in [reader.value(box)] if known}
    checker = _FiniteChecker(FINITE_CHECK_MAX_ELEMENTS)
    boxes = list(enumerate(view.boxes))
    node_states = {k: frame.states.get(box.node) for k, box in boxes if box.node is not None}
    next_box = find_next_box(view, frame)
    return NodeOverlay(
        values,
        frozenset(k for k in values if reader.is_stale(view.boxes[k], node_states.get(k))),
        next_box,
        frozenset(k for k, value in values.items() if checker.is_non_finite(value)),
        frozenset(k for k, node_state in node_states.items() if node_state is NodeState.SKIPPED),
        {k: (frame.scans[index].count, frame.scans[index].shape) for k, index in reader.scan_boxes()},
        running,
    )


def find_next_box(view: GraphView, frame: FrameState) -> int | None:
    """The box of the next node, or of the If that contains it; None if neither is in the view."""
    node = next((node for node, state in frame.states.items() if state is NodeState.NEXT), None)
    if node is None or not frame.is_running:
        return None
    return next((k for k, box in enumerate(view.boxes) if box.node is node or _is_inside_if(box.node, node)), None)


def _is_inside_if(container: Node | None, node: Node) -> bool:
    """Whether a node is in a branch of an If, or of a nested If."""
    if not isinstance(container, If):
        return False
    return any(inner is node or _is_inside_if(inner, node) for _, graph in bodies(container) for inner in graph.nodes)


def _loop_boxes(view: GraphView) -> Iterator[tuple[int, GraphBox]]:
    return ((k, box) for k, box in enumerate(view.boxes) if isinstance(box.node, Loop))


def _progress_text(frame: FrameState) -> str:
    limit = "" if frame.trip_count is None else f" / {frame.trip_count}"
    return f"iteration {frame.iteration}{limit}"


class _BoxValueReader:
    """Reads the values of boxes in a frame."""

    def __init__(self, view: GraphView, frame: FrameState) -> None:
        self._frame = frame
        self._view = view
        edges = [] if view.loop is None else view.loop.back_edges
        self._carried_by_edge = dict(zip(edges, frame.back_edges, strict=False))
        self._producers = {wire.value: view.boxes[wire.source].node for wire in view.wires}

    def value(self, box: GraphBox) -> tuple[bool, Any]:
        """Whether the value of a box is known, and the value."""
        frame = self._frame
        carried = self._carried_by_edge.get(box.edge) if box.edge is not None else None
        if carried is not None:
            if box.kind is BoxKind.CARRIED and not frame.at_boundary:
                return True, carried.previous
            return carried.ready, carried.value
        if box.kind is BoxKind.ITERATION and frame.at_boundary and frame.is_running:
            # The number of the next iteration, consistent with the carried values.
            return True, np.int64(frame.iteration)
        producer = box.node or (self._producers.get(box.values[0]) if box.values else None)
        node_state = NodeState.DONE if producer is None else frame.states.get(producer)
        has_run = node_state is NodeState.DONE or (frame.at_boundary and frame.iteration > 0)
        if not box.values or not has_run or node_state is NodeState.SKIPPED:
            return False, None
        return frame.read(box.values[0])

    def is_stale(self, box: GraphBox, node_state: NodeState | None) -> bool:
        """Whether the value of a box is from the previous iteration."""
        new = box.edge is not None or box.kind is BoxKind.ITERATION or node_state is NodeState.DONE
        return self._frame.at_boundary and not (new or box.kind is BoxKind.CAPTURED)

    def scan_boxes(self) -> Iterator[tuple[int, int]]:
        """The boxes of scan outputs, and the index of each output."""
        ports: dict[ScanOutput, int] = {}
        if self._view.loop is not None:
            ports = {port: k for k, port in enumerate(self._view.loop.scan_outputs)}
        return ((k, ports[box.scan]) for k, box in enumerate(self._view.boxes) if box.scan in ports)


class _FiniteChecker:
    """Checks for NaN and Inf, up to a limit on the total number of elements."""

    def __init__(self, limit: int) -> None:
        self.remaining_elements = limit

    def is_non_finite(self, value: Any) -> bool:
        """Whether a value has NaN or Inf; False also if it was not checked."""
        if isinstance(value, list | tuple):
            return any(self.is_non_finite(item) for item in value)
        if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind in "iubOUSTM":
            return False
        self.remaining_elements -= value.size
        if self.remaining_elements <= 0:
            return False
        if isinstance(value, TensorRef):
            # Cached: the display of the value needs the same statistics.
            statistics = statistics_of(value)
            return statistics is not None and bool(statistics.nan or statistics.inf)
        try:
            return not bool(np.isfinite(value).all())
        except TypeError:
            return False
