"""Shape operators, and operators that create tensors from shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_from_onnx
from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels.strided_iteration import broadcast_shapes
from .axis_arguments import (
    check_shape,
    decode_string,
    element_count,
    element_counts_around_axis,
    normalize_distinct_axes,
    normalize_existing_axis,
    read_int,
    read_ints,
    unknown_value_error,
)
from .operator_helpers import has_bitwise_zero, index_range, is_float
from .primitive_types import NoNativeKernel, RoutineCall
from .registry import onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)
#: Rank limit of the NonZero routine, which has the extents as parameters.
_MAX_AXES = 8


def _resolve_shape(shape: Sequence[int], target: Sequence[int], copied: Sequence[int]) -> tuple[int, ...]:
    """Resolve ``target`` for a tensor of ``shape``: -1 is inferred, the dimensions ``copied`` are copied."""
    out = list(target)
    for k in copied:
        if k >= len(shape):
            raise ValueError(f"shape {list(target)} copies dimension {k} of {shape}")
        out[k] = shape[k]
    if target.count(-1) > 1:
        raise ValueError(f"shape {list(target)} has more than one -1")
    if any(n < -1 for n in out):
        raise ValueError(f"shape {list(target)} has a negative number other than -1")
    total = element_count(shape)
    if -1 in out:
        known_count = element_count(n for n in out if n != -1)
        if known_count == 0 or total % known_count:
            raise ValueError(f"no number in place of the -1 makes {list(target)} a shape for {shape}")
        out[out.index(-1)] = total // known_count
    if element_count(out) != total:
        raise ValueError(f"{total} elements of shape {shape} cannot get the shape {tuple(out)}")
    return tuple(out)


def _zero_positions(target: Sequence[int]) -> list[int]:
    return [k for k, n in enumerate(target) if n == 0]


@onnx("Reshape")
def reshape_by_attribute(p: P, x: T, *, shape: Sequence[int] = (), consumed_inputs: Any = None) -> T:
    return p.reshape(x, _resolve_shape(x.shape, list(shape), _zero_positions(shape)))


@onnx("Reshape", since=5)
def reshape(p: P, x: T, shape: T, *, allowzero: int = 0) -> T:
    target = read_ints(p, shape)
    if allowzero and 0 in target and -1 in target:
        raise ValueError(f"shape {list(target)} has both 0 and -1, which allowzero=1 forbids")
    return p.reshape(x, _resolve_shape(x.shape, target, () if allowzero else _zero_positions(target)))


@openvino("Reshape")
def openvino_reshape(p: P, x: T, shape: T, *, special_zero: bool = True) -> T:
    target = read_ints(p, shape)
    copied = _zero_positions(target) if special_zero else []
    if x.size == 0 and target.count(-1) == 1:
        # Without elements the -1 is ambiguous; OpenVINO excludes copied dimensions from both products.
        total = element_count(n for k, n in enumerate(x.shape) if k not in copied)
        known_count = element_count(n for k, n in enumerate(target) if k not in copied and n != -1)
        target = tuple((total // known_count if known_count else 1) if n == -1 else n for n in target)
    return p.reshape(x, _resolve_shape(x.shape, target, copied))


def _transpose(p: P, x: T, perm: Sequence[int]) -> T:
    if sorted(perm) != list(range(x.ndim)):
        raise ValueError(f"perm {list(perm)} is not a permutation of the {x.ndim} axes of {x.shape}")
    return p.transpose(x, tuple(perm))


@onnx("Transpose")
def transpose(p: P, x: T, *, perm: Sequence[int] | None = None) -> T:
    return _transpose(p, x, range(x.ndim)[::-1] if perm is None else perm)


@openvino("Transpose")
def openvino_transpose(p: P, x: T, order: T) -> T:
    return _transpose(p, x, read_ints(p, order) or range(x.ndim)[::-1])


def _squeeze(p: P, x: T, axes: Sequence[int], skip: bool) -> T:
    """Remove ``axes``, by default all of size 1. ``skip``: keep a named one of another size."""
    squeezed = {normalize_existing_axis(axis, x.ndim) for axis in axes} if axes else set(range(x.ndim))
    for axis in sorted(squeezed):
        if axes and not skip and x.shape[axis] != 1:
            raise ValueError(f"axis {axis} of {x.shape} cannot be squeezed: its size is not 1")
    return p.reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in squeezed or n != 1))


@onnx("Squeeze")
def squeeze_by_attribute(p: P, x: T, *, axes: Sequence[int] = ()) -> T:
    return _squeeze(p, x, axes, skip=False)


@onnx("Squeeze", since=13)
def squeeze(p: P, x: T, axes: T | None = None) -> T:
    return _squeeze(p, x, () if axes is None else read_ints(p, axes), skip=False)


@openvino("Squeeze")
def openvino_squeeze(p: P, x: T, axes: T | None = None) -> T:
    """A named dimension of another size than 1 "will be ignored and copied as is" (since 2024.3)."""
    return _squeeze(p, x, () if axes is None else read_ints(p, axes), skip=True)


def _unsqueeze(p: P, x: T, axes: Sequence[int]) -> T:
    rank = x.ndim + len(axes)
    inserted = normalize_distinct_axes(axes, rank)
    extents = iter(x.shape)
    return p.reshape(x, tuple(1 if k in inserted else next(extents) for k in range(rank)))


@onnx("Unsqueeze")
def unsqueeze_by_attribute(p: P, x: T, *, axes: Sequence[int]) -> T:
    return _unsqueeze(p, x, axes)


@onnx("Unsqueeze", since=13)
def unsqueeze(p: P, x: T, axes: T) -> T:
    return _unsqueeze(p, x, read_ints(p, axes))


@openvino("Unsqueeze")
def openvino_unsqueeze(p: P, x: T, axes: T) -> T:
    return _unsqueeze(p, x, tuple(dict.fromkeys(read_ints(p, axes))))  # OpenVINO ignores duplicate axes


@onnx("Flatten")
def flatten(p: P, x: T, *, axis: int = 1) -> T:
    return p.reshape(x, element_counts_around_axis(axis, x.shape))


@onnx("Shape")
def shape_of(p: P, x: T, *, start: int = 0, end: int | None = None) -> T:
    # Python slices clamp start and end as specified.
    part = x.shape[slice(start, end)]
    return p.numbers(part, (len(part),), INT64)


@openvino("ShapeOf")
def openvino_shape_of(p: P, x: T, *, output_type: np.dtype[Any] = INT64) -> T:
    return p.numbers(x.shape, (x.ndim,), output_type)


@onnx("Size")
def size(p: P, x: T) -> T:
    return p.numbers([element_count(x.shape)], (), INT64)


@onnx("Expand", since=8)
def expand(p: P, x: T, shape: T) -> T:
    return p.broadcast(x, broadcast_shapes(x.shape, check_shape(read_ints(p, shape))))


@openvino("Broadcast")
def openvino_broadcast(p: P, x: T, target_shape: T, axes_mapping: T | None = None, *, mode: str = "numpy") -> T:
    target = check_shape(read_ints(p, target_shape), "target shape")
    mode = mode.lower()
    if mode == "bidirectional":
        return p.broadcast(x, broadcast_shapes(x.shape, target))
    if mode in ("explicit", "none"):  # OpenVINO writes the explicit mode of version 1 as "none"
        if axes_mapping is None:
            raise ModelError("mode='explicit' needs the input axes_mapping", name="axes_mapping")
        axes = normalize_distinct_axes(read_ints(p, axes_mapping), len(target))
        if len(axes) != x.ndim or list(axes) != sorted(axes):
            raise ValueError(f"axes_mapping {axes} must name, in order, an axis for each of {x.shape}")
        mapped = [1] * len(target)
        for axis, n in zip(axes, x.shape, strict=True):
            mapped[axis] = n
        x = p.reshape(x, tuple(mapped))
    elif mode != "numpy":
        raise unknown_value_error("mode", mode, ("numpy", "explicit", "bidirectional"))
    if broadcast_shapes(x.shape, target) != target:
        raise ValueError(f"shape {x.shape} cannot be broadcast to {target}")
    return p.broadcast(x, target)


def _tile(p: P, x: T, repeats: Sequence[int]) -> T:
    if not any(n != 1 for n in repeats):
        return p.broadcast(x, x.shape)
    check_shape(repeats, "repeats")
    split_shape: list[int] = []  # splits each repeated axis into copies and content
    tiled_shape: list[int] = []
    for n, times in zip(x.shape, repeats, strict=True):
        split_shape += [n] if times == 1 or n == 1 else [1, n]
        tiled_shape += [n * times] if times == 1 or n == 1 else [times, n]
    out = tuple(n * times for n, times in zip(x.shape, repeats, strict=True))
    return p.reshape(p.broadcast(p.reshape(x, tuple(split_shape)), tuple(tiled_shape)), out)


@onnx("Tile")
def tile_one_axis(p: P, x: T, tiles: T, axis: T) -> T:
    repeats = [1] * x.ndim
    repeats[normalize_existing_axis(read_int(p, axis, "axis"), x.ndim)] = read_int(p, tiles, "tiles")
    return _tile(p, x, repeats)


@onnx("Tile", since=6)
def tile(p: P, x: T, repeats: T) -> T:
    times = read_ints(p, repeats)
    if len(times) != x.ndim:
        raise ValueError(f"repeats {list(times)} must have one number for each axis of {x.shape}")
    return _tile(p, x, times)


@openvino("Tile")
def openvino_tile(p: P, x: T, repeats: T) -> T:
    times = read_ints(p, repeats)
    rank = max(x.ndim, len(times))
    x = p.reshape(x, (1,) * (rank - x.ndim) + tuple(x.shape))
    return _tile(p, x, (1,) * (rank - len(times)) + times)


@onnx("ConstantOfShape", since=9)
def constant_of_shape(p: P, shape: T, *, value: Array | None = None) -> T:
    if value is None:
        value = np.zeros(1, np.float32)
    if value.size != 1:
        raise ModelError(
            f"attribute value must have one element, not {value.size}",
            name="value",
            expected="1 element",
            got=str(value.size),
        )
    return p.broadcast(p.constant(np.array(value.reshape(()))), check_shape(read_ints(p, shape)))


@onnx("Constant")
def constant(
    p: P,
    *,
    value: Array | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    value_string: str | bytes | None = None,
    value_strings: Sequence[str | bytes] | None = None,
    sparse_value: Any = None,
) -> T:
    if sparse_value is not None:
        raise UnsupportedError(
            "a Constant with a sparse_value is not supported; store it as a dense value", name="sparse_value"
        )
    strings = None if value_strings is None else [decode_string(part) for part in value_strings]
    string = None if value_string is None else decode_string(value_string)
    candidates = [
        None if data is None else np.asarray(data, dtype)
        for data, dtype in (
            (value, None),
            (value_float, np.float32),
            (value_floats, np.float32),
            (value_int, INT64),
            (value_ints, INT64),
            (string, object),
            (strings, object),
        )
    ]
    arrays = [array for array in candidates if array is not None]
    if len(arrays) != 1:
        raise ModelError(
            f"a Constant must have exactly one of its value attributes, not {len(arrays)}",
            name="value",
            expected="1 attribute",
            got=str(len(arrays)),
        )
    return p.constant(arrays[0])


def _range(p: P, start: T, stop: T, step: T, dtype: np.dtype[Any], working: np.dtype[Any]) -> T:
    """``start + i * step`` below ``stop`` (above it for a negative step), computed in ``inner``."""
    if any(v.size != 1 for v in (start, stop, step)):
        raise ValueError("start, limit and delta must be one number each")
    if start.dtype.kind in "iu" and start.dtype == stop.dtype == step.dtype == dtype == working:
        (low,), (high,), (increment,) = (read_ints(p, v) for v in (start, stop, step))
        if not increment:
            raise ValueError("the step of a range must not be zero")
        count = -((low - high) // increment)
        shape = (count if count > 0 else 0,)
        return p.call(RoutineCall("data_movement.arange", [(shape, dtype)], (*shape, dtype.itemsize)), [start, step])[0]
    return p.constant(_float_range(p.value(start), p.value(stop), p.value(step), working).astype(dtype))


def _float_range(start: Array, stop: Array, step: Array, dtype: np.dtype[Any]) -> Array:
    start, stop, step = (v.reshape(()).astype(dtype) for v in (start, stop, step))
    if not step:
        raise ValueError("the step of a range must not be zero")
    if dtype.kind in "iu":
        count = -((int(start) - int(stop)) // int(step))
    else:
        # The difference in its own type, the quotient in float64, as in onnxruntime.
        quotient = float(stop - start) / float(step)
        if not math.isfinite(quotient):
            raise ValueError(f"a range from {start} to {stop} by {step} has no number of elements")
        count = math.ceil(quotient)
    # int64 index: if it exceeds the dtype it wraps, and so does the product, to the correct value.
    return np.asarray(index_range(count).astype(dtype) * step + start)


@onnx("Range", since=11)
def range_(p: P, start: T, limit: T, delta: T) -> T:
    return _range(p, start, limit, delta, start.dtype, start.dtype)


@onnx("Range", since=27)
def range_with_stash_type(p: P, start: T, limit: T, delta: T, *, stash_type: int = 1) -> T:
    is_narrow = start.dtype.name in ("float16", "bfloat16")
    return _range(p, start, limit, delta, start.dtype, dtype_from_onnx(stash_type) if is_narrow else start.dtype)


@openvino("Range")
def openvino_range(p: P, start: T, stop: T, step: T) -> T:
    return _openvino_range(p, start, stop, step, start.dtype)


@openvino("Range", since=4)
def openvino_range_4(p: P, start: T, stop: T, step: T, *, output_type: np.dtype[Any]) -> T:
    return _openvino_range(p, start, stop, step, output_type)


def _openvino_range(p: P, start: T, stop: T, step: T, dtype: np.dtype[Any]) -> T:
    """Range-4: cast to a type at least as precise as ``dtype`` (toward zero), then enumerate."""
    return _range(p, start, stop, step, dtype, np.dtype(np.float64) if dtype.kind not in "iu" else dtype)


@onnx("EyeLike", since=9)
def eye_like(p: P, x: T, *, dtype: int | None = None, k: int = 0) -> T:
    if x.ndim != 2:
        raise ValueError(f"the input must have two axes, not shape {x.shape}")
    output_dtype = x.dtype if dtype is None else dtype_from_onnx(dtype)
    return p.constant(np.eye(x.shape[0], x.shape[1], k).astype(output_dtype))


def _non_zero(p: P, x: T, dtype: np.dtype[Any]) -> T:
    """Indices as [rank, count]; a scalar has rank 0 and thus gives [0, count]."""
    if has_bitwise_zero(x.dtype) and x.ndim <= _MAX_AXES and dtype in (np.int32, np.int64):
        numbers = (x.size, x.dtype.itemsize, int(is_float(x.dtype)), x.ndim, dtype.itemsize, *x.shape[1:])
        (indices,) = p.call(
            RoutineCall("data_movement.non_zero", (((x.ndim, x.size), dtype),), numbers, x.size + 8, growing_axes=(1,)),
            (x,),
        )
        return indices
    if not isinstance(x, np.ndarray):
        raise NoNativeKernel
    if x.ndim == 0:
        return np.zeros((0, int(bool(x))), dtype)
    return np.array(x.nonzero(), INT64).astype(dtype)


@onnx("NonZero", since=9)
def non_zero(p: P, x: T) -> T:
    return _non_zero(p, x, INT64)


@openvino("NonZero")
def openvino_non_zero(p: P, x: T, *, output_type: np.dtype[Any] = INT64) -> T:
    return _non_zero(p, x, output_type)
