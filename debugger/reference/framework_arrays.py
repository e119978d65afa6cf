"""Convert tensors of other frameworks to NumPy arrays, without importing any framework."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.array_interop import to_checked_array, type_name
from ...runtime.errors import InputError, UsageError
from ...runtime.input_validation import Data


def copy_value(name: str, value: Any) -> Data:
    """Copy a value: an array or number, a tensor of PyTorch, JAX, TensorFlow or any object with ``__array__`` or
    DLPack; a list of these as a list; None as None.

    Raises:
        InputError: unsupported value.
    """
    if value is None:
        return None
    if isinstance(value, list | tuple) and not _is_nested_numbers(value):
        return [copy_value(name, item) for item in value]
    try:
        array = np.array(to_checked_array(value))
    except UsageError as error:
        raise _conversion_error(name, str(error)) from None
    if array.dtype == object and not all(isinstance(item, str | bytes) for item in array.flat):
        raise _conversion_error(name, f"this {type_name(value)} holds a number that no dtype has")
    return array


def _conversion_error(name: str, reason: str) -> InputError:
    return InputError(
        f"'{name}': {reason}; give numbers, an array, a tensor, or a list of these", name=name, got=reason
    )


def _is_nested_numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list is one nested array, such as [[1, 2], [3, 4]], not a sequence of tensors."""
    return all(
        _is_nested_numbers(item)
        if isinstance(item, list | tuple)
        else isinstance(item, bool | int | float | complex | str)
        for item in value
    )
