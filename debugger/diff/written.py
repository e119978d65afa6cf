"""What differs before anything runs: constants, slices, initial values, back edges, conditions, trip counts, operators.

Of models of two systems less can be told: operators and attributes are not written the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...runtime.graph import MAIN, BackEdge, Graph, If, Loop, Node, Operation, SlicedInput, Value, bodies
from ..words.condition import condition_slice
from ..words.endings import Ending, ending
from ..words.names import named
from ..words.node_text import SIGNS
from ..words.subscripts import slice_text
from .align import Alignment, Half, LoopPair, attributes, geometry, operator
from .findings import Written
from .values import Tolerance, compare


def written(alignment: Alignment, paths: dict[Loop, str], everything: bool) -> list[Written]:
    """What differs of loops that are compared, outer before inner; ``everything``: of the main graph as well."""
    found: list[Written] = []
    seen: set[tuple[Value, Value]] = set()
    for pair in alignment.loops.values():
        if pair.left in paths:
            found += _Loops(alignment, pair, paths[pair.left], seen).all()
    if everything:
        left = alignment.left.graph
        found += _Body(alignment, left, alignment.right.graph, MAIN, seen).all()
    order = {path: k for k, path in enumerate(paths.values())}
    return sorted(found, key=lambda one: order.get(one.place, len(order)))


class _Body:
    """The nodes of one graph, without those of loops inside."""

    def __init__(
        self, alignment: Alignment, left: Graph, right: Graph, place: str, seen: set[tuple[Value, Value]]
    ) -> None:
        self.alignment = alignment
        self.graphs = left, right
        self.place = place
        self.seen = seen
        #: Nodes that the condition depends on.
        self.deciding: set[Node] = set()

    def all(self) -> Iterator[Written]:
        """Every difference."""
        for node in _nodes(self.graphs[0]):
            other = self.alignment.nodes.get(node)
            if other is None:
                continue
            if not isinstance(node, Loop):
                yield from self._constants(node, other)
                yield from self._node(node, other)

    def told(
        self,
        kind: str,
        left: tuple[str, str],
        right: tuple[str, str],
        values: Sequence[Any] = (),
        deciding: bool = False,
    ) -> Written:
        """A difference: of each side a name and a text."""
        return Written(kind, self.place, left[0], right[0], left[1], right[1], deciding, *values)

    def constant(self, left: Value, right: Value, kind: str = "constant", deciding: bool = False) -> Iterator[Written]:
        """Two constants with one purpose, unless they are the same."""
        here, there = self.alignment.left, self.alignment.right
        left, right = here.origin(left), there.origin(right)
        a, b = here.constant(left), there.constant(right)
        if a is None or b is None or (left, right) in self.seen or self.alignment.same(left, right):
            return
        self.seen.add((left, right))
        if not self.alignment.one_system:
            a = a.astype(b.dtype) if a.dtype.kind in "biu" and b.dtype.kind in "biu" else a
        delta = compare(a, b, Tolerance(0.0, 0.0), loose_shape=not self.alignment.one_system)
        if delta.kind:
            yield self.told(kind, (left.name, ""), (right.name, ""), (a, b, delta), deciding)

    def _constants(self, node: Node, other: Node) -> Iterator[Written]:
        if not self.alignment.one_system and operator(node) != operator(other):
            return  # a Reshape's shape is no weight of what stands there in the other system
        for a, b in self.alignment.inputs(node, other):
            if self.alignment.left.is_constant(a) and self.alignment.right.is_constant(b):
                yield from self.constant(a, b, deciding=node in self.deciding)

    def _node(self, node: Node, other: Node) -> Iterator[Written]:
        here, there = self.alignment.left.phrases, self.alignment.right.phrases
        value = next((v for v in node.outputs if v is not None), None)
        other_value = next((v for v in other.outputs if v is not None), None)
        if value is None or other_value is None:
            return
        texts = [
            (v.name, f"{n.op_type}: {named(v)} = {phrases.expression(n)}")
            for v, n, phrases in ((value, node, here), (other_value, other, there))
        ]
        deciding = node in self.deciding
        one_system = self.alignment.one_system
        if operator(node) != operator(other):
            if one_system or {node.op_type, other.op_type} <= set(SIGNS):
                yield self.told("operator", texts[0], texts[1], deciding=deciding)
            return
        if not one_system:
            return
        if isinstance(node, Operation) and isinstance(other, Operation) and attributes(node) != attributes(other):
            yield self.told("attributes", texts[0], texts[1], deciding=deciding)
        elif not isinstance(node, If) and any(self._rewired(a, b) for a, b in self.alignment.inputs(node, other)):
            yield self.told("inputs", texts[0], texts[1], deciding=deciding)

    def _rewired(self, left: Value, right: Value) -> bool:
        """Whether two values that have one purpose are different things, neither of which is told elsewhere."""
        here, there = self.alignment.left, self.alignment.right
        if self.alignment.same(left, right) or (here.is_constant(left) and there.is_constant(right)):
            return False
        one, other = here.maker(here.origin(left)), there.maker(there.origin(right))
        return one is None or other is None or not self.alignment.paired(one, other)


class _Loops(_Body):
    """A pair of loops: their ports, and their bodies."""

    def __init__(self, alignment: Alignment, pair: LoopPair, path: str, seen: set[tuple[Value, Value]]) -> None:
        super().__init__(alignment, pair.left.body, pair.right.body, path, seen)
        self.pair = pair
        self.endings = ending(pair.left, alignment.left.origins), ending(pair.right, alignment.right.origins)
        self.deciding = set(condition_slice(pair.left).nodes)

    def all(self) -> Iterator[Written]:
        yield from self._trip_count()
        yield from self._condition()
        yield from self._slices()
        yield from self._initial_values()
        yield from self._back_edges()
        yield from self._scans()
        yield from super().all()

    def _sides(self) -> tuple[tuple[Loop, Half, Ending], tuple[Loop, Half, Ending]]:
        pair, alignment = self.pair, self.alignment
        return (pair.left, alignment.left, self.endings[0]), (pair.right, alignment.right, self.endings[1])

    def _both(self, kind: str, texts: Sequence[str], deciding: bool = False) -> Iterator[Written]:
        """What differs where its texts do."""
        if texts[0] != texts[1]:
            yield self.told(kind, ("", texts[0]), ("", texts[1]), deciding=deciding)

    def _trip_count(self) -> Iterator[Written]:
        one, other = self.endings
        if one.count is not None and other.count is not None:
            if self.alignment.same(one.count, other.count) or self._is_unknown(one.count, other.count):
                return
            if not self.alignment.one_system and self._is_computed(one.count, other.count):
                return  # another type, and no less than 0: systems ask for a count in their own ways
        elif one.slices and other.slices:
            return  # told as slices
        yield from self._both("trip count", [_count_text(found) for found in self.endings])

    def _is_unknown(self, left: Value, right: Value) -> bool:
        """Whether both are computed, by nodes that tell what differs, if anything does."""
        here, there = self.alignment.left, self.alignment.right
        return here.maker(here.origin(left)) is not None and there.maker(there.origin(right)) is not None

    def _is_computed(self, left: Value, right: Value) -> bool:
        here, there = self.alignment.left, self.alignment.right
        return here.maker(here.origin(left)) is not None or there.maker(there.origin(right)) is not None

    def _condition(self) -> Iterator[Written]:
        texts = [_condition_text(loop, half, found) for loop, half, found in self._sides()]
        yield from self._both("condition", texts, True)
        if self.endings[0].tested != self.endings[1].tested:
            return  # one is looked at before each iteration: it has no initial condition that would be another one
        first = [loop.initial_condition for loop, _, _ in self._sides()]
        known = [found.initial for found in self.endings]
        if first[0] is not None and first[1] is not None and known == [None, None]:
            if not self.alignment.same(first[0], first[1]) and not self._is_unknown(first[0], first[1]):
                yield self.told("initial condition", ("", named(first[0])), ("", named(first[1])), deciding=True)
            return
        words = [{True: "true", False: "false", None: "not constant"}[word] for word in known]
        yield from self._both("initial condition", words, True)

    def _slices(self) -> Iterator[Written]:
        for a, b, _ in self.pair.slices:
            outer = self.alignment.same(a.outer, b.outer) or self._is_unknown(a.outer, b.outer)
            if self.alignment.left.is_constant(a.outer) and self.alignment.right.is_constant(b.outer):
                yield from self.constant(a.outer, b.outer)
                outer = True
            if geometry(a) != geometry(b) or not outer:
                one, other = ((p.inner.name, f"{named(p.inner)} = {slice_text(p, 'i')}") for p in (a, b))
                yield self.told("sliced input", one, other)

    def _initial_values(self) -> Iterator[Written]:
        for a, b, _ in self.pair.edges:
            one, other = a.initial, b.initial
            if isinstance(one, SlicedInput) or isinstance(other, SlicedInput):
                parts = isinstance(one, SlicedInput) and isinstance(other, SlicedInput)
                if not (parts and self._same_part(one, other)):
                    yield self.told("initial value", _begun(a), _begun(b))
            elif self.alignment.left.is_constant(one) and self.alignment.right.is_constant(other):
                yield from self.constant(one, other, "initial value")
            elif not self.alignment.same(one, other) and not self._is_unknown(one, other):
                yield self.told("initial value", _begun(a), _begun(b))

    def _same_part(self, one: Any, other: Any) -> bool:
        same = self.alignment.same(one.outer, other.outer) or self._is_unknown(one.outer, other.outer)
        return geometry(one) == geometry(other) and same

    def _back_edges(self) -> Iterator[Written]:
        for a, b, _ in self.pair.edges:
            left, right = self.alignment.left, self.alignment.right
            if self._rewired(a.result, b.result) and self.alignment.one_system:
                texts = [f"{half.phrases.operand(e.result)} → {named(e.param)}" for half, e in ((left, a), (right, b))]
                yield self.told("back edge", (a.param.name, texts[0]), (b.param.name, texts[1]))
            elif left.is_constant(a.result) and right.is_constant(b.result):
                yield from self.constant(a.result, b.result)

    def _scans(self) -> Iterator[Written]:
        for a, b, _ in self.pair.scans:
            order = a.reverse is not b.reverse or (self.alignment.one_system and a.axis != b.axis)
            if order or (self.alignment.one_system and self._rewired(a.result, b.result)):
                texts = [
                    f"{named(scan.outer)} collects {named(scan.result)} on axis {scan.axis}"
                    f"{', the last iteration first' if scan.reverse else ''}"
                    for scan in (a, b)
                ]
                yield self.told("scan output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))


def _begun(edge: BackEdge) -> tuple[str, str]:
    initial = edge.initial
    told = slice_text(initial, None) if isinstance(initial, SlicedInput) else named(initial)
    return edge.param.name, f"{named(edge.param)} = {told}"


def _count_text(found: Ending) -> str:
    if found.trips is not None:
        return str(found.trips)
    if found.slices:
        return "the sliced inputs' parts"
    return "none" if found.count is None else named(found.count)


def _condition_text(loop: Loop, half: Half, found: Ending) -> str:
    if found.decides:
        return "always false" if found.known is False else "the body's condition decides"
    return "nothing in the body ends it"


def _nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, those of branches included."""
    for node in graph.nodes:
        yield node
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _nodes(branch)
