"""The lines of time of a session: checkpoints, and the branches that edits began.

A branch begins where something was edited; what lies before its fork belongs to the branch that it left. Checkpoints
are dense where execution was lately and thin out with age, so that their memory stays within a limit.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...runtime.engine.checkpoints import Checkpoint
from ...runtime.errors import UsageError
from .travel import Position

#: Bytes that the checkpoints of all branches may hold together.
DEFAULT_LIMIT = 512 << 20


@dataclass(repr=False)
class Branch:
    """One line of time. ``fork``: where it left ``parent``; the root has neither.

    ``edits``: what was changed at its fork, in the words of the ``set`` command. ``tip``: the last position that was
    reached on it. ``checkpoints`` stand in order of their positions; ``times``: seconds of execution at which each was
    taken.
    """

    number: int
    parent: Branch | None = None
    fork: Position | None = None
    edits: list[str] = field(default_factory=list)
    tip: Position = ()
    checkpoints: list[Checkpoint] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def __repr__(self) -> str:
        began = "" if self.parent is None else f" from {self.parent.number}: {', '.join(self.edits)}"
        return f"<Branch {self.number}{began}>"

    def latest(self, position: Position, *, before: bool = False) -> Checkpoint | None:
        """The last checkpoint of this branch at a position or earlier; ``before``: earlier."""
        find = bisect.bisect_left if before else bisect.bisect_right
        k = find(self.checkpoints, position, key=lambda c: c.position)
        return self.checkpoints[k - 1] if k else None

    def holds(self, position: Position) -> bool:
        """False where a position lies before the fork, and so on the branch that this one left."""
        return self.fork is None or position >= self.fork

    @property
    def nbytes(self) -> int:
        """Bytes that its checkpoints hold."""
        return sum(c.nbytes for c in self.checkpoints)


class Timeline:
    """All branches of a session, and the one that it is on."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.branches: list[Branch] = []
        self.clear()

    def clear(self) -> None:
        """Forget everything; what follows is a root branch."""
        self.branches = [Branch(1)]
        self.current = self.branches[0]
        self._nbytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes that all checkpoints hold."""
        return self._nbytes

    def __len__(self) -> int:
        return sum(len(branch.checkpoints) for branch in self.branches)

    def add(self, checkpoint: Checkpoint, seconds: float) -> None:
        """Keep a checkpoint of the current branch, taken after so many seconds of execution."""
        branch = self.current
        k = bisect.bisect_left(branch.checkpoints, checkpoint.position, key=lambda c: c.position)
        if k < len(branch.checkpoints) and branch.checkpoints[k].position == checkpoint.position:
            return
        branch.checkpoints.insert(k, checkpoint)
        branch.times.insert(k, seconds)
        self._nbytes += checkpoint.nbytes
        self._thin(seconds)

    def has(self, position: Position) -> bool:
        """True where a checkpoint of the current branch stands exactly there."""
        found = self.current.latest(position)
        return found is not None and found.position == position

    def numbered(self, number: int) -> Branch:
        """The branch of a number.

        Raises:
            UsageError: there is none.
        """
        for branch in self.branches:
            if branch.number == number:
                return branch
        have = ", ".join(str(branch.number) for branch in self.branches)
        raise UsageError(f"there is no branch {number}; there are {have}")

    def latest(self, position: Position, branch: Branch | None = None) -> Checkpoint | None:
        """The last checkpoint at a position or earlier on a line of time (the current one)."""
        return self.at(position, branch).latest(position)

    def segments(self, position: Position) -> Iterator[tuple[Checkpoint, Position]]:
        """The current line of time up to a position as pieces between checkpoints, the last piece first."""
        end = position
        for branch in self.line(self.at(position)):
            while (found := branch.latest(end, before=True)) is not None:
                yield found, end
                end = found.position

    def reached(self, position: Position) -> None:
        """Note how far the current branch came."""
        self.current.tip = max(self.current.tip, position)

    def set_limit(self, nbytes: int) -> None:
        """Bound the memory of checkpoints; the first of each branch always stays."""
        self.limit = nbytes
        self._thin(max((t for branch in self.branches for t in branch.times), default=0.0))

    def edited(self, checkpoint: Checkpoint, edit: str) -> Branch:
        """Begin a branch with the state after an edit, and go there; a further edit before anything ran belongs to the
        branch that the first one began."""
        branch = self.current
        if branch.fork is not None and branch.fork == branch.tip == checkpoint.position:
            branch.edits.append(edit)
            self._nbytes -= branch.nbytes
            branch.checkpoints.clear()
            branch.times.clear()
        else:
            number = max(b.number for b in self.branches) + 1
            branch = Branch(number, branch, checkpoint.position, [edit], checkpoint.position)
            self.branches.append(branch)
            self.current = branch
        self.add(checkpoint, 0.0)
        return branch

    def at(self, position: Position, branch: Branch | None = None) -> Branch:
        """The branch, from one (the current one) towards the root, that a position lies on."""
        found = branch or self.current
        while not found.holds(position) and found.parent is not None:
            found = found.parent
        return found

    def line(self, branch: Branch | None = None) -> list[Branch]:
        """A branch and those that it came from, the root last."""
        found = branch or self.current
        line = [found]
        while found.parent is not None:
            found = found.parent
            line.append(found)
        return line

    def _thin(self, now: float) -> None:
        """Drop checkpoints until they fit: first those whose gap is small for their age."""
        while self._nbytes > self.limit:
            worst: tuple[float, Branch, int] | None = None
            for branch in self.branches:
                times = branch.times
                # The first is what everything before the second is computed from.
                for k in range(1, len(times)):
                    after = times[k + 1] if k + 1 < len(times) else now
                    gap = (after - times[k - 1]) / max(now - times[k], 1e-3)
                    if worst is None or gap < worst[0]:
                        worst = (gap, branch, k)
            if worst is None:
                return
            _, branch, k = worst
            self._nbytes -= branch.checkpoints.pop(k).nbytes
            branch.times.pop(k)
