"""Does a candidate still show the finding? Runtimes are asked in processes of their own, ours here."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...runtime.atomic_file import scratch_folder
from ...runtime.errors import InterruptError
from ...runtime.graph import walk
from ...runtime.model import Data, Model
from ...runtime.ops.registry import is_random
from ..diff.precision import widened
from ..diff.profile import cannot_be_handed_over, is_wide
from ..diff.values import Delta, Tolerance, compare, kind_of
from ..peers.jobs import IrJob, Job, OnnxJob
from ..peers.process import Peer, PeerError
from .document import Candidate, Document

#: A relative difference may get so much smaller and still be the same finding.
_SMALLER = 100.0


@dataclass(frozen=True)
class Shown:
    """What a candidate shows. ``kind``: value, shape, dtype, length, kind (two values that are not the same), refused,
    crashed, hung, failed, nan, inf, stop."""

    kind: str
    #: The output that shows it; empty for a refusal.
    output: str = ""
    #: What the first side, ours or the first model, gives, and what came instead.
    expected: Any = None
    got: Any = None
    #: The message of a runtime, or where it stopped.
    text: str = ""
    delta: Delta = field(default_factory=Delta)
    #: What all outputs should be.
    outputs: Mapping[str, Data] = field(default_factory=dict)


class Predicate(Protocol):
    """A finding that is looked for again.

    ``loose``: it is the same finding with other numbers inside. ``like``: what was shown first: others have to show the
    same kind of it.
    """

    loose: bool
    like: Shown | None

    def __call__(self, candidate: Candidate) -> Shown | None:
        """What the candidate shows; None where that is not the finding, or the candidate cannot be run."""


def ours(document: Document, inputs: Mapping[str, Data], limit: int | None) -> dict[str, Data] | None:
    """What our engine makes of a document; None where it is no model, or does not run."""
    try:
        return document.model().run(inputs, max_iterations=limit)
    except InterruptError:
        raise
    except Exception:  # whatever is wrong with it, it is not what we look for
        return None


class Disagreement:
    """A peer gives other outputs than ours, or does not run the model."""

    loose = True

    def __init__(self, peer: Peer, tolerance: Tolerance, limit: int | None) -> None:
        self.peer = peer
        self.tolerance = tolerance
        self.limit = limit
        self.like: Shown | None = None

    def __call__(self, candidate: Candidate) -> Shown | None:
        (document,) = candidate.documents
        inputs = candidate.of(document)
        expected = ours(document, inputs, self.limit)
        if (
            expected is None
            or _draws(document.model())
            or any(cannot_be_handed_over(value, self.peer.name) for value in inputs.values())
        ):
            return None
        try:
            given = self._asked(document, inputs)
        except PeerError as error:
            shown = Shown(error.what, text=error.text, outputs=expected)
            return shown if self._is_like(shown) else None
        return self._worst(document.model(), expected, given)

    def _asked(self, document: Document, inputs: Mapping[str, Data]) -> list[Any]:
        """What the peer gives for the model as a file."""
        with scratch_folder() as folder:
            job = job_of(document.save(folder, "model"))
            feeds = dict(inputs)
            if isinstance(job, IrJob):
                feeds = {str(k): inputs[name] for k, name in enumerate(document.inputs)}
            try:
                loaded = self.peer.open(job)
            except PeerError as error:
                text = error.text.replace(f"{folder}{os.sep}", "")
                raise PeerError("refused" if error.what == "failed" else error.what, text) from None
            given = loaded.run(feeds)
            loaded.close()
            return given

    def _worst(self, model: Model, expected: Mapping[str, Data], given: list[Any]) -> Shown | None:
        tolerance = self.tolerance
        if self.peer.name == "openvino":
            tolerance = widened(model.graph, replace(tolerance, single=True))[0]
        found = []
        for (name, mine), theirs in zip(expected.items(), given, strict=False):
            if self.peer.name == "openvino" and is_wide(mine):
                continue
            delta = compare(mine, theirs, tolerance)
            shown = Shown(delta.kind, name, mine, theirs, delta.text, delta, expected)
            if delta.kind and self._is_like(shown):
                found.append(shown)
        return max(found, key=lambda one: one.delta.relative, default=None)

    def _is_like(self, shown: Shown) -> bool:
        return self.like is None or is_like(shown, self.like)


class Difference:
    """Two models of ours give other outputs for the same inputs. ``called``: what outputs of the first one are called
    in the other, where that is something else; all that is compared has one name otherwise."""

    loose = True

    def __init__(self, tolerance: Tolerance, limit: int | None, called: Mapping[str, str]) -> None:
        self.tolerance = tolerance
        self.limit = limit
        self.called = called
        self.like: Shown | None = None

    def __call__(self, candidate: Candidate) -> Shown | None:
        left, right = candidate.documents
        if [self.called.get(name, name) for name in left.outputs] != right.outputs:
            return None
        one, other = (ours(document, candidate.of(document), self.limit) for document in (left, right))
        if one is None or other is None:
            return None
        found = []
        for (name, a), b in zip(one.items(), other.values(), strict=False):
            delta = compare(a, b, self.tolerance)
            shown = Shown(delta.kind, name, a, b, delta.text, delta, one)
            if delta.kind and (self.like is None or is_like(shown, self.like)):
                found.append(shown)
        return max(found, key=lambda shown: shown.delta.relative, default=None)


class NotFinite:
    """An output is NaN or infinite, and nothing that goes in is. ``kinds``: those that count: nan, inf."""

    loose = True

    def __init__(self, kinds: Sequence[str], limit: int | None) -> None:
        self.kinds = kinds
        self.limit = limit
        self.like: Shown | None = None

    def __call__(self, candidate: Candidate) -> Shown | None:
        (document,) = candidate.documents
        inputs = candidate.of(document)
        given_in = [*inputs.values(), *document.constants().values()]
        # A mask of infinities is no finding.
        if any(holds(value, kind) for value in given_in for kind in self.kinds):
            return None
        given = ours(document, inputs, self.limit) or {}
        found = ((name, kind) for name, value in given.items() for kind in self.kinds if holds(value, kind))
        name, kind = next(found, ("", ""))
        if not name or (self.like is not None and kind != self.like.kind):
            return None
        return Shown(kind, name, got=given[name], text=f"'{name}' holds {kind}", outputs=given)


class Stops:
    """A session stops where an expression is true: of values that the model computes, not of any that would do."""

    loose = False

    def __init__(self, text: str, limit: int | None) -> None:
        self.text = text
        self.limit = limit
        self.like: Shown | None = None

    def __call__(self, candidate: Candidate) -> Shown | None:
        (document,) = candidate.documents
        inputs = candidate.of(document)
        given = ours(document, inputs, self.limit)
        if given is None:
            return None
        try:
            shown = self.at(document.model(), inputs)
        except InterruptError:
            raise
        except Exception:  # a name that is gone, or a model that does not run
            return None
        return None if shown is None else replace(shown, outputs=given)

    def at(self, model: Model, inputs: Mapping[str, Data]) -> Shown | None:
        """Where a model stops.

        Raises:
            UsageError: the expression makes no sense for it.
        """
        from ..session.session import Session
        from ..session.stop import Reason

        session = Session(model, inputs, max_iterations=self.limit, attended=False)
        session.breakpoints.add(self.text)
        stop = session.continue_()
        return Shown("stop", text=stop.text) if stop.reason is Reason.BREAKPOINT else None


def _draws(model: Model) -> bool:
    """Whether it draws random numbers, of which each runtime has its own."""
    return any(is_random(node, model.graph.system) for node in walk(model.graph))


def job_of(path: Path) -> Job:
    """A file as a job for a peer."""
    return IrJob(str(path)) if path.suffix == ".xml" else OnnxJob(path=str(path))


def holds(value: Any, kind: str) -> bool:
    """Whether a value has an element that is NaN, or infinite."""
    if isinstance(value, list | tuple):
        return any(holds(one, kind) for one in value)
    if value is None or kind_of(np.asarray(value).dtype) != "f":
        return False
    array = np.asarray(value).astype(np.float64)
    return bool((np.isnan(array) if kind == "nan" else np.isinf(array)).any())


def is_like(shown: Shown, first: Shown) -> bool:
    """Whether one thing shown is of the kind of another: the same kind of difference, finite or not, and of about its
    size; a refusal with the same words, but for names and numbers."""
    if shown.kind != first.kind:
        return False
    if shown.kind in ("refused", "failed"):
        return error_class(shown.text) == error_class(first.text)
    if shown.kind != "value":
        return True
    a, b = shown.delta, first.delta
    finite = [math.isfinite(one.absolute) for one in (a, b)]
    if not all(finite):
        return finite[0] == finite[1] and _signs(a) == _signs(b)
    return a.relative * _SMALLER >= min(b.relative, 1.0)


def _signs(delta: Delta) -> tuple[str, str]:
    """Which side is NaN, infinite, or a number."""
    words = []
    for value in (delta.left, delta.right):
        number = complex(value) if isinstance(value, complex) else float(value)
        finite = math.isfinite(abs(number))
        words.append("number" if finite else "nan" if abs(number) != abs(number) else "inf")
    return words[0], words[1]


def error_class(text: str) -> str:
    """The words of an error without names, numbers and paths; of long ones the first."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\([^)]*\)", " ", text)
    words = [word.strip(".,:;()[]").lower() for word in text.split()]
    words = [word for word in words if word.isascii() and word.isalpha()]
    return " ".join(words[:12])
