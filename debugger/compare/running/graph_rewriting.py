"""Copies of a graph in which other nodes take the place of some."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from ....runtime.graph import Graph, If, Loop, Node, bodies

#: The nodes in the place of a node, given the copied graph, the node, and its copy.
NodeRewrite = Callable[[Graph, Node, Node], Sequence[Node]]


def rewritten_copy(graph: Graph, rewrite: NodeRewrite) -> Graph:
    """A copy of a graph and of the graphs inside it, which are rewritten first; values are shared."""
    new = copy.copy(graph)
    new.nodes, new.constants, new.expanded_from = [], list(graph.constants), {}
    for node in graph.nodes:
        copied = copy.copy(node)
        if isinstance(copied, If):
            copied.then_branch, copied.else_branch = (rewritten_copy(inner, rewrite) for _, inner in bodies(node))
        elif isinstance(copied, Loop):
            copied.body = rewritten_copy(copied.body, rewrite)
        if node in graph.expanded_from:
            new.expanded_from[copied] = graph.expanded_from[node]
        new.nodes += rewrite(new, node, copied)
    return new
