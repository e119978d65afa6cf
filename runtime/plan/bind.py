"""Bind one operator to native kernels: the primitives once more, this time emitting calls instead of computing.

The operator's function runs on :class:`Buffer` descriptions. What it returns tells the engine the dtype and shape of
every output and which kernel calls fill them. Views (reshape, transpose, slices, broadcasting) cost nothing: they are
strides that the next call reads. Where a dtype or shape has no kernel, :class:`~..ops.primitives.NotNative` says so and
the node runs in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..graph import Array
from ..graph.slices import strided
from ..kernels import kernel as kernels
from ..kernels.extents import Extent, now, share, varies, whole
from ..kernels.walks import broadcast_shapes, stride_along, walk
from ..ops import arithmetic
from ..ops.arithmetic import IDENTITY, MAX_OUTER, layout, strides_of
from ..ops.eager import Eager
from ..ops.primitives import Elementwise, IterationFunction, NotNative, View
from ..ops.registry import Op
from ..ops.weights import fits, panels_for, prepared
from .batch import Batched, Rows

Shape = tuple[int, ...]
_EAGER = Eager()
#: Iterations that are computed at once where that is possible: a GEMM of 64 rows takes 5 % more a row than one of 500.
BLOCK = 64
#: What a block's rows may take: [32, 256] @ [256, 1024] in blocks of 64 iterations wrote 8 MB, and took 1.3 times as
#: long an iteration as in blocks of 8.
BLOCK_BYTES = 1 << 18
#: Iterations of so many rows, with weights of so few bytes, are as fast by themselves, and need no copy of their rows:
#: [32, 64] @ [64, 256] made a step of an LSTM 1.07 times as fast as in blocks.
ROWS_ALONE, FEW_WEIGHTS = 8, 1 << 19
#: How a kernel is told of what weights in panels are stored as, by their bytes.
_STORED = {4: 1, 2: 2, 1: 3}
#: As many bytes at most are taken for a block.
MOST_BLOCK_BYTES = 1 << 26


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Listed(Buffer):
    """A sequence that a slot holds or, of kind "temp", that a call gives. ``look``: its elements now."""

    look: Callable[[], list[Array]] = list


_OBJECT = np.dtype(object)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Varied:
    """A temp that holds integers, some of which vary, as int64."""

    numbers: tuple[Any, ...]


@dataclass
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


@dataclass
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

    @property
    def whole(self) -> Buffer:
        """The slot as memory."""
        strides = strides_of(self.shape, self.dtype.itemsize)
        return Buffer("slot", self.slot, self.dtype, self.shape, strides, known=self.known)


@dataclass
class ListInput(Input):
    """An input that is a sequence; ``peek`` gives its elements."""

    peek: Callable[[], Any]

    @property
    def whole(self) -> Listed:
        return Listed("slot", self.slot, _OBJECT, (), (), look=self.peek)


def bind(op: Op, inputs: Sequence[Input | None], block: int | None = None) -> Bound:
    """Bind ``op`` to inputs of these dtypes and shapes. ``block``: see :data:`BLOCK`.

    Raises:
        NotNative: it has to run in Python.
        Exception: whatever the operator itself raises for inputs that it rejects.
    """
    if not op.native:
        raise NotNative
    if op.pure and not op.sequences and all(i is None or i.known is not None for i in inputs):
        return _fold(op, [i if i is None else i.known for i in inputs])
    bound = _Binder(inputs, block=block).bind(op)
    if any(len(call.outer) > MAX_OUTER for call in bound.calls):
        raise NotNative
    return bound


def _fold(op: Op, arrays: Sequence[Array | None]) -> Bound:
    """All inputs are known: so are the outputs, and nothing is left to call."""
    with np.errstate(all="ignore"):
        results = [np.ascontiguousarray(r).reshape(np.shape(r)) for r in op.apply(_EAGER, arrays)]
    outputs = [
        Buffer("temp", k, r.dtype, r.shape, strides_of(r.shape, r.dtype.itemsize), known=r)
        for k, r in enumerate(results)
    ]
    return Bound(outputs, [], list(results), {}, 1)


def _need(kernel: kernels.Kernel | None) -> kernels.Kernel:
    if kernel is None:
        raise NotNative
    return kernel


@dataclass
class _Binder:
    """Implements :class:`~..ops.primitives.Primitives` on buffers."""

    emits = True

    inputs: Sequence[Input | None]
    calls: list[CallSpec] = field(default_factory=list)
    temps: list[Array | int | Varied] = field(default_factory=list)
    guards: dict[int, Array | tuple[Any, ...]] = field(default_factory=dict)
    looked: set[int] = field(default_factory=set)
    packed: dict[Any, Buffer] = field(default_factory=dict)
    cost: int = 5
    block: int | None = None

    def bind(self, op: Op) -> Bound:
        arguments = [None if i is None else i.seen or i.whole for i in self.inputs]
        results = op.apply(self, arguments)
        taken: set[int] = set()
        outputs, views = [], []
        for result in results:
            known = result.known
            if isinstance(result, Listed):
                result = result if result.kind == "temp" else self.sequence("same", (result,))
            elif known is None and not self._owns_whole(result, taken):
                if result.kind == "slot":
                    views.append(result)
                result = self._copy(result)
            taken.add(result.index)
            outputs.append(result)
        used = {x.index for call in self.calls for x in call.buffers if x.kind == "temp"}
        used.update(x.index for x in outputs)
        for k, temp in enumerate(self.temps):
            if isinstance(temp, np.ndarray) and k not in used:
                self.temps[k] = 0  # only what was made of it is read: weights before they were packed
        plain = len(views) == len(outputs) == len(self.calls) and not self.guards
        looked = frozenset(self.looked)
        return Bound(outputs, self.calls, self.temps, self.guards, self.cost, looked, tuple(views) if plain else ())

    def _owns_whole(self, buffer: Buffer, taken: set[int]) -> bool:
        """True where a result fills a fresh temp from end to end, so that the temp can be the output itself."""
        if buffer.kind != "temp" or buffer.index in taken or not buffer.contiguous or buffer.offset:
            return False
        size = self.temps[buffer.index]
        return not isinstance(size, np.ndarray | Varied) and size == buffer.size * buffer.dtype.itemsize

    # -- memory

    def _new(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
        shape = tuple(whole(extent) for extent in shape)
        self.temps.append(math.prod(shape) * dtype.itemsize)
        return Buffer("temp", len(self.temps) - 1, dtype, shape, strides_of(shape, dtype.itemsize))

    def _copy(self, x: Buffer) -> Buffer:
        out = self._new(x.shape, x.dtype)
        self._elementwise(arithmetic.copy(x.dtype), (x,), out)
        return out

    def _contiguous(self, x: Buffer) -> Buffer:
        return x if x.contiguous else self._copy(x)

    # -- calls

    def _elementwise(self, kernel: kernels.Kernel, inputs: Sequence[Buffer], out: Buffer) -> None:
        """Emit one N-dimensional call; inputs broadcast to ``out``, whose strides may be 0 (reductions)."""
        if out.size == 0 and all(0 in i.shape for i in (*inputs, out)):
            return
        shape = broadcast_shapes(out.shape, *(i.shape for i in inputs))
        if 0 in shape:
            return
        buffers = (*inputs, out)
        self.cost += 5 + share(math.prod(shape), 2)
        self.calls.append(CallSpec(kernel, buffers, *walk(shape, [layout(x) for x in buffers], kernel.short_rows)))

    # -- primitives

    def map(self, function: Elementwise, *inputs: Buffer) -> Buffer:
        kernel = _need(arithmetic.elementwise(function, tuple(i.dtype for i in inputs)))
        shape = broadcast_shapes(*(i.shape for i in inputs))
        if not kernel.exact and not arithmetic.in_order(walk(shape, [layout(x) for x in inputs])[1], inputs):
            inputs = tuple(map(self._contiguous, inputs))
        out = self._new(shape, kernel.out)
        self._elementwise(kernel, inputs, out)
        return out

    def reduce(self, ufunc: np.ufunc, x: Buffer, axes: Sequence[int], keepdims: bool) -> Buffer:
        if not axes:
            return self._copy(x)
        kernel = _need(arithmetic.fold(ufunc, x.dtype))
        kept = tuple(1 if d in axes else extent for d, extent in enumerate(x.shape))
        out = self._new(kept, x.dtype)
        if ufunc in IDENTITY:
            start = self.constant(np.array(IDENTITY[ufunc](x.dtype), x.dtype))
        elif x.size:  # the first element may be counted twice
            start = self.slice(x, [0] * x.ndim, [1] * x.ndim, kept)
        else:
            raise NotNative
        self._elementwise(arithmetic.copy(x.dtype), (start,), out)
        spread = Buffer(out.kind, out.index, out.dtype, x.shape, arithmetic.spread(out, axes))
        if x.size:
            self._elementwise(kernel, (spread, x), spread)
        return out if keepdims else self.reshape(out, [e for d, e in enumerate(x.shape) if d not in axes])

    def accumulate(self, ufunc: np.ufunc, x: Buffer, axis: int) -> Buffer:
        kernel = _need(arithmetic.running(ufunc, x.dtype))
        out = self._copy(x)
        if x.size == 0 or x.shape[axis] == 1:
            return out
        ahead = Buffer(out.kind, out.index, out.dtype, out.shape, out.strides, offset=out.strides[axis])
        self.cost += x.size * 2
        self.calls.append(CallSpec(kernel, (out, ahead, ahead), *arithmetic.running_walk(out, axis)))
        return out

    def arg(self, which: str, x: Buffer, axis: int, last: bool) -> Buffer:
        if not arithmetic.has_extremes(x):
            raise NotNative
        x = self._contiguous(x)
        out = self._new(tuple(1 if d == axis else e for d, e in enumerate(x.shape)), np.dtype(np.int64))
        self.cost += x.size * 2
        extra = arithmetic.extreme_numbers(which, x, axis, last)
        self.calls.append(CallSpec(arithmetic.special("arg", out.dtype), (x, out), extra=extra))
        return out

    def matmul(self, a: Buffer, b: Buffer) -> Buffer:
        if a.ndim == 0 or b.ndim == 0:
            raise ValueError("matmul needs inputs of rank 1 or more")
        a2 = self.reshape(a, (1, *a.shape)) if a.ndim == 1 else a
        b2 = self.reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
        shape = arithmetic.product_shape(a2, b2)
        kernel = _need(arithmetic.product(a.dtype, b.dtype))
        out = self._new(shape, kernel.out)
        if out.size:
            self.cost += 20 + share(out.size * a2.shape[-1], 8)
            self.calls.append(CallSpec(kernel, (a2, b2, out), *arithmetic.product_walk(a2, b2, out)))
        return self.reshape(out, shape[:-2] + (shape[-2:-1] if a.ndim > 1 else ()) + (shape[-1:] if b.ndim > 1 else ()))

    def weighted(self, a: Buffer, b: Buffer, start: Buffer | None = None) -> Buffer:
        if not fits(a, b):
            result = self.matmul(a, b)
            return result if start is None else self.map(np.add, result, start)
        k, n = b.shape
        a = self._contiguous(a)
        packed = b.known is not None
        b = self._contiguous(b) if b.known is None else self._packed(b, b.known, now(a.size) // k)
        stored = _STORED[b.dtype.itemsize] if packed else 0
        out = self._new((*a.shape[:-1], n), a.dtype)
        self.cost += 20 + share(a.size * n, 16)
        kernel = arithmetic.special("panels", a.dtype)
        step = 0
        if start is not None:
            if start.shape[-1:] != (n,) or start.size != n:
                start, step = self.broadcast(start, out.shape), n
            start = self._contiguous(start)
        buffers = (a, b, out) if start is None else (a, b, start, out)
        self.calls.append(CallSpec(kernel, buffers, (a.size // k, k, n), extra=(stored, step)))
        return out

    def _packed(self, b: Buffer, weights: Array, rows: int) -> Buffer:
        """Weights in panels; once, also where a block of iterations and a single one use them alike."""
        layout = panels_for(rows)
        key = (b.kind, b.index, b.offset, b.shape, b.strides, layout)
        if key not in self.packed:
            array = prepared(weights, layout)
            self.temps.append(array)
            self.packed[key] = Buffer("temp", len(self.temps) - 1, array.dtype, array.shape, array.strides)
        return self.packed[key]

    # -- blocks of iterations

    def blocks(
        self,
        step: IterationFunction,
        iteration: Buffer,
        trips: Buffer | None,
        sources: Sequence[tuple[Buffer, View]],
        others: Sequence[Buffer],
        conditional: bool,
    ) -> Buffer:
        """Calls for a block of iterations, then those for one, and before them one that says which (kernel.pyx)."""
        if not _is_count(iteration):
            raise NotNative
        if trips is not None and not _is_count(trips):
            trips, conditional = None, True  # no more than a hint
        views = [_rows(x, view) for x, view in sources]
        count = min(view.shape[0] for view in views)
        if not count:
            raise NotNative
        before, cost = self.calls, self.cost
        self.calls = []
        part = step(self, self._parts(views, 1, False), others)
        out = self._new(part.shape, part.dtype)
        self._row(part, out)
        alone, self.calls = self.calls, []
        size = _iterations(min(self.block or BLOCK, count), count, out, others)
        self.cost = cost
        together = self._together(step, views, others, size) if size > 1 else None
        if together is None:
            raise NotNative
        self.calls, self.cost = [], cost + share(self.cost - cost, size)
        calls, rows = together
        if rows.shape[1:] != out.shape or rows.dtype != out.dtype:
            raise NotNative
        row = Buffer(rows.kind, rows.index, rows.dtype, out.shape, rows.strides[1:], rows.offset)
        self._row(row, out)
        self.calls[-1] = replace(self.calls[-1], extra=(row.offset, rows.strides[0]))
        buffers = (iteration,) if trips is None else (iteration, trips)
        dims = (size, len(views), len(calls), 0 if trips is None else trips.dtype.itemsize)
        extra = (count, iteration.dtype.itemsize, int(conditional), -1)
        gate = _special("block", buffers, dims, extra)
        self.calls = [*before, gate, *calls, *self.calls, _special("skip", extra=(len(alone),)), *alone]
        return out

    def _together(
        self, step: IterationFunction, views: Sequence[Buffer], others: Sequence[Buffer], size: int
    ) -> tuple[list[CallSpec], Buffer] | None:
        """The calls for ``size`` iterations, and their rows; None where that is not possible, or not worth it."""
        temps = len(self.temps)
        self.calls = []
        batched = Batched(self, size)
        try:
            rows = step(batched, [Rows(part) for part in self._parts(views, size, True)], others)
            if batched.pays and isinstance(rows, Rows):
                whole = self._contiguous(rows.all)
                if sum(temp for temp in self.temps[temps:] if isinstance(temp, int)) <= MOST_BLOCK_BYTES:
                    return self.calls, whole
        except NotNative:
            pass
        del self.temps[temps:]
        self.packed.clear()
        return None

    def _parts(self, views: Sequence[Buffer], size: int, keep_axis: bool) -> list[Buffer]:
        """The rows of ``size`` iterations (or of one, without the axis), copied; the first call says from where."""
        parts = []
        for view in views:
            shape = (size, *view.shape[1:])
            part = self._new(shape, view.dtype)
            self._row(Buffer(view.kind, view.index, view.dtype, shape, view.strides, view.offset), part)
            self.calls[-1] = replace(self.calls[-1], extra=(view.offset, view.strides[0]))
            parts.append(part if keep_axis else self.reshape(part, view.shape[1:]))
        return parts

    def _row(self, source: Buffer, target: Buffer) -> None:
        """One call that copies."""
        if not target.size:
            raise NotNative
        self._elementwise(arithmetic.copy(source.dtype), (source,), target)

    def where(self, condition: Buffer, a: Buffer, b: Buffer) -> Buffer:
        if condition.dtype != np.bool_ or a.dtype != b.dtype or a.dtype.hasobject:
            raise NotNative
        out = self._new(broadcast_shapes(condition.shape, a.shape, b.shape), a.dtype)
        self._elementwise(arithmetic.where(a.dtype), (condition, a, b), out)
        return out

    def cast(self, x: Buffer, dtype: np.dtype[Any]) -> Buffer:
        if x.dtype == dtype:
            return x
        if x.known is not None:  # weights of another type, once
            return self.constant(_EAGER.cast(x.known, dtype))
        kernel = _need(arithmetic.cast(x.dtype, dtype))
        out = self._new(x.shape, dtype)
        self._elementwise(kernel, (x,), out)
        return out

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        shape = tuple(whole(extent) for extent in shape)
        if math.prod(shape) != x.size:
            raise ValueError(f"cannot reshape {list(x.shape)} into {list(shape)}")
        x = self._contiguous(x)
        known = None if x.known is None else x.known.reshape(shape)
        return Buffer(x.kind, x.index, x.dtype, shape, strides_of(shape, x.dtype.itemsize), x.offset, known)

    def transpose(self, x: Buffer, perm: Sequence[int]) -> Buffer:
        if sorted(perm) != list(range(x.ndim)):
            raise ValueError(f"{list(perm)} is not a permutation of the axes of rank {x.ndim}")
        return Buffer(
            x.kind,
            x.index,
            x.dtype,
            tuple(x.shape[d] for d in perm),
            tuple(x.strides[d] for d in perm),
            x.offset,
            None if x.known is None else x.known.transpose(tuple(perm)),
        )

    def broadcast(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        shape = tuple(whole(extent) for extent in shape)
        if broadcast_shapes(x.shape, shape) != shape:
            raise ValueError(f"cannot broadcast {list(x.shape)} to {list(shape)}")
        strides = tuple(stride_along(x.shape, x.strides, d - len(shape)) for d in range(len(shape)))
        known = None if x.known is None else np.broadcast_to(x.known, shape)
        return Buffer(x.kind, x.index, x.dtype, shape, strides, x.offset, known)

    def slice(self, x: Buffer, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Buffer:
        offset = x.offset
        if 0 not in extents:
            offset += sum(whole(s) * stride for s, stride in zip(starts, x.strides, strict=True))
        known = None if x.known is None else _EAGER.slice(x.known, starts, steps, extents)
        strides = tuple(int(step) * stride for step, stride in zip(steps, x.strides, strict=True))
        shape = tuple(whole(e) for e in extents)
        return Buffer(x.kind, x.index, x.dtype, shape, _plain(shape, strides, x.dtype.itemsize), offset, known)

    def slice_at(self, x: Buffer, axis: int, start: Buffer, end: Buffer) -> Buffer:
        length = x.shape[axis]
        if any((k := self._place(bound)) >= 0 and self.inputs[k].numbers for bound in (start, end)):  # type: ignore[union-attr]
            return self._slice_along(x, axis, self.integers(start)[0], self.integers(end)[0])
        first = _place(int(self._peek(start).reshape(())), length)
        stop = _place(int(self._peek(end).reshape(())), length)
        extent = max(stop - first, 0)
        shape = tuple(extent if d == axis else e for d, e in enumerate(x.shape))
        if start.known is not None and end.known is not None:
            return self._slice_along(x, axis, first, stop)
        if start.dtype.kind != "i" or end.dtype.kind != "i" or min(start.dtype.itemsize, end.dtype.itemsize) < 4:
            raise NotNative
        x = self._contiguous(x)
        out = self._new(shape, x.dtype)
        block = math.prod(x.shape[axis + 1 :]) * x.dtype.itemsize
        outer = math.prod(x.shape[:axis])
        extra = (outer, length, block, extent, start.dtype.itemsize, end.dtype.itemsize)
        self.cost += 10 + out.size
        kernel = arithmetic.special("slice_at", x.dtype)
        self.calls.append(CallSpec(kernel, (x, start, end, out), extra=extra))
        return out

    def _slice_along(self, x: Buffer, axis: int, start: int, end: int) -> Buffer:
        length = x.shape[axis]
        first, stop = _place(start, length), _place(end, length)
        shape = tuple(max(stop - first, 0) if d == axis else e for d, e in enumerate(x.shape))
        return self.slice(x, [first if d == axis else 0 for d in range(x.ndim)], [1] * x.ndim, shape)

    def assemble(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        pieces: Sequence[tuple[Buffer, Sequence[int]]],
        fill: Any = None,
    ) -> Buffer:
        out = self._new(shape, dtype)
        copy = arithmetic.copy(dtype)
        if fill is not None:
            value = self.constant(np.array(fill, dtype))
            # Only what the one piece leaves: 3x, with typed fills, for a border around 256x256.
            around = [((0,) * out.ndim, out.shape)]
            if len(pieces) == 1:
                around = _around(out.shape, pieces[0][1], pieces[0][0].shape)
            for first, extents in around:
                self._elementwise(copy, (value,), self.slice(out, first, [1] * out.ndim, extents))
        for piece, starts in pieces:
            if piece.dtype != dtype:
                raise NotNative
            if piece.size:
                self._elementwise(copy, (piece,), self.slice(out, starts, [1] * out.ndim, piece.shape))
        return out

    def gather(self, x: Buffer, indices: Buffer, axis: int) -> Buffer:
        if indices.dtype.kind != "i" or indices.dtype.itemsize < 4:
            raise NotNative
        if indices.known is not None and indices.size == 1:
            return self._row_of(x, int(indices.known.reshape(())), axis, indices.shape)
        x, indices = self._contiguous(x), self._contiguous(indices)
        out = self._new((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
        if indices.size and math.prod(x.shape[:axis]):
            block = math.prod(x.shape[axis + 1 :]) * x.dtype.itemsize
            extra = (math.prod(x.shape[:axis]), x.shape[axis], block, indices.size, indices.dtype.itemsize)
            self.cost += 10 + out.size
            kernel = arithmetic.special("gather", x.dtype)
            self.calls.append(CallSpec(kernel, (x, indices, out), extra=extra))
        return out

    def _row_of(self, x: Buffer, index: int, axis: int, shape: Shape) -> Buffer:
        """What one constant index picks, as a view; ``shape``: of the index, all ones."""
        length = x.shape[axis]
        if not -length <= index < length:
            raise NotNative  # Python says so, where it runs
        first = index + length if index < 0 else index
        row = self._slice_along(x, axis, first, first + 1)
        shape = (*row.shape[:axis], *shape, *row.shape[axis + 1 :])
        strides = (
            *row.strides[:axis],
            *(row.strides[axis] for _ in range(len(shape) - x.ndim + 1)),
            *row.strides[axis + 1 :],
        )
        known = None if row.known is None else row.known.reshape(shape)
        return replace(row, shape=shape, strides=_plain(shape, strides, x.dtype.itemsize), known=known)

    def routine(
        self,
        name: str,
        inputs: Sequence[Buffer],
        outputs: Sequence[tuple[Sequence[int], np.dtype[Any]]],
        numbers: Sequence[int] = (),
        scratch: int = 0,
        failure: str = "",
        rows: Sequence[int] = (),
        onto: bool = False,
    ) -> tuple[Buffer, ...]:
        if any(x.dtype.hasobject for x in inputs):
            raise NotNative
        arguments = [self._contiguous(x) for x in inputs]
        results = tuple([self._new(shape, dtype) for shape, dtype in outputs])
        memory = [self._new((scratch,), np.dtype(np.uint8))] if scratch else []
        self.cost += 20 + sum(share(x.size, 1) for x in (*arguments, *results))
        buffers = (*arguments, *results, *memory)
        begun = len(arguments) if onto else -1
        self.calls.append(CallSpec(arithmetic.routine(name), buffers, extra=tuple(numbers), onto=begun))
        return results

    def sequence(
        self,
        name: str,
        inputs: Sequence[Buffer],
        output: tuple[Sequence[int], np.dtype[Any]] | None = None,
        numbers: Sequence[int] = (),
    ) -> Buffer:
        arguments = [x if isinstance(x, Listed) else self._contiguous(x) for x in inputs]
        # What goes on with a sequence that the same node made takes its place.
        made = (x for x in arguments if isinstance(x, Listed) and x.kind == "temp")
        result: Buffer | None = next(made, None)
        if output is not None:
            result = self._new(*output)
        elif result is None:
            self.temps.append(np.dtype(np.intp).itemsize)
            result = Listed("temp", len(self.temps) - 1, _OBJECT, (), ())
        self.cost += 200
        self.calls.append(CallSpec(arithmetic.routine(f"sequences.{name}"), (*arguments, result), extra=tuple(numbers)))
        return result

    def constant(self, array: Array | Extent) -> Buffer:
        if isinstance(array, Extent):
            return self.numbers((array,), (), np.dtype(np.int64))
        if array.dtype.hasobject:
            raise NotNative
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        self.temps.append(array)
        strides = strides_of(array.shape, array.dtype.itemsize)
        return Buffer("temp", len(self.temps) - 1, array.dtype, array.shape, strides, known=array)

    def prepared(self, x: Buffer, layout: Callable[[Array], Array]) -> Buffer | None:
        return None if x.known is None else self.constant(prepared(x.known, layout))

    def integers(self, x: Buffer) -> tuple[int, ...]:
        position = self._place(x)
        numbers = None if position < 0 else self.inputs[position].numbers  # type: ignore[union-attr]
        if numbers is None or len(numbers) != x.size:
            return tuple([int(v) for v in self.value(x).reshape(-1)])
        self.guards[position] = numbers
        self.looked.add(position)
        return numbers

    def numbers(self, values: Sequence[Any], shape: Sequence[int], dtype: np.dtype[Any]) -> Buffer:
        if not varies(values):
            return self.constant(np.array(values, dtype).reshape(tuple(shape)))
        self.temps.append(Varied(tuple(values)))
        int64 = np.dtype(np.int64)
        return self.cast(Buffer("temp", len(self.temps) - 1, int64, tuple(shape), strides_of(shape, 8)), dtype)

    def value(self, x: Buffer) -> Array:
        if x.known is not None:
            return x.known
        numbers = self._peek(x)
        for position, candidate in enumerate(self.inputs):
            if candidate is not None and x.kind == "slot" and candidate.slot == x.index:
                for number in candidate.numbers or ():
                    int(number)  # what follows holds for this very one
                self.guards[position] = candidate.peek()
        return numbers

    def _place(self, x: Buffer) -> int:
        """Which input a buffer is; -1: none whose numbers are not known."""
        if x.known is not None or x.kind != "slot" or not x.contiguous:
            return -1
        return next((k for k, i in enumerate(self.inputs) if i is not None and i.slot == x.index), -1)

    def _peek(self, x: Buffer) -> Array:
        """The numbers in an input (or a reshaped one) as they are now."""
        if x.known is not None:
            return x.known
        for position, candidate in enumerate(self.inputs):
            if candidate is not None and x.kind == "slot" and candidate.slot == x.index and x.contiguous:
                self.looked.add(position)
                first = x.offset // x.dtype.itemsize
                return candidate.peek().reshape(-1)[first : first + x.size].reshape(x.shape)
        raise NotNative


def _iterations(most: int, count: int, out: Buffer, others: Sequence[Buffer]) -> int:
    """How many of ``count`` iterations are computed at once: blocks of one size, whose rows stay in the cache, or are
    few beside the weights that are read for them."""
    weights = max((x.size * x.dtype.itemsize for x in others), default=0)
    if math.prod(out.shape[:-1]) >= ROWS_ALONE and weights <= FEW_WEIGHTS:
        return 1
    most = min(most, max(BLOCK_BYTES, weights // 2) // max(out.size * out.dtype.itemsize, 1))
    return -(-count // -(-count // most)) if most > 1 else 1


def _plain(shape: Shape, strides: Shape, itemsize: int) -> Shape:
    """Strides as contiguous memory has them where only those of extents of 1 differ: nobody walks along these."""
    if varies(shape):
        return strides
    plain = strides_of(shape, itemsize)
    return plain if all(e == 1 or a == b for e, a, b in zip(shape, strides, plain, strict=True)) else strides


def respread(x: Buffer, shape: Shape) -> Buffer:
    """A buffer with other axes of extent 1."""
    strides = iter([stride for extent, stride in zip(x.shape, x.strides, strict=True) if extent != 1])
    spread = tuple(0 if extent == 1 else next(strides) for extent in shape)
    known = None if x.known is None else x.known.reshape(shape)
    return Buffer(x.kind, x.index, x.dtype, shape, spread, x.offset, known)


def walked(shape: Shape) -> Shape:
    """The axes that a call walks along."""
    return tuple(extent for extent in shape if extent != 1)


def _is_count(x: Buffer) -> bool:
    return x.size == 1 and x.dtype in (np.int32, np.int64)


def _special(driver: str, buffers: tuple[Buffer, ...] = (), dims: Shape = (), extra: Shape = ()) -> CallSpec:
    return CallSpec(arithmetic.special(driver, np.dtype(np.int64)), buffers, dims, extra=extra)


def _rows(x: Buffer, view: View) -> Buffer:
    """A buffer seen as rows: the view is taken of an array with the same strides whose memory is never touched."""
    base = np.zeros(1, x.dtype)
    array = view(strided(base, x.shape, x.strides))
    offset = x.offset
    if array.size:
        offset += array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return Buffer(x.kind, x.index, x.dtype, array.shape, array.strides, offset)


def _place(index: int, length: int) -> int:
    """Where an index stands in an axis, as Python's slices read it."""
    return min(max(index + length if index < 0 else index, 0), length)


def _around(shape: Shape, starts: Sequence[int], extents: Sequence[int]) -> list[tuple[Shape, Shape]]:
    """What of a shape lies outside a block: starts and extents of blocks that do not overlap."""
    blocks = []
    low, high = [0] * len(shape), list(shape)
    for d, (start, extent) in enumerate(zip(starts, extents, strict=True)):
        for a, b in ((0, start), (start + extent, shape[d])):
            if a < b:
                first, end = [*low[:d], a, *low[d + 1 :]], [*high[:d], b, *high[d + 1 :]]
                blocks.append((tuple(first), tuple(e - f for f, e in zip(first, end, strict=True))))
        low[d], high[d] = start, start + extent
    return blocks
