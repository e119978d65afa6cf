"""Softmax, and layer, group, batch and other normalizations.

float32 rows use the routines of softmax_normalize.h; float64 uses primitives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from .axis_arguments import (
    element_count,
    element_counts_around_axis,
    normalize_axes_sorted,
    normalize_axis,
    normalize_distinct_axes,
    normalize_existing_axis,
    read_ints,
    unknown_value_error,
)
from .convolution import scale_and_shift_channels
from .operator_helpers import cast, check_unidirectional_broadcast, constant, working_dtype
from .primitive_types import RoutineCall
from .registry import Ints, inherit_attributes, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any

FLOAT32 = np.dtype(np.float32)


# --- Softmax.


#: Up to this count, bfloat16 are added sequentially (as in softmax_normalize.h).
_MAX_UNROLLED = 8


def softmax_over(p: P, x: T, axes: tuple[int, ...], logarithm: bool = False) -> T:
    """Softmax, or its logarithm, jointly over ``axes``, which are in ascending order.

    Narrower floats are rounded after each step, to match ONNX's function body. Sums are rounded once, except those of a
    few bfloat16, which onnx.reference rounds after each addition (256 and more ones would stay at 256).
    """
    if not x.size:
        return x
    first = x.ndim - len(axes)
    work = working_dtype(x.dtype)
    if work == FLOAT32 and axes == tuple(range(first, x.ndim)):
        rows, length = element_count(x.shape[:first]), element_count(x.shape[first:])
        if x.dtype == FLOAT32:
            (result,) = p.call(
                RoutineCall(
                    "softmax_normalize.softmax", [(x.shape, FLOAT32)], (rows, length, int(logarithm)), rows=(0,)
                ),
                [x],
            )
            return result
        if x.dtype.itemsize > 1:
            numbers = (rows, length, int(logarithm), int(x.dtype.name == "bfloat16"))
            (result,) = p.call(
                RoutineCall("softmax_normalize.softmax_rounded", [(x.shape, x.dtype)], numbers, rows=(0,)), [x]
            )
            return result

    def round_to_input_dtype(value: T) -> T:
        return cast(p, cast(p, value, x.dtype), work)

    values = cast(p, x, work)
    shifted = round_to_input_dtype(p.map(np.subtract, values, p.reduce(np.maximum, values, axes, True)))
    powers = round_to_input_dtype(p.map(np.exp, shifted))
    if x.dtype.name == "bfloat16" and len(axes) == 1 and x.shape[axes[0]] <= _MAX_UNROLLED:
        parts = [_element_along(p, powers, axes[0], k) for k in range(x.shape[axes[0]])]
        total = functools.reduce(lambda a, b: round_to_input_dtype(p.map(np.add, a, b)), parts)
    else:
        total = round_to_input_dtype(p.reduce(np.add, powers, axes, True))
    if logarithm:
        return cast(p, p.map(np.subtract, shifted, round_to_input_dtype(p.map(np.log, total))), x.dtype)
    return cast(p, p.map(np.divide, powers, total), x.dtype)


def _element_along(p: P, x: T, axis: int, k: int) -> T:
    """Slice element ``k`` along an axis, which is kept."""
    starts = [k if d == axis else 0 for d in range(x.ndim)]
    return p.slice(x, starts, [1] * x.ndim, [1 if d == axis else extent for d, extent in enumerate(x.shape)])


def _register_softmax(name: str, openvino_since: int, logarithm: bool) -> None:
    @onnx(name, since=1)
    def softmax_flattened(p: P, x: T, *, axis: int = 1) -> T:
        """Before opset 13: jointly over ``axis`` and all later axes."""
        first = x.ndim if axis == x.ndim else normalize_axis(axis, x.ndim)
        return softmax_over(p, x, tuple(range(first, x.ndim)), logarithm)

    @onnx(name, since=13)
    def softmax_along_axis(p: P, x: T, *, axis: int = -1) -> T:
        axis_index = normalize_axis(axis, x.ndim)
        return softmax_over(p, x, (axis_index,) if x.ndim else (), logarithm)

    @openvino(name, since=openvino_since)
    def openvino_op(p: P, x: T, *, axis: int = 1) -> T:
        return softmax_along_axis(p, x, axis=axis)


_register_softmax("Softmax", 1, logarithm=False)
_register_softmax("LogSoftmax", 5, logarithm=True)


def _hardmax(p: P, x: T, axis: int) -> T:
    positions = p.constant(np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - axis - 1)))
    if x.size == 0:
        return p.constant(np.zeros(x.shape, x.dtype))
    is_maximum = p.map(np.equal, p.arg_extreme("max", cast(p, x, working_dtype(x.dtype)), axis, False), positions)
    return p.where(is_maximum, constant(p, 1, x.dtype), constant(p, 0, x.dtype))


@onnx("Hardmax")
def hardmax_2d(p: P, x: T, *, axis: int = 1) -> T:
    """Before opset 13: jointly over ``axis`` and all later axes."""
    return p.reshape(_hardmax(p, p.reshape(x, element_counts_around_axis(axis, x.shape)), 1), x.shape)


@onnx("Hardmax", since=13)
def hardmax(p: P, x: T, *, axis: int = -1) -> T:
    return _hardmax(p, x, normalize_existing_axis(axis, x.ndim))


# --- Common core of layer, group, RMS and mean-variance normalization.

# softmax_normalize.h
_SUBTRACT_MEAN, _SCALE, _BIAS, _STATISTICS, _EPSILON_OUTSIDE_ROOT = 1, 2, 4, 8, 16


def normalize_trailing(
    p: P,
    x: T,
    first: int,
    epsilon: float,
    scale: T | None = None,
    bias: T | None = None,
    *,
    centred: bool = True,
    outside: bool = False,
    statistics: bool = False,
) -> tuple[T, ...]:
    """Normalize float32 or float64 over the axes from ``first`` on to mean 0 and deviation 1, then scale and shift.

    ``scale`` and ``bias`` broadcast to ``x``; ``centred``: False assumes the mean 0 (RMS); ``outside``: add epsilon to
    the deviation, not to the variance. With ``statistics``, also return the means and the inverse deviations.
    """
    shape, row_shape = tuple(x.shape), tuple(x.shape[first:])
    statistics_shape = (*shape[:first], *(1,) * len(row_shape))
    if x.dtype != FLOAT32 or not x.size:
        results = _normalize_by_primitives(p, x, first, epsilon, centred, outside)
        remaining: list[T | None] = [scale, bias]
    else:
        fused = [v if v is None or _matches_row(v.shape, row_shape) else None for v in (scale, bias)]
        if fused[0] is not scale:
            fused[1] = None
        flags = _SUBTRACT_MEAN * centred + _STATISTICS * statistics + _EPSILON_OUTSIDE_ROOT * outside
        flags += _SCALE * (fused[0] is not None) + _BIAS * (fused[1] is not None)
        remaining = [None if fused[0] is scale else scale, None if fused[1] is bias else bias]
        outputs = [(shape, FLOAT32), *([(statistics_shape, FLOAT32)] * 2 if statistics else [])]
        bits = int(np.float32(epsilon).view(np.uint32))
        numbers = (element_count(shape[:first]), element_count(row_shape), bits, flags)
        inputs = [x, *(v for v in fused if v is not None)]
        results = p.call(RoutineCall("softmax_normalize.normalize", outputs, numbers, rows=(0,)), inputs)
    result = results[0]
    for function, operand in zip((np.multiply, np.add), remaining, strict=True):
        result = result if operand is None else p.map(function, result, operand)
    return (result, *results[1:])[: 3 if statistics else 1]


def _matches_row(shape: Sequence[int], row_shape: Sequence[int]) -> bool:
    """True if a tensor has one element for each element of a row."""
    extra = len(shape) - len(row_shape)
    return extra >= 0 and tuple(shape[extra:]) == tuple(row_shape) and all(n == 1 for n in shape[:extra])


def _normalize_by_primitives(p: P, x: T, first: int, epsilon: float, centred: bool, outside: bool) -> tuple[T, ...]:
    axes = tuple(range(first, x.ndim))
    count = constant(p, element_count(x.shape[first:]), x.dtype)
    mean = p.map(np.divide, p.reduce(np.add, x, axes, True), count)
    deviation = p.map(np.subtract, x, mean) if centred else x
    variance = p.map(np.divide, p.reduce(np.add, p.map(np.multiply, deviation, deviation), axes, True), count)
    epsilon_value = constant(p, epsilon, x.dtype)
    if outside:
        scale = p.map(np.add, p.map(np.sqrt, variance), epsilon_value)
    else:
        scale = p.map(np.sqrt, p.map(np.add, variance, epsilon_value))
    inverse = p.map(np.reciprocal, scale)
    return p.map(np.multiply, deviation, inverse), mean, inverse


def _scale_and_shift(p: P, x: T, scale: T | None, bias: T | None) -> T:
    x = x if scale is None else p.map(np.multiply, x, scale)
    return x if bias is None else p.map(np.add, x, bias)


def layer_or_rms_normalize(
    p: P, x: T, scale: T | None, bias: T | None, axis: int, epsilon: float, *, centred: bool = True
) -> tuple[T, ...]:
    """Layer or, if not ``centred``, RMS normalization from ``axis`` on, with means and inverse deviations.

    Statistics are in float32, or float64 for float64; the result is rounded to the scale's dtype before scaling.
    """
    first = normalize_axis(axis, x.ndim)
    for operand, name in ((scale, "Scale"), (bias, "B")):
        if operand is not None:
            check_unidirectional_broadcast(x, operand, name)
    values = cast(p, x, working_dtype(x.dtype))
    if values.dtype == x.dtype and (scale is None or scale.dtype == x.dtype):
        return normalize_trailing(p, values, first, epsilon, scale, bias, centred=centred, statistics=True)
    normal, mean, inverse = normalize_trailing(p, values, first, epsilon, centred=centred, statistics=True)
    return (_scale_and_shift(p, cast(p, normal, x.dtype if scale is None else scale.dtype), scale, bias), mean, inverse)


def _reshape_per_channel(p: P, values: T, x: T, dtype: np.dtype[Any]) -> T:
    """Reshape per-channel values (axis 1) to broadcast with ``x``."""
    channels = x.shape[1] if x.ndim > 1 else 1
    if values.shape != (channels,):
        raise ValueError(f"statistics of shape {values.shape} do not fit the {channels} channels of {x.shape}")
    return p.reshape(cast(p, values, dtype), (channels, *(1,) * max(x.ndim - 2, 0)))


@onnx("LayerNormalization", since=17)
def layer_normalization(
    p: P,
    x: T,
    scale: T,
    bias: T | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Any:
    return layer_or_rms_normalize(p, x, scale, bias, axis, epsilon)[:n_outputs]


@onnx("RMSNormalization", since=23)
def rms_normalization(p: P, x: T, scale: T, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> T:
    return layer_or_rms_normalize(p, x, scale, None, axis, epsilon, centred=False)[0]


def _normalize_groups(p: P, x: T, groups: int, epsilon: float) -> T:
    """Normalize groups of channels (axis 1), in float32 or wider."""
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ModelError(
            f"the channels of {x.shape} cannot be split into {groups} groups", name="groups", got=str(groups)
        )
    grouped_shape = (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return p.reshape(normalize_trailing(p, p.reshape(x, grouped_shape), 2, epsilon)[0], x.shape)


@onnx("InstanceNormalization")
def instance_normalization(p: P, x: T, scale: T, bias: T, *, epsilon: float = 1e-5, consumed_inputs: Any = None) -> T:
    work = working_dtype(x.dtype)
    scale, bias = (_reshape_per_channel(p, v, x, work) for v in (scale, bias))
    return cast(
        p, _scale_and_shift(p, _normalize_groups(p, cast(p, x, work), x.shape[1], epsilon), scale, bias), x.dtype
    )


@onnx("GroupNormalization", since=18)
def group_normalization_18(p: P, x: T, scale: T, bias: T, *, num_groups: int, epsilon: float = 1e-5) -> T:
    """Version 18 has a scale and a bias for each group."""
    work = working_dtype(x.dtype)
    normalized = _normalize_groups(p, cast(p, x, work), num_groups, epsilon)
    grouped = p.reshape(normalized, (x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:]))
    scale, bias = (_reshape_per_channel(p, v, grouped, work) for v in (scale, bias))
    return cast(p, p.reshape(_scale_and_shift(p, grouped, scale, bias), x.shape), x.dtype)


@onnx("GroupNormalization", since=21)
def group_normalization(
    p: P, x: T, scale: T, bias: T, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> T:
    work = working_dtype(x.dtype)
    normalized = cast(p, _normalize_groups(p, cast(p, x, work), num_groups, epsilon), x.dtype)
    return _scale_and_shift(p, normalized, *(_reshape_per_channel(p, v, x, x.dtype) for v in (scale, bias)))


@openvino("GroupNormalization", since=12)
def openvino_group_normalization(p: P, x: T, scale: T, bias: T, *, num_groups: int, epsilon: float) -> T:
    return group_normalization(p, x, scale, bias, num_groups=num_groups, epsilon=epsilon)


def _mean_variance_normalize(p: P, x: T, axes: Sequence[int], epsilon: float, variance: bool, outside: bool) -> T:
    """Subtract the mean along ``axes`` and, with ``variance``, divide by the deviation."""
    values = cast(p, x, working_dtype(x.dtype))
    reduced = normalize_axes_sorted(axes, x.ndim)
    if not variance:
        count = constant(p, element_count(x.shape[axis] for axis in reduced), values.dtype)
        mean = p.map(np.divide, p.reduce(np.add, values, reduced, True), count)
        return cast(p, p.map(np.subtract, values, mean), x.dtype)
    others = [axis for axis in range(x.ndim) if axis not in reduced]
    perm = [*others, *reduced]
    normalized = normalize_trailing(p, p.transpose(values, perm), len(others), epsilon, outside=outside)[0]
    restored = p.transpose(normalized, [perm.index(axis) for axis in range(x.ndim)])
    return cast(p, restored, x.dtype)


@onnx("MeanVarianceNormalization", since=9)
def mean_variance_normalization(p: P, x: T, *, axes: Sequence[int] = (0, 2, 3)) -> T:
    """The specification's function body adds 1e-9 to the deviation."""
    return _mean_variance_normalize(p, x, axes, 1e-9, variance=True, outside=True)


@openvino("MVN", since=2)
def openvino_mvn_2(
    p: P,
    x: T,
    *,
    across_channels: bool = False,
    normalize_variance: bool = True,
    eps: float = 1e-9,
    reduction_axes: Ints = (),
) -> T:
    """Version 2 adds eps to the variance."""
    axes = reduction_axes or range(1 if across_channels else 2, x.ndim)
    return _mean_variance_normalize(p, x, axes, eps, normalize_variance, outside=False)


@openvino("MVN", since=6)
def openvino_mvn(p: P, x: T, axes: T, *, normalize_variance: bool, eps: float, eps_mode: str = "inside_sqrt") -> T:
    mode = eps_mode.lower()
    if mode not in ("inside_sqrt", "outside_sqrt"):
        raise unknown_value_error("eps_mode", eps_mode, ("inside_sqrt", "outside_sqrt"))
    return _mean_variance_normalize(p, x, read_ints(p, axes), eps, normalize_variance, outside=mode == "outside_sqrt")


# --- Batch normalization, norms, and local response normalization.


def _batch_normalize(p: P, x: T, scale: T, bias: T, mean: T, variance: T, epsilon: float) -> T:
    """Normalize by one factor and one offset per channel."""
    deviation = p.map(np.sqrt, p.map(np.add, variance, constant(p, epsilon, variance.dtype)))
    factor = p.map(np.divide, scale, deviation)
    offset = p.map(np.subtract, bias, p.map(np.multiply, mean, factor))
    if x.ndim > 1 and x.size:
        return scale_and_shift_channels(p, x, *(p.reshape(v, (x.shape[1],)) for v in (factor, offset)))
    return p.map(np.add, p.map(np.multiply, x, factor), offset)


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
    work = working_dtype(x.dtype)
    values = cast(p, x, work)
    scale, bias, known_mean, known_variance = (
        _reshape_per_channel(p, v, x, work) for v in (scale, bias, mean, variance)
    )
    if not training_mode:
        if n_outputs > 1:
            raise ModelError(
                "BatchNormalization has more than one output only with training_mode=1",
                name="training_mode",
                expected="1",
            )
        return cast(p, _batch_normalize(p, values, scale, bias, known_mean, known_variance, epsilon), x.dtype)
    axes = tuple(k for k in range(x.ndim) if k != 1)
    count = constant(p, math.prod(x.shape[k] for k in axes), work)
    new_mean = p.map(np.divide, p.reduce(np.add, values, axes, True), count)
    centred = p.map(np.subtract, values, new_mean)
    new_variance = p.map(np.divide, p.reduce(np.add, p.map(np.multiply, centred, centred), axes, True), count)
    y = _batch_normalize(p, values, scale, bias, new_mean, new_variance, epsilon)

    def running_average(previous: T, batch: T, dtype: np.dtype[Any]) -> T:
        decayed = p.map(np.multiply, previous, constant(p, momentum, work))
        added = p.map(np.multiply, p.reshape(batch, previous.shape), constant(p, 1 - momentum, work))
        return cast(p, p.reshape(p.map(np.add, decayed, added), (previous.size,)), dtype)

    statistics = (
        running_average(known_mean, new_mean, mean.dtype),
        running_average(known_variance, new_variance, variance.dtype),
    )
    return (cast(p, y, x.dtype), *statistics)[:n_outputs]


@onnx("BatchNormalization", since=7)
@inherit_attributes(batch_normalization, "training_mode")
def batch_normalization_7(
    p: P, x: T, scale: T, bias: T, mean: T, variance: T, *, spatial: int = 1, n_outputs: int = 1, **attributes: Any
) -> Any:
    """Before opset 14, a node with one output is in inference mode."""
    if n_outputs > 1 or not spatial:
        raise UnsupportedError(
            "BatchNormalization in training mode, or with spatial=0, is not supported before opset 14",
            name="spatial" if n_outputs == 1 else "training_mode",
        )
    return batch_normalization(p, x, scale, bias, mean, variance, **attributes)


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
        raise unknown_value_error("p", p, (1, 2))
    work = working_dtype(x.dtype)
    values = cast(primitives, x, work)
    axes = (normalize_existing_axis(axis, x.ndim),)
    if p == 1:
        norm = primitives.reduce(np.add, primitives.map(np.absolute, values), axes, True)
    else:
        norm = primitives.reduce(np.add, primitives.map(np.multiply, values, values), axes, True)
        norm = primitives.map(np.sqrt, norm)
    zero, unit = constant(primitives, 0, work), constant(primitives, 1, work)
    safe = primitives.where(primitives.map(np.equal, norm, zero), unit, norm)
    return cast(primitives, primitives.map(np.divide, values, safe), x.dtype)


def _local_response_normalize(
    p: P, x: T, axes: Sequence[int], size: int, after: int, alpha: float, beta: float, bias: float
) -> T:
    """Divide by a power of the mean square over ``(size - 1) // 2`` elements before and ``after`` elements after
    each."""
    if size < 1:
        raise ValueError(f"the size {size} of the neighbourhood must be positive")
    work = working_dtype(x.dtype)
    values = cast(p, x, work)
    total = p.map(np.multiply, values, values)
    before = (size - 1) // 2
    for axis in axes:
        starts, padded_shape = [0] * x.ndim, list(x.shape)
        starts[axis], padded_shape[axis] = before, x.shape[axis] + before + after
        padded = p.assemble(padded_shape, work, [(total, starts)], 0)
        total = p.slice(padded, [0] * x.ndim, [1] * x.ndim, x.shape)
        for k in range(1, before + after + 1):
            starts[axis] = k
            total = p.map(np.add, total, p.slice(padded, starts, [1] * x.ndim, x.shape))
    factor = constant(p, alpha / size ** len(axes), work)
    scaled = p.map(np.add, p.map(np.multiply, total, factor), constant(p, bias, work))
    return cast(p, p.map(np.divide, values, p.map(np.power, scaled, constant(p, beta, work))), x.dtype)


@onnx("LRN")
def lrn(p: P, x: T, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> T:
    """The square sum runs over channels ``c - floor((size - 1) / 2)`` to ``c + ceil((size - 1) / 2)``."""
    if x.ndim < 2:
        raise ValueError(f"LRN needs channels, not shape {x.shape}")
    return _local_response_normalize(p, x, (1,), size, size // 2, alpha, beta, bias)


@openvino("LRN")
def openvino_lrn(p: P, x: T, axes: T, *, alpha: float, beta: float, bias: float, size: int) -> T:
    """The window is symmetric: an even size is reduced by one."""
    reduced = normalize_distinct_axes(read_ints(p, axes), x.ndim)
    return _local_response_normalize(p, x, reduced, size, (size - 1) // 2, alpha, beta, bias)


@openvino("NormalizeL2")
def normalize_l2(p: P, x: T, axes: T, *, eps: float, eps_mode: str) -> T:
    """``eps_mode``: "add" adds ``eps`` to the square sum, "max" uses it as lower bound."""
    if eps_mode.lower() not in ("add", "max"):
        raise unknown_value_error("eps_mode", eps_mode, ("add", "max"))
    reduced = normalize_axes_sorted(read_ints(p, axes), x.ndim)
    if not reduced:  # "each element is divided by itself"
        zero = constant(p, 0, x.dtype)
        return p.where(p.map(np.equal, x, zero), zero, constant(p, 1, x.dtype))
    work = working_dtype(x.dtype)
    values = cast(p, x, work)
    squares = p.reduce(np.add, p.map(np.multiply, values, values), reduced, True)
    norm_square = p.map(np.add if eps_mode.lower() == "add" else np.maximum, squares, constant(p, eps, work))
    return cast(p, p.map(np.divide, values, p.map(np.sqrt, norm_square)), x.dtype)


@openvino("GRN")
def grn(p: P, x: T, *, bias: float) -> T:
    """Divide by the root of the square sum over the channels."""
    work = working_dtype(x.dtype)
    values = cast(p, x, work)
    squares = p.reduce(np.add, p.map(np.multiply, values, values), (normalize_existing_axis(1, x.ndim),), True)
    return cast(p, p.map(np.divide, values, p.map(np.sqrt, p.map(np.add, squares, constant(p, bias, work)))), x.dtype)
