"""Copy elision: a node reads the memory that its input is a copy of, with its strides, in place of the copy.

A Reshape, a Transpose or a Slice between two nodes then moves no data. It is done only if every number comes out of the
same kernel in the same order: elementwise, one by one, or in a product whose order does not depend on the strides of
its matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..kernels import loop_nest
from ..kernels.symbolic_extents import any_symbolic, variable_of
from ..ops.kernel_lookup import MAX_OUTER
from ..ops.primitives import REFUSAL_ERRORS
from ..ops.registry import ResolvedOperator
from .kernel_binding import (
    Buffer,
    CallSpec,
    GrowthTarget,
    InputDescriptor,
    KernelBinding,
    Shape,
    with_unit_axes,
    without_unit_axes,
)
from .operator_binder import OperatorBinder, bind, check_call_rank


class _StridedBinder(OperatorBinder):
    """Adds and removes axes of extent 1 without a copy."""

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        if x.contiguous or x.kind != "slot" or without_unit_axes(x.shape) != without_unit_axes(tuple(shape)):
            return super().reshape(x, shape)
        return with_unit_axes(x, tuple(shape))


class _PackingBinder(OperatorBinder):
    """Copies inputs first whose memory has more capacity than their shape: their rows lie apart."""

    def _input_buffer(self, i: InputDescriptor) -> Buffer:
        whole = super()._input_buffer(i)
        return whole if i.capacity is None or i.alias is not None else self._copy(whole)


def bind_with_capacity(
    op: ResolvedOperator, inputs: Sequence[InputDescriptor | None], place: GrowthTarget | None = None
) -> KernelBinding:
    """Bind ``op`` as :func:`~.bind.bind` does, to inputs whose memory may have more capacity than their shape: it is
    read with its strides if that gives the same bits, else copied first.

    ``place``: the value that the result extends, of an operator that does nothing but copy its inputs.
    """
    if place is not None:
        return check_call_rank(_StridedBinder(inputs, place=place).bind(op))
    if not op.native or all(i is None or i.capacity is None for i in inputs):
        return bind(op, inputs)
    span = variable_of([i.shape for i in inputs if i is not None])
    before = (span.min_valid, span.max_valid)
    bound = bind_with_views(op, inputs, {})
    if bound is None:
        span.min_valid, span.max_valid = before  # what it refused to do decides nothing
        bound = check_call_rank(_PackingBinder(inputs).bind(op))
    return bound


def bind_with_views(
    op: ResolvedOperator,
    inputs: Sequence[InputDescriptor | None],
    seen: Mapping[int, Buffer],
    place: GrowthTarget | None = None,
) -> KernelBinding | None:
    """``op`` bound to aliases of some slots, ``seen``; None if that gains nothing, or does not give the same bits."""
    given = [i if i is None or i.slot not in seen else replace(i, alias=seen[i.slot]) for i in inputs]
    packed = [i if i is None or i.capacity is None or place is not None else replace(i, capacity=None) for i in inputs]
    try:
        plain = OperatorBinder(packed, place=place).bind(op)
        bound = _StridedBinder(given, place=place).bind(op)
    except REFUSAL_ERRORS:
        return None
    if any(len(call.outer) > MAX_OUTER for call in bound.calls):
        return None
    specs = [(out.dtype, out.shape, out.known is None) for out in plain.outputs]
    if plain.guards or bound.guards or specs != [(out.dtype, out.shape, out.known is None) for out in bound.outputs]:
        return None
    if len(bound.calls) != len(plain.calls) or any(out.known is not None for out in bound.outputs):
        return None
    if not all(_is_same(a, b) for a, b in zip(bound.calls, plain.calls, strict=True)):
        return None
    return bound


def result_views(
    op: ResolvedOperator, inputs: Sequence[InputDescriptor | None], seen: Mapping[int, Buffer]
) -> tuple[Buffer, ...]:
    """What the results of ``op`` are copies of, with aliases for some slots; empty if it does more than copy."""
    try:
        return (
            _StridedBinder([i if i is None or i.slot not in seen else replace(i, alias=seen[i.slot]) for i in inputs])
            .bind(op)
            .views
        )
    except REFUSAL_ERRORS:
        return ()


def _is_same(call: CallSpec, plain: CallSpec) -> bool:
    """Does a call give the same bits as the one that reads a copy?"""
    if (
        call.kernel is not plain.kernel
        or len(call.buffers) != len(plain.buffers)
        or call.copy_target != plain.copy_target
    ):
        return False
    if all(buffer.contiguous for buffer in call.buffers if buffer.kind == "slot"):
        return (call.dims, call.steps, call.extra) == (plain.dims, plain.steps, plain.extra)
    if call.kernel.elementwise and call.kernel.exact:
        *inputs, out = call.buffers
        if not call.kernel.has_transpose_loop and any(map(_is_transposed, inputs)):
            return False
        return all((x.kind, x.index) != (out.kind, out.index) for x in inputs)
    if call.kernel.driver == "panels":  # what sums start with may lie in rows that are further apart
        return (call.dims, call.extra[:-1]) == (plain.dims, plain.extra[:-1])
    is_product = len(call.dims) == 4 and len(call.buffers) == 3 and not call.extra
    if not is_product or (call.dims, _outer_extents(call.outer)) != (plain.dims, _outer_extents(plain.outer)):
        return False
    return loop_nest.is_small_tile_product(call.kernel, *call.dims[1:]) or call.steps == plain.steps


def _is_transposed(x: Buffer) -> bool:
    """Are matrices read column by column? To copy them first, turned by blocks in registers, takes a third of that."""
    if x.ndim < 2 or any_symbolic((*x.shape[-2:], *x.strides[-2:])) or min(x.shape[-2:]) < 4:
        return False
    size = x.dtype.itemsize
    return size in (2, 4) and x.strides[-2] == size and x.strides[-1] > size


def _outer_extents(outer: Sequence[Shape]) -> list[int]:
    """How often a product is done along each axis outside of its matrices."""
    return [int(row[0]) for row in outer]
