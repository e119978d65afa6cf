"""Reading and writing at indices that are data: gathering, scattering, one-hot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels.walks import broadcast_shapes
from .axes import normal_axis, one_int, text, unknown_word, volume
from .registry import onnx, openvino
from .support import Dtype, cast, constant, is_integer

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)


# --- Gathering


@onnx("Gather")
def gather(p: P, x: T, indices: T, *, axis: int = 0) -> T:
    return p.gather(x, indices, normal_axis(axis, x.ndim))


@openvino("Gather")
def openvino_gather_1(p: P, x: T, indices: T, axis: T) -> T:
    return _gather_or_zero(p, x, indices, axis, 0, negative=False)


@openvino("Gather", since=7)
def openvino_gather_7(p: P, x: T, indices: T, axis: T, *, batch_dims: int = 0) -> T:
    return _gather_or_zero(p, x, indices, axis, batch_dims, negative=False)


@openvino("Gather", since=8)
def openvino_gather_8(p: P, x: T, indices: T, axis: T, *, batch_dims: int = 0) -> T:
    return _gather_or_zero(p, x, indices, axis, batch_dims, negative=True)


def _gather_or_zero(p: P, x: T, indices: T, axis: T, batch_dims: int, negative: bool) -> T:
    """OpenVINO's Gather: an index outside gives zeros (Gather-8, example 7; older ones do so unwritten)."""
    along = normal_axis(one_int(p, axis, "axis"), x.ndim)
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
    lowest = constant(p, -size if negative else 0, indices.dtype)
    below = p.map(np.less, indices, constant(p, size, indices.dtype))
    inside = p.map(np.logical_and, p.map(np.less_equal, lowest, indices), below)
    safe = p.where(inside, indices, constant(p, 0, indices.dtype))
    rows = _gather_batched(p, x, safe, along, batch) if batch else p.gather(x, safe, along)
    outer, inner = (1,) * (along - batch), (1,) * (x.ndim - along - 1)
    mask = p.reshape(inside, (*indices.shape[:batch], *outer, *indices.shape[batch:], *inner))
    return p.where(mask, rows, constant(p, "" if x.dtype.kind == "O" else 0, x.dtype))


def _gather_batched(p: P, x: T, indices: T, axis: int, batch: int) -> T:
    """One gather from all batches laid end to end; no index is outside."""
    count, size = volume(x.shape[:batch]), x.shape[axis]
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
    fits = indices.ndim == len(shape) and all(
        k == axis or m <= n for k, (m, n) in enumerate(zip(indices.shape, shape, strict=True))
    )
    if not fits:
        raise ValueError(f"indices of shape {indices.shape} do not fit axis {axis} of {tuple(shape)}")
    _check_indices(indices, shape[axis], lowest)
    places: list[Array] = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    return tuple(places)


@onnx("GatherElements", since=11, native=False)
@openvino("GatherElements", since=6, native=False)
def gather_elements(p: P, x: Array, indices: Array, *, axis: int = 0) -> Array:
    axis = normal_axis(axis, x.ndim)
    return x[_element_index(x.shape, indices, axis, -x.shape[axis])]


def _tuple_index(shape: Sequence[int], indices: Array, batch: int) -> tuple[Array, ...]:
    """How the tuples ``indices[..., :]`` reach a tensor of ``shape``, after ``batch`` leading dimensions."""
    length = indices.shape[-1] if indices.ndim else -1
    if not (0 <= batch < indices.ndim and 0 <= length <= len(shape) - batch):
        raise ValueError(f"indices of shape {indices.shape} do not fit {tuple(shape)} with batch_dims {batch}")
    places = indices.shape[:-1]
    index = []
    for k in range(batch):
        own = np.arange(places[k]) if shape[k] != 1 else np.zeros(places[k], INT64)
        index.append(np.broadcast_to(own.reshape(-1, *(1,) * (len(places) - k - 1)), places))
    for k in range(length):
        size = shape[batch + k]
        _check_indices(indices[..., k], size, -size)
        index.append(indices[..., k])
    return tuple(index)


def _gather_nd(x: Array, indices: Array, batch: int) -> Array:
    index = _tuple_index(x.shape, indices, batch)
    if not index:
        return np.broadcast_to(x, (*indices.shape[:-1], *x.shape))
    return np.asarray(x[index], x.dtype)


@onnx("GatherND", since=11, native=False)
def gather_nd(p: P, x: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    if x.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise ValueError(f"the first {batch_dims} dimensions of {x.shape} and {indices.shape} must be equal")
    return _gather_nd(x, indices, batch_dims)


@openvino("GatherND", since=8, native=False)
def openvino_gather_nd(p: P, x: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """Leading dimensions are equal, or one of them is 1 and stretched."""
    batch = broadcast_shapes(x.shape[:batch_dims], indices.shape[:batch_dims])
    return _gather_nd(x, np.broadcast_to(indices, (*batch, *indices.shape[batch_dims:])), batch_dims)


@openvino("GatherND", since=5, native=False)
def openvino_gather_nd_5(p: P, x: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """Version 5 makes one dimension of all the leading ones."""
    result: Array = openvino_gather_nd(p, x, indices, batch_dims=batch_dims)
    return result.reshape(-1, *result.shape[batch_dims:]) if batch_dims else result


# --- Scattering

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
    word = text(word).lower()
    if word not in known:
        raise unknown_word("reduction", word, tuple(known))
    return known[word]


def _check_updates(updates: Array, shape: Sequence[int]) -> None:
    if updates.shape != tuple(shape):
        raise ValueError(f"updates have shape {list(updates.shape)} where {list(shape)} is needed")


def _scattered(data: Array, index: tuple[Any, ...], updates: Array, ufunc: np.ufunc | None) -> Array:
    """A copy of ``data`` with updates written, or reduced into it in their order."""
    out = data.copy()
    if ufunc is None:
        out[index] = updates
        return out
    if ufunc is np.subtract and data.dtype == bool:
        ufunc = np.logical_xor
    ufunc.at(out, index, updates)
    return out


@onnx("Scatter", since=9, native=False)
@onnx("ScatterElements", since=11, native=False)
def scatter_elements(
    p: P, data: Array, indices: Array, updates: Array, *, axis: int = 0, reduction: str = "none"
) -> Array:
    axis = normal_axis(axis, data.ndim)
    _check_updates(updates, indices.shape)
    index = _element_index(data.shape, indices, axis, -data.shape[axis])
    return _scattered(data, index, updates, _reduction(reduction, _ONNX_REDUCTIONS))


@openvino("ScatterElementsUpdate", since=3, native=False)
def scatter_elements_update(p: P, data: Array, indices: Array, updates: Array, axis: Array) -> Array:
    along = normal_axis(one_int(p, axis, "axis"), data.ndim)
    _check_updates(updates, indices.shape)
    return _scattered(data, _element_index(data.shape, indices, along, 0), updates, None)


@openvino("ScatterElementsUpdate", since=12, native=False)
def scatter_elements_update_12(
    p: P,
    data: Array,
    indices: Array,
    updates: Array,
    axis: Array,
    *,
    reduction: str = "none",
    use_init_val: bool = True,
) -> Array:
    along = normal_axis(one_int(p, axis, "axis"), data.ndim)
    _check_updates(updates, indices.shape)
    index = _element_index(data.shape, indices, along, -data.shape[along])
    mean = reduction.lower() == "mean"
    ufunc = np.add if mean else _reduction(reduction, _OPENVINO_REDUCTIONS)
    if ufunc is None:
        return _scattered(data, index, updates, None)
    start = data
    if not use_init_val:
        start = data.copy()
        start[index] = _identity(ufunc, data.dtype)
    out = _scattered(start, index, updates, ufunc)
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


def _scatter_nd(data: Array, indices: Array, updates: Array, ufunc: np.ufunc | None) -> Array:
    index = _tuple_index(data.shape, indices, 0)
    _check_updates(updates, (*indices.shape[:-1], *data.shape[len(index) :]))
    return _scattered(data, index, updates, ufunc)


@onnx("ScatterND", since=11, native=False)
def scatter_nd(p: P, data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    return _scatter_nd(data, indices, updates, _reduction(reduction, _ONNX_REDUCTIONS))


@openvino("ScatterNDUpdate", since=3, native=False)
def scatter_nd_update(p: P, data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    if indices.ndim == 1 and indices.size == data.ndim and updates.size == 1:
        updates = updates.reshape(())  # "if the expected rank is 0 it can be a tensor with a single element"
    return _scatter_nd(data, indices, updates, _reduction(reduction, _OPENVINO_REDUCTIONS))


@openvino("ScatterUpdate", since=3, native=False)
def scatter_update(p: P, data: Array, indices: Array, updates: Array, axis: Array) -> Array:
    along = normal_axis(one_int(p, axis, "axis"), data.ndim)
    _check_updates(updates, (*data.shape[:along], *indices.shape, *data.shape[along + 1 :]))
    _check_indices(indices, data.shape[along], 0)
    index: tuple[Any, ...] = (*(slice(None),) * along, indices)
    return _scattered(data, index, updates, None)


# --- One-hot


def _one_hot(p: P, indices: T, depth: int, on: T, off: T, axis: int, negative: bool) -> T:
    if depth < 0:
        raise ValueError(f"depth must not be negative, and it is {depth}")
    along = normal_axis(axis, indices.ndim + 1)
    classes = np.arange(depth).reshape(-1, *(1,) * (indices.ndim - along))
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
    return _one_hot(p, indices, one_int(p, depth, "depth"), on, off, axis, negative)


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
        raise unknown_word("negative_indices_mode", negative_indices_mode, ("ignore_negative", "normalize"))
    return _one_hot(p, indices, one_int(p, depth, "depth"), on, off, axis, negative=mode == "normalize")
