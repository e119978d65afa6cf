"""What the rules look at: a model's graphs, each with its path, and facts about their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ...runtime.graph import (
    MAIN,
    BackEdge,
    Graph,
    If,
    Loop,
    Node,
    Operation,
    SequenceType,
    TensorType,
    Value,
    ValueType,
    bodies,
    nodes_in_file,
    values_read_in_graph,
    walk,
)
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.onnx_schemas import schema_for
from ...runtime.ops.type_constraints import DtypeInference

_SINGLE_TYPES = {
    "tensor(bool)": np.dtype(bool),
    "tensor(int64)": np.dtype(np.int64),
    "tensor(string)": np.dtype(object),
}


@dataclass(frozen=True)
class RuleMatch:
    """A rule that applies. ``path``: of the innermost loop around it, or of the loop itself; ``node``: its name in the
    file, empty for the whole model."""

    rule: str
    text: str
    path: str = MAIN
    node: str = ""


@dataclass(frozen=True)
class RuleScope:
    """A graph of the model, with its nodes as in the file. ``loops``: the loops around it, outermost first."""

    graph: Graph
    nodes: tuple[Node, ...]
    path: str
    loops: tuple[Loop, ...] = ()


class RuleContext:
    """Facts about a model's values."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scopes = tuple(_rule_scopes(graph, MAIN, ()))

    @cached_property
    def producers(self) -> ProducerMap:
        """The node that computes each value."""
        return ProducerMap.for_graph(self.graph)

    @cached_property
    def _dtypes(self) -> DtypeInference:
        dtypes = DtypeInference()
        for _ in dtypes.visit_graph(self.graph):
            pass  # the mixed types are notes of the graph
        return dtypes

    def dtype(self, value: Value | None) -> np.dtype[Any] | None:
        """The element type of a tensor, declared or inferred."""
        known = self._dtypes.dtype_of(value)
        if value is None or known is not None:
            return known
        source = self.producers.skip_identities(value)
        node = self.producers.get(source)
        if not isinstance(node, Operation) or node.domain:
            return None
        return _fixed_output_dtype(node.op_type, node.version, node.outputs.index(source))

    def value_type(self, value: Value) -> ValueType:
        """The type of a value: the declared one, or its inferred element type."""
        kind = value.type
        return TensorType(self.dtype(value)) if isinstance(kind, TensorType) and kind.dtype is None else kind

    def is_sequence(self, value: Value | None) -> bool:
        """Whether a value is declared as a sequence, or computed by an operator that returns one."""
        if value is None:
            return False
        if isinstance(value.type, SequenceType):
            return True
        node = self.producers.get(self.producers.skip_identities(value))
        return node is not None and not node.domain and node.op_type in SEQUENCE_PRODUCERS

    def rank(self, value: Value) -> int | None:
        """The number of dimensions of a tensor; None where it is unknown."""
        node = self.producers.get(value)
        if isinstance(node, Operation) and node.op_type == "Constant" and not node.domain:
            data = next(iter(node.attributes.values()), None)
            return data.ndim if isinstance(data, np.ndarray) else None
        if value.constant is not None:
            return value.constant.ndim
        return len(value.type.shape) if isinstance(value.type, TensorType) and value.type.shape is not None else None

    def dimension(self, value: Value, axis: int) -> int | None:
        """The declared size of a tensor along an axis; None where it is unknown."""
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        if value.constant is not None:
            shape = value.constant.shape
        size = None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
        return size if isinstance(size, int) else None

    def source(self, value: Value | None) -> Value | None:
        """What a value is a copy of, through Identity nodes."""
        return None if value is None else self.producers.skip_identities(value)

    def constant(self, value: Value | None) -> Any:
        """The data of a constant, also of a Constant node; None where it is none."""
        if value is None:
            return None
        source = self.producers.skip_identities(value)
        node = self.producers.get(source)
        if isinstance(node, Operation) and node.op_type == "Constant" and not node.domain:
            data = next(iter(node.attributes.values()), None)
            return data if isinstance(data, np.ndarray) else None
        return source.constant

    def is_returned(self, value: Value) -> bool:
        """Whether a graph of the model returns a value, or a copy of it."""
        return any(self.producers.skip_identities(o) is value for scope in self.scopes for o in scope.graph.outputs)

    def depends_on_shapes_only(self, value: Value | None) -> bool:
        """Whether a value depends on constants and on shapes alone."""
        if value is None or self.is_constant(value):
            return value is not None
        node = self.producers.get(value)
        if not isinstance(node, Operation) or node.domain:
            return False
        return node.op_type in ("Shape", "Size") or all(
            v is None or self.depends_on_shapes_only(v) for v in node.inputs
        )

    def is_static(self, value: Value) -> bool:
        """Whether the shape of a tensor is declared, and has no unknown dimension."""
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        return self.is_constant(value) or (shape is not None and all(isinstance(dim, int) for dim in shape))

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant of the model."""
        node = self.producers.get(value)
        return value.constant is not None or (node is not None and node.op_type == "Constant" and not node.domain)

    def readers(self, value: Value, graph: Graph | None = None) -> list[Node]:
        """The nodes of a graph (the whole model), and of the graphs inside it, that read a value."""
        return [node for node in walk(graph or self.graph) if value in node.inputs]


SEQUENCE_PRODUCERS = frozenset(
    ("SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceMap", "SplitToSequence")
)


def derived_values(loop: Loop, sources: Iterable[Value]) -> set[Value]:
    """The values of a body that are computed from some values, and those values."""
    derived = set(sources)
    for node in loop.body.nodes:
        reads = {value for value in node.inputs if value is not None}
        for _, inner in bodies(node):
            reads |= values_read_in_graph(inner)
        if reads & derived:
            derived.update(value for value in node.outputs if value is not None)
    return derived


def unread_parameters(loop: Loop) -> list[BackEdge]:
    """The back edges whose parameter the body does not read: only the initial value and the last result matter."""
    read = values_read_in_graph(loop.body)
    return [edge for edge in loop.back_edges if edge.param not in read]


@cache
def _fixed_output_dtype(op_type: str, version: int, position: int) -> np.dtype[Any] | None:
    """The element type of an operator's output, if its schema allows one only: that of Less is bool."""
    schema = schema_for(op_type, version, "")
    if schema is None or position >= len(schema.outputs):
        return None
    text = schema.outputs[position].type_str
    allowed = next((list(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == text), [text])
    return _SINGLE_TYPES.get(allowed[0]) if len(allowed) == 1 else None


def _rule_scopes(graph: Graph, path: str, loops: tuple[Loop, ...]) -> Iterator[RuleScope]:
    nodes = tuple(nodes_in_file(graph))
    yield RuleScope(graph, nodes, path, loops)
    for node in nodes:
        if isinstance(node, Loop | If):
            inner_loops = (*loops, node) if isinstance(node, Loop) else loops
            inner_path = f"{path} ▸ {node.name}" if isinstance(node, Loop) else path
            for _, inner in bodies(node):
                yield from _rule_scopes(inner, inner_path, inner_loops)
