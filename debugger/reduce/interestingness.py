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
from ..compare.live_peer.peer_precision import openvino_tolerance
from ..compare.live_peer.run_profile import exceeds_int32, unsupported_by_peer
from ..compare.running.value_comparison import Delta, Tolerance, compare, dtype_kind
from ..peers.jobs import IrJob, Job, OnnxJob
from ..peers.process import Peer, PeerError
from .documents.document import Document, ReductionCandidate

#: A relative difference may get so much smaller and still be the same finding.
_MAX_RELATIVE_SHRINK = 100.0


@dataclass(frozen=True)
class Observation:
    """What a candidate shows. ``kind``: value, shape, dtype, length, kind (two values that are not the same), refused,
    crashed, hung, failed, nan, inf, stop."""

    kind: str
    #: The output that shows it; empty for a refusal.
    output: str = ""
    #: What the first side, ours or the first model, gives, and what came instead.
    expected: Any = None
    actual: Any = None
    #: The message of a runtime, or where it stopped.
    text: str = ""
    delta: Delta = field(default_factory=Delta)
    #: What all outputs should be.
    outputs: Mapping[str, Data] = field(default_factory=dict)


class InterestingnessTest(Protocol):
    """A finding that is looked for again.

    ``loose``: it is the same finding with other numbers inside. ``like``: what was shown first: others have to show the
    same kind of it.
    """

    allows_other_values: bool
    first_observation: Observation | None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        """What the candidate shows; None where that is not the finding, or the candidate cannot be run."""


def run_document(document: Document, inputs: Mapping[str, Data], limit: int | None) -> dict[str, Data] | None:
    """What our engine makes of a document; None where it is no model, or does not run."""
    try:
        return document.build_model().run(inputs, max_iterations=limit)
    except InterruptError:
        raise
    except Exception:  # whatever is wrong with it, it is not what we look for
        return None


class PeerDisagreement:
    """A peer gives other outputs than ours, or does not run the model."""

    allows_other_values = True

    def __init__(self, peer: Peer, tolerance: Tolerance, limit: int | None) -> None:
        self.peer = peer
        self.tolerance = tolerance
        self.limit = limit
        self.first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        expected = run_document(document, inputs, self.limit)
        if (
            expected is None
            or _is_random_model(document.build_model())
            or any(unsupported_by_peer(value, self.peer.name) for value in inputs.values())
        ):
            return None
        try:
            given = self._run_peer(document, inputs)
        except PeerError as error:
            shown = Observation(error.kind, text=error.text, outputs=expected)
            return shown if self._is_same_finding(shown) else None
        return self._worst_output(document.build_model(), expected, given)

    def _run_peer(self, document: Document, inputs: Mapping[str, Data]) -> list[Any]:
        """What the peer gives for the model as a file."""
        with scratch_folder() as folder:
            job = peer_job(document.save(folder, "model"))
            feeds = dict(inputs)
            if isinstance(job, IrJob):
                feeds = {str(k): inputs[name] for k, name in enumerate(document.inputs)}
            try:
                loaded = self.peer.open(job)
            except PeerError as error:
                text = error.text.replace(f"{folder}{os.sep}", "")
                raise PeerError("refused" if error.kind == "failed" else error.kind, text) from None
            given = loaded.run(feeds)
            loaded.close()
            return given

    def _worst_output(self, model: Model, expected: Mapping[str, Data], given: list[Any]) -> Observation | None:
        tolerance = self.tolerance
        if self.peer.name == "openvino":
            tolerance = openvino_tolerance(model.graph, replace(tolerance, float64_as_float32=True))[0]
        found = []
        for (name, mine), theirs in zip(expected.items(), given, strict=False):
            if self.peer.name == "openvino" and exceeds_int32(mine):
                continue
            delta = compare(mine, theirs, tolerance)
            shown = Observation(delta.kind, name, mine, theirs, delta.text, delta, expected)
            if delta.kind and self._is_same_finding(shown):
                found.append(shown)
        return max(found, key=lambda one: one.delta.relative, default=None)

    def _is_same_finding(self, shown: Observation) -> bool:
        return self.first_observation is None or is_same_finding(shown, self.first_observation)


class ModelDifference:
    """Two models of ours give other outputs for the same inputs. ``called``: what outputs of the first one are called
    in the other, where that is something else; all that is compared has one name otherwise."""

    allows_other_values = True

    def __init__(self, tolerance: Tolerance, limit: int | None, called: Mapping[str, str]) -> None:
        self.tolerance = tolerance
        self.limit = limit
        self.right_names = called
        self.first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        left, right = candidate.documents
        if [self.right_names.get(name, name) for name in left.outputs] != right.outputs:
            return None
        one, other = (run_document(document, candidate.inputs_for(document), self.limit) for document in (left, right))
        if one is None or other is None:
            return None
        found = []
        for (name, a), b in zip(one.items(), other.values(), strict=False):
            delta = compare(a, b, self.tolerance)
            shown = Observation(delta.kind, name, a, b, delta.text, delta, one)
            if delta.kind and (self.first_observation is None or is_same_finding(shown, self.first_observation)):
                found.append(shown)
        return max(found, key=lambda shown: shown.delta.relative, default=None)


class NonFiniteOutput:
    """An output is NaN or infinite, and nothing that goes in is. ``kinds``: those that count: nan, inf."""

    allows_other_values = True

    def __init__(self, kinds: Sequence[str], limit: int | None) -> None:
        self.kinds = kinds
        self.limit = limit
        self.first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        given_in = [*inputs.values(), *document.constants().values()]
        # A mask of infinities is no finding.
        if any(contains_nonfinite(value, kind) for value in given_in for kind in self.kinds):
            return None
        given = run_document(document, inputs, self.limit) or {}
        found = (
            (name, kind) for name, value in given.items() for kind in self.kinds if contains_nonfinite(value, kind)
        )
        name, kind = next(found, ("", ""))
        if not name or (self.first_observation is not None and kind != self.first_observation.kind):
            return None
        return Observation(kind, name, actual=given[name], text=f"'{name}' holds {kind}", outputs=given)


class BreakpointHit:
    """A session stops where an expression is true: of values that the model computes, not of any that would do."""

    allows_other_values = False

    def __init__(self, text: str, limit: int | None) -> None:
        self.text = text
        self.limit = limit
        self.first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        given = run_document(document, inputs, self.limit)
        if given is None:
            return None
        try:
            shown = self.observe(document.build_model(), inputs)
        except InterruptError:
            raise
        except Exception:  # a name that is gone, or a model that does not run
            return None
        return None if shown is None else replace(shown, outputs=given)

    def observe(self, model: Model, inputs: Mapping[str, Data]) -> Observation | None:
        """Where a model stops.

        Raises:
            UsageError: the expression makes no sense for it.
        """
        from ..session.session import Session
        from ..session.stop import Reason

        session = Session(model, inputs, max_iterations=self.limit, attended=False)
        session.breakpoints.add(self.text)
        stop = session.continue_()
        return Observation("stop", text=stop.text) if stop.reason is Reason.BREAKPOINT else None


def _is_random_model(model: Model) -> bool:
    """Whether it draws random numbers, of which each runtime has its own."""
    return any(is_random(node, model.graph.system) for node in walk(model.graph))


def peer_job(path: Path) -> Job:
    """A file as a job for a peer."""
    return IrJob(str(path)) if path.suffix == ".xml" else OnnxJob(path=str(path))


def contains_nonfinite(value: Any, kind: str) -> bool:
    """Whether a value has an element that is NaN, or infinite."""
    if isinstance(value, list | tuple):
        return any(contains_nonfinite(one, kind) for one in value)
    if value is None or dtype_kind(np.asarray(value).dtype) != "f":
        return False
    array = np.asarray(value).astype(np.float64)
    return bool((np.isnan(array) if kind == "nan" else np.isinf(array)).any())


def is_same_finding(shown: Observation, first: Observation) -> bool:
    """Whether one thing shown is of the kind of another: the same kind of difference, finite or not, and of about its
    size; a refusal with the same words, but for names and numbers."""
    if shown.kind != first.kind:
        return False
    if shown.kind in ("refused", "failed"):
        return normalized_error(shown.text) == normalized_error(first.text)
    if shown.kind != "value":
        return True
    a, b = shown.delta, first.delta
    finite = [math.isfinite(one.absolute) for one in (a, b)]
    if not all(finite):
        return finite[0] == finite[1] and _number_kinds(a) == _number_kinds(b)
    return a.relative * _MAX_RELATIVE_SHRINK >= min(b.relative, 1.0)


def _number_kinds(delta: Delta) -> tuple[str, str]:
    """Which side is NaN, infinite, or a number."""
    words = []
    for value in (delta.left, delta.right):
        number = complex(value) if isinstance(value, complex) else float(value)
        finite = math.isfinite(abs(number))
        words.append("number" if finite else "nan" if abs(number) != abs(number) else "inf")
    return words[0], words[1]


def normalized_error(text: str) -> str:
    """The words of an error without names, numbers and paths; of long ones the first."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\([^)]*\)", " ", text)
    words = [word.strip(".,:;()[]").lower() for word in text.split()]
    words = [word for word in words if word.isascii() and word.isalpha()]
    return " ".join(words[:12])
