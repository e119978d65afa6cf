"""The lines of the inspector: what a tensor holds, a page of its elements, how a value went over iterations.

Only what is in sight is read and formatted.
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
from ...debugger.statistics.streaming_stats import TensorChange, TensorStatistics, absolute_differences, widen
from ...debugger.statistics.tensor_ref import TensorRef
from ...debugger.statistics.tensor_slice import TensorSlice
from ...runtime.graph import Array
from ...runtime.text import group_digits
from .downsample import MinMaxBand, draw_braille
from .formatting import NOT_FINITE_SYMBOL, number_text, scalar_text
from .styled_text import Role, Span, StyledLine, styled_line, truncate
from .text_plots import sign_colored_spans

_BARS = " ▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
#: What the tensor that is compared with does not have: in a table, in a picture.
NEW_ELEMENT_TEXT, _NEW_ELEMENT_SIGN = "new", "+"
#: So many elements of one dimension stand in a line, the most that fit.
_ELEMENTS_PER_LINE = (20, 10, 5, 4, 2, 1)
#: The width of so many elements is measured.
_MEASURED_ELEMENTS_MAX = 512
#: No cell is wider: strings can have any length.
_CELL_MAX_WIDTH = 26


# -- what it holds


def index_text(tensor: TensorRef, at: int) -> str:
    """``[0,31]``, the place of an element in its tensor."""
    return "[" + ",".join(str(int(k)) for k in np.unravel_index(at, tensor.shape)) + "]" if tensor.ndim else "[]"


def change_text(change: TensorChange, growth: AxisGrowth | None) -> str:
    """What became of a value: how much of it is as before; of one that grew also the rows that are new."""
    if growth is None:
        return f"same as before {group_digits(change.same)}" if change.size else ""
    if not growth.common_rows:
        return growth.label
    those = f"the {growth.common_rows} before" if growth.added_rows > 0 else f"the other {growth.common_rows}"
    if change.same == change.size:
        return f"{growth.label}, {those} unchanged"
    return (
        f"{growth.label}, {those}: {group_digits(change.size - change.same)} of {group_digits(change.size)} elements"
        " changed"
    )


def statistics_lines(
    tensor: TensorRef,
    found: TensorStatistics,
    change: TensorChange | None,
    bars: Histogram | None,
    width: int,
    growth: AxisGrowth | None = None,
) -> list[StyledLine]:
    """Statistics, which may not be complete yet: then how far they are stands there as well. ``growth``: how the shape
    differs from that of what it is compared with."""
    if tensor.dtype.kind in "OUST":
        return [styled_line((f"{group_digits(tensor.size)} strings", Role.VALUE))]
    if not tensor.size:
        return [styled_line(("no element", Role.DIM))]
    number = str if isinstance(found.min, int) else _short_number
    ends: list[Span] = []
    moments: list[Span] = []
    if found.min is not None:
        ends = [
            (f"min {number(found.min)} at {index_text(tensor, found.min_at)}", Role.PLAIN),
            (f"max {number(found.max or 0)} at {index_text(tensor, found.max_at)}", Role.PLAIN),
        ]
        named = (("mean", found.mean), ("std", found.std), ("norm", found.norm))
        moments = [(f"{word} {number_text(value)}", Role.PLAIN) for word, value in named]
    counts: list[Span] = [
        (f"{word} {group_digits(count)}", Role.ERROR if count else Role.PLAIN)
        for word, count in (("NaN", found.nan), ("Inf", found.inf))
    ]
    counts.append((f"zeros {group_digits(found.zeros)}", Role.PLAIN))
    told = "" if change is None else change_text(change, growth)
    counts += [(told, Role.PLAIN)] if told else []
    below = [*_wrap_spans(moments, width), *_wrap_spans(counts, width)]
    # Where they do not have a line each, they share theirs: so that all of them are visible.
    lines = [*_wrap_spans(ends, width), *(below if len(below) <= 2 else _wrap_spans([*moments, *counts], width))]
    if tensor.dtype.kind == "c":
        lines[0] = styled_line(*lines[0].spans, ("   of magnitudes", Role.DIM))
    if found.size < tensor.size:
        lines.append(
            styled_line(
                (f"{100 * found.size // tensor.size} % of {group_digits(tensor.size)} elements so far", Role.DIM)
            )
        )
    elif bars is not None and found.min is not None:
        lines.append(_histogram_line(bars, width))
    return lines


def _short_number(value: float | int) -> str:
    return number_text(float(value))


def _wrap_spans(spans: Sequence[Span], width: int) -> list[StyledLine]:
    """Spans beside each other as far as there is room, and below each other."""
    rows: list[list[Span]] = []
    used = 0
    for span in spans:
        size = cell_len(span[0])
        if rows and used + 3 + size <= width:
            rows[-1] += [("   ", Role.PLAIN), span]
            used += 3 + size
        else:
            rows.append([span])
            used = size
    return [styled_line(*row) for row in rows]


def _histogram_line(bars: Histogram, width: int) -> StyledLine:
    ends = number_text(bars.low), number_text(bars.high)
    room = max(4, min(len(bars.counts), width - len(ends[0]) - len(ends[1]) - 2))
    edges = np.linspace(0, len(bars.counts), room + 1).astype(int)
    counts = np.add.reduceat(bars.counts, edges[:-1])
    most = int(counts.max()) or 1
    # What is there is visible, however little it is.
    signs = "".join(_BARS[math.ceil(int(count) / most * 8)] for count in counts)
    return styled_line((f"{ends[0]} ", Role.DIM), (signs, Role.PLOT), (f" {ends[1]}", Role.DIM))


# -- a page of elements


@dataclass(frozen=True)
class ElementPage:
    """What of a part is in sight. ``per``: the elements in a line; ``lines``: how many lines all of it has;
    ``rows``, ``columns``: those shown, as the table of the part has them."""

    lines: tuple[StyledLine, ...]
    elements_per_line: int
    line_count: int
    rows: range
    columns: range


@dataclass(frozen=True)
class TensorViewport:
    """How a part is shown. ``top``, ``left``: the first line and the first column in sight; ``cursor``: row and
    column of the part. ``other``: what to show the difference to."""

    part: TensorSlice
    top: int = 0
    left: int = 0
    cursor: tuple[int, int] = (0, 0)
    number_format: NumberFormat = NumberFormat.SHORT
    baseline: TensorRef | None = None
    #: How its shape differs from that of the other one.
    growth: AxisGrowth | None = None
    heat_map: bool = False


def is_one_dimensional(part: TensorSlice) -> bool:
    """Whether a part has one axis at most, so that a line has as many of its elements as fit."""
    return len(part.shape) < 2


def render_page(
    tensor: TensorRef, look: TensorViewport, width: int, height: int, span: tuple[float, float] | None = None
) -> ElementPage:
    """The lines of a page, the first of them the heads of columns. ``span``: what a heat map is from and to."""
    part = look.part
    if not part.size:
        return ElementPage((styled_line(("no element", Role.DIM)),), 1, 0, range(0), range(0))
    room = max(1, height - 1)
    if look.heat_map:
        return _heat_map_page(tensor, look, width, room, span)
    label = (
        max(
            len(_row_label(part, 0)),
            len(_row_label(part, part.rows - 1 if not is_one_dimensional(part) else part.size - 1)),
        )
        + 2
    )
    size = max(_cell_width(tensor, look), len(str(part.columns - 1)))
    if is_one_dimensional(part):
        return _one_dimensional_page(tensor, look, width - label, label, size, room)
    rows = range(min(look.top, part.rows - 1), min(part.rows, look.top + room))
    fits = max(1, (width - label) // (size + 2))
    columns = range(look.left, min(part.columns, look.left + fits))
    texts = _cell_texts(tensor, look, rows, columns)
    lines = [_header_line([str(k) for k in columns], label, size)]
    for row, told in zip(rows, texts, strict=True):
        lines.append(_row_line(_row_label(part, row), told, label, size, _cursor_column(look, row, columns)))
    return ElementPage(tuple(lines), 1, part.rows, rows, columns)


def _one_dimensional_page(
    tensor: TensorRef, look: TensorViewport, room: int, label: int, size: int, height: int
) -> ElementPage:
    part = look.part
    per = min(next((k for k in _ELEMENTS_PER_LINE if k * (size + 2) <= room), 1), part.size)
    count = -(-part.size // per)
    rows = range(min(look.top, count - 1), min(count, look.top + height))
    texts = [_cell_texts(tensor, look, range(1), range(row * per, min(part.size, (row + 1) * per)))[0] for row in rows]
    lines = [_header_line([f"+{k}" for k in range(per)], label, size)]
    for row, told in zip(rows, texts, strict=True):
        at = look.cursor[1] - row * per
        lines.append(_row_line(str(row * per), told, label, size, at if 0 <= at < per else None))
    return ElementPage(tuple(lines), per, count, rows, range(per))


def _row_label(part: TensorSlice, row: int) -> str:
    if is_one_dimensional(part):
        return str(row)
    place = part.tensor_index(row, 0)
    kept = [str(k) for k, axis in zip(place, part.axes, strict=True) if isinstance(axis, range)]
    return ",".join(kept[:-1])


def _cursor_column(look: TensorViewport, row: int, columns: range) -> int | None:
    return look.cursor[1] - columns.start if look.cursor[0] == row and look.cursor[1] in columns else None


def _cell_texts(tensor: TensorRef, look: TensorViewport, rows: range, columns: range) -> list[list[str]]:
    read = look.part.read_window(tensor, rows, columns)
    if look.baseline is None:
        return [[format_element(value, look.number_format, scalar_text(value)) for value in row] for row in read]
    return [
        [
            NEW_ELEMENT_TEXT if new else _difference_text(apart, same, look.number_format)
            for apart, same, new in zip(*one, strict=True)
        ]
        for one in _row_differences(read, look.baseline, look, rows, columns)
    ]


def _row_differences(
    read: Sequence[Array], other: TensorRef, look: TensorViewport, rows: range, columns: range
) -> Iterator[tuple[Array, Array, Array]]:
    """By row of a window: differences with their sign, where nothing changed, and which cells the other has not."""
    for row, after in zip(rows, read, strict=True):
        there = _shared_columns(look, row, columns)
        new = np.ones(len(columns), bool)
        if there:
            new[there.start : there.stop] = False
        apart, same = np.zeros(len(columns), after.dtype), np.zeros(len(columns), bool)
        if there:
            before = look.part.read_window(other, range(row, row + 1), columns[there.start : there.stop])[0]
            found, same[~new] = _signed_difference(before, after[~new])
            apart = apart.astype(found.dtype)
            apart[~new] = found
        yield apart, same, new


def _shared_columns(look: TensorViewport, row: int, columns: range) -> range:
    """Which of some columns of a row both tensors have, as positions among these; a slice may run backwards."""
    growth = look.growth
    if growth is None or not look.part.axes:
        return range(len(columns))
    here = [look.part.tensor_index(row, column)[growth.axis] < growth.common_rows for column in columns]
    return range(here.index(True), here.index(True) + sum(here)) if any(here) else range(0)


def _signed_difference(before: Array, after: Array) -> tuple[Array, Array]:
    """Differences with their sign where they have one, and where nothing changed."""
    apart, same = absolute_differences(before, after)
    if after.dtype.kind in "OUSTbc":
        return apart, same
    if apart.dtype.kind in "uO":
        # Python's integers: those of a dtype may be farther apart than it has numbers.
        exact = apart.astype(object)
        return np.where(after < before, -exact, exact), same
    with np.errstate(all="ignore"):
        apart = np.where(same, 0.0, after.astype(np.float64) - before.astype(np.float64))
        # With the digits of what it is a difference of.
        return (apart.astype(after.dtype) if after.dtype.kind == "f" else apart), same


def _difference_text(difference: Any, same: bool, how: NumberFormat) -> str:
    if same:
        return "="
    text = format_element(difference, NumberFormat.SHORT if how is NumberFormat.BITS else how, scalar_text(difference))
    return text if text.startswith("-") else f"+{text}"


def _cell_width(tensor: TensorRef, look: TensorViewport) -> int:
    """The cells that an element gets, the same on all pages: of few what they need, else what its type may need."""
    if look.part.size <= _MEASURED_ELEMENTS_MAX:
        shape = look.part.shape
        rows = range(1) if len(shape) < 2 else range(look.part.rows)
        texts = _cell_texts(tensor, look, rows, range(look.part.columns))
        return min(_CELL_MAX_WIDTH, max(4, *(len(text) for row in texts for text in row)))
    dtype, more = tensor.dtype, look.baseline is not None
    if look.number_format is NumberFormat.BITS and not more:
        return min(_CELL_MAX_WIDTH, 2 + 2 * dtype.itemsize)
    if dtype.kind in "OUST":
        return 16
    if dtype.kind == "b":
        return 5
    if "int" in dtype.name and not more and look.number_format is not NumberFormat.EXPONENT:
        return min(
            _CELL_MAX_WIDTH,
            max(len(str(np.iinfo(dtype).min if dtype.kind in "iu" else -8)), 4) if dtype.itemsize < 8 else 12,
        )
    one = {NumberFormat.SHORT: 10, NumberFormat.LONG: 14, NumberFormat.FULL: 15 if dtype.itemsize <= 4 else 24}.get(
        look.number_format, 11
    )
    return min(_CELL_MAX_WIDTH, one * (2 if dtype.kind == "c" else 1) + more)


def _header_line(heads: Sequence[str], label: int, size: int) -> StyledLine:
    return styled_line((" " * label + "".join(f"{head:>{size}}  " for head in heads), Role.DIM))


def _row_line(label: str, texts: Sequence[str], room: int, size: int, at: int | None) -> StyledLine:
    spans: list[Span] = [(f"{label:>{room - 2}}  ", Role.DIM)]
    for k, text in enumerate(texts):
        shown = truncate(text, size)
        if k == at:
            # Brackets in the gaps: no colour alone.
            spans[-1] = (spans[-1][0][:-1], spans[-1][1])
            filler = " " * (size - len(shown))
            spans += [(f"{filler}[", Role.MARK), (shown, Role.VALUE), ("]", Role.MARK), (" ", Role.PLAIN)]
        else:
            odd = shown.lstrip("+-") in ("nan", "inf")
            spans += [(f"{shown:>{size}}", Role.ERROR if odd else Role.PLAIN), ("  ", Role.PLAIN)]
    return StyledLine(tuple(spans), current=at is not None)


# -- a heat map


def _heat_map_page(
    tensor: TensorRef, look: TensorViewport, width: int, height: int, span: tuple[float, float] | None
) -> ElementPage:
    """All of the part in one picture; of larger ones an element stands for its neighbours."""
    part = look.part
    if tensor.dtype.kind in "OUST":
        return ElementPage(
            (styled_line(("strings have no heat map: m goes back", Role.DIM)),), 1, 0, range(0), range(0)
        )
    label = len(str((part.size if is_one_dimensional(part) else part.rows) - 1)) + 1
    room = max(1, width - label)
    if is_one_dimensional(part):
        row_step, column_step = 1, -(-part.size // (room * max(1, height)))
        columns = min(part.size, room * column_step)
        rows = -(-part.size // columns)
    else:
        rows, columns = part.rows, part.columns
        row_step, column_step = -(-rows // max(1, height)), -(-columns // room)
    shown: list[Array] = []
    news: list[Array] = []
    heads = range(0, rows, row_step)
    for row in heads:
        if is_one_dimensional(part):
            read = range(row * columns, min(part.size, (row + 1) * columns), column_step)
            taken, new = _heat_map_values(tensor, look, range(1), read)
        else:
            taken, new = _heat_map_values(tensor, look, range(row, row + 1), range(0, columns, column_step))
        shown.append(taken)
        news.append(new)
    finite = np.concatenate([one[np.isfinite(one)] for one in shown])
    if span is None or look.baseline is not None:
        span = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    low, high = span
    scale = high / 2 - low / 2
    top = len(_SHADES) - 1
    wide = max(1, min(4, room // -(-columns // column_step)))
    many = f"{column_step}" if is_one_dimensional(part) else f"{row_step} × {column_step}"
    each = "" if row_step == column_step == 1 else f"   1 cell = {many} elements, their first"
    each += f"   {_NEW_ELEMENT_SIGN} new" if any(new.any() for new in news) else ""
    lines = [styled_line((f"{number_text(low)} {_SHADES} {number_text(high)}{each}", Role.DIM))]
    for row, one, fresh in zip(heads, shown, news, strict=True):
        text = "".join(
            _SHADES[min(top, max(0, round((float(v) / 2 - low / 2) / scale * top) if scale > 0 else 1))] * wide
            if math.isfinite(v)
            else (NOT_FINITE_SYMBOL if not new else _NEW_ELEMENT_SIGN) * wide
            for v, new in zip(one, fresh, strict=True)
        )
        first = row * columns if is_one_dimensional(part) else row
        lines.append(styled_line((f"{first:>{label - 1}} ", Role.DIM), *sign_colored_spans(text, np.repeat(one, wide))))
    return ElementPage(
        tuple(lines), columns if is_one_dimensional(part) else 1, len(heads), range(len(heads)), range(columns)
    )


def _heat_map_values(tensor: TensorRef, look: TensorViewport, rows: range, columns: range) -> tuple[Array, Array]:
    """Of one row what the picture shows, and which of it is new: that is NaN."""
    read = look.part.read_window(tensor, rows, columns)
    if look.baseline is None:
        return widen(read[0]).astype(np.float64), np.zeros(len(columns), bool)
    apart, _, new = next(_row_differences(read, look.baseline, look, rows, columns))
    return np.where(new, np.nan, apart.astype(np.float64)), new


# -- over iterations


@dataclass(frozen=True, eq=False)
class IterationSeries:
    """One number over iterations, of each or of some of them together from where to where it went; and what it is:
    ``norm``, or nothing for the value itself."""

    iterations: tuple[int, ...]
    band: MinMaxBand
    quantity: str = ""


def series_lines(course: IterationSeries, here: int, width: int, height: int) -> list[StyledLine]:
    """Bars over iterations, or from where to where they go, with their scale, and ``▲`` below the selected one."""
    if not course.iterations or height < 2 or width < 12:
        return [styled_line(("no other iteration is known", Role.DIM))] if not course.iterations else []
    labels = _scale_labels(course.band)
    margin = max(map(len, labels)) + 1
    room = width - margin - 2
    rows = max(1, height - 1)
    signs, used = _series_cells(course.band, room, rows)
    lines = []
    for k in range(rows):
        label = labels[1] if k == rows - 1 else labels[0] if k == 0 else ""
        spans: list[Span] = [(f"{label:>{margin}} {'┤' if label else '│'}", Role.DIM), (signs[k], Role.PLOT)]
        lines.append(StyledLine(tuple(spans)))
    return [*lines, _axis_line(course, here, margin, used)]


def _scale_labels(band: MinMaxBand) -> tuple[str, str]:
    """What stands beside the top and the foot of a picture: what is flat lies at its foot."""
    low, high = band.bounds or (math.nan, math.nan)
    if math.isnan(low):
        return "", ""
    return number_text(high) if high > low else "", number_text(low)


def _series_cells(band: MinMaxBand, room: int, rows: int) -> tuple[list[str], int]:
    """The picture, and the cells that it has."""
    count = len(band)
    if count > room or not np.array_equal(band.low, band.high, equal_nan=True):
        drawn = draw_braille(band, room, rows)
        return drawn, len(drawn[0])
    wide = max(1, min(6, room // count))
    low, high = band.bounds or (0.0, 0.0)
    span = high / 2 - low / 2
    values = [value for value in np.where(band.non_finite, np.nan, band.high).tolist() for _ in range(wide)]
    bars = ["".join(_bar_cell(value, low, span, rows, rows - 1 - k) for value in values) for k in range(rows)]
    return bars, len(values)


def _bar_cell(value: float, low: float, span: float, rows: int, base: int) -> str:
    if not math.isfinite(value):
        return NOT_FINITE_SYMBOL if base == 0 else " "
    share = (value / 2 - low / 2) / span if span > 0 else 0.0
    eighths = 1 + round(share * (8 * rows - 1))
    return _BARS[min(8, max(0, eighths - 8 * base))]


def _axis_line(course: IterationSeries, here: int, margin: int, room: int) -> StyledLine:
    first, last = course.iterations[0], course.iterations[-1]
    cells = list(" " * max(room, len(str(last)) + len(str(first)) + 2))
    marks: list[Span] = [(" " * (margin + 1) + "└", Role.DIM)]
    at = -1
    if here >= first and room:
        bucket = bisect.bisect_right(course.iterations, here) - 1
        at = min(room - 1, bucket * room // len(course.iterations))
        cells[at] = "▲"
    # A number of which the mark would hide a digit would be another number.
    for start, text in ((0, str(first)), (len(cells) - len(str(last)), str(last))):
        if not start <= at < start + len(text):
            cells[start : start + len(text)] = text
    return StyledLine((*marks, ("".join(cells), Role.DIM)))
