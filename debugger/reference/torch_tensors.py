"""Tensors as arrays, and how much memory all that is kept takes."""

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

#: Bytes of all values of a reference, unless another limit is given.
DEFAULT_LIMIT_BYTES = 2 << 30


def as_array(value: Any) -> Array | None:
    """A copy of a tensor as an array of the same dtype and shape; None where there is no such array (sparse and
    quantised tensors, no tensor at all)."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.is_quantized:
        return None
    dense = _unwrap_vmap(value).detach().cpu().resolve_conj().resolve_neg().contiguous()
    try:
        return np.array(dense.numpy())
    except TypeError:  # a dtype that NumPy lacks
        bits = dense.view({1: torch.uint8, 2: torch.int16}[dense.element_size()])
        return np.array(bits.numpy()).view(dtype_from_name(str(value.dtype).removeprefix("torch.")))


def _unwrap_vmap(value: torch.Tensor) -> torch.Tensor:
    """A tensor inside of vmap, with the dimensions over which that runs in front: so a model has them."""
    while functorch.is_batchedtensor(value):
        value, at = functorch.get_unwrapped(value), functorch.maybe_get_bdim(value)
        value = value.movedim(at, 0)
    return value


@contextlib.contextmanager
def restore_vmap_level() -> Iterator[None]:
    """A program that enters vmap, node by node, and fails in it, is not left there."""
    level = functorch.maybe_current_level()
    try:
        yield
    finally:
        while functorch.maybe_current_level() != level:
            functorch._vmap_decrement_nesting()


def as_tensor(value: Any) -> torch.Tensor:
    """A copy of an array as a tensor of the same dtype and shape."""
    array = np.array(np.asarray(value))  # a tensor has no copy of its own that NumPy takes
    if array.dtype.isbuiltin == 2:  # bfloat16 and others that NumPy lacks
        bits = torch.from_numpy(array.view({1: np.uint8, 2: np.int16}[array.itemsize]))
        return bits.view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


class ValueStore:
    """Puts arrays into tracks, as long as they fit.

    A value that is what it was in the iteration before takes no memory.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit
        self.held_bytes = 0
        self._last: dict[int, Array] = {}

    def add(self, values: MutableMapping[Key, Any], key: Key, value: Any, what: str) -> None:
        """Keep a copy of ``value``; what is no tensor is not kept.

        Raises:
            LimitError: all values together are larger than the limit.
        """
        array = as_array(value)
        if array is None:
            return
        last = self._last.get(id(values))
        if last is not None and last.dtype == array.dtype and last.shape == array.shape and _same_bytes(last, array):
            values[key] = last
            return
        self.held_bytes += array.nbytes
        if self.held_bytes > self.limit_bytes:
            raise LimitError(
                f"the values of the PyTorch program take more than {self.limit_bytes >> 20} MB from {what} on",
                Remedy.FEWER_ITERATIONS,
            )
        values[key] = self._last[id(values)] = array


def _same_bytes(a: Array, b: Array) -> bool:
    one, other = (array.reshape(-1).view(np.uint8) for array in (a, b))
    return bool(np.array_equal(one, other))
