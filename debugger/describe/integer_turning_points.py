"""When a comparison of integers turns, in the arithmetic of their type: wrap-around and truncating division."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np

#: Maximum number of iterations to simulate if no formula gives the end.
MAX_SIMULATED_ITERATIONS = 20_000
#: Factors to try after a product has wrapped around.
_MAX_TRIED_FACTOR = 16
COMPARISON_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
MIRRORED_SIGN = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "==", "!=": "!="}


class RecurrenceKind(Enum):
    """The operation of a recurrence in each iteration."""

    ADDED = "added"
    MULTIPLIED = "multiplied"
    DIVIDED = "divided"


@dataclass(frozen=True)
class IntegerRing:
    """The integers of a dtype, with wrap-around."""

    low: int
    high: int

    @classmethod
    def from_dtype(cls, dtype: np.dtype[Any]) -> IntegerRing:
        """Return the ring of an integer dtype, also of ``ml_dtypes``."""
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return cls(int(info.min), int(info.max))
        import ml_dtypes

        narrow: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        return cls(int(narrow.min), int(narrow.max))

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def wrap(self, number: int) -> int:
        """Wrap an exact result to the range of the dtype."""
        return (number - self.low) % self.size + self.low


@dataclass(frozen=True)
class IntegerRecurrence:
    """A recurrence that reproduces the observed numbers; ``operand``: the step, the factor or the divisor.
    ``rounds_down``: a quotient is rounded down, else towards zero."""

    kind: RecurrenceKind
    operand: int
    rounds_down: bool = False

    def next_unwrapped(self, number: int) -> int:
        """The next number, before wrap-around."""
        if self.kind is RecurrenceKind.ADDED:
            return number + self.operand
        if self.kind is RecurrenceKind.MULTIPLIED:
            return number * self.operand
        return number // self.operand if self.rounds_down or number >= 0 else -(-number // self.operand)

    @property
    def is_constant(self) -> bool:
        return self.kind is RecurrenceKind.ADDED and not self.operand


@dataclass(frozen=True)
class TurningPoint:
    """``iterations`` until the comparison turns; None: it does not, or (where not ``certain``) not within
    :data:`MAX_SIMULATED_ITERATIONS`. ``wraps``: a side wraps around before."""

    iterations: int | None
    wraps: bool = False
    certain: bool = True


def find_recurrences(numbers: Sequence[int], ring: IntegerRing) -> list[IntegerRecurrence]:
    """Return the simple recurrences that reproduce at least three numbers; an additive one excludes all others."""
    pairs = list(pairwise(numbers))
    # The step with the smaller magnitude of the two that wrap to the same number.
    step = (pairs[0][1] - pairs[0][0] + ring.size // 2) % ring.size - ring.size // 2
    recurrences = [IntegerRecurrence(RecurrenceKind.ADDED, step)]
    if not _reproduces(recurrences[0], pairs, ring):
        recurrences = [recurrence for recurrence in _scaling_candidates(pairs) if _reproduces(recurrence, pairs, ring)]
    return list(dict.fromkeys(recurrences))


def _reproduces(recurrence: IntegerRecurrence, pairs: Sequence[tuple[int, int]], ring: IntegerRing) -> bool:
    return all(ring.wrap(recurrence.next_unwrapped(a)) == b for a, b in pairs)


def _scaling_candidates(pairs: Sequence[tuple[int, int]]) -> Iterator[IntegerRecurrence]:
    first, second = pairs[0]
    if first and second % first == 0 and abs(second // first) > 1:
        yield IntegerRecurrence(RecurrenceKind.MULTIPLIED, second // first)
    # A number that has wrapped around is no multiple of its predecessor.
    for factor in range(2, _MAX_TRIED_FACTOR + 1):
        yield IntegerRecurrence(RecurrenceKind.MULTIPLIED, factor)
        yield IntegerRecurrence(RecurrenceKind.MULTIPLIED, -factor)
    # Divisors that give these quotients.
    low = max(abs(a) // (abs(b) + 1) + 1 for a, b in pairs)
    high = min((abs(a) // abs(b) for a, b in pairs if b), default=low)
    for divisor in (low, high):
        if low <= divisor <= high and divisor > 1:
            yield IntegerRecurrence(RecurrenceKind.DIVIDED, divisor)
    yield IntegerRecurrence(RecurrenceKind.DIVIDED, 2, rounds_down=True)


def find_turning_point(
    left: tuple[int, IntegerRecurrence], right: tuple[int, IntegerRecurrence], sign: str, ring: IntegerRing
) -> TurningPoint:
    """Return when ``left sign right``, which holds, turns; each side with its recurrence."""
    moving, fixed, relation = (left, right, sign) if right[1].is_constant else (right, left, MIRRORED_SIGN[sign])
    if fixed[1].is_constant and moving[1].kind is RecurrenceKind.ADDED:
        steps = _steps_to_false_range(moving[0], moving[1].operand, fixed[0], relation, ring)
        end = moving[0] + moving[1].operand * (steps or 0)
        return TurningPoint(steps, steps is not None and not ring.low <= end <= ring.high)
    a, b = left[0], right[0]
    wraps, visited = False, {(a, b)}
    for count in range(1, MAX_SIMULATED_ITERATIONS + 1):
        exact = left[1].next_unwrapped(a), right[1].next_unwrapped(b)
        a, b = map(ring.wrap, exact)
        wraps = wraps or (a, b) != exact
        if not COMPARISON_OPERATORS[sign](a, b):
            return TurningPoint(count, wraps)
        if (a, b) in visited:
            return TurningPoint(None, wraps)
        visited.add((a, b))
    return TurningPoint(None, wraps, certain=False)


def holds_for_all_numbers(fixed: int, sign: str, ring: IntegerRing) -> bool:
    """Whether ``number sign fixed`` is true for all numbers of the type, as ``>= 0`` for unsigned ones."""
    low, high = _false_range(fixed, sign, ring)
    return low > high


def _false_range(fixed: int, sign: str, ring: IntegerRing) -> tuple[int, int]:
    """The range in which ``number sign fixed`` is false."""
    return {
        ">": (ring.low, fixed),
        ">=": (ring.low, fixed - 1),
        "<": (fixed, ring.high),
        "<=": (fixed + 1, ring.high),
        "!=": (fixed, fixed),
    }[sign]


def _steps_to_false_range(number: int, step: int, fixed: int, sign: str, ring: IntegerRing) -> int | None:
    """The number of steps until ``number sign fixed`` is false; None: never."""
    low, high = _false_range(fixed, sign, ring)
    if low > high:
        return None
    start = (low - number - step) % ring.size
    stop = start + high - low
    if stop >= ring.size:
        return 1
    steps = _first_multiple_in_range(step % ring.size, ring.size, start, stop)
    return None if steps is None else steps + 1


def _first_multiple_in_range(factor: int, modulus: int, low: int, high: int) -> int | None:
    """The smallest k >= 0 with ``low <= factor * k % modulus <= high``; None: no such k. Uses Euclid's algorithm."""
    if not low:
        return 0
    if 2 * factor > modulus:
        factor, low, high = modulus - factor, modulus - high, modulus - low
    if not factor:
        return None
    count = -(-low // factor)
    if count * factor <= high:
        return count
    rounds = _first_multiple_in_range(-modulus % factor, factor, low % factor, high % factor)
    return None if rounds is None else -(-(low + modulus * rounds) // factor)
