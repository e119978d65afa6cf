"""Conversion of callers' arrays: tensors of other frameworks, which are not imported, and array-likes of NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .dtypes import dtype_from_name, is_ml_dtype
from .errors import UsageError, one_line


def to_checked_array(value: Any) -> Any:
    """Convert a caller's value to an array of numbers, booleans or strings; strings have dtype object.

    Raises:
        UsageError: it cannot be converted, whatever its own conversion raises; the text completes a message.
        MemoryError: there is not enough memory.
    """
    try:
        array = to_array(value)
        # Importing numpy.ma is slow; before anyone has imported it, there are no masked arrays.
        masked = "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))
    except MemoryError:
        raise
    except Exception as error:
        raise UsageError(f"this {type_name(value)} cannot be made an array: {one_line(error)}") from None
    if masked:
        raise UsageError("this masked array has masked elements; fill them (x.filled(0))", got="masked elements")
    dtype = getattr(array, "dtype", None)
    if dtype is None or (dtype.kind not in "biufcOUST" and not is_ml_dtype(dtype)):
        raise UsageError(
            f"this {type_name(value)} is of dtype {dtype}; numbers, booleans or strings are needed",
            expected="numbers, booleans or strings",
            got=str(dtype),
        )
    if dtype.kind in "UT":
        return array.astype(object)
    if dtype.kind == "O" and not all(isinstance(item, str | bytes | int) for item in array.flat):
        problem = "holds other things than numbers, booleans or strings" if array.ndim else "cannot be made an array"
        raise UsageError(f"this {type_name(value)} {problem}")
    return array


def type_name(value: Any) -> str:
    """The qualified type name of a value, such as ``torch.Tensor``."""
    value_type = type(value)
    return (
        value_type.__qualname__
        if value_type.__module__ == "builtins"
        else f"{value_type.__module__}.{value_type.__qualname__}"
    )


def to_array(value: Any) -> Any:
    """Convert a value to an array; a CPU tensor without a copy if its framework allows it.

    Raises:
        TypeError, ValueError, RuntimeError, BufferError, UnsupportedError: it cannot be converted.
    """
    # PyTorch: __array__ fails for tensors with a gradient or on a device.
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu()
        resolved = value.resolve_conj() if hasattr(value, "resolve_conj") else value
        return _torch_to_array(resolved)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def _torch_to_array(tensor: Any) -> Any:
    """Convert a torch tensor; dtypes that NumPy lacks (bfloat16, float8) by reinterpreting the bytes."""
    name = str(tensor.dtype).rpartition(".")[2]
    if not name.startswith(("bfloat16", "float8", "float4")):
        return np.asarray(tensor)
    dtype = dtype_from_name(name)
    torch = __import__(type(tensor).__module__.partition(".")[0])
    raw = tensor.contiguous().view(torch.int16 if dtype.itemsize == 2 else torch.uint8)
    return np.asarray(raw).view(dtype)
