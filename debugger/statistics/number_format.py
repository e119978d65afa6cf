"""How the cells of a grid write elements."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from ...runtime.graph import Array


class NumberFormat(StrEnum):
    """A way of writing numbers; the value is what a person calls it."""

    SHORT = "4 digits"
    LONG = "8 digits"
    FULL = "all digits"
    EXPONENT = "exponents"
    BITS = "bits"

    @property
    def following(self) -> NumberFormat:
        every = list(NumberFormat)
        return every[(every.index(self) + 1) % len(every)]


def format_element(value: Any, how: NumberFormat, full: str) -> str:
    """An element. ``full``: the text that reads back as the same, which is also that of what is no number."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind in "OUST" or how is NumberFormat.FULL:
        return full
    if how is NumberFormat.BITS:
        return hex_bytes(value)
    if dtype.kind in "bui" or "int" in dtype.name:
        return f"{int(value):.3e}" if how is NumberFormat.EXPONENT and dtype.kind != "b" else full
    if dtype.kind == "c":
        plus = "" if str(value.imag).startswith("-") else "+"
        return f"{_format_float(value.real, how)}{plus}{_format_float(value.imag, how)}j"
    return _format_float(float(value), how)


def _format_float(value: float, how: NumberFormat) -> str:
    value = float(value)
    if not np.isfinite(value):
        return str(value)
    if how is NumberFormat.EXPONENT:
        return f"{value:.3e}"
    digits = 4 if how is NumberFormat.SHORT else 8
    if value == 0:
        return "-0.0" if str(value).startswith("-") else "0.0"
    # Places after the point, so that numbers of about one size stand below each other.
    if 1e-3 <= abs(value) < 10**digits:
        return (
            f"{value:.{digits}f}" if abs(value) < 1 else f"{value:.{max(1, digits - len(str(int(abs(value)))) + 1)}f}"
        )
    return f"{value:.{digits - 1}e}"


def hex_bytes(value: Any) -> str:
    """The bytes of an element as they would be written in hexadecimal: ``0x3f800000``."""
    raw = np.asarray(value)
    one: Array = raw if raw.dtype.byteorder != ">" else raw.astype(raw.dtype.newbyteorder("<"))
    data = one.tobytes()
    if one.dtype.kind == "c":
        half = len(data) // 2
        return f"0x{data[:half][::-1].hex()},{data[half:][::-1].hex()}"
    return f"0x{data[::-1].hex()}"
