"""What an operator is bound to, and what comes of it: inputs, where tensors are, calls.

A view (reshape, transpose, slice, broadcasting) is a :class:`Buffer` over the same memory, with other strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import kernel as kernels
from ..ops.kernel_lookup import strides_of
from ..record import record

Shape = tuple[int, ...]
#: The axis along which a value's memory can grow, and its capacity: the extent that there is memory for.
Capacity = tuple[int, int]
#: The slot of a value that the result extends in place, and its capacity.
GrowthTarget = tuple[int, Capacity]
#: The dtype of a sequence.
OBJECT_DTYPE = np.dtype(object)


@record(frozen=True)
class Buffer:
    """Where a tensor's bytes are: memory (``kind`` "slot" or "temp", and its index), byte offset, shape, strides."""

    kind: str
    index: int
    dtype: np.dtype[Any]
    shape: Shape
    strides: Shape
    offset: int = 0
    #: The numbers themselves, where they depend on constants, shapes and dtypes alone.
    known: Array | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        return self.strides == strides_of(self.shape, self.dtype.itemsize) or self.size <= 1


@record(frozen=True)
class SequenceBuffer(Buffer):
    """A sequence that a slot holds or, of kind "temp", that a call gives. ``look``: reads its elements."""

    read_elements: Callable[[], list[Array]] = list


@record(frozen=True)
class DynamicExtentBuffer(Buffer):
    """A result with a data-dependent extent along ``axis``: the number in the temp ``count`` once the calls have run.
    Its shape has the capacity. It can only be an output."""

    axis: int = 0
    count: int = 0


@record(frozen=True)
class GrowableBuffer(Buffer):
    """An output whose memory has more capacity along an axis than its shape says."""

    capacity: Capacity = (0, 0)


@record(frozen=True)
class CallSpec:
    """One kernel call. ``buffers``: inputs, then the output. ``outer``: rows of extent and one stride an argument.

    ``onto``: which buffer begins as a copy of the first one; -1: none.
    """

    kernel: kernels.Kernel
    buffers: tuple[Buffer, ...]
    dims: Shape = ()
    steps: Shape = ()
    outer: tuple[Shape, ...] = ()
    extra: Shape = ()
    copy_target: int = -1


@record(frozen=True)
class VaryingIntegers:
    """A temp that holds integers, some of which vary, as int64."""

    numbers: tuple[Any, ...]


@record
class KernelBinding:
    """An operator bound to dtypes and shapes.

    ``temps``: memory that the calls need besides slots: an array is a constant, a number an amount of bytes to
    allocate. ``guards``: input positions and the numbers in them that all this rests on, an array or, where some follow
    an extent, all in row-major order. ``looked``: inputs whose numbers were read at all. ``cost``: about how many
    nanoseconds one execution takes; only limits and interrupts are timed by it.
    """

    outputs: list[Buffer]
    calls: list[CallSpec]
    temps: list[Array | int | VaryingIntegers]
    guards: dict[int, Array | tuple[Any, ...]]
    cost: int
    inspected_inputs: frozenset[int] = frozenset()
    #: If all that the calls do is to copy an input, or parts of it: what each output is a copy of.
    views: tuple[Buffer, ...] = ()
    #: The result extends a value in place. The value is not copied: it has to be in its slot already.
    in_place: bool = False


@record
class InputDescriptor:
    """An input of the binder: memory, and a way to read the numbers."""

    slot: int
    dtype: np.dtype[Any]
    shape: Shape
    known: Array | None
    peek: Callable[[], Array]
    #: Its integers, where some of them vary.
    numbers: tuple[Any, ...] | None = None
    #: The memory that the slot's value is a copy of: an alias, to be read in its place (copy elision, view_binding.py).
    alias: Buffer | None = None
    capacity: Capacity | None = None

    @property
    def buffer(self) -> Buffer:
        """The slot as memory."""
        strides = strides_of(shape_with_capacity(self.shape, self.capacity), self.dtype.itemsize)
        return Buffer("slot", self.slot, self.dtype, self.shape, strides, known=self.known)


@record
class SequenceInput(InputDescriptor):
    """An input that is a sequence; ``peek`` gives its elements."""

    peek: Callable[[], Any]

    @property
    def buffer(self) -> SequenceBuffer:
        return SequenceBuffer("slot", self.slot, OBJECT_DTYPE, (), (), read_elements=self.peek)


def shape_with_capacity(shape: Shape, capacity: Capacity | None) -> Shape:
    """The shape of a value's memory: its shape, with the capacity along the axis that can grow."""
    return shape if capacity is None else (*shape[: capacity[0]], capacity[1], *shape[capacity[0] + 1 :])


def with_unit_axes(x: Buffer, shape: Shape) -> Buffer:
    """A buffer with other axes of extent 1."""
    strides = iter([stride for extent, stride in zip(x.shape, x.strides, strict=True) if extent != 1])
    spread = tuple(0 if extent == 1 else next(strides) for extent in shape)
    known = None if x.known is None else x.known.reshape(shape)
    return Buffer(x.kind, x.index, x.dtype, shape, spread, x.offset, known)


def without_unit_axes(shape: Shape) -> Shape:
    """The axes that a call walks along."""
    return tuple(extent for extent in shape if extent != 1)
