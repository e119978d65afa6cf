"""Histories as pictures of any width: every iteration is in them, however few cells there are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...debugger.statistics.history import History, Numbers, is_exact
from ...debugger.why.course import course
from ...debugger.why.trend import Estimate, estimate
from .bands import Band, draw, per_cell
from .plots import Points
from .text import number_text, sparkline

#: Of what comes at least so many iterations are drawn.
_AHEAD = 8
#: What differs by fewer units in the last place than this has not moved.
_ROUNDING = 16
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def iterations_a_cell(history: History, room: int) -> int:
    """How many iterations share a cell."""
    return per_cell(len(history), room) * history.bucket


def band(history: History) -> Band:
    """The smallest and the largest of each bucket."""
    return Band(history.value.low, history.value.high, history.value.odd > 0)


def is_folded(history: History, room: int) -> bool:
    """Do iterations share a cell, so that a cell shows from where to where they go?"""
    return iterations_a_cell(history, room) > 1


def is_flat(history: History, dtype: str) -> bool:
    """Does the value stay as it is, but for rounding?"""
    return len(history) > 1 and not history.value.odd.any() and _is_still(history, dtype)


def _is_still(history: History, dtype: str) -> bool:
    """Do the finite ones move by rounding alone?"""
    found = band(history).span
    return found is not None and is_rounding(*found, dtype) and not is_drift(history.value.last)


def is_drift(numbers: Numbers) -> bool:
    """Do numbers grow, or fall, each time? Rounding alone goes up and down."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(numbers)
    return len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())


def is_rounding(low: float, high: float, dtype: str) -> bool:
    """Is the difference of two numbers no more than what rounding makes?"""
    return (
        is_exact(low, dtype)
        and is_exact(high, dtype)
        and high - low <= _ROUNDING * _EPSILON.get(dtype, 0.0) * max(abs(low), abs(high))
    )


def spark(history: History, room: int, dtype: str) -> str:
    """The whole history in at most ``room`` cells: a bar for each iteration, or, where they share cells, from where to
    where these go; ``──flat──`` where nothing but rounding moves. Of a tensor that is its norm alone, and is labelled
    so: its elements may move all the same."""
    if is_flat(history, dtype):
        label = "norm flat" if history.is_tensor else "flat"
        count = min(room, max(len(history), len(label) + 2))
        return f"{label:─^{count}}" if count >= len(label) + 2 else "─" * count
    seen = band(history)
    last = history.value.last
    if _is_still(history, dtype):
        low = np.where(np.isnan(seen.low), seen.low, seen.span[0] if seen.span else 0.0)
        seen, last = Band(low, low, seen.odd), np.where(np.isfinite(last), low, last)
    if is_folded(history, room):
        return draw(seen, room)[0]
    return sparkline(last.tolist(), room, np.flatnonzero(np.isnan(last) & ~seen.odd).tolist())


def flat_note(history: History) -> str:
    """By how much a flat one moves all the same."""
    found = band(history).span
    if found is None or found[0] == found[1]:
        return ""
    return f"{'norm' if history.is_tensor else 'it'} moves by {number_text(found[1] - found[0])}"


def both_sides(sides: tuple[History, History], found: Estimate | None = None) -> Points | None:
    """Two sides over all iterations, for a plot; of buckets from the smallest to the largest. ``found``: about when
    they meet, so that what comes is drawn as well: no more of it than there was, so that this stays visible."""
    left, right = sides
    count = min(len(left), len(right))
    if not count:
        return None

    def numbers(one: Numbers) -> list[float]:
        return [float(value) for value in one[:count]]

    iterations = [int(k) for k in left.iterations[:count]]
    ahead = _ahead(sides, count, found)
    if left.bucket == 1:
        return Points(iterations, numbers(left.values), numbers(right.values), ahead=ahead)
    ends = ((one.value.low, one.value.high) for one in sides)
    (low, high), (other_low, other_high) = ((numbers(a), numbers(b)) for a, b in ends)
    return Points(iterations, low, other_low, high, other_high, ahead)


def _ahead(sides: tuple[History, History], count: int, found: Estimate | None) -> list[tuple[int, float, float]]:
    if found is None or found.iterations is None:
        return []
    left, right = sides
    bucket = left.bucket
    end = _whole(sides)
    more = min(max(count, _AHEAD), -(-found.iterations // bucket))
    last = int(left.iterations[end - 1]) + bucket - 1
    known = left.values[:end].tolist(), right.values[:end].tolist()
    return [(last + bucket * k, *both) for k, both in enumerate(course(found, *known, more), 1)]


def _whole(sides: tuple[History, History]) -> int:
    """How many buckets have as many iterations as the others: the last one may have fewer."""
    count = min(map(len, sides))
    return count if sides[0].bucket == 1 else count - 1


def meeting(
    sides: tuple[History, History], sign: str, names: tuple[str, str], dtype: np.dtype[Any] | None
) -> Estimate | None:
    """About when the comparison turns, as far as the trend tells; ``iterations`` are those of the loop. ``dtype``: that
    of both sides, where it is known."""
    left, right = sides
    end = _whole(sides)
    known = left.values[:end].tolist(), right.values[:end].tolist()
    if dtype is not None and not all(is_exact(number, dtype.name) for side in known for number in side):
        return None
    # Of iterations apart from each other the arithmetic between them is not known.
    found = estimate(*known, sign, names, dtype if left.bucket == 1 else None)
    if found is None or found.iterations is None or left.bucket == 1:
        return found
    return replace(found, iterations=found.iterations * left.bucket)


def distance(left: float, right: float) -> str:
    """How far two sides are apart: ``4.3 decades`` where both are positive and far apart, else their difference."""
    if not (math.isfinite(left) and math.isfinite(right)) or left == right:
        return ""
    if left > 0 and right > 0 and not 0.1 < left / right < 10:
        return f"{abs(math.log10(left / right)):.1f} decades apart"
    return f"{number_text(abs(left - right))} apart"
