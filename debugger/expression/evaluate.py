"""Evaluation of expressions on the values of a scope."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import numpy as np

from ...runtime.errors import one_line
from ...runtime.ops.eager import EagerPrimitives
from ...runtime.text import close_matches
from .errors import EvaluationProblem, ExpressionError, NoValueError, ScopeError, UnknownNameError
from .functions import FUNCTIONS
from .nodes import (
    Binary,
    Call,
    Compare,
    Constant,
    EllipsisIndex,
    ExpressionNode,
    Index,
    ListLiteral,
    Logic,
    Name,
    SliceIndex,
    StateVariable,
    TimeShift,
    Unary,
)
from .operator_semantics import Calculator, normalize_index
from .tokens import RESERVED, quote
from .value_types import Value, describe_value, is_tensor


class Scope(Protocol):
    """The values for an expression: a position in a running or recorded loop.

    The methods raise :class:`~.errors.ScopeError` if there is no value, and
    :class:`~.errors.UnknownNameError` if there is no such name.
    """

    @property
    def iteration(self) -> int:
        """The running iteration, or at a boundary the next one."""

    @property
    def trip_count(self) -> int | None:
        """The maximum number of iterations; None: no limit."""

    @property
    def condition(self) -> bool | None:
        """The execution condition; None if the loop has none."""

    def names(self) -> Collection[str]:
        """All names that have a value now."""

    def value(self, name: str) -> Any:
        """The current value."""

    def previous(self, name: str) -> Any:
        """The value one iteration earlier."""

    def initial(self, name: str) -> Any:
        """The value in iteration 0."""

    def value_at(self, name: str, iteration: int) -> Any:
        """The value in an iteration of this entry of the loop."""

    def history(self, name: str) -> Any:
        """One number for each iteration of this entry so far: the value, or its norm."""


_FAILURES = (
    ValueError,
    TypeError,
    OverflowError,
    MemoryError,
    IndexError,
    ZeroDivisionError,
    FloatingPointError,
    np.exceptions.DTypePromotionError,
)


class TreeWalker:
    """Evaluates a tree bottom up; subclasses define leaves and truth values."""

    def __init__(self, text: str, calculator: Calculator) -> None:
        self.text = text
        self.calculator = calculator

    def evaluate(self, node: ExpressionNode) -> Value:
        """The value of a node.

        Raises:
            ExpressionError: it cannot be computed.
        """
        try:
            return _VISIT[type(node)](self, node)
        except EvaluationProblem as problem:
            raise self.make_error(problem.problem, node.position, problem.hint) from None
        except _FAILURES as error:
            raise self.make_error(one_line(error), node.position) from None

    def make_error(self, problem: str, position: int, hint: str = "") -> ExpressionError:
        return ExpressionError(self.text, position, problem, hint)

    # -- one method per node type

    def visit_constant(self, node: Constant) -> Value:
        return node.value

    def visit_name(self, node: Name) -> Value:
        raise NotImplementedError

    def visit_state_variable(self, node: StateVariable) -> Value:
        raise NotImplementedError

    def visit_time_shift(self, node: TimeShift) -> Value:
        raise NotImplementedError

    def visit_logic(self, node: Logic) -> Value:
        raise NotImplementedError

    def evaluate_not(self, node: Unary) -> Value:
        raise NotImplementedError

    def visit_list_literal(self, node: ListLiteral) -> Value:
        return [self.evaluate(item) for item in node.items]

    def visit_unary(self, node: Unary) -> Value:
        if node.sign == "not":
            return self.evaluate_not(node)
        return self.calculator.unary(np.negative if node.sign == "-" else np.positive, self.evaluate(node.operand))

    def visit_binary(self, node: Binary) -> Value:
        return self.calculator.binary(node.sign, self.evaluate(node.left), self.evaluate(node.right))

    def visit_compare(self, node: Compare) -> Value:
        values = [self.evaluate(operand) for operand in node.operands]
        result: Value = None
        for k, (sign, position) in enumerate(zip(node.signs, node.positions, strict=True)):
            try:
                comparison = self.calculator.compare(sign, values[k], values[k + 1])
                result = comparison if result is None else self.calculator.conjunction(result, comparison)
            except EvaluationProblem as problem:
                raise self.make_error(problem.problem, position, problem.hint) from None
        return result

    def visit_call(self, node: Call) -> Value:
        return self.call_function(
            node, [None if argument is None else self.evaluate(argument) for argument in node.arguments]
        )

    def call_function(self, node: Call, arguments: Sequence[Value]) -> Value:
        return FUNCTIONS[node.function].compute(self.calculator, *arguments)

    def visit_index(self, node: Index) -> Value:
        return self.apply_index(node, self.evaluate(node.operand))

    def apply_index(self, node: Index, value: Value) -> Value:
        entries = [self.index_entry(entry) for entry in node.entries]
        if is_tensor(value):
            return self.calculator.index(value, entries)
        if not isinstance(value, list):
            raise EvaluationProblem(f"{describe_value(value)} cannot be indexed")
        if len(entries) != 1 or entries[0] is Ellipsis:
            raise EvaluationProblem("a list takes one index")
        if isinstance(entries[0], slice):
            return value[entries[0]]
        return value[normalize_index(entries[0], len(value), "the list")]

    def index_entry(self, node: ExpressionNode) -> Any:
        if isinstance(node, EllipsisIndex):
            return Ellipsis
        if isinstance(node, SliceIndex):
            parts = (node.start, node.stop, node.step)
            limits = [None if part is None else self.integer(part) for part in parts]
            if limits[2] == 0:
                raise EvaluationProblem("a slice with step 0")
            return slice(*limits)
        return self.integer(node)

    def integer(self, node: ExpressionNode) -> int:
        """The integer value of a node, for indices and iterations."""
        value = self.evaluate(node)
        try:
            number = self.calculator.as_number(value)
        except EvaluationProblem as problem:
            raise self.make_error(problem.problem, node.position, problem.hint) from None
        if isinstance(number, bool) or not isinstance(number, int):
            raise self.make_error(f"{describe_value(number)} where a whole number is needed", node.position)
        return number


_VISIT: dict[type[ExpressionNode], Callable[[Any, Any], Value]] = {
    Constant: lambda walker, node: walker.visit_constant(node),
    Name: lambda walker, node: walker.visit_name(node),
    StateVariable: lambda walker, node: walker.visit_state_variable(node),
    ListLiteral: lambda walker, node: walker.visit_list_literal(node),
    Unary: lambda walker, node: walker.visit_unary(node),
    Binary: lambda walker, node: walker.visit_binary(node),
    Compare: lambda walker, node: walker.visit_compare(node),
    Logic: lambda walker, node: walker.visit_logic(node),
    Index: lambda walker, node: walker.visit_index(node),
    Call: lambda walker, node: walker.visit_call(node),
    TimeShift: lambda walker, node: walker.visit_time_shift(node),
}


class ArrayCalculator(Calculator):
    """The calculator on NumPy arrays, which can read values."""

    def __init__(self) -> None:
        super().__init__(EagerPrimitives())

    def as_number(self, value: Value) -> Value:
        if is_tensor(value) and value.size == 1 and value.dtype.kind not in "OUST":
            return value.reshape(())[()].item()
        return super().as_number(value)

    def equal_tensors(self, a: Value, b: Value) -> bool:
        if isinstance(a, list) or isinstance(b, list) or a is None or b is None:
            return False
        shapes = [x.shape if is_tensor(x) else () for x in (a, b)]
        if shapes[0] != shapes[1]:
            return False
        is_text_ = [isinstance(x, str) or (is_tensor(x) and x.dtype.kind in "OUST") for x in (a, b)]
        if is_text_[0] != is_text_[1]:
            return False
        return bool(np.all(self.compare("==", a, b)))

    def equal_text(self, a: Value, b: Value) -> Value:
        if isinstance(a, str) and isinstance(b, str):
            return a == b
        sides = [np.array(x, object) if isinstance(x, str) else x for x in (a, b)]
        if not all(is_tensor(x) and x.dtype.kind in "OUST" for x in sides):
            raise EvaluationProblem(f"cannot compare {describe_value(a)} with {describe_value(b)}")
        shape = self.broadcast_shape(*sides)
        left, right = (np.broadcast_to(x, shape).reshape(-1).tolist() for x in sides)
        same = [_decode_text(x) == _decode_text(y) for x, y in zip(left, right, strict=True)]
        return np.array(same, np.bool_).reshape(shape)

    def truth(self, value: Value) -> bool:
        """The truth value of a condition, which must be one boolean."""
        checked = self.check_truth_value(value)
        return checked if isinstance(checked, bool) else bool(checked.reshape(())[()])


def _decode_text(item: Any) -> Any:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item


class Evaluator(TreeWalker):
    """Evaluates a tree on a scope."""

    calculator: ArrayCalculator

    def __init__(self, text: str, scope: Scope) -> None:
        super().__init__(text, ArrayCalculator())
        self.scope = scope
        #: Kind and iteration of the enclosing prev(...), init(...) or @.
        self.shift_kind: str = "now"
        self.shift_iteration = 0

    def visit_name(self, node: Name) -> Value:
        try:
            value = self._read_value(node.name)
        except UnknownNameError:
            raise self._unknown_name_error(node) from None
        except ScopeError as error:
            raise NoValueError(self.text, node.position, one_line(error)) from None
        return self._as_language_value(value)

    def _read_value(self, name: str) -> Any:
        if self.shift_kind == "prev":
            return self.scope.previous(name)
        if self.shift_kind == "init":
            return self.scope.initial(name)
        return self.scope.value_at(name, self.shift_iteration) if self.shift_kind == "at" else self.scope.value(name)

    def _as_language_value(self, value: Any) -> Value:
        """Convert a value of the model to a value of the language: all numbers have a dtype."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bytes):
            return _decode_text(value)
        if isinstance(value, list | tuple):
            items = [self._convert_sequence_item(item) for item in value]
            size = sum(item.size for item in items if is_tensor(item))
            self.calculator.largest_input_elements = max(self.calculator.largest_input_elements, size)
            return items
        array = np.asarray(value)
        self.calculator.largest_input_elements = max(self.calculator.largest_input_elements, array.size)
        self.calculator.charge_work(array.size)
        return array if array.flags.c_contiguous else array.copy(order="C")

    def _convert_sequence_item(self, value: Any) -> Value:
        """Convert an item of a sequence; work is charged on use: the length of a sequence reads no items."""
        convert = value is None or isinstance(value, str | bytes | list | tuple)
        return self._as_language_value(value) if convert else np.asarray(value)

    def apply_index(self, node: Index, value: Value) -> Value:
        item = super().apply_index(node, value)
        return self._as_language_value(item) if isinstance(value, list) and is_tensor(item) else item

    def _unknown_name_error(self, node: Name) -> ExpressionError:
        similar = close_matches(node.name, self.scope.names())
        hint = f"did you mean {' or '.join(repr(quote(name)) for name in similar)}?" if similar else ""
        words = [] if similar else close_matches(node.name, (*FUNCTIONS, *RESERVED))
        if words:
            hint = f"did you mean {' or '.join(repr(word) for word in words)}?"
        return self.make_error(f"unknown name '{node.name}'", node.position, hint)

    def visit_state_variable(self, node: StateVariable) -> Value:
        scope = self.scope
        try:
            if node.name == "iter":
                if self.shift_kind in ("at", "init"):
                    return self.shift_iteration
                return (
                    self._previous_iteration(int(scope.iteration))
                    if self.shift_kind == "prev"
                    else int(scope.iteration)
                )
            if node.name == "trip_count":
                return math.inf if scope.trip_count is None else int(scope.trip_count)
            if self.shift_kind != "now":
                raise EvaluationProblem(
                    "the condition of an earlier iteration is not kept", "name the value that yields it"
                )
            return None if scope.condition is None else bool(scope.condition)
        except ScopeError as error:
            raise NoValueError(self.text, node.position, one_line(error)) from None

    def _previous_iteration(self, iteration: int) -> int:
        if iteration < 1:
            raise ScopeError("there is no iteration before iteration 0")
        return iteration - 1

    def visit_time_shift(self, node: TimeShift) -> Value:
        self.shift_iteration = 0
        if isinstance(node.operand, Name) and node.kind == "all":
            return self._history(node.operand)
        if node.iteration is not None:
            self.shift_iteration = self.integer(node.iteration)
            if self.shift_iteration < 0:
                # A varying number may be valid in later iterations; a constant is an error.
                varies = any(isinstance(part, Name | StateVariable) for part in node.iteration.walk())
                kind = NoValueError if varies else ExpressionError
                raise kind(self.text, node.iteration.position, f"there is no iteration {self.shift_iteration}")
        self.shift_kind = node.kind
        try:
            return self.evaluate(node.operand)
        finally:
            self.shift_kind, self.shift_iteration = "now", 0

    def _history(self, node: Name) -> Value:
        try:
            return self._as_language_value(self.scope.history(node.name))
        except UnknownNameError:
            raise self._unknown_name_error(node) from None
        except ScopeError as error:
            raise NoValueError(self.text, node.position, one_line(error)) from None

    def visit_logic(self, node: Logic) -> Value:
        for operand in node.operands:
            if self.truth(operand) == (node.operator == "or"):
                return node.operator == "or"
        return node.operator == "and"

    def evaluate_not(self, node: Unary) -> Value:
        return not self.truth(node.operand)

    def truth(self, node: ExpressionNode) -> bool:
        try:
            return self.calculator.truth(self.evaluate(node))
        except EvaluationProblem as problem:
            raise self.make_error(problem.problem, node.position, problem.hint) from None


def evaluate(text: str, tree: ExpressionNode, scope: Scope) -> Any:
    """The value of a tree: an array, a scalar of its dtype, a bool, a string, None, or a list of such."""
    return to_python_value(_evaluate_text(text, tree.position, scope, lambda evaluator: evaluator.evaluate(tree)))


def evaluate_truth(text: str, tree: ExpressionNode, scope: Scope) -> bool:
    """The truth value of a tree."""
    result: bool = _evaluate_text(text, tree.position, scope, lambda evaluator: evaluator.truth(tree))
    return result


def evaluate_index(text: str, nodes: Collection[ExpressionNode], scope: Scope) -> tuple[Any, ...]:
    """The entries of an index."""

    def run(evaluator: Evaluator) -> tuple[Any, ...]:
        entries = []
        for node in nodes:
            try:
                entries.append(evaluator.index_entry(node))
            except EvaluationProblem as problem:
                raise evaluator.make_error(problem.problem, node.position, problem.hint) from None
        return tuple(entries)

    result: tuple[Any, ...] = _evaluate_text(text, 0, scope, run)
    return result


def _evaluate_text(text: str, position: int, scope: Scope, run: Callable[[Evaluator], Any]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return run(Evaluator(text, scope))
        except RecursionError:
            raise ExpressionError(text, position, "too deep to compute from here") from None


def to_python_value(value: Value) -> Any:
    """Convert a result for the caller: tensors without axes to scalars, one truth value to a bool."""
    if isinstance(value, list):
        return [to_python_value(item) for item in value]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        scalar: Any = value[()]
        return bool(scalar) if value.dtype == np.bool_ else _decode_text(scalar)
    return value
