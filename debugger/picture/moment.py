"""What a stop says of a picture: what runs next, what each box holds, where NaN comes by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.frame import CarriedValue, NodeState
from ...runtime.graph import If, Loop, Node, ScanOutput, Value, bodies
from ..frame import AnyFrame
from ..statistics.tensor import TensorRef
from ..text import statistics_of
from ..words.moments import when
from .records import Box, Kind, Picture

#: At a stop so many elements are looked at for what is not finite; what lies beyond is not known.
LOOKED_AT = 1 << 24


@dataclass(frozen=True, eq=False)
class Moment:
    """How one frame stands. ``between``: between two iterations, or over; ``read``: whether a value is there, and what
    it is, at a boundary of the iteration before; ``ahead``: sliced inputs there are those of the next.

    ``carried``: as the loop has its back edges; ``scans``: how many elements each scan output has, and its shape;
    ``told``: ``in iteration 3``.
    """

    iteration: int = 0
    trip_count: int | None = None
    between: bool = False
    running: bool = True
    ahead: bool = False
    told: str = ""
    states: Mapping[Node, NodeState] = field(default_factory=dict)
    read: Callable[[Value], tuple[bool, Any]] = lambda value: (False, None)
    carried: tuple[CarriedValue, ...] = ()
    scans: tuple[tuple[int, tuple[int, ...]], ...] = ()


#: By loop, None the main graph: those that run now.
Moments = Mapping[Loop | None, Moment]


def moments_of(frame: AnyFrame) -> Moments:
    """How a frame and those around it stand."""
    found: dict[Loop | None, Moment] = {}
    around: AnyFrame | None = frame
    while around is not None:
        found[around.loop] = _moment(around)
        around = around.around
    return found


def _moment(frame: AnyFrame) -> Moment:
    loop = frame.loop
    scans = () if loop is None else tuple(frame._inside.scan_tail(k, 0)[:2] for k in range(len(loop.scan_outputs)))
    return Moment(
        frame.iteration,
        frame.trip_count,
        loop is not None and frame.at_boundary,
        True,
        True,
        "" if loop is None else when(frame),
        {entry.node: entry.state for entry in frame.nodes},
        frame.values.read,
        tuple(frame.back_edges),
        scans,
    )


@dataclass(frozen=True, eq=False)
class Marks:
    """What is said of the boxes of a picture, by index. ``values``: what each holds, where that is known; ``old``:
    those of the iteration before. ``next``: the box that runs next; ``odd``: what holds NaN or infinity; ``skipped``:
    in the branch that was not taken. ``count``: of scan outputs, how many elements they have; ``running``: of loops
    that run now, ``iteration 3 / 10``. ``unseen``: some tensors were too large to be looked at."""

    values: Mapping[int, Any] = field(default_factory=dict)
    old: frozenset[int] = frozenset()
    next: int | None = None
    odd: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()
    count: Mapping[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    running: Mapping[int, str] = field(default_factory=dict)
    unseen: bool = False


def marks_of(picture: Picture, moments: Moments) -> Marks:
    """What the stop says of a picture; nothing where its loop does not run."""
    moment = moments.get(picture.frame)
    running = {k: _progress(moments[box.node]) for k, box in _loops(picture) if box.node in moments}  # type: ignore[index]
    if moment is None:
        return Marks(running=running)
    reader = _Reader(picture, moment)
    values = {k: value for k, box in enumerate(picture.boxes) for there, value in [reader.value(box)] if there}
    looked = _Looked(LOOKED_AT)
    boxes = list(enumerate(picture.boxes))
    states = {k: moment.states.get(box.node) for k, box in boxes if box.node is not None}
    ahead = next_in(picture, moment)
    return Marks(
        values,
        frozenset(k for k in values if reader.is_old(picture.boxes[k], states.get(k))),
        ahead,
        frozenset(k for k, value in values.items() if looked.is_odd(value)),
        frozenset(k for k, state in states.items() if state is NodeState.SKIPPED),
        {k: moment.scans[at] for k, at in reader.scans() if at < len(moment.scans)},
        running,
        looked.left <= 0,
    )


def next_in(picture: Picture, moment: Moment) -> int | None:
    """The box that runs next, or the If in which the node that does stands; None where neither is in the picture."""
    node = next((node for node, state in moment.states.items() if state is NodeState.NEXT), None)
    if node is None or not moment.running:
        return None
    return next((k for k, box in enumerate(picture.boxes) if box.node is node or _branches_hold(box.node, node)), None)


def _branches_hold(around: Node | None, node: Node) -> bool:
    """Whether a node stands in a branch of an If, or of one inside of it."""
    if not isinstance(around, If):
        return False
    return any(one is node or _branches_hold(one, node) for _, graph in bodies(around) for one in graph.nodes)


def _loops(picture: Picture) -> Iterator[tuple[int, Box]]:
    return ((k, box) for k, box in enumerate(picture.boxes) if isinstance(box.node, Loop))


def _progress(moment: Moment) -> str:
    of = "" if moment.trip_count is None else f" / {moment.trip_count}"
    return f"iteration {moment.iteration}{of}"


class _Reader:
    """What the boxes of a picture hold at a moment."""

    def __init__(self, picture: Picture, moment: Moment) -> None:
        self._moment = moment
        self._picture = picture
        edges = [] if picture.loop is None else picture.loop.back_edges
        self._carried = dict(zip(edges, moment.carried, strict=False))
        self._makers = {wire.value: picture.boxes[wire.source].node for wire in picture.wires}

    def value(self, box: Box) -> tuple[bool, Any]:
        """Whether anything is known of what a box holds, and what it is."""
        moment = self._moment
        carried = self._carried.get(box.edge) if box.edge is not None else None
        if carried is not None:
            if box.kind is Kind.CARRIED and not moment.between:
                return True, carried.previous
            return carried.ready, carried.value
        if box.kind is Kind.ITERATION and moment.between and moment.running:
            # What the next one gets, as the carried values beside it.
            return True, np.int64(moment.iteration)
        maker = box.node or (self._makers.get(box.values[0]) if box.values else None)
        state = NodeState.DONE if maker is None else moment.states.get(maker)
        ran = state is NodeState.DONE or (moment.between and moment.iteration > 0)
        if not box.values or not ran or state is NodeState.SKIPPED:
            return False, None
        return moment.read(box.values[0])

    def is_old(self, box: Box, state: NodeState | None) -> bool:
        """Whether what a box holds is of the iteration before."""
        now = box.edge is not None or box.kind is Kind.ITERATION or state is NodeState.DONE
        now = now or box.kind is Kind.CAPTURED or (box.kind is Kind.SLICED and self._moment.ahead)
        return self._moment.between and not now

    def scans(self) -> Iterator[tuple[int, int]]:
        """The boxes of scan outputs, and which of the loop's each is."""
        ports: dict[ScanOutput, int] = {}
        if self._picture.loop is not None:
            ports = {port: k for k, port in enumerate(self._picture.loop.scan_outputs)}
        return ((k, ports[box.scan]) for k, box in enumerate(self._picture.boxes) if box.scan in ports)


class _Looked:
    """Looks for what is not finite in at most so many elements."""

    def __init__(self, left: int) -> None:
        self.left = left

    def is_odd(self, value: Any) -> bool:
        """Whether something in a value is NaN or infinite; False also where it was not looked at."""
        if isinstance(value, list | tuple):
            return any(self.is_odd(one) for one in value)
        if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind in "iubOUSTM":
            return False
        self.left -= value.size
        if self.left <= 0:
            return False
        if isinstance(value, TensorRef):
            # Kept: whoever shows the value asks for the same.
            found = statistics_of(value)
            return found is not None and bool(found.nan or found.inf)
        try:
            return not bool(np.isfinite(value).all())
        except TypeError:
            return False
