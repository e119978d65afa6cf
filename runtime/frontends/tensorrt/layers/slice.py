"""Slices, with TensorRT's modes for elements out of bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....graph import Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..constant_folding import constant_value
from ..dims import Dims, sizes_from_shape
from ..enums import LayerType, SampleMode
from ..layer import ILayer, enum_argument
from ..lowering_scope import LoweringScope
from .argument_checks import static_shape, type_and_rank_check
from .network_methods import Parameter, network_method

_PARAMETER_NAMES = ("start", "shape", "stride")


@network_method(
    "add_slice",
    "A slice of a tensor by start, shape and stride.",
    "input",
    **dict.fromkeys(_PARAMETER_NAMES, Parameter(Any, check=sizes_from_shape)),
)
class ISliceLayer(ILayer, type=LayerType.SLICE):
    """``out[j] = in[start + j * stride]`` for j < ``shape`` along each axis; each of the three may be a tensor."""

    MAX_INPUTS = 6
    CHECKS = tuple(type_and_rank_check(index, "index", 1, 1) for index in (1, 2, 3, 5))

    mode: SampleMode = SampleMode.STRICT_BOUNDS
    _start: tuple[int, ...]
    _shape: tuple[int, ...]
    _stride: tuple[int, ...]
    _axes: tuple[int, ...] | None = None

    start, shape, stride, axes = (
        CheckedAttribute[Dims](f"_{part}", ownerless_check(sizes_from_shape), Dims, unset=Dims.unset, input=index)
        for part, index in (("start", 1), ("shape", 2), ("stride", 3), ("axes", 5))
    )

    @property
    def _static_parameters(self) -> tuple[tuple[int, ...], ...]:
        return self._start, self._shape, self._stride

    # -- parameters

    def _sliced_axes(self, rank: int) -> list[int]:
        """The axes of start, shape and stride."""
        axes = self._axes
        if self.get_input(5) is not None:
            array = constant_value(self.get_input(5))
            if array is None:
                raise self.error(f"its axes have to be constant, and {self.get_input(5)} is not")
            axes = tuple(int(axis) for axis in array.reshape(-1))
        if axes is None:
            return list(range(rank))
        if any(not -rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) != len(axes):
            raise self.error(f"its axes are {axes}: they must differ, and lie in {-rank} to {rank - 1}")
        return [axis % rank for axis in axes]

    def _known_parameter(self, part: int) -> tuple[int, ...] | None:
        """Start, shape or stride, if it is known."""
        tensor = self.get_input(part + 1)
        if tensor is None:
            return self._static_parameters[part]
        array = constant_value(tensor)
        return None if array is None else tuple(int(n) for n in array.reshape(-1))

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        enum_argument(SampleMode, self.mode, f"{self}: mode")
        if self.get_input(4) is not None:
            if self.mode is not SampleMode.FILL:
                raise self.error(f"input 4 is what mode FILL fills with, and the mode is {self.mode.name}")
            if types[4].dtype is not None and types[0].dtype is not None and types[4].dtype != types[0].dtype:
                raise self.error(
                    f"it fills {types[0].dtype.name} with {types[4].dtype.name}, {self.required_input(4)};"
                    " add_cast converts"
                )
        shape = types[0].shape
        if shape is None:
            return [TensorType(types[0].dtype)]
        axes = self._sliced_axes(len(shape))
        parts = [self._known_parameter(part) for part in range(3)]
        for name, numbers in zip(_PARAMETER_NAMES, parts, strict=True):
            if numbers is not None and len(numbers) != len(axes):
                if self._axes is None and self.get_input(5) is None:
                    raise self.error(
                        f"its {name} has {len(numbers)} numbers, and {self.required_input(0)} {len(shape)} dimensions:"
                        f" {types[0].shape_text()}"
                    )
                raise self.error(f"its {name} has {len(numbers)} numbers for {len(axes)} axes")
        start, sizes, stride = parts
        result: list[Dim] = list(shape)
        for k, axis in enumerate(axes):
            result[axis] = None if sizes is None else sizes[k]
            if sizes is None:
                continue
            if sizes[k] < 0:
                raise self.error(f"its shape is {tuple(sizes)}: no size can be negative")
            if start is not None and stride is not None:
                self._check_bounds(axis, shape[axis], start[k], sizes[k], stride[k])
        return [TensorType(types[0].dtype, tuple(result))]

    def _check_bounds(self, axis: int, extent: Dim, start: int, size: int, stride: int) -> None:
        """Check known parameters against the bounds."""
        if self.mode is not SampleMode.STRICT_BOUNDS or not isinstance(extent, int) or not size:
            return
        last = start + (size - 1) * stride
        for index in (start, last):
            if not 0 <= index < extent:
                raise self.error(
                    f"it takes element {index} of axis {axis} of {self.required_input(0)}, which has {extent}: start "
                    f"{start}, {size} elements, stride {stride}"
                )

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        x = inputs[0]
        shape = self.required_input(0).type.shape or ()
        axes = self._sliced_axes(len(shape))
        start, sizes, stride = (self._known_parameter(part) for part in range(3))
        is_static = static_shape([shape[axis] for axis in axes]) is not None
        if (
            self.mode is SampleMode.STRICT_BOUNDS
            and is_static
            and start is not None
            and sizes is not None
            and stride is not None
            and all((*sizes, *stride))
        ):
            ends = [
                end if (end := first + size * step) >= 0 else -(1 << 62)
                for first, size, step in zip(start, sizes, stride, strict=True)
            ]
            return [scope.op("Slice", x, *(scope.int64_constant(part) for part in (start, ends, axes, stride)))]
        bounds = [self._parameter_tensor(scope, inputs, part) for part in range(3)]
        fill = inputs[4] if len(inputs) > 4 else None
        outside = "error" if self.mode is SampleMode.STRICT_BOUNDS else self.mode.name.lower()
        return [scope.op("Slice", x, *bounds, fill, domain="tensorrt", axes=tuple(axes), outside=outside)]

    def _parameter_tensor(self, scope: LoweringScope, inputs: Sequence[Value | None], part: int) -> Value | None:
        if len(inputs) > part + 1 and inputs[part + 1] is not None:
            return inputs[part + 1]
        return scope.int64_constant(self._static_parameters[part])
