"""From a finding to the first candidate: the whole model where it shows there, else the part of it that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...runtime.errors import LoopdbgError, UsageError
from ...runtime.graph import Graph, System, walk
from ...runtime.model import Data, LoopNode, Model
from ...runtime.ops.registry import is_random
from ..compare.live_peer.peer_comparison import compare_with_peer
from ..compare.report.findings import Comparison
from ..compare.running.boundary_merge import ComparisonOptions
from ..compare.running.sides import ModelSide
from ..compare.running.value_comparison import Tolerance
from ..peers.process import Peer
from .documents.document import Document, ReductionCandidate
from .documents.ir_document import IrDocument
from .documents.onnx_document import OnnxDocument
from .interestingness import (
    BreakpointHit,
    InterestingnessTest,
    ModelDifference,
    NonFiniteOutput,
    Observation,
    PeerDisagreement,
)
from .reduction_passes import single_iteration
from .reduction_session import ReductionSession, document_values
from .stateful_requests import find_first_request
from .unify_names import unify_names

#: Of two models one may run so many times as many iterations as the other.
_OTHER_MODEL_LIMIT_FACTOR = 10


class NothingFoundError(LoopdbgError):
    """There is no finding that could be made smaller."""

    exit_status = 8


@dataclass(frozen=True)
class Finding:
    """What is to be made smaller, and how to see that it is still there."""

    candidate: ReductionCandidate
    observation: Observation
    test: InterestingnessTest
    #: No loop of it runs more iterations.
    limit: int
    #: How many nodes the model has.
    original_node_count: int
    tolerance: Tolerance = field(default_factory=Tolerance)


def find_peer_disagreement(
    model: Model, inputs: Mapping[str, Data], peer: Peer, tolerance: Tolerance, most: int | None = None
) -> Finding:
    """What a peer does otherwise than the model says: other values, a refusal, a crash. ``most``: no loop runs more
    iterations.

    Raises:
        NothingFoundError: it does the same.
        UsageError: the peer cannot read models of this system.
        ExecutionError, LimitError: ours does not run.
    """
    if peer.name == "onnxruntime" and model.graph.system is System.OPENVINO:
        raise UsageError(f"onnxruntime cannot read {model.name}; compare with openvino")
    if model._internals.is_over_requests:
        return _find_in_request(model, inputs, PeerDisagreement(peer, tolerance, most), most)
    whole, limit = _whole_model(model, inputs, most)
    predicate = PeerDisagreement(peer, tolerance, limit)
    candidate: ReductionCandidate | None = _with_assigned_outputs(whole)
    shown = predicate(whole)
    if shown is not None:
        candidate = whole
    elif candidate is not None:
        shown = predicate(candidate)
    if shown is None:
        options = ComparisonOptions(tolerance)
        found = compare_with_peer(model, inputs, peer, options, limit=most, free=False).comparisons[0]
        candidate = _candidate_at_difference(model, whole, found, limit)
        shown = None if candidate is None else predicate(candidate)
    if shown is None or candidate is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: {peer.name} gives the same within the tolerance, as a whole and "
            "iteration by iteration; give other inputs, or a smaller tolerance"
        )
    predicate.first_observation = shown
    return Finding(candidate, shown, predicate, limit, whole.node_count, tolerance)


def _find_in_request(
    model: Model, inputs: Mapping[str, Data], predicate: PeerDisagreement, most: int | None
) -> Finding:
    found = find_first_request(model, inputs, predicate, most)
    if found is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: {predicate.peer.name} gives the same in each request by itself, "
            "begun with what the ones before it assigned"
        )
    _, candidate, shown, limit = found
    predicate.first_observation, predicate.limit = shown, limit
    return Finding(candidate, shown, predicate, limit, candidate.node_count, predicate.tolerance)


def _with_assigned_outputs(whole: ReductionCandidate) -> ReductionCandidate | None:
    """With what is assigned to variables as outputs; None where nothing is."""
    (document,) = whole.documents
    names = document.assigned_names() if isinstance(document, IrDocument) else []
    if not names:
        return None
    new = whole.copy()
    new.documents[0].set_outputs(dict.fromkeys([*document.outputs, *names]))
    return new


def find_model_difference(
    left: Model, right: Model, inputs: Mapping[str, Data], tolerance: Tolerance, most: int | None = None
) -> Finding:
    """Where two models give other outputs for the same inputs; what corresponds in them may have two names.

    Raises:
        NothingFoundError: they give the same.
        UsageError: they are of two systems.
        ExecutionError, LimitError: one does not run.
    """
    if left.graph.system is not right.graph.system:
        raise UsageError(
            f"{left.name} and {right.name} are of two systems, and a repro is for a runtime that takes both; "
            "compare one of them with a runtime"
        )
    one, limit = _whole_model(left, inputs, most)
    other = document_from_model(right)
    if isinstance(other, OnnxDocument):
        unify_names(left, right, inputs, other.proto)
    candidate = ReductionCandidate((*one.documents, other), one.inputs)
    # The other one may run as long as it likes, to a measure.
    limit *= _OTHER_MODEL_LIMIT_FACTOR
    called = dict(zip(one.documents[0].outputs, other.outputs, strict=False))
    predicate = ModelDifference(tolerance, limit, called)
    shown = predicate(candidate)
    if shown is None:
        raise NothingFoundError(
            f"{left.name} and {right.name}: nothing to reproduce: their outputs are the same within the tolerance"
        )
    predicate.first_observation = shown
    return Finding(candidate, shown, predicate, limit, one.node_count, tolerance)


def find_breakpoint_hit(model: Model, inputs: Mapping[str, Data], text: str, most: int | None = None) -> Finding:
    """Where an expression is true, or with ``nan`` where the first NaN or infinity arises.

    Raises:
        NothingFoundError: that never happens.
        UsageError: the expression makes no sense for the model.
        ExecutionError, LimitError: the model does not run.
    """
    whole, limit = _whole_model(model, inputs, most)
    if text.strip() == "nan":
        return _find_nonfinite(model, whole, limit)
    predicate = BreakpointHit(f"if {text}", limit)
    shown = predicate.observe(model, inputs)
    if shown is None:
        raise NothingFoundError(f"{model.name}: nothing to reproduce: '{text}' is true at no boundary")
    return Finding(whole, shown, predicate, limit, whole.node_count)


def document_from_model(model: Model) -> Document:
    """The file of a model as it is; a network of TensorRT in ONNX's words.

    Raises:
        UnsupportedError: ONNX has no words for it.
    """
    if model.graph.system is not System.TENSORRT and model.path is not None:
        return read_document(Path(model.path), model._internals.weights)
    from ..peers.onnx_writer import model_with_trajectories
    from ..peers.tensorrt_to_onnx import as_onnx

    graph = as_onnx(model.graph)[0] if model.graph.system is System.TENSORRT else model.graph
    return OnnxDocument(model_with_trajectories(graph, {}))


def read_document(path: Path, weights: Path | None = None) -> Document:
    """A model file as a document.

    Raises:
        ModelError: it cannot be read.
    """
    if path.suffix.lower() != ".xml":
        return OnnxDocument.read(path)
    return IrDocument.read(path, weights)


def _whole_model(model: Model, inputs: Mapping[str, Data], most: int | None) -> tuple[ReductionCandidate, int]:
    """The whole model, and how many iterations its loops run at most."""
    if model._internals.is_over_requests:
        raise UsageError(f"{model.name}: several requests are compared with a runtime alone")
    state = dict(model.state)
    run = model.execute(inputs, max_iterations=most)
    model.state.clear()
    model.state.update(state)
    limit = max((loop.iterations for loop in run.loops), default=0) + 1
    document = document_from_model(model)
    if isinstance(document, IrDocument):
        document.set_initial_state(state)
    given = ModelSide(model, inputs).inputs  # in the types that it declares
    return ReductionCandidate((document,), {name: given[name] for name in document.inputs if name in given}), limit


def _find_nonfinite(model: Model, whole: ReductionCandidate, limit: int) -> Finding:
    """The first NaN or infinity: in an iteration by itself, or in the whole model."""
    chain = _first_nan_position(model, whole, limit) if model.loops else []
    part = _iteration_candidate(model, whole, chain, limit)
    # A model may hold a mask of infinities, and then it is the NaN that counts.
    for kinds in (("nan", "inf"), ("nan",), ("inf",)):
        predicate = NonFiniteOutput(kinds, limit)
        for candidate in (part, whole):
            every = None if candidate is None else _with_all_outputs(candidate, limit)
            shown = None if every is None else predicate(every)
            if shown is not None and every is not None:
                predicate.first_observation = shown
                return Finding(every, shown, predicate, limit, whole.node_count)
    raise NothingFoundError(f"{model.name}: nothing to reproduce: no value of it becomes NaN or infinite by itself")


def _first_nan_position(model: Model, whole: ReductionCandidate, limit: int) -> list[tuple[str, int]]:
    """The loops and iterations in which a session stops at the first one; empty: at none."""
    from ..session.session import Session
    from ..session.stop import Reason

    session = Session(model, whole.inputs, max_iterations=limit, attended=False)
    session.breakpoints.add("nan")
    if session.continue_().reason is not Reason.BREAKPOINT:
        return []
    return [(frame.path, frame.iteration) for frame in session.frames if frame.loop is not None]


def _with_all_outputs(candidate: ReductionCandidate, limit: int) -> ReductionCandidate:
    """With every value of the main graph as an output."""
    new = candidate.copy()
    for document in new.documents:
        values = document_values(document, new.inputs_for(document), limit)
        made = [name for step in document.nodes() for name in step.outputs if name in values]
        document.set_outputs({name: values[name] for name in made} or dict.fromkeys(document.outputs))
    return new


def _candidate_at_difference(
    model: Model, whole: ReductionCandidate, found: Comparison, limit: int
) -> ReductionCandidate | None:
    """The iteration in which a comparison in lockstep found something."""
    first = found.first
    if first is not None and first.first is not None:
        at = (*first.first.entry, first.first.iteration or 0)
        return _iteration_candidate(
            model, whole, list(zip(_enclosing_paths(model, first.left), at, strict=False)), limit
        )
    for failure in found.failures:
        path = failure.activity.removeprefix("the body of ").split(", iteration ")
        iteration = int(path[1]) if len(path) > 1 else 0
        paths = _enclosing_paths(model, path[0])
        if paths:
            return _iteration_candidate(
                model, whole, [*((one, 0) for one in paths[:-1]), (paths[-1], iteration)], limit
            )
    return None


def _enclosing_paths(model: Model, path: str) -> list[str]:
    """The paths of the loops around one, and its own."""

    def around(nodes: Sequence[LoopNode]) -> list[str] | None:
        for node in nodes:
            if node.path == path:
                return [path]
            inside = around(node.children)
            if inside is not None:
                return [node.path, *inside]
        return None

    return around(model.loops) or []


def _iteration_candidate(
    model: Model, whole: ReductionCandidate, chain: Sequence[tuple[str, int]], limit: int
) -> ReductionCandidate | None:
    """One iteration of a loop, inside one iteration of each loop around it. None where that cannot be cut out."""
    nodes, candidate = list(model.loops), whole
    for path, iteration in chain:
        node = next((one for one in nodes if one.path == path), None)
        if node is None:
            return None
        candidate = _inline_taken_branches(candidate, limit)
        lab = ReductionSession(_NeverInteresting(), candidate, Observation(""), limit=limit)
        named = {value.name for value in node.loop.outputs if value is not None}
        key = next((s.key for s in lab.main_document.loops() if named & set(s.outputs) or s.name == node.name), None)
        cut = None if key is None else single_iteration(lab, key, iteration, lab.values())
        if cut is None:
            return None
        candidate, nodes = _freeze_random_values(cut, limit), list(node.children)
    return candidate if chain else None


def _inline_taken_branches(candidate: ReductionCandidate, limit: int) -> ReductionCandidate:
    """The branches that are taken, in place of their Ifs."""
    lab = ReductionSession(_NeverInteresting(), candidate, Observation(""), limit=limit)
    for step in lab.main_document.if_nodes():
        taken = _inline_branch(lab, step.key)
        if taken is not None:
            lab.best = taken
    return lab.best


def _inline_branch(lab: ReductionSession, key: str) -> ReductionCandidate | None:
    values = lab.values()
    return lab.apply_edit(lambda document: document.inline_branch(key, values))


def _freeze_random_values(candidate: ReductionCandidate, limit: int) -> ReductionCandidate:
    """With what random operators drew as inputs: each runtime draws its own numbers."""
    lab = ReductionSession(_NeverInteresting(), candidate, Observation(""), limit=limit)
    drawn = _random_names(lab.main_document.build_model().graph)
    values = {name: value for name, value in lab.values().items() if name in drawn}

    def act(document: Document) -> Mapping[str, Data] | None:
        document.replace_by_inputs(values)
        return values

    return (lab.apply_edit(act) or candidate) if values else candidate


def _random_names(graph: Graph) -> set[str]:
    return {
        value.name
        for node in walk(graph)
        if is_random(node, graph.system)
        for value in node.outputs
        if value is not None
    }


class _NeverInteresting:
    """Nothing is looked for: a lab to cut in."""

    allows_other_values = True
    first_observation: Observation | None = None

    def __call__(self, candidate: ReductionCandidate) -> Observation | None:
        """Nothing."""
        return None
