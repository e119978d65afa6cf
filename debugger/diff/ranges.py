"""How much of a narrow type is used: the largest magnitude of a value, and where it first is an infinity or NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from .findings import Difference, Range


def note_range(ranges: list[Range], seen: Difference) -> None:
    """Take note of two values of two types, compared at a boundary."""
    found = next((one for one in ranges if one.name == seen.name), None)
    if found is None:
        both = np.asarray(seen.left).dtype, np.asarray(seen.right).dtype
        limits = [_largest(dtype) for dtype in both]
        side = 0 if limits[0] < limits[1] else 1
        found = Range(seen.name, (both[0].name, both[1].name), side, limits[side])
        ranges.append(found)
    narrow, wide = (seen.left, seen.right) if found.side == 0 else (seen.right, seen.left)
    magnitudes = np.abs(np.asarray(narrow).astype(np.float64))
    finite = np.isfinite(magnitudes)
    top = float(magnitudes[finite].max()) if finite.any() else 0.0
    if top > found.largest:
        found.largest, found.at = top, seen.iteration
    if found.infinite is None and not finite.all() and np.isfinite(np.asarray(wide).astype(np.float64)).all():
        found.infinite = -1 if seen.iteration is None else seen.iteration


def _largest(dtype: np.dtype[Any]) -> float:
    """The largest number that a type holds."""
    if dtype.kind == "V":
        import ml_dtypes

        info: Any = ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo
        return float(info(dtype).max)
    return float(np.iinfo(dtype).max if dtype.kind in "iu" else np.finfo(dtype).max)
