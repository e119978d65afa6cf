"""Where the nodes and names of a graph stand in the messages of its file: what writes a part of a model, or a model
with a few changes, keeps everything else as it is there.

The file is read once more by the reader itself, which takes note of what each node was made of.
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

FILE_CHANGED_MESSAGE = "it, or a file beside it, changed since it was opened; open it again"


@record(frozen=True, eq=False)
class OnnxNodeLocation:
    """One node of a file. ``proto``: its message; ``scope``: the names that it sees."""

    proto: onnx.NodeProto
    scope: NameScope


class OnnxSourceMap:
    """A model's messages, and where in them each node of its graph stands.

    ``source``: all of the file, data of tensors in other files left there; ``graph``: as the reader makes it.
    """

    def __init__(self, source: onnx.ModelProto, path: Path, graph: Graph) -> None:
        """``graph``: what was read from the same file before.

        Raises:
            ModelError: the file is another one by now.
        """
        self.source = source
        self.folder = path.parent
        self.is_large = is_large(source)
        message = as_own_model(source)
        reader = _RecordingReader(message, ExternalDataReader(os.path.dirname(os.path.abspath(path))))
        again = reader.read_main_graph()
        expand_recurrent_operators(again)
        self._messages = dict(_pair_messages(message, source))
        self._values: dict[Value, Value] = {}
        self._original_values: dict[Value, Value] = {}
        self._node_protos: dict[Node, tuple[NodeProto, NameScope]] = {}
        self._scopes = reader.scopes
        self._pair_graphs(graph, again, reader.node_protos, path)

    def locate(self, node: Node) -> OnnxNodeLocation | None:
        """The place of a node, or of the operator of the file that it was made of; None where the file has neither."""
        found = self._node_protos.get(node)
        return None if found is None else OnnxNodeLocation(self._messages[id(found[0])], found[1])

    def value_for_name(self, scope: NameScope, name: str) -> Value | None:
        """What a name stands for in a scope; None: an input that a function's caller left out."""
        found = scope.find(name, f"'{name}'")
        return None if found is None else self._original_values[found]

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
        """What the attributes of a function stand for in the call that a scope is of; empty outside of functions."""
        given = scope.context.attributes or {}
        return {name: self._messages[id(proto)] for name, proto in given.items()}

    def all_scopes(self) -> list[NameScope]:
        """The scopes of all graphs and function calls, each once."""
        return self._scopes

    def inline_external_data(self, tensor: onnx.TensorProto) -> None:
        """Bring the data of a tensor into it that are in another file; those of a large model stay there.

        Raises:
            ModelError: that file is missing, or too short.
        """
        if not self.is_large and is_external(tensor):
            load_external_data(tensor, self.folder)

    # -- the same graph, read twice

    def _pair_graphs(
        self, graph: Graph, again: Graph, noted: Mapping[Node, tuple[NodeProto, NameScope]], path: Path
    ) -> None:
        if len(graph.nodes) != len(again.nodes):
            raise ModelError(f"{path}: {FILE_CHANGED_MESSAGE}")
        for mine, theirs in ((graph.inputs, again.inputs), (graph.constants, again.constants)):
            self._pair_values(mine, theirs, path)
        for node, other in zip(graph.nodes, again.nodes, strict=True):
            if (node.name, node.op_type, len(bodies(node))) != (other.name, other.op_type, len(bodies(other))):
                raise ModelError(f"{path}: {FILE_CHANGED_MESSAGE}")
            found = noted.get(other) or noted.get(again.expanded_from.get(other, other))
            if found is not None:
                self._node_protos[node] = found
            self._pair_values(node.inputs, other.inputs, path)
            self._pair_values(node.outputs, other.outputs, path)
            for (_, inner), (_, same) in zip(bodies(node), bodies(other), strict=True):
                self._pair_graphs(inner, same, noted, path)
        self._pair_values(graph.outputs, again.outputs, path)

    def _pair_values(self, mine: list[Any], theirs: list[Any], path: Path) -> None:
        if len(mine) != len(theirs):
            raise ModelError(f"{path}: {FILE_CHANGED_MESSAGE}")
        for a, b in zip(mine, theirs, strict=True):
            if a is not None and b is not None:
                self._original_values[b] = a


class _RecordingReader(_OnnxGraphReader):
    """The reader, taking note of what it makes of which message."""

    def __init__(self, model: Any, beside: ExternalDataReader) -> None:
        super().__init__(model, beside)
        self.node_protos: dict[Node, tuple[NodeProto, NameScope]] = {}
        self.scopes: list[NameScope] = []

    def read_nodes(self, scope: NameScope) -> None:
        self.scopes.append(scope)
        super().read_nodes(scope)

    def read_node(self, proto: NodeProto, scope: NameScope) -> None:
        before = len(scope.graph.nodes)
        super().read_node(proto, scope)
        # Inside a function call its own nodes were noted already.
        for made in scope.graph.nodes[before:]:
            self.node_protos.setdefault(made, (proto, scope))


def source_map_for(path: Path | None, graph: Graph) -> OnnxSourceMap | None:
    """Where the nodes of a model stand in its file; None where it came from none, or its file is no ONNX.

    Raises:
        ModelError: the file changed since the model was opened.
        UnsupportedError: it is too large to be read as one message.
    """
    if path is None or path.suffix in (".py", ".xml"):
        return None
    try:
        return OnnxSourceMap(read_source(path), path, graph)
    except MemoryError:
        raise UnsupportedError(f"{path}: it is too large to be written anew") from None


def _pair_messages(mine: Any, theirs: Any) -> Iterator[tuple[int, Any]]:
    """Every graph, function, node and attribute of a model by the id of our own message for it."""
    yield from _pair_graph_messages(mine.graph, theirs.graph)
    for function, other in zip(mine.functions, theirs.functions, strict=True):
        yield id(function), other
        yield from _pair_attribute_messages(function.attribute_proto, other.attribute_proto)
        yield from _pair_node_messages(function.node, other.node)


def _pair_graph_messages(mine: Any, theirs: Any) -> Iterator[tuple[int, Any]]:
    yield id(mine), theirs
    yield from _pair_node_messages(mine.node, theirs.node)


def _pair_node_messages(mine: Any, theirs: Any) -> Iterator[tuple[int, Any]]:
    for node, other in zip(mine, theirs, strict=True):
        yield id(node), other
        yield from _pair_attribute_messages(node.attribute, other.attribute)


def _pair_attribute_messages(mine: Any, theirs: Any) -> Iterator[tuple[int, Any]]:
    for attribute, other in zip(mine, theirs, strict=True):
        yield id(attribute), other
        if other.type == onnx.AttributeProto.GRAPH:
            yield from _pair_graph_messages(attribute.g, other.g)
