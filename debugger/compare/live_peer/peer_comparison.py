"""Compares a model with a live peer, in lockstep and free-running."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ....runtime.errors import ExecutionError, InterruptError, LoopdbgError, UsageError
from ....runtime.graph import System, walk
from ....runtime.model import Data, Model
from ....runtime.ops.registry import is_random
from ...peers.jobs import PRECISION_OPTION
from ...peers.process import Peer
from ..proof.intervention import Reruns, RerunsExhaustedError
from ..proof.rounding_sensitivity import explain_by_rounding, explain_iteration_by_rounding
from ..report.findings import Comparison, Demonstration, DivergenceReason, Verdict
from ..running.boundary_merge import ComparisonOptions
from ..running.loop_matching import match_loops, select_loop_pairs
from ..running.sides import ModelSide
from .free_running import FreeRun, peer_outcome_text
from .lockstep import Lockstep
from .peer_precision import openvino_tolerance, record_precision_cause, reduced_precision, usual_precision
from .peer_run_profile import RunProfile

#: A loop may run longer with moved values: the most iterations, relative to those of the compared runs.
_MAX_TRIPS_RATIO = 10


@dataclass
class PeerComparison:
    """The result of a comparison with a peer."""

    peer: str
    version: str
    #: The configuration of the peer.
    configuration: Mapping[str, str] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    #: The precision below float32 in which the peer computes this model without settings; empty if it does not.
    usual_precision: str = ""

    @property
    def verdict(self) -> Verdict:
        """The gravest verdict of all comparisons; empty comparisons are ignored unless there is no other."""
        kinds = {comparison.verdict for comparison in self.comparisons if not comparison.empty or comparison.failures}
        severity = (
            *(Verdict.DIFFER, Verdict.UNSTABLE, Verdict.NOT_COMPARED, Verdict.LIMITED),
            *(Verdict.PARTLY, Verdict.STEP, Verdict.SAME),
        )
        return next((verdict for verdict in severity if verdict in kinds), Verdict.NOT_COMPARED)

    @property
    def verdict_text(self) -> str:
        """The verdict in words; with the reason if rounding is the cause."""
        return f"{self.verdict.value} ({self.rounding})" if self.rounding else self.verdict.value

    @property
    def rounding(self) -> str:
        """In words that rounding is the cause, if that is shown of every comparison with the gravest verdict."""
        gravest = [comparison for comparison in self.comparisons if comparison.verdict is self.verdict]
        reasons = [comparison.demonstration.verdict for comparison in gravest if comparison.demonstration is not None]
        return reasons[-1] if len(reasons) == len(gravest) > 0 and all(reasons) else ""

    @property
    def error(self) -> LoopdbgError | None:
        """The error or interrupt that ended our run."""
        return next((comparison.error for comparison in self.comparisons if comparison.error is not None), None)

    @property
    def same(self) -> bool:
        """Whether everything was compared and nothing differs."""
        return self.verdict is Verdict.SAME


def compare_with_peer(
    model: Model,
    inputs: Mapping[str, Data],
    peer: Peer,
    options: ComparisonOptions,
    *,
    limit: int | None = None,
    lockstep: bool = True,
    free: bool = True,
) -> PeerComparison:
    """Compare a model with a peer that runs it.

    Raises:
        UsageError: the peer cannot read models of this system.
        ExecutionError: our run fails; the message includes the peer's result for the whole model.
        LimitError: our run reaches the limit.
    """
    if peer.name == "onnxruntime" and model.graph.system is System.OPENVINO:
        raise UsageError(f"onnxruntime cannot read {model.name}; compare with openvino")
    start = time.monotonic()
    side = ModelSide(model, inputs, limit)
    side.report_progress(options.on_tick, leads=True)
    note = None
    if peer.name == "openvino":
        tolerance, note = openvino_tolerance(model.graph, options.tolerance)
        options = replace(options, tolerance=tolerance)
    select_loop_pairs(match_loops(side.loops, side.loops, {}).pairs, options.loops)  # raises an error for unknown names
    profile = RunProfile()
    run = Lockstep(side, peer if lockstep else None, options, profile)
    try:
        result = run.run()
    except ExecutionError as error:
        raise _add_peer_outcome(error, side, peer) from error
    if isinstance(result.error, ExecutionError):
        result.error = _add_peer_outcome(result.error, side, peer)
    comparisons = [result] if lockstep else []
    random_node = next((node.name for node in walk(model.graph) if is_random(node, model.graph.system)), None)
    if result.error is not None:
        comparisons = [result]
    elif free and random_node is not None:
        result.add_note(
            f"free-running: not compared, since '{random_node}' draws random numbers, and each runtime its own"
        )
        comparisons = [result]
    elif free:
        try:
            seconds = time.monotonic() - start
            free_result = FreeRun(side, peer, options, profile).compare(seconds)
            comparisons.append(free_result)
            if lockstep and free_result.verdict is Verdict.DIFFER and free_result.demonstration is None:
                _explain_by_rounding(side, result, free_result, time.monotonic() - start, options)
        except (InterruptError, KeyboardInterrupt):
            if not comparisons or not options.reports_partial:
                raise
            comparisons[0].error = InterruptError("interrupted")
    precision = reduced_precision(peer)
    if precision and options.proves_causes and any(comparison.verdict is Verdict.DIFFER for comparison in comparisons):
        with peer.with_options({PRECISION_OPTION: "f32"}) as exact:
            again = compare_with_peer(model, side.inputs, exact, options, limit=limit, lockstep=lockstep, free=free)
        if again.verdict in (Verdict.SAME, Verdict.STEP):
            for comparison in comparisons:
                if comparison.verdict is Verdict.DIFFER:
                    record_precision_cause(comparison, peer, precision)
    if note is not None:
        comparisons[0].add_note(note)
        for comparison in comparisons:
            if comparison.verdict is Verdict.DIFFER:
                comparison.reasons.append(DivergenceReason(note.rule, note))
    if model.graph.system is System.TENSORRT:
        comparisons[0].add_note(f"{peer.name} is given the network converted to ONNX")
    usual = usual_precision(peer, model.graph)
    return PeerComparison(peer.name, peer.version, peer.configuration, comparisons, usual)


def _explain_by_rounding(
    side: ModelSide, lockstep: Comparison, free: Comparison, seconds: float, options: ComparisonOptions
) -> None:
    """Test whether the loops amplify rounding: what differs iteration by iteration has to be rounding, too."""
    longest = max([side.most_iterations, *(loop.trips.right for loop in free.loops if loop.trips)])
    reruns = Reruns(side, _MAX_TRIPS_RATIO * (longest + 1), seconds, options.on_tick)
    differing = [loop for loop in lockstep.loops if loop.first is not None]
    if lockstep.verdict not in (Verdict.SAME, Verdict.STEP) and not (lockstep.verdict is Verdict.DIFFER and differing):
        return
    shown: list[Demonstration] = []
    try:
        if lockstep.verdict is Verdict.DIFFER:
            for loop in differing:
                demonstration = explain_iteration_by_rounding(reruns, loop)
                if demonstration is None:
                    return
                shown.append(demonstration)
        distance = max((loop.growth.largest for loop in lockstep.loops), default=0.0)
        free.demonstration = explain_by_rounding(reruns, free.outputs, distance)
    except RerunsExhaustedError:
        return
    if free.demonstration is not None:
        lockstep.demonstration = next(iter(shown), None)


def _add_peer_outcome(error: ExecutionError, side: ModelSide, peer: Peer) -> ExecutionError:
    """Our error with the peer's result, which tells a fault of the model from a fault of ours."""
    outcome = peer_outcome_text(side, peer)
    return ExecutionError(f"{error.what}; {outcome}", error.remedy, **error.fields)
