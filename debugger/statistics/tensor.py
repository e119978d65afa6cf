"""A tensor that is looked at where it lies: what it costs is what is looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...runtime.errors import UsageError
from ...runtime.graph import Array
from .onepass import CHUNK, Statistics

_T = TypeVar("_T")
#: Runs a function on the whole tensor, which nothing writes meanwhile; what comes out must be no view of it.
Use = Callable[[Callable[[Array], Any]], Any]
#: Tensors of fewer bytes are copied, which takes no longer than looking after them.
LARGE = 1 << 16


class OverError(UsageError):
    """The tensor is no more: what held it has gone on."""


class TensorRef:
    """A tensor of which parts are copied when they are asked for.

    It has the attributes by which arrays are told apart, and NumPy takes it for one, at the price of a copy of the
    whole. What reads it may raise an :class:`OverError`.
    """

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], use: Use) -> None:
        self.dtype = dtype
        self.shape = shape
        self._use = use
        #: What it was compared with, by identity, and what was found: a picture is drawn more often than it changes.
        self.changes: dict[int, tuple[TensorRef, Any]] = {}

    @classmethod
    def of(cls, array: Array) -> TensorRef:
        """Of an array that nobody writes."""
        return cls(array.dtype, array.shape, lambda do: do(array))

    def __repr__(self) -> str:
        return f"<TensorRef {self.dtype.name} {list(self.shape)}>"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def use(self, do: Callable[[Array], _T]) -> _T:
        """What a function gives for the whole tensor, which nothing writes while it runs; it returns no view of it."""
        found: _T = self._use(do)
        return found

    def __getitem__(self, index: Any) -> Any:
        """A copy of a part."""
        part = self.use(lambda whole: np.array(whole[index]))
        return part[()] if part.ndim == 0 else part

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        whole: npt.NDArray[Any] = self.use(lambda array: np.array(array, dtype=dtype))
        return whole

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[tuple[int, Array]]:
        """Copies of the elements in order, each with the flat position at which it begins."""
        for at in range(start, self.size, size):
            yield at, self.flat(at, at + size)

    def flat(self, start: int, stop: int) -> Array:
        """A copy of the elements from one flat position to another, axes in order."""
        return self.use(lambda whole: np.array(_flat(whole, start, stop)))

    @cached_property
    def statistics(self) -> Statistics:
        """What is in it; the first to ask pays the pass."""
        found = Statistics()
        for _, part in self.chunks():
            found.add(part)
        return found


def _flat(whole: Array, start: int, stop: int) -> Array:
    # Of what does not lie in order reshape would copy all of it; .flat copies what is asked for.
    return whole.reshape(-1)[start:stop] if whole.flags.c_contiguous else whole.flat[start:stop]


def tensor_of(value: Any) -> TensorRef:
    """Any tensor as one to be looked at in parts."""
    return value if isinstance(value, TensorRef) else TensorRef.of(np.asarray(value))
