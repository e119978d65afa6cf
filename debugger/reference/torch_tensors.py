"""Tensors as arrays, and the memory that recorded values take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, MutableMapping
from typing import Any

import numpy as np
import torch
from torch._C import _functorch as functorch

from ...runtime.dtypes import dtype_from_name
from ...runtime.errors import LimitError, Remedy
from ...runtime.graph import Array
from .reference import Key

#: Default maximum size of all values of a reference in bytes.
DEFAULT_LIMIT_BYTES = 2 << 30


def as_array(value: Any) -> Array | None:
    """Copy a tensor to an array of the same dtype and shape; None if there is no such array (sparse and quantised
    tensors, other values)."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.is_quantized:
        return None
    dense = _unwrap_vmap(value).detach().cpu().resolve_conj().resolve_neg().contiguous()
    try:
        return np.array(dense.numpy())
    except TypeError:  # a dtype that NumPy lacks
        bits = dense.view({1: torch.uint8, 2: torch.int16}[dense.element_size()])
        return np.array(bits.numpy()).view(dtype_from_name(str(value.dtype).removeprefix("torch.")))


def _unwrap_vmap(value: torch.Tensor) -> torch.Tensor:
    """Return a tensor inside of vmap with the mapped dimensions in front, as in a model."""
    while functorch.is_batchedtensor(value):
        value, axis = functorch.get_unwrapped(value), functorch.maybe_get_bdim(value)
        value = value.movedim(axis, 0)
    return value


@contextlib.contextmanager
def restore_vmap_level() -> Iterator[None]:
    """Restore the vmap level after a program that enters vmap node by node and fails in it."""
    level = functorch.maybe_current_level()
    try:
        yield
    finally:
        while functorch.maybe_current_level() != level:
            functorch._vmap_decrement_nesting()


def as_tensor(value: Any) -> torch.Tensor:
    """Copy an array to a tensor of the same dtype and shape."""
    array = np.array(np.asarray(value))  # a tensor has no copy of its own that NumPy takes
    if array.dtype.isbuiltin == 2:  # bfloat16 and others that NumPy lacks
        bits = torch.from_numpy(array.view({1: np.uint8, 2: np.int16}[array.itemsize]))
        return bits.view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


class ValueStore:
    """Adds arrays to tracks within a memory limit.

    A value that equals that of the previous iteration takes no memory.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit
        self.held_bytes = 0
        self._last: dict[int, Array] = {}

    def add(self, values: MutableMapping[Key, Any], key: Key, value: Any, label: str) -> None:
        """Store a copy of ``value``; values that are no tensors are ignored.

        Raises:
            LimitError: all values together are larger than the limit.
        """
        array = as_array(value)
        if array is None:
            return
        old = self._last.get(id(values))
        if old is not None and old.dtype == array.dtype and old.shape == array.shape and _have_same_bytes(old, array):
            values[key] = old
            return
        self.held_bytes += array.nbytes
        if self.held_bytes > self.limit_bytes:
            raise LimitError(
                f"the values of the PyTorch program take more than {self.limit_bytes >> 20} MB from {label} on",
                Remedy.FEWER_ITERATIONS,
            )
        values[key] = self._last[id(values)] = array


def _have_same_bytes(a: Array, b: Array) -> bool:
    x, y = (array.reshape(-1).view(np.uint8) for array in (a, b))
    return bool(np.array_equal(x, y))
