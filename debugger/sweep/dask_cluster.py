"""Cases on a Dask cluster that is there, or on one of this machine; needs the package distributed.

A task names cases of a job. A worker of the cluster runs it in a process of its own, as this machine would: what
crashes or hangs ends that process and not the worker, and a case has the same time limit. A worker that is lost itself
takes the cases of its task with it; they are run again in two halves, so that one that ends each worker is found.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...runtime.atomic_file import scratch_folder
from ...runtime.errors import UsageError, one_line
from .case_executor import failed_rows
from .cases import CaseSet
from .job import SweepJob, model_files, unpack_files, version_text
from .row import RowCells, Status
from .schedule import SweepSchedule, SweepTask
from .worker import WorkerError
from .worker_pool import MAX_CASE_TRIES, RowBatch, WorkerPool

#: Tasks that are on the way, for each thread of the cluster: one runs, one waits.
TASKS_PER_THREAD = 2
#: Seconds that a scheduler is waited for.
_CONNECT_TIMEOUT_SECONDS = 10.0
#: A job of more bytes is sent to each worker once, not with each task.
_BROADCAST_MIN_BYTES = 1 << 20

#: Seconds, and by batch how many cases and their rows.
TaskResult = tuple[float, list[tuple[int, list[RowCells]]]]
TaskFunction = Callable[[str, SweepJob, int, int, CaseSet | None], TaskResult]


def import_distributed() -> Any:
    """The package.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import distributed as package
    except ImportError as error:
        raise UsageError(
            f"a cluster needs the package distributed, which is not there ({one_line(error)}): "
            "pip install 'loopdbg[dask]'"
        ) from None
    return package


#: In a worker of a cluster: by thread and sweep what a process was started for, and the process.
_POOLS: dict[tuple[int, str], _JobPool] = {}


class _JobPool:
    """A process for a job, and a folder for the files that the job carries."""

    def __init__(self, job: SweepJob) -> None:
        self.job_key = job.number, job.hash
        self._stack = ExitStack()
        folder = self._stack.enter_context(scratch_folder())
        self.pool = WorkerPool({0: replace(unpack_files(job, folder), number=0)}, 1)

    def close(self) -> None:
        """End the process."""
        self.pool.close()
        self._stack.close()


def run_task(sweep: str, job: SweepJob, start: int, stop: int, part: CaseSet | None) -> TaskResult:
    """What a worker of the cluster does: some cases, in a process that its thread keeps for the next ones."""
    began = time.perf_counter()
    crew = _pool_for_job(sweep, job)
    schedule = SweepSchedule([[(start, stop)]], 1, whole=True)
    batches = [(batch.cases, batch.rows) for batch in crew.run(schedule, part)]
    return time.perf_counter() - began, batches


def _pool_for_job(sweep: str, job: SweepJob) -> WorkerPool:
    """The process of this thread; another job gets a new one."""
    key = threading.get_ident(), sweep
    known = _POOLS.get(key)
    if known is None or known.job_key != (job.number, job.hash):
        if known is not None:
            known.close()
        known = _POOLS[key] = _JobPool(job)
    return known.pool


def _close_pools(sweep: str) -> None:
    """What a worker of the cluster does when a sweep is over."""
    for key in [key for key in list(_POOLS) if key[1] == sweep]:
        _POOLS.pop(key).close()


class DaskCluster:
    """A client of the cluster at an address; ``local``: one of this machine with so many ``processes``.

    Raises:
        UsageError: the package is not installed, nobody answers at the address, or its workers have another version.
    """

    def __init__(
        self, address: str, jobs: Sequence[SweepJob], processes: int = 0, run: TaskFunction = run_task
    ) -> None:
        self._package = import_distributed()
        self._name = uuid4().hex
        self._jobs = jobs
        self._run = run
        self._local: Any = None
        self._client = self._connect(address, processes)
        self.threads = max(1, sum(self._client.nthreads().values()))
        try:
            self._check_versions()
            self._ships_files = not all(self._client.run(_has_files, [_file_sizes(job) for job in jobs]).values())
            self._sendable_jobs = [self._sendable(job) for job in jobs]
        except BaseException:
            self.close()
            raise
        #: How often a worker was lost with a case that it ran alone.
        self._lost_counts: Counter[tuple[int, int]] = Counter()

    def _connect(self, address: str, processes: int) -> Any:
        package = self._package
        if address == "local":
            self._local = _local_cluster(package, max(processes, 1))
            return package.Client(self._local)
        try:
            return package.Client(address, timeout=_CONNECT_TIMEOUT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(f"no Dask scheduler answers at {address}: {one_line(error)}") from None

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; one of this machine ends."""
        with contextlib.suppress(Exception):  # a worker that is gone has nothing to end
            self._client.run(_close_pools, self._name)
        self._client.close()
        if self._local is not None:
            self._local.close()

    def _check_versions(self) -> None:
        theirs = self._client.run(_version)
        if not theirs:
            raise UsageError("the cluster has no workers; start some, or wait until they have come")
        own = version_text()
        other = next(((where, what) for where, what in theirs.items() if what != own), None)
        if other is not None:
            raise UsageError(f"worker {other[0]} has {other[1]}, and this is {own}: rows need not be the same")

    def _sendable(self, job: SweepJob) -> Any:
        if not self._ships_files:
            return _with_absolute_paths(job)
        carried = _with_absolute_paths(job).with_file_contents()
        large = sum(map(len, carried.files.values())) > _BROADCAST_MIN_BYTES
        return self._client.scatter(carried, broadcast=True) if large else carried

    def run(self, schedule: SweepSchedule) -> Iterator[RowBatch]:
        """Rows as they come. There are never more tasks on the way than the cluster has threads for, and one more for
        each: what waits for a worker takes no memory."""
        futures: dict[Any, SweepTask] = {}
        arrived = self._package.as_completed(raise_errors=False)
        try:
            while True:
                while len(futures) < TASKS_PER_THREAD * self.threads and (task := schedule.next_task()) is not None:
                    future = self._submit(task)
                    futures[future] = task
                    arrived.add(future)
                if not futures:
                    return
                future = next(arrived)
                if future.status in ("pending", "lost"):
                    # Its worker was lost with what it had given; the scheduler lets another one run it.
                    arrived.add(future)
                    continue
                task = futures.pop(future)
                if future.status == "finished":
                    yield from self._finish_task(future.result(), task, schedule)
                else:
                    yield from self._handle_lost_task(future, task, schedule)
                future.release()
        finally:
            self._client.cancel(list(futures))

    def _submit(self, task: SweepTask) -> Any:
        part = self._jobs[task.job].cases.subset(task.start, task.stop) if self._ships_files else None
        return self._client.submit(
            self._run, self._name, self._sendable_jobs[task.job], task.start, task.stop, part, pure=False
        )

    def _finish_task(self, found: Any, task: SweepTask, schedule: SweepSchedule) -> Iterator[RowBatch]:
        seconds, batches = found
        schedule.record_duration(task, seconds)
        for cases, rows in batches:
            yield RowBatch(task.job, cases, rows)

    def _handle_lost_task(self, future: Any, task: SweepTask, schedule: SweepSchedule) -> Iterator[RowBatch]:
        """A worker was lost, again and again, with a task; or the task failed at something that is no case."""
        if future.status != "error":
            raise WorkerError("the cluster has ended; the rows that came are kept")
        error = future.exception()
        if not isinstance(error, self._package.KilledWorker):
            raise WorkerError(f"a worker of the cluster failed: {one_line(error)}") from None
        if len(task) > 1:
            half = (task.start + task.stop) // 2
            schedule.retry(SweepTask(task.job, task.start, half))
            schedule.retry(SweepTask(task.job, half, task.stop))
            return
        self._lost_counts[task.job, task.start] += 1
        if self._lost_counts[task.job, task.start] < MAX_CASE_TRIES:
            schedule.retry(task)
            return
        rows = failed_rows(self._jobs[task.job], task.start, Status.KILLED, "the workers that ran it were lost")
        yield RowBatch(task.job, 1, rows)


def _local_cluster(package: Any, workers: int) -> Any:
    """A cluster of threads, each with a process of its own for its cases.

    Whoever reaches a port of a scheduler or worker runs programs there. Within one process they need none. What is left
    are HTTP servers, which Dask always starts: without pages, and for this machine only.
    """
    import dask

    here = "127.0.0.1:0"
    no_pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    with dask.config.set(no_pages), warnings.catch_warnings():
        # A worker without a dashboard, but with an address, is what it advises against.
        warnings.filterwarnings("ignore", "Setting `dashboard`", UserWarning)
        known = set(sys.path)
        cluster = package.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=here,
            worker_dashboard_address=here,
            scheduler_kwargs={"dashboard": False},
            dashboard=False,
            silence_logs=50,
        )
    # Each worker puts a temporary folder on the module path.
    sys.path[:] = [entry for entry in sys.path if entry in known]
    return cluster


def _file_sizes(job: SweepJob) -> dict[str, int]:
    """The files that a worker needs, and their sizes."""
    paths = [*model_files(job.path, job.weights), *getattr(job.cases, "paths", ())[:1]]
    more = [path for path in (getattr(job.cases, "path", None), *map(Path, job.spec.operators)) if path is not None]
    return {str(path.absolute()): path.stat().st_size for path in (*paths, *more) if path.is_file()}


def _with_absolute_paths(job: SweepJob) -> SweepJob:
    """A job whose paths mean the same in any folder."""
    wanted = job.spec
    against = str(Path(wanted.against).absolute()) if Path(wanted.against).exists() else wanted.against
    operators = tuple(str(Path(path).absolute()) for path in wanted.operators)
    weights = None if job.weights is None else str(Path(job.weights).absolute())
    wanted = replace(wanted, operators=operators, against=against if wanted.against else "")
    return replace(job, path=str(Path(job.path).absolute()), weights=weights, spec=wanted)


def _has_files(files: Sequence[dict[str, int]]) -> bool:
    """Whether a worker has all files, as they are here."""
    return all(
        Path(path).is_file() and Path(path).stat().st_size == size for one in files for path, size in one.items()
    )


def _version() -> str:
    return version_text()
