"""ONNX normalizations that onnx.reference has wrong: it would give other numbers without a word.

It sums signed numbers for the L1 norm (LpNormalization), normalises by the batch's own statistics in BatchNormalization
before opset 14, fills only as many channels as there are batches (LRN) and ignores that Hardmax was 2-D once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from .axes import halves, normal_axis
from .registry import onnx
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


@onnx("LRN")
def lrn(p: P, x: T, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> T:
    """The square sum runs over channels ``c - floor((size - 1) / 2)`` to ``c + ceil((size - 1) / 2)``."""
    if x.ndim < 2 or size < 1:
        raise ValueError(f"LRN needs channels and a positive size, not shape {x.shape} and size {size}")
    wide = working_dtype(x.dtype)
    values = cast(p, x, wide)
    rest = [0] * (x.ndim - 2)
    padded = p.assemble(
        (x.shape[0], x.shape[1] + size - 1, *x.shape[2:]),
        wide,
        [(p.map(np.multiply, values, values), [0, (size - 1) // 2, *rest])],
        0,
    )
    parts = [p.slice(padded, [0, k, *rest], [1] * x.ndim, x.shape) for k in range(size)]
    total = parts[0]
    for part in parts[1:]:
        total = p.map(np.add, total, part)
    scaled = p.map(np.add, p.map(np.multiply, total, constant(p, alpha / size, wide)), constant(p, bias, wide))
    return cast(p, p.map(np.divide, values, p.map(np.power, scaled, constant(p, beta, wide))), x.dtype)


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
