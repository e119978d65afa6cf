"""What callers give as arrays: tensors of other frameworks, which are not imported, and whatever NumPy takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import dtype_from_name as dtype_of
from .dtypes import is_ml_dtype as is_extension_dtype
from .errors import UsageError, one_line


def to_checked_array(value: Any) -> Any:
    """A value that a caller gives, as an array of numbers, booleans or strings; strings have dtype object.

    Raises:
        UsageError: it cannot be one, whatever its own conversion raises; the text is for the end of a message.
        MemoryError: there is no memory for it.
    """
    try:
        array = to_array(value)
        masked = isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))
    except MemoryError:
        raise
    except Exception as error:
        raise UsageError(f"this {type_name(value)} cannot be made an array: {one_line(error)}") from None
    if masked:
        raise UsageError("this masked array has masked elements; fill them (x.filled(0))")
    kind = getattr(array, "dtype", None)
    if kind is None or (kind.kind not in "biufcOUST" and not is_extension_dtype(kind)):
        raise UsageError(f"this {type_name(value)} is of dtype {kind}; numbers, booleans or strings are needed")
    if kind.kind in "UT":
        return array.astype(object)
    if kind.kind == "O" and not all(isinstance(item, str | bytes | int) for item in array.flat):
        held = "holds other things than numbers, booleans or strings" if array.ndim else "cannot be made an array"
        raise UsageError(f"this {type_name(value)} {held}")
    return array


def type_name(value: Any) -> str:
    """The type of a value with its module, as ``torch.Tensor``."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def to_array(value: Any) -> Any:
    """A value as an array, of a tensor in the memory of the processor without a copy where its framework allows that.

    Raises:
        TypeError, ValueError, RuntimeError, BufferError, UnsupportedError: it cannot be one.
    """
    # PyTorch: a tensor with a gradient or on a device has no __array__ that works.
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu()
        resolved = value.resolve_conj() if hasattr(value, "resolve_conj") else value
        return _torch_to_array(resolved)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def _torch_to_array(tensor: Any) -> Any:
    """Of a tensor in a dtype that NumPy lacks (bfloat16, the floats of one byte) the bytes, in that dtype."""
    name = str(tensor.dtype).rpartition(".")[2]
    if not name.startswith(("bfloat16", "float8", "float4")):
        return np.asarray(tensor)
    kind = dtype_of(name)
    torch = __import__(type(tensor).__module__.partition(".")[0])
    words = tensor.contiguous().view(torch.int16 if kind.itemsize == 2 else torch.uint8)
    return np.asarray(words).view(kind)
