"""The primitives computed by NumPy: what every operator means, and how Python instructions run."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..graph import Array
from .primitives import Elementwise, OwnLoop, Step, View
from .weights import fits


class Eager:
    """Implements :class:`~.primitives.Primitives` on NumPy arrays."""

    def map(self, function: Elementwise, *inputs: Array) -> Array:
        result = function.eager(*inputs) if isinstance(function, OwnLoop) else function(*inputs)
        return np.asarray(result)

    def reduce(self, ufunc: np.ufunc, x: Array, axes: Sequence[int], keepdims: bool) -> Array:
        if not axes:
            return x.copy()
        return np.asarray(ufunc.reduce(x, axis=tuple(axes), keepdims=keepdims, dtype=x.dtype))

    def accumulate(self, ufunc: np.ufunc, x: Array, axis: int) -> Array:
        return np.asarray(ufunc.accumulate(x, axis=axis, dtype=x.dtype))

    def arg(self, which: str, x: Array, axis: int, last: bool) -> Array:
        find = np.argmax if which == "max" else np.argmin
        if not last:
            return np.asarray(find(x, axis=axis, keepdims=True), dtype=np.int64)
        flipped = np.asarray(find(np.flip(x, axis), axis=axis, keepdims=True), dtype=np.int64)
        return np.asarray(x.shape[axis] - 1 - flipped)

    def matmul(self, a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(a, b))

    def weighted(self, a: Array, b: Array) -> Array:
        return np.asarray(kernels.rows_product(a, b)) if fits(a, b) else self.matmul(a, b)

    def blocks(
        self,
        step: Step,
        iteration: Array,
        trips: Array | None,
        sources: Sequence[tuple[Array, View]],
        others: Sequence[Array],
        conditional: bool,
        only: bool = False,
    ) -> Array:
        i = int(iteration.reshape(()))
        return np.asarray(step(self, [view(x)[i] for x, view in sources], others))

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        return np.where(condition, a, b)

    def cast(self, x: Array, dtype: np.dtype[Any]) -> Array:
        return x.astype(dtype)

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        return x.reshape(tuple(shape))

    def transpose(self, x: Array, perm: Sequence[int]) -> Array:
        return x.transpose(tuple(perm))

    def broadcast(self, x: Array, shape: Sequence[int]) -> Array:
        return np.broadcast_to(x, tuple(shape))

    def slice(self, x: Array, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Array:
        index = []
        for start, step, extent in zip(starts, steps, extents, strict=True):
            stop = start + step * extent
            index.append(slice(start, None if stop < 0 else stop, step) if extent else slice(0, 0))
        return x[tuple(index)]

    def slice_at(self, x: Array, axis: int, start: Array, end: Array) -> Array:
        index = [slice(None)] * x.ndim
        index[axis] = slice(int(start.reshape(())), int(end.reshape(())))
        return x[tuple(index)]

    def assemble(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        pieces: Sequence[tuple[Array, Sequence[int]]],
        fill: Any = None,
    ) -> Array:
        out = np.empty(tuple(shape), dtype) if fill is None else np.full(tuple(shape), fill, dtype)
        for piece, starts in pieces:
            # Not a generator: 2x for small pieces.
            out[tuple(map(slice, starts, map(operator.add, starts, piece.shape)))] = piece
        return out

    def gather(self, x: Array, indices: Array, axis: int) -> Array:
        return np.take(x, indices, axis=axis)

    def constant(self, array: Array) -> Array:
        return array

    def value(self, x: Array) -> Array:
        return x
