"""Layers that move elements: concatenation, padding, reversal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....graph import Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..dims import Dims, sizes_from_shape
from ..enums import LayerType
from ..layer import ILayer, ITensor, NetworkBase
from ..lowering_scope import LoweringScope
from ..script_location import argument_error
from .argument_checks import (
    axis_argument,
    int_argument,
    same_types_check,
    sizes_differ,
    third_axis_from_end,
    type_and_rank_check,
)
from .network_methods import TENSORS, Parameter, network_method


@network_method("add_concatenation", "Join a list of tensors.", inputs=Parameter(TENSORS, label="add_concatenation"))
class IConcatenationLayer(ILayer, type=LayerType.CONCATENATION, operator="Concat", attributes=("axis",)):
    """Concatenates tensors along an axis; by default the third from the end."""

    CHECKS = (same_types_check(),)

    _axis: int | None = None

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor]) -> None:
        if not inputs:
            raise argument_error("add_concatenation takes at least one tensor")
        super().__init__(network, inputs)

    axis = CheckedAttribute[int]("_axis", ownerless_check(int_argument), unset=third_axis_from_end)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if any(kind.shape is None for kind in types):
            return [TensorType(types[0].dtype)]
        shapes = [kind.shape or () for kind in types]
        rank = len(shapes[0])
        axis = axis_argument(self, self.axis, rank)
        result: list[Dim] = list(shapes[0])
        for k, shape in enumerate(shapes[1:], 1):
            fits = len(shape) == rank
            for j in range(rank if fits else 0):
                if j != axis and isinstance(shape[j], int):
                    fits = fits and result[j] in (shape[j], None)
                    result[j] = shape[j] if fits else result[j]
            if not fits:
                raise self.error(
                    f"{self.required_input(k)} of shape {types[k].shape_text()} does not join {self.required_input(0)}"
                    f" of shape {types[0].shape_text()} along axis {axis}: all other sizes must be equal"
                )
        lengths = [shape[axis] for shape in shapes]
        sizes = [length for length in lengths if isinstance(length, int)]
        result[axis] = sum(sizes) if len(sizes) == len(lengths) else None
        return [TensorType(types[0].dtype, tuple(result))]


@network_method("add_padding_nd", "Pad the last two axes with zeros.", "input", pre_padding=Any, post_padding=Any)
class IPaddingLayer(ILayer, type=LayerType.PADDING):
    """Pads the last two axes with zeros; negative numbers crop."""

    CHECKS = (type_and_rank_check(0, "number", 4),)

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor], pre_padding: Any, post_padding: Any) -> None:
        super().__init__(network, inputs)
        self._pre = self._check_pair(pre_padding, f"{self}: pre_padding")
        self._post = self._check_pair(post_padding, f"{self}: post_padding")

    def _check_pair(self, value: Any, label: str) -> tuple[int, ...]:
        pair = sizes_from_shape(value, label)
        if len(pair) != 2:
            raise argument_error(f"{label} has two numbers, for the last two axes, not {pair}")
        return pair

    pre_padding_nd = CheckedAttribute[Dims]("_pre", _check_pair, Dims)
    post_padding_nd = CheckedAttribute[Dims]("_post", _check_pair, Dims)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if types[0].shape is None:
            return [TensorType(types[0].dtype)]
        shape = list(types[0].shape)
        for axis, pre, post in zip((-2, -1), self._pre, self._post, strict=True):
            size = shape[axis]
            if isinstance(size, int):
                if size + pre + post < 0:
                    raise self.error(f"{pre} and {post} more of {size} elements leave a negative number")
                shape[axis] = size + pre + post
            elif pre or post:
                shape[axis] = None
        return [TensorType(types[0].dtype, tuple(shape))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        zeros = [0] * (len(self._inferred[0].shape or ()) - 2)
        pads = scope.int64_constant([*zeros, *self._pre, *zeros, *self._post])
        return [scope.op("Pad", inputs[0], pads)]


@network_method("add_reverse_sequence", "Reverse the beginning of each sequence.", "input", "sequence_lens")
class IReverseSequenceLayer(ILayer, type=LayerType.REVERSE_SEQUENCE):
    """Reverses the first elements of each sequence of a batch, by their lengths."""

    CHECKS = (type_and_rank_check(1, "index", 1, 1), type_and_rank_check(0, "", 2))

    batch_axis: int = 1
    sequence_axis: int = 0

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if types[0].shape is not None:
            for attribute in ("batch_axis", "sequence_axis"):
                axis_argument(self, getattr(self, attribute), len(types[0].shape), f"its {attribute}")
        if self.batch_axis == self.sequence_axis:
            raise self.error(f"batch_axis and sequence_axis are both {self.batch_axis}; they must differ")
        batch = None if types[0].shape is None else types[0].shape[self.batch_axis]
        lengths = None if types[1].shape is None else types[1].shape[0]
        if sizes_differ(batch, lengths):
            raise self.error(f"there are {lengths} lengths, {self.required_input(1)}, for a batch of {batch}")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        x: Any = inputs[0]
        lengths = scope.op("Cast", inputs[1], to=7)
        axes = self.batch_axis, self.sequence_axis
        if sorted(axes) == [0, 1]:
            return [scope.op("ReverseSequence", x, lengths, batch_axis=axes[0], time_axis=axes[1])]
        # ONNX requires both to be the first two axes.
        rank = len(self._inferred[0].shape or ())
        order = [*axes, *(k for k in range(rank) if k not in axes)]
        y = scope.op("ReverseSequence", scope.op("Transpose", x, perm=order), lengths, batch_axis=0, time_axis=1)
        return [scope.op("Transpose", y, perm=[order.index(k) for k in range(rank)])]
