"""The rows of a sweep in one SQLite file: written as they arrive, consistent after any end of the program."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import discard, move_database_into_place, unfinished_path
from ...runtime.errors import LoopdbgError, UsageError, file_error, one_line
from .job import SweepJob
from .row import RESULT_COLUMNS, Row, RowCells, Status
from .schedule import Interval, missing_intervals

#: Version of the file format; other versions are not read.
FORMAT_VERSION = 1
_COLUMN_TYPES = {
    **dict.fromkeys(("number", "loop", "seed", "iterations", "bad_iteration"), "INTEGER"),
    "seconds": "REAL",
}
#: Index of the status in a row.
_STATUS_POSITION = 8
#: Columns of the view for SQL queries by users.
_VIEW_COLUMNS = "iterations, stopped_by, status, bad_iteration, bad_node, message, outputs, seconds"


class SweepFileError(LoopdbgError):
    """A file with the rows of a sweep cannot be read or written."""


def is_sweep_file(path: str | Path) -> bool:
    """Whether an SQLite file holds the rows of a sweep."""
    try:
        database = sqlite3.connect(f"file:{Path(path).absolute()}?mode=ro", uri=True)
        try:
            return bool(database.execute("SELECT value FROM sweep_about WHERE name = 'form'").fetchone())
        finally:
            database.close()
    except sqlite3.Error:
        return False


class SweepStore:
    """The file. It is read and written by one program at a time."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._database = database
        self.measures: tuple[str, ...] = ()

    @classmethod
    def create(cls, path: Path, jobs: Sequence[SweepJob], versions: str) -> SweepStore:
        """Create a file; the rows of an earlier sweep are replaced once the new file exists.

        Raises:
            SweepFileError: it cannot be written, or the existing file has no rows of a sweep.
        """
        path = Path(os.path.realpath(path))
        if path.exists() and path.stat().st_size and not is_sweep_file(path):
            raise SweepFileError(f"{path}: holds no rows of a sweep; it is left as it is, give another name")
        temporary = unfinished_path(path.parent)
        try:
            store = cls(sqlite3.connect(temporary), path)
            try:
                store.measures = jobs[0].spec.measures
                store._create_tables(jobs, versions)
            finally:
                store.close()
            move_database_into_place(temporary, path)
        except sqlite3.Error as error:
            raise SweepFileError(f"{path}: cannot be written: {one_line(error)}") from None
        except OSError as error:
            raise file_error(SweepFileError, path, "cannot be written", error) from None
        finally:
            discard(temporary)
        store._database = _open_database(path)
        return store

    @classmethod
    def open(cls, path: Path) -> SweepStore:
        """Open an existing file.

        Raises:
            SweepFileError: it is no file of a sweep, or damaged.
        """
        if not path.exists():
            raise SweepFileError(f"{path}: no such file; a sweep that is written there makes it")
        if not is_sweep_file(path):
            raise SweepFileError(f"{path}: holds no rows of a sweep")
        store = cls(_open_database(path), path)
        if store._read_metadata("form") != FORMAT_VERSION:
            raise SweepFileError(
                f"{path}: has form {store._read_metadata('form')}; this program reads form {FORMAT_VERSION}"
            )
        store.measures = tuple(store._read_metadata("wanted")["measures"])
        return store

    def _create_tables(self, jobs: Sequence[SweepJob], versions: str) -> None:
        columns = ", ".join(f"{name} {_COLUMN_TYPES.get(name, 'TEXT')}" for name in RESULT_COLUMNS)
        measures = "".join(f", {_quote_identifier(name)} REAL" for name in self.measures)
        view_columns = _VIEW_COLUMNS + "".join(f", r.{_quote_identifier(name)}" for name in self.measures)
        self._database.execute("PRAGMA journal_mode = OFF")  # a failed file is removed
        self._database.executescript(
            f"""
            CREATE TABLE sweep_about (name TEXT PRIMARY KEY, value TEXT);
            CREATE TABLE models (model INTEGER PRIMARY KEY, path TEXT, hash TEXT, cases TEXT, fingerprint TEXT,
                                 count INTEGER, weights TEXT);
            CREATE TABLE loops (model INTEGER, loop INTEGER, path TEXT, PRIMARY KEY (model, loop));
            CREATE TABLE results (model INTEGER, {columns}{measures}, PRIMARY KEY (model, number, loop)) WITHOUT ROWID;
            CREATE VIEW rows AS SELECT m.hash || '/' || m.cases || '/' || r.name AS id, m.path AS model,
                m.cases AS "set", r.name AS "case", coalesce(l.path, '') AS loop, r.seed, {view_columns}
                FROM results r JOIN models m USING (model) LEFT JOIN loops l ON l.model = r.model AND l.loop = r.loop;
            """
        )
        metadata = {"form": FORMAT_VERSION, "versions": versions, "wanted": jobs[0].spec.as_json()}
        with self._database:
            self._database.executemany(
                "INSERT INTO sweep_about VALUES (?, ?)", [(name, json.dumps(value)) for name, value in metadata.items()]
            )
            for job in jobs:
                identity = (job.number, job.path, job.hash, job.cases.name, job.cases.fingerprint, len(job.cases))
                self._database.execute("INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?)", (*identity, job.weights))
                loops = [(job.number, k, path) for k, path in enumerate(job.loops)]
                self._database.executemany("INSERT INTO loops VALUES (?, ?, ?)", loops)

    def _read_metadata(self, name: str) -> Any:
        try:
            (text,) = self._database.execute("SELECT value FROM sweep_about WHERE name = ?", (name,)).fetchone()
        except (sqlite3.Error, TypeError) as error:
            raise SweepFileError(f"{self.path}: damaged: {one_line(error)}") from None
        return json.loads(text)

    @property
    def versions(self) -> str:
        """The versions that the rows depend on, besides the models."""
        return str(self._read_metadata("versions"))

    def resume(self, jobs: Sequence[SweepJob]) -> None:
        """Check that the file belongs to this sweep; the number of random cases may have grown.

        Raises:
            UsageError: it belongs to another sweep; the text names the difference.
        """
        old_spec, new_spec = self._read_metadata("wanted"), jobs[0].spec.as_json()
        for name, value in new_spec.items():
            if old_spec.get(name) != value:
                raise UsageError(
                    f"{self.path}: was made with {name} {old_spec.get(name)!r}, and now it is {value!r}",
                    name=name,
                    expected=repr(old_spec.get(name)),
                    got=repr(value),
                )
        models = self._database.execute("SELECT path, hash, fingerprint FROM models ORDER BY model").fetchall()
        for job, (path, hash_, cases) in zip(jobs, models, strict=False):
            if job.hash != hash_:
                raise UsageError(f"{self.path}: was made with {path} as it was then: it is another file now")
            if job.cases.fingerprint != cases:
                raise UsageError(
                    f"{self.path}: was made with other cases than those of '{job.cases.name}'", name=job.cases.name
                )
        if len(models) != len(jobs):
            raise UsageError(
                f"{self.path}: was made with {len(models)} models, and now there are {len(jobs)}",
                name="models",
                expected=str(len(models)),
                got=str(len(jobs)),
            )
        with self._database:
            for job in jobs:
                self._database.execute(
                    "UPDATE models SET count = max(count, ?) WHERE model = ?", (len(job.cases), job.number)
                )

    def remaining_cases(self, job: SweepJob) -> list[Interval]:
        """Return the cases without rows."""
        # All rows of a case are written at once.
        query = "SELECT DISTINCT number FROM results WHERE model = ? ORDER BY number"
        return missing_intervals((number for (number,) in self._database.execute(query, (job.number,))), len(job.cases))

    def add_rows(self, job: int, rows: Sequence[RowCells]) -> None:
        """Write rows of complete cases.

        Raises:
            SweepFileError: the file cannot be written.
        """
        placeholders = ", ".join("?" * (1 + len(RESULT_COLUMNS) + len(self.measures)))
        try:
            with self._database:
                self._database.executemany(
                    f"INSERT OR IGNORE INTO results VALUES ({placeholders})", [(job, *row) for row in rows]
                )
        except sqlite3.Error as error:
            raise SweepFileError(f"{self.path}: cannot be written: {one_line(error)}") from None

    def query(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the result of an SQL query."""
        return self._database.execute(text, parameters).fetchall()

    def row_count(self) -> int:
        """Return the number of rows."""
        return int(self.query("SELECT count(*) FROM results")[0][0])

    def rows(self) -> Iterator[Row]:
        """Return all rows, in the order of models, cases and loops."""
        yield from self.rows_where("1 ORDER BY r.model, r.number, r.loop")

    def rows_where(self, condition: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Return some rows; the condition can use ``r``, the results, and ``m``, the models."""
        measures = "".join(f", r.{_quote_identifier(name)}" for name in self.measures)
        query = f"""SELECT m.hash || '/' || m.cases || '/' || r.name, m.path, m.cases, r.name, coalesce(l.path, ''),
            r.seed, r.iterations, r.stopped_by, r.status, r.bad_iteration, r.bad_node, r.message, r.outputs, r.seconds
            {measures} FROM results r JOIN models m USING (model)
            LEFT JOIN loops l ON l.model = r.model AND l.loop = r.loop WHERE {condition}"""
        versions = self.versions
        for cells in self._database.execute(query, parameters):
            yield row_from_cells(cells[:14], dict(zip(self.measures, cells[14:], strict=True)), versions)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def row_from_cells(cells: Sequence[Any], measures: dict[str, float | None], versions: str) -> Row:
    """Return a row from the columns ``id`` to ``seconds``, as in :class:`Row` without the measures."""
    values = [*cells[:-1], measures, cells[-1], versions]
    values[_STATUS_POSITION] = Status(values[_STATUS_POSITION])
    return Row(*values)


def _open_database(path: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(path)
        # One writer with concurrent readers; after a system crash the last second may be missing.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error as error:
        raise SweepFileError(f"{path}: cannot be opened: {one_line(error)}") from None
    return database


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
