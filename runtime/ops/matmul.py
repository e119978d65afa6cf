"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from .int8_weight_packing import int32_product
from .operator_helpers import (
    as_float32,
    broadcast_onnx_legacy,
    cast,
    check_broadcastable,
    check_unidirectional_broadcast,
    constant,
    is_float,
    working_dtype,
)
from .registry import onnx, openvino
from .weight_packing import PackedProductPrimitives

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any


def swap_matrix_axes(p: P, x: T) -> T:
    """Swap the last two axes; a vector is unchanged."""
    if x.ndim < 2:
        return x
    return p.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def inner_dimensions_error(a: T, b: T) -> ModelError:
    """The error for two tensors that cannot be multiplied."""
    return ModelError(
        f"a matrix product of shapes {a.shape} and {b.shape}: the inner dimensions differ",
        name="B",
        expected=str(a.shape[-1:]),
        got=str(b.shape),
    )


def check_inner_dimensions(a: T, b: T) -> None:
    """Check that two tensors can be multiplied.

    Raises:
        ModelError: the inner dimensions differ.
    """
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise inner_dimensions_error(a, b)


@onnx("MatMul")
def matmul_product(p: P, a: T, b: T) -> T:
    """NumPy's matmul in the inputs' dtype, floats narrower than float32 summed in float32.

    Raises:
        ModelError: a scalar, or inner dimensions that differ.
    """
    if not a.ndim or not b.ndim:
        raise ModelError(
            f"a matrix product of shapes {a.shape} and {b.shape}: scalars have none",
            name="A",
            expected="1 axis or more",
            got=f"{a.shape} and {b.shape}",
        )
    check_inner_dimensions(a, b)
    if working_dtype(a.dtype) == a.dtype == b.dtype:
        narrow = int32_product(p, a, b)
        return p.matmul(a, b) if narrow is None else narrow
    return cast(p, p.matmul(_to_float32(p, a), _to_float32(p, b)), a.dtype)


def _to_float32(p: P, x: T) -> T:
    """Convert a narrow float to float32; constants only once."""
    prepared = p.constant_in_layout(x, as_float32)
    return cast(p, x, working_dtype(x.dtype)) if prepared is None else prepared


@openvino("MatMul")
def openvino_matmul(p: P, a: T, b: T, *, transpose_a: bool = False, transpose_b: bool = False) -> T:
    """Transposition does not change a vector."""
    return matmul_product(p, swap_matrix_axes(p, a) if transpose_a else a, swap_matrix_axes(p, b) if transpose_b else b)


def _scale(p: P, x: T, factor: float) -> T:
    if factor == 1:
        return x
    if is_float(x.dtype) or factor == int(factor):
        return p.map(np.multiply, x, constant(p, factor if is_float(x.dtype) else int(factor), x.dtype))
    float64 = np.dtype(np.float64)
    return p.cast(p.map(np.multiply, p.cast(x, float64), constant(p, factor, float64)), x.dtype)


@onnx("Gemm", since=7)
def gemm(
    p: P,
    a: T,
    b: T,
    c: T | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> T:
    """alpha * A' @ B' + beta * C, where A' and B' may be transposed; C broadcasts to the product."""
    if a.ndim != 2 or b.ndim != 2:
        raise ModelError(
            f"Gemm takes matrices, and got shapes {a.shape} and {b.shape}",
            name="A",
            expected="2 axes",
            got=f"{a.shape} and {b.shape}",
        )
    a, b = swap_matrix_axes(p, a) if transA else a, swap_matrix_axes(p, b) if transB else b
    if c is not None and isinstance(p, PackedProductPrimitives) and alpha == beta == 1 and a.dtype == np.float32:
        check_inner_dimensions(a, b)
        check_broadcastable(c, (a.shape[0], b.shape[1]), "C")
        return p.matmul_accumulate(c, a, b)
    result = _scale(p, matmul_product(p, a, b), alpha)
    if c is None or beta == 0:
        return result
    check_unidirectional_broadcast(result, c, "C")
    return p.map(np.add, result, _scale(p, c, beta))


@onnx("Gemm", since=1)
def gemm_1(
    p: P,
    a: T,
    b: T,
    c: T,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    broadcast: int = 0,
) -> T:
    """Before opset 7, C broadcasts only with ``broadcast=1``."""
    result = gemm(p, a, b, None, alpha=alpha, transA=transA, transB=transB)
    return p.map(np.add, result, _scale(p, broadcast_onnx_legacy(p, result, c, broadcast, None), beta))
