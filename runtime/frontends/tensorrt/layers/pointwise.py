"""Elementwise layers of one tensor, and selection between two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....graph import TensorType, Value
from ....ops.operator_helpers import is_integer
from ..checked_attribute import CheckedAttribute
from ..enums import ActivationType, DataType, LayerType, UnaryOperation, numpy_type
from ..layer import ILayer, ITensor, enum_argument
from ..lowering_scope import LoweringScope
from .argument_checks import enum_check, input_is, require_dtype_kind, same_types
from .elementwise import broadcast
from .network_methods import network_method

#: ONNX's operators.
_UNARY_OPERATORS = {
    UnaryOperation.RECIP: "Reciprocal",
    UnaryOperation.ISINF: "IsInf",
    UnaryOperation.ISNAN: "IsNaN",
    **{
        operation: operation.name.capitalize()
        for operation in UnaryOperation
        if operation.name not in ("RECIP", "ISINF", "ISNAN")
    },
}
_INTEGER_OPERATIONS = (UnaryOperation.ABS, UnaryOperation.NEG, UnaryOperation.SIGN)


@network_method("add_unary", "An elementwise function of one tensor.", input=ITensor, op=UnaryOperation)
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
        return [scope.op(_UNARY_OPERATORS[self.op], *inputs)]


#: Activations without parameters, and those with alpha alone, with ONNX's names.
_ACTIVATIONS_WITHOUT_PARAMETERS = {
    ActivationType.RELU: "Relu",
    ActivationType.SIGMOID: "Sigmoid",
    ActivationType.TANH: "Tanh",
    ActivationType.SOFTSIGN: "Softsign",
    ActivationType.GELU_ERF: "Gelu",
}
_ACTIVATIONS_WITH_ALPHA = {
    ActivationType.LEAKY_RELU: "LeakyRelu",
    ActivationType.ELU: "Elu",
    ActivationType.THRESHOLDED_RELU: "ThresholdedRelu",
}


@network_method("add_activation", "An elementwise activation.", input=ITensor, type=ActivationType)
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

        def times(value: Value | None, factor: float) -> Value | None:
            return value if factor == 1 else scope.op("Mul", value, scope.constant(factor, dtype))

        if kind in _ACTIVATIONS_WITHOUT_PARAMETERS:
            return [scope.op(_ACTIVATIONS_WITHOUT_PARAMETERS[kind], x)]
        if kind in _ACTIVATIONS_WITH_ALPHA:
            return [scope.op(_ACTIVATIONS_WITH_ALPHA[kind], x, alpha=alpha)]
        if kind is ActivationType.GELU_TANH:
            return [scope.op("Gelu", x, approximate="tanh")]
        if kind is ActivationType.SELU:
            return [scope.op("Selu", x, alpha=alpha, gamma=beta)]
        if kind is ActivationType.HARD_SIGMOID:
            return [scope.op("HardSigmoid", x, alpha=alpha, beta=beta)]
        if kind is ActivationType.SOFTPLUS:
            return [scope.op("Mul", scope.op("Softplus", times(x, beta)), scope.constant(alpha, dtype))]
        if kind is ActivationType.SCALED_TANH:
            return [scope.op("Mul", scope.op("Tanh", times(x, beta)), scope.constant(alpha, dtype))]
        low, high = scope.constant(alpha, dtype), scope.constant(beta, dtype)
        if alpha <= beta:
            return [scope.op("Clip", x, low, high)]
        return [scope.op("Max", low, scope.op("Min", high, x))]


@network_method("add_parametric_relu", "A ReLU with slopes for negative elements.", input=ITensor, slopes=ITensor)
class IParametricReLULayer(ILayer, type=LayerType.PARAMETRIC_RELU, operator="PRelu"):
    """``x`` where it is not negative, else ``slope * x``."""

    CHECKS = (input_is(0, "float"), same_types())

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


@network_method(
    "add_select",
    "Elementwise selection between two tensors.",
    condition=ITensor,
    then_input=ITensor,
    else_input=ITensor,
)
class ISelectLayer(ILayer, type=LayerType.SELECT, operator="Where"):
    """Elements of one tensor where a condition holds, else those of another."""

    CHECKS = (input_is(0, "bool"),)

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


@network_method("add_identity", "A copy.", input=ITensor)
class IIdentityLayer(ILayer, type=LayerType.IDENTITY, operator="Identity"):
    """A copy, converted if ``set_output_type`` requests it."""


@network_method("add_cast", "A conversion to another type.", input=ITensor, to_type=DataType)
class ICastLayer(ILayer, type=LayerType.CAST):
    """A conversion."""

    to_type: DataType = DataType.FLOAT

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [TensorType(numpy_type(enum_argument(DataType, self.to_type, f"{self}: to_type")), types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.cast(inputs[0], numpy_type(self.to_type))]
