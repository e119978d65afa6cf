"""Random number operators (random_source.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import dtype_from_onnx
from ..errors import ModelError
from ..graph import Array
from .axis_arguments import check_shape
from .operator_helpers import Dtype, is_float, is_integer
from .random_source import RandomSource
from .registry import Ints, inherit_attributes, onnx, openvino

if TYPE_CHECKING:
    from numpy.random import Generator

P = Any


def _generator(*, seed: float | None = None, draws: RandomSource | None = None) -> Any:
    """The generator of a node with this seed; these are attributes of each operator."""
    return (draws or RandomSource()).generator(seed)


def _uniform(generator: Generator, shape: Sequence[int], low: float, high: float, dtype: Dtype) -> Array:
    numbers = generator.random(tuple(shape)) * (high - low) + low
    rounded: Array = numbers.astype(dtype)
    if high > low:  # rounding may have reached the excluded end of the range
        rounded = np.minimum(rounded, np.nextafter(np.array(high, dtype), np.array(low, dtype)))
    return rounded


def _normal(generator: Generator, shape: Sequence[int], mean: float, scale: float, dtype: Dtype) -> Array:
    numbers: Array = generator.standard_normal(tuple(shape)) * scale + mean
    return numbers.astype(dtype)


def _float_dtype(name: str, code: int | None, like: Dtype | None = None) -> Dtype:
    dtype = like if code is None else dtype_from_onnx(code)
    assert dtype is not None
    if not is_float(dtype):
        raise ModelError(
            f"{name} gives floating-point numbers, and its dtype is {dtype.name}", name="dtype", got=dtype.name
        )
    return dtype


@onnx("RandomUniform", native=False, pure=False)
@inherit_attributes(_generator)
def random_uniform(p: P, *, shape: Ints, dtype: int = 1, low: float = 0.0, high: float = 1.0, **source: Any) -> Array:
    return _uniform(_generator(**source), check_shape(shape), low, high, _float_dtype("RandomUniform", dtype))


@onnx("RandomNormal", native=False, pure=False)
@inherit_attributes(_generator)
def random_normal(p: P, *, shape: Ints, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, **source: Any) -> Array:
    return _normal(_generator(**source), check_shape(shape), mean, scale, _float_dtype("RandomNormal", dtype))


@onnx("RandomUniformLike", native=False, pure=False)
@inherit_attributes(_generator)
def random_uniform_like(
    p: P, x: Array, *, dtype: int | None = None, low: float = 0.0, high: float = 1.0, **source: Any
) -> Array:
    return _uniform(_generator(**source), x.shape, low, high, _float_dtype("RandomUniformLike", dtype, x.dtype))


@onnx("RandomNormalLike", native=False, pure=False)
@inherit_attributes(_generator)
def random_normal_like(
    p: P, x: Array, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, **source: Any
) -> Array:
    return _normal(_generator(**source), x.shape, mean, scale, _float_dtype("RandomNormalLike", dtype, x.dtype))


@onnx("Bernoulli", since=15, native=False, pure=False)
@inherit_attributes(_generator)
def bernoulli(p: P, x: Array, *, dtype: int | None = None, **source: Any) -> Array:
    """1 with the probability of the element, else 0."""
    out = x.dtype if dtype is None else dtype_from_onnx(dtype)
    if not np.all((x >= 0) & (x <= 1)):
        raise ValueError("Bernoulli wants probabilities from 0 to 1")
    drawn: Array = _generator(**source).random(x.shape) < x.astype(np.float64)
    return drawn.astype(out)


@onnx("Multinomial", since=7, native=False, pure=False)
@inherit_attributes(_generator)
def multinomial(p: P, x: Array, *, dtype: int = 6, sample_size: int = 1, **source: Any) -> Array:
    """Draw classes by unnormalized log probabilities: ``[batch, sample_size]``."""
    out = dtype_from_onnx(dtype)
    if x.ndim != 2 or x.shape[1] == 0:
        raise ValueError(f"Multinomial wants [batch, classes], got shape {list(x.shape)}")
    if out not in (np.int32, np.int64):
        raise ModelError(
            f"Multinomial gives int32 or int64, and its dtype is {out.name}",
            name="dtype",
            expected="int32 or int64",
            got=out.name,
        )
    return _draw_classes(_generator(**source), _normalize_probabilities(x, True), sample_size).astype(out)


def _normalize_probabilities(x: Array, logarithms: bool) -> Array:
    """Normalize rows to sum 1."""
    x = x.astype(np.float64)
    if logarithms:
        x = np.exp(x - x.max(axis=1, keepdims=True))
    sums = x.sum(axis=1, keepdims=True)
    if not np.all((x >= 0) & (sums > 0) & np.isfinite(sums)):
        raise ValueError("the probabilities of a row must be 0 or more, finite, and not all 0")
    normalized: Array = x / sums
    return normalized


def _draw_classes(generator: Generator, probabilities: Array, count: int) -> Array:
    samples = generator.random((len(probabilities), count))
    classes = np.empty(samples.shape, np.int64)
    for k, row in enumerate(probabilities):
        ends = row.cumsum()
        last_possible = np.flatnonzero(row)[-1]  # rounding must not give a class of probability 0
        classes[k] = np.minimum(ends.searchsorted(samples[k] * ends[-1], side="right"), last_possible)
    return classes


def _openvino_generator(*, global_seed: int = 0, op_seed: int = 0, draws: RandomSource | None = None) -> Any:
    seed = (global_seed, op_seed) if global_seed or op_seed else None
    return (draws or RandomSource()).generator(seed)


@openvino("RandomUniform", since=8, native=False, pure=False)
@inherit_attributes(_openvino_generator)
def openvino_random_uniform(p: P, shape: Array, low: Array, high: Array, *, output_type: Dtype, **source: Any) -> Array:
    extents = check_shape([int(n) for n in shape.reshape(-1)])
    lower, upper = low.reshape(()), high.reshape(())
    if not lower < upper:
        raise ValueError(f"RandomUniform wants a least value below the greatest; they are {lower} and {upper}")
    generator = _openvino_generator(**source)
    if is_integer(output_type):
        numbers: Array = generator.integers(int(lower), int(upper), extents, output_type)
        return numbers
    return _uniform(generator, extents, float(lower), float(upper), output_type)


@openvino("Multinomial", since=13, native=False, pure=False)
@inherit_attributes(_openvino_generator)
def openvino_multinomial(
    p: P,
    x: Array,
    num_samples: Array,
    *,
    convert_type: Dtype,
    with_replacement: bool,
    log_probs: bool,
    **source: Any,
) -> Array:
    """Draw classes by probabilities, with or without replacement."""
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"Multinomial wants [batch, classes], got shape {list(x.shape)}")
    count = int(num_samples.reshape(()))
    generator = _openvino_generator(**source)
    probabilities = _normalize_probabilities(rows, log_probs)
    if with_replacement:
        classes = _draw_classes(generator, probabilities, count)
    else:
        if count > np.count_nonzero(probabilities, axis=1).min(initial=rows.shape[1]):
            raise ValueError(f"Multinomial cannot draw {count} different classes from a row with fewer above 0")
        # Gumbel top-k: draws without replacement.
        with np.errstate(divide="ignore"):
            keys = np.log(probabilities) + generator.gumbel(size=probabilities.shape)
        classes = np.argsort(-keys, axis=1)[:, :count]
    return (classes[0] if x.ndim == 1 else classes).astype(convert_type)
