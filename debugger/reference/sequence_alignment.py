"""Two sequences in the same order, of which each may have more than the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ...runtime.graph import Array

LeftItem = TypeVar("LeftItem")
RightItem = TypeVar("RightItem")
#: Pairs that are looked at; two longer sequences are not aligned.
_MAX_PAIRS = 25_000_000


def similarity_matrix(
    left: Sequence[LeftItem], right: Sequence[RightItem], likeness: Callable[[LeftItem, RightItem], int]
) -> Array:
    """How alike each of the one (rows) and each of the other (columns) are; nothing is where there are too many."""
    shape = len(left), len(right)
    if len(left) * len(right) > _MAX_PAIRS:
        return np.zeros((0, 0), np.int32)
    return np.array([[likeness(one, other) for other in right] for one in left], np.int32).reshape(shape)


def align_sequences(alike: Array) -> list[tuple[int, int]]:
    """The pairs of a row and a column, in order, whose likenesses are together the largest; what is not alike (0 and
    less) is no pair."""
    best = _best_prefix_sums(alike)
    found = []
    i, j = alike.shape
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]


def _best_prefix_sums(alike: Array) -> Array:
    """Of all beginnings of both sequences, the largest sum."""
    rows, columns = alike.shape
    best = np.zeros((rows + 1, columns + 1), np.int32)
    for i in range(rows):
        paired = np.where(alike[i] > 0, best[i, :-1] + alike[i], 0)
        best[i + 1, 1:] = np.maximum.accumulate(np.maximum(best[i, 1:], paired))
    return best
