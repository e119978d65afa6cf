"""Searches a tensor for an element: the next one that is not finite or matches a predicate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.graph import Array
from .tensor_statistics import TensorRef, widen_elements

#: Returns a mask of the matching elements of a part.
ElementPredicate = Callable[[Array], Array]


def is_not_finite(part: Array) -> Array:
    """Which elements are NaN or infinite."""
    numbers = widen_elements(part)
    return ~np.isfinite(numbers) if numbers.dtype.kind == "f" else np.zeros(part.shape, bool)


def parse_predicate(text: str, dtype: np.dtype[Any]) -> ElementPredicate:
    """Parse a search text: a value in the notation of the display, ``nan``, ``inf``, ``true``, ``> 0.5``, ``!= 0``.
    Numbers with an exponent or a point match every element that rounds to them.

    Raises:
        ValueError: the text is no value of the dtype.
    """
    text = text.strip()
    sign = next((sign for sign in _COMPARISON_UFUNCS if text.startswith(sign)), "")
    operand = text.removeprefix(sign).strip()
    if dtype.kind in "OUST":
        expected = operand[1:-1] if len(operand) > 1 and operand[0] == operand[-1] and operand[0] in "'\"" else operand
        if sign not in ("", "==", "=", "!="):
            raise ValueError("strings are looked for as they are, or with != for others")
        return lambda part: (part == expected) ^ (sign == "!=")
    number = _parse_number(operand, dtype)
    if sign:
        compare = _COMPARISON_UFUNCS[sign]
        return lambda part: np.asarray(compare(widen_elements(part), number))
    if number != number:
        return lambda part: np.isnan(widen_elements(part))
    kind = widen_elements(np.zeros(1, dtype)).dtype
    if kind.kind != "f" or math.isinf(number):
        return lambda part: np.asarray(widen_elements(part) == number)
    #: The display rounds numbers; a number typed as displayed matches.
    tolerance = _rounding_tolerance(operand)
    rounded = float(np.asarray(number).astype(dtype).astype(np.float64)) if dtype.kind != "c" else number
    return lambda part: (np.abs(widen_elements(part) - number) <= tolerance) | (widen_elements(part) == rounded)


_COMPARISON_UFUNCS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    "!=": np.not_equal,
    "==": np.equal,
    ">": np.greater,
    "<": np.less,
    "=": np.equal,
}
_BOOLEAN_WORDS = {"true": 1, "false": 0}


def _parse_number(word: str, dtype: np.dtype[Any]) -> float | int:
    if word.lower() in _BOOLEAN_WORDS and dtype.kind == "b":
        return _BOOLEAN_WORDS[word.lower()]
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    if not word:
        raise ValueError("nothing to look for; type a value, nan, inf, or > 0.5")
    raise ValueError(f"'{word}' is no number; type one, nan, inf, or a comparison such as > 0.5")


def _rounding_tolerance(word: str) -> float:
    """Half a unit of the last typed digit; 0 for an integer."""
    mantissa, _, exponent = word.lower().partition("e")
    _, point, digits = mantissa.partition(".")
    if not point and not exponent:
        return 0.0
    try:
        return 0.5 * 10.0 ** (int(exponent or 0) - len(digits)) * (1 + 1e-9)
    except (ValueError, OverflowError):
        return 0.0


def find_next(
    tensor: TensorRef, test: ElementPredicate, after: int, wanted: Callable[[], bool] = lambda: True
) -> int | None:
    """The flat position of the first match after a position, wrapping around at the end; None without a match.
    ``wanted`` is called between parts; False cancels the search."""
    for start, stop in ((after + 1, tensor.size), (0, min(after + 1, tensor.size))):
        for offset, part in tensor.chunks(start):
            if offset >= stop or not wanted():
                break
            matches = np.flatnonzero(test(part[: stop - offset]))
            if matches.size:
                return offset + int(matches[0])
    return None
