"""Min-max downsampling: a cell shows the range of all numbers that share it, so that oscillation stays visible."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .formatting import NOT_FINITE_SYMBOL

_Numbers = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
#: Dot bits of a braille character, bottom to top, left and right column.
_BRAILLE_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
_BRAILLE_BASE = 0x2800


@dataclass(frozen=True, eq=False)
class MinMaxBand:
    """Range of the finite numbers (NaN if there are none) and a non-finite flag, by iteration or group of those."""

    low: _Numbers
    high: _Numbers
    non_finite: _Flags

    @classmethod
    def from_numbers(cls, numbers: _Numbers) -> MinMaxBand:
        """A band of single numbers."""
        non_finite = ~np.isfinite(numbers)
        finite = np.where(non_finite, np.nan, numbers)
        return cls(finite, finite, non_finite)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest number; None if none is finite."""
        if not np.isfinite(self.low).any():
            return None
        return float(np.nanmin(self.low)), float(np.nanmax(self.high))

    def merge_groups(self, starts: npt.NDArray[np.intp]) -> MinMaxBand:
        """Merge the entries from each start to the next."""
        if not len(starts):
            return self
        return MinMaxBand(
            np.fmin.reduceat(self.low, starts),
            np.fmax.reduceat(self.high, starts),
            np.logical_or.reduceat(self.non_finite, starts),
        )


def values_per_cell(count: int, width: int) -> int:
    """How many of ``count`` values share a cell."""
    return max(1, math.ceil(count / max(width, 1)))


def draw_braille(band: MinMaxBand, width: int, height: int = 1) -> list[str]:
    """Draw the band in at most ``width`` cells and ``height`` lines, the top line first; ``×`` marks non-finite values.
    The two dot columns of a cell show the first and the second half of its values."""
    count = len(band)
    per_cell = values_per_cell(count, width)
    cells = -(-count // per_cell)
    heads = np.arange(0, count, per_cell)
    middles = np.minimum(heads + (per_cell + 1) // 2, count - 1)
    # A single value fills both columns.
    starts = np.unique(np.concatenate([heads, middles]))
    halves = band.merge_groups(starts)
    columns = np.searchsorted(starts, np.stack([heads, np.where(middles < heads + per_cell, middles, heads)]))
    levels = 4 * height
    low, high = _dot_levels(halves.low, halves, levels), _dot_levels(halves.high, halves, levels)
    non_finite = np.any(halves.non_finite[columns], axis=0).tolist()
    rows = []
    for line in range(height - 1, -1, -1):
        signs = []
        for cell in range(cells):
            dots = 0
            for side in (0, 1):
                column = columns[side, cell]
                for dot in range(4):
                    if low[column] <= 4 * line + dot <= high[column]:
                        dots |= _BRAILLE_DOTS[side][dot]
            top = line == height - 1
            signs.append(NOT_FINITE_SYMBOL if non_finite[cell] and top else chr(_BRAILLE_BASE + dots) if dots else " ")
        rows.append("".join(signs))
    return rows


def _dot_levels(numbers: _Numbers, band: MinMaxBand, levels: int) -> list[int]:
    """The dot row of each number, 0 at the bottom; -1 for NaN."""
    low, high = band.bounds or (0.0, 0.0)
    # Halve first: the range of the largest floats overflows.
    span = high / 2 - low / 2
    with np.errstate(all="ignore"):
        fractions = (numbers / 2 - low / 2) / span if span > 0 else numbers * 0.0
    return [-1 if math.isnan(fraction) else round(float(fraction) * (levels - 1)) for fraction in fractions]
