"""Fixes of operators that a target lacks, or computes differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx.defs
import onnx.helper
from onnx import AttributeProto, FunctionProto, NodeProto

from ...runtime.modelfile.onnx_graph import (
    attribute_value,
    bind_attributes,
    keep_only_members,
    node_key,
    redirect_reads,
)
from ...runtime.ops.activations import RECURRENT_ACTIVATIONS
from ...runtime.ops.onnx_schemas import schema_for
from ..portability.unsupported_operators import ONNXRUNTIME_GAPS, OPENVINO_UNCONVERTED
from ..rewriting.rewrite import Rewrite
from .onnx_graph_edits import GraphEdit, OnnxPlaces, onnx_type_code, rewrite

_RECURRENT = ("LSTM", "GRU", "RNN")
_FLATTENED = ("Softmax", "LogSoftmax", "Hardmax")
#: Since this operator set the operators of ``_FLATTENED`` work on one axis.
_ONE_AXIS_OPSET = 13
#: Operators that only choose or move numbers: in a type that has all of them, the result is the same.
_CHOOSING = frozenset(
    ("ArgMax", "ArgMin", "Clip", "DepthToSpace", "Max", "Min", "NonZero", "Pad", "Relu",
     "SpaceToDepth", "TopK", "Trilu", "Where")
)  # fmt: skip
#: Element type -> a type that has all of its numbers, in the order of preference.
_COVERING: Mapping[str, tuple[str, ...]] = {
    "bool": ("uint8", "int32"),
    "int8": ("int32", "float32"),
    "uint8": ("int32", "float32"),
    "int16": ("int32", "float32"),
    "uint16": ("int32", "float32"),
    "uint32": ("int64", "float64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}


def flatten_softmax(places: OnnxPlaces) -> Iterator[Rewrite]:
    """Before opset 13, Softmax over all axes from one on: flattened before, and reshaped after."""
    if places.opset >= _ONE_AXIS_OPSET:
        return
    for place, node in places.nodes(*_FLATTENED):
        axis = attribute_value(node, "axis", 1)
        if places.rank(place, node.input[0]) not in (axis + 1, None) or axis < 0:
            reason = f"flattens the axes from {axis} on before {node.op_type}, and reshapes its result"
            yield rewrite("flatten-softmax", place, node, reason, _flatten_around, node_key(node), axis)


def _flatten_around(edit: GraphEdit, key: str, axis: int) -> None:
    source = edit.node(key).input[0]
    shape = edit.before(key, "Shape", [source], f"{key}_shape")
    flat = edit.before(key, "Flatten", [source], f"{key}_flat", axis=axis)
    node = edit.node(key)
    new = NodeProto()
    new.CopyFrom(node)
    new.input[0], new.output[0] = flat, edit.make_fresh_name(f"{key}_rows")
    keep_only_members(new.attribute, [attribute for attribute in new.attribute if attribute.name != "axis"])
    new.attribute.append(onnx.helper.make_attribute("axis", 1))
    edit.replace(key, [new, onnx.helper.make_node("Reshape", [new.output[0], shape], [key], f"{key}_reshape")])


def transpose_layouts(places: OnnxPlaces) -> Iterator[Rewrite]:
    """LSTM, GRU and RNN with layout=1: layout=0 between Transposes."""
    for place, node in places.nodes(*_RECURRENT):
        if attribute_value(node, "layout", 0):
            reason = f"computes {node.op_type} with layout=0, between Transposes of inputs and outputs"
            yield rewrite("transpose-layout", place, node, reason, _transpose_layout, node_key(node))


def _transpose_layout(edit: GraphEdit, key: str) -> None:
    node = NodeProto()
    node.CopyFrom(edit.node(key))
    for port in (0, 5, 6):
        if port < len(node.input) and node.input[port]:
            source = node.input[port]
            node.input[port] = edit.before(key, "Transpose", [source], f"{source}_layout0", perm=[1, 0, 2])
    keep_only_members(node.attribute, [attribute for attribute in node.attribute if attribute.name != "layout"])
    after = []
    for port, name in enumerate(list(node.output)):
        if name:
            node.output[port] = edit.make_fresh_name(f"{name}_layout0")
            perm = [1, 0, 2] if port else [2, 0, 1, 3]
            after.append(onnx.helper.make_node("Transpose", [node.output[port]], [name], f"{name}_layout", perm=perm))
    edit.replace(key, [node, *after])


def write_activation_parameters(places: OnnxPlaces) -> Iterator[Rewrite]:
    """activation_alpha and activation_beta, where the defaults are meant."""
    for place, node in places.nodes(*_RECURRENT):
        names = [word.decode().lower() for word in attribute_value(node, "activations", [])]
        defaults = [RECURRENT_ACTIVATIONS[name][1] for name in names if name in RECURRENT_ACTIVATIONS]
        stated = attribute_value(node, "activation_alpha", []) or attribute_value(node, "activation_beta", [])
        alphas, betas = ([values[k] for values in defaults if len(values) > k] for k in (0, 1))
        if len(defaults) == len(names) and (alphas or betas) and not stated:
            reason = f"states activation_alpha and activation_beta of {node.op_type}, which are the defaults"
            yield rewrite(
                "state-activation-parameters",
                place,
                node,
                reason,
                _set_activation_parameters,
                node_key(node),
                alphas,
                betas,
            )


def _set_activation_parameters(edit: GraphEdit, key: str, alphas: list[float], betas: list[float]) -> None:
    node = edit.node(key)
    keep_only_members(
        node.attribute, [a for a in node.attribute if a.name not in ("activation_alpha", "activation_beta")]
    )
    for name, values in (("activation_alpha", alphas), ("activation_beta", betas)):
        if values:
            node.attribute.append(onnx.helper.make_attribute(name, [float(value) for value in values]))


def replace_boolean_where(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A Where of Booleans by And, Or and Not."""
    for place, node in places.nodes("Where"):
        if all(places.dtype(place, name) == np.dtype(bool) for name in node.input[1:]):
            reason = "computes the Where of Booleans by And, Or and Not"
            yield rewrite("choose-booleans", place, node, reason, _replace_where_with_logic, node_key(node))


def _replace_where_with_logic(edit: GraphEdit, key: str) -> None:
    node = edit.node(key)
    condition, chosen, other = node.input
    inverse, first, second = (edit.make_fresh_name(f"{key}_{word}") for word in ("not", "chosen", "other"))
    nodes = [
        onnx.helper.make_node("Not", [condition], [inverse], inverse),
        onnx.helper.make_node("And", [condition, chosen], [first], first),
        onnx.helper.make_node("And", [inverse, other], [second], second),
        onnx.helper.make_node("Or", [first, second], [key], node.name),
    ]
    edit.replace(key, nodes)


def cast_around_operators(places: OnnxPlaces) -> Iterator[Rewrite]:
    """An operator that only chooses or moves numbers, in a type that has a kernel."""
    for place, node in places.nodes(*_CHOOSING):
        schema = schema_for(node.op_type, places.opset, "")
        versions = ONNXRUNTIME_GAPS.get(node.op_type, {})
        since = max((version for version in versions if version <= places.opset), default=None)
        if schema is None or since is None:
            continue
        missing = {row.split(": ")[0]: row.split(": ")[1].split() for row in versions[since] if ": " in row}
        formals = list(schema.inputs)
        kinds = [formals[min(k, len(formals) - 1)].type_str for k in range(len(node.input))]
        results = [schema.outputs[min(k, len(schema.outputs) - 1)].type_str for k in range(len(node.output))]
        dtype = places.dtype(place, node.input[kinds.index("T")]) if "T" in kinds else None
        listed = [] if dtype is None else [text[7:-1] for text in _allowed_types(schema, "T")]
        covering = next(
            (np.dtype(name) for name in _COVERING.get(getattr(dtype, "name", ""), ()) if _onnx_type_name(name) in listed
             and _onnx_type_name(name) not in missing.get("T", ())),
            None,
        )  # fmt: skip
        if dtype is not None and covering is not None and _onnx_type_name(dtype.name) in missing.get("T", ()):
            reason = f"computes {node.op_type} in {covering}, which has all numbers of {dtype}"
            inputs = [k for k, kind in enumerate(kinds) if kind == "T" and node.input[k]]
            outputs = [k for k, kind in enumerate(results) if kind == "T"]
            codes = onnx_type_code(covering), onnx_type_code(dtype)
            yield rewrite(
                "cast-around-operator", place, node, reason, _cast_around, node_key(node), inputs, outputs, codes
            )


def _allowed_types(schema: Any, parameter: str) -> list[str]:
    return next((list(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == parameter), [])


def _onnx_type_name(name: str) -> str:
    return {"float32": "float", "float64": "double"}.get(name, name)


def _cast_around(edit: GraphEdit, key: str, inputs: list[int], outputs: list[int], codes: tuple[int, int]) -> None:
    node = NodeProto()
    node.CopyFrom(edit.node(key))
    for k in inputs:
        node.input[k] = edit.before(key, "Cast", [node.input[k]], f"{node.input[k]}_cast", to=codes[0])
    after = []
    for k in outputs:
        if node.output[k]:
            name, node.output[k] = node.output[k], edit.make_fresh_name(f"{node.output[k]}_cast")
            after.append(onnx.helper.make_node("Cast", [node.output[k]], [name], f"{name}_back", to=codes[1]))
    edit.replace(key, [node, *after])


def decompose_functions(places: OnnxPlaces) -> Iterator[Rewrite]:
    """An operator that is defined as a function of others becomes those."""
    for place, node in places.nodes():
        if node.op_type not in OPENVINO_UNCONVERTED and node.op_type not in ONNXRUNTIME_GAPS:
            continue
        if node.op_type == "SequenceMap":
            continue
        types = [places.dtype(place, name) for name in node.input]
        function = _defining_function(node, places.opset, types)
        if function is not None:
            reason = f"computes {node.op_type} by the operators that its specification defines it by"
            yield rewrite("decompose-function", place, node, reason, _inline_function, node_key(node), function)


def _defining_function(node: NodeProto, opset: int, types: Sequence[np.dtype[Any] | None]) -> FunctionProto | None:
    """The function that defines an operator; None where it is not one, or types are unknown."""
    schema: Any = schema_for(node.op_type, opset, "")
    if schema is None:
        return None
    function = FunctionProto()
    if schema.has_function:
        versions = [version for version in schema.function_opset_versions if version <= opset]
        if not versions:
            return None
        function.ParseFromString(_serialized_function(schema.get_function_with_opset_version(max(versions))))
        return function
    if not schema.has_context_dependent_function or None in [t for t, n in zip(types, node.input, strict=True) if n]:
        return None
    declared = [
        onnx.helper.make_tensor_type_proto(0 if dtype is None else onnx_type_code(dtype), None).SerializeToString()
        for dtype in types
    ]
    versions = [version for version in schema.context_dependent_function_opset_versions if version <= opset]
    if not versions:
        return None
    text = schema.get_context_dependent_function_with_opset_version(max(versions), node.SerializeToString(), declared)
    function.ParseFromString(_serialized_function(text))
    return function


def _serialized_function(function: Any) -> bytes:
    return function if isinstance(function, bytes) else function.SerializeToString()


def _inline_function(edit: GraphEdit, key: str, function: FunctionProto) -> None:
    node = edit.node(key)
    new = dict(zip(function.input, [*node.input, *[""] * len(function.input)], strict=False))
    new |= {formal: name for formal, name in zip(function.output, node.output, strict=False) if name}
    attributes: dict[str, AttributeProto] = {item.name: item for item in function.attribute_proto}
    attributes |= {item.name: item for item in node.attribute}
    graph = onnx.helper.make_graph(list(function.node), "function", [], [])
    for inner in graph.node:
        bind_attributes(inner, attributes)
        for name in inner.output:
            if name and name not in new:
                new[name] = edit.make_fresh_name(f"{key}_{name}")
        inner.output[:] = [new.get(name, name) for name in inner.output]
        inner.name = edit.make_fresh_name(f"{node.name or key}_{inner.op_type}")
    redirect_reads(graph, new)
    edit.replace(key, list(graph.node))
