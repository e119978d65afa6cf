"""Cases of one model, one after the other, as rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...runtime.errors import LoopdbgError, UsageError, one_line
from ...runtime.inputs import Data
from ...runtime.model import Model
from .cases import Case, RandomCases, Reader
from .examine import Examiner
from .job import MAIN, Job
from .measures import Measures
from .outcome import Outcome
from .probe import Probe
from .row import Cells, Status

if TYPE_CHECKING:
    from .against import Other


class Executor:
    """Runs the cases of one job. A model that cannot be opened is an error of its rows. ``model``: where it is open
    already."""

    def __init__(self, job: Job, model: Model | None = None) -> None:
        self._job = job
        self._why_not = ""
        self._armed = not (job.wanted.asserts or job.wanted.breaks)
        self._exact = False
        self._other: Other | None = None
        try:
            self._open(job.open() if model is None else model)
        except UsageError:
            raise
        except (LoopdbgError, MemoryError) as error:
            self._why_not = _told(error)

    def _open(self, model: Model) -> None:
        wanted = self._job.wanted
        measures = Measures(model, wanted.measures)
        self._read: Reader = self._job.cases.reader(model)
        self._probe = Probe(model, wanted, measures)
        self._examiner = Examiner(model, wanted, measures)
        # What reads other iterations needs a session that knows them.
        self._exact = measures.uses_history
        self._measures = range(len(wanted.measures))
        self._loops = range(len(model.plan.loops)) or (MAIN,)
        if wanted.against:
            # Here and below: what compares nothing need not wait for what compares.
            from .against import other_side

            self._other = other_side(model, self._job)

    def close(self) -> None:
        """End what was started for it."""
        if self._other is not None:
            self._other.close()

    def use(self, reader_of: Job) -> None:
        """Take the cases from another set, which has those that come next."""
        if not self._why_not:
            self._read = reader_of.cases.reader(self._probe.model)

    def rows(self, number: int) -> list[Cells]:
        """Run a case."""
        start = time.perf_counter()
        name = self._job.cases.name_of(number)
        if self._why_not:
            return failed(self._job, number, Status.ERROR, self._why_not)
        seed = None
        try:
            case = self._read(number)
            seed = case.seed
            outcome = self._run(name, case)
        except (LoopdbgError, MemoryError) as error:
            outcome = Outcome(Status.ERROR, [(0, None)] * len(self._loops), message=_told(error))
        seconds = time.perf_counter() - start
        return [self._row(loop, number, name, seed, outcome, seconds) for loop in self._loops]

    def _row(self, loop: int, number: int, name: str, seed: int | None, outcome: Outcome, seconds: float) -> Cells:
        iterations, stopped_by = outcome.totals[loop] if loop >= 0 else (None, None)
        bad = outcome.bad
        at, node = (bad[1], bad[2]) if bad is not None and bad[0] == loop else (None, None)
        first = number, loop, name, seed, iterations, stopped_by, outcome.status._value_, at, node
        row = (*first, outcome.message, outcome.outputs, seconds)
        if not self._measures:
            return row
        taken = outcome.measured
        return (*row, *(taken.get((loop, k), taken.get((MAIN, k))) for k in self._measures))

    def _run(self, name: str, case: Case) -> Outcome:
        if not self._armed:
            # A case whose inputs do not fit arms nothing.
            breakpoints = self._examiner.breakpoints(case.inputs)
            self._exact = not self._probe.arm(breakpoints) or self._exact
            self._armed = True
        outcome = None if self._exact else self._probe.run(case.inputs)
        outputs: Mapping[str, Data] = self._probe.outputs
        if outcome is None:
            outcome = self._examiner.run(case.inputs)
            outputs = self._examiner.outputs
        if outcome.status is Status.OK and (case.expected or self._other is not None):
            self._compare(name, case, outcome, outputs)
        return outcome

    def _compare(self, name: str, case: Case, outcome: Outcome, outputs: Mapping[str, Data]) -> None:
        from .against import differing

        told = differing(outputs, case.expected)
        if told:
            outcome.status, outcome.message = Status.DIFFERS, told
        elif self._other is not None:
            self._other.compare(name, case, outcome, outputs)


def _told(error: Exception) -> str:
    """What is wrong; what can be done about it is said by whoever shows the row."""
    return " ".join(error.what.split()) if isinstance(error, LoopdbgError) else one_line(error)


def failed(job: Job, number: int, status: Status, message: str) -> list[Cells]:
    """The rows of a case that did not run, or whose process is gone."""
    seed = job.cases.seed_of(number) if isinstance(job.cases, RandomCases) else None
    name = job.cases.name_of(number)
    rest = (None, None, status.value, None, None, message, "", 0.0, *(None for _ in job.wanted.measures))
    return [(number, loop, name, seed, *rest) for loop in range(len(job.loops)) or (MAIN,)]
