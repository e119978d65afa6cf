"""The forms that invariants have: a test of one value at a boundary, and the assertion that says the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...runtime.graph import Array

#: How far a sum or a norm may be from 1.
_UNIT_TOLERANCE = 1e-3


class ObservedValue(NamedTuple):
    """A value at a boundary: now, at the boundary before and at the first one (None: there is none)."""

    now: Array
    before: Array | None
    first: Array
    iteration: int


@dataclass(frozen=True)
class Template:
    """A form. ``test``: whether it holds; None where the value gives no evidence. ``text``: the assertion, of
    ``{x}``. Of each ``group`` the first form that holds is kept: it says most."""

    group: str
    kind: str
    text: str
    test: Callable[[ObservedValue], bool | None]


def _element_check(test: Callable[[Array], Any]) -> Callable[[ObservedValue], bool | None]:
    """A test of all elements; an empty tensor is no evidence."""

    def check(seen: ObservedValue) -> bool | None:
        return bool(np.all(test(seen.now))) if seen.now.size else None

    return check


def _step_check(test: Callable[[Array, Array], Any]) -> Callable[[ObservedValue], bool | None]:
    """A test of the elements and what they were."""

    def check(seen: ObservedValue) -> bool | None:
        if seen.before is None:
            return None
        if seen.before.shape != seen.now.shape:
            return False
        return bool(np.all(test(seen.now, seen.before))) if seen.now.size else None

    return check


def _is_constant(seen: ObservedValue) -> bool | None:
    return None if seen.before is None else np.array_equal(seen.now, seen.first)


def _is_finite(seen: ObservedValue) -> bool | None:
    return bool(np.isfinite(seen.now).all()) if seen.now.dtype.kind == "f" and seen.now.size else None


def _unit_check(measure: Callable[[Array], float]) -> Callable[[ObservedValue], bool | None]:
    def check(seen: ObservedValue) -> bool | None:
        if seen.now.dtype.kind != "f" or seen.now.size < 2:
            return False
        # One element that is 1 and others that are 0 are no evidence.
        is_one = abs(measure(seen.now) - 1) < _UNIT_TOLERANCE
        return None if is_one and np.count_nonzero(seen.now) < 2 else bool(is_one)

    return check


def _order_check(test: Callable[[Array, Array], Any]) -> Callable[[ObservedValue], bool | None]:
    def check(seen: ObservedValue) -> bool | None:
        x = seen.now
        if x.ndim != 1 or x.size < 2:
            return False
        if not test(x[1:], x[:-1]).all():
            return False
        return True if (x[1:] != x[:-1]).any() else None

    return check


def _sum(x: Array) -> float:
    return float(x.sum(dtype=np.float64))


def _norm(x: Array) -> float:
    return float(np.sqrt(np.square(x, dtype=np.float64).sum()))


TEMPLATES = (
    Template("sign", "sign", "all({x} > 0)", _element_check(lambda x: x > 0)),
    Template("sign", "sign", "all({x} < 0)", _element_check(lambda x: x < 0)),
    Template("sign", "sign", "all({x} >= 0)", _element_check(lambda x: x >= 0)),
    Template("sign", "sign", "all({x} <= 0)", _element_check(lambda x: x <= 0)),
    Template("finite", "finite", "all(abs({x}) < inf)", _is_finite),
    Template("unit", "sum = 1", "abs(sum({x}) - 1) < 0.001", _unit_check(_sum)),
    Template("unit", "norm = 1", "abs(norm({x}) - 1) < 0.001", _unit_check(_norm)),
    Template("course", "constant", "all({x} == init({x}))", _is_constant),
    Template("course", "monotone", "all({x} >= prev({x}))", _step_check(np.greater_equal)),
    Template("course", "monotone", "all({x} <= prev({x}))", _step_check(np.less_equal)),
    Template("order", "sorted", "all({x}[1:] >= {x}[:-1])", _order_check(np.greater_equal)),
    Template("order", "sorted", "all({x}[1:] <= {x}[:-1])", _order_check(np.less_equal)),
)
