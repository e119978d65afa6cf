"""Who reads whom among the lines of pseudo-code, and where each back edge leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...runtime.graph import BackEdge, If, Invariant, LastValueOutput, Loop, ScanOutput, SlicedInput, Value
from .source import Line, LineKind, Port, Source

#: Lines of a body in which the condition of its loop is tested.
_TESTS = (LineKind.BREAK, LineKind.CONDITION)


@dataclass(frozen=True, eq=False)
class Flow:
    """By line, as its index: the lines that make what it reads, and those that read what it makes. ``heads``: by line
    of a back edge, that of its loop, whose next iteration gets it."""

    makers: Sequence[tuple[int, ...]]
    readers: Sequence[tuple[int, ...]]
    heads: Mapping[int, int]


@lru_cache(maxsize=4)
def flow_of(source: Source) -> Flow:
    """The flow of a loop's lines, or of a model's."""
    made: dict[Value, list[int]] = {}
    for k, line in enumerate(source.lines):
        for value in line.values if line.kind is not LineKind.RETURN else ():
            made.setdefault(value, []).append(k)
    makers = [tuple(sorted(set(_makers(source, line, made)) - {k})) for k, line in enumerate(source.lines)]
    readers: list[list[int]] = [[] for _ in makers]
    for k, found in enumerate(makers):
        for maker in found:
            readers[maker].append(k)
    return Flow(makers, [tuple(found) for found in readers], _heads(source))


def _makers(source: Source, line: Line, made: Mapping[Value, list[int]]) -> Iterator[int]:
    for value in _reads(source, line):
        lines = made.get(value, []) if value is not None else []
        # What a loop gives is made by the line behind it, or inside of it, not by its head.
        exact = [k for k in lines if source.lines[k].kind is not LineKind.LOOP]
        yield from exact or lines


def _reads(source: Source, line: Line) -> Iterator[Value | None]:
    """The values that a line reads."""
    node = line.node
    if isinstance(node, Loop):
        yield from (node.trip_count, node.initial_condition)
        if not any(one.loop is node and one.kind in _TESTS for one in source.lines):
            yield node.condition  # its head says it
        yield from (sliced.outer for sliced in node.sliced_inputs if node.counted_by_slices)
    elif isinstance(node, If):
        yield node.inputs[0]
    elif node is not None:
        yield from node.inputs
    elif line.kind is LineKind.RETURN:
        yield from line.values
    elif line.kind is LineKind.RESULT:
        yield from _given(source, line)
    elif line.kind in _TESTS and line.loop is not None:
        yield line.loop.condition
    for port in line.ports:
        yield from _read_by_port(port, line)


def _given(source: Source, line: Line) -> Iterator[Value]:
    """What a branch of an If gives as the output that a line names."""
    (output,) = line.values
    node = source.phrases.origins.maker(output)
    if isinstance(node, If) and line.branches:
        branch = node.then_branch if line.branches[-1][1] else node.else_branch
        yield branch.outputs[node.outputs.index(output)]


def _read_by_port(port: Port, line: Line) -> Iterator[Value | None]:
    if isinstance(port, BackEdge):
        begins = port.initial.outer if isinstance(port.initial, SlicedInput) else port.initial
        yield begins if line.kind is LineKind.INITIAL else port.result
    elif isinstance(port, SlicedInput | Invariant):
        yield port.outer
    elif isinstance(port, ScanOutput):
        yield port.result
    elif isinstance(port, LastValueOutput):
        yield port.result if port.edge is None else port.edge.param


def _heads(source: Source) -> dict[int, int]:
    heads = {line.node: k for k, line in enumerate(source.lines) if line.kind is LineKind.LOOP}
    return {
        k: heads[line.loop]
        for k, line in enumerate(source.lines)
        if line.kind is LineKind.BACK_EDGE and line.loop in heads
    }
