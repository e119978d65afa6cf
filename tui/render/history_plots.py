"""Plots of value histories at any width; every iteration contributes to a cell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...debugger.statistics.value_history import Numbers, ValueHistory, is_exact
from ...debugger.termination.trend import TurningEstimate, estimate_turning, extrapolate
from .downsample import MinMaxBand, draw_braille, values_per_cell
from .formatting import number_text, sparkline
from .text_plots import ComparisonPoints

#: Shortest forecast that is drawn.
_FORECAST_MIN_ITERATIONS = 8
#: Differences up to this many units in the last place count as rounding.
_ROUNDING_MAX_ULPS = 16
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def iterations_per_cell(history: ValueHistory, width: int) -> int:
    """How many iterations share a cell."""
    return values_per_cell(len(history), width) * history.bucket


def history_band(history: ValueHistory) -> MinMaxBand:
    """The range of each bucket."""
    return MinMaxBand(history.value.low, history.value.high, history.value.odd > 0)


def shares_cells(history: ValueHistory, width: int) -> bool:
    """Whether several iterations share a cell, which then shows their range."""
    return iterations_per_cell(history, width) > 1


def is_flat(history: ValueHistory, dtype: str) -> bool:
    """Whether the value is constant except for rounding."""
    return len(history) > 1 and not history.value.odd.any() and _is_constant(history, dtype)


def _is_constant(history: ValueHistory, dtype: str) -> bool:
    """Whether the finite values differ by rounding only."""
    bounds = history_band(history).bounds
    return bounds is not None and is_within_rounding(*bounds, dtype) and not is_monotonic(history.value.last)


def is_monotonic(numbers: Numbers) -> bool:
    """Whether numbers strictly increase or decrease; rounding errors oscillate."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(numbers)
    return len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())


def is_within_rounding(low: float, high: float, dtype: str) -> bool:
    """Whether two numbers differ by rounding only."""
    return is_exact((low, high), dtype) and high - low <= _ROUNDING_MAX_ULPS * _EPSILON.get(dtype, 0.0) * max(
        abs(low), abs(high)
    )


def draw_history(history: ValueHistory, width: int, dtype: str) -> str:
    """The whole history in at most ``width`` cells: a bar for each iteration, or ranges if iterations share cells;
    ``──flat──`` if only rounding differs. A tensor is plotted by its norm and labelled so: its elements may change."""
    if is_flat(history, dtype):
        label = "norm flat" if history.is_tensor else "flat"
        count = min(width, max(len(history), len(label) + 2))
        return f"{label:─^{count}}" if count >= len(label) + 2 else "─" * count
    band = history_band(history)
    last = history.value.last
    if _is_constant(history, dtype):
        low = np.where(np.isnan(band.low), band.low, band.bounds[0] if band.bounds else 0.0)
        band, last = MinMaxBand(low, low, band.non_finite), np.where(np.isfinite(last), low, last)
    if shares_cells(history, width):
        return draw_braille(band, width)[0]
    return sparkline(last.tolist(), width, np.flatnonzero(np.isnan(last) & ~band.non_finite).tolist())


def flat_note(history: ValueHistory) -> str:
    """The small change of a flat history."""
    bounds = history_band(history).bounds
    if bounds is None or bounds[0] == bounds[1]:
        return ""
    return f"{'norm' if history.is_tensor else 'it'} moves by {number_text(bounds[1] - bounds[0])}"


def comparison_points(
    sides: tuple[ValueHistory, ValueHistory], estimate: TurningEstimate | None = None
) -> ComparisonPoints | None:
    """Two sides over all iterations, for a plot; ranges for buckets. ``estimate``: where they meet; adds a
    forecast that is no longer than the history."""
    left, right = sides
    count = min(len(left), len(right))
    if not count:
        return None

    def numbers(values: Numbers) -> list[float]:
        return [float(value) for value in values[:count]]

    iterations = [int(k) for k in left.iterations[:count]]
    forecast = _forecast_points(sides, count, estimate)
    if left.bucket == 1:
        return ComparisonPoints(iterations, numbers(left.values), numbers(right.values), forecast=forecast)
    ends = ((side.value.low, side.value.high) for side in sides)
    (low, high), (other_low, other_high) = ((numbers(a), numbers(b)) for a, b in ends)
    return ComparisonPoints(iterations, low, other_low, high, other_high, forecast)


def _forecast_points(
    sides: tuple[ValueHistory, ValueHistory], count: int, estimate: TurningEstimate | None
) -> list[tuple[int, float, float]]:
    if estimate is None or estimate.iterations is None:
        return []
    left, right = sides
    bucket = left.bucket
    end = _complete_bucket_count(sides)
    steps = min(max(count, _FORECAST_MIN_ITERATIONS), -(-estimate.iterations // bucket))
    last = int(left.iterations[end - 1]) + bucket - 1
    known = left.values[:end].tolist(), right.values[:end].tolist()
    return [(last + bucket * k, *values) for k, values in enumerate(extrapolate(estimate, *known, steps), 1)]


def _complete_bucket_count(sides: tuple[ValueHistory, ValueHistory]) -> int:
    """The number of complete buckets: the last one may be partial."""
    count = min(map(len, sides))
    return count if sides[0].bucket == 1 else count - 1


def estimate_crossing(
    sides: tuple[ValueHistory, ValueHistory], sign: str, names: tuple[str, str], dtype: np.dtype[Any] | None
) -> TurningEstimate | None:
    """Estimate from the trend when the comparison changes its result, in iterations of the loop. ``dtype``: that of
    both sides, if known."""
    left, right = sides
    end = _complete_bucket_count(sides)
    known = left.values[:end].tolist(), right.values[:end].tolist()
    if dtype is not None and not is_exact(known, dtype.name):
        return None
    # Between sampled iterations the arithmetic is unknown.
    estimate = estimate_turning(*known, sign, names, dtype if left.bucket == 1 else None)
    if estimate is None or estimate.iterations is None or left.bucket == 1:
        return estimate
    return replace(estimate, iterations=estimate.iterations * left.bucket)


def distance_text(left: float, right: float) -> str:
    """The distance of two sides: ``4.3 decades`` if both are positive and far apart, else their difference."""
    if not (math.isfinite(left) and math.isfinite(right)) or left == right:
        return ""
    if left > 0 and right > 0 and not 0.1 < left / right < 10:
        return f"{abs(math.log10(left / right)):.1f} decades apart"
    return f"{number_text(abs(left - right))} apart"
