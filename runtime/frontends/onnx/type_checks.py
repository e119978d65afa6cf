"""What a model says of types that does not hold: it runs all the same, with a note.

Element types that an operator's version does not list (docs/semantics.md 3.6), and shapes that cannot be as declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from os import PathLike, fspath
from os.path import splitext
from typing import Any

import numpy as np

from ...errors import LoopdbgError
from ...graph import Graph, Node, SequenceType, TensorType, Value, ValueType, bodies, nodes_in_file
from ...ops.onnx_schemas import schema_for
from ...stable_file import open_regular_file
from .name_scope import GraphPath
from .proto import AttributeProto, GraphProto
from .proto_decoding import value_type
from .subprocess_call import call_in_subprocess

#: NumPy's and ml_dtypes' names as schemas have them, where they differ.
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


#: A value: the graph that has it, and its name there.
_ValueKey = tuple[GraphPath, str]


def type_notes(graph: Graph, kind: Callable[[Value], ValueType]) -> list[str]:
    """One sentence for each operator and type; ``kind`` tells what a value is, as far as that is known."""
    found: dict[tuple[str, str, int, str], str] = {}
    for node in _nodes(graph):
        if node.op_type == "Scan" and node.version == 8:
            continue  # two loops were made of it
        allowed, more = _allowed_types(node.op_type, node.domain, node.version)
        for k, value in enumerate(node.inputs if more else node.inputs[: len(allowed)]):
            word = None if value is None else _schema_type_text(kind(value))
            if value is None or word is None or word in allowed[min(k, len(allowed) - 1)]:
                continue
            found.setdefault(
                (node.op_type, node.domain, node.version, word),
                f"{node.describe()} gets '{value.name}', a {word}, which {node.op_type} does not list in that version;"
                " it is computed all the same.",
            )
    return list(found.values())


def _nodes(graph: Graph) -> Iterator[Node]:
    """The nodes that the file has, inner ones too."""
    for node in nodes_in_file(graph):
        yield node
        for _, inner in bodies(node):
            yield from _nodes(inner)


@cache
def _allowed_types(op_type: str, domain: str, version: int) -> tuple[tuple[frozenset[str], ...], bool]:
    """The types that each input may have, and whether the last entry counts for more; nothing where ONNX has no such
    operator."""
    schema: Any = schema_for(op_type, version, domain)
    if schema is None:
        return (), False
    constraints = {c.type_param_str: frozenset(c.allowed_type_strs) for c in schema.type_constraints}
    inputs = tuple(constraints.get(formal.type_str, frozenset([formal.type_str])) for formal in schema.inputs)
    return inputs, bool(inputs) and schema.inputs[-1].option.name == "Variadic"


def _schema_type_text(kind: ValueType) -> str | None:
    """``tensor(float)``: a type as schemas write it; None where it is not known."""
    if isinstance(kind, TensorType):
        return (
            None
            if kind.dtype is None
            else f"tensor({_SCHEMA_DTYPE_NAMES.get(name := np.dtype(kind.dtype).name, name)})"
        )
    word = _schema_type_text(kind.element)
    if word is None:
        return None
    return f"{'seq' if isinstance(kind, SequenceType) else 'optional'}({word})"


def contradictory_shapes(path: str | PathLike[str]) -> list[tuple[str, TensorType, TensorType]]:
    """Values whose declared shape is not what follows from shapes of inputs and weights: name, declared, computed."""
    # What ONNX's inference cannot read it says nothing about.
    found: list[tuple[str, TensorType, TensorType]] | None = call_in_subprocess(
        _find_contradictory_shapes, fspath(path)
    )
    return found or []


def _find_contradictory_shapes(path: str) -> list[tuple[str, TensorType, TensorType]]:
    import onnx

    form = onnx.serialization.registry.get_format_from_file_extension(splitext(path)[1].lower())
    with open_regular_file(path) as file:
        model = onnx.load(file, form or "protobuf", load_external_data=False)
    declared: dict[_ValueKey, TensorType] = {}
    _collect_types(model.graph, declared, strip=True)
    computed: dict[_ValueKey, TensorType] = {}
    _collect_types(onnx.shape_inference.infer_shapes(model, data_prop=True).graph, computed, strip=False)
    pairs = ((key, kind, computed.get(key)) for key, kind in declared.items())
    return [(key[1], kind, other) for key, kind, other in pairs if other is not None and _shapes_conflict(kind, other)]


def _collect_types(graph: GraphProto, kinds: dict[_ValueKey, TensorType], strip: bool, path: GraphPath = ()) -> None:
    """Collect the types of what nodes compute; ``strip``: and forget the shapes. ``path``: the graph, from the main one
    inwards; two graphs may have values of one name."""
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


def _shapes_conflict(one: TensorType, other: TensorType) -> bool:
    if one.shape is None or other.shape is None:
        return False
    if len(one.shape) != len(other.shape):
        return True
    pairs = zip(one.shape, other.shape, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
