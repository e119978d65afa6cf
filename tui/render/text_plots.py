"""Text plots of numbers: bar charts, heat strips, points over iterations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...debugger.statistics.tensor_statistics import TensorRef, as_tensor_ref, widen_elements
from ...debugger.value_text import statistics_of
from ...runtime.graph import Array
from .formatting import NOT_FINITE_SYMBOL, number_text
from .styled_text import Role, Span

_EIGHTHS = " ▁▂▃▄▅▆▇█"
#: Roles of negative, zero and positive cells.
_SIGN_ROLES = {-1: Role.BELOW, 0: Role.PLOT, 1: Role.ABOVE}
#: From light to dark.
SHADES = "░▒▓█"
#: Signs of numbers beyond the scale; the share of outliers (one in N), and their minimum distance as a multiple of the
#: range of the others.
ABOVE_SCALE_SIGN, BELOW_SCALE_SIGN, _NUMBERS_PER_OUTLIER, _OUTLIER_RANGE_FACTOR = "▲", "▼", 50, 3.0


def representative_number(value: Any) -> float:
    """The number that represents a value in a sparkline: a scalar itself, the Euclidean norm of a tensor.

    NaN for strings, sequences and None.
    """
    if value is None or isinstance(value, list | tuple | str | bytes):
        return math.nan
    array = value if isinstance(value, TensorRef) else np.asarray(value)
    if array.dtype.kind in "OUSTM" or not array.size:
        return math.nan
    if array.size == 1:
        with np.errstate(all="ignore"):
            number = np.asarray(array).reshape(-1)
            return float(np.abs(number)[0] if array.dtype.kind == "c" else number[0])
    stats = statistics_of(array)
    if stats is None or stats.nan:
        return math.nan
    return math.inf if stats.inf or stats.norm is None else stats.norm


def split_non_finite(text: str, role: Role = Role.PLOT) -> list[Span]:
    """Split a plot into spans; non-finite cells have the error role."""
    return [
        (part, Role.ERROR if part[0] == NOT_FINITE_SYMBOL else role)
        for part in re.split(f"({NOT_FINITE_SYMBOL}+)", text)
        if part
    ]


def sign_colored_spans(text: str, numbers: Array | None) -> list[Span]:
    """A heat map as spans, a cell for each number, coloured by sign if both signs occur."""
    if numbers is None or not (np.any(numbers < 0) and np.any(numbers > 0)):
        return split_non_finite(text)
    sides = np.sign(np.where(np.isfinite(numbers), numbers, 0.0)).astype(int)
    # The starts of runs of one sign.
    cuts = [0, *(np.flatnonzero(np.diff(sides)) + 1).tolist(), len(sides)]
    spans = [span for a, b in pairwise(cuts) for span in split_non_finite(text[a:b], _SIGN_ROLES[int(sides[a])])]
    return [*spans, *split_non_finite(text[len(sides) :])]


def bar_chart(values: Sequence[float], width: int, height: int) -> list[str]:
    """The newest ``width`` numbers as bars of ``height`` rows, top row first."""
    visible = [float(v) for v in values][-width:] if width > 0 else []
    finite = [v for v in visible if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    span = high / 2 - low / 2
    rows = [""] * height
    for value in visible:
        if not math.isfinite(value):
            column = [NOT_FINITE_SYMBOL] + [" "] * (height - 1)
        else:
            # The smallest value still has one eighth.
            part = (value / 2 - low / 2) / span if span > 0 else 0.0
            eighths = 1 + round(part * (8 * height - 1))
            column = [_EIGHTHS[min(8, max(0, eighths - 8 * k))] for k in range(height)]
        for k in range(height):
            rows[height - 1 - k] += column[k]
    return rows


def heat_strips(rows: Sequence[Array | TensorRef], width: int) -> list[list[Span]]:
    """One line for each array, shaded from light (the smallest of all) to dark; elements that share a cell are
    represented by the largest magnitude."""
    cells = [_fold_to_cells(as_tensor_ref(row), width) for row in rows]
    shading = Shading.for_rows(cells)
    return [sign_colored_spans(shading.draw(line), line) for line in cells]


@dataclass(frozen=True)
class Shading:
    """A scale of shades from light (``low``) to dark (``high``) that excludes outliers. ``data_min``, ``data_max``: the
    range of all numbers."""

    low: float = math.nan
    high: float = math.nan
    data_min: float = math.nan
    data_max: float = math.nan

    @classmethod
    def for_rows(cls, rows: Sequence[Array]) -> Shading:
        """A scale for the finite numbers of some rows."""
        numbers = np.sort(np.concatenate([row[np.isfinite(row)] for row in rows])) if rows else np.empty(0)
        if not numbers.size:
            return cls()
        smallest, largest = float(numbers[0]), float(numbers[-1])
        few = math.ceil(numbers.size / _NUMBERS_PER_OUTLIER)
        low, high = float(numbers[min(few, numbers.size - 1)]), float(numbers[-1 - min(few, numbers.size - 1)])
        margin = _OUTLIER_RANGE_FACTOR * (high - low)
        if not 0 < margin < math.inf:
            return cls(smallest, largest, smallest, largest)
        inliers = numbers[(numbers >= low - margin) & (numbers <= high + margin)]
        return cls(float(inliers[0]), float(inliers[-1]), smallest, largest)

    @property
    def legend(self) -> str:
        """``0.5 ░▒▓█ 1.7  ▲ 1000``: shows the extreme number beyond each end of the scale."""
        if math.isnan(self.low):
            return "nothing finite"
        if self.data_min == self.data_max:
            return f"all {number_text(self.data_max)}"
        below = f"{BELOW_SCALE_SIGN} {number_text(self.data_min)}  " if self.data_min < self.low else ""
        above = f"  {ABOVE_SCALE_SIGN} {number_text(self.data_max)}" if self.data_max > self.high else ""
        return f"{below}{number_text(self.low)} {SHADES} {number_text(self.high)}{above}"

    def draw(self, row: Array) -> str:
        """A cell for each number."""
        # Halve first: the range of the largest floats overflows.
        span = self.high / 2 - self.low / 2
        fractions = (row / 2 - self.low / 2) / (span if span > 0 else 1.0)
        last = len(SHADES) - 1
        shades = np.rint(np.clip(np.where(np.isfinite(fractions), fractions, 0.0), 0.0, 1.0) * last).astype(np.intp)
        signs = np.array([*SHADES])[shades]
        signs[row > self.high], signs[row < self.low] = ABOVE_SCALE_SIGN, BELOW_SCALE_SIGN
        signs[~np.isfinite(row)] = NOT_FINITE_SYMBOL
        return "".join(signs.tolist())


def _fold_to_cells(tensor: TensorRef, width: int) -> Array:
    """Fold the elements to ``width`` cells by the largest magnitude."""
    if tensor.size <= width:
        # Few elements are repeated over several cells.
        flat = widen_elements(tensor.copy_range(0, tensor.size)).astype(np.float64)
        return np.repeat(flat, max(1, min(width // max(1, flat.size), 4)))
    edges = np.linspace(0, tensor.size, width + 1).astype(np.int64)
    cells = np.zeros(width)
    with np.errstate(all="ignore"):
        for start, part in tensor.chunks():
            first, last = np.searchsorted(edges, (start, start + part.size - 1), "right") - 1
            starts = np.maximum(edges[first : last + 1] - start, 0)
            maxima = np.maximum.reduceat(np.abs(widen_elements(part).astype(np.float64)), starts)
            cells[first : last + 1] = np.maximum(cells[first : last + 1], maxima)
    return cells


#: Sign of estimated numbers.
FORECAST_SIGN = "·"


@dataclass(frozen=True)
class ComparisonPoints:
    """Data of :func:`draw_points`: the two sides of a comparison by iteration, for grouped iterations their minimum
    (``left``, ``right``) and maximum (``left_high``, ``right_high``); and a forecast."""

    iterations: Sequence[int]
    left: Sequence[float]
    right: Sequence[float]
    left_high: Sequence[float] = ()
    right_high: Sequence[float] = ()
    #: (iteration, left, right) of later iterations.
    forecast: Sequence[tuple[int, float, float]] = ()

    @property
    def threshold(self) -> float | None:
        """The right side, if it is constant."""
        distinct = {v for v in (*self.right, *self.right_high) if math.isfinite(v)}
        return distinct.pop() if len(distinct) == 1 else None

    @property
    def scale_values(self) -> list[float]:
        """All finite numbers that the scale must cover."""
        predicted = [v for _, *values in self.forecast for v in values]
        values = (*self.left, *self.right, *self.left_high, *self.right_high, *predicted)
        return [v for v in values if math.isfinite(v)]


def draw_points(data: ComparisonPoints, width: int, height: int) -> list[str]:
    """Plot ``●`` the left side, ``─`` the right side if it is a constant threshold, and ``·`` the forecast of both.

    ``height`` rows, the last of them the axis. The scale is logarithmic if all numbers are positive and far apart.
    Empty if nothing is finite or the space is too small.
    """
    numbers = data.scale_values
    if height < 4 or width < 24 or not numbers or len(data.iterations) == 0:
        return []
    scale = _PlotScale(numbers, height - 1)
    labels = scale.labels()
    if data.threshold is not None:
        # The threshold overrides an end label of the scale.
        labels[scale.row(data.threshold)] = number_text(data.threshold)
    margin = max(map(len, labels.values())) + 2
    plot_width = width - margin
    first, last_known = data.iterations[0], data.iterations[-1]
    last = data.forecast[-1][0] if data.forecast else last_known

    def column(iteration: int) -> int:
        return 1 + round((iteration - first) / max(1, last - first) * (plot_width - 3)) if last > first else 1

    grid = [[" "] * plot_width for _ in range(height - 1)]
    if data.threshold is not None:
        grid[scale.row(data.threshold)] = ["─"] * plot_width
    else:
        _plot_series(grid, data.iterations, data.right, data.right_high or data.right, scale, column, "○")
    for iteration, left, right in data.forecast:
        for value in (left, right):
            if not math.isnan(value) and value != data.threshold:
                grid[scale.row(value)][column(iteration)] = FORECAST_SIGN
    _plot_series(grid, data.iterations, data.left, data.left_high or data.left, scale, column, "●")
    rows = []
    for k, cells in enumerate(grid):
        label = labels.get(k, "")
        rows.append(f"{label:>{margin - 2}} {'┤' if label else '│'}" + "".join(cells))
    return [*rows, _axis_line(first, last_known, last, margin, plot_width, column)]


def _plot_series(
    grid: list[list[str]],
    iterations: Sequence[int],
    low: Sequence[float],
    high: Sequence[float],
    scale: _PlotScale,
    column: Any,
    sign: str,
) -> None:
    for iteration, *ends in zip(iterations, low, high, strict=True):
        if not any(map(math.isnan, ends)):
            bottom, top = map(scale.row, ends)
            for row in range(top, bottom + 1):
                grid[row][column(iteration)] = sign


def _axis_line(first: int, last_known: int, last: int, margin: int, width: int, column: Any) -> str:
    """``last_known``: the last known iteration; ``last``: the last one of the forecast."""
    cells = [" "] * width
    limit = width + 1
    for iteration, text in {last: f"~{last}" if last > last_known else str(last), last_known: str(last_known)}.items():
        position = min(column(iteration), limit - len(text) - 1)
        if position > 0:
            cells[position : position + len(text)] = text
            limit = position
    next_free = 0
    # Limit the number of labels so that they do not overlap.
    step = max(1, math.ceil((last - first) / max(1, width // 8)))
    for iteration in range(first, last_known, step):
        text = str(iteration)
        position = column(iteration)
        if next_free <= position and position + len(text) < limit:
            cells[position : position + len(text)] = text
            next_free = position + len(text) + 1
    return " " * (margin - 1) + "└" + "".join(cells)[:width]


def scale_name(data: ComparisonPoints) -> str:
    """The scale that :func:`draw_points` uses: ``log scale`` or ``linear``."""
    return "log scale" if data.scale_values and _PlotScale(data.scale_values, 2).log else "linear"


class _PlotScale:
    """Rows of a plot for numbers, the largest in row 0."""

    def __init__(self, numbers: Sequence[float], rows: int) -> None:
        self.rows = rows
        positive = [v for v in numbers if v > 0]
        # Differences often end at zero, which is the bottom row of a logarithmic scale.
        self.log = bool(positive) and min(numbers) >= 0 and len(positive) > 1 and max(positive) / min(positive) > 100
        if self.log:
            self.low, self.high = math.log10(min(positive)), math.log10(max(positive))
            self.zero = len(positive) < len(numbers)
        else:
            self.low, self.high = min(numbers), max(numbers)
            self.zero = False

    def row(self, value: float) -> int:
        if math.isinf(value):
            return 0 if value > 0 else self.rows - 1
        bottom = self.rows - 1 - int(self.zero)
        if self.log:
            if value <= 0:
                return self.rows - 1
            value = math.log10(value)
        part = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return min(max(bottom - round(part * bottom), 0), self.rows - 1)

    def labels(self) -> dict[int, str]:
        """Row -> label: the largest, the smallest and, below a logarithmic scale, zero."""
        bottom = self.rows - 1 - int(self.zero)
        if not self.high > self.low:
            return {self.row(self.low): number_text(self.low)}
        ends = (10**self.high, 10**self.low) if self.log else (self.high, self.low)
        labels = {0: number_text(ends[0]), bottom: number_text(ends[1])}
        if self.zero:
            labels[self.rows - 1] = "0"
        return labels
