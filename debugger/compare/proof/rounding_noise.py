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


def random_ulp_steps(generator: np.random.Generator, data: Array, units: int = 1) -> Array:
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
        only: a loop that runs once and the iteration before which its values are moved (0: the initial ones);
            otherwise those of all loops are moved in each iteration.

    Returns:
        The copy; None if no such loop carries floats.
    """
    generator, count = np.random.default_rng(seed), 0

    def mover() -> Callable[[Any, Any], Any]:
        iterations = itertools.count(1)

        def moved(p: Any, data: Any) -> Any:
            iteration = next(iterations)
            moves = (only is None or iteration == max(only[1], 1)) and is_float_tensor(data)
            return move(data, random_ulp_steps(generator, data, units)) if moves else data

        return moved

    def add_move(value: Value, nodes: list[Node]) -> Value:
        nonlocal count
        count += 1
        result = Value(f"{value.name}_moved", value.type)
        operator = ResolvedOperator(mover(), {}, native=False, pure=False)
        nodes.append(ResolvedOperation(result.name, "Move", "", 1, [value], [result], {}, op=operator))
        return result

    def moved_edge(edge: BackEdge, copied: Loop, before: list[Node]) -> BackEdge:
        kind = edge.param.type
        if isinstance(kind, TensorType) and kind.dtype is not None and dtype_kind(kind.dtype) != "f":
            return edge
        if only is None or only[1] > 0:
            result = add_move(edge.result, copied.body.nodes)
            copied.body.outputs = [*copied.body.outputs, result]
            return BackEdge(edge.initial, edge.param, result)
        if not isinstance(edge.initial, Value):
            return edge
        initial = add_move(edge.initial, before)
        copied.inputs = [*copied.inputs, initial]
        return BackEdge(initial, edge.param, edge.result)

    def move_carried(graph: Graph, node: Node, copied: Node) -> list[Node]:
        before: list[Node] = []
        if isinstance(node, Loop) and isinstance(copied, Loop) and (only is None or node is only[0]):
            edges = {edge: moved_edge(edge, copied, before) for edge in node.back_edges}
            copied.back_edges = list(edges.values())
            copied.last_values = [copy.copy(last) for last in node.last_values]
            for last in copied.last_values:
                edge = node.back_edge_for(last)
                last.edge = None if edge is None else edges[edge]
        return [*before, copied]

    new = rewritten_copy(graph, move_carried)
    return new if count else None
