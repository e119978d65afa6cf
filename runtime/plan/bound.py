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
from ..ops.arithmetic import strides_of
from ..record import record

Shape = tuple[int, ...]
#: The axis along which a value's memory has room for more, and the extent that there is memory for.
Room = tuple[int, int]
#: The slot of a value that a result goes on in, where it begins with that, and the room that it has.
Place = tuple[int, Room]
#: The dtype of a sequence.
OBJECT = np.dtype(object)


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
class Listed(Buffer):
    """A sequence that a slot holds or, of kind "temp", that a call gives. ``look``: its elements now."""

    look: Callable[[], list[Array]] = list


@record(frozen=True)
class Counted(Buffer):
    """A result that is shorter than its shape along ``axis``: as long as the number in the temp ``count`` says once the
    calls have run. It can only be an output."""

    axis: int = 0
    count: int = 0


@record(frozen=True)
class Roomy(Buffer):
    """An output whose memory has room for more along an axis."""

    room: Room = (0, 0)


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
    onto: int = -1


@record(frozen=True)
class Varied:
    """A temp that holds integers, some of which vary, as int64."""

    numbers: tuple[Any, ...]


@record
class Bound:
    """An operator bound to dtypes and shapes.

    ``temps``: memory that the calls need besides slots: an array is a constant, a number an amount of bytes to
    allocate. ``guards``: input positions and the numbers in them that all this rests on, an array or, where some follow
    an extent, all in row-major order. ``looked``: of which inputs numbers were seen at all. ``cost``: about how many
    nanoseconds one execution takes; only limits and interrupts are timed by it.
    """

    outputs: list[Buffer]
    calls: list[CallSpec]
    temps: list[Array | int | Varied]
    guards: dict[int, Array | tuple[Any, ...]]
    cost: int
    looked: frozenset[int] = frozenset()
    #: Where all that the calls do is to copy an input, or parts of it: what each output is a copy of.
    views: tuple[Buffer, ...] = ()
    #: The result begins with the value that it goes on in, which nothing copies: it has to be there.
    in_place: bool = False


@record
class Input:
    """An input as the binder sees it: memory, and a way to look at the numbers."""

    slot: int
    dtype: np.dtype[Any]
    shape: Shape
    known: Array | None
    peek: Callable[[], Array]
    #: Its integers, where some of them vary.
    numbers: tuple[Any, ...] | None = None
    #: The memory that the slot's value is a copy of, to be read in its place.
    seen: Buffer | None = None
    room: Room | None = None

    @property
    def whole(self) -> Buffer:
        """The slot as memory."""
        strides = strides_of(with_room(self.shape, self.room), self.dtype.itemsize)
        return Buffer("slot", self.slot, self.dtype, self.shape, strides, known=self.known)


@record
class ListInput(Input):
    """An input that is a sequence; ``peek`` gives its elements."""

    peek: Callable[[], Any]

    @property
    def whole(self) -> Listed:
        return Listed("slot", self.slot, OBJECT, (), (), look=self.peek)


def with_room(shape: Shape, room: Room | None) -> Shape:
    """The shape of all that a value has memory for."""
    return shape if room is None else (*shape[: room[0]], room[1], *shape[room[0] + 1 :])


def respread(x: Buffer, shape: Shape) -> Buffer:
    """A buffer with other axes of extent 1."""
    strides = iter([stride for extent, stride in zip(x.shape, x.strides, strict=True) if extent != 1])
    spread = tuple(0 if extent == 1 else next(strides) for extent in shape)
    known = None if x.known is None else x.known.reshape(shape)
    return Buffer(x.kind, x.index, x.dtype, shape, spread, x.offset, known)


def walked(shape: Shape) -> Shape:
    """The axes that a call walks along."""
    return tuple(extent for extent in shape if extent != 1)
