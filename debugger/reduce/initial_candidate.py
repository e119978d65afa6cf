"""The initial candidate for a finding: the whole model if it shows there, else a part of it."""

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
from ..compare.running.map_inputs import inputs_of_model
from ..compare.running.sides import ModelSide
from ..compare.running.value_comparison import Tolerance
from ..peers.process import Peer
from .documents.document import Document, ReductionCandidate
from .documents.ir_document import IrDocument
from .documents.onnx_document import OnnxDocument
from .interestingness import (
    BreakpointHit,
    CommandTest,
    InterestingnessTest,
    ModelDifference,
    NonFiniteOutput,
    Observation,
    PeerDisagreement,
)
from .reduction_passes import single_iteration_candidate
from .reduction_session import ReductionSession, document_values
from .stateful_requests import find_first_request, find_request_sequence
from .unify_names import unify_names

#: Maximum ratio of iterations of the second model to those of the first.
_OTHER_MODEL_LIMIT_FACTOR = 10
#: Kinds of observations of a peer that gave no values.
_FAILURES = ("refused", "failed", "crashed", "hung")


class NothingFoundError(LoopdbgError):
    """There is no finding to reduce."""

    exit_status = 8


@dataclass(frozen=True)
class Finding:
    """A finding to reduce, with its interestingness test."""

    candidate: ReductionCandidate
    observation: Observation
    test: InterestingnessTest
    #: Maximum number of iterations of any loop.
    limit: int
    #: Number of nodes of the model.
    original_node_count: int
    tolerance: Tolerance = field(default_factory=Tolerance)


def find_peer_disagreement(
    model: Model, inputs: Mapping[str, Data], peer: Peer, tolerance: Tolerance, cap: int | None = None
) -> Finding:
    """Find where a peer differs from the model: other values, a refusal, a crash. ``cap``: iteration limit of any loop.

    Raises:
        NothingFoundError: no difference.
        UsageError: the peer cannot read models of this system.
        ExecutionError, LimitError: loopdbg does not run the model.
    """
    if peer.name == "onnxruntime" and model.graph.system is System.OPENVINO:
        raise UsageError(f"onnxruntime cannot read {model.name}; compare with openvino", name=model.name)
    if model.graph.is_over_requests:
        return _find_request_disagreement(model, inputs, PeerDisagreement(peer, tolerance, cap), cap)
    full, limit = _whole_model_and_limit(model, inputs, cap)
    predicate = PeerDisagreement(peer, tolerance, limit)
    candidate: ReductionCandidate | None = _with_assigned_outputs(full)
    result = predicate(full)
    if result is not None:
        candidate = full
    elif candidate is not None:
        result = predicate(candidate)
        if result is not None and result.kind in _FAILURES:  # it runs the model itself
            result = None
    if result is None:
        options = ComparisonOptions(tolerance)
        comparison = compare_with_peer(model, inputs, peer, options, limit=cap, free=False).comparisons[0]
        candidate = _candidate_at_difference(model, full, comparison, limit)
        result = None if candidate is None else predicate(candidate)
    if result is None or candidate is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: {peer.name} gives the same within the tolerance, as a whole and "
            "iteration by iteration; give other inputs, or a smaller tolerance"
        )
    predicate.first_observation = result
    # A runtime that hangs or refuses has no values, and a hanging one takes long to ask again.
    predicate.needs_fresh_runs = result.kind not in ("refused", "hung") and predicate.varies_between_processes(
        candidate, result
    )
    return Finding(candidate, result, predicate, limit, full.node_count, tolerance)


def _find_request_disagreement(
    model: Model, inputs: Mapping[str, Data], predicate: PeerDisagreement, cap: int | None
) -> Finding:
    sequence = find_request_sequence(model, inputs, predicate)
    if sequence is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: {predicate.peer.name} gives the same outputs in all requests"
        )
    candidate, result = sequence
    limit = _iteration_limit(model, inputs, cap)
    request = find_first_request(model, inputs, predicate, cap)
    if request is not None:
        _, candidate, result, limit = request
    predicate.first_observation, predicate.limit = result, limit
    return Finding(candidate, result, predicate, limit, candidate.node_count, predicate.tolerance)


def _with_assigned_outputs(full: ReductionCandidate) -> ReductionCandidate | None:
    """Return the candidate with the values assigned to variables as outputs; None if there are none."""
    (document,) = full.documents
    names = document.assigned_names() if isinstance(document, IrDocument) else []
    if not names:
        return None
    new = full.copy()
    new.documents[0].set_outputs(dict.fromkeys([*document.outputs, *names]))
    return new


def find_model_difference(
    left: Model, right: Model, inputs: Mapping[str, Data], tolerance: Tolerance, cap: int | None = None
) -> Finding:
    """Find where two models give different outputs for the same inputs; corresponding values may have different names.

    Raises:
        NothingFoundError: no difference.
        UsageError: the models are of different systems.
        ExecutionError, LimitError: one does not run.
    """
    if left.graph.system is not right.graph.system:
        raise UsageError(
            f"{left.name} and {right.name} are of two systems, and a repro is for a runtime that takes both; "
            "compare one of them with a runtime",
            name="system",
            expected=str(left.graph.system),
            got=str(right.graph.system),
        )
    left_candidate, limit = _whole_model_and_limit(left, inputs_of_model(inputs, left), cap)
    other = document_from_model(right)
    if isinstance(other, OnnxDocument):
        unify_names(left, right, other.proto)
    candidate = ReductionCandidate((*left_candidate.documents, other), {**inputs, **left_candidate.inputs})
    # The iteration limit of the other model is a multiple.
    limit *= _OTHER_MODEL_LIMIT_FACTOR
    right_names = dict(zip(left_candidate.documents[0].outputs, other.outputs, strict=False))
    names = f"{left.name} and {right.name}"
    del left, right  # their constants would be in memory next to those of the candidates
    predicate = ModelDifference(tolerance, limit, right_names)
    result = predicate(candidate)
    if result is None:
        raise NothingFoundError(f"{names}: nothing to reproduce: their outputs are the same within the tolerance")
    predicate.first_observation = result
    return Finding(candidate, result, predicate, limit, left_candidate.node_count, tolerance)


def find_breakpoint_hit(model: Model, inputs: Mapping[str, Data], text: str, cap: int | None = None) -> Finding:
    """Find where an expression is true, or with ``nan`` where the first NaN or infinity arises.

    Raises:
        NothingFoundError: it does not happen.
        UsageError: the expression is invalid for the model.
        ExecutionError, LimitError: the model does not run.
    """
    full, limit = _whole_model_and_limit(model, inputs, cap)
    if text.strip() == "nan":
        return _find_nonfinite(model, full, limit)
    predicate = BreakpointHit(f"if {text}", limit)
    result = predicate.observe(model, inputs)
    if result is None:
        raise NothingFoundError(f"{model.name}: nothing to reproduce: '{text}' is true at no boundary")
    return Finding(full, result, predicate, limit, full.node_count)


def find_command_success(
    model: Model, inputs: Mapping[str, Data], command: str, timeout: float, cap: int | None = None
) -> Finding:
    """Find that a command of the user's succeeds for the whole model. ``timeout``: seconds that it may run.

    Raises:
        NothingFoundError: it does not succeed.
        UsageError: it is not a command, or cannot be started.
        ExecutionError, LimitError: the model does not run.
    """
    predicate = CommandTest(command, timeout, cap)
    full, predicate.limit = _whole_model_and_limit(model, inputs, cap)
    result = predicate(full)
    if result is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: the command does not succeed with it: {predicate.failure}"
        )
    return Finding(full, result, predicate, predicate.limit, full.node_count)


def document_from_model(model: Model) -> Document:
    """Return the file of a model as a document; a TensorRT network is converted to ONNX.

    Raises:
        UnsupportedError: it cannot be expressed in ONNX.
    """
    if model.graph.system is not System.TENSORRT and model.path is not None:
        return read_document(Path(model.path), model.graph.weights)
    from ..peers.onnx_writer import model_with_trajectories
    from ..peers.tensorrt_to_onnx import as_onnx

    graph = as_onnx(model.graph)[0] if model.graph.system is System.TENSORRT else model.graph
    return OnnxDocument(model_with_trajectories(graph, {}))


def read_document(path: Path, weights: Path | None = None) -> Document:
    """Read a model file as a document.

    Raises:
        ModelError: it cannot be read.
    """
    if path.suffix.lower() != ".xml":
        return OnnxDocument.read(path)
    return IrDocument.read(path, weights)


def _whole_model_and_limit(model: Model, inputs: Mapping[str, Data], cap: int | None) -> tuple[ReductionCandidate, int]:
    """The whole model, and the maximum number of iterations of its loops."""
    if model.graph.is_over_requests:
        raise UsageError(f"{model.name}: several requests are compared with a runtime alone")
    limit = _iteration_limit(model, inputs, cap)
    document = document_from_model(model)
    if isinstance(document, IrDocument):
        document.set_initial_state(model.state)
    typed = ModelSide(model, inputs).inputs  # in the types that it declares
    return ReductionCandidate((document,), {name: typed[name] for name in document.inputs if name in typed}), limit


def _iteration_limit(model: Model, inputs: Mapping[str, Data], cap: int | None) -> int:
    """One iteration more than any loop of a model has; the model's state stays as it is."""
    state = dict(model.state)
    run = model.execute(inputs, max_iterations=cap)
    model.state.clear()
    model.state.update(state)
    return max((loop.iterations for loop in run.loops), default=0) + 1


def _find_nonfinite(model: Model, full: ReductionCandidate, limit: int) -> Finding:
    """Find the first NaN or infinity: in an extracted iteration, or in the whole model."""
    chain = _first_nan_position(model, full, limit) if model.loops else []
    part = _iteration_candidate(model, full, chain, limit)
    # A model may have a mask of infinities; then only NaN counts.
    for kinds in (("nan", "inf"), ("nan",), ("inf",)):
        predicate = NonFiniteOutput(kinds, limit)
        for candidate in (part, full):
            complete = None if candidate is None else _make_all_values_outputs(candidate, limit)
            result = None if complete is None else predicate(complete)
            if result is not None and complete is not None:
                predicate.first_observation = result
                return Finding(complete, result, predicate, limit, full.node_count)
    raise NothingFoundError(f"{model.name}: nothing to reproduce: no value of it becomes NaN or infinite by itself")


def _first_nan_position(model: Model, full: ReductionCandidate, limit: int) -> list[tuple[str, int]]:
    """The loops and iterations in which a session stops at the first NaN; empty if it does not stop."""
    from ..session.session import Session
    from ..session.stop import Reason

    session = Session(model, full.inputs, max_iterations=limit, attended=False)
    session.breakpoints.add("nan")
    if session.continue_().reason is not Reason.BREAKPOINT:
        return []
    return [(frame.path, frame.iteration) for frame in session.frames if frame.loop is not None]


def _make_all_values_outputs(candidate: ReductionCandidate, limit: int) -> ReductionCandidate:
    """Return the candidate with every value of the main graph as an output."""
    new = candidate.copy()
    for document in new.documents:
        values = document_values(document, new.inputs_for(document), limit)
        names = [name for step in document.nodes() for name in step.outputs if name in values]
        document.set_outputs({name: values[name] for name in names} or dict.fromkeys(document.outputs))
    return new


def _candidate_at_difference(
    model: Model, full: ReductionCandidate, comparison: Comparison, limit: int
) -> ReductionCandidate | None:
    """Return the iteration in which a lockstep comparison found a difference."""
    first = comparison.first
    if first is not None and first.first is not None:
        iterations = (*first.first.entry, first.first.iteration or 0)
        return _iteration_candidate(
            model, full, list(zip(_enclosing_paths(model, first.left), iterations, strict=False)), limit
        )
    for failure in comparison.failures:
        path = failure.activity.removeprefix("the body of ").split(", iteration ")
        iteration = int(path[1]) if len(path) > 1 else 0
        paths = _enclosing_paths(model, path[0])
        if paths:
            return _iteration_candidate(
                model, full, [*((outer, 0) for outer in paths[:-1]), (paths[-1], iteration)], limit
            )
    return None


def _enclosing_paths(model: Model, path: str) -> list[str]:
    """The paths of the enclosing loops of a loop, and its own."""

    def search(nodes: Sequence[LoopNode]) -> list[str] | None:
        for node in nodes:
            if node.path == path:
                return [path]
            inner_paths = search(node.children)
            if inner_paths is not None:
                return [node.path, *inner_paths]
        return None

    return search(model.loops) or []


def _iteration_candidate(
    model: Model, full: ReductionCandidate, chain: Sequence[tuple[str, int]], limit: int
) -> ReductionCandidate | None:
    """Return one iteration of a loop, inside one iteration of each outer loop. None if it cannot be extracted."""
    nodes, candidate = list(model.loops), full
    for path, iteration in chain:
        node = next((child for child in nodes if child.path == path), None)
        if node is None:
            return None
        candidate = _inline_taken_branches(candidate, limit)
        run = ReductionSession(InterestingnessTest(), candidate, Observation(""), limit=limit)
        outputs = {value.name for value in node.loop.outputs if value is not None}
        key = next((s.key for s in run.main_document.loops() if outputs & set(s.outputs) or s.name == node.name), None)
        extracted = None if key is None else single_iteration_candidate(run, key, iteration, run.values())
        if extracted is None:
            return None
        candidate, nodes = _freeze_random_values(extracted, limit), list(node.children)
    return candidate if chain else None


def _inline_taken_branches(candidate: ReductionCandidate, limit: int) -> ReductionCandidate:
    """Replace Ifs by their taken branches."""
    run = ReductionSession(InterestingnessTest(), candidate, Observation(""), limit=limit)
    for step in run.main_document.inlinable_if_nodes():
        inlined = _inline_branch(run, step.key)
        if inlined is not None:
            run.best = inlined
    return run.best


def _inline_branch(run: ReductionSession, key: str) -> ReductionCandidate | None:
    values = run.values()
    return run.apply_edit(lambda document: document.inline_branch(key, values))


def _freeze_random_values(candidate: ReductionCandidate, limit: int) -> ReductionCandidate:
    """Turn the results of random operators into inputs: each runtime draws its own numbers."""
    run = ReductionSession(InterestingnessTest(), candidate, Observation(""), limit=limit)
    random_names = _random_value_names(run.main_document.build_model().graph)
    values = {name: value for name, value in run.values().items() if name in random_names}

    def edit(document: Document) -> Mapping[str, Data] | None:
        document.replace_by_inputs(values)
        return values

    return (run.apply_edit(edit) or candidate) if values else candidate


def _random_value_names(graph: Graph) -> set[str]:
    return {
        value.name
        for node in walk(graph)
        if is_random(node, graph.system)
        for value in node.outputs
        if value is not None
    }
