"""Which part of one model is which of another, told by structure: operators, attributes, what is wired to what.

Where numbers (halves.py) no longer fit, constants of one type may stand for each other; then results that have one
purpose (a back edge, a condition, an output) are followed backward, so that one operator can stand for another. A name
decides only between things that are alike otherwise, and one that ends in a number, which exporters give and shift,
counts least.

What corresponds: correspondence.py; the nodes of graphs: node_pairs.py; the ports of loops: port_pairs.py.
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

#: Pairs of values with one purpose.
_ValuePairs = list[tuple[Value, Value]]
#: By side, what a graph gives out, and as what.
_GraphEnds = tuple[Sequence[tuple[Value, Hashable]], Sequence[tuple[Value, Hashable]]]


#: What computes nothing: one exporter writes it and another does not.
_NO_COMPUTATION = frozenset({"Identity", "Constant"})
#: What one system needs between what computes, and the other does not.
_NO_COMPUTATION_ACROSS_SYSTEMS = _NO_COMPUTATION | {"Reshape", "Shape", "ShapeOf", "Squeeze", "Unsqueeze"}


def body_similarity(left: Loop, right: Loop) -> float:
    """How much of two bodies is the same operators: from 0 to 1."""
    counts: dict[str, list[int]] = {}
    silent = _NO_COMPUTATION if left.system is right.system else _NO_COMPUTATION_ACROSS_SYSTEMS
    for k, loop in enumerate((left, right)):
        for node in (node for node in walk(loop.body) if node.op_type not in silent):
            counts.setdefault(canonical_operator(node), [0, 0])[k] += 1
    every = sum(max(pair) for pair in counts.values())
    return sum(min(pair) for pair in counts.values()) / every if every else 1.0


class Alignment(Correspondence):
    """Two models, aligned; ``loops``: those that are compared."""

    def __init__(
        self, left: Graph, right: Graph, loops: Iterable[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(left, right, names)
        self._node_matcher = NodeMatcher(self, self._align_graphs)
        self._port_matcher = PortMatcher(self, self._node_matcher)
        self._compared_loops = dict(loops)
        self._align_inputs()
        self._align_graphs(left, right, list(zip(left.outputs, right.outputs, strict=False)))
        for one, other in self._compared_loops.items():
            if one not in self.loops:
                self._align_loops(one, other, self._use_signatures((), ()))

    # -- what both are given

    def _align_inputs(self) -> None:
        """Inputs of the models: as they are given, by the names that are given and by name, the others in order."""

        def fits(a: Value, b: Value) -> float | None:
            mark = type_fit(a, b)
            return None if mark is None else mark + 2.0 * (a.name == b.name)

        for a, b, _ in best_matches(self.left.graph.inputs, self.right.graph.inputs, _value_name, fits, self.names):
            self.identify(a, b)

    # -- graphs

    def _align_graphs(self, left: Graph, right: Graph, results: _ValuePairs, ends: _GraphEnds = ((), ())) -> None:
        """Align two graphs and what is inside them; ``ends``: what they give out beside the results."""
        purposes = self._use_signatures(left.nodes, right.nodes, results, ends)
        self._node_matcher.match_forward(left, right, purposes)
        there = set(right.nodes)
        for node in left.nodes:
            if isinstance(node, Loop) and self._compared_loops.get(node) in there and node not in self.loops:
                self._align_loops(node, self._compared_loops[node], purposes)
                self._node_matcher.match_forward(left, right, purposes)
        # What loops are fed has one purpose too, also where nothing reads what they give.
        fed = [
            (a.value, b.value)
            for node in left.nodes
            if isinstance(node, Loop) and node in self.loops and self.nodes_by_left[node] in there
            for a, b in self.input_pairs(node, self.nodes_by_left[node])
        ]
        for careful in (True, False):
            while self._node_matcher.match_backward(
                left, right, [*fed, *results, *self._node_matcher.outer_value_pairs]
            ):
                self._node_matcher.match_forward(left, right, purposes, careful)
            self._node_matcher.match_forward(left, right, purposes, careful=False)

    def _use_signatures(
        self,
        left: Sequence[Node],
        right: Sequence[Node],
        results: Iterable[tuple[Value, Value]] = (),
        ends: _GraphEnds = ((), ()),
    ) -> SignaturePair:
        pairs = list(enumerate(results))
        one = UseSignatures(self.left, self.table, left, [*ends[0], *((a, k) for k, (a, _) in pairs)])
        return one, UseSignatures(self.right, self.table, right, [*ends[1], *((b, k) for k, (_, b) in pairs)])

    # -- loops

    def _align_loops(self, left: Loop, right: Loop, around: SignaturePair) -> None:
        """Align two loops; ``around``: what becomes of values in the graphs that they stand in."""
        pair = self.loops[left] = LoopAlignment(left, right)
        self.nodes_by_left[left], self.nodes_by_right[right] = right, left
        # Where one side alone has its condition among what it carries, that is the other's condition.
        carried = self._port_matcher.carried_conditions(left, right)
        apart = [edge for edge in carried if edge is not None] if None in carried else []
        self._align_body_inputs(pair, carried, apart, around)
        results = [(a.result, b.result) for a, b, _ in pair.edges] + self._condition_results(pair, carried, apart)
        self._note_one_sided(pair, apart)
        ends = _collected_results(left, around[0]), _collected_results(right, around[1])
        self._align_graphs(left.body, right.body, results, ends)
        pair.scans = self._port_matcher.match_scan_outputs(left, right, around)
        self._align_graphs(left.body, right.body, [*results, *((a.result, b.result) for a, b, _ in pair.scans)], ends)
        self._port_matcher.match_last_values(pair, around)
        given_out = [(a.outer, b.outer) for a, b, _ in pair.scans] + [
            (a.outer, b.outer) for a, b, _ in pair.last_values
        ]
        for outer, other in given_out:
            self.identify(outer, other)

    def _align_body_inputs(
        self, pair: LoopAlignment, carried: Sequence[BackEdge | None], apart: Sequence[BackEdge], around: SignaturePair
    ) -> None:
        """What the bodies are given in each iteration."""
        left, right = pair.left, pair.right
        conditions = [
            edge.param if edge is not None and apart else loop.condition_input
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        for one, other in ((left.iteration, right.iteration), conditions):
            if one is not None and other is not None:
                self.identify(one, other)
        pair.slices = self._port_matcher.match_slices(left, right)
        for a, b, _ in pair.slices:
            self.identify(a.inner, b.inner)
        pair.edges = self._port_matcher.match_back_edges(left, right, apart, around)
        for edge, other_edge, _ in pair.edges:
            self.identify(edge.param, other_edge.param)

    def _condition_results(
        self, pair: LoopAlignment, carried: Sequence[BackEdge | None], apart: Sequence[BackEdge]
    ) -> _ValuePairs:
        """What decides whether another iteration follows, where both have it."""
        one, other = (
            edge.result if edge is not None and apart else loop.condition or loop.ignored_condition
            for edge, loop in zip(carried, (pair.left, pair.right), strict=True)
        )
        if one is None or other is None:
            return []
        if apart:
            names = [
                value.name if edge is None else edge.param.name
                for edge, value in zip(carried, (one, other), strict=True)
            ]
            pair.condition = names[0], names[1]
        return [(one, other)]

    def _note_one_sided(self, pair: LoopAlignment, apart: Sequence[BackEdge]) -> None:
        """What one side alone carries, and the other has without it."""
        for k, (half, loop) in enumerate(((self.left, pair.left), (self.right, pair.right))):
            there = {(a, b)[k].param for a, b, _ in pair.edges}
            alone = [edge for edge in loop.back_edges if edge.param not in there and edge not in apart]
            pair.one_sided[k].extend(edge.param.name for edge in alone if is_condition_or_counter(half, loop, edge))


def _collected_results(loop: Loop, around: UseSignatures) -> list[tuple[Value, Hashable]]:
    """What a body gives to outputs that are no carried value's, by what becomes of those."""
    ports = [(scan.result, scan.outer) for scan in loop.scan_outputs]
    ports += [(last.result, last.outer) for last in loop.last_values if loop.back_edge_for(last) is None]
    return [
        (result, ("given out", around.signature(outer)))
        for result, outer in ports
        if around.signature(outer) is not None
    ]


def _value_name(value: Value) -> str:
    return value.name
