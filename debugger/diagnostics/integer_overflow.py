"""Integer overflow: results of nodes against exact arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...runtime.graph import Array, Node, Operation

_Interval = tuple[int, int]
#: The largest integers stand for "to the end" and "no limit", which a Cast to a smaller type may change.
_SENTINELS = frozenset({2**63 - 1, -(2**63), 2**31 - 1, -(2**31)})
#: The largest exponent for which a power is computed exactly.
_MAX_EXPONENT = 4096


class Overflow(NamedTuple):
    """One element of a result: its operands, the exact number (or Inf), and the stored one."""

    operands: tuple[Any, ...]
    exact: Any
    stored: int


def find_overflow(node: Node, inputs: Sequence[Any], outputs: Sequence[Any]) -> Overflow | None:
    """The first element of an integer result that does not fit in its type; None if all do, or for other operators.

    Args:
        node: the node.
        inputs, outputs: its operands and results in one execution; None where there is none.
    """
    result = outputs[0] if outputs else None
    if not isinstance(node, Operation) or not isinstance(result, np.ndarray) or result.dtype.kind not in "iu":
        return None
    operands = [np.asarray(x) for x in inputs if isinstance(x, np.ndarray | np.generic)]
    if not result.size or not operands or not operands[0].size:
        return None
    if node.op_type in ("Cast", "Convert"):
        return _number_lost_by_cast(operands[0], result)
    check = _CHECKS.get(node.op_type)
    if check is None or any(x.dtype.kind not in "iu" for x in operands):
        return None
    return check(node, operands, result)


def _dtype_interval(dtype: np.dtype[Any]) -> _Interval:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _value_interval(x: Array) -> _Interval:
    return int(x.min()), int(x.max())


def _number_lost_by_cast(source: Array, result: Array) -> Overflow | None:
    """A number that the integer type of a Cast cannot hold; NaN is none."""
    low, high = _dtype_interval(result.dtype)
    if source.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = np.trunc(source)
            bad = (whole < float(low)) | (whole >= float(high) + 1)
    elif source.dtype.kind in "iu":
        bottom, top = _value_interval(source)
        if bottom >= low and top <= high:
            return None
        exact = source.astype(object)
        bad = (exact < low) | (exact > high)
        bad &= ~np.isin(source, [number for number in _SENTINELS if bottom <= number <= top])
    else:
        return None
    positions = np.flatnonzero(bad)
    return (
        None if not positions.size else Overflow((), source.flat[positions[0]].item(), int(result.flat[positions[0]]))
    )


def _first_overflowing_element(
    operands: Sequence[Array], exact: Any, result: Array, wraps: bool = True
) -> Overflow | None:
    """The first element of an exact result that its type cannot hold; elementwise operands are listed. ``wraps``: the
    stored number is the exact one, wrapped around; another one is the result of other operands."""
    low, high = _dtype_interval(result.dtype)
    exact = np.broadcast_to(np.asarray(exact, object), result.shape)
    positions = np.flatnonzero((exact < low) | (exact > high))
    if not positions.size:
        return None
    first, stored = exact.flat[positions[0]], int(result.flat[positions[0]])
    if wraps and (first - low) % (high - low + 1) + low != stored:
        return None
    try:
        numbers = tuple(int(np.broadcast_to(x, result.shape).flat[positions[0]]) for x in operands)
    except ValueError:
        numbers = ()
    return Overflow(numbers, first, stored)


def _sum_interval(a: _Interval, b: _Interval) -> _Interval:
    return a[0] + b[0], a[1] + b[1]


def _difference_interval(a: _Interval, b: _Interval) -> _Interval:
    return a[0] - b[1], a[1] - b[0]


def _product_interval(a: _Interval, b: _Interval) -> _Interval:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _elementwise_check(
    function: Callable[..., Any], interval: Callable[..., _Interval]
) -> Callable[[Operation, Sequence[Array], Array], Overflow | None]:
    def check(_: Operation, operands: Sequence[Array], result: Array) -> Overflow | None:
        low, high = _dtype_interval(result.dtype)
        total = _value_interval(operands[0])
        for x in operands[1:]:
            if not x.size:
                return None
            total = interval(total, _value_interval(x))
        bottom, top = total if len(operands) > 1 else interval(total)
        if low <= bottom and top <= high:
            return None
        exact = operands[0].astype(object)
        for x in operands[1:]:
            exact = function(exact, x.astype(object))
        return _first_overflowing_element(operands, exact if len(operands) > 1 else function(exact), result)

    return check


def _check_power(_: Operation, operands: Sequence[Array], result: Array) -> Overflow | None:
    base, exponent = operands
    bottom, top = _value_interval(exponent)
    if bottom < 0 or top > _MAX_EXPONENT:
        return None
    return _first_overflowing_element(operands, base.astype(object) ** exponent.astype(object), result, wraps=False)


def _check_sum(_: Operation, operands: Sequence[Array], result: Array) -> Overflow | None:
    """A reduction: the sum of all elements is that of all results unless one of them wrapped around."""
    low, high = _dtype_interval(result.dtype)
    bottom, top = _value_interval(operands[0])
    count = operands[0].size // result.size
    if low <= min(bottom * count, bottom) and max(top * count, top) <= high:
        return None
    exact, stored = (int(x.astype(object).sum()) for x in (operands[0], result))
    return None if exact == stored else Overflow((), exact, stored)


def _check_cumulative_sum(node: Operation, operands: Sequence[Array], result: Array) -> Overflow | None:
    x, axis = operands[0].astype(object), int(operands[1].reshape(-1)[0]) if len(operands) > 1 else 0
    reverse, exclusive = (
        str(node.attributes.get(name, 0)).lower() in ("1", "true") for name in ("reverse", "exclusive")
    )
    x = np.flip(x, axis) if reverse else x
    exact = np.cumsum(x, axis) - (x if exclusive else 0)
    return _first_overflowing_element((), np.flip(exact, axis) if reverse else exact, result)


def _check_product(_: Operation, operands: Sequence[Array], result: Array) -> Overflow | None:
    a, b = operands[:2]
    if not a.size or not b.size or a.ndim < 1 or b.ndim < 1:
        return None
    largest = [max(map(abs, _value_interval(x))) for x in (a, b)]
    if largest[0] * largest[1] * a.shape[-1] <= _dtype_interval(result.dtype)[1]:
        return None
    exact = np.asarray(np.matmul(a.astype(object), b.astype(object)), object)
    return _first_overflowing_element((), exact, result) if exact.shape == result.shape else None


def _check_division(_: Operation, operands: Sequence[Array], result: Array) -> Overflow | None:
    """The smallest number divided by -1."""
    low = _dtype_interval(result.dtype)[0]
    if not low or _value_interval(operands[0])[0] != low or not (operands[1] == -1).any():
        return None
    a, b = (np.broadcast_to(x, result.shape).astype(object) for x in operands)
    return _first_overflowing_element(operands, np.where((a == low) & (b == -1), -a, 0), result)


_add = _elementwise_check(operator.add, _sum_interval)
_subtract = _elementwise_check(operator.sub, _difference_interval)
_multiply = _elementwise_check(operator.mul, _product_interval)
_negate = _elementwise_check(operator.neg, lambda a: (-a[1], -a[0]))
_absolute = _elementwise_check(np.absolute, lambda a: (0, max(map(abs, a))))
_CHECKS: Mapping[str, Callable[[Operation, Sequence[Array], Array], Overflow | None]] = {
    **dict.fromkeys(("Add", "Sum"), _add),
    **dict.fromkeys(("Sub", "Subtract"), _subtract),
    **dict.fromkeys(("Mul", "Multiply"), _multiply),
    **dict.fromkeys(("Neg", "Negative"), _negate),
    **dict.fromkeys(("Pow", "Power"), _check_power),
    **dict.fromkeys(("Div", "Divide"), _check_division),
    "Abs": _absolute,
    "ReduceSum": _check_sum,
    "CumSum": _check_cumulative_sum,
    "MatMul": _check_product,
}
