"""Histories as pictures of any width: every iteration is in them, however few cells there are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...debugger.statistics.value_history import Numbers, ValueHistory, is_exact
from ...debugger.termination.extrapolation import extrapolate
from ...debugger.termination.trend import TurningEstimate, estimate_turning
from .downsample import MinMaxBand, draw_braille, values_per_cell
from .formatting import number_text, sparkline
from .text_plots import ComparisonPoints

#: Of what comes at least so many iterations are drawn.
_FORECAST_MIN_ITERATIONS = 8
#: What differs by fewer units in the last place than this has not moved.
_ROUNDING_MAX_ULPS = 16
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def iterations_per_cell(history: ValueHistory, room: int) -> int:
    """How many iterations share a cell."""
    return values_per_cell(len(history), room) * history.bucket


def history_band(history: ValueHistory) -> MinMaxBand:
    """The smallest and the largest of each bucket."""
    return MinMaxBand(history.value.low, history.value.high, history.value.odd > 0)


def shares_cells(history: ValueHistory, room: int) -> bool:
    """Do iterations share a cell, so that a cell shows from where to where they go?"""
    return iterations_per_cell(history, room) > 1


def is_flat(history: ValueHistory, dtype: str) -> bool:
    """Does the value stay as it is, but for rounding?"""
    return len(history) > 1 and not history.value.odd.any() and _is_constant(history, dtype)


def _is_constant(history: ValueHistory, dtype: str) -> bool:
    """Do the finite ones move by rounding alone?"""
    found = history_band(history).bounds
    return found is not None and is_within_rounding(*found, dtype) and not is_monotonic(history.value.last)


def is_monotonic(numbers: Numbers) -> bool:
    """Do numbers grow, or fall, each time? Rounding alone goes up and down."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(numbers)
    return len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())


def is_within_rounding(low: float, high: float, dtype: str) -> bool:
    """Is the difference of two numbers no more than what rounding makes?"""
    return (
        is_exact(low, dtype)
        and is_exact(high, dtype)
        and high - low <= _ROUNDING_MAX_ULPS * _EPSILON.get(dtype, 0.0) * max(abs(low), abs(high))
    )


def draw_history(history: ValueHistory, room: int, dtype: str) -> str:
    """The whole history in at most ``room`` cells: a bar for each iteration, or, where they share cells, from where to
    where these go; ``──flat──`` where nothing but rounding moves. Of a tensor that is its norm alone, and is labelled
    so: its elements may move all the same."""
    if is_flat(history, dtype):
        label = "norm flat" if history.is_tensor else "flat"
        count = min(room, max(len(history), len(label) + 2))
        return f"{label:─^{count}}" if count >= len(label) + 2 else "─" * count
    seen = history_band(history)
    last = history.value.last
    if _is_constant(history, dtype):
        low = np.where(np.isnan(seen.low), seen.low, seen.bounds[0] if seen.bounds else 0.0)
        seen, last = MinMaxBand(low, low, seen.non_finite), np.where(np.isfinite(last), low, last)
    if shares_cells(history, room):
        return draw_braille(seen, room)[0]
    return sparkline(last.tolist(), room, np.flatnonzero(np.isnan(last) & ~seen.non_finite).tolist())


def flat_note(history: ValueHistory) -> str:
    """By how much a flat one moves all the same."""
    found = history_band(history).bounds
    if found is None or found[0] == found[1]:
        return ""
    return f"{'norm' if history.is_tensor else 'it'} moves by {number_text(found[1] - found[0])}"


def comparison_points(
    sides: tuple[ValueHistory, ValueHistory], found: TurningEstimate | None = None
) -> ComparisonPoints | None:
    """Two sides over all iterations, for a plot; of buckets from the smallest to the largest. ``found``: about when
    they meet, so that what comes is drawn as well: no more of it than there was, so that this stays visible."""
    left, right = sides
    count = min(len(left), len(right))
    if not count:
        return None

    def numbers(one: Numbers) -> list[float]:
        return [float(value) for value in one[:count]]

    iterations = [int(k) for k in left.iterations[:count]]
    ahead = _forecast_points(sides, count, found)
    if left.bucket == 1:
        return ComparisonPoints(iterations, numbers(left.values), numbers(right.values), forecast=ahead)
    ends = ((one.value.low, one.value.high) for one in sides)
    (low, high), (other_low, other_high) = ((numbers(a), numbers(b)) for a, b in ends)
    return ComparisonPoints(iterations, low, other_low, high, other_high, ahead)


def _forecast_points(
    sides: tuple[ValueHistory, ValueHistory], count: int, found: TurningEstimate | None
) -> list[tuple[int, float, float]]:
    if found is None or found.iterations is None:
        return []
    left, right = sides
    bucket = left.bucket
    end = _complete_bucket_count(sides)
    more = min(max(count, _FORECAST_MIN_ITERATIONS), -(-found.iterations // bucket))
    last = int(left.iterations[end - 1]) + bucket - 1
    known = left.values[:end].tolist(), right.values[:end].tolist()
    return [(last + bucket * k, *both) for k, both in enumerate(extrapolate(found, *known, more), 1)]


def _complete_bucket_count(sides: tuple[ValueHistory, ValueHistory]) -> int:
    """How many buckets have as many iterations as the others: the last one may have fewer."""
    count = min(map(len, sides))
    return count if sides[0].bucket == 1 else count - 1


def estimate_crossing(
    sides: tuple[ValueHistory, ValueHistory], sign: str, names: tuple[str, str], dtype: np.dtype[Any] | None
) -> TurningEstimate | None:
    """About when the comparison turns, as far as the trend tells; ``iterations`` are those of the loop. ``dtype``: that
    of both sides, where it is known."""
    left, right = sides
    end = _complete_bucket_count(sides)
    known = left.values[:end].tolist(), right.values[:end].tolist()
    if dtype is not None and not all(is_exact(number, dtype.name) for side in known for number in side):
        return None
    # Of iterations apart from each other the arithmetic between them is not known.
    found = estimate_turning(*known, sign, names, dtype if left.bucket == 1 else None)
    if found is None or found.iterations is None or left.bucket == 1:
        return found
    return replace(found, iterations=found.iterations * left.bucket)


def distance_text(left: float, right: float) -> str:
    """How far two sides are apart: ``4.3 decades`` where both are positive and far apart, else their difference."""
    if not (math.isfinite(left) and math.isfinite(right)) or left == right:
        return ""
    if left > 0 and right > 0 and not 0.1 < left / right < 10:
        return f"{abs(math.log10(left / right)):.1f} decades apart"
    return f"{number_text(abs(left - right))} apart"
