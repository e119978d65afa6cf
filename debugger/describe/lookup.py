"""What a person names by its number: breakpoints, branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ...runtime.errors import UsageError


class _HasNumber(Protocol):
    @property
    def number(self) -> int: ...


T = TypeVar("T", bound=_HasNumber)


def find_by_number(what: str, among: Sequence[T], number: int) -> T:
    """The one of a number; ``what`` they are.

    Raises:
        UsageError: there is none.
    """
    found = next((one for one in among if one.number == number), None)
    if found is None:
        have = ", ".join(str(one.number) for one in among) or "none"
        raise UsageError(f"there is no {what} {number}; there are {have}")
    return found
