"""Elementwise layers of one tensor, and selection between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import TensorType, Value
from ....ops.operator_helpers import is_integer
from ..checked_attribute import CheckedAttribute
from ..enums import ActivationType, DataType, LayerType, UnaryOperation, numpy_type
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from .argument_checks import enum_check, require_dtype_kind, require_equal_dtypes
from .elementwise import broadcast

_UNARY_OPERATION = UnaryOperation
_UNARY_OPERATORS = {
    _UNARY_OPERATION.EXP: "Exp",
    _UNARY_OPERATION.LOG: "Log",
    _UNARY_OPERATION.SQRT: "Sqrt",
    _UNARY_OPERATION.RECIP: "Reciprocal",
    _UNARY_OPERATION.ABS: "Abs",
    _UNARY_OPERATION.NEG: "Neg",
    _UNARY_OPERATION.SIN: "Sin",
    _UNARY_OPERATION.COS: "Cos",
    _UNARY_OPERATION.TAN: "Tan",
    _UNARY_OPERATION.SINH: "Sinh",
    _UNARY_OPERATION.COSH: "Cosh",
    _UNARY_OPERATION.ASIN: "Asin",
    _UNARY_OPERATION.ACOS: "Acos",
    _UNARY_OPERATION.ATAN: "Atan",
    _UNARY_OPERATION.ASINH: "Asinh",
    _UNARY_OPERATION.ACOSH: "Acosh",
    _UNARY_OPERATION.ATANH: "Atanh",
    _UNARY_OPERATION.CEIL: "Ceil",
    _UNARY_OPERATION.FLOOR: "Floor",
    _UNARY_OPERATION.ERF: "Erf",
    _UNARY_OPERATION.NOT: "Not",
    _UNARY_OPERATION.SIGN: "Sign",
    _UNARY_OPERATION.ROUND: "Round",
    _UNARY_OPERATION.ISINF: "IsInf",
    _UNARY_OPERATION.ISNAN: "IsNaN",
}
_INTEGER_OPERATIONS = (_UNARY_OPERATION.ABS, _UNARY_OPERATION.NEG, _UNARY_OPERATION.SIGN)


class IUnaryLayer(ILayer):
    """A function of one tensor."""

    KIND: ClassVar[str] = "Unary"
    TYPE: ClassVar[LayerType] = LayerType.UNARY

    op: UnaryOperation = _UNARY_OPERATION.EXP

    def __init__(self, network: INetworkDefinition, input: ITensor, op: UnaryOperation) -> None:
        super().__init__(network, [input])
        self.op = op

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        enum_argument(UnaryOperation, self.op, f"{self}: op")
        require_dtype_kind(
            self,
            0,
            types[0],
            "bool" if self.op is _UNARY_OPERATION.NOT else "number" if self.op in _INTEGER_OPERATIONS else "float",
        )
        is_predicate = self.op in (_UNARY_OPERATION.ISINF, _UNARY_OPERATION.ISNAN)
        return [TensorType(np.dtype(np.bool_) if is_predicate else types[0].dtype, types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op(_UNARY_OPERATORS[self.op], *inputs)]


@network_method
def add_unary(network: INetworkDefinition, input: ITensor, op: UnaryOperation) -> IUnaryLayer:
    """An elementwise function of one tensor."""
    tensor_argument(network, input, "add_unary: input")
    return IUnaryLayer(network, input, enum_argument(UnaryOperation, op, "add_unary: op"))


_ACTIVATION_TYPE = ActivationType
#: Activations without parameters, and those with alpha alone, with ONNX's names.
_ACTIVATIONS_WITHOUT_PARAMETERS = {
    _ACTIVATION_TYPE.RELU: "Relu",
    _ACTIVATION_TYPE.SIGMOID: "Sigmoid",
    _ACTIVATION_TYPE.TANH: "Tanh",
    _ACTIVATION_TYPE.SOFTSIGN: "Softsign",
    _ACTIVATION_TYPE.GELU_ERF: "Gelu",
}
_ACTIVATIONS_WITH_ALPHA = {
    _ACTIVATION_TYPE.LEAKY_RELU: "LeakyRelu",
    _ACTIVATION_TYPE.ELU: "Elu",
    _ACTIVATION_TYPE.THRESHOLDED_RELU: "ThresholdedRelu",
}


class IActivationLayer(ILayer):
    """An activation; ``alpha`` and ``beta`` are its parameters, where it has any."""

    KIND: ClassVar[str] = "Activation"
    TYPE: ClassVar[LayerType] = LayerType.ACTIVATION

    alpha: float = 0.0
    beta: float = 0.0

    def __init__(self, network: INetworkDefinition, input: ITensor, type: ActivationType) -> None:
        super().__init__(network, [input])
        self._activation = type

    type = CheckedAttribute[ActivationType]("_activation", enum_check(ActivationType))

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        is_int = self._activation is _ACTIVATION_TYPE.RELU and types[0].dtype is not None and is_integer(types[0].dtype)
        require_dtype_kind(self, 0, types[0], "number" if is_int else "float")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        kind, x = self._activation, inputs[0]
        dtype = self._inferred[0].dtype
        alpha, beta = float(self.alpha), float(self.beta)

        def times(value: Value | None, factor: float) -> Value | None:
            return value if factor == 1 else scope.op("Mul", value, scope.constant(factor, dtype))

        if kind in _ACTIVATIONS_WITHOUT_PARAMETERS:
            return [scope.op(_ACTIVATIONS_WITHOUT_PARAMETERS[kind], x)]
        if kind in _ACTIVATIONS_WITH_ALPHA:
            return [scope.op(_ACTIVATIONS_WITH_ALPHA[kind], x, alpha=alpha)]
        if kind is _ACTIVATION_TYPE.GELU_TANH:
            return [scope.op("Gelu", x, approximate="tanh")]
        if kind is _ACTIVATION_TYPE.SELU:
            return [scope.op("Selu", x, alpha=alpha, gamma=beta)]
        if kind is _ACTIVATION_TYPE.HARD_SIGMOID:
            return [scope.op("HardSigmoid", x, alpha=alpha, beta=beta)]
        if kind is _ACTIVATION_TYPE.SOFTPLUS:
            return [scope.op("Mul", scope.op("Softplus", times(x, beta)), scope.constant(alpha, dtype))]
        if kind is _ACTIVATION_TYPE.SCALED_TANH:
            return [scope.op("Mul", scope.op("Tanh", times(x, beta)), scope.constant(alpha, dtype))]
        low, high = scope.constant(alpha, dtype), scope.constant(beta, dtype)
        if alpha <= beta:
            return [scope.op("Clip", x, low, high)]
        return [scope.op("Max", low, scope.op("Min", high, x))]


@network_method
def add_activation(network: INetworkDefinition, input: ITensor, type: ActivationType) -> IActivationLayer:
    """An elementwise activation."""
    tensor_argument(network, input, "add_activation: input")
    return IActivationLayer(network, input, enum_argument(ActivationType, type, "add_activation: type"))


class IParametricReLULayer(ILayer):
    """``x`` where it is not negative, else ``slope * x``."""

    KIND: ClassVar[str] = "ParametricReLU"
    TYPE: ClassVar[LayerType] = LayerType.PARAMETRIC_RELU

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "float")
        require_equal_dtypes(self, types)
        x, slopes = (kind.shape for kind in types)
        if x is not None and slopes is not None:
            shape = broadcast(x, slopes)
            if shape is None or any(isinstance(a, int) and a != b for a, b in zip(x, shape, strict=True)):
                raise self.error(
                    f"slopes of shape {types[1].shape_text()} do not broadcast to {types[0].shape_text()}: they must"
                    " have one rank, and sizes that are equal or 1"
                )
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("PRelu", *inputs)]


@network_method
def add_parametric_relu(network: INetworkDefinition, input: ITensor, slopes: ITensor) -> IParametricReLULayer:
    """A ReLU with slopes for negative elements."""
    tensor_argument(network, input, "add_parametric_relu: input")
    tensor_argument(network, slopes, "add_parametric_relu: slopes")
    return IParametricReLULayer(network, [input, slopes])


class ISelectLayer(ILayer):
    """Elements of one tensor where a condition holds, else those of another."""

    KIND: ClassVar[str] = "Select"
    TYPE: ClassVar[LayerType] = LayerType.SELECT

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        condition, then_type, else_type = types
        require_dtype_kind(self, 0, condition, "bool")
        if then_type.dtype is not None and else_type.dtype is not None and then_type.dtype != else_type.dtype:
            raise self.error(
                f"both choices must be of one type, and {self.required_input(1)} is {then_type.dtype.name}, "
                f"{self.required_input(2)}"
                f" {else_type.dtype.name}; add_cast converts"
            )
        if condition.shape is None or then_type.shape is None or else_type.shape is None:
            return [TensorType(then_type.dtype)]
        branches_shape = broadcast(then_type.shape, else_type.shape)
        shape = None if branches_shape is None else broadcast(condition.shape, branches_shape)
        if shape is None:
            raise self.error(
                f"the shapes {condition.shape_text()} of {self.required_input(0)}, {then_type.shape_text()} of "
                f"{self.required_input(1)} and"
                f" {else_type.shape_text()} of {self.required_input(2)} do not fit: they must have one rank, and sizes "
                "that are"
                " equal or 1"
            )
        return [TensorType(then_type.dtype, shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("Where", *inputs)]


@network_method
def add_select(
    network: INetworkDefinition, condition: ITensor, then_input: ITensor, else_input: ITensor
) -> ISelectLayer:
    """Elementwise selection between two tensors."""
    tensor_argument(network, condition, "add_select: condition")
    tensor_argument(network, then_input, "add_select: then_input")
    tensor_argument(network, else_input, "add_select: else_input")
    return ISelectLayer(network, [condition, then_input, else_input])


class IIdentityLayer(ILayer):
    """A copy, converted if ``set_output_type`` requests it."""

    KIND: ClassVar[str] = "Identity"
    TYPE: ClassVar[LayerType] = LayerType.IDENTITY

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("Identity", *inputs)]


@network_method
def add_identity(network: INetworkDefinition, input: ITensor) -> IIdentityLayer:
    """A copy."""
    tensor_argument(network, input, "add_identity: input")
    return IIdentityLayer(network, [input])


class ICastLayer(ILayer):
    """A conversion."""

    KIND: ClassVar[str] = "Cast"
    TYPE: ClassVar[LayerType] = LayerType.CAST

    to_type: DataType = DataType.FLOAT

    def __init__(self, network: INetworkDefinition, input: ITensor, to_type: DataType) -> None:
        super().__init__(network, [input])
        self.to_type = to_type

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [TensorType(numpy_type(enum_argument(DataType, self.to_type, f"{self}: to_type")), types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        value: Any = inputs[0]
        return [scope.cast(value, numpy_type(self.to_type))]


@network_method
def add_cast(network: INetworkDefinition, input: ITensor, to_type: DataType) -> ICastLayer:
    """A conversion to another type."""
    tensor_argument(network, input, "add_cast: input")
    return ICastLayer(network, input, enum_argument(DataType, to_type, "add_cast: to_type"))
