"""Cases on an existing Dask cluster, or on a local one; needs the package distributed.

A task names cases of a job. A worker of the cluster runs it in a separate process, as on this machine: a crash or hang
ends that process and not the worker, and a case has the same time limit. A lost worker loses the cases of its task;
they are run again in two halves, so that a case that ends each worker is isolated.
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
from .worker_handle import WorkerError
from .worker_pool import MAX_CASE_TRIES, RowBatch, WorkerPool

#: Tasks in flight for each thread of the cluster: one runs, one waits.
TASKS_PER_THREAD = 2
#: Seconds to wait for a scheduler.
_CONNECT_TIMEOUT_SECONDS = 10.0
#: A larger job in bytes is sent to each worker once, not with each task.
_BROADCAST_MIN_BYTES = 1 << 20

#: Seconds, and for each batch the number of cases and their rows.
TaskResult = tuple[float, list[tuple[int, list[RowCells]]]]
TaskFunction = Callable[[str, SweepJob, int, int, CaseSet | None], TaskResult]


def import_distributed() -> Any:
    """Return the package distributed.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import distributed as package
    except ImportError as error:
        raise UsageError(
            f"a cluster needs the package distributed, which is not there ({one_line(error)}): "
            "pip install 'loopdbg[dask]'",
            name="distributed",
            got=one_line(error),
        ) from None
    return package


#: In a worker of a cluster: by thread and sweep, the job of a process, and the process.
_POOLS: dict[tuple[int, str], _JobPool] = {}


class _JobPool:
    """A process for a job, and a folder for the files in the job."""

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
    """Run cases in a worker of the cluster, in a process that its thread keeps for the next ones."""
    start_time = time.perf_counter()
    crew = _pool_for_job(sweep, job)
    schedule = SweepSchedule([[(start, stop)]], 1, whole=True)
    batches = [(batch.cases, batch.rows) for batch in crew.run(schedule, part)]
    return time.perf_counter() - start_time, batches


def _pool_for_job(sweep: str, job: SweepJob) -> WorkerPool:
    """The process of this thread; another job gets a new one."""
    key = threading.get_ident(), sweep
    job_pool = _POOLS.get(key)
    if job_pool is None or job_pool.job_key != (job.number, job.hash):
        if job_pool is not None:
            job_pool.close()
        job_pool = _POOLS[key] = _JobPool(job)
    return job_pool.pool


def _close_pools(sweep: str) -> None:
    """Close the processes of a worker when a sweep has ended."""
    for key in [key for key in list(_POOLS) if key[1] == sweep]:
        _POOLS.pop(key).close()


class DaskCluster:
    """A client of the cluster at an address; ``local``: a local cluster with ``processes`` processes.

    Raises:
        UsageError: the package is not installed, the address does not answer, or its workers have another version.
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
            self._sendable_jobs = [self._sendable_job(job) for job in jobs]
        except BaseException:
            self.close()
            raise
        #: How often a worker was lost while it ran a single case.
        self._lost_counts: Counter[tuple[int, int]] = Counter()

    def _connect(self, address: str, processes: int) -> Any:
        package = self._package
        if address == "local":
            self._local = _start_local_cluster(package, max(processes, 1))
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
        """Disconnect from the cluster; a local cluster ends."""
        with contextlib.suppress(Exception):  # a lost worker has no processes
            self._client.run(_close_pools, self._name)
        self._client.close()
        if self._local is not None:
            self._local.close()

    def _check_versions(self) -> None:
        versions = self._client.run(_worker_version)
        if not versions:
            raise UsageError("the cluster has no workers; start some, or wait until they have come")
        own = version_text()
        other = next(((worker, version) for worker, version in versions.items() if version != own), None)
        if other is not None:
            raise UsageError(f"worker {other[0]} has {other[1]}, and this is {own}: rows need not be the same")

    def _sendable_job(self, job: SweepJob) -> Any:
        if not self._ships_files:
            return _with_absolute_paths(job)
        carried = _with_absolute_paths(job).with_file_contents()
        large = sum(map(len, carried.files.values())) > _BROADCAST_MIN_BYTES
        return self._client.scatter(carried, broadcast=True) if large else carried

    def run(self, schedule: SweepSchedule, part: CaseSet | None = None) -> Iterator[RowBatch]:
        """Yield rows as they arrive. At most two tasks for each thread of the cluster are in flight: waiting tasks take
        no memory. ``part``: the cases, if the job's set has none."""
        futures: dict[Any, SweepTask] = {}
        completed = self._package.as_completed(raise_errors=False)
        try:
            while True:
                while len(futures) < TASKS_PER_THREAD * self.threads and (task := schedule.next_task()) is not None:
                    future = self._submit(task, part)
                    futures[future] = task
                    completed.add(future)
                if not futures:
                    return
                future = next(completed)
                if future.status in ("pending", "lost"):
                    # Its worker was lost with the results; the scheduler lets another one run it.
                    completed.add(future)
                    continue
                task = futures.pop(future)
                if future.status == "finished":
                    yield from self._finish_task(future.result(), task, schedule)
                else:
                    yield from self._handle_lost_task(future, task, schedule)
                future.release()
        finally:
            self._client.cancel(list(futures))

    def _submit(self, task: SweepTask, part: CaseSet | None) -> Any:
        if part is None and self._ships_files:
            part = self._jobs[task.job].cases.subset(task.start, task.stop)
        return self._client.submit(
            self._run, self._name, self._sendable_jobs[task.job], task.start, task.stop, part, pure=False
        )

    def _finish_task(self, result: Any, task: SweepTask, schedule: SweepSchedule) -> Iterator[RowBatch]:
        seconds, batches = result
        schedule.record_duration(task, seconds)
        for cases, rows in batches:
            yield RowBatch(task.job, cases, rows)

    def _handle_lost_task(self, future: Any, task: SweepTask, schedule: SweepSchedule) -> Iterator[RowBatch]:
        """Handle a task whose worker was lost repeatedly, or that failed outside of a case."""
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


def _start_local_cluster(package: Any, workers: int) -> Any:
    """Start a cluster of threads, each with a separate process for its cases.

    Access to a port of a scheduler or worker allows code execution. Within one process they need no ports. Dask always
    starts HTTP servers: these have no pages and listen on this machine only.
    """
    import dask

    address = "127.0.0.1:0"
    no_pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    with dask.config.set(no_pages), warnings.catch_warnings():
        # Dask warns of a worker without a dashboard but with an address.
        warnings.filterwarnings("ignore", "Setting `dashboard`", UserWarning)
        paths_before = set(sys.path)
        cluster = package.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=address,
            worker_dashboard_address=address,
            scheduler_kwargs={"dashboard": False},
            dashboard=False,
            silence_logs=50,
        )
    # Each worker puts a temporary folder on the module path.
    sys.path[:] = [entry for entry in sys.path if entry in paths_before]
    return cluster


def _file_sizes(job: SweepJob) -> dict[str, int]:
    """The files that a worker needs, and their sizes."""
    paths = [*model_files(job.path, job.weights), *getattr(job.cases, "paths", ())[:1]]
    others = [path for path in (getattr(job.cases, "path", None), *map(Path, job.spec.operators)) if path is not None]
    return {str(path.absolute()): path.stat().st_size for path in (*paths, *others) if path.is_file()}


def _with_absolute_paths(job: SweepJob) -> SweepJob:
    """Return a job with absolute paths."""
    spec = job.spec
    against = str(Path(spec.against).absolute()) if Path(spec.against).exists() else spec.against
    operators = tuple(str(Path(path).absolute()) for path in spec.operators)
    weights = None if job.weights is None else str(Path(job.weights).absolute())
    spec = replace(spec, operators=operators, against=against if spec.against else "")
    return replace(job, path=str(Path(job.path).absolute()), weights=weights, spec=spec)


def _has_files(files: Sequence[dict[str, int]]) -> bool:
    """Whether a worker has all files, with the same sizes as here."""
    return all(
        Path(path).is_file() and Path(path).stat().st_size == size for sizes in files for path, size in sizes.items()
    )


def _worker_version() -> str:
    return version_text()
