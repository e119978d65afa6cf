"""Constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import Array, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..dims import Dims, sizes_of
from ..enums import LayerType
from ..layer import ILayer
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from ..weights import array_of


class IConstantLayer(ILayer):
    """A constant. Its shape overrides that of the weights."""

    KIND: ClassVar[str] = "Constant"
    TYPE: ClassVar[LayerType] = LayerType.CONSTANT

    def __init__(self, network: INetworkDefinition, shape: Any, weights: Any) -> None:
        super().__init__(network, [])
        self._shape = sizes_of(shape, "add_constant: the shape")
        self._array = array_of(weights, "add_constant: the weights")

    shape = CheckedAttribute[Dims]("_shape", ownerless_check(sizes_of), Dims, label="the shape")
    #: The flattened data.
    weights = CheckedAttribute[Array](
        "_array", ownerless_check(array_of), lambda array: array.reshape(-1), label="the weights"
    )

    def _data(self) -> Array:
        shape, count = self._shape, self._array.size
        if -1 in shape:
            known_size = math.prod(size for size in shape if size != -1)
            if shape.count(-1) == 1 and known_size > 0 and count % known_size == 0:
                shape = tuple(count // known_size if size == -1 else size for size in shape)
        if math.prod(shape) != count:
            raise self.error(f"its shape {self._shape} has {math.prod(shape)} elements, and there are {count} weights")
        return np.array(self._array, order="C").reshape(shape)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [TensorType(self._array.dtype, self._data().shape)]

    def constant_outputs(self) -> Sequence[Array] | None:
        return [self._data()]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.constant(self._data())]


@network_method
def add_constant(network: INetworkDefinition, shape: Any, weights: Any) -> IConstantLayer:
    """A constant of a shape; the weights are an array, or trt.Weights."""
    return IConstantLayer(network, shape, weights)
