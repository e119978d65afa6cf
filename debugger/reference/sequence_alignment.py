"""Alignment of two sequences in the same order, each of which may have elements that the other lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ...runtime.graph import Array

LeftItem = TypeVar("LeftItem")
RightItem = TypeVar("RightItem")
#: Maximum number of pairs; longer sequences are not aligned.
_MAX_PAIRS = 25_000_000


def similarity_matrix(
    left: Sequence[LeftItem], right: Sequence[RightItem], score: Callable[[LeftItem, RightItem], int]
) -> Array:
    """Return the similarity of each left (row) and right (column) element; zeros if there are too many pairs."""
    shape = len(left), len(right)
    if len(left) * len(right) > _MAX_PAIRS:
        return np.zeros((0, 0), np.int32)
    return np.array([[score(a, b) for b in right] for a in left], np.int32).reshape(shape)


def align_sequences(scores: Array) -> list[tuple[int, int]]:
    """Return the pairs of rows and columns, in order, with the largest sum of scores; scores of 0 and less are no
    pairs."""
    best = _best_prefix_sums(scores)
    pairs = []
    i, j = scores.shape
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _best_prefix_sums(scores: Array) -> Array:
    """The largest sum for all prefixes of both sequences."""
    rows, columns = scores.shape
    best = np.zeros((rows + 1, columns + 1), np.int32)
    for i in range(rows):
        paired = np.where(scores[i] > 0, best[i, :-1] + scores[i], 0)
        best[i + 1, 1:] = np.maximum.accumulate(np.maximum(best[i, 1:], paired))
    return best
