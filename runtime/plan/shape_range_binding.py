"""Helpers for nodes that are bound for a range of shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels import loop_nest
from ..kernels.symbolic_extents import current_extent
from ..ops import ufunc_kernels
from .binding_result import Buffer, CallSpec, InputDescriptor, KernelBinding, VaryingIntegers


def narrow_to_driver_choices(bound: KernelBinding) -> None:
    """Narrow the extent range to one in which the drivers' choices for calls are constant."""
    for call in bound.calls:
        loop_nest.narrow_extent_ranges(call.kernel, call.dims, call.steps, call.outer)


def with_current_extents(bound: KernelBinding, inputs: Sequence[InputDescriptor | None]) -> KernelBinding:
    """The binding with symbolic integers replaced by their current values."""
    buffers: dict[int, Buffer] = {}

    def current(buffer: Buffer) -> Buffer:
        key = id(buffer)
        if key not in buffers:
            buffers[key] = replace(
                buffer,
                shape=_current_extents(buffer.shape),
                strides=_current_extents(buffer.strides),
                offset=current_extent(buffer.offset),
            )
        return buffers[key]

    calls = [
        CallSpec(
            call.kernel,
            tuple(map(current, call.buffers)),
            _current_extents(call.dims),
            _current_extents(call.steps),
            tuple(map(_current_extents, call.outer)),
            _current_extents(call.extra),
        )
        for call in bound.calls
    ]
    temps: list[Any] = []
    for temp in bound.temps:
        if isinstance(temp, VaryingIntegers):
            temps.append(np.array(_current_extents(temp.numbers), np.int64))
        else:
            temps.append(temp if isinstance(temp, np.ndarray) else current_extent(temp))
    guards: dict[int, Any] = {}
    for k, guard in bound.guards.items():
        source = inputs[k]
        guards[k] = (
            np.array(_current_extents(guard), source.dtype)
            if isinstance(guard, tuple) and source is not None
            else guard
        )
    return KernelBinding(
        [current(out) for out in bound.outputs],
        calls,
        temps,
        guards,
        current_extent(bound.cost),
        bound.inspected_inputs,
    )


def _current_extents(extents: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(map(current_extent, extents))


def find_end_copy(bound: KernelBinding, output: int, slot: int) -> tuple[int, bool] | None:
    """The call that copies a complete input unchanged to the start of an output, or (true) to its end, where no other
    call writes.

    None: the output neither starts nor ends with the input.
    """
    out = bound.outputs[output]
    if (
        out.known is not None
        or out.kind != "temp"
        or any(call.kernel.driver in ("skip", "routine") for call in bound.calls)
    ):
        return None
    if any(_has_same_memory(b, out) for call in bound.calls for b in call.buffers[:-1]):
        return None
    writers = [k for k, call in enumerate(bound.calls) if _has_same_memory(call.buffers[-1], out)]
    for k in writers:
        call = bound.calls[k]
        source, target = call.buffers[0], call.buffers[-1]
        size = target.dtype.itemsize
        if (
            len(call.buffers) == 2
            and call.kernel is ufunc_kernels.copy_kernel(target.dtype)
            and (source.kind, source.index, source.offset) == ("slot", slot, 0)
            and not call.outer
            and call.steps == (size, size)
        ):
            length = call.dims[0] * size
            others = [bound.calls[j] for j in writers if j != k]
            if length != math.prod(source.shape) * size or not all(c.steps for c in others):
                return None
            if target.offset == 0 and all(_writes_from(c, length) for c in others):
                return k, False
            ends_there: Any = out.size * size - length - target.offset
            if isinstance(ends_there, int) and ends_there == 0 and all(_copies_up_to(c, target.offset) for c in others):
                return k, True
    return None


def _writes_from(call: CallSpec, offset: Any) -> bool:
    """Does a call write nothing in front of a byte of its target?"""
    return call.buffers[-1].offset >= offset and call.steps[-1] >= 0 and all(row[-1] >= 0 for row in call.outer)


def _copies_up_to(call: CallSpec, offset: Any) -> bool:
    """Is a call a copy that ends before a byte of its target?"""
    target = call.buffers[-1]
    size = target.dtype.itemsize
    return (
        call.kernel is ufunc_kernels.copy_kernel(target.dtype)
        and not call.outer
        and call.steps[-1] >= 0
        and target.offset + (call.dims[0] - 1) * call.steps[-1] + size <= offset
    )


def is_pure_copy(bound: KernelBinding) -> bool:
    """Does a binding consist of copies without guards, which cannot fail?"""
    return not bound.guards and all(
        call.kernel is ufunc_kernels.copy_kernel(call.buffers[-1].dtype) for call in bound.calls
    )


def _has_same_memory(buffer: Buffer, out: Buffer) -> bool:
    return buffer.kind == out.kind and buffer.index == out.index
