"""Geometry of sliced inputs and scan outputs, for all systems (docs/semantics.md 2.6, 6.2, 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import ExecutionError
from .loop_graph import Array, ScanOutput, SlicedInput


def normalize_axis(axis: int, rank: int) -> int:
    """The axis counted from the start; a negative one counts from the end. The result is not range-checked."""
    return axis + rank if axis < 0 else axis


def strided_view(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """A read-only view of an array of any dtype with another shape and strides."""
    if array.dtype.isbuiltin == 1:
        return as_strided(array, shape, strides, writeable=False)
    # NumPy's array interface does not support all dtypes of ml_dtypes: view as bytes, and back.
    raw = array.view(np.dtype((np.void, array.dtype.itemsize)))
    return as_strided(raw, shape, strides, writeable=False).view(array.dtype)


def slice_parts(array: Array, sliced: SlicedInput, describe: Callable[[], str]) -> Array:
    """All parts of a sliced input as one view ``[parts, *part shape]``; part i is what iteration i gets.

    Start and end are those of OpenVINO's TensorIterator-1: negative ones are ``dim + 1 + v``, end is exclusive. Parts
    begin at start and move by stride; a negative stride goes backwards and keeps the order inside a part.
    ``describe()`` names the loop, for errors.

    Raises:
        ExecutionError: axis or range are out of bounds, stride is 0, or a part would not have ``part_size`` elements.
    """

    def name() -> str:
        return f"{describe()}: sliced input '{sliced.outer.name}' {list(array.shape)}"

    axis = normalize_axis(sliced.axis, array.ndim)
    if not 0 <= axis < array.ndim:
        raise ExecutionError(f"{name()} has no axis {sliced.axis}", name=sliced.outer.name)
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
        except ValueError:  # NumPy counts the other dimensions nevertheless
            problem = f"{name()}: parts of shape {shape} are too large to be cut"
            raise ExecutionError(problem, name=sliced.outer.name) from None
    index = [slice(None)] * array.ndim
    index[axis] = slice(first, None)
    return strided_view(array[tuple(index)], (count, *shape), (step * array.strides[axis], *strides))


def parts_for_trips(parts: Array, sliced: SlicedInput, trips: int) -> Array:
    """The parts for an entry of N trips: with ``from_trip_count`` they begin at part N-1 and go backwards. Where there
    is no part N-1, there is none for iteration 0."""
    if not sliced.from_trip_count:
        return parts
    return parts[len(parts) - trips :] if trips <= len(parts) else parts[:0]


def entry_parts(array: Array, sliced: SlicedInput, loop_path: str, trips: int | None) -> Array:
    """The parts for an entry of N trips (None: unlimited), sliced by :func:`slice_parts`.

    Args:
        array: The outer tensor.
        sliced: The sliced input.
        loop_path: Names the loop, for errors.
        trips: The trip count.

    Raises:
        ExecutionError: as :func:`slice_parts`.
    """
    return parts_for_trips(slice_parts(array, sliced, lambda: loop_path), sliced, trips or 0)


def part_geometry(length: int, sliced: SlicedInput, axis: int, name: Callable[[], str]) -> tuple[int, int, int]:
    """The start of part 0 in an axis of that length, the step between parts (0 where there is at most one), and the
    number of parts. ``name()``: the sliced input, for errors.

    Raises:
        ExecutionError: the range is out of bounds, stride is 0, or a part would not have ``part_size`` elements.
    """
    start, end = (length + 1 + v if v < 0 else v for v in (sliced.start, sliced.end))
    low, high = (end, start) if sliced.stride < 0 else (start, end)
    stride, size = abs(sliced.stride), sliced.part_size
    span = high - low
    parameters = f"start {sliced.start}, end {sliced.end}, stride {sliced.stride}, part size {size}"
    if stride == 0 or size < 1 or not 0 <= low <= high <= length:
        raise ExecutionError(f"{name()} cannot be cut along axis {axis} with {parameters}", name=sliced.outer.name)
    count = -(-span // stride)
    if count and (count - 1) * stride + size > span:
        raise ExecutionError(
            f"{name()} does not cut evenly along axis {axis}: part {count - 1} would have fewer than {size} elements "
            f"({parameters})",
            name=sliced.outer.name,
        )
    first = high - size if sliced.stride < 0 else low
    step = 0 if count < 2 else -stride if sliced.stride < 0 else stride
    return first, step, count


def join_scan_output(stacked: Array, port: ScanOutput) -> Array:
    """Join ``[iterations, *element shape]`` into the scan output: stacked or concatenated, in either order."""
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
    """The shape of a scan output of N elements."""
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


def pad_scan_output(array: Array, port: ScanOutput, length: int) -> Array:
    """Zero-pad a stacked scan output at the end to the length of its axis (-1: unchanged)."""
    axis = normalize_axis(port.axis, array.ndim)
    if length < 0 or not 0 <= axis < array.ndim or array.shape[axis] == length:
        return array
    padded = np.zeros((*array.shape[:axis], length, *array.shape[axis + 1 :]), array.dtype)
    padded[(slice(None),) * axis + (slice(array.shape[axis]),)] = array
    return padded


def unpad_scan_output(array: Array, port: ScanOutput, count: int) -> Array:
    """Undo :func:`pad_scan_output`."""
    return array[(slice(None),) * normalize_axis(port.axis, array.ndim) + (slice(count),)]


def split_scan_output(array: Array, port: ScanOutput, count: int) -> Array:
    """Undo :func:`join_scan_output`: the elements in the order of their iterations, ``[count, *element shape]``."""
    axis = normalize_axis(port.axis, array.ndim)
    if not port.stack:
        shape = (*array.shape[:axis], count, array.shape[axis] // count, *array.shape[axis + 1 :])
        array = array.reshape(shape)
    rows = np.moveaxis(array, axis, 0)
    return rows[::-1] if port.reverse else rows
