"""Eager evaluation of the primitives on arrays: the reference semantics of operators, used by Python instructions.

Primitives with a kernel use it with the loop order of the binder, so that a node gives identical bits in Python and
natively. NumPy computes on types without kernels: strings, float8, int4 and others.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from ..kernels import loop_nest
from ..kernels.strided_iteration import plan_loops
from . import ufunc_kernels
from .primitive_types import Elementwise, IterationFunction, NativeLoop, RoutineCall, View
from .weight_packing import is_packable

_ACCUMULATOR_INT = np.dtype(np.int64)


class EagerPrimitives:
    """The primitives on NumPy arrays. Shapes are tuples of int; ``axis`` and ``axes`` are non-negative.

    Implementations on buffers have the same methods, and ``sequence`` (``plan.call_emitter``).
    """

    #: True: calls are recorded at bind time instead of computed.
    emits = False

    def map(self, function: Elementwise, *inputs: Array) -> Array:
        """Elementwise with NumPy broadcasting. The input dtypes match the function's loop."""
        kernel = ufunc_kernels.elementwise_kernel(function, tuple([x.dtype for x in inputs]))
        if kernel is None:
            return _map_without_kernel(function, inputs)
        result = ufunc_kernels.run_elementwise(kernel, *inputs)
        if result is None:
            raise ZeroDivisionError(function.failure if isinstance(function, NativeLoop) else "division by zero")
        return result

    def reduce(self, ufunc: np.ufunc, x: Array, axes: Sequence[int], keepdims: bool) -> Array:
        """Reduce over ``axes`` by a binary ufunc, preserving the dtype. Empty ``axes``: a copy."""
        if not axes:
            return np.array(x, order="C")
        kernel = ufunc_kernels.reduction_kernel(ufunc, x.dtype)
        if kernel is None or (not x.size and ufunc in ufunc_kernels.IDEMPOTENT):
            return np.asarray(ufunc.reduce(x, axis=tuple(axes), keepdims=keepdims, dtype=x.dtype))
        x = loop_nest.aligned_array(x)
        out = np.empty([1 if d in axes else extent for d, extent in enumerate(x.shape)], x.dtype)
        if ufunc in ufunc_kernels.IDENTITY:
            out.fill(ufunc_kernels.IDENTITY[ufunc](x.dtype))
        else:
            out[...] = x[tuple([slice(extent) for extent in out.shape])]
        if x.size:
            reduced = (x.shape, ufunc_kernels.reduction_strides(out, axes))
            loop_nest.run_kernel(kernel, (out, x, out), *plan_loops(x.shape, (reduced, (x.shape, x.strides), reduced)))
        return out if keepdims else out.reshape([extent for d, extent in enumerate(x.shape) if d not in axes])

    def accumulate(self, ufunc: np.ufunc, x: Array, axis: int) -> Array:
        """Accumulate along ``axis``, as ``ufunc.accumulate``, preserving the dtype."""
        kernel = ufunc_kernels.accumulate_kernel(ufunc, x.dtype)
        if kernel is None:
            return np.asarray(ufunc.accumulate(x, axis=axis, dtype=x.dtype))
        out = np.array(x, order="C")
        if out.size and out.shape[axis] > 1:
            successors = out[(*(slice(None),) * axis, slice(1, None))]
            loop_nest.run_kernel(kernel, (out, successors, successors), *ufunc_kernels.plan_accumulate(out, axis))
        return out

    def arg_extreme(self, which: str, x: Array, axis: int, last: bool) -> Array:
        """The int64 index of the maximum or minimum (``which``: "max" or "min") along ``axis`` (kept with size 1);
        ties: first, or last. A NaN is the extreme, as in NumPy."""
        if ufunc_kernels.supports_arg_reduction(x):
            out = np.empty([1 if d == axis else extent for d, extent in enumerate(x.shape)], np.int64)
            kernel = ufunc_kernels.driver_kernel("arg", out.dtype)
            loop_nest.run_kernel(
                kernel, (_to_row_major(x), out), extra=ufunc_kernels.arg_reduction_params(which, x, axis, last)
            )
            return out
        find = np.argmax if which == "max" else np.argmin
        if not last:
            return np.asarray(find(x, axis=axis, keepdims=True), dtype=np.int64)
        flipped = np.asarray(find(np.flip(x, axis), axis=axis, keepdims=True), dtype=np.int64)
        return np.asarray(x.shape[axis] - 1 - flipped)

    def matmul(self, a: Array, b: Array) -> Array:
        """NumPy's matmul for ranks from 1 on; batch axes broadcast."""
        kernel = ufunc_kernels.product_kernel(a.dtype, b.dtype)
        if kernel is None or not a.ndim or not b.ndim:
            return np.asarray(np.matmul(a, b))
        a2, b2 = loop_nest.aligned_array(a), loop_nest.aligned_array(b)
        if a.ndim == 1:
            a2 = _to_row_major(a2).reshape(1, -1)
        if b.ndim == 1:
            b2 = _to_row_major(b2).reshape(-1, 1)
        shape = ufunc_kernels.product_shape(a2, b2)
        out = np.empty(shape, kernel.out)
        if out.size:
            loop_nest.run_kernel(kernel, (a2, b2, out), *ufunc_kernels.plan_product(a2, b2, out))
        if a.ndim > 1 and b.ndim > 1:
            return out
        return out.reshape(shape[:-2] + (shape[-2:-1] if a.ndim > 1 else ()) + (shape[-1:] if b.ndim > 1 else ()))

    def packed_matmul(self, a: Array, b: Array, start: Array | None = None) -> Array:
        """``matmul`` with a reused ``b``: sums in the order of packed_weights.h if supported, starting from ``start``,
        which broadcasts to the product."""
        if is_packable(a, b):
            return np.asarray(loop_nest.ordered_product(a, b, start))
        result = self.matmul(a, b)
        return result if start is None else self.map(np.add, result, start)

    def run_hoisted_step(
        self,
        step: IterationFunction,
        iteration: Array,
        trips: Array | None,
        sources: Sequence[tuple[Array, View]],
        others: Sequence[Array],
        conditional: bool,
    ) -> Array:
        """``step(p, parts, others)`` for an iteration of the innermost loop, where ``parts`` are its rows of the
        sources. May be computed for a batch of iterations.

        ``trips``: the trip count, if any; ``conditional``: a condition may end the loop at any iteration.
        """
        i = int(iteration.reshape(()))
        return np.asarray(step(self, [np.array(view(x)[i], order="C") for x, view in sources], others))

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        """Elementwise selection with broadcasting; ``a`` and ``b`` share a dtype."""
        if condition.dtype != np.bool_ or a.dtype != b.dtype or a.dtype.hasobject:
            return np.where(condition, a, b)
        result = ufunc_kernels.run_elementwise(ufunc_kernels.where_kernel(a.dtype), condition, a, b)
        assert result is not None
        return result

    def cast(self, x: Array, dtype: np.dtype[Any]) -> Array:
        """Convert each element as in C (float to integer truncates)."""
        if x.dtype == dtype:
            return x
        kernel = ufunc_kernels.cast_kernel(x.dtype, dtype)
        result = None if kernel is None else ufunc_kernels.run_elementwise(kernel, x)
        if result is not None:
            return result
        # Drop the imaginary part explicitly: NumPy would warn.
        return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype, order="C")

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        """Reshape in row-major order; sizes match, no -1."""
        return _to_row_major(x).reshape(tuple(shape))

    def transpose(self, x: Array, perm: Sequence[int]) -> Array:
        """Permute axes: output axis k is input axis ``perm[k]``."""
        return x.transpose(tuple(perm))

    def broadcast(self, x: Array, shape: Sequence[int]) -> Array:
        """Broadcast to exactly ``shape``, as in NumPy."""
        return np.broadcast_to(x, tuple(shape))

    def slice(self, x: Array, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Array:
        """The ``extents[k]`` elements at ``starts[k] + j * steps[k]`` along each axis k, all in bounds."""
        index: list[Any] = []
        for start, step, extent in zip(starts, steps, extents, strict=True):
            stop = start + step * extent
            index.append(slice(start, None if stop < 0 else stop, step) if extent else slice(0, 0))
        part = x[(*index, ...)]
        if part.shape != tuple(extents) and 0 not in extents:
            raise IndexError(f"a part of shape {[*extents]} from {[*starts]} lies outside of {[*x.shape]}")
        return part

    def slice_at(self, x: Array, axis: int, start: Array, end: Array) -> Array:
        """``x[start:end]`` along ``axis`` with one-element integer bounds that are read at each call; as in NumPy,
        negative ones count from the end and both are clamped."""
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
        """A new tensor with each piece at its start index, else ``fill`` (None: the pieces cover it)."""
        out = np.empty(tuple(shape), dtype) if fill is None else np.full(tuple(shape), fill, dtype)
        for piece, starts in pieces:
            # Not a generator: 2x for small pieces.
            out[tuple(map(slice, starts, map(operator.add, starts, piece.shape)))] = piece
        return out

    def gather(self, x: Array, indices: Array, axis: int) -> Array:
        """NumPy's ``take``: int32 or int64 indices of any shape; negative ones count from the end. An index out of
        bounds raises IndexError."""
        return _as_tensor(np.take(x, indices, axis=axis))

    def call(self, routine: RoutineCall, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Call a routine; it reads its inputs in row-major order, some of them by strides."""
        results = tuple([np.empty(tuple(shape), dtype) for shape, dtype in routine.outputs])
        aligned = [loop_nest.aligned_array(x) for x in inputs]
        strided = [
            x if ufunc_kernels.has_contiguous_rows(x) else _to_row_major(x) for x in aligned[: routine.strided_inputs]
        ]
        steps = ufunc_kernels.row_strides(strided)
        arrays = (*strided, *map(_to_row_major, aligned[routine.strided_inputs :]), *results)
        if routine.growing_axes:
            count = np.empty((), np.int64)
            arrays = (*arrays, count)
        if routine.scratch_bytes:
            arrays = (*arrays, np.empty(routine.scratch_bytes, np.uint8))
        kernel = ufunc_kernels.routine_kernel(routine.name)
        if not loop_nest.run_kernel(kernel, arrays, steps=steps, extra=tuple(routine.params)):
            raise ModelError(routine.failure or f"{routine.name} failed", name=routine.name)
        if routine.growing_axes:
            n, pairs = int(count), zip(results, routine.growing_axes, strict=True)
            return tuple([x if axis < 0 else _trim_axis_to_length(x, axis, n) for x, axis in pairs])
        return results

    def constant(self, array: Array) -> Array:
        """A value that depends only on attributes, shapes and dtypes."""
        return array

    def constant_in_layout(self, x: Array, layout: Callable[[Array], Array]) -> Array | None:
        """``layout`` of a constant, cached across bindings; None if ``x`` is not constant, and in eager evaluation,
        which reads it once. The caller's fallback on ``x`` must give identical bits."""
        return None

    def integers(self, x: Array) -> tuple[int, ...]:
        """The integers of a shape-like ``x`` in row-major order. They may be symbolic extents, unlike those of
        ``value``, so that growing tensors need no rebinding."""
        return tuple([int(v) for v in x.reshape(-1)])

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """A tensor of integers that depend on varying shapes."""
        return np.array(values, dtype).reshape(tuple(shape))

    def value(self, x: Array) -> Array:
        """The current data of ``x``. Kernels bound on it are rebound when it changes."""
        return x


def _to_row_major(x: Array) -> Array:
    """The array in row-major order; ``np.ascontiguousarray`` would add an axis to scalars."""
    return x if x.flags.c_contiguous else np.array(x, order="C")


def _trim_axis_to_length(x: Array, axis: int, length: int) -> Array:
    """The leading elements of an array, reshaped to ``length`` along an axis."""
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return x.reshape(-1)[: math.prod(shape)].reshape(shape).copy()


def _map_without_kernel(function: Elementwise, inputs: Sequence[Array]) -> Array:
    """Apply a function to types without native loops."""
    if not isinstance(function, NativeLoop):
        return np.asarray(function(*inputs))
    if function.python_function is not None:
        return np.asarray(function.python_function(*inputs))
    # Integers below 8 bits: overflow wraps around as in wider types.
    widened = [x.astype(_ACCUMULATOR_INT) for x in inputs]
    kernel = ufunc_kernels.elementwise_kernel(function, tuple([x.dtype for x in widened]))
    if kernel is None or any(x.dtype != inputs[0].dtype or x.dtype.kind == "f" for x in inputs):
        raise TypeError(f"{function.name} has no loop for {', '.join(x.dtype.name for x in inputs)}")
    result = ufunc_kernels.run_elementwise(kernel, *widened)
    if result is None:
        raise ZeroDivisionError(function.failure)
    return result.astype(inputs[0].dtype)


def _as_tensor(element: Any) -> Array:
    """Convert to a tensor; NumPy returns an element (NumPy scalar or str) in place of a 0-d array."""
    if isinstance(element, np.ndarray | np.generic):
        return np.asarray(element)
    tensor = np.empty((), object)
    tensor[()] = element
    return tensor
