"""Nodes of a loop's body that run together, block by block: which ones, and what is called for a block.

Each node by itself reads and writes whole tensors, and those that are larger than the processor's nearest cache come
from and go to one further away. Here the nodes between two control instructions are bound once more, all with one
binder (joint_binder.py), so that a Slice or a Transpose is a view that the next call reads; and elementwise calls over
tensors of one shape run on a few rows at a time (block_emitter.py), so that what is between them stays in the nearest
cache. What only members of the group read gets no more memory than a block takes.

Every element is computed by the same kernels from the same numbers as node by node, so results are the same to the
bit; NaNs may differ in their payload. A reduction is part of a group where blocks hold all that its results need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...graph import Array
from ...kernels.strided_iteration import choose_inner_axis, coalesce_axes, iteration_axes, stride_along
from ...ops.kernel_lookup import shape_and_strides, strides_of
from ...ops.primitives import NoNativeKernel
from ...ops.registry import ResolvedOperator
from ...record import record
from ..kernel_binding import Buffer, CallSpec, without_unit_axes
from .block_emitter import BLOCK_TENSOR_BYTES, BlockEmitter, BlockOperand
from .joint_binder import ElementwiseStep, JointBinder, Shape

Spec = tuple[np.dtype[Any], Shape]

#: Tensors with fewer elements are left alone: they stay in the nearest cache anyhow.
MIN_GROUPED_ELEMENTS = 4096
#: Axes that blocks can run along.
MAX_AXES = 8
#: Bytes of an element, where there are several types.
ASSUMED_ITEMSIZE_BYTES = 4
#: Bytes of one tensor in a block where a reduction makes blocks larger: a few of them fit into the second-level cache.
MAX_REDUCTION_BLOCK_BYTES = 1 << 16


@record(frozen=True)
class Candidate:
    """A bound node. ``guarded``: it runs by itself, since it rests on numbers or on the condition input; ``idle``:
    nothing is left to call, its results are constants; ``once``: it runs once an entry of a loop."""

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
    """What the planner asks about slots."""

    spec: Callable[[int], Spec]
    known: Callable[[int], Array | None]
    #: Positions of the nodes that read a slot.
    readers: Callable[[int], Iterable[int]]
    #: Slots that are read by anything else: ports, conditions, branches, the model's outputs.
    ports: Collection[int]


@record
class GroupPlan:
    """Nodes that run together, from the position ``first`` to before ``end``.

    ``before`` and ``after``: positions of nodes between them that run by themselves. ``blocks``: how many there are
    along each axis. ``calls`` are those of a block (their buffers have the kind "place"), ``tail`` those of a shorter
    last one along the last axis.
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
    #: Slots of the members that are not written: nothing outside of the group reads them.
    internal_slots: list[int]
    #: Members that such slots belong to, in order.
    producers: list[int]
    #: Specs that all this rests on.
    slots: list[int]
    #: About how many nanoseconds a block takes.
    cost: int


def plan_groups(nodes: Sequence[Candidate], slots: SlotInfo) -> list[GroupPlan]:
    """The groups in a sequence of bound nodes that stand one after the other."""
    return _plan(nodes, slots, {node.pc: _single_node_steps(node, slots) for node in nodes})


@record(frozen=True)
class _SingleNodeSteps:
    """What a node does where it is bound by itself: over which shapes its steps run, and the shapes of its results."""

    steps: tuple[Shape, ...]
    results: tuple[Shape, ...]
    folds: bool

    def fits(self, axes: Shape) -> bool:
        """May it run in blocks along these axes? Among others it has the same steps, and may be more of them."""
        return all(shape[: len(axes)] == axes for shape in self.steps)


def _single_node_steps(node: Candidate, slots: SlotInfo) -> _SingleNodeSteps | None:
    """None: elementwise calls cannot do it, or it need not run in each iteration."""
    if node.guarded or node.idle or node.once:
        return None
    joint = JointBinder()
    try:
        results = joint.apply(node.op, _arguments(node, {}, slots))
    except NoNativeKernel:
        return None
    steps = tuple(without_unit_axes(step.shape) for step in joint.steps if not step.once)
    folds = any(step.fold is not None for step in joint.steps)
    return _SingleNodeSteps(steps, tuple(without_unit_axes(result.shape) for result in results), folds)


def _plan(nodes: Sequence[Candidate], slots: SlotInfo, alone: Mapping[int, _SingleNodeSteps | None]) -> list[GroupPlan]:
    for shape in _shapes(nodes, alone):
        group = _best(nodes, slots, shape, alone)
        if group is not None:
            before = [node for node in nodes if node.pc < group.first]
            after = [node for node in nodes if node.pc >= group.end]
            return [*_plan(before, slots, alone), group, *_plan(after, slots, alone)]
    return []


def _best(
    nodes: Sequence[Candidate], slots: SlotInfo, shape: Shape, alone: Mapping[int, _SingleNodeSteps | None]
) -> GroupPlan | None:
    """Blocks that fit into the nearest cache, along as many axes as that takes; along fewer where more nodes run so,
    for a reduction over one of the axes needs all of it in a block."""
    depth = 1
    while depth < len(shape) and math.prod(shape[depth:]) * ASSUMED_ITEMSIZE_BYTES > BLOCK_TENSOR_BYTES:
        depth += 1
    best = _GroupBuilder(nodes, slots, shape[:depth], alone).group()
    if not any(by_itself is not None and by_itself.folds for by_itself in alone.values()):
        return best
    for fewer in range(depth - 1, 0, -1):
        if math.prod(shape[fewer:]) * ASSUMED_ITEMSIZE_BYTES > MAX_REDUCTION_BLOCK_BYTES:
            break
        group = _GroupBuilder(nodes, slots, shape[:fewer], alone).group()
        if group is not None and (best is None or len(group.members) > len(best.members)):
            best = group
    return best


def _shapes(nodes: Sequence[Candidate], alone: Mapping[int, _SingleNodeSteps | None]) -> list[Shape]:
    """Shapes that are worth a group, those with the most work first."""
    work: dict[Shape, int] = {}
    for node in nodes:
        by_itself = alone[node.pc]
        if by_itself is None:
            continue
        for shape in by_itself.steps or by_itself.results:
            if math.prod(shape) >= MIN_GROUPED_ELEMENTS:
                work[shape] = work.get(shape, 0) + math.prod(shape)
    return sorted(work, key=lambda shape: -work[shape])


def _arguments(node: Candidate, values: Mapping[int, Buffer], slots: SlotInfo) -> list[Buffer | None]:
    """A node's inputs, from ``values`` or else from slots."""
    return [None if slot < 0 else values.get(slot) or _whole(slot, slots) for slot in node.inputs]


def _whole(slot: int, slots: SlotInfo) -> Buffer:
    dtype, shape = slots.spec(slot)
    return Buffer("slot", slot, dtype, shape, strides_of(shape, dtype.itemsize), known=slots.known(slot))


# ------------------------------------------------------------------ one group


class _NotBlockwise(Exception):
    """A step cannot run block by block together with the others."""


@record
class _GroupBuilder:
    """Collects the nodes that can run in blocks along ``axes``, all but the last one element by element."""

    nodes: Sequence[Candidate]
    slots: SlotInfo
    axes: Shape
    alone: Mapping[int, _SingleNodeSteps | None]
    joint: JointBinder = field(default_factory=lambda: JointBinder())
    #: Slot -> what it is inside of the group.
    values: dict[int, Buffer] = field(default_factory=dict)
    #: Temp -> bytes from row to row along each axis of the blocks.
    rows: dict[int, Shape] = field(default_factory=dict)
    members: list[Candidate] = field(default_factory=list)
    #: Positions of nodes that were members in an earlier trial that came to nothing: somebody outside reads their
    #: results, which cannot be written block by block, or nothing was gained.
    excluded: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self._positions = {node.pc for node in self.nodes}

    def group(self) -> GroupPlan | None:
        """The group, None where nothing is gained."""
        if len(self.axes) > MAX_AXES:
            return None
        ours: set[int] = set()
        late: set[int] = set()
        before, after, idle = [], [], []
        for node in self.nodes:
            if node.idle:
                idle.append(node.pc)
            elif late.isdisjoint(node.inputs) and self._join(node):
                self.members.append(node)
                ours.update(node.outputs)
            elif (ours | late).isdisjoint(node.inputs):
                before.append(node.pc)
            else:
                after.append(node.pc)
                late.update(node.outputs)
        if not self.members:
            return None
        first, end = self.members[0].pc, self.members[-1].pc + 1
        outer, inner = self._outer(), self._inner()
        barred = self._unwritable() | self._bystanders()
        if barred:
            return self._without(barred)
        self._write(outer)
        if not self._worth(inner):
            # Others may be, that stood behind what is of no use: what reads an extreme of everything, say.
            return self._without(node.pc for node in self.members)
        emitted = BlockEmitter(self.joint, self.axes, self.rows, outer)
        emitted.emit()
        within = [node for node in self.nodes if first <= node.pc < end]
        return GroupPlan(
            first,
            end,
            [node.pc for node in self.members] + [pc for pc in idle if first <= pc < end],
            [pc for pc in before if first <= pc < end],
            [pc for pc in after if first <= pc < end],
            emitted.blocks,
            emitted.places,
            emitted.calls,
            emitted.tail,
            emitted.constants,
            emitted.nbytes,
            inner,
            [node.pc for node in self.members if not set(inner).isdisjoint(node.outputs)],
            sorted({slot for node in within for slot in (*node.inputs, *node.outputs) if slot >= 0}),
            emitted.cost,
        )

    def _without(self, barred: Iterable[int]) -> GroupPlan | None:
        again = self.excluded | frozenset(barred)
        return _GroupBuilder(self.nodes, self.slots, self.axes, self.alone, excluded=again).group()

    # -- who joins

    def _join(self, node: Candidate) -> bool:
        alone = self.alone[node.pc]
        if alone is None or not alone.fits(self.axes) or node.pc in self.excluded:
            return False
        steps, temps = len(self.joint.steps), len(self.joint.temps)
        rows = dict(self.rows)
        try:
            results = self.joint.apply(node.op, _arguments(node, self.values, self.slots))
            for k in range(steps, len(self.joint.steps)):
                self._check(self.joint.steps[k])
            for slot, result in zip(node.outputs, results, strict=False):
                if slot >= 0:
                    self._check_result(slot, result)
        except (NoNativeKernel, _NotBlockwise):
            del self.joint.steps[steps:], self.joint.temps[temps:]
            self.rows = rows
            return False
        for slot, result in zip(node.outputs, results, strict=False):
            if slot >= 0 and result.known is None:
                self.values[slot] = result
        return True

    def _check_result(self, slot: int, result: Buffer) -> None:
        if result.known is not None:
            return
        if (result.dtype, result.shape) != self.slots.spec(slot) or len(self.slots.spec(slot)[1]) > 32:
            raise _NotBlockwise
        if slot in self.slots.ports or not self._stays(slot):
            self._check_access(result, result.shape)

    def _stays(self, slot: int) -> bool:
        """May it be that only members read a slot?"""
        readers = set(self.slots.readers(slot))
        return bool(readers) and readers <= self._positions

    def _check(self, step: ElementwiseStep) -> None:
        """Can a step run in blocks, after the steps before it?"""
        if step.fold is not None or not step.kernel.exact:
            # Where NumPy gets another axis than the last one, how it computes depends on the extents.
            rows = coalesce_axes(iteration_axes(step.shape, [shape_and_strides(x) for x in step.buffers]))
            if rows and choose_inner_axis(rows) != len(rows) - 1:
                raise _NotBlockwise
        for buffer in step.inputs:
            if step.fold is None or buffer != step.out:
                self._check_access(buffer, step.shape)
        steps = self._steps(step.out, step.shape)
        if step.fold is not None and step.out.index not in self.rows:
            raise _NotBlockwise
        if self.rows.setdefault(step.out.index, steps) != steps:
            raise _NotBlockwise
        self._check_access(step.out, step.shape)

    def _steps(self, buffer: Buffer, shape: Shape) -> Shape:
        """Bytes from one to the next along each axis that blocks run along."""
        axes = [d for d, extent in enumerate(shape) if extent != 1][: len(self.axes)]
        if tuple(shape[d] for d in axes) != self.axes:
            raise _NotBlockwise
        return tuple(stride_along(buffer.shape, buffer.strides, d - len(shape)) for d in axes)

    def _check_access(self, buffer: Buffer, shape: Shape) -> None:
        """A step over ``shape`` may read or write memory of the group only in the rows of its own block."""
        steps = self._steps(buffer, shape)
        if buffer.kind != "temp" or isinstance(self.joint.temps[buffer.index], np.ndarray):
            return
        rows = self.rows.get(buffer.index)
        # Rows must not overlap either.
        apart = all(a >= n * b for a, b, n in zip(steps, steps[1:], self.axes[1:], strict=False))
        last = [d for d, extent in enumerate(shape) if extent != 1][len(self.axes) - 1]
        if rows is None or rows != steps or not apart or not _lies_within(buffer, len(shape) - 1 - last, steps[-1]):
            raise _NotBlockwise

    # -- what comes out

    def _outer(self) -> dict[int, int]:
        """Temps that are slots' own buffers, and the slots; results that are none yet are copied by ``_write``."""
        self.copied: list[int] = []
        outer: dict[int, int] = {}
        for slot in self._escaping():
            result = self.values[slot]
            if self.joint._fills_temp(result, set(outer)):
                outer[result.index] = slot
            else:
                self.copied.append(slot)
        return outer

    def _escaping(self) -> list[int]:
        """Slots that somebody outside reads."""
        inside = {node.pc for node in self.members}
        return [
            slot
            for node in self.members
            for slot in node.outputs
            if slot in self.values and (slot in self.slots.ports or not inside.issuperset(self.slots.readers(slot)))
        ]

    def _inner(self) -> list[int]:
        escaping = set(self._escaping())
        return [slot for node in self.members for slot in node.outputs if slot in self.values and slot not in escaping]

    def _unwritable(self) -> frozenset[int]:
        """Members whose results would have to be copied to their slots, and that cannot be done block by block."""
        barred: set[int] = set()
        for slot in self.copied:
            try:
                self._check_access(self.values[slot], self.values[slot].shape)
            except _NotBlockwise:
                barred.update(node.pc for node in self.members if slot in node.outputs)
        return frozenset(barred)

    def _bystanders(self) -> frozenset[int]:
        """Members that copy what lies outside for others outside: by themselves those may be elided
        (copy_elision.pyx)."""
        read = {slot for node in self.members for slot in node.inputs}
        copies = {slot for slot in self.copied if self.values[slot].kind == "slot" and slot not in read}
        return frozenset(node.pc for node in self.members if node.outputs and copies.issuperset(node.outputs))

    def _write(self, outer: dict[int, int]) -> None:
        for slot in self.copied:
            result = self.values[slot]
            copy = self.joint._copy(result)
            self.rows[copy.index] = self._steps(copy, copy.shape)
            outer[copy.index] = slot

    def _worth(self, inner: Sequence[int]) -> bool:
        """Something large stays in a block that would otherwise be written and read again."""
        if not self.joint.steps:
            return False
        large = [slot for slot in inner if math.prod(self.slots.spec(slot)[1]) >= MIN_GROUPED_ELEMENTS // 2]
        made = {
            step.out.index
            for step in self.joint.steps
            if step.fold is None and not step.once and math.prod(step.shape) >= MIN_GROUPED_ELEMENTS
        }
        return bool(large) or len(made) > len(self._escaping())


def _lies_within(buffer: Buffer, depth: int, limit: int) -> bool:
    """Does what the last ``depth`` axes reach lie in the first ``limit`` bytes of the memory?"""
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
