"""Quantization and dequantization."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import dtype_from_onnx, dtype_from_openvino
from ..errors import ModelError, UnsupportedError
from ..graph import Array
from .axis_arguments import normalize_existing_axis, unknown_value_error
from .cast import convert
from .operator_helpers import (
    Dtype,
    cast,
    check_openvino_broadcast,
    check_unidirectional_broadcast,
    constant,
    is_float,
    is_integer,
    working_dtype,
)
from .primitive_types import RoutineCall
from .registry import onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)
_UINT8 = np.dtype(np.uint8)
#: Types that the routines process as C integers; others have one byte per number.
_NATIVE = "bBhH"


def _broadcast_params(p: P, values: T, x: T, axis: int, block_size: int) -> T:
    """Reshape scales or zero points to broadcast with ``x``: per tensor, per axis element, or per block."""
    if values.size == 1:
        return p.reshape(values, ())
    axis = normalize_existing_axis(axis, x.ndim)
    if not block_size:
        return p.reshape(values, (x.shape[axis], *(1,) * (x.ndim - axis - 1)))
    return p.gather(values, p.constant(np.arange(x.shape[axis]) // block_size), axis)


def _scale_layout(scale: T, zero: T | None, x: T, axis: int, block_size: int) -> tuple[int, ...]:
    """The scale layout for quantize.h: whether per tensor, ``[outer, extent, inner]``, and the block size.

    Raises:
        ValueError: the shapes do not match.
    """
    if zero is not None and zero.shape != scale.shape and zero.size != scale.size:
        raise ValueError(f"scales have the shape {scale.shape}, and zero points {zero.shape}")
    if scale.size == 1:
        return 1, 1, 1, x.size, 0
    axis = normalize_existing_axis(axis, x.ndim)
    extent = x.shape[axis]
    if block_size < 0:
        raise ValueError(f"block_size {block_size} is negative")
    blocks = (*x.shape[:axis], -(-extent // block_size), *x.shape[axis + 1 :]) if block_size else (extent,)
    if scale.shape != blocks:
        raise ValueError(
            f"scales of shape {scale.shape} do not fit axis {axis} of {x.shape} with block_size {block_size}"
        )
    return 0, math.prod(x.shape[:axis]), extent, math.prod(x.shape[axis + 1 :]), block_size


@cache
def _byte_values(dtype: Dtype) -> Array:
    """The value of each byte code."""
    table: Array = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    return table


@cache
def _integer_limits(dtype: Dtype) -> tuple[int, int]:
    """The range of an integer type."""
    name = dtype.name.removeprefix("u")
    bits = int(name.removeprefix("int"))
    return (0, 2**bits - 1) if name != dtype.name else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@onnx("DequantizeLinear", since=10)
def dequantize_linear(
    p: P, x: T, scale: T, zero: T | None = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> T:
    """``(x - zero) * scale``, computed in float32."""
    kind = x.dtype.char if x.dtype.char in _NATIVE else "i" if x.dtype == np.int32 else "t"
    if kind == "t" and x.dtype.itemsize != 1:
        raise UnsupportedError(f"DequantizeLinear of {x.dtype.name} is not supported", name="x", got=x.dtype.name)
    if zero is not None and zero.dtype != x.dtype:
        raise ModelError(
            f"DequantizeLinear of {x.dtype.name} has a zero point of type {zero.dtype.name}",
            name="x_zero_point",
            expected=x.dtype.name,
            got=zero.dtype.name,
        )
    numbers = (*_scale_layout(scale, zero, x, axis, block_size), ord(kind))
    if zero is None:
        zero = p.broadcast(p.constant(np.zeros((), x.dtype)), scale.shape)
    table = p.constant(_byte_values(x.dtype) if kind == "t" else np.zeros(1, np.float32))
    inputs = (x, convert(p, scale, _FLOAT32), zero, table)
    (values,) = p.call(RoutineCall("quantize.dequantize", [(x.shape, _FLOAT32)], numbers), inputs)
    return convert(p, values, dtype_from_onnx(output_dtype) if output_dtype else scale.dtype)


def quantize_to(p: P, x: T, scale: T, zero: T | None, dtype: Dtype, axis: int = 1, block_size: int = 0) -> T:
    """``saturate(round(x / scale) + zero)`` as integers of up to 16 bits; ``x`` and ``scale`` are float32.

    NaN becomes the minimum, as in onnxruntime.
    """
    low, high = _integer_limits(dtype)
    kind = dtype.char if dtype.char in _NATIVE else "b" if low else "B"
    numbers = (*_scale_layout(scale, zero, x, axis, block_size), low, high, high - low, ord(kind))
    if zero is None:
        zero = p.broadcast(p.constant(np.zeros((), dtype)), scale.shape)
    (values,) = p.call(RoutineCall("quantize.quantize", [(x.shape, dtype)], numbers), (x, scale, zero))
    return values


def requantize(p: P, sums: T, factor: T, zero: T) -> T:
    """``saturate(round(sums * factor) + zero)`` of int32 as 8 bits; ``factor``: scalar or per column."""
    columns = sums.shape[-1] if sums.ndim else 1
    numbers = (math.prod(sums.shape[:-1]), columns, int(factor.size != 1), int(zero.dtype == np.int8))
    (values,) = p.call(RoutineCall("quantize.requantize", [(sums.shape, zero.dtype)], numbers), (sums, factor, zero))
    return values


@onnx("QuantizeLinear", since=10)
def quantize_linear(
    p: P,
    x: T,
    scale: T,
    zero: T | None = None,
    *,
    axis: int = 1,
    saturate: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
) -> T:
    """``saturate(round(x / scale) + zero)``, dividing in the precision of the scale."""
    dtype = zero.dtype if zero is not None else dtype_from_onnx(output_dtype) if output_dtype else _UINT8
    if zero is not None and output_dtype and dtype_from_onnx(output_dtype) != dtype:
        raise ModelError(
            f"QuantizeLinear has the output_dtype {dtype_from_onnx(output_dtype).name} and zero points of {dtype}",
            name="output_dtype",
            expected=str(dtype),
            got=dtype_from_onnx(output_dtype).name,
        )
    if not is_float(dtype) and not (is_integer(dtype) and _integer_limits(dtype)[1] < 2**16):
        raise UnsupportedError(f"QuantizeLinear to {dtype.name} is not supported", name="output_dtype", got=dtype.name)
    working = dtype_from_onnx(precision) if precision else scale.dtype
    if not is_float(working) or working.name.startswith("float8"):
        working = _FLOAT32
    _scale_layout(scale, zero, x, axis, block_size)
    if working == _FLOAT32 and is_integer(dtype):
        return quantize_to(p, convert(p, x, working), convert(p, scale, working), zero, dtype, axis, block_size)
    factors = _broadcast_params(p, convert(p, scale, working), x, axis, block_size)
    quotient = p.map(np.divide, convert(p, x, working), factors)
    if is_float(dtype):
        if zero is not None and not dtype.name.startswith("float8"):
            offset = _broadcast_params(p, convert(p, zero, working), x, axis, block_size)
            quotient = p.map(np.add, quotient, offset)
        return convert(p, quotient, dtype, bool(saturate))
    unit_scale = p.broadcast(constant(p, 1, _FLOAT32), scale.shape)
    return quantize_to(p, convert(p, quotient, _FLOAT32), unit_scale, zero, dtype, axis, block_size)


@onnx("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(p: P, x: T) -> tuple[T, T, T]:
    """Quantize ``x`` to 8 bits over its range including 0; return values, scale and zero point."""
    if x.dtype != _FLOAT32:
        raise ModelError(
            f"DynamicQuantizeLinear takes float32, and got {x.dtype.name}",
            name="x",
            expected="float32",
            got=x.dtype.name,
        )
    outputs = ((x.shape, _UINT8), ((), _FLOAT32), ((), _UINT8))
    y, scale, zero = p.call(RoutineCall("quantize.dynamic", outputs, (x.size,)), (x,))
    return y, scale, zero


# --- OpenVINO's fake quantization: rounds floats to quantization levels.


@openvino("FakeQuantize")
def fake_quantize(
    p: P,
    x: T,
    input_low: T,
    input_high: T,
    output_low: T,
    output_high: T,
    *,
    levels: int,
    auto_broadcast: str = "numpy",
) -> T:
    """Quantize the input range to ``levels`` equal steps, half to even, and map them to the output range."""
    if levels < 2:
        raise ModelError(
            f"levels={levels}: a quantization needs two levels at least",
            name="levels",
            expected="2 or more",
            got=str(levels),
        )
    for bound in (input_low, input_high, output_low, output_high):
        check_openvino_broadcast(x, bound, auto_broadcast)
    check_unidirectional_broadcast(x, input_low, "a bound")
    working = working_dtype(x.dtype)
    values, low, high, out_low, out_high = (
        cast(p, v, working) for v in (x, input_low, input_high, output_low, output_high)
    )
    steps = constant(p, levels - 1, working)
    fraction = p.map(np.divide, p.map(np.subtract, values, low), p.map(np.subtract, high, low))
    step = p.map(np.rint, p.map(np.multiply, fraction, steps))
    span = p.map(np.subtract, out_high, out_low)
    inside = p.map(np.add, p.map(np.multiply, p.map(np.divide, step, steps), span), out_low)
    below = p.map(np.less_equal, values, p.map(np.minimum, low, high))
    above = p.map(np.greater, values, p.map(np.maximum, low, high))
    shape = inside.shape
    clamped = p.where(above, p.broadcast(out_high, shape), inside)
    return cast(p, p.where(below, p.broadcast(out_low, shape), clamped), x.dtype)


@openvino("FakeConvert", since=13, native=False)
def fake_convert(p: P, x: T, scale: T, shift: T | None = None, *, destination_type: str = "f8e4m3") -> T:
    """Scale, shift, convert to float8 and back; finite numbers remain finite."""
    if destination_type.lower() not in ("f8e4m3", "f8e5m2"):
        raise unknown_value_error("destination_type", destination_type, ("f8e4m3", "f8e5m2"))
    target, float16 = dtype_from_openvino(destination_type), np.dtype(np.float16)
    scaled = p.map(np.multiply, x, scale)
    if shift is not None:
        scaled = p.map(np.subtract, scaled, shift)
    narrow = cast(p, scaled, float16)
    rounded = cast(p, convert(p, narrow, target, saturate=True), x.dtype)
    if destination_type.lower() == "f8e5m2":  # it has infinities
        rounded = p.where(p.map(np.isinf, narrow), cast(p, narrow, x.dtype), rounded)
    if shift is not None:
        rounded = p.map(np.add, rounded, shift)
    return p.map(np.divide, rounded, scale)
