"""Writes the file of a trace in a separate thread. A trace has one writer at a time (``lock.py``).

The file is in WAL mode while it grows: commits survive a kill -9, since the kernel has the data; readers can read at
the same time; and only a checkpoint of the log waits for the disk (synchronous = NORMAL: after a power loss the newest
commits may be missing, but the file is consistent). A closed trace is a single file.
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

from ...runtime.atomic_file import discard, move_database_into_place, unfinished_path
from ...runtime.errors import LoopdbgError, Remedy, TraceError, UsageError, missing_folder_error, one_line
from ...runtime.frontends import SQLITE_MAGIC
from ...runtime.safe_file_reading import open_regular_file
from ...runtime.signal_deferral import defer_signals
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
    """The data of one atomic transaction."""

    batches: list[BoundaryBatch] = field(default_factory=list)
    #: Rows of ``entry``.
    entries: list[tuple[Any, ...]] = field(default_factory=list)
    #: Other writes of the transaction.
    deferred_writes: list[Callable[[TraceFileWriter], None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.batches or self.entries or self.deferred_writes)


class TraceFileWriter:
    """The open database of a trace that is written; used by one thread at a time. It releases the lock when closed.

    Raises:
        UsageError: without a ``lock`` argument: another writer has the lock.
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
        #: Number of written boundaries.
        self.boundaries_written = 0
        self._connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        queries.set_writer_pragmas(self._connection)
        self.types = TypeTable()
        for number, dtype, dims in queries.types(self.execute):
            self.types.add(number, dtype, None if dims is None else shape(dims))
        self.encoder = RowEncoder(self.types, queries.last_value(self.execute) + 1)

    def write(self, transaction: WriteTransaction) -> None:
        """Write one transaction."""
        with queries.write_transaction(self.execute):
            self.insert("entry", transaction.entries)
            for batch in transaction.batches:
                runs = batch.runs()
                self.insert("boundary", self.encoder.boundary_rows(batch, runs))
                for rows in self.encoder.value_rows(batch, runs):
                    self.insert("value", rows)
            for deferred in transaction.deferred_writes:
                deferred(self)
            self.insert("type", self.types.pop_new_rows())
        self.boundaries_written += sum(len(batch.ids) for batch in transaction.batches)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows into a table."""
        queries.insert(self._connection, table, rows)

    def execute(self, sql: str, *parameters: Any) -> list[Any]:
        """The ``ask`` argument of the functions of ``queries.py``."""
        return self._connection.execute(sql, parameters).fetchall()

    def count_boundaries(self) -> int:
        """The number of boundaries in the file, including earlier ones."""
        with contextlib.suppress(sqlite3.Error):
            return queries.count_boundaries(self.execute)
        return self.boundaries_written

    def close(self) -> None:
        """Convert to a single file, and close it."""
        try:
            queries.convert_to_single_file(self._connection)
        finally:
            try:
                self._connection.close()
            finally:
                self._lock.close()


def create_trace(path: Path, rows: Mapping[str, Iterable[Sequence[Any]]], *, force: bool = False) -> TraceFileWriter:
    """Create a new trace with these rows. ``force``: replace an existing trace.

    The creation is atomic.

    Raises:
        UsageError: there is a file that is no trace, or a trace without ``force``; or the folder cannot be written to.
    """
    original, path = path, resolve_link(path)
    check_target(original, force=force)
    temporary = unfinished_path(path.parent)
    lock = None
    try:
        lock = TraceLock(path)
        # Check again: another writer may have finished meanwhile.
        check_target(original, force=force)
        db = sqlite3.connect(temporary, isolation_level=None)
        try:
            queries.create_tables(db, rows)
        finally:
            db.close()
        move_database_into_place(temporary, path)
        return TraceFileWriter(original, lock)
    except BaseException as error:
        discard(temporary)
        if lock is not None:
            lock.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise UsageError(f"{original}: cannot be written: {error_text(error)}") from None
        raise


def resolve_link(path: Path) -> Path:
    """The target of a link: the file to replace; SQLite has its files in the same folder."""
    return Path(os.path.realpath(path))


def check_target(path: Path, *, force: bool = False) -> None:
    """Check that a trace can be written to a path.

    Raises:
        UsageError: it cannot; the message has a remedy.
    """
    try:
        _check_target(path, force)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error_text(error)}") from None


def _check_target(path: Path, force: bool) -> None:
    if path.is_dir():
        raise UsageError(
            f"{path}: is a folder; give a file, such as {path / 'run.loopdb'}",
            name=str(path),
            expected="a file",
            got="a folder",
        )
    if not resolve_link(path).parent.is_dir():
        raise missing_folder_error(path, resolve_link(path).parent)
    if path.exists() and not path.is_file():
        raise UsageError(
            f"{path}: is no regular file; it is left as it is, give another name",
            name=str(path),
            expected="a regular file",
        )
    if path.exists() and path.stat().st_size:
        if not is_trace(path):
            raise UsageError(
                f"{path}: is there already, and is no trace; it is left as it is, give another name",
                name=str(path),
                expected="a trace",
            )
        if not force:
            raise UsageError(
                f"{path}: a trace is there already", Remedy.OVERWRITE, name=str(path), expected="a new file"
            )


def is_trace(path: Path) -> bool:
    """True for a file with the header of a trace of any version."""
    try:
        with open_regular_file(path) as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(SQLITE_MAGIC) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def error_text(error: Exception) -> str:
    """The message of a system or SQLite error."""
    return error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)


class TraceWriterThread:
    """Writes the transactions of ``take()`` in a separate thread every :data:`WRITE_INTERVAL_SECONDS` seconds.

    ``on_error``: called in that thread if it ends by an error.
    """

    def __init__(
        self,
        store: TraceFileWriter,
        take: Callable[[], Iterable[WriteTransaction]],
        on_error: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._take_pending = take
        self._on_error = on_error
        self._wake = threading.Event()
        self._flushed = threading.Condition()
        self._closing = False
        #: Numbers of requested and completed calls of :meth:`flush`.
        self._flushes_requested = self._flushes_done = 0
        #: Whether the thread ended with all data written.
        self._finished = False
        #: The error that stopped the writing.
        self.error: LoopdbgError | None = None
        #: An internal error, if any.
        self.internal_error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="loopdbg-trace", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Wait until all current data of ``take`` are in the file (or writing has failed)."""
        with self._flushed:
            self._flushes_requested += 1
            number = self._flushes_requested
            self._wake.set()
            while self._flushes_done < number and self._thread.is_alive():
                self._flushed.wait(WRITE_INTERVAL_SECONDS)

    def close(self, last: WriteTransaction | None = None) -> None:
        """Write the remaining data, then ``last``, and close the file. Signals are deferred: SQLite crashes if a
        database is closed while a thread writes to it.

        Raises:
            TraceError: data could not be written, now or before.
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
            # The result is written only after all other data.
            if self._finished and last is not None:
                self._store.write(last)
        except (sqlite3.Error, OSError) as error:
            self.error = self._recording_error(error)
        finally:
            # Without memory join() can fail, and SQLite crashes if a database is closed while a thread writes to it.
            if not self._thread.is_alive():
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
            self._on_error()
        except BaseException as fault:  # an internal error or MemoryError: raised in the run's thread
            self.internal_error = fault
            self._on_error()

    def _write_pending(self) -> None:
        self._wake.wait(WRITE_INTERVAL_SECONDS)
        with self._flushed:
            self._wake.clear()
            requested, closing = self._flushes_requested, self._closing
        for transaction in self._take_pending():
            if transaction:
                self._store.write(transaction)
        with self._flushed:
            self._flushes_done = requested
            self._flushed.notify_all()
        # If the recorder was closed before, this was the last data.
        self._finished = closing

    def _recording_error(self, error: Exception) -> LoopdbgError:
        if isinstance(error, LoopdbgError):
            return error
        count = self._store.count_boundaries()
        written = (
            "nothing of the run is" if not count else f"the first {count_text(count, 'boundary is', 'boundaries are')}"
        )
        return TraceError(
            f"{self._store.path}: recording stopped: {error_text(error)}; {written} in the file",
            Remedy.RESUME_RECORDING,
            name=str(self._store.path),
            got=error_text(error),
        )
