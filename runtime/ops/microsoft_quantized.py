"""Quantized operators of ``com.microsoft``.

Most dequantize, compute in float32, as onnxruntime does, and quantize the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels import huge_pages
from ..kernels.bindings.quantize import LOW_BIT_PANEL_COLUMNS
from .activations import leaky_relu, sigmoid
from .axis_arguments import normalize_axis, normalize_existing_axis, shape_error, unknown_value_error
from .matmul import swap_matrix_axes
from .microsoft_attention import integer_product
from .microsoft_elementwise import MICROSOFT
from .microsoft_fused_matmul import nchw_to_nhwc, nhwc_to_nchw
from .normalize import softmax_over
from .operator_helpers import cast, constant
from .primitive_types import NoNativeKernel, RoutineCall
from .reduce import _mean
from .registry import Ints, apply_standard_operator, inherit_attributes, onnx
from .window_geometry import ConvAttributes, PoolAttributes

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)


def dequantize(p: P, x: T, scale: T, zero: T | None, axis: int = 1) -> T:
    """Apply DequantizeLinear."""
    return apply_standard_operator(p, "DequantizeLinear", (x, scale) if zero is None else (x, scale, zero), axis=axis)[
        0
    ]


def quantize(p: P, x: T, scale: T, zero: T | None, dtype: np.dtype[Any], axis: int = 1) -> T:
    """Apply QuantizeLinear; without zero point, to ``dtype``."""
    if zero is None:
        zero = p.constant(np.zeros(scale.shape, dtype))
    return apply_standard_operator(p, "QuantizeLinear", (x, scale, zero), axis=axis)[0]


@onnx("QuantizeLinear", domain=MICROSOFT)
def quantize_linear(p: P, x: T, scale: T, zero: T | None = None, *, axis: int = 1) -> T:
    return quantize(p, x, scale, zero, np.dtype(np.uint8), axis)


@onnx("DequantizeLinear", domain=MICROSOFT)
def dequantize_linear(p: P, x: T, scale: T, zero: T | None = None, *, axis: int = 1) -> T:
    return dequantize(p, x, scale, zero, axis)


# --- Elementwise operators.


def _qlinear_binary(ufunc: np.ufunc) -> Callable[..., T]:
    def op(
        p: P,
        a: T,
        a_scale: T,
        a_zero: T | None,
        b: T,
        b_scale: T,
        b_zero: T | None,
        c_scale: T,
        c_zero: T | None = None,
    ) -> T:
        result = p.map(ufunc, dequantize(p, a, a_scale, a_zero), dequantize(p, b, b_scale, b_zero))
        return quantize(p, result, c_scale, c_zero, a.dtype)

    return op


onnx("QLinearAdd", domain=MICROSOFT)(_qlinear_binary(np.add))
onnx("QLinearMul", domain=MICROSOFT)(_qlinear_binary(np.multiply))


@onnx("QLinearSigmoid", domain=MICROSOFT)
def qlinear_sigmoid(p: P, x: T, x_scale: T, x_zero: T | None, y_scale: T, y_zero: T | None = None) -> T:
    return quantize(p, sigmoid(p, dequantize(p, x, x_scale, x_zero)), y_scale, y_zero, x.dtype)


@onnx("QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_leaky_relu(
    p: P, x: T, x_scale: T, x_zero: T | None, y_scale: T, y_zero: T | None = None, *, alpha: float = 0.01
) -> T:
    return quantize(p, leaky_relu(p, dequantize(p, x, x_scale, x_zero), alpha=alpha), y_scale, y_zero, x.dtype)


@onnx("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(
    p: P, x: T, x_scale: T, x_zero: T | None, y_scale: T, y_zero: T, *, axis: int = -1, opset: int
) -> T:
    """``opset``: opset of the replaced Softmax; before 13, softmax is joint over ``axis`` and all later axes."""
    first = normalize_axis(axis, x.ndim)
    axes = (first,) if opset >= 13 else tuple(range(first, x.ndim))
    return quantize(p, softmax_over(p, dequantize(p, x, x_scale, x_zero), axes, False), y_scale, y_zero, x.dtype)


@onnx("QLinearReduceMean", domain=MICROSOFT)
def qlinear_reduce_mean(
    p: P,
    x: T,
    x_scale: T,
    x_zero: T | None,
    y_scale: T,
    y_zero: T | None = None,
    *,
    axes: Ints = (),
    keepdims: int = 1,
) -> T:
    reduced = tuple(normalize_existing_axis(axis, x.ndim) for axis in axes) or tuple(range(x.ndim))
    return quantize(p, _mean(p, dequantize(p, x, x_scale, x_zero), reduced, bool(keepdims)), y_scale, y_zero, x.dtype)


@onnx("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(p: P, y_scale: T, y_zero: T, *inputs: T, axis: int) -> T:
    """Inputs are triples: values, scale, zero point."""
    if not inputs or len(inputs) % 3:
        raise ModelError(
            f"QLinearConcat takes triples of inputs, not {len(inputs)}", name="inputs", got=str(len(inputs))
        )
    parts = [dequantize(p, *inputs[k : k + 3]) for k in range(0, len(inputs), 3)]
    return quantize(p, apply_standard_operator(p, "Concat", parts, axis=axis)[0], y_scale, y_zero, y_zero.dtype)


@onnx("QLinearWhere", domain=MICROSOFT)
def qlinear_where(
    p: P, condition: T, x: T, x_scale: T, x_zero: T, y: T, y_scale: T, y_zero: T, z_scale: T, z_zero: T
) -> T:
    return quantize(
        p,
        p.where(condition, dequantize(p, x, x_scale, x_zero), dequantize(p, y, y_scale, y_zero)),
        z_scale,
        z_zero,
        x.dtype,
    )


# --- Pooling and convolution, channels first or last.


def _channels_to_front(p: P, x: T, last: int) -> T:
    return nhwc_to_nchw(p, x) if last else x


def _channels_to_back(p: P, x: T, last: int) -> T:
    return nchw_to_nhwc(p, x) if last else x


@onnx("QLinearAveragePool", domain=MICROSOFT)
@inherit_attributes(PoolAttributes, "dilations")
def qlinear_average_pool(
    p: P,
    x: T,
    x_scale: T,
    x_zero: T | None,
    y_scale: T,
    y_zero: T | None = None,
    *,
    channels_last: int = 0,
    count_include_pad: int = 0,
    **attributes: Any,
) -> T:
    values = dequantize(p, _channels_to_front(p, x, channels_last), x_scale, x_zero)
    (y,) = apply_standard_operator(p, "AveragePool", (values,), count_include_pad=count_include_pad, **attributes)
    return _channels_to_back(p, quantize(p, y, y_scale, y_zero, x.dtype), channels_last)


@onnx("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average_pool(
    p: P, x: T, x_scale: T, x_zero: T, y_scale: T, y_zero: T, *, channels_last: int = 0
) -> T:
    values = dequantize(p, _channels_to_front(p, x, channels_last), x_scale, x_zero)
    y = _mean(p, values, tuple(range(2, x.ndim)), True)
    return _channels_to_back(p, quantize(p, y, y_scale, y_zero, x.dtype), channels_last)


@onnx("QLinearConv", domain=MICROSOFT)
@inherit_attributes(ConvAttributes)
def qlinear_conv(
    p: P,
    x: T,
    x_scale: T,
    x_zero: T,
    w: T,
    w_scale: T,
    w_zero: T,
    y_scale: T,
    y_zero: T,
    b: T | None = None,
    *,
    channels_last: int = 0,
    **attributes: Any,
) -> T:
    inputs = (_channels_to_front(p, x, channels_last), x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero)
    (y,) = apply_standard_operator(p, "QLinearConv", inputs if b is None else (*inputs, b), **attributes)
    return _channels_to_back(p, y, channels_last)


# --- Products.


@onnx("QGemm", domain=MICROSOFT)
def qgemm(
    p: P,
    a: T,
    a_scale: T,
    a_zero: T,
    b: T,
    b_scale: T,
    b_zero: T,
    c: T | None = None,
    y_scale: T | None = None,
    y_zero: T | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> T:
    """``alpha * a @ b + c``, where c has the product of both scales; float32 without ``y_scale``."""
    a, b = swap_matrix_axes(p, a) if transA else a, swap_matrix_axes(p, b) if transB else b
    total = integer_product(p, a, b, a_zero, b_zero)
    if c is not None:
        total = p.map(np.add, total, c)
    factor = p.map(np.multiply, p.map(np.multiply, a_scale, b_scale), constant(p, alpha, _FLOAT32))
    y = p.map(np.multiply, cast(p, total, _FLOAT32), factor)
    return y if y_scale is None else quantize(p, y, y_scale, y_zero, a.dtype)


@onnx("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(
    p: P,
    a: T,
    b: T,
    a_scale: T,
    b_scale: T,
    a_zero: T | None = None,
    b_zero: T | None = None,
    bias: T | None = None,
) -> T:
    factor = p.map(np.multiply, a_scale, b_scale)
    y = p.map(np.multiply, cast(p, integer_product(p, a, b, a_zero, b_zero), factor.dtype), factor)
    return y if bias is None else p.map(np.add, y, bias)


@onnx("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(p: P, a: T, b: T, b_scale: T, b_zero: T | None = None, bias: T | None = None) -> T:
    """Quantizes ``a`` by DynamicQuantizeLinear."""
    values, scale, zero = apply_standard_operator(p, "DynamicQuantizeLinear", (a,), 3)
    return matmul_integer_to_float(p, values, b, scale, b_scale, zero, b_zero, bias)


# --- Low-bit weights.


def require_constant(x: T) -> Array:
    """The data of a constant.

    Raises:
        NoNativeKernel: the value is unknown at bind time.
    """
    numbers: Array | None = x if isinstance(x, np.ndarray) else x.known
    if numbers is None:
        raise NoNativeKernel
    return numbers


def unpack_bits(packed: Array, bits: int) -> Array:
    """Unpack bytes into numbers of ``bits`` bits, lowest first, along the last axis."""
    if bits == 8:
        return packed
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], packed.shape[-1] * len(shifts))


@onnx("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(
    p: P,
    a: T,
    b: T,
    scales: T,
    zero_points: T | None = None,
    g_idx: T | None = None,
    bias: T | None = None,
    *,
    K: int,
    N: int,
    bits: int = 4,
    block_size: int,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> T:
    """``a @ w' + bias``; weights ``[N, K]`` with a scale and a zero point per block of K."""
    if weight_prepacked:
        raise UnsupportedError(
            "weights in a layout of one provider (weight_prepacked) are not supported", name="weight_prepacked"
        )
    if bits not in (2, 4, 8):
        raise UnsupportedError(f"weights of {bits} bits are not supported", name="bits", got=str(bits))
    if a.shape[-1] != K:
        raise ModelError(
            f"MatMulNBits with K = {K} has rows of {a.shape[-1]} numbers",
            name="A",
            expected=str(K),
            got=str(a.shape[-1]),
        )
    shape = (*a.shape[:-1], N)
    if not b.size:  # an omitted projection
        y = p.constant(np.zeros(shape, a.dtype))
    elif g_idx is not None:
        operands = (
            require_constant(b),
            require_constant(scales),
            None if zero_points is None else require_constant(zero_points),
            require_constant(g_idx),
        )
        weights = p.constant(dequantize_nbits(*operands, K, N, bits, block_size))
        (y,) = apply_standard_operator(p, "MatMul", (a, weights))
    else:
        layout = LowBitLayout(
            require_constant(scales),
            None if zero_points is None else require_constant(zero_points),
            K,
            N,
            bits,
            block_size,
        )
        packed = p.constant_in_layout(b, layout)
        if packed is None:
            packed = p.constant(layout(require_constant(b)))
        m, blocks = math.prod(a.shape[:-1]), -(-K // block_size)
        numbers = (m, K, N, bits, block_size)
        scratch = m * 4 * blocks * (block_size + 1) + 64  # nonzero for m = 0
        inputs = (cast(p, a, _FLOAT32), packed)
        (y,) = p.call(RoutineCall("quantize.low_bit_product", [(shape, _FLOAT32)], numbers, scratch), inputs)
        y = cast(p, y, a.dtype)
    return y if bias is None else p.map(np.add, y, bias)


class LowBitLayout:
    """The weight layout of low_bit.h; equal for the same scales and zero points, so that packed weights are shared."""

    def __init__(self, scales: Array, zeros: Array | None, K: int, N: int, bits: int, block_size: int) -> None:
        self.scales, self.zeros = scales, zeros
        self.size = K, N, bits, block_size
        addresses = [None if x is None else x.__array_interface__["data"][0] for x in (scales, zeros)]
        self.key = (*addresses, *self.size)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowBitLayout) and self.key == other.key

    def __call__(self, b: Array) -> Array:
        K, N, bits, block_size = self.size
        blocks = -(-K // block_size)
        if block_size < 16 or block_size & (block_size - 1):
            raise ModelError(
                f"MatMulNBits with blocks of {block_size}: powers of 2 from 16 on are known",
                name="block_size",
                got=str(block_size),
            )
        if b.size != N * blocks * block_size * bits // 8:
            raise shape_error("weights", b.shape, f"are not {N} rows of {K} numbers of {bits} bits")
        words = np.ascontiguousarray(b).view(np.uint32).reshape(N, blocks, -1)
        factors = self.scales.reshape(N, blocks).astype(np.float32)
        shifts = -(np.float32(1 << bits) + _block_zero_points(self.zeros, N, blocks, bits, np.float32)) * factors
        scale_and_shift = np.stack([factors * np.float32(1 << bits), shifts], axis=-1).view(np.uint32)
        count = -(-N // LOW_BIT_PANEL_COLUMNS)
        panels = np.zeros((count * LOW_BIT_PANEL_COLUMNS, blocks, words.shape[-1] + 2), np.uint32)
        panels[:N, :, :-2], panels[:N, :, -2:] = words, scale_and_shift
        interleaved = panels.reshape(count, LOW_BIT_PANEL_COLUMNS, *panels.shape[1:]).transpose(0, 2, 3, 1)
        packed = huge_pages.aligned_zeros(interleaved.shape, panels.dtype)
        packed[...] = interleaved
        return packed


def _block_zero_points(zeros: Array | None, N: int, blocks: int, bits: int, dtype: Any) -> Array:
    """The zero point of each block, ``[N, blocks]``."""
    if zeros is None:
        return np.full((N, blocks), 1 << (bits - 1), dtype)
    if zeros.dtype == np.uint8:
        return unpack_bits(zeros.reshape(N, -1), bits)[:, :blocks].astype(dtype)
    return zeros.reshape(N, blocks).astype(dtype)


def dequantize_nbits(
    b: Array, scales: Array, zeros: Array | None, group: Array, K: int, N: int, bits: int, block_size: int
) -> Array:
    """The dequantized weights ``[K, N]`` of MatMulNBits; ``group``: block index of each element of a row."""
    blocks = -(-K // block_size)
    values = unpack_bits(b.reshape(N, blocks, -1), bits)[..., :block_size]
    factors = scales.reshape(N, blocks)
    dtype = np.float32 if scales.dtype.itemsize < 4 else scales.dtype
    block = group[:K]
    flat = values.reshape(N, blocks * block_size)[:, :K].astype(dtype)
    weights = (flat - _block_zero_points(zeros, N, blocks, bits, dtype)[:, block]) * factors.astype(dtype)[:, block]
    return np.ascontiguousarray(weights.T.astype(scales.dtype))


#: Values of the 4-bit codes of bitsandbytes.
_FP4 = (0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
_NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_BNB4 = (np.array([*_FP4, *(-x for x in _FP4)], np.float32), np.array(_NF4, np.float32))


@onnx("MatMulBnb4", domain=MICROSOFT)
def matmul_bnb4(
    p: P,
    a: T,
    b: T,
    absmax: T,
    *,
    K: int,
    N: int,
    block_size: int,
    quant_type: int,
    training_mode: int = 0,
    transB: int = 1,
) -> T:
    """``a @ w'`` with bitsandbytes weights ``[N, K]``: FP4 (``quant_type`` 0) or NF4 (1). ``transB=0``: ``a @ w``,
    which onnxruntime's CPU provider computes incorrectly."""
    if quant_type not in (0, 1):
        raise unknown_value_error("quant_type", quant_type, ("0 (FP4)", "1 (NF4)"))
    if block_size < 16 or block_size & (block_size - 1):
        raise ModelError(
            f"blocks of {block_size}: powers of 2 from 16 on are known", name="block_size", got=str(block_size)
        )
    inner = K if transB else N
    if not a.ndim or a.shape[-1] != inner:
        raise ModelError(
            f"MatMulBnb4 with K = {K} and N = {N} cannot take rows of {a.shape[-1:]} numbers",
            name="A",
            got=str(a.shape),
        )
    layout = Bnb4Layout(require_constant(absmax), K, N, block_size, quant_type, bool(transB))
    weights = p.constant_in_layout(b, layout)
    if weights is None:
        weights = p.constant(layout(require_constant(b)))
    return apply_standard_operator(p, "MatMul", (a, weights))[0]


class Bnb4Layout:
    """Dequantizes the weights of MatMulBnb4; equal for the same scales."""

    def __init__(self, scales: Array, K: int, N: int, block_size: int, quant_type: int, transposed: bool) -> None:
        self.scales = scales
        self.key = (scales.__array_interface__["data"][0], K, N, block_size, quant_type, transposed)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bnb4Layout) and self.key == other.key

    def __call__(self, b: Array) -> Array:
        _, K, N, block_size, quant_type, transposed = self.key
        count = K * N
        if b.dtype != np.uint8 or b.size < (count + 1) // 2 or self.scales.size < -(-count // block_size):
            operands = f"weights of shape {b.shape} and scales of shape {self.scales.shape}"
            raise ModelError(f"{operands} are too few for {N} rows of {K} numbers in blocks of {block_size}")
        packed = b.reshape(-1)[: (count + 1) // 2]
        codes = np.stack([packed >> 4, packed & 15], axis=-1).reshape(-1)[:count]  # high nibble first
        factors = self.scales.reshape(-1).astype(np.float32)[np.arange(count) // block_size]
        weights = (_BNB4[quant_type][codes] * factors).reshape(N, K).astype(self.scales.dtype)
        return np.ascontiguousarray(weights.T if transposed else weights)


@onnx("GatherBlockQuantized", domain=MICROSOFT, native=False)
def gather_block_quantized(
    p: P,
    data: Array,
    indices: Array,
    scales: Array,
    zero_points: Array | None = None,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Array:
    """Gather rows of block-quantized weights."""
    rank = data.ndim
    dim, quant_dim = (normalize_existing_axis(gather_axis, rank), normalize_existing_axis(quantize_axis, rank))
    packed = data.dtype == np.uint8 and bits < 8
    if packed and quant_dim != rank - 1:
        raise UnsupportedError("packed numbers have to be quantized along their last axis")

    def rows(x: Array | None) -> Array | None:
        return None if x is None else np.take(x, indices, axis=dim)

    axis = quant_dim if quant_dim < dim else quant_dim + indices.ndim - 1
    gathered = rows(data)
    assert gathered is not None
    values = (unpack_bits(gathered, bits) if packed else gathered).astype(np.float32)
    factors = rows(scales)
    zero_values = rows(zero_points)
    if packed and zero_points is not None:
        zero_values = rows(unpack_bits(zero_points, bits)[..., : scales.shape[-1]])
    assert factors is not None
    block = np.arange(values.shape[axis]) // block_size
    if zero_values is not None:
        values -= np.take(zero_values.astype(np.float32), block, axis=axis)
    elif packed:
        values -= 1 << (bits - 1)
    return (values * np.take(factors.astype(np.float32), block, axis=axis)).astype(scales.dtype)
