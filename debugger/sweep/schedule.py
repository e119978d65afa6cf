"""Which cases are run next: ranges of about a second of work, grown and shrunk by what is measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Work in one task, in seconds.
SECONDS = 1.0
#: Cases in a first task, the most in any, and how much larger a task may be than the one before.
FIRST, MOST, GROWTH = 8, 100_000, 8

Interval = tuple[int, int]


@dataclass(frozen=True)
class Task:
    """Some cases of a job. ``tries``: how often the first of them has ended a process already."""

    job: int
    start: int
    stop: int
    tries: int = 0

    def __len__(self) -> int:
        return self.stop - self.start


class Schedule:
    """What is left, by job; ``workers``: how many run at a time. ``whole``: nothing is cut."""

    def __init__(
        self, left: Sequence[Iterable[Interval]], workers: int, seconds: float = SECONDS, whole: bool = False
    ) -> None:
        self._left = [deque(intervals) for intervals in left]
        self._again: deque[Task] = deque()
        self._workers = workers
        self._seconds = seconds
        self._whole = whole
        #: By job: the cases of the next task, None before the first, and how many cases are not given out.
        self._sizes: list[int] = [FIRST] * len(self._left)
        self._cases = [sum(stop - start for start, stop in intervals) for intervals in self._left]

    def __bool__(self) -> bool:
        return bool(self._again) or any(self._left)

    def next(self) -> Task | None:
        """The next task; None: nothing is left."""
        if self._again:
            return self._again.popleft()
        for job, intervals in enumerate(self._left):
            if intervals:
                return self._cut(job, intervals)
        return None

    def _cut(self, job: int, intervals: deque[Interval]) -> Task:
        start, stop = intervals.popleft()
        # The last tasks are small, so that all workers end together.
        share = -(-self._cases[job] // (2 * self._workers))
        end = stop if self._whole else min(stop, start + max(1, min(self._sizes[job], share)))
        if end < stop:
            intervals.appendleft((end, stop))
        self._cases[job] -= end - start
        return Task(job, start, end)

    def took(self, task: Task, seconds: float) -> None:
        """So long a task took."""
        size = self._sizes[task.job]
        fitting = int(len(task) * self._seconds / max(seconds, 1e-6))
        self._sizes[task.job] = max(1, min(fitting, size * GROWTH, MOST))

    def again(self, task: Task) -> None:
        """Run a task soon, since what it gave was lost."""
        if len(task):
            self._again.append(task)

    def drop(self, job: int) -> list[Interval]:
        """Give up what is left of a job; returns it."""
        dropped = [*self._left[job], *((task.start, task.stop) for task in self._again if task.job == job)]
        self._left[job].clear()
        self._again = deque(task for task in self._again if task.job != job)
        return dropped


def gaps(done: Iterable[int], count: int) -> list[Interval]:
    """What is missing of the numbers below ``count``; ``done`` in order."""
    found = []
    next_ = 0
    for number in done:
        if number > next_:
            found.append((next_, min(number, count)))
        next_ = max(next_, number + 1)
    if next_ < count:
        found.append((next_, count))
    return found
