"""Analysis whether a loop's trip count is known on entry."""

from __future__ import annotations

from ..graph import Graph, Loop, System, Value, bodies, captured_values
from ..ops.registry import is_random


def condition_can_change(loop: Loop) -> bool:
    """True if the condition depends on a value that varies between iterations.

    A carried value that is passed through unchanged is invariant.
    """
    if loop.condition is None:
        return False
    varying: set[Value] = {edge.param for edge in loop.back_edges if edge.result is not edge.param}
    varying.update(sliced.inner for sliced in loop.sliced_inputs)
    if loop.iteration is not None:
        varying.add(loop.iteration)
    _propagate_varying(loop.body, loop.system, varying)
    return loop.condition in varying


def has_known_trip_count(loop: Loop) -> bool:
    """True if the number of iterations is known on entry."""
    bounded = loop.trip_count is not None or loop.counted_by_slices or loop.fixed_trips is not None
    return bounded and loop.condition_node_count is None and not condition_can_change(loop)


def _propagate_varying(graph: Graph, system: System, varying: set[Value]) -> None:
    """Add all values computed from ``varying``, and random ones, to it."""
    for node in graph.nodes:
        varies = not varying.isdisjoint(node.inputs)
        for _, inner in bodies(node):
            if isinstance(node, Loop):
                # Most values inside an inner loop vary; its outputs depend on its inputs.
                varying.update(i.inner for i in node.invariants if i.outer in varying)
            _propagate_varying(inner, system, varying)
            varies = varies or not varying.isdisjoint((*captured_values(inner), *inner.outputs))
        if varies or is_random(node, system):
            varying.update(filter(None, node.outputs))
