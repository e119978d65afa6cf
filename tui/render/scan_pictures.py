"""Pictures of all that a scan output has collected, in as many lines and cells as there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np
import numpy.typing as npt

from ...debugger.session.snapshot import ScanSnapshot
from ...debugger.statistics.sampling import (
    EXHAUSTIVE_MAX_NUMBERS,
    ElementSample,
    fold_elements,
    fold_scalars,
    indices_per_line,
    sample_elements,
    sample_scalars,
    segment_extremes,
)
from ...debugger.statistics.streaming_stats import widen
from ...debugger.statistics.tensor_ref import as_tensor_ref
from ...runtime.graph import Array
from .downsample import MinMaxBand, draw_braille, values_per_cell
from .formatting import number_text, sparkline
from .history_plots import is_monotonic, is_within_rounding
from .styled_text import Span
from .text_plots import Shading, bar_chart, sign_colored_spans

#: What is no result: zeros that fill up to a length, or behind a sequence that is shorter than others.
PADDING_SIGN = "╌"
#: Of one line of a picture at most so many elements of the scan output are read, and so many numbers a cell.
_SAMPLED_ROWS_PER_LINE, _SAMPLED_NUMBERS_PER_CELL = 8, 8
#: Of single numbers at most so many.
_SAMPLED_NUMBERS_MAX = 1 << 16


@dataclass(frozen=True)
class ScanPicture:
    """Lines with the iteration that each begins with; ``note`` says what they stand for; ``numbers``: what the cells
    are of, where each is of one."""

    labels: tuple[str, ...]
    lines: tuple[str, ...]
    note: str
    numbers: tuple[Array, ...] = ()

    @property
    def rows(self) -> list[list[Span]]:
        """The lines in their colours."""
        return [sign_colored_spans(text, numbers) for text, numbers in zip_longest(self.lines, self.numbers)]


def draw_scan(scan: ScanSnapshot, width: int, height: int) -> ScanPicture | None:
    """The whole of a scan output, its elements in the order in which they stand in it; None where there is nothing to
    draw."""
    if not scan.count or height < 1 or width < 8:
        return None
    sample = _take_sample(scan, width, height) if scan.sample is None else scan.sample
    if sample is None:
        return None
    return _draw_numbers(scan, sample, width, height) if sample.size == 1 else _draw_rows(scan, sample, width, height)


def _take_sample(scan: ScanSnapshot, width: int, height: int) -> ElementSample | None:
    """What a picture of this size needs."""
    if scan.full_value is None:
        return None
    tensor = as_tensor_ref(scan.full_value)
    if tensor.dtype.kind in "OUST" or not tensor.size or not tensor.ndim:
        return None
    size = tensor.size // scan.count

    def read(array: Array) -> ElementSample:
        moved = np.moveaxis(array, scan.axis, 0)
        elements = moved.reshape(scan.count, len(moved) // scan.count, *moved.shape[1:])
        whole = elements.size <= EXHAUSTIVE_MAX_NUMBERS
        if size == 1:
            return (fold_scalars if whole else sample_scalars)(elements, _SAMPLED_NUMBERS_MAX)
        if whole:
            return fold_elements(elements, size, width - _label_width(scan))
        return sample_elements(
            elements,
            size,
            indices_per_line(scan.count, height, _SAMPLED_ROWS_PER_LINE),
            width * _SAMPLED_NUMBERS_PER_CELL,
        )

    return tensor.with_array(read)


def _draw_numbers(scan: ScanSnapshot, sample: ElementSample, width: int, height: int) -> ScanPicture:
    """Single numbers as bars, or, where they share cells, as from where to where they go."""
    numbers = _as_float64(sample.rows[:, 0])
    filled = _padding_mask(scan, sample)[:, 0]
    numbers = np.where(filled, 0.0, numbers) if filled.all() else np.where(filled, numbers[~filled][0], numbers)
    band, each = MinMaxBand.from_numbers(numbers), values_per_cell(_total_elements(scan), width)
    per = f", 1 cell = {each}" if each > 1 else ""
    low, high = band.bounds or (0.0, 0.0)
    still = scan.count > 1 and is_within_rounding(low, high, sample.dtype.name) and not is_monotonic(numbers)
    flat = still and not band.non_finite.any()
    if still:
        numbers = np.where(band.non_finite, numbers, low)
        band = MinMaxBand.from_numbers(numbers)
    seen = "nothing finite" if band.bounds is None else f"▁ {number_text(low)} … █ {number_text(high)}"
    note = f"{_iterations_text(scan)}{per}   {f'flat: {number_text(low)}' if flat else seen}{_sample_note(sample)}"
    wide = max(1, min(4, width // _total_elements(scan))) if height >= 3 and each == 1 and not flat else 1
    if flat:
        lines = [f"{'flat':─^{max(-(-scan.count // each), 6)}}"]
    elif each > 1:
        # Two columns of dots a cell, whatever was taken of what they stand for.
        cells = -(-scan.count // each)
        heads = np.arange(2 * cells) * each // 2
        starts = np.minimum(np.searchsorted(sample.element_indices, heads), len(numbers) - 1)
        lines = draw_braille(band.merge_groups(starts), cells, max(1, height))
    elif height < 3:
        lines = [sparkline(numbers, width)]
    else:
        lines = bar_chart([number for number in numbers for _ in range(wide)], width, height)
    if not flat and filled.any():
        lines = _blank_padding(lines, [bool(filled[a:b].all()) for a, b in _row_ranges(sample, scan.count, each)], wide)
    if _total_elements(scan) > scan.count:
        # What is not there stands at the foot of where it will be.
        rest = min(width - len(lines[-1]), wide * max(1, (_total_elements(scan) - scan.count) // each))
        lines = [*(line + " " * rest for line in lines[:-1]), lines[-1] + PADDING_SIGN * rest]
    return ScanPicture(("",) * len(lines), tuple(lines), note)


def _blank_padding(lines: list[str], filling: list[bool], wide: int) -> list[str]:
    """Lines of a picture where some cells are filling, which stands at its foot."""
    cells = [one for one in filling for _ in range(wide)]
    return [
        "".join(
            (PADDING_SIGN if line is lines[-1] else " ") if one else sign
            for sign, one in zip(line, cells, strict=False)
        )
        for line in lines
    ]


def _row_ranges(sample: ElementSample, count: int, each: int) -> Iterator[tuple[int, int]]:
    """From where to where the rows of a sample are of so many elements at a time."""
    cuts = np.searchsorted(sample.element_indices, range(0, count, each)).tolist()
    return pairwise([*cuts, len(sample.rows)])


def _draw_rows(scan: ScanSnapshot, sample: ElementSample, width: int, height: int) -> ScanPicture:
    """Elements as rows, some of them together where there are more than lines. A cell shows the largest magnitude of
    all that share it."""
    total = _total_elements(scan)
    each = math.ceil(total / height)
    label = _label_width(scan)
    room = width - label
    filled = _padding_mask(scan, sample)
    cells, masks = [], []
    for a, b in _row_ranges(sample, scan.count, each):
        cells.append(_fold_rows(sample.rows[a:b], room))
        masks.append(_fold_flags(filled[a:b], room))
    many = each * math.ceil(sample.size / room)
    if many > 1:
        cells = [np.abs(line) for line in cells]
    # What is filling has no say in how dark the others are.
    shading = Shading.for_rows([line[~mask] for line, mask in zip(cells, masks, strict=True)])
    lines = [_overlay_padding(shading.draw(line), mask) for line, mask in zip(cells, masks, strict=True)]
    starts = range(0, total, each)
    lines += [PADDING_SIGN * len(lines[0])] * (len(starts) - len(lines))
    labels = tuple(f"{_iteration_at(scan, start):>{label - 1}} " for start in starts)
    line_of = f", 1 line = {each}" if each > 1 else ""
    cell_of = f", 1 cell = max |x| of {many}" if many > 1 else ""
    note = f"{_iterations_text(scan)}{line_of}   {shading.legend}{_sample_note(sample)}{cell_of}"
    numbers = () if many > 1 else tuple(np.where(mask, 0.0, line) for line, mask in zip(cells, masks, strict=True))
    return ScanPicture(labels, tuple(lines), note, numbers)


def _overlay_padding(line: str, mask: Array) -> str:
    return "".join(np.where(mask, PADDING_SIGN, [*line]).tolist()) if mask.any() else line


def _label_width(scan: ScanSnapshot) -> int:
    """The cells of the number before a row."""
    return len(str(_total_elements(scan) - 1)) + 1


def _total_elements(scan: ScanSnapshot) -> int:
    """The elements that it has or will have in the end."""
    return max(scan.count, scan.length or 0)


def _padding_mask(scan: ScanSnapshot, sample: ElementSample) -> Array:
    """Which of the numbers of a sample are filling."""
    filled: Array = np.zeros(sample.rows.shape, bool)
    valid = scan.valid
    if valid is None or not len(valid):
        return filled
    iterations = np.minimum(
        scan.count - 1 - sample.element_indices if scan.reverse else sample.element_indices, len(valid) - 1
    )
    shape = [dim for k, dim in enumerate(scan.shape) if k != scan.axis % len(scan.shape)]
    parts = shape[0] if shape else 1
    if valid.ndim == 1:
        valid = np.arange(parts) < valid[:, None]
    if valid.shape[1] != parts or sample.size % parts:
        return filled
    # A number is filling where all that it stands for is: from the part that it begins in to the one that it ends in.
    per = sample.size // parts
    first = sample.part_starts // per
    last = (np.append(sample.part_starts[1:], sample.size) - 1) // per if sample.is_exhaustive else first
    count = np.cumsum(np.pad(~valid[iterations], ((0, 0), (1, 0))), axis=1)
    filled[:] = count[:, last + 1] - count[:, first] == last + 1 - first
    return filled


def _fold_rows(rows: Array, width: int) -> Array:
    """Of some elements those of the largest magnitude, in ``width`` cells."""
    numbers = _as_float64(rows)
    flat = numbers[0] if len(numbers) == 1 else segment_extremes(numbers, np.zeros(1, np.int64), axis=0)[0]
    return (
        _stretch_to_cells(flat, width) if flat.size <= width else segment_extremes(flat, _cell_starts(flat.size, width))
    )


def _fold_flags(flags: Array, width: int) -> Array:
    """Whether all of some elements are so, in ``width`` cells."""
    flat: Array = np.all(flags, axis=0)
    if flat.size <= width:
        return _stretch_to_cells(flat, width)
    every: Array = np.logical_and.reduceat(flat, _cell_starts(flat.size, width))
    return every


def _stretch_to_cells(flat: Array, width: int) -> Array:
    """A few elements in whole cells."""
    return np.repeat(flat, max(1, min(width // max(1, flat.size), 4)))


def _cell_starts(size: int, width: int) -> npt.NDArray[np.int64]:
    """Where cells begin."""
    return np.linspace(0, size, width + 1).astype(np.int64)[:-1]


def _as_float64(flat: Array) -> Array:
    wide = widen(flat)
    return np.abs(wide) if wide.dtype.kind == "c" else wide.astype(np.float64)


def _iteration_at(scan: ScanSnapshot, place: int) -> int:
    return scan.count - 1 - place if scan.reverse and place < scan.count else place


def _iterations_text(scan: ScanSnapshot) -> str:
    last = scan.count - 1
    told = f"iterations {last}–0, newest first" if scan.reverse else f"iterations 0–{last}" if last else "iteration 0"
    if scan.length is not None and scan.length > scan.count:
        told += f", zeros up to {scan.length} {PADDING_SIGN}"
    return f"{told}, {PADDING_SIGN} filling" if scan.valid is not None and not _has_no_padding(scan.valid) else told


def _has_no_padding(valid: Array) -> bool:
    """Is nothing filling?"""
    return bool(valid.all() if valid.ndim > 1 else (valid == valid.max(initial=0)).all())


def _sample_note(sample: ElementSample) -> str:
    return "" if sample.is_exhaustive else f", of a sample: 1 in {math.ceil(sample.sampling_interval)}"
