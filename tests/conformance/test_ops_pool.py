"""Pooling next to onnxruntime and OpenVINO's CPU plugin, attributes at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.runtime.graph import System

from .single_node import assert_close, onnx_node, openvino_node, run_here

Array = np.ndarray[Any, np.dtype[Any]]


def numbers(rng: np.random.Generator, dtype: Any, *shape: int) -> Array:
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype)
    return rng.standard_normal(shape).astype(kind)


def random_case(seed: int, dilated: bool) -> tuple[Array, dict[str, Any]]:
    """A tensor, and attributes that fit it."""
    rng = np.random.default_rng(seed)
    rank = int(rng.choice([1, 2, 2, 3]))
    kernel = [int(rng.choice([1, 2, 3, 5])) for _ in range(rank)]
    strides = [int(rng.choice([1, 1, 2, 3])) for _ in range(rank)]
    dilations = [int(rng.choice([1, 2])) if dilated else 1 for _ in range(rank)]
    pads = [int(rng.integers(0, k)) for k in kernel * 2]
    size = [int(rng.integers((k - 1) * d + 1, k * d + 20)) for k, d in zip(kernel, dilations, strict=True)]
    x = numbers(rng, np.float32, int(rng.integers(1, 4)), 3, *size)
    return x, {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations}


def empty_window_maximum(y: Array) -> Array:
    """The greatest of nothing at all: -inf here, the peers' is their least number."""
    return np.maximum(y, np.finfo(y.dtype).min)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_matches_onnxruntime(seed: int, ceil_mode: int) -> None:
    x, attributes = random_case(seed, True)
    opset = (10, 11, 12, 22)[seed % 4]
    for mine, theirs in (
        onnx_node("MaxPool", [x], opset=opset, ceil_mode=ceil_mode, **attributes),
        onnx_node("MaxPool", [x], 2, opset=opset, ceil_mode=ceil_mode, storage_order=seed % 2, **attributes),
    ):
        assert_close([empty_window_maximum(mine[0]), *mine[1:]], theirs)
    if ceil_mode == 0:  # onnxruntime leaves windows that hang over unfinished here
        assert_close(*onnx_node("LpPool", [x], opset=(18, 22)[seed % 2], p=seed % 3 + 1, **attributes), 1e-4, 1e-5)
    opset = (19, 22)[seed % 2]
    if max(attributes["dilations"]) == 1:  # which older opsets do not have
        opset = (10, 11)[seed % 2]
        del attributes["dilations"]
    for include in (0, 1):
        more = {"ceil_mode": ceil_mode, "count_include_pad": include}
        assert_close(*onnx_node("AveragePool", [x], opset=opset, **more, **attributes), 1e-5, 1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint8])
def test_maxima_of_other_types(dtype: Any) -> None:
    x = numbers(np.random.default_rng(1), dtype, 2, 3, 9, 10)
    attributes: dict[str, Any] = {"kernel_shape": [3, 2], "pads": [1, 1, 1, 0], "strides": [2, 1]}
    if dtype is np.float16:
        (mine,) = run_here(System.ONNX, "MaxPool", [x], version=22, attributes=attributes)
        (width,) = run_here(System.ONNX, "MaxPool", [x.astype(np.float32)], version=22, attributes=attributes)
        assert_close([mine], [width.astype(dtype)])
    else:
        assert_close(*onnx_node("MaxPool", [x], **attributes))
        assert_close(*onnx_node("MaxPool", [x], 2, **attributes))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [2, 1]])
@pytest.mark.parametrize("kernel", [[2, 2], [3, 2], [5, 3]])
def test_auto_pad(auto_pad: str, strides: list[int], kernel: list[int]) -> None:
    x = numbers(np.random.default_rng(11), np.float32, 2, 3, 7, 6)
    attributes = {"kernel_shape": kernel, "auto_pad": auto_pad, "strides": strides}
    for op_type in ("MaxPool", "AveragePool", "LpPool"):
        assert_close(*onnx_node(op_type, [x], opset=11, **attributes))


def test_valid_with_ceil_mode_is_valid_without() -> None:
    # ceil((7 - 2 + 1) / 2) = 3 windows by the specification; onnxruntime makes 4.
    attributes = {"kernel_shape": [2], "strides": [2], "auto_pad": "VALID", "ceil_mode": 1}
    (y,) = run_here(System.ONNX, "MaxPool", [np.ones((1, 1, 7), np.float32)], version=12, attributes=attributes)
    assert isinstance(y, np.ndarray) and y.shape == (1, 1, 3)


def test_a_nan_is_the_greatest() -> None:
    x = np.arange(40, dtype=np.float32).reshape(1, 1, 5, 8)
    x[0, 0, 2, 3] = np.nan
    best, places = run_here(System.ONNX, "MaxPool", [x], 2, version=22, attributes={"kernel_shape": [2, 2]})
    (alone,) = run_here(System.ONNX, "MaxPool", [x], version=22, attributes={"kernel_shape": [2, 2]})
    expected = np.zeros((1, 1, 4, 7), bool)
    expected[0, 0, 1:3, 2:4] = True
    for y in (best, alone):
        np.testing.assert_array_equal(np.isnan(y), expected)
    assert set(places[expected]) == {2 * 8 + 3}


def first_of_greatest(x: Array, kernel: int, stride: int, dilation: int, pad: int) -> tuple[Array, Array]:
    """Windows of a square kernel, one at a time; a NaN is the greatest."""
    high, width = x.shape[2:]
    out = [(n + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for n in (high, width)]
    best, places = np.zeros((*x.shape[:2], *out), x.dtype), np.zeros((*x.shape[:2], *out), np.int64)
    for n, c, h, w in np.ndindex(best.shape):
        ys = [y for y in range(h * stride - pad, h * stride - pad + kernel * dilation, dilation) if 0 <= y < high]
        xs = [u for u in range(w * stride - pad, w * stride - pad + kernel * dilation, dilation) if 0 <= u < width]
        seen = x[n, c][np.ix_(ys, xs)].ravel()
        k = int(np.argmax(np.isnan(seen))) if np.isnan(seen).any() else int(np.argmax(seen))
        best[n, c, h, w] = seen[k]
        places[n, c, h, w] = (n * x.shape[1] + c) * high * width + ys[k // len(xs)] * width + xs[k % len(xs)]
    return best, places


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("window", [(2, 1, 1, 0), (2, 2, 1, 1), (3, 2, 2, 1), (3, 3, 1, 1), (5, 1, 1, 2)])
def test_places_of_equal_ones(dtype: Any, window: tuple[int, int, int, int]) -> None:
    """Rows longer than a vector, and numbers of which many are equal, the least or NaN."""
    rng, (kernel, stride, dilation, pad) = np.random.default_rng(5), window
    least = -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
    few = [least, least, least, 1, 2] + ([np.nan] if np.dtype(dtype).kind == "f" else [])
    x = np.array(few, dtype)[rng.integers(0, len(few), (1, 2, 7, 45))]
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2}
    attributes |= {"dilations": [dilation] * 2, "pads": [pad] * 4}
    mine = run_here(System.ONNX, "MaxPool", [x], 2, version=22, attributes=attributes)
    for y, expected in zip(mine, first_of_greatest(x, *window), strict=True):
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 2, 7), (2, 2, 3, 3, 3)])
def test_over_all(shape: tuple[int, ...]) -> None:
    x = numbers(np.random.default_rng(2), np.float32, *shape)
    for op_type in ("GlobalMaxPool", "GlobalAveragePool"):
        assert_close(*onnx_node(op_type, [x]), 1e-5, 1e-6)
    for p in (1, 2, 3):
        assert_close(*onnx_node("GlobalLpPool", [x], opset=18, p=p))


@pytest.mark.parametrize(
    ("x", "attributes"),
    [
        (np.ones((1, 1, 2, 2, 2, 2), np.float32), {"kernel_shape": [1] * 4}),
        (np.ones((1, 1, 4), np.complex64), {"kernel_shape": [1]}),
        (np.ones((1, 4), np.float32), {"kernel_shape": []}),
    ],
)
def test_unsupported_inputs(x: Array, attributes: dict[str, Any]) -> None:
    with pytest.raises((loopdbg.LoopdbgError, ValueError)):
        run_here(System.ONNX, "MaxPool", [x], version=22, attributes=attributes)


@pytest.mark.parametrize(
    ("attributes", "name", "got"),
    [
        ({"kernel_shape": [2]}, "kernel_shape", "[2]"),
        ({"kernel_shape": [9, 2]}, "kernel_shape", "9"),
        ({"kernel_shape": [2, 2], "strides": [0, 1]}, "strides", "[0, 1]"),
        ({"kernel_shape": [2, 2], "auto_pad": "SAME"}, "auto_pad", "'SAME'"),
    ],
)
def test_refusals(attributes: dict[str, Any], name: str, got: str) -> None:
    with raises_error(loopdbg.ModelError, name=name, got=got):
        run_here(System.ONNX, "MaxPool", [np.ones((1, 1, 4, 4), np.float32)], version=22, attributes=attributes)


# --- OpenVINO


def translated(attributes: dict[str, Any]) -> dict[str, Any]:
    rank = len(attributes["kernel_shape"])
    return {
        "kernel": attributes["kernel_shape"],
        "strides": attributes["strides"],
        "pads_begin": attributes["pads"][:rank],
        "pads_end": attributes["pads"][rank:],
    }


@pytest.mark.parametrize("seed", [2, 5, 8, 9, 16, 19])
@pytest.mark.parametrize("rounding", ["floor", "ceil", "ceil_torch"])
def test_matches_openvino(seed: int, rounding: str) -> None:
    x, attributes = random_case(100 + seed, False)
    new = rounding == "ceil_torch"
    for exclude in (False, True):
        more = {"exclude-pad": exclude, "rounding_type": rounding}
        means, theirs = openvino_node("AvgPool", [x], opset=14 if new else 1, **translated(attributes), **more)
        if rounding != "ceil":
            assert_close(means, theirs, 1e-5, 1e-6)
        else:  # of nothing: 0 / 0, or 0 over the pads
            assert_close([np.nan_to_num(y) for y in means], [np.nan_to_num(y) for y in theirs], 1e-5, 1e-6)
    if not new:
        (best,), theirs = openvino_node("MaxPool", [x], rounding_type=rounding, **translated(attributes))
        assert_close([empty_window_maximum(best)], theirs)
    x, attributes = random_case(200 + seed, True)
    more = {"dilations": attributes["dilations"], "rounding_type": rounding, "index_element_type": "i32"}
    opset = 14 if new else 8
    for axis in (0, 2):
        mine, theirs = openvino_node("MaxPool", [x], 2, opset, **translated(attributes), **more, axis=axis)
        assert_close([empty_window_maximum(mine[0]), mine[1]], theirs)


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower", "valid", "explicit"])
@pytest.mark.parametrize("rounding", ["floor", "ceil"])
def test_openvino_auto_pad(auto_pad: str, rounding: str) -> None:
    x = numbers(np.random.default_rng(3), np.float32, 1, 2, 8, 9)
    attributes = {"kernel": [3, 2], "strides": [2, 2], "pads_begin": [1, 0], "pads_end": [0, 1]}
    more = {"auto_pad": auto_pad, "rounding_type": rounding}
    assert_close(*openvino_node("MaxPool", [x], **attributes, **more))
    assert_close(*openvino_node("AvgPool", [x], **attributes, **more, **{"exclude-pad": True}))
