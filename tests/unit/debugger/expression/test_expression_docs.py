"""The page on expressions: its examples give the stated results, and it lists every function and word."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.expression.expression import ExpressionError, format_value, parse
from loopdbg.debugger.expression.functions import FUNCTIONS
from loopdbg.debugger.expression.parser import TIME_SHIFT_FUNCTIONS
from loopdbg.debugger.expression.tokens import CONSTANTS, OPERATOR_WORDS, STATE_WORDS
from loopdbg.debugger.scope.frame_scope import FrameScope

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "expressions.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"```\n# (\w+), before iteration (\d+)\n(.*?)```", re.S)
EXAMPLES = [
    (model, int(iteration), *pair)
    for model, iteration, lines in _BLOCK.findall(PAGE)
    for pair in re.findall(r">>> (.*)\n(.*)\n", lines)
]


@cache
def session(name: str, iteration: int) -> loopdbg.Session:
    path = ROOT / "sample_models" / name
    started = loopdbg.debug(path.with_suffix(".onnx"), dict(np.load(path.with_suffix(".inputs.npz"))))
    started.step(iteration)
    assert started.frame.iteration == iteration
    return started


def test_page_has_examples() -> None:
    assert len(EXAMPLES) > 25
    assert PAGE.count(">>> ") == len(EXAMPLES)


@pytest.mark.parametrize(("model", "iteration", "text", "expected"), EXAMPLES)
def test_example_gives_its_result(model: str, iteration: int, text: str, expected: str) -> None:
    index = session(model, iteration)
    scope = FrameScope(index.frame, index.frame.history)
    try:
        shown = format_value(parse(text).evaluate(scope))
    except ExpressionError as error:
        shown = f"! {error.problem}"
    assert shown == expected


def test_table_lists_every_function() -> None:
    table = PAGE.split("## Functions")[1].split("```")[0]
    listed = {name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`(\w+)\(", row)}
    assert listed == {*FUNCTIONS, *TIME_SHIFT_FUNCTIONS}
    for name, function in FUNCTIONS.items():
        assert f"`{function.usage}`" in table, name


def test_every_word_is_on_the_page() -> None:
    for word in (*STATE_WORDS, *OPERATOR_WORDS, *(word for word in CONSTANTS if word.islower())):
        assert f"`{word}`" in PAGE, word
