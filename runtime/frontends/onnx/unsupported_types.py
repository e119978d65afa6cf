"""Prunes values of unsupported types (maps, sparse tensors, opaque types), so that the rest of a model can run."""

from __future__ import annotations

from dataclasses import field

from ...dtypes import dtype_from_onnx
from ...errors import UnsupportedError
from ...graph import ExcludedItem, Graph, Node, Note, Value, bodies
from ...record import record
from .proto import TypeProto

#: Operators with a map as input or output, whatever the model declares.
_MAP_OPERATORS = {
    ("ai.onnx.ml", "CastMap"): "it takes a map",
    ("ai.onnx.ml", "DictVectorizer"): "it takes a map",
    ("ai.onnx.ml", "ZipMap"): "it gives a sequence of maps",
}


def unsupported_type_text(proto: TypeProto) -> str:
    """The text of an unsupported type, ``seq(map(int64,float32))``; empty for other types."""
    kind = proto.WhichOneof("value")
    if kind == "sequence_type":
        element = unsupported_type_text(proto.sequence_type.elem_type)
        return element and f"seq({element})"
    if kind == "optional_type":
        element = unsupported_type_text(proto.optional_type.elem_type)
        return element and f"optional({element})"
    if kind == "map_type":
        return f"map({_element_type_text(proto.map_type.key_type)},{_map_value_text(proto.map_type.value_type)})"
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({_element_type_text(proto.sparse_tensor_type.elem_type)})"
    return "" if kind in ("tensor_type", None) else kind.removesuffix("_type")


def _map_value_text(proto: TypeProto) -> str:
    if proto.WhichOneof("value") == "tensor_type":
        return _element_type_text(proto.tensor_type.elem_type)
    return unsupported_type_text(proto) or "?"


def _element_type_text(code: int) -> str:
    try:
        dtype = dtype_from_onnx(code)
    except UnsupportedError:
        return "?"
    return "string" if dtype.hasobject else str(dtype.name)


@record(frozen=True)
class _ExclusionCause:
    """The first node or input that is excluded: its name in messages, and the reason."""

    subject: str
    reason: str


@record
class UnsupportedTypePruner:
    """Removes everything that needs values of unsupported types from a graph.

    ``types``: the values of unsupported types, each with its type as text.
    """

    types: dict[Value, str]
    #: Excluded value -> the first cause.
    causes: dict[Value, _ExclusionCause] = field(default_factory=dict)

    def apply(self, graph: Graph) -> None:
        """Remove nodes, inputs and outputs of a main graph, and nodes of the graphs inside it.

        Removed items and reasons are added to ``graph.excluded`` and ``graph.notes``.

        Raises:
            UnsupportedError: no node is left.
        """
        for value in graph.inputs:
            if value in self.types:
                self.causes[value] = _ExclusionCause(f"the input '{value.name}'", f"its type is {self.types[value]}")
        self._prune_nodes(graph)
        if not self.causes:
            return
        names = graph.output_names or [value.name for value in graph.outputs]
        outputs = list(zip(names, graph.outputs, strict=True))
        for cause in dict.fromkeys(self.causes.values()):
            affected = tuple(name for name, value in outputs if self.causes.get(value) == cause)
            graph.excluded.append(ExcludedItem(cause.subject, cause.reason, affected))
        if not graph.nodes:
            raise UnsupportedError(
                f"nothing is left to run: {str(graph.excluded[0]).rstrip('.')}", name=graph.excluded[0].subject
            )
        graph.notes += [Note("", str(item)) for item in graph.excluded]
        graph.inputs = [value for value in graph.inputs if value not in self.causes]
        kept_outputs = [(name, value) for name, value in outputs if value not in self.causes]
        graph.outputs = [value for _, value in kept_outputs]
        if graph.output_names:
            graph.output_names = [name for name, _ in kept_outputs]

    def _prune_nodes(self, graph: Graph) -> None:
        remaining = []
        for node in graph.nodes:
            for _, inner in bodies(node):
                self._prune_nodes(inner)
            cause = self._exclusion_cause(node)
            if cause is None:
                remaining.append(node)
            else:
                self.causes.update((value, cause) for value in node.outputs if value is not None)
        graph.nodes = remaining

    def _exclusion_cause(self, node: Node) -> _ExclusionCause | None:
        """Why a node cannot run; None where it can."""
        reason = _MAP_OPERATORS.get((node.domain, node.op_type))
        if not self.types and not self.causes and reason is None:
            return None
        values = [value for value in node.inputs if value is not None]
        values += [value for _, inner in bodies(node) for value in (*inner.inputs, *inner.outputs)]
        for value in values:
            if value in self.causes:
                return self.causes[value]
        values += [value for value in node.outputs if value is not None]
        unsupported = next((value for value in values if value in self.types), None)
        if unsupported is not None:
            reason = f"the type of '{unsupported.name}' is {self.types[unsupported]}"
        return None if reason is None else _ExclusionCause(node.describe(), reason)
