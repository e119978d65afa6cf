"""How the elements of a tensor are spread between the smallest and the largest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from ...runtime.graph import Array
from .streaming_stats import TensorStatistics, widen


class Histogram:
    """Counts of the finite elements in bins of one width, filled part by part."""

    def __init__(self, found: TensorStatistics, bins: int) -> None:
        self.low = float(found.min or 0)
        self.high = float(found.max or 0)
        self.counts = np.zeros(bins, np.int64)
        # Halves, since the range of the largest numbers is no number any more.
        self._half_range = self.high / 2 - self.low / 2
        #: Of integers: the exact smallest one, and how far the largest is from it.
        self._integer_min = found.min if isinstance(found.min, int) else None
        self._integer_range = int(found.max or 0) - self._integer_min if self._integer_min is not None else 0

    def add_chunks(self, chunks: Iterable[tuple[int, Array]]) -> Iterator[None]:
        """Count the elements of a tensor; comes by between parts."""
        for _, part in chunks:
            self.add(part)
            yield

    def add(self, part: Array) -> None:
        """Count the elements that come next."""
        bins = len(self.counts)
        numbers = widen(part)
        if numbers.dtype.kind == "f" and not math.isfinite(float(np.abs(numbers).max(initial=0))):
            numbers = numbers[np.isfinite(numbers)]
        if self._integer_min is not None and self._integer_range:
            # Distances, which are exact where the numbers themselves are too large for a float64.
            apart = numbers.astype(np.uint64) - np.uint64(self._integer_min % (1 << 64))
            self._count_bins(apart.astype(np.float64) * (bins / self._integer_range))
            return
        if not self._half_range > 0:
            self.counts[bins // 2] += numbers.size
            return
        wide = numbers.astype(np.float64)
        wide /= 2
        wide -= self.low / 2
        wide /= self._half_range
        wide *= bins
        self._count_bins(wide)

    def _count_bins(self, places: Array) -> None:
        bins = len(self.counts)
        self.counts += np.bincount(np.minimum(places.astype(np.int64), bins - 1), minlength=bins)
