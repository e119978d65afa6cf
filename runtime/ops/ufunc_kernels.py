"""Selection of kernels for elementwise functions, reductions and products, and their loop plans.

Shared by the binder (plan/call_emitter.py), which emits engine calls, and eager evaluation (ops/eager.py), so that
results are bit-identical wherever a node runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import kernel as kernels
from ..kernels import loop_nest
from ..kernels.strided_iteration import broadcast_shapes, plan_loops, stride_along
from .primitive_types import Elementwise, NativeLoop

Shape = tuple[int, ...]
Dtype = np.dtype[Any]
#: Outer axes that a call can have (``run_outer`` in loop_nest.pyx); NumPy's arrays may have 64 axes.
MAX_OUTER = 32

#: An accumulation goes row by row from this many elements on; a call costs about as much as eight of them.
_MIN_ACCUMULATED_ROW = 8
#: Initial values of reductions, as in NumPy.
IDENTITY: dict[np.ufunc, Callable[[Dtype], Any]] = {
    np.add: lambda dtype: 0,
    np.multiply: lambda dtype: 1,
    np.logical_and: lambda dtype: True,
    np.logical_or: lambda dtype: False,
}
#: Idempotent reductions, which start from the first element.
IDEMPOTENT = (np.maximum, np.minimum)


# ------------------------------------------------------------------ kernels


@cache
def elementwise_kernel(function: Elementwise, dtypes: tuple[Dtype, ...]) -> kernels.Kernel | None:
    """The kernel of a function for these input dtypes, or None."""
    if isinstance(function, NativeLoop):
        if any(dtype != dtypes[0] for dtype in dtypes):
            return None
        return kernels.native_loop_kernel(function.name, dtypes[0])
    if function is np.power and dtypes[0].kind in "biu":
        return None  # NumPy's integer loop raises, which needs the GIL
    return kernels.ufunc_kernel(function, dtypes)


@cache
def accumulate_kernel(ufunc: np.ufunc, dtype: Dtype) -> kernels.Kernel | None:
    """The accumulation kernel of a binary ufunc, or None if none preserves the dtype."""
    kernel = elementwise_kernel(ufunc, (dtype, dtype))
    return kernel if kernel is not None and kernel.out == dtype else None


def reduction_kernel(ufunc: np.ufunc, dtype: Dtype) -> kernels.Kernel | None:
    """The reduction kernel of a binary ufunc, or None."""
    return accumulate_kernel(ufunc, dtype) if ufunc in IDENTITY or ufunc in IDEMPOTENT else None


@cache
def product_kernel(a: Dtype, b: Dtype) -> kernels.Kernel | None:
    """The matrix product kernel, or None."""
    return kernels.ufunc_kernel(np.matmul, (a, b))


# One kernel for each combination of arguments: bindings compare kernels by identity.
cast_kernel = cache(kernels.cast_kernel)
copy_kernel = cache(kernels.copy_kernel)
where_kernel = cache(kernels.where_kernel)
driver_kernel = cache(kernels.driver_kernel)
routine_kernel = cache(kernels.routine_kernel)


def run_elementwise(kernel: kernels.Kernel, *inputs: Array) -> Array | None:
    """Run an elementwise kernel on broadcastable arrays; None if the kernel failed."""
    result: Array | None = loop_nest.map_arrays(kernel, inputs)
    if result is not NotImplemented:
        return result
    arrays = tuple(map(loop_nest.aligned_array, inputs))
    shape = broadcast_shapes(*(x.shape for x in arrays))
    out = np.empty(shape, kernel.out)
    if not out.size:
        return out
    dims, steps, outer = plan_loops(shape, shapes_and_strides((*arrays, out)), kernel.short_row_itemsize)
    if len(outer) > MAX_OUTER:
        arrays = tuple(np.broadcast_to(x, shape) for x in arrays)
    if len(outer) > MAX_OUTER or not (kernel.exact or has_contiguous_steps(steps, arrays)):
        arrays = tuple(np.array(x, order="C") for x in arrays)
        dims, steps, outer = plan_loops(shape, shapes_and_strides((*arrays, out)), kernel.short_row_itemsize)
    return out if loop_nest.run_kernel(kernel, (*arrays, out), dims, steps, outer) else None


# ------------------------------------------------------------------ loop plans from shapes and strides


def row_major_strides(shape: Sequence[int], itemsize: int) -> Shape:
    """Row-major strides in bytes."""
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def has_contiguous_rows(x: Any) -> bool:
    """Is the last axis of a buffer or an array contiguous?"""
    return bool(x.strides[-1] == x.dtype.itemsize)


def row_strides(tensors: Iterable[Any]) -> Shape:
    """The strides of buffers or arrays for all axes but the last, one after the other."""
    return tuple([stride for x in tensors for stride in x.strides[:-1]])


def shapes_and_strides(tensors: Iterable[Any]) -> list[tuple[Shape, Shape]]:
    """The shapes and strides of buffers or arrays."""
    return [(x.shape, x.strides) for x in tensors]


def has_contiguous_steps(steps: Sequence[int], arguments: Sequence[Any]) -> bool:
    """True if the inner loop reads adjacent elements or a single one.

    Only then is a kernel that is not ``exact`` bit-reproducible: NumPy's loops use other code for larger or negative
    strides.
    """
    return all(step == 0 or step == x.dtype.itemsize for step, x in zip(steps, arguments, strict=False))


def reduction_strides(out: Any, axes: Sequence[int]) -> Shape:
    """Strides of a reduction's result (with kept axes) in the loop over its input."""
    return tuple([0 if d in axes else stride for d, stride in enumerate(out.strides)])


def plan_product(a: Any, b: Any, out: Any) -> tuple[Shape, Shape, tuple[Shape, ...]]:
    """The loop plan of a batched product: the gufunc's inner loop for one matrix, and the batch axes as outer ones."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    steps = (0, 0, 0, *a.strides[-2:], *b.strides[-2:], *out.strides[-2:])
    batch_rank = len(out.shape) - 2
    outer = tuple(
        (out.shape[d], *(stride_along(x.shape, x.strides, d - batch_rank - 2) for x in (a, b, out)))
        for d in range(batch_rank)
        if out.shape[d] != 1
    )
    return (1, m, k, n), steps, outer


def product_shape(a: Any, b: Any) -> tuple[Any, ...]:
    """The shape of a batched matrix product.

    Raises:
        ValueError: the shapes do not match.
    """
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: {list(a.shape)} and {list(b.shape)} do not fit ({a.shape[-1]} and {b.shape[-2]})")
    return (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])


def plan_accumulate(out: Any, axis: int) -> tuple[Shape, Shape, tuple[Shape, ...]]:
    """The loop plan of an in-place accumulation in row-major order: out[k + 1] = function(out[k], out[k + 1]), one call
    per row of what follows the axis, or per line along it where such rows are short."""
    step = out.strides[axis]
    row = math.prod(out.shape[axis + 1 :])
    by_rows = row >= _MIN_ACCUMULATED_ROW
    outer = tuple(
        (extent, stride, stride, stride)
        for d, (extent, stride) in enumerate(zip(out.shape, out.strides, strict=True))
        if extent > 1 and (d < axis if by_rows else d != axis)
    )
    if by_rows:
        # The axis is the innermost of the outer ones, which are iterated in order.
        size = out.dtype.itemsize
        return (row,), (size, size, size), (*outer, (out.shape[axis] - 1, step, step, step))
    return (out.shape[axis] - 1,), (step, step, step), outer


def arg_reduction_params(which: str, x: Any, axis: int, last: bool) -> Shape:
    """The parameters of the driver "arg" (loop_nest.pyx)."""
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    return (ord(kernels.type_char(x.dtype)), outer, x.shape[axis], inner, int(which == "max"), int(last))


def supports_arg_reduction(x: Any) -> bool:
    """True if the driver "arg" supports a tensor."""
    return kernels.type_char(x.dtype) not in ("", "e", "E") and x.size != 0
