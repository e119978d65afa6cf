"""What the body gets from outside: captures, invariant inputs, constants; of the main graph the model's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...debugger.statistics.tensor import LARGE
from ...debugger.words.names import named
from ...runtime.graph import Graph, Value, walk
from ..screen.cells import NOT_YET, SET, short_value, type_of
from ..screen.layout import LINE, Need
from ..screen.lines import Column, Line, Role, Span, Widest, line, table
from ..screen.targets import ValueTarget
from ..screen.view import Shown, graph_of
from .pane import Pane

_COLUMNS = (
    Column("name", 4, names=True),
    Column("type", 6, rank=1),
    Column("value", 8),
    Column("from", 6, rank=2, names=True),
)
_Row = tuple[list[Span], ValueTarget]
#: Below this width the value says what it can of its type.
_NARROW = 34
#: Constants of so many elements stand in the body itself.
_IN_PLACE = 3


class Inputs(Pane):
    """One row for each value; constants that the body shows in place are left out."""

    def __init__(self, id: str) -> None:
        super().__init__("Inputs", id)
        self._widest = Widest()

    def need(self, shown: Shown) -> Need | None:
        loop = shown.frame.frame.loop
        ports = (*loop.sliced_inputs, *loop.invariants) if loop is not None else ()
        count = len(ports) + len(_captured(shown))
        return Need(1, count) if count else LINE

    def brief(self, shown: Shown) -> Sequence[Span]:
        told: list[Span] = []
        for (name, kind, value, _), _ in _rows(shown, _NARROW):
            told += [name, (" ", Role.PLAIN), value if value[0] != NOT_YET else kind, ("   ", Role.PLAIN)]
        return told or [("none", Role.DIM)]

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        self.set_title("Inputs of the body" if frame.loop else "Inputs", shown.inputs_note)
        rows = _rows(shown, width)
        if not rows:
            return [line(("none", Role.DIM))]
        cells, targets = [list(row) for row, _ in rows], [target for _, target in rows]
        for row, target in zip(cells, targets, strict=True):
            if target.name in shown.frame.edited:
                row[2] = (f"{SET} {row[2][0]}", row[2][1])
        sizes = self._widest.of(frame.path, width)
        if width < _NARROW:
            return table((_COLUMNS[0], _COLUMNS[2]), [[row[0], row[2]] for row in cells], width, False, targets, sizes)
        return table(_COLUMNS, cells, width, False, targets, sizes)


def _rows(shown: Shown, width: int) -> list[_Row]:
    return [*_sliced(shown, width), *_invariants(shown, width), *_captures(shown, width)]


def _row(name: str, value: Any, origin: str, width: int, there: bool = True, dim: bool = False) -> list[Span]:
    role = Role.DIM if dim else Role.PLAIN
    return [
        (name, role if dim else Role.NAME),
        (type_of(value) if there else "", Role.DIM),
        (_value(value, width) if there else NOT_YET, role),
        (origin, Role.DIM),
    ]


def _value(value: Any, width: int) -> str:
    if width < _NARROW:
        return short_value(value, max(10, width * 3 // 5))
    return short_value(value, max(12, width * 2 // 5), shape=False)


def _sliced(shown: Shown, width: int) -> Iterator[_Row]:
    """The outer tensors that the loop cuts, and the part that the iteration gets, or at a boundary the next one."""
    frame = shown.frame.frame
    outside = shown.depth - 1 if shown.depth else len(shown.view.frames) - 1
    around = shown.view.frames[outside].values
    for sliced in frame.loop.sliced_inputs if frame.loop is not None else ():
        outer = around.get(sliced.outer.name, sliced.outer.constant)
        part = "all parts read" if frame.stopped_by is not None else f"part {frame.iteration}"
        kind = type_of(outer, sliced.outer.type)
        row = [(named(sliced.outer), Role.NAME), (kind, Role.DIM), (part, Role.VALUE), ("sliced", Role.DIM)]
        yield row, ValueTarget(sliced.outer.name, outside, declared=sliced.outer)


def _invariants(shown: Shown, width: int) -> Iterator[_Row]:
    loop = shown.frame.frame.loop
    values = shown.frame.values
    for port in loop.invariants if loop is not None else ():
        name = port.inner.name
        row = _row(named(port.inner), values.get(name), named(port.outer), width, name in values)
        yield row, ValueTarget(name, shown.depth, declared=port.inner)


@lru_cache(maxsize=16)
def _read_in(graph: Graph) -> Mapping[str, Value]:
    """What the nodes of a body read, by name: the same at every stop."""
    return {value.name: value for node in walk(graph) for value in node.inputs if value}


def _captured(shown: Shown) -> list[tuple[Value, Any]]:
    """What the body reads from outside, constants after what is computed, the small ones left out."""
    frame = shown.frame.frame
    read = _read_in(graph_of(frame, shown.main))
    found = [(read[name], value) for name, value in frame.captures]
    given = [(declared, value) for declared, value in found if declared.constant is None]
    return given + [(declared, value) for declared, value in found if declared.constant is not None and _large(value)]


def _large(value: Any) -> bool:
    return not hasattr(value, "size") or value.size > _IN_PLACE


def _captures(shown: Shown, width: int) -> Iterator[_Row]:
    origin = "captured" if shown.frame.frame.loop else ""
    for declared, value in _captured(shown):
        constant = declared.constant is not None
        if constant and isinstance(value, np.ndarray) and value.nbytes < LARGE and not value.dtype.hasobject:
            row = _constant(declared, width, value.dtype, value.shape, value.tobytes())
        else:
            row = _row(named(declared), value, "constant" if constant else origin, width, dim=constant)
        yield row, ValueTarget(declared.name, shown.depth, declared=declared)


@lru_cache(maxsize=256)
def _constant(declared: Value, width: int, dtype: np.dtype[Any], shape: tuple[int, ...], content: bytes) -> list[Span]:
    """The row of a constant that is not large: the same from stop to stop, until it is set to something else."""
    return _row(named(declared), np.frombuffer(content, dtype).reshape(shape), "constant", width, dim=True)
