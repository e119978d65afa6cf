"""Values as strict JSON, for reports and pages: non-finite numbers are null."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.graph import Array
from ..runtime.model import Data
from .statistics.tensor_statistics import TensorStatistics
from .value_text import dtype_name

#: Larger tensors are not written out.
WRITTEN_ELEMENTS_MAX = 64


def json_number(value: Any) -> float | None:
    """A real number, null if it is not finite or missing."""
    return float(value) if value is not None and math.isfinite(value) else None


def json_element(value: Any) -> Any:
    """One element of any dtype; a complex number is a pair."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, complex):
        return [json_number(value.real), json_number(value.imag)]
    if isinstance(value, bool | int | str) or value is None:
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else json_number(float(value))


def json_elements(array: Array) -> Any:
    """All elements as nested lists."""
    # Custom dtypes such as float8 become float64.
    return _json_nested((array.astype(np.float64) if array.dtype.kind == "V" else array).tolist())


def _json_nested(value: Any) -> Any:
    return [_json_nested(item) for item in value] if isinstance(value, list) else json_element(value)


def typed_json(value: Data, describe: Callable[[Array], dict[str, Any]], limit: int | None = None) -> Any:
    """``shape``, ``dtype`` and the entries of ``describe``; a sequence is a list ``sequence``, an empty optional null.

    With ``limit``, a sequence has at most that many elements, and its full ``length``.
    """
    if value is None:
        return None
    if isinstance(value, list | tuple):
        result: dict[str, Any] = {"sequence": [typed_json(item, describe, limit) for item in value[:limit]]}
        return result if limit is None else {**result, "length": len(value)}
    array = np.asarray(value)
    return {"shape": list(array.shape), "dtype": dtype_name(array.dtype), **describe(array)}


def statistics_json(array: Array) -> dict[str, Any]:
    """``min``, ``max`` and ``mean`` as in NumPy, and the counts ``nan`` and ``inf`` if not zero."""
    stats = TensorStatistics(array)
    result: dict[str, Any] = {"min": stats.min, "max": stats.max, "mean": stats.mean}
    if stats.nan:
        result = dict.fromkeys(result)
    elif stats.inf:
        numbers = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)
        result.update(mean=None, min=json_number(numbers.min()), max=json_number(numbers.max()))
    if stats.nan:
        result["nan"] = stats.nan
    if stats.inf:
        result["inf"] = stats.inf
    return result


def json_with_statistics(value: Data) -> Any:
    """Type and statistics."""
    return typed_json(value, statistics_json)


def json_with_elements(value: Data) -> Any:
    """Type, and the elements of a small tensor."""
    return typed_json(
        value,
        lambda array: {"value": json_elements(array)} if array.size <= WRITTEN_ELEMENTS_MAX else {},
        WRITTEN_ELEMENTS_MAX,
    )


def compact_json(value: Data) -> Any:
    """Numbers and small tensors as elements; type and statistics of other values."""
    if value is None or isinstance(value, list):
        return json_with_statistics(value)
    array = np.asarray(value)
    return (
        json_elements(array)
        if array.size <= WRITTEN_ELEMENTS_MAX and array.dtype.kind in "biufO"
        else json_with_statistics(array)
    )
