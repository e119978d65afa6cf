"""What the widgets show: the session's snapshot, and what this front end keeps beside it from stop to stop.

A view is made in the worker thread while the session stands still, and is never changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...debugger.frame import AnyFrame
from ...debugger.session.debuggee import Debuggee
from ...debugger.session.session import Reason
from ...debugger.session.snapshot import FrameSnapshot, Snapshot, take
from ...runtime.frame import NodeState
from ...runtime.graph import Graph, Value, loops
from ...runtime.graph.slices import cut
from . import wording
from .plots import number_of

#: So many boundaries of an entry are remembered, the newest.
HISTORY = 512
_ABSENT = object()


@dataclass(frozen=True)
class Moment:
    """What was seen at one boundary of a loop.

    ``carried``: one number for each back edge, the value itself or its norm. ``sides``: the two sides of the comparison
    that decides, as the iteration before computed them.
    """

    iteration: int
    condition: bool | None
    carried: tuple[float, ...]
    sides: tuple[float, float] | None


# Views hold arrays, of which == makes no truth value: they are compared by identity.
@dataclass(frozen=True, eq=False)
class FrameView:
    """One frame. ``values``: by name, all of one iteration, the one that runs or at a boundary the one before; what a
    body has from outside is the same in both.

    ``history``: the boundaries of this entry at which the session stopped, oldest first.
    """

    frame: FrameSnapshot
    values: Mapping[str, Any]
    history: tuple[Moment, ...] = ()


@dataclass(frozen=True, eq=False)
class View:
    """A whole stop. ``frames``: outermost first, the main graph before all loops; ``top``: the one shown at first."""

    snapshot: Snapshot
    frames: tuple[FrameView, ...]
    top: FrameView


class History:
    """The boundaries seen in the running entry of every loop."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[tuple[int, ...], tuple[Moment, ...]]] = {}

    def clear(self) -> None:
        """Forget everything: the model starts anew."""
        self._entries.clear()

    def record(self, frame: FrameSnapshot, around: tuple[int, ...], values: Mapping[str, Any]) -> None:
        """Remember a frame that stands at a boundary; ``around``: the iterations of the frames around it, which tell
        one entry of a loop from the next."""
        known = self.of(frame.path, around)
        moment = Moment(
            frame.iteration,
            frame.condition,
            tuple(number_of(edge.value) for edge in frame.back_edges),
            _sides(frame, values),
        )
        kept = [m for m in known if m.iteration < moment.iteration]
        self._entries[frame.path] = around, (*kept[-HISTORY + 1 :], moment)

    def of(self, path: str, around: tuple[int, ...]) -> tuple[Moment, ...]:
        """What was seen of an entry."""
        entry, moments = self._entries.get(path, ((), ()))
        return moments if entry == around else ()


def look(session: Debuggee, history: History) -> View:
    """The view of a session that is stopped; ``history`` learns of it."""
    snapshot = take(session)
    frames = tuple(
        _frame_view(live, frame, tuple(f.iteration for f in snapshot.frames[:depth]), history)
        for depth, (live, frame) in enumerate(zip(session.frames, snapshot.frames, strict=True))
    )
    if not session.done or snapshot.frame.loop is None:
        return View(snapshot, frames, frames[-1])
    # Loops of the main graph alone end last; no other frame is around them.
    return View(snapshot, frames, _frame_view(session.frame, snapshot.frame, (0,), history))


def _frame_view(live: AnyFrame, frame: FrameSnapshot, around: tuple[int, ...], history: History) -> FrameView:
    values = _values(live, frame)
    if frame.loop is not None and frame.at_boundary:
        history.record(frame, around, values)
    return FrameView(frame, values, history.of(frame.path, around))


def _values(live: AnyFrame, frame: FrameSnapshot) -> Mapping[str, Any]:
    values: dict[str, Any] = dict(frame.captures)
    for node in frame.nodes:
        if node.state is NodeState.DONE:
            values.update(zip(node.outputs, node.values, strict=True))
    if frame.loop is not None:
        names = [value.name for value in frame.loop.body.inputs]
        if frame.at_boundary and frame.iteration:
            names += [name for node in frame.nodes for name in node.outputs]
        readable = live.values
        for name in names:
            value = readable.get(name, _ABSENT)
            if value is not _ABSENT:
                values[name] = value
        if frame.at_boundary and frame.iteration:
            values.update(_got(live, frame))
            for name in [name for name, value in values.items() if value is _ABSENT]:
                del values[name]
    return MappingProxyType(values)


def _got(live: AnyFrame, frame: FrameSnapshot) -> Mapping[str, Any]:
    """What the iteration before got in those parameters that are another value in each; _ABSENT where that is not
    known. At a boundary they hold what the next one gets already."""
    loop = frame.loop
    assert loop is not None
    got: dict[str, Any] = {}
    if loop.condition_input is not None:
        got[loop.condition_input.name] = _ABSENT
    if loop.iteration is not None:
        there, number = live.values.read(loop.iteration)
        got[loop.iteration.name] = np.full_like(number, frame.iteration - 1) if there else _ABSENT
    for sliced in loop.sliced_inputs if frame.stopped_by is None else ():
        there, whole = live.values.read(sliced.outer)
        parts = cut(whole, sliced, frame.name) if there and isinstance(whole, np.ndarray) else ()
        got[sliced.inner.name] = parts[frame.iteration - 1] if frame.iteration <= len(parts) else _ABSENT
    for edge in frame.back_edges:
        got[edge.param] = _ABSENT if edge.previous is None else edge.previous
    return got


def _sides(frame: FrameSnapshot, values: Mapping[str, Any]) -> tuple[float, float] | None:
    compared = wording.comparison(frame.loop) if frame.loop is not None else None
    if compared is None or not frame.iteration:
        return None
    left, right = (_read(value, values) for value in (compared.left, compared.right))
    return left, right


def _read(value: Value, values: Mapping[str, Any]) -> float:
    return number_of(value.constant if value.constant is not None else values.get(value.name))


def graph_of(frame: FrameSnapshot, main: Graph) -> Graph:
    """The graph whose nodes a frame runs."""
    return main if frame.loop is None else frame.loop.body


def numbers(moments: Sequence[Moment], edge: int) -> list[float]:
    """What a back edge carried at the boundaries seen."""
    return [m.carried[edge] for m in moments if edge < len(m.carried)]


@dataclass(frozen=True, eq=False)
class Shown:
    """What is on the screen: a view, the frame of it that a person looks at, and the error that led here, if any."""

    view: View
    frame: FrameView
    main: Graph
    inputs_note: str = ""
    error: str | None = None

    @property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.view.snapshot.stop.reason is Reason.DONE

    @property
    def failed(self) -> bool:
        """The node or the boundary that is next failed."""
        stop = self.view.snapshot.stop
        # A breakpoint that cannot be tested is no fault of the node.
        return stop.reason is Reason.ERROR and not stop.breakpoints

    @property
    def has_loops(self) -> bool:
        """False for a model without any loop."""
        return next(loops(self.main), None) is not None

    @property
    def depth(self) -> int | None:
        """Which of the running frames is shown, 0 the main graph; None for a loop that has ended."""
        return next((k for k, frame in enumerate(self.view.frames) if frame is self.frame), None)
