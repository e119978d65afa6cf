"""Loop graph -> ONNX: the body of a loop as a model of its own, or a model with what its loops carry as outputs.

Written from the graph, not cut out of the file: functions are inlined there, captures are values of their own, and no
two values share a name here, so that a peer meets nothing but the numbers.
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
from ...runtime.frontends.onnx.model_file import OnnxModel, TensorWriter, scratch_file, serialized
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
    captured,
    nodes_of_file,
)
from ...runtime.ops.registry import is_random
from .jobs import OnnxJob

_IR_VERSION = 10
#: The first operator set whose Scan is a loop over sequences and nothing else.
_SCAN = 9


@dataclass(frozen=True)
class Cut:
    """A body as a model. ``inputs``: what to feed, under which name; ``outputs``: what comes back, in order."""

    model: OnnxModel
    inputs: Sequence[tuple[Value, str]]
    outputs: Sequence[Value]


def cut_body(loop: Loop, types: Mapping[Value, ValueType], opsets: Mapping[str, int], everything: bool = False) -> Cut:
    """The body of a loop as a model.

    Its inputs are the body's parameters, what it captures that is no constant, and what random operators give;
    ``types`` are theirs. Its outputs are the body's results, each once, and with ``everything`` what each of its
    nodes computes.

    Raises:
        UnsupportedError: operators of one domain in two versions.
    """
    writer = _Writer(opsets)
    body = loop.body
    random = [node for node in body.nodes if is_random(node, loop.system)]
    drawn = [value for node in random for value in node.outputs if value is not None]
    outer = captured(body)
    constants = [value for value in outer if value.constant is not None]
    fed = [*body.inputs, *(value for value in outer if value.constant is None), *drawn]
    inputs = [writer.info(value, types.get(value, value.type)) for value in fed]
    initializers = [writer.tensor(value) for value in (*body.constants, *constants)]
    nodes = [writer.node(node) for node in nodes_of_file(body) if node not in random]
    results = list(dict.fromkeys(body.outputs))
    if everything:
        results += [
            value
            for node in nodes_of_file(body)
            if node not in random
            for value in node.outputs
            if value is not None and value not in results
        ]
    outputs = [writer.result(value, nodes, types.get(value)) for value in results]
    graph = onnx.helper.make_graph(nodes, "body", inputs, outputs, initializers)
    return Cut(writer.model(graph), [(value, writer.names[value]) for value in fed], results)


def with_trajectories(graph: Graph, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> OnnxModel:
    """A whole model in which loops of the main graph collect further values of their bodies, as outputs at the end.

    Raises:
        UnsupportedError: operators of one domain in two versions.
    """
    writer = _Writer(graph.opsets, wanted)
    nodes = writer.nodes(graph)
    followed = [
        (name, TensorType(kind.dtype, None if kind.shape is None else (None, *kind.shape)))
        for name, (_, kind) in zip(writer.followed, (t for ts in wanted.values() for t in ts), strict=True)
    ]
    return writer.whole(graph, nodes, followed)


def with_values(graph: Graph, values: Sequence[Value], taken: Mapping[If, Graph]) -> OnnxModel:
    """A whole model with values of its main graph as outputs at the end; of the Ifs in ``taken`` that branch is a part
    of the main graph, and nothing is left of the other one.

    Raises:
        UnsupportedError: operators of one domain in two versions.
    """
    writer = _Writer(graph.opsets, taken=taken)
    nodes = writer.nodes(graph)
    return writer.whole(graph, nodes, [writer.copied(value, nodes) for value in values])


class _Writer:
    def __init__(
        self,
        opsets: Mapping[str, int],
        wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]] | None = None,
        taken: Mapping[If, Graph] | None = None,
    ) -> None:
        self.opsets = dict(opsets)
        self.wanted = wanted or {}
        #: Ifs of which one branch is written, in their place.
        self.taken: dict[Node, Graph] = dict((taken or {}).items())
        #: Names of outputs that collect what was wanted.
        self.followed: list[str] = []
        self.names: dict[Value, str] = {}
        self.written: list[Node] = []
        self._taken: set[str] = set()
        self.tensors = TensorWriter()

    # -- names

    def name(self, value: Value | None) -> str:
        if value is None:
            return ""
        if value not in self.names:
            self.names[value] = self.fresh(value.name)
        return self.names[value]

    def fresh(self, base: str) -> str:
        name, count = base, 1
        while name in self._taken or not name:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    # -- pieces

    def info(self, value: Value, kind: ValueType) -> ValueInfoProto:
        return port_info(self.name(value), kind)

    def tensor(self, value: Value, data: Array | None = None) -> TensorProto:
        array = value.constant if data is None else data
        assert array is not None
        return self.tensors.tensor(np.asarray(array), self.name(value))

    def result(self, value: Value, nodes: list[NodeProto], kind: ValueType | None) -> ValueInfoProto:
        """An output of its own: whatever a body hands on, as its model it can return it."""
        if not isinstance(value.type if kind is None else kind, TensorType):
            return self.info(value, value.type if kind is None else kind)  # older opsets have no Identity of sequences
        name = self.fresh(f"{value.name}_out")
        nodes.append(onnx.helper.make_node("Identity", [self.name(value)], [name]))
        return port_info(name, value.type if kind is None else kind)

    def model(self, graph: GraphProto) -> OnnxModel:
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        if "" not in self.opsets:
            imports.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
        proto = onnx.helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION, producer_name="loopdbg")
        return self.tensors.model(proto)

    def whole(self, graph: Graph, nodes: list[NodeProto], further: Sequence[tuple[str, ValueType]]) -> OnnxModel:
        """A model of the main graph, with these outputs after its own."""
        inputs = [self.info(value, value.type) for value in graph.inputs]
        constants = [value for part in (graph, *self.taken.values()) for value in part.constants]
        initializers = [self.tensor(value) for value in constants]
        initializers += [
            self.tensor(value, data) for value in graph.inputs if (data := graph.defaults.get(value.name)) is not None
        ]
        outputs = [self.info(value, value.type) for value in graph.outputs]
        outputs += [port_info(name, kind) for name, kind in further]
        return self.model(onnx.helper.make_graph(nodes, graph.name or "model", inputs, outputs, initializers))

    def copied(self, value: Value, nodes: list[NodeProto]) -> tuple[str, ValueType]:
        """A copy of a value, to be an output; a declared shape may be wrong, so none is stated."""
        name = self.fresh(f"{value.name}_out")
        nodes.append(onnx.helper.make_node("Identity", [self.name(value)], [name]))
        return name, TensorType(value.type.dtype) if isinstance(value.type, TensorType) else TensorType()

    # -- nodes

    def nodes(self, graph: Graph) -> list[NodeProto]:
        """Those of the main graph, whose inputs keep their names."""
        made: list[NodeProto] = []
        for value in (*graph.inputs, *graph.constants):
            self.name(value)
        for node in nodes_of_file(graph):
            branch = self.taken.get(node)
            if branch is None:
                made.append(self.node(node))
                continue
            made += self.nodes(branch)
            pairs = zip(branch.outputs, node.outputs, strict=True)
            made += [onnx.helper.make_node("Identity", [self.name(a)], [self.name(b)]) for a, b in pairs if b]
        return made

    def node(self, node: Node) -> NodeProto:
        self.check_version(node)
        if isinstance(node, Loop):
            return self.scan(node) if node.counted_by_slices else self.loop(node)
        inputs = [self.name(value) for value in node.inputs]
        if isinstance(node, If):
            branches = {
                f"{word}_branch": self.graph(inner, inner.inputs, inner.outputs) for word, inner in bodies(node)
            }
            return self.made("If", node, inputs, [self.name(v) for v in node.outputs], **branches)
        outputs = [self.name(value) for value in node.outputs]
        proto = onnx.helper.make_node(node.op_type, inputs, outputs, self.fresh(node.name), domain=node.domain)
        assert isinstance(node, Operation)
        proto.attribute.extend(_attribute(node, name, data, self.tensors) for name, data in node.attributes.items())
        return proto

    def made(self, op: str, node: Node, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
        # An empty list tells no type of its own, and means what is not there.
        told = {name: value for name, value in attributes.items() if value != []}
        return onnx.helper.make_node(op, inputs, outputs, self.fresh(node.name), **told)

    def check_version(self, node: Node) -> None:
        self.written.append(node)
        have = self.opsets.setdefault(node.domain, node.version)
        version = node.version
        if isinstance(node, Loop) and node.op_type == "Scan":
            version = max(version, _SCAN)
        if have < version == _SCAN != node.version:
            # The loops that a Scan-8 is read as are not over a batch.
            self.opsets[node.domain] = _SCAN
            before, self.written = self.written, []
            for other in before:
                self.check_version(other)
            return
        if have == version or onnx.defs.has(node.op_type, max_inclusive_version=have, domain=node.domain) is False:
            return
        theirs, ours = (
            onnx.defs.get_schema(node.op_type, max_inclusive_version=number, domain=node.domain).since_version
            for number in (version, have)
        )
        if theirs != ours:
            raise UnsupportedError(
                f"{node.describe()}: other nodes are of opset {have} of the same domain, and one model has one; "
                "convert the model's functions to its own opset"
            )

    def graph(self, graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> GraphProto:
        """An inner graph."""
        infos = [self.info(value, value.type) for value in inputs]
        initializers = [self.tensor(value) for value in graph.constants]
        nodes = [self.node(node) for node in nodes_of_file(graph)]
        # As they are, also if one is an input that is returned: the comparison finds what peers make of that.
        results = [self.info(value, value.type) for value in outputs]
        return onnx.helper.make_graph(nodes, self.fresh(graph.name or "graph"), infos, results, initializers)

    def loop(self, node: Loop) -> NodeProto:
        inputs = list(node.body.inputs)
        flag = TensorType(np.dtype(bool), ())
        results = list(node.body.outputs)
        if node.condition_input is None:  # what stands for a SequenceMap
            inputs.insert(1, Value("cond_in", flag))
            results.insert(0, inputs[1])
        for k, kind in ((0, TensorType(np.dtype(np.int64), ())), (1, flag)):
            # The peer makes these two of the rank that the body declares, and needs to be told.
            if isinstance(inputs[k].type, TensorType) and inputs[k].type.shape is None:  # type: ignore[union-attr]
                inputs[k] = _retyped(inputs[k], kind, self)
        body = self.graph(node.body, inputs, results)
        outputs = [self.name(value) for value in node.outputs]
        self.follow(node, body, outputs)
        given = [self.name(value) for value in node.inputs]
        return self.made("Loop", node, given, outputs, body=body)

    def scan(self, node: Loop) -> NodeProto:
        body = self.graph(node.body, node.body.inputs, node.body.outputs)
        outputs = [self.name(value) for value in node.outputs]
        states = len(node.back_edges)
        initials = [edge.initial for edge in node.back_edges if isinstance(edge.initial, Value)]
        scans = {scan.outer: scan for scan in node.scan_outputs}
        kept = [scans.get(value) if value is not None else None for value in node.outputs[states:]]
        axes = [0 if scan is None else scan.axis for scan in kept]
        directions = [0 if scan is None else int(scan.reverse) for scan in kept]
        added = self.follow(node, body, outputs)
        return self.made(
            "Scan",
            node,
            [self.name(value) for value in (*initials, *(sliced.outer for sliced in node.sliced_inputs))],
            outputs,
            body=body,
            num_scan_inputs=len(node.sliced_inputs),
            scan_input_axes=[sliced.axis for sliced in node.sliced_inputs],
            scan_input_directions=[int(sliced.stride < 0) for sliced in node.sliced_inputs],
            # An empty list has no type: without scan outputs there is no attribute.
            scan_output_axes=[*axes, *([0] * added)] or None,
            scan_output_directions=[*directions, *([0] * added)] or None,
        )

    def follow(self, node: Loop, body: GraphProto, outputs: list[str]) -> int:
        """Let a loop collect what is wanted of it; returns how many."""
        wanted = self.wanted.get(node, ())
        for value, kind in wanted:
            name = self.fresh(f"{value.name}_each")
            body.node.append(onnx.helper.make_node("Identity", [self.name(value)], [name]))
            info = ValueInfoProto(name=name)
            info.type.CopyFrom(_type_proto(kind))
            body.output.append(info)
            outputs.append(self.fresh(f"{value.name}_all"))
            self.followed.append(outputs[-1])
        return len(wanted)


def _retyped(value: Value, kind: TensorType, writer: _Writer) -> Value:
    typed = Value(value.name, TensorType(kind.dtype, kind.shape))
    writer.names[typed] = writer.name(value)
    return typed


def onnx_job(model: OnnxModel, plain: bool = False) -> OnnxJob:
    """A model as a job for a peer: its bytes, or the path of a temporary file where it is large.

    Raises:
        UsageError: the temporary file cannot be written.
        ModelError: a file with data of the model cannot be read.
        UnsupportedError: not all of its data can be in another file.
    """
    data = serialized(model)
    if data is not None:
        return OnnxJob(data=data, plain=plain)
    path, scratch = scratch_file(model)
    return OnnxJob(path=str(path), plain=plain, scratch=scratch)


def type_of(value: Any, shape: Sequence[int | None] | None = None) -> ValueType:
    """The type of a value at run time; ``shape`` states a looser one."""
    if isinstance(value, list | tuple):
        return SequenceType(TensorType(np.asarray(value[0]).dtype) if value else TensorType(np.dtype(np.float32)))
    array = np.asarray(value)
    return TensorType(array.dtype, array.shape if shape is None else tuple(shape))


def port_info(name: str, kind: ValueType) -> ValueInfoProto:
    """A port; of a type that is not known nothing is said."""
    info = ValueInfoProto(name=name)
    if not (isinstance(kind, TensorType) and kind.dtype is None):
        info.type.CopyFrom(_type_proto(kind))
    return info


def _type_proto(kind: ValueType) -> onnx.TypeProto:
    if isinstance(kind, SequenceType):
        return onnx.helper.make_sequence_type_proto(_type_proto(kind.element))
    if isinstance(kind, OptionalType):
        return onnx.helper.make_optional_type_proto(_type_proto(kind.element))
    code = 0 if kind.dtype is None else _code(kind.dtype)
    return onnx.helper.make_tensor_type_proto(code, None if kind.shape is None else list(kind.shape))


def _code(dtype: np.dtype[Any]) -> int:
    return int(TensorProto.STRING if dtype.hasobject else onnx.helper.np_dtype_to_tensor_dtype(dtype))


def _attribute(node: Operation, name: str, data: Any, tensors: TensorWriter) -> AttributeProto:
    """An attribute of the type that the operator's schema states: an empty list does not tell its own."""
    kind = None
    if onnx.defs.has(node.op_type, max_inclusive_version=node.version, domain=node.domain):
        schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=node.version, domain=node.domain)
        if name in schema.attributes:
            declared: Any = schema.attributes[name].type
            kind = int(declared)
    if isinstance(data, np.ndarray):
        data = tensors.tensor(data)
    elif isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        data = [tensors.tensor(item) for item in data]
    elif isinstance(data, TensorType | SequenceType | OptionalType):
        data = _type_proto(data)
    return onnx.helper.make_attribute(name, data, attr_type=kind)
