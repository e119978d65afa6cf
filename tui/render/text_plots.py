"""Pictures of numbers in text: bars, a chart of bars, a heat strip, points over iterations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...debugger.statistics.streaming_stats import widen
from ...debugger.statistics.tensor_ref import TensorRef, as_tensor_ref
from ...debugger.value_text import statistics_of
from ...runtime.graph import Array
from .formatting import NOT_FINITE_SYMBOL, number_text
from .styled_text import Role, Span

_EIGHTHS = " ▁▂▃▄▅▆▇█"
#: What is below zero, zero, and above.
_SIGN_ROLES = {-1: Role.BELOW, 0: Role.PLOT, 1: Role.ABOVE}
#: From light to dark.
SHADES = "░▒▓█"
#: What is beyond the scale; one number in so many may be, where it is so many times farther off than all others are
#: from each other.
ABOVE_SCALE_SIGN, BELOW_SCALE_SIGN, _NUMBERS_PER_OUTLIER, _OUTLIER_RANGE_FACTOR = "▲", "▼", 50, 3.0


def representative_number(value: Any) -> float:
    """One number that stands for a value in a sparkline: a scalar itself, of a tensor its Euclidean norm.

    NaN where there is none (strings, sequences, nothing).
    """
    if value is None or isinstance(value, list | tuple | str | bytes):
        return math.nan
    array = value if isinstance(value, TensorRef) else np.asarray(value)
    if array.dtype.kind in "OUSTM" or not array.size:
        return math.nan
    if array.size == 1:
        with np.errstate(all="ignore"):
            one = np.asarray(array).reshape(-1)
            return float(np.abs(one)[0] if array.dtype.kind == "c" else one[0])
    found = statistics_of(array)
    if found is None or found.nan:
        return math.nan
    return math.inf if found.inf or found.norm is None else found.norm


def split_non_finite(text: str, role: Role = Role.PLOT) -> list[Span]:
    """A picture in spans: what is not finite stands out of it."""
    return [
        (part, Role.ERROR if part[0] == NOT_FINITE_SYMBOL else role)
        for part in re.split(f"({NOT_FINITE_SYMBOL}+)", text)
        if part
    ]


def sign_colored_spans(text: str, numbers: Array | None) -> list[Span]:
    """A map in spans, a cell for each number: what is below zero and what is above apart, where there are both."""
    if numbers is None or not (np.any(numbers < 0) and np.any(numbers > 0)):
        return split_non_finite(text)
    sides = np.sign(np.where(np.isfinite(numbers), numbers, 0.0)).astype(int)
    # Where cells of one side begin.
    cuts = [0, *(np.flatnonzero(np.diff(sides)) + 1).tolist(), len(sides)]
    found = [span for a, b in pairwise(cuts) for span in split_non_finite(text[a:b], _SIGN_ROLES[int(sides[a])])]
    return [*found, *split_non_finite(text[len(sides) :])]


def bar_chart(values: Sequence[float], width: int, height: int) -> list[str]:
    """The newest ``width`` numbers as bars of ``height`` rows, top row first."""
    shown = [float(v) for v in values][-width:] if width > 0 else []
    finite = [v for v in shown if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    span = high / 2 - low / 2
    rows = [""] * height
    for value in shown:
        if not math.isfinite(value):
            column = [NOT_FINITE_SYMBOL] + [" "] * (height - 1)
        else:
            # The smallest still has one eighth: something was there.
            part = (value / 2 - low / 2) / span if span > 0 else 0.0
            eighths = 1 + round(part * (8 * height - 1))
            column = [_EIGHTHS[min(8, max(0, eighths - 8 * k))] for k in range(height)]
        for k in range(height):
            rows[height - 1 - k] += column[k]
    return rows


def heat_strips(rows: Sequence[Array | TensorRef], width: int) -> list[list[Span]]:
    """One line for each array: its elements, the largest magnitudes where they share ``width`` cells, from light (the
    smallest of all) to dark."""
    cells = [_fold_to_cells(as_tensor_ref(row), width) for row in rows]
    shading = Shading.for_rows(cells)
    return [sign_colored_spans(shading.draw(line), line) for line in cells]


@dataclass(frozen=True)
class Shading:
    """How numbers become cells: from light (``low``) to dark (``high``). If a few numbers are so far from all others
    that these would have one colour, the scale ends before them. ``least``, ``most``: the ends of all numbers."""

    low: float = math.nan
    high: float = math.nan
    data_min: float = math.nan
    data_max: float = math.nan

    @classmethod
    def for_rows(cls, rows: Sequence[Array]) -> Shading:
        """For all finite numbers of some rows."""
        numbers = np.sort(np.concatenate([row[np.isfinite(row)] for row in rows])) if rows else np.empty(0)
        if not numbers.size:
            return cls()
        least, most = float(numbers[0]), float(numbers[-1])
        few = math.ceil(numbers.size / _NUMBERS_PER_OUTLIER)
        low, high = float(numbers[min(few, numbers.size - 1)]), float(numbers[-1 - min(few, numbers.size - 1)])
        far = _OUTLIER_RANGE_FACTOR * (high - low)
        if not 0 < far < math.inf:
            return cls(least, most, least, most)
        near = numbers[(numbers >= low - far) & (numbers <= high + far)]
        return cls(float(near[0]), float(near[-1]), least, most)

    @property
    def legend(self) -> str:
        """``0.5 ░▒▓█ 1.7  ▲ 1000``: what is beyond the scale is marked, and the farthest of it told."""
        if math.isnan(self.low):
            return "nothing finite"
        if self.data_min == self.data_max:
            return f"all {number_text(self.data_max)}"
        below = f"{BELOW_SCALE_SIGN} {number_text(self.data_min)}  " if self.data_min < self.low else ""
        above = f"  {ABOVE_SCALE_SIGN} {number_text(self.data_max)}" if self.data_max > self.high else ""
        return f"{below}{number_text(self.low)} {SHADES} {number_text(self.high)}{above}"

    def draw(self, row: Array) -> str:
        """A cell for each number."""
        # Halves, since the range of the largest numbers is no number any more.
        span = self.high / 2 - self.low / 2
        parts = (row / 2 - self.low / 2) / (span if span > 0 else 1.0)
        last = len(SHADES) - 1
        shades = np.rint(np.clip(np.where(np.isfinite(parts), parts, 0.0), 0.0, 1.0) * last).astype(np.intp)
        signs = np.array([*SHADES])[shades]
        signs[row > self.high], signs[row < self.low] = ABOVE_SCALE_SIGN, BELOW_SCALE_SIGN
        signs[~np.isfinite(row)] = NOT_FINITE_SYMBOL
        return "".join(signs.tolist())


def _fold_to_cells(tensor: TensorRef, width: int) -> Array:
    """The elements in order, as ``width`` cells: of as many as fall into one the largest magnitude."""
    if tensor.size <= width:
        # A few elements are stretched to whole cells.
        flat = widen(tensor.copy_range(0, tensor.size)).astype(np.float64)
        return np.repeat(flat, max(1, min(width // max(1, flat.size), 4)))
    edges = np.linspace(0, tensor.size, width + 1).astype(np.int64)
    cells = np.zeros(width)
    with np.errstate(all="ignore"):
        for at, part in tensor.chunks():
            first, last = np.searchsorted(edges, (at, at + part.size - 1), "right") - 1
            starts = np.maximum(edges[first : last + 1] - at, 0)
            found = np.maximum.reduceat(np.abs(widen(part).astype(np.float64)), starts)
            cells[first : last + 1] = np.maximum(cells[first : last + 1], found)
    return cells


#: What stands for estimated numbers.
FORECAST_SIGN = "·"


@dataclass(frozen=True)
class ComparisonPoints:
    """What :func:`points` plots: at each iteration the two sides of a comparison, of several iterations together from
    the smallest (``left``, ``right``) to the largest; and how both may go on, which is a guess."""

    iterations: Sequence[int]
    left: Sequence[float]
    right: Sequence[float]
    left_high: Sequence[float] = ()
    right_high: Sequence[float] = ()
    #: (iteration, left, right) of some that come.
    forecast: Sequence[tuple[int, float, float]] = ()

    @property
    def threshold(self) -> float | None:
        """The right side, where it is one number all the time."""
        seen = {v for v in (*self.right, *self.right_high) if math.isfinite(v)}
        return seen.pop() if len(seen) == 1 else None

    @property
    def scale_values(self) -> list[float]:
        """All that has to be on the scale."""
        guessed = [v for _, *both in self.forecast for v in both]
        all_of_them = (*self.left, *self.right, *self.left_high, *self.right_high, *guessed)
        return [v for v in all_of_them if math.isfinite(v)]


def draw_points(data: ComparisonPoints, width: int, height: int) -> list[str]:
    """``●`` the left side over the iterations, ``─`` the right side, which often is one threshold for all; ``·`` what
    is guessed of both.

    ``height`` rows, the last of them the axis. The scale is logarithmic where all numbers are positive and far apart.
    Empty where nothing is finite or there is no room.
    """
    numbers = data.scale_values
    if height < 4 or width < 24 or not numbers or len(data.iterations) == 0:
        return []
    scale = _PlotScale(numbers, height - 1)
    labels = scale.labels()
    if data.threshold is not None:
        # What is compared with tells more than the end of the scale that it may stand at.
        labels[scale.row(data.threshold)] = number_text(data.threshold)
    margin = max(map(len, labels.values())) + 2
    room = width - margin
    first, seen = data.iterations[0], data.iterations[-1]
    last = data.forecast[-1][0] if data.forecast else seen

    def column(iteration: int) -> int:
        return 1 + round((iteration - first) / max(1, last - first) * (room - 3)) if last > first else 1

    grid = [[" "] * room for _ in range(height - 1)]
    if data.threshold is not None:
        grid[scale.row(data.threshold)] = ["─"] * room
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
    return [*rows, _axis_line(first, seen, last, margin, room, column)]


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
            foot, top = map(scale.row, ends)
            for row in range(top, foot + 1):
                grid[row][column(iteration)] = sign


def _axis_line(first: int, seen: int, last: int, margin: int, room: int, column: Any) -> str:
    """``seen``: the last one that is known; ``last``: the last one of those that are guessed."""
    cells = [" "] * room
    limit = room + 1
    for iteration, text in {last: f"~{last}" if last > seen else str(last), seen: str(seen)}.items():
        at = min(column(iteration), limit - len(text) - 1)
        if at > 0:
            cells[at : at + len(text)] = text
            limit = at
    taken = 0
    # Few enough labels that they stay apart.
    step = max(1, math.ceil((last - first) / max(1, room // 8)))
    for iteration in range(first, seen, step):
        text = str(iteration)
        at = column(iteration)
        if taken <= at and at + len(text) < limit:
            cells[at : at + len(text)] = text
            taken = at + len(text) + 1
    return " " * (margin - 1) + "└" + "".join(cells)[:room]


def scale_name(data: ComparisonPoints) -> str:
    """What :func:`points` draws them on: ``log scale`` or ``linear``."""
    return "log scale" if data.scale_values and _PlotScale(data.scale_values, 2).log else "linear"


class _PlotScale:
    """Rows of a plot for numbers, the largest in row 0."""

    def __init__(self, numbers: Sequence[float], rows: int) -> None:
        self.rows = rows
        positive = [v for v in numbers if v > 0]
        # Zero is what many a difference ends at: it sits at the foot of a logarithmic scale.
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
        foot = self.rows - 1 - int(self.zero)
        if self.log:
            if value <= 0:
                return self.rows - 1
            value = math.log10(value)
        part = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return min(max(foot - round(part * foot), 0), self.rows - 1)

    def labels(self) -> dict[int, str]:
        """Row -> label: the largest, the smallest and, below a logarithmic scale, zero."""
        foot = self.rows - 1 - int(self.zero)
        if not self.high > self.low:
            return {self.row(self.low): number_text(self.low)}
        ends = (10**self.high, 10**self.low) if self.log else (self.high, self.low)
        labels = {0: number_text(ends[0]), foot: number_text(ends[1])}
        if self.zero:
            labels[self.rows - 1] = "0"
        return labels
