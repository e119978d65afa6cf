"""Maps the nodes and names of a graph to the messages of its file, so that parts and edited copies of a model keep
everything else unchanged.

The file is read again by a reader that records the message of each node.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx

from ...errors import ModelError, UnsupportedError
from ...graph import Graph, Node, Value, bodies
from ...record import record
from ..recurrent import expand_recurrent_operators
from .external_data import ExternalDataReader
from .model_file import is_external, is_large, load_external_data, read_source
from .name_scope import NameScope
from .proto import NodeProto, as_own_model
from .reader import _OnnxGraphReader

FILE_CHANGED_MESSAGE = "it, or one of its data files, changed since it was opened; open it again"


@record(frozen=True, eq=False)
class OnnxNodeLocation:
    """One node of a file. ``proto``: its message; ``scope``: its visible names."""

    proto: onnx.NodeProto
    scope: NameScope


class OnnxSourceMap:
    """A model's messages, and the message of each node of its graph.

    ``source``: the file's message without external data.
    """

    def __init__(self, source: onnx.ModelProto, path: Path, graph: Graph) -> None:
        """``graph``: the graph that was read from the same file before.

        Raises:
            ModelError: the file has changed.
        """
        self.source = source
        self.folder = path.parent
        self.is_large = is_large(source)
        message = as_own_model(source)
        reader = _RecordingReader(message, ExternalDataReader(os.path.dirname(os.path.abspath(path))))
        reread = reader.read_main_graph()
        expand_recurrent_operators(reread)
        self._messages = dict(_pair_messages(message, source))
        self._values: dict[Value, Value] = {}
        self._original_values: dict[Value, Value] = {}
        self._node_protos: dict[Node, tuple[NodeProto, NameScope]] = {}
        self._scopes = reader.scopes
        self._pair_graphs(graph, reread, reader.node_protos, path)

    def locate(self, node: Node) -> OnnxNodeLocation | None:
        """The location of a node, or of the operator it was expanded from; None where the file has neither."""
        entry = self._node_protos.get(node)
        return None if entry is None else OnnxNodeLocation(self._messages[id(entry[0])], entry[1])

    def value_for_name(self, scope: NameScope, name: str) -> Value | None:
        """The value of a name in a scope; None: an input that a function's caller omits."""
        value = scope.find(name, f"'{name}'")
        return None if value is None else self._original_values[value]

    def names_for_value(self, scope: NameScope, value: Value) -> Iterator[str]:
        """The names that a scope itself has for a value."""
        return (
            name
            for name, known in scope.values.items()
            if known is not None and self._original_values.get(known) is value
        )

    def scope_message(self, scope: NameScope) -> Any:
        """The message of a scope: a GraphProto or a FunctionProto."""
        return self._messages[id(scope.proto)]

    def bound_attributes(self, scope: NameScope) -> Mapping[str, onnx.AttributeProto]:
        """The values of a function's attributes in the call of a scope; empty outside of functions."""
        attributes = scope.context.attributes or {}
        return {name: self._messages[id(proto)] for name, proto in attributes.items()}

    def all_scopes(self) -> list[NameScope]:
        """The scopes of all graphs and function calls."""
        return self._scopes

    def inline_external_data(self, tensor: onnx.TensorProto) -> None:
        """Inline a tensor's external data; those of a large model stay external.

        Raises:
            ModelError: the file is missing, or too short.
        """
        if not self.is_large and is_external(tensor):
            load_external_data(tensor, self.folder)

    # -- pairing of the two graphs of the file

    def _pair_graphs(
        self, graph: Graph, reread: Graph, protos: Mapping[Node, tuple[NodeProto, NameScope]], path: Path
    ) -> None:
        if len(graph.nodes) != len(reread.nodes):
            raise ModelError(f"{path}: {FILE_CHANGED_MESSAGE}")
        for original, copied in ((graph.inputs, reread.inputs), (graph.constants, reread.constants)):
            self._pair_values(original, copied, path)
        for node, twin in zip(graph.nodes, reread.nodes, strict=True):
            if (node.name, node.op_type, len(bodies(node))) != (twin.name, twin.op_type, len(bodies(twin))):
                raise ModelError(f"{path}: {FILE_CHANGED_MESSAGE}")
            entry = protos.get(twin) or protos.get(reread.expanded_from.get(twin, twin))
            if entry is not None:
                self._node_protos[node] = entry
            self._pair_values(node.inputs, twin.inputs, path)
            self._pair_values(node.outputs, twin.outputs, path)
            for (_, inner), (_, inner_twin) in zip(bodies(node), bodies(twin), strict=True):
                self._pair_graphs(inner, inner_twin, protos, path)
        self._pair_values(graph.outputs, reread.outputs, path)

    def _pair_values(self, originals: list[Any], rereads: list[Any], path: Path) -> None:
        if len(originals) != len(rereads):
            raise ModelError(f"{path}: {FILE_CHANGED_MESSAGE}")
        for a, b in zip(originals, rereads, strict=True):
            if a is not None and b is not None:
                self._original_values[b] = a


class _RecordingReader(_OnnxGraphReader):
    """A reader that records the message of each node."""

    def __init__(self, model: Any, external_data: ExternalDataReader) -> None:
        super().__init__(model, external_data)
        self.node_protos: dict[Node, tuple[NodeProto, NameScope]] = {}
        self.scopes: list[NameScope] = []

    def read_nodes(self, scope: NameScope) -> None:
        self.scopes.append(scope)
        super().read_nodes(scope)

    def read_node(self, proto: NodeProto, scope: NameScope) -> None:
        count = len(scope.graph.nodes)
        super().read_node(proto, scope)
        # Nodes of an inlined function are already recorded.
        for node in scope.graph.nodes[count:]:
            self.node_protos.setdefault(node, (proto, scope))


def source_map_for(path: Path | None, graph: Graph) -> OnnxSourceMap | None:
    """The source map of a model; None where it has no file, or the file is not ONNX.

    Raises:
        ModelError: the file changed since the model was opened.
        UnsupportedError: the file is too large to be read as one message.
    """
    if path is None or path.suffix in (".py", ".xml"):
        return None
    try:
        return OnnxSourceMap(read_source(path), path, graph)
    except MemoryError:
        raise UnsupportedError(f"{path}: it is too large to be rewritten") from None


def _pair_messages(own_model: Any, onnx_model: Any) -> Iterator[tuple[int, Any]]:
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
        if onnx_attribute.type == onnx.AttributeProto.GRAPH:
            yield from _pair_graph_messages(attribute.g, onnx_attribute.g)
