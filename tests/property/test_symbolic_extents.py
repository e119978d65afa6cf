"""Symbolic extents: what was decided and computed for one extent holds for every extent of its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_settings import example_settings
from loopdbg.runtime.graph import Operation, System, TensorType, Value
from loopdbg.runtime.kernels.strided_iteration import broadcast_shapes
from loopdbg.runtime.kernels.symbolic_extents import (
    ExtentVariable,
    SymbolicExtent,
    approximate_quotient,
    current_extent,
    symbolic_or_int,
)
from loopdbg.runtime.ops.registry import resolve
from loopdbg.runtime.plan import shape_range_binding
from loopdbg.runtime.plan.binding_result import CallSpec, InputDescriptor, VaryingIntegers
from loopdbg.runtime.plan.operator_binder import bind

small = st.integers(-12, 12)
positive = st.integers(1, 12)


@dataclass
class TracedComputation:
    """A computation with data-dependent decisions: its result, and how it decided."""

    calls: list[tuple[str, int]]

    def run(self, n: Any) -> tuple[list[Any], list[bool]]:
        values: list[Any] = [n]
        decisions: list[bool] = []
        for kind, k in self.calls:
            x = values[k % len(values)]
            if kind == "add":
                values.append(x + k)
            elif kind == "subtract":
                values.append(k - x)
            elif kind == "sum":
                values.append(x + values[-1])
            elif kind == "difference":
                values.append(x - values[-1])
            elif kind == "times":
                values.append(k * x)
            elif kind == "product":
                values.append(x * values[-1])
            elif kind == "halve":
                values.append(x // (abs(k) + 1))
            elif kind == "rest":
                values.append(x % (abs(k) + 1))
            elif kind == "clamp":
                values.append(min(max(x, k), k + 9))
            elif kind == "absolute":
                values.append(abs(x))
            elif kind == "branch":
                decisions.append(x < values[-1])
                decisions.append(x >= k)
            elif kind == "equal":
                decisions.append(x == k)
            elif kind == "true":
                decisions.append(bool(x))
            else:
                values.append(values[0] + (1 if x > 3 else len(range(min(max(x, 0), 3)))))
        return values, decisions


KINDS = (
    "add",
    "subtract",
    "sum",
    "difference",
    "times",
    "product",
    "halve",
    "rest",
    "clamp",
    "absolute",
    "branch",
    "equal",
    "true",
    "count",
)


@example_settings(400)
@given(st.integers(0, 40), st.lists(st.tuples(st.sampled_from(KINDS), small), max_size=7))
def test_result_for_an_extent_holds_in_its_range(number: int, moves: list[tuple[str, int]]) -> None:
    span = ExtentVariable(number)
    values, decisions = TracedComputation(moves).run(SymbolicExtent(span))
    assert span.min_valid <= number <= span.max_valid
    for other in range(max(span.min_valid, 0), min(span.max_valid, 90) + 1):
        expected, decided = TracedComputation(moves).run(other)
        assert decisions == decided
        assert [v.base + v.slope * other if isinstance(v, SymbolicExtent) else v for v in values] == expected


def test_use_of_the_integer_pins_the_extent() -> None:
    for use in (int, float, hash, range, lambda x: np.zeros(x), lambda x: [0] * x, lambda x: x * x):
        span = ExtentVariable(5)
        use(SymbolicExtent(span))
        assert span.min_valid >= span.max_valid
    for use in (
        current_extent,
        symbolic_or_int,
        str,
        lambda x: approximate_quotient(x, 2),
        lambda x: broadcast_shapes((x, 1), (1, 3)),
    ):
        span = ExtentVariable(5)
        use(SymbolicExtent(span))
        assert span.min_valid < span.max_valid


def _op(op_type: str, attributes: dict[str, Any], inputs: int, outputs: int = 1) -> Any:
    node = Operation("n", op_type, "", 21, [Value("x", TensorType())] * inputs, [None] * outputs, attributes=attributes)
    return resolve(node, System.ONNX)


# Operator, attributes, the inputs' shapes ("n": the symbolic extent, "n+1"), constants among them.
def _int64(*values: int) -> Any:
    return np.array(values, np.int64)


NODES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("Concat", {"axis": 0}, [("n", 3), (1, 3)]),
    ("Concat", {"axis": 1}, [(2, "n", 3), (2, "n", 3), (2, 1, 3)]),
    ("Concat", {"axis": -1}, [(2, 3), (2, "n")]),
    ("Add", {}, [("n",), ()]),
    ("Add", {}, [(4, "n"), (4, 1)]),
    ("Mul", {}, [(2, "n", 3), (2, "n", 1)]),
    ("Sub", {}, [(2, "n", 3), ("n", 3)]),
    ("Sub", {}, [("n+1", 2), ("n+1", 1)]),
    ("ReduceSum", {"keepdims": 0}, [("n",)]),
    ("ReduceSum", {"keepdims": 1}, [("n", 3), _int64(0)]),
    ("ReduceSum", {"keepdims": 0}, [("n", 3), _int64(1)]),
    ("ReduceSum", {"keepdims": 0}, [(2, "n", 3), _int64(1)]),
    ("ReduceMax", {"keepdims": 0}, [(2, "n", 9), _int64(0, 2)]),
    ("ReduceMean", {"keepdims": 0}, [(2, "n"), _int64(1)]),
    ("Softmax", {"axis": -1}, [(2, 1, "n")]),
    ("Softmax", {"axis": 0}, [("n", 3)]),
    ("MatMul", {}, [(2, 1, 4), (2, 4, "n")]),
    ("MatMul", {}, [(2, 1, "n"), (2, "n", 4)]),
    ("MatMul", {}, [("n", 4), (4, 3)]),
    ("Gemm", {"transB": 1}, [("n", 4), (3, 4), (3,)]),
    ("Transpose", {"perm": [1, 0]}, [("n", 3)]),
    ("Transpose", {"perm": [0, 2, 1, 3]}, [(1, "n", 2, 3)]),
    ("Slice", {}, [("n",), _int64(1), _int64(2**62), _int64(0)]),
    ("Slice", {}, [("n", 2), _int64(-5), _int64(2**62), _int64(0)]),
    ("Slice", {}, [("n", 2), _int64(0), _int64(12), _int64(0)]),
    ("Slice", {}, [("n",), _int64(-1), _int64(-(2**62)), _int64(0), _int64(-1)]),
    ("Slice", {}, [("n", 5), _int64(1, 2), _int64(-1, 4), _int64(0, 1)]),
    ("Gather", {"axis": 0}, [("n", 2), _int64(-1)]),
    ("Gather", {"axis": 1}, [(3, "n"), _int64(0, 1)]),
    ("Reshape", {}, [("n", 6), _int64(-1, 2, 3)]),
    ("Reshape", {}, [(2, "n", 6), _int64(2, -1)]),
    ("Flatten", {"axis": 2}, [(2, "n", 6)]),
    ("Unsqueeze", {}, [("n",), _int64(0)]),
    ("Squeeze", {}, [(1, "n"), _int64(0)]),
    ("Expand", {}, [(1, "n"), _int64(3, 1)]),
    ("Pad", {}, [("n",), _int64(0, 1)]),
    ("Pad", {}, [("n", 3), _int64(1, 0, 2, 0)]),
    ("Split", {"axis": 1}, [("n", 4), _int64(2, 2)]),
    ("CumSum", {}, [("n",), _int64(0)]),
    ("ArgMax", {"axis": 0, "keepdims": 0}, [("n",)]),
    ("ArgMax", {"axis": 1}, [("n", 4)]),
    ("LayerNormalization", {"axis": -1}, [(1, "n", 4), (4,)]),
    ("LayerNormalization", {"axis": 1}, [(1, "n", 4), (4,)]),
    ("Where", {}, [(1, "n"), (3, 1)]),
    ("Clip", {}, [("n",)]),
    ("Relu", {}, [("n", 2)]),
    ("Gelu", {}, [(2, "n")]),
    ("Tile", {}, [("n", 2), _int64(1, 3)]),
    ("Cast", {"to": 7}, [("n",)]),
]


#: Operators whose kernel calls are not a function of one extent.
CROOKED: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("Slice", {}, [("n",), _int64(0), _int64(2**62), _int64(0), _int64(2)]),
    ("Pad", {"mode": b"edge"}, [("n", 3), _int64(1, 0, 2, 0)]),
]


def _bind(op: Any, inputs: list[Any], number: Any) -> Any:
    feeds = []
    for slot, spec in enumerate(inputs):
        if isinstance(spec, np.ndarray):
            feeds.append(InputDescriptor(slot, spec.dtype, spec.shape, spec, lambda spec=spec: spec))
            continue
        shape = tuple(number + 1 if d == "n+1" else number if d == "n" else d for d in spec)
        feeds.append(InputDescriptor(slot, np.dtype(np.float32), shape, None, lambda: np.zeros(())))
    return bind(op, feeds)


def _buffers(call: CallSpec) -> list[tuple[str, int, int]]:
    return [(b.kind, b.index, b.offset) for b in call.buffers]


def binding_data(bound: Any) -> Any:
    """A binding as plain data."""
    return (
        [(out.kind, out.index, out.shape, out.strides, out.offset) for out in bound.outputs],
        [(id(call.kernel), call.dims, call.steps, call.outer, call.extra, _buffers(call)) for call in bound.calls],
        [temp.tolist() if isinstance(temp, np.ndarray) else temp for temp in bound.temps],
    )


@example_settings(300)
@given(st.sampled_from([*NODES, *CROOKED]), st.integers(0, 80), st.integers(0, 200))
def test_binding_for_a_range_equals_the_binding_of_each_extent(
    node: tuple[str, dict[str, Any], list[Any]], number: int, other: int
) -> None:
    op_type, attributes, inputs = node
    if op_type == "Where":
        inputs = [np.array([[True], [False], [True]]), *inputs]
    op = _op(op_type, attributes, len(inputs), 2 if op_type == "Split" else 1)
    span = ExtentVariable(number)
    try:
        plain = _bind(op, inputs, number)
    except Exception:
        return  # an operator may reject shapes
    varied = _bind(op, inputs, SymbolicExtent(span))
    shape_range_binding.narrow_to_driver_choices(varied)
    assert span.min_valid <= number <= span.max_valid
    if any(isinstance(temp, VaryingIntegers) for temp in varied.temps):
        # A count is a constant in the one and is converted in the other.
        assert [out.shape for out in shape_range_binding.with_current_extents(varied, ()).outputs] == [
            out.shape for out in plain.outputs
        ]
        return
    assert binding_data(shape_range_binding.with_current_extents(varied, ())) == binding_data(plain)
    span.current = min(max(other, span.min_valid), span.max_valid)
    assert binding_data(shape_range_binding.with_current_extents(varied, ())) == binding_data(
        _bind(op, inputs, span.current)
    )


def test_most_operators_are_bound_for_ranges() -> None:
    """For every node above, a binding made at 20 holds for more than 20."""
    pinned = []
    for op_type, attributes, inputs in NODES:
        inputs = [np.array([[True], [False], [True]]), *inputs] if op_type == "Where" else inputs
        span = ExtentVariable(20)
        shape_range_binding.narrow_to_driver_choices(
            _bind(_op(op_type, attributes, len(inputs), 1 + (op_type == "Split")), inputs, SymbolicExtent(span))
        )
        if span.min_valid >= span.max_valid:
            pinned.append((op_type, inputs))
    assert not pinned
