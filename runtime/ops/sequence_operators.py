"""Sequences and optionals.

In Python a sequence is an immutable list: operators return new lists that share its elements. Bound to kernels, it is
that of kernels/routines/sequences, where appending is O(1) in the sequence length. An optional is its element, or
None, and runs in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels.bindings.sequences import MAX_AXES
from .axis_arguments import check_shape, element_count, normalize_axis, normalize_existing_axis, read_int
from .primitive_types import NoNativeKernel
from .registry import onnx

P = Any  # EagerPrimitives or the like; T is an array or a list, or its description
T = Any
#: The element of an optional.
Element = Array | Sequence[Any]


@onnx("SequenceEmpty", since=11, native=False)
def sequence_empty(p: P, *, dtype: int = 1) -> list[Array]:
    return []


def _tensor_params(x: T) -> tuple[int, ...]:
    """The parameters of a tensor for the routines: type, rank, extents."""
    if x.dtype.hasobject or x.ndim > MAX_AXES:
        raise NoNativeKernel
    return (x.dtype.num, x.ndim, *x.shape)


def _position_bytes(position: T | None) -> int:
    """The item size of a position, a parameter of the routines."""
    if position is None:
        return 0
    if position.dtype.kind != "i" or position.dtype.itemsize < 4 or position.size != 1:
        raise NoNativeKernel
    return int(position.dtype.itemsize)


@onnx("SequenceConstruct", since=11, sequences=True)
def sequence_construct(p: P, *inputs: T) -> T:
    if not p.emits:
        return list(inputs)
    sequence = p.sequence("empty", ())
    for x in inputs:
        sequence = p.sequence("insert", (sequence, x), None, (0, *_tensor_params(x)))
    return sequence


def _normalize_position(p: P, position: Array, length: int, last: int) -> int:
    """A non-negative position up to ``last``; negative arguments count from the end."""
    index = read_int(p, position, "position")
    if not -length <= index <= last:
        raise IndexError(f"position {index} is outside [{-length}, {last}]: the sequence has {length} elements")
    return index + length if index < 0 else index


@onnx("SequenceInsert", since=11, sequences=True)
def sequence_insert(p: P, sequence: T, tensor: T, position: T | None = None) -> T:
    if p.emits:
        inputs = (sequence, tensor) if position is None else (sequence, tensor, position)
        return p.sequence("insert", inputs, None, (_position_bytes(position), *_tensor_params(tensor)))
    length = len(sequence)
    if length and sequence[0].dtype != tensor.dtype:
        raise ValueError(f"a {tensor.dtype} tensor cannot enter a sequence of {sequence[0].dtype} tensors")
    index = length if position is None else _normalize_position(p, position, length, length)
    if index == length:
        return [*sequence, tensor]
    return [*sequence[:index], tensor, *sequence[index:]]


@onnx("SequenceErase", since=11, sequences=True)
def sequence_erase(p: P, sequence: T, position: T | None = None) -> T:
    if p.emits:
        inputs = (sequence,) if position is None else (sequence, position)
        return p.sequence("erase", inputs, None, (_position_bytes(position),))
    length = len(sequence)
    if not length:
        raise IndexError("the sequence is empty: there is nothing to erase")
    index = length - 1 if position is None else _normalize_position(p, position, length, length - 1)
    return [*sequence[:index], *sequence[index + 1 :]]


@onnx("SequenceAt", since=11, sequences=True)
def sequence_at(p: P, sequence: T, position: T) -> T:
    if p.emits:
        elements = sequence.read_elements()
        if not elements:
            raise NoNativeKernel
        sample = elements[0]  # elements that differ are read in Python
        return p.sequence(
            "element",
            (sequence, position),
            (sample.shape, sample.dtype),
            (_position_bytes(position), *_tensor_params(sample)),
        )
    return sequence[_normalize_position(p, position, len(sequence), len(sequence) - 1)]


@onnx("SequenceLength", since=11, sequences=True)
def sequence_length(p: P, sequence: T) -> T:
    if p.emits:
        return p.sequence("length", (sequence,), ((), np.dtype(np.int64)))
    return np.array(len(sequence), np.int64)


@onnx("SplitToSequence", since=11, sequences=True)
def split_to_sequence(p: P, x: T, split: T | None = None, *, axis: int = 0, keepdims: int = 1) -> T:
    """``split``: a scalar chunk size (the last chunk may be smaller), or a list of sizes; by default ones."""
    axis = normalize_existing_axis(axis, x.ndim)
    size = x.shape[axis]
    bounds = _split_offsets(None if split is None else p.value(split), axis, x.shape)
    drop_axis = split is None and not keepdims
    if p.emits:
        sizes = np.diff(np.array(bounds, np.int64))
        shape = (*x.shape[:axis], *(() if drop_axis else (1,)), *x.shape[axis + 1 :])
        if x.dtype.hasobject or len(shape) > MAX_AXES:
            raise NoNativeKernel
        block_bytes = element_count(x.shape[axis + 1 :]) * x.dtype.itemsize
        numbers = (
            len(sizes),
            element_count(x.shape[:axis]),
            block_bytes,
            -1 if drop_axis else axis,
            x.dtype.num,
            len(shape),
            *shape,
        )
        return p.sequence("split", (x, p.constant(sizes)), None, numbers)
    leading: tuple[Any, ...] = (slice(None),) * axis
    if drop_axis:
        return [np.asarray(x[(*leading, k)], x.dtype) for k in range(size)]
    return [x[(*leading, slice(start, end))] for start, end in itertools.pairwise(bounds)]


def _split_offsets(split: Array | None, axis: int, shape: Sequence[int]) -> list[int]:
    """The start offsets of the parts of an axis, and the end."""
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
    """Native concatenation of elements with equal shapes and dtypes."""
    elements = sequence.read_elements()
    if not elements or any(x.shape != elements[0].shape or x.dtype != elements[0].dtype for x in elements):
        raise NoNativeKernel
    first, count = elements[0], len(elements)
    if new_axis:
        join_axis = normalize_axis(axis, first.ndim + 1)
        shape = (*first.shape[:join_axis], count, *first.shape[join_axis:])
    else:
        join_axis = normalize_existing_axis(axis, first.ndim)
        shape = (*first.shape[:join_axis], count * first.shape[join_axis], *first.shape[join_axis + 1 :])
    block = element_count(first.shape[join_axis:]) * first.dtype.itemsize
    numbers = (count, element_count(first.shape[:join_axis]), block, *_tensor_params(first))
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
