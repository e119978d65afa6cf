"""The first difference between the carried values of two branches of a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.text import count_text, escape_lines, escape_unprintable
from ..describe.value_names import quote
from ..value_text import value_text
from .boundary import Boundary
from .timeline import Branch

_VALUE_TEXT_WIDTH = 60


@dataclass(frozen=True, eq=False)
class BranchDifference:
    """Result of the comparison of two branches; ``str()`` is the console output.

    ``first``, ``second``: the branches by number; ``boundaries``: number of compared ones. ``same``: no difference.
    Otherwise ``loop``, ``entry`` and ``iteration`` locate the difference; ``name`` is the carried value, ``left`` and
    ``right`` its values on both. ``ends``: the number of the branch whose loop ends there, if that is the difference;
    else None.
    """

    first: int
    second: int
    boundaries: int
    loop: str = ""
    entry: tuple[int, ...] = ()
    iteration: int | None = None
    name: str = ""
    left: Any = None
    right: Any = None
    ends: int | None = None

    @property
    def same(self) -> bool:
        """No difference as far as both branches were run."""
        return self.iteration is None

    def lines(self) -> Iterator[str]:
        """The result as text."""
        if self.ends is not None:
            yield f"branch {self.ends} ends at iteration {self.iteration}, the other goes on with equal values"
        elif self.iteration is not None:
            entry_text = f" (entry {', '.join(map(str, self.entry))})" if self.entry else ""
            yield (
                f"branches {self.first} and {self.second} first differ in iteration {self.iteration} of "
                f"'{escape_unprintable(self.loop.split(' ▸ ')[-1])}'{entry_text}:"
            )
            values = value_text(self.left, _VALUE_TEXT_WIDTH), value_text(self.right, _VALUE_TEXT_WIDTH)
            yield f"  {quote(self.name)}  {self.first}: {values[0]}   {self.second}: {values[1]}"
        elif not self.boundaries:
            yield f"branches {self.first} and {self.second} came to no boundary of a loop since they parted"
        else:
            count = count_text(self.boundaries, "boundary", "boundaries")
            yield f"branches {self.first} and {self.second} are equal over {count}"

    def __str__(self) -> str:
        return escape_lines(self.lines())


def compare_branches(first: Branch, second: Branch, pairs: Iterable[tuple[Boundary, Boundary]]) -> BranchDifference:
    """The first difference between two branches, given pairs of their boundaries."""
    compared = 0
    numbers = first.number, second.number
    for left, right in pairs:
        compared += 1
        difference = BranchDifference(*numbers, compared, left.loop, left.entry, left.iteration)
        for name, value in left.carried.items():
            if not _are_identical(value, right.carried.get(name)):
                return replace(difference, name=name, left=value, right=right.carried.get(name))
        if left.ended != right.ended:
            return replace(difference, ends=numbers[0 if left.ended else 1])
    return BranchDifference(*numbers, compared)


def _are_identical(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_are_identical(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(a, b))
