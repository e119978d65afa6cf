"""Attention and rotary embeddings.

Few float32 queries, as in a decoder step, use one fused routine that reads the cache in place (attention.h). Other
cases use matrix products and a softmax; floats narrower than float32 are rounded after each step, as in the
specification's function body.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import dtype_from_onnx
from ..errors import ModelError
from ..graph import Array
from ..kernels.bindings.attention import MAX_HEAD_WIDTH
from ..kernels.strided_iteration import broadcast_shapes
from ..record import record
from .axis_arguments import element_count, shape_error, unknown_value_error
from .matmul import matmul_product
from .normalize import softmax_over
from .operator_helpers import cast, check_broadcastable, constant, is_float, working_dtype
from .primitive_types import RoutineCall
from .registry import older_version, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)
#: Query count up to which the fused routine is used; with more, matrix products reuse the keys that they read.
MAX_FUSED_QUERIES = 8
_INFINITY = float("inf")


@record(frozen=True)
class AttentionWindow:
    """The keys visible to a query: ``keys_before`` and ``keys_after`` its own position (-1: all); ``offset`` is the
    position of the first query among the keys."""

    keys_before: int = -1
    keys_after: int = -1
    offset: Any = 0

    def visibility_mask(self, queries: int, keys: int) -> Array | None:
        """A mask ``[queries, keys]``; None: all keys are visible."""
        if self.keys_before < 0 and (self.keys_after < 0 or self.offset + self.keys_after + 1 >= keys):
            return None
        distance = np.arange(int(keys)) - (np.arange(int(queries))[:, None] + int(self.offset))
        visible = np.ones(distance.shape, bool)
        if self.keys_before >= 0:
            visible &= distance >= -self.keys_before
        if self.keys_after >= 0:
            visible &= distance <= self.keys_after
        return visible

    def has_fully_masked_query(self, queries: int, keys: int) -> bool:
        """True if some query sees no key."""
        visible = self.visibility_mask(queries, keys)
        return visible is not None and not visible.any(1).all()


_UNBOUNDED_WINDOW = AttentionWindow()


def attend(
    p: P,
    q: T,
    k: T,
    v: T,
    *,
    scale: float,
    bias: T | None = None,
    window: AttentionWindow = _UNBOUNDED_WINDOW,
    softcap: float = 0.0,
    zeros: bool = True,
    positions_first: bool = False,
) -> T:
    """``softmax(scale * q @ k^T + bias) @ v``; a head of k may be shared by several heads of q.

    Layout: ``[batch, heads, positions, width]``; of the result ``[batch, positions, heads, width]`` with
    ``positions_first``. ``bias`` broadcasts to ``[batch, heads of q, queries, keys]``.
    ``softcap``: bound of the scores before the bias; ``zeros``: a query without visible key gives zeros, not NaN.
    """
    shape = AttentionShape.from_tensors(q, k, v)
    if bias is not None:
        bias = _bias_to_4d(p, bias, shape)
    fused = shape.queries <= MAX_FUSED_QUERIES and 0 < shape.width <= MAX_HEAD_WIDTH and shape.keys > 0
    if fused and shape.value_width > 0 and all(x is None or x.dtype == FLOAT32 for x in (q, k, v, bias)):
        return _attend_fused(p, q, k, v, shape, scale, bias, window, softcap, zeros, positions_first)
    hides = bias is not None or window.has_fully_masked_query(shape.queries, shape.keys)
    full_bias = add_window_mask(p, bias, window, shape.queries, shape.keys, q.dtype)
    y = attend_unfused(p, q, k, v, scale=scale, bias=full_bias, softcap=softcap, zeros=zeros and hides)[0]
    return _swap_heads_and_positions(p, y) if positions_first else y


# --- Separate steps, for callers that need intermediate results.


def attend_unfused(
    p: P,
    q: T,
    k: T,
    v: T,
    *,
    scale: float,
    bias: T | None = None,
    softcap: float = 0.0,
    zeros: bool = True,
    precision: np.dtype[Any] | None = None,
    sink_scores: T | None = None,
) -> tuple[T, T, T, T, T]:
    """The result of :func:`attend`, and the scores: raw, capped, with the bias, after softmax.

    The layout is heads first; the bias includes the window. ``precision``: dtype of the softmax; ``sink_scores``:
    scores of keys without values, which only take part in the softmax.
    """
    raw = _scores(p, q, k, scale)
    capped = _softcap(p, raw, softcap)
    biased = capped if bias is None else p.map(np.add, capped, bias)
    weights = _softmax_over_keys(p, biased, bias if zeros else None, precision, sink_scores)
    return _grouped_matmul(p, weights, v), raw, capped, biased, weights


def _scores(p: P, q: T, k: T, scale: float) -> T:
    """``scale * q @ k^T``, heads first."""
    if working_dtype(q.dtype) == q.dtype:
        q = q if scale == 1 else p.map(np.multiply, q, constant(p, scale, q.dtype))
    else:
        # Scale both operands by the square root to avoid overflow.
        root = constant(p, math.sqrt(scale), q.dtype)
        q, k = p.map(np.multiply, q, root), p.map(np.multiply, k, root)
    return _grouped_matmul(p, q, p.transpose(k, (0, 1, 3, 2)))


def _softcap(p: P, x: T, softcap: float) -> T:
    """``softcap * tanh(x / softcap)``; 0: no cap."""
    if not softcap:
        return x
    limit = constant(p, softcap, x.dtype)
    inner = p.map(np.divide, x, limit)
    working = working_dtype(x.dtype)
    return p.map(np.multiply, cast(p, p.map(np.tanh, cast(p, inner, working)), x.dtype), limit)


def add_window_mask(
    p: P, bias: T | None, window: AttentionWindow, queries: int, keys: int, dtype: np.dtype[Any]
) -> T | None:
    """Add -inf to the bias outside the window."""
    visible = window.visibility_mask(queries, keys)
    if visible is None:
        return bias
    mask = p.constant(np.where(visible, 0, -_INFINITY).astype(dtype))
    return mask if bias is None else p.map(np.add, bias, mask)


def _softmax_over_keys(p: P, x: T, bias: T | None, precision: np.dtype[Any] | None, sink_scores: T | None) -> T:
    """Softmax over the keys and ``sink_scores``, which are dropped; rows that the bias hides get zeros."""
    inner = x if precision is None else cast(p, x, precision)
    if sink_scores is None:
        weights = cast(p, softmax_over(p, inner, (x.ndim - 1,)), x.dtype)
    else:
        keys = x.shape[3]
        parts = [(inner, (0, 0, 0, 0)), (sink_scores, (0, 0, 0, keys))]
        scores = p.assemble((*x.shape[:3], keys + sink_scores.shape[3]), inner.dtype, parts)
        weights = cast(p, p.slice(softmax_over(p, scores, (3,)), (0,) * 4, (1,) * 4, x.shape), x.dtype)
    if bias is None or not bias.size:
        return weights
    highest = p.reduce(np.maximum, bias, (bias.ndim - 1,), True)
    hidden = p.map(np.equal, highest, constant(p, -_INFINITY, bias.dtype))
    return p.where(hidden, constant(p, 0, x.dtype), weights)


def _grouped_matmul(p: P, a: T, b: T) -> T:
    """Matrix product per head; each head of ``b`` is shared by a group of adjacent heads of ``a``."""
    heads, groups = a.shape[1], b.shape[1]
    if heads == groups:
        return matmul_product(p, a, b)
    grouped = p.reshape(a, (a.shape[0], groups, heads // groups, *a.shape[2:]))
    result = matmul_product(p, grouped, p.reshape(b, (b.shape[0], groups, 1, *b.shape[2:])))
    return p.reshape(result, (a.shape[0], heads, *result.shape[3:]))


def _swap_heads_and_positions(p: P, x: T) -> T:
    return p.transpose(x, (0, 2, 1, 3))


# --- Shapes.


@record(frozen=True)
class AttentionShape:
    batch: Any
    heads: Any
    groups: Any
    queries: Any
    keys: Any
    width: Any
    value_width: Any

    @staticmethod
    def from_tensors(q: T, k: T, v: T) -> AttentionShape:
        """Derive the sizes from the shapes of q, k and v.

        Raises:
            ModelError: the shapes do not match.
        """
        (batch, heads, queries, width), (b2, groups, keys, w2), (b3, g3, k3, value_width) = q.shape, k.shape, v.shape
        if not (batch == b2 and batch == b3 and groups == g3 and keys == k3 and width == w2):
            raise ModelError(
                f"query {q.shape}, key {k.shape} and value {v.shape} do not fit each other",
                name="query",
                got=f"{q.shape}, {k.shape} and {v.shape}",
            )
        if not groups or heads % groups:
            raise ModelError(f"{heads} query heads cannot share {groups} key heads", name="q_num_heads", got=str(heads))
        return AttentionShape(batch, heads, groups, queries, keys, width, value_width)


def _bias_to_4d(p: P, bias: T, shape: AttentionShape) -> T:
    """Reshape a bias to four axes, with the last one broadcast."""
    full = (shape.batch, shape.heads, shape.queries, shape.keys)
    extra = len(full) - bias.ndim
    if extra < 0 or any(n not in (1, m) for n, m in zip(bias.shape, full[extra:], strict=True)):
        raise shape_error("mask", bias.shape, f"does not broadcast to {full}")
    bias = p.reshape(bias, (*(1,) * (4 - bias.ndim), *bias.shape))
    return bias if bias.shape[3] == shape.keys else p.broadcast(bias, (*bias.shape[:3], shape.keys))


def _attend_fused(
    p: P,
    q: T,
    k: T,
    v: T,
    shape: AttentionShape,
    scale: float,
    bias: T | None,
    window: AttentionWindow,
    softcap: float,
    zeros: bool,
    positions_first: bool,
) -> T:
    bits = [int(np.float32(x).view(np.uint32)) for x in (scale, softcap)]
    settings = [
        *bits,
        window.keys_before,
        window.keys_after,
        int(positions_first),
        int(zeros),
        int(bias is not None),
    ]
    steps: list[Any] = [0, 0, 0]
    if bias is not None:
        sizes = [element_count(bias.shape[axis + 1 :]) for axis in range(3)]
        steps = [size if extent != 1 else 0 for extent, size in zip(bias.shape, sizes, strict=False)]
    numbers = (
        *(shape.batch, shape.heads, shape.groups, shape.queries, shape.keys, shape.width, shape.value_width),
        window.offset,
        *steps,
    )
    inputs = [q, k, v, p.constant(np.array(settings, INT64)), *([] if bias is None else [bias])]
    places = (shape.queries, shape.heads) if positions_first else (shape.heads, shape.queries)
    outputs = [((shape.batch, *places, shape.value_width), FLOAT32)]
    scratch = (shape.keys + 16) * 4
    (y,) = p.call(RoutineCall("attention.attend", outputs, numbers, scratch, strided_inputs=3), inputs)
    return y


# --- ONNX.


@onnx("Attention", since=25)
def attention(
    p: P,
    q: T,
    k: T,
    v: T,
    attn_mask: T | None = None,
    past_key: T | None = None,
    past_value: T | None = None,
    nonpad_kv_seqlen: T | None = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int = 0,
    left_window_size: int = -1,
    q_num_heads: int = 0,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    n_outputs: int = 1,
) -> Any:
    """3-D inputs have the layout ``[batch, positions, heads * width]``."""
    if (past_key is None) != (past_value is None):
        raise ModelError(
            "past_key and past_value must be given together", name="past_key" if past_key is None else "past_value"
        )
    if past_key is not None and nonpad_kv_seqlen is not None:
        raise ModelError("nonpad_kv_seqlen cannot be combined with past_key and past_value", name="nonpad_kv_seqlen")
    if min(left_window_size, right_window_size) < -1:
        raise ModelError(
            "left_window_size and right_window_size must be -1 or more",
            name="left_window_size" if left_window_size < -1 else "right_window_size",
            expected="-1 or more",
        )
    flat = q.ndim == 3
    if flat:
        q, k, v = (
            _split_heads(p, x, count, name)
            for x, count, name in ((q, q_num_heads, "q"), (k, kv_num_heads, "kv"), (v, kv_num_heads, "kv"))
        )
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ModelError(
            f"Q, K and V must all have 3 or 4 dimensions, not {q.ndim}, {k.ndim} and {v.ndim}",
            name="Q",
            expected="3 or 4 axes",
            got=f"{q.ndim}, {k.ndim} and {v.ndim}",
        )
    if flat:
        q, k, v = (_swap_heads_and_positions(p, x) for x in (q, k, v))
    offset: Any = 0
    if past_key is not None:
        k, v = (_append_to_past(p, past, x) for past, x in ((past_key, k), (past_value, v)))
        offset = past_key.shape[2]
    shape = AttentionShape.from_tensors(q, k, v)
    if scale is None:
        scale = 1 / math.sqrt(shape.width) if shape.width else 1.0
    bias = None if attn_mask is None else _mask_to_bias(p, attn_mask, shape.keys, q.dtype)
    window = AttentionWindow(left_window_size, _tighter_bound(right_window_size, 0 if is_causal else -1), offset)
    if nonpad_kv_seqlen is not None:
        hidden = _padding_bias(p, nonpad_kv_seqlen, window, shape, q.dtype)
        bias, window = hidden if bias is None else p.map(np.add, bias, hidden), AttentionWindow()
    precision = None if softmax_precision is None else dtype_from_onnx(softmax_precision)
    if precision is not None and not is_float(precision):
        raise ModelError(
            f"softmax_precision={softmax_precision} is {precision}, in which there is no softmax",
            name="softmax_precision",
            got=str(precision),
        )
    scores_wanted = n_outputs > 3
    if scores_wanted or precision not in (None, q.dtype):
        # Intermediate scores are an output, or the steps have different dtypes.
        bias = bias if bias is None else _bias_to_4d(p, bias, shape)
        bias = add_window_mask(p, bias, window, shape.queries, shape.keys, q.dtype)
        y, *stages = attend_unfused(p, q, k, v, scale=scale, bias=bias, softcap=softcap, precision=precision)
        y = _swap_heads_and_positions(p, y) if flat else y
        if not 0 <= qk_matmul_output_mode < len(stages):
            raise unknown_value_error("qk_matmul_output_mode", qk_matmul_output_mode, range(4))
        results: tuple[T, ...] = (y, k, v, stages[qk_matmul_output_mode])
    else:
        y = attend(p, q, k, v, scale=scale, bias=bias, window=window, softcap=softcap, positions_first=flat)
        results = (y, k, v)
    y = p.reshape(y, (*y.shape[:2], y.shape[2] * y.shape[3])) if flat else y
    return (y, *results[1:])[:n_outputs]


_WINDOW = ("left_window_size", "right_window_size")
onnx("Attention", since=24)(older_version(attention, *_WINDOW))
onnx("Attention", since=23)(older_version(attention, *_WINDOW, inputs=6))


def _split_heads(p: P, x: T, count: int, name: str) -> T:
    """Reshape ``[batch, positions, heads * width]`` to ``[batch, positions, heads, width]``."""
    if x.ndim != 3 or count < 1 or x.shape[2] % count:
        raise ModelError(
            f"an input of shape {x.shape} cannot be split into {name}_num_heads={count} heads",
            name=f"{name}_num_heads",
            got=str(count),
        )
    return p.reshape(x, (*x.shape[:2], count, x.shape[2] // count))


def _append_to_past(p: P, past: T, x: T) -> T:
    if past.ndim != 4 or past.shape[:2] != x.shape[:2] or past.shape[3] != x.shape[3] or past.dtype != x.dtype:
        raise shape_error("cache", past.shape, f"cannot be extended by a tensor of shape {x.shape}")
    length = past.shape[2]
    shape = (*past.shape[:2], length + x.shape[2], past.shape[3])
    return p.assemble(shape, x.dtype, [(past, (0, 0, 0, 0)), (x, (0, 0, length, 0))])


def _tighter_bound(a: int, b: int) -> int:
    """The tighter of two bounds; -1: unbounded."""
    return max(a, b) if min(a, b) < 0 else min(a, b)


def _mask_to_bias(p: P, mask: T, keys: int, dtype: np.dtype[Any]) -> T:
    """Convert a mask to an additive bias, with -inf for keys beyond its end."""
    if mask.ndim < 1:
        raise ModelError("a mask needs at least one dimension", name="mask", expected="1 axis or more")
    hidden, zero = constant(p, -_INFINITY, dtype), constant(p, 0, dtype)
    bias = p.where(mask, zero, hidden) if mask.dtype == np.bool_ else cast(p, mask, dtype)
    if mask.shape[-1] < keys:
        shape = (*mask.shape[:-1], keys)
        bias = p.assemble(shape, dtype, [(bias, (0,) * mask.ndim)], -_INFINITY)
    return bias


def _padding_bias(p: P, lengths: T, window: AttentionWindow, shape: AttentionShape, dtype: np.dtype[Any]) -> T:
    """A bias of -inf for padding keys of each batch, and outside the window."""
    if lengths.shape != (shape.batch,):
        raise shape_error("nonpad_kv_seqlen", lengths.shape, f"does not fit {shape.batch} batches")
    keys, queries = np.arange(int(shape.keys)), np.arange(int(shape.queries))[:, None]
    lengths = p.reshape(cast(p, lengths, INT64), (shape.batch, 1, 1, 1))
    visible = p.map(np.less, p.constant(keys), lengths)
    # The queries are the last valid positions.
    distance = p.map(np.subtract, p.constant(keys - queries + int(shape.queries)), lengths)
    if window.keys_after >= 0:
        in_window = p.map(np.less_equal, distance, constant(p, window.keys_after, INT64))
        visible = p.map(np.logical_and, visible, in_window)
    if window.keys_before >= 0:
        in_window = p.map(np.greater_equal, distance, constant(p, -window.keys_before, INT64))
        visible = p.map(np.logical_and, visible, in_window)
    return p.where(visible, constant(p, 0, dtype), constant(p, -_INFINITY, dtype))


# --- OpenVINO.


@openvino("ScaledDotProductAttention", since=13)
def scaled_dot_product_attention(
    p: P, q: T, k: T, v: T, attention_mask: T | None = None, scale: T | None = None, *, causal: bool = False
) -> T:
    """Causal attention ignores the mask and aligns to the first key; a query without visible key gives NaN."""
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ModelError(
            f"query {q.shape}, key {k.shape} and value {v.shape} need at least two dimensions",
            name="query",
            expected="2 axes or more",
            got=f"{q.shape}, {k.shape} and {v.shape}",
        )
    factor = 1.0
    if scale is None:
        factor = 1 / math.sqrt(q.shape[-1]) if q.shape[-1] else 1.0
    else:
        q = p.map(np.multiply, q, p.reshape(cast(p, scale, q.dtype), ()))
    bias = None
    if attention_mask is not None and not causal:
        mask, dtype = attention_mask, q.dtype
        if mask.dtype == np.bool_:
            bias = p.where(mask, constant(p, 0, dtype), constant(p, -_INFINITY, dtype))
        else:
            bias = cast(p, mask, dtype)
    window = AttentionWindow(keys_after=0) if causal else AttentionWindow()
    batch = broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    full = (*batch, q.shape[-2], k.shape[-2])
    # Two axes stay as they are, so that a cache with spare capacity is read in place.
    heads = (1, *batch)[-2:] if len(batch) in (1, 2) else (1, element_count(batch))
    if bias is not None and bias.ndim > 2 and tuple(bias.shape[:-2]) != (1,) * (bias.ndim - 2):
        bias = p.broadcast(bias, (*batch, *bias.shape[-2:]))
        bias = p.reshape(bias, (*heads, *bias.shape[-2:]))
    elif bias is not None and bias.ndim > 2:
        bias = p.reshape(bias, bias.shape[-2:])
    grouped = [
        p.reshape(
            x if tuple(x.shape[:-2]) == tuple(batch) else p.broadcast(x, (*batch, *x.shape[-2:])),
            (*heads, *x.shape[-2:]),
        )
        for x in (q, k, v)
    ]
    y = attend(p, *grouped, scale=factor, bias=bias, window=window, zeros=False)
    return p.reshape(y, (*full[:-1], v.shape[-1]))


# --- Rotary embeddings.


def rotate_pairs(p: P, x: T, cosines: T, sines: T, interleaved: int) -> T:
    """Rotate pairs of the leading elements of the last of four axes; ``cosines`` and ``sines`` broadcast to half of
    them.

    Pairs are adjacent elements (``interleaved``), or elements of the two halves.
    """
    half = cosines.shape[-1]
    if 2 * half > x.shape[-1]:
        raise ModelError(
            f"rotary embeddings of {2 * half} columns do not fit heads of {x.shape[-1]}",
            name="cos_cache",
            expected=str(x.shape[-1]),
            got=str(2 * half),
        )
    extents = (*x.shape[:3], half)
    for angles, name in ((cosines, "cosines"), (sines, "sines")):
        check_broadcastable(angles, extents, name)
    first, second = (
        p.slice(x, (0, 0, 0, start), (1, 1, 1, 2 if interleaved else 1), extents)
        for start in (0, 1 if interleaved else half)
    )
    rotated_first = p.map(np.subtract, p.map(np.multiply, first, cosines), p.map(np.multiply, second, sines))
    rotated_second = p.map(np.add, p.map(np.multiply, first, sines), p.map(np.multiply, second, cosines))
    pieces = [(rotated_first, (0, 0, 0, 0)), (rotated_second, (0, 0, 0, half))]
    if interleaved:
        pairs = [(p.reshape(y, (*extents, 1)), (0, 0, 0, 0, k)) for k, y in enumerate((rotated_first, rotated_second))]
        joined = p.reshape(p.assemble((*extents, 2), x.dtype, pairs), (*x.shape[:3], 2 * half))
        pieces = [(joined, (0, 0, 0, 0))]
    if 2 * half < x.shape[-1]:
        rest = p.slice(x, (0, 0, 0, 2 * half), (1, 1, 1, 1), (*x.shape[:3], x.shape[3] - 2 * half))
        pieces.append((rest, (0, 0, 0, 2 * half)))
    return p.assemble(x.shape, x.dtype, pieces)


@onnx("RotaryEmbedding", since=23)
def rotary_embedding(
    p: P,
    x: T,
    cos_cache: T,
    sin_cache: T,
    position_ids: T | None = None,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> T:
    """Rotate pairs of each head's elements: adjacent ones, or one of either half."""
    if x.ndim not in (3, 4):
        raise ModelError(
            f"the input must have 3 or 4 dimensions, not shape {x.shape}",
            name="X",
            expected="3 or 4 axes",
            got=str(x.shape),
        )
    heads = _split_heads(p, x, num_heads, "") if x.ndim == 3 else x
    width = heads.shape[3]
    rotated = rotary_embedding_dim or width
    if rotated > width or rotated % 2:
        raise ModelError(
            f"{rotated} of {width} elements cannot be rotated in pairs", name="rotary_embedding_dim", got=str(rotated)
        )
    half = rotated // 2
    batch, length = heads.shape[0], heads.shape[1 if x.ndim == 3 else 2]
    angles = []
    for cache in (cos_cache, sin_cache):
        rows = cache if position_ids is None else p.gather(cache, position_ids, 0)
        if rows.ndim != 3 or rows.shape[2] != half or rows.shape[:2] != (batch, length):
            raise shape_error("cache", cache.shape, f"does not fit an input of shape {x.shape}")
        angles.append(p.reshape(rows, (batch, length, 1, half) if x.ndim == 3 else (batch, 1, length, half)))
    cosines, sines = angles
    return p.reshape(rotate_pairs(p, heads, cosines, sines, interleaved), x.shape)
