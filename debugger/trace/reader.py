"""Reading a trace: one that is complete, one whose writer was killed, or one that is being written."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

import numpy as np

from ...runtime.encoding import decode
from ...runtime.errors import LoopdbgError, ModelError, TraceError, UsageError, one_line
from ...runtime.graph import Graph, StoppedBy
from ...runtime.graph_json import from_json
from ...runtime.model import Data, LoopTotals
from ..boundary import Boundary
from .ports import PortKind
from .schema import APPLICATION_ID, MAGIC, VERSION
from .writer import read_shape

#: Decoded values that other rows refer to are kept, up to so many.
_KEPT = 64


@dataclass(frozen=True)
class RecordedLoop:
    """A loop of the recorded model; ``index`` is its number in the trace."""

    index: int
    path: str
    name: str
    op_type: str
    system: str
    parent: int | None


@dataclass(frozen=True)
class Entry:
    """One run of a loop. ``around``: the iterations of the loops around it, outermost first."""

    id: int
    loop: int
    around: tuple[int, ...]
    trip_count: int | None


@dataclass(frozen=True)
class Mark:
    """Where a boundary stands, without its values; ``id`` counts boundaries in the order of time, from 1."""

    id: int
    entry: int
    iteration: int
    condition: bool | None
    ended: StoppedBy | None
    time: float


#: So many bytes of values are read ahead where boundaries are asked for one after the other.
_AHEAD = 1 << 20
#: What cells that are not what they should be lead to.
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)
_Returned = TypeVar("_Returned")
_Given = ParamSpec("_Given")


def _checked(
    method: Callable[Concatenate[Trace, _Given], _Returned],
) -> Callable[Concatenate[Trace, _Given], _Returned]:
    """A method that reads rows: what it trips over is a trace that is damaged."""

    @wraps(method)
    def wrapped(self: Trace, /, *given: _Given.args, **named: _Given.kwargs) -> _Returned:
        try:
            return method(self, *given, **named)
        except _DAMAGE as error:
            raise self.damaged(error) from None

    return wrapped


class Trace:
    """A recorded run, opened read-only.

    >>> with Trace.open("run.loopdb") as trace:
    ...     for boundary in trace.boundaries("main ▸ sqrt"):
    ...         print(boundary.iteration, boundary.carried["x"])

    A trace is used by one thread at a time. Whatever is found broken while reading is a :class:`TraceError`.
    """

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._types: dict[int, tuple[str, tuple[int, ...] | None]] = {}
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._entries: dict[int, Entry] = {}

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Open a trace.

        Raises:
            TraceError: there is no such file, it is no trace, broken, or of another version.
        """
        path = Path(path)
        header = _header(path)
        if not header.startswith(MAGIC):
            raise TraceError(f"{path}: is no trace; a trace is what 'loopdbg run MODEL --record FILE' writes")
        if header[68:72] != APPLICATION_ID.to_bytes(4, "big"):
            raise TraceError(f"{path}: is an SQLite file, but no trace; 'loopdbg run MODEL --record FILE' writes one")
        trace = None
        try:
            _mend(path)
            trace = cls(path, _connect(path, "ro"))
            (version,) = trace._db.execute("PRAGMA user_version").fetchone()
            if version != VERSION:
                raise TraceError(
                    f"{path}: is a trace of version {version}; this program reads version {VERSION}: "
                    f"record it again, or open it with the program that wrote it"
                )
            _ = trace.loops
        except sqlite3.Error as error:
            if trace is not None:
                trace.close()
            raise _broken(path, error) from None
        except LoopdbgError:
            if trace is not None:
                trace.close()
            raise
        return trace

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Trace {self.path}>"

    def rows(self, sql: str, *parameters: Any) -> Iterator[Any]:
        """Rows of a query of your own.

        Raises:
            TraceError: the file is broken, or the query makes no sense.
        """
        try:
            # Not "yield from": that would close the cursor of a query that is left early, maybe after the database.
            for row in self._db.execute(sql, parameters):  # noqa: UP028
                yield row
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _broken(self.path, error) from None

    @contextmanager
    def still(self) -> Iterator[None]:
        """In a with block: what is read is of one moment, also while the trace is being written."""
        for _ in self.rows("BEGIN"):
            pass
        try:
            yield
        finally:
            for _ in self.rows("ROLLBACK"):
                pass

    def damaged(self, what: object) -> TraceError:
        """The error that says so."""
        text = one_line(what) if isinstance(what, Exception) else str(what)
        return TraceError(f"{self.path}: the trace is damaged: {text}")

    # -- the run

    @cached_property
    @_checked
    def meta(self) -> Mapping[str, Any]:
        """What the trace says of itself; ``docs/traces.md`` lists the keys."""
        return dict(self.rows("SELECT key, value FROM meta WHERE key <> 'graph'"))

    @property
    def model(self) -> str:
        """The file name of the model."""
        return str(self.meta.get("model", "?"))

    @property
    def model_hash(self) -> str:
        """SHA-256 of the model's file; empty where it came from none."""
        return str(self.meta.get("model_hash", ""))

    @property
    @_checked
    def every(self) -> int:
        """Every how-manieth boundary was recorded, besides the first and last of each entry."""
        return int(self.meta.get("every", 1))

    @property
    def nodes(self) -> bool:
        """True where all body values were recorded."""
        return bool(self.meta.get("nodes"))

    @property
    def only(self) -> list[str] | None:
        """The names of the values that were recorded; None: no choice was made."""
        told = self.meta.get("only")
        try:
            return None if told is None else [str(name) for name in json.loads(told)]
        except _DAMAGE as error:
            raise self.damaged(error) from None

    @property
    def whole(self) -> bool:
        """True where every boundary was recorded with all that it carries: a run can go on from any of them."""
        return self.every == 1 and self.only is None

    @property
    def complete(self) -> bool:
        """False where the run was cut off: its program was killed, or still runs; what is here is whole."""
        return "ended" in self.meta or "error" in self.meta

    @property
    def ended(self) -> str | None:
        """``end`` where the model ran to its end, else the limit or interrupt that stopped it; None: neither."""
        found = self.meta.get("ended")
        return None if found is None else str(found)

    @property
    def error(self) -> str:
        """What ended the run where that was an error, a limit or an interrupt; else empty."""
        return str(self.meta.get("error", ""))

    @cached_property
    def graph(self) -> Graph:
        """The model's loop graph, without its large constants."""
        for (text,) in self.rows("SELECT value FROM meta WHERE key = 'graph'"):
            try:
                return from_json(text)
            except ModelError as error:
                raise TraceError(f"{self.path}: {error}") from None
        raise TraceError(f"{self.path}: the trace holds no loop graph")

    @cached_property
    @_checked
    def loops(self) -> Sequence[RecordedLoop]:
        """The model's loops, outer before inner."""
        return [
            RecordedLoop(*row)
            for row in self.rows("SELECT id, path, name, op_type, system, parent FROM loop ORDER BY id")
        ]

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the run."""
        return self._tensors("input")

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs; None where the model did not run to its end."""
        return self._tensors("output") if self.ended == "end" else None

    @property
    @_checked
    def totals(self) -> list[LoopTotals]:
        """How the loops went; empty where the run was cut off."""
        told = []
        for index, iterations, entries, stopped, reasons, trips, seconds in self.rows(
            "SELECT loop, iterations, entries, stopped_by, reasons, trip_count, seconds FROM total ORDER BY loop"
        ):
            loop = self.loops[index]
            counts = {StoppedBy(word): int(count) for word, count in json.loads(reasons).items()}
            by = None if stopped is None else StoppedBy(stopped)
            told.append(LoopTotals(loop.name, loop.path, iterations, entries, by, counts, trips, seconds))
        return told

    @_checked
    def _tensors(self, kind: str) -> dict[str, Data]:
        return {
            name: self.decoded(type_, data)
            for name, type_, data in self.rows(
                "SELECT name, type, data FROM tensor WHERE kind = ? ORDER BY rowid", kind
            )
        }

    # -- boundaries

    def __len__(self) -> int:
        return int(next(self.rows("SELECT count(*) FROM boundary"))[0])

    def index(self, loop: str | int) -> int:
        """The number of a loop given by path, by name or by number.

        Raises:
            UsageError: no such loop, or several of that name.
        """
        found = [one.index for one in self.loops if loop in (one.index, one.path, one.name)]
        if len(found) != 1:
            told = ", ".join(f"'{one.path}'" for one in self.loops) or "none"
            what = "no loop" if not found else "several loops"
            raise UsageError(f"{self.path}: {what} called '{loop}'; there are {told}")
        return found[0]

    @_checked
    def entry(self, number: int) -> Entry:
        """An entry by its number."""
        if number not in self._entries:
            for id_, loop, around, trips in self.rows(
                "SELECT id, loop, around, trip_count FROM entry WHERE id = ?", number
            ):
                self._entries[id_] = Entry(id_, loop, _around(around), trips)
        if number not in self._entries:
            raise self.damaged(f"there is no entry {number}")
        return self._entries[number]

    def entries(self, loop: str | int | None = None) -> Iterator[Entry]:
        """The entries of a loop, or of all, in the order of time."""
        where, given = ("", ()) if loop is None else (" WHERE loop = ?", (self.index(loop),))
        for id_, index, around, trips in self.rows(
            f"SELECT id, loop, around, trip_count FROM entry{where} ORDER BY id", *given
        ):
            try:
                entry = Entry(id_, index, _around(around), trips)
            except _DAMAGE as error:
                raise self.damaged(error) from None
            yield entry

    def marks(self, where: str = "", *given: Any) -> Iterator[Mark]:
        """Boundaries without their values, in the order of time; ``where`` is SQL over ``boundary``."""
        for id_, entry, iteration, condition, ended, time in self.rows(
            f"SELECT id, entry, iteration, condition, ended, time FROM boundary {where or 'ORDER BY id'}", *given
        ):
            try:
                stopped = None if ended is None else StoppedBy(ended)
                mark = Mark(id_, entry, int(iteration), None if condition is None else bool(condition), stopped, time)
            except _DAMAGE as error:
                raise self.damaged(error) from None
            yield mark

    def boundaries(self, loop: str | int | None = None, entry: Sequence[int] | None = None) -> Iterator[Boundary]:
        """Recorded boundaries in the order of time: of one loop, of one entry of it, or all.

        Raises:
            UsageError: no such loop.
        """
        conditions: list[str] = []
        given: list[str | int] = []
        if loop is not None:
            conditions.append("loop = ?")
            given.append(self.index(loop))
        if entry is not None:
            conditions.append("around = ?")
            given.append("/".join(map(str, entry)))
        where = f"WHERE entry IN (SELECT id FROM entry WHERE {' AND '.join(conditions)})" if conditions else ""
        return self._read_all(self.marks(f"{where} ORDER BY id", *given))

    def _read_all(self, marks: Iterator[Mark]) -> Iterator[Boundary]:
        """Boundaries one after the other, read some at a time: as many as are about :data:`_AHEAD` bytes."""
        count = 1
        while some := list(itertools.islice(marks, count)):
            read = self._read_some(some)
            yield from read
            each = sum(_size(b) for b in read) / len(read)
            count = int(min(max(_AHEAD / each, 1), 2 * count, 1000))

    @_checked
    def _read_some(self, marks: Sequence[Mark]) -> list[Boundary]:
        """Boundaries that are near each other, with their values: one query a port instead of one a boundary."""
        loops = [self.entry(mark.entry).loop for mark in marks]
        values: dict[int, dict[PortKind, dict[str, Any]]] = {mark.id: {kind: {} for kind in PortKind} for mark in marks}
        for loop in dict.fromkeys(loops):
            ids = [mark.id for mark, index in zip(marks, loops, strict=True) if index == loop]
            for port, kind, name in self._ports.get(loop, ()):
                for boundary, *row in self.rows(
                    "SELECT boundary, id, type, same, data FROM value WHERE port = ? AND boundary BETWEEN ? AND ?"
                    " ORDER BY boundary",
                    port,
                    ids[0],
                    ids[-1],
                ):
                    if boundary in values:
                        values[boundary][kind][name] = self.value(*row)
        return [self._boundary(mark, values[mark.id]) for mark in marks]

    def boundary(self, loop: str | int, entry: Sequence[int], iteration: int) -> Boundary:
        """One boundary: the one before ``iteration``.

        Raises:
            UsageError: it was not recorded.
        """
        around = "/".join(map(str, entry))
        found = self.marks(
            "WHERE entry IN (SELECT id FROM entry WHERE loop = ? AND around = ?) AND iteration = ?",
            self.index(loop),
            around,
            iteration,
        )
        for mark in found:
            return self.read(mark)
        where = f" of entry {around}" if around else ""
        raise UsageError(f"{self.path}: the boundary before iteration {iteration}{where} of '{loop}' is not recorded")

    @_checked
    def read(self, mark: Mark) -> Boundary:
        """A boundary with its values."""
        return self._boundary(mark, self.values(mark.id, self.entry(mark.entry).loop))

    def _boundary(self, mark: Mark, kinds: Mapping[PortKind, Mapping[str, Any]]) -> Boundary:
        entry = self.entry(mark.entry)
        return Boundary(
            self.loops[entry.loop].path,
            entry.around,
            mark.iteration,
            mark.condition,
            mark.ended,
            kinds[PortKind.CARRIED],
            kinds[PortKind.SCAN],
            kinds[PortKind.NODE],
        )

    @_checked
    def values(self, boundary: int, loop: int) -> dict[PortKind, dict[str, Any]]:
        """What was recorded at a boundary of a loop, by kind and name."""
        found: dict[PortKind, dict[str, Any]] = {kind: {} for kind in PortKind}
        for port, kind, name in self._ports.get(loop, ()):
            for row in self.rows(
                "SELECT id, type, same, data FROM value WHERE port = ? AND boundary = ?", port, boundary
            ):
                found[kind][name] = self.value(*row)
        return found

    def port_values(self, port: int, where: str, *given: Any, newest: bool = False) -> list[Any]:
        """The values of a port at boundaries that ``where`` picks, in the order of time; only the newest of them."""
        order = "ORDER BY v.boundary DESC LIMIT 1" if newest else "ORDER BY v.boundary"
        return [
            self.value(*row)
            for row in self.rows(
                "SELECT v.id, v.type, v.same, v.data FROM value v JOIN boundary b ON b.id = v.boundary"
                f" WHERE v.port = ? AND v.boundary IN (SELECT id FROM boundary WHERE {where}) {order}",
                port,
                *given,
            )
        ]

    @cached_property
    @_checked
    def _ports(self) -> dict[int, list[tuple[int, PortKind, str]]]:
        ports: dict[int, list[tuple[int, PortKind, str]]] = {}
        for id_, loop, kind, name in self.rows("SELECT id, loop, kind, name FROM port ORDER BY id"):
            ports.setdefault(loop, []).append((id_, PortKind(kind), name))
        return ports

    def ports(self, loop: int) -> list[tuple[PortKind, str]]:
        """What was recorded of a loop: kinds and names."""
        return [(kind, name) for _, kind, name in self._ports.get(loop, ())]

    def value(self, row: int, type_: int, same: int | None, data: bytes | str | None) -> Any:
        """The value of a row of ``value``: its id, type, same and data."""
        if same is None:
            return self.decoded(type_, data)
        if same not in self._kept:
            for other, held in self.rows("SELECT type, data FROM value WHERE id = ?", same):
                self._kept[same] = self.decoded(other, held)
                break
            else:
                raise self.damaged(f"value {row} refers to {same}, which is not there")
        self._kept.move_to_end(same)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        value = self._kept[same]
        # Whoever gets it may change it.
        return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value

    @_checked
    def decoded(self, type_: int, data: bytes | str | None) -> Any:
        """A value of a row of any table: ``type_`` is its type's number."""
        try:
            return decode(*self._type(type_), data)
        except ModelError as error:  # a dtype that nobody knows
            raise self.damaged(error) from None

    def dtype(self, type_: int) -> str:
        """The name of the dtype that a type's number stands for."""
        return self._type(type_)[0]

    def _type(self, number: int) -> tuple[str, tuple[int, ...] | None]:
        if number not in self._types:
            for id_, dtype, shape in self.rows("SELECT id, dtype, shape FROM type"):
                self._types[id_] = dtype, read_shape(shape)
        if number not in self._types:
            raise self.damaged(f"there is no type {number}")
        return self._types[number]


def _header(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(72)
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file") from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)


def _mend(path: Path) -> None:
    """Let SQLite undo what a writer had begun when it was killed while it closed the file: that takes writing."""
    if path.with_name(f"{path.name}-journal").exists():
        db = _connect(path, "rw")
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            db.close()


def _size(boundary: Boundary) -> int:
    """About what its values take."""
    kinds = (boundary.carried, boundary.scanned, boundary.computed)
    return 200 + sum(_bytes(value) for kind in kinds for value in kind.values())


def _bytes(value: Any) -> int:
    return sum(map(_bytes, value)) if isinstance(value, list) else getattr(value, "nbytes", 0) + 100


def _around(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("/")) if text else ()


def _broken(path: Path, error: Exception) -> TraceError:
    text = one_line(error)
    if "unable to open" in text or "readonly" in text:
        # The log of a trace that was not closed needs a file beside it.
        hint = "; its recording was cut off: copy it and the file with -wal to a folder that can be written to"
        return TraceError(f"{path}: cannot be opened ({text}){hint if _has_log(path) else ''}")
    return TraceError(f"{path}: the trace is damaged: {text}")


def _has_log(path: Path) -> bool:
    return path.with_name(f"{path.name}-wal").exists()
