"""Short texts of values for the cells of a pane."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...debugger.statistics.tensor_statistics import TensorRef
from ...debugger.value_text import full_text, statistics_of, summary_text
from ...runtime.graph import Array, TensorType, ValueType
from .formatting import number_text, type_text, value_text
from .styled_text import Role, Span, truncate

#: Placeholder of a value that is not computed yet.
NOT_COMPUTED_SIGN = "·"
#: Prefix of an edited value.
EDITED_SIGN = "✎"
#: Non-finite numbers in the text of a value.
_NON_FINITE_PATTERN = re.compile(r"\b(?:nan|inf)\b")
#: Dtype kinds without a norm.
_NON_NUMERIC_KINDS = "OUSTM"


@dataclass(frozen=True)
class LiveTensorSummary:
    """Summary of a tensor while its loop runs."""

    dtype: str
    shape: tuple[int, ...]
    norm: float
    low: float
    high: float


def value_span(text: str, role: Role) -> Span:
    """A value; non-finite values and a new false have the error role."""
    is_error = _NON_FINITE_PATTERN.search(text) is not None or (text == "false" and role is not Role.DIM)
    return text, Role.ERROR if is_error else role


def short_value(value: Any, width: int, shape: bool = True) -> str:
    """A value in at most ``width`` cells: in full, else the statistics that fit: range, largest magnitude, shape.

    ``shape``: False if the shape is shown elsewhere.
    """
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return _scalar_text(value, width)
    if not isinstance(value, np.ndarray | TensorRef):
        return truncate(value_text(value, width), width)
    full = full_text(value, width)
    # Compute the statistics once.
    stats = None if full else statistics_of(value)
    text = full or summary_text(value, stats)
    if len(text) <= width:
        return text
    if isinstance(value, np.ndarray) and value.size == 1:
        # A range would repeat the number.
        rank = value.ndim if width > 2 * value.ndim + 2 else 0
        return "[" * rank + _scalar_text(value.reshape(()), width - 2 * rank) + "]" * rank
    if stats is None:
        return truncate(shape_text(value), width)
    non_finite = [f"{count} {word}" for count, word in ((stats.nan, "nan"), (stats.inf, "inf")) if count]
    dims = shape_text(value)
    forms = []
    if stats.min is not None and stats.max is not None:
        low, high = stats.min, stats.max
        span = f"{number_text(low)} .. {number_text(high)}"
        forms = [", ".join([f"{dims} {span}", *non_finite])] if shape else []
        forms.append(", ".join([span, *non_finite]))
        if not non_finite:
            forms += [f"{number_text(low, digits)}..{number_text(high, digits)}" for digits in (2, 1)]
            # The largest magnitude.
            forms.append(f"±{number_text(max(abs(low), abs(high)), 2)}")
    forms += [f"{dims} {', '.join(non_finite)}", ", ".join(non_finite)] if non_finite else []
    return truncate(next((form for form in (*forms, dims) if len(form) <= width), dims), width)


def _scalar_text(value: Array | np.generic[Any], width: int) -> str:
    """A scalar; ``…`` replaces digits that do not fit, never the exponent."""
    text = value_text(value, 1000)
    if len(text) <= width:
        return text
    mantissa, sign, exponent = text.partition("e")
    if value.dtype.kind == "f" and sign:
        digits = width - len(exponent) - 2
        return truncate(mantissa[:digits] + "…e" + exponent if digits >= 3 else f"~{float(value):.0e}", width)
    if value.dtype.kind in "fiu" and text.find(".") not in range(width - 1):
        return truncate(f"~{float(value):.2g}", width)
    return truncate(text, width)


def short_value_with_norm(value: Any, width: int) -> str:
    """Like :func:`short_value`, but shows the norm of a large tensor, as its history plot does."""
    if isinstance(value, LiveTensorSummary):
        return _norm_text(value.norm, (value.low, value.high), width)
    if not isinstance(value, np.ndarray | TensorRef) or value.size < 2:
        return short_value(value, width)
    if full := full_text(value, width):
        return full
    stats = None if value.dtype.kind in _NON_NUMERIC_KINDS else statistics_of(value)
    if stats is None or stats.nan:
        return short_value(value, width)
    norm = math.inf if stats.inf or stats.norm is None else stats.norm
    return _norm_text(norm, None if stats.inf else (stats.min, stats.max), width)


def _norm_text(norm: float, ends: tuple[Any, Any] | None, width: int) -> str:
    """``norm 3.4   -0.58 .. 0.57``, or the part that fits."""
    text = f"norm {number_text(norm)}"
    if ends is not None and math.isfinite(norm):
        longer = f"{text}   {number_text(ends[0])} .. {number_text(ends[1])}"
        if len(longer) <= width:
            return longer
    return text if len(text) <= width else truncate(f"norm {number_text(norm, 2)}", width)


def shape_text(value: Array | TensorRef) -> str:
    """``[1,256]``"""
    return "[" + ",".join(map(str, value.shape)) + "]"


def value_type_text(value: Any, declared: ValueType | None = None) -> str:
    """``f32 [3]``: dtype and shape of a tensor, else the declared type."""
    if isinstance(value, np.ndarray | np.generic | TensorRef | LiveTensorSummary):
        return type_text(value.dtype, value.shape)
    if isinstance(value, list | tuple):
        return f"seq [{len(value)}]"
    if isinstance(declared, TensorType):
        return type_text(declared.dtype, declared.shape)
    return "?" if declared is None else str(declared)
