"""Runs the cases of one model in sequence and yields rows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.errors import LoopdbgError, UsageError, one_line
from ...runtime.input_validation import Data
from ...runtime.model import Model
from .cases import Case, CaseReader, RandomCases
from .fast_runner import FastRunner
from .job import MAIN_GRAPH, SweepJob
from .outcome import CaseOutcome
from .row import RowCells, Status

if TYPE_CHECKING:
    from .debug_runner import DebugRunner
    from .measures import MeasureSet
    from .oracles import Oracle

#: Maximum number of cases and bytes of inputs to read ahead: consecutive runs keep code in the CPU caches, which halves
#: the time of a short run.
_READ_AHEAD_CASES, _READ_AHEAD_BYTES = 32, 1 << 18


class CaseExecutor:
    """Runs the cases of one job. A model that cannot be opened is an error in its rows. ``model``: the model, if it is
    open already."""

    def __init__(self, job: SweepJob, model: Model | None = None) -> None:
        self._job = job
        self._open_error = ""
        self._breakpoints_installed = not (job.spec.asserts or job.spec.breaks)
        self._needs_debugger = False
        self._oracle: Oracle | None = None
        try:
            self._create_runners(job.open() if model is None else model)
        except UsageError:
            raise
        except (LoopdbgError, MemoryError) as error:
            self._open_error = _error_text(error)

    def _create_runners(self, model: Model) -> None:
        spec = self._job.spec
        self._measure_set: MeasureSet | None = None
        self._debug_runner: DebugRunner | None = None
        # Lazy imports, here and below: a simple sweep does not load the debugger, measures and comparisons.
        if spec.measures:
            from .measures import MeasureSet

            self._measure_set = MeasureSet(model, spec.measures)
        self._read_case: CaseReader = self._job.cases.reader(model)
        self._fast_runner = FastRunner(model, spec, self._measure_set)
        # Measures that read other iterations need a session with a history.
        self._needs_debugger = self._measure_set is not None and self._measure_set.uses_history
        self._measure_indices = range(len(spec.measures))
        self._loop_indices = range(len(model.plan.loops)) or (MAIN_GRAPH,)
        if not self._breakpoints_installed or self._needs_debugger:
            from .debug_runner import DebugRunner

            self._debug_runner = DebugRunner(model, spec, self._measure_set)
        if spec.against:
            from .oracles import create_oracle

            self._oracle = create_oracle(model, self._job)

    @property
    def fast_runner(self) -> FastRunner:
        """What runs cases at full speed."""
        return self._fast_runner

    @property
    def oracle(self) -> Oracle | None:
        """The other side of the comparison, if there is one."""
        return self._oracle

    def close(self) -> None:
        """Release the resources of the job."""
        if self._oracle is not None:
            self._oracle.close()

    def adopt_cases_of(self, other: SweepJob) -> None:
        """Use the cases of another job, which has the next ones."""
        if not self._open_error:
            self._read_case = other.cases.reader(self._fast_runner.model)

    def run(self, numbers: range, on_begin: Callable[[int], object]) -> Iterator[list[RowCells]]:
        """Run cases and yield the rows of each. ``on_begin`` is called before a case is read and before it runs."""
        if self._open_error:
            for number in numbers:
                on_begin(number)
                yield failed_rows(self._job, number, Status.ERROR, self._open_error)
            return
        while numbers:
            cases = self._read_ahead(numbers, on_begin)
            for number, (case, seconds) in zip(numbers, cases, strict=False):
                on_begin(number)
                yield self._case_rows(number, case, seconds)
            numbers = numbers[len(cases) :]
        if self._fast_runner.coverage is not None:
            from ..coverage.report_files import save_coverage

            path = Path(self._job.spec.coverage) / f"{os.getpid()}-{self._job.number}.json"
            save_coverage(path, [(self._fast_runner.coverage.coverage, None)])

    def _read_ahead(self, numbers: range, on_begin: Callable[[int], object]) -> list[tuple[Case | CaseOutcome, float]]:
        """Read the first cases; each item is a case, or the outcome of a failed read, and the seconds that it took."""
        cases: list[tuple[Case | CaseOutcome, float]] = []
        size = 0
        for number in numbers[:_READ_AHEAD_CASES]:
            on_begin(number)
            start = time.perf_counter()
            try:
                case: Case | CaseOutcome = self._read_case(number)
            except (LoopdbgError, MemoryError) as error:
                case = self._error_outcome(error)
            cases.append((case, time.perf_counter() - start))
            size += 0 if isinstance(case, CaseOutcome) else _input_bytes(case)
            if size > _READ_AHEAD_BYTES:
                break
        return cases

    def _case_rows(self, number: int, case: Case | CaseOutcome, seconds: float) -> list[RowCells]:
        start = time.perf_counter()
        name = self._job.cases.name_of(number)
        seed = None
        if isinstance(case, CaseOutcome):
            outcome = case
        else:
            seed = case.seed
            try:
                outcome = self.run_case(name, case)
            except (LoopdbgError, MemoryError) as error:
                outcome = self._error_outcome(error)
        seconds += time.perf_counter() - start
        return [self._make_row(loop, number, name, seed, outcome, seconds) for loop in self._loop_indices]

    def _error_outcome(self, error: Exception) -> CaseOutcome:
        return CaseOutcome(Status.ERROR, [(0, None)] * len(self._loop_indices), message=_error_text(error))

    def _make_row(
        self, loop: int, number: int, name: str, seed: int | None, outcome: CaseOutcome, seconds: float
    ) -> RowCells:
        iterations, stopped_by = outcome.totals[loop] if loop >= 0 else (None, None)
        bad = outcome.failure_location
        iteration, node = (bad[1], bad[2]) if bad is not None and bad[0] == loop else (None, None)
        first = number, loop, name, seed, iterations, stopped_by, outcome.status._value_, iteration, node
        row = (*first, outcome.message, outcome.outputs, seconds)
        if not self._measure_indices:
            return row
        measured = outcome.measured
        return (*row, *(measured.get((loop, k), measured.get((MAIN_GRAPH, k))) for k in self._measure_indices))

    def run_case(self, name: str, case: Case) -> CaseOutcome:
        """Run a case and compare its outputs.

        Raises:
            LoopdbgError: the inputs do not fit, or the outputs cannot be compared.
        """
        examiner = self._debug_runner
        if not self._breakpoints_installed and examiner is not None:
            # A case whose inputs do not fit installs no breakpoints.
            breakpoints = examiner.breakpoints(case.inputs)
            self._needs_debugger = not self._fast_runner.install_breakpoints(breakpoints) or self._needs_debugger
            self._breakpoints_installed = True
        outcome = None if self._needs_debugger else self._fast_runner.run(case.inputs)
        outputs: Mapping[str, Data] = self._fast_runner.outputs
        if outcome is None:
            assert examiner is not None  # nothing else stops the fast runner
            outcome = examiner.run(case.inputs)
            outputs = examiner.outputs
        if outcome.status is Status.OK and (case.expected or self._oracle is not None):
            self._compare_outputs(name, case, outcome, outputs)
        return outcome

    def _compare_outputs(self, name: str, case: Case, outcome: CaseOutcome, outputs: Mapping[str, Data]) -> None:
        from .oracles import first_mismatch

        mismatch = first_mismatch(outputs, case.expected)
        if mismatch:
            outcome.status, outcome.message = Status.DIFFERS, mismatch
        elif self._oracle is not None:
            self._oracle.compare(name, case, outcome, outputs)


def _input_bytes(case: Case) -> int:
    """The approximate number of bytes of the inputs of a case."""
    return sum(getattr(value, "nbytes", 0) for value in case.inputs.values())


def _error_text(error: Exception) -> str:
    """The text of an error without its hint, which the display of a row adds."""
    return " ".join(error.what.split()) if isinstance(error, LoopdbgError) else one_line(error)


def failed_rows(job: SweepJob, number: int, status: Status, message: str) -> list[RowCells]:
    """Return the rows of a case that did not run, or whose process ended."""
    seed = job.cases.seed_of(number) if isinstance(job.cases, RandomCases) else None
    name = job.cases.name_of(number)
    rest = (None, None, status.value, None, None, message, "", 0.0, *(None for _ in job.spec.measures))
    return [(number, loop, name, seed, *rest) for loop in range(len(job.loops)) or (MAIN_GRAPH,)]
