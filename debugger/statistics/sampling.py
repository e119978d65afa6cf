"""Samples elements of tensors for plots. The samples are copies, so that the tensor may be modified. Small tensors are
read completely and reduced to extremes, larger ones are sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...runtime.graph import Array
from .tensor_statistics import widen_elements

#: The most numbers that are all read, which takes some milliseconds.
EXHAUSTIVE_MAX_NUMBERS = 1 << 22
#: A sample of many numbers consists of runs of this length, so that alternating numbers are visible.
_RUN_NUMBERS = 16
#: Numbers read per block.
_BLOCK_NUMBERS = 1 << 18


@dataclass(frozen=True, eq=False)
class ElementSample:
    """``rows``: numbers of the elements at ``element_indices``, ``count`` elements of ``size`` numbers each. A number
    is the extreme of its part of the element if ``is_exhaustive``, else the first; parts begin at ``part_starts``."""

    count: int
    size: int
    element_indices: npt.NDArray[np.int64]
    rows: Array
    part_starts: npt.NDArray[np.int64]
    #: Whether every number was read.
    is_exhaustive: bool

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.rows.dtype

    @property
    def sampling_interval(self) -> float:
        """The average number of elements per sampled number."""
        return 1.0 if self.is_exhaustive else self.count * self.size / max(1, self.rows.size)


def sample_elements(
    elements: Array, size: int, indices: Sequence[int] | npt.NDArray[np.int64], max_numbers: int, axis: int = 0
) -> ElementSample:
    """Sample the elements of ``[count, *element shape]`` at some indices: at most ``max_numbers`` evenly spaced numbers
    of each, in the order with ``axis`` in front."""
    index_array = np.asarray(indices, np.int64)
    offsets = spaced_indices(size, min(size, max_numbers))
    rows = np.empty((len(index_array), len(offsets)), elements.dtype)
    for row, index in zip(rows, index_array.tolist(), strict=True):
        element = elements[index]
        if axis:
            element = np.moveaxis(element, axis, 0)
        row[:] = element.reshape(-1) if size <= max_numbers else element.flat[offsets]
    return ElementSample(
        len(elements), size, index_array, rows, offsets, len(index_array) == len(elements) and len(offsets) == size
    )


def reduce_elements(elements: Array, size: int, max_numbers: int, axis: int = 0) -> ElementSample:
    """Reduce each element of ``[count, *element shape]`` to at most ``max_numbers`` parts, and each part to its number
    of the largest magnitude."""
    starts = spaced_indices(size, max_numbers, first=True)
    step = max(1, _BLOCK_NUMBERS // size)
    blocks = []
    for start in range(0, len(elements), step):
        block = elements[start : start + step]
        flat = np.moveaxis(block, axis + 1, 1).reshape(len(block), size) if axis else block.reshape(len(block), size)
        blocks.append(np.array(flat) if len(starts) == size else segment_extremes(widen_elements(flat), starts))
    return ElementSample(len(elements), size, np.arange(len(elements)), np.concatenate(blocks), starts, True)


def segment_extremes(numbers: Array, starts: npt.NDArray[np.int64], axis: int = -1) -> Array:
    """The number of the largest magnitude in each segment along an axis; a number that is not finite takes
    precedence."""
    with np.errstate(all="ignore"):
        low, high = (ufunc.reduceat(numbers, starts, axis=axis) for ufunc in (np.minimum, np.maximum))
        return np.where(np.abs(low.astype(np.float64)) > np.abs(high.astype(np.float64)), low, high)


def spaced_indices(size: int, numbers: int, *, first: bool = False) -> npt.NDArray[np.int64]:
    """Evenly spaced indices of at most ``numbers`` out of ``size``: from the first to the last one, or the ``first``
    indices of equal parts."""
    if numbers >= size:
        return np.arange(size)
    indices = np.linspace(0, size, numbers + 1)[:-1] if first else np.linspace(0, size - 1, numbers)
    return indices.astype(np.int64)


def sample_scalars(elements: Array, max_numbers: int) -> ElementSample:
    """Sample at most ``max_numbers`` scalars, in runs."""
    count, start = elements.size, np.zeros(1, np.int64)
    if count <= max_numbers:
        return ElementSample(count, 1, np.arange(count), np.array(_flat_view(elements)).reshape(-1, 1), start, True)
    runs = max(1, max_numbers // _RUN_NUMBERS)
    starts = np.arange(runs) * (count - _RUN_NUMBERS) // max(1, runs - 1)
    indices = (starts[:, None] + np.arange(_RUN_NUMBERS)).reshape(-1)
    return ElementSample(count, 1, indices, np.array(_flat_view(elements)[indices]).reshape(-1, 1), start, False)


def reduce_scalars(elements: Array, max_numbers: int) -> ElementSample:
    """Reduce scalars to at most ``max_numbers``: the minimum and the maximum of each part."""
    if elements.size <= max_numbers:
        return sample_scalars(elements, max_numbers)
    numbers = widen_elements(np.asarray(_flat_view(elements)[:]))
    starts = spaced_indices(elements.size, max_numbers // 2, first=True)
    with np.errstate(all="ignore"):
        rows = np.stack([ufunc.reduceat(numbers, starts) for ufunc in (np.minimum, np.maximum)], axis=1)
    start = np.zeros(1, np.int64)
    return ElementSample(elements.size, 1, np.repeat(starts, 2), rows.reshape(-1, 1), start, True)


def _flat_view(elements: Array) -> Array:
    return elements.reshape(-1) if elements.flags.c_contiguous else elements.flat  # type: ignore[return-value]


def plot_line_indices(count: int, lines: int, each: int) -> npt.NDArray[np.int64]:
    """Indices for a plot of ``lines`` lines: at most ``each`` of the indices that share a line."""
    step = max(1, math.ceil(count / max(lines, 1)))
    if step <= each:
        return np.arange(count)
    starts = np.arange(0, count, step)
    ends = np.minimum(starts + step, count) - 1
    indices = np.linspace(starts, ends, each).astype(np.int64)
    return np.unique(indices.reshape(-1))
