"""The file of a trace, written by a thread of its own. It has one writer at a time (``lock.py``).

The file is in WAL mode while it grows: what is committed outlives a kill -9 at any moment, since the kernel has it; a
reader can read at the same time; and nothing waits for the disk but a checkpoint of the log (synchronous = NORMAL:
after a power loss the newest commits may be missing, but the file is whole). A trace that was closed is one plain file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import discard, replace_database, unfinished_path
from ...runtime.errors import LoopdbgError, Remedy, TraceError, UsageError, one_line
from ...runtime.frontends import SQLITE_MAGIC
from ...runtime.signal_deferral import defer_signals
from ...runtime.stable_file import open_regular_file
from ...runtime.text import count_text
from . import queries
from .cell_validation import shape
from .lock import TraceLock
from .row_encoder import BoundaryBatch, RowEncoder, TypeTable
from .schema import APPLICATION_ID

#: Seconds between the thread's tests for something to write.
WRITE_INTERVAL_SECONDS = 0.1


@dataclass
class WriteTransaction:
    """All that came up to some time: it is written in one transaction, so that a file never has half of it."""

    batches: list[BoundaryBatch] = field(default_factory=list)
    #: Rows of ``entry``.
    entries: list[tuple[Any, ...]] = field(default_factory=list)
    #: What else is to be written with it.
    deferred_writes: list[Callable[[TraceFileWriter], None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.batches or self.entries or self.deferred_writes)


class TraceFileWriter:
    """The open database of a trace that is written; used by one thread at a time. It lets go of the lock when closed.

    Raises:
        UsageError: without a lock given: somebody else writes it.
    """

    def __init__(self, path: Path, lock: TraceLock | None = None) -> None:
        self.path = path
        self._lock = lock or TraceLock(resolve_link(path))
        try:
            self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        #: How many boundaries were written.
        self.boundaries_written = 0
        self._connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        queries.open_to_write(self._connection)
        self.types = TypeTable()
        for number, dtype, dims in queries.types(self.execute):
            self.types.add(number, dtype, None if dims is None else shape(dims))
        self.encoder = RowEncoder(self.types, queries.last_id(self.execute, "value") + 1)

    def write(self, portion: WriteTransaction) -> None:
        """One transaction."""
        with queries.write_transaction(self.execute):
            self.insert("entry", portion.entries)
            for batch in portion.batches:
                self.insert("boundary", self.encoder.boundary_rows(batch))
                for rows in self.encoder.value_rows(batch):
                    self.insert("value", rows)
            for act in portion.deferred_writes:
                act(self)
            self.insert("type", self.types.pop_new_rows())
        self.boundaries_written += sum(len(batch.ids) for batch in portion.batches)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows into a table."""
        queries.insert(self._connection, table, rows)

    def execute(self, sql: str, *parameters: Any) -> list[Any]:
        """What the functions of ``queries.py`` ask with."""
        return self._connection.execute(sql, parameters).fetchall()

    def count_boundaries(self) -> int:
        """How many boundaries the file has, those included that were there before."""
        with contextlib.suppress(sqlite3.Error):
            return queries.count_boundaries(self.execute)
        return self.boundaries_written

    def close(self) -> None:
        """Make it one plain file, and close it."""
        try:
            queries.close_writer(self._connection)
        finally:
            try:
                self._connection.close()
            finally:
                self._lock.close()


def create_trace(path: Path, rows: Mapping[str, Iterable[Sequence[Any]]], *, force: bool = False) -> TraceFileWriter:
    """A new trace with these rows. ``force``: in place of the trace that is there.

    The file appears under its name with all this in it, or not at all.

    Raises:
        UsageError: there is a file that is no trace, or a trace and not ``force``; or the folder cannot be written to.
    """
    given, path = path, resolve_link(path)
    check_target(given, force=force)
    new = unfinished_path(path.parent)
    lock = None
    try:
        lock = TraceLock(path)
        # Whoever wrote it may just have come to an end.
        check_target(given, force=force)
        db = sqlite3.connect(new, isolation_level=None)
        try:
            queries.create_tables(db, rows)
        finally:
            db.close()
        replace_database(new, path)
        return TraceFileWriter(given, lock)
    except BaseException as error:
        discard(new)
        if lock is not None:
            lock.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise UsageError(f"{given}: cannot be written: {error_text(error)}") from None
        raise


def resolve_link(path: Path) -> Path:
    """The file itself where the path is a link: it is what is replaced, and what SQLite has its files beside."""
    return Path(os.path.realpath(path))


def check_target(path: Path, *, force: bool = False) -> None:
    """Find out whether a trace can be written there.

    Raises:
        UsageError: it cannot; the text says what to do.
    """
    try:
        _check_target(path, force)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error_text(error)}") from None


def _check_target(path: Path, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; give a file, such as {path / 'run.loopdb'}")
    if not resolve_link(path).parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{resolve_link(path).parent}'")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: is no regular file; it is left as it is, give another name")
    if path.exists() and path.stat().st_size:
        if not is_trace(path):
            raise UsageError(f"{path}: is there already, and is no trace; it is left as it is, give another name")
        if not force:
            raise UsageError(f"{path}: a trace is there already", Remedy.OVERWRITE)


def is_trace(path: Path) -> bool:
    """True for a file whose header says that it is a trace, of whatever version."""
    try:
        with open_regular_file(path) as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(SQLITE_MAGIC) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def error_text(error: Exception) -> str:
    """What an error of the system or of SQLite says."""
    return error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)


class TraceWriterThread:
    """Writes what ``take()`` has to give, in a thread of its own, every :data:`WRITE_INTERVAL_SECONDS` seconds."""

    def __init__(self, store: TraceFileWriter, take: Callable[[], Iterable[WriteTransaction]]) -> None:
        self._store = store
        self._take_pending = take
        self._wake = threading.Event()
        self._flushed = threading.Condition()
        self._closing = False
        #: Counts what was asked for by :meth:`flush` and what was done.
        self._flushes_requested = self._flushes_done = 0
        #: Whether it came to its end, with all that there was in the file.
        self._finished = False
        #: Why nothing is written any more.
        self.error: LoopdbgError | None = None
        #: What is wrong with this program itself, if anything.
        self.internal_error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="loopdbg-trace", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Wait until everything that ``take`` has now is in the file (or nothing can be written any more)."""
        with self._flushed:
            self._flushes_requested += 1
            number = self._flushes_requested
            self._wake.set()
            while self._flushes_done < number and self._thread.is_alive():
                self._flushed.wait(WRITE_INTERVAL_SECONDS)

    def close(self, last: WriteTransaction | None = None) -> None:
        """Write what is left, ``last`` after it, and close the file. Signals wait: SQLite crashes where a database is
        closed while a thread writes to it.

        Raises:
            TraceError: something could not be written, now or before.
        """
        with defer_signals():
            self._close(last)

    def _close(self, last: WriteTransaction | None) -> None:
        try:
            with self._flushed:
                self._closing = True
                self._wake.set()
            self._thread.join()
            if not self._finished and self.error is None and self.internal_error is None:
                self.error = TraceError(f"{self._store.path}: recording stopped: there was no memory to say why")
            # The end stands only behind all of it.
            if self._finished and last is not None:
                self._store.write(last)
        except (sqlite3.Error, OSError) as error:
            self.error = self._recording_error(error)
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._store.close()
        if self.internal_error is not None:
            raise self.internal_error
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._finished:
                self._write_pending()
        except (sqlite3.Error, OSError, LoopdbgError) as error:
            self.error = self._recording_error(error)
        except BaseException as fault:  # of ours, or no memory: raised where the run can see it
            self.internal_error = fault

    def _write_pending(self) -> None:
        self._wake.wait(WRITE_INTERVAL_SECONDS)
        with self._flushed:
            self._wake.clear()
            asked, closing = self._flushes_requested, self._closing
        for portion in self._take_pending():
            if portion:
                self._store.write(portion)
        with self._flushed:
            self._flushes_done = asked
            self._flushed.notify_all()
        # Where it was closed before, nothing comes after this.
        self._finished = closing

    def _recording_error(self, error: Exception) -> LoopdbgError:
        if isinstance(error, LoopdbgError):
            return error
        held = self._store.count_boundaries()
        told = "nothing of the run is" if not held else f"the first {count_text(held, 'boundary is', 'boundaries are')}"
        return TraceError(
            f"{self._store.path}: recording stopped: {error_text(error)}; {told} in the file", Remedy.RESUME_RECORDING
        )
