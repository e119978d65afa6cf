"""Structural graph alignment of two models: operators, attributes, topology.

Nodes whose value numbers (value_numbering.py) differ are matched in two further steps: by the types of their constants,
and backward from results with the same use (back edge, condition, output), so that different operators can correspond.
A name only decides between equal candidates; a trailing number, which exporters assign and shift, counts least.

See also correspondence.py (the result), node_matching.py (nodes), port_matching.py (loop ports).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from ....runtime.graph import BackEdge, Graph, Loop, Node, Value, walk
from .correspondence import Correspondence
from .loop_ports import LoopAlignment, best_matches, type_fit
from .node_matching import NodeMatcher, SignaturePair
from .normal_form import canonical_operator
from .port_matching import PortMatcher, is_condition_or_counter
from .use_signatures import UseSignatures

#: Pairs of values with the same use.
_ValuePairs = list[tuple[Value, Value]]
#: By side, the results of a graph and their roles.
_GraphEnds = tuple[Sequence[tuple[Value, Hashable]], Sequence[tuple[Value, Hashable]]]


#: Operators without a computation, which only some exporters write.
_NO_COMPUTATION = frozenset({"Identity", "Constant"})
#: Further operators that only one of two systems needs between computations.
_NO_COMPUTATION_ACROSS_SYSTEMS = _NO_COMPUTATION | {"Reshape", "Shape", "ShapeOf", "Squeeze", "Unsqueeze"}


def body_similarity(left: Loop, right: Loop) -> float:
    """The fraction of operators that two bodies have in common, from 0 to 1."""
    counts: dict[str, list[int]] = {}
    ignored = _NO_COMPUTATION if left.system is right.system else _NO_COMPUTATION_ACROSS_SYSTEMS
    for k, loop in enumerate((left, right)):
        for node in (node for node in walk(loop.body) if node.op_type not in ignored):
            counts.setdefault(canonical_operator(node), [0, 0])[k] += 1
    total = sum(max(pair) for pair in counts.values())
    return sum(min(pair) for pair in counts.values()) / total if total else 1.0


class Alignment(Correspondence):
    """The alignment of two models; ``loops``: the pairs of loops to compare."""

    def __init__(
        self, left: Graph, right: Graph, loops: Iterable[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(left, right, names)
        self._node_matcher = NodeMatcher(self, self._align_graphs)
        self._port_matcher = PortMatcher(self, self._node_matcher)
        self._compared_loops = dict(loops)
        self._align_inputs()
        self._align_graphs(left, right, list(zip(left.outputs, right.outputs, strict=False)))
        for left_loop, right_loop in self._compared_loops.items():
            if left_loop not in self.loops:
                self._align_loops(left_loop, right_loop, self._use_signatures((), ()))

    # -- model inputs

    def _align_inputs(self) -> None:
        """Pair the inputs of the models: by the mapping of names, by name, then by position."""

        def fits(a: Value, b: Value) -> float | None:
            score = type_fit(a, b)
            return None if score is None else score + 2.0 * (a.name == b.name)

        for a, b, _ in best_matches(self.left.graph.inputs, self.right.graph.inputs, _value_name, fits, self.names):
            self.identify(a, b)

    # -- graphs

    def _align_graphs(self, left: Graph, right: Graph, results: _ValuePairs, ends: _GraphEnds = ((), ())) -> None:
        """Align two graphs and their subgraphs; ``ends``: results of the graphs other than ``results``."""
        use_signatures = self._use_signatures(left.nodes, right.nodes, results, ends)
        self._node_matcher.match_forward(left, right, use_signatures)
        right_nodes = set(right.nodes)
        for node in left.nodes:
            if isinstance(node, Loop) and self._compared_loops.get(node) in right_nodes and node not in self.loops:
                self._align_loops(node, self._compared_loops[node], use_signatures)
                self._node_matcher.match_forward(left, right, use_signatures)
        # Operands of paired loops have the same use, even where nothing reads the loops' results.
        inputs = [
            (a.value, b.value)
            for node in left.nodes
            if isinstance(node, Loop) and node in self.loops and self.nodes_by_left[node] in right_nodes
            for a, b in self.input_pairs(node, self.nodes_by_left[node])
        ]
        for careful in (True, False):
            while self._node_matcher.match_backward(
                left, right, [*inputs, *results, *self._node_matcher.outer_value_pairs]
            ):
                self._node_matcher.match_forward(left, right, use_signatures, careful)
            self._node_matcher.match_forward(left, right, use_signatures, careful=False)

    def _use_signatures(
        self,
        left: Sequence[Node],
        right: Sequence[Node],
        results: Iterable[tuple[Value, Value]] = (),
        ends: _GraphEnds = ((), ()),
    ) -> SignaturePair:
        pairs = list(enumerate(results))
        left_uses = UseSignatures(self.left, self.table, left, [*ends[0], *((a, k) for k, (a, _) in pairs)])
        return left_uses, UseSignatures(self.right, self.table, right, [*ends[1], *((b, k) for k, (_, b) in pairs)])

    # -- loops

    def _align_loops(self, left: Loop, right: Loop, uses: SignaturePair) -> None:
        """Align two loops; ``uses``: uses of values in the enclosing graphs."""
        pair = self.loops[left] = LoopAlignment(left, right)
        self.nodes_by_left[left], self.nodes_by_right[right] = right, left
        # A condition that only one side carries corresponds to the condition of the other side.
        carried = self._port_matcher.carried_conditions(left, right)
        cond_edges = [edge for edge in carried if edge is not None] if None in carried else []
        self._align_body_inputs(pair, carried, cond_edges, uses)
        results = [(a.result, b.result) for a, b, _ in pair.edges] + self._condition_results(pair, carried, cond_edges)
        self._note_one_sided(pair, cond_edges)
        ends = _collected_results(left, uses[0]), _collected_results(right, uses[1])
        self._align_graphs(left.body, right.body, results, ends)
        pair.scans = self._port_matcher.match_scan_outputs(left, right, uses)
        self._align_graphs(left.body, right.body, [*results, *((a.result, b.result) for a, b, _ in pair.scans)], ends)
        self._port_matcher.match_last_values(pair, uses)
        outer_pairs = [(a.outer, b.outer) for a, b, _ in pair.scans] + [
            (a.outer, b.outer) for a, b, _ in pair.last_values
        ]
        for left_value, right_value in outer_pairs:
            self.identify(left_value, right_value)

    def _align_body_inputs(
        self, pair: LoopAlignment, carried: Sequence[BackEdge | None], skipped: Sequence[BackEdge], uses: SignaturePair
    ) -> None:
        """Pair the inputs of the bodies."""
        left, right = pair.left, pair.right
        conditions = [
            edge.param if edge is not None and skipped else loop.condition_input
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        for left_value, right_value in ((left.iteration, right.iteration), conditions):
            if left_value is not None and right_value is not None:
                self.identify(left_value, right_value)
        pair.slices = self._port_matcher.match_slices(left, right)
        for a, b, _ in pair.slices:
            self.identify(a.inner, b.inner)
        pair.edges = self._port_matcher.match_back_edges(left, right, skipped, uses)
        for edge, other_edge, _ in pair.edges:
            self.identify(edge.param, other_edge.param)

    def _condition_results(
        self, pair: LoopAlignment, carried: Sequence[BackEdge | None], cond_edges: Sequence[BackEdge]
    ) -> _ValuePairs:
        """The values that decide whether another iteration follows, if both sides have one."""
        left_value, right_value = (
            edge.result if edge is not None and cond_edges else loop.condition or loop.ignored_condition
            for edge, loop in zip(carried, (pair.left, pair.right), strict=True)
        )
        if left_value is None or right_value is None:
            return []
        if cond_edges:
            names = [
                value.name if edge is None else edge.param.name
                for edge, value in zip(carried, (left_value, right_value), strict=True)
            ]
            pair.condition = names[0], names[1]
        return [(left_value, right_value)]

    def _note_one_sided(self, pair: LoopAlignment, cond_edges: Sequence[BackEdge]) -> None:
        """Record carried conditions and counters that the other side does not carry."""
        for k, (graph, loop) in enumerate(((self.left, pair.left), (self.right, pair.right))):
            paired = {(a, b)[k].param for a, b, _ in pair.edges}
            unpaired = [edge for edge in loop.back_edges if edge.param not in paired and edge not in cond_edges]
            pair.one_sided[k].extend(edge.param.name for edge in unpaired if is_condition_or_counter(graph, loop, edge))


def _collected_results(loop: Loop, uses: UseSignatures) -> list[tuple[Value, Hashable]]:
    """Results of a body that leave the loop but are not carried, with the uses of the outer values."""
    ports = [(scan.result, scan.outer) for scan in loop.scan_outputs]
    ports += [(last.result, last.outer) for last in loop.last_values if loop.back_edge_for(last) is None]
    return [
        (result, ("given out", uses.signature(outer))) for result, outer in ports if uses.signature(outer) is not None
    ]


def _value_name(value: Value) -> str:
    return value.name
