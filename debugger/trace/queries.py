"""All that a trace's file is asked and told, in SQL: with the tables (``schema.py``) the only place that knows any.

Most functions take ``ask``, which runs a statement with its parameters and gives its rows: that of who reads the file,
or of who writes it. What cells hold is checked by who gets them.
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

#: So many rows go into one statement. sqlite3 lets go of the GIL for each, and gets it back only after a while where
#: the engine's thread is busy in Python: the fewer the better.
_ROWS_PER_STATEMENT = 1024
#: What SQLite takes at most as parameters of one statement, in every build of the last years.
_MAX_PARAMETERS = 32_766

# -- the file


def create_tables(db: sqlite3.Connection, rows: Mapping[str, Iterable[Sequence[Any]]]) -> None:
    """The tables of a new trace, with these rows in them; of no use where that fails."""
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA journal_mode = OFF")  # a journal would be another file to remove
    db.executescript(
        f"BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};{TABLES_SQL}"
    )
    for table, content in rows.items():
        insert(db, table, (tuple(map(_escape_cell, row)) for row in content))
    db.execute("COMMIT")


def open_to_write(db: sqlite3.Connection) -> None:
    """Ready to be written while others read, and when the program is killed."""
    db.execute("PRAGMA busy_timeout = 10000")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")


def close_writer(db: sqlite3.Connection) -> None:
    """One plain file again; where somebody reads it just now it stays as it is, which is no harm."""
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("PRAGMA busy_timeout = 200")
        db.execute("PRAGMA journal_mode = DELETE")


def recover_journal(db: sqlite3.Connection) -> None:
    """Let SQLite undo what a writer had begun when it was killed: any question does."""
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def schema_version(ask: Execute) -> int:
    ((number,),) = ask("PRAGMA user_version")
    return int(number)


def table_names(ask: Execute) -> set[str]:
    """The names of what are tables, not views; from here on nothing in the file is run as a program."""
    for _ in ask("PRAGMA trusted_schema = OFF"):
        pass
    return {name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")}


@contextlib.contextmanager
def read_transaction(ask: Execute) -> Iterator[None]:
    """In a with block: all reads are of one state, also while the trace is being written."""
    list(ask("BEGIN"))
    try:
        yield
    finally:
        # Where memory ends SQLite rolls back itself; the error to tell is the first one.
        with contextlib.suppress(sqlite3.Error, TraceError, MemoryError):
            list(ask("ROLLBACK"))


@contextlib.contextmanager
def write_transaction(ask: Execute) -> Iterator[None]:
    """In a with block: all that is written, or nothing."""
    list(ask("BEGIN IMMEDIATE"))
    try:
        yield
        list(ask("COMMIT"))
    except BaseException:
        # The disk may be full: then there is nothing to roll back.
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
    """The numbers of the types that a port's values have."""
    return ask("SELECT DISTINCT type FROM value WHERE port = ? ORDER BY 1", port)


def tensors(ask: Execute, kind: str) -> Iterable[Row]:
    """name, type, data of the run's inputs or outputs."""
    return ask("SELECT name, type, data FROM tensor WHERE kind = ? ORDER BY rowid", kind)


def totals(ask: Execute) -> Iterable[Row]:
    return ask("SELECT loop, iterations, entries, stopped_by, reasons, trip_count, seconds FROM total ORDER BY loop")


def loop_counts(ask: Execute, until: int) -> Iterable[Row]:
    """Of each loop that was entered up to a boundary: loop, iterations, entries, and why it ended last before that."""
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
    """The same of all, or of all of a loop, in the order of time."""
    columns = "SELECT id, loop, around, trip_count FROM entry"
    return ask(f"{columns} ORDER BY id") if loop is None else ask(f"{columns} WHERE loop = ? ORDER BY id", loop)


def find_entry(ask: Execute, loop: int, around: Sequence[int]) -> int | None:
    """The number of a loop's entry in iterations of the loops around it; None: there is none."""
    found = ask("SELECT id FROM entry WHERE loop = ? AND around = ?", loop, outer_iterations_text(around))
    return next((number for (number,) in found), None)


def entries_in_iteration(ask: Execute, parent: int | None, around: Sequence[int]) -> list[int]:
    """The numbers of the entries of all loops that are directly in an iteration of a loop, or in the main graph."""
    sql = "SELECT e.id FROM entry e JOIN loop l ON l.id = e.loop WHERE e.around = ? AND l.parent IS ? ORDER BY e.id"
    return [number for (number,) in ask(sql, outer_iterations_text(around), parent)]


def outer_iterations_text(around: Sequence[int]) -> str:
    """Iterations of the loops around, as they are kept: ``3/7``."""
    return "/".join(map(str, around))


# -- boundaries


@dataclass(frozen=True, kw_only=True)
class BoundaryFilter:
    """Which boundaries: those of which all is so that is not None. Numbers of boundaries grow with time."""

    number: int | None = None
    after: int | None = None
    before: int | None = None
    entry: int | None = None
    loop: int | None = None
    #: In these iterations of the loops around, as :func:`place` has it.
    around: str | None = None
    #: Of any loop of the main graph.
    outermost: bool | None = None
    iteration: int | None = None
    above: int | None = None
    below: int | None = None
    #: From this iteration on, or where the loop ends.
    until: int | None = None
    ended: bool | None = None

    def sql_condition(self) -> tuple[str, list[int | str]]:
        """As a condition over the table, and its parameters."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return " AND ".join(_CONDITIONS[name] for name in given) or "true", list(given.values())


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
    which: BoundaryFilter,
    any_of: Collection[BoundaryFilter] = (),
    *,
    newest_first: bool = False,
    one: bool = False,
) -> Iterable[Row]:
    """id, entry, iteration, condition, ended, time of boundaries in the order of time: those of ``which`` that are one
    of ``any_of`` as well, if that is given. ``one``: the first alone."""
    where, given = which.sql_condition()
    others = [other.sql_condition() for other in any_of]
    if others:
        where += f" AND ({' OR '.join(f'({other})' for other, _ in others)})"
    # An index has the boundaries of an entry in this order.
    order = ("id" if which.entry is None else "iteration") + (" DESC" if newest_first else "")
    sql = f"SELECT id, entry, iteration, condition, ended, time FROM boundary WHERE {where} ORDER BY {order}"
    return ask(sql + (" LIMIT 1" if one else ""), *given, *itertools.chain(*(numbers for _, numbers in others)))


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
    """boundary, id, type, same, data from one boundary to another."""
    where = "port = ? AND boundary BETWEEN ? AND ?"
    return ask(f"SELECT boundary, {_VALUE_COLUMNS} FROM value WHERE {where} ORDER BY boundary", port, first, last)


def values_at_boundaries(
    ask: Execute, port: int, which: BoundaryFilter, *, newest_first: bool = False
) -> Iterable[Row]:
    """Values of a port at some boundaries, in the order of time."""
    where, given = which.sql_condition()
    order = "boundary DESC" if newest_first else "boundary"
    where = f"port = ? AND boundary IN (SELECT id FROM boundary WHERE {where})"
    return ask(f"SELECT {_VALUE_COLUMNS} FROM value WHERE {where} ORDER BY {order}", port, *given)


def newest_values(ask: Execute, port: int | None, entry: int, iteration: int, count: int) -> Iterable[Row]:
    """The last values of an entry up to a boundary, but for the first boundary; newest first."""
    sql = (
        "SELECT v.id, v.type, v.same, v.data FROM boundary b CROSS JOIN value v ON v.port = ? AND v.boundary = b.id"
        " WHERE b.entry = ? AND b.iteration BETWEEN 1 AND ? ORDER BY b.iteration DESC LIMIT ?"
    )
    return ask(sql, port, entry, iteration, count)


def statistics_until(ask: Execute, port: int, entry: int, iteration: int) -> Iterable[Row]:
    """iteration, number, min, max, mean, norm, how many are not finite: of a port's values in an entry up to a
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
    """How many elements of a scan output there are."""
    sql = "SELECT coalesce(max(first + count), 0) FROM checkpoint_scan WHERE loop = ? AND around = ? AND scan = ?"
    ((count,),) = ask(sql, loop, around, scan)
    return int(count)


def delete_checkpoints(ask: Execute, until: int) -> None:
    """Those up to a number; scan elements stay."""
    list(ask("DELETE FROM checkpoint WHERE id <= ?", until))
    list(ask("DELETE FROM checkpoint_part WHERE checkpoint <= ?", until))


def delete_scans(ask: Execute, loop: int) -> None:
    """The elements of those entries of a loop that no checkpoint is in."""
    states = (state for (told,) in ask("SELECT state FROM checkpoint") for state in json.loads(told))
    kept = {state["around"] for state in states if state["loop"] == loop}
    marks = ",".join("?" * len(kept))
    list(ask(f"DELETE FROM checkpoint_scan WHERE loop = ? AND around NOT IN ({marks})", loop, *kept))


# -- writing


def _escape_cell(cell: Any) -> Any:
    """A cell as SQLite takes it: of a name that is not UTF-8 (a file's) what is not, in escapes."""
    return cell.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(cell, str) else cell


def insert(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of one width, many in a statement."""
    told = iter(rows)
    first = next(told, None)
    if first is None:
        return
    told = itertools.chain([first], told)
    width = len(first)
    each = min(_ROWS_PER_STATEMENT, _MAX_PARAMETERS // width)
    one = f"({','.join('?' * width)})"
    while chunk := list(itertools.islice(told, each)):
        if len(chunk) == each:
            values = ",".join([one] * each)
            db.execute(f"INSERT INTO {table} VALUES {values}", list(itertools.chain.from_iterable(chunk)))
        else:
            db.executemany(f"INSERT INTO {table} VALUES {one}", chunk)


def last_id(ask: Execute, table: str) -> int:
    """The highest id of a table; 0: it is empty."""
    ((number,),) = ask(f"SELECT coalesce(max(id), 0) FROM {table}")
    return int(number)


def last_boundary_seconds(ask: Execute) -> float:
    """Seconds from the begin of the run to the newest boundary."""
    ((seconds,),) = ask("SELECT coalesce(max(time), 0) FROM boundary")
    return float(seconds)


def delete_after(ask: Execute, boundary: int, entries: Iterable[int]) -> None:
    """All boundaries after one, all of some entries, and how the run ended."""
    for which in (BoundaryFilter(after=boundary), *(BoundaryFilter(entry=number) for number in entries)):
        where, given = which.sql_condition()
        list(ask(f"DELETE FROM value WHERE boundary IN (SELECT id FROM boundary WHERE {where})", *given))
        list(ask(f"DELETE FROM boundary WHERE {where}", *given))
    list(ask("DELETE FROM entry WHERE id NOT IN (SELECT entry FROM boundary)"))
    list(ask("DELETE FROM tensor WHERE kind = 'output'"))
    list(ask("DELETE FROM total"))
    list(ask("DELETE FROM meta WHERE key IN ('ended', 'error')"))


def set_error(ask: Execute, message: str) -> None:
    """What ended the run."""
    list(ask("INSERT OR REPLACE INTO meta VALUES ('error', ?)", message))
