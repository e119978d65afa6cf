"""Some of many elements, as pictures of all of them need them: copied, so that the rest may be written on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...runtime.graph import Array

#: What is taken of many numbers stands in runs of so many: one that alternates is seen to.
_RUN = 16


@dataclass(frozen=True, eq=False)
class Sample:
    """``count`` elements of ``size`` numbers each; of those at ``places`` there are ``rows``, some of their numbers."""

    count: int
    size: int
    places: npt.NDArray[np.int64]
    rows: Array

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.rows.dtype

    @property
    def is_whole(self) -> bool:
        """Is there nothing but what was taken?"""
        return len(self.places) == self.count and self.rows.shape[1] == self.size


def sampled(
    elements: Array, size: int, places: Sequence[int] | npt.NDArray[np.int64], numbers: int, axis: int = 0
) -> Sample:
    """Of ``[count, *element shape]`` the elements at some places, of each at most so many numbers, evenly apart, in the
    order that they have with ``axis`` in front."""
    taken = np.asarray(places, np.int64)
    which = chosen(size, min(size, numbers))
    rows = np.empty((len(taken), len(which)), elements.dtype)
    for row, place in zip(rows, taken.tolist(), strict=True):
        element = elements[place]
        if axis:
            element = np.moveaxis(element, axis, 0)
        row[:] = element.reshape(-1) if size <= numbers else element.flat[which]
    return Sample(len(elements), size, taken, rows)


def chosen(size: int, numbers: int) -> npt.NDArray[np.int64]:
    """Which numbers of an element a sample has, where it has so many of them."""
    return np.linspace(0, size - 1, numbers).astype(np.int64) if numbers < size else np.arange(size)


def sampled_numbers(elements: Array, most: int) -> Sample:
    """Of as many single numbers at most so many, in runs."""
    flat = elements.reshape(-1) if elements.flags.c_contiguous else elements.flat
    count = elements.size
    if count <= most:
        return Sample(count, 1, np.arange(count), np.array(flat).reshape(-1, 1))
    runs = max(1, most // _RUN)
    starts = np.arange(runs) * (count - _RUN) // max(1, runs - 1)
    places = (starts[:, None] + np.arange(_RUN)).reshape(-1)
    return Sample(count, 1, places, np.array(flat[places]).reshape(-1, 1))


def evenly(count: int, lines: int, each: int) -> npt.NDArray[np.int64]:
    """Places for a picture of so many lines: of those that a line is of, at most ``each``."""
    step = max(1, math.ceil(count / max(lines, 1)))
    if step <= each:
        return np.arange(count)
    heads = np.arange(0, count, step)
    ends = np.minimum(heads + step, count) - 1
    parts = np.linspace(heads, ends, each).astype(np.int64)
    return np.unique(parts.reshape(-1))
