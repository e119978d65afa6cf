"""The normal form of a node: what it computes and of what, however that is written.

Two ways to write one thing have one form: an attribute that is left out and its default, an argument that was an
attribute in an older opset and is an input now, an axis counted from either end, a weight that is stored transposed and
a product that transposes it.
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

#: What two systems call otherwise, beside the operators with a sign.
_ALIASES = {"Negative": "Neg", "LogicalNot": "Not", "Convert": "Cast", "Maximum": "Max", "Minimum": "Min"}
COMMUTATIVE_OPERATORS = frozenset({"+", "*", "and", "or", "==", "!=", "^", "&", "|", "Max", "Min"})
#: Operator -> inputs, by their place, that are attributes in another opset.
_INPUTS_THAT_WERE_ATTRIBUTES: Mapping[str, Mapping[int, str]] = {
    "Clip": {1: "min", 2: "max"},
    "Dropout": {1: "ratio"},
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
#: Operators whose axes are those of their result, which has more than their input.
_RANK_INCREASING = frozenset({"Unsqueeze", "OneHot", "SequenceAt", "ConcatFromSequence", "SplitToSequence"})
_PRODUCTS = frozenset({"MatMul", "Gemm"})
#: Operators that before opset 13 take the axis and all after it as one.
_FLATTENING = frozenset({"Softmax", "LogSoftmax", "Hardmax"})
#: Operators whose results have as many dimensions as their first input, beside those with a sign.
_RANK_PRESERVING_NAMES = """
Abs BatchNormalization Cast Ceil Clamp Clip Concat Convert Cos CumSum Dropout Elu Erf Exp Floor Gelu HardSigmoid
Identity LayerNormalization LeakyRelu Log LogSoftmax Max Min Neg Not Pad Reciprocal Relu Reverse Round Selu Sigmoid
Sign Sin Slice Softmax Softplus Softsign Split Sqrt Tan Tanh Tile TopK Transpose VariadicSplit
"""
_RANK_PRESERVING = frozenset(_RANK_PRESERVING_NAMES.split())


def canonical_operator(node: Node) -> str:
    """What a node computes, in one word for all systems."""
    return OPERATOR_SIGNS.get(node.op_type) or _ALIASES.get(node.op_type) or node.op_type


@dataclass(frozen=True)
class Operand:
    """A value as a node takes it. ``turned``: with its last two axes exchanged."""

    value: Value
    transposed: bool = False

    def apply_transpose(self, data: Any) -> Any:
        """The data as the node takes it."""
        return data.swapaxes(-1, -2) if self.transposed and isinstance(data, np.ndarray) and data.ndim >= 2 else data


@dataclass(frozen=True)
class NormalForm:
    """A node in its normal form. ``attributes``: all but those that have their defaults."""

    operator: str
    attributes: Mapping[str, Hashable]
    operands: tuple[Operand | None, ...]


def normal_form(
    node: Node,
    system: System,
    constant: Callable[[Value], Array | None],
    maker: Callable[[Value], Node | None],
    dims: Callable[[Value], int | None],
) -> NormalForm:
    """The normal form of a node; ``constant`` knows the data of a value, ``maker`` the node that computes it, ``dims``
    how many dimensions it has."""
    word = canonical_operator(node)
    if not isinstance(node, Operation):
        return NormalForm(word, {}, tuple(None if value is None else Operand(value) for value in node.inputs))
    named = dict(_attributes(node, system))
    operands: list[Operand | None] = []
    arguments = _INPUTS_THAT_WERE_ATTRIBUTES.get(word) or (_REDUCTION_ARGUMENTS if word.startswith("Reduce") else {})
    for k, value in enumerate(node.inputs):
        data = None if value is None or k not in arguments else constant(value)
        if data is not None:
            named[arguments[k]] = _constant_as_attribute(data)
        elif value is not None or k not in arguments:
            operands.append(None if value is None else Operand(value))
    while operands and operands[-1] is None:
        operands.pop()
    if word in _PRODUCTS:
        operands = _product_operands(named, operands, maker)
    first = node.inputs[0] if node.inputs else None
    if first is not None and word not in _RANK_INCREASING and word != "Slice":
        rank_of_first = dims(first)
        settled = normalize_axes(named, rank_of_first)
        if word in _FLATTENING and system is System.ONNX and node.version < 13 and rank_of_first is not None:
            settled = {**settled, **({"flattened": True} if settled["axis"] != rank_of_first - 1 else {})}
        return NormalForm(word, settled, tuple(operands))
    return NormalForm(word, named, tuple(operands))


def normalize_axes(attributes: Mapping[str, Hashable], dims: int | None) -> Mapping[str, Hashable]:
    """Attributes whose negative axes are counted from the start; ``dims``: of the tensor that they are about."""
    if dims is None:
        return attributes
    found = dict(attributes)
    for name in ("axis", "axes"):
        told = found.get(name)
        if type(told) is int:
            found[name] = normalize_axis(told, dims)
        elif isinstance(told, tuple) and all(type(axis) is int for axis in told):
            found[name] = tuple(sorted(normalize_axis(axis, dims) for axis in told if type(axis) is int))
    return found


def preserves_rank(node: Node) -> bool:
    """Whether a node's results have as many dimensions as its inputs."""
    return not node.is_custom_operator and (
        node.op_type in OPERATOR_SIGNS or canonical_operator(node) in _RANK_PRESERVING
    )


def increases_rank(word: str) -> bool:
    """Whether an operator's axes are those of its result."""
    return word in _RANK_INCREASING


def _product_operands(
    named: dict[str, Hashable], operands: Sequence[Operand | None], maker: Callable[[Value], Node | None]
) -> list[Operand | None]:
    """The factors of a product as they are multiplied, its own Transposes and those before it undone."""
    found = list(operands)
    for k, words in enumerate((("transpose_a", "transA"), ("transpose_b", "transB"))):
        turn = bool([word for word in words if named.pop(word, False) not in (False, 0)])
        operand = found[k] if k < len(found) else None
        if operand is None:
            continue
        value = operand.value
        node = maker(value)
        while node is not None and swaps_last_two_axes(node) and node.inputs[0] is not None:
            turn, value = not turn, node.inputs[0]
            node = maker(value)
        found[k] = replace(operand, value=value, transposed=turn)
    return found


def swaps_last_two_axes(node: Node) -> bool:
    """Whether a node exchanges the last two axes of its input and nothing else."""
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


def _attributes(node: Operation, system: System) -> Mapping[str, Hashable]:
    """What a node's attributes say, those that say what is meant without them left out."""
    told: Mapping[str, Any] = node.attributes
    if told and not isinstance(node, ResolvedOperation):
        with contextlib.suppress(LoopdbgError):
            # Settled: an IR's numbers are strings.
            told = resolve(node, system).keywords or told
    usual = {} if system is System.OPENVINO else _onnx_defaults(node.op_type, node.domain, node.version)
    named = {name: hashable_attribute(value) for name, value in told.items()}
    return {
        name: value
        for name, value in named.items()
        if value is not None and (name in ("axis", "axes") or usual.get(name, _ABSENT) != value)
    } | {name: value for name, value in usual.items() if name in ("axis", "axes") and name not in named}


_ABSENT = object()


def _constant_as_attribute(data: Array) -> Hashable:
    """A constant input as the attribute that it is in another opset."""
    if data.ndim == 0 or data.size > 64:
        return hashable_attribute(data.item()) if data.ndim == 0 else hashable_attribute(data)
    return tuple(data.reshape(-1).tolist())


def hashable_attribute(value: Any) -> Hashable:
    """An attribute as something that can be compared."""
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
    """What tells the contents of two arrays of one shape apart. The same numbers in two types have the same digest."""
    if data.dtype == object:
        return repr(data.tolist())
    return hashlib.blake2b(
        np.ascontiguousarray(canonical_dtype(data)).reshape(-1).view(np.uint8).data, digest_size=16
    ).digest()


def canonical_dtype(data: Array) -> Array:
    """The same numbers in the widest type that holds them all: integers as int64, floats as float32 or float64."""
    kind = data.dtype.kind
    if kind in "iu" and data.dtype.itemsize < 8:
        return data.astype(np.int64)
    if kind == "V" or (kind == "f" and data.dtype.itemsize < 4):
        return data.astype(np.int64 if "int" in data.dtype.name else np.float32)
    if data.dtype == np.float64:
        with np.errstate(over="ignore"):
            narrow = data.astype(np.float32)
        return narrow if np.array_equal(narrow, data, equal_nan=True) else data
    return data


@cache
def _onnx_defaults(op_type: str, domain: str, version: int) -> Mapping[str, Hashable]:
    import onnx

    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return {}
    found = {}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.name:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            found[name] = hashable_attribute(value.decode() if isinstance(value, bytes) else value)
    return found
