"""Elementwise operators of ``com.microsoft``, emitted by onnxruntime's optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .activations import gelu, swish
from .axis_arguments import normalize_existing_axis
from .normalize import softmax_over
from .operator_helpers import check_unidirectional_broadcast
from .registry import older_version, onnx
from .slice_concat_pad import trilu

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
MICROSOFT = "com.microsoft"


onnx("Gelu", domain=MICROSOFT)(older_version(gelu, "approximate"))
onnx("Trilu", domain=MICROSOFT)(trilu)


@onnx("BiasGelu", domain=MICROSOFT)
def bias_gelu(p: P, x: T, bias: T) -> T:
    check_unidirectional_broadcast(x, bias, "the bias")
    return gelu(p, p.map(np.add, x, bias))


@onnx("FastGelu", domain=MICROSOFT)
def fast_gelu(p: P, x: T, bias: T | None = None) -> T:
    """Gelu with the tanh approximation."""
    if bias is not None:
        check_unidirectional_broadcast(x, bias, "the bias")
        x = p.map(np.add, x, bias)
    return gelu(p, x, approximate="tanh")


@onnx("QuickGelu", domain=MICROSOFT)
def quick_gelu(p: P, x: T, *, alpha: float = 1.702) -> T:
    return swish(p, x, alpha=alpha)


@onnx("BiasAdd", domain=MICROSOFT)
def bias_add(p: P, x: T, bias: T, skip: T) -> T:
    return p.map(np.add, p.map(np.add, x, bias), skip)


@onnx("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(p: P, x: T, bias: T, *, axis: int = 1, is_inner_broadcast: int) -> T:
    """Softmax over ``axis`` and all later axes. The bias broadcasts over outer axes, or those just before ``axis``."""
    first = normalize_existing_axis(axis, x.ndim)
    if is_inner_broadcast and bias.ndim < x.ndim:
        missing = x.ndim - bias.ndim
        cut = first - missing
        bias = p.reshape(bias, (*bias.shape[:cut], *(1,) * missing, *bias.shape[cut:]))
    check_unidirectional_broadcast(x, bias, "the bias")
    return softmax_over(p, p.map(np.add, x, bias), tuple(range(first, x.ndim)), False)
