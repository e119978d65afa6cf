"""Implements ``loopdbg test``: runs the cases that are stored next to models, and reports those that fail."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....debugger.coverage.report import Coverage
from ....debugger.coverage.report_files import merge_coverage
from ....debugger.export_formats.junit import JUnitCase, write_report
from ....debugger.sweep.expression_loops import check_spec
from ....debugger.sweep.job import DEFAULT_TIMEOUT_SECONDS, SweepJob, SweepSpec
from ....debugger.sweep.row import RESULT_COLUMNS, RowCells, Status
from ....debugger.sweep.schedule import SweepSchedule
from ....debugger.sweep.stored_tests import StoredCases, find_tests
from ....debugger.sweep.worker_pool import WorkerPool
from ....runtime.atomic_file import scratch_folder
from ....runtime.errors import InterruptError, LimitError, LoopdbgError
from ....runtime.graph import Graph
from ....runtime.model import Model, load
from ....runtime.text import count_text, duration_text, escape_unprintable
from .. import terminal
from ..execution.ci_checks import coverage_properties, github_annotations
from ..execution.coverage_report import check_coverage_option, print_coverage, save_coverage_if_requested
from ..execution.expected_outputs import UNEXPECTED_OUTPUTS_STATUS
from ..execution.scripted_session import ASSERTION_FAILED_STATUS
from ..execution.time_limit import OutOfTime
from .progress import sweep_progress

#: Exit status by the status of cases, highest priority first.
_EXIT_STATUS_ORDER = (
    (Status.ASSERT, ASSERTION_FAILED_STATUS),
    (Status.DIFFERS, UNEXPECTED_OUTPUTS_STATUS),
    (Status.ERROR, LoopdbgError.exit_status),
    (Status.KILLED, LoopdbgError.exit_status),
    (Status.LIMIT, LimitError.exit_status),
    (Status.TIMEOUT, OutOfTime.exit_status),
)


@dataclass(frozen=True)
class _TestOutcome:
    """The result of one case."""

    model: str
    case: str
    path: str
    status: Status
    message: str | None
    iterations: dict[str, int | None]
    seconds: float

    @property
    def passed(self) -> bool:
        return self.status is Status.OK


def run_stored_tests(options: argparse.Namespace) -> int:
    """Run the cases; returns the exit status."""
    check_coverage_option(options.coverage)
    with ExitStack() as stack:
        folder = None if options.coverage is None else stack.enter_context(scratch_folder())
        spec = SweepSpec(
            max_iterations=options.max_iterations,
            timeout=options.timeout or DEFAULT_TIMEOUT_SECONDS,
            operators=tuple(options.operators),
            coverage=str(folder or ""),
        )
        jobs, models = _prepare_stored_jobs(find_tests(options.paths, spec, options.trust_script))
        started = time.monotonic()
        outcomes: list[_TestOutcome] = []
        is_complete = _run_cases(jobs, options.jobs or os.cpu_count() or 1, outcomes)
        coverage = [] if folder is None else list(_coverage_by_model(jobs, models, folder))
        _print_report(options, outcomes, coverage, time.monotonic() - started)
        if not is_complete:
            total = sum(len(job.cases) for job in jobs)
            terminal.err(f"loopdbg: interrupted: {len(outcomes)} of {total} cases are done")
            return InterruptError.exit_status
    statuses = {outcome.status for outcome in outcomes}
    return next((code for status, code in _EXIT_STATUS_ORDER if status in statuses), 0)


def _prepare_stored_jobs(jobs: Sequence[SweepJob]) -> tuple[list[SweepJob], dict[int, Model]]:
    """The jobs with the paths of their loops, and the models that can be opened; cases of others are errors."""
    prepared, models = [], {}
    for job in jobs:
        loops: tuple[str, ...] = ()
        try:
            models[job.number] = model = load(job.path)
            check_spec(model, job.spec)
            loops = tuple(plan.path for plan in model.plan.loops)
        except LoopdbgError:
            pass  # each of its cases has the error
        prepared.append(replace(job, loops=loops))
    return prepared, models


def _run_cases(jobs: Sequence[SweepJob], processes: int, outcomes: list[_TestOutcome]) -> bool:
    """Run all cases; False: Ctrl-C ended it."""
    total = sum(len(job.cases) for job in jobs)
    schedule = SweepSchedule([[(0, len(job.cases))] for job in jobs], processes)
    try:
        with (
            WorkerPool(dict(enumerate(jobs)), min(processes, total)) as pool,
            sweep_progress(sys.stderr, total) as progress,
        ):
            for batch in pool.run(schedule):
                outcomes += _case_outcomes(jobs[batch.job], batch.rows)
                progress.add(batch)
    except KeyboardInterrupt:
        return False
    finally:
        outcomes.sort(key=lambda outcome: (outcome.model, outcome.path))
    return True


def _case_outcomes(job: SweepJob, rows: Sequence[RowCells]) -> Iterator[_TestOutcome]:
    """One result per case, from its rows: one for each loop."""
    by_number: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        cells = dict(zip(RESULT_COLUMNS, row, strict=False))
        by_number.setdefault(cells["number"], []).append(cells)
    for number, cells_of_case in by_number.items():
        first = cells_of_case[0]
        iterations = {job.loops[cells["loop"]]: cells["iterations"] for cells in cells_of_case if cells["loop"] >= 0}
        assert isinstance(job.cases, StoredCases)
        yield _TestOutcome(
            job.path,
            first["name"],
            os.path.relpath(job.cases.paths[number]),
            Status(first["status"]),
            first["message"],
            iterations,
            first["seconds"],
        )


def _coverage_by_model(
    jobs: Sequence[SweepJob], models: dict[int, Model], folder: Path
) -> Iterator[tuple[Coverage, Graph | None]]:
    """The coverage of each model, over all of its jobs."""
    by_model: dict[str, tuple[Coverage, Graph | None]] = {}
    for job in jobs:
        part = merge_coverage(folder, job.number)
        if part is not None:
            known = by_model.get(job.path)
            by_model[job.path] = (part if known is None else known[0] | part, models[job.number].graph)
    yield from by_model.values()


def _print_report(
    options: argparse.Namespace,
    outcomes: Sequence[_TestOutcome],
    coverage: Sequence[tuple[Coverage, Graph | None]],
    seconds: float,
) -> None:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    cases = [_junit_case(outcome) for outcome in outcomes]
    if options.github:
        for line in github_annotations(cases):
            terminal.err_workflow_command(line)
    if options.junit is not None:
        covered = [JUnitCase("coverage", part.model, properties=coverage_properties(part)) for part, _ in coverage]
        write_report(options.junit, [*cases, *covered], "loopdbg test")
    save_coverage_if_requested(options.coverage, coverage)
    if options.json:
        report: dict[str, Any] = {
            "cases": [{**vars(outcome), "status": outcome.status.value} for outcome in outcomes],
            "passed": len(outcomes) - len(failed),
            "failed": len(failed),
            "seconds": seconds,
        }
        if options.coverage is not None:
            report["coverage"] = [part.to_json() for part, _ in coverage]
        terminal.out_json(report)
        return
    for outcome in failed:
        terminal.out(
            escape_unprintable(f"{outcome.status.value:<7}  {outcome.model}  {outcome.path}: {outcome.message}")
        )
        inputs = f" --inputs {outcome.path}" if outcome.path else ""
        terminal.out(escape_unprintable(f"         loopdbg run {outcome.model}{inputs} -i"))
    models = len({outcome.model for outcome in outcomes})
    terminal.out(
        f"{count_text(len(outcomes) - len(failed), 'case')} passed, {len(failed)} failed, of "
        f"{count_text(models, 'model')}, in {duration_text(seconds)}"
    )
    print_coverage(options.coverage, [part for part, _ in coverage])


def _junit_case(outcome: _TestOutcome) -> JUnitCase:
    lines = [] if outcome.passed else [outcome.message or outcome.status.value]
    is_error = outcome.status in (Status.ERROR, Status.KILLED, Status.TIMEOUT)
    return JUnitCase(
        outcome.case,
        Path(outcome.model).name,
        outcome.seconds,
        failure=[] if is_error else lines,
        error=lines if is_error else [],
        kind=outcome.status.value,
        properties={f"iterations of {loop}": count for loop, count in outcome.iterations.items()},
    )
