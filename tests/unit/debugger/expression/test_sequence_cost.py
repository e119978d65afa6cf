"""The cost of an expression on a sequence counts only the elements that it uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.expression.evaluate import Evaluator
from loopdbg.debugger.expression.operator_semantics import MAX_WORK_ELEMENTS
from loopdbg.debugger.expression.parser import parse_tree

ITEM = np.zeros(MAX_WORK_ELEMENTS // 32, np.float32)
#: Together more than the limit of one evaluation.
LONG = [ITEM] * 40


class SingleValueScope:
    """A scope with one value."""

    iteration, trip_count, condition = 0, None, None

    def names(self) -> list[str]:
        return ["x"]

    def value(self, name: str) -> Any:
        return LONG

    previous = initial = history = value

    def value_at(self, name: str, iteration: int) -> Any:
        return LONG


@pytest.mark.parametrize(
    ("text", "value", "items"),
    [
        ("len(x)", 40, 0),
        ("len(x) > 5", True, 0),
        ("shape(x[0])", [ITEM.size], 1),
        ("x[-1][0]", 0.0, 1),
        ("x[1][0] + x[2][0]", 0.0, 2),
        ("len(x[1:3])", 2, 0),
        ("len(x@0)", 40, 0),
    ],
)
def test_only_items_used_count(text: str, value: object, items: int) -> None:
    evaluator = Evaluator(text, SingleValueScope())
    assert evaluator.evaluate(parse_tree(text)) == value
    assert items * ITEM.size <= evaluator.calculator.computed_elements <= items * ITEM.size + 3
