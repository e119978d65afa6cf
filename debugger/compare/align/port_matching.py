"""Which port of one loop is which of another: what is carried, sliced, collected and given out at the end."""

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
    """The ports of two models' loops."""

    def __init__(self, known: Correspondence, nodes: NodeMatcher) -> None:
        self._correspondence = known
        self._node_matcher = nodes

    def carried_conditions(self, left: Loop, right: Loop) -> tuple[BackEdge | None, BackEdge | None]:
        """The edges that carry the condition from one iteration to the next. An IR has no other way to tell a body its
        condition: there it is the other side's condition input."""
        found = carried_condition(left), carried_condition(right)
        if found == (None, None) and (left.condition_input is None) is not (right.condition_input is None):
            wanted = left.condition_input or right.condition_input
            assert wanted is not None
            halves = (self._correspondence.left, left), (self._correspondence.right, right)
            one, other = (
                None if loop.condition_input is not None else _condition_carrying_edge(half, loop, wanted.name)
                for half, loop in halves
            )
            return one, other
        return found

    def match_slices(self, left: Loop, right: Loop) -> list[tuple[SlicedInput, SlicedInput, str]]:
        def score(a: SlicedInput, b: SlicedInput) -> float | None:
            mark = type_fit(a.outer, b.outer)
            return (
                None
                if mark is None
                else mark + 2.0 * self._correspondence.same_value(a.outer, b.outer) + same_slicing(a, b)
            )

        return best_matches(
            left.sliced_inputs, right.sliced_inputs, lambda port: port.inner.name, score, self._correspondence.names
        )

    def match_back_edges(
        self, left: Loop, right: Loop, apart: Sequence[BackEdge], around: SignaturePair
    ) -> list[tuple[BackEdge, BackEdge, str]]:
        """What is carried: by what it begins with, what the body makes of it and what becomes of it after the loop
        (``around``); what is ``apart`` stays so."""
        edges = [[edge for edge in loop.back_edges if edge not in apart] for loop in (left, right)]
        marks = BackEdgeSimilarity(self._correspondence, self._node_matcher, (left, right), around)
        return best_matches(edges[0], edges[1], lambda edge: edge.param.name, marks.score, self._correspondence.names)

    def match_scan_outputs(
        self, left: Loop, right: Loop, around: SignaturePair
    ) -> list[tuple[ScanOutput, ScanOutput, str]]:
        """What is collected: by what that is, and by what becomes of it after the loop."""

        def score(a: ScanOutput, b: ScanOutput) -> float | None:
            mark = type_fit(a.result, b.result)
            after = around[0].signature(a.outer), around[1].signature(b.outer)
            alike = self._correspondence.same_value(a.result, b.result) + (after[0] == after[1] is not None)
            return None if mark is None else mark + 2.0 * alike

        found = best_matches(
            left.scan_outputs, right.scan_outputs, lambda scan: scan.outer.name, score, self._correspondence.names
        )
        here, there = {a for a, _, _ in found}, {b for _, b, _ in found}
        # What was paired with nothing by what it collects: what stands in its place.
        for a in left.scan_outputs:
            b = next((b for b in right.scan_outputs if b not in there and self._same_position(left, right, a, b)), None)
            if a not in here and b is not None:
                found.append((a, b, "position"))
        return found

    def match_last_values(self, pair: LoopAlignment, around: SignaturePair) -> None:
        """What is given out at the end: of one carried value each."""
        edges = {a: b for a, b, _ in pair.edges}
        left, right, free = pair.left, pair.right, list(pair.right.last_values)

        def same(last: LastValueOutput, other: LastValueOutput) -> bool:
            edge, other_edge = left.back_edge_for(last), right.back_edge_for(other)
            if edge is None or other_edge is None:
                return self._correspondence.same_value(last.result, other.result)
            return edges.get(edge) is other_edge

        def becomes_one(last: LastValueOutput, other: LastValueOutput) -> bool:
            after = around[0].signature(last.outer), around[1].signature(other.outer)
            return self._same_position(left, right, last, other) or after[0] == after[1] is not None

        # Of several that are the last of one value each stands for the one in its place, or with its purpose.
        for of_one, alike in ((True, True), (True, False), (False, True)):
            for last in left.last_values:
                for other in () if any(last is a for a, _, _ in pair.last_values) else free:
                    fits = becomes_one(last, other) if of_one else self._same_position(left, right, last, other)
                    if same(last, other) >= of_one and fits >= alike:
                        free.remove(other)
                        pair.last_values.append((last, other, of_one))
                        break

    def _same_position(self, left: Loop, right: Loop, a: object, b: object) -> bool:
        """Whether two outputs stand in one place among those of their loops."""
        places = [
            loop.outputs.index(port.outer)  # type: ignore[attr-defined]
            for loop, port in ((left, a), (right, b))
            if port.outer in loop.outputs  # type: ignore[attr-defined]
        ]
        return self._correspondence.same_system and len(places) == 2 and places[0] == places[1]


def _condition_carrying_edge(half: NumberedGraph, loop: Loop, name: str) -> BackEdge | None:
    """The edge that tells the body its condition, ``name`` where there are several."""
    if loop.condition is None:
        return None
    result = half.origin(loop.condition)
    edges = [edge for edge in loop.back_edges if half.origin(edge.result) is result]
    edges = [edge for edge in edges if begins_with_condition(edge, loop, half.origins)]
    return max(edges, key=lambda edge: name_evidence(name, edge.param.name), default=None)


def is_condition_or_counter(half: NumberedGraph, loop: Loop, edge: BackEdge) -> bool:
    """Whether a carried value is the condition, or counts the iterations."""
    result = half.origin(edge.result)
    if loop.condition is not None and result is half.origin(loop.condition):
        return True
    node = half.producer(result)
    if node is None or canonical_operator(node) != "+" or isinstance(edge.initial, SlicedInput):
        return False
    step = [
        half.origin_constant(value)
        for value in node.inputs
        if value is not None and half.origin(value) is not edge.param
    ]
    first = half.origin_constant(edge.initial)
    return len(step) == 1 and _is_integer_constant(first, 0) and _is_integer_constant(step[0], 1)


def _is_integer_constant(data: Array | None, number: int) -> bool:
    return data is not None and data.dtype.kind in "iu" and data.size == 1 and int(data.reshape(-1)[0]) == number
