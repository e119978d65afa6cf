"""Our own operators for TensorRT's layers: the same bits from kernels and in Python.

What they compute is held to NumPy where the layers are (tests/unit/runtime/frontends/tensorrt). A newly registered
operator fails here until it has a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.graph import Operation, System, Value
from loopdbg.runtime.ops.registry import definitions

from .operator_cases import OperatorCase
from .test_kernel_python_parity import assert_same, run

random = np.random.default_rng(3)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return random.standard_normal(shape).astype(dtype)


def ints(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
    return random.integers(low, high, shape).astype(dtype)


def slices(mode: str) -> Sequence[OperatorCase]:
    inside = mode == "error"
    results = []
    for dtype in (np.float32, np.float16, np.int64, np.bool_):
        x = ints(0, 9, 4, 5, dtype=dtype)
        for start, shape, stride in (
            ((1, 0), (2, 3), (1, 2)),
            ((3, 4), (3, 2), (-1, -3)),
            ((2, 2), (2, 2), (0, 1)),
            *(() if inside else (((-3, 1), (9, 6), (1, 2)), ((7, -9), (2, 3), (-2, 5)))),
        ):
            parts = [np.array(part, np.int64) for part in (start, shape, stride)]
            fill = [np.array(5, dtype)] if mode == "fill" else []
            results.append(OperatorCase([x, *parts, *fill], {"axes": (0, 1), "outside": mode}))
            results.append(
                OperatorCase([x, *(part[:1] for part in parts), *fill], {"axes": (1,), "outside": mode})
                if not inside
                else results[-1]
            )
    return results


CASES: dict[str, Sequence[OperatorCase]] = {
    "Slice": [case for mode in ("error", "fill", "wrap", "clamp", "reflect") for case in slices(mode)],
    "Gather": [
        OperatorCase([floats(3, 4, 5), ints(-7, 7, 3, 2, dtype=dtype)], {"axis": axis, "batched": batched})
        for dtype in (np.int32, np.int64)
        for axis, batched in ((0, 0), (1, 0), (2, 0), (1, 1), (2, 1))
    ],
    "GatherElements": [
        OperatorCase([floats(3, 4, 5), ints(-7, 7, 3, 4, 5, dtype=dtype)], {"axis": axis})
        for dtype in (np.int32, np.int64)
        for axis in range(3)
    ],
    "GatherND": [
        OperatorCase([floats(3, 4, 5), ints(-5, 5, 3, 2, count)], {"batched": batched})
        for count, batched in ((1, 0), (2, 0), (3, 0), (1, 1), (2, 1))
    ],
    "Linspace": [
        OperatorCase([np.array(shape, np.int64), np.array(3, dtype), np.array(steps, dtype)])
        for dtype in (np.float32, np.int32, np.int64)
        for shape, steps in (((4,), (2,)), ((2, 3), (100, 10)), ((0,), (1,)))
    ],
    "PoolReach": [
        OperatorCase([floats(1, 2, 6, 5)], {"window": (2, 3), "stride": (2, 2), "pre": (0, 1), "post": (0, 0)}),
    ],
    "RaggedSoftmax": [
        OperatorCase([floats(2, 3, 4, dtype=dtype), ints(0, 5, 2, 3, 1)]) for dtype in (np.float32, np.float16)
    ],
    "Attention": [
        OperatorCase(
            [floats(2, 4, queries, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6), *mask],
            {"softmax": norm, "causal": causal},
        )
        for queries in (1, 3, 12)
        for norm in (0, 1)
        for causal in (0, 1, 2)
        for mask in ((), (floats(2, 1, queries, 5),), (ints(0, 2, 2, 4, queries, 5).astype(bool),))
        if queries < 5 or causal < 2
    ],
    "RotaryEmbedding": [
        OperatorCase(
            [floats(2, 4, 3, 8), floats(*caches), floats(*caches), *ids], {"interleaved": k, "rotary_embedding_dim": 6}
        )
        for k in (0, 1)
        for caches, ids in (((2, 3, 3), ()), ((7, 3), (ints(0, 7, 2, 3, dtype=np.int64),)))
    ],
    "KVCacheUpdate": [OperatorCase([floats(2, 3, 6, 2), floats(2, 3, 2, 2), ints(0, 5, 2, dtype=np.int64)])],
}


def test_each_operator_has_a_case() -> None:
    native = {entry.op_type for _, domain, entry in definitions() if domain == "tensorrt" and entry.native}
    assert native == CASES.keys()


@pytest.mark.parametrize("op_type", CASES)
def test_the_same_bits_from_kernels_and_in_python(op_type: str) -> None:
    pairs = []
    for k, case in enumerate(CASES[op_type]):
        inputs: list[Value | None] = [Value(f"n{k}.in{j}") for j in range(len(case.inputs))]
        node = Operation(f"n{k}", op_type, "tensorrt", 1, inputs, [Value(f"n{k}.out")], case.attributes)
        pairs.append((node, case))
    fast, bound = run(pairs, System.TENSORRT, True)
    slow, none = run(pairs, System.TENSORRT, False)
    assert not none
    assert bound, "no kernel ran"
    for node, case in pairs:
        value = node.outputs[0]
        assert value is not None
        assert_same(slow[value.name], fast[value.name], case, "in Python")
