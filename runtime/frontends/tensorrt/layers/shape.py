"""Layers of shapes, without change of elements: shape, shuffle, squeeze, unsqueeze."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph import Array, Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..constant_folding import constant_value
from ..dims import MAX_DIMS, Dims, Permutation, sizes_from_shape
from ..enums import LayerType
from ..layer import ILayer
from ..lowering_scope import LoweringScope
from .argument_checks import checked_rank, require_dtype_kind, static_shape, type_and_rank_check
from .network_methods import network_method


@network_method("add_shape", "The shape of a tensor.", "input")
class IShapeLayer(ILayer, type=LayerType.SHAPE, operator="Shape"):
    """The shape of a tensor, as int64."""

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        shape = types[0].shape
        return [TensorType(np.dtype(np.int64), (None if shape is None else len(shape),))]

    def constant_outputs(self) -> Sequence[Array] | None:
        shape = static_shape(self.required_input(0).type.shape)
        return None if shape is None else [np.array(shape, np.int64)]


def _as_permutation(layer: ILayer, order: Any, label: str) -> Permutation:
    return order if isinstance(order, Permutation) else Permutation(order)


def _identity_permutation(layer: ILayer) -> Permutation:
    return Permutation(range(MAX_DIMS))


@network_method("add_shuffle", "Transpose, reshape, transpose.", "input")
class IShuffleLayer(ILayer, type=LayerType.SHUFFLE):
    """A transposition, a reshape, another transposition: each is optional."""

    MAX_INPUTS = 2

    #: Whether a 0 in ``reshape_dims`` means the size of the input's axis.
    zero_is_placeholder: bool = True
    _first: Permutation | None = None
    _second: Permutation | None = None
    _dims: tuple[int, ...] | None = None

    first_transpose = CheckedAttribute[Permutation]("_first", _as_permutation, unset=_identity_permutation)
    second_transpose = CheckedAttribute[Permutation]("_second", _as_permutation, unset=_identity_permutation)
    reshape_dims = CheckedAttribute[Dims]("_dims", ownerless_check(sizes_from_shape), Dims, unset=Dims.unset, input=1)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        shape = types[0].shape
        if shape is not None and self._first is not None:
            order = self._check_order(self._first, len(shape), "first_transpose")
            shape = tuple(shape[axis] for axis in order)
        dims = self._reshape_target(types)
        if dims is not None:
            shape = self._reshaped_shape(shape, dims)
        elif len(types) > 1:
            shape = self._shape_from_tensor(types[1])
        if shape is not None and self._second is not None:
            order = self._check_order(self._second, len(shape), "second_transpose")
            shape = tuple(shape[axis] for axis in order)
        return [TensorType(types[0].dtype, shape)]

    def _check_order(self, permutation: Permutation, rank: int, label: str) -> list[int]:
        order = list(permutation)[:rank]
        if sorted(order) != list(range(rank)):
            raise self.error(f"{label} is {tuple(order)}, which is no order of {rank} axes")
        return order

    def _reshape_target(self, types: Sequence[TensorType]) -> tuple[int, ...] | None:
        if len(types) < 2:
            return self._dims
        target = constant_value(self.required_input(1))
        return None if target is None else tuple(int(size) for size in target.reshape(-1))

    def _shape_from_tensor(self, kind: TensorType) -> tuple[Dim, ...] | None:
        require_dtype_kind(self, 1, kind, "index")
        checked_rank(self, 1, kind, 1, 1)
        length = None if kind.shape is None else kind.shape[0]
        return (None,) * length if isinstance(length, int) else None

    def _reshaped_shape(self, shape: tuple[Dim, ...] | None, dims: Sequence[int]) -> tuple[Dim, ...]:
        result: list[Dim] = []
        if any(size < -1 for size in dims) or list(dims).count(-1) > 1:
            raise self.error(f"reshape_dims are {tuple(dims)}: one of them may be -1, none less than that")
        for k, size in enumerate(dims):
            if size == 0 and self.zero_is_placeholder:
                if shape is not None and k >= len(shape):
                    raise self.error(
                        f"reshape_dims are {tuple(dims)}: the 0 at {k} means a size of the input, which has only"
                        f" {len(shape)} dimensions"
                    )
                result.append(None if shape is None else shape[k])
            else:
                result.append(size)
        known = static_shape(shape)
        known_dims = static_shape([size for size in result if size != -1])
        if -1 in result:
            volume = None if known_dims is None else math.prod(known_dims)
            if volume == 0:
                raise self.error(f"reshape_dims are {tuple(dims)}: with no elements, -1 could be anything")
            inferred: int | None = None
            if known is not None and volume is not None:
                inferred, remainder = divmod(math.prod(known), volume)
                if remainder:
                    raise self._volume_error(shape, dims)
            result[result.index(-1)] = inferred
        elif known is not None and known_dims is not None and math.prod(known) != math.prod(known_dims):
            raise self._volume_error(shape, dims)
        return tuple(result)

    def _volume_error(self, shape: Any, dims: Sequence[int]) -> Exception:
        shape_text = TensorType(None, shape).shape_text()
        return self.error(f"reshape would change volume: {shape_text} does not fit into reshape_dims {tuple(dims)}")

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        value: Any = inputs[0]
        shape = self.required_input(0).type.shape
        if self._first is not None and shape is not None:
            value = scope.op("Transpose", value, perm=self._check_order(self._first, len(shape), "first_transpose"))
        target: Value | None = None
        if len(inputs) > 1:
            target = scope.op("Cast", inputs[1], to=7)
        elif self._dims is not None:
            target = scope.int64_constant(self._dims)
        if target is not None:
            value = scope.op("Reshape", value, target, allowzero=None if self.zero_is_placeholder else 1)
        final = self._inferred[0].shape
        if self._second is not None and final is not None:
            value = scope.op("Transpose", value, perm=self._check_order(self._second, len(final), "second_transpose"))
        return [value]


class _AxesLayer(ILayer):
    """A layer whose axes are a constant tensor."""

    CHECKS = (type_and_rank_check(1, "index", 0, 1),)

    def _normalized_axes(self, rank: int) -> list[int]:
        axes = self._constant_axes()
        if any(not -rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) != len(axes):
            raise self.error(f"its axes are {axes}: they must differ, and lie in {-rank} to {rank - 1}")
        return sorted(axis % rank for axis in axes)

    def _constant_axes(self) -> list[int]:
        """The axes, as they are given."""
        array = constant_value(self.required_input(1))
        if array is None:
            raise self.error(f"its axes have to be constant, and {self.required_input(1)} is not")
        return [int(axis) for axis in array.reshape(-1)]


@network_method("add_squeeze", "Remove axes of size 1; ``axes`` is a tensor.", "input", "axes")
class ISqueezeLayer(_AxesLayer, type=LayerType.SQUEEZE):
    """Removes axes of size 1 from a tensor."""

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        self._constant_axes()
        shape = types[0].shape
        if shape is None:
            return [TensorType(types[0].dtype)]
        axes = self._normalized_axes(len(shape))
        for axis in axes:
            if isinstance(shape[axis], int) and shape[axis] != 1:
                raise self.error(
                    f"axis {axis} of {self.required_input(0)}, {types[0].shape_text()}, is not 1, so it stays"
                )
        return [TensorType(types[0].dtype, tuple(size for k, size in enumerate(shape) if k not in axes))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        shape = self.required_input(0).type.shape
        axes = self._normalized_axes(len(shape or ()))
        return [scope.op("Squeeze", inputs[0], scope.int64_constant(axes))]


@network_method("add_unsqueeze", "Add axes of size 1; ``axes`` is a tensor.", "input", "axes")
class IUnsqueezeLayer(_AxesLayer, type=LayerType.UNSQUEEZE):
    """Inserts axes of size 1 into a tensor; they refer to the result."""

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        axis_count, shape = len(self._constant_axes()), types[0].shape
        if shape is None:
            return [TensorType(types[0].dtype)]
        rank = len(shape) + axis_count
        if rank > MAX_DIMS:
            raise self.error(f"the result would have {rank} dimensions, and {MAX_DIMS} are the most")
        result: list[Dim] = list(shape)
        for axis in self._normalized_axes(rank):
            result.insert(axis, 1)
        return [TensorType(types[0].dtype, tuple(result))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        axes = self._normalized_axes(len(self._inferred[0].shape or ()))
        return [scope.op("Unsqueeze", inputs[0], scope.int64_constant(axes))]
