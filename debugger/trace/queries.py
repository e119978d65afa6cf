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


def set_writer_pragmas(db: sqlite3.Connection) -> None:
    """Set a mode for concurrent readers and crash safety."""
    db.execute("PRAGMA busy_timeout = 10000")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")


def convert_to_single_file(db: sqlite3.Connection) -> None:
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


def port_type_numbers(ask: Execute, port: int) -> Iterable[Row]:
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
        " (SELECT entry, max(iteration + (min(count, ?1 - id + 1) - 1) * step) AS most FROM boundary WHERE id <= ?1"
        " GROUP BY entry) b"
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

    def sql_condition(self, parameters: list[Any]) -> str:
        """The condition on a boundary of :data:`_BOUNDARIES`; appends its parameters."""
        numbers = {}
        for name, value in vars(self).items():
            if value is not None:
                parameters.append(value)
                numbers[name] = f"?{len(parameters)}"
        terms = [_CONDITIONS[name].format(number) for name, number in numbers.items()]
        for name in {"iteration", "above"} & numbers.keys() if "entry" in numbers else ():
            terms.append(_FROM_ITERATION.format(entry=numbers["entry"], iteration=numbers[name]))
        return " AND ".join(terms) or "true"


ANY_BOUNDARY = BoundaryFilter()
#: Each boundary of the runs, and its number and iteration.
_BOUNDARIES = "boundary b CROSS JOIN json_each(b.times) t"
_ID = "b.id + t.key"
_ITERATION = "b.iteration + t.key * b.step"
# The first terms, on the run, use an index; that of +b.entry would be in another order.
_RUN_OF = "(SELECT coalesce(max(id), 0) FROM boundary WHERE id <= {0})"
_CONDITIONS = {
    "number": f"b.id = {_RUN_OF} AND {_ID} = {{0}}",
    "after": f"b.id >= {_RUN_OF} AND {_ID} > {{0}}",
    "before": f"b.id < {{0}} AND {_ID} < {{0}}",
    "entry": "b.entry = {}",
    "loop": "+b.entry IN (SELECT id FROM entry WHERE loop = {})",
    "around": "+b.entry IN (SELECT id FROM entry WHERE around = {})",
    "outermost": "+b.entry IN (SELECT e.id FROM entry e JOIN loop l ON l.id = e.loop WHERE (l.parent IS NULL) = {})",
    "iteration": f"b.iteration <= {{0}} AND {_ITERATION} = {{0}}",
    "above": f"{_ITERATION} > {{}}",
    "below": f"b.iteration < {{0}} AND {_ITERATION} < {{0}}",
    "until": f"({_ITERATION} >= {{}} OR b.ended IS NOT NULL)",
    "ended": "(b.ended IS NOT NULL) = {}",
}
_FROM_ITERATION = (
    "b.iteration >= (SELECT coalesce(max(iteration), 0) FROM boundary"
    " WHERE entry = {entry} AND iteration <= {iteration})"
)


def boundaries(
    ask: Execute,
    filter_: BoundaryFilter,
    any_of: Collection[BoundaryFilter] = (),
    *,
    newest_first: bool = False,
) -> Iterator[Row]:
    """id, entry, iteration, condition, ended, time of boundaries in order of time: those that match ``filter_`` and, if
    not empty, one of ``any_of``."""
    parameters: list[Any] = []
    condition = filter_.sql_condition(parameters)
    if any_of:
        condition += f" AND ({' OR '.join(f'({alternative.sql_condition(parameters)})' for alternative in any_of)})"
    sql = f"SELECT b.id, {_ID}, b.entry, {_ITERATION}, b.condition, b.ended, t.value FROM {_BOUNDARIES}"
    rows = ask(f"{sql} WHERE {condition} {_order_clause(filter_, newest_first)}", *parameters)
    return _rows_in_order(rows, newest_first)


def _order_clause(filter_: BoundaryFilter, newest_first: bool) -> str:
    # An index has this order. With t.key in it, which rises within a run anyway, SQLite would sort all rows.
    return f"ORDER BY {'b.id' if filter_.entry is None else 'b.iteration'}{' DESC' if newest_first else ''}"


def _rows_in_order(rows: Iterable[Row], newest_first: bool) -> Iterator[Row]:
    """Rows without their first column, the run; with the newest first, each run is reversed."""
    if not newest_first:
        return (row[1:] for row in rows)
    runs = itertools.groupby(rows, lambda row: row[0])
    return (row[1:] for _, run in runs for row in reversed(list(run)))


def count_boundaries(ask: Execute) -> int:
    ((count,),) = ask("SELECT total(count) FROM boundary")
    return int(count)


# -- values: id, type, same, data


def _value_columns(position: str) -> str:
    """The columns of the value at a position of a run."""
    size = "length(v.data) / b.count"
    data = f"CASE b.count WHEN 1 THEN v.data ELSE substr(v.data, 1 + ({position}) * ({size}), {size}) END"
    return f"v.id + {position}, v.type, v.same, {data}"


_VALUE_COLUMNS = _value_columns("t.key")
#: Each value of the runs of port ?1.
_VALUES = "boundary b CROSS JOIN value v ON v.port = ?1 AND v.boundary = b.id CROSS JOIN json_each(b.times) t"


def value(ask: Execute, number: int) -> Iterable[Row]:
    """type, data; not of a value in a longer run, which no other refers to."""
    return ask("SELECT type, data FROM value WHERE id = ?", number)


def values_at_boundary(ask: Execute, port: int, boundary: int) -> Iterable[Row]:
    sql = (
        f"SELECT {_value_columns('?2 - b.id')} FROM value v JOIN boundary b ON b.id = v.boundary"
        f" WHERE v.port = ?1 AND v.boundary = {_RUN_OF.format('?2')} AND ?2 < b.id + b.count"
    )
    return ask(sql, port, boundary)


def values_in_range(ask: Execute, port: int, first: int, last: int) -> Iterable[Row]:
    """boundary, id, type, same, data in a range of boundaries."""
    where = f"b.id BETWEEN {_RUN_OF.format('?2')} AND ?3 AND {_ID} BETWEEN ?2 AND ?3 ORDER BY b.id"
    return ask(f"SELECT {_ID}, {_VALUE_COLUMNS} FROM {_VALUES} WHERE {where}", port, first, last)


def values_at_boundaries(
    ask: Execute, port: int, filter_: BoundaryFilter, *, newest_first: bool = False
) -> Iterable[Row]:
    """Values of a port at matching boundaries, in order of time."""
    parameters: list[Any] = [port]
    condition = filter_.sql_condition(parameters)
    sql = f"SELECT b.id, {_VALUE_COLUMNS} FROM {_VALUES} WHERE {condition} {_order_clause(filter_, newest_first)}"
    return _rows_in_order(ask(sql, *parameters), newest_first)


def newest_values(ask: Execute, port: int | None, entry: int, iteration: int, count: int) -> Iterable[Row]:
    """The last values of an entry up to a boundary, except at its first boundary; newest first."""
    where = f"b.entry = ?2 AND b.iteration <= ?3 AND {_ITERATION} BETWEEN 1 AND ?3 ORDER BY b.iteration DESC"
    rows = ask(f"SELECT b.id, {_VALUE_COLUMNS} FROM {_VALUES} WHERE {where}", port, entry, iteration)
    return itertools.islice(_rows_in_order(rows, newest_first=True), count)


def statistics_until(ask: Execute, port: int, entry: int, iteration: int) -> Iterable[Row]:
    """iteration, step, count, type, data, number, min, max, mean, norm, count of non-finite elements: of the runs of a
    port's values in an entry up to a boundary, oldest first. Longer runs have data instead of numbers."""
    sql = (
        "SELECT b.iteration, b.step, min(b.count, (?3 - b.iteration) / b.step + 1), v.type,"
        " CASE WHEN b.count > 1 THEN v.data END, v.number, v.min, v.max, v.mean, v.norm, v.not_finite"
        " FROM boundary b CROSS JOIN value v ON v.port = ?1 AND v.boundary = b.id"
        " WHERE b.entry = ?2 AND b.iteration <= ?3 ORDER BY b.iteration"
    )
    return ask(sql, port, entry, iteration)


def count_values(ask: Execute, port: int) -> int:
    sql = "SELECT total(coalesce(b.count, 1)) FROM value v LEFT JOIN boundary b ON b.id = v.boundary WHERE v.port = ?"
    ((count,),) = ask(sql, port)
    return int(count)


def value_cells(ask: Execute, port: int) -> Iterator[Row]:
    """boundary, id, type, same, data, number, min, max, mean, norm of all values of a port, and the length of the run;
    longer runs have no numbers."""
    columns = f"{_ID}, {_VALUE_COLUMNS}, v.number, v.min, v.max, v.mean, v.norm, b.count"
    return iter(ask(f"SELECT {columns} FROM {_VALUES} ORDER BY b.id", port))


# -- checkpoints


def newest_checkpoint(ask: Execute) -> Iterable[Row]:
    """id, boundary, state."""
    return ask("SELECT id, boundary, state FROM checkpoint ORDER BY id DESC LIMIT 1")


def checkpoint_parts(ask: Execute, checkpoint: int, loop: int) -> Iterable[Row]:
    """role, type, data."""
    where = "checkpoint = ? AND loop = ? ORDER BY role, number"
    return ask(f"SELECT role, type, data FROM checkpoint_part WHERE {where}", checkpoint, loop)


def checkpoint_scan_elements(ask: Execute, loop: int, around: str, scan: int) -> Iterable[Row]:
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


def delete_unused_scan_elements(ask: Execute, loop: int) -> None:
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


def last_boundary(ask: Execute) -> tuple[int, int]:
    """The number of the newest boundary, and its nanoseconds since the start of the run; zeros if there is none."""
    rows = ask(f"SELECT {_ID}, t.value FROM {_BOUNDARIES} WHERE b.id = (SELECT max(id) FROM boundary)")
    return max(rows, default=(0, 0))


def last_value(ask: Execute) -> int:
    """The number of the newest value; 0: there is none."""
    run = "value v LEFT JOIN boundary b ON b.id = v.boundary"
    rows = list(ask(f"SELECT v.id + coalesce(b.count, 1) - 1 FROM {run} ORDER BY v.id DESC LIMIT 1"))
    return int(rows[0][0]) if rows else 0


def delete_after(ask: Execute, boundary: int, entries: Iterable[int]) -> None:
    """Delete all boundaries after the end of a run, all boundaries of some entries, and the result of the run."""
    for condition, number in (("id > ?", boundary), *(("entry = ?", entry) for entry in entries)):
        list(ask(f"DELETE FROM value WHERE boundary IN (SELECT id FROM boundary WHERE {condition})", number))
        list(ask(f"DELETE FROM boundary WHERE {condition}", number))
    list(ask("DELETE FROM entry WHERE id NOT IN (SELECT entry FROM boundary)"))
    list(ask("DELETE FROM tensor WHERE kind = 'output'"))
    list(ask("DELETE FROM total"))
    list(ask("DELETE FROM meta WHERE key IN ('ended', 'error')"))


def set_error(ask: Execute, message: str) -> None:
    """Record the error that ended the run."""
    list(ask("INSERT OR REPLACE INTO meta VALUES ('error', ?)", message))
