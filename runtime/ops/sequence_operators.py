"""Sequences and optionals.

In Python a sequence is a list that nobody changes once it is made: operators return new lists that share its elements.
Where kernels are bound it is what kernels/routines/sequences has, so that an append costs what is appended. An
optional is its element, or None, and runs in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels.bindings.sequences import MAX_AXES
from .axis_arguments import check_shape, element_count, normalize_axis, normalize_existing_axis, read_int
from .primitives import NoNativeKernel
from .registry import onnx

P = Any  # Primitives[T]; T is an array or a list, or a description of where one is
T = Any
#: What an optional may hold.
Element = Array | Sequence[Any]


@onnx("SequenceEmpty", since=11, native=False)
def sequence_empty(p: P, *, dtype: int = 1) -> list[Array]:
    return []


def _tensor_params(x: T) -> tuple[int, ...]:
    """A tensor as the routines are told of one: type, rank, extents."""
    if x.dtype.hasobject or x.ndim > MAX_AXES:
        raise NoNativeKernel
    return (x.dtype.num, x.ndim, *x.shape)


def _position_bytes(position: T | None) -> int:
    """Bytes of a position, as the routines are told of them."""
    if position is None:
        return 0
    if position.dtype.kind != "i" or position.dtype.itemsize < 4 or position.size != 1:
        raise NoNativeKernel
    return int(position.dtype.itemsize)


@onnx("SequenceConstruct", since=11, sequences=True)
def sequence_construct(p: P, *inputs: T) -> T:
    if not p.emits:
        return list(inputs)
    made = p.sequence("empty", ())
    for x in inputs:
        made = p.sequence("insert", (made, x), None, (0, *_tensor_params(x)))
    return made


def _normalize_position(p: P, position: Array, length: int, last: int) -> int:
    """A position from the front, up to ``last``; negative ones count from the end."""
    at = read_int(p, position, "position")
    if not -length <= at <= last:
        raise IndexError(f"position {at} is outside [{-length}, {last}]: the sequence has {length} elements")
    return at + length if at < 0 else at


@onnx("SequenceInsert", since=11, sequences=True)
def sequence_insert(p: P, sequence: T, tensor: T, position: T | None = None) -> T:
    if p.emits:
        given = (sequence, tensor) if position is None else (sequence, tensor, position)
        return p.sequence("insert", given, None, (_position_bytes(position), *_tensor_params(tensor)))
    length = len(sequence)
    if length and sequence[0].dtype != tensor.dtype:
        raise ValueError(f"a {tensor.dtype} tensor cannot enter a sequence of {sequence[0].dtype} tensors")
    at = length if position is None else _normalize_position(p, position, length, length)
    if at == length:
        return [*sequence, tensor]
    return [*sequence[:at], tensor, *sequence[at:]]


@onnx("SequenceErase", since=11, sequences=True)
def sequence_erase(p: P, sequence: T, position: T | None = None) -> T:
    if p.emits:
        given = (sequence,) if position is None else (sequence, position)
        return p.sequence("erase", given, None, (_position_bytes(position),))
    length = len(sequence)
    if not length:
        raise IndexError("the sequence is empty: there is nothing to erase")
    at = length - 1 if position is None else _normalize_position(p, position, length, length - 1)
    return [*sequence[:at], *sequence[at + 1 :]]


@onnx("SequenceAt", since=11, sequences=True)
def sequence_at(p: P, sequence: T, position: T) -> T:
    if p.emits:
        elements = sequence.read_elements()
        if not elements:
            raise NoNativeKernel
        like = elements[0]  # where others are not like it, they are read in Python
        return p.sequence(
            "element",
            (sequence, position),
            (like.shape, like.dtype),
            (_position_bytes(position), *_tensor_params(like)),
        )
    return sequence[_normalize_position(p, position, len(sequence), len(sequence) - 1)]


@onnx("SequenceLength", since=11, sequences=True)
def sequence_length(p: P, sequence: T) -> T:
    if p.emits:
        return p.sequence("length", (sequence,), ((), np.dtype(np.int64)))
    return np.array(len(sequence), np.int64)


@onnx("SplitToSequence", since=11, sequences=True)
def split_to_sequence(p: P, x: T, split: T | None = None, *, axis: int = 0, keepdims: int = 1) -> T:
    """A scalar ``split`` is the size of every chunk but the last; a list has each size; absent means ones."""
    axis = normalize_existing_axis(axis, x.ndim)
    size = x.shape[axis]
    bounds = _split_offsets(None if split is None else p.value(split), axis, x.shape)
    alone = split is None and not keepdims
    if p.emits:
        sizes = np.diff(np.array(bounds, np.int64))
        shape = (*x.shape[:axis], *(() if alone else (1,)), *x.shape[axis + 1 :])
        if x.dtype.hasobject or len(shape) > MAX_AXES:
            raise NoNativeKernel
        place = element_count(x.shape[axis + 1 :]) * x.dtype.itemsize
        numbers = (
            len(sizes),
            element_count(x.shape[:axis]),
            place,
            -1 if alone else axis,
            x.dtype.num,
            len(shape),
            *shape,
        )
        return p.sequence("split", (x, p.constant(sizes)), None, numbers)
    before: tuple[Any, ...] = (slice(None),) * axis
    if alone:
        return [np.asarray(x[(*before, k)], x.dtype) for k in range(size)]
    return [x[(*before, slice(start, end))] for start, end in itertools.pairwise(bounds)]


def _split_offsets(split: Array | None, axis: int, shape: Sequence[int]) -> list[int]:
    """Where the parts of an axis begin, and the end."""
    size = shape[axis]
    if split is None or split.ndim == 0:
        chunk = 1 if split is None else int(split)
        if chunk < 1:
            raise ValueError(f"split must be positive, and it is {chunk}")
        return [*range(0, size, chunk), size]
    sizes = check_shape([int(n) for n in split], "split")
    if sum(sizes) != size:
        raise ValueError(f"parts of {list(sizes)} do not add up to axis {axis} of {tuple(shape)}")
    return [0, *itertools.accumulate(sizes)]


def _concat_native(p: P, sequence: T, axis: int, new_axis: int) -> T:
    """Elements that are alike, where kernels are bound."""
    elements = sequence.read_elements()
    if not elements or any(x.shape != elements[0].shape or x.dtype != elements[0].dtype for x in elements):
        raise NoNativeKernel
    first, count = elements[0], len(elements)
    if new_axis:
        along = normalize_axis(axis, first.ndim + 1)
        shape = (*first.shape[:along], count, *first.shape[along:])
    else:
        along = normalize_existing_axis(axis, first.ndim)
        shape = (*first.shape[:along], count * first.shape[along], *first.shape[along + 1 :])
    block = element_count(first.shape[along:]) * first.dtype.itemsize
    numbers = (count, element_count(first.shape[:along]), block, *_tensor_params(first))
    return p.sequence("joined", (sequence,), (shape, first.dtype), numbers)


@onnx("ConcatFromSequence", since=11, sequences=True)
def concat_from_sequence(p: P, sequence: T, *, axis: int, new_axis: int = 0) -> T:
    if p.emits:
        return _concat_native(p, sequence, axis, new_axis)
    if not sequence:
        raise ValueError("the sequence is empty: there is nothing to concatenate")
    rank = sequence[0].ndim
    if new_axis:
        return np.stack(sequence, normalize_axis(axis, rank + 1))
    return np.concatenate(sequence, normalize_existing_axis(axis, rank))


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
