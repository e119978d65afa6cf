"""The lines of the inspector: statistics of a tensor, a page of its elements, a value over iterations.

Only visible elements are read and formatted.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len

from ...debugger.statistics.axis_growth import AxisGrowth
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.number_format import NumberFormat, format_element
from ...debugger.statistics.tensor_slice import TensorSlice
from ...debugger.statistics.tensor_statistics import (
    TensorChange,
    TensorRef,
    TensorStatistics,
    absolute_differences,
    widen_elements,
)
from ...runtime.graph import Array
from ...runtime.text import group_digits
from .downsample import MinMaxBand, draw_braille
from .formatting import NOT_FINITE_SYMBOL, number_text, scalar_text
from .styled_text import Role, Span, StyledLine, styled_line, truncate
from .text_plots import sign_colored_spans

_BARS = " ▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
#: Elements that the baseline tensor does not have: in a table, in a heat map.
NEW_ELEMENT_TEXT, _NEW_ELEMENT_SIGN = "new", "+"
#: Elements of a one-dimensional slice per line; the largest that fits is used.
_ELEMENTS_PER_LINE = (20, 10, 5, 4, 2, 1)
#: Up to this many elements the cell width is measured.
_MEASURED_ELEMENTS_MAX = 512
#: Widest cell: strings can have any length.
_CELL_MAX_WIDTH = 26


# -- statistics


def index_text(tensor: TensorRef, offset: int) -> str:
    """``[0,31]``, the index of an element in its tensor."""
    return "[" + ",".join(str(int(k)) for k in np.unravel_index(offset, tensor.shape)) + "]" if tensor.ndim else "[]"


def change_text(change: TensorChange, growth: AxisGrowth | None) -> str:
    """How much of a value is unchanged; after growth also the new rows."""
    if growth is None:
        return f"same as before {group_digits(change.same)}" if change.size else ""
    if not growth.common_rows:
        return growth.label
    subject = f"the {growth.common_rows} before" if growth.added_rows > 0 else f"the other {growth.common_rows}"
    if change.same == change.size:
        return f"{growth.label}, {subject} unchanged"
    return (
        f"{growth.label}, {subject}: {group_digits(change.size - change.same)} of {group_digits(change.size)} elements"
        " changed"
    )


def statistics_lines(
    tensor: TensorRef,
    stats: TensorStatistics,
    change: TensorChange | None,
    histogram: Histogram | None,
    width: int,
    growth: AxisGrowth | None = None,
) -> list[StyledLine]:
    """Statistics, with the progress if they are incomplete. ``growth``: how the shape differs from that of the
    baseline."""
    if tensor.dtype.kind in "OUST":
        return [styled_line((f"{group_digits(tensor.size)} strings", Role.VALUE))]
    if not tensor.size:
        return [styled_line(("no element", Role.DIM))]
    number = str if isinstance(stats.min, int) else _short_number
    ends: list[Span] = []
    summary: list[Span] = []
    if stats.min is not None:
        ends = [
            (f"min {number(stats.min)} at {index_text(tensor, stats.min_at)}", Role.PLAIN),
            (f"max {number(stats.max or 0)} at {index_text(tensor, stats.max_at)}", Role.PLAIN),
        ]
        quantities = (("mean", stats.mean), ("std", stats.std), ("norm", stats.norm))
        summary = [(f"{word} {number_text(value)}", Role.PLAIN) for word, value in quantities]
    counts: list[Span] = [
        (f"{word} {group_digits(count)}", Role.ERROR if count else Role.PLAIN)
        for word, count in (("NaN", stats.nan), ("Inf", stats.inf))
    ]
    counts.append((f"zeros {group_digits(stats.zeros)}", Role.PLAIN))
    note = "" if change is None else change_text(change, growth)
    counts += [(note, Role.PLAIN)] if note else []
    tail = [*_wrap_spans(summary, width), *_wrap_spans(counts, width)]
    # Moments and counts share lines if they need more than two.
    lines = [*_wrap_spans(ends, width), *(tail if len(tail) <= 2 else _wrap_spans([*summary, *counts], width))]
    if tensor.dtype.kind == "c":
        lines[0] = styled_line(*lines[0].spans, ("   of magnitudes", Role.DIM))
    if stats.size < tensor.size:
        lines.append(
            styled_line(
                (f"{100 * stats.size // tensor.size} % of {group_digits(tensor.size)} elements so far", Role.DIM)
            )
        )
    elif histogram is not None and stats.min is not None:
        lines.append(_histogram_line(histogram, width))
    return lines


def _short_number(value: float | int) -> str:
    return number_text(float(value))


def _wrap_spans(spans: Sequence[Span], width: int) -> list[StyledLine]:
    """Wrap spans into lines of at most ``width`` cells."""
    rows: list[list[Span]] = []
    used = 0
    for span in spans:
        length = cell_len(span[0])
        if rows and used + 3 + length <= width:
            rows[-1] += [("   ", Role.PLAIN), span]
            used += 3 + length
        else:
            rows.append([span])
            used = length
    return [styled_line(*row) for row in rows]


def _histogram_line(histogram: Histogram, width: int) -> StyledLine:
    ends = number_text(histogram.low), number_text(histogram.high)
    cells = max(4, min(len(histogram.counts), width - len(ends[0]) - len(ends[1]) - 2))
    edges = np.linspace(0, len(histogram.counts), cells + 1).astype(int)
    counts = np.add.reduceat(histogram.counts, edges[:-1])
    peak = int(counts.max()) or 1
    # Any non-zero count is visible.
    bars = "".join(_BARS[math.ceil(int(count) / peak * 8)] for count in counts)
    return styled_line((f"{ends[0]} ", Role.DIM), (bars, Role.PLOT), (f" {ends[1]}", Role.DIM))


# -- a page of elements


@dataclass(frozen=True)
class ElementPage:
    """The visible lines of a slice. ``line_count``: the lines of the complete slice; ``rows``, ``columns``: the visible
    ones."""

    lines: tuple[StyledLine, ...]
    elements_per_line: int
    line_count: int
    rows: range
    columns: range


@dataclass(frozen=True)
class TensorViewport:
    """How a slice is shown. ``top``, ``left``: the first visible line and column; ``cursor``: row and column in the
    slice. ``baseline``: the tensor to show the difference to."""

    part: TensorSlice
    top: int = 0
    left: int = 0
    cursor: tuple[int, int] = (0, 0)
    number_format: NumberFormat = NumberFormat.SHORT
    baseline: TensorRef | None = None
    #: How its shape differs from that of the baseline.
    growth: AxisGrowth | None = None
    heat_map: bool = False


def is_one_dimensional(part: TensorSlice) -> bool:
    """Whether a slice has at most one axis; it is then wrapped over lines."""
    return len(part.shape) < 2


def render_page(
    tensor: TensorRef, view: TensorViewport, width: int, height: int, span: tuple[float, float] | None = None
) -> ElementPage:
    """The lines of a page, the first is the column header. ``span``: the range of a heat map."""
    part = view.part
    if not part.size:
        return ElementPage((styled_line(("no element", Role.DIM)),), 1, 0, range(0), range(0))
    row_count = max(1, height - 1)
    if view.heat_map:
        return _heat_map_page(tensor, view, width, row_count, span)
    margin = (
        max(
            len(_row_label(part, 0)),
            len(_row_label(part, part.rows - 1 if not is_one_dimensional(part) else part.size - 1)),
        )
        + 2
    )
    size = max(_cell_width(tensor, view), len(str(part.columns - 1)))
    if is_one_dimensional(part):
        return _one_dimensional_page(tensor, view, width - margin, margin, size, row_count)
    rows = range(min(view.top, part.rows - 1), min(part.rows, view.top + row_count))
    fitting = max(1, (width - margin) // (size + 2))
    columns = range(view.left, min(part.columns, view.left + fitting))
    texts = _cell_texts(tensor, view, rows, columns)
    lines = [_header_line([str(k) for k in columns], margin, size)]
    for row, cells in zip(rows, texts, strict=True):
        lines.append(_row_line(_row_label(part, row), cells, margin, size, _cursor_column(view, row, columns)))
    return ElementPage(tuple(lines), 1, part.rows, rows, columns)


def _one_dimensional_page(
    tensor: TensorRef, view: TensorViewport, width: int, margin: int, size: int, height: int
) -> ElementPage:
    part = view.part
    step = min(next((k for k in _ELEMENTS_PER_LINE if k * (size + 2) <= width), 1), part.size)
    line_count = -(-part.size // step)
    rows = range(min(view.top, line_count - 1), min(line_count, view.top + height))
    texts = [
        _cell_texts(tensor, view, range(1), range(row * step, min(part.size, (row + 1) * step)))[0] for row in rows
    ]
    lines = [_header_line([f"+{k}" for k in range(step)], margin, size)]
    for row, cells in zip(rows, texts, strict=True):
        column = view.cursor[1] - row * step
        lines.append(_row_line(str(row * step), cells, margin, size, column if 0 <= column < step else None))
    return ElementPage(tuple(lines), step, line_count, rows, range(step))


def _row_label(part: TensorSlice, row: int) -> str:
    if is_one_dimensional(part):
        return str(row)
    index = part.tensor_index(row, 0)
    parts = [str(k) for k, axis in zip(index, part.axes, strict=True) if isinstance(axis, range)]
    return ",".join(parts[:-1])


def _cursor_column(view: TensorViewport, row: int, columns: range) -> int | None:
    return view.cursor[1] - columns.start if view.cursor[0] == row and view.cursor[1] in columns else None


def _cell_texts(tensor: TensorRef, view: TensorViewport, rows: range, columns: range) -> list[list[str]]:
    read = view.part.read_window(tensor, rows, columns)
    if view.baseline is None:
        return [[format_element(value, view.number_format, scalar_text(value)) for value in row] for row in read]
    return [
        [
            NEW_ELEMENT_TEXT if new else _difference_text(delta, same, view.number_format)
            for delta, same, new in zip(*row, strict=True)
        ]
        for row in _row_differences(read, view.baseline, view, rows, columns)
    ]


def _row_differences(
    read: Sequence[Array], other: TensorRef, view: TensorViewport, rows: range, columns: range
) -> Iterator[tuple[Array, Array, Array]]:
    """By row of a window: signed differences, unchanged cells, and cells that the other tensor lacks."""
    for row, after in zip(rows, read, strict=True):
        shared = _shared_columns(view, row, columns)
        new = np.ones(len(columns), bool)
        if shared:
            new[shared.start : shared.stop] = False
        delta, same = np.zeros(len(columns), after.dtype), np.zeros(len(columns), bool)
        if shared:
            before = view.part.read_window(other, range(row, row + 1), columns[shared.start : shared.stop])[0]
            signed, same[~new] = _signed_difference(before, after[~new])
            delta = delta.astype(signed.dtype)
            delta[~new] = signed
        yield delta, same, new


def _shared_columns(view: TensorViewport, row: int, columns: range) -> range:
    """The columns of a row that both tensors have, as positions in ``columns``; a slice may run backwards."""
    growth = view.growth
    if growth is None or not view.part.axes:
        return range(len(columns))
    flags = [view.part.tensor_index(row, column)[growth.axis] < growth.common_rows for column in columns]
    return range(flags.index(True), flags.index(True) + sum(flags)) if any(flags) else range(0)


def _signed_difference(before: Array, after: Array) -> tuple[Array, Array]:
    """Signed differences, where the dtype has a sign, and a mask of unchanged elements."""
    delta, same = absolute_differences(before, after)
    if after.dtype.kind in "OUSTbc":
        return delta, same
    if delta.dtype.kind in "uO":
        # Python integers: the difference may overflow the dtype.
        exact = delta.astype(object)
        return np.where(after < before, -exact, exact), same
    with np.errstate(all="ignore"):
        delta = np.where(same, 0.0, after.astype(np.float64) - before.astype(np.float64))
        # Keep the precision of the operands.
        return (delta.astype(after.dtype) if after.dtype.kind == "f" else delta), same


def _difference_text(difference: Any, same: bool, form: NumberFormat) -> str:
    if same:
        return "="
    text = format_element(
        difference, NumberFormat.SHORT if form is NumberFormat.BITS else form, scalar_text(difference)
    )
    return text if text.startswith("-") else f"+{text}"


def _cell_width(tensor: TensorRef, view: TensorViewport) -> int:
    """The width of an element, the same on all pages: measured for few elements, else estimated from the dtype."""
    if view.part.size <= _MEASURED_ELEMENTS_MAX:
        shape = view.part.shape
        rows = range(1) if len(shape) < 2 else range(view.part.rows)
        texts = _cell_texts(tensor, view, rows, range(view.part.columns))
        return min(_CELL_MAX_WIDTH, max(4, *(len(text) for row in texts for text in row)))
    dtype, is_delta = tensor.dtype, view.baseline is not None
    if view.number_format is NumberFormat.BITS and not is_delta:
        return min(_CELL_MAX_WIDTH, 2 + 2 * dtype.itemsize)
    if dtype.kind in "OUST":
        return 16
    if dtype.kind == "b":
        return 5
    if "int" in dtype.name and not is_delta and view.number_format is not NumberFormat.EXPONENT:
        return min(
            _CELL_MAX_WIDTH,
            max(len(str(np.iinfo(dtype).min if dtype.kind in "iu" else -8)), 4) if dtype.itemsize < 8 else 12,
        )
    width = {NumberFormat.SHORT: 10, NumberFormat.LONG: 14, NumberFormat.FULL: 15 if dtype.itemsize <= 4 else 24}.get(
        view.number_format, 11
    )
    return min(_CELL_MAX_WIDTH, width * (2 if dtype.kind == "c" else 1) + is_delta)


def _header_line(heads: Sequence[str], margin: int, size: int) -> StyledLine:
    return styled_line((" " * margin + "".join(f"{head:>{size}}  " for head in heads), Role.DIM))


def _row_line(label: str, texts: Sequence[str], margin: int, size: int, cursor: int | None) -> StyledLine:
    spans: list[Span] = [(f"{label:>{margin - 2}}  ", Role.DIM)]
    for k, text in enumerate(texts):
        cut = truncate(text, size)
        if k == cursor:
            # Brackets in the gaps mark the cursor without colour.
            spans[-1] = (spans[-1][0][:-1], spans[-1][1])
            filler = " " * (size - len(cut))
            spans += [(f"{filler}[", Role.MARK), (cut, Role.VALUE), ("]", Role.MARK), (" ", Role.PLAIN)]
        else:
            non_finite = cut.lstrip("+-") in ("nan", "inf")
            spans += [(f"{cut:>{size}}", Role.ERROR if non_finite else Role.PLAIN), ("  ", Role.PLAIN)]
    return StyledLine(tuple(spans), current=cursor is not None)


# -- a heat map


def _heat_map_page(
    tensor: TensorRef, view: TensorViewport, width: int, height: int, span: tuple[float, float] | None
) -> ElementPage:
    """The complete slice in one picture; larger slices are subsampled."""
    part = view.part
    if tensor.dtype.kind in "OUST":
        return ElementPage(
            (styled_line(("strings have no heat map: m goes back", Role.DIM)),), 1, 0, range(0), range(0)
        )
    margin = len(str((part.size if is_one_dimensional(part) else part.rows) - 1)) + 1
    cells = max(1, width - margin)
    if is_one_dimensional(part):
        row_step, column_step = 1, -(-part.size // (cells * max(1, height)))
        columns = min(part.size, cells * column_step)
        rows = -(-part.size // columns)
    else:
        rows, columns = part.rows, part.columns
        row_step, column_step = -(-rows // max(1, height)), -(-columns // cells)
    values: list[Array] = []
    masks: list[Array] = []
    heads = range(0, rows, row_step)
    for row in heads:
        if is_one_dimensional(part):
            read = range(row * columns, min(part.size, (row + 1) * columns), column_step)
            numbers, new = _heat_map_values(tensor, view, range(1), read)
        else:
            numbers, new = _heat_map_values(tensor, view, range(row, row + 1), range(0, columns, column_step))
        values.append(numbers)
        masks.append(new)
    finite = np.concatenate([line[np.isfinite(line)] for line in values])
    if span is None or view.baseline is not None:
        span = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    low, high = span
    scale = high / 2 - low / 2
    top = len(_SHADES) - 1
    repeat = max(1, min(4, cells // -(-columns // column_step)))
    elements = f"{column_step}" if is_one_dimensional(part) else f"{row_step} × {column_step}"
    note = "" if row_step == column_step == 1 else f"   1 cell = {elements} elements, their first"
    note += f"   {_NEW_ELEMENT_SIGN} new" if any(new.any() for new in masks) else ""
    lines = [styled_line((f"{number_text(low)} {_SHADES} {number_text(high)}{note}", Role.DIM))]
    for row, line, mask in zip(heads, values, masks, strict=True):
        text = "".join(
            _SHADES[min(top, max(0, round((float(v) / 2 - low / 2) / scale * top) if scale > 0 else 1))] * repeat
            if math.isfinite(v)
            else (NOT_FINITE_SYMBOL if not new else _NEW_ELEMENT_SIGN) * repeat
            for v, new in zip(line, mask, strict=True)
        )
        first = row * columns if is_one_dimensional(part) else row
        lines.append(
            styled_line((f"{first:>{margin - 1}} ", Role.DIM), *sign_colored_spans(text, np.repeat(line, repeat)))
        )
    return ElementPage(
        tuple(lines), columns if is_one_dimensional(part) else 1, len(heads), range(len(heads)), range(columns)
    )


def _heat_map_values(tensor: TensorRef, view: TensorViewport, rows: range, columns: range) -> tuple[Array, Array]:
    """The plotted values of one row, and a mask of new elements, which are NaN."""
    read = view.part.read_window(tensor, rows, columns)
    if view.baseline is None:
        return widen_elements(read[0]).astype(np.float64), np.zeros(len(columns), bool)
    delta, _, new = next(_row_differences(read, view.baseline, view, rows, columns))
    return np.where(new, np.nan, delta.astype(np.float64)), new


# -- over iterations


@dataclass(frozen=True, eq=False)
class IterationSeries:
    """One number over iterations, as ranges if iterations are grouped. ``quantity``: ``norm``, or empty for the value
    itself."""

    iterations: tuple[int, ...]
    band: MinMaxBand
    quantity: str = ""


def series_lines(series: IterationSeries, iteration: int, width: int, height: int) -> list[StyledLine]:
    """Bars or ranges over iterations with a scale, and ``▲`` below the selected iteration."""
    if not series.iterations or height < 2 or width < 12:
        return [styled_line(("no other iteration is known", Role.DIM))] if not series.iterations else []
    labels = _scale_labels(series.band)
    margin = max(map(len, labels)) + 1
    cells = width - margin - 2
    rows = max(1, height - 1)
    bars, used = _series_cells(series.band, cells, rows)
    lines = []
    for k in range(rows):
        label = labels[1] if k == rows - 1 else labels[0] if k == 0 else ""
        spans: list[Span] = [(f"{label:>{margin}} {'┤' if label else '│'}", Role.DIM), (bars[k], Role.PLOT)]
        lines.append(StyledLine(tuple(spans)))
    return [*lines, _axis_line(series, iteration, margin, used)]


def _scale_labels(band: MinMaxBand) -> tuple[str, str]:
    """Labels of the top and the bottom row; a flat series is at the bottom."""
    low, high = band.bounds or (math.nan, math.nan)
    if math.isnan(low):
        return "", ""
    return number_text(high) if high > low else "", number_text(low)


def _series_cells(band: MinMaxBand, width: int, rows: int) -> tuple[list[str], int]:
    """The rows of the plot, and its width."""
    count = len(band)
    if count > width or not np.array_equal(band.low, band.high, equal_nan=True):
        lines = draw_braille(band, width, rows)
        return lines, len(lines[0])
    repeat = max(1, min(6, width // count))
    low, high = band.bounds or (0.0, 0.0)
    span = high / 2 - low / 2
    values = [value for value in np.where(band.non_finite, np.nan, band.high).tolist() for _ in range(repeat)]
    bars = ["".join(_bar_cell(value, low, span, rows, rows - 1 - k) for value in values) for k in range(rows)]
    return bars, len(values)


def _bar_cell(value: float, low: float, span: float, rows: int, base: int) -> str:
    if not math.isfinite(value):
        return NOT_FINITE_SYMBOL if base == 0 else " "
    share = (value / 2 - low / 2) / span if span > 0 else 0.0
    eighths = 1 + round(share * (8 * rows - 1))
    return _BARS[min(8, max(0, eighths - 8 * base))]


def _axis_line(series: IterationSeries, iteration: int, margin: int, width: int) -> StyledLine:
    first, last = series.iterations[0], series.iterations[-1]
    cells = list(" " * max(width, len(str(last)) + len(str(first)) + 2))
    marks: list[Span] = [(" " * (margin + 1) + "└", Role.DIM)]
    column = -1
    if iteration >= first and width:
        bucket = bisect.bisect_right(series.iterations, iteration) - 1
        column = min(width - 1, bucket * width // len(series.iterations))
        cells[column] = "▲"
    # The mark must not hide a digit of a label.
    for start, text in ((0, str(first)), (len(cells) - len(str(last)), str(last))):
        if not start <= column < start + len(text):
            cells[start : start + len(text)] = text
    return StyledLine((*marks, ("".join(cells), Role.DIM)))
