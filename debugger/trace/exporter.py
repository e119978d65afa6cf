"""Export of a trace as arrays or as a table. ``docs/traces.md`` documents the names."""

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
from ..export_formats.npz import NpzWriter
from ..export_formats.safetensors import SafetensorsWriter
from ..export_formats.spreadsheet_csv import row_writer
from . import queries
from .cell_validation import integer, read_optional, validate_real_number
from .probes import PortKind
from .queries import BoundaryFilter
from .trace_store import RecordedLoop, TraceStore

_STATISTICS_COLUMNS = ("min", "max", "mean", "norm")


@dataclass(frozen=True)
class ExportColumn:
    """One recorded value of one loop, with its name in the export."""

    port: int
    loop: int
    name: str
    #: Every (dtype, shape) of its values.
    types: tuple[tuple[str, tuple[int, ...] | None], ...]

    @property
    def is_number(self) -> bool:
        """True if it is one number at every boundary."""
        return all(
            shape is not None and math.prod(shape) == 1 and dtype not in ("string", "sequence")
            for dtype, shape in self.types
        )


class TraceExporter:
    """Selects and exports data of a trace: one loop or all; carried values, scan elements and body values, or some.

    Raises:
        UsageError: no such loop, or a name that was not recorded.
    """

    def __init__(self, trace: TraceStore, loop: str | None = None, only: Collection[str] | None = None) -> None:
        self.trace = trace
        self.loops = [r for r in trace.loops if loop is None or r.index == trace.loop_index(loop)]
        if not self.loops:
            raise UsageError(f"{trace.path}: the model has no loop; there is nothing to export")
        names = [r.name for r in self.loops]
        #: Prefix of the columns of a loop.
        self._column_prefix = {
            r.index: "" if len(names) == 1 else f"{r.name if names.count(r.name) == 1 else r.path}." for r in self.loops
        }
        self.columns = list(self._columns(None if only is None else set(only)))

    def _columns(self, only: set[str] | None) -> Iterator[ExportColumn]:
        names: set[str] = set()
        used: set[str] = set()
        entries = ((loop, *p) for loop in self._column_prefix for p in self.trace.numbered_ports(loop))
        for loop, port, kind, name in sorted(entries, key=lambda p: p[1]):
            if kind == PortKind.CAPTURE:
                continue
            names.add(name)
            if only is not None and name not in only:
                continue
            types = tuple(self.trace.port_types(port))
            if not types:
                continue
            full_name = f"{self._column_prefix[loop]}{name}"
            if full_name in used:
                # A scan output and a body value may have the same name.
                full_name = f"{self._column_prefix[loop]}{kind}.{name}"
            if full_name in used:
                raise self.trace.damage_error(f"'{name}' was recorded twice")
            used.add(full_name)
            yield ExportColumn(port, loop, full_name, types)
        missing = sorted((only or set()) - names)
        if missing:
            available = ", ".join(f"'{name}'" for name in sorted(names)) or "none"
            raise UsageError(
                f"{self.trace.path}: '{missing[0]}' was not recorded; there are {available}", name=missing[0]
            )

    # -- tables

    def write_csv(self, path: Path) -> int:
        """Write one row per boundary; returns their number.

        Raises:
            OSError: the file cannot be written.
        """
        with atomic_text(path, newline="", errors="backslashreplace") as file:
            write = row_writer(file)
            header = ["loop", "entry", "iteration", "condition", "ended", "time"]
            for column in self.columns:
                is_scalar = column.is_number or _is_text(column)
                header += [column.name] if is_scalar else [f"{column.name}.{word}" for word in _STATISTICS_COLUMNS]
            write(header)
            count = 0
            for row in self._table_rows():
                write(row)
                count += 1
            return count

    def _table_rows(self) -> Iterator[list[Any]]:
        cells = [_ColumnCells(self.trace, column) for column in self.columns]
        names = {r.index: r.path for r in self.loops}
        for ref in self.trace.boundary_refs(any_of=[BoundaryFilter(loop=r.index) for r in self.loops]):
            entry = self.trace.entry(ref.entry)
            row: list[Any] = [
                names[entry.loop],
                "/".join(map(str, entry.around)),
                ref.iteration,
                "" if ref.condition is None else _boolean_text(ref.condition),
                "" if ref.ended is None else ref.ended.value,
                f"{ref.time:.6f}",
            ]
            for column in cells:
                row += column.cells_at(ref.id)
            yield row

    # -- arrays

    def write_arrays(self, file: NpzWriter | SafetensorsWriter) -> int:
        """Write arrays with iterations as the first axis; returns the number of boundaries."""
        count = sum(self._write_index_arrays(file, loop) for loop in self.loops)
        for column in self.columns:
            self._write_column(file, column)
        return count

    def _write_index_arrays(self, file: NpzWriter | SafetensorsWriter, loop: RecordedLoop) -> int:
        """Write the boundary of each row of the other arrays."""
        refs = list(self.trace.boundary_refs(BoundaryFilter(loop=loop.index)))
        prefix = self._column_prefix[loop.index]
        file.write_array(f"{prefix}@iteration", np.array([ref.iteration for ref in refs], np.int64))
        file.write_array(f"{prefix}@time", np.array([ref.time for ref in refs], np.float64))
        if any(ref.condition is not None for ref in refs):
            file.write_array(f"{prefix}@condition", np.array([bool(ref.condition) for ref in refs], np.bool_))
        if loop.parent is not None:
            around = [self.trace.entry(ref.entry).around for ref in refs]
            file.write_array(f"{prefix}@entry", np.array(around, np.int64))
        return len(refs)

    def _write_column(self, file: NpzWriter | SafetensorsWriter, column: ExportColumn) -> None:
        types = [(dtype, shape) for dtype, shape in column.types if dtype != "none"]
        if len(types) == 1 and types[0][0] not in ("string", "sequence") and len(column.types) == 1:
            count = self.trace.count_values(column.port)
            shape = (count, *(types[0][1] or ()))
            written = file.write_stacked(
                column.name, shape, (np.asarray(value) for _, _, value in self.column_values(column))
            )
            if written != count:
                raise self.trace.damage_error(f"{count - written} values of '{column.name}' are of no boundary")
            return
        for around, iteration, value in self.column_values(column):
            # Values of varying shape are written separately for each boundary.
            position = ".".join(map(str, (*around, iteration)))
            for suffix, array in _flatten_value(value):
                file.write_array(f"{column.name}@{position}{suffix}", array)

    def column_values(self, column: ExportColumn) -> Iterator[tuple[tuple[int, ...], int, Any]]:
        """(entry, iteration, value) at every boundary that has one."""
        for ref in self.trace.boundary_refs(BoundaryFilter(loop=column.loop)):
            for row in queries.values_at_boundary(self.trace.rows, column.port, ref.id):
                yield self.trace.entry(ref.entry).around, ref.iteration, self.trace.value(*row)


class _ColumnCells:
    """The cells of a column, read in step with the boundaries."""

    def __init__(self, trace: TraceStore, column: ExportColumn) -> None:
        self._trace = trace
        self._is_number = column.is_number
        self._holds_text = _is_text(column)
        self._rows = queries.value_cells(trace.rows, column.port)
        self._next_row: Sequence[Any] | None = next(self._rows, None)

    def cells_at(self, boundary: int) -> list[Any]:
        row = self._next_row
        if row is None or row[0] != boundary:
            return [""] if self._is_number or self._holds_text else [""] * len(_STATISTICS_COLUMNS)
        self._next_row = next(self._rows, None)
        try:
            number, *statistics = (read_optional(validate_real_number, cell) for cell in row[5:10])
            if integer(row[10]) > 1:
                number = self._trace.value(*row[1:5]).item()
        except ValueError as error:
            raise self._trace.damage_error(error) from None
        if not self._is_number and not self._holds_text:
            if number is not None:
                # A tensor that has one element at this boundary.
                statistics = [number, number, number, abs(number)]
            return ["" if cell is None else cell for cell in statistics]
        if number is not None and not self._holds_text and math.isfinite(number):
            dtype = self._trace.dtype_name(row[2])
            return [_boolean_text(bool(number)) if dtype == "bool" else _shortest_text(number, dtype)]
        # All values of this port have one element.
        (value,) = np.asarray(self._trace.value(*row[1:5])).reshape(-1)
        return [value if isinstance(value, str) else str(value)]


def _shortest_text(number: int | float, dtype: str) -> str:
    """The shortest digits that are exact for the dtype: 1.4142135, not 1.4142135381698608."""
    return str(np.dtype(dtype).type(number)) if dtype in ("float16", "float32") else repr(number)


def _is_text(column: ExportColumn) -> bool:
    return all(dtype == "string" and shape is not None and math.prod(shape) == 1 for dtype, shape in column.types)


def _boolean_text(truth: bool) -> str:
    return "true" if truth else "false"


def _flatten_value(value: Any, suffix: str = "") -> Iterator[tuple[str, Array]]:
    if isinstance(value, list):
        for k, element in enumerate(value):
            yield from _flatten_value(element, f"{suffix}.{k}")
    elif value is not None:
        yield suffix, np.asarray(value)
