"""Quantized numbers and their products next to onnxruntime, on seeded random shapes, types and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.graph import System

from .single_node import Array, assert_close, onnx_node, run_here

BYTES = (np.int8, np.uint8)
FLOAT = np.float32


class RandomInputs:
    """Random inputs, each time the same."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def one_of(self, things: Any) -> Any:
        return things[self.number(0, len(things) - 1)]

    def integers(self, shape: Any, dtype: Any) -> Array:
        ends = np.iinfo(dtype)
        return np.asarray(self.rng.integers(ends.min, ends.max, shape, np.int64, endpoint=True)).astype(dtype)

    def floats(self, *shape: int) -> Array:
        return np.asarray(self.rng.standard_normal(shape), FLOAT)

    def scales(self, *shape: int, most: float = 0.1) -> Array:
        return np.asarray(self.rng.uniform(most / 100, most, shape), FLOAT)

    def matrices(self, a: Any, b: Any, most: int = 70) -> tuple[Array, Array]:
        m, k, n = (self.number(1, most) for _ in range(3))
        # Signed weights of 7 bits: without VNNI onnxruntime's sums of larger ones saturate.
        weights = self.integers((k, n), b)
        return self.integers((m, k), a), weights // 2 if weights.dtype == np.int8 else weights


@pytest.mark.parametrize("x", [[0, 0], [1, 2, 3], [-1, -2], [np.nan, 1, 2], [np.inf, 1], [-np.inf, 0, 1], [1e-40, 0],
                               [1e38, -3.4e38], [-0.0, 5e-324]])  # fmt: skip
def test_dynamic_quantize_linear_of_odd_numbers(x: list[float]) -> None:
    assert_close(*onnx_node("DynamicQuantizeLinear", [np.array(x, FLOAT)], 3, opset=11))


@pytest.mark.parametrize("seed", range(6))
def test_dynamic_quantize_linear(seed: int) -> None:
    draw = RandomInputs(seed)
    x = draw.floats(draw.number(1, 9), draw.number(1, 90)) * FLOAT(10.0 ** draw.number(-20, 20)) + draw.number(-3, 3)
    assert_close(*onnx_node("DynamicQuantizeLinear", [x], 3, opset=11))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_quantize_linear_of_odd_numbers(dtype: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.5, 1.5, 2.5, -0.5, 3e9, 0.1, -7], FLOAT)
    for scale in (1, 0.3, 0):
        for zero in (0, 3, np.iinfo(dtype).max, np.iinfo(dtype).min):
            assert_close(*onnx_node("QuantizeLinear", [x, np.array(scale, FLOAT), np.array(zero, dtype)], opset=21))


@pytest.mark.parametrize("seed", range(40))
def test_there_and_back(seed: int) -> None:
    """Per tensor, along an axis, by blocks; and as bytes of every type."""
    draw = RandomInputs(seed)
    dtype = draw.one_of([np.int8, np.uint8, np.int16, np.uint16])
    shape = tuple(draw.number(1, 9) for _ in range(draw.number(1, 4)))
    axis = draw.number(-len(shape), len(shape) - 1)
    attributes: dict[str, Any] = {"axis": axis}
    how = draw.one_of(["one", "axis", "block"])
    if how == "one":
        parts: tuple[int, ...] = ()
    elif how == "axis":
        parts = (shape[axis],)
    else:
        block = draw.number(1, shape[axis])
        attributes["block_size"] = block
        along = axis % len(shape)
        parts = (*shape[:along], -(-shape[axis] // block), *shape[along + 1 :])
    scale, zero = draw.scales(*parts), draw.integers(parts, dtype)
    opset = 21 if how == "block" or np.dtype(dtype).itemsize > 1 else draw.one_of([13, 19, 21, 23])
    assert_close(*onnx_node("QuantizeLinear", [draw.floats(*shape), scale, zero], opset=opset, **attributes))
    assert_close(*onnx_node("DequantizeLinear", [draw.integers(shape, dtype), scale, zero], opset=opset, **attributes))
    assert_close(*onnx_node("DequantizeLinear", [draw.integers(shape, dtype), scale], opset=opset, **attributes))


@pytest.mark.parametrize("seed", range(10))
def test_matmul_integer(seed: int) -> None:
    draw = RandomInputs(seed)
    a, b = draw.matrices(np.uint8, draw.one_of(BYTES))
    zeros = [draw.integers((), a.dtype), draw.integers(draw.one_of([(), b.shape[1:]]), b.dtype)]
    assert_close(*onnx_node("MatMulInteger", [a, b, *zeros[: draw.number(0, 2)]], opset=10))


@pytest.mark.parametrize("seed", range(12))
def test_qlinear_matmul(seed: int) -> None:
    draw = RandomInputs(seed)
    a, b = draw.matrices(np.uint8, draw.one_of(BYTES))
    columns = draw.one_of([(), b.shape[1:]])
    inputs = [a, draw.scales(), draw.integers((), a.dtype), b, draw.scales(*columns), draw.integers(columns, b.dtype)]
    assert_close(*onnx_node("QLinearMatMul", [*inputs, draw.scales(most=3), draw.integers((), a.dtype)], opset=10))


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("QuantizeLinear", [np.zeros((2, 3), FLOAT), np.ones(2, FLOAT)], {"axis": 1}, "do not fit axis 1"),
        ("QuantizeLinear", [np.zeros(3, FLOAT), np.ones((), FLOAT)], {"output_dtype": 7}, "to int64"),
        ("DequantizeLinear", [np.zeros(3, np.int8), np.ones((), FLOAT), np.zeros((), np.uint8)], {}, "zero point"),
        ("DynamicQuantizeLinear", [np.zeros(3, np.float64)], {}, "takes float32"),
    ],
)
def test_what_does_not_fit(op_type: str, inputs: list[Array], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises((ModelError, UnsupportedError, ValueError), match=message):
        run_here(System.ONNX, op_type, inputs, version=21, attributes=attributes)
