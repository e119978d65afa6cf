"""A sweep: many cases of one or many models, with rows for each case."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ...runtime.api_boundary import public
from ...runtime.atomic_file import scratch_folder
from ...runtime.errors import LoopdbgError, UsageError
from ...runtime.input_validation import Data
from ...runtime.model import Model, load
from .case_files import NpzCases, TestDataCases, open_case_set
from .cases import CaseSet, InMemoryCases, RandomCases
from .export import check_export_path, export_rows
from .expression_loops import check_spec
from .job import DEFAULT_MEMORY_BYTES, DEFAULT_TIMEOUT_SECONDS, SweepJob, SweepSpec, model_hash, version_text
from .row import RESULT_COLUMNS, Row
from .schedule import SweepSchedule
from .sweep_store import SweepStore, row_from_cells
from .worker_pool import RowBatch, WorkerPool, run_in_process

#: Path of the store if the rows are not kept.
_SCRATCH_NAME = "rows.sweepdb"


def default_cases(path: str) -> CaseSet:
    """Return the default cases of a model: test data or inputs in the same folder, else one random case."""
    file = Path(path.rpartition(":")[0] if path.endswith(":") else path)
    folders = sorted(file.parent.glob("test_data_set_*")) if file.parent.is_dir() else []
    if folders:
        return TestDataCases(folders, file.parent.absolute().name)
    inputs = file.with_suffix(".inputs.npz")
    return NpzCases([inputs], file.stem) if inputs.is_file() else RandomCases(1)


def _check_oracle(text: str) -> None:
    # Lazy import: a sweep without a comparison does not need it.
    from .oracles import check_oracle

    check_oracle(text)


def prepare_jobs(
    paths: Sequence[str], cases: CaseSet | None, spec: SweepSpec, weights: Sequence[str | None] = ()
) -> tuple[list[SweepJob], dict[int, Model]]:
    """Return the jobs of each model, and the models that can be opened; for other models each case is an error.

    Raises:
        UsageError: an expression names what a model does not have.
        ModelError: the only model cannot be opened.
    """
    if spec.against:
        _check_oracle(spec.against)
    jobs, models = [], {}
    for number, path in enumerate(paths):
        constants = weights[number] if weights else None
        loops: tuple[str, ...] = ()
        try:
            model = load(path, constants)
            loops = tuple(plan.path for plan in model.plan.loops)
        except LoopdbgError:
            if len(paths) == 1:
                raise
        else:
            check_spec(model, spec)
            models[number] = model
        source = default_cases(path) if cases is None else cases
        if len(paths) == 1 and isinstance(source, RandomCases):
            source.reader(models[number])  # raises for unknown dimension names
        jobs.append(SweepJob(number, path, model_hash(path, constants), source, spec, constants, loops))
    return jobs, models


class Sweep:
    """Jobs to run, and the store of their rows. ``processes``: number of worker processes, 0: none; ``dask``: the
    address of a cluster, or ``local``. ``remaining_cases``: the number of cases without rows."""

    def __init__(
        self,
        jobs: Sequence[SweepJob],
        store: SweepStore,
        models: Mapping[int, Model] | None = None,
        processes: int = 0,
        dask: str | None = None,
    ) -> None:
        self.jobs = jobs
        self.store = store
        self._models = models or {}
        self._processes = processes
        self._dask = dask
        self._remaining_intervals = [store.remaining_cases(job) for job in jobs]
        self.remaining_cases = sum(stop - start for intervals in self._remaining_intervals for start, stop in intervals)

    def run(self) -> Iterator[RowBatch]:
        """Yield rows as they arrive; each batch is in the store before it is yielded.

        Raises:
            LoopdbgError: rows cannot be written, processes cannot start, or a cluster cannot be used.
        """
        for batch in self._run_batches():
            self.store.add_rows(batch.job, batch.rows)
            yield batch

    def _run_batches(self) -> Iterator[RowBatch]:
        if self._dask is not None:
            from .dask_cluster import DaskCluster

            with DaskCluster(self._dask, self.jobs, self._processes) as cluster:
                yield from cluster.run(SweepSchedule(self._remaining_intervals, cluster.threads))
            return
        schedule = SweepSchedule(self._remaining_intervals, max(self._processes, 1))
        if not self._processes:
            yield from run_in_process(self.jobs, schedule, self._models)
            return
        with WorkerPool(dict(enumerate(self.jobs)), self._processes) as crew:
            yield from crew.run(schedule)

    def rows_of(self, batch: RowBatch) -> Iterator[Row]:
        """Return the rows of a batch as :class:`Row` objects."""
        job = self.jobs[batch.job]
        versions = self.store.versions
        for cells in batch.rows:
            _, loop, name, *rest = cells[: len(RESULT_COLUMNS)]
            path = job.loops[loop] if 0 <= loop < len(job.loops) else ""
            measures = dict(zip(job.spec.measures, cells[len(RESULT_COLUMNS) :], strict=True))
            first = (f"{job.hash}/{job.cases.name}/{name}", job.path, job.cases.name, name, path)
            yield row_from_cells((*first, *rest), measures, versions)


@public
def sweep(
    model: Any,
    cases: Any = None,
    *,
    random: int | None = None,
    seed: int = 0,
    dims: Sequence[str] = (),
    batched: bool = False,
    asserts: Sequence[str] = (),
    breaks: Sequence[str] = (),
    measures: Sequence[str] = (),
    against: str = "",
    max_iterations: int | None = None,
    timeout: float | None = DEFAULT_TIMEOUT_SECONDS,
    max_memory: int | None = DEFAULT_MEMORY_BYTES,
    operators: Sequence[str] = (),
    processes: int = 0,
    dask: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
) -> Iterator[Row]:
    """Run a model on many inputs; yield a row for each case and loop, as they arrive.

    Args:
        model: a path, a model, or a sequence of paths: each is run on all cases.
        cases: inputs by name, one mapping per case; or the path of a set: ``.npz`` files, test data, tables (a folder,
            a pattern, a file). None: the files in the model's folder.
        random: the number of random cases, generated from ``seed`` on, with ``dims`` such as ``N=5``.
        batched: ``cases`` is one ``.npz`` whose arrays have the cases on the first axis.
        asserts: conditions that must hold at every boundary. breaks: conditions that end a case; ``nan``: a NaN or Inf.
        measures: numbers at the end of each loop that has their values.
        against: ``onnxruntime``, ``openvino``, ``cmd:PROGRAM {model} {inputs} {outputs}``, another model, or a folder
            of expected outputs named as the cases are.
        max_iterations: the maximum number of iterations of any loop. timeout, max_memory: the maximum seconds of a
            case, and bytes of memory that its loops collect; None: no limit.
        operators: Python files with operators, for other processes.
        processes: the number of worker processes, replaced when they die or hang; 0: run in this process, where a
            timeout ends only loops.
        dask: the address of a cluster to use instead, or ``local``.
        output: ``.parquet`` or ``.csv``, written at the end; until then rows are in a ``.sweepdb`` in the same folder.
        resume: continue an interrupted output; rows that it has are not yielded again.

    Raises:
        UsageError: invalid arguments, or a package is missing.
        ModelError, InputError: the model or the cases cannot be read.

    >>> [row.iterations for row in loopdbg.sweep(model, [{"a": 2.0, "tol": 1e-6}, {"a": 9.0, "tol": 1e-6}])]
    [5, 6]
    """
    settings = tuple(asserts), tuple(breaks), tuple(measures), max_iterations, timeout, against
    spec = SweepSpec(*settings, tuple(map(str, operators)), max_memory)
    remote = bool(processes) or dask is not None
    paths, loaded = _resolve_models(model, remote)
    source = _resolve_cases(cases, random, seed, dims, batched)
    jobs, models = prepare_jobs(paths, source, spec) if paths else _prepare_in_memory(loaded, source, spec)
    target = None if output is None else Path(output)
    if target is not None and target.suffix != ".sweepdb":
        check_export_path(target)
    if resume and target is None:
        raise UsageError("resume needs the output of the sweep that goes on")
    return _generate_rows(jobs, models, target, resume, processes, dask)


def _generate_rows(
    jobs: Sequence[SweepJob],
    models: Mapping[int, Model],
    target: Path | None,
    resume: bool,
    processes: int,
    dask: str | None,
) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = None if target is not None else stack.enter_context(scratch_folder())
        store = open_store(Path(folder or ".") / _SCRATCH_NAME if target is None else target, jobs, resume)
        stack.callback(store.close)
        runner = Sweep(jobs, store, models, processes, dask)
        for batch in runner.run():
            yield from runner.rows_of(batch)
        if target is not None and target.suffix != ".sweepdb":
            export_rows(store, target)


def open_store(target: Path, jobs: Sequence[SweepJob], resume: bool) -> SweepStore:
    """Open the store of an output: the file itself, or one in the same folder.

    Raises:
        UsageError: the existing file belongs to another sweep.
        SweepFileError: it cannot be read or written.
    """
    path = target.with_suffix(".sweepdb")
    if not resume:
        return SweepStore.create(path, jobs, version_text())
    store = SweepStore.open(path)
    try:
        store.resume(jobs)
    except BaseException:
        store.close()
        raise
    return store


def _resolve_models(model: Any, remote: bool) -> tuple[list[str], Model | None]:
    """The paths of the models, or one model in memory."""
    if isinstance(model, str | os.PathLike):
        return [os.fspath(model)], None
    if isinstance(model, list | tuple):
        invalid = [item for item in model if not isinstance(item, str | os.PathLike)]
        if invalid:
            raise UsageError(f"several models are given by their paths, not as {type(invalid[0]).__name__}")
        return [os.fspath(item) for item in model], None
    resolved = model if isinstance(model, Model) else load(model)
    if not remote:
        return [], resolved
    if resolved.path is None:
        raise UsageError(f"{resolved.name} is in no file, which other processes could open: save it, and give its path")
    return [str(resolved.path) + (f":{resolved.graph.function}" if resolved.graph.function else "")], None


def _prepare_in_memory(
    model: Model | None, cases: CaseSet | None, spec: SweepSpec
) -> tuple[list[SweepJob], dict[int, Model]]:
    assert model is not None
    if spec.against:
        _check_oracle(spec.against)
    check_spec(model, spec)
    path = str(model.path or model.name)
    source = cases if cases is not None else RandomCases(1) if model.path is None else default_cases(path)
    loops = tuple(plan.path for plan in model.plan.loops)
    return [SweepJob(0, path, model_hash(path), source, spec, None, loops)], {0: model}


def _resolve_cases(cases: Any, random: int | None, seed: int, dims: Sequence[str], batched: bool) -> CaseSet | None:
    if random is not None:
        if cases is not None:
            raise UsageError("random makes cases, and cases gives them: use one or the other")
        return RandomCases(random, seed, dims)
    if cases is None or isinstance(cases, CaseSet):
        return cases
    if isinstance(cases, str | os.PathLike):
        return open_case_set(cases, batched)
    if isinstance(cases, Mapping) or not isinstance(cases, Iterable):
        raise UsageError("cases are a sequence of inputs by name, or the path of a set of them")
    items: Sequence[Mapping[str, Data]] = cases if isinstance(cases, Sequence) else list(cases)
    return InMemoryCases(items)
