"""Lowers steps over full tensors to kernel calls for one block of rows, and allocates the intermediate memory."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...graph import Array
from ...kernels.strided_iteration import stride_along
from ...record import record
from ..binding_result import Buffer, CallSpec
from ..call_emitter import CallEmitter
from .joint_binder import ElementwiseStep, JointBinder, Shape

#: Bytes per tensor in a block: inputs, outputs and intermediates share an L1 cache of at least 32 KB; in much smaller
#: blocks the call overhead dominates.
BLOCK_TENSOR_BYTES = 8192


@record(frozen=True)
class BlockOperand:
    """The location of a call argument: ``kind`` "slot", "constant" or "own" (the group's memory, with an offset only).
    ``steps``: byte strides between blocks along each axis."""

    kind: str
    index: int
    offset: int
    steps: Shape


class BlockEmitter:
    """Lowers steps over full tensors to calls for a block."""

    def __init__(self, joint: JointBinder, axes: Shape, rows: Mapping[int, Shape], outer: Mapping[int, int]) -> None:
        self.joint, self.axes, self.rows, self.outer = joint, axes, rows, outer
        self.places: list[BlockOperand] = []
        self.calls: list[CallSpec] = []
        self.tail: list[CallSpec] = []
        self.constants: list[Array] = []
        self.nbytes = 0
        self.cost = 0
        self._index: dict[BlockOperand, int] = {}
        self._constant_of: dict[int, int] = {}
        self._offset_of: dict[int, int] = {}

    def emit(self) -> None:
        """Choose the block size, allocate intermediates and emit the calls."""
        widest = max(
            math.prod(step.shape[last_axis(step.shape, len(self.axes)) + 1 :]) * buffer.dtype.itemsize
            for step in self.joint.steps
            for buffer in step.buffers
        )
        extent = self.axes[-1]
        count = max(1, BLOCK_TENSOR_BYTES // widest)
        if count >= 64:
            count -= count % 64
        count = min(count, extent)
        self.height = count
        self.blocks = (*self.axes[:-1], -(-extent // count))
        self._allocate_temporaries()
        for height, calls in ((count, self.calls), (extent % count, self.tail)):
            if height:
                emitter = CallEmitter()
                for step in self.joint.steps:
                    self._emit_step(step, height, emitter)
                calls.extend(emitter.calls)
                self.cost = self.cost or emitter.cost

    def _emit_step(self, step: ElementwiseStep, height: int, emitter: CallEmitter) -> None:
        last = last_axis(step.shape, len(self.axes))
        shape = (*(1 for _ in step.shape[:last]), height, *step.shape[last + 1 :])
        buffers = []
        for buffer in step.buffers:
            strides = tuple(stride_along(buffer.shape, buffer.strides, d - len(shape)) for d in range(len(shape)))
            buffers.append(Buffer("place", self._operand_index(buffer, step), buffer.dtype, shape, strides))
        emitter.emit_elementwise(step.kernel, buffers[:-1], buffers[-1])

    def _operand_index(self, buffer: Buffer, step: ElementwiseStep) -> int:
        axes = [d for d, extent in enumerate(step.shape) if extent != 1][: len(self.axes)]
        steps = tuple(stride_along(buffer.shape, buffer.strides, d - len(step.shape)) for d in axes)
        steps = (*steps[:-1], steps[-1] * self.height)
        operand = BlockOperand("slot", buffer.index, buffer.offset, steps)
        if buffer.kind == "temp":
            memory = self.joint.temps[buffer.index]
            if isinstance(memory, np.ndarray):
                index = self._constant_of.setdefault(buffer.index, len(self.constants))
                if index == len(self.constants):
                    self.constants.append(memory)
                operand = BlockOperand("constant", index, buffer.offset, steps)
            elif buffer.index in self.outer:
                operand = BlockOperand("slot", self.outer[buffer.index], buffer.offset, steps)
            else:
                operand = BlockOperand("own", 0, self._offset_of[buffer.index] + buffer.offset, (0,) * len(self.axes))
        if operand not in self._index:
            self._index[operand] = len(self.places)
            self.places.append(operand)
        return self._index[operand]

    def _allocate_temporaries(self) -> None:
        """Allocate each temp's block in the group's memory; dead temps are reused."""
        last_use: dict[int, int] = {}
        for k, step in enumerate(self.joint.steps):
            for buffer in step.buffers:
                if self._is_own_temp(buffer):
                    last_use[buffer.index] = k
        free: dict[int, list[int]] = {}
        sizes: dict[int, int] = {}
        for k, step in enumerate(self.joint.steps):
            index = step.out.index
            dying = {
                b.index: b for b in step.inputs if self._is_own_temp(b) and last_use[b.index] == k and b.index != index
            }
            if self._is_own_temp(step.out) and index not in self._offset_of:
                nbytes = -(-self.rows[index][-1] * self.height // 64) * 64
                sizes[index] = nbytes
                # In place if the call reads each element from where it writes it.
                reusable = [
                    b.index
                    for b in dying.values()
                    if sizes[b.index] == nbytes and (b.shape, b.strides, b.offset) == _layout(step.out)
                    if b.dtype.itemsize == step.out.dtype.itemsize
                    if sum(other.index == b.index and other != b for other in step.inputs if self._is_own_temp(other))
                    == 0
                ]
                if reusable:
                    self._offset_of[index] = self._offset_of[reusable[0]]
                    del dying[reusable[0]]
                elif free.get(nbytes):
                    self._offset_of[index] = free[nbytes].pop()
                else:
                    self._offset_of[index] = self.nbytes
                    # Avoid 4K aliasing: a load would wait for a store to an address with equal low bits.
                    self.nbytes += nbytes + 192
            for other in dying:
                free.setdefault(sizes[other], []).append(self._offset_of[other])
            if self._is_own_temp(step.out) and last_use[index] == k and step.fold is None and not step.once:
                free.setdefault(sizes[index], []).append(self._offset_of[index])

    def _is_own_temp(self, buffer: Buffer) -> bool:
        return (
            buffer.kind == "temp"
            and buffer.index not in self.outer
            and not isinstance(self.joint.temps[buffer.index], np.ndarray)
        )


def _layout(buffer: Buffer) -> tuple[Shape, Shape, int]:
    return buffer.shape, buffer.strides, buffer.offset


def last_axis(shape: Shape, depth: int) -> int:
    """The position of the last blocked axis in a step's shape."""
    return [d for d, extent in enumerate(shape) if extent != 1][depth - 1]
