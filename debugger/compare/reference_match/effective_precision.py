"""Recognises a reference whose numbers have the precision of a narrower type than their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..report.findings import DivergenceReason

#: dtype -> the narrower types, the narrowest first, each with its significant bits.
_NARROWER: dict[str, Sequence[tuple[np.dtype[Any], int]]] = {
    "float32": ((np.dtype(ml_dtypes.bfloat16), 8), (np.dtype(np.float16), 11)),
    "float64": ((np.dtype(ml_dtypes.bfloat16), 8), (np.dtype(np.float16), 11), (np.dtype(np.float32), 24)),
}
#: With fewer numbers that are not small integers, all of them may have few bits by chance.
_MIN_NUMBERS = 8


def stored_precision(pairs: Iterable[tuple[Any, Any]], reference: str) -> DivergenceReason | None:
    """The narrower type whose numbers all values of a reference are, while those of the model are not.

    Args:
        pairs: values of the model and of the reference that differ.
        reference: the label of the reference.
    """
    floats = [
        (np.asarray(ours), np.asarray(theirs))
        for ours, theirs in pairs
        if isinstance(theirs, np.ndarray) and theirs.dtype.name in _NARROWER and isinstance(ours, np.ndarray)
    ]
    names = {theirs.dtype.name for _, theirs in floats}
    if len(names) != 1 or sum(theirs.size for _, theirs in floats) < _MIN_NUMBERS:
        return None
    (name,) = names
    for dtype, bits in _NARROWER[name]:
        if not all(_has_precision(theirs, dtype) for _, theirs in floats):
            continue
        if any(_has_precision(ours, dtype) for ours, _ in floats):
            return None
        rounded = all(np.array_equal(_rounded(ours, dtype), theirs, equal_nan=True) for ours, theirs in floats)
        how = "they are those of the model, rounded" if rounded else f"it was computed or stored in {dtype.name}"
        return DivergenceReason(
            "", f"every number of {reference} that differs is a {dtype.name}, of {bits} significant bits: {how}."
        )
    return None


def _rounded(array: Any, dtype: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):
        return array.astype(dtype).astype(array.dtype)


def _has_precision(array: Any, dtype: np.dtype[Any]) -> bool:
    return bool(np.array_equal(_rounded(array, dtype), array, equal_nan=True))
