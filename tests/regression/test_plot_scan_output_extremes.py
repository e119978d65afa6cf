"""The picture of a scan output had means of samples in its cells: one number of ten thousand was not seen."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.debugger.frame_state import ScanState
from loopdbg.tui.render.scan_pictures import PADDING_SIGN, ScanPicture, draw_scan

NOISE = np.random.default_rng(5).uniform(-1, 1, (12, 1000)).astype(np.float32)


def drawn(whole: np.ndarray, width: int = 60, height: int = 12, **more: object) -> ScanPicture:
    scan = ScanState("ys", 0, True, False, len(whole), whole.shape, whole.dtype.name, (), whole, **more)  # type: ignore[arg-type]
    result = draw_scan(scan, width, height)
    assert result is not None
    return result


@pytest.mark.parametrize(("width", "height"), [(20, 3), (60, 12), (200, 40)])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (7, 501), (11, 999)])
@pytest.mark.parametrize("value", [1000.0, -1000.0])
def test_outlier_is_marked_and_labelled(width: int, height: int, row: int, column: int, value: float) -> None:
    data = NOISE.copy()
    # Its neighbours would hide it in a mean.
    data[row, max(0, column - 20) : column + 20] = -value / 39
    data[row, column] = value
    plain, result = drawn(NOISE, width, height), drawn(data, width, height)
    assert "▲" not in plain.note + "".join(plain.lines)
    assert "1000" in result.note
    outcome = len(result.lines[0])
    line, cell = row * len(result.lines) // 12, column * outcome // 1000
    # Marked, or the one dark cell where all others are alike.
    assert result.lines[line][cell] in "▲█"
    assert sum(line_value.count(result.lines[line][cell]) for line_value in result.lines) <= 12


def test_what_is_not_finite_is_marked_wherever_it_is() -> None:
    data = NOISE.copy()
    data[3, 777] = np.nan
    assert [k for k, line in enumerate(drawn(data).lines) if "×" in line] == [3]


def test_cell_meaning_is_labelled() -> None:
    assert "1 cell = max |x| of 18" in drawn(NOISE).note and "sample" not in drawn(NOISE).note
    # Of few numbers each has its cell, and its sign.
    few = drawn(np.array([[-2.0, 0.0, 2.0]] * 3))
    assert few.note.endswith("-2 ░▒▓█ 2") and few.lines[0] == "░░░░▓▓▓▓████"
    assert drawn(np.full((3, 8), 5.0)).note.endswith("all 5")
    # A tensor that is too large to scan is sampled, and the output says so.
    assert "of a sample: 1 in " in drawn(np.zeros((5000, 1000), np.float32)).note
    assert "of a sample: 1 in 92" in drawn(np.zeros(6_000_000, np.float32)).note


def test_a_spike_of_a_million_numbers() -> None:
    data = np.random.default_rng(3).normal(size=1_000_000).astype(np.float32)
    data[123_456], data[700_001] = 99, np.nan
    result = drawn(data, height=6)
    assert "… █ 99" in result.note
    above = [k for k, sign in enumerate(result.lines[0]) if sign.strip()]
    assert above == [7, 41] and result.lines[0][41] == "×"


def test_filling_is_no_number_where_cells_are_shared() -> None:
    valid = np.array([[True, True], [True, False], [True, False]])
    data = np.where(valid[:, :, None], np.full((3, 2, 500), 3.0), 0.0)
    result = drawn(data, valid=valid)
    assert result.note.startswith("iterations 0–2, ╌ filling   all 3")
    assert [line.count(PADDING_SIGN) for line in result.lines] == [
        0,
        len(result.lines[0]) // 2,
        len(result.lines[0]) // 2,
    ]
