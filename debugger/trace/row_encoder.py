"""Batches of boundaries as rows of the tables: encoded together, since most boundaries of a loop are alike."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.graph.value_encoding import EncodedValue, encode_value, to_little_endian
from ..statistics.streaming_stats import summarize_rows
from .probes import MISSING

#: What is not larger is stored again rather than referred to.
INLINE_MAX_BYTES = 64


@dataclass
class BoundaryBatch:
    """Boundaries of one loop, in the order of time. All sequences are of one length, and so is each column.

    ``columns``: port -> its values, either one after the other, MISSING where a boundary has none, or stacked in one
    array whose first axis is the boundary. ``sources``: port -> key; ports of one key have the same values, whose data
    are stored once.
    """

    loop: int
    ids: Sequence[int]
    entries: Sequence[int]
    iterations: Sequence[int]
    conditions: Sequence[bool | None]
    #: Of the boundaries where the loop ends: position in the batch -> why.
    ended: Mapping[int, str]
    times: Sequence[float]
    columns: Mapping[int, Sequence[Any] | Array]
    sources: Mapping[int, object] = field(default_factory=dict)


@dataclass
class _LastStored:
    """What a port held last: the row with the data, and the data."""

    row: int
    type: int
    data: bytes | str | None


class TypeTable:
    """The numbers of (dtype, shape), and which of them are new to the file."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[int, ...] | None], int] = {}
        self.new_rows: list[tuple[int, str, str | None]] = []

    def add(self, number: int, dtype: str, shape: tuple[int, ...] | None) -> None:
        """Take note of one that the file has already."""
        self._numbers[dtype, shape] = number

    def number_for(self, dtype: str, shape: tuple[int, ...] | None) -> int:
        found = self._numbers.get((dtype, shape))
        if found is None:
            found = self._numbers[dtype, shape] = len(self._numbers) + 1
            self.new_rows.append((found, dtype, None if shape is None else json.dumps(list(shape))))
        return found

    def pop_new_rows(self) -> list[tuple[int, str, str | None]]:
        new, self.new_rows = self.new_rows, []
        return new


#: id, boundary, port, type, number, min, max, mean, norm, not_finite, same, data
ValueRow = tuple[Any, ...]


@dataclass
class _SharedRows:
    """Of a source that several ports share: the row with the data, for each boundary.

    ``entered``: boundaries where a loop is entered. What is carried there is what each back edge begins with, so ports
    that take one result share nothing yet.
    """

    entry_boundaries: frozenset[int]
    rows: dict[int, int] = field(default_factory=dict)

    def row_at(self, boundary: int) -> int | None:
        return self.rows.get(boundary)

    def record_row(self, boundary: int, row: int) -> None:
        if boundary not in self.entry_boundaries:
            self.rows.setdefault(boundary, row)


class RowEncoder:
    """Turns batches into rows of ``boundary`` and ``value``; ``row``: the number of the next value."""

    def __init__(self, types: TypeTable, row: int = 1) -> None:
        self.types = types
        self._next_row = row
        #: (loop, source) -> what it held last.
        self._last_stored: dict[object, _LastStored] = {}

    def reset(self) -> None:
        """Refer to nothing written so far."""
        self._last_stored.clear()

    def boundary_rows(self, batch: BoundaryBatch) -> Iterable[tuple[Any, ...]]:
        """Rows of ``boundary``."""
        ended = batch.ended
        return (
            (
                int(id_),
                int(batch.entries[k]),
                int(batch.iterations[k]),
                None if batch.conditions[k] is None else int(bool(batch.conditions[k])),
                ended.get(k),
                float(batch.times[k]),
            )
            for k, id_ in enumerate(batch.ids)
        )

    def value_rows(self, batch: BoundaryBatch) -> Iterator[list[ValueRow]]:
        """Rows of ``value``, a port at a time."""
        keys = [batch.sources.get(port, port) for port in batch.columns]
        entered = frozenset(int(id_) for id_, i in zip(batch.ids, batch.iterations, strict=True) if i == 0)
        written = {key: _SharedRows(entered) for key in keys if keys.count(key) > 1}
        for key, (port, column) in zip(keys, batch.columns.items(), strict=True):
            here = (batch.loop, key), port, written.get(key)
            if isinstance(column, np.ndarray):
                yield self._encode_run(*here, list(batch.ids), column)
            else:
                yield self._encode_column(*here, batch.ids, column)

    def _encode_column(
        self, source: object, port: int, written: _SharedRows | None, ids: Sequence[int], column: Sequence[Any]
    ) -> list[ValueRow]:
        """Runs of tensors of one dtype and shape are encoded together."""
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
                    other = column[end]
                    if type(other) is not np.ndarray or other.shape != shape or other.dtype != dtype:
                        break
                    end += 1
                stacked = np.stack(column[start:end]) if end - start > 1 else first[np.newaxis]
                rows += self._encode_run(source, port, written, ids[start:end], stacked)
            else:
                rows.append(self._encode_value(source, port, written, ids[start], encode_value(first)))
            start = end
        return rows

    def _encode_value(
        self, source: object, port: int, written: _SharedRows | None, id_: int, encoded: EncodedValue
    ) -> ValueRow:
        dtype, shape, data = encoded
        kind = self.types.number_for(dtype, shape)
        row = self._allocate_rows(1)
        newest = self._last_stored.get(source)
        same = written.row_at(id_) if written is not None else None
        if same is None and newest is not None and newest.type == kind and newest.data == data:
            same = newest.row
        if same is None or data is None:
            self._last_stored[source] = _LastStored(row, kind, data)
            same = None
        if written is not None:
            written.record_row(id_, same or row)
        return (row, id_, port, kind, None, None, None, None, None, None, same, data if same is None else None)

    def _encode_run(
        self, source: object, port: int, written: _SharedRows | None, ids: Sequence[int], stacked: Array
    ) -> list[ValueRow]:
        """Tensors of one dtype and shape."""
        shape = stacked.shape[1:]
        kind = self.types.number_for(stacked.dtype.name, shape)
        size = math.prod(shape)
        count = len(ids)
        nbytes = size * stacked.dtype.itemsize
        first = self._allocate_rows(count)
        if size == 1:
            numbers, bad = _number_cells(stacked.reshape(count))
            nothing = [None] * count
            columns: tuple[list[Any], ...] = (numbers, nothing, nothing, nothing, nothing, bad)
        else:
            columns = ([None] * count, *_statistics_cells(stacked.reshape(count, size)))
        data = to_little_endian(np.ascontiguousarray(stacked)).tobytes()
        rows = zip(range(first, first + count), ids, [port] * count, [kind] * count, *columns, strict=True)
        if nbytes <= INLINE_MAX_BYTES:
            pieces = [data[k : k + nbytes] for k in range(0, count * nbytes, nbytes)] if nbytes else [b""] * count
            return [(*row, None, piece) for row, piece in zip(rows, pieces, strict=True)]
        told: list[ValueRow] = []
        newest = self._last_stored.get(source)
        for k, row in enumerate(rows):
            same = written.row_at(ids[k]) if written is not None else None
            if same is not None:
                told.append((*row, same, None))
                continue
            piece = data[k * nbytes : (k + 1) * nbytes]
            if newest is not None and newest.type == kind and newest.data == piece:
                told.append((*row, newest.row, None))
            else:
                newest = _LastStored(first + k, kind, piece)
                told.append((*row, None, piece))
            if written is not None:
                written.record_row(ids[k], newest.row)
        if newest is not None:
            self._last_stored[source] = newest
        return told

    def _allocate_rows(self, count: int) -> int:
        row = self._next_row
        self._next_row += count
        return row


def _is_numeric_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind not in "OUST"


def _number_cells(flat: Array) -> tuple[list[Any], list[int | None]]:
    """One number each; None for what SQL has no number for."""
    count = len(flat)
    kind = flat.dtype.kind
    if kind in "bi":
        return flat.astype(np.int64).tolist(), [None] * count
    if kind == "u":
        # Above the largest int64 SQLite knows floating-point numbers alone.
        return [n if n < 1 << 63 else float(n) for n in flat.tolist()], [None] * count
    if kind == "c":
        finite = np.isfinite(flat)
        return [None] * count, [None if ok else 1 for ok in finite.tolist()]
    with np.errstate(all="ignore"):
        found = flat.astype(np.float64)
    whole = "int" in flat.dtype.name  # int4 and the like
    numbers = [int(n) if whole else None if n != n else n for n in found.tolist()]
    return numbers, [None if ok else 1 for ok in np.isfinite(found).tolist()]


def _statistics_cells(rows: Array) -> tuple[list[Any], ...]:
    """Minimum, maximum, mean and norm over the finite elements of each row, and how many are not; of complex numbers
    those of their magnitude."""
    found = summarize_rows(rows)
    if found is None:
        nothing = [None] * len(rows)
        return nothing, nothing, nothing, nothing, nothing
    *numbers, odd = (column.tolist() for column in found)
    return *([None if n != n else n for n in column] for column in numbers), [count or None for count in odd]
