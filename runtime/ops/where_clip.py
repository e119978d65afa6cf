"""Selection and clipping operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .operator_helpers import constant, is_float, openvino_align
from .registry import onnx, openvino

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any


@onnx("Where", since=9)
def where(p: P, condition: T, a: T, b: T) -> T:
    return p.where(condition, a, b)


@openvino("Select")
def select(p: P, condition: T, a: T, b: T, *, auto_broadcast: str = "numpy") -> T:
    openvino_align(a, b, auto_broadcast)
    openvino_align(condition, a, auto_broadcast)
    return p.where(condition, a, b)


def clamp_to_bounds(p: P, x: T, low: T | None, high: T | None) -> T:
    """Clamp ``x`` to optional bounds; the upper one wins if they cross."""
    if low is not None:
        x = p.map(np.maximum, x, low)
    return x if high is None else p.map(np.minimum, x, high)


def representable_bound(value: float, dtype: np.dtype[Any], toward: Callable[[float], float]) -> Any:
    """Convert a bound to a dtype: integers round it ``toward`` the inside; out of range means unbounded."""
    if is_float(dtype):
        out_of_range = dtype.isbuiltin == 1 and abs(value) > float(np.finfo(dtype).max)
        return math.copysign(math.inf, value) if out_of_range else value
    info = np.iinfo(dtype)
    return info.min if value <= info.min else info.max if value >= info.max else toward(value)


@onnx("Clip", since=1)
def clip_1(p: P, x: T, *, min: float | None = None, max: float | None = None) -> T:
    low = None if min is None else constant(p, representable_bound(min, x.dtype, math.ceil), x.dtype)
    high = None if max is None else constant(p, representable_bound(max, x.dtype, math.floor), x.dtype)
    return clamp_to_bounds(p, x, low, high)


_FLOAT32_MAX = float(np.finfo(np.float32).max)


@onnx("Clip", since=6)
def clip_6(p: P, x: T, *, min: float = -_FLOAT32_MAX, max: float = _FLOAT32_MAX) -> T:
    return clip_1(p, x, min=min, max=max)


@onnx("Clip", since=11)
def clip(p: P, x: T, low: T | None = None, high: T | None = None) -> T:
    return clamp_to_bounds(p, x, low, high)


@openvino("Clamp")
def clamp(p: P, x: T, *, min: float, max: float) -> T:
    return clip_1(p, x, min=min, max=max)
