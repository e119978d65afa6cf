"""Read access to the file of a trace: opening, queries, decoding of values."""

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

from ...runtime.errors import LoopdbgError, ModelError, Remedy, TraceError, file_error, one_line
from ...runtime.frontends import SQLITE_MAGIC
from ...runtime.graph.value_encoding import decode_value
from ...runtime.safe_file_reading import open_regular_file
from . import queries
from .cell_validation import read_optional, shape, validate_string
from .schema import APPLICATION_ID, SCHEMA_VERSION, TABLE_NAMES

#: Size of the cache of decoded values that other rows refer to.
_VALUE_CACHE_ENTRIES = 64
#: Exceptions that invalid cells raise.
DAMAGE_ERRORS = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)
_Returned = TypeVar("_Returned")
_Parameters = ParamSpec("_Parameters")
_Self = TypeVar("_Self", bound="TraceDatabase")


def raises_trace_error(
    method: Callable[Concatenate[_Self, _Parameters], _Returned],
) -> Callable[Concatenate[_Self, _Parameters], _Returned]:
    """Decorator of methods that read rows: invalid data raises TraceError for a damaged trace."""

    @wraps(method)
    def wrapped(self: _Self, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
        try:
            return method(self, *args, **kwargs)
        except DAMAGE_ERRORS as error:
            raise self.damage_error(error) from None

    return wrapped


class TraceDatabase:
    """A trace's file, opened read-only; used by one thread at a time.

    Damage that is detected while reading raises :class:`~...runtime.errors.TraceError`.
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
            TraceError: there is no such file, it is no trace, damaged, or of another version.
        """
        path = Path(path)
        header = _read_header(path)
        if not header.startswith(SQLITE_MAGIC):
            raise TraceError(f"{path}: is no trace", Remedy.RECORD_TRACE, name=str(path), expected="a trace")
        if header[68:72] != APPLICATION_ID.to_bytes(4, "big"):
            raise TraceError(
                f"{path}: is an SQLite file, but no trace",
                Remedy.RECORD_TRACE,
                name=str(path),
                expected="a trace",
                got="an SQLite file",
            )
        trace = None
        try:
            _recover_journal(path)
            trace = cls(path, _connect(path, "ro"))
            version = queries.schema_version(trace.rows)
            if version != SCHEMA_VERSION:
                raise TraceError(
                    f"{path}: is a trace of version {version}; this program reads version {SCHEMA_VERSION}: "
                    f"record it again, or open it with the program that wrote it",
                    name=str(path),
                    expected=str(SCHEMA_VERSION),
                    got=str(version),
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
        """Read the basic tables, so that a damaged file is detected when it is opened."""

    def _check_tables(self) -> None:
        """Check that tables are no views, which may have infinite rows."""
        names = queries.table_names(self.rows)
        for name in TABLE_NAMES:
            if name not in names:
                raise self.damage_error(f"there is no table {name}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def rows(self, sql: str, *parameters: Any) -> Iterator[Any]:
        """Rows of a query.

        Raises:
            TraceError: the file is damaged, or the query is invalid.
        """
        try:
            # Not "yield from": it would close the cursor of an unfinished query, possibly after the database.
            for row in self._connection.execute(sql, parameters):  # noqa: UP028
                yield row
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _read_error(self.path, error) from None

    def read_transaction(self) -> AbstractContextManager[None]:
        """Context manager: all reads see one state, even while the trace is being written."""
        return queries.read_transaction(self.rows)

    def damage_error(self, problem: object) -> TraceError:
        """The error for a damaged trace."""
        message = one_line(problem) if isinstance(problem, Exception) else str(problem)
        return TraceError(f"{self.path}: the trace is damaged: {message}", name=str(self.path), got=message)

    def value(self, row: int, type_: int, same: int | None, data: bytes | str | None) -> Any:
        """The value of a row of ``value``: its id, type, same and data."""
        if same is None:
            return self.decode_value(type_, data)
        if same not in self._value_cache:
            for other_type, other_data in queries.value(self.rows, same):
                if other_type != type_:
                    raise self.damage_error(f"value {row} refers to {same}, which is of another type")
                self._value_cache[same] = self.decode_value(other_type, other_data)
                break
            else:
                raise self.damage_error(f"value {row} refers to {same}, which is not there")
        self._value_cache.move_to_end(same)
        while len(self._value_cache) > _VALUE_CACHE_ENTRIES:
            self._value_cache.popitem(last=False)
        value = self._value_cache[same]
        # A copy, since the caller may change it.
        return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value

    @raises_trace_error
    def decode_value(self, type_: int, data: bytes | str | None) -> Any:
        """The value of a row of any table; ``type_``: the number of its type."""
        try:
            return decode_value(*self._value_type(type_), data)
        except ModelError as error:  # an unknown dtype
            raise self.damage_error(error) from None

    @raises_trace_error
    def dtype_name(self, type_: int) -> str:
        """The dtype name of a type's number."""
        return self._value_type(type_)[0]

    def _value_type(self, number: int) -> tuple[str, tuple[int, ...] | None]:
        if number not in self._types:
            for id_, dtype, dims in queries.types(self.rows):
                self._types[id_] = validate_string(dtype), read_optional(shape, dims)
        if number not in self._types:
            raise self.damage_error(f"there is no type {number}")
        return self._types[number]


def _read_header(path: Path) -> bytes:
    try:
        with open_regular_file(path) as file:
            return file.read(72)
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file", name=str(path), expected="a trace", got="no file") from None
    except OSError as error:
        raise file_error(TraceError, path, "cannot be read", error) from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)


def _recover_journal(path: Path) -> None:
    """Let SQLite roll back the changes of a writer that was killed while closing the file; this needs write access."""
    if path.with_name(f"{path.name}-journal").exists():
        db = _connect(path, "rw")
        try:
            queries.recover_journal(db)
        finally:
            db.close()


def _read_error(path: Path, error: Exception) -> TraceError:
    message = (isinstance(error, OSError) and error.strerror) or one_line(error)
    if isinstance(error, OSError) or "disk I/O error" in message:
        return TraceError(f"{path}: cannot be read: {message}", name=str(path), got=message)
    if "unable to open" in message or "readonly" in message:
        # The log of an unclosed trace needs a file in the same folder.
        hint = "; its recording was cut off: copy it and the file with -wal to a folder that can be written to"
        return TraceError(f"{path}: cannot be opened ({message}){hint if _has_write_ahead_log(path) else ''}")
    return TraceError(f"{path}: the trace is damaged: {message}", name=str(path), got=message)


def _has_write_ahead_log(path: Path) -> bool:
    return path.with_name(f"{path.name}-wal").exists()
