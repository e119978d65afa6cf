"""Loop graph -> ONNX: the body of a loop as a separate model, or a model with carried values of its loops as outputs.

The model is written from the graph, not extracted from the file: functions are inlined, captures are values, and value
names are unique, so that a peer can differ only in numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.helper
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto

from ...runtime.errors import UnsupportedError
from ...runtime.graph import (
    Array,
    Graph,
    If,
    Loop,
    Node,
    Operation,
    OptionalType,
    SequenceType,
    TensorType,
    Value,
    ValueType,
    bodies,
    captured_values,
    nodes_in_file,
)
from ...runtime.modelfile.onnx_graph import port_value_info, type_proto
from ...runtime.modelfile.onnx_storage import OnnxModel, TensorWriter, scratch_file, serialize_model
from ...runtime.modelfile.scratch_folder import ScratchFolder
from ...runtime.ops.registry import is_random
from ...runtime.text import fresh_name
from .jobs import OnnxJob

_IR_VERSION = 10
#: The first operator set whose Scan has no batch axis.
_SCAN_OPSET = 9


@dataclass(frozen=True)
class BodyAsModel:
    """A body as a model. ``inputs``: the values to feed, with names; ``outputs``: the results, in order."""

    model: OnnxModel
    inputs: Sequence[tuple[Value, str]]
    outputs: Sequence[Value]


def body_as_model(
    loop: Loop,
    types: Mapping[Value, ValueType],
    opsets: Mapping[str, int],
    everything: bool = False,
    scratch: ScratchFolder | None = None,
) -> BodyAsModel:
    """Return the body of a loop as a model.

    Its inputs are the body's parameters, captures that are no constants, and results of random operators, with the
    types in ``types``. Its outputs are the body's results, each once, and with ``everything`` the results of each of
    its nodes. ``scratch``: for large tensors.

    Raises:
        UnsupportedError: operators of one domain in two versions.
    """
    writer = _OnnxModelWriter(opsets, scratch=scratch)
    body = loop.body
    random = [node for node in body.nodes if is_random(node, loop.system)]
    random_results = [value for node in random for value in node.outputs if value is not None]
    outer = captured_values(body)
    constants = [value for value in outer if value.constant is not None]
    input_values = [*body.inputs, *(value for value in outer if value.constant is None), *random_results]
    inputs = [writer.value_info(value, types.get(value, value.type)) for value in input_values]
    initializers = [writer.make_tensor(value) for value in (*body.constants, *constants)]
    nodes = [writer.write_node(node) for node in nodes_in_file(body) if node not in random]
    results = list(dict.fromkeys(body.outputs))
    if everything:
        results += [
            value
            for node in nodes_in_file(body)
            if node not in random
            for value in node.outputs
            if value is not None and value not in results
        ]
    outputs = [writer.make_output(value, nodes, types.get(value)) for value in results]
    graph = onnx.helper.make_graph(nodes, "body", inputs, outputs, initializers)
    return BodyAsModel(writer.make_model(graph), [(value, writer.names[value]) for value in input_values], results)


def model_with_trajectories(
    graph: Graph, requested: Mapping[Loop, Sequence[tuple[Value, TensorType]]], scratch: ScratchFolder | None = None
) -> OnnxModel:
    """Return the model in which loops of the main graph collect further body values, as outputs at the end.
    ``scratch``: for large tensors.

    Raises:
        UnsupportedError: operators of one domain in two versions.
    """
    writer = _OnnxModelWriter(graph.opsets, requested, scratch=scratch)
    nodes = writer.write_nodes(graph)
    followed = [
        (name, TensorType(kind.dtype, None if kind.shape is None else (None, *kind.shape)))
        for name, (_, kind) in zip(writer.trajectory_names, (t for ts in requested.values() for t in ts), strict=True)
    ]
    return writer.make_whole_model(graph, nodes, followed)


def model_with_values(
    graph: Graph, values: Sequence[Value], taken: Mapping[If, Graph], scratch: ScratchFolder | None = None
) -> OnnxModel:
    """Return the model with values of its main graph as further outputs; of each If in ``taken`` the given branch is
    inlined into the main graph and the other one is omitted. ``scratch``: for large tensors.

    Raises:
        UnsupportedError: operators of one domain in two versions.
    """
    writer = _OnnxModelWriter(graph.opsets, taken=taken, scratch=scratch)
    nodes = writer.write_nodes(graph)
    return writer.make_whole_model(graph, nodes, [writer.copy_as_output(value, nodes) for value in values])


class _OnnxModelWriter:
    def __init__(
        self,
        opsets: Mapping[str, int],
        wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]] | None = None,
        taken: Mapping[If, Graph] | None = None,
        scratch: ScratchFolder | None = None,
    ) -> None:
        self.opsets = dict(opsets)
        self.trajectory_values = wanted or {}
        #: Ifs of which one branch is inlined.
        self.taken_branches: dict[Node, Graph] = dict((taken or {}).items())
        #: Names of the outputs that collect the requested values.
        self.trajectory_names: list[str] = []
        self.names: dict[Value, str] = {}
        self.written_nodes: list[Node] = []
        self._used_names = {""}
        self.tensor_writer = TensorWriter(scratch)

    # -- names

    def name_of(self, value: Value | None) -> str:
        if value is None:
            return ""
        if value not in self.names:
            self.names[value] = self.unused_name(value.name)
        return self.names[value]

    def unused_name(self, base: str) -> str:
        return fresh_name(base, self._used_names)

    # -- helpers

    def value_info(self, value: Value, kind: ValueType) -> ValueInfoProto:
        return port_value_info(self.name_of(value), kind)

    def make_tensor(self, value: Value, data: Array | None = None) -> TensorProto:
        array = value.constant if data is None else data
        assert array is not None
        return self.tensor_writer.tensor(np.asarray(array), self.name_of(value))

    def make_output(self, value: Value, nodes: list[NodeProto], kind: ValueType | None) -> ValueInfoProto:
        """Write an output that is a distinct value: a model may return it in any case."""
        if not isinstance(value.type if kind is None else kind, TensorType):
            return self.value_info(
                value, value.type if kind is None else kind
            )  # older opsets have no Identity of sequences
        name = self.unused_name(f"{value.name}_out")
        nodes.append(onnx.helper.make_node("Identity", [self.name_of(value)], [name]))
        return port_value_info(name, value.type if kind is None else kind)

    def make_model(self, graph: GraphProto) -> OnnxModel:
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        if "" not in self.opsets:
            imports.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
        proto = onnx.helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION, producer_name="loopdbg")
        return self.tensor_writer.model(proto)

    def make_whole_model(
        self, graph: Graph, nodes: list[NodeProto], extra: Sequence[tuple[str, ValueType]]
    ) -> OnnxModel:
        """Return a model of the main graph, with these outputs after its own."""
        inputs = [self.value_info(value, value.type) for value in graph.inputs]
        constants = [value for part in (graph, *self.taken_branches.values()) for value in part.constants]
        initializers = [self.make_tensor(value) for value in constants]
        initializers += [
            self.make_tensor(value, data)
            for value in graph.inputs
            if (data := graph.defaults.get(value.name)) is not None
        ]
        outputs = [self.value_info(value, value.type) for value in graph.outputs]
        outputs += [port_value_info(name, kind) for name, kind in extra]
        return self.make_model(onnx.helper.make_graph(nodes, graph.name or "model", inputs, outputs, initializers))

    def copy_as_output(self, value: Value, nodes: list[NodeProto]) -> tuple[str, ValueType]:
        """Copy a value for use as an output; without a shape, since a declared one may be wrong."""
        name = self.unused_name(f"{value.name}_out")
        nodes.append(onnx.helper.make_node("Identity", [self.name_of(value)], [name]))
        return name, TensorType(value.type.dtype) if isinstance(value.type, TensorType) else TensorType()

    # -- nodes

    def write_nodes(self, graph: Graph) -> list[NodeProto]:
        """Write the nodes of the main graph, whose inputs keep their names."""
        protos: list[NodeProto] = []
        for value in (*graph.inputs, *graph.constants):
            self.name_of(value)
        for node in nodes_in_file(graph):
            branch = self.taken_branches.get(node)
            if branch is None:
                protos.append(self.write_node(node))
                continue
            protos += self.write_nodes(branch)
            pairs = zip(branch.outputs, node.outputs, strict=True)
            protos += [onnx.helper.make_node("Identity", [self.name_of(a)], [self.name_of(b)]) for a, b in pairs if b]
        return protos

    def write_node(self, node: Node) -> NodeProto:
        self.check_opset_version(node)
        if isinstance(node, Loop):
            return self.write_scan(node) if node.counted_by_slices else self.write_loop(node)
        inputs = [self.name_of(value) for value in node.inputs]
        if isinstance(node, If):
            branches = {
                f"{word}_branch": self.write_graph(inner, inner.inputs, inner.outputs) for word, inner in bodies(node)
            }
            return self.make_node("If", node, inputs, [self.name_of(v) for v in node.outputs], **branches)
        outputs = [self.name_of(value) for value in node.outputs]
        proto = onnx.helper.make_node(node.op_type, inputs, outputs, self.unused_name(node.name), domain=node.domain)
        assert isinstance(node, Operation)
        proto.attribute.extend(
            _make_attribute(node, name, data, self.tensor_writer) for name, data in node.attributes.items()
        )
        return proto

    def make_node(self, op: str, node: Node, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
        # An empty list has no element type, and is the same as an absent attribute.
        present = {name: value for name, value in attributes.items() if value != []}
        return onnx.helper.make_node(op, inputs, outputs, self.unused_name(node.name), **present)

    def check_opset_version(self, node: Node) -> None:
        self.written_nodes.append(node)
        used = self.opsets.setdefault(node.domain, node.version)
        version = node.version
        if isinstance(node, Loop) and node.op_type == "Scan":
            version = max(version, _SCAN_OPSET)
        if used < version == _SCAN_OPSET != node.version:
            # Loops that were read from Scan-8 have no batch axis.
            self.opsets[node.domain] = _SCAN_OPSET
            checked, self.written_nodes = self.written_nodes, []
            for node_before in checked:
                self.check_opset_version(node_before)
            return
        if used == version or onnx.defs.has(node.op_type, max_inclusive_version=used, domain=node.domain) is False:
            return
        schema, used_schema = (
            onnx.defs.get_schema(node.op_type, max_inclusive_version=number, domain=node.domain).since_version
            for number in (version, used)
        )
        if schema != used_schema:
            raise UnsupportedError(
                f"{node.describe()}: other nodes are of opset {used} of the same domain, and one model has one; "
                "convert the model's functions to its own opset"
            )

    def write_graph(self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> GraphProto:
        """Write an inner graph."""
        infos = [self.value_info(value, value.type) for value in inputs]
        initializers = [self.make_tensor(value) for value in graph.constants]
        nodes = [self.write_node(node) for node in nodes_in_file(graph)]
        # An input may be returned directly: the comparison tests how peers handle that.
        results = [self.value_info(value, value.type) for value in outputs]
        return onnx.helper.make_graph(nodes, self.unused_name(graph.name or "graph"), infos, results, initializers)

    def write_loop(self, node: Loop) -> NodeProto:
        inputs = list(node.body.inputs)
        flag = TensorType(np.dtype(bool), ())
        results = list(node.body.outputs)
        if node.condition_input is None:  # it represents a SequenceMap
            inputs.insert(1, Value("cond_in", flag))
            results.insert(0, inputs[1])
        for k, kind in ((0, TensorType(np.dtype(np.int64), ())), (1, flag)):
            # The peer gives these two the rank that the body declares, so it has to be written.
            if isinstance(inputs[k].type, TensorType) and inputs[k].type.shape is None:  # type: ignore[union-attr]
                inputs[k] = _retype_value(inputs[k], kind, self)
        body = self.write_graph(node.body, inputs, results)
        outputs = [self.name_of(value) for value in node.outputs]
        self.add_trajectories(node, body, outputs)
        names = [self.name_of(value) for value in node.inputs]
        return self.make_node("Loop", node, names, outputs, body=body)

    def write_scan(self, node: Loop) -> NodeProto:
        body = self.write_graph(node.body, node.body.inputs, node.body.outputs)
        outputs = [self.name_of(value) for value in node.outputs]
        states = len(node.back_edges)
        initials = [edge.initial for edge in node.back_edges if isinstance(edge.initial, Value)]
        scans = {scan.outer: scan for scan in node.scan_outputs}
        ordered = [scans.get(value) if value is not None else None for value in node.outputs[states:]]
        axes = [0 if scan is None else scan.axis for scan in ordered]
        directions = [0 if scan is None else int(scan.reverse) for scan in ordered]
        added = self.add_trajectories(node, body, outputs)
        return self.make_node(
            "Scan",
            node,
            [self.name_of(value) for value in (*initials, *(sliced.outer for sliced in node.sliced_inputs))],
            outputs,
            body=body,
            num_scan_inputs=len(node.sliced_inputs),
            scan_input_axes=[sliced.axis for sliced in node.sliced_inputs],
            scan_input_directions=[int(sliced.stride < 0) for sliced in node.sliced_inputs],
            # An empty list has no type, so without scan outputs the attribute is omitted.
            scan_output_axes=[*axes, *([0] * added)] or None,
            scan_output_directions=[*directions, *([0] * added)] or None,
        )

    def add_trajectories(self, node: Loop, body: GraphProto, outputs: list[str]) -> int:
        """Let a loop collect the requested values; return their number."""
        requested = self.trajectory_values.get(node, ())
        for value, kind in requested:
            name = self.unused_name(f"{value.name}_each")
            body.node.append(onnx.helper.make_node("Identity", [self.name_of(value)], [name]))
            info = ValueInfoProto(name=name)
            info.type.CopyFrom(type_proto(kind))
            body.output.append(info)
            outputs.append(self.unused_name(f"{value.name}_all"))
            self.trajectory_names.append(outputs[-1])
        return len(requested)


def _retype_value(value: Value, kind: TensorType, writer: _OnnxModelWriter) -> Value:
    typed = Value(value.name, TensorType(kind.dtype, kind.shape))
    writer.names[typed] = writer.name_of(value)
    return typed


def make_onnx_job(model: OnnxModel, plain: bool = False) -> OnnxJob:
    """Return a model as a job for a peer: its bytes, or the path of a temporary file if it has external data.

    Raises:
        UsageError: the temporary file cannot be written.
        ModelError: a file with data of the model cannot be read.
        UnsupportedError: some of its data cannot be stored externally.
    """
    data = None if model.scratch is not None else serialize_model(model)
    if data is not None:
        return OnnxJob(data=data, disable_optimizations=plain)
    path, scratch = scratch_file(model)
    return OnnxJob(path=str(path), disable_optimizations=plain, scratch=scratch)


def type_of_data(value: Any) -> ValueType:
    """The type of a value at run time."""
    if isinstance(value, list | tuple):
        return SequenceType(TensorType(np.asarray(value[0]).dtype) if value else TensorType(np.dtype(np.float32)))
    array = np.asarray(value)
    return TensorType(array.dtype, array.shape)


def _make_attribute(node: Operation, name: str, data: Any, tensors: TensorWriter) -> AttributeProto:
    """An attribute with the type of the operator's schema, since an empty list has none."""
    kind = None
    if onnx.defs.has(node.op_type, max_inclusive_version=node.version, domain=node.domain):
        schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=node.version, domain=node.domain)
        if name in schema.attributes:
            schema_type: Any = schema.attributes[name].type
            kind = int(schema_type)
    if isinstance(data, np.ndarray):
        data = tensors.tensor(data)
    elif isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        data = [tensors.tensor(item) for item in data]
    elif isinstance(data, TensorType | SequenceType | OptionalType):
        data = type_proto(data)
    return onnx.helper.make_attribute(name, data, attr_type=kind)
