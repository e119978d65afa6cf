"""Fallback to ``onnx.reference`` for ONNX operators without an own implementation.

A node's implementation is resolved and bound to its attributes once. Loop and Scan of ``onnx.reference`` have
defects, so control flow, and functions that contain it, are excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError, one_line
from ..graph import Graph, Operation, OptionalType, SequenceType, TensorType, ValueType

Result = Any  # an array, a list (sequence) or None (an absent input)
Types = tuple[Any, ...]
_CONTROL_FLOW = frozenset({"Loop", "Scan", "If", "SequenceMap"})


def resolve_reference(node: Operation) -> Callable[..., tuple[Result, ...]] | None:
    """A function ``f(p, *inputs)`` that runs a node by ``onnx.reference``; None if it lacks the operator.

    Raises:
        ModelError: the node's attributes are invalid.
    """
    from onnx import defs  # slow import, needed for rare operators only

    if node.op_type in _CONTROL_FLOW or any(isinstance(value, Graph) for value in node.attributes.values()):
        return None
    domain = "" if node.domain == "ai.onnx" else node.domain
    if not defs.has(node.op_type, node.version, domain):
        return None
    schema = defs.get_schema(node.op_type, node.version, domain)
    proto = _node_proto(node, domain, schema)
    from onnx.reference.op_run import RuntimeContextError

    try:
        runner = _bind_implementation(proto, node.version, ())
    except RuntimeContextError:  # a function whose body depends on the types of its inputs
        return _rebinding_function(proto, node)
    return None if runner is None else _runner_function(node, lambda inputs: runner)


def _runner_function(node: Operation, runner: Callable[[Sequence[Result]], Any]) -> Callable[..., tuple[Result, ...]]:
    input_count = _count_without_trailing_none(node.inputs)
    output_count = len(node.outputs)

    def run(p: Any, *inputs: Result) -> tuple[Result, ...]:
        operands = inputs[:input_count]
        try:
            results = runner(operands).run(*operands)
        except Exception as error:
            # onnx.reference wraps the cause into an error about types.
            cause = error.__cause__ or error
            raise ValueError(f"onnx.reference cannot run it: {type(cause).__name__}: {one_line(cause)}") from error
        return tuple(_normalize_result(x) for x in results)[:output_count]

    return run


def _normalize_result(result: Result) -> Result:
    """Convert string results to dtype object."""
    if isinstance(result, list):
        return [_normalize_result(part) for part in result]
    return result.astype(object) if getattr(result, "dtype", np.dtype(object)).kind in "US" else result


def _rebinding_function(proto: Any, node: Operation) -> Callable[..., tuple[Result, ...]] | None:
    """For functions whose body depends on the input types: rebind when those change."""
    bound: dict[Types, Any] = {}

    def runner(inputs: Sequence[Result]) -> Any:
        types = tuple(None if x is None else (x.dtype, x.shape) for x in inputs)
        if types not in bound:
            implementation = _bind_implementation(proto, node.version, types)
            if implementation is None:
                raise NotImplementedError(f"{node.op_type} contains control flow")
            bound.clear()
            bound[types] = implementation
        return bound[types]

    return _runner_function(node, runner)


def _bind_implementation(proto: Any, version: int, types: Types) -> Any:
    """The ``onnx.reference`` implementation of a node; None if missing, or if it contains control flow."""
    from onnx import defs, helper
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import RuntimeContextError

    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(input_type[0]), input_type[1])
        for name, input_type in zip(proto.input, types, strict=False)
        if input_type is not None
    ]
    graph = helper.make_graph([proto], "one_node", inputs, [])
    opsets = {"": defs.onnx_opset_version(), proto.domain: version}
    try:
        (runner,) = ReferenceEvaluator(graph, opsets=opsets).rt_nodes_
    except NotImplementedError:
        return None
    except RuntimeContextError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, TypeError | ValueError) or str(error).startswith("Attribute "):
            raise ModelError(f"{proto.op_type}: {one_line(error.__cause__ or error)}") from None
        if str(error).startswith("No "):  # "No implementation for operator ... version ..."
            return None
        raise
    function = getattr(runner, "impl_", None)
    return None if function is not None and _has_loop(function.proto_.node) else runner


def _has_loop(nodes: Iterable[Any]) -> bool:
    return any(
        node.op_type in ("Loop", "Scan", "SequenceMap")
        or any(_has_loop(graph.node) for part in node.attribute for graph in (part.g, *part.graphs))
        for node in nodes
    )


def _count_without_trailing_none(values: Sequence[Any]) -> int:
    count = len(values)
    while count and values[count - 1] is None:
        count -= 1
    return count


def _node_proto(node: Operation, domain: str, schema: Any) -> Any:
    from onnx import helper

    inputs = ["" if x is None else f"in{k}" for k, x in enumerate(node.inputs)]
    outputs = ["" if x is None else f"out{k}" for k, x in enumerate(node.outputs)]
    proto = helper.make_node(node.op_type, inputs[: _count_without_trailing_none(node.inputs)], outputs, domain=domain)
    for name, value in node.attributes.items():
        if name not in schema.attributes:
            raise ModelError(
                f"{node.describe()} has an attribute '{name}' that this opset does not define",
                **node.error_fields,
                name=name,
            )
        kind = schema.attributes[name].type
        try:
            proto.attribute.append(
                helper.make_attribute(name, _attribute_value(value, kind.name), attr_type=int(kind.value))
            )
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"{node.describe()}: attribute {name}: {one_line(error)}", **node.error_fields, name=name
            ) from None
    return proto


def _attribute_value(value: Any, attribute_type: str) -> Any:
    """Convert an attribute's value for ``onnx.helper``."""
    from onnx import numpy_helper

    if attribute_type == "FLOAT":
        return float(value)
    if attribute_type == "FLOATS":
        return [float(part) for part in value]
    if attribute_type == "TENSOR" and isinstance(value, np.ndarray):
        return numpy_helper.from_array(value)
    if attribute_type == "TENSORS":
        return [numpy_helper.from_array(part) for part in value]
    if attribute_type == "TYPE_PROTO":
        return type_proto(value)
    if attribute_type == "TYPE_PROTOS":
        return [type_proto(part) for part in value]
    return value


def type_proto(value_type: ValueType) -> Any:
    """Convert a type to ONNX; an unknown element type is 0."""
    from onnx import helper

    if isinstance(value_type, SequenceType):
        return helper.make_sequence_type_proto(type_proto(value_type.element))
    if isinstance(value_type, OptionalType):
        return helper.make_optional_type_proto(type_proto(value_type.element))
    assert isinstance(value_type, TensorType)
    code = 0 if value_type.dtype is None else helper.np_dtype_to_tensor_dtype(value_type.dtype)
    return helper.make_tensor_type_proto(code, value_type.shape)
