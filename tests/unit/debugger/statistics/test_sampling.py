"""Sampling of large tensors for plots."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.debugger.statistics.sampling import (
    plot_line_indices,
    reduce_elements,
    reduce_scalars,
    sample_elements,
    sample_scalars,
    segment_extremes,
)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000, 1024, 1025, 1039, 5000, 10**6 + 1])
def test_single_elements_are_sampled_in_runs(count: int) -> None:
    result = sample_scalars(np.arange(count, dtype=np.float32), 1024)
    assert len(result.element_indices) <= 1024 and (np.diff(result.element_indices) > 0).all()
    assert (result.element_indices[0], result.element_indices[-1]) == (0, count - 1)
    assert result.rows[:, 0].tolist() == result.element_indices.tolist()
    assert result.is_exhaustive == (count <= 1024)
    if not result.is_exhaustive:
        # Alternating values are handled: both kinds are in each run.
        runs = result.element_indices.reshape(-1, 16)
        assert (np.diff(runs, axis=1) == 1).all()


@pytest.mark.parametrize("count", [1, 2, 7, 64, 65, 1000])
@pytest.mark.parametrize("lines", [1, 3, 64])
def test_each_plot_row_has_elements(count: int, lines: int) -> None:
    places = plot_line_indices(count, lines, 8)
    assert (np.diff(places) > 0).all() and places[0] >= 0 and places[-1] == count - 1
    step = -(-count // lines)
    assert set((places // step).tolist()) == set(range(-(-count // step)))
    assert np.bincount(places // step).max() <= 8


def test_elements_follow_the_growing_axis() -> None:
    elements = np.arange(24).reshape(2, 3, 4)
    assert sample_elements(elements, 12, [1], 99).rows.tolist() == [list(range(12, 24))]
    assert sample_elements(elements, 12, [0, 1], 99, axis=1).rows[1].tolist() == elements[1].T.reshape(-1).tolist()
    some = sample_elements(elements, 12, [0, 1], 3)
    assert some.rows.tolist() == [[0, 5, 11], [12, 17, 23]] and not some.is_exhaustive
    # It is a copy.
    elements[:] = 0
    assert some.rows[1, 2] == 23


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "int64", "bool", "complex64"])
@pytest.mark.parametrize(("count", "size", "numbers"), [(1, 1, 8), (5, 7, 7), (5, 7, 3), (300, 2000, 64), (3, 4, 9)])
def test_each_element_is_considered(dtype: str, count: int, size: int, numbers: int) -> None:
    rng = np.random.default_rng(count + size)
    elements = rng.integers(0 if dtype in ("uint8", "bool") else -100, 100, (count, size)).astype(dtype)
    result = reduce_elements(elements, size, numbers)
    assert result.is_exhaustive and result.rows.shape == (count, min(size, numbers))
    ends = [*result.part_starts[1:], size]
    for k, (a, b) in enumerate(zip(result.part_starts, ends, strict=True)):
        largest = np.abs(elements[:, a:b].astype(complex)).max(axis=1)
        assert np.allclose(np.abs(result.rows[:, k].astype(complex)), largest, rtol=1e-3)


def test_non_finite_values_precede_the_largest() -> None:
    rows = np.array([[1, np.nan, 9, 8, -np.inf, 7, -5, 3, 2]])
    assert np.array_equal(segment_extremes(rows, np.array([0, 3, 6])), [[np.nan, -np.inf, -5]], equal_nan=True)
    assert segment_extremes(np.array([[-128, 127]], np.int8), np.array([0])).tolist() == [[-128]]
    assert reduce_elements(np.arange(24).reshape(2, 3, 4), 12, 12, axis=1).rows[1].tolist() == [
        12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23,
    ]  # fmt: skip


def test_single_elements_include_the_ends_of_each_part() -> None:
    numbers = np.zeros(100_000, np.float32)
    numbers[777], numbers[50_001] = -3, np.nan
    result = reduce_scalars(numbers, 1024)
    assert result.is_exhaustive and len(result.rows) == 1024
    assert (np.nanmin(result.rows), np.nanmax(result.rows)) == (-3, 0)
    assert np.isnan(result.rows).any() and (np.diff(result.element_indices) >= 0).all()
    assert reduce_scalars(numbers[:9], 1024).rows.tolist() == sample_scalars(numbers[:9], 1024).rows.tolist()
