"""Where candidates are tested: the best so far, what it computes, and how much may still be tried."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...runtime.errors import InterruptError
from ...runtime.model import Data
from .documents.document import Document, DocumentNode, ReductionCandidate
from .interestingness import InterestingnessTest, Observation, run_document

#: What a change of a document gives: its new inputs, or whether there was anything to change.
DocumentEdit = Callable[[Document], Mapping[str, Data] | bool | None]


class BudgetExhausted(Exception):
    """No more may be tried."""


class ReductionSession:
    """One reduction. ``best`` shows the finding at any time; ``say`` is told what is tried.

    ``most``: how many tests; ``seconds``: how long.
    """

    def __init__(
        self,
        predicate: InterestingnessTest,
        start: ReductionCandidate,
        shown: Observation,
        *,
        limit: int | None = None,
        most: int = 1000,
        seconds: float = 300.0,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.predicate = predicate
        self.best = start
        self.observation = shown
        self.limit = limit
        self.tests = 0
        self.current_pass = ""
        self._max_tests = most
        self._deadline = time.monotonic() + seconds
        self._report_progress = say
        self._rejected_keys: set[int] = set()
        self._best_key = _candidate_key(start)
        self._values_cache: tuple[ReductionCandidate, dict[str, Data]] | None = None

    @property
    def main_document(self) -> Document:
        """The first document: the one whose values are recorded."""
        return self.best.documents[0]

    def attempt(self, candidate: ReductionCandidate | None) -> bool:
        """Whether a candidate shows the finding; then it is the best.

        Raises:
            Spent: no more may be tried.
        """
        if candidate is None:
            return False
        candidate = candidate.remove_dead()
        mark = _candidate_key(candidate)
        if mark == self._best_key:  # a change that changes nothing
            return True
        if mark in self._rejected_keys or not all(one.outputs for one in candidate.documents):
            return False
        if self.tests >= self._max_tests or time.monotonic() > self._deadline:
            raise BudgetExhausted
        self.tests += 1
        self._report_progress(f"{self.current_pass}: {self.best.node_count} nodes, test {self.tests}")
        shown = self.predicate(candidate) if all(one.is_valid() for one in candidate.documents) else None
        if shown is None:
            self._rejected_keys.add(mark)
            return False
        self.best, self.observation, self._best_key = candidate, shown, mark
        return True

    def apply_edit(self, act: DocumentEdit, every: bool = True) -> ReductionCandidate | None:
        """The best with a change; None where there is nothing to change. ``every``: in each of two documents, or else
        what one of them computes would be held against what the other is given."""
        new = self.best.copy()
        inputs, done = dict(new.inputs), []
        for document in new.documents:
            try:
                made = act(document)
            except (KeyError, IndexError, StopIteration):  # of two that differ one may have no such node
                return None
            done.append(made is not None and made is not False)
            if isinstance(made, Mapping):
                inputs.update(made)
        return ReductionCandidate(new.documents, inputs) if (all if every else any)(done) else None

    def attempt_edit(self, act: DocumentEdit, every: bool = True) -> bool:
        """Whether the best still shows the finding after a change."""
        return self.attempt(self.apply_edit(act, every))

    # -- what the best computes

    def values(self) -> dict[str, Data]:
        """All values of the main graph; fewer where they cannot be had."""
        if self._values_cache is None or self._values_cache[0] is not self.best:
            self._values_cache = (
                self.best,
                document_values(self.main_document, self.best.inputs_for(self.main_document), self.limit),
            )
        return self._values_cache[1]

    def carried_state(self, key: str, at: int, values: Mapping[str, Data]) -> list[Data] | None:
        """What a loop of the main graph carries into an iteration."""
        document = self.main_document.copy()
        try:
            names = document.initial_names(key)
        except KeyError:  # what begins with a part of something that is sliced
            return None
        inputs = self.best.inputs_for(self.main_document)
        if at:
            made = document.limit_iterations(key, (), at, values)
            if made is not None:  # else it runs no longer in any case
                inputs |= made
            names = document.final_names(key)
            document.set_outputs(dict.fromkeys(names))
            document.remove_dead()
            inputs = {name: inputs[name] for name in document.inputs if name in inputs}
            values = run_document(document, inputs, self.limit) or {}
        if any(values.get(name) is None for name in names):
            return None
        return [values[name] for name in names]

    def trip_count(self, step: DocumentNode) -> int:
        """How many iterations a loop of the main graph runs; 0 where that is not known."""
        try:
            model = self.main_document.build_model()
            run = model.execute(self.best.inputs_for(self.main_document), max_iterations=self.limit)
        except InterruptError:
            raise
        except Exception:
            return 0
        for node in model.loops:
            named = {value.name for value in node.loop.outputs if value is not None}
            if named & set(step.outputs) or node.name == step.name:
                return next((total.iterations for total in run.loops if total.path == node.path), 0)
        return 0


def document_values(document: Document, inputs: Mapping[str, Data], limit: int | None) -> dict[str, Data]:
    """All values of the main graph of a document: its inputs, constants, and what its nodes make."""
    names = [name for step in document.nodes() for name in step.outputs]
    every = document.copy()
    every.set_outputs(dict.fromkeys(names))
    found: dict[str, Any] = {**document.constants(), **inputs, **(run_document(every, inputs, limit) or {})}
    return {name: value for name, value in found.items() if value is not None}


def _candidate_key(candidate: ReductionCandidate) -> int:
    """A number that stands for a candidate."""
    parts: list[Any] = [one.content_key() for one in candidate.documents]
    for name in sorted(candidate.inputs):
        value = candidate.inputs[name]
        arrays = value if isinstance(value, list | tuple) else [value]
        parts += [name, *(pickle.dumps(np.asarray(one)) for one in arrays)]
    return hash(tuple(parts))
