"""Names in the expression language: how they are written and completed."""

from __future__ import annotations

import pytest

from loopdbg.debugger.expression.expression import completion_start, completions, parse, quote


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("h", "h"),
        ("h_2", "h_2"),
        ("_x", "_x"),
        ("é", "é"),
        ("2h", "`2h`"),
        ("/rnn/LSTM_output_0", "`/rnn/LSTM_output_0`"),
        ("x:0", "`x:0`"),
        ("a b", "`a b`"),
        ("a`b", "`a``b`"),
        ("`", "````"),
        ("iter", "`iter`"),
        ("and", "`and`"),
        ("True", "`True`"),
        ("max", "`max`"),
    ],
)
def test_names_are_quoted_where_needed(name: str, written: str) -> None:
    assert quote(name) == written
    assert parse(written).names == {name}


NAMES = ["h", "h_new", "hidden", "/rnn/LSTM_output_0", "max", "x:0"]


@pytest.mark.parametrize(
    ("typed", "start", "results"),
    [
        ("h", 0, ["h", "h_new", "hidden", "history("]),
        ("abs(h_", 4, ["h_new"]),
        ("x + ma", 4, ["`max`", "max("]),
        ("al", 0, ["all(", "allclose("]),
        ("h > 1 an", 6, ["any(", "and"]),
        ("it", 0, ["iter"]),
        ("LSTM", 0, ["`/rnn/LSTM_output_0`"]),
        ("out", 0, ["`/rnn/LSTM_output_0`"]),
        ("`/r", 0, ["`/rnn/LSTM_output_0`"]),
        ("1 + `x", 4, ["`x:0`"]),
        ("`x:0` + hi", 8, ["hidden", "history("]),
        ("'h", -1, []),
        ("'it\\'s h", -1, []),
        ("'a' == hi", 7, ["hidden", "history("]),
        ("zz", 0, []),
    ],
)
def test_completions(typed: str, start: int, results: list[str]) -> None:
    assert completion_start(typed, len(typed)) == start
    assert completions(typed, len(typed), NAMES) == results


def test_completion_of_nothing_offers_everything() -> None:
    result = completions("", 0, NAMES)
    assert result[:6] == ["`/rnn/LSTM_output_0`", "h", "h_new", "hidden", "`max`", "`x:0`"]
    assert {"iter", "delta(", "norm(", "not"} <= set(result)
    assert completions("abs(", 4, ["h"])[0] == "h"
    # In the middle of a line only the text before the cursor counts.
    assert completions("hi + 3", 2, NAMES) == ["hidden", "history("]
