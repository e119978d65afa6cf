"""Arithmetic, comparison, logic, choice, conversion and activations beside onnxruntime and OpenVINO."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ExecutionError, ModelError, UnsupportedError
from loopdbg.runtime.graph import Operation, System, Value

from .single_node import (
    Array,
    close,
    engine_outputs,
    onnx_node,
    openvino_node,
    openvino_outputs,
    openvino_reference,
    ours,
    same,
)

F16, F32, F64 = np.float16, np.float32, np.float64
I8, I32, I64, U8, U32 = np.int8, np.int32, np.int64, np.uint8, np.uint32

SHAPES = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((1, 1), (2, 0))]
EDGES = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-30, 88.0, -88.0, 100.0, -100.0, 3e38]


def edges(dtype: Any) -> Array:
    """The edge values that a dtype has."""
    values = np.array(EDGES)
    if np.dtype(dtype).kind == "f":
        return values[np.isnan(values) | np.isinf(values) | (abs(values) < float(np.finfo(dtype).max))].astype(dtype)
    fitting = values[np.isfinite(values) & (abs(values) <= 100)]
    return (abs(fitting) if np.dtype(dtype).kind == "u" else fitting).astype(dtype)


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Numbers between -4 and 4 without zeros, or booleans."""
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return np.asarray(rng.integers(0, 2, shape).astype(bool))
    if np.dtype(dtype).kind == "f":
        return np.asarray(rng.uniform(0.25, 4, shape) * rng.choice([-1, 1], shape), dtype)
    numbers = rng.integers(1, 5, shape)
    return np.asarray(numbers if np.dtype(dtype).kind == "u" else numbers * rng.choice([-1, 1], shape), dtype)


def mine(system: System, op_type: str, *inputs: Any, version: int, **attributes: Any) -> Any:
    """The first output of one of our operators."""
    return ours(system, op_type, list(inputs), version=version, attributes=attributes)[0]


# --- One input, ONNX. The dtypes are those that onnxruntime has kernels for.

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
UNARY_CASES = [
    pytest.param(op, dtype, attributes, id="-".join([op, np.dtype(dtype).name, *attributes]))
    for op, dtypes, attributes in ONNX_UNARY
    for dtype in dtypes
]


@pytest.mark.parametrize(("op", "dtype", "attributes"), UNARY_CASES)
def test_onnx_unary(op: str, dtype: Any, attributes: dict[str, Any]) -> None:
    tolerance = 2e-3 if dtype == F16 else 1e-5
    values = random((3,), dtype) if dtype == np.bool_ else edges(dtype)
    if (op, dtype) == ("Sign", F16):
        values = values[~np.isnan(values)]  # onnxruntime's Sign(NaN) is 0 for a half alone
    for x in (values, random((2, 3), dtype), random((), dtype), random((0, 2), dtype)):
        close(*onnx_node(op, [x], **attributes), rtol=tolerance)


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
    result = mine(System.ONNX, op, DOMAIN.get(op, lambda x: x)(x), version=22)
    close([result], [expected], rtol=1e-13, atol=1e-15)


def test_swish() -> None:
    """onnxruntime does not know opset 24; the definition does."""
    x = random((5,), F32)
    close([mine(System.ONNX, "Swish", x, version=24, alpha=1.5)], [x / (1 + np.exp(-1.5 * x))])


def test_an_old_attribute_without_meaning_is_allowed_before_opset_6_only() -> None:
    x = random((2,), F32)
    close([mine(System.ONNX, "Exp", x, version=1, consumed_inputs=[0])], [np.exp(x)])
    with pytest.raises(ModelError, match="consumed_inputs"):
        mine(System.ONNX, "Exp", x, version=6, consumed_inputs=[0])


def test_an_operator_does_not_exist_before_its_first_opset() -> None:
    with pytest.raises(UnsupportedError, match=r"Sin .*opset 6"):
        mine(System.ONNX, "Sin", random((2,), F32), version=6)


# --- One input, OpenVINO.

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


@pytest.mark.parametrize(
    ("op", "opset", "dtype", "attributes"),
    [
        pytest.param(
            op, opset, dtype, attributes, id="-".join([op, np.dtype(dtype).name, *map(str, attributes.values())])
        )
        for op, opset, dtypes, attributes in OPENVINO_UNARY
        for dtype in dtypes
    ],
)
def test_openvino_unary(op: str, opset: int, dtype: Any, attributes: dict[str, Any]) -> None:
    tolerance = 2e-3 if dtype == F16 else 1e-5
    values = random((3,), dtype) if dtype == np.bool_ else edges(dtype)
    if values.dtype.kind == "f" and not op.startswith("Is"):
        values = values[~np.isnan(values)]  # what the plugin's vector code makes of a NaN depends on the operator
        if op == "Gelu":
            values = values[np.abs(values) < 1e30]  # and of the largest numbers on the processor
    for x in (values, random((2, 3), dtype), random((), dtype), random((0, 2), dtype)):
        close(*openvino_node(op, [x], opset=opset, **attributes), rtol=tolerance, atol=1e-5)


@pytest.mark.parametrize("op", ["ReLU", "Exp", "Sigmoid", "HSigmoid"])
def test_a_nan_stays_a_nan(op: str) -> None:
    """OpenVINO's plugin turns some into numbers (ReLU(NaN) = 0), which would hide where a NaN came from."""
    assert np.isnan(mine(System.OPENVINO, op, np.array([np.nan], F32), version=5))


def test_round_half_away_from_zero_just_below_a_half() -> None:
    """floor(|x| + 0.5), which OpenVINO's plugin computes, gives 1 here."""
    x = np.array([0.49999997, -0.49999997, 0.5, -0.5, 8388609.0], F32)
    result = mine(System.OPENVINO, "Round", x, version=5, mode="half_away_from_zero")
    close([result], [np.array([0, -0.0, 1, -1, 8388609], F32)], atol=0)


# --- Two inputs.

NUMBERS = (F32, F64, F16, I32, I64)
ONNX_BINARY: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Add", (*NUMBERS,), {}),
    ("Sub", (*NUMBERS,), {}),
    ("Mul", (*NUMBERS,), {}),
    ("Div", (*NUMBERS, U32), {}),
    ("Mod", (I32, I64, I8, U8), {}),
    ("Mod", (F32, F64, I32, I64, U32), {"fmod": 1}),
    ("Equal", (*NUMBERS, np.bool_), {}),
    ("Greater", (F32, F64, I32, I64), {}),
    ("GreaterOrEqual", (F32, F64, I32, I64), {}),
    ("Less", (F32, F64, I32, I64), {}),
    ("LessOrEqual", (F32, F64, I32, I64), {}),
    ("And", (np.bool_,), {}),
    ("Or", (np.bool_,), {}),
    ("Xor", (np.bool_,), {}),
    ("BitwiseAnd", (I32, I64, U8), {}),
    ("BitwiseOr", (I32, I64, U8), {}),
    ("BitwiseXor", (I32, I64, U8), {}),
    ("BitShift", (U8, U32, np.uint64), {"direction": "LEFT"}),
    ("BitShift", (U8, U32, np.uint64), {"direction": "RIGHT"}),
    ("Min", (F32, F64, F16, I32, I64), {}),
    ("Max", (F32, F64, F16, I32, I64), {}),
    ("Sum", (F32, F64), {}),
    ("Mean", (F32,), {}),
    ("PRelu", (F32,), {}),
]


@pytest.mark.parametrize(
    ("op", "dtype", "attributes"),
    [
        pytest.param(op, dtype, attributes, id="-".join([op, np.dtype(dtype).name, *map(str, attributes.values())]))
        for op, dtypes, attributes in ONNX_BINARY
        for dtype in dtypes
    ],
)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_onnx_binary(
    op: str, dtype: Any, attributes: dict[str, Any], shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    if op == "PRelu" and np.broadcast_shapes(*shapes) != shapes[0]:
        with pytest.raises(ModelError, match="slope"):
            mine(System.ONNX, op, random(shapes[0], dtype), random(shapes[1], dtype), version=21)
        return
    inputs: list[Any] = [random(shapes[0], dtype, 1), random(shapes[1], dtype, 2)]
    close(*onnx_node(op, inputs, **attributes), rtol=1e-3 if dtype == F16 else 1e-6)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Less", "GreaterOrEqual"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_onnx_binary_edges(op: str, dtype: Any) -> None:
    x = edges(dtype)
    close(*onnx_node(op, [x[:, None], x[None, :]]))


@pytest.mark.parametrize("dtype", [F32, F64])
def test_fmod_edges(dtype: Any) -> None:
    x = edges(dtype)
    close(*onnx_node("Mod", [x[:, None], x[None, :]], fmod=1))


def test_mod_of_floats_needs_fmod_before_opset_28() -> None:
    x, y = np.array([5.5, -5.5, 5.5, 1.0], F32), np.array([3, 3, -3, -np.inf], F32)
    with pytest.raises(ModelError, match="fmod=1"):
        mine(System.ONNX, "Mod", x, y, version=13)
    close([mine(System.ONNX, "Mod", x, y, version=28)], [np.array([2.5, 0.5, -0.5, -np.inf], F32)])


@pytest.mark.parametrize("dtypes", [(F32, F32), (F64, F64), (F32, I64), (F32, F64), (I32, F32), (I64, I32), (I64, I64)])
def test_onnx_power(dtypes: tuple[Any, Any]) -> None:
    x = np.array([[1], [2], [3], [10]], dtypes[0])
    close(*onnx_node("Pow", [x, np.array([0, 1, 2, 3], dtypes[1])]))


def test_power_edges() -> None:
    x = edges(F32)
    close(*onnx_node("Pow", [x[:, None], x[None, :]]))


def test_integer_power() -> None:
    """Wraps around like multiplication; a negative exponent truncates. onnxruntime goes through double here."""
    x, y = np.array([2, 3, -2, 3, 1, -1, -1, 7], I64), np.array([-1, 39, 63, 41, -5, -3, -4, -2], I64)
    wrapped = (3**41 + 2**63) % 2**64 - 2**63
    expected = [np.array([0, 3**39, -(2**63), wrapped, 1, -1, 1, 0], I64)]
    close([mine(System.ONNX, "Pow", x, y, version=15)], expected)
    with pytest.raises(ZeroDivisionError):
        mine(System.ONNX, "Pow", np.array([0], I64), np.array([-1], I64), version=15)


@pytest.mark.parametrize(
    ("system", "op", "attributes"),
    [
        (System.ONNX, "Div", {}),
        (System.ONNX, "Mod", {}),
        (System.ONNX, "Mod", {"fmod": 1}),
        (System.OPENVINO, "Divide", {}),
        (System.OPENVINO, "Divide", {"m_pythondiv": "false"}),
        (System.OPENVINO, "Mod", {}),
        (System.OPENVINO, "FloorMod", {}),
    ],
)
def test_integer_division_by_zero_is_an_error(system: System, op: str, attributes: dict[str, Any]) -> None:
    for dtype in (I32, I64, U8):
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            mine(system, op, np.array([4, 7], dtype), np.array([2, 0], dtype), version=13, **attributes)
        nothing = mine(system, op, np.zeros((0,), dtype), np.array([0], dtype), version=13, **attributes)
        assert nothing.shape == (0,)


def test_a_kernel_reports_division_by_zero_too() -> None:
    """And says where, once the engine is around."""
    node = Operation("halve", "Div", "", 14, [Value("in0"), Value("in1")], [Value("out0")])
    inputs = [np.array([4, 7], I64), np.array([2, 0], I64)]
    with pytest.raises(ExecutionError, match=r"Div 'halve' .*division by zero"):
        engine_outputs(System.ONNX, node, inputs)


@pytest.mark.parametrize("dtype", [I8, I32, I64])
def test_integer_division_signs_and_the_smallest_integer(dtype: Any) -> None:
    """By -1 a real machine traps on the smallest integer (onnxruntime dies of it); here it wraps around."""
    lowest = np.iinfo(dtype).min
    a, b = np.array([7, -7, 7, -7, lowest, lowest], dtype), np.array([2, 2, -2, -2, -1, 2], dtype)
    half = lowest // 2
    expected: list[tuple[System, str, dict[str, Any], list[int]]] = [
        (System.ONNX, "Div", {}, [3, -3, -3, 3, lowest, half]),
        (System.ONNX, "Mod", {}, [1, 1, -1, -1, 0, 0]),
        (System.ONNX, "Mod", {"fmod": 1}, [1, -1, 1, -1, 0, 0]),
        (System.OPENVINO, "Divide", {}, [3, -4, -4, 3, lowest, half]),
        (System.OPENVINO, "Divide", {"m_pythondiv": "0"}, [3, -3, -3, 3, lowest, half]),
        (System.OPENVINO, "Mod", {}, [1, -1, 1, -1, 0, 0]),
        (System.OPENVINO, "FloorMod", {}, [1, 1, -1, -1, 0, 0]),
    ]
    for system, op, attributes, values in expected:
        close([mine(system, op, a, b, version=13, **attributes)], [np.array(values, dtype)])


@pytest.mark.parametrize("dtype", [I32, I64])
def test_onnx_integer_division(dtype: Any) -> None:
    a, b = np.arange(-7, 8, dtype=dtype)[:, None], np.array([-3, -2, -1, 1, 2, 3], dtype)
    for op, attributes in (("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})):
        close(*onnx_node(op, [a, b], **attributes))


def test_int64_stays_64_bits_wide() -> None:
    a, b = np.array([2**62, -(2**62) - 5, 2**53 + 1], I64), np.array([3, 7, 10], I64)
    for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Less", "Equal"):
        close(*onnx_node(op, [a, b]))
    close([mine(System.OPENVINO, "Divide", a, b, version=1)], [a // b])
    close([mine(System.OPENVINO, "Multiply", a, b, version=1)], [a * b])


def test_shift_beyond_the_width() -> None:
    """Opset 28 states it; a negative shift counts as beyond."""
    x, y = np.array([-8, 8, -8, 8, -8], I32), np.array([32, 40, 1, 1, -1], I32)
    left, right = np.array([0, 0, -16, 16, 0], I32), np.array([-1, 0, -4, 4, -1], I32)
    close([mine(System.ONNX, "BitShift", x, y, version=28, direction="LEFT")], [left])
    close([mine(System.ONNX, "BitShift", x, y, version=28, direction="RIGHT")], [right])
    with pytest.raises(ModelError, match="LEFT"):
        mine(System.ONNX, "BitShift", x, y, version=28, direction="UP")


def test_strings_compare() -> None:
    a, b = np.array(["a", "b"], object), np.array(["a", "c"], object)
    close(*onnx_node("Equal", [a, b]))


@pytest.mark.parametrize("op", ["Sum", "Min", "Max", "Mean"])
@pytest.mark.parametrize("shapes", [((2, 3),), ((2, 3), (3,), (1, 1)), ((), (2,), (2,), (3, 1))])
def test_variadic(op: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    close(*onnx_node(op, [random(shape, F32, k) for k, shape in enumerate(shapes)]))


@pytest.mark.parametrize("op", ["Sum", "Min", "Max", "Mean"])
def test_variadic_operators_do_not_broadcast_before_opset_8(op: str) -> None:
    a, b = random((2, 3), F32), random((3,), F32)
    with pytest.raises(ModelError, match="opsets before 8"):
        mine(System.ONNX, op, a, b, version=6)
    close([mine(System.ONNX, op, a, a, version=6)], [mine(System.ONNX, op, a, a, version=8)])


@pytest.mark.parametrize("version", [1, 6])
@pytest.mark.parametrize(
    ("op", "function"),
    [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide), ("Less", np.less)],
)
def test_broadcasting_before_opset_7(op: str, function: np.ufunc, version: int) -> None:
    """The examples of Add-6: shape(B) is a contiguous subset of shape(A), from ``axis`` on, else the suffix."""
    a = random((2, 3, 4, 5), F32)
    for shape, axis, aligned in [
        ((), None, ()),
        ((5,), None, (5,)),
        ((4, 5), None, (4, 5)),
        ((3, 4), 1, (3, 4, 1)),
        ((2,), 0, (2, 1, 1, 1)),
        ((1, 1), 1, (1, 1, 1)),
    ]:
        b = random(shape, F32, 3)
        attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
        result = mine(System.ONNX, op, a, b, version=version, **attributes)
        close([result], [function(a, b.reshape(aligned))])
    with pytest.raises(ModelError, match="broadcast=1"):
        mine(System.ONNX, op, a, random((5,), F32), version=version)
    with pytest.raises(ModelError, match="does not broadcast"):
        mine(System.ONNX, op, a, random((4,), F32), version=version, broadcast=1)
    with pytest.raises(ModelError, match="broadcast"):
        mine(System.ONNX, op, a, random((4,), F32), version=7, broadcast=1)


OPENVINO_BINARY: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
    ("Add", 1, (F32, F16, I32, I64), {}),
    ("Subtract", 1, (F32, I32, I64), {}),
    ("Multiply", 1, (F32, I32, I64), {}),
    ("Divide", 1, (F32,), {}),
    ("Divide", 1, (F32,), {"m_pythondiv": True}),
    ("Divide", 1, (F32, I32), {"m_pythondiv": False}),
    ("Mod", 1, (F32, I32), {}),
    ("FloorMod", 1, (F32, I32), {}),
    ("Power", 1, (F32,), {}),
    ("Minimum", 1, (F32, I32), {}),
    ("Maximum", 1, (F32, I32), {}),
    ("SquaredDifference", 1, (F32, I32), {}),
    ("Equal", 1, (F32, I32), {}),
    ("NotEqual", 1, (F32, I32), {}),
    ("Greater", 1, (F32, I32), {}),
    ("GreaterEqual", 1, (F32, I32), {}),
    ("Less", 1, (F32, I32), {}),
    ("LessEqual", 1, (F32, I32), {}),
    ("LogicalAnd", 1, (np.bool_,), {}),
    ("LogicalOr", 1, (np.bool_,), {}),
    ("LogicalXor", 1, (np.bool_,), {}),
    ("BitwiseAnd", 13, (I32,), {}),
    ("BitwiseOr", 13, (I32,), {}),
    ("BitwiseXor", 13, (I32,), {}),
    ("BitwiseLeftShift", 15, (U8,), {}),
    ("BitwiseRightShift", 15, (U8,), {}),
]


@pytest.mark.parametrize(
    ("op", "opset", "dtype", "attributes"),
    [
        pytest.param(
            op, opset, dtype, attributes, id="-".join([op, np.dtype(dtype).name, *map(str, attributes.values())])
        )
        for op, opset, dtypes, attributes in OPENVINO_BINARY
        for dtype in dtypes
    ],
)
def test_openvino_binary(op: str, opset: int, dtype: Any, attributes: dict[str, Any]) -> None:
    for shapes in SHAPES:
        a, b = random(shapes[0], dtype, 1), random(shapes[1], dtype, 2)
        close(*openvino_node(op, [a, b], opset=opset, auto_broadcast="numpy", **attributes), atol=1e-5)
    same_shape = random((2, 3), dtype, 3)
    inputs = [same_shape, random((2, 3), dtype, 4)]
    close(*openvino_node(op, inputs, opset=opset, auto_broadcast="none", **attributes), atol=1e-5)


@pytest.mark.parametrize("attributes", [{}, {"m_pythondiv": True}, {"m_pythondiv": False}], ids=str)
def test_openvino_integer_division(attributes: dict[str, Any]) -> None:
    """The page says floor unless m_pythondiv is false, as the reference does; the plugin always truncates."""
    a, b = np.arange(-7, 8, dtype=I32)[:, None], np.array([-3, -2, -1, 1, 2, 3], I32)
    text = {name: str(value) for name, value in attributes.items()}
    result = [mine(System.OPENVINO, "Divide", a, b, version=1, **text)]
    close(result, openvino_reference("Divide", [a, b], **attributes))


@pytest.mark.parametrize("op", ["Add", "Equal", "LogicalXor", "Divide", "SquaredDifference"])
def test_openvino_broadcast_rules(op: str) -> None:
    dtype = np.bool_ if op == "LogicalXor" else F32
    a, b = random((2, 3), dtype), random((3,), dtype)
    with pytest.raises(ModelError, match='auto_broadcast="none"'):
        mine(System.OPENVINO, op, a, b, version=1, auto_broadcast="none")
    with pytest.raises(UnsupportedError, match="pdpd"):
        mine(System.OPENVINO, op, a, b, version=1, auto_broadcast="pdpd")


# --- Choice, bounds, conversion.


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64, np.bool_])
def test_where(dtype: Any) -> None:
    for c, a, b in [((2, 3), (2, 3), ()), ((), (2, 1), (3,)), ((3,), (), (2, 3)), ((0, 3), (1, 3), ())]:
        if dtype in (F32, I32, I64):
            close(*onnx_node("Where", [random(c, np.bool_), random(a, dtype, 1), random(b, dtype, 2)]))
        inputs = [random(c, np.bool_), random(a, dtype, 1), random(b, dtype, 2)]
        if dtype in (F32, I32):
            close(*openvino_node("Select", inputs, auto_broadcast="numpy"))
        close([mine(System.ONNX, "Where", *inputs, version=16)], [np.where(*inputs)])


def test_where_takes_strings() -> None:
    texts = np.array(["a", "b"], object)
    close(*onnx_node("Where", [np.array([True, False]), texts, texts[::-1].copy()]))


@pytest.mark.parametrize("dtype", [F32, F64, I8, I32, I64])
def test_clip(dtype: Any) -> None:
    x = random((3, 4), dtype)
    low, high = np.array(-2, dtype), np.array(3, dtype)
    for inputs in ([x], [x, low], [x, low, high], [x, None, high], [x, high, low]):
        close(*onnx_node("Clip", list(inputs), opset=13))


def test_clip_before_opset_11() -> None:
    x = edges(F32)
    for attributes in ({}, {"min": -1.0}, {"max": 1.5}, {"min": -1.0, "max": 1.5}):
        close(*onnx_node("Clip", [x], opset=10, **attributes))
    half = mine(System.ONNX, "Clip", edges(F16), version=6, min=-3.4028234663852886e38, max=1.0)
    close([half], [np.minimum(edges(F16), F16(1))])


ONNX_TYPE = {F32: 1, U8: 2, I8: 3, I32: 6, I64: 7, np.bool_: 9, F16: 10, F64: 11}


@pytest.mark.parametrize("source", ONNX_TYPE)
@pytest.mark.parametrize("target", ONNX_TYPE)
def test_cast(source: Any, target: Any) -> None:
    x = random((2, 3), source)
    if target == U8 and np.dtype(source).kind == "f":
        x = abs(x)  # out of range is undefined
    expected = [x.astype(target)]
    mine_, theirs = onnx_node("Cast", [x], to=ONNX_TYPE[target])
    close(mine_, theirs)
    close(mine_, expected)
    like, theirs = onnx_node("CastLike", [x, np.zeros((), target)])
    close(like, theirs)


def test_cast_edges() -> None:
    x = np.array([np.nan, np.inf, -0.0, 0.5, -1.9, 70000], F32)
    for target in (np.bool_, F16, F64):
        close(*onnx_node("Cast", [x], to=ONNX_TYPE[target]))
    close(*onnx_node("Cast", [np.array([-1.9, 1.9, 2.5, -2.5], F32)], to=ONNX_TYPE[I32]))
    close(*onnx_node("Cast", [np.array([200, -200, 2**31], I64)], to=ONNX_TYPE[I8]))


def test_cast_by_name_before_opset_6() -> None:
    x = np.array([1.5, -2.5], F32)
    for name, dtype in (("DOUBLE", F64), ("INT64", I64), ("FLOAT16", F16), ("BOOL", np.bool_)):
        close([mine(System.ONNX, "Cast", x, version=1, to=name)], [x.astype(dtype)])
    with pytest.raises(UnsupportedError):
        mine(System.ONNX, "Cast", x, version=1, to="COLOUR")


def test_cast_between_strings_and_numbers() -> None:
    texts = np.array([["3.14", "1e-5"], ["+INF", "-inf"], ["NaN", "100"]], object)
    close(*onnx_node("Cast", [texts], to=ONNX_TYPE[F32]))
    whole = np.array([str(2**62 + 1), "-7"], object)
    close(*onnx_node("Cast", [whole], to=ONNX_TYPE[I64]))
    close([mine(System.ONNX, "Cast", np.array(["100.5"], object), version=13, to=7)], [np.array([100], I64)])
    for numbers in (np.array([1, -7, 2**62 + 1], I64), np.array([0.1, 2.5, np.nan, np.inf, -np.inf], F32)):
        close(*onnx_node("Cast", [numbers], to=8))
    with pytest.raises(ValueError, match="Hello"):
        mine(System.ONNX, "Cast", np.array(["Hello"], object), version=13, to=1)


OPENVINO_TYPE = {F32: "f32", F16: "f16", I32: "i32", I64: "i64", np.bool_: "boolean", U8: "u8"}


@pytest.mark.parametrize("source", OPENVINO_TYPE)
@pytest.mark.parametrize("target", OPENVINO_TYPE)
def test_convert(source: Any, target: Any) -> None:
    x = random((2, 3), source)
    x = abs(x) if target == U8 and source != np.bool_ else x
    close(*openvino_node("Convert", [x], destination_type=OPENVINO_TYPE[target]))
    like = np.zeros((1,), target)
    close(*openvino_node("ConvertLike", [x, like], constant=[1]))


def test_convert_to_boolean_asks_for_nonzero() -> None:
    x = np.array([0.5, -0.25, 0.0, -0.0, 1e-30, 256.0], F32)
    close(*openvino_node("Convert", [x], destination_type="boolean"))
    with pytest.raises(UnsupportedError, match="f33"):
        mine(System.OPENVINO, "Convert", x, version=1, destination_type="f33")


# --- Activations with inputs, and Dropout.


def test_openvino_activations_with_inputs() -> None:
    x = edges(F32)[1:]
    one = np.array([1.3], F32)
    close(*openvino_node("Swish", [x, np.array(1.5, F32)], opset=4, constant=[1]))
    close(*openvino_node("Selu", [x, one, one], constant=[1, 2]))
    scale, shift = np.array(0.3, F32), np.array(0.4, F32)
    close(*openvino_node("HardSigmoid", [x, scale, shift], constant=[1, 2]))


@pytest.mark.parametrize(("shape", "slope"), [((2, 3, 4), (3,)), ((2, 3, 3), (3,)), ((2, 3), (3,)), ((2, 3), (1,))])
def test_openvino_prelu_goes_along_the_channel(shape: tuple[int, ...], slope: tuple[int, ...]) -> None:
    close(*openvino_node("PReLU", [random(shape, F32), random(slope, F32, 1)], constant=[1]))


def test_prelu_before_opset_7_goes_along_the_channel() -> None:
    x, slope = random((2, 3, 3), F32), random((3,), F32, 1)
    result = mine(System.ONNX, "PRelu", x, slope, version=6)
    close([result], [np.where(x < 0, x * slope[:, None], x)])


@pytest.mark.parametrize("opset", [7, 10, 12, 13])
def test_dropout_infers(opset: int) -> None:
    x = random((2, 3), F32)
    inputs: list[Any] = [x, np.array(0.7, F32)] if opset > 10 else [x]
    close(*onnx_node("Dropout", inputs, opset=opset))
    close(*onnx_node("Dropout", inputs, 2, opset=opset))
    with pytest.raises(UnsupportedError, match="is_test"):
        mine(System.ONNX, "Dropout", x, version=6, ratio=0.5)
    same(mine(System.ONNX, "Dropout", x, version=6, is_test=1), x)


def test_dropout_in_training_keeps_the_mean_and_repeats() -> None:
    x = np.ones((100, 100), F32)
    inputs = [x, np.array(0.25, F32), np.array(True)]
    y, mask = ours(System.ONNX, "Dropout", inputs, 2, version=13, attributes={"seed": 3})
    assert 0.73 < mask.mean() < 0.77
    close([y], [mask.astype(F32) / F32(0.75)])
    same(ours(System.ONNX, "Dropout", inputs, 2, version=13, attributes={"seed": 3})[0], y)
    with pytest.raises(ModelError, match="ratio"):
        ours(System.ONNX, "Dropout", [x, np.array(1.0, F32), np.array(True)], version=13, attributes={})


def test_words_that_no_specification_has() -> None:
    x = random((2,), F32)
    with pytest.raises(ModelError, match="approximation"):
        mine(System.ONNX, "Gelu", x, version=20, approximate="good")
    with pytest.raises(ModelError, match="mode"):
        mine(System.OPENVINO, "Round", x, version=5, mode="up")


def test_narrow_floats_are_computed_wide() -> None:
    """A half's own arithmetic would lose digits in formulas of several steps."""
    x = np.linspace(-8, 8, 33).astype(F16)
    wide = x.astype(F64)
    for op, expected in (
        ("Sigmoid", 1 / (1 + np.exp(-wide))),
        ("Softplus", np.log1p(np.exp(wide))),
        ("Mish", wide * np.tanh(np.log1p(np.exp(wide)))),
    ):
        same(mine(System.ONNX, op, x, version=22), expected.astype(F16))


def test_the_peer_helper_writes_attributes_as_ir_text() -> None:
    """openvino_outputs is what other tests rest on: an attribute must reach the plugin."""
    x = np.array([-1.0, 1.0], F32)
    assert openvino_outputs("Clamp", [x], min=0, max=0.5)[0].tolist() == [0, 0.5]
