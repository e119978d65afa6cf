"""Many iterations at once: operators on rows do what they do for each iteration alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.graph import Operation, System, TensorType, Value
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import NoNativeKernel
from loopdbg.runtime.ops.registry import resolve
from loopdbg.runtime.plan import batched_primitives
from loopdbg.runtime.plan.batched_primitives import BatchedPrimitives, BatchedRows

RNG = np.random.default_rng(5)
COUNT = 3


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*numbers: Any) -> Any:
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.int64)


def operator(op_type: str, count: int, outputs: int = 1, **attributes: Any) -> Callable[..., tuple[Any, ...]]:
    values = [Value(f"v{k}", TensorType()) for k in range(count + outputs)]
    node = Operation("n", op_type, "", 21, values[:count], values[count:], attributes)
    op = resolve(node, System.ONNX)
    return lambda p, *inputs: op.apply(p, inputs)


# Operator, attributes, inputs; an input in a list has one row an iteration.
CASES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("Add", {}, [[floats(COUNT, 2, 3)], floats(3)]),
    ("Add", {}, [[floats(COUNT, 3)], floats(2, 3)]),
    ("Mul", {}, [floats(4, 1), [floats(COUNT, 5)]]),
    ("Sub", {}, [[floats(COUNT)], [floats(COUNT, 2)]]),
    ("Relu", {}, [[floats(COUNT, 2, 2)]]),
    ("Sigmoid", {}, [[floats(COUNT)]]),
    ("Clip", {}, [[floats(COUNT, 4)], np.float32(-0.5), np.float32(0.5)]),
    ("Cast", {"to": 7}, [[floats(COUNT, 4)]]),
    ("Where", {}, [[floats(COUNT, 4) > 0], [floats(COUNT, 4)], np.zeros((2, 4), np.float32)]),
    ("Reshape", {}, [[floats(COUNT, 2, 3)], ints(3, -1)]),
    ("Flatten", {"axis": 1}, [[floats(COUNT, 2, 3, 2)]]),
    ("Squeeze", {}, [[floats(COUNT, 1, 3)], ints([0])]),
    ("Unsqueeze", {}, [[floats(COUNT, 3)], ints(0, 2)]),
    ("Transpose", {"perm": [1, 0]}, [[floats(COUNT, 2, 3)]]),
    ("Transpose", {}, [[floats(COUNT, 2, 3, 4)]]),
    ("Expand", {}, [[floats(COUNT, 3)], ints(2, 3)]),
    ("Concat", {"axis": 0}, [[floats(COUNT, 2)], floats(3)]),
    ("Pad", {}, [[floats(COUNT, 2)], ints(1, 2)]),
    ("Slice", {}, [[floats(COUNT, 5)], ints([1]), ints([4])]),
    ("Split", {"axis": 0, "num_outputs": 2}, [[floats(COUNT, 4)]]),
    ("ReduceSum", {"keepdims": 0}, [[floats(COUNT, 2, 3)], ints([1])]),
    ("CumSum", {}, [[floats(COUNT, 4)], ints(0)]),
    ("ArgMax", {"axis": 1}, [[floats(COUNT, 2, 5)]]),
    ("Softmax", {"axis": 0}, [[floats(COUNT, 6)]]),
    ("Softmax", {"axis": -1}, [[floats(COUNT, 2, 6)]]),
    ("LayerNormalization", {}, [[floats(COUNT, 2, 6)], floats(6), floats(6)]),
    ("GroupNormalization", {"num_groups": 2}, [[floats(COUNT, 1, 4, 3)], floats(4), floats(4)]),
    ("Einsum", {"equation": "bd,fd->bf"}, [[floats(COUNT, 2, 6)], floats(5, 6)]),
    ("Gather", {"axis": 1}, [[floats(COUNT, 2, 5)], ints(4, 0, 1)]),
    ("Gather", {"axis": 0}, [floats(7, 2), [ints(1, 6, 0)]]),
    ("Gather", {"axis": 1}, [floats(2, 7, 3), [np.array([[1, 6], [0, 0], [3, 2]])]]),
    ("MatMul", {}, [[floats(COUNT, 1, 4)], floats(4, 6)]),
    ("MatMul", {}, [[floats(COUNT, 2, 1, 4)], floats(4, 6)]),
    ("MatMul", {}, [[floats(COUNT, 4)], floats(4, 6)]),
    ("Gemm", {"transB": 1, "alpha": 0.5}, [[floats(COUNT, 2, 4)], floats(6, 4), floats(6)]),
]


@pytest.mark.parametrize(("op_type", "attributes", "inputs"), CASES, ids=[f"{c[0]}-{k}" for k, c in enumerate(CASES)])
def test_rows_are_what_each_iteration_gives(op_type: str, attributes: dict[str, Any], inputs: list[Any]) -> None:
    function = operator(op_type, len(inputs), 2 if op_type == "Split" else 1, **attributes)
    together = function(
        BatchedPrimitives(EagerPrimitives(), COUNT), *(BatchedRows(x[0]) if isinstance(x, list) else x for x in inputs)
    )
    for i in range(COUNT):
        alone = function(EagerPrimitives(), *(np.asarray(x[0][i]) if isinstance(x, list) else x for x in inputs))
        for rows, item in zip(together, alone, strict=True):
            assert isinstance(rows, BatchedRows)
            assert rows.shape == item.shape
            assert rows.dtype == item.dtype
            if op_type in ("MatMul", "Gemm"):
                np.testing.assert_allclose(rows.batch[i], item, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(rows.batch[i], item)


def test_what_is_the_same_in_every_iteration_stays_so() -> None:
    p = BatchedPrimitives(EagerPrimitives(), COUNT)
    a, b = floats(2, 3), floats(3, 2)
    for result in (p.map(np.add, a, a), p.matmul(a, b), p.reshape(a, (6,)), p.cast(a, np.dtype(np.int32))):
        assert isinstance(result, np.ndarray)


def test_the_numbers_of_rows_decide_nothing() -> None:
    p = BatchedPrimitives(EagerPrimitives(), COUNT)
    with pytest.raises(NoNativeKernel):
        p.value(BatchedRows(ints(1, 2, 3)))
    with pytest.raises(NoNativeKernel):
        p.gather(BatchedRows(floats(COUNT, 4)), BatchedRows(ints(1, 2, 3)), 0)
    with pytest.raises(NoNativeKernel):
        p.matmul(floats(2, 4), BatchedRows(floats(COUNT, 4, 4)))


def test_only_large_products_of_floats_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched_primitives, "MIN_BATCHED_WEIGHTS", 24)
    for rows, weights, pays in (
        (floats(COUNT, 1, 4), floats(4, 6), True),
        (floats(COUNT, 1, 4), floats(4, 5), False),
        (np.ones((COUNT, 1, 4), np.int64), np.ones((4, 6), np.int64), False),
    ):
        p = BatchedPrimitives(EagerPrimitives(), COUNT)
        p.matmul(BatchedRows(rows), weights)
        assert p.is_profitable is pays
