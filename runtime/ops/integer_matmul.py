"""Matrix products of 8-bit integers with wrapping 32-bit sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..kernels.bindings import int8
from ..kernels.strided_iteration import broadcast_shapes
from .axis_arguments import shape_error
from .cast import convert
from .int8_weight_packing import pack_weights, packed_size
from .matmul import inner_dimensions_error, matmul_product
from .operator_helpers import cast, check_unidirectional_broadcast, constant
from .primitive_types import RoutineCall
from .quantize import dequantize_linear, quantize_linear, requantize
from .registry import onnx

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


@onnx("MatMulInteger", since=10)
def integer_product(p: P, a: T, b: T, a_zero: T | None = None, b_zero: T | None = None) -> T:
    """``(a - a_zero) @ (b - b_zero)`` of signed or unsigned bytes as int32, shapes as in NumPy's matmul.

    ``a_zero``: scalar, ``[m]`` or ``[..., m, 1]``; ``b_zero``: scalar, ``[n]`` or ``[..., 1, n]``.

    Raises:
        ModelError: types or shapes do not match.
    """
    for name, x, zero in (("first", a, a_zero), ("second", b, b_zero)):
        if x.dtype not in _BYTES:
            raise ModelError(
                f"a product of 8-bit integers has a {name} input of type {x.dtype.name}",
                name=name,
                expected="int8 or uint8",
                got=x.dtype.name,
            )
        if zero is not None and zero.dtype != x.dtype:
            raise ModelError(
                f"the {name} input is {x.dtype.name}, and its zero point {zero.dtype.name}",
                name=f"{name}_zero_point",
                expected=x.dtype.name,
                got=zero.dtype.name,
            )
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise inner_dimensions_error(a, b)
    rows = a if a.ndim > 1 else p.reshape(a, (1, *a.shape))
    columns = b if b.ndim > 1 else p.reshape(b, (*b.shape, 1))
    batch = broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    (m, k), n = rows.shape[-2:], columns.shape[-1]
    shape = (*batch, *((m,) if a.ndim > 1 else ()), *((n,) if b.ndim > 1 else ()))
    a_zero = _broadcast_zero_points(p, a_zero, a.dtype, (*batch, m, 1))
    b_zero = _broadcast_zero_points(p, b_zero, b.dtype, (*columns.shape[:-2], 1, n))
    shared = all(extent == 1 for extent in columns.shape[:-2])
    if shared:
        columns = columns if columns.ndim == 2 else p.reshape(columns, (k, n))
        rows = rows if rows.shape[:-2] == batch else p.broadcast(rows, (*batch, m, k))
        count, m = 1, math.prod((*batch, m))
    else:
        rows, columns = p.broadcast(rows, (*batch, m, k)), p.broadcast(columns, (*batch, k, n))
        count = math.prod(batch)
    per_row, per_column = int(a_zero.size != 1), int(b_zero.size != 1)
    if per_column and not shared:
        b_zero = p.broadcast(b_zero, (*batch, 1, n))
    packed = p.constant_in_layout(columns, pack_weights)
    scratch = m * (k + int8.TAIL_BYTES) + 8 * m + 256
    if packed is None:
        scratch = scratch + packed_size(k, n)
    signs = int(a.dtype == np.int8), int(b.dtype == np.int8)
    batch_step = n if per_column and not shared else 0
    packed_step = 0 if packed is None or shared else packed.shape[-1]
    layout = (int(packed is not None), int(shared), packed_step)
    numbers = (count, m, k, n, *signs, per_row, per_column, batch_step, *layout)
    inputs = (rows, columns if packed is None else packed, a_zero, b_zero)
    (product,) = p.call(RoutineCall("int8.product", [((count, m, n), _INT32)], numbers, scratch), inputs)
    return p.reshape(product, shape)


def _broadcast_zero_points(p: P, zero: T | None, dtype: np.dtype[Any], shape: tuple[int, ...]) -> T:
    """Broadcast zero points to ``shape``, or keep a scalar; a vector lies along the axis that is not 1."""
    if zero is None:
        return p.constant(np.zeros(1, dtype))
    if zero.size == 1:
        return zero
    if zero.ndim == 1 and shape[-1] == 1:
        zero = p.reshape(zero, (*zero.shape, 1))
    try:
        return p.broadcast(zero, shape)
    except ValueError:
        raise shape_error("zero points", zero.shape, f"do not fit {shape}") from None


@onnx("QLinearMatMul", since=10)
def qlinear_matmul(p: P, a: T, a_scale: T, a_zero: T, b: T, b_scale: T, b_zero: T, y_scale: T, y_zero: T) -> T:
    """The exact product times ``a_scale * b_scale / y_scale`` in float32, rounded to 8 bits."""
    if y_scale.size != 1 or y_zero.size != 1:
        raise UnsupportedError(
            f"QLinearMatMul with a y_scale of shape {y_scale.shape} is not supported: one for all is",
            name="y_scale",
            expected="()",
            got=str(y_scale.shape),
        )
    a_scale, b_scale, y_scale = (convert(p, x, _FLOAT32) for x in (a_scale, b_scale, y_scale))
    if a_scale.ndim == 1 and a_scale.size > 1:
        a_scale = p.reshape(a_scale, (a_scale.size, 1))
    factor = p.map(np.divide, p.map(np.multiply, a_scale, b_scale), y_scale)
    if a.dtype.name.startswith("float8"):
        unit_scale = p.constant(np.ones((), np.float32))
        sums = matmul_product(p, dequantize_linear(p, a, unit_scale), dequantize_linear(p, b, unit_scale))
    else:
        sums = integer_product(p, a, b, a_zero, b_zero)
    factor = _match_rank(p, factor, sums)
    if y_zero.dtype in _BYTES and sums.dtype == _INT32 and (factor.size == 1 or factor.size == factor.shape[-1]):
        return requantize(p, sums, factor, y_zero)
    values = p.map(np.multiply, cast(p, sums, _FLOAT32), factor)
    return quantize_linear(p, values, constant(p, 1, _FLOAT32), p.reshape(y_zero, ()))


def _match_rank(p: P, factor: T, sums: T) -> T:
    """Reshape a factor to the rank of the result, which lacks the axes of vector operands."""
    if factor.size == 1:
        return p.reshape(factor, ())
    if factor.ndim > sums.ndim and math.prod(factor.shape[: factor.ndim - sums.ndim]) == 1:
        factor = p.reshape(factor, factor.shape[factor.ndim - sums.ndim :])
    check_unidirectional_broadcast(sums, factor, "scales")
    return factor
