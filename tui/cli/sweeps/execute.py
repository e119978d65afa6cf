"""Implements ``loopdbg sweep``: runs the cases of all models and reports their results."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from ....debugger.breakpoints.assertion import expand_assertion_files
from ....debugger.coverage.report import Coverage
from ....debugger.coverage.report_files import merge_coverage
from ....debugger.export_formats import junit
from ....debugger.sweep.case_files import open_case_set
from ....debugger.sweep.cases import CaseSet, RandomCases
from ....debugger.sweep.export import check_export_path, export_rows
from ....debugger.sweep.job import DEFAULT_MEMORY_BYTES, DEFAULT_TIMEOUT_SECONDS, SweepJob, SweepSpec
from ....debugger.sweep.row import Row, Status
from ....debugger.sweep.summary import ModelSummary, summarize_models, worst_cases
from ....debugger.sweep.sweep import Sweep, open_store, prepare_jobs
from ....debugger.sweep.sweep_store import SweepStore
from ....runtime.atomic_file import scratch_folder
from ....runtime.errors import InterruptError, LimitError, LoopdbgError, UsageError
from ....runtime.graph import Graph
from ....runtime.model import Model
from .. import terminal
from ..execution.ci_checks import coverage_properties
from ..execution.coverage_report import check_coverage_option, print_coverage, save_coverage_if_requested
from ..execution.scripted_session import ASSERTION_FAILED_STATUS, STOPPED_STATUS
from ..model_or_trace import pair_weights
from .progress import sweep_progress
from .report import CaseCommands, case_lines, report_lines, sweep_json

#: Exit status by case status, highest priority first.
_EXIT_STATUS_ORDER = (
    (Status.ASSERT, ASSERTION_FAILED_STATUS),
    (Status.BREAK, STOPPED_STATUS),
    (Status.DIFFERS, 6),
    (Status.ERROR, LoopdbgError.exit_status),
    (Status.KILLED, LoopdbgError.exit_status),
    (Status.TIMEOUT, LimitError.exit_status),
    (Status.LIMIT, LimitError.exit_status),
)


def run_sweep(options: argparse.Namespace) -> int:
    """Run a sweep; returns the exit status."""
    check_coverage_option(options.coverage)
    if options.coverage is not None and options.dask is not None:
        raise UsageError("--coverage is measured by processes of this machine: leave --dask out, or --coverage")
    with ExitStack() as stack:
        folder = None if options.coverage is None else stack.enter_context(scratch_folder())
        return _run_sweep(options, folder)


def _run_sweep(options: argparse.Namespace, coverage_folder: Path | None) -> int:
    target = _checked_rows_path(options)
    spec = SweepSpec(
        tuple(expand_assertion_files(options.asserts)),
        tuple(options.breaks),
        tuple(options.measures),
        max_iterations=options.max_iterations,
        timeout=options.timeout or DEFAULT_TIMEOUT_SECONDS,
        max_memory=DEFAULT_MEMORY_BYTES if options.max_memory is None else int(options.max_memory * 2**30),
        against=options.against,
        operators=tuple(options.operators),
        coverage=str(coverage_folder or ""),
    )
    jobs, models = prepare_jobs(
        options.models, chosen_cases(options), spec, pair_weights(options.models, options.weights)
    )
    processes = options.jobs or os.cpu_count() or 1
    with ExitStack() as stack:
        folder = None if target is not None else stack.enter_context(scratch_folder())
        store = open_store(target or Path(folder or ".") / "rows.sweepdb", jobs, options.resume)
        stack.callback(store.close)
        started = time.monotonic()
        sweep = Sweep(jobs, store, models, processes, options.dask)
        if not _run_cases(sweep, options, store):
            return InterruptError.exit_status
        return _write_results(options, store, time.monotonic() - started, _SweepCoverage(jobs, models, coverage_folder))


class _SweepCoverage:
    """The coverage of the models of a sweep, as far as it was measured; ``graphs``: by the same positions."""

    def __init__(self, jobs: Sequence[SweepJob], models: Mapping[int, Model], folder: Path | None) -> None:
        self.by_job: dict[int, Coverage] = {}
        for job in jobs if folder is not None else ():
            assert folder is not None
            coverage = merge_coverage(folder, job.number)
            if coverage is not None:
                self.by_job[job.number] = coverage
        self._models = models

    @property
    def coverage_by_model(self) -> list[tuple[Coverage, Graph | None]]:
        """The coverage of each model, with its graph."""
        return [(coverage, self._models[number].graph) for number, coverage in self.by_job.items()]


def _run_cases(sweep: Sweep, options: argparse.Namespace, store: SweepStore) -> bool:
    """Run all cases; False if Ctrl-C interrupted the sweep, which keeps finished cases."""
    total = sum(len(job.cases) for job in sweep.jobs)
    done = total - sweep.remaining_cases
    if options.resume:
        terminal.err(f"{done} of {total} cases are in {store.path}")
    try:
        with sweep_progress(sys.stderr, sweep.remaining_cases) as progress:
            for batch in sweep.run():
                done += batch.cases
                progress.add(batch)
    except KeyboardInterrupt:
        text = f"{done} of {total} cases are done"
        if options.output is None:
            terminal.err(f"loopdbg: interrupted: {text}, and nothing is kept: -o FILE keeps rows")
        else:
            terminal.err(
                f"loopdbg: interrupted: {text} and kept in {store.path}; the same command with --resume goes on"
            )
        return False
    return True


def _write_results(options: argparse.Namespace, store: SweepStore, seconds: float, coverage: _SweepCoverage) -> int:
    """Write the output files and print the report; returns the exit status."""
    summaries = summarize_models(store)
    commands = CaseCommands(options, summaries)
    rows = store.row_count()
    output = options.output
    if output is not None and output.suffix != ".sweepdb":
        export_rows(store, output)
    if options.junit is not None:
        covered = [junit.JUnitCase("coverage", part.model, properties=coverage_properties(part))
                   for part in coverage.by_job.values()]  # fmt: skip
        junit.write_report(options.junit, chain(_junit_cases(store, commands), covered), "loopdbg sweep")
    worst = worst_cases(store)
    if options.json:
        report = sweep_json(summaries, worst, commands, seconds, rows)
        if options.coverage is not None:
            report["coverage"] = [part.to_json() for part in coverage.by_job.values()]
        terminal.out_json(report)
    else:
        for line in report_lines(summaries, worst, commands, seconds, rows):
            terminal.out(line)
        print_coverage(options.coverage, list(coverage.by_job.values()))
    save_coverage_if_requested(options.coverage, coverage.coverage_by_model)
    return exit_status(summaries)


def exit_status(summaries: list[ModelSummary]) -> int:
    """The exit status for the statuses of all cases."""
    statuses = {status for summary in summaries for status in summary.statuses}
    return next((code for status, code in _EXIT_STATUS_ORDER if status in statuses), 0)


def _junit_cases(store: SweepStore, commands: CaseCommands) -> Iterator[junit.JUnitCase]:
    """One test per case, from all its rows."""
    case_rows: list[Row] = []
    for row in store.rows():
        if case_rows and case_rows[0].id != row.id:
            yield _junit_case(case_rows, commands)
            case_rows = []
        case_rows.append(row)
    if case_rows:
        yield _junit_case(case_rows, commands)


def _junit_case(rows: list[Row], commands: CaseCommands) -> junit.JUnitCase:
    row = next((entry for entry in rows if entry.bad_iteration is not None), rows[0])
    is_bad = row.status is not Status.OK
    lines = case_lines(row, commands) if is_bad else []
    is_error = row.status in (Status.ERROR, Status.KILLED, Status.TIMEOUT)
    iterations = {f"iterations of {entry.loop}": entry.iterations for entry in rows if entry.loop}
    return junit.JUnitCase(
        row.case,
        f"{Path(row.model).name}.{row.set}",
        row.seconds,
        failure=[] if is_error else lines,
        error=lines if is_error else [],
        kind=row.status.value,
        properties={"id": row.id, **iterations, **{k: v for entry in rows for k, v in entry.measures.items()}},
    )


def _checked_rows_path(options: argparse.Namespace) -> Path | None:
    """The file for the rows, checked before anything runs.

    Raises:
        UsageError: The file exists already, or the options contradict each other.
    """
    output: Path | None = options.output
    if options.resume and output is None:
        raise UsageError("--resume needs -o FILE, the output of the sweep that goes on")
    if output is None:
        return None
    if output.suffix != ".sweepdb":
        check_export_path(output)
    rows = output.with_suffix(".sweepdb")
    if rows.exists() and not (options.resume or options.force):
        raise UsageError(f"{rows} is there already: --resume goes on with it, --force starts again")
    if output.is_file() and not (options.resume or options.force):
        raise UsageError(f"{output} is there already: --force overwrites the rows of an earlier sweep")
    return output


def chosen_cases(options: argparse.Namespace, *, edge_cases: bool = True) -> CaseSet | None:
    """The set of cases that the options choose; None: they choose none. ``edge_cases``: among random ones."""
    if options.random is None:
        if options.seed is not None or options.dim:
            raise UsageError("--seed and --dim are about random cases: they need --random N")
        if options.batched and options.inputs is None:
            raise UsageError("--batched is about --inputs FILE.npz")
        return None if options.inputs is None else open_case_set(options.inputs, options.batched)
    if options.inputs is not None:
        raise UsageError("--random makes cases, and --inputs gives them: use one or the other")
    return RandomCases(options.random, options.seed or 0, options.dim, edge_cases=edge_cases)
