"""What the widgets show: the session's snapshot, and what this front end keeps beside it from stop to stop.

A view is made in the worker thread while the session stands still, and is never changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...debugger.session.debuggee import Debuggee
from ...debugger.session.snapshot import FrameSnapshot, Snapshot, take
from ...debugger.session.stop import Reason
from ...debugger.statistics.history import Evolution, History
from ...debugger.statistics.tensor import TensorRef
from ...runtime.frame import CarriedValue
from ...runtime.graph import Graph, loops
from .times import SeenTimes, Times, edited, times


# Views hold arrays, of which == makes no truth value: they are compared by identity.
@dataclass(frozen=True, eq=False)
class FrameView:
    """One frame; ``times``: the branches in this entry; ``edited``: the names of values that were set by hand."""

    frame: FrameSnapshot
    times: Times = field(default_factory=Times)
    edited: frozenset[str] = frozenset()

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of one iteration by name."""
        return self.frame.values


@dataclass(frozen=True, eq=False)
class View:
    """A whole stop. ``frames``: outermost first, the main graph before all loops; ``top``: the innermost, after the end
    the loop that ended last; ``selected``: the one that commands are about.

    ``recorded``: it is of a recording, so that nothing runs; ``beginning``: there is nothing to go back to.
    """

    snapshot: Snapshot
    frames: tuple[FrameView, ...]
    top: FrameView
    selected: FrameView
    recorded: bool = False
    beginning: bool = False


def look(session: Debuggee, past: SeenTimes, selected: int = 0) -> View:
    """The view of a session that is stopped; ``past`` learns of it. ``selected``: as the console counts frames, 0 the
    innermost."""
    snapshot = take(session)
    past.note(snapshot)

    def seen(frame: FrameSnapshot) -> FrameView:
        return FrameView(frame, times(session, snapshot, frame, past), edited(snapshot, frame))

    frames = tuple(map(seen, snapshot.frames))
    top = frames[-1] if snapshot.frame is snapshot.frames[-1] else seen(snapshot.frame)
    chosen = frames[-1 - selected] if 0 < selected < len(frames) else top
    return View(snapshot, frames, top, chosen, not session.has_nodes, session.at_beginning)


def graph_of(frame: FrameSnapshot, main: Graph) -> Graph:
    """The graph whose nodes a frame runs."""
    return main if frame.loop is None else frame.loop.body


@dataclass(frozen=True, eq=False)
class Shown:
    """What is on the screen: a view, the frame of it that a person looks at, and the error that led here, if any."""

    view: View
    frame: FrameView
    main: Graph
    inputs_note: str = ""
    error: str | None = None
    #: What is known of a loop beside its lines is left out: a lesson asks for it.
    quiet: bool = False

    @property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.view.snapshot.done

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


def while_running(shown: Shown, lately: Mapping[str, Evolution]) -> Shown | None:
    """The frame that is shown as it was a moment ago, as far as histories tell; None where they tell nothing new.

    Of values of one element there is the last and the one before; tensors are not looked at while a loop runs.
    """
    frame = shown.frame.frame
    evolution = lately.get(frame.path)
    known = [] if evolution is None else [one for name in frame.carried if (one := evolution.get(name)) and len(one)]
    if evolution is None or not known:
        return None
    iteration = max(int(one.iterations[-1]) for one in known)
    edges = tuple(_lately(edge, evolution.get(edge.param)) for edge in frame.back_edges)
    sides = (
        {} if evolution.sides is None else {one.name: np.float64(one.values[-1]) for one in evolution.sides if len(one)}
    )
    now = replace(
        frame,
        iteration=iteration,
        condition=None if frame.condition is None else True,
        stopped_by=None,
        at_boundary=True,
        back_edges=edges,
        values=sides,
        history=evolution,
    )
    view = replace(shown.frame, frame=now)
    frames = tuple(view if one is shown.frame else one for one in shown.view.frames)
    return replace(shown, frame=view, view=replace(shown.view, frames=frames))


def _lately(edge: CarriedValue, history: History | None) -> CarriedValue:
    if history is None or history.is_tensor or history.bucket > 1 or len(history) < 2:
        last = None if history is None or history.is_tensor or not len(history) else _as_at(edge, history.values[-1])
        return replace(edge, previous=None, value=last, ready=last is not None)
    previous, value = (_as_at(edge, number) for number in history.values[-2:])
    return replace(edge, previous=previous, value=value, ready=True)


def _as_at(edge: CarriedValue, number: Any) -> Any:
    """A number of a history in the type and shape that the value had at the stop; a history keeps all as float64."""
    known = edge.value if edge.value is not None else edge.previous
    if isinstance(known, np.ndarray | np.generic | TensorRef) and known.size == 1 and known.dtype.kind != "O":
        # Of whole numbers too, all that a history has are finite.
        return np.full(known.shape, number, known.dtype)
    return np.float64(number)
