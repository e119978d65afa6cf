"""Topological order of nodes, which the specification requires of files but not all tools produce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...graph.topological_order import topological_order as positions
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
    if all(producers.get(name, -1) < k for k, node in enumerate(nodes) for name in _names_read(node)):
        return list(range(len(nodes)))
    needs = [{producers[name] for name in _names_read(node) if name in producers} - {k} for k, node in enumerate(nodes)]
    order = positions(needs)
    placed = set(order)
    return order + [position for position in range(len(nodes)) if position not in placed]


def _names_read(node: NodeProto) -> Iterator[str]:
    """Names that a node reads from its graph, including captures of its inner graphs."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from _names_captured(attribute.g)


def _names_captured(graph: GraphProto) -> Iterator[str]:
    defined = {*_names(graph.input), *_names(graph.initializer), *(name for node in graph.node for name in node.output)}
    for node in graph.node:
        yield from (name for name in _names_read(node) if name not in defined)
    yield from (info.name for info in graph.output if info.name not in defined)


def _names(infos: Iterable[object]) -> Iterator[str]:
    return (str(getattr(info, "name", "")) for info in infos)
