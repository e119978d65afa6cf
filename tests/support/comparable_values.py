"""Values as plain data that can be compared with ``==``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class TensorBits(NamedTuple):
    """The bits of a tensor; ``data`` of strings is a list."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: bytes | list[Any]


def exact_bits(value: Any) -> Any:
    """The bits of a value, including NaN payloads and signs of zero; for everything that runs the same plan."""
    if isinstance(value, list):
        return [exact_bits(part) for part in value]
    if not isinstance(value, np.ndarray | np.generic):
        return value
    value = np.asarray(value)
    return TensorBits(value.dtype, value.shape, value.tolist() if value.dtype.hasobject else value.tobytes())


def all_exact_bits(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: exact_bits(value) for name, value in values.items()}


def canonical_value(value: Any) -> Any:
    """A value, or the bits of one, ignoring NaN payloads and signs of zero; for results of other runtimes."""
    if isinstance(value, list):
        return [canonical_value(part) for part in value]
    result = value if isinstance(value, TensorBits) else exact_bits(value)
    if not isinstance(result, TensorBits) or result.dtype.kind != "f":
        return result
    array: Any = np.ndarray(result.shape, result.dtype, result.data)
    return exact_bits(np.where(np.isnan(array), np.array(np.nan, result.dtype), array + np.zeros((), result.dtype)))


def canonical_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: canonical_value(value) for name, value in values.items()}
