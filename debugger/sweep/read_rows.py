"""Read the rows of a finished sweep from any of its file formats, as columns."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...runtime.errors import UsageError, one_line
from ..export_formats.parquet import import_pyarrow
from ..export_formats.spreadsheet_csv import unescape_cell
from .export import EXPORT_COLUMNS, row_cells
from .sweep_store import SweepStore

#: Suffixes of files with rows.
ROW_FILE_SUFFIXES = (".parquet", ".csv", ".sweepdb")
#: Columns that each file has.
_REQUIRED_COLUMNS = ("id", "loop", "iterations", "status")


@dataclass(frozen=True)
class RowColumns:
    """The rows by column; ``measures``: the names of the additional columns."""

    rows: dict[str, list[Any]]

    @property
    def measures(self) -> list[str]:
        """The names of the measures."""
        return [name for name in self.rows if name not in EXPORT_COLUMNS]

    def finite_numbers(self, name: str, loop: str) -> list[float]:
        """Return the finite numbers of a column for one loop."""
        pairs = zip(self.rows[name], self.rows["loop"], strict=True)
        return [float(value) for value, path in pairs if path == loop and value is not None and math.isfinite(value)]


def read_columns(path: Path) -> RowColumns:
    """Read all rows of a file.

    Raises:
        UsageError: the file has no rows of a sweep, or pyarrow is not installed.
        SweepFileError: it is damaged.
    """
    columns = {".parquet": _read_parquet, ".csv": _read_csv, ".sweepdb": _read_sweepdb}[path.suffix](path)
    missing = next((name for name in _REQUIRED_COLUMNS if name not in columns), None)
    if missing is not None:
        raise UsageError(f"{path}: holds no rows of a sweep: it has no column '{missing}'", name=missing)
    return RowColumns(columns)


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    pa = import_pyarrow()
    try:
        columns: dict[str, list[Any]] = pa.parquet.read_table(path).to_pydict()
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {one_line(error)}") from None
    return columns


def _read_csv(path: Path) -> dict[str, list[Any]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            names = list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read: {one_line(error)}") from None
    numbers = {name for name in names if EXPORT_COLUMNS.get(name, "float64") != "string"}
    return {
        unescape_cell(name): [
            _parse_number(row[name]) if name in numbers else unescape_cell(row[name] or "") for row in rows
        ]
        for name in names
    }


def _parse_number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _read_sweepdb(path: Path) -> dict[str, list[Any]]:
    store = SweepStore.open(path)
    try:
        names = [*EXPORT_COLUMNS, *store.measures]
        rows = [row_cells(row, store.measures) for row in store.rows()]
        return {name: [row[k] for row in rows] for k, name in enumerate(names)}
    finally:
        store.close()
