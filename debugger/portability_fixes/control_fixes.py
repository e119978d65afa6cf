"""Fixes of trip counts, conditions, iteration numbers, and the types that loops and operators exchange."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx.helper
from onnx import NodeProto, TensorProto

from ...runtime.graph import Array
from ...runtime.modelfile.onnx_graph import loop_body, node_key, redirect_reads
from ...runtime.ops.onnx_schemas import schema_for
from ..rewriting.rewrite import Rewrite
from .onnx_graph_edits import GraphEdit, OnnxPlaces, onnx_type_code, rewrite

_TRUE = np.asarray(True)


def cast_trip_counts(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A trip count that is not int64."""
    for place, node in places.nodes("Loop"):
        name = _input_name(node, 0)
        dtype = places.dtype(place, name)
        if dtype is not None and dtype != np.int64:
            reason = f"casts '{name}' to int64 before the loop"
            yield rewrite("cast-trip-count", place, node, reason, _cast_input, node_key(node), 0, TensorProto.INT64)


def _cast_input(edit: GraphEdit, key: str, port: int, code: int) -> None:
    name = edit.node(key).input[port]
    edit.node(key).input[port] = edit.before(key, "Cast", [name], f"{name}_cast", to=code)


def reshape_conditions(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A condition of another rank than the body declares."""
    for place, node in places.nodes("Loop"):
        name, inner = _input_name(node, 1), loop_body(node).input[1]
        rank = places.rank(place, name)
        declared = len(inner.type.tensor_type.shape.dim) if inner.type.tensor_type.HasField("shape") else None
        if name and rank is not None and declared is not None and rank != declared:
            reason = f"reshapes '{name}' to the {declared} dimensions that the body declares"
            yield rewrite("reshape-condition", place, node, reason, _reshape_input, node_key(node), 1, declared)


def _reshape_input(edit: GraphEdit, key: str, port: int, rank: int) -> None:
    name = edit.node(key).input[port]
    shape = edit.constant(key, f"{name}_shape", np.ones(rank, np.int64))
    edit.node(key).input[port] = edit.before(key, "Reshape", [name, shape], f"{name}_reshaped")


def redeclare_iteration_numbers(places: OnnxPlaces) -> Iterator[Rewrite]:
    """An iteration number that is declared with another type than int64."""
    for place in places.inner("Loop"):
        port = place.proto.input[0]
        code = port.type.tensor_type.elem_type
        if code not in (TensorProto.INT64, TensorProto.UNDEFINED):
            reason = f"declares '{port.name}' as int64"
            yield rewrite("redeclare-iteration-number", place, None, reason, _set_input_type, 0, TensorProto.INT64)


def cast_iteration_numbers(places: OnnxPlaces) -> Iterator[Rewrite]:
    """The same, where the body computes with the declared type."""
    for place in places.inner("Loop"):
        port = place.proto.input[0]
        code = port.type.tensor_type.elem_type
        if code not in (TensorProto.INT64, TensorProto.UNDEFINED):
            reason = f"declares '{port.name}' as int64, and casts it inside the body"
            yield rewrite("cast-iteration-number", place, None, reason, _cast_parameter, code)


def _set_input_type(edit: GraphEdit, port: int, code: int) -> None:
    edit.graph.input[port].type.tensor_type.elem_type = code


def _cast_parameter(edit: GraphEdit, code: int) -> None:
    port = edit.graph.input[0]
    old, port.name = port.name, edit.make_fresh_name(f"{port.name}_int64")
    port.type.tensor_type.elem_type = TensorProto.INT64
    edit.insert(None, [onnx.helper.make_node("Cast", [port.name], [old], old, to=code)])


def redeclare_carried_values(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A carried value whose initial value has another type than the body declares."""
    for place in places.inner("Loop"):
        assert place.outer is not None
        assert place.owner is not None
        for k, name in enumerate(place.owner.input[2:], 2):
            dtype = places.dtype(place.outer, name)
            kind = place.proto.input[k].type.tensor_type
            result = place.owner.output[k - 2] if k - 2 < len(place.owner.output) else ""
            declared = [port.type.tensor_type for port in place.outer.proto.output if port.name == result]
            if dtype is None or any(port.elem_type != onnx_type_code(dtype) for port in declared):
                continue  # the outer graph contradicts itself
            if kind.elem_type and kind.elem_type != onnx_type_code(dtype):
                reason = f"declares '{place.proto.input[k].name}' as {dtype}, the type of its initial value"
                yield rewrite(
                    "redeclare-carried-value", place, None, reason, _set_carried_type, k, onnx_type_code(dtype)
                )


def _set_carried_type(edit: GraphEdit, port: int, code: int) -> None:
    old = edit.graph.input[port].type.tensor_type.elem_type
    edit.graph.input[port].type.tensor_type.elem_type = code
    result = edit.graph.output[port - 1].type.tensor_type
    if result.elem_type == old:
        result.elem_type = code
    del edit.graph.value_info[:]  # of the old type


def cast_mixed_types(places: OnnxPlaces) -> Iterator[Rewrite]:
    """An operator whose inputs have two types where it requires one."""
    for place, node in places.nodes():
        schema = schema_for(node.op_type, places.opset, "")
        if schema is None or node.op_type in ("Loop", "Scan", "If"):
            continue
        formals = list(schema.inputs)
        groups: dict[str, dict[int, np.dtype[Any]]] = {}
        for k, name in enumerate(node.input):
            dtype = places.dtype(place, name)
            formal = formals[min(k, len(formals) - 1)]
            if dtype is not None and not dtype.hasobject and not formal.type_str.startswith("tensor("):
                groups.setdefault(formal.type_str, {})[k] = dtype
        for members in groups.values():
            common = np.result_type(*members.values()) if len(set(members.values())) > 1 else None
            narrow = [k for k, dtype in members.items() if common is not None and dtype != common]
            if common is not None and common in members.values():
                names = ", ".join(f"'{node.input[k]}'" for k in narrow)
                reason = f"casts {names} to {common}, the type of the other input"
                yield rewrite(
                    "cast-mixed-types",
                    place,
                    node,
                    reason,
                    _cast_inputs,
                    node_key(node),
                    narrow,
                    onnx_type_code(common),
                )


def _cast_inputs(edit: GraphEdit, key: str, ports: list[int], code: int) -> None:
    for port in ports:
        _cast_input(edit, key, port, code)


def replace_condition_reads(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A body that reads its condition input reads a true constant: the condition is true while the body runs."""
    for place in places.inner("Loop"):
        name = place.proto.input[1].name
        if any(name in node.input for node in place.proto.node):
            reason = f"reads a true constant instead of '{name}', which is true while the body runs"
            yield rewrite("read-true-condition", place, None, reason, _read_true_constant, name)


def _read_true_constant(edit: GraphEdit, name: str) -> None:
    redirect_reads(edit.graph, {name: edit.constant(None, f"{name}_true", _TRUE)})


def drop_ignored_conditions(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A Loop without ``cond`` ignores the condition of its body, which then returns a true constant."""
    for place in places.inner("Loop"):
        assert place.owner is not None
        if not _input_name(place.owner, 1):
            name = place.proto.output[0].name
            reason = f"returns a true constant instead of '{name}', which a loop without cond ignores"
            yield rewrite("drop-ignored-condition", place, None, reason, _return_true_constant)


def _return_true_constant(edit: GraphEdit) -> None:
    port = edit.graph.output[0]
    port.name = edit.constant(None, f"{port.name}_true", _TRUE)


def pass_true_conditions(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A Loop without ``cond`` gets a true constant, where its body never returns false."""
    for place, node in places.nodes("Loop"):
        if not _input_name(node, 1):
            yield rewrite(
                "pass-true-condition",
                place,
                node,
                "passes a true constant as cond",
                _pass_true_condition,
                node_key(node),
            )


def _pass_true_condition(edit: GraphEdit, key: str) -> None:
    name = edit.constant(key, "cond", _TRUE)
    node = edit.node(key)
    node.input[:] = [node.input[0], name, *node.input[2:]]


def clamp_negative_trip_counts(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A negative constant trip count is 0, which means the same."""
    for place, node in places.nodes("Loop"):
        data = places.constant(place, _input_name(node, 0))
        if data is not None and data.size == 1 and int(data.reshape(())) < 0:
            reason = "passes 0 as the trip count, which means the same as a negative one"
            yield rewrite("limit-trip-count", place, node, reason, _set_trip_count, node_key(node), np.zeros_like(data))


def _set_trip_count(edit: GraphEdit, key: str, data: Array) -> None:
    edit.node(key).input[0] = edit.constant(key, "trip_count", data)


def pass_zero_trip_count(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A loop whose condition is a false constant has no iterations: a trip count of 0 and a true condition."""
    for place, node in places.nodes("Loop"):
        data = places.constant(place, _input_name(node, 1))
        if data is not None and data.size == 1 and not data.any():
            reason = "passes 0 as the trip count instead of a false condition"
            yield rewrite("no-trips", place, node, reason, _pass_zero_trips, node_key(node))


def _pass_zero_trips(edit: GraphEdit, key: str) -> None:
    names = edit.constant(key, "no_trips", np.asarray(0)), edit.constant(key, "cond", _TRUE)
    edit.node(key).input[:2] = names


def _input_name(node: NodeProto, port: int) -> str:
    return node.input[port] if port < len(node.input) else ""
