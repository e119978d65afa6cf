"""Layers that read and write at computed indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ....graph import Dim, TensorType, Value
from ..constant_folding import constant_int, constant_value
from ..enums import DataType, GatherMode, LayerType, ScatterMode, numpy_type
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from .argument_checks import (
    axis_argument,
    checked_rank,
    int_argument,
    require_dtype_kind,
    require_equal_dtypes,
    static_shape,
)

_INT64 = np.dtype(np.int64)


class IGatherLayer(ILayer):
    """Gathers elements or slices of a tensor by indices; out-of-range ones are 0."""

    KIND: ClassVar[str] = "Gather"
    TYPE: ClassVar[LayerType] = LayerType.GATHER

    axis: int = 0
    num_elementwise_dims: int = 0
    mode: GatherMode = GatherMode.DEFAULT

    def __init__(
        self, network: INetworkDefinition, input: ITensor, indices: ITensor, axis: int, mode: GatherMode
    ) -> None:
        super().__init__(network, [input, indices])
        self.axis, self.mode = axis, mode

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        data, indices = types
        require_dtype_kind(self, 1, indices, "index")
        checked_rank(self, 0, data, 1)
        batched = self.num_elementwise_dims
        if batched not in (0, 1) or (batched and self.mode is GatherMode.ELEMENT):
            raise self.error(f"num_elementwise_dims is {batched}, which mode {self.mode.name} cannot have")
        if data.shape is None or indices.shape is None:
            return [TensorType(data.dtype)]
        shape = {
            GatherMode.DEFAULT: self._default_shape,
            GatherMode.ELEMENT: self._element_shape,
            GatherMode.ND: self._nd_shape,
        }
        return [TensorType(data.dtype, shape[self.mode](types, data.shape, indices.shape))]

    def _default_shape(self, types: Sequence[TensorType], x: Sequence[Dim], index: Sequence[Dim]) -> tuple[Dim, ...]:
        axis = axis_argument(self, self.axis, len(x))
        if not self.num_elementwise_dims:
            return (*x[:axis], *index, *x[axis + 1 :])
        if axis == 0 or not index:
            raise self.error(f"with num_elementwise_dims 1 axis 0 is that of batches: its axis is {axis}")
        first = index[0] if x[0] == 1 else x[0]
        if isinstance(x[0], int) and isinstance(index[0], int) and 1 not in (x[0], index[0]) and x[0] != index[0]:
            raise self._shape_mismatch_error(types)
        return (first, *x[1:axis], *index[1:], *x[axis + 1 :])

    def _element_shape(self, types: Sequence[TensorType], x: Sequence[Dim], index: Sequence[Dim]) -> tuple[Dim, ...]:
        axis = axis_argument(self, self.axis, len(x))
        if len(x) != len(index):
            raise self.error(
                f"mode ELEMENT takes indices of the data's rank, and {self.required_input(1)} is "
                f"{types[1].shape_text()},"
                f" {self.required_input(0)} {types[0].shape_text()}"
            )
        for k, (a, b) in enumerate(zip(x, index, strict=True)):
            if k != axis and isinstance(a, int) and isinstance(b, int) and b > a:
                raise self._shape_mismatch_error(types)
        return tuple(index)

    def _nd_shape(self, types: Sequence[TensorType], x: Sequence[Dim], index: Sequence[Dim]) -> tuple[Dim, ...]:
        batched = self.num_elementwise_dims
        count = index[-1] if index else None
        if not isinstance(count, int):
            raise self.error(f"mode ND needs to know how long the last axis of {self.required_input(1)} is")
        if not 0 < count <= len(x) - batched:
            raise self.error(
                f"mode ND takes 1 to {len(x) - batched} numbers for an element of {types[0].shape_text()}, and the last"
                f" axis of {self.required_input(1)}, {types[1].shape_text()}, has {count}"
            )
        if batched and isinstance(x[0], int) and isinstance(index[0], int) and x[0] != index[0]:
            raise self._shape_mismatch_error(types)
        return (*index[:-1], *x[batched + count :])

    def _shape_mismatch_error(self, types: Sequence[TensorType]) -> Exception:
        return self.error(
            f"indices {self.required_input(1)} of shape {types[1].shape_text()} do not fit {self.required_input(0)} "
            "of shape"
            f" {types[0].shape_text()}"
        )

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        batched = self.num_elementwise_dims
        if self.mode is GatherMode.ND:
            return [scope.op("GatherND", *inputs, domain="tensorrt", batched=batched)]
        if self.mode is GatherMode.ELEMENT:
            return [scope.op("GatherElements", *inputs, domain="tensorrt", axis=self.axis)]
        if not batched and self._indices_in_bounds():
            return [scope.op("Gather", *inputs, axis=self.axis)]
        return [scope.op("Gather", *inputs, domain="tensorrt", axis=self.axis, batched=batched)]

    def _indices_in_bounds(self) -> bool:
        """Whether the indices are constants in range."""
        indices = constant_value(self.required_input(1))
        shape = self.required_input(0).type.shape
        extent = None if shape is None else shape[self.axis]
        return (
            indices is not None and isinstance(extent, int) and bool(((-extent <= indices) & (indices < extent)).all())
        )


@network_method
def add_gather(network: INetworkDefinition, input: ITensor, indices: ITensor, axis: int) -> IGatherLayer:
    """Gather slices of a tensor along an axis."""
    tensor_argument(network, input, "add_gather: input")
    tensor_argument(network, indices, "add_gather: indices")
    return IGatherLayer(network, input, indices, int_argument(axis, "add_gather: axis"), GatherMode.DEFAULT)


@network_method
def add_gather_v2(network: INetworkDefinition, input: ITensor, indices: ITensor, mode: GatherMode) -> IGatherLayer:
    """Gather slices or elements of a tensor."""
    tensor_argument(network, input, "add_gather_v2: input")
    tensor_argument(network, indices, "add_gather_v2: indices")
    return IGatherLayer(network, input, indices, 0, enum_argument(GatherMode, mode, "add_gather_v2: mode"))


class IScatterLayer(ILayer):
    """A copy of a tensor with updates at indices."""

    KIND: ClassVar[str] = "Scatter"
    TYPE: ClassVar[LayerType] = LayerType.SCATTER

    axis: int = 0
    mode: ScatterMode = ScatterMode.ELEMENT

    def __init__(self, network: INetworkDefinition, inputs: Sequence[ITensor], mode: ScatterMode) -> None:
        super().__init__(network, inputs)
        self.mode = mode

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        data, indices, updates = types
        require_dtype_kind(self, 1, indices, "index")
        require_equal_dtypes(self, [data, TensorType(), updates])
        x, index, dims = data.shape, indices.shape, updates.shape
        if x is None or index is None or dims is None:
            return [data]
        if self.mode is ScatterMode.ELEMENT:
            axis_argument(self, self.axis, len(x))
            expected: tuple[Dim, ...] | None = tuple(index)
            if len(index) != len(x):
                raise self.error(
                    f"mode ELEMENT takes indices of the data's rank, and {self.required_input(1)} is "
                    f"{indices.shape_text()},"
                    f" {self.required_input(0)} {data.shape_text()}"
                )
        else:
            count = index[-1] if index else None
            if not isinstance(count, int) or not 0 < count <= len(x):
                raise self.error(
                    f"mode ND takes 1 to {len(x)} numbers for a place in {data.shape_text()}, and "
                    f"{self.required_input(1)} is"
                    f" {indices.shape_text()}"
                )
            expected = (*index[:-1], *x[count:])
        expected_text = TensorType(None, expected).shape_text()
        fits = expected is not None and len(expected) == len(dims)
        if not fits or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(expected or (), dims, strict=True)
        ):
            raise self.error(f"its updates have the shape {updates.shape_text()}, and the indices need {expected_text}")
        return [data]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        if self.mode is ScatterMode.ND:
            return [scope.op("ScatterND", inputs[0], scope.op("Cast", inputs[1], to=7), inputs[2])]
        return [scope.op("ScatterElements", *inputs, axis=self.axis)]


@network_method
def add_scatter(
    network: INetworkDefinition, data: ITensor, indices: ITensor, updates: ITensor, mode: ScatterMode
) -> IScatterLayer:
    """Write updates at indices."""
    tensors = [
        tensor_argument(network, data, "add_scatter: data"),
        tensor_argument(network, indices, "add_scatter: indices"),
        tensor_argument(network, updates, "add_scatter: updates"),
    ]
    return IScatterLayer(network, tensors, enum_argument(ScatterMode, mode, "add_scatter: mode"))


class IOneHotLayer(ILayer):
    """One value at the index, another elsewhere."""

    KIND: ClassVar[str] = "OneHot"
    TYPE: ClassVar[LayerType] = LayerType.ONE_HOT

    axis: int = 0

    def __init__(self, network: INetworkDefinition, inputs: Sequence[ITensor], axis: int) -> None:
        super().__init__(network, inputs)
        self.axis = axis

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        indices, values, depth = types
        require_dtype_kind(self, 0, indices, "index")
        checked_rank(self, 1, values, 1, 1)
        if static_shape(values.shape) not in (None, (2,)):
            raise self.error(
                f"its values are two, [off, on], and {self.required_input(1)} has the shape {values.shape_text()}"
            )
        require_dtype_kind(self, 2, depth, "index")
        checked_rank(self, 2, depth, 0, 0)
        if indices.shape is None:
            return [TensorType(values.dtype)]
        rank = len(indices.shape)
        if not -rank - 1 <= self.axis <= rank:
            raise self.error(f"its axis is {self.axis}; it may be {-rank - 1} to {rank}")
        shape: list[Dim] = list(indices.shape)
        shape.insert(self.axis % (rank + 1), constant_int(self.get_input(2)))
        return [TensorType(values.dtype, tuple(shape))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        indices, values, depth = inputs
        return [scope.op("OneHot", indices, depth, values, axis=self.axis)]


@network_method
def add_one_hot(
    network: INetworkDefinition, indices: ITensor, values: ITensor, depth: ITensor, axis: int
) -> IOneHotLayer:
    """One-hot vectors."""
    tensors = [
        tensor_argument(network, indices, "add_one_hot: indices"),
        tensor_argument(network, values, "add_one_hot: values"),
        tensor_argument(network, depth, "add_one_hot: depth"),
    ]
    return IOneHotLayer(network, tensors, int_argument(axis, "add_one_hot: axis"))


class INonZeroLayer(ILayer):
    """The indices of nonzero elements: a column for each."""

    KIND: ClassVar[str] = "NonZero"
    TYPE: ClassVar[LayerType] = LayerType.NON_ZERO

    indices_type: DataType = DataType.INT32

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if self.indices_type not in (DataType.INT32, DataType.INT64):
            raise self.error(f"indices_type is {self.indices_type}; it may be INT32 or INT64")
        rank = None if types[0].shape is None else len(types[0].shape)
        return [TensorType(numpy_type(self.indices_type), (rank, None))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.cast(scope.op("NonZero", *inputs), numpy_type(self.indices_type))]


@network_method
def add_non_zero(network: INetworkDefinition, input: ITensor, indices_type: DataType = DataType.INT32) -> INonZeroLayer:
    """The indices of nonzero elements."""
    layer = INonZeroLayer(network, [tensor_argument(network, input, "add_non_zero: input")])
    layer.indices_type = enum_argument(DataType, indices_type, "add_non_zero: indices_type")
    return layer
