"""OpenVINO's adaptive pooling and binary convolution, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Array
from .axis_arguments import check_shape, read_ints, unknown_value_error
from .operator_helpers import Dtype, working_dtype
from .registry import Ints, openvino

P = Any
INT64 = np.dtype(np.int64)


def _adaptive_bins(p: P, x: Array, sizes: Array) -> list[list[slice]]:
    """The bins of each spatial axis; they may overlap."""
    counts = check_shape(read_ints(p, sizes), "output shape")
    if len(counts) != x.ndim - 2:
        raise ValueError(f"an output shape {list(counts)} does not fit {x.shape}")
    return [
        [slice(k * n // count, -(-(k + 1) * n // count)) for k in range(count)]
        for n, count in zip(x.shape[2:], counts, strict=True)
    ]


@openvino("AdaptiveAvgPool", since=8, native=False)
def adaptive_avg_pool(p: P, x: Array, sizes: Array) -> Array:
    working = working_dtype(x.dtype)
    out = x.astype(working)
    for axis, bins in enumerate(_adaptive_bins(p, x, sizes), 2):  # separable: a mean of means
        leading = (slice(None),) * axis
        parts = [out[(*leading, part)].mean(axis, keepdims=True, dtype=working) for part in bins]
        out = np.concatenate(parts, axis) if parts else out[(*leading, slice(0, 0))]
    return out.astype(x.dtype)


@openvino("AdaptiveMaxPool", since=8, native=False)
def adaptive_max_pool(p: P, x: Array, sizes: Array, *, index_element_type: Dtype = INT64, n_outputs: int = 2) -> Any:
    """The maximum of each bin, and its flat index within the channel."""
    bins = _adaptive_bins(p, x, sizes)
    shape = (*x.shape[:2], *(len(axis_bins) for axis_bins in bins))
    values, indices = np.empty(shape, x.dtype), np.empty(shape, index_element_type)
    numbers = np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:])
    for bin_index in np.ndindex(*shape[2:]):
        part = tuple(axis_bins[k] for axis_bins, k in zip(bins, bin_index, strict=True))
        flat = x[(slice(None), slice(None), *part)].reshape(*x.shape[:2], -1)
        best = flat.argmax(-1)
        values[(slice(None), slice(None), *bin_index)] = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        indices[(slice(None), slice(None), *bin_index)] = numbers[part].reshape(-1)[best]
    return (values, indices)[:n_outputs]


@openvino("BinaryConvolution", native=False)
def binary_convolution(
    p: P,
    x: Array,
    filters: Array,
    *,
    strides: Ints,
    pads_begin: Ints,
    pads_end: Ints,
    dilations: Ints,
    mode: str,
    pad_value: float,
    auto_pad: str = "explicit",
) -> Array:
    """The number of equal bits minus that of different bits: bits encode -1 and 1."""
    if mode.lower() != "xnor-popcount":
        raise unknown_value_error("mode", mode, ("xnor-popcount",))
    kernel = filters.shape[2:]
    before, after = list(pads_begin), list(pads_end)
    if auto_pad.lower() != "explicit":
        if auto_pad.lower() not in ("valid", "same_upper", "same_lower"):
            raise unknown_value_error("auto_pad", auto_pad, ("explicit", "valid", "same_upper", "same_lower"))
        for k, (n, size, s, d) in enumerate(zip(x.shape[2:], kernel, strides, dilations, strict=True)):
            missing = max(0, (-(-n // s) - 1) * s + (size - 1) * d + 1 - n) if auto_pad.lower() != "valid" else 0
            before[k] = (missing + (auto_pad.lower() == "same_lower")) // 2
            after[k] = missing - before[k]
    pads = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    padded = np.pad(x, pads, constant_values=x.dtype.type(pad_value))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(padded, spans, tuple(range(2, x.ndim)))
    view = view[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
    view = view[(*(slice(None),) * (2 + len(kernel)), *(slice(None, None, d) for d in dilations))]
    rank = len(kernel)
    bits = filters.astype(bool)
    # A value other than 0 and 1 equals neither bit.
    ones, zeros = (view == 1).astype(np.float64), (view == 0).astype(np.float64)
    axes = [1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]
    agree = np.tensordot(ones, bits.astype(np.float64), axes) + np.tensordot(zeros, (~bits).astype(np.float64), axes)
    total = 2 * agree - bits[0].size
    return np.asarray(np.moveaxis(total, -1, 1), x.dtype)
