"""What operators a random body has: nodes over the values that it sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .draws import Draw
from .operators import END
from .programs import STRING, AnyNode, Body, Constant, Node, Shape, Type, Value, outputs_of

_CASTS = {
    "float32": ("float64",),
    "float64": ("float32",),
    "int64": ("float32", "float64", "bool"),
    "int32": ("float32", "int64"),
    "bool": ("float32", "int64"),
}


class Scope:
    """What a body sees: ``values``, and ``varying``, the extents that may differ between two iterations."""

    def __init__(self, body: Body, values: list[Value], varying: set[str]) -> None:
        self.body = body
        self.values = values
        self.varying = varying

    def inside(self, body: Body) -> Scope:
        """A scope within, where everything here stands still."""
        return Scope(body, list(self.values), set())

    def add(self, node: AnyNode) -> Any:
        self.body.nodes.append(node)
        made = outputs_of(node)
        self.values += made
        return made

    def of(self, fits: Callable[[Value], bool]) -> list[Value]:
        return [value for value in self.values if fits(value)]


class Nodes:
    """Adds nodes to bodies, one operator after the other."""

    def __init__(self, draw: Draw, features: frozenset[str]) -> None:
        self.draw = draw
        self.openvino = "openvino" in features
        self.features = features - ({"strings", "branches", "scan"} if self.openvino else set())
        self._count = 0
        self._tokens = 0

    # -- names

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def token(self, scope: Scope | None = None) -> str:
        self._tokens += 1
        token = f"d{self._tokens}"
        if scope is not None:
            scope.varying.add(token)
        return token

    def value(self, prefix: str, dtype: str, shape: Shape = ()) -> Value:
        return Value(self.name(prefix), Type(dtype, shape))

    # -- picking

    def late(self, values: list[Value]) -> Value:
        """One of the newest rather, so that there are chains."""
        if self.draw.chance(50):
            return self.draw.pick(values)
        return values[-1 - self.draw.integer(0, min(3, len(values) - 1))]

    def has(self, feature: str, percent: int = 100) -> bool:
        return feature in self.features and self.draw.chance(percent)

    def numbers(self, scope: Scope) -> list[Value]:
        return scope.of(lambda v: v.type.dtype not in (STRING, "bool"))

    def tall(self, scope: Scope, least: int = 1) -> list[Value]:
        return scope.of(lambda v: v.type.dtype == "float32" and len(v.type.shape) == 2 and v.type.shape[1] == 2)

    def partner(self, scope: Scope, a: Value) -> tuple[Value, Shape] | None:
        """A value of the same type that ``a`` can be broadcast with, and the shape of both."""
        found = []
        for b in scope.values:
            if b.type.dtype == a.type.dtype:
                shape = _broadcast(a.type.shape, b.type.shape)
                if shape is not None:
                    found.append((b, shape))
        b = self.late([b for b, _ in found])
        return next((b, shape) for other, shape in found if other is b)

    # -- nodes

    def emit(
        self, scope: Scope, operator: str, inputs: list[Value], dtype: str, shape: Shape, **attributes: Any
    ) -> Value:
        output = self.value("t", dtype, shape)
        scope.add(Node(operator, inputs, output, attributes))
        return output

    def constant(self, scope: Scope, number: Any, dtype: str) -> Value:
        output = self.value("c", dtype)
        scope.add(Constant(output, np.array(number, dtype)))
        # Nothing else is to pick it.
        scope.values.remove(output)
        return output

    def copied(self, scope: Scope, value: Value) -> Value:
        return self.emit(scope, "Identity", [value], value.type.dtype, value.type.shape)

    def small(self, scope: Scope, x: Value) -> Value:
        """``x`` below 16, as sums and products need it."""
        sixteen = self.constant(scope, 16, x.type.dtype)
        return self.emit(scope, "Mod", [x, sixteen], x.type.dtype, x.type.shape)

    def arithmetic(self, scope: Scope) -> bool:
        a = self.late(self.numbers(scope))
        found = self.partner(scope, a)
        if found is None:
            return False
        b, shape = found
        operator = self.draw.pick(("Add", "Sub", "Max", "Min", "Mul"))
        # Where both grow together there may be nothing that says so.
        made = self.emit(scope, operator, [a, b] if self.draw.chance(70) else [b, a], a.type.dtype, shape)
        if operator == "Mul":
            self.small(scope, made)
        return True

    def unary(self, scope: Scope) -> bool:
        a = self.late(self.numbers(scope))
        operators = ["Neg", "Abs", "Identity"]
        if a.type.dtype.startswith("float"):
            operators += ["Relu"] + ["Tanh"] * 4 * ("smooth" in self.features)
        self.emit(scope, self.draw.pick(operators), [a], a.type.dtype, a.type.shape)
        return True

    def compare(self, scope: Scope) -> bool:
        a = self.late(self.numbers(scope))
        found = self.partner(scope, a)
        if found is None:
            return False
        b, shape = found
        self.emit(scope, self.draw.pick(("Less", "LessOrEqual", "Greater", "Equal")), [a, b], "bool", shape)
        return True

    def logic(self, scope: Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype == "bool"))
        if self.draw.chance(30):
            self.emit(scope, "Not", [a], "bool", a.type.shape)
            return True
        found = self.partner(scope, a)
        if found is None:
            return False
        self.emit(scope, self.draw.pick(("And", "Or", "Xor")), [a, found[0]], "bool", found[1])
        return True

    def cast(self, scope: Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype != STRING))
        to = self.draw.pick(_CASTS[a.type.dtype])
        self.emit(scope, "Cast", [a], to, a.type.shape, to=to)
        return True

    def where(self, scope: Scope) -> bool:
        a = self.late(scope.values)
        found = self.partner(scope, a)
        conditions = scope.of(lambda v: v.type == Type("bool"))
        if found is None or (self.openvino and a.type.dtype == STRING):
            return False
        self.emit(scope, "Where", [self.late(conditions), a, found[0]], a.type.dtype, found[1])
        return True

    def concat(self, scope: Scope) -> bool:
        tall = self.tall(scope)
        parts = [self.late(tall) for _ in range(2)]
        if self.draw.chance(10):
            parts.append(self.draw.pick(tall))
        self.emit(scope, "Concat", parts, "float32", (self.token(scope), 2))
        return True

    def some_rows(self, scope: Scope) -> bool:
        a = self.late(self.tall(scope))
        start, stop = self.draw.pick(((0, -1), (1, END), (-3, END), (0, 4), (-1, END)))
        self.emit(scope, "Rows", [a], "float32", (self.token(scope), 2), start=start, stop=stop)
        return True

    def found(self, scope: Scope) -> bool:
        """As many elements as the numbers say."""
        a = self.late(scope.of(lambda v: v.type.dtype != STRING and len(v.type.shape) > 0))
        conditions = scope.of(lambda v: v.type.dtype == "bool" and v.type.shape == a.type.shape[:1])
        if conditions and not self.openvino and self.draw.chance(60):
            shape = (self.token(scope), *a.type.shape[1:])
            self.emit(scope, "Compress", [a, self.late(conditions)], a.type.dtype, shape)
        elif a.type.dtype != "bool" and not self.openvino and self.draw.chance(30):
            self.emit(scope, "Unique", [a], a.type.dtype, (self.token(scope),))
        else:
            self.emit(scope, "NonZero", [a], "int64", (len(a.type.shape), self.token(scope)))
        return True

    def reduce(self, scope: Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype in ("float32", "int64") and len(v.type.shape) > 0))
        a = self.small(scope, a)
        if len(a.type.shape) == 2 and self.draw.chance(40):
            self.emit(scope, "SumRows", [a], a.type.dtype, a.type.shape[1:])
        else:
            self.emit(scope, "Sum", [a], a.type.dtype, ())
        return True

    def shape(self, scope: Scope) -> bool:
        a = self.late(scope.of(lambda v: len(v.type.shape) > 0))
        self.emit(scope, "Shape", [a], "int64", (len(a.type.shape),))
        if self.draw.chance(50):
            self.emit(scope, "Gather", [scope.values[-1], self.constant(scope, 0, "int64")], "int64", ())
        return True

    def product(self, scope: Scope) -> bool:
        right = self.late(scope.of(lambda v: v.name in ("W1", "W2", "I1", "one", "v", "cell")))
        dtype, shape = right.type.dtype, right.type.shape
        if len(shape) == 1:
            left = self.late(scope.of(lambda v: v.type == right.type))
            result: Shape = ()
        else:
            fits = scope.of(lambda v: v.type.dtype == dtype and len(v.type.shape) == 2 and v.type.shape[1] == shape[0])
            left = self.late(fits)
            result = (left.type.shape[0], shape[1])
        left, right = self.small(scope, left), right
        if len(result) == 2 and not self.openvino and dtype == "float32" and self.draw.chance(30):
            fits = scope.of(lambda v: v.type.dtype == dtype and v.type.shape in ((), (1,), (1, 1), result))
            added = self.small(scope, self.late(fits))
            self.emit(scope, "Gemm", [left, right, added], dtype, result)
        else:
            self.emit(scope, "MatMul", [left, right], dtype, result)
        return True

    def string(self, scope: Scope) -> bool:
        a = self.late(scope.of(lambda v: v.type.dtype == STRING))
        b = self.draw.pick([v for v in scope.values if v.name in ("s", "names")])
        shape = _broadcast(a.type.shape, b.type.shape)
        if shape is None:
            return False
        if self.draw.chance(30):
            self.emit(scope, "Equal", [a, b], "bool", shape)
        else:
            self.emit(scope, "StringConcat", [a, b], STRING, shape)
        return True

    def with_attributes(self, scope: Scope) -> bool:
        """An operator whose attributes decide what it gives."""
        draw = self.draw
        a = self.late(scope.of(lambda v: v.type.dtype == "float32"))
        if len(a.type.shape) and draw.chance(50):
            a = self.small(scope, a)
            ways = {"exclusive": draw.integer(0, 1), "reverse": draw.integer(0, 1)}
            self.emit(scope, "CumSum", [a], a.type.dtype, a.type.shape, **ways)
        else:
            limits = {"low": draw.pick((-3.0, -1.0, 0.0)), "high": draw.pick((1.0, 2.0, 5.0))}
            self.emit(scope, "Clip", [a], a.type.dtype, a.type.shape, **limits)
        return True

    def risky(self, scope: Scope) -> bool:
        """A Gather whose index may be outside."""
        source = self.late(scope.of(lambda v: v.type.dtype != STRING and len(v.type.shape) > 0))
        at = self.late(scope.of(lambda v: v.type == Type("int64")))
        output = self.value("t", source.type.dtype, source.type.shape[1:])
        scope.add(Node("Gather", [source, at], output, {"zeros": self.openvino}))
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
