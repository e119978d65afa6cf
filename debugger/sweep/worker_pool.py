"""Cases on this machine: in this process, or in worker processes that are replaced when they die or hang."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...runtime.model import Model
from .case_executor import CaseExecutor, failed_rows
from .cases import CaseSet
from .job import SweepJob
from .row import RowCells, Status
from .schedule import SweepSchedule, SweepTask
from .worker_handle import WorkerError, WorkerProcess

#: Seconds between two checks for hanging processes.
_POLL_INTERVAL_SECONDS = 0.1
#: How often a case may end a process.
MAX_CASE_TRIES = 2


class RowBatch(NamedTuple):
    """Rows of some cases of one job."""

    job: int
    cases: int
    rows: list[RowCells]


def run_in_process(
    jobs: Sequence[SweepJob], schedule: SweepSchedule, models: Mapping[int, Model]
) -> Iterator[RowBatch]:
    """Run all cases in this process: a hanging operator is not ended. ``models``: the models that are open already."""
    executor: CaseExecutor | None = None
    number = -1
    try:
        while (task := schedule.next_task()) is not None:
            if executor is None or task.job != number:
                if executor is not None:
                    executor.close()
                number, executor = task.job, CaseExecutor(jobs[task.job], models.get(task.job))
            start = time.perf_counter()
            rows: list[RowCells] = []
            for case_rows in executor.run(range(task.start, task.stop), _ignore_case):
                rows += case_rows
            schedule.record_duration(task, time.perf_counter() - start)
            yield RowBatch(task.job, len(task), rows)
    finally:
        if executor is not None:
            executor.close()


def _ignore_case(_: int) -> None:
    """No-op: no other process observes the current case."""


class WorkerPool:
    """Processes that run the tasks of a schedule. They are kept for the next schedule."""

    def __init__(self, jobs: Mapping[int, SweepJob], count: int) -> None:
        self._jobs = jobs
        self._workers = [WorkerProcess(jobs) for _ in range(count)]
        #: How often a process died while it opened the model of a job.
        self._open_failures: dict[int, int] = {}

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.close()

    def run(self, schedule: SweepSchedule, part: CaseSet | None = None) -> Iterator[RowBatch]:
        """Yield rows as they arrive, including those of failed cases. ``part``: the cases, if the job's set has none.

        Raises:
            WorkerError: a process cannot start.
        """
        batches: list[RowBatch] = []
        try:
            while True:
                for worker in self._workers:
                    if worker.task is None and (task := schedule.next_task()) is not None:
                        worker.send_task(task, part)
                # The consumer may be slow: the processes have their next tasks.
                yield from batches
                active = [worker for worker in self._workers if worker.task is not None]
                if not active:
                    return
                ready, _, _ = select.select(active, [], [], _POLL_INTERVAL_SECONDS)
                batches = [batch for worker in ready for batch in self._receive_messages(worker, schedule)]
                for worker in active:
                    if worker.task is not None and worker.is_hanging(self._jobs[worker.task.job].spec.process_timeout):
                        batches += self._handle_hang(worker, schedule)
        finally:
            # A consumer that stops early leaves busy processes.
            for worker in self._workers:
                if worker.task is not None:
                    worker.kill()
                    worker.task = None

    def _receive_messages(self, worker: WorkerProcess, schedule: SweepSchedule) -> Iterator[RowBatch]:
        """Read the messages of a process, and handle its end."""
        answers, is_alive = worker.read_answers()
        for kind, count, payload in answers:
            task = worker.task
            if kind == "failed":
                raise WorkerError(f"a process of the sweep failed: {payload}")
            worker.ready = True
            if task is None or kind == "ready":
                continue
            worker.done_count += count
            if kind == "done":
                schedule.record_duration(task, time.monotonic() - worker.started_at)
                worker.task = None
            yield RowBatch(task.job, count, payload)
        if not is_alive:
            yield from self._handle_exit(worker, schedule)

    def _handle_exit(self, worker: WorkerProcess, schedule: SweepSchedule) -> Iterator[RowBatch]:
        task, number = worker.task, worker.current_case if worker.task is not None else None
        reason = worker.kill()
        if not worker.ready:
            raise WorkerError(f"a process of the sweep does not start: {worker.last_stderr_line or reason}")
        if task is None:
            return
        if number is None:
            yield from self._handle_open_failure(worker, schedule, reason)
            return
        worker.task = None
        tries = 1 + (task.tries if number == task.start else 0)
        if tries >= MAX_CASE_TRIES:
            yield self._failed_batch(task.job, number, Status.KILLED, f"the process that ran it ended twice: {reason}")
        else:
            schedule.retry(SweepTask(task.job, number, number + 1, tries))
        self._requeue_rest(worker, task, number, schedule)

    def _handle_hang(self, worker: WorkerProcess, schedule: SweepSchedule) -> Iterator[RowBatch]:
        task, number = worker.task, worker.current_case
        assert task is not None
        worker.kill()
        if number is None:
            yield from self._handle_open_failure(worker, schedule, "it does not come back")
            return
        worker.task = None
        spec = self._jobs[task.job].spec
        place = f"in {spec.against}, in an operator" if spec.against else "in an operator"
        message = f"no end within {spec.process_timeout:g} s, {place} or outside of any loop"
        yield self._failed_batch(task.job, number, Status.TIMEOUT, message)
        self._requeue_rest(worker, task, number, schedule)

    def _requeue_rest(self, worker: WorkerProcess, task: SweepTask, number: int, schedule: SweepSchedule) -> None:
        """Schedule the unreported cases before and after a case."""
        schedule.retry(SweepTask(task.job, task.start + worker.done_count, number))
        schedule.retry(SweepTask(task.job, number + 1, task.stop))

    def _handle_open_failure(self, worker: WorkerProcess, schedule: SweepSchedule, reason: str) -> Iterator[RowBatch]:
        task, worker.task = worker.task, None
        assert task is not None
        self._open_failures[task.job] = self._open_failures.get(task.job, 0) + 1
        if self._open_failures[task.job] < MAX_CASE_TRIES:
            schedule.retry(task)
            return
        error_line = worker.last_stderr_line
        message = f"the process that opened the model ended: {reason}" + (f": {error_line}" if error_line else "")
        for start, stop in [(task.start + worker.done_count, task.stop), *schedule.drop_job(task.job)]:
            for number in range(start, stop):
                yield self._failed_batch(task.job, number, Status.KILLED, message)

    def _failed_batch(self, job: int, number: int, status: Status, message: str) -> RowBatch:
        return RowBatch(job, 1, failed_rows(self._jobs[job], number, status, message))
