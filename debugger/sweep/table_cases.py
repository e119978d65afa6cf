"""Cases as rows of tables: Parquet, and Arrow files of Hugging Face's ``datasets``; needs pyarrow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.errors import InputError, one_line
from ...runtime.graph import Array, OptionalType, SequenceType
from ...runtime.input_validation import resolve_aliases
from ...runtime.model import Data, Model, Port
from ..export_formats.parquet import import_pyarrow
from .cases import Case, CaseReader, CaseSet, InMemoryCases, fingerprint_of


class TableCases(CaseSet):
    """One case per row; a column has an input's name and contains numbers, or lists nested as deep as the input has
    axes.

    Raises:
        InputError: a file cannot be read.
        UsageError: pyarrow is not installed.
    """

    def __init__(self, paths: Sequence[Path], name: str) -> None:
        self.name = name
        self.paths = [path.absolute() for path in paths]
        self._groups = [
            (path, group, count) for path in self.paths for group, count in enumerate(_row_group_sizes(path))
        ]
        self._group_ends = list(accumulate(count for _, _, count in self._groups))
        self.fingerprint = fingerprint_of([name, *(count for _, _, count in self._groups)])

    def __len__(self) -> int:
        return self._group_ends[-1] if self._group_ends else 0

    def reader(self, model: Model) -> CaseReader:
        ports = {port.name: port for port in model.inputs}
        row_of = self._row_locator()

        def read(number: int) -> Case:
            table, row = row_of(number)
            named = resolve_aliases(model.graph, dict.fromkeys(table.column_names))
            columns = zip(named, table.column_names, strict=True)
            return Case(
                {name: _cell_value(ports[name], table[column][row]) for name, column in columns if name in ports}
            )

        return read

    def subset(self, start: int, stop: int) -> CaseSet:
        row_of = self._row_locator()
        rows = []
        for number in range(start, stop):
            table, row = row_of(number)
            rows.append({name: np.asarray(table[name][row].as_py()) for name in table.column_names})
        return InMemoryCases(rows, self.name, start, len(self))

    def _row_locator(self) -> Callable[[int], tuple[Any, int]]:
        """Return a function that finds the row group of a case and its row there; the last group is cached."""
        cached: dict[int, Any] = {}

        def row_of(number: int) -> tuple[Any, int]:
            index = bisect_right(self._group_ends, number)
            path, group, count = self._groups[index]
            if index not in cached:
                cached.clear()
                cached[index] = _read_row_group(path, group)
            return cached[index], number - (self._group_ends[index] - count)

        return row_of


def _row_group_sizes(path: Path) -> list[int]:
    """The row counts of the groups of a table that can be read alone; an Arrow file is one group."""
    pa = import_pyarrow()
    try:
        if path.suffix == ".parquet":
            metadata = pa.parquet.ParquetFile(path).metadata
            return [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        return [_read_row_group(path, 0).num_rows]
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: cannot be read as a table: {one_line(error)}") from None


def _read_row_group(path: Path, group: int) -> Any:
    """Read one row group of a table. An Arrow file is a stream or a random-access file."""
    pa = import_pyarrow()
    if path.suffix == ".parquet":
        return pa.parquet.ParquetFile(path).read_row_group(group)
    with pa.OSFile(str(path)) as file:
        try:
            return pa.ipc.open_stream(file).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(str(path)).read_all()


def _cell_value(port: Port, cell: Any) -> Data:
    """Convert a cell for the input.

    Raises:
        InputError: rows of different lengths, or a number that the dtype cannot represent.
    """
    value_type = port.type
    while isinstance(value_type, OptionalType):
        value_type = value_type.element
    if cell.as_py() is None:
        return None
    if isinstance(value_type, SequenceType):
        raise InputError(
            f"input '{port.name}' is a sequence, which a cell of a table cannot be", name=port.name, got=str(port.type)
        )
    array = _cell_array(port, cell)
    dtype = value_type.dtype
    if dtype is None or array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if "int" in dtype.name and not np.array_equal(converted.astype(array.dtype), array):
        raise InputError(
            f"input '{port.name}' needs {value_type}, and the column holds other numbers",
            name=port.name,
            expected=str(value_type),
        )
    return converted


def _cell_array(port: Port, cell: Any) -> Array:
    pa = import_pyarrow()
    inner, shape = cell, [1]
    while pa.types.is_list(inner.type) or pa.types.is_large_list(inner.type) or pa.types.is_fixed_size_list(inner.type):
        values = inner.values if isinstance(inner, pa.Scalar) else inner.flatten()
        count = int(np.prod(shape))
        lengths = {len(values)} if isinstance(inner, pa.Scalar) else set(inner.value_lengths().to_pylist())
        if len(lengths) > 1:
            raise InputError(f"input '{port.name}': the rows of the list have different lengths", name=port.name)
        shape.append(next(iter(lengths), 0) if count else 0)
        inner = values
    if isinstance(inner, pa.Scalar):
        return np.asarray(inner.as_py())
    return np.asarray(inner.to_numpy(zero_copy_only=False)).reshape(shape[1:])
