"""Layer normalizations of ``com.microsoft``, with fused additions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from .axis_arguments import shape_error
from .microsoft_elementwise import MICROSOFT
from .normalize import layer_normalization, layer_or_rms_normalize
from .operator_helpers import cast, check_unidirectional_broadcast, full_constant
from .registry import apply_standard_operator, onnx

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_INT32 = np.dtype(np.int32)


def rms_norm(p: P, x: T, scale: T, axis: int, epsilon: float) -> tuple[T, T]:
    """RMS normalization, scaled; and the inverse root mean square."""
    result, _, inverse = layer_or_rms_normalize(p, x, scale, None, axis, epsilon, centred=False)
    return result, inverse


@onnx("SimplifiedLayerNormalization")
@onnx("SimplifiedLayerNormalization", domain=MICROSOFT)
def simplified_layer_normalization(
    p: P, x: T, scale: T, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, n_outputs: int = 1
) -> Any:
    """RMS normalization; onnxruntime also emits it in the ONNX domain."""
    return rms_norm(p, x, scale, axis, epsilon)[:n_outputs]


def _sum_residuals(p: P, x: T, skip: T, bias: T | None) -> T:
    check_unidirectional_broadcast(x, skip, "skip")
    total = p.map(np.add, x, skip)
    return total if bias is None else p.map(np.add, total, bias)


@onnx("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(
    p: P,
    x: T,
    skip: T,
    gamma: T,
    beta: T | None = None,
    bias: T | None = None,
    *,
    epsilon: float = 1e-12,
    n_outputs: int = 1,
) -> Any:
    """Layer normalization of ``x + skip + bias`` over the last axis; output 3 is that sum."""
    total = _sum_residuals(p, x, skip, bias)
    result, mean, inverse = layer_normalization(p, total, gamma, beta, epsilon=epsilon, n_outputs=3)
    return (result, mean, inverse, total)[:n_outputs]


@onnx("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_normalization(
    p: P, x: T, skip: T, gamma: T, bias: T | None = None, *, epsilon: float = 1e-12, n_outputs: int = 1
) -> Any:
    """RMS normalization of ``x + skip + bias`` over the last axis; output 3 is that sum."""
    total = _sum_residuals(p, x, skip, bias)
    result, inverse = rms_norm(p, total, gamma, -1, epsilon)
    mean = full_constant(p, inverse.shape, 0, inverse.dtype)
    return (result, mean, inverse, total)[:n_outputs]


@onnx("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(
    p: P,
    input_ids: T,
    segment_ids: T | None,
    word_embedding: T,
    position_embedding: T,
    segment_embedding: T | None,
    gamma: T,
    beta: T,
    mask: T | None = None,
    position_ids: T | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
    n_outputs: int = 1,
) -> Any:
    """Sum word, position and segment embeddings, and normalize; output 1 counts unmasked words."""
    for table in (word_embedding, position_embedding, segment_embedding):
        if table is not None and table.ndim != 2:
            raise shape_error("embeddings", table.shape, "are no table")
    if input_ids.ndim != 2:
        raise shape_error("ids", input_ids.shape, "are no batch of rows")
    batch, length = input_ids.shape
    if position_ids is None and position_embedding.shape[0] < length:
        raise shape_error("table", position_embedding.shape, f"has not a row for each of {length} positions")
    total = p.gather(word_embedding, input_ids, 0)
    if position_ids is None:
        positions = p.slice(position_embedding, (0, 0), (1, 1), (length, position_embedding.shape[1]))
    else:
        positions = p.gather(position_embedding, position_ids, 0)
    total = p.map(np.add, total, positions)
    if segment_embedding is not None and segment_ids is not None:
        total = p.map(np.add, total, p.gather(segment_embedding, segment_ids, 0))
    result = layer_normalization(p, total, gamma, beta, epsilon=epsilon)
    result = result[0] if isinstance(result, tuple) else result
    counts = (
        full_constant(p, (batch,), 0, _INT32) if mask is None else p.reduce(np.add, cast(p, mask, _INT32), (1,), False)
    )
    return (result, counts, total)[:n_outputs]


@onnx("QEmbedLayerNormalization", domain=MICROSOFT)
def quantized_embed_layer_normalization(
    p: P,
    input_ids: T,
    segment_ids: T | None,
    word_embedding: T,
    position_embedding: T,
    segment_embedding: T | None,
    gamma: T,
    beta: T,
    mask: T | None,
    word_scale: T,
    position_scale: T,
    segment_scale: T | None,
    gamma_scale: T,
    beta_scale: T,
    word_zero: T,
    position_zero: T,
    segment_zero: T | None,
    gamma_zero: T,
    beta_zero: T,
    *,
    epsilon: float = 1e-12,
    n_outputs: int = 2,
) -> Any:
    """EmbedLayerNormalization with per-tensor quantized tables."""

    def dequantized(x: T, scale: T, zero: T) -> T:
        inputs = (x, p.reshape(scale, ()), p.reshape(zero, ()))
        return apply_standard_operator(p, "DequantizeLinear", inputs)[0]

    segments = [x is not None for x in (segment_ids, segment_embedding, segment_scale, segment_zero)]
    if any(segments) != all(segments):
        raise ModelError("QEmbedLayerNormalization has some of its inputs for segments and lacks others")
    return embed_layer_normalization(
        p,
        input_ids,
        segment_ids,
        dequantized(word_embedding, word_scale, word_zero),
        dequantized(position_embedding, position_scale, position_zero),
        None if segment_embedding is None else dequantized(segment_embedding, segment_scale, segment_zero),
        dequantized(gamma, gamma_scale, gamma_zero),
        dequantized(beta, beta_scale, beta_zero),
        mask,
        epsilon=epsilon,
        n_outputs=n_outputs,
    )
