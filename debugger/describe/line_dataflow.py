"""Who reads whom among the lines of pseudo-code, and where each back edge leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...runtime.graph import BackEdge, If, Invariant, LastValueOutput, Loop, Node, ScanOutput, SlicedInput, Value
from .pseudo_code import LineKind, Port, PseudoCode, PseudoCodeLine

#: Lines of a body in which the condition of its loop is tested.
_CONDITION_LINES = (LineKind.BREAK, LineKind.CONDITION)


@dataclass(frozen=True, eq=False)
class LineDataflow:
    """By line, as its index: the lines that make what it reads, and those that read what it makes. ``heads``: by line
    of a back edge, that of its loop, whose next iteration gets it."""

    producers: Sequence[tuple[int, ...]]
    readers: Sequence[tuple[int, ...]]
    loop_heads: Mapping[int, int]


@lru_cache(maxsize=4)
def line_dataflow(source: PseudoCode) -> LineDataflow:
    """The flow of a loop's lines, or of a model's."""
    made = _definitions(source)
    makers = [tuple(sorted(set(_producing_lines(source, line, made)) - {k})) for k, line in enumerate(source.lines)]
    readers: list[list[int]] = [[] for _ in makers]
    for k, found in enumerate(makers):
        for maker in found:
            readers[maker].append(k)
    return LineDataflow(makers, [tuple(found) for found in readers], _loop_heads(source))


def defining_line(
    source: PseudoCode, value: Value, iteration: int, read: Callable[[Value], tuple[bool, Any]]
) -> PseudoCodeLine | None:
    """The line that produced what a value holds in an iteration of its loop; None where no line does.

    A carried value holds its initial value in iteration 0 alone: later the node that its back edge comes from produced
    it, or where that is no node of the body the back edge itself. The output of an If comes from the branch that was
    taken. ``read``: whether a value can be read in that iteration, and what it is.
    """
    lines = _defining_lines(source, value)
    inside = [
        line
        for line in lines
        if line.kind in (LineKind.BACK_EDGE, LineKind.CONDITION) and _is_loop_parameter(line, value)
    ]
    if not inside:
        return _producing_line(source, value, read)
    if iteration == 0:
        return lines[0]
    line = inside[-1]
    edge = next((port for port in line.ports if isinstance(port, BackEdge) and port.param is value), None)
    computed = edge is not None and any(edge.result in node.outputs for node in _body_nodes(line))
    return _producing_line(source, edge.result, read) if edge is not None and computed else line


def _producing_line(
    source: PseudoCode, value: Value, read: Callable[[Value], tuple[bool, Any]]
) -> PseudoCodeLine | None:
    lines = _defining_lines(source, value)
    taken = next((line for line in lines if line.kind is LineKind.RESULT and _is_taken(line, read)), None)
    if taken is not None:
        found = [line for given in _branch_results(source, taken) for line in _defining_lines(source, given)]
        return next((line for line in found if line.branches == taken.branches), taken)
    # What a loop gives is produced by the line behind it, or inside of it, not by its head.
    return next((line for line in lines if line.kind is not LineKind.LOOP), next(iter(lines), None))


def readers_of(source: PseudoCode, value: Value) -> list[PseudoCodeLine]:
    """The lines that read a value."""
    readers = {k for maker in _definitions(source).get(value, ()) for k in line_dataflow(source).readers[maker]}
    return [line for k in sorted(readers) if value in _values_read(source, line := source.lines[k])]


@lru_cache(maxsize=4)
def _definitions(source: PseudoCode) -> Mapping[Value, Sequence[int]]:
    """By value, the indices of the lines that assign it."""
    found: dict[Value, list[int]] = {}
    for k, line in enumerate(source.lines):
        for value in line.values if line.kind is not LineKind.RETURN else ():
            found.setdefault(value, []).append(k)
    return found


def _defining_lines(source: PseudoCode, value: Value) -> list[PseudoCodeLine]:
    return [source.lines[k] for k in _definitions(source).get(value, ())]


def _is_loop_parameter(line: PseudoCodeLine, value: Value) -> bool:
    """Whether a line is in the body of the loop whose parameter the value is."""
    return line.loop is not None and value in (
        line.loop.condition_input,
        line.loop.condition,
        *(edge.param for edge in line.loop.back_edges),
    )


def _body_nodes(line: PseudoCodeLine) -> Sequence[Node]:
    return () if line.loop is None else line.loop.body.nodes


def _is_taken(line: PseudoCodeLine, read: Callable[[Value], tuple[bool, Any]]) -> bool:
    """Whether the branches around a line are those that ran, as far as their conditions can be read."""
    for condition, wanted in line.branches:
        there, value = read(condition)
        if not there or value.size != 1 or bool(value.reshape(-1)[0]) != wanted:
            return False
    return True


def _producing_lines(source: PseudoCode, line: PseudoCodeLine, made: Mapping[Value, Sequence[int]]) -> Iterator[int]:
    for value in _values_read(source, line):
        lines = made.get(value, []) if value is not None else []
        # What a loop gives is made by the line behind it, or inside of it, not by its head.
        exact = [k for k in lines if source.lines[k].kind is not LineKind.LOOP]
        yield from exact or lines


def _values_read(source: PseudoCode, line: PseudoCodeLine) -> Iterator[Value | None]:
    """The values that a line reads."""
    node = line.node
    if isinstance(node, Loop):
        yield from (node.trip_count, node.initial_condition)
        if not any(one.loop is node and one.kind in _CONDITION_LINES for one in source.lines):
            yield node.condition  # its head says it
        yield from (sliced.outer for sliced in node.sliced_inputs if node.counted_by_slices)
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
    """What a branch of an If gives as the output that a line names."""
    (output,) = line.values
    node = source.formatter.origins.producer(output)
    if isinstance(node, If) and line.branches:
        branch = node.then_branch if line.branches[-1][1] else node.else_branch
        yield branch.outputs[node.outputs.index(output)]


def _values_read_by_port(port: Port, line: PseudoCodeLine) -> Iterator[Value | None]:
    if isinstance(port, BackEdge):
        begins = port.initial.outer if isinstance(port.initial, SlicedInput) else port.initial
        yield begins if line.kind is LineKind.INITIAL else port.result
    elif isinstance(port, SlicedInput | Invariant):
        yield port.outer
    elif isinstance(port, ScanOutput):
        yield port.result
    elif isinstance(port, LastValueOutput):
        yield port.result if port.edge is None else port.edge.param


def _loop_heads(source: PseudoCode) -> dict[int, int]:
    heads = {line.node: k for k, line in enumerate(source.lines) if line.kind is LineKind.LOOP}
    return {
        k: heads[line.loop]
        for k, line in enumerate(source.lines)
        if line.kind is LineKind.BACK_EDGE and line.loop in heads
    }
