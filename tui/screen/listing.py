"""A body, or the main graph, as the lines of a program: made once for a graph, beside which states and values stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from ...debugger.words.names import quote, scan_names
from ...runtime.graph import Graph, If, Loop, bodies
from . import wording


class Kind(Enum):
    """What a line of a listing is."""

    HEAD = auto()
    #: A sliced input: the part that the iteration gets.
    SLICE = auto()
    NODE = auto()
    #: ``then:`` or ``else:``.
    BRANCH = auto()
    #: What the boundary does: back edges, scan outputs.
    BOUNDARY = auto()
    END = auto()
    NOTE = auto()
    BLANK = auto()


@dataclass(frozen=True)
class Item:
    """One line: ``left = right``, or ``left`` alone.

    ``node`` counts the nodes as ``Frame.nodes`` does, -1 for other lines. ``names``: the values that may stand beside.
    ``branches``: (name of the condition, then?) of every If around the line.
    """

    kind: Kind
    left: str
    right: str = ""
    comment: str = ""
    depth: int = 0
    node: int = -1
    names: tuple[str, ...] = ()
    branches: tuple[tuple[str, bool], ...] = ()


def listing(graph: Graph, loop: Loop | None, trip_count: int | None = None) -> tuple[Item, ...]:
    """The lines of a loop's body (``graph`` is its body), or of the main graph where ``loop`` is None."""
    if loop is None:
        return tuple(_nodes(graph, 0, [0], ()))
    return (
        Item(Kind.HEAD, wording.head(loop, trip_count), comment=_head_comment(loop, trip_count)),
        *_slices(loop),
        *_nodes(graph, 1, [0], ()),
        *_boundary(loop, trip_count),
        Item(Kind.BLANK, ""),
        Item(Kind.END, f"ends: {wording.ends(loop, trip_count)}"),
        *(Item(Kind.NOTE, f"note: {note}") for note in loop.notes),
    )


def _head_comment(loop: Loop, trip_count: int | None) -> str:
    if loop.counted_by_slices and loop.sliced_inputs:
        sliced = loop.sliced_inputs[0]
        return f"as many as {quote(sliced.outer.name)} has parts along axis {sliced.axis}"
    return wording.kind(loop, trip_count)


def _slices(loop: Loop) -> Iterator[Item]:
    index = quote(loop.iteration.name) if loop.iteration is not None else "i"
    for sliced in loop.sliced_inputs:
        yield Item(
            Kind.SLICE,
            quote(sliced.inner.name),
            wording.slice_text(sliced, index),
            depth=1,
            names=(sliced.inner.name,),
        )


def _nodes(graph: Graph, depth: int, count: list[int], branches: tuple[tuple[str, bool], ...]) -> Iterator[Item]:
    for node in graph.nodes:
        names = tuple(v.name for v in node.outputs if v is not None)
        yield Item(
            Kind.NODE,
            wording.results(node),
            wording.call(node),
            depth=depth,
            node=count[0],
            names=names,
            branches=branches,
        )
        count[0] += 1
        if not isinstance(node, If):
            continue
        condition = node.inputs[0]
        for word, branch in bodies(node):
            inside = (*branches, ("" if condition is None else condition.name, word == "then"))
            yield Item(Kind.BRANCH, f"{word}:", depth=depth, branches=inside)
            yield from _nodes(branch, depth + 1, count, inside)


def _boundary(loop: Loop, trip_count: int | None) -> Iterator[Item]:
    if loop.back_edges:
        params = ", ".join(quote(e.param.name) for e in loop.back_edges)
        values = ", ".join(wording.operand(e.result) for e in loop.back_edges)
        yield Item(Kind.BOUNDARY, params, values, "back edges" if len(loop.back_edges) > 1 else "back edge", 1)
    for scan, name in zip(loop.scan_outputs, scan_names(loop), strict=True):
        yield Item(Kind.BOUNDARY, wording.scan_text(scan, name), comment="scan output", depth=1)
    if loop.condition is not None and wording.kind(loop, trip_count) == "do-while loop":
        yield Item(Kind.BOUNDARY, f"while {quote(loop.condition.name)}", depth=0)
