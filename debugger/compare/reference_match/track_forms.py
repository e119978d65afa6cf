"""The forms of a track: unchanged, or with the leading axes of an array as iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ....runtime.graph import Array, ScanOutput, TensorType
from ....runtime.input_validation import Data
from ...reference.reference import Key, Track


class LeadingAxesView(Mapping[Key, Data]):
    """Arrays by an outer key, whose next ``depth`` axes are iterations."""

    def __init__(self, arrays: Mapping[Key, Array], depth: int) -> None:
        self._arrays = arrays
        self._depth = depth

    def _array_and_index(self, key: Key) -> tuple[Array, Key] | None:
        outer, inner = key[: len(key) - self._depth], key[len(key) - self._depth :]
        array = self._arrays.get(outer)
        if array is None or len(inner) != self._depth:
            return None
        return (array, inner) if all(k < n for k, n in zip(inner, array.shape, strict=False)) else None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and self._array_and_index(key) is not None

    def __getitem__(self, key: Key) -> Data:
        item = self._array_and_index(key)
        if item is None:
            raise KeyError(key)
        return np.asarray(item[0][item[1]])

    def __iter__(self) -> Iterator[Key]:
        for outer, array in self._arrays.items():
            yield from ((*outer, *key) for key in np.ndindex(array.shape[: self._depth]))

    def __len__(self) -> int:
        return sum(int(np.prod(array.shape[: self._depth])) for array in self._arrays.values())


def track_depth(track: Track) -> int:
    """The loop depth of its values."""
    return len(next(iter(track.values), ()))


def has_unknown_axes(track: Track) -> bool:
    """Whether the meaning of an array's leading axes is unknown."""
    array = track.values.get(())
    return isinstance(array, np.ndarray) and not (track.role or track.loop)


def track_at_depth(track: Track, depth: int) -> Track | None:
    """A track as a value at a loop depth; None if impossible."""
    if track_depth(track) == depth:
        return track
    array = track.values.get(())
    if depth and has_unknown_axes(track) and isinstance(array, np.ndarray) and array.ndim >= depth:
        return replace(track, values=LeadingAxesView({(): array}, depth))
    return None


def scan_elements_by_iteration(track: Track, scan: ScanOutput) -> Track | None:
    """The collected values of a scan output by iteration; None if they cannot be separated."""
    if scan.length is not None or scan.valid is not None:
        return None
    splits = {
        key: _split_scan_elements(array, scan) for key, array in track.values.items() if isinstance(array, np.ndarray)
    }
    arrays = {key: split for key, split in splits.items() if split is not None}
    return replace(track, values=LeadingAxesView(arrays, 1), role="scan") if arrays else None


def _split_scan_elements(array: Array, scan: ScanOutput) -> Array | None:
    if not -array.ndim <= scan.axis < array.ndim:
        return None
    axis = scan.axis % array.ndim
    if scan.stack:
        elements: Array = np.moveaxis(array, axis, 0)
    else:
        size = _element_size(scan, axis, array.ndim)
        if not size or array.shape[axis] % size:
            return None
        elements = np.moveaxis(array.reshape(*array.shape[:axis], -1, size, *array.shape[axis + 1 :]), axis, 0)
    return elements[::-1] if scan.reverse else elements


def _element_size(scan: ScanOutput, axis: int, rank: int) -> int | None:
    """The length of one element of a concatenation along its axis, if declared."""
    declared = scan.result.type
    shape: Any = declared.shape if isinstance(declared, TensorType) else None
    size = shape[axis] if shape is not None and len(shape) == rank else None
    return size if isinstance(size, int) else None


def iterations_by_entry(track: Track) -> dict[Key, int]:
    """The number of iterations of the innermost loop around a track, by entry."""
    counts: dict[Key, int] = {}
    for key in track.values:
        if key:
            counts[key[:-1]] = max(counts.get(key[:-1], 0), key[-1] + 1)
    return counts
