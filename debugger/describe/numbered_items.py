"""Lookup of numbered items: breakpoints, branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ...runtime.errors import UsageError


class _HasNumber(Protocol):
    @property
    def number(self) -> int: ...


T = TypeVar("T", bound=_HasNumber)


def find_by_number(kind: str, items: Sequence[T], number: int) -> T:
    """The item with a number; ``kind``: the kind of the items, for the message.

    Raises:
        UsageError: there is none.
    """
    match = next((item for item in items if item.number == number), None)
    if match is None:
        numbers = ", ".join(str(item.number) for item in items) or "none"
        raise UsageError(f"there is no {kind} {number}; there are {numbers}", name=kind, got=str(number))
    return match
