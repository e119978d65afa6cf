"""Name resolution in the messages of an ONNX file: names that a part of a graph captures, and attribute references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import onnx
from onnx import AttributeProto, GraphProto, NodeProto


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


def names_read_by_node(node: NodeProto) -> dict[str, None]:
    """The names that a node reads, including those that its subgraphs capture, in order."""
    names = dict.fromkeys(name for name in node.input if name)
    for graph in subgraphs(node):
        names.update(free_names(graph))
    return names


def free_names(graph: GraphProto) -> dict[str, None]:
    """The names that a graph captures from its enclosing scopes, in order."""
    defined = own_names(graph)
    used = {name: None for node in graph.node for name in names_read_by_node(node)}
    used.update((info.name, None) for info in graph.output)
    return {name: None for name in used if name not in defined}


def all_names(graph: GraphProto) -> set[str]:
    """Every value name in a graph and its subgraphs."""
    names = own_names(graph) | {info.name for info in graph.output}
    for node in graph.node:
        names.update(node.input)
        for inner in subgraphs(node):
            names |= all_names(inner)
    return names


def fresh_name(base: str, used_names: set[str]) -> str:
    """An unused name, which is added to ``taken``."""
    name, number = base, 1
    while name in used_names:
        number += 1
        name = f"{base}_{number}"
    used_names.add(name)
    return name


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
    copies = [AttributeProto.FromString(attribute.SerializeToString()) for attribute in bound_attributes]
    del node.attribute[:]
    node.attribute.extend(copies)
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
