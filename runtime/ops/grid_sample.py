"""GridSample: interpolation of images at coordinates given by a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axis_arguments import decode_string, element_count, unknown_value_error
from .operator_helpers import cast, constant, working_dtype
from .primitive_types import RoutineCall
from .registry import inherit_attributes, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)
#: In the order of grid_sample.h, which samples float32 images linearly; primitives do the rest.
PADDINGS = ("zeros", "border", "reflection")
#: Pixel count limit for 32-bit indices and exact float coordinates.
_MAX_PIXELS = 1 << 22


class GridAxis:
    """One spatial axis of a grid: taps as positions and weights, computed by primitives in one float type."""

    def __init__(self, p: P, size: int, dtype: np.dtype[Any], padding: str, aligned: bool) -> None:
        self.p, self.size, self.dtype, self.padding, self.align_corners = p, size, dtype, padding, aligned

    def constant(self, value: float) -> T:
        return constant(self.p, value, self.dtype)

    def to_pixels(self, coordinate: T) -> T:
        """Map [-1, 1] to pixel coordinates."""
        p, size = self.p, self.size
        shifted = p.map(np.add, coordinate, self.constant(1))
        if self.align_corners:
            return p.map(np.multiply, shifted, self.constant((size - 1) / 2))
        return p.map(
            np.divide,
            p.map(np.subtract, p.map(np.multiply, shifted, self.constant(size)), self.constant(1)),
            self.constant(2),
        )

    def clamp(self, position: T) -> T:
        return self.p.map(np.minimum, self.p.map(np.maximum, position, self.constant(0)), self.constant(self.size - 1))

    def tap_index(self, position: T) -> tuple[T, T | None]:
        """The in-range index of an integral position, and whether it is inside the image (None: no mask needed)."""
        p, size = self.p, self.size
        inside = None
        if self.padding == "zeros":
            inside = p.map(
                np.logical_and,
                p.map(np.greater_equal, position, self.constant(0)),
                p.map(np.less_equal, position, self.constant(size - 1)),
            )
        elif self.padding == "reflection":
            period = 2 * (size - 1) if self.align_corners else 2 * size
            if period == 0:
                position = p.map(np.multiply, position, self.constant(0))
            else:
                wrapped = p.map(np.remainder, position, self.constant(period))
                reflected = p.map(np.subtract, self.constant(period if self.align_corners else period - 1), wrapped)
                position = p.where(p.map(np.less, wrapped, self.constant(size)), wrapped, reflected)
        # NaN maps to index 0; its weight is NaN.
        return p.map(np.maximum, p.cast(self.clamp(position), INT64), constant(p, 0, INT64)), inside


def _cubic_weights(p: P, grid: GridAxis, t: T, a: float) -> list[T]:
    number = grid.constant

    def inner_weight(distance: T) -> T:
        inner = p.map(np.subtract, p.map(np.multiply, number(a + 2), distance), number(a + 3))
        return p.map(np.add, p.map(np.multiply, p.map(np.multiply, inner, distance), distance), number(1))

    def outer_weight(distance: T) -> T:
        inner = p.map(np.subtract, p.map(np.multiply, number(a), distance), number(5 * a))
        inner = p.map(np.add, p.map(np.multiply, inner, distance), number(8 * a))
        return p.map(np.subtract, p.map(np.multiply, inner, distance), number(4 * a))

    unit, double = number(1), number(2)
    return [
        outer_weight(p.map(np.add, t, unit)),
        inner_weight(t),
        inner_weight(p.map(np.subtract, unit, t)),
        outer_weight(p.map(np.subtract, double, t)),
    ]


def _grid_taps(p: P, grid: GridAxis, position: T, mode: str) -> list[tuple[T, T | None]]:
    """Integral positions around a coordinate, with weights (None: 1)."""
    if mode == "nearest":
        return [(p.map(np.rint, position), None)]
    base = p.map(np.floor, position)
    t = p.map(np.subtract, position, base)
    if mode == "linear":
        unit = grid.constant(1)
        return [(base, p.map(np.subtract, unit, t)), (p.map(np.add, base, unit), t)]
    weights = _cubic_weights(p, grid, t, -0.75)
    return [(p.map(np.add, base, grid.constant(k - 1)), weight) for k, weight in enumerate(weights)]


def sample_grid(p: P, x: T, grid: T, mode: str, padding: str, aligned: bool, clamp_first: bool) -> T:
    """Sample at ``grid`` ``[N, *out, rank]``, last spatial axis first. ``clamp_first``: clamp coordinates to the border
    rather than taps."""
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise ValueError(f"a grid of shape {grid.shape} does not fit an input of shape {x.shape}")
    if padding not in PADDINGS:
        raise unknown_value_error("padding_mode", padding, PADDINGS)
    if mode not in ("nearest", "linear", "cubic"):
        raise unknown_value_error("mode", mode, ("nearest", "linear", "cubic"))
    batch, channels = x.shape[:2]
    out = grid.shape[1:-1]
    if not x.size or not grid.size:
        return p.constant(np.zeros((batch, channels, *out), x.dtype))
    if rank == 2 and mode == "linear" and x.dtype == grid.dtype == FLOAT32 and element_count(x.shape[2:]) < _MAX_PIXELS:
        settings = (PADDINGS.index(padding), int(aligned), int(clamp_first))
        numbers = (*x.shape, element_count(out), *settings)
        return p.call(RoutineCall("image.grid_sample", [((batch, channels, *out), FLOAT32)], numbers), [x, grid])[0]
    working = working_dtype(grid.dtype)
    points = cast(p, grid, working)
    axis_taps: list[list[tuple[T, T | None, T | None]]] = []
    for k, size in enumerate(x.shape[2:]):
        axis = GridAxis(p, size, working, padding, aligned)
        start = [0] * grid.ndim
        start[-1] = rank - 1 - k
        part = p.reshape(p.slice(points, start, [1] * grid.ndim, (*grid.shape[:-1], 1)), grid.shape[:-1])
        position = axis.to_pixels(part)
        if clamp_first and padding == "border":
            edge = 0.0 if aligned else 0.5
            outside = p.map(
                np.logical_or,
                p.map(np.less, position, axis.constant(-edge)),
                p.map(np.greater, position, axis.constant(size - 1 + edge)),
            )
            position = p.where(outside, axis.clamp(position), position)
        axis_taps.append([(*axis.tap_index(pixel), weight) for pixel, weight in _grid_taps(p, axis, position, mode)])
    # Pixels as rows: one gather reads all channels.
    perm = [0, *range(2, x.ndim), 1]
    area = element_count(x.shape[2:])
    rows = p.reshape(p.transpose(x, perm), (batch * area, channels))
    batch_offsets = p.constant((np.arange(batch) * area).reshape(batch, *(1,) * len(out)))
    value_dtype = x.dtype if mode == "nearest" else working_dtype(x.dtype)
    total = None
    for index in np.ndindex(*(len(taps) for taps in axis_taps)):
        corner = [taps[i] for taps, i in zip(axis_taps, index, strict=True)]
        pixel = corner[0][0]
        for (inner, _, _), size in zip(corner[1:], x.shape[3:], strict=True):
            pixel = p.map(np.add, p.map(np.multiply, pixel, constant(p, size, INT64)), inner)
        part = cast(p, p.gather(rows, p.map(np.add, pixel, batch_offsets), 0), value_dtype)
        for _, inside, weight in corner:
            if inside is not None:
                part = p.where(p.reshape(inside, (*inside.shape, 1)), part, constant(p, 0, value_dtype))
            if weight is not None:
                part = p.map(np.multiply, part, p.reshape(cast(p, weight, value_dtype), (*weight.shape, 1)))
        total = part if total is None else p.map(np.add, total, part)
    output_perm = [0, len(out) + 1, *range(1, len(out) + 1)]
    return cast(p, p.transpose(total, output_perm), x.dtype)


@onnx("GridSample", since=20)
def grid_sample(p: P, x: T, grid: T, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> T:
    return sample_grid(
        p, x, grid, decode_string(mode), decode_string(padding_mode), bool(align_corners), clamp_first=True
    )


def interpolation_mode(mode: str | bytes) -> str:
    return {"bilinear": "linear", "bicubic": "cubic"}.get(decode_string(mode).lower(), decode_string(mode).lower())


@onnx("GridSample", since=16)
@inherit_attributes(grid_sample)
def grid_sample_16(p: P, x: T, grid: T, *, mode: str = "bilinear", **attributes: Any) -> Any:
    return grid_sample(p, x, grid, mode=interpolation_mode(mode), **attributes)


@openvino("GridSample", since=9)
def openvino_grid_sample(
    p: P, x: T, grid: T, *, align_corners: bool = False, mode: str = "bilinear", padding_mode: str = "zeros"
) -> T:
    return sample_grid(p, x, grid, interpolation_mode(mode), padding_mode.lower(), align_corners, clamp_first=False)
