"""Operators of ``com.microsoft`` that predate their ONNX counterparts or have none.

Counterparts share the ONNX implementation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import (
    decode_string,
    normalize_existing_axis,
    read_int,
    read_ints,
    shape_error,
    unknown_value_error,
)
from .convolution import conv_transpose
from .gather_scatter import gather_nd
from .grid_sample import interpolation_mode, sample_grid
from .matmul import matmul_product, swap_matrix_axes
from .microsoft_elementwise import MICROSOFT
from .openvino_misc import inverse
from .operator_helpers import cast, constant
from .registry import inherit_attributes, onnx
from .shape import range_
from .slice_concat_pad import pad
from .table_lookup import unique_in_order

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_INT64 = np.dtype(np.int64)
_METRICS = ("sqeuclidean", "euclidean")
_SAMPLINGS = ("bilinear", "nearest", "bicubic")


# --- Operators with an ONNX counterpart.


@onnx("GatherND", domain=MICROSOFT)
def microsoft_gather_nd(p: P, x: T, indices: T) -> T:
    return gather_nd(p, x, cast(p, indices, _INT64))


@onnx("GridSample", domain=MICROSOFT)
def microsoft_grid_sample(
    p: P, x: T, grid: T, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> T:
    """Clamps taps rather than coordinates to the border, unlike ONNX."""
    if decode_string(mode) not in _SAMPLINGS:
        raise unknown_value_error("mode", decode_string(mode), _SAMPLINGS)
    if x.ndim != 4 or grid.ndim != 4:
        raise shape_error("input", x.shape, f"and a grid of shape {grid.shape} do not have four axes each")
    return sample_grid(
        p, x, grid, interpolation_mode(mode), decode_string(padding_mode), bool(align_corners), clamp_first=False
    )


@onnx("Inverse", domain=MICROSOFT, native=False)
def microsoft_inverse(p: P, x: Array) -> Array:
    result: Array = inverse(p, x)
    return result


@onnx("Pad", domain=MICROSOFT)
def microsoft_pad(p: P, x: T, pads: T, value: T | None = None, *, mode: str = "constant") -> T:
    """``pads`` may be a matrix with one row."""
    if pads.ndim == 2 and pads.shape[0] == 1:
        pads = p.reshape(pads, pads.shape[1:])
    if pads.ndim != 1:
        raise shape_error("pads", pads.shape, "are not a list, nor one row of a matrix")
    return pad(p, x, pads, value, mode=mode)


@onnx("Range", domain=MICROSOFT)
def microsoft_range(p: P, start: T, limit: T, delta: T | None = None) -> T:
    """Each input may be a one-element vector."""
    step = constant(p, 1, start.dtype) if delta is None else delta
    for x, name in ((start, "start"), (limit, "limit"), (step, "delta")):
        if x.ndim > 1 or x.size != 1:
            raise shape_error(name, x.shape, "is not one number")
    return range_(p, *(p.reshape(x, ()) for x in (start, limit, step)))


@onnx("Unique", domain=MICROSOFT)
def microsoft_unique(p: P, x: T, *, n_outputs: int = 3) -> Any:
    """Unique elements in order of appearance, inverse indices and counts."""
    if x.ndim != 1:
        raise shape_error("input", x.shape, "is not a list")
    values, _, inverse, counts = unique_in_order(p, x)
    return (values, inverse, counts)[:n_outputs]


@onnx("ConvTransposeWithDynamicPads", domain=MICROSOFT)
@inherit_attributes(conv_transpose, "output_shape", "pads")
def conv_transpose_with_dynamic_pads(p: P, x: T, w: T, pads: T, bias: T | None = None, **attributes: Any) -> T:
    return conv_transpose(p, x, w, bias, pads=read_ints(p, pads), **attributes)


@onnx("MatMulInteger16", domain=MICROSOFT)
def matmul_integer_16(p: P, a: T, b: T) -> T:
    """Wrapping 32-bit sums."""
    unsigned = a.dtype.kind == b.dtype.kind == "u"
    accumulator = np.dtype(np.uint32 if unsigned else np.int32)
    return matmul_product(p, cast(p, a, accumulator), cast(p, b, accumulator))


# --- Operators without an ONNX counterpart.


@onnx("ExpandDims", domain=MICROSOFT)
def expand_dims(p: P, x: T, axis: T) -> T:
    position = normalize_existing_axis(read_int(p, axis, "axis"), x.ndim + 1)
    return p.reshape(x, (*x.shape[:position], 1, *x.shape[position:]))


@onnx("UnfoldTensor", domain=MICROSOFT)
def unfold_tensor(p: P, x: T, *, size: int, dim: int = -1, step: int = 1) -> T:
    """Sliding windows of ``size`` along ``dim`` by ``step``; the window contents become the last axis."""
    axis = normalize_existing_axis(dim, x.ndim)
    length = x.shape[axis]
    if size < 1 or step < 1:
        raise ModelError(
            f"windows with size={size} and step={step} cannot be: both have to be positive",
            name="size" if size < 1 else "step",
            expected="1 or more",
        )
    if size > length:
        raise ModelError(
            f"windows of {size} do not fit an axis of {length}",
            name="size",
            expected=f"at most {length}",
            got=str(size),
        )
    starts = np.arange(0, length - size + 1, step)
    windows = p.gather(x, p.constant(starts[:, None] + np.arange(size)), axis)
    rest = range(axis + 2, windows.ndim)
    return p.transpose(windows, (*range(axis + 1), *rest, axis + 1))


@onnx("CDist", domain=MICROSOFT)
def cdist(p: P, a: T, b: T, *, metric: str = "sqeuclidean") -> T:
    """Pairwise distances of the rows of two matrices, by one matrix product."""
    metric = decode_string(metric)
    if metric not in _METRICS:
        raise unknown_value_error("metric", metric, _METRICS)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ModelError(
            f"the rows of {a.shape} and of {b.shape} are not of one width", name="B", got=f"{a.shape} and {b.shape}"
        )

    def squares(x: T) -> T:
        return p.reduce(np.add, p.map(np.multiply, x, x), (1,), True)

    cross_terms = p.map(np.multiply, matmul_product(p, a, swap_matrix_axes(p, b)), constant(p, -2, a.dtype))
    total = p.map(np.add, p.map(np.add, cross_terms, squares(a)), swap_matrix_axes(p, squares(b)))
    total = p.map(np.maximum, total, constant(p, 0, a.dtype))  # rounding may give negative results
    return p.map(np.sqrt, total) if metric == "euclidean" else total


@onnx("NGramRepeatBlock", domain=MICROSOFT, native=False)
def ngram_repeat_block(p: P, input_ids: Array, scores: Array, *, ngram_size: int) -> Array:
    """Set the score of tokens that would repeat an n-gram to -inf."""
    if ngram_size < 1:
        raise ModelError(
            f"ngram_size={ngram_size} is not positive", name="ngram_size", expected="1 or more", got=str(ngram_size)
        )
    if input_ids.ndim != 2 or scores.ndim != 2 or len(input_ids) != len(scores):
        raise shape_error("ids", input_ids.shape, f"do not fit scores of shape {scores.shape}")
    result = scores.copy()
    length, prefix_length = input_ids.shape[1], ngram_size - 1
    for row, ids in zip(result, input_ids, strict=True):
        for start in range(length - prefix_length):
            if np.array_equal(ids[start : start + prefix_length], ids[length - prefix_length :]):
                token = int(ids[start + prefix_length])
                if not 0 <= token < len(row):
                    raise ModelError(
                        f"the id {token} has none of the {len(row)} scores",
                        name="input_ids",
                        expected=f"less than {len(row)}",
                        got=str(token),
                    )
                row[token] = -np.inf
    return result


@onnx("DynamicTimeWarping", domain=MICROSOFT, native=False)
def dynamic_time_warping(p: P, x: Array) -> Array:
    """The minimum-cost path from the first to the last element of a cost matrix, as row and column indices."""
    if x.ndim == 3 and x.shape[0] == 1:
        x = x[0]
    if x.ndim != 2 or not x.size:
        raise shape_error("costs", x.shape, "are no matrix")
    rows, columns = x.shape
    total = np.full((rows + 1, columns + 1), np.inf, x.dtype)
    total[0, 0] = 0
    moves = np.zeros((rows + 1, columns + 1), np.int8)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            costs = total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]
            # Ties move along the row.
            move = 0 if costs[0] < min(costs[1:]) else 1 if costs[1] < min(costs[0], costs[2]) else 2
            total[i, j], moves[i, j] = x[i - 1, j - 1] + costs[move], move
    moves[0, :], moves[:, 0] = 2, 1
    path = []
    i, j = rows, columns
    while i > 0 or j > 0:
        path.append((i - 1, j - 1))
        move = int(moves[i, j])
        i, j = i - int(move != 2), j - int(move != 1)
    return np.ascontiguousarray(np.array(path[::-1], np.int32).T)
