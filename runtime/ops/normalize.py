"""Normalizations of both systems.

onnx.reference would give other numbers without a word: it sums signed numbers for the L1 norm (LpNormalization),
normalises by the batch's own statistics in BatchNormalization before opset 14, fills only as many channels as there are
batches (LRN) and ignores that Hardmax was 2-D once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from .axes import axes_of, halves, ints, normal_axes, normal_axis, unknown_word
from .registry import onnx, openvino
from .support import cast, constant, working_dtype

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any


def _per_channel(p: P, values: T, x: T, dtype: np.dtype[Any]) -> T:
    """One number a channel (axis 1), ready to broadcast with ``x``."""
    channels = x.shape[1] if x.ndim > 1 else 1
    if values.shape != (channels,):
        raise ValueError(f"statistics of shape {values.shape} do not fit the {channels} channels of {x.shape}")
    return p.reshape(cast(p, values, dtype), (channels, *(1,) * max(x.ndim - 2, 0)))


def _normalized(p: P, x: T, scale: T, bias: T, mean: T, variance: T, epsilon: float) -> T:
    spread = p.map(np.sqrt, p.map(np.add, variance, constant(p, epsilon, variance.dtype)))
    centred = p.map(np.divide, p.map(np.subtract, x, mean), spread)
    return p.map(np.add, p.map(np.multiply, centred, scale), bias)


@onnx("BatchNormalization", since=7)
def batch_normalization_7(
    p: P,
    x: T,
    scale: T,
    bias: T,
    mean: T,
    variance: T,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
    n_outputs: int = 1,
) -> T:
    """Before opset 14 a node with one output is in test mode."""
    if n_outputs > 1 or not spatial:
        raise UnsupportedError(
            "BatchNormalization in training mode, or with spatial=0, is not supported before opset 14"
        )
    return batch_normalization(p, x, scale, bias, mean, variance, epsilon=epsilon, n_outputs=n_outputs)


@onnx("BatchNormalization", since=14)
def batch_normalization(
    p: P,
    x: T,
    scale: T,
    bias: T,
    mean: T,
    variance: T,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    n_outputs: int = 1,
) -> Any:
    wide = working_dtype(x.dtype)
    values = cast(p, x, wide)
    scale, bias, known_mean, known_variance = (_per_channel(p, v, x, wide) for v in (scale, bias, mean, variance))
    if not training_mode:
        if n_outputs > 1:
            raise ModelError("BatchNormalization has more than one output only with training_mode=1")
        return cast(p, _normalized(p, values, scale, bias, known_mean, known_variance, epsilon), x.dtype)
    axes = tuple(k for k in range(x.ndim) if k != 1)
    count = constant(p, math.prod(x.shape[k] for k in axes), wide)
    own_mean = p.map(np.divide, p.reduce(np.add, values, axes, True), count)
    centred = p.map(np.subtract, values, own_mean)
    own_variance = p.map(np.divide, p.reduce(np.add, p.map(np.multiply, centred, centred), axes, True), count)
    y = _normalized(p, values, scale, bias, own_mean, own_variance, epsilon)

    def running(known: T, own: T, dtype: np.dtype[Any]) -> T:
        kept = p.map(np.multiply, known, constant(p, momentum, wide))
        added = p.map(np.multiply, p.reshape(own, known.shape), constant(p, 1 - momentum, wide))
        return cast(p, p.reshape(p.map(np.add, kept, added), (known.size,)), dtype)

    statistics = running(known_mean, own_mean, mean.dtype), running(known_variance, own_variance, variance.dtype)
    return (cast(p, y, x.dtype), *statistics)[:n_outputs]


@openvino("BatchNormInference")
def batch_norm_inference_1(p: P, gamma: T, beta: T, x: T, mean: T, variance: T, *, epsilon: float) -> T:
    return batch_normalization(p, x, gamma, beta, mean, variance, epsilon=epsilon)


@openvino("BatchNormInference", since=5)
def batch_norm_inference(p: P, x: T, gamma: T, beta: T, mean: T, variance: T, *, epsilon: float) -> T:
    return batch_normalization(p, x, gamma, beta, mean, variance, epsilon=epsilon)


@onnx("LpNormalization")
def lp_normalization(primitives: P, x: T, *, axis: int = -1, p: int = 2) -> T:
    """A norm of zero gives zeros."""
    if p not in (1, 2):
        raise ModelError(f"attribute p={p} is not 1 or 2")
    wide = working_dtype(x.dtype)
    values = cast(primitives, x, wide)
    axes = (normal_axis(axis, x.ndim),)
    if p == 1:
        norm = primitives.reduce(np.add, primitives.map(np.absolute, values), axes, True)
    else:
        norm = primitives.reduce(np.add, primitives.map(np.multiply, values, values), axes, True)
        norm = primitives.map(np.sqrt, norm)
    zero, one = constant(primitives, 0, wide), constant(primitives, 1, wide)
    safe = primitives.where(primitives.map(np.equal, norm, zero), one, norm)
    return cast(primitives, primitives.map(np.divide, values, safe), x.dtype)


def _local_response(
    p: P, x: T, axes: Sequence[int], size: int, ahead: int, alpha: float, beta: float, bias: float
) -> T:
    """Divided by a power of the mean square around each element: ``(size - 1) // 2`` before it to ``ahead`` behind."""
    if size < 1:
        raise ValueError(f"the size {size} of the neighbourhood must be positive")
    wide = working_dtype(x.dtype)
    values = cast(p, x, wide)
    total = p.map(np.multiply, values, values)
    before = (size - 1) // 2
    for axis in axes:
        starts, whole = [0] * x.ndim, list(x.shape)
        starts[axis], whole[axis] = before, x.shape[axis] + before + ahead
        padded = p.assemble(whole, wide, [(total, starts)], 0)
        total = p.slice(padded, [0] * x.ndim, [1] * x.ndim, x.shape)
        for k in range(1, before + ahead + 1):
            starts[axis] = k
            total = p.map(np.add, total, p.slice(padded, starts, [1] * x.ndim, x.shape))
    factor = constant(p, alpha / size ** len(axes), wide)
    scaled = p.map(np.add, p.map(np.multiply, total, factor), constant(p, bias, wide))
    return cast(p, p.map(np.divide, values, p.map(np.power, scaled, constant(p, beta, wide))), x.dtype)


@onnx("LRN")
def lrn(p: P, x: T, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> T:
    """The square sum runs over channels ``c - floor((size - 1) / 2)`` to ``c + ceil((size - 1) / 2)``."""
    if x.ndim < 2:
        raise ValueError(f"LRN needs channels, not shape {x.shape}")
    return _local_response(p, x, (1,), size, size // 2, alpha, beta, bias)


@openvino("LRN")
def openvino_lrn(p: P, x: T, axes: T, *, alpha: float, beta: float, bias: float, size: int) -> T:
    """As far ahead as back, so that an even size is one less."""
    along = normal_axes(ints(p, axes), x.ndim)
    return _local_response(p, x, along, size, (size - 1) // 2, alpha, beta, bias)


@openvino("NormalizeL2")
def normalize_l2(p: P, x: T, axes: T, *, eps: float, eps_mode: str) -> T:
    """``eps_mode`` add: the square sum gets ``eps`` added, max: it is at least that."""
    if eps_mode.lower() not in ("add", "max"):
        raise unknown_word("eps_mode", eps_mode, ("add", "max"))
    along = axes_of(ints(p, axes), x.ndim)
    if not along:  # "each element is divided by itself"
        zero = constant(p, 0, x.dtype)
        return p.where(p.map(np.equal, x, zero), zero, constant(p, 1, x.dtype))
    wide = working_dtype(x.dtype)
    values = cast(p, x, wide)
    squares = p.reduce(np.add, p.map(np.multiply, values, values), along, True)
    least = p.map(np.add if eps_mode.lower() == "add" else np.maximum, squares, constant(p, eps, wide))
    return cast(p, p.map(np.divide, values, p.map(np.sqrt, least)), x.dtype)


@openvino("GRN")
def grn(p: P, x: T, *, bias: float) -> T:
    """By the root of the square sum over the channels."""
    wide = working_dtype(x.dtype)
    values = cast(p, x, wide)
    squares = p.reduce(np.add, p.map(np.multiply, values, values), (normal_axis(1, x.ndim),), True)
    return cast(p, p.map(np.divide, values, p.map(np.sqrt, p.map(np.add, squares, constant(p, bias, wide)))), x.dtype)


def _hardmax(p: P, x: T, axis: int) -> T:
    places = p.constant(np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - axis - 1)))
    if x.size == 0:
        return p.constant(np.zeros(x.shape, x.dtype))
    first = p.map(np.equal, p.arg("max", x, axis, False), places)
    return p.where(first, constant(p, 1, x.dtype), constant(p, 0, x.dtype))


@onnx("Hardmax")
def hardmax_2d(p: P, x: T, *, axis: int = 1) -> T:
    """Before opset 13 the axes from ``axis`` on are taken as one."""
    return p.reshape(_hardmax(p, p.reshape(x, halves(axis, x.shape)), 1), x.shape)


@onnx("Hardmax", since=13)
def hardmax(p: P, x: T, *, axis: int = -1) -> T:
    return _hardmax(p, x, normal_axis(axis, x.ndim))
