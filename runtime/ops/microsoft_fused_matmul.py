"""Fused matrix products and convolutions of ``com.microsoft``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from .activations import (
    SELU_ALPHA,
    SELU_GAMMA,
    elu,
    hard_sigmoid,
    leaky_relu,
    relu,
    selu,
    sigmoid,
    softplus,
    softsign,
    tanh,
    thresholded_relu,
)
from .elementwise import clamp_to_bounds
from .matmul import gemm, matmul_product, swap_matrix_axes
from .microsoft_elementwise import MICROSOFT
from .operator_helpers import constant
from .registry import Floats, apply_standard_operator, inherit_attributes, onnx
from .window_geometry import ConvAttributes, PoolAttributes

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any


def apply_activation(p: P, x: T, name: str, parameters: Floats) -> T:
    """Apply an activation function by name; "" is the identity."""
    first, second = (*parameters, None, None)[:2]
    match name:
        case "":
            return x
        case "Relu":
            return relu(p, x)
        case "Sigmoid":
            return sigmoid(p, x)
        case "Tanh":
            return tanh(p, x)
        case "LeakyRelu":
            return leaky_relu(p, x, alpha=0.01 if first is None else first)
        case "Elu":
            return elu(p, x, alpha=1.0 if first is None else first)
        case "Selu":
            return selu(
                p, x, alpha=SELU_ALPHA if first is None else first, gamma=SELU_GAMMA if second is None else second
            )
        case "Softplus":
            return softplus(p, x)
        case "Softsign":
            return softsign(p, x)
        case "ThresholdedRelu":
            return thresholded_relu(p, x, alpha=1.0 if first is None else first)
        case "HardSigmoid":
            return hard_sigmoid(p, x, alpha=0.2 if first is None else first, beta=0.5 if second is None else second)
        case "Clip" if first is not None and second is not None:
            return clamp_to_bounds(p, x, constant(p, first, x.dtype), constant(p, second, x.dtype))
    raise UnsupportedError(
        f"the activation {name!r} with {len(parameters)} parameters is not supported", name="activation", got=name
    )


def _move_batch_axes(p: P, x: T, batch: int, inner: int) -> T:
    """``batch``: axis 0 holds the rows, before the batch axes. ``inner``: swap the last two axes."""
    if batch:
        if x.ndim < 3:
            raise ModelError(
                f"transBatchA and transBatchB need three axes, not the shape {x.shape}",
                name="transBatchA",
                expected="3 axes or more",
                got=str(x.shape),
            )
        x = p.transpose(x, (*range(1, x.ndim - 1), 0, x.ndim - 1))
    return swap_matrix_axes(p, x) if inner else x


@onnx("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(
    p: P,
    a: T,
    b: T,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> T:
    """``alpha * A' @ B'``."""
    result = matmul_product(p, _move_batch_axes(p, a, transBatchA, transA), _move_batch_axes(p, b, transBatchB, transB))
    return result if alpha == 1 else p.map(np.multiply, result, constant(p, alpha, result.dtype))


@onnx("FusedGemm", domain=MICROSOFT)
@inherit_attributes(gemm)
def fused_gemm(
    p: P,
    a: T,
    b: T,
    c: T | None = None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    **attributes: Any,
) -> T:
    second = activation_gamma if activation == "Selu" else activation_beta
    parameters = tuple(x for x in (activation_alpha, second) if x is not None)
    return apply_activation(p, gemm(p, a, b, c, **attributes), activation, parameters)


@onnx("FusedConv", domain=MICROSOFT)
@inherit_attributes(ConvAttributes)
def fused_conv(
    p: P,
    x: T,
    w: T,
    b: T | None = None,
    z: T | None = None,
    *,
    activation: str = "",
    activation_params: Floats = (),
    **attributes: Any,
) -> T:
    """Conv, addition of ``z``, and an activation function."""
    (y,) = apply_standard_operator(p, "Conv", (x, w) if b is None else (x, w, b), **attributes)
    return apply_activation(p, y if z is None else p.map(np.add, y, z), activation, tuple(activation_params))


def nhwc_to_nchw(p: P, x: T) -> T:
    """Convert NHWC to NCHW, with any number of spatial axes."""
    return p.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def nchw_to_nhwc(p: P, x: T) -> T:
    """Convert NCHW to NHWC."""
    return p.transpose(x, (0, *range(2, x.ndim), 1))


@onnx("NhwcMaxPool", domain=MICROSOFT)
@inherit_attributes(PoolAttributes)
def nhwc_max_pool(p: P, x: T, **attributes: Any) -> T:
    (y,) = apply_standard_operator(p, "MaxPool", (nhwc_to_nchw(p, x),), **attributes)
    return nchw_to_nhwc(p, y)
