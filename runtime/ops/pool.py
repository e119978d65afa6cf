"""Pooling over windows, in NumPy. ONNX only.

onnx.reference gives other shapes than the specification for ``SAME_LOWER`` and for ``ceil_mode`` with pads, takes no
account of ``storage_order``, and lacks some of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import Array
from .axes import text, unknown_word
from .registry import onnx

P = Any
_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True)
class _Plan:
    """Where the windows lie, one number a spatial axis. ``after`` does not count what only ``ceil_mode`` reaches."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    out: tuple[int, ...]

    def windows(self, x: Array, fill: Any, fill_beyond: Any) -> Array:
        """[N, C, out ..., kernel ...]; ``fill`` stands for pads, ``fill_beyond`` for what lies behind them."""
        padded = np.pad(x, [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)], constant_values=fill)
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        needed = [(o - 1) * s + w for o, s, w in zip(self.out, self.strides, spans, strict=True)]
        beyond = [(0, max(0, n - m)) for n, m in zip(needed, padded.shape[2:], strict=True)]
        padded = np.pad(padded, [(0, 0), (0, 0), *beyond], constant_values=fill_beyond)
        axes = tuple(range(2, x.ndim))
        view = np.lib.stride_tricks.sliding_window_view(padded, spans, axes)
        places = [slice(0, (o - 1) * s + 1, s) for o, s in zip(self.out, self.strides, strict=True)]
        steps = [slice(None, None, d) for d in self.dilations]
        return np.asarray(view[(slice(None), slice(None), *places, *steps)])

    @property
    def over_kernel(self) -> tuple[int, ...]:
        """The axes of :meth:`windows` that a pooling reduces."""
        return tuple(range(-len(self.kernel), 0))


def _plan(
    x: Array,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
    dilations: Sequence[int] | None,
    auto_pad: str | bytes,
    ceil_mode: int,
) -> _Plan:
    rank = len(kernel_shape)
    if x.ndim != rank + 2:
        raise ValueError(f"kernel_shape {list(kernel_shape)} does not fit an input of shape {x.shape}")
    size, kernel = x.shape[2:], tuple(kernel_shape)
    strides, dilations = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    given = list(pads or (0,) * (2 * rank))
    if not len(strides) == len(dilations) == rank == len(given) // 2 or min(*strides, *dilations, *kernel) < 1:
        raise ValueError(f"strides, dilations and pads do not fit kernel_shape {list(kernel_shape)}")
    mode = text(auto_pad)
    if mode not in _AUTO_PADS:
        raise unknown_word("auto_pad", mode, _AUTO_PADS)
    before, after, out = [], [], []
    for k, (n, step) in enumerate(zip(size, strides, strict=True)):
        span = (kernel[k] - 1) * dilations[k] + 1
        if mode.startswith("SAME"):
            count = -(-n // step)
            missing = max(0, (count - 1) * step + span - n)
            first = (missing + (mode == "SAME_LOWER")) // 2
            last = missing - first
        else:
            # By its formulas VALID has as many windows with ceil_mode as without; onnxruntime adds one.
            first, last = (given[k], given[rank + k]) if mode == "NOTSET" else (0, 0)
            room = n + first + last - span
            if room < 0:
                raise ValueError(f"a window of {span} does not fit axis {k + 2} of {x.shape} with its pads")
            count = room // step + 1
            if ceil_mode and mode == "NOTSET" and room % step and count * step < n + first:
                count += 1  # a last window that hangs over, unless it would start in the pads behind
        before.append(first)
        after.append(last)
        out.append(count)
    return _Plan(size, kernel, strides, dilations, tuple(before), tuple(after), tuple(out))


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@onnx("MaxPool", native=False)
def max_pool(
    p: P,
    x: Array,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
    n_outputs: int = 1,
) -> Any:
    """The second output counts elements of the whole tensor, with ``storage_order`` 1 by columns within a channel."""
    plan = _plan(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    windows = plan.windows(x, _lowest(x.dtype), _lowest(x.dtype))
    if n_outputs == 1:
        return windows.max(plan.over_kernel)
    flat = windows.reshape(*windows.shape[: x.ndim], -1)
    best = flat.argmax(-1)
    spatial = math.prod(plan.size)
    places = np.arange(x.size).reshape(x.shape)
    if storage_order:
        turned = np.arange(spatial).reshape(plan.size[::-1]).transpose()
        places = places // spatial * spatial + turned
    indices = plan.windows(places, -1, -1).reshape(flat.shape)
    chosen = best[..., None]
    return np.take_along_axis(flat, chosen, -1)[..., 0], np.take_along_axis(indices, chosen, -1)[..., 0]


@onnx("AveragePool", native=False)
def average_pool(
    p: P,
    x: Array,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Divided by the elements of the window, those of the pads counted too with ``count_include_pad``."""
    plan = _plan(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    wide = np.result_type(x.dtype, np.float32)
    total = plan.windows(x.astype(wide), 0, 0).sum(plan.over_kernel)
    counted = plan.windows(np.ones((1, 1, *plan.size), wide), count_include_pad, 0).sum(plan.over_kernel)
    return np.asarray(total / counted, x.dtype)


@onnx("LpPool", since=2, native=False)
def lp_pool(
    primitives: P,
    x: Array,
    *,
    kernel_shape: Sequence[int],
    p: int = 2,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    plan = _plan(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    powers = plan.windows(abs(x) ** p, 0, 0).sum(plan.over_kernel)
    return np.asarray(powers ** (1 / p), x.dtype)


@onnx("GlobalLpPool", since=2, native=False)
def global_lp_pool(primitives: P, x: Array, *, p: int = 2) -> Array:
    powers = (abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True)
    return np.asarray(powers ** (1 / p), x.dtype)
