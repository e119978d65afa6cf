"""Gather, scatter and one-hot operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels import kernel as kernels
from ..kernels.bindings.data_movement import MAX_AXES
from ..kernels.strided_iteration import broadcast_shapes
from .axis_arguments import (
    decode_string,
    element_count,
    normalize_existing_axis,
    read_int,
    shape_error,
    unknown_value_error,
)
from .operator_helpers import Dtype, cast, constant, index_range, is_integer
from .primitive_types import NoNativeKernel, RoutineCall
from .registry import onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)


# --- Gathering


@onnx("Gather")
def gather(p: P, x: T, indices: T, *, axis: int = 0) -> T:
    return p.gather(x, indices, normalize_existing_axis(axis, x.ndim))


@openvino("Gather")
def openvino_gather_1(p: P, x: T, indices: T, axis: T) -> T:
    return gather_or_zero(p, x, indices, axis, 0, negative=False)


@openvino("Gather", since=7)
def openvino_gather_7(p: P, x: T, indices: T, axis: T, *, batch_dims: int = 0) -> T:
    return gather_or_zero(p, x, indices, axis, batch_dims, negative=False)


@openvino("Gather", since=8)
def openvino_gather_8(p: P, x: T, indices: T, axis: T, *, batch_dims: int = 0) -> T:
    return gather_or_zero(p, x, indices, axis, batch_dims, negative=True)


def gather_or_zero(p: P, x: T, indices: T, axis: T, batch_dims: int, negative: bool) -> T:
    """OpenVINO's Gather: an out-of-range index gives zeros (Gather-8, example 7; undocumented in older versions)."""
    axis_index = normalize_existing_axis(read_int(p, axis, "axis"), x.ndim)
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(indices.ndim, axis_index) or x.shape[:batch] != indices.shape[:batch]:
        raise ValueError(
            f"batch_dims={batch_dims} does not fit data of shape {x.shape}, axis {axis_index}, "
            f"and indices of shape {indices.shape}"
        )
    size = x.shape[axis_index]
    shape = (*x.shape[:axis_index], *indices.shape[batch:], *x.shape[axis_index + 1 :])
    if size == 0:
        return p.constant(np.zeros(shape, x.dtype))
    indices = indices if indices.dtype in (np.int32, np.int64) else p.cast(indices, INT64)
    if not batch and _are_in_bounds(indices, size, negative):
        return p.gather(x, indices, axis_index)
    lowest = constant(p, -size if negative else 0, indices.dtype)
    below_size = p.map(np.less, indices, constant(p, size, indices.dtype))
    inside = p.map(np.logical_and, p.map(np.less_equal, lowest, indices), below_size)
    clamped = p.where(inside, indices, constant(p, 0, indices.dtype))
    rows = _gather_batched(p, x, clamped, axis_index, batch) if batch else p.gather(x, clamped, axis_index)
    outer_ones, inner_ones = (1,) * (axis_index - batch), (1,) * (x.ndim - axis_index - 1)
    mask = p.reshape(inside, (*indices.shape[:batch], *outer_ones, *indices.shape[batch:], *inner_ones))
    return p.where(mask, rows, constant(p, "" if x.dtype.kind == "O" else 0, x.dtype))


def _are_in_bounds(indices: T, size: int, negative: bool) -> bool:
    """Are the indices constant and in range? Common in models; needs no test and no mask."""
    numbers: Array | None = indices if isinstance(indices, np.ndarray) else getattr(indices, "known", None)
    if numbers is None or not numbers.size:
        return False
    low, high = int(numbers.min()), int(numbers.max())
    return (-size if negative else 0) <= low and high < size


def _gather_batched(p: P, x: T, indices: T, axis: int, batch: int) -> T:
    """Gather from the concatenated batches; all indices are in range."""
    count, size = element_count(x.shape[:batch]), x.shape[axis]
    outer, inner = x.shape[batch:axis], x.shape[axis + 1 :]
    perm = [*range(batch), axis, *range(batch, axis), *range(axis + 1, x.ndim)]
    rows = p.reshape(p.transpose(x, perm), (count * size, *outer, *inner))
    # Gathering from 0, 1, 2 ... normalizes negative indices.
    local = p.gather(p.constant(np.arange(size)), indices, 0)
    batch_offsets = (np.arange(count) * size).reshape(*indices.shape[:batch], *(1,) * (indices.ndim - batch))
    gathered = p.gather(rows, p.map(np.add, local, p.constant(batch_offsets)), 0)
    # The axes are batch, indices, outer, inner; move the outer ones before the indices.
    outer_start, outer_end = indices.ndim, indices.ndim + len(outer)
    perm = [*range(batch), *range(outer_start, outer_end), *range(batch, outer_start), *range(outer_end, gathered.ndim)]
    return p.transpose(gathered, perm)


def _check_indices(indices: Array, size: int, lowest: int) -> None:
    outside = (indices < lowest) | (indices >= size)
    if outside.any():
        raise IndexError(f"index {indices[outside].flat[0]} is outside [{lowest}, {size - 1}]")


def _element_index(shape: Sequence[int], indices: Array, axis: int, lowest: int) -> tuple[Array, ...]:
    """The NumPy index of element operators: ``indices`` along the axis, the own position along others."""
    _check_indices(indices, shape[axis], lowest)
    index: list[Array] = list(np.indices(indices.shape, sparse=True))
    index[axis] = indices
    return tuple(index)


# --- Interface of the routines in gather_scatter.h.

#: Type characters of dtypes that scatters can reduce.
_REDUCIBLE = frozenset("bhilBHILfd")
#: Maximum tuple length of the routines.
MAX_TUPLE_AXES = 8


def _pack_params(
    x: T, indices: T, ufunc: np.ufunc | None = None, count: int = 0, axis: int = 0, negative: bool = True
) -> int:
    """Pack the first parameter of the routines in gather_scatter.h."""
    reduction = 0 if ufunc is None else _REDUCTION_UFUNCS.index(ufunc) + 1
    kind = 0 if ufunc is None else ord(kernels.type_char(x.dtype))
    parts = (x.dtype.itemsize, indices.dtype.itemsize, reduction, kind, count, axis, int(negative))
    return sum(part << 8 * k for k, part in enumerate(parts))


def _supports_routine(x: T, ufunc: np.ufunc | None = None) -> bool:
    """True if the routines support the dtype and its reduction."""
    if x.dtype.hasobject or x.dtype.itemsize > 255:
        return False
    return ufunc is None or kernels.type_char(x.dtype) in _REDUCIBLE


def _require_eager_evaluation(p: P) -> None:
    """Raise NoNativeKernel unless evaluating eagerly."""
    if p.emits:
        raise NoNativeKernel


def _call_routine(p: P, name: str, inputs: Sequence[T], shape: Sequence[int], numbers: Sequence[int], check: Any) -> T:
    """Call a routine of gather_scatter.h; on failure ``check`` raises an error that names the index."""
    outputs = [(shape, inputs[0].dtype)]
    try:
        (result,) = p.call(RoutineCall(f"data_movement.{name}", outputs, numbers, failure="index outside"), inputs)
    except UnsupportedError:
        raise
    except ModelError:
        if not p.emits:
            check()
        raise
    return result


def _to_index_tensor(p: P, x: T) -> T:
    return x if x.dtype in (np.int32, INT64) else p.cast(x, INT64)


def _check_element_indices(shape: Sequence[int], indices: T, axis: int) -> None:
    """Check the indices of element operators against the shape of the data."""
    if indices.ndim != len(shape) or not all(
        k == axis or m <= n for k, (m, n) in enumerate(zip(indices.shape, shape, strict=True))
    ):
        raise ValueError(f"indices of shape {indices.shape} do not fit axis {axis} of {tuple(shape)}")


def _merge_axes(shape: Sequence[int], indices: Sequence[int], axis: int) -> tuple[list[Any], int] | None:
    """The extents of each axis in both shapes, with equal adjacent axes merged, and the position of ``axis``.

    None: too many axes.
    """
    pairs: list[Any] = []
    merged_axis = 0
    for k, pair in enumerate(zip(shape, indices, strict=True)):
        if pairs and axis not in (k, k - 1) and pair[0] == pair[1]:
            pairs[-1] = (pairs[-1][0] * pair[0], pairs[-1][1] * pair[1])
            continue
        merged_axis = len(pairs) if k == axis else merged_axis
        pairs.append(pair)
    return ([n for pair in pairs for n in pair], merged_axis) if len(pairs) <= MAX_AXES else None


@onnx("GatherElements", since=11)
@openvino("GatherElements", since=6)
def gather_elements(p: P, x: T, indices: T, *, axis: int = 0) -> T:
    axis = normalize_existing_axis(axis, x.ndim)
    _check_element_indices(x.shape, indices, axis)
    indices = _to_index_tensor(p, indices)
    merged = _merge_axes(x.shape, indices.shape, axis)
    if merged is None or not _supports_routine(x):
        _require_eager_evaluation(p)
        return x[_element_index(x.shape, indices, axis, -x.shape[axis])]
    axes, merged_axis = merged
    numbers = (_pack_params(x, indices, count=len(axes) // 2, axis=merged_axis), *axes)
    check = partial(_element_index, x.shape, indices, axis, -x.shape[axis])
    return _call_routine(p, "gather_elements", [x, indices], indices.shape, numbers, check)


def _tuple_index(shape: Sequence[int], indices: Array, batch: int) -> tuple[Array, ...]:
    """The NumPy index of the tuples ``indices[..., :]`` into ``shape``, after ``batch`` leading dimensions."""
    leading = indices.shape[:-1]
    index = []
    for k in range(batch):
        positions = np.arange(leading[k]) if shape[k] != 1 else np.zeros(leading[k], INT64)
        index.append(np.broadcast_to(positions.reshape(-1, *(1,) * (len(leading) - k - 1)), leading))
    for k in range(indices.shape[-1]):
        size = shape[batch + k]
        _check_indices(indices[..., k], size, -size)
        index.append(indices[..., k])
    return tuple(index)


def _check_index_tuples(shape: Sequence[int], indices: T, batch: int) -> int:
    """Check the tuples against the shape, and return their length."""
    length = int(indices.shape[-1]) if indices.ndim else -1
    if not (0 <= batch < indices.ndim and 0 <= length <= len(shape) - batch):
        raise ValueError(f"indices of shape {indices.shape} do not fit {tuple(shape)} with batch_dims {batch}")
    return length


def _gather_nd(p: P, x: T, indices: T, batch: int) -> T:
    """GatherND with ``batch`` equal leading dimensions."""
    length = _check_index_tuples(x.shape, indices, batch)
    element_shape = x.shape[batch + length :]
    shape = (*indices.shape[:-1], *element_shape)
    if not length:
        unit_axes = (1,) * (indices.ndim - 1 - batch)
        return p.broadcast(p.reshape(x, (*x.shape[:batch], *unit_axes, *element_shape)), shape)
    indices = _to_index_tensor(p, indices)
    if length > MAX_TUPLE_AXES or not _supports_routine(x):
        _require_eager_evaluation(p)
        return np.asarray(x[_tuple_index(x.shape, indices, batch)], x.dtype)
    counts = element_count(shape[:batch]), element_count(indices.shape[batch:-1]), element_count(element_shape)
    numbers = (_pack_params(x, indices, count=length), *counts, *x.shape[batch : batch + length])
    check = partial(_tuple_index, x.shape, indices, batch)
    return _call_routine(p, "gather_tuples", [x, indices], shape, numbers, check)


@onnx("GatherND", since=11)
def gather_nd(p: P, x: T, indices: T, *, batch_dims: int = 0) -> T:
    if x.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise ValueError(f"the first {batch_dims} dimensions of {x.shape} and {indices.shape} must be equal")
    return _gather_nd(p, x, indices, batch_dims)


@openvino("GatherND", since=8)
def openvino_gather_nd(p: P, x: T, indices: T, *, batch_dims: int = 0) -> T:
    """The leading dimensions broadcast."""
    batch = broadcast_shapes(x.shape[:batch_dims], indices.shape[:batch_dims])
    x, indices = (
        y if y.shape[:batch_dims] == batch else p.broadcast(y, (*batch, *y.shape[batch_dims:])) for y in (x, indices)
    )
    return _gather_nd(p, x, indices, batch_dims)


@openvino("GatherND", since=5)
def openvino_gather_nd_5(p: P, x: T, indices: T, *, batch_dims: int = 0) -> T:
    """Version 5 merges the leading dimensions into one."""
    result = openvino_gather_nd(p, x, indices, batch_dims=batch_dims)
    shape = result.shape
    return p.reshape(result, (element_count(shape[:batch_dims]), *shape[batch_dims:])) if batch_dims else result


# --- Scattering

#: In the order of gather_scatter.h.
_REDUCTION_UFUNCS = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)

Reductions = dict[str, "np.ufunc | None"]
_ONNX_REDUCTIONS: Reductions = {
    "none": None,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
_OPENVINO_REDUCTIONS: Reductions = {
    "none": None,
    "sum": np.add,
    "sub": np.subtract,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _reduction_ufunc(reduction: str | bytes, reductions: Reductions) -> np.ufunc | None:
    reduction = decode_string(reduction).lower()
    if reduction not in reductions:
        raise unknown_value_error("reduction", reduction, tuple(reductions))
    return reductions[reduction]


def _check_updates(updates: Array, shape: Sequence[int]) -> None:
    if updates.shape != tuple(shape):
        raise ValueError(f"updates have shape {list(updates.shape)} where {list(shape)} is needed")


def _scatter(data: Array, index: tuple[Any, ...], updates: Array, ufunc: np.ufunc | None) -> Array:
    """A copy of ``data`` with the updates written or reduced into it, in order."""
    out = data.copy()
    if ufunc is None:
        out[index] = updates
        return out
    if ufunc is np.subtract and data.dtype == bool:
        ufunc = np.logical_xor
    ufunc.at(out, index, updates)
    return out


def _scatter_elements(
    p: P, data: T, indices: T, updates: T, axis: int, ufunc: np.ufunc | None, negative: bool = True
) -> T:
    _check_updates(updates, indices.shape)
    _check_element_indices(data.shape, indices, axis)
    lowest = -data.shape[axis] if negative else 0
    indices = _to_index_tensor(p, indices)
    merged = _merge_axes(data.shape, indices.shape, axis)
    if merged is None or not _supports_routine(data, ufunc) or updates.dtype != data.dtype:
        _require_eager_evaluation(p)
        return _scatter(data, _element_index(data.shape, indices, axis, lowest), updates, ufunc)
    axes, merged_axis = merged
    packed = _pack_params(data, indices, ufunc, len(axes) // 2, merged_axis, negative)
    check = partial(_element_index, data.shape, indices, axis, lowest)
    numbers = (packed, data.size * data.dtype.itemsize, *axes)
    return _call_routine(p, "scatter_elements", [data, indices, updates], data.shape, numbers, check)


@onnx("Scatter", since=9)
@onnx("ScatterElements", since=11)
def scatter_elements(p: P, data: T, indices: T, updates: T, *, axis: int = 0, reduction: str = "none") -> T:
    ufunc = _reduction_ufunc(reduction, _ONNX_REDUCTIONS)
    return _scatter_elements(p, data, indices, updates, normalize_existing_axis(axis, data.ndim), ufunc)


@openvino("ScatterElementsUpdate", since=3)
def scatter_elements_update(p: P, data: T, indices: T, updates: T, axis: T) -> T:
    axis_index = normalize_existing_axis(read_int(p, axis, "axis"), data.ndim)
    return _scatter_elements(p, data, indices, updates, axis_index, None, negative=False)


@openvino("ScatterElementsUpdate", since=12)
def scatter_elements_update_12(
    p: P,
    data: T,
    indices: T,
    updates: T,
    axis: T,
    *,
    reduction: str = "none",
    use_init_val: bool = True,
) -> T:
    axis_index = normalize_existing_axis(read_int(p, axis, "axis"), data.ndim)
    mean = reduction.lower() == "mean"
    ufunc = np.add if mean else _reduction_ufunc(reduction, _OPENVINO_REDUCTIONS)
    if ufunc is None or (use_init_val and not mean):
        return _scatter_elements(p, data, indices, updates, axis_index, ufunc)
    _require_eager_evaluation(p)
    _check_updates(updates, indices.shape)
    _check_element_indices(data.shape, indices, axis_index)
    index = _element_index(data.shape, indices, axis_index, -data.shape[axis_index])
    start = data
    if not use_init_val:
        start = data.copy()
        start[index] = _identity_element(ufunc, data.dtype)
    out = _scatter(start, index, updates, ufunc)
    if not mean:
        return out
    count = np.full(data.shape, int(use_init_val))
    np.add.at(count, index, 1)
    count = np.maximum(count, 1)
    average = out // count.astype(data.dtype) if is_integer(data.dtype) else out / count
    return np.asarray(average, data.dtype)


def _identity_element(ufunc: np.ufunc, dtype: Dtype) -> Any:
    """The identity element of a reduction."""
    if ufunc is np.add or ufunc is np.subtract:
        return 0
    if ufunc is np.multiply:
        return 1
    if dtype.kind == "b":
        return ufunc is np.minimum
    if is_integer(dtype):
        return np.iinfo(dtype).min if ufunc is np.maximum else np.iinfo(dtype).max
    return -np.inf if ufunc is np.maximum else np.inf


def _scatter_nd(p: P, data: T, indices: T, updates: T, ufunc: np.ufunc | None) -> T:
    length = _check_index_tuples(data.shape, indices, 0)
    element_shape = data.shape[length:]
    _check_updates(updates, (*indices.shape[:-1], *element_shape))
    indices = _to_index_tensor(p, indices)
    if length > MAX_TUPLE_AXES or not _supports_routine(data, ufunc) or updates.dtype != data.dtype:
        _require_eager_evaluation(p)
        return _scatter(data, _tuple_index(data.shape, indices, 0), updates, ufunc)
    packed = _pack_params(data, indices, ufunc, length)
    counts = data.size * data.dtype.itemsize, element_count(indices.shape[:-1]), element_count(element_shape)
    check = partial(_tuple_index, data.shape, indices, 0)
    numbers = (packed, *counts, *data.shape[:length])
    return _call_routine(p, "scatter_tuples", [data, indices, updates], data.shape, numbers, check)


@onnx("ScatterND", since=11)
def scatter_nd(p: P, data: T, indices: T, updates: T, *, reduction: str = "none") -> T:
    return _scatter_nd(p, data, indices, updates, _reduction_ufunc(reduction, _ONNX_REDUCTIONS))


@openvino("ScatterNDUpdate", since=3)
def scatter_nd_update(p: P, data: T, indices: T, updates: T, *, reduction: str = "none") -> T:
    if indices.ndim == 1 and indices.size == data.ndim and updates.size == 1:
        updates = p.reshape(updates, ())  # "if the expected rank is 0 it can be a tensor with a single element"
    return _scatter_nd(p, data, indices, updates, _reduction_ufunc(reduction, _OPENVINO_REDUCTIONS))


@openvino("ScatterUpdate", since=3)
def scatter_update(p: P, data: T, indices: T, updates: T, axis: T) -> T:
    axis_index = normalize_existing_axis(read_int(p, axis, "axis"), data.ndim)
    _check_updates(updates, (*data.shape[:axis_index], *indices.shape, *data.shape[axis_index + 1 :]))
    indices = _to_index_tensor(p, indices)
    check = partial(_check_indices, indices, data.shape[axis_index], 0)
    if not _supports_routine(data) or updates.dtype != data.dtype:
        _require_eager_evaluation(p)
        check()
        index: tuple[Any, ...] = (*(slice(None),) * axis_index, indices)
        return _scatter(data, index, updates, None)
    outer, inner = element_count(data.shape[:axis_index]), element_count(data.shape[axis_index + 1 :])
    packed = _pack_params(data, indices, negative=False)
    numbers = (packed, data.size * data.dtype.itemsize, outer, data.shape[axis_index], indices.size, inner)
    return _call_routine(p, "scatter_rows", [data, indices, updates], data.shape, numbers, check)


@onnx("TensorScatter", since=24)
def tensor_scatter(
    p: P, past_cache: T, update: T, write_indices: T | None = None, *, axis: int = -2, mode: str = "linear"
) -> T:
    """Write each batch's rows from its index on; ``circular``: with wrap-around."""
    data, dim = past_cache, normalize_existing_axis(axis, past_cache.ndim)
    if decode_string(mode) not in ("linear", "circular"):
        raise unknown_value_error("mode", decode_string(mode), ("linear", "circular"))
    fits = update.ndim == data.ndim and all(
        n <= m if k == dim else n == m for k, (n, m) in enumerate(zip(update.shape, data.shape, strict=True))
    )
    if dim == 0 or not fits or update.dtype != data.dtype:
        raise shape_error("updates", update.shape, f"do not fit axis {dim} of a cache of shape {data.shape}")
    batches, length = data.shape[0], data.shape[dim]
    starts = p.constant(np.zeros(batches, INT64)) if write_indices is None else cast(p, write_indices, INT64)
    if starts.shape != (batches,):
        raise shape_error("write_indices", starts.shape, f"does not fit {batches} batches")
    if data.dtype.hasobject:
        raise ModelError("a cache of strings is not supported", name="past_cache", got=str(data.dtype))
    block = element_count(data.shape[dim + 1 :]) * data.dtype.itemsize
    sizes = (
        data.size * data.dtype.itemsize,
        batches,
        element_count(data.shape[1:dim]),
        length,
        update.shape[dim],
        block,
    )
    numbers = (int(decode_string(mode) == "circular"), *sizes)
    failure = f"write_indices exceed axis {dim} of the cache's shape {data.shape}"
    inputs, outputs = [data, update, starts], [(data.shape, data.dtype)]
    (result,) = p.call(RoutineCall("data_movement.scatter_runs", outputs, numbers, failure=failure), inputs)
    return result


# --- One-hot


def _one_hot(p: P, indices: T, depth: int, on: T, off: T, axis: int, negative: bool) -> T:
    if depth < 0:
        raise ValueError(f"depth must not be negative, and it is {depth}")
    axis_index = normalize_existing_axis(axis, indices.ndim + 1)
    classes = index_range(depth).reshape(-1, *(1,) * (indices.ndim - axis_index))
    indices = cast(p, indices, INT64)
    indices = p.reshape(indices, (*indices.shape[:axis_index], 1, *indices.shape[axis_index:]))
    matches = p.map(np.equal, indices, p.constant(classes))
    if negative:
        matches = p.map(np.logical_or, matches, p.map(np.equal, indices, p.constant(classes - depth)))
    return p.where(matches, p.reshape(on, ()), p.reshape(off, ()))


def _onnx_one_hot(p: P, indices: T, depth: T, values: T, axis: int, negative: bool) -> T:
    if values.shape != (2,):
        raise ValueError(f"values must be [off, on], not of shape {list(values.shape)}")
    off, on = (p.slice(values, [k], [1], [1]) for k in (0, 1))
    return _one_hot(p, indices, read_int(p, depth, "depth"), on, off, axis, negative)


@onnx("OneHot", since=9)
def one_hot_9(p: P, indices: T, depth: T, values: T, *, axis: int = -1) -> T:
    return _onnx_one_hot(p, indices, depth, values, axis, negative=False)


@onnx("OneHot", since=11)
def one_hot(p: P, indices: T, depth: T, values: T, *, axis: int = -1) -> T:
    return _onnx_one_hot(p, indices, depth, values, axis, negative=True)


@openvino("OneHot")
def openvino_one_hot(
    p: P, indices: T, depth: T, on: T, off: T, *, axis: int, negative_indices_mode: str = "ignore_negative"
) -> T:
    """Version 16 adds the mode; its specification uses hyphens, the runtime underscores."""
    mode = negative_indices_mode.lower().replace("-", "_")
    if mode not in ("ignore_negative", "normalize"):
        raise unknown_value_error("negative_indices_mode", negative_indices_mode, ("ignore_negative", "normalize"))
    return _one_hot(p, indices, read_int(p, depth, "depth"), on, off, axis, negative=mode == "normalize")
