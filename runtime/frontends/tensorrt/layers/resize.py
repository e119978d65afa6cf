"""Layers that interpolate: resize, grid sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import Dim, TensorType, Value
from ..checked_attribute import CheckedAttribute
from ..constant_folding import constant_value
from ..dims import Dims, sizes_from_shape
from ..enums import (
    InterpolationMode,
    LayerType,
    ResizeCoordinateTransformation,
    ResizeRoundMode,
    ResizeSelector,
    SampleMode,
)
from ..layer import ILayer, enum_argument
from ..lowering_scope import LoweringScope
from ..script_location import argument_error
from .argument_checks import (
    checked_rank,
    number_argument,
    require_dtype_kind,
    same_types_check,
    sizes_differ,
    static_shape,
    type_and_rank_check,
)
from .network_methods import network_method

_ROUNDS = {
    ResizeRoundMode.HALF_UP: "round_prefer_ceil",
    ResizeRoundMode.HALF_DOWN: "round_prefer_floor",
    ResizeRoundMode.FLOOR: "floor",
    ResizeRoundMode.CEIL: "ceil",
}
#: The number of last axes that may be resized.
_AXES = {InterpolationMode.LINEAR: 3, InterpolationMode.CUBIC: 2}


@network_method("add_resize", "Resize; the target is a property, or input 1.", "input")
class IResizeLayer(ILayer, type=LayerType.RESIZE):
    """Resizes a tensor to a shape, by scales, or to the sizes in input 1."""

    MAX_INPUTS = 2
    CHECKS = (type_and_rank_check(0, "float"),)

    resize_mode: InterpolationMode = InterpolationMode.NEAREST
    coordinate_transformation: ResizeCoordinateTransformation = ResizeCoordinateTransformation.ASYMMETRIC
    selector_for_single_pixel: ResizeSelector = ResizeSelector.FORMULA
    nearest_rounding: ResizeRoundMode = ResizeRoundMode.FLOOR
    exclude_outside: bool = False
    cubic_coeff: float = -0.75
    _shape: tuple[int, ...] | None = None
    _scales: tuple[float, ...] | None = None

    def _check_no_shape_tensor(self, attribute: str) -> None:
        if self.get_input(1) is not None:
            raise self.error(f"input 1 gives its shape already, so {attribute} cannot be set")

    def _parse_shape(self, shape: Any, label: str) -> tuple[int, ...]:
        self._check_no_shape_tensor("shape")
        return sizes_from_shape(shape, label)

    def _parse_scales(self, scales: Any, label: str) -> tuple[float, ...]:
        self._check_no_shape_tensor("scales")
        if isinstance(scales, str) or not hasattr(scales, "__iter__"):
            raise argument_error(f"{label} must be a list of numbers, not {scales!r:.60}")
        return tuple(number_argument(scale, f"{self}: a scale") for scale in scales)

    shape = CheckedAttribute[Dims]("_shape", _parse_shape, Dims, unset=Dims.unset, clears="_scales")
    scales = CheckedAttribute[list[float]]("_scales", _parse_scales, list, unset=lambda layer: [], clears="_shape")

    def _output_shape(self, kind: TensorType) -> tuple[Dim, ...] | None:
        """The shape of the output: by default that of the input."""
        shape = kind.shape or ()
        if self.get_input(1) is not None:
            sizes = constant_value(self.get_input(1))
            return (None,) * len(shape) if sizes is None else tuple(int(size) for size in sizes.reshape(-1))
        if self._shape is not None:
            return self._shape
        if self._scales:
            return tuple(
                math.floor(size * scale) if isinstance(size, int) else None
                for size, scale in zip(shape, self._scales, strict=False)
            )
        return shape

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        for kind, value in (
            (InterpolationMode, self.resize_mode),
            (ResizeCoordinateTransformation, self.coordinate_transformation),
            (ResizeSelector, self.selector_for_single_pixel),
            (ResizeRoundMode, self.nearest_rounding),
        ):
            enum_argument(kind, value, f"{self}")
        if self.get_input(1) is not None:
            require_dtype_kind(self, 1, types[1], "index")
            checked_rank(self, 1, types[1], 1, 1)
        rank = checked_rank(self, 0, types[0], 1)
        if rank is None or types[0].shape is None:
            return [TensorType(types[0].dtype)]
        sizes = self._output_shape(types[0]) or ()
        count = len(self._scales) if self._scales else len(sizes)
        if count != rank:
            raise self.error(f"it is given {count} sizes or scales, and {self.required_input(0)} has {rank} dimensions")
        limit = _AXES.get(self.resize_mode, rank)
        for axis in range(rank - limit):
            if sizes_differ(types[0].shape[axis], sizes[axis]):
                raise self.error(f"{self.resize_mode.name} resizes the last {limit} axes, and axis {axis} changes too")
        return [TensorType(types[0].dtype, sizes)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        mode = self.coordinate_transformation.name.lower()
        if mode == "half_pixel" and self.selector_for_single_pixel is ResizeSelector.UPPER:
            mode = "pytorch_half_pixel"
        attributes: dict[str, Any] = {
            "mode": self.resize_mode.name.lower(),
            "coordinate_transformation_mode": mode,
            "nearest_mode": _ROUNDS[self.nearest_rounding],
            "exclude_outside": int(self.exclude_outside),
            "cubic_coeff_a": float(self.cubic_coeff),
        }
        sizes = static_shape(self._inferred[0].shape)
        if self.get_input(1) is not None:
            return [scope.op("Resize", inputs[0], None, None, scope.cast(inputs[1], np.dtype(np.int64)), **attributes)]
        if sizes is not None:
            # TensorRT computes coordinates from the sizes, also where scales were given.
            return [scope.op("Resize", inputs[0], None, None, scope.int64_constant(sizes), **attributes)]
        scales = scope.constant(self._scales or (1.0,) * len(self.required_input(0).type.shape or ()), np.float32)
        return [scope.op("Resize", inputs[0], None, scales, **attributes)]


@network_method("add_grid_sample", "Sample an image at the points of a grid.", "input", "grid")
class IGridSampleLayer(ILayer, type=LayerType.GRID_SAMPLE):
    """Samples an image at the points of a grid, x and y from -1 to 1."""

    CHECKS = (same_types_check(), type_and_rank_check(0, "float", 4, 4), type_and_rank_check(1, "", 4, 4))

    interpolation_mode: InterpolationMode = InterpolationMode.LINEAR
    align_corners: bool = False
    sample_mode: SampleMode = SampleMode.FILL

    _OUTSIDE: ClassVar = {SampleMode.CLAMP: "border", SampleMode.FILL: "zeros", SampleMode.REFLECT: "reflection"}

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        image, grid = types
        if self.sample_mode not in self._OUTSIDE:
            raise self.error(f"sample_mode is {self.sample_mode}; it may be CLAMP, FILL or REFLECT")
        enum_argument(InterpolationMode, self.interpolation_mode, f"{self}: interpolation_mode")
        if image.shape is None or grid.shape is None:
            return [TensorType(image.dtype)]
        if sizes_differ(grid.shape[3], 2):
            raise self.error(
                f"its grid, {self.required_input(1)}, has the shape {grid.shape_text()}: the last axis is x and y"
            )
        if sizes_differ(image.shape[0], grid.shape[0]):
            raise self.error(f"there are {image.shape[0]} images and {grid.shape[0]} grids")
        return [TensorType(image.dtype, (*image.shape[:2], *grid.shape[1:3]))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        padding = self._OUTSIDE[self.sample_mode]
        mode = self.interpolation_mode.name.lower()
        return [scope.op("GridSample", *inputs, mode=mode, padding_mode=padding, align_corners=int(self.align_corners))]
