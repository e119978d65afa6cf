"""Loops that one operator on whole tensors replaces, and values that grow where a scan output would collect them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import onnx.helper
from onnx import GraphProto, NodeProto

from ...runtime.errors import UnsupportedError
from ...runtime.graph import (
    BackEdge,
    LastValueOutput,
    Loop,
    Node,
    ScanOutput,
    TensorType,
    Value,
    bodies,
    captured_values,
)
from ...runtime.modelfile.onnx_graph import captured_names, keep_only_members, make_tensor, port_value_info
from ..rewriting.editable_model import EditableOnnx
from ..rewriting.rewrite import Rewrite
from .model_facts import ModelFacts
from .onnx_loop import OnnxLoop, constant_node
from .row_vectorization import LoopRows

#: The operator of a carried value, and the one that reduces all its rows.
_REDUCTIONS = {"Add": "ReduceSum", "Mul": "ReduceProd", "Max": "ReduceMax", "Min": "ReduceMin"}


def find_whole_tensor_form(facts: ModelFacts, loop: Loop, rows: LoopRows) -> list[Rewrite]:
    """A loop whose used results are rows, sums of rows or reductions of rows."""
    scans = [scan for scan in loop.scan_outputs if scan.outer in facts.values_read]
    lasts = [last for last in loop.last_values if last.outer in facts.values_read]
    if not scans and not lasts:
        return []
    skip = facts.producers.skip_identities
    accumulated = ((edge, _accumulated_row(facts, rows, edge)) for edge in loop.back_edges)
    accumulators = {skip(edge.result): (edge, row) for edge, row in accumulated if row is not None}
    kinds = []
    for scan in scans:
        if scan.axis or scan.reverse or scan.length is not None or not scan.stack:
            return []
        if skip(scan.result) in accumulators and _producer_operator_type(facts, scan.result) == "Add":
            kinds.append("prefix-sum")
        elif scan.result in rows.ranks:
            kinds.append("map")
        else:
            return []
    for last in lasts:
        if skip(last.result) not in accumulators:
            return []
        kinds.append("reduction")
    kind = min(kinds, key=("prefix-sum", "reduction", "map").index)
    what = {
        "prefix-sum": "it sums up rows, and collects the sums: a CumSum",
        "reduction": "it reduces rows to one value: a Reduce operator",
        "map": "no iteration needs another one: its body works on all rows at once",
    }[kind]
    rewriter = _WholeTensor(facts, rows, accumulators)
    return [facts.rewrite(kind, loop, what, lambda model: rewriter.write(OnnxLoop(model, loop), scans, lasts))]


def _producer_operator_type(facts: ModelFacts, value: Value) -> str:
    node = facts.producers.get(facts.producers.skip_identities(value))
    return "" if node is None or node.is_custom_operator else node.op_type


def _readers(loop: Loop, value: Value) -> list[Node]:
    """The nodes of a body that read a value, one for each time; a result of the body counts as the loop itself."""
    readers = [node for node in loop.body.nodes for source in node.inputs if source is value]
    return readers + [loop for result in loop.body.outputs if result is value]


def _accumulated_row(facts: ModelFacts, rows: LoopRows, edge: BackEdge) -> Value | None:
    """The row that each iteration adds to a carried value that nothing else in the body reads."""
    node = facts.producers.get(facts.producers.skip_identities(edge.result))
    if node is None or node.op_type not in _REDUCTIONS or len(node.inputs) != 2 or node not in rows.loop.body.nodes:
        return None
    row = next((value for value in node.inputs if value in rows.ranks), None)
    if row is None or edge.param not in node.inputs or _readers(rows.loop, edge.param) != [node]:
        return None
    dtype = facts.dtype(edge.param)
    if dtype is None or dtype.kind not in "fi" or dtype.itemsize < 4 or not isinstance(edge.initial, Value):
        return None
    same = rows.ranks[row] == facts.rank(edge.initial) and facts.shape(edge.initial) == facts.shape(edge.result)
    return row if same else None


class _WholeTensor:
    """Writes a loop as operators on whole tensors."""

    def __init__(self, facts: ModelFacts, rows: LoopRows, accumulators: dict[Value, tuple[BackEdge, Value]]) -> None:
        self.facts, self.rows, self.accumulators = facts, rows, accumulators

    def write(self, message: OnnxLoop, scans: Sequence[ScanOutput], lasts: Sequence[LastValueOutput]) -> None:
        """Replace a loop."""
        message.require_opset(13)
        skip = self.facts.producers.skip_identities
        results = [*(scan.result for scan in scans), *(last.result for last in lasts)]
        needed = [self.accumulators[skip(v)][1] if skip(v) in self.accumulators else v for v in results]
        tensors = self.rows.write(message, dict.fromkeys(needed))
        for scan in scans:
            if skip(scan.result) in self.accumulators:
                edge, row = self.accumulators[skip(scan.result)]
                self._write_sums(message, edge, tensors[row], scan.outer.name)
            else:
                message.emit("Identity", [tensors[scan.result]], scan.outer.name)
        for last in lasts:
            edge, row = self.accumulators[skip(last.result)]
            self._write_reduction(message, edge, tensors[row], last.outer.name)
        message.remove()

    def _initial_value_name(self, message: OnnxLoop, edge: BackEdge) -> str:
        """The name of the initial value; empty if it is zero."""
        assert isinstance(edge.initial, Value)
        data = self.facts.constant(edge.initial)
        return "" if data is not None and not np.any(data) else message.initial(message.loop.back_edges.index(edge))

    def _write_sums(self, message: OnnxLoop, edge: BackEdge, tensor: str, output: str) -> None:
        initial = self._initial_value_name(message, edge)
        axis = message.constant(0)
        if not initial:
            message.emit("CumSum", [tensor, axis], output)
            return
        first = message.emit("Unsqueeze", [initial, message.constant([0])])
        sums = message.emit("CumSum", [message.emit("Concat", [first, tensor], axis=0), axis])
        starts, ends = message.constant([1]), message.constant([np.iinfo(np.int64).max])
        message.emit("Slice", [sums, starts, ends, message.constant([0])], output)

    def _write_reduction(self, message: OnnxLoop, edge: BackEdge, tensor: str, output: str) -> None:
        operator = _producer_operator_type(self.facts, edge.result)
        initial = (
            self._initial_value_name(message, edge)
            if operator == "Add"
            else message.initial(message.loop.back_edges.index(edge))
        )
        op_type = _REDUCTIONS[operator]
        target = "" if initial else output
        if op_type == "ReduceSum" or message.opset >= 18:
            reduced = message.emit(op_type, [tensor, message.constant([0])], target, keepdims=0)
        else:
            reduced = message.emit(op_type, [tensor], target, keepdims=0, axes=[0])
        if initial:
            message.emit(operator, [initial, reduced], output)


# -- values that grow


def find_growing_values(facts: ModelFacts, loop: Loop) -> list[Rewrite]:
    """Carried values to which the body only appends."""
    rewrites = []
    for edge in loop.back_edges:
        node = facts.producers.get(edge.result)
        if node is None or node.op_type != "Concat" or node not in loop.body.nodes or len(node.inputs) != 2:
            continue
        attributes = getattr(node, "attributes", {})
        part = node.inputs[1]
        if node.inputs[0] is not edge.param or attributes.get("axis") != 0 or part is None or part is edge.param:
            continue
        if _readers(loop, edge.param) != [node] or _readers(loop, edge.result) != [loop] or loop.op_type != "Loop":
            continue
        if _is_captured_in_body(loop, edge.param) or _is_captured_in_body(loop, edge.result):
            continue
        what = f"'{edge.param.name}' grows: each iteration copies it to append '{part.name}'"
        rewrites.append(
            facts.rewrite(
                "growing-concat",
                loop,
                what,
                partial(_replace_by_scan_output, facts, loop, edge, part),
                (node.name,),
            )
        )
    return rewrites


def _replace_by_scan_output(facts: ModelFacts, loop: Loop, edge: BackEdge, part: Value, model: EditableOnnx) -> None:
    """Collect the parts in a scan output in place of a carried value, and append them to the initial value at once."""
    message = OnnxLoop(model, loop)
    message.require_opset(13)
    k = loop.back_edges.index(edge)
    initial, output = message.initial(k), message.output(k)
    producer = facts.producers.get(part)
    element, stacked = part, False
    if producer is not None and producer.op_type == "Unsqueeze" and producer.inputs[0] is not None:
        axes = facts.constant(producer.inputs[1]) if len(producer.inputs) > 1 else None
        if axes is not None and axes.ravel().tolist() == [0]:
            element, stacked = producer.inputs[0], True
    if facts.rank(element) is None:
        raise UnsupportedError(f"the rank of '{element.name}' is unknown", name=element.name)
    body = message.body
    copy = message.fresh_name(f"{element.name}_collected")
    body.node.append(onnx.helper.make_node("Identity", [element.name], [copy], name=copy))
    body.output.append(port_value_info(copy, _port_type(facts, element)))
    message.remove_carried(k)
    scan = message.fresh_name(f"{part.name}_parts")
    while len(message.node.output) < len(body.output) - 2:
        message.node.output.append("")
    message.node.output.append(scan)
    after: list[NodeProto] = []
    if not stacked:
        names = [message.fresh_name(f"{scan}_{role}") for role in ("shape", "element", "target", "flat")]
        flat = onnx.helper.make_node
        starts, ends, minus = message.constant([2]), message.constant([np.iinfo(np.int64).max]), message.constant([-1])
        after += [
            flat("Shape", [scan], names[:1], name=names[0]),
            flat("Slice", [names[0], starts, ends], names[1:2], name=names[1]),
            flat("Concat", [minus, names[1]], names[2:3], name=names[2], axis=0),
            flat("Reshape", [scan, names[2]], names[3:], name=names[3]),
        ]
    if output:
        rows = scan if stacked else names[3]
        after.append(onnx.helper.make_node("Concat", [initial, rows], [output], name=output, axis=0))
    message.insert_after(after)
    message.remove_unused_nodes()


def _port_type(facts: ModelFacts, value: Value) -> TensorType:
    """The declared type of a value; without a declared shape, one of the rank and any size."""
    declared = value.type.shape if isinstance(value.type, TensorType) else None
    rank = facts.rank(value)
    return TensorType(facts.dtype(value), declared if declared or rank is None else (None,) * rank)


# -- Loops that could be Scans


def find_scan_form(facts: ModelFacts, loop: Loop, rows: LoopRows) -> list[Rewrite]:
    """A Loop whose iteration i reads row i of tensors with as many rows as it has iterations."""
    if loop.op_type != "Loop" or loop.trip_count is None:
        return []
    sources = {value: source for value, source in rows.sources.items() if _readers(loop, value)}
    lengths = [rows.is_tensor_length(loop.trip_count, source.outer) for source in sources.values()]
    gathers = [node for node in loop.body.nodes if set(node.outputs) & sources.keys()]
    others = [node for node in loop.body.nodes if node not in gathers and loop.iteration in node.inputs]
    if not any(lengths) or others or any(node.inputs[1] is not loop.iteration for node in gathers):
        return []
    for edge in loop.back_edges:
        shapes = [facts.shape(value) for value in (edge.initial, edge.result) if isinstance(value, Value)]
        if None in shapes or len(set(shapes)) != 1 or edge.result in sources:
            return []
    if loop.iteration in loop.body.outputs or any(
        _is_captured_in_body(loop, value) for value in (loop.iteration, loop.condition_input)
    ):
        return []
    names = ", ".join(f"'{source.outer.name}'" for source in sources.values())
    what = f"iteration i reads row i of {names}, and nothing else depends on i"
    return [
        facts.rewrite(
            "scan", loop, what, lambda model: _replace_by_scan(facts, rows, OnnxLoop(model, loop), list(sources))
        )
    ]


def _is_captured_in_body(loop: Loop, value: Value | None) -> bool:
    """Whether a graph inside the body reads one of its parameters."""
    return any(value in captured_values(inner) for node in loop.body.nodes for _, inner in bodies(node))


def _replace_by_scan(facts: ModelFacts, rows: LoopRows, message: OnnxLoop, values: Sequence[Value]) -> None:
    """Replace a Loop by a Scan with the same body, which gets rows as inputs."""
    message.require_opset(11)
    old = message.body
    body = GraphProto()
    body.CopyFrom(old)
    names = {value.name for value in values}
    keep_only_members(body.node, [node for node in body.node if not names.intersection(node.output)])
    keep_only_members(body.input, old.input[2:])
    keep_only_members(body.output, old.output[1:])
    tensors = []
    for value in values:
        tensors.append(rows.write_source(message, rows.sources[value]))
        body.input.append(port_value_info(value.name, _port_type(facts, value)))
    condition = old.input[1].name
    if condition in captured_names(body):
        body.node.insert(0, constant_node(condition, make_tensor(condition, np.asarray(True))))
    initials = list(message.node.input[2:])
    outputs = list(message.node.output)
    while len(outputs) < len(body.output):  # a Scan has all its outputs
        outputs.append(message.fresh_name(f"{message.node.name}_unused"))
    outputs = [name or message.fresh_name(f"{message.node.name}_unused") for name in outputs]
    scan = onnx.helper.make_node(
        "Scan", [*initials, *tensors], outputs, name=message.node.name, body=body, num_scan_inputs=len(values)
    )
    scan.doc_string = message.node.doc_string
    scan.metadata_props.extend(message.node.metadata_props)
    message.insert([scan])
    message.remove()
