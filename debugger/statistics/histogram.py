"""Histogram of the elements of a tensor between its minimum and maximum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from ...runtime.graph import Array
from .tensor_statistics import TensorStatistics, widen_elements


class Histogram:
    """Counts finite elements in bins of equal width, part by part."""

    def __init__(self, statistics: TensorStatistics, bins: int) -> None:
        self.low = float(statistics.min or 0)
        self.high = float(statistics.max or 0)
        self.counts = np.zeros(bins, np.int64)
        # Half the range: the full range of the largest numbers overflows.
        self._half_range = self.high / 2 - self.low / 2
        #: For integers: the exact minimum, and the exact range.
        self._integer_min = statistics.min if isinstance(statistics.min, int) else None
        self._integer_range = int(statistics.max or 0) - self._integer_min if self._integer_min is not None else 0

    def add_chunks(self, chunks: Iterable[tuple[int, Array]]) -> Iterator[None]:
        """Count the elements of a tensor; yields between parts."""
        for _, part in chunks:
            self.add(part)
            yield

    def add(self, part: Array) -> None:
        """Count the next elements."""
        bins = len(self.counts)
        numbers = widen_elements(part)
        if numbers.dtype.kind == "f" and not math.isfinite(float(np.abs(numbers).max(initial=0))):
            numbers = numbers[np.isfinite(numbers)]
        if self._integer_min is not None and self._integer_range:
            # Distances are exact even where the numbers are too large for a float64.
            distances = numbers.astype(np.uint64) - np.uint64(self._integer_min % (1 << 64))
            self._count_bins(distances.astype(np.float64) * (bins / self._integer_range))
            return
        if not self._half_range > 0:
            self.counts[bins // 2] += numbers.size
            return
        positions = numbers.astype(np.float64)
        positions /= 2
        positions -= self.low / 2
        positions /= self._half_range
        positions *= bins
        self._count_bins(positions)

    def _count_bins(self, positions: Array) -> None:
        bins = len(self.counts)
        self.counts += np.bincount(np.minimum(positions.astype(np.int64), bins - 1), minlength=bins)
