"""Random programs as OpenVINO IR: captures become invariant inputs, because a body cannot access the outer graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .numpy_operators import OPERATORS
from .program import (
    Program,
    ProgramBody,
    ProgramConstant,
    ProgramIf,
    ProgramLoop,
    ProgramNode,
    ProgramValue,
    ValueType,
    free_values,
)

_ELEMENT = {
    "float32": ("f32", "FP32"),
    "float64": ("f64", "FP64"),
    "int64": ("i64", "I64"),
    "int32": ("i32", "I32"),
    "bool": ("boolean", "BOOL"),
}

Port = tuple[int, int]


def write_ir(program: Program, path: Path) -> Path:
    """Write ``path`` (an .xml) and the .bin next to it."""
    net = _IrExporter(bytearray())
    ports = {value: net.parameter(value) for value in program.inputs}
    net.add_body_layers(program.body, ports)
    for k, value in enumerate(program.outputs):
        net.output(ports[value], f"out{k}", value.type)
    path.write_text(f'<?xml version="1.0"?>\n<net name="g" version="11">{net.text()}</net>\n')
    path.with_suffix(".bin").write_bytes(bytes(net.blob))
    return path


class _IrExporter:
    def __init__(self, blob: bytearray) -> None:
        self.blob = blob
        self._layers: list[str] = []
        self._edges: list[str] = []

    def text(self) -> str:
        return f"<layers>{chr(10).join(self._layers)}</layers>\n<edges>{chr(10).join(self._edges)}</edges>"

    def _layer(
        self,
        kind: str,
        name: str,
        sources: Sequence[Port] = (),
        types: Sequence[ValueType] = (),
        opset: str = "opset1",
        inside: str = "",
        names: Sequence[str] = (),
        **data: object,
    ) -> int:
        number = len(self._layers)
        attributes = "".join(f' {key}="{value}"' for key, value in data.items())
        inputs = "".join(f'<port id="{k}"/>' for k in range(len(sources)))
        result = "".join(
            f'<port id="{len(sources) + k}" precision="{_ELEMENT[t.dtype][1]}" names="{own}">{_dims(t)}</port>'
            for k, (t, own) in enumerate(zip(types, names or [name] * len(types), strict=True))
        )
        self._layers.append(
            f'<layer id="{number}" name="{name}" type="{kind}" version="{opset}"><data{attributes}/>'
            f"<input>{inputs}</input><output>{result}</output>{inside}</layer>"
        )
        for k, (layer, port) in enumerate(sources):
            self._edges.append(f'<edge from-layer="{layer}" from-port="{port}" to-layer="{number}" to-port="{k}"/>')
        return number

    def parameter(self, value: ProgramValue) -> Port:
        shape = ",".join("?" if isinstance(d, str) else str(d) for d in value.type.shape)
        element = _ELEMENT[value.type.dtype][0]
        return self._layer("Parameter", value.name, types=[value.type], shape=shape, element_type=element), 0

    def result(self, source: Port, name: str) -> int:
        return self._layer("Result", name, [source])

    def output(self, source: Port, name: str, type_: ValueType) -> None:
        """A Result of the main graph with a name of its own: one value may have several Results."""
        to = _ELEMENT[type_.dtype][0]
        self.result((self._layer("Convert", name, [source], [type_], destination_type=to), 1), f"{name}_result")

    def constant(self, name: str, array: object) -> Port:
        array = np.asarray(array)
        shape = ",".join(map(str, array.shape))
        offset = len(self.blob)
        self.blob += array.tobytes()
        type_ = ValueType(array.dtype.name, array.shape)
        element = _ELEMENT[array.dtype.name][0]
        number = self._layer(
            "Const", name, types=[type_], element_type=element, shape=shape, offset=offset, size=array.nbytes
        )
        return number, 0

    def add_body_layers(self, body: ProgramBody, ports: dict[ProgramValue, Port]) -> None:
        for node in body.nodes:
            if isinstance(node, ProgramLoop):
                self._loop(node, ports)
            elif isinstance(node, ProgramConstant):
                ports[node.output] = self.constant(node.output.name, node.array)
            else:
                assert isinstance(node, ProgramNode) and not isinstance(node, ProgramIf)
                ports[node.output] = self._node(node, ports)

    def _node(self, node: ProgramNode, ports: dict[ProgramValue, Port]) -> Port:
        name = node.output.name
        sources = [ports[value] for value in node.inputs]
        data: dict[str, object] = {}

        def operand(what: str, array: object) -> None:
            sources.append(self.constant(f"{name}_{what}", array))

        match node.operator:
            case "Cast":
                data["destination_type"] = _ELEMENT[node.attributes["to"]][0]
            case "Concat":
                data["axis"] = 0
            case "Rows":
                operand("start", np.array([node.attributes["start"]]))
                operand("stop", np.array([node.attributes["stop"]]))
                operand("step", np.array([1]))
                operand("axis", np.array([0]))
            case "Sum" | "SumRows":
                rank = len(node.inputs[0].type.shape) if node.operator == "Sum" else 1
                operand("axes", np.arange(rank))
                data["keep_dims"] = "false"
            case "Shape" | "NonZero":
                data["output_type"] = "i64"
            case "Gather":
                operand("axis", np.array(node.attributes.get("axis", 0)))
                data["batch_dims"] = 0
            case "MatMul":
                data |= {"transpose_a": "false", "transpose_b": "false"}
            case "CumSum":
                operand("axis", np.array(0))
                data |= {name: str(bool(node.attributes[name])).lower() for name in ("exclusive", "reverse")}
            case "Clip":
                data |= {"min": node.attributes["low"], "max": node.attributes["high"]}
            case "Reshape":
                operand("shape", np.array(node.attributes["shape"], np.int64))
                data["special_zero"] = "false"
            case "Add" | "Sub" | "Mul" | "Min" | "Max" | "Mod" | "Less" | "LessOrEqual" | "Greater" | "Equal":
                data["auto_broadcast"] = "numpy"
        named = OPERATORS[node.operator].openvino
        assert named is not None, node.operator
        kind, opset = named
        number = self._layer(kind, name, sources, [node.output.type], opset, **data)
        return number, len(sources)

    def _loop(self, loop: ProgramLoop, ports: dict[ProgramValue, Port]) -> None:
        body = _IrExporter(self.blob)
        inner = {value: body.parameter(value) for value in loop.params}
        sources: list[Port] = []
        entries: list[str] = []
        if loop.kind == "Loop-5":
            trip = self.constant(f"{loop.name}_no_limit", np.array(-1)) if loop.trip is None else ports[loop.trip]
            initial = (
                self.constant(f"{loop.name}_true", np.array(True)) if loop.initial is None else ports[loop.initial]
            )
            sources += [trip, initial]

        def into(source: Port, param: ProgramValue, more: str = "") -> None:
            sources.append(source)
            entries.append(
                f'<input external_port_id="{len(sources) - 1}" internal_layer_id="{inner[param][0]}"{more}/>'
            )

        for c in loop.carried:
            into(ports[c.initial], c.param)
        for s in loop.sliced:
            step = ' start="-1" end="0" stride="-1"' if s.backwards else ' start="0" end="-1" stride="1"'
            into(ports[s.outer], s.param, f' axis="{s.axis}"{step} part_size="1"')
        for value in free_values(loop.body, loop.params, loop.results):
            inner[value] = body.parameter(ProgramValue(f"{value.name}_in_{loop.name}", value.type))
            into(ports[value], value)
        body.add_body_layers(loop.body, inner)
        if loop.number is not None:
            entries.append(
                f'<input external_port_id="-1" internal_layer_id="{inner[loop.number][0]}" '
                'purpose="current_iteration"/>'
            )
        outputs: list[ValueType] = []
        edges: list[str] = []

        def out(result: int, value: ProgramValue, more: str = "") -> None:
            entries.append(
                f'<output external_port_id="{len(sources) + len(outputs)}" internal_layer_id="{result}"{more}/>'
            )
            ports[value] = -1, len(sources) + len(outputs)
            outputs.append(value.type)

        for c in loop.carried:
            result = body.result(inner[c.result], f"{c.param.name}_result")
            edges.append(f'<edge from-layer="{result}" to-layer="{inner[c.param][0]}"/>')
            out(result if c.last is None else body.result(inner[c.last], f"{c.param.name}_last"), c.output)
        for s in loop.scanned:
            result = body.result(inner[s.result], f"{s.output.name}_result")
            step = ' start="-1" end="0" stride="-1"' if s.backwards else ' start="0" end="-1" stride="1"'
            out(result, s.output, f' axis="{s.axis}"{step} part_size="1"')
        if loop.kind == "Loop-5":
            assert loop.keep is not None
            keep = body.result(inner[loop.keep], f"{loop.name}_keep")
            entries.append(f'<output external_port_id="-1" internal_layer_id="{keep}" purpose="execution_condition"/>')
        inside = (
            f"<port_map>{chr(10).join(entries)}</port_map><back_edges>{''.join(edges)}</back_edges>"
            f"<body>{body.text()}</body>"
        )
        kind, opset = ("Loop", "opset5") if loop.kind == "Loop-5" else ("TensorIterator", "opset1")
        names = [value.name for value in loop.outputs]
        number = self._layer(kind, loop.name, sources, outputs, opset, inside, names)
        for value in loop.outputs:
            ports[value] = number, ports[value][1]


def _dims(type_: ValueType) -> str:
    return "".join(f"<dim>{-1 if isinstance(d, str) else d}</dim>" for d in type_.shape)
