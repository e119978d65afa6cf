"""Permutations of axes, and shapes of a rank of their own: ``Dims2``, ``DimsHW`` and so on."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

from .dims import MAX_DIMS, Dims, sizes_of
from .place import place


class Permutation:
    """An order of axes: axis k of the result is axis ``order[k]``. Always eight long, as TensorRT has it."""

    def __init__(self, order: Iterable[int] = ()) -> None:
        given = sizes_of(order, "a Permutation")
        #: As many as were given; what lies beyond a tensor's rank does not matter.
        self._order = [*given, *(0 for _ in range(MAX_DIMS - len(given)))]

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


def _of_rank(name: str, rank: int) -> Any:
    """The class of shapes of so many dimensions."""

    def start(self: Dims, *given: Any) -> None:
        shape = given[0] if len(given) == 1 and hasattr(given[0], "__iter__") else given or (0,) * rank
        Dims.__init__(self, shape)
        if len(self) != rank:
            raise ValueError(f"{place()}: {name} has {rank} dimensions, not {len(self)}")

    return type(name, (Dims,), {"__init__": start, "__doc__": f"A shape of {rank} dimensions."})


Dims2, Dims3, Dims4 = (_of_rank(f"Dims{rank}", rank) for rank in (2, 3, 4))


class DimsHW(_of_rank("DimsHW", 2)):  # type: ignore[misc]
    """Height and width."""

    @property
    def h(self) -> int:
        return int(self[0])

    @h.setter
    def h(self, extent: int) -> None:
        self[0] = extent

    @property
    def w(self) -> int:
        return int(self[1])

    @w.setter
    def w(self, extent: int) -> None:
        self[1] = extent
