"""Estimates in the arithmetic of the compared type, checked against iterations computed with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ml_dtypes import bfloat16

from hypothesis_settings import example_settings
from loopdbg.debugger.describe.integer_turning_points import COMPARISON_OPERATORS
from loopdbg.debugger.termination.trend import Trend, estimate_turning

Step = Callable[[Any], Any]
#: Number of iterations that the estimate is based on, and the maximum that are then run.
SEEN, MOST = 4, 70_000


def compute_comparison(dtype: Any, start: Any, step: Step, bound: Any, sign: str) -> tuple[list[Any], int | None]:
    """The compared values of the first iterations, and after how many more the comparison changes; None: never."""
    values, number = [], dtype(start)
    with np.errstate(all="ignore"):
        for k in range(MOST):
            number = dtype(step(number))
            if not COMPARISON_OPERATORS[sign](number, dtype(bound)):
                return values, k - SEEN + 1
            if k < SEEN:
                values.append(number.item())
    return values, None


@example_settings(300)
@given(st.data())
def test_integers_with_constant_steps_or_factors(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.int8, np.uint8, np.int16]))
    info = np.iinfo(dtype)
    number = st.integers(int(info.min), int(info.max))
    start, bound, by = data.draw(number), data.draw(number), data.draw(st.integers(-9, 9) | number)
    op = data.draw(st.sampled_from([np.add, np.multiply]))
    sign = data.draw(st.sampled_from([">", ">=", "<", "<=", "!="]))
    factor = np.array(by).astype(dtype)[()]
    values, more = compute_comparison(dtype, start, lambda x: op(x, factor), bound, sign)
    assume(len(values) == SEEN and len(set(values)) > 1)
    result = estimate_turning(values, [bound] * SEEN, sign, dtype=np.dtype(dtype))
    assert result is not None
    if result.iterations is not None:
        assert result.iterations == more
    else:
        assert more is None or not any(claim in result.text for claim in ("never", "does not end", "steps over"))


@example_settings(200)
@given(st.integers(0, 2**62), st.integers(2, 40), st.sampled_from([">", "!=", ">="]), st.integers(0, 3))
def test_integer_divisions(start: int, divisor: int, sign: str, bound: int) -> None:
    values, more = compute_comparison(np.int64, start, lambda x: x // divisor, bound, sign)
    assume(len(values) == SEEN and len(set(values)) > 1)
    result = estimate_turning(values, [bound] * SEEN, sign, dtype=np.dtype(np.int64))
    assert result is not None
    # Several divisors fit the observed values: then no end is estimated.
    assert result.iterations == more or result.trend is Trend.IRREGULAR


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("factor", [0.5, 0.25, 0.1])
def test_vanishing_floats_end_by_estimated_bound(dtype: type, factor: float) -> None:
    values, more = compute_comparison(dtype, 1, lambda x: x * dtype(factor), 0, ">")
    result = estimate_turning(values, [0] * SEEN, ">", dtype=np.dtype(dtype))
    assert result is not None and result.at_most and more is not None and result.iterations is not None
    assert more <= result.iterations <= more + 1


@pytest.mark.parametrize(
    ("step", "bound", "sign"),
    [
        # It stays at the smallest number, or where a step is too small to change it.
        (lambda x: x * np.float32(0.9), 0, ">"),
        (lambda x: x * np.float32(0.9), 1e-45, ">"),
        (lambda x: x + np.float32(1), 2e7, "<"),
        (lambda x: x + np.float32(0.1), 1, "!="),
    ],
)
def test_no_estimate_if_rounding_decides(step: Step, bound: float, sign: str) -> None:
    values, more = compute_comparison(np.float32, 0 if sign in ("<", "!=") else 1, step, bound, sign)
    result = estimate_turning(values, [bound] * SEEN, sign, dtype=np.dtype(np.float32))
    assert more is None and result is not None and result.iterations is None
    assert "does not end it" not in result.text


_FLOATS = [np.float16, bfloat16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", _FLOATS)
def test_whole_numbers_of_a_float_type_are_counted_exactly(dtype: Any) -> None:
    values, more = compute_comparison(dtype, 0, lambda x: x + dtype(1), 100, "<")
    result = estimate_turning(values, [100] * SEEN, "<", dtype=np.dtype(dtype))
    assert result is not None and result.iterations == more == 96


@pytest.mark.parametrize(("dtype", "limit"), zip(_FLOATS, ("2048", "256", "1.68e+07", "9.01e+15"), strict=True))
def test_step_that_rounding_absorbs_never_ends(dtype: Any, limit: str) -> None:
    bound = 60000 if dtype is np.float16 else 1e30
    values, _ = compute_comparison(dtype, 0, lambda x: x + dtype(1), bound, "<")
    result = estimate_turning(values, [bound] * SEEN, "<", ("n", "limit"), np.dtype(dtype))
    absorbed = f"which rounding to {np.dtype(dtype).name} absorbs beyond about {limit}: like this it never ends"
    assert result is not None and result.text == f"n grows by 1 each, {absorbed}"


@example_settings(300)
@given(st.data())
def test_steps_of_narrow_floats(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.float16, bfloat16]))
    start, step, bound = (data.draw(st.integers(*ends)) / 4 for ends in ((-400, 400), (-40, 40), (-200_000, 200_000)))
    sign = data.draw(st.sampled_from([">", ">=", "<", "<="]))
    bound = float(dtype(bound))
    values, more = compute_comparison(dtype, start, lambda x: x + dtype(step), bound, sign)
    assume(len(values) == SEEN and len(set(values)) > 1)
    result = estimate_turning(values, [bound] * SEEN, sign, dtype=np.dtype(dtype))
    assert result is not None
    if "never ends" in result.text:
        assert more is None
    elif result.iterations is not None and result.trend is Trend.LINEAR:
        # Each step that was seen may be off by half the distance of two numbers, which shrinks on the way to zero.
        off = float(ml_dtypes.finfo(dtype).eps) * max(map(abs, values)) / 2 / abs(result.rate)
        assume(off < 0.5)
        assert more is not None and abs(more - result.iterations) <= 1 + result.iterations * max(1 / 8, off / (1 - off))


def test_step_that_is_rounded_is_estimated_as_it_was_seen() -> None:
    """From 67.5 on bfloat16 has halves: -0.75 is seen as -1 until the numbers are closer."""
    values, more = compute_comparison(bfloat16, 67.5, lambda x: x + bfloat16(-0.75), 0, ">")
    result = estimate_turning(values, [0] * SEEN, ">", dtype=np.dtype(bfloat16))
    assert result is not None and (result.iterations, more) == (64, 86) and "about 64" in result.text


@pytest.mark.parametrize("values", [[30, 20, 10], [65535, 65529, 65487, 65193], [9, 4, 7, 1]])
def test_unsigned_number_is_never_below_zero(values: list[int]) -> None:
    result = estimate_turning(values, [0] * len(values), ">=", dtype=np.dtype(np.uint16))
    assert result is not None and result.iterations is None and "never ends" in result.text


def test_wrapped_product_is_extrapolated() -> None:
    # 65535 * 7 and so on, in 16 bits.
    values, more = compute_comparison(np.uint16, 65535, lambda x: x * np.uint16(7), 40000, ">")
    result = estimate_turning(values, [40000] * SEEN, ">", dtype=np.dtype(np.uint16))
    assert result is not None and result.iterations == more


def test_wrapping_estimate_is_labelled() -> None:
    result = estimate_turning([100, 110, 120], [0, 0, 0], ">", ("n", "limit"), np.dtype(np.int8))
    assert result is not None and result.trend is Trend.WRAPS and result.iterations == 1
    assert "n grows by 10 each, and wraps around at the end of int8" in result.text
