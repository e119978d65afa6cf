"""Reductions, ArgMax, TopK, softmax, running sums and layer normalization next to onnxruntime and OpenVINO."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System

from .operator_checks import i64, run_operator
from .single_node import Array, assert_close, assert_same, onnx_node, openvino_node, openvino_nodes, run_here

F16, F32, F64, I32, I64 = np.float16, np.float32, np.float64, np.int32, np.int64


def numbers(shape: tuple[int, ...], dtype: Any = F32, seed: int = 0) -> Array:
    """Numbers between 0.25 and 4, all positive: logarithms are asked of them."""
    values = np.random.default_rng(seed).uniform(0.25, 4, shape)
    return np.asarray(np.ceil(values) if np.dtype(dtype).kind in "iu" else values, dtype)


def signed(shape: tuple[int, ...], dtype: Any = F32, seed: int = 0) -> Array:
    """The same with signs."""
    signs = np.random.default_rng(seed + 99).choice([-1, 1], shape)
    return np.asarray(numbers(shape, dtype, seed) * signs, dtype)


REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
]
NEEDS_POSITIVE = ("ReduceLogSum",)
REDUCED = [((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (-1, 0)), ((2, 3, 4), ()), ((5,), (0,)), ((), ())]


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_onnx_reductions(op: str, dtype: Any, keepdims: int) -> None:
    make = numbers if op in NEEDS_POSITIVE else signed
    rtol = 1e-5 if dtype == F32 else 1e-12
    for shape, along in REDUCED:
        x = make(shape, dtype)
        assert_close(*onnx_node(op, [x, i64(*along)], opset=20, keepdims=keepdims), rtol=rtol)
        old = {"keepdims": keepdims, **({"axes": list(along)} if along else {})}
        if not any(axis < 0 for axis in along):
            assert_close(*onnx_node(op, [x], opset=11, **old), rtol=rtol)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_onnx_reductions_over_no_axes(op: str) -> None:
    """``noop_with_empty_axes``: nothing is reduced, yet squares, roots and logarithms are taken."""
    x = numbers((2, 3))
    expected = {"ReduceL1": abs(x), "ReduceL2": abs(x), "ReduceLogSum": np.log(x), "ReduceSumSquare": x * x}.get(op, x)
    for inputs in ([x], [x, i64()]):
        result = run_operator(System.ONNX, op, *inputs, version=18, noop_with_empty_axes=1)
        assert_close([result], [expected])
        assert run_operator(System.ONNX, op, *inputs, version=18).shape == (1, 1)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_onnx_reductions_of_nothing(op: str) -> None:
    """What the specification says of an empty set; means of nothing are NaN."""
    expected = {
        "ReduceProd": 1.0,
        "ReduceMax": -math.inf,
        "ReduceMin": math.inf,
        "ReduceLogSum": -math.inf,
        "ReduceLogSumExp": -math.inf,
        "ReduceMean": math.nan,
    }.get(op, 0.0)
    result = run_operator(System.ONNX, op, np.zeros((2, 0, 3), F32), i64(1), version=20, keepdims=0)
    assert_close([result], [np.full((2, 3), expected, F32)])
    assert run_operator(System.ONNX, op, np.zeros((2, 0, 3), F32), i64(2), version=20).shape == (2, 0, 1)


def test_extremes_of_nothing_and_of_booleans() -> None:
    empty = np.zeros((0, 2), I32)
    assert run_operator(System.ONNX, "ReduceMax", empty, i64(0), version=20).tolist() == [[np.iinfo(I32).min] * 2]
    assert run_operator(System.ONNX, "ReduceMin", empty, i64(0), version=20).tolist() == [[np.iinfo(I32).max] * 2]
    flags = np.array([[True, False], [False, False]])
    for op in ("ReduceMax", "ReduceMin"):
        assert_close(*onnx_node(op, [flags, i64(1)], opset=20))


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"])
def test_reductions_meet_infinities_and_nans(op: str) -> None:
    rows = [[np.inf, 1, 2], [-np.inf, 1, 2], [-np.inf, -np.inf, -np.inf], [1000, 1001, 999], [-1000, -1001, -999]]
    assert_close(*onnx_node(op, [np.array(rows, F32), i64(1)], opset=20))
    assert np.isnan(run_operator(System.ONNX, op, np.array([1, np.nan, 2], F32), version=20))


def test_narrow_floats_are_summed_wide() -> None:
    x = np.full((64, 64), 100, F16)
    assert_same(run_operator(System.ONNX, "ReduceMean", x, version=18), np.full((1, 1), 100, F16))
    x = np.full((4096, 2), 0.1, F16)
    result = run_operator(System.ONNX, "ReduceSum", x, i64(0), version=18)
    assert_close([result], [x.astype(F64).sum(0, keepdims=True).astype(F16)], rtol=1e-3)
    even = np.zeros((1024,), ml_dtypes.bfloat16)  # counted in bfloat16 itself, ones stop adding up at 256
    assert_same(run_operator(System.ONNX, "Softmax", even, version=13), np.full((1024,), 1 / 1024, ml_dtypes.bfloat16))


def test_int64_sums_stay_64_bits_wide() -> None:
    x = np.array([[2**62, 2**61], [1, -(2**40)]], I64)
    assert_close(*onnx_node("ReduceSum", [x, i64(1)]))
    assert_close(*onnx_node("ReduceMax", [x, i64(1)]))
    assert_same(run_operator(System.OPENVINO, "ReduceSum", x, i64(1), version=1), x.sum(1))


@pytest.mark.parametrize("op", [op for op in REDUCTIONS if "Log" not in op and "Square" not in op])
@pytest.mark.parametrize("dtype", [F32, I32])
def test_openvino_reductions(op: str, dtype: Any) -> None:
    for keep_dims in (True, False):
        several = []
        for shape, along in REDUCED[:-1]:
            if not keep_dims and len(along) in (0, len(shape)):
                continue  # the plugin reduces neither to scalars nor, dropping them, over no axes
            if op == "ReduceL2" and dtype == I32 and not along:
                continue  # reducing nothing, the plugin takes no root of an integer
            several.append([signed(shape, dtype), i64(*along)])
        assert_close(*openvino_nodes(op, several, opset=4, constant=[1], keep_dims=keep_dims))


@pytest.mark.parametrize("op", ["ReduceLogicalAnd", "ReduceLogicalOr"])
def test_openvino_logical_reductions(op: str) -> None:
    x = np.array([[[True, True], [True, False]], [[False, False], [True, True]]])
    for along in ((0,), (1, 2), (-1,)):
        for keep_dims in (True, False):
            assert_close(*openvino_node(op, [x, i64(*along)], constant=[1], keep_dims=keep_dims))


@pytest.mark.parametrize(
    ("bad", "name", "got"), [((3,), "axis", "3"), ((-4,), "axis", "-4"), ((0, -3), "axes", "[0, 0]")]
)
def test_axes_that_are_not_there_or_named_twice(bad: tuple[int, ...], name: str, got: str) -> None:
    with raises_error(ModelError, name=name, got=got):
        run_operator(System.ONNX, "ReduceSum", numbers((2, 3, 4)), i64(*bad), version=13)
    with raises_error(ModelError, name=name, got=got):
        run_operator(System.ONNX, "ReduceMax", numbers((2, 3, 4)), version=11, axes=list(bad))
    with raises_error(ModelError, name=name, got=got):
        run_operator(System.OPENVINO, "ReduceSum", numbers((2, 3, 4)), i64(*bad), version=1)


# --- Places of extremes.


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("dtype", [F32, F64, I32, np.int8])
def test_arg(op: str, dtype: Any) -> None:
    x = np.array([[[3, 1, 3], [2, 2, 2]], [[1, 3, 1], [0, 5, 5]]], dtype)
    for axis in (0, 1, 2, -1):
        for keepdims in (0, 1):
            assert_close(*onnx_node(op, [x], opset=11, axis=axis, keepdims=keepdims))
            for last in (0, 1):
                assert_close(*onnx_node(op, [x], opset=13, axis=axis, keepdims=keepdims, select_last_index=last))


def test_arg_of_a_scalar_and_of_nothing() -> None:
    assert_same(run_operator(System.ONNX, "ArgMax", np.array(3, F32), version=13), np.array(0, I64))
    with raises_error(ModelError, name="data", expected="1 element or more", got="(2, 0)"):
        run_operator(System.ONNX, "ArgMin", np.zeros((2, 0), F32), version=13, axis=1)
    with raises_error(ModelError, node="node", op_type="ArgMax", name="select_last_index"):
        run_operator(System.ONNX, "ArgMax", numbers((2,)), version=11, select_last_index=1)


TIES = np.array([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [1, 1, 1, 1, 2, 2, 2, 2, 0, 0]])


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("k", [0, 1, 4, 10])
def test_onnx_top_k(dtype: Any, k: int) -> None:
    x = TIES.astype(dtype)
    for largest in (0, 1):
        assert_close(*onnx_node("TopK", [x, i64(k)], 2, largest=largest))
        assert_close(*onnx_node("TopK", [x.T.copy(), i64(k)], 2, largest=largest, axis=0))
    if k and dtype == F32:
        assert_close(*onnx_node("TopK", [x, i64(k)], 2, opset=10))
        assert_close(*onnx_node("TopK", [x], 2, opset=9, k=k))


def test_top_k_of_too_many() -> None:
    with raises_error(ModelError, name="k", expected="at most 3", got="4"):
        run_operator(System.ONNX, "TopK", numbers((2, 3)), i64(4), version=11)


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("sort", ["value", "index"])
@pytest.mark.parametrize("opset", [1, 3, 11])
def test_openvino_top_k(mode: str, sort: str, opset: int) -> None:
    inputs = [np.random.default_rng(1).permutation(24).reshape(2, 3, 4).astype(F32), np.array(2, I64)]
    for axis in (0, 1, 2):
        attributes: dict[str, Any] = {"axis": axis, "mode": mode, "sort": sort}
        if opset > 1:
            attributes["index_element_type"] = "i64" if axis else "i32"
        assert_close(*openvino_node("TopK", inputs, 2, opset=opset, constant=[1], **attributes))


@pytest.mark.parametrize("sort", ["value", "index"])
def test_openvino_top_k_keeps_the_order_of_equals(sort: str) -> None:
    inputs = [TIES.astype(F32), np.array(5, I64)]
    for mode in ("max", "min"):
        attributes = {"axis": 1, "mode": mode, "sort": sort, "stable": True}
        assert_close(*openvino_node("TopK", inputs, 2, opset=11, constant=[1], **attributes))


def is_top(x: Array, k: int, largest: int) -> None:
    """A NaN is greater than any number; of equals the first one comes first."""
    results = [int(v) if x.dtype.kind in "iu" else float(v) for v in x]

    def rank(i: int) -> tuple[Any, ...]:
        nan = results[i] != results[i]
        return nan != bool(largest), 0 if nan else -results[i] if largest else results[i], i

    order = sorted(range(len(x)), key=rank)[:k]
    values, places = run_here(System.ONNX, "TopK", [x, np.array([k])], 2, version=11, attributes={"largest": largest})
    np.testing.assert_array_equal(places, order)
    assert values.tobytes() == x[order].tobytes()


@pytest.mark.parametrize("dtype", [F16, F32, F64, I32, I64, np.uint8])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_of_long_rows_with_equals_and_nans(dtype: Any, largest: int) -> None:
    rng = np.random.default_rng(7)
    for length, k in ((1, 1), (70, 70), (1000, 5), (5000, 1), (3000, 700)):
        x = (rng.standard_normal(length) * 30).astype(dtype)
        if x.dtype.kind == "f" and length > 100:
            x[rng.integers(0, length, 3)] = np.nan
        is_top(x, k, largest)


@pytest.mark.parametrize("dtype", [F16, F32, F64, I32, I64, "i1", "u1", "i2", "u2", "u4", "u8"])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_of_short_rows_with_what_is_odd(dtype: Any, largest: int) -> None:
    """Ties, the least and the largest, both zeros, and NaNs with bits of their own."""
    kind = np.dtype(dtype)
    rng = np.random.default_rng(8)
    if kind.kind == "f":
        limits = np.finfo(kind)
        odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.min, limits.tiny, 1], kind)
    else:
        odd = np.array([np.iinfo(kind).min, np.iinfo(kind).max, 0, 1, 2, np.iinfo(kind).max // 2 + 1], kind)
    for length in (1, 2, 3, 5, 8, 9, 31, 32, 63, 64, 65):
        for k in {1, min(3, length), min(4, length), min(7, length), min(8, length), min(9, length)}:
            for _ in range(3):
                is_top(rng.choice(odd, length), k, largest)


@pytest.mark.parametrize("dtype", [F16, F32, F64, I32, I64, np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(40, 20), (3, 20, 16), (2, 7, 37), (5, 2), (2, 600), (3, 2, 1)])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_first_of_many_rows_is_that_of_more(dtype: Any, shape: tuple[int, ...], largest: int) -> None:
    """Ties, zeros of both signs, NaNs, and rows of nothing else."""
    x = (np.random.default_rng(3).standard_normal(shape) * 9).astype(dtype).round()
    if x.dtype.kind == "f":
        x[np.random.default_rng(4).random(shape) < 0.05] = np.nan
        x[0, ::3], x[-1] = 0, np.nan
        x[0, 1::3] = -0.0

    def top(k: int) -> list[Any]:
        attributes = {"axis": 1, "largest": largest}
        return run_here(System.ONNX, "TopK", [x, np.array([k])], 2, version=11, attributes=attributes)

    for item, more in zip(top(1), top(2), strict=True):
        assert item.tobytes() == more[:, :1].tobytes()


# --- Softmax.


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
def test_onnx_softmax(op: str, dtype: Any, shape: tuple[int, ...]) -> None:
    x = signed(shape, dtype) * 5
    for axis in range(-len(shape), len(shape)):
        assert_close(*onnx_node(op, [x], opset=13, axis=axis))
        assert_close(*onnx_node(op, [x], opset=11, axis=axis))
    if len(shape) > 1:
        assert_close(*onnx_node(op, [x], opset=11))
    assert_close(*onnx_node(op, [x], opset=13))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_edges(op: str) -> None:
    rows = [[1e4, 0, -1e4], [-np.inf, 0, 1], [3e38, 3e38, 0], [-1e4, -1e4, -1e4]]
    assert_close(*onnx_node(op, [np.array(rows, F32)]))
    assert run_operator(System.ONNX, op, np.zeros((2, 0), F32), version=13).shape == (2, 0)
    assert_same(run_operator(System.ONNX, op, np.array(7, F32), version=13), np.array(float(op == "Softmax"), F32))
    assert np.isnan(run_operator(System.ONNX, op, np.full((2,), -np.inf, F32), version=13)).all()


@pytest.mark.parametrize(("op", "opset"), [("SoftMax", 1), ("Softmax", 8), ("LogSoftmax", 5)])
def test_openvino_softmax(op: str, opset: int) -> None:
    x = signed((2, 3, 4)) * 5
    for axis in (0, 1, 2) if opset == 1 else (0, 1, 2, -1, -3):
        assert_close(*openvino_node(op, [x], opset=opset, axis=axis))


# --- Running sums.


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cum_sum(dtype: Any, exclusive: int, reverse: int) -> None:
    x = signed((2, 3, 4), dtype)
    for axis in (0, 1, 2, -1):
        assert_close(*onnx_node("CumSum", [x, np.array(axis, I32)], exclusive=exclusive, reverse=reverse))
        if dtype in (F32, I32):
            inputs, flags = [x, np.array(axis, I64)], {"exclusive": bool(exclusive), "reverse": bool(reverse)}
            assert_close(*openvino_node("CumSum", inputs, opset=3, constant=[1], **flags))
    first = signed((1,), dtype)
    assert_close(*onnx_node("CumSum", [first, np.array([0], I64)], exclusive=exclusive, reverse=reverse))
    assert run_operator(System.ONNX, "CumSum", np.zeros((0, 2), dtype), np.array(0), version=14).shape == (0, 2)


def test_cum_prod() -> None:
    """onnxruntime does not know opset 26."""
    x = np.array([[1, 2, 3], [4, 5, 6]], I64)
    for (exclusive, reverse), expected in {
        (0, 0): [[1, 2, 6], [4, 20, 120]],
        (1, 0): [[1, 1, 2], [1, 4, 20]],
        (0, 1): [[6, 6, 3], [120, 30, 6]],
        (1, 1): [[6, 3, 1], [30, 6, 1]],
    }.items():
        flags = {"exclusive": exclusive, "reverse": reverse}
        assert_same(run_operator(System.ONNX, "CumProd", x, np.array(1), version=26, **flags), np.array(expected, I64))


# --- Layer normalization.


@pytest.mark.parametrize("dtype", [F32, F64, F16])
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_layer_normalization(dtype: Any, axis: int) -> None:
    x = signed((2, 3, 4), dtype)
    shape = x.shape[axis:]
    scale, bias = signed(shape, dtype, 1), signed(shape, dtype, 2)
    tolerance = 1e-2 if dtype == F16 else 1e-5  # the specification rounds to a half before scaling, the peer after
    for inputs in ([x, scale], [x, scale, bias]):
        for epsilon in (1e-5, 0.1):
            pair = onnx_node("LayerNormalization", list(inputs), axis=axis, epsilon=epsilon)
            assert_close(*pair, rtol=tolerance, atol=tolerance / 10)
    if dtype == F32:
        assert_close(*onnx_node("LayerNormalization", [x, scale], 3, axis=axis), rtol=tolerance)


def test_layer_normalization_of_what_does_not_fit() -> None:
    with raises_error(ModelError, name="Scale", expected="(2, 3)", got="(2,)"):
        run_operator(System.ONNX, "LayerNormalization", numbers((2, 3)), numbers((2,)), version=17)
