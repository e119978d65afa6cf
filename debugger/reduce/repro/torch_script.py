"""A reduced ONNX model as a PyTorch script: the expected results of its nodes, with loops as Python loops."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

import numpy as np
import onnx.helper
import onnx.numpy_helper
from onnx import GraphProto, ModelProto, NodeProto

from ....runtime.graph import Array
from ....runtime.modelfile.onnx_graph import attribute_value, inner_graphs, loop_body
from ....runtime.modelfile.onnx_storage import tensors
from ...tensorrt_export.script_code import docstring_text
from .repro_scripts import MAX_INLINE_ELEMENTS, ReproScript, read_template
from .torch_operators import HELPERS, OPERATOR_CODE, helper_code

_SUPPORTED_DTYPES = ["float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8"]


class _NotExpressibleError(Exception):
    """The model cannot be expressed in PyTorch."""


def torch_script(model: ModelProto, script: ReproScript) -> str:
    """Return the script; empty if a node cannot be expressed, or the data is too large to be inline."""
    try:
        return _TorchScriptWriter(model, script).text()
    except (_NotExpressibleError, KeyError):
        return ""


class _TorchScriptWriter:
    def __init__(self, model: ModelProto, script: ReproScript) -> None:
        self.model = model
        self.script = script
        self.opset = next((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), 0)
        self.identifiers: dict[str, str] = {}
        if script.mode == "two" or model.functions:
            raise _NotExpressibleError

    def text(self) -> str:
        """Return the whole script."""
        graph = self.model.graph
        size = sum(np.size(value) for value in (*self.script.inputs.values(), *self.script.expected.values()))
        size += sum(int(np.prod(item.dims)) for item in tensors(self.model))
        if size > MAX_INLINE_ELEMENTS:
            raise _NotExpressibleError
        body = [f"{self.identifier(name)} = {_tensor_code(value)}" for name, value in self.script.inputs.items()]
        body += self.graph_lines(graph)
        results = ", ".join(self.identifier(item.name) for item in graph.output)
        expected = [f"    {name!r}: {_tensor_code(value)},\n" for name, value in self.script.expected.items()]
        test = _TESTS[self.script.mode].format(rtol=self.script.rtol, atol=self.script.atol)
        parts = [
            read_template("torch_head").format(title=docstring_text(self.script.title)),
            helper_code("\n".join(body)),
            "\n" + "\n".join(body) + "\n",
            f"\nEXPECTED = {{\n{''.join(expected)}}}\n",
            f"got = [{results}]\n",
            read_template("torch_end").format(test=test),
        ]
        return "".join(parts)

    def identifier(self, name: str) -> str:
        """Return a Python name for a value."""
        if name not in self.identifiers:
            word = re.sub(r"\W", "_", name) or "value"
            word = f"v_{word}" if not word.isidentifier() or word in _RESERVED else word
            while word in self.identifiers.values():
                word += "_"
            self.identifiers[name] = word
        return self.identifiers[name]

    def graph_lines(self, graph: GraphProto) -> Iterator[str]:
        """The code of a graph."""
        for tensor in graph.initializer:
            yield f"{self.identifier(tensor.name)} = {_tensor_code(onnx.numpy_helper.to_array(tensor))}"
        for node in graph.node:
            yield from self.node_lines(node)

    def node_lines(self, node: NodeProto) -> Iterator[str]:
        """The code of a node."""
        if node.op_type == "Loop":
            yield from self.loop_lines(node)
        elif node.op_type == "Scan":
            yield from self.scan_lines(node)
        elif node.op_type == "If":
            yield from self.if_lines(node)
        elif node.op_type == "Constant" and attribute_value(node, "value", None) is not None:
            yield (
                f"{self.identifier(node.output[0])} ="
                f" {_tensor_code(onnx.numpy_helper.to_array(attribute_value(node, 'value', None)))}"
            )
        elif node.domain or len(node.output) != 1:
            raise _NotExpressibleError
        else:
            attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
            inputs = [self.identifier(name) if name else "" for name in node.input]
            yield f"{self.identifier(node.output[0])} = {OPERATOR_CODE[node.op_type](inputs, attributes, self.opset)}"

    def loop_lines(self, node: NodeProto) -> Iterator[str]:
        """A Loop; an omitted condition is not tested."""
        body = loop_body(node)
        trip_count, condition, *initials = node.input
        count = len(initials)
        yield from self.initial_lines(node, count, [port.name for port in body.input[2:]], initials)
        number, condition_name = self.identifier(body.input[0].name), self.identifier(body.input[1].name)
        yield f"{number} = torch.tensor(0)"
        yield f"{condition_name} = {self.identifier(condition) if condition else 'torch.tensor(True)'}"
        tests = [f"{number} < {self.identifier(trip_count)}"] if trip_count else []
        tests += [f"{condition_name}"] if condition else []
        yield f"while {' and '.join(tests) or 'True'}:"
        yield from (f"    {line}" for line in self.graph_lines(body))
        yield from self.scan_append_lines(node, body, 1, count)
        yield from self.back_edge_lines(
            [port.name for port in body.input[2:]], [port.name for port in body.output[1 : 1 + count]]
        )
        yield f"    {number} = {number} + 1"
        yield f"    {condition_name} = {self.identifier(body.output[0].name)}"
        yield from self.result_lines(node, [port.name for port in body.input[2:]], count)

    def scan_lines(self, node: NodeProto) -> Iterator[str]:
        """A Scan along first axes, forwards."""
        body = loop_body(node)
        count = len(node.input) - int(attribute_value(node, "num_scan_inputs", 0))
        odd = [item.name for item in node.attribute if item.name.endswith(("_axes", "_directions")) and any(item.ints)]
        if odd or len(body.input) != len(node.input):
            raise _NotExpressibleError
        params = [item.name for item in body.input[:count]]
        yield from self.initial_lines(node, count, params, list(node.input[:count]))
        yield f"for row in range(len({self.identifier(node.input[count])})):"
        for item, name in zip(body.input[count:], node.input[count:], strict=True):
            yield f"    {self.identifier(item.name)} = {self.identifier(name)}[row]"
        yield from (f"    {line}" for line in self.graph_lines(body))
        yield from self.scan_append_lines(node, body, 0, count)
        yield from self.back_edge_lines(params, [item.name for item in body.output[:count]])
        yield from self.result_lines(node, params, count)

    def initial_lines(self, node: NodeProto, count: int, params: list[str], initials: list[str]) -> Iterator[str]:
        """The carried values and scan outputs before the first iteration."""
        for param, initial in zip(params, initials, strict=True):
            yield f"{self.identifier(param)} = {self.identifier(initial)}"
        yield from (f"{self.identifier(name)} = []" for name in node.output[count:] if name)

    def scan_append_lines(self, node: NodeProto, body: GraphProto, first: int, count: int) -> Iterator[str]:
        """The elements that an iteration appends to scan outputs."""
        for name, result in zip(node.output[count:], body.output[first + count :], strict=False):
            if name:
                yield f"    {self.identifier(name)}.append({self.identifier(result.name)})"

    def back_edge_lines(self, params: list[str], results: list[str]) -> Iterator[str]:
        """Back edges, as one simultaneous assignment."""
        if params:
            yield f"    {', '.join(map(self.identifier, params))} = {', '.join(map(self.identifier, results))}"

    def result_lines(self, node: NodeProto, params: list[str], count: int) -> Iterator[str]:
        """The results of a loop."""
        for name, param in zip(node.output[:count], params, strict=False):
            if name:
                yield f"{self.identifier(name)} = {self.identifier(param)}"
        for name in filter(None, node.output[count:]):
            yield (
                f"{self.identifier(name)} = torch.stack({self.identifier(name)}) if {self.identifier(name)} else"
                " torch.zeros(0)"
            )

    def if_lines(self, node: NodeProto) -> Iterator[str]:
        """An If."""
        branches = dict(inner_graphs(node))
        yield f"if {self.identifier(node.input[0])}:"
        for word, else_line in (("then_branch", "else:"), ("else_branch", "")):
            yield from (f"    {line}" for line in self.graph_lines(branches[word]))
            for name, result in zip(node.output, branches[word].output, strict=True):
                yield f"    {self.identifier(name)} = {self.identifier(result.name)}"
            if else_line:
                yield else_line


def _tensor_code(value: object) -> str:
    if not isinstance(value, np.ndarray | np.generic):
        raise _NotExpressibleError
    array: Array = np.asarray(value)
    if array.dtype.name not in _SUPPORTED_DTYPES:
        raise _NotExpressibleError
    if not array.size:
        return f"torch.zeros({list(array.shape)}, dtype=torch.{array.dtype.name})"
    text = re.sub(r"\b(nan|inf)\b", r'float("\1")', repr(array.tolist()))
    return f"torch.tensor({text}, dtype=torch.{array.dtype.name})"


_RESERVED = {"torch", "sys", "got", "EXPECTED", "row", "shown", "same", "name", "value", *HELPERS, *keyword.kwlist}
_SAME = "a.shape == b.shape and torch.allclose(b.double(), a.double(), {rtol!r}, {atol!r}, equal_nan=True)"
_TESTS = {
    "differs": _SAME,
    "fails": _SAME,
    "hangs": _SAME,
    "same": f"not ({_SAME})",
    "nan": "not torch.isnan(b.double()).any()",
    "inf": "not torch.isinf(b.double()).any()",
}
