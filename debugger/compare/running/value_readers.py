"""What the values of one side were in one iteration: what it was given, read before it ran, and what it made of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ....runtime.errors import ExecutionError
from ....runtime.frame import BranchPath, Frame, values_with_branches
from ....runtime.graph import Array, Loop, TensorType, Value
from ....runtime.graph.slicing import entry_parts
from ...frame_protocol import FrameProtocol


class ValueReader(Protocol):
    """Values at one position of a run."""

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value is known, and what it was."""


@dataclass
class IterationReader:
    """One iteration of a loop: ``given`` was read before it ran, ``after`` is asked for all else once it has.

    By then ``params``, the body's parameters, have what the next iteration gets, and so has what its condition needs
    where that is asked before it.
    """

    before: Mapping[Value, Any]
    params: Collection[Value]
    after: ValueReader

    def read(self, value: Value) -> tuple[bool, Any]:
        """As :class:`ValueReader` has it."""
        if value in self.before:
            return True, self.before[value]
        return (False, None) if value in self.params else self.after.read(value)


@dataclass
class DictReader:
    """What somebody else computed, and nothing else."""

    values: Mapping[Value, Any]

    def read(self, value: Value) -> tuple[bool, Any]:
        """As :class:`ValueReader` has it."""
        return (True, self.values[value]) if value in self.values else (False, None)


class PostIterationReader:
    """What an iteration left at the boundary after it: as ``frame.values`` has it, for what reads most of a body in
    every iteration. ``made``: what the body's nodes compute, with the branches that lead to each."""

    def __init__(self, frame: Frame, made: Mapping[Value, BranchPath]) -> None:
        self._frame = frame
        self._branch_paths = made
        self._engine = frame._internals.engine
        loop = self._engine.plan.loops[frame.index]
        # The boundary may have swapped a result's buffer with its parameter's.
        self._swapped_slots = {
            edge.result: edge.param
            for k, edge in enumerate(loop.edges)
            if self._engine.loops.was_swapped(frame.index, k)
        }

    def read(self, value: Value) -> tuple[bool, Any]:
        """As :class:`ValueReader` has it."""
        way = self._branch_paths.get(value)
        if way is None:
            return self._frame.values.read(value)
        slot = self._engine.plan.slot_of.get(value)
        if (
            slot is None
            or not self._engine.has_value(slot)
            or not (way == () or self._frame._internals.branch_was_taken(way))
        ):
            return False, None
        return True, self._engine.value(self._swapped_slots.get(slot, slot))


def post_iteration_values(frame: Frame) -> dict[Value, BranchPath]:
    """What :class:`PostIterationReader` can read of a frame's loop: what its condition needs, if it is asked before an
    iteration, is the next one's at a boundary."""
    loop = frame.loop
    assert loop is not None
    plan = frame._internals.engine.plan
    early = set(pre_condition_values(loop))
    return {value: way for value, way in values_with_branches(plan, plan.loops[frame.index]) if value not in early}


def iteration_inputs(frame: FrameProtocol) -> dict[Value, Any]:
    """What the next iteration gets, at the boundary before it: carried values, parts, its number, the condition."""
    loop = frame.loop
    assert loop is not None
    carried = frame.carried
    found = {edge.param: carried[edge.param.name] for edge in loop.back_edges if edge.param.name in carried}
    for port in loop.sliced_inputs:
        there, whole = frame.values.read(port.outer)
        part = _slice_part(frame, loop, port, whole) if there else None
        if part is not None:
            found[port.inner] = part
    if loop.iteration is not None and loop.iteration not in found:
        found[loop.iteration] = scalar_parameter(frame.iteration, loop.iteration, np.int64)
    for value in pre_condition_values(loop):
        there, data = frame.values.read(value)
        if there:
            found[value] = data
    received = loop.condition_input
    if received is not None and received not in found and frame.condition is not None:
        found[received] = scalar_parameter(frame.condition, received, np.bool_)
    return found


def pre_condition_values(loop: Loop) -> list[Value]:
    """What a condition that is asked before an iteration is computed from: at a boundary it is the next one's."""
    nodes = loop.body.nodes[: loop.condition_node_count or 0]
    return [value for node in nodes for value in node.outputs if value is not None]


def _slice_part(frame: FrameProtocol, loop: Loop, port: Any, whole: Any) -> Array | None:
    try:
        parts = entry_parts(whole, port, loop.describe(), frame.trip_count)
    except ExecutionError:
        return None
    return np.array(parts[frame.iteration]) if frame.iteration < len(parts) else None


def scalar_parameter(number: Any, value: Value, usual: Any) -> Array:
    """What a body's parameter for the iteration number or the condition gets, of the type that it declares."""
    kind = value.type if isinstance(value.type, TensorType) else TensorType()
    rank = len(kind.shape or ())
    return np.full((1,) * rank, number, usual if kind.dtype is None else kind.dtype)
