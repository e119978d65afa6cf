"""Pooling operators; kernels/conv/pool.h computes maxima and sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..graph import Array
from .axis_arguments import check_shape, normalize_axis, read_ints, shape_error, unknown_value_error
from .operator_helpers import cast, constant, working_dtype
from .primitive_types import RoutineCall
from .registry import Ints, inherit_attributes, onnx, openvino
from .window_geometry import PoolAttributes, WindowGeometry

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
Dtype = np.dtype[Any]
Shape = tuple[int, ...]
_INT64 = np.dtype(np.int64)
_MAX_AXES = 3
#: Types with native maxima in pool.h, and the type to which others are widened.
_NATIVE_TYPES = (np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64)
_MAX_ROUTINE_SUFFIX = {np.dtype(t): f"{np.dtype(t).kind}{8 * np.dtype(t).itemsize}" for t in _NATIVE_TYPES}
_WIDENED_DTYPE: dict[Dtype, Dtype] = {
    np.dtype(np.int16): np.dtype(np.int32),
    np.dtype(np.uint16): np.dtype(np.int32),
    np.dtype(np.uint32): _INT64,
}


def _pad_to_max_axes(numbers: Shape, fill: int = 1) -> Shape:
    """Prepend axes up to the fixed number of pool.h."""
    return (fill,) * (_MAX_AXES - len(numbers)) + numbers


@lru_cache(maxsize=1024)
def _geometry_table(windows: WindowGeometry) -> tuple[Array, int]:
    """The parameter table of pool.h, and its scratch size in elements."""
    extents = (windows.size, windows.output_shape, windows.kernel, windows.strides, windows.dilations)
    pads = _pad_to_max_axes(windows.pads_before, 0)
    size, out, kernel, strides, dilations = map(_pad_to_max_axes, extents)
    reach = (out[2] - 1) * strides[2] + (kernel[2] - 1) * dilations[2] + 1
    row = max(-pads[2], 0) + max(reach, size[2] + pads[2]) + (out[2] - 1) * strides[2] + 1
    return np.array([*size, *out, *kernel, *strides, *dilations, *pads], np.int64), row


@lru_cache(maxsize=256)
def _element_counts(windows: WindowGeometry, kind: str) -> Array:
    """The element count of each window: of the "input", including "pads", or "all", including positions beyond the
    pads."""
    total = np.ones((), np.int64)
    numbers = zip(
        windows.size,
        windows.kernel,
        windows.strides,
        windows.dilations,
        windows.pads_before,
        windows.pads_after,
        windows.output_shape,
        strict=True,
    )
    for n, kernel, stride, dilation, before, after, out in numbers:
        positions = np.arange(out)[:, None] * stride + np.arange(kernel) * dilation - before
        low, high = {"input": (0, n), "pads": (-before, n + after), "all": (-before, positions.max() + 1)}[kind]
        total = total[..., None] * ((positions >= low) & (positions < high)).sum(1)
    return total if (total != total.flat[0]).any() else total[(slice(1),) * total.ndim]


def _pooled_shape(x: T, windows: WindowGeometry) -> tuple[int, Shape]:
    """The channel count of all images, and the output shape."""
    if len(windows.kernel) > _MAX_AXES:
        raise UnsupportedError(
            f"pooling has at most {_MAX_AXES} spatial axes here, not {len(windows.kernel)}",
            name="kernel_shape",
            expected=f"at most {_MAX_AXES} axes",
            got=str(len(windows.kernel)),
        )
    return math.prod(x.shape[:2]), (*x.shape[:2], *windows.output_shape)


def _call_pool_routine(p: P, name: str, x: T, windows: WindowGeometry) -> T:
    channels, shape = _pooled_shape(x, windows)
    if not math.prod(shape):
        return p.constant(np.zeros(shape, x.dtype))
    table, row = _geometry_table(windows)
    inputs, scratch = (x, p.constant(table)), row * x.dtype.itemsize
    return p.call(
        RoutineCall(f"pool.{name}_{_MAX_ROUTINE_SUFFIX[x.dtype]}", [(shape, x.dtype)], (channels,), scratch), inputs
    )[0]


def _to_native_dtype(p: P, x: T) -> T:
    """Convert to a type that pool.h compares."""
    dtype = _WIDENED_DTYPE.get(x.dtype) or working_dtype(x.dtype)
    if dtype not in _MAX_ROUTINE_SUFFIX:
        raise UnsupportedError(f"pooling of {x.dtype} is not supported")
    return cast(p, x, dtype)


def _max_pool(p: P, x: T, windows: WindowGeometry) -> T:
    return cast(p, _call_pool_routine(p, "max", _to_native_dtype(p, x), windows), x.dtype)


def _max_pool_with_indices(
    p: P, x: T, windows: WindowGeometry, channel: int, steps: Sequence[int], empty_is_first: bool
) -> tuple[T, T]:
    """Max pooling with indices. ``steps``: index strides of the spatial axes; ``channel``: stride of the channel;
    ``empty_is_first``: the index of an empty window is the channel's first element instead of -1."""
    channels, shape = _pooled_shape(x, windows)
    if not math.prod(shape):
        return p.constant(np.zeros(shape, x.dtype)), p.constant(np.zeros(shape, np.int64))
    values = _to_native_dtype(p, x)
    name = f"pool.places_{_MAX_ROUTINE_SUFFIX[values.dtype]}"
    outputs = [(shape, values.dtype), (shape, _INT64)]
    numbers = (channels, channel, *_pad_to_max_axes(tuple(steps), 0), int(empty_is_first))
    best, indices = p.call(RoutineCall(name, outputs, numbers), (values, p.constant(_geometry_table(windows)[0])))
    return cast(p, best, x.dtype), indices


def _sum_pool(p: P, x: T, windows: WindowGeometry) -> T:
    """Sum pooling in the working dtype; the caller casts the result."""
    dtype = working_dtype(x.dtype) if x.dtype.kind not in "iub" else np.dtype(np.float64)
    if dtype.kind != "f":
        raise UnsupportedError(f"pooling of {x.dtype} is not supported")
    return _call_pool_routine(p, "sum", cast(p, x, dtype), windows)


def _average_pool(p: P, x: T, windows: WindowGeometry, kind: str, low: int = 0) -> T:
    """Average pooling. ``kind``: which elements count (``_element_counts``); ``low``: lower bound."""
    total = _sum_pool(p, x, windows)
    if not total.size:
        return total
    return p.map(np.divide, total, p.constant(np.maximum(_element_counts(windows, kind), low).astype(total.dtype)))


@onnx("MaxPool")
@inherit_attributes(PoolAttributes)
def max_pool(p: P, x: T, *, storage_order: int = 0, n_outputs: int = 1, **attributes: Any) -> Any:
    """The second output has indices into the flat tensor; ``storage_order`` 1: column-major within a channel."""
    windows = PoolAttributes(**attributes).windows(x)
    if n_outputs == 1:
        return _max_pool(p, x, windows)
    rank = len(windows.size)
    inner = [windows.size[:k] if storage_order else windows.size[k + 1 :] for k in range(rank)]
    return _max_pool_with_indices(p, x, windows, math.prod(windows.size), [math.prod(sizes) for sizes in inner], False)


@onnx("AveragePool")
@inherit_attributes(PoolAttributes)
def average_pool(p: P, x: T, *, count_include_pad: int = 0, **attributes: Any) -> T:
    """The mean of each window, including pads with ``count_include_pad``; 0 for an empty window."""
    return cast(
        p,
        _average_pool(p, x, PoolAttributes(**attributes).windows(x), "pads" if count_include_pad else "input", 1),
        x.dtype,
    )


def _absolute_powers(p: P, x: T, exponent: int) -> T:
    """``abs(x) ** exponent`` in the working dtype."""
    values = p.map(np.absolute, cast(p, x, working_dtype(x.dtype)))
    if exponent == 1:
        return values
    if exponent == 2:
        return p.map(np.multiply, values, values)
    return p.map(np.power, values, constant(p, exponent, values.dtype))


def _take_root(p: P, total: T, exponent: int, dtype: Dtype) -> T:
    if exponent == 2:
        total = p.map(np.sqrt, total)
    elif exponent != 1:
        total = p.map(np.power, total, constant(p, 1 / exponent, total.dtype))
    return cast(p, total, dtype)


@onnx("LpPool", since=2)
@inherit_attributes(PoolAttributes)
def lp_pool(primitives: P, x: T, *, p: int = 2, **attributes: Any) -> T:
    total = _sum_pool(primitives, _absolute_powers(primitives, x, p), PoolAttributes(**attributes).windows(x))
    return _take_root(primitives, total, p, x.dtype)


# --- Global pooling


def _spatial_axes(x: T) -> tuple[int, ...]:
    if x.ndim < 2:
        raise shape_error("input", x.shape, "has no channels")
    return tuple(range(2, x.ndim))


@onnx("GlobalMaxPool")
def global_max_pool(p: P, x: T) -> T:
    return p.reduce(np.maximum, x, _spatial_axes(x), True)


@onnx("GlobalAveragePool")
def global_average_pool(p: P, x: T) -> T:
    axes, values = _spatial_axes(x), cast(p, x, working_dtype(x.dtype))
    total = p.reduce(np.add, values, axes, True)
    count = constant(p, math.prod(x.shape[2:]), total.dtype)
    return cast(p, p.map(np.divide, total, count), x.dtype)


@onnx("GlobalLpPool", since=2)
def global_lp_pool(primitives: P, x: T, *, p: int = 2) -> T:
    powers = _absolute_powers(primitives, x, p)
    return _take_root(primitives, primitives.reduce(np.add, powers, _spatial_axes(x), True), p, x.dtype)


# --- OpenVINO

_ROUNDING = {"floor": (0, False), "ceil": (1, True), "ceil_torch": (1, False)}


def _openvino_windows(
    x: T,
    *,
    kernel: Ints,
    strides: Ints,
    pads_begin: Ints,
    pads_end: Ints,
    dilations: Ints | None = None,
    rounding_type: str = "floor",
    auto_pad: str = "explicit",
) -> WindowGeometry:
    if rounding_type.lower() not in _ROUNDING:
        raise unknown_value_error("rounding_type", rounding_type, tuple(_ROUNDING))
    ceil_mode, overhang = _ROUNDING[rounding_type.lower()]
    mode = auto_pad.upper()
    if mode == "VALID":
        mode, pads_begin, pads_end = "NOTSET", (0,) * len(kernel), (0,) * len(kernel)
    attrs = PoolAttributes(
        kernel_shape=kernel,
        auto_pad="NOTSET" if mode == "EXPLICIT" else mode,
        ceil_mode=ceil_mode,
        dilations=dilations,
        pads=[*pads_begin, *pads_end],
        strides=strides,
    )
    return attrs.windows(x, overhang)


@openvino("MaxPool")
@inherit_attributes(_openvino_windows, "dilations")
def openvino_max_pool_1(p: P, x: T, **attributes: Any) -> T:
    return _max_pool(p, x, _openvino_windows(x, **attributes))


@openvino("MaxPool", since=8)
@inherit_attributes(_openvino_windows)
def openvino_max_pool(
    p: P, x: T, *, index_element_type: Dtype = _INT64, axis: int = 0, n_outputs: int = 2, **attributes: Any
) -> Any:
    """The second output has indices into the axes from ``axis`` on."""
    windows = _openvino_windows(x, **attributes)
    if n_outputs == 1:
        return _max_pool(p, x, windows)
    first = normalize_axis(axis, x.ndim)
    steps = [math.prod(x.shape[k + 1 :]) if k >= first else 0 for k in range(2, x.ndim)]
    best, indices = _max_pool_with_indices(p, x, windows, math.prod(windows.size) if first < 2 else 0, steps, True)
    if first == 1 and x.shape[0] > 1 and indices.size:
        indices = p.map(np.remainder, indices, constant(p, math.prod(x.shape[1:]), _INT64))
    return best, cast(p, indices, index_element_type)


@openvino("AvgPool")
@inherit_attributes(_openvino_windows)
def openvino_avg_pool(p: P, x: T, *, exclude_pad: bool, **attributes: Any) -> T:
    windows = _openvino_windows(x, **attributes)
    # Without padding, positions beyond the input do not count, as in OpenVINO's CPU plugin.
    padded = not exclude_pad and any((*windows.pads_before, *windows.pads_after))
    means = _average_pool(p, x, windows, "all" if padded else "input")
    return cast(p, p.map(np.rint, means) if x.dtype.kind in "iu" else means, x.dtype)


# --- OpenVINO's adaptive pooling, in NumPy.


def _adaptive_bins(p: P, x: Array, sizes: Array) -> list[list[slice]]:
    """The bins of each spatial axis; they may overlap."""
    counts = check_shape(read_ints(p, sizes), "output shape")
    if len(counts) != x.ndim - 2:
        raise ValueError(f"an output shape {list(counts)} does not fit {x.shape}")
    return [
        [slice(k * n // count, -(-(k + 1) * n // count)) for k in range(count)]
        for n, count in zip(x.shape[2:], counts, strict=True)
    ]


@openvino("AdaptiveAvgPool", since=8, native=False)
def adaptive_avg_pool(p: P, x: Array, sizes: Array) -> Array:
    working = working_dtype(x.dtype)
    out = x.astype(working)
    for axis, bins in enumerate(_adaptive_bins(p, x, sizes), 2):  # separable: a mean of means
        leading = (slice(None),) * axis
        parts = [out[(*leading, part)].mean(axis, keepdims=True, dtype=working) for part in bins]
        out = np.concatenate(parts, axis) if parts else out[(*leading, slice(0, 0))]
    return out.astype(x.dtype)


@openvino("AdaptiveMaxPool", since=8, native=False)
def adaptive_max_pool(p: P, x: Array, sizes: Array, *, index_element_type: Dtype = _INT64, n_outputs: int = 2) -> Any:
    """The maximum of each bin, and its flat index within the channel."""
    bins = _adaptive_bins(p, x, sizes)
    shape = (*x.shape[:2], *(len(axis_bins) for axis_bins in bins))
    values, indices = np.empty(shape, x.dtype), np.empty(shape, index_element_type)
    numbers = np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:])
    for bin_index in np.ndindex(*shape[2:]):
        part = tuple(axis_bins[k] for axis_bins, k in zip(bins, bin_index, strict=True))
        flat = x[(slice(None), slice(None), *part)].reshape(*x.shape[:2], -1)
        best = flat.argmax(-1)
        values[(slice(None), slice(None), *bin_index)] = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        indices[(slice(None), slice(None), *bin_index)] = numbers[part].reshape(-1)[best]
    return (values, indices)[:n_outputs]
