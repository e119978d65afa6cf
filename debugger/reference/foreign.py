"""Tensors of other frameworks as arrays of our own, without importing any of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.dtypes import dtype as dtype_of
from ...runtime.errors import InputError, UnsupportedError, one_line
from ...runtime.graph import Array
from ...runtime.inputs import Data


def copied(name: str, value: Any) -> Data:
    """A copy of a value: of an array or number, of a tensor of PyTorch, JAX, TensorFlow or whatever has ``__array__``
    or DLPack; of a list of these a list; of None None.

    Raises:
        InputError: it is none of these.
    """
    if value is None:
        return None
    if isinstance(value, list | tuple) and not _is_numbers(value):
        return [copied(name, one) for one in value]
    try:
        array = np.array(_as_array(value))
    except (TypeError, ValueError, RuntimeError, BufferError, UnsupportedError) as error:
        raise _unfit(name, value, one_line(error)) from None
    if array.dtype.kind in "UT":
        array = array.astype(object)
    if array.dtype == object and not all(isinstance(one, str | bytes) for one in array.flat):
        raise _unfit(name, value, "")
    return array


def _unfit(name: str, value: Any, why: str) -> InputError:
    kind = type(value)
    told = f" ({why})" if why else ""
    return InputError(
        f"'{name}' is a {kind.__module__}.{kind.__qualname__}, which cannot be made an array{told}; give numbers, an "
        "array, a tensor, or a list of these"
    )


def _is_numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list is one array written out, such as [[1, 2], [3, 4]], not a sequence of tensors."""
    return all(
        _is_numbers(one) if isinstance(one, list | tuple) else isinstance(one, bool | int | float | complex | str)
        for one in value
    )


def _as_array(value: Any) -> Any:
    # PyTorch: a tensor with a gradient or on a device has no __array__ that works.
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu()
        resolved = value.resolve_conj() if hasattr(value, "resolve_conj") else value
        return _of_torch(resolved)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def _of_torch(tensor: Any) -> Array:
    """Of a tensor in a dtype that NumPy lacks (bfloat16, the floats of one byte) the bytes, in that dtype."""
    name = str(tensor.dtype).rpartition(".")[2]
    if not name.startswith(("bfloat16", "float8", "float4")):
        return np.asarray(tensor)
    kind = dtype_of(name)
    torch = __import__(type(tensor).__module__.partition(".")[0])
    words = tensor.contiguous().view(torch.int16 if kind.itemsize == 2 else torch.uint8)
    found: Array = np.asarray(words).view(kind)
    return found
