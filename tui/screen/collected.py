"""Pictures of all that a scan output has collected, in as many lines and cells as there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np
import numpy.typing as npt

from ...debugger.session.snapshot import ScanSnapshot
from ...debugger.statistics.onepass import widened
from ...debugger.statistics.sample import (
    ALL,
    Sample,
    evenly,
    extremes,
    folded,
    folded_numbers,
    sampled,
    sampled_numbers,
)
from ...debugger.statistics.tensor import tensor_of
from ...runtime.graph import Array
from .bands import Band, draw, per_cell
from .evolution import is_drift, is_rounding
from .lines import Span
from .plots import Shading, chart, signed
from .text import number_text, sparkline

#: What is no result: zeros that fill up to a length, or behind a sequence that is shorter than others.
FILLING = "╌"
#: Of one line of a picture at most so many elements of the scan output are read, and so many numbers a cell.
_ROWS, _PER_CELL = 8, 8
#: Of single numbers at most so many.
_NUMBERS = 1 << 16


@dataclass(frozen=True)
class Picture:
    """Lines with the iteration that each begins with; ``note`` says what they stand for; ``numbers``: what the cells
    are of, where each is of one."""

    labels: tuple[str, ...]
    lines: tuple[str, ...]
    note: str
    numbers: tuple[Array, ...] = ()

    @property
    def rows(self) -> list[list[Span]]:
        """The lines in their colours."""
        return [signed(text, numbers) for text, numbers in zip_longest(self.lines, self.numbers)]


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
    tensor = tensor_of(scan.whole)
    if tensor.dtype.kind in "OUST" or not tensor.size or not tensor.ndim:
        return None
    size = tensor.size // scan.count

    def read(array: Array) -> Sample:
        moved = np.moveaxis(array, scan.axis, 0)
        elements = moved.reshape(scan.count, len(moved) // scan.count, *moved.shape[1:])
        whole = elements.size <= ALL
        if size == 1:
            return (folded_numbers if whole else sampled_numbers)(elements, _NUMBERS)
        if whole:
            return folded(elements, size, width - _label(scan))
        return sampled(elements, size, evenly(scan.count, height, _ROWS), width * _PER_CELL)

    return tensor.use(read)


def _numbers(scan: ScanSnapshot, sample: Sample, width: int, height: int) -> Picture:
    """Single numbers as bars, or, where they share cells, as from where to where they go."""
    numbers = _doubles(sample.rows[:, 0])
    filled = _filled(scan, sample)[:, 0]
    numbers = np.where(filled, 0.0, numbers) if filled.all() else np.where(filled, numbers[~filled][0], numbers)
    band, each = Band.of(numbers), per_cell(_total(scan), width)
    per = f", 1 cell = {each}" if each > 1 else ""
    low, high = band.span or (0.0, 0.0)
    still = scan.count > 1 and is_rounding(low, high, sample.dtype.name) and not is_drift(numbers)
    flat = still and not band.odd.any()
    if still:
        numbers = np.where(band.odd, numbers, low)
        band = Band.of(numbers)
    seen = "nothing finite" if band.span is None else f"▁ {number_text(low)} … █ {number_text(high)}"
    note = f"{_which(scan)}{per}   {f'flat: {number_text(low)}' if flat else seen}{_sampled(sample)}"
    wide = max(1, min(4, width // _total(scan))) if height >= 3 and each == 1 and not flat else 1
    if flat:
        lines = [f"{'flat':─^{max(-(-scan.count // each), 6)}}"]
    elif each > 1:
        # Two columns of dots a cell, whatever was taken of what they stand for.
        cells = -(-scan.count // each)
        heads = np.arange(2 * cells) * each // 2
        starts = np.minimum(np.searchsorted(sample.places, heads), len(numbers) - 1)
        lines = draw(band.joined(starts), cells, max(1, height))
    elif height < 3:
        lines = [sparkline(numbers, width)]
    else:
        lines = chart([number for number in numbers for _ in range(wide)], width, height)
    if not flat and filled.any():
        lines = _without(lines, [bool(filled[a:b].all()) for a, b in _spans(sample, scan.count, each)], wide)
    if _total(scan) > scan.count:
        # What is not there stands at the foot of where it will be.
        rest = min(width - len(lines[-1]), wide * max(1, (_total(scan) - scan.count) // each))
        lines = [*(line + " " * rest for line in lines[:-1]), lines[-1] + FILLING * rest]
    return Picture(("",) * len(lines), tuple(lines), note)


def _without(lines: list[str], filling: list[bool], wide: int) -> list[str]:
    """Lines of a picture where some cells are filling, which stands at its foot."""
    cells = [one for one in filling for _ in range(wide)]
    return [
        "".join(
            (FILLING if line is lines[-1] else " ") if one else sign for sign, one in zip(line, cells, strict=False)
        )
        for line in lines
    ]


def _spans(sample: Sample, count: int, each: int) -> Iterator[tuple[int, int]]:
    """From where to where the rows of a sample are of so many elements at a time."""
    cuts = np.searchsorted(sample.places, range(0, count, each)).tolist()
    return pairwise([*cuts, len(sample.rows)])


def _rows(scan: ScanSnapshot, sample: Sample, width: int, height: int) -> Picture:
    """Elements as rows, some of them together where there are more than lines. A cell shows the largest magnitude of
    all that share it."""
    total = _total(scan)
    each = math.ceil(total / height)
    label = _label(scan)
    room = width - label
    filled = _filled(scan, sample)
    cells, masks = [], []
    for a, b in _spans(sample, scan.count, each):
        cells.append(_fold(sample.rows[a:b], room))
        masks.append(_all_of(filled[a:b], room))
    many = each * math.ceil(sample.size / room)
    if many > 1:
        cells = [np.abs(line) for line in cells]
    # What is filling has no say in how dark the others are.
    shading = Shading.of([line[~mask] for line, mask in zip(cells, masks, strict=True)])
    lines = [_with_filling(shading.draw(line), mask) for line, mask in zip(cells, masks, strict=True)]
    starts = range(0, total, each)
    lines += [FILLING * len(lines[0])] * (len(starts) - len(lines))
    labels = tuple(f"{_iteration(scan, start):>{label - 1}} " for start in starts)
    line_of = f", 1 line = {each}" if each > 1 else ""
    cell_of = f", 1 cell = max |x| of {many}" if many > 1 else ""
    note = f"{_which(scan)}{line_of}   {shading.text}{_sampled(sample)}{cell_of}"
    numbers = () if many > 1 else tuple(np.where(mask, 0.0, line) for line, mask in zip(cells, masks, strict=True))
    return Picture(labels, tuple(lines), note, numbers)


def _with_filling(line: str, mask: Array) -> str:
    return "".join(np.where(mask, FILLING, [*line]).tolist()) if mask.any() else line


def _label(scan: ScanSnapshot) -> int:
    """The cells of the number before a row."""
    return len(str(_total(scan) - 1)) + 1


def _total(scan: ScanSnapshot) -> int:
    """The elements that it has or will have in the end."""
    return max(scan.count, scan.length or 0)


def _filled(scan: ScanSnapshot, sample: Sample) -> Array:
    """Which of the numbers of a sample are filling."""
    filled: Array = np.zeros(sample.rows.shape, bool)
    valid = scan.valid
    if valid is None or not len(valid):
        return filled
    iterations = np.minimum(scan.count - 1 - sample.places if scan.reverse else sample.places, len(valid) - 1)
    shape = [dim for k, dim in enumerate(scan.shape) if k != scan.axis % len(scan.shape)]
    parts = shape[0] if shape else 1
    if valid.ndim == 1:
        valid = np.arange(parts) < valid[:, None]
    if valid.shape[1] != parts or sample.size % parts:
        return filled
    # A number is filling where all that it stands for is: from the part that it begins in to the one that it ends in.
    per = sample.size // parts
    first = sample.starts // per
    last = (np.append(sample.starts[1:], sample.size) - 1) // per if sample.is_whole else first
    count = np.cumsum(np.pad(~valid[iterations], ((0, 0), (1, 0))), axis=1)
    filled[:] = count[:, last + 1] - count[:, first] == last + 1 - first
    return filled


def _fold(rows: Array, width: int) -> Array:
    """Of some elements those of the largest magnitude, in ``width`` cells."""
    numbers = _doubles(rows)
    flat = numbers[0] if len(numbers) == 1 else extremes(numbers, np.zeros(1, np.int64), axis=0)[0]
    return _stretched(flat, width) if flat.size <= width else extremes(flat, _edges(flat.size, width))


def _all_of(flags: Array, width: int) -> Array:
    """Whether all of some elements are so, in ``width`` cells."""
    flat: Array = np.all(flags, axis=0)
    if flat.size <= width:
        return _stretched(flat, width)
    every: Array = np.logical_and.reduceat(flat, _edges(flat.size, width))
    return every


def _stretched(flat: Array, width: int) -> Array:
    """A few elements in whole cells."""
    return np.repeat(flat, max(1, min(width // max(1, flat.size), 4)))


def _edges(size: int, width: int) -> npt.NDArray[np.int64]:
    """Where cells begin."""
    return np.linspace(0, size, width + 1).astype(np.int64)[:-1]


def _doubles(flat: Array) -> Array:
    wide = widened(flat)
    return np.abs(wide) if wide.dtype.kind == "c" else wide.astype(np.float64)


def _iteration(scan: ScanSnapshot, place: int) -> int:
    return scan.count - 1 - place if scan.reverse and place < scan.count else place


def _which(scan: ScanSnapshot) -> str:
    last = scan.count - 1
    told = f"iterations {last}–0, newest first" if scan.reverse else f"iterations 0–{last}" if last else "iteration 0"
    if scan.length is not None and scan.length > scan.count:
        told += f", zeros up to {scan.length} {FILLING}"
    return f"{told}, {FILLING} filling" if scan.valid is not None and not _is_full(scan.valid) else told


def _is_full(valid: Array) -> bool:
    """Is nothing filling?"""
    return bool(valid.all() if valid.ndim > 1 else (valid == valid.max(initial=0)).all())


def _sampled(sample: Sample) -> str:
    return "" if sample.is_whole else f", of a sample: 1 in {math.ceil(sample.part)}"
