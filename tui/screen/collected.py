"""Pictures of all that a scan output has collected, in as many lines and cells as there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...debugger.session.snapshot import ScanSnapshot
from ...debugger.statistics.onepass import widened
from ...debugger.statistics.sample import Sample, evenly, sampled, sampled_numbers
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
    if not scan.count or height < 1 or width < 8:
        return None
    sample = _sample(scan, width, height) if scan.sample is None else scan.sample
    if sample is None:
        return None
    return _numbers(scan, sample, width, height) if sample.size == 1 else _rows(scan, sample, width, height)


def _sample(scan: ScanSnapshot, width: int, height: int) -> Sample | None:
    """What a picture of this size needs."""
    if scan.whole is None:
        return None
    whole = tensor_of(scan.whole)
    if whole.dtype.kind in "OUST" or not whole.size or not whole.ndim:
        return None
    size = whole.size // scan.count

    def read(array: Array) -> Sample:
        moved = np.moveaxis(array, scan.axis, 0)
        elements = moved.reshape(scan.count, len(moved) // scan.count, *moved.shape[1:])
        if size == 1:
            return sampled_numbers(elements, _NUMBERS)
        return sampled(elements, size, evenly(scan.count, height, _ROWS), width * _PER_CELL)

    return whole.use(read)


def _numbers(scan: ScanSnapshot, sample: Sample, width: int, height: int) -> Picture:
    """Single numbers as bars, or, where they share cells, as from where to where they go."""
    numbers = _doubles(sample.rows[:, 0])
    band, each = Band.of(numbers), per_cell(scan.count, width)
    cell = f", 1 cell = {each}" if each > 1 else ""
    low, high = band.span or (0.0, 0.0)
    flat = not band.odd.any() and scan.count > 1 and is_rounding(low, high, sample.dtype.name)
    seen = "nothing finite" if band.span is None else f"{number_text(low)} … {number_text(high)}"
    note = f"{_which(scan)}{cell}   {f'flat: {number_text(low)}' if flat else seen}{_sampled(sample)}"
    if flat:
        return Picture(("",), (f"{'flat':─^{max(min(scan.count, width), 6)}}",), note)
    if each > 1:
        # Two columns of dots a cell, whatever was taken of what they stand for.
        heads = np.arange(2 * -(-scan.count // each)) * each // 2
        starts = np.minimum(np.searchsorted(sample.places, heads), len(numbers) - 1)
        lines = draw(band.joined(starts), width, max(1, height))
    elif height < 3:
        lines = [sparkline(numbers, width)]
    else:
        wide = max(1, min(4, width // len(numbers)))
        lines = chart([number for number in numbers for _ in range(wide)], width, height)
    return Picture(("",) * len(lines), tuple(lines), note)


def _rows(scan: ScanSnapshot, sample: Sample, width: int, height: int) -> Picture:
    """Elements as rows, some of them together where there are more than lines."""
    each = math.ceil(scan.count / height)
    starts = range(0, scan.count, each)
    label = len(str(scan.count - 1)) + 1
    cuts = np.searchsorted(sample.places, starts)
    folded = [_fold(sample.rows[a:b], width - label) for a, b in pairwise([*cuts.tolist(), len(sample.rows)])]
    finite = np.concatenate([line[np.isfinite(line)] for line in folded])
    if finite.size:
        seen = f"{number_text(float(finite.min()))} {SHADES[1:]} {number_text(float(finite.max()))}"
    else:
        seen = "nothing finite"
    line_of = f", 1 line = {each}" if each > 1 else ""
    labels = tuple(f"{_iteration(scan, start):>{label - 1}} " for start in starts)
    return Picture(labels, tuple(shades(folded)), f"{_which(scan)}{line_of}   {seen}{_sampled(sample)}")


def _fold(rows: Array, width: int) -> Array:
    """Means of some elements, in ``width`` cells."""
    with np.errstate(all="ignore"):
        mean: Array = np.mean([_cells(_doubles(row), width) for row in rows], axis=0)
    return mean


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


def _sampled(sample: Sample) -> str:
    return "" if sample.is_whole else ", sampled"
