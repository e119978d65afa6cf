"""Values as plain data that ``==`` compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class Bits(NamedTuple):
    """A tensor to the bit; ``data`` of strings is a list."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: bytes | list[Any]


def bits(value: Any) -> Any:
    """A value to the bit: which NaN it is counts, and so does the sign of a zero. For all that runs the same plan."""
    if isinstance(value, list):
        return [bits(part) for part in value]
    if not isinstance(value, np.ndarray | np.generic):
        return value
    value = np.asarray(value)
    return Bits(value.dtype, value.shape, value.tolist() if value.dtype.hasobject else value.tobytes())


def all_bits(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: bits(value) for name, value in values.items()}


def plain(value: Any) -> Any:
    """A value, or the bits of one, but for which NaN it is and the sign of a zero. For what another one computes."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    found = value if isinstance(value, Bits) else bits(value)
    if not isinstance(found, Bits) or found.dtype.kind != "f":
        return found
    array: Any = np.ndarray(found.shape, found.dtype, found.data)
    return bits(np.where(np.isnan(array), np.array(np.nan, found.dtype), array + np.zeros((), found.dtype)))


def all_plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in values.items()}
