"""Other sizes along axes, by the nearest element or by a weighted sum of some: Resize, Upsample, Interpolate.

Every mode is separable: along each axis an output element is a sum of a few input elements (``Taps``), one axis after
the other.
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

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
_FLOAT32 = np.dtype(np.float32)


@record(frozen=True)
class ResizeTaps:
    """For each output element the places that it is made of, and their weights: both ``[out, taps]``."""

    indices: Array
    weights: Array
    #: Output elements that lie outside, and get another value.
    outside_mask: Array | None = None


def _apply_taps(p: P, x: T, axis: int, taps: ResizeTaps) -> T:
    spread = (-1, *(1,) * (x.ndim - axis - 1))
    total = None
    for places, weights in zip(taps.indices.T, taps.weights.T, strict=True):
        part = p.gather(x, p.constant(np.ascontiguousarray(places)), axis)
        part = p.map(np.multiply, part, p.constant(weights.astype(x.dtype).reshape(spread)))
        total = part if total is None else p.map(np.add, total, part)
    return total


def _gather_along(p: P, x: T, axis: int, places: Array) -> T:
    return p.gather(x, p.constant(places), axis)


# --- Filters


def _triangle_kernel(at: Array) -> Array:
    return np.asarray(np.maximum(0, 1 - abs(at)))


def _cubic_kernel(coefficient: float) -> Callable[[Array], Array]:
    def weight(at: Array) -> Array:
        a, s = coefficient, abs(at)
        near = ((a + 2) * s - (a + 3)) * s * s + 1
        far = a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a
        return np.where(s <= 1, near, np.where(s < 2, far, 0))

    return weight


def _filter_taps(
    at: Array, size: int, kernel: Callable[[Array], Array], reach: float, stretch: float, inside_only: bool
) -> ResizeTaps:
    """A filter of half width ``reach`` around each place, ``stretch`` times as wide; what lies outside is the edge, or,
    where ``inside_only``, left out and made up for by the others."""
    base = np.floor(at).astype(np.int64)
    half = math.ceil(reach * stretch)
    places = base[:, None] + np.arange(1 - half, half + 1)
    weights = kernel((places - at[:, None]) / stretch)
    if inside_only:
        weights = np.where((places >= 0) & (places < size), weights, 0)
    if inside_only or stretch > 1:
        sums = weights.sum(1, keepdims=True)
        weights = weights / np.where(sums == 0, 1, sums)
    kept = weights.any(0)  # no tap that nobody uses
    if kept.any():
        places, weights = places[:, kept], weights[:, kept]
    return ResizeTaps(places.clip(0, size - 1), weights)


def _nearest_taps(at: Array, mode: str, shrinks: bool) -> Array:
    if mode == "simple":
        mode = "ceil" if shrinks else "floor"
    rounded: dict[str, Callable[[], Array]] = {
        "round_prefer_floor": lambda: np.ceil(at - at.dtype.type(0.5)),
        "round_prefer_ceil": lambda: np.floor(at + at.dtype.type(0.5)),
        "floor": lambda: np.floor(at),
        "ceil": lambda: np.ceil(at),
    }
    if mode not in rounded:
        raise unknown_value_error("nearest_mode", mode, (*rounded, "simple"))
    places: Array = rounded[mode]().astype(np.int64)
    return places


# --- Where output elements lie in the input

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
    mode: str, size: int, out: int, scale: float, kind: Any, region: tuple[float, float] = (0.0, 1.0)
) -> Any:
    index = index_range(out).astype(kind)
    half, factor = kind(0.5), kind(scale)
    if mode == "asymmetric":
        return index / factor
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and out > 1):
        return (index + half) / factor - half
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - out / (scale * size)) + (index + half) / factor - half
    if mode == "pytorch_half_pixel":
        return np.zeros(out, kind)
    if mode == "tf_half_pixel_for_nn":
        return (index + half) / factor
    if mode == "align_corners":
        return np.zeros(out, kind) if out == 1 else index * kind(size - 1) / kind(out - 1)
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
        at = _source_coordinates(coordinates, size, out, scale, np.float64, regions[k] if crops else (0.0, 1.0))
        if coordinates == "align_corners" and out > 1:  # the specification's length is not rounded here
            at = index_range(out) * (size - 1) / (size * scale - 1)
        if mode == "nearest":
            x = _gather_along(p, x, axis, _nearest_taps(at, nearest_mode, scale < 1).clip(0, size - 1))
        else:
            kernel, reach = (_triangle_kernel, 1) if mode == "linear" else (_cubic_kernel(coefficient), 2)
            stretch = max(1.0, 1 / scale) if antialias else 1.0
            x = _apply_taps(p, x, axis, _filter_taps(at, size, kernel, reach, stretch, exclude_outside))
        if crops:
            outside = outside | ((at < 0) | (at > size - 1)).reshape(-1, *(1,) * (x.ndim - axis - 1))
    if outside.any():
        x = p.where(p.constant(np.broadcast_to(outside, x.shape).copy()), constant(p, extrapolation, x.dtype), x)
    return _to_element_type(p, x, dtype)


def _to_element_type(p: P, x: T, dtype: np.dtype[Any]) -> T:
    """A sum of floats as an element of ``dtype``; integers get the nearest they can hold."""
    if x.dtype == dtype or is_float(dtype):
        return cast(p, x, dtype)
    limits = np.iinfo(dtype)
    lowest, highest = (constant(p, bound, x.dtype) for bound in (limits.min, limits.max))
    return p.cast(p.map(np.minimum, p.map(np.maximum, p.map(np.rint, x), lowest), highest), dtype)


def _to_floats(p: P, x: T) -> list[float]:
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
    return _upsample(p, x, _to_floats(p, scales), decode_string(mode))


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
    along = list(range(x.ndim)) if axes is None else list(normalize_distinct_axes(axes, x.ndim))
    lengths = [x.shape[axis] for axis in along]
    factors = [] if scales is None else _to_floats(p, scales)
    wanted = [] if sizes is None else list(check_shape(read_ints(p, sizes), "sizes"))
    if bool(factors) == bool(wanted) and along:
        raise ModelError("Resize needs either scales or sizes")
    if wanted:
        if len(wanted) != len(along):
            raise ValueError(f"sizes {wanted} do not fit {len(along)} axes")
        factors = [out / n for out, n in zip(wanted, lengths, strict=True)]
        policy = decode_string(keep_aspect_ratio_policy)
        if policy != "stretch":
            if policy not in ("not_larger", "not_smaller"):
                raise unknown_value_error("keep_aspect_ratio_policy", policy, ("stretch", "not_larger", "not_smaller"))
            factor = min(factors) if policy == "not_larger" else max(factors)
            wanted = [math.floor(factor * n + 0.5) for n in lengths]
            factors = [factor] * len(along)
    elif len(factors) != len(along) or min(factors, default=1.0) <= 0:
        raise ValueError(f"scales {factors} must be positive, one for each of {len(along)} axes")
    else:
        wanted = [math.floor(n * factor) for n, factor in zip(lengths, factors, strict=True)]
    regions: list[tuple[float, float]] = []
    coordinates = decode_string(coordinate_transformation_mode)
    if coordinates == "tf_crop_and_resize":
        bounds = [] if roi is None else _to_floats(p, roi)
        if len(bounds) != 2 * len(along):
            raise ValueError(f"tf_crop_and_resize needs a roi of {2 * len(along)} numbers, not {len(bounds)}")
        regions = list(zip(bounds[: len(along)], bounds[len(along) :], strict=True))
    return _onnx_resize(
        p,
        x,
        along,
        wanted,
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
                x = self._axis(p, x, axis, out, scale)
            elif out != x.shape[axis]:
                x = _gather_along(p, x, axis, index_range(out).clip(0, x.shape[axis] - 1))
        return _to_element_type(p, x, dtype)

    def _axis(self, p: P, x: T, axis: int, out: int, scale: float) -> T:
        size = x.shape[axis]
        if self.mode.endswith("pillow"):
            return _apply_taps(p, x, axis, self._pillow_taps(size, out))
        at = _source_coordinates(self.coordinates, size, out, scale, np.float32)
        if self.mode == "nearest":
            return _gather_along(p, x, axis, _nearest_taps(at, self.nearest_mode, scale < 1).clip(0, size - 1))
        at = at.astype(np.float64)
        if self.mode == "linear_onnx":
            return _apply_taps(p, x, axis, _filter_taps(at.clip(0, size - 1), size, _triangle_kernel, 1, 1.0, False))
        if self.mode == "cubic":
            return _apply_taps(p, x, axis, _filter_taps(at, size, _cubic_kernel(self.coefficient), 2, 1.0, False))
        stretch = max(1.0, 1 / scale) if self.antialias else 1.0
        return _apply_taps(p, x, axis, _filter_taps(at, size, _triangle_kernel, 1, stretch, True))

    def _pillow_taps(self, size: int, out: int) -> ResizeTaps:
        """As PIL resizes: the filter as wide as the step, cut off at the edges."""
        ratio = size / out
        stretch = max(ratio, 1.0)
        kernel, reach = (_triangle_kernel, 1.0) if self.mode == "bilinear_pillow" else (_cubic_kernel(-0.5), 2.0)
        centre = (index_range(out) + 0.5) * ratio
        first = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
        last = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), size)
        places = first[:, None] + np.arange(int((last - first).max()))
        weights = np.where(places < last[:, None], kernel((places - centre[:, None] + 0.5) / stretch), 0)
        return ResizeTaps(places.clip(0, size - 1), weights / weights.sum(1, keepdims=True))


def _padded(p: P, x: T, pads_begin: Ints, pads_end: Ints) -> T:
    rank = x.ndim
    before, after = (tuple(pads)[:rank] + (0,) * (rank - len(pads)) for pads in (pads_begin, pads_end))
    if not any(before) and not any(after):
        return x
    check_shape((*before, *after), "pads")
    return p.assemble([b + n + a for b, n, a in zip(before, x.shape, after, strict=True)], x.dtype, [(x, before)], 0)


def _interpolate(
    p: P, x: T, given: Sequence[Any], by_scales: bool, along: Sequence[int], how: InterpolationAttributes
) -> T:
    """``given``: scales or sizes along the axes."""
    lengths = [x.shape[axis] for axis in along]
    if len(given) != len(along):
        raise ValueError(f"{len(given)} {'scales' if by_scales else 'sizes'} do not fit {len(along)} axes")
    if by_scales:
        scales = [float(v) for v in given]
        # OpenVINO adds so much before it rounds down.
        sizes = [int(np.float32(n) * np.float32(s) + np.float32(1e-5)) for n, s in zip(lengths, scales, strict=True)]
    else:
        sizes = [int(v) for v in given]
        scales = [float(np.float32(out) / np.float32(n)) for out, n in zip(sizes, lengths, strict=True)]
    if min(*sizes, *lengths, 1) < 1:
        raise ValueError(f"axes of sizes {lengths} cannot become {sizes}")
    return how.run(p, x, along, sizes, scales)


def _axes(p: P, x: T, axes: T | None) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axes is None else normalize_distinct_axes(read_ints(p, axes), x.ndim)


def _uses_scales(word: str) -> bool:
    if word.lower() not in ("scales", "sizes"):
        raise unknown_value_error("shape_calculation_mode", word, ("scales", "sizes"))
    return word.lower() == "scales"


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
    """``linear`` is what later versions call linear_onnx, but for rank 3 and where it smooths."""
    word = mode.lower()
    if word not in ("nearest", "linear", "cubic"):
        raise unknown_value_error("mode", mode, ("nearest", "linear", "cubic"))
    if word == "linear" and not antialias and x.ndim != 3:
        word = "linear_onnx"
    coordinates = "align_corners" if align_corners else "asymmetric"
    how = InterpolationAttributes(word, coordinates, "simple", antialias, -0.75)
    x = _padded(p, x, pads_begin, pads_end)
    return _interpolate(p, x, read_ints(p, target), False, normalize_distinct_axes(axes, x.ndim), how)


@openvino("Interpolate", since=11)
def interpolate_11(
    p: P,
    x: T,
    given: T,
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
    """One input has the scales or the sizes, as ``shape_calculation_mode`` says."""
    how = InterpolationAttributes(
        mode.lower(), coordinate_transformation_mode.lower(), nearest_mode.lower(), antialias, cube_coeff
    )
    x = _padded(p, x, pads_begin, pads_end)
    by_scales = _uses_scales(shape_calculation_mode)
    values = _to_floats(p, given) if by_scales else read_ints(p, given)
    return _interpolate(p, x, values, by_scales, _axes(p, x, axes), how)


@openvino("Interpolate", since=4)
@inherit_attributes(interpolate_11)
def interpolate_4(p: P, x: T, sizes: T, scales: T, axes: T | None = None, **attributes: Any) -> T:
    """Scales and sizes are two inputs, of which one counts."""
    given = scales if _uses_scales(attributes["shape_calculation_mode"]) else sizes
    return interpolate_11(p, x, given, axes, **attributes)
