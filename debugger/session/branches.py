"""A branch of the timeline: its checkpoints and its fork from the parent branch."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...runtime.engine.history.checkpoints import Checkpoint
from ...runtime.graph import Value
from .positions import Position


@dataclass(repr=False)
class Branch:
    """One branch of the timeline. ``fork``: the position where it left ``parent``; the root has neither.

    ``edits``: the edits at its fork as text of the ``set`` command; ``edit_records``: the same as records. ``tip``: the
    last position reached on it. ``checkpoints``: ordered by position; ``checkpoint_seconds``: execution time at each.
    ``undo_checkpoints``: the states at the fork after each edit but the last, for undo.
    """

    number: int
    parent: Branch | None = None
    fork: Position | None = None
    edits: list[str] = field(default_factory=list)
    tip: Position = ()
    checkpoints: list[Checkpoint] = field(default_factory=list)
    checkpoint_seconds: list[float] = field(default_factory=list)
    edit_records: list[EditRecord] = field(default_factory=list)
    undo_checkpoints: list[Checkpoint] = field(default_factory=list)

    def __repr__(self) -> str:
        origin = "" if self.parent is None else f" from {self.parent.number}: {', '.join(self.edits)}"
        return f"<Branch {self.number}{origin}>"

    def latest_checkpoint(self, position: Position, *, before: bool = False) -> Checkpoint | None:
        """The last checkpoint of this branch at or before a position; ``before``: strictly before."""
        bisection = bisect.bisect_left if before else bisect.bisect_right
        index = bisection(self.checkpoints, position, key=lambda c: c.position)
        return self.checkpoints[index - 1] if index else None

    def contains(self, position: Position) -> bool:
        """False if a position is before the fork, hence on the parent branch."""
        return self.fork is None or position >= self.fork

    def add_checkpoint(self, checkpoint: Checkpoint, seconds: float) -> bool:
        """Store a checkpoint with its execution time; False if there is one at its position."""
        index = bisect.bisect_left(self.checkpoints, checkpoint.position, key=lambda c: c.position)
        if index < len(self.checkpoints) and self.checkpoints[index].position == checkpoint.position:
            return False
        self.checkpoints.insert(index, checkpoint)
        self.checkpoint_seconds.insert(index, seconds)
        return True

    def append_edit(self, text: str) -> None:
        """Add an edit at the fork; the state before it is kept for undo."""
        self.edits.append(text)
        self.undo_checkpoints += self.checkpoints
        self.checkpoints.clear()
        self.checkpoint_seconds.clear()

    def without_last_edit(self, number: int) -> Branch:
        """A branch with all edits of this one but the last; there must be several."""
        count = len(self.edits) - 1
        branch = Branch(number, self.parent, self.fork, self.edits[:count], self.fork or ())
        branch.edit_records, branch.undo_checkpoints = self.edit_records[:count], self.undo_checkpoints[:-1]
        branch.add_checkpoint(self.undo_checkpoints[-1], 0.0)
        return branch

    def ancestry(self) -> list[Branch]:
        """This branch and its ancestors, the root last."""
        return [self] if self.parent is None else [self, *self.parent.ancestry()]


def drop_checkpoint(branches: Sequence[Branch], now: float) -> int | None:
    """Drop the checkpoint whose gap is smallest for its age; returns its bytes, or None if none can be dropped: the
    first checkpoint of each branch is needed to compute all positions before the second."""
    worst: tuple[float, Branch, int] | None = None
    for branch in branches:
        times = branch.checkpoint_seconds
        for k in range(1, len(times)):
            next_time = times[k + 1] if k + 1 < len(times) else now
            gap = (next_time - times[k - 1]) / max(now - times[k], 1e-3)
            if worst is None or gap < worst[0]:
                worst = (gap, branch, k)
    if worst is None:
        return None
    _, branch, k = worst
    branch.checkpoint_seconds.pop(k)
    return branch.checkpoints.pop(k).nbytes


@dataclass(frozen=True)
class EditRecord:
    """``kind``: ``value``, ``variable``, ``condition`` or ``trip count``; ``value``: for the first; ``loop``: loop
    index for the last two; ``new_value``: the complete new value; ``position``: of the edit; ``text``: its
    description."""

    kind: str
    new_value: Any
    position: Position
    text: str
    value: Value | None = None
    loop: int = -1
