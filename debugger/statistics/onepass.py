"""Statistics of a tensor in one pass, part by part: no copy of the whole, nor of its elements as float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...runtime.graph import Array

#: So many elements are looked at together: with their float64 copies they stay in the processor's cache.
CHUNK = 1 << 16


def is_foreign(dtype: np.dtype[Any]) -> bool:
    """True for the types of ``ml_dtypes``, whatever kind they say they are of."""
    return dtype.isbuiltin == 2


def widened(part: Array) -> Array:
    """Elements as what NumPy computes with exactly enough: of complex numbers the magnitudes, of few bits int64."""
    kind = part.dtype.kind
    if kind == "c":
        with np.errstate(all="ignore"):
            return np.abs(part)
    if is_foreign(part.dtype):
        return part.astype(np.int64 if "int" in part.dtype.name else np.float64)
    return part.astype(np.float64) if part.dtype == np.float16 else part


class Statistics:
    """What is in a tensor: of the finite elements the smallest and the largest (None where there are none), their flat
    positions, mean, standard deviation and Euclidean norm; how many are zero, NaN or infinite.

    Of complex numbers the absolute values count; booleans are 0 and 1. Strings have no statistics.
    """

    def __init__(self, array: Array | None = None) -> None:
        self.min: float | int | None = None
        self.max: float | int | None = None
        self.min_at = self.max_at = -1
        self.nan = 0
        self.inf = 0
        self.zeros = 0
        #: The elements seen so far.
        self.size = 0
        self._finite = 0
        #: The mean, the sum of squared distances from it and that of squares, in units of ``_unit`` and its square.
        self._mean = 0.0
        self._spread = 0.0
        self._squares = 0.0
        self._unit = 1.0
        if array is not None and array.dtype.kind not in "OUSTM":
            flat = array.reshape(-1)
            for at in range(0, flat.size, CHUNK):
                self.add(flat[at : at + CHUNK])

    @property
    def mean(self) -> float | None:
        return self._mean * self._unit if self._finite else None

    @property
    def std(self) -> float | None:
        """The standard deviation of the finite elements, those being all there are."""
        return math.sqrt(self._spread / self._finite) * self._unit if self._finite else None

    @property
    def norm(self) -> float | None:
        """The Euclidean norm of the finite elements."""
        return math.sqrt(self._squares) * self._unit if self._finite else None

    @property
    def not_finite(self) -> int:
        return self.nan + self.inf

    def add(self, part: Array) -> None:
        """Look at the elements that come next, in one dimension and not too many at a time."""
        if not part.size:
            return
        at, self.size = self.size, self.size + part.size
        numbers = widened(part)
        self.zeros += int(np.count_nonzero(numbers == 0))
        with np.errstate(all="ignore"):
            low, high = numbers.min(), numbers.max()
            places = None
            if numbers.dtype.kind == "f" and not (math.isfinite(low) and math.isfinite(high)):
                finite = np.isfinite(numbers)
                nan = int(np.count_nonzero(np.isnan(numbers)))
                places = np.flatnonzero(finite)
                self.nan += nan
                self.inf += part.size - places.size - nan
                if not places.size:
                    return
                numbers = numbers[places]
                low, high = numbers.min(), numbers.max()
            whole = numbers.dtype.kind in "biu"
            smallest, largest = (int(low), int(high)) if whole else (float(low), float(high))
            if self.min is None or smallest < self.min:
                self.min, self.min_at = smallest, at + _place(int(np.argmin(numbers)), places)
            if self.max is None or largest > self.max:
                self.max, self.max_at = largest, at + _place(int(np.argmax(numbers)), places)
            self._join(numbers, max(abs(float(smallest)), abs(float(largest))))

    def _join(self, numbers: Array, most: float) -> None:
        """Take the moments of a part together with those so far."""
        unit = self._common_unit(most)
        wide = numbers.astype(np.float64)
        if unit != 1.0:
            wide /= unit
        count = wide.size
        mean = float(wide.sum()) / count
        self._squares += _square_sum(wide)
        wide -= mean
        together = self._finite + count
        apart = mean - self._mean
        # As in: Chan, Golub, LeVeque, updating formulae for sample variances.
        self._spread += _square_sum(wide) + apart * apart * (self._finite / together) * count
        self._mean += apart * (count / together)
        self._finite = together

    def _common_unit(self, most: float) -> float:
        """The unit in which the moments so far and those of numbers up to ``most`` can be told. Squares of the largest
        numbers overflow, those of the smallest vanish."""
        extreme = most > 1e140 or 0 < most < 1e-140
        unit = math.ldexp(1.0, math.frexp(most)[1] - 1) if extreme else 1.0 if most else self._unit
        if not self._finite:
            self._unit = unit
        elif unit > self._unit:
            ratio = self._unit / unit
            self._mean *= ratio
            self._squares *= ratio * ratio
            self._spread *= ratio * ratio
            self._unit = unit
        return self._unit


def _square_sum(numbers: Array) -> float:
    # Not np.dot: what starts threads for so little may wait for them a thousand times as long on a busy machine.
    return float(np.einsum("i,i->", numbers, numbers))


def _place(k: int, places: Any) -> int:
    return k if places is None else int(places[k])
