"""The operators of random programs: their meaning in NumPy, and their names in both formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdbg.runtime.ops import ufunc_kernels


@dataclass(frozen=True)
class ReferenceOperator:
    """An operator. ``openvino``: (type, opset), None if the format has no such operator."""

    compute: Callable[..., Any]
    onnx: str
    openvino: tuple[str, str] | None = None


def _relu(x: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def _tanh(x: Any) -> Any:
    """Rounded as the operator rounds, because iterations amplify a difference in the last digit."""
    kernel = ufunc_kernels.elementwise_kernel(np.tanh, (x.dtype,))
    assert kernel is not None
    return ufunc_kernels.run_elementwise(kernel, np.asarray(x))


def _where(c: Any, a: Any, b: Any) -> Any:
    return np.where(c, a, b)


def _cast(x: Any, to: str) -> Any:
    return x.astype(to)


def _gather(x: Any, index: Any, axis: int = 0, zeros: bool = False) -> Any:
    """``zeros``: OpenVINO gives zeros for indices out of bounds, ONNX does not define the result."""
    if zeros and not -x.shape[axis] <= int(index) < x.shape[axis]:
        return np.zeros([d for k, d in enumerate(x.shape) if k != axis], x.dtype)
    if not -x.shape[axis] <= int(index) < x.shape[axis]:
        raise IndexError(f"{index} of {x.shape}")
    return np.take(x, int(index), axis)


def _slice_rows(x: Any, start: int, stop: int) -> Any:
    return x[start : None if stop == INT64_MAX else stop]


def _shape(x: Any) -> Any:
    return np.array(x.shape, np.int64)


def _matmul(a: Any, b: Any) -> Any:
    return np.matmul(a, b)


def _gemm(a: Any, b: Any, c: Any) -> Any:
    return np.matmul(a, b) + c


def _unique(x: Any) -> Any:
    """The first of each set of equal elements (zeros of either sign are equal)."""
    return np.unique(x, return_index=True)[0]


def _cumsum(x: Any, exclusive: int, reverse: int) -> Any:
    """The cumulative sum along the first axis."""
    x = x[::-1] if reverse else x
    sums = np.cumsum(x, 0, dtype=x.dtype)
    sums = sums - x if exclusive else sums
    return sums[::-1] if reverse else sums


def _concat_strings(a: Any, b: Any) -> Any:
    return np.asarray(a + b, object)


#: Slices to the end of the axis.
INT64_MAX = 2**63 - 1

OPERATORS: dict[str, ReferenceOperator] = {
    "Add": ReferenceOperator(np.add, "Add", ("Add", "opset1")),
    "Sub": ReferenceOperator(np.subtract, "Sub", ("Subtract", "opset1")),
    "Mul": ReferenceOperator(np.multiply, "Mul", ("Multiply", "opset1")),
    "Min": ReferenceOperator(np.minimum, "Min", ("Minimum", "opset1")),
    "Max": ReferenceOperator(np.maximum, "Max", ("Maximum", "opset1")),
    # C's remainder, which has the sign of the dividend, for floats and integers.
    "Mod": ReferenceOperator(np.fmod, "Mod", ("Mod", "opset1")),
    "Neg": ReferenceOperator(np.negative, "Neg", ("Negative", "opset1")),
    "Abs": ReferenceOperator(np.abs, "Abs", ("Abs", "opset1")),
    "Relu": ReferenceOperator(_relu, "Relu", ("ReLU", "opset1")),
    "Tanh": ReferenceOperator(_tanh, "Tanh", ("Tanh", "opset1")),
    "Identity": ReferenceOperator(lambda x: x, "Identity", ("Identity", "opset16")),
    "Less": ReferenceOperator(np.less, "Less", ("Less", "opset1")),
    "LessOrEqual": ReferenceOperator(np.less_equal, "LessOrEqual", ("LessEqual", "opset1")),
    "Greater": ReferenceOperator(np.greater, "Greater", ("Greater", "opset1")),
    "Equal": ReferenceOperator(np.equal, "Equal", ("Equal", "opset1")),
    "And": ReferenceOperator(np.logical_and, "And", ("LogicalAnd", "opset1")),
    "Or": ReferenceOperator(np.logical_or, "Or", ("LogicalOr", "opset1")),
    "Xor": ReferenceOperator(np.logical_xor, "Xor", ("LogicalXor", "opset1")),
    "Not": ReferenceOperator(np.logical_not, "Not", ("LogicalNot", "opset1")),
    "Where": ReferenceOperator(_where, "Where", ("Select", "opset1")),
    "Cast": ReferenceOperator(_cast, "Cast", ("Convert", "opset1")),
    "Concat": ReferenceOperator(lambda *x: np.concatenate(x, 0), "Concat", ("Concat", "opset1")),
    "Rows": ReferenceOperator(_slice_rows, "Slice", ("Slice", "opset8")),
    "Sum": ReferenceOperator(lambda x: np.sum(x, dtype=x.dtype), "ReduceSum", ("ReduceSum", "opset1")),
    "SumRows": ReferenceOperator(lambda x: np.sum(x, 0, dtype=x.dtype), "ReduceSum", ("ReduceSum", "opset1")),
    "Shape": ReferenceOperator(_shape, "Shape", ("ShapeOf", "opset3")),
    "Gather": ReferenceOperator(_gather, "Gather", ("Gather", "opset8")),
    "NonZero": ReferenceOperator(lambda x: np.array(np.nonzero(x), np.int64), "NonZero", ("NonZero", "opset3")),
    "Compress": ReferenceOperator(lambda x, condition: np.compress(condition, x, 0), "Compress"),
    "Unique": ReferenceOperator(_unique, "Unique"),
    "MatMul": ReferenceOperator(_matmul, "MatMul", ("MatMul", "opset1")),
    "Gemm": ReferenceOperator(_gemm, "Gemm"),
    "CumSum": ReferenceOperator(_cumsum, "CumSum", ("CumSum", "opset3")),
    "Clip": ReferenceOperator(lambda x, low, high: np.clip(x, low, high).astype(x.dtype), "Clip", ("Clamp", "opset1")),
    "Reshape": ReferenceOperator(lambda x, shape: x.reshape(shape), "Reshape", ("Reshape", "opset1")),
    "StringConcat": ReferenceOperator(_concat_strings, "StringConcat"),
}
