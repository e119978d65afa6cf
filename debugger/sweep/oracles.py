"""Oracles for outputs: expected outputs in files, a live runtime, another model.

Only outputs are compared, which is fast; if they differ, the iteration and the node are located.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

from ...runtime.errors import InputError, LoopdbgError, UsageError
from ...runtime.graph import System
from ...runtime.input_validation import Data
from ...runtime.model import Model, load
from ..compare.api import Diff, FirstDifference
from ..compare.live_peer.model_job import model_job, run_model
from ..compare.live_peer.peer_comparison import compare_with_peer
from ..compare.live_peer.peer_precision import openvino_tolerance
from ..compare.report.findings import Difference
from ..compare.report.text_report import delta_text
from ..compare.running.boundary_merge import ComparisonOptions, compare_sides
from ..compare.running.map_inputs import map_inputs
from ..compare.running.sides import ModelSide
from ..compare.running.value_comparison import Tolerance, compare
from ..peers.command_template import COMMAND_USAGE
from ..peers.process import PEERS, LoadedModel, Peer, PeerError, is_peer_name
from ..reference.array_files import read_npz, read_test_outputs
from .cases import Case
from .job import MAIN_GRAPH, SweepJob
from .outcome import CaseOutcome
from .row import Status

#: Default timeout of a runtime in seconds.
_DEFAULT_TIMEOUT_SECONDS = 60.0


class Oracle(ABC):
    """The other side of a comparison.

    ``name``: of what runs there; empty: nothing runs. ``locates``: the iteration and the node of a difference are
    located; ``rounding``: the last one that was is the rounding of the other side, which the model amplifies, as this
    text says.
    """

    name = ""
    locates = True
    rounding = ""

    @abstractmethod
    def compare(self, name: str, case: Case, outcome: CaseOutcome, outputs: Mapping[str, Data]) -> None:
        """Compare the outputs; record a difference in the outcome."""

    def refuses(self, case: Case) -> bool:
        """Whether the other side fails on a case as well; False: it does not, or cannot run it."""
        return False

    def shortened_timeout(self) -> AbstractContextManager[None]:
        """In this block a runtime is given up soon, compared with its longest run so far."""
        return nullcontext()

    def close(self) -> None:  # noqa: B027  most have no resources
        """Release its resources."""


def check_oracle(text: str) -> None:
    """Check, before anything runs, that an oracle of that name exists.

    Raises:
        UsageError: it is neither an installed runtime nor a file or folder.
    """
    if is_peer_name(text):
        Peer(text)
    elif not Path(text).exists():
        raise UsageError(
            f"'{text}' is neither a runtime ({', '.join(PEERS)}, {COMMAND_USAGE}) nor a model or a folder of outputs",
            name=text,
        )


def create_oracle(model: Model, job: SweepJob) -> Oracle:
    """Create the oracle for ``against`` of a job: a runtime, a folder of expected outputs, or a model.

    Raises:
        UsageError: a runtime that cannot read this model.
        ModelError: the model cannot be opened.
    """
    text = job.spec.against
    if is_peer_name(text):
        return _RuntimeOracle(model, text, job)
    if Path(text).is_dir():
        return _ExpectedOutputsOracle(model, Path(text), job)
    return _ModelOracle(model, load(text), job)


def first_mismatch(
    outputs: Mapping[str, Data], expected: Mapping[str, Data], tolerance: Tolerance | None = None
) -> str:
    """Return a sentence about the first output that differs from the expected one; empty if all are equal."""
    for name, right in expected.items():
        delta = compare(outputs.get(name), right, tolerance or Tolerance())
        if delta.kind:
            message = delta_text(Difference("output", name, name, delta, left=outputs.get(name), right=right))
            return f"output '{name}' differs: {message}"
    return ""


class _ExpectedOutputsOracle(Oracle):
    """Outputs in files named after the cases: ``CASE.npz``, or ``output_0.pb``, ... in ``CASE/``."""

    def __init__(self, model: Model, folder: Path, job: SweepJob) -> None:
        self._model, self._folder, self._cases = model, folder, job.cases

    def compare(self, name: str, case: Case, outcome: CaseOutcome, outputs: Mapping[str, Data]) -> None:
        path = self._folder / f"{name}.npz"
        if path.exists():
            expected = read_npz(path, self._model.outputs)
        elif (self._folder / name).is_dir():
            expected = read_test_outputs(self._folder / name, self._model.outputs)
        else:
            raise InputError(
                f"{self._folder}: holds no outputs for case '{name}', neither {name}.npz nor {name}/", name=name
            )
        known_outputs = {output: value for output, value in expected.items() if output in outputs}
        if not known_outputs:
            raise InputError(f"{self._folder}: case '{name}' has none of the model's outputs", name=name)
        mismatch = first_mismatch(outputs, known_outputs)
        if mismatch:
            outcome.status, outcome.message = Status.DIFFERS, mismatch


class _ModelOracle(Oracle):
    """Another model, which runs on the same inputs."""

    def __init__(self, model: Model, other: Model, job: SweepJob) -> None:
        self.name = other.name
        self._model, self._other, self._max_iterations = model, other, job.spec.max_iterations

    def _run(self, inputs: Mapping[str, Data]) -> dict[str, Data]:
        self._other.reset()
        return self._other.run(inputs, max_iterations=self._max_iterations)

    def refuses(self, case: Case) -> bool:
        try:
            self._run(map_inputs(case.inputs, self._other, {}))
        except LoopdbgError:
            return True
        return False

    def compare(self, name: str, case: Case, outcome: CaseOutcome, outputs: Mapping[str, Data]) -> None:
        inputs = map_inputs(case.inputs, self._other, {})
        results = self._run(inputs)
        if len(results) != len(outputs):
            raise InputError(f"{self._other.name} has {len(results)} outputs, and {self._model.name} {len(outputs)}")
        same_names = results.keys() == outputs.keys()
        expected = results if same_names else dict(zip(outputs, results.values(), strict=True))
        mismatch = first_mismatch(outputs, expected)
        if not mismatch:
            return
        if not self.locates:
            _record_difference(outcome, mismatch, None, self._model)
            return
        self._model.reset()
        self._other.reset()
        sides = (
            ModelSide(self._model, case.inputs, self._max_iterations),
            ModelSide(self._other, inputs, self._max_iterations),
        )
        difference = Diff(compare_sides(*sides, ComparisonOptions(proves_causes=False))).first
        _record_difference(outcome, mismatch, difference, self._model)


class _RuntimeOracle(Oracle):
    """A live runtime in a separate process, which has the model loaded."""

    def __init__(self, model: Model, name: str, job: SweepJob) -> None:
        self._model = model
        self._max_iterations = job.spec.max_iterations
        self._peer = Peer(name, job.spec.timeout or _DEFAULT_TIMEOUT_SECONDS)
        self.name = self._peer.name
        self._loaded: LoadedModel | None = None
        self._tolerance = Tolerance()
        if self._peer.name == "openvino":
            self._tolerance, _ = openvino_tolerance(model.graph, self._tolerance)
        elif self._peer.name == "onnxruntime" and model.graph.system is System.OPENVINO:
            raise UsageError(f"onnxruntime cannot read {model.name}; compare with openvino", name=model.name)

    def shortened_timeout(self) -> AbstractContextManager[None]:
        return self._peer.shortened_timeout()

    def close(self) -> None:
        self._peer.close()

    def compare(self, name: str, case: Case, outcome: CaseOutcome, outputs: Mapping[str, Data]) -> None:
        side = ModelSide(self._model, case.inputs, self._max_iterations)
        try:
            values = self._run(side)
        except PeerError as error:
            failure = {"failed": "refused it", "crashed": "crashed", "hung": "hung"}[error.kind]
            outcome.status, outcome.message = Status.ERROR, f"{self._peer.name} {failure}: {error.text}"
            return
        names = [port.name for port in self._model.outputs]
        mismatch = first_mismatch(outputs, dict(zip(names, values, strict=False)), self._tolerance)
        if mismatch:
            first = self._first_loop_difference(case.inputs) if self.locates else None
            _record_difference(outcome, mismatch, first, self._model)

    def refuses(self, case: Case) -> bool:
        try:
            self._run(ModelSide(self._model, case.inputs, self._max_iterations))
        except PeerError:
            return True
        return False

    def _run(self, side: ModelSide) -> list[Data]:
        if self._loaded is None or not self._loaded.is_alive:
            self._loaded = self._peer.open(model_job(side))
        feeds = {
            name: np.asarray(value) if not isinstance(value, list) else value for name, value in side.inputs.items()
        }
        if self._model.graph.system is System.OPENVINO:
            feeds = {str(k): feeds[port.name] for k, port in enumerate(self._model.inputs)}
        return run_model(self._loaded, feeds, self._model)

    def _first_loop_difference(self, inputs: Mapping[str, Data]) -> FirstDifference | None:
        live = compare_with_peer(self._model, inputs, self._peer, ComparisonOptions(), limit=self._max_iterations)
        self.rounding = live.rounding
        differences = [Diff(comparison).first for comparison in live.comparisons]
        return next((difference for difference in differences if difference is not None and difference.loop), None)


def _record_difference(outcome: CaseOutcome, message: str, first: FirstDifference | None, model: Model) -> None:
    """Record where two sides first differ, as far as known."""
    outcome.status, outcome.message = Status.DIFFERS, message
    if first is None or not first.loop:
        return
    index = next((plan.index for plan in model.plan.loops if plan.path == first.loop), MAIN_GRAPH)
    node = first.node or (first.nodes[0] if first.nodes else None)
    outcome.failure_location = index, first.iteration, node
    outcome.message = f"{message}; first in '{first.value}' of loop '{model.plan.loops[index].loop.name}'"
