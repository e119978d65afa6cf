"""What differs before anything runs: constants, slices, initial values, back edges, conditions, trip counts, operators.

Of models of two systems less can be told: operators and attributes are not written the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...runtime.graph import MAIN, BackEdge, Graph, If, Loop, Node, Operation, ScanOutput, SlicedInput, Value, bodies
from ..words.condition import condition_slice
from ..words.endings import Ending, carries_condition_on, ending
from ..words.names import named
from ..words.node_text import SIGNS
from ..words.subscripts import slice_text
from .correspondence import Correspondence
from .findings import Written
from .halves import Half
from .likeness import likeness
from .normal import Operand
from .ports import LoopPair, same_parts
from .values import Tolerance, compare


def written(alignment: Correspondence, paths: dict[Loop, str], everything: bool) -> list[Written]:
    """What differs of loops that are compared, outer before inner; ``everything``: of the main graph as well."""
    found: list[Written] = []
    seen: set[tuple[Value, Value]] = set()
    for pair in alignment.loops.values():
        if pair.left in paths and not alignment.is_opened(pair.left, pair.right):
            found += _Loops(alignment, pair, paths[pair.left], seen).all()
    if everything:
        left = alignment.left.graph
        main = _Body(alignment, left, alignment.right.graph, MAIN, seen)
        found += [*main.all(), *main.results()]
    # What reads the same on both sides tells nobody anything.
    found = [one for one in found if one.delta is not None or one.left_text != one.right_text]
    order = {path: k for k, path in enumerate(paths.values())}
    return sorted(found, key=lambda one: order.get(one.place, len(order)))


class _Body:
    """The nodes of one graph, without those of loops inside."""

    def __init__(
        self, alignment: Correspondence, left: Graph, right: Graph, place: str, seen: set[tuple[Value, Value]]
    ) -> None:
        self.alignment = alignment
        self.graphs = left, right
        self.place = place
        self.seen = seen
        #: Nodes that the condition depends on.
        self.deciding: set[Node] = set()
        #: Those that work on what is carried on one side, and on what becomes of it on the other.
        self.shifted: set[Node] = set()

    def all(self) -> Iterator[Written]:
        """Every difference."""
        operators: set[Node] = set()
        for node in _nodes(self.graphs[0]):
            other = self.alignment.nodes.get(node)
            if other is None or self._opened_otherwise(node, other):
                continue
            made_of = self.alignment.operators(node, other)
            if made_of is not None:
                # What was made of an operator of the file is compared as that operator.
                if made_of[0] in operators:
                    continue
                operators.add(made_of[0])
                node, other = made_of
            if not isinstance(node, Loop):
                yield from self._constants(node, other)
                yield from self._node(node, other)
            if isinstance(node, If) and isinstance(other, If):
                yield from self._branches(node, other)

    def _opened_otherwise(self, node: Node, other: Node) -> bool:
        """Whether two nodes are parts of what was made of two operators, one of them in 8 bits."""
        made_of = self.alignment.opened(node, other)
        return self.alignment.quantised is not None and made_of is not None and made_of[0].op_type != made_of[1].op_type

    def results(self) -> Iterator[Written]:
        """The outputs of the graphs that are other values."""
        left, right = self.graphs
        for a, b in zip(left.outputs, right.outputs, strict=False):
            if self.alignment.rewired(a, b):
                one, other = self._apart((a, f"{named(a)} is an output"), (b, f"{named(b)} is an output"))
                yield self.told("output", (a.name, one), (b.name, other))
            else:
                yield from self.constant(a, b)

    def _apart(self, left: tuple[Value, str], right: tuple[Value, str]) -> tuple[str, str]:
        """Two texts about two values; which values those are, where it does not show."""
        if left[1] != right[1]:
            stands = self.alignment.stands_for(right[0])
            return left[1], f"{right[1]} ({named(right[0])}{stands})" if stands else right[1]
        told = self._identities(left[0], right[0])
        return f"{left[1]} ({told[0]})", f"{right[1]} ({told[1]})"

    def _identities(self, left: Value, right: Value, depth: int = 10) -> tuple[str, str]:
        """Which values two are: what they are called, or else what first differs of what they are computed from."""
        told = _identity(self.alignment.left, left), _identity(self.alignment.right, right)
        makers = [half.folded(half.origin(v)) for half, v in zip(self._halves(), (left, right), strict=True)]
        if told[0] != told[1] or not depth:
            return told[0], f"{told[1]}{self.alignment.stands_for(right)}"
        inputs = [[] if node is None else node.inputs for node in makers]
        for a, b in zip(*inputs, strict=False):
            if a is not None and b is not None and self.alignment.rewired(a, b):
                return self._identities(a, b, depth - 1)
        one, other = (_nature(half, value) for half, value in zip(self._halves(), (left, right), strict=True))
        if one == other and self.alignment.one_system:
            twin = self.alignment.twin(1, right)
            other = f"which stands for {'nothing' if twin is None else named(twin)}"
        return f"{told[0]}, {one}", f"{told[1]}, {other}"

    def _halves(self) -> tuple[Half, Half]:
        return self.alignment.left, self.alignment.right

    def _branches(self, node: If, other: If) -> Iterator[Written]:
        """The results of an If's branches that are other values."""
        for (word, branch), (_, other_branch) in zip(bodies(node), bodies(other), strict=True):
            for a, b in zip(branch.outputs, other_branch.outputs, strict=False):
                if self.alignment.rewired(a, b):
                    texts = [(v, f"{named(v)} is a result of the {word} branch") for v in (a, b)]
                    one, two = self._apart(texts[0], texts[1])
                    yield self.told("branch result", (a.name, one), (b.name, two))
                else:
                    yield from self.constant(a, b)

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

    def constant(
        self, left: Operand | Value, right: Operand | Value, kind: str = "constant", deciding: bool = False
    ) -> Iterator[Written]:
        """Two constants with one purpose, unless they are the same."""
        one, other = (operand if isinstance(operand, Operand) else Operand(operand) for operand in (left, right))
        names = self.alignment.left.origin(one.value), self.alignment.right.origin(other.value)
        a, b = self.alignment.left.data(one.value), self.alignment.right.data(other.value)
        if a is None or b is None or names in self.seen or self.alignment.same(one, other):
            return
        if None not in self.alignment.makers(*names):
            return  # what they are made of is told
        self.seen.add(names)
        if self.alignment.holds_weights(one, other):
            return
        # What a step of 8 bits is of the largest weight: the rounding is meant.
        rounding = Tolerance(0.0, 0.0, peak=0.0 if self.alignment.quantised is None else 1 / 127)
        delta = compare(one.of(a), other.of(b), rounding, loose_shape=not self.alignment.one_system)
        if delta.kind:
            values = one.of(a), other.of(b)
            more = (*values, delta, likeness(*values))
            yield self.told(kind, (names[0].name, ""), (names[1].name, ""), more, deciding)

    def _constants(self, node: Node, other: Node) -> Iterator[Written]:
        if not self.alignment.corresponds(node, other):
            return  # a Reshape's shape is no weight of what stands there in the other model
        for a, b in self.alignment.inputs(node, other):
            if not self.alignment.rewired(a.value, b.value):
                yield from self.constant(a, b, deciding=node in self.deciding)

    def _node(self, node: Node, other: Node) -> Iterator[Written]:
        value = next((v for v in node.outputs if v is not None), None)
        other_value = next((v for v in other.outputs if v is not None), None)
        if value is None or other_value is None:
            return
        kind = self._kind(node, other)
        if kind:
            texts = self._texts((node, value), (other, other_value), kind == "inputs")
            deciding = node in self.deciding
            found = self.told(kind, (value.name, texts[0]), (other_value.name, texts[1]), deciding=deciding)
            yield replace(found, code=self.alignment.left.code.told(node))

    def _kind(self, node: Node, other: Node) -> str:
        """What of two nodes is written otherwise; empty where nothing is."""
        one_system = self.alignment.one_system
        if not self.alignment.corresponds(node, other):
            return "operator" if one_system or {node.op_type, other.op_type} <= set(SIGNS) else ""
        operations = isinstance(node, Operation) and isinstance(other, Operation)
        if one_system and operations and not self.alignment.same_attributes(node, other):
            return "attributes"
        if node in self.shifted:
            return ""
        rewired = any(self._rewired(a, b) for a, b in self.alignment.inputs(node, other))
        lacking = one_system and operations and any(self.alignment.alone(node, other))
        return "inputs" if rewired or lacking else ""

    def _texts(self, left: tuple[Node, Value], right: tuple[Node, Value], inputs: bool) -> list[str]:
        """What both nodes compute; ``inputs``: and which of their inputs are other values, where that does not show."""
        halves = self.alignment.left, self.alignment.right
        texts = [
            f"{node.op_type}: {named(value)} = {half.phrases.expression(node)}"
            for half, (node, value) in zip(halves, (left, right), strict=True)
        ]
        if texts[0] == texts[1] and left[0].version != right[0].version:
            texts = [f"{text} (opset {node.version})" for text, (node, _) in zip(texts, (left, right), strict=True)]
        others = [pair for pair in self.alignment.inputs(left[0], right[0]) if inputs and self._rewired(*pair)]
        for pair in others:
            constant = [half.is_constant(operand.value) for half, operand in zip(halves, pair, strict=True)]
            if texts[0] == texts[1] or any(constant) or self.alignment.stands_for(pair[1].value):
                told = self._identities(pair[0].value, pair[1].value)
                texts = [f"{text} ({words})" for text, words in zip(texts, told, strict=True)]
        return texts

    def _rewired(self, left: Operand, right: Operand) -> bool:
        if left.turned is not right.turned and self.alignment.twin(0, left.value) is not None:
            here, there = self.alignment.left, self.alignment.right
            return not (here.is_constant(left.value) and there.is_constant(right.value))
        return self.alignment.rewired(left.value, right.value)


class _Loops(_Body):
    """A pair of loops: their ports, and their bodies."""

    def __init__(self, alignment: Correspondence, pair: LoopPair, path: str, seen: set[tuple[Value, Value]]) -> None:
        super().__init__(alignment, pair.left.body, pair.right.body, path, seen)
        self.pair = pair
        sides = (pair.left, alignment.left), (pair.right, alignment.right)
        one, other = (_ending(loop, half, alignment.one_system) for loop, half in sides)
        self.endings = one, other
        self.deciding = set(condition_slice(pair.left).nodes)
        if self.endings[0].tested != self.endings[1].tested:
            self.shifted = self.deciding

    def all(self) -> Iterator[Written]:
        yield from self._trip_count()
        yield from self._condition()
        yield from self._slices()
        yield from self._initial_values()
        yield from self._back_edges()
        yield from self._scans()
        yield from self._last_values()
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
            if not self.alignment.rewired(one.count, other.count):
                yield from self.constant(one.count, other.count, "trip count")
                return
            if not self.alignment.one_system and self._is_computed(one.count, other.count):
                return  # another type, and no less than 0: systems ask for a count in their own ways
        elif one.slices and other.slices:
            return  # told as slices
        texts = [_count_text(half, found) for _, half, found in self._sides()]
        if one.count is not None and other.count is not None:
            texts = list(self._apart((one.count, texts[0]), (other.count, texts[1])))
        yield from self._both("trip count", texts)

    def _is_computed(self, left: Value, right: Value) -> bool:
        here, there = self.alignment.left, self.alignment.right
        return here.maker(here.origin(left)) is not None or there.maker(there.origin(right)) is not None

    def _condition(self) -> Iterator[Written]:
        texts = [_condition_text(loop, half, found) for loop, half, found in self._sides()]
        yield from self._both("condition", texts, True)
        decided = [_deciding(loop, found) for loop, _, found in self._sides()]
        if decided[0] is not None and decided[1] is not None and self.alignment.rewired(decided[0], decided[1]):
            told = [f"{named(value)} is the condition" for value in decided if value is not None]
            one, other = self._apart((decided[0], told[0]), (decided[1], told[1]))
            yield self.told("condition", (decided[0].name, one), (decided[1].name, other), deciding=True)
        if self.endings[0].tested != self.endings[1].tested:
            return  # one is tested before each iteration: it has no initial condition that would be another one
        first = [loop.initial_condition for loop, _, _ in self._sides()]
        known = [found.initial for found in self.endings]
        if first[0] is not None and first[1] is not None and None in known:
            # Where it is computed on both sides, what computes it is compared.
            if self.alignment.rewired(first[0], first[1]):
                one, other = self._apart((first[0], named(first[0])), (first[1], named(first[1])))
                yield self.told("initial condition", ("", one), ("", other), deciding=True)
            return
        words = [{True: "true", False: "false", None: "not constant"}[word] for word in known]
        yield from self._both("initial condition", words, True)

    def _slices(self) -> Iterator[Written]:
        for a, b, _ in self.pair.slices:
            rewired = self.alignment.rewired(a.outer, b.outer)
            if not rewired:
                yield from self.constant(a.outer, b.outer)
            if not same_parts(a, b) or rewired:
                cut = [(p.outer, f"{named(p.inner)} = {slice_text(p, 'i')}") for p in (a, b)]
                one, other = self._apart(cut[0], cut[1]) if rewired else (cut[0][1], cut[1][1])
                yield self.told("sliced input", (a.inner.name, one), (b.inner.name, other))

    def _initial_values(self) -> Iterator[Written]:
        for a, b, _ in self.pair.edges:
            one, other = a.initial, b.initial
            if isinstance(one, SlicedInput) or isinstance(other, SlicedInput):
                parts = isinstance(one, SlicedInput) and isinstance(other, SlicedInput)
                if not (parts and self._same_part(one, other)):
                    yield self.told("initial value", _begun(a), _begun(b))
            elif self.alignment.rewired(one, other):
                texts = self._apart((one, _begun(a)[1]), (other, _begun(b)[1]))
                yield self.told("initial value", (a.param.name, texts[0]), (b.param.name, texts[1]))
            else:
                yield from self.constant(one, other, "initial value")

    def _same_part(self, one: Any, other: Any) -> bool:
        return same_parts(one, other) and not self.alignment.rewired(one.outer, other.outer)

    def _back_edges(self) -> Iterator[Written]:
        for a, b, _ in self.pair.edges:
            if self.alignment.rewired(a.result, b.result):
                halves = (self.alignment.left, a), (self.alignment.right, b)
                told = [f"{half.phrases.operand(edge.result)} → {named(edge.param)}" for half, edge in halves]
                texts = self._apart((a.result, told[0]), (b.result, told[1]))
                yield self.told("back edge", (a.param.name, texts[0]), (b.param.name, texts[1]))
            else:
                yield from self.constant(a.result, b.result)

    def _scans(self) -> Iterator[Written]:
        for a, b, _ in self.pair.scans:
            order = a.reverse is not b.reverse or (self.alignment.one_system and a.axis != b.axis)
            rewired = self.alignment.rewired(a.result, b.result)
            if not rewired:
                yield from self.constant(a.result, b.result)
            yield from self._lengths(a, b)
            if order or rewired:
                told = [
                    f"{named(scan.outer)} collects {named(scan.result)} on axis {scan.axis}"
                    f"{', the last iteration first' if scan.reverse else ''}"
                    for scan in (a, b)
                ]
                texts = self._apart((a.result, told[0]), (b.result, told[1]))
                yield self.told("scan output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))

    def _lengths(self, left: ScanOutput, right: ScanOutput) -> Iterator[Written]:
        """The lengths that two scan outputs are padded to."""
        if left.length is None or right.length is None:
            return
        if self.alignment.rewired(left.length, right.length):
            texts = [f"{named(scan.outer)} is padded to {named(scan.length)}" for scan in (left, right) if scan.length]
            yield self.told("scan output", (left.outer.name, texts[0]), (right.outer.name, texts[1]))
        else:
            yield from self.constant(left.length, right.length)

    def _last_values(self) -> Iterator[Written]:
        for a, b, same in self.pair.lasts:
            edges = a.edge, b.edge
            # Without an iteration what is carried is what it begins with, and anything else is nothing.
            begun = self.alignment.one_system and (edges[0] is None) is not (edges[1] is None)
            if begun or (not same and self.alignment.rewired(a.result, b.result)):
                told = [
                    f"{named(last.outer)} is the last {_result(loop, last.result)}"
                    f"{f', or what {named(edge.param)} begins with' if begun and edge is not None else ''}"
                    for loop, last, edge in ((self.pair.left, a, edges[0]), (self.pair.right, b, edges[1]))
                ]
                texts = self._apart((a.result, told[0]), (b.result, told[1]))
                yield self.told("last-value output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))


def _identity(half: Half, value: Value) -> str:
    """Which value an input is: one of several results by its place, another by its name and by what it hands on."""
    origin = half.origin(value)
    node = half.maker(origin)
    if node is not None and len(node.outputs) > 1:
        return f"{named(value)} is output {node.outputs.index(origin)} of {node.op_type} '{node.name}'"
    return named(value) if origin is value else f"{named(value)} is {named(origin)}"


def _nature(half: Half, value: Value) -> str:
    """What kind of thing a value is, for two that go by one name."""
    origin = half.origin(value)
    node = half.folded(origin)
    if node is not None:
        return f"the result of {node.op_type}"
    loop, role = half.params.get(origin, (None, "constant" if half.is_constant(origin) else "input"))
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}{' value' if role in ('carried', 'sliced') and loop else ''}"


def _result(loop: Loop, value: Value) -> str:
    """A body's result, with the name that the file gives it as a result."""
    names = dict(zip(loop.body.outputs, loop.body.output_names, strict=False))
    name = names.get(value, value.name)
    return named(value) if name == value.name else f"{named(value)} ({name})"


def _begun(edge: BackEdge) -> tuple[str, str]:
    initial = edge.initial
    told = slice_text(initial, None) if isinstance(initial, SlicedInput) else named(initial)
    return edge.param.name, f"{named(edge.param)} = {told}"


def _ending(loop: Loop, half: Half, one_system: bool) -> Ending:
    """What ends a loop. In an IR a condition that is handed on is carried: that is no other loop than one in ONNX
    without. Of one system it is told as what is carried."""
    found = ending(loop, half.origins)
    carried = not one_system and carries_condition_on(loop, half.origins)
    return replace(found, decides=False, passed=True) if carried else found


def _count_text(half: Half, found: Ending) -> str:
    trips = _scalar(half, found.count) if found.trips is None else found.trips
    if trips is not None and trips >= 0:
        return str(trips)
    if found.slices:
        return "the sliced inputs' parts"
    return "none" if found.count is None else named(found.count)


def _deciding(loop: Loop, found: Ending) -> Value | None:
    """What decides whether a loop goes on; where nothing does, what the body hands on as its condition."""
    if found.decides:
        return loop.condition
    return None if loop.condition_input is None else loop.condition or loop.ignored_condition


def _scalar(half: Half, value: Value | None) -> Any:
    """The number or truth that one element is, also where it follows from constants alone."""
    data = None if value is None else half.data(value)
    return data.reshape(-1)[0].item() if data is not None and data.size == 1 else None


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
