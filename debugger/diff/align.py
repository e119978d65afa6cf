"""Which part of one model is which of another, told by structure: operators, attributes, what is wired to what.

Where numbers (halves.py) no longer fit, constants of one type may stand for each other; then results that have one
purpose (a back edge, a condition, an output) are followed backward, so that one operator can stand for another. A name
decides only between things that are alike otherwise, and one that ends in a number, which exporters give and shift,
counts least.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...runtime.graph import (
    Array,
    BackEdge,
    Graph,
    If,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    Value,
    bodies,
    captured,
    walk,
)
from ..words.endings import begins_with_condition, carried_condition
from .eight_bits import PEAK
from .halves import Half, Table, converts_to, float_types, narrower, quantised_side
from .normal import COMMUTE, Operand, axes_of, operator, widens
from .ports import LoopPair, best_pairs, evidence, fit, is_numbered, same_parts
from .values import Tolerance, kind_of

_ROUNDS = 3


def likeness(left: Loop, right: Loop) -> float:
    """How much of two bodies is the same operators: from 0 to 1. What computes nothing, one exporter writes and another
    does not."""
    counts: dict[str, list[int]] = {}
    for k, loop in enumerate((left, right)):
        for node in (node for node in walk(loop.body) if node.op_type not in ("Identity", "Constant")):
            counts.setdefault(operator(node), [0, 0])[k] += 1
    every = sum(max(pair) for pair in counts.values())
    return sum(min(pair) for pair in counts.values()) / every if every else 1.0


class Alignment:
    """Two models, aligned. ``loops``: which loops are compared with which; ``names``: which of the right a name is."""

    def __init__(
        self, left: Graph, right: Graph, loops: Iterable[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
    ) -> None:
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
        self._partners: dict[Node, Node] = {}
        self._twins: tuple[dict[Value, Value], dict[Value, Value]] = {}, {}
        #: Pairs of values with one purpose in graphs inside, from the graphs around them.
        self._outside: dict[tuple[Value, Value], None] = {}
        self.loops: dict[Loop, LoopPair] = {}
        self.names = names or {}
        self._wanted = dict(loops)
        self._given()
        self._graphs(left, right, list(zip(left.outputs, right.outputs, strict=False)))
        for one, other in self._wanted.items():
            if one not in self.loops:
                self._loop(one, other)

    @classmethod
    def of_itself(cls, graph: Graph) -> Alignment:
        """A model aligned with itself."""
        found = cls.__new__(cls)
        found.table = Table()
        found.one_system, found.two_types, found.narrower, found.quantised = True, False, None, None
        found.left = found.right = Half(graph, found.table, False)
        found.nodes = {node: node for node in walk(graph)}
        found._partners = found.nodes
        found._twins = {}, {}
        found.loops = {}
        found.names = {}
        return found

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
        if value in self._twins[side]:
            return self._twins[side][value]
        maker = half.folded(value)
        partner = None if maker is None else (self.nodes, self._partners)[side].get(maker)
        if partner is None and half.is_constant(value):
            return self._same_constant(half, other, value)
        if maker is None or partner is None:
            return None
        k = maker.outputs.index(value)
        result = partner.outputs[k] if k < len(partner.outputs) else None
        return None if result is None else other.origin(result)

    def _same_constant(self, half: Half, other: Half, value: Value) -> Value | None:
        """The constant of the other side that holds the same: under the same name, or the only one, on either side."""
        number = half.number(value)
        namesake = next((one for one in other.called(value.name) if other.number(one) == number), None)
        if namesake is None and len(half.holding(number)) == 1 == len(other.holding(number)):
            return other.holding(number)[0]
        return namesake

    def rewired(self, left: Value, right: Value) -> bool:
        """Whether two values that have one purpose are two things: neither is what the other is on its own side."""
        if self.same(left, right):
            return False
        here, there = self.left.origin(left), self.right.origin(right)
        twins = self.twin(0, here), self.twin(1, there)
        if self.left.is_constant(here) and self.right.is_constant(there):
            if self.exact and (self.left.folded(here) or self.right.folded(there)) and twins != (None, None):
                return twins[0] is not there and twins[1] is not here
            # Each model has both: it is not one whose numbers were changed.
            return here.name != there.name and None not in twins
        if not self.one_system and (self.left.maker(here) is not None or self.right.maker(there) is not None):
            # What one of them computes the other may compute by more nodes, or by fewer.
            return None not in twins and twins[0] is not there
        return twins[0] is not there and twins[1] is not here

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
                _operands([*ours, *captured_by(left)]), _operands([*theirs, *captured_by(right)])
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
        yield from self._same_ones(_operands(captured_by(left)), _operands(captured_by(right)))

    def _same_ones(self, left: Sequence[Operand], right: Sequence[Operand]) -> Iterator[tuple[Operand, Operand]]:
        free = list(right)
        for value in left:
            other = next((one for one in free if self.same(value, one)), None)
            if other is not None:
                free.remove(other)
                yield value, other

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

    # -- what both are given

    def _given(self) -> None:
        """Inputs of the models: as they are given, by the names that are given and by name, the others in order."""

        def fits(a: Value, b: Value) -> float | None:
            mark = fit(a, b)
            return None if mark is None else mark + 2.0 * (a.name == b.name)

        for a, b, _ in best_pairs(self.left.graph.inputs, self.right.graph.inputs, _named, fits, self.names):
            self._fix(a, b)

    def _fix(self, left: Value, right: Value) -> None:
        number = self.table.of(("pair", id(left)))
        self.left.fixed[left] = self.right.fixed[right] = number
        self._twins[0][left], self._twins[1][right] = right, left

    # -- graphs

    def _graphs(self, left: Graph, right: Graph, results: list[tuple[Value, Value]]) -> None:
        """Align two graphs and what is inside them; ``results``: pairs with one purpose."""
        self._forward(left, right)
        there = set(right.nodes)
        for node in left.nodes:
            if isinstance(node, Loop) and self._wanted.get(node) in there and node not in self.loops:
                self._loop(node, self._wanted[node])
                self._forward(left, right)
        # What loops are fed has one purpose too, also where nothing reads what they give.
        fed = [
            (a.value, b.value)
            for node in left.nodes
            if isinstance(node, Loop) and node in self.loops and self.nodes[node] in there
            for a, b in self.inputs(node, self.nodes[node])
        ]
        for careful in (True, False):
            while self._backward(left, right, [*fed, *results, *self._outside]):
                self._forward(left, right, careful)
            self._forward(left, right, careful=False)

    def _forward(self, left: Graph, right: Graph, careful: bool = True) -> None:
        """Pair nodes that do the same to the same; of constants at last the types alone have to be the same.

        ``careful``: where one side has more of those that do the same, what reads them may tell which is which.
        """
        namesakes = {_name(node): node for node in right.nodes if node not in self._partners}
        passes = [(False, False), (True, False)]
        if self.two_types or self.quantised is not None:
            # All weights were rounded: what reads none may still be the same thing to the bit, once those are paired.
            passes = [(False, False), (True, True), *passes]
        for relaxed, weighted in passes:
            theirs = self._groups(self.right, right, relaxed, self._partners)
            for key, nodes in self._groups(self.left, left, relaxed, self.nodes).items():
                some = [node for node in nodes if not weighted or self._reads_weight(node)]
                self._pair_alike(some, theirs.get(key, []), namesakes, careful, relaxed)
        for half, graph in ((self.left, left), (self.right, right)):
            for _ in self._keys(half, graph, False):
                pass

    def _reads_weight(self, node: Node) -> bool:
        """Whether a node of the left side reads a constant with more than one number."""
        found = (
            None if operand is None else self.left.data(operand.value) for operand in self.left.form(node).operands
        )
        return any(data is not None and data.size > 1 for data in found)

    def _groups(self, half: Half, graph: Graph, relaxed: bool, paired: Mapping[Node, Node]) -> dict[int, list[Node]]:
        """The nodes that stand for none yet, by what they do."""
        groups: dict[int, list[Node]] = {}
        for key, node in self._keys(half, graph, relaxed):
            if node not in paired:
                groups.setdefault(key, []).append(node)
        return groups

    def _pair_alike(
        self,
        nodes: Sequence[Node],
        others: list[Node],
        namesakes: Mapping[str, Node],
        careful: bool,
        relaxed: bool,
    ) -> None:
        """Pair nodes that all do the same to the same: by their names, and then in order."""
        rest = []
        for node in nodes:
            name = _name(node)
            other = next((one for one in others if _name(one) == name), None)
            if other is None or (relaxed and is_numbered(name)):
                rest.append(node)
                continue
            others.remove(other)
            self._pair(node, other, exact=not relaxed)
        if careful and len(rest) != len(others):
            return
        for node in rest:
            name = _name(node)
            other = max(others, key=lambda one: evidence(name, _name(one)), default=None)
            if other is None or (name != _name(other) and self._has_namesake(node, namesakes.get(name))):
                continue
            others.remove(other)
            self._pair(node, other, exact=not relaxed)

    def _has_namesake(self, node: Node, other: Node | None) -> bool:
        """Whether another node than the one that does the same to the same has the name and the operator: then that is
        the same node, which reads something else, unless exporters give such names."""
        if other is None or other in self._partners or is_numbered(_name(node)):
            return False
        return operator(node) == operator(other) and len(node.outputs) == len(other.outputs)

    def _keys(self, half: Half, graph: Graph, relaxed: bool) -> list[tuple[int, Node]]:
        """A number for what each node does, in order; their results are numbered on the way."""
        found = []
        for node in graph.nodes:
            if node.op_type == "Identity" or (isinstance(node, Loop) and node in self.loops):
                continue
            # What follows from constants alone is known by what it holds, and stands for nothing else.
            folded = all(v is None or half.is_constant(v) for v in node.outputs)
            if folded and (relaxed or not self._is_computed(half, node)):
                continue
            form = half.form(node)
            fed = [-1 if operand is None else half.number(operand, relaxed) for operand in form.operands]
            key: list[Hashable] = [form.word, len(node.outputs), *(sorted(fed) if form.word in COMMUTE else fed)]
            if isinstance(node, Operation) and self.one_system:
                key.append(tuple(sorted(form.attributes.items(), key=lambda item: item[0])))
            elif isinstance(node, If | Loop):
                # Their insides are aligned once they are paired.
                key += [half.number(value, relaxed) for value in captured_by(node)]
                key += [operator(inner) for _, body in bodies(node) for inner in walk(body)]
            number = self.table.of(("node", *key))
            for k, value in enumerate(node.outputs):
                if value is not None and not folded:
                    half.found[value] = self.table.of(("result", number, k))
            if not isinstance(node, Loop):
                found.append((number, node))
        return found

    def _is_computed(self, half: Half, node: Node) -> bool:
        """Whether a node computes something, and is no way to write a constant."""
        return any(v is not None and half.folded(v) is node for v in node.outputs) and self.exact

    def _pair(self, left: Node, right: Node, exact: bool = False) -> None:
        """Pair two nodes; ``exact``: they have one number, and may share it with others that do the same."""
        self.nodes[left], self._partners[right] = right, left
        if not exact:
            for one, other in zip(left.outputs, right.outputs, strict=False):
                if one is not None and other is not None:
                    self._fix(one, other)
        if isinstance(left, If) and isinstance(right, If):
            for (_, branch), (_, other_branch) in zip(bodies(left), bodies(right), strict=True):
                results = list(zip(branch.outputs, other_branch.outputs, strict=False))
                self._graphs(branch, other_branch, results)

    def _backward(self, left: Graph, right: Graph, results: Sequence[tuple[Value, Value]]) -> bool:
        """From results that have one purpose to what makes them; True where that paired anything."""
        here, there = set(left.nodes), set(right.nodes)
        known, seen, waiting = len(self.nodes), set(), list(results)
        while waiting:
            value, other = (half.origin(v) for half, v in zip((self.left, self.right), waiting.pop(), strict=True))
            one, two = self._purposeful(value, other)
            if one is None or two is None or (value, other) in seen:
                continue
            seen.add((value, other))
            if one not in here and two not in there:
                self._outside[value, other] = None
                continue
            # What reads nothing of a loop any more stands around it, and is the same node still.
            if (one not in here or two not in there) and not self.corresponds(one, two):
                continue
            if one not in self.nodes and two not in self._partners:
                # Of several results each has a purpose of its own.
                if one.outputs.index(value) != two.outputs.index(other) or not _can_pair(one, two):
                    continue
                self._pair(one, two)
            if self.nodes.get(one) is two and self.corresponds(one, two):
                waiting += [(a.value, b.value) for a, b in self.inputs(one, two)]
        return len(self.nodes) > known

    def _purposeful(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values with one purpose; of what follows from constants alone too, where it is
        not the same."""
        if self.exact and not self.same(left, right):
            return self.left.folded(left), self.right.folded(right)
        return self.left.maker(left), self.right.maker(right)

    # -- loops

    def _loop(self, left: Loop, right: Loop) -> None:
        pair = self.loops[left] = LoopPair(left, right)
        self.nodes[left], self._partners[right] = right, left
        # Where one side alone has its condition among what it carries, that is the other's condition.
        carried = self._carried_conditions(left, right)
        apart = [edge for edge in carried if edge is not None] if None in carried else []
        received = [
            edge.param if edge is not None and apart else loop.condition_input
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        for one, other in ((left.iteration, right.iteration), received):
            if one is not None and other is not None:
                self._fix(one, other)
        pair.slices = self._slices(left, right)
        for a, b, _ in pair.slices:
            self._fix(a.inner, b.inner)
        pair.edges = self._edges(left, right, apart)
        for edge, other_edge, _ in pair.edges:
            self._fix(edge.param, other_edge.param)
        decided = [
            edge.result if edge is not None and apart else loop.condition or loop.ignored_condition
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        results = [(a.result, b.result) for a, b, _ in pair.edges]
        if decided[0] is not None and decided[1] is not None:
            results.append((decided[0], decided[1]))
            if apart:
                names = [e.param.name if e else d.name for e, d in zip(carried, decided, strict=True) if d is not None]
                pair.condition = names[0], names[1]
        for k, half in enumerate((self.left, self.right)):
            there = {(a, b)[k].param for a, b, _ in pair.edges}
            alone = [edge for edge in (left, right)[k].back_edges if edge.param not in there and edge not in apart]
            pair.known[k].extend(edge.param.name for edge in alone if _is_known(half, (left, right)[k], edge))
        self._graphs(left.body, right.body, results)
        pair.scans = self._scans(left, right)
        self._graphs(left.body, right.body, [*results, *((a.result, b.result) for a, b, _ in pair.scans)])
        for scan, other_scan, _ in pair.scans:
            self._fix(scan.outer, other_scan.outer)
        self._last_values(pair)
        for last, other_last, _ in pair.lasts:
            self._fix(last.outer, other_last.outer)

    def _carried_conditions(self, left: Loop, right: Loop) -> tuple[BackEdge | None, BackEdge | None]:
        """The edges that carry the condition from one iteration to the next. An IR has no other way to tell a body its
        condition: there it is the other side's condition input."""
        found = carried_condition(left), carried_condition(right)
        if found == (None, None) and (left.condition_input is None) is not (right.condition_input is None):
            wanted = left.condition_input or right.condition_input
            assert wanted is not None
            halves = (self.left, left), (self.right, right)
            one, other = (
                None if loop.condition_input is not None else _told_condition(half, loop, wanted.name)
                for half, loop in halves
            )
            return one, other
        return found

    def _slices(self, left: Loop, right: Loop) -> list[tuple[SlicedInput, SlicedInput, str]]:
        def score(a: SlicedInput, b: SlicedInput) -> float | None:
            mark = fit(a.outer, b.outer)
            return None if mark is None else mark + 2.0 * self.same(a.outer, b.outer) + same_parts(a, b)

        return best_pairs(left.sliced_inputs, right.sliced_inputs, lambda port: port.inner.name, score, self.names)

    def _edges(self, left: Loop, right: Loop, apart: Sequence[BackEdge]) -> list[tuple[BackEdge, BackEdge, str]]:
        """What is carried: by what it begins with and what the body makes of it; what is ``apart`` stays so."""
        exact = [self._colours(self.left, left, False), self._colours(self.right, right, False)]
        types = [self._colours(self.left, left, True), self._colours(self.right, right, True)]

        def score(a: BackEdge, b: BackEdge) -> float | None:
            marks = fit(a.param, b.param), fit(a.result, b.result)
            if None in marks:
                return None
            computed = 2.0 * (exact[0][a] == exact[1][b]) or 1.5 * (types[0][a] == types[1][b])
            return (marks[0] or 0.0) + float(self._same_begin(a, b)) + computed

        edges = [[edge for edge in loop.back_edges if edge not in apart] for loop in (left, right)]
        return best_pairs(edges[0], edges[1], lambda edge: edge.param.name, score, self.names)

    def _same_begin(self, left: BackEdge, right: BackEdge) -> bool:
        one, other = left.initial, right.initial
        if isinstance(one, SlicedInput) and isinstance(other, SlicedInput):
            return self.same(one.outer, other.outer) and same_parts(one, other)
        return isinstance(one, Value) and isinstance(other, Value) and self.same(one, other)

    def _colours(self, half: Half, loop: Loop, relaxed: bool) -> dict[BackEdge, int]:
        """A number for each carried value that says what becomes of it in a few iterations, whatever it is called."""
        params = {edge.param for edge in loop.back_edges}
        kept = dict(half.found)
        colours = dict.fromkeys(loop.back_edges, self.table.of("edge"))
        for _ in range(_ROUNDS):
            half.fixed.update((edge.param, colours[edge]) for edge in loop.back_edges)
            self._keys(half, loop.body, relaxed)
            after = {edge: half.number(edge.result, relaxed) for edge in loop.back_edges}
            colours = {edge: self.table.of(("edge", colours[edge], after[edge])) for edge in loop.back_edges}
        for value in params:
            half.fixed.pop(value, None)
        half.found = kept
        return colours

    def _scans(self, left: Loop, right: Loop) -> list[tuple[ScanOutput, ScanOutput, str]]:
        def score(a: ScanOutput, b: ScanOutput) -> float | None:
            mark = fit(a.result, b.result)
            return None if mark is None else mark + 2.0 * self.same(a.result, b.result)

        found = best_pairs(left.scan_outputs, right.scan_outputs, lambda scan: scan.outer.name, score, self.names)
        here, there = {a for a, _, _ in found}, {b for _, b, _ in found}
        # What was paired with nothing by what it collects: what stands in its place.
        for a in left.scan_outputs:
            b = next((b for b in right.scan_outputs if b not in there and self._one_place(left, right, a, b)), None)
            if a not in here and b is not None:
                found.append((a, b, "position"))
        return found

    def _last_values(self, pair: LoopPair) -> None:
        edges = {a: b for a, b, _ in pair.edges}
        left, right, free = pair.left, pair.right, list(pair.right.last_values)

        def same(last: LastValueOutput, other: LastValueOutput) -> bool:
            edge, other_edge = left.edge_of(last), right.edge_of(other)
            if edge is None or other_edge is None:
                return self.same(last.result, other.result)
            return edges.get(edge) is other_edge

        # Of several that are the last of one value each stands for the one in its place.
        for of_one, in_place in ((True, True), (True, False), (False, True)):
            for last in left.last_values:
                for other in () if any(last is a for a, _, _ in pair.lasts) else free:
                    if same(last, other) >= of_one and self._one_place(left, right, last, other) >= in_place:
                        free.remove(other)
                        pair.lasts.append((last, other, of_one))
                        break

    def _one_place(self, left: Loop, right: Loop, a: object, b: object) -> bool:
        """Whether two outputs stand in one place among those of their loops."""
        places = [
            loop.outputs.index(port.outer)  # type: ignore[attr-defined]
            for loop, port in ((left, a), (right, b))
            if port.outer in loop.outputs  # type: ignore[attr-defined]
        ]
        return self.one_system and len(places) == 2 and places[0] == places[1]


def _told_condition(half: Half, loop: Loop, name: str) -> BackEdge | None:
    """The edge that tells the body its condition, ``name`` where there are several."""
    if loop.condition is None:
        return None
    result = half.origin(loop.condition)
    edges = [edge for edge in loop.back_edges if half.origin(edge.result) is result]
    edges = [edge for edge in edges if begins_with_condition(edge, loop, half.origins)]
    return max(edges, key=lambda edge: evidence(name, edge.param.name), default=None)


def _is_known(half: Half, loop: Loop, edge: BackEdge) -> bool:
    """Whether a carried value is the condition, or counts the iterations."""
    result = half.origin(edge.result)
    if loop.condition is not None and result is half.origin(loop.condition):
        return True
    node = half.maker(result)
    if node is None or operator(node) != "+" or isinstance(edge.initial, SlicedInput):
        return False
    step = [half.data(value) for value in node.inputs if value is not None and half.origin(value) is not edge.param]
    first = half.data(edge.initial)
    return len(step) == 1 and _is_number(first, 0) and _is_number(step[0], 1)


def _is_number(data: Array | None, number: int) -> bool:
    return data is not None and data.dtype.kind in "iu" and data.size == 1 and int(data.reshape(-1)[0]) == number


def _can_pair(left: Node, right: Node) -> bool:
    """Whether one node can stand in the place of another."""
    if isinstance(left, Loop) or isinstance(right, Loop) or len(left.outputs) != len(right.outputs):
        return False
    if isinstance(left, If) is not isinstance(right, If):
        return False
    return operator(left) == operator(right) or len(left.inputs) == len(right.inputs)


def captured_by(node: Node) -> list[Value]:
    """What the graphs inside a node take from outside, each once."""
    return list(dict.fromkeys(value for _, body in bodies(node) for value in captured(body)))


def read_by(node: Node) -> list[Value]:
    """What a node reads, the graphs inside it included."""
    return [*(value for value in node.inputs if value is not None), *captured_by(node)]


def _operands(values: Iterable[Value]) -> list[Operand]:
    return [Operand(value) for value in values]


def _named(value: Value) -> str:
    return value.name


def _name(node: Node) -> str:
    """What its user calls a node: its result's name stays where the node has none of its own."""
    first = next((value for value in node.outputs if value is not None), None)
    return node.name if first is None else first.name
