"""Random programs as ONNX models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .numpy_operators import INT64_MAX, OPERATORS
from .program import Program, ProgramBody, ProgramConstant, ProgramIf, ProgramLoop, ProgramNode, ProgramValue

_TYPES = {
    "float32": onnx.TensorProto.FLOAT,
    "float64": onnx.TensorProto.DOUBLE,
    "int64": onnx.TensorProto.INT64,
    "int32": onnx.TensorProto.INT32,
    "bool": onnx.TensorProto.BOOL,
    "str": onnx.TensorProto.STRING,
}


def to_onnx(program: Program, insulated: bool = False) -> onnx.ModelProto:
    """Export a program. ``insulated``: insert an Identity before every body output, to avoid errors of ONNX Runtime."""
    writer = _OnnxExporter(insulated)
    nodes = writer.nodes(program.body)
    # An output of the main graph must be computed in it, and only once.
    outputs = []
    for k, value in enumerate(program.outputs):
        nodes.append(helper.make_node("Identity", [value.name], [f"out{k}"]))
        outputs.append(writer.declared(value, f"out{k}"))
    graph = helper.make_graph(nodes, "g", [_input(value) for value in program.inputs], outputs)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def _input(value: ProgramValue) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, _TYPES[value.type.dtype], list(value.type.shape))


class _OnnxExporter:
    def __init__(self, insulated: bool) -> None:
        self._insulated = insulated
        self._count = 0

    def declared(self, value: ProgramValue, name: str = "") -> onnx.ValueInfoProto:
        shape = [dim if isinstance(dim, int) else None for dim in value.type.shape]
        return helper.make_tensor_value_info(name or value.name, _TYPES[value.type.dtype], shape)

    def nodes(self, body: ProgramBody) -> list[onnx.NodeProto]:
        items: list[onnx.NodeProto] = []
        for node in body.nodes:
            if isinstance(node, ProgramLoop):
                items.append(self._loop(node))
            elif isinstance(node, ProgramIf):
                sides = [
                    self._graph(f"{node.name}_{word}", [], side, results)
                    for word, side, results in zip(("then", "else"), (node.then, node.other), node.results, strict=True)
                ]
                names = [value.name for value in node.outputs]
                items.append(
                    helper.make_node(
                        "If", [node.condition.name], names, node.name, then_branch=sides[0], else_branch=sides[1]
                    )
                )
            elif isinstance(node, ProgramConstant):
                items.append(self._constant(node.output.name, node.array))
            else:
                items += self._node(node)
        return items

    def _constant(self, name: str, array: Any) -> onnx.NodeProto:
        array = np.asarray(array)
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))

    def _node(self, node: ProgramNode) -> list[onnx.NodeProto]:
        before: list[onnx.NodeProto] = []
        names = [value.name for value in node.inputs]
        attributes: dict[str, Any] = {}

        def operand(what: str, array: Any) -> None:
            names.append(f"{node.output.name}_{what}")
            before.append(self._constant(names[-1], array))

        match node.operator:
            case "Mod":
                attributes["fmod"] = 1
            case "Cast":
                attributes["to"] = _TYPES[node.attributes["to"]]
            case "Concat" | "Compress":
                attributes["axis"] = 0
            case "Rows":
                operand("start", np.array([node.attributes["start"]]))
                operand("stop", np.array([min(node.attributes["stop"], INT64_MAX)]))
                operand("axis", np.array([0]))
            case "Sum":
                attributes["keepdims"] = 0
            case "SumRows":
                attributes["keepdims"] = 0
                operand("axis", np.array([0]))
            case "Gather":
                attributes["axis"] = node.attributes.get("axis", 0)
            case "CumSum":
                attributes |= node.attributes
                operand("axis", np.array(0))
            case "Clip":
                for name in ("low", "high"):
                    operand(name, np.array(node.attributes[name], node.output.type.numpy))
            case "Reshape":
                operand("shape", np.array(node.attributes["shape"], np.int64))
        operator = OPERATORS[node.operator].onnx
        return [*before, helper.make_node(operator, names, [node.output.name], **attributes)]

    def _graph(
        self,
        name: str,
        params: Sequence[ProgramValue],
        body: ProgramBody,
        results: Sequence[ProgramValue],
        extra: str = "",
    ) -> onnx.GraphProto:
        nodes = self.nodes(body)
        outputs = []
        for value in results:
            if self._insulated:
                self._count += 1
                leaving = f"leaving{self._count}"
                nodes.append(helper.make_node("Identity", [value.name], [leaving]))
                outputs.append(self.declared(value, leaving))
            else:
                outputs.append(self.declared(value))
        return helper.make_graph(nodes, name, [self.declared(value) for value in params], outputs)

    def _loop(self, loop: ProgramLoop) -> onnx.NodeProto:
        carried, scanned, sliced = loop.carried, loop.scanned, loop.sliced
        results = [c.result for c in carried] + [s.result for s in scanned]
        outputs = [value.name for value in loop.outputs]
        if loop.kind == "Scan":
            body = self._graph(f"{loop.name}_body", loop.params, loop.body, results)
            more = {
                "scan_input_axes": [s.axis for s in sliced],
                "scan_input_directions": [int(s.backwards) for s in sliced],
            }
            if scanned:
                more["scan_output_axes"] = [s.axis for s in scanned]
                more["scan_output_directions"] = [int(s.backwards) for s in scanned]
            inputs = [c.initial.name for c in carried] + [s.outer.name for s in sliced]
            return helper.make_node("Scan", inputs, outputs, loop.name, body=body, num_scan_inputs=len(sliced), **more)
        assert loop.kind == "Loop" and loop.keep is not None
        body = self._graph(f"{loop.name}_body", loop.params, loop.body, [loop.keep, *results])
        trip = "" if loop.trip is None else loop.trip.name
        initial = "" if loop.initial is None else loop.initial.name
        inputs = [trip, initial, *(c.initial.name for c in carried)]
        return helper.make_node("Loop", inputs, outputs, loop.name, body=body)
