"""Lines, tables and values truncated to the available width."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from loopdbg.tui.render.styled_text import (
    Role,
    TableColumn,
    WidestColumns,
    pad_to_width,
    shorten_distinctly,
    shorten_name,
    table_lines,
    truncate,
    truncate_spans,
)
from loopdbg.tui.render.value_cells import short_value, short_value_with_norm, value_type_text

COLUMNS = (
    TableColumn("name", 4),
    TableColumn("type", 6, rank=2),
    TableColumn("value", 5),
    TableColumn("note", 4, rank=1),
)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abcd", 1, "…"), ("abcd", 0, ""), ("", 5, ""), ("日本語", 5, "日本…")],
)
def test_fit_truncates_to_the_width(text: str, width: int, shown: str) -> None:
    assert truncate(text, width) == shown


@pytest.mark.parametrize(
    ("name", "cells", "shown"),
    [
        ("hidden", 6, "hidden"),
        ("/model/decoder/Loop", 10, "/mod…/Loop"),
        ("/model/decoder/Loop", 3, "/…p"),
        ("hidden", 2, "…"),
        ("hidden", 0, ""),
        ("日本語日本語", 7, "日本…語"),
    ],
)
def test_names_are_shortened_in_one_way(name: str, cells: int, shown: str) -> None:
    assert shorten_name(name, cells) == shown
    assert cell_len(shown) <= cells


def test_names_with_a_common_prefix_show_where_they_differ() -> None:
    caches = [f"past_key_values.{k}.{part}" for k in (0, 1, 10) for part in ("key", "value")]
    assert {shorten_name(name, 14) for name in caches[1::2]} == {"past_k…0.value", "past_k…1.value"}
    assert list(shorten_distinctly(("token", *caches), 14).values()) == [
        "token", "…0.key", "…0.value", "…1.key", "…1.value", "…10.key", "…10.value"
    ]  # fmt: skip
    weights = tuple(f"layers_{k}_{part}_proj_weight" for k in range(3) for part in "qkvo")
    shown = shorten_distinctly(weights, 16)
    assert len(set(shown.values())) == 12 and shown["layers_2_k_proj_weight"] == "…2_k_proj_weight"
    # A name that fits is unchanged, and so is one that no shortening could distinguish.
    assert shorten_distinctly(("hidden", "hidden_states"), 20) == {"hidden": "hidden", "hidden_states": "hidden_states"}
    assert shorten_distinctly(("abcdefgh1xyz", "abcdefgh2xyz"), 6) == {
        "abcdefgh1xyz": "ab…xyz",
        "abcdefgh2xyz": "ab…xyz",
    }


def test_columns_never_shrink() -> None:
    widest = WidestColumns()

    def begins(text: str, of: object = "loop") -> int:
        (row,) = table_lines(COLUMNS, [[(text, Role.PLAIN), ("f32", Role.DIM), ("1", Role.VALUE), ("note", Role.DIM)]],
                       60, False, sizes=widest.column_sizer(of))  # fmt: skip
        return row.text.index("note")

    narrow = begins("a")
    width = begins("a_long_name")
    assert width > narrow
    assert begins("a") == width
    # Another table has its own widths.
    assert begins("a", "other") == narrow


def test_pad_counts_cells() -> None:
    assert pad_to_width("日本", 6) == "日本  "
    assert cell_len(pad_to_width("日本語", 4)) == 4


def test_spans_are_truncated_together() -> None:
    spans = [("abc", Role.NAME), ("def", Role.DIM)]
    assert truncate_spans(spans, 6) == (("abc", Role.NAME), ("def", Role.DIM))
    assert truncate_spans(spans, 5) == (("abc", Role.NAME), ("d…", Role.DIM))
    assert truncate_spans(spans, 3) == (("ab…", Role.NAME),)


def rows(*texts: tuple[str, ...]) -> list[list[tuple[str, Role]]]:
    return [[(text, Role.PLAIN) for text in row] for row in texts]


def test_table_columns_are_aligned() -> None:
    lines = table_lines(COLUMNS, rows(("x", "f32 []", "1.5", "carried"), ("longer", "i64 [2]", "2", "")), 60)
    assert [line.text.rstrip() for line in lines] == [
        "name    type     value  note",
        "x       f32 []   1.5    carried",
        "longer  i64 [2]  2",
    ]


def test_columns_of_high_rank_are_dropped_first() -> None:
    row = rows(("name", "f32 [10]", "1.50000000", "captured"))
    assert "f32" not in table_lines(COLUMNS, row, 20)[1].text
    assert "captu" in table_lines(COLUMNS, row, 20)[1].text
    assert table_lines(COLUMNS, row, 12)[1].text.split() == ["name", "1.500…"]


@pytest.mark.parametrize("width", range(1, 60))
def test_table_never_exceeds_its_width(width: int) -> None:
    for line in table_lines(COLUMNS, rows(("a_long_name", "f32 [1,2,3]", "-1.5e-07", "captured")), width):
        assert cell_len(line.text) <= width


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [
        (np.float32(-2.1457672e-06), 14, "-2.1457672e-06"),
        (np.float32(-2.1457672e-06), 12, "-2.1457…e-06"),
        (np.float32(-2.1457672e-06), 6, "~-2e-…"),
        (np.float32(0.0024510622), 8, "0.00245…"),
        (np.float64(123456789.5), 6, "~1.2e…"),
        (np.int64(123456789), 7, "~1.2e+…"),
        (np.int64(123456789), 8, "~1.2e+08"),
        (np.array(True), 10, "true"),
        (None, 10, "none"),
        ([1, 2], 10, "[2 items]"),
        # A single element has no range.
        (np.array([2.4801588e-05], np.float32), 14, "[2.48015…e-05]"),
        (np.array([[2.4801588e-05]], np.float32), 14, "[[2.480…e-05]]"),
    ],
)
def test_truncated_number_never_loses_its_exponent_silently(value: object, width: int, shown: str) -> None:
    assert short_value(value, width) == shown


def test_array_text_fills_width() -> None:
    array = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    messages = [short_value(array, width) for width in (30, 20, 12, 8, 5, 3)]
    assert all(len(text) <= width for text, width in zip(messages, (30, 20, 12, 8, 5, 3), strict=True))
    assert messages[3] == "-1 .. 1"
    cached = np.linspace(-0.384, 0.31, 32, dtype=np.float32).reshape(1, 1, 32)
    assert [short_value(cached, width) for width in (12, 9, 6, 3)] == ["-0.38..0.31", "-0.4..0.3", "±0.38", "[1…"]
    array[0, 0] = np.nan
    assert "1 nan" in short_value(array, 30)
    assert short_value(array, 5) == "1 nan"


def test_large_tensor_shows_its_norm_if_the_history_plots_it() -> None:
    assert short_value_with_norm(np.full(100, 2.0), 12) == "norm 20"
    assert short_value_with_norm(np.array([1.0, 2.0]), 12) == "[1.0, 2.0]"
    assert short_value_with_norm(np.array([1.25, 2.125]), 10) == "norm 2.47"
    assert short_value_with_norm(np.float32(1.5), 12) == "1.5"


def test_types_are_shortened() -> None:
    assert value_type_text(np.zeros((1, 2), np.float32)) == "f32 [1,2]"
    assert value_type_text([1]) == "seq [1]"
    assert value_type_text(None) == "?"
