"""Where two branches of a session, run over the same boundaries, first carry something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.text import count_text, escape_lines, escape_unprintable
from ..describe.value_names import quote
from ..value_text import value_text
from .boundary import Boundary
from .branches import Branch

_VALUE_TEXT_WIDTH = 60


@dataclass(frozen=True, eq=False)
class BranchDifference:
    """What a comparison of two branches found; ``str()`` is what the console prints.

    ``first``, ``second``: the branches by number; ``boundaries``: how many were compared. ``same``: nothing differs.
    Where it does: ``loop``, ``entry`` and ``iteration`` say where; ``name`` is the carried value, ``left`` and
    ``right`` what it is on both. ``ends``: the number of the branch whose loop ends there, where that is the
    difference; else None.
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
        """Nothing differs as far as both were run."""
        return self.iteration is None

    def lines(self) -> Iterator[str]:
        """It in words."""
        if self.ends is not None:
            yield f"branch {self.ends} ends at iteration {self.iteration}, the other goes on with equal values"
        elif self.iteration is not None:
            around = f" (entry {', '.join(map(str, self.entry))})" if self.entry else ""
            yield (
                f"branches {self.first} and {self.second} first differ in iteration {self.iteration} of "
                f"'{escape_unprintable(self.loop.split(' ▸ ')[-1])}'{around}:"
            )
            values = value_text(self.left, _VALUE_TEXT_WIDTH), value_text(self.right, _VALUE_TEXT_WIDTH)
            yield f"  {quote(self.name)}  {self.first}: {values[0]}   {self.second}: {values[1]}"
        elif not self.boundaries:
            yield f"branches {self.first} and {self.second} came to no boundary of a loop since they parted"
        else:
            over = count_text(self.boundaries, "boundary", "boundaries")
            yield f"branches {self.first} and {self.second} are equal over {over}"

    def __str__(self) -> str:
        return escape_lines(self.lines())


def compare_branches(first: Branch, second: Branch, pairs: Iterable[tuple[Boundary, Boundary]]) -> BranchDifference:
    """Where two branches first differ, of their boundaries in pairs."""
    compared = 0
    numbers = first.number, second.number
    for one, other in pairs:
        compared += 1
        found = BranchDifference(*numbers, compared, one.loop, one.entry, one.iteration)
        for name, value in one.carried.items():
            if not _equal(value, other.carried.get(name)):
                return replace(found, name=name, left=value, right=other.carried.get(name))
        if one.ended != other.ended:
            return replace(found, ends=numbers[0 if one.ended else 1])
    return BranchDifference(*numbers, compared)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(a, b))
