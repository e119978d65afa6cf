"""One-pass statistics of a tensor, and of the difference of two, part by part: without a copy of the tensor or of its
elements as float64."""

from __future__ import annotations

import numpy as np

from ...runtime.dtypes import is_ml_dtype
from ...runtime.graph import Array
from ...runtime.kernels.tensor_summary import TensorDifference, TensorSummary, accumulate_pass, summarize_rows

__all__ = [
    "CHUNK_ELEMENTS",
    "TensorChange",
    "TensorStatistics",
    "absolute_differences",
    "accumulate",
    "is_ml_dtype",
    "summarize_rows",
    "widen",
]

#: Elements per chunk where copies are made; a chunk fits the processor's cache.
CHUNK_ELEMENTS = 1 << 16
#: Kinds of dtypes whose values cannot be subtracted.
_NON_NUMERIC_KINDS = "OUSTb"


def widen(part: Array) -> Array:
    """Convert elements to a type in which NumPy computes: complex numbers to magnitudes, low-bit types to int64."""
    kind = part.dtype.kind
    if kind == "c":
        with np.errstate(all="ignore"):
            return np.abs(part)
    if is_ml_dtype(part.dtype):
        return part.astype(np.int64 if "int" in part.dtype.name else np.float64)
    return part.astype(np.float64) if part.dtype == np.float16 else part


class TensorStatistics(TensorSummary):
    """See :class:`~...runtime.kernels.tensor_summary.TensorSummary`. Strings have no statistics."""

    def __init__(self, array: Array | None = None) -> None:
        if array is not None:
            self.add(array)

    def add(self, part: Array) -> None:
        """Accumulate the next elements."""
        accumulate(part, self)


class TensorChange(TensorDifference):
    """See :class:`~...runtime.kernels.summary.Difference`."""

    def add(self, before: Array, after: Array) -> None:
        """Accumulate the next elements, in one dimension."""
        accumulate(after, None, before, self)


def accumulate(
    part: Array, statistics: TensorStatistics | None, before: Array | None = None, change: TensorChange | None = None
) -> None:
    """Accumulate the next elements, and their previous values; every pass over a tensor calls this."""
    if before is None or change is None:
        accumulate_pass(part, statistics)
    elif not accumulate_pass(part, statistics, before, change):
        # Strings, or operands of different dtypes.
        accumulate_pass(part, statistics)
        _accumulate_generic(change, before, part)


def _accumulate_generic(change: TensorChange, before: Array, after: Array) -> None:
    for start in range(0, after.size, CHUNK_ELEMENTS):
        difference, equal = absolute_differences(
            before[start : start + CHUNK_ELEMENTS], after[start : start + CHUNK_ELEMENTS]
        )
        undefined = np.zeros(equal.shape, bool) if difference.dtype.kind in "uO" else np.isnan(difference) & ~equal
        difference[undefined] = 0
        changed = np.flatnonzero(~(undefined | equal))
        k = int(changed[np.argmax(difference[changed])]) if changed.size else -1
        largest = float(difference[k]) if changed.size else 0.0
        change.merge(equal.size, int(np.count_nonzero(equal)), int(np.count_nonzero(undefined)), largest, k)


def absolute_differences(before: Array, after: Array) -> tuple[Array, Array]:
    """Absolute differences, and a mask of equal elements; strings and booleans that differ have difference 1.

    Differences of integers are exact: uint64, or Python integers if only one side is signed. All others are float64.
    """
    with np.errstate(all="ignore"):
        equal = before == after
        if before.dtype.kind in _NON_NUMERIC_KINDS or after.dtype.kind in _NON_NUMERIC_KINDS:
            return np.where(equal, 0.0, 1.0), equal
        if _is_integer(before) and _is_integer(after):
            return _integer_distance(widen(before), widen(after)), equal
        x, y = _as_float64(before), _as_float64(after)
        equal = equal | (np.isnan(x) & np.isnan(y))
        return np.where(equal, 0.0, np.abs(y - x)), equal


def _is_integer(part: Array) -> bool:
    return "int" in part.dtype.name


def _integer_distance(x: Array, y: Array) -> Array:
    """The distance of integers, which may exceed their own type."""
    if x.dtype.kind != y.dtype.kind:
        distance: Array = np.abs(y.astype(object) - x.astype(object))
        return distance
    return np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)


def _as_float64(part: Array) -> Array:
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)
