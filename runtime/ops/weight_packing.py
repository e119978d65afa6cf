"""Products with weights: matrices that are constant, and read again in every iteration.

They are done in the layout and the order of ``packed_weights.h``, whoever does them: kernels one iteration after the
other, a block of iterations at once, and NumPy's arrays in Python give the same to the bit.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..graph import Array, Operation, System
from ..kernels import huge_pages, loop_nest
from .registry import ResolvedOperator

#: Weights of so many bytes go to panels: one column takes no longer with BLAS, and of larger ones a copy is too much.
PACK_RANGE_BYTES = (1 << 15, 1 << 26)
#: Smaller ones, too, from so many bytes on, unless they are one column: [16,32] @ [32,128] takes 0.9 us, and with BLAS
#: 2.7 where the weights are transposed, as exporters write them.
SMALL_PACK_MIN_BYTES = 1 << 12

#: Weights of so many bytes are kept as float16 where they can be: smaller ones stay near the processor anyhow.
FLOAT16_MIN_BYTES = 1 << 18
#: With so many rows, as steps of a batch have, and weights of so many bytes as floats, to widen them each time takes
#: longer than to read them. Blocks of iterations read them seldom.
SMALL_BATCH_ROWS, WIDENED_MAX_BYTES = range(2, 17), 1 << 20
#: Weights of so many bytes are kept as scaled bytes where they can be. They take 1.8 times as long as floats that stay
#: in the second-level cache ([1,256] @ [256,1024]: 13 us for 7.4), and a third of those that do not ([1,512] @
#: [512,2048]: 52 us for 139).
INT8_MIN_BYTES = 1 << 21

#: Operators, in both systems' words and lower case, with products inside whose weights are mostly constants.
_WEIGHTED_TYPES = "matmul gemm einsum lstmcell grucell rnncell"
WEIGHTED_OPERATORS = frozenset(_WEIGHTED_TYPES.split())


def with_packed_weights(
    node: Operation, op: ResolvedOperator, system: System, settled: Sequence[bool]
) -> ResolvedOperator:
    """The operator of ``node`` as plans run it; ``settled``: of each input whether it follows from constants alone."""
    if not op.native or not has_products(node, system):
        return op
    return use_packed_products(op) if any(settled[1:]) else op


def has_products(node: Operation, system: System) -> bool:
    """An operator of the system's own with products inside."""
    own = system is not System.ONNX or node.domain in ("", "ai.onnx")
    return own and node.op_type.lower() in WEIGHTED_OPERATORS


def is_packing_worthwhile(weights: Array) -> bool:
    """Enough for panels."""
    return weights.nbytes >= PACK_RANGE_BYTES[0]


def use_packed_products(op: ResolvedOperator) -> ResolvedOperator:
    """``op`` with products as packed_weights.h does them."""
    return replace(op, function=partial(_apply_with_packed_products, op.function))


def _apply_with_packed_products(function: Callable[..., Any], p: Any, *inputs: Any, **keywords: Any) -> Any:
    return function(PackedProductPrimitives(p), *inputs, **keywords)


class PackedProductPrimitives:
    """Other primitives, whose products go by the name of ``weighted``."""

    def __init__(self, p: Any) -> None:
        self._p = p

    def __getattr__(self, name: str) -> Any:
        return getattr(self._p, name)

    def matmul(self, a: Any, b: Any) -> Any:
        return self._p.weighted(a, b)

    def matmul_from(self, start: Any, a: Any, b: Any) -> Any:
        """``start + a @ b``."""
        return self._p.weighted(a, b, start)


def is_packable(a: Any, b: Any) -> bool:
    """Rows and a matrix that packed_weights.h multiplies: anything with a dtype and a shape."""
    least, most = PACK_RANGE_BYTES
    if len(b.shape) != 2 or not len(a.shape) or not a.dtype == b.dtype == np.float32:
        return False
    k, n = b.shape
    if n > 1:
        least = min(least, SMALL_PACK_MIN_BYTES)
    return bool(a.shape[-1] == k and least <= k * n * 4 <= most and 0 < a.size <= loop_nest.PANEL_MAX_ROWS * k)


def packing_for_rows(rows: int) -> Callable[[Array], Array]:
    """How weights are laid out that so many rows are multiplied with. The same bits come of each."""
    return _pack_as_float32 if rows in SMALL_BATCH_ROWS else pack_weights


def _pack_as_float32(weights: Array) -> Array:
    return _pack(weights) if weights.nbytes <= WIDENED_MAX_BYTES else pack_weights(weights)


def pack_weights(weights: Array) -> Array:
    """A matrix ``[k, n]`` as packed_weights.h wants it: ``[n / PANEL, PANEL / strip, k, strip]``, zeros beyond n.

    Of bytes or float16 where these hold all its numbers: models of fewer bits widen their weights.
    """
    if weights.nbytes >= INT8_MIN_BYTES and loop_nest.supports_int8_weights():
        scaled = _pack_as_int8(weights)
        if scaled is not None:
            return scaled
    if weights.nbytes >= FLOAT16_MIN_BYTES and loop_nest.supports_float16_weights() and is_float16_exact(weights):
        weights = weights.astype(np.float16)
    return _pack(weights)


def _pack(weights: Array) -> Array:
    """As they are, and in their type."""
    k, n = weights.shape
    wide = loop_nest.panel_strip_columns()
    packed = huge_pages.aligned_zeros(
        (-(-n // loop_nest.PANEL_COLUMNS), loop_nest.PANEL_COLUMNS // wide, k, wide), weights.dtype
    )
    strips = packed.reshape(-1, k, wide)
    for strip, first in enumerate(range(0, n, wide)):
        columns = weights[:, first : first + wide]
        strips[strip, :, : columns.shape[1]] = columns
    return packed


def _pack_as_int8(weights: Array) -> Array | None:
    """Each panel: scales, zeros, and the bytes; None where not all are such. One after the other: each fits a cache."""
    k, n = weights.shape
    count, head = -(-n // loop_nest.PANEL_COLUMNS), 2 * loop_nest.PANEL_COLUMNS * 4
    packed = None
    for panel in range(count):
        columns = np.ascontiguousarray(
            weights[:, panel * loop_nest.PANEL_COLUMNS : (panel + 1) * loop_nest.PANEL_COLUMNS]
        )
        scaled = factor_int8(columns)
        if scaled is None:
            return None
        if packed is None:  # most weights are not such, and the first panel tells
            packed = huge_pages.aligned_zeros((count, head + k * loop_nest.PANEL_COLUMNS), np.dtype(np.uint8))
            bytes_ = packed[:, head:].reshape(count, k, loop_nest.PANEL_COLUMNS)
            heads = packed[:, :head].view(np.float32).reshape(count, 2, loop_nest.PANEL_COLUMNS)
        width = columns.shape[1]
        bytes_[panel, :, :width], heads[panel, 0, :width], heads[panel, 1, :width] = scaled
    return packed


def is_float16_exact(weights: Array) -> bool:
    """Is each of these float32 numbers one of float16, to the bit?"""
    # Most weights are not, and the first ones tell.
    for part in (weights[:1], weights):
        with np.errstate(all="ignore"):
            if not _same_bits(part.astype(np.float16).astype(np.float32), part):
                return False
    return True


def _same_bits(a: Array, b: Array) -> bool:
    return bool((np.ascontiguousarray(a).view(np.uint32) == np.ascontiguousarray(b).view(np.uint32)).all())


def factor_int8(weights: Array) -> tuple[Array, Array, Array] | None:
    """Bytes ``[k, n]``, scales and zeros ``[n]`` that give these float32 numbers: (byte + zero) * scale, to the bit.

    None: there are none, or none were found.
    """
    with np.errstate(all="ignore"):
        scales = _column_scales(weights)
        if scales is None:
            return None
        numbers = np.rint(weights / scales)
        zeros = numbers.min(axis=0)
        numbers -= zeros
        # NaN and infinity fail here, too.
        if not (numbers.max() <= 255) or not _same_bits((numbers + zeros) * scales, weights):
            return None
    return numbers.astype(np.uint8), scales, zeros


def _column_scales(weights: Array) -> Array | None:
    """What each column may be whole multiples of; None: there is a column for which it was not found."""
    sizes = np.abs(weights)
    sizes[sizes == 0] = np.inf
    scales: Array = sizes.min(axis=0)  # mostly there is a 1 among so many
    scales[np.isinf(scales)] = 1
    left = np.flatnonzero(~_columns_are_multiples(weights, scales))
    if not len(left):
        return scales
    columns = weights[:, left]
    gaps = np.diff(np.sort(columns, axis=0), axis=0)
    gaps[gaps == 0] = np.inf
    largest = np.abs(columns).max(axis=0)
    near = largest / np.rint(largest / gaps.min(axis=0))
    # The largest number was rounded, which leaves three.
    missing = np.ones(len(left), bool)
    for scale in (near, np.nextafter(near, -np.float32(np.inf)), np.nextafter(near, np.float32(np.inf))):
        fits = _columns_are_multiples(columns, scale)
        scales[left[fits]] = scale[fits]
        missing &= ~fits
    return None if missing.any() else scales


def _columns_are_multiples(weights: Array, scales: Array) -> Array:
    """Of each column whether its numbers are whole multiples of its scale, rounded."""
    near = weights / scales
    np.rint(near, out=near)
    near *= scales
    found: Array = (near == weights).all(axis=0)
    return found


#: What was made of constants, by where their numbers are. Bindings come and go, weights stay.
_LAYOUT_CACHE: dict[Any, Array] = {}


def cached_layout(array: Array, layout: Callable[[Array], Array]) -> Array:
    """``layout(array)``, kept for as long as the memory of the array is."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype, layout)
    if key not in _LAYOUT_CACHE:
        _LAYOUT_CACHE[key] = layout(array)
        weakref.finalize(owner, _LAYOUT_CACHE.pop, key, None)
    return _LAYOUT_CACHE[key]
