"""Tensors of other frameworks as arrays of our own, without importing any of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.array_interop import to_checked_array, type_name
from ...runtime.errors import InputError, UsageError
from ...runtime.input_validation import Data


def copy_value(name: str, value: Any) -> Data:
    """A copy of a value: of an array or number, of a tensor of PyTorch, JAX, TensorFlow or whatever has ``__array__``
    or DLPack; of a list of these a list; of None None.

    Raises:
        InputError: it is none of these.
    """
    if value is None:
        return None
    if isinstance(value, list | tuple) and not _is_nested_numbers(value):
        return [copy_value(name, one) for one in value]
    try:
        array = np.array(to_checked_array(value))
    except UsageError as error:
        raise _conversion_error(name, str(error)) from None
    if array.dtype == object and not all(isinstance(one, str | bytes) for one in array.flat):
        raise _conversion_error(name, f"this {type_name(value)} holds a number that no dtype has")
    return array


def _conversion_error(name: str, why: str) -> InputError:
    return InputError(f"'{name}': {why}; give numbers, an array, a tensor, or a list of these")


def _is_nested_numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list is one array written out, such as [[1, 2], [3, 4]], not a sequence of tensors."""
    return all(
        _is_nested_numbers(one)
        if isinstance(one, list | tuple)
        else isinstance(one, bool | int | float | complex | str)
        for one in value
    )
