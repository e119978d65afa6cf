"""Packing of 8-bit weights into panels (int8_product.h), and products of 32-bit integers that fit into 8 bits.

A quantized OpenVINO IR converts its 8-bit data to 32 bits, subtracts the zero points and multiplies the result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import huge_pages, loop_nest
from ..kernels.bindings import int8
from . import ufunc_kernels
from .primitive_types import RoutineCall

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_INT32 = np.dtype(np.int32)


def pack_weights(weights: Array) -> Array:
    """Pack matrices ``[..., k, n]`` for int8_product.h, one row each."""
    k, n = weights.shape[-2:]
    stack = np.ascontiguousarray(weights).reshape(math.prod(weights.shape[:-2]), k, n)
    size = packed_size(k, n)
    packed = huge_pages.aligned_zeros((len(stack), size), np.dtype(np.uint8))
    for matrix, row in zip(stack, packed, strict=True):
        _pack_matrix(matrix, row)
    return packed


def _pack_matrix(matrix: Array, row: Array) -> None:
    k, n = matrix.shape
    loop_nest.run_kernel(
        ufunc_kernels.routine_kernel("int8.pack"), (matrix, row), extra=(k, n, int(matrix.dtype == np.int8))
    )


def packed_size(k: Any, n: Any) -> Any:
    """An upper bound of the packed size of a matrix in bytes, linear in symbolic extents."""
    return (n + int8.PANEL_COLUMNS - 1) * (k + 7) + int8.OVERREAD_BYTES


def pack_int32_weights(weights: Array) -> Array:
    """Pack a matrix of 32-bit integers as 8-bit panels behind a header; empty if they do not fit."""
    header, narrow = as_int8_with_zero_point(weights)
    if narrow is None:
        return np.empty(0, np.uint8)
    packed = huge_pages.aligned_zeros((int8.HEADER_BYTES + packed_size(*weights.shape),), np.dtype(np.uint8))
    packed[: int8.HEADER_BYTES] = header
    _pack_matrix(narrow, packed[int8.HEADER_BYTES :])
    return packed


def as_int8_with_zero_point(weights: Array) -> tuple[Array, Array | None]:
    """The header (``loopdbg_int8_weights``) and the 8-bit values of 32-bit integers minus a zero point; values are None
    if they do not fit."""
    header = np.zeros(int8.HEADER_BYTES, np.uint8)
    low, high = min(int(weights.min(initial=0)), 0), int(weights.max(initial=0))
    is_signed = low >= -128 and high <= 127
    if not weights.size or not (is_signed or (low >= -255 and high - low <= 255)):
        return header, None
    zero = 0 if is_signed else -low
    header[:2] = is_signed, zero
    return header, np.ascontiguousarray(weights + zero).astype(np.int8 if is_signed else np.uint8)


def int32_product(p: P, a: T, b: T) -> T | None:
    """``a @ b`` of 32-bit integers with constant weights that fit into 8 bits; None if not applicable."""
    if not a.dtype == b.dtype == _INT32 or b.ndim != 2 or not a.ndim:
        return None
    packed = p.constant_in_layout(b, pack_int32_weights)
    if packed is None or not packed.size:
        return None
    k, n = b.shape
    m = math.prod(a.shape[:-1])
    scratch = m * (2 * k + int8.TAIL_BYTES + 8) + 256
    (product,) = p.call(
        RoutineCall("int8.from_int32_product", [((*a.shape[:-1], n), _INT32)], (m, k, n), scratch), [a, packed]
    )
    return product
