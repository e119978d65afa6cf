"""Numbers put into a given dtype, where that loses nothing but digits of a fraction."""

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

    Fractions are rounded to what a floating-point dtype holds. All else must arrive unchanged: 1.5 does not fit into
    int64, 300 not into int8, 1e300 not into float32, a number not into a string.
    """
    given = as_array(value, _dtype_label(dtype))
    if given.dtype.hasobject and given.size and all(isinstance(item, int) for item in given.flat):
        given = _large_integers_as_float(given, dtype)
    if dtype.kind in "OUST" or given.dtype.kind in "OUST":
        if dtype.kind in "OUST" and given.dtype.kind in "OUST" and _is_all_text(given):
            return given.astype(dtype)
        raise EvaluationProblem(_lossy_message(given, dtype))
    if given.dtype.kind == "c" and dtype.kind != "c":
        if not bool(np.all(given.imag == 0)):
            raise EvaluationProblem(_lossy_message(given, dtype))
        given = given.real
    with np.errstate(all="ignore"):
        try:
            result = given.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            raise EvaluationProblem(_lossy_message(given, dtype)) from None
        if not _is_lossless(given, result):
            raise EvaluationProblem(_lossy_message(given, dtype))
    return result


def as_array(value: Any, needed: str) -> Array:
    """A value that a caller gives, or that an expression has, as an array. ``needed``: what is wanted, for messages."""
    try:
        array: Array = to_checked_array(value)
    except UsageError as error:
        if "inhomogeneous" in str(error):
            raise EvaluationProblem(f"not numbers of one shape, where {needed} is needed") from None
        raise EvaluationProblem(str(error)) from None
    return array


def _large_integers_as_float(given: Array, dtype: np.dtype[Any]) -> Array:
    """Whole numbers of which one has no place in an integer dtype of NumPy, as floats."""
    most = max(given.flat, key=abs)
    bits = int(most).bit_length()
    if bits < 1024 and (is_float(dtype) or dtype.kind == "c"):
        return given.astype(np.float64)
    raise EvaluationProblem(
        f"{most if bits < 128 else f'a whole number of {bits} bits'} does not fit into {_dtype_label(dtype)}"
    )


def _is_all_text(array: Array) -> bool:
    return all(isinstance(item, str | bytes) for item in array.reshape(-1).tolist())


def _is_lossless(given: Array, result: Array) -> bool:
    if given.dtype == result.dtype:
        return True
    if is_float(result.dtype) or result.dtype.kind == "c":
        # Rounded, but a finite number has to stay one, and what is none as well.
        before, after = _as_float64(given), _as_float64(result)
        return bool(np.all(np.isfinite(before) == np.isfinite(after)) and np.all(np.isnan(before) == np.isnan(after)))
    if is_float(given.dtype):
        wide = _as_float64(given)
        if not bool(np.all(np.isfinite(wide) & (np.rint(wide) == wide))):
            return False
        # The largest int64 is no float64: what rounds up to 2**63 has come back as another number.
        exact = [int(x) for x in wide.reshape(-1).tolist()]
        return exact == [int(x) for x in result.reshape(-1).tolist()]
    if is_integer(given.dtype) or given.dtype.kind in "biuO":
        return bool(np.all(_as_int64(given) == _as_int64(result)))
    return False


def _as_int64(array: Array) -> Array:
    return array if array.dtype.kind in "bu" and array.dtype.itemsize == 8 else array.astype(np.int64)


def _as_float64(array: Array) -> Array:
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def _dtype_label(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind in "OUST" else dtype.name


def _lossy_message(given: Array, dtype: np.dtype[Any]) -> str:
    what = (
        str(given)
        if given.ndim == 0 and given.dtype.kind not in "OUST"
        else f"a value of type {_dtype_label(given.dtype)}"
    )
    return f"{what} does not fit into {_dtype_label(dtype)}"
