"""Activations with inputs, Dropout, and narrow floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.graph import System

from .elementwise_inputs import F32, edges, random
from .operator_checks import run_operator
from .single_node import assert_close, assert_same, onnx_node, openvino_node, openvino_outputs, run_here


def test_openvino_activations_with_inputs() -> None:
    x = edges(F32)[1:]
    first = np.array([1.3], F32)
    assert_close(*openvino_node("Swish", [x, np.array(1.5, F32)], opset=4, constant=[1]))
    assert_close(*openvino_node("Selu", [x, first, first], constant=[1, 2]))
    scale, shift = np.array(0.3, F32), np.array(0.4, F32)
    assert_close(*openvino_node("HardSigmoid", [x, scale, shift], constant=[1, 2]))


@pytest.mark.parametrize(("shape", "slope"), [((2, 3, 4), (3,)), ((2, 3, 3), (3,)), ((2, 3), (3,)), ((2, 3), (1,))])
def test_openvino_prelu_goes_along_the_channel(shape: tuple[int, ...], slope: tuple[int, ...]) -> None:
    assert_close(*openvino_node("PReLU", [random(shape, F32), random(slope, F32, 1)], constant=[1]))


def test_prelu_before_opset_7_goes_along_the_channel() -> None:
    x, slope = random((2, 3, 3), F32), random((3,), F32, 1)
    result = run_operator(System.ONNX, "PRelu", x, slope, version=6)
    assert_close([result], [np.where(x < 0, x * slope[:, None], x)])


@pytest.mark.parametrize("opset", [7, 10, 12, 13])
def test_dropout_infers(opset: int) -> None:
    x = random((2, 3), F32)
    inputs: list[Any] = [x, np.array(0.7, F32)] if opset > 10 else [x]
    assert_close(*onnx_node("Dropout", inputs, opset=opset))
    assert_close(*onnx_node("Dropout", inputs, 2, opset=opset))
    with raises_error(UnsupportedError, name="is_test", got="0"):
        run_operator(System.ONNX, "Dropout", x, version=6, ratio=0.5)
    assert_same(run_operator(System.ONNX, "Dropout", x, version=6, is_test=1), x)


def test_dropout_in_training_keeps_the_mean_and_repeats() -> None:
    x = np.ones((100, 100), F32)
    inputs = [x, np.array(0.25, F32), np.array(True)]
    y, mask = run_here(System.ONNX, "Dropout", inputs, 2, version=13, attributes={"seed": 3})
    assert 0.73 < mask.mean() < 0.77
    assert_close([y], [mask.astype(F32) / F32(0.75)])
    assert_same(run_here(System.ONNX, "Dropout", inputs, 2, version=13, attributes={"seed": 3})[0], y)
    with raises_error(ModelError, name="ratio", expected="[0, 1)", got="1.0"):
        run_here(System.ONNX, "Dropout", [x, np.array(1.0, F32), np.array(True)], version=13, attributes={})


def test_the_peer_helper_writes_attributes_as_ir_text() -> None:
    """openvino_outputs is what other tests rest on: an attribute must reach the plugin."""
    x = np.array([-1.0, 1.0], F32)
    assert openvino_outputs("Clamp", [x], min=0, max=0.5)[0].tolist() == [0, 0.5]
