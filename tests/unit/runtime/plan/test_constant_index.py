"""A Gather with one constant index is a view, which at most one call copies, and what Python gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.graph import Operation, System, TensorType, Value
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import NoNativeKernel
from loopdbg.runtime.ops.registry import ResolvedOperator, resolve
from loopdbg.runtime.plan.binding_result import InputDescriptor, KernelBinding
from loopdbg.runtime.plan.operator_binder import bind

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)


def operator(system: System, count: int, **attributes: Any) -> ResolvedOperator:
    values = [Value(f"v{k}", TensorType()) for k in range(count + 1)]
    return resolve(Operation("n", "Gather", "", 8, values[:count], values[count:], attributes), system)


def bound(op: ResolvedOperator, x: Any, *constants: Any) -> KernelBinding:
    inputs = [InputDescriptor(0, x.dtype, x.shape, None, lambda: x)]
    inputs += [InputDescriptor(k + 1, c.dtype, c.shape, c, lambda c=c: c) for k, c in enumerate(constants)]  # type: ignore[misc]
    return bind(op, inputs)


def result(bound: KernelBinding, x: Any) -> Any:
    (call,) = bound.calls
    source, target = call.buffers
    out = np.full(target.shape, np.nan, np.float32)
    shifted = x.reshape(-1)[source.offset // 4 :]
    assert loop_nest.run_kernel(call.kernel, (shifted, out), call.dims, call.steps, call.outer, call.extra)
    return out


@pytest.mark.parametrize("system", [System.ONNX, System.OPENVINO])
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("first", [0, 1, -1, -2])
@pytest.mark.parametrize("x", [X, X[:, :1], X[:1]], ids=["2345", "2145", "1345"])
def test_one_index_is_one_copy(system: System, axis: int, shape: tuple[int, ...], first: int, x: Any) -> None:
    length = x.shape[axis]
    index = np.full(shape, first if -length <= first < length else 0, np.int64)
    more = (index,) if system is System.ONNX else (index, np.array(axis))
    op = operator(system, 1 + len(more), **({"axis": axis} if system is System.ONNX else {}))
    outcome = bound(op, x, *more)
    (expected,) = op.apply(EagerPrimitives(), (x, *more))
    assert outcome.outputs[0].shape == expected.shape
    np.testing.assert_array_equal(result(outcome, np.ascontiguousarray(x)), expected)


def test_along_the_first_axis_it_is_one_stretch_of_memory() -> None:
    outcome = bound(operator(System.ONNX, 2, axis=0), X, np.array(1))
    assert outcome.calls[0].outer == () and outcome.calls[0].dims == (60,)


def test_some_constant_indices_need_no_mask() -> None:
    op = operator(System.OPENVINO, 3)
    assert len(bound(op, X, np.array([2, 0]), np.array(1)).calls) == 1
    assert len(bound(op, X, np.array([2, 3]), np.array(1)).calls) > 1


def test_an_index_outside_is_left_to_python() -> None:
    with pytest.raises(NoNativeKernel):
        bound(operator(System.ONNX, 2, axis=0), X, np.array(2))
    outcome = bound(operator(System.OPENVINO, 3), X, np.array(2), np.array(0))
    assert len(outcome.calls) > 1
