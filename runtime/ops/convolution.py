"""Convolutions and transposed convolutions: computes the layout; kernels/conv/conv.h computes the sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from itertools import product
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..kernels import huge_pages, thread_pool
from ..kernels.bindings.conv import CHANNELS_PER_GROUP, CHANNELS_PER_PASS, PLANE_PADDING_ELEMENTS, winograd_transform
from ..record import record
from .axis_arguments import decode_string, read_ints, shape_error, unknown_value_error
from .elementwise import clamp_to_bounds
from .int8_convolution import int8_window_sums, int32_window_sums
from .operator_helpers import as_float32, cast, constant, working_dtype
from .primitive_types import RoutineCall
from .registry import Ints, inherit_attributes, onnx, openvino
from .window_geometry import AUTO_PADS, ConvAttributes, WindowGeometry, window_geometry

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
Shape = tuple[int, ...]
Dtype = np.dtype[Any]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
#: Bytes of input copied at a time: fit the L2 cache; for one channel the L1 cache.
_BAND_BYTES, _NARROW_BAND_BYTES = 1 << 20, 1 << 14
#: Elements of the widest and narrowest vectors, by element size.
_MAX_VECTOR_ELEMENTS, _MIN_VECTOR_ELEMENTS = {4: 16, 8: 8}, {4: 4, 8: 2}
_MAX_AXES = 3
#: With fewer channels, the transforms of winograd.h cost more than they save.
_WINOGRAD_MIN_CHANNELS = 16
#: A transposed convolution is split into one convolution per residue.
_MAX_STRIDE = 4096


@record(frozen=True)
class ConvAxisTaps:
    """One spatial axis. The plane of phase p holds the inputs ``first[p] + j * step``. Output ``start + i * out_step``
    reads j = i + shift for each tap (kernel index, phase, shift) of its residue (start, count, taps)."""

    first: Shape
    step: int
    out_step: int
    residues: tuple[tuple[int, int, tuple[Shape, ...]], ...]

    @property
    def max_tap_shift(self) -> int:
        return max((tap[2] for _, _, taps in self.residues for tap in taps), default=0)

    @property
    def count(self) -> int:
        return max(count for _, count, _ in self.residues)

    @property
    def min_count(self) -> int:
        return min(count for _, count, _ in self.residues)


def _conv_taps(kernel: int, stride: int, dilation: int, before: int, output_size: int) -> ConvAxisTaps:
    """Taps of a convolution; those a multiple of the stride apart read the same plane."""
    phases = sorted({k * dilation % stride for k in range(kernel)})
    taps = tuple((k, phases.index(k * dilation % stride), k * dilation // stride) for k in range(kernel))
    return ConvAxisTaps(tuple(phase - before for phase in phases), stride, 1, ((0, output_size, taps),))


def _transposed_conv_taps(kernel: int, stride: int, dilation: int, before: int, output_size: int) -> ConvAxisTaps:
    """Taps of a transposed one: output o reads input i where i * stride + tap * dilation = o + before."""
    residues = []
    for start in range(min(stride, output_size)):
        shifts = [(k, divmod(start + before - k * dilation, stride)) for k in range(kernel)]
        taps = [(k, shift) for k, (shift, remainder) in shifts if not remainder]
        residues.append((start, -(-(output_size - start) // stride), taps))
    min_shift = min((shift for _, _, taps in residues for _, shift in taps), default=0)
    rebased = tuple((start, n, tuple((k, 0, shift - min_shift) for k, shift in taps)) for start, n, taps in residues)
    return ConvAxisTaps((min_shift,), 1, stride, rebased)


def _pad_to_max_axes(extents: Shape, fill: int = 1) -> Shape:
    """Prepend axes up to the fixed number of conv.h."""
    return (fill,) * (_MAX_AXES - len(extents)) + extents


def _axis_taps(windows: WindowGeometry, transposed: bool) -> list[ConvAxisTaps]:
    rows = (windows.kernel, windows.strides, windows.dilations)
    axes = zip(
        *map(_pad_to_max_axes, rows),
        _pad_to_max_axes(windows.pads_before, 0),
        _pad_to_max_axes(windows.output_shape),
        strict=True,
    )
    return [(_transposed_conv_taps if transposed else _conv_taps)(*rows) for rows in axes]


@lru_cache(maxsize=1024)
def _geometry_table(
    transposed: bool, n: int, groups: int, icg: int, ocg: int, windows: WindowGeometry, itemsize: int, workers: int
) -> tuple[Array, int]:
    """The parameter table of conv.h, and its scratch size in bytes for a number of threads."""
    size, kernel, out = (
        _pad_to_max_axes(windows.size),
        _pad_to_max_axes(windows.kernel),
        _pad_to_max_axes(windows.output_shape),
    )
    taps = _axis_taps(windows, transposed)
    max_tap_shift, highest = [t.max_tap_shift for t in taps], [t.count for t in taps]
    phases = math.prod(len(t.first) for t in taps)
    # Read in place: unit stride, no padding, and full vectors fit.
    direct = all(
        t.first == (0,) and t.step == 1 and t.count + t.max_tap_shift <= extent
        for t, extent in zip(taps, size, strict=True)
    )
    lowest, lanes = [t.min_count for t in taps], _MAX_VECTOR_ELEMENTS[itemsize]
    direct = direct and (lowest[2] >= lanes or (highest[2] == size[2] and lowest[1] * lowest[2] >= lanes))
    if direct:
        band, plane = (n, highest[0], highest[1]), size
    else:
        # Larger bands for large weights, which are read once per band.
        budget = (
            _NARROW_BAND_BYTES
            if ocg == 1
            else max(_BAND_BYTES, min(4 * _BAND_BYTES, ocg * icg * math.prod(kernel) * itemsize))
        )
        row = max(1, icg) * phases * (highest[2] + max_tap_shift[2]) * itemsize

        def band_bytes(images: int, depth: int, height: int) -> int:
            return images * (depth + max_tap_shift[0]) * (height + max_tap_shift[1]) * row

        height = max(1, min(highest[1], budget // (row * (1 + max_tap_shift[0])) - max_tap_shift[1]))
        depth = 1 if height < highest[1] else max(1, min(highest[0], budget // band_bytes(1, 1, height)))
        while depth > 1 and band_bytes(1, depth, height) > budget:
            depth -= 1
        images = 1 if depth < highest[0] else max(1, min(n, budget // band_bytes(1, depth, height)))
        band = (images, depth, height)
        plane = (depth + max_tap_shift[0], height + max_tap_shift[1], highest[2] + max_tap_shift[2])
    rows = math.prod(band)
    vectors = rows * -(-highest[2] // _MIN_VECTOR_ELEMENTS[itemsize]) + 1
    weights = icg * math.prod(kernel)
    channel = phases * (band[0] * math.prod(plane) + PLANE_PADDING_ELEMENTS)
    # Depthwise: several channels at a time, within the L1 cache.
    depthwise = icg == ocg == 1
    together = max(1, min(groups, _NARROW_BAND_BYTES // (channel * itemsize))) if depthwise else 1
    packed_bytes = 0 if direct else _round_up_to_cache_lines((icg * together * channel + lanes) * itemsize)
    parts = [  # scratch sections in bytes, in the order of conv.h
        packed_bytes * (workers if depthwise else 1),
        ocg * weights * itemsize,
        weights * 8,
        vectors * 8,
        (vectors + 1) * 4,
        (vectors + 2 * rows + lanes) * 24,
        CHANNELS_PER_GROUP * lanes * itemsize * ocg * workers if weights > CHANNELS_PER_PASS else 0,
    ]
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + _round_up_to_cache_lines(part))
    table = [n, groups, icg, ocg, *size, *out, *kernel, *(t.step for t in taps), *(t.out_step for t in taps), *plane]
    table += [*highest, *band, int(direct), *offsets[:-1], together, workers, packed_bytes]
    for t in taps:
        table += [len(t.first), *t.first, len(t.residues)]
        for start, count, residue_taps in t.residues:
            table += [start, count, len(residue_taps), *(number for tap in residue_taps for number in tap)]
    return np.array(table, np.int64), offsets[-1]


def _round_up_to_cache_lines(size: int) -> int:
    """Round a size in bytes up to full cache lines."""
    return -(-size // 64) * 64


@lru_cache(maxsize=1024)
def _weight_packer(transposed: bool, groups: int, windows: WindowGeometry, dtype: Dtype) -> Callable[[Array], Array]:
    """A function that reorders weights for conv.h: by residue, group, then blocks of 8, 4 and the remaining
    channels, each ``[taps, channels]``."""
    taps = _axis_taps(windows, transposed)

    def layout(w: Array) -> Array:
        w = w.reshape(groups, -1, w.shape[1], *_pad_to_max_axes(w.shape[2:])).astype(dtype)
        w = w.swapaxes(1, 2) if transposed else w
        ocg = w.shape[1]
        out = []
        for axes in product(*(t.residues for t in taps)):
            tap_indices: Any = np.ix_(*([tap[0] for tap in chosen] for _, _, chosen in axes))
            tap_count = w.shape[2] * math.prod(len(chosen) for _, _, chosen in axes)
            chosen = w[:, :, :, *tap_indices].reshape(groups, ocg, tap_count)
            start = ocg // 8 * 8
            blocks = chosen[:, :start].reshape(groups, start // 8, 8, tap_count).swapaxes(2, 3)
            parts = [blocks.reshape(groups, start * tap_count)]
            for rows in (ocg & 4, ocg & 3):
                parts.append(chosen[:, start : start + rows].swapaxes(1, 2).reshape(groups, rows * tap_count))
                start += rows
            out.append(np.concatenate(parts, 1).reshape(-1))
        return np.concatenate(out)

    return layout


@record(frozen=True)
class WinogradTiling:
    """Tiling of a Winograd convolution (winograd.h) into rows of tiles of 2 x 2 outputs."""

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
    n: int, groups: int, icg: int, ocg: int, windows: WindowGeometry, dtype: Dtype, workers: int
) -> WinogradTiling | None:
    """The Winograd tiling, with scratch memory for all threads; None where unsupported or slower."""
    fits = (
        windows.kernel == (3, 3)
        and windows.strides == windows.dilations == (1, 1)
        and groups == 1
        and dtype == _FLOAT32
    )
    if (
        not fits
        or min(windows.pads_before + windows.pads_after) < 0
        or ocg % 8
        or min(icg, ocg) < _WINOGRAD_MIN_CHANNELS
    ):
        return None
    (height, width), lane = windows.output_shape, _MAX_VECTOR_ELEMENTS[4]
    rows, columns = -(-height // 2), -(-width // 2)
    vectors = -(-n * rows * columns // lane)
    # Cost in vector operations: products, transforms and weight loads.
    winograd_cost = vectors * (16 * icg * ocg + 220 * icg + 180 * ocg) + 16 * icg * ocg
    direct_cost = (-(-n * height * (width + 2) // lane) + 1) * 9 * icg * ocg
    if winograd_cost > direct_cost:
        return None
    lines = max(1, min(n * rows, _BAND_BYTES // (64 * icg * columns)))
    padded = -(-lines * columns // lane) * lane
    per_worker = (
        16 * (8 * padded + 16)
        + 8 * (lines * columns + columns + 32)
        + 4 * padded
        + 2 * (lines + 1) * (2 * columns + 50)
    )
    floats = 16 * (icg * (padded + 32) + 16) + workers * _round_up_to_cache_lines(per_worker * 4) // 4 + 16 * icg * ocg
    pad_top, pad_left = windows.pads_before
    return WinogradTiling(rows, columns, lines, pad_top, pad_left, floats * 4 + icg * 8 + 128)


def _winograd_weights(w: Array) -> Array:
    """Transform 3 x 3 weights for winograd.h."""
    channels, inputs = w.shape[:2]
    transformed = huge_pages.aligned_zeros((channels // 8, 16, inputs, 8), _FLOAT32)
    winograd_transform(np.ascontiguousarray(w, _FLOAT32), transformed)
    return transformed


def _accumulator_dtype(dtype: Dtype) -> Dtype:
    """The accumulator dtype: float32 for narrow floats, float64 for integers, where sums are exact."""
    accumulator = _FLOAT64 if dtype.kind in "iub" else working_dtype(dtype)
    if accumulator not in (_FLOAT32, _FLOAT64):
        raise UnsupportedError(f"convolutions of {dtype} are not supported", name="X", got=str(dtype))
    return accumulator


def _convolve(
    p: P, x: T, w: T, bias: T | None, groups: int, windows: WindowGeometry, dtype: Dtype, transposed: bool = False
) -> T:
    """Convolve ``x [n, channels, ...]`` with ``w [groups * ocg, icg, ...]``, transposed ``[groups * icg, ocg, ...]``,
    accumulating in ``dtype``."""
    if len(windows.kernel) > _MAX_AXES:
        raise UnsupportedError(
            f"convolutions have at most {_MAX_AXES} spatial axes here, not {len(windows.kernel)}",
            name="X",
            expected=f"at most {_MAX_AXES} spatial axes",
            got=str(len(windows.kernel)),
        )
    n, icg = int(x.shape[0]), int(x.shape[1]) // groups
    ocg = int(w.shape[1]) if transposed else w.shape[0] // groups
    shape = (n, groups * ocg, *windows.output_shape)
    if not math.prod(shape):
        return p.constant(np.zeros(shape, dtype))
    workers = thread_pool.pool_size()
    table, scratch = _geometry_table(transposed, n, groups, icg, ocg, windows, dtype.itemsize, workers)
    tiles = None if transposed else _winograd_tiling(n, groups, icg, ocg, windows, dtype, workers)
    data = cast(p, x, dtype)
    rest = [*([] if bias is None else [cast(p, bias, dtype)]), p.constant(table)]
    numbers: tuple[int, ...] = (int(bias is not None),)
    if tiles is not None:
        floats = None if w.dtype == dtype else p.constant_in_layout(w, as_float32)
        packed = p.constant_in_layout(w, _winograd_weights)
        inputs = [data, cast(p, w, dtype) if floats is None else floats, *rest, *([] if packed is None else [packed])]
        numbers += (0, int(packed is not None), *tiles.params)
        return p.call(RoutineCall("conv.winograd", [(shape, dtype)], numbers, max(scratch, tiles.scratch)), inputs)[0]
    blocks = p.constant_in_layout(w, _weight_packer(transposed, groups, windows, dtype))
    weights = cast(p, w, dtype) if blocks is None else blocks
    if blocks is None and transposed:
        parts = p.reshape(weights, (groups, icg, ocg, math.prod(windows.kernel)))
        weights = p.transpose(parts, (0, 2, 1, 3))
    name = "conv.f32" if dtype == _FLOAT32 else "conv.f64"
    numbers += (int(blocks is not None), int(transposed))
    return p.call(RoutineCall(name, [(shape, dtype)], numbers, scratch), [data, weights, *rest])[0]


def scale_and_shift_channels(p: P, x: T, factors: T, offsets: T) -> T:
    """``x * factors + offsets`` per channel for float32 or float64, as a 1-tap depthwise convolution."""
    n, channels = x.shape[:2]
    windows = window_geometry((math.prod(x.shape[2:]),), (1,))
    rows, weights = p.reshape(x, (n, channels, *windows.size)), p.reshape(factors, (channels, 1, 1))
    return p.reshape(_convolve(p, rows, weights, offsets, channels, windows, x.dtype), x.shape)


def _check_operands(x: T, w: T, groups: int, bias: T | None, transposed: bool = False) -> None:
    """Check that data, weights and bias match.

    Raises:
        ModelError: ranks, channels or groups do not match.
    """
    if x.ndim < 3 or w.ndim != x.ndim:
        raise ModelError(
            f"a convolution of shapes {x.shape} and {w.shape}: the ranks do not fit",
            name="W",
            expected=f"{x.ndim} axes",
            got=str(w.shape),
        )
    outputs, inputs = (w.shape[1] * groups, w.shape[0]) if transposed else (w.shape[0], w.shape[1] * groups)
    if groups < 1 or x.shape[1] != inputs or outputs % groups or inputs % groups:
        raise ModelError(
            f"a convolution of shapes {x.shape} and {w.shape} with {groups} groups: the channels differ",
            name="group",
            got=str(groups),
        )
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise shape_error("bias", bias.shape, f"does not fit {outputs} channels")


def _require_same_dtype(x: T, w: T) -> None:
    if x.dtype != w.dtype:
        raise ModelError(
            f"a convolution of {x.dtype} with weights of {w.dtype}: the types differ",
            name="W",
            expected=str(x.dtype),
            got=str(w.dtype),
        )


@onnx("Conv")
@inherit_attributes(ConvAttributes)
def conv(p: P, x: T, w: T, bias: T | None = None, **attributes: Any) -> T:
    attrs = ConvAttributes(**attributes)
    _check_operands(x, w, attrs.group, bias)
    _require_same_dtype(x, w)
    windows = attrs.windows(x, w)
    sums = None if bias is not None else int32_window_sums(p, x, w, attrs.group, windows)
    return (
        cast(p, _convolve(p, x, w, bias, attrs.group, windows, _accumulator_dtype(x.dtype)), x.dtype)
        if sums is None
        else sums
    )


# --- Transposed


def _transposed_windows(
    x: T,
    w: T,
    extra: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    attrs: ConvAttributes,
) -> WindowGeometry:
    """The window geometry of a transposed convolution from input ``size`` to output ``out``.

    ``extra``: output padding; ``output_shape``: spatial output shape, which determines the pads as ``SAME`` does: an
    odd pad goes to the end with SAME_UPPER, else to the beginning.
    """
    kernel, mode = attrs.kernel(w), decode_string(attrs.auto_pad)
    rank = len(kernel)
    size = tuple(int(n) for n in x.shape[2:])
    strides, dilations = tuple(attrs.strides or (1,) * rank), tuple(attrs.dilations or (1,) * rank)
    pads, extra = tuple(attrs.pads or (0,) * (2 * rank)), tuple(extra or (0,) * rank)
    if mode not in AUTO_PADS:
        raise unknown_value_error("auto_pad", mode, AUTO_PADS)
    if not len(size) == len(strides) == len(dilations) == len(extra) == rank == len(pads) / 2 or (
        min(*strides, *dilations, *kernel, 1) < 1 or min(*extra, 0) < 0
    ):
        raise ModelError(
            f"strides, dilations and pads do not fit a kernel of shape {list(kernel)}",
            name="strides",
            expected=f"{len(kernel)} numbers",
            got=str(list(strides)),
        )
    if max(*strides, 1) > _MAX_STRIDE:
        raise UnsupportedError(
            f"a transposed convolution with strides {list(strides)} is not supported",
            name="strides",
            got=str(list(strides)),
        )
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in zip(size, strides, kernel, dilations, extra, strict=True)
    ]
    if output_shape is None and mode.startswith("SAME"):
        output_shape = [n * s for n, s in zip(size, strides, strict=True)]
    if output_shape is not None:
        if len(output_shape) != rank or min(*output_shape, 1) < 0:
            raise ModelError(
                f"an output of shape {list(output_shape)} does not fit {rank} spatial axes",
                name="output_shape",
                expected=f"{rank} numbers",
                got=str(list(output_shape)),
            )
        total = [max(0, a - b) for a, b in zip(full, output_shape, strict=True)]
        before = [n // 2 if mode == "SAME_UPPER" else n - n // 2 for n in total]
        after = [n - b for n, b in zip(total, before, strict=True)]
        out = list(output_shape)
    else:
        before, after = ([0] * rank, [0] * rank) if mode == "VALID" else (list(pads[:rank]), list(pads[rank:]))
        out = [n - b - a for n, b, a in zip(full, before, after, strict=True)]
    if min(*out, 1) < 0:
        raise ModelError(
            f"a transposed convolution over {list(size)} with these pads leaves nothing: {out}",
            name="pads",
            got=str(out),
        )
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
    attrs = ConvAttributes(**attributes)
    _check_operands(x, w, attrs.group, bias, True)
    _require_same_dtype(x, w)
    extents = None if not output_shape else output_shape[-(w.ndim - 2) :]
    windows = _transposed_windows(x, w, output_padding, extents, attrs)
    return cast(p, _convolve(p, x, w, bias, attrs.group, windows, _accumulator_dtype(x.dtype), True), x.dtype)


# --- OpenVINO


def _openvino_pads(begin: Sequence[int], end: Sequence[int], auto_pad: str) -> tuple[list[int], str]:
    mode = auto_pad.upper()
    return [*begin, *end], "NOTSET" if mode == "EXPLICIT" else mode


def _merge_groups(p: P, w: T) -> tuple[T, int]:
    """Merge the leading group axis of weights; return the weights and the group count."""
    if w.ndim < 4:
        raise shape_error("weights", w.shape, "have no axis of groups")
    return p.reshape(w, (w.shape[0] * w.shape[1], *w.shape[2:])), w.shape[0]


def _convolve_openvino(
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
@inherit_attributes(_convolve_openvino)
def openvino_convolution(p: P, x: T, w: T, **attributes: Any) -> T:
    return _convolve_openvino(p, x, w, 1, **attributes)


@openvino("GroupConvolution")
@inherit_attributes(_convolve_openvino)
def openvino_group_convolution(p: P, x: T, w: T, **attributes: Any) -> T:
    return _convolve_openvino(p, x, *_merge_groups(p, w), **attributes)


def _convolve_openvino_transposed(
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
    """Only SAME derives pads from an output shape; an odd pad goes to the opposite side from ONNX."""
    rank, extra = len(strides), output_padding
    begin, end = (axis_pads or (0,) * rank for axis_pads in (pads_begin, pads_end))
    pads, mode = _openvino_pads(begin, end, auto_pad)
    if mode != "NOTSET":
        pads = [0] * (2 * rank)
    output_shape = None if shape is None else read_ints(p, shape)
    if output_shape is None:
        mode = "NOTSET"
    elif mode.startswith("SAME"):
        mode = "SAME_LOWER" if mode == "SAME_UPPER" else "SAME_UPPER"
    else:
        full = _transposed_windows(x, w, extra, None, ConvAttributes(strides=strides, dilations=dilations)).output_shape
        pads, mode = [*pads[:rank], *(f - b - n for f, b, n in zip(full, pads, output_shape, strict=False))], "NOTSET"
        output_shape = None
    return conv_transpose(
        p,
        x,
        w,
        auto_pad=mode,
        dilations=dilations,
        group=groups,
        output_padding=extra,
        output_shape=output_shape,
        pads=pads,
        strides=strides,
    )


@openvino("ConvolutionBackpropData")
@inherit_attributes(_convolve_openvino_transposed)
def openvino_backprop(p: P, x: T, w: T, output_shape: T | None = None, **attributes: Any) -> T:
    return _convolve_openvino_transposed(p, x, w, 1, output_shape, **attributes)


@openvino("GroupConvolutionBackpropData")
@inherit_attributes(_convolve_openvino_transposed)
def openvino_group_backprop(p: P, x: T, w: T, output_shape: T | None = None, **attributes: Any) -> T:
    return _convolve_openvino_transposed(p, x, *_merge_groups(p, w), output_shape, **attributes)


# --- Quantized


def _subtract_zero_point(p: P, x: T, zero: T | None, axis: int) -> T:
    """Subtract per-tensor or per-axis zero points from int8 data; float32 is exact."""
    if zero is None:
        return x
    if zero.size not in (1, x.shape[axis]):
        raise shape_error("zero points", zero.shape, f"do not fit axis {axis} of {x.shape}")
    zeros = p.reshape(cast(p, zero, _FLOAT32), (zero.size, *(1,) * (x.ndim - axis - 1)))
    return p.map(np.subtract, cast(p, x, _FLOAT32), zeros)


def _exact_integer_sums(
    p: P, x: T, w: T, x_zero: T | None, w_zero: T | None, groups: int, windows: WindowGeometry
) -> T:
    """Exact int32 sums of products: float32 over channel blocks small enough to be exact, or float64."""
    exact = int8_window_sums(p, x, w, x_zero, w_zero, groups, windows)
    if exact is not None:
        return exact
    x, w = _subtract_zero_point(p, x, x_zero, 1), _subtract_zero_point(p, w, w_zero, 0)
    channels = w.shape[1]
    max_channels = 2**24 // (255 * 255 * max(1, math.prod(windows.kernel)))
    if channels > max_channels and (groups > 1 or not max_channels):
        return cast(p, _convolve(p, x, w, None, groups, windows, _FLOAT64), _INT32)
    if channels <= max_channels:
        return cast(p, _convolve(p, x, w, None, groups, windows, _FLOAT32), _INT32)

    def part(tensor: T, first: int, count: int) -> T:
        extents = (tensor.shape[0], count, *tensor.shape[2:])
        return p.slice(tensor, (0, first, *(0,) * (x.ndim - 2)), (1,) * x.ndim, extents)

    sums = []
    for first in range(0, channels, max_channels):
        count = min(max_channels, channels - first)
        partial = _convolve(p, part(x, first, count), part(w, first, count), None, groups, windows, _FLOAT32)
        sums.append(cast(p, partial, _INT32))
    return reduce(lambda a, b: p.map(np.add, a, b), sums)


@onnx("ConvInteger", since=10)
@inherit_attributes(ConvAttributes)
def conv_integer(p: P, x: T, w: T, x_zero: T | None = None, w_zero: T | None = None, **attributes: Any) -> T:
    """Padding has the value of the zero point."""
    attrs = ConvAttributes(**attributes)
    _check_operands(x, w, attrs.group, None)
    return _exact_integer_sums(p, x, w, x_zero, w_zero, attrs.group, attrs.windows(x, w))


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
    """``bias`` is int32 with the scale of the products."""
    attrs = ConvAttributes(**attributes)
    _check_operands(x, w, attrs.group, bias)
    sums = _exact_integer_sums(p, x, w, x_zero, w_zero, attrs.group, attrs.windows(x, w))

    def reshape_per_channel(values: T, dtype: Dtype) -> T:
        if values.size not in (1, w.shape[0]):
            raise shape_error("values", values.shape, f"do not fit {w.shape[0]} channels")
        return p.reshape(cast(p, values, dtype), (values.size, *(1,) * (x.ndim - 2)))

    if bias is not None:
        sums = p.map(np.add, sums, reshape_per_channel(bias, _INT32))
    scales = [reshape_per_channel(scale, _FLOAT32) for scale in (x_scale, w_scale, y_scale)]
    scale = p.map(np.divide, p.map(np.multiply, scales[0], scales[1]), scales[2])
    rounded = p.map(np.rint, p.map(np.multiply, cast(p, sums, _FLOAT32), scale))
    limits = np.iinfo(y_zero.dtype)
    y = p.map(np.add, rounded, reshape_per_channel(y_zero, _FLOAT32))
    return cast(p, clamp_to_bounds(p, y, *(constant(p, n, _FLOAT32) for n in (limits.min, limits.max))), y_zero.dtype)


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
