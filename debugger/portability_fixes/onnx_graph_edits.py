"""The graphs of an ONNX file, each with what is known of its values, and the edits that fixes are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import onnx.helper
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ...runtime.errors import UnsupportedError
from ...runtime.graph import MAIN, Array, Graph, Node, Value, bodies, own_values
from ...runtime.model import Model
from ...runtime.modelfile.onnx_graph import (
    all_names,
    attribute_value,
    inner_graphs,
    keep_only_members,
    node_key,
    own_names,
)
from ...runtime.text import fresh_name
from ..portability.rule_context import RuleContext
from ..rewriting.editable_model import EditableOnnx
from ..rewriting.rewrite import Rewrite

#: Path of a graph: the keys of the nodes around it, outermost first, each with the attribute of the inner graph.
PlacePath = tuple[tuple[str, str], ...]
LOOP_OPERATORS = ("Loop", "Scan")


@dataclass(frozen=True, eq=False)
class GraphPlace:
    """A graph of the file. ``loop_path``: of the loops around it, as findings give it; ``owner``: the node of ``outer``
    that it is in; ``graph``: the loaded one, None where there is none."""

    proto: GraphProto
    path: PlacePath
    loop_path: str
    graph: Graph | None
    outer: GraphPlace | None = None
    owner: NodeProto | None = None

    def outer_names(self) -> set[str]:
        """All names of the graphs around it."""
        return set() if self.outer is None else own_names(self.outer.proto) | self.outer.outer_names()


class OnnxPlaces:
    """All graphs of a model, outer ones first, except those of functions."""

    def __init__(self, model: EditableOnnx, loaded: Model) -> None:
        self.model, self.context = model, RuleContext(loaded.graph)
        self.opset = next((entry.version for entry in model.proto.opset_import if not entry.domain), 0)
        self.places = list(_walk_places(GraphPlace(model.proto.graph, (), MAIN, loaded.graph)))
        self._values = {
            place: {value.name: value for value in own_values(place.graph)} for place in self.places if place.graph
        }

    def inner(self, *owners: str) -> Iterator[GraphPlace]:
        """The graphs inside nodes of some operators."""
        return (place for place in self.places if place.owner is not None and place.owner.op_type in owners)

    def nodes(self, *operators: str) -> Iterator[tuple[GraphPlace, NodeProto]]:
        """The nodes of some operators of ONNX's own domain; of all of them without names."""
        for place in self.places:
            for node in place.proto.node:
                if node.domain in ("", "ai.onnx") and (not operators or node.op_type in operators):
                    yield place, node

    def value(self, place: GraphPlace | None, name: str) -> Value | None:
        """The loaded value of a name that is visible in a graph."""
        while place is not None and name:
            if name in self._values.get(place, ()):
                return self._values[place][name]
            place = place.outer
        return None

    def dtype(self, place: GraphPlace, name: str) -> np.dtype[Any] | None:
        """The element type of a tensor, declared or inferred."""
        return self.context.dtype(self.value(place, name))

    def rank(self, place: GraphPlace, name: str) -> int | None:
        """The number of dimensions of a tensor; None where it is unknown."""
        value = self.value(place, name)
        return None if value is None else self.context.rank(value)

    def constant(self, place: GraphPlace | None, name: str) -> Array | None:
        """The data of a small constant that is visible in a graph."""
        while place is not None and name:
            for tensor in place.proto.initializer:
                if tensor.name == name and tensor.data_location == TensorProto.DEFAULT:
                    is_input = any(port.name == name for port in place.proto.input)
                    return None if is_input else numpy_helper.to_array(tensor)
            node = next((node for node in place.proto.node if name in node.output), None)
            if node is not None:
                data = attribute_value(node, "value", None) if node.op_type == "Constant" else None
                return None if data is None or data.data_location else numpy_helper.to_array(data)
            place = place.outer
        return None


#: Finds the places where a fix applies.
OnnxFinder = Callable[[OnnxPlaces], Iterator[Rewrite]]


class GraphEdit:
    """A graph of a model that is edited, found again by its path."""

    def __init__(self, model: EditableOnnx, path: PlacePath) -> None:
        self.model = model
        self.graph = graph_at(model.proto, path)
        self._names: set[str] | None = None

    def make_fresh_name(self, base: str) -> str:
        """A name that the file does not have."""
        if self._names is None:
            self._names = all_names(self.model.proto.graph)
        return fresh_name(base, self._names)

    def node(self, key: str) -> NodeProto:
        """The node with a key."""
        node: NodeProto = next(node for node in self.graph.node if node_key(node) == key)
        return node

    def insert(self, before: NodeProto | None, nodes: Iterable[NodeProto]) -> None:
        """Insert nodes before another one; None: at the start."""
        index = 0 if before is None else next(k for k, node in enumerate(self.graph.node) if node is before)
        for offset, node in enumerate(nodes):
            self.graph.node.insert(index + offset, node)

    def replace(self, key: str, nodes: Sequence[NodeProto]) -> None:
        """Replace a node by others."""
        kept = [(list(nodes) if node_key(node) == key else [node]) for node in self.graph.node]
        keep_only_members(self.graph.node, [node for group in kept for node in group])

    def before(self, key: str, op_type: str, inputs: Sequence[str], base: str, **attributes: Any) -> str:
        """Insert a node with one output before the node with a key, or None: at the start; returns the output."""
        name = self.make_fresh_name(base)
        node = onnx.helper.make_node(op_type, list(inputs), [name], name, **attributes)
        self.insert(self.node(key), [node])
        return name

    def constant(self, key: str | None, base: str, data: Array) -> str:
        """Insert a Constant before the node with a key; None: at the start."""
        name = self.make_fresh_name(base)
        node = onnx.helper.make_node("Constant", [], [name], name, value=numpy_helper.from_array(data))
        self.insert(None if key is None else self.node(key), [node])
        return name


def graph_at(proto: ModelProto, path: PlacePath) -> GraphProto:
    """The graph of a path."""
    graph = proto.graph
    for key, word in path:
        owner = next(node for node in graph.node if node_key(node) == key)
        graph = dict(inner_graphs(owner))[word]
    return graph


def rewrite(
    kind: str, place: GraphPlace, node: NodeProto | None, reason: str, edit: Callable[..., None], *arguments: Any
) -> Rewrite:
    """A rewrite of a place; ``edit``: gets the :class:`GraphEdit` of its graph, and the arguments."""
    if node is not None:
        name = node.name or node_key(node)
    else:
        name = "" if place.owner is None else place.owner.name
    return Rewrite(kind, place.loop_path, name, reason, partial(_edit_graph, place.path, edit, arguments))


def onnx_type_code(dtype: np.dtype[Any]) -> int:
    """The number of an element type in ONNX."""
    return int(TensorProto.STRING if dtype.hasobject else onnx.helper.np_dtype_to_tensor_dtype(dtype))


def _edit_graph(path: PlacePath, edit: Callable[..., None], arguments: Sequence[Any], model: EditableOnnx) -> None:
    try:
        edit(GraphEdit(model, path), *arguments)
    except (StopIteration, LookupError):
        raise UnsupportedError("a change before it removed its place") from None


def _walk_places(place: GraphPlace) -> Iterator[GraphPlace]:
    yield place
    nodes = {} if place.graph is None else _nodes_by_output(place.graph)
    for node in place.proto.node:
        twin = nodes.get(node_key(node))
        graphs: dict[str, Graph] = {} if twin is None else {word.replace(" ", "_"): g for word, g in bodies(twin)}
        for word, inner in inner_graphs(node):
            name = node.name if twin is None else twin.name
            loop_path = f"{place.loop_path} ▸ {name}" if node.op_type in LOOP_OPERATORS else place.loop_path
            path = (*place.path, (node_key(node), word))
            yield from _walk_places(GraphPlace(inner, path, loop_path, _find_inner_graph(graphs, word), place, node))


def _find_inner_graph(graphs: dict[str, Graph], word: str) -> Graph | None:
    if word in graphs:
        return graphs[word]
    return next(iter(graphs.values()), None) if word == "body" else None


def _nodes_by_output(graph: Graph) -> dict[str, Node]:
    return {value.name: node for node in graph.nodes for value in node.outputs if value is not None}
