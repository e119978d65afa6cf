"""Matrix products with packed constant weights, which every iteration reads.

All implementations use the layout and the summation order of ``packed_weights.h``: kernels on single iterations or on
batches of iterations, and eager evaluation in Python give bit-identical results.
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

#: Range of weight sizes that are packed: BLAS is as fast for a single column; a copy of larger weights is too
#: expensive.
PACK_RANGE_BYTES = (1 << 15, 1 << 26)
#: Lower limit for more than one column: [16,32] @ [32,128] takes 0.9 us, with BLAS 2.7 us for transposed weights, as
#: exporters write them.
SMALL_PACK_MIN_BYTES = 1 << 12

#: Total size of packed copies. Beyond it, products read weights as they are, with the same sums, in twice the time:
#: models of several GB would take twice their memory.
MAX_PACKED_BYTES = 384 << 20

#: Weights from this size on are stored as float16 if exact: smaller ones fit in the cache.
FLOAT16_MIN_BYTES = 1 << 18
#: For these row counts (small batches) and float32 sizes, widening the weights on each use costs more than reading
#: them as float32. Batches of iterations read them rarely.
SMALL_BATCH_ROWS, WIDENED_MAX_BYTES = range(2, 17), 1 << 20
#: Weights from this size on are stored as scaled int8 if exact. They take 1.8 times as long as float32 weights in the
#: L2 cache ([1,256] @ [256,1024]: 13 us vs. 7.4), and a third outside it ([1,512] @ [512,2048]: 52 us vs. 139).
INT8_MIN_BYTES = 1 << 21

#: Operators of both systems, in lower case, with products whose weights are mostly constant.
_WEIGHTED_TYPES = "matmul gemm einsum lstmcell grucell rnncell"
WEIGHTED_OPERATORS = frozenset(_WEIGHTED_TYPES.split())


def with_packed_weights(
    node: Operation, op: ResolvedOperator, system: System, is_constant: Sequence[bool]
) -> ResolvedOperator:
    """The operator of ``node`` with packed weights where possible; ``is_constant``: for each input."""
    if not op.native or not has_products(node, system):
        return op
    return use_packed_products(op) if any(is_constant[1:]) else op


def has_products(node: Operation, system: System) -> bool:
    """True for a standard operator that contains products."""
    is_standard = system is not System.ONNX or node.domain in ("", "ai.onnx")
    return is_standard and node.op_type.lower() in WEIGHTED_OPERATORS


def is_packing_worthwhile(weights: Array) -> bool:
    """True if weights are large enough for packing."""
    return weights.nbytes >= PACK_RANGE_BYTES[0]


def use_packed_products(op: ResolvedOperator) -> ResolvedOperator:
    """``op`` with products by packed_weights.h."""
    return replace(op, function=partial(_apply_with_packed_products, op.function))


def _apply_with_packed_products(function: Callable[..., Any], p: Any, *inputs: Any, **keywords: Any) -> Any:
    return function(PackedProductPrimitives(p), *inputs, **keywords)


class PackedProductPrimitives:
    """Wraps primitives and maps ``matmul`` to ``weighted``."""

    def __init__(self, p: Any) -> None:
        self._p = p

    def __getattr__(self, name: str) -> Any:
        return getattr(self._p, name)

    def matmul(self, a: Any, b: Any) -> Any:
        return self._p.packed_matmul(a, b)

    def matmul_accumulate(self, start: Any, a: Any, b: Any) -> Any:
        """``start + a @ b``."""
        return self._p.packed_matmul(a, b, start)


def is_packable(a: Any, b: Any) -> bool:
    """True if packed_weights.h supports the product of two objects with a dtype and a shape."""
    min_bytes, max_bytes = PACK_RANGE_BYTES
    if len(b.shape) != 2 or not len(a.shape) or not a.dtype == b.dtype == np.float32:
        return False
    k, n = b.shape
    if n > 1:
        min_bytes = min(min_bytes, SMALL_PACK_MIN_BYTES)
    return bool(a.shape[-1] == k and min_bytes <= k * n * 4 <= max_bytes and 0 < a.size <= loop_nest.PANEL_MAX_ROWS * k)


def packing_for_rows(rows: int) -> Callable[[Array], Array]:
    """The weight layout for a number of rows. All layouts give bit-identical products."""
    return _pack_as_float32 if rows in SMALL_BATCH_ROWS else pack_weights


def _pack_as_float32(weights: Array) -> Array:
    return _pack_in_own_dtype(weights) if weights.nbytes <= WIDENED_MAX_BYTES else pack_weights(weights)


def pack_weights(weights: Array) -> Array:
    """Pack a matrix ``[k, n]`` for packed_weights.h: ``[n / PANEL, PANEL / strip, k, strip]``, zero-padded.

    Stored as int8 or float16 if exact, as in models with low-bit weights that are widened.
    """
    if weights.nbytes >= INT8_MIN_BYTES and loop_nest.supports_int8_weights():
        scaled = _pack_as_int8(weights)
        if scaled is not None:
            return scaled
    if weights.nbytes >= FLOAT16_MIN_BYTES and loop_nest.supports_float16_weights() and is_float16_exact(weights):
        weights = weights.astype(np.float16)
    return _pack_in_own_dtype(weights)


def _pack_in_own_dtype(weights: Array) -> Array:
    """Pack weights in their own dtype."""
    k, n = weights.shape
    strip_columns = loop_nest.panel_strip_columns()
    packed = huge_pages.aligned_zeros(
        (-(-n // loop_nest.PANEL_COLUMNS), loop_nest.PANEL_COLUMNS // strip_columns, k, strip_columns), weights.dtype
    )
    strips = packed.reshape(-1, k, strip_columns)
    for strip, start in enumerate(range(0, n, strip_columns)):
        columns = weights[:, start : start + strip_columns]
        strips[strip, :, : columns.shape[1]] = columns
    return packed


def _pack_as_int8(weights: Array) -> Array | None:
    """Panels of scales, zeros and int8 values; None if not exact. Processes panel by panel: each fits in the cache."""
    k, n = weights.shape
    count, header_bytes = -(-n // loop_nest.PANEL_COLUMNS), 2 * loop_nest.PANEL_COLUMNS * 4
    packed = None
    for panel in range(count):
        columns = np.ascontiguousarray(
            weights[:, panel * loop_nest.PANEL_COLUMNS : (panel + 1) * loop_nest.PANEL_COLUMNS]
        )
        scaled = factor_int8(columns)
        if scaled is None:
            return None
        if packed is None:  # allocated late: most weights fail in the first panel
            packed = huge_pages.aligned_zeros((count, header_bytes + k * loop_nest.PANEL_COLUMNS), np.dtype(np.uint8))
            values = packed[:, header_bytes:].reshape(count, k, loop_nest.PANEL_COLUMNS)
            headers = packed[:, :header_bytes].view(np.float32).reshape(count, 2, loop_nest.PANEL_COLUMNS)
        width = columns.shape[1]
        values[panel, :, :width], headers[panel, 0, :width], headers[panel, 1, :width] = scaled
    return packed


def is_float16_exact(weights: Array) -> bool:
    """Are all float32 weights exactly representable as float16?"""
    # Most weights fail in the first row.
    for part in (weights[:1], weights):
        with np.errstate(all="ignore"):
            if not _same_bits(part.astype(np.float16).astype(np.float32), part):
                return False
    return True


def _same_bits(a: Array, b: Array) -> bool:
    return bool((np.ascontiguousarray(a).view(np.uint32) == np.ascontiguousarray(b).view(np.uint32)).all())


def factor_int8(weights: Array) -> tuple[Array, Array, Array] | None:
    """Bytes ``[k, n]``, scales and zeros ``[n]`` with weights = (byte + zero) * scale, bit-exact.

    None: no factorization was found.
    """
    with np.errstate(all="ignore"):
        scales = _column_scales(weights)
        if scales is None:
            return None
        numbers = np.rint(weights / scales)
        zeros = numbers.min(axis=0)
        numbers -= zeros
        # NaN and infinity also fail here.
        if not (numbers.max() <= 255) or not _same_bits((numbers + zeros) * scales, weights):
            return None
    return numbers.astype(np.uint8), scales, zeros


def _column_scales(weights: Array) -> Array | None:
    """A scale of which each column may consist of integer multiples; None if not found for a column."""
    sizes = np.abs(weights)
    sizes[sizes == 0] = np.inf
    scales: Array = sizes.min(axis=0)  # usually the multiple 1 occurs
    scales[np.isinf(scales)] = 1
    unresolved = np.flatnonzero(~_columns_are_multiples(weights, scales))
    if not len(unresolved):
        return scales
    columns = weights[:, unresolved]
    gaps = np.diff(np.sort(columns, axis=0), axis=0)
    gaps[gaps == 0] = np.inf
    largest = np.abs(columns).max(axis=0)
    candidate = largest / np.rint(largest / gaps.min(axis=0))
    # Rounding of the largest number leaves three candidates.
    missing = np.ones(len(unresolved), bool)
    for scale in (candidate, np.nextafter(candidate, -np.float32(np.inf)), np.nextafter(candidate, np.float32(np.inf))):
        fits = _columns_are_multiples(columns, scale)
        scales[unresolved[fits]] = scale[fits]
        missing &= ~fits
    return None if missing.any() else scales


def _columns_are_multiples(weights: Array, scales: Array) -> Array:
    """For each column whether its numbers are rounded integer multiples of its scale."""
    rounded = weights / scales
    np.rint(rounded, out=rounded)
    rounded *= scales
    is_multiple: Array = (rounded == weights).all(axis=0)
    return is_multiple


#: Cache of packed constants by memory address; it outlives bindings.
_LAYOUT_CACHE: dict[Any, Array] = {}


def cached_layout(array: Array, layout: Callable[[Array], Array]) -> Array:
    """``layout(array)``, cached for the lifetime of the array's memory."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    key = _layout_key(array, layout)
    if key not in _LAYOUT_CACHE:
        _LAYOUT_CACHE[key] = layout(array)
        weakref.finalize(owner, _LAYOUT_CACHE.pop, key, None)
    return _LAYOUT_CACHE[key]


def fits_packing_limit(array: Array, layout: Callable[[Array], Array]) -> bool:
    """True if ``layout(array)`` is cached, or fits into MAX_PACKED_BYTES with what is."""
    if _layout_key(array, layout) in _LAYOUT_CACHE:
        return True
    # A copy: weights may be freed meanwhile.
    return sum(packed.nbytes for packed in list(_LAYOUT_CACHE.values())) + array.nbytes <= MAX_PACKED_BYTES


def _layout_key(array: Array, layout: Callable[[Array], Array]) -> tuple[Any, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype, layout
