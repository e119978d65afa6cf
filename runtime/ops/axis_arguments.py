"""Axes, shapes and small integer inputs: what operators of several families read the same way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ModelError
from ..graph import slicing

P = Any  # Primitives[T]
T = Any


def read_ints(p: P, x: T) -> tuple[int, ...]:
    """The numbers of a shape-like input (axes, pads, repeats ...), in row-major order."""
    found: tuple[int, ...] = p.integers(x)
    return found


def read_int(p: P, x: T, what: str) -> int:
    """The number in a one-element input of any rank."""
    values = read_ints(p, x)
    if len(values) != 1:
        raise ValueError(f"{what} must be one number, not {len(values)}")
    return values[0]


def normalize_axis(axis: Any, rank: int) -> int:
    """An axis counted from the start; negative ones count from the end. A scalar takes 0 and -1, which give 0.

    Raises:
        ModelError: there is no such axis.
    """
    count = max(rank, 1)
    if not -count <= axis < count:
        raise ModelError(f"axis {axis} is outside a tensor of {rank} dimensions")
    return slicing.normalize_axis(int(axis), count)


def normalize_axes_sorted(axes: Iterable[Any], rank: int) -> tuple[int, ...]:
    """Several axes, each counted from the start, in ascending order; a scalar has none.

    Raises:
        ModelError: an axis is outside the tensor or named twice.
    """
    return tuple(sorted(_check_distinct(normalize_axis(axis, rank) for axis in axes))) if rank else ()


def normalize_existing_axis(axis: int, rank: int) -> int:
    """:func:`axis_of` for operators that need an axis to be there, which a scalar lacks."""
    if rank == 0:
        raise ModelError(f"there is no axis {axis}: the tensor is a scalar")
    return normalize_axis(axis, rank)


def normalize_distinct_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the start, in the order given."""
    return _check_distinct(normalize_existing_axis(axis, rank) for axis in axes)


def _check_distinct(axes: Iterable[int]) -> tuple[int, ...]:
    found = tuple(axes)
    if len(set(found)) != len(found):
        raise ModelError(f"the axes {list(found)} name an axis twice")
    return found


def split_element_counts(axis: int, shape: Sequence[int]) -> tuple[int, int]:
    """How many elements the axes before ``axis`` have, and those from it on; an axis behind the last one is allowed.

    Raises:
        ModelError: there is no such axis.
    """
    rank = len(shape)
    at = rank if axis == rank else normalize_axis(axis, rank)
    return element_count(shape[:at]), element_count(shape[at:])


def check_shape(shape: Sequence[int], what: str = "shape") -> tuple[int, ...]:
    """A shape without negative numbers."""
    if any(n < 0 for n in shape):
        raise ValueError(f"{what} {list(shape)} has a negative number")
    return tuple(shape)


def element_count(shape: Iterable[int]) -> int:
    """How many elements a tensor of this shape has."""
    return math.prod(shape)


def decode_string(value: str | bytes) -> str:
    """A string attribute, whichever way the front end has it."""
    return value.decode() if isinstance(value, bytes) else value


def unknown_value_error(attribute: str, word: str, known: Sequence[str]) -> ModelError:
    """The error for a word that an attribute cannot have."""
    return ModelError(f"attribute {attribute}='{word}' is not one of {', '.join(known)}")
