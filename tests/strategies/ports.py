"""Where the values of a program are read: each place with what else could be read there, and what names say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .programs import AnyNode, Body, Branch, Loop, Node, Program, Value, outputs_of


@dataclass
class Port:
    """One place that reads a value. ``kind``: edge, initial value, back edge, slice, condition, initial condition,
    trip count, scan, output.

    ``reader``: what has it. ``name``: what a person would call the place; ``read``, ``write``: what it reads.
    ``within``: the body, and the place of a node before which something can be put for it alone.
    """

    kind: str
    reader: AnyNode | Program
    name: str
    read: Callable[[], Value | None]
    write: Callable[[Value], None]
    visible: Sequence[Value]
    within: tuple[Body, int]


def ports(program: Program) -> Iterator[Port]:
    """All of a program."""
    visible = yield from _inside(program.body, list(program.inputs))
    for k in range(len(program.outputs)):
        yield _of_list("output", program, f"out{k}", program.outputs, k, visible, (program.body, _END))


_END = 1 << 30


def _inside(body: Body, visible: list[Value]) -> Iterator[Port]:  # type: ignore[misc]
    """The ports of a body; returns what can be read at its end."""
    for place, node in enumerate(body.nodes):
        before, at = list(visible), (body, place)
        if isinstance(node, Node):
            for k in range(len(node.inputs)):
                yield _of_list("edge", node, node.output.name, node.inputs, k, before, at)
        elif isinstance(node, Branch):
            yield _of_field("edge", node, node.outputs[0].name, "condition", before, at)
            for side, results in zip((node.then, node.other), node.results, strict=True):
                inside = yield from _inside(side, list(before))
                for k, value in enumerate(results):
                    yield _of_list("edge", node, value.name, results, k, inside, (side, _END))
        elif isinstance(node, Loop):
            yield from _of_loop(node, before, at)
        visible += outputs_of(node)
    return visible


def _of_loop(loop: Loop, before: list[Value], at: tuple[Body, int]) -> Iterator[Port]:
    yield _of_field("trip count", loop, f"loop {loop.name}", "trip", before, at)
    yield _of_field("initial condition", loop, f"loop {loop.name}", "initial", before, at)
    for c in loop.carried:
        yield _of_field("initial value", loop, c.param.name, "initial", before, at, c)
    for s in loop.sliced:
        yield _of_field("slice", loop, s.param.name, "outer", before, at, s)
    inside = yield from _inside(loop.body, [*before, *loop.params])
    end = loop.body, _END
    yield _of_field("condition", loop, loop.keep.name if loop.keep else "", "keep", inside, end)
    for c in loop.carried:
        yield _of_field("back edge", loop, c.param.name, "result", inside, end, c)
    for o in loop.scanned:
        yield _of_field("scan", loop, o.output.name, "result", inside, end, o)


def _of_list(
    kind: str,
    reader: AnyNode | Program,
    name: str,
    values: list[Value],
    k: int,
    visible: Sequence[Value],
    within: tuple[Body, int],
) -> Port:
    return Port(kind, reader, name, lambda: values[k], lambda v: values.__setitem__(k, v), visible, within)


def _of_field(
    kind: str,
    reader: AnyNode,
    name: str,
    field: str,
    visible: Sequence[Value],
    within: tuple[Body, int],
    holder: object = None,
) -> Port:
    holder = holder or reader
    read: Callable[[], Value | None] = lambda: getattr(holder, field)  # noqa: E731
    return Port(kind, reader, name, read, lambda v: setattr(holder, field, v), visible, within)


def names_of(port: Port, program: Program) -> set[str]:
    """What a comparison may call what reads there: what only hands a value on is none, but who reads that is."""
    reader = port.reader
    if isinstance(reader, Node) and reader.operator == "Identity":
        return readers_of(reader.output, program)
    names = {port.name}
    if port.kind in ("condition", "back edge"):
        assert isinstance(reader, Loop)
        names.add(f"loop {reader.name}")
    return names


def origin(value: Value, program: Program) -> Value:
    """The value itself, or the one that is handed on as it."""
    for port in ports(program):
        if isinstance(port.reader, Node) and port.reader.operator == "Identity" and port.reader.output is value:
            return origin(port.reader.inputs[0], program)
    return value


def readers_of(value: Value, program: Program) -> set[str]:
    """What all places that read a value are called."""
    found: set[str] = set()
    for port in list(ports(program)):
        if port.read() is value:
            found |= names_of(port, program)
    return found
