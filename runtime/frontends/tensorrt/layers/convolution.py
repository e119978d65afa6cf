"""Convolution, its transpose, and pooling: what slides over the axes behind the channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import Array, Dim, TensorType, Value
from ....ops.tensorrt import told_beyond, window_beyond
from ..attribute import Attribute, plain
from ..dims import MAX_DIMS, Dims
from ..enums import LayerType, PaddingMode, PoolingType
from ..layer import ILayer, ITensor, Network, enum_argument, tensor_argument
from ..network import INetworkDefinition, adds
from ..place import ArgumentError, place
from ..scope import Scope
from ..weights import flat_array_of
from .arguments import int_argument, ints_argument, needs, number_argument, one_of, rank_of

_INT64 = np.dtype(np.int64)
_UP, _SAME_UPPER, _SAME_LOWER = PaddingMode.EXPLICIT_ROUND_UP, PaddingMode.SAME_UPPER, PaddingMode.SAME_LOWER


class Sliding(ILayer):
    """A window with strides and padding; ``*_nd`` have a number for each axis behind the channels."""

    padding_mode: PaddingMode = PaddingMode.EXPLICIT_ROUND_DOWN

    def __init__(self, network: Network, inputs: Sequence[ITensor], window: Any, what: str) -> None:
        super().__init__(network, inputs)
        self._window = ints_argument(window, f"{self}: {what}")
        axes = len(self._window)
        if axes not in (2, 3) or min(self._window) < 1:
            raise ArgumentError(f"{place()}: {self}: {what} has two or three positive numbers, not {self._window}")
        self._stride = self._dilation = (1,) * axes
        self._pre = self._post = (0,) * axes

    def _numbers(self, given: Any, what: str, least: int) -> tuple[int, ...]:
        found = ints_argument(given, what)
        if len(found) != len(self._window) or min(found) < least:
            raise ArgumentError(f"{place()}: {what} has {len(self._window)} numbers from {least} on, not {found}")
        return found

    def _padding(self, given: Any, what: str) -> tuple[int, ...]:
        return self._numbers(given, what, 0)

    def _positive(self, given: Any, what: str) -> tuple[int, ...]:
        return self._numbers(given, what, 1)

    stride_nd = Attribute[Dims]("_stride", _positive, Dims)
    padding_nd = Attribute[Dims]("_pre", _padding, Dims, also="_post")
    pre_padding = Attribute[Dims]("_pre", _padding, Dims)
    post_padding = Attribute[Dims]("_post", _padding, Dims)

    def spatial(self, kind: TensorType) -> tuple[Dim, ...] | None:
        """The sizes behind the channels; all axes in front of those are batches."""
        rank_of(self, 0, kind, len(self._window) + 2, MAX_DIMS)
        return None if kind.shape is None else tuple(kind.shape[-len(self._window) :])

    def batched(self, scope: Scope, x: Value | None, slide: Callable[[Value | None], Value]) -> Value:
        """What ``slide`` gives for one axis of batches, for as many as there are."""
        behind = len(self._window) + 1
        if len(self.input(0).type.shape or ()) <= behind + 1:
            return slide(x)

        def part(of: Value, start: int, end: int) -> Value:
            return scope.op("Slice", of, scope.constant([start], _INT64), scope.constant([end], _INT64))

        shape = scope.op("Shape", x)
        one = scope.op("Concat", scope.constant([-1], _INT64), part(shape, -behind, MAX_DIMS), axis=0)
        found = slide(scope.op("Reshape", x, one))
        sizes = part(scope.op("Shape", found), 1, MAX_DIMS)
        return scope.op("Reshape", found, scope.op("Concat", part(shape, 0, -behind), sizes, axis=0))

    def pads(self, k: int, size: Dim) -> tuple[int, int] | None:
        """The padding of an axis, before and behind; None: it follows from a size that is not known."""
        if not self._is_same():
            return self._pre[k], self._post[k]
        if not isinstance(size, int):
            return None
        stride = self._stride[k]
        return self._halves((size - 1) // stride * stride + self._reach(k) - size)

    def _is_same(self) -> bool:
        """Does the padding follow from the sizes?"""
        mode = enum_argument(PaddingMode, self.padding_mode, f"{self}: padding_mode")
        return mode in (_SAME_UPPER, _SAME_LOWER)

    def _halves(self, total: int) -> tuple[int, int]:
        """A padding before and behind; what is odd lies behind with SAME_UPPER, before with SAME_LOWER."""
        less, more = max(total, 0) // 2, (max(total, 0) + 1) // 2
        return (less, more) if self.padding_mode is _SAME_UPPER else (more, less)

    def _reach(self, k: int) -> int:
        """The elements of an axis from the first to the last one under a window."""
        return 1 + self._dilation[k] * (self._window[k] - 1)

    def padding(self) -> dict[str, Any]:
        """The padding in ONNX's attributes; if it follows from sizes that only a run tells, by its rule."""
        spatial = self.spatial(self.input(0).type) or (None,) * len(self._window)
        found = [self.pads(k, size) for k, size in enumerate(spatial)]
        known = [pads for pads in found if pads is not None]
        if len(known) < len(found):
            return {"auto_pad": self.padding_mode.name}
        return {"pads": [pre for pre, _ in known] + [post for _, post in known]}

    def slid(self, k: int, size: Dim) -> int | None:
        """How many places the window has along an axis."""
        pads = self.pads(k, size)
        if not isinstance(size, int) or pads is None:
            return None
        stride, reach = self._stride[k], self._reach(k)
        free = size + sum(pads) - reach
        if free < 0:
            raise self.error(f"its window reaches over {reach} elements, and axis {k + 2} has {size + sum(pads)}")
        if self.padding_mode in (_SAME_UPPER, _SAME_LOWER):
            return -(-size // stride)
        return (-(-free // stride) if self.padding_mode is _UP else free // stride) + 1


class _Convolution(Sliding):
    """What both directions have: weights, groups, dilation. Inputs 1 and 2 may give kernel and bias."""

    MORE_INPUTS: ClassVar[int] = 2

    num_output_maps: int = 0
    num_groups: int = 1

    def __init__(
        self, network: INetworkDefinition, input: ITensor, maps: int, window: Any, kernel: Any, bias: Any
    ) -> None:
        super().__init__(network, [input], window, "kernel_shape")
        self.num_output_maps = maps
        self.kernel, self.bias = kernel, bias

    kernel = Attribute[Array]("_kernel", plain(flat_array_of))
    bias = Attribute[Array]("_bias", plain(flat_array_of))
    kernel_size_nd = Attribute[Dims]("_window", Sliding._positive, Dims)
    dilation_nd = Attribute[Dims]("_dilation", Sliding._positive, Dims)

    def kernel_shape(self, channels: int) -> tuple[int, ...]:
        """The shape of the weights for so many input channels."""
        raise NotImplementedError

    def _channels(self, kind: TensorType) -> int | None:
        """The input channels, with which maps and weights have to agree."""
        channels = None if kind.shape is None else kind.shape[-len(self._window) - 1]
        groups, maps = self.num_groups, self.num_output_maps
        if not isinstance(channels, int):
            if kind.shape is not None:
                raise self.error(f"the channels of {self.input(0)} have to be known: {kind.shape_text()}")
            return None
        if maps < 1 or groups < 1 or channels % groups or maps % groups:
            raise self.error(f"{channels} channels and {maps} output maps cannot be in {groups} groups")
        return channels

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        needs(self, 0, types[0], "float")
        spatial = self.spatial(types[0])
        channels = self._channels(types[0])
        dtype = types[0].dtype
        if channels is None or spatial is None or types[0].shape is None:
            return [TensorType(dtype)]
        shape = self.kernel_shape(channels)
        for index, array, wanted, what in (
            (1, self._kernel, shape, "kernel"),
            (2, self._bias, (self.num_output_maps,), "bias"),
        ):
            if self.get_input(index) is not None:
                have = types[index].shape
                if array.size:
                    raise self.error(f"its {what} is given twice: by weights, and by input {index}")
                if have is not None and any(isinstance(n, int) and n != m for n, m in zip(have, wanted, strict=False)):
                    raise self.error(f"its {what}, {self.input(index)}, has to have the shape {list(wanted)}")
                continue
            if array.size != math.prod(wanted) and (array.size or what == "kernel"):
                raise self.error(
                    f"its {what} has {array.size} weights; the shape {list(wanted)} needs {math.prod(wanted)}"
                )
            if array.size and dtype is not None and array.dtype != dtype:
                raise self.error(f"its {what} is {array.dtype.name}, and {self.input(0)} {dtype.name}")
        sizes = [self.extent(k, size) for k, size in enumerate(spatial)]
        batches = types[0].shape[: -len(self._window) - 1]
        return [TensorType(dtype, (*batches, self.num_output_maps, *sizes))]

    def extent(self, k: int, size: Dim) -> int | None:
        """The size of an axis of the output."""
        return self.slid(k, size)

    def _operands(self, scope: Scope, inputs: Sequence[Value | None]) -> list[Value | None]:
        channels = self._channels(self.input(0).type) or 1
        given = [*inputs, None, None][:3]
        if given[1] is None:
            given[1] = scope.constant(self._kernel.reshape(self.kernel_shape(channels)))
        if given[2] is None and self._bias.size:
            given[2] = scope.constant(self._bias)
        return given

    def _lowered(
        self, scope: Scope, op: str, inputs: Sequence[Value | None], padding: dict[str, Any]
    ) -> Sequence[Value]:
        x, *weights = self._operands(scope, inputs)
        attributes = {
            "kernel_shape": list(self._window),
            "strides": list(self._stride),
            "dilations": list(self._dilation),
            "group": self.num_groups,
            **padding,
        }
        return [self.batched(scope, x, lambda one: scope.op(op, one, *weights, **attributes))]


class IConvolutionLayer(_Convolution):
    """A convolution."""

    KIND: ClassVar[str] = "Convolution"
    TYPE: ClassVar[LayerType] = LayerType.CONVOLUTION

    def kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (self.num_output_maps, channels // self.num_groups, *self._window)

    def lower(self, scope: Scope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        padding = self.padding()
        if self.padding_mode is _UP:
            # Zeros behind for less than a stride: the last place is reached, and no further one.
            axes = len(self._window)
            padding["pads"] = [
                n + (self._stride[k - axes] - 1 if k >= axes else 0) for k, n in enumerate(padding["pads"])
            ]
        return self._lowered(scope, "Conv", inputs, padding)


class IDeconvolutionLayer(_Convolution):
    """The transpose of a convolution: its padding trims the output."""

    KIND: ClassVar[str] = "Deconvolution"
    TYPE: ClassVar[LayerType] = LayerType.DECONVOLUTION

    def kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (channels, self.num_output_maps // self.num_groups, *self._window)

    def pads(self, k: int, size: Dim) -> tuple[int, int] | None:
        return self._halves(self._reach(k) - self._stride[k]) if self._is_same() else (self._pre[k], self._post[k])

    def extent(self, k: int, size: Dim) -> int | None:
        if not isinstance(size, int):
            return None
        found = (size - 1) * self._stride[k] + self._reach(k) - sum(self.pads(k, size) or ())
        if found < 0:
            raise self.error(f"its padding trims all of axis {k + 2}, and more")
        return found

    def lower(self, scope: Scope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return self._lowered(scope, "ConvTranspose", inputs, self.padding())


@adds
def add_convolution_nd(
    network: INetworkDefinition, input: ITensor, num_output_maps: int, kernel_shape: Any, kernel: Any, bias: Any = None
) -> IConvolutionLayer:
    """A convolution over two or three axes."""
    tensor_argument(network, input, "add_convolution_nd: input")
    maps = int_argument(num_output_maps, "add_convolution_nd: num_output_maps")
    return IConvolutionLayer(network, input, maps, kernel_shape, kernel, bias)


@adds
def add_deconvolution_nd(
    network: INetworkDefinition, input: ITensor, num_output_maps: int, kernel_shape: Any, kernel: Any, bias: Any = None
) -> IDeconvolutionLayer:
    """The transpose of one."""
    tensor_argument(network, input, "add_deconvolution_nd: input")
    maps = int_argument(num_output_maps, "add_deconvolution_nd: num_output_maps")
    return IDeconvolutionLayer(network, input, maps, kernel_shape, kernel, bias)


class IPoolingLayer(Sliding):
    """The greatest element of each window, the mean, or a blend of both."""

    KIND: ClassVar[str] = "Pooling"
    TYPE: ClassVar[LayerType] = LayerType.POOLING

    blend_factor: float = 0.0
    average_count_excludes_padding: bool = True

    def __init__(self, network: INetworkDefinition, input: ITensor, type: PoolingType, window: Any) -> None:
        super().__init__(network, [input], window, "window_size")
        self._pooling = type

    type = Attribute[PoolingType]("_pooling", one_of(PoolingType))
    window_size_nd = Attribute[Dims]("_window", Sliding._positive, Dims)

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        needs(self, 0, types[0], "float")
        spatial = self.spatial(types[0])
        number_argument(self.blend_factor, f"{self}: blend_factor")
        if spatial is None or types[0].shape is None:
            return [TensorType(types[0].dtype)]
        sizes = [self.slid(k, size) for k, size in enumerate(spatial)]
        if self.padding_mode is _UP:
            for k, size in enumerate(spatial):
                given = self._window[k], self._stride[k], self._pre[k], self._post[k]
                if isinstance(size, int) and window_beyond(size, *given):
                    raise self.error(told_beyond(k + 2, size))
        return [TensorType(types[0].dtype, (*types[0].shape[: -len(self._window)], *sizes))]

    def lower(self, scope: Scope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        attributes: dict[str, Any] = {
            "kernel_shape": list(self._window),
            "strides": list(self._stride),
            "ceil_mode": int(self.padding_mode is _UP),
            **self.padding(),
        }
        return [self.batched(scope, inputs[0], lambda x: self._pooled(scope, x, attributes))]

    def _pooled(self, scope: Scope, x: Value | None, attributes: dict[str, Any]) -> Value:
        if self.padding_mode is _UP and None in (self.spatial(self.input(0).type) or (None,)):
            settings = {"window": self._window, "stride": self._stride, "pre": self._pre, "post": self._post}
            x = scope.op("PoolReach", x, domain="tensorrt", **{name: list(told) for name, told in settings.items()})
        if self._pooling is PoolingType.MAX:
            return scope.op("MaxPool", x, **attributes)
        counted = int(not self.average_count_excludes_padding)
        mean = scope.op("AveragePool", x, count_include_pad=counted, **attributes)
        if self._pooling is PoolingType.AVERAGE:
            return mean
        dtype, blend = self._inferred[0].dtype, float(self.blend_factor)
        most = scope.op("Mul", scope.op("MaxPool", x, **attributes), scope.constant(1 - blend, dtype))
        return scope.op("Add", most, scope.op("Mul", mean, scope.constant(blend, dtype)))


@adds
def add_pooling_nd(network: INetworkDefinition, input: ITensor, type: PoolingType, window_size: Any) -> IPoolingLayer:
    """Pooling over two or three axes."""
    tensor_argument(network, input, "add_pooling_nd: input")
    return IPoolingLayer(network, input, enum_argument(PoolingType, type, "add_pooling_nd: type"), window_size)
