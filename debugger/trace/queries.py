"""All SQL statements for trace files; together with the tables (``schema.py``) the only place with SQL.

Most functions take ``ask``, which executes a statement with parameters and returns its rows, from the reader or the
writer of the file. The caller validates the cells.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...runtime.errors import TraceError
from .schema import APPLICATION_ID, SCHEMA_VERSION, TABLES_SQL

Row = Any
Execute = Callable[..., Iterable[Row]]

#: Rows per statement, the rest of each in smaller statements. sqlite3 releases the GIL for each statement (executemany
#: for each row) and regains it late if the engine's thread is busy in Python, so fewer statements are better.
_ROWS_PER_STATEMENT = (1024, 128, 16, 1)
#: SQLite's default limit for parameters of one statement.
_MAX_PARAMETERS = 32_766

# -- the file


def create_tables(db: sqlite3.Connection, rows: Mapping[str, Iterable[Sequence[Any]]]) -> None:
    """Create the tables of a new trace with these rows; on an error the file is unusable."""
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA journal_mode = OFF")  # a journal would be another file to delete
    db.executescript(
        f"BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};{TABLES_SQL}"
    )
    for table, content in rows.items():
        insert(db, table, (tuple(map(_escape_cell, row)) for row in content))
    db.execute("COMMIT")


def open_to_write(db: sqlite3.Connection) -> None:
    """Set a mode for concurrent readers and crash safety."""
    db.execute("PRAGMA busy_timeout = 10000")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")


def close_writer(db: sqlite3.Connection) -> None:
    """Convert to a single file; if a reader is active, the mode stays, which is harmless."""
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("PRAGMA busy_timeout = 200")
        db.execute("PRAGMA journal_mode = DELETE")


def recover_journal(db: sqlite3.Connection) -> None:
    """Let SQLite roll back the changes of a killed writer: any query does so."""
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def schema_version(ask: Execute) -> int:
    ((number,),) = ask("PRAGMA user_version")
    return int(number)


def table_names(ask: Execute) -> set[str]:
    """The names of the tables, without views; also disables functions in the file's schema."""
    for _ in ask("PRAGMA trusted_schema = OFF"):
        pass
    return {name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")}


@contextlib.contextmanager
def read_transaction(ask: Execute) -> Iterator[None]:
    """Context manager: all reads see one state, even while the trace is being written."""
    list(ask("BEGIN"))
    try:
        yield
    finally:
        # Out of memory SQLite rolls back itself; the first error is the one to report.
        with contextlib.suppress(sqlite3.Error, TraceError, MemoryError):
            list(ask("ROLLBACK"))


@contextlib.contextmanager
def write_transaction(ask: Execute) -> Iterator[None]:
    """Context manager: write everything or nothing."""
    list(ask("BEGIN IMMEDIATE"))
    try:
        yield
        list(ask("COMMIT"))
    except BaseException:
        # If the disk is full, there is nothing to roll back.
        with contextlib.suppress(sqlite3.Error):
            list(ask("ROLLBACK"))
        raise


# -- the run


def meta(ask: Execute) -> Iterable[Row]:
    """key, value; without the graph."""
    return ask("SELECT key, value FROM meta WHERE key <> 'graph'")


def graph(ask: Execute) -> Iterable[Row]:
    return ask("SELECT value FROM meta WHERE key = 'graph'")


def loops(ask: Execute) -> Iterable[Row]:
    return ask("SELECT id, path, name, op_type, system, parent FROM loop ORDER BY id")


def ports(ask: Execute) -> Iterable[Row]:
    return ask("SELECT id, loop, kind, name FROM port ORDER BY id")


def types(ask: Execute) -> Iterable[Row]:
    """id, dtype, shape."""
    return ask("SELECT id, dtype, shape FROM type ORDER BY id")


def types_of(ask: Execute, port: int) -> Iterable[Row]:
    """The numbers of the types of a port's values."""
    return ask("SELECT DISTINCT type FROM value WHERE port = ? ORDER BY 1", port)


def tensors(ask: Execute, kind: str) -> Iterable[Row]:
    """name, type, data of the run's inputs or outputs."""
    return ask("SELECT name, type, data FROM tensor WHERE kind = ? ORDER BY rowid", kind)


def totals(ask: Execute) -> Iterable[Row]:
    return ask("SELECT loop, iterations, entries, stopped_by, reasons, trip_count, seconds FROM total ORDER BY loop")


def loop_counts(ask: Execute, until: int) -> Iterable[Row]:
    """For each loop entered up to a boundary: loop, iterations, entries, and the reason of its last end before that."""
    sql = (
        "SELECT e.loop, sum(b.most), count(*), (SELECT x.ended FROM boundary x JOIN entry y ON y.id = x.entry"
        " WHERE y.loop = e.loop AND x.id < ?1 AND x.ended IS NOT NULL ORDER BY x.id DESC LIMIT 1) FROM"
        " (SELECT entry, max(iteration) AS most FROM boundary WHERE id <= ?1 GROUP BY entry) b"
        " JOIN entry e ON e.id = b.entry GROUP BY e.loop"
    )
    return ask(sql, until)


# -- entries


def entry(ask: Execute, number: int) -> Iterable[Row]:
    """id, loop, around, trip_count."""
    return ask("SELECT id, loop, around, trip_count FROM entry WHERE id = ?", number)


def entries(ask: Execute, loop: int | None = None) -> Iterable[Row]:
    """The same for all entries, or those of a loop, in order of time."""
    columns = "SELECT id, loop, around, trip_count FROM entry"
    return ask(f"{columns} ORDER BY id") if loop is None else ask(f"{columns} WHERE loop = ? ORDER BY id", loop)


def find_entry(ask: Execute, loop: int, around: Sequence[int]) -> int | None:
    """The number of a loop's entry by the iterations of the enclosing loops; None: there is none."""
    rows = ask("SELECT id FROM entry WHERE loop = ? AND around = ?", loop, outer_iterations_text(around))
    return next((number for (number,) in rows), None)


def entries_in_iteration(ask: Execute, parent: int | None, around: Sequence[int]) -> list[int]:
    """The numbers of the entries directly in an iteration of a loop, or in the main graph."""
    sql = "SELECT e.id FROM entry e JOIN loop l ON l.id = e.loop WHERE e.around = ? AND l.parent IS ? ORDER BY e.id"
    return [number for (number,) in ask(sql, outer_iterations_text(around), parent)]


def outer_iterations_text(around: Sequence[int]) -> str:
    """Iterations of the enclosing loops as stored: ``3/7``."""
    return "/".join(map(str, around))


# -- boundaries


@dataclass(frozen=True, kw_only=True)
class BoundaryFilter:
    """A conjunction of all conditions that are not None. Numbers of boundaries grow with time."""

    number: int | None = None
    after: int | None = None
    before: int | None = None
    entry: int | None = None
    loop: int | None = None
    #: In these iterations of the enclosing loops, from :func:`outer_iterations_text`.
    around: str | None = None
    #: In any loop of the main graph.
    outermost: bool | None = None
    iteration: int | None = None
    above: int | None = None
    below: int | None = None
    #: From this iteration on, or at the loop's end.
    until: int | None = None
    ended: bool | None = None

    def sql_condition(self) -> tuple[str, list[int | str]]:
        """The condition over the table, and its parameters."""
        parameters = {name: value for name, value in vars(self).items() if value is not None}
        return " AND ".join(_CONDITIONS[name] for name in parameters) or "true", list(parameters.values())


ANY_BOUNDARY = BoundaryFilter()
_CONDITIONS = {
    "number": "id = ?",
    "after": "id > ?",
    "before": "id < ?",
    "entry": "entry = ?",
    "loop": "entry IN (SELECT id FROM entry WHERE loop = ?)",
    "around": "entry IN (SELECT id FROM entry WHERE around = ?)",
    "outermost": "entry IN (SELECT e.id FROM entry e JOIN loop l ON l.id = e.loop WHERE (l.parent IS NULL) = ?)",
    "iteration": "iteration = ?",
    "above": "iteration > ?",
    "below": "iteration < ?",
    "until": "(iteration >= ? OR ended IS NOT NULL)",
    "ended": "(ended IS NOT NULL) = ?",
}


def boundaries(
    ask: Execute,
    filter_: BoundaryFilter,
    any_of: Collection[BoundaryFilter] = (),
    *,
    newest_first: bool = False,
    first_only: bool = False,
) -> Iterable[Row]:
    """id, entry, iteration, condition, ended, time of boundaries in order of time: those that match ``filter_`` and, if
    not empty, one of ``any_of``."""
    condition, parameters = filter_.sql_condition()
    alternatives = [alternative.sql_condition() for alternative in any_of]
    if alternatives:
        condition += f" AND ({' OR '.join(f'({alternative})' for alternative, _ in alternatives)})"
    # An index has this order for the boundaries of an entry.
    order = ("id" if filter_.entry is None else "iteration") + (" DESC" if newest_first else "")
    sql = f"SELECT id, entry, iteration, condition, ended, time FROM boundary WHERE {condition} ORDER BY {order}"
    return ask(sql + (" LIMIT 1" if first_only else ""), *parameters, *itertools.chain(*(p for _, p in alternatives)))


def count_boundaries(ask: Execute) -> int:
    ((count,),) = ask("SELECT count(*) FROM boundary")
    return int(count)


# -- values: id, type, same, data

_VALUE_COLUMNS = "id, type, same, data"


def value(ask: Execute, number: int) -> Iterable[Row]:
    """type, data."""
    return ask("SELECT type, data FROM value WHERE id = ?", number)


def values_at_boundary(ask: Execute, port: int, boundary: int) -> Iterable[Row]:
    return ask(f"SELECT {_VALUE_COLUMNS} FROM value WHERE port = ? AND boundary = ?", port, boundary)


def values_in_range(ask: Execute, port: int, first: int, last: int) -> Iterable[Row]:
    """boundary, id, type, same, data in a range of boundaries."""
    where = "port = ? AND boundary BETWEEN ? AND ?"
    return ask(f"SELECT boundary, {_VALUE_COLUMNS} FROM value WHERE {where} ORDER BY boundary", port, first, last)


def values_at_boundaries(
    ask: Execute, port: int, filter_: BoundaryFilter, *, newest_first: bool = False
) -> Iterable[Row]:
    """Values of a port at matching boundaries, in order of time."""
    condition, parameters = filter_.sql_condition()
    order = "boundary DESC" if newest_first else "boundary"
    condition = f"port = ? AND boundary IN (SELECT id FROM boundary WHERE {condition})"
    return ask(f"SELECT {_VALUE_COLUMNS} FROM value WHERE {condition} ORDER BY {order}", port, *parameters)


def newest_values(ask: Execute, port: int | None, entry: int, iteration: int, count: int) -> Iterable[Row]:
    """The last values of an entry up to a boundary, except at its first boundary; newest first."""
    sql = (
        "SELECT v.id, v.type, v.same, v.data FROM boundary b CROSS JOIN value v ON v.port = ? AND v.boundary = b.id"
        " WHERE b.entry = ? AND b.iteration BETWEEN 1 AND ? ORDER BY b.iteration DESC LIMIT ?"
    )
    return ask(sql, port, entry, iteration, count)


def statistics_until(ask: Execute, port: int, entry: int, iteration: int) -> Iterable[Row]:
    """iteration, number, min, max, mean, norm, count of non-finite elements: of a port's values in an entry up to a
    boundary, oldest first."""
    sql = (
        "SELECT b.iteration, v.number, v.min, v.max, v.mean, v.norm, v.not_finite FROM boundary b"
        " CROSS JOIN value v ON v.port = ? AND v.boundary = b.id"
        " WHERE b.entry = ? AND b.iteration <= ? ORDER BY b.iteration"
    )
    return ask(sql, port, entry, iteration)


def count_values(ask: Execute, port: int) -> int:
    ((count,),) = ask("SELECT count(*) FROM value WHERE port = ?", port)
    return int(count)


def value_cells(ask: Execute, port: int) -> Iterator[Row]:
    """boundary, id, type, same, data, number, min, max, mean, norm of all values of a port."""
    columns = f"boundary, {_VALUE_COLUMNS}, number, min, max, mean, norm"
    return iter(ask(f"SELECT {columns} FROM value WHERE port = ? ORDER BY boundary", port))


# -- checkpoints


def newest_checkpoint(ask: Execute) -> Iterable[Row]:
    """id, boundary, state."""
    return ask("SELECT id, boundary, state FROM checkpoint ORDER BY id DESC LIMIT 1")


def checkpoint_parts(ask: Execute, checkpoint: int, loop: int) -> Iterable[Row]:
    """role, type, data."""
    where = "checkpoint = ? AND loop = ? ORDER BY role, number"
    return ask(f"SELECT role, type, data FROM checkpoint_part WHERE {where}", checkpoint, loop)


def checkpoint_scans(ask: Execute, loop: int, around: str, scan: int) -> Iterable[Row]:
    """type, data, count."""
    where = "loop = ? AND around = ? AND scan = ? ORDER BY first"
    return ask(f"SELECT type, data, count FROM checkpoint_scan WHERE {where}", loop, around, scan)


def count_scan_elements(ask: Execute, loop: int, around: str, scan: int) -> int:
    """The number of stored elements of a scan output."""
    sql = "SELECT coalesce(max(first + count), 0) FROM checkpoint_scan WHERE loop = ? AND around = ? AND scan = ?"
    ((count,),) = ask(sql, loop, around, scan)
    return int(count)


def delete_checkpoints(ask: Execute, until: int) -> None:
    """Delete the checkpoints up to a number; scan elements stay."""
    list(ask("DELETE FROM checkpoint WHERE id <= ?", until))
    list(ask("DELETE FROM checkpoint_part WHERE checkpoint <= ?", until))


def delete_scans(ask: Execute, loop: int) -> None:
    """Delete the scan elements of the entries of a loop without a checkpoint."""
    states = (state for (state_text,) in ask("SELECT state FROM checkpoint") for state in json.loads(state_text))
    used = {state["around"] for state in states if state["loop"] == loop}
    marks = ",".join("?" * len(used))
    list(ask(f"DELETE FROM checkpoint_scan WHERE loop = ? AND around NOT IN ({marks})", loop, *used))


# -- writing


def _escape_cell(cell: Any) -> Any:
    """A cell for SQLite: invalid UTF-8 (in file names) is escaped."""
    return cell.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(cell, str) else cell


def insert(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of one width, many per statement."""
    cells = list(itertools.chain.from_iterable(remaining := list(rows)))
    if not remaining:
        return
    width = len(remaining[0])
    start = 0
    for count in _ROWS_PER_STATEMENT:
        count = min(count, _MAX_PARAMETERS // width)
        values = ",".join([f"({','.join('?' * width)})"] * count)
        statement = f"INSERT INTO {table} VALUES {values}"
        while len(cells) - start >= count * width:
            db.execute(statement, cells[start : start + count * width])
            start += count * width


def last_id(ask: Execute, table: str) -> int:
    """The highest id of a table; 0: it is empty."""
    ((number,),) = ask(f"SELECT coalesce(max(id), 0) FROM {table}")
    return int(number)


def last_boundary_seconds(ask: Execute) -> float:
    """Seconds from the start of the run to the newest boundary."""
    ((seconds,),) = ask("SELECT coalesce(max(time), 0) FROM boundary")
    return float(seconds)


def delete_after(ask: Execute, boundary: int, entries: Iterable[int]) -> None:
    """Delete all boundaries after one, all boundaries of some entries, and the result of the run."""
    for filter_ in (BoundaryFilter(after=boundary), *(BoundaryFilter(entry=number) for number in entries)):
        condition, parameters = filter_.sql_condition()
        list(ask(f"DELETE FROM value WHERE boundary IN (SELECT id FROM boundary WHERE {condition})", *parameters))
        list(ask(f"DELETE FROM boundary WHERE {condition}", *parameters))
    list(ask("DELETE FROM entry WHERE id NOT IN (SELECT entry FROM boundary)"))
    list(ask("DELETE FROM tensor WHERE kind = 'output'"))
    list(ask("DELETE FROM total"))
    list(ask("DELETE FROM meta WHERE key IN ('ended', 'error')"))


def set_error(ask: Execute, message: str) -> None:
    """Record the error that ended the run."""
    list(ask("INSERT OR REPLACE INTO meta VALUES ('error', ?)", message))
