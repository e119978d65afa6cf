"""Patterns of quantisation: relates operators of a quantised model to those of the float model that it was made of.

A float product becomes a quantisation of its input, an integer product, a conversion and scales; the bias is added by a
node of its own. In normal form both are one product. A quantisation followed by a dequantisation is treated as the
identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ....runtime.graph import Array, Node, Operation, Value
from .normal_form import NormalForm, Operand

#: Operators that mark a model as quantised.
_QUANTIZED_OPERATOR_NAMES = """
ConvInteger DequantizeLinear DynamicQuantizeLSTM DynamicQuantizeLinear DynamicQuantizeMatMul FakeQuantize MatMulInteger
MatMulIntegerToFloat QLinearConv QLinearMatMul QuantizeLinear
"""
_QUANTIZED_OPERATORS = frozenset(_QUANTIZED_OPERATOR_NAMES.split())
_QUANTIZERS = ("DynamicQuantizeLinear", "QuantizeLinear")
#: Tolerance relative to the peak of a tensor after a few 8-bit products.
QUANTIZED_PEAK_TOLERANCE = 0.05


class ValueFacts(Protocol):
    """Queries on the values of a model."""

    #: Constants that hold quantised weights.
    quantized_weights: set[Value]

    def origin_producer(self, value: Value) -> Node | None:
        """The node that computes a value."""

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant."""

    def origin(self, value: Value) -> Value:
        """The value behind Identity nodes and invariant inputs."""

    def origin_constant(self, value: Value) -> Array | None:
        """The data of a constant."""

    def normal_form(self, node: Node) -> NormalForm:
        """The normal form of a node."""


def is_quantized_operator(node: Node | Operation) -> bool:
    """Whether a node computes in 8 bits or quantises."""
    return isinstance(node, Operation) and node.op_type in _QUANTIZED_OPERATORS


def quantize_dequantize_source(node: Node | None, producer: Callable[[Value], Node | None]) -> Value | None:
    """The input of a quantise-dequantise pair that ends in this node; None for other nodes."""
    if not isinstance(node, Operation):
        return None
    if node.op_type == "FakeQuantize":
        return node.inputs[0]
    quantizer = None if node.op_type != "DequantizeLinear" or node.inputs[0] is None else producer(node.inputs[0])
    return quantizer.inputs[0] if isinstance(quantizer, Operation) and quantizer.op_type in _QUANTIZERS else None


def fold_quantized_product(facts: ValueFacts, node: Node, form: NormalForm) -> NormalForm:
    """The normal form of a node that ends a quantised product: without or with its bias."""
    if form.operator == "*":
        match = _integer_product(facts, node)
        return form if match is None else NormalForm("MatMul", {}, match[1])
    if form.operator == "Gemm" and len(form.operands) == 2 and not form.attributes:
        return NormalForm("MatMul", {}, form.operands)
    if form.operator == "+":
        product = _product_and_bias(facts, form)
        if product is not None:
            product_node, bias = product
            return NormalForm("Gemm", {}, (*facts.normal_form(product_node).operands, bias))
    return form


def working_node(facts: ValueFacts, node: Node) -> Node:
    """The node that does the work in a product ending in ``node``, or that quantises the input of ``node``."""
    if node.op_type in ("Mul", "Multiply"):
        match = _integer_product(facts, node)
        return node if match is None else match[0]
    if node.op_type == "Add":
        product = _product_and_bias(facts, facts.normal_form(node)) if facts.normal_form(node).operator == "+" else None
        source = (
            product[0]
            if product
            else next((candidate for candidate in _input_producers(facts, node) if _is_product(facts, candidate)), None)
        )
        return node if source is None or facts.normal_form(node).operator != "Gemm" else working_node(facts, source)
    if node.op_type == "DequantizeLinear" and node.inputs[0] is not None:
        return facts.origin_producer(node.inputs[0]) or node
    return node


def _input_producers(facts: ValueFacts, node: Node) -> list[Node]:
    return [p for value in node.inputs if value is not None and (p := facts.origin_producer(value)) is not None]


def _is_product(facts: ValueFacts, node: Node) -> bool:
    form = facts.normal_form(node)
    return form.operator == "MatMul" and len(form.operands) == 2 and not form.attributes


def _product_and_bias(facts: ValueFacts, form: NormalForm) -> tuple[Node, Operand] | None:
    """For a sum: the product with a constant, and the constant bias that is added to each row."""
    for k, operand in enumerate(form.operands[:2]):
        bias = form.operands[1 - k] if len(form.operands) == 2 else None
        source = None if operand is None else facts.origin_producer(operand.value)
        data = None if bias is None else facts.origin_constant(bias.value)
        if bias is None or source is None or data is None or data.ndim != 1 or not _is_product(facts, source):
            continue
        weight = facts.normal_form(source).operands[1]
        if weight is not None and facts.is_constant(weight.value):
            return source, bias
    return None


def _integer_product(facts: ValueFacts, node: Node) -> tuple[Node, tuple[Operand, Operand]] | None:
    """The integer product that a Mul scales, and the float operands."""
    for cast in _input_producers(facts, node):
        value = cast.inputs[0] if cast.op_type == "Cast" else None
        product = None if value is None else facts.origin_producer(value)
        if product is not None and product.op_type == "MatMulInteger":
            a, b = (_dequantized_operand(facts, operand) for operand in product.inputs[:2])
            return product, (a, b)
    return None


def _dequantized_operand(facts: ValueFacts, value: Any) -> Operand:
    """The operand before quantisation; quantised weights are recorded and compare equal to their floats."""
    node = facts.origin_producer(value)
    if node is not None and node.op_type in _QUANTIZERS and node.inputs[0] is not None:
        return Operand(node.inputs[0])
    if facts.is_constant(value):
        facts.quantized_weights.add(facts.origin(value))
    return Operand(value)
