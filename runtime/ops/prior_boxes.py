"""OpenVINO's prior boxes for object detection, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import read_ints
from .registry import Floats, older_version, openvino

P = Any
_F32 = np.float32


def _boxes_with_variances(boxes: Array, variance: Sequence[float]) -> Array:
    """``[2, n]``: the corners of all boxes, and their variances."""
    if len(variance) not in (0, 1, 4):
        raise ModelError(
            f"{len(variance)} variances; a prior box has none, one or four",
            name="variance",
            expected="0, 1 or 4 numbers",
            got=str(len(variance)),
        )
    corners = boxes.reshape(-1)
    variances = np.resize(np.array(variance or (0.1,), _F32), corners.shape)
    return np.stack([corners.astype(_F32), variances])


def _read_pair(p: P, sizes: Array) -> tuple[int, int]:
    numbers = read_ints(p, sizes)
    if len(numbers) != 2:
        raise ValueError(f"a height and a width are needed, not {list(numbers)}")
    return numbers[0], numbers[1]


@openvino("PriorBox", since=8, native=False)
def prior_box(
    p: P,
    layer: Array,
    image: Array,
    *,
    min_size: Floats = (),
    max_size: Floats = (),
    aspect_ratio: Floats = (),
    density: Floats = (),
    fixed_ratio: Floats = (),
    fixed_size: Floats = (),
    clip: bool = False,
    flip: bool = False,
    step: float = 0.0,
    offset: float,
    variance: Floats = (),
    scale_all_sizes: bool = True,
    min_max_aspect_ratios_order: bool = True,
) -> Array:
    """Boxes of all sizes and ratios around the center of each cell of a layer, relative to the image size."""
    (height, width), (image_height, image_width) = _read_pair(p, layer), _read_pair(p, image)
    ratios = [_F32(1)]
    for ratio in aspect_ratio:
        if all(abs(ratio - existing) >= 1e-6 for existing in ratios):
            ratios += [_F32(ratio), 1 / _F32(ratio)] if flip else [_F32(ratio)]
    sizes = [_F32(size) for size in min_size]
    spacing = _F32(step)
    if not scale_all_sizes:
        spacing = _F32(image_height) / _F32(height) if step == -1 else spacing * _F32(image_height)
        sizes = [size * _F32(image_height) for size in sizes]
    shapes: list[tuple[Any, Any, Any, Any, bool]] = []  # offset x and y, half width and height, clip
    for k, fixed in enumerate(fixed_size):
        steps = int(density[k]) if density else 0
        shift = int(fixed / steps) if steps else 0
        offsets = [_F32(-(int(fixed) // 2) + shift / 2 + n * shift) for n in range(steps)]
        sides: list[tuple[Any, Any]] = []  # half width and height
        if not fixed_ratio and density:
            sides.append((_F32(int(fixed)) * _F32(0.5),) * 2)
        for root in np.sqrt([_F32(r) for r in fixed_ratio] or [r for r in ratios if abs(r - 1) >= 1e-6]):
            sides.append((_F32(fixed) * _F32(0.5) * root, _F32(fixed) * _F32(0.5) / root))
        shapes += [(x, y, *half_max, True) for half_max in sides for y in offsets for x in offsets]
    for k, size in enumerate(sizes):
        half_size = size * _F32(0.5)
        shapes.append((0, 0, half_size, half_size, False))
        largest = []
        if k < len(max_size) and scale_all_sizes:
            half_max = np.sqrt(size * _F32(max_size[k])) * _F32(0.5)
            largest = [(0, 0, half_max, half_max, False)]
        others = []
        if scale_all_sizes or k == len(sizes) - 1:
            base = (size if scale_all_sizes else sizes[0]) * _F32(0.5)
            roots = [np.sqrt(r) for r in ratios if abs(r - 1) >= 1e-6]
            others = [(0, 0, base * root, base / root, False) for root in roots]
        shapes += largest + others if min_max_aspect_ratios_order else others + largest
    row, column = np.arange(height, dtype=_F32), np.arange(width, dtype=_F32)
    if spacing == 0:
        y, x = (row + _F32(0.5)) * _F32(image_height / height), (column + _F32(0.5)) * _F32(image_width / width)
    else:
        y, x = (row + _F32(offset)) * spacing, (column + _F32(offset)) * spacing
    boxes = np.empty((height, width, len(shapes), 4), _F32)
    for k, (dx, dy, half_x, half_y, clipped) in enumerate(shapes):
        center_x, center_y = (x + dx)[None, :], (y + dy)[:, None]
        for j, (edge, scale) in enumerate(
            (
                (center_x - half_x, image_width),
                (center_y - half_y, image_height),
                (center_x + half_x, image_width),
                (center_y + half_y, image_height),
            )
        ):
            value = edge * (_F32(1) / _F32(scale))
            if clipped:
                value = np.maximum(value, 0) if j < 2 else np.minimum(value, 1)
            boxes[:, :, k, j] = value
    return _boxes_with_variances(boxes.clip(0, 1) if clip else boxes, variance)


openvino("PriorBox", native=False)(older_version(prior_box, "min_max_aspect_ratios_order"))


@openvino("PriorBoxClustered", native=False)
def prior_box_clustered(
    p: P,
    layer: Array,
    image: Array,
    *,
    width: Floats,
    height: Floats,
    clip: bool = False,
    step: float = 0.0,
    step_w: float = 0.0,
    step_h: float = 0.0,
    offset: float,
    variance: Floats = (),
) -> Array:
    (rows, columns), (image_height, image_width) = _read_pair(p, layer), _read_pair(p, image)
    spacing_x, spacing_y = _F32(step_w or step), _F32(step_h or step)
    if not spacing_x and not spacing_y:
        spacing_x, spacing_y = _F32(image_width / columns), _F32(image_height / rows)
    x = ((np.arange(columns, dtype=_F32) + _F32(offset)) * spacing_x)[None, :, None]
    y = ((np.arange(rows, dtype=_F32) + _F32(offset)) * spacing_y)[:, None, None]
    half_x, half_y = np.array(width, _F32) / 2, np.array(height, _F32) / 2
    shape = (rows, columns, len(width))
    parts = (
        (x - half_x) / _F32(image_width),
        (y - half_y) / _F32(image_height),
        (x + half_x) / _F32(image_width),
        (y + half_y) / _F32(image_height),
    )
    boxes = np.stack([np.broadcast_to(part, shape) for part in parts], -1)
    return _boxes_with_variances(boxes.clip(0, 1) if clip else boxes, variance)
