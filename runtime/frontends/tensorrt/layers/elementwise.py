"""Elementwise operations of two tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....graph import Dim, TensorType, Value
from ..enums import ElementWiseOperation, LayerType
from ..layer import ILayer, ITensor
from ..lowering_scope import LoweringScope
from .network_methods import network_method

_OP = ElementWiseOperation
_SIMPLE = {
    _OP.SUM: "Add",
    _OP.PROD: "Mul",
    _OP.SUB: "Sub",
    _OP.MAX: "Max",
    _OP.MIN: "Min",
    _OP.DIV: "Div",
    _OP.POW: "Pow",
    _OP.AND: "And",
    _OP.OR: "Or",
    _OP.XOR: "Xor",
    _OP.EQUAL: "Equal",
    _OP.GREATER: "Greater",
    _OP.LESS: "Less",
}
_LOGICAL = (_OP.AND, _OP.OR, _OP.XOR)
_COMPARES = (_OP.EQUAL, _OP.GREATER, _OP.LESS)


@network_method("add_elementwise", "An elementwise operation of two tensors.", input1=ITensor, input2=ITensor, op=_OP)
class IElementWiseLayer(ILayer, type=LayerType.ELEMENTWISE):
    """``input1 op input2``: of equal rank, each pair of sizes equal, or one of them 1."""

    op: ElementWiseOperation = _OP.SUM

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        a, b = types
        if a.dtype is not None and b.dtype is not None:
            self._check_types(a.dtype, b.dtype)
        dtype = np.dtype(np.bool_) if self.op in _COMPARES else a.dtype
        if a.shape is None or b.shape is None:
            return [TensorType(dtype)]
        shape = broadcast(a.shape, b.shape)
        if shape is None:
            raise self.error(
                f"the shapes {a.shape_text()} of {self.required_input(0)} and {b.shape_text()} of "
                f"{self.required_input(1)} do not fit: they must have one rank, and sizes that are equal or 1"
            )
        return [TensorType(dtype, shape)]

    def _check_types(self, a: np.dtype[np.generic], b: np.dtype[np.generic]) -> None:
        if a != b:
            raise self.error(
                f"operation {self.op.name} must have inputs of one type, and {self.required_input(0)} is {a.name}, "
                f"{self.required_input(1)} {b.name}; add_cast converts"
            )
        if (a == np.bool_) != (self.op in _LOGICAL) and not (a == np.bool_ and self.op is _OP.EQUAL):
            kind = "boolean inputs" if self.op in _LOGICAL else "numbers"
            raise self.error(f"operation {self.op.name} requires {kind}, and {self.required_input(0)} is {a.name}")

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        a, b = inputs
        if self.op is _OP.FLOOR_DIV:
            kind = self._inferred[0].dtype
            if kind is not None and kind.kind in "iu":
                # (a - python-style remainder) / b
                remainder = scope.op("Mod", a, b)
                return [scope.op("Div", scope.op("Sub", a, remainder), b)]
            return [scope.op("Floor", scope.op("Div", a, b))]
        return [scope.op(_SIMPLE[self.op], a, b)]


def broadcast(a: Sequence[Dim], b: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """Broadcast two shapes of equal rank; None where they are incompatible."""
    if len(a) != len(b):
        return None
    sizes: list[Dim] = []
    for x, y in zip(a, b, strict=True):
        if x == y or y == 1:
            sizes.append(x)
        elif x == 1:
            sizes.append(y)
        elif isinstance(x, int) and isinstance(y, int):
            return None
        else:
            sizes.append(x if isinstance(x, int) else y if isinstance(y, int) else None)
    return tuple(sizes)
