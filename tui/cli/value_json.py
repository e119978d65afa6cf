"""A value as JSON, for every ``--json``: strict JSON, so that a number that is not finite is null."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.model import Data
from ..render.formatting import TensorStatistics, dtype_name

#: Tensors of so many elements at most are written out.
WRITTEN_ELEMENTS_MAX = 64


def json_number(value: Any) -> float | None:
    """A real number, null where it is not finite or not there."""
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
    """All elements, in lists as the shape has it."""
    # What JSON has no number for, such as a float8, is a float64 there.
    return _json_nested((array.astype(np.float64) if array.dtype.kind == "V" else array).tolist())


def _json_nested(value: Any) -> Any:
    return [_json_nested(one) for one in value] if isinstance(value, list) else json_element(value)


def typed_json(value: Data, more: Callable[[Array], dict[str, Any]], limit: int | None = None) -> Any:
    """``shape``, ``dtype`` and ``more``; a sequence is ``sequence``, a list of these, an empty optional null.

    Of a sequence that is longer than ``limit`` only so many elements are there, and ``length`` says how long it is.
    """
    if value is None:
        return None
    if isinstance(value, list | tuple):
        told: dict[str, Any] = {"sequence": [typed_json(one, more, limit) for one in value[:limit]]}
        return told if limit is None else {**told, "length": len(value)}
    array = np.asarray(value)
    return {"shape": list(array.shape), "dtype": dtype_name(array.dtype), **more(array)}


def statistics_json(array: Array) -> dict[str, Any]:
    """``min``, ``max`` and ``mean``, as NumPy gives them, and where there are any such elements ``nan`` and ``inf``."""
    found = TensorStatistics(array)
    told: dict[str, Any] = {"min": found.min, "max": found.max, "mean": found.mean}
    if found.nan:
        told = dict.fromkeys(told)
    elif found.inf:
        whole = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)
        told.update(mean=None, min=json_number(whole.min()), max=json_number(whole.max()))
    if found.nan:
        told["nan"] = found.nan
    if found.inf:
        told["inf"] = found.inf
    return told


def json_with_statistics(value: Data) -> Any:
    """Type and statistics."""
    return typed_json(value, statistics_json)


def json_with_elements(value: Data) -> Any:
    """Type, and the elements where they are few."""
    return typed_json(
        value,
        lambda array: {"value": json_elements(array)} if array.size <= WRITTEN_ELEMENTS_MAX else {},
        WRITTEN_ELEMENTS_MAX,
    )


def compact_json(value: Data) -> Any:
    """Numbers and small tensors of them as they are; type and statistics of anything else."""
    if value is None or isinstance(value, list):
        return json_with_statistics(value)
    array = np.asarray(value)
    return (
        json_elements(array)
        if array.size <= WRITTEN_ELEMENTS_MAX and array.dtype.kind in "biufO"
        else json_with_statistics(array)
    )
