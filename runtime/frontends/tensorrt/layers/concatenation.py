"""Layers that move elements: concatenation, padding, reversal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..dims import Dims
from ..enums import LayerType
from ..layer import ILayer, ITensor, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from ..script_location import ArgumentError, caller_location
from .argument_checks import (
    axis_argument,
    checked_rank,
    int_argument,
    ints_argument,
    require_dtype_kind,
    require_equal_dtypes,
    tensors_argument,
    third_from_end,
)

_INT64 = np.dtype(np.int64)


class IConcatenationLayer(ILayer):
    """Concatenates tensors along an axis; by default the third from the end."""

    KIND: ClassVar[str] = "Concatenation"
    TYPE: ClassVar[LayerType] = LayerType.CONCATENATION

    def __init__(self, network: INetworkDefinition, inputs: Sequence[ITensor]) -> None:
        super().__init__(network, inputs)
        self._axis: int | None = None

    axis = CheckedAttribute[int]("_axis", ownerless_check(int_argument), unset=third_from_end)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_equal_dtypes(self, types)
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
                    f"{self.required_input(k)} of shape {types[k].shape_text()} does not join "
                    f"{self.required_input(0)} of shape"
                    f" {types[0].shape_text()} along axis {axis}: all other sizes must be equal"
                )
        lengths = [shape[axis] for shape in shapes]
        sizes = [length for length in lengths if isinstance(length, int)]
        result[axis] = sum(sizes) if len(sizes) == len(lengths) else None
        return [TensorType(types[0].dtype, tuple(result))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("Concat", *inputs, axis=self.axis)]


@network_method
def add_concatenation(network: INetworkDefinition, inputs: Sequence[ITensor]) -> IConcatenationLayer:
    """Join a list of tensors."""
    tensors = tensors_argument(network, inputs, "add_concatenation")
    if not tensors:
        raise ArgumentError(f"{caller_location()}: add_concatenation takes at least one tensor")
    return IConcatenationLayer(network, tensors)


class IPaddingLayer(ILayer):
    """Pads the last two axes with zeros; negative numbers crop."""

    KIND: ClassVar[str] = "Padding"
    TYPE: ClassVar[LayerType] = LayerType.PADDING

    def __init__(self, network: INetworkDefinition, input: ITensor, pre: Any, post: Any) -> None:
        super().__init__(network, [input])
        self._pre = self._check_pair(pre, f"{self}: pre_padding")
        self._post = self._check_pair(post, f"{self}: post_padding")

    def _check_pair(self, value: Any, label: str) -> tuple[int, ...]:
        pair = ints_argument(value, label)
        if len(pair) != 2:
            raise ArgumentError(f"{caller_location()}: {label} has two numbers, for the last two axes, not {pair}")
        return pair

    pre_padding_nd = CheckedAttribute[Dims]("_pre", _check_pair, Dims)
    post_padding_nd = CheckedAttribute[Dims]("_post", _check_pair, Dims)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "number")
        if checked_rank(self, 0, types[0], 4) is None or types[0].shape is None:
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
        pads = scope.constant([*zeros, *self._pre, *zeros, *self._post], _INT64)
        return [scope.op("Pad", inputs[0], pads)]


@network_method
def add_padding_nd(network: INetworkDefinition, input: ITensor, pre_padding: Any, post_padding: Any) -> IPaddingLayer:
    """Pad the last two axes with zeros."""
    return IPaddingLayer(network, tensor_argument(network, input, "add_padding_nd: input"), pre_padding, post_padding)


class IReverseSequenceLayer(ILayer):
    """Reverses the first elements of each sequence of a batch, by their lengths."""

    KIND: ClassVar[str] = "ReverseSequence"
    TYPE: ClassVar[LayerType] = LayerType.REVERSE_SEQUENCE

    batch_axis: int = 1
    sequence_axis: int = 0

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 1, types[1], "index")
        checked_rank(self, 1, types[1], 1, 1)
        rank = checked_rank(self, 0, types[0], 2)
        if rank is not None:
            for attribute in ("batch_axis", "sequence_axis"):
                axis_argument(self, getattr(self, attribute), rank, f"its {attribute}")
        if self.batch_axis == self.sequence_axis:
            raise self.error(f"batch_axis and sequence_axis are both {self.batch_axis}; they must differ")
        batch = None if types[0].shape is None else types[0].shape[self.batch_axis]
        lengths = None if types[1].shape is None else types[1].shape[0]
        if isinstance(batch, int) and isinstance(lengths, int) and batch != lengths:
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


@network_method
def add_reverse_sequence(network: INetworkDefinition, input: ITensor, sequence_lens: ITensor) -> IReverseSequenceLayer:
    """Reverse the beginning of each sequence."""
    tensor_argument(network, input, "add_reverse_sequence: input")
    tensor_argument(network, sequence_lens, "add_reverse_sequence: sequence_lens")
    return IReverseSequenceLayer(network, [input, sequence_lens])
