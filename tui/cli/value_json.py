"""A value as JSON, for every ``--json``: strict JSON, so that a number that is not finite is null."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.model import Data
from ..screen.text import Statistics, dtype_name

#: Tensors of so many elements at most are written out.
ELEMENTS = 64


def number(value: Any) -> float | None:
    """A real number, null where it is not finite or not there."""
    return float(value) if value is not None and math.isfinite(value) else None


def element(value: Any) -> Any:
    """One element of any dtype; a complex number is a pair."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, bool | int | str) or value is None:
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else number(float(value))


def elements(array: Array) -> Any:
    """All elements, in lists as the shape has it."""
    # What JSON has no number for, such as a float8, is a float64 there.
    return _nested((array.astype(np.float64) if array.dtype.kind == "V" else array).tolist())


def _nested(value: Any) -> Any:
    return [_nested(one) for one in value] if isinstance(value, list) else element(value)


def typed(value: Data, more: Callable[[Array], dict[str, Any]], limit: int | None = None) -> Any:
    """``shape``, ``dtype`` and ``more``; a sequence is ``sequence``, a list of these, an empty optional null.

    Of a sequence that is longer than ``limit`` only so many elements are there, and ``length`` says how long it is.
    """
    if value is None:
        return None
    if isinstance(value, list | tuple):
        told: dict[str, Any] = {"sequence": [typed(one, more, limit) for one in value[:limit]]}
        return told if limit is None else {**told, "length": len(value)}
    array = np.asarray(value)
    return {"shape": list(array.shape), "dtype": dtype_name(array.dtype), **more(array)}


def statistics(array: Array) -> dict[str, Any]:
    """``min``, ``max`` and ``mean``, as NumPy gives them, and where there are any such elements ``nan`` and ``inf``."""
    found = Statistics(array)
    told: dict[str, Any] = {"min": found.min, "max": found.max, "mean": found.mean}
    if found.nan:
        told = dict.fromkeys(told)
    elif found.inf:
        whole = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)
        told.update(mean=None, min=number(whole.min()), max=number(whole.max()))
    if found.nan:
        told["nan"] = found.nan
    if found.inf:
        told["inf"] = found.inf
    return told


def with_statistics(value: Data) -> Any:
    """Type and statistics."""
    return typed(value, statistics)


def with_elements(value: Data) -> Any:
    """Type, and the elements where they are few."""
    return typed(value, lambda array: {"value": elements(array)} if array.size <= ELEMENTS else {}, ELEMENTS)


def plain(value: Data) -> Any:
    """Numbers and small tensors of them as they are; type and statistics of anything else."""
    if value is None or isinstance(value, list):
        return with_statistics(value)
    array = np.asarray(value)
    return elements(array) if array.size <= ELEMENTS and array.dtype.kind in "biufO" else with_statistics(array)
