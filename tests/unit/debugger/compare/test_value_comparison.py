"""Comparing two values, and how a difference grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.compare.report.difference_growth import MAX_POINTS, DifferenceGrowth
from loopdbg.debugger.compare.report.findings import Difference
from loopdbg.debugger.compare.report.text_report import delta_text
from loopdbg.debugger.compare.running.value_comparison import Tolerance, compare
from loopdbg.debugger.value_text import number_text

from .newton_models import F32

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (F32([1, NAN, INF, -INF]), F32([1, NAN, INF, -INF])),
        (F32(1), F32(1.00005)),
        (np.float16(1), np.float16(1.005)),
        (np.array(["a", "b"], object), np.array(["a", "b"])),
        ([F32(1), F32([2, 3])], [F32(1), F32([2, 3])]),
        (None, None),
        (np.zeros((0, 3), F32), np.zeros((0, 3), F32)),
        (np.complex64(1 + 2j), np.complex64(1 + 2j)),
        (np.int64(2**62), np.int64(2**62)),
    ],
)
def test_same_values(left: Any, right: Any) -> None:
    assert not compare(left, right, Tolerance()).kind


@pytest.mark.parametrize(
    ("left", "right", "kind", "absolute"),
    [
        (F32(1), F32(1.01), "value", 0.01),
        (np.float64(1), np.float64(1.00005), "value", 5e-5),
        (F32([1, 2]), F32([1, NAN]), "value", INF),
        (F32([INF]), F32([-INF]), "value", INF),
        (F32([INF]), F32([1e30]), "value", INF),
        (np.int64(2**62), np.int64(2**62 + 1), "value", 1),
        (np.uint8(0), np.uint8(255), "value", 255),
        (np.int64([-(2**63)]), np.int64([2**63 - 1]), "value", 2.0**64),
        (True, False, "value", 1),
        (np.array(["a"], object), np.array(["b"], object), "value", 1),
        (F32(1), np.int64(1), "dtype", INF),
        (np.bool_(True), np.int64(1), "dtype", INF),
        (F32(1), np.float64(1.001), "value", 1e-3),
        (F32(1e6), np.float16(np.inf), "value", INF),
        (np.int64(2**40), np.int32(1), "value", 2.0**40),
        (np.uint64(2**63), np.int64(-(2**63)), "value", 2.0**64),
        (F32([1]), F32([[1]]), "shape", INF),
        ([F32(1)], [F32(1), F32(1)], "length", INF),
        ([F32(1), F32(2)], [F32(1), F32(3)], "value", 1),
        (None, F32(1), "kind", INF),
        ([F32(1)], F32(1), "kind", INF),
    ],
)
def test_values_that_differ(left: Any, right: Any, kind: str, absolute: float) -> None:
    result = compare(left, right, Tolerance())
    assert result.kind == kind
    assert result.absolute == pytest.approx(absolute, rel=1e-3)


def test_worst_element_is_reported() -> None:
    result = compare(F32([[1, 2], [3, 4]]), F32([[1, 2.5], [3, 9]]), Tolerance())
    assert (result.worst_index, result.count, result.size) == ((1, 1), 2, 4)
    assert (result.left, result.right) == (4, 9)
    assert result.relative == pytest.approx(5 / 9)


@pytest.mark.parametrize(
    ("left", "right", "index", "absolute", "relative"),
    [
        (F32([100, 0.5]), F32([101, 0.005]), (0,), 1, 1 / 101),
        # The difference of element 0 is larger, and within the tolerance.
        (F32([1e6, 0]), F32([1e6 + 5, 1]), (1,), 1, 1),
        (np.array([[7, 1]], np.int64), np.array([[3, 0]], np.int64), (0, 0), 4, 4 / 3),
    ],
)
def test_differences_are_those_of_the_element_that_is_shown(
    left: Any, right: Any, index: tuple[int, ...], absolute: float, relative: float
) -> None:
    result = compare(left, right, Tolerance())
    assert result.worst_index == index and result.worst_difference == pytest.approx((absolute, relative))
    text = delta_text(Difference("carried", "x", "x", result))
    assert f"difference {number_text(absolute)}, relative {number_text(relative)}" in text


def test_worst_element_of_sequence_is_reported() -> None:
    result = compare([F32(1), F32([1, 2]), F32(3)], [F32(1), F32([1, 7]), F32(4)], Tolerance())
    assert result.worst_index == (1, 1) and result.absolute == 5 and "element 1" in result.text


def test_tolerances_can_be_given() -> None:
    assert not compare(F32(1), F32(1.5), Tolerance(rtol=0.5)).kind
    assert compare(F32(1), F32(1 + 1e-6), Tolerance(rtol=0, atol=0)).kind == "value"
    assert not compare(F32(1), F32(1.5), Tolerance(rtol=0, atol=0.6)).kind
    # Integers stay exact.
    assert compare(np.int32(1), np.int32(2), Tolerance(atol=10)).kind == "value"


def test_growth_is_fitted() -> None:
    growth = DifferenceGrowth()
    for k in range(40):
        growth.add(k, 1e-6 * 1.5**k, 0.0, 1e-6 * 1.5**k > 1e-4)
    assert growth.factor == pytest.approx(1.5)
    assert growth.first_beyond == 12
    assert growth.largest == pytest.approx(1e-6 * 1.5**39)


def test_growth_keeps_few_points_of_many_iterations() -> None:
    growth = DifferenceGrowth()
    for k in range(100_000):
        growth.add(k, float(k == 77_777), 0.0, k == 77_777)
    assert len(growth.points) <= MAX_POINTS
    (peak,) = [point for point in growth.points if point.absolute]
    assert peak.first <= 77_777 <= peak.last
    assert growth.points[0].first == 0 and growth.points[-1].last == 99_999
    assert growth.first_beyond == 77_777


def test_the_worst_of_a_few_elements_that_differ_is_found_where_it_is():
    first = np.zeros((4, 5, 6), np.float32)
    first[3] = np.nan
    other = first.copy()
    other[1, 2, 3], other[2, 0, 1] = 1e-7, -0.5
    result = compare(first, other, Tolerance())
    assert (result.kind, result.count, result.size, result.worst_index) == ("value", 1, 120, (2, 0, 1))
    assert (result.absolute, result.relative, result.left, result.right) == (0.5, 1.0, 0.0, -0.5)


def test_nothing_in_two_dtypes_is_the_same():
    assert not compare(np.zeros((2, 0), np.float32), np.zeros((2, 0), np.float16), Tolerance()).kind
