"""Operators that ONNX defines by others: the function that stands for a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from ...graph import Node, System, TensorType, Value
from ...ops.onnx_reference import type_proto
from ...ops.registry import find
from ..recurrent import layer_function
from .proto import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto

Attributes = Mapping[str, AttributeProto]


def function_of(proto: NodeProto, header: Node, bound: Attributes | None, types: InferredTypes) -> FunctionProto | None:
    """The function that ONNX defines a node by, where nothing here implements its operator; else None.

    ``header``: the node as far as it was read. ``bound``: as for ``values.attributes``.
    """
    wanted = (System.ONNX, header.domain, header.op_type, header.version)
    # First what the registry lacks: to say so it imports all that it has.
    if layer_function(*wanted) is not None or find(*wanted) is not None:
        return None
    from onnx import defs  # only models with rare operators need schemas

    if not defs.has(header.op_type, header.version, header.domain):
        return None
    schema: Any = defs.get_schema(header.op_type, header.version, header.domain)
    if schema.has_function:
        made = schema.get_function_with_opset_version(_newest(schema.function_opset_versions, header.version))
    elif schema.has_context_dependent_function:
        kinds = [_kind(value, name, types) for value, name in zip(header.inputs, proto.input, strict=True)]
        if None in kinds:
            return None
        opset = _newest(schema.context_dependent_function_opset_versions, header.version)
        node = _settled(proto, bound)
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


def _newest(versions: Sequence[int], version: int) -> int:
    """A function's body may be written for several operator sets."""
    return max((v for v in versions if v <= version), default=min(versions, default=version))


def _settled(proto: NodeProto, bound: Attributes | None) -> bytes:
    """A node of a function with the attributes that the function's caller gives, for the onnx package."""
    import onnx

    settled = onnx.NodeProto.FromString(proto.SerializeToString())
    del settled.attribute[:]
    for attribute in proto.attribute:
        given = (bound or {}).get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if given is not None:
            added = settled.attribute.add()
            added.ParseFromString(given.SerializeToString())
            added.name = attribute.name
    return _bytes(settled)


def _kind(value: Value | None, name: str, types: InferredTypes) -> bytes | None:
    """An input's type; None where nobody knows it."""
    if value is None:
        return b""
    if isinstance(value.type, TensorType) and value.type.dtype is None:
        found = types.of(name)
        return None if found is None else _bytes(found)
    return _bytes(type_proto(value.type))


def _bytes(proto: Any) -> bytes:
    data: bytes = proto.SerializeToString()
    return data


class InferredTypes:
    """Types that a model does not declare; found by ONNX when the first one is asked for."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._types: dict[str, TypeProto] | None = None

    def of(self, name: str) -> TypeProto | None:
        if self._types is None:
            self._types = {}
            from onnx import shape_inference

            with suppress(Exception):  # a broken or a huge model; what is not known stays so
                self._collect(shape_inference.infer_shapes(_bytes(self._model)).graph)
        return self._types.get(name)

    def _collect(self, graph: GraphProto) -> None:
        assert self._types is not None
        for info in (*graph.input, *graph.value_info, *graph.output):
            if info.type.WhichOneof("value") is not None:
                self._types.setdefault(info.name, info.type)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    self._collect(attribute.g)
