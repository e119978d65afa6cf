"""What the widgets show: the session's snapshot, and what this front end keeps beside it from stop to stop.

A view is made in the worker thread while the session stands still, and is never changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...debugger.session.debuggee import Debuggee
from ...debugger.session.snapshot import FrameSnapshot, Snapshot, take
from ...debugger.session.stop import Reason
from ...debugger.words.condition import DecidingComparison, compared
from ...runtime.graph import Graph, Loop, Value, loops
from .plots import number_of
from .times import SeenTimes, Times, edited, times

#: So many boundaries of an entry are remembered, the newest.
HISTORY = 512


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
    """One frame; ``history``: the boundaries of this entry at which the session stopped, oldest first; ``times``: the
    branches in this entry; ``edited``: the names of values that were set by hand."""

    frame: FrameSnapshot
    history: tuple[Moment, ...] = ()
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


class SeenBoundaries:
    """The boundaries seen in the running entry of every loop."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[tuple[int, ...], tuple[Moment, ...]]] = {}
        self.times = SeenTimes()
        self._compared: dict[Loop | None, DecidingComparison | None] = {None: None}

    def clear(self) -> None:
        """Forget everything: the model starts anew."""
        self._entries.clear()
        self.times.clear()

    def record(self, frame: FrameSnapshot) -> None:
        """Remember a frame that stands at a boundary."""
        moment = Moment(
            frame.iteration,
            frame.condition,
            tuple(number_of(edge.value) for edge in frame.back_edges),
            self._sides(frame),
        )
        kept = [m for m in self.of(frame) if m.iteration < moment.iteration]
        self._entries[frame.path] = frame.entry, (*kept[-HISTORY + 1 :], moment)

    def of(self, frame: FrameSnapshot) -> tuple[Moment, ...]:
        """What was seen of the entry that a frame is in."""
        entry, moments = self._entries.get(frame.path, ((), ()))
        return moments if entry == frame.entry else ()

    def _sides(self, frame: FrameSnapshot) -> tuple[float, float] | None:
        if frame.loop not in self._compared and frame.loop is not None:
            self._compared[frame.loop] = compared(frame.loop)
        sides = self._compared[frame.loop]
        if sides is None or not frame.iteration:
            return None
        return _number(sides.left, frame), _number(sides.right, frame)


def look(session: Debuggee, history: SeenBoundaries, selected: int = 0) -> View:
    """The view of a session that is stopped; ``history`` learns of it. ``selected``: as the console counts frames, 0
    the innermost."""
    snapshot = take(session)
    history.times.note(snapshot)

    def seen(frame: FrameSnapshot) -> FrameView:
        if frame.loop is not None and frame.at_boundary:
            history.record(frame)
        there = times(session, snapshot, frame, history.times)
        return FrameView(frame, history.of(frame), there, edited(snapshot, frame))

    frames = tuple(map(seen, snapshot.frames))
    top = frames[-1] if snapshot.frame is snapshot.frames[-1] else seen(snapshot.frame)
    chosen = frames[-1 - selected] if 0 < selected < len(frames) else top
    return View(snapshot, frames, top, chosen, not session.has_nodes, session.at_beginning)


def _number(value: Value, frame: FrameSnapshot) -> float:
    return number_of(value.constant if value.constant is not None else frame.values.get(value.name))


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
