"""Timeline rows: the iterations, breakpoint hits and non-finite values of each branch in the selected loop entry.

Records from stop to stop what a session does not keep: breakpoint hits, and how a branch left a loop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ...debugger.describe.termination import loop_end_cause
from ...debugger.frame_state import FrameState
from ...debugger.session.stop_state import BranchState, StopState

Position = tuple[int, ...]
#: An entry of a loop: its path, and the iterations of the enclosing loops.
Entry = tuple[str, tuple[int, ...]]
#: Only values up to this size are searched for NaN and Inf.
_SEARCHED_ELEMENTS_MAX = 1 << 16
_EDIT_PATTERN = re.compile(r"(`(?:[^`\\]|\\.)*`|[^\s\[=`]+)\s*(?:\[.*?\])?\s*=")


@dataclass(frozen=True)
class BranchRow:
    """One branch in an entry of a loop. ``first``, ``last``: its range of iterations; ``edits``: the edits that
    created it, empty if it forked outside this entry; ``end_text``: how it left the loop, if it did.
    """

    number: int
    parent: int | None
    current: bool
    first: int
    last: int
    edits: tuple[str, ...] = ()
    end_text: str = ""
    hits: frozenset[int] = frozenset()
    #: Iterations with a non-finite carried value.
    non_finite: frozenset[int] = frozenset()


@dataclass(frozen=True)
class BranchRows:
    """The branches of an entry, the first run first, and the current iteration."""

    rows: tuple[BranchRow, ...] = ()
    iteration: int = 0


@dataclass
class _BranchRecord:
    """Recorded events of one branch in one entry."""

    last: int = 0
    end_text: str = ""
    hits: set[int] = field(default_factory=set)
    non_finite: set[int] = field(default_factory=set)


class BranchHistory:
    """Events seen at stops, by branch number and loop entry."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, Entry], _BranchRecord] = {}

    def clear(self) -> None:
        """Forget everything; the model restarts."""
        self._records.clear()

    def record_stop(self, stop_state: StopState) -> None:
        """Record a stop and the histories of the iterations before it."""
        branch = _current_branch(stop_state)
        frames = (*stop_state.frames, stop_state.frame)
        for frame in frames:
            if frame.loop is None:
                continue
            known = self._records.setdefault((branch, (frame.path, frame.entry)), _BranchRecord())
            known.last = max(known.last, frame.iteration)
            if frame.stopped_by is not None:
                known.end_text = f"ended after {frame.iteration} ({loop_end_cause(frame.stopped_by)})"
                known.last = frame.iteration
            if stop_state.stop.breakpoints and frame is stop_state.frames[-1]:
                known.hits.add(frame.iteration)
            known.non_finite.update(non_finite_iterations(frame))

    def record_for(self, branch: int, entry: Entry) -> _BranchRecord:
        """The record of a branch in an entry, empty if there is none."""
        return self._records.get((branch, entry), _BranchRecord())


def branch_rows_of(stop_state: StopState, frame: FrameState, past: BranchHistory) -> BranchRows:
    """The branches in the entry of a frame's loop."""
    if frame.loop is None:
        return BranchRows()
    entry = frame.path, frame.entry
    if not stop_state.branches:
        record = past.record_for(1, entry)
        row = BranchRow(
            1, None, True, 0, max(record.last, frame.iteration), (), record.end_text, *_frozen_marks(record)
        )
        return BranchRows((row,), frame.iteration)
    outer = stop_state.position[: 2 * len(frame.entry)]
    # A position has the positions of the nodes that are loops.
    enclosing = stop_state.frames[len(frame.entry)]
    enter = next(entry.position for entry in enclosing.nodes if entry.node is frame.loop)
    rows = (_branch_row(branch, outer, enter, past.record_for(branch.number, entry)) for branch in stop_state.branches)
    return BranchRows(tuple(row for row in rows if row is not None), frame.iteration)


def _branch_row(branch: BranchState, outer: Position, enter: int, record: _BranchRecord) -> BranchRow | None:
    """A branch in an entry; None if it never reached the entry."""
    fork, tip = branch.fork, branch.tip
    first = _iteration_in_entry(fork, outer, enter) if fork is not None else 0
    end = _iteration_in_entry(tip, outer, enter)
    if tip and _compare_to_entry(tip, outer, enter) < 0 and not branch.current:
        return None
    if fork is not None and _compare_to_entry(fork, outer, enter) > 0:
        return None
    last = max(end, record.last, first)
    edits = branch.edits if fork is not None and _compare_to_entry(fork, outer, enter) == 0 else ()
    return BranchRow(
        branch.number, branch.parent, branch.current, first, last, edits, record.end_text, *_frozen_marks(record)
    )


def _frozen_marks(record: _BranchRecord) -> tuple[frozenset[int], frozenset[int]]:
    return frozenset(record.hits), frozenset(record.non_finite)


def _compare_to_entry(position: Position, outer: Position, enter: int) -> int:
    """Compare a position with an entry: before it (-1), inside (0) or after it (1)."""
    start = (*outer, enter)
    prefix = position[: len(start)]
    if prefix == start and len(position) > len(start):
        return 0
    return -1 if prefix <= start else 1


def _iteration_in_entry(position: Position, outer: Position, enter: int) -> int:
    """The iteration of a position in an entry; 0 if the position is outside."""
    return position[len(outer) + 1] if _compare_to_entry(position, outer, enter) == 0 else 0


def _current_branch(stop_state: StopState) -> int:
    return next((branch.number for branch in stop_state.branches if branch.current), 1)


def non_finite_iterations(frame: FrameState) -> set[int]:
    """Iterations with a non-finite carried value, from the histories; the first iteration of each bucket."""
    iterations: set[int] = set()
    carried = frame.carried
    for name, value in carried.items():
        history = frame.history.get(name)
        if history is not None:
            iterations.update(history.iterations[history.value.odd > 0].tolist())
        if history is None and _is_non_finite(value):
            iterations.add(frame.iteration)
    return iterations


def _is_non_finite(value: object) -> bool:
    """For values without a history."""
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind != "f" or value.size > _SEARCHED_ELEMENTS_MAX:
        return False
    return not np.isfinite(value).all()


def edited_names(stop_state: StopState, frame: FrameState) -> frozenset[str]:
    """Names of the frame's values that still have an edited value: computed ones in the edited iteration only, others
    from there on."""
    position = stop_state.position
    names: set[str] = set()
    by_number = {branch.number: branch for branch in stop_state.branches}
    branch = next((branch for branch in stop_state.branches if branch.current), None)
    computed = {edge.param for edge in frame.back_edges} | frame.computed_names
    while branch is not None and branch.fork is not None:
        if branch.fork <= position:
            same = branch.fork[:-1] == position[:-1]
            edits = {_edited_name(edit) for edit in branch.edits}
            names |= {name for name in edits if same or name not in computed}
        branch = by_number.get(branch.parent) if branch.parent is not None else None
    return frozenset(names)


def _edited_name(edit: str) -> str:
    match = _EDIT_PATTERN.match(edit)
    return match[1].strip("`") if match else edit
