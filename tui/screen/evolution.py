"""Histories as pictures of any width: every iteration is in them, however few cells there are."""

from __future__ import annotations

import math

import numpy as np

from ...debugger.statistics.history import History, Numbers
from ...debugger.why.trend import Estimate, estimate
from .plots import Points
from .text import number_text, sparkline

#: What differs by fewer units in the last place than this has not moved.
_ROUNDING = 16
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def per_cell(history: History, room: int) -> int:
    """How many buckets share a cell where a history has so many cells."""
    return max(1, math.ceil(len(history) / max(room, 1)))


def iterations_a_cell(history: History, room: int) -> int:
    """How many iterations share a cell."""
    return per_cell(history, room) * history.bucket


def cells(history: History, room: int) -> list[float]:
    """One number a cell: of the iterations that share it the one farthest from where the rest is, so that a spike
    shows; NaN where one was not finite."""
    many = per_cell(history, room)
    low, high, last, odd = history.value.low, history.value.high, history.value.last, history.value.odd
    if many == 1 and history.bucket == 1:
        return [float(value) for value in last]
    starts = np.arange(0, len(history), many)
    lows, highs = np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)
    finite = last[np.isfinite(last)]
    middle = float(np.median(finite)) if finite.size else 0.0
    told = np.where(highs - middle >= middle - lows, highs, lows)
    return [float(value) for value in np.where(np.add.reduceat(odd, starts) > 0, np.nan, told)]


def span(history: History) -> tuple[float, float] | None:
    """The smallest and the largest number of all iterations; None where none is finite."""
    if not len(history) or not (np.isfinite(history.value.low)).any():
        return None
    return float(np.nanmin(history.value.low)), float(np.nanmax(history.value.high))


def is_flat(history: History, dtype: str) -> bool:
    """Does the value stay as it is, but for rounding?"""
    found = span(history)
    if found is None or len(history) < 2 or history.value.odd.any():
        return False
    return is_rounding(*found, dtype)


def is_rounding(low: float, high: float, dtype: str) -> bool:
    """Is the difference of two numbers no more than what rounding makes?"""
    return high - low <= _ROUNDING * _EPSILON.get(dtype, 0.0) * max(abs(low), abs(high))


def spark(history: History, room: int, dtype: str) -> str:
    """The whole history in at most ``room`` cells; ``──flat──`` where nothing but rounding moves."""
    if is_flat(history, dtype):
        count = min(room, max(len(history), len("─flat─")))
        return f"{'flat':─^{count}}" if count >= len("─flat─") else "─" * count
    return sparkline(cells(history, room), room)


def flat_note(history: History) -> str:
    """By how much a flat one moves all the same."""
    found = span(history)
    if found is None or found[0] == found[1]:
        return ""
    return f"{'norm' if history.is_tensor else 'it'} moves by {number_text(found[1] - found[0])}"


def both_sides(sides: tuple[History, History]) -> Points | None:
    """Two sides over all iterations, for a plot; of buckets the smallest and the largest."""
    left, right = sides
    count = min(len(left), len(right))
    if not count:
        return None
    iterations = [int(k) for k in left.iterations[:count]]

    def numbers(one: Numbers) -> list[float]:
        return [float(value) for value in one[:count]]

    if left.bucket == 1:
        return Points(iterations, numbers(left.values), numbers(right.values))
    return Points(
        iterations * 2,
        numbers(left.value.low) + numbers(left.value.high),
        numbers(right.value.low) + numbers(right.value.high),
    )


def meeting(sides: tuple[History, History], sign: str, names: tuple[str, str]) -> Estimate | None:
    """About when the comparison turns, as far as the trend tells; ``iterations`` are those of the loop."""
    left, right = sides
    count = min(len(left), len(right))
    # The last bucket may have fewer iterations than the others.
    end = count if left.bucket == 1 else count - 1
    found = estimate(left.values[:end].tolist(), right.values[:end].tolist(), sign, names)
    if found is None or found.iterations is None or left.bucket == 1:
        return found
    return Estimate(found.trend, found.iterations * left.bucket, found.rate, found.limit, found.text)


def distance(left: float, right: float) -> str:
    """How far two sides are apart: ``4.3 decades`` where both are positive and far apart, else their difference."""
    if not (math.isfinite(left) and math.isfinite(right)) or left == right:
        return ""
    if left > 0 and right > 0 and not 0.1 < left / right < 10:
        return f"{abs(math.log10(left / right)):.1f} decades apart"
    return f"{number_text(abs(left - right))} apart"
