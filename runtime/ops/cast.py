"""Conversion between element types."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..dtypes import dtype_from_name, dtype_from_onnx
from ..graph import Array
from .axis_arguments import unknown_value_error
from .operator_helpers import Dtype
from .primitive_types import NativeLoop
from .registry import onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any

_STRING = np.dtype(object)


def convert(p: P, x: T, to: Dtype, saturate: bool = True, round_mode: str = "up") -> T:
    """Convert ``x`` to another dtype. Strings and float8 have no native loop and run in Python."""
    if x.dtype == to:
        return x
    if to == _STRING:
        return p.map(_TO_STRING, x)
    if x.dtype == _STRING:
        return p.map(_string_parsing_loop(to), x)
    if to.name.startswith("float8"):
        return p.map(_float8_conversion_loop(to, bool(saturate), round_mode), x)
    return p.cast(x, to)


def _number_to_string(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(int(value))  # as in onnxruntime; unspecified
    if isinstance(value, int | np.integer):
        return str(value)
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    number = value if isinstance(value, np.floating) else np.float32(value)
    return np.format_float_positional(number, unique=True, trim="-")


def _to_string(x: Array) -> Array:
    texts = np.empty(x.shape, object)
    texts.ravel()[:] = [_number_to_string(value) for value in x.ravel()]
    return texts


_TO_STRING = NativeLoop("to_string", _to_string)


@cache
def _string_parsing_loop(to: Dtype) -> NativeLoop:
    def parse(text: Any) -> Any:
        number = text.decode() if isinstance(text, bytes) else str(text)
        try:
            return int(number) if to.name.startswith(("int", "uint")) else float(number)
        except ValueError:
            return int(float(number))  # "100.5" converts to 100; a non-number raises

    def convert_array(x: Array) -> Array:
        values = [parse(text) for text in x.ravel()]
        return np.array(values, to).reshape(x.shape)

    return NativeLoop(f"string_to_{to.name}", convert_array)


@cache
def _float8_conversion_loop(to: Dtype, saturate: bool, round_mode: str) -> NativeLoop:
    def convert_array(x: Array) -> Array:
        values = x.astype(np.float32)
        if to.name == "float8_e8m0fnu":
            from onnx.numpy_helper import to_float8e8m0

            return np.asarray(to_float8e8m0(values, saturate, round_mode).astype(to))
        if saturate:
            import ml_dtypes

            finfo: Any = ml_dtypes.finfo
            largest = float(finfo(to).max)
            values = np.clip(values, -largest, largest)
        return values.astype(to)

    return NativeLoop(f"to_{to.name}", convert_array)


@onnx("Cast", since=1)
def cast_1(p: P, x: T, *, to: str) -> T:
    """Before opset 6 ``to`` is the type's name."""
    renamed = {"FLOAT": "float32", "DOUBLE": "float64", "STRING": "object"}
    return convert(p, x, dtype_from_name(renamed.get(to.upper(), to.lower())))


@onnx("Cast", since=6)
def cast_6(p: P, x: T, *, to: int) -> T:
    return convert(p, x, dtype_from_onnx(to))


@onnx("Cast", since=19)
def cast_19(p: P, x: T, *, to: int, saturate: int = 1) -> T:
    return convert(p, x, dtype_from_onnx(to), bool(saturate))


@onnx("Cast", since=24)
def cast_24(p: P, x: T, *, to: int, saturate: int = 1, round_mode: str = "up") -> T:
    if round_mode not in ("up", "down", "nearest"):
        raise unknown_value_error("round_mode", round_mode, ("up", "down", "nearest"))
    return convert(p, x, dtype_from_onnx(to), bool(saturate), round_mode)


@onnx("CastLike", since=15)
@openvino("ConvertLike")
def cast_like(p: P, x: T, like: T) -> T:
    return convert(p, x, like.dtype)


@onnx("CastLike", since=19)
def cast_like_19(p: P, x: T, like: T, *, saturate: int = 1, round_mode: str = "up") -> T:
    return convert(p, x, like.dtype, bool(saturate), round_mode)


@openvino("Convert")
def openvino_convert(p: P, x: T, *, destination_type: Dtype) -> T:
    return convert(p, x, destination_type)
