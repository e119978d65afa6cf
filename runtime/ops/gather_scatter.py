"""Reading and writing at indices that are data: gathering, scattering, one-hot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels import kernel as kernels
from ..kernels.bindings.gather_scatter import MAX_AXES
from ..kernels.strided_iteration import broadcast_shapes
from .axis_arguments import decode_string, element_count, normalize_existing_axis, read_int, unknown_value_error
from .operator_helpers import Dtype, cast, constant, index_range, is_integer
from .primitives import NoNativeKernel, RoutineCall
from .registry import onnx, openvino

P = Any  # Primitives[T]; T is an array or a buffer description
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
    """OpenVINO's Gather: an index outside gives zeros (Gather-8, example 7; older ones do so unwritten)."""
    along = normalize_existing_axis(read_int(p, axis, "axis"), x.ndim)
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(indices.ndim, along) or x.shape[:batch] != indices.shape[:batch]:
        raise ValueError(
            f"batch_dims={batch_dims} does not fit data of shape {x.shape}, axis {along}, "
            f"and indices of shape {indices.shape}"
        )
    size = x.shape[along]
    shape = (*x.shape[:along], *indices.shape[batch:], *x.shape[along + 1 :])
    if size == 0:
        return p.constant(np.zeros(shape, x.dtype))
    indices = indices if indices.dtype in (np.int32, np.int64) else p.cast(indices, INT64)
    if not batch and _are_in_bounds(indices, size, negative):
        return p.gather(x, indices, along)
    lowest = constant(p, -size if negative else 0, indices.dtype)
    below = p.map(np.less, indices, constant(p, size, indices.dtype))
    inside = p.map(np.logical_and, p.map(np.less_equal, lowest, indices), below)
    safe = p.where(inside, indices, constant(p, 0, indices.dtype))
    rows = _gather_batched(p, x, safe, along, batch) if batch else p.gather(x, safe, along)
    outer, inner = (1,) * (along - batch), (1,) * (x.ndim - along - 1)
    mask = p.reshape(inside, (*indices.shape[:batch], *outer, *indices.shape[batch:], *inner))
    return p.where(mask, rows, constant(p, "" if x.dtype.kind == "O" else 0, x.dtype))


def _are_in_bounds(indices: T, size: int, negative: bool) -> bool:
    """Constant indices, none of which is outside: most are, in models, and then there is nothing to test or to mask."""
    numbers: Array | None = indices if isinstance(indices, np.ndarray) else getattr(indices, "known", None)
    if numbers is None or not numbers.size:
        return False
    low, high = int(numbers.min()), int(numbers.max())
    return (-size if negative else 0) <= low and high < size


def _gather_batched(p: P, x: T, indices: T, axis: int, batch: int) -> T:
    """One gather from all batches laid end to end; no index is outside."""
    count, size = element_count(x.shape[:batch]), x.shape[axis]
    outer, inner = x.shape[batch:axis], x.shape[axis + 1 :]
    perm = [*range(batch), axis, *range(batch, axis), *range(axis + 1, x.ndim)]
    rows = p.reshape(p.transpose(x, perm), (count * size, *outer, *inner))
    # Gathering from 0, 1, 2 ... makes negative indices positive.
    own = p.gather(p.constant(np.arange(size)), indices, 0)
    each = (np.arange(count) * size).reshape(*indices.shape[:batch], *(1,) * (indices.ndim - batch))
    taken = p.gather(rows, p.map(np.add, own, p.constant(each)), 0)
    # Its axes are batch, indices, outer, inner; the outer ones go before the indices.
    first, last = indices.ndim, indices.ndim + len(outer)
    perm = [*range(batch), *range(first, last), *range(batch, first), *range(last, taken.ndim)]
    return p.transpose(taken, perm)


def _check_indices(indices: Array, size: int, lowest: int) -> None:
    outside = (indices < lowest) | (indices >= size)
    if outside.any():
        raise IndexError(f"index {indices[outside].flat[0]} is outside [{lowest}, {size - 1}]")


def _element_index(shape: Sequence[int], indices: Array, axis: int, lowest: int) -> tuple[Array, ...]:
    """The index of element operators into ``shape``: ``indices`` along the axis, own place elsewhere."""
    _check_indices(indices, shape[axis], lowest)
    places: list[Array] = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    return tuple(places)


# --- What gather_scatter.h does with elements and tuples.

#: Types, by their characters, that scatters reduce.
_REDUCIBLE = frozenset("bhilBHILfd")
#: How many lengths of axes a tuple's routines take.
MAX_TUPLE_AXES = 8


def _pack_params(
    x: T, indices: T, ufunc: np.ufunc | None = None, count: int = 0, axis: int = 0, negative: bool = True
) -> int:
    """The first number of the routines of gather_scatter.h."""
    reduction = 0 if ufunc is None else _REDUCTION_UFUNCS.index(ufunc) + 1
    kind = 0 if ufunc is None else ord(kernels.type_char(x.dtype))
    parts = (x.dtype.itemsize, indices.dtype.itemsize, reduction, kind, count, axis, int(negative))
    return sum(part << 8 * k for k, part in enumerate(parts))


def _supports_routine(x: T, ufunc: np.ufunc | None = None) -> bool:
    """Whether the routines take these elements, and reduce them."""
    if x.dtype.hasobject or x.dtype.itemsize > 255:
        return False
    return ufunc is None or kernels.type_char(x.dtype) in _REDUCIBLE


def _require_numpy(p: P) -> None:
    """What follows works on arrays alone."""
    if p.emits:
        raise NoNativeKernel


def _call_routine(p: P, name: str, inputs: Sequence[T], shape: Sequence[int], numbers: Sequence[int], check: Any) -> T:
    """A routine of gather_scatter.h; ``check`` says which index is outside, where one is."""
    outputs, failure, onto = [(shape, inputs[0].dtype)], "index outside", name.startswith("scatter")
    try:
        (result,) = p.call(
            RoutineCall(f"gather_scatter.{name}", outputs, numbers, failure=failure, updates_copy=onto), inputs
        )
    except UnsupportedError:
        raise
    except ModelError:
        if not p.emits:
            check()
        raise
    return result


def _index_tensor(p: P, x: T) -> T:
    return x if x.dtype in (np.int32, INT64) else p.cast(x, INT64)


def _check_elements(shape: Sequence[int], indices: T, axis: int) -> None:
    """Hold indices of element operators to the shape of the data."""
    if indices.ndim != len(shape) or not all(
        k == axis or m <= n for k, (m, n) in enumerate(zip(indices.shape, shape, strict=True))
    ):
        raise ValueError(f"indices of shape {indices.shape} do not fit axis {axis} of {tuple(shape)}")


def _merge_axes(shape: Sequence[int], indices: Sequence[int], axis: int) -> tuple[list[Any], int] | None:
    """For each axis its length in both, neighbours taken as one where that changes nothing; and the place of ``axis``.

    None: they are too many.
    """
    pairs: list[Any] = []
    found = 0
    for k, pair in enumerate(zip(shape, indices, strict=True)):
        if pairs and axis not in (k, k - 1) and pair[0] == pair[1]:
            pairs[-1] = (pairs[-1][0] * pair[0], pairs[-1][1] * pair[1])
            continue
        found = len(pairs) if k == axis else found
        pairs.append(pair)
    return ([n for pair in pairs for n in pair], found) if len(pairs) <= MAX_AXES else None


@onnx("GatherElements", since=11)
@openvino("GatherElements", since=6)
def gather_elements(p: P, x: T, indices: T, *, axis: int = 0) -> T:
    axis = normalize_existing_axis(axis, x.ndim)
    _check_elements(x.shape, indices, axis)
    indices = _index_tensor(p, indices)
    joined = _merge_axes(x.shape, indices.shape, axis)
    if joined is None or not _supports_routine(x):
        _require_numpy(p)
        return x[_element_index(x.shape, indices, axis, -x.shape[axis])]
    axes, along = joined
    numbers = (_pack_params(x, indices, count=len(axes) // 2, axis=along), *axes)
    check = partial(_element_index, x.shape, indices, axis, -x.shape[axis])
    return _call_routine(p, "gather_elements", [x, indices], indices.shape, numbers, check)


def _tuple_index(shape: Sequence[int], indices: Array, batch: int) -> tuple[Array, ...]:
    """How the tuples ``indices[..., :]`` reach a tensor of ``shape``, after ``batch`` leading dimensions."""
    places = indices.shape[:-1]
    index = []
    for k in range(batch):
        own = np.arange(places[k]) if shape[k] != 1 else np.zeros(places[k], INT64)
        index.append(np.broadcast_to(own.reshape(-1, *(1,) * (len(places) - k - 1)), places))
    for k in range(indices.shape[-1]):
        size = shape[batch + k]
        _check_indices(indices[..., k], size, -size)
        index.append(indices[..., k])
    return tuple(index)


def _check_tuples(shape: Sequence[int], indices: T, batch: int) -> int:
    """The length of the tuples, which have to fit the shape."""
    length = int(indices.shape[-1]) if indices.ndim else -1
    if not (0 <= batch < indices.ndim and 0 <= length <= len(shape) - batch):
        raise ValueError(f"indices of shape {indices.shape} do not fit {tuple(shape)} with batch_dims {batch}")
    return length


def _gather_nd(p: P, x: T, indices: T, batch: int) -> T:
    """Leading dimensions, so many, are equal."""
    length = _check_tuples(x.shape, indices, batch)
    rest = x.shape[batch + length :]
    shape = (*indices.shape[:-1], *rest)
    if not length:
        ones = (1,) * (indices.ndim - 1 - batch)
        return p.broadcast(p.reshape(x, (*x.shape[:batch], *ones, *rest)), shape)
    indices = _index_tensor(p, indices)
    if length > MAX_TUPLE_AXES or not _supports_routine(x):
        _require_numpy(p)
        return np.asarray(x[_tuple_index(x.shape, indices, batch)], x.dtype)
    counts = element_count(shape[:batch]), element_count(indices.shape[batch:-1]), element_count(rest)
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
    """Leading dimensions are equal, or one of them is 1 and stretched."""
    batch = broadcast_shapes(x.shape[:batch_dims], indices.shape[:batch_dims])
    x, indices = (
        y if y.shape[:batch_dims] == batch else p.broadcast(y, (*batch, *y.shape[batch_dims:])) for y in (x, indices)
    )
    return _gather_nd(p, x, indices, batch_dims)


@openvino("GatherND", since=5)
def openvino_gather_nd_5(p: P, x: T, indices: T, *, batch_dims: int = 0) -> T:
    """Version 5 makes one dimension of all the leading ones."""
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


def _reduction(word: str | bytes, known: Reductions) -> np.ufunc | None:
    word = decode_string(word).lower()
    if word not in known:
        raise unknown_value_error("reduction", word, tuple(known))
    return known[word]


def _check_updates(updates: Array, shape: Sequence[int]) -> None:
    if updates.shape != tuple(shape):
        raise ValueError(f"updates have shape {list(updates.shape)} where {list(shape)} is needed")


def _scatter(data: Array, index: tuple[Any, ...], updates: Array, ufunc: np.ufunc | None) -> Array:
    """A copy of ``data`` with updates written, or reduced into it in their order."""
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
    _check_elements(data.shape, indices, axis)
    lowest = -data.shape[axis] if negative else 0
    indices = _index_tensor(p, indices)
    joined = _merge_axes(data.shape, indices.shape, axis)
    if joined is None or not _supports_routine(data, ufunc) or updates.dtype != data.dtype:
        _require_numpy(p)
        return _scatter(data, _element_index(data.shape, indices, axis, lowest), updates, ufunc)
    axes, along = joined
    how = _pack_params(data, indices, ufunc, len(axes) // 2, along, negative)
    check = partial(_element_index, data.shape, indices, axis, lowest)
    numbers = (how, data.size * data.dtype.itemsize, *axes)
    return _call_routine(p, "scatter_elements", [data, indices, updates], data.shape, numbers, check)


@onnx("Scatter", since=9)
@onnx("ScatterElements", since=11)
def scatter_elements(p: P, data: T, indices: T, updates: T, *, axis: int = 0, reduction: str = "none") -> T:
    ufunc = _reduction(reduction, _ONNX_REDUCTIONS)
    return _scatter_elements(p, data, indices, updates, normalize_existing_axis(axis, data.ndim), ufunc)


@openvino("ScatterElementsUpdate", since=3)
def scatter_elements_update(p: P, data: T, indices: T, updates: T, axis: T) -> T:
    along = normalize_existing_axis(read_int(p, axis, "axis"), data.ndim)
    return _scatter_elements(p, data, indices, updates, along, None, negative=False)


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
    along = normalize_existing_axis(read_int(p, axis, "axis"), data.ndim)
    mean = reduction.lower() == "mean"
    ufunc = np.add if mean else _reduction(reduction, _OPENVINO_REDUCTIONS)
    if ufunc is None or (use_init_val and not mean):
        return _scatter_elements(p, data, indices, updates, along, ufunc)
    _require_numpy(p)
    _check_updates(updates, indices.shape)
    _check_elements(data.shape, indices, along)
    index = _element_index(data.shape, indices, along, -data.shape[along])
    start = data
    if not use_init_val:
        start = data.copy()
        start[index] = _identity(ufunc, data.dtype)
    out = _scatter(start, index, updates, ufunc)
    if not mean:
        return out
    count = np.full(data.shape, int(use_init_val))
    np.add.at(count, index, 1)
    count = np.maximum(count, 1)
    mean_of = out // count.astype(data.dtype) if is_integer(data.dtype) else out / count
    return np.asarray(mean_of, data.dtype)


def _identity(ufunc: np.ufunc, dtype: Dtype) -> Any:
    """What changes nothing when it is reduced with another number."""
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
    length = _check_tuples(data.shape, indices, 0)
    rest = data.shape[length:]
    _check_updates(updates, (*indices.shape[:-1], *rest))
    indices = _index_tensor(p, indices)
    if length > MAX_TUPLE_AXES or not _supports_routine(data, ufunc) or updates.dtype != data.dtype:
        _require_numpy(p)
        return _scatter(data, _tuple_index(data.shape, indices, 0), updates, ufunc)
    how = _pack_params(data, indices, ufunc, length)
    counts = data.size * data.dtype.itemsize, element_count(indices.shape[:-1]), element_count(rest)
    check = partial(_tuple_index, data.shape, indices, 0)
    numbers = (how, *counts, *data.shape[:length])
    return _call_routine(p, "scatter_tuples", [data, indices, updates], data.shape, numbers, check)


@onnx("ScatterND", since=11)
def scatter_nd(p: P, data: T, indices: T, updates: T, *, reduction: str = "none") -> T:
    return _scatter_nd(p, data, indices, updates, _reduction(reduction, _ONNX_REDUCTIONS))


@openvino("ScatterNDUpdate", since=3)
def scatter_nd_update(p: P, data: T, indices: T, updates: T, *, reduction: str = "none") -> T:
    if indices.ndim == 1 and indices.size == data.ndim and updates.size == 1:
        updates = p.reshape(updates, ())  # "if the expected rank is 0 it can be a tensor with a single element"
    return _scatter_nd(p, data, indices, updates, _reduction(reduction, _OPENVINO_REDUCTIONS))


@openvino("ScatterUpdate", since=3)
def scatter_update(p: P, data: T, indices: T, updates: T, axis: T) -> T:
    along = normalize_existing_axis(read_int(p, axis, "axis"), data.ndim)
    _check_updates(updates, (*data.shape[:along], *indices.shape, *data.shape[along + 1 :]))
    indices = _index_tensor(p, indices)
    check = partial(_check_indices, indices, data.shape[along], 0)
    if not _supports_routine(data) or updates.dtype != data.dtype:
        _require_numpy(p)
        check()
        index: tuple[Any, ...] = (*(slice(None),) * along, indices)
        return _scatter(data, index, updates, None)
    outer, inner = element_count(data.shape[:along]), element_count(data.shape[along + 1 :])
    how = _pack_params(data, indices, negative=False)
    numbers = (how, data.size * data.dtype.itemsize, outer, data.shape[along], indices.size, inner)
    return _call_routine(p, "scatter_rows", [data, indices, updates], data.shape, numbers, check)


@onnx("TensorScatter", since=24)
def tensor_scatter(
    p: P, past_cache: T, update: T, write_indices: T | None = None, *, axis: int = -2, mode: str = "linear"
) -> T:
    """Each batch's rows are written from its index on; ``circular``: beyond the end from the start again."""
    data, along = past_cache, normalize_existing_axis(axis, past_cache.ndim)
    if decode_string(mode) not in ("linear", "circular"):
        raise unknown_value_error("mode", decode_string(mode), ("linear", "circular"))
    fits = update.ndim == data.ndim and all(
        n <= m if k == along else n == m for k, (n, m) in enumerate(zip(update.shape, data.shape, strict=True))
    )
    if along == 0 or not fits or update.dtype != data.dtype:
        raise ModelError(f"updates of shape {update.shape} do not fit axis {along} of a cache of shape {data.shape}")
    batches, length = data.shape[0], data.shape[along]
    first = p.constant(np.zeros(batches, INT64)) if write_indices is None else cast(p, write_indices, INT64)
    if first.shape != (batches,):
        raise ModelError(f"write_indices has shape {first.shape}, and there are {batches} batches")
    if data.dtype.hasobject:
        raise ModelError("a cache of strings is not supported")
    block = element_count(data.shape[along + 1 :]) * data.dtype.itemsize
    sizes = (
        data.size * data.dtype.itemsize,
        batches,
        element_count(data.shape[1:along]),
        length,
        update.shape[along],
        block,
    )
    numbers = (int(decode_string(mode) == "circular"), *sizes)
    failure = f"write_indices lead out of axis {along} of the cache's shape {data.shape}"
    inputs, outputs = [data, update, first], [(data.shape, data.dtype)]
    (result,) = p.call(
        RoutineCall("gather_scatter.scatter_runs", outputs, numbers, failure=failure, updates_copy=True), inputs
    )
    return result


# --- One-hot


def _one_hot(p: P, indices: T, depth: int, on: T, off: T, axis: int, negative: bool) -> T:
    if depth < 0:
        raise ValueError(f"depth must not be negative, and it is {depth}")
    along = normalize_existing_axis(axis, indices.ndim + 1)
    classes = index_range(depth).reshape(-1, *(1,) * (indices.ndim - along))
    indices = cast(p, indices, INT64)
    indices = p.reshape(indices, (*indices.shape[:along], 1, *indices.shape[along:]))
    hit = p.map(np.equal, indices, p.constant(classes))
    if negative:
        hit = p.map(np.logical_or, hit, p.map(np.equal, indices, p.constant(classes - depth)))
    return p.where(hit, p.reshape(on, ()), p.reshape(off, ()))


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
    """Version 16 adds the mode; its page spells the words with hyphens, the runtime with underscores."""
    mode = negative_indices_mode.lower().replace("-", "_")
    if mode not in ("ignore_negative", "normalize"):
        raise unknown_value_error("negative_indices_mode", negative_indices_mode, ("ignore_negative", "normalize"))
    return _one_hot(p, indices, read_int(p, depth, "depth"), on, off, axis, negative=mode == "normalize")
