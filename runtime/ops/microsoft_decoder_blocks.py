"""Decoder building blocks of ``com.microsoft`` other than attention: gates, norms, rotary embeddings, convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from . import attention as core
from .activations import sigmoid, softplus
from .axis_arguments import decode_string, element_count, shape_error, unknown_value_error
from .microsoft_attention import (
    append_to_cache,
    attend,
    check_cache_fits,
    mask_to_bias,
    merge_heads,
    slice_columns,
    slice_leading_rows,
    split_heads,
    sum_biases,
)
from .microsoft_elementwise import MICROSOFT
from .normalize import layer_or_rms_normalize
from .operator_helpers import cast, constant, working_dtype
from .registry import Ints, apply_standard_operator, onnx

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)
_INT64 = np.dtype(np.int64)


# --- Gates.


def _silu(p: P, x: T) -> T:
    return p.map(np.multiply, x, sigmoid(p, x))


@onnx("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(p: P, x: T, scale: T | None = None, *, alpha: float = 1.0) -> T:
    """``z * sigmoid(z)`` for ``z = scale * x``, rounded to the dtype of ``x`` after each step."""
    if scale is None:
        factor = constant(p, alpha, _FLOAT32)
    elif scale.size != 1:
        raise shape_error("scale", scale.shape, "is not one number")
    else:
        factor = p.reshape(cast(p, scale, _FLOAT32), ())
    z = cast(p, p.map(np.multiply, cast(p, x, _FLOAT32), factor), x.dtype)
    float_z = cast(p, z, _FLOAT32)
    gate = cast(p, cast(p, sigmoid(p, float_z), x.dtype), _FLOAT32)
    return cast(p, p.map(np.multiply, float_z, gate), x.dtype)


@onnx("GatedAdd", domain=MICROSOFT)
def gated_add(p: P, x: T, y: T, gate: T, gate_weight: T | None = None) -> T:
    """``x + y * gate`` with one gate value per row; the product is rounded to the dtype of ``x``."""
    if gate_weight is not None:
        raise UnsupportedError(
            "GatedAdd with gate_weight is not supported; onnxruntime has it for another provider", name="gate_weight"
        )
    if x.shape != y.shape or gate.shape != (*x.shape[:-1], 1):
        raise shape_error("gate", gate.shape, f"has not one number a row of {x.shape} and {y.shape}")
    return p.map(np.add, x, p.map(np.multiply, y, gate))


@onnx("LinearAttentionGate", domain=MICROSOFT)
def linear_attention_gate(p: P, a: T, dt_bias: T, decay_scale: T, b: T | None = None, *, n_outputs: int = 1) -> Any:
    """``decay_scale * softplus(a + dt_bias)`` and ``sigmoid(b)``, in float32."""
    for x, name in ((dt_bias, "dt_bias"), (decay_scale, "decay_scale")):
        if x.shape != a.shape[-1:]:
            raise shape_error(name, x.shape, f"has not one number for each of {a.shape[-1]} heads")
    slope = softplus(p, p.map(np.add, cast(p, a, _FLOAT32), dt_bias))
    decay = cast(p, p.map(np.multiply, slope, decay_scale), a.dtype)
    if n_outputs == 1:
        return decay
    if b is None:
        raise ModelError("LinearAttentionGate gives beta, its output 1, only where it has its input 3", name="beta")
    return decay, cast(p, sigmoid(p, cast(p, b, _FLOAT32)), b.dtype)


# --- Norms.


@onnx("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(p: P, x: T, scale: T, gate: T, *, activation: str = "silu", epsilon: float = 1e-5) -> T:
    """RMS normalization of groups of the size of ``scale``, times the activated gate, in float32."""
    activation_name = decode_string(activation)
    if activation_name not in ("silu", "swish", "sigmoid"):
        raise unknown_value_error("activation", activation_name, ("silu", "swish", "sigmoid"))
    if x.shape != gate.shape:
        raise shape_error("gate", gate.shape, f"does not fit an input of shape {x.shape}")
    width = element_count(scale.shape)
    if scale.ndim != 1 or not width or not x.ndim or x.shape[-1] % width:
        raise ModelError(f"rows of shape {x.shape} cannot be divided by a scale of shape {scale.shape}")
    grouped = p.reshape(cast(p, x, _FLOAT32), (*x.shape[:-1], x.shape[-1] // width, width))
    normal = layer_or_rms_normalize(p, grouped, cast(p, scale, _FLOAT32), None, -1, epsilon, centred=False)[0]
    float_gate = cast(p, gate, _FLOAT32)
    gate_factor = sigmoid(p, float_gate) if activation_name == "sigmoid" else _silu(p, float_gate)
    return cast(p, p.map(np.multiply, p.reshape(normal, x.shape), gate_factor), x.dtype)


@onnx("BranchwiseRMSNorm", domain=MICROSOFT)
def branchwise_rms_norm(p: P, x: T, scale: T | None = None, *, num_branches: int = 0, epsilon: float = 1e-5) -> T:
    """RMS normalization per branch: ``[..., branches, width]`` or ``[..., branches * width]``."""
    if num_branches < 0 or x.ndim < (1 if num_branches else 2) or (num_branches and x.shape[-1] % num_branches):
        raise ModelError(f"an input of shape {x.shape} has no {num_branches or ''} branches".replace("  ", " "))
    if num_branches:
        shape = (*x.shape[:-1], num_branches, x.shape[-1] // num_branches)
    else:
        shape = x.shape
    count, width = shape[-2:]
    grouped = p.reshape(cast(p, x, _FLOAT32), shape)
    normal = layer_or_rms_normalize(p, grouped, None, None, -1, epsilon, centred=False)[0]
    if scale is not None:
        if tuple(scale.shape) not in ((count * width,), (count, width), (width,)):
            raise shape_error("scale", scale.shape, f"does not fit {count} branches of {width} numbers")
        factors = scale if tuple(scale.shape) == (width,) else p.reshape(scale, (count, width))
        normal = p.map(np.multiply, normal, cast(p, factors, _FLOAT32))
    return cast(p, p.reshape(normal, x.shape), x.dtype)


# --- Rotary embeddings in three dimensions.


@onnx("MRotaryEmbedding", domain=MICROSOFT)
def multimodal_rotary_embedding(
    p: P,
    x: T,
    position_ids: T,
    cos_cache: T,
    sin_cache: T,
    *,
    mrope_section: Ints,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    interleaved: int = 0,
    mrope_layout: int = 0,
    is_packed_batching: int = 0,
    scale: float = 1.0,
) -> T:
    """Positions ``[3, batch, rows]`` in time, height and width; each applies to a section of a row's angles.

    ``mrope_layout``: sections are consecutive (0) or interleaved (1).
    """
    if is_packed_batching:
        raise UnsupportedError(
            "is_packed_batching=1 is not supported; onnxruntime writes it for other providers",
            name="is_packed_batching",
            got="1",
        )
    if cos_cache.ndim != 2 or cos_cache.shape != sin_cache.shape:
        raise shape_error("cosines", cos_cache.shape, f"and sines of shape {sin_cache.shape} are no two tables")
    half = cos_cache.shape[-1]
    if len(mrope_section) != 3 or min(mrope_section) < 0 or sum(mrope_section) != half:
        raise ModelError(
            f"mrope_section={list(mrope_section)} are not three numbers whose sum is {half}",
            name="mrope_section",
            got=str(list(mrope_section)),
        )
    if mrope_layout not in (0, 1):
        raise unknown_value_error("mrope_layout", mrope_layout, (0, 1))
    flat = x.ndim == 3
    if flat:
        if num_heads < 1:
            raise ModelError(
                f"an input of three axes needs num_heads, which is {num_heads}", name="num_heads", got=str(num_heads)
            )
        x = split_heads(p, x, num_heads)
    if x.ndim != 4 or tuple(position_ids.shape) != (3, x.shape[0], x.shape[2]):
        raise shape_error("positions", position_ids.shape, f"do not fit an input of shape {x.shape}")
    position_index = _angle_positions(mrope_section, half, mrope_layout)

    def angles(cache: T) -> T:
        rows = p.gather(cache, position_ids, 0)  # [3, batch, rows, half]
        parts = [p.slice(rows, (k, 0, 0, 0), (1,) * 4, (1, *rows.shape[1:])) for k in range(3)]
        result = parts[0]
        for k in (1, 2):
            result = p.where(p.constant(position_index == k), parts[k], result)
        return cast(p, p.transpose(result, (1, 0, 2, 3)), values.dtype)

    values = cast(p, x, working_dtype(x.dtype))
    y = cast(p, core.rotate_pairs(p, values, angles(cos_cache), angles(sin_cache), interleaved), x.dtype)
    return merge_heads(p, y) if flat else y


def _angle_positions(sections: Ints, half: int, layout: int) -> Any:
    """The position index (0, 1, 2) of each angle of a row."""
    if not layout:
        return np.repeat(np.arange(3), sections)
    indices = np.zeros(half, np.int64)
    for k in (1, 2):
        indices[k : 3 * sections[k] : 3] = k
    return indices


# --- Causal convolution.


@onnx("CausalConvWithState", domain=MICROSOFT)
def causal_conv_with_state(
    p: P,
    x: T,
    weight: T,
    bias: T | None = None,
    past_state: T | None = None,
    *,
    activation: str = "none",
    channels_last: int = 0,
    dilation: int = 1,
    input_channel_offset: int = 0,
    input_channels: int = 0,
    ndim: int = 1,
    state_channels_last: int = -1,
    state_length: int = 0,
    state_update_capacity: int = 0,
    state_window: int = 0,
) -> Any:
    """Causal depthwise convolution of ``[batch, channel, rows]``.

    The state holds the preceding rows that the kernel reads; the new state is for the next row.
    """
    activation_name = decode_string(activation)
    if activation_name not in ("none", "silu", "swish"):
        raise unknown_value_error("activation", activation_name, ("none", "silu", "swish"))
    if dilation < 1:
        raise ModelError(
            f"dilation={dilation} is not positive", name="dilation", expected="1 or more", got=str(dilation)
        )
    extended = (input_channel_offset, input_channels, state_length, state_update_capacity, state_channels_last + 1)
    if ndim != 1 or state_window or any(extended):
        unsupported = "more than one axis, a window of states or a part of the channels"
        raise UnsupportedError(
            f"CausalConvWithState with {unsupported} is not supported; onnxruntime has it for other providers",
            got=unsupported,
        )
    tail = x.shape[2:] if channels_last else ()
    if channels_last:
        x, past_state = (None if y is None else _to_channels_first(p, y) for y in (x, past_state))
    if x.ndim != 3 or weight.ndim != 3 or tuple(weight.shape[:2]) != (x.shape[1], 1):
        raise shape_error("kernel", weight.shape, f"does not fit an input of {x.shape[1:2]} channels")
    batch, channels, rows = x.shape
    size = weight.shape[2]
    state_size = (size - 1) * dilation
    shape = (batch, channels, state_size)
    if past_state is not None and tuple(past_state.shape) != shape:
        raise shape_error("state", past_state.shape, f"should be of shape {shape}")
    pieces = [(x, (0, 0, state_size))]
    if past_state is not None:
        pieces.append((cast(p, past_state, x.dtype), (0, 0, 0)))
    padded = p.assemble((batch, channels, state_size + rows), x.dtype, pieces, None if past_state is not None else 0)
    present = p.slice(padded, (0, 0, rows if state_size else 0), (1,) * 3, shape)
    if rows:
        inputs = (padded, weight) if bias is None else (padded, weight, bias)
        (y,) = apply_standard_operator(p, "Conv", inputs, group=channels, dilations=(dilation,), kernel_shape=(size,))
    else:
        y = x
    y = y if activation_name == "none" else _silu(p, y)
    return (_to_channels_last(p, y, tail), _to_channels_last(p, present, tail)) if channels_last else (y, present)


def _to_channels_first(p: P, x: T) -> T:
    """Reshape ``[batch, rows, ...]`` to ``[batch, channels, rows]``."""
    if x.ndim < 3:
        raise shape_error("input", x.shape, "has no channels")
    return p.transpose(p.reshape(x, (*x.shape[:2], element_count(x.shape[2:]))), (0, 2, 1))


def _to_channels_last(p: P, x: T, channel_shape: Any) -> T:
    batch, _, rows = x.shape
    return p.reshape(p.transpose(x, (0, 2, 1)), (batch, rows, *channel_shape))


# --- Attention for one new row.


@onnx("DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def decoder_masked_multi_head_attention(
    p: P,
    query: T,
    key: T | None = None,
    value: T | None = None,
    mask_index: T | None = None,
    attention_bias: T | None = None,
    past_key: T | None = None,
    past_value: T | None = None,
    past_sequence_length: T | None = None,
    beam_width: T | None = None,
    cache_indirection: T | None = None,
    bias: T | None = None,
    *,
    num_heads: int,
    mask_filter_value: float = -10000.0,
    output_qk: int = 0,
    past_present_share_buffer: int = 0,
    scale: float | None = None,
    n_outputs: int = 1,
) -> Any:
    """Keys and values with four axes are complete and belong to another sequence (cross attention).

    ``past_present_share_buffer``: the cache has spare capacity; ``past_sequence_length`` is its row count.
    ``cache_indirection``: the source beam of each row of a beam's past.
    """
    if query.ndim != 3 or query.shape[1] != 1:
        raise shape_error("queries", query.shape, "are not one row for each of a batch")
    if key is None or value is None:  # packed query, key and value
        hidden = past_key.shape[1] * past_key.shape[3] if past_key is not None else query.shape[2] // 3
        value_width = query.shape[2] - 2 * hidden
        query, key, value = (slice_columns(p, query, k * hidden, (hidden, hidden, value_width)[k]) for k in range(3))
    is_cross = key.ndim == 4
    if key.ndim not in (3, 4) or value.ndim != key.ndim:
        raise shape_error("keys", key.shape, f"and values of shape {value.shape} have not both 3 or 4 axes")
    if bias is not None:
        if bias.ndim != 1:
            raise shape_error("bias", bias.shape, "is no list")
        sizes = (query.shape[2], query.shape[2], bias.shape[0] - 2 * query.shape[2])
        parts = [slice_columns(p, bias, sum(sizes[:k]), sizes[k]) for k in range(3)]
        query = p.map(np.add, query, parts[0])
        if not is_cross:
            key, value = p.map(np.add, key, parts[1]), p.map(np.add, value, parts[2])
    q = split_heads(p, query, num_heads)
    k, v = (key, value) if is_cross else (split_heads(p, key, num_heads), split_heads(p, value, num_heads))
    present_key, present_value = k, v
    if (past_key is None) != (past_value is None):
        raise ModelError(
            "DecoderMaskedMultiHeadAttention has one of past_key and past_value and lacks the other", name="past_key"
        )
    if not is_cross and past_key is not None and past_value is not None:
        check_cache_fits(past_key, k)
        check_cache_fits(past_value, v)
        count = past_key.shape[2]
        if past_value.shape[2] != count:
            raise ModelError(
                f"there are {count} rows of past_key and {past_value.shape[2]} of past_value",
                name="past_key",
                expected=str(past_value.shape[2]),
                got=str(count),
            )
        if past_present_share_buffer:
            if past_sequence_length is None or past_sequence_length.size != 1:
                raise ModelError(
                    "past_present_share_buffer=1 needs one number as past_sequence_length", name="past_sequence_length"
                )
            count = p.integers(past_sequence_length)[0]
            if not 0 <= count < past_key.shape[2]:
                raise ModelError(
                    f"past_sequence_length={count} leaves no row in a cache of {past_key.shape[2]}",
                    name="past_sequence_length",
                    expected=f"less than {past_key.shape[2]}",
                    got=str(count),
                )
        present_key, present_value = _insert_row(p, past_key, k, count), _insert_row(p, past_value, v, count)
        old_key, old_value = slice_leading_rows(p, past_key, count), slice_leading_rows(p, past_value, count)
        if cache_indirection is not None:
            old_key, old_value = (_reorder_by_beam(p, x, cache_indirection) for x in (old_key, old_value))
        k, v = append_to_cache(p, old_key, k), append_to_cache(p, old_value, v)
    total = k.shape[2]
    mask_bias = None
    if mask_index is not None:
        if tuple(mask_index.shape) != (q.shape[0], total):
            raise shape_error("mask", mask_index.shape, f"does not fit a batch of {q.shape[0]} and {total} keys")
        mask_bias = mask_to_bias(p, mask_index, q.shape[0], 1, total, mask_filter_value, q.dtype)
    score_bias = sum_biases(p, [mask_bias, attention_bias])
    y, scores, _ = attend(p, q, k, v, scale or q.shape[3] ** -0.5, score_bias, with_scores=n_outputs > 3)
    return (merge_heads(p, y), present_key, present_value, scores)[:n_outputs]


def _insert_row(p: P, past: T, x: T, index: Any) -> T:
    """Write a new row at ``index`` of a cache: replaces a row, or extends the cache by one."""
    batch, count, size, width = past.shape
    pieces = [(slice_leading_rows(p, past, index), (0, 0, 0, 0)), (x, (0, 0, index, 0))]
    remaining = size - index - 1
    if remaining > 0:
        rest = p.slice(past, (0, 0, index + 1, 0), (1,) * 4, (batch, count, remaining, width))
        pieces.append((rest, (0, 0, index + 1, 0)))
    return p.assemble((batch, count, max(size, index + 1), width), past.dtype, pieces)


def _reorder_by_beam(p: P, past: T, origins: T) -> T:
    """Gather each beam's past from its source beams. ``origins``: ``[batch, beams, max rows]``."""
    batch, count, rows, width = past.shape
    beams = origins.shape[1]
    if origins.ndim != 3 or origins.shape[0] * beams != batch or origins.shape[2] < rows:
        raise shape_error("cache_indirection", origins.shape, f"does not fit {batch} beams of {rows} rows")
    used_origins = p.slice(origins, (0, 0, 0), (1,) * 3, (batch // beams, beams, rows))
    batch_starts = p.constant(np.arange(0, batch, beams).reshape(-1, 1, 1))
    sources = p.map(np.add, cast(p, used_origins, _INT64), batch_starts)
    index = p.map(np.add, p.map(np.multiply, sources, constant(p, rows, _INT64)), p.constant(np.arange(rows)))
    flat = p.reshape(p.transpose(past, (0, 2, 1, 3)), (batch * rows, count * width))
    gathered = p.gather(flat, p.reshape(index, (batch, rows)), 0)
    return p.transpose(p.reshape(gathered, (batch, rows, count, width)), (0, 2, 1, 3))
