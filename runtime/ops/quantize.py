"""Numbers from quantized ones; onnx.reference knows DequantizeLinear only since opset 19."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import from_onnx
from .axes import normal_axis
from .registry import onnx
from .support import cast, is_integer

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)


def _spread(p: P, values: T, x: T, axis: int, block_size: int) -> T:
    """Scales or zero points as they broadcast with ``x``: one for all, one along the axis, or one a block."""
    if values.size == 1:
        return p.reshape(values, ())
    axis = normal_axis(axis, x.ndim)
    if not block_size and values.shape == (x.shape[axis],):
        return p.reshape(values, (x.shape[axis], *(1,) * (x.ndim - axis - 1)))
    if block_size and values.shape == (*x.shape[:axis], -(-x.shape[axis] // block_size), *x.shape[axis + 1 :]):
        return p.gather(values, p.constant(np.arange(x.shape[axis]) // block_size), axis)
    raise ValueError(f"scales of shape {values.shape} do not fit axis {axis} of {x.shape} with block_size {block_size}")


@onnx("DequantizeLinear", since=10)
def dequantize_linear(
    p: P, x: T, scale: T, zero: T | None = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> T:
    """``(x - zero) * scale``, computed in float32."""
    # The difference of integers is exact in int32; floats (float8, float4) have zero points of 0 only.
    between = _INT32 if is_integer(x.dtype) else _FLOAT32
    values = cast(p, x, between)
    if zero is not None:
        values = p.map(np.subtract, values, _spread(p, cast(p, zero, between), x, axis, block_size))
    factors = _spread(p, cast(p, scale, _FLOAT32), x, axis, block_size)
    product = p.map(np.multiply, cast(p, values, _FLOAT32), factors)
    return cast(p, product, from_onnx(output_dtype) if output_dtype else scale.dtype)
