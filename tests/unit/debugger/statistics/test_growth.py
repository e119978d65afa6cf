"""The common part of two tensors of which one is longer along an axis."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.debugger.statistics.axis_growth import AxisGrowth
from loopdbg.debugger.statistics.tensor_statistics import TensorRef, compute_change


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ((1, 4, 6, 8), (1, 4, 7, 8), "1 new row on axis 2"),
        ((1, 4, 0, 8), (1, 4, 2, 8), "2 new rows on axis 2"),
        ((5, 2), (3, 2), "2 rows fewer on axis 0"),
        ((3,), (4,), "1 new element"),
        ((2, 3), (2, 3), None),
        ((2, 3), (3, 4), None),
        ((3,), (1, 3), None),
        ((), (1,), None),
    ],
)
def test_grown_shapes(before: tuple[int, ...], after: tuple[int, ...], message: str | None) -> None:
    result = AxisGrowth.from_shapes(before, after)
    assert (None if result is None else result.label) == message


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shrinks", [False, True])
def test_common_part_is_compared_in_place(axis: int, shrinks: bool) -> None:
    rng = np.random.default_rng(axis)
    long = rng.standard_normal((4, 5, 6))
    short = np.ascontiguousarray(long.take(range(3), axis))
    place = [1, 2, 3]
    place[axis] = 2
    short[tuple(place)] += 100
    before, after = (long, short) if shrinks else (short, long)
    growth = AxisGrowth.from_shapes(before.shape, after.shape)
    assert growth is not None and (growth.common_rows, growth.added_rows > 0) == (3, not shrinks)
    shared = [growth.rows_in_both(TensorRef.from_array(item)) for item in (before, after)]
    assert [entry.shape for entry in shared] == [short.shape] * 2
    result = compute_change(*shared)
    assert (result.size, result.size - result.same) == (short.size, 1)
    assert np.unravel_index(growth.flat_position(result.flat_index, after.shape), after.shape) == tuple(place)
