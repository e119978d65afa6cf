"""``--input NAME=VALUE``: lossless conversion of text to the declared type."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ....runtime.errors import InputError
from ....runtime.graph import Array, OptionalType, SequenceType, TensorType, ValueType
from ....runtime.model import Data
from .files import read_npy

#: Spellings of non-finite numbers in JSON.
_NON_FINITE_SPELLINGS = ("NaN", "Infinity", "-Infinity")
#: NumPy's largest rank, plus one for sequences.
_NESTING_MAX = 65
_BOOLEAN_WORDS = {"true": True, "false": False}


def parse_value(name: str, declared: ValueType, text: str, kind: str = "input") -> Data:
    """Parse a value; tensors become arrays of the declared dtype with the shape of the text.

    ``kind``: the noun for the name in messages.

    Raises:
        InputError: The text cannot be read, or a number does not fit the dtype.
    """
    if isinstance(declared, OptionalType):
        return None if text.lower() in ("none", "null") else parse_value(name, declared.element, text, kind)
    label = f"{kind} '{name}'"
    is_string = isinstance(declared, TensorType) and declared.dtype is not None and declared.dtype.hasobject
    if text.endswith(".npy") and isinstance(declared, TensorType) and (not is_string or os.path.exists(text)):
        return read_npy(Path(text), declared)
    data = _parse_string(text) if is_string else _parse_json(label, declared, text)
    if _exceeds_nesting(data):
        raise InputError(f"{label} ({declared}): {text!r:.60}... has more than {_NESTING_MAX} brackets in one another")
    return _convert_to_type(label, declared, data)


def _exceeds_nesting(data: Any) -> bool:
    """Whether lists and objects are nested deeper than any tensor of a sequence."""
    level = [data] if isinstance(data, list | dict) else []
    for _ in range(_NESTING_MAX):
        items = (inner for parent in level for inner in (parent.values() if isinstance(parent, dict) else parent))
        level = [inner for inner in items if isinstance(inner, list | dict)]
    return bool(level)


def _parse_string(text: str) -> Any:
    """Parse a string input: a JSON string or list, else the text itself."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return data if isinstance(data, str | list) else text


def _parse_json(label: str, declared: ValueType, text: str) -> Any:
    if text.lower() in _BOOLEAN_WORDS:
        return _BOOLEAN_WORDS[text.lower()]
    try:
        return json.loads(text, parse_float=_parse_finite_float)
    except (ValueError, RecursionError):
        pass
    # 007, .5, nan, -inf
    for read in (int, float if text.lower().lstrip("+-") in ("nan", "inf", "infinity") else _parse_finite_float):
        try:
            return read(text)
        except ValueError:
            continue
    problem = f"the file '{text}' is no .npy file" if os.path.isfile(text) else f"cannot read {text!r:.60}"
    raise InputError(
        f"{label} ({declared}): {problem}; give a number, a JSON list such as '[1, 2]', true, false, "
        "or a path to a .npy file"
    )


def _parse_finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _convert_to_type(label: str, declared: ValueType, data: Any) -> Data:
    if isinstance(declared, OptionalType):
        return None if data is None else _convert_to_type(label, declared.element, data)
    if isinstance(declared, SequenceType):
        if not isinstance(data, list):
            raise InputError(f"{label} is a sequence ({declared}); give a JSON list of its elements")
        return [_convert_to_type(f"{label}[{k}]", declared.element, element) for k, element in enumerate(data)]
    try:
        return _to_array(_convert_elements(data, declared.dtype), declared.dtype)
    except _ValueMismatch as mismatch:
        raise InputError(f"{label} needs {declared}, not {mismatch}") from None
    except ValueError:
        raise InputError(f"{label} ({declared}): the rows of the list have different lengths") from None


class _ValueMismatch(Exception):
    """A leaf that cannot be an element of the dtype."""


def _to_array(data: Any, dtype: np.dtype[Any] | None) -> Array:
    if dtype is None:
        return np.asarray(data)
    if dtype.hasobject:
        # A string array rejects ragged rows; an object array would store lists.
        rectangular = np.asarray(data, dtype=str)
        strings = np.empty(rectangular.shape, object)
        strings[...] = np.asarray(data, dtype=object).reshape(rectangular.shape)
        return strings
    return np.asarray(data, dtype=dtype)


def _convert_elements(data: Any, dtype: np.dtype[Any] | None) -> Any:
    if isinstance(data, list):
        return [_convert_elements(element, dtype) for element in data]
    if data is None or isinstance(data, dict):
        raise _ValueMismatch(json.dumps(data)[:60])
    if dtype is None:
        return data
    if dtype.hasobject:
        return _to_string(data)
    if dtype == np.bool_:
        return _to_boolean(data)
    if "int" in dtype.name:
        return _to_integer(data, dtype)
    return _to_number(data, dtype)


def _to_string(data: Any) -> str:
    if not isinstance(data, str):
        raise _ValueMismatch(json.dumps(data))
    return data


def _to_boolean(data: Any) -> bool:
    if isinstance(data, bool) or (isinstance(data, int) and data in (0, 1)):
        return bool(data)
    raise _ValueMismatch(_short_json(data))


def _to_integer(data: Any, dtype: np.dtype[Any]) -> int:
    is_whole = isinstance(data, int) or (isinstance(data, float) and data.is_integer())
    if isinstance(data, bool) or not is_whole:
        raise _ValueMismatch(_short_json(data))
    number = int(data)
    signed = not dtype.name.startswith("u")
    bits = int(dtype.name.removeprefix("u").removeprefix("int"))  # int4 has an itemsize of a byte
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if not low <= number <= high:
        raise _ValueMismatch(_short_json(data))
    return number


def _to_number(data: Any, dtype: np.dtype[Any]) -> float | complex:
    if isinstance(data, bool):
        raise _ValueMismatch(_short_json(data))
    try:
        if dtype.kind == "c":
            return complex(data)  # JSON has no complex numbers: "1+2j" as a string
        if isinstance(data, str) and data not in _NON_FINITE_SPELLINGS:
            raise _ValueMismatch(_short_json(data))
        number = float(data)
    except (ValueError, OverflowError):
        raise _ValueMismatch(_short_json(data)) from None
    with np.errstate(all="ignore"):
        overflows = math.isfinite(number) and not np.isfinite(np.asarray(number).astype(dtype).astype(np.float64))
    if overflows:
        raise _ValueMismatch(f"{_short_json(data)} (too large)")
    return number


def _short_json(data: Any) -> str:
    text = json.dumps(data)
    return text if len(text) <= 40 else f"{text[:37]}..."
