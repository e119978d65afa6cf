"""Integers that are computed before a loop, as expressions over the inputs of the model: ``N // 2``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.graph import Loop, Node, Operation, TensorType, Value
from ...runtime.graph.producers import ProducerMap
from .integer_turning_points import IntegerRing
from .node_text import OPERATOR_SIGNS, NodeFormatter, scalar_literal

#: Operators that keep the single element of their first input.
KEEPING_OPERATORS = frozenset({"Identity", "Squeeze", "Unsqueeze", "Reshape", "Flatten"})
#: Depth of an expression; a deeper operand is a name.
_MAX_DEPTH = 6
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2}
_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "min": min,
    "max": max,
}
_CALLS = {"Min": "min", "Minimum": "min", "Max": "max", "Maximum": "max"}


@dataclass(frozen=True)
class SymbolicInteger:
    """An integer: ``number`` if it is known; else ``value``, a value of the model of which ``axis`` is the axis whose
    length counts (None: its single element), or ``sign`` with two operands. ``ring``: where results wrap around."""

    number: int | None = None
    value: Value | None = None
    axis: int | None = None
    sign: str = ""
    operands: tuple[SymbolicInteger, ...] = ()
    ring: IntegerRing | None = None
    name: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The expression: ``(N + 1) // 2``."""
        if self.number is not None:
            return str(self.number)
        if not self.sign:
            return self.name
        left, right = self.operands
        if self.sign not in _PRECEDENCE:
            return f"{self.sign}({left.text}, {right.text})"
        own = _PRECEDENCE[self.sign]
        texts = [
            f"({part.text})" if _PRECEDENCE.get(part.sign, 9) < own + is_right else part.text
            for is_right, part in enumerate(self.operands)
        ]
        return f"{texts[0]} {self.sign} {texts[1]}"

    def evaluate(self, values: Mapping[Value, Any]) -> int | None:
        """The number for these values of the model; None where one is missing, has several elements, or is divided in a
        way in which the systems differ."""
        if self.number is not None:
            return self.number
        if self.sign:
            left, right = (operand.evaluate(values) for operand in self.operands)
            return None if left is None or right is None else _combine_numbers(self.sign, left, right, self.ring)
        data = values.get(self.value) if self.value is not None else None
        if data is None:
            return None
        array = np.asarray(data)
        if self.axis is not None:
            return int(array.shape[self.axis]) if array.ndim > self.axis else None
        return int(array.reshape(())) if array.size == 1 and array.dtype.kind in "iu" else None


def combine(sign: str, left: SymbolicInteger, right: SymbolicInteger, ring: IntegerRing | None) -> SymbolicInteger:
    """An operation on two integers, computed where they are known."""
    if left.number is not None and right.number is not None:
        number = _combine_numbers(sign, left.number, right.number, ring)
        if number is not None:
            return SymbolicInteger(number)
    if right.number == 0 and sign in ("+", "-"):
        return left
    if left.number == 0 and sign == "+":
        return right
    if right.number is not None and right.number < 0 and sign in ("+", "-"):
        return combine("-" if sign == "+" else "+", left, SymbolicInteger(-right.number), ring)
    if (
        right.number is not None
        and sign in ("+", "-")
        and left.sign in ("+", "-")
        and (ring is None or left.ring == ring)
    ):
        first, second = left.operands
        if second.number is not None:
            added = (right.number if sign == "+" else -right.number) + (
                second.number if left.sign == "+" else -second.number
            )
            return combine("+", first, SymbolicInteger(added), ring)
    return SymbolicInteger(sign=sign, operands=(left, right), ring=ring)


def _combine_numbers(sign: str, left: int, right: int, ring: IntegerRing | None) -> int | None:
    if sign == "//" and (left < 0 or right <= 0):
        return None
    result = _OPERATORS[sign](left, right)
    return result if ring is None else ring.wrap(result)


def integer_ring(value: Value) -> IntegerRing | None:
    """The integers of a value's declared dtype; None if that is no integer."""
    dtype = value.type.dtype if isinstance(value.type, TensorType) else None
    if dtype is None and value.constant is not None:
        dtype = value.constant.dtype
    return IntegerRing.from_dtype(dtype) if dtype is not None and dtype.kind in "iu" else None


class SymbolicIntegers:
    """Expressions for the values of one model."""

    def __init__(self, origins: ProducerMap) -> None:
        self.origins = origins
        self.formatter = NodeFormatter(origins)

    def expression(self, value: Value, depth: int = _MAX_DEPTH) -> SymbolicInteger:
        """The expression of a value that is one integer."""
        number = self.origins.constant_integer(value)
        if number is not None:
            return SymbolicInteger(number)
        node = self.origins.get(value)
        if isinstance(node, Operation) and not node.is_custom_operator and depth:
            expression = self._operation_expression(node, value, depth - 1)
            if expression is not None:
                return expression
        return SymbolicInteger(value=value, name=self.formatter.operand(value, bare=True))

    def _operation_expression(self, node: Operation, value: Value, depth: int) -> SymbolicInteger | None:
        inputs = [operand for operand in node.inputs if operand is not None]
        if not inputs:
            return None
        if node.op_type in KEEPING_OPERATORS or is_widening_cast(node):
            return self.expression(inputs[0], depth)
        if node.op_type in ("Gather", "ReduceProd", "Slice"):
            return self._axis_length_expression(node, depth)
        ring = integer_ring(value) or integer_ring(inputs[0])
        sign = _CALLS.get(node.op_type) or OPERATOR_SIGNS.get(node.op_type, "")
        sign = "//" if sign == "/" else sign
        if ring is None or sign not in _OPERATORS or len(inputs) != 2:
            return None
        left, right = (self.expression(operand, depth) for operand in inputs)
        return combine(sign, left, right, ring)

    def _axis_length_expression(self, node: Operation, depth: int) -> SymbolicInteger | None:
        """The length of an axis: ``Gather(Shape(x), 0)``."""
        shape = self.origins.get(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
        index = self.origins.constant_integer(node.inputs[1]) if node.op_type == "Gather" else None
        if not isinstance(shape, Operation) or shape.op_type not in ("Shape", "ShapeOf") or index is None:
            return None
        if shape.attributes.get("start", 0) or "end" in shape.attributes or shape.inputs[0] is None:
            return None
        return self.axis_length(shape.inputs[0], index)

    def axis_length(self, value: Value, axis: int) -> SymbolicInteger | None:
        """The length of an axis of a value; None if its rank is unknown and the axis counts from the end."""
        dims = value.type.shape if isinstance(value.type, TensorType) else None
        if axis < 0:
            if dims is None:
                return None
            axis += len(dims)
        name = f"{self.formatter.operand(value, bare=True)}.shape[{axis}]"
        return SymbolicInteger(value=value, axis=axis, name=name)


def is_widening_cast(node: Node) -> bool:
    """Whether a node converts an integer to a type that has all numbers of the source type."""
    if node.op_type not in ("Cast", "Convert") or node.inputs[0] is None or node.outputs[0] is None:
        return False
    source, target = integer_ring(node.inputs[0]), integer_ring(node.outputs[0])
    return source is not None and target is not None and target.low <= source.low and source.high <= target.high


def constant_text(data: Any) -> str:
    """A number as code."""
    return scalar_literal(np.asarray(data))


def outer_value(loop: Loop, value: Value) -> Value:
    """The value outside of a loop that an invariant input of its body has."""
    return next((port.outer for port in loop.invariants if port.inner is value), value)
