"""Primitives on buffers, which emit kernel calls instead of computing.

This class covers all that depend only on dtypes, shapes and constants: kernel selection, output memory, loop plan.
Views (reshape, transpose, slices, broadcasting) are free: the next call uses their strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import kernel as kernels
from ..kernels import loop_nest
from ..kernels.strided_iteration import broadcast_shapes, plan_loops, stride_along
from ..kernels.symbolic_extents import (
    SymbolicExtent,
    any_symbolic,
    approximate_quotient,
    current_extent,
    symbolic_or_int,
)
from ..ops import ufunc_kernels
from ..ops.eager import EagerPrimitives
from ..ops.primitive_types import Elementwise, NoNativeKernel, RoutineCall
from ..ops.ufunc_kernels import IDENTITY, row_major_strides, shapes_and_strides
from ..ops.weight_packing import cached_layout, fits_packing_limit, is_packable, packing_for_rows
from .binding_result import OBJECT_DTYPE, Buffer, CallSpec, DynamicExtentBuffer, SequenceBuffer, Shape, VaryingIntegers

_EAGER = EagerPrimitives()
#: A piece of an assembled result: the tensor and its start index.
Piece = tuple[Buffer, Sequence[int]]
#: Kernel parameter for the storage type of packed weights, by item size.
_PANEL_STORAGE_CODES = {4: 1, 2: 2, 1: 3}
#: Allocation limit for results with data-dependent shape; larger ones are computed in Python.
MAX_DYNAMIC_RESULT_BYTES = 1 << 28


class CallEmitter:
    """Implements the data-independent :class:`~..ops.eager.EagerPrimitives` on buffers."""

    emits = True

    def __init__(self) -> None:
        self.calls: list[CallSpec] = []
        self.temps: list[Array | int | VaryingIntegers] = []
        self.packed: dict[Any, Buffer] = {}
        self.cost = 5

    # -- memory

    def _allocate(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
        shape = tuple(map(symbolic_or_int, shape))
        return self._add_temp(math.prod(shape) * dtype.itemsize, shape, dtype)

    def _add_temp(
        self, memory: Array | int | VaryingIntegers, shape: Shape, dtype: np.dtype[Any], known: Array | None = None
    ) -> Buffer:
        self.temps.append(memory)
        return Buffer("temp", len(self.temps) - 1, dtype, shape, row_major_strides(shape, dtype.itemsize), known=known)

    def emit_copy(self, x: Buffer) -> Buffer:
        out = self._allocate(x.shape, x.dtype)
        self.emit_elementwise(ufunc_kernels.copy_kernel(x.dtype), (x,), out)
        return out

    def _as_contiguous(self, x: Buffer) -> Buffer:
        return x if x.contiguous else self.emit_copy(x)

    # -- calls

    def emit_elementwise(self, kernel: kernels.Kernel, inputs: Sequence[Buffer], out: Buffer) -> None:
        """Emit one N-dimensional call; the inputs broadcast to ``out``, whose strides may be 0 (reductions)."""
        shapes = [x.shape for x in (out, *inputs)]
        if math.prod(out.shape) == 0 and all(0 in shape for shape in shapes):
            return
        shape = broadcast_shapes(*shapes)
        if 0 in shape:
            return
        buffers = (*inputs, out)
        self.cost += 5 + approximate_quotient(math.prod(shape), 2)
        self.calls.append(
            CallSpec(kernel, buffers, *plan_loops(shape, shapes_and_strides(buffers), kernel.short_row_itemsize))
        )

    # -- elements

    def map(self, function: Elementwise, *inputs: Buffer) -> Buffer:
        kernel = _require_kernel(ufunc_kernels.elementwise_kernel(function, tuple([x.dtype for x in inputs])))
        shape = broadcast_shapes(*[x.shape for x in inputs])
        if not kernel.exact and not ufunc_kernels.has_contiguous_steps(
            plan_loops(shape, shapes_and_strides(inputs))[1], inputs
        ):
            inputs = tuple(map(self._as_contiguous, inputs))
        out = self._allocate(shape, kernel.out)
        self.emit_elementwise(kernel, inputs, out)
        return out

    def where(self, condition: Buffer, a: Buffer, b: Buffer) -> Buffer:
        if condition.dtype != np.bool_ or a.dtype != b.dtype or a.dtype.hasobject:
            raise NoNativeKernel
        out = self._allocate(broadcast_shapes(condition.shape, a.shape, b.shape), a.dtype)
        self.emit_elementwise(ufunc_kernels.where_kernel(a.dtype), (condition, a, b), out)
        return out

    def cast(self, x: Buffer, dtype: np.dtype[Any]) -> Buffer:
        if x.dtype == dtype:
            return x
        if x.known is not None:  # convert constants at bind time
            return self.constant(_EAGER.cast(x.known, dtype))
        kernel = _require_kernel(ufunc_kernels.cast_kernel(x.dtype, dtype))
        out = self._allocate(x.shape, dtype)
        self.emit_elementwise(kernel, (x,), out)
        return out

    def reduce(self, ufunc: np.ufunc, x: Buffer, axes: Sequence[int], keepdims: bool) -> Buffer:
        if not axes:
            return self.emit_copy(x)
        kernel = _require_kernel(ufunc_kernels.reduction_kernel(ufunc, x.dtype))
        kept_shape = tuple(1 if d in axes else extent for d, extent in enumerate(x.shape))
        out = self._allocate(kept_shape, x.dtype)
        if ufunc in IDENTITY:
            start = self.constant(np.array(IDENTITY[ufunc](x.dtype), x.dtype))
        elif x.size:  # the first element may be counted twice
            start = self.slice(x, [0] * x.ndim, [1] * x.ndim, kept_shape)
        else:
            raise NoNativeKernel
        self.emit_elementwise(ufunc_kernels.copy_kernel(x.dtype), (start,), out)
        broadcast_out = out.view(x.shape, ufunc_kernels.reduction_strides(out, axes))
        if x.size:
            self.emit_elementwise(kernel, (broadcast_out, x), broadcast_out)
        return out if keepdims else self.reshape(out, [e for d, e in enumerate(x.shape) if d not in axes])

    def accumulate(self, ufunc: np.ufunc, x: Buffer, axis: int) -> Buffer:
        kernel = _require_kernel(ufunc_kernels.accumulate_kernel(ufunc, x.dtype))
        out = self.emit_copy(x)
        if x.size == 0 or x.shape[axis] == 1:
            return out
        successors = out.view(out.shape, out.strides, out.strides[axis])
        self.cost += x.size * 2
        self.calls.append(CallSpec(kernel, (out, successors, successors), *ufunc_kernels.plan_accumulate(out, axis)))
        return out

    def arg_extreme(self, which: str, x: Buffer, axis: int, last: bool) -> Buffer:
        if not ufunc_kernels.supports_arg_reduction(x):
            raise NoNativeKernel
        x = self._as_contiguous(x)
        out = self._allocate(tuple(1 if d == axis else e for d, e in enumerate(x.shape)), np.dtype(np.int64))
        self.cost += x.size * 2
        extra = ufunc_kernels.arg_reduction_params(which, x, axis, last)
        self.calls.append(CallSpec(ufunc_kernels.driver_kernel("arg", out.dtype), (x, out), extra=extra))
        return out

    # -- products

    def matmul(self, a: Buffer, b: Buffer) -> Buffer:
        if a.ndim == 0 or b.ndim == 0:
            raise ValueError("matmul needs inputs of rank 1 or more")
        a2 = self.reshape(a, (1, *a.shape)) if a.ndim == 1 else a
        b2 = self.reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
        shape = ufunc_kernels.product_shape(a2, b2)
        kernel = _require_kernel(ufunc_kernels.product_kernel(a.dtype, b.dtype))
        if (
            b2.known is not None
            and b2.strides[-2] == b2.dtype.itemsize
            and loop_nest.transposes_columns(kernel, a2.shape[-2], *b2.shape[-2:])
        ):
            b2 = self.constant(b2.known)
        out = self._allocate(shape, kernel.out)
        if out.size:
            self.cost += 20 + approximate_quotient(out.size * a2.shape[-1], 8)
            self.calls.append(CallSpec(kernel, (a2, b2, out), *ufunc_kernels.plan_product(a2, b2, out)))
        return self.reshape(out, shape[:-2] + (shape[-2:-1] if a.ndim > 1 else ()) + (shape[-1:] if b.ndim > 1 else ()))

    def packed_matmul(self, a: Buffer, b: Buffer, start: Buffer | None = None) -> Buffer:
        if not is_packable(a, b):
            result = self.matmul(a, b)
            return result if start is None else self.map(np.add, result, start)
        k, n = b.shape
        a = self._as_contiguous(a)
        packed = None if b.known is None else self._packed_weights(b, b.known, current_extent(a.size) // k)
        storage_code = 0 if packed is None else _PANEL_STORAGE_CODES[packed.dtype.itemsize]
        b = self._as_contiguous(b) if packed is None else packed
        out = self._allocate((*a.shape[:-1], n), a.dtype)
        self.cost += 20 + approximate_quotient(a.size * n, 16)
        kernel = ufunc_kernels.driver_kernel("panels", a.dtype)
        step = 0
        if start is not None:
            start, step = self._uniform_rows(self.broadcast(start, out.shape))
        buffers = (a, b, out) if start is None else (a, b, start, out)
        self.calls.append(CallSpec(kernel, buffers, (a.size // k, k, n), extra=(storage_code, step)))
        return out

    def _uniform_rows(self, x: Buffer) -> tuple[Buffer, int]:
        """Rows along the last axis and their stride in elements; a copy if not uniform."""
        size, outer_axes = x.dtype.itemsize, [k for k, extent in enumerate(x.shape[:-1]) if extent != 1]
        if len(outer_axes) > 1 or x.strides[-1] != size or any(x.strides[k] % size for k in outer_axes):
            x = self._as_contiguous(x)
            return x, x.shape[-1]
        return x, x.strides[outer_axes[0]] // size if outer_axes else 0

    def _packed_weights(self, b: Buffer, weights: Array, rows: int) -> Buffer | None:
        """Packed weights, cached so that single iterations and batches share them; None: there are too many."""
        layout = packing_for_rows(rows)
        if b.contiguous and not fits_packing_limit(weights, layout):
            return None
        key = (b.kind, b.index, b.offset, b.shape, b.strides, layout)
        if key not in self.packed:
            array = cached_layout(weights, layout)
            self.temps.append(array)
            self.packed[key] = Buffer("temp", len(self.temps) - 1, array.dtype, array.shape, array.strides)
        return self.packed[key]

    # -- views

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        shape = tuple(symbolic_or_int(extent) for extent in shape)
        if math.prod(shape) != x.size:
            raise ValueError(f"cannot reshape {list(x.shape)} into {list(shape)}")
        x = self._as_contiguous(x)
        known = None if x.known is None else x.known.reshape(shape)
        return x.view(shape, row_major_strides(shape, x.dtype.itemsize), known=known)

    def transpose(self, x: Buffer, perm: Sequence[int]) -> Buffer:
        if sorted(perm) != list(range(x.ndim)):
            raise ValueError(f"{list(perm)} is not a permutation of the axes of rank {x.ndim}")
        known = None if x.known is None else x.known.transpose(tuple(perm))
        return x.view(tuple(x.shape[d] for d in perm), tuple(x.strides[d] for d in perm), known=known)

    def broadcast(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        shape = tuple(symbolic_or_int(extent) for extent in shape)
        if broadcast_shapes(x.shape, shape) != shape:
            raise ValueError(f"cannot broadcast {list(x.shape)} to {list(shape)}")
        strides = tuple(stride_along(x.shape, x.strides, d - len(shape)) for d in range(len(shape)))
        # A copy of the elements in the present shape would pin a varying one.
        known = None if x.known is None or any_symbolic(shape) else np.broadcast_to(x.known, shape)
        return x.view(shape, strides, known=known)

    def slice(self, x: Buffer, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Buffer:
        offset = 0
        if 0 not in extents:
            for start, step, extent, length in zip(starts, steps, extents, x.shape, strict=True):
                last = start + step * (extent - 1)
                if start < 0 or start >= length or last < 0 or last >= length:
                    raise IndexError(f"a part of shape {[*extents]} from {[*starts]} lies outside of {[*x.shape]}")
            offset = sum(symbolic_or_int(s) * stride for s, stride in zip(starts, x.strides, strict=True))
        known = None if x.known is None else _EAGER.slice(x.known, starts, steps, extents)
        strides = tuple(int(step) * stride for step, stride in zip(steps, x.strides, strict=True))
        shape = tuple(symbolic_or_int(e) for e in extents)
        return x.view(shape, _canonical_strides(shape, strides, x.dtype.itemsize), offset, known)

    def _slice_along(self, x: Buffer, axis: int, start: int, end: int) -> Buffer:
        length = x.shape[axis]
        first, stop = clip_index(start, length), clip_index(end, length)
        shape = tuple(max(stop - first, 0) if d == axis else e for d, e in enumerate(x.shape))
        return self.slice(x, [first if d == axis else 0 for d in range(x.ndim)], [1] * x.ndim, shape)

    # -- pieces

    def assemble(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        pieces: Sequence[Piece],
        fill: Any = None,
    ) -> Buffer:
        out, pieces = self._assembly_target(shape, dtype, pieces)
        copy = ufunc_kernels.copy_kernel(dtype)
        if fill is not None:
            value = self.constant(np.array(fill, dtype))
            # Fill only around a single piece: 3x faster, with typed fills, for a border around 256x256.
            fill_blocks = [((0,) * out.ndim, out.shape)]
            if len(pieces) == 1:
                fill_blocks = _complement_blocks(out.shape, pieces[0][1], pieces[0][0].shape)
            for first, extents in fill_blocks:
                self.emit_elementwise(copy, (value,), self.slice(out, first, [1] * out.ndim, extents))
        for piece, starts in pieces:
            if piece.dtype != dtype:
                raise NoNativeKernel
            if piece.size:
                self.emit_elementwise(copy, (piece,), self.slice(out, starts, [1] * out.ndim, piece.shape))
        return out

    def _assembly_target(
        self, shape: Sequence[int], dtype: np.dtype[Any], pieces: Sequence[Piece]
    ) -> tuple[Buffer, Sequence[Piece]]:
        """The target buffer, and the pieces that still have to be copied."""
        return self._allocate(shape, dtype), pieces

    def gather(self, x: Buffer, indices: Buffer, axis: int) -> Buffer:
        if indices.dtype.kind != "i" or indices.dtype.itemsize < 4:
            raise NoNativeKernel
        if indices.known is not None and indices.size == 1:
            return self._constant_index_row(x, int(indices.known.reshape(())), axis, indices.shape)
        x, indices = self._as_contiguous(x), self._as_contiguous(indices)
        out = self._allocate((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
        if indices.size and math.prod(x.shape[:axis]):
            block = math.prod(x.shape[axis + 1 :]) * x.dtype.itemsize
            extra = (math.prod(x.shape[:axis]), x.shape[axis], block, indices.size, indices.dtype.itemsize)
            self.cost += 10 + out.size
            kernel = ufunc_kernels.driver_kernel("gather", x.dtype)
            self.calls.append(CallSpec(kernel, (x, indices, out), extra=extra))
        return out

    def _constant_index_row(self, x: Buffer, index: int, axis: int, shape: Shape) -> Buffer:
        """The row of a constant index, as a view; ``shape``: the index shape, all ones."""
        length = x.shape[axis]
        if not -length <= index < length:
            raise NoNativeKernel  # Python raises the error when it runs
        first = index + length if index < 0 else index
        row = self._slice_along(x, axis, first, first + 1)
        shape = (*row.shape[:axis], *shape, *row.shape[axis + 1 :])
        repeated = row.strides[axis : axis + 1] * (len(shape) - x.ndim + 1)
        strides = (*row.strides[:axis], *repeated, *row.strides[axis + 1 :])
        known = None if row.known is None else row.known.reshape(shape)
        return row.view(shape, _canonical_strides(shape, strides, x.dtype.itemsize), known=known)

    # -- whole tensors

    def call(self, routine: RoutineCall, inputs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        if any(x.dtype.hasobject for x in inputs):
            raise NoNativeKernel
        strided = [
            x if ufunc_kernels.has_contiguous_rows(x) else self.emit_copy(x) for x in inputs[: routine.strided_inputs]
        ]
        arguments = [*strided, *(self._as_contiguous(x) for x in inputs[routine.strided_inputs :])]
        results = tuple([self._allocate(shape, dtype) for shape, dtype in routine.outputs])
        growing_axes, scratch = routine.growing_axes, routine.scratch_bytes
        if growing_axes and any(
            size > MAX_DYNAMIC_RESULT_BYTES for size in (scratch, *(x.size * x.dtype.itemsize for x in results))
        ):
            raise NoNativeKernel
        count = [self._allocate((), np.dtype(np.int64))] if growing_axes else []
        memory = [self._allocate((scratch,), np.dtype(np.uint8))] if scratch else []
        self.cost += 20 + sum(approximate_quotient(x.size, 1) for x in (*arguments, *results))
        buffers = (*arguments, *results, *count, *memory)
        kernel, steps = ufunc_kernels.routine_kernel(routine.name), ufunc_kernels.row_strides(strided)
        self.calls.append(CallSpec(kernel, buffers, steps=steps, extra=tuple(routine.params)))
        if growing_axes:
            pairs = zip(results, growing_axes, strict=True)
            return tuple([x if axis < 0 else _with_dynamic_extent(x, axis, count[0].index) for x, axis in pairs])
        return results

    def sequence(
        self,
        name: str,
        inputs: Sequence[Buffer],
        output: tuple[Sequence[int], np.dtype[Any]] | None = None,
        numbers: Sequence[int] = (),
    ) -> Buffer:
        """Call a function of kernels/routines/sequences, only if ``emits``: in Python a sequence is a list.
        ``output``: shape and dtype of a tensor result; None: the result is a sequence."""
        arguments = [x if isinstance(x, SequenceBuffer) else self._as_contiguous(x) for x in inputs]
        # Operations on a temporary sequence of the same node work in place.
        temporaries = (x for x in arguments if isinstance(x, SequenceBuffer) and x.kind == "temp")
        result: Buffer | None = next(temporaries, None)
        if output is not None:
            result = self._allocate(*output)
        elif result is None:
            self.temps.append(np.dtype(np.intp).itemsize)
            result = SequenceBuffer("temp", len(self.temps) - 1, OBJECT_DTYPE, (), ())
        self.cost += 200
        self.calls.append(
            CallSpec(ufunc_kernels.routine_kernel(f"sequences.{name}"), (*arguments, result), extra=tuple(numbers))
        )
        return result

    # -- constants

    def constant(self, array: Array | SymbolicExtent) -> Buffer:
        if isinstance(array, SymbolicExtent):
            return self.numbers((array,), (), np.dtype(np.int64))
        if array.dtype.hasobject:
            raise NoNativeKernel
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        return self._add_temp(array, array.shape, array.dtype, array)

    def constant_in_layout(self, x: Buffer, layout: Callable[[Array], Array]) -> Buffer | None:
        return None if x.known is None else self.constant(cached_layout(x.known, layout))

    def numbers(self, values: Sequence[Any], shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
        if not any_symbolic(values):
            return self.constant(np.array(values, dtype).reshape(tuple(shape)))
        memory = VaryingIntegers(tuple(values))
        return self.cast(self._add_temp(memory, tuple(shape), np.dtype(np.int64)), dtype)


def _require_kernel(kernel: kernels.Kernel | None) -> kernels.Kernel:
    if kernel is None:
        raise NoNativeKernel
    return kernel


def _with_dynamic_extent(x: Buffer, axis: int, count: int) -> DynamicExtentBuffer:
    return DynamicExtentBuffer(x.kind, x.index, x.dtype, x.shape, x.strides, axis=axis, count=count)


def _canonical_strides(shape: Shape, strides: Shape, itemsize: int) -> Shape:
    """Contiguous strides if the given ones differ only in axes of extent 1, whose strides are irrelevant."""
    if any_symbolic(shape):
        return strides
    contiguous = row_major_strides(shape, itemsize)
    return contiguous if all(e == 1 or a == b for e, a, b in zip(shape, strides, contiguous, strict=True)) else strides


def clip_index(index: int, length: int) -> int:
    """Clamp a slice bound as Python does."""
    return min(max(index + length if index < 0 else index, 0), length)


def _complement_blocks(shape: Shape, starts: Sequence[int], extents: Sequence[int]) -> list[tuple[Shape, Shape]]:
    """The complement of a block: starts and extents of disjoint blocks."""
    blocks = []
    low, high = [0] * len(shape), list(shape)
    for d, (start, extent) in enumerate(zip(starts, extents, strict=True)):
        for a, b in ((0, start), (start + extent, shape[d])):
            if a < b:
                first, end = [*low[:d], a, *low[d + 1 :]], [*high[:d], b, *high[d + 1 :]]
                blocks.append((tuple(first), tuple(e - f for f, e in zip(first, end, strict=True))))
        low[d], high[d] = start, start + extent
    return blocks
