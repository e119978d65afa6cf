"""Operators and attributes, independent of notation: other names, defaults, attributes of older opsets that are
inputs now."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.graph import Array, Node, Operation, System
from ....runtime.ops.registry import ResolvedOperation, resolve
from ...describe.node_text import OPERATOR_SIGNS

#: Different names of one operator, other than operators with a sign.
_ALIASES = {
    "Ceiling": "Ceil",
    "Clamp": "Clip",
    "Convert": "Cast",
    "HSwish": "HardSwish",
    "LogicalNot": "Not",
    "Maximum": "Max",
    "Minimum": "Min",
    "Negative": "Neg",
    "PReLU": "PRelu",
    "ReLU": "Relu",
    "Select": "Where",
    "ShapeOf": "Shape",
    "SoftMax": "Softmax",
    "SoftPlus": "Softplus",
    "SoftSign": "Softsign",
}
COMMUTATIVE_OPERATORS = frozenset({"+", "*", "and", "or", "==", "!=", "^", "&", "|", "Max", "Min"})
#: Operator -> inputs, by position, that are attributes in another opset.
_INPUTS_THAT_WERE_ATTRIBUTES: Mapping[str, Mapping[int, str]] = {
    "Clip": {1: "min", 2: "max"},
    "Dropout": {1: "ratio"},
    "Gather": {2: "axis"},
    "Pad": {1: "pads", 2: "value"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Split": {1: "split"},
    "Squeeze": {1: "axes"},
    "Tile": {1: "repeats"},
    "TopK": {1: "k"},
    "Unsqueeze": {1: "axes"},
    "Upsample": {1: "scales"},
}
_REDUCTION_ARGUMENTS: Mapping[int, str] = {1: "axes"}


def canonical_operator(node: Node) -> str:
    """The canonical name of an operator in all systems."""
    return OPERATOR_SIGNS.get(node.op_type) or _ALIASES.get(node.op_type) or node.op_type


#: The inputs of OpenVINO's Slice have another order.
_OPENVINO_SLICE: Mapping[int, str] = {1: "starts", 2: "ends", 3: "steps", 4: "axes"}


def arguments_as_attributes(operator: str, system: System = System.ONNX) -> Mapping[int, str]:
    """The inputs of an operator, by position, that are attributes in another opset."""
    if operator == "Slice" and system is System.OPENVINO:
        return _OPENVINO_SLICE
    return _INPUTS_THAT_WERE_ATTRIBUTES.get(operator) or (_REDUCTION_ARGUMENTS if operator.startswith("Reduce") else {})


# -- attributes


def attributes_without_defaults(node: Operation, system: System) -> Mapping[str, Hashable]:
    """The attributes of a node without those that equal their defaults."""
    attributes: Mapping[str, Any] = node.attributes
    if attributes and not isinstance(node, ResolvedOperation):
        with contextlib.suppress(LoopdbgError):
            # Resolved: attributes of an IR are strings.
            attributes = resolve(node, system).keywords or attributes
    defaults = {} if system is System.OPENVINO else _onnx_attribute_defaults(node.op_type, node.domain, node.version)
    hashable = {name: hashable_attribute(value) for name, value in attributes.items()}
    return {
        name: value
        for name, value in hashable.items()
        if value is not None and (name in ("axis", "axes") or defaults.get(name, _ABSENT) != value)
    } | {name: value for name, value in defaults.items() if name in ("axis", "axes") and name not in hashable}


_ABSENT = object()


def constant_as_attribute(data: Array) -> Hashable:
    """A constant input in the form of the equivalent attribute."""
    if data.ndim == 0 or data.size > 64:
        return hashable_attribute(data.item()) if data.ndim == 0 else hashable_attribute(data)
    return tuple(data.reshape(-1).tolist())


def hashable_attribute(value: Any) -> Hashable:
    """A hashable form of an attribute."""
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, digest(value)
    if isinstance(value, list | tuple):
        return tuple(hashable_attribute(item) for item in value)
    if isinstance(value, str | bytes | int | float | bool | complex) or value is None:
        return value
    if isinstance(value, np.generic):
        scalar: Hashable = value.item()
        return scalar
    return repr(value)


def digest(data: Array) -> Hashable:
    """A digest of the contents of an array. Equal numbers in different types have the same digest."""
    if data.dtype == object:
        return repr(data.tolist())
    return hashlib.blake2b(
        np.ascontiguousarray(cast_to_canonical_dtype(data)).reshape(-1).view(np.uint8).data, digest_size=16
    ).digest()


def cast_to_canonical_dtype(data: Array) -> Array:
    """Convert to the canonical wide type: integers to int64, floats to float32, or float64 if needed."""
    kind = data.dtype.kind
    if kind in "iu" and data.dtype.itemsize < 8:
        return data.astype(np.int64)
    if kind == "V" or (kind == "f" and data.dtype.itemsize < 4):
        return data.astype(np.int64 if "int" in data.dtype.name else np.float32)
    if data.dtype == np.float64:
        with np.errstate(over="ignore"):
            single = data.astype(np.float32)
        return single if np.array_equal(single, data, equal_nan=True) else data
    return data


@cache
def _onnx_attribute_defaults(op_type: str, domain: str, version: int) -> Mapping[str, Hashable]:
    import onnx

    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return {}
    defaults = {}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.name:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            defaults[name] = hashable_attribute(value.decode() if isinstance(value, bytes) else value)
    return defaults
