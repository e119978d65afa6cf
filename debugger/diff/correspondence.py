"""What corresponds in two models, as far as it is known: values, nodes, loops and their ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...runtime.graph import Graph, Loop, Node, Operation, Value, walk
from ..words.names import named
from .eight_bits import PEAK
from .halves import Half, Table, captured_by, converts_to, float_types, narrower, quantised_side
from .normal import COMMUTE, Operand, axes_of, digest, operator, widens
from .ports import LoopPair
from .values import Tolerance, kind_of


class Correspondence:
    """Two models. ``loops``: which loops are compared with which, and how their ports go together; ``names``: which of
    the right a name is."""

    def __init__(self, left: Graph, right: Graph, names: Mapping[str, str] | None = None) -> None:
        self.table = Table()
        #: Of two systems operators are called otherwise, and have other attributes.
        self.one_system = left.system is right.system
        #: Of two float types: one of the models was made of the other.
        self.two_types = float_types(left) != float_types(right)
        #: The side with the narrower floats, and which those are.
        self.narrower = narrower(left, right)
        narrow = None if self.narrower is None else self.narrower[1]
        #: The side that computes in 8 bits what the other computes in floats.
        self.quantised = quantised_side(left, right)
        rest = (not self.one_system, self.two_types, narrow, self.quantised is not None)
        self.left, self.right = Half(left, self.table, *rest), Half(right, self.table, *rest)
        self.nodes: dict[Node, Node] = {}
        self.partners: dict[Node, Node] = {}
        self.twins: tuple[dict[Value, Value], dict[Value, Value]] = {}, {}
        self.loops: dict[Loop, LoopPair] = {}
        self.names = names or {}

    def fix(self, left: Value, right: Value) -> None:
        """Let two values be the same thing."""
        number = self.table.of(("pair", id(left)))
        self.left.fixed[left] = self.right.fixed[right] = number
        self.twins[0][left], self.twins[1][right] = right, left

    @property
    def exact(self) -> bool:
        """Whether the same computation gives the same bits on both sides."""
        return self.one_system and not self.two_types and self.quantised is None

    def tolerance(self, asked: Tolerance) -> Tolerance:
        """The tolerance for these two: that of the narrower floats also where a value of theirs was widened again."""
        if self.quantised is not None and asked.rtol is None and asked.atol is None:
            asked = replace(asked, peak=max(asked.peak, PEAK))
        return asked if self.narrower is None else replace(asked, narrowest=self.narrower[1])

    def holds_weights(self, left: Operand, right: Operand) -> bool:
        """Whether one of two constants holds the bytes of the other one's floats."""
        here, there = self.left.origin(left.value), self.right.origin(right.value)
        return (here in self.left.weights) is not (there in self.right.weights)

    # -- what corresponds

    def same(self, left: Operand | Value, right: Operand | Value) -> bool:
        """Whether two values are the same thing."""
        return left is right or self.left.number(left) == self.right.number(right)

    def twin(self, side: int, value: Value) -> Value | None:
        """What a value of one side (0: the left one) is on the other: the same input, parameter or constant, or the
        same result of the node in its maker's place. None where nothing is known to be."""
        half, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        value = half.origin(value)
        if value in self.twins[side]:
            return self.twins[side][value]
        maker = half.folded(value)
        partner = None if maker is None else (self.nodes, self.partners)[side].get(maker)
        if partner is None and half.is_constant(value):
            return self._same_constant(half, other, value)
        if maker is None or partner is None:
            return None
        k = maker.outputs.index(value)
        result = partner.outputs[k] if k < len(partner.outputs) else None
        return None if result is None else other.origin(result)

    def stands_for(self, right: Value) -> str:
        """In words, what a value of the right side is on the left, where it goes by another name there."""
        twin = self.twin(1, right)
        if twin is None or twin.name in (right.name, self.right.origin(right).name):
            return ""
        constant = self.right.is_constant(self.right.origin(right))
        return f", which {'holds the same as' if constant else 'stands for'} {named(twin)}"

    def _same_constant(self, half: Half, other: Half, value: Value) -> Value | None:
        """The constant of the other side that holds the same: under the same name, or the only one, on either side."""
        number = half.number(value)
        namesake = next((one for one in other.called(value.name) if other.number(one) == number), None)
        if namesake is None and len(half.holding(number)) == 1 == len(other.holding(number)):
            return other.holding(number)[0]
        return namesake

    def _is_kept(self, value: Value, side: int) -> bool:
        """Whether a constant of one side is on the other as often as here, though not known under which name."""
        half, other = (self.left, self.right) if side == 0 else (self.right, self.left)
        number = half.number(value)
        return len(half.holding(number)) == len(other.holding(number)) > 0

    def rewired(self, left: Value, right: Value) -> bool:
        """Whether two values that have one purpose are two things: neither is what the other is on its own side."""
        if self.same(left, right):
            return False
        here, there = self.left.origin(left), self.right.origin(right)
        if self.left.is_constant(here) is not self.right.is_constant(there) and self._is_folded(here, there):
            return False
        twins = self.twin(0, here), self.twin(1, there)
        if self.left.is_constant(here) and self.right.is_constant(there):
            kept = twins[0] is not None or self._is_kept(here, 0), twins[1] is not None or self._is_kept(there, 1)
            if self.exact and (self.left.folded(here) or self.right.folded(there)) and any(kept):
                return twins[0] is not there and twins[1] is not here
            # Each model has both: it is not one whose numbers were changed.
            return here.name != there.name and all(kept)
        if not self.one_system and (self.left.maker(here) is not None or self.right.maker(there) is not None):
            # What one of them computes the other may compute by more nodes, or by fewer.
            return None not in twins and twins[0] is not there
        return twins[0] is not there and twins[1] is not here

    def _is_folded(self, left: Value, right: Value) -> bool:
        """Whether declared shapes make one value the constant that the other one is."""
        one, other = self.left.declared(left), self.right.declared(right)
        return one is not None and other is not None and digest(one) == digest(other) and one.shape == other.shape

    def same_attributes(self, left: Node, right: Node) -> bool:
        """Whether two nodes' attributes say the same; an axis may be counted from either end."""
        forms = self.left.form(left), self.right.form(right)
        if forms[0].attributes == forms[1].attributes or (self.two_types and self._both_convert(left, right)):
            return True
        ports = [node.outputs if widens(forms[0].word) else node.inputs for node in (left, right)]
        dims = [half.rank(port[0]) if port else None for half, port in zip((self.left, self.right), ports, strict=True)]
        known = dims[0] if dims[0] is not None else dims[1]
        return axes_of(forms[0].attributes, known) == axes_of(forms[1].attributes, known)

    def _both_convert(self, left: Node, right: Node) -> bool:
        """Whether two nodes convert to a type of floats, each to that of its model."""
        return all(kind_of(converts_to(node)) == "f" for node in (left, right))

    def operators(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The operators of the two files that two nodes were made of, where those are one operator of one system."""
        made_of = self.opened(left, right)
        return made_of if made_of is not None and self.one_system and made_of[0].op_type == made_of[1].op_type else None

    def is_opened(self, left: Node, right: Node) -> bool:
        """Whether two nodes are compared as the operators that they were made of, or not at all: one is in 8 bits."""
        made_of = self.opened(left, right)
        return self.operators(left, right) is not None or (self.quantised is not None and made_of is not None)

    def opened(self, left: Node, right: Node) -> tuple[Operation, Operation] | None:
        """The operators of the two files that two nodes were made of; None where one of them was in its file."""
        one, other = self.left.opened.get(left), self.right.opened.get(right)
        return None if one is None or other is None else (one, other)

    def corresponds(self, left: Node, right: Node) -> bool:
        """Whether two nodes have one operator, so that what one is fed is what the other is fed."""
        if self.quantised is not None:
            return self.left.form(left).word == self.right.form(right).word
        return operator(left) == operator(right)

    def inputs(self, left: Node, right: Node) -> Iterator[tuple[Operand, Operand]]:
        """What two nodes are fed, by pairs: by place, or where that says nothing, what is the same and then the rest.

        Of what the graphs inside a node take from outside only what is the same makes pairs.
        """
        if isinstance(left, Loop) and not self.one_system:
            ours, theirs = ([v for v in node.inputs if v is not None] for node in (left, right))
            yield from self._same_ones(
                _operands([*ours, *self.left.captured(left)]), _operands([*theirs, *self.right.captured(right)])
            )
            return
        here, there = self.left.form(left), self.right.form(right)
        fed = [[operand for operand in form.operands if operand is not None] for form in (here, there)]
        if here.word in COMMUTE and there.word == here.word:
            same = list(self._same_ones(*fed))
            yield from same
            for one, other in same:
                fed[0].remove(one)
                fed[1].remove(other)
        yield from zip(*fed, strict=False)
        yield from self._same_ones(_operands(self.left.captured(left)), _operands(self.right.captured(right)))

    def _same_ones(self, left: Sequence[Operand], right: Sequence[Operand]) -> Iterator[tuple[Operand, Operand]]:
        free = list(right)
        for value in left:
            other = next((one for one in free if self.same(value, one) and self._can_be_one(value, one)), None)
            if other is not None:
                free.remove(other)
                yield value, other

    def _can_be_one(self, left: Operand, right: Operand) -> bool:
        """Whether two values that hold the same may be one thing: what two nodes make of constants may be equal by
        chance."""
        one, other = (
            half.folded(half.origin(operand.value)) for half, operand in ((self.left, left), (self.right, right))
        )
        if not self.exact or one is None or other is None:
            return True
        if one in self.nodes or other in self.partners:
            return self.nodes.get(one) is other
        return operator(one) == operator(other)

    def makers(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values. What follows from constants alone is a constant, unless both are computed
        by nodes that stand for each other."""
        one, other = self.left.folded(left), self.right.folded(right)
        if one is not None and other is not None and self.nodes.get(one) is other:
            return one, other
        return self.left.maker(left), self.right.maker(right)

    def paired(self, left: Node, right: Node) -> bool:
        """Whether two nodes stand for each other: as a pair, or because both do the same to the same."""
        if self.nodes.get(left) is right:
            return True
        pairs = [(a, b) for a, b in zip(left.outputs, right.outputs, strict=False) if a is not None and b is not None]
        return bool(pairs) and all(self.same(a, b) for a, b in pairs)


class Itself(Correspondence):
    """A model beside itself."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, graph)
        self.right = self.left
        self.nodes = self.partners = {node: node for node in walk(graph)}


def read_by(node: Node) -> list[Value]:
    """What a node reads, the graphs inside it included."""
    return [*(value for value in node.inputs if value is not None), *captured_by(node)]


def _operands(values: Iterable[Value]) -> list[Operand]:
    return [Operand(value) for value in values]
