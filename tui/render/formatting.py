"""One-line texts for types, changes and series, used by the screens and the command line.

Re-exports the formatting of values from :mod:`...debugger.value_text`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ...debugger.statistics.tensor_statistics import StaleReferenceError, TensorRef, TensorStatistics, as_tensor_ref
from ...debugger.value_text import (
    NOT_FINITE_SYMBOL,
    difference_text,
    dtype_name,
    largest_change_text,
    number_text,
    scalar_text,
    value_text,
)
from ...runtime.graph import Dim
from ...runtime.text import escape_unprintable, plural

__all__ = [
    "NOT_FINITE_SYMBOL",
    "NO_LIMIT_TEXT",
    "TensorStatistics",
    "delta_text",
    "dtype_name",
    "escape_unprintable",
    "largest_change_text",
    "number_text",
    "rate_text",
    "scalar_text",
    "short_dtype",
    "sparkline",
    "trip_limit_text",
    "type_text",
    "value_text",
]

_SHORT_DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "complex64": "c64",
    "complex128": "c128",
    "object": "string",
}
NO_LIMIT_TEXT = "no limit"
_BARS = "▁▂▃▄▅▆▇█"


def type_text(dtype: np.dtype[Any] | str | None, shape: Sequence[Dim] | None) -> str:
    """``f32 [1,256]``, ``i64 []``; ``?`` for an unknown part, ``[...]`` for an unknown rank."""
    short = short_dtype(dtype_name(dtype))
    if shape is None:
        return f"{short} [...]"
    return f"{short} [{','.join('?' if d is None else str(d) for d in shape)}]"


def short_dtype(name: str) -> str:
    """``f32``, ``i64``, ``u8``, ``bool``."""
    return _SHORT_DTYPES.get(name) or (
        name.replace("uint", "u").replace("int", "i").replace("float8_", "f8").replace("float4_", "f4")
    )


def trip_limit_text(trip_count: int | None) -> str:
    """``10``, ``no limit``."""
    return NO_LIMIT_TEXT if trip_count is None else str(trip_count)


def rate_text(rate: float) -> str:
    """``1.2 M/s``: iterations a second."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{number_text(rate / size)} {unit}/s"
    return f"{number_text(rate)} /s"


def delta_text(previous: Any, new: Any) -> str:
    """How a value changed: ``-2e-07``, ``+1``; for an array its largest absolute change, ``±0.27``.

    ``=`` if nothing changed; ``+1 row`` for growth along one axis, ``[2] → [3]`` for other shapes; empty if there is
    nothing to compare.
    """
    if previous is None or new is None:
        return "=" if previous is new else ""
    if isinstance(previous, list | tuple) or isinstance(new, list | tuple):
        return _delta_of_lists(previous, new)
    a, b = as_tensor_ref(previous), as_tensor_ref(new)
    if a.shape != b.shape:
        # Imported lazily: headless runs compare nothing.
        from ...debugger.statistics.axis_growth import AxisGrowth

        growth = AxisGrowth.from_shapes(a.shape, b.shape)
        if growth is not None:
            return f"{growth.added_rows:+d} {plural(abs(growth.added_rows), growth.row_noun)}"
        return f"[{','.join(map(str, a.shape))}] → [{','.join(map(str, b.shape))}]"
    try:
        return _delta_of_tensors(a, b)
    except StaleReferenceError:
        return "…"


def _delta_of_lists(previous: Any, new: Any) -> str:
    if not (isinstance(previous, list | tuple) and isinstance(new, list | tuple)):
        return "changed"
    added = len(new) - len(previous)
    if added:
        return f"{added:+d} {plural(abs(added), 'item')}"
    pairs = zip(previous, new, strict=True)
    return "=" if all(delta_text(a, b) == "=" for a, b in pairs) else "changed"


def _delta_of_tensors(a: TensorRef, b: TensorRef) -> str:
    # Imported lazily: headless runs compare nothing.
    from ...debugger.statistics.tensor_statistics import compute_change

    change = compute_change(a, b)
    if change.same == change.size:
        return "="
    is_scalar = a.size == 1
    if a.dtype.kind in "OUSTb" or b.dtype.kind in "OUSTb":
        return "changed" if is_scalar else f"{change.size - change.same} of {change.size} changed"
    if change.lost:
        return "nan" if is_scalar else f"{change.lost} nan"
    if is_scalar and "c" not in (a.dtype.kind, b.dtype.kind):
        return difference_text(a, b, 2)
    return f"±{largest_change_text(change, a, b, 2)}"


def sparkline(values: Iterable[float], width: int, gaps: Collection[int] = ()) -> str:
    """The newest ``width`` numbers as bars, oldest first; ``×`` means NaN or Inf. ``gaps``: indices in ``values``
    without a number, such as empty tensors; they stay blank."""
    numbers = [float(value) for value in values]
    visible = list(enumerate(numbers))[-width:] if width > 0 else []
    finite = [value for _, value in visible if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    # Halve first: the range of the largest floats overflows.
    span = high / 2 - low / 2
    steps = len(_BARS) - 1
    return "".join(
        " "
        if index in gaps
        else NOT_FINITE_SYMBOL
        if not math.isfinite(value)
        else _BARS[round((value / 2 - low / 2) / span * steps) if span > 0 else 0]
        for index, value in visible
    )
