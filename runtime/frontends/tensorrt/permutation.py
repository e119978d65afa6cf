"""Permutations of axes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

from .dims import MAX_DIMS, sizes_of


class Permutation:
    """An order of axes: axis k of the result is axis ``order[k]``. The length is always eight, as in TensorRT."""

    def __init__(self, order: Iterable[int] = ()) -> None:
        axes = sizes_of(order, "a Permutation")
        #: Zero-padded; entries beyond a tensor's rank are ignored.
        self._order = [*axes, *(0 for _ in range(MAX_DIMS - len(axes)))]

    def __len__(self) -> int:
        return MAX_DIMS

    def __getitem__(self, index: int) -> int:
        return self._order[index]

    def __setitem__(self, index: int, axis: int) -> None:
        self._order[index] = operator.index(axis)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._order))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permutation) and self._order == other._order

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return str(tuple(self._order))
