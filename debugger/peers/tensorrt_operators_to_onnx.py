"""TensorRT's operators in terms of ONNX operators, for peers that run a network.

Each conversion supports any sizes; ranks and types have to be declared by the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
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

    def __getattr__(self, op_type: str) -> Callable[..., Value]:
        """``op.Add(a, b)`` adds an operator, see :meth:`add_operator`."""
        if not op_type[0].isupper():
            raise AttributeError(op_type)
        return partial(self.add_operator, op_type)

    def add_operator(self, op_type: str, *operands: Any, out: Value | None = None, **attributes: Any) -> Value:
        """Add an operator with one result, ``out`` or a new value; operands that are no values are int64 constants."""
        inputs = [x if x is None or isinstance(x, Value) else self.add_constant(x) for x in operands]
        result = Value(f"{self.name_prefix}/{op_type}") if out is None else out
        name = f"{self.name_prefix}/{op_type}"
        self.graph.nodes.append(Operation(name, op_type, "", OPSET, inputs, [result], attributes))
        return result

    def add_constant(self, array: Any, dtype: np.dtype[Any] = _INT64) -> Value:
        data: Array = np.array(array, dtype, order="C")
        value = Value(f"{self.name_prefix}/constant", TensorType(data.dtype, data.shape), data)
        self.constants.append(value)
        return value

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        return self.Cast(value, to=dtype_to_onnx(dtype))

    def axis_length(self, value: Value, axis: int) -> Value:
        """The length of an axis, as a scalar."""
        return self.Gather(self.Shape(value), axis, axis=0)

    def index_range(self, count: Value) -> Value:
        """The integers from 0 up to a scalar."""
        return self.Range(0, count, 1)

    def vector_element(self, vector: Value, index: int) -> Value:
        """An element of a vector of integers, as an int64 scalar."""
        return self.Gather(self.cast(vector, _INT64), index, axis=0)

    def where(self, condition: Value, a: Value, b: Value, dtype: np.dtype[Any]) -> Value:
        """Select elements; booleans by way of numbers, for which runtimes support it."""
        if dtype != _BOOL:
            return self.Where(condition, a, b)
        number = np.dtype(np.uint8)
        return self.cast(self.Where(condition, self.cast(a, number), self.cast(b, number)), _BOOL)

    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        return self.Unsqueeze(value, list(axes)) if axes else value


OperatorConverter = Callable[[OnnxGraphBuilder, Operation], Value]
_CONVERTERS: dict[str, OperatorConverter] = {}


def converts(op_type: str) -> Callable[[OperatorConverter], OperatorConverter]:
    def register(function: OperatorConverter) -> OperatorConverter:
        _CONVERTERS[op_type] = function
        return function

    return register


def convert_operator(op: OnnxGraphBuilder, node: Operation) -> None:
    """Add ONNX operators for an operator of the domain ``tensorrt``.

    Raises:
        UnsupportedError: it cannot be expressed in ONNX.
    """
    converter = _CONVERTERS.get(node.op_type)
    if converter is None or node.outputs[0] is None:
        raise UnsupportedError(f"{node.describe()}: ONNX has no operator for TensorRT's {node.op_type}")
    op.name_prefix = node.name
    op.Identity(converter(op, node), out=node.outputs[0])


def supported_operators() -> frozenset[str]:
    """The operators that can be converted."""
    return frozenset(_CONVERTERS)


# -- inputs of a node


def _required_input(node: Operation, index: int) -> Value:
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


def _zero_constant(op: OnnxGraphBuilder, dtype: np.dtype[Any]) -> Value:
    return op.add_constant(0, dtype)


# -- slices


@converts("Slice")
def _slice(op: OnnxGraphBuilder, node: Operation) -> Value:
    """Gather the indices of each axis; indices outside the tensor follow the mode."""
    x = _required_input(node, 0)
    dtype, rank = _dtype_and_rank(node, x)
    parts = [_required_input(node, k) for k in (1, 2, 3)]
    outside = str(node.attributes["outside"])
    result, missing = x, None
    for k, axis in enumerate(node.attributes["axes"]):
        start, size, stride = (op.vector_element(part, k) for part in parts)
        index = op.Add(start, op.Mul(stride, op.index_range(size)))
        extent = op.axis_length(x, axis)
        if outside == "fill":
            is_outside = _is_outside(op, index, extent)
            outside_mask = op.unsqueeze(is_outside, range(1, rank - axis))
            missing = outside_mask if missing is None else op.Or(missing, outside_mask)
        result = op.Gather(result, _clamp_indices(op, index, extent, outside), axis=axis)
    if missing is None:
        return result
    fill = _optional_input(node, 4) or _zero_constant(op, dtype)
    return op.where(missing, op.Expand(fill, op.Shape(result)), result, dtype)


def _is_outside(op: OnnxGraphBuilder, index: Value, extent: Value) -> Value:
    below = op.Less(index, 0)
    return op.Or(below, op.GreaterOrEqual(index, extent))


def _clamp_indices(op: OnnxGraphBuilder, index: Value, extent: Value, outside: str) -> Value:
    """Map indices to the range of an axis; indices outside it follow the mode."""
    if outside == "fill":
        return op.Where(_is_outside(op, index, extent), 0, index)
    if outside == "wrap":
        return op.Mod(index, extent)
    last = op.Sub(extent, 1)
    if outside == "clamp":
        return op.Max(0, op.Min(index, last))
    if outside == "reflect":
        period = op.Max(op.Mul(last, 2), 1)
        folded = op.Mod(op.Abs(index), period)
        mirrored = op.Sub(op.Mul(last, 2), folded)
        return op.Where(op.GreaterOrEqual(folded, extent), mirrored, folded)
    return index


# -- gathering: elements outside read as 0


def _mask_invalid_indices(op: OnnxGraphBuilder, indices: Value, extent: Value) -> tuple[Value, Value]:
    """Indices with 0 in place of those outside, and a mask of those inside."""
    index = op.cast(indices, _INT64)
    low = op.GreaterOrEqual(index, op.Neg(extent))
    is_inside = op.And(low, op.Less(index, extent))
    return op.Where(is_inside, index, 0), is_inside


def _zero_outside(op: OnnxGraphBuilder, inside: Value, values: Value, dtype: np.dtype[Any]) -> Value:
    return op.where(inside, values, _zero_constant(op, dtype), dtype)


@converts("Gather")
def _gather(op: OnnxGraphBuilder, node: Operation) -> Value:
    x, indices = _required_input(node, 0), _required_input(node, 1)
    dtype, rank = _dtype_and_rank(node, x)
    axis, batched = int(node.attributes["axis"]) % rank, bool(node.attributes.get("batched"))
    ids, inside = _mask_invalid_indices(op, indices, op.axis_length(x, axis))
    if not batched:
        values = op.Gather(x, ids, axis=axis)
        mask = op.unsqueeze(inside, range(-(rank - axis - 1), 0))
        return _zero_outside(op, mask, values, dtype)
    # Expand axis 0 of both to a common batch, and move the axis behind it, so that GatherND can use one-element tuples.
    dims = _dtype_and_rank(node, indices)[1] - 1
    count = op.Max(op.axis_length(x, 0), op.axis_length(indices, 0))
    x, ids, inside = (
        _expand_batch(op, value, count, size) for value, size in ((x, rank), (ids, dims + 1), (inside, dims + 1))
    )
    moved = op.Transpose(x, perm=[0, axis, *(d for d in range(1, rank) if d != axis)])
    values = op.GatherND(moved, op.Unsqueeze(ids, [-1]), batch_dims=1)
    # [batch, indices, before the axis, after it] -> [batch, before, indices, after]
    before, after = axis - 1, rank - axis - 1
    order = [0, *(1 + dims + k for k in range(before)), *(1 + k for k in range(dims))]
    values = op.Transpose(values, perm=[*order, *(1 + dims + before + k for k in range(after))])
    mask = op.unsqueeze(inside, [*range(1, 1 + before), *range(1 + before + dims, 1 + before + dims + after)])
    return _zero_outside(op, mask, values, dtype)


def _expand_batch(op: OnnxGraphBuilder, value: Value, count: Value, rank: int) -> Value:
    parts = [op.unsqueeze(count, [0]), *([op.add_constant([1] * (rank - 1))] if rank > 1 else [])]
    shape = op.Concat(*parts, axis=0) if len(parts) > 1 else parts[0]
    return op.Expand(value, shape)


@converts("GatherElements")
def _gather_elements(op: OnnxGraphBuilder, node: Operation) -> Value:
    x, axis = _required_input(node, 0), int(node.attributes["axis"])
    dtype, rank = _dtype_and_rank(node, x)
    valid, inside = _mask_invalid_indices(op, _required_input(node, 1), op.axis_length(x, axis % rank))
    return _zero_outside(op, inside, op.GatherElements(x, valid, axis=axis), dtype)


@converts("GatherND")
def _gather_nd(op: OnnxGraphBuilder, node: Operation) -> Value:
    x, indices = _required_input(node, 0), _required_input(node, 1)
    batched = int(node.attributes.get("batched", 0))
    dtype, rank = _dtype_and_rank(node, x)
    kind = indices.type
    count = indices.constant.shape[-1] if indices.constant is not None else None
    if count is None and isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[-1], int):
        count = kind.shape[-1]
    if count is None:
        raise UnsupportedError(f"{node.describe()}: how many numbers find one part is not known")
    bounds = op.add_constant([batched]), op.add_constant([batched + count])
    valid, inside = _mask_invalid_indices(op, indices, op.Slice(op.Shape(x), *bounds))
    number = np.dtype(np.int32)
    all_in = op.ReduceMin(op.cast(inside, number), [-1], keepdims=0)
    mask = op.unsqueeze(op.cast(all_in, _BOOL), range(-(rank - batched - count), 0))
    return _zero_outside(op, mask, op.GatherND(x, valid, batch_dims=batched), dtype)


# -- filling, reducing


@converts("Linspace")
def _linspace(op: OnnxGraphBuilder, node: Operation) -> Value:
    shape, alpha, beta = (_required_input(node, k) for k in range(3))
    dtype, _ = _dtype_and_rank(node, alpha)
    rank = _vector_length(node, shape)
    work_type = np.dtype(np.float64) if dtype.kind == "f" else _INT64
    steps = op.Reshape(op.cast(beta, work_type), [-1])
    result = op.Reshape(op.cast(alpha, work_type), [1] * rank)
    for k in range(rank):
        index = op.cast(op.index_range(op.vector_element(shape, k)), work_type)
        index = op.unsqueeze(index, [d for d in range(rank) if d != k])
        step = op.Gather(steps, k, axis=0)
        result = op.Add(result, op.Mul(step, index))
    return op.cast(result, dtype)


def _vector_length(node: Operation, vector: Value) -> int:
    """The number of elements of a vector."""
    if vector.constant is not None:
        return int(vector.constant.size)
    kind = vector.type
    if isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[0], int):
        return kind.shape[0]
    raise UnsupportedError(f"{node.describe()}: how many numbers '{vector.name}' has is not known")


@converts("RaggedSoftmax")
def _ragged_softmax(op: OnnxGraphBuilder, node: Operation) -> Value:
    x, bounds = _required_input(node, 0), _required_input(node, 1)
    dtype, rank = _dtype_and_rank(node, x)
    inside = op.Less(op.index_range(op.axis_length(x, rank - 1)), op.cast(bounds, _INT64))
    single = np.dtype(np.float32)
    hidden = op.Where(inside, op.cast(x, single), op.add_constant(-np.inf, single))
    soft = op.Softmax(hidden, axis=-1)
    return op.cast(op.Where(inside, soft, _zero_constant(op, single)), dtype)


@converts("Assertion")
def _assertion(op: OnnxGraphBuilder, node: Operation) -> Value:
    """No-op: the assertion held, or the peer would not run."""
    return _required_input(node, 0)


@converts("PoolReach")
def _pool_reach(op: OnnxGraphBuilder, node: Operation) -> Value:
    return _required_input(node, 0)


# -- attention


@converts("Attention")
def _attention(op: OnnxGraphBuilder, node: Operation) -> Value:
    query, key, value = (_required_input(node, k) for k in range(3))
    mask, dtype = _optional_input(node, 3), _dtype_and_rank(node, query)[0]
    softmax, causal = bool(node.attributes["softmax"]), int(node.attributes["causal"])
    groups = op.Div(op.axis_length(query, 1), op.axis_length(key, 1))
    key, value = (_repeat_heads(op, x, groups) for x in (key, value))
    scores = op.MatMul(query, op.Transpose(key, perm=[0, 1, 3, 2]))
    masks: list[Value] = []
    if mask is not None and _dtype_and_rank(node, mask)[0] == _BOOL:
        masks.append(mask)
    elif mask is not None:
        scores = op.Add(scores, mask)
    if causal:
        masks.append(_causal_mask(op, query, key, causal == 2))
    fill = op.add_constant(-np.inf if softmax else 0, dtype)
    for visible in masks:
        scores = op.Where(visible, scores, fill)
    if softmax:
        # A query without visible keys gets 0, where a quotient of zeros would be NaN.
        hidden = op.IsInf(op.cast(scores, np.dtype(np.float32)), detect_positive=0)
        scores = op.Where(hidden, _zero_constant(op, dtype), op.Softmax(scores, axis=-1))
    return op.MatMul(scores, value)


def _repeat_heads(op: OnnxGraphBuilder, x: Value, groups: Value) -> Value:
    """Repeat each head ``groups`` times, consecutively."""
    shape = op.Shape(x)
    unsqueezed = op.Unsqueeze(x, [2])
    ones = op.add_constant([1, 1])
    times = op.Concat(ones, op.unsqueeze(groups, [0]), ones, axis=0)
    ends = [op.Slice(shape, [a], [b]) for a, b in ((0, 1), (2, 4))]
    joined = op.Concat(ends[0], [-1], ends[1], axis=0)
    return op.Reshape(op.Expand(unsqueezed, times), joined)


def _causal_mask(op: OnnxGraphBuilder, query: Value, key: Value, lower_right: bool) -> Value:
    rows, columns = op.axis_length(query, 2), op.axis_length(key, 2)
    last = op.unsqueeze(op.index_range(rows), [1])
    if lower_right:
        last = op.Add(last, op.Sub(columns, rows))
    return op.LessOrEqual(op.index_range(columns), last)
