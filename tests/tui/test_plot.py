"""Bars, charts, heat strips and plots."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from loopdbg.tui.render.styled_text import Role, Span
from loopdbg.tui.render.text_plots import (
    ComparisonPoints,
    bar_chart,
    draw_points,
    heat_strips,
    representative_number,
    sign_colored_spans,
)


def test_chart_rows() -> None:
    assert bar_chart([0, 1, 2], 3, 2) == ["  █", "▁▄█"] or bar_chart([0, 1, 2], 3, 2) == [" ▁█", "▁██"]
    assert bar_chart([1, 1, 1], 2, 2) == ["  ", "▁▁"]
    assert bar_chart([math.nan, 1], 5, 2)[1][0] == "×"
    assert bar_chart([], 5, 2) == ["", ""]
    assert [len(row) for row in bar_chart(range(100), 40, 3)] == [40, 40, 40]


def texts(rows: Sequence[Sequence[Span]]) -> list[str]:
    """The rows without their styles."""
    return ["".join(text for text, _ in row) for row in rows]


def test_heat_strip() -> None:
    assert texts(heat_strips([np.array([0.0, 1.0]), np.array([0.5, 0.25])], 8)) == ["░░░░████", "▓▓▓▓▒▒▒▒"]
    assert [len(row) for row in texts(heat_strips([np.arange(1000)], 40))] == [40]
    assert heat_strips([np.full(2, np.nan)], 2) == [[("××", Role.ERROR)]]
    assert heat_strips([np.array([1.0, np.inf])], 2) == [[("░", Role.PLOT), ("×", Role.ERROR)]]


def test_heat_map_has_two_colours_for_two_signs() -> None:
    numbers = np.array([-2.0, -1.0, 0.0, 3.0, np.nan, 1.0])
    result = sign_colored_spans("░░▒█×▓ 7", numbers)
    assert result == [
        ("░░", Role.BELOW), ("▒", Role.PLOT), ("█", Role.ABOVE), ("×", Role.ERROR), ("▓", Role.ABOVE), (" 7", Role.PLOT)
    ]  # fmt: skip
    # Symbols convey the same without colour, and values of one sign have one colour.
    assert texts([result]) == ["░░▒█×▓ 7"]
    assert sign_colored_spans("░▒█", np.array([1.0, 2.0, 3.0])) == [("░▒█", Role.PLOT)]
    assert sign_colored_spans("░▒█", None) == [("░▒█", Role.PLOT)]


def test_number_of_points() -> None:
    assert representative_number(np.float32(2.5)) == 2.5
    assert representative_number(np.array([3.0, 4.0])) == 5.0
    assert representative_number(np.array(True)) == 1.0
    assert representative_number(np.array([3 + 4j])) == 5.0
    for nothing in (None, [1], "text", np.array("text", object), np.empty(0)):
        assert math.isnan(representative_number(nothing))


def test_points_above_a_threshold() -> None:
    rows = draw_points(ComparisonPoints([0, 1, 2], [4.0, 2.0, 0.0], [1.0, 1.0, 1.0]), 40, 6)
    assert len(rows) == 6
    assert rows[0].startswith("4 ┤ ●")
    assert rows[4].rstrip().startswith("0 ┤") and rows[4].rstrip().endswith("●")
    assert any("────" in row for row in rows)
    assert rows[5].split() == ["└", "0", "1", "2"]


def test_widely_spread_points_use_a_logarithmic_scale_with_zero_at_the_bottom() -> None:
    rows = draw_points(ComparisonPoints([0, 1, 2, 3], [1.0, 1e-3, 1e-6, 0.0], [1e-4] * 4), 60, 12)
    places = [k for k, row in enumerate(rows) if "●" in row]
    assert len(places) == 4
    assert abs((places[1] - places[0]) - (places[2] - places[1])) <= 1
    assert rows[places[-1]].startswith("     0 ┤")


def test_comparison_with_two_moving_sides() -> None:
    rows = draw_points(ComparisonPoints([0, 1], [1.0, 2.0], [3.0, 4.0]), 40, 6)
    assert sum(row.count("○") for row in rows) == sum(row.count("●") for row in rows) == 2


@pytest.mark.parametrize("width", [24, 25, 40, 61])
@pytest.mark.parametrize("last", [0, 1, 7, 200, 10**9])
def test_points_stay_inside_the_plot(width: int, last: int) -> None:
    iterations = sorted({0, last // 2, last})
    numbers = [math.inf, 1.0, math.nan][: len(iterations)]
    rows = draw_points(ComparisonPoints(iterations, numbers, [0.0] * len(iterations)), width, 8)
    assert all(len(row) <= width for row in rows)


def test_plot_needs_space_and_numbers() -> None:
    assert draw_points(ComparisonPoints([0], [1.0], [2.0]), 40, 3) == []
    assert draw_points(ComparisonPoints([0], [1.0], [2.0]), 10, 9) == []
    assert draw_points(ComparisonPoints([0], [math.nan], [math.nan]), 40, 9) == []
    assert draw_points(ComparisonPoints([], [], []), 40, 9) == []


def test_column_of_several_iterations_spans_their_range() -> None:
    data = ComparisonPoints([0, 8], [0.0, 4.0], [9.0, 9.0], left_high=[4.0, 4.0], right_high=[9.0, 9.0])
    assert data.threshold == 9.0
    rows = draw_points(data, 40, 10)
    first = [k for k, row in enumerate(rows) if row[rows[0].index("┤") + 2] == "●"]
    assert first == list(range(first[0], 9)) and len(first) == 4 + 1
    assert sum(row.count("●") for row in rows) == len(first) + 1
    # Both sides move.
    assert ComparisonPoints([0], [1.0], [2.0], left_high=[1.0], right_high=[3.0]).threshold is None


def test_estimates_follow_known_values() -> None:
    rows = draw_points(
        ComparisonPoints([0, 1], [8.0, 6.0], [1.0, 1.0], forecast=[(2, 4.0, 1.0), (3, 2.0, 1.0), (4, 0.0, 1.0)]), 40, 9
    )
    dots = [(row.index("·"), k) for k, row in enumerate(rows) if "·" in row]
    assert len(dots) == 3 and dots == sorted(dots)
    assert max(row.index("●") for row in rows if "●" in row) < dots[0][0]
    # The last estimate is below the threshold, and the axis labels its number as an estimate.
    assert dots[-1][1] > next(k for k, row in enumerate(rows) if "──" in row)
    assert rows[-1].split() == ["└", "0", "1", "~4"]
