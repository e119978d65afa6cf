"""Parsing of axes, shapes and small integer inputs, shared by operator families."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ModelError
from ..graph import slicing

P = Any  # EagerPrimitives or the like
T = Any


def read_ints(p: P, x: T) -> tuple[int, ...]:
    """The integers of a shape-like input (axes, pads, repeats ...), in row-major order."""
    values: tuple[int, ...] = p.integers(x)
    return values


def read_int(p: P, x: T, name: str) -> int:
    """The number in a one-element input of any rank."""
    values = read_ints(p, x)
    if len(values) != 1:
        raise ValueError(f"{name} must be one number, not {len(values)}")
    return values[0]


def normalize_axis(axis: Any, rank: int) -> int:
    """A non-negative axis; negative arguments count from the end. A scalar accepts 0 and -1, which give 0.

    Raises:
        ModelError: there is no such axis.
    """
    count = max(rank, 1)
    if not -count <= axis < count:
        raise ModelError(
            f"axis {axis} is outside a tensor of {rank} dimensions",
            name="axis",
            expected=f"{-count} to {count - 1}",
            got=str(axis),
        )
    return slicing.normalize_axis(int(axis), count)


def normalize_axes_sorted(axes: Iterable[Any], rank: int) -> tuple[int, ...]:
    """Non-negative axes in ascending order; empty for a scalar.

    Raises:
        ModelError: an axis is outside the tensor or named twice.
    """
    return tuple(sorted(_check_distinct(normalize_axis(axis, rank) for axis in axes))) if rank else ()


def normalize_existing_axis(axis: int, rank: int) -> int:
    """:func:`normalize_axis` for operators that reject scalars."""
    if rank == 0:
        raise ModelError(f"there is no axis {axis}: the tensor is a scalar", name="axis", got=str(axis))
    return normalize_axis(axis, rank)


def normalize_distinct_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Distinct non-negative axes, in the given order."""
    return _check_distinct(normalize_existing_axis(axis, rank) for axis in axes)


def _check_distinct(axes: Iterable[int]) -> tuple[int, ...]:
    result = tuple(axes)
    if len(set(result)) != len(result):
        raise ModelError(f"the axes {list(result)} name an axis twice", name="axes", got=str(list(result)))
    return result


def element_counts_around_axis(axis: int, shape: Sequence[int]) -> tuple[int, int]:
    """The element counts of the axes before ``axis`` and of those from it on; ``axis`` may be the rank.

    Raises:
        ModelError: there is no such axis.
    """
    rank = len(shape)
    split = rank if axis == rank else normalize_axis(axis, rank)
    return element_count(shape[:split]), element_count(shape[split:])


def check_shape(shape: Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """Check that a shape has no negative extent."""
    if any(n < 0 for n in shape):
        raise ValueError(f"{name} {list(shape)} has a negative number")
    return tuple(shape)


def element_count(shape: Iterable[int]) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)


def decode_string(value: str | bytes) -> str:
    """A string attribute as ``str``; front ends may pass bytes."""
    return value.decode() if isinstance(value, bytes) else value


def unknown_value_error(attribute: str, value: object, allowed: Sequence[object]) -> ModelError:
    """The error for an unknown value of an attribute."""
    expected = ", ".join(map(str, allowed))
    return ModelError(
        f"attribute {attribute}={value!r} is not one of {expected}", name=attribute, expected=expected, got=repr(value)
    )


def shape_error(name: str, shape: Iterable[int], problem: str, expected: str | None = None) -> ModelError:
    """The error for an input whose shape does not fit, such as ``mask of shape (3,) does not broadcast to (2, 4)``."""
    got = str(tuple(shape))
    return ModelError(f"{name} of shape {got} {problem}", name=name, expected=expected, got=got)
