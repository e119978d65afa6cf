"""The normal form of a node: operator, attributes and operands, independent of notation.

Different notations have the same form: omitted attributes and their defaults, attributes of older opsets that are
inputs now, negative and positive axes, transposed weights and products that transpose them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.graph import Array, Node, Operation, System, Value
from ....runtime.graph.slicing import normalize_axis
from ....runtime.ops.registry import ResolvedOperation, resolve
from ...describe.node_text import OPERATOR_SIGNS, rank

#: Different names of one operator, other than operators with a sign.
_ALIASES = {
    "Clamp": "Clip",
    "Convert": "Cast",
    "LogicalNot": "Not",
    "Maximum": "Max",
    "Minimum": "Min",
    "Negative": "Neg",
    "Select": "Where",
    "ShapeOf": "Shape",
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
#: Operators whose axes refer to their result, which has a higher rank than their input.
_RANK_INCREASING = frozenset({"Unsqueeze", "OneHot", "SequenceAt", "ConcatFromSequence", "SplitToSequence"})
_PRODUCTS = frozenset({"MatMul", "Gemm"})
#: Operators that flatten all axes from the given one before opset 13.
_FLATTENING = frozenset({"Softmax", "LogSoftmax", "Hardmax"})
#: Operators whose results have the rank of their first input, other than operators with a sign.
_RANK_PRESERVING_NAMES = """
Abs BatchNormalization Cast Ceil Clamp Clip Concat Convert Cos CumSum Dropout Elu Erf Exp Floor Gelu HardSigmoid
Identity LayerNormalization LeakyRelu Log LogSoftmax Max Min Neg Not Pad Reciprocal Relu Reverse Round Selu Sigmoid
Sign Sin Slice Softmax Softplus Softsign Split Sqrt Tan Tanh Tile TopK Transpose VariadicSplit
"""
_RANK_PRESERVING = frozenset(_RANK_PRESERVING_NAMES.split())


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


@dataclass(frozen=True)
class Operand:
    """A value as operand of a node. ``transposed``: with its last two axes swapped."""

    value: Value
    transposed: bool = False

    def apply_transpose(self, data: Any) -> Any:
        """The data as the node reads it."""
        return data.swapaxes(-1, -2) if self.transposed and isinstance(data, np.ndarray) and data.ndim >= 2 else data


@dataclass(frozen=True)
class NormalForm:
    """The normal form of a node. ``attributes``: without defaults."""

    operator: str
    attributes: Mapping[str, Hashable]
    operands: tuple[Operand | None, ...]


def normal_form(
    node: Node,
    system: System,
    constant: Callable[[Value], Array | None],
    producer: Callable[[Value], Node | None],
    dims: Callable[[Value], int | None],
) -> NormalForm:
    """The normal form of a node; ``constant`` returns the data of a value, ``producer`` the node that computes it,
    ``dims`` its rank."""
    name = canonical_operator(node)
    if not isinstance(node, Operation):
        return NormalForm(name, {}, tuple(None if value is None else Operand(value) for value in node.inputs))
    attributes = dict(attributes_without_defaults(node, system))
    operands: list[Operand | None] = []
    arguments = arguments_as_attributes(name)
    for k, value in enumerate(node.inputs):
        data = None if value is None or k not in arguments else constant(value)
        if data is not None:
            attributes[arguments[k]] = constant_as_attribute(data)
        elif value is not None or k not in arguments:
            operands.append(None if value is None else Operand(value))
    while operands and operands[-1] is None:
        operands.pop()
    if name in _PRODUCTS:
        operands = _product_operands(attributes, operands, producer)
    input_value = node.inputs[0] if node.inputs else None
    if input_value is not None and name not in _RANK_INCREASING and name != "Slice":
        input_rank = dims(input_value)
        normalized = normalize_axes(attributes, input_rank)
        if name in _FLATTENING and system is System.ONNX and node.version < 13 and input_rank is not None:
            normalized = {**normalized, **({"flattened": True} if normalized["axis"] != input_rank - 1 else {})}
        return NormalForm(name, normalized, tuple(operands))
    return NormalForm(name, attributes, tuple(operands))


def normalize_axes(attributes: Mapping[str, Hashable], dims: int | None) -> Mapping[str, Hashable]:
    """Attributes with negative axes normalised; ``dims``: the rank of the tensor that they refer to."""
    if dims is None:
        return attributes
    normalized = dict(attributes)
    for name in ("axis", "axes"):
        axes = normalized.get(name)
        if type(axes) is int:
            normalized[name] = normalize_axis(axes, dims)
        elif isinstance(axes, tuple) and all(type(element) is int for element in axes):
            normalized[name] = tuple(sorted(normalize_axis(element, dims) for element in axes if type(element) is int))
    return normalized


def preserves_rank(node: Node) -> bool:
    """Whether the results of a node have the rank of its inputs."""
    return not node.is_custom_operator and (
        node.op_type in OPERATOR_SIGNS or canonical_operator(node) in _RANK_PRESERVING
    )


def increases_rank(operator: str) -> bool:
    """Whether an operator's axes refer to its result."""
    return operator in _RANK_INCREASING


def _product_operands(
    attributes: dict[str, Hashable], operands: Sequence[Operand | None], producer: Callable[[Value], Node | None]
) -> list[Operand | None]:
    """The factors of a product, with transposes by attributes or preceding nodes resolved."""
    factors = list(operands)
    for k, keys in enumerate((("transpose_a", "transA"), ("transpose_b", "transB"))):
        transposed = bool([key for key in keys if attributes.pop(key, False) not in (False, 0)])
        operand = factors[k] if k < len(factors) else None
        if operand is None:
            continue
        value = operand.value
        node = producer(value)
        while node is not None and swaps_last_two_axes(node) and node.inputs[0] is not None:
            transposed, value = not transposed, node.inputs[0]
            node = producer(value)
        factors[k] = replace(operand, value=value, transposed=transposed)
    return factors


def swaps_last_two_axes(node: Node) -> bool:
    """Whether a node only swaps the last two axes of its input."""
    if not isinstance(node, Operation) or node.op_type != "Transpose" or not node.inputs:
        return False
    order: Any = node.attributes.get("perm")
    if order is None and len(node.inputs) > 1 and node.inputs[1] is not None:
        data = node.inputs[1].constant
        order = None if data is None else data.reshape(-1).tolist()
    dims = rank(node.inputs[0])
    if not order:
        return dims == 2 and len(node.inputs) == 1
    order = [int(axis) for axis in order]
    return len(order) >= 2 and order == [*range(len(order) - 2), len(order) - 1, len(order) - 2]


# -- attributes


def attributes_without_defaults(node: Operation, system: System) -> Mapping[str, Hashable]:
    """The attributes of a node without those that equal their defaults."""
    attributes: Mapping[str, Any] = node.attributes
    if attributes and not isinstance(node, ResolvedOperation):
        with contextlib.suppress(LoopdbgError):
            # Resolved: attributes of an IR are strings.
            attributes = resolve(node, system).keywords or attributes
    defaults = {} if system is System.OPENVINO else _onnx_defaults(node.op_type, node.domain, node.version)
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
        np.ascontiguousarray(canonical_dtype(data)).reshape(-1).view(np.uint8).data, digest_size=16
    ).digest()


def canonical_dtype(data: Array) -> Array:
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
def _onnx_defaults(op_type: str, domain: str, version: int) -> Mapping[str, Hashable]:
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
