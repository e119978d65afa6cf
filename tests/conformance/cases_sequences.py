"""Inputs of the operators on sequences: a list among the inputs of a case is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case_values import Array, Case, data, i64

#: Elements that are alike, and elements that are not.
ALIKE = ((2, 3),) * 3
ODD: tuple[tuple[int, ...], ...] = ((2, 3), (), (4,), (1, 0))
PLACES = (0, 1, 2, -1, -3)


def _sequence(dtype: str, shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
    return [data(dtype, *shape, start=k) for k, shape in enumerate(shapes)]


def _places() -> Iterator[Any]:
    yield from (np.array(place, np.int64) for place in PLACES)
    yield np.array(1, np.int32)


def constructed(dtype: str, version: int) -> Iterator[Case]:
    for shapes in (ALIKE, ODD, ODD[:1]):
        yield Case(list(_sequence(dtype, shapes)))


def inserted(dtype: str, version: int) -> Iterator[Case]:
    for shapes in (ALIKE, ODD):
        yield Case([_sequence(dtype, shapes), data(dtype, 5, start=9)])
        for place in _places():
            yield Case([_sequence(dtype, shapes), data(dtype, 2, 3, start=9), place])
    yield Case([_sequence(dtype, ALIKE), data(dtype, 2, 3), i64(3).reshape(())])


def erased(dtype: str, version: int) -> Iterator[Case]:
    for shapes in (ALIKE, ODD):
        yield Case([_sequence(dtype, shapes)])
        for place in _places():
            yield Case([_sequence(dtype, shapes), place])


def taken(dtype: str, version: int) -> Iterator[Case]:
    for shapes in (ALIKE, ODD):
        for place in _places():
            yield Case([_sequence(dtype, shapes), place])


def counted(dtype: str, version: int) -> Iterator[Case]:
    for shapes in (ALIKE, ODD, ODD[:1]):
        yield Case([_sequence(dtype, shapes)])


def split(dtype: str, version: int) -> Iterator[Case]:
    x = data(dtype, 4, 5, 2)
    for axis in (0, 1, 2, -1):
        yield Case([x], {"axis": axis})
        yield Case([x], {"axis": axis, "keepdims": 0})
        yield Case([x, np.array(3, np.int64)], {"axis": axis})
    yield Case([x, i64(1, 0, 3)])
    yield Case([x, i64(2, 3)], {"axis": 1})


def joined(dtype: str, version: int) -> Iterator[Case]:
    for axis in (0, 1, -1):
        yield Case([_sequence(dtype, ALIKE)], {"axis": axis})
        yield Case([_sequence(dtype, ALIKE)], {"axis": axis, "new_axis": 1})
    yield Case([_sequence(dtype, ((2, 3), (4, 3), (0, 3)))], {"axis": 0})
