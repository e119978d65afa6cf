"""Several nodes bound with one binder, so that views stay views from node to node.

What comes out are steps, elementwise kernels over whole tensors; operators that need more than those are
NotNative here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bind import Buffer, _Binder
from .graph import Array
from .kernels import Kernel
from .ops.primitives import Elementwise, NotNative, OwnLoop
from .ops.registry import Op

Shape = tuple[int, ...]

#: Correctly rounded: they give the same bits however their arguments lie in memory. NumPy's other loops may compute in
#: another way where elements are not neighbours.
_EXACT: set[object] = (
    {np.add, np.subtract, np.multiply, np.divide, np.reciprocal, np.sqrt, np.square}
    | {np.negative, np.absolute, np.sign, np.floor, np.ceil, np.trunc, np.rint}
    | {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.isnan, np.isinf, np.isfinite}
    | {np.logical_and, np.logical_or, np.logical_xor, np.logical_not}
    | {np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift}
)


def walked(shape: Shape) -> Shape:
    """The axes that a call walks along."""
    return tuple(extent for extent in shape if extent != 1)


@dataclass(frozen=True)
class Step:
    """One elementwise kernel over whole tensors; ``fold``: a reduction into ``out``, whose strides may be 0."""

    kernel: Kernel
    inputs: tuple[Buffer, ...]
    out: Buffer
    exact: bool = True
    fold: np.ufunc | None = None
    #: What a reduction starts from.
    once: bool = False

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return (*self.inputs, self.out)

    @property
    def shape(self) -> Shape:
        return np.broadcast_shapes(*(buffer.shape for buffer in self.buffers))


class Unsettled(Exception):
    """An operator wants its inputs as they would be node by node: contiguous."""


class Joint(_Binder):
    """Binds nodes one after the other. What no elementwise call can do is NotNative here."""

    def __init__(self) -> None:
        super().__init__(())
        self.steps: list[Step] = []
        self._loose = False
        self._exact = True
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
        step = Step(kernel, tuple(inputs), out, self._exact, self._fold)
        if 0 in step.shape:
            raise NotNative
        self.steps.append(step)

    def map(self, function: Elementwise, *inputs: Buffer) -> Buffer:
        whole_numbers = all(i.dtype.kind in "biu" for i in inputs)
        self._exact = isinstance(function, OwnLoop) or function in _EXACT or whole_numbers
        if self._loose and not self._exact:
            raise Unsettled
        try:
            return super().map(function, *inputs)
        finally:
            self._exact = True

    def cast(self, x: Buffer, dtype: np.dtype[Any]) -> Buffer:
        # Out of range, what a compiled loop makes of a float depends on whether it runs on several at once.
        if x.dtype.kind == "f" and dtype.kind in "iu" and x.dtype != dtype:
            raise NotNative
        return super().cast(x, dtype)

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
        self.steps[first] = Step(start.kernel, start.inputs, start.out, once=True)
        return result

    def reshape(self, x: Buffer, shape: Sequence[int]) -> Buffer:
        if x.contiguous or walked(x.shape) != walked(tuple(shape)):
            return super().reshape(x, shape)
        strides = iter([stride for extent, stride in zip(x.shape, x.strides, strict=True) if extent != 1])
        spread = tuple(0 if extent == 1 else next(strides) for extent in shape)
        known = None if x.known is None else x.known.reshape(tuple(shape))
        return Buffer(x.kind, x.index, x.dtype, tuple(shape), spread, x.offset, known)

    def accumulate(self, ufunc: np.ufunc, x: Buffer, axis: int) -> Buffer:
        raise NotNative

    def value(self, x: Buffer) -> Array:
        if x.known is None:
            raise NotNative
        return x.known

    def _peek(self, x: Buffer) -> Array:
        return self.value(x)
