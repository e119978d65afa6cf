"""The trend of a comparison: an estimate from its sides over the last iterations of when it will turn.

The result is an extrapolation, and its text says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np

from ...runtime.text import count_text
from ..describe.integer_turning_points import (
    COMPARISON_OPERATORS,
    MIRRORED_SIGN,
    IntegerRecurrence,
    IntegerRing,
    RecurrenceKind,
    TurningPoint,
    find_recurrences,
    find_turning_point,
    holds_for_all_numbers,
)
from ..value_text import number_text

#: Number of newest values to use; more would hide that a trend has changed.
MAX_RECENT_VALUES = 6
#: A fit is accepted if its step or factor varies by less than this fraction.
_MAX_STEADY_SPREAD = 0.15
_MAX_ITERATIONS = 1e15
_MAX_FACTOR = 1 - 1e-12
_TREND_CONTINUES = "if it goes on like this"
#: A step or a factor must move a float by at least this number of ulps; otherwise rounding decides.
_MIN_STEP_ULPS = 16


class Trend(StrEnum):
    """How the gap between the two sides moves."""

    CONSTANT = "still"
    LINEAR = "linear"
    GEOMETRIC = "geometric"
    #: Towards a limit, by a factor each iteration.
    SETTLING = "settling"
    ACCELERATING = "faster"
    DIVERGING = "away"
    #: Integers that wrap around before the comparison turns.
    WRAPS = "wraps"
    #: An equality that a steady step jumps over.
    STEPS_OVER = "misses"
    IRREGULAR = "unsteady"
    NAN = "nan"


@dataclass(frozen=True)
class TurningEstimate:
    """A trend; ``iterations``: estimated number until the comparison turns, None if no turn is expected.

    ``rate``: the step (linear) or the factor (others) of one iteration; ``limit``: the limit of a settling gap.
    ``at_most``: it may turn earlier; ``upper_bound_text``: the text if another condition may end the loop first.
    """

    trend: Trend
    iterations: int | None = None
    rate: float = 0.0
    limit: float = 0.0
    text: str = ""
    at_most: bool = False
    upper_bound_text: str = ""

    def as_upper_bound(self) -> TurningEstimate:
        """Return the estimate as an upper bound, for a loop that another condition may end first."""
        return replace(self, text=self.upper_bound_text, at_most=True) if self.upper_bound_text else self


def estimate_turning(
    left: Sequence[float],
    right: Sequence[float],
    sign: str,
    names: tuple[str, str] = ("the left side", "the right side"),
    dtype: np.dtype[Any] | None = None,
) -> TurningEstimate | None:
    """Estimate when ``left sign right`` turns false; the values are those of consecutive iterations, oldest first.

    ``dtype``: that of both sides, in whose arithmetic they are continued: integers are exact and wrap around, floats
    have a smallest number. None: unknown, or the iterations are not consecutive.

    Returns None if fewer than three iterations are known or if the comparison is false already.
    """
    left, right = list(left[-MAX_RECENT_VALUES:]), list(right[-MAX_RECENT_VALUES:])
    if any(map(math.isnan, left[-1:] + right[-1:])):
        holds = "true" if sign == "!=" else "false"
        side = names[0] if left and math.isnan(left[-1]) else names[1]
        return TurningEstimate(
            Trend.NAN, text=f"{side} is NaN, and {sign} with NaN is {holds} whatever the other side is"
        )
    if len(left) < 3 or len(left) != len(right) or not COMPARISON_OPERATORS[sign](left[-1], right[-1]):
        return None
    if not all(map(math.isfinite, left + right)):
        return TurningEstimate(Trend.IRREGULAR, text="a side is infinite, so the end cannot be predicted")
    if len(set(left)) == len(set(right)) == 1:
        # The gap is no criterion: for sides far apart a movement of the small one does not change it.
        return TurningEstimate(Trend.CONSTANT, text=f"the two sides have not moved in the last {len(left)} iterations")
    if sign == "==" or (dtype is None and sign == "!="):
        return None
    if dtype is not None and "int" in dtype.name:
        estimate = _IntegerTrend(left, right, sign, names, dtype).estimate()
        if estimate is not None:
            return estimate
    left, right = [float(x) for x in left], [float(x) for x in right]
    direction = -1.0 if sign in ("<", "<=") or (sign == "!=" and left[-1] < right[-1]) else 1.0
    gaps = [direction * (a - b) for a, b in zip(left, right, strict=True)]
    return _FloatTrend(left, right, gaps, sign, names, dtype).estimate()


class _IntegerTrend:
    """Integers that follow a recurrence exactly."""

    def __init__(
        self,
        left: Sequence[float],
        right: Sequence[float],
        sign: str,
        names: tuple[str, str],
        dtype: np.dtype[Any],
    ) -> None:
        self.left, self.right = [int(x) for x in left], [int(x) for x in right]
        self.sign, self.names, self.dtype = sign, names, dtype
        self.ring = IntegerRing.from_dtype(dtype)

    def estimate(self) -> TurningEstimate | None:
        """Return None if no simple recurrence gives these numbers."""
        for side, other, sign in (
            (self.left, self.right, MIRRORED_SIGN[self.sign]),
            (self.right, self.left, self.sign),
        ):
            if len(set(side)) == 1 and len(set(other)) > 1 and holds_for_all_numbers(side[-1], sign, self.ring):
                name, number = self.names[side is self.right], str(side[-1])
                condition = "" if name == number else f" while {name} is {number}"
                text = f"no number of {self.dtype.name} ends it{condition}: like this it never ends"
                return TurningEstimate(Trend.DIVERGING, text=text)
        lefts, rights = find_recurrences(self.left, self.ring), find_recurrences(self.right, self.ring)
        ways = [(a, b) for a in lefts for b in rights]
        if not ways:
            return None
        ends = [find_turning_point((self.left[-1], a), (self.right[-1], b), self.sign, self.ring) for a, b in ways]
        if len({end.iterations for end in ends}) > 1:
            text = f"{self._movement_text(*ways[0])}: when it ends, the rounding of {self.dtype.name} decides"
            return TurningEstimate(Trend.IRREGULAR, text=text)
        return self._make_estimate(*ways[0], ends[0])

    def _make_estimate(self, left: IntegerRecurrence, right: IntegerRecurrence, end: TurningPoint) -> TurningEstimate:
        motion, count = self._movement_text(left, right), end.iterations
        added = left.kind is right.kind is RecurrenceKind.ADDED
        gap = abs(self.left[-1] - self.right[-1])
        step = abs(self.left[-1] - self.right[-1] + left.operand - right.operand) - gap if added else 0
        rate = float(step) if added else self._rate(left, right)
        if count is not None and count < _MAX_ITERATIONS:
            if end.wraps:
                return _make_estimate(
                    Trend.WRAPS, count, rate, f"{motion}, and wraps around at the end of {self.dtype.name}"
                )
            trend = Trend.LINEAR if added else Trend.GEOMETRIC
            motion = (
                f"the gap of {number_text(gap)} falls by {number_text(-step)} each" if added and step < 0 else motion
            )
            return _make_estimate(trend, count, rate, motion, exact=added)
        if count is None and not end.certain:
            return TurningEstimate(Trend.IRREGULAR, text=f"{motion}: the end cannot be predicted")
        if added and self.sign == "!=" and step < 0:
            text = f"the gap changes by {number_text(step)} each, which steps over the one value that ends it"
            return TurningEstimate(Trend.STEPS_OVER, None, rate, text=text)
        if added and step > 0:
            motion = f"moving away: the gap grows by {number_text(step)} each"
        wrap_note = "" if count is None else f" before {self.dtype.name} wraps around"
        return TurningEstimate(Trend.DIVERGING, None, rate, text=f"{motion}; at this rate it never ends{wrap_note}")

    def _movement_text(self, left: IntegerRecurrence, right: IntegerRecurrence) -> str:
        """Describe the movement of the first side that moves."""
        moving, name, number = (left, self.names[0], self.left[-1])
        if left.is_constant:
            moving, name, number = (right, self.names[1], self.right[-1])
        if moving.kind is RecurrenceKind.ADDED:
            return f"{name} {'grows' if moving.operand > 0 else 'falls'} by {number_text(abs(moving.operand))} each"
        if moving.kind is RecurrenceKind.MULTIPLIED:
            return f"{name} grows by a factor of {number_text(moving.operand)} each"
        return f"{name} falls by a factor of {number_text(1 / moving.operand)} each" if number else f"{name} stays 0"

    @staticmethod
    def _rate(left: IntegerRecurrence, right: IntegerRecurrence) -> float:
        moving = right if left.is_constant else left
        return 1 / moving.operand if moving.kind is RecurrenceKind.DIVIDED else float(moving.operand)


class _FloatTrend:
    """Trend of floats; ``gaps``: the distance of the comparison from turning, positive while it holds."""

    def __init__(
        self,
        left: list[float],
        right: list[float],
        gaps: list[float],
        sign: str,
        names: tuple[str, str],
        dtype: np.dtype[Any] | None,
    ) -> None:
        self.left, self.right, self.gaps, self.sign, self.names = left, right, gaps, sign, names
        self.steps = [b - a for a, b in pairwise(gaps)]
        self.type_label = "the type" if dtype is None else dtype.name
        self.is_integer = dtype is not None and "int" in dtype.name
        #: For a float type: half of the distance from 1 to the next number, and its smallest number.
        self.epsilon, self.smallest_number = _precision(dtype)
        has_constant_side = len(set(left)) == 1 or len(set(right)) == 1
        #: The statement about sides that move apart.
        self.diverging_text = (
            "it never ends" if has_constant_side and dtype is not None and not self.is_integer else "no end is in sight"
        )

    def ulp(self, number: float) -> float:
        """The distance between adjacent numbers of the type at this magnitude."""
        return 1.0 if self.is_integer else max(2 * self.epsilon * abs(number), self.smallest_number)

    def estimate(self) -> TurningEstimate:
        count = len(self.gaps)
        absorbed = self._estimate_absorbed_step()
        if absorbed is not None:
            return absorbed
        fits = [fit for fit in (self._fit_linear(), self._fit_geometric(), self._fit_settling()) if fit is not None]
        steady = min(fits, key=lambda fit: fit[0], default=None)
        if steady is not None and steady[0] <= _MAX_STEADY_SPREAD:
            return steady[1]
        if min(self.steps) > 0:
            text = (
                f"moving away: the gap grew in each of the last {count - 1} iterations; like this {self.diverging_text}"
            )
            return TurningEstimate(Trend.DIVERGING, text=text)
        if max(self.steps) < 0:
            return self._estimate_falling()
        return TurningEstimate(Trend.IRREGULAR, text=f"no steady trend over the last {count} iterations")

    def _estimate_absorbed_step(self) -> TurningEstimate | None:
        """One side approaches a constant in equal steps, and rounding absorbs them long before it is there."""
        moving, fixed = (self.left, self.right) if len(set(self.right)) == 1 else (self.right, self.left)
        changes = {b - a for a, b in pairwise(moving)}
        if len(set(fixed)) != 1 or len(changes) != 1 or self.is_integer or not self.smallest_number:
            return None
        step = changes.pop()
        # Half of the distance between numbers there is the step.
        absorbing = abs(step) / self.epsilon
        if not step or (fixed[0] - moving[-1]) * step < 0 or step * fixed[0] < 0 or abs(fixed[0]) <= 2 * absorbing:
            return None
        name = self.names[0 if moving is self.left else 1]
        text = (
            f"{name} {'grows' if step > 0 else 'falls'} by {number_text(abs(step))} each, which rounding to"
            f" {self.type_label} absorbs beyond about {number_text(math.copysign(absorbing, step))}: like this it never"
            " ends"
        )
        return TurningEstimate(Trend.SETTLING, None, step, text=text)

    def _fit_linear(self) -> tuple[float, TurningEstimate] | None:
        """Equal steps."""
        step = sum(self.steps) / len(self.steps)
        if not step:
            return None
        spread = (max(self.steps) - min(self.steps)) / abs(step)
        gap = self.gaps[-1]
        if step > 0:
            text = f"moving away: the gap grows by {number_text(step)} each; at this rate {self.diverging_text}"
            return spread, TurningEstimate(Trend.DIVERGING, None, step, text=text)
        ratio = gap / -step
        move = f"the gap of {number_text(gap)} falls by {number_text(-step)} each"
        unit = self.ulp(max(self._largest_magnitude(self.left, ratio), self._largest_magnitude(self.right, ratio)))
        # Whole numbers that the type holds, all of them: no step is rounded.
        exact = not spread and unit <= 1 and all(map(float.is_integer, (*self.left, *self.right)))
        if unit * _MIN_STEP_ULPS > -step and not self.is_integer and not exact:
            text = f"{move}, and {self.type_label} has steps of {number_text(unit)} there: the end cannot be predicted"
            return spread, TurningEstimate(Trend.IRREGULAR, None, step, text=text)
        if self.sign == "!=" and (self.is_integer or spread > 1e-3):
            text = f"{move}, more or less, which hardly ever hits one value exactly"
            return spread, TurningEstimate(Trend.IRREGULAR, None, step, text=text)
        if self.sign == "!=":
            # The rounding error of ``ratio`` steps.
            error = 0.0 if exact else max(1e-6 * max(1.0, ratio), ratio * unit / -step)
            if abs(ratio - round(ratio)) > error:
                text = f"the gap changes by {number_text(step)} each, which steps over the one value that ends it"
                return spread, TurningEstimate(Trend.STEPS_OVER, None, step, text=text)
            if not exact:
                text = (
                    f"{move}: in about {_more_iterations_text(round(ratio))} it ends, if rounding meets the one value"
                    " that ends it"
                )
                return spread, TurningEstimate(Trend.STEPS_OVER, None, step, text=text)
            count = round(ratio)
        else:
            # Rounding may leave a small excess above a whole number.
            steps_left = round(ratio) if abs(ratio - round(ratio)) < 1e-9 * max(1.0, ratio) else ratio
            count = math.ceil(steps_left) if self.sign in (">", "<") else math.floor(steps_left) + 1
        return spread, _make_estimate(Trend.LINEAR, max(1, count), step, move, exact=exact)

    @staticmethod
    def _largest_magnitude(side: Sequence[float], count: float) -> float:
        """The largest magnitude of a side until ``more`` iterations later."""
        return max(abs(side[-1]), abs(side[-1] + (side[-1] - side[0]) / (len(side) - 1) * count))

    def _fit_geometric(self) -> tuple[float, TurningEstimate] | None:
        """One side is constant, the other is multiplied by the same factor each time."""
        moving, fixed = (self.left, self.right) if len(set(self.right)) == 1 else (self.right, self.left)
        if len(set(fixed)) != 1 or not all(moving):
            return None
        factors = [b / a for a, b in pairwise(moving)]
        factor = sum(factors) / len(factors)
        if factor <= 0 or abs(1 - factor) <= _MIN_STEP_ULPS * self.epsilon:
            return None
        spread = (max(factors) - min(factors)) / min(abs(1 - factor), factor)
        bound, value = fixed[0], moving[-1]
        verb = ("falls" if factor < 1 else "grows") + f" by a factor of {number_text(factor)} each"
        side = self.names[0 if moving is self.left else 1]
        towards = bound / value
        if factor < 1 and 0 < towards < 1 and abs(bound) < 16 * self.smallest_number / self.epsilon:
            # Near the smallest numbers rounding decides whether it ends.
            return spread, self._estimate_vanishing(f"{side} {verb}", factor, abs(value))
        if factor < 1 and not bound and self.sign not in (">=", "<="):
            return spread, self._estimate_vanishing(f"{side} {verb}", factor, abs(value))
        # The factor leads to the bound if both are on the same side of 1.
        if towards > 0 and (towards < 1) == (factor < 1) and towards != 1:
            if self.sign == "!=":
                text = f"{side} {verb}, which hardly ever hits one value exactly"
                return spread, TurningEstimate(Trend.STEPS_OVER, None, factor, text=text)
            if abs(bound) * abs(1 - factor) < _MIN_STEP_ULPS * self.ulp(bound):
                text = f"{side} {verb}: whether that ends it, the rounding of {self.type_label} decides"
                return spread, TurningEstimate(Trend.IRREGULAR, None, factor, text=text)
            count = _iteration_count(math.log(towards) / math.log(factor))
            return spread, _make_estimate(Trend.GEOMETRIC, count, factor, f"{side} {verb}")
        if factor < 1:
            text = f"{side} {verb}: it tends to 0, which does not end it"
            return spread, TurningEstimate(Trend.SETTLING, None, factor, 0.0, text)
        text = f"moving away: {side} {verb}; at this rate {self.diverging_text}"
        return spread, TurningEstimate(Trend.DIVERGING, None, factor, text=text)

    def _estimate_vanishing(self, fit: str, factor: float, size: float) -> TurningEstimate:
        """The estimate for a side that tends to zero, or to a number near the smallest one."""
        if self.is_integer or not self.smallest_number:
            text = f"{fit}: it tends to 0, and whether it gets there, the rounding of {self.type_label} decides"
            return TurningEstimate(Trend.IRREGULAR, None, factor, text=text)
        # Half of the smallest number is rounded to 0.
        count = _iteration_count((math.log(self.smallest_number) - math.log(2) - math.log(size)) / math.log(factor))
        if factor <= 0.5:
            text = (
                f"{_TREND_CONTINUES}, at most about {_more_iterations_text(count)} ({fit}, and is 0 where"
                f" {self.type_label} has no smaller number)"
            )
            return TurningEstimate(Trend.GEOMETRIC, count, factor, text=text, at_most=True, upper_bound_text=text)
        text = (
            f"{fit}: it tends to 0, and whether it gets there, rounding decides in about {_more_iterations_text(count)}"
        )
        return TurningEstimate(Trend.IRREGULAR, None, factor, text=text)

    def _fit_settling(self) -> tuple[float, TurningEstimate] | None:
        """The steps shrink by the same factor: the gap tends to a limit (Aitken's extrapolation)."""
        if len(self.steps) < 3 or not all(self.steps):
            return None
        factors = [b / a for a, b in pairwise(self.steps)]
        factor = sum(factors) / len(factors)
        if not 0 < factor < 1:
            return None
        spread = (max(factors) - min(factors)) / min(1 - factor, factor)
        gap, step = self.gaps[-1], self.steps[-1]
        low, limit, high = sorted(
            gap + step * q / (1 - q) for q in (min(factors), factor, min(max(factors), _MAX_FACTOR))
        )
        # The accumulated rounding error of all iterations.
        error = self.ulp(max(map(abs, (*self.left, *self.right)))) / (1 - factor)
        motion = f"its steps shrink by a factor of {number_text(factor)} each"
        if high < -error and self.sign != "!=":
            count = _iteration_count(math.log(-limit / (gap - limit)) / math.log(factor))
            return spread, _make_estimate(Trend.GEOMETRIC, count, factor, f"the gap falls; {motion}", limit)
        if low > error:
            end = "no end is in sight" if self.is_integer else "it never ends"
            text = f"the gap seems to settle near {number_text(limit)} ({motion}); like this {end}"
            return spread, TurningEstimate(Trend.SETTLING, None, factor, limit, text)
        return None

    def _estimate_falling(self) -> TurningEstimate:
        """The estimate for a gap that shrinks in uneven steps, with acceleration or deceleration."""
        # Integers without a simple recurrence may wrap around before.
        count = self._max_iterations() if self.sign != "!=" and not self.is_integer else None
        if count is not None:
            text = (
                f"nearer each time, and faster and faster: {_TREND_CONTINUES}, at most about"
                f" {_more_iterations_text(count)}"
            )
            return TurningEstimate(Trend.ACCELERATING, count, self.steps[-1], text=text, at_most=True)
        text = "nearer each time, but not at a steady rate: the end cannot be predicted"
        return TurningEstimate(Trend.IRREGULAR, None, self.steps[-1], text=text)

    def _max_iterations(self) -> int | None:
        """The number of iterations at the last step, or at the last factor, if these only improve."""
        if all(b < a for a, b in pairwise(self.steps)):
            return _iteration_count(self.gaps[-1] / -self.steps[-1])
        moving, fixed = (self.left, self.right) if len(set(self.right)) == 1 else (self.right, self.left)
        if len(set(fixed)) != 1 or not all(value * fixed[0] > 0 for value in moving):
            return None
        factors = [b / a for a, b in pairwise(moving)]
        # Falling by ever smaller factors.
        if factors[0] < 1 and all(b < a for a, b in pairwise(factors)) and fixed[0] / moving[-1] < 1:
            return _iteration_count(math.log(fixed[0] / moving[-1]) / math.log(factors[-1]))
        return None


def _iteration_count(exact: float) -> int:
    return max(1, math.ceil(min(exact, _MAX_ITERATIONS) - 1e-9))


def _more_iterations_text(count: int) -> str:
    return count_text(count, "more iteration")


def _make_estimate(
    trend: Trend, count: int, rate: float, motion: str, limit: float = 0.0, exact: bool = False
) -> TurningEstimate:
    """An estimate that the comparison turns; ``exact``: whole numbers in equal steps, whose end is certain."""
    text = f"{_TREND_CONTINUES}, about {_more_iterations_text(count)} ({motion})"
    bound = f"{_TREND_CONTINUES}, at most {'' if exact else 'about '}{_more_iterations_text(count)} ({motion})"
    return TurningEstimate(trend, count, rate, limit, text, upper_bound_text=bound)


def _precision(dtype: np.dtype[Any] | None) -> tuple[float, float]:
    """The rounding unit of a float type and its smallest number; those of float64 for an unknown type."""
    if dtype is None or dtype.kind not in "fV" or "int" in dtype.name:
        return 2.0**-53, 0.0
    if dtype.kind == "f":
        info = np.finfo(dtype)
        return float(info.eps) / 2, float(info.smallest_subnormal)
    import ml_dtypes

    narrow: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(narrow.eps) / 2, float(narrow.smallest_subnormal)


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
            factors = _last_growth_factor(left), _last_growth_factor(right)
            return [(left[-1] * factors[0] ** k, right[-1] * factors[1] ** k) for k in offsets]
    return [(left[-1] + steps[0] * k, right[-1] + steps[1] * k) for k in offsets]


def _mean_step(side: Sequence[float]) -> float:
    """The mean step of a side in an iteration."""
    return (side[-1] - side[0]) / (len(side) - 1) if len(side) > 1 else 0.0


def _growth_factor(side: Sequence[float], rate: float) -> float:
    """The factor of a side; 1 for a constant side."""
    return 1.0 if len(set(side)) == 1 else rate


def _last_growth_factor(side: Sequence[float]) -> float:
    return side[-1] / side[-2] if side[-2] else 1.0


def _is_slowing(side: Sequence[float]) -> bool:
    """Whether the steps of a side shrink, so that its factor improves instead."""
    steps = [abs(b - a) for a, b in pairwise(side)]
    return any(b < a for a, b in pairwise(steps))
