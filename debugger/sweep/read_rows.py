"""The rows of a sweep that is over, as columns, out of any of its files."""

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

#: The files that rows are in.
ROW_FILE_SUFFIXES = (".parquet", ".csv", ".sweepdb")
#: What each of them has, whatever else.
_REQUIRED_COLUMNS = ("id", "loop", "iterations", "status")


@dataclass(frozen=True)
class RowColumns:
    """The rows by column; ``measures``: the names of those that are no columns of ours."""

    rows: dict[str, list[Any]]

    @property
    def measures(self) -> list[str]:
        """The measures, by name."""
        return [name for name in self.rows if name not in EXPORT_COLUMNS]

    def finite_numbers(self, name: str, loop: str) -> list[float]:
        """What a column holds of one loop, as far as it is finite numbers."""
        pairs = zip(self.rows[name], self.rows["loop"], strict=True)
        return [float(value) for value, of in pairs if of == loop and value is not None and math.isfinite(value)]


def read_columns(path: Path) -> RowColumns:
    """All rows of a file.

    Raises:
        UsageError: it holds no rows of a sweep, or pyarrow is not installed.
        SweepFileError: it is damaged.
    """
    found = {".parquet": _read_parquet, ".csv": _read_csv, ".sweepdb": _read_sweepdb}[path.suffix](path)
    lacking = next((name for name in _REQUIRED_COLUMNS if name not in found), None)
    if lacking is not None:
        raise UsageError(f"{path}: holds no rows of a sweep: it has no column '{lacking}'")
    return RowColumns(found)


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    pa = import_pyarrow()
    try:
        found: dict[str, list[Any]] = pa.parquet.read_table(path).to_pydict()
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {one_line(error)}") from None
    return found


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
        found = [row_cells(row, store.measures) for row in store.rows()]
        return {name: [row[k] for row in found] for k, name in enumerate(names)}
    finally:
        store.close()
