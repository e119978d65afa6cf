"""GridSample: images read between their pixels, at places that a tensor names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axis_arguments import decode_string, element_count, unknown_value_error
from .operator_helpers import cast, constant, working_dtype
from .primitives import RoutineCall
from .registry import onnx, openvino

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)
#: In the order of grid_sample.h, which does linear sampling of images in float32; the rest is done by primitives.
PADDINGS = ("zeros", "border", "reflection")
#: As many have an index of 32 bits, and places that a float can tell apart.
_MAX_PIXELS = 1 << 22


class GridAxis:
    """One spatial axis of a grid: taps as places and weights, computed by primitives in one float type."""

    def __init__(self, p: P, size: int, dtype: np.dtype[Any], padding: str, aligned: bool) -> None:
        self.p, self.size, self.dtype, self.padding, self.align_corners = p, size, dtype, padding, aligned

    def constant(self, value: float) -> T:
        return constant(self.p, value, self.dtype)

    def to_pixels(self, given: T) -> T:
        """From -1 ... 1 to pixels."""
        p, size = self.p, self.size
        moved = p.map(np.add, given, self.constant(1))
        if self.align_corners:
            return p.map(np.multiply, moved, self.constant((size - 1) / 2))
        return p.map(
            np.divide,
            p.map(np.subtract, p.map(np.multiply, moved, self.constant(size)), self.constant(1)),
            self.constant(2),
        )

    def clamp(self, at: T) -> T:
        return self.p.map(np.minimum, self.p.map(np.maximum, at, self.constant(0)), self.constant(self.size - 1))

    def tap_index(self, place: T) -> tuple[T, T | None]:
        """A whole place as an index inside, and whether it lay inside (None: it always counts)."""
        p, size = self.p, self.size
        inside = None
        if self.padding == "zeros":
            inside = p.map(
                np.logical_and,
                p.map(np.greater_equal, place, self.constant(0)),
                p.map(np.less_equal, place, self.constant(size - 1)),
            )
        elif self.padding == "reflection":
            period = 2 * (size - 1) if self.align_corners else 2 * size
            if period == 0:
                place = p.map(np.multiply, place, self.constant(0))
            else:
                within = p.map(np.remainder, place, self.constant(period))
                back = p.map(np.subtract, self.constant(period if self.align_corners else period - 1), within)
                place = p.where(p.map(np.less, within, self.constant(size)), within, back)
        # NaN is at 0: what is read there has no weight but NaN.
        return p.map(np.maximum, p.cast(self.clamp(place), INT64), constant(p, 0, INT64)), inside


def _cubic_weights(p: P, grid: GridAxis, t: T, a: float) -> list[T]:
    number = grid.constant

    def near(at: T) -> T:
        inner = p.map(np.subtract, p.map(np.multiply, number(a + 2), at), number(a + 3))
        return p.map(np.add, p.map(np.multiply, p.map(np.multiply, inner, at), at), number(1))

    def far(at: T) -> T:
        inner = p.map(np.subtract, p.map(np.multiply, number(a), at), number(5 * a))
        inner = p.map(np.add, p.map(np.multiply, inner, at), number(8 * a))
        return p.map(np.subtract, p.map(np.multiply, inner, at), number(4 * a))

    one, two = number(1), number(2)
    return [
        far(p.map(np.add, t, one)),
        near(t),
        near(p.map(np.subtract, one, t)),
        far(p.map(np.subtract, two, t)),
    ]


def _grid_taps(p: P, grid: GridAxis, at: T, mode: str) -> list[tuple[T, T | None]]:
    """Whole places around a coordinate with their weights (None: 1)."""
    if mode == "nearest":
        return [(p.map(np.rint, at), None)]
    base = p.map(np.floor, at)
    t = p.map(np.subtract, at, base)
    if mode == "linear":
        one = grid.constant(1)
        return [(base, p.map(np.subtract, one, t)), (p.map(np.add, base, one), t)]
    weights = _cubic_weights(p, grid, t, -0.75)
    return [(p.map(np.add, base, grid.constant(k - 1)), weight) for k, weight in enumerate(weights)]


def sample_grid(p: P, x: T, grid: T, mode: str, padding: str, aligned: bool, clamp_first: bool) -> T:
    """``grid``: ``[N, *out, rank]``, the last spatial axis first. ``clamp_first``: what lies outside is moved to the
    border as a coordinate, not tap by tap."""
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
        how = (PADDINGS.index(padding), int(aligned), int(clamp_first))
        numbers = (*x.shape, element_count(out), *how)
        return p.call(RoutineCall("grid_sample.sample", [((batch, channels, *out), FLOAT32)], numbers), [x, grid])[0]
    wide = working_dtype(grid.dtype)
    points = cast(p, grid, wide)
    by_axis: list[list[tuple[T, T | None, T | None]]] = []
    for k, size in enumerate(x.shape[2:]):
        axis = GridAxis(p, size, wide, padding, aligned)
        start = [0] * grid.ndim
        start[-1] = rank - 1 - k
        part = p.reshape(p.slice(points, start, [1] * grid.ndim, (*grid.shape[:-1], 1)), grid.shape[:-1])
        at = axis.to_pixels(part)
        if clamp_first and padding == "border":
            edge = 0.0 if aligned else 0.5
            beyond = p.map(
                np.logical_or,
                p.map(np.less, at, axis.constant(-edge)),
                p.map(np.greater, at, axis.constant(size - 1 + edge)),
            )
            at = p.where(beyond, axis.clamp(at), at)
        by_axis.append([(*axis.tap_index(place), weight) for place, weight in _grid_taps(p, axis, at, mode)])
    # Pixels as rows, so that one gather takes all channels.
    perm = [0, *range(2, x.ndim), 1]
    area = element_count(x.shape[2:])
    rows = p.reshape(p.transpose(x, perm), (batch * area, channels))
    first = p.constant((np.arange(batch) * area).reshape(batch, *(1,) * len(out)))
    kind = x.dtype if mode == "nearest" else working_dtype(x.dtype)
    total = None
    for index in np.ndindex(*(len(taps) for taps in by_axis)):
        chosen = [taps[i] for taps, i in zip(by_axis, index, strict=True)]
        place = chosen[0][0]
        for (inner, _, _), size in zip(chosen[1:], x.shape[3:], strict=True):
            place = p.map(np.add, p.map(np.multiply, place, constant(p, size, INT64)), inner)
        part = cast(p, p.gather(rows, p.map(np.add, place, first), 0), kind)
        for _, inside, weight in chosen:
            if inside is not None:
                part = p.where(p.reshape(inside, (*inside.shape, 1)), part, constant(p, 0, kind))
            if weight is not None:
                part = p.map(np.multiply, part, p.reshape(cast(p, weight, kind), (*weight.shape, 1)))
        total = part if total is None else p.map(np.add, total, part)
    back = [0, len(out) + 1, *range(1, len(out) + 1)]
    return cast(p, p.transpose(total, back), x.dtype)


@onnx("GridSample", since=16)
def grid_sample_16(
    p: P, x: T, grid: T, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> T:
    return grid_sample(
        p, x, grid, align_corners=align_corners, mode=interpolation_mode(mode), padding_mode=padding_mode
    )


@onnx("GridSample", since=20)
def grid_sample(p: P, x: T, grid: T, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> T:
    return sample_grid(
        p, x, grid, decode_string(mode), decode_string(padding_mode), bool(align_corners), clamp_first=True
    )


def interpolation_mode(mode: str | bytes) -> str:
    return {"bilinear": "linear", "bicubic": "cubic"}.get(decode_string(mode).lower(), decode_string(mode).lower())


@openvino("GridSample", since=9)
def openvino_grid_sample(
    p: P, x: T, grid: T, *, align_corners: bool = False, mode: str = "bilinear", padding_mode: str = "zeros"
) -> T:
    return sample_grid(p, x, grid, interpolation_mode(mode), padding_mode.lower(), align_corners, clamp_first=False)
