"""Expressions computed now, from the values of a scope."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import numpy as np

from ...runtime.errors import one_line
from ...runtime.ops.eager import Eager
from ...runtime.text import near
from .calculator import Calculator, place
from .errors import ExpressionError, NoValueError, Problem, ScopeError, UnknownNameError
from .functions import FUNCTIONS
from .nodes import Binary, Call, Compare, Constant, Index, Items, Logic, Name, Node, Past, Range, Rest, State, Unary
from .tokens import RESERVED, quote
from .values import Value, describe, is_tensor


class Scope(Protocol):
    """Where an expression finds its values: a position in a running loop, or in a recorded one.

    The methods raise :class:`~.errors.ScopeError` where there is no value, and
    :class:`~.errors.UnknownNameError` where there is no such name.
    """

    @property
    def iteration(self) -> int:
        """The iteration that runs, or at a boundary the one that would run next."""

    @property
    def trip_count(self) -> int | None:
        """The most iterations allowed; None: no limit."""

    @property
    def condition(self) -> bool | None:
        """The execution condition; None where the loop has none."""

    def names(self) -> Collection[str]:
        """Everything that has a value now."""

    def value(self, name: str) -> Any:
        """The value now."""

    def previous(self, name: str) -> Any:
        """The value one iteration before that."""

    def initial(self, name: str) -> Any:
        """The value in iteration 0."""

    def at(self, name: str, iteration: int) -> Any:
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


class Walker:
    """Computes a tree bottom up; where leaves and truth come from is up to the subclass."""

    def __init__(self, text: str, calculator: Calculator) -> None:
        self.text = text
        self.calculator = calculator

    def value(self, node: Node) -> Value:
        """The value of a node.

        Raises:
            ExpressionError: it cannot be computed.
        """
        try:
            return _VISIT[type(node)](self, node)
        except Problem as problem:
            raise self.error(problem.problem, node.position, problem.hint) from None
        except _FAILURES as error:
            raise self.error(one_line(error), node.position) from None

    def error(self, problem: str, position: int, hint: str = "") -> ExpressionError:
        return ExpressionError(self.text, position, problem, hint)

    # -- one method a kind of node

    def constant(self, node: Constant) -> Value:
        return node.value

    def name(self, node: Name) -> Value:
        raise NotImplementedError

    def state(self, node: State) -> Value:
        raise NotImplementedError

    def past(self, node: Past) -> Value:
        raise NotImplementedError

    def logic(self, node: Logic) -> Value:
        raise NotImplementedError

    def negation(self, node: Unary) -> Value:
        raise NotImplementedError

    def items(self, node: Items) -> Value:
        return [self.value(item) for item in node.items]

    def unary(self, node: Unary) -> Value:
        if node.sign == "not":
            return self.negation(node)
        return self.calculator.unary(np.negative if node.sign == "-" else np.positive, self.value(node.operand))

    def binary(self, node: Binary) -> Value:
        return self.calculator.binary(node.sign, self.value(node.left), self.value(node.right))

    def compare(self, node: Compare) -> Value:
        values = [self.value(operand) for operand in node.operands]
        result: Value = None
        for k, (sign, position) in enumerate(zip(node.signs, node.positions, strict=True)):
            try:
                one = self.calculator.compare(sign, values[k], values[k + 1])
                result = one if result is None else self.calculator.both(result, one)
            except Problem as problem:
                raise self.error(problem.problem, position, problem.hint) from None
        return result

    def call(self, node: Call) -> Value:
        return self.called(node, [None if argument is None else self.value(argument) for argument in node.arguments])

    def called(self, node: Call, arguments: Sequence[Value]) -> Value:
        return FUNCTIONS[node.function].compute(self.calculator, *arguments)

    def index(self, node: Index) -> Value:
        return self.indexed(node, self.value(node.operand))

    def indexed(self, node: Index, value: Value) -> Value:
        entries = [self.entry(entry) for entry in node.entries]
        if is_tensor(value):
            return self.calculator.index(value, entries)
        if not isinstance(value, list):
            raise Problem(f"{describe(value)} cannot be indexed")
        if len(entries) != 1 or entries[0] is Ellipsis:
            raise Problem("a list takes one index")
        if isinstance(entries[0], slice):
            return value[entries[0]]
        return value[place(entries[0], len(value), "the list")]

    def entry(self, node: Node) -> Any:
        if isinstance(node, Rest):
            return Ellipsis
        if isinstance(node, Range):
            parts = (node.start, node.stop, node.step)
            limits = [None if part is None else self.whole(part) for part in parts]
            if limits[2] == 0:
                raise Problem("a slice with step 0")
            return slice(*limits)
        return self.whole(node)

    def whole(self, node: Node) -> int:
        """The whole number that a node gives, for indices and iterations."""
        value = self.value(node)
        try:
            number = self.calculator.number(value)
        except Problem as problem:
            raise self.error(problem.problem, node.position, problem.hint) from None
        if isinstance(number, bool) or not isinstance(number, int):
            raise self.error(f"{describe(number)} where a whole number is needed", node.position)
        return number


_VISIT: dict[type[Node], Callable[[Any, Any], Value]] = {
    Constant: lambda walker, node: walker.constant(node),
    Name: lambda walker, node: walker.name(node),
    State: lambda walker, node: walker.state(node),
    Items: lambda walker, node: walker.items(node),
    Unary: lambda walker, node: walker.unary(node),
    Binary: lambda walker, node: walker.binary(node),
    Compare: lambda walker, node: walker.compare(node),
    Logic: lambda walker, node: walker.logic(node),
    Index: lambda walker, node: walker.index(node),
    Call: lambda walker, node: walker.call(node),
    Past: lambda walker, node: walker.past(node),
}


class Arrays(Calculator):
    """The calculator on NumPy arrays, which can read numbers."""

    def __init__(self) -> None:
        super().__init__(Eager())

    def number(self, value: Value) -> Value:
        if is_tensor(value) and value.size == 1 and value.dtype.kind not in "OUST":
            return value.reshape(())[()].item()
        return super().number(value)

    def same_tensor(self, a: Value, b: Value) -> bool:
        if isinstance(a, list) or isinstance(b, list) or a is None or b is None:
            return False
        shapes = [x.shape if is_tensor(x) else () for x in (a, b)]
        if shapes[0] != shapes[1]:
            return False
        texts = [isinstance(x, str) or (is_tensor(x) and x.dtype.kind in "OUST") for x in (a, b)]
        if texts[0] != texts[1]:
            return False
        return bool(np.all(self.compare("==", a, b)))

    def same_text(self, a: Value, b: Value) -> Value:
        if isinstance(a, str) and isinstance(b, str):
            return a == b
        sides = [np.array(x, object) if isinstance(x, str) else x for x in (a, b)]
        if not all(is_tensor(x) and x.dtype.kind in "OUST" for x in sides):
            raise Problem(f"cannot compare {describe(a)} with {describe(b)}")
        shape = self.fitting(*sides)
        left, right = (np.broadcast_to(x, shape).reshape(-1).tolist() for x in sides)
        same = [_text(x) == _text(y) for x, y in zip(left, right, strict=True)]
        return np.array(same, np.bool_).reshape(shape)

    def truth(self, value: Value) -> bool:
        """Whether a condition holds: of one boolean alone."""
        one = self.one_truth(value)
        return one if isinstance(one, bool) else bool(one.reshape(())[()])


def _text(item: Any) -> Any:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item


class Evaluator(Walker):
    """Computes a tree on a scope."""

    calculator: Arrays

    def __init__(self, text: str, scope: Scope) -> None:
        super().__init__(text, Arrays())
        self.scope = scope
        #: Inside prev(...), init(...) or @: which, and the iteration.
        self.moment: str = "now"
        self.when = 0

    def name(self, node: Name) -> Value:
        try:
            value = self._read(node.name)
        except UnknownNameError:
            raise self._unknown(node) from None
        except ScopeError as error:
            raise NoValueError(self.text, node.position, one_line(error)) from None
        return self._taken(value)

    def _read(self, name: str) -> Any:
        if self.moment == "prev":
            return self.scope.previous(name)
        if self.moment == "init":
            return self.scope.initial(name)
        return self.scope.at(name, self.when) if self.moment == "at" else self.scope.value(name)

    def _taken(self, value: Any) -> Value:
        """A value of the model as a value of the language: whatever is a number has a dtype."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bytes):
            return _text(value)
        if isinstance(value, list | tuple):
            items = [self._item(item) for item in value]
            size = sum(item.size for item in items if is_tensor(item))
            self.calculator.largest = max(self.calculator.largest, size)
            return items
        array = np.asarray(value)
        self.calculator.largest = max(self.calculator.largest, array.size)
        self.calculator.spend(array.size)
        return array if array.flags.c_contiguous else array.copy(order="C")

    def _item(self, value: Any) -> Value:
        """An item of a sequence, which counts as read once it is used: the length of a long one reads none of them."""
        plain = value is None or isinstance(value, str | bytes | list | tuple)
        return self._taken(value) if plain else np.asarray(value)

    def indexed(self, node: Index, value: Value) -> Value:
        found = super().indexed(node, value)
        return self._taken(found) if isinstance(value, list) and is_tensor(found) else found

    def _unknown(self, node: Name) -> ExpressionError:
        found = near(node.name, self.scope.names())
        hint = f"did you mean {' or '.join(repr(quote(name)) for name in found)}?" if found else ""
        words = [] if found else near(node.name, (*FUNCTIONS, *RESERVED))
        if words:
            hint = f"did you mean {' or '.join(repr(word) for word in words)}?"
        return self.error(f"unknown name '{node.name}'", node.position, hint)

    def state(self, node: State) -> Value:
        scope = self.scope
        try:
            if node.word == "iter":
                if self.moment in ("at", "init"):
                    return self.when
                return self._before(int(scope.iteration)) if self.moment == "prev" else int(scope.iteration)
            if node.word == "trip_count":
                return math.inf if scope.trip_count is None else int(scope.trip_count)
            if self.moment != "now":
                raise Problem("the condition of an earlier iteration is not kept", "name the value that yields it")
            return None if scope.condition is None else bool(scope.condition)
        except ScopeError as error:
            raise NoValueError(self.text, node.position, one_line(error)) from None

    def _before(self, iteration: int) -> int:
        if iteration < 1:
            raise ScopeError("there is no iteration before iteration 0")
        return iteration - 1

    def past(self, node: Past) -> Value:
        self.when = 0
        if isinstance(node.operand, Name) and node.moment == "all":
            return self._history(node.operand)
        if node.when is not None:
            self.when = self.whole(node.when)
            if self.when < 0:
                # Where the number moves with the loop it is one that is not there yet; a constant is a mistake.
                moves = any(isinstance(part, Name | State) for part in node.when.walk())
                kind = NoValueError if moves else ExpressionError
                raise kind(self.text, node.when.position, f"there is no iteration {self.when}")
        self.moment = node.moment
        try:
            return self.value(node.operand)
        finally:
            self.moment, self.when = "now", 0

    def _history(self, node: Name) -> Value:
        try:
            return self._taken(self.scope.history(node.name))
        except UnknownNameError:
            raise self._unknown(node) from None
        except ScopeError as error:
            raise NoValueError(self.text, node.position, one_line(error)) from None

    def logic(self, node: Logic) -> Value:
        for operand in node.operands:
            if self._holds(operand) == (node.word == "or"):
                return node.word == "or"
        return node.word == "and"

    def negation(self, node: Unary) -> Value:
        return not self._holds(node.operand)

    def _holds(self, node: Node) -> bool:
        try:
            return self.calculator.truth(self.value(node))
        except Problem as problem:
            raise self.error(problem.problem, node.position, problem.hint) from None


def evaluate(text: str, tree: Node, scope: Scope) -> Any:
    """The value of a tree: an array, a scalar of its dtype, a bool, a string, None, or a list of such."""
    return finished(_run(text, tree.position, scope, lambda evaluator: evaluator.value(tree)))


def holds(text: str, tree: Node, scope: Scope) -> bool:
    """The truth of a tree."""
    result: bool = _run(text, tree.position, scope, lambda evaluator: evaluator._holds(tree))
    return result


def entries(text: str, nodes: Collection[Node], scope: Scope) -> tuple[Any, ...]:
    """The entries of an index."""

    def run(evaluator: Evaluator) -> tuple[Any, ...]:
        found = []
        for node in nodes:
            try:
                found.append(evaluator.entry(node))
            except Problem as problem:
                raise evaluator.error(problem.problem, node.position, problem.hint) from None
        return tuple(found)

    result: tuple[Any, ...] = _run(text, 0, scope, run)
    return result


def _run(text: str, position: int, scope: Scope, run: Callable[[Evaluator], Any]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return run(Evaluator(text, scope))
        except RecursionError:
            raise ExpressionError(text, position, "too deep to compute from here") from None


def finished(value: Value) -> Any:
    """What a caller gets: tensors without axes as scalars, one truth value as a bool."""
    if isinstance(value, list):
        return [finished(item) for item in value]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        scalar: Any = value[()]
        return bool(scalar) if value.dtype == np.bool_ else _text(scalar)
    return value
