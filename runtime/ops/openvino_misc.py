"""Miscellaneous OpenVINO operators: type promotion, state, matrix inverse, grouped products, string packing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import read_ints
from .cast import convert
from .operator_helpers import Dtype, is_float, is_integer
from .registry import openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)


# --- ConvertPromoteTypes


def _bit_width(dtype: Dtype) -> int:
    names = {"bool": 1}
    return names.get(dtype.name, dtype.itemsize * 8)


def _promote_types(a: T, b: T, unsafe: bool, scalars: bool, u64_target: Dtype) -> Any:
    """The common type of two inputs; ``unsafe``: allow types with a smaller range."""
    first, second = a.dtype, b.dtype
    if first == second:
        return first
    if scalars and bool(a.ndim) != bool(b.ndim):
        scalar, tensor = (first, second) if a.ndim == 0 else (second, first)
        if _promotion_rank(tensor) >= _promotion_rank(scalar):
            if not unsafe and _bit_width(scalar) > _bit_width(tensor):
                raise ModelError(f"{scalar.name} does not fit into {tensor.name} without promote_unsafe")
            return tensor
        return scalar
    if first == np.bool_ or second == np.bool_:
        return second if first == np.bool_ else first
    if is_float(first) != is_float(second):
        float_type, integer_type = (first, second) if is_float(first) else (second, first)
        if not unsafe and _bit_width(integer_type) > _bit_width(float_type):
            raise ModelError(f"{integer_type.name} does not fit into {float_type.name} without promote_unsafe")
        return float_type
    if is_float(first):
        if _bit_width(first) == _bit_width(second):  # float16 and bfloat16, or two kinds of float8
            return _FLOAT32 if _bit_width(first) == 16 else np.dtype(np.float16)
        return first if _bit_width(first) > _bit_width(second) else second
    if is_integer(first) and is_integer(second):
        if first.name.startswith("u") == second.name.startswith("u"):
            return first if _bit_width(first) > _bit_width(second) else second
        unsigned, signed = (first, second) if first.name.startswith("u") else (second, first)
        if _bit_width(signed) > _bit_width(unsigned):
            return signed
        if _bit_width(unsigned) == 64:
            if not unsafe and u64_target.kind != "f":
                raise ModelError("uint64 and a signed type have no common type without promote_unsafe")
            return u64_target
        return np.dtype(f"int{min(64, _bit_width(unsigned) * 2)}")
    raise ModelError(f"{first.name} and {second.name} have no common type")


def _promotion_rank(dtype: Dtype) -> int:
    return 0 if dtype == np.bool_ else 2 if is_float(dtype) else 1


@openvino("ConvertPromoteTypes", since=14)
def convert_promote_types(
    p: P,
    a: T,
    b: T,
    *,
    promote_unsafe: bool = False,
    pytorch_scalar_promotion: bool = False,
    u64_integer_promotion_target: Dtype = _FLOAT32,
) -> tuple[T, T]:
    common = _promote_types(a, b, promote_unsafe, pytorch_scalar_promotion, u64_integer_promotion_target)
    return convert(p, a, common), convert(p, b, common)


# --- State


@openvino("ReadValue", since=3)
def read_value(p: P, state: T, known: T | None = None, initial: T | None = None, *, variable_id: str) -> T:
    """The last assigned value; before the first, ``initial`` or ``state``."""
    return state if known is None or initial is None or bool(p.value(known)) else initial


@openvino("Assign", since=3)
def assign(p: P, x: T, *, variable_id: str) -> T:
    return x


# --- Matrices


@openvino("Inverse", since=14, native=False)
def inverse(p: P, x: Array, *, adjoint: bool = False) -> Array:
    """``adjoint``: transpose the inverse."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"an input of shape {x.shape} holds no square matrices")
    try:
        result = np.linalg.inv(x.astype(np.float64))
    except np.linalg.LinAlgError:
        raise ValueError("a singular matrix has no inverse") from None
    return np.ascontiguousarray(np.swapaxes(result, -1, -2) if adjoint else result).astype(x.dtype)


@openvino("GroupedMatMul", since=17, native=False)
def grouped_matmul(p: P, a: Array, b: Array, offsets: Array | None = None) -> Array:
    """One product per group, with ``b`` transposed; ``offsets`` are the group ends."""
    if b.ndim == 3:
        b = np.swapaxes(b, 1, 2)
    if offsets is None:
        if a.ndim != 3 or b.ndim != 3:
            raise ModelError(f"groups of {a.shape} and {b.shape} need offsets", name="offsets")
        return np.asarray(p.matmul(a, b))
    if a.ndim != 2 or b.ndim != 3:
        raise ValueError(f"groups of {a.shape} and {b.shape} cannot be multiplied")
    ends = [int(n) for n in read_ints(p, offsets)]
    groups = list(zip([0, *ends], ends, strict=False))
    if len(ends) != len(b) or any(start > end for start, end in groups) or (ends and ends[-1] > len(a)):
        raise ValueError(f"offsets {ends} must ascend within {a.shape}, one for each of {len(b)} groups")
    out = np.zeros((len(a), b.shape[2]), a.dtype)
    for (start, end), part in zip(groups, b, strict=True):
        if end > start:
            out[start:end] = p.matmul(a[start:end], part)
    return out


# --- Strings


@openvino("StringTensorPack", since=15, native=False)
def string_tensor_pack(p: P, begins: Array, ends: Array, symbols: Array) -> Array:
    """Strings from begin and end offsets in UTF-8 bytes."""
    if begins.shape != ends.shape or (begins > ends).any() or (ends > symbols.size).any() or (begins < 0).any():
        raise ValueError("begins and ends must be offsets in the symbols, with begin <= end")
    data = symbols.tobytes()
    out = np.empty(begins.shape, object)
    ranges = zip(begins.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=True)
    out.reshape(-1)[:] = [data[start:end].decode("utf-8", "surrogateescape") for start, end in ranges]
    return out


@openvino("StringTensorUnpack", since=15, native=False)
def string_tensor_unpack(p: P, x: Array) -> tuple[Array, Array, Array]:
    parts = [text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape") for text in x.ravel()]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int32) if parts else np.zeros(0, np.int32)
    begins = ends - np.array([len(part) for part in parts], np.int32)
    symbols = np.frombuffer(b"".join(parts), np.uint8)
    return begins.reshape(x.shape), ends.reshape(x.shape), symbols


# --- ErfInv


@openvino("ErfInv", since=17, native=False)
def erf_inv(p: P, x: Array) -> Array:
    """Winitzki's approximation refined by Halley's method, in float64; NaN outside [-1, 1]."""
    values = x.astype(np.float64)
    inside = abs(values) < 1
    value = np.where(inside, values, 0)
    log = np.log1p(-value * value)
    term = 2 / (np.pi * 0.147) + log / 2
    guess = np.copysign(np.sqrt(np.sqrt(term * term - log / 0.147) - term), value)
    for _ in range(4):
        # erf' = 2 / sqrt(pi) * exp(-x^2); Halley's method.
        slope = (np.asarray(_erf(p, guess)) - value) * np.sqrt(np.pi) / 2 * np.exp(guess * guess)
        guess = guess - slope / (1 + guess * slope)
    edge = np.where(abs(values) == 1, np.copysign(np.inf, values), np.nan)
    return np.where(inside, guess, edge).astype(x.dtype)


def _erf(p: P, x: Array) -> Any:
    from .elementwise import ERF

    return p.map(ERF, x)
