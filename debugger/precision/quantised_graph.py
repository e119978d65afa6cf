"""A model in which the operands of some nodes are quantised to 8 bits, as QuantizeLinear and DequantizeLinear do it.

Weights: int8, symmetric, one scale for each output channel of a product or convolution, else one for the tensor.
Activations: uint8, asymmetric, one scale for the tensor; the range is that of the values in the float32 run, with zero.
Biases stay as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.graph import Array, Graph, Node, Operation, System, TensorType, Value
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.registry import ResolvedOperation, ResolvedOperator
from .mixed_graph import WIDE_TYPE, NodeReplacement, synthetic_node

QUANTISED_TYPE = "int8"
SCHEME = (
    "weights int8, symmetric, a scale for each output channel; activations uint8, asymmetric, with the ranges of the"
    " float32 run"
)
#: Operators that runtimes compute in 8 bits; nodes of others have to be named.
_CELLS = frozenset(("GRUCell", "LSTMCell", "RNNCell"))
PRODUCTS = _CELLS | {"Conv", "ConvTranspose", "Convolution", "Gemm", "GroupConvolution", "MatMul"}
#: The first operator set in which QuantizeLinear has an axis.
_MIN_VERSION = 13
_MAX_SYMMETRIC, _MAX_ASYMMETRIC = 127, 255


@dataclass
class ValueRange:
    """The smallest and the largest finite number of a value, with zero."""

    low: float = 0.0
    high: float = 0.0

    def add(self, array: Array) -> None:
        """Extend it by an array."""
        finite = array[np.isfinite(array)]
        if finite.size:
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))


def calibration_graph(
    graph: Graph, nodes: Collection[Operation], dtypes: Mapping[Value, np.dtype[Any]]
) -> tuple[Graph, dict[Value, ValueRange]]:
    """A model that also records the ranges of what some nodes read, and these ranges."""
    observing = _Observing(nodes, dtypes)
    return observing.graph(graph, {}), observing.ranges


def quantised_graph(
    graph: Graph,
    chosen: Collection[Operation],
    dtypes: Mapping[Value, np.dtype[Any]],
    ranges: Mapping[Value, ValueRange],
) -> Graph:
    """A copy of a graph in which the float32 operands of some nodes are quantised and dequantised."""
    quantising = _Quantising(chosen, dtypes, ranges, graph)
    new = quantising.graph(graph, {})
    new.constants = [*graph.constants, *quantising.constants]
    return new


class _Observing(NodeReplacement):
    def __init__(self, chosen: Collection[Operation], dtypes: Mapping[Value, np.dtype[Any]]) -> None:
        super().__init__(chosen)
        self._dtypes = dtypes
        self.ranges: dict[Value, ValueRange] = {}

    def operation(self, node: Operation, known: dict[Value, Value]) -> list[Node]:
        new_nodes: list[Node] = []
        reading = copy.copy(node)
        reading.inputs = [self._observed(value, new_nodes) for value in node.inputs]
        return [*new_nodes, reading]

    def _observed(self, value: Value | None, new_nodes: list[Node]) -> Value | None:
        if value is None or self._dtypes.get(value) != WIDE_TYPE:
            return value
        span = self.ranges.setdefault(value, ValueRange())

        def record(p: Any, array: Array) -> Array:
            span.add(array)
            return array.copy()

        observed = Value(f"{value.name}_observed", value.type)
        operator = ResolvedOperator(record, {}, native=False, pure=False)
        new_nodes.append(ResolvedOperation(observed.name, "Observe", "", 1, [value], [observed], {}, op=operator))
        return observed


@dataclass(eq=False)
class _Scale:
    """The parameters of QuantizeLinear for one operand."""

    scale: Value
    zero: Value
    attributes: dict[str, Any] = field(default_factory=dict)


class _Quantising(NodeReplacement):
    def __init__(
        self,
        chosen: Collection[Operation],
        dtypes: Mapping[Value, np.dtype[Any]],
        ranges: Mapping[Value, ValueRange],
        main: Graph,
    ) -> None:
        super().__init__(chosen)
        self._dtypes, self._ranges = dtypes, ranges
        self._producers = ProducerMap.for_graph(main)
        known = main.opsets.get("", _MIN_VERSION) if main.system is System.ONNX else _MIN_VERSION
        self._version = max(known, _MIN_VERSION)
        self.constants: list[Value] = []
        self._count = 0

    def operation(self, node: Operation, known: dict[Value, Value]) -> list[Node]:
        new_nodes: list[Node] = []
        computing = copy.copy(node)
        computing.inputs = [
            self._quantise_input(node, k, value, known, new_nodes) for k, value in enumerate(node.inputs)
        ]
        return [*new_nodes, computing]

    def _quantise_input(
        self, node: Operation, position: int, value: Value | None, known: dict[Value, Value], new_nodes: list[Node]
    ) -> Value | None:
        if value is None or self._dtypes.get(value) != WIDE_TYPE:
            return value
        weights = self._constant_data(value)
        if weights is not None and weights.ndim < 2 and position > 1 and node.op_type in PRODUCTS:
            return value  # a bias
        if weights is None and value in known:
            return known[value]
        parameters = (
            self._activation_scale(value) if weights is None else self._weight_scale(node, position, value, weights)
        )
        self._count += 1
        name = f"{value.name}_{self._count}"
        stored = Value(f"{name}_int8", TensorType(None))
        result = Value(f"{name}_dequantised", value.type)
        operands = [parameters.scale, parameters.zero]
        for op_type, source, target in (("QuantizeLinear", value, stored), ("DequantizeLinear", stored, result)):
            new_nodes.append(
                synthetic_node(
                    target.name, op_type, self._version, [source, *operands], target, dict(parameters.attributes)
                )
            )
        if weights is None:
            known[value] = result
        return result

    def _constant_data(self, value: Value) -> Array | None:
        if value.constant is not None:
            return value.constant
        node = self._producers.get(value)
        if isinstance(node, Operation) and node.op_type == "Constant":
            data = next(iter(node.attributes.values()), None)
            return data if isinstance(data, np.ndarray) else None
        return None

    def _activation_scale(self, value: Value) -> _Scale:
        span = self._ranges.get(value, ValueRange())
        scale = (span.high - span.low) / _MAX_ASYMMETRIC or 1.0
        zero = min(max(round(-span.low / scale), 0), _MAX_ASYMMETRIC)
        return self._add_scale(value, np.array(scale, np.float32), np.array(zero, np.uint8))

    def _weight_scale(self, node: Operation, position: int, value: Value, data: Array) -> _Scale:
        axis = _channel_axis(node, position, data.ndim)
        others = tuple(k for k in range(data.ndim) if k != axis)
        largest = np.abs(data).max(axis=None if axis is None else others, initial=0.0)
        scale = np.asarray(np.where(largest > 0, largest / _MAX_SYMMETRIC, 1.0), np.float32)
        parameters = self._add_scale(value, scale, np.zeros(scale.shape, np.int8))
        if axis is not None:
            parameters.attributes["axis"] = axis
        return parameters

    def _add_scale(self, value: Value, scale: Array, zero: Array) -> _Scale:
        name = f"{value.name}_{len(self.constants)}"
        parameters = _Scale(
            Value(f"{name}_scale", TensorType(scale.dtype, scale.shape), scale),
            Value(f"{name}_zero_point", TensorType(zero.dtype, zero.shape), zero),
        )
        self.constants += [parameters.scale, parameters.zero]
        return parameters


def _channel_axis(node: Operation, position: int, rank: int) -> int | None:
    """The axis of the output channels of weights; None where they have one scale."""
    if position < 1 or node.op_type not in PRODUCTS or rank < 2:
        return None
    if node.op_type in ("Conv", "Convolution") or node.op_type in _CELLS:
        return 0
    if node.op_type == "Gemm":
        return 0 if node.attributes.get("transB", 0) else 1
    if node.op_type == "MatMul":
        return rank - 2 if node.attributes.get("transpose_b", False) else rank - 1
    return None
