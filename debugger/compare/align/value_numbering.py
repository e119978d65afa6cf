"""Value numbering of one of two models: origins, names and value numbers of its values.

Values on both sides have equal numbers iff they are provably the same: inputs that both receive, constants by their
contents, results by the number of their node and their index.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ....runtime import dtypes
from ....runtime.errors import UnsupportedError
from ....runtime.graph import (
    Array,
    Graph,
    Loop,
    Node,
    Operation,
    SlicedInput,
    System,
    TensorType,
    Value,
    bodies,
    captured_values,
    walk,
)
from ....runtime.graph.producers import ProducerMap
from ....runtime.ops.constant_folding import ConstantFolder
from ...describe.code_lines import CodeLines
from ...describe.node_text import OPERATOR_SIGNS, NodeFormatter, rank
from ..causes.narrow_types import dtype_by_name, largest_finite
from ..running.value_comparison import dtype_kind
from .normal_form import NormalForm, Operand, digest, normal_form, preserves_rank
from .quantization_patterns import (
    fold_quantized_product,
    is_quantized_operator,
    quantize_dequantize_source,
    working_node,
)


class ValueNumberTable:
    """Assigns the same number to equal keys."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number_for(self, key: Hashable) -> int:
        """The number of a key; a new key gets the next number."""
        return self._numbers.setdefault(key, len(self._numbers))


class NumberedGraph:
    """One of two models. ``loose``: ignore axes of length 1; ``floats``: ignore conversions between float types;
    ``narrow``: the narrower float type of the two models, to which constants are rounded; ``bits``: one model is
    quantised to 8 bits."""

    def __init__(
        self,
        graph: Graph,
        table: ValueNumberTable,
        loose: bool,
        floats: bool = False,
        narrow: str | None = None,
        bits: bool = False,
    ) -> None:
        self.graph = graph
        self.origins = ProducerMap.for_graph(graph)
        self.phrases = NodeFormatter(self.origins)
        self.code = CodeLines(graph)
        self._table = table
        self._ignore_unit_axes = loose
        self._ignore_float_conversions = floats
        self._narrow_dtype = None if narrow is None else dtype_by_name(narrow)
        self._quantized = bits
        #: Constants that hold quantised weights.
        self.quantized_weights: set[Value] = set()
        self._constants = ConstantFolder(self.origins, graph.system)
        self._declared_constants = ConstantFolder(self.origins, graph.system, use_declared_shapes=True)
        #: Numbers of paired values and model inputs.
        self.fixed_numbers: dict[Value, int] = {}
        #: Numbers derived from them.
        self.derived_numbers: dict[Value, int] = {}
        self.params: dict[Value, tuple[Loop, str]] = {}
        #: Nodes that the file does not contain -> the operator that they were expanded from.
        self.opened: dict[Node, Operation] = dict(graph.expanded_from)
        self._constants_without_data = set(graph.constants)
        self._invariants: dict[Value, Value] = {}
        #: Caches.
        self._origin_cache: dict[Value, Value] = {}
        self._constant_cache: dict[Value, Array | None] = {}
        self._captures_cache: dict[Node, Sequence[Value]] = {}
        self._constant_numbers: dict[Hashable, int] = {}
        self._digests: dict[Operand, Hashable] = {}
        self._forms: dict[Node, NormalForm] = {}
        self._values_by_name: dict[str, list[Value]] | None = None
        self._constants_by_number: dict[int, list[Value]] | None = None
        for inner in (inner for node in walk(graph) for _, inner in bodies(node)):
            self.opened.update(inner.expanded_from)
        for loop in (node for node in walk(graph) if isinstance(node, Loop)):
            self._constants_without_data.update(loop.body.constants)
            self._invariants.update((port.inner, port.outer) for port in loop.invariants)
            self.params.update((edge.param, (loop, "carried")) for edge in loop.back_edges)
            self.params.update((port.inner, (loop, "sliced")) for port in loop.sliced_inputs)
            for value, role in ((loop.iteration, "iteration"), (loop.condition_input, "condition")):
                if value is not None:
                    self.params.setdefault(value, (loop, role))

    def origin(self, value: Value) -> Value:
        """The value behind Identity nodes and invariant inputs."""
        if value not in self._origin_cache:
            self._origin_cache[value] = self._find_origin(value)
        return self._origin_cache[value]

    def _find_origin(self, value: Value) -> Value:
        while True:
            source = self.origins.skip_identities(value)
            outer = self._invariants.get(source) or self._conversion_source(source)
            if outer is None:
                return source
            value = outer

    def _conversion_source(self, value: Value) -> Value | None:
        """The operand of an ignored float conversion, or of a quantise-dequantise pair."""
        if self._quantized:
            operand = quantize_dequantize_source(
                self.origins.producer(value), lambda v: self.origins.producer(self.origins.skip_identities(v))
            )
            if operand is not None:
                return operand
        node = self.origins.producer(value) if self._ignore_float_conversions else None
        if node is None or dtype_kind(conversion_dtype(node)) != "f" or len(node.inputs) != 1:
            return None
        source = node.inputs[0]
        return source if source is not None and is_float(source) else None

    def conversions(self, value: Value) -> list[Node]:
        """The conversions between a value and its origin, in order of execution."""
        nodes: list[Node] = []
        while True:
            source = self.origins.skip_identities(value)
            outer = self._invariants.get(source)
            if outer is None:
                outer = self._conversion_source(source)
                node = self.origins.producer(source)
                if outer is None or node is None:
                    return nodes[::-1]
                nodes.append(node)
            value = outer

    def working_node(self, node: Node) -> Node:
        """The node to report for one that ends a pattern of several nodes."""
        return working_node(self, node) if self._quantized else node

    def resolve_invariant(self, value: Value) -> Value:
        """The outer value of an invariant input; any other value unchanged."""
        while value in self._invariants:
            value = self._invariants[value]
        return value

    def producer(self, value: Value) -> Node | None:
        """The node that computes a value; None for parameters, inputs and constants."""
        node = self.origins.producer(value)
        return None if node is not None and self.constant(value) is not None else node

    def producer_or_folded_node(self, value: Value) -> Node | None:
        """The node that computes a value, also for results of constants; None for values written as
        constants."""
        return None if self.phrases.constant(value) is not None else self.origins.producer(value)

    def constant(self, value: Value) -> Array | None:
        """The data of a constant or of a result of constants."""
        if value not in self._constant_cache:
            data = self.phrases.constant(value)
            self._constant_cache[value] = self._constants.value_of(value) if data is None else data
        return self._constant_cache[value]

    def constant_by_declared_shape(self, value: Value) -> Array | None:
        """The data of a result of constants and declared shapes, which some tools fold."""
        return self._declared_constants.value_of(self.origin(value))

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant; its data may be missing, as in a trace."""
        return value in self._constants_without_data or self.constant(value) is not None

    def captures(self, node: Node) -> Sequence[Value]:
        """Outer values that the subgraphs of a node read, without duplicates."""
        if node not in self._captures_cache:
            self._captures_cache[node] = captures_of(node)
        return self._captures_cache[node]

    def normal_form(self, node: Node) -> NormalForm:
        """The normal form of a node."""
        if node not in self._forms:
            form = normal_form(node, self.graph.system, self.origin_constant, self.origin_producer, self.rank)
            self._forms[node] = fold_quantized_product(self, node, form) if self._quantized else form
        return self._forms[node]

    def rank(self, value: Value | None, depth: int = 20) -> int | None:
        """The rank of a value by declared types and rank-preserving operators; None if unknown."""
        declared = rank(value)
        node = None if value is None or declared is not None else self.origin_producer(value)
        if node is None or not depth or not preserves_rank(node):
            return declared
        ranks = [self.rank(item, depth - 1) for item in node.inputs[: 2 if node.op_type in OPERATOR_SIGNS else 1]]
        known_ranks = [item for item in ranks if item is not None]
        return max(known_ranks) if len(known_ranks) == len(ranks) else None

    def origin_constant(self, value: Value) -> Array | None:
        """The data of a constant, also behind Identity nodes and invariant inputs."""
        return self.constant(self.origin(value))

    def origin_producer(self, value: Value) -> Node | None:
        """The node that computes a value, also behind Identity nodes and invariant inputs."""
        return self.producer(self.origin(value))

    def values_named(self, name: str) -> Sequence[Value]:
        """Constants and node results with a name."""
        if self._values_by_name is None:
            self._values_by_name = {}
            for graph in (self.graph, *(inner for node in walk(self.graph) for _, inner in bodies(node))):
                results = [v for node in graph.nodes for v in node.outputs if v is not None]
                for value in (*graph.constants, *results):
                    self._values_by_name.setdefault(value.name, []).append(value)
        return self._values_by_name.get(name, ())

    def constants_with_number(self, number: int) -> Sequence[Value]:
        """Constants of the model with a value number."""
        if self._constants_by_number is None:
            self._constants_by_number = {}
            for graph in (self.graph, *(inner for node in walk(self.graph) for _, inner in bodies(node))):
                folded = [
                    v
                    for node in graph.nodes
                    for v in node.outputs
                    if v is not None and self.producer_or_folded_node(v) is None
                ]
                for value in (*graph.constants, *folded):
                    self._constants_by_number.setdefault(self.value_number(value), []).append(value)
        return self._constants_by_number.get(number, ())

    def value_number(self, operand: Operand | Value, relaxed: bool = False) -> int:
        """The value number, equal on both sides iff provably the same value."""
        if isinstance(operand, Value):
            operand = Operand(operand)
        value = self.origin(operand.value)
        number = self.fixed_numbers.get(value)
        if number is None and self.is_constant(value):
            key = value, operand.transposed, relaxed, value in self.quantized_weights
            if key not in self._constant_numbers:
                self._constant_numbers[key] = self._table.number_for(
                    self._constant_key(Operand(value, operand.transposed), relaxed)
                )
            return self._constant_numbers[key]
        if number is None:
            number = self.derived_numbers.get(value)
        if number is None:
            number = self._table.number_for(("unknown", id(value)))
        return self._table.number_for(("turned", number)) if operand.transposed else number

    def _constant_key(self, operand: Operand, relaxed: bool) -> Hashable:
        data = self.constant(operand.value)
        kind: Hashable
        if data is None:
            declared = operand.value.type if isinstance(operand.value.type, TensorType) else TensorType()
            kind = (dtype_kind(declared.dtype), self._significant_dims(declared.shape or ()), operand.transposed)
            return ("constant", kind) if relaxed else ("constant", kind, id(operand.value))
        data = operand.apply_transpose(data)
        kind = (
            "f" if operand.value in self.quantized_weights else dtype_kind(data.dtype),
            self._significant_dims(data.shape),
        )
        if relaxed:
            return "constant", kind
        if operand not in self._digests:
            self._digests[operand] = digest(self._round_to_narrow(data))
        return "constant", kind, self._digests[operand]

    def _round_to_narrow(self, data: Array) -> Array:
        """Round a constant to the narrower type; scalars that would vanish or overflow stay unchanged."""
        if self._narrow_dtype is None or dtype_kind(data.dtype) != "f":
            return data
        with np.errstate(all="ignore"):
            rounded = data.astype(self._narrow_dtype)
        lost = data.size == 1 and (not rounded.any() or not np.isfinite(rounded.astype(np.float64)).all())
        return data if lost else rounded

    def _significant_dims(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        # Systems write a scalar as [] or as [1,1].
        return tuple(dim for dim in shape if not (self._ignore_unit_axes and dim == 1))


def captures_of(node: Node) -> list[Value]:
    """Outer values that the subgraphs of a node read, without duplicates."""
    return list(dict.fromkeys(value for _, body in bodies(node) for value in captured_values(body)))


def conversion_dtype(node: Node) -> np.dtype[Any] | None:
    """The target type of a conversion; None for any other node."""
    if not isinstance(node, Operation) or node.is_custom_operator or node.op_type not in ("Cast", "Convert"):
        return None
    to = node.attributes.get("to", node.attributes.get("destination_type"))
    with contextlib.suppress(UnsupportedError):
        return dtypes.dtype_from_onnx(to) if isinstance(to, int) else dtypes.dtype_from_openvino(str(to))
    return None


def is_float(value: Value) -> bool:
    """Whether a value is declared as a float tensor."""
    return isinstance(value.type, TensorType) and dtype_kind(value.type.dtype) == "f"


def float_types(graph: Graph) -> set[str]:
    """The float types of a model's inputs, constants and carried values."""
    names: set[str] = set()
    graphs = [graph, *(inner for node in walk(graph) for _, inner in bodies(node))]
    for value in (value for part in graphs for value in (*part.inputs, *part.constants)):
        dtype = value.type.dtype if isinstance(value.type, TensorType) else None
        if dtype_kind(dtype) == "f":
            assert dtype is not None
            names.add(dtype.name)
    return names


def narrower_side(left: Graph, right: Graph) -> tuple[int, str] | None:
    """The side (0: left) with the narrower float type, and its narrowest type; None if neither is narrower."""
    names = [min(float_types(graph), key=largest_finite, default="") for graph in (left, right)]
    if "" in names or names[0] == names[1]:
        return None
    side = int(largest_finite(names[1]) < largest_finite(names[0]))
    return side, names[side]


def quantized_side(left: Graph, right: Graph) -> int | None:
    """The side (0: left) that is quantised to 8 bits; None if none or both are.

    An IR converted from a quantised ONNX model may not show it: such a pair is compared as floats.
    """
    # An IR has no operators for byte products, but it converts to bytes.
    converts = System.OPENVINO in (left.system, right.system)
    flags = [
        any(_marks_quantization(node, converts) for node in _nodes_and_opened_operators(graph))
        for graph in (left, right)
    ]
    if flags[0] is flags[1]:
        return None
    side = int(flags[1])
    visible = left.system is right.system or (left, right)[side].system is System.OPENVINO
    return side if visible else None


def _marks_quantization(node: Node, converts: bool) -> bool:
    return is_quantized_operator(node) or (converts and conversion_dtype(node) in (np.int8, np.uint8))


def _nodes_and_opened_operators(graph: Graph) -> Iterator[Node]:
    """All nodes, and the source operators that some were expanded from."""
    yield from walk(graph)
    for part in (graph, *(inner for node in walk(graph) for _, inner in bodies(node))):
        yield from part.expanded_from.values()


def initial_outer_value(port: Value | SlicedInput) -> Value:
    """The outer value that initialises a back edge, whole or sliced."""
    return port.outer if isinstance(port, SlicedInput) else port
