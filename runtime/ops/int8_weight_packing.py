"""Weights of 8 bits in panels (int8_product.h), and products of 32-bit integers that are such weights.

A quantised model in an IR converts its bytes to 32 bits, takes the zero points off and multiplies what it has then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import huge_pages, loop_nest
from ..kernels.bindings import int8
from . import kernel_lookup
from .primitives import RoutineCall

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any
_INT32 = np.dtype(np.int32)


def pack_weights(weights: Array) -> Array:
    """Matrices ``[..., k, n]`` as int8_product.h multiplies by them, one packed row each."""
    k, n = weights.shape[-2:]
    stack = np.ascontiguousarray(weights).reshape(math.prod(weights.shape[:-2]), k, n)
    size = packed_size(k, n)
    packed = huge_pages.aligned_zeros((len(stack), size), np.dtype(np.uint8))
    for matrix, row in zip(stack, packed, strict=True):
        _pack(matrix, row)
    return packed


def _pack(matrix: Array, row: Array) -> None:
    k, n = matrix.shape
    loop_nest.run_kernel(
        kernel_lookup.routine_kernel("int8.pack"), (matrix, row), extra=(k, n, int(matrix.dtype == np.int8))
    )


def packed_size(k: Any, n: Any) -> Any:
    """Bytes that hold a matrix in panels; of extents, to stay known where they vary, no less than that."""
    return (n + int8.PANEL_COLUMNS - 1) * (k + 7) + int8.OVERREAD_BYTES


def pack_int32_weights(weights: Array) -> Array:
    """A matrix of 32-bit integers as bytes in panels, behind a line that says how; empty where they are no bytes."""
    head, bytes_of = as_int8_with_zero_point(weights)
    if bytes_of is None:
        return np.empty(0, np.uint8)
    packed = huge_pages.aligned_zeros((int8.HEADER_BYTES + packed_size(*weights.shape),), np.dtype(np.uint8))
    packed[: int8.HEADER_BYTES] = head
    _pack(bytes_of, packed[int8.HEADER_BYTES :])
    return packed


def as_int8_with_zero_point(weights: Array) -> tuple[Array, Array | None]:
    """32-bit integers as bytes and a zero point, and the line that says so (``loopdbg_int8_weights``); None: they are
    none."""
    head = np.zeros(int8.HEADER_BYTES, np.uint8)
    low, high = min(int(weights.min(initial=0)), 0), int(weights.max(initial=0))
    is_signed = low >= -128 and high <= 127
    if not weights.size or not (is_signed or (low >= -255 and high - low <= 255)):
        return head, None
    zero = 0 if is_signed else -low
    head[:2] = is_signed, zero
    return head, np.ascontiguousarray(weights + zero).astype(np.int8 if is_signed else np.uint8)


def int32_product(p: P, a: T, b: T) -> T | None:
    """``a @ b`` of 32-bit integers with constant weights that are bytes; None where it is no such product."""
    if not a.dtype == b.dtype == _INT32 or b.ndim != 2 or not a.ndim:
        return None
    packed = p.prepared(b, pack_int32_weights)
    if packed is None or not packed.size:
        return None
    k, n = b.shape
    m = math.prod(a.shape[:-1])
    scratch = m * (2 * k + int8.TAIL_BYTES + 8) + 256
    (product,) = p.call(
        RoutineCall("int8.from_int32_product", [((*a.shape[:-1], n), _INT32)], (m, k, n), scratch), [a, packed]
    )
    return product
