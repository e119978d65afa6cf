"""Many iterations at once: the primitives over tensors that have one row an iteration.

An operator's function that runs on :class:`Batched` does for all rows together what it does for one iteration on the
primitives beneath. A product of rows with a matrix becomes one product of larger matrices; everything else is the same
arithmetic on an axis more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Array
from ..ops.primitives import Elementwise, NotNative, Routine
from ..record import record

#: A product with fewer weights than this takes about as long as finding its row.
LEAST_WEIGHTS = 2048


@record(frozen=True, eq=False)
class Rows:
    """A tensor as one iteration sees it; ``all`` has one more axis, the first: the iterations."""

    all: Any

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.all.shape[1:]
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.all.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Batched:
    """Implements :class:`~..ops.primitives.Primitives` on :class:`Rows` and, beside them, on tensors that are the same
    in every iteration; over other primitives.

    ``pays``: a product worth it was met.
    """

    def __init__(self, p: Any, count: int) -> None:
        self.p = p
        self.count = count
        self.pays = False
        self.emits: bool = p.emits

    # -- helpers

    def _spread(self, x: Any, ndim: int) -> Any:
        """An operand of an elementwise operation whose rows have ``ndim`` axes: rows get axes of length 1 in front."""
        if not isinstance(x, Rows):
            return x
        if x.ndim == ndim:
            return x.all
        return self.p.reshape(x.all, (self.count, *(1,) * (ndim - x.ndim), *x.shape))

    def _all(self, x: Any) -> Any:
        """A tensor of each iteration, also where it is the same in all."""
        return x.all if isinstance(x, Rows) else self.p.broadcast(x, (self.count, *x.shape))

    # -- primitives

    def map(self, function: Elementwise, *inputs: Any) -> Any:
        if not any(isinstance(x, Rows) for x in inputs):
            return self.p.map(function, *inputs)
        ndim = max(len(x.shape) for x in inputs)
        return Rows(self.p.map(function, *(self._spread(x, ndim) for x in inputs)))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        inputs = (condition, a, b)
        if not any(isinstance(x, Rows) for x in inputs):
            return self.p.where(*inputs)
        ndim = max(len(x.shape) for x in inputs)
        return Rows(self.p.where(*(self._spread(x, ndim) for x in inputs)))

    def reduce(self, ufunc: np.ufunc, x: Any, axes: Sequence[int], keepdims: bool) -> Any:
        if not isinstance(x, Rows):
            return self.p.reduce(ufunc, x, axes, keepdims)
        return Rows(self.p.reduce(ufunc, x.all, [axis + 1 for axis in axes], keepdims))

    def accumulate(self, ufunc: np.ufunc, x: Any, axis: int) -> Any:
        if not isinstance(x, Rows):
            return self.p.accumulate(ufunc, x, axis)
        return Rows(self.p.accumulate(ufunc, x.all, axis + 1))

    def arg(self, which: str, x: Any, axis: int, last: bool) -> Any:
        if not isinstance(x, Rows):
            return self.p.arg(which, x, axis, last)
        return Rows(self.p.arg(which, x.all, axis + 1, last))

    def matmul(self, a: Any, b: Any) -> Any:
        return self._product(self.p.matmul, a, b)

    def weighted(self, a: Any, b: Any, start: Any = None) -> Any:
        if start is None or not isinstance(a, Rows):
            return self._product(self.p.weighted, a, b) if start is None else self.p.weighted(a, b, start)
        shape = (*a.shape[:-1], b.shape[-1])
        if isinstance(start, Rows) or math.prod(start.shape[:-1]) != 1:
            start = self.broadcast(start if isinstance(start, Rows) else Rows(self._as_rows(start)), shape)
            start = self.p.reshape(start.all, (self.count * math.prod(shape[:-1]), shape[-1]))
        return self._product(lambda a, b: self.p.weighted(a, b, start), a, b)

    def _as_rows(self, x: Any) -> Any:
        """What is the same in every iteration, once for each."""
        return self.p.broadcast(x, (self.count, *x.shape))

    def _product(self, product: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        if not isinstance(a, Rows) and not isinstance(b, Rows):
            return product(a, b)
        if not isinstance(a, Rows) or isinstance(b, Rows) or a.ndim == 0 or len(b.shape) != 2:
            raise NotNative
        k, n = b.shape
        if a.shape[-1] != k:
            raise ValueError(f"matmul: {list(a.shape)} and {list(b.shape)} do not fit ({a.shape[-1]} and {k})")
        if k * n >= LEAST_WEIGHTS and a.dtype.kind == "f" and a.dtype.itemsize >= 4:
            self.pays = True
        flat = product(self.p.reshape(a.all, (self.count * math.prod(a.shape[:-1]), k)), b)
        return Rows(self.p.reshape(flat, (self.count, *a.shape[:-1], n)))

    def cast(self, x: Any, dtype: np.dtype[Any]) -> Any:
        return Rows(self.p.cast(x.all, dtype)) if isinstance(x, Rows) else self.p.cast(x, dtype)

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        if not isinstance(x, Rows):
            return self.p.reshape(x, shape)
        return Rows(self.p.reshape(x.all, (self.count, *shape)))

    def transpose(self, x: Any, perm: Sequence[int]) -> Any:
        if not isinstance(x, Rows):
            return self.p.transpose(x, perm)
        return Rows(self.p.transpose(x.all, (0, *(axis + 1 for axis in perm))))

    def broadcast(self, x: Any, shape: Sequence[int]) -> Any:
        if not isinstance(x, Rows):
            return self.p.broadcast(x, shape)
        return Rows(self.p.broadcast(self._spread(x, len(shape)), (self.count, *shape)))

    def slice(self, x: Any, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Any:
        if not isinstance(x, Rows):
            return self.p.slice(x, starts, steps, extents)
        return Rows(self.p.slice(x.all, (0, *starts), (1, *steps), (self.count, *extents)))

    def slice_at(self, x: Any, axis: int, start: Any, end: Any) -> Any:
        if isinstance(start, Rows) or isinstance(end, Rows):
            raise NotNative
        if not isinstance(x, Rows):
            return self.p.slice_at(x, axis, start, end)
        return Rows(self.p.slice_at(x.all, axis + 1, start, end))

    def assemble(
        self, shape: Sequence[int], dtype: np.dtype[Any], pieces: Sequence[tuple[Any, Sequence[int]]], fill: Any = None
    ) -> Any:
        if not any(isinstance(piece, Rows) for piece, _ in pieces):
            return self.p.assemble(shape, dtype, pieces, fill)
        spread = [(self._all(piece), (0, *starts)) for piece, starts in pieces]
        return Rows(self.p.assemble((self.count, *shape), dtype, spread, fill))

    def gather(self, x: Any, indices: Any, axis: int) -> Any:
        if not isinstance(indices, Rows):
            return (
                Rows(self.p.gather(x.all, indices, axis + 1))
                if isinstance(x, Rows)
                else self.p.gather(x, indices, axis)
            )
        if isinstance(x, Rows):
            raise NotNative
        found = self.p.gather(x, indices.all, axis)
        if axis == 0:
            return Rows(found)
        return Rows(self.p.transpose(found, (axis, *range(axis), *range(axis + 1, len(found.shape)))))

    def call(self, routine: Routine, inputs: Sequence[Any]) -> Any:
        if not any(isinstance(x, Rows) for x in inputs):
            return self.p.call(routine, inputs)
        if any(isinstance(x, Rows) and k not in routine.rows for k, x in enumerate(inputs)):
            raise NotNative
        spread = [self._all(x) if k in routine.rows else x for k, x in enumerate(inputs)]
        shapes = [((self.count, *shape), dtype) for shape, dtype in routine.outputs]
        count, *others = routine.numbers
        batched = replace(routine, outputs=shapes, numbers=(self.count * count, *others))
        return tuple(map(Rows, self.p.call(batched, spread)))

    def constant(self, array: Array) -> Any:
        return self.p.constant(array)

    def prepared(self, x: Any, layout: Callable[[Array], Array]) -> Any:
        return None if isinstance(x, Rows) else self.p.prepared(x, layout)

    def integers(self, x: Any) -> tuple[int, ...]:
        if isinstance(x, Rows):
            raise NotNative
        found: tuple[int, ...] = self.p.integers(x)
        return found

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        return self.p.numbers(values, shape, dtype)

    def value(self, x: Any) -> Array:
        if isinstance(x, Rows):
            raise NotNative
        numbers: Array = self.p.value(x)
        return numbers
