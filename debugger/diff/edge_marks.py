"""Which of two loops' carried values are alike: by what they begin with, what the body makes of them, what becomes of
them after the loop."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ...runtime.graph import BackEdge, Loop, SlicedInput, Value
from .correspondence import Correspondence
from .halves import Half, begun
from .node_pairs import Both, NodePairs
from .ports import fit, same_parts
from .purposes import Purposes

#: Iterations after which what becomes of a value is told apart.
_ROUNDS = 3
#: Of one side, a number for what becomes of each carried value.
_Colours = Mapping[BackEdge, int]


class EdgeMarks:
    """How much of two carried values is alike. ``around``: what becomes of values after the loops."""

    def __init__(self, known: Correspondence, nodes: NodePairs, loops: tuple[Loop, Loop], around: Both) -> None:
        self._known = known
        self._nodes = nodes
        self._exact = self._both(loops)
        self._types = self._both(loops, relaxed=True)
        self._whole = self._both(loops, begins=True)
        self._after = [_given_out(loop, ends) for loop, ends in zip(loops, around, strict=True)]

    def of(self, left: BackEdge, right: BackEdge) -> float | None:
        """The more, the more alike; None where the types do not fit."""
        marks = fit(left.param, right.param), fit(left.result, right.result)
        if None in marks:
            return None
        same, begin = self._exact.same(left, right), self._same_begin(left, right)
        computed = 2.0 * same or 1.5 * self._types.same(left, right)
        # What comes after the loop tells where the bodies do not.
        tells = same or not self._exact.elsewhere(left, right)
        last = tells and self._after[0][left] == self._after[1][right] is not None
        # Both read others, and what those begin with makes another one the same.
        taken = same and begin and self._whole.elsewhere(left, right)
        return (marks[0] or 0.0) + begin + computed + last - 1.5 * taken

    def _same_begin(self, left: BackEdge, right: BackEdge) -> bool:
        one, other = left.initial, right.initial
        if isinstance(one, SlicedInput) and isinstance(other, SlicedInput):
            return self._known.same(one.outer, other.outer) and same_parts(one, other)
        return isinstance(one, Value) and isinstance(other, Value) and self._known.same(one, other)

    def _both(self, loops: tuple[Loop, Loop], relaxed: bool = False, begins: bool = False) -> _Numbers:
        halves = self._known.left, self._known.right
        left, right = (self._colours(half, loop, relaxed, begins) for half, loop in zip(halves, loops, strict=True))
        return _Numbers(left, right)

    def _colours(self, half: Half, loop: Loop, relaxed: bool, begins: bool) -> _Colours:
        """A number for each carried value that says what becomes of it in a few iterations, whatever it is called.

        ``relaxed``: of constants by their types alone; ``begins``: with what all those begin with of which it is made.
        """
        params = {edge.param for edge in loop.back_edges}
        kept = dict(half.found)
        first = {edge: _begin(half, edge) if begins else None for edge in loop.back_edges}
        colours = {edge: self._known.table.of(("edge", begin)) for edge, begin in first.items()}
        for _ in range(_ROUNDS):
            half.fixed.update((edge.param, colours[edge]) for edge in loop.back_edges)
            self._nodes.keys(half, loop.body, relaxed)
            after = {edge: half.number(edge.result, relaxed) for edge in loop.back_edges}
            colours = {edge: self._known.table.of(("edge", colours[edge], after[edge])) for edge in loop.back_edges}
        for value in params:
            half.fixed.pop(value, None)
        half.found = kept
        return colours


class _Numbers:
    """The numbers of both sides' carried values."""

    def __init__(self, left: _Colours, right: _Colours) -> None:
        self._left, self._right = left, right
        self._there = set(left.values()), set(right.values())

    def same(self, left: BackEdge, right: BackEdge) -> bool:
        """Whether two have one number."""
        return self._left[left] == self._right[right]

    def elsewhere(self, left: BackEdge, right: BackEdge) -> bool:
        """Whether they have not, and another one of the other side has the number of one of them."""
        one, other = self._left[left], self._right[right]
        return one != other and (one in self._there[1] or other in self._there[0])


def _begin(half: Half, edge: BackEdge) -> Hashable:
    """What a carried value begins with: a value, or a part of one."""
    start = edge.initial.start if isinstance(edge.initial, SlicedInput) else None
    return half.number(begun(edge.initial)), start


def _given_out(loop: Loop, around: Purposes) -> dict[BackEdge, Hashable]:
    """What becomes of each carried value's last after the loop; None where nothing reads it."""
    outer: dict[BackEdge, list[Value]] = {edge: [] for edge in loop.back_edges}
    for last in loop.last_values:
        edge = loop.edge_of(last)
        if edge is not None:
            outer[edge].append(last.outer)
    return {edge: around.of_all(values) for edge, values in outer.items()}
