"""Convolutions next to onnxruntime, OpenVINO's CPU plugin and their definition in NumPy, attributes at random."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import loopdbg
from cpu_features import limit_to
from error_fields import raises_error
from loopdbg.runtime.graph import Graph, Operation, System, TensorType, Value
from loopdbg.runtime.kernels import kernel as kernels
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops import convolution
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import RoutineCall
from loopdbg.runtime.ops.window_geometry import window_geometry

from .single_node import assert_close, onnx_node, openvino_node, run_here

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng


def numbers(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    return rng.standard_normal(shape).astype(dtype)


def run_operator(op_type: str, *inputs: Array, **attributes: Any) -> Array:
    (result,) = run_here(System.ONNX, op_type, inputs, version=22, attributes=attributes)
    assert isinstance(result, np.ndarray)
    return result


def reference_convolution(
    x: Array,
    w: Array,
    groups: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    transposed: bool,
    extra: Sequence[int],
) -> Array:
    """One tap after the other, in float64."""
    rank = x.ndim - 2
    n, channels, size, kernel = x.shape[0], x.shape[1], x.shape[2:], w.shape[2:]
    x = x.astype(np.float64).reshape(n, groups, channels // groups, *size)
    w = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if transposed:
        full = [(e - 1) * s + p + o for e, s, p, o in zip(size, strides, span, extra, strict=True)]
        out = np.zeros((n, groups, w.shape[2], *full))
        for tap in product(*map(range, kernel)):
            results = [
                slice(t * d, t * d + (e - 1) * s + 1, s)
                for t, d, e, s in zip(tap, dilations, size, strides, strict=True)
            ]
            out[(..., *results)] += np.einsum("ngc...,gco->ngo...", x, w[(..., *tap)])
        ends = [f - pads[rank + k] for k, f in enumerate(full)]
        out = out[(..., *(slice(pads[k], ends[k]) for k in range(rank)))]
    else:
        x = np.pad(x, [(0, 0)] * 3 + [(pads[k], pads[rank + k]) for k in range(rank)])
        count = [(e - p) // s + 1 for e, p, s in zip(x.shape[3:], span, strides, strict=True)]
        out = np.zeros((n, groups, w.shape[1], *count))
        for tap in product(*map(range, kernel)):
            results = [
                slice(t * d, t * d + (c - 1) * s + 1, s)
                for t, d, c, s in zip(tap, dilations, count, strides, strict=True)
            ]
            out += np.einsum("ngc...,goc->ngo...", x[(..., *results)], w[(..., *tap)])
    return out.reshape(n, -1, *out.shape[3:])


def random_case(seed: int) -> tuple[bool, Array, Array, Array | None, dict[str, Any], list[int]]:
    """Random data, weights, bias and attributes that fit each other."""
    rng = RNG(seed)

    def pick(choices: Sequence[int], count: int) -> list[int]:
        return [int(rng.choice(choices)) for _ in range(count)]

    transposed = bool(rng.random() < 0.4)
    rank = int(rng.choice([1, 2, 2, 3]))
    (groups, icg, ocg, n) = (
        int(rng.choice(c)) for c in ([1, 1, 2, 3], [1, 2, 3, 9], [1, 2, 5, 7, 8, 17], [1, 1, 2, 5])
    )
    if rng.random() < 0.3:
        groups, icg, ocg = 9, 1, 1
    kernel, strides, dilations = pick([1, 2, 3, 3, 5], rank), pick([1, 1, 2, 3], rank), pick([1, 1, 1, 2], rank)
    pads = [0] * (2 * rank) if rng.random() < 0.4 else pick([0, 1, 1, 2], 2 * rank)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    size = [int(rng.integers(s, s + [0, 150, 34, 10][rank])) for s in span]
    extra = [int(rng.integers(0, s)) if transposed else 0 for s in strides]
    if transposed:  # something is left
        pads = [min(p, s - 1) // 2 for p, s in zip(pads, span * 2, strict=True)]
    dtype = np.float64 if rng.random() < 0.2 else np.float32
    x = numbers(rng, n, groups * icg, *size, dtype=dtype)
    w = numbers(rng, *((groups * icg, ocg) if transposed else (groups * ocg, icg)), *kernel, dtype=dtype)
    bias = numbers(rng, groups * ocg, dtype=dtype) if rng.random() < 0.5 else None
    attributes = {"group": groups, "strides": strides, "dilations": dilations, "pads": pads}
    return transposed, x, w, bias, attributes, extra


def tolerance(dtype: Any) -> float:
    return 1e-4 if np.dtype(dtype).itemsize == 4 else 1e-12


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("seed", range(30))
def test_sums_of_all_kinds_of_processors(seed: int, kind: int) -> None:
    transposed, x, w, bias, attributes, extra = random_case(seed * 3 + kind)
    with limit_to(kind):
        inputs = [x, w] if bias is None else [x, w, bias]
        more = {"output_padding": extra} if transposed else {}
        y = run_operator("ConvTranspose" if transposed else "Conv", *inputs, **attributes, **more)
    expected = reference_convolution(x, w, *attributes.values(), transposed, extra)  # type: ignore[misc]
    expected += 0 if bias is None else bias.reshape(-1, *(1,) * (x.ndim - 2))
    assert y.dtype == x.dtype and y.shape == expected.shape
    np.testing.assert_allclose(y, expected, tolerance(x.dtype), tolerance(x.dtype) * float(abs(expected).max()))


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_vectors_put_together_of_parts_of_rows(seed: int, kind: int) -> None:
    """Many channels read what is copied for them; few read it where it lies: the same sums."""
    rng = RNG(7000 + seed)
    size = [int(rng.integers(5, 12)), int(rng.integers(5, 24))]
    if seed % 3 == 0:
        size.insert(0, int(rng.integers(3, 5)))
    n, icg, ocg = int(rng.integers(1, 6)), int(rng.integers(1, 30)), int(rng.integers(32, 45))
    dtype = np.float64 if seed % 4 == 3 else np.float32
    kernel = *[3] * (len(size) - 1), 2  # not what winograd.h does
    x, w = numbers(rng, n, icg, *size, dtype=dtype), numbers(rng, ocg, icg, *kernel, dtype=dtype)
    pads, strides = [int(p) for p in rng.integers(0, 3, 2 * len(size))], [int(s) for s in rng.integers(1, 4, len(size))]
    attributes: dict[str, Any] = {"group": 1, "strides": strides, "dilations": [1] * len(size), "pads": pads}
    with limit_to(kind):
        y, few = run_operator("Conv", x, w, **attributes), run_operator("Conv", x, w[:24], **attributes)
    expected = reference_convolution(x, w, *attributes.values(), False, ())
    np.testing.assert_allclose(y, expected, tolerance(dtype), tolerance(dtype) * float(abs(expected).max()))
    assert y[:, :24].tobytes() == few.tobytes()


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("size", [(1, 3), (1, 17), (7, 7), (5, 13), (4, 33), (15, 13), (2, 2, 5)])
@pytest.mark.parametrize(("kernel", "stride", "icg"), [(1, 1, 250), (3, 2, 30), (3, 1, 5)])
def test_positions_beyond_the_last_vector(kernel: int, stride: int, icg: int, size: tuple[int, ...], kind: int) -> None:
    """They go one by one where channels are a whole number of eights: the same sums, and nothing written elsewhere."""
    rng = RNG(kernel)
    inputs = [stride * (extent - 1) + kernel - (kernel - 1) for extent in size]
    dtype = np.float64 if kernel == 3 and stride == 1 else np.float32
    x, w = numbers(rng, 2, icg, *inputs, dtype=dtype), numbers(rng, 40, icg, *[kernel] * len(size), dtype=dtype)
    bias, attributes = (
        numbers(rng, 40, dtype=dtype),
        {"strides": [stride] * len(size), "pads": [kernel // 2] * 2 * len(size)},
    )
    with limit_to(kind):
        for images in (x, x[:1]):
            y = convolution.conv(GuardedBuffers(), images, w, bias, **attributes)
            assert y.shape == (len(images), 40, *size)
            for count in (39, 31, 7):
                few = convolution.conv(GuardedBuffers(), images, w[:count], bias[:count], **attributes)
                assert few.tobytes() == y[:, :count].tobytes()


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("seed", range(24))
def test_channels_by_themselves(seed: int, kind: int) -> None:
    """Narrow rows are written over one another, several channels are packed at a time; the same bits as alone."""
    rng = RNG(8000 + seed)
    rank, groups, n = int(rng.choice([1, 2, 2, 2, 3])), int(rng.integers(1, 40)), int(rng.integers(1, 4))
    kernel, strides, dilations = ([int(v) for v in rng.integers(1, most, rank)] for most in (6, 4, 3))
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    size = [s + int(rng.integers(0, [0, 90, 40, 9][rank])) for s in span]
    pads = [int(p) for p in rng.integers(0, 4, 2 * rank)]
    dtype = np.float64 if seed % 4 == 3 else np.float32
    x, w = numbers(rng, n, groups, *size, dtype=dtype), numbers(rng, groups, 1, *kernel, dtype=dtype)
    attributes: dict[str, Any] = {"group": groups, "strides": strides, "dilations": dilations, "pads": pads}
    last = groups - 1
    with limit_to(kind):
        y = run_operator("Conv", x, w, **attributes)
        alone = run_operator("Conv", x[-1:, last:], w[last:], **{**attributes, "group": 1})
    expected = reference_convolution(x, w, *attributes.values(), False, ())
    np.testing.assert_allclose(y, expected, tolerance(dtype), tolerance(dtype) * float(abs(expected).max()))
    assert y[-1:, last:].tobytes() == alone.tobytes()


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("width", [7, 10, 14, 20, 41])
@pytest.mark.parametrize(("taps", "step"), [(3, 1), (5, 1), (7, 1), (3, 2), (5, 2)])
def test_rows_that_share_what_they_read(taps: int, step: int, width: int, kind: int) -> None:
    """Four rows and more go together, fewer one by one: the same sums, whichever numbers, with pads and without."""
    rng = RNG(width)
    x, w, bias = numbers(rng, 2, 7, 7 * step + taps, width), numbers(rng, 7, 1, taps, taps), numbers(rng, 7)
    x[:, 1], w[1] = x[:, 1] * 1e-30, -abs(w[1]) * 1e-30  # sums of what is too small may be -0.0
    x[0, 0, 0, 0], w[0, 0, 0, 0] = np.inf, np.nan
    attributes: dict[str, Any] = {"group": 7, "strides": [step, step], "dilations": [1, 1]}
    with limit_to(kind):
        for pads in ([0, taps // 2, 0, taps // 2], [1, 0, 2, 0], [2, 1, 0, 4]):
            y, bare = (
                run_operator("Conv", x, w, bias, **attributes, pads=pads),
                run_operator("Conv", x, w, **attributes, pads=pads),
            )
            high = np.pad(x, [(0, 0), (0, 0), pads[::2], (0, 0)])
            results = {**attributes, "pads": [0, pads[1], 0, pads[3]]}
            for k in range(bare.shape[2] - 1):
                few = run_operator("Conv", high[:, :, k * step : (k + 1) * step + taps], w, **results)
                assert few.shape[2] < 4 and few.tobytes() == bare[:, :, k : k + few.shape[2]].tobytes()
            expected = reference_convolution(x[:, 1:], w[1:], 6, [step, step], [1, 1], pads, False, ()) + bias[
                1:
            ].reshape(-1, 1, 1)
            np.testing.assert_allclose(y[:, 1:], expected, 1e-4, 1e-4 * float(abs(expected).max()))


@pytest.mark.parametrize("seed", range(12))
def test_the_same_bits_with_avx2_and_avx512(seed: int) -> None:
    of_each: list[list[Array]] = []
    for kind in (2, 3):
        with limit_to(kind):
            transposed, x, w, bias, attributes, extra = random_case(seed + 900)
            more = {"output_padding": extra} if transposed else {}
            results = [run_operator("ConvTranspose" if transposed else "Conv", x, w, **attributes, **more)]
            x, w, bias, attributes = by_tiles(seed)
            results += [run_operator("Conv", x, w, bias, **{**attributes, "strides": [step, step]}) for step in (1, 2)]
            x, few = np.ascontiguousarray(x[..., : 5 + 3 * seed]), np.ascontiguousarray(w[:, :1, : 1 + seed % 3])
            depth = {**attributes, "group": x.shape[1], "strides": [1 + seed % 2] * 2}
            results.append(run_operator("Conv", x, np.resize(few, (x.shape[1], *few.shape[1:])), **depth))
            of_each.append(results)
    for narrow, width in zip(*of_each, strict=True):
        assert narrow.tobytes() == width.tobytes()


def by_tiles(seed: int) -> tuple[Array, Array, Array, dict[str, Any]]:
    """What winograd.h does: 3 x 3 taps and many channels, over several bands of tiles at times."""
    rng = RNG(seed)
    n, icg, ocg = int(rng.choice([1, 1, 3])), int(rng.choice([27, 64, 67, 90])), int(rng.choice([32, 64, 104]))
    pads = [int(rng.integers(0, 3)) for _ in range(4)]
    size = [int(rng.integers(8, 20)), int(rng.choice([25, 44, 200] if n == 1 else [13, 31]))]
    w, bias = numbers(rng, ocg, icg, 3, 3), numbers(rng, ocg)
    return numbers(rng, n, icg, *size), w, bias, {"group": 1, "strides": [1, 1], "dilations": [1, 1], "pads": pads}


def is_by_tiles(x: Array, w: Array, pads: Sequence[int]) -> bool:
    result = window_geometry(x.shape[2:], (3, 3), pads=pads)
    return convolution._winograd_tiling(x.shape[0], 1, x.shape[1], w.shape[0], result, x.dtype, 1) is not None


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_tiles_of_all_kinds_of_processors(seed: int, kind: int) -> None:
    x, w, bias, attributes = by_tiles(seed * 3 + kind)
    small = [np.rint(4 * values) for values in (x, w, bias)]
    assert is_by_tiles(x, w, attributes["pads"])
    with limit_to(kind):
        y, bare = run_operator("Conv", x, w, bias, **attributes), run_operator("Conv", x, w, **attributes)
        whole = run_operator("Conv", *small, **attributes)
    expected = reference_convolution(x, w, *attributes.values(), False, ())
    np.testing.assert_allclose(bare, expected, 1e-6, 2e-6 * float(abs(expected).max()))
    expected += bias.reshape(-1, 1, 1)
    np.testing.assert_allclose(y, expected, 1e-6, 2e-6 * float(abs(expected).max()))
    expected = reference_convolution(small[0], small[1], *attributes.values(), False, ()) + small[2].reshape(-1, 1, 1)
    np.testing.assert_array_equal(whole, expected)


class GuardedBuffers(EagerPrimitives):
    """What routines write behind their outputs and scratch memory shows."""

    def call(self, routine: RoutineCall, inputs: Any) -> Any:
        ((shape, dtype),), scratch = routine.outputs, routine.scratch_bytes
        out, width = np.full(int(np.prod(shape)) + 32, 7, dtype), np.full(scratch + 64, 77, np.uint8)
        result = out[:-32].reshape(shape)
        arrays = (*map(np.ascontiguousarray, inputs), result, width[:scratch])
        assert loop_nest.run_kernel(kernels.routine_kernel(routine.name), arrays, extra=tuple(routine.params))
        assert (out[-32:] == 7).all() and (width[scratch:] == 77).all()
        return (result,)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_tiles_stay_in_their_memory(kind: int) -> None:
    with limit_to(kind):
        for seed in range(40, 60):
            x, w, bias, attributes = by_tiles(seed)
            assert convolution.conv(GuardedBuffers(), x, w, bias, pads=attributes["pads"]).shape[1] == len(w)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_what_is_not_finite_stays_where_it_belongs(kind: int) -> None:
    x, w, bias, attributes = by_tiles(5)
    x[0, 3, 4, 5], x[0, 7, 6, 1], x[0, 1, 0, 0], w[8, 2, 1, 1] = np.inf, -np.inf, np.nan, 1e38
    with np.errstate(invalid="ignore"):
        expected = reference_convolution(x, w, *attributes.values(), False, ()) + bias.reshape(-1, 1, 1)
    with limit_to(kind):
        y = run_operator("Conv", x, w, bias, **attributes)
    finite = abs(expected) < 3e38
    assert not finite.all() and (np.isinf(expected) == np.isinf(y))[finite | np.isinf(expected)].all()
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    others = finite & (np.arange(len(w)) != 8).reshape(-1, 1, 1)
    np.testing.assert_allclose(y[others], expected[others], 1e-4, 1e-3)


@pytest.mark.parametrize("seed", range(40))
def test_matches_onnxruntime(seed: int) -> None:
    transposed, x, w, bias, attributes, extra = random_case(1000 + seed)
    x, w, bias = x.astype(np.float32), w.astype(np.float32), None if bias is None else bias.astype(np.float32)
    op_type, inputs = "ConvTranspose" if transposed else "Conv", [x, w] if bias is None else [x, w, bias]
    if transposed:
        attributes["output_padding"] = extra
    actual, expected = onnx_node(op_type, inputs, **attributes)
    assert_close(actual, expected, 1e-4, 1e-4 * float(abs(expected[0]).max()))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("op_type", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize(("strides", "kernel"), [([1, 1], [3, 4]), ([2, 3], [3, 4]), ([3, 2], [5, 2])])
def test_auto_pad(auto_pad: str, op_type: str, strides: list[int], kernel: list[int]) -> None:
    rng = RNG(1)
    x, w = numbers(rng, 1, 3, 11, 10), numbers(rng, 3, 3, *kernel)
    assert_close(*onnx_node(op_type, [x, w], auto_pad=auto_pad, strides=strides), 1e-4, 1e-4)


@pytest.mark.parametrize("output_shape", [[10, 8], [9, 7], [11, 9], [8, 8]])
@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
def test_an_output_shape_decides_the_pads(output_shape: list[int], auto_pad: str) -> None:
    rng = RNG(2)
    x, w = numbers(rng, 1, 3, 5, 4), numbers(rng, 3, 2, 3, 3)
    attributes = {"output_shape": output_shape, "strides": [2, 2], "auto_pad": auto_pad}
    assert_close(*onnx_node("ConvTranspose", [x, w], **attributes), 1e-4, 1e-4)


def test_narrow_floats_are_added_in_float32() -> None:
    rng = RNG(3)
    x, w, b = (numbers(rng, *shape, dtype=np.float16) for shape in ((2, 4, 9, 9), (6, 4, 3, 3), (6,)))
    y = run_operator("Conv", x, w, b, pads=[1, 1, 1, 1])
    width = run_operator("Conv", *(v.astype(np.float32) for v in (x, w, b)), pads=[1, 1, 1, 1])
    assert y.dtype == np.float16 and y.tobytes() == width.astype(np.float16).tobytes()


def test_an_element_is_the_same_whatever_is_around_it() -> None:
    rng = RNG(4)
    x, w = numbers(rng, 3, 20, 33, 37), numbers(rng, 11, 20, 3, 3)
    whole = run_operator("Conv", x, w, pads=[1, 1, 1, 1])
    assert run_operator("Conv", x[1:2], w, pads=[1, 1, 1, 1]).tobytes() == whole[1:2].tobytes()
    assert run_operator("Conv", x, w[4:5], pads=[1, 1, 1, 1]).tobytes() == whole[:, 4:5].tobytes()
    part = run_operator("Conv", x[:, :, 4:12, 5:15], w)
    assert part.tobytes() == whole[:, :, 5:11, 6:14].tobytes()


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 3, 0)])
def test_nothing(shape: tuple[int, ...]) -> None:
    x, w = np.zeros(shape, np.float32), np.ones((4, 3, 1), np.float32)
    assert run_operator("Conv", x, w).shape == (shape[0], 4, shape[2])


def test_no_channels_give_the_bias() -> None:
    x, w = np.zeros((1, 0, 5), np.float32), np.ones((2, 0, 3), np.float32)
    assert (run_operator("Conv", x, w, np.array([1, 2], np.float32)) == [[[1] * 3, [2] * 3]]).all()


@pytest.mark.parametrize(
    ("shapes", "attributes", "name", "got"),
    [
        (((1, 3, 5, 5), (4, 2, 3, 3)), {}, "group", "1"),
        (((1, 3, 5, 5), (4, 3, 3)), {}, "W", "(4, 3, 3)"),
        (((1, 4, 5, 5), (3, 2, 3, 3)), {"group": 2}, "group", "2"),
        (((1, 3, 2, 2), (4, 3, 3, 3)), {}, "kernel_shape", "3"),
        (((1, 3, 5, 5), (4, 3, 3, 3), (3,)), {}, "bias", "(3,)"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"strides": [1]}, "strides", "[1]"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"strides": [0, 1]}, "strides", "[0, 1]"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"kernel_shape": [3, 2]}, "kernel_shape", "[3, 2]"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"auto_pad": "SAME"}, "auto_pad", "'SAME'"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"pads": [1, 1]}, "pads", "[1, 1]"),
    ],
)
def test_refusals(shapes: Any, attributes: dict[str, Any], name: str, got: str) -> None:
    with raises_error(loopdbg.ModelError, name=name, got=got):
        run_operator("Conv", *(np.ones(shape, np.float32) for shape in shapes), **attributes)


def test_four_spatial_axes_are_unsupported() -> None:
    with raises_error(loopdbg.UnsupportedError, name="X", expected="at most 3 spatial axes", got="4"):
        run_operator("Conv", *(np.ones((n, 3, 1, 1, 1, 1), np.float32) for n in (1, 4)))


def test_transposed_refusals() -> None:
    x, w = np.ones((1, 3, 2, 2), np.float32), np.ones((3, 2, 1, 1), np.float32)
    for attributes in ({"pads": [2, 2, 2, 2]}, {"output_shape": [1]}, {"output_padding": [-1, 0]}):
        with pytest.raises(loopdbg.ModelError):
            run_operator("ConvTranspose", x, w, **attributes)
    with raises_error(loopdbg.UnsupportedError, name="strides", got="[1, 1000000]"):
        run_operator("ConvTranspose", x, w, strides=[1, 1000000])


# --- Constant weights are put into another order once.


def results_of(op_type: str, arrays: dict[str, Array], attributes: dict[str, Any]) -> list[Array]:
    """With weights that are given to each run, and with constant ones."""
    results = []
    for constant in (False, True):
        values = {
            name: Value(name, TensorType(a.dtype, a.shape), constant=a if constant and name != "x" else None)
            for name, a in arrays.items()
        }
        node = Operation(
            name="n",
            op_type=op_type,
            domain="",
            version=22,
            inputs=list(values.values()),
            outputs=[Value("y")],
            attributes=attributes,
        )
        inputs = [v for v in values.values() if v.constant is None]
        graph = Graph("g", inputs=inputs, outputs=[v for v in node.outputs if v], nodes=[node], system=System.ONNX)
        results.append(Model(graph).run({v.name: arrays[v.name] for v in inputs})["y"])
    return results


@pytest.mark.parametrize("seed", range(12))
def test_constant_weights_give_the_same_bits(seed: int) -> None:
    transposed, x, w, bias, attributes, extra = random_case(2000 + seed)
    if transposed:
        attributes["output_padding"] = extra
    arrays = {"x": x, "w": w} if bias is None else {"x": x, "w": w, "b": bias}
    inputs, constant = results_of("ConvTranspose" if transposed else "Conv", arrays, attributes)
    assert inputs.tobytes() == constant.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("infinite", [False, True])
def test_constant_weights_of_tiles_give_the_same_bits(dtype: Any, infinite: bool) -> None:
    x, w, bias, attributes = by_tiles(7)
    x, w, bias = (values.astype(dtype) for values in (x, w, bias))
    if infinite:
        x[0, 0, 3, 3] = np.inf
    inputs, constant = results_of("Conv", {"x": x, "w": w, "b": bias}, attributes)
    assert inputs.tobytes() == constant.tobytes()


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("seed", [s for s in range(3000, 3060) if random_case(s)[0]])
def test_transposed_convolution_infinite_weights_reach_only_their_outputs(seed: int, kind: int) -> None:
    """No output has a product of theirs with what lies outside the input, and the others keep their bits."""
    _, x, w, bias, attributes, extra = random_case(seed)
    more = {**attributes, "output_padding": extra}
    broken = w.copy()
    broken.flat[RNG(seed).integers(w.size, size=2)] = [np.nan, np.inf]
    with limit_to(kind), np.errstate(invalid="ignore"):
        expected = reference_convolution(x, broken, *attributes.values(), True, extra)  # type: ignore[misc]
        plain, arrays = (
            {"x": x, "w": weights} if bias is None else {"x": x, "w": weights, "b": bias} for weights in (w, broken)
        )
        inputs, constant = results_of("ConvTranspose", arrays, more)
        before = results_of("ConvTranspose", plain, more)[0]
    assert inputs.tobytes() == constant.tobytes()
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(inputs), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(inputs), np.isinf(expected))
    assert inputs[finite].tobytes() == before[finite].tobytes()


# --- Quantized


def bytes_of(rng: np.random.Generator, dtype: Any, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("types", [(np.uint8, np.uint8), (np.uint8, np.int8)])
@pytest.mark.parametrize(("channels", "groups"), [(3, 1), (40, 1), (70, 1), (70, 2)])
def test_conv_integer(types: tuple[Any, Any], channels: int, groups: int) -> None:
    rng = RNG(channels)
    x, w = bytes_of(rng, types[0], 2, channels, 7, 9), bytes_of(rng, types[1], 4, channels // groups, 3, 3)
    attributes = {"pads": [1, 0, 1, 2], "group": groups}
    zeros = [np.array(131, types[0]), np.array(7, types[1])]
    assert_close(*onnx_node("ConvInteger", [x, w, *zeros], **attributes))
    sums = reference_convolution(x - 131.0, w - 7.0, groups, [1, 1], [1, 1], [1, 0, 1, 2], False, [0, 0])
    np.testing.assert_array_equal(run_operator("ConvInteger", x, w, *zeros, **attributes), sums)
    by_channel = bytes_of(rng, types[1], 4)
    shifted = w - by_channel.reshape(-1, 1, 1, 1).astype(np.float64)
    sums = reference_convolution(x - 131.0, shifted, groups, [1, 1], [1, 1], [1, 0, 1, 2], False, [0, 0])
    np.testing.assert_array_equal(run_operator("ConvInteger", x, w, zeros[0], by_channel, **attributes), sums)
    assert_close(*onnx_node("ConvInteger", [x, w], **attributes))


@pytest.mark.parametrize("types", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
def test_qlinear_conv(types: tuple[Any, Any]) -> None:
    rng = RNG(5)
    x, w = bytes_of(rng, types[0], 2, 5, 7, 9), bytes_of(rng, types[1], 6, 5, 3, 3)
    scales = np.array(0.02, np.float32), (rng.random(6) * 0.01).astype(np.float32), np.array(0.9, np.float32)
    zero = np.array(0 if types[1] is np.int8 else 120, types[1])
    weights = [w, scales[1], np.full(6, zero)]
    inputs = [x, scales[0], np.array(3, types[0]), *weights, scales[2], np.array(10, types[0])]
    assert_close(*onnx_node("QLinearConv", [*inputs, rng.integers(-999, 999, 6).astype(np.int32)], pads=[1, 1, 1, 1]))
    inputs[3:6] = [w, np.array(0.004, np.float32), zero]
    assert_close(*onnx_node("QLinearConv", inputs, strides=[2, 2]))


# --- OpenVINO


def split(pads: list[int]) -> dict[str, list[int]]:
    half = len(pads) // 2
    return {"pads_begin": pads[:half], "pads_end": pads[half:]}


@pytest.mark.parametrize("seed", range(30))
def test_matches_openvino(seed: int) -> None:
    transposed, x, w, _, attributes, extra = random_case(3000 + seed)
    x, w, groups = x.astype(np.float32), w.astype(np.float32), attributes.pop("group")
    attributes.update(split(attributes.pop("pads")))
    op_type = "ConvolutionBackpropData" if transposed else "Convolution"
    if transposed and max(extra):
        attributes["output_padding"] = extra
    if groups > 1:
        op_type, w = f"Group{op_type}", w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    actual, expected = openvino_node(op_type, [x, w], constant=[1], **attributes)
    assert_close(actual, expected, 1e-4, 1e-4 * float(abs(expected[0]).max()))


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower", "valid", "explicit"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_openvino_auto_pad(auto_pad: str, strides: list[int]) -> None:
    rng = RNG(7)
    x, w = numbers(rng, 1, 3, 11, 10), numbers(rng, 4, 3, 3, 4)
    attributes = {"strides": strides, "dilations": [1, 1], **split([1, 0, 0, 2]), "auto_pad": auto_pad}
    assert_close(*openvino_node("Convolution", [x, w], constant=[1], **attributes), 1e-4, 1e-4)


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower", "explicit", "valid"])
@pytest.mark.parametrize("output_shape", [[23, 20], [21, 22], [22, 21]])
def test_openvino_output_shape(auto_pad: str, output_shape: list[int]) -> None:
    rng = RNG(8)
    x, w = numbers(rng, 1, 4, 11, 10), numbers(rng, 4, 3, 3, 4)
    attributes = {"strides": [2, 2], "dilations": [1, 1], **split([0] * 4), "auto_pad": auto_pad}
    inputs = [x, w, np.array(output_shape, np.int64)]
    assert_close(*openvino_node("ConvolutionBackpropData", inputs, constant=[1, 2], **attributes), 1e-4, 1e-4)


def test_integers_are_exact() -> None:
    rng = RNG(9)
    x, w = rng.integers(-99, 99, (1, 40, 12, 12), np.int32), rng.integers(-99, 99, (5, 40, 3, 3), np.int32)
    attributes = {"strides": "1,1", "dilations": "1,1", "pads_begin": "0,0", "pads_end": "0,0"}
    inputs = [x, w]
    (y,) = run_here(System.OPENVINO, "Convolution", inputs, version=1, attributes=attributes)
    np.testing.assert_array_equal(
        y, reference_convolution(x, w, 1, [1, 1], [1, 1], [0] * 4, False, [0, 0]).astype(np.int32)
    )
