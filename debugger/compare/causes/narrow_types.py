"""How much of a narrow type is used: the largest magnitude of a value, and where it first is an infinity or NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.graph import Array
from ..report.findings import BoundaryHeadroom, Difference


def note_headroom(ranges: list[BoundaryHeadroom], seen: Difference) -> None:
    """Take note of two values of two types, compared at a boundary."""
    found = next((one for one in ranges if one.name == seen.name), None)
    if found is None:
        both = [np.asarray(value).dtype.name for value in (seen.left, seen.right)]
        limits = [largest_finite(name) for name in both]
        side = 0 if limits[0] < limits[1] else 1
        found = BoundaryHeadroom(seen.name, (both[0], both[1]), side, limits[side])
        ranges.append(found)
    narrow, wide = (seen.left, seen.right) if found.side == 0 else (seen.right, seen.left)
    magnitudes = np.abs(np.asarray(narrow).astype(np.float64))
    finite = np.isfinite(magnitudes)
    top = float(magnitudes[finite].max()) if finite.any() else 0.0
    if top > found.largest:
        found.largest, found.iteration = top, seen.iteration
    if (
        found.first_nonfinite_iteration is None
        and not finite.all()
        and one_sided_nonfinite(np.asarray(narrow), np.asarray(wide)).any()
    ):
        found.first_nonfinite_iteration = -1 if seen.iteration is None else seen.iteration


def one_sided_nonfinite(narrow: Array, wide: Array) -> Array:
    """Which elements are infinite or NaN where those of the wide type are not: an infinity on both sides may be meant,
    as in a mask."""
    one, other = narrow.astype(np.float64), wide.astype(np.float64).reshape(narrow.shape)
    found: Array = (np.isnan(one) & ~np.isnan(other)) | (np.isinf(one) & np.isfinite(other))
    return found


def largest_finite(name: str) -> float:
    """The largest number that a type holds, by its name."""
    dtype = dtype_by_name(name)
    if dtype.kind != "V":
        return float(np.iinfo(dtype).max if dtype.kind in "iu" else np.finfo(dtype).max)
    import ml_dtypes

    info: Any = ml_dtypes.iinfo if "int" in name else ml_dtypes.finfo
    return float(info(dtype).max)


def dtype_by_name(name: str) -> np.dtype[Any]:
    """A type by its name, also one of those that NumPy does not have."""
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found
