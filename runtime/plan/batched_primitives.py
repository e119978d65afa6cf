"""Primitives batched over iterations: tensors have one row per iteration.

An operator's function that runs on :class:`BatchedPrimitives` computes all iterations of the underlying primitives at
once. A product of rows with a matrix becomes one larger product; other operations get an additional axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Array
from ..ops.primitive_types import Elementwise, NoNativeKernel, RoutineCall
from ..record import record

#: With fewer weights, a product takes about as long as locating its row.
MIN_BATCHED_WEIGHTS = 2048


@record(frozen=True, eq=False)
class BatchedRows:
    """A tensor as seen by one iteration; ``batch`` has an additional first axis, the iterations."""

    batch: Any

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.batch.shape[1:]
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.batch.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class BatchedPrimitives:
    """Implements :class:`~..ops.eager.EagerPrimitives` on :class:`BatchedRows` and on loop-invariant tensors, by other
    primitives.

    ``is_profitable``: a product that benefits from batching occurred.
    """

    def __init__(self, p: Any, count: int) -> None:
        self.p = p
        self.count = count
        self.is_profitable = False
        self.emits: bool = p.emits

    # -- helpers

    def _extend_rank(self, x: Any, ndim: int) -> Any:
        """An elementwise operand whose rows are extended to ``ndim`` axes by leading unit axes."""
        if not isinstance(x, BatchedRows):
            return x
        if x.ndim == ndim:
            return x.batch
        return self.p.reshape(x.batch, (self.count, *(1,) * (ndim - x.ndim), *x.shape))

    def _full_batch(self, x: Any) -> Any:
        """The batch of a tensor; loop-invariant tensors are broadcast."""
        return x.batch if isinstance(x, BatchedRows) else self.p.broadcast(x, (self.count, *x.shape))

    # -- primitives

    def map(self, function: Elementwise, *inputs: Any) -> Any:
        if not any(isinstance(x, BatchedRows) for x in inputs):
            return self.p.map(function, *inputs)
        ndim = max(len(x.shape) for x in inputs)
        return BatchedRows(self.p.map(function, *(self._extend_rank(x, ndim) for x in inputs)))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        inputs = (condition, a, b)
        if not any(isinstance(x, BatchedRows) for x in inputs):
            return self.p.where(*inputs)
        ndim = max(len(x.shape) for x in inputs)
        return BatchedRows(self.p.where(*(self._extend_rank(x, ndim) for x in inputs)))

    def reduce(self, ufunc: np.ufunc, x: Any, axes: Sequence[int], keepdims: bool) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.reduce(ufunc, x, axes, keepdims)
        return BatchedRows(self.p.reduce(ufunc, x.batch, [axis + 1 for axis in axes], keepdims))

    def accumulate(self, ufunc: np.ufunc, x: Any, axis: int) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.accumulate(ufunc, x, axis)
        return BatchedRows(self.p.accumulate(ufunc, x.batch, axis + 1))

    def arg_extreme(self, which: str, x: Any, axis: int, last: bool) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.arg_extreme(which, x, axis, last)
        return BatchedRows(self.p.arg_extreme(which, x.batch, axis + 1, last))

    def matmul(self, a: Any, b: Any) -> Any:
        return self._batched_product(self.p.matmul, a, b)

    def packed_matmul(self, a: Any, b: Any, start: Any = None) -> Any:
        if start is None or not isinstance(a, BatchedRows):
            return (
                self._batched_product(self.p.packed_matmul, a, b)
                if start is None
                else self.p.packed_matmul(a, b, start)
            )
        shape = (*a.shape[:-1], b.shape[-1])
        if isinstance(start, BatchedRows) or math.prod(start.shape[:-1]) != 1:
            start = self.broadcast(
                start if isinstance(start, BatchedRows) else BatchedRows(self._broadcast_to_batch(start)), shape
            )
            start = self.p.reshape(start.batch, (self.count * math.prod(shape[:-1]), shape[-1]))
        return self._batched_product(lambda a, b: self.p.packed_matmul(a, b, start), a, b)

    def _broadcast_to_batch(self, x: Any) -> Any:
        """Broadcast a loop-invariant tensor to all iterations."""
        return self.p.broadcast(x, (self.count, *x.shape))

    def _batched_product(self, product: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        if not isinstance(a, BatchedRows) and not isinstance(b, BatchedRows):
            return product(a, b)
        if not isinstance(a, BatchedRows) or isinstance(b, BatchedRows) or a.ndim == 0 or len(b.shape) != 2:
            raise NoNativeKernel
        k, n = b.shape
        if a.shape[-1] != k:
            raise ValueError(f"matmul: {list(a.shape)} and {list(b.shape)} do not fit ({a.shape[-1]} and {k})")
        if k * n >= MIN_BATCHED_WEIGHTS and a.dtype.kind == "f" and a.dtype.itemsize >= 4:
            self.is_profitable = True
        flat = product(self.p.reshape(a.batch, (self.count * math.prod(a.shape[:-1]), k)), b)
        return BatchedRows(self.p.reshape(flat, (self.count, *a.shape[:-1], n)))

    def cast(self, x: Any, dtype: np.dtype[Any]) -> Any:
        return BatchedRows(self.p.cast(x.batch, dtype)) if isinstance(x, BatchedRows) else self.p.cast(x, dtype)

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.reshape(x, shape)
        return BatchedRows(self.p.reshape(x.batch, (self.count, *shape)))

    def transpose(self, x: Any, perm: Sequence[int]) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.transpose(x, perm)
        return BatchedRows(self.p.transpose(x.batch, (0, *(axis + 1 for axis in perm))))

    def broadcast(self, x: Any, shape: Sequence[int]) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.broadcast(x, shape)
        return BatchedRows(self.p.broadcast(self._extend_rank(x, len(shape)), (self.count, *shape)))

    def slice(self, x: Any, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Any:
        if not isinstance(x, BatchedRows):
            return self.p.slice(x, starts, steps, extents)
        return BatchedRows(self.p.slice(x.batch, (0, *starts), (1, *steps), (self.count, *extents)))

    def slice_at(self, x: Any, axis: int, start: Any, end: Any) -> Any:
        if isinstance(start, BatchedRows) or isinstance(end, BatchedRows):
            raise NoNativeKernel
        if not isinstance(x, BatchedRows):
            return self.p.slice_at(x, axis, start, end)
        return BatchedRows(self.p.slice_at(x.batch, axis + 1, start, end))

    def assemble(
        self, shape: Sequence[int], dtype: np.dtype[Any], pieces: Sequence[tuple[Any, Sequence[int]]], fill: Any = None
    ) -> Any:
        if not any(isinstance(piece, BatchedRows) for piece, _ in pieces):
            return self.p.assemble(shape, dtype, pieces, fill)
        batched = [(self._full_batch(piece), (0, *starts)) for piece, starts in pieces]
        return BatchedRows(self.p.assemble((self.count, *shape), dtype, batched, fill))

    def gather(self, x: Any, indices: Any, axis: int) -> Any:
        if not isinstance(indices, BatchedRows):
            return (
                BatchedRows(self.p.gather(x.batch, indices, axis + 1))
                if isinstance(x, BatchedRows)
                else self.p.gather(x, indices, axis)
            )
        if isinstance(x, BatchedRows):
            raise NoNativeKernel
        gathered = self.p.gather(x, indices.batch, axis)
        if axis == 0:
            return BatchedRows(gathered)
        return BatchedRows(self.p.transpose(gathered, (axis, *range(axis), *range(axis + 1, len(gathered.shape)))))

    def call(self, routine: RoutineCall, inputs: Sequence[Any]) -> Any:
        if not any(isinstance(x, BatchedRows) for x in inputs):
            return self.p.call(routine, inputs)
        if any(isinstance(x, BatchedRows) and k not in routine.rows for k, x in enumerate(inputs)):
            raise NoNativeKernel
        arguments = [self._full_batch(x) if k in routine.rows else x for k, x in enumerate(inputs)]
        shapes = [((self.count, *shape), dtype) for shape, dtype in routine.outputs]
        count, *others = routine.params
        batched = replace(routine, outputs=shapes, params=(self.count * count, *others))
        return tuple(map(BatchedRows, self.p.call(batched, arguments)))

    def constant(self, array: Array) -> Any:
        return self.p.constant(array)

    def constant_in_layout(self, x: Any, layout: Callable[[Array], Array]) -> Any:
        return None if isinstance(x, BatchedRows) else self.p.constant_in_layout(x, layout)

    def integers(self, x: Any) -> tuple[int, ...]:
        if isinstance(x, BatchedRows):
            raise NoNativeKernel
        values: tuple[int, ...] = self.p.integers(x)
        return values

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        return self.p.numbers(values, shape, dtype)

    def value(self, x: Any) -> Array:
        if isinstance(x, BatchedRows):
            raise NoNativeKernel
        numbers: Array = self.p.value(x)
        return numbers
