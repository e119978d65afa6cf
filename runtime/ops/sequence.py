"""Sequences and optionals, which run in Python.

A sequence is a list that nobody changes once it is made: operators return new lists that share its elements.
An optional is its element, or None.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Array
from .axes import axis_of, check_shape, normal_axis, one_int
from .registry import onnx

P = Any
#: What an optional may hold.
Element = Array | Sequence[Any]


@onnx("SequenceEmpty", since=11, native=False)
def sequence_empty(p: P, *, dtype: int = 1) -> list[Array]:
    return []


@onnx("SequenceConstruct", since=11, native=False)
def sequence_construct(p: P, *inputs: Array) -> list[Array]:
    return list(inputs)


def _position(p: P, position: Array, length: int, last: int) -> int:
    """A position from the front, up to ``last``; negative ones count from the end."""
    at = one_int(p, position, "position")
    if not -length <= at <= last:
        raise IndexError(f"position {at} is outside [{-length}, {last}]: the sequence has {length} elements")
    return at + length if at < 0 else at


@onnx("SequenceInsert", since=11, native=False)
def sequence_insert(p: P, sequence: Sequence[Array], tensor: Array, position: Array | None = None) -> list[Array]:
    length = len(sequence)
    if length and sequence[0].dtype != tensor.dtype:
        raise ValueError(f"a {tensor.dtype} tensor cannot enter a sequence of {sequence[0].dtype} tensors")
    at = length if position is None else _position(p, position, length, length)
    if at == length:
        return [*sequence, tensor]
    return [*sequence[:at], tensor, *sequence[at:]]


@onnx("SequenceErase", since=11, native=False)
def sequence_erase(p: P, sequence: Sequence[Array], position: Array | None = None) -> list[Array]:
    length = len(sequence)
    if not length:
        raise IndexError("the sequence is empty: there is nothing to erase")
    at = length - 1 if position is None else _position(p, position, length, length - 1)
    return [*sequence[:at], *sequence[at + 1 :]]


@onnx("SequenceAt", since=11, native=False)
def sequence_at(p: P, sequence: Sequence[Array], position: Array) -> Array:
    return sequence[_position(p, position, len(sequence), len(sequence) - 1)]


@onnx("SequenceLength", since=11, native=False)
def sequence_length(p: P, sequence: Sequence[Array]) -> Array:
    return np.array(len(sequence), np.int64)


@onnx("SplitToSequence", since=11, native=False)
def split_to_sequence(p: P, x: Array, split: Array | None = None, *, axis: int = 0, keepdims: int = 1) -> list[Array]:
    """A scalar ``split`` is the size of every chunk but the last; a list has each size; absent means ones."""
    axis = normal_axis(axis, x.ndim)
    size = x.shape[axis]
    if split is None or split.ndim == 0:
        chunk = 1 if split is None else int(split)
        if chunk < 1:
            raise ValueError(f"split must be positive, and it is {chunk}")
        bounds = [*range(0, size, chunk), size]
    else:
        sizes = check_shape([int(n) for n in split], "split")
        if sum(sizes) != size:
            raise ValueError(f"parts of {list(sizes)} do not add up to axis {axis} of {x.shape}")
        bounds = [0, *itertools.accumulate(sizes)]
    before: tuple[Any, ...] = (slice(None),) * axis
    if split is None and not keepdims:
        return [np.asarray(x[(*before, k)], x.dtype) for k in range(size)]
    return [x[(*before, slice(start, end))] for start, end in itertools.pairwise(bounds)]


@onnx("ConcatFromSequence", since=11, native=False)
def concat_from_sequence(p: P, sequence: Sequence[Array], *, axis: int, new_axis: int = 0) -> Array:
    if not sequence:
        raise ValueError("the sequence is empty: there is nothing to concatenate")
    rank = sequence[0].ndim
    if new_axis:
        return np.stack(sequence, axis_of(axis, rank + 1))
    return np.concatenate(sequence, normal_axis(axis, rank))


@onnx("Optional", since=15, native=False)
def optional(p: P, element: Element | None = None, *, type: Any = None) -> Element | None:
    return element


@onnx("OptionalHasElement", since=15, native=False)
def optional_has_element(p: P, element: Element | None = None) -> Array:
    return np.array(element is not None)


@onnx("OptionalGetElement", since=15, native=False)
def optional_get_element(p: P, element: Element | None) -> Element:
    if element is None:
        raise ValueError("the optional is empty: it has no element to get")
    return element
