"""The values of both sides of a comparison in the next iterations, as an estimate predicts them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .trend import MAX_RECENT_VALUES, Trend, TurningEstimate


def extrapolate(
    estimate: TurningEstimate, left: Sequence[float], right: Sequence[float], count: int
) -> list[tuple[float, float]]:
    """Return both sides in each of the next ``count`` iterations; empty if they are not predicted to meet.

    ``left``, ``right``: the numbers behind the estimate.
    """
    left, right = [float(x) for x in left[-MAX_RECENT_VALUES:]], [float(x) for x in right[-MAX_RECENT_VALUES:]]
    if estimate.iterations is None or not left:
        return []
    offsets = range(1, count + 1)
    if estimate.trend is Trend.GEOMETRIC and not estimate.limit:
        factors = _growth_factor(left, estimate.rate), _growth_factor(right, estimate.rate)
        return [(left[-1] * factors[0] ** k, right[-1] * factors[1] ** k) for k in offsets]
    steps = _mean_step(left), _mean_step(right)
    if estimate.trend is Trend.GEOMETRIC:
        # The gap approaches its limit by a factor; one side moves independently and the other is a gap away from it.
        gap = left[-1] - right[-1]
        limit = estimate.limit if gap > 0 else -estimate.limit
        others = [right[-1] + steps[1] * k for k in offsets]
        gaps = [limit + (gap - limit) * estimate.rate**k for k in offsets]
        return [(other + gap_ahead, other) for other, gap_ahead in zip(others, gaps, strict=True)]
    if estimate.trend is Trend.ACCELERATING:
        # At least as fast as in the last iteration.
        steps = left[-1] - left[-2], right[-1] - right[-2]
        moving = left if steps[0] else right
        if _is_slowing(moving) and moving[-2]:
            factors = _last_factor(left), _last_factor(right)
            return [(left[-1] * factors[0] ** k, right[-1] * factors[1] ** k) for k in offsets]
    return [(left[-1] + steps[0] * k, right[-1] + steps[1] * k) for k in offsets]


def _mean_step(side: Sequence[float]) -> float:
    """The mean step of a side in an iteration."""
    return (side[-1] - side[0]) / (len(side) - 1) if len(side) > 1 else 0.0


def _growth_factor(side: Sequence[float], rate: float) -> float:
    """The factor of a side; 1 for a constant side."""
    return 1.0 if len(set(side)) == 1 else rate


def _last_factor(side: Sequence[float]) -> float:
    return side[-1] / side[-2] if side[-2] else 1.0


def _is_slowing(side: Sequence[float]) -> bool:
    """Whether the steps of a side shrink, so that its factor improves instead."""
    steps = [abs(b - a) for a, b in pairwise(side)]
    return any(b < a for a, b in pairwise(steps))
