"""The expression language: what it means, what it refuses, and how errors point."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.debugger.expression.language import (
    ExpressionError,
    NoValueError,
    ScopeError,
    UnknownNameError,
    assign,
    completion_start,
    completions,
    parse,
    parse_target,
    quote,
    show,
)
from loopdbg.runtime.errors import UsageError


class Values:
    """A scope in iteration 12: x@n is x + n, the previous value is half of the value."""

    iteration = 12

    def __init__(self, trip_count: int | None = None, condition: bool | None = True, **values: Any) -> None:
        self.trip_count, self.condition, self.values = trip_count, condition, values

    def names(self) -> Collection[str]:
        return list(self.values)

    def value(self, name: str) -> Any:
        if name == "late":
            raise ScopeError("'late' is not computed yet in iteration 12")
        if name not in self.values:
            raise UnknownNameError(name)
        return self.values[name]

    def previous(self, name: str) -> Any:
        return self.value(name) / self.value(name).dtype.type(2)

    def initial(self, name: str) -> Any:
        return np.zeros_like(self.value(name))

    def at(self, name: str, iteration: int) -> Any:
        return self.value(name) + self.value(name).dtype.type(iteration)


H = np.array([[1, -2, 3.5], [0, 8, 2]], np.float32)
SCOPE = Values(
    h=H,
    x=np.array(2.5, np.float32),
    n=np.array(5),
    k=np.array([1, 2, 3], np.int8),
    u=np.array([3, 250], np.uint8),
    big=np.array(2**62),
    flag=np.array([True]),
    flags=np.array([True, False]),
    half=np.array([1, 60000], np.float16),
    b=np.array([0.5, -2], ml_dtypes.bfloat16),
    f8=np.array([0.5, 448], ml_dtypes.float8_e4m3fn),
    q=np.array([7, -8], ml_dtypes.int4),
    z=np.array([3 + 4j], np.complex64),
    bad=np.array([1, np.nan, -np.inf], np.float32),
    s=np.array(["yes", "no"], object),
    word=np.array("go", object),
    seq=[np.zeros(3, np.float32), np.ones((2, 2), np.float32)],
    nothing=None,
    empty=np.zeros((0, 3), np.float32),
    max=np.array(7),
    cond=np.array(99),
    **{"/rnn/h:0": np.array(1.5, np.float32), "a`b": np.array(4), "température": np.array(20)},
)


def value(text: str) -> Any:
    return parse(text).evaluate(SCOPE)


def error(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    return caught.value


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
        # How numbers meet tensors.
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
def test_values(text: str, expected: Any) -> None:
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
def test_dtypes(text: str, dtype: str) -> None:
    assert np.asarray(value(text)).dtype.name == dtype


def test_values_of_tensors() -> None:
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
    scope = Values(a=array)
    for text in ("a + 0", "a[:]", "a[...]", "abs(a)", "[1, 2, 3] + a"):
        parse(text).evaluate(scope)[0] = 7
    assert not array.any()


def test_the_last_operand_is_not_looked_at_where_the_first_decide() -> None:
    assert value("false and late > 3") is False
    assert value("true or late > 3") is True
    with pytest.raises(NoValueError, match="not computed yet in iteration 12 at column 10 of 'true and late > 3'"):
        value("true and late > 3")


def test_a_value_that_is_not_there_is_told_from_an_unknown_name() -> None:
    with pytest.raises(ScopeError):
        value("late")
    assert not isinstance(error("hh"), ScopeError)
    assert isinstance(error("hh"), UsageError)
    assert error("hh").exit_status == 2


@pytest.mark.parametrize(
    ("text", "position", "problem", "hint"),
    [
        ("abs(hh) > 3", 4, "unknown name 'hh'", "did you mean 'h'?"),
        ("`/rnn/h:1` + 1", 0, "unknown name '/rnn/h:1'", "did you mean '`/rnn/h:0`'?"),
        ("h + itr", 4, "unknown name 'itr'", "did you mean 'iter'?"),
        ("FLAG", 0, "unknown name 'FLAG'", "did you mean 'flag'?"),
        ("mx(h)", 0, "no function 'mx'", "did you mean 'max'?"),
        ("h.shape[0]", 1, "values have no attributes", "write shape(h)"),
        ("a.b + 1", 1, "values have no attributes", "if the name is 'a.b', write it between backquotes"),
        ("1 + ", 4, "it ends where a value should come", ""),
        ("1 2", 2, "unexpected '2'", "an operator or the end should come here"),
        ("(1 + 2", 0, "'(' is not closed", ""),
        ("h[1", 1, "'[' is not closed", ""),
        ("max(h", 3, "'(' is not closed", ""),
        ("h[]", 1, "an empty index", ""),
        ("(1, 2)", 2, "unexpected ','", "lists are written [1, 2]"),
        ("'abc", 0, "a string that is not closed", ""),
        ("`abc", 0, "a backquote that is not closed", ""),
        (r"'a\q'", 2, r"an unknown escape '\q'", r"write '\\' for a backslash"),
        ("12abc", 0, "a number that cannot be read", ""),
        ("1.2.3", 0, "a number that cannot be read", ""),
        ("1e", 0, "a number that cannot be read", ""),
        ("x = 3", 2, "unexpected '='", "write '==' to compare"),
        ("x > 1 && n", 6, "unexpected '&'", "write 'and' for truth values"),
        ("!flag", 0, "unexpected '!'", "write 'not', or '!=' to compare"),
        ("x ^ 2", 2, "unexpected '^'", "write '**' for powers"),
        ("/rnn/h", 0, "unexpected '/'", "names with such characters are written between backquotes: `/rnn/h:0`"),
        ("x@h", 2, "after '@' comes an iteration", "write x@40 or x@(iter - 3)"),
        ("x@1.5", 2, "iterations are whole numbers", ""),
        ("x@(1.5)", 3, "a number where a whole number is needed", ""),
        ("x@(-1)", 3, "there is no iteration -1", ""),
        ("prev(prev(x))", 0, "an earlier iteration of an earlier iteration", "write x@(iter - 2) for two back"),
        ("prev(cond)", 5, "the condition of an earlier iteration is not kept", "name the value that yields it"),
        ("max(h, 1)", 7, "too many arguments: max(x)", ""),
        ("max()", 0, "'x' is missing: max(x)", ""),
        ("allclose(h, h, tol=1)", 15, "no parameter 'tol': allclose(a, b[, rtol, atol])", ""),
        ("allclose(h, a=h)", 12, "'a' is given twice", ""),
        ("h(1)", 0, "no function 'h'", None),
        ("h + [1, 2]", 2, "shapes [2,3] and [2] do not fit", ""),
        ("h[2]", 1, "index 2 is outside of axis 0, of length 2", ""),
        ("h[0, -4]", 1, "index -4 is outside of axis 1, of length 3", ""),
        ("h[0, 0, 0]", 1, "3 indices for float32 [2,3], which has 2 axes", ""),
        ("h[..., ...]", 1, "'...' stands twice in an index", ""),
        ("h[::0]", 1, "a slice with step 0", ""),
        ("h[1.0]", 2, "a number where a whole number is needed", ""),
        ("h[true]", 2, "true or false where a whole number is needed", ""),
        ("h[k]", 2, "int8 [3] where one number is needed", ""),
        ("seq[2]", 3, "index 2 is outside of the list, of length 2", ""),
        ("seq + 1", 4, "a list of tensors where numbers are needed", "name one of them, as in x[0]"),
        ("abs(seq)", 0, "a list of tensors where numbers are needed", "name one of them, as in x[0]"),
        ("3[0]", 1, "a number cannot be indexed", ""),
        ("nothing + 1", 8, "none where numbers are needed", ""),
        ("nothing[0]", 7, "none cannot be indexed", ""),
        ("nothing < 1", 8, "'<' between none and a number", "only == and != are defined here"),
        ("'a' < 'b'", 4, "'<' between a string and a string", "only == and != are defined here"),
        ("'a' + 'b'", 4, "a string where numbers are needed", ""),
        ("s * 2", 2, "string [2] where numbers are needed", ""),
        ("h == 'a'", 2, "cannot compare float32 [2,3] with a string", ""),
        ("[1, 2] + 1", 7, "arithmetic on a list", "take one of its items, as in x[0]"),
        ("[1, 2] == 1", 7, "cannot compare a list of 2 with a number", ""),
        ("[[1], 2] + h", 9, "a list of lists and other things where numbers are needed", ""),
        ("[[1], [1, 2]] + h", 14, "lists of different lengths where numbers are needed", ""),
        ("flags and true", 0, "2 truth values where one is needed", "say which: any(...) or all(...)"),
        ("true and x", 9, "float32 [] where true or false is needed", "compare it, as in ... > 0"),
        ("not 3", 4, "a number where true or false is needed", "compare it, as in ... > 0"),
        ("flags - flags", 6, "'-' is not defined on bool [2] and bool [2]", ""),
        ("k + 300", 2, "300 does not fit into int8", ""),
        ("full_like(k, 1.5)", 0, "1.5 does not fit into int8", ""),
        ("n ** -2", 2, "a whole number to a negative power", "write 1 / x ** n, or 1.0 * x ** -n"),
        ("2 ** 10000", 2, "a power of more than 1000 bits", "write 2.0 ** n for an approximation"),
        ("1 // 0", 2, "a whole number divided by zero", ""),
        ("max(empty)", 0, "float32 [0,3] has no elements", ""),
        ("argmin(empty)", 0, "float32 [0,3] has no elements", ""),
        ("len(x)", 0, "float32 [] has no length", ""),
        ("shape(seq)", 0, "a list has no shape", "len(x) counts its items; shape(x[0]) is that of the first"),
        ("zeros_like(3)", 0, "a number where a tensor is needed", ""),
        ("where(h, 1, 2)", 0, "float32 [2,3] where true or false is needed", "compare it, as in where(x > 0, a, b)"),
        ("allclose(h, h, -1)", 0, "rtol is a plain number from 0 on", ""),
    ],
)
def test_errors_point_at_the_character(text: str, position: int, problem: str, hint: str | None) -> None:
    found = error(text)
    assert (found.position, found.problem, found.text) == (position, problem, text)
    if hint is not None:
        assert found.hint == hint
        assert found.message == f"{problem} at column {position + 1} of '{text}'" + (f"; {hint}" if hint else "")
    assert str(found) == found.message


def test_the_text_is_empty() -> None:
    for text in ("", "  "):
        with pytest.raises(ExpressionError, match=r"^an empty expression$"):
            parse(text)


def test_the_caret() -> None:
    assert error("abs(hh) > 3").pointed() == "abs(hh) > 3\n    ^ unknown name 'hh'; did you mean 'h'?"
    # Wide characters take two columns, tabs and line ends are shown as escapes.
    assert error("'日本' == hh").pointed() == "'日本' == hh\n" + " " * 10 + "^ unknown name 'hh'; did you mean 'h'?"
    assert error("1 +\n hh").pointed().split("\n")[0] == r"1 +\n hh"
    assert error("1 +\n hh").pointed().split("\n")[1].startswith(" " * 6 + "^")


def test_a_long_text_is_shown_around_the_place() -> None:
    found = error("n + " * 40 + "hh" + " + n" * 40)
    assert found.position == 160
    assert re.fullmatch(
        r"unknown name 'hh' at column 161 of '…( \+ n|n \+ |[n +]){5,}hh.*…'; did you mean 'h'\?", found.message
    )
    shown, caret = found.pointed().split("\n")
    assert shown[caret.index("^") :].startswith("hh + n")
    assert len(shown) < 80


def test_conditions_are_one_truth_value() -> None:
    assert parse("flag").truth(SCOPE) is True
    assert parse("x > 2").truth(SCOPE) is True
    assert parse("all(h > 2)").truth(SCOPE) is False
    for text, problem in (
        ("h > 2", "6 truth values where one is needed"),
        ("x", r"float32 \[\] where true or false is needed"),
        ("'a'", "a string where true or false is needed"),
        ("nothing", "none where true or false is needed"),
        ("seq", "a list of 2 where true or false is needed"),
    ):
        with pytest.raises(ExpressionError, match=problem):
            parse(text).truth(SCOPE)
    with pytest.raises(ExpressionError, match="none where true or false is needed"):
        parse("cond").truth(Values(condition=None))


def test_what_an_expression_reads() -> None:
    expression = parse("max(abs(h)) > `/rnn/h:0` + iter and cond and max == 3")
    assert expression.names == {"h", "/rnn/h:0", "max"}
    assert not expression.uses_history
    assert expression.text.startswith("max(abs(h))")
    for text in ("prev(h)", "delta(h) > 1", "1 + h@3", "init(h)"):
        assert parse(text).uses_history
        assert parse(text).names == {"h"}


def test_other_expressions_in_place_of_names() -> None:
    pattern = parse("any(abs(x - prev(x)) >= level) or x == `x y`")
    filled = pattern.filled(x=parse("h[0, x] * 2"), level=0.5)
    assert filled.names == {"h", "x", "x y"}
    assert pattern.names == {"x", "level", "x y"}
    assert parse("prev(x) + x").filled(x=parse("k[0] * 3")).evaluate(SCOPE) == 4.5
    assert parse("[x, -x][0] + max(x)").filled(x=2.5).evaluate(SCOPE) == 5


def test_escapes() -> None:
    assert value(r"'\x41\u00e9\U0001f600\n``'") == "Aé😀\n``"
    assert parse(r"`\x41``\n`").names == {"A`\n"}
    for text in (r"'\x4'", r"'\U00110000'", r"`\q`"):
        assert error(text).problem.startswith("an unknown escape") and error(text).position == 1


def test_a_trip_count() -> None:
    scope = Values(trip_count=20)
    assert parse("trip_count - iter").evaluate(scope) == 8
    assert parse("iter / trip_count").evaluate(scope) == 0.6


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


@pytest.mark.parametrize(
    ("place", "new", "expected"),
    [
        ("h", "zeros_like(h)", np.zeros((2, 3))),
        ("h", "0.5", np.full((2, 3), 0.5)),
        ("h[0, 2]", "1.5", [[1, -2, 1.5], [0, 8, 2]]),
        ("h[0]", "[4, 5, 6]", [[4, 5, 6], [0, 8, 2]]),
        ("h[:, -1]", "0", [[1, -2, 0], [0, 8, 0]]),
        ("h[..., n - 5]", "h[..., 1]", [[-2, -2, 3.5], [8, 8, 2]]),
        ("h[0, 0]", f"{10**30}", [[1e30, -2, 3.5], [0, 8, 2]]),
        ("h[0, 0]", "nan", [[np.nan, -2, 3.5], [0, 8, 2]]),
        ("n", "3.0", 3),
        ("n", "n + 1", 6),
        ("k[1:]", "[7, -7]", [1, 7, -7]),
        ("flag", "false", [False]),
        ("flag", "0", [False]),
        ("s[0]", "'maybe'", ["maybe", "no"]),
        ("b", "[0.25, 3]", [0.25, 3]),
        ("q[0]", "-1", [-1, -8]),
        ("`/rnn/h:0`", "2", 2),
    ],
)
def test_assignments(place: str, new: str, expected: Any) -> None:
    target = parse_target(place)
    old = SCOPE.values[target.name]
    before = old.copy()
    result = assign(old, target, value(new), SCOPE)
    assert result.dtype == old.dtype and result.shape == old.shape
    np.testing.assert_array_equal(result, np.array(expected, old.dtype))
    assert old.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("place", "new", "problem"),
    [
        ("n", "1.5", "1.5 does not fit into int64"),
        ("n", "nan", "nan does not fit into int64"),
        ("k", "200", "200 does not fit into int8"),
        ("u", "-1", "-1 does not fit into uint8"),
        ("n", "2 ** 63", "9223372036854775808 does not fit into int64"),
        ("n", "2.0 ** 63", "9.223372036854776e+18 does not fit into int64"),
        ("h", "1e300", "1e+300 does not fit into float32"),
        ("half", "70000", "70000 does not fit into float16"),
        ("flag", "2", "2 does not fit into bool"),
        ("q", "8", "8 does not fit into int4"),
        ("h", "z", "a value of type complex64 does not fit into float32"),
        ("h", "'a'", "a value of type string does not fit into float32"),
        ("s", "1", "1 does not fit into string"),
        ("n", f"{10**30}", f"{10**30} does not fit into"),
        ("h", "none", "none where a tensor is needed"),
        ("h", "seq", "a list of tensors where one tensor is needed"),
        ("h", "[[1], [1, 2]]", "not numbers of one shape, where float32 is needed"),
        ("h", "k", "a value of shape [2,3] cannot take [3]"),
        ("h[0]", "[1, 2]", "a place of shape [3] cannot take [2]"),
        ("h[0, 3]", "1", "index 3 is outside of axis 1, of length 3"),
        ("h[..., 3]", "1", "index 3 is outside of axis 1, of length 3"),
        ("h[0, 0, 0]", "1", "3 indices for a value of 2 axes"),
        ("seq", "1", "one value where a list is needed"),
        ("seq[5]", "1", "index 5 is outside of the list, of length 2"),
    ],
)
def test_assignments_that_would_lose_something(place: str, new: str, problem: str) -> None:
    target = parse_target(place)
    with pytest.raises(ExpressionError, match=re.escape(problem)) as caught:
        assign(SCOPE.values[target.name], target, value(new), SCOPE)
    assert caught.value.text == place


def test_a_number_too_large_for_any_float_does_not_fit() -> None:
    with pytest.raises(ExpressionError, match="does not fit into float32"):
        assign(SCOPE.values["h"], parse_target("h"), 10**400, SCOPE)


def test_assignments_to_sequences() -> None:
    seq = SCOPE.values["seq"]
    result = assign(seq, parse_target("seq[0]"), np.float64(2), SCOPE)
    np.testing.assert_array_equal(result[0], np.full(3, 2, np.float32))
    assert result[0].dtype == np.float32 and not seq[0].any()
    result = assign(seq, parse_target("seq[1, 0, 1]"), 9, SCOPE)
    np.testing.assert_array_equal(result[1], [[1, 9], [1, 1]])
    assert len(assign(seq, parse_target("seq"), seq[:1], SCOPE)) == 1
    assert assign(None, parse_target("nothing"), np.array(1), SCOPE) == 1


def test_targets() -> None:
    assert (parse_target("h").name, parse_target("h").state, parse_target("h").index) == ("h", False, ())
    assert (parse_target("cond").name, parse_target("cond").state) == ("cond", True)
    assert (parse_target("`cond`").name, parse_target("`cond`").state) == ("cond", False)
    assert parse_target("trip_count").state
    assert parse_target("h[0, n - 4:]").entries(SCOPE) == (0, slice(1, None, None))
    for text, problem in (
        ("iter", "cannot be set at column 1 of 'iter'; a value of that name is written `iter`"),
        ("h + 1", "only a name, or a name with an index, can be set"),
        ("prev(h)", "only a name"),
        ("h@3", "only a name"),
        ("3", "cannot be set"),
        ("h[0][1]", "only a name"),
        ("", "an empty expression"),
    ):
        with pytest.raises(ExpressionError, match=re.escape(problem)):
            parse_target(text)


NAMES = ["h", "h_new", "hidden", "/rnn/LSTM_output_0", "max", "x:0"]


@pytest.mark.parametrize(
    ("typed", "start", "found"),
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
def test_completions(typed: str, start: int, found: list[str]) -> None:
    assert completion_start(typed, len(typed)) == start
    assert completions(typed, len(typed), NAMES) == found


def test_completions_of_nothing_offer_everything() -> None:
    found = completions("", 0, NAMES)
    assert found[:6] == ["`/rnn/LSTM_output_0`", "h", "h_new", "hidden", "`max`", "`x:0`"]
    assert {"iter", "delta(", "norm(", "not"} <= set(found)
    assert completions("abs(", 4, ["h"])[0] == "h"
    # In the middle of a line only what stands before the cursor counts.
    assert completions("hi + 3", 2, NAMES) == ["hidden", "history("]


def test_shown_on_one_line() -> None:
    assert show(value("x")) == "2.5"
    assert show(value("x > 1")) == "true"
    assert show(value("h")) == "[[1.0, -2.0, 3.5], [0.0, 8.0, 2.0]]"
    assert show(value("h"), 20) == "float32 [2,3]  min -2 max 8 mean 2.08"
    assert show(value("shape(h)")) == "[2, 3]"
    assert show(value("seq")) == "[[0.0, 0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]]"
    assert show(value("seq"), 10) == "[2 items]"
    assert show(value("s")) == '["yes", "no"]'
    assert show(value("dtype(h)")) == '"float32"'
    assert show(value("nothing")) == "none"
    assert show(value("empty")) == "empty [0,3]"
    assert show(value("inf")) == "inf"
