"""Value types of the language: a tensor (array or buffer), a plain number, a boolean, a string, none, or a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...runtime.graph import Array
from .errors import EvaluationProblem

Dtype = np.dtype[Any]
TensorLike = Any  # an array or the description of a buffer
Value = Any  # see the module


class UntypedNumbers(NamedTuple):
    """The numbers of a list literal, which take the dtype of the other operand. ``kind`` is int or float."""

    numbers: Array
    kind: type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the nested list."""
        return self.numbers.shape


class TensorSpec(NamedTuple):
    """A tensor of known dtype and shape, without data; not ``shape_known``: the shape is unknown, and ()."""

    dtype: Dtype
    shape: tuple[int, ...]
    shape_known: bool = True


def is_tensor(value: Value) -> bool:
    """True for an array, a buffer or a tensor spec."""
    return hasattr(value, "dtype")


def is_number(value: Value) -> bool:
    """True for a plain number, but not for a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def describe_value(value: Value) -> str:
    """Description of a value for messages: ``float32 [2,3]``, ``a string``."""
    if isinstance(value, TensorSpec) and not value.shape_known:
        return dtype_name(value.dtype)
    if is_tensor(value):
        return f"{dtype_name(value.dtype)} {shape_text(value.shape)}"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a number"


def shape_text(shape: Sequence[int]) -> str:
    """``[2,3]``."""
    return f"[{','.join(map(str, shape))}]"


def dtype_name(dtype: Dtype) -> str:
    """NumPy's name of a dtype; ``string`` for strings."""
    return "string" if dtype.kind in "OUST" else dtype.name


def flatten_list(items: list[Value]) -> tuple[list[Value], tuple[int, ...]]:
    """The items of nested lists in order, and the shape of the nested list."""
    if not any(isinstance(item, list) for item in items):
        return items, (len(items),)
    if not all(isinstance(item, list) for item in items):
        raise EvaluationProblem("a list of lists and other things where numbers are needed")
    parts = [flatten_list(item) for item in items]
    if any(shape != parts[0][1] for _, shape in parts):
        raise EvaluationProblem("lists of different lengths where numbers are needed")
    return [item for part, _ in parts for item in part], (len(items), *parts[0][1])


def is_text(value: Value) -> bool:
    return is_tensor(value) and value.dtype.kind in "OUST"
