"""What a TensorRT network means, said plainly: each tensor of a loop is a sequence, and an element of it is computed
when something asks for it (the formal semantics of NVIDIA's guide)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loopdbg.runtime.frontends.tensorrt.conditional import IIfConditionalInputLayer, IIfConditionalOutputLayer
from loopdbg.runtime.frontends.tensorrt.enums import ElementWiseOperation, LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ILayer, ITensor
from loopdbg.runtime.frontends.tensorrt.layers.constant import IConstantLayer
from loopdbg.runtime.frontends.tensorrt.layers.elementwise import IElementWiseLayer
from loopdbg.runtime.frontends.tensorrt.loop import IIteratorLayer, ILoop, ILoopOutputLayer, IRecurrenceLayer
from loopdbg.runtime.frontends.tensorrt.network import INetworkDefinition

Op = ElementWiseOperation
_COMPUTE: Mapping[Op, Any] = {
    Op.SUM: np.add,
    Op.PROD: np.multiply,
    Op.SUB: np.subtract,
    Op.MAX: np.maximum,
    Op.MIN: np.minimum,
    Op.LESS: np.less,
    Op.GREATER: np.greater,
    Op.EQUAL: np.equal,
    Op.AND: np.logical_and,
    Op.OR: np.logical_or,
}
#: In which iteration each loop is.
Where = Mapping[ILoop, int]
MOST_TRIPS = 60


class FailsError(Exception):
    """The network has no value: an iterator out of its bounds, a length below the trips."""


class TooLargeError(Exception):
    """A loop that runs too long for a test, or for ever."""


class Lazy:
    """The values of a network on some inputs."""

    def __init__(self, network: INetworkDefinition, feeds: Mapping[str, Any]) -> None:
        self.network, self.feeds = network, feeds
        self._known: dict[Any, Any] = {}

    def value(self, tensor: ITensor, where: Where) -> Any:
        """An element of a tensor's sequence."""
        key = tensor, frozenset(where.items())
        if key not in self._known:
            layer = tensor._layer
            self._known[key] = np.asarray(self.feeds[tensor.name]) if layer is None else self._layer(layer, where)
        return self._known[key]

    def _input(self, layer: ILayer, index: int, where: Where) -> Any:
        return self.value(layer.input(index), where)

    def _layer(self, layer: ILayer, where: Where) -> Any:
        if isinstance(layer, IConstantLayer):
            return np.asarray(layer.weights).reshape(tuple(layer.shape))
        if isinstance(layer, IElementWiseLayer):
            return _COMPUTE[layer.op](self._input(layer, 0, where), self._input(layer, 1, where))
        if isinstance(layer, IIfConditionalInputLayer):
            return self._input(layer, 0, where)
        if isinstance(layer, IIfConditionalOutputLayer):
            condition = self._input(layer.conditional.conditions[0], 0, where)
            return self._input(layer, 0 if condition else 1, where)
        if isinstance(layer, IRecurrenceLayer):
            i = where[layer.loop]
            if not i:
                return self._input(layer, 0, _around(layer.loop, where))
            return self._input(layer, 1, {**where, layer.loop: i - 1})
        if isinstance(layer, IIteratorLayer):
            return self._part(layer, where)
        assert isinstance(layer, ILoopOutputLayer)
        return self._left(layer, where)

    def _part(self, layer: IIteratorLayer, where: Where) -> Any:
        around = _around(layer.loop, where)
        x, i = self._input(layer, 0, around), where[layer.loop]
        size = x.shape[layer.axis]
        if layer.reverse:
            count = layer.loop.limit(TripLimit.COUNT)
            i = (size if count is None else int(self._input(count, 0, around))) - 1 - i
        if not 0 <= i < size:
            raise FailsError
        return np.take(x, i, layer.axis)

    def _left(self, layer: ILoopOutputLayer, where: Where) -> Any:
        loop = layer.loop
        trips = self.trips(loop, where)
        if layer.kind is LoopOutput.LAST_VALUE:
            return self._input(layer, 0, {**where, loop: trips})
        length = int(self._input(layer, 1, where))
        if length < trips:
            raise FailsError
        rows = [self._input(layer, 0, {**where, loop: i}) for i in range(trips)]
        if layer.kind is LoopOutput.REVERSE:
            rows.reverse()
        known = layer.input(0).type
        size = tuple(size if isinstance(size, int) else 0 for size in known.shape or ())
        rows += [np.zeros(rows[0].shape if rows else size, known.dtype)] * (length - trips)
        if not rows:
            return np.zeros((*size[: layer.axis], 0, *size[layer.axis :]), known.dtype)
        return np.stack(rows, layer.axis)

    def trips(self, loop: ILoop, where: Where) -> int:
        """How often a loop runs where it is."""
        key = loop, frozenset(where.items())
        if key not in self._known:
            self._known[key] = self._trips(loop, where)
        found: int = self._known[key]
        return found

    def _trips(self, loop: ILoop, where: Where) -> int:
        count, condition = loop.limit(TripLimit.COUNT), loop.limit(TripLimit.WHILE)
        most = MOST_TRIPS if count is None else int(self._input(count, 0, where))
        if most < 0:
            raise FailsError
        n = 0
        while n < most and (condition is None or self._input(condition, 0, {**where, loop: n})):
            n += 1
        if n >= MOST_TRIPS:
            raise TooLargeError
        return n


def _around(loop: ILoop, where: Where) -> Where:
    return {other: i for other, i in where.items() if other is not loop}
