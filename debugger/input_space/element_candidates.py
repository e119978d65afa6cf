"""Elements of tensors as Python numbers: the edge cases of each dtype, nearby values, simpler values.

All types have one representation here: ``bool``, ``int``, ``float``, ``complex`` or ``str``. Arrays convert them to
their dtype, and :func:`to_python_scalar` back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...runtime.dtypes import is_ml_dtype
from ...runtime.graph import Array

#: Integers below this are simple, whatever their dtype; larger ones are written with a power of ten.
_SMALL_INTEGER = 1 << 20
_TEXTS = ("", "a", "b", "A", "a b", chr(0xE4), "0", "\n")


def element_kind(dtype: np.dtype[Any]) -> str:
    """The kind of a dtype: ``b``, ``i``, ``f``, ``c`` or ``s``, also of types that NumPy lacks."""
    if dtype.hasobject or dtype.kind in "SUT":
        return "s"
    if dtype == np.bool_:
        return "b"
    if "int" in dtype.name:
        return "i"
    return "c" if dtype.kind == "c" else "f"


def to_python_scalar(scalar: Any, kind: str) -> Any:
    """Convert an element of an array; a float is the shortest decimal number of its dtype."""
    if kind == "f":
        return float(scalar) if math.isnan(float(scalar)) else float(str(scalar))
    return {"b": bool, "i": int, "c": complex, "s": str}[kind](scalar)


def to_array(values: Sequence[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return an array of elements; integers and floats out of range are clipped to the dtype."""
    kind = element_kind(dtype)
    if kind == "s":
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)
    if kind == "i":
        low, high = integer_range(dtype)
        values = [min(max(int(value), low), high) for value in values]
        return np.array(values, np.uint64 if high > 2**63 - 1 else np.int64).astype(dtype).reshape(shape)
    with np.errstate(all="ignore"):
        native = np.dtype(np.complex128 if kind == "c" else np.float64)
        return np.array(values, native if kind != "b" else np.bool_).astype(dtype).reshape(shape)


def filled_array(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return an array that is one element everywhere."""
    return np.broadcast_to(to_array([value], dtype, ()), shape).copy()


@lru_cache(64)
def integer_range(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The smallest and the largest integer of a dtype."""
    info = _ml_dtype_info(dtype, "iinfo") if is_ml_dtype(dtype) else np.iinfo(dtype)
    return int(info.min), int(info.max)


def _ml_dtype_info(dtype: np.dtype[Any], name: str) -> Any:
    import ml_dtypes  # a dtype that NumPy lacks

    return getattr(ml_dtypes, name)(dtype)


@lru_cache(64)
def edge_values(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """The values of a dtype at which code goes wrong, simple ones first.

    >>> edge_values(np.dtype("int8"))
    (0, 1, -1, 2, -2, 127, -128, 126)
    """
    kind = element_kind(dtype)
    if kind == "b":
        return False, True
    if kind == "s":
        return _TEXTS
    if kind == "i":
        low, high = integer_range(dtype)
        values = (0, 1, -1, 2, -2, high, low, high - 1)
        return tuple(dict.fromkeys(value for value in values if low <= value <= high))
    info = _ml_dtype_info(dtype, "finfo") if is_ml_dtype(dtype) else np.finfo(dtype)
    largest, tiny, subnormal = float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)
    floats: tuple[float, ...] = (0.0, 1.0, -1.0, 0.5, -0.0, 2.0, math.nan, math.inf, -math.inf)
    floats += (largest, -largest, tiny, subnormal, 1 + float(info.eps), 1e-3, -0.5)
    return tuple(complex(value, 0) for value in floats) if kind == "c" else floats


def nearby_values(value: Any, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """The values next to one, and those that simple arithmetic makes of it."""
    kind = element_kind(dtype)
    if kind == "b":
        return (not value,)
    if kind == "s":
        return *_TEXTS, value + "a", value[1:]
    if kind == "i":
        return value + 1, value - 1, -value, 2 * value, value // 2
    if kind == "c":
        return -value, value.conjugate(), 2 * value, value + 1
    if not math.isfinite(value):
        return -value, 0.0
    near = _float_neighbors(value, dtype)
    return (*near, value + 1, value - 1, -value, 2 * value, value / 2, float(math.floor(value)), 10 * value)


def _float_neighbors(value: float, dtype: np.dtype[Any]) -> tuple[float, ...]:
    with np.errstate(all="ignore"):
        number = np.asarray(value, np.float32 if is_ml_dtype(dtype) else dtype)
        return float(np.nextafter(number, np.inf)), float(np.nextafter(number, -np.inf))


def simpler_values(value: Any, kind: str) -> Iterator[Any]:
    """Values that are simpler than one, simplest first; finitely many steps lead to 0, false or the empty text."""
    seen = {repr(value)}
    for candidate in _shrink_candidates(value, kind):
        key = repr(candidate)
        if key not in seen and element_cost(candidate, kind) < element_cost(value, kind):
            seen.add(key)
            yield candidate


def _shrink_candidates(value: Any, kind: str) -> Iterator[Any]:
    if kind == "b":
        yield False
    elif kind == "s":
        yield from ("", "a", value[: len(value) // 2], value[1:], value[:-1])
    elif kind == "i":
        yield from (0, 1, -value)
        yield from _steps_toward_zero(value)
    elif kind == "c":
        yield from (0j, 1 + 0j, complex(value.real, 0), complex(0, value.imag))
        yield from (complex(part, value.imag) for part in _shrink_candidates(value.real, "f"))
        yield from (complex(value.real, part) for part in _shrink_candidates(value.imag, "f"))
    else:
        yield from _simpler_floats(value)


def _steps_toward_zero(value: int) -> Iterator[int]:
    """Halfway to zero, a quarter, an eighth ..., one."""
    step = _halve_toward_zero(value)
    while step:
        yield value - step
        step = _halve_toward_zero(step)
    if value:
        yield value - (1 if value > 0 else -1)


def _halve_toward_zero(value: int) -> int:
    return value // 2 if value >= 0 else -(-value // 2)


def _simpler_floats(value: float) -> Iterator[float]:
    yield from (0.0, 1.0, 2.0, -1.0)
    if math.isnan(value):
        yield from (math.inf, -math.inf)
        return
    yield -value
    if math.isinf(value):
        yield from (math.copysign(size, value) for size in (1e3, 1e6, 1e12, 1e30))
        return
    if value.is_integer() and abs(value) < _SMALL_INTEGER:
        yield from map(float, _steps_toward_zero(int(value)))
        return
    yield float(math.trunc(value)) if abs(value) < _SMALL_INTEGER else value
    mantissa, _, exponent = f"{value!r}".partition("e") if "e" in f"{value!r}" else f"{value:.16e}".partition("e")
    power = int(exponent)
    yield from (float(f"{value:.{digits}e}") for digits in range(4))
    for smaller in (_halve_toward_zero(power), power - (power > 0) + (power < 0)):
        yield float(f"{mantissa}e{smaller}")


def element_cost(value: Any, kind: str) -> tuple[Any, ...]:
    """How complicated a value is; costs of one kind are ordered."""
    if kind in "bi":
        return 0, abs(int(value)), value < 0
    if kind == "s":
        return 0, len(value), value not in ("", "a")
    if kind == "c":
        real, imaginary = element_cost(value.real, "f"), element_cost(value.imag, "f")
        return max(real[0], imaginary[0]), *(a + b for a, b in zip(real[1:], imaginary[1:], strict=True))
    if math.isnan(value):
        return 4, 0, 0.0, 0
    if math.isinf(value):
        return 3, 0, 0.0, value < 0
    if value.is_integer() and abs(value) < _SMALL_INTEGER:
        return 0, 0, abs(value), math.copysign(1, value) < 0
    exponent = math.floor(math.log10(abs(value)))
    return 1, len(f"{value!r}".partition("e")[0].strip("-0.").replace(".", "")), abs(exponent), value < 0
