"""A model in 8 bits beside the one in floats that it was made of: which operators of one are which of the other.

A product of floats becomes a quantisation of what comes in, a product of integers, a conversion and the scales; a bias
is added by a node of its own. In their normal form both are one product. What is quantised and converted back at once
is the value that it was, as far as it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ....runtime.graph import Array, Node, Operation, Value
from .normal_form import NormalForm, Operand

#: Operators by which a model is known to compute in 8 bits.
_QUANTIZED_OPERATOR_NAMES = """
ConvInteger DequantizeLinear DynamicQuantizeLSTM DynamicQuantizeLinear DynamicQuantizeMatMul FakeQuantize MatMulInteger
MatMulIntegerToFloat QLinearConv QLinearMatMul QuantizeLinear
"""
_QUANTIZED_OPERATORS = frozenset(_QUANTIZED_OPERATOR_NAMES.split())
_QUANTIZERS = ("DynamicQuantizeLinear", "QuantizeLinear")
#: Of the largest number of a tensor: what 8 bits may be off by, after a few products.
QUANTIZED_PEAK_TOLERANCE = 0.05


class ValueFacts(Protocol):
    """What is known of the values of a model."""

    #: Constants that hold quantised weights.
    quantized_weights: set[Value]

    def origin_producer(self, value: Value) -> Node | None:
        """The node that computes a value."""

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant."""

    def origin(self, value: Value) -> Value:
        """What a value was handed on from."""

    def origin_constant(self, value: Value) -> Array | None:
        """The data of a constant."""

    def normal_form(self, node: Node) -> NormalForm:
        """The normal form of a node."""


def is_quantized_operator(node: Node | Operation) -> bool:
    """Whether a node computes in 8 bits, or goes over to them."""
    return isinstance(node, Operation) and node.op_type in _QUANTIZED_OPERATORS


def quantize_dequantize_source(node: Node | None, maker: Callable[[Value], Node | None]) -> Value | None:
    """What a node gives back that was quantised just before; None where it does not."""
    if not isinstance(node, Operation):
        return None
    if node.op_type == "FakeQuantize":
        return node.inputs[0]
    quantiser = None if node.op_type != "DequantizeLinear" or node.inputs[0] is None else maker(node.inputs[0])
    return quantiser.inputs[0] if isinstance(quantiser, Operation) and quantiser.op_type in _QUANTIZERS else None


def fold_quantized_product(known: ValueFacts, node: Node, found: NormalForm) -> NormalForm:
    """The form of a node, where it ends a product: without, or with, its bias."""
    if found.operator == "*":
        fed = _integer_product(known, node)
        return found if fed is None else NormalForm("MatMul", {}, fed[1])
    if found.operator == "Gemm" and len(found.operands) == 2 and not found.attributes:
        return NormalForm("MatMul", {}, found.operands)
    if found.operator == "+":
        product = _product_and_bias(known, found)
        if product is not None:
            fed_by, bias = product
            return NormalForm("Gemm", {}, (*known.normal_form(fed_by).operands, bias))
    return found


def working_node(known: ValueFacts, node: Node) -> Node:
    """The node that does the work in a product that ends in ``node``, or that quantises what ``node`` gives back."""
    if node.op_type in ("Mul", "Multiply"):
        fed = _integer_product(known, node)
        return node if fed is None else fed[0]
    if node.op_type == "Add":
        product = _product_and_bias(known, known.normal_form(node)) if known.normal_form(node).operator == "+" else None
        inner = (
            product[0]
            if product
            else next((one for one in _input_producers(known, node) if _is_product(known, one)), None)
        )
        return node if inner is None or known.normal_form(node).operator != "Gemm" else working_node(known, inner)
    if node.op_type == "DequantizeLinear" and node.inputs[0] is not None:
        return known.origin_producer(node.inputs[0]) or node
    return node


def _input_producers(known: ValueFacts, node: Node) -> list[Node]:
    return [one for value in node.inputs if value is not None and (one := known.origin_producer(value)) is not None]


def _is_product(known: ValueFacts, node: Node) -> bool:
    found = known.normal_form(node)
    return found.operator == "MatMul" and len(found.operands) == 2 and not found.attributes


def _product_and_bias(known: ValueFacts, found: NormalForm) -> tuple[Node, Operand] | None:
    """Of a sum, the product with a constant and the constant that is added to each of its rows."""
    for k, operand in enumerate(found.operands[:2]):
        bias = found.operands[1 - k] if len(found.operands) == 2 else None
        source = None if operand is None else known.origin_producer(operand.value)
        data = None if bias is None else known.origin_constant(bias.value)
        if bias is None or source is None or data is None or data.ndim != 1 or not _is_product(known, source):
            continue
        weight = known.normal_form(source).operands[1]
        if weight is not None and known.is_constant(weight.value):
            return source, bias
    return None


def _integer_product(known: ValueFacts, node: Node) -> tuple[Node, tuple[Operand, Operand]] | None:
    """The product of integers that a Mul gives its scale, and the floats that were multiplied."""
    for cast in _input_producers(known, node):
        value = cast.inputs[0] if cast.op_type == "Cast" else None
        product = None if value is None else known.origin_producer(value)
        if product is not None and product.op_type == "MatMulInteger":
            a, b = (_dequantized_operand(known, one) for one in product.inputs[:2])
            return product, (a, b)
    return None


def _dequantized_operand(known: ValueFacts, value: Any) -> Operand:
    """What was quantised; of a weight its bytes, which count as the floats that they stand for."""
    node = known.origin_producer(value)
    if node is not None and node.op_type in _QUANTIZERS and node.inputs[0] is not None:
        return Operand(node.inputs[0])
    if known.is_constant(value):
        known.quantized_weights.add(known.origin(value))
    return Operand(value)
