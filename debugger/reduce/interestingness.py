"""Interestingness tests: whether a candidate still shows the finding. Peers run in separate processes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import scratch_folder
from ...runtime.child_process import run_child
from ...runtime.errors import InterruptError, UsageError
from ...runtime.graph import walk
from ...runtime.model import Data, Model
from ...runtime.ops.registry import is_random
from ..compare.live_peer.model_job import run_model
from ..compare.live_peer.peer_precision import openvino_tolerance
from ..compare.live_peer.peer_run_profile import exceeds_int32, unsupported_value_kind
from ..compare.running.value_comparison import Delta, Tolerance, compare, dtype_kind
from ..peers.command_template import PLACEHOLDERS, fill_command_placeholders, split_command
from ..peers.external_program import INPUTS_FOLDER, output_tail, write_inputs
from ..peers.jobs import IrJob, Job, OnnxJob
from ..peers.process import Peer, PeerError
from .documents.document import Document, ReductionCandidate

#: Minimum ratio of a relative difference to the first one for the same finding.
_MAX_RELATIVE_SHRINK = 100.0
#: Runs in fresh processes that have to show a finding in values that vary.
_FRESH_RUNS = 3


@dataclass(frozen=True)
class Observation:
    """The result of an interestingness test. ``kind``: value, shape, dtype, length, kind (different kinds of values),
    refused, crashed, hung, failed, nan, inf, stop, command."""

    kind: str
    #: The output with the difference; empty for a refusal.
    output: str = ""
    #: The value of the first side, loopdbg or the first model, and that of the other side.
    expected: Any = None
    actual: Any = None
    #: The message of a runtime, or the location of a stop.
    text: str = ""
    delta: Delta = field(default_factory=Delta)
    #: The expected values of all outputs.
    outputs: Mapping[str, Data] = field(default_factory=dict)


class InterestingnessTest:
    """A predicate that tests whether a candidate shows the finding; this one never holds, for sessions that only edit.

    ``allows_other_values``: inner values may change. ``first_observation``: the initial result; others must be of the
    same kind.
    """

    allows_other_values = True
    first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        """Return the observation; None if it is not the finding, or the candidate cannot run."""
        return None

    def is_same_finding(self, result: Observation) -> bool:
        """Whether an observation is of the kind of the initial one."""
        return self.first_observation is None or is_same_finding(result, self.first_observation)

    def worst_difference(
        self, pairs: Iterable[tuple[str, Data, Any, Tolerance]], outputs: Mapping[str, Data]
    ) -> Observation | None:
        """Return the largest difference of the finding's kind; ``pairs``: output, expected and actual value."""
        results = []
        for name, expected, actual, tolerance in pairs:
            delta = compare(expected, actual, tolerance)
            result = Observation(delta.kind, name, expected, actual, delta.text, delta, outputs)
            if delta.kind and self.is_same_finding(result):
                results.append(result)
        return max(results, key=lambda item: item.delta.relative, default=None)


def run_document(document: Document, inputs: Mapping[str, Data], limit: int | None) -> dict[str, Data] | None:
    """Run a document in loopdbg; None if it is invalid or does not run."""
    try:
        return document.build_model().run(inputs, max_iterations=limit)
    except InterruptError:
        raise
    except Exception:  # any error: it does not show the finding
        return None


class PeerDisagreement(InterestingnessTest):
    """A peer gives other outputs than loopdbg, or does not run the model."""

    def __init__(self, peer: Peer, tolerance: Tolerance, limit: int | None) -> None:
        self.peer = peer
        self.tolerance = tolerance
        self.limit = limit
        #: Whether a candidate has to show the finding in fresh processes, too: uninitialised memory differs by luck.
        self.needs_fresh_runs = False

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        result = self._observe(candidate)
        if result is None or not self.needs_fresh_runs:
            return result
        for _ in range(_FRESH_RUNS):
            again = self._observe_in_fresh_process(candidate)
            if again is None:
                return None
            if is_same_observation(again, result):  # its numbers do not vary: one more run is enough
                break
        return result

    def varies_between_processes(self, candidate: ReductionCandidate, result: Observation) -> bool:
        """Whether a fresh process gives something else than an observation."""
        again = self._observe_in_fresh_process(candidate)
        return again is None or not is_same_observation(again, result)

    def _observe_in_fresh_process(self, candidate: ReductionCandidate) -> Observation | None:
        if not self.peer.is_command:  # each run of a command is a process
            self.peer.close()
        return self._observe(candidate)

    def _observe(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        expected = run_document(document, inputs, self.limit)
        if (
            expected is None
            or _is_random_model(document.build_model())
            or any(unsupported_value_kind(value, self.peer.name) for value in inputs.values())
        ):
            return None
        try:
            values = self._run_peer(document, inputs)
        except PeerError as error:
            result = Observation(error.kind, text=error.text, outputs=expected)
            return result if self.is_same_finding(result) else None
        return self._worst_output(document.build_model(), expected, values)

    def _run_peer(self, document: Document, inputs: Mapping[str, Data]) -> list[Any]:
        """Return the outputs of the peer for the model as a file."""
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
            values = run_model(loaded, feeds, document.build_model())
            loaded.close()
            return values

    def _worst_output(self, model: Model, expected: Mapping[str, Data], values: list[Any]) -> Observation | None:
        tolerance = self.tolerance
        if self.peer.name == "openvino":
            tolerance = openvino_tolerance(model.graph, replace(tolerance, float64_as_float32=True))[0]
        pairs = (
            (name, own, peer_value, tolerance)
            for (name, own), peer_value in zip(expected.items(), values, strict=False)
            if self.peer.name != "openvino" or not exceeds_int32(own)
        )
        return self.worst_difference(pairs, expected)


class CommandTest(InterestingnessTest):
    """A command of the user's succeeds: its exit status is 0. Our engine has to run the model too, for its values.

    ``command``: a program with the placeholders ``{model}`` and, optionally, ``{inputs}``. ``timeout``: seconds.
    """

    def __init__(self, command: str, timeout: float, limit: int | None) -> None:
        self.command = command
        self.timeout = timeout
        self.limit = limit
        self._words = split_command(command, required=PLACEHOLDERS[:1])
        #: How the command ended last, where it did not succeed.
        self.failure = ""

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        expected = run_document(document, inputs, self.limit)
        if expected is None:
            return None
        with scratch_folder() as folder:
            path = document.save(folder, "model")
            values = {"{model}": str(path), "{inputs}": str(folder / INPUTS_FOLDER)}
            write_inputs(folder / INPUTS_FOLDER, inputs, document.outputs)
            self.failure = self._run_command([fill_command_placeholders(word, values) for word in self._words])
        return None if self.failure else Observation("command", text=self.command, outputs=expected)

    def _run_command(self, words: Sequence[str]) -> str:
        """How the command failed; empty if it succeeded."""
        try:
            process = run_child(words, timeout=self.timeout)
        except OSError as error:
            raise UsageError(f"'{words[0]}' cannot be started: {error.strerror}") from None
        if process is None:
            return f"no end within {self.timeout:g} s"
        message = output_tail(process.stderr or process.stdout)
        return f"exit status {process.returncode}: {message}" if process.returncode else ""


class ModelDifference(InterestingnessTest):
    """Two models give different outputs for the same inputs. ``right_names``: names of outputs in the second model that
    differ from those in the first."""

    def __init__(self, tolerance: Tolerance, limit: int | None, right_names: Mapping[str, str]) -> None:
        self.tolerance = tolerance
        self.limit = limit
        self.right_names = right_names

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        left, right = candidate.documents
        if [self.right_names.get(name, name) for name in left.outputs] != right.outputs:
            return None
        inputs = set(left.inputs), set(right.inputs)
        if not (inputs[0] <= inputs[1] or inputs[1] <= inputs[0]):  # it may be one model that reads two inputs
            return None
        lhs, rhs = (run_document(document, candidate.inputs_for(document), self.limit) for document in (left, right))
        if lhs is None or rhs is None:
            return None
        pairs = ((name, a, b, self.tolerance) for (name, a), b in zip(lhs.items(), rhs.values(), strict=False))
        return self.worst_difference(pairs, lhs)


class NonFiniteOutput(InterestingnessTest):
    """An output is NaN or infinite, and all inputs are finite. ``kinds``: nan, inf."""

    def __init__(self, kinds: Sequence[str], limit: int | None) -> None:
        self.kinds = kinds
        self.limit = limit

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        given_in = [*inputs.values(), *document.constants().values()]
        # A mask of infinities is no finding.
        if any(contains_nonfinite(value, kind) for value in given_in for kind in self.kinds):
            return None
        values = run_document(document, inputs, self.limit) or {}
        nonfinite = (
            (name, kind) for name, value in values.items() for kind in self.kinds if contains_nonfinite(value, kind)
        )
        name, kind = next(nonfinite, ("", ""))
        if not name or (self.first_observation is not None and kind != self.first_observation.kind):
            return None
        return Observation(kind, name, actual=values[name], text=f"'{name}' holds {kind}", outputs=values)


class BreakpointHit(InterestingnessTest):
    """A session stops where an expression is true for computed values, not for arbitrary ones."""

    allows_other_values = False

    def __init__(self, text: str, limit: int | None) -> None:
        self.text = text
        self.limit = limit

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        (document,) = candidate.documents
        inputs = candidate.inputs_for(document)
        values = run_document(document, inputs, self.limit)
        if values is None:
            return None
        try:
            result = self.observe(document.build_model(), inputs)
        except InterruptError:
            raise
        except Exception:  # a removed name, or a model that does not run
            return None
        return None if result is None else replace(result, outputs=values)

    def observe(self, model: Model, inputs: Mapping[str, Data]) -> Observation | None:
        """Return where a model stops.

        Raises:
            UsageError: the expression is invalid for the model.
        """
        from ..session.session import Session
        from ..session.stop import Reason

        session = Session(model, inputs, max_iterations=self.limit, attended=False)
        session.breakpoints.add(self.text)
        stop = session.continue_()
        return Observation("stop", text=stop.text) if stop.reason is Reason.BREAKPOINT else None


def _is_random_model(model: Model) -> bool:
    """Whether it draws random numbers, which differ in each runtime."""
    return any(is_random(node, model.graph.system) for node in walk(model.graph))


def peer_job(path: Path) -> Job:
    """Return a file as a job for a peer."""
    return IrJob(str(path)) if path.suffix == ".xml" else OnnxJob(path=str(path))


def contains_nonfinite(value: Any, kind: str) -> bool:
    """Whether a value has an element that is NaN, or infinite."""
    if isinstance(value, list | tuple):
        return any(contains_nonfinite(item, kind) for item in value)
    if value is None or dtype_kind(np.asarray(value).dtype) != "f":
        return False
    array = np.asarray(value).astype(np.float64)
    return bool((np.isnan(array) if kind == "nan" else np.isinf(array)).any())


def is_same_observation(result: Observation, other: Observation) -> bool:
    """Whether two observations have the same values of the other side, bit for bit."""
    return result.kind == other.kind and not compare(result.actual, other.actual, Tolerance(0.0, 0.0)).kind


def is_same_finding(result: Observation, first: Observation) -> bool:
    """Whether two observations are of the same kind: the same kind of difference, finite or not, of similar size; or a
    refusal with the same words except names and numbers."""
    if result.kind != first.kind:
        return False
    if result.kind in ("refused", "failed"):
        return normalized_error(result.text) == normalized_error(first.text)
    if result.kind != "value":
        return True
    a, b = result.delta, first.delta
    finite = [math.isfinite(delta.absolute) for delta in (a, b)]
    if not all(finite):
        return finite[0] == finite[1] and _number_kinds(a) == _number_kinds(b)
    return a.relative * _MAX_RELATIVE_SHRINK >= min(b.relative, 1.0)


def _number_kinds(delta: Delta) -> tuple[str, str]:
    """The kinds of both sides: NaN, infinite, or a number."""
    words = []
    for value in (delta.left, delta.right):
        number = complex(value) if isinstance(value, complex) else float(value)
        finite = math.isfinite(abs(number))
        words.append("number" if finite else "nan" if abs(number) != abs(number) else "inf")
    return words[0], words[1]


def normalized_error(text: str) -> str:
    """Remove names, numbers and paths from an error; long texts are truncated."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\([^)]*\)", " ", text)
    words = [word.strip(".,:;()[]").lower() for word in text.split()]
    words = [word for word in words if word.isascii() and word.isalpha()]
    return " ".join(words[:12])
