"""State of a reduction: the best candidate so far, its values, and the remaining budget."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.errors import InterruptError
from ...runtime.model import Data
from ..compare.running.value_comparison import Tolerance, compare
from .documents.document import Document, DocumentNode, ReductionCandidate
from .interestingness import InterestingnessTest, Observation, run_document

#: Result of an edit of a document: its new inputs, or whether it changed.
DocumentEdit = Callable[[Document], Mapping[str, Data] | bool | None]

#: Parts that are kept in case the best one does not show the finding again.
_MAX_PREVIOUS = 16


class BudgetExhausted(Exception):
    """The budget of tests or time is exhausted."""


class ReductionSession:
    """One reduction. ``best`` always shows the finding; ``say`` is called with progress messages.

    ``most``: maximum number of tests; ``seconds``: time limit.
    """

    def __init__(
        self,
        predicate: InterestingnessTest,
        start: ReductionCandidate,
        observation: Observation,
        *,
        limit: int | None = None,
        most: int = 1000,
        seconds: float = 300.0,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.predicate = predicate
        self.best = start
        self.observation = observation
        #: The last parts that showed the finding before the best one.
        self.previous: deque[tuple[ReductionCandidate, Observation]] = deque(maxlen=_MAX_PREVIOUS)
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
        """Test a candidate; if it shows the finding, it becomes the best.

        Raises:
            BudgetExhausted: the budget is exhausted.
        """
        if candidate is None:
            return False
        candidate = candidate.remove_dead()
        key = _candidate_key(candidate)
        if key == self._best_key:  # an edit without effect
            return True
        if key in self._rejected_keys or not all(document.outputs for document in candidate.documents):
            return False
        if self.tests >= self._max_tests or time.monotonic() > self._deadline:
            raise BudgetExhausted
        self.tests += 1
        self._report_progress(f"{self.current_pass}: {self.best.node_count} nodes, test {self.tests}")
        result = self.predicate(candidate) if all(document.is_valid() for document in candidate.documents) else None
        if result is None:
            self._rejected_keys.add(key)
            return False
        self.previous.append((self.best, self.observation))
        self.best, self.observation, self._best_key = candidate, result, key
        return True

    def apply_edit(self, edit: DocumentEdit, every: bool = True) -> ReductionCandidate | None:
        """Return the best candidate with an edit; None if there is nothing to edit. ``every``: in each of two
        documents; otherwise their results would not be comparable."""
        new = self.best.copy()
        inputs, results = dict(new.inputs), []
        for document in new.documents:
            try:
                change = edit(document)
            except (KeyError, IndexError, StopIteration):  # one of two documents may have no such node
                return None
            results.append(change is not None and change is not False)
            if isinstance(change, Mapping):
                inputs.update(change)
        return ReductionCandidate(new.documents, inputs) if (all if every else any)(results) else None

    def attempt_edit(self, edit: DocumentEdit, every: bool = True) -> bool:
        """Test the best candidate with an edit."""
        return self.attempt(self.apply_edit(edit, every))

    # -- values of the best candidate

    def values(self) -> dict[str, Data]:
        """Return all values of the main graph; fewer if some cannot be computed."""
        if self._values_cache is None or self._values_cache[0] is not self.best:
            self._values_cache = (
                self.best,
                document_values(self.main_document, self.best.inputs_for(self.main_document), self.limit),
            )
        return self._values_cache[1]

    def shared_values(self) -> dict[str, Data]:
        """Return the values of the main graph that all documents compute, bit for bit: where they can be cut."""
        shared = self.values()
        for document in self.best.documents[1:]:
            others = document_values(document, self.best.inputs_for(document), self.limit)
            shared = {
                name: value
                for name, value in shared.items()
                if name in others and not compare(value, others[name], Tolerance(0.0, 0.0)).kind
            }
        return shared

    def carried_state(self, key: str, index: int, values: Mapping[str, Data]) -> list[Data] | None:
        """Return the carried values of a loop of the main graph at an iteration."""
        document = self.main_document.copy()
        try:
            names = document.initial_value_names(key)
        except KeyError:  # an initial value that is a slice
            return None
        inputs = self.best.inputs_for(self.main_document)
        if index:
            new_inputs = document.limit_iterations(key, (), index, values)
            if new_inputs is not None:  # else it has no more iterations anyway
                inputs |= new_inputs
            names = document.final_value_names(key)
            document.set_outputs(dict.fromkeys(names))
            document.remove_dead()
            inputs = {name: inputs[name] for name in document.inputs if name in inputs}
            values = run_document(document, inputs, self.limit) or {}
        if any(values.get(name) is None for name in names):
            return None
        return [values[name] for name in names]

    def trip_count(self, step: DocumentNode) -> int:
        """Return the number of iterations of a loop of the main graph; 0 if unknown."""
        try:
            model = self.main_document.build_model()
            run = model.execute(self.best.inputs_for(self.main_document), max_iterations=self.limit)
        except InterruptError:
            raise
        except Exception:
            return 0
        for node in model.loops:
            names = {value.name for value in node.loop.outputs if value is not None}
            if names & set(step.outputs) or node.name == step.name:
                return next((total.iterations for total in run.loops if total.path == node.path), 0)
        return 0


def document_values(document: Document, inputs: Mapping[str, Data], limit: int | None) -> dict[str, Data]:
    """Return all values of the main graph of a document: inputs, constants and results."""
    names = [name for step in document.nodes() for name in step.outputs]
    results = _evaluate_values(document, names, inputs, limit)
    if results is None and document.is_over_requests:  # a value may grow from request to request
        single_results = (_evaluate_values(document, [name], inputs, limit) for name in names)
        results = {name: value for values in single_results if values is not None for name, value in values.items()}
    values: dict[str, Any] = {**document.constants(), **inputs, **(results or {})}
    return {name: value for name, value in values.items() if value is not None}


def _evaluate_values(
    document: Document, names: Sequence[str], inputs: Mapping[str, Data], limit: int | None
) -> dict[str, Data] | None:
    """The values with these names; None if one of them cannot be computed."""
    complete = document.copy()
    complete.set_outputs(dict.fromkeys(names))
    return run_document(complete, inputs, limit)


def _candidate_key(candidate: ReductionCandidate) -> int:
    """The hash of a candidate."""
    parts: list[Any] = [item.content_key() for item in candidate.documents]
    for name in sorted(candidate.inputs):
        value = candidate.inputs[name]
        arrays = value if isinstance(value, list | tuple) else [value]
        parts += [name, *(pickle.dumps(np.asarray(item)) for item in arrays)]
    return hash(tuple(parts))
