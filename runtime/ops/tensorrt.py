"""Operators of TensorRT layers without ONNX counterpart.

Semantics follow the comments in TensorRT's NvInfer.h and NVIDIA's operator documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from ..kernels.strided_iteration import broadcast_shapes
from .attention import AttentionWindow, attend
from .attention import rotary_embedding as onnx_rotary
from .axis_arguments import normalize_existing_axis, read_ints, shape_error
from .gather_scatter import gather_elements as onnx_gather_elements
from .gather_scatter import gather_nd as onnx_gather_nd
from .gather_scatter import gather_or_zero, tensor_scatter
from .matmul import matmul_product
from .operator_helpers import cast, constant, is_float
from .registry import older_version, onnx

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any

_DOMAIN = "tensorrt"


# --- Slices


def _slice_source_indices(
    start: int, size: int, stride: int, extent: int, outside: str, axis: int
) -> tuple[Array, Array]:
    """The source index of each element of a slice, and the mask of those out of bounds."""
    index = start + stride * np.arange(size, dtype=np.int64)
    beyond = (index < 0) | (index >= extent)
    if not beyond.any():
        return index, beyond
    if outside == "error":
        element = int(index[beyond][0])
        raise ModelError(
            f"it takes element {element} of axis {axis}, which has {extent}: start {start}, {size} elements, stride"
            f" {stride}",
            name="start",
            expected=f"less than {extent}",
            got=str(element),
        )
    if outside == "fill":
        return np.where(beyond, 0, index), beyond
    if extent == 0:
        raise ModelError(
            f"axis {axis} has no elements, so mode {outside.upper()} has nothing to repeat", name="mode", got=outside
        )
    none_outside = np.zeros_like(beyond)
    if outside == "wrap":
        return index % extent, none_outside
    if outside == "clamp":
        return index.clip(0, extent - 1), none_outside
    period = max(2 * extent - 2, 1)
    folded = abs(index) % period
    return np.where(folded >= extent, period - folded, folded), none_outside


@onnx("Slice", domain=_DOMAIN)
def slice_(p: P, x: T, start: T, shape: T, stride: T, fill: T | None = None, *, axes: Sequence[int], outside: str) -> T:
    """``out[j] = x[start + j * stride]`` along ``axes``."""
    parts = [read_ints(p, part) for part in (start, shape, stride)]
    if any(len(part) != len(axes) for part in parts):
        raise ModelError(
            f"start, shape and stride have {[len(part) for part in parts]} numbers, for {len(axes)} axes",
            name="start",
            expected=f"{len(axes)} numbers",
        )
    firsts, extents, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    gathered_axes: list[tuple[int, Array]] = []
    masked_axes: list[tuple[int, Array]] = []
    for axis, *numbers in zip(axes, *parts, strict=True):
        first, size, step = map(int, numbers)
        if size < 0:
            raise ModelError(
                f"shape {parts[1]} has a negative size", name="shape", expected="0 or more", got=str(parts[1])
            )
        index, beyond = _slice_source_indices(first, size, step, int(x.shape[axis]), outside, axis)
        if beyond.any():
            masked_axes.append((axis, beyond))
        strided = size > 0 and step != 0 and not beyond.any() and bool((index == first + step * np.arange(size)).all())
        extents[axis] = size
        if strided:
            firsts[axis], steps[axis] = first, step
        elif size:
            gathered_axes.append((axis, index))
            extents[axis] = x.shape[axis]
    if masked_axes and not x.size:
        result_shape = list(x.shape)
        for axis, size in zip(axes, parts[1], strict=True):
            result_shape[axis] = size
        return p.broadcast(constant(p, 0, x.dtype) if fill is None else fill, tuple(result_shape))
    result = p.slice(x, firsts, steps, extents)
    for axis, index in gathered_axes:
        result = p.gather(result, p.constant(index), axis)
    if not masked_axes:
        return result
    mask = np.zeros(result.shape, bool)
    for axis, beyond in masked_axes:
        mask |= beyond.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    value = constant(p, 0, x.dtype) if fill is None else fill
    return p.where(p.constant(mask), p.broadcast(value, result.shape), result)


# --- Gathering; out-of-range indices read 0


def _replace_out_of_range(p: P, indices: T, extents: Array) -> tuple[T, T]:
    """Replace out-of-range indices by 0, and return the in-range mask; ``extents`` broadcast to the indices."""
    index = indices if indices.dtype in (np.int32, np.int64) else p.cast(indices, np.dtype(np.int64))
    lowest, highest = p.constant(-extents.astype(index.dtype)), p.constant(extents.astype(index.dtype))
    inside = p.map(np.logical_and, p.map(np.less_equal, lowest, index), p.map(np.less, index, highest))
    return p.where(inside, index, constant(p, 0, index.dtype)), inside


@onnx("Gather", domain=_DOMAIN)
def gather(p: P, x: T, indices: T, *, axis: int, batched: int = 0) -> T:
    """Gather along an axis; ``batched``: 1 if axis 0 is a batch axis of both, which broadcasts."""
    if batched:
        batch = broadcast_shapes(x.shape[:1], indices.shape[:1])
        x, indices = (y if y.shape[:1] == batch else p.broadcast(y, (*batch, *y.shape[1:])) for y in (x, indices))
    return gather_or_zero(p, x, indices, p.constant(np.array(axis)), batched, negative=True)


@onnx("GatherElements", domain=_DOMAIN)
def gather_elements(p: P, x: T, indices: T, *, axis: int) -> T:
    """``out[J] = x[J with J[axis] := indices[J]]``."""
    if not x.size:
        return p.constant(np.zeros(indices.shape, x.dtype))
    safe, inside = _replace_out_of_range(p, indices, np.array(int(x.shape[normalize_existing_axis(axis, x.ndim)])))
    return p.where(inside, onnx_gather_elements(p, x, safe, axis=axis), constant(p, 0, x.dtype))


@onnx("GatherND", domain=_DOMAIN)
def gather_nd(p: P, x: T, indices: T, *, batched: int = 0) -> T:
    """Gather parts by tuples in the last axis of the indices; ``batched``: 1 if axis 0 is a batch axis of both."""
    count = int(indices.shape[-1])
    extents = [int(extent) for extent in x.shape[batched : batched + count]]
    if len(extents) < count:
        raise ModelError(
            f"the last axis of the indices has {count} numbers, for data of shape {x.shape}",
            name="indices",
            got=str(count),
        )
    element_shape = x.shape[batched + count :]
    if not x.size:
        return p.constant(np.zeros((*indices.shape[:-1], *element_shape), x.dtype))
    safe, inside = _replace_out_of_range(p, indices, np.array(extents))
    all_inside = p.reduce(np.logical_and, inside, (inside.ndim - 1,), False)
    gathered = onnx_gather_nd(p, x, safe, batch_dims=batched)
    mask = p.reshape(all_inside, (*all_inside.shape, *(1,) * len(element_shape)))
    return p.where(mask, gathered, constant(p, 0, x.dtype))


# --- Filling


@onnx("Linspace", domain=_DOMAIN)
def linspace(p: P, shape: T, alpha: T, beta: T) -> T:
    """``alpha + sum of beta[k] * index k``."""
    sizes = read_ints(p, shape)
    if any(size < 0 for size in sizes):
        raise ModelError(
            f"the shape to fill, {sizes}, has a negative size", name="shape", expected="0 or more", got=str(sizes)
        )
    if beta.size != len(sizes):
        raise ModelError(
            f"beta has {beta.size} numbers, and the shape to fill {len(sizes)} dimensions",
            name="beta",
            expected=f"{len(sizes)} numbers",
            got=str(beta.size),
        )
    working = np.dtype(np.float64 if is_float(alpha.dtype) else np.int64)
    result = p.broadcast(p.reshape(cast(p, alpha, working), (1,) * len(sizes)), sizes)
    for k, size in enumerate(sizes):
        steps = p.constant(np.arange(size, dtype=working).reshape([-1 if j == k else 1 for j in range(len(sizes))]))
        step = p.slice(p.reshape(cast(p, beta, working), (beta.size,)), [k], [1], [1])
        step = p.reshape(step, (1,) * len(sizes))
        result = p.map(np.add, result, p.map(np.multiply, step, steps))
    return cast(p, result, alpha.dtype)


# --- Reductions


@onnx("RaggedSoftmax", domain=_DOMAIN)
def ragged_softmax(p: P, x: T, bounds: T) -> T:
    """Softmax over the first ``bounds`` elements of each row; zeros after."""
    if bounds.shape != (*x.shape[:-1], 1):
        raise shape_error("bounds", bounds.shape, f"do not fit rows of {x.shape}: {(*x.shape[:-1], 1)} would")
    if not x.size:
        return p.broadcast(x, x.shape)
    bound = cast(p, bounds, np.dtype(np.int64))
    inside = p.map(np.less, p.constant(np.arange(x.shape[-1])), bound)
    values = cast(p, x, np.dtype(np.float32))
    low = p.broadcast(constant(p, -np.inf, values.dtype), x.shape)
    masked = p.where(inside, values, low)
    row_max = p.reduce(np.maximum, masked, (x.ndim - 1,), True)
    zero = p.broadcast(constant(p, 0, values.dtype), row_max.shape)
    row_max = p.where(p.map(np.equal, row_max, constant(p, -np.inf, values.dtype)), zero, row_max)
    powers = p.map(np.exp, p.map(np.subtract, masked, row_max))
    total = p.reduce(np.add, powers, (x.ndim - 1,), True)
    unit = p.broadcast(constant(p, 1, values.dtype), total.shape)
    total = p.where(p.map(np.equal, total, constant(p, 0, values.dtype)), unit, total)
    return cast(p, p.map(np.divide, powers, total), x.dtype)


# --- Checks


def has_window_past_end(size: int, window: int, stride: int, pre: int, post: int) -> bool:
    """True if the last pooling window added by EXPLICIT_ROUND_UP starts after all elements, whose result is
    unspecified."""
    count = -(-(size + pre + post - window) // stride) + 1
    return (count - 1) * stride >= size + pre


def window_past_end_error(axis: int, size: int) -> str:
    return f"its last window would begin behind the {size} elements of axis {axis}: take another padding or stride"


@onnx("PoolReach", domain=_DOMAIN)
def check_pool_windows(
    p: P, x: T, *, window: Sequence[int], stride: Sequence[int], pre: Sequence[int], post: Sequence[int]
) -> T:
    """Check that no pooling window along the spatial axes starts after all elements."""
    for k, (size, *numbers) in enumerate(zip(x.shape[2:], window, stride, pre, post, strict=True)):
        if has_window_past_end(int(size), *numbers):
            raise ModelError(window_past_end_error(k + 2, int(size)))
    return x


@onnx("Assertion", domain=_DOMAIN, native=False, pure=False)
def assertion(p: P, condition: Array, *, message: str) -> Array:
    """Check that all elements of the condition are true."""
    if not np.all(condition):
        raise ModelError(message)
    return condition


# --- Boxes


@onnx("NMS", domain=_DOMAIN, native=False)
def nms(
    p: P,
    boxes: Array,
    scores: Array,
    max_outputs: Array,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    centers: int = 0,
    limit: int = 0,
) -> tuple[Array, Array]:
    """Non-maximum suppression per class: rows (batch, class, box), sorted by batch and score."""
    overlap = 0.0 if iou_threshold is None else float(iou_threshold.reshape(()))
    threshold = 0.0 if score_threshold is None else float(score_threshold.reshape(()))
    keep = max(int(max_outputs.reshape(())), 0)
    selected: list[tuple[int, float, int, int]] = []
    for batch in range(boxes.shape[0]):
        for category in range(scores.shape[2]):
            score = scores[batch, :, category].astype(np.float64)
            corners = boxes[batch] if boxes.ndim == 3 else boxes[batch, :, min(category, boxes.shape[2] - 1)]
            boxes_kept = _select_boxes(
                _to_corners(corners.astype(np.float64), centers), score, keep, overlap, threshold, limit
            )
            selected += [(batch, -float(score[box]), category, box) for box in boxes_kept]
    selected.sort()
    rows = np.array([(batch, category, box) for batch, _, category, box in selected], np.int32).reshape(-1, 3)
    return rows, np.array(len(rows), np.int32)


def _to_corners(boxes: Array, centers: int) -> Array:
    if not centers:
        low, high = boxes[:, :2], boxes[:, 2:]
        return np.concatenate([np.minimum(low, high), np.maximum(low, high)], 1)
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)


def _select_boxes(corners: Array, score: Array, keep: int, overlap: float, threshold: float, limit: int) -> list[int]:
    order = [int(k) for k in np.argsort(-score, kind="stable") if score[k] > threshold]
    area = np.prod(corners[:, 2:] - corners[:, :2], axis=1)
    selected: list[int] = []
    for box in order[: limit or None]:
        if len(selected) >= keep:
            break
        others = np.array(selected, np.int64)
        edges = np.minimum(corners[box, 2:], corners[others, 2:]) - np.maximum(corners[box, :2], corners[others, :2])
        common = np.prod(edges.clip(0), axis=1)
        union = area[box] + area[others] - common
        if not np.any(common > overlap * union):
            selected.append(box)
    return selected


# --- Attention


@onnx("Attention", domain=_DOMAIN)
def attention(p: P, q: T, k: T, v: T, mask: T | None = None, *, softmax: int, causal: int) -> T:
    """``norm(q @ k^T + mask) @ v``, not scaled. ``causal``: 1 aligns the first query and key, 2 the last query and
    key."""
    offset = k.shape[2] - q.shape[2] if causal == 2 else 0
    window = AttentionWindow(keys_after=0 if causal else -1, offset=offset)
    if softmax:
        bias = mask
        if mask is not None and mask.dtype == np.bool_:
            zero = p.broadcast(constant(p, 0, q.dtype), mask.shape)
            bias = p.where(mask, zero, constant(p, -np.inf, q.dtype))
        return attend(p, q, k, v, scale=1.0, bias=bias, window=window)
    seen = window.visibility_mask(q.shape[2], k.shape[2])
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = (_repeat_heads(p, x, groups) for x in (k, v))
    scores = matmul_product(p, q, p.transpose(k, (0, 1, 3, 2)))
    if mask is not None and mask.dtype != np.bool_:
        scores = p.map(np.add, scores, mask)
    for hidden in (mask if mask is not None and mask.dtype == np.bool_ else None, seen):
        if hidden is not None:
            visible = p.constant(hidden) if isinstance(hidden, np.ndarray) and hidden is seen else hidden
            scores = p.where(visible, scores, constant(p, 0, scores.dtype))
    return matmul_product(p, scores, v)


def _repeat_heads(p: P, x: T, groups: int) -> T:
    """Repeat each head ``groups`` times."""
    batch, heads, length, width = x.shape
    repeated = p.broadcast(p.reshape(x, (batch, heads, 1, length, width)), (batch, heads, groups, length, width))
    return p.reshape(repeated, (batch, heads * groups, length, width))


onnx("RotaryEmbedding", domain=_DOMAIN)(older_version(onnx_rotary, "num_heads"))


@onnx("KVCacheUpdate", domain=_DOMAIN)
def kv_cache_update(p: P, cache: T, update: T, indices: T) -> T:
    """ONNX TensorScatter along axis 2."""
    return tensor_scatter(p, cache, update, indices, axis=2)
