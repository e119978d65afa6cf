"""Plots of all elements of a scan output in a given number of lines and cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np
import numpy.typing as npt

from ...debugger.frame_state import ScanState
from ...debugger.statistics.sampling import (
    EXHAUSTIVE_MAX_NUMBERS,
    ElementSample,
    plot_line_indices,
    reduce_elements,
    reduce_scalars,
    sample_elements,
    sample_scalars,
    segment_extremes,
)
from ...debugger.statistics.tensor_statistics import as_tensor_ref
from ...runtime.graph import Array
from .downsample import MinMaxBand, draw_braille, values_per_cell
from .formatting import number_text, sparkline
from .history_plots import is_monotonic, is_within_rounding
from .styled_text import Span
from .text_plots import Shading, bar_chart, sign_colored_spans

#: Padding: zeros up to a fixed length or after a shorter sequence.
PADDING_SIGN = "╌"
#: Sampling limits: elements per line, numbers per cell.
_SAMPLED_ROWS_PER_LINE, _SAMPLED_NUMBERS_PER_CELL = 8, 8
#: Sampling limit of scalar elements.
_SAMPLED_NUMBERS_MAX = 1 << 16


@dataclass(frozen=True)
class ScanPicture:
    """Lines labelled with their first iteration; ``note``: what they show; ``numbers``: the numbers of the cells if
    each cell has one."""

    labels: tuple[str, ...]
    lines: tuple[str, ...]
    note: str
    numbers: tuple[Array, ...] = ()

    @property
    def rows(self) -> list[list[Span]]:
        """The coloured lines."""
        return [sign_colored_spans(text, numbers) for text, numbers in zip_longest(self.lines, self.numbers)]


def draw_scan(scan: ScanState, width: int, height: int) -> ScanPicture | None:
    """Plot a scan output with its elements in storage order; None if there is nothing to draw."""
    if not scan.count or height < 1 or width < 8:
        return None
    sample = _take_sample(scan, width, height) if scan.sample is None else scan.sample
    if sample is None:
        return None
    return _draw_numbers(scan, sample, width, height) if sample.size == 1 else _draw_rows(scan, sample, width, height)


def _take_sample(scan: ScanState, width: int, height: int) -> ElementSample | None:
    """A sample of the elements for a picture of this size."""
    if scan.full_value is None:
        return None
    tensor = as_tensor_ref(scan.full_value)
    if tensor.dtype.kind in "OUST" or not tensor.size or not tensor.ndim:
        return None
    size = tensor.size // scan.count

    def read(array: Array) -> ElementSample:
        scans = np.moveaxis(array, scan.axis, 0)
        elements = scans.reshape(scan.count, len(scans) // scan.count, *scans.shape[1:])
        is_complete = elements.size <= EXHAUSTIVE_MAX_NUMBERS
        if size == 1:
            return (reduce_scalars if is_complete else sample_scalars)(elements, _SAMPLED_NUMBERS_MAX)
        if is_complete:
            return reduce_elements(elements, size, width - _label_width(scan))
        return sample_elements(
            elements,
            size,
            plot_line_indices(scan.count, height, _SAMPLED_ROWS_PER_LINE),
            width * _SAMPLED_NUMBERS_PER_CELL,
        )

    return tensor.with_array(read)


def _draw_numbers(scan: ScanState, sample: ElementSample, width: int, height: int) -> ScanPicture:
    """Scalar elements as bars, or as ranges if they share cells."""
    numbers = _as_float64(sample.rows[:, 0])
    pads = _padding_mask(scan, sample)[:, 0]
    numbers = np.where(pads, 0.0, numbers) if pads.all() else np.where(pads, numbers[~pads][0], numbers)
    band, per_cell = MinMaxBand.from_numbers(numbers), values_per_cell(_total_elements(scan), width)
    unit = f", 1 cell = {per_cell}" if per_cell > 1 else ""
    low, high = band.bounds or (0.0, 0.0)
    constant = scan.count > 1 and is_within_rounding(low, high, sample.dtype.name) and not is_monotonic(numbers)
    flat = constant and not band.non_finite.any()
    if constant:
        numbers = np.where(band.non_finite, numbers, low)
        band = MinMaxBand.from_numbers(numbers)
    ends = "nothing finite" if band.bounds is None else f"▁ {number_text(low)} … █ {number_text(high)}"
    note = f"{_iterations_text(scan)}{unit}   {f'flat: {number_text(low)}' if flat else ends}{_sample_note(sample)}"
    repeat = max(1, min(4, width // _total_elements(scan))) if height >= 3 and per_cell == 1 and not flat else 1
    if flat:
        lines = [f"{'flat':─^{max(-(-scan.count // per_cell), 6)}}"]
    elif per_cell > 1:
        # A cell has two dot columns, also if the elements were sampled.
        cells = -(-scan.count // per_cell)
        heads = np.arange(2 * cells) * per_cell // 2
        starts = np.minimum(np.searchsorted(sample.element_indices, heads), len(numbers) - 1)
        lines = draw_braille(band.merge_groups(starts), cells, max(1, height))
    elif height < 3:
        lines = [sparkline(numbers, width)]
    else:
        lines = bar_chart([number for number in numbers for _ in range(repeat)], width, height)
    if not flat and pads.any():
        lines = _blank_padding(
            lines, [bool(pads[a:b].all()) for a, b in _row_ranges(sample, scan.count, per_cell)], repeat
        )
    if _total_elements(scan) > scan.count:
        # Missing elements are marked in the bottom line.
        missing = min(width - len(lines[-1]), repeat * max(1, (_total_elements(scan) - scan.count) // per_cell))
        lines = [*(line + " " * missing for line in lines[:-1]), lines[-1] + PADDING_SIGN * missing]
    return ScanPicture(("",) * len(lines), tuple(lines), note)


def _blank_padding(lines: list[str], padding: list[bool], repeat: int) -> list[str]:
    """Replace padding cells by blanks, and by the padding sign in the bottom line."""
    flags = [is_padding for is_padding in padding for _ in range(repeat)]
    return [
        "".join(
            (PADDING_SIGN if line is lines[-1] else " ") if is_padding else sign
            for sign, is_padding in zip(line, flags, strict=False)
        )
        for line in lines
    ]


def _row_ranges(sample: ElementSample, count: int, step: int) -> Iterator[tuple[int, int]]:
    """Ranges of sample rows, one for each group of ``step`` elements."""
    cuts = np.searchsorted(sample.element_indices, range(0, count, step)).tolist()
    return pairwise([*cuts, len(sample.rows)])


def _draw_rows(scan: ScanState, sample: ElementSample, width: int, height: int) -> ScanPicture:
    """Elements as rows, grouped if there are more than lines. A cell shows the largest magnitude of its numbers."""
    total = _total_elements(scan)
    per_line = math.ceil(total / height)
    label_width = _label_width(scan)
    columns = width - label_width
    padding = _padding_mask(scan, sample)
    cells, masks = [], []
    for a, b in _row_ranges(sample, scan.count, per_line):
        cells.append(_fold_rows(sample.rows[a:b], columns))
        masks.append(_fold_flags(padding[a:b], columns))
    per_cell = per_line * math.ceil(sample.size / columns)
    if per_cell > 1:
        cells = [np.abs(line) for line in cells]
    # Padding does not affect the shading.
    shading = Shading.for_rows([line[~mask] for line, mask in zip(cells, masks, strict=True)])
    lines = [_overlay_padding(shading.draw(line), mask) for line, mask in zip(cells, masks, strict=True)]
    starts = range(0, total, per_line)
    lines += [PADDING_SIGN * len(lines[0])] * (len(starts) - len(lines))
    labels = tuple(f"{_iteration_at(scan, start):>{label_width - 1}} " for start in starts)
    line_note = f", 1 line = {per_line}" if per_line > 1 else ""
    cell_note = f", 1 cell = max |x| of {per_cell}" if per_cell > 1 else ""
    note = f"{_iterations_text(scan)}{line_note}   {shading.legend}{_sample_note(sample)}{cell_note}"
    numbers = () if per_cell > 1 else tuple(np.where(mask, 0.0, line) for line, mask in zip(cells, masks, strict=True))
    return ScanPicture(labels, tuple(lines), note, numbers)


def _overlay_padding(line: str, mask: Array) -> str:
    return "".join(np.where(mask, PADDING_SIGN, [*line]).tolist()) if mask.any() else line


def _label_width(scan: ScanState) -> int:
    """The width of the label before a row."""
    return len(str(_total_elements(scan) - 1)) + 1


def _total_elements(scan: ScanState) -> int:
    """The current or the declared number of elements, whichever is larger."""
    return max(scan.count, scan.length or 0)


def _padding_mask(scan: ScanState, sample: ElementSample) -> Array:
    """A mask of the padding in a sample."""
    padding: Array = np.zeros(sample.rows.shape, bool)
    valid = scan.valid
    if valid is None or not len(valid):
        return padding
    iterations = np.minimum(
        scan.count - 1 - sample.element_indices if scan.reverse else sample.element_indices, len(valid) - 1
    )
    shape = [dim for k, dim in enumerate(scan.shape) if k != scan.axis % len(scan.shape)]
    parts = shape[0] if shape else 1
    if valid.ndim == 1:
        valid = np.arange(parts) < valid[:, None]
    if valid.shape[1] != parts or sample.size % parts:
        return padding
    # A sampled number is padding if all parts that it covers are.
    part_size = sample.size // parts
    first = sample.part_starts // part_size
    last = (np.append(sample.part_starts[1:], sample.size) - 1) // part_size if sample.is_exhaustive else first
    count = np.cumsum(np.pad(~valid[iterations], ((0, 0), (1, 0))), axis=1)
    padding[:] = count[:, last + 1] - count[:, first] == last + 1 - first
    return padding


def _fold_rows(rows: Array, width: int) -> Array:
    """Fold elements to ``width`` cells by the largest magnitude."""
    numbers = _as_float64(rows)
    flat = numbers[0] if len(numbers) == 1 else segment_extremes(numbers, np.zeros(1, np.int64), axis=0)[0]
    return (
        _stretch_to_cells(flat, width) if flat.size <= width else segment_extremes(flat, _cell_starts(flat.size, width))
    )


def _fold_flags(flags: Array, width: int) -> Array:
    """Fold flags to ``width`` cells; a cell is set if all its flags are."""
    flat: Array = np.all(flags, axis=0)
    if flat.size <= width:
        return _stretch_to_cells(flat, width)
    result: Array = np.logical_and.reduceat(flat, _cell_starts(flat.size, width))
    return result


def _stretch_to_cells(flat: Array, width: int) -> Array:
    """Repeat few elements over several cells."""
    return np.repeat(flat, max(1, min(width // max(1, flat.size), 4)))


def _cell_starts(size: int, width: int) -> npt.NDArray[np.int64]:
    """The first element of each cell."""
    return np.linspace(0, size, width + 1).astype(np.int64)[:-1]


def _as_float64(flat: Array) -> Array:
    return (np.abs(flat) if flat.dtype.kind == "c" else flat).astype(np.float64)


def _iteration_at(scan: ScanState, index: int) -> int:
    return scan.count - 1 - index if scan.reverse and index < scan.count else index


def _iterations_text(scan: ScanState) -> str:
    last = scan.count - 1
    text = f"iterations {last}–0, newest first" if scan.reverse else f"iterations 0–{last}" if last else "iteration 0"
    if scan.length is not None and scan.length > scan.count:
        text += f", zeros up to {scan.length} {PADDING_SIGN}"
    return f"{text}, {PADDING_SIGN} filling" if scan.valid is not None and not _has_no_padding(scan.valid) else text


def _has_no_padding(valid: Array) -> bool:
    """Whether there is no padding."""
    return bool(valid.all() if valid.ndim > 1 else (valid == valid.max(initial=0)).all())


def _sample_note(sample: ElementSample) -> str:
    return "" if sample.is_exhaustive else f", of a sample: 1 in {math.ceil(sample.sampling_interval)}"
