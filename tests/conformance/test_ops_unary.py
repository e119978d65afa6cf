"""Elementwise operators of one input next to onnxruntime and OpenVINO."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System
from loopdbg.runtime.ops.registry import UnknownOperatorError

from .elementwise_inputs import F16, F32, F64, I8, I32, I64, U8, edges, random, rows_by_dtype
from .operator_checks import run_operator
from .single_node import assert_close, assert_same, onnx_node, openvino_nodes

# The dtypes are those that onnxruntime has kernels for.
ONNX_UNARY: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Neg", (F32, F64, F16, I8, I32, I64), {}),
    ("Abs", (F32, F64, F16, I8, I32, I64, U8), {}),
    ("Sign", (F32, F64, F16, I8, I32, I64, U8), {}),
    ("Reciprocal", (F32, F64, F16), {}),
    ("Sqrt", (F32, F64, F16), {}),
    ("Exp", (F32, F64, F16), {}),
    ("Log", (F32, F64, F16), {}),
    ("Floor", (F32, F64, F16), {}),
    ("Ceil", (F32, F64, F16), {}),
    ("Round", (F32, F64, F16), {}),
    ("Erf", (F32, F16), {}),
    ("Sin", (F32, F64), {}),
    ("Cos", (F32, F64), {}),
    ("Tan", (F32,), {}),
    ("Asin", (F32,), {}),
    ("Acos", (F32,), {}),
    ("Atan", (F32,), {}),
    ("Sinh", (F32,), {}),
    ("Cosh", (F32,), {}),
    ("Tanh", (F32, F64), {}),
    ("Asinh", (F32,), {}),
    ("Acosh", (F32,), {}),
    ("Atanh", (F32,), {}),
    ("IsNaN", (F32, F64, F16), {}),
    ("IsInf", (F32, F64), {}),
    ("IsInf", (F32, F64), {"detect_negative": 0}),
    ("IsInf", (F32, F64), {"detect_positive": 0}),
    ("IsInf", (F32, F64), {"detect_positive": 0, "detect_negative": 0}),
    ("Not", (np.bool_,), {}),
    ("BitwiseNot", (I8, I32, I64, U8), {}),
    ("Identity", (F32, F64, F16, I32, I64, np.bool_), {}),
    ("Relu", (F32, F64, F16, I8, I32), {}),
    ("LeakyRelu", (F32,), {}),
    ("LeakyRelu", (F32,), {"alpha": 0.3}),
    ("Elu", (F32,), {"alpha": 1.5}),
    ("Selu", (F32,), {}),
    ("Selu", (F32,), {"alpha": 2.0, "gamma": 3.0}),
    ("Celu", (F32,), {"alpha": 2.0}),
    ("Sigmoid", (F32, F64), {}),
    ("HardSigmoid", (F32,), {}),
    ("HardSigmoid", (F32,), {"alpha": 0.5, "beta": 0.6}),
    ("HardSwish", (F32,), {}),
    ("Softplus", (F32,), {}),
    ("Softsign", (F32,), {}),
    ("ThresholdedRelu", (F32,), {}),
    ("ThresholdedRelu", (F32,), {"alpha": -1.5}),
    ("Mish", (F32,), {}),
    ("Gelu", (F32,), {}),
    ("Gelu", (F32,), {"approximate": "tanh"}),
]


@pytest.mark.parametrize(("op", "dtype", "attributes"), rows_by_dtype(ONNX_UNARY))
def test_onnx_unary(op: str, dtype: Any, attributes: dict[str, Any]) -> None:
    tolerance = 2e-3 if dtype == F16 else 1e-5
    values = random((3,), dtype) if dtype == np.bool_ else edges(dtype)
    if (op, dtype) == ("Sign", F16):
        values = values[~np.isnan(values)]  # onnxruntime's Sign(NaN) is 0 for a half alone
    for x in (values, random((2, 3), dtype), random((), dtype), random((0, 2), dtype)):
        assert_close(*onnx_node(op, [x], **attributes), rtol=tolerance)


# Where onnxruntime has no float64 kernel: Python's own functions.
FLOAT64: dict[str, Callable[[float], float]] = {
    "Erf": math.erf,
    "Tan": math.tan,
    "Asin": lambda v: math.asin(v / 5),
    "Acos": lambda v: math.acos(v / 5),
    "Atan": math.atan,
    "Sinh": math.sinh,
    "Cosh": math.cosh,
    "Asinh": math.asinh,
    "Acosh": lambda v: math.acosh(v + 6),
    "Atanh": lambda v: math.atanh(v / 5),
    "LeakyRelu": lambda v: v if v > 0 else 0.01 * v,
    "Elu": lambda v: v if v > 0 else math.exp(v) - 1,
    "Selu": lambda v: 1.0507010221481323 * (v if v > 0 else 1.6732631921768188 * (math.exp(v) - 1)),
    "HardSwish": lambda v: v * min(max(v / 6 + 0.5, 0), 1),
    "Softplus": lambda v: math.log(1 + math.exp(v)),
    "Softsign": lambda v: v / (1 + abs(v)),
    "Mish": lambda v: v * math.tanh(math.log(1 + math.exp(v))),
    "Gelu": lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))),
}


DOMAIN = {"Asin": lambda x: x / 5, "Acos": lambda x: x / 5, "Atanh": lambda x: x / 5, "Acosh": lambda x: x + 6}


@pytest.mark.parametrize("op", FLOAT64)
def test_float64_keeps_its_precision(op: str) -> None:
    x = random((7,), F64)
    expected = np.array([FLOAT64[op](v) for v in x.tolist()])
    result = run_operator(System.ONNX, op, DOMAIN.get(op, lambda x: x)(x), version=22)
    assert_close([result], [expected], rtol=1e-13, atol=1e-15)


def test_swish() -> None:
    """onnxruntime does not know opset 24; the definition does."""
    x = random((5,), F32)
    assert_close([run_operator(System.ONNX, "Swish", x, version=24, alpha=1.5)], [x / (1 + np.exp(-1.5 * x))])


def test_consumed_inputs_is_accepted_only_before_opset_6() -> None:
    x = random((2,), F32)
    assert_close([run_operator(System.ONNX, "Exp", x, version=1, consumed_inputs=[0])], [np.exp(x)])
    with raises_error(ModelError, node="node", op_type="Exp", name="consumed_inputs"):
        run_operator(System.ONNX, "Exp", x, version=6, consumed_inputs=[0])


def test_an_operator_does_not_exist_before_its_first_opset() -> None:
    with raises_error(UnknownOperatorError, node="node", op_type="Sin"):
        run_operator(System.ONNX, "Sin", random((2,), F32), version=6)


OPENVINO_UNARY: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
    ("Negative", 1, (F32, F16, I32, I64), {}),
    ("Abs", 1, (F32, F16, I32, I64), {}),
    ("Sign", 1, (F32, F16, I32, I64), {}),
    ("Sqrt", 1, (F32, F16), {}),
    ("Exp", 1, (F32, F16), {}),
    ("Log", 1, (F32, F16), {}),
    ("Erf", 1, (F32, F16, I32), {}),
    ("Floor", 1, (F32, F16, I32), {}),
    ("Ceiling", 1, (F32, F16, I32), {}),
    ("Round", 5, (F32, F16, I32), {}),
    ("Round", 5, (F32, F16, I32), {"mode": "half_to_even"}),
    ("Round", 5, (F32, F16, I32), {"mode": "half_away_from_zero"}),
    ("Sin", 1, (F32, F16, I32), {}),
    ("Cos", 1, (F32, F16, I32), {}),
    ("Tan", 1, (F32, F16, I32), {}),
    ("Asin", 1, (F32,), {}),
    ("Acos", 1, (F32,), {}),
    ("Atan", 1, (F32, F16, I32), {}),
    ("Sinh", 1, (F32, F16), {}),
    ("Cosh", 1, (F32, F16), {}),
    ("Tanh", 1, (F32, F16, I32), {}),
    ("Asinh", 4, (F32, F16, I32), {}),
    ("Acosh", 4, (F32,), {}),
    ("Atanh", 4, (F32,), {}),
    ("IsNaN", 10, (F32, F16), {}),
    ("IsInf", 10, (F32, F16), {}),
    ("IsInf", 10, (F32,), {"detect_negative": False}),
    ("IsInf", 10, (F32,), {"detect_positive": False}),
    ("IsFinite", 10, (F32, F16), {}),
    ("LogicalNot", 1, (np.bool_,), {}),
    ("BitwiseNot", 13, (I32, I8, np.bool_), {}),
    ("ReLU", 1, (F32, F16, I32), {}),
    ("Elu", 1, (F32,), {"alpha": 1.5}),
    ("Sigmoid", 1, (F32, F16), {}),
    ("HSigmoid", 5, (F32,), {}),
    ("HSwish", 4, (F32, I32), {}),
    ("SoftPlus", 4, (F32,), {}),
    ("SoftSign", 9, (F32,), {}),
    ("Mish", 4, (F32,), {}),
    ("Swish", 4, (F32,), {}),
    ("Gelu", 2, (F32,), {}),
    ("Gelu", 7, (F32,), {"approximation_mode": "ERF"}),
    ("Gelu", 7, (F32,), {"approximation_mode": "TANH"}),
    ("Clamp", 1, (F32, F16, I32, I64), {"min": -1.5, "max": 2.5}),
    ("Clamp", 1, (F32,), {"min": "-inf", "max": 0}),
    ("Clamp", 1, (I32,), {"min": -1e30, "max": 1}),
]


@pytest.mark.parametrize(("op", "opset", "dtype", "attributes"), rows_by_dtype(OPENVINO_UNARY))
def test_openvino_unary(op: str, opset: int, dtype: Any, attributes: dict[str, Any]) -> None:
    tolerance = 2e-3 if dtype == F16 else 1e-5
    values = random((3,), dtype) if dtype == np.bool_ else edges(dtype)
    if values.dtype.kind == "f" and not op.startswith("Is"):
        values = values[~np.isnan(values)]  # what the plugin's vector code makes of a NaN depends on the operator
        if op == "Gelu":
            values = values[np.abs(values) < 1e30]  # and of the largest numbers on the processor
    several = [[x] for x in (values, random((2, 3), dtype), random((), dtype), random((0, 2), dtype))]
    assert_close(*openvino_nodes(op, several, opset=opset, **attributes), rtol=tolerance, atol=1e-5)


@pytest.mark.parametrize("op", ["ReLU", "Exp", "Sigmoid", "HSigmoid"])
def test_openvino_unary_keeps_nan(op: str) -> None:
    """OpenVINO's plugin turns some into numbers (ReLU(NaN) = 0), which would hide where a NaN came from."""
    assert np.isnan(run_operator(System.OPENVINO, op, np.array([np.nan], F32), version=5))


def test_round_half_away_from_zero_just_below_a_half() -> None:
    """floor(|x| + 0.5), which OpenVINO's plugin computes, gives 1 here."""
    x = np.array([0.49999997, -0.49999997, 0.5, -0.5, 8388609.0], F32)
    result = run_operator(System.OPENVINO, "Round", x, version=5, mode="half_away_from_zero")
    assert_close([result], [np.array([0, -0.0, 1, -1, 8388609], F32)], atol=0)


def test_unknown_mode_attribute_is_rejected() -> None:
    x = random((2,), F32)
    with raises_error(ModelError, name="approximation", expected="none, tanh", got="'good'"):
        run_operator(System.ONNX, "Gelu", x, version=20, approximate="good")
    with raises_error(ModelError, name="mode", expected="half_to_even, half_away_from_zero", got="'up'"):
        run_operator(System.OPENVINO, "Round", x, version=5, mode="up")


def test_float16_is_computed_in_wider_type() -> None:
    """A half's own arithmetic would lose digits in formulas of several steps."""
    x = np.linspace(-8, 8, 33).astype(F16)
    width = x.astype(F64)
    for op, expected in (
        ("Sigmoid", 1 / (1 + np.exp(-width))),
        ("Softplus", np.log1p(np.exp(width))),
        ("Mish", width * np.tanh(np.log1p(np.exp(width)))),
    ):
        assert_same(run_operator(System.ONNX, op, x, version=22), expected.astype(F16))
