"""Selection of fusion groups: nodes of a loop body that run block by block, with the calls for a block.

Unfused nodes read and write full tensors, which exceed the L1 cache if large. Here the nodes between two control
instructions are rebound by one binder (joint_binder.py), so that a Slice or a Transpose is a view that the next call
reads; elementwise calls over tensors of one shape run on a few rows at a time (block_emitter.py), so that
intermediates stay in the L1 cache. Tensors read only by group members are allocated a single block.

Results are bit-identical to unfused execution, except for NaN payloads, since the same kernels compute each element.
A reduction joins a group if blocks contain all inputs of its results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...graph import Array
from ...kernels.strided_iteration import choose_inner_axis, coalesce_axes, iteration_axes, stride_along
from ...ops.primitive_types import NoNativeKernel
from ...ops.registry import ResolvedOperator
from ...ops.ufunc_kernels import row_major_strides, shapes_and_strides
from ...record import record
from ..binding_result import Buffer, CallSpec, without_unit_axes
from .block_emitter import BLOCK_TENSOR_BYTES, BlockEmitter, BlockOperand
from .joint_binder import ElementwiseStep, JointBinder, Shape

Spec = tuple[np.dtype[Any], Shape]

#: Smaller tensors are not fused: they fit in the L1 cache.
MIN_GROUPED_ELEMENTS = 4096
#: Maximum number of blocked axes.
MAX_AXES = 8
#: Assumed element size for mixed types.
ASSUMED_ITEMSIZE_BYTES = 4
#: Bytes per tensor in a block enlarged for a reduction: a few fit in the L2 cache.
MAX_REDUCTION_BLOCK_BYTES = 1 << 16


@record(frozen=True)
class Candidate:
    """A bound node. ``guarded``: cannot be fused, since it depends on data or on the condition input; ``idle``: has no
    calls, since its results are constants; ``once``: runs once per loop entry."""

    pc: int
    op: ResolvedOperator
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    guarded: bool
    idle: bool
    op_type: str = ""
    once: bool = False


@record(frozen=True)
class SlotInfo:
    """Slot queries of the planner."""

    spec: Callable[[int], Spec]
    known: Callable[[int], Array | None]
    #: Positions of the readers of a slot.
    readers: Callable[[int], Iterable[int]]
    #: Slots with other readers: ports, conditions, branches, model outputs.
    ports: Collection[int]


@record
class GroupPlan:
    """A fusion group over the positions ``first`` to ``end`` (exclusive).

    ``before`` and ``after``: positions of unfused nodes in between. ``blocks``: block count along each axis. ``calls``:
    calls for a block (buffers of kind "place"); ``tail``: calls for a shorter last block along the last axis.
    """

    first: int
    end: int
    members: list[int]
    before: list[int]
    after: list[int]
    blocks: Shape
    places: list[BlockOperand]
    calls: list[CallSpec]
    tail: list[CallSpec]
    constants: list[Array]
    #: Bytes of the group's own memory.
    nbytes: int
    #: Slots that are not written, since only members read them.
    internal_slots: list[int]
    #: Members that produce internal slots, in order.
    producers: list[int]
    #: Slots whose specs the plan depends on.
    slots: list[int]
    #: Estimated nanoseconds per block.
    cost: int


def plan_groups(nodes: Sequence[Candidate], slots: SlotInfo) -> list[GroupPlan]:
    """Plan the groups in a sequence of consecutive bound nodes."""
    return _plan_range(nodes, slots, {node.pc: _single_node_steps(node, slots) for node in nodes})


@record(frozen=True)
class _SingleNodeSteps:
    """A separately bound node: the shapes of its steps and results."""

    steps: tuple[Shape, ...]
    results: tuple[Shape, ...]
    folds: bool

    def fits(self, axes: Shape) -> bool:
        """May it run in blocks along these axes? In a group it has the same steps, or more."""
        return all(shape[: len(axes)] == axes for shape in self.steps)


def _single_node_steps(node: Candidate, slots: SlotInfo) -> _SingleNodeSteps | None:
    """None: not elementwise, or not needed in each iteration."""
    if node.guarded or node.idle or node.once:
        return None
    joint = JointBinder()
    try:
        results = joint.apply(node.op, _argument_buffers(node, {}, slots))
    except NoNativeKernel:
        return None
    steps = tuple(without_unit_axes(step.shape) for step in joint.steps if not step.once)
    folds = any(step.fold is not None for step in joint.steps)
    return _SingleNodeSteps(steps, tuple(without_unit_axes(result.shape) for result in results), folds)


def _plan_range(
    nodes: Sequence[Candidate], slots: SlotInfo, single: Mapping[int, _SingleNodeSteps | None]
) -> list[GroupPlan]:
    for shape in _shapes_by_work(nodes, single):
        group = _best_group(nodes, slots, shape, single)
        if group is not None:
            before = [node for node in nodes if node.pc < group.first]
            after = [node for node in nodes if node.pc >= group.end]
            return [*_plan_range(before, slots, single), group, *_plan_range(after, slots, single)]
    return []


def _best_group(
    nodes: Sequence[Candidate], slots: SlotInfo, shape: Shape, single: Mapping[int, _SingleNodeSteps | None]
) -> GroupPlan | None:
    """The best group with blocks that fit in the L1 cache, blocked along as many axes as needed; along fewer if that
    fuses more nodes, since a reduction needs its complete axis in a block."""
    depth = 1
    while depth < len(shape) and math.prod(shape[depth:]) * ASSUMED_ITEMSIZE_BYTES > BLOCK_TENSOR_BYTES:
        depth += 1
    best = _GroupBuilder(nodes, slots, shape[:depth], single).group()
    if not any(steps is not None and steps.folds for steps in single.values()):
        return best
    for fewer_axes in range(depth - 1, 0, -1):
        if math.prod(shape[fewer_axes:]) * ASSUMED_ITEMSIZE_BYTES > MAX_REDUCTION_BLOCK_BYTES:
            break
        group = _GroupBuilder(nodes, slots, shape[:fewer_axes], single).group()
        if group is not None and (best is None or len(group.members) > len(best.members)):
            best = group
    return best


def _shapes_by_work(nodes: Sequence[Candidate], single: Mapping[int, _SingleNodeSteps | None]) -> list[Shape]:
    """Shapes worth a group, in order of decreasing work."""
    work: dict[Shape, int] = {}
    for node in nodes:
        steps = single[node.pc]
        if steps is None:
            continue
        for shape in steps.steps or steps.results:
            if math.prod(shape) >= MIN_GROUPED_ELEMENTS:
                work[shape] = work.get(shape, 0) + math.prod(shape)
    return sorted(work, key=lambda shape: -work[shape])


def _argument_buffers(node: Candidate, values: Mapping[int, Buffer], slots: SlotInfo) -> list[Buffer | None]:
    """A node's inputs, from ``values`` or else from slots."""
    return [None if slot < 0 else values.get(slot) or _slot_buffer(slot, slots) for slot in node.inputs]


def _slot_buffer(slot: int, slots: SlotInfo) -> Buffer:
    dtype, shape = slots.spec(slot)
    return Buffer("slot", slot, dtype, shape, row_major_strides(shape, dtype.itemsize), known=slots.known(slot))


# ------------------------------------------------------------------ one group


class _NotBlockwise(Exception):
    """A step cannot run block by block with the others."""


@record
class _GroupBuilder:
    """Collects nodes that can run in blocks along ``axes``; blocks have extent 1 along all but the last."""

    nodes: Sequence[Candidate]
    slots: SlotInfo
    axes: Shape
    alone: Mapping[int, _SingleNodeSteps | None]
    joint: JointBinder = field(default_factory=lambda: JointBinder())
    #: Slot -> its buffer inside the group.
    values: dict[int, Buffer] = field(default_factory=dict)
    #: Temp -> byte strides along each blocked axis.
    rows: dict[int, Shape] = field(default_factory=dict)
    members: list[Candidate] = field(default_factory=list)
    #: Positions of members of rejected trials: their results have readers outside and cannot be written block by block,
    #: or the group was not profitable.
    excluded: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self._positions = {node.pc for node in self.nodes}

    def group(self) -> GroupPlan | None:
        """Build the group; None if not profitable."""
        if len(self.axes) > MAX_AXES:
            return None
        internal: set[int] = set()
        delayed: set[int] = set()
        before, after, idle = [], [], []
        for node in self.nodes:
            if node.idle:
                idle.append(node.pc)
            elif delayed.isdisjoint(node.inputs) and self._try_add_member(node):
                self.members.append(node)
                internal.update(node.outputs)
            elif (internal | delayed).isdisjoint(node.inputs):
                before.append(node.pc)
            else:
                after.append(node.pc)
                delayed.update(node.outputs)
        if not self.members:
            return None
        first, end = self.members[0].pc, self.members[-1].pc + 1
        outer, inner = self._direct_output_slots(), self._inner_slots()
        rejected = self._unwritable_members() | self._copy_only_members()
        if rejected:
            return self._rebuild_without(rejected)
        self._emit_output_copies(outer)
        if not self._avoids_large_store(inner):
            # Retry with later nodes, such as readers of a global extreme.
            return self._rebuild_without(node.pc for node in self.members)
        emitter = BlockEmitter(self.joint, self.axes, self.rows, outer)
        emitter.emit()
        nodes_in_range = [node for node in self.nodes if first <= node.pc < end]
        return GroupPlan(
            first,
            end,
            [node.pc for node in self.members] + [pc for pc in idle if first <= pc < end],
            [pc for pc in before if first <= pc < end],
            [pc for pc in after if first <= pc < end],
            emitter.blocks,
            emitter.places,
            emitter.calls,
            emitter.tail,
            emitter.constants,
            emitter.nbytes,
            inner,
            [node.pc for node in self.members if not set(inner).isdisjoint(node.outputs)],
            sorted({slot for node in nodes_in_range for slot in (*node.inputs, *node.outputs) if slot >= 0}),
            emitter.cost,
        )

    def _rebuild_without(self, rejected: Iterable[int]) -> GroupPlan | None:
        excluded = self.excluded | frozenset(rejected)
        return _GroupBuilder(self.nodes, self.slots, self.axes, self.alone, excluded=excluded).group()

    # -- membership

    def _try_add_member(self, node: Candidate) -> bool:
        single = self.alone[node.pc]
        if single is None or not single.fits(self.axes) or node.pc in self.excluded:
            return False
        steps, temps = len(self.joint.steps), len(self.joint.temps)
        rows = dict(self.rows)
        try:
            results = self.joint.apply(node.op, _argument_buffers(node, self.values, self.slots))
            for k in range(steps, len(self.joint.steps)):
                self._check_blockwise_step(self.joint.steps[k])
            for slot, result in zip(node.outputs, results, strict=False):
                if slot >= 0:
                    self._check_blockwise_result(slot, result)
        except (NoNativeKernel, _NotBlockwise):
            del self.joint.steps[steps:], self.joint.temps[temps:]
            self.rows = rows
            return False
        for slot, result in zip(node.outputs, results, strict=False):
            if slot >= 0 and result.known is None:
                self.values[slot] = result
        return True

    def _check_blockwise_result(self, slot: int, result: Buffer) -> None:
        if result.known is not None:
            return
        if (result.dtype, result.shape) != self.slots.spec(slot) or len(self.slots.spec(slot)[1]) > 32:
            raise _NotBlockwise
        if slot in self.slots.ports or not self._can_stay_inside(slot):
            self._check_blockwise_access(result, result.shape)

    def _can_stay_inside(self, slot: int) -> bool:
        """Could all readers of a slot be members?"""
        readers = set(self.slots.readers(slot))
        return bool(readers) and readers <= self._positions

    def _check_blockwise_step(self, step: ElementwiseStep) -> None:
        """Check that a step can run in blocks after the previous steps."""
        if step.fold is not None or not step.kernel.exact:
            # For an inner axis other than the last, NumPy's summation depends on the extents.
            rows = coalesce_axes(iteration_axes(step.shape, shapes_and_strides(step.buffers)))
            if rows and choose_inner_axis(rows) != len(rows) - 1:
                raise _NotBlockwise
        for buffer in step.inputs:
            if step.fold is None or buffer != step.out:
                self._check_blockwise_access(buffer, step.shape)
        steps = self._block_strides(step.out, step.shape)
        if step.fold is not None and step.out.index not in self.rows:
            raise _NotBlockwise
        if self.rows.setdefault(step.out.index, steps) != steps:
            raise _NotBlockwise
        self._check_blockwise_access(step.out, step.shape)

    def _block_strides(self, buffer: Buffer, shape: Shape) -> Shape:
        """Byte strides along each blocked axis."""
        axes = [d for d, extent in enumerate(shape) if extent != 1][: len(self.axes)]
        if tuple(shape[d] for d in axes) != self.axes:
            raise _NotBlockwise
        return tuple(stride_along(buffer.shape, buffer.strides, d - len(shape)) for d in axes)

    def _check_blockwise_access(self, buffer: Buffer, shape: Shape) -> None:
        """Check that a step over ``shape`` accesses the group's memory only in rows of its own block."""
        steps = self._block_strides(buffer, shape)
        if buffer.kind != "temp" or isinstance(self.joint.temps[buffer.index], np.ndarray):
            return
        rows = self.rows.get(buffer.index)
        # Rows must not overlap.
        disjoint = all(a >= n * b for a, b, n in zip(steps, steps[1:], self.axes[1:], strict=False))
        last = [d for d, extent in enumerate(shape) if extent != 1][len(self.axes) - 1]
        if rows is None or rows != steps or not disjoint or not _lies_within(buffer, len(shape) - 1 - last, steps[-1]):
            raise _NotBlockwise

    # -- results

    def _direct_output_slots(self) -> dict[int, int]:
        """Temps that are written directly to slots; other escaping results are copied by ``_emit_output_copies``."""
        self.copied: list[int] = []
        outer: dict[int, int] = {}
        for slot in self._escaping_slots():
            result = self.values[slot]
            if self.joint.fills_temp(result, set(outer)):
                outer[result.index] = slot
            else:
                self.copied.append(slot)
        return outer

    def _escaping_slots(self) -> list[int]:
        """Slots with readers outside the group."""
        inside = {node.pc for node in self.members}
        return [
            slot
            for node in self.members
            for slot in node.outputs
            if slot in self.values and (slot in self.slots.ports or not inside.issuperset(self.slots.readers(slot)))
        ]

    def _inner_slots(self) -> list[int]:
        escaping = set(self._escaping_slots())
        return [slot for node in self.members for slot in node.outputs if slot in self.values and slot not in escaping]

    def _unwritable_members(self) -> frozenset[int]:
        """Members whose results need a copy to their slots that cannot run block by block."""
        rejected: set[int] = set()
        for slot in self.copied:
            try:
                self._check_blockwise_access(self.values[slot], self.values[slot].shape)
            except _NotBlockwise:
                rejected.update(node.pc for node in self.members if slot in node.outputs)
        return frozenset(rejected)

    def _copy_only_members(self) -> frozenset[int]:
        """Members that only copy outside tensors for outside readers: unfused, such copies may be elided
        (copy_elision.pyx)."""
        read = {slot for node in self.members for slot in node.inputs}
        copies = {slot for slot in self.copied if self.values[slot].kind == "slot" and slot not in read}
        return frozenset(node.pc for node in self.members if node.outputs and copies.issuperset(node.outputs))

    def _emit_output_copies(self, outer: dict[int, int]) -> None:
        for slot in self.copied:
            result = self.values[slot]
            copy = self.joint.emit_copy(result)
            self.rows[copy.index] = self._block_strides(copy, copy.shape)
            outer[copy.index] = slot

    def _avoids_large_store(self, inner: Sequence[int]) -> bool:
        """Does the group avoid storing and reloading a large tensor?"""
        if not self.joint.steps:
            return False
        large = [slot for slot in inner if math.prod(self.slots.spec(slot)[1]) >= MIN_GROUPED_ELEMENTS // 2]
        large_steps = {
            step.out.index
            for step in self.joint.steps
            if step.fold is None and not step.once and math.prod(step.shape) >= MIN_GROUPED_ELEMENTS
        }
        return bool(large) or len(large_steps) > len(self._escaping_slots())


def _lies_within(buffer: Buffer, depth: int, limit: int) -> bool:
    """Do the last ``depth`` axes access only the first ``limit`` bytes of the memory?"""
    depth = min(depth, buffer.ndim)
    reach = [
        (extent - 1) * stride
        for extent, stride in zip(
            buffer.shape[buffer.ndim - depth :], buffer.strides[buffer.ndim - depth :], strict=True
        )
    ]
    low = buffer.offset + sum(r for r in reach if r < 0)
    high = buffer.offset + sum(r for r in reach if r > 0) + buffer.dtype.itemsize
    return low >= 0 and high <= limit
