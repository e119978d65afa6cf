"""Convolutions of 8-bit integers in place (int8_conv.h), and those of 32-bit integers that are such ones.

Zero points are read when it runs: those of quantised activations are others each time.
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
from .primitives import RoutineCall
from .window_geometry import WindowGeometry

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
_MAX_AXES = 3
#: With fewer output channels a group, most of a product would be made for nobody.
_MIN_CHANNELS = 4
#: Sums of so many products of bytes less zero points fit into 32 bits.
_MAX_EXACT_PRODUCTS = 2**31 // 255**2 - 1
_ALIGNMENT_BYTES = 64


def int8_window_sums(
    p: P, x: T, w: T, x_zero: T | None, w_zero: T | None, groups: int, found: WindowGeometry
) -> T | None:
    """Sums of ``(x - x_zero) * (w - w_zero)`` over windows as int32, exact; ``w_zero``: one for all or one a channel.

    None: that is better done in another way.
    """
    if not _supports(x, w, groups, found) or x.dtype not in _BYTES or w.dtype not in _BYTES:
        return None
    if (x_zero is not None and x_zero.size != 1) or (w_zero is not None and w_zero.size not in (1, w.shape[0])):
        return None
    table, scratch, shape = _geometry(x, w, groups, found)
    zeros = [p.constant(np.zeros(1, of.dtype)) if zero is None else zero for of, zero in ((x, x_zero), (w, w_zero))]
    numbers = (int(x.dtype == np.int8), int(w.dtype == np.int8), int(zeros[1].size != 1))
    (sums,) = p.call(RoutineCall("int8.conv", [(shape, _INT32)], numbers, scratch), (x, w, *zeros, p.constant(table)))
    return sums


def int32_window_sums(p: P, x: T, w: T, groups: int, found: WindowGeometry) -> T | None:
    """The convolution of 32-bit integers with constant weights that are bytes; None where it is no such one.

    A quantised model in an IR converts its bytes to 32 bits and takes the zero points off.
    """
    if not x.dtype == w.dtype == _INT32 or not _supports(x, w, groups, found):
        return None
    if math.prod(w.shape[1:]) > _MAX_EXACT_PRODUCTS:
        return None
    weights = p.prepared(w, _pack_int32_weights)
    if weights is None or not weights.size:
        return None
    table, scratch, shape = _geometry(x, w, groups, found)
    inputs = (x, weights, p.constant(table))
    (sums,) = p.call(RoutineCall("int8.from_int32_conv", [(shape, _INT32)], (), scratch + x.size), inputs)
    return sums


def _supports(x: T, w: T, groups: int, found: WindowGeometry) -> bool:
    few = w.shape[0] // groups < _MIN_CHANNELS
    return (
        not few
        and len(found.kernel) <= _MAX_AXES
        and bool(x.size)
        and bool(w.size)
        and bool(math.prod(found.output_shape))
    )


def _pack_int32_weights(weights: Array) -> Array:
    """Weights of 32-bit integers as bytes behind a line that says how; empty where they are no bytes."""
    head, bytes_of = as_int8_with_zero_point(weights)
    if bytes_of is None:
        return np.empty(0, np.uint8)
    return np.concatenate([head, bytes_of.reshape(-1).view(np.uint8)])


def _geometry(x: T, w: T, groups: int, found: WindowGeometry) -> tuple[Array, int, tuple[int, ...]]:
    n, icg, ocg = int(x.shape[0]), int(w.shape[1]), int(w.shape[0]) // groups
    table, scratch = _geometry_table(n, groups, icg, ocg, found, thread_pool.pool_size())
    return table, scratch, (n, groups * ocg, *found.output_shape)


@lru_cache(maxsize=1024)
def _geometry_table(n: int, groups: int, icg: int, ocg: int, found: WindowGeometry, workers: int) -> tuple[Array, int]:
    """What int8_conv.h reads of the windows, and how many bytes it needs where so many threads share them."""
    missing = (1,) * (_MAX_AXES - len(found.kernel))
    kernel, size, out = missing + found.kernel, missing + found.size, missing + found.output_shape
    strides, dilations = missing + found.strides, missing + found.dilations
    before = (0,) * len(missing) + found.pads_before
    phases = [
        sorted({k * dilation % stride for k in range(taps)})
        for taps, stride, dilation in zip(kernel, strides, dilations, strict=True)
    ]
    reach = [(taps - 1) * dilation // stride for taps, stride, dilation in zip(kernel, strides, dilations, strict=True)]
    plane = [extent + more for extent, more in zip(out, reach, strict=True)]
    channel = math.prod(map(len, phases)) * math.prod(plane)

    def place(tap: tuple[int, ...]) -> int:
        """Where in a channel's planes the first window's number for a tap is."""
        number = at = 0
        for d in range(_MAX_AXES):
            shift, phase = divmod(tap[d] * dilations[d], strides[d])
            number = number * len(phases[d]) + phases[d].index(phase)
            at = at * plane[d] + shift
        return number * math.prod(plane) + at

    taps = [place(tap) for tap in np.ndindex(*kernel)]
    firsts = [phase - first for of, first in zip(phases, before, strict=True) for phase in of]
    head = [n, groups, icg, ocg, *size, *out, *strides, *plane, *map(len, phases), len(taps), workers]
    k = icg * len(taps)
    panels = workers * (-(-k // 4) * 4 * int8.PANEL_COLUMNS + int8.OVERREAD_BYTES)
    rows = ocg * (k + int8.TAIL_BYTES + 8)
    parts = (
        rows
        + 8 * k
        + 4 * (channel + int8.PANEL_COLUMNS)
        + int8.PANEL_COLUMNS
        + icg * channel
        + int8.PANEL_COLUMNS
        + panels
    )
    return np.array([*head, *firsts, *taps], np.int64), parts + 10 * _ALIGNMENT_BYTES
