"""Axes, shapes and small integer inputs: what operators of several families read the same way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ModelError
from .support import axis_of

P = Any  # Primitives[T]
T = Any


def ints(p: P, x: T) -> tuple[int, ...]:
    """The numbers of a shape-like input (axes, pads, repeats ...), in row-major order."""
    return tuple(int(v) for v in p.value(x).reshape(-1))


def one_int(p: P, x: T, what: str) -> int:
    """The number in a one-element input of any rank."""
    values = ints(p, x)
    if len(values) != 1:
        raise ValueError(f"{what} must be one number, not {len(values)}")
    return values[0]


def normal_axis(axis: int, rank: int) -> int:
    """:func:`~.support.axis_of` for operators that need an axis to be there, which a scalar lacks."""
    if rank == 0:
        raise ModelError(f"there is no axis {axis}: the tensor is a scalar")
    return axis_of(axis, rank)


def normal_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the start, in the order given."""
    normal = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise ModelError(f"the axes {list(normal)} name an axis twice")
    return normal


def broadcast_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape that NumPy's rules give for two shapes, both of which may be stretched."""
    rank = max(len(a), len(b))
    out = []
    for m, n in zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b), strict=True):
        if m != n and 1 not in (m, n):
            raise ValueError(f"shapes {tuple(a)} and {tuple(b)} cannot be broadcast together")
        out.append(n if m == 1 else m)
    return tuple(out)


def check_shape(shape: Sequence[int], what: str = "shape") -> tuple[int, ...]:
    """A shape without negative numbers."""
    if any(n < 0 for n in shape):
        raise ValueError(f"{what} {list(shape)} has a negative number")
    return tuple(shape)


def volume(shape: Iterable[int]) -> int:
    """How many elements a tensor of this shape has."""
    return math.prod(shape)


def text(value: str | bytes) -> str:
    """A string attribute, whichever way the front end has it."""
    return value.decode() if isinstance(value, bytes) else value


def unknown_word(attribute: str, word: str, known: Sequence[str]) -> ModelError:
    """The error for a word that an attribute cannot have."""
    return ModelError(f"attribute {attribute}='{word}' is not one of {', '.join(known)}")
