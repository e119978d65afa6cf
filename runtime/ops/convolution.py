"""Convolutions and transposed ones: where what lies is computed here, the sums are those of kernels/routines/conv.h."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from .axes import ints, text, unknown_word
from .registry import Floats, Ints, onnx, openvino
from .support import cast, constant, working_dtype
from .windows import AUTO_PADS, Windows, windows

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
Shape = tuple[int, ...]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
#: As many bytes of the input are copied at a time: they stay in a second-level cache, and for depthwise ones in a first.
_BAND, _NARROW_BAND = 1 << 19, 1 << 14
#: Elements of the widest vectors, and of the narrowest ones.
_WIDEST, _NARROWEST = {4: 16, 8: 8}, {4: 4, 8: 2}
_MOST_AXES = 3


@dataclass(frozen=True)
class _Taps:
    """One spatial axis. A plane of phase p holds the inputs ``first[p] + j * step``; output ``start + i * out_step`` reads
    of it j = i + shift for each tap (index in the kernel, phase, shift) of its residue (start, count, taps)."""

    first: Shape
    step: int
    out_step: int
    residues: tuple[tuple[int, int, tuple[Shape, ...]], ...]

    @property
    def reach(self) -> int:
        return max((tap[2] for _, _, taps in self.residues for tap in taps), default=0)

    @property
    def count(self) -> int:
        return max(count for _, count, _ in self.residues)

    @property
    def least(self) -> int:
        return min(count for _, count, _ in self.residues)


def _forward(kernel: int, stride: int, dilation: int, before: int, out: int) -> _Taps:
    """A convolution: taps that are a whole number of strides apart read the same plane."""
    phases = sorted({k * dilation % stride for k in range(kernel)})
    taps = tuple((k, phases.index(k * dilation % stride), k * dilation // stride) for k in range(kernel))
    return _Taps(tuple(phase - before for phase in phases), stride, 1, ((0, out, taps),))


def _backward(kernel: int, stride: int, dilation: int, before: int, out: int) -> _Taps:
    """A transposed one: output o reads input i by the tap for which i * stride + tap * dilation = o + before."""
    residues = []
    for start in range(min(stride, out)):
        met = [(k, divmod(start + before - k * dilation, stride)) for k in range(kernel)]
        taps = [(k, shift) for k, (shift, rest) in met if not rest]
        residues.append((start, -(-(out - start) // stride), taps))
    least = min((shift for _, _, taps in residues for _, shift in taps), default=0)
    moved = tuple((start, n, tuple((k, 0, shift - least) for k, shift in taps)) for start, n, taps in residues)
    return _Taps((least,), 1, stride, moved)


@lru_cache(maxsize=1024)
def _table(
    transposed: bool, n: int, groups: int, icg: int, ocg: int, found: Windows, itemsize: int
) -> tuple[Array, int]:
    """What conv.h reads, and how many bytes it needs."""
    lead = _MOST_AXES - len(found.kernel)

    def padded(numbers: Shape, fill: int) -> Shape:
        return (fill,) * lead + numbers

    size, kernel, out = padded(found.size, 1), padded(found.kernel, 1), padded(found.out, 1)
    strides, dilations = padded(found.strides, 1), padded(found.dilations, 1)
    before = padded(found.before, 0)
    taps = [
        (_backward if transposed else _forward)(*numbers)
        for numbers in zip(kernel, strides, dilations, before, out, strict=True)
    ]
    reach, most = [t.reach for t in taps], [t.count for t in taps]
    phases = math.prod(len(t.first) for t in taps)
    # Read where it is: neighbours are neighbours, nothing lies outside, and whole vectors fit in.
    direct = all(
        t.first == (0,) and t.step == 1 and t.count + t.reach <= extent
        for t, extent in zip(taps, size, strict=True)
    )
    least, widest = [t.least for t in taps], _WIDEST[itemsize]
    direct = direct and (least[2] >= widest or (most[2] == size[2] and least[1] * least[2] >= widest))
    if direct:
        band, plane = (n, most[0], most[1]), size
    else:
        budget = _NARROW_BAND if ocg == 1 else _BAND
        row = icg * phases * (most[2] + reach[2]) * itemsize

        def band_bytes(images: int, depth: int, height: int) -> int:
            return images * (depth + reach[0]) * (height + reach[1]) * row

        height = max(1, min(most[1], budget // max(1, row * (1 + reach[0])) - reach[1]))
        depth = 1 if height < most[1] else max(1, min(most[0], budget // band_bytes(1, 1, height)))
        while depth > 1 and band_bytes(1, depth, height) > budget:
            depth -= 1
        images = 1 if depth < most[0] else max(1, min(n, budget // band_bytes(1, depth, height)))
        band = (images, depth, height)
        plane = (depth + reach[0], height + reach[1], most[2] + reach[2])
    rows = math.prod(band)
    vectors = rows * -(-most[2] // _NARROWEST[itemsize]) + 1
    weights = icg * math.prod(kernel)
    parts = [  # bytes, in the order of conv.h
        0 if direct else (icg * phases * band[0] * math.prod(plane) + widest) * itemsize,
        ocg * weights * itemsize if any(len(t.residues) > 1 for t in taps) else 0,
        weights * 8,
        vectors * 8,
        (vectors + 1) * 4,
        (vectors + rows + widest) * 16,
    ]
    places = [0]
    for part in parts:
        places.append(places[-1] + -(-part // 64) * 64)
    head = [n, groups, icg, ocg, *size, *out, *kernel, *(t.step for t in taps), *(t.out_step for t in taps), *plane]
    head += [*most, *band, int(direct), *places[:-1], 0]
    for t in taps:
        head += [len(t.first), *t.first, len(t.residues)]
        for start, count, met in t.residues:
            head += [start, count, len(met), *(number for tap in met for number in tap)]
    return np.array(head, np.int64), places[-1]


def _convolve(p: P, x: T, w: T, bias: T | None, groups: int, found: Windows, transposed: bool = False) -> T:
    """Sums over windows of ``x [n, channels, ...]`` by ``w [groups * ocg, icg, ...]``, floats of 4 or 8 bytes."""
    n, channels = int(x.shape[0]), int(x.shape[1])
    ocg, icg = w.shape[0] // groups, channels // groups
    shape = (n, w.shape[0], *found.out)
    if not math.prod(shape):
        return p.constant(np.zeros(shape, x.dtype))
    if len(found.kernel) > _MOST_AXES:
        raise UnsupportedError(f"convolutions have at most {_MOST_AXES} spatial axes here, not {len(found.kernel)}")
    table, scratch = _table(transposed, n, groups, icg, ocg, found, x.dtype.itemsize)
    inputs = (x, w, p.constant(table)) if bias is None else (x, w, bias, p.constant(table))
    name = "conv.f32" if x.dtype == _FLOAT32 else "conv.f64"
    return p.routine(name, inputs, [(shape, x.dtype)], (int(bias is not None),), scratch)[0]


def _in_floats(p: P, x: T, w: T, bias: T | None, groups: int, found: Windows, transposed: bool = False) -> T:
    """The same for all types: narrow floats in float32, integers in float64, where their sums are exact."""
    wide = working_dtype(x.dtype) if x.dtype.kind not in "iub" else _FLOAT64
    if wide not in (_FLOAT32, _FLOAT64):
        raise UnsupportedError(f"convolutions of {x.dtype} are not supported")
    bias = None if bias is None else cast(p, bias, wide)
    return cast(p, _convolve(p, cast(p, x, wide), cast(p, w, wide), bias, groups, found, transposed), x.dtype)


def _check(x: T, w: T, groups: int, bias: T | None, outputs: int, inputs: int) -> None:
    """Hold data, weights and bias to each other.

    Raises:
        ModelError: ranks, channels or groups do not fit.
    """
    if x.ndim < 3 or w.ndim != x.ndim:
        raise ModelError(f"a convolution of shapes {x.shape} and {w.shape}: the ranks do not fit")
    if groups < 1 or x.shape[1] != inputs or outputs % groups or inputs % groups:
        raise ModelError(f"a convolution of shapes {x.shape} and {w.shape} with {groups} groups: the channels differ")
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise ModelError(f"a bias of shape {bias.shape} does not fit {outputs} channels")
    if x.dtype != w.dtype:
        raise ModelError(f"a convolution of {x.dtype} with weights of {w.dtype}: the types differ")


def _kernel(w: T, given: Sequence[int] | None) -> Shape:
    kernel = tuple(int(extent) for extent in w.shape[2:])
    if given is not None and tuple(given) != kernel:
        raise ModelError(f"kernel_shape {list(given)} does not fit weights of shape {w.shape}")
    return kernel


@onnx("Conv")
def conv(
    p: P,
    x: T,
    w: T,
    bias: T | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    _check(x, w, group, bias, w.shape[0], w.shape[1] * group if w.ndim > 1 else 0)
    found = windows(x.shape[2:], _kernel(w, kernel_shape), strides, pads, dilations, auto_pad)
    return _in_floats(p, x, w, bias, group, found)


# --- Transposed


def _turned(w: Array) -> Array:
    """Weights [groups, inputs, outputs, ...] as [groups * outputs, inputs, ...]."""
    return np.ascontiguousarray(np.swapaxes(w, 1, 2)).reshape(-1, w.shape[1], *w.shape[3:])


def _transposed(p: P, x: T, w: T, bias: T | None, groups: int, found: Windows) -> T:
    """``w``: [groups, inputs, outputs, ...]."""
    turned = p.prepared(w, _turned)
    if turned is None:
        swapped = p.transpose(w, (0, 2, 1, *range(3, w.ndim)))
        turned = p.reshape(swapped, (w.shape[0] * w.shape[2], w.shape[1], *w.shape[3:]))
    return _in_floats(p, x, turned, bias, groups, found, True)


def _spread(
    size: Sequence[int],
    kernel: Shape,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    extra: Sequence[int] | None,
    mode: str,
    wanted: Sequence[int] | None,
) -> Windows:
    """The windows of a transposed convolution: ``out`` is what they are read from, ``size`` what is spread.

    ``extra``: output padding; ``wanted``: the output's spatial shape, from which the pads follow then, as they do with
    ``SAME``: what does not go by two lies behind with SAME_UPPER, before otherwise.
    """
    rank = len(kernel)
    size = tuple(int(n) for n in size)
    strides, dilations = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    given, extra = tuple(pads or (0,) * (2 * rank)), tuple(extra or (0,) * rank)
    if mode not in AUTO_PADS:
        raise unknown_word("auto_pad", mode, AUTO_PADS)
    if not len(size) == len(strides) == len(dilations) == len(extra) == rank == len(given) / 2 or (
        min(*strides, *dilations, *kernel, 1) < 1 or min(*extra, 0) < 0
    ):
        raise ModelError(f"strides, dilations and pads do not fit a kernel of shape {list(kernel)}")
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(size, strides, kernel, dilations, extra, strict=True)
    ]
    if wanted is None and mode.startswith("SAME"):
        wanted = [n * s for n, s in zip(size, strides, strict=True)]
    if wanted is not None:
        if len(wanted) != rank or min(*wanted, 1) < 0:
            raise ModelError(f"an output of shape {list(wanted)} does not fit {rank} spatial axes")
        total = [max(0, a - b) for a, b in zip(full, wanted, strict=True)]
        before = [n // 2 if mode == "SAME_UPPER" else n - n // 2 for n in total]
        after = [n - b for n, b in zip(total, before, strict=True)]
        out = list(wanted)
    else:
        before, after = ([0] * rank, [0] * rank) if mode == "VALID" else (list(given[:rank]), list(given[rank:]))
        out = [n - b - a for n, b, a in zip(full, before, after, strict=True)]
    if min(*out, 1) < 0:
        raise ModelError(f"a transposed convolution over {list(size)} with these pads leaves nothing: {out}")
    return Windows(size, kernel, strides, dilations, tuple(before), tuple(after), tuple(out))


@onnx("ConvTranspose")
def conv_transpose(
    p: P,
    x: T,
    w: T,
    bias: T | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    _check(x, w, group, bias, w.shape[1] * group if w.ndim > 1 else 0, w.shape[0])
    wanted = None if not output_shape else output_shape[-(w.ndim - 2) :]
    kernel = _kernel(w, kernel_shape)
    found = _spread(x.shape[2:], kernel, strides, dilations, pads, output_padding, text(auto_pad), wanted)
    return _transposed(p, x, p.reshape(w, (group, w.shape[0] // group, *w.shape[1:])), bias, group, found)
