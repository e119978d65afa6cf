"""Operators that are defined by others: the function that stands for a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ...errors import ModelError
from ...graph import Node, System, TensorType, Value
from ...ops.axis_arguments import unknown_value_error
from ...ops.onnx_reference import type_proto
from ...ops.registry import find_definition
from ..recurrent import layer_function
from .name_scope import GraphPath, NameScope
from .proto import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto
from .proto_decoding import decode_attributes
from .recurrent_functions import build_function, function_builder
from .subprocess_call import call_in_subprocess

Attributes = Mapping[str, AttributeProto]
#: The words that an attribute may have, where ONNX makes the function whatever the word.
_ALLOWED_WORDS = {
    "CausalConvWithState": ("activation", ("none", "silu", "swish")),
    "LinearAttention": ("update_rule", ("linear", "gated", "delta", "gated_delta")),
    "NegativeLogLikelihoodLoss": ("reduction", ("none", "sum", "mean")),
    "SoftmaxCrossEntropyLoss": ("reduction", ("none", "sum", "mean")),
}


def function_body_for(
    proto: NodeProto, header: Node, scope: NameScope, types: InferredTypes, at: str
) -> FunctionProto | None:
    """The function that ONNX, or ``recurrences``, defines a node by, where nothing here implements its operator; else
    None.

    ``header``: the node as far as it was read. ``scope``: the names that it sees. ``at``: what errors begin with.

    Raises:
        ModelError: an attribute has a word that the operator does not know.
    """
    bound = scope.context.attributes
    if function_builder(header.domain, header.op_type) is not None:
        return build_function(header, decode_attributes(proto, header.version, bound, None, at)[0], at)
    wanted = (System.ONNX, header.domain, header.op_type, header.version)
    # First what the registry lacks: to say so it imports all that it has.
    if layer_function(*wanted) is not None or find_definition(*wanted) is not None:
        return None
    from onnx import defs  # only models with rare operators need schemas

    if not defs.has(header.op_type, header.version, header.domain):
        return None
    schema: Any = defs.get_schema(header.op_type, header.version, header.domain)
    attribute, words = _ALLOWED_WORDS.get(header.op_type, ("", ()))
    for word in (a.s.decode(errors="replace") for a in _bound_attributes(proto, bound) if a.name == attribute):
        if word not in words:
            raise ModelError(f"{at}: {unknown_value_error(attribute, word, words)}")
    if schema.has_function:
        made = schema.get_function_with_opset_version(_newest_version(schema.function_opset_versions, header.version))
    elif schema.has_context_dependent_function:
        kinds = [_input_type(value, scope, name, types) for value, name in zip(header.inputs, proto.input, strict=True)]
        if None in kinds:
            return None
        opset = _newest_version(schema.context_dependent_function_opset_versions, header.version)
        node = _with_bound_attributes(proto, bound)
        made = schema.get_context_dependent_function_with_opset_version(opset, node, kinds)
    else:
        return None
    function: FunctionProto = FunctionProto.FromString(made if isinstance(made, bytes) else made.SerializeToString())
    if not function.node:
        return None
    # What a node leaves out has the operator's default.
    defaults = [attribute.default_value for attribute in schema.attributes.values()]
    known = [AttributeProto.FromString(default.SerializeToString()) for default in defaults if default.type]
    cast(Any, function).attribute_proto = [*function.attribute_proto, *known]
    return function


def _newest_version(versions: Sequence[int], version: int) -> int:
    """A function's body may be written for several operator sets."""
    return max((v for v in versions if v <= version), default=min(versions, default=version))


def _with_bound_attributes(proto: NodeProto, bound: Attributes | None) -> bytes:
    """A node of a function with the attributes that the function's caller gives, for the onnx package."""
    import onnx

    settled = onnx.NodeProto.FromString(proto.SerializeToString())
    del settled.attribute[:]
    for given in _bound_attributes(proto, bound):
        settled.attribute.add().ParseFromString(_serialize(given))
    return _serialize(settled)


def _bound_attributes(proto: NodeProto, bound: Attributes | None) -> Iterator[AttributeProto]:
    """A node's attributes, each that refers to one of the function's caller as the caller gives it."""
    for attribute in proto.attribute:
        given = (bound or {}).get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if given is not None:
            own = AttributeProto.FromString(given.SerializeToString())
            own.name = attribute.name
            yield own


def _input_type(value: Value | None, scope: NameScope, name: str, types: InferredTypes) -> bytes | None:
    """An input's type; None where nobody knows it."""
    if value is None:
        return b""
    if isinstance(value.type, TensorType) and value.type.dtype is None:
        owner = scope if name in scope.values else scope.scope_hidden_by(name)
        return None if owner is None or owner.path is None else types.type_of(owner.path, name)
    return _serialize(type_proto(value.type))


def _serialize(proto: Any) -> bytes:
    data: bytes = proto.SerializeToString()
    return data


class InferredTypes:
    """Types that a model does not declare; found by ONNX when the first one is asked for."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._types: dict[tuple[GraphPath, str], bytes] | None = None

    def type_of(self, path: GraphPath, name: str) -> bytes | None:
        """The type of a value of one graph as the file format has it; None where ONNX does not know it either."""
        if self._types is None:
            self._types = call_in_subprocess(_infer_types, _serialize(self._model)) or {}
        return self._types.get((path, name))


def _infer_types(model: bytes) -> dict[tuple[GraphPath, str], bytes]:
    from onnx import shape_inference

    types: dict[tuple[GraphPath, str], bytes] = {}
    _collect_types(shape_inference.infer_shapes(model).graph, types, ())
    return types


def _collect_types(graph: GraphProto, types: dict[tuple[GraphPath, str], bytes], path: GraphPath) -> None:
    for info in (*graph.input, *graph.value_info, *graph.output):
        if info.type.WhichOneof("value") is not None:
            types.setdefault((path, info.name), _serialize(info.type))
    for position, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _collect_types(attribute.g, types, (*path, (position, attribute.name)))
