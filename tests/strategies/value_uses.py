"""The uses of a program's values: each with the values that could be read instead, and its possible names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .program import AnyNode, Program, ProgramBody, ProgramIf, ProgramLoop, ProgramNode, ProgramValue, outputs_of


@dataclass
class ValueUse:
    """One use of a value. ``kind``: edge, initial value, back edge, slice, condition, initial condition, trip count,
    scan, output.

    ``reader``: the node or loop with the use. ``name``: its readable name; ``read``, ``write``: get and set the value.
    ``within``: the body, and the index of a node before which a node for this use alone can be inserted.
    """

    kind: str
    reader: AnyNode | Program
    name: str
    read: Callable[[], ProgramValue | None]
    write: Callable[[ProgramValue], None]
    alternatives: Sequence[ProgramValue]
    position: tuple[ProgramBody, int]


def all_uses(program: Program) -> Iterator[ValueUse]:
    """All uses of a program."""
    visible = yield from _body_uses(program.body, list(program.inputs))
    for k in range(len(program.outputs)):
        yield _list_uses("output", program, f"out{k}", program.outputs, k, visible, (program.body, _BODY_END))


_BODY_END = 1 << 30


def _body_uses(body: ProgramBody, visible: list[ProgramValue]) -> Iterator[ValueUse]:  # type: ignore[misc]
    """The ports of a body; returns the values visible at its end."""
    for place, node in enumerate(body.nodes):
        before, index = list(visible), (body, place)
        if isinstance(node, ProgramNode):
            for k in range(len(node.inputs)):
                yield _list_uses("edge", node, node.output.name, node.inputs, k, before, index)
        elif isinstance(node, ProgramIf):
            yield _field_use("edge", node, node.outputs[0].name, "condition", before, index)
            for side, results in zip((node.then, node.other), node.results, strict=True):
                inside = yield from _body_uses(side, list(before))
                for k, output in enumerate(node.outputs):
                    yield _list_uses("edge", node, output.name, results, k, inside, (side, _BODY_END))
        elif isinstance(node, ProgramLoop):
            yield from _loop_uses(node, before, index)
        visible += outputs_of(node)
    return visible


def _loop_uses(loop: ProgramLoop, before: list[ProgramValue], items: tuple[ProgramBody, int]) -> Iterator[ValueUse]:
    yield _field_use("trip count", loop, f"loop {loop.name}", "trip", before, items)
    yield _field_use("initial condition", loop, f"loop {loop.name}", "initial", before, items)
    for c in loop.carried:
        yield _field_use("initial value", loop, c.param.name, "initial", before, items, c)
    for s in loop.sliced:
        yield _field_use("slice", loop, s.param.name, "outer", before, items, s)
    inside = yield from _body_uses(loop.body, [*before, *loop.params])
    end = loop.body, _BODY_END
    yield _field_use("condition", loop, loop.keep.name if loop.keep else "", "keep", inside, end)
    for c in loop.carried:
        yield _field_use("back edge", loop, c.param.name, "result", inside, end, c)
    for o in loop.scanned:
        yield _field_use("scan", loop, o.output.name, "result", inside, end, o)


def _list_uses(
    kind: str,
    reader: AnyNode | Program,
    name: str,
    values: list[ProgramValue],
    k: int,
    visible: Sequence[ProgramValue],
    within: tuple[ProgramBody, int],
) -> ValueUse:
    return ValueUse(kind, reader, name, lambda: values[k], lambda v: values.__setitem__(k, v), visible, within)


def _field_use(
    kind: str,
    reader: AnyNode,
    name: str,
    field: str,
    visible: Sequence[ProgramValue],
    within: tuple[ProgramBody, int],
    holder: object = None,
) -> ValueUse:
    holder = holder or reader
    read: Callable[[], ProgramValue | None] = lambda: getattr(holder, field)  # noqa: E731
    return ValueUse(kind, reader, name, read, lambda v: setattr(holder, field, v), visible, within)


def reader_names(port: ValueUse, program: Program) -> set[str]:
    """The names that a comparison may use for a reader: one that only passes a value on may be called like its own
    readers as well."""
    reader = port.reader
    if isinstance(reader, ProgramNode) and reader.operator == "Identity":
        return {reader.output.name} | all_reader_names(reader.output, program)
    names = {port.name}
    if port.kind in ("condition", "back edge"):
        assert isinstance(reader, ProgramLoop)
        names.add(f"loop {reader.name}")
    return names


def origin(value: ProgramValue, program: Program) -> ProgramValue:
    """The value itself, or the one that it is a copy of."""
    for port in all_uses(program):
        if isinstance(port.reader, ProgramNode) and port.reader.operator == "Identity" and port.reader.output is value:
            return origin(port.reader.inputs[0], program)
    return value


def all_reader_names(value: ProgramValue, program: Program) -> set[str]:
    """The names of all readers of a value."""
    results: set[str] = set()
    for port in list(all_uses(program)):
        if port.read() is value:
            results |= reader_names(port, program)
    return results
