"""Pictures of all that a scan output has collected, in as many lines and cells as there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...debugger.session.snapshot import ScanSnapshot
from ...debugger.statistics.onepass import widened
from ...debugger.statistics.tensor import tensor_of
from ...runtime.graph import Array
from .bands import Band, draw, per_cell
from .evolution import is_rounding
from .plots import SHADES, chart, shades
from .text import number_text, sparkline

#: Of one line of a picture at most so many elements of the scan output are looked at, and so many numbers a cell.
_ROWS, _PER_CELL = 8, 8
#: Of single numbers at most so many.
_NUMBERS = 1 << 16


@dataclass(frozen=True)
class Picture:
    """Lines with the iteration that each begins with; ``note`` says what they stand for."""

    labels: tuple[str, ...]
    lines: tuple[str, ...]
    note: str


def picture(scan: ScanSnapshot, width: int, height: int) -> Picture | None:
    """The whole of a scan output, its elements in the order in which they stand in it; None where there is nothing to
    draw."""
    if not scan.count or scan.whole is None or height < 1 or width < 8:
        return None
    whole = tensor_of(scan.whole)
    if whole.dtype.kind in "OUST" or not whole.size or not whole.ndim:
        return None
    if whole.size == scan.count:
        return _numbers(scan, width, height)
    return _rows(scan, width, height)


def _numbers(scan: ScanSnapshot, width: int, height: int) -> Picture:
    """Single numbers as bars, or, where they share cells, as from where to where they go."""
    whole = tensor_of(scan.whole)
    step = max(1, math.ceil(scan.count / _NUMBERS))
    numbers = _doubles(whole.use(lambda array: np.array(array.flat[::step])))
    band, each = Band.of(numbers), per_cell(len(numbers), width)
    cell = f", 1 cell = {each * step}" if each * step > 1 else ""
    low, high = band.span or (0.0, 0.0)
    flat = not band.odd.any() and len(numbers) > 1 and is_rounding(low, high, whole.dtype.name)
    seen = "nothing finite" if band.span is None else f"{number_text(low)} … {number_text(high)}"
    note = f"{_which(scan)}{cell}   {f'flat: {number_text(low)}' if flat else seen}{_sampled(step > 1)}"
    if flat:
        return Picture(("",), (f"{'flat':─^{max(min(len(numbers), width), 6)}}",), note)
    if each > 1:
        lines = draw(band, width, max(1, height))
    elif height < 3:
        lines = [sparkline(numbers, width)]
    else:
        wide = max(1, min(4, width // len(numbers)))
        lines = chart([number for number in numbers for _ in range(wide)], width, height)
    return Picture(("",) * len(lines), tuple(lines), note)


def _rows(scan: ScanSnapshot, width: int, height: int) -> Picture:
    """Elements as rows, some of them together where there are more than lines."""
    each = math.ceil(scan.count / height)
    starts = range(0, scan.count, each)
    label = len(str(scan.count - 1)) + 1
    room = width - label
    folded, sampled = [], False
    for start in starts:
        line, part = _fold(scan, start, min(start + each, scan.count), room)
        folded.append(line)
        sampled = sampled or part
    finite = np.concatenate([line[np.isfinite(line)] for line in folded])
    if finite.size:
        seen = f"{number_text(float(finite.min()))} {SHADES[1:]} {number_text(float(finite.max()))}"
    else:
        seen = "nothing finite"
    line_of = f", 1 line = {each}" if each > 1 else ""
    labels = tuple(f"{_iteration(scan, start):>{label - 1}} " for start in starts)
    return Picture(labels, tuple(shades(folded)), f"{_which(scan)}{line_of}   {seen}{_sampled(sampled)}")


def _fold(scan: ScanSnapshot, first: int, last: int, width: int) -> tuple[Array, bool]:
    """Means of the elements from one place to another, in ``width`` cells; and whether not all was looked at."""
    places: Sequence[int] = range(first, last)
    if last - first > _ROWS:
        places = [int(k) for k in np.linspace(first, last - 1, _ROWS)]

    def read(whole: Array) -> tuple[list[Array], bool]:
        moved = np.moveaxis(whole, scan.axis, 0)
        part = len(moved) // scan.count
        rows, cut = [], False
        for place in places:
            row: Any = moved[place] if scan.stack else moved[place * part : (place + 1) * part]
            if row.size > width * _PER_CELL:
                cut = True
                row = row.flat[np.linspace(0, row.size - 1, width * _PER_CELL).astype(np.int64)]
            rows.append(np.array(row).reshape(-1))
        return rows, cut

    rows, cut = tensor_of(scan.whole).use(read)
    with np.errstate(all="ignore"):
        mean = np.mean([_cells(_doubles(row), width) for row in rows], axis=0)
    return mean, cut or len(places) < last - first


def _cells(flat: Array, width: int) -> Array:
    if flat.size <= width:
        # A few elements are stretched to whole cells.
        return np.repeat(flat, max(1, min(width // max(1, flat.size), 4)))
    edges = np.linspace(0, flat.size, width + 1).astype(np.int64)
    sums: Array = np.add.reduceat(flat, edges[:-1])
    return sums / np.diff(edges)


def _doubles(flat: Array) -> Array:
    wide = widened(flat)
    return np.abs(wide) if wide.dtype.kind == "c" else wide.astype(np.float64)


def _iteration(scan: ScanSnapshot, place: int) -> int:
    return scan.count - 1 - place if scan.reverse else place


def _which(scan: ScanSnapshot) -> str:
    last = scan.count - 1
    return f"iterations {last}–0, newest first" if scan.reverse else f"iterations 0–{last}" if last else "iteration 0"


def _sampled(sampled: bool) -> str:
    return ", sampled" if sampled else ""
