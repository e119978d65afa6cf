"""Arithmetic, comparison and logic of two inputs or more next to onnxruntime and OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ExecutionError, ModelError, UnsupportedError
from loopdbg.runtime.graph import Operation, System, Value

from .elementwise_inputs import F16, F32, F64, I8, I32, I64, SHAPES, U8, U32, edges, random, rows_by_dtype
from .operator_checks import run_operator
from .single_node import assert_close, engine_outputs, onnx_node, openvino_node, openvino_nodes, openvino_reference

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


@pytest.mark.parametrize(("op", "dtype", "attributes"), rows_by_dtype(ONNX_BINARY))
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_onnx_binary(
    op: str, dtype: Any, attributes: dict[str, Any], shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    if op == "PRelu" and np.broadcast_shapes(*shapes) != shapes[0]:
        with raises_error(ModelError, name="slope"):
            run_operator(System.ONNX, op, random(shapes[0], dtype), random(shapes[1], dtype), version=21)
        return
    inputs: list[Any] = [random(shapes[0], dtype, 1), random(shapes[1], dtype, 2)]
    assert_close(*onnx_node(op, inputs, **attributes), rtol=1e-3 if dtype == F16 else 1e-6)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Less", "GreaterOrEqual"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_onnx_binary_edges(op: str, dtype: Any) -> None:
    x = edges(dtype)
    assert_close(*onnx_node(op, [x[:, None], x[None, :]]))


@pytest.mark.parametrize("dtype", [F32, F64])
def test_fmod_edges(dtype: Any) -> None:
    x = edges(dtype)
    assert_close(*onnx_node("Mod", [x[:, None], x[None, :]], fmod=1))


def test_mod_of_floats_needs_fmod_before_opset_28() -> None:
    x, y = np.array([5.5, -5.5, 5.5, 1.0], F32), np.array([3, 3, -3, -np.inf], F32)
    with raises_error(ModelError, name="fmod", expected="1", got="0"):
        run_operator(System.ONNX, "Mod", x, y, version=13)
    assert_close([run_operator(System.ONNX, "Mod", x, y, version=28)], [np.array([2.5, 0.5, -0.5, -np.inf], F32)])


@pytest.mark.parametrize("dtypes", [(F32, F32), (F64, F64), (F32, I64), (F32, F64), (I32, F32), (I64, I32), (I64, I64)])
def test_onnx_power(dtypes: tuple[Any, Any]) -> None:
    x = np.array([[1], [2], [3], [10]], dtypes[0])
    assert_close(*onnx_node("Pow", [x, np.array([0, 1, 2, 3], dtypes[1])]))


def test_power_edges() -> None:
    x = edges(F32)
    assert_close(*onnx_node("Pow", [x[:, None], x[None, :]]))


def test_integer_power() -> None:
    """Wraps around like multiplication; a negative exponent truncates. onnxruntime goes through double here."""
    x, y = np.array([2, 3, -2, 3, 1, -1, -1, 7], I64), np.array([-1, 39, 63, 41, -5, -3, -4, -2], I64)
    wrapped = (3**41 + 2**63) % 2**64 - 2**63
    expected = [np.array([0, 3**39, -(2**63), wrapped, 1, -1, 1, 0], I64)]
    assert_close([run_operator(System.ONNX, "Pow", x, y, version=15)], expected)
    with pytest.raises(ZeroDivisionError):
        run_operator(System.ONNX, "Pow", np.array([0], I64), np.array([-1], I64), version=15)


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
        assert_close([run_operator(system, op, a, b, version=13, **attributes)], [np.array(values, dtype)])


@pytest.mark.parametrize("dtype", [I32, I64])
def test_onnx_integer_division(dtype: Any) -> None:
    a, b = np.arange(-7, 8, dtype=dtype)[:, None], np.array([-3, -2, -1, 1, 2, 3], dtype)
    for op, attributes in (("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})):
        assert_close(*onnx_node(op, [a, b], **attributes))


def test_int64_stays_64_bits_wide() -> None:
    a, b = np.array([2**62, -(2**62) - 5, 2**53 + 1], I64), np.array([3, 7, 10], I64)
    for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Less", "Equal"):
        assert_close(*onnx_node(op, [a, b]))
    assert_close([run_operator(System.OPENVINO, "Divide", a, b, version=1)], [a // b])
    assert_close([run_operator(System.OPENVINO, "Multiply", a, b, version=1)], [a * b])


def test_shift_beyond_the_width() -> None:
    """Opset 28 states it; a negative shift counts as beyond."""
    x, y = np.array([-8, 8, -8, 8, -8], I32), np.array([32, 40, 1, 1, -1], I32)
    left, right = np.array([0, 0, -16, 16, 0], I32), np.array([-1, 0, -4, 4, -1], I32)
    assert_close([run_operator(System.ONNX, "BitShift", x, y, version=28, direction="LEFT")], [left])
    assert_close([run_operator(System.ONNX, "BitShift", x, y, version=28, direction="RIGHT")], [right])
    with raises_error(ModelError, name="direction", expected="LEFT, RIGHT", got="'UP'"):
        run_operator(System.ONNX, "BitShift", x, y, version=28, direction="UP")


def test_strings_compare() -> None:
    a, b = np.array(["a", "b"], object), np.array(["a", "c"], object)
    assert_close(*onnx_node("Equal", [a, b]))


@pytest.mark.parametrize("op", ["Sum", "Min", "Max", "Mean"])
@pytest.mark.parametrize("shapes", [((2, 3),), ((2, 3), (3,), (1, 1)), ((), (2,), (2,), (3, 1))])
def test_variadic(op: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    assert_close(*onnx_node(op, [random(shape, F32, k) for k, shape in enumerate(shapes)]))


@pytest.mark.parametrize("op", ["Sum", "Min", "Max", "Mean"])
def test_variadic_operators_do_not_broadcast_before_opset_8(op: str) -> None:
    a, b = random((2, 3), F32), random((3,), F32)
    with raises_error(ModelError, name="B", expected="(2, 3)", got="(3,)"):
        run_operator(System.ONNX, op, a, b, version=6)
    assert_close([run_operator(System.ONNX, op, a, a, version=6)], [run_operator(System.ONNX, op, a, a, version=8)])


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
        result = run_operator(System.ONNX, op, a, b, version=version, **attributes)
        assert_close([result], [function(a, b.reshape(aligned))])
    with raises_error(ModelError, name="B", expected="(2, 3, 4, 5)", got="(5,)"):
        run_operator(System.ONNX, op, a, random((5,), F32), version=version)
    with raises_error(ModelError, name="the second input", expected="(2, 3, 4, 5)", got="(4,)"):
        run_operator(System.ONNX, op, a, random((4,), F32), version=version, broadcast=1)
    with raises_error(ModelError, node="node", name="broadcast"):
        run_operator(System.ONNX, op, a, random((4,), F32), version=7, broadcast=1)


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


@pytest.mark.parametrize(("op", "opset", "dtype", "attributes"), rows_by_dtype(OPENVINO_BINARY))
def test_openvino_binary(op: str, opset: int, dtype: Any, attributes: dict[str, Any]) -> None:
    several = [[random(a, dtype, 1), random(b, dtype, 2)] for a, b in SHAPES]
    assert_close(*openvino_nodes(op, several, opset=opset, auto_broadcast="numpy", **attributes), atol=1e-5)
    same_shape = random((2, 3), dtype, 3)
    inputs = [same_shape, random((2, 3), dtype, 4)]
    assert_close(*openvino_node(op, inputs, opset=opset, auto_broadcast="none", **attributes), atol=1e-5)


@pytest.mark.parametrize("attributes", [{}, {"m_pythondiv": True}, {"m_pythondiv": False}], ids=str)
def test_openvino_integer_division(attributes: dict[str, Any]) -> None:
    """The page says floor unless m_pythondiv is false, as the reference does; the plugin always truncates."""
    a, b = np.arange(-7, 8, dtype=I32)[:, None], np.array([-3, -2, -1, 1, 2, 3], I32)
    text = {name: str(value) for name, value in attributes.items()}
    result = [run_operator(System.OPENVINO, "Divide", a, b, version=1, **text)]
    assert_close(result, openvino_reference("Divide", [a, b], **attributes))


@pytest.mark.parametrize("op", ["Add", "Equal", "LogicalXor", "Divide", "SquaredDifference"])
def test_openvino_broadcast_rules(op: str) -> None:
    dtype = np.bool_ if op == "LogicalXor" else F32
    a, b = random((2, 3), dtype), random((3,), dtype)
    with raises_error(ModelError, name="B", expected="(2, 3)", got="(3,)"):
        run_operator(System.OPENVINO, op, a, b, version=1, auto_broadcast="none")
    with raises_error(UnsupportedError, name="auto_broadcast", expected="numpy or none", got="pdpd"):
        run_operator(System.OPENVINO, op, a, b, version=1, auto_broadcast="pdpd")
