"""Layers over axes: reductions, top-k, softmax, cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ....graph import Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..constant_folding import constant_int
from ..enums import CumulativeOperation, DataType, LayerType, ReduceOperation, TopKOperation, numpy_type
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from .argument_checks import (
    axes_from_mask,
    bool_argument,
    checked_rank,
    int_argument,
    require_dtype_kind,
    third_from_end,
)

_OPERATION = ReduceOperation
_ONNX_OPERATORS = {
    _OPERATION.SUM: "ReduceSum",
    _OPERATION.PROD: "ReduceProd",
    _OPERATION.MAX: "ReduceMax",
    _OPERATION.MIN: "ReduceMin",
    _OPERATION.AVG: "ReduceMean",
}
_INT64 = np.dtype(np.int64)
#: The maximum k of TensorRT's top-k.
_MAX_TOPK = 3840


class IReduceLayer(ILayer):
    """A reduction over the axes of a mask."""

    KIND: ClassVar[str] = "Reduce"
    TYPE: ClassVar[LayerType] = LayerType.REDUCE

    op: ReduceOperation = _OPERATION.SUM
    axes: int = 0
    keep_dims: bool = False

    def __init__(
        self, network: INetworkDefinition, input: ITensor, op: ReduceOperation, axes: int, keep_dims: bool
    ) -> None:
        super().__init__(network, [input])
        self.op, self.axes, self.keep_dims = op, axes, keep_dims

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "number")
        if self.op not in _ONNX_OPERATORS:
            raise self.error("operation NONE reduces nothing; it is for collectives of several GPUs")
        rank = checked_rank(self, 0, types[0], 1)
        if rank is None or types[0].shape is None:
            return [TensorType(types[0].dtype)]
        axes = axes_from_mask(self, self.axes, rank)
        sizes: list[Dim] = []
        for k, size in enumerate(types[0].shape):
            if k not in axes:
                sizes.append(size)
            elif self.keep_dims:
                sizes.append(1)
        return [TensorType(types[0].dtype, tuple(sizes))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        axes = axes_from_mask(self, self.axes, len(self.required_input(0).type.shape or ()) or self.axes.bit_length())
        return [
            scope.op(_ONNX_OPERATORS[self.op], inputs[0], scope.constant(axes, _INT64), keepdims=int(self.keep_dims))
        ]


@network_method
def add_reduce(
    network: INetworkDefinition, input: ITensor, op: ReduceOperation, axes: int, keep_dims: bool
) -> IReduceLayer:
    """Reduce over the axes of a mask."""
    tensor_argument(network, input, "add_reduce: input")
    enum_argument(ReduceOperation, op, "add_reduce: op")
    mask = int_argument(axes, "add_reduce: axes, a mask such as 1 << 0,")
    return IReduceLayer(network, input, op, mask, bool_argument(keep_dims, "add_reduce: keep_dims"))


class ITopKLayer(ILayer):
    """The k largest, or smallest, elements along one axis: values and indices."""

    KIND: ClassVar[str] = "TopK"
    TYPE: ClassVar[LayerType] = LayerType.TOPK
    EXTRA_INPUTS: ClassVar[int] = 1

    op: TopKOperation = TopKOperation.MAX
    axes: int = 0
    indices_type: DataType = DataType.INT32

    def __init__(
        self, network: INetworkDefinition, input: ITensor, op: TopKOperation, k: int, axes: int, kind: DataType
    ) -> None:
        super().__init__(network, [input], 2)
        self.op, self.axes, self.indices_type = op, axes, kind
        self._k = k

    #: -1 where it is an input tensor.
    k = CheckedAttribute[int]("_k", ownerless_check(int_argument), unset=lambda layer: -1, input=1)

    def _axis(self, rank: int) -> int:
        axes = axes_from_mask(self, self.axes, rank)
        if len(axes) != 1 or axes[0] < rank - 4:
            raise self.error(f"its axes are the mask {self.axes:#b}: it takes one axis, of the last four")
        return axes[0]

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "number")
        k: int | None = self._k
        if self.get_input(1) is not None:
            require_dtype_kind(self, 1, types[1], "index")
            checked_rank(self, 1, types[1], 0, 0)
            k = constant_int(self.get_input(1))
        if k is not None and not 0 < k <= _MAX_TOPK:
            raise self.error(f"k is {k}; it may be 1 to {_MAX_TOPK}")
        kind = numpy_type(enum_argument(DataType, self.indices_type, f"{self}: indices_type"))
        if self.indices_type not in (DataType.INT32, DataType.INT64):
            raise self.error(f"indices_type is {self.indices_type.name}; it may be INT32 or INT64")
        rank = checked_rank(self, 0, types[0], 1)
        if rank is None or types[0].shape is None:
            return [TensorType(types[0].dtype), TensorType(kind)]
        shape = list(types[0].shape)
        axis = self._axis(rank)
        size = shape[axis]
        if k is not None and isinstance(size, int) and k > size:
            raise self.error(f"k is {k}, and axis {axis} of {self.required_input(0)} has only {size} elements")
        shape[axis] = k
        return [TensorType(types[0].dtype, tuple(shape)), TensorType(kind, tuple(shape))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        k_input = inputs[1] if len(inputs) > 1 else None
        vector_shape = scope.constant([1], _INT64)
        k = scope.constant([self._k], _INT64) if k_input is None else None
        if k is None:
            k = scope.op("Reshape", scope.op("Cast", k_input, to=7), vector_shape)
        axis = self._axis(len(self.required_input(0).type.shape or ()))
        values, indices = scope.ops(
            "TopK", [inputs[0], k], 2, axis=axis, largest=int(self.op is TopKOperation.MAX), sorted=1
        )
        return [values, scope.cast(indices, numpy_type(self.indices_type))]


@network_method
def add_topk(
    network: INetworkDefinition,
    input: ITensor,
    op: TopKOperation,
    k: int,
    axes: int,
    indices_type: DataType = DataType.INT32,
) -> ITopKLayer:
    """The k largest or smallest elements."""
    tensor_argument(network, input, "add_topk: input")
    enum_argument(TopKOperation, op, "add_topk: op")
    mask = int_argument(axes, "add_topk: axes, a mask such as 1 << 0,")
    return ITopKLayer(network, input, op, int_argument(k, "add_topk: k"), mask, indices_type)


class ISoftMaxLayer(ILayer):
    """Softmax over one axis; by default the third from the end."""

    KIND: ClassVar[str] = "SoftMax"
    TYPE: ClassVar[LayerType] = LayerType.SOFTMAX

    def __init__(self, network: INetworkDefinition, input: ITensor) -> None:
        super().__init__(network, [input])
        self._mask: int | None = None

    def _default_mask(self) -> int:
        return 1 << third_from_end(self)

    #: The mask of the axis.
    axes = CheckedAttribute[int](
        "_mask", ownerless_check(int_argument), unset=_default_mask, label="axes, a mask such as 1 << 0,"
    )

    def _axis(self, rank: int) -> int:
        axes = axes_from_mask(self, self.axes, rank)
        if len(axes) != 1:
            raise self.error(f"its axes are the mask {self.axes:#b}: it takes one axis")
        return axes[0]

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "float")
        rank = checked_rank(self, 0, types[0], 1)
        if rank is not None:
            self._axis(rank)
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("Softmax", inputs[0], axis=self._axis(len(self._inferred[0].shape or ())))]


@network_method
def add_softmax(network: INetworkDefinition, input: ITensor) -> ISoftMaxLayer:
    """Softmax; ``layer.axes`` is the mask of its axis."""
    return ISoftMaxLayer(network, tensor_argument(network, input, "add_softmax: input"))


class IRaggedSoftMaxLayer(ILayer):
    """Softmax over the first elements of each row; the rest is zero."""

    KIND: ClassVar[str] = "Ragged SoftMax"
    TYPE: ClassVar[LayerType] = LayerType.RAGGED_SOFTMAX

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        x, bounds = types
        require_dtype_kind(self, 0, x, "float")
        require_dtype_kind(self, 1, bounds, "index")
        checked_rank(self, 0, x, 3, 3)
        checked_rank(self, 1, bounds, 3, 3)
        if x.shape is not None and bounds.shape is not None:
            pairs = zip((*x.shape[:2], 1), bounds.shape, strict=True)
            if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
                raise self.error(
                    f"its bounds have the shape {bounds.shape_text()}, and {x.shape_text()} needs one for each row"
                )
        return [x]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("RaggedSoftmax", *inputs, domain="tensorrt")]


@network_method
def add_ragged_softmax(network: INetworkDefinition, input: ITensor, bounds: ITensor) -> IRaggedSoftMaxLayer:
    """Softmax over rows of different lengths."""
    tensor_argument(network, input, "add_ragged_softmax: input")
    return IRaggedSoftMaxLayer(network, [input, tensor_argument(network, bounds, "add_ragged_softmax: bounds")])


class ICumulativeLayer(ILayer):
    """Cumulative sums along an axis, which is a constant tensor."""

    KIND: ClassVar[str] = "Cumulative"
    TYPE: ClassVar[LayerType] = LayerType.CUMULATIVE

    op: CumulativeOperation = CumulativeOperation.SUM
    exclusive: bool = False
    reverse: bool = False

    def __init__(
        self,
        network: INetworkDefinition,
        input: ITensor,
        axis: ITensor,
        op: CumulativeOperation,
        exclusive: bool,
        reverse: bool,
    ) -> None:
        super().__init__(network, [input, axis])
        self.op, self.exclusive, self.reverse = op, exclusive, reverse

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "number")
        require_dtype_kind(self, 1, types[1], "index")
        checked_rank(self, 1, types[1], 0, 0)
        axis = constant_int(self.get_input(1))
        if axis is None:
            raise self.error(f"its axis has to be constant, and {self.required_input(1)} is not")
        rank = checked_rank(self, 0, types[0], 1)
        if rank is not None and not -rank <= axis < rank:
            raise self.error(f"its axis is {axis}; it may be {-rank} to {rank - 1}")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("CumSum", *inputs, exclusive=int(self.exclusive), reverse=int(self.reverse))]


@network_method
def add_cumulative(
    network: INetworkDefinition,
    input: ITensor,
    axis: ITensor,
    op: CumulativeOperation,
    exclusive: bool,
    reverse: bool,
) -> ICumulativeLayer:
    """Cumulative sums; ``axis`` is a tensor."""
    tensor_argument(network, input, "add_cumulative: input")
    tensor_argument(network, axis, "add_cumulative: axis, which is a tensor,")
    enum_argument(CumulativeOperation, op, "add_cumulative: op")
    bool_argument(exclusive, "add_cumulative: exclusive")
    return ICumulativeLayer(network, input, axis, op, exclusive, bool_argument(reverse, "add_cumulative: reverse"))
