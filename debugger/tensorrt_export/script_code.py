"""The text of a network-building script: lines, valid Python names, and constants."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import escape_unprintable, fresh_name

#: Maximum number of elements of a constant written inline; larger ones are stored in the weights file.
INLINE_MAX_ELEMENTS = 16
#: Names that the script itself uses.
_SCRIPT_NAMES = ("np", "trt", "network", "build", "constant", "named", "WEIGHTS", "Path", "main", "__file__")


class ScriptCode:
    """Lines of one function and its header. ``weights``: the arrays of the weights file."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.weights: dict[str, Array] = {}
        self._used_names = set(_SCRIPT_NAMES) | set(keyword.kwlist) | set(dir(__builtins__))

    def add_line(self, text: str = "") -> None:
        """Add a line to the function."""
        self.lines.append(f"    {text}".rstrip())

    def add_comment(self, text: str) -> None:
        """Add a comment; line breaks in the text are removed."""
        self.add_line(f"# {escape_unprintable(' '.join(text.split()))}")

    def identifier(self, name: str) -> str:
        """Return a unique Python name for a value, similar to its own."""
        # The end of an exporter's path is more specific than its beginning.
        word = re.sub(r"\W+", "_", name.rsplit("/", 1)[-1] or name, flags=re.ASCII).strip("_") or "value"
        if word[0].isdigit():
            word = f"v_{word}"
        return fresh_name(word, self._used_names)

    def array_expression(self, array: Array, name: str) -> str:
        """An expression for an array: small arrays inline, larger ones from the weights file."""
        if array.size > 1 and array.dtype.kind in "biuf" and array.tobytes() == array.flat[0].tobytes() * array.size:
            return f"np.full({shape_literal(array.shape)}, {_number_literal(array.flat[0])}, {_dtype_literal(array)})"
        if array.size <= INLINE_MAX_ELEMENTS and array.dtype.kind in "biuf":
            if not array.size:
                return f"np.zeros({shape_literal(array.shape)}, {_dtype_literal(array)})"
            return f"np.array({_nested_literal(array)}, {_dtype_literal(array)})"
        key, count = name, 1
        while key in self.weights:
            count += 1
            key = f"{name}_{count}"
        self.weights[key] = array
        return f"WEIGHTS[{string_literal(key)}]"


def _dtype_literal(array: Array) -> str:
    return "bool" if array.dtype == bool else f"np.{array.dtype.name}"


def _nested_literal(array: Array) -> str:
    if array.ndim == 0:
        return _number_literal(array[()])
    return f"[{', '.join(_nested_literal(row) for row in array)}]"


def _number_literal(element: Any) -> str:
    """A number literal that Python reads back bit for bit."""
    value = element.item()
    if isinstance(value, float) and not np.isfinite(value):
        return "np.nan" if np.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    # The shortest text that gives this number in its own type, not in float64.
    return str(element) if isinstance(value, float) else repr(value)


def string_literal(text: str) -> str:
    """A string literal for the script."""
    return escape_unprintable(json.dumps(text, ensure_ascii=False))


def docstring_text(text: str) -> str:
    """Text that is safe within a docstring, on one line."""
    return escape_unprintable(text).replace("\\", "\\\\").replace('"', '\\"')


def shape_literal(shape: Sequence[int]) -> str:
    """A shape literal for the script."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
