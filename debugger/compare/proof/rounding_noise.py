"""Moves numbers to neighbouring ones, as other rounding does: in an array, or in what the loops of a graph carry."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....runtime.graph import Array, BackEdge, Graph, Loop, Node, TensorType, Value
from ....runtime.ops.registry import ResolvedOperation, ResolvedOperator
from ..running.graph_rewriting import rewritten_copy
from ..running.value_comparison import dtype_kind


def is_float_tensor(data: Any) -> bool:
    """Whether data is a tensor of floats."""
    return isinstance(data, np.ndarray) and bool(data.size) and dtype_kind(data.dtype) == "f"


def move(data: Array, steps: Any) -> Array:
    """Move each element by some units in the last place, away from zero where positive; zeros and numbers that are not
    finite stay."""
    bits: Array = np.ascontiguousarray(data).view(f"i{data.dtype.itemsize}")
    moved: Array = (bits + np.asarray(steps, bits.dtype)).view(data.dtype).reshape(data.shape)
    with np.errstate(all="ignore"):  # the neighbour of the largest number is infinite
        numbers, neighbours = data.astype(np.float64), moved.astype(np.float64)
    stays = (numbers == 0) | ~np.isfinite(numbers) | ~np.isfinite(neighbours)
    return np.where(stays, data, moved)


def random_steps(generator: np.random.Generator, data: Array, units: int = 1) -> Array:
    """For each element a random number of units in the last place."""
    return generator.integers(-units, units + 1, data.shape)


def with_moved_loop_values(
    graph: Graph, seed: int, units: int = 1, only: tuple[Loop, int] | None = None
) -> Graph | None:
    """A copy of a graph, for one run, whose loops carry floats moved by up to some units in the last place, at random.

    Args:
        graph: the graph.
        seed: of the random numbers.
        units: the most units in the last place.
        only: a loop that runs once and the iteration before which its values are moved; otherwise those of all loops
            are moved in each iteration.

    Returns:
        The copy; None if no such loop carries floats.
    """
    mover = _LoopValueMover(np.random.default_rng(seed), units, only)
    new = rewritten_copy(graph, mover.rewrite)
    return new if mover.count else None


class _LoopValueMover:
    """Rewrites loops; ``count``: the carried values that are moved."""

    def __init__(self, generator: np.random.Generator, units: int, only: tuple[Loop, int] | None) -> None:
        self._generator, self._units, self._only = generator, units, only
        self.count = 0

    def rewrite(self, graph: Graph, node: Node, copied: Node) -> list[Node]:
        """A node; a loop carries the moved values."""
        if isinstance(node, Loop) and isinstance(copied, Loop) and (self._only is None or node is self._only[0]):
            edges = {edge: self._edge(edge, copied.body) for edge in node.back_edges}
            copied.back_edges = list(edges.values())
            copied.last_values = [copy.copy(last) for last in node.last_values]
            for last in copied.last_values:
                edge = node.back_edge_for(last)
                last.edge = None if edge is None else edges[edge]
        return [copied]

    def _edge(self, edge: BackEdge, body: Graph) -> BackEdge:
        kind = edge.param.type
        if isinstance(kind, TensorType) and kind.dtype is not None and dtype_kind(kind.dtype) != "f":
            return edge
        self.count += 1
        moved = Value(f"{edge.result.name}_moved", edge.result.type)
        operator = ResolvedOperator(self._function(), {}, native=False, pure=False)
        body.nodes = [
            *body.nodes,
            ResolvedOperation(moved.name, "Move", "", 1, [edge.result], [moved], {}, op=operator),
        ]
        body.outputs = [*body.outputs, moved]
        return BackEdge(edge.initial, edge.param, moved)

    def _function(self) -> Callable[[Any, Any], Any]:
        iterations = itertools.count(1)

        def moved(p: Any, data: Any) -> Any:
            iteration = next(iterations)
            moves = self._only is None or iteration == self._only[1]
            return (
                move(data, random_steps(self._generator, data, self._units))
                if moves and is_float_tensor(data)
                else data
            )

        return moved
