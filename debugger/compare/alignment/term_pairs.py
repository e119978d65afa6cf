"""The pairs of terms, loops and ports of two models, and who reads what."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from ....runtime.graph import Array, Graph, Loop, System, Value
from ...describe.value_names import display_name
from ..normal_form.operator_normalization import COMMUTATIVE_OPERATORS, digest
from ..normal_form.rules import is_static
from ..normal_form.terms import LoweredGraph, Term, operands_and_branch_results
from ..numbering.value_numbers import ValueNumbers
from .port_alignment import LoopAlignment, is_numbered_name

#: The most nodes that may be added or omitted in one place.
_MAX_PATH = 16
#: Constants with as many equal elements are no coincidence.
COINCIDENCE_SIZE = 4
#: A reader of a term: the term or the port that reads it, and the position of the operand.
Use = tuple[Any, Hashable]


@dataclass(eq=False)
class ScopePair:
    """Two graphs whose terms are aligned. ``ends``: by side, results of the graphs with their roles."""

    left: Graph
    right: Graph
    ends: tuple[list[tuple[Term, Hashable]], list[tuple[Term, Hashable]]]


@dataclass(eq=False)
class TermPairs:
    """What corresponds to what. ``twins``: left -> right and right -> left."""

    left: LoweredGraph
    right: LoweredGraph
    numbers: ValueNumbers
    twins: dict[Term, Term] = field(default_factory=dict)
    loops: dict[Loop, LoopAlignment] = field(default_factory=dict)
    scopes: list[ScopePair] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: What terms are within their scope, and of these what was assigned rather than derived.
        self._identities: dict[Term, int] = {}
        self._assigned_identities: dict[Term, int] = {}
        self._users: dict[Term, list[Use]] = {}
        for side in (self.left, self.right):
            reachable = _terms_below(side.by_value.values())
            side.terms[:] = [term for term in side.terms if term in reachable]
            for term in side.terms:
                if term.operator in ("last", "scan"):
                    continue
                for position, operand in enumerate(operands_and_branch_results(term)):
                    is_commutative = term.operator in COMMUTATIVE_OPERATORS
                    self._users.setdefault(operand, []).append((term, None if is_commutative else position))

    @cached_property
    def constants(self) -> tuple[dict[Hashable, Term], ...]:
        """By side, what identifies a constant, with its term."""
        return tuple(
            {
                self.numbers.constant_key(term): term
                for term in sorted((*side.constants, *side.terms), key=lambda term: term.is_leaf)
                if term.is_constant
            }
            for side in (self.left, self.right)
        )

    @cached_property
    def named_constants(self) -> tuple[dict[str, Term], ...]:
        """By side, the constants that are written in the model, by name."""
        return tuple(
            {term_name(term): term for term in (*side.constants, *side.terms) if term.operator == "constant"}
            for side in self.sides
        )

    @cached_property
    def terms_with_readers(self) -> set[Term | None]:
        """The terms that something reads: another term, a port of a loop, or an output."""
        read: set[Term | None] = set()
        for side in self.sides:
            read.update(side.outputs[side.graph])
            for term in side.terms:
                if term.operator not in ("last", "scan"):
                    read.update(operands_and_branch_results(term))
            for ports in side.loops.values():
                read.update((ports.trip_count, ports.initial_condition, ports.condition))
                for terms in (ports.initials, ports.results, ports.inner, ports.lengths):
                    read.update(terms.values())
        return read

    @property
    def sides(self) -> tuple[LoweredGraph, LoweredGraph]:
        """Both models."""
        return self.left, self.right

    def pair(self, left: Term, right: Term) -> None:
        """Pair two terms."""
        self.twins[left], self.twins[right] = right, left

    def users(self, term: Term) -> Sequence[Use]:
        """The readers of a term."""
        return self._users.get(term, ())

    def add_use(self, term: Term | None, reader: Any, position: Hashable) -> None:
        """Record that a port reads a term; equal readers and positions correspond."""
        if term is not None:
            self._users.setdefault(term, []).append((reader, position))

    def share_use(self, left: Term, right: Term) -> bool:
        """Whether some reader of one term corresponds to one of the other, at the same operand."""
        uses = {(self.twins.get(user, user) if isinstance(user, Term) else user, k) for user, k in self.users(left)}
        return not uses.isdisjoint(self.users(right))

    def corresponds(self, left: Term | None, right: Term | None) -> bool:
        """Whether two terms are paired, or provably the same."""
        if left is None or right is None:
            return left is right
        if self.twins.get(left) is right or self.numbers.equal(left, right):
            return True
        a, b = self._identities.get(left), self._identities.get(right)
        return a is not None and a == b

    # -- operands

    def same(self, left: Term | None, right: Term | None) -> bool:
        """Whether two terms are the same, where aligned terms that differ count as one, and with one of them all that
        its model computes again, if the other model does not."""
        if left is None or right is None:
            return left is right
        if self.local_identity(left) == self.local_identity(right) or self.numbers.equal(left, right):
            return True
        copies = ((term, self.twins.get(other)) for term, other in ((left, right), (right, left)))
        return any(twin and term not in self.twins and self.numbers.equal(term, twin) for term, twin in copies)

    def operand_pairs(self, left: Term, right: Term) -> Iterator[tuple[Term | None, Term | None]]:
        """The operands of two terms: by position, or those that are the same first."""
        if left.operator == right.operator and left.operator not in COMMUTATIVE_OPERATORS:
            yield from zip_longest(left.operands, right.operands)
            return
        lefts, rights = list(left.operands), list(right.operands)
        for a in left.operands:
            match = next((b for b in rights if self.same(a, b)), None)
            if match is not None:
                lefts.remove(a)
                rights.remove(match)
                yield a, match
        yield from zip_longest(lefts, rights)

    def one_sided_path(self, left: Term, right: Term) -> tuple[int, list[Term]]:
        """The terms that only one model has between two operands with one use.

        Returns:
            The side of that model (0: left), and its terms from the operand down to what corresponds to the other
            operand, which is the last one; an empty list if there is no such path.
        """
        for side, term, target in ((1, right, left), (0, left, right)):
            path = self._find_one_sided_path(term, target, side, _MAX_PATH)
            if path:
                return side, path
        return 0, []

    def is_unpaired(self, term: Term, side: int) -> bool:
        """Whether a term that a model computes has no counterpart, nor a constant that holds the same other than by
        coincidence."""
        if term in self.twins or term.is_leaf:
            return False
        other = self.equal_constant(side, term) if term.is_constant else None
        return other is None or (constant_size(term) < COINCIDENCE_SIZE and term_name(term) != term_name(other))

    def _find_one_sided_path(self, term: Term, target: Term, side: int, depth: int) -> list[Term]:
        if not self.is_unpaired(term, side) or not depth:
            return []
        for operand in operands_and_branch_results(term):
            pair = (target, operand) if side else (operand, target)
            if self.same(*pair):
                return [term, operand]
            below = self._find_one_sided_path(operand, target, side, depth - 1)
            if below:
                return [term, *below]
        return []

    def are_different_constants(self, left: Term, right: Term) -> bool:
        """Whether two constants are two of one model, of which each model reads another one, rather than one with other
        numbers: one has both and the name or the size excludes a coincidence, or the models still read one of them
        elsewhere."""
        if term_name(left) == term_name(right) or self._is_copy_of_namesake(left, right):
            return False
        if any(self.twins.get(term, other) is not other for term, other in ((left, right), (right, left))):
            return True
        in_right, in_left = self.equal_constant(0, left), self.equal_constant(1, right)
        if in_right is not None and self.share_use(left, in_right):
            return True
        namesakes = self.named_constants[1].get(term_name(left)), self.named_constants[0].get(term_name(right))
        if any(
            a is not None and b is not None and self.share_use(a, b)
            for a, b in ((left, namesakes[0]), (namesakes[1], right))
        ):
            return True
        if in_right is not None and in_left is not None and self.share_use(in_left, right):
            return True
        return any(
            other is not None
            and (_is_namesake(term, other) or constant_size(other) >= COINCIDENCE_SIZE)
            # The same constant, transposed on the way, is no other one.
            and other.value not in (left.value, right.value)
            for term, other in ((left, in_right), (right, in_left))
        )

    def reads_other_namesake(self, left: Term, right: Term) -> bool:
        """Whether one model reads a constant that the other model has under that name, too, and does not merely lack
        what the other model computes from it."""
        _, path = self.one_sided_path(left, right)
        for side, own, read in ((0, left, right), (1, right, left)):
            name = term_name(read)
            namesake = self._constants_by_name[side].get(name)
            if namesake is None or namesake is own or (path and path[-1] is namesake):
                continue
            if self._are_equal(side, namesake, read) and (self._share_numbers or not is_numbered_name(name)):
                return True
        return False

    def _are_equal(self, side: int, constant: Term, other: Term) -> bool:
        return self.numbers.equal(*((other, constant) if side else (constant, other)))

    @cached_property
    def _share_numbers(self) -> bool:
        """Whether numbers in names say something: constants of one name are the same."""
        left, right = self._constants_by_name
        shared = left.keys() & right.keys()
        return len(shared) > 1 and all(self.numbers.equal(left[name], right[name]) for name in shared)

    @cached_property
    def _constants_by_name(self) -> tuple[dict[str, Term], ...]:
        """By side, all that is constant, written or computed from constants, by name."""
        return tuple(
            {term_name(term): term for term in (*side.constants, *side.terms) if term.is_constant and term_name(term)}
            for side in self.sides
        )

    def _is_copy_of_namesake(self, left: Term, right: Term) -> bool:
        """Whether one of two constants holds the same as that of its model with the other one's name: a tool that folds
        a copy has the constant twice."""
        copies = (
            (right, self.named_constants[1].get(term_name(left))),
            (left, self.named_constants[0].get(term_name(right))),
        )
        return any(
            other is not None and self.numbers.constant_key(term) == self.numbers.constant_key(other)
            for term, other in copies
        )

    def equal_constant(self, side: int, constant: Term) -> Term | None:
        """The constant of the other model that holds the same: that of the same name, or else any."""
        key = self.numbers.constant_key(constant)
        namesake = self.named_constants[1 - side].get(term_name(constant))
        if namesake is not None and self.numbers.constant_key(namesake) == key:
            return namesake
        return self.constants[1 - side].get(key)

    def find_changed_namesake(self, side: int, constant: Term) -> Term | None:
        """The constant of that name in the other model, if it holds other numbers of that type."""
        other = self.named_constants[1 - side].get(term_name(constant))
        if other is None or other.data is None or constant.data is None:
            return None
        same_type = other.data.dtype == constant.data.dtype and other.data.shape == constant.data.shape
        return other if same_type and not self.numbers.equal(constant, other) else None

    def folded_constant_pairs(self, left: Term, right: Term) -> list[tuple[Term, Term]]:
        """The pairs of constants that differ, if they are why a result that one model computes from constants differs
        from the constant that the other has in its place: computed with those of the other model, it is the same."""
        for side, computed, folded in ((0, left, right), (1, right, left)):
            if computed.is_leaf or not folded.is_leaf or computed.value is None or folded.data is None:
                continue
            leaves = [leaf for leaf in _terms_below([computed]) if leaf.is_leaf]
            others = [(leaf, self.find_changed_namesake(side, leaf)) for leaf in leaves]
            changed = [(leaf, other) for leaf, other in others if other is not None]
            constants = {a.value: b.data for a, b in changed if a.value is not None and b.data is not None}
            data = self.sides[side].fold_with_constants(computed.value, constants)
            is_same = data is not None and data.shape == folded.data.shape and digest(data) == digest(folded.data)
            if changed and is_same:
                return [(b, a) if side else (a, b) for a, b in changed]
        return []

    def bypassed_nodes(self, side: int, path: Sequence[Term], read: Iterable[Value | None], target: Term) -> list[Term]:
        """The counterparts of the nodes on a path that one model alone seems to have: nodes of those operators between
        ``target`` and what the other model reads that have no effect there, such as a Slice of the whole; or the only
        such node, if it reads the same as the only one of the path. Empty if one is missing. ``side``: of the path;
        ``read``: the values that the reader in the other model reads."""
        nodes = list(self.nodes_without_effect(1 - side, read, target))
        if len(nodes) == len(path) == 1:
            left, right = (nodes[0], path[0]) if side else (path[0], nodes[0])
            if self._read_the_same(left, right):
                return nodes
        operators = ("" if term.node is None else term.node.op_type for term in path)
        matches = [
            next((item for item in nodes if item.node and item.node.op_type == name), None) for name in operators
        ]
        return [item for item in matches if item is not None] if None not in matches else []

    def _read_the_same(self, left: Term, right: Term) -> bool:
        """Whether two nodes have several operands, and the same ones."""
        pairs = list(self.operand_pairs(left, right))
        return len(pairs) > 1 and all(self.same(a, b) for a, b in pairs)

    def nodes_without_effect(self, side: int, read: Iterable[Value | None], target: Term) -> Iterator[Term]:
        """The nodes between a term and the values that are read in its place, last one first, as they are written."""
        graph = self.sides[side]
        pending = list(read)
        for value in pending:
            term = graph.written.get(value) if value and graph.by_value.get(value) is target else None
            if term is not None and term.node is not None and term.node is not target.node:
                yield replace(term, data=None)
                pending += term.node.inputs

    def resolve_folded_namesakes(
        self, pair: tuple[Term, Term], read: tuple[Iterable[Value | None], Iterable[Value | None]]
    ) -> tuple[Term, Term]:
        """Two constants, where one is the result that the other model has folded, if it is read in its place: a node
        without effect gives the constant that name."""
        named = list(pair)
        for side, term in enumerate(pair):
            for item in self.nodes_without_effect(side, read[side], term):
                other = pair[1 - side]
                if other.is_leaf and other.value in read[1 - side] and term_name(item) == term_name(other):
                    named[side] = replace(term, value=item.value)
        return named[0], named[1]

    def is_quantized_weight_pair(self, left: Term, right: Term) -> bool:
        """Whether one of two constants is the quantised form of the other."""
        return (left in self.left.quantized_weights) is not (right in self.right.quantized_weights)

    def equal_by_declared_shape(self, left: Term, right: Term) -> bool:
        """Whether one of two values is a constant that the other equals if the shapes are right that its model or the
        other one declares."""
        if left.is_constant is right.is_constant:
            return False
        side, computed, constant = (1, right, left) if left.is_constant else (0, left, right)
        if computed.value is None or constant.data is None:
            return False
        shapes: dict[Value, Array] = {}
        for term in _terms_below([computed]):
            twin = None if term.operator != "Shape" or term.operands[0] is None else self.twins.get(term.operands[0])
            if twin is not None and term.value is not None and is_static(twin.shape):
                shape = np.array(twin.shape, np.int64)
                shapes[term.value] = shape[term.attribute("start", 0) : term.attribute("end")]
        data = self.sides[side].declared.value_of(computed.value)
        data = self.sides[side].fold_with_constants(computed.value, shapes) if data is None else data
        return data is not None and np.array_equal(data, constant.data)

    def may_be_rewired(self, left: Term, right: Term) -> bool:
        """Whether two values of two systems with one use show that another value is read: the other system may need
        other nodes for the same, and TensorRT a counter."""
        known = [term.is_constant or term in self.twins for term in (left, right)]
        return all(known) or (any(known) and System.TENSORRT not in (side.graph.system for side in self.sides))

    def counterpart_text(self, right: Term | None) -> str:
        """The left counterpart of a right term, in words; empty if it has the same name."""
        if right is None or right.value is None:
            return ""
        twin = self.twins.get(right)
        if right.is_constant:
            twin = self.equal_constant(1, right)
        if twin is None or twin.value is None or twin.value.name == right.value.name:
            return ""
        return f"{'holds the same as' if right.is_constant else 'corresponds to'} {display_name(twin.value)}"

    # -- identities within a pair of scopes

    def assign_same_identity(self, left: Term, right: Term) -> None:
        """Give two terms one identity, though they may differ."""
        self._identities[right] = self._assigned_identities[right] = self.local_identity(left)

    def forget_derived_identities(self) -> None:
        """Derive identities again, with those assigned since."""
        self._identities = dict(self._assigned_identities)

    def clear_identities(self) -> None:
        """Forget all identities."""
        self._identities, self._assigned_identities = {}, {}

    def local_identity(self, term: Term) -> int:
        """What a term is, where paired terms that its scope receives are one."""
        if term not in self._identities:
            self._identities[term] = self.numbers.table.number_for(self.local_identity_key(term))
        return self._identities[term]

    def computation_identity(self, term: Term) -> int:
        """The identity of a term; of a result of constants that of its computation, and not of what it holds."""
        if not (term.is_constant and term.operands):
            return self.local_identity(term)
        return self.numbers.table.number_for(self._computation_key(term))

    def local_identity_key(self, term: Term) -> Hashable:
        """The operator and the identities of the operands of a term."""
        if term.is_constant:
            return self.numbers.constant_key(term)
        if term.is_leaf or term.operator in ("last", "scan"):
            return "leaf", id(term)
        return self._computation_key(term)

    def _computation_key(self, term: Term) -> Hashable:
        operands = [-1 if operand is None else self.local_identity(operand) for operand in term.operands]
        if term.operator == "If":
            operands += [self.local_identity(result) for result in term.port]
        if term.operator in COMMUTATIVE_OPERATORS:
            operands.sort()
        return "local", term.operator, self.numbers.attributes(term), term.index, tuple(operands)


def term_name(term: Term) -> str:
    """The name of a term's result, empty for one on the way."""
    return "" if term.value is None else term.value.name


def _is_namesake(term: Term, other: Term) -> bool:
    """Whether two terms have one name, which no exporter has numbered, or a converter has numbered copies of one."""
    names = term_name(term), term_name(other)
    copied = any(re.fullmatch(re.escape(name) + r"_\d+", copy) for name, copy in (names, names[::-1]) if name)
    return copied or (names[0] == names[1] != "" and not is_numbered_name(names[0]))


def constant_size(term: Term) -> int:
    """The number of elements of a constant; 0 if its data is unknown."""
    return 0 if term.data is None else int(term.data.size)


def _terms_below(terms: Iterable[Term]) -> dict[Term, None]:
    """Terms, and those on the way to them."""
    reached: dict[Term, None] = {}
    pending = list(terms)
    while pending:
        term = pending.pop()
        if term not in reached:
            reached[term] = None
            pending += operands_and_branch_results(term)
    return reached
