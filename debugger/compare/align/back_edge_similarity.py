"""Which of two loops' carried values are alike: by what they begin with, what the body makes of them, what becomes of
them after the loop."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ....runtime.graph import BackEdge, Loop, SlicedInput, Value
from .correspondence import Correspondence
from .loop_ports import same_slicing, type_fit
from .node_matching import NodeMatcher, SignaturePair
from .use_signatures import UseSignatures
from .value_numbering import NumberedGraph, initial_outer_value

#: Iterations after which what becomes of a value is told apart.
_REFINEMENT_ROUNDS = 3
#: Of one side, a number for what becomes of each carried value.
_ColorByEdge = Mapping[BackEdge, int]


class BackEdgeSimilarity:
    """How much of two carried values is alike. ``around``: what becomes of values after the loops."""

    def __init__(
        self, known: Correspondence, nodes: NodeMatcher, loops: tuple[Loop, Loop], around: SignaturePair
    ) -> None:
        self._correspondence = known
        self._nodes = nodes
        self._exact_colors = self._color_both(loops)
        self._type_colors = self._color_both(loops, relaxed=True)
        self._initial_colors = self._color_both(loops, begins=True)
        self._uses_after_loop = [_last_value_uses(loop, ends) for loop, ends in zip(loops, around, strict=True)]

    def score(self, left: BackEdge, right: BackEdge) -> float | None:
        """The more, the more alike; None where the types do not fit."""
        marks = type_fit(left.param, right.param), type_fit(left.result, right.result)
        if None in marks:
            return None
        same, begin = self._exact_colors.same_color(left, right), self._same_initial_value(left, right)
        computed = 2.0 * same or 1.5 * self._type_colors.same_color(left, right)
        # What comes after the loop tells where the bodies do not.
        tells = same or not self._exact_colors.color_used_elsewhere(left, right)
        last = tells and self._uses_after_loop[0][left] == self._uses_after_loop[1][right] is not None
        # Both read others, and what those begin with makes another one the same.
        taken = same and begin and self._initial_colors.color_used_elsewhere(left, right)
        return (marks[0] or 0.0) + begin + computed + last - 1.5 * taken

    def _same_initial_value(self, left: BackEdge, right: BackEdge) -> bool:
        one, other = left.initial, right.initial
        if isinstance(one, SlicedInput) and isinstance(other, SlicedInput):
            return self._correspondence.same_value(one.outer, other.outer) and same_slicing(one, other)
        return isinstance(one, Value) and isinstance(other, Value) and self._correspondence.same_value(one, other)

    def _color_both(self, loops: tuple[Loop, Loop], relaxed: bool = False, begins: bool = False) -> _EdgeColors:
        halves = self._correspondence.left, self._correspondence.right
        left, right = (
            self._refine_colors(half, loop, relaxed, begins) for half, loop in zip(halves, loops, strict=True)
        )
        return _EdgeColors(left, right)

    def _refine_colors(self, half: NumberedGraph, loop: Loop, relaxed: bool, begins: bool) -> _ColorByEdge:
        """A number for each carried value that says what becomes of it in a few iterations, whatever it is called.

        ``relaxed``: of constants by their types alone; ``begins``: with what all those begin with of which it is made.
        """
        params = {edge.param for edge in loop.back_edges}
        kept = dict(half.derived_numbers)
        first = {edge: _initial_key(half, edge) if begins else None for edge in loop.back_edges}
        colours = {edge: self._correspondence.table.number_for(("edge", begin)) for edge, begin in first.items()}
        for _ in range(_REFINEMENT_ROUNDS):
            half.fixed_numbers.update((edge.param, colours[edge]) for edge in loop.back_edges)
            self._nodes.number_nodes(half, loop.body, relaxed)
            after = {edge: half.value_number(edge.result, relaxed) for edge in loop.back_edges}
            colours = {
                edge: self._correspondence.table.number_for(("edge", colours[edge], after[edge]))
                for edge in loop.back_edges
            }
        for value in params:
            half.fixed_numbers.pop(value, None)
        half.derived_numbers = kept
        return colours


class _EdgeColors:
    """The numbers of both sides' carried values."""

    def __init__(self, left: _ColorByEdge, right: _ColorByEdge) -> None:
        self._left, self._right = left, right
        self._color_sets = set(left.values()), set(right.values())

    def same_color(self, left: BackEdge, right: BackEdge) -> bool:
        """Whether two have one number."""
        return self._left[left] == self._right[right]

    def color_used_elsewhere(self, left: BackEdge, right: BackEdge) -> bool:
        """Whether they have not, and another one of the other side has the number of one of them."""
        one, other = self._left[left], self._right[right]
        return one != other and (one in self._color_sets[1] or other in self._color_sets[0])


def _initial_key(half: NumberedGraph, edge: BackEdge) -> Hashable:
    """What a carried value begins with: a value, or a part of one."""
    start = edge.initial.start if isinstance(edge.initial, SlicedInput) else None
    return half.value_number(initial_outer_value(edge.initial)), start


def _last_value_uses(loop: Loop, around: UseSignatures) -> dict[BackEdge, Hashable]:
    """What becomes of each carried value's last after the loop; None where nothing reads it."""
    outer: dict[BackEdge, list[Value]] = {edge: [] for edge in loop.back_edges}
    for last in loop.last_values:
        edge = loop.back_edge_for(last)
        if edge is not None:
            outer[edge].append(last.outer)
    return {edge: around.signatures(values) for edge, values in outer.items()}
