"""Expressions over the values of a loop: conditions of breakpoints, ``print``, ``display``, ``set``.

The language is described in ``docs/expressions.md``. It is read by a parser of its own and computed on copies with
NumPy: there is no attribute access, nothing but the functions of its table can be called, and what one expression may
compute is bounded. ::

    >>> parse("max(abs(h)) > 1e3").truth(scope)
    False

Everything that can be wrong with an expression is an :class:`ExpressionError`, which points at the character.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..value_text import scalar_text, value_text
from . import evaluate as _evaluate
from .assignment import AssignmentTarget, parse_target, replace_value
from .completion import completion_start, completions
from .errors import ExpressionError, NoValueError, ScopeError, UnknownNameError
from .evaluate import Scope
from .lowering import InputRef, LoweredCondition, lower_condition
from .nodes import Constant, ExpressionNode, Name, StateVariable, TimeShift
from .parser import parse_tree
from .tokens import quote
from .type_check import TypeLookup
from .type_check import check_condition as _check_condition

__all__ = [
    "AssignmentTarget",
    "Expression",
    "ExpressionError",
    "InputRef",
    "LoweredCondition",
    "NoValueError",
    "Scope",
    "ScopeError",
    "UnknownNameError",
    "completion_start",
    "completions",
    "format_value",
    "parse",
    "parse_target",
    "quote",
    "replace_value",
]


class Expression:
    """An expression that was read; it can be computed any number of times."""

    def __init__(self, text: str, tree: ExpressionNode) -> None:
        self.text = text
        self._tree = tree
        #: The names of the values that it reads.
        self.names = frozenset(node.name for node in tree.walk() if isinstance(node, Name))
        #: Those of them that it reads as they are now.
        self.current_names = frozenset(_current_names(tree))
        #: Whether it asks for what a loop is doing, or for other iterations than the present one.
        self.uses_loop = any(isinstance(node, TimeShift | StateVariable) for node in tree.walk())
        #: Whether it reads other iterations than the present one.
        self.uses_history = any(isinstance(node, TimeShift) for node in tree.walk())

    def __repr__(self) -> str:
        return f"<Expression {self.text!r}>"

    def evaluate(self, scope: Scope) -> Any:
        """Its value: an array, a scalar of its dtype, a bool, a string, None, or a list of such.

        Raises:
            ExpressionError: it cannot be computed here.
            NoValueError: something that it reads has no value now; a :class:`ScopeError` as well.
        """
        return _evaluate.evaluate(self.text, self._tree, scope)

    def truth(self, scope: Scope) -> bool:
        """Whether it holds, as a condition.

        Raises:
            ExpressionError: it cannot be computed here, or is not one truth value.
        """
        return _evaluate.evaluate_truth(self.text, self._tree, scope)

    def check_condition(self, types: TypeLookup) -> None:
        """See that it can be one truth value, as far as types tell. ``types``: of each name what is known of its value,
        None for nothing.

        Raises:
            ExpressionError: it is none, whatever the values are.
        """
        _check_condition(self.text, self._tree, types)

    def substitute(self, **given: Expression | float) -> Expression:
        """The same with other expressions, or numbers, in place of names. What it then says of places is about its own
        text."""
        trees = {
            name: one._tree if isinstance(one, Expression) else Constant(position=0, value=one)
            for name, one in given.items()
        }
        return Expression(self.text, self._tree.substitute(trees))

    def lower(self) -> LoweredCondition | None:
        """As an operator that the engine can hold at each boundary without Python; None where there is none."""
        return lower_condition(self.text, self._tree)


def _current_names(tree: ExpressionNode) -> Iterator[str]:
    """The names that stand outside of what is read in another iteration."""
    if isinstance(tree, Name):
        yield tree.name
    if isinstance(tree, TimeShift):
        return
    for child in tree.children():
        yield from _current_names(child)


def parse(text: str) -> Expression:
    """Read an expression.

    Raises:
        ExpressionError: the text is none.
    """
    try:
        return Expression(text, parse_tree(text))
    except RecursionError:
        raise ExpressionError(text, 0, "too deep to read from here") from None


def format_value(value: Any, width: int = 80) -> str:
    """The value of an expression on one line: a small one in full, a large one by dtype, shape and statistics."""
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(format_value(item, width))
            if sum(map(len, items)) + 2 * len(items) > width:
                return value_text(value, width)
        return f"[{', '.join(items)}]"
    if isinstance(value, str):
        return scalar_text(value)
    if isinstance(value, np.ndarray) and value.ndim and value.size:
        text = value_text(value, width)
        if text.startswith("["):
            return text
        name = "string" if value.dtype.kind in "OUST" else value.dtype.name
        return f"{name} [{','.join(map(str, value.shape))}]  {text}"
    return value_text(value, width)
