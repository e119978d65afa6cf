"""Matches the nodes of two graphs: forward from equal operands, backward from results with the same use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ....runtime.graph import Graph, If, Loop, Node, Operation, Value, bodies, walk
from .correspondence import Correspondence
from .loop_ports import is_numbered_name, name_evidence
from .normal_form import COMMUTATIVE_OPERATORS, canonical_operator
from .use_signatures import UseSignatures
from .value_numbering import NumberedGraph

#: The use signatures of both sides.
SignaturePair = tuple[UseSignatures, UseSignatures]
#: Aligns two subgraphs, given the pairs of their results.
_AlignSubgraphs = Callable[[Graph, Graph, list[tuple[Value, Value]]], None]
_Groups = Mapping[int, list[Node]]


class NodeMatcher:
    """Matches the nodes of two models. ``align_subgraphs`` aligns two subgraphs, given the pairs of their results."""

    def __init__(
        self, correspondence: Correspondence, align_subgraphs: Callable[[Graph, Graph, list[tuple[Value, Value]]], None]
    ) -> None:
        self.correspondence = correspondence
        self._align_subgraphs = align_subgraphs
        #: Pairs of outer values with the same use, found in subgraphs.
        self.outer_value_pairs: dict[tuple[Value, Value], None] = {}

    # -- forward

    def match_forward(self, left: Graph, right: Graph, uses: SignaturePair, careful: bool = True) -> None:
        """Pair nodes with equal operators and operands; finally, constants only need equal types.

        ``careful``: if one side has more such nodes, their uses may decide which of them correspond.
        """
        mapping = self.correspondence
        passes = [(False, False), (True, False)]
        if mapping.different_float_types or mapping.quantized_side is not None:
            # Weights are rounded: nodes without weights may still be bit-identical once those with weights are paired.
            passes = [(False, False), (True, True), *passes]
        namesakes = _unmatched_by_name(left, mapping.nodes_by_left), _unmatched_by_name(right, mapping.nodes_by_right)
        for relaxed, only_weighted in passes:
            right_groups = self._unmatched_by_key(mapping.right, right, relaxed, mapping.nodes_by_right)
            left_groups = self._unmatched_by_key(mapping.left, left, relaxed, mapping.nodes_by_left)
            if not left_groups or not right_groups:
                continue
            forward_pass = _ForwardPass(self, uses, namesakes, careful, relaxed, left_groups, right_groups)
            for key, nodes in left_groups.items():
                selected = [node for node in nodes if not only_weighted or self._reads_weight(node)]
                forward_pass.pair(selected, right_groups.get(key, []))
        for graph, subgraph in ((mapping.left, left), (mapping.right, right)):
            self.number_nodes(graph, subgraph, False)

    def _reads_weight(self, node: Node) -> bool:
        """Whether a node of the left side reads a constant with more than one element."""
        graph = self.correspondence.left
        constants = (
            None if operand is None else graph.origin_constant(operand.value)
            for operand in graph.normal_form(node).operands
        )
        return any(data is not None and data.size > 1 for data in constants)

    def _unmatched_by_key(
        self, numbering: NumberedGraph, graph: Graph, relaxed: bool, paired: Mapping[Node, Node]
    ) -> dict[int, list[Node]]:
        """Unpaired nodes by their value number."""
        groups: dict[int, list[Node]] = {}
        for key, node in self.number_nodes(numbering, graph, relaxed):
            if node not in paired:
                groups.setdefault(key, []).append(node)
        return groups

    def number_nodes(self, numbering: NumberedGraph, graph: Graph, relaxed: bool) -> list[tuple[int, Node]]:
        """Value numbers of the nodes, in order; also numbers their results."""
        numbers = []
        for node in graph.nodes:
            if node.op_type == "Identity" or (isinstance(node, Loop) and node in self.correspondence.loops):
                continue
            # A result of constants is identified by its contents and corresponds to nothing else.
            folded = all(v is None or numbering.is_constant(v) for v in node.outputs)
            if folded and (relaxed or not self._computes_something(numbering, node)):
                continue
            number = self.correspondence.table.number_for(("node", *self._node_key(numbering, node, relaxed)))
            for k, value in enumerate(node.outputs):
                if value is not None and not folded:
                    numbering.derived_numbers[value] = self.correspondence.table.number_for(("result", number, k))
            if not isinstance(node, Loop):
                numbers.append((number, node))
        return numbers

    def _node_key(self, numbering: NumberedGraph, node: Node, relaxed: bool) -> list[Hashable]:
        """The key of a node: operator and operands."""
        form = numbering.normal_form(node)
        operands = [-1 if operand is None else numbering.value_number(operand, relaxed) for operand in form.operands]
        key: list[Hashable] = [
            form.operator,
            len(node.outputs),
            *(sorted(operands) if form.operator in COMMUTATIVE_OPERATORS else operands),
        ]
        if isinstance(node, Operation) and self.correspondence.same_system:
            key.append(tuple(sorted(form.attributes.items(), key=lambda item: item[0])))
        elif isinstance(node, If | Loop):
            # Subgraphs are aligned once the nodes are paired.
            key += [numbering.value_number(value, relaxed) for value in numbering.captures(node)]
            key += [canonical_operator(inner) for _, body in bodies(node) for inner in walk(body)]
        return key

    def _computes_something(self, numbering: NumberedGraph, node: Node) -> bool:
        """Whether a node computes something and is not just a constant in another notation."""
        return (
            any(v is not None and numbering.producer_or_folded_node(v) is node for v in node.outputs)
            and self.correspondence.is_bit_exact
        )

    def pair(self, left: Node, right: Node, exact: bool = False) -> None:
        """Pair two nodes; ``exact``: they have equal value numbers, which other nodes may share."""
        self.correspondence.nodes_by_left[left], self.correspondence.nodes_by_right[right] = right, left
        if not exact:
            for a, b in zip(left.outputs, right.outputs, strict=False):
                if a is not None and b is not None:
                    self.correspondence.identify(a, b)
        if isinstance(left, If) and isinstance(right, If):
            for (_, branch), (_, other_branch) in zip(bodies(left), bodies(right), strict=True):
                self._align_subgraphs(
                    branch, other_branch, list(zip(branch.outputs, other_branch.outputs, strict=False))
                )

    # -- backward

    def match_backward(self, left: Graph, right: Graph, results: Sequence[tuple[Value, Value]]) -> bool:
        """Match from results with the same use back to their producers; returns whether a pair was added."""
        mapping = self.correspondence
        left_nodes, right_nodes = set(left.nodes), set(right.nodes)
        count, seen, worklist = len(mapping.nodes_by_left), set(), list(results)
        while worklist:
            a, b = worklist.pop()
            left_origin, right_origin = mapping.left.origin(a), mapping.right.origin(b)
            if (left_origin, right_origin) in seen:
                continue
            node, twin = self._producers_with_same_use(left_origin, right_origin)
            if node is None or twin is None:
                continue
            seen.add((left_origin, right_origin))
            if node not in left_nodes and twin not in right_nodes:
                self.outer_value_pairs[left_origin, right_origin] = None
                continue
            # A node that no longer reads a loop value moves out of the loop but is still the same node.
            if (node not in left_nodes or twin not in right_nodes) and not mapping.same_operator(node, twin):
                continue
            if node not in mapping.nodes_by_left and twin not in mapping.nodes_by_right:
                # Different results have different uses.
                if node.outputs.index(left_origin) != twin.outputs.index(right_origin) or not _can_pair(node, twin):
                    continue
                self.pair(node, twin)
            if mapping.nodes_by_left.get(node) is twin and mapping.same_operator(node, twin):
                worklist += [(a.value, b.value) for a, b in mapping.input_pairs(node, twin)]
        return len(mapping.nodes_by_left) > count

    def _producers_with_same_use(self, left: Value, right: Value) -> tuple[Node | None, Node | None]:
        """The nodes that compute two values with the same use; nodes that compute a constant are included if the values
        differ."""
        mapping = self.correspondence
        if mapping.is_bit_exact and not mapping.same_value(left, right):
            return mapping.left.producer_or_folded_node(left), mapping.right.producer_or_folded_node(right)
        return mapping.left.producer(left), mapping.right.producer(right)


class _ForwardPass:
    """One forward pass: pairs nodes of equal groups by their names and uses."""

    def __init__(
        self,
        matcher: NodeMatcher,
        uses: SignaturePair,
        namesakes: tuple[Mapping[str, Node], Mapping[str, Node]],
        careful: bool,
        relaxed: bool,
        left_groups: _Groups,
        right_groups: _Groups,
    ) -> None:
        self._matcher = matcher
        self._use_signatures = uses
        self._namesakes = namesakes
        self._careful = careful
        self._relaxed = relaxed
        #: By side, operators in groups without an unpaired node on the other side, with the uses of their results.
        self._unmatched_uses = (
            self._collect_unmatched_uses(0, left_groups, right_groups),
            self._collect_unmatched_uses(1, right_groups, left_groups),
        )

    def pair(self, nodes: Sequence[Node], others: list[Node]) -> None:
        """Pair nodes of equal groups: by name, by use, then in order."""
        unpaired = list(nodes)
        for fits in (self._same_name, self._same_use, self._same_numbered_name):
            self._pair_where(fits, unpaired, others)
        if not self._careful or len(unpaired) == len(others):
            self._pair_where(self._has_no_rival, unpaired, others)

    def _pair_where(self, fits: Callable[[Node, Node], bool], nodes: list[Node], others: list[Node]) -> None:
        """Pair nodes that fit, best name match first; both lists keep the rest."""
        for node in list(nodes):
            name = display_name(node)
            candidates = [other for other in others if fits(node, other)]
            other = max(candidates, key=lambda candidate: name_evidence(name, display_name(candidate)), default=None)
            if other is not None:
                nodes.remove(node)
                others.remove(other)
                self._matcher.pair(node, other, exact=not self._relaxed)

    def _same_name(self, node: Node, other: Node) -> bool:
        return display_name(node) == display_name(other) and not is_numbered_name(display_name(node))

    def _same_use(self, node: Node, other: Node) -> bool:
        uses = self._use_signature(0, node), self._use_signature(1, other)
        return uses[0] == uses[1] is not None and not self._has_namesake(node, other)

    def _same_numbered_name(self, node: Node, other: Node) -> bool:
        return display_name(node) == display_name(other) and not self._relaxed and not self._use_moved(node, other)

    def _has_no_rival(self, node: Node, other: Node) -> bool:
        return not self._has_namesake(node, other) and not self._use_moved(node, other)

    def _has_namesake(self, node: Node, other: Node) -> bool:
        """Whether one of the names belongs to another node of the same operator on the other side. That node is then
        the same one with changed operands, unless exporters assign such names."""
        if display_name(node) == display_name(other):
            return False
        pairs = (node, self._namesakes[1].get(display_name(node))), (self._namesakes[0].get(display_name(other)), other)
        return any(a is not None and b is not None and self._could_match(a, b) for a, b in pairs)

    def _could_match(self, left: Node, right: Node) -> bool:
        mapping = self._matcher.correspondence
        if left in mapping.nodes_by_left or right in mapping.nodes_by_right or is_numbered_name(display_name(left)):
            return False
        return canonical_operator(left) == canonical_operator(right) and len(left.outputs) == len(right.outputs)

    def _use_moved(self, node: Node, other: Node) -> bool:
        """Whether the use of one result is the use of an unmatched result on the other side: a node was inserted into
        or removed from a chain of equal nodes, and the uses tell which one."""
        uses = self._operator_and_use(0, node), self._operator_and_use(1, other)
        return uses[0] != uses[1] and (uses[0] in self._unmatched_uses[1] or uses[1] in self._unmatched_uses[0])

    def _collect_unmatched_uses(self, side: int, groups: _Groups, others: _Groups) -> set[Hashable]:
        unmatched = {
            self._operator_and_use(side, node) for key, nodes in groups.items() if key not in others for node in nodes
        }
        return unmatched - {None}

    def _operator_and_use(self, side: int, node: Node) -> Hashable:
        uses = self._use_signature(side, node)
        return None if uses is None else (canonical_operator(node), uses)

    def _use_signature(self, side: int, node: Node) -> Hashable:
        return self._use_signatures[side].signatures(node.outputs)


def _unmatched_by_name(graph: Graph, paired: Mapping[Node, Node]) -> dict[str, Node]:
    return {display_name(node): node for node in graph.nodes if node not in paired}


def _can_pair(left: Node, right: Node) -> bool:
    """Whether two nodes can correspond."""
    if isinstance(left, Loop) or isinstance(right, Loop) or len(left.outputs) != len(right.outputs):
        return False
    if isinstance(left, If) is not isinstance(right, If):
        return False
    return canonical_operator(left) == canonical_operator(right) or len(left.inputs) == len(right.inputs)


def display_name(node: Node) -> str:
    """The user-visible name of a node: its first result, which keeps its name where the node has none."""
    first = next((value for value in node.outputs if value is not None), None)
    return node.name if first is None else first.name
