"""Layers that generate tensors: constants, linear sequences, random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dtypes import dtype_to_onnx
from ....graph import Array, TensorType, Value
from ..checked_attribute import Check, CheckedAttribute, ownerless_check
from ..constant_folding import constant_value
from ..dims import Dims, sizes_from_shape
from ..enums import DataType, FillOperation, LayerType, numpy_type
from ..layer import ILayer
from ..lowering_scope import LoweringScope
from ..weights import array_of
from .argument_checks import checked_rank, require_dtype_kind, require_equal_dtypes, static_shape
from .network_methods import Parameter, network_method

_LINSPACE = FillOperation.LINSPACE
_TYPES = {
    _LINSPACE: (DataType.INT32, DataType.INT64, DataType.FLOAT),
    FillOperation.RANDOM_UNIFORM: (DataType.FLOAT, DataType.HALF),
    FillOperation.RANDOM_NORMAL: (DataType.FLOAT, DataType.HALF),
}


@network_method(
    "add_constant",
    "A constant of a shape; the weights are an array, or trt.Weights.",
    shape=Parameter(Any, label="add_constant: the shape", check=sizes_from_shape),
    weights=Parameter(Any, label="add_constant: the weights", check=array_of),
)
class IConstantLayer(ILayer, type=LayerType.CONSTANT):
    """A constant. Its shape overrides that of the weights."""

    _shape: tuple[int, ...]
    _array: Array

    shape = CheckedAttribute[Dims]("_shape", ownerless_check(sizes_from_shape), Dims, label="the shape")
    #: The flattened data.
    weights = CheckedAttribute[Array](
        "_array", ownerless_check(array_of), lambda array: array.reshape(-1), label="the weights"
    )

    def _shaped_array(self) -> Array:
        shape, count = self._shape, self._array.size
        if -1 in shape:
            known_size = math.prod(size for size in shape if size != -1)
            if shape.count(-1) == 1 and known_size > 0 and count % known_size == 0:
                shape = tuple(count // known_size if size == -1 else size for size in shape)
        if math.prod(shape) != count:
            raise self.error(f"its shape {self._shape} has {math.prod(shape)} elements, and there are {count} weights")
        return np.array(self._array, order="C").reshape(shape)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [TensorType(self._array.dtype, self._shaped_array().shape)]

    def constant_outputs(self) -> Sequence[Array] | None:
        return [self._shaped_array()]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.constant(self._shaped_array())]


def _number_check(field: str) -> Check:
    """A check that ignores anything but a number, as TensorRT does."""

    def check(layer: IFillLayer, value: Any, label: str) -> Any:
        if not isinstance(value, int | float | np.integer | np.floating):
            return getattr(layer, field)
        return value.item() if isinstance(value, np.generic) and not isinstance(value, int) else value

    return check


@network_method(
    "add_fill",
    "A linear sequence, or random numbers.",
    shape=Parameter(Any, check=sizes_from_shape),
    op=Parameter(FillOperation, attribute="operation"),
    output_type=Parameter(DataType, DataType.FLOAT, attribute="to_type"),
)
class IFillLayer(ILayer, type=LayerType.FILL):
    """A tensor filled by an operation. Inputs 0, 1 and 2 may be its shape, alpha and beta."""

    MAX_INPUTS = 3

    operation: FillOperation = _LINSPACE
    to_type: DataType = DataType.FLOAT
    _shape: tuple[int, ...]
    _alpha: float | int = 0.0
    _beta: float | int = 1.0

    shape = CheckedAttribute[Dims]("_shape", ownerless_check(sizes_from_shape), Dims, unset=Dims.unset, input=0)
    alpha = CheckedAttribute[float | int]("_alpha", _number_check("_alpha"))
    beta = CheckedAttribute[float | int]("_beta", _number_check("_beta"))

    def is_alpha_beta_int64(self) -> bool:
        return isinstance(self._alpha, int) and isinstance(self._beta, int)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        has_input = [self.get_input(k) is not None for k in range(3)]
        if has_input[1] != has_input[2]:
            raise self.error("inputs 1 and 2, alpha and beta, have to be given both or not at all")
        dtype = numpy_type(self.to_type)
        if has_input[1]:
            require_equal_dtypes(self, [TensorType(), *types[1:3]])
            checked_rank(self, 1, types[1], 0, 0)
            expected_rank = 1 if self.operation is _LINSPACE else 0
            checked_rank(self, 2, types[2], expected_rank, expected_rank)
            dtype = types[1].dtype or dtype
        if dtype not in [numpy_type(kind) for kind in _TYPES[self.operation]]:
            allowed = ", ".join(kind.name for kind in _TYPES[self.operation])
            raise self.error(f"{self.operation.name} gives {allowed}, not {dtype.name}")
        if has_input[0]:
            require_dtype_kind(self, 0, types[0], "index")
            checked_rank(self, 0, types[0], 1, 1)
            sizes = constant_value(self.get_input(0))
            if sizes is not None:
                shape: tuple[int | None, ...] = tuple(int(size) for size in sizes)
            else:
                length = static_shape(types[0].shape)
                if length is None:
                    length_input = self.required_input(0)
                    raise self.error(f"how many dimensions it has, the length of {length_input}, has to be known")
                shape = (None,) * length[0]
        else:
            shape = self._shape
        if any(size is not None and size < 0 for size in shape):
            raise self.error(f"its shape is {shape}: no size can be negative")
        if self.operation is _LINSPACE and not has_input[1] and len(shape) != 1:
            raise self.error(
                f"LINSPACE with numbers for alpha and beta fills one dimension, not {len(shape)}: give both as tensors"
            )
        return [TensorType(dtype, shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        dtype = self._inferred[0].dtype
        assert dtype is not None
        operands = [*inputs, *(None,) * (3 - len(inputs))]
        shape = scope.op("Cast", operands[0], to=7) if operands[0] else scope.int64_constant(self._shape)
        if self.operation is _LINSPACE:
            alpha = operands[1] or scope.constant(self._alpha, dtype)
            beta = operands[2] or scope.constant([self._beta], dtype)
            return [scope.op("Linspace", shape, alpha, beta, domain="tensorrt")]
        base = scope.op("ConstantOfShape", shape, value=np.zeros(1, np.float32))
        uniform = self.operation is FillOperation.RANDOM_UNIFORM
        if operands[1] is None:
            low, high = float(self._alpha), float(self._beta)
            if uniform:
                return [scope.op("RandomUniformLike", base, dtype=dtype_to_onnx(dtype), low=low, high=high)]
            return [scope.op("RandomNormalLike", base, dtype=dtype_to_onnx(dtype), mean=low, scale=high)]
        random = scope.op("RandomUniformLike" if uniform else "RandomNormalLike", base, dtype=dtype_to_onnx(dtype))
        span = scope.op("Sub", operands[2], operands[1]) if uniform else operands[2]
        return [scope.op("Add", scope.op("Mul", random, span), operands[1])]
