"""Where candidates are tested: the best so far, what it computes, and how much may still be tried."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...runtime.errors import InterruptError
from ...runtime.model import Data
from .document import Candidate, Document, Step
from .predicate import Predicate, Shown, ours

#: What a change of a document gives: its new inputs, or whether there was anything to change.
Change = Callable[[Document], Mapping[str, Data] | bool | None]


class Spent(Exception):
    """No more may be tried."""


class Lab:
    """One reduction. ``best`` shows the finding at any time; ``say`` is told what is tried.

    ``most``: how many tests; ``seconds``: how long.
    """

    def __init__(
        self,
        predicate: Predicate,
        start: Candidate,
        shown: Shown,
        *,
        limit: int | None = None,
        most: int = 1000,
        seconds: float = 300.0,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.predicate = predicate
        self.best = start
        self.shown = shown
        self.limit = limit
        self.tests = 0
        self.doing = ""
        self._most = most
        self._end = time.monotonic() + seconds
        self._say = say
        self._failed: set[int] = set()
        self._mark = _mark(start)
        self._known: tuple[Candidate, dict[str, Data]] | None = None

    @property
    def main(self) -> Document:
        """The first document: the one whose values are recorded."""
        return self.best.documents[0]

    def attempt(self, candidate: Candidate | None) -> bool:
        """Whether a candidate shows the finding; then it is the best.

        Raises:
            Spent: no more may be tried.
        """
        if candidate is None:
            return False
        candidate = candidate.cleaned()
        mark = _mark(candidate)
        if mark == self._mark:  # a change that changes nothing
            return True
        if mark in self._failed or not all(one.outputs for one in candidate.documents):
            return False
        if self.tests >= self._most or time.monotonic() > self._end:
            raise Spent
        self.tests += 1
        self._say(f"{self.doing}: {self.best.count} nodes, test {self.tests}")
        shown = self.predicate(candidate) if all(one.is_valid() for one in candidate.documents) else None
        if shown is None:
            self._failed.add(mark)
            return False
        self.best, self.shown, self._mark = candidate, shown, mark
        return True

    def changed(self, act: Change, every: bool = True) -> Candidate | None:
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
        return Candidate(new.documents, inputs) if (all if every else any)(done) else None

    def attempt_change(self, act: Change, every: bool = True) -> bool:
        """Whether the best still shows the finding after a change."""
        return self.attempt(self.changed(act, every))

    # -- what the best computes

    def values(self) -> dict[str, Data]:
        """All values of the main graph; fewer where they cannot be had."""
        if self._known is None or self._known[0] is not self.best:
            self._known = self.best, values_of(self.main, self.best.of(self.main), self.limit)
        return self._known[1]

    def state(self, key: str, at: int, values: Mapping[str, Data]) -> list[Data] | None:
        """What a loop of the main graph carries into an iteration."""
        document = self.main.copy()
        try:
            names = document.initials(key)
        except KeyError:  # what begins with a part of something that is sliced
            return None
        inputs = self.best.of(self.main)
        if at:
            made = document.limit(key, (), at, values)
            if made is not None:  # else it runs no longer in any case
                inputs |= made
            names = document.finals(key)
            document.show(dict.fromkeys(names))
            document.clean()
            inputs = {name: inputs[name] for name in document.inputs if name in inputs}
            values = ours(document, inputs, self.limit) or {}
        if any(values.get(name) is None for name in names):
            return None
        return [values[name] for name in names]

    def trips(self, step: Step) -> int:
        """How many iterations a loop of the main graph runs; 0 where that is not known."""
        try:
            model = self.main.model()
            run = model.execute(self.best.of(self.main), max_iterations=self.limit)
        except InterruptError:
            raise
        except Exception:
            return 0
        for node in model.loops:
            named = {value.name for value in node.loop.outputs if value is not None}
            if named & set(step.outputs) or node.name == step.name:
                return next((total.iterations for total in run.loops if total.path == node.path), 0)
        return 0


def values_of(document: Document, inputs: Mapping[str, Data], limit: int | None) -> dict[str, Data]:
    """All values of the main graph of a document: its inputs, constants, and what its nodes make."""
    names = [name for step in document.steps() for name in step.outputs]
    every = document.copy()
    every.show(dict.fromkeys(names))
    found: dict[str, Any] = {**document.constants(), **inputs, **(ours(every, inputs, limit) or {})}
    return {name: value for name, value in found.items() if value is not None}


def _mark(candidate: Candidate) -> int:
    """A number that stands for a candidate."""
    parts: list[Any] = [one.mark() for one in candidate.documents]
    for name in sorted(candidate.inputs):
        value = candidate.inputs[name]
        arrays = value if isinstance(value, list | tuple) else [value]
        parts += [name, *(pickle.dumps(np.asarray(one)) for one in arrays)]
    return hash(tuple(parts))
