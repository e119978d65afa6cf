"""A loop, or the body of one, cut out of the messages of an ONNX file: nodes, attributes, functions, operator sets and
metadata stay as they are there, and so do the names.

What is constant around the loop comes along as a constant; everything else that it takes from there is an input.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import onnx
import onnx.helper
import onnx.numpy_helper
from onnx import GraphProto, ModelProto, NodeProto

from ...runtime.errors import UnsupportedError
from ...runtime.frontends.onnx.model_file import OnnxModel
from ...runtime.frontends.onnx.name_scope import NameScope
from ...runtime.frontends.onnx.source_map import OnnxNodeLocation, OnnxSourceMap
from ...runtime.graph import Loop, OptionalType, SequenceType, TensorType, Value, ValueType, walk
from ...runtime.ops.registry import is_random
from ..peers.onnx_writer import port_info, runtime_type
from .onnx_names import (
    all_names,
    bind_attributes,
    called_functions,
    free_names,
    fresh_name,
    names_read_by_node,
    remove_absent_inputs,
)
from .submodel import NOT_COMPUTED, CaptureValues, Submodel, SubmodelPort, refuse_random

#: Before this version of the IR every initializer has to stand among the inputs.
_INITIALIZERS_NOT_INPUTS_IR_VERSION = 4
#: The first operator set whose Identity takes sequences.
_SEQUENCE_IDENTITY_OPSET = 14


def has_original_body(place: OnnxNodeLocation, loop: Loop) -> bool:
    """Whether the body of a loop stands in the file as it is: that of a SequenceMap, an LSTM or a Scan-8 does not."""
    return (
        place.proto.op_type in ("Loop", "Scan")
        and not loop.derived_from
        and (loop.op_type, loop.version) != ("Scan", 8)
    )


def extract_loop_node(places: OnnxSourceMap, place: OnnxNodeLocation, loop: Loop, ask: CaptureValues) -> Submodel:
    """All iterations of one entry: the node of the file, alone.

    Raises:
        UnsupportedError: it draws random numbers.
    """
    refuse_random(loop)
    work = _OnnxSubmodelBuilder(places, place.scope)
    node = work.copy_node(place.proto)
    names = [name for name in node.output if name]
    results = [places.value_for_name(place.scope, name) for name in names]
    outputs = [(name, value) for name, value in zip(names, results, strict=True) if value is not None]
    work.add_captures(names_read_by_node(node))
    work.remove_absent([node])
    fed, given = ask([value for _, value in work.inputs], [value for _, value in outputs])
    graph = GraphProto(name=loop.name, node=[*work.constants, node])
    return work.build(graph, work.inputs, outputs, fed, given)


def extract_body(places: OnnxSourceMap, place: OnnxNodeLocation, loop: Loop, ask: CaptureValues) -> Submodel:
    """One iteration: the body as a graph of its own. What random operators drew is an input.

    Raises:
        UnsupportedError: a random operator stands in a graph inside the body.
    """
    work = _OnnxSubmodelBuilder(places, place.scope)
    node = work.copy_node(place.proto)
    body: GraphProto = next(one.g for one in node.attribute if one.name == "body")
    infos = _body_parameters(body, loop, place.scope.context.prefix)
    draws = _random_values(loop, place.scope.context.prefix, {name for one in body.node for name in one.output})
    graph = GraphProto()
    graph.CopyFrom(body)
    del graph.input[:], graph.output[:], graph.node[:]
    graph.node.extend(one for one in body.node if not set(one.output) & draws.keys())
    work.add_captures(free_names(body))
    work.remove_absent(graph.node)
    fed_ports = [*infos, *work.inputs, *draws.items()]
    results = [(info.name, value) for info, value in zip(body.output, loop.body.outputs, strict=True)]
    fed, given = ask([value for _, value in fed_ports], [value for _, value in results])
    for tensor in graph.initializer:
        places.inline_external_data(tensor)
    outputs = work.make_outputs(graph, results, given)
    for constant in reversed(work.constants):
        graph.node.insert(0, constant)
    return work.build(graph, fed_ports, outputs, fed, given)


class _OnnxSubmodelBuilder:
    """What is gathered for one part."""

    def __init__(self, places: OnnxSourceMap, scope: NameScope) -> None:
        self.places = places
        self.scope = scope
        self.constants: list[NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.sparse_initializers: list[onnx.SparseTensorProto] = []
        self.inputs: list[tuple[str, Value]] = []
        self.absent_names: list[str] = []

    def copy_node(self, proto: NodeProto) -> NodeProto:
        """A node, of a function as it is in the call that is meant."""
        node = NodeProto()
        node.CopyFrom(proto)
        given = self.places.bound_attributes(self.scope)
        if self.scope.context.attributes is not None:
            bind_attributes(node, given)
        for attribute in node.attribute:
            self._load_external_data(attribute)
        return node

    def _load_external_data(self, attribute: onnx.AttributeProto) -> None:
        for tensor in (attribute.t, *attribute.tensors):
            self.places.inline_external_data(tensor)
        for node in attribute.g.node:
            for inner in node.attribute:
                self._load_external_data(inner)
        for tensor in attribute.g.initializer:
            self.places.inline_external_data(tensor)

    def add_captures(self, names: Iterable[str]) -> None:
        """Bring along what is constant of these names; the others are inputs."""
        for name in names:
            value = self.places.value_for_name(self.scope, name)
            if value is None:
                self.absent_names.append(name)
            elif value.constant is not None:
                self._add_initializer(name, value)
            elif not self._add_constant_node(name):
                self.inputs.append((name, value))

    def remove_absent(self, nodes: Iterable[NodeProto]) -> None:
        """Let nodes do without what a function's caller left out."""
        for node in nodes if self.absent_names else ():
            remove_absent_inputs(node, self.absent_names)

    def _add_initializer(self, name: str, value: Value) -> None:
        scope: NameScope | None = self.scope
        while scope is not None and name not in scope.values:
            scope = scope.parent
        graph = None if scope is None else self.places.scope_message(scope)
        if isinstance(graph, GraphProto):
            for tensor in graph.initializer:
                if tensor.name == name:
                    made = onnx.TensorProto()
                    made.CopyFrom(tensor)
                    self.places.inline_external_data(made)
                    self.initializers.append(made)
                    return
            for sparse in graph.sparse_initializer:
                if sparse.values.name == name:
                    self.sparse_initializers.append(sparse)
                    return
        assert value.constant is not None
        self.initializers.append(onnx.numpy_helper.from_array(value.constant, name))

    def _add_constant_node(self, name: str) -> bool:
        """Whether a Constant node gives it, which then comes along."""
        scope: NameScope | None = self.scope
        while scope is not None:
            for node in self.places.scope_message(scope).node:
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
        self, graph: GraphProto, results: Iterable[tuple[str, Value]], given: dict[Value, Any]
    ) -> list[tuple[str, Value]]:
        """The outputs of a body as those of a model, which gives each value once, and none that it was given."""
        made = {name for node in graph.node for name in node.output}
        taken, outputs = all_names(graph) | {name for name, _ in self.inputs}, []
        for name, value in results:
            tensor = not isinstance(given[value], list) and given[value] is not None
            if name not in made and (tensor or self.opset >= _SEQUENCE_IDENTITY_OPSET):
                copy = fresh_name(f"{name}_out", taken)
                graph.node.append(onnx.helper.make_node("Identity", [name], [copy]))
                name = copy
            made.discard(name)
            outputs.append((name, value))
        return outputs

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators here."""
        return self.scope.context.opsets.get("", 0)

    def build(
        self,
        graph: GraphProto,
        inputs: Iterable[tuple[str, Value]],
        outputs: Iterable[tuple[str, Value]],
        fed: dict[Value, Any],
        given: dict[Value, Any],
    ) -> Submodel:
        """The model around a graph."""
        types = PortTypes()
        ports = [
            [SubmodelPort(name, value, types.port_type(value, found[value])) for name, value in side]
            for side, found in ((inputs, fed), (outputs, given))
        ]
        graph.initializer.extend(self.initializers)
        graph.sparse_initializer.extend(self.sparse_initializers)
        graph.input.extend(port_info(port.name, port.type) for port in ports[0])
        graph.output.extend(port_info(port.name, port.type) for port in ports[1])
        model = self._make_model(graph)
        folder = self.places.folder if self.places.is_large else None
        return Submodel(OnnxModel(model, folder), ports[0], ports[1], fed, given)

    def _make_model(self, graph: GraphProto) -> ModelProto:
        """A model that has all but the graph as the file has it."""
        source = self.places.source
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
        if model.ir_version < _INITIALIZERS_NOT_INPUTS_IR_VERSION:
            known = {info.name for info in graph.input}
            graph.input.extend(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                for tensor in graph.initializer
                if tensor.name not in known
            )
        model.graph.CopyFrom(graph)
        return model


class PortTypes:
    """The types of the ports of a part: as declared, where that is so of what they were in the run, else as they were.

    A declared one counts even in a run: of a loop without iterations it tells the shape of what is empty.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def port_type(self, value: Value, data: Any) -> ValueType:
        """The type of a port that has the value of a graph."""
        kind = value.type
        if isinstance(kind, OptionalType) or data is NOT_COMPUTED:
            return kind
        if data is None:
            return OptionalType(kind)
        if isinstance(data, list) and isinstance(kind, SequenceType) and kind.element != TensorType():
            return kind
        found = runtime_type(data)
        fits = isinstance(kind, TensorType) and isinstance(found, TensorType) and self._fits(kind, found)
        return kind if fits else found

    def _fits(self, kind: TensorType, found: TensorType) -> bool:
        if kind.shape is None or found.shape is None or len(kind.shape) != len(found.shape):
            return False
        for dim, size in zip(kind.shape, found.shape, strict=True):
            known = self._sizes.setdefault(dim, int(size or 0)) if isinstance(dim, str) else dim
            if known is not None and known != size:
                return False
        return kind.dtype == found.dtype


def _body_parameters(body: GraphProto, loop: Loop, prefix: str) -> list[tuple[str, Value]]:
    """The inputs of a body that a loop gives it; those with an initializer may be left out."""
    names = {info.name for info in body.input}
    found = [(value.name.removeprefix(prefix), value) for value in loop.body.inputs]
    assert all(name in names for name, _ in found)
    return found


def _random_values(loop: Loop, prefix: str, made: set[str]) -> dict[str, Value]:
    """What random operators of a body give; ``made``: what its nodes give in the file."""
    found: dict[str, Value] = {}
    for node in (one for one in walk(loop.body) if is_random(one, loop.system)):
        drawn = {value.name.removeprefix(prefix): value for value in node.outputs if value is not None}
        if node not in loop.body.nodes or not drawn.keys() <= made:
            raise UnsupportedError(
                f"loop '{loop.name}': {node.op_type} '{node.name}' draws random numbers inside a graph or a function of"
                " the body, where they cannot be an input"
            )
        found.update(drawn)
    return found
