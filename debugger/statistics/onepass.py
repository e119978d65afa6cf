"""Statistics of a tensor, and what differs between two, in one pass, part by part: no copy of the whole, nor of its
elements as float64."""

from __future__ import annotations

import numpy as np

from ...runtime.dtypes import is_foreign
from ...runtime.graph import Array
from ...runtime.kernels.summary import Difference, Summary, look, look_at_rows

__all__ = ["CHUNK", "Change", "Statistics", "differences", "is_foreign", "look_at", "look_at_rows", "widened"]

#: So many elements are read together where copies of them are made: with these they stay in the processor's cache.
CHUNK = 1 << 16
#: Types of which a difference is no number.
_WORDS = "OUSTb"


def widened(part: Array) -> Array:
    """Elements as what NumPy computes with exactly enough: of complex numbers the magnitudes, of few bits int64."""
    kind = part.dtype.kind
    if kind == "c":
        with np.errstate(all="ignore"):
            return np.abs(part)
    if is_foreign(part.dtype):
        return part.astype(np.int64 if "int" in part.dtype.name else np.float64)
    return part.astype(np.float64) if part.dtype == np.float16 else part


class Statistics(Summary):
    """See :class:`~...runtime.kernels.summary.Summary`. Strings have no statistics."""

    def __init__(self, array: Array | None = None) -> None:
        if array is not None:
            self.add(array)

    def add(self, part: Array) -> None:
        """Read the next elements."""
        look_at(part, self)


class Change(Difference):
    """See :class:`~...runtime.kernels.summary.Difference`."""

    def add(self, before: Array, after: Array) -> None:
        """Read the next elements, in one dimension."""
        look_at(after, None, before, self)


def look_at(part: Array, found: Statistics | None, before: Array | None = None, change: Change | None = None) -> None:
    """Read the next elements once, and what they were before: every pass over a tensor goes through
    here."""
    if before is None or change is None:
        look(part, found)
    elif not look(part, found, before, change):
        # Words, or two types.
        look(part, found)
        _compare(change, before, part)


def _compare(change: Change, before: Array, after: Array) -> None:
    for at in range(0, after.size, CHUNK):
        difference, same = differences(before[at : at + CHUNK], after[at : at + CHUNK])
        lost = np.zeros(same.shape, bool) if difference.dtype.kind in "uO" else np.isnan(difference) & ~same
        difference[lost] = 0
        left = np.flatnonzero(~(lost | same))
        k = int(left[np.argmax(difference[left])]) if left.size else -1
        largest = float(difference[k]) if left.size else 0.0
        change.note(same.size, int(np.count_nonzero(same)), int(np.count_nonzero(lost)), largest, k)


def differences(before: Array, after: Array) -> tuple[Array, Array]:
    """Absolute differences, and where there is none; of words and booleans 1 where they differ.

    Those of integers are exact: uint64, or Python's integers where one side is signed and the other is not. All others
    are float64.
    """
    with np.errstate(all="ignore"):
        same = before == after
        if before.dtype.kind in _WORDS or after.dtype.kind in _WORDS:
            return np.where(same, 0.0, 1.0), same
        if _is_whole(before) and _is_whole(after):
            return _apart(widened(before), widened(after)), same
        x, y = _wide(before), _wide(after)
        same = same | (np.isnan(x) & np.isnan(y))
        return np.where(same, 0.0, np.abs(y - x)), same


def _is_whole(part: Array) -> bool:
    return "int" in part.dtype.name


def _apart(x: Array, y: Array) -> Array:
    """How far integers are apart: their signs may put that beyond their own type."""
    if x.dtype.kind != y.dtype.kind:
        found: Array = np.abs(y.astype(object) - x.astype(object))
        return found
    return np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)


def _wide(part: Array) -> Array:
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)
