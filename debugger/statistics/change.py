"""What differs between two tensors of one shape, in one pass over both."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...runtime.graph import Array
from .tensor import TensorRef

#: Types of which a difference is no number.
_WORDS = "OUSTb"


class Change:
    """How a tensor became another: the largest absolute difference of an element and its flat position (-1: there is
    none; of those that round to one float32 or float64 any), and how many elements stayed the same. ``lost``: those of
    which the difference is NaN.

    NaN after NaN and infinity after the same infinity are no change.
    """

    def __init__(self) -> None:
        self.size = 0
        self.same = 0
        self.lost = 0
        self.largest = 0.0
        self.at = -1

    def add(self, before: Array, after: Array) -> None:
        """Look at the elements that come next, in one dimension and not too many at a time."""
        at, self.size = self.size, self.size + before.size
        with np.errstate(all="ignore"):
            changed = int(np.count_nonzero(before != after))
            if not changed:
                self.same += before.size
                return
            if before.dtype == after.dtype and before.dtype.char in "fd":
                quick = np.abs(after - before)
                k = int(np.argmax(quick))
                # A NaN or an infinity anywhere is what argmax finds.
                if math.isfinite(quick[k]):
                    self.same += before.size - changed
                    self._note(abs(float(after[k]) - float(before[k])), at + k)
                    return
        self._add_slowly(before, after, at)

    def _add_slowly(self, before: Array, after: Array, at: int) -> None:
        """As :meth:`add`, whatever the elements are."""
        difference, same = differences(before, after)
        kept = int(np.count_nonzero(same))
        self.same += kept
        if kept == before.size:
            return
        lost = np.isnan(difference)
        self.lost += int(np.count_nonzero(lost))
        difference[lost | same] = -1.0
        k = int(np.argmax(difference))
        if difference[k] >= 0:
            self._note(float(difference[k]), at + k)

    def _note(self, largest: float, at: int) -> None:
        if self.at < 0 or largest > self.largest:
            self.largest, self.at = largest, at


def differences(before: Array, after: Array) -> tuple[Array, Array]:
    """Absolute differences as float64, and where there is none; of words and booleans 1 where they differ."""
    with np.errstate(all="ignore"):
        same = before == after
        if before.dtype.kind in _WORDS or after.dtype.kind in _WORDS:
            return np.where(same, 0.0, 1.0), same
        x, y = _wide(before), _wide(after)
        same = same | (np.isnan(x) & np.isnan(y))
        return np.where(same, 0.0, np.abs(y - x)), same


def _wide(part: Array) -> Array:
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)


def changing(before: TensorRef, after: TensorRef) -> Iterator[Change]:
    """The change of all elements, as far as it is known part by part.

    Raises:
        ValueError: the shapes differ.
    """
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    found = Change()
    for (_, x), (_, y) in zip(before.chunks(), after.chunks(), strict=True):
        found.add(x, y)
        yield found


def change(before: TensorRef, after: TensorRef) -> Change:
    """As :func:`changing`, to its end; asked again for the same two, what was found then."""
    known = after.changes.get(id(before))
    if known is None or known[0] is not before:
        known = after.changes[id(before)] = before, [Change(), *changing(before, after)][-1]
    found: Change = known[1]
    return found
