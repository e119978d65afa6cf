"""What newer decoders are made of beside attention, in ``com.microsoft``: gates, norms, rotations, convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from . import attention as core
from .activations import sigmoid, softplus
from .axes import text, unknown_word, volume
from .microsoft_attention import heads, together
from .microsoft_elementwise import MICROSOFT
from .normalize import layer_normalized
from .registry import Ints, onnx
from .support import cast, constant, working_dtype

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)


# --- Gates.


def _silu(p: P, x: T) -> T:
    return p.map(np.multiply, x, sigmoid(p, x))


@onnx("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(p: P, x: T, scale: T | None = None, *, alpha: float = 1.0) -> T:
    """``z * sigmoid(z)`` of ``z = scale * x``, rounded to the type of ``x`` at each step."""
    if scale is None:
        factor = constant(p, alpha, _FLOAT32)
    elif scale.size != 1:
        raise ModelError(f"a scale of shape {scale.shape} is not one number")
    else:
        factor = p.reshape(cast(p, scale, _FLOAT32), ())
    z = cast(p, p.map(np.multiply, cast(p, x, _FLOAT32), factor), x.dtype)
    wide = cast(p, z, _FLOAT32)
    share = cast(p, cast(p, sigmoid(p, wide), x.dtype), _FLOAT32)
    return cast(p, p.map(np.multiply, wide, share), x.dtype)


@onnx("GatedAdd", domain=MICROSOFT)
def gated_add(p: P, x: T, y: T, gate: T, gate_weight: T | None = None) -> T:
    """``x + y * gate``, a number of the gate for each row; the product is rounded to the type of ``x``."""
    if gate_weight is not None:
        raise UnsupportedError("GatedAdd with gate_weight is not supported; onnxruntime has it for another provider")
    if x.shape != y.shape or gate.shape != (*x.shape[:-1], 1):
        raise ModelError(f"a gate of shape {gate.shape} has not one number a row of {x.shape} and {y.shape}")
    return p.map(np.add, x, p.map(np.multiply, y, gate))


@onnx("LinearAttentionGate", domain=MICROSOFT)
def linear_attention_gate(p: P, a: T, dt_bias: T, decay_scale: T, b: T | None = None, *, n_outputs: int = 1) -> Any:
    """``decay_scale * softplus(a + dt_bias)``, and ``sigmoid(b)``; both in float32."""
    for x, what in ((dt_bias, "dt_bias"), (decay_scale, "decay_scale")):
        if x.shape != a.shape[-1:]:
            raise ModelError(f"{what} of shape {x.shape} has not one number for each of {a.shape[-1]} heads")
    slope = softplus(p, p.map(np.add, cast(p, a, _FLOAT32), dt_bias))
    decay = cast(p, p.map(np.multiply, slope, decay_scale), a.dtype)
    if n_outputs == 1:
        return decay
    if b is None:
        raise ModelError("LinearAttentionGate gives beta, its output 1, only where it has its input 3")
    return decay, cast(p, sigmoid(p, cast(p, b, _FLOAT32)), b.dtype)


# --- Norms.


@onnx("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(p: P, x: T, scale: T, gate: T, *, activation: str = "silu", epsilon: float = 1e-5) -> T:
    """RMS normalization of each run of as many numbers as ``scale`` has, times the activated gate, in float32."""
    word = text(activation)
    if word not in ("silu", "swish", "sigmoid"):
        raise unknown_word("activation", word, ("silu", "swish", "sigmoid"))
    if x.shape != gate.shape:
        raise ModelError(f"a gate of shape {gate.shape} does not fit an input of shape {x.shape}")
    width = volume(scale.shape)
    if scale.ndim != 1 or not width or not x.ndim or x.shape[-1] % width:
        raise ModelError(f"rows of shape {x.shape} cannot be divided by a scale of shape {scale.shape}")
    grouped = p.reshape(cast(p, x, _FLOAT32), (*x.shape[:-1], x.shape[-1] // width, width))
    normal = layer_normalized(p, grouped, cast(p, scale, _FLOAT32), None, -1, epsilon, centred=False)[0]
    wide = cast(p, gate, _FLOAT32)
    share = sigmoid(p, wide) if word == "sigmoid" else _silu(p, wide)
    return cast(p, p.map(np.multiply, p.reshape(normal, x.shape), share), x.dtype)


@onnx("BranchwiseRMSNorm", domain=MICROSOFT)
def branchwise_rms_norm(p: P, x: T, scale: T | None = None, *, num_branches: int = 0, epsilon: float = 1e-5) -> T:
    """RMS normalization of each branch: ``[..., branches, width]``, or ``[..., branches * width]``."""
    if num_branches < 0 or x.ndim < (1 if num_branches else 2) or (num_branches and x.shape[-1] % num_branches):
        raise ModelError(f"an input of shape {x.shape} has no {num_branches or ''} branches".replace("  ", " "))
    if num_branches:
        shape = (*x.shape[:-1], num_branches, x.shape[-1] // num_branches)
    else:
        shape = x.shape
    count, width = shape[-2:]
    grouped = p.reshape(cast(p, x, _FLOAT32), shape)
    normal = layer_normalized(p, grouped, None, None, -1, epsilon, centred=False)[0]
    if scale is not None:
        if tuple(scale.shape) not in ((count * width,), (count, width), (width,)):
            raise ModelError(f"a scale of shape {scale.shape} does not fit {count} branches of {width} numbers")
        factors = scale if tuple(scale.shape) == (width,) else p.reshape(scale, (count, width))
        normal = p.map(np.multiply, normal, cast(p, factors, _FLOAT32))
    return cast(p, p.reshape(normal, x.shape), x.dtype)


# --- Rotary embeddings in three dimensions.


@onnx("MRotaryEmbedding", domain=MICROSOFT)
def m_rotary_embedding(
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
    """Positions ``[3, batch, rows]`` in time, height and width; each has a part of the angles of a row.

    ``mrope_layout``: the parts follow one another (0), or alternate as long as they last (1).
    """
    if is_packed_batching:
        raise UnsupportedError("is_packed_batching=1 is not supported; onnxruntime writes it for other providers")
    half = cos_cache.shape[-1]
    if len(mrope_section) != 3 or min(mrope_section) < 0 or sum(mrope_section) != half:
        raise ModelError(f"mrope_section={list(mrope_section)} are not three numbers whose sum is {half}")
    if mrope_layout not in (0, 1):
        raise ModelError(f"mrope_layout={mrope_layout} is neither 0 nor 1")
    flat = x.ndim == 3
    if flat:
        if num_heads < 1:
            raise ModelError(f"an input of three axes needs num_heads, which is {num_heads}")
        x = heads(p, x, num_heads)
    if x.ndim != 4 or tuple(position_ids.shape) != (3, x.shape[0], x.shape[2]):
        raise ModelError(f"positions of shape {position_ids.shape} do not fit an input of shape {x.shape}")
    which = _streams(mrope_section, half, mrope_layout)

    def angles(cache: T) -> T:
        found = p.gather(cache, position_ids, 0)  # [3, batch, rows, half]
        parts = [p.slice(found, (k, 0, 0, 0), (1,) * 4, (1, *found.shape[1:])) for k in range(3)]
        chosen = parts[0]
        for k in (1, 2):
            chosen = p.where(p.constant(which == k), parts[k], chosen)
        return cast(p, p.transpose(chosen, (1, 0, 2, 3)), wide.dtype)

    wide = cast(p, x, working_dtype(x.dtype))
    y = cast(p, core.rotated(p, wide, angles(cos_cache), angles(sin_cache), interleaved), x.dtype)
    return together(p, y) if flat else y


def _streams(sections: Ints, half: int, layout: int) -> Any:
    """Which of the three positions each angle of a row follows."""
    if not layout:
        return np.repeat(np.arange(3), sections)
    which = np.zeros(half, np.int64)
    for k in (1, 2):
        which[k : 3 * sections[k] : 3] = k
    return which
