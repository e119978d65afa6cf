"""Data flow between the lines of pseudo-code, and the targets of back edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...runtime.graph import BackEdge, If, Invariant, LastValueOutput, Loop, Node, ScanOutput, SlicedInput, Value
from .pseudo_code import LineKind, Port, PseudoCode, PseudoCodeLine

#: Kinds of body lines that read the condition of the loop.
_CONDITION_LINES = (LineKind.BREAK, LineKind.CONDITION)


@dataclass(frozen=True, eq=False)
class LineDataflow:
    """By line index: the lines that produce its inputs, and those that read its outputs. ``loop_heads``: line of a back
    edge -> head of its loop, whose next iteration gets the value."""

    producers: Sequence[tuple[int, ...]]
    readers: Sequence[tuple[int, ...]]
    loop_heads: Mapping[int, int]


@lru_cache(maxsize=4)
def line_dataflow(source: PseudoCode) -> LineDataflow:
    """The data flow of the lines of a loop or a model."""
    table = _defining_lines_by_value(source)
    producers = [
        tuple(sorted(set(_producing_line_indices(source, line, table)) - {k})) for k, line in enumerate(source.lines)
    ]
    readers: list[list[int]] = [[] for _ in producers]
    for k, lines in enumerate(producers):
        for producer in lines:
            readers[producer].append(k)
    return LineDataflow(producers, [tuple(lines) for lines in readers], _back_edge_loop_heads(source))


def defining_line(
    source: PseudoCode, value: Value, iteration: int, read: Callable[[Value], tuple[bool, Any]]
) -> PseudoCodeLine | None:
    """The line that produced a value in an iteration of its loop; None if there is none.

    A carried value has its initial value only in iteration 0: later it comes from the source node of its back edge, or
    from the back edge itself if the source is no node of the body. The output of an If comes from the taken branch.
    ``read``: returns whether a value can be read in that iteration, and the value.
    """
    lines = _defining_lines(source, value)
    edge_lines = [
        line
        for line in lines
        if line.kind in (LineKind.BACK_EDGE, LineKind.CONDITION) and _is_loop_parameter(line, value)
    ]
    if not edge_lines:
        return _producing_line(source, value, read)
    if iteration == 0:
        return lines[0]
    line = edge_lines[-1]
    edge = next((port for port in line.ports if isinstance(port, BackEdge) and port.param is value), None)
    computed = edge is not None and any(edge.result in node.outputs for node in _body_nodes(line))
    return _producing_line(source, edge.result, read) if edge is not None and computed else line


def _producing_line(
    source: PseudoCode, value: Value, read: Callable[[Value], tuple[bool, Any]]
) -> PseudoCodeLine | None:
    lines = _defining_lines(source, value)
    chosen = next((line for line in lines if line.kind is LineKind.RESULT and _is_branch_taken(line, read)), None)
    if chosen is not None:
        matches = [line for result in _branch_results(source, chosen) for line in _defining_lines(source, result)]
        return next((line for line in matches if line.branches == chosen.branches), chosen)
    # Outputs of a loop come from a line after or inside it, not from its head.
    return next((line for line in lines if line.kind is not LineKind.LOOP), next(iter(lines), None))


def readers_of(source: PseudoCode, value: Value) -> list[PseudoCodeLine]:
    """The lines that read a value."""
    readers = {
        k
        for producer in _defining_lines_by_value(source).get(value, ())
        for k in line_dataflow(source).readers[producer]
    }
    return [line for k in sorted(readers) if value in _values_read_by_line(source, line := source.lines[k])]


@lru_cache(maxsize=4)
def _defining_lines_by_value(source: PseudoCode) -> Mapping[Value, Sequence[int]]:
    """Value -> indices of the lines that assign it."""
    definitions: dict[Value, list[int]] = {}
    for k, line in enumerate(source.lines):
        for value in line.values if line.kind is not LineKind.RETURN else ():
            definitions.setdefault(value, []).append(k)
    return definitions


def _defining_lines(source: PseudoCode, value: Value) -> list[PseudoCodeLine]:
    return [source.lines[k] for k in _defining_lines_by_value(source).get(value, ())]


def _is_loop_parameter(line: PseudoCodeLine, value: Value) -> bool:
    """Whether the value is a parameter of the line's loop."""
    return line.loop is not None and value in (
        line.loop.condition_input,
        line.loop.condition,
        *(edge.param for edge in line.loop.back_edges),
    )


def _body_nodes(line: PseudoCodeLine) -> Sequence[Node]:
    return () if line.loop is None else line.loop.body.nodes


def _is_branch_taken(line: PseudoCodeLine, read: Callable[[Value], tuple[bool, Any]]) -> bool:
    """Whether the branches that contain a line were taken, as far as their conditions can be read."""
    for condition, required in line.branches:
        is_present, value = read(condition)
        if not is_present or value.size != 1 or bool(value.reshape(-1)[0]) != required:
            return False
    return True


def _producing_line_indices(
    source: PseudoCode, line: PseudoCodeLine, table: Mapping[Value, Sequence[int]]
) -> Iterator[int]:
    for value in _values_read_by_line(source, line):
        lines = table.get(value, []) if value is not None else []
        # Outputs of a loop come from a line after or inside it, not from its head.
        exact = [k for k in lines if source.lines[k].kind is not LineKind.LOOP]
        yield from exact or lines


def _values_read_by_line(source: PseudoCode, line: PseudoCodeLine) -> Iterator[Value | None]:
    """The values that a line reads."""
    node = line.node
    if isinstance(node, Loop):
        yield from (node.trip_count, node.initial_condition)
        if not any(body_line.loop is node and body_line.kind in _CONDITION_LINES for body_line in source.lines):
            yield node.condition  # shown in the head
        yield from (port.outer for port in node.sliced_inputs if node.counted_by_slices)
    elif isinstance(node, If):
        yield node.inputs[0]
    elif node is not None:
        yield from node.inputs
    elif line.kind is LineKind.RETURN:
        yield from line.values
    elif line.kind is LineKind.RESULT:
        yield from _branch_results(source, line)
    elif line.kind in _CONDITION_LINES and line.loop is not None:
        yield line.loop.condition
    for port in line.ports:
        yield from _values_read_by_port(port, line)


def _branch_results(source: PseudoCode, line: PseudoCodeLine) -> Iterator[Value]:
    """The result of a branch of an If for the output that a line assigns."""
    (output,) = line.values
    node = source.formatter.origins.get(output)
    if isinstance(node, If) and line.branches:
        branch = node.then_branch if line.branches[-1][1] else node.else_branch
        yield branch.outputs[node.outputs.index(output)]


def _values_read_by_port(port: Port, line: PseudoCodeLine) -> Iterator[Value | None]:
    if isinstance(port, BackEdge):
        initial = port.initial.outer if isinstance(port.initial, SlicedInput) else port.initial
        yield initial if line.kind is LineKind.INITIAL else port.result
    elif isinstance(port, SlicedInput | Invariant):
        yield port.outer
    elif isinstance(port, ScanOutput):
        yield port.result
    elif isinstance(port, LastValueOutput):
        yield port.result if port.edge is None else port.edge.param


def _back_edge_loop_heads(source: PseudoCode) -> dict[int, int]:
    heads = {line.node: k for k, line in enumerate(source.lines) if line.kind is LineKind.LOOP}
    return {
        k: heads[line.loop]
        for k, line in enumerate(source.lines)
        if line.kind is LineKind.BACK_EDGE and line.loop in heads
    }
