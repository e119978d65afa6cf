"""Which node of one graph is which of another: forward from what is the same, backward from what has one purpose."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ...runtime.graph import Graph, If, Loop, Node, Operation, Value, bodies, walk
from .correspondence import Correspondence
from .halves import Half
from .normal import COMMUTE, operator
from .ports import evidence, is_numbered
from .purposes import Purposes

#: Of both sides.
Both = tuple[Purposes, Purposes]
#: Aligns two graphs by pairs of what they return.
_Align = Callable[[Graph, Graph, list[tuple[Value, Value]]], None]
_Groups = Mapping[int, list[Node]]


class NodePairs:
    """The nodes of two models. ``inside``: aligns two graphs inside two nodes, by what they return."""

    def __init__(
        self, known: Correspondence, inside: Callable[[Graph, Graph, list[tuple[Value, Value]]], None]
    ) -> None:
        self.known = known
        self._inside = inside
        #: Pairs of values with one purpose in graphs inside, from the graphs around them.
        self.outside: dict[tuple[Value, Value], None] = {}

    # -- forward

    def forward(self, left: Graph, right: Graph, purposes: Both, careful: bool = True) -> None:
        """Pair nodes that do the same to the same; of constants at last the types alone have to be the same.

        ``careful``: where one side has more of those that do the same, what reads them may tell which is which.
        """
        known = self.known
        passes = [(False, False), (True, False)]
        if known.two_types or known.quantised is not None:
            # All weights were rounded: what reads none may still be the same thing to the bit, once those are paired.
            passes = [(False, False), (True, True), *passes]
        namesakes = _by_name(left, known.nodes), _by_name(right, known.partners)
        for relaxed, weighted in passes:
            theirs = self._groups(known.right, right, relaxed, known.partners)
            ours = self._groups(known.left, left, relaxed, known.nodes)
            if not ours or not theirs:
                continue
            one = _Pass(self, purposes, namesakes, careful, relaxed, ours, theirs)
            for key, nodes in ours.items():
                some = [node for node in nodes if not weighted or self._reads_weight(node)]
                one.pair(some, theirs.get(key, []))
        for half, graph in ((known.left, left), (known.right, right)):
            self.keys(half, graph, False)

    def _reads_weight(self, node: Node) -> bool:
        """Whether a node of the left side reads a constant with more than one number."""
        half = self.known.left
        found = (None if operand is None else half.data(operand.value) for operand in half.form(node).operands)
        return any(data is not None and data.size > 1 for data in found)

    def _groups(self, half: Half, graph: Graph, relaxed: bool, paired: Mapping[Node, Node]) -> dict[int, list[Node]]:
        """The nodes that stand for none yet, by what they do."""
        groups: dict[int, list[Node]] = {}
        for key, node in self.keys(half, graph, relaxed):
            if node not in paired:
                groups.setdefault(key, []).append(node)
        return groups

    def keys(self, half: Half, graph: Graph, relaxed: bool) -> list[tuple[int, Node]]:
        """A number for what each node does, in order; their results are numbered on the way."""
        found = []
        for node in graph.nodes:
            if node.op_type == "Identity" or (isinstance(node, Loop) and node in self.known.loops):
                continue
            # What follows from constants alone is known by what it holds, and stands for nothing else.
            folded = all(v is None or half.is_constant(v) for v in node.outputs)
            if folded and (relaxed or not self._is_computed(half, node)):
                continue
            number = self.known.table.of(("node", *self._key(half, node, relaxed)))
            for k, value in enumerate(node.outputs):
                if value is not None and not folded:
                    half.found[value] = self.known.table.of(("result", number, k))
            if not isinstance(node, Loop):
                found.append((number, node))
        return found

    def _key(self, half: Half, node: Node, relaxed: bool) -> list[Hashable]:
        """What a node does, and to what."""
        form = half.form(node)
        fed = [-1 if operand is None else half.number(operand, relaxed) for operand in form.operands]
        key: list[Hashable] = [form.word, len(node.outputs), *(sorted(fed) if form.word in COMMUTE else fed)]
        if isinstance(node, Operation) and self.known.one_system:
            key.append(tuple(sorted(form.attributes.items(), key=lambda item: item[0])))
        elif isinstance(node, If | Loop):
            # Their insides are aligned once they are paired.
            key += [half.number(value, relaxed) for value in half.captured(node)]
            key += [operator(inner) for _, body in bodies(node) for inner in walk(body)]
        return key

    def _is_computed(self, half: Half, node: Node) -> bool:
        """Whether a node computes something, and is no way to write a constant."""
        return any(v is not None and half.folded(v) is node for v in node.outputs) and self.known.exact

    def pair(self, left: Node, right: Node, exact: bool = False) -> None:
        """Pair two nodes; ``exact``: they have one number, and may share it with others that do the same."""
        self.known.nodes[left], self.known.partners[right] = right, left
        if not exact:
            for one, other in zip(left.outputs, right.outputs, strict=False):
                if one is not None and other is not None:
                    self.known.fix(one, other)
        if isinstance(left, If) and isinstance(right, If):
            for (_, branch), (_, other_branch) in zip(bodies(left), bodies(right), strict=True):
                self._inside(branch, other_branch, list(zip(branch.outputs, other_branch.outputs, strict=False)))

    # -- backward

    def backward(self, left: Graph, right: Graph, results: Sequence[tuple[Value, Value]]) -> bool:
        """From results that have one purpose to what makes them; True where that paired anything."""
        known = self.known
        here, there = set(left.nodes), set(right.nodes)
        before, seen, waiting = len(known.nodes), set(), list(results)
        while waiting:
            a, b = waiting.pop()
            value, other = known.left.origin(a), known.right.origin(b)
            if (value, other) in seen:
                continue
            one, two = self._purposeful(value, other)
            if one is None or two is None:
                continue
            seen.add((value, other))
            if one not in here and two not in there:
                self.outside[value, other] = None
                continue
            # What reads nothing of a loop any more stands around it, and is the same node still.
            if (one not in here or two not in there) and not known.corresponds(one, two):
                continue
            if one not in known.nodes and two not in known.partners:
                # Of several results each has a purpose of its own.
                if one.outputs.index(value) != two.outputs.index(other) or not _can_pair(one, two):
                    continue
                self.pair(one, two)
            if known.nodes.get(one) is two and known.corresponds(one, two):
                waiting += [(a.value, b.value) for a, b in known.inputs(one, two)]
        return len(known.nodes) > before

    def _purposeful(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values with one purpose; of what follows from constants alone too, where it is
        not the same."""
        known = self.known
        if known.exact and not known.same(left, right):
            return known.left.folded(left), known.right.folded(right)
        return known.left.maker(left), known.right.maker(right)


class _Pass:
    """One pass forward: pairs nodes of groups that do the same to the same, by names and by what becomes of them."""

    def __init__(
        self,
        pairs: NodePairs,
        purposes: Both,
        namesakes: tuple[Mapping[str, Node], Mapping[str, Node]],
        careful: bool,
        relaxed: bool,
        ours: _Groups,
        theirs: _Groups,
    ) -> None:
        self._pairs = pairs
        self._purposes = purposes
        self._namesakes = namesakes
        self._careful = careful
        self._relaxed = relaxed
        #: By side, the operators that do what no free node of the other side does, and what becomes of their results.
        self._alone = self._uses_of(0, ours, theirs), self._uses_of(1, theirs, ours)

    def pair(self, nodes: Sequence[Node], others: list[Node]) -> None:
        """Pair nodes that all do the same to the same: by their names, by what becomes of them, and then in order."""
        rest = list(nodes)
        for fits in (self._one_name, self._one_purpose, self._one_number):
            self._by(fits, rest, others)
        if not self._careful or len(rest) == len(others):
            self._by(self._is_free, rest, others)

    def _by(self, fits: Callable[[Node, Node], bool], nodes: list[Node], others: list[Node]) -> None:
        """Pair those that fit, by the names that tell most; both lists keep the rest."""
        for node in list(nodes):
            name = name_of(node)
            fitting = [other for other in others if fits(node, other)]
            other = max(fitting, key=lambda one: evidence(name, name_of(one)), default=None)
            if other is not None:
                nodes.remove(node)
                others.remove(other)
                self._pairs.pair(node, other, exact=not self._relaxed)

    def _one_name(self, node: Node, other: Node) -> bool:
        return name_of(node) == name_of(other) and not is_numbered(name_of(node))

    def _one_purpose(self, node: Node, other: Node) -> bool:
        purposes = self._becomes(0, node), self._becomes(1, other)
        return purposes[0] == purposes[1] is not None and not self._has_namesake(node, other)

    def _one_number(self, node: Node, other: Node) -> bool:
        return name_of(node) == name_of(other) and not self._relaxed and not self._is_elsewhere(node, other)

    def _is_free(self, node: Node, other: Node) -> bool:
        return not self._has_namesake(node, other) and not self._is_elsewhere(node, other)

    def _has_namesake(self, node: Node, other: Node) -> bool:
        """Whether either name is also that of another node on the other side, with the same operator: then those two
        are the same node, which reads something else, unless exporters give such names."""
        if name_of(node) == name_of(other):
            return False
        pairs = (node, self._namesakes[1].get(name_of(node))), (self._namesakes[0].get(name_of(other)), other)
        return any(one is not None and two is not None and self._could_be_one(one, two) for one, two in pairs)

    def _could_be_one(self, left: Node, right: Node) -> bool:
        known = self._pairs.known
        if left in known.nodes or right in known.partners or is_numbered(name_of(left)):
            return False
        return operator(left) == operator(right) and len(left.outputs) == len(right.outputs)

    def _is_elsewhere(self, node: Node, other: Node) -> bool:
        """Whether what becomes of one of two results becomes on the other side of another one's, which nothing else
        stands for: of a chain of nodes that are alike one has come or is gone, and its readers tell which."""
        uses = self._use(0, node), self._use(1, other)
        return uses[0] != uses[1] and (uses[0] in self._alone[1] or uses[1] in self._alone[0])

    def _uses_of(self, side: int, groups: _Groups, others: _Groups) -> set[Hashable]:
        alone = {self._use(side, node) for key, nodes in groups.items() if key not in others for node in nodes}
        return alone - {None}

    def _use(self, side: int, node: Node) -> Hashable:
        becomes = self._becomes(side, node)
        return None if becomes is None else (operator(node), becomes)

    def _becomes(self, side: int, node: Node) -> Hashable:
        return self._purposes[side].of_all(node.outputs)


def _by_name(graph: Graph, paired: Mapping[Node, Node]) -> dict[str, Node]:
    return {name_of(node): node for node in graph.nodes if node not in paired}


def _can_pair(left: Node, right: Node) -> bool:
    """Whether one node can stand in the place of another."""
    if isinstance(left, Loop) or isinstance(right, Loop) or len(left.outputs) != len(right.outputs):
        return False
    if isinstance(left, If) is not isinstance(right, If):
        return False
    return operator(left) == operator(right) or len(left.inputs) == len(right.inputs)


def name_of(node: Node) -> str:
    """What its user calls a node: its result's name stays where the node has none of its own."""
    first = next((value for value in node.outputs if value is not None), None)
    return node.name if first is None else first.name
