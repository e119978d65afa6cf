"""The built-in functions of the language."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...runtime.ops.operator_helpers import cast, is_float
from .conversion import convert_lossless
from .errors import EvaluationProblem
from .operator_semantics import Calculator
from .value_types import TensorLike, Value, describe_value, dtype_name, is_number, is_tensor

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
#: Magnitudes beyond which squares of float64 overflow or lose precision, and the scale factors for them.
_NORM_SMALL, _NORM_LARGE, _NORM_SCALE_UP, _NORM_SCALE_DOWN = 1e-140, 1e140, 2.0**600, 2.0**-600
_FLOAT32, _FLOAT64, _COMPLEX = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.complex128)
_Compute = Callable[..., Value]


@dataclass(frozen=True)
class BuiltinFunction:
    """One function. ``compute`` gets a calculator and the arguments, None for omitted ones."""

    name: str
    parameters: tuple[str, ...]
    #: Number of required parameters.
    required_count: int
    compute: _Compute

    @property
    def usage(self) -> str:
        """Its signature: ``allclose(a, b[, rtol, atol])``."""
        optional = ", ".join(self.parameters[self.required_count :])
        return (
            f"{self.name}({', '.join(self.parameters[: self.required_count])}{f'[, {optional}]' if optional else ''})"
        )


FUNCTIONS: dict[str, BuiltinFunction] = {}


def _register_function(name: str, *parameters: str, required: int | None = None) -> Callable[[_Compute], _Compute]:
    def register(compute: _Compute) -> _Compute:
        required_count = len(parameters) if required is None else required
        FUNCTIONS[name] = BuiltinFunction(name, parameters, required_count, compute)
        return compute

    return register


# --- Type and shape.


@_register_function("shape", "x")
def _shape(c: Calculator, x: Value) -> Value:
    if isinstance(x, list):
        raise EvaluationProblem("a list has no shape", "len(x) counts its items; shape(x[0]) is that of the first")
    if x is None or isinstance(x, str):
        raise EvaluationProblem(f"{describe_value(x)} has no shape")
    return [int(extent) for extent in x.shape] if is_tensor(x) else []


@_register_function("dtype", "x")
def _dtype(c: Calculator, x: Value) -> Value:
    if is_tensor(x):
        return dtype_name(x.dtype)
    if x is None:
        return "none"
    if isinstance(x, list | str):
        return "list" if isinstance(x, list) else "string"
    return dtype_name(c.tensor(x).dtype)


@_register_function("len", "x")
def _len(c: Calculator, x: Value) -> Value:
    if isinstance(x, list | str):
        return len(x)
    if is_tensor(x) and len(x.shape):
        return int(x.shape[0])
    raise EvaluationProblem(f"{describe_value(x)} has no length")


# --- Elementwise functions.


def _elementwise(ufunc: np.ufunc) -> _Compute:
    return lambda c, x: c.unary(ufunc, x)


_register_function("abs", "x")(_elementwise(np.absolute))
_register_function("sqrt", "x")(_elementwise(np.sqrt))
_register_function("exp", "x")(_elementwise(np.exp))
_register_function("log", "x")(_elementwise(np.log))
_register_function("sign", "x")(_elementwise(np.sign))


@_register_function("round", "x")
def _round(c: Calculator, x: Value) -> Value:
    if is_number(x):
        return c.unary(np.rint, x)
    tensor = c.tensor(x)
    return tensor if tensor.dtype.kind in "biu" else c.map(np.rint, tensor)


def _elementwise_predicate(ufunc: np.ufunc) -> _Compute:
    return lambda c, x: bool(ufunc(float(x))) if isinstance(x, int | float) else c.map(ufunc, c.tensor(x))


_register_function("isnan", "x")(_elementwise_predicate(np.isnan))
_register_function("isinf", "x")(_elementwise_predicate(np.isinf))


@_register_function("where", "condition", "a", "b")
def _where(c: Calculator, condition: Value, a: Value, b: Value) -> Value:
    mask = c.tensor(condition)
    if mask.dtype != _BOOL:
        raise EvaluationProblem(
            f"{describe_value(condition)} where true or false is needed", "compare it, as in where(x > 0, a, b)"
        )
    return c.choose(mask, a, b)


# --- Reductions.


@_register_function("any", "x")
def _any(c: Calculator, x: Value) -> Value:
    return c.p.reduce(np.logical_or, c.as_booleans(x), (0,), False)


@_register_function("all", "x")
def _all(c: Calculator, x: Value) -> Value:
    return c.p.reduce(np.logical_and, c.as_booleans(x), (0,), False)


@_register_function("min", "x")
def _min(c: Calculator, x: Value) -> Value:
    return c.extreme(np.minimum, x)


@_register_function("max", "x")
def _max(c: Calculator, x: Value) -> Value:
    return c.extreme(np.maximum, x)


@_register_function("sum", "x")
def _sum(c: Calculator, x: Value) -> Value:
    return c.sum_elements(c.widen_for_sum(c.ravel(x), _INT64))


@_register_function("mean", "x")
def _mean(c: Calculator, x: Value) -> Value:
    flat = c.widen_for_sum(c.ravel(x), _FLOAT64)
    return c.map(np.divide, c.sum_elements(flat), int(flat.shape[0]))


@_register_function("norm", "x")
def _norm(c: Calculator, x: Value) -> Value:
    flat = c.ravel(x)
    # Square in float64, since squares of large float32 numbers overflow.
    float64 = cast(c.p, c.map(np.absolute, flat) if flat.dtype.kind == "c" else flat, _FLOAT64)
    is_narrow = (is_float(flat.dtype) and flat.dtype.itemsize <= 4) or flat.dtype == np.complex64
    if flat.dtype.kind not in "fc" or is_narrow or not flat.shape[0]:
        norm = c.map(np.sqrt, c.sum_elements(c.map(np.multiply, float64, float64)))
        return cast(c.p, norm, _FLOAT32) if is_narrow else norm
    # Squares of extreme float64 numbers overflow or underflow. Scaling by a power of two is exact.
    largest = c.p.reduce(np.maximum, c.map(np.absolute, float64), (0,), False)
    scale = c.choose(c.map(np.less, largest, _NORM_SMALL), _NORM_SCALE_UP, 1.0)
    scale = c.choose(c.map(np.greater, largest, _NORM_LARGE), _NORM_SCALE_DOWN, scale)
    scaled = c.map(np.multiply, float64, scale)
    return c.map(np.divide, c.map(np.sqrt, c.sum_elements(c.map(np.multiply, scaled, scaled))), scale)


def _extreme_position(c: Calculator, kind: str, x: Value) -> TensorLike:
    flat = c.ravel(x)
    if not flat.shape[0]:
        raise EvaluationProblem(f"{describe_value(x)} has no elements")
    return c.p.reshape(c.p.arg_extreme(kind, flat, 0, False), ())


@_register_function("argmax", "x")
def _argmax(c: Calculator, x: Value) -> Value:
    return _extreme_position(c, "max", x)


@_register_function("argmin", "x")
def _argmin(c: Calculator, x: Value) -> Value:
    return _extreme_position(c, "min", x)


@_register_function("allclose", "a", "b", "rtol", "atol", required=2)
def _allclose(c: Calculator, a: Value, b: Value, rtol: Value, atol: Value) -> Value:
    relative, absolute = _tolerance(rtol, 1e-5, "rtol"), _tolerance(atol, 1e-8, "atol")
    x, y = c.tensor(a), c.tensor(b)
    # In float64, since a narrow type rounds the tolerances away.
    dtype = _COMPLEX if "c" in (x.dtype.kind, y.dtype.kind) else _FLOAT64
    x, y = cast(c.p, x, dtype), cast(c.p, y, dtype)
    distance = c.map(np.absolute, c.map(np.subtract, x, y))
    allowed = c.map(np.add, c.map(np.multiply, c.map(np.absolute, y), relative), absolute)
    is_close = c.map(np.logical_and, c.map(np.less_equal, distance, allowed), c.map(np.isfinite, y))
    return _all(c, c.map(np.logical_or, is_close, c.map(np.equal, x, y)))


def _tolerance(value: Value, default: float, name: str) -> float:
    if value is None:
        return default
    if not is_number(value) or not 0 <= value <= math.inf:
        raise EvaluationProblem(f"{name} is a plain number from 0 on")
    return float(value)


# --- New tensors.


def _constant_like(c: Calculator, x: Value, number: Value) -> TensorLike:
    if not is_tensor(x):
        raise EvaluationProblem(f"{describe_value(x)} where a tensor is needed")
    if x.dtype.kind in "OUST":
        raise EvaluationProblem(f"{describe_value(x)} where numbers are needed")
    c.charge_work(math.prod(x.shape))
    return c.p.constant(np.full(tuple(x.shape), number, x.dtype))


@_register_function("zeros_like", "x")
def _zeros_like(c: Calculator, x: Value) -> Value:
    return _constant_like(c, x, 0)


@_register_function("ones_like", "x")
def _ones_like(c: Calculator, x: Value) -> Value:
    return _constant_like(c, x, 1)


@_register_function("full_like", "x", "value")
def _full_like(c: Calculator, x: Value, value: Value) -> Value:
    return _constant_like(c, x, convert_lossless(c.as_number(value), getattr(x, "dtype", _FLOAT64))[()])
