"""Validation of cells of a trace's tables.

SQLite stores any value in any column, so the type of a cell is unknown; an invalid cell raises :class:`ValueError`,
which ``database.py`` converts to a trace error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

_Read = TypeVar("_Read")


def integer(cell: Any, minimum: int = 0, maximum: int = (1 << 63) - 1) -> int:
    """An integer in a range."""
    if type(cell) is not int or not minimum <= cell <= maximum:
        raise ValueError(f"{_cell_repr(cell)} is not a whole number from {minimum} to {maximum}")
    return cell


def validate_real_number(cell: Any) -> int | float:
    """A number."""
    if type(cell) not in (int, float):
        raise ValueError(f"{_cell_repr(cell)} is not a number")
    number: int | float = cell
    return number


def validate_string(cell: Any) -> str:
    """A text."""
    if type(cell) is not str:
        raise ValueError(f"{_cell_repr(cell)} is not a text")
    return cell


def read_optional(read: Callable[[Any], _Read], cell: Any) -> _Read | None:
    """The cell read by ``read``; None for NULL."""
    return None if cell is None else read(cell)


def shape(cell: Any) -> tuple[int, ...]:
    """A shape: ``[2,3]``."""
    dims = json.loads(validate_string(cell))
    if not isinstance(dims, list):
        raise ValueError(f"{_cell_repr(cell)} is no shape")
    return tuple(integer(dim) for dim in dims)


def outer_iterations(cell: Any, depth: int) -> tuple[int, ...]:
    """The iterations of the enclosing loops of an entry: ``3/7``."""
    parts = validate_string(cell).split("/") if cell else []
    if len(parts) != depth or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{_cell_repr(cell)} does not tell the iterations of {depth} loops around")
    return tuple(integer(int(part)) for part in parts)


def _cell_repr(cell: Any) -> str:
    return f"{cell!r:.60}"
