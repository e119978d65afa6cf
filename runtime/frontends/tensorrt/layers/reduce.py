"""Layers over axes: reductions, top-k, softmax, cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence

from ....graph import Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..constant_folding import constant_int
from ..enums import CumulativeOperation, DataType, LayerType, ReduceOperation, TopKOperation, numpy_type
from ..layer import ILayer, ITensor, enum_argument
from ..lowering_scope import LoweringScope
from .argument_checks import axes_from_mask, checked_rank, int_argument, third_axis_from_end, type_and_rank_check
from .network_methods import Parameter, network_method, unchecked

_ONNX_OPERATORS = {
    ReduceOperation.SUM: "ReduceSum",
    ReduceOperation.PROD: "ReduceProd",
    ReduceOperation.MAX: "ReduceMax",
    ReduceOperation.MIN: "ReduceMin",
    ReduceOperation.AVG: "ReduceMean",
}
#: The maximum k of TensorRT's top-k.
_MAX_TOPK = 3840


@network_method(
    "add_reduce",
    "Reduce over the axes of a mask.",
    "input",
    op=ReduceOperation,
    axes=Parameter(int, label="add_reduce: axes, a mask such as 1 << 0,"),
    keep_dims=bool,
)
class IReduceLayer(ILayer, type=LayerType.REDUCE):
    """A reduction over the axes of a mask."""

    CHECKS = (type_and_rank_check(0, "number"),)

    op: ReduceOperation = ReduceOperation.SUM
    axes: int = 0
    keep_dims: bool = False

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
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
        return [scope.op(_ONNX_OPERATORS[self.op], inputs[0], scope.int64_constant(axes), keepdims=int(self.keep_dims))]


@network_method(
    "add_topk",
    "The k largest or smallest elements.",
    "input",
    op=TopKOperation,
    k=int,
    axes=Parameter(int, label="add_topk: axes, a mask such as 1 << 0,"),
    indices_type=Parameter(DataType, DataType.INT32, check=unchecked),
)
class ITopKLayer(ILayer, type=LayerType.TOPK):
    """The k largest, or smallest, elements along one axis: values and indices."""

    OUTPUTS = 2
    MAX_INPUTS = 2
    CHECKS = (type_and_rank_check(0, "number"), type_and_rank_check(1, "index", 0, 0))

    op: TopKOperation = TopKOperation.MAX
    axes: int = 0
    indices_type: DataType = DataType.INT32
    _k: int

    #: -1 where it is an input tensor.
    k = CheckedAttribute[int]("_k", ownerless_check(int_argument), unset=lambda layer: -1, input=1)

    def _single_axis(self, rank: int) -> int:
        axes = axes_from_mask(self, self.axes, rank)
        if len(axes) != 1 or axes[0] < rank - 4:
            raise self.error(f"its axes are the mask {self.axes:#b}: it takes one axis, of the last four")
        return axes[0]

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        k = self._k if self.get_input(1) is None else constant_int(self.get_input(1))
        if k is not None and not 0 < k <= _MAX_TOPK:
            raise self.error(f"k is {k}; it may be 1 to {_MAX_TOPK}")
        kind = numpy_type(enum_argument(DataType, self.indices_type, f"{self}: indices_type"))
        if self.indices_type not in (DataType.INT32, DataType.INT64):
            raise self.error(f"indices_type is {self.indices_type.name}; it may be INT32 or INT64")
        rank = checked_rank(self, 0, types[0], 1)
        if rank is None or types[0].shape is None:
            return [TensorType(types[0].dtype), TensorType(kind)]
        shape = list(types[0].shape)
        axis = self._single_axis(rank)
        size = shape[axis]
        if k is not None and isinstance(size, int) and k > size:
            raise self.error(f"k is {k}, and axis {axis} of {self.required_input(0)} has only {size} elements")
        shape[axis] = k
        return [TensorType(types[0].dtype, tuple(shape)), TensorType(kind, tuple(shape))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        k_input = inputs[1] if len(inputs) > 1 else None
        vector_shape = scope.int64_constant([1])
        k = scope.int64_constant([self._k]) if k_input is None else None
        if k is None:
            k = scope.op("Reshape", scope.op("Cast", k_input, to=7), vector_shape)
        axis = self._single_axis(len(self.required_input(0).type.shape or ()))
        values, indices = scope.ops(
            "TopK", [inputs[0], k], 2, axis=axis, largest=int(self.op is TopKOperation.MAX), sorted=1
        )
        return [values, scope.cast(indices, numpy_type(self.indices_type))]


@network_method("add_softmax", "Softmax; ``layer.axes`` is the mask of its axis.", "input")
class ISoftMaxLayer(ILayer, type=LayerType.SOFTMAX):
    """Softmax over one axis; by default the third from the end."""

    CHECKS = (type_and_rank_check(0, "float", 1),)

    _mask: int | None = None

    def _default_mask(self) -> int:
        return 1 << third_axis_from_end(self)

    #: The mask of the axis.
    axes = CheckedAttribute[int](
        "_mask", ownerless_check(int_argument), unset=_default_mask, label="axes, a mask such as 1 << 0,"
    )

    def _single_axis(self, rank: int) -> int:
        axes = axes_from_mask(self, self.axes, rank)
        if len(axes) != 1:
            raise self.error(f"its axes are the mask {self.axes:#b}: it takes one axis")
        return axes[0]

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if types[0].shape is not None:
            self._single_axis(len(types[0].shape))
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("Softmax", inputs[0], axis=self._single_axis(len(self._inferred[0].shape or ())))]


@network_method("add_ragged_softmax", "Softmax over rows of different lengths.", "input", "bounds")
class IRaggedSoftMaxLayer(
    ILayer, type=LayerType.RAGGED_SOFTMAX, kind="Ragged SoftMax", operator="RaggedSoftmax", domain="tensorrt"
):
    """Softmax over the first elements of each row; the rest is zero."""

    CHECKS = (
        type_and_rank_check(0, "float"),
        type_and_rank_check(1, "index"),
        type_and_rank_check(0, "", 3, 3),
        type_and_rank_check(1, "", 3, 3),
    )

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        x, bounds = types
        if x.shape is not None and bounds.excludes(TensorType(None, (*x.shape[:2], 1))):
            raise self.error(
                f"its bounds have the shape {bounds.shape_text()}, and {x.shape_text()} needs one for each row"
            )
        return [x]


@network_method(
    "add_cumulative",
    "Cumulative sums; ``axis`` is a tensor.",
    "input",
    axis=Parameter(ITensor, label="add_cumulative: axis, which is a tensor,"),
    op=CumulativeOperation,
    exclusive=bool,
    reverse=bool,
)
class ICumulativeLayer(ILayer, type=LayerType.CUMULATIVE, operator="CumSum", attributes=("exclusive", "reverse")):
    """Cumulative sums along an axis, which is a constant tensor."""

    CHECKS = (type_and_rank_check(0, "number"), type_and_rank_check(1, "index", 0, 0))

    op: CumulativeOperation = CumulativeOperation.SUM
    exclusive: bool = False
    reverse: bool = False

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        axis = constant_int(self.get_input(1))
        if axis is None:
            raise self.error(f"its axis has to be constant, and {self.required_input(1)} is not")
        rank = checked_rank(self, 0, types[0], 1)
        if rank is not None and not -rank <= axis < rank:
            raise self.error(f"its axis is {axis}; it may be {-rank} to {rank - 1}")
        return [types[0]]
