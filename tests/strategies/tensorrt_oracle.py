"""The semantics of a TensorRT network, written plainly: each tensor of a loop is a lazy sequence, whose elements are
computed on demand (the formal semantics of NVIDIA's guide)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loopdbg.runtime.frontends.tensorrt.control_flow import (
    IIfConditionalInputLayer,
    IIfConditionalOutputLayer,
    IIteratorLayer,
    ILoop,
    ILoopOutputLayer,
    IRecurrenceLayer,
)
from loopdbg.runtime.frontends.tensorrt.enums import ElementWiseOperation, LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ILayer, ITensor
from loopdbg.runtime.frontends.tensorrt.layers.constant import IConstantLayer
from loopdbg.runtime.frontends.tensorrt.layers.elementwise import IElementWiseLayer
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
#: The current iteration of each loop.
IterationIndex = Mapping[ILoop, int]
MAX_TRIPS = 60


class NetworkFailsError(Exception):
    """The network has no value: an iterator out of bounds, a length below the trip count."""


class LoopTooLongError(Exception):
    """A loop that runs too long for a test, or for ever."""


class LazyEvaluator:
    """The values of a network on some inputs."""

    def __init__(self, network: INetworkDefinition, feeds: Mapping[str, Any]) -> None:
        self.network, self.feeds = network, feeds
        self._cache: dict[Any, Any] = {}

    def value(self, tensor: ITensor, where: IterationIndex) -> Any:
        """An element of a tensor's sequence."""
        key = tensor, frozenset(where.items())
        if key not in self._cache:
            layer = tensor._layer
            self._cache[key] = np.asarray(self.feeds[tensor.name]) if layer is None else self._layer(layer, where)
        return self._cache[key]

    def _input(self, layer: ILayer, index: int, where: IterationIndex) -> Any:
        return self.value(layer.required_input(index), where)

    def _layer(self, layer: ILayer, where: IterationIndex) -> Any:
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
                return self._input(layer, 0, _outer_index(layer.loop, where))
            return self._input(layer, 1, {**where, layer.loop: i - 1})
        if isinstance(layer, IIteratorLayer):
            return self._iterator_value(layer, where)
        assert isinstance(layer, ILoopOutputLayer)
        return self._loop_output_value(layer, where)

    def _iterator_value(self, layer: IIteratorLayer, where: IterationIndex) -> Any:
        around = _outer_index(layer.loop, where)
        x, i = self._input(layer, 0, around), where[layer.loop]
        size = x.shape[layer.axis]
        if layer.reverse:
            count = layer.loop.limit(TripLimit.COUNT)
            i = (size if count is None else int(self._input(count, 0, around))) - 1 - i
        if not 0 <= i < size:
            raise NetworkFailsError
        return np.take(x, i, layer.axis)

    def _loop_output_value(self, layer: ILoopOutputLayer, where: IterationIndex) -> Any:
        loop = layer.loop
        trips = self.trips(loop, where)
        if layer.kind is LoopOutput.LAST_VALUE:
            return self._input(layer, 0, {**where, loop: trips})
        length = int(self._input(layer, 1, where))
        if length < trips:
            raise NetworkFailsError
        rows = [self._input(layer, 0, {**where, loop: i}) for i in range(trips)]
        if layer.kind is LoopOutput.REVERSE:
            rows.reverse()
        known = layer.required_input(0).type
        size = tuple(size if isinstance(size, int) else 0 for size in known.shape or ())
        rows += [np.zeros(rows[0].shape if rows else size, known.dtype)] * (length - trips)
        if not rows:
            return np.zeros((*size[: layer.axis], 0, *size[layer.axis :]), known.dtype)
        return np.stack(rows, layer.axis)

    def trips(self, loop: ILoop, where: IterationIndex) -> int:
        """The trip count of a loop in the current iterations of its outer loops."""
        key = loop, frozenset(where.items())
        if key not in self._cache:
            self._cache[key] = self._trips(loop, where)
        number: int = self._cache[key]
        return number

    def _trips(self, loop: ILoop, where: IterationIndex) -> int:
        count, condition = loop.limit(TripLimit.COUNT), loop.limit(TripLimit.WHILE)
        most = MAX_TRIPS if count is None else int(self._input(count, 0, where))
        if most < 0:
            raise NetworkFailsError
        n = 0
        while n < most and (condition is None or self._input(condition, 0, {**where, loop: n})):
            n += 1
        if n >= MAX_TRIPS:
            raise LoopTooLongError
        return n


def _outer_index(loop: ILoop, where: IterationIndex) -> IterationIndex:
    return {other: i for other, i in where.items() if other is not loop}
