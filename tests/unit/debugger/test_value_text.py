"""Values as text: no silent rounding, and never more than one line."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from loopdbg.tui.render.formatting import (
    TensorStatistics,
    delta_text,
    escape_unprintable,
    number_text,
    rate_text,
    scalar_text,
    sparkline,
    type_text,
    value_text,
)


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (1234.0, 4, "1234"),
        (1234.5678, 3, "1235"),
        (-1000.0, 1, "-1000"),
        (999.96, 3, "1000"),
        (999_999.4, 3, "999999"),
        (999_999.6, 3, "1e+06"),
        (12.345, 3, "12.3"),
        (12.345, 1, "12"),
        (0.00012345, 2, "0.00012"),
        (-1.2345e-07, 3, "-1.23e-07"),
        (float("nan"), 1, "nan"),
        (float("-inf"), 3, "-inf"),
        (None, 3, "none"),
    ],
)
def test_statistics_show_their_integer_part_in_full(number: float | None, digits: int, text: str) -> None:
    assert number_text(number, digits) == text


def test_changes_and_rates_show_their_integer_part_in_full() -> None:
    assert delta_text(np.float32(1), np.float32(2345)) == "+2344"
    assert delta_text(np.float32(2345), np.float32(1)) == "-2344"
    assert delta_text(np.zeros(2, np.float32), np.array([0, -1234], np.float32)) == "±1234"
    assert rate_text(999_999.9) == "1000 k/s"


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        (np.dtype(np.float32), (1, 256), "f32 [1,256]"),
        (np.dtype(np.int64), (), "i64 []"),
        (np.dtype(np.uint8), ("N", None), "u8 [N,?]"),
        (np.dtype(bool), (2,), "bool [2]"),
        (np.dtype(object), (3,), "string [3]"),
        (np.dtype(ml_dtypes.bfloat16), (), "bf16 []"),
        (np.dtype(ml_dtypes.float8_e4m3fn), (), "f8e4m3fn []"),
        (None, None, "? [...]"),
    ],
)
def test_type_text(dtype: np.dtype[np.generic] | None, shape: tuple[int | str | None, ...] | None, text: str) -> None:
    assert type_text(dtype, shape) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(2**0.5), "1.4142135"),
        (np.float64(2**0.5), "1.4142135623730951"),
        (np.array(-2.4e-7, np.float32), "-2.4e-07"),
        (np.float32(-0.0), "-0.0"),
        (np.float32("nan"), "nan"),
        (np.float16(0.1), "0.1"),
        (ml_dtypes.bfloat16(0.1), "0.1"),
        (np.int64(2**62 + 1), "4611686018427387905"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.bool_(True), "true"),
        (False, "false"),
        ('say "a"\n', '"say \\"a\\"\\n"'),
        (None, "none"),
        ([1, 2, 3], "[3 items]"),
        ([np.zeros(2)], "[1 item]"),
        (np.arange(3), "[0, 1, 2]"),
        (np.array([[True], [False]]), "[[true], [false]]"),
        (np.array(["x", "y"], object), '["x", "y"]'),
        (np.zeros((0, 3)), "empty [0,3]"),
        (np.zeros(0), "[]"),
        (np.arange(300), "min 0 max 299 mean 150"),
        (np.array([-0.81, 0.003, 0.77] * 20, np.float32), "min -0.81 max 0.77 mean -0.0123"),
        (np.arange(100) < 7, "7 of 100 true"),
        (np.array(["x"] * 50, object), "50 strings"),
    ],
)
def test_value_text(value: object, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_numbers_read_back_as_the_same_number(dtype: type) -> None:
    numbers = np.random.default_rng(0).standard_normal(200).astype(dtype)
    assert all(np.array(float(scalar_text(number))).astype(dtype) == number for number in numbers)


def test_non_finite_values_are_counted_and_not_averaged() -> None:
    values = np.array([1, 2, 3] * 20 + [np.nan, np.nan, np.inf], np.float32)
    assert value_text(values) == "min 1 max 3 mean 2, 2 nan, 1 inf"
    assert value_text(np.full(50, np.nan)) == "50 nan"


def test_mean_of_the_largest_numbers_does_not_overflow() -> None:
    assert TensorStatistics(np.full(50, 1.7e308)).mean == pytest.approx(1.7e308)
    assert TensorStatistics(np.full(50, 60000, np.float16)).mean == 60000


def test_long_values_are_truncated_or_summarised() -> None:
    assert value_text("x" * 100, 10) == '"xxxxxxxx…'
    assert value_text(np.arange(10), 30) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    assert value_text(np.arange(10), 29) == "min 0 max 9 mean 4.5"


def test_control_characters_from_a_file_are_escaped() -> None:
    assert escape_unprintable("a\x1b[2Jb\x9b") == "a\\x1b[2Jb\\x9b"
    assert value_text("\x1b\x9b") == '"\\u001b\\x9b"'


@pytest.mark.parametrize(
    ("previous", "new", "text"),
    [
        (np.float32(1.4142137), np.float32(1.4142135), "-1.2e-07"),
        (3, 5, "+2"),
        (2**62, 2**62 + 1, "+1"),
        (np.ones(3), np.ones(3), "="),
        (np.ones(3), np.array([1.0, 0.75, 1.1]), "±0.25"),
        (np.ones(2), np.ones((1, 2)), "[2] → [1,2]"),
        (np.ones(2), np.ones(3), "+1 element"),
        (np.ones((1, 5, 2)), np.ones((1, 3, 2)), "-2 rows"),
        (None, 3.0, ""),
        (None, None, "="),
        (True, False, "changed"),
        (np.array(["a", "b"]), np.array(["a", "c"]), "1 of 2 changed"),
        ([1], [1, 2, 3], "+2 items"),
        ([np.ones(2)], [np.ones(2)], "="),
        (1.0, np.nan, "nan"),
        (np.nan, np.nan, "="),
        (np.inf, np.inf, "="),
        (np.array([1.0, 1.0]), np.array([1.0, np.inf]), "±inf"),
    ],
)
def test_change_text(previous: object, new: object, text: str) -> None:
    assert delta_text(previous, new) == text


def test_sparklines_show_the_newest_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 20) == "▁▂▃▄▅▆▇█"
    assert sparkline([9, 9, 0, 1], 2) == "▁█"
    assert sparkline([5, 5, 5], 3) == "▁▁▁"
    assert sparkline([0, np.nan, 1, np.inf], 4) == "▁×█×"
    assert sparkline([-1.7e308, 1.7e308], 2) == "▁█"
    assert sparkline([], 5) == ""
    assert sparkline([1, 2], 0) == ""


def test_non_numbers_are_shown_unchanged() -> None:
    """A damaged trace may contain a value whose dtype is a string."""

    class Odd:
        dtype = "float32"

        def __str__(self) -> str:
            return "odd"

    assert scalar_text(Odd()) == "odd"
