"""Scaling and normalisation layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....graph import Array, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..enums import DataType, LayerType, ScaleMode
from ..layer import ILayer, ITensor, NetworkBase, enum_argument
from ..lowering_scope import LoweringScope
from ..weights import flat_array_of
from .argument_checks import (
    axes_from_mask,
    axis_argument,
    checked_rank,
    int_argument,
    number_argument,
    require_dtype_kind,
    same_types_check,
    static_shape,
    type_and_rank_check,
)
from .network_methods import Parameter, network_method

_DEFAULT_WEIGHTS = {"shift": 0.0, "scale": 1.0, "power": 1.0}


_SCALE_PARAMETERS: dict[str, Any] = {
    "input": ITensor,
    "mode": ScaleMode,
    **dict.fromkeys(("shift", "scale", "power"), Parameter(Any, None)),
}


@network_method("add_scale", "Scale; the channels are the third axis from the end.", **_SCALE_PARAMETERS)
@network_method(
    "add_scale_nd",
    "Scale, with the axis of the channels.",
    **_SCALE_PARAMETERS,
    channel_axis=Parameter(Any, None, check=int_argument),
)
class IScaleLayer(ILayer, type=LayerType.SCALE):
    """``(x * scale + shift) ** power``, with weights for all elements, for each channel, or for each element."""

    mode: ScaleMode = ScaleMode.UNIFORM
    channel_axis: int = 1

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor], **attributes: Any) -> None:
        super().__init__(network, inputs, **attributes)
        if "channel_axis" not in attributes:
            self.channel_axis = max(0, len(inputs[0].type.shape or (0,) * 4) - 3)

    shift, scale, power = (
        CheckedAttribute[Array](f"_{part}", ownerless_check(flat_array_of)) for part in _DEFAULT_WEIGHTS
    )

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        enum_argument(ScaleMode, self.mode, f"{self}: mode")
        require_dtype_kind(self, 0, types[0], "float")
        rank = checked_rank(self, 0, types[0], 4)
        for role in _DEFAULT_WEIGHTS:
            array = getattr(self, role)
            if array.size and types[0].dtype is not None and array.dtype != types[0].dtype:
                raise self.error(
                    f"its {role} is {array.dtype.name}, and {self.required_input(0)} {types[0].dtype.name}"
                )
            if rank is not None and array.size:
                self._weights_shape(types[0], array, role)
        return [types[0]]

    def _weights_shape(self, kind: TensorType, array: Array, role: str) -> tuple[int, ...]:
        """The shape in which weights broadcast to the input."""
        shape = kind.shape or ()
        axis = axis_argument(self, self.channel_axis, len(shape), "its channel_axis")
        trailing = (1,) * (len(shape) - axis - 1)
        if self.mode is ScaleMode.UNIFORM:
            count, text = 1, "one number for all"
        elif self.mode is ScaleMode.CHANNEL:
            channels = shape[axis]
            count, text = channels if isinstance(channels, int) else array.size, f"one for each channel, axis {axis}"
        else:
            inner = static_shape(shape[axis:])
            if inner is None:
                raise self.error(f"mode ELEMENTWISE needs to know the sizes from axis {axis} on of {kind.shape_text()}")
            count, text = math.prod(inner), f"one for each element from axis {axis} on"
        if array.size != count:
            raise self.error(f"its {role} has {array.size} numbers; mode {self.mode.name} takes {count}, {text}")
        if self.mode is ScaleMode.ELEMENTWISE:
            return static_shape(shape[axis:]) or ()
        return (array.size, *trailing) if self.mode is ScaleMode.CHANNEL else (1,)

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        value: Any = inputs[0]
        kind = self._inferred[0]
        for role, op in (("scale", "Mul"), ("shift", "Add"), ("power", "Pow")):
            array = getattr(self, role)
            if array.size and not (array == _DEFAULT_WEIGHTS[role]).all():
                value = scope.op(op, value, scope.constant(array.reshape(self._weights_shape(kind, array, role))))
        return [scope.op("Identity", value) if value is inputs[0] else value]


_NORMALIZATION_TENSORS = dict.fromkeys(("input", "scale", "bias"), ITensor)


@network_method(
    "add_normalization",
    "Normalise over the axes of a mask.",
    **_NORMALIZATION_TENSORS,
    axesMask=Parameter(int, label="add_normalization: axesMask, such as 1 << 1,", attribute="axes"),
)
@network_method(
    "add_normalization_v2",
    "Normalise over the axes of a mask; with groups, scale and bias are per channel.",
    **_NORMALIZATION_TENSORS,
    axesMask=Parameter(int, label="add_normalization_v2: axesMask, such as 1 << 1,", attribute="axes"),
    _v2=True,
)
class INormalizationLayer(ILayer, type=LayerType.NORMALIZATION):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``, over the axes of a mask."""

    CHECKS = (same_types_check(), type_and_rank_check(0, "float"))

    epsilon: float = 1e-5
    axes: int = 0
    num_groups: int = 1
    compute_precision: DataType = DataType.FLOAT
    _v2: bool = False

    is_v2 = property(lambda self: self._v2)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        number_argument(self.epsilon, f"{self}: epsilon")
        rank = checked_rank(self, 0, types[0], 2)
        if rank is None or types[0].shape is None:
            return [types[0]]
        axes = axes_from_mask(self, self.axes, rank)
        groups = self.num_groups
        channels = types[0].shape[1]
        if groups != 1:
            if not isinstance(channels, int) or groups < 1 or channels % groups:
                raise self.error(
                    f"num_groups is {groups}, and axis 1 of {self.required_input(0)} has {channels} channels"
                )
            if axes[0] < 2:
                raise self.error(f"with num_groups {groups} its axes, {axes}, have to lie behind the channels, axis 1")
        for k, role in ((1, "scale"), (2, "bias")):
            shape = types[k].shape
            if shape is None:
                continue
            expected = list(types[0].shape)
            if groups != 1 and not self._v2:
                expected[1] = groups
            fits = len(shape) == rank and all(
                not isinstance(a, int) or not isinstance(b, int) or b in (1, a)
                for a, b in zip(expected, shape, strict=True)
            )
            if not fits:
                raise self.error(
                    f"its {role}, {self.required_input(k)}, has the shape {types[k].shape_text()}: it must have the "
                    f"rank of {types[0].shape_text()}, and sizes that are equal to "
                    f"{TensorType(None, tuple(expected)).shape_text()} or 1"
                )
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        x, scale, bias = inputs
        shape = self._inferred[0].shape or ()
        axes = list(axes_from_mask(self, self.axes, len(shape)))
        dtype = self._inferred[0].dtype
        grouped = self.num_groups != 1
        original = x
        if grouped:
            # [N, C, ...] -> [N, G, C/G, ...]: the axes after G move by one, and C/G is reduced as well.
            sizes = [0, self.num_groups, int(str(shape[1])) // self.num_groups]
            tail = scope.op("Shape", x, start=2)
            x = scope.op("Reshape", x, scope.op("Concat", scope.int64_constant(sizes), tail, axis=0))
            axes = [2, *(axis + 1 for axis in axes)]
        axes_constant = scope.int64_constant(axes)
        centred = scope.op("Sub", x, scope.op("ReduceMean", x, axes_constant, keepdims=1))
        variance = scope.op("ReduceMean", scope.op("Mul", centred, centred), axes_constant, keepdims=1)
        deviation = scope.op("Sqrt", scope.op("Add", variance, scope.constant(self.epsilon, dtype)))
        result = scope.op("Div", centred, deviation)
        if grouped and self._v2:
            result = scope.op("Reshape", result, scope.op("Shape", original))
        elif grouped:
            # One scale for each group.
            axis = scope.int64_constant([2])
            scale, bias = (scope.op("Unsqueeze", value, axis) for value in (scale, bias))
        result = scope.op("Add", scope.op("Mul", result, scale), bias)
        if grouped and not self._v2:
            result = scope.op("Reshape", result, scope.op("Shape", original))
        return [result]


@network_method(
    "add_lrn",
    "Normalise across neighbouring channels.",
    "input",
    window=Parameter(int, attribute="window_size"),
    alpha=float,
    beta=float,
    k=float,
)
class ILRNLayer(ILayer, type=LayerType.LRN):
    """``x / (k + alpha / window * sum of squares) ** beta``, across neighbouring channels: axis -3."""

    CHECKS = (type_and_rank_check(0, "float", 3, 4),)

    window_size: int = 1
    alpha: float = 1.0
    beta: float = 1.0
    k: float = 1.0

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if not 1 <= self.window_size <= 15 or not self.window_size % 2:
            raise self.error(f"its window is {self.window_size}; it may be an odd number from 1 to 15")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        value: Any = inputs[0]
        has_batch = len(self._inferred[0].shape or ()) == 4
        zero = scope.int64_constant([0])
        if not has_batch:
            value = scope.op("Unsqueeze", value, zero)
        alpha, beta, bias = float(self.alpha), float(self.beta), float(self.k)
        value = scope.op("LRN", value, size=self.window_size, alpha=alpha, beta=beta, bias=bias)
        return [value if has_batch else scope.op("Squeeze", value, zero)]
