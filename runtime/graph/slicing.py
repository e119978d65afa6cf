"""Cutting sliced inputs and joining scan outputs: the geometry, for all systems (docs/semantics.md 2.6, 6.2, 6.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import ExecutionError
from .loop_graph import Array, ScanOutput, SlicedInput


def normalize_axis(axis: int, rank: int) -> int:
    """An axis counted from the start; a negative one counts from the end. Whether there is such an axis is open."""
    return axis + rank if axis < 0 else axis


def strided_view(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """The memory of an array with other shape and strides, read-only; of any dtype."""
    if array.dtype.isbuiltin == 1:
        return as_strided(array, shape, strides, writeable=False)
    # NumPy's array interface has no words for all dtypes of ml_dtypes: as bytes, and back.
    raw = array.view(np.dtype((np.void, array.dtype.itemsize)))
    return as_strided(raw, shape, strides, writeable=False).view(array.dtype)


def slice_parts(array: Array, sliced: SlicedInput, where: str) -> Array:
    """All parts of a sliced input as one view ``[parts, *part shape]``; part i is what iteration i gets.

    Start and end count as OpenVINO's TensorIterator-1 does: negative ones are ``dim + 1 + v``, end is exclusive. Parts
    begin at start and move by stride; with a negative stride they go backwards, the order inside a part kept.

    Raises:
        ExecutionError: axis or range lie outside, stride is 0, or a part would not have ``part_size`` elements.
    """
    name = f"{where}: sliced input '{sliced.outer.name}' {list(array.shape)}"
    axis = normalize_axis(sliced.axis, array.ndim)
    if not 0 <= axis < array.ndim:
        raise ExecutionError(f"{name} has no axis {sliced.axis}")
    first, step, count = part_geometry(array.shape[axis], sliced, axis, name)
    shape = list(array.shape)
    strides = list(array.strides)
    if sliced.drop_axis:
        del shape[axis], strides[axis]
    else:
        shape[axis] = sliced.part_size
    if count == 0:
        try:
            return np.empty((0, *shape), array.dtype)
        except ValueError:  # NumPy counts the other dimensions even so
            raise ExecutionError(f"{name}: parts of shape {shape} are too large to be cut") from None
    index = [slice(None)] * array.ndim
    index[axis] = slice(first, None)
    return strided_view(array[tuple(index)], (count, *shape), (step * array.strides[axis], *strides))


def parts_for_trips(parts: Array, sliced: SlicedInput, trips: int) -> Array:
    """Of all parts those that an entry of so many trips gets: a part i that is M-1-i begins at the trip count M. Where
    there is no part M-1, there is none for iteration 0."""
    if not sliced.from_trip_count:
        return parts
    return parts[len(parts) - trips :] if trips <= len(parts) else parts[:0]


def entry_parts(array: Array, sliced: SlicedInput, where: str, trips: int | None) -> Array:
    """The parts that an entry of so many trips gets (None: nothing counts them), cut as :func:`cut` does.

    Raises:
        ExecutionError: as :func:`cut`.
    """
    return parts_for_trips(slice_parts(array, sliced, where), sliced, trips or 0)


def part_geometry(length: int, sliced: SlicedInput, axis: int, name: str) -> tuple[int, int, int]:
    """Where part 0 begins in an axis of that length, the step from part to part (0 where there is one at most), and how
    many parts there are.

    Raises:
        ExecutionError: the range lies outside, stride is 0, or a part would not have ``part_size`` elements.
    """
    start, end = (length + 1 + v if v < 0 else v for v in (sliced.start, sliced.end))
    low, high = (end, start) if sliced.stride < 0 else (start, end)
    stride, size = abs(sliced.stride), sliced.part_size
    span = high - low
    asked = f"start {sliced.start}, end {sliced.end}, stride {sliced.stride}, part size {size}"
    if stride == 0 or size < 1 or not 0 <= low <= high <= length:
        raise ExecutionError(f"{name} cannot be cut along axis {axis} with {asked}")
    count = -(-span // stride)
    if count and (count - 1) * stride + size > span:
        raise ExecutionError(
            f"{name} does not cut evenly along axis {axis}: part {count - 1} would have fewer than {size} elements "
            f"({asked})"
        )
    first = high - size if sliced.stride < 0 else low
    step = 0 if count < 2 else -stride if sliced.stride < 0 else stride
    return first, step, count


def join_scan_output(stacked: Array, port: ScanOutput) -> Array:
    """``[iterations, *element shape]`` as the loop returns it: stacked or concatenated, in either order."""
    rank = stacked.ndim if port.stack else stacked.ndim - 1
    axis = normalize_axis(port.axis, rank)
    if port.reverse:
        stacked = stacked[::-1]
    moved = np.moveaxis(stacked, 0, axis)
    if port.stack:
        return moved
    shape = list(stacked.shape[1:])
    shape[axis] *= stacked.shape[0]
    return moved.reshape(shape)


def scan_output_shape(element: Sequence[int], port: ScanOutput, count: int) -> tuple[int, ...]:
    """The shape of a scan output of so many elements."""
    dims = list(element)
    if port.stack:
        axis = normalize_axis(port.axis, len(dims) + 1)
        dims.insert(min(max(axis, 0), len(dims)), count)
    elif dims:
        axis = normalize_axis(port.axis, len(dims))
        dims[min(max(axis, 0), len(dims) - 1)] *= count
    else:
        dims = [count]
    return tuple(dims)


def pad_scan_output(whole: Array, port: ScanOutput, length: int) -> Array:
    """A stacked scan output with zeros behind its elements, so that its axis has a length (-1: as it is)."""
    axis = normalize_axis(port.axis, whole.ndim)
    if length < 0 or not 0 <= axis < whole.ndim or whole.shape[axis] == length:
        return whole
    full = np.zeros((*whole.shape[:axis], length, *whole.shape[axis + 1 :]), whole.dtype)
    full[(slice(None),) * axis + (slice(whole.shape[axis]),)] = whole
    return full


def unpad_scan_output(whole: Array, port: ScanOutput, count: int) -> Array:
    """Undo :func:`padded`."""
    return whole[(slice(None),) * normalize_axis(port.axis, whole.ndim) + (slice(count),)]


def split_scan_output(whole: Array, port: ScanOutput, count: int) -> Array:
    """Undo :func:`join`: the elements in the order of their iterations, ``[count, *element shape]``."""
    axis = normalize_axis(port.axis, whole.ndim)
    if not port.stack:
        shape = (*whole.shape[:axis], count, whole.shape[axis] // count, *whole.shape[axis + 1 :])
        whole = whole.reshape(shape)
    rows = np.moveaxis(whole, axis, 0)
    return rows[::-1] if port.reverse else rows
