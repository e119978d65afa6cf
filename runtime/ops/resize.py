"""Resize, Upsample and Interpolate.

Every mode is separable: axis by axis, an output element is a weighted sum of input elements (``ResizeTaps``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from ..record import record
from .axis_arguments import check_shape, decode_string, normalize_distinct_axes, read_ints, unknown_value_error
from .operator_helpers import cast, constant, index_range, is_float
from .registry import Ints, inherit_attributes, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)


@record(frozen=True)
class ResizeTaps:
    """Input indices and weights of each output element, both ``[out, taps]``."""

    indices: Array
    weights: Array
    #: Output elements outside the input, which get the extrapolation value.
    outside_mask: Array | None = None


def _apply_taps(p: P, x: T, axis: int, taps: ResizeTaps) -> T:
    weight_shape = (-1, *(1,) * (x.ndim - axis - 1))
    total = None
    for indices, weights in zip(taps.indices.T, taps.weights.T, strict=True):
        part = p.gather(x, p.constant(np.ascontiguousarray(indices)), axis)
        part = p.map(np.multiply, part, p.constant(weights.astype(x.dtype).reshape(weight_shape)))
        total = part if total is None else p.map(np.add, total, part)
    return total


def _gather_along(p: P, x: T, axis: int, indices: Array) -> T:
    return p.gather(x, p.constant(indices), axis)


# --- Filters


def _triangle_kernel(distance: Array) -> Array:
    return np.asarray(np.maximum(0, 1 - abs(distance)))


def _cubic_kernel(coefficient: float) -> Callable[[Array], Array]:
    def weight(distance: Array) -> Array:
        a, s = coefficient, abs(distance)
        inner = ((a + 2) * s - (a + 3)) * s * s + 1
        outer = a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a
        return np.where(s <= 1, inner, np.where(s < 2, outer, 0))

    return weight


def _filter_taps(
    positions: Array, size: int, kernel: Callable[[Array], Array], reach: float, stretch: float, inside_only: bool
) -> ResizeTaps:
    """Taps of a filter of half width ``reach * stretch`` around each position; outside, the edge is replicated or, with
    ``inside_only``, excluded with renormalized weights."""
    base = np.floor(positions).astype(np.int64)
    half_width = math.ceil(reach * stretch)
    indices = base[:, None] + np.arange(1 - half_width, half_width + 1)
    weights = kernel((indices - positions[:, None]) / stretch)
    if inside_only:
        weights = np.where((indices >= 0) & (indices < size), weights, 0)
    if inside_only or stretch > 1:
        sums = weights.sum(1, keepdims=True)
        weights = weights / np.where(sums == 0, 1, sums)
    used = weights.any(0)  # drop unused taps
    if used.any():
        indices, weights = indices[:, used], weights[:, used]
    return ResizeTaps(indices.clip(0, size - 1), weights)


def _nearest_taps(positions: Array, mode: str, shrinks: bool) -> Array:
    if mode == "simple":
        mode = "ceil" if shrinks else "floor"
    rounded: dict[str, Callable[[], Array]] = {
        "round_prefer_floor": lambda: np.ceil(positions - positions.dtype.type(0.5)),
        "round_prefer_ceil": lambda: np.floor(positions + positions.dtype.type(0.5)),
        "floor": lambda: np.floor(positions),
        "ceil": lambda: np.ceil(positions),
    }
    if mode not in rounded:
        raise unknown_value_error("nearest_mode", mode, (*rounded, "simple"))
    indices: Array = rounded[mode]().astype(np.int64)
    return indices


# --- Source coordinates of output elements

_MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "align_corners",
    "tf_crop_and_resize",
)


def _source_coordinates(
    mode: str, size: int, out: int, scale: float, float_type: Any, region: tuple[float, float] = (0.0, 1.0)
) -> Any:
    index = index_range(out).astype(float_type)
    half, factor = float_type(0.5), float_type(scale)
    if mode == "asymmetric":
        return index / factor
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and out > 1):
        return (index + half) / factor - half
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - out / (scale * size)) + (index + half) / factor - half
    if mode == "pytorch_half_pixel":
        return np.zeros(out, float_type)
    if mode == "tf_half_pixel_for_nn":
        return (index + half) / factor
    if mode == "align_corners":
        return np.zeros(out, float_type) if out == 1 else index * float_type(size - 1) / float_type(out - 1)
    if mode == "tf_crop_and_resize":
        first, last = region
        if out > 1:
            return first * (size - 1) + index * (last - first) * (size - 1) / (out - 1)
        return np.full(out, 0.5 * (first + last) * (size - 1))
    raise unknown_value_error("coordinate_transformation_mode", mode, _MODES)


# --- ONNX


def _onnx_resize(
    p: P,
    x: T,
    axes: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    mode: str,
    coordinates: str,
    nearest_mode: str,
    *,
    coefficient: float = -0.75,
    exclude_outside: bool = False,
    extrapolation: float = 0.0,
    antialias: bool = False,
    regions: Sequence[tuple[float, float]] = (),
) -> T:
    if mode not in ("nearest", "linear", "cubic"):
        raise unknown_value_error("mode", mode, ("nearest", "linear", "cubic"))
    dtype = x.dtype
    if mode != "nearest":
        x = cast(p, x, dtype if dtype == np.float64 else _FLOAT32)
    crops = coordinates == "tf_crop_and_resize"
    outside = np.zeros((1,) * x.ndim, bool)
    for k, (axis, out, scale) in enumerate(zip(axes, sizes, scales, strict=True)):
        size = x.shape[axis]
        if not crops and out == size and scale == 1:
            continue
        positions = _source_coordinates(coordinates, size, out, scale, np.float64, regions[k] if crops else (0.0, 1.0))
        if coordinates == "align_corners" and out > 1:  # the specification uses the unrounded length here
            positions = index_range(out) * (size - 1) / (size * scale - 1)
        if mode == "nearest":
            x = _gather_along(p, x, axis, _nearest_taps(positions, nearest_mode, scale < 1).clip(0, size - 1))
        else:
            kernel, reach = (_triangle_kernel, 1) if mode == "linear" else (_cubic_kernel(coefficient), 2)
            stretch = max(1.0, 1 / scale) if antialias else 1.0
            x = _apply_taps(p, x, axis, _filter_taps(positions, size, kernel, reach, stretch, exclude_outside))
        if crops:
            outside = outside | ((positions < 0) | (positions > size - 1)).reshape(-1, *(1,) * (x.ndim - axis - 1))
    if outside.any():
        x = p.where(p.constant(np.broadcast_to(outside, x.shape).copy()), constant(p, extrapolation, x.dtype), x)
    return _to_element_type(p, x, dtype)


def _to_element_type(p: P, x: T, dtype: np.dtype[Any]) -> T:
    """Cast a float sum to ``dtype``; integers are rounded and saturated."""
    if x.dtype == dtype or is_float(dtype):
        return cast(p, x, dtype)
    limits = np.iinfo(dtype)
    lowest, highest = (constant(p, bound, x.dtype) for bound in (limits.min, limits.max))
    return p.cast(p.map(np.minimum, p.map(np.maximum, p.map(np.rint, x), lowest), highest), dtype)


def _read_floats(p: P, x: T) -> list[float]:
    return [float(v) for v in p.value(x).reshape(-1)]


def _upsample(p: P, x: T, scales: Sequence[float], mode: str) -> T:
    if len(scales) != x.ndim or min(scales, default=1.0) <= 0:
        raise ValueError(f"scales {list(scales)} must be positive, one an axis of {x.shape}")
    sizes = [math.floor(n * scale) for n, scale in zip(x.shape, scales, strict=True)]
    mode = "linear" if mode == "bilinear" else mode
    return _onnx_resize(p, x, range(x.ndim), sizes, scales, mode, "asymmetric", "floor")


@onnx("Upsample", since=7)
def upsample_by_attribute(p: P, x: T, *, scales: Sequence[float], mode: str = "nearest") -> T:
    return _upsample(p, x, scales, decode_string(mode))


@onnx("Upsample", since=9)
@onnx("Resize", since=10)
def upsample(p: P, x: T, scales: T, *, mode: str = "nearest") -> T:
    return _upsample(p, x, _read_floats(p, scales), decode_string(mode))


@onnx("Resize", since=11)
def resize(
    p: P,
    x: T,
    roi: T | None = None,
    scales: T | None = None,
    sizes: T | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> T:
    resized_axes = list(range(x.ndim)) if axes is None else list(normalize_distinct_axes(axes, x.ndim))
    lengths = [x.shape[axis] for axis in resized_axes]
    factors = [] if scales is None else _read_floats(p, scales)
    output_sizes = [] if sizes is None else list(check_shape(read_ints(p, sizes), "sizes"))
    if bool(factors) == bool(output_sizes) and resized_axes:
        raise ModelError("Resize needs either scales or sizes", name="scales")
    if output_sizes:
        if len(output_sizes) != len(resized_axes):
            raise ValueError(f"sizes {output_sizes} do not fit {len(resized_axes)} axes")
        factors = [out / n for out, n in zip(output_sizes, lengths, strict=True)]
        policy = decode_string(keep_aspect_ratio_policy)
        if policy != "stretch":
            if policy not in ("not_larger", "not_smaller"):
                raise unknown_value_error("keep_aspect_ratio_policy", policy, ("stretch", "not_larger", "not_smaller"))
            factor = min(factors) if policy == "not_larger" else max(factors)
            output_sizes = [math.floor(factor * n + 0.5) for n in lengths]
            factors = [factor] * len(resized_axes)
    elif len(factors) != len(resized_axes) or min(factors, default=1.0) <= 0:
        raise ValueError(f"scales {factors} must be positive, one for each of {len(resized_axes)} axes")
    else:
        output_sizes = [math.floor(n * factor) for n, factor in zip(lengths, factors, strict=True)]
    regions: list[tuple[float, float]] = []
    coordinates = decode_string(coordinate_transformation_mode)
    if coordinates == "tf_crop_and_resize":
        bounds = [] if roi is None else _read_floats(p, roi)
        if len(bounds) != 2 * len(resized_axes):
            raise ValueError(f"tf_crop_and_resize needs a roi of {2 * len(resized_axes)} numbers, not {len(bounds)}")
        regions = list(zip(bounds[: len(resized_axes)], bounds[len(resized_axes) :], strict=True))
    return _onnx_resize(
        p,
        x,
        resized_axes,
        output_sizes,
        factors,
        decode_string(mode),
        coordinates,
        decode_string(nearest_mode),
        coefficient=cubic_coeff_a,
        exclude_outside=bool(exclude_outside),
        extrapolation=extrapolation_value,
        antialias=bool(antialias),
        regions=regions,
    )


# --- OpenVINO

_OPENVINO_MODES = ("nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow")


@record(frozen=True)
class InterpolationAttributes:
    """The attributes of an Interpolate layer."""

    mode: str
    coordinates: str
    nearest_mode: str
    antialias: bool
    coefficient: float

    def run(self, p: P, x: T, axes: Sequence[int], sizes: Sequence[int], scales: Sequence[float]) -> T:
        if self.mode not in _OPENVINO_MODES:
            raise unknown_value_error("mode", self.mode, _OPENVINO_MODES)
        dtype = x.dtype
        if self.mode != "nearest":
            x = cast(p, x, dtype if dtype == np.float64 else _FLOAT32)
        order = list(zip(axes, sizes, scales, strict=True))
        for axis, out, scale in reversed(order) if self.mode.endswith("pillow") else order:
            if (out != x.shape[axis] and scale != 1) or (self.mode.endswith("pillow") and out != x.shape[axis]):
                x = self._interpolate_axis(p, x, axis, out, scale)
            elif out != x.shape[axis]:
                x = _gather_along(p, x, axis, index_range(out).clip(0, x.shape[axis] - 1))
        return _to_element_type(p, x, dtype)

    def _interpolate_axis(self, p: P, x: T, axis: int, out: int, scale: float) -> T:
        size = x.shape[axis]
        if self.mode.endswith("pillow"):
            return _apply_taps(p, x, axis, self._pillow_taps(size, out))
        points = _source_coordinates(self.coordinates, size, out, scale, np.float32)
        if self.mode == "nearest":
            return _gather_along(p, x, axis, _nearest_taps(points, self.nearest_mode, scale < 1).clip(0, size - 1))
        points = points.astype(np.float64)
        if self.mode == "linear_onnx":
            return _apply_taps(
                p, x, axis, _filter_taps(points.clip(0, size - 1), size, _triangle_kernel, 1, 1.0, False)
            )
        if self.mode == "cubic":
            return _apply_taps(p, x, axis, _filter_taps(points, size, _cubic_kernel(self.coefficient), 2, 1.0, False))
        stretch = max(1.0, 1 / scale) if self.antialias else 1.0
        return _apply_taps(p, x, axis, _filter_taps(points, size, _triangle_kernel, 1, stretch, True))

    def _pillow_taps(self, size: int, out: int) -> ResizeTaps:
        """The taps of PIL: the filter scales with the step and is cut off at the edges."""
        ratio = size / out
        stretch = max(ratio, 1.0)
        kernel, reach = (_triangle_kernel, 1.0) if self.mode == "bilinear_pillow" else (_cubic_kernel(-0.5), 2.0)
        center = (index_range(out) + 0.5) * ratio
        first = np.maximum((center - reach * stretch + 0.5).astype(np.int64), 0)
        last = np.minimum((center + reach * stretch + 0.5).astype(np.int64), size)
        indices = first[:, None] + np.arange(int((last - first).max()))
        weights = np.where(indices < last[:, None], kernel((indices - center[:, None] + 0.5) / stretch), 0)
        return ResizeTaps(indices.clip(0, size - 1), weights / weights.sum(1, keepdims=True))


def _pad_input(p: P, x: T, pads_begin: Ints, pads_end: Ints) -> T:
    rank = x.ndim
    before, after = (tuple(pads)[:rank] + (0,) * (rank - len(pads)) for pads in (pads_begin, pads_end))
    if not any(before) and not any(after):
        return x
    check_shape((*before, *after), "pads")
    return p.assemble([b + n + a for b, n, a in zip(before, x.shape, after, strict=True)], x.dtype, [(x, before)], 0)


def _interpolate(
    p: P, x: T, targets: Sequence[Any], by_scales: bool, axes: Sequence[int], attrs: InterpolationAttributes
) -> T:
    """Interpolate by ``targets``: scales or sizes along the axes."""
    lengths = [x.shape[axis] for axis in axes]
    if len(targets) != len(axes):
        raise ValueError(f"{len(targets)} {'scales' if by_scales else 'sizes'} do not fit {len(axes)} axes")
    if by_scales:
        scales = [float(v) for v in targets]
        # OpenVINO adds this epsilon before rounding down.
        sizes = [int(np.float32(n) * np.float32(s) + np.float32(1e-5)) for n, s in zip(lengths, scales, strict=True)]
    else:
        sizes = [int(v) for v in targets]
        scales = [float(np.float32(out) / np.float32(n)) for out, n in zip(sizes, lengths, strict=True)]
    if min(*sizes, *lengths, 1) < 1:
        raise ValueError(f"axes of sizes {lengths} cannot become {sizes}")
    return attrs.run(p, x, axes, sizes, scales)


def _read_axes(p: P, x: T, axes: T | None) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axes is None else normalize_distinct_axes(read_ints(p, axes), x.ndim)


def _uses_scales(calculation_mode: str) -> bool:
    if calculation_mode.lower() not in ("scales", "sizes"):
        raise unknown_value_error("shape_calculation_mode", calculation_mode, ("scales", "sizes"))
    return calculation_mode.lower() == "scales"


@openvino("Interpolate")
def interpolate_1(
    p: P,
    x: T,
    target: T,
    *,
    axes: Ints,
    mode: str,
    align_corners: bool = True,
    antialias: bool = False,
    pads_begin: Ints = (0,),
    pads_end: Ints = (0,),
) -> T:
    """``linear`` equals linear_onnx of later versions, except for rank 3 and with antialiasing."""
    mode_name = mode.lower()
    if mode_name not in ("nearest", "linear", "cubic"):
        raise unknown_value_error("mode", mode, ("nearest", "linear", "cubic"))
    if mode_name == "linear" and not antialias and x.ndim != 3:
        mode_name = "linear_onnx"
    coordinates = "align_corners" if align_corners else "asymmetric"
    interpolation = InterpolationAttributes(mode_name, coordinates, "simple", antialias, -0.75)
    x = _pad_input(p, x, pads_begin, pads_end)
    return _interpolate(p, x, read_ints(p, target), False, normalize_distinct_axes(axes, x.ndim), interpolation)


@openvino("Interpolate", since=11)
def interpolate_11(
    p: P,
    x: T,
    targets: T,
    axes: T | None = None,
    *,
    mode: str,
    shape_calculation_mode: str,
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    antialias: bool = False,
    pads_begin: Ints = (0,),
    pads_end: Ints = (0,),
    cube_coeff: float = -0.75,
) -> T:
    """One input has the scales or the sizes, by ``shape_calculation_mode``."""
    interpolation = InterpolationAttributes(
        mode.lower(), coordinate_transformation_mode.lower(), nearest_mode.lower(), antialias, cube_coeff
    )
    x = _pad_input(p, x, pads_begin, pads_end)
    by_scales = _uses_scales(shape_calculation_mode)
    values = _read_floats(p, targets) if by_scales else read_ints(p, targets)
    return _interpolate(p, x, values, by_scales, _read_axes(p, x, axes), interpolation)


@openvino("Interpolate", since=4)
@inherit_attributes(interpolate_11)
def interpolate_4(p: P, x: T, sizes: T, scales: T, axes: T | None = None, **attributes: Any) -> T:
    """Scales and sizes are separate inputs, of which one is used."""
    targets = scales if _uses_scales(attributes["shape_calculation_mode"]) else sizes
    return interpolate_11(p, x, targets, axes, **attributes)
