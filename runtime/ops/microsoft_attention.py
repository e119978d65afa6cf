"""Attention of ``com.microsoft``: Attention, MultiHeadAttention, GroupQueryAttention, RotaryEmbedding, QAttention.

Follows onnxruntime's documentation of contributed operators, and its CPU provider where that is incomplete. The
internal layout is ``[batch, heads, rows, width]``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..record import record
from . import attention as core
from .axis_arguments import shape_error
from .matmul import matmul_product
from .microsoft_elementwise import MICROSOFT
from .operator_helpers import cast, constant, full_constant, is_float, working_dtype
from .registry import Ints, apply_standard_operator, inherit_attributes, onnx

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_INT64 = np.dtype(np.int64)
#: Default score bias of masked keys.
_MASKED_SCORE = -10000.0


# --- The core.


def attend(
    p: P,
    q: T,
    k: T,
    v: T,
    scale: float,
    bias: T | None = None,
    softcap: float = 0.0,
    sink: T | None = None,
    smooth: bool = False,
    with_scores: bool = False,
) -> tuple[T, T, T]:
    """``softmax(scale * q @ k' + bias) @ v``; with ``with_scores`` also the scores before and after softmax.

    ``smooth``: the softmax includes an additional score of 0; ``sink``: an additional score per head. A head of k and
    v may be shared by several heads of q.
    """
    extra = smooth or sink is not None
    if not (extra or with_scores) and working_dtype(q.dtype) == q.dtype:
        y = core.attend(p, q, k, v, scale=scale, bias=bias, softcap=softcap, zeros=False)
        return y, None, None
    sink_scores = None
    if extra:
        rows = (*q.shape[:3], 1)
        if sink is not None and sink.size != q.shape[1]:
            raise shape_error("head_sink", sink.shape, f"has not one number for each of {q.shape[1]} heads")
        head_scores = None if sink is None else p.reshape(sink, (1, q.shape[1], 1, 1))
        sink_scores = full_constant(p, rows, 0, q.dtype) if head_scores is None else p.broadcast(head_scores, rows)
    y, *_, scores, probabilities = core.attend_unfused(
        p, q, k, v, scale=scale, bias=bias, softcap=softcap, zeros=False, sink_scores=sink_scores
    )
    return y, scores, probabilities


def split_heads(p: P, x: T, count: int) -> T:
    """Reshape ``[batch, rows, count * width]`` to ``[batch, count, rows, width]``.

    Raises:
        ModelError: the rank or the width does not match.
    """
    if x.ndim != 3 or count < 1:
        raise ModelError(f"a tensor of shape {tuple(x.shape)} is no batch of rows of {count} heads")
    batch, rows, width = x.shape
    if width % count:
        raise ModelError(f"the width {width} cannot be divided among {count} heads", name="num_heads", got=str(count))
    return p.transpose(p.reshape(x, (batch, rows, count, width // count)), (0, 2, 1, 3))


def merge_heads(p: P, x: T) -> T:
    """The inverse of :func:`split_heads`."""
    batch, count, rows, width = x.shape
    return p.reshape(p.transpose(x, (0, 2, 1, 3)), (batch, rows, count * width))


def check_cache_fits(past: T, x: T) -> None:
    """Check that new rows can be appended to a cache.

    Raises:
        ModelError: dtypes or shapes differ other than in the row count.
    """
    matches = past.ndim == x.ndim == 4 and past.dtype == x.dtype and past.shape[:2] == x.shape[:2]
    if not matches or past.shape[3] != x.shape[3]:
        mismatch = f"{past.dtype.name} {tuple(past.shape)} does not fit new rows of {x.dtype.name} {tuple(x.shape)}"
        raise ModelError(f"a past of {mismatch}", name="past", got=mismatch)


def append_to_cache(p: P, past: T | None, x: T) -> T:
    """Append ``x`` to the cached rows."""
    if past is None:
        return x
    check_cache_fits(past, x)
    rows = past.shape[2]
    shape = (*x.shape[:2], rows + x.shape[2], x.shape[3])
    return p.assemble(shape, x.dtype, [(past, (0, 0, 0, 0)), (x, (0, 0, rows, 0))])


def slice_columns(p: P, x: T, start: int, width: int) -> T:
    """Slice the last axis.

    Raises:
        ModelError: the slice is out of bounds.
    """
    if not x.ndim or start < 0 or width < 0 or start + width > x.shape[-1]:
        raise ModelError(f"a tensor of shape {tuple(x.shape)} has no {width} columns from {start} on")
    extents = (*x.shape[:-1], width)
    return p.slice(x, (*(0,) * (x.ndim - 1), start), (1,) * x.ndim, extents)


def _default_scale(scale: float | None, width: int) -> float:
    return scale if scale else 1 / math.sqrt(width)


# --- Masks as additive biases.


def _causal_bias(p: P, rows: int, total: int, dtype: np.dtype[Any]) -> T:
    """A causal bias for the last ``rows`` of ``total`` rows."""
    visible = np.tri(rows, total, total - rows, dtype=bool)
    lowest = np.finfo(np.float32 if dtype.itemsize < 4 else dtype).min
    return p.constant(np.where(visible, 0, lowest if dtype.itemsize > 2 else -np.inf).astype(dtype))


def _bias_from_visibility(p: P, visible: T, masked: float, dtype: np.dtype[Any]) -> T:
    return p.where(visible, constant(p, 0, dtype), constant(p, masked, dtype))


def mask_to_bias(p: P, mask: T, batch: int, rows: int, total: int, masked: float, dtype: np.dtype[Any]) -> T:
    """Convert a mask in any supported form to a bias: lengths, ends and starts, or a 1 for each visible key."""
    zero = constant(p, 0, mask.dtype)
    if mask.ndim == 4:  # [batch, 1, most, most]
        past = total - rows
        part = p.slice(mask, (0, 0, past, 0), (1,) * 4, (*mask.shape[:2], rows, total))
        return _bias_from_visibility(p, p.map(np.greater, part, zero), masked, dtype)
    if mask.ndim > 1:  # [batch, total] or [batch, rows, total]
        shape = (mask.shape[0], 1, 1, mask.shape[1]) if mask.ndim == 2 else (mask.shape[0], 1, *mask.shape[1:])
        return _bias_from_visibility(p, p.map(np.greater, p.reshape(mask, shape), zero), masked, dtype)
    positions = p.constant(np.arange(total).astype(mask.dtype))

    def column(start: int) -> T:
        return p.reshape(p.slice(mask, (start,), (1,), (batch,)), (batch, 1, 1, 1))

    if mask.shape[0] == batch:
        return _bias_from_visibility(p, p.map(np.less, positions, column(0)), masked, dtype)
    if mask.shape[0] == 2 * batch:
        before = p.map(np.less, positions, column(0))
        after = p.map(np.greater_equal, positions, column(batch))
        return _bias_from_visibility(p, p.map(np.logical_and, before, after), masked, dtype)
    if mask.shape[0] == 3 * batch + 2:  # lengths, then sums of lengths
        return _bias_from_visibility(p, p.map(np.less, positions, column(0)), masked, dtype)
    raise shape_error("mask", mask.shape, f"for a batch of {batch}")


def sum_biases(p: P, parts: list[T | None]) -> T | None:
    """The sum of score biases.

    Raises:
        ModelError: a bias has more than four axes.
    """
    total = None
    for part in parts:
        if part is not None:
            if part.ndim > 4:
                raise shape_error("attention bias", part.shape, "has more than four axes")
            total = part if total is None else p.map(np.add, total, part)
    return total


# --- Attention.


@record(frozen=True)
class AttentionAttributes:
    """The attributes that Attention, QAttention and MultiHeadAttention share."""

    num_heads: int
    unidirectional: int = 0
    mask_filter_value: float = _MASKED_SCORE
    scale: float | None = None
    n_outputs: int = 1

    def score_bias(self, p: P, q: T, total: int, mask: T | None, attention_bias: T | None) -> T | None:
        """The sum of the biases of a mask, of causality, and of the input."""
        batch, _, rows, _ = q.shape
        masked = None if mask is None else mask_to_bias(p, mask, batch, rows, total, self.mask_filter_value, q.dtype)
        causal = _causal_bias(p, rows, total, q.dtype) if self.unidirectional else None
        return sum_biases(p, [masked, causal, attention_bias])


def _attention(
    p: P, qkv: Iterable[T], mask: T | None, past: T | None, attention_bias: T | None, attrs: AttentionAttributes
) -> Any:
    q, k, v = (split_heads(p, x, attrs.num_heads) for x in qkv)
    if past is not None:

        def cached(index: int) -> T:
            part = p.slice(past, (index, 0, 0, 0, 0), (1,) * 5, (1, *past.shape[1:]))
            return p.reshape(part, past.shape[1:])

        k, v = append_to_cache(p, cached(0), k), append_to_cache(p, cached(1), v)
    bias = attrs.score_bias(p, q, k.shape[2], mask, attention_bias)
    y = merge_heads(p, attend(p, q, k, v, _default_scale(attrs.scale, q.shape[3]), bias)[0])
    if attrs.n_outputs == 1:
        return y
    if k.shape != v.shape:
        raise ModelError("the present of Attention needs keys and values of one width", name="present")
    shape = (2, *k.shape)
    parts = [(p.reshape(x, (1, *x.shape)), (index, 0, 0, 0, 0)) for index, x in enumerate((k, v))]
    return y, p.assemble(shape, k.dtype, parts)


@onnx("Attention", domain=MICROSOFT)
@inherit_attributes(AttentionAttributes)
def attention(
    p: P,
    x: T,
    weights: T,
    bias: T | None = None,
    mask_index: T | None = None,
    past: T | None = None,
    attention_bias: T | None = None,
    past_sequence_length: T | None = None,
    *,
    do_rotary: int = 0,
    rotary_embedding_dim: int = 0,
    qkv_hidden_sizes: Ints = (),
    past_present_share_buffer: int = 0,
    **attributes: Any,
) -> Any:
    """Self-attention with a combined projection to queries, keys and values."""
    reject_nonzero_attributes(do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    combined = matmul_product(p, x, weights)
    if bias is not None:
        combined = p.map(np.add, combined, bias)
    sizes = tuple(qkv_hidden_sizes) or (weights.shape[1] // 3,) * 3
    qkv = [slice_columns(p, combined, sum(sizes[:index]), sizes[index]) for index in range(3)]
    return _attention(p, qkv, mask_index, past, attention_bias, AttentionAttributes(**attributes))


@onnx("QAttention", domain=MICROSOFT)
@inherit_attributes(AttentionAttributes)
def quantized_attention(
    p: P,
    x: T,
    weight: T,
    bias: T,
    input_scale: T,
    weight_scale: T,
    mask_index: T | None = None,
    input_zero_point: T | None = None,
    weight_zero_point: T | None = None,
    past: T | None = None,
    *,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
    **attributes: Any,
) -> Any:
    """Self-attention with an integer projection."""
    reject_nonzero_attributes(do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    products = integer_product(p, x, weight, input_zero_point, weight_zero_point)
    factor = p.map(np.multiply, input_scale, weight_scale)
    combined = p.map(np.add, p.map(np.multiply, cast(p, products, factor.dtype), factor), bias)
    size = weight.shape[1] // 3
    qkv = [slice_columns(p, combined, index * size, size) for index in range(3)]
    return _attention(p, qkv, mask_index, past, None, AttentionAttributes(**attributes))


def integer_product(p: P, a: T, b: T, a_zero: T | None, b_zero: T | None) -> T:
    """``(a - a_zero) @ (b - b_zero)`` as int32."""
    inputs = (a, b) if a_zero is None and b_zero is None else (a, b, a_zero, b_zero)
    return apply_standard_operator(p, "MatMulInteger", inputs if b_zero is not None else inputs[:3])[0]


def reject_nonzero_attributes(**attributes: int) -> None:
    for name, value in attributes.items():
        if value:
            raise UnsupportedError(
                f"{name}={value} is not supported; onnxruntime writes it for other providers", name=name, got=str(value)
            )


# --- MultiHeadAttention.


@onnx("MultiHeadAttention", domain=MICROSOFT)
@inherit_attributes(AttentionAttributes)
def multi_head_attention(
    p: P,
    query: T,
    key: T | None = None,
    value: T | None = None,
    bias: T | None = None,
    key_padding_mask: T | None = None,
    attention_bias: T | None = None,
    past_key: T | None = None,
    past_value: T | None = None,
    past_sequence_length: T | None = None,
    cache_indirection: T | None = None,
    **attributes: Any,
) -> Any:
    """The query may include keys and values (``[batch, rows, heads, 3, width]``), the key values (``[..., 2,
    width]``)."""
    if past_sequence_length is not None or cache_indirection is not None:
        raise UnsupportedError("past_sequence_length and cache_indirection are not supported", name="cache_indirection")

    def unpack(x: T, index: int) -> T:
        batch, rows, count, _, width = x.shape
        part = p.slice(x, (0, 0, 0, index, 0), (1,) * 5, (batch, rows, count, 1, width))
        return p.reshape(part, (batch, rows, count * width))

    if query.ndim == 5:
        query, key, value = (unpack(query, index) for index in range(3))
    elif key is not None and key.ndim == 5:
        key, value = unpack(key, 0), unpack(key, 1)
    if key is None:
        raise ModelError("MultiHeadAttention has no keys", name="key")
    if bias is not None:
        if bias.ndim != 1:
            raise shape_error("bias", bias.shape, "is no list")
        sizes = [query.shape[-1], query.shape[-1] if key.ndim == 4 else key.shape[-1]]
        sizes.append(bias.shape[0] - sum(sizes))
        parts = [slice_columns(p, bias, sum(sizes[:index]), sizes[index]) for index in range(3)]
        query = p.map(np.add, query, parts[0])
        if key.ndim == 3:
            key = p.map(np.add, key, parts[1])
        if value is not None and value.ndim == 3:
            value = p.map(np.add, value, parts[2])
    if value is None:
        raise ModelError("MultiHeadAttention has no values", name="value")
    attrs = AttentionAttributes(**attributes)
    q = split_heads(p, query, attrs.num_heads)
    k = key if key.ndim == 4 else split_heads(p, key, attrs.num_heads)
    v = value if value.ndim == 4 else split_heads(p, value, attrs.num_heads)
    k, v = append_to_cache(p, past_key, k), append_to_cache(p, past_value, v)
    bias = attrs.score_bias(p, q, k.shape[2], key_padding_mask, attention_bias)
    scale = _default_scale(attrs.scale, q.shape[3])
    y, scores, _ = attend(p, q, k, v, scale, bias, with_scores=attrs.n_outputs > 3)
    return (merge_heads(p, y), k, v, scores)[: attrs.n_outputs]


# --- Rotary embeddings.


def _gather_rotary_rows(p: P, cache: T, positions: T) -> T:
    """Gather rows of a cache by position ``[batch, rows]``, with a broadcast axis for heads.

    Raises:
        ModelError: the cache or the positions are not a matrix.
    """
    if cache.ndim != 2 or positions.ndim != 2:
        operands = f"a cache of shape {tuple(cache.shape)} and positions of shape {tuple(positions.shape)}"
        raise ModelError(f"{operands} have not two axes each")
    rows = p.gather(cache, positions, 0)
    return p.reshape(rows, (rows.shape[0], 1, *rows.shape[1:]))


@onnx("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(
    p: P,
    x: T,
    position_ids: T,
    cos_cache: T,
    sin_cache: T,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    is_packed_batching: int = 0,
    scale: float = 1.0,
) -> T:
    """``position_ids``: one per row, or the position of the first row."""
    reject_nonzero_attributes(is_packed_batching=is_packed_batching)
    flat = x.ndim == 3
    if flat:
        width = x.shape[2] // num_heads if rotary_embedding_dim and num_heads else 2 * cos_cache.shape[1]
        x = split_heads(p, x, x.shape[2] // width)
    batch, rows = x.shape[0], x.shape[2]
    if position_ids.size == 1 and position_ids.ndim < 2:
        first = p.reshape(cast(p, position_ids, _INT64), (1, 1))
        positions = p.map(np.add, p.constant(np.tile(np.arange(rows), (batch, 1))), first)
    else:
        positions = position_ids
    result = core.rotate_pairs(
        p, x, _gather_rotary_rows(p, cos_cache, positions), _gather_rotary_rows(p, sin_cache, positions), interleaved
    )
    return merge_heads(p, result) if flat else result


# --- GroupQueryAttention.


@onnx("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(
    p: P,
    query: T,
    key: T | None,
    value: T | None,
    past_key: T | None,
    past_value: T | None,
    seqlens_k: T,
    total_sequence_length: T,
    cos_cache: T | None = None,
    sin_cache: T | None = None,
    position_ids: T | None = None,
    attention_bias: T | None = None,
    head_sink: T | None = None,
    k_scale: T | None = None,
    v_scale: T | None = None,
    q_norm_weight: T | None = None,
    k_norm_weight: T | None = None,
    query_seqlens: T | None = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    scale: float | None = None,
    softcap: float = 0.0,
    local_window_size: int = -1,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    smooth_softmax: int = 0,
    causal: int = 1,
    qk_output: int = 0,
    k_quant_type: str = "NONE",
    v_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    sliding_window_cache: int = 0,
    q_norm_epsilon: float | None = None,
    k_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = 1e-6,
    n_outputs: int = 1,
) -> Any:
    """Attention with shared key heads and a cache of keys and values.

    ``seqlens_k``: per batch entry, the number of keys including the new ones, minus one. The cache keeps its length, or
    grows to ``total_sequence_length``; unused rows are zero.
    """
    unsupported = (k_scale, v_scale, q_norm_weight, k_norm_weight, query_seqlens)
    if any(x is not None for x in unsupported) or kv_cache_bit_width or sliding_window_cache:
        raise UnsupportedError(
            "a GroupQueryAttention with a quantized or sliding cache, or with norms, is not supported"
        )
    if not causal and (past_key is not None or local_window_size >= 0):
        raise UnsupportedError("causal=0 together with a cache or a window is not supported", name="causal", got="0")
    if query.ndim != 3 or not is_float(query.dtype):
        kind = f"{query.dtype.name} {tuple(query.shape)}"
        raise ModelError(
            f"queries of {kind} are no floats with three axes: batch, rows and numbers of all heads",
            name="query",
            got=kind,
        )
    batch, rows, hidden = query.shape
    if key is None or value is None:
        width = hidden // (num_heads + 2 * kv_num_heads)
        key = slice_columns(p, query, num_heads * width, kv_num_heads * width)
        value = slice_columns(p, query, (num_heads + kv_num_heads) * width, kv_num_heads * width)
        query = slice_columns(p, query, 0, num_heads * width)
    q, k, v = split_heads(p, query, num_heads), split_heads(p, key, kv_num_heads), split_heads(p, value, kv_num_heads)
    for x, name in ((k, "keys"), (v, "values")):
        if x.shape[0] != batch or x.shape[2] != rows:
            raise ModelError(
                f"there are {rows} new rows of a batch of {batch}, and of {name} {x.shape[2]} of {x.shape[0]}",
                name=name,
                expected=f"{rows} rows of a batch of {batch}",
                got=str(x.shape),
            )
    lengths = [length + 1 for length in p.integers(seqlens_k)]
    total = p.integers(total_sequence_length)[0]
    # The first call has an empty cache.
    pasts = [0] * batch if rows == total else [length - rows for length in lengths]
    if len(lengths) != batch or any(past < 0 for past in pasts):
        lengths_given = [int(length) - 1 for length in lengths]
        raise ModelError(
            f"seqlens_k={lengths_given} does not fit {rows} new rows of a batch of {batch}",
            name="seqlens_k",
            got=str(lengths_given),
        )
    cached = 0 if past_key is None else past_key.shape[2]
    if any(past > cached for past in pasts):
        lengths_given = [int(length) - 1 for length in lengths]
        raise ModelError(
            f"seqlens_k={lengths_given} needs more rows than the {cached} of the cache",
            name="seqlens_k",
            expected=f"at most {cached}",
            got=str(lengths_given),
        )
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise ModelError("do_rotary=1 needs cos_cache and sin_cache", name="cos_cache")
        if position_ids is None:
            position_ids = p.numbers([past + k for past in pasts for k in range(rows)], (batch, rows), _INT64)
        cosines, sines = (
            _gather_rotary_rows(p, cos_cache, position_ids),
            _gather_rotary_rows(p, sin_cache, position_ids),
        )
        q, k = (
            core.rotate_pairs(p, q, cosines, sines, rotary_interleaved),
            core.rotate_pairs(p, k, cosines, sines, rotary_interleaved),
        )
    size = max(cached, total)
    present_key = _update_cache(p, past_key, k, pasts, size)
    present_value = _update_cache(p, past_value, v, pasts, size)
    mask_bias = None
    # No mask needed: a single new row sees all keys.
    if not (causal and rows == 1 and local_window_size < 0 and all(past + 1 == total for past in pasts)):
        hidden_keys = _cache_visibility_bias(pasts, lengths, rows, int(total), bool(causal), local_window_size)
        mask_bias = p.constant(hidden_keys.astype(q.dtype)) if hidden_keys.any() else None
    score_bias = None if attention_bias is None else slice_columns(p, attention_bias, 0, total)
    bias = sum_biases(p, [mask_bias, score_bias])
    keys, values = (slice_leading_rows(p, x, total) for x in (present_key, present_value))
    scale = _default_scale(scale, q.shape[3])
    settings = (scale, bias, softcap, head_sink, bool(smooth_softmax), n_outputs > 3)
    y, scores, probabilities = attend(p, q, keys, values, *settings)
    qk_scores = (scores, probabilities)[qk_output - 1] if qk_output else scores
    return (merge_heads(p, y), present_key, present_value, qk_scores)[:n_outputs]


def slice_leading_rows(p: P, x: T, rows: int) -> T:
    return p.slice(x, (0,) * 4, (1,) * 4, (*x.shape[:2], rows, x.shape[3]))


def _cache_visibility_bias(pasts: Any, lengths: Any, rows: int, total: int, causal: bool, window: int) -> Array:
    """The bias ``[batch, 1, rows, total]``: 0 for visible keys, else -inf."""
    first, last = (np.array([int(n) for n in x])[:, None, None] for x in (pasts, lengths))
    last_visible = first + np.arange(rows)[:, None]  # last visible key of a row
    visible = np.arange(total) <= last_visible if causal else np.arange(total) < np.maximum(last, 1)
    visible = np.broadcast_to(visible, (len(first), rows, total))
    if window >= 0:
        visible = visible & (np.arange(total) > last_visible - window)
    hidden: Array = np.where(visible, 0, -np.inf)[:, None]
    return hidden


def _update_cache(p: P, past: T | None, x: T, pasts: Any, size: int) -> T:
    """Write the new rows after the cached rows of each batch entry."""
    if past is not None:
        check_cache_fits(past, x)
    batch, count, rows, width = x.shape
    pieces = []
    fill = None if all(length + rows == size for length in pasts) else 0
    for k, length in enumerate(pasts):
        if past is not None and length:
            pieces.append((p.slice(past, (k, 0, 0, 0), (1,) * 4, (1, count, length, width)), (k, 0, 0, 0)))
        pieces.append((p.slice(x, (k, 0, 0, 0), (1,) * 4, (1, count, rows, width)), (k, 0, length, 0)))
    return p.assemble((batch, count, size, width), x.dtype, pieces, fill)
