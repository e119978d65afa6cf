"""Formats the elements in the cells of a grid."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from ...runtime.graph import Array


class NumberFormat(StrEnum):
    """A number format; the value is its name in the user interface."""

    SHORT = "4 digits"
    LONG = "8 digits"
    FULL = "all digits"
    EXPONENT = "exponents"
    BITS = "bits"

    @property
    def next_format(self) -> NumberFormat:
        formats = list(NumberFormat)
        return formats[(formats.index(self) + 1) % len(formats)]


def format_element(value: Any, number_format: NumberFormat, full: str) -> str:
    """Format an element. ``full``: the text that parses back to the same value, also used for non-numbers."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind in "OUST" or number_format is NumberFormat.FULL:
        return full
    if number_format is NumberFormat.BITS:
        return hex_bytes(value)
    if dtype.kind in "bui" or "int" in dtype.name:
        return f"{int(value):.3e}" if number_format is NumberFormat.EXPONENT and dtype.kind != "b" else full
    if dtype.kind == "c":
        sign = "" if str(value.imag).startswith("-") else "+"
        return f"{_format_float(value.real, number_format)}{sign}{_format_float(value.imag, number_format)}j"
    return _format_float(float(value), number_format)


def _format_float(value: float, number_format: NumberFormat) -> str:
    value = float(value)
    if not np.isfinite(value):
        return str(value)
    if number_format is NumberFormat.EXPONENT:
        return f"{value:.3e}"
    digits = 4 if number_format is NumberFormat.SHORT else 8
    if value == 0:
        return "-0.0" if str(value).startswith("-") else "0.0"
    # Fixed-point with constant precision, so that numbers of similar magnitude align in a column.
    if 1e-3 <= abs(value) < 10**digits:
        return (
            f"{value:.{digits}f}" if abs(value) < 1 else f"{value:.{max(1, digits - len(str(int(abs(value)))) + 1)}f}"
        )
    return f"{value:.{digits - 1}e}"


def hex_bytes(value: Any) -> str:
    """The bytes of an element in hexadecimal, most significant first: ``0x3f800000``."""
    array = np.asarray(value)
    native: Array = array if array.dtype.byteorder != ">" else array.astype(array.dtype.newbyteorder("<"))
    data = native.tobytes()
    if native.dtype.kind == "c":
        half = len(data) // 2
        return f"0x{data[:half][::-1].hex()},{data[half:][::-1].hex()}"
    return f"0x{data[::-1].hex()}"
