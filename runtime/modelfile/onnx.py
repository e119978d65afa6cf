"""An ONNX file that is edited, or of which parts are copied.

Messages are edited in place, not through onnx_ir: onnx_ir 1.1 drops ``sparse_initializer``, ``training_info``, the
``value_info`` of unknown values and duplicate attributes, adds ``value_info`` to each initializer, and rejects a sparse
Constant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import onnx
import onnx.helper
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper

from ..atomic_file import write_bytes
from ..errors import UnsupportedError
from ..frontends.onnx.external_data import ExternalDataReader
from ..frontends.onnx.name_scope import NameScope
from ..frontends.onnx.proto import FunctionProto, convert_onnx_package_model
from ..frontends.onnx.proto import NodeProto as OwnNodeProto
from ..frontends.onnx.reader import _OnnxGraphReader
from ..frontends.recurrent import expand_recurrent_operators
from ..graph import Array, Graph, Loop, Node, Value
from ..graph.producers import ProducerMap
from ..record import record
from ..text import fresh_name
from .model_file import CONTROL_INPUTS, ModelFile
from .onnx_graph import all_names, keep_only_members, names_in_nodes
from .onnx_storage import copy_external_data, is_external, is_large, load_external_data, read_without_external_data

#: Before this version of the IR every initializer has to be listed as an input.
MIN_IR_INITIALIZERS_ALONE = 4
_VALUE_ATTRIBUTES = frozenset(
    ("value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")
)


@record(frozen=True, eq=False)
class OnnxNodeLocation:
    """One node of a file. ``proto``: its message; ``scope``: its visible names."""

    proto: NodeProto
    scope: NameScope


class OnnxFile(ModelFile[OnnxNodeLocation]):
    """A model's messages, and the message of each node of its graph.

    ``source``: the file's message without external data.
    """

    FILE_CHANGED_MESSAGE = "it, or one of its data files, changed since it was opened; open it again"

    def __init__(self, path: Path, graph: Graph) -> None:
        """``graph``: the graph that was read from the same file before.

        Raises:
            ModelError: the file cannot be read, or has changed.
        """
        self.source = read_without_external_data(path)
        self.folder = path.parent
        self.is_large = is_large(self.source)
        message = convert_onnx_package_model(self.source)
        reader = _RecordingReader(message, ExternalDataReader(os.path.dirname(os.path.abspath(path))))
        reread = reader.read_main_graph()
        expand_recurrent_operators(reread)
        self._messages = dict(_pair_protobuf_messages(message, self.source))
        self._scopes = reader.scopes
        locations = {
            node: OnnxNodeLocation(self._messages[id(proto)], scope)
            for node, (proto, scope) in reader.node_protos.items()
            if id(proto) in self._messages
        }
        super().__init__(path, graph, reread, locations)

    def value_for_name(self, scope: NameScope, name: str) -> Value | None:
        """The value of a name in a scope; None: an input that a function's caller omits."""
        value = scope.find(name, f"'{name}'")
        return None if value is None else self._original_values[value]

    def scope_proto(self, scope: NameScope) -> Any:
        """The message of a scope: a GraphProto or a FunctionProto."""
        return self._messages[id(scope.proto)]

    def bound_attributes(self, scope: NameScope) -> Mapping[str, AttributeProto]:
        """The values of a function's attributes in the call of a scope; empty outside of functions."""
        attributes = scope.context.attributes or {}
        return {name: self._messages[id(proto)] for name, proto in attributes.items()}

    def inline_external_data(self, tensor: TensorProto) -> None:
        """Inline a tensor's external data; those of a large model stay external.

        Raises:
            ModelError: the file is missing, or too short.
        """
        if not self.is_large and is_external(tensor):
            load_external_data(tensor, self.folder)

    # -- edits

    def set_constant(self, value: Value, data: Array) -> None:
        node = self._producers.get(value)
        if node is not None:
            location = self._require_location(node)
            self._require_single_call(location.scope, f"'{value.name}'")
            _set_constant(location.proto, data)
            return
        for scope in self._scopes:
            graph = self.scope_proto(scope)
            names = [name for name, known in scope.values.items() if known and self.original_value(known) is value]
            if isinstance(graph, GraphProto) and any(_set_initializer(graph, name, data) for name in names):
                return
        raise UnsupportedError(f"'{value.name}' is in the file in no form that can be changed", name=value.name)

    def set_initial_value(self, loop: Loop, param: Value, data: Array) -> None:
        self._connect_constant(loop, loop.body.inputs.index(param), data, param.name)

    def set_control_input(self, loop: Loop, port: int, data: Array) -> None:
        self._connect_constant(loop, port, data, CONTROL_INPUTS[port])

    def _connect_constant(self, loop: Loop, k: int, data: Array, role: str) -> None:
        """Connect a constant to an input port of a loop."""
        location = self._require_location(loop)
        if not has_original_body(location, loop):
            raise UnsupportedError(
                f"the file has {location.proto.op_type} '{loop.name}' in place of a loop",
                loop=loop.name,
                got=location.proto.op_type,
            )
        self._require_single_call(location.scope, f"loop '{loop.name}'")
        name = fresh_name(f"{role}_set", self._used_names)
        while len(location.proto.input) <= k:
            location.proto.input.append("")
        location.proto.input[k] = name
        tensor = numpy_helper.from_array(data, name)
        outer_message = self.scope_proto(location.scope)
        if not isinstance(outer_message, GraphProto):
            node = onnx.helper.make_node("Constant", [], [name], value=tensor)
            outer_message.node.insert(0, node)
            return
        outer_message.initializer.append(tensor)
        if self.source.ir_version < MIN_IR_INITIALIZERS_ALONE:
            kind = onnx.helper.np_dtype_to_tensor_dtype(data.dtype)
            outer_message.input.append(onnx.helper.make_tensor_value_info(name, kind, data.shape))

    @cached_property
    def _producers(self) -> ProducerMap:
        return ProducerMap.for_graph(self.graph)

    @cached_property
    def _used_names(self) -> set[str]:
        names = all_names(self.source.graph)
        return names.union(*(names_in_nodes(function.node) for function in self.source.functions))

    def _require_location(self, node: Node) -> OnnxNodeLocation:
        location = self.locate(node)
        if location is None:
            raise UnsupportedError(f"the file has no node of {node.describe()}", **node.error_fields)
        return location

    def _require_single_call(self, scope: NameScope, name: str) -> None:
        """Reject a change to a function that is called several times."""
        while scope.parent is not None:
            scope = scope.parent
        if not isinstance(scope.proto, FunctionProto):
            return
        calls = sum(other_scope.proto is scope.proto for other_scope in self._scopes)
        if calls > 1:
            raise UnsupportedError(
                f"{name} is in the function '{scope.proto.name}', which is called {calls} times; inline the functions"
                " of the model (onnx.inliner), and change it there",
                name=name,
            )

    # -- saving

    def save(self, path: Path, folder: Path) -> list[Path]:
        write_bytes(path, self.source.SerializeToString())
        return [path, *copy_external_data(self.source, self.folder, path.parent, folder)]


def open_onnx_file(path: Path | None, graph: Graph) -> OnnxFile | None:
    """Open the file of a model again; None where it has none, or the file is not ONNX.

    Raises:
        ModelError: the file changed since the model was opened.
        UnsupportedError: the file is too large to be read as one message.
    """
    if path is None or path.suffix in (".py", ".xml"):
        return None
    try:
        return OnnxFile(path, graph)
    except MemoryError:
        raise UnsupportedError(f"{path}: it is too large to be rewritten") from None


def has_original_body(location: OnnxNodeLocation, loop: Loop) -> bool:
    """Whether the file contains the body of a loop unchanged; a SequenceMap, an LSTM or a Scan-8 has none."""
    return (
        location.proto.op_type in ("Loop", "Scan")
        and not loop.derived_from
        and (loop.op_type, loop.version) != ("Scan", 8)
    )


class _RecordingReader(_OnnxGraphReader):
    """A reader that records the message of each node."""

    def __init__(self, model: Any, external_data: ExternalDataReader) -> None:
        super().__init__(model, external_data)
        self.node_protos: dict[Node, tuple[OwnNodeProto, NameScope]] = {}
        self.scopes: list[NameScope] = []

    def read_nodes(self, scope: NameScope) -> None:
        self.scopes.append(scope)
        super().read_nodes(scope)

    def read_node(self, proto: OwnNodeProto, scope: NameScope) -> None:
        count = len(scope.graph.nodes)
        super().read_node(proto, scope)
        # Nodes of an inlined function are already recorded.
        for node in scope.graph.nodes[count:]:
            self.node_protos.setdefault(node, (proto, scope))


def _pair_protobuf_messages(own_model: Any, onnx_model: Any) -> Iterator[tuple[int, Any]]:
    """Pairs of (id of our own message, onnx message) for every graph, function, node and attribute of a model."""
    yield from _pair_graph_messages(own_model.graph, onnx_model.graph)
    for function, onnx_function in zip(own_model.functions, onnx_model.functions, strict=True):
        yield id(function), onnx_function
        yield from _pair_attribute_messages(function.attribute_proto, onnx_function.attribute_proto)
        yield from _pair_node_messages(function.node, onnx_function.node)


def _pair_graph_messages(own_graph: Any, onnx_graph: Any) -> Iterator[tuple[int, Any]]:
    yield id(own_graph), onnx_graph
    yield from _pair_node_messages(own_graph.node, onnx_graph.node)


def _pair_node_messages(own_nodes: Any, onnx_nodes: Any) -> Iterator[tuple[int, Any]]:
    for node, onnx_node in zip(own_nodes, onnx_nodes, strict=True):
        yield id(node), onnx_node
        yield from _pair_attribute_messages(node.attribute, onnx_node.attribute)


def _pair_attribute_messages(own_attributes: Any, onnx_attributes: Any) -> Iterator[tuple[int, Any]]:
    for attribute, onnx_attribute in zip(own_attributes, onnx_attributes, strict=True):
        yield id(attribute), onnx_attribute
        if onnx_attribute.type == AttributeProto.GRAPH:
            yield from _pair_graph_messages(attribute.g, onnx_attribute.g)


def _set_constant(node: NodeProto, data: Array) -> None:
    """Replace the data of a Constant node; its other attributes are kept."""
    other_attributes = [attribute for attribute in node.attribute if attribute.name not in _VALUE_ATTRIBUTES]
    keep_only_members(node.attribute, other_attributes)
    node.attribute.insert(0, onnx.helper.make_attribute("value", numpy_helper.from_array(data)))


def _set_initializer(graph: GraphProto, name: str, data: Array) -> bool:
    """Replace the data of an initializer; False if there is none of that name."""
    for tensor in graph.initializer:
        if tensor.name == name:
            _replace_tensor_data(graph, tensor, data)
            return True
    for k, sparse in enumerate(graph.sparse_initializer):
        if sparse.values.name == name:
            del graph.sparse_initializer[k]
            graph.initializer.append(numpy_helper.from_array(data, name))
            return True
    return False


def _replace_tensor_data(graph: GraphProto, tensor: TensorProto, data: Array) -> None:
    reshaped = list(tensor.dims) != list(data.shape)
    replacement = numpy_helper.from_array(data, tensor.name)
    replacement.doc_string = tensor.doc_string
    tensor.CopyFrom(replacement)
    for info in (*graph.input, *graph.value_info) if reshaped else ():
        if info.name == tensor.name:
            info.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto())
            for size in data.shape:
                info.type.tensor_type.shape.dim.add(dim_value=size)
