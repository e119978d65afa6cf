"""Integers above 2^53 were subtracted as float64: the screen stated that an element changed by 2 where 1 was added."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.statistics.histogram import Histogram
from loopdbg.debugger.statistics.tensor_slice import TensorSlice
from loopdbg.debugger.statistics.tensor_statistics import (
    TensorChange,
    TensorRef,
    TensorStatistics,
    absolute_differences,
)
from loopdbg.debugger.statistics.value_history import Series, ValueHistory
from loopdbg.tui.render.formatting import delta_text
from loopdbg.tui.render.history_plots import draw_history, is_flat
from loopdbg.tui.render.inspector_text import TensorViewport, render_page

LARGE = 2**53 + 1
ENDS = [(np.int64, -(2**63), 2**63 - 1), (np.uint64, 0, 2**64 - 1), (np.int8, -128, 127), (np.uint8, 0, 255)]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("size", [1, 3, 3000])
def test_changes_are_exact(dtype: type, size: int) -> None:
    before = np.full(size, LARGE, dtype)
    after = before + dtype(1)
    after[size // 2] += dtype(2)
    result = TensorChange()
    result.add(before, after)
    assert (result.largest, result.flat_index, result.same) == (3, size // 2, 0)
    assert delta_text(before, after) == ("+3" if size == 1 else "±3")
    apart, same = absolute_differences(before, after)
    assert apart.tolist() == [3 if k == size // 2 else 1 for k in range(size)] and not same.any()


@pytest.mark.parametrize(("dtype", "low", "high"), ENDS)
def test_the_ends_of_a_type_are_as_far_apart_as_they_are(dtype: type, low: int, high: int) -> None:
    before, after = np.array([low, 1], dtype), np.array([high, 1], dtype)
    result = TensorChange()
    result.add(before, after)
    assert result.largest == high - low
    apart, _ = absolute_differences(before, after)
    assert apart.tolist() == [high - low, 0]
    assert delta_text(before[:1], after[:1]) == f"+{high - low}"


def test_a_signed_and_an_unsigned_side_have_an_exact_difference() -> None:
    apart, same = absolute_differences(np.array([-1, 5], np.int64), np.array([2**64 - 1, 5], np.uint64))
    assert apart.tolist() == [2**64, 0] and same.tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_the_spread_is_that_of_the_exact_numbers(dtype: type) -> None:
    numbers = [LARGE + k % 3 for k in range(2500)]
    result = TensorStatistics(np.array(numbers, dtype))
    assert result.std == pytest.approx(statistics.pstdev(numbers), rel=1e-9)
    bars = Histogram(result, 3)
    bars.add(np.array(numbers, dtype))
    assert bars.counts.tolist() == [numbers.count(LARGE + k) for k in range(3)]


def test_a_table_of_differences_is_exact() -> None:
    before = np.array([LARGE, 2**63 - 1, -(2**63)], np.int64)
    after = np.array([LARGE + 1, -(2**63), 2**63 - 1], np.int64)
    tensor = TensorRef.from_array(after)
    shown = render_page(
        tensor, TensorViewport(TensorSlice.full(tensor.shape), baseline=TensorRef.from_array(before)), 120, 5
    )
    text = "".join(part for part, _ in shown.lines[1].spans)
    assert text.split()[1:] == ["[+1]", f"-{2**64 - 1}", f"+{2**64 - 1}"]


def _history(values: list[Any], tensor: bool = False) -> ValueHistory:
    numbers = np.array(values, np.float64)
    series = Series(numbers, numbers, numbers, numbers, np.zeros(len(values)))
    return ValueHistory("x", np.arange(len(values)), 1, series, *([series] * 3 if tensor else []))


def test_a_history_that_float64_rounds_is_not_called_flat() -> None:
    rounded = _history([LARGE - 1, LARGE])
    assert not is_flat(rounded, "int64") and "flat" not in draw_history(rounded, 20, "int64")
    assert "flat" in draw_history(_history([5, 5]), 20, "int64")


def test_what_grows_each_time_is_not_called_flat() -> None:
    # By less than sixteen units of a float16 in all.
    assert "flat" not in draw_history(_history([57.375, 57.46875, 57.5625]), 20, "float16")
    assert "flat" not in draw_history(_history([84.5, 83.4], tensor=True), 20, "float16")
    assert "flat" in draw_history(_history([57.375, 57.46875, 57.375]), 20, "float16")


def test_of_a_tensor_the_norm_is_what_is_flat() -> None:
    # [3, 4] and [4, 3] have one norm.
    assert draw_history(_history([5, 5], tensor=True), 20, "float32") == "─norm flat─"
    assert "flat" not in draw_history(_history([5, 5], tensor=True), 8, "float32")
