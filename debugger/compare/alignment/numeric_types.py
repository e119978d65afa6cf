"""The number formats of two models: their float types, and whether one is quantised to 8 bits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....runtime import dtypes
from ....runtime.errors import UnsupportedError
from ....runtime.graph import Graph, Node, Operation, System, TensorType, walk, walk_graphs
from ..causes.narrow_type_headroom import largest_finite_number
from ..running.value_comparison import dtype_kind

#: Operators that mark a model as quantised.
_QUANTIZED_OPERATOR_NAMES = """
ConvInteger DequantizeLinear DynamicQuantizeLSTM DynamicQuantizeLinear DynamicQuantizeMatMul FakeQuantize MatMulInteger
MatMulIntegerToFloat QLinearConv QLinearMatMul QuantizeLinear
"""
_QUANTIZED_OPERATORS = frozenset(_QUANTIZED_OPERATOR_NAMES.split())
#: Tolerance relative to the peak of a tensor after a few 8-bit products.
QUANTIZED_PEAK_TOLERANCE = 0.05


def conversion_dtype(node: Node) -> np.dtype[Any] | None:
    """The target type of a conversion; None for any other node."""
    if not isinstance(node, Operation) or node.is_custom_operator or node.op_type not in ("Cast", "Convert"):
        return None
    to = node.attributes.get("to", node.attributes.get("destination_type"))
    with contextlib.suppress(UnsupportedError):
        return dtypes.dtype_from_onnx(to) if isinstance(to, int) else dtypes.dtype_from_openvino(str(to))
    return None


def float_type_names(graph: Graph) -> set[str]:
    """The float types of a model's inputs, constants and carried values."""
    names: set[str] = set()
    for value in (value for part in walk_graphs(graph) for value in (*part.inputs, *part.constants)):
        dtype = value.type.dtype if isinstance(value.type, TensorType) else None
        if dtype_kind(dtype) == "f":
            assert dtype is not None
            names.add(dtype.name)
    return names


def have_different_float_types(left: Graph, right: Graph) -> bool:
    """Whether one of two models with floats has inputs, constants or carried values of a float type that the other one
    neither has nor converts to: a tool that folds a conversion leaves a constant of its type."""
    names = [float_type_names(graph) for graph in (left, right)]
    if not all(names) or names[0] == names[1]:
        return False
    produced = [
        {dtype.name for dtype in map(_constant_or_conversion_dtype, walk(graph)) if dtype is not None}
        for graph in (left, right)
    ]
    return bool(names[1] - names[0] - produced[0] or names[0] - names[1] - produced[1])


def _constant_or_conversion_dtype(node: Node) -> np.dtype[Any] | None:
    """The type to which a node converts, or of an ONNX Constant; None for any other node."""
    if isinstance(node, Operation) and node.op_type == "Constant" and not node.is_custom_operator:
        data = node.attributes.get("value")
        return data.dtype if isinstance(data, np.ndarray) else None
    return conversion_dtype(node)


def narrower_side(left: Graph, right: Graph) -> tuple[int, str] | None:
    """The side (0: left) with the narrower float type, and its narrowest type; None if neither is narrower."""
    names = [min(float_type_names(graph), key=largest_finite_number, default="") for graph in (left, right)]
    if "" in names or names[0] == names[1]:
        return None
    side = int(largest_finite_number(names[1]) < largest_finite_number(names[0]))
    return side, names[side]


def quantized_side(left: Graph, right: Graph) -> int | None:
    """The side (0: left) that is quantised to 8 bits; None if none or both are.

    An IR converted from a quantised ONNX model may not show it: such a pair is compared as floats.
    """
    # An IR has no operators for byte products, but it converts to bytes.
    converts = System.OPENVINO in (left.system, right.system)
    flags = [
        any(_marks_quantization(node, converts) for node in _nodes_and_source_operators(graph))
        for graph in (left, right)
    ]
    if flags[0] is flags[1]:
        return None
    side = int(flags[1])
    visible = left.system is right.system or (left, right)[side].system is System.OPENVINO
    return side if visible else None


def _marks_quantization(node: Node, converts: bool) -> bool:
    is_quantized = isinstance(node, Operation) and node.op_type in _QUANTIZED_OPERATORS
    return is_quantized or (converts and conversion_dtype(node) in (np.int8, np.uint8))


def _nodes_and_source_operators(graph: Graph) -> Iterator[Node]:
    """All nodes, and the source operators that some were expanded from."""
    yield from walk(graph)
    for part in walk_graphs(graph):
        yield from part.expanded_from.values()
