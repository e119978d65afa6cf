"""A fuzzing campaign: rounds in worker processes, which share a corpus, until the time is over."""

from __future__ import annotations

import pickle
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...runtime.errors import LoopdbgError
from ...runtime.input_validation import Data
from ...runtime.model import Model
from ..coverage.recorder import CoverageRecorder
from ..coverage.report import Coverage
from ..sweep.row import STATUS_INDEX, Status
from ..sweep.schedule import SweepSchedule
from ..sweep.worker_pool import RowBatch, WorkerPool
from .executor import FuzzExecutor, RoundResult
from .finding import FindingKind, FuzzFinding
from .folder import FuzzFolder
from .job import Corpus, FuzzJob
from .last_inputs import LastInputs

#: Seconds of a round, after which processes exchange their inputs; bytes of inputs that are sent at most.
_ROUND_SECONDS, _MAX_CORPUS_BYTES = 1.0, 8 << 20


@dataclass(frozen=True)
class SavedFinding:
    """A finding and the file of its case."""

    finding: FuzzFinding
    path: Path


class FuzzCampaign:
    """A campaign in a folder, which a later one continues.

    Args:
        job: the model and what is checked.
        model: the open model.
        folder: an open folder.
        seed: of the first campaign; later ones go on with other rounds.
        processes: worker processes; 0: rounds run in this process, and a crash or a hang ends it.
        dask: the address of a cluster to use instead, or ``local``.

    ``runs``: how often the model ran, with earlier campaigns. ``entries``: the corpus. ``seconds``: of this one.
    """

    def __init__(
        self, job: FuzzJob, model: Model, folder: FuzzFolder, seed: int = 0, processes: int = 1, dask: str | None = None
    ) -> None:
        self._job, self._model, self._folder, self._seed = job, model, folder, seed
        self._processes, self._dask = processes, dask
        self.entries: list[dict[str, Data]] = folder.read_entries()
        self._known = {(str(kind), str(detail)) for kind, detail in (f["signature"] for f in folder.state["findings"])}
        self._first_round = True
        self.runs = int(folder.state["runs"])
        self.seconds = 0.0

    def run(self, seconds: float) -> Generator[SavedFinding, None, None]:
        """Fuzz for some seconds; yield findings when they are written.

        Raises:
            LoopdbgError: a file cannot be written, or processes cannot start.
        """
        start = time.monotonic()
        with ExitStack() as stack:
            rounds = self._make_round_runner(stack)
            workers = rounds.workers
            try:
                while (remaining := seconds - (time.monotonic() - start)) > 0:
                    yield from self._run_generation(rounds, workers, min(_ROUND_SECONDS, remaining))
            finally:
                self.seconds = time.monotonic() - start

    def coverage(self) -> Coverage:
        """The coverage of the corpus and of the findings."""
        recorder = CoverageRecorder(self._model, accumulate=True)
        for inputs in (*self.entries, *self._folder.read_findings()):
            with suppress(LoopdbgError):
                self._model.reset()
                self._model.execute(inputs, max_iterations=self._job.spec.max_iterations, observer=recorder)
        return recorder.coverage

    def _make_round_runner(self, stack: ExitStack) -> _RoundRunner:
        if self._dask is not None:
            from ..sweep.dask_cluster import DaskCluster

            cluster = stack.enter_context(DaskCluster(self._dask, [self._job], self._processes))
            return _RoundRunner(cluster, cluster.threads)
        if not self._processes:
            executor = FuzzExecutor(self._job, self._model)
            stack.callback(executor.close)
            return _RoundRunner(_LocalRounds(executor), 1)
        pool = stack.enter_context(WorkerPool({0: self._job}, self._processes))
        return _RoundRunner(pool, self._processes, stack.enter_context(LastInputs.files(self._processes)))

    def _run_generation(self, rounds: _RoundRunner, workers: int, seconds: float) -> Iterator[SavedFinding]:
        """One round in each worker."""
        state = self._folder.state
        start = state["rounds"]
        corpus = Corpus(
            self._sendable_entries(),
            frozenset(self._known),
            self._seed,
            seconds,
            start,
            workers if self._first_round else 0,
            rounds.last_inputs,
        )
        self._first_round = False
        state["rounds"] = start + workers
        schedule = SweepSchedule([[(start, start + workers)]], workers)
        new: list[dict[str, Data]] = []
        for batch in rounds.run(schedule, corpus):
            for item in batch.rows:
                result = item if isinstance(item, RoundResult) else self._lost_round_result(item, corpus)
                self.runs += result.runs
                new += result.entries
                for finding in result.findings:
                    if finding.signature not in self._known:
                        self._known.add(finding.signature)
                        yield self._save_finding(finding)
        self.entries += new
        self._folder.add_entries(new)
        state["runs"] = self.runs
        self._folder.save_state()

    def _sendable_entries(self) -> list[dict[str, Data]]:
        """The newest entries, as far as they may be sent."""
        size, count = 0, 0
        for inputs in reversed(self.entries):
            size += len(pickle.dumps(inputs))
            if size > _MAX_CORPUS_BYTES:
                break
            count += 1
        return self.entries[len(self.entries) - count :]

    def _save_finding(self, finding: FuzzFinding) -> SavedFinding:
        path = self._folder.add_finding(finding)
        self._folder.state["runs"] = self.runs
        self._folder.save_state()
        return SavedFinding(finding, path)

    def _lost_round_result(self, row: tuple[Any, ...], corpus: Corpus) -> RoundResult:
        """The result of a round whose process ended: the inputs that it ran last."""
        inputs = LastInputs.read(corpus.last_inputs[row[0] - corpus.first]) if corpus.last_inputs else None
        if inputs is None:
            return RoundResult()
        kind = FindingKind.TIMEOUT if row[STATUS_INDEX] == Status.TIMEOUT else FindingKind.KILLED
        message = next(str(cell) for cell in row[STATUS_INDEX + 1 :] if isinstance(cell, str))
        return RoundResult(1, [], [FuzzFinding(kind, inputs, message)])


@dataclass
class _RoundRunner:
    """What runs rounds. ``last_inputs``: a file for each worker with the inputs that it runs."""

    _runner: Any
    workers: int
    last_inputs: tuple[str, ...] = ()

    def run(self, schedule: SweepSchedule, corpus: Corpus) -> Iterator[RowBatch]:
        yield from self._runner.run(schedule, corpus)


class _LocalRounds:
    """Rounds in this process."""

    def __init__(self, executor: FuzzExecutor) -> None:
        self._executor = executor

    def run(self, schedule: SweepSchedule, corpus: Corpus) -> Iterator[RowBatch]:
        self._executor.use_corpus(corpus)
        while (task := schedule.next_task()) is not None:
            for rows in self._executor.run(range(task.start, task.stop), lambda _: None):
                yield RowBatch(0, 1, rows)
