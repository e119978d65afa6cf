"""Elementwise layers: of two tensors, of one, selection between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph import Dim, TensorType, Value
from ....ops.operator_helpers import is_integer
from ..checked_attribute import CheckedAttribute
from ..enums import ActivationType, DataType, ElementWiseOperation, LayerType, UnaryOperation, numpy_type
from ..layer import ILayer, enum_argument
from ..lowering_scope import LoweringScope
from .argument_checks import enum_check, require_dtype_kind, same_types_check, type_and_rank_check
from .network_methods import network_method

_OP = ElementWiseOperation
_LOGICAL = (_OP.AND, _OP.OR, _OP.XOR)
_COMPARES = (_OP.EQUAL, _OP.GREATER, _OP.LESS)
#: ONNX's operators, where their names differ.
_OPERATORS = {
    _OP.SUM: "Add",
    _OP.PROD: "Mul",
    UnaryOperation.RECIP: "Reciprocal",
    UnaryOperation.ISINF: "IsInf",
    UnaryOperation.ISNAN: "IsNaN",
}
_INTEGER_OPERATIONS = (UnaryOperation.ABS, UnaryOperation.NEG, UnaryOperation.SIGN)


def _onnx_operator(operation: ElementWiseOperation | UnaryOperation) -> str:
    return _OPERATORS.get(operation, operation.name.capitalize())


@network_method("add_elementwise", "An elementwise operation of two tensors.", "input1", "input2", op=_OP)
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
        return [scope.op(_onnx_operator(self.op), a, b)]


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


@network_method("add_unary", "An elementwise function of one tensor.", "input", op=UnaryOperation)
class IUnaryLayer(ILayer, type=LayerType.UNARY):
    """A function of one tensor."""

    op: UnaryOperation = UnaryOperation.EXP

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        enum_argument(UnaryOperation, self.op, f"{self}: op")
        accepted = "number" if self.op in _INTEGER_OPERATIONS else "float"
        require_dtype_kind(self, 0, types[0], "bool" if self.op is UnaryOperation.NOT else accepted)
        is_predicate = self.op in (UnaryOperation.ISINF, UnaryOperation.ISNAN)
        return [TensorType(np.dtype(np.bool_) if is_predicate else types[0].dtype, types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op(_onnx_operator(self.op), *inputs)]


#: Activations that are one operator: its type, and the layer's property for each attribute.
_ACTIVATIONS: dict[ActivationType, tuple[str, dict[str, str]]] = {
    ActivationType.RELU: ("Relu", {}),
    ActivationType.SIGMOID: ("Sigmoid", {}),
    ActivationType.TANH: ("Tanh", {}),
    ActivationType.SOFTSIGN: ("Softsign", {}),
    ActivationType.GELU_ERF: ("Gelu", {}),
    ActivationType.LEAKY_RELU: ("LeakyRelu", {"alpha": "alpha"}),
    ActivationType.ELU: ("Elu", {"alpha": "alpha"}),
    ActivationType.THRESHOLDED_RELU: ("ThresholdedRelu", {"alpha": "alpha"}),
    ActivationType.SELU: ("Selu", {"alpha": "alpha", "gamma": "beta"}),
    ActivationType.HARD_SIGMOID: ("HardSigmoid", {"alpha": "alpha", "beta": "beta"}),
}


@network_method("add_activation", "An elementwise activation.", "input", type=ActivationType)
class IActivationLayer(ILayer, type=LayerType.ACTIVATION):
    """An activation; ``alpha`` and ``beta`` are its parameters, where it has any."""

    alpha: float = 0.0
    beta: float = 0.0
    _activation: ActivationType

    type = CheckedAttribute[ActivationType]("_activation", enum_check(ActivationType))

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        is_int = self._activation is ActivationType.RELU and types[0].dtype is not None and is_integer(types[0].dtype)
        require_dtype_kind(self, 0, types[0], "number" if is_int else "float")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        kind, x = self._activation, inputs[0]
        dtype = self._inferred[0].dtype
        alpha, beta = float(self.alpha), float(self.beta)

        def scaled(value: Value | None, factor: float) -> Value | None:
            return value if factor == 1 else scope.op("Mul", value, scope.constant(factor, dtype))

        if kind in _ACTIVATIONS:
            op_type, properties = _ACTIVATIONS[kind]
            attributes: dict[str, Any] = {name: float(getattr(self, field)) for name, field in properties.items()}
            return [scope.op(op_type, x, **attributes)]
        if kind is ActivationType.GELU_TANH:
            return [scope.op("Gelu", x, approximate="tanh")]
        if kind is ActivationType.SOFTPLUS:
            return [scope.op("Mul", scope.op("Softplus", scaled(x, beta)), scope.constant(alpha, dtype))]
        if kind is ActivationType.SCALED_TANH:
            return [scope.op("Mul", scope.op("Tanh", scaled(x, beta)), scope.constant(alpha, dtype))]
        low, high = scope.constant(alpha, dtype), scope.constant(beta, dtype)
        if alpha <= beta:
            return [scope.op("Clip", x, low, high)]
        return [scope.op("Max", low, scope.op("Min", high, x))]


@network_method("add_parametric_relu", "A ReLU with slopes for negative elements.", "input", "slopes")
class IParametricReLULayer(ILayer, type=LayerType.PARAMETRIC_RELU, operator="PRelu"):
    """``x`` where it is not negative, else ``slope * x``."""

    CHECKS = (type_and_rank_check(0, "float"), same_types_check())

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        x, slopes = (kind.shape for kind in types)
        if x is not None and slopes is not None:
            shape = broadcast(x, slopes)
            if shape is None or any(isinstance(a, int) and a != b for a, b in zip(x, shape, strict=True)):
                raise self.error(
                    f"slopes of shape {types[1].shape_text()} do not broadcast to {types[0].shape_text()}: they must"
                    " have one rank, and sizes that are equal or 1"
                )
        return [types[0]]


@network_method("add_select", "Elementwise selection between two tensors.", "condition", "then_input", "else_input")
class ISelectLayer(ILayer, type=LayerType.SELECT, operator="Where"):
    """Elements of one tensor where a condition holds, else those of another."""

    CHECKS = (type_and_rank_check(0, "bool"),)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        condition, then_type, else_type = types
        if then_type.dtype is not None and else_type.dtype is not None and then_type.dtype != else_type.dtype:
            raise self.error(
                f"both choices must be of one type, and {self.required_input(1)} is {then_type.dtype.name}, "
                f"{self.required_input(2)} {else_type.dtype.name}; add_cast converts"
            )
        if condition.shape is None or then_type.shape is None or else_type.shape is None:
            return [TensorType(then_type.dtype)]
        branches_shape = broadcast(then_type.shape, else_type.shape)
        shape = None if branches_shape is None else broadcast(condition.shape, branches_shape)
        if shape is None:
            raise self.error(
                f"the shapes {condition.shape_text()} of {self.required_input(0)}, {then_type.shape_text()} of "
                f"{self.required_input(1)} and {else_type.shape_text()} of {self.required_input(2)} do not fit: they "
                "must have one rank, and sizes that are equal or 1"
            )
        return [TensorType(then_type.dtype, shape)]


@network_method("add_identity", "A copy.", "input")
class IIdentityLayer(ILayer, type=LayerType.IDENTITY, operator="Identity"):
    """A copy, converted if ``set_output_type`` requests it."""


@network_method("add_cast", "A conversion to another type.", "input", to_type=DataType)
class ICastLayer(ILayer, type=LayerType.CAST):
    """A conversion."""

    to_type: DataType = DataType.FLOAT

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [TensorType(numpy_type(enum_argument(DataType, self.to_type, f"{self}: to_type")), types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.cast(inputs[0], numpy_type(self.to_type))]
