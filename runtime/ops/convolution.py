"""Convolutions and transposed ones: where what lies is computed here, the sums are those of kernels/conv/conv.h."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels import huge_pages, thread_pool
from ..kernels.bindings.conv import CHANNELS_PER_GROUP, CHANNELS_PER_PASS, PLANE_PADDING_ELEMENTS, winograd_transform
from .axis_arguments import decode_string, read_ints, unknown_value_error
from .int8_convolution import int8_window_sums, int32_window_sums
from .operator_helpers import as_float32, cast, constant, working_dtype
from .primitives import RoutineCall
from .registry import Ints, inherit_attributes, onnx, openvino
from .where_clip import clamp_to_bounds
from .window_geometry import AUTO_PADS, ConvAttributes, WindowGeometry, window_geometry

P = Any  # Primitives[T]; T is an array or a buffer description
T = Any
Shape = tuple[int, ...]
Dtype = np.dtype[Any]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
#: As many bytes of the input are copied at a time: they stay in a second-level cache, of one channel in a first.
_BAND_BYTES, _NARROW_BAND_BYTES = 1 << 20, 1 << 14
#: Elements of the widest vectors, and of the narrowest ones.
_MAX_VECTOR_ELEMENTS, _MIN_VECTOR_ELEMENTS = {4: 16, 8: 8}, {4: 4, 8: 2}
_MAX_AXES = 3
#: With fewer channels the transforms of winograd.h take longer than what they save.
_WINOGRAD_MIN_CHANNELS = 16
#: A transposed convolution is one of its own for each residue.
_MAX_STRIDE = 4096


@dataclass(frozen=True)
class ConvAxisTaps:
    """One spatial axis. A plane of phase p holds the inputs ``first[p] + j * step``. Output ``start + i * out_step``
    reads of it j = i + shift for each tap (index in the kernel, phase, shift) of its residue (start, count, taps)."""

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


def _conv_taps(kernel: int, stride: int, dilation: int, before: int, out: int) -> ConvAxisTaps:
    """A convolution: taps that are a whole number of strides apart read the same plane."""
    phases = sorted({k * dilation % stride for k in range(kernel)})
    taps = tuple((k, phases.index(k * dilation % stride), k * dilation // stride) for k in range(kernel))
    return ConvAxisTaps(tuple(phase - before for phase in phases), stride, 1, ((0, out, taps),))


def _transposed_conv_taps(kernel: int, stride: int, dilation: int, before: int, out: int) -> ConvAxisTaps:
    """A transposed one: output o reads input i by the tap for which i * stride + tap * dilation = o + before."""
    residues = []
    for start in range(min(stride, out)):
        met = [(k, divmod(start + before - k * dilation, stride)) for k in range(kernel)]
        taps = [(k, shift) for k, (shift, rest) in met if not rest]
        residues.append((start, -(-(out - start) // stride), taps))
    least = min((shift for _, _, taps in residues for _, shift in taps), default=0)
    moved = tuple((start, n, tuple((k, 0, shift - least) for k, shift in taps)) for start, n, taps in residues)
    return ConvAxisTaps((least,), 1, stride, moved)


def _pad_axes(numbers: Shape, fill: int = 1) -> Shape:
    """As many spatial axes as conv.h has."""
    return (fill,) * (_MAX_AXES - len(numbers)) + numbers


def _axis_taps(found: WindowGeometry, transposed: bool) -> list[ConvAxisTaps]:
    numbers = (found.kernel, found.strides, found.dilations)
    of_axes = zip(*map(_pad_axes, numbers), _pad_axes(found.pads_before, 0), _pad_axes(found.output_shape), strict=True)
    return [(_transposed_conv_taps if transposed else _conv_taps)(*numbers) for numbers in of_axes]


@lru_cache(maxsize=1024)
def _geometry_table(
    transposed: bool, n: int, groups: int, icg: int, ocg: int, found: WindowGeometry, itemsize: int, workers: int
) -> tuple[Array, int]:
    """What conv.h reads, and how many bytes it needs where so many threads share it."""
    size, kernel, out = _pad_axes(found.size), _pad_axes(found.kernel), _pad_axes(found.output_shape)
    taps = _axis_taps(found, transposed)
    reach, most = [t.reach for t in taps], [t.count for t in taps]
    phases = math.prod(len(t.first) for t in taps)
    # Read where it is: neighbours are neighbours, nothing lies outside, and whole vectors fit in.
    direct = all(
        t.first == (0,) and t.step == 1 and t.count + t.reach <= extent for t, extent in zip(taps, size, strict=True)
    )
    least, widest = [t.least for t in taps], _MAX_VECTOR_ELEMENTS[itemsize]
    direct = direct and (least[2] >= widest or (most[2] == size[2] and least[1] * least[2] >= widest))
    if direct:
        band, plane = (n, most[0], most[1]), size
    else:
        # Large weights are read once a band, and that takes longer.
        budget = (
            _NARROW_BAND_BYTES
            if ocg == 1
            else max(_BAND_BYTES, min(4 * _BAND_BYTES, ocg * icg * math.prod(kernel) * itemsize))
        )
        row = max(1, icg) * phases * (most[2] + reach[2]) * itemsize

        def band_bytes(images: int, depth: int, height: int) -> int:
            return images * (depth + reach[0]) * (height + reach[1]) * row

        height = max(1, min(most[1], budget // (row * (1 + reach[0])) - reach[1]))
        depth = 1 if height < most[1] else max(1, min(most[0], budget // band_bytes(1, 1, height)))
        while depth > 1 and band_bytes(1, depth, height) > budget:
            depth -= 1
        images = 1 if depth < most[0] else max(1, min(n, budget // band_bytes(1, depth, height)))
        band = (images, depth, height)
        plane = (depth + reach[0], height + reach[1], most[2] + reach[2])
    rows = math.prod(band)
    vectors = rows * -(-most[2] // _MIN_VECTOR_ELEMENTS[itemsize]) + 1
    weights = icg * math.prod(kernel)
    channel = phases * (band[0] * math.prod(plane) + PLANE_PADDING_ELEMENTS)
    # Channels by themselves: several at a time, which a first-level cache holds.
    by_themselves = icg == ocg == 1
    together = max(1, min(groups, _NARROW_BAND_BYTES // (channel * itemsize))) if by_themselves else 1
    packed = 0 if direct else _round_up_to_cache_lines((icg * together * channel + widest) * itemsize)
    parts = [  # bytes, in the order of conv.h
        packed * (workers if by_themselves else 1),
        ocg * weights * itemsize,
        weights * 8,
        vectors * 8,
        (vectors + 1) * 4,
        (vectors + 2 * rows + widest) * 24,
        CHANNELS_PER_GROUP * widest * itemsize * ocg * workers if weights > CHANNELS_PER_PASS else 0,
    ]
    places = [0]
    for part in parts:
        places.append(places[-1] + _round_up_to_cache_lines(part))
    head = [n, groups, icg, ocg, *size, *out, *kernel, *(t.step for t in taps), *(t.out_step for t in taps), *plane]
    head += [*most, *band, int(direct), *places[:-1], together, workers, packed]
    for t in taps:
        head += [len(t.first), *t.first, len(t.residues)]
        for start, count, met in t.residues:
            head += [start, count, len(met), *(number for tap in met for number in tap)]
    return np.array(head, np.int64), places[-1]


def _round_up_to_cache_lines(size: int) -> int:
    """Whole cache lines, in bytes."""
    return -(-size // 64) * 64


@lru_cache(maxsize=1024)
def _weight_packer(transposed: bool, groups: int, found: WindowGeometry, dtype: Dtype) -> Callable[[Array], Array]:
    """What puts weights into the order in which conv.h reads them: by residue, by group, then in blocks of 8
    channels, of 4, and what is left, ``[taps, channels]``."""
    taps = _axis_taps(found, transposed)

    def layout(w: Array) -> Array:
        w = w.reshape(groups, -1, w.shape[1], *_pad_axes(w.shape[2:])).astype(dtype)
        w = w.swapaxes(1, 2) if transposed else w
        ocg = w.shape[1]
        out = []
        for axes in product(*(t.residues for t in taps)):
            places: Any = np.ix_(*([tap[0] for tap in met] for _, _, met in axes))
            taps_met = w.shape[2] * math.prod(len(met) for _, _, met in axes)
            met = w[:, :, :, *places].reshape(groups, ocg, taps_met)
            whole = ocg // 8 * 8
            eights = met[:, :whole].reshape(groups, whole // 8, 8, taps_met).swapaxes(2, 3)
            parts = [eights.reshape(groups, whole * taps_met)]
            for rows in (ocg & 4, ocg & 3):
                parts.append(met[:, whole : whole + rows].swapaxes(1, 2).reshape(groups, rows * taps_met))
                whole += rows
            out.append(np.concatenate(parts, 1).reshape(-1))
        return np.concatenate(out)

    return layout


@dataclass(frozen=True)
class WinogradTiling:
    """A convolution by winograd.h: lines of tiles of 2 x 2 outputs, so many lines at a time."""

    tile_rows: int
    tile_columns: int
    rows_per_pass: int
    pad_top: int
    pad_left: int
    scratch: int

    @property
    def params(self) -> tuple[int, ...]:
        return self.tile_rows, self.tile_columns, self.rows_per_pass, self.pad_top, self.pad_left


@lru_cache(maxsize=1024)
def _winograd_tiling(
    n: int, groups: int, icg: int, ocg: int, found: WindowGeometry, dtype: Dtype, workers: int
) -> WinogradTiling | None:
    """How winograd.h does a convolution with memory for so many threads; None where it cannot, or takes longer."""
    plain = found.kernel == (3, 3) and found.strides == found.dilations == (1, 1) and groups == 1 and dtype == _FLOAT32
    if not plain or min(found.pads_before + found.pads_after) < 0 or ocg % 8 or min(icg, ocg) < _WINOGRAD_MIN_CHANNELS:
        return None
    (height, width), lane = found.output_shape, _MAX_VECTOR_ELEMENTS[4]
    high, wide = -(-height // 2), -(-width // 2)
    vectors = -(-n * high * wide // lane)
    # In vector operations: the products, what makes and reads the transforms, and the weights that are fetched.
    transformed = vectors * (16 * icg * ocg + 220 * icg + 180 * ocg) + 16 * icg * ocg
    plainly = (-(-n * height * (width + 2) // lane) + 1) * 9 * icg * ocg
    if transformed > plainly:
        return None
    lines = max(1, min(n * high, _BAND_BYTES // (64 * icg * wide)))
    widest = -(-lines * wide // lane) * lane
    of_each = 16 * (8 * widest + 16) + 8 * (lines * wide + wide + 32) + 4 * widest + 2 * (lines + 1) * (2 * wide + 50)
    floats = 16 * (icg * (widest + 32) + 16) + workers * _round_up_to_cache_lines(of_each * 4) // 4 + 16 * icg * ocg
    above, left = found.pads_before
    return WinogradTiling(high, wide, lines, above, left, floats * 4 + icg * 8 + 128)


def _winograd_weights(w: Array) -> Array:
    """3 x 3 taps as winograd.h wants them."""
    channels, inputs = w.shape[:2]
    ready = huge_pages.aligned_zeros((channels // 8, 16, inputs, 8), _FLOAT32)
    winograd_transform(np.ascontiguousarray(w, _FLOAT32), ready)
    return ready


def _accumulator_dtype(dtype: Dtype) -> Dtype:
    """In which type sums are done: narrow floats in float32, integers in float64, where they are exact."""
    wide = _FLOAT64 if dtype.kind in "iub" else working_dtype(dtype)
    if wide not in (_FLOAT32, _FLOAT64):
        raise UnsupportedError(f"convolutions of {dtype} are not supported")
    return wide


def _convolve(
    p: P, x: T, w: T, bias: T | None, groups: int, found: WindowGeometry, dtype: Dtype, transposed: bool = False
) -> T:
    """Sums in ``dtype`` over windows of ``x [n, channels, ...]`` by ``w [groups * ocg, icg, ...]``, or by
    ``w [groups * icg, ocg, ...]`` for a transposed one."""
    if len(found.kernel) > _MAX_AXES:
        raise UnsupportedError(f"convolutions have at most {_MAX_AXES} spatial axes here, not {len(found.kernel)}")
    n, icg = int(x.shape[0]), int(x.shape[1]) // groups
    ocg = int(w.shape[1]) if transposed else w.shape[0] // groups
    shape = (n, groups * ocg, *found.output_shape)
    if not math.prod(shape):
        return p.constant(np.zeros(shape, dtype))
    workers = thread_pool.pool_size()
    table, scratch = _geometry_table(transposed, n, groups, icg, ocg, found, dtype.itemsize, workers)
    tiles = None if transposed else _winograd_tiling(n, groups, icg, ocg, found, dtype, workers)
    first = cast(p, x, dtype)
    behind = [*([] if bias is None else [cast(p, bias, dtype)]), p.constant(table)]
    numbers: tuple[int, ...] = (int(bias is not None),)
    if tiles is not None:
        narrow = None if w.dtype == dtype else p.prepared(w, as_float32)
        ready = p.prepared(w, _winograd_weights)
        inputs = [first, cast(p, w, dtype) if narrow is None else narrow, *behind, *([] if ready is None else [ready])]
        numbers += (0, int(ready is not None), *tiles.params)
        return p.call(RoutineCall("conv.winograd", [(shape, dtype)], numbers, max(scratch, tiles.scratch)), inputs)[0]
    blocks = p.prepared(w, _weight_packer(transposed, groups, found, dtype))
    weights = cast(p, w, dtype) if blocks is None else blocks
    if blocks is None and transposed:
        parts = p.reshape(weights, (groups, icg, ocg, math.prod(found.kernel)))
        weights = p.transpose(parts, (0, 2, 1, 3))
    name = "conv.f32" if dtype == _FLOAT32 else "conv.f64"
    numbers += (int(blocks is not None), int(transposed))
    return p.call(RoutineCall(name, [(shape, dtype)], numbers, scratch), [first, weights, *behind])[0]


def scale_and_shift_channels(p: P, x: T, factors: T, offsets: T) -> T:
    """``x * factors + offsets``, floats of 4 or 8 bytes with one of each a channel, in one go."""
    n, channels = x.shape[:2]
    found = window_geometry((math.prod(x.shape[2:]),), (1,))
    rows, weights = p.reshape(x, (n, channels, *found.size)), p.reshape(factors, (channels, 1, 1))
    return p.reshape(_convolve(p, rows, weights, offsets, channels, found, x.dtype), x.shape)


def _check(x: T, w: T, groups: int, bias: T | None, transposed: bool = False) -> None:
    """Hold data, weights and bias to each other.

    Raises:
        ModelError: ranks, channels or groups do not fit.
    """
    if x.ndim < 3 or w.ndim != x.ndim:
        raise ModelError(f"a convolution of shapes {x.shape} and {w.shape}: the ranks do not fit")
    outputs, inputs = (w.shape[1] * groups, w.shape[0]) if transposed else (w.shape[0], w.shape[1] * groups)
    if groups < 1 or x.shape[1] != inputs or outputs % groups or inputs % groups:
        raise ModelError(f"a convolution of shapes {x.shape} and {w.shape} with {groups} groups: the channels differ")
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise ModelError(f"a bias of shape {bias.shape} does not fit {outputs} channels")


def _require_same_dtype(x: T, w: T) -> None:
    if x.dtype != w.dtype:
        raise ModelError(f"a convolution of {x.dtype} with weights of {w.dtype}: the types differ")


@onnx("Conv")
@inherit_attributes(ConvAttributes)
def conv(p: P, x: T, w: T, bias: T | None = None, **attributes: Any) -> T:
    how = ConvAttributes(**attributes)
    _check(x, w, how.group, bias)
    _require_same_dtype(x, w)
    found = how.windows(x, w)
    sums = None if bias is not None else int32_window_sums(p, x, w, how.group, found)
    return (
        cast(p, _convolve(p, x, w, bias, how.group, found, _accumulator_dtype(x.dtype)), x.dtype)
        if sums is None
        else sums
    )


# --- Transposed


def _transposed_windows(
    x: T,
    w: T,
    extra: Sequence[int] | None,
    wanted: Sequence[int] | None,
    how: ConvAttributes,
) -> WindowGeometry:
    """The windows of a transposed convolution: ``out`` is what they are read from, ``size`` what is spread.

    ``extra``: output padding; ``wanted``: the output's spatial shape, from which the pads follow then, as they do with
    ``SAME``: what does not go by two lies behind with SAME_UPPER, before otherwise.
    """
    kernel, mode = how.kernel(w), decode_string(how.auto_pad)
    rank = len(kernel)
    size = tuple(int(n) for n in x.shape[2:])
    strides, dilations = tuple(how.strides or (1,) * rank), tuple(how.dilations or (1,) * rank)
    given, extra = tuple(how.pads or (0,) * (2 * rank)), tuple(extra or (0,) * rank)
    if mode not in AUTO_PADS:
        raise unknown_value_error("auto_pad", mode, AUTO_PADS)
    if not len(size) == len(strides) == len(dilations) == len(extra) == rank == len(given) / 2 or (
        min(*strides, *dilations, *kernel, 1) < 1 or min(*extra, 0) < 0
    ):
        raise ModelError(f"strides, dilations and pads do not fit a kernel of shape {list(kernel)}")
    if max(*strides, 1) > _MAX_STRIDE:
        raise UnsupportedError(f"a transposed convolution with strides {list(strides)} is not supported")
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in zip(size, strides, kernel, dilations, extra, strict=True)
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
    return WindowGeometry(size, kernel, strides, dilations, tuple(before), tuple(after), tuple(out))


@onnx("ConvTranspose")
@inherit_attributes(ConvAttributes)
def conv_transpose(
    p: P,
    x: T,
    w: T,
    bias: T | None = None,
    *,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    **attributes: Any,
) -> T:
    how = ConvAttributes(**attributes)
    _check(x, w, how.group, bias, True)
    _require_same_dtype(x, w)
    wanted = None if not output_shape else output_shape[-(w.ndim - 2) :]
    found = _transposed_windows(x, w, output_padding, wanted, how)
    return cast(p, _convolve(p, x, w, bias, how.group, found, _accumulator_dtype(x.dtype), True), x.dtype)


# --- OpenVINO's


def _openvino_pads(begin: Sequence[int], end: Sequence[int], auto_pad: str) -> tuple[list[int], str]:
    mode = auto_pad.upper()
    return [*begin, *end], "NOTSET" if mode == "EXPLICIT" else mode


def _merge_groups(p: P, w: T) -> tuple[T, int]:
    """Weights with an axis of groups in front without it, and how many groups there are."""
    if w.ndim < 4:
        raise ModelError(f"weights of shape {w.shape} have no axis of groups")
    return p.reshape(w, (w.shape[0] * w.shape[1], *w.shape[2:])), w.shape[0]


def _convolution(
    p: P,
    x: T,
    w: T,
    groups: int,
    *,
    strides: Ints,
    pads_begin: Ints,
    pads_end: Ints,
    dilations: Ints,
    auto_pad: str = "explicit",
) -> T:
    pads, mode = _openvino_pads(pads_begin, pads_end, auto_pad)
    return conv(p, x, w, auto_pad=mode, dilations=dilations, group=groups, pads=pads, strides=strides)


@openvino("Convolution")
@inherit_attributes(_convolution)
def openvino_convolution(p: P, x: T, w: T, **attributes: Any) -> T:
    return _convolution(p, x, w, 1, **attributes)


@openvino("GroupConvolution")
@inherit_attributes(_convolution)
def openvino_group_convolution(p: P, x: T, w: T, **attributes: Any) -> T:
    return _convolution(p, x, *_merge_groups(p, w), **attributes)


def _openvino_transposed(
    p: P,
    x: T,
    w: T,
    groups: int,
    shape: T | None,
    *,
    strides: Ints,
    dilations: Ints,
    pads_begin: Ints | None = None,
    pads_end: Ints | None = None,
    auto_pad: str = "explicit",
    output_padding: Ints | None = None,
) -> T:
    """Only SAME makes pads from an output shape, and what does not go by two lies on the other side than in ONNX."""
    rank, extra = len(strides), output_padding
    begin, end = (given or (0,) * rank for given in (pads_begin, pads_end))
    pads, mode = _openvino_pads(begin, end, auto_pad)
    if mode != "NOTSET":
        pads = [0] * (2 * rank)
    wanted = None if shape is None else read_ints(p, shape)
    if wanted is None:
        mode = "NOTSET"
    elif mode.startswith("SAME"):
        mode = "SAME_LOWER" if mode == "SAME_UPPER" else "SAME_UPPER"
    else:
        full = _transposed_windows(x, w, extra, None, ConvAttributes(strides=strides, dilations=dilations)).output_shape
        pads, mode = [*pads[:rank], *(f - b - n for f, b, n in zip(full, pads, wanted, strict=False))], "NOTSET"
        wanted = None
    return conv_transpose(
        p,
        x,
        w,
        auto_pad=mode,
        dilations=dilations,
        group=groups,
        output_padding=extra,
        output_shape=wanted,
        pads=pads,
        strides=strides,
    )


@openvino("ConvolutionBackpropData")
@inherit_attributes(_openvino_transposed)
def openvino_backprop(p: P, x: T, w: T, output_shape: T | None = None, **attributes: Any) -> T:
    return _openvino_transposed(p, x, w, 1, output_shape, **attributes)


@openvino("GroupConvolutionBackpropData")
@inherit_attributes(_openvino_transposed)
def openvino_group_backprop(p: P, x: T, w: T, output_shape: T | None = None, **attributes: Any) -> T:
    return _openvino_transposed(p, x, *_merge_groups(p, w), output_shape, **attributes)


# --- Quantized


def _subtract_zero_point(p: P, x: T, zero: T | None, axis: int) -> T:
    """Integers of 8 bits less their zero points: one for all, or one for each along the axis. float32 holds them."""
    if zero is None:
        return x
    if zero.size not in (1, x.shape[axis]):
        raise ModelError(f"zero points of shape {zero.shape} do not fit axis {axis} of {x.shape}")
    zeros = p.reshape(cast(p, zero, _FLOAT32), (zero.size, *(1,) * (x.ndim - axis - 1)))
    return p.map(np.subtract, cast(p, x, _FLOAT32), zeros)


def _exact_integer_sums(p: P, x: T, w: T, x_zero: T | None, w_zero: T | None, groups: int, found: WindowGeometry) -> T:
    """Exact sums of products as int32: of as many channels at a time as float32 holds exactly, or in float64."""
    exact = int8_window_sums(p, x, w, x_zero, w_zero, groups, found)
    if exact is not None:
        return exact
    x, w = _subtract_zero_point(p, x, x_zero, 1), _subtract_zero_point(p, w, w_zero, 0)
    channels = w.shape[1]
    most = 2**24 // (255 * 255 * max(1, math.prod(found.kernel)))
    if channels > most and (groups > 1 or not most):
        return cast(p, _convolve(p, x, w, None, groups, found, _FLOAT64), _INT32)
    if channels <= most:
        return cast(p, _convolve(p, x, w, None, groups, found, _FLOAT32), _INT32)

    def part(tensor: T, first: int, count: int) -> T:
        extents = (tensor.shape[0], count, *tensor.shape[2:])
        return p.slice(tensor, (0, first, *(0,) * (x.ndim - 2)), (1,) * x.ndim, extents)

    sums = []
    for first in range(0, channels, most):
        count = min(most, channels - first)
        some = _convolve(p, part(x, first, count), part(w, first, count), None, groups, found, _FLOAT32)
        sums.append(cast(p, some, _INT32))
    return reduce(lambda a, b: p.map(np.add, a, b), sums)


@onnx("ConvInteger", since=10)
@inherit_attributes(ConvAttributes)
def conv_integer(p: P, x: T, w: T, x_zero: T | None = None, w_zero: T | None = None, **attributes: Any) -> T:
    """Pads are zero points."""
    how = ConvAttributes(**attributes)
    _check(x, w, how.group, None)
    return _exact_integer_sums(p, x, w, x_zero, w_zero, how.group, how.windows(x, w))


@onnx("QLinearConv", since=10)
@inherit_attributes(ConvAttributes)
def qlinear_conv(
    p: P,
    x: T,
    x_scale: T,
    x_zero: T,
    w: T,
    w_scale: T,
    w_zero: T,
    y_scale: T,
    y_zero: T,
    bias: T | None = None,
    **attributes: Any,
) -> T:
    """``bias`` is int32, its scale that of the products."""
    how = ConvAttributes(**attributes)
    _check(x, w, how.group, bias)
    sums = _exact_integer_sums(p, x, w, x_zero, w_zero, how.group, how.windows(x, w))

    def spread(values: T, dtype: Dtype) -> T:
        if values.size not in (1, w.shape[0]):
            raise ModelError(f"values of shape {values.shape} do not fit {w.shape[0]} channels")
        return p.reshape(cast(p, values, dtype), (values.size, *(1,) * (x.ndim - 2)))

    if bias is not None:
        sums = p.map(np.add, sums, spread(bias, _INT32))
    scales = [spread(scale, _FLOAT32) for scale in (x_scale, w_scale, y_scale)]
    scale = p.map(np.divide, p.map(np.multiply, scales[0], scales[1]), scales[2])
    rounded = p.map(np.rint, p.map(np.multiply, cast(p, sums, _FLOAT32), scale))
    limits = np.iinfo(y_zero.dtype)
    y = p.map(np.add, rounded, spread(y_zero, _FLOAT32))
    return cast(p, clamp_to_bounds(p, y, *(constant(p, n, _FLOAT32) for n in (limits.min, limits.max))), y_zero.dtype)
