"""View models of the widgets: the state of a stop with branch rows, edits and displays.

A view is built in the worker thread while the session is stopped, and is immutable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...debugger.frame_state import FrameState, ScanState
from ...debugger.session.live_status import LiveCarriedValue, LiveScanOutput, LiveStatus
from ...debugger.session.session import Session
from ...debugger.session.stop import Reason
from ...debugger.session.stop_state import StopState, read_stop
from ...debugger.statistics.tensor_statistics import TensorRef
from ...debugger.statistics.value_history import Evolution, ValueHistory, is_exact
from ...runtime.frame import CarriedValue
from ...runtime.graph import Graph, loops
from .display_expressions import EvaluatedDisplay
from .timeline_rows import BranchHistory, BranchRows, branch_rows_of, edited_names, non_finite_iterations
from .value_cells import LiveTensorSummary


# Compared by identity: views hold arrays, whose == is elementwise.
@dataclass(frozen=True, eq=False)
class StopView:
    """A stop. ``branches``: those in the entry of each frame, and ``edited``: the names of edited values, both by the
    index of the frame's loop; ``selected``: the frame that commands use."""

    stop_state: StopState
    branches: Mapping[int, BranchRows]
    edited: Mapping[int, frozenset[str]]
    selected: FrameState
    #: The displayed expressions, evaluated in the selected frame.
    displays: tuple[EvaluatedDisplay, ...] = ()

    @property
    def frames(self) -> tuple[FrameState, ...]:
        """Outermost first, starting with the main graph."""
        return self.stop_state.frames


def build_stop_view(
    session: Session, history: BranchHistory, selected: int = 0, displays: tuple[EvaluatedDisplay, ...] = ()
) -> StopView:
    """The view of a stopped session, recorded in ``history``. ``selected``: frame number as in the console, 0 is the
    innermost."""
    stop_state = read_stop(session)
    history.record_stop(stop_state)
    frames = stop_state.frames
    shown = frames if stop_state.frame is frames[-1] else (*frames, stop_state.frame)
    return StopView(
        stop_state,
        {frame.index: branch_rows_of(stop_state, frame, history) for frame in shown},
        {frame.index: edited_names(stop_state, frame) for frame in shown},
        frames[-1 - selected] if 0 < selected < len(frames) else stop_state.frame,
        displays,
    )


def graph_of_frame(frame: FrameState, main: Graph) -> Graph:
    """The graph whose nodes a frame runs."""
    return main if frame.loop is None else frame.loop.body


@dataclass(frozen=True, eq=False)
class ScreenState:
    """The contents of the screen: a view, the selected frame, and the error that caused the stop, if any."""

    view: StopView
    frame: FrameState
    main_graph: Graph
    inputs_note: str = ""
    error: str | None = None
    #: The seeds of random inputs.
    seeds: tuple[int, ...] = ()
    #: Hide information about loops other than their lines: a lesson asks for it.
    quiet: bool = False

    @cached_property
    def done(self) -> bool:
        """The model ran to its end."""
        return self.view.stop_state.done

    @cached_property
    def failed(self) -> bool:
        """The node or the boundary that is next failed."""
        stop = self.view.stop_state.stop
        # A failed breakpoint condition is not a failure of the node.
        return stop.reason is Reason.ERROR and not stop.breakpoints

    @property
    def branches(self) -> BranchRows:
        """The branches in the entry of the shown frame."""
        return self.view.branches[self.frame.index]

    @property
    def edited(self) -> frozenset[str]:
        """The names of edited values of the shown frame."""
        return self.view.edited[self.frame.index]

    @cached_property
    def has_loops(self) -> bool:
        """False for a model without any loop."""
        return len(self.view.frames) > 1 or bool(loops(self.main_graph))

    @cached_property
    def depth(self) -> int | None:
        """The index of the shown frame among the running ones, 0 the main graph; None for a loop that has ended."""
        return next((k for k, frame in enumerate(self.view.frames) if frame is self.frame), None)


def live_screen_state(
    state: ScreenState, evolutions: Mapping[str, Evolution], statuses: Mapping[str, LiveStatus]
) -> ScreenState | None:
    """The latest states of running frames; None if there is none for the shown frame.

    ``evolutions``: their histories, ``statuses``: their live statuses, both by path. Large tensors have only the
    statistics of their histories.
    """
    stop_state, shown = state.view.stop_state, state.frame
    branches, live = dict(state.view.branches), dict[int, FrameState]()
    for frame in (*stop_state.frames, shown):
        live[frame.index] = latest = _latest_frame_state(frame, evolutions, statuses)
        if latest is not frame:
            branches[frame.index] = _live_rows(state.view.branches[frame.index], latest)
    if live[shown.index] is shown:
        return None
    frames = tuple([live[frame.index] for frame in stop_state.frames])
    view = replace(state.view, stop_state=replace(stop_state, frames=frames), branches=branches)
    return replace(state, frame=live[shown.index], view=view)


def _latest_frame_state(
    frame: FrameState, evolutions: Mapping[str, Evolution], statuses: Mapping[str, LiveStatus]
) -> FrameState:
    """The latest state of a frame; the frame itself if there is none."""
    status = statuses.get(frame.path)
    evolution = evolutions.get(frame.path) if status is None else status.history
    known = [] if evolution is None else [h for name in frame.carried if (h := evolution.get(name)) and len(h)]
    if evolution is None or not (known or status):
        return frame
    iteration = status.iteration if status is not None else max(int(history.iterations[-1]) for history in known)
    edges = tuple(
        _live_edge(edge, evolution.get(edge.param), None if status is None else status.carried[k])
        for k, edge in enumerate(frame.back_edges)
    )
    sides = {} if evolution.sides is None else {h.name: np.float64(h.values[-1]) for h in evolution.sides if len(h)}
    return replace(
        frame,
        entry=frame.entry if status is None else status.entry,
        iteration=iteration,
        trip_count=frame.trip_count if status is None else status.trip_count,
        condition=None if frame.condition is None else True,
        stopped_by=None,
        at_boundary=True,
        back_edges=edges,
        scans=frame.scans if status is None else tuple(map(_live_scan, frame.scans, status.scans)),
        values=sides,
        read_history=lambda: evolution,
    )


def _live_rows(rows: BranchRows, live: FrameState) -> BranchRows:
    """The rows of the branches in the entry of a frame, with its latest state in that of the current branch."""
    last, odd = live.iteration, non_finite_iterations(live)
    updated = [
        replace(row, last=max(row.last, last), non_finite=row.non_finite | odd, end_text="") if row.current else row
        for row in rows.rows
    ]
    return BranchRows(tuple(updated), last)


def _live_scan(scan: ScanState, live: LiveScanOutput) -> ScanState:
    if not live.count:
        return replace(scan, count=0, tail=(), full_value=None)
    tail = () if live.newest is None else (live.newest,)
    return replace(
        scan, count=live.count, shape=live.shape, dtype=live.dtype, tail=tail, full_value=None, sample=live.sample
    )


def _live_edge(edge: CarriedValue, history: ValueHistory | None, live: LiveCarriedValue | None) -> CarriedValue:
    if live is not None and live.value is not None:
        return replace(edge, previous=live.previous, value=live.value, ready=True)
    numbers = [] if history is None else [_live_number(edge, history, k, live) for k in range(-min(2, len(history)), 0)]
    if not numbers:
        return replace(edge, previous=None, value=None, ready=False)
    # A bucket has only its last value.
    only_last = len(numbers) < 2 or (history is not None and history.bucket > 1)
    return replace(edge, previous=None if only_last else numbers[0], value=numbers[-1], ready=True)


def _live_number(edge: CarriedValue, history: ValueHistory, k: int, live: LiveCarriedValue | None) -> Any:
    """An entry of a float64 history, converted to the value's dtype and shape at the stop."""
    known = edge.value if edge.value is not None else edge.previous
    if isinstance(known, np.ndarray | np.generic | TensorRef) and known.size == 1 and known.dtype.kind != "O":
        if not is_exact(history.values[k], known.dtype.name):
            return None
        # Values in a history are finite.
        return np.full(known.shape, history.values[k], known.dtype)
    declared = live or known
    if history.min is None or history.max is None or declared is None:
        return np.float64(history.values[k])
    ends = float(history.min.last[k]), float(history.max.last[k])
    return LiveTensorSummary(str(declared.dtype), tuple(declared.shape), float(history.values[k]), *ends)
