"""Binds one operator to native kernels: primitives that emit calls instead of computing.

The operator's function runs on :class:`Buffer` descriptions; its results give the dtype and shape of every output and
the kernel calls that fill them. call_emitter.py covers what depends only on dtypes, shapes and constants. This module
adds data-dependent primitives, whose bindings are valid for the current data only, and batches of iterations. If a
dtype or shape has no kernel, :class:`~..ops.primitive_types.NoNativeKernel` is raised and the node runs in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Array
from ..graph.slicing import strided_view
from ..kernels.symbolic_extents import approximate_quotient
from ..ops import ufunc_kernels
from ..ops.eager import EagerPrimitives
from ..ops.primitive_types import IterationFunction, NoNativeKernel, View
from ..ops.registry import ResolvedOperator
from ..ops.ufunc_kernels import MAX_OUTER, row_major_strides
from .batched_primitives import BatchedPrimitives, BatchedRows
from .binding_result import (
    Buffer,
    CallSpec,
    DynamicExtentBuffer,
    GrowableBuffer,
    GrowthTarget,
    InputDescriptor,
    KernelBinding,
    SequenceBuffer,
    Shape,
    VaryingIntegers,
    shape_with_capacity,
)
from .call_emitter import CallEmitter, Piece, clip_index

_EAGER = EagerPrimitives()
#: Iterations per batch: a GEMM of 64 rows takes 5 % longer per row than one of 500.
BLOCK_ITERATIONS = 64
#: Bytes of a batch's rows: [32, 256] @ [256, 1024] in batches of 64 iterations wrote 8 MB and took 1.3 times as long
#: per iteration as in batches of 8.
BLOCK_BYTES = 1 << 18
#: Iterations with at least this number of rows and at most these bytes of weights are not batched, which saves the
#: copy of rows: [32, 64] @ [64, 256] made a step of an LSTM 1.07 times as fast.
MIN_UNBATCHED_ROWS, SMALL_WEIGHTS_BYTES = 8, 1 << 19
#: Memory limit of a batch.
MAX_BLOCK_BYTES = 1 << 26


def bind(op: ResolvedOperator, inputs: Sequence[InputDescriptor | None]) -> KernelBinding:
    """Bind ``op`` to inputs of these dtypes and shapes.

    A batch has at most :data:`BLOCK_ITERATIONS` iterations.

    Raises:
        NoNativeKernel: it has to run in Python.
        Exception: an error of the operator for invalid inputs.
    """
    if not op.native:
        raise NoNativeKernel
    if op.pure and not op.sequences and not [i for i in inputs if i is not None and i.known is None]:
        return _fold_constants(op, [i if i is None else i.known for i in inputs])
    return check_call_rank(OperatorBinder(inputs).bind(op))


def check_call_rank(bound: KernelBinding) -> KernelBinding:
    """Return the binding after checking it.

    Raises:
        NoNativeKernel: a call exceeds the maximum number of axes.
    """
    for call in bound.calls:
        if len(call.outer) > MAX_OUTER:
            raise NoNativeKernel
    return bound


def _fold_constants(op: ResolvedOperator, arrays: Sequence[Array | None]) -> KernelBinding:
    """Constant folding: all inputs are known, so no calls are needed."""
    with np.errstate(all="ignore"):
        results = [np.ascontiguousarray(r).reshape(np.shape(r)) for r in op.apply(_EAGER, arrays)]
    outputs = [
        Buffer("temp", k, r.dtype, r.shape, row_major_strides(r.shape, r.dtype.itemsize), known=r)
        for k, r in enumerate(results)
    ]
    return KernelBinding(outputs, [], list(results), {}, 1)


class OperatorBinder(CallEmitter):
    """Implements :class:`~..ops.eager.EagerPrimitives` on buffers with access to the inputs."""

    def __init__(self, inputs: Sequence[InputDescriptor | None], target: GrowthTarget | None = None) -> None:
        super().__init__()
        self.inputs = inputs
        #: The value that an assembled result extends in place.
        self.append_target = target
        self.in_place = False
        self.guards: dict[int, Array | tuple[Any, ...]] = {}
        self.inspected_inputs: set[int] = set()

    def bind(self, op: ResolvedOperator) -> KernelBinding:
        results = op.apply(self, [None if i is None else self._input_buffer(i) for i in self.inputs])
        assigned: set[int] = set()
        outputs, views = [], []
        for result in results:
            known = result.known
            if isinstance(result, SequenceBuffer):
                result = result if result.kind == "temp" else self.sequence("same", (result,))
            elif (
                known is None and not isinstance(result, DynamicExtentBuffer) and not self.fills_temp(result, assigned)
            ):
                if result.kind == "slot":
                    views.append(result)
                result = self.emit_copy(result)
            assigned.add(result.index)
            outputs.append(result)
        used = {x.index for call in self.calls for x in call.buffers if x.kind == "temp"}
        used.update([x.index for x in outputs])
        for k, temp in enumerate(self.temps):
            if isinstance(temp, np.ndarray) and k not in used:
                self.temps[k] = 0  # unused constant, such as weights before packing
        only_copies = len(views) == len(outputs) == len(self.calls) and not self.guards
        inspected = frozenset(self.inspected_inputs)
        copies = tuple(views) if only_copies else ()
        return KernelBinding(outputs, self.calls, self.temps, self.guards, self.cost, inspected, copies, self.in_place)

    def _input_buffer(self, i: InputDescriptor) -> Buffer:
        return i.alias or i.buffer

    def _assembly_target(
        self, shape: Sequence[int], dtype: np.dtype[Any], pieces: Sequence[Piece]
    ) -> tuple[Buffer, Sequence[Piece]]:
        if self.append_target is None:
            return super()._assembly_target(shape, dtype, pieces)
        slot, capacity = self.append_target
        memory = self._allocate(shape_with_capacity(tuple(shape), capacity), dtype)
        out = GrowableBuffer("temp", memory.index, dtype, tuple(shape), memory.strides, capacity=capacity)
        target_input = next(i for i in self.inputs if i is not None and i.slot == slot)
        self.in_place = target_input.capacity == capacity and pieces[0][0] == target_input.buffer
        return out, pieces[self.in_place :]

    def fills_temp(self, buffer: Buffer, assigned: set[int]) -> bool:
        """True if a result fills a complete unassigned temp, so that the temp can be the output."""
        if isinstance(buffer, GrowableBuffer):
            return True
        if buffer.kind != "temp" or buffer.index in assigned or not buffer.contiguous or buffer.offset:
            return False
        size = self.temps[buffer.index]
        return not isinstance(size, np.ndarray | VaryingIntegers) and size == buffer.size * buffer.dtype.itemsize

    # -- data of inputs

    def slice_at(self, x: Buffer, axis: int, start: Buffer, end: Buffer) -> Buffer:
        length = x.shape[axis]
        if any((k := self._input_position(bound)) >= 0 and self.inputs[k].numbers for bound in (start, end)):  # type: ignore[union-attr]
            return self._slice_along(x, axis, self.integers(start)[0], self.integers(end)[0])
        first = clip_index(int(self._peek(start).reshape(())), length)
        stop = clip_index(int(self._peek(end).reshape(())), length)
        extent = max(stop - first, 0)
        shape = tuple(extent if d == axis else e for d, e in enumerate(x.shape))
        if start.known is not None and end.known is not None:
            return self._slice_along(x, axis, first, stop)
        if start.dtype.kind != "i" or end.dtype.kind != "i" or min(start.dtype.itemsize, end.dtype.itemsize) < 4:
            raise NoNativeKernel
        x = self._as_contiguous(x)
        out = self._allocate(shape, x.dtype)
        block = math.prod(x.shape[axis + 1 :]) * x.dtype.itemsize
        outer = math.prod(x.shape[:axis])
        extra = (outer, length, block, extent, start.dtype.itemsize, end.dtype.itemsize)
        self.cost += 10 + out.size
        kernel = ufunc_kernels.driver_kernel("slice_at", x.dtype)
        self.calls.append(CallSpec(kernel, (x, start, end, out), extra=extra))
        return out

    def integers(self, x: Buffer) -> tuple[int, ...]:
        position = self._input_position(x)
        numbers = None if position < 0 else self.inputs[position].numbers  # type: ignore[union-attr]
        if numbers is None or len(numbers) != x.size:
            return tuple([int(v) for v in self.value(x).reshape(-1)])
        self.guards[position] = numbers
        self.inspected_inputs.add(position)
        return numbers

    def value(self, x: Buffer) -> Array:
        if x.known is not None:
            return x.known
        numbers = self._peek(x)
        for position, candidate in enumerate(self.inputs):
            if candidate is not None and x.kind == "slot" and candidate.slot == x.index:
                for number in candidate.numbers or ():
                    int(number)  # narrows the symbolic range to the current value
                self.guards[position] = candidate.peek()
        return numbers

    def _input_position(self, x: Buffer) -> int:
        """The position of the input that a buffer is; -1: none, or constant."""
        if x.known is not None or x.kind != "slot" or not x.contiguous:
            return -1
        return next((k for k, i in enumerate(self.inputs) if i is not None and i.slot == x.index), -1)

    def _peek(self, x: Buffer) -> Array:
        """The current data of an input (or a reshaped one)."""
        if x.known is not None:
            return x.known
        for position, candidate in enumerate(self.inputs):
            if candidate is not None and x.kind == "slot" and candidate.slot == x.index and x.contiguous:
                self.inspected_inputs.add(position)
                first = x.offset // x.dtype.itemsize
                return candidate.peek().reshape(-1)[first : first + x.size].reshape(x.shape)
        raise NoNativeKernel

    # -- batches of iterations

    def run_hoisted_step(
        self,
        step: IterationFunction,
        iteration: Buffer,
        trips: Buffer | None,
        sources: Sequence[tuple[Buffer, View]],
        others: Sequence[Buffer],
        conditional: bool,
    ) -> Buffer:
        """Emit the calls for a batch of iterations and those for one, preceded by a selecting call (loop_nest.pyx)."""
        if not _is_integer_scalar(iteration):
            raise NoNativeKernel
        if trips is not None and not _is_integer_scalar(trips):
            trips, conditional = None, True  # the trip count is only a hint
        views = [_viewed_rows(x, view) for x, view in sources]
        count = min(view.shape[0] for view in views)
        if not count:
            raise NoNativeKernel
        prior, cost = self.calls, self.cost
        self.calls = []
        part = step(self, self._copy_parts(views, 1, False), others)
        out = self._allocate(part.shape, part.dtype)
        self._emit_row_copy(part, out)
        single, self.calls = self.calls, []
        size = _batch_size(min(BLOCK_ITERATIONS, count), count, out, others)
        self.cost = cost
        batch = self._emit_batch(step, views, others, size) if size > 1 else None
        if batch is None:
            raise NoNativeKernel
        self.calls, self.cost = [], cost + approximate_quotient(self.cost - cost, size)
        calls, rows = batch
        if rows.shape[1:] != out.shape or rows.dtype != out.dtype:
            raise NoNativeKernel
        row = rows.view(out.shape, rows.strides[1:])
        self._emit_row_copy(row, out)
        self.calls[-1] = replace(self.calls[-1], extra=(row.offset, rows.strides[0]))
        buffers = (iteration,) if trips is None else (iteration, trips)
        dims = (size, len(views), len(calls), 0 if trips is None else trips.dtype.itemsize)
        extra = (count, iteration.dtype.itemsize, int(conditional), -1)
        gate = _driver_call("block", buffers, dims, extra)
        self.calls = [*prior, gate, *calls, *self.calls, _driver_call("skip", extra=(len(single),)), *single]
        return out

    def _emit_batch(
        self, step: IterationFunction, views: Sequence[Buffer], others: Sequence[Buffer], size: int
    ) -> tuple[list[CallSpec], Buffer] | None:
        """The calls for ``size`` iterations, and their rows; None if impossible or not profitable."""
        temps = len(self.temps)
        self.calls = []
        batched = BatchedPrimitives(self, size)
        try:
            rows = step(batched, [BatchedRows(part) for part in self._copy_parts(views, size, True)], others)
            if batched.is_profitable and isinstance(rows, BatchedRows):
                batch_rows = self._as_contiguous(rows.batch)
                if sum(temp for temp in self.temps[temps:] if isinstance(temp, int)) <= MAX_BLOCK_BYTES:
                    return self.calls, batch_rows
        except NoNativeKernel:
            pass
        del self.temps[temps:]
        self.packed.clear()
        return None

    def _copy_parts(self, views: Sequence[Buffer], size: int, keep_axis: bool) -> list[Buffer]:
        """Copy the rows of ``size`` iterations (or of one, without the axis); ``extra`` of the call locates the
        source."""
        parts = []
        for view in views:
            shape = (size, *view.shape[1:])
            part = self._allocate(shape, view.dtype)
            self._emit_row_copy(view.view(shape, view.strides), part)
            self.calls[-1] = replace(self.calls[-1], extra=(view.offset, view.strides[0]))
            parts.append(part if keep_axis else self.reshape(part, view.shape[1:]))
        return parts

    def _emit_row_copy(self, source: Buffer, target: Buffer) -> None:
        """Emit one copy call."""
        if not target.size:
            raise NoNativeKernel
        self.emit_elementwise(ufunc_kernels.copy_kernel(source.dtype), (source,), target)


def _batch_size(limit: int, count: int, out: Buffer, others: Sequence[Buffer]) -> int:
    """The batch size for ``count`` iterations: equal batches whose rows fit in the cache, or are small compared to the
    weights."""
    weights = max((x.size * x.dtype.itemsize for x in others), default=0)
    if math.prod(out.shape[:-1]) >= MIN_UNBATCHED_ROWS and weights <= SMALL_WEIGHTS_BYTES:
        return 1
    limit = min(limit, max(BLOCK_BYTES, weights // 2) // max(out.size * out.dtype.itemsize, 1))
    return -(-count // -(-count // limit)) if limit > 1 else 1


def _is_integer_scalar(x: Buffer) -> bool:
    return x.size == 1 and x.dtype in (np.int32, np.int64)


def _driver_call(driver: str, buffers: tuple[Buffer, ...] = (), dims: Shape = (), extra: Shape = ()) -> CallSpec:
    return CallSpec(ufunc_kernels.driver_kernel(driver, np.dtype(np.int64)), buffers, dims, extra=extra)


def _viewed_rows(x: Buffer, view: View) -> Buffer:
    """Apply a view to a buffer, by way of a dummy array with the same strides."""
    base = np.zeros(1, x.dtype)
    array = view(strided_view(base, x.shape, x.strides))
    offset = 0
    if array.size:
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return x.view(array.shape, array.strides, offset)
