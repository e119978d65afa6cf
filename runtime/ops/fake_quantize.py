"""Fake quantization: rounds floats to quantization levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_from_openvino
from ..errors import ModelError
from .cast import convert
from .operator_helpers import cast, check_unidirectional_broadcast, constant, openvino_align, working_dtype
from .registry import openvino

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any


@openvino("FakeQuantize")
def fake_quantize(
    p: P,
    x: T,
    input_low: T,
    input_high: T,
    output_low: T,
    output_high: T,
    *,
    levels: int,
    auto_broadcast: str = "numpy",
) -> T:
    """Quantize the input range to ``levels`` equal steps, half to even, and map them to the output range."""
    if levels < 2:
        raise ModelError(f"levels={levels}: a quantization needs two levels at least")
    for bound in (input_low, input_high, output_low, output_high):
        openvino_align(x, bound, auto_broadcast)
    check_unidirectional_broadcast(x, input_low, "a bound")
    working = working_dtype(x.dtype)
    values, low, high, out_low, out_high = (
        cast(p, v, working) for v in (x, input_low, input_high, output_low, output_high)
    )
    steps = constant(p, levels - 1, working)
    fraction = p.map(np.divide, p.map(np.subtract, values, low), p.map(np.subtract, high, low))
    step = p.map(np.rint, p.map(np.multiply, fraction, steps))
    span = p.map(np.subtract, out_high, out_low)
    inside = p.map(np.add, p.map(np.multiply, p.map(np.divide, step, steps), span), out_low)
    below = p.map(np.less_equal, values, p.map(np.minimum, low, high))
    above = p.map(np.greater, values, p.map(np.maximum, low, high))
    shape = inside.shape
    clamped = p.where(above, p.broadcast(out_high, shape), inside)
    return cast(p, p.where(below, p.broadcast(out_low, shape), clamped), x.dtype)


@openvino("FakeConvert", since=13, native=False)
def fake_convert(p: P, x: T, scale: T, shift: T | None = None, *, destination_type: str = "f8e4m3") -> T:
    """Scale, shift, convert to float8 and back; finite numbers remain finite."""
    if destination_type.lower() not in ("f8e4m3", "f8e5m2"):
        raise ModelError(f"destination_type='{destination_type}' is neither f8e4m3 nor f8e5m2")
    target, float16 = dtype_from_openvino(destination_type), np.dtype(np.float16)
    scaled = p.map(np.multiply, x, scale)
    if shift is not None:
        scaled = p.map(np.subtract, scaled, shift)
    narrow = cast(p, scaled, float16)
    rounded = cast(p, convert(p, narrow, target, saturate=True), x.dtype)
    if destination_type.lower() == "f8e5m2":  # it has infinities
        rounded = p.where(p.map(np.isinf, narrow), cast(p, narrow, x.dtype), rounded)
    if shift is not None:
        rounded = p.map(np.add, rounded, shift)
    return p.map(np.divide, rounded, scale)
