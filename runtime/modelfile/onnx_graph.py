"""Graphs in ONNX messages: names and captures, dead code, renaming, functions, types and constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto

from ..graph import OptionalType, SequenceType, TensorType, ValueType
from ..graph.topological_order import topological_order
from ..text import fresh_name


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs inside a node."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def own_names(graph: GraphProto) -> set[str]:
    """The names that a graph itself defines."""
    names = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
    names |= {sparse.values.name for sparse in graph.sparse_initializer}
    return names | {name for node in graph.node for name in node.output}


def node_names(graph: GraphProto) -> Iterator[str]:
    """The names of all nodes, in subgraphs too; empty where a node has none."""
    for node in graph.node:
        yield node.name
        for inner in subgraphs(node):
            yield from node_names(inner)


def qualify_node_names(graph: GraphProto, loop: str, path: str = "") -> None:
    """Put the path of the innermost loop, with a separator, in front of the name of each node, in subgraphs too. A node
    without one first gets that by which it is known here (:meth:`NameScope.node_name`). ``path``: that of the graph, if
    it is a branch in the loop."""
    names = {node.name for node in graph.node}
    path = path or loop
    for position, node in enumerate(graph.node):
        name = node.name or fresh_name(f"{node.op_type}_{position}", names)
        node.name = f"{loop} ▸ {name}"
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                inner = f"{path} ▸ {name}"
                branch = attribute.name.removesuffix("_branch")
                if branch == attribute.name:
                    qualify_node_names(attribute.g, inner)
                else:
                    qualify_node_names(attribute.g, loop, f"{inner} ({branch})")


def names_read_by_node(node: NodeProto) -> dict[str, None]:
    """The names that a node reads, including those that its subgraphs capture, in order."""
    names = dict.fromkeys(name for name in node.input if name)
    for graph in subgraphs(node):
        names.update(captured_names(graph))
    return names


def captured_names(graph: GraphProto) -> dict[str, None]:
    """The names that a graph captures from its enclosing scopes, in order."""
    defined = own_names(graph)
    used = {name: None for node in graph.node for name in names_read_by_node(node)}
    used.update((info.name, None) for info in graph.output)
    return {name: None for name in used if name not in defined}


def all_names(graph: GraphProto) -> set[str]:
    """Every value name in a graph and its subgraphs."""
    return own_names(graph) | {info.name for info in graph.output} | names_in_nodes(graph.node)


def names_in_nodes(nodes: Iterable[NodeProto]) -> set[str]:
    """Every value name in nodes and their subgraphs."""
    names: set[str] = set()
    for node in nodes:
        names.update((*node.input, *node.output))
        for inner in subgraphs(node):
            names |= all_names(inner)
    return names


def bind_attributes(node: NodeProto, attributes: Mapping[str, AttributeProto]) -> None:
    """Resolve references to function attributes in a node and its subgraphs to the attributes of one call."""
    bound_attributes = []
    for attribute in node.attribute:
        name = attribute.ref_attr_name
        if not name:
            bound_attributes.append(attribute)
        elif name in attributes:
            bound = AttributeProto()
            bound.CopyFrom(attributes[name])
            bound.name = attribute.name
            bound_attributes.append(bound)
    keep_only_members(node.attribute, bound_attributes)
    for graph in subgraphs(node):
        for inner in graph.node:
            bind_attributes(inner, attributes)


def remove_absent_inputs(node: NodeProto, absent: Iterable[str]) -> None:
    """Remove inputs that the caller of a function omitted, from a node and its subgraphs."""
    names = set(absent)
    node.input[:] = ["" if name in names else name for name in node.input]
    for graph in subgraphs(node):
        visible = names - own_names(graph)
        for inner in graph.node:
            remove_absent_inputs(inner, visible)


def called_functions(model: onnx.ModelProto, nodes: Iterable[NodeProto]) -> list[Any]:
    """The functions of a model that nodes call, directly or indirectly, in the model's order."""
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    called_keys: dict[tuple[str, str, str], None] = {}
    worklist = list(nodes)
    while worklist:
        node = worklist.pop()
        worklist += [inner for graph in subgraphs(node) for inner in graph.node]
        key = node.domain, node.op_type, node.overload
        if key in functions and key not in called_keys:
            called_keys[key] = None
            worklist += functions[key].node
    return [function for key, function in functions.items() if key in called_keys]


def inner_graphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs of a node, each with the name of its attribute."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g


def loop_body(node: NodeProto) -> GraphProto:
    """The body of a loop."""
    return next(graph for word, graph in inner_graphs(node) if word == "body")


def attribute_value(node: NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute of a node."""
    attribute = next((candidate for candidate in node.attribute if candidate.name == name), None)
    return default if attribute is None else onnx.helper.get_attribute_value(attribute)


def walk_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all graphs inside it, outer graphs first."""
    yield graph
    for node in graph.node:
        for _, inner in inner_graphs(node):
            yield from walk_graphs(inner)


def node_key(node: NodeProto) -> str:
    """The key of a node: its first output, which is unique in its graph."""
    return next((name for name in node.output if name), node.name)


def keep_only_members(repeated: Any, members: Iterable[Any]) -> None:
    """Keep only some members of a repeated field, in the given order."""
    copies = []
    for member in members:
        copy = type(member)()
        copy.CopyFrom(member)
        copies.append(copy)
    del repeated[:]
    repeated.extend(copies)


def remove_dead(graph: GraphProto) -> None:
    """Remove nodes that no output of a graph depends on, also in inner graphs, and constants without a reader."""
    for node in graph.node:
        for _, inner in inner_graphs(node):
            remove_dead(inner)
    used: set[str] = set()
    live: set[int] = set()
    producers = _producers(graph)
    unread = [item.name for item in graph.output]
    while unread:  # in any order: not all files are in topological order
        name = unread.pop()
        used.add(name)
        position = producers.get(name)
        if position is not None and position not in live:
            live.add(position)
            unread += names_read_by_node(graph.node[position])
    if len(live) != len(graph.node):
        keep_only_members(graph.node, [graph.node[position] for position in sorted(live)])
    if any(item.name not in used for item in graph.initializer):
        keep_only_members(graph.initializer, [item for item in graph.initializer if item.name in used])
    if any(item.values.name not in used for item in graph.sparse_initializer):
        keep_only_members(
            graph.sparse_initializer, [item for item in graph.sparse_initializer if item.values.name in used]
        )


def sort_nodes(graph: GraphProto) -> None:
    """Sort the nodes of a graph, also of inner graphs, topologically, as the specification requires; those that are in
    order stay."""
    for node in graph.node:
        for _, inner in inner_graphs(node):
            sort_nodes(inner)
    order = node_order(graph)
    if order != sorted(order):
        keep_only_members(graph.node, [graph.node[position] for position in order])


def node_order(graph: GraphProto) -> list[int]:
    """The positions of the nodes in topological order, that of the file where it is one or there is a cycle."""
    producers = _producers(graph)
    order = topological_order(
        [{producers[name] for name in names_read_by_node(node) if name in producers} for node in graph.node]
    )
    return order if len(order) == len(graph.node) else list(range(len(graph.node)))


def _producers(graph: GraphProto) -> dict[str, int]:
    """The position of the node that computes each value."""
    return {name: position for position, node in enumerate(graph.node) for name in node.output if name}


def rename_values(graph: GraphProto, new: Mapping[str, str]) -> None:
    """Rename values where they are read or computed, also in inner graphs unless the name is redefined there."""
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = new.get(value.name, value.name)
    for node in graph.node:
        node.output[:] = [new.get(name, name) for name in node.output]
    redirect_reads(graph, new, outputs=False)


def redirect_reads(graph: GraphProto, new: Mapping[str, str], outputs: bool = True) -> None:
    """Redirect readers of some values to others: nodes, inner graphs, and outputs."""
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        for _, inner in inner_graphs(node):
            defined = own_names(inner)
            redirect_reads(inner, {old: name for old, name in new.items() if old not in defined})
    if outputs:
        for value in graph.output:
            value.name = new.get(value.name, value.name)


def port_value_info(name: str, kind: ValueType) -> ValueInfoProto:
    """A port; without a type if it is unknown."""
    info = ValueInfoProto(name=name)
    if not (isinstance(kind, TensorType) and kind.dtype is None):
        info.type.CopyFrom(type_proto(kind))
    return info


def type_proto(kind: ValueType) -> onnx.TypeProto:
    """The message of a declared type."""
    if isinstance(kind, SequenceType):
        return onnx.helper.make_sequence_type_proto(type_proto(kind.element))
    if isinstance(kind, OptionalType):
        return onnx.helper.make_optional_type_proto(type_proto(kind.element))
    code = 0 if kind.dtype is None else _type_code(kind.dtype)
    return onnx.helper.make_tensor_type_proto(code, None if kind.shape is None else list(kind.shape))


def _type_code(dtype: np.dtype[Any]) -> int:
    return int(TensorProto.STRING if dtype.hasobject else onnx.helper.np_dtype_to_tensor_dtype(dtype))


def value_info(name: str, data: Any, sized: bool = True) -> ValueInfoProto:
    """A port for a value at run time; without a type if it is unknown. Not ``sized``: without the lengths of axes."""
    if data is None:
        return ValueInfoProto(name=name)
    if isinstance(data, list | tuple):
        element = _array_type(data[0], False) if data else TensorType(np.dtype(np.float32))
        return port_value_info(name, SequenceType(element))
    return port_value_info(name, _array_type(data, sized))


def _array_type(data: Any, sized: bool) -> TensorType:
    array = np.asarray(data)
    dtype = np.dtype(object) if array.dtype.kind in "UST" else array.dtype
    return TensorType(dtype, array.shape if sized else (None,) * array.ndim)


def make_tensor(name: str, data: Any) -> TensorProto:
    """A constant."""
    array = np.asarray(data)
    return onnx.numpy_helper.from_array(array.astype(object) if array.dtype.kind in "UT" else array, name)
