"""Compares two values within a tolerance and measures their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ....runtime.graph import Array

#: dtype -> relative and absolute tolerance for the rounding errors of different summation orders.
_TOLERANCES = {
    "float64": (1e-8, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (4e-2, 1e-2),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-8, 1e-10),
}
#: Formats of at most eight bits: a neighbouring number is the same number rounded differently.
_LOW_BIT_TOLERANCE = (0.26, 1e-2)
#: For reordered sums: the fraction of the relative tolerance that applies to the peak.
_REORDERED_SUM_FRACTION = 0.1


@dataclass(frozen=True)
class Tolerance:
    """``|a - b| <= atol + rtol * |b|``; None: by dtype. Integers, booleans and strings are compared exactly."""

    rtol: float | None = None
    atol: float | None = None
    #: Whether float64 counts as float32, because one side computes it so.
    float64_as_float32: bool = False
    #: The narrowest type of one side's computations, whose precision applies. Empty: none.
    narrowest_dtype: str = ""
    #: The tolerance relative to the peak of a tensor, if one side computes in another precision.
    peak_fraction: float = 0.0
    #: One side adds in another order: small numbers have an error relative to the peak of the
    #: tensor.
    reordered_sums: bool = False

    def for_dtypes(self, *dtypes: np.dtype[Any]) -> tuple[float, float]:
        """The relative and the absolute tolerance of dtypes; the narrowest one counts."""
        rtol, atol = _default_tolerance(dtypes, self.float64_as_float32, self.narrowest_dtype)
        return rtol if self.rtol is None else self.rtol, atol if self.atol is None else self.atol


@lru_cache
def _default_tolerance(dtypes: tuple[np.dtype[Any], ...], single: bool, narrowest: str) -> tuple[float, float]:
    """The largest tolerance of several types."""
    names = ["float32" if single and dtype.name == "float64" else dtype.name for dtype in dtypes]
    return max(_TOLERANCES.get(name, _LOW_BIT_TOLERANCE) for name in (*names, *filter(None, [narrowest])))


@dataclass(frozen=True)
class Delta:
    """The difference of two values. ``kind``: ``""`` if equal; ``value``, ``dtype``, ``shape``, ``length``, ``kind``.

    ``dtypes``: the types of both sides if they differ within one kind and the values were compared.
    """

    kind: str = ""
    #: The largest difference of two elements; infinite if only one of them is finite.
    absolute: float = 0.0
    relative: float = 0.0
    #: The index and the values of the elements that differ most (beyond the tolerance, if any do).
    worst_index: tuple[int, ...] = ()
    left: Any = None
    right: Any = None
    #: The number of elements beyond the tolerance, and of all elements.
    count: int = 0
    size: int = 0
    text: str = ""
    dtypes: tuple[str, ...] = ()
    #: The absolute and relative difference of `left` and `right`; other elements may have larger ones.
    worst_difference: tuple[float, float] = (0.0, 0.0)


#: For equal values.
NO_DIFFERENCE = Delta()
#: Larger arrays are not compared as bytes first.
_BYTE_COMPARE_MAX_BYTES = 16_384


def compare(left: Any, right: Any, tolerance: Tolerance, *, loose_shape: bool = False) -> Delta:
    """Compare arrays, sequences (lists) and empty optionals (None); NaN equals NaN.

    ``loose_shape``: ignore axes of length 1, as between a stacked and a concatenated element.
    """
    if isinstance(left, list | tuple) or isinstance(right, list | tuple):
        return _compare_sequences(left, right, tolerance)
    if left is None or right is None:
        if left is right:
            return NO_DIFFERENCE
        return Delta("kind", math.inf, math.inf, text=f"{_value_kind_text(left)} and {_value_kind_text(right)}")
    a, b = _as_array(left), _as_array(right)
    if a.dtype != b.dtype and (dtype_kind(a.dtype) != dtype_kind(b.dtype) or dtype_kind(a.dtype) not in ("i", "f")):
        return Delta("dtype", math.inf, math.inf, text=f"{_dtype_name(a)} and {_dtype_name(b)}")
    if loose_shape and a.shape != b.shape and _significant_dims(a) == _significant_dims(b):
        b = b.reshape(a.shape)
    if a.shape != b.shape:
        return Delta("shape", math.inf, math.inf, text=f"{list(a.shape)} and {list(b.shape)}")
    if _arrays_equal(a, b):
        return NO_DIFFERENCE
    delta = _compare_arrays(a, b, tolerance)
    return delta if a.dtype == b.dtype else replace(delta, dtypes=(_dtype_name(a), _dtype_name(b)))


def dtype_kind(dtype: np.dtype[Any] | None) -> str:
    """The kind of a type: float (f), integer (i), bool or other; types of one kind are comparable."""
    if dtype is None:
        return ""
    if dtype.kind == "V":
        return "i" if "int" in dtype.name else "f"
    return {"u": "i", "O": "S", "U": "S", "T": "S"}.get(dtype.kind, dtype.kind)


def _value_kind_text(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"a sequence of {len(value)}" if isinstance(value, list | tuple) else "a tensor"


def _as_array(value: Any) -> Array:
    array = np.asarray(value)
    # Strings are objects or have NumPy's own types.
    return array.astype(object) if array.dtype.kind in "UST" else array


def _dtype_name(array: Array) -> str:
    return "string" if array.dtype == object else array.dtype.name


def _significant_dims(array: Array) -> tuple[int, ...]:
    return tuple(dim for dim in array.shape if dim != 1)


def _compare_sequences(left: Any, right: Any, tolerance: Tolerance) -> Delta:
    if not (isinstance(left, list | tuple) and isinstance(right, list | tuple)):
        return Delta("kind", math.inf, math.inf, text=f"{_value_kind_text(left)} and {_value_kind_text(right)}")
    if len(left) != len(right):
        return Delta("length", math.inf, math.inf, text=f"{len(left)} and {len(right)} elements")
    worst = NO_DIFFERENCE
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        delta = compare(a, b, tolerance)
        if (delta.kind and not worst.kind) or (
            bool(delta.kind) == bool(worst.kind) and delta.absolute > worst.absolute
        ):
            text = f"element {k}: {delta.text}" if delta.text else f"element {k}"
            worst = replace(delta, worst_index=(k, *delta.worst_index), text=text if delta.kind else "", dtypes=())
    return worst


def _arrays_equal(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape have equal types and numbers: a fast path, since most compared arrays
    are."""
    if a.dtype != b.dtype:
        return False
    # For a few bytes this is faster than comparing numbers.
    if a.nbytes <= _BYTE_COMPARE_MAX_BYTES and a.dtype != object and a.tobytes() == b.tobytes():
        return True
    with np.errstate(all="ignore"):
        return bool((a == b).all())


def _compare_arrays(a: Array, b: Array, tolerance: Tolerance) -> Delta:
    if not a.size:
        return NO_DIFFERENCE
    is_64_bit = a.dtype.kind in "iu" and 8 in (a.dtype.itemsize, b.dtype.itemsize)
    if is_64_bit or a.dtype.kind in "Ob":
        unequal = np.asarray(a != b, bool)
        gap = _exact_distance(a, b, unequal)
        return _make_delta(
            a, b, unequal, gap, _relative_distance(gap, np.abs(b.astype(np.float64))) if a.dtype != object else gap
        )
    if a.dtype.kind in "iu" or (a.dtype.kind == "V" and "int" in a.dtype.name):
        x, y = a.astype(np.int64), b.astype(np.int64)
        gap = np.abs(x - y).astype(np.float64)
        return _make_delta(a, b, gap > 0, gap, _relative_distance(gap, np.abs(y).astype(np.float64)))
    return _compare_floats(a, b, tolerance)


def _compare_floats(a: Array, b: Array, tolerance: Tolerance) -> Delta:
    """Compare floats and complex numbers. Large values often have mostly equal elements: only the others are
    processed."""
    rtol, atol = tolerance.for_dtypes(a.dtype, b.dtype)
    with np.errstate(all="ignore"):
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        left, right = (a, b) if a.dtype == b.dtype else (a.astype(kind), b.astype(kind))
        unequal = (left != right) & ~(np.isnan(left) & np.isnan(right))
        x, y = left[unequal].astype(kind), right[unequal].astype(kind)
        gap = np.abs(x - y)
        gap[np.isnan(gap)] = np.inf
        magnitude = np.abs(y)
        beyond = ~(gap <= atol + rtol * np.where(np.isfinite(magnitude), magnitude, 0.0))
        peak = max(tolerance.peak_fraction, rtol * _REORDERED_SUM_FRACTION if tolerance.reordered_sums else 0.0)
        if peak and beyond.any():
            beyond &= ~(gap <= peak * _largest_magnitude(right.astype(kind)))
        return _make_delta(a, b, beyond, gap, _relative_distance(gap, magnitude), np.flatnonzero(unequal))


def _largest_magnitude(array: Array) -> float:
    """The largest magnitude of the finite elements."""
    size = np.abs(array)
    return float(size[np.isfinite(size)].max(initial=0.0))


def _exact_distance(a: Array, b: Array, unequal: Array) -> Array:
    """The distance of exact values: of 64-bit integers without overflow; 1 if it is undefined."""
    gap = unequal.astype(np.float64)
    if a.dtype.kind in "iu" and unequal.any():
        pairs = zip(a[unequal].tolist(), b[unequal].tolist(), strict=True)
        gap[unequal] = [float(abs(x - y)) for x, y in pairs]
    return gap


def _relative_distance(gap: Array, size: Array) -> Array:
    with np.errstate(all="ignore"):
        relative = np.where(gap == 0, 0.0, gap / size)
        return np.where(np.isnan(relative), np.inf, relative)


def _make_delta(a: Array, b: Array, beyond: Array, gap: Array, relative: Array, indices: Array | None = None) -> Delta:
    """The worst element, beyond the tolerance if there are any. ``indices``: the flat indices of the processed
    elements; other elements are equal."""
    count = int(np.count_nonzero(beyond))
    index = int(np.argmax(np.where(beyond, gap, -1.0) if count else gap)) if gap.size else 0
    flat = index if indices is None or not indices.size else int(indices[index])
    multi_index = tuple(int(k) for k in np.unravel_index(flat, a.shape))
    return Delta(
        "value" if count else "",
        float(gap.max(initial=0.0)),
        float(relative.max(initial=0.0)),
        multi_index,
        a[multi_index],
        b[multi_index],
        count,
        a.size,
        worst_difference=(float(gap.flat[index]), float(relative.flat[index])) if gap.size else (0.0, 0.0),
    )
