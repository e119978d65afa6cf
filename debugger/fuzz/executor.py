"""Rounds of a fuzzing campaign in one process: mutate inputs, run them, shrink those that fail."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from ...runtime.graph import walk
from ...runtime.model import Model
from ..input_space.shrink import shrink
from ..input_space.space import Inputs, InputSpace
from ..sweep.job import SweepJob
from .finding import FindingKind, FuzzFinding
from .job import DEFAULT_MAX_ITERATIONS, Corpus, FuzzJob
from .last_inputs import LastInputs
from .minimal_pair import find_minimal_pair
from .trial import TrialRunner

#: Elements of a constant whose values are tried in inputs, and values in the pool of them.
_MAX_CONSTANT_ELEMENTS, _MAX_POOL = 16, 256
#: Probability of inputs that are drawn rather than mutated, and of the newest entries of the corpus among the others.
_DRAW_PROBABILITY, _NEWEST_PROBABILITY, _NEWEST = 0.1, 0.4, 8
#: How often a failure is looked at that does not repeat, or shows no fault.
_MAX_DISMISSED = 5
#: Runs and seconds to shrink one finding.
_MAX_SHRINK_TESTS, _MAX_SHRINK_SECONDS = 3000, 60.0


@dataclass
class RoundResult:
    """What a round found. ``entries``: inputs with new features; ``runs``: the number of runs."""

    runs: int = 0
    entries: list[Inputs] = field(default_factory=list)
    findings: list[FuzzFinding] = field(default_factory=list)


class FuzzExecutor:
    """Runs the rounds of a job, as :class:`CaseExecutor` runs the cases of a sweep."""

    def __init__(self, job: FuzzJob, model: Model | None = None) -> None:
        self.model = job.open() if model is None else model
        self.space = InputSpace(self.model, job.dims, job.constraints)
        self._trial = TrialRunner(job, self.model)
        self._max_iterations = job.spec.max_iterations or DEFAULT_MAX_ITERATIONS
        self._corpus: Any = job.cases
        self._entries: list[Inputs] = []
        self._seen_entries = 0
        self._features: set[int] = set()
        #: How often a failure did not repeat, or showed no fault.
        self._dismissed: Counter[tuple[str, str]] = Counter()
        self._known = self._trial.known
        self._pool = _model_constants(self.model)
        self._pool_set = set(map(repr, self._pool))
        self.use_corpus(job.cases)
        if job.spec.against:
            # A peer starts while the model is opened, whose time is not that of a run.
            self._trial.run(next(self.space.edge_cases()))

    def close(self) -> None:
        """Release the resources of the job."""
        self._trial.executor.close()

    def adopt_cases_of(self, other: SweepJob) -> None:
        """Use the corpus of another job, which has the inputs of other processes as well."""
        self.use_corpus(other.cases)

    def use_corpus(self, corpus: Any) -> None:
        """Use a corpus from the next round on."""
        assert isinstance(corpus, Corpus)
        self._corpus = corpus
        self._known |= corpus.known

    def run(self, numbers: range, on_begin: Callable[[int], object]) -> Iterator[list[Any]]:
        """Run rounds and yield the result of each. ``on_begin`` is called before each run of the model."""
        for number in numbers:
            on_begin(number)
            files = self._corpus.last_inputs
            last_inputs = LastInputs(files[number - self._corpus.first]) if files else None

            def before_run(inputs: Inputs, number: int = number, kept: LastInputs | None = last_inputs) -> None:
                on_begin(number)
                if kept is not None:
                    kept.write(inputs)

            yield [self._run_round(number, before_run)]
            if last_inputs is not None:
                last_inputs.close()

    def _run_round(self, number: int, on_run: Callable[[Inputs], object]) -> RoundResult:
        corpus: Corpus = self._corpus
        result = RoundResult()
        random = np.random.default_rng((corpus.seed, number))
        deadline = time.monotonic() + corpus.seconds
        # The entries of other processes, which are known there only by what they do.
        for entry in islice(corpus.entries, self._seen_entries, None):
            self._try_inputs(dict(entry), RoundResult(), on_run)
        self._seen_entries = len(corpus.entries)
        if corpus.parts:
            for k, inputs in enumerate(self.space.edge_cases()):
                if k % corpus.parts == number - corpus.first:
                    self._try_inputs(inputs, result, on_run)
        while time.monotonic() < deadline:
            self._try_inputs(self._next_inputs(random), result, on_run)
        return result

    def _next_inputs(self, random: np.random.Generator) -> Inputs:
        entries = self._entries
        if not entries or random.random() < _DRAW_PROBABILITY:
            return self.space.draw(random, self._pool)
        newest = random.random() < _NEWEST_PROBABILITY
        first = max(len(entries) - _NEWEST, 0) if newest else 0
        chosen = entries[random.integers(first, len(entries))]
        other = entries[random.integers(len(entries))]
        return self.space.mutate(chosen, random, self._pool, other)

    def _try_inputs(self, inputs: Inputs, result: RoundResult, on_run: Callable[[Inputs], object]) -> None:
        """Run inputs; keep them if they have a new feature, and shrink a new failure."""
        if not self.space.admits(inputs):
            return
        on_run(inputs)
        with self._trial.shortened_timeout():
            finding = self._trial.run(inputs)
        result.runs += 1
        features = self._trial.features
        if not features <= self._features:
            self._features |= features
            self._entries.append(inputs)
            result.entries.append(inputs)
            self._extend_pool(self._trial.operands)
        if finding is not None and finding.signature not in self._known:
            self._known.add(finding.signature)
            minimal = self._minimize_finding(finding, on_run, result)
            if minimal is not None:
                result.findings.append(minimal)
            elif self._dismissed[finding.signature] < _MAX_DISMISSED:
                self._dismissed[finding.signature] += 1
                self._known.discard(finding.signature)

    def _extend_pool(self, operands: set[int | float]) -> None:
        for value in operands:
            if len(self._pool) < _MAX_POOL and repr(value) not in self._pool_set and math.isfinite(value):
                self._pool_set.add(repr(value))
                self._pool.append(value)

    def _minimize_finding(
        self, finding: FuzzFinding, on_run: Callable[[Inputs], object], result: RoundResult
    ) -> FuzzFinding | None:
        """Shrink a finding and look for inputs next to it that pass. None: the failure does not repeat."""

        def run(inputs: Inputs) -> FuzzFinding | None:
            on_run(inputs)
            result.runs += 1
            return self._trial.run(inputs)

        def fails(inputs: Inputs) -> bool:
            other = run(inputs)
            return other is not None and other.signature == finding.signature

        def verdict(inputs: Inputs) -> bool | None:
            return False if fails(inputs) else True if self._trial.passed else None

        inputs: Inputs = dict(finding.inputs)
        on_run(inputs)
        equal = self.space.with_equal_sizes(inputs) if finding.kind is FindingKind.ERROR else None
        if self._trial.locate(inputs) is None or (equal is not None and not fails(equal)):
            return None
        minimal, pair = False, None
        if finding.kind is not FindingKind.TIMEOUT:
            with self._trial.reproduction_mode():
                inputs, minimal, _ = shrink(self.space, inputs, fails, _MAX_SHRINK_TESTS, _MAX_SHRINK_SECONDS)
                pair = find_minimal_pair(self.model, self.space, inputs, verdict, self._max_iterations)
        on_run(inputs)
        final = self._trial.locate(inputs)
        return None if final is None else replace(final, minimal=minimal, pair=pair)


def _model_constants(model: Model) -> list[Any]:
    """Numbers in the model, and those next to them."""
    values: dict[str, Any] = {}
    constants: list[Any] = [value.constant for value in model.plan.slots if value.constant is not None]
    constants += [
        attribute
        for node in walk(model.graph)
        for attribute in getattr(node, "attributes", {}).values()
        if isinstance(attribute, np.ndarray | int | float)
    ]
    for constant in constants:
        array = np.asarray(constant)
        if array.size > _MAX_CONSTANT_ELEMENTS or array.dtype.hasobject or array.dtype.kind in "bcSUV":
            continue
        for element in array.ravel():
            number = int(element) if "int" in array.dtype.name else float(element)
            if math.isfinite(number):
                values.update((repr(n), n) for n in (number, number + 1, number - 1))
    return list(values.values())[:_MAX_POOL]
