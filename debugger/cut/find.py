"""From a finding to the first candidate: the whole model where it shows there, else the part of it that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...runtime.errors import LoopdbgError, UsageError
from ...runtime.graph import Graph, System, walk
from ...runtime.model import Data, LoopNode, Model
from ...runtime.ops.registry import is_random
from ..diff.findings import Comparison
from ..diff.live import compare_live
from ..diff.sides import ModelSide
from ..diff.streams import Options
from ..diff.values import Tolerance
from ..peers.process import Peer
from .document import Candidate, Document
from .ir_document import IrDocument
from .lab import Lab, values_of
from .onnx_document import OnnxDocument
from .passes import peeled
from .predicate import Difference, Disagreement, NotFinite, Predicate, Shown, Stops
from .requests import first_request
from .same_names import give_names

#: Of two models one may run so many times as many iterations as the other.
_LONGER = 10


class NothingFoundError(LoopdbgError):
    """There is no finding that could be made smaller."""

    exit_status = 8


@dataclass(frozen=True)
class Finding:
    """What is to be made smaller, and how to see that it is still there."""

    candidate: Candidate
    shown: Shown
    predicate: Predicate
    #: No loop of it runs more iterations.
    limit: int
    #: How many nodes the model has.
    nodes: int
    tolerance: Tolerance = field(default_factory=Tolerance)


def against(
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
    if model._inside.requests:
        return _in_a_request(model, inputs, Disagreement(peer, tolerance, most), most)
    whole, limit = _whole(model, inputs, most)
    predicate = Disagreement(peer, tolerance, limit)
    candidate: Candidate | None = _showing_assigned(whole)
    shown = predicate(whole)
    if shown is not None:
        candidate = whole
    elif candidate is not None:
        shown = predicate(candidate)
    if shown is None:
        options = Options(tolerance)
        found = compare_live(model, inputs, peer, options, limit=most, free=False).comparisons[0]
        candidate = _where(model, whole, found, limit)
        shown = None if candidate is None else predicate(candidate)
    if shown is None or candidate is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: {peer.name} gives the same within the tolerance, as a whole and "
            "iteration by iteration; give other inputs, or a smaller tolerance"
        )
    predicate.like = shown
    return Finding(candidate, shown, predicate, limit, whole.count, tolerance)


def _in_a_request(model: Model, inputs: Mapping[str, Data], predicate: Disagreement, most: int | None) -> Finding:
    found = first_request(model, inputs, predicate, most)
    if found is None:
        raise NothingFoundError(
            f"{model.name}: nothing to reproduce: {predicate.peer.name} gives the same in each request by itself, "
            "begun with what the ones before it assigned"
        )
    _, candidate, shown, limit = found
    predicate.like, predicate.limit = shown, limit
    return Finding(candidate, shown, predicate, limit, candidate.count, predicate.tolerance)


def _showing_assigned(whole: Candidate) -> Candidate | None:
    """With what is assigned to variables as outputs; None where nothing is."""
    (document,) = whole.documents
    names = document.assigned() if isinstance(document, IrDocument) else []
    if not names:
        return None
    new = whole.copy()
    new.documents[0].show(dict.fromkeys([*document.outputs, *names]))
    return new


def between(
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
    one, limit = _whole(left, inputs, most)
    other = document_of(right)
    if isinstance(other, OnnxDocument):
        give_names(left, right, inputs, other.proto)
    candidate = Candidate((*one.documents, other), one.inputs)
    # The other one may run as long as it likes, to a measure.
    limit *= _LONGER
    called = dict(zip(one.documents[0].outputs, other.outputs, strict=False))
    predicate = Difference(tolerance, limit, called)
    shown = predicate(candidate)
    if shown is None:
        raise NothingFoundError(
            f"{left.name} and {right.name}: nothing to reproduce: their outputs are the same within the tolerance"
        )
    predicate.like = shown
    return Finding(candidate, shown, predicate, limit, one.count, tolerance)


def stopping(model: Model, inputs: Mapping[str, Data], text: str, most: int | None = None) -> Finding:
    """Where an expression is true, or with ``nan`` where the first NaN or infinity arises.

    Raises:
        NothingFoundError: that never happens.
        UsageError: the expression makes no sense for the model.
        ExecutionError, LimitError: the model does not run.
    """
    whole, limit = _whole(model, inputs, most)
    if text.strip() == "nan":
        return _not_finite(model, whole, limit)
    predicate = Stops(f"if {text}", limit)
    shown = predicate.at(model, inputs)
    if shown is None:
        raise NothingFoundError(f"{model.name}: nothing to reproduce: '{text}' is true at no boundary")
    return Finding(whole, shown, predicate, limit, whole.count)


def document_of(model: Model) -> Document:
    """The file of a model as it is; a network of TensorRT in ONNX's words.

    Raises:
        UnsupportedError: ONNX has no words for it.
    """
    if model.graph.system is not System.TENSORRT and model.path is not None:
        return read(Path(model.path), model._inside.weights)
    from ..peers.network import as_onnx
    from ..peers.onnx_writer import with_trajectories

    graph = as_onnx(model.graph)[0] if model.graph.system is System.TENSORRT else model.graph
    return OnnxDocument(with_trajectories(graph, {}))


def read(path: Path, weights: Path | None = None) -> Document:
    """A model file as a document.

    Raises:
        ModelError: it cannot be read.
    """
    if path.suffix.lower() != ".xml":
        return OnnxDocument.read(path)
    return IrDocument.read(path, weights)


def _whole(model: Model, inputs: Mapping[str, Data], most: int | None) -> tuple[Candidate, int]:
    """The whole model, and how many iterations its loops run at most."""
    if model._inside.requests:
        raise UsageError(f"{model.name}: several requests are compared with a runtime alone")
    state = dict(model.state)
    run = model.execute(inputs, max_iterations=most)
    model.state.clear()
    model.state.update(state)
    limit = max((loop.iterations for loop in run.loops), default=0) + 1
    document = document_of(model)
    if isinstance(document, IrDocument):
        document.begin_with(state)
    given = ModelSide(model, inputs).inputs  # in the types that it declares
    return Candidate((document,), {name: given[name] for name in document.inputs if name in given}), limit


def _not_finite(model: Model, whole: Candidate, limit: int) -> Finding:
    """The first NaN or infinity: in an iteration by itself, or in the whole model."""
    chain = _first_nan(model, whole, limit) if model.loops else []
    part = _entered(model, whole, chain, limit)
    # A model may hold a mask of infinities, and then it is the NaN that counts.
    for kinds in (("nan", "inf"), ("nan",), ("inf",)):
        predicate = NotFinite(kinds, limit)
        for candidate in (part, whole):
            every = None if candidate is None else _showing_all(candidate, limit)
            shown = None if every is None else predicate(every)
            if shown is not None and every is not None:
                predicate.like = shown
                return Finding(every, shown, predicate, limit, whole.count)
    raise NothingFoundError(f"{model.name}: nothing to reproduce: no value of it becomes NaN or infinite by itself")


def _first_nan(model: Model, whole: Candidate, limit: int) -> list[tuple[str, int]]:
    """The loops and iterations in which a session stops at the first one; empty: at none."""
    from ..session.session import Session
    from ..session.stop import Reason

    session = Session(model, whole.inputs, max_iterations=limit, attended=False)
    session.breakpoints.add("nan")
    if session.continue_().reason is not Reason.BREAKPOINT:
        return []
    return [(frame.path, frame.iteration) for frame in session.frames if frame.loop is not None]


def _showing_all(candidate: Candidate, limit: int) -> Candidate:
    """With every value of the main graph as an output."""
    new = candidate.copy()
    for document in new.documents:
        values = values_of(document, new.of(document), limit)
        made = [name for step in document.steps() for name in step.outputs if name in values]
        document.show({name: values[name] for name in made} or dict.fromkeys(document.outputs))
    return new


def _where(model: Model, whole: Candidate, found: Comparison, limit: int) -> Candidate | None:
    """The iteration in which a comparison in lockstep found something."""
    first = found.first
    if first is not None and first.first is not None:
        at = (*first.first.entry, first.first.iteration or 0)
        return _entered(model, whole, list(zip(_paths(model, first.left), at, strict=False)), limit)
    for failure in found.failures:
        path = failure.where.removeprefix("the body of ").split(", iteration ")
        iteration = int(path[1]) if len(path) > 1 else 0
        paths = _paths(model, path[0])
        if paths:
            return _entered(model, whole, [*((one, 0) for one in paths[:-1]), (paths[-1], iteration)], limit)
    return None


def _paths(model: Model, path: str) -> list[str]:
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


def _entered(model: Model, whole: Candidate, chain: Sequence[tuple[str, int]], limit: int) -> Candidate | None:
    """One iteration of a loop, inside one iteration of each loop around it. None where that cannot be cut out."""
    nodes, candidate = list(model.loops), whole
    for path, iteration in chain:
        node = next((one for one in nodes if one.path == path), None)
        if node is None:
            return None
        candidate = _with_branches(candidate, limit)
        lab = Lab(_Never(), candidate, Shown(""), limit=limit)
        named = {value.name for value in node.loop.outputs if value is not None}
        key = next((s.key for s in lab.main.loops() if named & set(s.outputs) or s.name == node.name), None)
        cut = None if key is None else peeled(lab, key, iteration, lab.values())
        if cut is None:
            return None
        candidate, nodes = _without_chance(cut, limit), list(node.children)
    return candidate if chain else None


def _with_branches(candidate: Candidate, limit: int) -> Candidate:
    """The branches that are taken, in place of their Ifs."""
    lab = Lab(_Never(), candidate, Shown(""), limit=limit)
    for step in lab.main.branches():
        taken = _taken(lab, step.key)
        if taken is not None:
            lab.best = taken
    return lab.best


def _taken(lab: Lab, key: str) -> Candidate | None:
    values = lab.values()
    return lab.changed(lambda document: document.take(key, values))


def _without_chance(candidate: Candidate, limit: int) -> Candidate:
    """With what random operators drew as inputs: each runtime draws its own numbers."""
    lab = Lab(_Never(), candidate, Shown(""), limit=limit)
    drawn = _drawn(lab.main.model().graph)
    values = {name: value for name, value in lab.values().items() if name in drawn}

    def act(document: Document) -> Mapping[str, Data] | None:
        document.freeze(values)
        return values

    return (lab.changed(act) or candidate) if values else candidate


def _drawn(graph: Graph) -> set[str]:
    return {
        value.name
        for node in walk(graph)
        if is_random(node, graph.system)
        for value in node.outputs
        if value is not None
    }


class _Never:
    """Nothing is looked for: a lab to cut in."""

    loose = True
    like: Shown | None = None

    def __call__(self, candidate: Candidate) -> Shown | None:
        """Nothing."""
        return None
