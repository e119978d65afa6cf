"""Readers of one side's values in an iteration, which combine its inputs and its results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ....runtime.errors import ExecutionError
from ....runtime.frame import BranchPath, Frame, FrameInternals, frame_reader, values_with_branch_paths
from ....runtime.graph import Array, Loop, TensorType, Value
from ....runtime.graph.slicing import entry_parts
from ...frame_protocol import FrameProtocol


class ValueReader(Protocol):
    """Values at one position of a run."""

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value is known, and its data."""


@dataclass
class IterationReader:
    """One iteration of a loop: ``before`` was read before it ran, ``after`` reads all other values.

    After the iteration, ``params``, the body's parameters, hold the values of the next one, as do the operands of a
    condition that is evaluated before an iteration.
    """

    before: Mapping[Value, Any]
    params: Collection[Value]
    after: ValueReader

    def read(self, value: Value) -> tuple[bool, Any]:
        """See :class:`ValueReader`."""
        if value in self.before:
            return True, self.before[value]
        return (False, None) if value in self.params else self.after.read(value)


@dataclass
class DictReader:
    """Values from a mapping."""

    values: Mapping[Value, Any]

    def read(self, value: Value) -> tuple[bool, Any]:
        """See :class:`ValueReader`."""
        return (True, self.values[value]) if value in self.values else (False, None)


class PostIterationReader:
    """The values at the boundary after an iteration: a faster ``frame.values`` for reading most values of a body in
    every iteration. ``branch_paths``: the values that the body's nodes compute, with the branches that lead to each."""

    def __init__(self, frame: Frame, branch_paths: Mapping[Value, BranchPath]) -> None:
        self._reader: FrameInternals = frame_reader(frame)
        self._branch_paths = branch_paths
        self._engine = self._reader.engine
        loop = self._engine.plan.loops[frame.index]
        # The boundary may have swapped the buffers of a result and its parameter.
        self._swapped_slots = {
            edge.result: edge.param
            for k, edge in enumerate(loop.edges)
            if self._engine.loops.was_swapped(frame.index, k)
        }

    def read(self, value: Value) -> tuple[bool, Any]:
        """See :class:`ValueReader`."""
        path = self._branch_paths.get(value)
        if path is None:
            return self._reader.values.read(value)
        slot = self._engine.plan.slot_of.get(value)
        if slot is None or not self._engine.has_value(slot) or not (path == () or self._reader.branch_was_taken(path)):
            return False, None
        return True, self._engine.value(self._swapped_slots.get(slot, slot))


def post_iteration_values(frame: Frame) -> dict[Value, BranchPath]:
    """The values that :class:`PostIterationReader` can read; the operands of a condition evaluated before an iteration
    already belong to the next one."""
    loop = frame.loop
    assert loop is not None
    plan = frame_reader(frame).engine.plan
    early = set(pre_condition_values(loop))
    return {
        value: path for value, path in values_with_branch_paths(plan, plan.loops[frame.index]) if value not in early
    }


def iteration_inputs(frame: FrameProtocol) -> dict[Value, Any]:
    """The inputs of the next iteration at the boundary before it: carried values, slices, its number, the condition."""
    loop = frame.loop
    assert loop is not None
    carried = frame.carried
    inputs = {edge.param: carried[edge.param.name] for edge in loop.back_edges if edge.param.name in carried}
    for port in loop.sliced_inputs:
        is_known, array = frame.values.read(port.outer)
        part = _current_slice_part(frame, loop, port, array) if is_known else None
        if part is not None:
            inputs[port.inner] = part
    if loop.iteration is not None and loop.iteration not in inputs:
        inputs[loop.iteration] = scalar_parameter(frame.iteration, loop.iteration, np.int64)
    for value in pre_condition_values(loop):
        is_known, data = frame.values.read(value)
        if is_known:
            inputs[value] = data
    condition = loop.condition_input
    if condition is not None and condition not in inputs and frame.condition is not None:
        inputs[condition] = scalar_parameter(frame.condition, condition, np.bool_)
    return inputs


def pre_condition_values(loop: Loop) -> list[Value]:
    """Values that a condition evaluated before an iteration depends on; at a boundary they belong to the next one."""
    nodes = loop.body.nodes[: loop.condition_node_count or 0]
    return [value for node in nodes for value in node.outputs if value is not None]


def _current_slice_part(frame: FrameProtocol, loop: Loop, port: Any, array: Any) -> Array | None:
    try:
        parts = entry_parts(array, port, loop.describe(), frame.trip_count)
    except ExecutionError:
        return None
    return np.array(parts[frame.iteration]) if frame.iteration < len(parts) else None


def scalar_parameter(number: Any, value: Value, default: Any) -> Array:
    """The parameter for the iteration number or the condition, in its declared type."""
    kind = value.type if isinstance(value.type, TensorType) else TensorType()
    rank = len(kind.shape or ())
    return np.full((1,) * rank, number, default if kind.dtype is None else kind.dtype)
