"""Checks the declared types of a model; violations are notes, not errors.

Element types that an operator's version does not allow (docs/semantics.md 3.6), and contradictory shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from os import PathLike, fspath
from os.path import splitext
from typing import Any

import numpy as np

from ...errors import LoopdbgError
from ...graph import Graph, Node, SequenceType, TensorType, Value, ValueType, bodies, nodes_in_file
from ...ops.onnx_schemas import schema_for
from ...safe_file_reading import open_regular_file
from .name_scope import GraphPath
from .proto import AttributeProto, GraphProto
from .proto_decoding import value_type
from .subprocess_call import call_in_subprocess

#: dtype name -> name in schemas, where they differ.
_SCHEMA_DTYPE_NAMES = {
    "float32": "float",
    "float64": "double",
    "object": "string",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0",
    "float4_e2m1fn": "float4e2m1",
}


#: A value: the path of its graph, and its name.
_ValueKey = tuple[GraphPath, str]


def disallowed_type_notes(graph: Graph, kind: Callable[[Value], ValueType]) -> list[str]:
    """One sentence for each operator and type; ``kind`` returns the type of a value, as far as it is known."""
    notes: dict[tuple[str, str, int, str], str] = {}
    for node in _all_file_nodes(graph):
        if node.op_type == "Scan" and node.version == 8:
            continue  # it was expanded into two loops
        allowed, variadic = _allowed_types(node.op_type, node.domain, node.version)
        for k, value in enumerate(node.inputs if variadic else node.inputs[: len(allowed)]):
            text = None if value is None else schema_type_text(kind(value))
            if value is None or text is None or text in allowed[min(k, len(allowed) - 1)]:
                continue
            notes.setdefault(
                (node.op_type, node.domain, node.version, text),
                f"{node.describe()} gets '{value.name}', a {text}, which {node.op_type} does not list in that version;"
                " it is computed all the same.",
            )
    return list(notes.values())


def _all_file_nodes(graph: Graph) -> list[Node]:
    """The nodes in the file, including inner ones."""
    nodes = []
    for node in nodes_in_file(graph):
        nodes.append(node)
        for _, inner in bodies(node):
            nodes += _all_file_nodes(inner)
    return nodes


@cache
def _allowed_types(op_type: str, domain: str, version: int) -> tuple[tuple[frozenset[str], ...], bool]:
    """The allowed types of each input, and whether the last input is variadic; empty for an unknown operator."""
    schema: Any = schema_for(op_type, version, domain)
    if schema is None:
        return (), False
    constraints = {c.type_param_str: frozenset(c.allowed_type_strs) for c in schema.type_constraints}
    inputs = [constraints.get(formal.type_str, frozenset([formal.type_str])) for formal in schema.inputs]
    return tuple(inputs), bool(inputs) and schema.inputs[-1].option.name == "Variadic"


@lru_cache(maxsize=256)
def schema_type_text(kind: ValueType) -> str | None:
    """A type in the syntax of schemas, ``tensor(float)``; None where it is unknown."""
    if isinstance(kind, TensorType):
        return (
            None
            if kind.dtype is None
            else f"tensor({_SCHEMA_DTYPE_NAMES.get(name := np.dtype(kind.dtype).name, name)})"
        )
    element = schema_type_text(kind.element)
    if element is None:
        return None
    return f"{'seq' if isinstance(kind, SequenceType) else 'optional'}({element})"


def contradictory_shapes(path: str | PathLike[str]) -> list[tuple[str, TensorType, TensorType]]:
    """Values whose declared shape contradicts the inferred shape: (name, declared, inferred)."""
    # A model that ONNX's inference rejects has no result.
    conflicts: list[tuple[str, TensorType, TensorType]] | None = call_in_subprocess(
        _find_contradictory_shapes, fspath(path)
    )
    return conflicts or []


def _find_contradictory_shapes(path: str) -> list[tuple[str, TensorType, TensorType]]:
    import onnx

    file_format = onnx.serialization.registry.get_format_from_file_extension(splitext(path)[1].lower())
    with open_regular_file(path) as file:
        model = onnx.load(file, file_format or "protobuf", load_external_data=False)
    declared: dict[_ValueKey, TensorType] = {}
    _collect_types(model.graph, declared, strip=True)
    computed: dict[_ValueKey, TensorType] = {}
    _collect_types(onnx.shape_inference.infer_shapes(model, data_prop=True).graph, computed, strip=False)
    pairs = ((key, kind, computed.get(key)) for key, kind in declared.items())
    return [(key[1], kind, t) for key, kind, t in pairs if t is not None and _shapes_conflict(kind, t)]


def _collect_types(graph: GraphProto, kinds: dict[_ValueKey, TensorType], strip: bool, path: GraphPath = ()) -> None:
    """Collect the types of computed values; ``strip``: and remove their shapes. ``path``: the path of the graph, as
    several graphs may have values of one name."""
    for info in (*graph.value_info, *graph.output):
        with suppress(LoopdbgError):
            kind = value_type(info.type, info.name)
            if isinstance(kind, TensorType):
                kinds.setdefault((path, info.name), kind)
        if strip and info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    if strip:
        del graph.value_info[:]
    for position, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _collect_types(attribute.g, kinds, strip, (*path, (position, attribute.name)))


def _shapes_conflict(first: TensorType, second: TensorType) -> bool:
    if first.shape is None or second.shape is None:
        return False
    if len(first.shape) != len(second.shape):
        return True
    pairs = zip(first.shape, second.shape, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
