"""Scaling and normalisation layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import Array, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..enums import DataType, LayerType, ScaleMode
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from ..weights import flat_array_of
from .argument_checks import (
    axes_from_mask,
    axis_argument,
    checked_rank,
    int_argument,
    number_argument,
    require_dtype_kind,
    require_equal_dtypes,
    static_shape,
)

_INT64 = np.dtype(np.int64)
_DEFAULT_WEIGHTS = {"shift": 0.0, "scale": 1.0, "power": 1.0}


class IScaleLayer(ILayer):
    """``(x * scale + shift) ** power``, with weights for all elements, for each channel, or for each element."""

    KIND: ClassVar[str] = "Scale"
    TYPE: ClassVar[LayerType] = LayerType.SCALE

    mode: ScaleMode = ScaleMode.UNIFORM
    channel_axis: int = 1

    def __init__(
        self, network: INetworkDefinition, input: ITensor, mode: ScaleMode, weights: Sequence[Any], axis: int | None
    ) -> None:
        super().__init__(network, [input])
        self.mode = mode
        self.shift, self.scale, self.power = weights
        if axis is None:
            axis = max(0, len(input.type.shape or (0,) * 4) - 3)
        self.channel_axis = axis

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
                self._shape(types[0], array, role)
        return [types[0]]

    def _shape(self, kind: TensorType, array: Array, role: str) -> tuple[int, ...]:
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
                value = scope.op(op, value, scope.constant(array.reshape(self._shape(kind, array, role))))
        return [scope.op("Identity", value) if value is inputs[0] else value]


@network_method
def add_scale(
    network: INetworkDefinition,
    input: ITensor,
    mode: ScaleMode,
    shift: Any = None,
    scale: Any = None,
    power: Any = None,
) -> IScaleLayer:
    """Scale; the channels are the third axis from the end."""
    tensor_argument(network, input, "add_scale: input")
    enum_argument(ScaleMode, mode, "add_scale: mode")
    return IScaleLayer(network, input, mode, (shift, scale, power), None)


@network_method
def add_scale_nd(
    network: INetworkDefinition,
    input: ITensor,
    mode: ScaleMode,
    shift: Any = None,
    scale: Any = None,
    power: Any = None,
    channel_axis: Any = None,
) -> IScaleLayer:
    """Scale, with the axis of the channels."""
    tensor_argument(network, input, "add_scale_nd: input")
    enum_argument(ScaleMode, mode, "add_scale_nd: mode")
    axis = int_argument(channel_axis, "add_scale_nd: channel_axis")
    return IScaleLayer(network, input, mode, (shift, scale, power), axis)


class INormalizationLayer(ILayer):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``, over the axes of a mask."""

    KIND: ClassVar[str] = "Normalization"
    TYPE: ClassVar[LayerType] = LayerType.NORMALIZATION

    epsilon: float = 1e-5
    axes: int = 0
    num_groups: int = 1
    compute_precision: DataType = DataType.FLOAT

    def __init__(self, network: INetworkDefinition, inputs: Sequence[ITensor], axes: int, v2: bool) -> None:
        super().__init__(network, inputs)
        self.axes = axes
        self._v2 = v2

    @property
    def is_v2(self) -> bool:
        return self._v2

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_equal_dtypes(self, types)
        require_dtype_kind(self, 0, types[0], "float")
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
                    "rank of"
                    f" {types[0].shape_text()}, and sizes that are equal to"
                    f" {TensorType(None, tuple(expected)).shape_text()} or 1"
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
            x = scope.op("Reshape", x, scope.op("Concat", scope.constant(sizes, _INT64), tail, axis=0))
            axes = [2, *(axis + 1 for axis in axes)]
        axes_constant = scope.constant(axes, _INT64)
        centred = scope.op("Sub", x, scope.op("ReduceMean", x, axes_constant, keepdims=1))
        variance = scope.op("ReduceMean", scope.op("Mul", centred, centred), axes_constant, keepdims=1)
        deviation = scope.op("Sqrt", scope.op("Add", variance, scope.constant(self.epsilon, dtype)))
        result = scope.op("Div", centred, deviation)
        if grouped and self._v2:
            result = scope.op("Reshape", result, scope.op("Shape", original))
        elif grouped:
            # One scale for each group.
            axis = scope.constant([2], _INT64)
            scale, bias = (scope.op("Unsqueeze", value, axis) for value in (scale, bias))
        result = scope.op("Add", scope.op("Mul", result, scale), bias)
        if grouped and not self._v2:
            result = scope.op("Reshape", result, scope.op("Shape", original))
        return [result]


def _normalization(name: str, network: INetworkDefinition, values: Sequence[Any], axes: Any) -> INormalizationLayer:
    roles = ("input", "scale", "bias")
    tensors = [tensor_argument(network, value, f"{name}: {role}") for value, role in zip(values, roles, strict=True)]
    mask = int_argument(axes, f"{name}: axesMask, such as 1 << 1,")
    return INormalizationLayer(network, tensors, mask, name.endswith("v2"))


@network_method
def add_normalization(
    network: INetworkDefinition, input: ITensor, scale: ITensor, bias: ITensor, axesMask: int
) -> INormalizationLayer:
    """Normalise over the axes of a mask."""
    return _normalization("add_normalization", network, (input, scale, bias), axesMask)


@network_method
def add_normalization_v2(
    network: INetworkDefinition, input: ITensor, scale: ITensor, bias: ITensor, axesMask: int
) -> INormalizationLayer:
    """Normalise over the axes of a mask; with groups, scale and bias are per channel."""
    return _normalization("add_normalization_v2", network, (input, scale, bias), axesMask)


class ILRNLayer(ILayer):
    """``x / (k + alpha / window * sum of squares) ** beta``, across neighbouring channels: axis -3."""

    KIND: ClassVar[str] = "LRN"
    TYPE: ClassVar[LayerType] = LayerType.LRN

    window_size: int = 1
    alpha: float = 1.0
    beta: float = 1.0
    k: float = 1.0

    def __init__(
        self, network: INetworkDefinition, input: ITensor, window: int, alpha: float, beta: float, k: float
    ) -> None:
        super().__init__(network, [input])
        self.window_size, self.alpha, self.beta, self.k = window, alpha, beta, k

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "float")
        checked_rank(self, 0, types[0], 3, 4)
        if not 1 <= self.window_size <= 15 or not self.window_size % 2:
            raise self.error(f"its window is {self.window_size}; it may be an odd number from 1 to 15")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        value: Any = inputs[0]
        has_batch = len(self._inferred[0].shape or ()) == 4
        zero = scope.constant([0], _INT64)
        if not has_batch:
            value = scope.op("Unsqueeze", value, zero)
        alpha, beta, bias = float(self.alpha), float(self.beta), float(self.k)
        value = scope.op("LRN", value, size=self.window_size, alpha=alpha, beta=beta, bias=bias)
        return [value if has_batch else scope.op("Squeeze", value, zero)]


@network_method
def add_lrn(network: INetworkDefinition, input: ITensor, window: int, alpha: float, beta: float, k: float) -> ILRNLayer:
    """Normalise across neighbouring channels."""
    tensor_argument(network, input, "add_lrn: input")
    size = int_argument(window, "add_lrn: window")
    numbers = [number_argument(n, f"add_lrn: {name}") for n, name in ((alpha, "alpha"), (beta, "beta"), (k, "k"))]
    return ILRNLayer(network, input, size, *numbers)
