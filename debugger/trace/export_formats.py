"""Writers of the export formats of traces; ``docs/traces.md`` documents the names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_folder, atomic_text
from ...runtime.dtypes import dtype_from_name as dtype_of
from ...runtime.errors import UsageError, file_error
from ...runtime.graph import Array, OptionalType, SequenceType, TensorType, ValueType
from ..export_formats.format_registry import FOLDER_SUFFIX, ExportFormat
from ..export_formats.npz import NpzWriter
from ..export_formats.safetensors import SafetensorsWriter
from . import queries
from .exporter import ExportColumn, TraceExporter

#: Limits of a row group in memory: boundaries, and bytes of their values.
_ROW_GROUP_ROWS, _ROW_GROUP_BYTES = 1024, 64 << 20
#: A boundary: its position and state, and its values.
BoundaryRow = tuple[dict[str, Any], dict[ExportColumn, Any]]


def write_trace(exporter: TraceExporter, format_: ExportFormat, path: Path) -> tuple[int, list[str]]:
    """Write an export of a trace; returns the number of boundaries, and remarks.

    Raises:
        UsageError: it cannot be written, or the package for the format is not installed.
    """
    try:
        return _WRITERS[format_.suffix](exporter, path)
    except OSError as error:
        raise file_error(UsageError, path, "cannot be written", error) from None


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
    """Write the inputs and outputs of the run."""
    from ..export_formats.onnx_test_data import write_test_data

    trace = exporter.trace
    with atomic_folder(path) as folder:
        for kind, values in (("input", trace.inputs), ("output", trace.outputs)):
            if not isinstance(values, Mapping):
                raise UsageError(f"{trace.path}: the trace holds no {kind}s of the run")
            write_test_data(folder, kind, ((name, _declared_type(value), value) for name, value in values.items()))
    return sum(1 for _ in trace.boundary_refs()), []


def _declared_type(value: Any) -> ValueType:
    if value is None:
        return OptionalType(TensorType())
    return SequenceType(TensorType()) if isinstance(value, list) else TensorType()


# -- lines


def _write_jsonl(exporter: TraceExporter, path: Path) -> tuple[int, list[str]]:
    """Write one line per boundary, and one per value."""
    count = 0
    with atomic_text(path) as file:
        for state, values in _boundary_rows(exporter):
            count += 1
            file.write(_json_line(state))
            for column, value in values.items():
                position = {key: state[key] for key in ("loop", "entry", "iteration")}
                file.write(_json_line({**position, "name": column.name, **_json_value(value)}))
    return count, []


def _json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _json_value(value: Any) -> dict[str, Any]:
    if value is None:
        return {"dtype": None, "value": None}
    if isinstance(value, list):
        return {"dtype": "sequence", "value": [_json_value(item) for item in value]}
    array = np.asarray(value)
    text = array.dtype.kind in "OSUT"
    return {"dtype": "string" if text else array.dtype.name, "shape": list(array.shape), "value": _json_numbers(array)}


def _json_numbers(array: Array) -> Any:
    """Numbers as JSON with the shortest exact digits; ``nan``, ``inf``, ``-inf`` as text."""
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
    """Write one row per boundary. A value whose type or rank changes is written as JSON text."""
    from ..export_formats.parquet import arrow_column as arrow_column
    from ..export_formats.parquet import parquet_writer

    types = {column: _column_type(column) for column in exporter.columns}
    count = 0
    with parquet_writer(path) as append:
        for rows in _row_groups(_boundary_rows(exporter)):
            count += len(rows)
            columns: dict[str, Any] = {
                key: _arrow_array([state[key] for state, _ in rows], key) for key in _BOUNDARY_KEYS
            }
            for column, type_ in types.items():
                cells = [None if (v := values.get(column)) is None else _column_cell(v, type_) for _, values in rows]
                dtype, rank = type_ or (np.dtype(object), 0)
                columns[column.name] = arrow_column(cells, dtype, rank)
            append(columns)
    return count, [
        f"'{column.name}' changes its type or rank: as JSON" for column, type_ in types.items() if type_ is None
    ]


def _row_groups(boundaries: Iterator[BoundaryRow]) -> Iterator[list[BoundaryRow]]:
    """Groups of boundaries that fit into memory."""
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
    types = {"iteration": pa.int64(), "condition": pa.bool_(), "time": pa.float64(), "entry": pa.list_(pa.int64())}
    return pa.array(values, types.get(key, pa.string()))


def _column_cell(value: Any, type_: tuple[np.dtype[Any], int] | None) -> Array:
    if type_ is None:
        return np.array(json.dumps(_json_value(value)), object)
    array = np.asarray(value)
    return array if type_[1] else array.reshape(())


def _column_type(column: ExportColumn) -> tuple[np.dtype[Any], int] | None:
    """The common dtype and rank of the values of a column; None: they differ."""
    types = [(dtype, shape) for dtype, shape in column.types if dtype != "none"]
    dtypes, ranks = {dtype for dtype, _ in types}, {len(shape or ()) for _, shape in types}
    if len(dtypes) != 1 or "sequence" in dtypes or (len(ranks) != 1 and not column.is_number):
        return None
    (name,) = dtypes
    return dtype_of("object" if name == "string" else name), 0 if column.is_number else ranks.pop()


# -- boundaries with their values


def _boundary_rows(exporter: TraceExporter) -> Iterator[BoundaryRow]:
    """Each boundary in order of time: its position and state, and its recorded values."""
    trace = exporter.trace
    names = {loop.index: loop.path for loop in exporter.loops}
    for ref in trace.boundary_refs(any_of=[queries.BoundaryFilter(loop=loop.index) for loop in exporter.loops]):
        entry = trace.entry(ref.entry)
        state = {
            "loop": names[entry.loop],
            "entry": list(entry.around),
            "iteration": ref.iteration,
            "condition": ref.condition,
            "ended": None if ref.ended is None else ref.ended.value,
            "time": round(ref.time, 6),
        }
        values = {}
        for column in exporter.columns:
            if column.loop == entry.loop:
                for row in queries.values_at_boundary(trace.rows, column.port, ref.id):
                    values[column] = trace.value(*row)
        yield state, values


_WRITERS: Mapping[str, Callable[[TraceExporter, Path], tuple[int, list[str]]]] = {
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".jsonl": _write_jsonl,
    FOLDER_SUFFIX: _write_test_data,
}
