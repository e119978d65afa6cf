"""Cases on this machine: in this process, or in others that are replaced when they die or hang."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...runtime.model import Model
from .cases import CaseSet
from .executor import Executor, failed
from .job import Job
from .row import Cells, Status
from .schedule import Schedule, Task
from .worker import Worker, WorkerError

#: Seconds between two looks whether a process hangs.
_GLANCE = 0.1
#: How often a case may end a process.
MOST_TRIES = 2


class Batch(NamedTuple):
    """Rows of some cases of one job."""

    job: int
    cases: int
    rows: list[Cells]


def here(jobs: Sequence[Job], schedule: Schedule, models: Mapping[int, Model]) -> Iterator[Batch]:
    """Run all in this process: nothing ends what hangs in an operator. ``models``: those that are open already."""
    executor: Executor | None = None
    number = -1
    try:
        while (task := schedule.next()) is not None:
            if executor is None or task.job != number:
                if executor is not None:
                    executor.close()
                number, executor = task.job, Executor(jobs[task.job], models.get(task.job))
            start = time.perf_counter()
            rows: list[Cells] = []
            for one in executor.run(range(task.start, task.stop), _nobody):
                rows += one
            schedule.took(task, time.perf_counter() - start)
            yield Batch(task.job, len(task), rows)
    finally:
        if executor is not None:
            executor.close()


def _nobody(_: int) -> None:
    """Where no other process asks which case runs."""


class Crew:
    """Processes that run what a schedule has. They stay when it is done, for the next one."""

    def __init__(self, jobs: Mapping[int, Job], count: int) -> None:
        self._jobs = jobs
        self._workers = [Worker(jobs) for _ in range(count)]
        #: How often a process died while it opened the model of a job.
        self._unopened: dict[int, int] = {}

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.close()

    def run(self, schedule: Schedule, part: CaseSet | None = None) -> Iterator[Batch]:
        """Rows as they come; of what kept a process from going on, too. ``part``: has the cases, if the job's set does
        not.

        Raises:
            WorkerError: a process cannot start.
        """
        heard: list[Batch] = []
        try:
            while True:
                for worker in self._workers:
                    if worker.task is None and (task := schedule.next()) is not None:
                        worker.give(task, part)
                # Whoever takes the rows may take his time: the processes have their next tasks.
                yield from heard
                busy = [worker for worker in self._workers if worker.task is not None]
                if not busy:
                    return
                ready, _, _ = select.select(busy, [], [], _GLANCE)
                heard = [batch for worker in ready for batch in self._heard(worker, schedule)]
                for worker in busy:
                    if worker.task is not None and worker.hangs(self._jobs[worker.task.job].wanted.timeout):
                        heard += self._hanging(worker, schedule)
        finally:
            # Whoever reads no further leaves processes that are in the middle of something.
            for worker in self._workers:
                if worker.task is not None:
                    worker.end()
                    worker.task = None

    def _heard(self, worker: Worker, schedule: Schedule) -> Iterator[Batch]:
        """Take what a process says, or what it leaves behind."""
        answers, there = worker.answers()
        for what, count, given in answers:
            task = worker.task
            if what == "failed":
                raise WorkerError(f"a process of the sweep failed: {given}")
            worker.ready = True
            if task is None or what == "ready":
                continue
            worker.done += count
            if what == "done":
                schedule.took(task, time.monotonic() - worker.began)
                worker.task = None
            yield Batch(task.job, count, given)
        if not there:
            yield from self._dead(worker, schedule)

    def _dead(self, worker: Worker, schedule: Schedule) -> Iterator[Batch]:
        task, at = worker.task, worker.at if worker.task is not None else None
        how = worker.end()
        if not worker.ready:
            raise WorkerError(f"a process of the sweep does not start: {worker.said or how}")
        if task is None:
            return
        if at is None:
            yield from self._not_opened(worker, schedule, how)
            return
        worker.task = None
        tries = 1 + (task.tries if at == task.start else 0)
        if tries >= MOST_TRIES:
            yield self._lost(task.job, at, Status.KILLED, f"the process that ran it ended twice: {how}")
        else:
            schedule.again(Task(task.job, at, at + 1, tries))
        self._rest(worker, task, at, schedule)

    def _hanging(self, worker: Worker, schedule: Schedule) -> Iterator[Batch]:
        task, at = worker.task, worker.at
        assert task is not None
        worker.end()
        if at is None:
            yield from self._not_opened(worker, schedule, "it does not come back")
            return
        worker.task = None
        timeout = self._jobs[task.job].wanted.timeout
        message = f"no end within {timeout:g} s, in an operator or outside of any loop"
        yield self._lost(task.job, at, Status.TIMEOUT, message)
        self._rest(worker, task, at, schedule)

    def _rest(self, worker: Worker, task: Task, at: int, schedule: Schedule) -> None:
        """What was run before the case, and has not come back, and what comes after it."""
        schedule.again(Task(task.job, task.start + worker.done, at))
        schedule.again(Task(task.job, at + 1, task.stop))

    def _not_opened(self, worker: Worker, schedule: Schedule, how: str) -> Iterator[Batch]:
        task, worker.task = worker.task, None
        assert task is not None
        self._unopened[task.job] = self._unopened.get(task.job, 0) + 1
        if self._unopened[task.job] < MOST_TRIES:
            schedule.again(task)
            return
        said = worker.said
        message = f"the process that opened the model ended: {how}" + (f": {said}" if said else "")
        for start, stop in [(task.start + worker.done, task.stop), *schedule.drop(task.job)]:
            for number in range(start, stop):
                yield self._lost(task.job, number, Status.KILLED, message)

    def _lost(self, job: int, number: int, status: Status, message: str) -> Batch:
        return Batch(job, 1, failed(self._jobs[job], number, status, message))
