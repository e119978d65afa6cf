"""Models that behave as a runtime does, where it departs from the specification (docs/peers.md).

Each rule is a change of the loop graph, which our engine then runs: the loop can be stepped as the runtime computes it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import (
    Graph,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    System,
    TensorType,
    Value,
    loops,
    walk,
)
from ....runtime.graph.producers import ProducerMap
from ....runtime.model import Model
from ...peers.process import PEERS
from ...portability.known_differences import KNOWN_DIFFERENCES
from ..running.graph_rewriting import rewritten_copy
from ..running.runtime_deviations import Deviation
from .saturating_byte_sums import is_byte_product, with_saturating_sums

_INT64 = np.dtype(np.int64)
#: Element types in ONNX files.
_ONNX_INT32, _ONNX_INT64 = 6, 7


@dataclass(frozen=True)
class PeerSemantics:
    """A model with the rules of a runtime. ``followed``: what it does otherwise, one sentence each; ``unfollowed``: the
    other notes on that runtime."""

    model: Model
    followed: tuple[str, ...]
    unfollowed: tuple[str, ...] = ()


@dataclass
class _Rewrite:
    """A rewrite of one model. ``sentences``: what was changed; ``rules``: labels of notes that this settles."""

    graph: Graph
    origins: ProducerMap
    sentences: list[str] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)

    def record_change(self, rule: str, text: str) -> None:
        self.rules.add(rule)
        self.sentences.append(text)


#: A rule: the nodes that take the place of a copied node of ``graph``; None: it does not apply.
_Rule = Callable[[_Rewrite, Graph, Node], Sequence[Node] | None]


def as_runtime(model: Model, runtime: str) -> PeerSemantics:
    """Return a model that behaves as a runtime does, as far as our engine can follow it.

    Raises:
        UsageError: unknown runtime, or no difference that can be followed applies to the model.
    """
    if runtime not in PEERS:
        raise UsageError(f"there are no rules of '{runtime}'; there are some of {' and '.join(PEERS)}")
    rewrite = _Rewrite(model.graph, ProducerMap.for_graph(model.graph))
    graph = _rewrite_by_rules(rewrite, _RULES[runtime])
    unfollowed = tuple(_unfollowed_notes(model.graph, runtime, rewrite.rules))
    if not rewrite.sentences:
        rest = f"; not followed: {'; '.join(unfollowed)}" if unfollowed else ""
        raise UsageError(
            f"{model.name}: has nothing that {runtime} computes otherwise and loopdbg can follow (docs/peers.md){rest}"
        )
    graph.name = model.name
    return PeerSemantics(Model(graph), tuple(rewrite.sentences), unfollowed)


def _unfollowed_notes(graph: Graph, runtime: str, followed: set[str]) -> Iterator[str]:
    """The notes about other numbers of a runtime that no rule of its follows."""
    for note in (*graph.notes, *(note for loop in loops(graph) for note in loop.notes)):
        label = getattr(note, "rule", "")
        rule = KNOWN_DIFFERENCES.get(label)
        if rule is not None and runtime in rule.peers and label not in followed:
            yield str(note)


def _rewrite_by_rules(rewrite: _Rewrite, rules: Sequence[_Rule]) -> Graph:
    """A copy of a graph and of the graphs in it, changed by rules."""

    def apply(graph: Graph, node: Node, copied: Node) -> list[Node]:
        nodes = [copied]
        for rule in rules:
            nodes = [other for item in nodes for other in (rule(rewrite, graph, item) or [item])]
        return nodes

    return rewritten_copy(rewrite.graph, apply)


# -- rules


def _obey_body_condition(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B1: both stop where the body's condition is false, although the loop's cond is absent."""
    if not isinstance(node, Loop) or node.ignored_condition is None or not _has_rule_note(node, "B1"):
        return None
    name = node.ignored_condition.name
    rewrite.record_change("B1", f"loop '{node.name}' stops once '{name}' is false, although the loop's cond is absent")
    node.condition, node.ignored_condition = node.ignored_condition, None
    return [_remove_rule_notes(node, "B1")]


def _alias_iteration_number_rows(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B7: onnxruntime collects the iteration number without a copy: all rows are the last one plus 1."""
    if not isinstance(node, Loop) or node.system is not System.ONNX or node.iteration is None:
        return None
    kind = node.iteration.type
    scans = [scan for scan in node.scan_outputs if scan.result is node.iteration]
    if not scans or any(edge.result is node.iteration for edge in node.back_edges):
        return None
    if not isinstance(kind, TensorType) or kind.shape != ():
        return None
    version = graph.opsets.get("", node.version)
    added: list[Node] = []
    for scan in scans:
        outer = scan.outer
        rows, count = Value(f"{outer.name}_rows", outer.type), Value(f"{outer.name}_count", TensorType(_INT64, (1,)))
        node.scan_outputs = [ScanOutput(item.result, rows) if item is scan else item for item in node.scan_outputs]
        node.outputs = [rows if value is outer else value for value in node.outputs]
        added += [
            Operation(f"{node.name}_count", "Shape", "", version, [rows], [count]),
            Operation(f"{node.name}_expand", "Expand", "", version, [count, count], [outer]),
        ]
        text = f"all rows of '{outer.name}' are the number of iterations: loop '{node.name}' counts on in place"
        rewrite.record_change("B7", text)
    return [_remove_rule_notes(node, "B7"), *added]


def _count_trips_in_32_bits(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B14, B15: OpenVINO takes a negative trip count of an ONNX loop for no limit, and one that is given at run time in
    32 bits. Not of loops with scan outputs, which it fills with uninitialised memory then."""
    if not isinstance(node, Loop) or node.system is not System.ONNX or node.trip_count is None:
        return None
    count = node.trip_count
    number = rewrite.origins.constant_integer(count)
    if node.scan_outputs and number != -1:
        return None
    if number is not None:
        if number >= 0:
            return None
        rewrite.record_change("B14", f"loop '{node.name}' has no limit: its trip count is {number}")
        return [_with_trip_count(node, None)]
    rewrite.record_change("B15", f"loop '{node.name}' takes its trip count in 32 bits, and a negative one for no limit")
    rewrite.rules.add("B14")
    shape = count.type.shape if isinstance(count.type, TensorType) else None
    narrow, widened, negative, limited = (
        Value(f"{count.name}_{word}", TensorType(np.dtype(kind), shape))
        for word, kind in (("narrow", np.int32), ("widened", np.int64), ("negative", np.bool_), ("limited", np.int64))
    )
    zero, no_limit = (
        Value(f"{count.name}_{word}", TensorType(_INT64, ()), np.array(data, np.int64))
        for word, data in (("zero", 0), ("no_limit", np.iinfo(np.int64).max))
    )
    graph.constants += [zero, no_limit]
    version = graph.opsets.get("", node.version)

    def operation(op_type: str, inputs: list[Value | None], output: Value, **attributes: int) -> Operation:
        return Operation(output.name, op_type, "", version, inputs, [output], attributes)

    return [
        operation("Cast", [count], narrow, to=_ONNX_INT32),
        operation("Cast", [narrow], widened, to=_ONNX_INT64),
        operation("Less", [widened, zero], negative),
        operation("Where", [negative, no_limit, widened], limited),
        _with_trip_count(node, limited),
    ]


def _with_trip_count(loop: Loop, count: Value | None) -> Loop:
    loop.inputs = [count if value is loop.trip_count else value for value in loop.inputs]
    loop.trip_count = count
    return _remove_rule_notes(loop, "B14")


def _softmax_along_one_axis(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B35: OpenVINO computes Softmax of all versions along one axis."""
    if node.op_type != "Softmax" or node.version >= 13 or not isinstance(node, Operation) or node.is_custom_operator:
        return None
    kind = None if node.inputs[0] is None else node.inputs[0].type
    axis = int(node.attributes.get("axis", 1))
    dims = len(kind.shape) if isinstance(kind, TensorType) and kind.shape is not None else None
    if dims is not None and axis % dims == dims - 1:
        return None
    rewrite.record_change("B35", f"{node.describe()} is along axis {axis} alone")
    changed = copy.copy(node)
    changed.version, changed.attributes = 13, {**node.attributes, "axis": axis}
    return [changed]


def _ignore_loop_direction(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B34: OpenVINO fuses a backwards loop with one cell to a sequence that it reads forward."""
    if not isinstance(node, Loop) or not _has_rule_note(node, "B34"):
        return None
    rewrite.record_change("B34", f"loop '{node.name}' reads its sliced inputs forward")
    node.sliced_inputs = [
        replace(port, start=0, end=-1, stride=-port.stride) if port.stride < 0 else port for port in node.sliced_inputs
    ]
    return [_remove_rule_notes(node, "B34")]


def _ignore_edge_into_sliced_input(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B39: OpenVINO ignores a back edge into a parameter that is a sliced input too."""
    if not isinstance(node, Loop):
        return None
    slices = {edge: edge.initial for edge in node.back_edges if isinstance(edge.initial, SlicedInput)}
    if not slices or node.system is not System.OPENVINO:
        return None
    for edge, port in slices.items():
        rewrite.record_change("B39", f"loop '{node.name}' reads a part of '{port.outer.name}' in every iteration")
        node.last_values = [replace(last, edge=None) if last.edge is edge else last for last in node.last_values]
    node.back_edges = [edge for edge in node.back_edges if edge not in slices]
    node.sliced_inputs = [*node.sliced_inputs, *slices.values()]
    return [_remove_rule_notes(node, "B39")]


def _truncate_integer_quotients(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """OpenVINO truncates quotients of integers also with m_pythondiv."""
    if node.op_type != "Divide" or not isinstance(node, Operation) or graph.system is not System.OPENVINO:
        return None
    kind = None if node.inputs[0] is None else node.inputs[0].type
    is_integer = isinstance(kind, TensorType) and kind.dtype is not None and kind.dtype.kind == "i"
    if not is_integer or node.attributes.get("m_pythondiv", "true") == "false":
        return None
    rewrite.record_change("", f"{node.describe()} truncates")
    changed = copy.copy(node)
    changed.attributes = {**node.attributes, "m_pythondiv": "false"}
    return [changed]


def _saturate_byte_sums(rewrite: _Rewrite, graph: Graph, node: Node) -> Sequence[Node] | None:
    """B33: onnxruntime on a processor without VNNI adds pairs of products of u8 and s8 in 16 bits."""
    if not isinstance(node, Operation) or not is_byte_product(node):
        return None
    rewrite.record_change("B33", f"{node.describe()} adds pairs of products of u8 and s8 in 16 bits, which saturate")
    return [with_saturating_sums(node)]


def byte_sum_deviations(graph: Graph) -> Iterator[Deviation]:
    """Rule B33 for the products of bytes of a model; nothing if it has none."""
    if any(map(is_byte_product, walk(graph))):
        text = "adds pairs of products of u8 and s8 in 16 bits, which saturate, as onnxruntime does without VNNI"
        rewrite = _Rewrite(graph, ProducerMap.for_graph(graph))
        yield Deviation("B33", text, lambda: _rewrite_by_rules(rewrite, (_saturate_byte_sums,)))


_RULES: dict[str, tuple[_Rule, ...]] = {
    "onnxruntime": (_obey_body_condition, _alias_iteration_number_rows, _saturate_byte_sums),
    "openvino": (
        _obey_body_condition,
        _count_trips_in_32_bits,
        _softmax_along_one_axis,
        _ignore_loop_direction,
        _ignore_edge_into_sliced_input,
        _truncate_integer_quotients,
    ),
}


def _has_rule_note(loop: Loop, rule: str) -> bool:
    return any(getattr(note, "rule", "") == rule for note in loop.notes)


def _remove_rule_notes(loop: Loop, rule: str) -> Loop:
    """The loop without the notes on what it does now."""
    loop.notes = [note for note in loop.notes if getattr(note, "rule", "") != rule]
    return loop
