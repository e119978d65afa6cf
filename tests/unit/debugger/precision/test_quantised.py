"""Nodes with operands in 8 bits, against NumPy and onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import loopdbg
from loopdbg.debugger.precision.runs import PrecisionRuns
from text_models import sample, text_with_initializers

PRODUCTS = """
g (int64 M, float[1,3] x0) => (float[1,3] x, float[N,1,3] rows) {
    yes = Constant <value = bool {1}> ()
    x, rows = Loop <body = body (int64 i, bool c, float[1,3] x_in) => (bool keep, float[1,3] x_out, float[1,3] row) {
        keep = Identity (c)
        product = MatMul (x_in, w)
        x_out = Tanh (product)
        row = Identity (x_out)
    }> (M, yes, x0)
}"""
WEIGHTS = np.array([[0.5, -2.0, 0.01], [1.5, 0.25, -0.02], [-0.75, 1.0, 0.03]], np.float32)


def quantised(data: Any, low: float, high: float) -> Any:
    """Asymmetric 8 bits, as ONNX defines QuantizeLinear."""
    scale = np.float32((high - low) / 255)
    zero = round(-low / float((high - low) / 255))
    steps = np.clip(np.rint(data / scale) + zero, 0, 255)
    return ((steps - zero) * scale).astype(np.float32)


def test_products_are_those_of_numpy() -> None:
    x0 = np.array([[0.9, -0.4, 0.1]], np.float32)
    loaded = text_with_initializers(PRODUCTS, w=WEIGHTS)
    precision = loaded.precision({"M": 6, "x0": x0}, "int8")
    assert (precision.narrow_count, precision.node_count) == (1, 2)
    runs = PrecisionRuns(loaded, {"M": 6, "x0": x0}, "int8")
    outputs = runs.run([node for node in runs.nodes if node.op_type == "MatMul"]).outputs
    assert outputs is not None
    # The range is that of what the product reads in the float32 run, with zero.
    read, x = [], x0
    for _ in range(6):
        read.append(x)
        x = np.tanh(x @ WEIGHTS)
    low, high = min(0.0, float(np.min(read))), max(0.0, float(np.max(read)))
    scale = (np.abs(WEIGHTS).max(axis=0) / 127).astype(np.float32)
    weights = (np.clip(np.rint(WEIGHTS / scale), -128, 127) * scale).astype(np.float32)
    x, rows = x0, []
    for _ in range(6):
        x = np.tanh(quantised(x, low, high) @ weights)
        rows.append(x)
    np.testing.assert_allclose(np.asarray(outputs["rows"]), np.array(rows), atol=1e-6)


def test_saved_model_in_onnxruntime(tmp_path: Path) -> None:
    path, inputs = tmp_path / "int8.onnx", {"M": np.array(6), "x0": np.array([[0.9, -0.4, 0.1]], np.float32)}
    text_with_initializers(PRODUCTS, w=WEIGHTS).precision(inputs, "int8", save=path)
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    theirs = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, inputs)
    ours = loopdbg.load(path).run(inputs)
    for name, value in zip(("x", "rows"), theirs, strict=True):
        np.testing.assert_allclose(np.asarray(ours[name]), value, atol=1e-5)


def test_an_outlier_costs_the_other_numbers_their_steps() -> None:
    x0 = np.array([[1000.0, 0.5, -0.25]], np.float32)
    precision = text_with_initializers(PRODUCTS, w=np.eye(3, dtype=np.float32)).precision({"M": 1, "x0": x0}, "int8")
    # Of the largest number the error of the product is nothing; its hyperbolic tangent shows it.
    assert precision.first_loss is not None and precision.first_loss.name == "x_out"
    rows = next(value for value in precision.values if value.name == "x_out")
    assert rows.errors[0] == pytest.approx(float(np.tanh(0.5)), abs=1e-6)
    assert rows.dead_digits == pytest.approx(2.4 + np.log10(np.tanh(0.5)), abs=0.05)


@pytest.mark.parametrize("name", ["greedy_decoder.onnx", "lstm.xml", "trt/char_rnn.py"])
def test_samples(name: str) -> None:
    loaded, inputs = sample(name)
    precision = loaded.precision(inputs, "int8", tolerance=1e-2)
    assert precision.narrow_count and not precision.failure
    assert precision.wide_nodes is not None and precision.wide_nodes.error <= 1e-2
    assert "weights int8, symmetric" in str(precision)
