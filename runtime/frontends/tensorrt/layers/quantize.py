"""Quantisation and dequantisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....dtypes import dtype_to_onnx
from ....graph import TensorType, Value
from ....ops.operator_helpers import is_float
from ..enums import DataType, LayerType, numpy_type
from ..layer import ILayer
from ..lowering_scope import LoweringScope
from .argument_checks import axis_argument, require_dtype_kind, sizes_differ, static_shape, type_and_rank_check
from .network_methods import Parameter, network_method

_NARROW = (DataType.INT8, DataType.FP8, DataType.INT4)


class _QuantizationBase(ILayer):
    """The base of both: a scale, for all elements or along an axis, and a zero point as input 2."""

    MAX_INPUTS = 3

    axis: int = -1
    to_type: DataType = DataType.INT8

    def _check_scale(self, types: Sequence[TensorType]) -> None:
        require_dtype_kind(self, 1, types[1], "float")
        x, scale = types[0].shape, types[1].shape
        if x is None or not scale:
            return
        if len(scale) == 1 and scale != (1,):
            axis = axis_argument(self, self.axis, len(x), "its axis, which a scale of several numbers needs,")
            if sizes_differ(x[axis], scale[0]):
                raise self.error(
                    f"its scale has {scale[0]} numbers, and axis {axis} of {self.required_input(0)} {x[axis]}"
                )
        elif len(scale) > 1:
            raise self.error(f"its scale has the shape {types[1].shape_text()}: only one number, or one axis, is here")

    def _onnx_scale(self, scope: LoweringScope, value: Value | None) -> Value:
        """The scale in ONNX's form: a scalar, or one axis."""
        shape = static_shape(self.required_input(1).type.shape)
        if shape == (1,):
            return scope.op("Reshape", value, scope.constant([], np.int64))
        assert value is not None
        return value

    def _scale_axis(self) -> int | None:
        shape = self.required_input(1).type.shape
        return self.axis if shape and shape != (1,) else None


@network_method(
    "add_quantize",
    "Quantise a tensor.",
    "input",
    "scale",
    output_type=Parameter(DataType, DataType.INT8, attribute="to_type"),
)
class IQuantizeLayer(_QuantizationBase, type=LayerType.QUANTIZE):
    """``clamp(round(x / scale) + zero_point)``, halves to even."""

    CHECKS = (type_and_rank_check(0, "float"),)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        self._check_scale(types)
        if self.to_type not in (*_NARROW, DataType.UINT8):
            raise self.error(f"it gives INT8, UINT8, FP8 or INT4, not {self.to_type.name}")
        return [TensorType(numpy_type(self.to_type), types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        kind = numpy_type(self.to_type)
        zero = inputs[2] if len(inputs) > 2 else None
        return [
            scope.op(
                "QuantizeLinear",
                inputs[0],
                self._onnx_scale(scope, inputs[1]),
                None if zero is None else self._onnx_scale(scope, scope.cast(zero, kind)),
                axis=self._scale_axis(),
                output_dtype=dtype_to_onnx(kind),
            )
        ]


@network_method(
    "add_dequantize",
    "Dequantise a tensor.",
    "input",
    "scale",
    output_type=Parameter(DataType, DataType.FLOAT, attribute="to_type"),
)
class IDequantizeLayer(_QuantizationBase, type=LayerType.DEQUANTIZE):
    """``(x - zero_point) * scale``."""

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        dtype = types[0].dtype
        if dtype is not None and dtype not in [numpy_type(kind) for kind in (*_NARROW, DataType.UINT8)]:
            raise self.error(f"it takes INT8, UINT8, FP8 or INT4, and {self.required_input(0)} is {dtype.name}")
        self._check_scale(types)
        if not is_float(numpy_type(self.to_type)):
            raise self.error(f"it gives a floating-point type, not {self.to_type.name}")
        return [TensorType(numpy_type(self.to_type), types[0].shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        kind = numpy_type(self.to_type)
        zero = inputs[2] if len(inputs) > 2 else None
        input_dtype = self.required_input(0).type.dtype
        if zero is not None and input_dtype is not None:
            zero = self._onnx_scale(scope, scope.cast(zero, input_dtype))
        scale = self._onnx_scale(scope, inputs[1])
        scale_dtype = self.required_input(1).type.dtype
        result = scope.op("DequantizeLinear", inputs[0], scale, zero, axis=self._scale_axis())
        return [result if scale_dtype == kind else scope.cast(result, kind)]
