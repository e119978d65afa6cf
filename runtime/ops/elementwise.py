"""Elementwise arithmetic, comparison and logic; a table maps most operators to one ufunc."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import System
from .axis_arguments import unknown_value_error
from .operator_helpers import (
    broadcast_onnx_legacy,
    cast,
    check_openvino_broadcast,
    check_same_shape,
    constant,
    full_constant,
    is_float,
    via_float_dtype,
    with_native_loop,
)
from .primitive_types import Elementwise, NativeLoop
from .registry import onnx, openvino, register_all

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
Binary = Callable[[P, T, T], T]


# --- Elementwise functions that NumPy's ufuncs lack. Integer ones: both inputs of one dtype, results wrap around.


_DIVISION_BY_ZERO = "integer division by zero"
#: a / b toward zero; a zero divisor is an error. The smallest integer / -1 is itself.
DIVIDE_TRUNCATE = NativeLoop("trunc_divide", failure=_DIVISION_BY_ZERO)
#: a / b toward minus infinity; a zero divisor is an error.
DIVIDE_FLOOR = NativeLoop("floor_divide", failure=_DIVISION_BY_ZERO)
#: Remainder of DIVIDE_TRUNCATE, with the sign of a.
REMAINDER_TRUNCATE = NativeLoop("trunc_remainder", failure=_DIVISION_BY_ZERO)
#: Remainder of DIVIDE_FLOOR, with the sign of b.
REMAINDER_FLOOR = NativeLoop("floor_modulo", failure=_DIVISION_BY_ZERO)
#: a ** b on integers; a negative exponent truncates 1 / a ** -b toward zero, an error for a = 0.
POWER_INTEGER = NativeLoop("integer_power", failure="zero to a negative integer power")
#: The Gauss error function for floats of 16 bits and more.
ERF = NativeLoop("erf")


# --- One input.


def float_unary(function: np.ufunc) -> Callable[[P, T], T]:
    """An operator that applies a function to floats of any width; integers (OpenVINO) convert to float64 and back."""

    def op(p: P, x: T) -> T:
        direct = same_dtype_unary(function)
        return direct(p, x) if is_float(x.dtype) else via_float_dtype(direct)(p, x)

    return op


def float_rounding(function: np.ufunc) -> Callable[[P, T], T]:
    """An operator that is the identity on integers."""

    def op(p: P, x: T) -> T:
        return p.map(function, x) if is_float(x.dtype) else x

    return op


def same_dtype_unary(function: np.ufunc) -> Callable[[P, T], T]:
    """An operator that applies a unary function to any supported dtype."""

    def op(p: P, x: T) -> T:
        return p.map(function, x)

    return op


erf = with_native_loop(ERF, via_float_dtype(lambda p, x: p.map(ERF, x)))


# ONNX name, first opset, OpenVINO name, its first opset, meaning.
_UNARY: tuple[tuple[str, int, str, int, Callable[[P, T], T]], ...] = (
    ("Neg", 1, "Negative", 1, same_dtype_unary(np.negative)),
    ("Abs", 1, "Abs", 1, same_dtype_unary(np.absolute)),
    ("Sign", 9, "Sign", 1, same_dtype_unary(np.sign)),
    ("Sqrt", 1, "Sqrt", 1, float_unary(np.sqrt)),
    ("Exp", 1, "Exp", 1, float_unary(np.exp)),
    ("Log", 1, "Log", 1, float_unary(np.log)),
    ("Erf", 9, "Erf", 1, erf),
    ("Floor", 1, "Floor", 1, float_rounding(np.floor)),
    ("Ceil", 1, "Ceiling", 1, float_rounding(np.ceil)),
    ("Sin", 7, "Sin", 1, float_unary(np.sin)),
    ("Cos", 7, "Cos", 1, float_unary(np.cos)),
    ("Tan", 7, "Tan", 1, float_unary(np.tan)),
    ("Asin", 7, "Asin", 1, float_unary(np.arcsin)),
    ("Acos", 7, "Acos", 1, float_unary(np.arccos)),
    ("Atan", 7, "Atan", 1, float_unary(np.arctan)),
    ("Sinh", 9, "Sinh", 1, float_unary(np.sinh)),
    ("Cosh", 9, "Cosh", 1, float_unary(np.cosh)),
    ("Tanh", 1, "Tanh", 1, float_unary(np.tanh)),
    ("Asinh", 9, "Asinh", 4, float_unary(np.arcsinh)),
    ("Acosh", 9, "Acosh", 4, float_unary(np.arccosh)),
    ("Atanh", 9, "Atanh", 4, float_unary(np.arctanh)),
    ("Not", 1, "LogicalNot", 1, same_dtype_unary(np.logical_not)),
    ("BitwiseNot", 18, "BitwiseNot", 13, same_dtype_unary(np.invert)),
    ("IsNaN", 9, "IsNaN", 10, same_dtype_unary(np.isnan)),
)
register_all(System.ONNX, [(name, since, op) for name, since, _, _, op in _UNARY])
register_all(System.OPENVINO, [(name, since, op) for _, _, name, since, op in _UNARY])

onnx("Round", since=11)(float_rounding(np.rint))
openvino("IsFinite", since=10)(same_dtype_unary(np.isfinite))


@onnx("Identity", sequences=True)
@openvino("Identity", since=16)
def identity(p: P, x: T) -> T:
    """Also accepts ONNX sequences and optionals."""
    return x


@onnx("Reciprocal")
def reciprocal(p: P, x: T) -> T:
    return p.map(np.reciprocal, x)


@openvino("Round", since=5)
def openvino_round(p: P, x: T, *, mode: str = "half_to_even") -> T:
    if not is_float(x.dtype):
        return x
    if mode.lower() == "half_to_even":
        return p.map(np.rint, x)
    if mode.lower() != "half_away_from_zero":
        raise unknown_value_error("mode", mode, ("half_to_even", "half_away_from_zero"))
    # Not floor(|x| + 0.5): the sum rounds, and 0.49999997 would become 1.
    truncated = p.map(np.trunc, x)
    rounds_up = p.map(np.greater_equal, p.map(np.absolute, p.map(np.subtract, x, truncated)), constant(p, 0.5, x.dtype))
    return p.where(rounds_up, p.map(np.add, truncated, p.map(np.sign, x)), truncated)


@onnx("IsInf", since=10)
@openvino("IsInf", since=10)
def is_inf(p: P, x: T, *, detect_negative: bool = True, detect_positive: bool = True) -> T:
    if detect_negative and detect_positive:
        return p.map(np.isinf, x)
    if not detect_negative and not detect_positive:
        return full_constant(p, x.shape, False, np.dtype(bool))
    sign = np.inf if detect_positive else -np.inf
    return p.map(np.equal, x, constant(p, sign, x.dtype))


# --- Two inputs.


def same_dtype_binary(function: Elementwise) -> Binary:
    """An operator that applies a binary function to any supported dtype."""

    def op(p: P, a: T, b: T) -> T:
        return p.map(function, a, b)

    return op


def float_or_integer_binary(floats: np.ufunc, integers: NativeLoop) -> Binary:
    """One function on floats and another on integers."""

    def op(p: P, a: T, b: T) -> T:
        return p.map(floats if is_float(a.dtype) else integers, a, b)

    return op


def power(p: P, x: T, y: T) -> T:
    """x ** y in the dtype of x; the exponent may have another (ONNX from opset 12 on)."""
    common = x.dtype
    if y.dtype != x.dtype:
        numeric = x.dtype.kind in "biuf" and y.dtype.kind in "biuf"
        common = np.result_type(x.dtype, y.dtype) if numeric else np.dtype(np.float32)
    function = np.power if is_float(common) else POWER_INTEGER
    return cast(p, p.map(function, cast(p, x, common), cast(p, y, common)), x.dtype)


add, subtract, multiply = same_dtype_binary(np.add), same_dtype_binary(np.subtract), same_dtype_binary(np.multiply)
divide = float_or_integer_binary(np.divide, DIVIDE_TRUNCATE)
logical_and, logical_or, logical_xor = (
    same_dtype_binary(np.logical_and),
    same_dtype_binary(np.logical_or),
    same_dtype_binary(np.logical_xor),
)
equal, greater, less = same_dtype_binary(np.equal), same_dtype_binary(np.greater), same_dtype_binary(np.less)
greater_equal, less_equal = same_dtype_binary(np.greater_equal), same_dtype_binary(np.less_equal)
bitwise_and, bitwise_or, bitwise_xor = (
    same_dtype_binary(np.bitwise_and),
    same_dtype_binary(np.bitwise_or),
    same_dtype_binary(np.bitwise_xor),
)

_BROADCASTING: tuple[tuple[str, int, Binary], ...] = (
    ("Add", 7, add),
    ("Sub", 7, subtract),
    ("Mul", 7, multiply),
    ("Div", 7, divide),
    ("Pow", 7, power),
    ("And", 7, logical_and),
    ("Or", 7, logical_or),
    ("Xor", 7, logical_xor),
    ("Equal", 7, equal),
    ("Greater", 7, greater),
    ("Less", 7, less),
)
register_all(System.ONNX, _BROADCASTING)
register_all(
    System.ONNX,
    (
        ("GreaterOrEqual", 12, greater_equal),
        ("LessOrEqual", 12, less_equal),
        ("BitwiseAnd", 18, bitwise_and),
        ("BitwiseOr", 18, bitwise_or),
        ("BitwiseXor", 18, bitwise_xor),
    ),
)


def _with_legacy_broadcast(function: Binary) -> Callable[..., T]:
    def op(p: P, a: T, b: T, *, broadcast: int = 0, axis: int | None = None) -> T:
        return function(p, a, broadcast_onnx_legacy(p, a, b, broadcast, axis))

    return op


register_all(System.ONNX, [(name, 1, _with_legacy_broadcast(function)) for name, _, function in _BROADCASTING])


def _openvino_binary(function: Binary) -> Callable[..., T]:
    def op(p: P, a: T, b: T, *, auto_broadcast: str = "numpy") -> T:
        check_openvino_broadcast(a, b, auto_broadcast)
        return function(p, a, b)

    return op


def squared_difference(p: P, a: T, b: T) -> T:
    difference = p.map(np.subtract, a, b)
    return p.map(np.multiply, difference, difference)


_OPENVINO_BINARY: tuple[tuple[str, int, Binary], ...] = (
    ("Add", 1, add),
    ("Subtract", 1, subtract),
    ("Multiply", 1, multiply),
    ("Power", 1, power),
    ("Mod", 1, float_or_integer_binary(np.fmod, REMAINDER_TRUNCATE)),
    ("FloorMod", 1, float_or_integer_binary(np.remainder, REMAINDER_FLOOR)),
    ("Minimum", 1, same_dtype_binary(np.minimum)),
    ("Maximum", 1, same_dtype_binary(np.maximum)),
    ("SquaredDifference", 1, squared_difference),
    ("Equal", 1, equal),
    ("NotEqual", 1, same_dtype_binary(np.not_equal)),
    ("Greater", 1, greater),
    ("GreaterEqual", 1, greater_equal),
    ("Less", 1, less),
    ("LessEqual", 1, less_equal),
    ("LogicalAnd", 1, logical_and),
    ("LogicalOr", 1, logical_or),
    ("LogicalXor", 1, logical_xor),
    ("Xor", 1, logical_xor),
    ("BitwiseAnd", 13, bitwise_and),
    ("BitwiseOr", 13, bitwise_or),
    ("BitwiseXor", 13, bitwise_xor),
    ("BitwiseLeftShift", 15, same_dtype_binary(np.left_shift)),
    ("BitwiseRightShift", 15, same_dtype_binary(np.right_shift)),
)
register_all(System.OPENVINO, [(name, since, _openvino_binary(function)) for name, since, function in _OPENVINO_BINARY])


@openvino("Divide")
def openvino_divide(p: P, a: T, b: T, *, auto_broadcast: str = "numpy", m_pythondiv: bool = True) -> T:
    check_openvino_broadcast(a, b, auto_broadcast)
    return float_or_integer_binary(np.divide, DIVIDE_FLOOR if m_pythondiv else DIVIDE_TRUNCATE)(p, a, b)


@onnx("Mod", since=10)
def mod(p: P, a: T, b: T, *, fmod: int = 0) -> T:
    if is_float(a.dtype) and not fmod:
        raise ModelError("Mod of floats needs fmod=1 before opset 28", name="fmod", expected="1", got="0")
    return mod_28(p, a, b, fmod=fmod)


@onnx("Mod", since=28)
def mod_28(p: P, a: T, b: T, *, fmod: int = 0) -> T:
    if fmod:
        return float_or_integer_binary(np.fmod, REMAINDER_TRUNCATE)(p, a, b)
    return float_or_integer_binary(np.remainder, REMAINDER_FLOOR)(p, a, b)


@onnx("BitShift", since=11)
def bit_shift(p: P, x: T, y: T, *, direction: str) -> T:
    if direction not in ("LEFT", "RIGHT"):
        raise unknown_value_error("direction", direction, ("LEFT", "RIGHT"))
    return p.map(np.left_shift if direction == "LEFT" else np.right_shift, x, y)


# --- Any number of inputs.


def _elementwise_mean(p: P, *inputs: T) -> T:
    total = _variadic(np.add)(p, *inputs)
    return p.map(np.divide, total, constant(p, len(inputs), total.dtype))


def _variadic(ufunc: np.ufunc) -> Callable[..., T]:
    def op(p: P, *inputs: T) -> T:
        if not inputs:
            raise ModelError("it needs at least one input", name="inputs", expected="1 or more", got="0")
        return reduce(lambda a, b: p.map(ufunc, a, b), inputs)

    return op


def _with_same_shape_check(function: Callable[..., T]) -> Callable[..., T]:
    def op(p: P, *inputs: T) -> T:
        for other in inputs[1:]:
            check_same_shape(inputs[0], other, "opsets before 8 do not broadcast here")
        return function(p, *inputs)

    return op


_VARIADIC: tuple[tuple[str, int, Callable[..., T]], ...] = (
    ("Sum", 8, _variadic(np.add)),
    ("Min", 8, _variadic(np.minimum)),
    ("Max", 8, _variadic(np.maximum)),
    ("Mean", 8, _elementwise_mean),
)
register_all(System.ONNX, _VARIADIC)
register_all(System.ONNX, [(name, 1, _with_same_shape_check(function)) for name, _, function in _VARIADIC])


# --- Selection and clipping.


@onnx("Where", since=9)
def where(p: P, condition: T, a: T, b: T) -> T:
    return p.where(condition, a, b)


@openvino("Select")
def select(p: P, condition: T, a: T, b: T, *, auto_broadcast: str = "numpy") -> T:
    check_openvino_broadcast(a, b, auto_broadcast)
    check_openvino_broadcast(condition, a, auto_broadcast)
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
