"""TensorRT's own operators as ONNX's: what peers compute where a network is handed to them.

Each is written for any sizes, as a run may tell them; of ranks and types it needs those that the network states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.dtypes import to_onnx
from ...runtime.errors import UnsupportedError
from ...runtime.graph import Array, Graph, Operation, TensorType, Value

#: The opset of the operators that are written here.
OPSET = 21
_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)


class Writer:
    """Adds operators of ONNX to a graph; what is constant goes into ``constants``."""

    def __init__(self, graph: Graph, constants: list[Value]) -> None:
        self.graph = graph
        self.constants = constants
        #: What the nodes that are added are called after.
        self.base = ""

    def op(self, op_type: str, *inputs: Value | None, out: Value | None = None, **attributes: Any) -> Value:
        """An operator with one result, ``out`` or a new value."""
        made = Value(f"{self.base}/{op_type}") if out is None else out
        name = f"{self.base}/{op_type}"
        self.graph.nodes.append(Operation(name, op_type, "", OPSET, list(inputs), [made], attributes))
        return made

    def constant(self, array: Any, dtype: np.dtype[Any] = _INT64) -> Value:
        data: Array = np.array(array, dtype, order="C")
        value = Value(f"{self.base}/constant", TensorType(data.dtype, data.shape), data)
        self.constants.append(value)
        return value

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        return self.op("Cast", value, to=to_onnx(dtype))

    def size(self, value: Value, axis: int) -> Value:
        """The length of an axis, 0-D."""
        return self.op("Gather", self.op("Shape", value), self.constant(axis), axis=0)

    def places(self, count: Value) -> Value:
        """0 up to a 0-D number."""
        return self.op("Range", self.constant(0), count, self.constant(1))

    def element(self, vector: Value, index: int) -> Value:
        """One number of a vector of integers, 0-D and of 64 bits."""
        return self.op("Gather", self.cast(vector, _INT64), self.constant(index), axis=0)

    def where(self, condition: Value, one: Value, other: Value, dtype: np.dtype[Any]) -> Value:
        """A choice; of booleans by way of numbers, which runtimes know to choose from."""
        if dtype != _BOOL:
            return self.op("Where", condition, one, other)
        number = np.dtype(np.uint8)
        return self.cast(self.op("Where", condition, self.cast(one, number), self.cast(other, number)), _BOOL)

    def unsqueezed(self, value: Value, axes: Sequence[int]) -> Value:
        return self.op("Unsqueeze", value, self.constant(list(axes))) if axes else value


Rule = Callable[[Writer, Operation], Value]
_RULES: dict[str, Rule] = {}


def rule(op_type: str) -> Callable[[Rule], Rule]:
    def keep(function: Rule) -> Rule:
        _RULES[op_type] = function
        return function

    return keep


def write(writer: Writer, node: Operation) -> None:
    """Add what an operator of the domain ``tensorrt`` means.

    Raises:
        UnsupportedError: ONNX has no words for it.
    """
    found = _RULES.get(node.op_type)
    if found is None or node.outputs[0] is None:
        raise UnsupportedError(f"{node.describe()}: ONNX has no operator for TensorRT's {node.op_type}")
    writer.base = node.name
    writer.op("Identity", found(writer, node), out=node.outputs[0])


def known_operators() -> frozenset[str]:
    """The operators that can be written."""
    return frozenset(_RULES)


# -- what a node is fed


def _fed(node: Operation, index: int) -> Value:
    value = node.inputs[index]
    assert value is not None
    return value


def _optional(node: Operation, index: int) -> Value | None:
    return node.inputs[index] if len(node.inputs) > index else None


def _typed(node: Operation, value: Value) -> tuple[np.dtype[Any], int]:
    """The type and the rank of what a node is fed."""
    kind = value.type
    if value.constant is not None:
        return value.constant.dtype, value.constant.ndim
    if not isinstance(kind, TensorType) or kind.dtype is None or kind.shape is None:
        raise UnsupportedError(f"{node.describe()}: the type of '{value.name}' is not known")
    return kind.dtype, len(kind.shape)


def _zero(writer: Writer, dtype: np.dtype[Any]) -> Value:
    return writer.constant(0, dtype)


# -- slices


@rule("Slice")
def _slice(writer: Writer, node: Operation) -> Value:
    """Axis by axis a Gather of the places; outside of the tensor as the mode says."""
    x = _fed(node, 0)
    dtype, rank = _typed(node, x)
    parts = [_fed(node, k) for k in (1, 2, 3)]
    outside = str(node.attributes["outside"])
    result, missing = x, None
    for k, axis in enumerate(node.attributes["axes"]):
        start, size, stride = (writer.element(part, k) for part in parts)
        place = writer.op("Add", start, writer.op("Mul", stride, writer.places(size)))
        extent = writer.size(x, axis)
        if outside == "fill":
            beyond = _outside(writer, place, extent)
            behind = writer.unsqueezed(beyond, range(1, rank - axis))
            missing = behind if missing is None else writer.op("Or", missing, behind)
        result = writer.op("Gather", result, _brought_in(writer, place, extent, outside), axis=axis)
    if missing is None:
        return result
    fill = _optional(node, 4) or _zero(writer, dtype)
    return writer.where(missing, writer.op("Expand", fill, writer.op("Shape", result)), result, dtype)


def _outside(writer: Writer, place: Value, extent: Value) -> Value:
    below = writer.op("Less", place, writer.constant(0))
    return writer.op("Or", below, writer.op("GreaterOrEqual", place, extent))


def _brought_in(writer: Writer, place: Value, extent: Value, outside: str) -> Value:
    """Places that lie inside of an axis; those outside are where the mode puts them."""
    if outside == "fill":
        return writer.op("Where", _outside(writer, place, extent), writer.constant(0), place)
    if outside == "wrap":
        return writer.op("Mod", place, extent)
    last = writer.op("Sub", extent, writer.constant(1))
    if outside == "clamp":
        return writer.op("Max", writer.constant(0), writer.op("Min", place, last))
    if outside == "reflect":
        turn = writer.op("Max", writer.op("Mul", last, writer.constant(2)), writer.constant(1))
        folded = writer.op("Mod", writer.op("Abs", place), turn)
        back = writer.op("Sub", writer.op("Mul", last, writer.constant(2)), folded)
        return writer.op("Where", writer.op("GreaterOrEqual", folded, extent), back, folded)
    return place


# -- gathering: what lies outside reads 0


def _safe(writer: Writer, indices: Value, extent: Value) -> tuple[Value, Value]:
    """Indices with 0 in place of those outside, and which are inside."""
    index = writer.cast(indices, _INT64)
    low = writer.op("GreaterOrEqual", index, writer.op("Neg", extent))
    inside = writer.op("And", low, writer.op("Less", index, extent))
    return writer.op("Where", inside, index, writer.constant(0)), inside


def _masked(writer: Writer, inside: Value, found: Value, dtype: np.dtype[Any]) -> Value:
    return writer.where(inside, found, _zero(writer, dtype), dtype)


@rule("Gather")
def _gather(writer: Writer, node: Operation) -> Value:
    x, indices = _fed(node, 0), _fed(node, 1)
    dtype, rank = _typed(node, x)
    axis, batched = int(node.attributes["axis"]) % rank, bool(node.attributes.get("batched"))
    safe, inside = _safe(writer, indices, writer.size(x, axis))
    if not batched:
        found = writer.op("Gather", x, safe, axis=axis)
        mask = writer.unsqueezed(inside, range(-(rank - axis - 1), 0))
        return _masked(writer, mask, found, dtype)
    # Axis 0 of both is one batch, or is stretched to it; behind it the axis comes first, so that tuples of one find it.
    many = _typed(node, indices)[1] - 1
    count = writer.op("Max", writer.size(x, 0), writer.size(indices, 0))
    x, safe, inside = (
        _stretched(writer, value, count, size) for value, size in ((x, rank), (safe, many + 1), (inside, many + 1))
    )
    turned = writer.op("Transpose", x, perm=[0, axis, *(d for d in range(1, rank) if d != axis)])
    found = writer.op("GatherND", turned, writer.op("Unsqueeze", safe, writer.constant([-1])), batch_dims=1)
    # [batch, indices, before the axis, behind it] -> [batch, before, indices, behind]
    before, behind = axis - 1, rank - axis - 1
    order = [0, *(1 + many + k for k in range(before)), *(1 + k for k in range(many))]
    found = writer.op("Transpose", found, perm=[*order, *(1 + many + before + k for k in range(behind))])
    mask = writer.unsqueezed(inside, [*range(1, 1 + before), *range(1 + before + many, 1 + before + many + behind)])
    return _masked(writer, mask, found, dtype)


def _stretched(writer: Writer, value: Value, count: Value, rank: int) -> Value:
    whole = [writer.unsqueezed(count, [0]), *([writer.constant([1] * (rank - 1))] if rank > 1 else [])]
    shape = writer.op("Concat", *whole, axis=0) if len(whole) > 1 else whole[0]
    return writer.op("Expand", value, shape)


@rule("GatherElements")
def _gather_elements(writer: Writer, node: Operation) -> Value:
    x, axis = _fed(node, 0), int(node.attributes["axis"])
    dtype, rank = _typed(node, x)
    safe, inside = _safe(writer, _fed(node, 1), writer.size(x, axis % rank))
    return _masked(writer, inside, writer.op("GatherElements", x, safe, axis=axis), dtype)


@rule("GatherND")
def _gather_nd(writer: Writer, node: Operation) -> Value:
    x, indices = _fed(node, 0), _fed(node, 1)
    batched = int(node.attributes.get("batched", 0))
    dtype, rank = _typed(node, x)
    kind = indices.type
    count = indices.constant.shape[-1] if indices.constant is not None else None
    if count is None and isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[-1], int):
        count = kind.shape[-1]
    if count is None:
        raise UnsupportedError(f"{node.describe()}: how many numbers find one part is not known")
    bounds = writer.constant([batched]), writer.constant([batched + count])
    safe, inside = _safe(writer, indices, writer.op("Slice", writer.op("Shape", x), *bounds))
    number = np.dtype(np.int32)
    every = writer.op("ReduceMin", writer.cast(inside, number), writer.constant([-1]), keepdims=0)
    mask = writer.unsqueezed(writer.cast(every, _BOOL), range(-(rank - batched - count), 0))
    return _masked(writer, mask, writer.op("GatherND", x, safe, batch_dims=batched), dtype)


# -- filling, reducing


@rule("Linspace")
def _linspace(writer: Writer, node: Operation) -> Value:
    shape, alpha, beta = (_fed(node, k) for k in range(3))
    dtype, _ = _typed(node, alpha)
    rank = _count(node, shape)
    wide = np.dtype(np.float64) if dtype.kind == "f" else _INT64
    steps = writer.op("Reshape", writer.cast(beta, wide), writer.constant([-1]))
    result = writer.op("Reshape", writer.cast(alpha, wide), writer.constant([1] * rank))
    for k in range(rank):
        index = writer.cast(writer.places(writer.element(shape, k)), wide)
        index = writer.unsqueezed(index, [d for d in range(rank) if d != k])
        step = writer.op("Gather", steps, writer.constant(k), axis=0)
        result = writer.op("Add", result, writer.op("Mul", step, index))
    return writer.cast(result, dtype)


def _count(node: Operation, vector: Value) -> int:
    """How many numbers a vector has."""
    if vector.constant is not None:
        return int(vector.constant.size)
    kind = vector.type
    if isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[0], int):
        return kind.shape[0]
    raise UnsupportedError(f"{node.describe()}: how many numbers '{vector.name}' has is not known")


@rule("RaggedSoftmax")
def _ragged_softmax(writer: Writer, node: Operation) -> Value:
    x, bounds = _fed(node, 0), _fed(node, 1)
    dtype, rank = _typed(node, x)
    inside = writer.op("Less", writer.places(writer.size(x, rank - 1)), writer.cast(bounds, _INT64))
    single = np.dtype(np.float32)
    hidden = writer.op("Where", inside, writer.cast(x, single), writer.constant(-np.inf, single))
    soft = writer.op("Softmax", hidden, axis=-1)
    return writer.cast(writer.op("Where", inside, soft, _zero(writer, single)), dtype)


@rule("Assertion")
def _assertion(writer: Writer, node: Operation) -> Value:
    """It held, or the peer would not be asked."""
    return _fed(node, 0)


@rule("PoolReach")
def _pool_reach(writer: Writer, node: Operation) -> Value:
    return _fed(node, 0)


# -- attention


@rule("Attention")
def _attention(writer: Writer, node: Operation) -> Value:
    query, key, value = (_fed(node, k) for k in range(3))
    mask, dtype = _optional(node, 3), _typed(node, query)[0]
    softmax, causal = bool(node.attributes["softmax"]), int(node.attributes["causal"])
    groups = writer.op("Div", writer.size(query, 1), writer.size(key, 1))
    key, value = (_repeated(writer, x, groups) for x in (key, value))
    scores = writer.op("MatMul", query, writer.op("Transpose", key, perm=[0, 1, 3, 2]))
    seen: list[Value] = []
    if mask is not None and _typed(node, mask)[0] == _BOOL:
        seen.append(mask)
    elif mask is not None:
        scores = writer.op("Add", scores, mask)
    if causal:
        seen.append(_causal(writer, query, key, causal == 2))
    nothing = writer.constant(-np.inf if softmax else 0, dtype)
    for one in seen:
        scores = writer.op("Where", one, scores, nothing)
    if softmax:
        # A query that sees nothing gets nothing, where a quotient of zeros would be NaN.
        hidden = writer.op("IsInf", writer.cast(scores, np.dtype(np.float32)), detect_positive=0)
        scores = writer.op("Where", hidden, _zero(writer, dtype), writer.op("Softmax", scores, axis=-1))
    return writer.op("MatMul", scores, value)


def _repeated(writer: Writer, x: Value, groups: Value) -> Value:
    """Each head so many times, one after the other."""
    shape = writer.op("Shape", x)
    wide = writer.op("Unsqueeze", x, writer.constant([2]))
    one = writer.constant([1, 1])
    times = writer.op("Concat", one, writer.unsqueezed(groups, [0]), one, axis=0)
    ends = [writer.op("Slice", shape, writer.constant([a]), writer.constant([b])) for a, b in ((0, 1), (2, 4))]
    joined = writer.op("Concat", ends[0], writer.constant([-1]), ends[1], axis=0)
    return writer.op("Reshape", writer.op("Expand", wide, times), joined)


def _causal(writer: Writer, query: Value, key: Value, lower_right: bool) -> Value:
    rows, columns = writer.size(query, 2), writer.size(key, 2)
    last = writer.unsqueezed(writer.places(rows), [1])
    if lower_right:
        last = writer.op("Add", last, writer.op("Sub", columns, rows))
    return writer.op("LessOrEqual", writer.places(columns), last)
