"""Fourier transforms of OpenVINO, in NumPy: complex numbers are pairs along a last axis of 2."""

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
    wide = x.astype(working_dtype(x.dtype))
    return np.asarray(wide[..., 0] + 1j * wide[..., 1])


def _to_real_pairs(x: Array, dtype: Dtype) -> Array:
    return np.stack([x.real, x.imag], -1).astype(dtype)


def _axes_and_lengths(
    p: P, shape: Sequence[int], axes: Array, signal_size: Array | None
) -> tuple[tuple[int, ...], list[int]]:
    """The axes, and how long the signal along each is taken: cut off or filled up with zeros; -1: as it is."""
    along = normalize_distinct_axes(read_ints(p, axes), len(shape))
    sizes = [shape[axis] for axis in along]
    if signal_size is not None:
        given = read_ints(p, signal_size)
        if len(given) != len(along):
            raise ValueError(f"{len(given)} signal sizes do not fit {len(along)} axes")
        sizes = [size if wanted == -1 else wanted for size, wanted in zip(sizes, given, strict=True)]
    if min(sizes, default=1) < 1:
        raise ValueError(f"signal sizes {sizes} must be positive")
    return along, sizes


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
    """Half of the result: the rest is what it says, conjugated."""
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
    """In the middle of a frame."""
    if window.ndim != 1 or len(window) > size:
        raise ValueError(f"a window of shape {window.shape} does not fit frames of {size}")
    before = (size - len(window)) // 2
    return np.pad(window, (before, size - len(window) - before))


@openvino("STFT", since=15, native=False)
def stft(p: P, signal: Array, window: Array, frame_size: Array, frame_step: Array, *, transpose_frames: bool) -> Array:
    """``[batch, frames, bins, 2]``; ``transpose_frames``: the bins first."""
    size, step = read_int(p, frame_size, "frame_size"), read_int(p, frame_step, "frame_step")
    length = signal.shape[-1]
    if not 0 < size <= length or step < 1:
        raise ValueError(f"frames of {size} by steps of {step} do not fit a signal of {length}")
    wide = working_dtype(signal.dtype)
    frames = np.lib.stride_tricks.sliding_window_view(signal.astype(wide), size, -1)[..., ::step, :]
    bins = np.fft.rfft(frames * _centered_window(window.astype(wide), size))
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
    """The signal whose frames ``[batch, bins, frames, 2]`` are, each sample divided by the squared windows over it."""
    size, step = read_int(p, frame_size, "frame_size"), read_int(p, frame_step, "frame_step")
    numbers = np.swapaxes(_to_complex(x), -1, -2)
    if numbers.shape[-1] != size // 2 + 1 or size < 1 or step < 1:
        raise ValueError(f"frames of {size} by steps of {step} do not fit {x.shape}")
    wide = working_dtype(x.dtype)
    weights = _centered_window(window.astype(wide), size)
    frames = np.fft.irfft(numbers, size) * weights
    if normalized:
        frames = frames * np.sqrt(wide.type(size))
    count = frames.shape[-2]
    signal = np.zeros((*frames.shape[:-2], size + (count - 1) * step), wide)
    norm = np.zeros(signal.shape[-1], wide)
    for k in range(count):
        signal[..., k * step : k * step + size] += frames[..., k, :]
        norm[k * step : k * step + size] += weights * weights
    signal = signal / np.where(norm == 0, 1, norm)
    first = size // 2 if center else 0
    wanted = None if signal_length is None else read_int(p, signal_length, "signal_length")
    if wanted is None or wanted == -1:
        signal = signal[..., first : signal.shape[-1] - first]
    else:
        signal = signal[..., first : first + wanted]
        missing = wanted - signal.shape[-1]
        signal = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
    return np.asarray(signal, x.dtype)
