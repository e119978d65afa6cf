"""Matches the ports of two loops: carried values, slices, scan outputs and last values."""

from __future__ import annotations

from collections.abc import Sequence

from ....runtime.graph import Array, BackEdge, LastValueOutput, Loop, ScanOutput, SlicedInput
from ...describe.termination import begins_with_condition, carried_condition
from .back_edge_similarity import BackEdgeSimilarity
from .correspondence import Correspondence
from .loop_ports import LoopAlignment, best_matches, name_evidence, same_slicing, type_fit
from .node_matching import NodeMatcher, SignaturePair
from .normal_form import canonical_operator
from .value_numbering import NumberedGraph


class PortMatcher:
    """Matches the loop ports of two models."""

    def __init__(self, correspondence: Correspondence, node_matcher: NodeMatcher) -> None:
        self._correspondence = correspondence
        self._node_matcher = node_matcher

    def carried_conditions(self, left: Loop, right: Loop) -> tuple[BackEdge | None, BackEdge | None]:
        """The edges that carry the condition to the next iteration. In an IR this is the only way to pass the condition
        to the body: there the edge corresponds to the other side's condition input."""
        edges = carried_condition(left), carried_condition(right)
        if edges == (None, None) and (left.condition_input is None) is not (right.condition_input is None):
            condition = left.condition_input or right.condition_input
            assert condition is not None
            graphs = (self._correspondence.left, left), (self._correspondence.right, right)
            left_edge, right_edge = (
                None if loop.condition_input is not None else _condition_carrying_edge(graph, loop, condition.name)
                for graph, loop in graphs
            )
            return left_edge, right_edge
        return edges

    def match_slices(self, left: Loop, right: Loop) -> list[tuple[SlicedInput, SlicedInput, str]]:
        def score(a: SlicedInput, b: SlicedInput) -> float | None:
            fit = type_fit(a.outer, b.outer)
            return (
                None
                if fit is None
                else fit + 2.0 * self._correspondence.same_value(a.outer, b.outer) + same_slicing(a, b)
            )

        return best_matches(
            left.sliced_inputs, right.sliced_inputs, lambda port: port.inner.name, score, self._correspondence.names
        )

    def match_back_edges(
        self, left: Loop, right: Loop, skipped: Sequence[BackEdge], uses: SignaturePair
    ) -> list[tuple[BackEdge, BackEdge, str]]:
        """Pair back edges: by initial values, computation in the body and uses after the loop (``uses``);
        ``skipped`` are not paired."""
        edges = [[edge for edge in loop.back_edges if edge not in skipped] for loop in (left, right)]
        scorer = BackEdgeSimilarity(self._correspondence, self._node_matcher, (left, right), uses)
        return best_matches(edges[0], edges[1], lambda edge: edge.param.name, scorer.score, self._correspondence.names)

    def match_scan_outputs(
        self, left: Loop, right: Loop, uses: SignaturePair
    ) -> list[tuple[ScanOutput, ScanOutput, str]]:
        """Pair scan outputs: by the collected values and by uses after the loop."""

        def score(a: ScanOutput, b: ScanOutput) -> float | None:
            fit = type_fit(a.result, b.result)
            sinks = uses[0].signature(a.outer), uses[1].signature(b.outer)
            equal = self._correspondence.same_value(a.result, b.result) + (sinks[0] == sinks[1] is not None)
            return None if fit is None else fit + 2.0 * equal

        pairs = best_matches(
            left.scan_outputs, right.scan_outputs, lambda scan: scan.outer.name, score, self._correspondence.names
        )
        paired, used = {a for a, _, _ in pairs}, {b for _, b, _ in pairs}
        # Unpaired scan outputs are paired by position.
        for a in left.scan_outputs:
            b = next((b for b in right.scan_outputs if b not in used and self._same_position(left, right, a, b)), None)
            if a not in paired and b is not None:
                pairs.append((a, b, "position"))
        return pairs

    def match_last_values(self, pair: LoopAlignment, uses: SignaturePair) -> None:
        """Pair last values, each at most once."""
        edges = {a: b for a, b, _ in pair.edges}
        left, right, free = pair.left, pair.right, list(pair.right.last_values)

        def same(last: LastValueOutput, other: LastValueOutput) -> bool:
            edge, other_edge = left.back_edge_for(last), right.back_edge_for(other)
            if edge is None or other_edge is None:
                return self._correspondence.same_value(last.result, other.result)
            return edges.get(edge) is other_edge

        def becomes_one(last: LastValueOutput, other: LastValueOutput) -> bool:
            signatures = uses[0].signature(last.outer), uses[1].signature(other.outer)
            return self._same_position(left, right, last, other) or signatures[0] == signatures[1] is not None

        # Several last values of one carried value are paired by position or by use.
        for same_edge, strict in ((True, True), (True, False), (False, True)):
            for last in left.last_values:
                for other in () if any(last is a for a, _, _ in pair.last_values) else free:
                    fits = becomes_one(last, other) if same_edge else self._same_position(left, right, last, other)
                    if same(last, other) >= same_edge and fits >= strict:
                        free.remove(other)
                        pair.last_values.append((last, other, same_edge))
                        break

    def _same_position(self, left: Loop, right: Loop, a: object, b: object) -> bool:
        """Whether two outputs have the same index among the outputs of their loops."""
        positions = [
            loop.outputs.index(port.outer)  # type: ignore[attr-defined]
            for loop, port in ((left, a), (right, b))
            if port.outer in loop.outputs  # type: ignore[attr-defined]
        ]
        return self._correspondence.same_system and len(positions) == 2 and positions[0] == positions[1]


def _condition_carrying_edge(graph: NumberedGraph, loop: Loop, name: str) -> BackEdge | None:
    """The edge that carries the condition; ``name`` decides if there are several."""
    if loop.condition is None:
        return None
    result = graph.origin(loop.condition)
    edges = [edge for edge in loop.back_edges if graph.origin(edge.result) is result]
    edges = [edge for edge in edges if begins_with_condition(edge, loop, graph.origins)]
    return max(edges, key=lambda edge: name_evidence(name, edge.param.name), default=None)


def is_condition_or_counter(graph: NumberedGraph, loop: Loop, edge: BackEdge) -> bool:
    """Whether a carried value is the condition or counts the iterations."""
    result = graph.origin(edge.result)
    if loop.condition is not None and result is graph.origin(loop.condition):
        return True
    node = graph.producer(result)
    if node is None or canonical_operator(node) != "+" or isinstance(edge.initial, SlicedInput):
        return False
    step = [
        graph.origin_constant(value)
        for value in node.inputs
        if value is not None and graph.origin(value) is not edge.param
    ]
    initial = graph.origin_constant(edge.initial)
    return len(step) == 1 and _is_integer_constant(initial, 0) and _is_integer_constant(step[0], 1)


def _is_integer_constant(data: Array | None, number: int) -> bool:
    return data is not None and data.dtype.kind in "iu" and data.size == 1 and int(data.reshape(-1)[0]) == number
