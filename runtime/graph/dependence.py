"""Data dependences in a loop."""

from __future__ import annotations

from collections.abc import Iterator

from .loop_graph import Loop, SlicedInput, System, Value, bodies, captured_values, walk


def body_parameters(loop: Loop) -> Iterator[Value]:
    """The body's parameters: the values set in every iteration, and invariant inputs."""
    yield from (edge.param for edge in loop.back_edges)
    yield from (sliced.inner for sliced in loop.sliced_inputs)
    yield from (value for value in (loop.iteration, loop.condition_input) if value is not None)
    yield from loop.body.inputs


def port_values(loop: Loop) -> Iterator[Value | None]:
    """The outer values that a loop reads, and the body results that it uses."""
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
    """The values computed before an iteration to decide whether it runs."""
    values: set[Value] = set()
    for node in loop.body.nodes[: loop.condition_node_count or 0]:
        values.update(value for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            values.update(value for inner_node in walk(inner) for value in inner_node.outputs if value is not None)
    return values


def trailing_iterations_without_part(loop: Loop, sliced: SlicedInput) -> int | None:
    """The number of last iterations that need no part of a sliced input, as only later iterations, which never run,
    would use their results. None: no iteration needs a part; 0 also where it is unknown.

    Only for TensorRT loops (lazy sequences) without inner loops that run exactly ``trip_count`` times, from the first
    part on.
    """
    flat = loop.condition is None and sliced.stride > 0 and not any(isinstance(node, Loop) for node in walk(loop.body))
    if loop.system is not System.TENSORRT or not flat:
        return 0
    trailing: dict[Value, int] = {}
    results = {edge.param: edge.result for edge in loop.back_edges}
    producers = {value: node for node in loop.body.nodes for value in node.outputs if value is not None}
    worklist = [(scan.result, 0) for scan in loop.scan_outputs]
    worklist += [(last.result if last.edge is None else last.edge.result, 0) for last in loop.last_values]
    while worklist:
        value, depth = worklist.pop()
        if trailing.get(value, depth + 1) <= depth:
            continue
        trailing[value] = depth
        node = producers.get(value)
        if value in results:
            worklist.append((results[value], depth + 1))
        elif node is not None:
            worklist += [(source, depth) for source in node.inputs if source is not None]
            worklist += [(source, depth) for _, body in bodies(node) for source in captured_values(body)]
    return trailing.get(sliced.inner)
