"""Similarity of carried values of two loops: by their initial values, their computation in the body, and their uses
after the loop."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ....runtime.graph import BackEdge, Loop, SlicedInput, Value
from .correspondence import Correspondence
from .loop_ports import same_slicing, type_fit
from .node_matching import NodeMatcher, SignaturePair
from .use_signatures import UseSignatures
from .value_numbering import NumberedGraph, initial_outer_value

#: Refinement rounds of the colouring of carried values (Weisfeiler-Lehman).
_REFINEMENT_ROUNDS = 3
#: The colours of the carried values of one loop.
_ColorByEdge = Mapping[BackEdge, int]


class BackEdgeSimilarity:
    """Scores pairs of carried values. ``uses``: uses of values after the loops."""

    def __init__(
        self, correspondence: Correspondence, nodes: NodeMatcher, loops: tuple[Loop, Loop], uses: SignaturePair
    ) -> None:
        self._correspondence = correspondence
        self._nodes = nodes
        self._exact_colors = self._color_both(loops)
        self._type_colors = self._color_both(loops, relaxed=True)
        self._initial_colors = self._color_both(loops, with_initial=True)
        self._uses_after_loop = [_last_value_uses(loop, ends) for loop, ends in zip(loops, uses, strict=True)]

    def score(self, left: BackEdge, right: BackEdge) -> float | None:
        """The similarity of two carried values; None if their types do not fit."""
        scores = type_fit(left.param, right.param), type_fit(left.result, right.result)
        if None in scores:
            return None
        same_color, same_initial = self._exact_colors.same_color(left, right), self._same_initial_value(left, right)
        computed = 2.0 * same_color or 1.5 * self._type_colors.same_color(left, right)
        # Uses after the loop decide where the bodies do not.
        decisive = same_color or not self._exact_colors.color_used_elsewhere(left, right)
        same_uses = decisive and self._uses_after_loop[0][left] == self._uses_after_loop[1][right] is not None
        # Both have counterparts elsewhere if initial values are included in the colours.
        rivals = same_color and same_initial and self._initial_colors.color_used_elsewhere(left, right)
        return (scores[0] or 0.0) + same_initial + computed + same_uses - 1.5 * rivals

    def _same_initial_value(self, left: BackEdge, right: BackEdge) -> bool:
        a, b = left.initial, right.initial
        if isinstance(a, SlicedInput) and isinstance(b, SlicedInput):
            return self._correspondence.same_value(a.outer, b.outer) and same_slicing(a, b)
        return isinstance(a, Value) and isinstance(b, Value) and self._correspondence.same_value(a, b)

    def _color_both(self, loops: tuple[Loop, Loop], relaxed: bool = False, with_initial: bool = False) -> _EdgeColors:
        graphs = self._correspondence.left, self._correspondence.right
        left, right = (
            self._refine_colors(graph, loop, relaxed, with_initial) for graph, loop in zip(graphs, loops, strict=True)
        )
        return _EdgeColors(left, right)

    def _refine_colors(self, graph: NumberedGraph, loop: Loop, relaxed: bool, with_initial: bool) -> _ColorByEdge:
        """Colour the carried values by their computation in a few iterations, independent of names.

        ``relaxed``: constants count by type only; ``with_initial``: initial values are included in the colours.
        """
        params = {edge.param for edge in loop.back_edges}
        saved_numbers = dict(graph.derived_numbers)
        initial_keys = {edge: _initial_key(graph, edge) if with_initial else None for edge in loop.back_edges}
        colours = {edge: self._correspondence.table.number_for(("edge", key)) for edge, key in initial_keys.items()}
        for _ in range(_REFINEMENT_ROUNDS):
            graph.fixed_numbers.update((edge.param, colours[edge]) for edge in loop.back_edges)
            self._nodes.number_nodes(graph, loop.body, relaxed)
            result_numbers = {edge: graph.value_number(edge.result, relaxed) for edge in loop.back_edges}
            colours = {
                edge: self._correspondence.table.number_for(("edge", colours[edge], result_numbers[edge]))
                for edge in loop.back_edges
            }
        for value in params:
            graph.fixed_numbers.pop(value, None)
        graph.derived_numbers = saved_numbers
        return colours


class _EdgeColors:
    """The colours of the carried values of both loops."""

    def __init__(self, left: _ColorByEdge, right: _ColorByEdge) -> None:
        self._left, self._right = left, right
        self._color_sets = set(left.values()), set(right.values())

    def same_color(self, left: BackEdge, right: BackEdge) -> bool:
        """Whether two values have the same colour."""
        return self._left[left] == self._right[right]

    def color_used_elsewhere(self, left: BackEdge, right: BackEdge) -> bool:
        """Whether two values differ in colour, and either colour occurs on the other side."""
        left_color, right_color = self._left[left], self._right[right]
        return left_color != right_color and (left_color in self._color_sets[1] or right_color in self._color_sets[0])


def _initial_key(graph: NumberedGraph, edge: BackEdge) -> Hashable:
    """The key of an initial value: a value number, and the start of a slice."""
    start = edge.initial.start if isinstance(edge.initial, SlicedInput) else None
    return graph.value_number(initial_outer_value(edge.initial)), start


def _last_value_uses(loop: Loop, uses: UseSignatures) -> dict[BackEdge, Hashable]:
    """The uses of each carried value's last value after the loop; None if nothing reads it."""
    outer: dict[BackEdge, list[Value]] = {edge: [] for edge in loop.back_edges}
    for last in loop.last_values:
        edge = loop.back_edge_for(last)
        if edge is not None:
            outer[edge].append(last.outer)
    return {edge: uses.signatures(values) for edge, values in outer.items()}
