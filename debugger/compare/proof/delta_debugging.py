"""Delta debugging: the smallest changes that suffice for an effect."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smaller_sufficient_subsets(
    items: Sequence[Item], suffices: Callable[[Sequence[Item]], bool]
) -> Iterator[list[Item]]:
    """Ever smaller subsets that suffice, where all items together do (ddmin, Zeller and Hildebrandt).

    The last subset is 1-minimal: without any one of its items it does not suffice. A caller that stops earlier, as an
    exception of ``suffices`` does, has the smallest subset so far. Earlier items are preferred.

    Args:
        items: the changes.
        suffices: whether some changes have the effect without the others.

    Yields:
        Subsets in the order of the items.
    """
    current, count = list(items), 2
    while len(current) > 1:
        parts = _split_evenly(current, count)
        smaller = next((part for part in parts if suffices(part)), None)
        next_count = 2
        if smaller is None and count > 2:
            complements = ([item for item in current if item not in part] for part in parts)
            smaller = next((rest for rest in complements if suffices(rest)), None)
            next_count = max(count - 1, 2)
        if smaller is not None:
            current, count = smaller, next_count
            yield current
        elif count >= len(current):
            return
        else:
            count = min(2 * count, len(current))


def _split_evenly(items: Sequence[Item], count: int) -> list[list[Item]]:
    """Split into parts of almost equal size."""
    edges = [len(items) * k // count for k in range(count + 1)]
    return [list(items[a:b]) for a, b in itertools.pairwise(edges) if a < b]
