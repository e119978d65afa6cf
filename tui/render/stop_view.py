"""What the widgets show: the session's snapshot, and what this front end keeps beside it from stop to stop.

A view is made in the worker thread while the session stands still, and is never changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...debugger.session.live_status import LiveCarriedValue, LiveScanOutput, LiveStatus
from ...debugger.session.session_base import SessionBase
from ...debugger.session.snapshot import FrameSnapshot, ScanSnapshot, Snapshot, take_snapshot
from ...debugger.session.stop import Reason
from ...debugger.statistics.tensor_ref import TensorRef
from ...debugger.statistics.value_history import Evolution, ValueHistory, is_exact
from ...runtime.frame import CarriedValue
from ...runtime.graph import Graph, loops
from .branch_rows import BranchHistory, BranchRows, branch_rows_of, edited_names, non_finite_iterations
from .display_values import DisplayValue
from .value_cells import TensorSummary


# Views hold arrays, of which == makes no truth value: they are compared by identity.
@dataclass(frozen=True, eq=False)
class FrameView:
    """One frame; ``times``: the branches in this entry; ``edited``: the names of values that were set by hand."""

    frame: FrameSnapshot
    branches: BranchRows = field(default_factory=BranchRows)
    edited: frozenset[str] = frozenset()

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of one iteration by name."""
        return self.frame.values


@dataclass(frozen=True, eq=False)
class StopView:
    """A whole stop. ``frames``: outermost first, the main graph before all loops; ``top``: the innermost, after the end
    the loop that ended last; ``selected``: the one that commands are about.

    ``recorded``: it is of a recording, so that nothing runs; ``beginning``: there is nothing to go back to;
    ``given_again``: the inputs that a restart gave.
    """

    snapshot: Snapshot
    frames: tuple[FrameView, ...]
    innermost: FrameView
    selected: FrameView
    is_recording: bool = False
    at_beginning: bool = False
    restart_inputs: frozenset[str] = frozenset()
    #: The expressions that are displayed, for the selected frame.
    displays: tuple[DisplayValue, ...] = ()


def build_stop_view(
    session: SessionBase, past: BranchHistory, selected: int = 0, displays: tuple[DisplayValue, ...] = ()
) -> StopView:
    """The view of a session that is stopped; ``past`` learns of it. ``selected``: as the console counts frames, 0 the
    innermost."""
    snapshot = take_snapshot(session)
    past.record_stop(snapshot)

    def seen(frame: FrameSnapshot) -> FrameView:
        return FrameView(frame, branch_rows_of(session, snapshot, frame, past), edited_names(snapshot, frame))

    frames = tuple(map(seen, snapshot.frames))
    top = frames[-1] if snapshot.frame is snapshot.frames[-1] else seen(snapshot.frame)
    chosen = frames[-1 - selected] if 0 < selected < len(frames) else top
    return StopView(
        snapshot,
        frames,
        top,
        chosen,
        not session._internals.has_nodes,
        session._internals.is_at_beginning,
        session._internals.restart_inputs,
        displays,
    )


def graph_of(frame: FrameSnapshot, main: Graph) -> Graph:
    """The graph whose nodes a frame runs."""
    return main if frame.loop is None else frame.loop.body


@dataclass(frozen=True, eq=False)
class ScreenState:
    """What is on the screen: a view, the frame of it that a person selected, and the error that led here, if any."""

    view: StopView
    frame: FrameView
    main_graph: Graph
    inputs_note: str = ""
    error: str | None = None
    #: The seeds of the random ones among the inputs.
    seeds: tuple[int, ...] = ()
    #: What is known of a loop beside its lines is left out: a lesson asks for it.
    quiet: bool = False

    @cached_property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.view.snapshot.done

    @cached_property
    def failed(self) -> bool:
        """The node or the boundary that is next failed."""
        stop = self.view.snapshot.stop
        # A breakpoint that cannot be tested is no fault of the node.
        return stop.reason is Reason.ERROR and not stop.breakpoints

    @cached_property
    def has_loops(self) -> bool:
        """False for a model without any loop."""
        return len(self.view.frames) > 1 or next(loops(self.main_graph), None) is not None

    @cached_property
    def depth(self) -> int | None:
        """Which of the running frames is shown, 0 the main graph; None for a loop that has ended."""
        return next((k for k, frame in enumerate(self.view.frames) if frame is self.frame), None)


def live_screen_state(
    shown: ScreenState, lately: Mapping[str, Evolution], underway: Mapping[str, LiveStatus]
) -> ScreenState | None:
    """The recent states of the frames, as far as they are known; None if nothing is known of the one shown.

    ``lately``: their histories, ``underway``: how they stood, both by path. Of large tensors there is what histories
    tell.
    """
    views = {id(one): _live_frame(one, lately, underway) for one in (*shown.view.frames, shown.frame)}
    now = views[id(shown.frame)]
    if now is shown.frame:
        return None
    frames = tuple(views[id(one)] for one in shown.view.frames)
    return replace(shown, frame=now, view=replace(shown.view, frames=frames))


def _live_frame(view: FrameView, lately: Mapping[str, Evolution], underway: Mapping[str, LiveStatus]) -> FrameView:
    """The recent state of a frame; the frame itself if none is known."""
    frame, stood = view.frame, underway.get(view.frame.path)
    evolution = lately.get(frame.path) if stood is None else stood.history
    known = [] if evolution is None else [one for name in frame.carried if (one := evolution.get(name)) and len(one)]
    if evolution is None or not (known or stood):
        return view
    iteration = stood.iteration if stood is not None else max(int(one.iterations[-1]) for one in known)
    edges = tuple(
        _live_edge(edge, evolution.get(edge.param), None if stood is None else stood.carried[k])
        for k, edge in enumerate(frame.back_edges)
    )
    sides = (
        {} if evolution.sides is None else {one.name: np.float64(one.values[-1]) for one in evolution.sides if len(one)}
    )
    now = replace(
        frame,
        entry=frame.entry if stood is None else stood.entry,
        iteration=iteration,
        trip_count=frame.trip_count if stood is None else stood.trip_count,
        condition=None if frame.condition is None else True,
        stopped_by=None,
        at_boundary=True,
        back_edges=edges,
        scans=frame.scans if stood is None else tuple(map(_live_scan, frame.scans, stood.scans)),
        values=sides,
        history=evolution,
    )
    spans = tuple(
        replace(one, last=max(one.last, iteration), non_finite=one.non_finite | non_finite_iterations(now), end_text="")
        if one.current
        else one
        for one in view.branches.rows
    )
    return replace(view, frame=now, branches=BranchRows(spans, iteration))


def _live_scan(scan: ScanSnapshot, now: LiveScanOutput) -> ScanSnapshot:
    if not now.count:
        return replace(scan, count=0, tail=(), full_value=None)
    tail = () if now.newest is None else (now.newest,)
    return replace(
        scan, count=now.count, shape=now.shape, dtype=now.dtype, tail=tail, full_value=None, sample=now.sample
    )


def _live_edge(edge: CarriedValue, history: ValueHistory | None, stood: LiveCarriedValue | None) -> CarriedValue:
    if stood is not None and stood.value is not None:
        return replace(edge, previous=stood.previous, value=stood.value, ready=True)
    numbers = (
        [] if history is None else [_live_number(edge, history, k, stood) for k in range(-min(2, len(history)), 0)]
    )
    if not numbers:
        return replace(edge, previous=None, value=None, ready=False)
    # Of a bucket there is the last one alone.
    alone = len(numbers) < 2 or (history is not None and history.bucket > 1)
    return replace(edge, previous=None if alone else numbers[0], value=numbers[-1], ready=True)


def _live_number(edge: CarriedValue, history: ValueHistory, k: int, stood: LiveCarriedValue | None) -> Any:
    """What a history has of a value, in the type and shape that it has, or had at the stop; all in it is float64."""
    known = edge.value if edge.value is not None else edge.previous
    if isinstance(known, np.ndarray | np.generic | TensorRef) and known.size == 1 and known.dtype.kind != "O":
        if not is_exact(history.values[k], known.dtype.name):
            return None
        # Of whole numbers too, all that a history has are finite.
        return np.full(known.shape, history.values[k], known.dtype)
    told = stood or known
    if history.min is None or history.max is None or told is None:
        return np.float64(history.values[k])
    ends = float(history.min.last[k]), float(history.max.last[k])
    return TensorSummary(str(told.dtype), tuple(told.shape), float(history.values[k]), *ends)
