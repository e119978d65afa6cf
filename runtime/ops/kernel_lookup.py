"""What computes an elementwise function, a reduction or a product, and how it walks over its arguments.

The binder (plan/call_emitter.py) makes calls of it that the engine runs; in Python (ops/eager.py) the same kernels run
on arrays at once. Both ask here, so that where a node runs never changes a bit of what it gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import kernel as kernels
from ..kernels import loop_nest
from ..kernels.strided_iteration import broadcast_shapes, plan_loops, stride_along
from .primitives import Elementwise, NativeLoop

Shape = tuple[int, ...]
Dtype = np.dtype[Any]
#: Outer axes that a call can have (``run_outer`` in loop_nest.pyx); NumPy's arrays may have 64 axes.
MAX_OUTER = 32

#: What reductions start from, as NumPy's do.
IDENTITY: dict[np.ufunc, Callable[[Dtype], Any]] = {
    np.add: lambda dtype: 0,
    np.multiply: lambda dtype: 1,
    np.logical_and: lambda dtype: True,
    np.logical_or: lambda dtype: False,
}
#: What may count an element twice, and starts from the first one.
IDEMPOTENT = (np.maximum, np.minimum)


# ------------------------------------------------------------------ kernels


@cache
def elementwise_kernel(function: Elementwise, dtypes: tuple[Dtype, ...]) -> kernels.Kernel | None:
    """The kernel of a function on inputs of these dtypes; None where it has none."""
    if isinstance(function, NativeLoop):
        if any(dtype != dtypes[0] for dtype in dtypes):
            return None
        return kernels.native_loop_kernel(function.name, dtypes[0])
    if function is np.power and dtypes[0].kind in "biu":
        return None  # NumPy's integer loop raises, which needs the GIL
    return kernels.ufunc_kernel(function, dtypes)


@cache
def accumulate_kernel(ufunc: np.ufunc, dtype: Dtype) -> kernels.Kernel | None:
    """The kernel that accumulates by a ufunc of two inputs; None where there is none that keeps the dtype."""
    kernel = elementwise_kernel(ufunc, (dtype, dtype))
    return kernel if kernel is not None and kernel.out == dtype else None


def reduction_kernel(ufunc: np.ufunc, dtype: Dtype) -> kernels.Kernel | None:
    """The kernel that reduces by a ufunc of two inputs; None where there is none."""
    return accumulate_kernel(ufunc, dtype) if ufunc in IDENTITY or ufunc in IDEMPOTENT else None


@cache
def product_kernel(a: Dtype, b: Dtype) -> kernels.Kernel | None:
    """The kernel of matrix products; None where there is none."""
    return kernels.ufunc_kernel(np.matmul, (a, b))


@cache
def cast_kernel(source: Dtype, target: Dtype) -> kernels.Kernel | None:
    """The kernel that converts; None where there is none."""
    return kernels.cast_kernel(source, target)


@cache
def copy_kernel(dtype: Dtype) -> kernels.Kernel:
    """The kernel that copies elements as they are."""
    return kernels.copy_kernel(dtype)


@cache
def where_kernel(dtype: Dtype) -> kernels.Kernel:
    """The kernel that chooses between elements."""
    return kernels.where_kernel(dtype)


@cache
def driver_kernel(driver: str, dtype: Dtype) -> kernels.Kernel:
    """A kernel that is all driver."""
    return kernels.driver_kernel(driver, dtype)


@cache
def routine_kernel(name: str) -> kernels.Kernel:
    """A routine of kernels/routines, "module.name"."""
    return kernels.routine_kernel(name)


def run_elementwise(kernel: kernels.Kernel, *inputs: Array) -> Array | None:
    """What an elementwise kernel gives for arrays that broadcast; None: it could not be done."""
    result: Array | None = loop_nest.map_arrays(kernel, inputs)
    if result is not NotImplemented:
        return result
    arrays = tuple(map(loop_nest.aligned_array, inputs))
    shape = broadcast_shapes(*(x.shape for x in arrays))
    out = np.empty(shape, kernel.out)
    if not out.size:
        return out
    dims, steps, outer = plan_loops(shape, [shape_and_strides(x) for x in (*arrays, out)], kernel.short_row_itemsize)
    if len(outer) > MAX_OUTER:
        arrays = tuple(np.broadcast_to(x, shape) for x in arrays)
    if len(outer) > MAX_OUTER or not (kernel.exact or has_contiguous_steps(steps, arrays)):
        arrays = tuple(np.array(x, order="C") for x in arrays)
        dims, steps, outer = plan_loops(
            shape, [shape_and_strides(x) for x in (*arrays, out)], kernel.short_row_itemsize
        )
    return out if loop_nest.run_kernel(kernel, (*arrays, out), dims, steps, outer) else None


# ------------------------------------------------------------------ walks: shapes and strides, of buffers or of arrays


def strides_of(shape: Sequence[int], itemsize: int) -> Shape:
    """Row-major strides in bytes."""
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def shape_and_strides(x: Any) -> tuple[Shape, Shape]:
    """What ``walks`` asks about a buffer or an array."""
    return x.shape, x.strides


def has_contiguous_steps(steps: Sequence[int], arguments: Sequence[Any]) -> bool:
    """True where an inner loop meets neighbours, or one element again and again.

    Only then does a kernel that is not ``exact`` give the same bits for the same numbers: NumPy's loops compute
    elements that lie further apart, or backwards, in another way.
    """
    return all(step == 0 or step == x.dtype.itemsize for step, x in zip(steps, arguments, strict=False))


def reduction_strides(out: Any, axes: Sequence[int]) -> Shape:
    """Strides with which a reduction's result (its axes kept) is walked over beside what is reduced."""
    return tuple([0 if d in axes else stride for d, stride in enumerate(out.strides)])


def plan_product(a: Any, b: Any, out: Any) -> tuple[Shape, Shape, tuple[Shape, ...]]:
    """A product of stacks of matrices: what the gufunc's loop takes for one of them, and the stacks as outer axes."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    steps = (0, 0, 0, *a.strides[-2:], *b.strides[-2:], *out.strides[-2:])
    depth = len(out.shape) - 2
    outer = tuple(
        (out.shape[d], *(stride_along(x.shape, x.strides, d - depth - 2) for x in (a, b, out)))
        for d in range(depth)
        if out.shape[d] != 1
    )
    return (1, m, k, n), steps, outer


def product_shape(a: Any, b: Any) -> tuple[Any, ...]:
    """The shape of a product of two stacks of matrices.

    Raises:
        ValueError: the shapes do not fit.
    """
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: {list(a.shape)} and {list(b.shape)} do not fit ({a.shape[-1]} and {b.shape[-2]})")
    return (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])


def plan_accumulate(out: Any, axis: int) -> tuple[Shape, Shape, tuple[Shape, ...]]:
    """Running results in place: out[k + 1] = function(out[k], out[k + 1]), a call a line, in order."""
    step = out.strides[axis]
    outer = tuple(
        (extent, stride, stride, stride)
        for d, (extent, stride) in enumerate(zip(out.shape, out.strides, strict=True))
        if d != axis and extent > 1
    )
    return (out.shape[axis] - 1,), (step, step, step), outer


def arg_reduction_params(which: str, x: Any, axis: int, last: bool) -> Shape:
    """What the driver "arg" takes (loop_nest.pyx)."""
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    return (ord(kernels.type_char(x.dtype)), outer, x.shape[axis], inner, int(which == "max"), int(last))


def supports_arg_reduction(x: Any) -> bool:
    """Whether the driver "arg" takes a tensor."""
    return kernels.type_char(x.dtype) not in ("", "e", "E") and x.size != 0
