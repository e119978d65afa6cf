"""The text of a network-building script: lines, names that Python takes, and constants."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import escape_unprintable

#: Constants of up to so many elements stand in the text; larger ones go into the file beside it.
INLINE_MAX_ELEMENTS = 16
#: Names that the script itself uses.
_SCRIPT_NAMES = ("np", "trt", "network", "build", "constant", "named", "WEIGHTS", "Path", "main", "__file__")


class ScriptCode:
    """Lines of one function, with what goes above it. ``weights``: the arrays of the file beside the script."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.weights: dict[str, Array] = {}
        self._used_names = set(_SCRIPT_NAMES) | set(keyword.kwlist) | set(dir(__builtins__))

    def add_line(self, text: str = "") -> None:
        """One more line of the function."""
        self.lines.append(f"    {text}".rstrip())

    def add_comment(self, text: str) -> None:
        """A comment, of one line whatever is in it."""
        self.add_line(f"# {escape_unprintable(' '.join(text.split()))}")

    def identifier(self, name: str) -> str:
        """A Python name for a value, like its own and used by nothing else."""
        # The end of an exporter's path tells more than its beginning.
        word = re.sub(r"\W+", "_", name.rsplit("/", 1)[-1] or name, flags=re.ASCII).strip("_") or "value"
        if word[0].isdigit():
            word = f"v_{word}"
        found, count = word, 1
        while found in self._used_names:
            count += 1
            found = f"{word}_{count}"
        self._used_names.add(found)
        return found

    def array_expression(self, array: Array, name: str) -> str:
        """An expression for an array: small ones as they are, larger ones from the file beside the script."""
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
    """A number as Python reads it back to the bit."""
    value = element.item()
    if isinstance(value, float) and not np.isfinite(value):
        return "np.nan" if np.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    # The shortest text that gives this number in its own width, not in float64.
    return str(element) if isinstance(value, float) else repr(value)


def string_literal(words: str) -> str:
    """A string as a script writes it."""
    return escape_unprintable(json.dumps(words, ensure_ascii=False))


def docstring_text(words: str) -> str:
    """Words within a docstring: of one line, which nothing in them ends."""
    return escape_unprintable(words).replace("\\", "\\\\").replace('"', '\\"')


def shape_literal(shape: Sequence[int]) -> str:
    """A shape as a script writes it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
