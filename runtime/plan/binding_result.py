"""Result of binding an operator: input descriptors, buffer locations, kernel calls.

A view (reshape, transpose, slice, broadcasting) is a :class:`Buffer` over the same memory, with other strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import kernel as kernels
from ..ops.ufunc_kernels import row_major_strides
from ..record import record

Shape = tuple[int, ...]
#: The axis along which a value's memory can grow, and its capacity (allocated extent).
Capacity = tuple[int, int]
#: The slot of a value that the result may extend in place, and its capacity.
GrowthTarget = tuple[int, Capacity]
#: The dtype of a sequence.
OBJECT_DTYPE = np.dtype(object)


@record(frozen=True)
class Buffer:
    """A tensor's location: memory (``kind`` "slot" or "temp", and its index), byte offset, shape, strides."""

    kind: str
    index: int
    dtype: np.dtype[Any]
    shape: Shape
    strides: Shape
    offset: int = 0
    #: The data, if it depends only on constants, shapes and dtypes.
    known: Array | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def view(self, shape: Shape, strides: Shape, offset: int = 0, known: Array | None = None) -> Buffer:
        """The memory from ``offset`` on with another shape and strides."""
        return Buffer(self.kind, self.index, self.dtype, shape, strides, self.offset + offset, known)

    @property
    def contiguous(self) -> bool:
        return math.prod(self.shape) <= 1 or self.strides == row_major_strides(self.shape, self.dtype.itemsize)


@record(frozen=True)
class SequenceBuffer(Buffer):
    """A sequence in a slot or, of kind "temp", the result of a call."""

    read_elements: Callable[[], list[Array]] = list


@record(frozen=True)
class DynamicExtentBuffer(Buffer):
    """An output with a data-dependent extent along ``axis``, which is in the temp ``count`` after the calls. Its shape
    has the capacity."""

    axis: int = 0
    count: int = 0


@record(frozen=True)
class GrowableBuffer(Buffer):
    """An output whose memory has more capacity along an axis than its shape."""

    capacity: Capacity = (0, 0)


@record(frozen=True)
class CallSpec:
    """A kernel call. ``buffers``: inputs, then the output. ``outer``: rows of an extent and one stride per argument."""

    kernel: kernels.Kernel
    buffers: tuple[Buffer, ...]
    dims: Shape = ()
    steps: Shape = ()
    outer: tuple[Shape, ...] = ()
    extra: Shape = ()


@record(frozen=True)
class VaryingIntegers:
    """An int64 temp with symbolic integers."""

    numbers: tuple[Any, ...]


@record
class KernelBinding:
    """An operator bound to dtypes and shapes.

    ``temps``: memory of the calls besides slots: an array for a constant, a number of bytes to allocate. ``guards``:
    input positions and the data that the binding depends on, an array or, if symbolic, integers in row-major order.
    ``inspected_inputs``: inputs whose data was read. ``cost``: estimated nanoseconds per execution, used only for
    limits and interrupts.
    """

    outputs: list[Buffer]
    calls: list[CallSpec]
    temps: list[Array | int | VaryingIntegers]
    guards: dict[int, Array | tuple[Any, ...]]
    cost: int
    inspected_inputs: frozenset[int] = frozenset()
    #: If the calls only copy inputs or parts of them: the source of each output.
    views: tuple[Buffer, ...] = ()
    #: The result extends a value in place, which must already be in its slot.
    in_place: bool = False


@record
class InputDescriptor:
    """An input of the binder: its memory, and a function to read its data."""

    slot: int
    dtype: np.dtype[Any]
    shape: Shape
    known: Array | None
    peek: Callable[[], Array]
    #: Its integers, if some are symbolic.
    numbers: tuple[Any, ...] | None = None
    #: The memory of which the slot's value is a copy, read instead (copy elision, copy_elision.py).
    alias: Buffer | None = None
    capacity: Capacity | None = None

    @property
    def buffer(self) -> Buffer:
        """The slot as memory."""
        shape = self.shape if self.capacity is None else shape_with_capacity(self.shape, self.capacity)
        strides = row_major_strides(shape, self.dtype.itemsize)
        return Buffer("slot", self.slot, self.dtype, self.shape, strides, known=self.known)


@record
class SequenceInput(InputDescriptor):
    """A sequence input; ``peek`` returns its elements."""

    peek: Callable[[], Any]

    @property
    def buffer(self) -> SequenceBuffer:
        return SequenceBuffer("slot", self.slot, OBJECT_DTYPE, (), (), read_elements=self.peek)


def shape_with_capacity(shape: Shape, capacity: Capacity) -> Shape:
    """The shape of a value's memory: its shape with the capacity along the growing axis."""
    return (*shape[: capacity[0]], capacity[1], *shape[capacity[0] + 1 :])


def with_unit_axes(x: Buffer, shape: Shape) -> Buffer:
    """A buffer with other unit axes."""
    strides = iter([stride for extent, stride in zip(x.shape, x.strides, strict=True) if extent != 1])
    new_strides = tuple(0 if extent == 1 else next(strides) for extent in shape)
    known = None if x.known is None else x.known.reshape(shape)
    return x.view(shape, new_strides, known=known)


def without_unit_axes(shape: Shape) -> Shape:
    """The extents other than 1."""
    return tuple(extent for extent in shape if extent != 1)
