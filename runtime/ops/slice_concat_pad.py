"""Data movement operators: slices, concatenation, splitting, padding, masking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import (
    check_shape,
    decode_string,
    normalize_distinct_axes,
    normalize_existing_axis,
    read_int,
    read_ints,
    unknown_value_error,
)
from .operator_helpers import Dtype, constant, has_bitwise_zero, is_float
from .primitive_types import NoNativeKernel, RoutineCall
from .registry import Ints, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any


# --- Slices


def _slice_range(start: int, end: int, step: int, size: int) -> tuple[int, int]:
    """The first index and the element count of ``start:end:step`` in a dimension.

    Clamped as in ONNX Slice-13, which differs from Python for a negative step: a start before the first element is
    the first element.
    """
    if step == 0:
        raise ValueError("a slice's step must not be zero")
    if size == 0:
        return 0, 0
    start = min(max(start + size if start < 0 else start, 0), size if step > 0 else size - 1)
    low = 0 if step > 0 else -1
    end = min(max(end + size if end < 0 else end, low), size)
    count = max(0, -((start - end) // step))
    return (start if count else 0), count


def _slice(p: P, x: T, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> T:
    if not len(axes) == len(starts) == len(ends) == len(steps):
        lengths = [len(starts), len(ends), len(axes), len(steps)]
        raise ValueError(f"starts, ends, axes and steps must be equally long; they have {lengths} numbers")
    first_indices, axis_steps, extents = [0] * x.ndim, [1] * x.ndim, list(x.shape)
    for axis, start, end, step in zip(normalize_distinct_axes(axes, x.ndim), starts, ends, steps, strict=True):
        first_indices[axis], extents[axis] = _slice_range(start, end, step, x.shape[axis])
        axis_steps[axis] = step if extents[axis] else 1
    return p.slice(x, first_indices, axis_steps, extents)


@onnx("Slice")
def slice_by_attributes(
    p: P, x: T, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> T:
    return _slice(p, x, range(len(starts)) if axes is None else axes, starts, ends, [1] * len(starts))


@onnx("Slice", since=10)
def slice_(p: P, x: T, starts: T, ends: T, axes: T | None = None, steps: T | None = None) -> T:
    sliced_axes = tuple(range(starts.size)) if axes is None else read_ints(p, axes)
    increments = (1,) * starts.size if steps is None else read_ints(p, steps)
    if starts.size == ends.size == 1 and increments == (1,) and len(sliced_axes) == 1:
        # The most common form in loops, with bounds that change at each iteration.
        return p.slice_at(x, normalize_existing_axis(sliced_axes[0], x.ndim), starts, ends)
    return _slice(p, x, sliced_axes, read_ints(p, starts), read_ints(p, ends), increments)


@openvino("Slice", since=8)
def openvino_slice(p: P, x: T, start: T, stop: T, step: T, axes: T | None = None) -> T:
    return slice_(p, x, start, stop, axes, step)


@openvino("SliceScatter", since=15)
def slice_scatter(p: P, x: T, updates: T, start: T, stop: T, step: T, axes: T | None = None) -> T:
    """A copy of ``x`` with ``updates`` written to the slice of Slice-8."""
    dims = range(start.size) if axes is None else read_ints(p, axes)
    ranges = [(0, 1, n) for n in x.shape]
    bounds = zip(
        normalize_distinct_axes(dims, x.ndim), read_ints(p, start), read_ints(p, stop), read_ints(p, step), strict=True
    )
    for axis, first, last, increment in bounds:
        start_index, extent = _slice_range(first, last, increment, x.shape[axis])
        ranges[axis] = start_index, increment, extent
    shape = tuple(extent for *_, extent in ranges)
    if updates.shape != shape:
        raise ValueError(f"updates of shape {updates.shape} do not fit the slice, whose shape is {shape}")
    if not updates.size:
        return p.broadcast(x, x.shape)
    # Concatenate both flat, and gather by source index.
    source = np.arange(x.size).reshape(x.shape)
    target_indices = [start_index + increment * np.arange(extent) for start_index, increment, extent in ranges]
    source[np.ix_(*target_indices)] = x.size + np.arange(updates.size).reshape(shape)
    pieces = (p.reshape(x, (x.size,)), (0,)), (p.reshape(updates, (updates.size,)), (x.size,))
    return p.gather(p.assemble((x.size + updates.size,), x.dtype, pieces), p.constant(source), 0)


@openvino("StridedSlice")
def strided_slice(
    p: P,
    x: T,
    begin: T,
    end: T,
    strides: T | None = None,
    *,
    begin_mask: Ints,
    end_mask: Ints,
    new_axis_mask: Ints = (),
    shrink_axis_mask: Ints = (),
    ellipsis_mask: Ints = (),
) -> T:
    """StridedSlice-1.

    The specification is contradictory for ``begin == end`` and for ``end_mask`` with a negative stride. As in the CPU
    plugin, the former is empty and the latter includes the first element.
    """
    length = begin.size
    if end.size != length or (strides is not None and strides.size != length):
        raise ValueError("begin, end and strides must be equally long")

    def is_masked(mask: Ints, k: int) -> bool:
        return k < len(mask) and mask[k] != 0

    new_axes = [is_masked(new_axis_mask, k) and not is_masked(ellipsis_mask, k) for k in range(length)]
    ellipses = [is_masked(ellipsis_mask, k) for k in range(length)]
    skipped = x.ndim - (length - sum(new_axes) - sum(ellipses))
    if sum(ellipses) > 1 or skipped < 0:
        raise ValueError(f"begin has {length} numbers, too many for shape {x.shape} and these masks")

    increments = (1,) * length if strides is None else read_ints(p, strides)
    if length == 1 and increments == (1,) and not (new_axes[0] or ellipses[0] or begin_mask[:1] == (1,)):
        # A single moving index or range: independent of the data of begin and end.
        if is_masked(shrink_axis_mask, 0):
            return p.gather(x, p.reshape(_to_index_tensor(p, begin), ()), normalize_existing_axis(0, x.ndim))
        if not is_masked(end_mask, 0):
            return p.slice_at(x, normalize_existing_axis(0, x.ndim), begin, end)

    begins, ends = read_ints(p, begin), read_ints(p, end)
    first_indices, axis_steps, extents = [0] * x.ndim, [1] * x.ndim, list(x.shape)
    shape: list[int] = []
    axis = 0
    for k in range(length):
        if ellipses[k]:
            shape += x.shape[axis : axis + skipped]
            axis += skipped
        elif new_axes[k]:
            shape.append(1)
        else:
            size = x.shape[axis]
            backwards = increments[k] < 0
            start = (size - 1 if backwards else 0) if is_masked(begin_mask, k) else begins[k]
            if is_masked(shrink_axis_mask, k):
                start = 0 if is_masked(begin_mask, k) else start
                if not -size <= start < size:
                    raise IndexError(f"index {start} is outside axis {axis} of {x.shape}")
                first_indices[axis], extents[axis] = start % size, 1
            else:
                stop = (-size - 1 if backwards else size) if is_masked(end_mask, k) else ends[k]
                first_indices[axis], extents[axis] = _slice_range(start, stop, increments[k], size)
                axis_steps[axis] = increments[k] if extents[axis] else 1
                shape.append(extents[axis])
            axis += 1
    shape += x.shape[axis:]
    return p.reshape(p.slice(x, first_indices, axis_steps, extents), shape)


def _to_index_tensor(p: P, x: T) -> T:
    return x if x.dtype in (np.int32, np.int64) else p.cast(x, np.dtype(np.int64))


# --- Joining and splitting


def _concat(p: P, inputs: Sequence[T], axis: int) -> T:
    # Hot path in Python loops: a single pass over the inputs is 3x faster.
    head = inputs[0]
    axis = normalize_existing_axis(axis, head.ndim)
    leading, trailing, dtype = head.shape[:axis], head.shape[axis + 1 :], head.dtype
    leading_zeros, trailing_zeros = (0,) * len(leading), (0,) * len(trailing)
    pieces = []
    total = 0
    for x in inputs:
        shape = x.shape
        if shape[:axis] != leading or shape[axis + 1 :] != trailing or len(shape) != head.ndim:
            raise ValueError(f"shapes {[list(y.shape) for y in inputs]} cannot be joined along axis {axis}")
        if x.dtype != dtype:
            raise ValueError(f"a {x.dtype} tensor cannot be joined with a {dtype} tensor")
        pieces.append((x, (*leading_zeros, total, *trailing_zeros)))
        total += shape[axis]
    return p.assemble((*leading, total, *trailing), dtype, pieces)


@onnx("Concat")
def concat_1(p: P, *inputs: T, axis: int = 1) -> T:
    return _concat(p, inputs, axis)


@onnx("Concat", since=4)
@openvino("Concat")
def concat(p: P, *inputs: T, axis: int) -> T:
    return _concat(p, inputs, axis)


def _split(p: P, x: T, axis: int, sizes: Sequence[int], n_outputs: int) -> tuple[T, ...]:
    axis = normalize_existing_axis(axis, x.ndim)
    check_shape(sizes, "split")
    if sum(sizes) != x.shape[axis] or len(sizes) != n_outputs:
        raise ValueError(f"axis {axis} of {x.shape} cannot be split into {n_outputs} of sizes {list(sizes)}")
    parts = []
    for offset, size in zip(itertools.accumulate(sizes, initial=0), sizes, strict=False):
        first = [offset if k == axis and size else 0 for k in range(x.ndim)]
        parts.append(p.slice(x, first, [1] * x.ndim, (*x.shape[:axis], size, *x.shape[axis + 1 :])))
    return tuple(parts)


def _equal_split_sizes(x: T, axis: int, count: int) -> list[int]:
    size = x.shape[normalize_existing_axis(axis, x.ndim)]
    if count < 1 or size % count:
        raise ValueError(f"axis {axis} of {x.shape} cannot be split into {count} equal parts")
    return [size // count] * count


@onnx("Split")
def split_by_attribute(
    p: P, x: T, sizes: T | None = None, *, split: Sequence[int] = (), axis: int = 0, n_outputs: int
) -> tuple[T, ...]:
    parts = split if sizes is None else read_ints(p, sizes)
    return _split(p, x, axis, parts or _equal_split_sizes(x, axis, n_outputs), n_outputs)


@onnx("Split", since=13)
def split_13(p: P, x: T, split: T | None = None, *, axis: int = 0, n_outputs: int) -> tuple[T, ...]:
    parts = _equal_split_sizes(x, axis, n_outputs) if split is None else read_ints(p, split)
    return _split(p, x, axis, parts, n_outputs)


@onnx("Split", since=18)
def split_18(
    p: P, x: T, split: T | None = None, *, axis: int = 0, num_outputs: int | None = None, n_outputs: int
) -> tuple[T, ...]:
    """All chunks except the last have size ``ceil(dim / num_outputs)``."""
    if (split is None) == (num_outputs is None):
        raise ModelError(
            "either the input split or the attribute num_outputs must be there, and not both", name="num_outputs"
        )
    if num_outputs is None:
        return _split(p, x, axis, read_ints(p, split), n_outputs)
    size = x.shape[normalize_existing_axis(axis, x.ndim)]
    chunk = -(-size // num_outputs) if num_outputs > 0 else 0
    last = size - chunk * (num_outputs - 1)
    if num_outputs < 1 or last < 0:
        raise ValueError(f"axis {axis} of {x.shape} is too short for {num_outputs} chunks of {chunk}")
    return _split(p, x, axis, [chunk] * (num_outputs - 1) + [last], n_outputs)


@openvino("Split")
def openvino_split(p: P, x: T, axis: T, *, num_splits: int, n_outputs: int) -> tuple[T, ...]:
    axis_index = read_int(p, axis, "axis")
    return _split(p, x, axis_index, _equal_split_sizes(x, axis_index, num_splits), n_outputs)


@openvino("VariadicSplit")
def variadic_split(p: P, x: T, axis: T, split_lengths: T, *, n_outputs: int) -> tuple[T, ...]:
    axis_index, sizes = normalize_existing_axis(read_int(p, axis, "axis"), x.ndim), read_ints(p, split_lengths)
    if sizes.count(-1) == 1:
        remaining = x.shape[axis_index] - sum(sizes) - 1
        sizes = tuple(remaining if n == -1 else n for n in sizes)
    return _split(p, x, axis_index, sizes, n_outputs)


# --- Padding

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _padded_index(mode: str, before: int, after: int, size: int) -> Array:
    """The source index of each element of a padded dimension."""
    size = int(size)
    limit = {"reflect": size - 1, "symmetric": size}.get(mode)
    if limit is not None and max(before, after) > limit:
        raise ValueError(f"mode '{mode}' can pad {size} elements by {limit} at most, not by {max(before, after)}")
    if size == 0 and max(before, after) > 0:
        raise ValueError(f"mode '{mode}' cannot pad a dimension of size 0")
    position = np.arange(-before, size + after)
    if mode == "edge":
        return position.clip(0, size - 1)
    if mode == "wrap":
        return position % size
    if mode == "reflect":
        return size - 1 - abs(size - 1 - abs(position))
    return np.where(position < 0, -1 - position, np.where(position >= size, 2 * size - 1 - position, position))


def _zero(dtype: Dtype) -> Any:
    return "" if dtype.kind == "O" else np.zeros((), dtype)[()]


def _apply_negative_pads(p: P, x: T, befores: Sequence[int], afters: Sequence[int]) -> T:
    """Crop by negative pads."""
    starts = [min(max(-before, 0), n) for before, n in zip(befores, x.shape, strict=True)]
    extents = [max(0, n - f - max(-after, 0)) for f, after, n in zip(starts, afters, x.shape, strict=True)]
    starts = [f if n else 0 for f, n in zip(starts, extents, strict=True)]
    return p.slice(x, starts, [1] * x.ndim, extents)


def _pad(p: P, x: T, befores: Sequence[int], afters: Sequence[int], mode: str, fill: Any, crop_first: bool) -> T:
    """``crop_first``: negative pads crop before the others repeat elements (ONNX); else elements are repeated
    from before the crop (OpenVINO)."""
    if mode not in _MODES:
        raise unknown_value_error("mode", mode, _MODES)
    if not len(befores) == len(afters) == x.ndim:
        raise ValueError(f"pads {list(befores)}, {list(afters)} must each have a number for each axis of {x.shape}")
    shape = tuple(n + b + a for n, b, a in zip(x.shape, befores, afters, strict=True))
    check_shape(shape, "the padded shape")
    if max((*befores, *afters), default=0) <= 0:
        return _apply_negative_pads(p, x, befores, afters)
    if mode == "constant":
        cropped = _apply_negative_pads(p, x, befores, afters)
        starts = [max(before, 0) for before in befores]
        if cropped.size == 0:
            return p.constant(np.full(shape, fill, x.dtype))
        return p.assemble(shape, x.dtype, [(cropped, starts)], fill)
    if crop_first:
        x = _apply_negative_pads(p, x, befores, afters)
        befores, afters = [max(n, 0) for n in befores], [max(n, 0) for n in afters]
    sources = [_padded_index(mode, b, a, size) for b, a, size in zip(befores, afters, x.shape, strict=True)]
    max_runs = 3**x.ndim
    runs = [_index_runs(source, max_runs) for source in sources]
    if math.prod(map(len, runs)) <= max_runs:
        # Few strided copies over all axes instead of gathers: 12x faster for a border around 256x256.
        return p.assemble(shape, x.dtype, [_run_to_piece(p, x, parts) for parts in itertools.product(*runs)])
    for axis, source in enumerate(sources):
        if befores[axis] or afters[axis]:
            x = p.gather(x, p.constant(source), axis)
    return x


def _index_runs(indices: Array, limit: int) -> list[tuple[int, int, int, int]]:
    """Run-length encode indices: (target position, first index, step (1, -1 or 0), length). Stops after about ``limit``
    runs."""
    steps = np.diff(indices)
    runs: list[tuple[int, int, int, int]] = []
    k = 0
    while k < len(indices) and len(runs) <= limit:
        step = int(steps[k]) if k < len(steps) and abs(steps[k]) <= 1 else 1
        differs = steps[k:] != step
        count = 1 + (int(differs.argmax()) if differs.any() else len(differs))
        runs.append((k, int(indices[k]), step, count))
        k += count
    return runs


def _run_to_piece(p: P, x: T, runs: Sequence[tuple[int, int, int, int]]) -> tuple[T, Sequence[int]]:
    """The piece for ``assemble`` given by one run per axis."""
    targets, firsts, steps, counts = zip(*runs, strict=True)
    extents = [count if step else 1 for step, count in zip(steps, counts, strict=True)]
    piece = p.slice(x, firsts, [step or 1 for step in steps], extents)
    return (piece if 0 not in steps else p.broadcast(piece, counts)), targets


@onnx("Pad")
def pad_1(p: P, x: T, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0) -> T:
    return pad_2(p, x, pads=paddings, mode=mode, value=value)


@onnx("Pad", since=2)
def pad_2(p: P, x: T, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> T:
    half = len(pads) // 2
    return _pad(p, x, pads[:half], pads[half:], decode_string(mode), value, crop_first=True)


@onnx("Pad", since=11)
def pad(p: P, x: T, pads: T, constant_value: T | None = None, axes: T | None = None, *, mode: str = "constant") -> T:
    padded_axes = range(x.ndim) if axes is None else normalize_distinct_axes(read_ints(p, axes), x.ndim)
    pad_sizes = read_ints(p, pads)
    if len(pad_sizes) != 2 * len(padded_axes):
        raise ValueError(f"pads {list(pad_sizes)} must have two numbers for each of {len(padded_axes)} axes")
    befores, afters = [0] * x.ndim, [0] * x.ndim
    for k, axis in enumerate(padded_axes):
        befores[axis], afters[axis] = pad_sizes[k], pad_sizes[len(padded_axes) + k]
    return _pad(p, x, befores, afters, decode_string(mode), _fill_value(p, constant_value, x.dtype), crop_first=True)


def _fill_value(p: P, value: T | None, dtype: Dtype) -> Any:
    if value is None:
        return _zero(dtype)
    if value.size != 1:
        raise ValueError(f"the pad value must be one number, not {value.size}")
    return p.value(value).reshape(())[()]


@openvino("Pad")
def openvino_pad(p: P, x: T, pads_begin: T, pads_end: T, pad_value: T | None = None, *, pad_mode: str) -> T:
    fill = _fill_value(p, pad_value, x.dtype)
    return _pad(p, x, read_ints(p, pads_begin), read_ints(p, pads_end), pad_mode.lower(), fill, crop_first=False)


# --- Parts


@onnx("Trilu", since=14)
def trilu(p: P, x: T, k: T | None = None, *, upper: int = 1) -> T:
    if x.ndim < 2:
        raise ValueError(f"the input must have at least two axes, not shape {x.shape}")
    diagonal = 0 if k is None else read_int(p, k, "k")
    below = np.tri(x.shape[-2], x.shape[-1], diagonal - 1 if upper else diagonal, bool)
    return p.where(p.constant(~below if upper else below), x, constant(p, 0, x.dtype))


@onnx("Compress", since=9)
def compress(p: P, x: T, condition: T, *, axis: int | None = None) -> T:
    """Select parts along ``axis`` (None: elements) where the condition is true; it may be shorter than the axis."""
    axis_index = 0 if axis is None else normalize_existing_axis(axis, x.ndim)
    leading, length, trailing = (
        ((), x.size, ()) if axis is None else (x.shape[:axis_index], x.shape[axis_index], x.shape[axis_index + 1 :])
    )
    if isinstance(x, np.ndarray):
        # np.compress is 2x slower for few elements.
        return x.take(condition.reshape(-1).nonzero()[0], axis if axis is None else axis_index)
    if not has_bitwise_zero(condition.dtype):
        raise NoNativeKernel
    n, block = condition.size, math.prod(trailing) * x.dtype.itemsize
    numbers = (math.prod(leading), length, block, n, condition.dtype.itemsize, int(is_float(condition.dtype)))
    output = ((*leading, min(n, length), *trailing), x.dtype)
    (selected,) = p.call(
        RoutineCall("data_movement.compress", (output,), numbers, n + 8, growing_axes=(axis_index,)), (x, condition)
    )
    return selected
