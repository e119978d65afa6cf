"""Binds several nodes with one binder, so that views remain views across nodes.

The results are steps, elementwise kernels over full tensors; other operators raise NoNativeKernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph import Array
from ...kernels.kernel import Kernel
from ...kernels.strided_iteration import broadcast_shapes
from ...ops.primitive_types import Elementwise, NoNativeKernel
from ...ops.registry import ResolvedOperator
from ...ops.ufunc_kernels import elementwise_kernel
from ...record import record
from ..binding_result import Buffer, with_unit_axes, without_unit_axes
from ..operator_binder import OperatorBinder

Shape = tuple[int, ...]


@record(frozen=True)
class ElementwiseStep:
    """An elementwise kernel over full tensors; ``fold``: a reduction into ``out``, whose strides may be 0."""

    kernel: Kernel
    inputs: tuple[Buffer, ...]
    out: Buffer
    fold: np.ufunc | None = None
    #: Initializes a reduction.
    once: bool = False

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return (*self.inputs, self.out)

    @property
    def shape(self) -> Shape:
        return broadcast_shapes(*(buffer.shape for buffer in self.buffers))


class NeedsContiguousInputs(Exception):
    """The operator needs contiguous inputs, as in unfused execution."""


class JointBinder(OperatorBinder):
    """Binds consecutive nodes; raises NoNativeKernel for operators that are not elementwise."""

    def __init__(self) -> None:
        super().__init__(())
        self.steps: list[ElementwiseStep] = []
        self._has_strided_inputs = False
        self._fold: np.ufunc | None = None

    def apply(self, op: ResolvedOperator, arguments: Sequence[Buffer | None]) -> list[Buffer]:
        """Bind an operator and return its results.

        Raises:
            NoNativeKernel: the operator is not elementwise.
            Exception: an error of the operator.
        """
        self._has_strided_inputs = any(a is not None and not a.contiguous for a in arguments)
        checkpoint = len(self.steps), len(self.temps)
        self.calls.clear()
        try:
            results = op.apply(self, arguments)
        except NeedsContiguousInputs:
            del self.steps[checkpoint[0] :], self.temps[checkpoint[1] :]
            self._has_strided_inputs = False
            results = op.apply(self, [a if a is None else self._as_contiguous(a) for a in arguments])
        if self.calls:
            self.calls.clear()
            raise NoNativeKernel
        return list(results)

    def emit_elementwise(self, kernel: Kernel, inputs: Sequence[Buffer], out: Buffer) -> None:
        step = ElementwiseStep(kernel, tuple(inputs), out, self._fold)
        if 0 in step.shape:
            raise NoNativeKernel
        self.steps.append(step)

    def map(self, function: Elementwise, *inputs: Buffer) -> Buffer:
        if self._has_strided_inputs:
            kernel = elementwise_kernel(function, tuple(i.dtype for i in inputs))
            if kernel is not None and not kernel.exact:
                raise NeedsContiguousInputs
        return super().map(function, *inputs)

    def reduce(self, ufunc: np.ufunc, x: Buffer, axes: Sequence[int], keepdims: bool) -> Buffer:
        if self._has_strided_inputs:
            raise NeedsContiguousInputs
        if not axes:
            return super().reduce(ufunc, x, axes, keepdims)
        first = len(self.steps)
        self._fold = ufunc
        try:
            result = super().reduce(ufunc, x, axes, keepdims)
        finally:
            self._fold = None
        start = self.steps[first]
        self.steps[first] = ElementwiseStep(start.kernel, start.inputs, start.out, once=True)
        return result

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        if x.contiguous or without_unit_axes(x.shape) != without_unit_axes(tuple(shape)):
            return super().reshape(x, shape)
        return with_unit_axes(x, tuple(shape))

    def accumulate(self, ufunc: np.ufunc, x: Buffer, axis: int) -> Buffer:
        raise NoNativeKernel

    def value(self, x: Buffer) -> Array:
        if x.known is None:
            raise NoNativeKernel
        return x.known

    def _peek(self, x: Buffer) -> Array:
        return self.value(x)
