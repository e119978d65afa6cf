"""Finding an element of a tensor: the next one that is not finite, or that has a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.graph import Array
from .streaming_stats import widen
from .tensor_ref import TensorRef

#: Which elements of a part are meant.
ElementPredicate = Callable[[Array], Array]


def is_not_finite(part: Array) -> Array:
    """Which elements are NaN or infinite."""
    numbers = widen(part)
    return ~np.isfinite(numbers) if numbers.dtype.kind == "f" else np.zeros(part.shape, bool)


def parse_predicate(text: str, dtype: np.dtype[Any]) -> ElementPredicate:
    """Which elements a typed text means: those that are written so, ``nan``, ``inf``, ``true``, ``> 0.5``, ``!= 0``;
    numbers with an exponent or a point mean those that round to them.

    Raises:
        ValueError: it is no value of the dtype; the text says why.
    """
    text = text.strip()
    sign = next((sign for sign in _COMPARISON_UFUNCS if text.startswith(sign)), "")
    word = text.removeprefix(sign).strip()
    if dtype.kind in "OUST":
        wanted = word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word
        if sign not in ("", "==", "=", "!="):
            raise ValueError("strings are looked for as they are, or with != for others")
        return lambda part: (part == wanted) ^ (sign == "!=")
    number = _parse_number(word, dtype)
    if sign:
        compare = _COMPARISON_UFUNCS[sign]
        return lambda part: np.asarray(compare(widen(part), number))
    if number != number:
        return lambda part: np.isnan(widen(part))
    kind = widen(np.zeros(1, dtype)).dtype
    if kind.kind != "f" or math.isinf(number):
        return lambda part: np.asarray(widen(part) == number)
    # A screen shows a number rounded: typed as shown, it is found.
    near = _rounding_tolerance(word)
    rounded = float(np.asarray(number).astype(dtype).astype(np.float64)) if dtype.kind != "c" else number
    return lambda part: (np.abs(widen(part) - number) <= near) | (widen(part) == rounded)


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
    """Half a unit of the last digit that was typed, 0 for a whole number."""
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
    """The flat position of the first element after a position for which the test holds, from the beginning again where
    none comes; None where there is none at all. ``wanted``: asked between parts, False ends the search."""
    for start, stop in ((after + 1, tensor.size), (0, min(after + 1, tensor.size))):
        for at, part in tensor.chunks(start):
            if at >= stop or not wanted():
                break
            held = np.flatnonzero(test(part[: stop - at]))
            if held.size:
                return at + int(held[0])
    return None
