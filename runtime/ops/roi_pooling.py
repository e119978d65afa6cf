"""Pooling of regions of interest, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels.bindings import image as routines
from .axis_arguments import decode_string, unknown_value_error
from .eager import EagerPrimitives
from .operator_helpers import working_dtype
from .primitive_types import RoutineCall
from .registry import Ints, inherit_attributes, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)
_EAGER = EagerPrimitives()


def _bilinear_neighbours(image: Array, y: Array, x: Array) -> tuple[Array, ...]:
    """Weighted bilinear neighbours of points for RoIAlign: up to one pixel outside, the edge is replicated.

    ``image``: ``[C, H, W]``. Returns four weighted parts ``[C, *points]``.
    """
    height, width = image.shape[1:]
    outside = (y < -1) | (y > height) | (x < -1) | (x > width)
    neighbours, parts = [], []
    for positions, size in ((y, height), (x, width)):
        positions = np.maximum(positions, 0)
        first = np.minimum(np.nan_to_num(positions).astype(INT64), size - 1)
        fraction = np.where(first >= size - 1, 0, positions - first)
        neighbours.append((first, np.minimum(first + 1, size - 1), fraction))
    (y0, y1, ly), (x0, x1, lx) = neighbours
    for rows, columns, weight in (
        (y0, x0, (1 - ly) * (1 - lx)),
        (y0, x1, (1 - ly) * lx),
        (y1, x0, ly * (1 - lx)),
        (y1, x1, ly * lx),
    ):
        parts.append(image[:, rows, columns] * np.where(outside, 0, weight).astype(image.dtype))
    return tuple(parts)


Corner = Callable[[Array, Array], tuple[Array, Array]]


def roi_align_samples(
    image: Array,
    start: tuple[float, float],
    extent: tuple[float, float],
    pooled: tuple[int, int],
    ratio: int,
    reduce: Callable[[tuple[Array, ...]], Array],
    transform: Corner | None = None,
) -> Array:
    """The samples of a region: ``start`` and ``extent`` are (y, x) in pixels; ``transform`` maps sampling points."""
    sample_positions = []
    for first, length, bins in zip(start, extent, pooled, strict=True):
        size = length / bins
        count = ratio if ratio > 0 else max(math.ceil(size), 0)
        bin_samples = (np.arange(count) + 0.5) * (size / max(count, 1))
        sample_positions.append((first + np.arange(bins)[:, None] * size + bin_samples).astype(image.dtype))
    (rows, ny), (columns, nx) = ((positions.reshape(-1), positions.shape[1]) for positions in sample_positions)
    if not ny or not nx:
        return np.zeros((len(image), *pooled), image.dtype)
    y, x = np.meshgrid(rows, columns, indexing="ij")
    if transform is not None:
        y, x = transform(y, x)
    samples = reduce(_bilinear_neighbours(image, y, x))
    return np.asarray(samples.reshape(len(image), pooled[0], ny, pooled[1], nx).transpose(0, 1, 3, 2, 4))


def sum_weighted_neighbours(parts: tuple[Array, ...]) -> Array:
    return parts[0] + parts[1] + parts[2] + parts[3]


def pool_samples(samples: Array, mode: str, min_value: float | None = None) -> Array:
    if samples.ndim == 3:  # a region without samples
        return samples
    if mode == "avg":
        return np.asarray(samples.mean((3, 4), dtype=samples.dtype))
    maxima: Array = samples.max((3, 4))
    return maxima if min_value is None else np.maximum(maxima, samples.dtype.type(min_value))


def _batch_indices(x: Array, indices: Array, rois: Array, columns: int) -> Array:
    """The validated batch index of each region."""
    numbers = indices.reshape(-1).astype(INT64)
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != columns or len(numbers) != len(rois):
        raise ValueError(f"regions of shape {rois.shape} and {len(numbers)} batch indices do not fit {x.shape}")
    if ((numbers < 0) | (numbers >= len(x))).any():
        raise IndexError(f"a region is of image {numbers[(numbers < 0) | (numbers >= len(x))][0]}, of {len(x)}")
    return numbers


def _roi_align(
    values: Array, boxes: Array, images: Array, pooled: tuple[int, int], ratio: int, kind: int, at_least_one: bool
) -> Array:
    """:func:`roi_align_samples` and :func:`pool_samples` for all regions (x, y, x, y), by roi_align.h."""
    if 0 in values.shape[2:] and len(boxes):
        raise ValueError(f"images of shape {values.shape} have no pixels")
    shape = (len(boxes), values.shape[1], *pooled)
    numbers = (*values.shape[1:], len(boxes), *pooled, max(ratio, 0), kind, int(at_least_one), ord(values.dtype.char))
    inputs, failure = (values, boxes, images), "a region is too large for as many samples as it has pixels"
    return _EAGER.call(RoutineCall("image.roi_align", ((shape, values.dtype),), numbers, failure=failure), inputs)[0]


def _parse_roi_mode(mode: str) -> str:
    if mode.lower() not in ("avg", "max"):
        raise unknown_value_error("mode", mode, ("avg", "max"))
    return mode.lower()


@onnx("RoiAlign", since=16, native=False)
def roi_align(
    p: P,
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Array:
    """Mode max uses the maximum weighted neighbour, as in ONNX's tests, rather than the maximum of their sums."""
    pool_mode, coords = _parse_roi_mode(decode_string(mode)), decode_string(coordinate_transformation_mode)
    if coords not in ("half_pixel", "output_half_pixel"):
        raise unknown_value_error("coordinate_transformation_mode", coords, ("half_pixel", "output_half_pixel"))
    half = coords == "half_pixel"
    work = working_dtype(x.dtype)
    values, boxes = (x.astype(work), rois.astype(work) * work.type(spatial_scale) - work.type(0.5 if half else 0))
    images, pooled = _batch_indices(x, batch_indices, rois, 4), (output_height, output_width)
    kind = routines.ROI_MEAN if pool_mode == "avg" else routines.ROI_MAX_WEIGHTED
    return _roi_align(values, boxes, images, pooled, sampling_ratio, kind, not half).astype(x.dtype, copy=False)


@onnx("RoiAlign", since=10, native=False)
@inherit_attributes(roi_align, "coordinate_transformation_mode")
def roi_align_10(p: P, x: Array, rois: Array, batch_indices: Array, **attributes: Any) -> Any:
    return roi_align(p, x, rois, batch_indices, coordinate_transformation_mode="output_half_pixel", **attributes)


@openvino("ROIAlign", since=3, native=False)
def openvino_roi_align(
    p: P,
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    spatial_scale: float,
    mode: str,
    aligned_mode: str = "asymmetric",
) -> Array:
    """Mode max clamps bins to 0 or more."""
    shifts = {"asymmetric": (0.0, 0.0), "half_pixel_for_nn": (0.0, -0.5), "half_pixel": (0.5, -0.5)}
    if aligned_mode.lower() not in shifts:
        raise unknown_value_error("aligned_mode", aligned_mode, tuple(shifts))
    pool_mode, (pre_scale, post_scale) = _parse_roi_mode(mode), shifts[aligned_mode.lower()]
    work = working_dtype(x.dtype)
    values = x.astype(work)
    boxes = (rois.astype(work) + work.type(pre_scale)) * work.type(spatial_scale) + work.type(post_scale)
    images, at_least_one = _batch_indices(x, batch_indices, rois, 4), aligned_mode.lower() == "asymmetric"
    kind = routines.ROI_MEAN if pool_mode == "avg" else routines.ROI_MAX_POINTS
    out = _roi_align(values, boxes, images, (pooled_h, pooled_w), sampling_ratio, kind, at_least_one)
    return out.astype(x.dtype, copy=False)


@openvino("ROIAlignRotated", since=15, native=False)
def roi_align_rotated(
    p: P,
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    spatial_scale: float,
    clockwise_mode: bool,
) -> Array:
    """Regions are (center x, center y, width, height, angle in radians)."""
    work = working_dtype(x.dtype)
    values, boxes = x.astype(work), rois.astype(work)
    out = np.empty((len(rois), x.shape[1], pooled_h, pooled_w), work)
    for k, image in enumerate(_batch_indices(x, batch_indices, rois, 5)):
        center_x, center_y, width, height = boxes[k, :4] * work.type(spatial_scale)
        angle = -boxes[k, 4] if clockwise_mode else boxes[k, 4]
        cos, sin = np.cos(angle), np.sin(angle)

        def rotate(y: Array, x: Array, cos: Any = cos, sin: Any = sin, center: Any = (center_y, center_x)) -> Any:
            half = work.type(0.5)
            return y * cos - x * sin + center[0] - half, y * sin + x * cos + center[1] - half

        start, extent = (-height / 2, -width / 2), (height, width)
        samples = roi_align_samples(
            values[image], start, extent, (pooled_h, pooled_w), sampling_ratio, sum_weighted_neighbours, rotate
        )
        out[k] = pool_samples(samples, "avg")
    return out.astype(x.dtype)


def _round_half_away(value: Any) -> Any:
    """Round half away from zero, as in C."""
    return np.copysign(np.floor(abs(value) + 0.5), value)


def _interpolate_inside(image: Array, y: Array, x: Array) -> Array:
    """Bilinear interpolation at points inside ``[C, H, W]``."""
    y0, x0 = np.floor(y).astype(INT64), np.floor(x).astype(INT64)
    y1, x1 = (
        np.minimum(np.ceil(points).astype(INT64), n - 1) for points, n in zip((y, x), image.shape[1:], strict=True)
    )
    ly, lx = (y - y0).astype(image.dtype), (x - x0).astype(image.dtype)
    top = image[:, y0, x0] + (image[:, y0, x1] - image[:, y0, x0]) * lx
    bottom = image[:, y1, x0] + (image[:, y1, x1] - image[:, y1, x0]) * lx
    return np.asarray(top + (bottom - top) * ly)


@openvino("ROIPooling", since=2, native=False)
def roi_pooling(
    p: P,
    x: Array,
    rois: Array,
    *,
    spatial_scale: float,
    output_size: Ints | None = None,
    pooled_h: int = 0,
    pooled_w: int = 0,
    method: str = "max",
) -> Array:
    """Regions (image, x1, y1, x2, y2): the maximum of each bin, or one bilinear point per bin (corners in [0, 1])."""
    rows, columns = output_size or (pooled_h, pooled_w)
    if method.lower() not in ("max", "bilinear"):
        raise unknown_value_error("method", method, ("max", "bilinear"))
    work = working_dtype(x.dtype)
    values, boxes = x.astype(work), rois.astype(work)
    height, width = x.shape[2:]
    out = np.zeros((len(rois), x.shape[1], rows, columns), work)
    for k, image in enumerate(_batch_indices(x, rois[:, 0], rois, 5)):
        x1, y1, x2, y2 = boxes[k, 1:]
        if method.lower() == "max":
            starts = [int(_round_half_away(v * work.type(spatial_scale))) for v in (y1, x1)]
            ends = [int(_round_half_away(v * work.type(spatial_scale))) for v in (y2, x2)]
            spans = []
            for start, end, bins, size in zip(starts, ends, (rows, columns), (height, width), strict=True):
                step = work.type(max(end - start + 1, 1)) / work.type(bins)
                spans.append(
                    [
                        (
                            min(max(math.floor(work.type(b) * step) + start, 0), size),
                            min(max(math.ceil(work.type(b + 1) * step) + start, 0), size),
                        )
                        for b in range(bins)
                    ]
                )
            for i, (top, bottom) in enumerate(spans[0]):
                for j, (left, right) in enumerate(spans[1]):
                    if bottom > top and right > left:
                        out[k, :, i, j] = values[image, :, top:bottom, left:right].max((1, 2))
            continue
        points = []
        for start, end, bins, size in ((y1, y2, rows, height), (x1, x2, columns, width)):
            if bins > 1:
                line = np.arange(bins).astype(work) * ((end - start) * (size - 1) / (bins - 1)) + start * (size - 1)
                line[-1] = (size - 1) * end
            else:
                line = np.array([0.5 * (start + end) * (size - 1)], work)
            points.append(line)
        y, x_ = np.meshgrid(*points, indexing="ij")
        inside = (y >= 0) & (y <= height - 1) & (x_ >= 0) & (x_ <= width - 1)
        out[k] = np.where(
            inside, _interpolate_inside(values[image], np.where(inside, y, 0), np.where(inside, x_, 0)), 0
        )
    return out.astype(x.dtype)


@openvino("PSROIPooling", native=False)
def psroi_pooling(
    p: P,
    x: Array,
    rois: Array,
    *,
    output_dim: int,
    group_size: int = 1,
    spatial_scale: float,
    mode: str = "average",
    spatial_bins_x: int = 1,
    spatial_bins_y: int = 1,
) -> Array:
    """Each bin of a region reads its own channels."""
    if mode.lower() not in ("average", "bilinear"):
        raise unknown_value_error("mode", mode, ("average", "bilinear"))
    work = working_dtype(x.dtype)
    values, boxes = x.astype(work), rois.astype(work)
    height, width = x.shape[2:]
    size = group_size
    average = mode.lower() == "average"
    expected = output_dim * (size * size if average else spatial_bins_x * spatial_bins_y)
    if x.ndim != 4 or x.shape[1] != expected:
        raise ValueError(f"position-sensitive pooling of {x.shape} needs {expected} channels")
    out = np.zeros((len(rois), output_dim, size, size), work)
    scale = work.type(spatial_scale)
    for k, image in enumerate(_batch_indices(x, rois[:, 0], rois, 5)):
        if average:
            x1, y1 = _round_half_away(boxes[k, 1]) * scale, _round_half_away(boxes[k, 2]) * scale
            x2, y2 = (_round_half_away(boxes[k, 3]) + 1) * scale, (_round_half_away(boxes[k, 4]) + 1) * scale
            parts = values[image].reshape(output_dim, size, size, height, width)
            for i, j in np.ndindex(size, size):
                bins = []
                for first, last, bin_number, n in ((y1, y2, i, height), (x1, x2, j, width)):
                    step = (last - first) / work.type(size)
                    begin = min(math.floor(first + bin_number * step), n - 1)
                    bins.append(slice(max(begin, 0), min(math.ceil(first + (bin_number + 1) * step), n)))
                part = parts[:, i, j, bins[0], bins[1]]
                out[k, :, i, j] = part.sum((1, 2)) / max(part[0].size, 1)
            continue
        x1, y1, x2, y2 = boxes[k, 1:] * scale
        parts = values[image].reshape(spatial_bins_y, spatial_bins_x, output_dim, height, width)
        for by, bx in np.ndindex(spatial_bins_y, spatial_bins_x):
            points = []
            for first, last, bin, count, n in (
                (y1, y2, by, spatial_bins_y, height),
                (x1, x2, bx, spatial_bins_x, width),
            ):
                step = (last - first) / work.type(count)
                start = first + bin * step
                if size > 1:
                    points.append(np.arange(size).astype(work) * (step * (n - 1) / (size - 1)) + start * (n - 1))
                else:
                    points.append(np.array([(start + start + step) * (n - 1) / 2], work))
            y, x_ = np.meshgrid(*points, indexing="ij")
            inside = (y < height) & (x_ < width)
            sampled = _interpolate_inside(parts[by, bx], np.where(inside, y, 0), np.where(inside, x_, 0))
            out[k] += np.where(inside, sampled, 0)
        out[k] /= spatial_bins_x * spatial_bins_y
    return out.astype(x.dtype)


@openvino("DeformablePSROIPooling", native=False)
def deformable_psroi_pooling(
    p: P,
    x: Array,
    rois: Array,
    offsets: Array | None = None,
    *,
    output_dim: int,
    spatial_scale: float,
    group_size: int = 1,
    mode: str = "bilinear_deformable",
    spatial_bins_x: int = 1,
    spatial_bins_y: int = 1,
    trans_std: float = 1.0,
    part_size: int = 1,
) -> Array:
    """:func:`psroi_pooling` with bins shifted by ``offsets``; a bin is the mean of its points inside the image."""
    size = group_size
    height, width = x.shape[2:]
    if x.ndim != 4 or x.shape[1] != output_dim * size * size:
        raise ValueError(f"position-sensitive pooling of {x.shape} needs {output_dim * size * size} channels")
    work = working_dtype(x.dtype)
    values, boxes, scale = x.astype(work), rois.astype(work), work.type(spatial_scale)
    out = np.zeros((len(rois), output_dim, size, size), work)
    for k, box in enumerate(boxes):
        image = int(box[0])
        if image < 0:
            continue
        x1, y1 = (_round_half_away(box[1]) * scale - work.type(0.5), _round_half_away(box[2]) * scale - work.type(0.5))
        x2, y2 = (
            (_round_half_away(box[3]) + 1) * scale - work.type(0.5),
            (_round_half_away(box[4]) + 1) * scale - work.type(0.5),
        )
        roi_width, roi_height = max(x2 - x1, work.type(0.1)), max(y2 - y1, work.type(0.1))
        bin_x, bin_y = roi_width / size, roi_height / size
        parts = values[image].reshape(output_dim, size, size, height, width)
        for c, i, j in np.ndindex(output_dim, size, size):
            left, top = x1 + j * bin_x, y1 + i * bin_y
            if offsets is not None:
                channel = c // (output_dim // (offsets.shape[1] // 2))
                part = i * part_size // size, j * part_size // size
                shift = offsets[k, 2 * channel : 2 * channel + 2, part[0], part[1]].astype(work) * work.type(trans_std)
                left, top = left + shift[0] * roi_width, top + shift[1] * roi_height
            y = top + np.arange(spatial_bins_y).astype(work) * (bin_y / spatial_bins_y)
            x_ = left + np.arange(spatial_bins_x).astype(work) * (bin_x / spatial_bins_x)
            y, x_ = y[(y >= -0.5) & (y <= height - 0.5)], x_[(x_ >= -0.5) & (x_ <= width - 0.5)]
            if len(y) and len(x_):
                grid = np.meshgrid(y.clip(0, height - 1), x_.clip(0, width - 1), indexing="ij")
                out[k, c, i, j] = _interpolate_inside(parts[c, i, j][None], *grid).mean()
    return out.astype(x.dtype)
