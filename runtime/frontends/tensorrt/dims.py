"""Shapes of TensorRT's Python API, ``Dims`` and classes of fixed rank such as ``DimsHW``; permutations of axes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, overload

from .script_location import argument_error, caller_location

MAX_DIMS = 8


class _IntSequence:
    """A mutable sequence of ints, whose length is fixed."""

    _sizes: list[int]

    def __len__(self) -> int:
        return len(self._sizes)

    def __getitem__(self, index: Any) -> Any:
        return self._sizes[index]

    def __setitem__(self, index: int, size: int) -> None:
        self._sizes[index] = operator.index(size)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._sizes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._sizes == other._sizes

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return str(tuple(self._sizes))


class Dims(_IntSequence):
    """A shape: a mutable sequence of ints. -1 is an unknown dimension.

    An ``invalid`` one is an unset shape: it has no length.
    """

    MAX_DIMS = MAX_DIMS

    def __init__(self, shape: Iterable[int] = ()) -> None:
        self._sizes = [operator.index(size) for size in shape]
        if len(self._sizes) > MAX_DIMS:
            raise ValueError(f"{caller_location()}: a shape has at most {MAX_DIMS} dimensions, not {len(self._sizes)}")
        self._valid = True

    @classmethod
    def invalid(cls) -> Dims:
        """The value of an unset property."""
        dims = cls()
        dims._valid = False
        return dims

    @classmethod
    def unset(cls, layer: object) -> Dims:
        """The value of an unset shape of any layer."""
        return cls.invalid()

    def __len__(self) -> int:
        if not self._valid:
            raise ValueError("__len__() should return >= 0")
        return super().__len__()

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        return tuple(self._sizes[index]) if isinstance(index, slice) else self._sizes[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dims):
            return (self._valid, self._sizes) == (other._valid, other._sizes)
        return isinstance(other, list | tuple) and self._valid and self._sizes == list(other)

    __hash__ = None


def sizes_from_shape(shape: Any, label: str) -> tuple[int, ...]:
    """Convert a script's shape: Dims, or any sequence of integers.

    Raises:
        ArgumentError: it is something else.
    """
    try:
        return tuple(Dims(shape)) if not isinstance(shape, Dims) else tuple(shape[: len(shape)])
    except TypeError:
        raise argument_error(f"{label} must be Dims or a sequence of integers, not {shape!r}") from None


def _fixed_rank_class(name: str, rank: int) -> Any:
    """Create the class of shapes of rank N."""

    def initialize(self: Dims, *sizes: Any) -> None:
        shape = sizes[0] if len(sizes) == 1 and hasattr(sizes[0], "__iter__") else sizes or (0,) * rank
        Dims.__init__(self, shape)
        if len(self) != rank:
            raise ValueError(f"{caller_location()}: {name} has {rank} dimensions, not {len(self)}")

    return type(name, (Dims,), {"__init__": initialize, "__doc__": f"A shape of {rank} dimensions."})


Dims2, Dims3, Dims4 = (_fixed_rank_class(f"Dims{rank}", rank) for rank in (2, 3, 4))


def _extent_property(axis: int) -> Any:
    """The property for one dimension."""
    return property(operator.itemgetter(axis), lambda dims, extent: operator.setitem(dims, axis, extent))


class DimsHW(_fixed_rank_class("DimsHW", 2)):  # type: ignore[misc]
    """Height and width."""

    h = _extent_property(0)
    w = _extent_property(1)


class Permutation(_IntSequence):
    """An order of axes: axis k of the result is axis ``order[k]``. The length is always eight, as in TensorRT."""

    def __init__(self, order: Iterable[int] = ()) -> None:
        axes = sizes_from_shape(order, "a Permutation")
        #: Zero-padded; entries beyond a tensor's rank are ignored.
        self._sizes = [*axes, *(0 for _ in range(MAX_DIMS - len(axes)))]
