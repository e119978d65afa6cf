"""Function bodies of operators that ONNX defines by other operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from ...errors import ModelError
from ...graph import Node, System, TensorType, Value
from ...ops.axis_arguments import unknown_value_error
from ...ops.registry import find_definition
from ..recurrent import layer_function
from .microsoft_recurrent_functions import build_function, function_builder
from .name_scope import GraphPath, NameScope
from .proto import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto
from .proto_decoding import decode_attributes

Attributes = Mapping[str, AttributeProto]
#: Operator -> an attribute and its allowed values, where ONNX creates the function for any value.
_ALLOWED_WORDS = {
    "CausalConvWithState": ("activation", ("none", "silu", "swish")),
    "LinearAttention": ("update_rule", ("linear", "gated", "delta", "gated_delta")),
    "NegativeLogLikelihoodLoss": ("reduction", ("none", "sum", "mean")),
    "SoftmaxCrossEntropyLoss": ("reduction", ("none", "sum", "mean")),
}


def function_body_for(
    proto: NodeProto, header: Node, scope: NameScope, types: InferredTypes, label: str
) -> FunctionProto | None:
    """The function that defines a node in ONNX or ``recurrent_functions``; None where its operator is implemented.

    ``header``: the node without attributes. ``scope``: its visible names. ``label``: the start of error messages.

    Raises:
        ModelError: an attribute has an unknown value.
    """
    if _is_implemented(header.domain, header.op_type, header.version):
        return None
    bound = scope.context.attributes
    if function_builder(header.domain, header.op_type) is not None:
        return build_function(header, decode_attributes(proto, header.version, bound, None, label)[0], label)
    from onnx import defs  # only models with rare operators need schemas

    if not defs.has(header.op_type, header.version, header.domain):
        return None
    schema: Any = defs.get_schema(header.op_type, header.version, header.domain)
    attribute, allowed = _ALLOWED_WORDS.get(header.op_type, ("", ()))
    for text in (a.s.decode(errors="replace") for a in _bound_attributes(proto, bound) if a.name == attribute):
        if text not in allowed:
            raise ModelError(
                f"{label}: {unknown_value_error(attribute, text, allowed)}",
                name=attribute,
                expected=", ".join(allowed),
                got=text,
            )
    if schema.has_function:
        body = schema.get_function_with_opset_version(_newest_version(schema.function_opset_versions, header.version))
    elif schema.has_context_dependent_function:
        kinds = [_input_type(value, scope, name, types) for value, name in zip(header.inputs, proto.input, strict=True)]
        if None in kinds:
            return None
        opset = _newest_version(schema.context_dependent_function_opset_versions, header.version)
        node = _with_bound_attributes(proto, bound)
        body = schema.get_context_dependent_function_with_opset_version(opset, node, kinds)
    else:
        return None
    function: FunctionProto = FunctionProto.FromString(body if isinstance(body, bytes) else body.SerializeToString())
    if not function.node:
        return None
    # An omitted attribute has the operator's default.
    defaults = [attribute.default_value for attribute in schema.attributes.values()]
    typed_defaults = [AttributeProto.FromString(default.SerializeToString()) for default in defaults if default.type]
    cast(Any, function).attribute_proto = [*function.attribute_proto, *typed_defaults]
    return function


@cache
def _is_implemented(domain: str, op_type: str, version: int) -> bool:
    if function_builder(domain, op_type) is not None:
        return False
    key = (System.ONNX, domain, op_type, version)
    # The registry is asked last: for an unknown operator it imports all of its modules.
    return layer_function(*key) is not None or find_definition(*key) is not None


def _newest_version(versions: Sequence[int], version: int) -> int:
    """The newest version of a function body up to ``version``."""
    return max((v for v in versions if v <= version), default=min(versions, default=version))


def _with_bound_attributes(proto: NodeProto, bound: Attributes | None) -> bytes:
    """A function's node with the attributes of the function's caller, serialized for the onnx package."""
    import onnx

    node = onnx.NodeProto.FromString(proto.SerializeToString())
    del node.attribute[:]
    for attribute in _bound_attributes(proto, bound):
        node.attribute.add().ParseFromString(_serialize(attribute))
    return _serialize(node)


def _bound_attributes(proto: NodeProto, bound: Attributes | None) -> Iterator[AttributeProto]:
    """A node's attributes, with references to function attributes resolved."""
    for attribute in proto.attribute:
        source = (bound or {}).get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is not None:
            copy = AttributeProto.FromString(source.SerializeToString())
            copy.name = attribute.name
            yield copy


def _input_type(value: Value | None, scope: NameScope, name: str, types: InferredTypes) -> bytes | None:
    """An input's type; None where it is unknown."""
    if value is None:
        return b""
    if isinstance(value.type, TensorType) and value.type.dtype is None:
        owner = scope if name in scope.values else scope.scope_hidden_by(name)
        return None if owner is None or owner.path is None else types.type_of(owner.path, name)
    from ...ops.onnx_reference import type_proto

    return _serialize(type_proto(value.type))


def _serialize(proto: Any) -> bytes:
    data: bytes = proto.SerializeToString()
    return data


class InferredTypes:
    """Undeclared types of a model, inferred by ONNX on first use."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._types: dict[tuple[GraphPath, str], bytes] | None = None

    def type_of(self, path: GraphPath, name: str) -> bytes | None:
        """The serialized type of a value of one graph; None where ONNX cannot infer it."""
        if self._types is None:
            from .subprocess_call import call_in_subprocess

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
