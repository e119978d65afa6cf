"""Substitutes recorded values for those that a model computes, in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....runtime.graph import Graph, Node, Value
from ....runtime.ops.registry import ResolvedOperation, ResolvedOperator
from ..running.graph_rewriting import rewritten_copy


def with_substituted_value(graph: Graph, value: Value, rows: Sequence[Any]) -> Graph | None:
    """A copy of a graph, for one run, in which a node's result is replaced.

    Args:
        graph: the main graph.
        value: the result of a node, in any body.
        rows: the values in the order of execution; None, or the end of the rows, leaves what is computed.

    Returns:
        The copy; None if no node computes the value.
    """
    recorded = iter(rows)
    is_done = False

    def next_row(p: Any, computed: Any) -> Any:
        row = next(recorded, None)
        if not isinstance(row, np.ndarray | np.generic) or not isinstance(computed, np.ndarray):
            return computed
        fits = row.size == computed.size and row.dtype == computed.dtype
        return np.asarray(row).reshape(computed.shape) if fits else computed

    def substitute(graph: Graph, node: Node, copied: Node) -> list[Node]:
        nonlocal is_done
        if value not in node.outputs:
            return [copied]
        is_done = True
        computed = Value(f"{value.name}_computed", value.type)
        copied.outputs = [computed if item is value else item for item in node.outputs]
        operator = ResolvedOperator(next_row, {}, native=False, pure=False)
        name = f"{value.name}_recorded"
        return [copied, ResolvedOperation(name, "Recorded", "", 1, [computed], [value], {}, op=operator)]

    new = rewritten_copy(graph, substitute)
    return new if is_done else None
