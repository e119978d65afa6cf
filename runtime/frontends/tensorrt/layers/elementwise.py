"""Operations of two tensors, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ....graph import Dim, TensorType, Value
from ..enums import ElementWiseOperation, LayerType
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method

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


class IElementWiseLayer(ILayer):
    """``input1 op input2``: of one rank, each pair of sizes equal, or one of them 1."""

    KIND: ClassVar[str] = "ElementWise"
    TYPE: ClassVar[LayerType] = LayerType.ELEMENTWISE

    op: ElementWiseOperation = _OP.SUM

    def __init__(self, network: INetworkDefinition, input1: ITensor, input2: ITensor, op: _OP) -> None:
        super().__init__(network, [input1, input2])
        self.op = op

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
                f"{self.required_input(1)} do not fit: "
                "they must have one rank, and sizes that are equal or 1"
            )
        return [TensorType(dtype, shape)]

    def _check_types(self, a: np.dtype[np.generic], b: np.dtype[np.generic]) -> None:
        if a != b:
            raise self.error(
                f"operation {self.op.name} must have inputs of one type, and {self.required_input(0)} is {a.name}, "
                f"{self.required_input(1)} {b.name}; add_cast converts"
            )
        if (a == np.bool_) != (self.op in _LOGICAL) and not (a == np.bool_ and self.op is _OP.EQUAL):
            need = "boolean inputs" if self.op in _LOGICAL else "numbers"
            raise self.error(f"operation {self.op.name} requires {need}, and {self.required_input(0)} is {a.name}")

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        a, b = inputs
        if self.op is _OP.FLOOR_DIV:
            kind = self._inferred[0].dtype
            if kind is not None and kind.kind in "iu":
                # (a - python-style remainder) / b
                rest = scope.op("Mod", a, b)
                return [scope.op("Div", scope.op("Sub", a, rest), b)]
            return [scope.op("Floor", scope.op("Div", a, b))]
        return [scope.op(_SIMPLE[self.op], a, b)]


def broadcast(a: Sequence[Dim], b: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """The sizes of two shapes of one rank together; None where they do not fit."""
    if len(a) != len(b):
        return None
    sizes: list[Dim] = []
    for one, other in zip(a, b, strict=True):
        if one == other or other == 1:
            sizes.append(one)
        elif one == 1:
            sizes.append(other)
        elif isinstance(one, int) and isinstance(other, int):
            return None
        else:
            sizes.append(one if isinstance(one, int) else other if isinstance(other, int) else None)
    return tuple(sizes)


@network_method
def add_elementwise(
    network: INetworkDefinition, input1: ITensor, input2: ITensor, op: ElementWiseOperation
) -> IElementWiseLayer:
    """An operation of two tensors, element by element."""
    tensor_argument(network, input1, "add_elementwise: input1")
    tensor_argument(network, input2, "add_elementwise: input2")
    enum_argument(ElementWiseOperation, op, "add_elementwise: op")
    return IElementWiseLayer(network, input1, input2, op)
