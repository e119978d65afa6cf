"""The sampled curves of an estimate: both sides meet when the estimate says so."""

from __future__ import annotations

import pytest

from loopdbg.debugger.termination.trend import Trend, estimate_turning, extrapolate

OPEN = {">": lambda a, b: a > b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b}


@pytest.mark.parametrize(
    ("trend", "left", "sign", "right"),
    [
        (Trend.LINEAR, [3.0, 6.0, 9.0, 12.0], "<", [40.0] * 4),
        (Trend.LINEAR, [0.0, 2.0, 4.0], "<=", [30.0, 27.0, 24.0]),
        (Trend.LINEAR, [50.0, 40.0, 30.0], ">=", [0.0, 1.0, 2.0]),
        (Trend.GEOMETRIC, [64.0, 32.0, 16.0, 8.0], ">", [1e-3] * 4),
        (Trend.GEOMETRIC, [1e-3] * 4, "<", [64.0, 32.0, 16.0, 8.0]),
        (Trend.GEOMETRIC, [1.0, 3.0, 9.0], "<", [1e6] * 3),
        # Converges to 10, beyond the other side.
        (Trend.GEOMETRIC, [10 - 8 * 0.5**k for k in range(5)], "<", [9.9] * 5),
        (Trend.GEOMETRIC, [-10 + 8 * 0.5**k for k in range(5)], ">", [-9.9] * 5),
        (Trend.ACCELERATING, [100.0, 99.0, 96.0, 90.0, 79.0], ">", [0.0] * 5),
        (Trend.ACCELERATING, [1.0, 0.5, 0.1, 0.01], ">", [1e-6] * 4),
    ],
)
def test_sides_meet_at_the_estimate(trend: Trend, left: list[float], sign: str, right: list[float]) -> None:
    result = estimate_turning(left, right, sign)
    assert result is not None and result.trend is trend and result.iterations is not None
    ahead = extrapolate(result, left, right, result.iterations + 2)
    holds = [OPEN[sign](a, b) for a, b in ahead]
    assert holds.index(False) + 1 == result.iterations
    # The curve continues smoothly: the first step does not exceed the last one, or not by a larger factor.
    assert OPEN[sign](left[-1], right[-1])


def test_without_estimate_nothing_is_drawn() -> None:
    still = estimate_turning([3.0] * 4, [1.0] * 4, ">")
    assert still is not None and extrapolate(still, [3.0] * 4, [1.0] * 4, 9) == []
    away = estimate_turning([1.0, 2.0, 3.0], [0.0] * 3, ">")
    assert away is not None and extrapolate(away, [1.0, 2.0, 3.0], [0.0] * 3, 9) == []


def test_small_side_far_from_a_large_one_moves() -> None:
    # The floating-point difference stays the same all the time.
    result = estimate_turning([2.0, 4.0, 8.0, 16.0], [1e30] * 4, "<")
    assert result is not None and result.trend is Trend.GEOMETRIC and result.iterations == 96
