"""Tensors of other frameworks as arrays, without importing any of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import dtype as dtype_of


def is_foreign(value: Any) -> bool:
    """Whether something is a tensor of another framework: of PyTorch, or anything that DLPack describes."""
    return not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__")


def as_array(value: Any) -> Any:
    """A value as an array, of a tensor in the memory of the processor without a copy where its framework allows that.

    Raises:
        TypeError, ValueError, RuntimeError, BufferError, UnsupportedError: it cannot be one.
    """
    # PyTorch: a tensor with a gradient or on a device has no __array__ that works.
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu()
        resolved = value.resolve_conj() if hasattr(value, "resolve_conj") else value
        return _of_torch(resolved)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def _of_torch(tensor: Any) -> Any:
    """Of a tensor in a dtype that NumPy lacks (bfloat16, the floats of one byte) the bytes, in that dtype."""
    name = str(tensor.dtype).rpartition(".")[2]
    if not name.startswith(("bfloat16", "float8", "float4")):
        return np.asarray(tensor)
    kind = dtype_of(name)
    torch = __import__(type(tensor).__module__.partition(".")[0])
    words = tensor.contiguous().view(torch.int16 if kind.itemsize == 2 else torch.uint8)
    return np.asarray(words).view(kind)
