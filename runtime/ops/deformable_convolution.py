"""Deformable convolutions, whose taps have individual offsets, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import unknown_value_error
from .operator_helpers import working_dtype
from .registry import Ints, older_version, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
INT64 = np.dtype(np.int64)


def _deformable_convolution(
    x: Array,
    offsets: Array,
    filters: Array,
    mask: Array | None,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    offset_groups: int,
    zeros_around: bool,
) -> Array:
    """``zeros_around``: points up to one pixel outside interpolate with zeros; else points must be inside, and the
    edge is replicated."""
    batch, channels, height, width = x.shape
    rows, columns = filters.shape[2:]
    out_h, out_w = offsets.shape[2:]
    count = rows * columns
    if offsets.shape[:2] != (batch, 2 * offset_groups * count) or channels % groups or channels % offset_groups:
        raise ValueError(f"offsets of shape {offsets.shape} and filters of shape {filters.shape} do not fit {x.shape}")
    working = working_dtype(x.dtype)
    moves = offsets.astype(working).reshape(batch, offset_groups, rows, columns, 2, out_h, out_w)
    base_y = (np.arange(out_h) * strides[0] - pads[0])[:, None]
    base_x = (np.arange(out_w) * strides[1] - pads[1])[None, :]
    y = moves[:, :, :, :, 0] + base_y + (np.arange(rows) * dilations[0])[:, None, None, None]
    x_ = moves[:, :, :, :, 1] + base_x + (np.arange(columns) * dilations[1])[None, :, None, None]
    y, x_ = y.astype(working), x_.astype(working)
    image = x.astype(working).reshape(batch, offset_groups, channels // offset_groups, height * width)
    if zeros_around:
        inside = (y > -1) & (y < height) & (x_ > -1) & (x_ < width)
        y0, x0 = np.floor(y).astype(INT64), np.floor(x_).astype(INT64)
        y1, x1 = y0 + 1, x0 + 1
    else:
        inside = (y >= 0) & (y < height) & (x_ >= 0) & (x_ < width)
        y0, x0 = np.floor(y).astype(INT64), np.floor(x_).astype(INT64)
        y1, x1 = np.minimum(y0 + 1, height - 1), np.minimum(x0 + 1, width - 1)
    ly, lx = y - y0, x_ - x0
    leading_shape = (batch, offset_groups, channels // offset_groups)
    sampled = np.zeros((*leading_shape, count * out_h * out_w), working)
    for corner_y, corner_x, weight in (
        (y0, x0, (1 - ly) * (1 - lx)),
        (y0, x1, (1 - ly) * lx),
        (y1, x0, ly * (1 - lx)),
        (y1, x1, ly * lx),
    ):
        valid = inside & (corner_y >= 0) & (corner_y < height) & (corner_x >= 0) & (corner_x < width)
        indices = np.where(valid, corner_y * width + corner_x, 0).reshape(batch, offset_groups, 1, -1)
        part = np.take_along_axis(image, np.broadcast_to(indices, sampled.shape), -1)
        sampled += part * np.where(valid, weight, 0).astype(working).reshape(indices.shape)
    if mask is not None:
        if mask.shape != (batch, offset_groups * count, out_h, out_w):
            raise ValueError(f"a mask of shape {mask.shape} does not fit offsets of shape {offsets.shape}")
        sampled *= mask.astype(working).reshape(batch, offset_groups, 1, -1)
    inputs = sampled.reshape(batch, groups, channels // groups * count, out_h * out_w)
    weights = filters.astype(working).reshape(groups, len(filters) // groups, -1)
    out: Array = np.matmul(weights, inputs).reshape(batch, len(filters), out_h, out_w)
    return out


def _auto_pads(
    x: Array, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int], auto: str
) -> tuple[int, ...]:
    """The leading pads, derived from ``auto`` unless explicit."""
    if auto in ("explicit", "notset"):
        return tuple(pads)
    if auto == "valid":
        return (0,) * len(kernel)
    if auto not in ("same_upper", "same_lower"):
        raise unknown_value_error("auto_pad", auto, ("explicit", "valid", "same_upper", "same_lower"))
    leading = []
    for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True):
        missing = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        leading.append((missing + (auto == "same_lower")) // 2)
    return tuple(leading)


@openvino("DeformableConvolution", since=8, native=False)
def deformable_convolution_8(
    p: P,
    x: Array,
    offsets: Array,
    filters: Array,
    mask: Array | None = None,
    *,
    strides: Ints,
    pads_begin: Ints = (0, 0),
    pads_end: Ints = (0, 0),
    dilations: Ints,
    auto_pad: str = "explicit",
    group: int = 1,
    deformable_group: int = 1,
    bilinear_interpolation_pad: bool = False,
) -> Array:
    leading_pads = _auto_pads(x, filters.shape[2:], strides, pads_begin, dilations, auto_pad.lower())
    zeros_around = bilinear_interpolation_pad
    out = _deformable_convolution(
        x, offsets, filters, mask, strides, leading_pads, dilations, group, deformable_group, zeros_around
    )
    return out.astype(x.dtype)


openvino("DeformableConvolution", native=False)(
    older_version(deformable_convolution_8, "bilinear_interpolation_pad", inputs=3)
)


@onnx("DeformConv", since=19, native=False)
def deform_conv(
    p: P,
    x: Array,
    filters: Array,
    offsets: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    if x.ndim != 4:
        raise ModelError(
            f"DeformConv of an input of shape {x.shape}: two spatial axes are supported",
            name="X",
            expected="4 axes",
            got=str(x.shape),
        )
    leading_pads = tuple(pads or (0, 0))[:2]
    out = _deformable_convolution(
        x, offsets, filters, mask, strides or (1, 1), leading_pads, dilations or (1, 1), group, offset_group, True
    )
    if bias is not None:
        out = out + bias.astype(out.dtype).reshape(1, -1, 1, 1)
    return out.astype(x.dtype)
