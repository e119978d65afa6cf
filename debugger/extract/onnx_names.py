"""Names in the messages of an ONNX file: what a part of a graph takes from around it, and what it stands for there."""

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
    found = {tensor.name for tensor in graph.initializer} | {info.name for info in graph.input}
    found |= {sparse.values.name for sparse in graph.sparse_initializer}
    return found | {name for node in graph.node for name in node.output}


def names_read_by_node(node: NodeProto) -> dict[str, None]:
    """The names that a node reads, those that its graphs take from around it among them, in order."""
    found = dict.fromkeys(name for name in node.input if name)
    for graph in subgraphs(node):
        found.update(free_names(graph))
    return found


def free_names(graph: GraphProto) -> dict[str, None]:
    """The names that a graph takes from around it, in order."""
    own = own_names(graph)
    used = {name: None for node in graph.node for name in names_read_by_node(node)}
    used.update((info.name, None) for info in graph.output)
    return {name: None for name in used if name not in own}


def all_names(graph: GraphProto) -> set[str]:
    """Every name of a value in a graph and in the graphs inside it."""
    found = own_names(graph) | {info.name for info in graph.output}
    for node in graph.node:
        found.update(node.input)
        for inner in subgraphs(node):
            found |= all_names(inner)
    return found


def fresh_name(base: str, taken: set[str]) -> str:
    """A name that nothing has yet; from now on something does."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name


def bind_attributes(node: NodeProto, given: Mapping[str, AttributeProto]) -> None:
    """Give a node of a function, and those inside it, what the function's attributes stand for in one call."""
    kept = []
    for attribute in node.attribute:
        name = attribute.ref_attr_name
        if not name:
            kept.append(attribute)
        elif name in given:
            bound = AttributeProto()
            bound.CopyFrom(given[name])
            bound.name = attribute.name
            kept.append(bound)
    made = [AttributeProto.FromString(one.SerializeToString()) for one in kept]
    del node.attribute[:]
    node.attribute.extend(made)
    for graph in subgraphs(node):
        for inner in graph.node:
            bind_attributes(inner, given)


def remove_absent_inputs(node: NodeProto, absent: Iterable[str]) -> None:
    """Let a node, and those inside it, do without inputs that a function's caller left out."""
    names = set(absent)
    node.input[:] = ["" if name in names else name for name in node.input]
    for graph in subgraphs(node):
        hidden = names - own_names(graph)
        for inner in graph.node:
            remove_absent_inputs(inner, hidden)


def called_functions(model: onnx.ModelProto, nodes: Iterable[NodeProto]) -> list[Any]:
    """The functions of a model that nodes call, in turn too, in the model's order."""
    known = {(one.domain, one.name, one.overload): one for one in model.functions}
    wanted: dict[tuple[str, str, str], None] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        waiting += [inner for graph in subgraphs(node) for inner in graph.node]
        key = node.domain, node.op_type, node.overload
        if key in known and key not in wanted:
            wanted[key] = None
            waiting += known[key].node
    return [one for key, one in known.items() if key in wanted]
