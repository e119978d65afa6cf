"""A trace in every form that there is for one; ``docs/traces.md`` says how things are called there."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_folder, atomic_text
from ...runtime.dtypes import dtype as dtype_of
from ...runtime.errors import UsageError, one_line
from ...runtime.graph import Array, OptionalType, SequenceType, TensorType, ValueType
from ..formats.arrays import ArrayFile
from ..formats.table import FOLDER, Form
from ..formats.tensors import TensorFile
from . import queries
from .export import Column, Exporter

#: So many boundaries of a table are in memory at once, or so many bytes of their values.
_ROWS, _BYTES = 1024, 64 << 20
#: A boundary: where and how it is, and its values.
Row = tuple[dict[str, Any], dict[Column, Any]]


def write_trace(exporter: Exporter, form: Form, path: Path) -> tuple[int, list[str]]:
    """Write what is exported of a trace; returns of how many boundaries, and what there is to say about it.

    Raises:
        UsageError: it cannot be written, or a package that writes the form is not installed.
    """
    try:
        return _WRITERS[form.ending](exporter, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or one_line(error)}") from None


def _npz(exporter: Exporter, path: Path) -> tuple[int, list[str]]:
    with ArrayFile.create(path) as file:
        return exporter.arrays(file), []


def _safetensors(exporter: Exporter, path: Path) -> tuple[int, list[str]]:
    with TensorFile(path) as file:
        count = exporter.arrays(file)
    return count, file.remarks()


def _csv(exporter: Exporter, path: Path) -> tuple[int, list[str]]:
    return exporter.csv(path), []


def _test_data(exporter: Exporter, path: Path) -> tuple[int, list[str]]:
    """The inputs and the outputs of the run."""
    from ..formats.test_data import write_data

    trace = exporter.trace
    with atomic_folder(path) as folder:
        for what, values in (("input", trace.inputs), ("output", trace.outputs)):
            if not isinstance(values, Mapping):
                raise UsageError(f"{trace.path}: the trace holds no {what}s of the run")
            write_data(folder, what, ((name, _type(value), value) for name, value in values.items()))
    return sum(1 for _ in trace.marks()), []


def _type(value: Any) -> ValueType:
    if value is None:
        return OptionalType(TensorType())
    return SequenceType(TensorType()) if isinstance(value, list) else TensorType()


# -- lines


def _jsonl(exporter: Exporter, path: Path) -> tuple[int, list[str]]:
    """One line a boundary, and one a value that it has."""
    count = 0
    with atomic_text(path) as file:
        for place, values in _boundaries(exporter):
            count += 1
            file.write(_line(place))
            for column, value in values.items():
                where = {key: place[key] for key in ("loop", "entry", "iteration")}
                file.write(_line({**where, "name": column.name, **_told(value)}))
    return count, []


def _line(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n"


def _told(value: Any) -> dict[str, Any]:
    if value is None:
        return {"dtype": None, "value": None}
    if isinstance(value, list):
        return {"dtype": "sequence", "value": [_told(one) for one in value]}
    array = np.asarray(value)
    text = array.dtype.kind in "OSUT"
    return {"dtype": "string" if text else array.dtype.name, "shape": list(array.shape), "value": _numbers(array)}


def _numbers(array: Array) -> Any:
    """Numbers as JSON has them, in the fewest digits that read back as the same; ``nan``, ``inf``, ``-inf`` as text."""
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind in "OSUT":
        return array.astype(str).tolist()
    if array.dtype.kind == "c":
        return [_numbers(array.real), _numbers(array.imag)]
    if "int" in array.dtype.name:
        return array.astype(np.int8).tolist()
    if array.dtype.name in ("float16", "float32"):
        array = array.astype(str).astype(np.float64)
    numbers = array.astype(np.float64)
    return numbers.tolist() if np.isfinite(numbers).all() else _with_words(numbers.tolist())


def _with_words(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_with_words(part) for part in numbers]
    return numbers if math.isfinite(numbers) else str(numbers)


# -- a table


def _parquet(exporter: Exporter, path: Path) -> tuple[int, list[str]]:
    """One row a boundary. A value that changes its type or its rank is text, in JSON."""
    from ..formats.tables import column as cells
    from ..formats.tables import written

    kinds = {column: _kind(column) for column in exporter.columns}
    count = 0
    with written(path) as append:
        for rows in _some(_boundaries(exporter)):
            count += len(rows)
            columns: dict[str, Any] = {key: _plain([place[key] for place, _ in rows], key) for key in _PLACE}
            for column, kind in kinds.items():
                made = [None if (v := values.get(column)) is None else _cell(v, kind) for _, values in rows]
                dtype, rank = kind or (np.dtype(object), 0)
                columns[column.name] = cells(made, dtype, rank)
            append(columns)
    return count, [
        f"'{column.name}' changes its type or rank: as JSON" for column, kind in kinds.items() if kind is None
    ]


def _some(boundaries: Iterator[Row]) -> Iterator[list[Row]]:
    """Boundaries in pieces that fit the memory."""
    rows: list[Row] = []
    nbytes = 0
    for row in boundaries:
        rows.append(row)
        nbytes += sum(value.nbytes for value in row[1].values() if isinstance(value, np.ndarray))
        if len(rows) == _ROWS or nbytes >= _BYTES:
            yield rows
            rows, nbytes = [], 0
    if rows:
        yield rows


_PLACE = ("loop", "entry", "iteration", "condition", "ended", "time")


def _plain(values: list[Any], key: str) -> Any:
    from ..formats.tables import arrow

    pa = arrow()
    kinds = {"iteration": pa.int64(), "condition": pa.bool_(), "time": pa.float64(), "entry": pa.list_(pa.int64())}
    return pa.array(values, kinds.get(key, pa.string()))


def _cell(value: Any, kind: tuple[np.dtype[Any], int] | None) -> Array:
    if kind is None:
        return np.array(json.dumps(_told(value)), object)
    array = np.asarray(value)
    return array if kind[1] else array.reshape(())


def _kind(column: Column) -> tuple[np.dtype[Any], int] | None:
    """The dtype and the rank of all values of a column; None: they have several."""
    types = [(dtype, shape) for dtype, shape in column.types if dtype != "none"]
    kinds, ranks = {dtype for dtype, _ in types}, {len(shape or ()) for _, shape in types}
    if len(kinds) != 1 or "sequence" in kinds or (len(ranks) != 1 and not column.is_number):
        return None
    (name,) = kinds
    return dtype_of("object" if name == "string" else name), 0 if column.is_number else ranks.pop()


# -- boundaries with their values


def _boundaries(exporter: Exporter) -> Iterator[Row]:
    """Each boundary, in the order of time: where and how it is, and the values that were recorded at it."""
    trace = exporter.trace
    names = {one.index: one.path for one in exporter.loops}
    for mark in trace.marks(any_of=[queries.Which(loop=one.index) for one in exporter.loops]):
        entry = trace.entry(mark.entry)
        place = {
            "loop": names[entry.loop],
            "entry": list(entry.around),
            "iteration": mark.iteration,
            "condition": mark.condition,
            "ended": None if mark.ended is None else mark.ended.value,
            "time": round(mark.time, 6),
        }
        values = {}
        for column in exporter.columns:
            if column.loop == entry.loop:
                for row in queries.values_at(trace.rows, column.port, mark.id):
                    values[column] = trace.value(*row)
        yield place, values


_WRITERS: Mapping[str, Callable[[Exporter, Path], tuple[int, list[str]]]] = {
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".csv": _csv,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
    FOLDER: _test_data,
}
