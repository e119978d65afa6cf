"""Element types by the names of each system: ONNX's enum, OpenVINO's words, NumPy's dtypes.

Types that NumPy lacks come from ``ml_dtypes``, imported only when a model uses one. A boolean is one byte, a string
array has dtype object.
"""

from __future__ import annotations

from contextlib import suppress
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

# OpenVINO: element_type in <data>, and precision on ports (upper case there).
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


#: No name of a type is longer.
_MAX_NAME_CHARS = 32


def dtype_from_name(name: str) -> np.dtype[Any]:
    """The dtype of a NumPy or ``ml_dtypes`` name such as ``float32`` or ``bfloat16``.

    Raises:
        UnsupportedError: nobody here knows that type.
    """
    known = name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}..."
    # What NumPy cannot read as a type it may take for a number.
    with suppress(TypeError, ValueError, SyntaxError):
        if known == name:
            return np.dtype(name)
    import ml_dtypes

    kind = getattr(ml_dtypes, name, None)
    if kind is None:
        raise UnsupportedError(f"element type '{known}' is not supported")
    found: np.dtype[Any] = np.dtype(kind)
    return found


def is_ml_dtype(kind: np.dtype[Any]) -> bool:
    """True for the types of ``ml_dtypes``, whatever kind they say they are of."""
    return kind.isbuiltin == 2


def npy_storage_dtype(kind: np.dtype[Any]) -> np.dtype[Any]:
    """What an ``.npy`` file holds of a dtype: of one that NumPy lacks the bytes alone, as NumPy itself does but for one
    that calls itself a float of one byte, which it writes and cannot read."""
    return np.dtype(f"V{kind.itemsize}") if is_ml_dtype(kind) else kind


def dtype_from_onnx(code: int) -> np.dtype[Any]:
    """The dtype of an ONNX ``TensorProto.DataType`` number.

    Raises:
        UnsupportedError: the number is none that ONNX defines, or 0 (undefined).
    """
    if code not in _ONNX_DTYPE_NAMES:
        raise UnsupportedError(f"ONNX element type {code} is not supported")
    return dtype_from_name(_ONNX_DTYPE_NAMES[code])


def dtype_to_onnx(kind: np.dtype[Any]) -> int:
    """The ``TensorProto.DataType`` number of a dtype.

    Raises:
        UnsupportedError: ONNX has no such type.
    """
    for code, name in _ONNX_DTYPE_NAMES.items():
        if name == kind.name:
            return code
    raise UnsupportedError(f"ONNX has no element type '{kind.name}'")


def dtype_from_openvino(word: str) -> np.dtype[Any]:
    """The dtype of OpenVINO's ``f32``, ``FP32``, ``i64``, ``boolean`` ...

    Raises:
        UnsupportedError: no such element type, or one that is not supported.
    """
    if word.lower() not in _OPENVINO_DTYPE_NAMES:
        raise UnsupportedError(f"OpenVINO element type '{word}' is not supported")
    return dtype_from_name(_OPENVINO_DTYPE_NAMES[word.lower()])


def dtype_to_openvino(kind: np.dtype[Any]) -> str:
    """OpenVINO's word for a dtype, as an ``element_type`` has it.

    Raises:
        UnsupportedError: OpenVINO has no such type.
    """
    for word, name in _OPENVINO_DTYPE_NAMES.items():
        if name == kind.name:
            return word
    raise UnsupportedError(f"OpenVINO has no element type '{kind.name}'")
