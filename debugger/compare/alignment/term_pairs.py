"""The pairs of terms, loops and ports of two models, and who reads what."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....runtime.graph import Graph, Loop
from ..align.loop_ports import LoopAlignment
from ..align.normal_form import COMMUTATIVE_OPERATORS
from ..normal_form.terms import LoweredGraph, Term, operands_below
from ..numbering.value_numbers import ValueNumbers

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
    local_ids: dict[Term, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._users: dict[Term, list[Use]] = {}
        for side in (self.left, self.right):
            reachable = _reachable(side)
            side.terms[:] = [term for term in side.terms if term in reachable]
            for term in side.terms:
                if term.operator in ("last", "scan"):
                    continue
                for position, operand in enumerate(operands_below(term)):
                    is_commutative = term.operator in COMMUTATIVE_OPERATORS
                    self._users.setdefault(operand, []).append((term, None if is_commutative else position))

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

    def corresponds(self, left: Term | None, right: Term | None) -> bool:
        """Whether two terms are paired, or provably the same."""
        if left is None or right is None:
            return left is right
        if self.twins.get(left) is right or self.numbers.equal(left, right):
            return True
        a, b = self.local_ids.get(left), self.local_ids.get(right)
        return a is not None and a == b

    # -- identities within a pair of scopes

    def identify(self, left: Term, right: Term) -> None:
        """Give two terms one identity, though they may differ."""
        self.local_ids[right] = self.local_id(left)

    def local_id(self, term: Term) -> int:
        """What a term is, where paired terms that its scope receives are one."""
        if term not in self.local_ids:
            self.local_ids[term] = self.numbers.table.number_for(self.local_key(term))
        return self.local_ids[term]

    def local_key(self, term: Term) -> Hashable:
        """The operator and the identities of the operands of a term."""
        if term.is_constant:
            return self.numbers.constant_key(term)
        if term.is_leaf or term.operator in ("last", "scan"):
            return "leaf", id(term)
        operands = [-1 if operand is None else self.local_id(operand) for operand in term.operands]
        if term.operator == "If":
            operands += [self.local_id(result) for result in term.port]
        if term.operator in COMMUTATIVE_OPERATORS:
            operands.sort()
        return "local", term.operator, self.numbers.attributes(term), term.index, tuple(operands)


def _reachable(side: LoweredGraph) -> set[Term]:
    """The terms of a model's values, and those on the way to them."""
    reachable: set[Term] = set()
    pending = list(side.by_value.values())
    while pending:
        term = pending.pop()
        if term not in reachable:
            reachable.add(term)
            pending += operands_below(term)
    return reachable
