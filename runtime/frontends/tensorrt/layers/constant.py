"""Constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph import Array, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..dims import Dims, sizes_of
from ..enums import LayerType
from ..layer import ILayer
from ..lowering_scope import LoweringScope
from ..weights import array_of
from .network_methods import Parameter, network_method


@network_method(
    "add_constant",
    "A constant of a shape; the weights are an array, or trt.Weights.",
    shape=Parameter(Any, label="add_constant: the shape", check=sizes_of),
    weights=Parameter(Any, label="add_constant: the weights", check=array_of),
)
class IConstantLayer(ILayer, type=LayerType.CONSTANT):
    """A constant. Its shape overrides that of the weights."""

    _shape: tuple[int, ...]
    _array: Array

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
