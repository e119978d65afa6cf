"""Copy elision: a node reads the source of a copied input with its strides instead of the copy.

A Reshape, a Transpose or a Slice between two nodes then moves no data. Applied only if the same kernel computes every
element in the same order: elementwise, or in a product whose summation order does not depend on strides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..kernels import loop_nest
from ..kernels.symbolic_extents import any_symbolic, variable_of
from ..ops.primitive_types import REFUSAL_ERRORS
from ..ops.registry import ResolvedOperator
from ..ops.ufunc_kernels import MAX_OUTER
from .binding_result import (
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
    """Adds and removes unit axes without a copy."""

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        if x.contiguous or x.kind != "slot" or without_unit_axes(x.shape) != without_unit_axes(tuple(shape)):
            return super().reshape(x, shape)
        return with_unit_axes(x, tuple(shape))


class _PackingBinder(OperatorBinder):
    """Copies inputs with spare capacity, whose rows are not contiguous."""

    def _input_buffer(self, i: InputDescriptor) -> Buffer:
        buffer = super()._input_buffer(i)
        return buffer if i.capacity is None or i.alias is not None else self.emit_copy(buffer)


def bind_with_capacity(
    op: ResolvedOperator, inputs: Sequence[InputDescriptor | None], target: GrowthTarget | None = None
) -> KernelBinding:
    """Bind ``op`` like :func:`~.operator_binder.bind` to inputs with spare capacity: read with strides if
    bit-identical, else copied first.

    ``target``: the value that the result extends, for operators that only copy their inputs.
    """
    if target is not None:
        return check_call_rank(_StridedBinder(inputs, target=target).bind(op))
    if not op.native or not [i for i in inputs if i is not None and i.capacity is not None]:
        return bind(op, inputs)
    span = variable_of([i.shape for i in inputs if i is not None])
    before = (span.min_valid, span.max_valid)
    bound = bind_with_views(op, inputs, {})
    if bound is None:
        span.min_valid, span.max_valid = before  # undo narrowing of the rejected binding
        bound = check_call_rank(_PackingBinder(inputs).bind(op))
    return bound


def bind_with_views(
    op: ResolvedOperator,
    inputs: Sequence[InputDescriptor | None],
    aliases: Mapping[int, Buffer],
    target: GrowthTarget | None = None,
) -> KernelBinding | None:
    """Bind ``op`` to the ``aliases`` of some slots; None if not profitable or not bit-identical."""
    aliased = [i if i is None or i.slot not in aliases else replace(i, alias=aliases[i.slot]) for i in inputs]
    packed = [i if i is None or i.capacity is None or target is not None else replace(i, capacity=None) for i in inputs]
    try:
        copied = OperatorBinder(packed, target=target).bind(op)
        bound = _StridedBinder(aliased, target=target).bind(op)
    except REFUSAL_ERRORS:
        return None
    if any(len(call.outer) > MAX_OUTER for call in bound.calls):
        return None
    specs = [(out.dtype, out.shape, out.known is None) for out in copied.outputs]
    if copied.guards or bound.guards or specs != [(out.dtype, out.shape, out.known is None) for out in bound.outputs]:
        return None
    if len(bound.calls) != len(copied.calls) or any(out.known is not None for out in bound.outputs):
        return None
    if not all(_is_bit_identical(a, b) for a, b in zip(bound.calls, copied.calls, strict=True)):
        return None
    return bound


def result_views(
    op: ResolvedOperator, inputs: Sequence[InputDescriptor | None], aliases: Mapping[int, Buffer]
) -> tuple[Buffer, ...]:
    """The sources of the results of ``op``, with aliases for some slots; empty if it does more than copy."""
    try:
        return (
            _StridedBinder(
                [i if i is None or i.slot not in aliases else replace(i, alias=aliases[i.slot]) for i in inputs]
            )
            .bind(op)
            .views
        )
    except REFUSAL_ERRORS:
        return ()


def _is_bit_identical(call: CallSpec, copied: CallSpec) -> bool:
    """Is a call bit-identical to the one that reads a copy?"""
    if call.kernel is not copied.kernel or len(call.buffers) != len(copied.buffers):
        return False
    if all(buffer.contiguous for buffer in call.buffers if buffer.kind == "slot"):
        return (call.dims, call.steps, call.extra) == (copied.dims, copied.steps, copied.extra)
    if call.kernel.driver == "routine":  # its strided inputs
        return call.extra == copied.extra
    if call.kernel.elementwise and call.kernel.exact:
        *inputs, out = call.buffers
        if not call.kernel.has_transpose_loop and any(map(_is_transposed, inputs)):
            return False
        return all((x.kind, x.index) != (out.kind, out.index) for x in inputs)
    if call.kernel.driver == "panels":  # the row stride of the start values may differ
        return (call.dims, call.extra[:-1]) == (copied.dims, copied.extra[:-1])
    is_product = len(call.dims) == 4 and len(call.buffers) == 3 and not call.extra
    if not is_product or (call.dims, _batch_extents(call.outer)) != (copied.dims, _batch_extents(copied.outer)):
        return False
    return loop_nest.is_small_tile_product(call.kernel, *call.dims[1:]) or call.steps == copied.steps


def _is_transposed(x: Buffer) -> bool:
    """Are matrices read column by column? Copying them first, by blocked transposition in registers, is 3x faster."""
    if x.ndim < 2 or any_symbolic((*x.shape[-2:], *x.strides[-2:])) or min(x.shape[-2:]) < 4:
        return False
    size = x.dtype.itemsize
    return size in (2, 4) and x.strides[-2] == size and x.strides[-1] > size


def _batch_extents(outer: Sequence[Shape]) -> list[int]:
    """The extents of a product's batch axes."""
    return [int(row[0]) for row in outer]
