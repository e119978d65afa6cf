"""Values as short text: one line each, for whatever shows them.

Numbers are written with the fewest digits that read back as the same number of the same dtype; statistics of large
arrays with three. Nothing here knows of terminals or colours.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..runtime.graph import Array
from ..runtime.text import counted, printable
from .statistics.onepass import Statistics
from .statistics.tensor import OverError, TensorRef


def dtype_name(dtype: np.dtype[Any] | str | None) -> str:
    """The full name of an element type: ``float32``, ``string``; ``?`` where the model does not tell."""
    if dtype is None:
        return "?"
    name = dtype if isinstance(dtype, str) else dtype.name
    return "string" if name == "object" or name.startswith("str") else name


def value_text(value: Any, width: int = 40) -> str:
    """Any value in at most about ``width`` characters on one line.

    A scalar: ``1.4142135``, ``true``. A small array in full: ``[1, 2, 3]``. A large one: ``min -0.81 max 0.77 mean
    0.003``, over its finite elements, with what is not finite counted (``2 nan, 1 inf``). A sequence: ``[3 items]``.
    """
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return f"[{counted(len(value), 'item')}]"
    if isinstance(value, str | bytes):
        return _cut(scalar_text(value), width)
    array = value if isinstance(value, TensorRef) else np.asarray(value)
    if array.ndim == 0:
        return _cut(scalar_text(array[()]), width)
    if array.size == 0:
        return "[]" if array.ndim == 1 else f"empty [{','.join(map(str, array.shape))}]"
    # The shortest text of n elements is "[a, b]": three characters each.
    if 3 * array.size <= width:
        full = _nested(np.asarray(array))
        if len(full) <= width:
            return full
    return summary_text(array)


def scalar_text(value: Any) -> str:
    """One element with the fewest digits that read back as the same number; strings quoted as JSON does."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return printable(json.dumps(str(value), ensure_ascii=False))
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating | complex | np.complexfloating):
        return str(value)
    return _odd_text(value)


def _odd_text(value: Any) -> str:
    """A number of an ``ml_dtypes`` type, whose own text has six digits whatever its precision is."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return str(value)
    if "int" in dtype.name:
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        return str(number)
    for digits in range(1, 18):
        text = f"{number:.{digits}g}"
        if float(np.array(float(text)).astype(dtype)) == number:
            return str(float(text))
    return str(number)


def statistics_of(array: Array | TensorRef) -> Statistics | None:
    """What is in a tensor; None of one that has gone on meanwhile."""
    if not isinstance(array, TensorRef):
        return Statistics(array)
    try:
        return array.statistics
    except OverError:
        return None


def summary_text(array: Array | TensorRef) -> str:
    """The statistics of a large array; of booleans and strings what can be said; ``…`` of what has gone on."""
    if array.dtype.kind in "OUST":
        return f"{array.size} strings"
    stats = statistics_of(array)
    if stats is None:
        return "…"
    if array.dtype.kind == "b":
        return f"{array.size - stats.zeros} of {array.size} true"
    parts = []
    if stats.min is not None:
        show = str if isinstance(stats.min, int) else number_text
        parts.append(f"min {show(stats.min)} max {show(stats.max)} mean {number_text(stats.mean)}")
    if stats.nan:
        parts.append(f"{stats.nan} nan")
    if stats.inf:
        parts.append(f"{stats.inf} inf")
    return ", ".join(parts)


def number_text(value: float | None) -> str:
    """A statistic with three digits: ``-0.81``, ``1.2e-07``."""
    return "none" if value is None else f"{value:.3g}"


def _nested(array: Array) -> str:
    show = scalar_text if array.ndim == 1 else _nested
    return "[" + ", ".join(show(row) for row in array) + "]"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= max(width, 2) else text[: max(width, 2) - 1] + "…"
