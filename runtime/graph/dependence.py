"""What depends on what in a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .records import Graph, Loop, Operation, Value, bodies, walk


def can_change(loop: Loop) -> bool:
    """True where something that differs between iterations reaches the condition.

    A carried value that is passed through unchanged counts as the same in every iteration.
    """
    if loop.condition is None:
        return False
    varying: set[Value] = {edge.param for edge in loop.back_edges if edge.result is not edge.param}
    varying.update(sliced.inner for sliced in loop.sliced_inputs)
    if loop.iteration is not None:
        varying.add(loop.iteration)
    _spread(loop.body, varying)
    return loop.condition in varying


def runs_to_its_count(loop: Loop) -> bool:
    """True where the number of iterations is known when the loop is entered."""
    bounded = loop.trip_count is not None or loop.counted_by_slices or loop.fixed_trips is not None
    return bounded and not can_change(loop)


def _spread(graph: Graph, varying: set[Value]) -> None:
    """Add to ``varying`` whatever is computed from it; an operator without inputs may be random, and counts."""
    for node in graph.nodes:
        hit = any(value in varying for value in node.inputs)
        for _, inner in bodies(node):
            if isinstance(node, Loop):
                # Inside an inner loop nearly everything varies; what leaves it depends on what enters it.
                varying.update(i.inner for i in node.invariants if i.outer in varying)
            _spread(inner, varying)
            captured = {value for n in walk(inner) for value in n.inputs if value is not None}
            hit = hit or bool(captured & varying) or any(value in varying for value in inner.outputs)
        random = isinstance(node, Operation) and node.op_type.startswith(("Random", "Bernoulli", "Multinomial"))
        if hit or random:
            varying.update(value for value in node.outputs if value is not None)


def made_in(loop: Loop) -> Iterator[Value]:
    """The body's parameters: what it gets anew in every iteration, and invariant inputs."""
    yield from (edge.param for edge in loop.back_edges)
    yield from (sliced.inner for sliced in loop.sliced_inputs)
    yield from (value for value in (loop.iteration, loop.condition_input) if value is not None)
    yield from loop.body.inputs


def ports(loop: Loop) -> Iterator[Value | None]:
    """What a loop reads around it, and what it takes from its body."""
    yield from (loop.trip_count, loop.initial_condition, loop.condition, loop.ignored_condition)
    for edge in loop.back_edges:
        yield edge.initial if isinstance(edge.initial, Value) else edge.initial.outer
        yield edge.result
    yield from (sliced.outer for sliced in loop.sliced_inputs)
    yield from (invariant.outer for invariant in loop.invariants)
    yield from (last.result for last in loop.last_values)
    yield from (scan.result for scan in loop.scan_outputs)


def uses(loop: Loop) -> Counter[Value]:
    """How often each value is used in a loop's body, by its ports and in the graphs inside."""
    found: Counter[Value] = Counter(value for value in ports(loop) if value is not None)
    found.update(loop.body.outputs)
    for node in walk(loop.body):
        found.update({value for value in node.inputs if value is not None})
        if isinstance(node, Loop):
            found.update(value for value in ports(node) if value is not None)
        for _, inner in bodies(node):
            found.update(inner.outputs)
    return found
