"""One line of time: its checkpoints, and where it left the line that it came from."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...runtime.engine.history.checkpoints import Checkpoint
from .edit_record import EditRecord
from .positions import Position


@dataclass(repr=False)
class Branch:
    """One line of time. ``fork``: where it left ``parent``; the root has neither.

    ``edits``: what was changed at its fork, in the words of the ``set`` command; ``changes``: the same, for what writes
    it into a file. ``tip``: the last position that was
    reached on it. ``checkpoints`` stand in order of their positions; ``times``: seconds of execution at which each was
    taken. ``steps``: the states at the fork after each edit but the last, which undoing goes to.
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
        began = "" if self.parent is None else f" from {self.parent.number}: {', '.join(self.edits)}"
        return f"<Branch {self.number}{began}>"

    def latest_checkpoint(self, position: Position, *, before: bool = False) -> Checkpoint | None:
        """The last checkpoint of this branch at a position or earlier; ``before``: earlier."""
        find = bisect.bisect_left if before else bisect.bisect_right
        k = find(self.checkpoints, position, key=lambda c: c.position)
        return self.checkpoints[k - 1] if k else None

    def contains(self, position: Position) -> bool:
        """False where a position lies before the fork, and so on the branch that this one left."""
        return self.fork is None or position >= self.fork

    def add_checkpoint(self, checkpoint: Checkpoint, seconds: float) -> bool:
        """Keep a checkpoint, taken after so many seconds of execution; False where there is one at its position."""
        k = bisect.bisect_left(self.checkpoints, checkpoint.position, key=lambda c: c.position)
        if k < len(self.checkpoints) and self.checkpoints[k].position == checkpoint.position:
            return False
        self.checkpoints.insert(k, checkpoint)
        self.checkpoint_seconds.insert(k, seconds)
        return True

    def append_edit(self, told: str) -> None:
        """A further edit at the fork; the state before it is kept for undoing."""
        self.edits.append(told)
        self.undo_checkpoints += self.checkpoints
        self.checkpoints.clear()
        self.checkpoint_seconds.clear()

    def without_last_edit(self, number: int) -> Branch:
        """A branch with all edits of this one but the last, of which there are several."""
        edits = len(self.edits) - 1
        made = Branch(number, self.parent, self.fork, self.edits[:edits], self.fork or ())
        made.edit_records, made.undo_checkpoints = self.edit_records[:edits], self.undo_checkpoints[:-1]
        made.add_checkpoint(self.undo_checkpoints[-1], 0.0)
        return made

    def ancestry(self) -> list[Branch]:
        """This branch and those that it came from, the root last."""
        return [self] if self.parent is None else [self, *self.parent.ancestry()]


def drop_checkpoint(branches: Sequence[Branch], now: float) -> int | None:
    """Drop the checkpoint whose gap is smallest for its age; returns its bytes, None where none may go: the first of
    each branch is what everything before the second is computed from."""
    worst: tuple[float, Branch, int] | None = None
    for branch in branches:
        times = branch.checkpoint_seconds
        for k in range(1, len(times)):
            after = times[k + 1] if k + 1 < len(times) else now
            gap = (after - times[k - 1]) / max(now - times[k], 1e-3)
            if worst is None or gap < worst[0]:
                worst = (gap, branch, k)
    if worst is None:
        return None
    _, branch, k = worst
    branch.checkpoint_seconds.pop(k)
    return branch.checkpoints.pop(k).nbytes
