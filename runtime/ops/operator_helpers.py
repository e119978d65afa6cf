"""What several operator families share: constants, broadcasting rules, working precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels.kernel import type_char
from ..kernels.strided_iteration import broadcast_shapes
from ..kernels.symbolic_extents import SymbolicExtent
from .axis_arguments import normalize_axis
from .kernel_lookup import elementwise_kernel
from .primitives import NativeLoop

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any
Dtype = np.dtype[Any]


@cache  # NumPy builds the name anew: 5 us for the two that a sum asks for
def is_float(dtype: Dtype) -> bool:
    """A real floating-point type, NumPy's or one of ``ml_dtypes``."""
    return dtype.name.startswith(("float", "bfloat"))


@cache
@cache
def has_bitwise_zero(dtype: Dtype) -> bool:
    """Is a number of this type 0 where all its bits are, but for a float's sign?"""
    return type_char(dtype) != ""


def is_integer(dtype: Dtype) -> bool:
    """A signed or unsigned integer type, NumPy's or one of ``ml_dtypes``."""
    return dtype.name.startswith(("int", "uint"))


def constant(p: P, value: Any, dtype: Dtype) -> T:
    """A scalar constant of a dtype."""
    if isinstance(value, SymbolicExtent):
        return cast(p, p.constant(value), dtype)
    return p.constant(np.array(value, dtype))


def index_range(count: int) -> Array:
    """0, 1, ... below ``count``, int64. ``np.arange`` gives nothing where nearly 2**63 are asked for."""
    numbers: Array = np.arange(count)
    if len(numbers) != max(count, 0):
        raise OverflowError("Maximum allowed size exceeded")
    return numbers


def full_constant(p: P, shape: Sequence[int], value: Any, dtype: Dtype) -> T:
    """A constant of a shape, every element ``value``."""
    return p.constant(np.full(tuple(shape), value, dtype))


def working_dtype(dtype: Dtype) -> Dtype:
    """The dtype in which a formula of several steps is computed: float32 for narrower floats."""
    return np.dtype(np.float32) if is_float(dtype) and dtype.itemsize < 4 else dtype


def through_reals(function: Callable[..., T]) -> Callable[..., T]:
    """Compute a formula in float32 where the input is a narrower float, and in float64 where it is an integer.

    Integers are rounded to the nearest then, as OpenVINO does.
    """

    def op(p: P, x: T, *arguments: Any) -> T:
        if is_float(x.dtype):
            return cast(p, function(p, cast(p, x, working_dtype(x.dtype)), *arguments), x.dtype)
        return p.cast(p.map(np.rint, function(p, p.cast(x, np.dtype(np.float64)), *arguments)), x.dtype)

    return op


def with_native_loop(loop: NativeLoop, otherwise: Callable[[P, T], T]) -> Callable[[P, T], T]:
    """An operator that is one loop of our own on floats that have it, narrow ones included, and a formula elsewhere."""

    def op(p: P, x: T) -> T:
        return (
            p.map(loop, x)
            if is_float(x.dtype) and elementwise_kernel(loop, (x.dtype,)) is not None
            else otherwise(p, x)
        )

    return op


def as_float32(array: Array) -> Array:
    """For :meth:`Primitives.prepared`."""
    return array.astype(np.float32, order="C")


def cast(p: P, x: T, dtype: Dtype) -> T:
    """``p.cast``, nothing where the dtype is that already."""
    return x if x.dtype == dtype else p.cast(x, dtype)


def check_unidirectional_broadcast(x: T, other: T, what: str) -> None:
    """Hold that ``other`` broadcasts to the shape of ``x`` (ONNX's unidirectional broadcasting).

    Raises:
        ModelError: it does not.
    """
    check_broadcastable(other, x.shape, what)


def check_broadcastable(x: T, shape: Sequence[int], what: str) -> None:
    """Hold that ``x`` broadcasts to a shape.

    Raises:
        ModelError: it does not.
    """
    try:
        fits = broadcast_shapes(shape, x.shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ModelError(f"{what} of shape {x.shape} does not broadcast to {tuple(shape)}")


def check_same_shape(a: T, b: T, why: str) -> None:
    """Hold that two shapes match.

    Raises:
        ModelError: they do not.
    """
    if a.shape != b.shape:
        raise ModelError(f"shapes {a.shape} and {b.shape} differ, and {why}")


def onnx_legacy_align(p: P, a: T, b: T, broadcast: int, axis: int | None) -> T:
    """``b`` as ONNX opsets before 7 broadcast it: its dims are ``a``'s from ``axis`` on, by default the last ones.

    Raises:
        ModelError: the shapes differ without ``broadcast``, or do not fit.
    """
    if not broadcast:
        check_same_shape(a, b, "opsets before 7 broadcast only with broadcast=1")
        return b
    if axis is not None:
        trailing = a.ndim - normalize_axis(axis, a.ndim) - b.ndim
        if trailing < 0:
            raise ModelError(f"shape {b.shape} does not fit into {a.shape} from axis {axis} on")
        b = p.reshape(b, (*b.shape, *(1,) * trailing))
    check_unidirectional_broadcast(a, b, "the second input")
    return b


def openvino_align(a: T, b: T, auto_broadcast: str) -> None:
    """Hold the shapes to OpenVINO's ``auto_broadcast``; what is left is NumPy broadcasting.

    Raises:
        ModelError: ``none``, and the shapes differ.
        UnsupportedError: PaddlePaddle's rules, or unknown ones.
    """
    rule = auto_broadcast.lower()
    if rule in ("none", "explicit"):
        check_same_shape(a, b, f'auto_broadcast="{auto_broadcast}" allows no broadcasting')
    elif rule != "numpy":
        raise UnsupportedError(f'auto_broadcast="{auto_broadcast}" is not supported; only numpy and none are')
