"""Streaming statistics and differences, compared with NumPy on the whole tensor."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hypothesis_settings import example_settings
from loopdbg.debugger.statistics.histogram import Histogram
from loopdbg.debugger.statistics.tensor_statistics import (
    CHUNK_ELEMENTS,
    PASS_PART_ELEMENTS,
    TensorRef,
    TensorStatistics,
    as_tensor_ref,
    compute_change,
    compute_change_by_parts,
)

FLOATS = (np.float16, np.float32, np.float64)


def parts(array: np.ndarray[Any, Any], size: int) -> TensorStatistics:
    """The statistics, accumulated from chunks of this many elements."""
    result = TensorStatistics()
    for _, part in TensorRef.from_array(array).chunks(size=size):
        result.add(part)
    return result


@example_settings(150)
@given(st.data(), st.sampled_from(FLOATS), st.integers(1, 40))
def test_float_statistics(data: st.DataObject, dtype: type, size: int) -> None:
    array = data.draw(hnp.arrays(dtype, hnp.array_shapes(max_dims=3, max_side=12)))
    result = parts(array, size)
    width = array.astype(np.float64).reshape(-1)
    good = width[np.isfinite(width)]
    assert result.size == array.size
    assert result.nan == np.isnan(width).sum()
    assert result.inf == np.isinf(width).sum()
    assert result.zeros == (width == 0).sum()
    if not good.size:
        assert (result.min, result.max, result.mean, result.std, result.norm) == (None,) * 5
        return
    assert result.min == good.min() and result.max == good.max()
    assert width[result.min_at] == good.min() and width[result.max_at] == good.max()
    # Halved, so that sums of the largest numbers do not overflow in the expected result.
    most = float(np.abs(good).max()) or 1.0
    scaled = good / most
    if most < 1e-300:
        return  # multiples of the smallest number have no fractions
    assert result.mean is not None and result.std is not None and result.norm is not None
    assert result.mean / most == pytest.approx(scaled.mean(), abs=1e-9)
    assert result.std / most == pytest.approx(scaled.std(), abs=1e-7)
    norm = float(np.sqrt((scaled * scaled).sum()))
    assert result.norm / most == pytest.approx(norm, rel=1e-9) or norm * most == math.inf


@example_settings(60)
@given(st.data(), st.sampled_from((np.int8, np.int64, np.uint64, np.bool_)), st.integers(1, 20))
def test_integers_are_exact(data: st.DataObject, dtype: type, size: int) -> None:
    array = data.draw(hnp.arrays(dtype, st.integers(1, 60)))
    result = parts(array, size)
    assert result.min == int(array.min()) and result.max == int(array.max())
    assert isinstance(result.min, int) and not isinstance(result.min, bool)
    assert result.min_at == int(np.argmin(array)) and result.max_at == int(np.argmax(array))
    most = max(float(np.abs(array.astype(np.float64)).max()), 1.0)
    assert result.mean is not None and result.mean / most == pytest.approx(float(array.mean()) / most, abs=1e-9)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.complex64])
def test_other_numeric_types(dtype: type) -> None:
    array = np.array([1, -2, 3, 0, 4], dtype)
    result = TensorStatistics(array)
    assert result.max == 4 and result.zeros == 1 and result.nan == 0
    assert result.min == (0 if dtype is np.complex64 else -2)
    assert result.norm == pytest.approx(math.sqrt(30))


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324, 1.7e308])
def test_extreme_numbers_keep_mean_and_norm(scale: float) -> None:
    array = np.full(1000, scale)
    result = parts(array, 100)
    assert result.mean == pytest.approx(scale) and result.std == pytest.approx(0, abs=scale * 1e-9)
    assert result.norm == pytest.approx(scale * math.sqrt(1000)) or math.isinf(scale * math.sqrt(1000))
    mixed = parts(np.concatenate([np.zeros(100), array, np.ones(100)]), 100)
    assert (
        mixed.norm == pytest.approx(max(scale, 1.0) * math.sqrt(1000 if scale > 1 else 100), rel=1e-6) or scale > 1e307
    )


def test_leading_zeros_do_not_hide_the_deviation_of_tiny_numbers() -> None:
    result = parts(np.array([0.0, 0.0, 4e-184, 0.0, -4e-184, 0.0]), 2)
    assert result.std == pytest.approx(4e-184 / math.sqrt(3)) and result.norm == pytest.approx(4e-184 * math.sqrt(2))


def test_long_tensor_far_from_zero_keeps_its_deviation() -> None:
    array = (1e6 + np.tile([-1.0, 1.0], CHUNK_ELEMENTS)).astype(np.float64)
    assert TensorStatistics(array).std == pytest.approx(1.0, rel=1e-9)


def test_strings_have_no_statistics() -> None:
    assert TensorStatistics(np.array(["a"], object)).min is None
    assert TensorStatistics(np.empty(0, np.float32)).mean is None


@example_settings(150)
@given(st.data(), st.sampled_from((*FLOATS, np.int32, np.complex64, np.bool_)))
def test_difference_of_two_tensors(data: st.DataObject, dtype: type) -> None:
    shape = data.draw(st.integers(1, 30))
    before, after = (data.draw(hnp.arrays(dtype, shape)) for _ in range(2))
    if data.draw(st.booleans()):
        after[: shape // 2] = before[: shape // 2]
    result = compute_change(as_tensor_ref(before), as_tensor_ref(after))
    with np.errstate(all="ignore"):
        widened = np.complex128 if dtype is np.complex64 else np.float64
        x, y = before.astype(widened), after.astype(widened)
        same = (before == after) | (np.isnan(x) & np.isnan(y))
        apart = np.abs(y - x)
    assert result.same == same.sum()
    lost = np.isnan(apart) & ~same
    assert result.lost == lost.sum()
    left = apart[~same & ~lost]
    if not left.size:
        assert result.flat_index == -1
    else:
        assert result.largest == left.max() or result.largest == pytest.approx(left.max(), rel=1e-6)
        assert apart[result.flat_index] == pytest.approx(result.largest)


def test_difference_is_accumulated_chunk_by_chunk() -> None:
    before, after = np.zeros(2 * PASS_PART_ELEMENTS + 5, np.int8), np.zeros(2 * PASS_PART_ELEMENTS + 5, np.int8)
    after[PASS_PART_ELEMENTS + 3] = -7
    steps = [(c.size, c.largest) for c in compute_change_by_parts(as_tensor_ref(before), as_tensor_ref(after))]
    assert steps == [(PASS_PART_ELEMENTS, 0.0), (2 * PASS_PART_ELEMENTS, 7.0), (before.size, 7.0)]
    with pytest.raises(ValueError, match="differ"):
        compute_change(as_tensor_ref(np.zeros(2)), as_tensor_ref(np.zeros(3)))


@example_settings(100)
@given(hnp.arrays(np.float64, st.integers(1, 50)), st.integers(1, 12))
def test_histogram_counts_every_finite_element_once(array: np.ndarray[Any, Any], bins: int) -> None:
    result = Histogram(TensorStatistics(array), bins)
    for index in range(0, array.size, 7):
        result.add(array[index : index + 7])
    assert result.counts.sum() == np.isfinite(array).sum()


def test_histogram_equals_numpy() -> None:
    array = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    result = Histogram(TensorStatistics(array), 16)
    result.add(array)
    expected, _ = np.histogram(array.astype(np.float64), 16)
    assert np.abs(result.counts - expected).sum() <= 2
