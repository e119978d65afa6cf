"""Which part of one model is which of another, told by structure: operators, attributes, what is wired to what.

Everything gets a number, the same on both sides where it is the same thing: what the models are given, constants by
what they hold, and what nodes make of it. Where numbers no longer fit, constants of one type may stand for each other;
then results that have one purpose (a back edge, a condition, an output) are followed backward, so that one operator can
stand for another. A name decides only between things that are alike otherwise, and one that ends in a number, which
exporters give and shift, counts least.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np

from ...runtime.graph import (
    ANY,
    Array,
    BackEdge,
    Graph,
    If,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    TensorType,
    Value,
    bodies,
    captured,
    walk,
)
from ...runtime.graph.origins import Origins
from ...runtime.graph.slices import from_start
from ..words.endings import carried_condition
from ..words.node_text import SIGNS, Phrases

T = TypeVar("T")

#: What two systems call otherwise, beside the operators with a sign.
_ALIASES = {"Negative": "Neg", "LogicalNot": "Not", "Convert": "Cast", "Maximum": "Max", "Minimum": "Min"}
_COMMUTE = frozenset({"+", "*", "and", "or", "==", "!=", "^", "&", "|", "Max", "Min"})
_ROUNDS = 3
_NUMBERED = re.compile(r"\d(_output_\d+)?$")
_NUMBER_AT_END = re.compile(r"[_./:]?\d+$")


def is_numbered(name: str) -> bool:
    """Whether a name may have its number from an exporter, as in ``Cast_12``."""
    return _NUMBERED.search(name) is not None


def operator(node: Node) -> str:
    """What a node computes, in one word for all systems."""
    return SIGNS.get(node.op_type) or _ALIASES.get(node.op_type) or node.op_type


def likeness(left: Loop, right: Loop) -> float:
    """How much of two bodies is the same operators: from 0 to 1."""
    counts: dict[str, list[int]] = {}
    for k, loop in enumerate((left, right)):
        for node in walk(loop.body):
            counts.setdefault(operator(node), [0, 0])[k] += 1
    every = sum(max(pair) for pair in counts.values())
    return sum(min(pair) for pair in counts.values()) / every if every else 1.0


@dataclass
class LoopPair:
    """Two loops, and which of their ports are which; with each pair, how it was found."""

    left: Loop
    right: Loop
    edges: list[tuple[BackEdge, BackEdge, str]] = field(default_factory=list)
    slices: list[tuple[SlicedInput, SlicedInput, str]] = field(default_factory=list)
    scans: list[tuple[ScanOutput, ScanOutput, str]] = field(default_factory=list)
    #: What one side carries as a value, and the other as its condition: the names on both sides.
    condition: tuple[str, str] | None = None


class Half:
    """One of two models: where its values come from, and their numbers."""

    def __init__(self, graph: Graph, table: _Table, loose: bool) -> None:
        self.graph = graph
        self.origins = Origins.of(graph)
        self.phrases = Phrases(self.origins)
        self._table = table
        self._loose = loose
        #: Of what was paired, and of what a model is given.
        self.fixed: dict[Value, int] = {}
        #: Of what follows from that.
        self.found: dict[Value, int] = {}
        self.params: dict[Value, tuple[Loop, str]] = {}
        self._left_out = set(graph.constants)
        self._invariants: dict[Value, Value] = {}
        self._digests: dict[Value, Hashable] = {}
        for loop in (node for node in walk(graph) if isinstance(node, Loop)):
            self._left_out.update(loop.body.constants)
            self._invariants.update((port.inner, port.outer) for port in loop.invariants)
            self.params.update((edge.param, (loop, "carried")) for edge in loop.back_edges)
            self.params.update((port.inner, (loop, "sliced")) for port in loop.sliced_inputs)
            for value, role in ((loop.iteration, "iteration"), (loop.condition_input, "condition")):
                if value is not None:
                    self.params.setdefault(value, (loop, role))

    def origin(self, value: Value) -> Value:
        """The value itself, or what Identity nodes and invariant inputs hand on as it."""
        while True:
            source = self.origins.origin(value)
            outer = self._invariants.get(source)
            if outer is None:
                return source
            value = outer

    def outer(self, value: Value) -> Value:
        """What an invariant input stands for; any other value itself."""
        while value in self._invariants:
            value = self._invariants[value]
        return value

    def maker(self, value: Value) -> Node | None:
        """The node that computes a value; None for parameters, inputs and constants."""
        node = self.origins.maker(value)
        return None if node is not None and self.constant(value) is not None else node

    def constant(self, value: Value) -> Array | None:
        """The data of a constant, also of a Constant node."""
        return self.phrases.constant(value)

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant; its data may be left out, as in a trace."""
        return value in self._left_out or self.constant(value) is not None

    def number(self, value: Value, relaxed: bool = False) -> int:
        """What stands for a value on both sides."""
        value = self.origin(value)
        known = self.fixed.get(value)
        if known is not None:
            return known
        if self.is_constant(value):
            return self._table.of(self._constant(value, relaxed))
        known = self.found.get(value)
        return self._table.of(("unknown", id(value))) if known is None else known

    def _constant(self, value: Value, relaxed: bool) -> Hashable:
        data = self.constant(value)
        kind: Hashable
        if data is None:
            declared = value.type if isinstance(value.type, TensorType) else TensorType()
            kind = (str(declared.dtype), self._dims(declared.shape or ()))
            return ("constant", kind) if relaxed else ("constant", kind, id(value))
        kind = (str(data.dtype), self._dims(data.shape))
        if relaxed:
            return "constant", kind
        if value not in self._digests:
            self._digests[value] = digest(data)
        return "constant", kind, self._digests[value]

    def _dims(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        # Two systems write one number as [] and as [1,1].
        return tuple(dim for dim in shape if not (self._loose and dim == 1))


def digest(data: Array) -> Hashable:
    """What tells the contents of two arrays of one type apart."""
    if data.dtype == object:
        return repr(data.tolist())
    return hashlib.blake2b(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data, digest_size=16).digest()


class _Table:
    """A number for each key, the same for the same key."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


class Alignment:
    """Two models, aligned. ``loops``: which loops are compared with which; ``names``: which of the right a name is."""

    def __init__(
        self, left: Graph, right: Graph, loops: Iterable[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
    ) -> None:
        self.table = _Table()
        #: Of two systems operators are called otherwise, and have other attributes.
        self.one_system = left.system is right.system
        self.left = Half(left, self.table, not self.one_system)
        self.right = Half(right, self.table, not self.one_system)
        self.nodes: dict[Node, Node] = {}
        self._taken: set[Node] = set()
        self.loops: dict[Loop, LoopPair] = {}
        self.names = names or {}
        self._wanted = dict(loops)
        self._given()
        self._graphs(left, right, list(zip(left.outputs, right.outputs, strict=False)))
        for one, other in self._wanted.items():
            if one not in self.loops:
                self._loop(one, other)

    @classmethod
    def of_itself(cls, graph: Graph) -> Alignment:
        """A model aligned with itself."""
        found = cls.__new__(cls)
        found.table = _Table()
        found.one_system = True
        found.left = found.right = Half(graph, found.table, False)
        found.nodes = {node: node for node in walk(graph)}
        found.loops = {}
        found.names = {}
        return found

    def same(self, left: Value, right: Value) -> bool:
        """Whether two values are the same thing."""
        return self.left.number(left) == self.right.number(right)

    def inputs(self, left: Node, right: Node) -> Iterator[tuple[Value, Value]]:
        """What two nodes are fed, by pairs: by place, or where that says nothing, what is the same and then the rest.

        Of what the graphs inside a node take from outside only what is the same makes pairs.
        """
        ours, theirs = ([v for v in node.inputs if v is not None] for node in (left, right))
        if isinstance(left, Loop) and not self.one_system:
            yield from self._same_ones([*ours, *captured_by(left)], [*theirs, *captured_by(right)])
            return
        if operator(left) in _COMMUTE:
            same = list(self._same_ones(ours, theirs))
            yield from same
            ours = [value for value in ours if value not in {a for a, _ in same}]
            theirs = [value for value in theirs if value not in {b for _, b in same}]
        yield from zip(ours, theirs, strict=False)
        yield from self._same_ones(captured_by(left), captured_by(right))

    def _same_ones(self, left: Sequence[Value], right: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
        free = list(right)
        for value in left:
            other = next((one for one in free if self.same(value, one)), None)
            if other is not None:
                free.remove(other)
                yield value, other

    def paired(self, left: Node, right: Node) -> bool:
        """Whether two nodes stand for each other: as a pair, or because both do the same to the same."""
        if self.nodes.get(left) is right:
            return True
        pairs = [(a, b) for a, b in zip(left.outputs, right.outputs, strict=False) if a is not None and b is not None]
        return bool(pairs) and all(self.same(a, b) for a, b in pairs)

    # -- what both are given

    def _given(self) -> None:
        """Inputs of the models: as they are given, by the names that are given and by name, the others in order."""
        left, right = self.left.graph.inputs, self.right.graph.inputs

        def fits(a: Value, b: Value) -> float | None:
            if not types_fit(a, b):
                return None
            return 2.0 if a.name == b.name else 0.0

        for a, b, _ in self._pairs(left, right, lambda value: value.name, fits):
            self._fix(a, b)

    def _fix(self, left: Value, right: Value) -> None:
        number = self.table.of(("pair", id(left)))
        self.left.fixed[left] = self.right.fixed[right] = number

    def _pairs(
        self,
        left: Sequence[T],
        right: Sequence[T],
        name: Callable[[T], str],
        score: Callable[[T, T], float | None],
    ) -> list[tuple[T, T, str]]:
        """The best pairs: the names that are given, then by score; with equal scores a name decides, then the order."""
        found: dict[int, tuple[int, str]] = {}
        taken: set[int] = set()
        for k, one in enumerate(left):
            wanted = self.names.get(name(one))
            match = next((j for j, other in enumerate(right) if name(other) == wanted and j not in taken), None)
            if wanted is not None and match is not None:
                found[k] = match, "given"
                taken.add(match)
        marks = []
        for k, one in enumerate(left):
            for j, other in enumerate(right):
                mark = None if k in found or j in taken else score(one, other)
                if mark is not None:
                    mark += _evidence(name(one), name(other))
                    marks.append((-mark, k, j))
        for mark, k, j in sorted(marks):
            if k not in found and j not in taken:
                same = name(left[k]) == name(right[j])
                found[k] = j, "name" if same else "structure" if mark <= -1 else "position"
                taken.add(j)
        return [(left[k], right[j], how) for k, (j, how) in sorted(found.items())]

    # -- graphs

    def _graphs(self, left: Graph, right: Graph, results: list[tuple[Value, Value]]) -> None:
        """Align two graphs and what is inside them; ``results``: pairs with one purpose."""
        self._forward(left, right)
        there = set(right.nodes)
        for node in left.nodes:
            if isinstance(node, Loop) and self._wanted.get(node) in there and node not in self.loops:
                self._loop(node, self._wanted[node])
                self._forward(left, right)
        # What loops are fed has one purpose too, also where nothing reads what they give.
        fed = [
            pair
            for node in left.nodes
            if isinstance(node, Loop) and node in self.loops and self.nodes[node] in there
            for pair in self.inputs(node, self.nodes[node])
        ]
        while self._backward(left, right, [*fed, *results]):
            self._forward(left, right)

    def _forward(self, left: Graph, right: Graph) -> None:
        """Pair nodes that do the same to the same; of constants at last the types alone have to be the same."""
        for relaxed in (False, True):
            groups: dict[int, list[Node]] = {}
            for key, node in self._keys(self.right, right, relaxed):
                if node not in self._taken:
                    groups.setdefault(key, []).append(node)
            for key, node in self._keys(self.left, left, relaxed):
                others = groups.get(key)
                if node in self.nodes or not others:
                    continue
                name = _name(node)
                other = max(others, key=lambda one: _evidence(name, _name(one)))
                others.remove(other)
                self._pair(node, other, exact=not relaxed)
        for half, graph in ((self.left, left), (self.right, right)):
            for _ in self._keys(half, graph, False):
                pass

    def _keys(self, half: Half, graph: Graph, relaxed: bool) -> list[tuple[int, Node]]:
        """A number for what each node does, in order; their results are numbered on the way."""
        found = []
        for node in graph.nodes:
            if node.op_type == "Identity" or all(v is None or half.is_constant(v) for v in node.outputs):
                continue
            if isinstance(node, Loop) and node in self.loops:
                continue
            fed = [-1 if value is None else half.number(value, relaxed) for value in node.inputs]
            word = operator(node)
            key: list[Hashable] = [word, len(node.outputs), *(sorted(fed) if word in _COMMUTE else fed)]
            if isinstance(node, Operation) and self.one_system:
                key.append(attributes(node))
            elif isinstance(node, If | Loop):
                # Their insides are aligned once they are paired.
                key += [half.number(value, relaxed) for value in captured_by(node)]
                key += [operator(inner) for _, body in bodies(node) for inner in walk(body)]
            number = self.table.of(("node", *key))
            for k, value in enumerate(node.outputs):
                if value is not None:
                    half.found[value] = self.table.of(("result", number, k))
            if not isinstance(node, Loop):
                found.append((number, node))
        return found

    def _pair(self, left: Node, right: Node, exact: bool = False) -> None:
        """Pair two nodes; ``exact``: they have one number, and may share it with others that do the same."""
        self.nodes[left] = right
        self._taken.add(right)
        if not exact:
            for one, other in zip(left.outputs, right.outputs, strict=False):
                if one is not None and other is not None:
                    self._fix(one, other)
        if isinstance(left, If) and isinstance(right, If):
            for (_, branch), (_, other_branch) in zip(bodies(left), bodies(right), strict=True):
                results = list(zip(branch.outputs, other_branch.outputs, strict=False))
                self._graphs(branch, other_branch, results)

    def _backward(self, left: Graph, right: Graph, results: list[tuple[Value, Value]]) -> bool:
        """From results that have one purpose to what makes them; True where that paired anything."""
        here, there = set(left.nodes), set(right.nodes)
        known, seen, waiting = len(self.nodes), set(), list(results)
        while waiting:
            value, other = waiting.pop()
            one, two = (half.maker(half.origin(v)) for half, v in ((self.left, value), (self.right, other)))
            if one not in here or two not in there or (one, two) in seen:
                continue
            seen.add((one, two))
            if one not in self.nodes and two not in self._taken:
                if isinstance(one, Loop) or isinstance(two, Loop) or len(one.outputs) != len(two.outputs):
                    continue
                if isinstance(one, If) is not isinstance(two, If):
                    continue
                if operator(one) != operator(two) and len(one.inputs) != len(two.inputs):
                    continue
                self._pair(one, two)
            if self.nodes.get(one) is two:
                waiting += self.inputs(one, two)
        return len(self.nodes) > known

    # -- loops

    def _loop(self, left: Loop, right: Loop) -> None:
        pair = self.loops[left] = LoopPair(left, right)
        self.nodes[left] = right
        self._taken.add(right)
        # Where one side alone has its condition among what it carries, that is the other's condition.
        carried = carried_condition(left), carried_condition(right)
        apart = [edge for edge in carried if edge is not None] if None in carried else []
        received = [
            edge.param if edge is not None and apart else loop.condition_input
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        for one, other in ((left.iteration, right.iteration), received):
            if one is not None and other is not None:
                self._fix(one, other)
        pair.slices = self._slices(left, right)
        for a, b, _ in pair.slices:
            self._fix(a.inner, b.inner)
        pair.edges = self._edges(left, right, apart)
        for edge, other_edge, _ in pair.edges:
            self._fix(edge.param, other_edge.param)
        decided = [
            edge.result if edge is not None and apart else loop.condition or loop.ignored_condition
            for edge, loop in zip(carried, (left, right), strict=True)
        ]
        results = [(a.result, b.result) for a, b, _ in pair.edges]
        if decided[0] is not None and decided[1] is not None:
            results.append((decided[0], decided[1]))
            if apart:
                names = [e.param.name if e else d.name for e, d in zip(carried, decided, strict=True) if d is not None]
                pair.condition = names[0], names[1]
        self._graphs(left.body, right.body, results)
        pair.scans = self._scans(left, right)
        self._graphs(left.body, right.body, [*results, *((a.result, b.result) for a, b, _ in pair.scans)])
        for scan, other_scan, _ in pair.scans:
            self._fix(scan.outer, other_scan.outer)
        for last, other_last in self._last_values(pair):
            self._fix(last.outer, other_last.outer)

    def _slices(self, left: Loop, right: Loop) -> list[tuple[SlicedInput, SlicedInput, str]]:
        def score(a: SlicedInput, b: SlicedInput) -> float | None:
            if not types_fit(a.outer, b.outer):
                return None
            same = self.left.number(a.outer) == self.right.number(b.outer)
            return 2.0 * same + (geometry(a) == geometry(b))

        return self._pairs(left.sliced_inputs, right.sliced_inputs, lambda port: port.inner.name, score)

    def _edges(self, left: Loop, right: Loop, apart: Sequence[BackEdge]) -> list[tuple[BackEdge, BackEdge, str]]:
        """What is carried: by what it begins with and what the body makes of it; what is ``apart`` stays so."""
        exact = [self._colours(self.left, left, False), self._colours(self.right, right, False)]
        types = [self._colours(self.left, left, True), self._colours(self.right, right, True)]

        def score(a: BackEdge, b: BackEdge) -> float | None:
            if not (types_fit(a.param, b.param) and types_fit(a.result, b.result)):
                return None
            begins = self._begin(self.left, a) == self._begin(self.right, b)
            computed = 2.0 * (exact[0][a] == exact[1][b]) or 1.5 * (types[0][a] == types[1][b])
            return float(begins) + computed

        edges = [[edge for edge in loop.back_edges if edge not in apart] for loop in (left, right)]
        return self._pairs(edges[0], edges[1], lambda edge: edge.param.name, score)

    def _begin(self, half: Half, edge: BackEdge) -> Hashable:
        initial = edge.initial
        if isinstance(initial, SlicedInput):
            return "part", half.number(initial.outer), geometry(initial)
        return half.number(initial)

    def _colours(self, half: Half, loop: Loop, relaxed: bool) -> dict[BackEdge, int]:
        """A number for each carried value that says what becomes of it in a few iterations, whatever it is called."""
        params = {edge.param for edge in loop.back_edges}
        kept = dict(half.found)
        colours = dict.fromkeys(loop.back_edges, self.table.of("edge"))
        for _ in range(_ROUNDS):
            half.fixed.update((edge.param, colours[edge]) for edge in loop.back_edges)
            self._keys(half, loop.body, relaxed)
            after = {edge: half.number(edge.result, relaxed) for edge in loop.back_edges}
            colours = {edge: self.table.of(("edge", colours[edge], after[edge])) for edge in loop.back_edges}
        for value in params:
            half.fixed.pop(value, None)
        half.found = kept
        return colours

    def _scans(self, left: Loop, right: Loop) -> list[tuple[ScanOutput, ScanOutput, str]]:
        def score(a: ScanOutput, b: ScanOutput) -> float | None:
            return 2.0 * self.same(a.result, b.result) if types_fit(a.result, b.result) else None

        return self._pairs(left.scan_outputs, right.scan_outputs, lambda scan: scan.outer.name, score)

    def _last_values(self, pair: LoopPair) -> Iterator[tuple[LastValueOutput, LastValueOutput]]:
        edges = {a: b for a, b, _ in pair.edges}
        free = list(pair.right.last_values)
        for last in pair.left.last_values:
            edge = pair.left.edge_of(last)
            for other in free:
                other_edge = pair.right.edge_of(other)
                if (edges.get(edge) is other_edge) if edge and other_edge else self.same(last.result, other.result):
                    free.remove(other)
                    yield last, other
                    break


def geometry(port: SlicedInput) -> tuple[int, ...]:
    """How a tensor is cut, as far as that can be told without its shape; the same numbers mean the same parts."""
    shape = port.outer.type.shape if isinstance(port.outer.type, TensorType) else None
    axis = port.axis if shape is None else from_start(port.axis, len(shape))
    dim = shape[axis] if shape is not None and 0 <= axis < len(shape) else None
    start, end = port.start, port.end
    if isinstance(dim, int):
        start, end = (dim + 1 + place if place < 0 else place for place in (start, end))
    return axis, start, end, port.stride, port.part_size


def captured_by(node: Node) -> list[Value]:
    """What the graphs inside a node take from outside, each once."""
    return list(dict.fromkeys(value for _, body in bodies(node) for value in captured(body)))


def read_by(node: Node) -> list[Value]:
    """What a node reads, the graphs inside it included."""
    return [*(value for value in node.inputs if value is not None), *captured_by(node)]


def types_fit(left: Value, right: Value) -> bool:
    """Whether two declared types can be the same; axes of length 1 come and go between systems."""
    a, b = left.type, right.type
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return type(a) is type(b) or ANY in (a, b)
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        return False
    if a.shape is None or b.shape is None:
        return True
    known = [[dim for dim in shape if dim != 1] for shape in (a.shape, b.shape)]
    if not all(isinstance(dim, int) for dims in known for dim in dims):
        return True
    return known[0] == known[1]


def _evidence(left: str, right: str) -> float:
    """What a name says: less than any structure."""
    if left != right:
        return 0.1 if _NUMBER_AT_END.sub("", left) == _NUMBER_AT_END.sub("", right) else 0.0
    return 0.3 if is_numbered(left) else 0.6


def _name(node: Node) -> str:
    """What its user calls a node: its result's name stays where the node has none of its own."""
    first = next((value for value in node.outputs if value is not None), None)
    return node.name if first is None else first.name


# -- attributes


def attributes(node: Operation) -> Hashable:
    """The attributes of a node, those that are left out with what they stand for."""
    told = {**_defaults(node), **{name: _plain(value) for name, value in node.attributes.items()}}
    return tuple(sorted(told.items(), key=lambda item: item[0]))


def _plain(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, digest(value)
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, str | bytes | int | float | bool | complex) or value is None:
        return value
    if isinstance(value, np.generic):
        scalar: Hashable = value.item()
        return scalar
    return repr(value)


def _defaults(node: Operation) -> Mapping[str, Hashable]:
    if node.domain.startswith("opset"):  # an IR says all that it means
        return {}
    return _onnx_defaults(node.op_type, node.domain, node.version)


@cache
def _onnx_defaults(op_type: str, domain: str, version: int) -> Mapping[str, Hashable]:
    import onnx

    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return {}
    found = {}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.name:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            found[name] = _plain(value.decode() if isinstance(value, bytes) else value)
    return found
