"""The expression language: what it refuses, and the position that errors point to."""

from __future__ import annotations

import re

import pytest

from loopdbg.debugger.expression.expression import ExpressionError, parse

from .sample_scope import error


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
        ("h[..., ...]", 1, "'...' occurs twice in an index", ""),
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
    result = error(text)
    assert (result.position, result.problem, result.text) == (position, problem, text)
    if hint is not None:
        assert result.hint == hint
        assert result.message == f"{problem} at column {position + 1} of '{text}'" + (f"; {hint}" if hint else "")
    assert str(result) == result.message


def test_empty_text_is_an_error() -> None:
    for text in ("", "  "):
        with pytest.raises(ExpressionError, match=r"^an empty expression$"):
            parse(text)


def test_long_text_is_shown_around_the_error() -> None:
    result = error("n + " * 40 + "hh" + " + n" * 40)
    assert result.position == 160
    assert re.fullmatch(
        r"unknown name 'hh' at column 161 of '…( \+ n|n \+ |[n +]){5,}hh.*…'; did you mean 'h'\?", result.message
    )
