"""Exact numbers as a reference for displayed ones: Python's integers and fractions, which do not round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


def exact_value(value: Any) -> Fraction | float:
    """An element as an exact number; a non-finite one as a float."""
    if np.asarray(value).dtype.kind in "iub":
        return Fraction(int(value))
    number = float(value)
    return Fraction(number) if math.isfinite(number) else number


def decimal_matches(text: str, truth: Fraction | float, digits: int | None = None) -> bool:
    """Whether a displayed number is correct: to within ``digits`` digits, or else within the precision of float64."""
    if not isinstance(truth, Fraction):
        return math.isnan(float(text)) if math.isnan(truth) else float(text) == truth
    if text.lstrip("+-") in ("inf", "nan"):
        return text.lstrip("+-") == "inf" and abs(truth) > Fraction(np.finfo(np.float64).max)
    shown = Fraction(text)
    # A number computed as a float64 has a rounding error of its own.
    error = abs(truth) * (Fraction(6, 10**digits) if digits else Fraction(1, 10**12))
    return abs(shown - truth) <= error + Fraction(1, 10**323)


def exact_sqrt(square: Fraction) -> Fraction:
    """The square root, to twenty digits."""
    if not square:
        return square
    scale = 10**750 if square < Fraction(1, 10**60) else 10**50
    return Fraction(math.isqrt(square.numerator * scale * scale // square.denominator), scale)


@dataclass(frozen=True)
class ExactStatistics:
    """The statistics of a tensor."""

    low: Fraction | None
    high: Fraction | None
    mean: Fraction | None
    std: Fraction | None
    norm: Fraction | None
    nan: int
    inf: int
    zeros: int

    @classmethod
    def from_tensor(cls, value: Any) -> ExactStatistics:
        flat = [exact_value(item) for item in np.asarray(value).reshape(-1)]
        good = [entry for entry in flat if isinstance(entry, Fraction)]
        nan = sum(not isinstance(element, Fraction) and math.isnan(element) for element in flat)
        counts = nan, len(flat) - len(good) - nan, sum(member == 0 for member in good)
        if not good:
            return cls(None, None, None, None, None, *counts)
        mean = sum(good, Fraction(0)) / len(good)
        spread = exact_sqrt(sum(((item_value - mean) ** 2 for item_value in good), Fraction(0)) / len(good))
        return cls(
            min(good),
            max(good),
            mean,
            spread,
            exact_sqrt(sum((item_entry * item_entry for item_entry in good), Fraction(0))),
            *counts,
        )


#: A number in a text.
NUMBER_PATTERN = r"[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|inf|nan)"


def bits_equal(item: Any, other: Any) -> bool:
    """Equal in type, shape and bits; all NaNs are equal."""
    item, other = np.asarray(item), np.asarray(other)
    if item.dtype != other.dtype or item.shape != other.shape:
        return False
    if item.dtype.kind != "f":
        return item.tobytes() == other.tobytes()
    lost = np.isnan(item)
    return bool((lost == np.isnan(other)).all()) and item[~lost].tobytes() == other[~lost].tobytes()


def text_equals_number(text: str, value: Any) -> bool:
    """Whether a number displayed in full is the one of its type."""
    dtype = value.dtype
    read = np.array(int(text) if dtype.kind in "iu" else float(text), dtype)
    return read.tobytes() == np.asarray(value).tobytes() or bool(np.isnan(read) and np.isnan(value))
