"""The known correspondence of two models: values, nodes, loops and their ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from ....runtime.graph import Graph, Loop, Node, Operation, Value, walk
from ...describe.value_names import display_name
from ..running.value_comparison import Tolerance, dtype_kind
from .loop_ports import LoopAlignment
from .normal_form import (
    COMMUTATIVE_OPERATORS,
    NormalForm,
    Operand,
    canonical_operator,
    digest,
    increases_rank,
    normalize_axes,
)
from .quantization_patterns import QUANTIZED_PEAK_TOLERANCE
from .value_numbering import (
    NumberedGraph,
    ValueNumberTable,
    captures_of,
    conversion_dtype,
    float_types,
    narrower_side,
    quantized_side,
)


class Correspondence:
    """The correspondence of two models. ``loops``: pairs of loops with their port pairs; ``names``: names of the left
    model with their names in the right one."""

    def __init__(self, left: Graph, right: Graph, names: Mapping[str, str] | None = None) -> None:
        self.table = ValueNumberTable()
        #: Operators of different systems have other names and attributes.
        self.same_system = left.system is right.system
        #: One of the models was converted from the other to another float type.
        self.different_float_types = float_types(left) != float_types(right)
        #: The side with the narrower float type, and that type.
        self.narrower_side = narrower_side(left, right)
        narrow_type = None if self.narrower_side is None else self.narrower_side[1]
        #: The side that is quantised to 8 bits.
        self.quantized_side = quantized_side(left, right)
        options = (not self.same_system, self.different_float_types, narrow_type, self.quantized_side is not None)
        self.left, self.right = NumberedGraph(left, self.table, *options), NumberedGraph(right, self.table, *options)
        self.nodes_by_left: dict[Node, Node] = {}
        self.nodes_by_right: dict[Node, Node] = {}
        self.counterparts: tuple[dict[Value, Value], dict[Value, Value]] = {}, {}
        self.loops: dict[Loop, LoopAlignment] = {}
        self.names = names or {}

    def identify(self, left: Value, right: Value) -> None:
        """Make two values correspond."""
        number = self.table.number_for(("pair", id(left)))
        self.left.fixed_numbers[left] = self.right.fixed_numbers[right] = number
        self.counterparts[0][left], self.counterparts[1][right] = right, left

    @property
    def is_bit_exact(self) -> bool:
        """Whether the same computation is bit-identical on both sides."""
        return self.same_system and not self.different_float_types and self.quantized_side is None

    def adapt_tolerance(self, base: Tolerance) -> Tolerance:
        """The tolerance for the two models: that of the narrower float type, also for values widened again."""
        if self.quantized_side is not None and base.rtol is None and base.atol is None:
            base = replace(base, peak_fraction=max(base.peak_fraction, QUANTIZED_PEAK_TOLERANCE))
        return base if self.narrower_side is None else replace(base, narrowest_dtype=self.narrower_side[1])

    def is_weight_pair(self, left: Operand, right: Operand) -> bool:
        """Whether one of two constants is the quantised form of the other."""
        left_origin, right_origin = self.left.origin(left.value), self.right.origin(right.value)
        return (left_origin in self.left.quantized_weights) is not (right_origin in self.right.quantized_weights)

    # -- correspondence

    def same_value(self, left: Operand | Value, right: Operand | Value) -> bool:
        """Whether two values correspond."""
        return left is right or self.left.value_number(left) == self.right.value_number(right)

    def counterpart(self, side: int, value: Value) -> Value | None:
        """The counterpart of a value of one side (0: left): the same input, parameter or constant, or the same result
        of the paired node. None if unknown."""
        graph, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        value = graph.origin(value)
        if value in self.counterparts[side]:
            return self.counterparts[side][value]
        node = graph.producer_or_folded_node(value)
        partner = None if node is None else (self.nodes_by_left, self.nodes_by_right)[side].get(node)
        if partner is None and graph.is_constant(value):
            return self._same_constant(graph, other, value)
        if node is None or partner is None:
            return None
        k = node.outputs.index(value)
        result = partner.outputs[k] if k < len(partner.outputs) else None
        return None if result is None else other.origin(result)

    def counterpart_text(self, right: Value) -> str:
        """The counterpart of a right value in words; empty if it has the same name."""
        twin = self.counterpart(1, right)
        if twin is None or twin.name in (right.name, self.right.origin(right).name):
            return ""
        is_constant = self.right.is_constant(self.right.origin(right))
        return f", which {'holds the same as' if is_constant else 'corresponds to'} {display_name(twin)}"

    def _same_constant(self, graph: NumberedGraph, other: NumberedGraph, value: Value) -> Value | None:
        """The equal constant of the other side: with the same name, or the only one on both sides."""
        number = graph.value_number(value)
        namesake = next((v for v in other.values_named(value.name) if other.value_number(v) == number), None)
        if namesake is None and len(graph.constants_with_number(number)) == 1 == len(
            other.constants_with_number(number)
        ):
            return other.constants_with_number(number)[0]
        return namesake

    def _has_same_count(self, value: Value, side: int) -> bool:
        """Whether a constant of one side occurs as often on the other side, with unknown pairing."""
        graph, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        number = graph.value_number(value)
        return len(graph.constants_with_number(number)) == len(other.constants_with_number(number)) > 0

    def rewired(self, left: Value, right: Value) -> bool:
        """Whether two values with the same use do not correspond to each other."""
        if self.same_value(left, right):
            return False
        a, b = self.left.origin(left), self.right.origin(right)
        if self.left.is_constant(a) is not self.right.is_constant(b) and self._equal_by_declared_shape(a, b):
            return False
        twins = self.counterpart(0, a), self.counterpart(1, b)
        if self.left.is_constant(a) and self.right.is_constant(b):
            is_known = (
                twins[0] is not None or self._has_same_count(a, 0),
                twins[1] is not None or self._has_same_count(b, 1),
            )
            if (
                self.is_bit_exact
                and (self.left.producer_or_folded_node(a) or self.right.producer_or_folded_node(b))
                and any(is_known)
            ):
                return twins[0] is not b and twins[1] is not a
            # Both models have both constants, so this is not one constant with changed numbers.
            return a.name != b.name and all(is_known)
        if not self.same_system and (self.left.producer(a) is not None or self.right.producer(b) is not None):
            # The other system may need more or fewer nodes for the same computation.
            return None not in twins and twins[0] is not b
        return twins[0] is not b and twins[1] is not a

    def _equal_by_declared_shape(self, left: Value, right: Value) -> bool:
        """Whether one value is a constant and the other equals it given the declared shapes."""
        a, b = self.left.constant_by_declared_shape(left), self.right.constant_by_declared_shape(right)
        return a is not None and b is not None and digest(a) == digest(b) and a.shape == b.shape

    def same_attributes(self, left: Node, right: Node) -> bool:
        """Whether two nodes have the same attributes; a negative axis equals its positive form."""
        forms = self.left.normal_form(left), self.right.normal_form(right)
        if forms[0].attributes == forms[1].attributes or (
            self.different_float_types and self._both_convert(left, right)
        ):
            return True
        ports = [node.outputs if increases_rank(forms[0].operator) else node.inputs for node in (left, right)]
        dims = [side.rank(port[0]) if port else None for side, port in zip((self.left, self.right), ports, strict=True)]
        rank = dims[0] if dims[0] is not None else dims[1]
        return normalize_axes(forms[0].attributes, rank) == normalize_axes(forms[1].attributes, rank)

    def _both_convert(self, left: Node, right: Node) -> bool:
        """Whether both nodes convert to the float type of their model."""
        return all(dtype_kind(conversion_dtype(node)) == "f" for node in (left, right))

    def same_opened_operators(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The source operators that two nodes were expanded from, if both are one operator of one system."""
        pair = self.opened_operators(left, right)
        return pair if pair is not None and self.same_system and pair[0].op_type == pair[1].op_type else None

    def compared_as_operators(self, left: Node, right: Node) -> bool:
        """Whether two nodes are compared as the operators they were expanded from, or not at all if one is
        quantised."""
        pair = self.opened_operators(left, right)
        return self.same_opened_operators(left, right) is not None or (
            self.quantized_side is not None and pair is not None
        )

    def opened_operators(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The source operators that two nodes were expanded from; None if one of them was not expanded."""
        left_operator, right_operator = self.left.opened.get(left), self.right.opened.get(right)
        return None if left_operator is None or right_operator is None else (left_operator, right_operator)

    def same_operator(self, left: Node, right: Node) -> bool:
        """Whether two nodes have the same operator, so that their operands correspond."""
        if self.quantized_side is not None:
            return self.left.normal_form(left).operator == self.right.normal_form(right).operator
        return canonical_operator(left) == canonical_operator(right)

    def input_pairs(self, left: Node, right: Node) -> Iterator[tuple[Operand, Operand]]:
        """Pair the operands of two nodes: by position, or for other operators by equality and then in order.

        Captures of subgraphs are only paired by equality.
        """
        if isinstance(left, Loop) and not self.same_system:
            lefts, rights = ([v for v in node.inputs if v is not None] for node in (left, right))
            yield from self._equal_pairs(
                _operands([*lefts, *self.left.captures(left)]), _operands([*rights, *self.right.captures(right)])
            )
            return
        left_form, right_form = self.left.normal_form(left), self.right.normal_form(right)
        if left_form.operator == right_form.operator and left_form.operator not in COMMUTATIVE_OPERATORS:
            # An absent input has no counterpart.
            pairs = zip(left_form.operands, right_form.operands, strict=False)
            yield from ((a, b) for a, b in pairs if a is not None and b is not None)
        else:
            yield from self._commutative_pairs(left_form, right_form)
        yield from self._equal_pairs(_operands(self.left.captures(left)), _operands(self.right.captures(right)))

    def _commutative_pairs(self, left_form: NormalForm, right_form: NormalForm) -> Iterator[tuple[Operand, Operand]]:
        operands = [[operand for operand in form.operands if operand is not None] for form in (left_form, right_form)]
        if left_form.operator == right_form.operator:
            equal = list(self._equal_pairs(*operands))
            yield from equal
            for a, b in equal:
                operands[0].remove(a)
                operands[1].remove(b)
        yield from zip(*operands, strict=False)

    def unpaired_inputs(self, left: Node, right: Node) -> tuple[list[Value], list[Value]]:
        """Operands that only one of two nodes of the same operator has."""
        left_form, right_form = self.left.normal_form(left), self.right.normal_form(right)
        if left_form.operator != right_form.operator or left_form.operator in COMMUTATIVE_OPERATORS:
            return [], []
        pairs = list(zip_longest(left_form.operands, right_form.operands))
        left_only = [a.value for a, b in pairs if a is not None and b is None]
        return left_only, [b.value for a, b in pairs if a is None and b is not None]

    def _equal_pairs(self, left: Sequence[Operand], right: Sequence[Operand]) -> Iterator[tuple[Operand, Operand]]:
        free = list(right)
        for value in left:
            match = next(
                (item for item in free if self.same_value(value, item) and self._can_be_same(value, item)), None
            )
            if match is not None:
                free.remove(match)
                yield value, match

    def _can_be_same(self, left: Operand, right: Operand) -> bool:
        """Whether two values with equal contents may correspond: results that nodes compute from constants may be equal
        by chance."""
        left_node, right_node = (
            graph.producer_or_folded_node(graph.origin(operand.value))
            for graph, operand in ((self.left, left), (self.right, right))
        )
        if not self.is_bit_exact or left_node is None or right_node is None:
            return True
        if left_node in self.nodes_by_left or right_node in self.nodes_by_right:
            return self.nodes_by_left.get(left_node) is right_node
        return canonical_operator(left_node) == canonical_operator(right_node)

    def producers(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values. A result of constants counts as a constant unless its nodes are
        paired."""
        left_node, right_node = self.left.producer_or_folded_node(left), self.right.producer_or_folded_node(right)
        if left_node is not None and right_node is not None and self.nodes_by_left.get(left_node) is right_node:
            return left_node, right_node
        return self.left.producer(left), self.right.producer(right)

    def nodes_match(self, left: Node, right: Node) -> bool:
        """Whether two nodes correspond: as a pair, or because all their results do."""
        if self.nodes_by_left.get(left) is right:
            return True
        pairs = [(a, b) for a, b in zip(left.outputs, right.outputs, strict=False) if a is not None and b is not None]
        return bool(pairs) and all(self.same_value(a, b) for a, b in pairs)


class SelfCorrespondence(Correspondence):
    """The correspondence of a model to itself."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, graph)
        self.right = self.left
        self.nodes_by_left = self.nodes_by_right = {node: node for node in walk(graph)}


def values_read(node: Node) -> list[Value]:
    """The values that a node reads, including captures of its subgraphs."""
    return [*(value for value in node.inputs if value is not None), *captures_of(node)]


def _operands(values: Iterable[Value]) -> list[Operand]:
    return [Operand(value) for value in values]
