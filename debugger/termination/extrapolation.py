"""How the two sides of a comparison would go on, if an estimate is right: the numbers behind its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .trend import MAX_RECENT_VALUES, Trend, TurningEstimate


def extrapolate(
    found: TurningEstimate, left: Sequence[float], right: Sequence[float], count: int
) -> list[tuple[float, float]]:
    """Both sides in each of the next ``count`` iterations; nothing where the estimate says nothing of when they meet.

    ``left``, ``right``: what it was made of.
    """
    left, right = [float(x) for x in left[-MAX_RECENT_VALUES:]], [float(x) for x in right[-MAX_RECENT_VALUES:]]
    if found.iterations is None or not left:
        return []
    ahead = range(1, count + 1)
    if found.trend is Trend.GEOMETRIC and not found.limit:
        factors = _growth_factor(left, found.rate), _growth_factor(right, found.rate)
        return [(left[-1] * factors[0] ** k, right[-1] * factors[1] ** k) for k in ahead]
    steps = _mean_step(left), _mean_step(right)
    if found.trend is Trend.GEOMETRIC:
        # The gap comes nearer to its limit by a factor; one side goes its own way, the other is that far from it.
        gap = left[-1] - right[-1]
        limit = found.limit if gap > 0 else -found.limit
        others = [right[-1] + steps[1] * k for k in ahead]
        gaps = [limit + (gap - limit) * found.rate**k for k in ahead]
        return [(other + apart, other) for other, apart in zip(others, gaps, strict=True)]
    if found.trend is Trend.ACCELERATING:
        # At least as fast as in the last iteration.
        steps = left[-1] - left[-2], right[-1] - right[-2]
        moving = left if steps[0] else right
        if _is_slowing(moving) and moving[-2]:
            factors = _last_factor(left), _last_factor(right)
            return [(left[-1] * factors[0] ** k, right[-1] * factors[1] ** k) for k in ahead]
    return [(left[-1] + steps[0] * k, right[-1] + steps[1] * k) for k in ahead]


def _mean_step(side: Sequence[float]) -> float:
    """What a side moves in an iteration."""
    return (side[-1] - side[0]) / (len(side) - 1) if len(side) > 1 else 0.0


def _growth_factor(side: Sequence[float], rate: float) -> float:
    """By what a side is multiplied: the one that stands still by nothing."""
    return 1.0 if len(set(side)) == 1 else rate


def _last_factor(side: Sequence[float]) -> float:
    return side[-1] / side[-2] if side[-2] else 1.0


def _is_slowing(side: Sequence[float]) -> bool:
    """Does a side take smaller steps each time, so that it is its factor that gets better?"""
    steps = [abs(b - a) for a, b in pairwise(side)]
    return any(b < a for a, b in pairwise(steps))
