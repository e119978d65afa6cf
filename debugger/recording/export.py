"""A trace as arrays, or as a table. ``docs/traces.md`` says how things are called there."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_text
from ...runtime.errors import UsageError
from ...runtime.graph import Array
from ..formats.arrays import ArrayFile
from ..formats.csv_text import row_writer
from ..formats.tensors import TensorFile
from . import queries
from .cells import maybe, real
from .ports import PortKind
from .queries import Which
from .trace_inside import RecordedLoop, TraceInside

_STATISTICS = ("min", "max", "mean", "norm")


@dataclass(frozen=True)
class Column:
    """One recorded value of one loop, under the name that it has in the export."""

    port: int
    loop: int
    name: str
    #: Every (dtype, shape) that it had.
    types: tuple[tuple[str, tuple[int, ...] | None], ...]

    @property
    def is_number(self) -> bool:
        """True for one number at every boundary."""
        return all(
            shape is not None and math.prod(shape) == 1 and dtype not in ("string", "sequence")
            for dtype, shape in self.types
        )


class Exporter:
    """What of a trace is exported: one loop or all; carried values, scan elements and body values, or only some.

    Raises:
        UsageError: no such loop, or a name that was not recorded.
    """

    def __init__(self, trace: TraceInside, loop: str | None = None, only: Collection[str] | None = None) -> None:
        self.trace = trace
        self.loops = [one for one in trace.loops if loop is None or one.index == trace.index(loop)]
        if not self.loops:
            raise UsageError(f"{trace.path}: the model has no loop; there is nothing to export")
        names = [one.name for one in self.loops]
        #: What a loop's columns begin with.
        self._prefix = {
            one.index: "" if len(names) == 1 else f"{one.name if names.count(one.name) == 1 else one.path}."
            for one in self.loops
        }
        self.columns = list(self._columns(None if only is None else set(only)))

    def _columns(self, only: set[str] | None) -> Iterator[Column]:
        known: set[str] = set()
        taken: set[str] = set()
        ports = ((loop, *one) for loop in self._prefix for one in self.trace.numbered_ports(loop))
        for loop, port, kind, name in sorted(ports, key=lambda one: one[1]):
            if kind == PortKind.CAPTURE:
                continue
            known.add(name)
            if only is not None and name not in only:
                continue
            types = tuple(self.trace.types(port))
            if not types:
                continue
            full = f"{self._prefix[loop]}{name}"
            if full in taken:
                # A scan output may be called as a body value is.
                full = f"{self._prefix[loop]}{kind}.{name}"
            if full in taken:
                raise self.trace.damaged(f"'{name}' was recorded twice")
            taken.add(full)
            yield Column(port, loop, full, types)
        missing = sorted((only or set()) - known)
        if missing:
            have = ", ".join(f"'{name}'" for name in sorted(known)) or "none"
            raise UsageError(f"{self.trace.path}: '{missing[0]}' was not recorded; there are {have}")

    # -- tables

    def csv(self, path: Path) -> int:
        """Write one row a boundary; returns how many.

        Raises:
            OSError: the file cannot be written.
        """
        with atomic_text(path, newline="", errors="backslashreplace") as file:
            write = row_writer(file)
            header = ["loop", "entry", "iteration", "condition", "ended", "time"]
            for column in self.columns:
                plain = column.is_number or _is_text(column)
                header += [column.name] if plain else [f"{column.name}.{word}" for word in _STATISTICS]
            write(header)
            count = 0
            for row in self._table():
                write(row)
                count += 1
            return count

    def _table(self) -> Iterator[list[Any]]:
        cells = [_Cells(self.trace, column) for column in self.columns]
        names = {one.index: one.path for one in self.loops}
        for mark in self.trace.marks(any_of=[Which(loop=one.index) for one in self.loops]):
            entry = self.trace.entry(mark.entry)
            row: list[Any] = [
                names[entry.loop],
                "/".join(map(str, entry.around)),
                mark.iteration,
                "" if mark.condition is None else _word(mark.condition),
                "" if mark.ended is None else mark.ended.value,
                f"{mark.time:.6f}",
            ]
            for column in cells:
                row += column.at(mark.id)
            yield row

    # -- arrays

    def arrays(self, file: ArrayFile | TensorFile) -> int:
        """Write arrays, iterations first; returns of how many boundaries."""
        count = sum(self._index_arrays(file, loop) for loop in self.loops)
        for column in self.columns:
            self._arrays(file, column)
        return count

    def _index_arrays(self, file: ArrayFile | TensorFile, loop: RecordedLoop) -> int:
        """Which boundary each row of the other arrays is."""
        marks = list(self.trace.marks(Which(loop=loop.index)))
        prefix = self._prefix[loop.index]
        file.array(f"{prefix}@iteration", np.array([mark.iteration for mark in marks], np.int64))
        file.array(f"{prefix}@time", np.array([mark.time for mark in marks], np.float64))
        if any(mark.condition is not None for mark in marks):
            file.array(f"{prefix}@condition", np.array([bool(mark.condition) for mark in marks], np.bool_))
        if loop.parent is not None:
            around = [self.trace.entry(mark.entry).around for mark in marks]
            file.array(f"{prefix}@entry", np.array(around, np.int64))
        return len(marks)

    def _arrays(self, file: ArrayFile | TensorFile, column: Column) -> None:
        types = [(dtype, shape) for dtype, shape in column.types if dtype != "none"]
        if len(types) == 1 and types[0][0] not in ("string", "sequence") and len(column.types) == 1:
            count = queries.count_values(self.trace.rows, column.port)
            shape = (count, *(types[0][1] or ()))
            written = file.stack(column.name, shape, (np.asarray(value) for _, _, value in self.each(column)))
            if written != count:
                raise self.trace.damaged(f"{count - written} values of '{column.name}' are of no boundary")
            return
        for around, iteration, value in self.each(column):
            # What changes its shape stands by itself, boundary by boundary.
            where = ".".join(map(str, (*around, iteration)))
            for suffix, array in _pieces(value):
                file.array(f"{column.name}@{where}{suffix}", array)

    def each(self, column: Column) -> Iterator[tuple[tuple[int, ...], int, Any]]:
        """(entry, iteration, value) at every boundary that has one."""
        for mark in self.trace.marks(Which(loop=column.loop)):
            for row in queries.values_at(self.trace.rows, column.port, mark.id):
                yield self.trace.entry(mark.entry).around, mark.iteration, self.trace.value(*row)


class _Cells:
    """A column's cells, read in step with the boundaries."""

    def __init__(self, trace: TraceInside, column: Column) -> None:
        self._trace = trace
        self._number = column.is_number
        self._text = _is_text(column)
        self._rows = queries.cells(trace.rows, column.port)
        self._next: Sequence[Any] | None = next(self._rows, None)

    def at(self, boundary: int) -> list[Any]:
        row = self._next
        if row is None or row[0] != boundary:
            return [""] if self._number or self._text else [""] * len(_STATISTICS)
        self._next = next(self._rows, None)
        try:
            number, *statistics = (maybe(real, cell) for cell in row[5:])
        except ValueError as error:
            raise self._trace.damaged(error) from None
        if not self._number and not self._text:
            if number is not None:
                # A tensor that has one element now.
                statistics = [number, number, number, abs(number)]
            return ["" if cell is None else cell for cell in statistics]
        if number is not None and not self._text and math.isfinite(number):
            dtype = self._trace.dtype(row[2])
            return [_word(bool(number)) if dtype == "bool" else _shortest(number, dtype)]
        # Of one element, as all that this port had.
        (value,) = np.asarray(self._trace.value(*row[1:5])).reshape(-1)
        return [value if isinstance(value, str) else str(value)]


def _shortest(number: int | float, dtype: str) -> str:
    """The fewest digits that read back as the same number of its dtype: 1.4142135, not 1.4142135381698608."""
    return str(np.dtype(dtype).type(number)) if dtype in ("float16", "float32") else repr(number)


def _is_text(column: Column) -> bool:
    return all(dtype == "string" and shape is not None and math.prod(shape) == 1 for dtype, shape in column.types)


def _word(truth: bool) -> str:
    return "true" if truth else "false"


def _pieces(value: Any, suffix: str = "") -> Iterator[tuple[str, Array]]:
    if isinstance(value, list):
        for k, element in enumerate(value):
            yield from _pieces(element, f"{suffix}.{k}")
    elif value is not None:
        yield suffix, np.asarray(value)
