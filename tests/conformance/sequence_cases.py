"""Inputs of the operators on sequences: a list among the inputs of a case is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .operator_cases import Array, OperatorCase, i64, special_tensor

#: Elements that are alike, and elements that are not.
EQUAL_SHAPES = ((2, 3),) * 3
MIXED_SHAPES: tuple[tuple[int, ...], ...] = ((2, 3), (), (4,), (1, 0))
POSITIONS = (0, 1, 2, -1, -3)


def _sequence(dtype: str, shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
    return [special_tensor(dtype, *shape, start=k) for k, shape in enumerate(shapes)]


def _position_values() -> Iterator[Any]:
    yield from (np.array(place, np.int64) for place in POSITIONS)
    yield np.array(1, np.int32)


def sequence_construct_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shapes in (EQUAL_SHAPES, MIXED_SHAPES, MIXED_SHAPES[:1]):
        yield OperatorCase(list(_sequence(dtype, shapes)))


def sequence_insert_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shapes in (EQUAL_SHAPES, MIXED_SHAPES):
        yield OperatorCase([_sequence(dtype, shapes), special_tensor(dtype, 5, start=9)])
        for place in _position_values():
            yield OperatorCase([_sequence(dtype, shapes), special_tensor(dtype, 2, 3, start=9), place])
    yield OperatorCase([_sequence(dtype, EQUAL_SHAPES), special_tensor(dtype, 2, 3), i64(3).reshape(())])


def sequence_erase_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shapes in (EQUAL_SHAPES, MIXED_SHAPES):
        yield OperatorCase([_sequence(dtype, shapes)])
        for place in _position_values():
            yield OperatorCase([_sequence(dtype, shapes), place])


def sequence_at_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shapes in (EQUAL_SHAPES, MIXED_SHAPES):
        for place in _position_values():
            yield OperatorCase([_sequence(dtype, shapes), place])


def sequence_length_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shapes in (EQUAL_SHAPES, MIXED_SHAPES, MIXED_SHAPES[:1]):
        yield OperatorCase([_sequence(dtype, shapes)])


def split_to_sequence_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x = special_tensor(dtype, 4, 5, 2)
    for axis in (0, 1, 2, -1):
        yield OperatorCase([x], {"axis": axis})
        yield OperatorCase([x], {"axis": axis, "keepdims": 0})
        yield OperatorCase([x, np.array(3, np.int64)], {"axis": axis})
    yield OperatorCase([x, i64(1, 0, 3)])
    yield OperatorCase([x, i64(2, 3)], {"axis": 1})


def concat_from_sequence_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for axis in (0, 1, -1):
        yield OperatorCase([_sequence(dtype, EQUAL_SHAPES)], {"axis": axis})
        yield OperatorCase([_sequence(dtype, EQUAL_SHAPES)], {"axis": axis, "new_axis": 1})
    yield OperatorCase([_sequence(dtype, ((2, 3), (4, 3), (0, 3)))], {"axis": 0})
