"""Expressions over the values of a loop: conditions of breakpoints, ``print``, ``display``, ``set``.

The language is described in ``docs/expressions.md``. It has its own parser and is evaluated on copies with NumPy: there
is no attribute access, only built-in functions can be called, and the work of one expression is limited. ::

    >>> parse("max(abs(h)) > 1e3").truth(scope)
    False

Every fault of an expression is an :class:`ExpressionError` with its position.
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
    """A parsed expression; it can be evaluated any number of times."""

    def __init__(self, text: str, tree: ExpressionNode) -> None:
        self.text = text
        self._tree = tree
        #: The names of the values that it reads.
        self.names: frozenset[str] = frozenset(node.name for node in tree.walk() if isinstance(node, Name))
        #: The names that it reads in the current iteration.
        self.current_names: frozenset[str] = frozenset(_names_read_in_iteration(tree))
        #: Whether it reads the loop state or other iterations.
        self.uses_loop: bool = any(isinstance(node, TimeShift | StateVariable) for node in tree.walk())
        #: Whether it reads other iterations.
        self.uses_history: bool = any(isinstance(node, TimeShift) for node in tree.walk())

    def __repr__(self) -> str:
        return f"<Expression {self.text!r}>"

    def evaluate(self, scope: Scope) -> Any:
        """Its value: an array, a scalar of its dtype, a bool, a string, None, or a list of these.

        Raises:
            ExpressionError: it cannot be evaluated here.
            NoValueError: a name in it has no value now; a :class:`ScopeError` as well.
        """
        return _evaluate.evaluate(self.text, self._tree, scope)

    def truth(self, scope: Scope) -> bool:
        """Its truth value as a condition.

        Raises:
            ExpressionError: it cannot be evaluated here, or is not one truth value.
        """
        return _evaluate.evaluate_truth(self.text, self._tree, scope)

    def check_condition(self, types: TypeLookup) -> None:
        """Check by types that it can be one truth value. ``types``: the known type of each name, None if unknown.

        Raises:
            ExpressionError: it is none for any values.
        """
        _check_condition(self.text, self._tree, types)

    def substitute(self, **terms: Expression | float) -> Expression:
        """The expression with names replaced by expressions or numbers. Error positions still refer to its own text."""
        trees = {
            name: value._tree if isinstance(value, Expression) else Constant(position=0, value=value)
            for name, value in terms.items()
        }
        return Expression(self.text, self._tree.substitute(trees))

    def lower(self) -> LoweredCondition | None:
        """The condition as an operator that the engine can test at each boundary without Python; None if there is
        none."""
        return lower_condition(self.text, self._tree)


def _names_read_in_iteration(tree: ExpressionNode) -> Iterator[str]:
    """The names that are read in the current iteration."""
    if isinstance(tree, Name):
        yield tree.name
    if isinstance(tree, TimeShift):
        return
    for child in tree.children():
        yield from _names_read_in_iteration(child)


def parse(text: str) -> Expression:
    """Parse an expression.

    Raises:
        ExpressionError: the text is no expression.
    """
    try:
        return Expression(text, parse_tree(text))
    except RecursionError:
        raise ExpressionError(text, 0, "too deep to read from here") from None


def format_value(value: Any, width: int = 80) -> str:
    """The value of an expression on one line: small values in full, large ones by dtype, shape and statistics."""
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
