"""Elements: edge cases of each dtype, and simplification that ends."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopdbg.debugger.input_space.element_candidates import (
    edge_values,
    element_cost,
    element_kind,
    integer_range,
    simpler_values,
    to_array,
    to_python_scalar,
)

FLOATS = ("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64", "uint64", "int4", "uint4")


def dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize("name", FLOATS)
def test_edges_of_floats_survive_their_dtype(name: str) -> None:
    values = to_array(edge_values(dtype(name)), dtype(name), (len(edge_values(dtype(name))),)).astype(np.float64)
    info = ml_dtypes.finfo(dtype(name))
    assert np.isnan(values).any()
    assert float(info.max) in values and float(info.smallest_subnormal) in values
    assert any(value == 0 and math.copysign(1, value) < 0 for value in values)


@pytest.mark.parametrize("name", INTEGERS)
def test_edges_of_integers(name: str) -> None:
    low, high = integer_range(dtype(name))
    assert {0, 1, low, high} <= set(edge_values(dtype(name)))
    assert to_array([low, high], dtype(name), (2,)).astype(object).tolist() == [low, high]
    assert to_array([low - 1, high + 1], dtype(name), (2,)).astype(object).tolist() == [low, high]


@given(st.floats() | st.sampled_from(edge_values(np.dtype(np.float64))))
def test_floats_become_simpler_until_zero(value: float) -> None:
    check_descent(value, "f")


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_become_simpler_until_zero(value: int) -> None:
    check_descent(value, "i")


@given(st.text())
def test_texts_become_simpler_until_empty(value: str) -> None:
    check_descent(value, "s")


def check_descent(value: Any, kind: str) -> None:
    """Down by the last candidate, which is the smallest step, and by the first one where numbers are large."""
    for _ in range(2000):
        candidates = list(simpler_values(value, kind))
        if not candidates:
            assert value in (0, "") and (kind != "f" or math.copysign(1, value) > 0)
            return
        assert all(element_cost(candidate, kind) < element_cost(value, kind) for candidate in candidates)
        value = candidates[0 if kind in "if" and 1000 < abs(value) < 1 << 63 else -1]
    raise AssertionError(value)


def test_a_float_is_its_shortest_number() -> None:
    assert to_python_scalar(np.float32(0.1), element_kind(np.dtype(np.float32))) == 0.1
