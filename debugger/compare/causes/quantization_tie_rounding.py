"""Quantisation steps: runtimes that round the midpoint of two quantised numbers differently are one step apart, and
neither is wrong."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ....runtime.graph import Graph, Loop, Node, Operation, SlicedInput, Value
from ....runtime.graph.producers import ProducerMap

#: Operators that move or reshape values without changing them.
_VALUE_PRESERVING = (
    *("Flatten", "Gather", "Identity", "Reshape", "Reverse", "ReverseSequence", "Slice", "Split", "Squeeze"),
    *("StridedSlice", "Transpose", "Unsqueeze", "VariadicSplit"),
)
#: Relative slack of a step for the rounding of scales.
_SCALE_ROUNDING_SLACK = 1e-3


class QuantizationSteps:
    """The step sizes of a model's quantised values."""

    def __init__(self, graph: Graph | None) -> None:
        self._graph = graph

    @cached_property
    def _producers(self) -> ProducerMap:
        return ProducerMap() if self._graph is None else ProducerMap.for_graph(self._graph)

    def output_quantization_step(self, name: str, data: Any) -> float:
        """The step of an output of the model."""
        outputs = () if self._graph is None else self._graph.outputs
        return self.value_quantization_step(next((value for value in outputs if value.name == name), None), data)

    def value_quantization_step(self, value: Value | None, data: Any) -> float:
        """The distance of neighbouring quantised values; 0 if the value is not quantised, or not uniformly."""
        step = byte_integer_step(data)
        seen: set[Value] = set()
        while not step and value is not None and value not in seen:
            seen.add(value)
            node = self._producers.get(value)
            step = _node_quantization_step(node, self._producers)
            value = None if node is None else _value_source(node, value)
        return step


def byte_integer_step(data: Any) -> float:
    """1 for integers of at most eight bits, which only quantised values have."""
    dtype = np.asarray(data).dtype if not isinstance(data, list | tuple) else np.dtype(bool)
    is_8_bit = dtype.itemsize == 1 and (dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name))
    return 1.0 if is_8_bit else 0.0


def is_within_step(difference: float, step: float) -> bool:
    """Whether a difference is at most one step."""
    return 0 < difference <= step * (1 + _SCALE_ROUNDING_SLACK)


def _node_quantization_step(node: Node | None, origins: ProducerMap) -> float:
    if isinstance(node, Operation) and node.op_type == "DequantizeLinear":
        return abs(float(origins.constant_scalar(node.inputs[1]) or 0))
    if isinstance(node, Operation) and node.op_type == "FakeQuantize":
        low, high = (origins.constant_scalar(value) for value in node.inputs[3:5])
        levels = int(node.attributes.get("levels", 0))
        return 0.0 if low is None or high is None or levels < 2 else abs(float(high) - float(low)) / (levels - 1)
    return 0.0


def _value_source(node: Node, value: Value) -> Value | None:
    """The value whose numbers a value has."""
    if isinstance(node, Loop):
        scan_results = (scan.result for scan in node.scan_outputs if scan.outer is value)
        last_results = (last.result for last in node.last_values if last.outer is value)
        return next(chain(scan_results, last_results), None)
    return node.inputs[0] if node.op_type in _VALUE_PRESERVING and not node.is_custom_operator and node.inputs else None


def graph_value_by_role(loop: Loop | None, role: str, name: str, iteration: int | None) -> Value | None:
    """The model's value behind a compared value of a loop, by role and name."""
    if loop is None:
        return None
    if role == "scan":
        return next((scan.result for scan in loop.scan_outputs if scan.outer.name == name), None)
    if role == "condition":
        return loop.initial_condition if iteration is None else loop.condition
    edge = next((edge for edge in loop.back_edges if edge.param.name == name), None) if role == "carried" else None
    if edge is None or iteration is not None:
        return None if edge is None else edge.result
    return edge.initial.outer if isinstance(edge.initial, SlicedInput) else edge.initial
