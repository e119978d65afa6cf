"""What a track of a reference can be: whole, or with the leading axes of an array as iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ....runtime.graph import Array, ScanOutput, TensorType
from ....runtime.input_validation import Data
from ...reference.reference import Key, Track


class LeadingAxesView(Mapping[Key, Data]):
    """Arrays by an outer key whose next ``depth`` axes are iterations."""

    def __init__(self, arrays: Mapping[Key, Array], depth: int) -> None:
        self._arrays = arrays
        self._depth = depth

    def _find(self, key: Key) -> tuple[Array, Key] | None:
        outer, inner = key[: len(key) - self._depth], key[len(key) - self._depth :]
        array = self._arrays.get(outer)
        if array is None or len(inner) != self._depth:
            return None
        return (array, inner) if all(k < n for k, n in zip(inner, array.shape, strict=False)) else None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and self._find(key) is not None

    def __getitem__(self, key: Key) -> Data:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return np.asarray(found[0][found[1]])

    def __iter__(self) -> Iterator[Key]:
        for outer, array in self._arrays.items():
            yield from ((*outer, *key) for key in np.ndindex(array.shape[: self._depth]))

    def __len__(self) -> int:
        return sum(int(np.prod(array.shape[: self._depth])) for array in self._arrays.values())


def track_depth(track: Track) -> int:
    """In how many loops its values are."""
    return len(next(iter(track.values), ()))


def has_unknown_axes(track: Track) -> bool:
    """Whether nothing says what the leading axes of an array are."""
    whole = track.values.get(())
    return isinstance(whole, np.ndarray) and not (track.role or track.loop)


def track_at_depth(track: Track, depth: int) -> Track | None:
    """A track as a value in so many loops; None where it is none."""
    if track_depth(track) == depth:
        return track
    whole = track.values.get(())
    if depth and has_unknown_axes(track) and isinstance(whole, np.ndarray) and whole.ndim >= depth:
        return replace(track, values=LeadingAxesView({(): whole}, depth))
    return None


def scan_by_iteration(track: Track, scan: ScanOutput) -> Track | None:
    """What a scan output collected, as the result of each iteration; None where it cannot be told apart."""
    if scan.length is not None or scan.valid is not None:
        return None
    parts = {key: _split_scan(whole, scan) for key, whole in track.values.items() if isinstance(whole, np.ndarray)}
    found = {key: array for key, array in parts.items() if array is not None}
    return replace(track, values=LeadingAxesView(found, 1), role="scan") if found else None


def _split_scan(whole: Array, scan: ScanOutput) -> Array | None:
    if not -whole.ndim <= scan.axis < whole.ndim:
        return None
    axis = scan.axis % whole.ndim
    if scan.stack:
        found: Array = np.moveaxis(whole, axis, 0)
    else:
        size = _element_size(scan, axis, whole.ndim)
        if not size or whole.shape[axis] % size:
            return None
        found = np.moveaxis(whole.reshape(*whole.shape[:axis], -1, size, *whole.shape[axis + 1 :]), axis, 0)
    return found[::-1] if scan.reverse else found


def _element_size(scan: ScanOutput, axis: int, rank: int) -> int | None:
    """How long one element of a concatenation is along its axis, where that is declared."""
    declared = scan.result.type
    shape: Any = declared.shape if isinstance(declared, TensorType) else None
    size = shape[axis] if shape is not None and len(shape) == rank else None
    return size if isinstance(size, int) else None


def iterations_by_entry(track: Track) -> dict[Key, int]:
    """Of the innermost loop around a track, by its entry, how many iterations the track goes through."""
    found: dict[Key, int] = {}
    for key in track.values:
        if key:
            found[key[:-1]] = max(found.get(key[:-1], 0), key[-1] + 1)
    return found
