"""Element types of each system: ONNX's enum, OpenVINO's names, NumPy's dtypes.

Types that NumPy lacks come from ``ml_dtypes``, imported on first use. A boolean is one byte, a string array has dtype
object.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from .errors import UnsupportedError

# onnx.proto3, TensorProto.DataType
_ONNX_DTYPE_NAMES: dict[int, str] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "object",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}

# OpenVINO: element_type in <data>, and precision on ports (upper case).
_OPENVINO_DTYPE_NAMES: dict[str, str] = {
    "boolean": "bool",
    "bool": "bool",
    "f16": "float16",
    "fp16": "float16",
    "f32": "float32",
    "fp32": "float32",
    "f64": "float64",
    "fp64": "float64",
    "bf16": "bfloat16",
    "i4": "int4",
    "u4": "uint4",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn",
    "string": "object",
}


#: Length limit of type names.
_MAX_NAME_CHARS = 32


def dtype_from_name(name: str) -> np.dtype[Any]:
    """The dtype of a NumPy or ``ml_dtypes`` name such as ``float32`` or ``bfloat16``.

    Raises:
        UnsupportedError: the type is unknown.
    """
    shown_name = name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}..."
    # NumPy may parse an unknown type name as a number.
    with suppress(TypeError, ValueError, SyntaxError):
        if shown_name == name:
            return np.dtype(name)
    import ml_dtypes

    scalar_type = getattr(ml_dtypes, name, None)
    if scalar_type is None:
        raise UnsupportedError(f"element type '{shown_name}' is not supported", got=shown_name)
    dtype: np.dtype[Any] = np.dtype(scalar_type)
    return dtype


def is_ml_dtype(dtype: np.dtype[Any]) -> bool:
    """True for the types of ``ml_dtypes``, whatever their ``kind``."""
    return dtype.isbuiltin == 2


def npy_storage_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of an ``.npy`` file: raw bytes for types that NumPy lacks. NumPy itself does the same, except for
    one-byte floats, which it writes but cannot read."""
    return np.dtype(f"V{dtype.itemsize}") if is_ml_dtype(dtype) else dtype


@cache
def dtype_from_onnx(code: int) -> np.dtype[Any]:
    """The dtype of an ONNX ``TensorProto.DataType`` number.

    Raises:
        UnsupportedError: the number is unknown, or 0 (undefined).
    """
    if code not in _ONNX_DTYPE_NAMES:
        raise UnsupportedError(f"ONNX element type {code} is not supported", got=str(code))
    return dtype_from_name(_ONNX_DTYPE_NAMES[code])


def dtype_to_onnx(dtype: np.dtype[Any]) -> int:
    """The ``TensorProto.DataType`` number of a dtype.

    Raises:
        UnsupportedError: ONNX has no such type.
    """
    for code, name in _ONNX_DTYPE_NAMES.items():
        if name == dtype.name:
            return code
    raise UnsupportedError(f"ONNX has no element type '{dtype.name}'", got=dtype.name)


def dtype_from_openvino(name: str) -> np.dtype[Any]:
    """The dtype of an OpenVINO name such as ``f32``, ``FP32``, ``i64``, ``boolean``.

    Raises:
        UnsupportedError: the element type is unknown or not supported.
    """
    if name.lower() not in _OPENVINO_DTYPE_NAMES:
        raise UnsupportedError(f"OpenVINO element type '{name}' is not supported", got=name)
    return dtype_from_name(_OPENVINO_DTYPE_NAMES[name.lower()])


def dtype_to_openvino(dtype: np.dtype[Any]) -> str:
    """OpenVINO's name of a dtype, as in ``element_type``.

    Raises:
        UnsupportedError: OpenVINO has no such type.
    """
    for openvino_name, name in _OPENVINO_DTYPE_NAMES.items():
        if name == dtype.name:
            return openvino_name
    raise UnsupportedError(f"OpenVINO has no element type '{dtype.name}'", got=dtype.name)
