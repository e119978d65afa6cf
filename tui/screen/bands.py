"""Many numbers in few cells: of all that share a cell the smallest, the largest and what lies between, so that what
goes up and down within a cell does not appear constant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .text import NOT_FINITE

_Numbers = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
#: The dots of a sign, from its foot up, left and right.
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
_BRAILLE = 0x2800


@dataclass(frozen=True, eq=False)
class Band:
    """``low`` and ``high`` of the finite numbers (NaN: there are none), and where some are not finite; one for each of
    many iterations that follow each other."""

    low: _Numbers
    high: _Numbers
    odd: _Flags

    @classmethod
    def of(cls, numbers: _Numbers) -> Band:
        """Single numbers."""
        odd = ~np.isfinite(numbers)
        finite = np.where(odd, np.nan, numbers)
        return cls(finite, finite, odd)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def span(self) -> tuple[float, float] | None:
        """The smallest and the largest of all; None where none is finite."""
        if not np.isfinite(self.low).any():
            return None
        return float(np.nanmin(self.low)), float(np.nanmax(self.high))

    def joined(self, starts: npt.NDArray[np.intp]) -> Band:
        """Those from each start to the next as one."""
        if not len(starts):
            return self
        return Band(
            np.fmin.reduceat(self.low, starts),
            np.fmax.reduceat(self.high, starts),
            np.logical_or.reduceat(self.odd, starts),
        )


def per_cell(count: int, room: int) -> int:
    """How many of so many share a cell."""
    return max(1, math.ceil(count / max(room, 1)))


def draw(band: Band, room: int, height: int = 1) -> list[str]:
    """The whole of it in at most ``room`` cells and ``height`` lines, the top one first; ``×`` where something is not
    finite. A cell has two columns of dots: the first and the second half of what shares it."""
    count = len(band)
    many = per_cell(count, room)
    cells = -(-count // many)
    heads = np.arange(0, count, many)
    middles = np.minimum(heads + (many + 1) // 2, count - 1)
    # Where a cell has one alone, both columns are of that.
    starts = np.unique(np.concatenate([heads, middles]))
    halves = band.joined(starts)
    columns = np.searchsorted(starts, np.stack([heads, np.where(middles < heads + many, middles, heads)]))
    levels = 4 * height
    low, high = _levels(halves.low, halves, levels), _levels(halves.high, halves, levels)
    odd = np.any(halves.odd[columns], axis=0).tolist()
    rows = []
    for line in range(height - 1, -1, -1):
        signs = []
        for cell in range(cells):
            bits = 0
            for side in (0, 1):
                at = columns[side, cell]
                for dot in range(4):
                    if low[at] <= 4 * line + dot <= high[at]:
                        bits |= _DOTS[side][dot]
            top = line == height - 1
            signs.append(NOT_FINITE if odd[cell] and top else chr(_BRAILLE + bits) if bits else " ")
        rows.append("".join(signs))
    return rows


def _levels(numbers: _Numbers, of: Band, levels: int) -> list[int]:
    """The line of dots for each number, from 0 at the foot; -1, below all: there is none."""
    low, high = of.span or (0.0, 0.0)
    # Halves, since the range of the largest numbers is no number any more.
    span = high / 2 - low / 2
    with np.errstate(all="ignore"):
        parts = (numbers / 2 - low / 2) / span if span > 0 else numbers * 0.0
    return [-1 if math.isnan(part) else round(float(part) * (levels - 1)) for part in parts]
