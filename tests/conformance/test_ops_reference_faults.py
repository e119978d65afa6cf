"""Normalizations and DequantizeLinear next to onnxruntime: what onnx.reference would answer wrongly."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.graph import System

from .single_node import Array, assert_close, assert_same, onnx_node, run_here


def data(*shape: int, dtype: Any = np.float32) -> Array:
    """Numbers between -1 and 1, each time the same."""
    return np.random.default_rng(11).uniform(-1, 1, shape).astype(dtype)


def run_operator(op_type: str, *inputs: Any, version: int, n_outputs: int = 1, **attributes: Any) -> list[Any]:
    return run_here(System.ONNX, op_type, list(inputs), n_outputs, version=version, attributes=attributes)


# --- Normalizations


def statistics(channels: int, dtype: Any = np.float32) -> list[Array]:
    return [data(channels, dtype=dtype) + n for n in (1, 0, 0)] + [abs(data(channels, dtype=dtype)) + 1]


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4), (4, 3), (0, 3, 2)])
@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization(shape: tuple[int, ...], opset: int) -> None:
    assert_close(*onnx_node("BatchNormalization", [data(*shape), *statistics(3)], opset=opset, epsilon=0.1))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4, 3)])
def test_batch_normalization_in_training(shape: tuple[int, ...]) -> None:
    inputs = [data(*shape), *statistics(3)]
    assert_close(*onnx_node("BatchNormalization", inputs, 3, opset=15, training_mode=1, momentum=0.8))


def test_batch_normalization_computes_narrow_floats_in_float32() -> None:
    x, scale, bias, mean, variance = data(2, 3, 4) * 100, *statistics(3)
    narrow = [v.astype(ml_dtypes.bfloat16) for v in (x, scale, bias, mean, variance)]
    (width,) = run_operator("BatchNormalization", *(v.astype(np.float32) for v in narrow), version=15)
    assert_same(run_operator("BatchNormalization", *narrow, version=15)[0], width.astype(ml_dtypes.bfloat16))


def test_batch_normalization_refuses() -> None:
    inputs = [data(2, 3, 4), *statistics(3)]
    with raises_error(UnsupportedError, name="training_mode"):
        run_operator("BatchNormalization", *inputs, version=9, n_outputs=5)
    with raises_error(UnsupportedError, name="spatial"):
        run_operator("BatchNormalization", *inputs, version=7, spatial=0)
    with raises_error(ModelError, name="training_mode", expected="1"):
        run_operator("BatchNormalization", *inputs, version=15, n_outputs=3)
    with pytest.raises(ValueError, match="3 channels"):
        run_operator("BatchNormalization", data(2, 3, 4), *statistics(2), version=15)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lp_normalization(axis: int, p: int, dtype: Any) -> None:
    x = data(3, 4, 2, dtype=dtype)
    x[1, 2] = x[:, 1] = 0
    assert_close(*onnx_node("LpNormalization", [x], opset=18, axis=axis, p=p))


def test_lp_normalization_of_zeros() -> None:
    assert_same(run_operator("LpNormalization", np.zeros(3, np.float32), version=22)[0], np.zeros(3, np.float32))
    with raises_error(ModelError, name="p", expected="1, 2", got="3"):
        run_operator("LpNormalization", data(3), version=22, p=3)


@pytest.mark.parametrize("size", [1, 3, 5, 9])
@pytest.mark.parametrize("shape", [(1, 5, 3, 2), (6, 2, 3, 2)])
def test_lrn(shape: tuple[int, ...], size: int) -> None:
    assert_close(*onnx_node("LRN", [data(*shape)], opset=13, size=size, alpha=0.3, beta=0.6, bias=2.0))
    assert_close(*onnx_node("LRN", [data(*shape)], opset=13, size=size))


def test_lrn_with_an_even_size_reaches_further_ahead() -> None:
    # onnxruntime takes odd sizes only. floor(3 / 2) = 1 channel before, ceil(3 / 2) = 2 after.
    x = np.array([1, 2, 3, 4], np.float32).reshape(1, 4, 1, 1)
    (y,) = run_operator("LRN", x, version=13, size=4, alpha=4.0, beta=1.0, bias=0.0)
    np.testing.assert_allclose(
        x / y, np.float32([1 + 4 + 9, 1 + 4 + 9 + 16, 4 + 9 + 16, 9 + 16]).reshape(x.shape), 1e-6
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("opset", [1, 11, 13])
def test_hardmax(axis: int, opset: int) -> None:
    x = np.random.default_rng(3).integers(0, 3, (3, 4, 2)).astype(np.float32)  # with ties
    if opset > 1 or axis >= 0:
        assert_close(*onnx_node("Hardmax", [x], opset=opset, axis=axis))
    assert_close(*onnx_node("Hardmax", [x], opset=opset))


# --- DequantizeLinear


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_dequantize_linear(dtype: Any, opset: int) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    assert_close(*onnx_node("DequantizeLinear", [x, np.array(0.1, np.float32)], opset=opset))
    if dtype is not np.int32:
        assert_close(*onnx_node("DequantizeLinear", [x, np.array(0.1, np.float32), np.array(7, dtype)], opset=opset))


def test_dequantize_linear_to_other_types() -> None:
    x = np.arange(4).astype(np.uint8)
    assert_close(*onnx_node("DequantizeLinear", [x, np.array(0.5, np.float16)], opset=19))
    (y,) = run_operator("DequantizeLinear", x, np.array(0.5, np.float32), version=23, output_dtype=10)
    assert_same(y, np.array([0, 0.5, 1, 1.5], np.float16))
    (y,) = run_operator("DequantizeLinear", x.astype(ml_dtypes.int4), np.array(0.5, np.float32), version=21)
    assert_same(y, np.array([0, 0.5, 1, 1.5], np.float32))


def test_dequantize_linear_refuses_scales_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="scales"):
        run_operator("DequantizeLinear", np.zeros((3, 4), np.int8), data(3), version=13, axis=1)
