"""Arithmetic on plain numbers: literals, ``iter``, lengths, and results computed only from these.

Integers are exact up to a maximum number of bits. Fractions are IEEE doubles computed by NumPy: division by zero, roots
of negative numbers and overflow give inf and nan, as in tensors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import EvaluationProblem

#: Maximum bits of plain integers, so that each can be converted to float and prints fast.
MAX_BITS = 1000
Number = int | float

_INTEGER_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
COMPARISON_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def arithmetic(sign: str, ufunc: np.ufunc, a: Number, b: Number) -> Number:
    """``a sign b``; ``ufunc`` is NumPy's function for it."""
    if isinstance(a, int) and isinstance(b, int):
        if sign == "**" and b >= 0:
            if a.bit_length() * b > MAX_BITS and abs(a) > 1:
                raise EvaluationProblem(f"a power of more than {MAX_BITS} bits", "write 2.0 ** n for an approximation")
            return check_bit_length(a**b)
        if sign in _INTEGER_OPERATORS:
            if sign in ("//", "%") and b == 0:
                raise EvaluationProblem("a whole number divided by zero")
            return check_bit_length(_INTEGER_OPERATORS[sign](a, b))
        if sign == "/" and b:
            return a / b if abs(a) < abs(b) << MAX_BITS else float(a) / float(b)
    return float(ufunc(np.float64(a), np.float64(b)))


def check_bit_length(value: int) -> int:
    """Return the number unless it has too many bits."""
    if value.bit_length() > MAX_BITS:
        raise EvaluationProblem(f"a whole number of more than {MAX_BITS} bits")
    return value


def apply_function(ufunc: np.ufunc, value: Number) -> Number:
    """Apply a function to one number; an integer stays an integer if the function allows it."""
    if isinstance(value, int) and ufunc in _INTEGER_FUNCTIONS:
        return _INTEGER_FUNCTIONS[ufunc](value)
    return float(ufunc(np.float64(value)))


_INTEGER_FUNCTIONS: dict[np.ufunc, Callable[[int], int]] = {
    np.absolute: abs,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.rint: int,
    np.sign: lambda value: (value > 0) - (value < 0),
}
