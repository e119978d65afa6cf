"""Growth of a difference over iterations, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Points kept per series; beyond that, neighbours are merged.
MAX_POINTS = 512


@dataclass(frozen=True)
class GrowthPoint:
    """The largest difference in iterations ``first`` to ``last``."""

    first: int
    last: int
    absolute: float
    relative: float


class DifferenceGrowth:
    """The largest difference of any value by iteration.

    Entries of a nested loop are combined: each iteration has its largest difference in any entry.
    """

    def __init__(self) -> None:
        self._width = 1
        self._absolute: dict[int, float] = {}
        self._relative: dict[int, float] = {}
        #: The first iteration with a difference beyond the tolerance.
        self.first_beyond: int | None = None
        self.largest: float = 0.0
        self._last = -1

    def add(self, iteration: int, absolute: float, relative: float, beyond: bool) -> None:
        """Record the differences of an iteration."""
        if beyond and (self.first_beyond is None or iteration < self.first_beyond):
            self.first_beyond = iteration
        self.largest = max(self.largest, absolute)
        self._last = max(self._last, iteration)
        while iteration // self._width >= MAX_POINTS:
            self._merge_neighbours()
        bucket = iteration // self._width
        self._absolute[bucket] = max(self._absolute.get(bucket, 0.0), absolute)
        self._relative[bucket] = max(self._relative.get(bucket, 0.0), relative)

    def _merge_neighbours(self) -> None:
        self._width *= 2
        for series in (self._absolute, self._relative):
            merged: dict[int, float] = {}
            for bucket, value in series.items():
                merged[bucket // 2] = max(merged.get(bucket // 2, 0.0), value)
            series.clear()
            series.update(merged)

    @property
    def points(self) -> list[GrowthPoint]:
        """The series, in order of iterations."""
        return [
            GrowthPoint(
                k * self._width, min((k + 1) * self._width - 1, self._last), self._absolute[k], self._relative[k]
            )
            for k in sorted(self._absolute)
        ]

    @property
    def factor(self) -> float | None:
        """The growth factor per iteration over the range where the difference grows.

        The range begins with the first difference and ends with the largest; the factor is fitted to the logarithms.
        None if there are fewer than three points.
        """
        points = [p for p in self.points if p.absolute > 0 and math.isfinite(p.absolute)]
        if not points:
            return None
        peak = max(range(len(points)), key=lambda k: points[k].absolute)
        growing = points[: peak + 1] if peak >= 2 else points
        if len(growing) < 3:
            return None
        xs = [(p.first + p.last) / 2 for p in growing]
        ys = [math.log(p.absolute) for p in growing]
        mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
        spread = sum((x - mean_x) ** 2 for x in xs)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread
        return math.exp(slope) if abs(slope) < 700 else None
