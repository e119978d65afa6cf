"""Lookup operators: buckets, sorted search, unique elements, embedding bags, segments."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..errors import ModelError
from ..graph import Array
from ..kernels.kernel import type_char
from .axis_arguments import normalize_existing_axis, read_int, read_ints, unknown_value_error
from .operator_helpers import Dtype, cast, constant, full_constant, working_dtype
from .primitive_types import NoNativeKernel, RoutineCall
from .registry import older_version, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)
#: Type characters that the Unique routine can sort.
_SORTABLE_TYPES = "?bBhHiIlLefd"


# --- Sorted boundaries


@openvino("Bucketize", since=3, native=False)
def bucketize(p: P, x: Array, buckets: Array, *, output_type: Dtype = INT64, with_right_bound: bool = True) -> Array:
    """``with_right_bound``: a bucket includes its right boundary, not its left one."""
    side: Literal["left", "right"] = "left" if with_right_bound else "right"
    common = np.promote_types(x.dtype, buckets.dtype)
    return np.asarray(np.searchsorted(buckets.reshape(-1).astype(common), x.astype(common), side=side), output_type)


@openvino("SearchSorted", since=15, native=False)
def search_sorted(p: P, boundaries: Array, x: Array, *, right_mode: bool = False, output_type: Dtype = INT64) -> Array:
    """Search rows of values in sorted rows along the last axis; a single row of boundaries applies to all."""
    side: Literal["left", "right"] = "right" if right_mode else "left"
    if boundaries.ndim == 1:
        return np.asarray(np.searchsorted(boundaries, x, side=side), output_type)
    if boundaries.shape[:-1] != x.shape[:-1]:
        raise ValueError(f"boundaries of shape {boundaries.shape} do not fit values of shape {x.shape}")
    tables = boundaries.reshape(-1, boundaries.shape[-1])
    rows = x.reshape(len(tables), -1) if x.size else np.empty((len(tables), 0), x.dtype)
    positions = np.empty(rows.shape, output_type)
    for row, table, out in zip(rows, tables, positions, strict=True):
        out[...] = np.searchsorted(table, row, side=side)
    return positions.reshape(x.shape)


def _unique(p: P, x: T, axis: int | None, ordered: bool, index: Dtype, count: Dtype) -> tuple[T, ...]:
    """Unique elements (or parts along ``axis``), first indices, inverse indices and counts.

    ``ordered``: ascending; else in order of appearance.
    """
    n, char = x.size, type_char(x.dtype)
    if axis is None and char and char in _SORTABLE_TYPES and index.itemsize >= 4 and count.itemsize >= 4:
        numbers = (n, x.dtype.itemsize, ord(char), int(ordered), index.itemsize, count.itemsize)
        outputs = (((n,), x.dtype), ((n,), index), ((n,), index), ((n,), count))
        results: tuple[T, ...] = p.call(
            RoutineCall("data_movement.unique", outputs, numbers, 32 * n + 8, growing_axes=(0, 0, -1, 0)), (x,)
        )
        return results
    if not isinstance(x, np.ndarray):
        raise NoNativeKernel
    axis_index = None if axis is None else normalize_existing_axis(axis, x.ndim)
    values, first_indices, inverse, counts = np.unique(x, True, True, True, axis=axis_index)
    inverse = inverse.reshape(-1)
    if not ordered:
        order = np.argsort(first_indices)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        values = np.take(values, order, 0 if axis_index is None else axis_index)
        first_indices, counts, inverse = first_indices[order], counts[order], rank[inverse]
    return values, first_indices.astype(index), inverse.astype(index), counts.astype(count)


@openvino("Unique", since=10)
def openvino_unique(
    p: P,
    x: T,
    axis: T | None = None,
    *,
    sorted: bool = True,
    index_element_type: Dtype = INT64,
    count_element_type: Dtype = INT64,
    n_outputs: int = 4,
) -> Any:
    axis_index = None if axis is None else read_int(p, axis, "axis")
    return _unique(p, x, axis_index, sorted, index_element_type, count_element_type)[:n_outputs]


@onnx("Unique", since=11)
def unique(p: P, x: T, *, axis: int | None = None, sorted: int = 1, n_outputs: int = 4) -> Any:
    return _unique(p, x, axis, bool(sorted), INT64, INT64)[:n_outputs]


def unique_in_order(p: P, x: T) -> tuple[T, ...]:
    """ONNX Unique with ``sorted=0``."""
    return _unique(p, x, None, False, INT64, INT64)


@openvino("Eye", since=9)
def eye(p: P, rows: T, columns: T, diagonal: T, batch: T | None = None, *, output_type: Dtype) -> T:
    height, width = read_int(p, rows, "num_rows"), read_int(p, columns, "num_columns")
    if height < 0 or width < 0:
        raise ValueError(f"{height} rows and {width} columns make no matrix")
    matrix = np.eye(height, width, read_int(p, diagonal, "diagonal_index")).astype(output_type)
    batch_shape = () if batch is None else read_ints(p, batch)
    return p.constant(np.array(np.broadcast_to(matrix, (*batch_shape, height, width))))


# --- Embeddings


def _gather_rows(p: P, table: T, indices: T) -> T:
    """Gather rows of a table; a negative index is an error."""
    index = cast(p, indices, INT64)
    negative = p.map(np.less, index, constant(p, 0, INT64))
    return p.gather(table, p.where(negative, constant(p, table.shape[0], INT64), index), 0)


def _apply_row_weights(p: P, rows: T, weights: T | None) -> T:
    if weights is None:
        return rows
    return p.map(np.multiply, rows, p.reshape(weights, (*weights.shape, *(1,) * (rows.ndim - weights.ndim))))


def _divide_by_counts(p: P, total: T, counts: T) -> T:
    return p.map(np.divide, total, p.reshape(counts, (*counts.shape, *(1,) * (total.ndim - counts.ndim))))


def _is_mean(reduction: str) -> bool:
    """True if bags are averaged instead of summed."""
    if reduction.lower() not in ("sum", "mean"):
        raise unknown_value_error("reduction", reduction, ("sum", "mean"))
    return reduction.lower() == "mean"


@openvino("EmbeddingBagPacked", since=15)
def embedding_bag_packed(p: P, table: T, indices: T, weights: T | None = None, *, reduction: str = "sum") -> T:
    """Each row of ``indices`` is a bag."""
    if indices.ndim != 2:
        raise ValueError(f"the indices of packed bags need two axes, not shape {indices.shape}")
    mean = _is_mean(reduction)
    if mean and weights is not None:
        raise ModelError("reduction='mean' takes no weights")
    work = working_dtype(table.dtype)
    rows = _apply_row_weights(
        p, cast(p, _gather_rows(p, table, indices), work), None if weights is None else cast(p, weights, work)
    )
    total = p.reduce(np.add, rows, (1,), False)
    if mean:
        total = p.map(np.divide, total, constant(p, indices.shape[1], work))
    return cast(p, total, table.dtype)


@openvino("EmbeddingBagOffsets", since=15)
def embedding_bag_offsets(
    p: P,
    table: T,
    indices: T,
    offsets: T,
    default: T | None = None,
    weights: T | None = None,
    *,
    reduction: str = "sum",
) -> T:
    """Bag k has the indices from ``offsets[k]`` to the next offset; an empty bag gives row ``default``, or zeros."""
    starts = np.array(read_ints(p, offsets), INT64)
    count = indices.size
    if len(starts) and (starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > count):
        raise ValueError(f"offsets {starts.tolist()} must begin at 0, ascend, and stay within {count} indices")
    bags = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, count)))
    return _sum_segments(p, table, indices, bags, len(starts), default, weights, _is_mean(reduction))


openvino("EmbeddingBagPackedSum", since=3)(older_version(embedding_bag_packed, "reduction"))
openvino("EmbeddingBagOffsetsSum", since=3)(older_version(embedding_bag_offsets, "reduction"))


@openvino("EmbeddingSegmentsSum", since=3)
def embedding_segments_sum(
    p: P,
    table: T,
    indices: T,
    segment_ids: T,
    num_segments: T,
    default: T | None = None,
    weights: T | None = None,
) -> T:
    bags, count = np.array(read_ints(p, segment_ids), INT64), read_int(p, num_segments, "num_segments")
    if bags.shape != (indices.size,) or (len(bags) and not (bags.min() >= 0 and bags.max() < count)):
        raise ValueError(f"segment ids {bags.tolist()} do not fit {indices.size} indices and {count} segments")
    return _sum_segments(p, table, indices, bags, count, default, weights, mean=False)


def _sum_segments(
    p: P, table: T, indices: T, bags: Array, count: int, default: T | None, weights: T | None, mean: bool
) -> T:
    """Sum rows by bag; ``bags``: the bag of each index."""
    if mean and weights is not None:
        raise ModelError("reduction='mean' takes no weights")
    work = working_dtype(table.dtype)
    shape = (count, *table.shape[1:])
    sizes = np.bincount(bags, minlength=count)[:count]
    longest = int(sizes.max(initial=0))
    # Pad each bag to equal length with the index of an appended zero row.
    fill = np.full((count, longest), len(bags), INT64)
    order = np.argsort(bags, kind="stable")
    positions = np.arange(len(bags)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fill[bags[order], positions] = order
    total = full_constant(p, shape, 0, work)
    if longest:
        rows = cast(p, _gather_rows(p, table, p.reshape(indices, (indices.size,))), work)
        if weights is not None:
            rows = _apply_row_weights(p, rows, p.reshape(cast(p, weights, work), (indices.size,)))
        padded = p.assemble((len(bags) + 1, *table.shape[1:]), work, [(rows, (0,) * table.ndim)], 0)
        total = p.reduce(np.add, p.gather(padded, p.constant(fill), 0), (1,), False)
    if mean:
        total = _divide_by_counts(p, total, p.constant(np.maximum(sizes, 1).astype(work)))
    empty = sizes == 0
    if default is not None and empty.any() and read_int(p, default, "default_index") != -1:
        row = cast(p, _gather_rows(p, table, p.reshape(default, (1,))), work)
        mask = p.constant(empty.reshape(count, *(1,) * (table.ndim - 1)))
        total = p.where(mask, row, total)
    return cast(p, total, table.dtype)


@openvino("SegmentMax", since=16, native=False)
def segment_max(p: P, x: Array, segment_ids: Array, num_segments: Array | None = None, *, fill_mode: str) -> Array:
    """The maximum of each segment of rows; ``fill_mode``: the value of empty segments."""
    if fill_mode.upper() not in ("ZERO", "LOWEST"):
        raise unknown_value_error("fill_mode", fill_mode, ("ZERO", "LOWEST"))
    ids = segment_ids.astype(INT64)
    if ids.shape != x.shape[:1] or (np.diff(ids) < 0).any() or (ids < 0).any():
        raise ValueError(f"segment ids {ids.tolist()} must ascend from 0, one a row of {x.shape}")
    count = int(ids[-1]) + 1 if ids.size else 0
    if num_segments is not None:
        count = read_int(p, num_segments, "num_segments")
    lowest = _lowest_value(x.dtype)
    out = np.full((count, *x.shape[1:]), lowest, x.dtype)
    in_range = ids < count
    np.maximum.at(out, ids[in_range], x[in_range])
    if fill_mode.upper() == "ZERO":
        out[np.bincount(ids[in_range], minlength=count) == 0] = 0
    return out


def _lowest_value(dtype: Dtype) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    if dtype.kind == "f":
        return np.finfo(dtype).min
    import ml_dtypes

    limits: Any = ml_dtypes.finfo
    return limits(dtype).min


@openvino("SparseFillEmptyRows", since=16, native=False)
def sparse_fill_empty_rows(
    p: P, values: Array, dense_shape: Array, indices: Array, default: Array
) -> tuple[Array, Array, Array]:
    """Add ``default`` at the start of each empty row of a sparse matrix; rows are sorted."""
    rows = int(dense_shape.reshape(-1)[0])
    coords = indices.reshape(-1, 2)
    if len(coords) != len(values) or (len(coords) and not (coords[:, 0].min() >= 0 and coords[:, 0].max() < rows)):
        raise ValueError(f"indices of shape {indices.shape} do not fit {len(values)} values and {rows} rows")
    empty = np.bincount(coords[:, 0].astype(INT64), minlength=rows) == 0
    added = np.stack([np.flatnonzero(empty), np.zeros(int(empty.sum()), INT64)], 1).astype(indices.dtype)
    all_coordinates = np.concatenate([coords, added])
    filled = np.concatenate([values, np.full(len(added), default.reshape(()), values.dtype)])
    order = np.lexsort((all_coordinates[:, 1], all_coordinates[:, 0]))
    return all_coordinates[order], filled[order], empty
