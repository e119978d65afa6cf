"""Convolutions of 8-bit integers in place (int8_conv.h), and of 32-bit integers that fit into 8 bits.

Zero points are read at run time: those of quantized activations may vary.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..graph import Array
from ..kernels import thread_pool
from ..kernels.bindings import int8
from .int8_weight_packing import as_int8_with_zero_point
from .primitive_types import RoutineCall
from .window_geometry import WindowGeometry

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
_MAX_AXES = 3
#: With fewer output channels per group, most of a product would be unused.
_MIN_CHANNELS = 4
#: Number of products of bytes minus zero points whose sum fits into 32 bits.
_MAX_EXACT_PRODUCTS = 2**31 // 255**2 - 1
_ALIGNMENT_BYTES = 64


def int8_window_sums(
    p: P, x: T, w: T, x_zero: T | None, w_zero: T | None, groups: int, windows: WindowGeometry
) -> T | None:
    """Exact int32 sums of ``(x - x_zero) * (w - w_zero)`` over windows; ``w_zero``: per tensor or per channel.

    None: another implementation is preferable.
    """
    if not _supports_int8_kernel(x, w, groups, windows) or x.dtype not in _BYTES or w.dtype not in _BYTES:
        return None
    if (x_zero is not None and x_zero.size != 1) or (w_zero is not None and w_zero.size not in (1, w.shape[0])):
        return None
    table, scratch, shape = _geometry_and_shape(x, w, groups, windows)
    zeros = [p.constant(np.zeros(1, like.dtype)) if zero is None else zero for like, zero in ((x, x_zero), (w, w_zero))]
    numbers = (int(x.dtype == np.int8), int(w.dtype == np.int8), int(zeros[1].size != 1))
    (sums,) = p.call(RoutineCall("int8.conv", [(shape, _INT32)], numbers, scratch), (x, w, *zeros, p.constant(table)))
    return sums


def int32_window_sums(p: P, x: T, w: T, groups: int, windows: WindowGeometry) -> T | None:
    """The convolution of 32-bit integers with constant weights that fit into 8 bits; None if not applicable.

    A quantized OpenVINO IR converts its 8-bit data to 32 bits and subtracts the zero points.
    """
    if not x.dtype == w.dtype == _INT32 or not _supports_int8_kernel(x, w, groups, windows):
        return None
    if math.prod(w.shape[1:]) > _MAX_EXACT_PRODUCTS:
        return None
    weights = p.constant_in_layout(w, _pack_int32_weights)
    if weights is None or not weights.size:
        return None
    table, scratch, shape = _geometry_and_shape(x, w, groups, windows)
    inputs = (x, weights, p.constant(table))
    (sums,) = p.call(RoutineCall("int8.from_int32_conv", [(shape, _INT32)], (), scratch + x.size), inputs)
    return sums


def _supports_int8_kernel(x: T, w: T, groups: int, windows: WindowGeometry) -> bool:
    too_few_channels = w.shape[0] // groups < _MIN_CHANNELS
    return (
        not too_few_channels
        and len(windows.kernel) <= _MAX_AXES
        and bool(x.size)
        and bool(w.size)
        and bool(math.prod(windows.output_shape))
    )


def _pack_int32_weights(weights: Array) -> Array:
    """Pack 32-bit weights as 8-bit ones behind a header; empty if they do not fit."""
    header, narrow = as_int8_with_zero_point(weights)
    if narrow is None:
        return np.empty(0, np.uint8)
    return np.concatenate([header, narrow.reshape(-1).view(np.uint8)])


def _geometry_and_shape(x: T, w: T, groups: int, windows: WindowGeometry) -> tuple[Array, int, tuple[int, ...]]:
    n, icg, ocg = int(x.shape[0]), int(w.shape[1]), int(w.shape[0]) // groups
    table, scratch = _geometry_table(n, groups, icg, ocg, windows, thread_pool.pool_size())
    return table, scratch, (n, groups * ocg, *windows.output_shape)


@lru_cache(maxsize=1024)
def _geometry_table(
    n: int, groups: int, icg: int, ocg: int, windows: WindowGeometry, workers: int
) -> tuple[Array, int]:
    """The parameter table of int8_conv.h, and its scratch size in bytes for a number of threads."""
    unit_axes = (1,) * (_MAX_AXES - len(windows.kernel))
    kernel, size, out = unit_axes + windows.kernel, unit_axes + windows.size, unit_axes + windows.output_shape
    strides, dilations = unit_axes + windows.strides, unit_axes + windows.dilations
    pads = (0,) * len(unit_axes) + windows.pads_before
    phases = [
        sorted({k * dilation % stride for k in range(taps)})
        for taps, stride, dilation in zip(kernel, strides, dilations, strict=True)
    ]
    reach = [(taps - 1) * dilation // stride for taps, stride, dilation in zip(kernel, strides, dilations, strict=True)]
    plane = [extent + extra for extent, extra in zip(out, reach, strict=True)]
    channel = math.prod(map(len, phases)) * math.prod(plane)

    def tap_offset(tap: tuple[int, ...]) -> int:
        """The offset of a tap of the first window in a channel's planes."""
        number = offset = 0
        for d in range(_MAX_AXES):
            shift, phase = divmod(tap[d] * dilations[d], strides[d])
            number = number * len(phases[d]) + phases[d].index(phase)
            offset = offset * plane[d] + shift
        return number * math.prod(plane) + offset

    taps = [tap_offset(tap) for tap in np.ndindex(*kernel)]
    first_positions = [phase - pad for axis_phases, pad in zip(phases, pads, strict=True) for phase in axis_phases]
    header = [n, groups, icg, ocg, *size, *out, *strides, *plane, *map(len, phases), len(taps), workers]
    k = icg * len(taps)
    panels = workers * (-(-k // 4) * 4 * int8.PANEL_COLUMNS + int8.OVERREAD_BYTES)
    rows = ocg * (k + int8.TAIL_BYTES + 8)
    scratch = (
        rows
        + 8 * k
        + 4 * (channel + int8.PANEL_COLUMNS)
        + int8.PANEL_COLUMNS
        + icg * channel
        + int8.PANEL_COLUMNS
        + panels
    )
    return np.array([*header, *first_positions, *taps], np.int64), scratch + 10 * _ALIGNMENT_BYTES
