"""Products with weights: matrices that are constant, and read again in every iteration.

They are done in the layout and the order of ``panels.h``, whoever does them: kernels one iteration after the other, a
block of iterations at once, and NumPy's arrays in Python give the same to the bit.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..graph import Array, Operation, System
from ..kernels import drivers, pages
from .registry import Op

#: Weights of so many bytes go to panels: one column takes no longer with BLAS, and of larger ones a copy is too much.
PANEL_BYTES = (1 << 15, 1 << 26)
#: Smaller ones, too, from so many bytes on, unless they are one column: [16,32] @ [32,128] takes 0.9 us, and with BLAS
#: 2.7 where the weights are transposed, as exporters write them.
SMALL_PANEL_BYTES = 1 << 12

#: Weights of so many bytes are kept as float16 where they can be: smaller ones stay near the processor anyhow.
HALVED_BYTES = 1 << 18
#: With so many rows, as steps of a batch have, and weights of so many bytes as floats, to widen them each time takes
#: longer than to read them. Blocks of iterations read them seldom.
BATCH, WIDENED_BYTES = range(2, 17), 1 << 20
#: Weights of so many bytes are kept as scaled bytes where they can be. They take 1.8 times as long as floats that stay
#: in the second-level cache ([1,256] @ [256,1024]: 13 us for 7.4), and a third of those that do not ([1,512] @
#: [512,2048]: 52 us for 139).
SCALED_BYTES = 1 << 21

#: Operators, in both systems' words and lower case, with products inside whose weights are mostly constants.
_TYPES = "matmul gemm einsum lstmcell grucell rnncell"
WEIGHTED = frozenset(_TYPES.split())


def weighted(node: Operation, op: Op, system: System, settled: Sequence[bool]) -> Op:
    """The operator of ``node`` as plans run it; ``settled``: of each input whether it follows from constants alone."""
    if not op.native or not is_weighted(node, system):
        return op
    return on_weights(op) if any(settled[1:]) else op


def is_weighted(node: Operation, system: System) -> bool:
    """An operator of the system's own with products inside."""
    own = system is not System.ONNX or node.domain in ("", "ai.onnx")
    return own and node.op_type.lower() in WEIGHTED


def is_large(weights: Array) -> bool:
    """Enough for panels."""
    return weights.nbytes >= PANEL_BYTES[0]


def on_weights(op: Op) -> Op:
    """``op`` with products as panels.h does them."""
    return replace(op, function=partial(_on_weights, op.function))


def _on_weights(function: Callable[..., Any], p: Any, *inputs: Any, **keywords: Any) -> Any:
    return function(Weighted(p), *inputs, **keywords)


class Weighted:
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


def fits(a: Any, b: Any) -> bool:
    """Rows and a matrix that panels.h multiplies: anything with a dtype and a shape."""
    least, most = PANEL_BYTES
    if len(b.shape) != 2 or not len(a.shape) or not a.dtype == b.dtype == np.float32:
        return False
    k, n = b.shape
    if n > 1:
        least = min(least, SMALL_PANEL_BYTES)
    return bool(a.shape[-1] == k and least <= k * n * 4 <= most and 0 < a.size <= drivers.PANEL_ROWS * k)


def panels_for(rows: int) -> Callable[[Array], Array]:
    """How weights are laid out that so many rows are multiplied with. The same bits come of each."""
    return _floats_at_hand if rows in BATCH else panels


def _floats_at_hand(weights: Array) -> Array:
    return _panels(weights) if weights.nbytes <= WIDENED_BYTES else panels(weights)


def panels(weights: Array) -> Array:
    """A matrix ``[k, n]`` as panels.h wants it: ``[n / PANEL, PANEL / strip, k, strip]``, zeros beyond n.

    Of bytes or float16 where these hold all its numbers: models of fewer bits widen their weights.
    """
    if weights.nbytes >= SCALED_BYTES and drivers.takes_bytes():
        scaled = _byte_panels(weights)
        if scaled is not None:
            return scaled
    if weights.nbytes >= HALVED_BYTES and drivers.takes_halves() and are_halves(weights):
        weights = weights.astype(np.float16)
    return _panels(weights)


def _panels(weights: Array) -> Array:
    """As they are, and in their type."""
    k, n = weights.shape
    wide = drivers.strip()
    packed = pages.zeros((-(-n // drivers.PANEL), drivers.PANEL // wide, k, wide), weights.dtype)
    strips = packed.reshape(-1, k, wide)
    for strip, first in enumerate(range(0, n, wide)):
        columns = weights[:, first : first + wide]
        strips[strip, :, : columns.shape[1]] = columns
    return packed


def _byte_panels(weights: Array) -> Array | None:
    """Each panel: scales, zeros, and the bytes; None where not all are such. One after the other: each fits a cache."""
    k, n = weights.shape
    count, head = -(-n // drivers.PANEL), 2 * drivers.PANEL * 4
    packed = None
    for panel in range(count):
        columns = np.ascontiguousarray(weights[:, panel * drivers.PANEL : (panel + 1) * drivers.PANEL])
        scaled = scaled_bytes(columns)
        if scaled is None:
            return None
        if packed is None:  # most weights are not such, and the first panel tells
            packed = pages.zeros((count, head + k * drivers.PANEL), np.dtype(np.uint8))
            bytes_ = packed[:, head:].reshape(count, k, drivers.PANEL)
            heads = packed[:, :head].view(np.float32).reshape(count, 2, drivers.PANEL)
        width = columns.shape[1]
        bytes_[panel, :, :width], heads[panel, 0, :width], heads[panel, 1, :width] = scaled
    return packed


def are_halves(weights: Array) -> bool:
    """Is each of these float32 numbers one of float16, to the bit?"""
    # Most weights are not, and the first ones tell.
    for part in (weights[:1], weights):
        with np.errstate(all="ignore"):
            if not _same_bits(part.astype(np.float16).astype(np.float32), part):
                return False
    return True


def _same_bits(a: Array, b: Array) -> bool:
    return bool((np.ascontiguousarray(a).view(np.uint32) == np.ascontiguousarray(b).view(np.uint32)).all())


def scaled_bytes(weights: Array) -> tuple[Array, Array, Array] | None:
    """Bytes ``[k, n]``, scales and zeros ``[n]`` that give these float32 numbers: (byte + zero) * scale, to the bit.

    None: there are none, or none were found.
    """
    with np.errstate(all="ignore"):
        scales = _scales(weights)
        if scales is None:
            return None
        numbers = np.rint(weights / scales)
        zeros = numbers.min(axis=0)
        numbers -= zeros
        # NaN and infinity fail here, too.
        if not (numbers.max() <= 255) or not _same_bits((numbers + zeros) * scales, weights):
            return None
    return numbers.astype(np.uint8), scales, zeros


def _scales(weights: Array) -> Array | None:
    """What each column may be whole multiples of; None: there is a column for which it was not found."""
    sizes = np.abs(weights)
    sizes[sizes == 0] = np.inf
    scales: Array = sizes.min(axis=0)  # mostly there is a 1 among so many
    scales[np.isinf(scales)] = 1
    left = np.flatnonzero(~_are_multiples(weights, scales))
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
        fits = _are_multiples(columns, scale)
        scales[left[fits]] = scale[fits]
        missing &= ~fits
    return None if missing.any() else scales


def _are_multiples(weights: Array, scales: Array) -> Array:
    """Of each column whether its numbers are whole multiples of its scale, rounded."""
    near = weights / scales
    np.rint(near, out=near)
    near *= scales
    found: Array = (near == weights).all(axis=0)
    return found


#: What was made of constants, by where their numbers are. Bindings come and go, weights stay.
_PREPARED: dict[Any, Array] = {}


def prepared(array: Array, layout: Callable[[Array], Array]) -> Array:
    """``layout(array)``, kept for as long as the memory of the array is."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype, layout)
    if key not in _PREPARED:
        _PREPARED[key] = layout(array)
        weakref.finalize(owner, _PREPARED.pop, key, None)
    return _PREPARED[key]
