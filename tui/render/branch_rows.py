"""Lines of time as a loop's iterations: how far each branch came in the selected entry, and what was where.

What a session does not keep (where breakpoints stopped, how a branch left a loop) is kept here from stop to stop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ...debugger.describe.termination import stop_cause
from ...debugger.session.session_base import SessionBase
from ...debugger.session.snapshot import BranchSnapshot, FrameSnapshot, Snapshot

Position = tuple[int, ...]
#: An entry of a loop: its path, and the iterations of the loops around it.
Entry = tuple[str, tuple[int, ...]]
#: Values up to so many elements are searched for NaN and Inf.
_SEARCHED_ELEMENTS_MAX = 1 << 16
_EDIT_PATTERN = re.compile(r"(`(?:[^`\\]|\\.)*`|[^\s\[=`]+)\s*(?:\[.*?\])?\s*=")


@dataclass(frozen=True)
class BranchRow:
    """One branch in an entry of a loop. ``first``, ``last``: the iterations from its beginning to as far as it came;
    ``edits``: what was set where it began, empty where that was elsewhere; ``ended``: how it left the loop, if it did.
    """

    number: int
    parent: int | None
    current: bool
    first: int
    last: int
    edits: tuple[str, ...] = ()
    end_text: str = ""
    hits: frozenset[int] = frozenset()
    #: Where something that is carried was not finite.
    non_finite: frozenset[int] = frozenset()


@dataclass(frozen=True)
class BranchRows:
    """The branches of an entry, the first run first, and the iteration that it stands at."""

    rows: tuple[BranchRow, ...] = ()
    iteration: int = 0


@dataclass
class _BranchRecord:
    """What was recorded of one branch in one entry."""

    last: int = 0
    end_text: str = ""
    hits: set[int] = field(default_factory=set)
    non_finite: set[int] = field(default_factory=set)


class BranchHistory:
    """What stops told of each branch, by number, in each entry of a loop."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, Entry], _BranchRecord] = {}

    def clear(self) -> None:
        """Forget everything: the model starts anew."""
        self._records.clear()

    def record_stop(self, snapshot: Snapshot) -> None:
        """Learn from a stop, and from what is known there of the iterations before it."""
        branch = _current_branch(snapshot)
        frames = (*snapshot.frames, snapshot.frame)
        for frame in frames:
            if frame.loop is None:
                continue
            known = self._records.setdefault((branch, (frame.path, frame.entry)), _BranchRecord())
            known.last = max(known.last, frame.iteration)
            if frame.stopped_by is not None:
                known.end_text = f"ended after {frame.iteration} ({stop_cause(frame.stopped_by)})"
                known.last = frame.iteration
            if snapshot.stop.breakpoints and frame is snapshot.frames[-1]:
                known.hits.add(frame.iteration)
            known.non_finite.update(non_finite_iterations(frame))

    def record_for(self, branch: int, entry: Entry) -> _BranchRecord:
        """What is known of a branch in an entry."""
        return self._records.get((branch, entry), _BranchRecord())


def branch_rows_of(session: SessionBase, snapshot: Snapshot, frame: FrameSnapshot, seen: BranchHistory) -> BranchRows:
    """The branches in the entry of a frame's loop."""
    if frame.loop is None:
        return BranchRows()
    entry = frame.path, frame.entry
    if not snapshot.branches:
        known = seen.record_for(1, entry)
        span = BranchRow(1, None, True, 0, max(known.last, frame.iteration), (), known.end_text, *_frozen_marks(known))
        return BranchRows((span,), frame.iteration)
    around = snapshot.position[: 2 * len(frame.entry)]
    enter = session.model.plan.loops[frame.index].enter
    found = (_branch_row(branch, around, enter, seen.record_for(branch.number, entry)) for branch in snapshot.branches)
    return BranchRows(tuple(one for one in found if one is not None), frame.iteration)


def _branch_row(branch: BranchSnapshot, around: Position, enter: int, known: _BranchRecord) -> BranchRow | None:
    """A branch in an entry; None where it never came there."""
    fork, tip = branch.fork, branch.tip
    begins = _iteration_in_entry(fork, around, enter) if fork is not None else 0
    ends = _iteration_in_entry(tip, around, enter)
    if tip and _compare_to_entry(tip, around, enter) < 0 and not branch.current:
        return None
    if fork is not None and _compare_to_entry(fork, around, enter) > 0:
        return None
    last = max(ends, known.last, begins)
    own = branch.edits if fork is not None and _compare_to_entry(fork, around, enter) == 0 else ()
    return BranchRow(
        branch.number, branch.parent, branch.current, begins, last, own, known.end_text, *_frozen_marks(known)
    )


def _frozen_marks(known: _BranchRecord) -> tuple[frozenset[int], frozenset[int]]:
    return frozenset(known.hits), frozenset(known.non_finite)


def _compare_to_entry(position: Position, around: Position, enter: int) -> int:
    """Where a position lies: before an entry (-1), in it, or behind it."""
    start = (*around, enter)
    here = position[: len(start)]
    if here == start and len(position) > len(start):
        return 0
    return -1 if here <= start else 1


def _iteration_in_entry(position: Position, around: Position, enter: int) -> int:
    """The iteration of an entry that a position lies in; 0 where it lies elsewhere."""
    return position[len(around) + 1] if _compare_to_entry(position, around, enter) == 0 else 0


def _current_branch(snapshot: Snapshot) -> int:
    return next((one.number for one in snapshot.branches if one.current), 1)


def non_finite_iterations(frame: FrameSnapshot) -> set[int]:
    """The iterations that got something that is not finite, as far as histories tell; of a bucket its first one."""
    found: set[int] = set()
    carried = frame.carried
    for name, value in carried.items():
        history = frame.history.get(name)
        if history is not None:
            found.update(history.iterations[history.value.odd > 0].tolist())
        if history is None and _is_non_finite(value):
            found.add(frame.iteration)
    return found


def _is_non_finite(value: object) -> bool:
    """Of values that have no history, or one of some of their elements."""
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind != "f" or value.size > _SEARCHED_ELEMENTS_MAX:
        return False
    return not np.isfinite(value).all()


def edited_names(snapshot: Snapshot, frame: FrameSnapshot) -> frozenset[str]:
    """The values of a frame that were set by hand and are what they were set to: those that an iteration computes in
    that iteration, others from there on."""
    here = snapshot.position
    names: set[str] = set()
    by_number = {one.number: one for one in snapshot.branches}
    one = next((one for one in snapshot.branches if one.current), None)
    computed = {edge.param for edge in frame.back_edges} | {name for node in frame.nodes for name in node.outputs}
    while one is not None and one.fork is not None:
        if one.fork <= here:
            same = one.fork[:-1] == here[:-1]
            set_here = {_edited_name(edit) for edit in one.edits}
            names |= {name for name in set_here if same or name not in computed}
        one = by_number.get(one.parent) if one.parent is not None else None
    return frozenset(names)


def _edited_name(edit: str) -> str:
    found = _EDIT_PATTERN.match(edit)
    return found[1].strip("`") if found else edit
