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
from ..kernels import kernel as kernels
from .registry import Op

#: Weights of so many bytes go to panels: smaller ones take no longer with BLAS, and of larger ones a copy is too much.
PANEL_BYTES = (1 << 15, 1 << 26)

#: Weights of so many bytes are kept as float16 where they can be: smaller ones stay near the processor anyhow.
HALVED_BYTES = 1 << 18

#: Operators, in both systems' words and lower case, with products inside whose weights are mostly constants.
_TYPES = "matmul gemm einsum lstmcell grucell rnncell"
WEIGHTED = frozenset(_TYPES.split())


def weighted(node: Operation, op: Op, system: System, settled: Sequence[bool]) -> Op:
    """The operator of ``node`` as plans run it; ``settled``: of each input whether it follows from constants alone."""
    return on_weights(op) if op.native and is_weighted(node, system) and any(settled[1:]) else op


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
    return bool(a.shape[-1] == k and least <= k * n * 4 <= most and 0 < a.size <= kernels.PANEL_ROWS * k)


def panels(weights: Array) -> Array:
    """A matrix ``[k, n]`` as panels.h wants it: ``[n / PANEL, k, PANEL]``, zeros beyond n, each row in a cache line.

    Of float16 where that holds all its numbers: models of float16 widen their weights.
    """
    k, n = weights.shape
    if k * n * 4 >= HALVED_BYTES and kernels.takes_halves() and are_halves(weights):
        weights = weights.astype(np.float16)
    count = -(-n // kernels.PANEL)
    size = count * k * kernels.PANEL
    memory = np.zeros(size + 32, weights.dtype)
    first = -memory.__array_interface__["data"][0] % 64 // memory.itemsize
    packed = memory[first : first + size].reshape(count, k, kernels.PANEL)
    for panel in range(count):
        columns = weights[:, panel * kernels.PANEL : (panel + 1) * kernels.PANEL]
        packed[panel, :, : columns.shape[1]] = columns
    return packed


def are_halves(weights: Array) -> bool:
    """Is each of these float32 numbers one of float16, to the bit?"""
    # Most weights are not, and the first ones tell.
    for part in (weights[:1], weights):
        with np.errstate(all="ignore"):
            back = np.ascontiguousarray(part.astype(np.float16).astype(np.float32))
        if not np.array_equal(back.view(np.uint32), np.ascontiguousarray(part).view(np.uint32)):
            return False
    return True


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
