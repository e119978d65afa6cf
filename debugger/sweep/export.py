"""Export the rows of a sweep as Parquet or CSV, in chunks: there may be millions of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import atomic_text
from ...runtime.errors import UsageError
from ..export_formats.parquet import import_pyarrow, parquet_writer
from ..export_formats.spreadsheet_csv import row_writer
from .row import Row
from .sweep_store import SweepStore

#: Rows of one chunk.
_CHUNK_ROWS = 20_000
#: The columns, and their Arrow types.
EXPORT_COLUMNS = {
    **dict.fromkeys(("id", "model", "set", "case", "loop"), "string"),
    **dict.fromkeys(("seed", "iterations"), "int64"),
    **dict.fromkeys(("stopped_by", "status"), "string"),
    "bad_iteration": "int64",
    **dict.fromkeys(("bad_node", "message", "outputs"), "string"),
    "seconds": "float64",
    "versions": "string",
}


def check_export_path(path: Path) -> None:
    """Check, before anything runs, that rows can be written there.

    Raises:
        UsageError: unknown format, pyarrow is not installed, no such folder, or the existing file holds no rows of a
            sweep.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise UsageError(f"{path}: rows are written as .parquet or .csv", name=str(path), expected=".parquet or .csv")
    if path.suffix == ".parquet":
        import_pyarrow()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: is a folder; give a file" if path.is_dir() else f"{path}: there is no such folder")
    if path.is_file() and path.stat().st_size and not _contains_rows(path):
        raise UsageError(
            f"{path}: is there already, and holds no rows of a sweep; it is left as it is, give another name"
        )


def _contains_rows(path: Path) -> bool:
    """Whether a file was written by an earlier sweep, or has its columns."""
    try:
        if path.suffix == ".parquet":
            names = list(import_pyarrow().parquet.read_schema(path).names)
        else:
            with path.open(encoding="utf-8", newline="") as file:
                names = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error):  # pyarrow's errors derive from ValueError
        return False
    return names[: len(EXPORT_COLUMNS)] == list(EXPORT_COLUMNS)


def export_rows(store: SweepStore, path: Path) -> int:
    """Write all rows; return their number.

    Raises:
        UsageError: unknown format, or pyarrow is not installed.
        OSError: the file cannot be written.
    """
    write = _write_parquet if path.suffix == ".parquet" else _write_csv
    return write(store, path)


def row_cells(row: Row, measures: Sequence[str]) -> list[Any]:
    """Return a row for export, in the order of the columns, followed by the measures."""
    cells = [getattr(row, name) for name in EXPORT_COLUMNS]
    return [*cells, *(row.measures[name] for name in measures)]


def _write_parquet(store: SweepStore, path: Path) -> int:
    pa = import_pyarrow()
    types = {**{name: getattr(pa, kind)() for name, kind in EXPORT_COLUMNS.items()}, **_measure_types(store, pa)}
    count = 0
    with parquet_writer(path) as append:
        for chunk in _row_chunks(store.rows()):
            columns = zip(*(row_cells(row, store.measures) for row in chunk), strict=True)
            append({name: pa.array(column, types[name]) for name, column in zip(types, columns, strict=True)})
            count += len(chunk)
        if not count:
            append({name: pa.array([], kind) for name, kind in types.items()})
    return count


def _measure_types(store: SweepStore, pa: Any) -> dict[str, Any]:
    return {name: pa.float64() for name in store.measures}


def _write_csv(store: SweepStore, path: Path) -> int:
    count = 0
    with atomic_text(path, newline="") as file:
        write = row_writer(file)
        write([*EXPORT_COLUMNS, *store.measures])
        for row in store.rows():
            write(row_cells(row, store.measures))
            count += 1
    return count


def _row_chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    source = iter(rows)
    while chunk := list(islice(source, _CHUNK_ROWS)):
        yield chunk
