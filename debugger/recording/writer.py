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
from ...runtime.files import opened
from ...runtime.frontends import DATABASE
from ...runtime.signals import signals_held
from ...runtime.text import counted
from . import queries
from .cells import shape
from .lock import Lock
from .rows import Batch, Encoder, Types
from .schema import APPLICATION_ID

#: Seconds between the thread's tests for something to write.
INTERVAL = 0.1


@dataclass
class Portion:
    """All that came up to some time: it is written in one transaction, so that a file never has half of it."""

    batches: list[Batch] = field(default_factory=list)
    #: Rows of ``entry``.
    entries: list[tuple[Any, ...]] = field(default_factory=list)
    #: What else is to be written with it.
    then: list[Callable[[Store], None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.batches or self.entries or self.then)


class Store:
    """The open database of a trace that is written; used by one thread at a time. It lets go of the lock when closed.

    Raises:
        UsageError: without a lock given: somebody else writes it.
    """

    def __init__(self, path: Path, lock: Lock | None = None) -> None:
        self.path = path
        self._lock = lock or Lock(target(path))
        try:
            self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        #: How many boundaries were written.
        self.written = 0
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, cached_statements=256)
        queries.open_to_write(self._db)
        self.types = Types()
        for number, dtype, dims in queries.types(self.execute):
            self.types.add(number, dtype, None if dims is None else shape(dims))
        self.encoder = Encoder(self.types, queries.last_number(self.execute, "value") + 1)

    def write(self, portion: Portion) -> None:
        """One transaction."""
        with queries.transaction(self.execute):
            self.insert("entry", portion.entries)
            for batch in portion.batches:
                self.insert("boundary", self.encoder.boundaries(batch))
                for rows in self.encoder.values(batch):
                    self.insert("value", rows)
            for act in portion.then:
                act(self)
            self.insert("type", self.types.take_new())
        self.written += sum(len(batch.ids) for batch in portion.batches)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows into a table."""
        queries.insert(self._db, table, rows)

    def execute(self, sql: str, *parameters: Any) -> list[Any]:
        """What the functions of ``queries.py`` ask with."""
        return self._db.execute(sql, parameters).fetchall()

    def held(self) -> int:
        """How many boundaries the file has, those included that were there before."""
        with contextlib.suppress(sqlite3.Error):
            return queries.count_boundaries(self.execute)
        return self.written

    def close(self) -> None:
        """Make it one plain file, and close it."""
        try:
            queries.close_written(self._db)
        finally:
            try:
                self._db.close()
            finally:
                self._lock.close()


def create(path: Path, rows: Mapping[str, Iterable[Sequence[Any]]], *, force: bool = False) -> Store:
    """A new trace with these rows. ``force``: in place of the trace that is there.

    The file appears under its name with all this in it, or not at all.

    Raises:
        UsageError: there is a file that is no trace, or a trace and not ``force``; or the folder cannot be written to.
    """
    given, path = path, target(path)
    check_target(given, force=force)
    new = unfinished_path(path.parent)
    lock = None
    try:
        lock = Lock(path)
        # Whoever wrote it may just have come to an end.
        check_target(given, force=force)
        db = sqlite3.connect(new, isolation_level=None)
        try:
            queries.make(db, rows)
        finally:
            db.close()
        replace_database(new, path)
        return Store(given, lock)
    except BaseException as error:
        discard(new)
        if lock is not None:
            lock.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise UsageError(f"{given}: cannot be written: {reason(error)}") from None
        raise


def target(path: Path) -> Path:
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
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from None


def _check_target(path: Path, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; give a file, such as {path / 'run.loopdb'}")
    if not target(path).parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{target(path).parent}'")
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
        with opened(path) as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(DATABASE) and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def reason(error: Exception) -> str:
    """What an error of the system or of SQLite says."""
    return error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)


class Writer:
    """Writes what ``take()`` has to give, in a thread of its own, every :data:`INTERVAL` seconds."""

    def __init__(self, store: Store, take: Callable[[], Iterable[Portion]]) -> None:
        self._store = store
        self._take = take
        self._wake = threading.Event()
        self._rested = threading.Condition()
        self._closing = False
        #: Counts what was asked for by :meth:`flush` and what was done.
        self._asked = self._done = 0
        #: Whether it came to its end, with all that there was in the file.
        self._finished = False
        #: Why nothing is written any more.
        self.error: LoopdbgError | None = None
        #: What is wrong with this program itself, if anything.
        self.fault: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="loopdbg-trace", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Wait until everything that ``take`` has now is in the file (or nothing can be written any more)."""
        with self._rested:
            self._asked += 1
            number = self._asked
            self._wake.set()
            while self._done < number and self._thread.is_alive():
                self._rested.wait(INTERVAL)

    def close(self, last: Portion | None = None) -> None:
        """Write what is left, ``last`` after it, and close the file. Signals wait: SQLite crashes where a database is
        closed while a thread writes to it.

        Raises:
            TraceError: something could not be written, now or before.
        """
        with signals_held():
            self._close(last)

    def _close(self, last: Portion | None) -> None:
        try:
            with self._rested:
                self._closing = True
                self._wake.set()
            self._thread.join()
            if not self._finished and self.error is None and self.fault is None:
                self.error = TraceError(f"{self._store.path}: recording stopped: there was no memory to say why")
            # The end stands only behind all of it.
            if self._finished and last is not None:
                self._store.write(last)
        except (sqlite3.Error, OSError) as error:
            self.error = self._explain(error)
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._store.close()
        if self.fault is not None:
            raise self.fault
        if self.error is not None:
            raise self.error

    def _work(self) -> None:
        try:
            while not self._finished:
                self._write_what_waits()
        except (sqlite3.Error, OSError, LoopdbgError) as error:
            self.error = self._explain(error)
        except BaseException as fault:  # of ours, or no memory: raised where the run can see it
            self.fault = fault

    def _write_what_waits(self) -> None:
        self._wake.wait(INTERVAL)
        with self._rested:
            self._wake.clear()
            asked, closing = self._asked, self._closing
        for portion in self._take():
            if portion:
                self._store.write(portion)
        with self._rested:
            self._done = asked
            self._rested.notify_all()
        # Where it was closed before, nothing comes after this.
        self._finished = closing

    def _explain(self, error: Exception) -> LoopdbgError:
        if isinstance(error, LoopdbgError):
            return error
        held = self._store.held()
        told = "nothing of the run is" if not held else f"the first {counted(held, 'boundary is', 'boundaries are')}"
        return TraceError(f"{self._store.path}: recording stopped: {reason(error)}; {told} in the file", Remedy.RESUME)
