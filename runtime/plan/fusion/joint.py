"""Several nodes bound with one binder, so that views stay views from node to node.

What comes out are steps, elementwise kernels over whole tensors; operators that need more than those are
NotNative here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph import Array
from ...kernels.kernel import Kernel
from ...kernels.walks import broadcast_shapes
from ...ops.arithmetic import elementwise
from ...ops.primitives import Elementwise, NotNative
from ...ops.registry import Op
from ...record import record
from ..bind import Binder
from ..bound import Buffer, respread, walked

Shape = tuple[int, ...]


@record(frozen=True)
class ChainStep:
    """One elementwise kernel over whole tensors; ``fold``: a reduction into ``out``, whose strides may be 0."""

    kernel: Kernel
    inputs: tuple[Buffer, ...]
    out: Buffer
    fold: np.ufunc | None = None
    #: What a reduction starts from.
    once: bool = False

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return (*self.inputs, self.out)

    @property
    def shape(self) -> Shape:
        return broadcast_shapes(*(buffer.shape for buffer in self.buffers))


class Unsettled(Exception):
    """An operator wants its inputs as they would be node by node: contiguous."""


class Joint(Binder):
    """Binds nodes one after the other. What no elementwise call can do is NotNative here."""

    def __init__(self) -> None:
        super().__init__(())
        self.steps: list[ChainStep] = []
        self._loose = False
        self._fold: np.ufunc | None = None

    def apply(self, op: Op, arguments: Sequence[Buffer | None]) -> list[Buffer]:
        """The operator's results.

        Raises:
            NotNative: elementwise kernels alone cannot do it.
            Exception: whatever the operator itself raises.
        """
        self._loose = any(a is not None and not a.contiguous for a in arguments)
        marks = len(self.steps), len(self.temps)
        self.calls.clear()
        try:
            results = op.apply(self, arguments)
        except Unsettled:
            del self.steps[marks[0] :], self.temps[marks[1] :]
            self._loose = False
            results = op.apply(self, [a if a is None else self._contiguous(a) for a in arguments])
        if self.calls:
            self.calls.clear()
            raise NotNative
        return list(results)

    def _elementwise(self, kernel: Kernel, inputs: Sequence[Buffer], out: Buffer) -> None:
        step = ChainStep(kernel, tuple(inputs), out, self._fold)
        if 0 in step.shape:
            raise NotNative
        self.steps.append(step)

    def map(self, function: Elementwise, *inputs: Buffer) -> Buffer:
        if self._loose:
            kernel = elementwise(function, tuple(i.dtype for i in inputs))
            if kernel is not None and not kernel.exact:
                raise Unsettled
        return super().map(function, *inputs)

    def reduce(self, ufunc: np.ufunc, x: Buffer, axes: Sequence[int], keepdims: bool) -> Buffer:
        if self._loose:
            raise Unsettled
        if not axes:
            return super().reduce(ufunc, x, axes, keepdims)
        first = len(self.steps)
        self._fold = ufunc
        try:
            result = super().reduce(ufunc, x, axes, keepdims)
        finally:
            self._fold = None
        start = self.steps[first]
        self.steps[first] = ChainStep(start.kernel, start.inputs, start.out, once=True)
        return result

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        if x.contiguous or walked(x.shape) != walked(tuple(shape)):
            return super().reshape(x, shape)
        return respread(x, tuple(shape))

    def accumulate(self, ufunc: np.ufunc, x: Buffer, axis: int) -> Buffer:
        raise NotNative

    def value(self, x: Buffer) -> Array:
        if x.known is None:
            raise NotNative
        return x.known

    def _peek(self, x: Buffer) -> Array:
        return self.value(x)
