"""Helpers shared by operator families: constants, broadcasting rules, working precision."""

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
from .axis_arguments import normalize_axis, shape_error
from .primitive_types import NativeLoop
from .ufunc_kernels import elementwise_kernel

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
Dtype = np.dtype[Any]


@cache  # NumPy rebuilds the name on each access, 2.5 us each
def is_float(dtype: Dtype) -> bool:
    """A real floating-point type, NumPy's or one of ``ml_dtypes``."""
    return dtype.name.startswith(("float", "bfloat"))


@cache
@cache
def has_bitwise_zero(dtype: Dtype) -> bool:
    """Is a number of this type zero iff all its bits, except a float's sign, are zero?"""
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
    """0, 1, ... below ``count``, int64. ``np.arange`` returns an empty array for counts near 2**63."""
    numbers: Array = np.arange(count)
    if len(numbers) != max(count, 0):
        raise OverflowError("Maximum allowed size exceeded")
    return numbers


def full_constant(p: P, shape: Sequence[int], value: Any, dtype: Dtype) -> T:
    """A constant of a shape filled with ``value``."""
    return p.constant(np.full(tuple(shape), value, dtype))


def working_dtype(dtype: Dtype) -> Dtype:
    """The dtype for multi-step formulas: float32 for narrower floats."""
    return np.dtype(np.float32) if is_float(dtype) and dtype.itemsize < 4 else dtype


def via_float_dtype(function: Callable[..., T]) -> Callable[..., T]:
    """Compute a formula in float32 for narrower floats, and in float64 for integers.

    Integer results are rounded to the nearest, as in OpenVINO.
    """

    def op(p: P, x: T, *arguments: Any) -> T:
        if is_float(x.dtype):
            return cast(p, function(p, cast(p, x, working_dtype(x.dtype)), *arguments), x.dtype)
        return p.cast(p.map(np.rint, function(p, p.cast(x, np.dtype(np.float64)), *arguments)), x.dtype)

    return op


def with_native_loop(loop: NativeLoop, fallback: Callable[[P, T], T]) -> Callable[[P, T], T]:
    """An operator that uses a native loop for float types that have one, and a fallback formula otherwise."""

    def op(p: P, x: T) -> T:
        return (
            p.map(loop, x) if is_float(x.dtype) and elementwise_kernel(loop, (x.dtype,)) is not None else fallback(p, x)
        )

    return op


def as_float32(array: Array) -> Array:
    """A layout for :meth:`EagerPrimitives.prepared`."""
    return array.astype(np.float32, order="C")


def cast(p: P, x: T, dtype: Dtype) -> T:
    """``p.cast`` unless ``x`` already has the dtype."""
    return x if x.dtype == dtype else p.cast(x, dtype)


def check_unidirectional_broadcast(x: T, other: T, name: str) -> None:
    """Check that ``other`` broadcasts to the shape of ``x`` (ONNX's unidirectional broadcasting).

    Raises:
        ModelError: it does not.
    """
    check_broadcastable(other, x.shape, name)


def check_broadcastable(x: T, shape: Sequence[int], name: str) -> None:
    """Check that ``x`` broadcasts to a shape.

    Raises:
        ModelError: it does not.
    """
    try:
        fits = broadcast_shapes(shape, x.shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise shape_error(name, x.shape, f"does not broadcast to {tuple(shape)}", str(tuple(shape)))


def check_same_shape(a: T, b: T, reason: str) -> None:
    """Check that two shapes match.
    Raises:
        ModelError: they differ.
    """
    if a.shape != b.shape:
        raise ModelError(
            f"shapes {a.shape} and {b.shape} differ, and {reason}", name="B", expected=str(a.shape), got=str(b.shape)
        )


def broadcast_onnx_legacy(p: P, a: T, b: T, broadcast: int, axis: int | None) -> T:
    """Broadcast ``b`` by the rules before opset 7: its dims match ``a``'s from ``axis`` on, by default the last ones.

    Raises:
        ModelError: the shapes differ without ``broadcast``, or do not match.
    """
    if not broadcast:
        check_same_shape(a, b, "opsets before 7 broadcast only with broadcast=1")
        return b
    if axis is not None:
        trailing = a.ndim - normalize_axis(axis, a.ndim) - b.ndim
        if trailing < 0:
            raise ModelError(
                f"shape {b.shape} does not fit into {a.shape} from axis {axis} on",
                name="B",
                expected=str(a.shape),
                got=str(b.shape),
            )
        b = p.reshape(b, (*b.shape, *(1,) * trailing))
    check_unidirectional_broadcast(a, b, "the second input")
    return b


def check_openvino_broadcast(a: T, b: T, auto_broadcast: str) -> None:
    """Check the shapes by OpenVINO's ``auto_broadcast``; the remaining rule is NumPy broadcasting.

    Raises:
        ModelError: the shapes differ with ``none``.
        UnsupportedError: PaddlePaddle's or unknown rules.
    """
    rule = auto_broadcast.lower()
    if rule in ("none", "explicit"):
        check_same_shape(a, b, f'auto_broadcast="{auto_broadcast}" allows no broadcasting')
    elif rule != "numpy":
        raise UnsupportedError(
            f'auto_broadcast="{auto_broadcast}" is not supported; only numpy and none are',
            name="auto_broadcast",
            expected="numpy or none",
            got=auto_broadcast,
        )
