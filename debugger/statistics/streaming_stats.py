"""Statistics of a tensor, and what differs between two, in one pass, part by part: no copy of the whole, nor of its
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

#: So many elements are read together where copies of them are made: with these they stay in the processor's cache.
CHUNK_ELEMENTS = 1 << 16
#: Types of which a difference is no number.
_NON_NUMERIC_KINDS = "OUSTb"


def widen(part: Array) -> Array:
    """Elements as what NumPy computes with exactly enough: of complex numbers the magnitudes, of few bits int64."""
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
        """Read the next elements."""
        accumulate(part, self)


class TensorChange(TensorDifference):
    """See :class:`~...runtime.kernels.summary.Difference`."""

    def add(self, before: Array, after: Array) -> None:
        """Read the next elements, in one dimension."""
        accumulate(after, None, before, self)


def accumulate(
    part: Array, found: TensorStatistics | None, before: Array | None = None, change: TensorChange | None = None
) -> None:
    """Read the next elements once, and what they were before: every pass over a tensor goes through
    here."""
    if before is None or change is None:
        accumulate_pass(part, found)
    elif not accumulate_pass(part, found, before, change):
        # Words, or two types.
        accumulate_pass(part, found)
        _accumulate_generic(change, before, part)


def _accumulate_generic(change: TensorChange, before: Array, after: Array) -> None:
    for at in range(0, after.size, CHUNK_ELEMENTS):
        difference, same = absolute_differences(before[at : at + CHUNK_ELEMENTS], after[at : at + CHUNK_ELEMENTS])
        lost = np.zeros(same.shape, bool) if difference.dtype.kind in "uO" else np.isnan(difference) & ~same
        difference[lost] = 0
        left = np.flatnonzero(~(lost | same))
        k = int(left[np.argmax(difference[left])]) if left.size else -1
        largest = float(difference[k]) if left.size else 0.0
        change.merge(same.size, int(np.count_nonzero(same)), int(np.count_nonzero(lost)), largest, k)


def absolute_differences(before: Array, after: Array) -> tuple[Array, Array]:
    """Absolute differences, and where there is none; of words and booleans 1 where they differ.

    Those of integers are exact: uint64, or Python's integers where one side is signed and the other is not. All others
    are float64.
    """
    with np.errstate(all="ignore"):
        same = before == after
        if before.dtype.kind in _NON_NUMERIC_KINDS or after.dtype.kind in _NON_NUMERIC_KINDS:
            return np.where(same, 0.0, 1.0), same
        if _is_integer(before) and _is_integer(after):
            return _integer_distance(widen(before), widen(after)), same
        x, y = _as_float64(before), _as_float64(after)
        same = same | (np.isnan(x) & np.isnan(y))
        return np.where(same, 0.0, np.abs(y - x)), same


def _is_integer(part: Array) -> bool:
    return "int" in part.dtype.name


def _integer_distance(x: Array, y: Array) -> Array:
    """How far integers are apart: their signs may put that beyond their own type."""
    if x.dtype.kind != y.dtype.kind:
        found: Array = np.abs(y.astype(object) - x.astype(object))
        return found
    return np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)


def _as_float64(part: Array) -> Array:
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)
