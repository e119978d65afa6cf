"""Where a comparison is heading: from its two sides over the last iterations, about when it will turn.

What comes out is an extrapolation and is worded as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from ...runtime.text import counted
from ..text import number_text

#: The newest values count; more would hide that a trend has changed.
NEWEST = 6
#: A fit is taken where its step or factor varies by less than this part of what it says.
_STEADY = 0.15
_FARTHEST = 1e15
_ALMOST = 1 - 1e-12
_LIKE_THIS = "if it goes on like this"


class Trend(StrEnum):
    """How the gap between the two sides moves."""

    STILL = "still"
    LINEAR = "linear"
    GEOMETRIC = "geometric"
    #: Towards a limit, by a factor each iteration.
    SETTLING = "settling"
    FASTER = "faster"
    AWAY = "away"
    #: Equality that a steady step jumps over.
    MISSES = "misses"
    UNSTEADY = "unsteady"
    NAN = "nan"


@dataclass(frozen=True)
class Estimate:
    """A trend; ``iterations``: about how many more until the comparison turns, None where it does not seem to.

    ``rate``: the step (linear) or the factor (others) of one iteration; ``limit``: what a settling gap tends to.
    ``at_most``: it may well turn earlier; ``bound``: the text of one whose loop something else may end before.
    """

    trend: Trend
    iterations: int | None = None
    rate: float = 0.0
    limit: float = 0.0
    text: str = ""
    at_most: bool = False
    bound: str = ""

    def bounded(self) -> Estimate:
        """The same where something else may end the loop before."""
        return replace(self, text=self.bound, at_most=True) if self.bound else self


def estimate(
    left: Sequence[float],
    right: Sequence[float],
    sign: str,
    names: tuple[str, str] = ("the left side", "the right side"),
) -> Estimate | None:
    """When ``left sign right`` turns false; the values are those of consecutive iterations, oldest first.

    None where fewer than three iterations are known, or where it is false already.
    """
    left, right = [float(x) for x in left[-NEWEST:]], [float(x) for x in right[-NEWEST:]]
    if any(math.isnan(x) for x in left[-1:] + right[-1:]):
        holds = "true" if sign == "!=" else "false"
        side = names[0] if left and math.isnan(left[-1]) else names[1]
        return Estimate(Trend.NAN, text=f"{side} is NaN, and {sign} with NaN is {holds} whatever the other side is")
    if len(left) < 3 or len(left) != len(right) or not _holds(left[-1], sign, right[-1]):
        return None
    if not all(math.isfinite(x) for x in left + right):
        return Estimate(Trend.UNSTEADY, text="a side is infinite, so nothing can be said about when it ends")
    if sign == "==":
        return Estimate(Trend.STILL, text="the two sides have been equal all the time")
    turn = -1.0 if sign in ("<", "<=") or (sign == "!=" and left[-1] < right[-1]) else 1.0
    gaps = [turn * (a - b) for a, b in zip(left, right, strict=True)]
    return _Fit(left, right, gaps, sign, names).best()


def _holds(left: float, sign: str, right: float) -> bool:
    return {
        ">": left > right,
        ">=": left >= right,
        "<": left < right,
        "<=": left <= right,
        "==": left == right,
        "!=": left != right,
    }[sign]


class _Fit:
    """``gaps``: how far the comparison is from turning, positive while it holds."""

    def __init__(
        self, left: list[float], right: list[float], gaps: list[float], sign: str, names: tuple[str, str]
    ) -> None:
        self.left, self.right, self.gaps, self.sign, self.names = left, right, gaps, sign, names
        self.steps = [b - a for a, b in pairwise(gaps)]

    def best(self) -> Estimate:
        count = len(self.gaps)
        # Not by the gap: of sides far apart it does not move where the small one does.
        if len(set(self.left)) == len(set(self.right)) == 1:
            return Estimate(Trend.STILL, text=f"the two sides have not moved in the last {count} iterations")
        found = [fit for fit in (self._linear(), self._geometric(), self._settling()) if fit is not None]
        steady = min(found, key=lambda fit: fit[0], default=None)
        if steady is not None and steady[0] <= _STEADY:
            return steady[1]
        if all(step > 0 for step in self.steps):
            return Estimate(
                Trend.AWAY,
                text=f"moving away: the gap grew in each of the last {count - 1} iterations; like this it never ends",
            )
        if all(step < 0 for step in self.steps):
            return self._falling()
        return Estimate(Trend.UNSTEADY, text=f"no steady trend over the last {count} iterations")

    def _linear(self) -> tuple[float, Estimate] | None:
        """Equal steps."""
        step = sum(self.steps) / len(self.steps)
        if not step:
            return None
        spread = (max(self.steps) - min(self.steps)) / abs(step)
        gap = self.gaps[-1]
        if step > 0:
            text = f"moving away: the gap grows by {number_text(step)} each; at this rate it never ends"
            return spread, Estimate(Trend.AWAY, None, step, text=text)
        ratio = gap / -step
        if self.sign == "!=":
            if abs(ratio - round(ratio)) > 1e-6 * max(1.0, ratio):
                text = f"the gap changes by {number_text(step)} each, which steps over the one value that ends it"
                return spread, Estimate(Trend.MISSES, None, step, text=text)
            more = round(ratio)
        else:
            # Rounding may leave a hair above a whole number.
            near = round(ratio) if abs(ratio - round(ratio)) < 1e-9 * max(1.0, ratio) else ratio
            more = math.ceil(near) if self.sign in (">", "<") else math.floor(near) + 1
        how = f"the gap of {number_text(gap)} falls by {number_text(-step)} each"
        exact = not spread and all(map(float.is_integer, (*self.left, *self.right)))
        return spread, _turning(Trend.LINEAR, more, step, how, exact=exact)

    def _geometric(self) -> tuple[float, Estimate] | None:
        """One side is a fixed number, the other is multiplied by the same factor each time."""
        moving, fixed = (self.left, self.right) if len(set(self.right)) == 1 else (self.right, self.left)
        if len(set(fixed)) != 1 or not all(moving):
            return None
        factors = [b / a for a, b in pairwise(moving)]
        factor = sum(factors) / len(factors)
        if factor <= 0 or factor == 1:
            return None
        spread = (max(factors) - min(factors)) / min(abs(1 - factor), factor)
        bound, now = fixed[0], moving[-1]
        verb = ("falls" if factor < 1 else "grows") + f" by a factor of {number_text(factor)} each"
        side = self.names[0 if moving is self.left else 1]
        towards = bound / now
        # The factor leads to the bound where both lie on the same side of 1.
        if towards > 0 and (towards < 1) == (factor < 1) and towards != 1:
            if self.sign == "!=":
                text = f"{side} {verb}, which hardly ever hits one value exactly"
                return spread, Estimate(Trend.MISSES, None, factor, text=text)
            more = _count(math.log(towards) / math.log(factor))
            return spread, _turning(Trend.GEOMETRIC, more, factor, f"{side} {verb}")
        if factor < 1:
            text = f"{side} {verb}: it tends to 0, which does not end it"
            return spread, Estimate(Trend.SETTLING, None, factor, 0.0, text)
        text = f"moving away: {side} {verb}; at this rate it never ends"
        return spread, Estimate(Trend.AWAY, None, factor, text=text)

    def _settling(self) -> tuple[float, Estimate] | None:
        """The steps shrink by the same factor: the gap tends to a limit (Aitken's extrapolation)."""
        if len(self.steps) < 3 or not all(self.steps):
            return None
        factors = [b / a for a, b in pairwise(self.steps)]
        factor = sum(factors) / len(factors)
        if not 0 < factor < 1:
            return None
        spread = (max(factors) - min(factors)) / min(1 - factor, factor)
        gap, step = self.gaps[-1], self.steps[-1]
        low, limit, high = sorted(gap + step * q / (1 - q) for q in (min(factors), factor, min(max(factors), _ALMOST)))
        how = f"its steps shrink by a factor of {number_text(factor)} each"
        if high < 0 and self.sign != "!=":
            more = _count(math.log(-limit / (gap - limit)) / math.log(factor))
            return spread, _turning(Trend.GEOMETRIC, more, factor, f"the gap falls; {how}", limit)
        if low > 0:
            text = f"the gap seems to settle near {number_text(limit)} ({how}); like this it never ends"
            return spread, Estimate(Trend.SETTLING, None, factor, limit, text)
        return None

    def _falling(self) -> Estimate:
        """Nearer each time, in uneven steps: faster and faster, or slower and slower."""
        more = self._at_most() if self.sign != "!=" else None
        if more is not None:
            text = f"nearer each time, and faster and faster: {_LIKE_THIS}, at most about {_more(more)}"
            return Estimate(Trend.FASTER, more, self.steps[-1], text=text, at_most=True)
        text = "nearer each time, but not at a steady rate: nothing can be said about when it ends"
        return Estimate(Trend.UNSTEADY, None, self.steps[-1], text=text)

    def _at_most(self) -> int | None:
        """What the last step, or the last factor, would take where both only get better."""
        if all(b < a for a, b in pairwise(self.steps)):
            return _count(self.gaps[-1] / -self.steps[-1])
        moving, fixed = (self.left, self.right) if len(set(self.right)) == 1 else (self.right, self.left)
        if len(set(fixed)) != 1 or not all(value * fixed[0] > 0 for value in moving):
            return None
        factors = [b / a for a, b in pairwise(moving)]
        # Falling by ever smaller factors.
        if factors[0] < 1 and all(b < a for a, b in pairwise(factors)) and fixed[0] / moving[-1] < 1:
            return _count(math.log(fixed[0] / moving[-1]) / math.log(factors[-1]))
        return None


def _count(exact: float) -> int:
    return max(1, math.ceil(min(exact, _FARTHEST) - 1e-9))


def _more(count: int) -> str:
    return counted(count, "more iteration")


def _turning(trend: Trend, more: int, rate: float, how: str, limit: float = 0.0, exact: bool = False) -> Estimate:
    """A comparison that turns; ``exact``: of whole numbers in equal steps, whose end is no guess where they go on."""
    text = f"{_LIKE_THIS}, about {_more(more)} ({how})"
    bound = f"{_LIKE_THIS}, at most {'' if exact else 'about '}{_more(more)} ({how})"
    return Estimate(trend, more, rate, limit, text, bound=bound)
