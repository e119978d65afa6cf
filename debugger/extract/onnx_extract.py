"""Extracts a loop or its body from the messages of an ONNX file; nodes, attributes, functions, operator sets, metadata
and names are copied unchanged.

Outer constants are copied as constants; every other outer value becomes an input.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import onnx
import onnx.helper
import onnx.numpy_helper
from onnx import GraphProto, ModelProto, NodeProto

from ...runtime.errors import UnsupportedError
from ...runtime.frontends.onnx.name_scope import NameScope
from ...runtime.graph import Loop, OptionalType, SequenceType, TensorType, Value, ValueType, walk
from ...runtime.modelfile.onnx import MIN_IR_INITIALIZERS_ALONE, OnnxFile, OnnxNodeLocation
from ...runtime.modelfile.onnx_graph import (
    all_names,
    bind_attributes,
    called_functions,
    captured_names,
    names_read_by_node,
    port_value_info,
    remove_absent_inputs,
)
from ...runtime.modelfile.onnx_storage import OnnxModel, tensors_of_attributes
from ...runtime.ops.registry import is_random
from ...runtime.text import fresh_name
from ..peers.onnx_writer import type_of_data
from .submodel import NOT_COMPUTED, CaptureValues, Submodel, SubmodelPort, reject_random_operators

#: The first operator set whose Identity accepts sequences.
_SEQUENCE_IDENTITY_OPSET = 14


def extract_loop_node(file: OnnxFile, location: OnnxNodeLocation, loop: Loop, capture: CaptureValues) -> Submodel:
    """All iterations of one entry: the loop node of the file alone.

    Raises:
        UnsupportedError: the loop draws random numbers.
    """
    reject_random_operators(loop)
    builder = _OnnxSubmodelBuilder(file, location.scope)
    node = builder.copy_node(location.proto)
    names = [name for name in node.output if name]
    output_values = [file.value_for_name(location.scope, name) for name in names]
    outputs = [(name, value) for name, value in zip(names, output_values, strict=True) if value is not None]
    builder.add_captures(names_read_by_node(node))
    builder.drop_omitted_inputs([node])
    feeds, results = capture([value for _, value in builder.inputs], [value for _, value in outputs])
    graph = GraphProto(name=loop.name, node=[*builder.constants, node])
    return builder.build(graph, builder.inputs, outputs, feeds, results)


def extract_body(file: OnnxFile, location: OnnxNodeLocation, loop: Loop, capture: CaptureValues) -> Submodel:
    """One iteration: the body as a graph. Outputs of random operators become inputs.

    Raises:
        UnsupportedError: a graph nested in the body contains a random operator.
    """
    builder = _OnnxSubmodelBuilder(file, location.scope)
    node = builder.copy_node(location.proto)
    body: GraphProto = next(item.g for item in node.attribute if item.name == "body")
    infos = _body_parameters(body, loop, location.scope.context.prefix)
    draws = _random_values(loop, location.scope.context.prefix, {name for item in body.node for name in item.output})
    graph = GraphProto()
    graph.CopyFrom(body)
    del graph.input[:], graph.output[:], graph.node[:]
    graph.node.extend(item for item in body.node if not set(item.output) & draws.keys())
    builder.add_captures(captured_names(body))
    builder.drop_omitted_inputs(graph.node)
    fed_ports = [*infos, *builder.inputs, *draws.items()]
    results = [(info.name, value) for info, value in zip(body.output, loop.body.outputs, strict=True)]
    feeds, values = capture([value for _, value in fed_ports], [value for _, value in results])
    for tensor in graph.initializer:
        file.inline_external_data(tensor)
    outputs = builder.make_outputs(graph, results, values)
    for constant in reversed(builder.constants):
        graph.node.insert(0, constant)
    return builder.build(graph, fed_ports, outputs, feeds, values)


class _OnnxSubmodelBuilder:
    """Collects the messages of one part."""

    def __init__(self, file: OnnxFile, scope: NameScope) -> None:
        self.file = file
        self.scope = scope
        self.constants: list[NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.sparse_initializers: list[onnx.SparseTensorProto] = []
        self.inputs: list[tuple[str, Value]] = []
        self.absent_names: list[str] = []

    def copy_node(self, proto: NodeProto) -> NodeProto:
        """A copy of a node; attributes of a function get their values of the call."""
        node = NodeProto()
        node.CopyFrom(proto)
        attributes = self.file.bound_attributes(self.scope)
        if self.scope.context.attributes is not None:
            bind_attributes(node, attributes)
        for tensor in tensors_of_attributes(node.attribute):
            self.file.inline_external_data(tensor)
        return node

    def add_captures(self, names: Iterable[str]) -> None:
        """Copy the constants among these names; the other names become inputs."""
        for name in names:
            value = self.file.value_for_name(self.scope, name)
            if value is None:
                self.absent_names.append(name)
            elif value.constant is not None:
                self._add_initializer(name, value)
            elif not self._add_constant_node(name):
                self.inputs.append((name, value))

    def drop_omitted_inputs(self, nodes: Iterable[NodeProto]) -> None:
        """Remove inputs that the caller of a function omitted."""
        for node in nodes if self.absent_names else ():
            remove_absent_inputs(node, self.absent_names)

    def _add_initializer(self, name: str, value: Value) -> None:
        scope: NameScope | None = self.scope
        while scope is not None and name not in scope.values:
            scope = scope.parent
        graph = None if scope is None else self.file.scope_proto(scope)
        if isinstance(graph, GraphProto):
            for tensor in graph.initializer:
                if tensor.name == name:
                    copy = onnx.TensorProto()
                    copy.CopyFrom(tensor)
                    self.file.inline_external_data(copy)
                    self.initializers.append(copy)
                    return
            for sparse in graph.sparse_initializer:
                if sparse.values.name == name:
                    self.sparse_initializers.append(sparse)
                    return
        assert value.constant is not None
        self.initializers.append(onnx.numpy_helper.from_array(value.constant, name))

    def _add_constant_node(self, name: str) -> bool:
        """Copy the Constant node that computes a name; returns whether there is one."""
        scope: NameScope | None = self.scope
        while scope is not None:
            for node in self.file.scope_proto(scope).node:
                if name in node.output:
                    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
                        return False
                    self.constants.append(self.copy_node(node))
                    return True
            if name in scope.values:
                return False
            scope = scope.parent
        return False

    def make_outputs(
        self, graph: GraphProto, results: Iterable[tuple[str, Value]], values: dict[Value, Any]
    ) -> list[tuple[str, Value]]:
        """Convert body outputs to model outputs: each value only once, and no input directly."""
        unused_outputs = {name for node in graph.node for name in node.output}
        used_names, outputs = all_names(graph) | {name for name, _ in self.inputs}, []
        for name, value in results:
            is_tensor = not isinstance(values[value], list) and values[value] is not None
            if name not in unused_outputs and (is_tensor or self.opset >= _SEQUENCE_IDENTITY_OPSET):
                copy = fresh_name(f"{name}_out", used_names)
                graph.node.append(onnx.helper.make_node("Identity", [name], [copy]))
                name = copy
            unused_outputs.discard(name)
            outputs.append((name, value))
        return outputs

    @property
    def opset(self) -> int:
        """The version of the default operator set."""
        return self.scope.context.opsets.get("", 0)

    def build(
        self,
        graph: GraphProto,
        inputs: Iterable[tuple[str, Value]],
        outputs: Iterable[tuple[str, Value]],
        feeds: dict[Value, Any],
        results: dict[Value, Any],
    ) -> Submodel:
        """Build the model around a graph."""
        types = PortTypes()
        ports = [
            [SubmodelPort(name, value, types.port_type(value, data[value])) for name, value in side]
            for side, data in ((inputs, feeds), (outputs, results))
        ]
        graph.initializer.extend(self.initializers)
        graph.sparse_initializer.extend(self.sparse_initializers)
        graph.input.extend(port_value_info(port.name, port.type) for port in ports[0])
        graph.output.extend(port_value_info(port.name, port.type) for port in ports[1])
        model = self._make_model(graph)
        folder = self.file.folder if self.file.is_large else None
        return Submodel(OnnxModel(model, folder), ports[0], ports[1], feeds, results)

    def _make_model(self, graph: GraphProto) -> ModelProto:
        """A model that copies everything but the graph from the file."""
        source = self.file.source
        model = ModelProto(ir_version=source.ir_version)
        for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
            if source.HasField(name):
                setattr(model, name, getattr(source, name))
        model.metadata_props.extend(source.metadata_props)
        opsets = {entry.domain: entry.version for entry in source.opset_import}
        if self.scope.context.attributes is not None:  # a function has its own
            opsets.update(self.scope.context.opsets)
        model.opset_import.extend(onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items())
        model.functions.extend(called_functions(source, graph.node))
        if model.ir_version < MIN_IR_INITIALIZERS_ALONE:
            input_names = {info.name for info in graph.input}
            graph.input.extend(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                for tensor in graph.initializer
                if tensor.name not in input_names
            )
        model.graph.CopyFrom(graph)
        return model


class PortTypes:
    """Types of the ports of a part: the declared type if it fits the values of the run, else the type of those values.

    A declared type is kept in a run too: for a loop without iterations it holds the shape of empty values.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def port_type(self, value: Value, data: Any) -> ValueType:
        """The type of the port of a value."""
        kind = value.type
        if isinstance(kind, OptionalType) or data is NOT_COMPUTED:
            return kind
        if data is None:
            return OptionalType(kind)
        if isinstance(data, list) and isinstance(kind, SequenceType) and kind.element != TensorType():
            return kind
        actual = type_of_data(data)
        fits = isinstance(kind, TensorType) and isinstance(actual, TensorType) and self._type_fits(kind, actual)
        return kind if fits else actual

    def _type_fits(self, kind: TensorType, actual: TensorType) -> bool:
        if kind.shape is None or actual.shape is None or len(kind.shape) != len(actual.shape):
            return False
        for dim, size in zip(kind.shape, actual.shape, strict=True):
            expected = self._sizes.setdefault(dim, int(size or 0)) if isinstance(dim, str) else dim
            if expected is not None and expected != size:
                return False
        return kind.dtype == actual.dtype


def _body_parameters(body: GraphProto, loop: Loop, prefix: str) -> list[tuple[str, Value]]:
    """Inputs of a body that the loop passes; inputs with an initializer are optional."""
    names = {info.name for info in body.input}
    parameters = [(value.name.removeprefix(prefix), value) for value in loop.body.inputs]
    assert all(name in names for name, _ in parameters)
    return parameters


def _random_values(loop: Loop, prefix: str, computed: set[str]) -> dict[str, Value]:
    """Outputs of random operators of a body; ``computed``: names of all node outputs in the file."""
    drawn_values: dict[str, Value] = {}
    for node in (node for node in walk(loop.body) if is_random(node, loop.system)):
        outputs = {value.name.removeprefix(prefix): value for value in node.outputs if value is not None}
        if node not in loop.body.nodes or not outputs.keys() <= computed:
            raise UnsupportedError(
                f"loop '{loop.name}': {node.op_type} '{node.name}' draws random numbers inside a graph or a function of"
                " the body, where they cannot be an input",
                **node.error_fields,
                loop=loop.name,
            )
        drawn_values.update(outputs)
    return drawn_values
