"""Cases of one model, one after the other, as rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ...runtime.errors import LoopdbgError, UsageError, one_line
from ...runtime.inputs import Data
from ...runtime.model import Model
from .cases import Case, RandomCases, Reader
from .job import MAIN, Job
from .outcome import Outcome
from .probe import Probe
from .row import Cells, Status

if TYPE_CHECKING:
    from .against import Other
    from .examine import Examiner
    from .measures import Measures

#: Cases that are read before the first of them runs, and the bytes of inputs at which no more are: code that runs again
#: and again stays in the caches of the processor, which halves the time of a short run.
_AHEAD, _BYTES = 32, 1 << 18


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
        self._measured: Measures | None = None
        self._examiner: Examiner | None = None
        # Here and below: what asks for little need not wait for what examines, measures and compares.
        if wanted.measures:
            from .measures import Measures

            self._measured = Measures(model, wanted.measures)
        self._read: Reader = self._job.cases.reader(model)
        self._probe = Probe(model, wanted, self._measured)
        # What reads other iterations needs a session that knows them.
        self._exact = self._measured is not None and self._measured.uses_history
        self._measures = range(len(wanted.measures))
        self._loops = range(len(model.plan.loops)) or (MAIN,)
        if not self._armed or self._exact:
            from .examine import Examiner

            self._examiner = Examiner(model, wanted, self._measured)
        if wanted.against:
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

    def run(self, numbers: range, begins: Callable[[int], object]) -> Iterator[list[Cells]]:
        """Run cases; the rows of each. ``begins`` is told of a case before it is read, and again before it runs."""
        if self._why_not:
            for number in numbers:
                begins(number)
                yield failed(self._job, number, Status.ERROR, self._why_not)
            return
        while numbers:
            ahead = self._read_ahead(numbers, begins)
            for number, (case, seconds) in zip(numbers, ahead, strict=False):
                begins(number)
                yield self._rows(number, case, seconds)
            numbers = numbers[len(ahead) :]

    def _read_ahead(self, numbers: range, begins: Callable[[int], object]) -> list[tuple[Case | Outcome, float]]:
        """The first of some cases, or what kept one from being read, and the seconds that it took."""
        found: list[tuple[Case | Outcome, float]] = []
        size = 0
        for number in numbers[:_AHEAD]:
            begins(number)
            start = time.perf_counter()
            try:
                case: Case | Outcome = self._read(number)
            except (LoopdbgError, MemoryError) as error:
                case = self._error(error)
            found.append((case, time.perf_counter() - start))
            size += 0 if isinstance(case, Outcome) else _size_of(case)
            if size > _BYTES:
                break
        return found

    def _rows(self, number: int, case: Case | Outcome, seconds: float) -> list[Cells]:
        start = time.perf_counter()
        name = self._job.cases.name_of(number)
        seed = None
        if isinstance(case, Outcome):
            outcome = case
        else:
            seed = case.seed
            try:
                outcome = self._run(name, case)
            except (LoopdbgError, MemoryError) as error:
                outcome = self._error(error)
        seconds += time.perf_counter() - start
        return [self._row(loop, number, name, seed, outcome, seconds) for loop in self._loops]

    def _error(self, error: Exception) -> Outcome:
        return Outcome(Status.ERROR, [(0, None)] * len(self._loops), message=_told(error))

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
        examiner = self._examiner
        if not self._armed and examiner is not None:
            # A case whose inputs do not fit arms nothing.
            breakpoints = examiner.breakpoints(case.inputs)
            self._exact = not self._probe.arm(breakpoints) or self._exact
            self._armed = True
        outcome = None if self._exact else self._probe.run(case.inputs)
        outputs: Mapping[str, Data] = self._probe.outputs
        if outcome is None:
            assert examiner is not None  # for nothing else stops the probe
            outcome = examiner.run(case.inputs)
            outputs = examiner.outputs
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


def _size_of(case: Case) -> int:
    """The bytes of its inputs, about."""
    return sum(getattr(value, "nbytes", 0) for value in case.inputs.values())


def _told(error: Exception) -> str:
    """What is wrong; what can be done about it is said by whoever shows the row."""
    return " ".join(error.what.split()) if isinstance(error, LoopdbgError) else one_line(error)


def failed(job: Job, number: int, status: Status, message: str) -> list[Cells]:
    """The rows of a case that did not run, or whose process is gone."""
    seed = job.cases.seed_of(number) if isinstance(job.cases, RandomCases) else None
    name = job.cases.name_of(number)
    rest = (None, None, status.value, None, None, message, "", 0.0, *(None for _ in job.wanted.measures))
    return [(number, loop, name, seed, *rest) for loop in range(len(job.loops)) or (MAIN,)]
