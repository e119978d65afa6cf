"""Which node of one graph is which of another: forward from what is the same, backward from what has one purpose."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ....runtime.graph import Graph, If, Loop, Node, Operation, Value, bodies, walk
from .correspondence import Correspondence
from .loop_ports import is_numbered_name, name_evidence
from .normal_form import COMMUTATIVE_OPERATORS, canonical_operator
from .use_signatures import UseSignatures
from .value_numbering import NumberedGraph

#: Of both sides.
SignaturePair = tuple[UseSignatures, UseSignatures]
#: Aligns two graphs by pairs of what they return.
_AlignSubgraphs = Callable[[Graph, Graph, list[tuple[Value, Value]]], None]
_Groups = Mapping[int, list[Node]]


class NodeMatcher:
    """The nodes of two models. ``inside``: aligns two graphs inside two nodes, by what they return."""

    def __init__(
        self, known: Correspondence, inside: Callable[[Graph, Graph, list[tuple[Value, Value]]], None]
    ) -> None:
        self.correspondence = known
        self._align_subgraphs = inside
        #: Pairs of values with one purpose in graphs inside, from the graphs around them.
        self.outer_value_pairs: dict[tuple[Value, Value], None] = {}

    # -- forward

    def match_forward(self, left: Graph, right: Graph, purposes: SignaturePair, careful: bool = True) -> None:
        """Pair nodes that do the same to the same; of constants at last the types alone have to be the same.

        ``careful``: where one side has more of those that do the same, what reads them may tell which is which.
        """
        known = self.correspondence
        passes = [(False, False), (True, False)]
        if known.different_float_types or known.quantized_side is not None:
            # All weights were rounded: what reads none may still be the same thing to the bit, once those are paired.
            passes = [(False, False), (True, True), *passes]
        namesakes = _unmatched_by_name(left, known.nodes_by_left), _unmatched_by_name(right, known.nodes_by_right)
        for relaxed, weighted in passes:
            theirs = self._unmatched_by_key(known.right, right, relaxed, known.nodes_by_right)
            ours = self._unmatched_by_key(known.left, left, relaxed, known.nodes_by_left)
            if not ours or not theirs:
                continue
            one = _ForwardPass(self, purposes, namesakes, careful, relaxed, ours, theirs)
            for key, nodes in ours.items():
                some = [node for node in nodes if not weighted or self._reads_weight(node)]
                one.pair(some, theirs.get(key, []))
        for half, graph in ((known.left, left), (known.right, right)):
            self.number_nodes(half, graph, False)

    def _reads_weight(self, node: Node) -> bool:
        """Whether a node of the left side reads a constant with more than one number."""
        half = self.correspondence.left
        found = (
            None if operand is None else half.origin_constant(operand.value)
            for operand in half.normal_form(node).operands
        )
        return any(data is not None and data.size > 1 for data in found)

    def _unmatched_by_key(
        self, half: NumberedGraph, graph: Graph, relaxed: bool, paired: Mapping[Node, Node]
    ) -> dict[int, list[Node]]:
        """The nodes that stand for none yet, by what they do."""
        groups: dict[int, list[Node]] = {}
        for key, node in self.number_nodes(half, graph, relaxed):
            if node not in paired:
                groups.setdefault(key, []).append(node)
        return groups

    def number_nodes(self, half: NumberedGraph, graph: Graph, relaxed: bool) -> list[tuple[int, Node]]:
        """A number for what each node does, in order; their results are numbered on the way."""
        found = []
        for node in graph.nodes:
            if node.op_type == "Identity" or (isinstance(node, Loop) and node in self.correspondence.loops):
                continue
            # What follows from constants alone is known by what it holds, and stands for nothing else.
            folded = all(v is None or half.is_constant(v) for v in node.outputs)
            if folded and (relaxed or not self._computes_something(half, node)):
                continue
            number = self.correspondence.table.number_for(("node", *self._node_key(half, node, relaxed)))
            for k, value in enumerate(node.outputs):
                if value is not None and not folded:
                    half.derived_numbers[value] = self.correspondence.table.number_for(("result", number, k))
            if not isinstance(node, Loop):
                found.append((number, node))
        return found

    def _node_key(self, half: NumberedGraph, node: Node, relaxed: bool) -> list[Hashable]:
        """What a node does, and to what."""
        form = half.normal_form(node)
        fed = [-1 if operand is None else half.value_number(operand, relaxed) for operand in form.operands]
        key: list[Hashable] = [
            form.operator,
            len(node.outputs),
            *(sorted(fed) if form.operator in COMMUTATIVE_OPERATORS else fed),
        ]
        if isinstance(node, Operation) and self.correspondence.same_system:
            key.append(tuple(sorted(form.attributes.items(), key=lambda item: item[0])))
        elif isinstance(node, If | Loop):
            # Their insides are aligned once they are paired.
            key += [half.value_number(value, relaxed) for value in half.captures(node)]
            key += [canonical_operator(inner) for _, body in bodies(node) for inner in walk(body)]
        return key

    def _computes_something(self, half: NumberedGraph, node: Node) -> bool:
        """Whether a node computes something, and is no way to write a constant."""
        return (
            any(v is not None and half.producer_or_folded_node(v) is node for v in node.outputs)
            and self.correspondence.is_bit_exact
        )

    def pair(self, left: Node, right: Node, exact: bool = False) -> None:
        """Pair two nodes; ``exact``: they have one number, and may share it with others that do the same."""
        self.correspondence.nodes_by_left[left], self.correspondence.nodes_by_right[right] = right, left
        if not exact:
            for one, other in zip(left.outputs, right.outputs, strict=False):
                if one is not None and other is not None:
                    self.correspondence.identify(one, other)
        if isinstance(left, If) and isinstance(right, If):
            for (_, branch), (_, other_branch) in zip(bodies(left), bodies(right), strict=True):
                self._align_subgraphs(
                    branch, other_branch, list(zip(branch.outputs, other_branch.outputs, strict=False))
                )

    # -- backward

    def match_backward(self, left: Graph, right: Graph, results: Sequence[tuple[Value, Value]]) -> bool:
        """From results that have one purpose to what makes them; True where that paired anything."""
        known = self.correspondence
        here, there = set(left.nodes), set(right.nodes)
        before, seen, waiting = len(known.nodes_by_left), set(), list(results)
        while waiting:
            a, b = waiting.pop()
            value, other = known.left.origin(a), known.right.origin(b)
            if (value, other) in seen:
                continue
            one, two = self._producers_with_same_use(value, other)
            if one is None or two is None:
                continue
            seen.add((value, other))
            if one not in here and two not in there:
                self.outer_value_pairs[value, other] = None
                continue
            # What reads nothing of a loop any more stands around it, and is the same node still.
            if (one not in here or two not in there) and not known.same_operator(one, two):
                continue
            if one not in known.nodes_by_left and two not in known.nodes_by_right:
                # Of several results each has a purpose of its own.
                if one.outputs.index(value) != two.outputs.index(other) or not _can_pair(one, two):
                    continue
                self.pair(one, two)
            if known.nodes_by_left.get(one) is two and known.same_operator(one, two):
                waiting += [(a.value, b.value) for a, b in known.input_pairs(one, two)]
        return len(known.nodes_by_left) > before

    def _producers_with_same_use(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values with one purpose; of what follows from constants alone too, where it is
        not the same."""
        known = self.correspondence
        if known.is_bit_exact and not known.same_value(left, right):
            return known.left.producer_or_folded_node(left), known.right.producer_or_folded_node(right)
        return known.left.producer(left), known.right.producer(right)


class _ForwardPass:
    """One pass forward: pairs nodes of groups that do the same to the same, by names and by what becomes of them."""

    def __init__(
        self,
        pairs: NodeMatcher,
        purposes: SignaturePair,
        namesakes: tuple[Mapping[str, Node], Mapping[str, Node]],
        careful: bool,
        relaxed: bool,
        ours: _Groups,
        theirs: _Groups,
    ) -> None:
        self._matcher = pairs
        self._use_signatures = purposes
        self._namesakes = namesakes
        self._careful = careful
        self._relaxed = relaxed
        #: By side, the operators that do what no free node of the other side does, and what becomes of their results.
        self._unmatched_uses = (
            self._collect_unmatched_uses(0, ours, theirs),
            self._collect_unmatched_uses(1, theirs, ours),
        )

    def pair(self, nodes: Sequence[Node], others: list[Node]) -> None:
        """Pair nodes that all do the same to the same: by their names, by what becomes of them, and then in order."""
        rest = list(nodes)
        for fits in (self._same_name, self._same_use, self._same_numbered_name):
            self._pair_where(fits, rest, others)
        if not self._careful or len(rest) == len(others):
            self._pair_where(self._has_no_rival, rest, others)

    def _pair_where(self, fits: Callable[[Node, Node], bool], nodes: list[Node], others: list[Node]) -> None:
        """Pair those that fit, by the names that tell most; both lists keep the rest."""
        for node in list(nodes):
            name = display_name(node)
            fitting = [other for other in others if fits(node, other)]
            other = max(fitting, key=lambda one: name_evidence(name, display_name(one)), default=None)
            if other is not None:
                nodes.remove(node)
                others.remove(other)
                self._matcher.pair(node, other, exact=not self._relaxed)

    def _same_name(self, node: Node, other: Node) -> bool:
        return display_name(node) == display_name(other) and not is_numbered_name(display_name(node))

    def _same_use(self, node: Node, other: Node) -> bool:
        purposes = self._use_signature(0, node), self._use_signature(1, other)
        return purposes[0] == purposes[1] is not None and not self._has_namesake(node, other)

    def _same_numbered_name(self, node: Node, other: Node) -> bool:
        return display_name(node) == display_name(other) and not self._relaxed and not self._use_moved(node, other)

    def _has_no_rival(self, node: Node, other: Node) -> bool:
        return not self._has_namesake(node, other) and not self._use_moved(node, other)

    def _has_namesake(self, node: Node, other: Node) -> bool:
        """Whether either name is also that of another node on the other side, with the same operator: then those two
        are the same node, which reads something else, unless exporters give such names."""
        if display_name(node) == display_name(other):
            return False
        pairs = (node, self._namesakes[1].get(display_name(node))), (self._namesakes[0].get(display_name(other)), other)
        return any(one is not None and two is not None and self._could_match(one, two) for one, two in pairs)

    def _could_match(self, left: Node, right: Node) -> bool:
        known = self._matcher.correspondence
        if left in known.nodes_by_left or right in known.nodes_by_right or is_numbered_name(display_name(left)):
            return False
        return canonical_operator(left) == canonical_operator(right) and len(left.outputs) == len(right.outputs)

    def _use_moved(self, node: Node, other: Node) -> bool:
        """Whether what becomes of one of two results becomes on the other side of another one's, which nothing else
        stands for: of a chain of nodes that are alike one has come or is gone, and its readers tell which."""
        uses = self._operator_and_use(0, node), self._operator_and_use(1, other)
        return uses[0] != uses[1] and (uses[0] in self._unmatched_uses[1] or uses[1] in self._unmatched_uses[0])

    def _collect_unmatched_uses(self, side: int, groups: _Groups, others: _Groups) -> set[Hashable]:
        alone = {
            self._operator_and_use(side, node) for key, nodes in groups.items() if key not in others for node in nodes
        }
        return alone - {None}

    def _operator_and_use(self, side: int, node: Node) -> Hashable:
        becomes = self._use_signature(side, node)
        return None if becomes is None else (canonical_operator(node), becomes)

    def _use_signature(self, side: int, node: Node) -> Hashable:
        return self._use_signatures[side].signatures(node.outputs)


def _unmatched_by_name(graph: Graph, paired: Mapping[Node, Node]) -> dict[str, Node]:
    return {display_name(node): node for node in graph.nodes if node not in paired}


def _can_pair(left: Node, right: Node) -> bool:
    """Whether one node can stand in the place of another."""
    if isinstance(left, Loop) or isinstance(right, Loop) or len(left.outputs) != len(right.outputs):
        return False
    if isinstance(left, If) is not isinstance(right, If):
        return False
    return canonical_operator(left) == canonical_operator(right) or len(left.inputs) == len(right.inputs)


def display_name(node: Node) -> str:
    """What its user calls a node: its result's name stays where the node has none of its own."""
    first = next((value for value in node.outputs if value is not None), None)
    return node.name if first is None else first.name
