"""The file of a trace as it is read: opening it, asking it, decoding what it holds."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from urllib.parse import quote

import numpy as np

from ...runtime.errors import LoopdbgError, ModelError, Remedy, TraceError, one_line
from ...runtime.frontends import SQLITE_MAGIC
from ...runtime.graph.value_encoding import decode_value
from ...runtime.stable_file import open_regular_file
from . import queries
from .cell_validation import optional, shape, string
from .schema import APPLICATION_ID, SCHEMA_VERSION, TABLE_NAMES

#: Decoded values that other rows refer to are kept, up to so many.
_VALUE_CACHE_ENTRIES = 64
#: What cells that are not what they should be lead to.
DAMAGE_ERRORS = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)
_Returned = TypeVar("_Returned")
_Parameters = ParamSpec("_Parameters")
_Self = TypeVar("_Self", bound="TraceDatabase")


def raises_trace_error(
    method: Callable[Concatenate[_Self, _Parameters], _Returned],
) -> Callable[Concatenate[_Self, _Parameters], _Returned]:
    """A method that reads rows: what it trips over is a trace that is damaged."""

    @wraps(method)
    def wrapped(self: _Self, /, *given: _Parameters.args, **named: _Parameters.kwargs) -> _Returned:
        try:
            return method(self, *given, **named)
        except DAMAGE_ERRORS as error:
            raise self.damage_error(error) from None

    return wrapped


class TraceDatabase:
    """A trace's file, opened read-only; used by one thread at a time.

    Whatever is found broken while reading is a :class:`~...runtime.errors.TraceError`.
    """

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._connection = db
        self._types: dict[int, tuple[str, tuple[int, ...] | None]] = {}
        self._value_cache: OrderedDict[int, Any] = OrderedDict()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a trace.

        Raises:
            TraceError: there is no such file, it is no trace, broken, or of another version.
        """
        path = Path(path)
        header = _header(path)
        if not header.startswith(SQLITE_MAGIC):
            raise TraceError(f"{path}: is no trace", Remedy.RECORD_TRACE)
        if header[68:72] != APPLICATION_ID.to_bytes(4, "big"):
            raise TraceError(f"{path}: is an SQLite file, but no trace", Remedy.RECORD_TRACE)
        trace = None
        try:
            _recover_journal(path)
            trace = cls(path, _connect(path, "ro"))
            version = queries.schema_version(trace.rows)
            if version != SCHEMA_VERSION:
                raise TraceError(
                    f"{path}: is a trace of version {version}; this program reads version {SCHEMA_VERSION}: "
                    f"record it again, or open it with the program that wrote it"
                )
            trace._check_tables()
            trace.validate()
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:  # names of tables are in SQLite's messages
            if trace is not None:
                trace.close()
            raise _read_error(path, error) from None
        except LoopdbgError:
            if trace is not None:
                trace.close()
            raise
        return trace

    def validate(self) -> None:
        """Read what is needed anyway, so that a file that is broken from the start is found when it is opened."""

    def _check_tables(self) -> None:
        """Tables are tables: a view in place of one may have rows without end."""
        there = queries.table_names(self.rows)
        for name in TABLE_NAMES:
            if name not in there:
                raise self.damage_error(f"there is no table {name}")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def rows(self, sql: str, *parameters: Any) -> Iterator[Any]:
        """Rows of a query of your own.

        Raises:
            TraceError: the file is broken, or the query makes no sense.
        """
        try:
            # Not "yield from": that would close the cursor of a query that is left early, maybe after the database.
            for row in self._connection.execute(sql, parameters):  # noqa: UP028
                yield row
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _read_error(self.path, error) from None

    def read_transaction(self) -> AbstractContextManager[None]:
        """In a with block: all reads are of one state, also while the trace is being written."""
        return queries.read_transaction(self.rows)

    def damage_error(self, what: object) -> TraceError:
        """The error that says so."""
        told = one_line(what) if isinstance(what, Exception) else str(what)
        return TraceError(f"{self.path}: the trace is damaged: {told}")

    def value(self, row: int, type_: int, same: int | None, data: bytes | str | None) -> Any:
        """The value of a row of ``value``: its id, type, same and data."""
        if same is None:
            return self.decode_value(type_, data)
        if same not in self._value_cache:
            for other, held in queries.value(self.rows, same):
                if other != type_:
                    raise self.damage_error(f"value {row} refers to {same}, which is of another type")
                self._value_cache[same] = self.decode_value(other, held)
                break
            else:
                raise self.damage_error(f"value {row} refers to {same}, which is not there")
        self._value_cache.move_to_end(same)
        while len(self._value_cache) > _VALUE_CACHE_ENTRIES:
            self._value_cache.popitem(last=False)
        value = self._value_cache[same]
        # Whoever gets it may change it.
        return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value

    @raises_trace_error
    def decode_value(self, type_: int, data: bytes | str | None) -> Any:
        """A value of a row of any table: ``type_`` is its type's number."""
        try:
            return decode_value(*self._type(type_), data)
        except ModelError as error:  # a dtype that nobody knows
            raise self.damage_error(error) from None

    @raises_trace_error
    def dtype_name(self, type_: int) -> str:
        """The name of the dtype that a type's number stands for."""
        return self._type(type_)[0]

    def _type(self, number: int) -> tuple[str, tuple[int, ...] | None]:
        if number not in self._types:
            for id_, dtype, dims in queries.types(self.rows):
                self._types[id_] = string(dtype), optional(shape, dims)
        if number not in self._types:
            raise self.damage_error(f"there is no type {number}")
        return self._types[number]


def _header(path: Path) -> bytes:
    try:
        with open_regular_file(path) as file:
            return file.read(72)
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file") from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)


def _recover_journal(path: Path) -> None:
    """Let SQLite undo what a writer had begun when it was killed while it closed the file: that takes writing."""
    if path.with_name(f"{path.name}-journal").exists():
        db = _connect(path, "rw")
        try:
            queries.recover_journal(db)
        finally:
            db.close()


def _read_error(path: Path, error: Exception) -> TraceError:
    told = (isinstance(error, OSError) and error.strerror) or one_line(error)
    if isinstance(error, OSError) or "disk I/O error" in told:
        return TraceError(f"{path}: cannot be read: {told}")
    if "unable to open" in told or "readonly" in told:
        # The log of a trace that was not closed needs a file beside it.
        hint = "; its recording was cut off: copy it and the file with -wal to a folder that can be written to"
        return TraceError(f"{path}: cannot be opened ({told}){hint if _has_log(path) else ''}")
    return TraceError(f"{path}: the trace is damaged: {told}")


def _has_log(path: Path) -> bool:
    return path.with_name(f"{path.name}-wal").exists()
