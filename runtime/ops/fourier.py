"""OpenVINO's Fourier transforms, in NumPy; complex numbers are pairs along the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Array
from .axis_arguments import normalize_distinct_axes, read_int, read_ints
from .operator_helpers import Dtype, working_dtype
from .registry import openvino

P = Any


def _to_complex(x: Array) -> Array:
    if x.ndim < 2 or x.shape[-1] != 2:
        raise ValueError(f"complex numbers need a last axis of 2, not shape {x.shape}")
    values = x.astype(working_dtype(x.dtype))
    return np.asarray(values[..., 0] + 1j * values[..., 1])


def _to_real_pairs(x: Array, dtype: Dtype) -> Array:
    return np.stack([x.real, x.imag], -1).astype(dtype)


def _axes_and_lengths(
    p: P, shape: Sequence[int], axes: Array, signal_size: Array | None
) -> tuple[tuple[int, ...], list[int]]:
    """The axes and the signal length along each: truncated or zero-padded; -1: unchanged."""
    normalized = normalize_distinct_axes(read_ints(p, axes), len(shape))
    sizes = [shape[axis] for axis in normalized]
    if signal_size is not None:
        requested = read_ints(p, signal_size)
        if len(requested) != len(normalized):
            raise ValueError(f"{len(requested)} signal sizes do not fit {len(normalized)} axes")
        sizes = [size if length == -1 else length for size, length in zip(sizes, requested, strict=True)]
    if min(sizes, default=1) < 1:
        raise ValueError(f"signal sizes {sizes} must be positive")
    return normalized, sizes


@openvino("DFT", since=7, native=False)
def dft(p: P, x: Array, axes: Array, signal_size: Array | None = None) -> Array:
    numbers = _to_complex(x)
    along, sizes = _axes_and_lengths(p, numbers.shape, axes, signal_size)
    return _to_real_pairs(np.fft.fftn(numbers, sizes, along), x.dtype)


@openvino("IDFT", since=7, native=False)
def idft(p: P, x: Array, axes: Array, signal_size: Array | None = None) -> Array:
    numbers = _to_complex(x)
    along, sizes = _axes_and_lengths(p, numbers.shape, axes, signal_size)
    return _to_real_pairs(np.fft.ifftn(numbers, sizes, along), x.dtype)


@openvino("RDFT", since=9, native=False)
def rdft(p: P, x: Array, axes: Array, signal_size: Array | None = None) -> Array:
    """Returns the non-redundant half of the spectrum."""
    along, sizes = _axes_and_lengths(p, x.shape, axes, signal_size)
    return _to_real_pairs(np.fft.rfftn(x.astype(working_dtype(x.dtype)), sizes, along), x.dtype)


@openvino("IRDFT", since=9, native=False)
def irdft(p: P, x: Array, axes: Array, signal_size: Array | None = None) -> Array:
    numbers = _to_complex(x)
    along, sizes = _axes_and_lengths(p, numbers.shape, axes, signal_size)
    if signal_size is None or read_ints(p, signal_size)[-1] == -1:
        sizes[-1] = 2 * (numbers.shape[along[-1]] - 1)
    return np.asarray(np.fft.irfftn(numbers, sizes, along), x.dtype)


def _centered_window(window: Array, size: int) -> Array:
    """Zero-pad a window to the frame size, centered."""
    if window.ndim != 1 or len(window) > size:
        raise ValueError(f"a window of shape {window.shape} does not fit frames of {size}")
    left_pad = (size - len(window)) // 2
    return np.pad(window, (left_pad, size - len(window) - left_pad))


@openvino("STFT", since=15, native=False)
def stft(p: P, signal: Array, window: Array, frame_size: Array, frame_step: Array, *, transpose_frames: bool) -> Array:
    """Returns ``[batch, frames, bins, 2]``; ``transpose_frames``: bins before frames."""
    size, step = read_int(p, frame_size, "frame_size"), read_int(p, frame_step, "frame_step")
    length = signal.shape[-1]
    if not 0 < size <= length or step < 1:
        raise ValueError(f"frames of {size} by steps of {step} do not fit a signal of {length}")
    working = working_dtype(signal.dtype)
    frames = np.lib.stride_tricks.sliding_window_view(signal.astype(working), size, -1)[..., ::step, :]
    bins = np.fft.rfft(frames * _centered_window(window.astype(working), size))
    return _to_real_pairs(np.swapaxes(bins, -1, -2) if transpose_frames else bins, signal.dtype)


@openvino("ISTFT", since=16, native=False)
def istft(
    p: P,
    x: Array,
    window: Array,
    frame_size: Array,
    frame_step: Array,
    signal_length: Array | None = None,
    *,
    center: bool,
    normalized: bool,
) -> Array:
    """Overlap-add of frames ``[batch, bins, frames, 2]``, normalized by the sum of squared windows."""
    size, step = read_int(p, frame_size, "frame_size"), read_int(p, frame_step, "frame_step")
    numbers = np.swapaxes(_to_complex(x), -1, -2)
    if numbers.shape[-1] != size // 2 + 1 or size < 1 or step < 1:
        raise ValueError(f"frames of {size} by steps of {step} do not fit {x.shape}")
    working = working_dtype(x.dtype)
    weights = _centered_window(window.astype(working), size)
    frames = np.fft.irfft(numbers, size) * weights
    if normalized:
        frames = frames * np.sqrt(working.type(size))
    count = frames.shape[-2]
    signal = np.zeros((*frames.shape[:-2], size + (count - 1) * step), working)
    norm = np.zeros(signal.shape[-1], working)
    for k in range(count):
        signal[..., k * step : k * step + size] += frames[..., k, :]
        norm[k * step : k * step + size] += weights * weights
    signal = signal / np.where(norm == 0, 1, norm)
    first = size // 2 if center else 0
    length = None if signal_length is None else read_int(p, signal_length, "signal_length")
    if length is None or length == -1:
        signal = signal[..., first : signal.shape[-1] - first]
    else:
        signal = signal[..., first : first + length]
        missing = length - signal.shape[-1]
        signal = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
    return np.asarray(signal, x.dtype)
