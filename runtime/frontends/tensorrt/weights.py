"""Weights of layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import Array
from .enums import DataType, data_type, numpy_type
from .script_location import argument_error, caller_location

#: NumPy dtypes that convert to TensorRT's types.
_ACCEPTED_DTYPES = "float32, float16, int64, int32, int8, bool, uint8"


class Weights:
    """An array, or an empty array of a type: ``Weights()``, ``Weights(DataType.HALF)``, ``Weights(array)``."""

    def __init__(self, a: Any = DataType.FLOAT, ptr: int | None = None, count: int = 0, *, type: Any = None) -> None:
        a = a if type is None else type
        if isinstance(a, DataType):
            self._array: Array = _copy_from_address(a, ptr, count) if ptr else np.empty(0, numpy_type(a))
            return
        if not isinstance(a, np.ndarray):
            raise argument_error(f"Weights takes a NumPy array or a DataType, not {type(a).__name__}")
        if data_type(a.dtype) is None:
            raise ValueError(f"{caller_location()}: {_unknown_dtype_text(a)}")
        if not a.flags.c_contiguous:
            raise ValueError(
                f"{caller_location()}: the array of Weights must be contiguous; np.ascontiguousarray makes it that"
            )
        self._array = a

    @property
    def dtype(self) -> DataType:
        result = data_type(self._array.dtype)
        assert result is not None
        return result

    size = property(lambda self: self._array.size)
    nbytes = property(lambda self: self._array.nbytes)

    def numpy(self) -> Array:
        """The flattened data."""
        return self._array.reshape(-1)

    def __len__(self) -> int:
        return self._array.size


def _copy_from_address(kind: DataType, address: int, count: int) -> Array:
    """A copy of the data at an address, usually an array's ``ctypes.data``."""
    import ctypes

    size = int(np.ceil(count * kind.itemsize))
    data = ctypes.string_at(int(address), size)
    if kind.itemsize >= 1:
        return np.frombuffer(data, numpy_type(kind), int(count)).copy()
    # Two numbers per byte, the first one in the low half.
    packed = np.frombuffer(data, np.uint8)
    halves = np.stack([packed & 15, packed >> 4], -1).reshape(-1)[:count]
    if kind is DataType.INT4:
        return ((halves.astype(np.int8) ^ 8) - 8).astype(numpy_type(kind))
    return halves.view(numpy_type(kind)).copy()


def _unknown_dtype_text(array: Array) -> str:
    return f"NumPy type {array.dtype} does not convert to a type of TensorRT; it takes {_ACCEPTED_DTYPES}"


def array_of(weights: Any, name: str) -> Array:
    """The array of a script's weights, without a copy, as TensorRT reads them when it builds.

    Raises:
        ArgumentError: it is neither Weights nor an array of a supported type.
    """
    if isinstance(weights, Weights):
        return weights.numpy()
    if not isinstance(weights, np.ndarray):
        raise argument_error(
            f"{name} must be trt.Weights or a NumPy array, not {type(weights).__name__}; np.array makes one"
        )
    if data_type(weights.dtype) is None:
        raise argument_error(f"{name}: {_unknown_dtype_text(weights)}")
    return weights


def flat_array_of(weights: Any, label: str) -> Array:
    """The flattened array of weights; empty for None."""
    return np.empty(0, np.float32) if weights is None else array_of(weights, label).reshape(-1)
