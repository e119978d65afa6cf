"""A trace in every form that there is for one; ``docs/traces.md`` says how things are called there."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_folder, atomic_text
from ...runtime.dtypes import dtype_from_name as dtype_of
from ...runtime.errors import UsageError, one_line
from ...runtime.graph import Array, OptionalType, SequenceType, TensorType, ValueType
from ..export_formats.format_registry import FOLDER_SUFFIX, ExportFormat
from ..export_formats.npz import NpzWriter
from ..export_formats.safetensors import SafetensorsWriter
from . import queries
from .exporter import ExportColumn, TraceExporter

#: So many boundaries of a table are in memory at once, or so many bytes of their values.
_ROW_GROUP_ROWS, _ROW_GROUP_BYTES = 1024, 64 << 20
#: A boundary: where and how it is, and its values.
BoundaryRow = tuple[dict[str, Any], dict[ExportColumn, Any]]


def write_trace(exporter: TraceExporter, form: ExportFormat, path: Path) -> tuple[int, list[str]]:
    """Write what is exported of a trace; returns of how many boundaries, and what there is to say about it.

    Raises:
        UsageError: it cannot be written, or a package that writes the form is not installed.
    """
    try:
        return _WRITERS[form.suffix](exporter, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or one_line(error)}") from None


def _write_npz(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    with NpzWriter.create(path) as file:
        return exporter.write_arrays(file), []


def _write_safetensors(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    with SafetensorsWriter(path) as file:
        count = exporter.write_arrays(file)
    return count, file.remarks()


def _write_csv(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    return exporter.write_csv(path), []


def _write_test_data(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    """The inputs and the outputs of the run."""
    from ..export_formats.onnx_test_data import write_test_data

    trace = exporter.trace
    with atomic_folder(path) as folder:
        for what, values in (("input", trace.inputs), ("output", trace.outputs)):
            if not isinstance(values, Mapping):
                raise UsageError(f"{trace.path}: the trace holds no {what}s of the run")
            write_test_data(folder, what, ((name, _declared_type(value), value) for name, value in values.items()))
    return sum(1 for _ in trace.boundary_refs()), []


def _declared_type(value: Any) -> ValueType:
    if value is None:
        return OptionalType(TensorType())
    return SequenceType(TensorType()) if isinstance(value, list) else TensorType()


# -- lines


def _write_jsonl(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    """One line a boundary, and one a value that it has."""
    count = 0
    with atomic_text(path) as file:
        for place, values in _boundary_rows(exporter):
            count += 1
            file.write(_json_line(place))
            for column, value in values.items():
                where = {key: place[key] for key in ("loop", "entry", "iteration")}
                file.write(_json_line({**where, "name": column.name, **_json_value(value)}))
    return count, []


def _json_line(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n"


def _json_value(value: Any) -> dict[str, Any]:
    if value is None:
        return {"dtype": None, "value": None}
    if isinstance(value, list):
        return {"dtype": "sequence", "value": [_json_value(one) for one in value]}
    array = np.asarray(value)
    text = array.dtype.kind in "OSUT"
    return {"dtype": "string" if text else array.dtype.name, "shape": list(array.shape), "value": _json_numbers(array)}


def _json_numbers(array: Array) -> Any:
    """Numbers as JSON has them, in the fewest digits that read back as the same; ``nan``, ``inf``, ``-inf`` as text."""
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind in "OSUT":
        return array.astype(str).tolist()
    if array.dtype.kind == "c":
        return [_json_numbers(array.real), _json_numbers(array.imag)]
    if "int" in array.dtype.name:
        return array.astype(np.int8).tolist()
    if array.dtype.name in ("float16", "float32"):
        array = array.astype(str).astype(np.float64)
    numbers = array.astype(np.float64)
    return numbers.tolist() if np.isfinite(numbers).all() else _non_finite_as_text(numbers.tolist())


def _non_finite_as_text(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_non_finite_as_text(part) for part in numbers]
    return numbers if math.isfinite(numbers) else str(numbers)


# -- a table


def _write_parquet(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    """One row a boundary. A value that changes its type or its rank is text, in JSON."""
    from ..export_formats.parquet import arrow_column as cells
    from ..export_formats.parquet import parquet_writer

    kinds = {column: _column_type(column) for column in exporter.columns}
    count = 0
    with parquet_writer(path) as append:
        for rows in _row_groups(_boundary_rows(exporter)):
            count += len(rows)
            columns: dict[str, Any] = {
                key: _arrow_array([place[key] for place, _ in rows], key) for key in _BOUNDARY_KEYS
            }
            for column, kind in kinds.items():
                made = [None if (v := values.get(column)) is None else _column_cell(v, kind) for _, values in rows]
                dtype, rank = kind or (np.dtype(object), 0)
                columns[column.name] = cells(made, dtype, rank)
            append(columns)
    return count, [
        f"'{column.name}' changes its type or rank: as JSON" for column, kind in kinds.items() if kind is None
    ]


def _row_groups(boundaries: Iterator[BoundaryRow]) -> Iterator[list[BoundaryRow]]:
    """Boundaries in pieces that fit the memory."""
    rows: list[BoundaryRow] = []
    nbytes = 0
    for row in boundaries:
        rows.append(row)
        nbytes += sum(value.nbytes for value in row[1].values() if isinstance(value, np.ndarray))
        if len(rows) == _ROW_GROUP_ROWS or nbytes >= _ROW_GROUP_BYTES:
            yield rows
            rows, nbytes = [], 0
    if rows:
        yield rows


_BOUNDARY_KEYS = ("loop", "entry", "iteration", "condition", "ended", "time")


def _arrow_array(values: list[Any], key: str) -> Any:
    from ..export_formats.parquet import import_pyarrow

    pa = import_pyarrow()
    kinds = {"iteration": pa.int64(), "condition": pa.bool_(), "time": pa.float64(), "entry": pa.list_(pa.int64())}
    return pa.array(values, kinds.get(key, pa.string()))


def _column_cell(value: Any, kind: tuple[np.dtype[Any], int] | None) -> Array:
    if kind is None:
        return np.array(json.dumps(_json_value(value)), object)
    array = np.asarray(value)
    return array if kind[1] else array.reshape(())


def _column_type(column: ExportColumn) -> tuple[np.dtype[Any], int] | None:
    """The dtype and the rank of all values of a column; None: they have several."""
    types = [(dtype, shape) for dtype, shape in column.types if dtype != "none"]
    kinds, ranks = {dtype for dtype, _ in types}, {len(shape or ()) for _, shape in types}
    if len(kinds) != 1 or "sequence" in kinds or (len(ranks) != 1 and not column.is_number):
        return None
    (name,) = kinds
    return dtype_of("object" if name == "string" else name), 0 if column.is_number else ranks.pop()


# -- boundaries with their values


def _boundary_rows(exporter: TraceExporter) -> Iterator[BoundaryRow]:
    """Each boundary, in the order of time: where and how it is, and the values that were recorded at it."""
    trace = exporter.trace
    names = {one.index: one.path for one in exporter.loops}
    for mark in trace.boundary_refs(any_of=[queries.BoundaryFilter(loop=one.index) for one in exporter.loops]):
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
                for row in queries.values_at_boundary(trace.rows, column.port, mark.id):
                    values[column] = trace.value(*row)
        yield place, values


_WRITERS: Mapping[str, Callable[[TraceExporter, Path], tuple[int, list[str]]]] = {
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".jsonl": _write_jsonl,
    FOLDER_SUFFIX: _write_test_data,
}
