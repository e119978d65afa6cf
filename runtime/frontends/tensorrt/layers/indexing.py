"""Layers that read and write at computed indices."""

from __future__ import annotations

from collections.abc import Sequence

from ....graph import Dim, TensorType, Value
from ..constant_folding import constant_int, constant_value
from ..enums import DataType, GatherMode, LayerType, ScatterMode, numpy_type
from ..layer import ILayer
from ..lowering_scope import LoweringScope
from .argument_checks import axis_argument, same_types_check, sizes_differ, static_shape, type_and_rank_check
from .network_methods import network_method


@network_method("add_gather", "Gather slices of a tensor along an axis.", "input", "indices", axis=int)
@network_method("add_gather_v2", "Gather slices or elements of a tensor.", "input", "indices", mode=GatherMode)
class IGatherLayer(ILayer, type=LayerType.GATHER):
    """Gathers elements or slices of a tensor by indices; out-of-range ones are 0."""

    CHECKS = (type_and_rank_check(1, "index"), type_and_rank_check(0, "", 1))

    axis: int = 0
    num_elementwise_dims: int = 0
    mode: GatherMode = GatherMode.DEFAULT

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        data, indices = types
        batched = self.num_elementwise_dims
        if batched not in (0, 1) or (batched and self.mode is GatherMode.ELEMENT):
            raise self.error(f"num_elementwise_dims is {batched}, which mode {self.mode.name} cannot have")
        if data.shape is None or indices.shape is None:
            return [TensorType(data.dtype)]
        shape = {
            GatherMode.DEFAULT: self._default_mode_shape,
            GatherMode.ELEMENT: self._element_mode_shape,
            GatherMode.ND: self._nd_mode_shape,
        }
        return [TensorType(data.dtype, shape[self.mode](types, data.shape, indices.shape))]

    def _default_mode_shape(
        self, types: Sequence[TensorType], x: Sequence[Dim], index: Sequence[Dim]
    ) -> tuple[Dim, ...]:
        axis = axis_argument(self, self.axis, len(x))
        if not self.num_elementwise_dims:
            return (*x[:axis], *index, *x[axis + 1 :])
        if axis == 0 or not index:
            raise self.error(f"with num_elementwise_dims 1 axis 0 is that of batches: its axis is {axis}")
        first = index[0] if x[0] == 1 else x[0]
        if 1 not in (x[0], index[0]) and sizes_differ(x[0], index[0]):
            raise self._shape_mismatch_error(types)
        return (first, *x[1:axis], *index[1:], *x[axis + 1 :])

    def _element_mode_shape(
        self, types: Sequence[TensorType], x: Sequence[Dim], index: Sequence[Dim]
    ) -> tuple[Dim, ...]:
        axis = axis_argument(self, self.axis, len(x))
        if len(x) != len(index):
            raise self.error(
                f"mode ELEMENT takes indices of the data's rank, and {self.required_input(1)} is "
                f"{types[1].shape_text()}, {self.required_input(0)} {types[0].shape_text()}"
            )
        for k, (a, b) in enumerate(zip(x, index, strict=True)):
            if k != axis and isinstance(a, int) and isinstance(b, int) and b > a:
                raise self._shape_mismatch_error(types)
        return tuple(index)

    def _nd_mode_shape(self, types: Sequence[TensorType], x: Sequence[Dim], index: Sequence[Dim]) -> tuple[Dim, ...]:
        batched = self.num_elementwise_dims
        count = index[-1] if index else None
        if not isinstance(count, int):
            raise self.error(f"mode ND needs to know how long the last axis of {self.required_input(1)} is")
        if not 0 < count <= len(x) - batched:
            raise self.error(
                f"mode ND takes 1 to {len(x) - batched} numbers for an element of {types[0].shape_text()}, and the last"
                f" axis of {self.required_input(1)}, {types[1].shape_text()}, has {count}"
            )
        if batched and sizes_differ(x[0], index[0]):
            raise self._shape_mismatch_error(types)
        return (*index[:-1], *x[batched + count :])

    def _shape_mismatch_error(self, types: Sequence[TensorType]) -> Exception:
        return self.error(
            f"indices {self.required_input(1)} of shape {types[1].shape_text()} do not fit {self.required_input(0)} "
            f"of shape {types[0].shape_text()}"
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
        if indices is None or not isinstance(extent, int):
            return False
        return bool(((-extent <= indices) & (indices < extent)).all())


@network_method("add_scatter", "Write updates at indices.", "data", "indices", "updates", mode=ScatterMode)
class IScatterLayer(ILayer, type=LayerType.SCATTER):
    """A copy of a tensor with updates at indices."""

    CHECKS = (type_and_rank_check(1, "index"), same_types_check(0, 2))

    axis: int = 0
    mode: ScatterMode = ScatterMode.ELEMENT

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        data, indices, updates = types
        x, index = data.shape, indices.shape
        if x is None or index is None or updates.shape is None:
            return [data]
        if self.mode is ScatterMode.ELEMENT:
            axis_argument(self, self.axis, len(x))
            expected = TensorType(None, tuple(index))
            if len(index) != len(x):
                raise self.error(
                    f"mode ELEMENT takes indices of the data's rank, and {self.required_input(1)} is "
                    f"{indices.shape_text()}, {self.required_input(0)} {data.shape_text()}"
                )
        else:
            count = index[-1] if index else None
            if not isinstance(count, int) or not 0 < count <= len(x):
                raise self.error(
                    f"mode ND takes 1 to {len(x)} numbers for a place in {data.shape_text()}, and "
                    f"{self.required_input(1)} is {indices.shape_text()}"
                )
            expected = TensorType(None, (*index[:-1], *x[count:]))
        if expected.excludes(updates):
            raise self.error(
                f"its updates have the shape {updates.shape_text()}, and the indices need {expected.shape_text()}"
            )
        return [data]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        if self.mode is ScatterMode.ND:
            return [scope.op("ScatterND", inputs[0], scope.op("Cast", inputs[1], to=7), inputs[2])]
        return [scope.op("ScatterElements", *inputs, axis=self.axis)]


@network_method("add_one_hot", "One-hot vectors.", "indices", "values", "depth", axis=int)
class IOneHotLayer(ILayer, type=LayerType.ONE_HOT):
    """One value at the index, another elsewhere."""

    CHECKS = (type_and_rank_check(0, "index"), type_and_rank_check(1, "", 1, 1), type_and_rank_check(2, "index", 0, 0))

    axis: int = 0

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        indices, values = types[:2]
        if static_shape(values.shape) not in (None, (2,)):
            raise self.error(
                f"its values are two, [off, on], and {self.required_input(1)} has the shape {values.shape_text()}"
            )
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


@network_method("add_non_zero", "The indices of nonzero elements.", "input", indices_type=DataType.INT32)
class INonZeroLayer(ILayer, type=LayerType.NON_ZERO):
    """The indices of nonzero elements: a column for each."""

    indices_type: DataType = DataType.INT32

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if self.indices_type not in (DataType.INT32, DataType.INT64):
            raise self.error(f"indices_type is {self.indices_type}; it may be INT32 or INT64")
        rank = None if types[0].shape is None else len(types[0].shape)
        return [TensorType(numpy_type(self.indices_type), (rank, None))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.cast(scope.op("NonZero", *inputs), numpy_type(self.indices_type))]
