"""Many numbers in few cells: of all that share a cell the smallest, the largest and what lies between, so that what
goes up and down within a cell does not appear constant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .formatting import NOT_FINITE_SYMBOL

_Numbers = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
#: The dots of a sign, from its foot up, left and right.
_BRAILLE_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
_BRAILLE_BASE = 0x2800


@dataclass(frozen=True, eq=False)
class MinMaxBand:
    """``low`` and ``high`` of the finite numbers (NaN: there are none), and where some are not finite; one for each of
    many iterations that follow each other."""

    low: _Numbers
    high: _Numbers
    non_finite: _Flags

    @classmethod
    def from_numbers(cls, numbers: _Numbers) -> MinMaxBand:
        """Single numbers."""
        odd = ~np.isfinite(numbers)
        finite = np.where(odd, np.nan, numbers)
        return cls(finite, finite, odd)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest of all; None where none is finite."""
        if not np.isfinite(self.low).any():
            return None
        return float(np.nanmin(self.low)), float(np.nanmax(self.high))

    def merge_groups(self, starts: npt.NDArray[np.intp]) -> MinMaxBand:
        """Those from each start to the next as one."""
        if not len(starts):
            return self
        return MinMaxBand(
            np.fmin.reduceat(self.low, starts),
            np.fmax.reduceat(self.high, starts),
            np.logical_or.reduceat(self.non_finite, starts),
        )


def values_per_cell(count: int, room: int) -> int:
    """How many of so many share a cell."""
    return max(1, math.ceil(count / max(room, 1)))


def draw_braille(band: MinMaxBand, room: int, height: int = 1) -> list[str]:
    """The whole of it in at most ``room`` cells and ``height`` lines, the top one first; ``×`` where something is not
    finite. A cell has two columns of dots: the first and the second half of what shares it."""
    count = len(band)
    many = values_per_cell(count, room)
    cells = -(-count // many)
    heads = np.arange(0, count, many)
    middles = np.minimum(heads + (many + 1) // 2, count - 1)
    # Where a cell has one alone, both columns are of that.
    starts = np.unique(np.concatenate([heads, middles]))
    halves = band.merge_groups(starts)
    columns = np.searchsorted(starts, np.stack([heads, np.where(middles < heads + many, middles, heads)]))
    levels = 4 * height
    low, high = _dot_levels(halves.low, halves, levels), _dot_levels(halves.high, halves, levels)
    odd = np.any(halves.non_finite[columns], axis=0).tolist()
    rows = []
    for line in range(height - 1, -1, -1):
        signs = []
        for cell in range(cells):
            bits = 0
            for side in (0, 1):
                at = columns[side, cell]
                for dot in range(4):
                    if low[at] <= 4 * line + dot <= high[at]:
                        bits |= _BRAILLE_DOTS[side][dot]
            top = line == height - 1
            signs.append(NOT_FINITE_SYMBOL if odd[cell] and top else chr(_BRAILLE_BASE + bits) if bits else " ")
        rows.append("".join(signs))
    return rows


def _dot_levels(numbers: _Numbers, of: MinMaxBand, levels: int) -> list[int]:
    """The line of dots for each number, from 0 at the foot; -1, below all: there is none."""
    low, high = of.bounds or (0.0, 0.0)
    # Halves, since the range of the largest numbers is no number any more.
    span = high / 2 - low / 2
    with np.errstate(all="ignore"):
        parts = (numbers / 2 - low / 2) / span if span > 0 else numbers * 0.0
    return [-1 if math.isnan(part) else round(float(part) * (levels - 1)) for part in parts]
