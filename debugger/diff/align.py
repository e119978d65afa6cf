"""Which part of one model is which of another, told by structure: operators, attributes, what is wired to what.

Where numbers (halves.py) no longer fit, constants of one type may stand for each other; then results that have one
purpose (a back edge, a condition, an output) are followed backward, so that one operator can stand for another. A name
decides only between things that are alike otherwise, and one that ends in a number, which exporters give and shift,
counts least.

What corresponds: correspondence.py; the nodes of graphs: node_pairs.py; the ports of loops: port_pairs.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from ...runtime.graph import BackEdge, Graph, Loop, Node, Value, walk
from .correspondence import Correspondence
from .node_pairs import Both, NodePairs
from .normal import operator
from .port_pairs import PortPairs, is_known
from .ports import LoopPair, best_pairs, fit
from .purposes import Purposes

#: Pairs of values with one purpose.
_Results = list[tuple[Value, Value]]
#: By side, what a graph gives out, and as what.
_Ends = tuple[Sequence[tuple[Value, Hashable]], Sequence[tuple[Value, Hashable]]]


#: What computes nothing: one exporter writes it and another does not.
_SILENT = frozenset({"Identity", "Constant"})
#: What one system needs between what computes, and the other does not.
_BETWEEN = _SILENT | {"Reshape", "Shape", "ShapeOf", "Squeeze", "Unsqueeze"}


def likeness(left: Loop, right: Loop) -> float:
    """How much of two bodies is the same operators: from 0 to 1."""
    counts: dict[str, list[int]] = {}
    silent = _SILENT if left.system is right.system else _BETWEEN
    for k, loop in enumerate((left, right)):
        for node in (node for node in walk(loop.body) if node.op_type not in silent):
            counts.setdefault(operator(node), [0, 0])[k] += 1
    every = sum(max(pair) for pair in counts.values())
    return sum(min(pair) for pair in counts.values()) / every if every else 1.0


class Alignment(Correspondence):
    """Two models, aligned; ``loops``: those that are compared."""

    def __init__(
        self, left: Graph, right: Graph, loops: Iterable[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(left, right, names)
        self._nodes = NodePairs(self, self._graphs)
        self._ports = PortPairs(self, self._nodes)
        self._wanted = dict(loops)
        self._given()
        self._graphs(left, right, list(zip(left.outputs, right.outputs, strict=False)))
        for one, other in self._wanted.items():
            if one not in self.loops:
                self._loop(one, other, self._purposes((), ()))

    # -- what both are given

    def _given(self) -> None:
        """Inputs of the models: as they are given, by the names that are given and by name, the others in order."""

        def fits(a: Value, b: Value) -> float | None:
            mark = fit(a, b)
            return None if mark is None else mark + 2.0 * (a.name == b.name)

        for a, b, _ in best_pairs(self.left.graph.inputs, self.right.graph.inputs, _named, fits, self.names):
            self.fix(a, b)

    # -- graphs

    def _graphs(self, left: Graph, right: Graph, results: _Results, ends: _Ends = ((), ())) -> None:
        """Align two graphs and what is inside them; ``ends``: what they give out beside the results."""
        purposes = self._purposes(left.nodes, right.nodes, results, ends)
        self._nodes.forward(left, right, purposes)
        there = set(right.nodes)
        for node in left.nodes:
            if isinstance(node, Loop) and self._wanted.get(node) in there and node not in self.loops:
                self._loop(node, self._wanted[node], purposes)
                self._nodes.forward(left, right, purposes)
        # What loops are fed has one purpose too, also where nothing reads what they give.
        fed = [
            (a.value, b.value)
            for node in left.nodes
            if isinstance(node, Loop) and node in self.loops and self.nodes[node] in there
            for a, b in self.inputs(node, self.nodes[node])
        ]
        for careful in (True, False):
            while self._nodes.backward(left, right, [*fed, *results, *self._nodes.outside]):
                self._nodes.forward(left, right, purposes, careful)
            self._nodes.forward(left, right, purposes, careful=False)

    def _purposes(
        self,
        left: Sequence[Node],
        right: Sequence[Node],
        results: Iterable[tuple[Value, Value]] = (),
        ends: _Ends = ((), ()),
    ) -> Both:
        pairs = list(enumerate(results))
        one = Purposes(self.left, self.table, left, [*ends[0], *((a, k) for k, (a, _) in pairs)])
        return one, Purposes(self.right, self.table, right, [*ends[1], *((b, k) for k, (_, b) in pairs)])

    # -- loops

    def _loop(self, left: Loop, right: Loop, around: Both) -> None:
        """Align two loops; ``around``: what becomes of values in the graphs that they stand in."""
        pair = self.loops[left] = LoopPair(left, right)
        self.nodes[left], self.partners[right] = right, left
        # Where one side alone has its condition among what it carries, that is the other's condition.
        carried = self._ports.carried_conditions(left, right)
        apart = [edge for edge in carried if edge is not None] if None in carried else []
        self._received(pair, carried, apart, around)
        results = [(a.result, b.result) for a, b, _ in pair.edges] + self._decided(pair, carried, apart)
        self._note_known(pair, apart)
        ends = _collected(left, around[0]), _collected(right, around[1])
        self._graphs(left.body, right.body, results, ends)
        pair.scans = self._ports.scans(left, right, around)
        self._graphs(left.body, right.body, [*results, *((a.result, b.result) for a, b, _ in pair.scans)], ends)
        self._ports.last_values(pair, around)
        given_out = [(a.outer, b.outer) for a, b, _ in pair.scans] + [(a.outer, b.outer) for a, b, _ in pair.lasts]
        for outer, other in given_out:
            self.fix(outer, other)

    def _received(
        self, pair: LoopPair, carried: Sequence[BackEdge | None], apart: Sequence[BackEdge], around: Both
    ) -> None:
        """What the bodies are given in each iteration."""
        left, right = pair.left, pair.right
        conditions = [
            edge.param if edge is not None and apart else loop.condition_input
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        for one, other in ((left.iteration, right.iteration), conditions):
            if one is not None and other is not None:
                self.fix(one, other)
        pair.slices = self._ports.slices(left, right)
        for a, b, _ in pair.slices:
            self.fix(a.inner, b.inner)
        pair.edges = self._ports.edges(left, right, apart, around)
        for edge, other_edge, _ in pair.edges:
            self.fix(edge.param, other_edge.param)

    def _decided(self, pair: LoopPair, carried: Sequence[BackEdge | None], apart: Sequence[BackEdge]) -> _Results:
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

    def _note_known(self, pair: LoopPair, apart: Sequence[BackEdge]) -> None:
        """What one side alone carries, and the other has without it."""
        for k, (half, loop) in enumerate(((self.left, pair.left), (self.right, pair.right))):
            there = {(a, b)[k].param for a, b, _ in pair.edges}
            alone = [edge for edge in loop.back_edges if edge.param not in there and edge not in apart]
            pair.known[k].extend(edge.param.name for edge in alone if is_known(half, loop, edge))


def _collected(loop: Loop, around: Purposes) -> list[tuple[Value, Hashable]]:
    """What a body gives to outputs that are no carried value's, by what becomes of those."""
    ports = [(scan.result, scan.outer) for scan in loop.scan_outputs]
    ports += [(last.result, last.outer) for last in loop.last_values if loop.edge_of(last) is None]
    return [(result, ("given out", around.of(outer))) for result, outer in ports if around.of(outer) is not None]


def _named(value: Value) -> str:
    return value.name
