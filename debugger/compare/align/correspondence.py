"""What corresponds in two models, as far as it is known: values, nodes, loops and their ports."""

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
    """Two models. ``loops``: which loops are compared with which, and how their ports go together; ``names``: which of
    the right a name is."""

    def __init__(self, left: Graph, right: Graph, names: Mapping[str, str] | None = None) -> None:
        self.table = ValueNumberTable()
        #: Of two systems operators are called otherwise, and have other attributes.
        self.same_system = left.system is right.system
        #: Of two float types: one of the models was made of the other.
        self.different_float_types = float_types(left) != float_types(right)
        #: The side with the narrower floats, and which those are.
        self.narrower_side = narrower_side(left, right)
        narrow = None if self.narrower_side is None else self.narrower_side[1]
        #: The side that computes in 8 bits what the other computes in floats.
        self.quantized_side = quantized_side(left, right)
        rest = (not self.same_system, self.different_float_types, narrow, self.quantized_side is not None)
        self.left, self.right = NumberedGraph(left, self.table, *rest), NumberedGraph(right, self.table, *rest)
        self.nodes_by_left: dict[Node, Node] = {}
        self.nodes_by_right: dict[Node, Node] = {}
        self.counterparts: tuple[dict[Value, Value], dict[Value, Value]] = {}, {}
        self.loops: dict[Loop, LoopAlignment] = {}
        self.names = names or {}

    def identify(self, left: Value, right: Value) -> None:
        """Let two values be the same thing."""
        number = self.table.number_for(("pair", id(left)))
        self.left.fixed_numbers[left] = self.right.fixed_numbers[right] = number
        self.counterparts[0][left], self.counterparts[1][right] = right, left

    @property
    def is_bit_exact(self) -> bool:
        """Whether the same computation gives the same bits on both sides."""
        return self.same_system and not self.different_float_types and self.quantized_side is None

    def adapt_tolerance(self, asked: Tolerance) -> Tolerance:
        """The tolerance for these two: that of the narrower floats also where a value of theirs was widened again."""
        if self.quantized_side is not None and asked.rtol is None and asked.atol is None:
            asked = replace(asked, peak_fraction=max(asked.peak_fraction, QUANTIZED_PEAK_TOLERANCE))
        return asked if self.narrower_side is None else replace(asked, narrowest_dtype=self.narrower_side[1])

    def is_weight_pair(self, left: Operand, right: Operand) -> bool:
        """Whether one of two constants holds the bytes of the other one's floats."""
        here, there = self.left.origin(left.value), self.right.origin(right.value)
        return (here in self.left.quantized_weights) is not (there in self.right.quantized_weights)

    # -- what corresponds

    def same_value(self, left: Operand | Value, right: Operand | Value) -> bool:
        """Whether two values are the same thing."""
        return left is right or self.left.value_number(left) == self.right.value_number(right)

    def counterpart(self, side: int, value: Value) -> Value | None:
        """What a value of one side (0: the left one) is on the other: the same input, parameter or constant, or the
        same result of the node in its maker's place. None where nothing is known to be."""
        half, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        value = half.origin(value)
        if value in self.counterparts[side]:
            return self.counterparts[side][value]
        maker = half.producer_or_folded_node(value)
        partner = None if maker is None else (self.nodes_by_left, self.nodes_by_right)[side].get(maker)
        if partner is None and half.is_constant(value):
            return self._same_constant(half, other, value)
        if maker is None or partner is None:
            return None
        k = maker.outputs.index(value)
        result = partner.outputs[k] if k < len(partner.outputs) else None
        return None if result is None else other.origin(result)

    def counterpart_text(self, right: Value) -> str:
        """In words, what a value of the right side is on the left, where it goes by another name there."""
        twin = self.counterpart(1, right)
        if twin is None or twin.name in (right.name, self.right.origin(right).name):
            return ""
        constant = self.right.is_constant(self.right.origin(right))
        return f", which {'holds the same as' if constant else 'stands for'} {display_name(twin)}"

    def _same_constant(self, half: NumberedGraph, other: NumberedGraph, value: Value) -> Value | None:
        """The constant of the other side that holds the same: under the same name, or the only one, on either side."""
        number = half.value_number(value)
        namesake = next((one for one in other.values_named(value.name) if other.value_number(one) == number), None)
        if namesake is None and len(half.constants_with_number(number)) == 1 == len(
            other.constants_with_number(number)
        ):
            return other.constants_with_number(number)[0]
        return namesake

    def _has_same_count(self, value: Value, side: int) -> bool:
        """Whether a constant of one side is on the other as often as here, though not known under which name."""
        half, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        number = half.value_number(value)
        return len(half.constants_with_number(number)) == len(other.constants_with_number(number)) > 0

    def rewired(self, left: Value, right: Value) -> bool:
        """Whether two values that have one purpose are two things: neither is what the other is on its own side."""
        if self.same_value(left, right):
            return False
        here, there = self.left.origin(left), self.right.origin(right)
        if self.left.is_constant(here) is not self.right.is_constant(there) and self._equal_by_declared_shape(
            here, there
        ):
            return False
        twins = self.counterpart(0, here), self.counterpart(1, there)
        if self.left.is_constant(here) and self.right.is_constant(there):
            kept = (
                twins[0] is not None or self._has_same_count(here, 0),
                twins[1] is not None or self._has_same_count(there, 1),
            )
            if (
                self.is_bit_exact
                and (self.left.producer_or_folded_node(here) or self.right.producer_or_folded_node(there))
                and any(kept)
            ):
                return twins[0] is not there and twins[1] is not here
            # Each model has both: it is not one whose numbers were changed.
            return here.name != there.name and all(kept)
        if not self.same_system and (self.left.producer(here) is not None or self.right.producer(there) is not None):
            # What one of them computes the other may compute by more nodes, or by fewer.
            return None not in twins and twins[0] is not there
        return twins[0] is not there and twins[1] is not here

    def _equal_by_declared_shape(self, left: Value, right: Value) -> bool:
        """Whether declared shapes make one value the constant that the other one is."""
        one, other = self.left.constant_by_declared_shape(left), self.right.constant_by_declared_shape(right)
        return one is not None and other is not None and digest(one) == digest(other) and one.shape == other.shape

    def same_attributes(self, left: Node, right: Node) -> bool:
        """Whether two nodes' attributes say the same; an axis may be counted from either end."""
        forms = self.left.normal_form(left), self.right.normal_form(right)
        if forms[0].attributes == forms[1].attributes or (
            self.different_float_types and self._both_convert(left, right)
        ):
            return True
        ports = [node.outputs if increases_rank(forms[0].operator) else node.inputs for node in (left, right)]
        dims = [half.rank(port[0]) if port else None for half, port in zip((self.left, self.right), ports, strict=True)]
        known = dims[0] if dims[0] is not None else dims[1]
        return normalize_axes(forms[0].attributes, known) == normalize_axes(forms[1].attributes, known)

    def _both_convert(self, left: Node, right: Node) -> bool:
        """Whether two nodes convert to a type of floats, each to that of its model."""
        return all(dtype_kind(conversion_dtype(node)) == "f" for node in (left, right))

    def same_opened_operators(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The operators of the two files that two nodes were made of, where those are one operator of one system."""
        made_of = self.opened_operators(left, right)
        return (
            made_of if made_of is not None and self.same_system and made_of[0].op_type == made_of[1].op_type else None
        )

    def compared_as_operators(self, left: Node, right: Node) -> bool:
        """Whether two nodes are compared as the operators that they were made of, or not at all: one is in 8 bits."""
        made_of = self.opened_operators(left, right)
        return self.same_opened_operators(left, right) is not None or (
            self.quantized_side is not None and made_of is not None
        )

    def opened_operators(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The operators of the two files that two nodes were made of; None where one of them was in its file."""
        one, other = self.left.opened.get(left), self.right.opened.get(right)
        return None if one is None or other is None else (one, other)

    def same_operator(self, left: Node, right: Node) -> bool:
        """Whether two nodes have one operator, so that what one is fed is what the other is fed."""
        if self.quantized_side is not None:
            return self.left.normal_form(left).operator == self.right.normal_form(right).operator
        return canonical_operator(left) == canonical_operator(right)

    def input_pairs(self, left: Node, right: Node) -> Iterator[tuple[Operand, Operand]]:
        """What two nodes are fed, by pairs: by place, or where that says nothing, what is the same and then the rest.

        Of what the graphs inside a node take from outside only what is the same makes pairs.
        """
        if isinstance(left, Loop) and not self.same_system:
            ours, theirs = ([v for v in node.inputs if v is not None] for node in (left, right))
            yield from self._equal_pairs(
                _operands([*ours, *self.left.captures(left)]), _operands([*theirs, *self.right.captures(right)])
            )
            return
        here, there = self.left.normal_form(left), self.right.normal_form(right)
        if here.operator == there.operator and here.operator not in COMMUTATIVE_OPERATORS:
            # What is absent on one side has no counterpart.
            both = zip(here.operands, there.operands, strict=False)
            yield from ((a, b) for a, b in both if a is not None and b is not None)
        else:
            yield from self._commutative_pairs(here, there)
        yield from self._equal_pairs(_operands(self.left.captures(left)), _operands(self.right.captures(right)))

    def _commutative_pairs(self, here: NormalForm, there: NormalForm) -> Iterator[tuple[Operand, Operand]]:
        fed = [[operand for operand in form.operands if operand is not None] for form in (here, there)]
        if here.operator == there.operator:
            same = list(self._equal_pairs(*fed))
            yield from same
            for one, other in same:
                fed[0].remove(one)
                fed[1].remove(other)
        yield from zip(*fed, strict=False)

    def unpaired_inputs(self, left: Node, right: Node) -> tuple[list[Value], list[Value]]:
        """What only one of two nodes of one operator is fed, where the other is fed nothing."""
        here, there = self.left.normal_form(left), self.right.normal_form(right)
        if here.operator != there.operator or here.operator in COMMUTATIVE_OPERATORS:
            return [], []
        both = list(zip_longest(here.operands, there.operands))
        ours = [a.value for a, b in both if a is not None and b is None]
        return ours, [b.value for a, b in both if a is None and b is not None]

    def _equal_pairs(self, left: Sequence[Operand], right: Sequence[Operand]) -> Iterator[tuple[Operand, Operand]]:
        free = list(right)
        for value in left:
            other = next((one for one in free if self.same_value(value, one) and self._can_be_same(value, one)), None)
            if other is not None:
                free.remove(other)
                yield value, other

    def _can_be_same(self, left: Operand, right: Operand) -> bool:
        """Whether two values that hold the same may be one thing: what two nodes make of constants may be equal by
        chance."""
        one, other = (
            half.producer_or_folded_node(half.origin(operand.value))
            for half, operand in ((self.left, left), (self.right, right))
        )
        if not self.is_bit_exact or one is None or other is None:
            return True
        if one in self.nodes_by_left or other in self.nodes_by_right:
            return self.nodes_by_left.get(one) is other
        return canonical_operator(one) == canonical_operator(other)

    def producers(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values. What follows from constants alone is a constant, unless both are computed
        by nodes that stand for each other."""
        one, other = self.left.producer_or_folded_node(left), self.right.producer_or_folded_node(right)
        if one is not None and other is not None and self.nodes_by_left.get(one) is other:
            return one, other
        return self.left.producer(left), self.right.producer(right)

    def nodes_match(self, left: Node, right: Node) -> bool:
        """Whether two nodes stand for each other: as a pair, or because both do the same to the same."""
        if self.nodes_by_left.get(left) is right:
            return True
        pairs = [(a, b) for a, b in zip(left.outputs, right.outputs, strict=False) if a is not None and b is not None]
        return bool(pairs) and all(self.same_value(a, b) for a, b in pairs)


class SelfCorrespondence(Correspondence):
    """A model beside itself."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, graph)
        self.right = self.left
        self.nodes_by_left = self.nodes_by_right = {node: node for node in walk(graph)}


def values_read(node: Node) -> list[Value]:
    """What a node reads, the graphs inside it included."""
    return [*(value for value in node.inputs if value is not None), *captures_of(node)]


def _operands(values: Iterable[Value]) -> list[Operand]:
    return [Operand(value) for value in values]
