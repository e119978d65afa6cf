"""Substitutes recorded values for those that a model computes, in every iteration."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....runtime.graph import Graph, If, Loop, Node, Value
from ....runtime.ops.registry import ResolvedOperation, ResolvedOperator


def with_substituted_value(graph: Graph, value: Value, rows: Sequence[Any]) -> Graph | None:
    """A copy of a graph, for one run, in which a node's result is replaced.

    Args:
        graph: the main graph.
        value: the result of a node, in any body.
        rows: the values in the order of execution; None, or the end of the rows, leaves what is computed.

    Returns:
        The copy; None if no node computes the value.
    """
    substitution = _Substitution(value, rows)
    new = substitution.graph(graph)
    return new if substitution.is_done else None


class _Substitution:
    """Copies the graphs on the way to the node."""

    def __init__(self, value: Value, rows: Sequence[Any]) -> None:
        self._value, self._rows = value, iter(rows)
        self.is_done = False

    def graph(self, graph: Graph) -> Graph:
        """A copy of a graph; values are shared."""
        new = copy.copy(graph)
        new.nodes = [copied for node in graph.nodes for copied in self._nodes(node)]
        return new

    def _nodes(self, node: Node) -> list[Node]:
        if self._value in node.outputs:
            self.is_done = True
            computed = Value(f"{self._value.name}_computed", self._value.type)
            producer = copy.copy(node)
            producer.outputs = [computed if value is self._value else value for value in node.outputs]
            operator = ResolvedOperator(self._next_row, {}, native=False, pure=False)
            name = f"{self._value.name}_recorded"
            return [producer, ResolvedOperation(name, "Recorded", "", 1, [computed], [self._value], {}, op=operator)]
        if isinstance(node, If):
            branch = copy.copy(node)
            branch.then_branch, branch.else_branch = self.graph(node.then_branch), self.graph(node.else_branch)
            return [branch]
        if isinstance(node, Loop):
            loop = copy.copy(node)
            loop.body = self.graph(node.body)
            return [loop]
        return [node]

    def _next_row(self, p: Any, computed: Any) -> Any:
        row = next(self._rows, None)
        if not isinstance(row, np.ndarray | np.generic) or not isinstance(computed, np.ndarray):
            return computed
        fits = row.size == computed.size and row.dtype == computed.dtype
        return np.asarray(row).reshape(computed.shape) if fits else computed
