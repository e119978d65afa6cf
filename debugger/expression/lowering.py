"""Lowers conditions to operators over the primitives, so that the engine can test them without Python.

A lowered condition gives the result of its evaluation, or is rejected: by ``lower`` for its form, or by
``NoNativeKernel`` at binding for dtypes and shapes. The caller rebinds it when these change, and evaluates it in
Python if it cannot be bound or an input has no value (a previous one in iteration 0).

``iter`` is a plain number that is known only at run time. It takes the dtype of the other operand, if its value range
fits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...runtime.ops.operator_helpers import cast, is_float
from ...runtime.ops.primitive_types import NoNativeKernel
from ...runtime.ops.registry import ResolvedOperator
from .errors import ExpressionError
from .evaluate import TreeWalker
from .nodes import ExpressionNode, ListLiteral, Logic, Name, StateVariable, TimeShift, Unary
from .operator_semantics import ARITHMETIC_UFUNCS, COMPARISON_UFUNCS, Calculator
from .value_types import TensorLike, UntypedNumbers, Value, is_number, is_tensor

_BOOL, _INT64, _FLOAT64 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
#: Every integer up to here is exact in float64, and no loop runs more iterations.
_MAX_EXACT_INTEGER = 1 << 53


@dataclass(frozen=True)
class InputRef:
    """An input of a lowered condition: a current value, a value of the previous iteration, or the iteration number."""

    name: str
    kind: Literal["value", "previous", "iteration"]


@dataclass(frozen=True)
class LoweredCondition:
    """A condition as an operator: ``op.apply(p, buffers)`` with one buffer per input gives one boolean scalar."""

    inputs: tuple[InputRef, ...]
    op: ResolvedOperator
    tree: ExpressionNode

    def may_be_true_without(self, unread: Collection[InputRef]) -> bool:
        """Whether it may be true without reading these inputs, which have no value: ``iter == 0 or prev(x) > 3``
        without a previous iteration. False is certain."""
        return _may_evaluate_to(self.tree, True, unread)


def lower_condition(text: str, tree: ExpressionNode) -> LoweredCondition | None:
    """The lowered form of a condition; None if there is none."""
    refs = _input_refs(tree)
    if refs is None:
        return None

    def function(p: Any, *buffers: TensorLike) -> TensorLike:
        with np.errstate(all="ignore"):
            try:
                return _LoweringWalker(text, p, dict(zip(refs, buffers, strict=True))).condition(tree)
            except (ExpressionError, RecursionError):
                # The evaluation in Python reports the error.
                raise NoNativeKernel from None

    return LoweredCondition(tuple(refs), ResolvedOperator(function, {}), tree)


def _input_refs(tree: ExpressionNode, is_previous: bool = False) -> list[InputRef] | None:
    """The distinct inputs of a tree; None if the engine cannot provide one."""
    refs: list[InputRef] = []
    if isinstance(tree, Name):
        refs.append(InputRef(tree.name, "previous" if is_previous else "value"))
    if isinstance(tree, StateVariable):
        if tree.name != "iter" or is_previous:
            return None
        refs.append(InputRef("iter", "iteration"))
    if isinstance(tree, TimeShift):
        if tree.kind != "prev":
            return None
        is_previous = True
    for child in tree.children():
        child_refs = _input_refs(child, is_previous)
        if child_refs is None:
            return None
        refs += child_refs
    return list(dict.fromkeys(refs))


def _may_evaluate_to(tree: ExpressionNode, truth: bool, unread: Collection[InputRef]) -> bool:
    """Whether a condition may have this truth value without reading any of these inputs."""
    if not any(ref in unread for ref in _input_refs(tree) or ()):
        return True
    if isinstance(tree, Unary) and tree.sign == "not":
        return _may_evaluate_to(tree.operand, not truth, unread)
    if not isinstance(tree, Logic):
        return any(isinstance(node, Logic) for node in tree.walk())
    decisive = tree.operator == "or"
    if truth is not decisive:
        return all(_may_evaluate_to(operand, truth, unread) for operand in tree.operands)
    for operand in tree.operands:
        if _may_evaluate_to(operand, decisive, unread):
            return True
        if not _may_evaluate_to(operand, not decisive, unread):
            # Short circuit: later operands are not reached.
            return False
    return False


@dataclass(frozen=True)
class _DynamicNumber:
    """A plain number known only at run time: an int64 or float64 scalar, and its value range."""

    tensor: TensorLike
    kind: type
    low: int = -_MAX_EXACT_INTEGER
    high: int = _MAX_EXACT_INTEGER

    def is_within(self, low: int, high: int) -> bool:
        return low <= self.low and self.high <= high


def _value_bounds(value: Any) -> tuple[int, int]:
    return (value.low, value.high) if isinstance(value, _DynamicNumber) else (value, value)


class _NativeCalculator(Calculator):
    """The calculator on buffers: it cannot read values, which vary at run time."""

    @staticmethod
    def _promotion_kind(operand: Any) -> Any:
        return operand.kind if isinstance(operand, _DynamicNumber) else Calculator._promotion_kind(operand)

    def operand(self, value: Value) -> Any:
        if isinstance(value, _DynamicNumber):
            raise NoNativeKernel
        return super().operand(value)

    def unary(self, ufunc: np.ufunc, value: Value) -> Value:
        if not isinstance(value, _DynamicNumber):
            return super().unary(ufunc, value)
        if value.kind is not int or ufunc not in (np.negative, np.absolute, np.positive):
            raise NoNativeKernel
        limits = [int(ufunc(limit)) for limit in (value.low, value.high)]
        low = 0 if ufunc is np.absolute and value.low <= 0 <= value.high else min(limits)
        return _DynamicNumber(self.p.map(ufunc, value.tensor), int, low, max(limits))

    def binary(self, sign: str, a: Value, b: Value) -> Value:
        if not isinstance(a, _DynamicNumber) and not isinstance(b, _DynamicNumber):
            self._check_division(sign, a, b)
            return super().binary(sign, a, b)
        if sign == "**":
            raise NoNativeKernel
        if is_tensor(a) or is_tensor(b) or isinstance(a, bool) or isinstance(b, bool):
            if sign in ("//", "%"):
                raise NoNativeKernel
            return self.p.map(ARITHMETIC_UFUNCS[sign], *self._promote(ARITHMETIC_UFUNCS[sign], a, b))
        return self._scalar_arithmetic(sign, a, b)

    def _check_division(self, sign: str, a: Value, b: Value) -> None:
        """Native integer division by zero fails, while NumPy gives 0: only a known divisor is safe."""
        if sign not in ("//", "%") or (is_number(a) and is_number(b)):
            return
        tensors = [x if is_tensor(x) else None for x in (a, b)]
        if all(x is None or not is_float(x.dtype) for x in tensors) and not (is_number(b) and b != 0):
            raise NoNativeKernel

    def _promote(self, ufunc: np.ufunc, a: Value, b: Value) -> list[TensorLike]:
        """Cast a dynamic number and a tensor to the dtypes that NumPy gives a plain number and that tensor."""
        operands = [x if isinstance(x, _DynamicNumber) else self.operand(x) for x in (a, b)]
        if any(isinstance(x, UntypedNumbers) for x in operands):
            raise NoNativeKernel
        dtypes = self._computation_dtypes(ufunc, operands)
        self.broadcast_shape(*operands)
        return [
            self._cast_dynamic(x, d) if isinstance(x, _DynamicNumber) else self._cast_operand(x, d)
            for x, d in zip(operands, dtypes, strict=True)
        ]

    def _cast_dynamic(self, x: _DynamicNumber, dtype: np.dtype[Any]) -> TensorLike:
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if x.kind is not int or not x.is_within(limits.min, limits.max):
                raise NoNativeKernel
            return cast(self.p, x.tensor, dtype)
        if not is_float(dtype):
            raise NoNativeKernel
        # Through float64, as NumPy converts a plain number.
        return cast(self.p, self._as_float64(x), dtype)

    def _as_float64(self, x: Any) -> TensorLike:
        if not isinstance(x, _DynamicNumber):
            return self.constant(float(x), _FLOAT64)
        if x.kind is int and not x.is_within(-_MAX_EXACT_INTEGER, _MAX_EXACT_INTEGER):
            raise NoNativeKernel
        return cast(self.p, x.tensor, _FLOAT64)

    def _as_int64(self, x: Any) -> TensorLike:
        low, high = _value_bounds(x)
        if low < -(1 << 63) or high >= 1 << 63:
            raise NoNativeKernel
        return x.tensor if isinstance(x, _DynamicNumber) else self.constant(x, _INT64)

    def _scalar_arithmetic(self, sign: str, a: Any, b: Any) -> Value:
        """Arithmetic between plain numbers, at least one of them dynamic."""
        for x in (a, b):
            if not isinstance(x, _DynamicNumber) and not is_number(x):
                raise NoNativeKernel
        kinds = [self._promotion_kind(x) for x in (a, b)]
        if float in kinds or sign == "/":
            if any(isinstance(x, int) and abs(x) > _MAX_EXACT_INTEGER for x in (a, b)):
                raise NoNativeKernel
            return _DynamicNumber(self.p.map(ARITHMETIC_UFUNCS[sign], self._as_float64(a), self._as_float64(b)), float)
        low, high = self._result_bounds(sign, _value_bounds(a), _value_bounds(b))
        if low < -(1 << 63) or high >= 1 << 63:
            raise NoNativeKernel
        return _DynamicNumber(self.p.map(ARITHMETIC_UFUNCS[sign], self._as_int64(a), self._as_int64(b)), int, low, high)

    @staticmethod
    def _result_bounds(sign: str, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        if sign == "+":
            return a[0] + b[0], a[1] + b[1]
        if sign == "-":
            return a[0] - b[1], a[1] - b[0]
        if sign == "*":
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        if b[0] != b[1] or b[0] == 0:
            raise NoNativeKernel
        if sign == "//":
            quotients = [x // b[0] for x in a]
            return min(quotients), max(quotients)
        return (0, b[0] - 1) if b[0] > 0 else (b[0] + 1, 0)

    def compare(self, sign: str, a: Value, b: Value) -> Value:
        if not isinstance(a, _DynamicNumber) and not isinstance(b, _DynamicNumber):
            return super().compare(sign, a, b)
        if a is None or b is None:
            return super().compare(sign, a, b)
        ufunc = COMPARISON_UFUNCS[sign]
        if is_tensor(a) or is_tensor(b):
            tensor, number = (a, b) if is_tensor(a) else (b, a)
            fits_int64 = tensor.dtype.kind in "iu" and (tensor.dtype.kind == "i" or tensor.dtype.itemsize < 8)
            if number.kind is int and fits_int64 and number.is_within(-(1 << 63), (1 << 63) - 1):
                self.broadcast_shape(tensor)
                converted = cast(self.p, tensor, _INT64)
                pair = (converted, number.tensor) if tensor is a else (number.tensor, converted)
                return self.p.map(ufunc, *pair)
            return self.p.map(ufunc, *self._promote(ufunc, a, b))
        for x in (a, b):
            if not isinstance(x, _DynamicNumber) and not is_number(x):
                raise NoNativeKernel
        if float in (self._promotion_kind(a), self._promotion_kind(b)):
            if any(isinstance(x, int) and abs(x) > _MAX_EXACT_INTEGER for x in (a, b)):
                raise NoNativeKernel
            return self.p.map(ufunc, self._as_float64(a), self._as_float64(b))
        return self.p.map(ufunc, self._as_int64(a), self._as_int64(b))

    def equal_lists(self, a: Value, b: Value) -> bool:
        if isinstance(a, _DynamicNumber) or isinstance(b, _DynamicNumber):
            raise NoNativeKernel
        return super().equal_lists(a, b)

    def as_number(self, value: Value) -> Value:
        if isinstance(value, _DynamicNumber):
            raise NoNativeKernel
        return super().as_number(value)


class _LoweringWalker(TreeWalker):
    """Evaluates a tree on buffers instead of values."""

    def __init__(self, text: str, p: Any, buffers: dict[InputRef, TensorLike]) -> None:
        super().__init__(text, _NativeCalculator(p))
        self.buffers = buffers
        self.reads_previous = False

    def condition(self, tree: ExpressionNode) -> TensorLike:
        value = self.truth(tree)
        return self.calculator.constant(value, _BOOL) if isinstance(value, bool) else value

    def truth(self, node: ExpressionNode) -> Value:
        """One truth value: a bool if known statically, else a boolean scalar."""
        value = self.evaluate(node)
        if isinstance(value, bool):
            return value
        if not is_tensor(value) or value.dtype != _BOOL or any(extent != 1 for extent in value.shape):
            raise NoNativeKernel
        return self.calculator.p.reshape(value, ())

    def visit_name(self, node: Name) -> Value:
        buffer = self.buffers[InputRef(node.name, "previous" if self.reads_previous else "value")]
        if buffer.dtype.isbuiltin != 1 or buffer.dtype.kind not in "biuf":
            raise NoNativeKernel
        return buffer

    def visit_state_variable(self, node: StateVariable) -> Value:
        p = self.calculator.p
        buffer = self.buffers[InputRef("iter", "iteration")]
        return _DynamicNumber(p.reshape(cast(p, buffer, _INT64), ()), int, 0, _MAX_EXACT_INTEGER)

    def visit_time_shift(self, node: TimeShift) -> Value:
        self.reads_previous = True
        try:
            return self.evaluate(node.operand)
        finally:
            self.reads_previous = False

    def visit_list_literal(self, node: ListLiteral) -> Value:
        items = super().visit_list_literal(node)
        if any(isinstance(item, _DynamicNumber) for item in items):
            raise NoNativeKernel
        return items

    def visit_logic(self, node: Logic) -> Value:
        decisive = node.operator == "or"
        ufunc = np.logical_or if decisive else np.logical_and
        result: Value = None
        for operand in node.operands:
            term = self.truth(operand)
            if isinstance(term, bool):
                if term == decisive:
                    # Short circuit: later operands are never evaluated.
                    term = self.calculator.constant(term, _BOOL)
                    return decisive if result is None else self.calculator.p.map(ufunc, result, term)
                continue
            result = term if result is None else self.calculator.p.map(ufunc, result, term)
        return (not decisive) if result is None else result

    def evaluate_not(self, node: Unary) -> Value:
        term = self.truth(node.operand)
        return not term if isinstance(term, bool) else self.calculator.p.map(np.logical_not, term)
