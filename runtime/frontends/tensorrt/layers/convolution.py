"""Convolution, its transpose, and pooling: sliding windows over the spatial axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ....graph import Array, Dim, TensorType, Value
from ....ops.tensorrt import has_window_past_end, window_past_end_error
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..dims import MAX_DIMS, Dims, sizes_from_shape
from ..enums import LayerType, PaddingMode, PoolingType
from ..layer import ILayer, ITensor, NetworkBase, enum_argument
from ..lowering_scope import LoweringScope
from ..script_location import argument_error
from ..weights import flat_array_of
from .argument_checks import checked_rank, enum_check, number_argument, type_and_rank_check
from .network_methods import Parameter, network_method

_UP, _SAME_UPPER, _SAME_LOWER = PaddingMode.EXPLICIT_ROUND_UP, PaddingMode.SAME_UPPER, PaddingMode.SAME_LOWER


class SlidingWindowLayer(ILayer):
    """A window with strides and padding; ``*_nd`` have a number for each spatial axis."""

    #: The name of the window's size among the parameters of the network's method.
    WINDOW_LABEL: ClassVar[str]

    padding_mode: PaddingMode = PaddingMode.EXPLICIT_ROUND_DOWN

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor], window: Any, **attributes: Any) -> None:
        super().__init__(network, inputs)
        label = self.WINDOW_LABEL
        self._window = sizes_from_shape(window, f"{self}: {label}")
        axes = len(self._window)
        if axes not in (2, 3) or min(self._window) < 1:
            raise argument_error(f"{self}: {label} has two or three positive numbers, not {self._window}")
        self._stride = self._dilation = (1,) * axes
        self._pre = self._post = (0,) * axes
        self._set_attributes(attributes)

    def _check_axis_numbers(self, value: Any, label: str, minimum: int) -> tuple[int, ...]:
        numbers = sizes_from_shape(value, label)
        if len(numbers) != len(self._window) or min(numbers) < minimum:
            raise argument_error(f"{label} has {len(self._window)} numbers from {minimum} on, not {numbers}")
        return numbers

    def _check_padding(self, value: Any, label: str) -> tuple[int, ...]:
        return self._check_axis_numbers(value, label, 0)

    def _check_positive(self, value: Any, label: str) -> tuple[int, ...]:
        return self._check_axis_numbers(value, label, 1)

    stride_nd = CheckedAttribute[Dims]("_stride", _check_positive, Dims)
    padding_nd = CheckedAttribute[Dims]("_pre", _check_padding, Dims, also="_post")
    pre_padding = CheckedAttribute[Dims]("_pre", _check_padding, Dims)
    post_padding = CheckedAttribute[Dims]("_post", _check_padding, Dims)

    def spatial_shape(self, kind: TensorType) -> tuple[Dim, ...] | None:
        """The sizes of the spatial axes; the axes before the channels are batches."""
        checked_rank(self, 0, kind, len(self._window) + 2, MAX_DIMS)
        return None if kind.shape is None else tuple(kind.shape[-len(self._window) :])

    def apply_flattened_batch(
        self, scope: LoweringScope, x: Value | None, slide: Callable[[Value | None], Value]
    ) -> Value:
        """Apply ``slide``, which needs one batch axis, to any number of batch axes."""
        inner_rank = len(self._window) + 1
        if len(self.required_input(0).type.shape or ()) <= inner_rank + 1:
            return slide(x)

        def shape_range(of: Value, start: int, end: int) -> Value:
            return scope.op("Slice", of, scope.int64_constant([start]), scope.int64_constant([end]))

        shape = scope.op("Shape", x)
        flat_shape = scope.op("Concat", scope.int64_constant([-1]), shape_range(shape, -inner_rank, MAX_DIMS), axis=0)
        output = slide(scope.op("Reshape", x, flat_shape))
        sizes = shape_range(scope.op("Shape", output), 1, MAX_DIMS)
        return scope.op("Reshape", output, scope.op("Concat", shape_range(shape, 0, -inner_rank), sizes, axis=0))

    def pads(self, k: int, size: Dim) -> tuple[int, int] | None:
        """The padding of an axis, before and after; None: it depends on an unknown size."""
        if not self._is_same_padding():
            return self._pre[k], self._post[k]
        if not isinstance(size, int):
            return None
        stride = self._stride[k]
        return self._split_padding((size - 1) // stride * stride + self._window_extent(k) - size)

    def _is_same_padding(self) -> bool:
        """Whether the padding follows from the sizes."""
        mode = enum_argument(PaddingMode, self.padding_mode, f"{self}: padding_mode")
        return mode in (_SAME_UPPER, _SAME_LOWER)

    def _split_padding(self, total: int) -> tuple[int, int]:
        """Split a padding; an odd element is after the data with SAME_UPPER, before it with SAME_LOWER."""
        smaller, larger = max(total, 0) // 2, (max(total, 0) + 1) // 2
        return (smaller, larger) if self.padding_mode is _SAME_UPPER else (larger, smaller)

    def _window_extent(self, k: int) -> int:
        """The extent of the dilated window along an axis."""
        return 1 + self._dilation[k] * (self._window[k] - 1)

    def padding_attributes(self) -> dict[str, Any]:
        """The padding as ONNX attributes; if it depends on unknown sizes, as ``auto_pad``."""
        spatial = self.spatial_shape(self.required_input(0).type) or (None,) * len(self._window)
        all_pads = [self.pads(k, size) for k, size in enumerate(spatial)]
        known = [pads for pads in all_pads if pads is not None]
        if len(known) < len(all_pads):
            return {"auto_pad": self.padding_mode.name}
        return {"pads": [pre for pre, _ in known] + [post for _, post in known]}

    def window_count(self, k: int, size: Dim) -> int | None:
        """The number of window positions along an axis."""
        pads = self.pads(k, size)
        if not isinstance(size, int) or pads is None:
            return None
        stride, reach = self._stride[k], self._window_extent(k)
        free = size + sum(pads) - reach
        if free < 0:
            raise self.error(f"its window reaches over {reach} elements, and axis {k + 2} has {size + sum(pads)}")
        if self.padding_mode in (_SAME_UPPER, _SAME_LOWER):
            return -(-size // stride)
        return (-(-free // stride) if self.padding_mode is _UP else free // stride) + 1


class _ConvolutionBase(SlidingWindowLayer):
    """The base of both directions: weights, groups, dilation. Inputs 1 and 2 may be kernel and bias."""

    MAX_INPUTS = 3
    WINDOW_LABEL = "kernel_shape"
    CHECKS = (type_and_rank_check(0, "float"),)

    num_output_maps: int = 0
    num_groups: int = 1

    kernel = CheckedAttribute[Array]("_kernel", ownerless_check(flat_array_of))
    bias = CheckedAttribute[Array]("_bias", ownerless_check(flat_array_of))
    kernel_size_nd = CheckedAttribute[Dims]("_window", SlidingWindowLayer._check_positive, Dims)
    dilation_nd = CheckedAttribute[Dims]("_dilation", SlidingWindowLayer._check_positive, Dims)

    def kernel_shape(self, channels: int) -> tuple[int, ...]:
        """The shape of the weights for N input channels."""
        raise NotImplementedError

    def _input_channel_count(self, kind: TensorType) -> int | None:
        """The number of input channels, checked against groups and maps."""
        channels = None if kind.shape is None else kind.shape[-len(self._window) - 1]
        groups, maps = self.num_groups, self.num_output_maps
        if not isinstance(channels, int):
            if kind.shape is not None:
                raise self.error(f"the channels of {self.required_input(0)} have to be known: {kind.shape_text()}")
            return None
        if maps < 1 or groups < 1 or channels % groups or maps % groups:
            raise self.error(f"{channels} channels and {maps} output maps cannot be in {groups} groups")
        return channels

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        spatial = self.spatial_shape(types[0])
        channels = self._input_channel_count(types[0])
        dtype = types[0].dtype
        if channels is None or spatial is None or types[0].shape is None:
            return [TensorType(dtype)]
        shape = self.kernel_shape(channels)
        for index, array, target, role in (
            (1, self._kernel, shape, "kernel"),
            (2, self._bias, (self.num_output_maps,), "bias"),
        ):
            if self.get_input(index) is not None:
                dims = types[index].shape
                if array.size:
                    raise self.error(f"its {role} is given twice: by weights, and by input {index}")
                if dims is not None and any(isinstance(n, int) and n != m for n, m in zip(dims, target, strict=False)):
                    raise self.error(f"its {role}, {self.required_input(index)}, has to have the shape {list(target)}")
                continue
            if array.size != math.prod(target) and (array.size or role == "kernel"):
                raise self.error(
                    f"its {role} has {array.size} weights; the shape {list(target)} needs {math.prod(target)}"
                )
            if array.size and dtype is not None and array.dtype != dtype:
                raise self.error(f"its {role} is {array.dtype.name}, and {self.required_input(0)} {dtype.name}")
        sizes = [self.extent(k, size) for k, size in enumerate(spatial)]
        batches = types[0].shape[: -len(self._window) - 1]
        return [TensorType(dtype, (*batches, self.num_output_maps, *sizes))]

    def extent(self, k: int, size: Dim) -> int | None:
        """The size of an axis of the output."""
        return self.window_count(k, size)

    def _kernel_operands(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> list[Value | None]:
        channels = self._input_channel_count(self.required_input(0).type) or 1
        operands = [*inputs, None, None][:3]
        if operands[1] is None:
            operands[1] = scope.constant(self._kernel.reshape(self.kernel_shape(channels)))
        if operands[2] is None and self._bias.size:
            operands[2] = scope.constant(self._bias)
        return operands

    def _lower_convolution(
        self, scope: LoweringScope, op: str, inputs: Sequence[Value | None], padding: dict[str, Any]
    ) -> Sequence[Value]:
        x, *weights = self._kernel_operands(scope, inputs)
        attributes = {
            "kernel_shape": list(self._window),
            "strides": list(self._stride),
            "dilations": list(self._dilation),
            "group": self.num_groups,
            **padding,
        }
        return [self.apply_flattened_batch(scope, x, lambda flat: scope.op(op, flat, *weights, **attributes))]


_CONVOLUTION_PARAMETERS: dict[str, Any] = {
    "input": ITensor,
    "num_output_maps": int,
    "kernel_shape": Parameter(Any, attribute="window"),
    "kernel": Any,
    "bias": Parameter(Any, None),
}


@network_method("add_convolution_nd", "A convolution over two or three axes.", **_CONVOLUTION_PARAMETERS)
class IConvolutionLayer(_ConvolutionBase, type=LayerType.CONVOLUTION):
    """A convolution."""

    def kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (self.num_output_maps, channels // self.num_groups, *self._window)

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        padding = self.padding_attributes()
        if self.padding_mode is _UP:
            # Zeros after the data for less than a stride: they add exactly the last partial window.
            axes = len(self._window)
            padding["pads"] = [
                n + (self._stride[k - axes] - 1 if k >= axes else 0) for k, n in enumerate(padding["pads"])
            ]
        return self._lower_convolution(scope, "Conv", inputs, padding)


@network_method("add_deconvolution_nd", "A transposed convolution over two or three axes.", **_CONVOLUTION_PARAMETERS)
class IDeconvolutionLayer(_ConvolutionBase, type=LayerType.DECONVOLUTION):
    """The transpose of a convolution: its padding trims the output."""

    def kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (channels, self.num_output_maps // self.num_groups, *self._window)

    def pads(self, k: int, size: Dim) -> tuple[int, int] | None:
        return (
            self._split_padding(self._window_extent(k) - self._stride[k])
            if self._is_same_padding()
            else (self._pre[k], self._post[k])
        )

    def extent(self, k: int, size: Dim) -> int | None:
        if not isinstance(size, int):
            return None
        size_out = (size - 1) * self._stride[k] + self._window_extent(k) - sum(self.pads(k, size) or ())
        if size_out < 0:
            raise self.error(f"its padding trims all of axis {k + 2}, and more")
        return size_out

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return self._lower_convolution(scope, "ConvTranspose", inputs, self.padding_attributes())


@network_method(
    "add_pooling_nd",
    "Pooling over two or three axes.",
    "input",
    type=PoolingType,
    window_size=Parameter(Any, attribute="window"),
)
class IPoolingLayer(SlidingWindowLayer, type=LayerType.POOLING):
    """The maximum of each window, the mean, or a blend of both."""

    WINDOW_LABEL = "window_size"
    CHECKS = (type_and_rank_check(0, "float"),)

    blend_factor: float = 0.0
    average_count_excludes_padding: bool = True
    _pooling: PoolingType

    type = CheckedAttribute[PoolingType]("_pooling", enum_check(PoolingType))
    window_size_nd = CheckedAttribute[Dims]("_window", SlidingWindowLayer._check_positive, Dims)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        spatial = self.spatial_shape(types[0])
        number_argument(self.blend_factor, f"{self}: blend_factor")
        if spatial is None or types[0].shape is None:
            return [TensorType(types[0].dtype)]
        sizes = [self.window_count(k, size) for k, size in enumerate(spatial)]
        if self.padding_mode is _UP:
            for k, size in enumerate(spatial):
                geometry = self._window[k], self._stride[k], self._pre[k], self._post[k]
                if isinstance(size, int) and has_window_past_end(size, *geometry):
                    raise self.error(window_past_end_error(k + 2, size))
        return [TensorType(types[0].dtype, (*types[0].shape[: -len(self._window)], *sizes))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        attributes: dict[str, Any] = {
            "kernel_shape": list(self._window),
            "strides": list(self._stride),
            "ceil_mode": int(self.padding_mode is _UP),
            **self.padding_attributes(),
        }
        return [self.apply_flattened_batch(scope, inputs[0], lambda x: self._lower_pooling(scope, x, attributes))]

    def _lower_pooling(self, scope: LoweringScope, x: Value | None, attributes: dict[str, Any]) -> Value:
        if self.padding_mode is _UP and None in (self.spatial_shape(self.required_input(0).type) or (None,)):
            settings = {"window": self._window, "stride": self._stride, "pre": self._pre, "post": self._post}
            x = scope.op("PoolReach", x, domain="tensorrt", **{name: list(v) for name, v in settings.items()})
        if self._pooling is PoolingType.MAX:
            return scope.op("MaxPool", x, **attributes)
        counted = int(not self.average_count_excludes_padding)
        mean = scope.op("AveragePool", x, count_include_pad=counted, **attributes)
        if self._pooling is PoolingType.AVERAGE:
            return mean
        dtype, blend = self._inferred[0].dtype, float(self.blend_factor)
        maximum = scope.op("Mul", scope.op("MaxPool", x, **attributes), scope.constant(1 - blend, dtype))
        return scope.op("Add", maximum, scope.op("Mul", mean, scope.constant(blend, dtype)))
