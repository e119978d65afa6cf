"""Schedule of cases: ranges of about a second of work, resized by measured durations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Work in one task, in seconds.
TASK_SECONDS = 1.0
#: Cases in the first task, the maximum of any task, and the maximum growth from one task to the next.
FIRST_TASK_CASES, MAX_TASK_CASES, TASK_GROWTH_FACTOR = 8, 100_000, 8

Interval = tuple[int, int]


@dataclass(frozen=True)
class SweepTask:
    """Consecutive cases of a job. ``tries``: how often the first of them has ended a process."""

    job: int
    start: int
    stop: int
    tries: int = 0

    def __len__(self) -> int:
        return self.stop - self.start


class SweepSchedule:
    """The remaining cases, by job; ``workers``: number of parallel workers. ``whole``: ranges are not split."""

    def __init__(self, remaining: Sequence[Iterable[Interval]], workers: int, whole: bool = False) -> None:
        self._remaining = [deque(intervals) for intervals in remaining]
        self._retries: deque[SweepTask] = deque()
        self._workers = workers
        self._unsplit = whole
        #: By job: the number of cases of the next task, None before the first, and of cases not in a task yet.
        self._task_sizes: list[int] = [FIRST_TASK_CASES] * len(self._remaining)
        self._remaining_cases = [sum(stop - start for start, stop in intervals) for intervals in self._remaining]

    def __bool__(self) -> bool:
        return bool(self._retries) or any(self._remaining)

    def next_task(self) -> SweepTask | None:
        """Return the next task; None: no cases remain."""
        if self._retries:
            return self._retries.popleft()
        for job, intervals in enumerate(self._remaining):
            if intervals:
                return self._split_task(job, intervals)
        return None

    def _split_task(self, job: int, intervals: deque[Interval]) -> SweepTask:
        start, stop = intervals.popleft()
        # The last tasks are small, so that all workers end together.
        share = -(-self._remaining_cases[job] // (2 * self._workers))
        end = stop if self._unsplit else min(stop, start + max(1, min(self._task_sizes[job], share)))
        if end < stop:
            intervals.appendleft((end, stop))
        self._remaining_cases[job] -= end - start
        return SweepTask(job, start, end)

    def record_duration(self, task: SweepTask, seconds: float) -> None:
        """Record the duration of a task."""
        size = self._task_sizes[task.job]
        fitting = int(len(task) * TASK_SECONDS / max(seconds, 1e-6))
        self._task_sizes[task.job] = max(1, min(fitting, size * TASK_GROWTH_FACTOR, MAX_TASK_CASES))

    def retry(self, task: SweepTask) -> None:
        """Run a task again soon, since its result was lost."""
        if len(task):
            self._retries.append(task)

    def drop_job(self, job: int) -> list[Interval]:
        """Drop the remaining cases of a job and return them."""
        dropped = [*self._remaining[job], *((task.start, task.stop) for task in self._retries if task.job == job)]
        self._remaining[job].clear()
        self._retries = deque(task for task in self._retries if task.job != job)
        return dropped


def missing_intervals(done: Iterable[int], count: int) -> list[Interval]:
    """Return the ranges of numbers below ``count`` that are missing in ``done``, which is sorted."""
    intervals = []
    expected = 0
    for number in done:
        if number > expected:
            intervals.append((expected, min(number, count)))
        expected = max(expected, number + 1)
    if expected < count:
        intervals.append((expected, count))
    return intervals
