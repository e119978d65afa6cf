"""Aligns the terms of two graphs: equal ones first, then those whose operands, readers and names fit best.

This approximates an edit script of minimum cost: each accepted pair saves one omitted and one added node, and its score
counts what need not be edited.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from ..normal_form.operator_normalization import COMMUTATIVE_OPERATORS
from ..normal_form.terms import LOOP_RESULTS, Term
from ..running.value_comparison import dtype_kind
from .port_alignment import equal_name_score, is_numbered_name
from .term_pairs import COINCIDENCE_SIZE, ScopePair, TermPairs, constant_size, term_name

#: What the parts of a score weigh.
_OPERATOR, _ATTRIBUTES, _OPERANDS, _READERS, _EQUAL, _NAME = 3.0, 1.0, 3.0, 3.0, 1.0, 2.0
#: What another kind of dtype takes away: a shape is hardly a weight.
_OTHER_KIND = 3.0
#: The lowest score of a pair, and that of two operators that differ.
_LOWEST, _LOWEST_OF_OTHER_OPERATOR = 3.2, 4.0


class NodeAlignment:
    """Aligns the terms of one pair of scopes."""

    def __init__(self, pairs: TermPairs, scope: ScopePair) -> None:
        self._pairs = pairs
        self._terms = tuple(
            [term for term in side.terms_of_graph(graph) if term.operator not in LOOP_RESULTS and not term.is_leaf]
            for side, graph in zip(pairs.sides, (scope.left, scope.right), strict=True)
        )
        self.signatures = tuple(
            _consumer_signatures(pairs, terms, ends) for terms, ends in zip(self._terms, scope.ends, strict=True)
        )
        self._names = tuple({term_name(term): term for term in terms} for terms in self._terms)
        # As for loop ports: a numbered name only counts if one side has all names of the other.
        names = [set(by_name) - {""} for by_name in self._names]
        self._numbers_count = names[0] <= names[1] or names[1] <= names[0]

    def _unpaired_terms(self, side: int) -> list[Term]:
        return [term for term in self._terms[side] if term not in self._pairs.twins]

    # -- equal terms

    def pair_equal_terms(self) -> list[tuple[Term, Term]]:
        """Pair terms with equal operators and operands, then results of constants that are equal, as far as readers and
        names do not contradict."""
        return [
            *self._pair_within_groups(self._pairs.computation_identity),
            *self._pair_within_groups(self._pairs.local_identity),
        ]

    def _pair_within_groups(self, key: Callable[[Term], int]) -> list[tuple[Term, Term]]:
        new: list[tuple[Term, Term]] = []
        groups = tuple(_group_terms(self._unpaired_terms(side), key) for side in (0, 1))
        moved = tuple(
            {
                self._use_key(side, term)
                for group, terms in groups[side].items()
                if group not in groups[1 - side]
                for term in terms
            }
            - {None}
            for side in (0, 1)
        )
        for group, lefts in groups[0].items():
            rights = list(groups[1].get(group, ()))
            candidates = sorted(
                (-self._equal_term_score(a, b), abs(i - j), i, j)
                for i, a in enumerate(lefts)
                for j, b in enumerate(rights)
            )
            used: set[tuple[int, int]] = set()
            for negative, _, i, j in candidates:
                a, b = lefts[i], rights[j]
                if (0, i) in used or (1, j) in used:
                    continue
                if negative > -1 and (len(lefts) != len(rights) or self._is_pair_contradicted(a, b, moved)):
                    continue
                used |= {(0, i), (1, j)}
                self._pairs.pair(a, b)
                new.append((a, b))
        return new

    def _equal_term_score(self, left: Term, right: Term) -> float:
        same_use = self._use_signature(0, left) == self._use_signature(1, right) is not None
        a, b = term_name(left), term_name(right)
        named = a == b and self._is_name_evidence(a) and _output_index(left) == _output_index(right)
        return 1.5 * named + (1.0 if same_use and not self._has_namesake(left, right) else 0.0) + equal_name_score(a, b)

    def _is_pair_contradicted(self, left: Term, right: Term, moved: Sequence[set[Hashable]]) -> bool:
        uses = self._use_key(0, left), self._use_key(1, right)
        use_moved = uses[0] != uses[1] and (uses[0] in moved[1] or uses[1] in moved[0])
        # Two operators that give the same few numbers.
        coincide = left.operator != right.operator and constant_size(left) < COINCIDENCE_SIZE
        return use_moved or coincide or self._has_namesake(left, right)

    def _has_namesake(self, left: Term, right: Term) -> bool:
        """Whether one of the names belongs to another term of that operator on the other side."""
        a, b = term_name(left), term_name(right)
        if a == b:
            return False
        namesakes = (left, self._names[1].get(a)), (right, self._names[0].get(b))
        return any(
            other is not None
            and other not in self._pairs.twins
            and other.operator == term.operator
            and _output_index(other) == _output_index(term)
            and self._is_name_evidence(term_name(term))
            for term, other in namesakes
        )

    def _is_name_evidence(self, name: str) -> bool:
        """Whether an equal name is evidence, and not a number that an exporter assigned."""
        return bool(name) and (self._numbers_count or not is_numbered_name(name))

    def _use_signature(self, side: int, term: Term) -> int | None:
        return self.signatures[side].get(term)

    def _use_key(self, side: int, term: Term) -> Hashable:
        signature = self._use_signature(side, term)
        return None if signature is None else (term.operator, signature)

    # -- the rest

    def pair_similar_terms(self) -> list[tuple[Term, Term]]:
        """Pair the rest, the best pair first."""
        new: list[tuple[Term, Term]] = []
        rights = set(self._unpaired_terms(1))
        lefts = set(self._unpaired_terms(0))
        order = {term: k for side in (0, 1) for k, term in enumerate(self._terms[side])}
        index = self._index_right_terms(rights)
        heap = [
            (-self._similarity_score(a, b), order[a], order[b])
            for a in lefts
            for b in self._candidate_right_terms(a, rights, index)
        ]
        heapify(heap)
        queued = {(i, j) for _, i, j in heap}
        while heap:
            negative, i, j = heappop(heap)
            a, b = self._terms[0][i], self._terms[1][j]
            if a not in lefts or b not in rights:
                continue
            score = self._similarity_score(a, b)
            if score < -negative - 1e-9:
                heappush(heap, (-score, i, j))
                continue
            if score < (_LOWEST if a.operator == b.operator else _LOWEST_OF_OTHER_OPERATOR):
                continue
            lefts.remove(a)
            rights.remove(b)
            self._pairs.pair(a, b)
            self._pairs.assign_same_identity(a, b)
            new.append((a, b))
            for c, d in self._neighbour_pairs(a, b):
                if c in lefts and d in rights:
                    heappush(heap, (-self._similarity_score(c, d), order[c], order[d]))
                    queued.add((order[c], order[d]))
        return new

    def _index_right_terms(self, rights: Iterable[Term]) -> dict[Hashable, list[Term]]:
        """Right terms by operator, by name, and by the ports that read them."""
        index: dict[Hashable, list[Term]] = {}
        for right in rights:
            ports = (position for _, position in self._pairs.users(right) if _is_port_use(position))
            for key in {("operator", right.operator), ("name", term_name(right)), *ports}:
                index.setdefault(key, []).append(right)
        return index

    def _candidate_right_terms(
        self, left: Term, rights: set[Term], index: Mapping[Hashable, Sequence[Term]]
    ) -> Iterator[Term]:
        """Right terms with the operator or the name of a left one, or with a neighbour that is paired with its."""
        candidates: dict[Term, None] = dict.fromkeys(index.get(("operator", left.operator), ()))
        if term_name(left):
            candidates.update(dict.fromkeys(index.get(("name", term_name(left)), ())))
        for operand in left.operands:
            twin = None if operand is None else self._pairs.twins.get(operand)
            if twin is not None:
                candidates.update((user, None) for user, _ in self._pairs.users(twin) if isinstance(user, Term))
        for user, _ in self._pairs.users(left):
            twin = self._pairs.twins.get(user) if isinstance(user, Term) else None
            if twin is not None:
                candidates.update((operand, None) for operand in twin.operands if operand is not None)
        for _, position in self._pairs.users(left):
            if _is_port_use(position):
                candidates.update(dict.fromkeys(index.get(position, ())))
        return (right for right in candidates if right in rights)

    def _neighbour_pairs(self, left: Term, right: Term) -> Iterator[tuple[Term, Term]]:
        """Pairs of operands, and pairs of readers, of a new pair."""
        lefts, rights = ([o for o in term.operands if o is not None] for term in (left, right))
        if left.operator == right.operator and left.operator not in COMMUTATIVE_OPERATORS:
            yield from zip(lefts, rights, strict=False)
        else:
            yield from ((a, b) for a in lefts for b in rights)
        for user, _ in self._pairs.users(left):
            for other, _ in self._pairs.users(right):
                if isinstance(user, Term) and isinstance(other, Term):
                    yield user, other

    def _similarity_score(self, left: Term, right: Term) -> float:
        if (left.operator == "If") is not (right.operator == "If"):
            return 0.0
        same_operator = left.operator == right.operator
        score = _OPERATOR * same_operator
        if same_operator:
            score += _ATTRIBUTES * (left.attributes == right.attributes) - 2 * (left.index != right.index)
        score += _OPERANDS * self._common_operand_score(left, right) + _READERS * self._common_reader_score(left, right)
        score += _EQUAL * self._pairs.numbers.equal(left, right)
        if left.dtype is not None and right.dtype is not None and dtype_kind(left.dtype) != dtype_kind(right.dtype):
            score -= _OTHER_KIND
        a, b = term_name(left), term_name(right)
        if a and b and _output_index(left) == _output_index(right):
            score += _NAME * equal_name_score(a, b)
            if self._has_namesake(left, right):
                score -= 1.0
        elif not a and not b and left.node is not None and right.node is not None:
            score += _NAME * equal_name_score(left.node.name, right.node.name) / 2
        return score

    def _common_operand_score(self, left: Term, right: Term) -> float:
        lefts, rights = left.operands, right.operands
        total = max(len(lefts), len(rights))
        if not total:
            return 0.5
        if left.operator in COMMUTATIVE_OPERATORS or right.operator in COMMUTATIVE_OPERATORS:
            free = list(rights)
            count = 0.0
            for a in lefts:
                match = next((b for b in free if self._pairs.corresponds(a, b)), None)
                if match is not None:
                    free.remove(match)
                    count += 1
            return count / total
        return sum(_operand_fit_score(self._pairs, a, b) for a, b in zip(lefts, rights, strict=False)) / total

    def _common_reader_score(self, left: Term, right: Term) -> float:
        lefts, rights = self._pairs.users(left), list(self._pairs.users(right))
        total = max(len(lefts), len(rights))
        if not total:
            return 0.5
        count = 0
        for user, position in lefts:
            wanted = self._pairs.twins.get(user, user) if isinstance(user, Term) else user
            if (wanted, position) in rights:
                rights.remove((wanted, position))
                count += 1
        return count / total


def _operand_fit_score(pairs: TermPairs, left: Term | None, right: Term | None) -> float:
    """1 for operands that correspond, a half for constants of one shape."""
    if pairs.corresponds(left, right):
        return 1.0
    if left is None or right is None or not (left.is_constant and right.is_constant):
        return 0.0
    return 0.5 if left.shape == right.shape and left.dtype == right.dtype else 0.25


def _is_port_use(position: Hashable) -> bool:
    """Whether a use is that of a port or an output, and not that of an operand."""
    return position is not None and not isinstance(position, int)


def _output_index(term: Term) -> int:
    """Which result of its node a term is."""
    if term.node is None or term.value is None or term.value not in term.node.outputs:
        return 0
    return term.node.outputs.index(term.value)


def _group_terms(terms: Iterable[Term], key: Callable[[Term], int]) -> dict[int, list[Term]]:
    groups: dict[int, list[Term]] = {}
    for term in terms:
        groups.setdefault(key(term), []).append(term)
    return groups


def _consumer_signatures(
    pairs: TermPairs, terms: Sequence[Term], ends: Sequence[tuple[Term, Hashable]]
) -> dict[Term, int]:
    """Signatures of the uses of terms, equal on both sides if all transitive uses are equal."""
    uses: dict[Term, list[int]] = {}
    table = pairs.numbers.table
    for term, end in ends:
        uses.setdefault(term, []).append(table.number_for(("end", end)))
    signatures: dict[Term, int] = {}
    for term in reversed(terms):
        for _, position in pairs.users(term):
            if position is not None and not isinstance(position, int):
                uses.setdefault(term, []).append(table.number_for(("end", position)))
        if term in uses:
            signatures[term] = table.number_for(("uses", *sorted(uses[term])))
        for position, operand in enumerate(term.operands):
            if operand is not None:
                place = None if term.operator in COMMUTATIVE_OPERATORS else position
                key = ("use", term.operator, term.index, place, signatures.get(term))
                uses.setdefault(operand, []).append(table.number_for(key))
    rest = {term: table.number_for(("uses", *sorted(keys))) for term, keys in uses.items() if term not in signatures}
    return signatures | rest
