"""Relations between two constants, or two results: the same numbers in another layout or scale. Faulty converters
usually permute or scale weights rather than invent numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from ....runtime.graph import Array

#: Numbers of gate blocks in recurrent weights.
_GATE_BLOCK_COUNTS = (2, 3, 4, 6, 8)
#: Larger values are not searched for another order.
_MAX_REORDERED_SIZE = 1 << 20


def describe_constant_relation(left: Any, right: Any) -> str:
    """The relation of the right constant to the left one in words; empty if unknown.

    >>> describe_constant_relation(np.float32([[1, 2], [3, 4]]), np.float32([[1, 3], [2, 4]]))
    'the same, transposed'
    """
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return ""
    if left.dtype != right.dtype or left.size != right.size or left.size < 2 or left.dtype == object:
        return ""
    return next(chain(_layout_relation_texts(left, right), _scale_relation_texts(left, right)), "")


def describe_reordering(left: Any, right: Any) -> str:
    """How the right value has the numbers of the left one in another order; empty if it does not.

    The part that is reordered may be a range of one axis: half of a bidirectional result.

    >>> a = np.float32([[0, 1, 2], [0, 3, 4]])
    >>> b = np.float32([[0, 3, 4], [0, 1, 2]])
    >>> describe_reordering(a, b)
    'axis 1, from 1 to 2: the same, reversed along axis 0'
    """
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)) or left.shape != right.shape:
        return ""
    if left.dtype != right.dtype or left.dtype.kind != "f" or not 2 <= left.size <= _MAX_REORDERED_SIZE:
        return ""
    unequal = ~_elementwise_close(left, right)
    # Two or three numbers may be exchanged by chance.
    if np.count_nonzero(unequal) < 4:
        return ""
    for axis in (*range(left.ndim), None):
        index, prefix = _differing_range(unequal, axis)
        a, b = left[index], right[index]
        if not _elementwise_close(np.sort(a, None), np.sort(b, None)).all():
            continue
        for flipped in range(a.ndim):
            if a.shape[flipped] > 1 and _elementwise_close(np.flip(a, flipped), b).all():
                return f"{prefix}the same, reversed along axis {flipped}"
        if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and _elementwise_close(a.swapaxes(-1, -2), b).all():
            return f"{prefix}the same, transposed"
        if axis is None:
            return "the same numbers in another order"
    return ""


def _differing_range(unequal: Array, axis: int | None) -> tuple[tuple[slice, ...], str]:
    """The range of an axis that differs, as an index and in words; the whole array without an axis."""
    if axis is None:
        return (), ""
    other_axes = tuple(k for k in range(unequal.ndim) if k != axis)
    differing = np.flatnonzero(unequal.any(axis=other_axes))
    first, last = int(differing[0]), int(differing[-1])
    index = (*(slice(None),) * axis, slice(first, last + 1))
    is_whole = last - first + 1 == unequal.shape[axis]
    return index, "" if is_whole else f"axis {axis}, from {first} to {last}: "


def _elementwise_close(left: Array, right: Array) -> Array:
    return np.asarray(np.isclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True))


def _layout_relation_texts(left: Array, right: Array) -> Iterator[str]:
    if left.ndim >= 2 and _are_equal(left.swapaxes(-1, -2), right):
        yield "the same, transposed"
    if left.ndim == right.ndim == 4 and _are_equal(left.transpose(1, 0, 2, 3), right):
        yield "the same, its first two axes exchanged"
    if left.shape != right.shape:
        if _are_equal(left.reshape(-1), right.reshape(-1)):
            yield "the same in another shape"
        return
    for axis in range(left.ndim):
        if left.shape[axis] > 1 and _are_equal(np.flip(left, axis), right):
            yield f"the same, reversed along axis {axis}"
        for count in _GATE_BLOCK_COUNTS:
            order = _block_order(left, right, axis, count)
            if order:
                order_text = ", ".join(map(str, order))
                yield f"the same, its {count} blocks along axis {axis} in the order {order_text}"


def _block_order(left: Array, right: Array, axis: int, count: int) -> list[int]:
    """The order of the left one's blocks in the right one; empty if the blocks differ."""
    if left.shape[axis] % count or left.shape[axis] == count:
        return []
    blocks, right_blocks = (np.split(array, count, axis) for array in (left, right))
    order = [
        next((k for k, candidate in enumerate(blocks) if _are_equal(candidate, block)), -1) for block in right_blocks
    ]
    return order if sorted(order) == list(range(count)) else []


def _scale_relation_texts(left: Array, right: Array) -> Iterator[str]:
    if left.shape != right.shape or left.dtype.kind not in "fi" or not left.any() or not right.any():
        return
    index = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
    factor = float(right[index]) / float(left[index])
    if np.isfinite(factor) and np.allclose(left * factor, right, rtol=1e-6, atol=0):
        yield "the same, negated" if factor == -1 else f"the same, multiplied by {factor:.6g}"


def _are_equal(left: Array, right: Array) -> bool:
    return left.shape == right.shape and bool(np.array_equal(left, right))
