"""What a stop says of a picture: what runs next, what each box holds, where NaN comes by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.frame import CarriedValue, NodeState
from ...runtime.graph import If, Loop, Node, ScanOutput, Value, bodies
from ..describe.frame_text import position_text
from ..frame_protocol import FrameProtocol
from ..statistics.tensor_ref import TensorRef
from ..value_text import statistics_of
from .graph_view import BoxKind, GraphBox, GraphView

#: At a stop so many elements are looked at for what is not finite; what lies beyond is not known.
FINITE_CHECK_MAX_ELEMENTS = 1 << 24


@dataclass(frozen=True, eq=False)
class GraphFrameState:
    """How one frame stands. ``between``: between two iterations, or over; ``read``: whether a value is there, and what
    it is, at a boundary of the iteration before; ``ahead``: sliced inputs there are those of the next.

    ``carried``: as the loop has its back edges; ``scans``: how many elements each scan output has, and its shape;
    ``told``: ``in iteration 3``.
    """

    iteration: int = 0
    trip_count: int | None = None
    between_iterations: bool = False
    running: bool = True
    slices_are_next: bool = False
    position_text: str = ""
    node_states: Mapping[Node, NodeState] = field(default_factory=dict)
    read_value: Callable[[Value], tuple[bool, Any]] = lambda value: (False, None)
    carried: tuple[CarriedValue, ...] = ()
    scans: tuple[tuple[int, tuple[int, ...]], ...] = ()


#: By loop, None the main graph: those that run now.
GraphFrameStates = Mapping[Loop | None, GraphFrameState]


def frame_states(frame: FrameProtocol) -> GraphFrameStates:
    """How a frame and those around it stand."""
    found: dict[Loop | None, GraphFrameState] = {}
    around: FrameProtocol | None = frame
    while around is not None:
        found[around.loop] = _frame_state(around)
        around = around.around
    return found


def _frame_state(frame: FrameProtocol) -> GraphFrameState:
    loop = frame.loop
    scans = () if loop is None else tuple(frame._internals.scan_tail(k, 0)[:2] for k in range(len(loop.scan_outputs)))
    return GraphFrameState(
        frame.iteration,
        frame.trip_count,
        loop is not None and frame.at_boundary,
        True,
        True,
        "" if loop is None else position_text(frame),
        {entry.node: entry.state for entry in frame.nodes},
        frame.values.read,
        tuple(frame.back_edges),
        scans,
    )


@dataclass(frozen=True, eq=False)
class NodeOverlay:
    """What is said of the boxes of a picture, by index. ``values``: what each holds, where that is known; ``old``:
    those of the iteration before. ``next``: the box that runs next; ``odd``: what holds NaN or infinity; ``skipped``:
    in the branch that was not taken. ``count``: of scan outputs, how many elements they have; ``running``: of loops
    that run now, ``iteration 3 / 10``. ``unseen``: some tensors were too large to be looked at."""

    values: Mapping[int, Any] = field(default_factory=dict)
    stale: frozenset[int] = frozenset()
    next_box: int | None = None
    non_finite: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()
    scan_counts: Mapping[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    loop_progress: Mapping[int, str] = field(default_factory=dict)
    finite_check_incomplete: bool = False


def build_overlay(picture: GraphView, moments: GraphFrameStates) -> NodeOverlay:
    """What the stop says of a picture; nothing where its loop does not run."""
    moment = moments.get(picture.frame)
    running = {k: _progress_text(moments[box.node]) for k, box in _loop_boxes(picture) if box.node in moments}  # type: ignore[index]
    if moment is None:
        return NodeOverlay(loop_progress=running)
    reader = _BoxValueReader(picture, moment)
    values = {k: value for k, box in enumerate(picture.boxes) for there, value in [reader.value(box)] if there}
    looked = _FiniteChecker(FINITE_CHECK_MAX_ELEMENTS)
    boxes = list(enumerate(picture.boxes))
    states = {k: moment.node_states.get(box.node) for k, box in boxes if box.node is not None}
    ahead = find_next_box(picture, moment)
    return NodeOverlay(
        values,
        frozenset(k for k in values if reader.is_stale(picture.boxes[k], states.get(k))),
        ahead,
        frozenset(k for k, value in values.items() if looked.is_non_finite(value)),
        frozenset(k for k, state in states.items() if state is NodeState.SKIPPED),
        {k: moment.scans[at] for k, at in reader.scan_boxes() if at < len(moment.scans)},
        running,
        looked.remaining_elements <= 0,
    )


def find_next_box(picture: GraphView, moment: GraphFrameState) -> int | None:
    """The box that runs next, or the If in which the node that does stands; None where neither is in the picture."""
    node = next((node for node, state in moment.node_states.items() if state is NodeState.NEXT), None)
    if node is None or not moment.running:
        return None
    return next((k for k, box in enumerate(picture.boxes) if box.node is node or _is_inside_if(box.node, node)), None)


def _is_inside_if(around: Node | None, node: Node) -> bool:
    """Whether a node stands in a branch of an If, or of one inside of it."""
    if not isinstance(around, If):
        return False
    return any(one is node or _is_inside_if(one, node) for _, graph in bodies(around) for one in graph.nodes)


def _loop_boxes(picture: GraphView) -> Iterator[tuple[int, GraphBox]]:
    return ((k, box) for k, box in enumerate(picture.boxes) if isinstance(box.node, Loop))


def _progress_text(moment: GraphFrameState) -> str:
    of = "" if moment.trip_count is None else f" / {moment.trip_count}"
    return f"iteration {moment.iteration}{of}"


class _BoxValueReader:
    """What the boxes of a picture hold at a moment."""

    def __init__(self, picture: GraphView, moment: GraphFrameState) -> None:
        self._frame_state = moment
        self._view = picture
        edges = [] if picture.loop is None else picture.loop.back_edges
        self._carried_by_edge = dict(zip(edges, moment.carried, strict=False))
        self._producers = {wire.value: picture.boxes[wire.source].node for wire in picture.wires}

    def value(self, box: GraphBox) -> tuple[bool, Any]:
        """Whether anything is known of what a box holds, and what it is."""
        moment = self._frame_state
        carried = self._carried_by_edge.get(box.edge) if box.edge is not None else None
        if carried is not None:
            if box.kind is BoxKind.CARRIED and not moment.between_iterations:
                return True, carried.previous
            return carried.ready, carried.value
        if box.kind is BoxKind.ITERATION and moment.between_iterations and moment.running:
            # What the next one gets, as the carried values beside it.
            return True, np.int64(moment.iteration)
        maker = box.node or (self._producers.get(box.values[0]) if box.values else None)
        state = NodeState.DONE if maker is None else moment.node_states.get(maker)
        ran = state is NodeState.DONE or (moment.between_iterations and moment.iteration > 0)
        if not box.values or not ran or state is NodeState.SKIPPED:
            return False, None
        return moment.read_value(box.values[0])

    def is_stale(self, box: GraphBox, state: NodeState | None) -> bool:
        """Whether what a box holds is of the iteration before."""
        now = box.edge is not None or box.kind is BoxKind.ITERATION or state is NodeState.DONE
        now = now or box.kind is BoxKind.CAPTURED or (box.kind is BoxKind.SLICED and self._frame_state.slices_are_next)
        return self._frame_state.between_iterations and not now

    def scan_boxes(self) -> Iterator[tuple[int, int]]:
        """The boxes of scan outputs, and which of the loop's each is."""
        ports: dict[ScanOutput, int] = {}
        if self._view.loop is not None:
            ports = {port: k for k, port in enumerate(self._view.loop.scan_outputs)}
        return ((k, ports[box.scan]) for k, box in enumerate(self._view.boxes) if box.scan in ports)


class _FiniteChecker:
    """Looks for what is not finite in at most so many elements."""

    def __init__(self, left: int) -> None:
        self.remaining_elements = left

    def is_non_finite(self, value: Any) -> bool:
        """Whether something in a value is NaN or infinite; False also where it was not looked at."""
        if isinstance(value, list | tuple):
            return any(self.is_non_finite(one) for one in value)
        if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind in "iubOUSTM":
            return False
        self.remaining_elements -= value.size
        if self.remaining_elements <= 0:
            return False
        if isinstance(value, TensorRef):
            # Kept: whoever shows the value asks for the same.
            found = statistics_of(value)
            return found is not None and bool(found.nan or found.inf)
        try:
            return not bool(np.isfinite(value).all())
        except TypeError:
            return False
