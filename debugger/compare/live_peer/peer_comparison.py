"""A model against a live peer: iteration by iteration, and free-running."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ....runtime.errors import ExecutionError, UsageError
from ....runtime.graph import Graph, System, walk
from ....runtime.model import Data, Model
from ....runtime.ops.registry import is_random
from ...peers.process import Peer
from ..report.findings import Comparison, DivergenceReason, Verdict
from ..running.boundary_merge import ComparisonOptions
from ..running.loop_matching import match_loops, select_pairs
from ..running.sides import ModelSide
from .free_running import compare_free_running, peer_outcome
from .lockstep import Lockstep
from .peer_precision import openvino_tolerance
from .run_profile import RunProfile


@dataclass
class PeerComparison:
    """What came of it."""

    peer: str
    version: str
    #: What the peer was told to be.
    configuration: Mapping[str, str] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The gravest of the comparisons' verdicts; one that had nothing to compare says nothing beside another."""
        found = {comparison.verdict for comparison in self.comparisons if not comparison.empty or comparison.failures}
        grave = (
            *(Verdict.DIFFER, Verdict.UNSTABLE, Verdict.NOT_COMPARED, Verdict.LIMITED),
            *(Verdict.PARTLY, Verdict.STEP, Verdict.SAME),
        )
        return next((verdict for verdict in grave if verdict in found), Verdict.NOT_COMPARED)

    @property
    def same(self) -> bool:
        """Everything was compared, and nothing differs."""
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
        ExecutionError: ours does not run; the text says what the peer makes of the whole model.
        LimitError: ours does not run.
    """
    if peer.name == "onnxruntime" and model.graph.system is System.OPENVINO:
        raise UsageError(f"onnxruntime cannot read {model.name}; compare with openvino")
    side = ModelSide(model, inputs, limit)
    side.report_progress(options.on_tick, leads=True)
    note = None
    if peer.name == "openvino":
        tolerance, note = openvino_tolerance(model.graph, options.tolerance)
        options = replace(options, tolerance=tolerance)
    select_pairs(match_loops(side.loops, side.loops, {}).pairs, options.loops)  # complains of names that are none
    profile = RunProfile()
    step = Lockstep(side, peer if lockstep else None, options, profile)
    try:
        result = step.run()
    except ExecutionError as error:
        # Whether the peer runs the model tells a fault of the model from one of ours.
        told = peer_outcome(side, side.inputs, peer)
        raise ExecutionError(f"{error.what}; {told}", error.remedy, **error.fields) from error
    found = [result] if lockstep else []
    drawn = _random_nodes(model.graph)
    if free and drawn:
        result.add_note(
            f"free-running: not compared, since '{drawn[0]}' draws random numbers, and each runtime its own"
        )
        found = [result]
    elif free:
        found.append(compare_free_running(side, side.inputs, peer, options, profile))
    if note is not None:
        found[0].add_note(note)
        for one in found:
            if one.verdict is Verdict.DIFFER:
                one.reasons.append(DivergenceReason(note.rule, note))
    if model.graph.system is System.TENSORRT:
        found[0].add_note(f"{peer.name} is given the network in ONNX's words")
    return PeerComparison(peer.name, peer.version, peer.configuration, found)


def _random_nodes(graph: Graph) -> list[str]:
    return [node.name for node in walk(graph) if is_random(node, graph.system)]
