"""TensorRT's operators in terms of ONNX operators, for peers that run a network.

Each conversion supports any sizes; ranks and types have to be declared by the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.dtypes import dtype_to_onnx
from ...runtime.errors import UnsupportedError
from ...runtime.graph import Array, Graph, Operation, TensorType, Value

#: The opset of the operators that are written here.
OPSET = 21
_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)


class OnnxGraphBuilder:
    """Adds ONNX operators to a graph; constants are added to ``constants``."""

    def __init__(self, graph: Graph, constants: list[Value]) -> None:
        self.graph = graph
        self.constants = constants
        #: Prefix of the names of added nodes.
        self.name_prefix = ""

    def add_operator(self, op_type: str, *inputs: Value | None, out: Value | None = None, **attributes: Any) -> Value:
        """Add an operator with one result, ``out`` or a new value."""
        result = Value(f"{self.name_prefix}/{op_type}") if out is None else out
        name = f"{self.name_prefix}/{op_type}"
        self.graph.nodes.append(Operation(name, op_type, "", OPSET, list(inputs), [result], attributes))
        return result

    def add_constant(self, array: Any, dtype: np.dtype[Any] = _INT64) -> Value:
        data: Array = np.array(array, dtype, order="C")
        value = Value(f"{self.name_prefix}/constant", TensorType(data.dtype, data.shape), data)
        self.constants.append(value)
        return value

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        return self.add_operator("Cast", value, to=dtype_to_onnx(dtype))

    def axis_length(self, value: Value, axis: int) -> Value:
        """The length of an axis, as a scalar."""
        return self.add_operator("Gather", self.add_operator("Shape", value), self.add_constant(axis), axis=0)

    def index_range(self, count: Value) -> Value:
        """The integers from 0 up to a scalar."""
        return self.add_operator("Range", self.add_constant(0), count, self.add_constant(1))

    def vector_element(self, vector: Value, index: int) -> Value:
        """An element of a vector of integers, as an int64 scalar."""
        return self.add_operator("Gather", self.cast(vector, _INT64), self.add_constant(index), axis=0)

    def where(self, condition: Value, a: Value, b: Value, dtype: np.dtype[Any]) -> Value:
        """Select elements; booleans by way of numbers, for which runtimes support it."""
        if dtype != _BOOL:
            return self.add_operator("Where", condition, a, b)
        number = np.dtype(np.uint8)
        return self.cast(self.add_operator("Where", condition, self.cast(a, number), self.cast(b, number)), _BOOL)

    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        return self.add_operator("Unsqueeze", value, self.add_constant(list(axes))) if axes else value


OperatorConverter = Callable[[OnnxGraphBuilder, Operation], Value]
_CONVERTERS: dict[str, OperatorConverter] = {}


def converts(op_type: str) -> Callable[[OperatorConverter], OperatorConverter]:
    def register(function: OperatorConverter) -> OperatorConverter:
        _CONVERTERS[op_type] = function
        return function

    return register


def convert_operator(writer: OnnxGraphBuilder, node: Operation) -> None:
    """Add ONNX operators for an operator of the domain ``tensorrt``.

    Raises:
        UnsupportedError: it cannot be expressed in ONNX.
    """
    converter = _CONVERTERS.get(node.op_type)
    if converter is None or node.outputs[0] is None:
        raise UnsupportedError(f"{node.describe()}: ONNX has no operator for TensorRT's {node.op_type}")
    writer.name_prefix = node.name
    writer.add_operator("Identity", converter(writer, node), out=node.outputs[0])


def supported_operators() -> frozenset[str]:
    """The operators that can be converted."""
    return frozenset(_CONVERTERS)


# -- inputs of a node


def _input(node: Operation, index: int) -> Value:
    value = node.inputs[index]
    assert value is not None
    return value


def _optional_input(node: Operation, index: int) -> Value | None:
    return node.inputs[index] if len(node.inputs) > index else None


def _dtype_and_rank(node: Operation, value: Value) -> tuple[np.dtype[Any], int]:
    """The type and the rank of an input of a node."""
    kind = value.type
    if value.constant is not None:
        return value.constant.dtype, value.constant.ndim
    if not isinstance(kind, TensorType) or kind.dtype is None or kind.shape is None:
        raise UnsupportedError(f"{node.describe()}: the type of '{value.name}' is not known")
    return kind.dtype, len(kind.shape)


def _zero(writer: OnnxGraphBuilder, dtype: np.dtype[Any]) -> Value:
    return writer.add_constant(0, dtype)


# -- slices


@converts("Slice")
def _slice(writer: OnnxGraphBuilder, node: Operation) -> Value:
    """Gather the indices of each axis; indices outside the tensor follow the mode."""
    x = _input(node, 0)
    dtype, rank = _dtype_and_rank(node, x)
    parts = [_input(node, k) for k in (1, 2, 3)]
    outside = str(node.attributes["outside"])
    result, missing = x, None
    for k, axis in enumerate(node.attributes["axes"]):
        start, size, stride = (writer.vector_element(part, k) for part in parts)
        index = writer.add_operator("Add", start, writer.add_operator("Mul", stride, writer.index_range(size)))
        extent = writer.axis_length(x, axis)
        if outside == "fill":
            is_outside = _is_outside(writer, index, extent)
            outside_mask = writer.unsqueeze(is_outside, range(1, rank - axis))
            missing = outside_mask if missing is None else writer.add_operator("Or", missing, outside_mask)
        result = writer.add_operator("Gather", result, _clamp_indices(writer, index, extent, outside), axis=axis)
    if missing is None:
        return result
    fill = _optional_input(node, 4) or _zero(writer, dtype)
    return writer.where(
        missing, writer.add_operator("Expand", fill, writer.add_operator("Shape", result)), result, dtype
    )


def _is_outside(writer: OnnxGraphBuilder, index: Value, extent: Value) -> Value:
    below = writer.add_operator("Less", index, writer.add_constant(0))
    return writer.add_operator("Or", below, writer.add_operator("GreaterOrEqual", index, extent))


def _clamp_indices(writer: OnnxGraphBuilder, index: Value, extent: Value, outside: str) -> Value:
    """Map indices to the range of an axis; indices outside it follow the mode."""
    if outside == "fill":
        return writer.add_operator("Where", _is_outside(writer, index, extent), writer.add_constant(0), index)
    if outside == "wrap":
        return writer.add_operator("Mod", index, extent)
    last = writer.add_operator("Sub", extent, writer.add_constant(1))
    if outside == "clamp":
        return writer.add_operator("Max", writer.add_constant(0), writer.add_operator("Min", index, last))
    if outside == "reflect":
        period = writer.add_operator(
            "Max", writer.add_operator("Mul", last, writer.add_constant(2)), writer.add_constant(1)
        )
        folded = writer.add_operator("Mod", writer.add_operator("Abs", index), period)
        mirrored = writer.add_operator("Sub", writer.add_operator("Mul", last, writer.add_constant(2)), folded)
        return writer.add_operator("Where", writer.add_operator("GreaterOrEqual", folded, extent), mirrored, folded)
    return index


# -- gathering: elements outside read as 0


def _safe_indices(writer: OnnxGraphBuilder, indices: Value, extent: Value) -> tuple[Value, Value]:
    """Indices with 0 in place of those outside, and a mask of those inside."""
    index = writer.cast(indices, _INT64)
    low = writer.add_operator("GreaterOrEqual", index, writer.add_operator("Neg", extent))
    is_inside = writer.add_operator("And", low, writer.add_operator("Less", index, extent))
    return writer.add_operator("Where", is_inside, index, writer.add_constant(0)), is_inside


def _zero_outside(writer: OnnxGraphBuilder, inside: Value, values: Value, dtype: np.dtype[Any]) -> Value:
    return writer.where(inside, values, _zero(writer, dtype), dtype)


@converts("Gather")
def _gather(writer: OnnxGraphBuilder, node: Operation) -> Value:
    x, indices = _input(node, 0), _input(node, 1)
    dtype, rank = _dtype_and_rank(node, x)
    axis, batched = int(node.attributes["axis"]) % rank, bool(node.attributes.get("batched"))
    ids, inside = _safe_indices(writer, indices, writer.axis_length(x, axis))
    if not batched:
        values = writer.add_operator("Gather", x, ids, axis=axis)
        mask = writer.unsqueeze(inside, range(-(rank - axis - 1), 0))
        return _zero_outside(writer, mask, values, dtype)
    # Expand axis 0 of both to a common batch, and move the axis behind it, so that GatherND can use one-element tuples.
    dims = _dtype_and_rank(node, indices)[1] - 1
    count = writer.add_operator("Max", writer.axis_length(x, 0), writer.axis_length(indices, 0))
    x, ids, inside = (
        _expand_batch(writer, value, count, size) for value, size in ((x, rank), (ids, dims + 1), (inside, dims + 1))
    )
    moved = writer.add_operator("Transpose", x, perm=[0, axis, *(d for d in range(1, rank) if d != axis)])
    values = writer.add_operator(
        "GatherND", moved, writer.add_operator("Unsqueeze", ids, writer.add_constant([-1])), batch_dims=1
    )
    # [batch, indices, before the axis, after it] -> [batch, before, indices, after]
    before, after = axis - 1, rank - axis - 1
    order = [0, *(1 + dims + k for k in range(before)), *(1 + k for k in range(dims))]
    values = writer.add_operator("Transpose", values, perm=[*order, *(1 + dims + before + k for k in range(after))])
    mask = writer.unsqueeze(inside, [*range(1, 1 + before), *range(1 + before + dims, 1 + before + dims + after)])
    return _zero_outside(writer, mask, values, dtype)


def _expand_batch(writer: OnnxGraphBuilder, value: Value, count: Value, rank: int) -> Value:
    parts = [writer.unsqueeze(count, [0]), *([writer.add_constant([1] * (rank - 1))] if rank > 1 else [])]
    shape = writer.add_operator("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
    return writer.add_operator("Expand", value, shape)


@converts("GatherElements")
def _gather_elements(writer: OnnxGraphBuilder, node: Operation) -> Value:
    x, axis = _input(node, 0), int(node.attributes["axis"])
    dtype, rank = _dtype_and_rank(node, x)
    valid, inside = _safe_indices(writer, _input(node, 1), writer.axis_length(x, axis % rank))
    return _zero_outside(writer, inside, writer.add_operator("GatherElements", x, valid, axis=axis), dtype)


@converts("GatherND")
def _gather_nd(writer: OnnxGraphBuilder, node: Operation) -> Value:
    x, indices = _input(node, 0), _input(node, 1)
    batched = int(node.attributes.get("batched", 0))
    dtype, rank = _dtype_and_rank(node, x)
    kind = indices.type
    count = indices.constant.shape[-1] if indices.constant is not None else None
    if count is None and isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[-1], int):
        count = kind.shape[-1]
    if count is None:
        raise UnsupportedError(f"{node.describe()}: how many numbers find one part is not known")
    bounds = writer.add_constant([batched]), writer.add_constant([batched + count])
    valid, inside = _safe_indices(
        writer, indices, writer.add_operator("Slice", writer.add_operator("Shape", x), *bounds)
    )
    number = np.dtype(np.int32)
    all_in = writer.add_operator("ReduceMin", writer.cast(inside, number), writer.add_constant([-1]), keepdims=0)
    mask = writer.unsqueeze(writer.cast(all_in, _BOOL), range(-(rank - batched - count), 0))
    return _zero_outside(writer, mask, writer.add_operator("GatherND", x, valid, batch_dims=batched), dtype)


# -- filling, reducing


@converts("Linspace")
def _linspace(writer: OnnxGraphBuilder, node: Operation) -> Value:
    shape, alpha, beta = (_input(node, k) for k in range(3))
    dtype, _ = _dtype_and_rank(node, alpha)
    rank = _vector_length(node, shape)
    work_type = np.dtype(np.float64) if dtype.kind == "f" else _INT64
    steps = writer.add_operator("Reshape", writer.cast(beta, work_type), writer.add_constant([-1]))
    result = writer.add_operator("Reshape", writer.cast(alpha, work_type), writer.add_constant([1] * rank))
    for k in range(rank):
        index = writer.cast(writer.index_range(writer.vector_element(shape, k)), work_type)
        index = writer.unsqueeze(index, [d for d in range(rank) if d != k])
        step = writer.add_operator("Gather", steps, writer.add_constant(k), axis=0)
        result = writer.add_operator("Add", result, writer.add_operator("Mul", step, index))
    return writer.cast(result, dtype)


def _vector_length(node: Operation, vector: Value) -> int:
    """The number of elements of a vector."""
    if vector.constant is not None:
        return int(vector.constant.size)
    kind = vector.type
    if isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[0], int):
        return kind.shape[0]
    raise UnsupportedError(f"{node.describe()}: how many numbers '{vector.name}' has is not known")


@converts("RaggedSoftmax")
def _ragged_softmax(writer: OnnxGraphBuilder, node: Operation) -> Value:
    x, bounds = _input(node, 0), _input(node, 1)
    dtype, rank = _dtype_and_rank(node, x)
    inside = writer.add_operator(
        "Less", writer.index_range(writer.axis_length(x, rank - 1)), writer.cast(bounds, _INT64)
    )
    single = np.dtype(np.float32)
    hidden = writer.add_operator("Where", inside, writer.cast(x, single), writer.add_constant(-np.inf, single))
    soft = writer.add_operator("Softmax", hidden, axis=-1)
    return writer.cast(writer.add_operator("Where", inside, soft, _zero(writer, single)), dtype)


@converts("Assertion")
def _assertion(writer: OnnxGraphBuilder, node: Operation) -> Value:
    """No-op: the assertion held, or the peer would not run."""
    return _input(node, 0)


@converts("PoolReach")
def _pool_reach(writer: OnnxGraphBuilder, node: Operation) -> Value:
    return _input(node, 0)


# -- attention


@converts("Attention")
def _attention(writer: OnnxGraphBuilder, node: Operation) -> Value:
    query, key, value = (_input(node, k) for k in range(3))
    mask, dtype = _optional_input(node, 3), _dtype_and_rank(node, query)[0]
    softmax, causal = bool(node.attributes["softmax"]), int(node.attributes["causal"])
    groups = writer.add_operator("Div", writer.axis_length(query, 1), writer.axis_length(key, 1))
    key, value = (_repeat_heads(writer, x, groups) for x in (key, value))
    scores = writer.add_operator("MatMul", query, writer.add_operator("Transpose", key, perm=[0, 1, 3, 2]))
    masks: list[Value] = []
    if mask is not None and _dtype_and_rank(node, mask)[0] == _BOOL:
        masks.append(mask)
    elif mask is not None:
        scores = writer.add_operator("Add", scores, mask)
    if causal:
        masks.append(_causal_mask(writer, query, key, causal == 2))
    fill = writer.add_constant(-np.inf if softmax else 0, dtype)
    for visible in masks:
        scores = writer.add_operator("Where", visible, scores, fill)
    if softmax:
        # A query without visible keys gets 0, where a quotient of zeros would be NaN.
        hidden = writer.add_operator("IsInf", writer.cast(scores, np.dtype(np.float32)), detect_positive=0)
        scores = writer.add_operator(
            "Where", hidden, _zero(writer, dtype), writer.add_operator("Softmax", scores, axis=-1)
        )
    return writer.add_operator("MatMul", scores, value)


def _repeat_heads(writer: OnnxGraphBuilder, x: Value, groups: Value) -> Value:
    """Repeat each head ``groups`` times, consecutively."""
    shape = writer.add_operator("Shape", x)
    unsqueezed = writer.add_operator("Unsqueeze", x, writer.add_constant([2]))
    ones = writer.add_constant([1, 1])
    times = writer.add_operator("Concat", ones, writer.unsqueeze(groups, [0]), ones, axis=0)
    ends = [
        writer.add_operator("Slice", shape, writer.add_constant([a]), writer.add_constant([b]))
        for a, b in ((0, 1), (2, 4))
    ]
    joined = writer.add_operator("Concat", ends[0], writer.add_constant([-1]), ends[1], axis=0)
    return writer.add_operator("Reshape", writer.add_operator("Expand", unsqueezed, times), joined)


def _causal_mask(writer: OnnxGraphBuilder, query: Value, key: Value, lower_right: bool) -> Value:
    rows, columns = writer.axis_length(query, 2), writer.axis_length(key, 2)
    last = writer.unsqueeze(writer.index_range(rows), [1])
    if lower_right:
        last = writer.add_operator("Add", last, writer.add_operator("Sub", columns, rows))
    return writer.add_operator("LessOrEqual", writer.index_range(columns), last)
