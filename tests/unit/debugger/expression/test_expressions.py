"""The expression language: the values of expressions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.expression.expression import (
    ExpressionError,
    NoValueError,
    ScopeError,
    format_value,
    parse,
)
from loopdbg.runtime.errors import UsageError

from .sample_scope import SAMPLE_SCOPE, H, SampleScope, error, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Plain numbers.
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 ** 3 ** 2", 512),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("7 // 2 - 7 % 3", 2),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("7 / 2", 3.5),
        ("- - 3", 3),
        ("0x1F + 0b11 + 0o7 + 1_000", 1041),
        (".5 + 1. + 1e-1", 1.6),
        ("1 / 0", math.inf),
        ("2 ** 0.5", math.sqrt(2)),
        ("10 ** 40 + 1", 10**40 + 1),
        ("0.5 // 0.2", 2.0),
        # Comparison and logic.
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("1 == 1.0", True),
        ("not 1 > 2 and true", True),
        ("false or 2 > 1", True),
        ("true and not false or false", True),
        ("not not true", True),
        ("nan == nan", False),
        ("isnan(nan) and isinf(-inf)", True),
        # The loop's state.
        ("iter", 12),
        ("iter % 5 == 2", True),
        ("trip_count", math.inf),
        ("iter < trip_count", True),
        ("cond", True),
        ("`cond`", 99),
        ("max", 7),
        ("max(h) + max", 15),
        ("`max` + 1", 8),
        # Names.
        ("`/rnn/h:0` * 2", 3),
        ("`a``b`", 4),
        ("température", 20),
        # Tensors.
        ("x", 2.5),
        ("n + 1", 6),
        ("max(abs(h)) > 7", True),
        ("min(h)", -2),
        ("sum(h)", 12.5),
        ("mean(h) > 2", True),
        ("mean(k)", 2),
        ("norm(k) ** 2", pytest.approx(14)),
        ("any(h < 0) and not all(h < 0)", True),
        ("any(isnan(bad)) and any(isinf(bad)) and not any(isnan(h))", True),
        ("argmax(h)", 4),
        ("argmin(h)", 1),
        ("isnan(max(bad))", True),
        ("norm(z)", 5),
        ("abs(z)[0]", 5),
        ("sum(flags)", 1),
        ("sqrt(16)", 4),
        ("exp(0) + log(1)", 1),
        ("sign(-3) + round(2.5)", 1),
        ("round(7)", 7),
        ("len(h) + len(shape(h))", 4),
        ("len('abc')", 3),
        ("shape(h) == [2, 3]", True),
        ("shape(x) == []", True),
        ("shape(h)[1]", 3),
        ("shape(h) != shape(k)", True),
        ("shape(3)", []),
        ("dtype(h)", "float32"),
        ("dtype(b)", "bfloat16"),
        ("dtype(s) == 'string'", True),
        ("dtype(seq)", "list"),
        ("dtype(nothing)", "none"),
        ("dtype(1)", "int64"),
        ("dtype(h > 1)", "bool"),
        ("allclose(h[0], [1, -2, 3.5])", True),
        ("allclose(x, 2.6)", False),
        ("allclose(x, 2.6, 0.1)", True),
        ("allclose(x, 2.6, atol=0.2)", True),
        ("allclose(bad, bad)", False),
        ("sum(empty)", 0),
        ("any(empty) or not all(empty)", False),
        ("isnan(mean(empty))", True),
        # Strings, lists, none.
        ("'a' == \"a\"", True),
        ("'it\\'s' != 'its'", True),
        ("word == 'go'", True),
        ("s[1] == 'no'", True),
        ("[1, 2] == [1, 2]", True),
        ("[1, [2]] == [1, [3]]", False),
        ("[1] == [true]", False),
        ("[x, 1][0]", 2.5),
        ("max([1, 5, 2])", 5),
        ("[1, 2, 3][-1]", 3),
        ("len(seq)", 2),
        ("shape(seq[1])", [2, 2]),
        ("seq == seq", True),
        ("seq == [0]", False),
        ("nothing == none", True),
        ("h != none", True),
        # Other iterations.
        ("prev(x)", 1.25),
        ("delta(x)", 1.25),
        ("x@40", 42.5),
        ("x@(iter - 2)", 12.5),
        ("x@(n * 2)", 12.5),
        ("init(n)", 0),
        ("prev(iter)", 11),
        ("init(iter) + (iter@3)", 3),
        ("h@1[0, 0]", 2),
        ("h[0, 0]@1", 2),
        ("delta(norm(h)) == norm(h) - norm(prev(h))", True),
        ("n@2 + n@3 * 2", 23),
        # Numbers combined with tensors.
        ("k == 300", [False] * 3),
        ("k < 300 ", [True] * 3),
        ("k > -300", [True] * 3),
        ("300 > k", [True] * 3),
        ("k == [1, 300, 3]", [True, False, True]),
        ("bad[0] == 1", True),
        ("h[0] == [1, -2, 3.5]", [True] * 3),
        ("flags == true", [True, False]),
        ("big == 4611686018427387904", True),
        ("big == 4611686018427387905", False),
    ],
)
def test_expression_values(text: str, expected: Any) -> None:
    result = value(text)
    if isinstance(expected, list) and isinstance(result, np.ndarray):
        result = result.tolist()
    assert result == expected
    assert isinstance(result, type(expected)) or not isinstance(expected, bool)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("h > 1", "bool"),
        ("h * 2", "float32"),
        ("h * 0.1", "float32"),
        ("h + [1, 2, 3]", "float32"),
        ("h + n", "float64"),
        ("k + 1", "int8"),
        ("k + 1.0", "float64"),
        ("k / 2", "float64"),
        ("k * n", "int64"),
        ("half * 2", "float16"),
        ("sum(half)", "float32"),
        ("mean(half)", "float32"),
        ("norm(half)", "float32"),
        ("sum(k)", "int64"),
        ("sum(u)", "uint64"),
        ("norm(k)", "float64"),
        ("norm(h)", "float32"),
        ("max(k)", "int8"),
        ("b * 2", "float32"),
        ("b[0]", "bfloat16"),
        ("f8 + 1", "float32"),
        ("q + 1", "int8"),
        ("zeros_like(b)", "bfloat16"),
        ("ones_like(k)", "int8"),
        ("full_like(h, 0.1)", "float32"),
        ("where(h > 1, h, 0)", "float32"),
        ("where(h > 1, 1, 0)", "int64"),
        ("argmax(h)", "int64"),
        ("round(h)", "float32"),
        ("[x, 1] + 0", "float32"),
        ("flags + 1", "int64"),
    ],
)
def test_result_dtypes(text: str, dtype: str) -> None:
    assert np.asarray(value(text)).dtype.name == dtype


def test_tensor_results() -> None:
    np.testing.assert_array_equal(value("h + k"), H + np.array([1, 2, 3], np.int8))
    np.testing.assert_array_equal(value("h[0, 1:]"), H[0, 1:])
    np.testing.assert_array_equal(value("h[..., 0]"), H[..., 0])
    np.testing.assert_array_equal(value("h[:, ::-1]"), H[:, ::-1])
    np.testing.assert_array_equal(value("h[-1]"), H[-1])
    np.testing.assert_array_equal(value("h[n - 4:, len(k) - 1]"), H[1:, 2])
    np.testing.assert_array_equal(value("h[5:]"), H[5:])
    np.testing.assert_array_equal(value("h[argmax(h[0])-1, :]"), H[1])
    np.testing.assert_array_equal(value("where(h > 0, h, -h)"), np.abs(H))
    np.testing.assert_array_equal(value("0 < h < 3"), (H > 0) & (H < 3))
    np.testing.assert_array_equal(value("s == 'yes'"), [True, False])
    np.testing.assert_array_equal(value("s != 'yes'"), [False, True])
    np.testing.assert_array_equal(value("zeros_like(h)"), np.zeros_like(H))
    np.testing.assert_array_equal(value("h ** 2 % 3"), np.power(H, 2) % 3)
    np.testing.assert_array_equal(value("n // [2, 3]"), [2, 1])
    np.testing.assert_array_equal(value("k // 0"), [0, 0, 0])
    np.testing.assert_array_equal(value("[[1, 2], [3, 4]] + k[:2]"), [[2, 4], [4, 6]])


def test_results_are_copies() -> None:
    array = np.zeros(3)
    scope = SampleScope(a=array)
    for text in ("a + 0", "a[:]", "a[...]", "abs(a)", "[1, 2, 3] + a"):
        parse(text).evaluate(scope)[0] = 7
    assert not array.any()


def test_logical_operators_short_circuit() -> None:
    assert value("false and late > 3") is False
    assert value("true or late > 3") is True
    with pytest.raises(NoValueError, match="not computed yet in iteration 12 at column 10 of 'true and late > 3'"):
        value("true and late > 3")


def test_unavailable_value_differs_from_unknown_name() -> None:
    with pytest.raises(ScopeError):
        value("late")
    assert not isinstance(error("hh"), ScopeError)
    assert isinstance(error("hh"), UsageError)
    assert error("hh").exit_status == 2


def test_expression_is_displayed_on_one_line() -> None:
    assert format_value(value("x")) == "2.5"
    assert format_value(value("x > 1")) == "true"
    assert format_value(value("h")) == "[[1.0, -2.0, 3.5], [0.0, 8.0, 2.0]]"
    assert format_value(value("h"), 20) == "float32 [2,3]  min -2 max 8 mean 2.08"
    assert format_value(value("shape(h)")) == "[2, 3]"
    assert format_value(value("seq")) == "[[0.0, 0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]]"
    assert format_value(value("seq"), 10) == "[2 items]"
    assert format_value(value("s")) == '["yes", "no"]'
    assert format_value(value("dtype(h)")) == '"float32"'
    assert format_value(value("nothing")) == "none"
    assert format_value(value("empty")) == "empty [0,3]"
    assert format_value(value("inf")) == "inf"


def test_condition_must_be_one_truth_value() -> None:
    assert parse("flag").truth(SAMPLE_SCOPE) is True
    assert parse("x > 2").truth(SAMPLE_SCOPE) is True
    assert parse("all(h > 2)").truth(SAMPLE_SCOPE) is False
    for text, problem in (
        ("h > 2", "6 truth values where one is needed"),
        ("x", r"float32 \[\] where true or false is needed"),
        ("'a'", "a string where true or false is needed"),
        ("nothing", "none where true or false is needed"),
        ("seq", "a list of 2 where true or false is needed"),
    ):
        with pytest.raises(ExpressionError, match=problem):
            parse(text).truth(SAMPLE_SCOPE)
    with pytest.raises(ExpressionError, match="none where true or false is needed"):
        parse("cond").truth(SampleScope(condition=None))


def test_expression_lists_the_values_that_it_reads() -> None:
    expression = parse("max(abs(h)) > `/rnn/h:0` + iter and cond and max == 3")
    assert expression.names == {"h", "/rnn/h:0", "max"}
    assert not expression.uses_history
    assert expression.text.startswith("max(abs(h))")
    for text in ("prev(h)", "delta(h) > 1", "1 + h@3", "init(h)"):
        assert parse(text).uses_history
        assert parse(text).names == {"h"}


def test_names_can_be_replaced_by_expressions() -> None:
    pattern = parse("any(abs(x - prev(x)) >= level) or x == `x y`")
    filled = pattern.substitute(x=parse("h[0, x] * 2"), level=0.5)
    assert filled.names == {"h", "x", "x y"}
    assert pattern.names == {"x", "level", "x y"}
    assert parse("prev(x) + x").substitute(x=parse("k[0] * 3")).evaluate(SAMPLE_SCOPE) == 4.5
    assert parse("[x, -x][0] + max(x)").substitute(x=2.5).evaluate(SAMPLE_SCOPE) == 5


def test_string_escapes() -> None:
    assert value(r"'\x41\u00e9\U0001f600\n``'") == "Aé😀\n``"
    assert parse(r"`\x41``\n`").names == {"A`\n"}
    for text in (r"'\x4'", r"'\U00110000'", r"`\q`"):
        assert error(text).problem.startswith("an unknown escape") and error(text).position == 1


def test_trip_count_in_an_expression() -> None:
    scope = SampleScope(trip_count=20)
    assert parse("trip_count - iter").evaluate(scope) == 8
    assert parse("iter / trip_count").evaluate(scope) == 0.6
