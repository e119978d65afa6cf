"""What depends on what in a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .loop_graph import Loop, SlicedInput, System, Value, bodies, captured_values, walk


def body_parameters(loop: Loop) -> Iterator[Value]:
    """The body's parameters: what it gets anew in every iteration, and invariant inputs."""
    yield from (edge.param for edge in loop.back_edges)
    yield from (sliced.inner for sliced in loop.sliced_inputs)
    yield from (value for value in (loop.iteration, loop.condition_input) if value is not None)
    yield from loop.body.inputs


def port_values(loop: Loop) -> Iterator[Value | None]:
    """What a loop reads around it, and what it takes from its body."""
    yield from (loop.trip_count, loop.initial_condition, loop.condition, loop.ignored_condition)
    for edge in loop.back_edges:
        yield edge.initial if isinstance(edge.initial, Value) else edge.initial.outer
        yield edge.result
    yield from (sliced.outer for sliced in loop.sliced_inputs)
    yield from (invariant.outer for invariant in loop.invariants)
    yield from (last.result for last in loop.last_values)
    yield from (scan.result for scan in loop.scan_outputs)
    yield from (scan.length for scan in loop.scan_outputs)


def condition_values(loop: Loop) -> set[Value]:
    """What is computed before an iteration to decide whether it runs."""
    found: set[Value] = set()
    for node in loop.body.nodes[: loop.condition_node_count or 0]:
        found.update(value for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            found.update(value for one in walk(inner) for value in one.outputs if value is not None)
    return found


def use_counts(loop: Loop) -> Counter[Value]:
    """How often each value is used in a loop's body, by its ports and in the graphs inside."""
    found: Counter[Value] = Counter(value for value in port_values(loop) if value is not None)
    found.update(loop.body.outputs)
    for node in walk(loop.body):
        found.update({value for value in node.inputs if value is not None})
        if isinstance(node, Loop):
            found.update(value for value in port_values(node) if value is not None)
        for _, inner in bodies(node):
            found.update(inner.outputs)
    return found


def trailing_iterations_without_part(loop: Loop, sliced: SlicedInput) -> int | None:
    """How many of the last iterations need no part of a sliced input: what they make of it would go into iterations
    that never run. None: no iteration needs any; 0 also where it is not known.

    Only of loops of TensorRT, whose sequences are evaluated as needed, that run as often as their trip count says, from
    the first part on, and have no loop inside.
    """
    whole = loop.condition is None and sliced.stride > 0 and not any(isinstance(node, Loop) for node in walk(loop.body))
    if loop.system is not System.TENSORRT or not whole:
        return 0
    late: dict[Value, int] = {}
    following = {edge.param: edge.result for edge in loop.back_edges}
    makers = {value: node for node in loop.body.nodes for value in node.outputs if value is not None}
    waiting = [(scan.result, 0) for scan in loop.scan_outputs]
    waiting += [(last.result if last.edge is None else last.edge.result, 0) for last in loop.last_values]
    while waiting:
        value, depth = waiting.pop()
        if late.get(value, depth + 1) <= depth:
            continue
        late[value] = depth
        node = makers.get(value)
        if value in following:
            waiting.append((following[value], depth + 1))
        elif node is not None:
            waiting += [(one, depth) for one in node.inputs if one is not None]
            waiting += [(one, depth) for _, body in bodies(node) for one in captured_values(body)]
    return late.get(sliced.inner)
