"""Concise builders of TensorRT networks for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdbg.runtime.frontends.tensorrt.control_flow import ILoop
from loopdbg.runtime.frontends.tensorrt.enums import DataType, ElementWiseOperation, LoopOutput, TripLimit
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from loopdbg.runtime.frontends.tensorrt.layers import import_layer_modules
from loopdbg.runtime.frontends.tensorrt.network import INetworkDefinition
from loopdbg.runtime.frontends.tensorrt.network_lowering import lower_network
from loopdbg.runtime.graph import Graph
from loopdbg.runtime.model import Model

Op = ElementWiseOperation
_TYPES: Mapping[str, DataType] = {
    "float32": DataType.FLOAT,
    "float16": DataType.HALF,
    "int32": DataType.INT32,
    "int64": DataType.INT64,
    "bool": DataType.BOOL,
}


class NetworkBuilder(INetworkDefinition):
    """A network with short methods for common layers."""

    def __init__(self) -> None:
        import_layer_modules()
        super().__init__("test")

    def const(self, value: Any, dtype: Any = np.float32) -> ITensor:
        """Add a constant."""
        array = np.array(value, dtype)
        return output_of(self.add_constant(array.shape, array))

    def int32_const(self, value: Any) -> ITensor:
        """Add an int32 constant."""
        return self.const(value, np.int32)

    def input_tensor(self, name: str, dtype: str = "float32", shape: tuple[int, ...] = ()) -> ITensor:
        """Add an input."""
        return self.add_input(name, _TYPES[dtype], shape)

    def elementwise(self, a: ITensor, b: ITensor, op: ElementWiseOperation = Op.SUM) -> ITensor:
        return output_of(self.add_elementwise(a, b, op))

    def counted_loop(self, count: ITensor | int) -> ILoop:
        """Add a loop with a trip count."""
        loop = self.add_loop()
        loop.add_trip_limit(self.int32_const(count) if isinstance(count, int) else count, TripLimit.COUNT)
        return loop

    def add_carried(self, loop: ILoop, initial: ITensor, step: Callable[[ITensor], ITensor]) -> tuple[ITensor, ITensor]:
        """Add a recurrence; returns its value in an iteration, and the value that it yields."""
        recurrence = loop.add_recurrence(initial)
        after = step(output_of(recurrence))
        recurrence.set_input(1, after)
        return output_of(recurrence), after

    def last(self, loop: ILoop, tensor: ITensor, name: str) -> None:
        self._mark(output_of(loop.add_loop_output(tensor, LoopOutput.LAST_VALUE)), name)

    def stack(
        self, loop: ILoop, tensor: ITensor, name: str, length: ITensor | int, axis: int = 0, reverse: bool = False
    ) -> None:
        layer = loop.add_loop_output(tensor, LoopOutput.REVERSE if reverse else LoopOutput.CONCATENATE, axis)
        layer.set_input(1, self.int32_const(length) if isinstance(length, int) else length)
        self._mark(output_of(layer), name)

    def _mark(self, tensor: ITensor, name: str) -> None:
        tensor.name = name
        self.mark_output(tensor)

    def mark(self, tensor: ITensor, name: str) -> None:
        self._mark(tensor, name)

    def graph(self) -> Graph:
        return lower_network(self, "test")

    def model(self) -> Model:
        return Model(self.graph())


def output_of(layer: Any) -> ITensor:
    """A layer's output."""
    result = layer.get_output(0)
    assert isinstance(result, ITensor)
    return result
