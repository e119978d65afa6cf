"""Headroom of narrow types: the largest magnitude of a value, and its first infinity or NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.graph import Array
from ..report.findings import BoundaryHeadroom, Difference


def record_headroom(ranges: list[BoundaryHeadroom], pair: Difference) -> None:
    """Record two values of different types, compared at a boundary."""
    entry = next((item for item in ranges if item.name == pair.name), None)
    if entry is None:
        dtypes = [np.asarray(value).dtype.name for value in (pair.left, pair.right)]
        limits = [largest_finite_number(name) for name in dtypes]
        side = 0 if limits[0] < limits[1] else 1
        entry = BoundaryHeadroom(pair.name, (dtypes[0], dtypes[1]), side, limits[side])
        ranges.append(entry)
    narrow, broad = (pair.left, pair.right) if entry.side == 0 else (pair.right, pair.left)
    magnitudes = np.abs(np.asarray(narrow).astype(np.float64))
    finite = np.isfinite(magnitudes)
    peak = float(magnitudes[finite].max()) if finite.any() else 0.0
    if peak > entry.largest:
        entry.largest, entry.iteration = peak, pair.iteration
    if (
        entry.first_nonfinite_iteration is None
        and not finite.all()
        and one_sided_nonfinite_mask(np.asarray(narrow), np.asarray(broad)).any()
    ):
        entry.first_nonfinite_iteration = -1 if pair.iteration is None else pair.iteration


def one_sided_nonfinite_mask(narrow: Array, broad: Array) -> Array:
    """Which elements are infinite or NaN while those of the wider type are not: an infinity on both sides may be
    intended, as in a mask."""
    x, y = narrow.astype(np.float64), broad.astype(np.float64).reshape(narrow.shape)
    mask: Array = (np.isnan(x) & ~np.isnan(y)) | (np.isinf(x) & np.isfinite(y))
    return mask


def largest_finite_number(name: str) -> float:
    """The largest finite number of a type, by name."""
    import ml_dtypes

    info: Any = ml_dtypes.iinfo if "int" in name else ml_dtypes.finfo
    return float(info(dtype_by_name(name)).max)


def dtype_by_name(name: str) -> np.dtype[Any]:
    """A type by name, including types that NumPy lacks."""
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype
