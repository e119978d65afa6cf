"""Whether it is known when a loop is entered how often it will run."""

from __future__ import annotations

from ..graph import Graph, Loop, System, Value, bodies, captured_values
from ..ops.registry import is_random


def condition_can_change(loop: Loop) -> bool:
    """True where something that differs between iterations reaches the condition.

    A carried value that is passed through unchanged counts as the same in every iteration.
    """
    if loop.condition is None:
        return False
    varying: set[Value] = {edge.param for edge in loop.back_edges if edge.result is not edge.param}
    varying.update(sliced.inner for sliced in loop.sliced_inputs)
    if loop.iteration is not None:
        varying.add(loop.iteration)
    _propagate(loop.body, loop.system, varying)
    return loop.condition in varying


def has_known_trip_count(loop: Loop) -> bool:
    """True where the number of iterations is known when the loop is entered."""
    bounded = loop.trip_count is not None or loop.counted_by_slices or loop.fixed_trips is not None
    return bounded and loop.condition_node_count is None and not condition_can_change(loop)


def _propagate(graph: Graph, system: System, varying: set[Value]) -> None:
    """Add to ``varying`` whatever is computed from it; what is random counts."""
    for node in graph.nodes:
        hit = any(value in varying for value in node.inputs)
        for _, inner in bodies(node):
            if isinstance(node, Loop):
                # Inside an inner loop nearly everything varies; what leaves it depends on what enters it.
                varying.update(i.inner for i in node.invariants if i.outer in varying)
            _propagate(inner, system, varying)
            hit = hit or any(value in varying for value in (*captured_values(inner), *inner.outputs))
        if hit or is_random(node, system):
            varying.update(value for value in node.outputs if value is not None)
