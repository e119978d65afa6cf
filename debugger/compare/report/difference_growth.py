"""How a difference grows over iterations, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Points kept of a series; once there are more, neighbours are merged.
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

    Entries of a nested loop are laid over each other: of each iteration the largest difference in any of them counts.
    """

    def __init__(self) -> None:
        self._width = 1
        self._absolute: dict[int, float] = {}
        self._relative: dict[int, float] = {}
        #: The first iteration that differs beyond the tolerance.
        self.first_beyond: int | None = None
        self.largest = 0.0
        self._last = -1

    def add(self, iteration: int, absolute: float, relative: float, beyond: bool) -> None:
        """Take note of what an iteration computed."""
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
        """The series, in the order of iterations."""
        return [
            GrowthPoint(
                k * self._width, min((k + 1) * self._width - 1, self._last), self._absolute[k], self._relative[k]
            )
            for k in sorted(self._absolute)
        ]

    @property
    def factor(self) -> float | None:
        """By what the difference is multiplied from one iteration to the next, over the stretch where it grows.

        From its first appearance to its largest value, fitted to its logarithms; None where fewer than three
        iterations tell.
        """
        seen = [p for p in self.points if p.absolute > 0 and math.isfinite(p.absolute)]
        if not seen:
            return None
        top = max(range(len(seen)), key=lambda k: seen[k].absolute)
        stretch = seen[: top + 1] if top >= 2 else seen
        if len(stretch) < 3:
            return None
        xs = [(p.first + p.last) / 2 for p in stretch]
        ys = [math.log(p.absolute) for p in stretch]
        middle, mean = sum(xs) / len(xs), sum(ys) / len(ys)
        spread = sum((x - middle) ** 2 for x in xs)
        slope = sum((x - middle) * (y - mean) for x, y in zip(xs, ys, strict=True)) / spread
        return math.exp(slope) if abs(slope) < 700 else None
