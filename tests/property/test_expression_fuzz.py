"""Any text is an expression or a clean error, in bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hypothesis_settings import example_settings
from loopdbg.debugger.expression.expression import (
    ExpressionError,
    ScopeError,
    UnknownNameError,
    completion_start,
    completions,
    format_value,
    parse,
    parse_target,
    quote,
    replace_value,
)
from loopdbg.debugger.expression.functions import FUNCTIONS
from loopdbg.debugger.expression.parser import TIME_SHIFT_FUNCTIONS
from loopdbg.debugger.expression.tokens import MAX_EXPRESSION_CHARS, RESERVED
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import NoNativeKernel

VALUES: dict[str, Any] = {
    "h": np.array([[1, -2, 3.5], [0, np.nan, np.inf]], np.float32),
    "n": np.array(5),
    "u": np.array([0, 255], np.uint8),
    "flag": np.array(True),
    "b": np.array([1.5, -2], ml_dtypes.bfloat16),
    "q4": np.array([1, -8], ml_dtypes.int4),
    "z": np.array([1 + 2j, 0]),
    "s": np.array(["a", "b"], object),
    "seq": [np.zeros(3, np.float32), np.ones((2, 2))],
    "nothing": None,
    "empty": np.zeros((0, 3), np.float32),
    "column": np.zeros((4000, 1)),
    "row": np.zeros((1, 4000)),
    "/rnn/h:0": np.array(2.5, np.float16),
    "max": np.array(7),
    "iter": np.array(-1),
}


class FuzzScope:
    """A scope with a value of each kind."""

    iteration, trip_count, condition = 12, None, None

    def names(self) -> Collection[str]:
        return list(VALUES)

    def value(self, name: str) -> Any:
        if name not in VALUES:
            raise UnknownNameError(name)
        return VALUES[name]

    def previous(self, name: str) -> Any:
        return self.value(name)

    def initial(self, name: str) -> Any:
        return self.value(name)

    def value_at(self, name: str, iteration: int) -> Any:
        if iteration > 12:
            raise ScopeError(f"iteration {iteration} has not run yet")
        return self.value(name)

    def history(self, name: str) -> Any:
        value = np.asarray(self.value(name))
        if value.dtype.kind not in "biuf":
            raise ScopeError(f"'{name}' has no history")
        return np.full(13, value.reshape(-1)[0] if value.size == 1 else np.nan)


@contextmanager
def bounded(seconds: float = 5) -> Iterator[None]:
    """Fail if a block takes too much processor time; wall time would depend on the load of the machine."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < seconds


def attempt(text: str) -> None:
    """Parse, evaluate and lower a text; it either succeeds or raises a clean error, in bounded time."""
    with bounded():
        _attempt(text)


def _attempt(text: str) -> None:
    try:
        expression = parse(text)
    except ExpressionError as error:
        check(error, text)
        return
    lowered = expression.lower()
    if lowered is not None:
        inputs = [np.array(12) if ref.kind == "iteration" else VALUES.get(ref.name) for ref in lowered.inputs]
        if all(isinstance(x, np.ndarray) for x in inputs):
            try:
                (result,) = lowered.op.apply(EagerPrimitives(), inputs)
                assert result.dtype == np.bool_ and result.shape == ()
            except NoNativeKernel:
                pass
    for run in (expression.evaluate, expression.truth):
        try:
            result = run(FuzzScope())
        except ExpressionError as error:
            check(error, text)
        else:
            assert isinstance(format_value(result), str)


def check(error: ExpressionError, text: str) -> None:
    assert error.text == text
    assert 0 <= error.position <= len(text)
    assert str(error) == error.message
    assert "\n" not in error.message and error.message.isprintable()
    assert len(error.message) < 1200


_WORDS = [*FUNCTIONS, *TIME_SHIFT_FUNCTIONS, *RESERVED, *(quote(name) for name in VALUES), "hh", "__class__", "iter"]
_SIGNS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "<",
    "<=",
    "==",
    "!=",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "...",
    "@",
    "=",
    ".",
]
_NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "12",
    "9999999999",
    "0.5",
    "1e308",
    "0x1F",
    "1_0",
    "'a'",
    '"b"',
    "99999999999999999999",
]
_TEXTS = st.lists(st.sampled_from([*_WORDS, *_SIGNS * 2, *_NUMBERS]), max_size=25).map(" ".join)


@example_settings(1500)
@given(_TEXTS)
def test_random_tokens_of_the_language(text: str) -> None:
    attempt(text)


@example_settings(1000)
@given(st.text(max_size=60))
@example("`")
@example("\x00")
@example("'\\")
@example("`a``")
@example("²")
@example("٣")
@example("1e")
@example("h.\u0000")
def test_random_characters(text: str) -> None:
    attempt(text)


@example_settings(500)
@given(st.text("abhn.()[]`'\"\\@+-*/% 0123456789exX_,:=<>!\n\té日", max_size=40))
def test_random_characters_of_the_language(text: str) -> None:
    attempt(text)


_LEAF = st.sampled_from(
    [*(quote(name) for name in VALUES), "iter", "0", "-3", "0.5", "2", "'a'", "none", "true", "[1, 2]"]
)
_BETWEEN = ["+", "-", "*", "/", "//", "%", "**", "<", "==", "!=", "and", "or"]
_TREES = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(_BETWEEN), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from([*FUNCTIONS, *TIME_SHIFT_FUNCTIONS]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda t: (
                f"{t[0]}({', '.join(t[1][: max(len(FUNCTIONS[t[0]].parameters), 1) if t[0] in FUNCTIONS else 1])})"
            )
        ),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}:, ...]"),
        inner.map(lambda x: f"{x}@3"),
        inner.map(lambda x: f"[{x}, 1]"),
        inner.map(lambda x: f"not -{x}"),
    ),
    max_leaves=10,
)


@example_settings(1500)
@given(_TREES)
def test_well_formed_expressions_on_all_kinds_of_values(text: str) -> None:
    attempt(text)


@example_settings(400)
@given(st.one_of(_TEXTS, _TREES), st.one_of(_LEAF, _TREES))
@example(place="h", new="s[n:, ...]")  # not a string
def test_random_assignments(place: str, new: str) -> None:
    try:
        with bounded():
            target = parse_target(place)
            value = parse(new).evaluate(FuzzScope())
            if target.name not in VALUES:
                return
            old = VALUES[target.name]
            result = replace_value(old, target, value, FuzzScope())
    except ExpressionError as error:
        assert error.text in (place, new)
        return
    if isinstance(old, np.ndarray):
        assert result.dtype == old.dtype and result.shape == old.shape and result is not old


@example_settings(400)
@given(st.text(max_size=30), st.integers(0, 40), st.lists(st.text(min_size=1, max_size=8), max_size=6))
def test_random_completions(text: str, cursor: int, names: list[str]) -> None:
    with bounded():
        all_found = list(completions(text, cursor, names))
    for item in all_found:
        index = completion_start(text, min(cursor, len(text)))
        assert 0 <= index <= len(text) and isinstance(item, str)


@given(st.text(min_size=1, max_size=40))
def test_every_name_can_be_written(name: str) -> None:
    assert parse(quote(name)).names == {name}


@pytest.mark.parametrize(
    "text",
    [
        "9" * 1999,
        "2 ** 2 ** 2 ** 2 ** 2 ** 2",
        "9999999999 ** 9999999999",
        "2.0 ** 9999999999",
        "n ** 9999999999",
        "(" * 900 + "n" + ")" * 900,
        "[" * 900,
        "-" * 1999 + "1",
        "not " * 490 + "true",
        "n" + "+n" * 900,
        "n" + " ** n" * 390,
        "abs(" * 400 + "n" + ")" * 400,
        "n" + "[0]" * 600,
        "n" + "@1" * 900,
        "row + column",
        "column * row * column",
        "+".join(["sum(row * column)"] * 90),
        "where(row > 0, column, 0)",
        "allclose(row, column)",
        "[row, row] == [column, column]",
        "max(" + ",".join("1" * 900) + ")",
        "`" * 1999,
        "'" + "\\n" * 990 + "'",
        "x" * 5000,
        "h[" + ",".join("0" * 900) + "]",
        "n" + " < n" * 400,
        "n < 1" + " and n < 1" * 190,
    ],
)
def test_work_is_bounded(text: str) -> None:
    tracemalloc.start()
    try:
        with bounded(20):
            _attempt(text)
        assert tracemalloc.get_traced_memory()[1] < 3 << 30
    finally:
        tracemalloc.stop()


def test_too_long_text_is_refused_at_once() -> None:
    with pytest.raises(ExpressionError, match=f"has 1000000 characters, more than {MAX_EXPRESSION_CHARS}"):
        parse("(" * 1_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "h.__class__",
        "h.shape.__class__",
        "(1).__class__",
        "'a'.format",
        "''.join",
        "[].append",
        "h .T",
        "h[0].tobytes",
        "1 .real",
    ],
)
def test_attribute_access_is_refused(text: str) -> None:
    with pytest.raises(
        ExpressionError, match=r"values have no attributes|unexpected '\.'|a number that cannot be read"
    ):
        parse(text)


@pytest.mark.parametrize(
    "name",
    ["eval", "exec", "open", "__import__", "getattr", "print", "type", "globals", "compile", "np", "h", "iter", "cond"],
)
def test_only_functions_can_be_called(name: str) -> None:
    with pytest.raises(ExpressionError, match=r"no function|only the functions of the language can be called"):
        parse(f"{name}('x')")
    with pytest.raises(ExpressionError, match="only the functions of the language can be called"):
        parse(f"`{name}`('x')")


@pytest.mark.parametrize("text", ["(abs)(h)", "[abs][0](h)", "abs(h)(h)", "`abs`(h)", "'abs'(h)", "prev(h)(0)"])
def test_functions_are_not_values(text: str) -> None:
    with pytest.raises(ExpressionError, match="only the functions of the language can be called"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["lambda: 1", "[x for x in h]", "h := 3", "import os", "{1: 2}", "f'{h}'", "h if n else u", "*h"]
)
def test_other_python_syntax_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)
