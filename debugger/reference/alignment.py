"""Two sequences in the same order, of which each may have more than the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ...runtime.graph import Array

A = TypeVar("A")
B = TypeVar("B")
#: Pairs that are looked at; two longer sequences are not aligned.
_MOST = 25_000_000


def aligned(left: Sequence[A], right: Sequence[B], likeness: Callable[[A, B], int]) -> list[tuple[A, B]]:
    """The pairs, in order, whose likenesses are together the largest; what is not alike (0) is no pair."""
    if not left or not right or len(left) * len(right) > _MOST:
        return []
    alike = np.array([[likeness(one, other) for other in right] for one in left], np.int32)
    best = _best(alike)
    found = []
    i, j = len(left), len(right)
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((left[i], right[j]))
    return found[::-1]


def _best(alike: Array) -> Array:
    """Of all beginnings of both sequences, the largest sum."""
    rows, columns = alike.shape
    best = np.zeros((rows + 1, columns + 1), np.int32)
    for i in range(rows):
        paired = np.where(alike[i] > 0, best[i, :-1] + alike[i], 0)
        best[i + 1, 1:] = np.maximum.accumulate(np.maximum(best[i, 1:], paired))
    return best
