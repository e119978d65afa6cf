"""``.parquet``: columns of numbers and of lists of numbers; needs the package pyarrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_binary
from ...runtime.dtypes import is_ml_dtype
from ...runtime.errors import UsageError, one_line
from ...runtime.graph import Array, ValueType
from ...runtime.input_validation import Data
from ...runtime.signal_deferral import defer_signals
from .flatten_values import flatten_values


def import_pyarrow() -> Any:
    """Import pyarrow.

    Raises:
        UsageError: pyarrow is not installed.
    """
    if "pyarrow" not in sys.modules:
        # The default allocator reserves a gigabyte at once, and crashes if the system refuses that.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        with defer_signals():  # an interrupted import of compiled modules can crash the process later
            import pyarrow
            import pyarrow.parquet
    except ImportError as error:
        raise UsageError(
            f".parquet files need pyarrow, which is not there ({one_line(error)}): pip install 'loopdbg[parquet]'",
            name="pyarrow",
            got=one_line(error),
        ) from None
    return pyarrow


def arrow_column(arrays: Sequence[Array | None], dtype: np.dtype[Any], rank: int) -> Any:
    """A column with a cell for each array of one dtype and rank: a scalar, or lists nested by axis; None: null."""
    pa = import_pyarrow()
    present = [_arrow_array(array) for array in arrays if array is not None]
    flat = np.concatenate([_arrow_array(np.empty(0, dtype)), *(array.reshape(-1) for array in present)])
    column = pa.array(flat.tolist(), pa.string()) if flat.dtype.hasobject else pa.array(flat)
    for axis in reversed(range(rank)):
        lengths = [np.full(int(np.prod(array.shape[:axis])), array.shape[axis]) for array in present]
        offsets = np.cumsum(np.concatenate([[0], *lengths])).astype(np.int32)
        column = pa.ListArray.from_arrays(pa.array(offsets), column)
    rows = iter(range(len(present)))
    return column.take(pa.array([None if array is None else next(rows) for array in arrays], pa.int64()))


def _arrow_array(array: Array) -> Array:
    """Convert to types of Arrow: ``ml_dtypes`` become float32 or int8."""
    if array.dtype.kind in "OSUT":
        return array.astype(object)
    if not is_ml_dtype(array.dtype):
        return array
    return array.astype(np.int8 if "int" in array.dtype.name else np.float32)


@contextmanager
def parquet_writer(path: Path) -> Iterator[Any]:
    """Yields a function that appends rows to a file; its argument is the columns by name.

    Raises:
        UsageError: pyarrow is not installed, or has no type for a value.
        OSError: the file cannot be written.
    """
    pa = import_pyarrow()
    writers: list[Any] = []
    with atomic_binary(path) as file:

        def append(columns: Mapping[str, Any]) -> None:
            table = pa.table(dict(columns))
            if not writers:
                writers.append(pa.parquet.ParquetWriter(file, table.schema))
            writers[0].write_table(table.cast(writers[0].schema))

        try:
            yield append
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise UsageError(f"{path}: Parquet cannot hold it: {one_line(error)}") from None
        finally:
            for writer in writers:
                writer.close()


def write(path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType]) -> list[str]:
    """Write named values as one row; the elements of a sequence become NAME.0, NAME.1, ...

    Raises:
        UsageError: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    arrays, remarks = flatten_values(values)
    with parquet_writer(path) as append:
        append({name: arrow_column([array], array.dtype, array.ndim) for name, array in arrays.items()})
    return [f"{path}: {remark}" for remark in remarks]
