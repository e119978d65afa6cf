"""The rows of a sweep as Parquet or CSV, in pieces: there may be millions of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import atomic_text
from ...runtime.errors import UsageError
from ..formats.csv_text import row_writer
from ..formats.tables import arrow, written
from .row import Row
from .store import Store

#: Rows of one piece.
_PIECE = 20_000
#: The columns, and the types that Arrow calls them.
COLUMNS = {
    **dict.fromkeys(("id", "model", "set", "case", "loop"), "string"),
    **dict.fromkeys(("seed", "iterations"), "int64"),
    **dict.fromkeys(("stopped_by", "status"), "string"),
    "bad_iteration": "int64",
    **dict.fromkeys(("bad_node", "message", "outputs"), "string"),
    "seconds": "float64",
    "versions": "string",
}


def check_form(path: Path) -> None:
    """See, before anything runs, that rows can be written there.

    Raises:
        UsageError: the form is unknown, pyarrow is not installed, there is no such folder, or the file that is there
            holds no rows of a sweep.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise UsageError(f"{path}: rows are written as .parquet or .csv")
    if path.suffix == ".parquet":
        arrow()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: is a folder; give a file" if path.is_dir() else f"{path}: there is no such folder")
    if path.is_file() and path.stat().st_size and not _holds_rows(path):
        raise UsageError(
            f"{path}: is there already, and holds no rows of a sweep; it is left as it is, give another name"
        )


def _holds_rows(path: Path) -> bool:
    """Whether an earlier sweep wrote a file, or another program with its columns."""
    try:
        if path.suffix == ".parquet":
            names = list(arrow().parquet.read_schema(path).names)
        else:
            with path.open(encoding="utf-8", newline="") as file:
                names = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error):  # pyarrow's own derive from ValueError
        return False
    return names[: len(COLUMNS)] == list(COLUMNS)


def export(store: Store, path: Path) -> int:
    """Write all rows; returns how many.

    Raises:
        UsageError: the form is unknown, or pyarrow is not installed.
        OSError: the file cannot be written.
    """
    write = _parquet if path.suffix == ".parquet" else _csv
    return write(store, path)


def cells(row: Row, measures: Sequence[str]) -> list[Any]:
    """A row as it is written, in the order of the columns, the measures behind them."""
    told = [getattr(row, name) for name in COLUMNS]
    return [*told, *(row.measures[name] for name in measures)]


def _parquet(store: Store, path: Path) -> int:
    pa = arrow()
    types = {**{name: getattr(pa, kind)() for name, kind in COLUMNS.items()}, **_measures(store, pa)}
    count = 0
    with written(path) as append:
        for piece in _pieces(store.rows()):
            columns = zip(*(cells(row, store.measures) for row in piece), strict=True)
            append({name: pa.array(column, types[name]) for name, column in zip(types, columns, strict=True)})
            count += len(piece)
        if not count:
            append({name: pa.array([], kind) for name, kind in types.items()})
    return count


def _measures(store: Store, pa: Any) -> dict[str, Any]:
    return {name: pa.float64() for name in store.measures}


def _csv(store: Store, path: Path) -> int:
    count = 0
    with atomic_text(path, newline="") as file:
        write = row_writer(file)
        write([*COLUMNS, *store.measures])
        for row in store.rows():
            write(cells(row, store.measures))
            count += 1
    return count


def _pieces(rows: Iterable[Row]) -> Iterator[list[Row]]:
    source = iter(rows)
    while piece := list(islice(source, _PIECE)):
        yield piece
