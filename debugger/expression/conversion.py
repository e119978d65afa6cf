"""Conversion of numbers to a dtype, exact except for the rounding of fractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.array_interop import to_checked_array
from ...runtime.errors import UsageError
from ...runtime.graph import Array
from ...runtime.ops.operator_helpers import is_float, is_integer
from .errors import EvaluationProblem


def convert_lossless(value: Any, dtype: np.dtype[Any]) -> Array:
    """A value as an array of ``dtype``.

    Fractions are rounded to a floating-point dtype. Any other conversion must be exact: 1.5 does not fit into int64,
    300 not into int8, 1e300 not into float32, a number not into a string.
    """
    source = as_array(value, _dtype_label(dtype))
    if source.dtype.hasobject and source.size and all(isinstance(item, int) for item in source.flat):
        source = _large_integers_as_float(source, dtype)
    if dtype.kind in "OUST" or source.dtype.kind in "OUST":
        if dtype.kind in "OUST" and source.dtype.kind in "OUST" and _is_all_text(source):
            return source.astype(dtype)
        raise EvaluationProblem(_lossy_message(source, dtype))
    if source.dtype.kind == "c" and dtype.kind != "c":
        if not bool(np.all(source.imag == 0)):
            raise EvaluationProblem(_lossy_message(source, dtype))
        source = source.real
    with np.errstate(all="ignore"):
        try:
            result = source.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            raise EvaluationProblem(_lossy_message(source, dtype)) from None
        if not _is_lossless(source, result):
            raise EvaluationProblem(_lossy_message(source, dtype))
    return result


def as_array(value: Any, needed: str) -> Array:
    """A value of a caller or an expression as an array. ``needed``: the required type, for messages."""
    try:
        array: Array = to_checked_array(value)
    except UsageError as error:
        if "inhomogeneous" in str(error):
            raise EvaluationProblem(f"not numbers of one shape, where {needed} is needed") from None
        raise EvaluationProblem(str(error)) from None
    return array


def _large_integers_as_float(source: Array, dtype: np.dtype[Any]) -> Array:
    """Integers that exceed NumPy's integer dtypes, as floats."""
    largest = max(source.flat, key=abs)
    bits = int(largest).bit_length()
    if bits < 1024 and (is_float(dtype) or dtype.kind == "c"):
        return source.astype(np.float64)
    raise EvaluationProblem(
        f"{largest if bits < 128 else f'a whole number of {bits} bits'} does not fit into {_dtype_label(dtype)}"
    )


def _is_all_text(array: Array) -> bool:
    return all(isinstance(item, str | bytes) for item in array.reshape(-1).tolist())


def _is_lossless(source: Array, result: Array) -> bool:
    if source.dtype == result.dtype:
        return True
    if is_float(result.dtype) or result.dtype.kind == "c":
        # Rounding is allowed, but finite, infinite and NaN values must stay so.
        before, after = _as_float64(source), _as_float64(result)
        return bool(np.all(np.isfinite(before) == np.isfinite(after)) and np.all(np.isnan(before) == np.isnan(after)))
    if is_float(source.dtype):
        float64 = _as_float64(source)
        if not bool(np.all(np.isfinite(float64) & (np.rint(float64) == float64))):
            return False
        # The largest int64 is no float64: a number that rounds to 2**63 is not exact.
        exact = [int(x) for x in float64.reshape(-1).tolist()]
        return exact == [int(x) for x in result.reshape(-1).tolist()]
    if is_integer(source.dtype) or source.dtype.kind in "biuO":
        return bool(np.all(_as_int64(source) == _as_int64(result)))
    return False


def _as_int64(array: Array) -> Array:
    return array if array.dtype.kind in "bu" and array.dtype.itemsize == 8 else array.astype(np.int64)


def _as_float64(array: Array) -> Array:
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def _dtype_label(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind in "OUST" else dtype.name


def _lossy_message(source: Array, dtype: np.dtype[Any]) -> str:
    text = (
        str(source)
        if source.ndim == 0 and source.dtype.kind not in "OUST"
        else f"a value of type {_dtype_label(source.dtype)}"
    )
    return f"{text} does not fit into {_dtype_label(dtype)}"
