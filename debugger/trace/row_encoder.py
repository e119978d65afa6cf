"""Encodes batches of boundaries as table rows.

Adjacent boundaries of one entry, of which every value has one element and keeps its type, are a run: one row of
``boundary``, and one of ``value`` for each port. Other boundaries have rows of their own.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.graph.value_encoding import EncodedValue, encode_value, to_little_endian
from ...runtime.kernels.tensor_summary import summarize_rows
from .probes import MISSING
from .schema import RUN_DTYPES

#: Values up to this size are stored again instead of by reference.
INLINE_MAX_BYTES = 64
#: Longest run of boundaries: reading one of them reads the run.
MAX_RUN = 1024


@dataclass
class BoundaryBatch:
    """Boundaries of one loop, in order of time. All sequences and columns have the same length.

    ``columns``: port -> its values, either a sequence with MISSING for absent values, or stacked in one array whose
    first axis is the boundary. ``sources``: port -> key; ports of one key have the same values, whose data are stored
    once. ``step``: iterations between two boundaries of a run.
    """

    loop: int
    ids: Sequence[int] | Array
    entries: Sequence[int] | Array
    iterations: Sequence[int] | Array
    conditions: Sequence[bool | None]
    #: Position in the batch -> reason, for boundaries where the loop ends.
    ended: Mapping[int, str]
    times: Sequence[float] | Array
    columns: Mapping[int, Sequence[Any] | Array]
    sources: Mapping[int, object] = field(default_factory=dict)
    step: int = 1

    def runs(self) -> list[tuple[int, int]]:
        """The first position of each run, and the position after it."""
        count = len(self.ids)
        conditions = [-1 if condition is None else condition for condition in self.conditions]
        goes_on = np.zeros(count + 1, np.bool_)
        goes_on[1:count] = (
            (np.diff(self.ids) == 1)
            & (np.diff(self.entries) == 0)
            & (np.diff(self.iterations) == self.step)
            & (np.diff(np.array(conditions, np.int8)) == 0)
        )
        for k in self.ended:
            goes_on[k : k + 2] = False
        for column in self.columns.values():
            if isinstance(column, np.ndarray):
                if not _can_be_in_run(column.dtype, column.shape[1:]):
                    goes_on[:] = False
                continue
            previous = None
            for k, value in enumerate(column):
                kind = _run_compatibility_key(value)
                if kind is None or kind != previous:
                    goes_on[k] = False
                previous = kind
        starts = np.flatnonzero(~goes_on).tolist()
        return [
            (k, min(k + MAX_RUN, end)) for start, end in itertools.pairwise(starts) for k in range(start, end, MAX_RUN)
        ]


def _can_be_in_run(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    return math.prod(shape) == 1 and dtype.name in RUN_DTYPES


def _run_compatibility_key(value: Any) -> object:
    """Equal for values that can be in one run; None: in none."""
    if type(value) is np.ndarray and _can_be_in_run(value.dtype, value.shape):
        return value.dtype, value.shape
    return MISSING if value is MISSING else None


@dataclass
class _LastStored:
    """The last stored value of a port: the row with the data, and the data."""

    row: int
    type: int
    data: bytes | str | None


class TypeTable:
    """The numbers of (dtype, shape) pairs, and the pairs that are not in the file yet."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[int, ...] | None], int] = {}
        self.new_rows: list[tuple[int, str, str | None]] = []

    def add(self, number: int, dtype: str, shape: tuple[int, ...] | None) -> None:
        """Add a pair that is already in the file."""
        self._numbers[dtype, shape] = number

    def number_for(self, dtype: str, shape: tuple[int, ...] | None) -> int:
        number = self._numbers.get((dtype, shape))
        if number is None:
            number = self._numbers[dtype, shape] = len(self._numbers) + 1
            self.new_rows.append((number, dtype, None if shape is None else json.dumps(list(shape))))
        return number

    def pop_new_rows(self) -> list[tuple[int, str, str | None]]:
        new, self.new_rows = self.new_rows, []
        return new


#: id, boundary, port, type, number, min, max, mean, norm, not_finite, same, data
ValueRow = tuple[Any, ...]


@dataclass
class _SharedRows:
    """The row with the data for each boundary, of a source that several ports share.

    ``entry_boundaries``: first boundaries of entries. Carried values are the initial values there, so ports of one
    result do not share data yet.
    """

    entry_boundaries: frozenset[int]
    rows: dict[int, int] = field(default_factory=dict)

    def row_at(self, boundary: int) -> int | None:
        return self.rows.get(boundary)

    def record_row(self, boundary: int, row: int) -> None:
        if boundary not in self.entry_boundaries:
            self.rows.setdefault(boundary, row)


class RowEncoder:
    """Converts the runs of batches to rows of ``boundary`` and ``value``; ``row``: the number of the next value."""

    def __init__(self, types: TypeTable, row: int = 1) -> None:
        self.types = types
        self._next_row = row
        #: (loop, source) -> its last stored value.
        self._last_stored: dict[object, _LastStored] = {}

    def boundary_rows(self, batch: BoundaryBatch, runs: Sequence[tuple[int, int]]) -> Iterable[tuple[Any, ...]]:
        """Rows of ``boundary``."""
        nanoseconds = np.rint(np.asarray(batch.times) * 1e9).astype(np.int64).tolist()
        return (
            (
                int(batch.ids[k]),
                int(batch.entries[k]),
                int(batch.iterations[k]),
                batch.step,
                end - k,
                None if batch.conditions[k] is None else int(bool(batch.conditions[k])),
                batch.ended.get(k),
                json.dumps(nanoseconds[k:end], separators=(",", ":")),
            )
            for k, end in runs
        )

    def value_rows(self, batch: BoundaryBatch, runs: Sequence[tuple[int, int]]) -> Iterator[list[ValueRow]]:
        """Rows of ``value``, by port."""
        singles = [k for k, end in runs if end == k + 1]
        ids = [int(batch.ids[k]) for k in singles]
        keys = [batch.sources.get(port, port) for port in batch.columns]
        entry_boundaries = frozenset(int(batch.ids[k]) for k in singles if batch.iterations[k] == 0)
        shared = {key: _SharedRows(entry_boundaries) for key in keys if keys.count(key) > 1}
        for key, (port, column) in zip(keys, batch.columns.items(), strict=True):
            yield [
                self._encode_run(int(batch.ids[k]), port, column[k:end])
                for k, end in runs
                if end > k + 1 and column[k] is not MISSING
            ]
            values = [np.asarray(column[k]) if isinstance(column, np.ndarray) else column[k] for k in singles]
            yield self._encode_column((batch.loop, key), port, shared.get(key), ids, values)

    def _encode_run(self, id_: int, port: int, column: Sequence[Any] | Array) -> ValueRow:
        """Encode the values of a run."""
        stacked = np.stack(column) if not isinstance(column, np.ndarray) else column
        data = to_little_endian(np.ascontiguousarray(stacked)).tobytes()
        type_ = self.types.number_for(stacked.dtype.name, stacked.shape[1:])
        is_float = stacked.dtype.kind not in "bui"
        non_finite = int(np.count_nonzero(~np.isfinite(stacked))) if is_float else 0
        return (self._allocate_rows(len(stacked)), id_, port, type_, *[None] * 5, non_finite or None, None, data)

    def _encode_column(
        self, source: object, port: int, shared: _SharedRows | None, ids: Sequence[int], column: Sequence[Any]
    ) -> list[ValueRow]:
        """Encode runs of tensors of one dtype and shape together."""
        rows: list[ValueRow] = []
        start = 0
        while start < len(column):
            first = column[start]
            if first is MISSING:
                start += 1
                continue
            end = start + 1
            if _is_numeric_array(first):
                dtype, shape = first.dtype, first.shape
                while end < len(column):
                    value = column[end]
                    if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                        break
                    end += 1
                stacked = np.stack(column[start:end]) if end - start > 1 else first[np.newaxis]
                rows += self._encode_tensors(source, port, shared, ids[start:end], stacked)
            else:
                rows.append(self._encode_value(source, port, shared, ids[start], encode_value(first)))
            start = end
        return rows

    def _encode_value(
        self, source: object, port: int, shared: _SharedRows | None, id_: int, encoded: EncodedValue
    ) -> ValueRow:
        dtype, shape, data = encoded
        type_ = self.types.number_for(dtype, shape)
        row = self._allocate_rows(1)
        last = self._last_stored.get(source)
        ref = shared.row_at(id_) if shared is not None else None
        if ref is None and last is not None and last.type == type_ and last.data == data:
            ref = last.row
        if ref is None or data is None:
            self._last_stored[source] = _LastStored(row, type_, data)
            ref = None
        if shared is not None:
            shared.record_row(id_, ref or row)
        return (row, id_, port, type_, None, None, None, None, None, None, ref, data if ref is None else None)

    def _encode_tensors(
        self, source: object, port: int, shared: _SharedRows | None, ids: Sequence[int], stacked: Array
    ) -> list[ValueRow]:
        """Encode tensors of one dtype and shape."""
        shape = stacked.shape[1:]
        type_ = self.types.number_for(stacked.dtype.name, shape)
        size = math.prod(shape)
        count = len(ids)
        nbytes = size * stacked.dtype.itemsize
        first = self._allocate_rows(count)
        if size == 1:
            numbers, non_finite = _number_cells(stacked.reshape(count))
            nulls = [None] * count
            columns: tuple[list[Any], ...] = (numbers, nulls, nulls, nulls, nulls, non_finite)
        else:
            columns = ([None] * count, *_statistics_cells(stacked.reshape(count, size)))
        data = to_little_endian(np.ascontiguousarray(stacked)).tobytes()
        rows = zip(range(first, first + count), ids, [port] * count, [type_] * count, *columns, strict=True)
        if nbytes <= INLINE_MAX_BYTES:
            pieces = [data[k : k + nbytes] for k in range(0, count * nbytes, nbytes)] if nbytes else [b""] * count
            return [(*row, None, piece) for row, piece in zip(rows, pieces, strict=True)]
        encoded: list[ValueRow] = []
        last = self._last_stored.get(source)
        for k, row in enumerate(rows):
            ref = shared.row_at(ids[k]) if shared is not None else None
            if ref is not None:
                encoded.append((*row, ref, None))
                continue
            piece = data[k * nbytes : (k + 1) * nbytes]
            if last is not None and last.type == type_ and last.data == piece:
                encoded.append((*row, last.row, None))
            else:
                last = _LastStored(first + k, type_, piece)
                encoded.append((*row, None, piece))
            if shared is not None:
                shared.record_row(ids[k], last.row)
        if last is not None:
            self._last_stored[source] = last
        return encoded

    def _allocate_rows(self, count: int) -> int:
        row = self._next_row
        self._next_row += count
        return row


def _is_numeric_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind not in "OUST"


def _number_cells(flat: Array) -> tuple[list[Any], list[int | None]]:
    """One number each; None for values without an SQL number."""
    count = len(flat)
    kind = flat.dtype.kind
    if kind in "bi":
        return flat.astype(np.int64).tolist(), [None] * count
    if kind == "u":
        # Above the largest int64 SQLite has only floating-point numbers.
        return [n if n < 1 << 63 else float(n) for n in flat.tolist()], [None] * count
    if kind == "c":
        finite = np.isfinite(flat)
        return [None] * count, [None if is_finite else 1 for is_finite in finite.tolist()]
    with np.errstate(all="ignore"):
        numbers_ = flat.astype(np.float64)
    is_integer = "int" in flat.dtype.name  # int4 and the like
    numbers = [int(n) if is_integer else None if n != n else n for n in numbers_.tolist()]
    return numbers, [None if is_finite else 1 for is_finite in np.isfinite(numbers_).tolist()]


def _statistics_cells(rows: Array) -> tuple[list[Any], ...]:
    """Minimum, maximum, mean and norm over the finite elements of each row, and the number of others; for complex
    numbers of the magnitude."""
    summaries = summarize_rows(rows)
    if summaries is None:
        nulls = [None] * len(rows)
        return nulls, nulls, nulls, nulls, nulls
    *numbers, non_finite = (column.tolist() for column in summaries)
    return *([None if n != n else n for n in column] for column in numbers), [count or None for count in non_finite]
