"""Conditions as operators over the primitives, so that the engine can hold them without Python.

A lowered condition gives what evaluating it gives, or is refused: by ``lower`` where its form says so, by
``NotNative`` when it is bound where dtypes and shapes do. Who binds it binds it again when those change, and evaluates
it in Python where it cannot be bound, and where an input has no value (a previous one in iteration 0).

``iter`` is a plain number that is known only as the loop runs. It takes the dtype of the tensor it meets, if all that
it can be fits there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...runtime.ops.primitives import NotNative
from ...runtime.ops.registry import Op
from ...runtime.ops.support import cast, is_float
from .calculator import ARITHMETIC, COMPARE, Calculator
from .errors import ExpressionError
from .evaluate import Walker
from .nodes import Items, Logic, Name, Node, Past, State, Unary
from .values import Loose, T, Value, is_number, is_tensor

_BOOL, _INT64, _FLOAT64 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
#: No loop gets as far as this, and every whole number up to here is a float64.
_MOST = 1 << 53


@dataclass(frozen=True)
class Ref:
    """An input of a lowered condition: a value now, the same one iteration earlier, or the iteration (an integer)."""

    name: str
    which: Literal["value", "previous", "iteration"]


@dataclass(frozen=True)
class Lowered:
    """A condition as an operator: ``op.apply(p, buffers)`` with one buffer an input gives one boolean scalar."""

    inputs: tuple[Ref, ...]
    op: Op
    tree: Node

    def may_hold_without(self, unread: Collection[Ref]) -> bool:
        """Whether it may be true where these inputs have no value, without reading them, as
        ``iter == 0 or prev(x) > 3`` where there is no previous iteration. False is certain."""
        return _may_be(self.tree, True, unread)


def lower(text: str, tree: Node) -> Lowered | None:
    """The lowered form of a condition; None where there is none."""
    refs = _refs(tree)
    if refs is None:
        return None

    def function(p: Any, *buffers: T) -> T:
        with np.errstate(all="ignore"):
            try:
                return _Lowering(text, p, dict(zip(refs, buffers, strict=True))).condition(tree)
            except (ExpressionError, RecursionError):
                # Evaluating it says what is wrong, when it matters.
                raise NotNative from None

    return Lowered(tuple(refs), Op(function, {}), tree)


def _refs(tree: Node, earlier: bool = False) -> list[Ref] | None:
    """What a tree reads, each once; None where it reads what the engine does not hand over."""
    found: list[Ref] = []
    if isinstance(tree, Name):
        found.append(Ref(tree.name, "previous" if earlier else "value"))
    if isinstance(tree, State):
        if tree.word != "iter" or earlier:
            return None
        found.append(Ref("iter", "iteration"))
    if isinstance(tree, Past):
        if tree.moment != "prev":
            return None
        earlier = True
    for child in tree.children():
        below = _refs(child, earlier)
        if below is None:
            return None
        found += below
    return list(dict.fromkeys(found))


def _may_be(tree: Node, truth: bool, unread: Collection[Ref]) -> bool:
    """Whether a condition may come out so without reading any of these."""
    if not any(ref in unread for ref in _refs(tree) or ()):
        return True
    if isinstance(tree, Unary) and tree.sign == "not":
        return _may_be(tree.operand, not truth, unread)
    if not isinstance(tree, Logic):
        return any(isinstance(node, Logic) for node in tree.walk())
    decisive = tree.word == "or"
    if truth is not decisive:
        return all(_may_be(operand, truth, unread) for operand in tree.operands)
    for operand in tree.operands:
        if _may_be(operand, decisive, unread):
            return True
        if not _may_be(operand, not decisive, unread):
            # What stands after it is not reached.
            return False
    return False


@dataclass(frozen=True)
class _Running:
    """A plain number known only as the loop runs: an int64 or float64 scalar, and what it can be at least and most."""

    tensor: T
    kind: type
    low: int = -_MOST
    high: int = _MOST

    def within(self, low: int, high: int) -> bool:
        return low <= self.low and self.high <= high


def _span(value: Any) -> tuple[int, int]:
    return (value.low, value.high) if isinstance(value, _Running) else (value, value)


class _Native(Calculator):
    """The calculator on what may be buffers: it reads no numbers, and numbers may change."""

    @staticmethod
    def _kind(operand: Any) -> Any:
        return operand.kind if isinstance(operand, _Running) else Calculator._kind(operand)

    def operand(self, value: Value) -> Any:
        if isinstance(value, _Running):
            raise NotNative
        return super().operand(value)

    def unary(self, ufunc: np.ufunc, value: Value) -> Value:
        if not isinstance(value, _Running):
            return super().unary(ufunc, value)
        if value.kind is not int or ufunc not in (np.negative, np.absolute, np.positive):
            raise NotNative
        ends = [int(ufunc(end)) for end in (value.low, value.high)]
        low = 0 if ufunc is np.absolute and value.low <= 0 <= value.high else min(ends)
        return _Running(self.p.map(ufunc, value.tensor), int, low, max(ends))

    def binary(self, sign: str, a: Value, b: Value) -> Value:
        if not isinstance(a, _Running) and not isinstance(b, _Running):
            self._check_division(sign, a, b)
            return super().binary(sign, a, b)
        if sign == "**":
            raise NotNative
        if is_tensor(a) or is_tensor(b) or isinstance(a, bool) or isinstance(b, bool):
            if sign in ("//", "%"):
                raise NotNative
            return self.p.map(ARITHMETIC[sign], *self._together(ARITHMETIC[sign], a, b))
        return self._plain(sign, a, b)

    def _check_division(self, sign: str, a: Value, b: Value) -> None:
        """Native loops on whole numbers fail where NumPy gives 0: only a known divisor is safe."""
        if sign not in ("//", "%") or (is_number(a) and is_number(b)):
            return
        whole = [x if is_tensor(x) else None for x in (a, b)]
        if all(x is None or not is_float(x.dtype) for x in whole) and not (is_number(b) and b != 0):
            raise NotNative

    def _together(self, ufunc: np.ufunc, a: Value, b: Value) -> list[T]:
        """A running number and a tensor in the dtypes that NumPy gives a plain number and that tensor."""
        operands = [x if isinstance(x, _Running) else self.operand(x) for x in (a, b)]
        if any(isinstance(x, Loose) for x in operands):
            raise NotNative
        dtypes = self._dtypes(ufunc, operands)
        self.fitting(*operands)
        return [
            self._cast_running(x, d) if isinstance(x, _Running) else self._as(x, d)
            for x, d in zip(operands, dtypes, strict=True)
        ]

    def _cast_running(self, x: _Running, dtype: np.dtype[Any]) -> T:
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if x.kind is not int or not x.within(limits.min, limits.max):
                raise NotNative
            return cast(self.p, x.tensor, dtype)
        if not is_float(dtype):
            raise NotNative
        # By way of float64, as NumPy converts a plain number.
        return cast(self.p, self._float(x), dtype)

    def _float(self, x: Any) -> T:
        if not isinstance(x, _Running):
            return self.constant(float(x), _FLOAT64)
        if x.kind is int and not x.within(-_MOST, _MOST):
            raise NotNative
        return cast(self.p, x.tensor, _FLOAT64)

    def _int(self, x: Any) -> T:
        low, high = _span(x)
        if low < -(1 << 63) or high >= 1 << 63:
            raise NotNative
        return x.tensor if isinstance(x, _Running) else self.constant(x, _INT64)

    def _plain(self, sign: str, a: Any, b: Any) -> Value:
        """Arithmetic between plain numbers, of which one runs."""
        for x in (a, b):
            if not isinstance(x, _Running) and not is_number(x):
                raise NotNative
        kinds = [self._kind(x) for x in (a, b)]
        if float in kinds or sign == "/":
            if any(isinstance(x, int) and abs(x) > _MOST for x in (a, b)):
                raise NotNative
            return _Running(self.p.map(ARITHMETIC[sign], self._float(a), self._float(b)), float)
        low, high = self._bounds(sign, _span(a), _span(b))
        if low < -(1 << 63) or high >= 1 << 63:
            raise NotNative
        return _Running(self.p.map(ARITHMETIC[sign], self._int(a), self._int(b)), int, low, high)

    @staticmethod
    def _bounds(sign: str, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        if sign == "+":
            return a[0] + b[0], a[1] + b[1]
        if sign == "-":
            return a[0] - b[1], a[1] - b[0]
        if sign == "*":
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        if b[0] != b[1] or b[0] == 0:
            raise NotNative
        if sign == "//":
            quotients = [x // b[0] for x in a]
            return min(quotients), max(quotients)
        return (0, b[0] - 1) if b[0] > 0 else (b[0] + 1, 0)

    def compare(self, sign: str, a: Value, b: Value) -> Value:
        if not isinstance(a, _Running) and not isinstance(b, _Running):
            return super().compare(sign, a, b)
        if a is None or b is None:
            return super().compare(sign, a, b)
        ufunc = COMPARE[sign]
        if is_tensor(a) or is_tensor(b):
            tensor, running = (a, b) if is_tensor(a) else (b, a)
            small = tensor.dtype.kind in "iu" and (tensor.dtype.kind == "i" or tensor.dtype.itemsize < 8)
            if running.kind is int and small and running.within(-(1 << 63), (1 << 63) - 1):
                self.fitting(tensor)
                wide = cast(self.p, tensor, _INT64)
                pair = (wide, running.tensor) if tensor is a else (running.tensor, wide)
                return self.p.map(ufunc, *pair)
            return self.p.map(ufunc, *self._together(ufunc, a, b))
        for x in (a, b):
            if not isinstance(x, _Running) and not is_number(x):
                raise NotNative
        if float in (self._kind(a), self._kind(b)):
            if any(isinstance(x, int) and abs(x) > _MOST for x in (a, b)):
                raise NotNative
            return self.p.map(ufunc, self._float(a), self._float(b))
        return self.p.map(ufunc, self._int(a), self._int(b))

    def same(self, a: Value, b: Value) -> bool:
        if isinstance(a, _Running) or isinstance(b, _Running):
            raise NotNative
        return super().same(a, b)

    def number(self, value: Value) -> Value:
        if isinstance(value, _Running):
            raise NotNative
        return super().number(value)


class _Lowering(Walker):
    """Walks a tree on buffers instead of values."""

    def __init__(self, text: str, p: Any, buffers: dict[Ref, T]) -> None:
        super().__init__(text, _Native(p))
        self.buffers = buffers
        self.earlier = False

    def condition(self, tree: Node) -> T:
        value = self.holds(tree)
        return self.calculator.constant(value, _BOOL) if isinstance(value, bool) else value

    def holds(self, node: Node) -> Value:
        """One truth value: a bool where it is known already, else a boolean scalar."""
        value = self.value(node)
        if isinstance(value, bool):
            return value
        if not is_tensor(value) or value.dtype != _BOOL or any(extent != 1 for extent in value.shape):
            raise NotNative
        return self.calculator.p.reshape(value, ())

    def name(self, node: Name) -> Value:
        buffer = self.buffers[Ref(node.name, "previous" if self.earlier else "value")]
        if buffer.dtype.isbuiltin != 1 or buffer.dtype.kind not in "biuf":
            raise NotNative
        return buffer

    def state(self, node: State) -> Value:
        p = self.calculator.p
        buffer = self.buffers[Ref("iter", "iteration")]
        return _Running(p.reshape(cast(p, buffer, _INT64), ()), int, 0, _MOST)

    def past(self, node: Past) -> Value:
        self.earlier = True
        try:
            return self.value(node.operand)
        finally:
            self.earlier = False

    def items(self, node: Items) -> Value:
        items = super().items(node)
        if any(isinstance(item, _Running) for item in items):
            raise NotNative
        return items

    def logic(self, node: Logic) -> Value:
        decisive = node.word == "or"
        ufunc = np.logical_or if decisive else np.logical_and
        result: Value = None
        for operand in node.operands:
            one = self.holds(operand)
            if isinstance(one, bool):
                if one == decisive:
                    # What stands after it is never evaluated.
                    one = self.calculator.constant(one, _BOOL)
                    return decisive if result is None else self.calculator.p.map(ufunc, result, one)
                continue
            result = one if result is None else self.calculator.p.map(ufunc, result, one)
        return (not decisive) if result is None else result

    def negation(self, node: Unary) -> Value:
        one = self.holds(node.operand)
        return not one if isinstance(one, bool) else self.calculator.p.map(np.logical_not, one)
