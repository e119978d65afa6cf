"""Whether two values are the same within a tolerance, and how far apart they are where they are not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ....runtime.graph import Array

#: dtype -> relative and absolute tolerance. Those of the accumulated rounding of different orders of summation.
_TOLERANCES = {
    "float64": (1e-8, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (4e-2, 1e-2),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-8, 1e-10),
}
#: Formats of eight and fewer bits: a neighbouring number is the same number, rounded another way.
_LOW_BIT_TOLERANCE = (0.26, 1e-2)
#: The part of the relative tolerance that counts of the largest number, where sums are made in another order.
_REORDERED_SUM_FRACTION = 0.1


@dataclass(frozen=True)
class Tolerance:
    """``|a - b| <= atol + rtol * |b|``; None: by dtype. Integers, booleans and strings are compared exactly."""

    rtol: float | None = None
    atol: float | None = None
    #: float64 counts as float32: one side computes it so.
    float64_as_float32: bool = False
    #: A type in which one side computes some of it: what came by that way is no more precise. Empty: there is none.
    narrowest_dtype: str = ""
    #: Of the largest number of a tensor: what is closer is the same, as one side computes in another precision.
    peak_fraction: float = 0.0
    #: One side adds in another order, so that what is small beside the largest number of a tensor has its error:
    #: of that number, a part of the relative tolerance is the same.
    reordered_sums: bool = False

    def for_dtypes(self, *dtypes: np.dtype[Any]) -> tuple[float, float]:
        """The relative and the absolute tolerance for a dtype; of two that of the narrower one."""
        rtol, atol = _default_tolerance(dtypes, self.float64_as_float32, self.narrowest_dtype)
        return rtol if self.rtol is None else self.rtol, atol if self.atol is None else self.atol


@lru_cache
def _default_tolerance(dtypes: tuple[np.dtype[Any], ...], single: bool, narrowest: str) -> tuple[float, float]:
    """The widest tolerance of several types."""
    names = ["float32" if single and dtype.name == "float64" else dtype.name for dtype in dtypes]
    return max(_TOLERANCES.get(name, _LOW_BIT_TOLERANCE) for name in (*names, *filter(None, [narrowest])))


@dataclass(frozen=True)
class Delta:
    """How two values differ. ``kind``: ``""`` for the same; ``value``, ``dtype``, ``shape``, ``length``, ``kind``.

    ``dtypes``: those of both sides, where they are two of one kind and the values were compared all the same.
    """

    kind: str = ""
    #: The largest difference of two elements; infinite where one of them is NaN or infinite and the other is not.
    absolute: float = 0.0
    relative: float = 0.0
    #: Where the elements are that differ most (of those beyond the tolerance, if any are), and what they are.
    worst_index: tuple[int, ...] = ()
    left: Any = None
    right: Any = None
    #: How many elements differ beyond the tolerance, of how many.
    count: int = 0
    size: int = 0
    text: str = ""
    dtypes: tuple[str, ...] = ()
    #: The absolute and the relative difference of `left` and `right`; another element may have larger ones.
    worst_difference: tuple[float, float] = (0.0, 0.0)


#: Of values that are equal.
NO_DIFFERENCE = Delta()
#: Arrays of no more are compared as bytes first.
_BYTE_COMPARE_MAX_BYTES = 16_384


def compare(left: Any, right: Any, tolerance: Tolerance, *, loose_shape: bool = False) -> Delta:
    """Compare arrays, sequences (lists) and empty optionals (None); NaN equals NaN.

    ``loose_shape``: axes of length 1 do not count, as between a stacked and a concatenated element.
    """
    if isinstance(left, list | tuple) or isinstance(right, list | tuple):
        return _sequences(left, right, tolerance)
    if left is None or right is None:
        if left is right:
            return NO_DIFFERENCE
        return Delta("kind", math.inf, math.inf, text=f"{_value_kind(left)} and {_value_kind(right)}")
    a, b = _array(left), _array(right)
    if a.dtype != b.dtype and (dtype_kind(a.dtype) != dtype_kind(b.dtype) or dtype_kind(a.dtype) not in ("i", "f")):
        return Delta("dtype", math.inf, math.inf, text=f"{_dtype_name(a)} and {_dtype_name(b)}")
    if loose_shape and a.shape != b.shape and _significant_dims(a) == _significant_dims(b):
        b = b.reshape(a.shape)
    if a.shape != b.shape:
        return Delta("shape", math.inf, math.inf, text=f"{list(a.shape)} and {list(b.shape)}")
    if _equal(a, b):
        return NO_DIFFERENCE
    found = _arrays(a, b, tolerance)
    return found if a.dtype == b.dtype else replace(found, dtypes=(_dtype_name(a), _dtype_name(b)))


def dtype_kind(dtype: np.dtype[Any] | None) -> str:
    """Whether a type has floats (f), integers (i), truths or something else: those of one kind can be compared."""
    if dtype is None:
        return ""
    if dtype.kind == "V":
        return "i" if "int" in dtype.name else "f"
    return {"u": "i", "O": "S", "U": "S", "T": "S"}.get(dtype.kind, dtype.kind)


def _value_kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"a sequence of {len(value)}" if isinstance(value, list | tuple) else "a tensor"


def _array(value: Any) -> Array:
    array = np.asarray(value)
    # Strings come as objects or in NumPy's own types.
    return array.astype(object) if array.dtype.kind in "UST" else array


def _dtype_name(array: Array) -> str:
    return "string" if array.dtype == object else array.dtype.name


def _significant_dims(array: Array) -> tuple[int, ...]:
    return tuple(dim for dim in array.shape if dim != 1)


def _sequences(left: Any, right: Any, tolerance: Tolerance) -> Delta:
    if not (isinstance(left, list | tuple) and isinstance(right, list | tuple)):
        return Delta("kind", math.inf, math.inf, text=f"{_value_kind(left)} and {_value_kind(right)}")
    if len(left) != len(right):
        return Delta("length", math.inf, math.inf, text=f"{len(left)} and {len(right)} elements")
    worst = NO_DIFFERENCE
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        found = compare(a, b, tolerance)
        if (found.kind and not worst.kind) or (bool(found.kind) == bool(worst.kind) and _is_larger(found, worst)):
            told = f"element {k}: {found.text}" if found.text else f"element {k}"
            worst = replace(found, worst_index=(k, *found.worst_index), text=told if found.kind else "", dtypes=())
    return worst


def _is_larger(a: Delta, b: Delta) -> bool:
    return a.absolute > b.absolute


def _equal(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape have one type and equal numbers. Most that are compared do, and of those nothing
    else has to be asked."""
    if a.dtype != b.dtype:
        return False
    # Of a few bytes that is told sooner than of numbers.
    if a.nbytes <= _BYTE_COMPARE_MAX_BYTES and a.dtype != object and a.tobytes() == b.tobytes():
        return True
    with np.errstate(all="ignore"):
        return bool((a == b).all())


def _arrays(a: Array, b: Array, tolerance: Tolerance) -> Delta:
    if not a.size:
        return NO_DIFFERENCE
    wide = a.dtype.kind in "iu" and 8 in (a.dtype.itemsize, b.dtype.itemsize)
    if wide or a.dtype.kind in "Ob":
        unequal = np.asarray(a != b, bool)
        gap = _exact_gap(a, b, unequal)
        return _delta(a, b, unequal, gap, _relative(gap, np.abs(b.astype(np.float64))) if a.dtype != object else gap)
    if a.dtype.kind in "iu" or (a.dtype.kind == "V" and "int" in a.dtype.name):
        one, other = a.astype(np.int64), b.astype(np.int64)
        gap = np.abs(one - other).astype(np.float64)
        return _delta(a, b, gap > 0, gap, _relative(gap, np.abs(other).astype(np.float64)))
    return _floats(a, b, tolerance)


def _floats(a: Array, b: Array, tolerance: Tolerance) -> Delta:
    """Compare floats and complex numbers. Most elements of two large values are often equal: the others alone are
    looked at."""
    rtol, atol = tolerance.for_dtypes(a.dtype, b.dtype)
    with np.errstate(all="ignore"):
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        left, right = (a, b) if a.dtype == b.dtype else (a.astype(kind), b.astype(kind))
        unequal = (left != right) & ~(np.isnan(left) & np.isnan(right))
        one, other = left[unequal].astype(kind), right[unequal].astype(kind)
        gap = np.abs(one - other)
        gap[np.isnan(gap)] = np.inf
        size = np.abs(other)
        beyond = ~(gap <= atol + rtol * np.where(np.isfinite(size), size, 0.0))
        peak = max(tolerance.peak_fraction, rtol * _REORDERED_SUM_FRACTION if tolerance.reordered_sums else 0.0)
        if peak and beyond.any():
            beyond &= ~(gap <= peak * _largest_magnitude(right.astype(kind)))
        return _delta(a, b, beyond, gap, _relative(gap, size), np.flatnonzero(unequal))


def _largest_magnitude(array: Array) -> float:
    """The largest magnitude of the finite elements."""
    size = np.abs(array)
    return float(size[np.isfinite(size)].max(initial=0.0))


def _exact_gap(a: Array, b: Array, unequal: Array) -> Array:
    """How far apart exact values are: of 64-bit integers without overflow; 1 where there is no distance."""
    gap = unequal.astype(np.float64)
    if a.dtype.kind in "iu" and unequal.any():
        pairs = zip(a[unequal].tolist(), b[unequal].tolist(), strict=True)
        gap[unequal] = [float(abs(x - y)) for x, y in pairs]
    return gap


def _relative(gap: Array, size: Array) -> Array:
    with np.errstate(all="ignore"):
        relative = np.where(gap == 0, 0.0, gap / size)
        return np.where(np.isnan(relative), np.inf, relative)


def _delta(a: Array, b: Array, beyond: Array, gap: Array, relative: Array, places: Array | None = None) -> Delta:
    """The worst element: of those beyond the tolerance where there are any. ``places``: the flat indices of what was
    looked at, where that is not all; the other elements are equal."""
    count = int(np.count_nonzero(beyond))
    at = int(np.argmax(np.where(beyond, gap, -1.0) if count else gap)) if gap.size else 0
    flat = at if places is None or not places.size else int(places[at])
    index = tuple(int(k) for k in np.unravel_index(flat, a.shape))
    return Delta(
        "value" if count else "",
        float(gap.max(initial=0.0)),
        float(relative.max(initial=0.0)),
        index,
        a[index],
        b[index],
        count,
        a.size,
        worst_difference=(float(gap.flat[at]), float(relative.flat[at])) if gap.size else (0.0, 0.0),
    )
