"""A model in which some nodes compute in a narrower type: Casts around them, and between two of them none."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from onnx import TensorProto

from ...runtime.graph import Graph, If, Loop, Node, Operation, System, TensorType, Value
from ...runtime.ops.registry import ResolvedOperation, resolve

#: The narrower types by name, and their numbers in ONNX.
NARROW_TYPES: Mapping[str, tuple[np.dtype[Any], int]] = {
    "float16": (np.dtype(np.float16), TensorProto.FLOAT16),
    "bfloat16": (np.dtype(bfloat16), TensorProto.BFLOAT16),
}
WIDE_TYPE = np.dtype(np.float32)
#: Of other systems' Casts: the first operator set in which one has bfloat16.
_CAST_VERSION = 13
#: Operators whose result does not depend on the type that they compute in: data is moved, and stays as it is.
_MOVING = frozenset(
    {"Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Concat", "Split", "Slice", "Gather",
     "GatherElements", "GatherND", "Expand", "Tile", "Where", "Pad", "StridedSlice", "VariadicSplit", "Broadcast",
     "Directions"}
)  # fmt: skip


def is_narrowable(node: Node, dtypes: Mapping[Value, np.dtype[Any]]) -> bool:
    """Whether a node computes float32 results from float32 tensors, by the types in a run."""
    if not isinstance(node, Operation) or node.op_type in _MOVING:
        return False
    reads = any(value is not None and dtypes.get(value) == WIDE_TYPE for value in node.inputs)
    return reads and all(value is None or dtypes.get(value) == WIDE_TYPE for value in node.outputs)


def mixed_graph(
    graph: Graph,
    narrow: Collection[Operation],
    type_name: str,
    dtypes: Mapping[Value, np.dtype[Any]],
    rounded: Collection[Operation] = (),
) -> Graph:
    """A copy of a graph in which some nodes compute in a narrower type.

    What such a node reads is cast to the type, and its results are cast back, so that all values keep their type;
    between two such nodes the result is used as it is. Values are shared with the original.

    Args:
        graph: the model.
        narrow: the nodes, see :func:`is_narrowable`.
        type_name: a key of :data:`NARROW_TYPES`.
        dtypes: the types of values in a run.
        rounded: wide nodes whose operands and results are rounded to the narrower type.
    """
    return _Narrowing(narrow, rounded, type_name, dtypes, graph).graph(graph, {})


class NodeReplacement(ABC):
    """A copy of a graph, and of the graphs inside it, in which some nodes are replaced."""

    def __init__(self, chosen: Collection[Operation]) -> None:
        self._chosen = set(chosen)

    def graph(self, graph: Graph, visible: Mapping[Value, Value]) -> Graph:
        """A copy of a graph; ``visible``: values that exist in another form too."""
        new = copy.copy(graph)
        known = dict(visible)
        new.nodes = [replacement for node in graph.nodes for replacement in self._replace_node(node, known)]
        return new

    def _replace_node(self, node: Node, known: dict[Value, Value]) -> list[Node]:
        """What becomes of a node."""
        if isinstance(node, If):
            branch = copy.copy(node)
            branch.then_branch = self.graph(node.then_branch, known)
            branch.else_branch = self.graph(node.else_branch, known)
            return [branch]
        if isinstance(node, Loop):
            loop = copy.copy(node)
            loop.body = self.graph(node.body, known)
            if node.condition_node_count is not None:
                tested = node.body.nodes[: node.condition_node_count]
                loop.condition_node_count = sum(len(self._replace_node(inner, dict(known))) for inner in tested)
            return [loop]
        return self.operation(node, known) if isinstance(node, Operation) and node in self._chosen else [node]

    @abstractmethod
    def operation(self, node: Operation, known: dict[Value, Value]) -> list[Node]:
        """What becomes of a chosen node."""


def synthetic_node(
    name: str, op_type: str, version: int, inputs: list[Value], output: Value, attributes: dict[str, Any]
) -> ResolvedOperation:
    """A node of a standard ONNX operator."""
    operands: list[Value | None] = [*inputs]
    plain = Operation(name, op_type, "", version, operands, [output], attributes)
    operator = resolve(plain, System.ONNX)
    return ResolvedOperation(name, op_type, "", version, operands, [output], attributes, op=operator)


class _Narrowing(NodeReplacement):
    def __init__(
        self,
        narrow: Collection[Operation],
        rounded: Collection[Operation],
        type_name: str,
        dtypes: Mapping[Value, np.dtype[Any]],
        main: Graph,
    ) -> None:
        super().__init__({*narrow, *rounded})
        self._rounded = set(rounded)
        self._type_name, self._dtypes = type_name, dtypes
        # One model has one version of an operator set.
        self._cast_version = main.opsets.get("", _CAST_VERSION) if main.system is System.ONNX else _CAST_VERSION
        self._dtype, self._number = NARROW_TYPES[type_name]

    def operation(self, node: Operation, known: dict[Value, Value]) -> list[Node]:
        new_nodes: list[Node] = []
        outputs = [None if value is None else self._narrow_value(value) for value in node.outputs]
        computing = copy.copy(node)
        if node in self._rounded:
            computing.inputs = [self._rounded_input(value, known, new_nodes) for value in node.inputs]
            computing.outputs = [None if x is None else Value(f"{x.name}_wide", x.type) for x in node.outputs]
            pairs = [(x, y) for x, y in zip(computing.outputs, outputs, strict=True) if x is not None and y is not None]
            new_nodes += [computing, *(self._cast_node(unrounded, result, self._number) for unrounded, result in pairs)]
        else:
            computing.inputs = [self._narrow_input(value, known, new_nodes) for value in node.inputs]
            computing.outputs = outputs
            new_nodes.append(computing)
        for original, value in zip(node.outputs, outputs, strict=True):
            if original is not None and value is not None:
                known[original] = value
                new_nodes.append(self._cast_node(value, original, TensorProto.FLOAT))
        return new_nodes

    def _narrow_input(self, value: Value | None, known: dict[Value, Value], new_nodes: list[Node]) -> Value | None:
        if value is None or self._dtypes.get(value) != WIDE_TYPE:
            return value
        if value not in known:
            known[value] = self._narrow_value(value)
            new_nodes.append(self._cast_node(value, known[value], self._number))
        return known[value]

    def _rounded_input(self, value: Value | None, known: dict[Value, Value], new_nodes: list[Node]) -> Value | None:
        """A wide operand that was rounded; initializers are not."""
        narrow = self._narrow_input(value, known, new_nodes) if value is not None and value.constant is None else value
        if value is None or narrow is None or narrow is value:
            return value
        rounded = Value(f"{value.name}_rounded", value.type)
        new_nodes.append(self._cast_node(narrow, rounded, TensorProto.FLOAT))
        return rounded

    def _narrow_value(self, value: Value) -> Value:
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        return Value(f"{value.name}_{self._type_name}", TensorType(self._dtype, shape))

    def _cast_node(self, source: Value, target: Value, number: int) -> ResolvedOperation:
        return synthetic_node(f"{target.name}_cast", "Cast", self._cast_version, [source], target, {"to": number})
