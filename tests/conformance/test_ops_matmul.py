"""Matrix products next to onnxruntime and OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System

from .operator_checks import run_operator
from .single_node import Array, assert_close, onnx_node, openvino_node

F16, F32, F64, I32, I64 = np.float16, np.float32, np.float64, np.int32, np.int64


def numbers(shape: tuple[int, ...], dtype: Any = F32, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.integers(-9, 10, shape) if np.dtype(dtype).kind in "iu" else rng.normal(size=shape), dtype)


SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((1, 3), (3, 1)),
]


@pytest.mark.parametrize("shapes", [*SHAPES, ((0, 3), (3, 4)), ((2, 0), (0, 4))], ids=str)
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_onnx_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any) -> None:
    inputs: list[Any] = [numbers(shapes[0], dtype), numbers(shapes[1], dtype, 1)]
    assert_close(*onnx_node("MatMul", inputs))


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_openvino_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]], transposed: tuple[bool, bool]) -> None:
    a, b = numbers(shapes[0]), numbers(shapes[1], seed=1)
    if transposed[0] and a.ndim > 1:  # a vector is left alone
        a = a.swapaxes(-1, -2).copy()
    if transposed[1] and b.ndim > 1:
        b = b.swapaxes(-1, -2).copy()
    assert_close(*openvino_node("MatMul", [a, b], transpose_a=transposed[0], transpose_b=transposed[1]))


def test_matmul_int64_wraps_and_halves_are_summed_wide() -> None:
    a = np.array([[2**62, 3]], I64)
    assert run_operator(System.ONNX, "MatMul", a, np.array([[2], [1]], I64), version=13).tolist() == [[3 - 2**63]]
    a, b = numbers((4, 512), F16), numbers((512, 4), F16, 1)
    width = a.astype(F64) @ b.astype(F64)
    assert_close([run_operator(System.ONNX, "MatMul", a, b, version=13)], [width.astype(F16)], rtol=1e-3)


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((2, 3), (2, 3)), ((3,), (2,)), ((2, 2, 3), (3, 3, 4))])
def test_shapes_that_have_no_product(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises((ModelError, ValueError)):
        run_operator(System.ONNX, "MatMul", numbers(shapes[0]), numbers(shapes[1]), version=13)
    with pytest.raises((ModelError, ValueError)):
        run_operator(System.OPENVINO, "MatMul", numbers(shapes[0]), numbers(shapes[1]), version=1)


@pytest.mark.parametrize("opset", [7, 9, 11, 13])
@pytest.mark.parametrize("flags", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=str)
def test_gemm(opset: int, flags: tuple[int, int]) -> None:
    a = numbers((4, 3) if flags[0] else (3, 4))
    b = numbers((5, 4) if flags[1] else (4, 5), seed=1)
    for c in ((3, 5), (5,), (1, 5), (3, 1), (1,), ()):
        for alpha, beta in ((1.0, 1.0), (0.5, 2.0), (0.25, 0.0)):
            attributes = {"transA": flags[0], "transB": flags[1], "alpha": alpha, "beta": beta}
            assert_close(*onnx_node("Gemm", [a, b, numbers(c, seed=2)], opset=opset, **attributes))
    if opset >= 11:
        assert_close(*onnx_node("Gemm", [a, b], opset=opset, transA=flags[0], transB=flags[1], alpha=0.5))


@pytest.mark.parametrize("dtype", [F64])
def test_gemm_float64(dtype: Any) -> None:
    inputs: list[Any] = [numbers((2, 3), dtype), numbers((3, 4), dtype, 1), numbers((4,), dtype, 2)]
    assert_close(*onnx_node("Gemm", inputs, alpha=0.5, beta=3.0), rtol=1e-12)


def test_gemm_of_integers() -> None:
    """onnxruntime has no kernel; a factor that is no integer is applied in float64 and truncated."""
    a, b, c = np.array([[1, 2]], I32), np.array([[3], [4]], I32), np.array([5], I32)
    assert run_operator(System.ONNX, "Gemm", a, b, c, version=13, alpha=2.0, beta=3.0).tolist() == [[2 * 11 + 15]]
    assert run_operator(System.ONNX, "Gemm", a, b, version=13, alpha=0.5).tolist() == [[5]]


@pytest.mark.parametrize("version", [1, 6])
def test_gemm_before_opset_7(version: int) -> None:
    a, b = numbers((2, 3)), numbers((3, 4), seed=1)
    row, whole = numbers((4,), seed=2), numbers((2, 4), seed=2)
    assert_close([run_operator(System.ONNX, "Gemm", a, b, whole, version=version, alpha=0.5)], [0.5 * (a @ b) + whole])
    result = run_operator(System.ONNX, "Gemm", a, b, row, version=version, broadcast=1, beta=2.0)
    assert_close([result], [a @ b + 2 * row])
    with raises_error(ModelError, name="B", expected="(2, 4)", got="(4,)"):
        run_operator(System.ONNX, "Gemm", a, b, row, version=version)


def test_gemm_of_what_does_not_fit() -> None:
    with raises_error(ModelError, name="A", expected="2 axes", got="(2, 2, 3) and (3, 4)"):
        run_operator(System.ONNX, "Gemm", numbers((2, 2, 3)), numbers((3, 4)), version=13)
    with raises_error(ModelError, name="C", expected="(2, 4)", got="(2,)"):
        run_operator(System.ONNX, "Gemm", numbers((2, 3)), numbers((3, 4)), numbers((2,)), version=13)
    with raises_error(ModelError, name="B", expected="(2,)", got="(3, 4)"):
        run_operator(System.ONNX, "Gemm", numbers((2, 3)), numbers((3, 4)), version=13, transA=1)
