"""Topological order of nodes, which the specification requires of files but not all tools produce."""

from __future__ import annotations

from collections.abc import Sequence

from .proto import AttributeProto, GraphProto, NodeProto


def topological_node_order(nodes: Sequence[NodeProto]) -> list[int]:
    """Positions of a graph's nodes in stable topological order.

    Nodes in cycles come last, in their original order.
    """
    producers: dict[str, int] = {}
    for position, node in enumerate(nodes):
        for name in node.output:
            producers.setdefault(name, position)
    producers.pop("", None)
    # Fast path: the file is in order.
    names_read = [_names_read(node) for node in nodes]
    if not [name for k, names in enumerate(names_read) for name in names if producers.get(name, -1) >= k]:
        return list(range(len(nodes)))
    from ...graph.topological_order import topological_order

    needs = [{producers[name] for name in names if name in producers} - {k} for k, names in enumerate(names_read)]
    order = topological_order(needs)
    placed = set(order)
    return order + [position for position in range(len(nodes)) if position not in placed]


def _names_read(node: NodeProto) -> list[str]:
    """Names that a node reads from its graph, including captures of its inner graphs."""
    names = list(node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            names += _names_captured(attribute.g)
    return names


def _names_captured(graph: GraphProto) -> list[str]:
    defined = {info.name for info in (*graph.input, *graph.initializer)}
    read = [info.name for info in graph.output]
    for node in graph.node:
        defined.update(node.output)
        read += _names_read(node)
    return [name for name in read if name not in defined]
