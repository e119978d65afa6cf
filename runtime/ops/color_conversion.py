"""OpenVINO's conversions between NV12 or I420 and RGB or BGR, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Array
from .registry import openvino

P = Any


def _full_resolution_planes(y: Array, parts: tuple[Array, ...], interleaved: bool) -> tuple[Array, Array, Array]:
    """Y, U and V planes ``[N, H, W]`` at full resolution, from separate planes or a single one."""
    if y.ndim != 4 or y.shape[3] != 1:
        raise ValueError(f"an image of shape {y.shape} has not one channel, the last axis")
    batch, rows, width = y.shape[:3]
    height = rows if parts else rows * 2 // 3
    if height % 2 or width % 2 or (not parts and rows % 3):
        raise ValueError(f"an image of shape {y.shape} is not of even height and width")
    size = (batch, height // 2, width // 2)
    if len(parts) == 2:
        u, v = parts
    elif parts or interleaved:
        interleaved_plane = parts[0] if parts else y[:, height:]
        pairs = interleaved_plane.reshape(*size, 2)
        u, v = pairs[..., 0], pairs[..., 1]
    else:
        chroma_plane = y[:, height:].reshape(batch, 2, -1)
        u, v = chroma_plane[:, 0], chroma_plane[:, 1]

    def upsample(plane: Array) -> Array:
        return plane.reshape(size).repeat(2, 1).repeat(2, 2)

    return y[:, :height, :, 0], upsample(u), upsample(v)


def _to_rgb(y: Array, parts: tuple[Array, ...], interleaved: bool, blue_first: bool) -> Array:
    f32 = np.float32
    luma, u, v = (plane.astype(f32) for plane in _full_resolution_planes(y, parts, interleaved))
    c, d, e = f32(1.164) * (luma - 16), u - 128, v - 128
    red = c + f32(1.596) * e
    green = c - f32(0.391) * d - f32(0.813) * e
    blue = c + f32(2.018) * d
    image = np.stack([blue, green, red] if blue_first else [red, green, blue], -1).clip(0, 255)
    return (np.floor(image + f32(0.5)) if y.dtype.kind in "iu" else image).astype(y.dtype)


def _register_conversions(name: str, blue_first: bool) -> None:
    @openvino(f"NV12to{name}", since=8, native=False)
    def from_nv12(p: P, y: Array, uv: Array | None = None) -> Array:
        return _to_rgb(y, () if uv is None else (uv,), True, blue_first)

    @openvino(f"I420to{name}", since=8, native=False)
    def from_i420(p: P, y: Array, u: Array | None = None, v: Array | None = None) -> Array:
        return _to_rgb(y, () if u is None or v is None else (u, v), False, blue_first)

    @openvino(f"{name}toNV12", since=17, native=False)
    def to_nv12(p: P, x: Array, *, single_plane: bool = True) -> Any:
        return _from_rgb(x, blue_first, single_plane)


def _from_rgb(x: Array, blue_first: bool, single_plane: bool) -> Any:
    if x.ndim != 4 or x.shape[3] != 3 or x.shape[1] % 2 or x.shape[2] % 2:
        raise ValueError(f"an image of shape {x.shape} is not [N, H, W, 3] with even height and width")
    f32 = np.float32
    red, green, blue = (x[..., k].astype(f32) for k in ((2, 1, 0) if blue_first else (0, 1, 2)))
    is_integer = x.dtype.kind in "iu"

    def round_integer(value: Array) -> Array:
        return np.floor(value + f32(0.5)) if is_integer else value

    def channel(r: float, g: float, b: float, offset: float) -> Array:
        return round_integer((f32(r) * red + f32(g) * green + f32(b) * blue + f32(offset)).clip(0, 255))

    luma = channel(0.257, 0.504, 0.098, 16)
    batch, height, width = luma.shape

    def downsample(plane: Array) -> Array:
        squares = plane.reshape(batch, height // 2, 2, width // 2, 2)
        return round_integer(squares.sum((2, 4), dtype=f32) / 4)

    pairs = np.stack(
        [downsample(channel(-0.148, -0.291, 0.439, 128)), downsample(channel(0.439, -0.368, -0.071, 128))], -1
    )
    y, uv = luma[..., None].astype(x.dtype), pairs.astype(x.dtype)
    if single_plane:
        return np.concatenate([y, uv.reshape(batch, height // 2, width, 1)], 1)
    return y, uv


_register_conversions("RGB", blue_first=False)
_register_conversions("BGR", blue_first=True)
