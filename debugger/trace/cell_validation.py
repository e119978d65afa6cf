"""Cells of a trace's tables as what they should be.

SQLite keeps any value in any column, so a cell that is read is one of unknown type; what is not as it should be is a
:class:`ValueError`, which ``database.py`` makes an error of the trace.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

_Read = TypeVar("_Read")


def integer(cell: Any, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """A whole number."""
    if type(cell) is not int or not least <= cell <= most:
        raise ValueError(f"{_cell_repr(cell)} stands where there should be a whole number from {least} to {most}")
    return cell


def real_number(cell: Any) -> int | float:
    """A number."""
    if type(cell) not in (int, float):
        raise ValueError(f"{_cell_repr(cell)} stands where there should be a number")
    number: int | float = cell
    return number


def string(cell: Any) -> str:
    """A text."""
    if type(cell) is not str:
        raise ValueError(f"{_cell_repr(cell)} stands where there should be a text")
    return cell


def optional(read: Callable[[Any], _Read], cell: Any) -> _Read | None:
    """What ``read`` makes of it; NULL stays None."""
    return None if cell is None else read(cell)


def shape(cell: Any) -> tuple[int, ...]:
    """A shape: ``[2,3]``."""
    told = json.loads(string(cell))
    if not isinstance(told, list):
        raise ValueError(f"{_cell_repr(cell)} is no shape")
    return tuple(integer(dim) for dim in told)


def outer_iterations(cell: Any, depth: int) -> tuple[int, ...]:
    """The iterations of the loops around an entry: ``3/7``."""
    parts = string(cell).split("/") if cell else []
    if len(parts) != depth or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{_cell_repr(cell)} does not tell the iterations of {depth} loops around")
    return tuple(integer(int(part)) for part in parts)


def _cell_repr(cell: Any) -> str:
    return f"{cell!r:.60}"
