"""Choice, bounds and conversion next to onnxruntime and OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import UnsupportedError
from loopdbg.runtime.graph import System

from .elementwise_inputs import F16, F32, F64, I8, I32, I64, U8, edges, random
from .operator_checks import run_operator
from .single_node import assert_close, onnx_node, openvino_node


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64, np.bool_])
def test_where(dtype: Any) -> None:
    for c, a, b in [((2, 3), (2, 3), ()), ((), (2, 1), (3,)), ((3,), (), (2, 3)), ((0, 3), (1, 3), ())]:
        if dtype in (F32, I32, I64):
            assert_close(*onnx_node("Where", [random(c, np.bool_), random(a, dtype, 1), random(b, dtype, 2)]))
        inputs = [random(c, np.bool_), random(a, dtype, 1), random(b, dtype, 2)]
        if dtype in (F32, I32):
            assert_close(*openvino_node("Select", inputs, auto_broadcast="numpy"))
        assert_close([run_operator(System.ONNX, "Where", *inputs, version=16)], [np.where(*inputs)])


def test_where_takes_strings() -> None:
    texts = np.array(["a", "b"], object)
    assert_close(*onnx_node("Where", [np.array([True, False]), texts, texts[::-1].copy()]))


@pytest.mark.parametrize("dtype", [F32, F64, I8, I32, I64])
def test_clip(dtype: Any) -> None:
    x = random((3, 4), dtype)
    low, high = np.array(-2, dtype), np.array(3, dtype)
    for inputs in ([x], [x, low], [x, low, high], [x, None, high], [x, high, low]):
        assert_close(*onnx_node("Clip", list(inputs), opset=13))


def test_clip_before_opset_11() -> None:
    x = edges(F32)
    for attributes in ({}, {"min": -1.0}, {"max": 1.5}, {"min": -1.0, "max": 1.5}):
        assert_close(*onnx_node("Clip", [x], opset=10, **attributes))
    half = run_operator(System.ONNX, "Clip", edges(F16), version=6, min=-3.4028234663852886e38, max=1.0)
    assert_close([half], [np.minimum(edges(F16), F16(1))])


ONNX_TYPE = {F32: 1, U8: 2, I8: 3, I32: 6, I64: 7, np.bool_: 9, F16: 10, F64: 11}


@pytest.mark.parametrize("source", ONNX_TYPE)
@pytest.mark.parametrize("target", ONNX_TYPE)
def test_cast(source: Any, target: Any) -> None:
    x = random((2, 3), source)
    if target == U8 and np.dtype(source).kind == "f":
        x = abs(x)  # out of range is undefined
    expected = [x.astype(target)]
    mine_, theirs = onnx_node("Cast", [x], to=ONNX_TYPE[target])
    assert_close(mine_, theirs)
    assert_close(mine_, expected)
    like, theirs = onnx_node("CastLike", [x, np.zeros((), target)])
    assert_close(like, theirs)


def test_cast_edges() -> None:
    x = np.array([np.nan, np.inf, -0.0, 0.5, -1.9, 70000], F32)
    for target in (np.bool_, F16, F64):
        assert_close(*onnx_node("Cast", [x], to=ONNX_TYPE[target]))
    assert_close(*onnx_node("Cast", [np.array([-1.9, 1.9, 2.5, -2.5], F32)], to=ONNX_TYPE[I32]))
    assert_close(*onnx_node("Cast", [np.array([200, -200, 2**31], I64)], to=ONNX_TYPE[I8]))


def test_cast_by_name_before_opset_6() -> None:
    x = np.array([1.5, -2.5], F32)
    for name, dtype in (("DOUBLE", F64), ("INT64", I64), ("FLOAT16", F16), ("BOOL", np.bool_)):
        assert_close([run_operator(System.ONNX, "Cast", x, version=1, to=name)], [x.astype(dtype)])
    with pytest.raises(UnsupportedError):
        run_operator(System.ONNX, "Cast", x, version=1, to="COLOUR")


def test_cast_between_strings_and_numbers() -> None:
    texts = np.array([["3.14", "1e-5"], ["+INF", "-inf"], ["NaN", "100"]], object)
    assert_close(*onnx_node("Cast", [texts], to=ONNX_TYPE[F32]))
    whole = np.array([str(2**62 + 1), "-7"], object)
    assert_close(*onnx_node("Cast", [whole], to=ONNX_TYPE[I64]))
    assert_close(
        [run_operator(System.ONNX, "Cast", np.array(["100.5"], object), version=13, to=7)], [np.array([100], I64)]
    )
    for numbers in (np.array([1, -7, 2**62 + 1], I64), np.array([0.1, 2.5, np.nan, np.inf, -np.inf], F32)):
        assert_close(*onnx_node("Cast", [numbers], to=8))
    with pytest.raises(ValueError, match="Hello"):
        run_operator(System.ONNX, "Cast", np.array(["Hello"], object), version=13, to=1)


OPENVINO_TYPE = {F32: "f32", F16: "f16", I32: "i32", I64: "i64", np.bool_: "boolean", U8: "u8"}


@pytest.mark.parametrize("source", OPENVINO_TYPE)
@pytest.mark.parametrize("target", OPENVINO_TYPE)
def test_convert(source: Any, target: Any) -> None:
    x = random((2, 3), source)
    x = abs(x) if target == U8 and source != np.bool_ else x
    assert_close(*openvino_node("Convert", [x], destination_type=OPENVINO_TYPE[target]))
    like = np.zeros((1,), target)
    assert_close(*openvino_node("ConvertLike", [x, like], constant=[1]))


def test_convert_to_boolean_asks_for_nonzero() -> None:
    x = np.array([0.5, -0.25, 0.0, -0.0, 1e-30, 256.0], F32)
    assert_close(*openvino_node("Convert", [x], destination_type="boolean"))
    with raises_error(UnsupportedError, got="f33"):
        run_operator(System.OPENVINO, "Convert", x, version=1, destination_type="f33")
