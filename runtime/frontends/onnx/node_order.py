"""Nodes in an order in which they can run: the specification demands it of files, and not all tools keep to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...graph.topological_order import topological_order as positions
from .proto import AttributeProto, GraphProto, NodeProto


def topological_node_order(nodes: Sequence[NodeProto]) -> list[int]:
    """Positions in an order in which the nodes of a graph can run: as written as far as that goes.

    Nodes that need each other in a circle keep their places among themselves, at the end.
    """
    makers: dict[str, int] = {}
    for position, node in enumerate(nodes):
        for name in node.output:
            makers.setdefault(name, position)
    makers.pop("", None)
    # Of a file in order nothing more is asked than whether it is.
    if all(makers.get(name, -1) < k for k, node in enumerate(nodes) for name in _names_read(node)):
        return list(range(len(nodes)))
    needs = [{makers[name] for name in _names_read(node) if name in makers} - {k} for k, node in enumerate(nodes)]
    order = positions(needs)
    placed = set(order)
    return order + [position for position in range(len(nodes)) if position not in placed]


def _names_read(node: NodeProto) -> Iterator[str]:
    """Names that a node takes from its graph, those that the graphs inside it take included."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from _names_captured(attribute.g)


def _names_captured(graph: GraphProto) -> Iterator[str]:
    own = {*_names(graph.input), *_names(graph.initializer), *(name for node in graph.node for name in node.output)}
    for node in graph.node:
        yield from (name for name in _names_read(node) if name not in own)
    yield from (info.name for info in graph.output if info.name not in own)


def _names(infos: Iterable[object]) -> Iterator[str]:
    return (str(getattr(info, "name", "")) for info in infos)
