"""Operators that rearrange elements: blocks to channels and back, reversal, roll, channel shuffle, patches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import (
    check_shape,
    decode_string,
    element_count,
    normalize_distinct_axes,
    normalize_existing_axis,
    read_ints,
    unknown_value_error,
)
from .operator_helpers import cast, constant
from .registry import Ints, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)


def _depth_to_space(p: P, x: T, size: int, blocks_first: bool) -> T:
    """The channels are ``[*blocks, depth]`` with ``blocks_first``, else ``[depth, *blocks]``."""
    spatial = x.shape[2:]
    rank = len(spatial)
    count = size**rank
    if rank < 1 or size < 1 or x.shape[1] % count:
        raise ValueError(f"blocks of {size} do not divide the {x.shape[1:2]} channels of {x.shape}")
    depth = x.shape[1] // count
    blocks = (size,) * rank
    parts = (*blocks, depth) if blocks_first else (depth, *blocks)
    first, first_block = (rank + 1, 1) if blocks_first else (1, 2)
    perm = [0, first]
    for k in range(rank):
        perm += [rank + 2 + k, first_block + k]
    separated = p.transpose(p.reshape(x, (x.shape[0], *parts, *spatial)), perm)
    return p.reshape(separated, (x.shape[0], depth, *(n * size for n in spatial)))


def _space_to_depth(p: P, x: T, size: int, blocks_first: bool) -> T:
    rank = x.ndim - 2
    if rank < 1 or size < 1 or any(n % size for n in x.shape[2:]):
        raise ValueError(f"blocks of {size} do not divide the spatial axes of {x.shape}")
    split_shape: list[int] = []
    for n in x.shape[2:]:
        split_shape += [n // size, size]
    blocks, outer_axes = [3 + 2 * k for k in range(rank)], [2 + 2 * k for k in range(rank)]
    perm = [0, *blocks, 1, *outer_axes] if blocks_first else [0, 1, *blocks, *outer_axes]
    permuted = p.transpose(p.reshape(x, (*x.shape[:2], *split_shape)), perm)
    return p.reshape(permuted, (x.shape[0], x.shape[1] * size**rank, *(n // size for n in x.shape[2:])))


@onnx("DepthToSpace")
def depth_to_space(p: P, x: T, *, blocksize: int, mode: str = "DCR") -> T:
    mode = decode_string(mode)
    if mode not in ("DCR", "CRD"):
        raise unknown_value_error("mode", mode, ("DCR", "CRD"))
    return _depth_to_space(p, x, blocksize, mode == "DCR")


@onnx("SpaceToDepth")
def space_to_depth(p: P, x: T, *, blocksize: int, mode: str = "DCR") -> T:
    mode = decode_string(mode)
    if mode not in ("DCR", "CRD"):
        raise unknown_value_error("mode", mode, ("DCR", "CRD"))
    return _space_to_depth(p, x, blocksize, mode == "DCR")


def _is_blocks_first(mode: str) -> bool:
    if mode.lower() not in ("blocks_first", "depth_first"):
        raise unknown_value_error("mode", mode, ("blocks_first", "depth_first"))
    return mode.lower() == "blocks_first"


@openvino("DepthToSpace")
def openvino_depth_to_space(p: P, x: T, *, mode: str, block_size: int = 1) -> T:
    return _depth_to_space(p, x, block_size, _is_blocks_first(mode))


@openvino("SpaceToDepth")
def openvino_space_to_depth(p: P, x: T, *, mode: str, block_size: int = 1) -> T:
    return _space_to_depth(p, x, block_size, _is_blocks_first(mode))


def _read_block_inputs(p: P, x: T, *values: T) -> list[tuple[int, ...]]:
    inputs = [check_shape(read_ints(p, value), "block shape, crops or pads") for value in values]
    if (
        any(len(numbers) != x.ndim for numbers in inputs)
        or min(inputs[0], default=1) < 1
        or inputs[0][:1] not in ((), (1,))
    ):
        raise ValueError(f"block shape {inputs[0]} does not fit {x.shape}: one number an axis, the first one 1")
    return inputs


@openvino("BatchToSpace", since=2)
def batch_to_space(p: P, x: T, block_shape: T, crops_begin: T, crops_end: T) -> T:
    block, before, after = _read_block_inputs(p, x, block_shape, crops_begin, crops_end)
    count = element_count(block)
    if x.shape[0] % count:
        raise ValueError(f"block shape {block} does not divide the batch of {x.shape}")
    perm = [x.ndim - 1]
    for k in range(1, x.ndim):
        perm += [x.ndim - 1 + k, k - 1]
    separated = p.reshape(x, (*block[1:], x.shape[0] // count, *x.shape[1:]))
    full_shape = (x.shape[0] // count, *(n * b for n, b in zip(x.shape[1:], block[1:], strict=True)))
    merged = p.reshape(p.transpose(separated, perm), full_shape)
    extents = [n - b - a for n, b, a in zip(full_shape, before, after, strict=True)]
    if min(extents, default=0) < 0:
        raise ValueError(f"crops {before} and {after} leave nothing of {full_shape}")
    return p.slice(merged, before, (1,) * x.ndim, extents)


@openvino("SpaceToBatch", since=2)
def space_to_batch(p: P, x: T, block_shape: T, pads_begin: T, pads_end: T) -> T:
    block, before, after = _read_block_inputs(p, x, block_shape, pads_begin, pads_end)
    padded_shape = tuple(n + b + a for n, b, a in zip(x.shape, before, after, strict=True))
    if any(n % b for n, b in zip(padded_shape, block, strict=True)):
        raise ValueError(f"block shape {block} does not divide the padded shape {padded_shape}")
    padded = p.assemble(padded_shape, x.dtype, [(x, before)], 0)
    split_shape: list[int] = [padded_shape[0]]
    for n, b in zip(padded_shape[1:], block[1:], strict=True):
        split_shape += [n // b, b]
    perm = [*(2 * k for k in range(1, x.ndim)), 0, *(2 * k - 1 for k in range(1, x.ndim))]
    permuted = p.transpose(p.reshape(padded, tuple(split_shape)), perm)
    out = (padded_shape[0] * element_count(block), *(n // b for n, b in zip(padded_shape[1:], block[1:], strict=True)))
    return p.reshape(permuted, out)


@openvino("ShuffleChannels")
def shuffle_channels(p: P, x: T, *, axis: int = 1, group: int = 1) -> T:
    channel_axis = normalize_existing_axis(axis, x.ndim)
    if group < 1 or x.shape[channel_axis] % group:
        raise ValueError(f"{group} groups do not divide axis {channel_axis} of {x.shape}")
    split_shape = (*x.shape[:channel_axis], group, x.shape[channel_axis] // group, *x.shape[channel_axis + 1 :])
    perm = [*range(channel_axis), channel_axis + 1, channel_axis, *range(channel_axis + 2, len(split_shape))]
    return p.reshape(p.transpose(p.reshape(x, split_shape), perm), x.shape)


@openvino("ReorgYolo", since=2)
def reorg_yolo(p: P, x: T, *, stride: int | None = None, strides: Ints | None = None) -> T:
    """Read ``[N, C, H, W]`` as ``[N, C / s^2, H, s, W, s]``, as in the network's original code."""
    size = stride if stride is not None else (strides or (1,))[0]
    if x.ndim != 4 or size < 1 or x.shape[1] % size**2 or any(n % size for n in x.shape[2:]):
        raise ValueError(f"ReorgYolo with stride {size} does not fit {x.shape}")
    batch, channels, height, width = x.shape
    split = p.reshape(x, (batch, channels // size**2, height, size, width, size))
    permuted = p.transpose(split, (0, 3, 5, 1, 2, 4))
    return p.reshape(permuted, (batch, channels * size**2, height // size, width // size))


# --- Reversed and rolled


@openvino("Reverse")
def reverse(p: P, x: T, axes: T, *, mode: str) -> T:
    """``mode``: "index" for axis numbers, "mask" for a boolean per axis."""
    if mode.lower() not in ("index", "mask"):
        raise unknown_value_error("mode", mode, ("index", "mask"))
    numbers = read_ints(p, axes)
    if mode.lower() == "mask":
        if len(numbers) != x.ndim:
            raise ValueError(f"a mask of {len(numbers)} does not fit {x.shape}")
        numbers = tuple(k for k, on in enumerate(numbers) if on)
    reversed_axes = normalize_distinct_axes(numbers, x.ndim)
    starts = [max(n - 1, 0) if k in reversed_axes else 0 for k, n in enumerate(x.shape)]
    return p.slice(x, starts, [-1 if k in reversed_axes else 1 for k in range(x.ndim)], x.shape)


def _reverse_sequence(p: P, x: T, lengths: T, batch_axis: int, time_axis: int) -> T:
    """Reverse the first ``lengths[b]`` elements along ``time_axis`` for each b along ``batch_axis``."""
    batch, time = normalize_existing_axis(batch_axis, x.ndim), normalize_existing_axis(time_axis, x.ndim)
    if batch == time:
        raise ModelError(
            f"the batch axis and the axis of the sequence are both {batch}", name="batch_axis", got=str(batch)
        )
    count, steps = x.shape[batch], x.shape[time]
    if lengths.shape != (count,):
        raise ValueError(f"lengths of shape {lengths.shape} do not fit axis {batch} of {x.shape}")
    if x.size == 0:
        return p.constant(np.zeros(x.shape, x.dtype))
    other_axes = [k for k in range(x.ndim) if k not in (batch, time)]
    perm = [batch, time, *other_axes]
    rows = p.reshape(p.transpose(x, perm), (count * steps, *(x.shape[k] for k in other_axes)))
    length_column = p.reshape(cast(p, lengths, INT64), (count, 1))
    positions = p.constant(np.arange(steps))
    last = p.map(np.subtract, length_column, constant(p, 1, INT64))
    source_positions = p.where(p.map(np.less, positions, length_column), p.map(np.subtract, last, positions), positions)
    valid = p.map(
        np.logical_and,
        p.map(np.greater_equal, length_column, constant(p, 0, INT64)),
        p.map(np.less_equal, length_column, constant(p, steps, INT64)),
    )
    # An invalid length gives an index out of bounds: an error rather than a row of another batch.
    row_indices = p.map(np.add, source_positions, p.constant((np.arange(count) * steps).reshape(count, 1)))
    gathered = p.gather(rows, p.where(valid, row_indices, constant(p, count * steps, INT64)), 0)
    return p.transpose(gathered, [perm.index(k) for k in range(x.ndim)])


@onnx("ReverseSequence", since=10)
def reverse_sequence(p: P, x: T, sequence_lens: T, *, batch_axis: int = 1, time_axis: int = 0) -> T:
    return _reverse_sequence(p, x, sequence_lens, batch_axis, time_axis)


@openvino("ReverseSequence")
def openvino_reverse_sequence(p: P, x: T, lengths: T, *, batch_axis: int = 0, seq_axis: int = 1) -> T:
    return _reverse_sequence(p, x, lengths, batch_axis, seq_axis)


@openvino("Roll", since=7)
def roll(p: P, x: T, shift: T, axes: T) -> T:
    """Shifts of a repeated axis add up; a single shift applies to all axes."""
    rolled_axes = [normalize_existing_axis(axis, x.ndim) for axis in read_ints(p, axes)]
    shifts = read_ints(p, shift)
    shifts = shifts * len(rolled_axes) if len(shifts) == 1 else shifts
    if len(shifts) != len(rolled_axes):
        raise ValueError(f"{len(shifts)} shifts do not fit {len(rolled_axes)} axes")
    for axis in sorted(set(rolled_axes)):
        size = x.shape[axis]
        shift = sum(n for n, k in zip(shifts, rolled_axes, strict=True) if k == axis) % size if size else 0
        if shift:
            pieces = []
            for start, extent, target in ((0, size - shift, shift), (size - shift, shift, 0)):
                starts, targets, extents = [0] * x.ndim, [0] * x.ndim, list(x.shape)
                starts[axis], targets[axis], extents[axis] = start, target, extent
                pieces.append((p.slice(x, starts, (1,) * x.ndim, extents), targets))
            x = p.assemble(x.shape, x.dtype, pieces)
    return x


# --- Patches


@openvino("ExtractImagePatches", since=3)
def extract_image_patches(p: P, x: T, *, sizes: Ints, strides: Ints, rates: Ints, auto_pad: str) -> T:
    """Returns ``[N, rows * columns * C, height, width]``: the elements of each patch, channels fastest."""
    if x.ndim != 4 or not len(sizes) == len(strides) == len(rates) == 2 or min(*sizes, *strides, *rates) < 1:
        raise ValueError(f"sizes {sizes}, strides {strides} and rates {rates} do not fit {x.shape}")
    mode = auto_pad.lower()
    if mode not in ("valid", "same_upper", "same_lower"):
        raise unknown_value_error("auto_pad", auto_pad, ("valid", "same_upper", "same_lower"))
    pads, image, out = [0, 0], [0, 0], [0, 0]
    for k, (n, size, step, rate) in enumerate(zip(x.shape[2:], sizes, strides, rates, strict=True)):
        span = (size - 1) * rate + 1
        if mode == "valid":
            out[k], missing = max(0, (n - span) // step + 1), 0
        else:
            out[k] = -(-n // step)
            missing = max(0, (out[k] - 1) * step + span - n)
        pads[k], image[k] = (missing + (mode == "same_lower")) // 2, n + missing
    padded = p.assemble((*x.shape[:2], *image), x.dtype, [(x, (0, 0, *pads))], 0) if image != [*x.shape[2:]] else x
    batch, channels = x.shape[:2]
    extents = (batch, channels, *out)
    pieces = []
    for k in range(sizes[0] * sizes[1]):
        starts = (0, 0, k // sizes[1] * rates[0], k % sizes[1] * rates[1])
        part = (
            p.slice(padded, starts, (1, 1, *strides), extents)
            if math.prod(out)
            else p.constant(np.zeros(extents, x.dtype))
        )
        pieces.append((part, (0, k * channels, 0, 0)))
    return p.assemble((batch, sizes[0] * sizes[1] * channels, *out), x.dtype, pieces)


def _col2im(
    x: Array,
    image: Sequence[int],
    block: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
) -> Array:
    """Sum patches ``[N, C * block, positions]`` into an image ``[N, C, *image]``."""
    rank = len(image)
    if not rank or not len(block) == len(strides) == len(dilations) == len(before) == len(after) == rank:
        raise ValueError("the shapes of image and block, strides, dilations and pads name different numbers of axes")
    sizes = zip(image, before, after, block, dilations, strides, strict=True)
    out = [(n + b + a - (k - 1) * d - 1) // s + 1 for n, b, a, k, d, s in sizes]
    batched = x.reshape(-1, *x.shape[-2:])
    count = element_count(block)
    if batched.shape[1] % count or batched.shape[2] != element_count(out):
        raise ValueError(f"patches of shape {x.shape} do not fit an image {tuple(image)} with blocks {tuple(block)}")
    channels = batched.shape[1] // count
    patches = batched.reshape(len(batched), channels, *block, *out)
    padded_size = [n + b + a for n, b, a in zip(image, before, after, strict=True)]
    total = np.zeros((len(batched), channels, *padded_size), x.dtype)
    for tap in np.ndindex(*block):
        window = [
            slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in zip(tap, dilations, out, strides, strict=True)
        ]
        total[(slice(None), slice(None), *window)] += patches[(slice(None), slice(None), *tap)]
    inner = tuple(slice(b, b + n) for b, n in zip(before, image, strict=True))
    result = total[(slice(None), slice(None), *inner)]
    return np.ascontiguousarray(result if x.ndim == 3 else result[0])


@onnx("Col2Im", since=18, native=False)
def col2im(
    p: P,
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Array:
    image, block = check_shape(read_ints(p, image_shape)), check_shape(read_ints(p, block_shape))
    rank, unit = len(image), (1,) * len(image)
    all_pads = tuple(pads or (0,) * (2 * rank))
    return _col2im(x, image, block, strides or unit, dilations or unit, all_pads[:rank], all_pads[rank:])


@openvino("Col2Im", since=15, native=False)
def openvino_col2im(
    p: P,
    x: Array,
    output_size: Array,
    kernel_size: Array,
    *,
    strides: Ints = (1, 1),
    dilations: Ints = (1, 1),
    pads_begin: Ints = (0, 0),
    pads_end: Ints = (0, 0),
) -> Array:
    image, block = check_shape(read_ints(p, output_size)), check_shape(read_ints(p, kernel_size))
    return _col2im(x, image, block, strides, dilations, pads_begin, pads_end)


@openvino("GatherTree", native=False)
def gather_tree(p: P, step_ids: Array, parent_idx: Array, max_seq_len: Array, end_token: Array) -> Array:
    """Trace beams ``[time, batch, beam]`` back from their last step; pads with the end token after the first one."""
    if step_ids.ndim != 3 or parent_idx.shape != step_ids.shape or max_seq_len.shape != step_ids.shape[1:2]:
        raise ValueError(f"GatherTree needs [time, batch, beam] twice and lengths [batch], not {step_ids.shape}")
    steps, batch, beams = step_ids.shape
    end = end_token.reshape(-1)[0]
    out = np.full_like(step_ids, end)
    rows = np.arange(batch)[:, None]
    parents = np.broadcast_to(np.arange(beams), (batch, beams))
    lengths = np.minimum(max_seq_len.astype(INT64), steps)[:, None]
    for t in range(steps - 1, -1, -1):
        active = t < lengths
        safe = np.where(active, parents, 0)
        if not ((safe >= 0) & (safe < beams)).all():
            raise IndexError(f"a parent of step {t} is no beam of {beams}")
        out[t] = np.where(active, step_ids[t][rows, safe], end)
        parents = np.where(active, parent_idx[t][rows, safe].astype(INT64), parents)
    ended = np.logical_or.accumulate(out == end, axis=0)
    return np.where(ended, end, out).astype(step_ids.dtype)
