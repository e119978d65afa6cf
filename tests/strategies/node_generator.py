"""The operators of a random body: nodes over the visible values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .draws import ChoiceSource
from .numpy_operators import INT64_MAX
from .program import (
    STRING,
    AnyNode,
    ProgramBody,
    ProgramConstant,
    ProgramNode,
    ProgramValue,
    Shape,
    ValueType,
    outputs_of,
)

_CASTS = {
    "float32": ("float64",),
    "float64": ("float32",),
    "int64": ("float32", "float64", "bool"),
    "int32": ("float32", "int64"),
    "bool": ("float32", "int64"),
}


class GeneratorScope:
    """The values visible in a body: ``values``, and ``varying``, the extents that may differ between two iterations."""

    def __init__(self, body: ProgramBody, values: list[ProgramValue], varying: set[str]) -> None:
        self.body = body
        self.values = values
        self.varying = varying

    def inner_scope(self, body: ProgramBody) -> GeneratorScope:
        """An inner scope, in which all values of this one are constant."""
        return GeneratorScope(body, list(self.values), set())

    def add(self, node: AnyNode) -> Any:
        self.body.nodes.append(node)
        result = outputs_of(node)
        self.values += result
        return result

    def values_where(self, fits: Callable[[ProgramValue], bool]) -> list[ProgramValue]:
        return [value for value in self.values if fits(value)]


class NodeGenerator:
    """Adds nodes to bodies, one operator after the other."""

    def __init__(self, draw: ChoiceSource, features: frozenset[str]) -> None:
        self.draw = draw
        self.openvino = "openvino" in features
        self.features = features - ({"strings", "branches", "scan"} if self.openvino else set())
        self._count = 0
        self._tokens = 0

    # -- names

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def token(self, scope: GeneratorScope | None = None) -> str:
        self._tokens += 1
        token = f"d{self._tokens}"
        if scope is not None:
            scope.varying.add(token)
        return token

    def new_value(self, prefix: str, dtype: str, shape: Shape = ()) -> ProgramValue:
        return ProgramValue(self.name(prefix), ValueType(dtype, shape))

    # -- picking

    def prefer_recent(self, values: list[ProgramValue]) -> ProgramValue:
        """Pick a value, preferably a recent one, so that chains arise."""
        if self.draw.chance(50):
            return self.draw.pick(values)
        return values[-1 - self.draw.integer(0, min(3, len(values) - 1))]

    def draws_feature(self, feature: str, percent: int = 100) -> bool:
        return feature in self.features and self.draw.chance(percent)

    def numeric_values(self, scope: GeneratorScope) -> list[ProgramValue]:
        return scope.values_where(lambda v: v.type.dtype not in (STRING, "bool"))

    def values_with_rows(self, scope: GeneratorScope, least: int = 1) -> list[ProgramValue]:
        return scope.values_where(
            lambda v: v.type.dtype == "float32" and len(v.type.shape) == 2 and v.type.shape[1] == 2
        )

    def partner(self, scope: GeneratorScope, a: ProgramValue) -> tuple[ProgramValue, Shape] | None:
        """A value of the same type that ``a`` can be broadcast with, and the shape of both."""
        results = []
        for b in scope.values:
            if b.type.dtype == a.type.dtype:
                shape = _broadcast(a.type.shape, b.type.shape)
                if shape is not None:
                    results.append((b, shape))
        b = self.prefer_recent([b for b, _ in results])
        return next((b, shape) for other, shape in results if other is b)

    # -- nodes

    def emit(
        self,
        scope: GeneratorScope,
        operator: str,
        inputs: list[ProgramValue],
        dtype: str,
        shape: Shape,
        **attributes: Any,
    ) -> ProgramValue:
        output = self.new_value("t", dtype, shape)
        scope.add(ProgramNode(operator, inputs, output, attributes))
        return output

    def constant(self, scope: GeneratorScope, number: Any, dtype: str) -> ProgramValue:
        output = self.new_value("c", dtype)
        scope.add(ProgramConstant(output, np.array(number, dtype)))
        # No other node may pick it.
        scope.values.remove(output)
        return output

    def emit_identity(self, scope: GeneratorScope, value: ProgramValue) -> ProgramValue:
        return self.emit(scope, "Identity", [value], value.type.dtype, value.type.shape)

    def emit_mod_16(self, scope: GeneratorScope, x: ProgramValue) -> ProgramValue:
        """``x`` modulo 16, as sums and products require it."""
        sixteen = self.constant(scope, 16, x.type.dtype)
        return self.emit(scope, "Mod", [x, sixteen], x.type.dtype, x.type.shape)

    def arithmetic(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(self.numeric_values(scope))
        result = self.partner(scope, a)
        if result is None:
            return False
        b, shape = result
        operator = self.draw.pick(("Add", "Sub", "Max", "Min", "Mul"))
        # If both grow together, no value may express the extent.
        outcome = self.emit(scope, operator, [a, b] if self.draw.chance(70) else [b, a], a.type.dtype, shape)
        if operator == "Mul":
            self.emit_mod_16(scope, outcome)
        return True

    def unary(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(self.numeric_values(scope))
        operators = ["Neg", "Abs", "Identity"]
        if a.type.dtype.startswith("float"):
            operators += ["Relu"] + ["Tanh"] * 4 * ("smooth" in self.features)
        self.emit(scope, self.draw.pick(operators), [a], a.type.dtype, a.type.shape)
        return True

    def compare(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(self.numeric_values(scope))
        result = self.partner(scope, a)
        if result is None:
            return False
        b, shape = result
        self.emit(scope, self.draw.pick(("Less", "LessOrEqual", "Greater", "Equal")), [a, b], "bool", shape)
        return True

    def logic(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(scope.values_where(lambda v: v.type.dtype == "bool"))
        if self.draw.chance(30):
            self.emit(scope, "Not", [a], "bool", a.type.shape)
            return True
        result = self.partner(scope, a)
        if result is None:
            return False
        self.emit(scope, self.draw.pick(("And", "Or", "Xor")), [a, result[0]], "bool", result[1])
        return True

    def cast(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(scope.values_where(lambda v: v.type.dtype != STRING))
        to = self.draw.pick(_CASTS[a.type.dtype])
        self.emit(scope, "Cast", [a], to, a.type.shape, to=to)
        return True

    def where(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(scope.values)
        result = self.partner(scope, a)
        conditions = scope.values_where(lambda v: v.type == ValueType("bool"))
        if result is None or (self.openvino and a.type.dtype == STRING):
            return False
        self.emit(scope, "Where", [self.prefer_recent(conditions), a, result[0]], a.type.dtype, result[1])
        return True

    def concat(self, scope: GeneratorScope) -> bool:
        tall = self.values_with_rows(scope)
        parts = [self.prefer_recent(tall) for _ in range(2)]
        if self.draw.chance(10):
            parts.append(self.draw.pick(tall))
        self.emit(scope, "Concat", parts, "float32", (self.token(scope), 2))
        return True

    def emit_row_slice(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(self.values_with_rows(scope))
        start, stop = self.draw.pick(((0, -1), (1, INT64_MAX), (-3, INT64_MAX), (0, 4), (-1, INT64_MAX)))
        self.emit(scope, "Rows", [a], "float32", (self.token(scope), 2), start=start, stop=stop)
        return True

    def emit_data_dependent(self, scope: GeneratorScope) -> bool:
        """An operator whose number of output elements depends on the data."""
        a = self.prefer_recent(scope.values_where(lambda v: v.type.dtype != STRING and len(v.type.shape) > 0))
        conditions = scope.values_where(lambda v: v.type.dtype == "bool" and v.type.shape == a.type.shape[:1])
        if conditions and not self.openvino and self.draw.chance(60):
            shape = (self.token(scope), *a.type.shape[1:])
            self.emit(scope, "Compress", [a, self.prefer_recent(conditions)], a.type.dtype, shape)
        elif a.type.dtype != "bool" and not self.openvino and self.draw.chance(30):
            self.emit(scope, "Unique", [a], a.type.dtype, (self.token(scope),))
        else:
            self.emit(scope, "NonZero", [a], "int64", (len(a.type.shape), self.token(scope)))
        return True

    def reduce(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(
            scope.values_where(lambda v: v.type.dtype in ("float32", "int64") and len(v.type.shape) > 0)
        )
        a = self.emit_mod_16(scope, a)
        if len(a.type.shape) == 2 and self.draw.chance(40):
            self.emit(scope, "SumRows", [a], a.type.dtype, a.type.shape[1:])
        else:
            self.emit(scope, "Sum", [a], a.type.dtype, ())
        return True

    def shape(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(scope.values_where(lambda v: len(v.type.shape) > 0))
        self.emit(scope, "Shape", [a], "int64", (len(a.type.shape),))
        if self.draw.chance(50):
            self.emit(scope, "Gather", [scope.values[-1], self.constant(scope, 0, "int64")], "int64", ())
        return True

    def product(self, scope: GeneratorScope) -> bool:
        right = self.prefer_recent(scope.values_where(lambda v: v.name in ("W1", "W2", "I1", "one", "v", "cell")))
        dtype, shape = right.type.dtype, right.type.shape
        if len(shape) == 1:
            left = self.prefer_recent(scope.values_where(lambda v: v.type == right.type))
            result: Shape = ()
        else:
            fits = scope.values_where(
                lambda v: v.type.dtype == dtype and len(v.type.shape) == 2 and v.type.shape[1] == shape[0]
            )
            left = self.prefer_recent(fits)
            result = (left.type.shape[0], shape[1])
        left, right = self.emit_mod_16(scope, left), right
        if len(result) == 2 and not self.openvino and dtype == "float32" and self.draw.chance(30):
            fits = scope.values_where(lambda v: v.type.dtype == dtype and v.type.shape in ((), (1,), (1, 1), result))
            added = self.emit_mod_16(scope, self.prefer_recent(fits))
            self.emit(scope, "Gemm", [left, right, added], dtype, result)
        else:
            self.emit(scope, "MatMul", [left, right], dtype, result)
        return True

    def string(self, scope: GeneratorScope) -> bool:
        a = self.prefer_recent(scope.values_where(lambda v: v.type.dtype == STRING))
        b = self.draw.pick([v for v in scope.values if v.name in ("s", "names")])
        shape = _broadcast(a.type.shape, b.type.shape)
        if shape is None:
            return False
        if self.draw.chance(30):
            self.emit(scope, "Equal", [a, b], "bool", shape)
        else:
            self.emit(scope, "StringConcat", [a, b], STRING, shape)
        return True

    def with_attributes(self, scope: GeneratorScope) -> bool:
        """An operator whose result depends on its attributes."""
        draw = self.draw
        a = self.prefer_recent(scope.values_where(lambda v: v.type.dtype == "float32"))
        if len(a.type.shape) and draw.chance(50):
            a = self.emit_mod_16(scope, a)
            ways = {"exclusive": draw.integer(0, 1), "reverse": draw.integer(0, 1)}
            self.emit(scope, "CumSum", [a], a.type.dtype, a.type.shape, **ways)
        else:
            limits = {"low": draw.pick((-3.0, -1.0, 0.0)), "high": draw.pick((1.0, 2.0, 5.0))}
            self.emit(scope, "Clip", [a], a.type.dtype, a.type.shape, **limits)
        return True

    def emit_unchecked_gather(self, scope: GeneratorScope) -> bool:
        """A Gather whose index may be out of bounds."""
        source = self.prefer_recent(scope.values_where(lambda v: v.type.dtype != STRING and len(v.type.shape) > 0))
        index = self.prefer_recent(scope.values_where(lambda v: v.type == ValueType("int64")))
        output = self.new_value("t", source.type.dtype, source.type.shape[1:])
        scope.add(ProgramNode("Gather", [source, index], output, {"zeros": self.openvino}))
        return True


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    dims: list[int | str] = []
    for k in range(1, max(len(a), len(b)) + 1):
        x = a[-k] if k <= len(a) else 1
        y = b[-k] if k <= len(b) else 1
        if x != y and 1 not in (x, y):
            return None
        dims.append(y if x == 1 else x)
    return tuple(dims[::-1])
