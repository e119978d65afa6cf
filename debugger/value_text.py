"""Formats values as one line of plain text.

Numbers have the fewest digits that round-trip in their dtype, statistics of large arrays three digits.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from ..runtime.graph import Array
from ..runtime.text import count_text, escape_unprintable
from .statistics.tensor_statistics import StaleReferenceError, TensorChange, TensorRef, TensorStatistics

#: Integers of at most this many digits are written without exponent.
_MAX_INTEGER_DIGITS = 6


@lru_cache(maxsize=64)
def dtype_name(dtype: np.dtype[Any] | str | None) -> str:
    """The full name of an element type: ``float32``, ``string``; ``?`` if unknown."""
    if dtype is None:
        return "?"
    name = dtype if isinstance(dtype, str) else dtype.name
    return "string" if name == "object" or name.startswith("str") else name


#: The symbol of NaN and Inf in plots.
NOT_FINITE_SYMBOL = "×"


def value_text(value: Any, width: int = 40) -> str:
    """Format any value on one line of about ``width`` characters at most.

    A scalar: ``1.4142135``, ``true``. A small array in full: ``[1, 2, 3]``. A large one: ``min -0.81 max 0.77 mean
    0.003`` over its finite elements, with counts of the others (``2 nan, 1 inf``). A sequence: ``[3 items]``.
    """
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return f"[{count_text(len(value), 'item')}]"
    if isinstance(value, str | bytes):
        return _truncate(scalar_text(value), width)
    array = value if isinstance(value, TensorRef) else np.asarray(value)
    if array.ndim == 0:
        text = scalar_text(array[()])
        return text if len(text) <= width else _truncate(text, width)
    return full_text(array, width) or summary_text(array, statistics_of(array))


def full_text(array: Array | TensorRef, width: int) -> str:
    """All elements of an array in at most ``width`` characters; "" if they do not fit."""
    if array.size == 0:
        return "[]" if array.ndim == 1 else f"empty [{','.join(map(str, array.shape))}]"
    # n elements take at least 3 * n characters: "[a, b]".
    full = _nested_text(np.asarray(array)) if 3 * array.size <= width else ""
    return full if len(full) <= width else ""


def scalar_text(value: Any) -> str:
    """One element with the fewest digits that round-trip; strings are quoted as in JSON."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return escape_unprintable(json.dumps(str(value), ensure_ascii=False))
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating | complex | np.complexfloating):
        return str(value)
    return _ml_dtypes_text(value)


def _ml_dtypes_text(value: Any) -> str:
    """A number of an ``ml_dtypes`` type; its own str() has six digits regardless of precision."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return str(value)
    if "int" in dtype.name:
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        return str(number)
    for digits in range(1, 18):
        text = f"{number:.{digits}g}"
        if float(np.array(float(text)).astype(dtype)) == number:
            return str(float(text))
    return str(number)


def statistics_of(array: Array | TensorRef) -> TensorStatistics | None:
    """The statistics of a tensor; None if the reference is stale."""
    if not isinstance(array, TensorRef):
        return TensorStatistics(array)
    try:
        return array.statistics
    except StaleReferenceError:
        return None


def summary_text(array: Array | TensorRef, stats: TensorStatistics | None) -> str:
    """The statistics of a large array; counts for booleans and strings; ``…`` for a stale reference."""
    if array.dtype.kind in "OUST":
        return f"{array.size} strings"
    if stats is None:
        return "…"
    if array.dtype.kind == "b":
        return f"{array.size - stats.zeros} of {array.size} true"
    parts = []
    if stats.min is not None:
        show = str if isinstance(stats.min, int) else number_text
        parts.append(f"min {show(stats.min)} max {show(stats.max)} mean {number_text(stats.mean)}")
    if stats.nan:
        parts.append(f"{stats.nan} nan")
    if stats.inf:
        parts.append(f"{stats.inf} inf")
    return ", ".join(parts)


def number_text(value: float | Decimal | None, digits: int = 3) -> str:
    """A number with ``digits`` significant digits: ``-0.81``, ``1.2e-07``; integer parts of up to six digits are
    written in full: ``1234``."""
    if value is None:
        return "none"
    integer = f"{value:.0f}"
    return integer if digits < len(integer.lstrip("-")) <= _MAX_INTEGER_DIGITS else f"{value:.{digits}g}"


def difference_text(before: Any, after: Any, digits: int = 3) -> str:
    """The signed difference of two numbers with ``digits`` digits: ``+1``, ``-2.5e-07``. Exact for integers of any
    size, and without overflow for floats."""
    a, b = np.asarray(before), np.asarray(after)
    if all("int" in array.dtype.name for array in (a, b)):
        return f"{int(b.item()) - int(a.item()):+d}"
    with np.errstate(all="ignore"):
        old, new = float(a.astype(np.float64).item()), float(b.astype(np.float64).item())
    sign, distance = "-" if new < old else "+", abs(new - old)
    if math.isinf(distance) and math.isfinite(old) and math.isfinite(new):
        return sign + number_text(abs(Decimal(new) - Decimal(old)), digits)
    return sign + number_text(distance, digits)


def largest_change_text(change: TensorChange, before: TensorRef, after: TensorRef, digits: int = 3) -> str:
    """The largest absolute change of an element, with ``digits`` digits."""
    if math.isinf(change.largest) and after.dtype.kind == "f":
        old, new = (tensor.copy_range(change.flat_index, change.flat_index + 1) for tensor in (before, after))
        return difference_text(old, new, digits).lstrip("+-")
    return number_text(change.largest, digits)


def _nested_text(array: Array) -> str:
    show = scalar_text if array.ndim == 1 else _nested_text
    return "[" + ", ".join(show(row) for row in array) + "]"


def _truncate(text: str, width: int) -> str:
    return text if len(text) <= max(width, 2) else text[: max(width, 2) - 1] + "…"
