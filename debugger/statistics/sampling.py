"""Few of many elements, as pictures of all of them need them: copied, so that the rest may be written on. Where that
takes some milliseconds they are the largest of all, else some of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...runtime.graph import Array
from .streaming_stats import widen

#: Of so many numbers each is read: that takes some milliseconds.
EXHAUSTIVE_MAX_NUMBERS = 1 << 22
#: A sample of many numbers consists of runs of so many, so that alternating numbers are visible.
_RUN_NUMBERS = 16
#: So many numbers are read together.
_BLOCK_NUMBERS = 1 << 18


@dataclass(frozen=True, eq=False)
class ElementSample:
    """``count`` elements of ``size`` numbers each. ``rows``: of those at ``places`` some numbers, each of a part of its
    element, which begins where ``starts`` says: the one of the largest magnitude where ``is_whole``, else the first."""

    count: int
    size: int
    element_indices: npt.NDArray[np.int64]
    rows: Array
    part_starts: npt.NDArray[np.int64]
    #: Was each number read?
    is_exhaustive: bool

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.rows.dtype

    @property
    def sampling_interval(self) -> float:
        """One of how many numbers was read."""
        return 1.0 if self.is_exhaustive else self.count * self.size / max(1, self.rows.size)


def sample_elements(
    elements: Array, size: int, places: Sequence[int] | npt.NDArray[np.int64], numbers: int, axis: int = 0
) -> ElementSample:
    """Of ``[count, *element shape]`` the elements at some places, of each at most so many numbers, evenly apart, in the
    order that they have with ``axis`` in front."""
    taken = np.asarray(places, np.int64)
    which = spaced_indices(size, min(size, numbers))
    rows = np.empty((len(taken), len(which)), elements.dtype)
    for row, place in zip(rows, taken.tolist(), strict=True):
        element = elements[place]
        if axis:
            element = np.moveaxis(element, axis, 0)
        row[:] = element.reshape(-1) if size <= numbers else element.flat[which]
    return ElementSample(len(elements), size, taken, rows, which, len(taken) == len(elements) and len(which) == size)


def fold_elements(elements: Array, size: int, numbers: int, axis: int = 0) -> ElementSample:
    """Of ``[count, *element shape]`` all elements, each in at most so many parts, of which the number of the largest
    magnitude is taken."""
    starts = spaced_indices(size, numbers, first=True)
    step = max(1, _BLOCK_NUMBERS // size)
    blocks = []
    for at in range(0, len(elements), step):
        block = elements[at : at + step]
        flat = np.moveaxis(block, axis + 1, 1).reshape(len(block), size) if axis else block.reshape(len(block), size)
        blocks.append(np.array(flat) if len(starts) == size else segment_extremes(widen(flat), starts))
    return ElementSample(len(elements), size, np.arange(len(elements)), np.concatenate(blocks), starts, True)


def segment_extremes(numbers: Array, starts: npt.NDArray[np.int64], axis: int = -1) -> Array:
    """Of the numbers from each start to the next one, along an axis, the one of the largest magnitude; of those that
    are not finite one comes before all others."""
    with np.errstate(all="ignore"):
        low, high = (one.reduceat(numbers, starts, axis=axis) for one in (np.minimum, np.maximum))
        return np.where(np.abs(low.astype(np.float64)) > np.abs(high.astype(np.float64)), low, high)


def spaced_indices(size: int, numbers: int, *, first: bool = False) -> npt.NDArray[np.int64]:
    """Which numbers of an element a sample has, where it has so many of them: from the first to the last one, or the
    ``first`` ones of as many parts."""
    if numbers >= size:
        return np.arange(size)
    ends = np.linspace(0, size, numbers + 1)[:-1] if first else np.linspace(0, size - 1, numbers)
    return ends.astype(np.int64)


def sample_scalars(elements: Array, most: int) -> ElementSample:
    """Of as many single numbers at most so many, in runs."""
    count, start = elements.size, np.zeros(1, np.int64)
    if count <= most:
        return ElementSample(count, 1, np.arange(count), np.array(_flat_view(elements)).reshape(-1, 1), start, True)
    runs = max(1, most // _RUN_NUMBERS)
    starts = np.arange(runs) * (count - _RUN_NUMBERS) // max(1, runs - 1)
    places = (starts[:, None] + np.arange(_RUN_NUMBERS)).reshape(-1)
    return ElementSample(count, 1, places, np.array(_flat_view(elements)[places]).reshape(-1, 1), start, False)


def fold_scalars(elements: Array, most: int) -> ElementSample:
    """Of as many single numbers at most so many: the smallest and the largest of each part."""
    if elements.size <= most:
        return sample_scalars(elements, most)
    numbers = widen(np.asarray(_flat_view(elements)[:]))
    places = spaced_indices(elements.size, most // 2, first=True)
    with np.errstate(all="ignore"):
        rows = np.stack([one.reduceat(numbers, places) for one in (np.minimum, np.maximum)], axis=1)
    start = np.zeros(1, np.int64)
    return ElementSample(elements.size, 1, np.repeat(places, 2), rows.reshape(-1, 1), start, True)


def _flat_view(elements: Array) -> Array:
    return elements.reshape(-1) if elements.flags.c_contiguous else elements.flat  # type: ignore[return-value]


def indices_per_line(count: int, lines: int, each: int) -> npt.NDArray[np.int64]:
    """Places for a picture of so many lines: of those that a line is of, at most ``each``."""
    step = max(1, math.ceil(count / max(lines, 1)))
    if step <= each:
        return np.arange(count)
    heads = np.arange(0, count, step)
    ends = np.minimum(heads + step, count) - 1
    parts = np.linspace(heads, ends, each).astype(np.int64)
    return np.unique(parts.reshape(-1))
