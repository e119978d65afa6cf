"""Activation functions and Dropout, composed of primitives, so that each can run natively."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from .axis_arguments import unknown_value_error
from .elementwise import clamp_to_bounds, erf
from .operator_helpers import check_unidirectional_broadcast, constant, full_constant, via_float_dtype, with_native_loop
from .primitive_types import NativeLoop, NoNativeKernel
from .random_source import RandomSource
from .registry import onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any

#: Native loops for float16 and float32.
SIGMOID = NativeLoop("sigmoid")
SOFTPLUS = NativeLoop("softplus")
GELU = NativeLoop("gelu")
SELU_ALPHA = 1.67326319217681884765625
SELU_GAMMA = 1.05070102214813232421875


# --- Formulas; parameters are Python numbers.


def relu(p: P, x: T) -> T:
    return p.map(np.maximum, x, constant(p, 0, x.dtype))


def _scale(p: P, x: T, factor: float) -> T:
    return x if factor == 1 else p.map(np.multiply, x, constant(p, factor, x.dtype))


def _shift(p: P, x: T, offset: float) -> T:
    return p.map(np.add, x, constant(p, offset, x.dtype))


def _clamp(p: P, x: T, low: float, high: float) -> T:
    return clamp_to_bounds(p, x, constant(p, low, x.dtype), constant(p, high, x.dtype))


def _select_by_sign(p: P, x: T, negative: T) -> T:
    """``negative`` where x < 0, else x; propagates NaN."""
    return p.where(p.map(np.less, x, constant(p, 0, x.dtype)), negative, x)


def _sigmoid(p: P, x: T) -> T:
    if x.dtype == np.float32:
        return p.map(SIGMOID, x)
    return p.map(np.reciprocal, _shift(p, p.map(np.exp, p.map(np.negative, x)), 1))


def _softplus(p: P, x: T) -> T:
    if x.dtype == np.float32:
        return p.map(SOFTPLUS, x)
    return p.map(np.logaddexp, x, constant(p, 0, x.dtype))


def _softsign(p: P, x: T) -> T:
    return p.map(np.divide, x, _shift(p, p.map(np.absolute, x), 1))


def _leaky_relu(p: P, x: T, alpha: float) -> T:
    if 0 < alpha <= 1:
        return p.map(np.maximum, x, _scale(p, x, alpha))
    return _select_by_sign(p, x, _scale(p, x, alpha))


def _elu(p: P, x: T, alpha: float) -> T:
    return _select_by_sign(p, x, _scale(p, p.map(np.expm1, x), alpha))


def _selu(p: P, x: T, alpha: float, gamma: float) -> T:
    return _scale(p, _elu(p, x, alpha), gamma)


def _celu(p: P, x: T, alpha: float) -> T:
    return _select_by_sign(p, x, _scale(p, p.map(np.expm1, _scale(p, x, 1 / alpha)), alpha))


def _hard_sigmoid(p: P, x: T, alpha: float, beta: float) -> T:
    return _clamp(p, _shift(p, _scale(p, x, alpha), beta), 0, 1)


def _thresholded_relu(p: P, x: T, alpha: float) -> T:
    return p.where(p.map(np.greater, x, constant(p, alpha, x.dtype)), x, constant(p, 0, x.dtype))


def _hard_swish(p: P, x: T) -> T:
    return p.map(np.multiply, x, _hard_sigmoid(p, x, 1 / 6, 0.5))


def _mish(p: P, x: T) -> T:
    return p.map(np.multiply, x, p.map(np.tanh, _softplus(p, x)))


def _swish(p: P, x: T, alpha: float = 1) -> T:
    return p.map(np.multiply, x, _sigmoid(p, _scale(p, x, alpha)))


def _gelu(p: P, x: T) -> T:
    if x.dtype == np.float32:
        return p.map(GELU, x)
    return p.map(np.multiply, _scale(p, x, 0.5), _shift(p, erf(p, _scale(p, x, math.sqrt(0.5))), 1))


def _gelu_tanh(p: P, x: T) -> T:
    cube = p.map(np.multiply, p.map(np.multiply, x, x), x)
    inner = _scale(p, p.map(np.add, x, _scale(p, cube, 0.044715)), math.sqrt(2 / math.pi))
    return p.map(np.multiply, _scale(p, x, 0.5), _shift(p, p.map(np.tanh, inner), 1))


def _affine(p: P, x: T, alpha: float, beta: float) -> T:
    return _shift(p, _scale(p, x, alpha), beta)


def _scaled_tanh(p: P, x: T, alpha: float, beta: float) -> T:
    return _scale(p, p.map(np.tanh, _scale(p, x, beta)), alpha)


def _thresholded_relu_inclusive(p: P, x: T, alpha: float) -> T:
    """The definition of recurrent operators: x itself at the threshold."""
    return p.where(p.map(np.greater_equal, x, constant(p, alpha, x.dtype)), x, constant(p, 0, x.dtype))


def _tanh(p: P, x: T) -> T:
    return p.map(np.tanh, x)


sigmoid = with_native_loop(SIGMOID, via_float_dtype(_sigmoid))
softplus = with_native_loop(SOFTPLUS, via_float_dtype(_softplus))
softsign = via_float_dtype(_softsign)
_exact_gelu = with_native_loop(GELU, via_float_dtype(_gelu))
tanh = via_float_dtype(_tanh)

#: Activations of recurrent operators: the function and its default parameters (alpha, beta).
RECURRENT_ACTIVATIONS: dict[str, tuple[Callable[..., T], tuple[float, ...]]] = {
    "relu": (relu, ()),
    "tanh": (tanh, ()),
    "sigmoid": (sigmoid, ()),
    "softsign": (softsign, ()),
    "softplus": (softplus, ()),
    "leakyrelu": (via_float_dtype(_leaky_relu), (0.01,)),
    "thresholdedrelu": (_thresholded_relu_inclusive, (1.0,)),
    "elu": (via_float_dtype(_elu), (1.0,)),
    "hardsigmoid": (via_float_dtype(_hard_sigmoid), (0.2, 0.5)),
    "affine": (via_float_dtype(_affine), (1.0, 0.0)),
    "scaledtanh": (via_float_dtype(_scaled_tanh), (1.0, 1.0)),
}


# --- Operators without parameters.


def _without_attributes(function: Callable[..., T]) -> Callable[[P, T], T]:
    def op(p: P, x: T) -> T:
        return function(p, x)

    return op


for _onnx_name, _onnx_since, _openvino_name, _openvino_since, _function in (
    ("Relu", 1, "ReLU", 1, relu),
    ("Sigmoid", 1, "Sigmoid", 1, sigmoid),
    ("Softplus", 1, "SoftPlus", 4, softplus),
    ("Softsign", 1, "SoftSign", 9, softsign),
    ("HardSwish", 14, "HSwish", 4, via_float_dtype(_hard_swish)),
    ("Mish", 18, "Mish", 4, via_float_dtype(_mish)),
):
    onnx(_onnx_name, since=_onnx_since)(_without_attributes(_function))
    openvino(_openvino_name, since=_openvino_since)(_without_attributes(_function))

openvino("Gelu", since=2)(_without_attributes(_exact_gelu))


# --- Operators with parameters.


@onnx("LeakyRelu")
def leaky_relu(p: P, x: T, *, alpha: float = 0.01) -> T:
    return via_float_dtype(_leaky_relu)(p, x, alpha)


@onnx("Elu")
@openvino("Elu")
def elu(p: P, x: T, *, alpha: float = 1.0) -> T:
    return via_float_dtype(_elu)(p, x, alpha)


@onnx("Selu", since=1)
def selu_1(p: P, x: T, *, alpha: float = 1.6732, gamma: float = 1.0507) -> T:
    return via_float_dtype(_selu)(p, x, alpha, gamma)


@onnx("Selu", since=6)
def selu(p: P, x: T, *, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> T:
    return via_float_dtype(_selu)(p, x, alpha, gamma)


@openvino("Selu")
def openvino_selu(p: P, x: T, alpha: T, gamma: T) -> T:
    """alpha and gamma are one-element inputs."""
    negative = p.map(np.multiply, p.map(np.expm1, x), alpha)
    return p.map(np.multiply, _select_by_sign(p, x, negative), gamma)


@onnx("Celu", since=12)
def celu(p: P, x: T, *, alpha: float = 1.0) -> T:
    return via_float_dtype(_celu)(p, x, alpha)


@onnx("HardSigmoid")
def hard_sigmoid(p: P, x: T, *, alpha: float = 0.2, beta: float = 0.5) -> T:
    return via_float_dtype(_hard_sigmoid)(p, x, alpha, beta)


@openvino("HardSigmoid")
def openvino_hard_sigmoid(p: P, x: T, alpha: T, beta: T) -> T:
    """alpha and beta are one-element inputs."""
    return _clamp(p, p.map(np.add, p.map(np.multiply, x, alpha), beta), 0, 1)


@openvino("HSigmoid", since=5)
def hsigmoid(p: P, x: T) -> T:
    return via_float_dtype(_hard_sigmoid)(p, x, 1 / 6, 0.5)


@onnx("ThresholdedRelu", since=10)
def thresholded_relu(p: P, x: T, *, alpha: float = 1.0) -> T:
    return _thresholded_relu(p, x, alpha)


@onnx("Gelu", since=20)
def gelu(p: P, x: T, *, approximate: str = "none") -> T:
    return _gelu_by_mode(p, x, approximate, "none")


@openvino("Gelu", since=7)
def openvino_gelu(p: P, x: T, *, approximation_mode: str = "erf") -> T:
    return _gelu_by_mode(p, x, approximation_mode, "erf")


def _gelu_by_mode(p: P, x: T, mode: str, exact: str) -> T:
    if mode.lower() not in (exact, "tanh"):
        raise unknown_value_error("approximation", mode, (exact, "tanh"))
    return _exact_gelu(p, x) if mode.lower() == exact else via_float_dtype(_gelu_tanh)(p, x)


@onnx("Swish", since=24)
def swish(p: P, x: T, *, alpha: float = 1.0) -> T:
    return via_float_dtype(_swish)(p, x, alpha)


@openvino("Swish", since=4)
def openvino_swish(p: P, x: T, beta: T | None = None) -> T:
    inner = x if beta is None else p.map(np.multiply, x, beta)
    return p.map(np.multiply, x, sigmoid(p, inner))


@onnx("PRelu", since=1)
@openvino("PReLU")
def prelu_by_channel(p: P, x: T, slope: T) -> T:
    """A one-dimensional slope applies along axis 1 if it fits; any other broadcasts as in NumPy."""
    if slope.ndim == 1 and x.ndim > 1 and slope.shape[0] in (x.shape[1], 1):
        slope = p.reshape(slope, (slope.shape[0],) + (1,) * (x.ndim - 2))
    return prelu(p, x, slope)


@onnx("PRelu", since=7)
def prelu(p: P, x: T, slope: T) -> T:
    check_unidirectional_broadcast(x, slope, "slope")
    return _select_by_sign(p, x, p.map(np.multiply, x, slope))


# --- Dropout.


def _dropout_outputs(p: P, x: T, mask: T, n_outputs: int) -> Any:
    return (x, mask) if n_outputs > 1 else x


@onnx("Dropout", since=1)
def dropout_1(p: P, x: T, *, ratio: float = 0.5, is_test: int = 0, n_outputs: int = 1) -> Any:
    if not is_test and ratio:
        raise UnsupportedError(
            "Dropout with is_test=0 drops at random; only inference (is_test=1) is supported", name="is_test", got="0"
        )
    return dropout_7(p, x, ratio=ratio, n_outputs=n_outputs)


@onnx("Dropout", since=7)
def dropout_7(p: P, x: T, *, ratio: float = 0.5, n_outputs: int = 1) -> Any:
    """The mask is zeros, as in onnxruntime; it is unspecified before opset 12."""
    return _dropout_outputs(p, x, full_constant(p, x.shape, 0, x.dtype), n_outputs)


@onnx("Dropout", since=10)
def dropout_10(p: P, x: T, *, ratio: float = 0.5, n_outputs: int = 1) -> Any:
    return _dropout_outputs(p, x, full_constant(p, x.shape, False, np.dtype(bool)), n_outputs)


@onnx("Dropout", since=12, pure=False)
def dropout(
    p: P,
    x: T,
    ratio: T | None = None,
    training_mode: T | None = None,
    *,
    seed: int | None = None,
    n_outputs: int = 1,
    draws: RandomSource | None = None,
) -> Any:
    """In training mode each iteration draws a mask; outside loops it equals that of ``onnx.reference`` for the seed."""
    rate = 0.5
    if training_mode is None or not bool(p.value(training_mode).reshape(())):
        rate = 0.0
    elif ratio is not None:
        rate = float(p.value(ratio).reshape(()))
    if rate == 0:
        return _dropout_outputs(p, x, full_constant(p, x.shape, True, np.dtype(bool)), n_outputs)
    if not 0 <= rate < 1:
        raise ModelError(f"ratio {rate} is not in [0, 1)", name="ratio", expected="[0, 1)", got=str(rate))
    if not isinstance(x, np.ndarray):
        raise NoNativeKernel
    if draws is not None and draws.iterations:
        numbers = draws.generator(seed).random(x.shape)
    else:
        numbers = np.random.RandomState(seed or 0).random_sample(x.shape)
    mask: Any = numbers >= rate
    factors = p.constant((mask / (1 - rate)).astype(x.dtype))
    return _dropout_outputs(p, p.map(np.multiply, x, factors), p.constant(np.asarray(mask)), n_outputs)
