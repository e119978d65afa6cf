"""What differs before anything runs: constants, slices, initial values, back edges, conditions, trip counts, operators.

Of models of two systems less can be told: operators and attributes are not written the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ....runtime.graph import MAIN, BackEdge, Graph, If, Loop, Node, Operation, ScanOutput, SlicedInput, Value, bodies
from ...describe.condition import condition_slice
from ...describe.node_text import OPERATOR_SIGNS
from ...describe.subscripts import slice_text
from ...describe.termination import TerminationRule, forwards_condition, termination_rule
from ...describe.value_names import display_name
from ..report.findings import StaticDifference
from ..running.value_comparison import Tolerance, compare
from .constant_relations import describe_constant_relation
from .correspondence import Correspondence
from .loop_ports import LoopAlignment, same_slicing
from .normal_form import Operand
from .value_numbering import NumberedGraph


def static_differences(alignment: Correspondence, paths: dict[Loop, str], everything: bool) -> list[StaticDifference]:
    """What differs of loops that are compared, outer before inner; ``everything``: of the main graph as well."""
    found: list[StaticDifference] = []
    seen: set[tuple[Value, Value]] = set()
    for pair in alignment.loops.values():
        if pair.left in paths and not alignment.compared_as_operators(pair.left, pair.right):
            found += _LoopStaticDiff(alignment, pair, paths[pair.left], seen).differences()
    if everything:
        left = alignment.left.graph
        main = _GraphStaticDiff(alignment, left, alignment.right.graph, MAIN, seen)
        found += [*main.differences(), *main.output_differences()]
    # What reads the same on both sides tells nobody anything.
    found = [one for one in found if one.delta is not None or one.left_text != one.right_text]
    order = {path: k for k, path in enumerate(paths.values())}
    return sorted(found, key=lambda one: order.get(one.loop_path, len(order)))


class _GraphStaticDiff:
    """The nodes of one graph, without those of loops inside."""

    def __init__(
        self, alignment: Correspondence, left: Graph, right: Graph, place: str, seen: set[tuple[Value, Value]]
    ) -> None:
        self.alignment = alignment
        self.graphs = left, right
        self.path = place
        self.seen = seen
        #: Nodes that the condition depends on.
        self.condition_nodes: set[Node] = set()
        #: Those that work on what is carried on one side, and on what becomes of it on the other.
        self.shifted_nodes: set[Node] = set()

    def differences(self) -> Iterator[StaticDifference]:
        """Every difference."""
        operators: set[Node] = set()
        for node in _nodes_with_branches(self.graphs[0]):
            other = self.alignment.nodes_by_left.get(node)
            if other is None or self._opened_from_different_operators(node, other):
                continue
            made_of = self.alignment.same_opened_operators(node, other)
            if made_of is not None:
                # What was made of an operator of the file is compared as that operator.
                if made_of[0] in operators:
                    continue
                operators.add(made_of[0])
                node, other = made_of
            if not isinstance(node, Loop):
                yield from self._constant_differences(node, other)
                yield from self._node_difference(node, other)
            if isinstance(node, If) and isinstance(other, If):
                yield from self._branch_differences(node, other)

    def _opened_from_different_operators(self, node: Node, other: Node) -> bool:
        """Whether two nodes are parts of what was made of two operators, one of them in 8 bits."""
        made_of = self.alignment.opened_operators(node, other)
        return (
            self.alignment.quantized_side is not None
            and made_of is not None
            and made_of[0].op_type != made_of[1].op_type
        )

    def output_differences(self) -> Iterator[StaticDifference]:
        """The outputs of the graphs that are other values."""
        left, right = self.graphs
        for a, b in zip(left.outputs, right.outputs, strict=False):
            if self.alignment.rewired(a, b):
                one, other = self._distinguish(
                    (a, f"{display_name(a)} is an output"), (b, f"{display_name(b)} is an output")
                )
                yield self.difference("output", (a.name, one), (b.name, other))
            else:
                yield from self.constant_difference(a, b)

    def _distinguish(self, left: tuple[Value, str], right: tuple[Value, str]) -> tuple[str, str]:
        """Two texts about two values; which values those are, where it does not show."""
        if left[1] != right[1]:
            stands = self.alignment.counterpart_text(right[0])
            return left[1], f"{right[1]} ({display_name(right[0])}{stands})" if stands else right[1]
        told = self._distinguishing_texts(left[0], right[0])
        return f"{left[1]} ({told[0]})", f"{right[1]} ({told[1]})"

    def _distinguishing_texts(self, left: Value, right: Value, depth: int = 10) -> tuple[str, str]:
        """Which values two are: what they are called, or else what first differs of what they are computed from."""
        told = _identity_text(self.alignment.left, left), _identity_text(self.alignment.right, right)
        makers = [
            half.producer_or_folded_node(half.origin(v))
            for half, v in zip(self._numbered_graphs(), (left, right), strict=True)
        ]
        if told[0] != told[1] or not depth:
            return told[0], f"{told[1]}{self.alignment.counterpart_text(right)}"
        inputs = [[] if node is None else node.inputs for node in makers]
        for a, b in zip(*inputs, strict=False):
            if a is not None and b is not None and self.alignment.rewired(a, b):
                return self._distinguishing_texts(a, b, depth - 1)
        one, other = (
            _kind_text(half, value) for half, value in zip(self._numbered_graphs(), (left, right), strict=True)
        )
        if one == other and self.alignment.same_system:
            twin = self.alignment.counterpart(1, right)
            other = f"which stands for {'nothing' if twin is None else display_name(twin)}"
        return f"{told[0]}, {one}", f"{told[1]}, {other}"

    def _numbered_graphs(self) -> tuple[NumberedGraph, NumberedGraph]:
        return self.alignment.left, self.alignment.right

    def _branch_differences(self, node: If, other: If) -> Iterator[StaticDifference]:
        """The results of an If's branches that are other values."""
        for (word, branch), (_, other_branch) in zip(bodies(node), bodies(other), strict=True):
            for a, b in zip(branch.outputs, other_branch.outputs, strict=False):
                if self.alignment.rewired(a, b):
                    texts = [(v, f"{display_name(v)} is a result of the {word} branch") for v in (a, b)]
                    one, two = self._distinguish(texts[0], texts[1])
                    yield self.difference("branch result", (a.name, one), (b.name, two))
                else:
                    yield from self.constant_difference(a, b)

    def difference(
        self,
        kind: str,
        left: tuple[str, str],
        right: tuple[str, str],
        values: Sequence[Any] = (),
        deciding: bool = False,
    ) -> StaticDifference:
        """A difference: of each side a name and a text."""
        return StaticDifference(kind, self.path, left[0], right[0], left[1], right[1], deciding, *values)

    def constant_difference(
        self, left: Operand | Value, right: Operand | Value, kind: str = "constant", deciding: bool = False
    ) -> Iterator[StaticDifference]:
        """Two constants with one purpose, unless they are the same."""
        one, other = (operand if isinstance(operand, Operand) else Operand(operand) for operand in (left, right))
        names = self.alignment.left.origin(one.value), self.alignment.right.origin(other.value)
        a, b = self.alignment.left.origin_constant(one.value), self.alignment.right.origin_constant(other.value)
        if a is None or b is None or names in self.seen or self.alignment.same_value(one, other):
            return
        if None not in self.alignment.producers(*names):
            return  # what they are made of is told
        self.seen.add(names)
        if self.alignment.is_weight_pair(one, other):
            return
        # What a step of 8 bits is of the largest weight: the rounding is meant.
        rounding = Tolerance(0.0, 0.0, peak_fraction=0.0 if self.alignment.quantized_side is None else 1 / 127)
        delta = compare(
            one.apply_transpose(a), other.apply_transpose(b), rounding, loose_shape=not self.alignment.same_system
        )
        if delta.kind:
            values = one.apply_transpose(a), other.apply_transpose(b)
            more = (*values, delta, describe_constant_relation(*values))
            yield self.difference(kind, (names[0].name, ""), (names[1].name, ""), more, deciding)

    def _constant_differences(self, node: Node, other: Node) -> Iterator[StaticDifference]:
        if not self.alignment.same_operator(node, other):
            return  # a Reshape's shape is no weight of what stands there in the other model
        for a, b in self.alignment.input_pairs(node, other):
            if not self.alignment.rewired(a.value, b.value):
                yield from self.constant_difference(a, b, deciding=node in self.condition_nodes)

    def _node_difference(self, node: Node, other: Node) -> Iterator[StaticDifference]:
        value = next((v for v in node.outputs if v is not None), None)
        other_value = next((v for v in other.outputs if v is not None), None)
        if value is None or other_value is None:
            return
        kind = self._difference_kind(node, other)
        if kind:
            texts = self._node_texts((node, value), (other, other_value), kind == "inputs")
            deciding = node in self.condition_nodes
            found = self.difference(kind, (value.name, texts[0]), (other_value.name, texts[1]), deciding=deciding)
            yield replace(found, source_line=self.alignment.left.code.describe_node(node))

    def _difference_kind(self, node: Node, other: Node) -> str:
        """What of two nodes is written otherwise; empty where nothing is."""
        one_system = self.alignment.same_system
        if not self.alignment.same_operator(node, other):
            return "operator" if one_system or {node.op_type, other.op_type} <= set(OPERATOR_SIGNS) else ""
        operations = isinstance(node, Operation) and isinstance(other, Operation)
        if one_system and operations and not self.alignment.same_attributes(node, other):
            return "attributes"
        if node in self.shifted_nodes:
            return ""
        rewired = any(self._rewired(a, b) for a, b in self.alignment.input_pairs(node, other))
        lacking = one_system and operations and any(self.alignment.unpaired_inputs(node, other))
        return "inputs" if rewired or lacking else ""

    def _node_texts(self, left: tuple[Node, Value], right: tuple[Node, Value], inputs: bool) -> list[str]:
        """What both nodes compute; ``inputs``: and which of their inputs are other values, where that does not show."""
        halves = self.alignment.left, self.alignment.right
        texts = [
            f"{node.op_type}: {display_name(value)} = {half.phrases.expression(node)}"
            for half, (node, value) in zip(halves, (left, right), strict=True)
        ]
        if texts[0] == texts[1] and left[0].version != right[0].version:
            texts = [f"{text} (opset {node.version})" for text, (node, _) in zip(texts, (left, right), strict=True)]
        others = [pair for pair in self.alignment.input_pairs(left[0], right[0]) if inputs and self._rewired(*pair)]
        for pair in others:
            constant = [half.is_constant(operand.value) for half, operand in zip(halves, pair, strict=True)]
            if texts[0] == texts[1] or any(constant) or self.alignment.counterpart_text(pair[1].value):
                told = self._distinguishing_texts(pair[0].value, pair[1].value)
                texts = [f"{text} ({words})" for text, words in zip(texts, told, strict=True)]
        return texts

    def _rewired(self, left: Operand, right: Operand) -> bool:
        if left.transposed is not right.transposed and self.alignment.counterpart(0, left.value) is not None:
            here, there = self.alignment.left, self.alignment.right
            return not (here.is_constant(left.value) and there.is_constant(right.value))
        return self.alignment.rewired(left.value, right.value)


class _LoopStaticDiff(_GraphStaticDiff):
    """A pair of loops: their ports, and their bodies."""

    def __init__(
        self, alignment: Correspondence, pair: LoopAlignment, path: str, seen: set[tuple[Value, Value]]
    ) -> None:
        super().__init__(alignment, pair.left.body, pair.right.body, path, seen)
        self.pair = pair
        sides = (pair.left, alignment.left), (pair.right, alignment.right)
        one, other = (_loop_ending(loop, half, alignment.same_system) for loop, half in sides)
        self.endings = one, other
        self.condition_nodes = set(condition_slice(pair.left).nodes)
        if self.endings[0].tests_first != self.endings[1].tests_first:
            self.shifted_nodes = self.condition_nodes

    def differences(self) -> Iterator[StaticDifference]:
        yield from self._trip_count()
        yield from self._condition()
        yield from self._slices()
        yield from self._initial_values()
        yield from self._back_edges()
        yield from self._scans()
        yield from self._last_values()
        yield from super().differences()

    def _sides(self) -> tuple[tuple[Loop, NumberedGraph, TerminationRule], tuple[Loop, NumberedGraph, TerminationRule]]:
        pair, alignment = self.pair, self.alignment
        return (pair.left, alignment.left, self.endings[0]), (pair.right, alignment.right, self.endings[1])

    def _text_difference(self, kind: str, texts: Sequence[str], deciding: bool = False) -> Iterator[StaticDifference]:
        """What differs where its texts do."""
        if texts[0] != texts[1]:
            yield self.difference(kind, ("", texts[0]), ("", texts[1]), deciding=deciding)

    def _trip_count(self) -> Iterator[StaticDifference]:
        one, other = self.endings
        if one.trip_count_value is not None and other.trip_count_value is not None:
            if not self.alignment.rewired(one.trip_count_value, other.trip_count_value):
                yield from self.constant_difference(one.trip_count_value, other.trip_count_value, "trip count")
                return
            if not self.alignment.same_system and self._is_computed(one.trip_count_value, other.trip_count_value):
                return  # another type, and no less than 0: systems ask for a count in their own ways
        elif one.slices and other.slices:
            return  # told as slices
        texts = [_count_text(half, found) for _, half, found in self._sides()]
        if one.trip_count_value is not None and other.trip_count_value is not None:
            texts = list(self._distinguish((one.trip_count_value, texts[0]), (other.trip_count_value, texts[1])))
        yield from self._text_difference("trip count", texts)

    def _is_computed(self, left: Value, right: Value) -> bool:
        here, there = self.alignment.left, self.alignment.right
        return here.producer(here.origin(left)) is not None or there.producer(there.origin(right)) is not None

    def _condition(self) -> Iterator[StaticDifference]:
        texts = [_condition_text(loop, half, found) for loop, half, found in self._sides()]
        yield from self._text_difference("condition", texts, True)
        decided = [_deciding_value(loop, found) for loop, _, found in self._sides()]
        if decided[0] is not None and decided[1] is not None and self.alignment.rewired(decided[0], decided[1]):
            told = [f"{display_name(value)} is the condition" for value in decided if value is not None]
            one, other = self._distinguish((decided[0], told[0]), (decided[1], told[1]))
            yield self.difference("condition", (decided[0].name, one), (decided[1].name, other), deciding=True)
        if self.endings[0].tests_first != self.endings[1].tests_first:
            return  # one is tested before each iteration: it has no initial condition that would be another one
        first = [loop.initial_condition for loop, _, _ in self._sides()]
        known = [found.initial_condition for found in self.endings]
        if first[0] is not None and first[1] is not None and None in known:
            # Where it is computed on both sides, what computes it is compared.
            if self.alignment.rewired(first[0], first[1]):
                one, other = self._distinguish((first[0], display_name(first[0])), (first[1], display_name(first[1])))
                yield self.difference("initial condition", ("", one), ("", other), deciding=True)
            return
        words = [{True: "true", False: "false", None: "not constant"}[word] for word in known]
        yield from self._text_difference("initial condition", words, True)

    def _slices(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.slices:
            rewired = self.alignment.rewired(a.outer, b.outer)
            if not rewired:
                yield from self.constant_difference(a.outer, b.outer)
            if not same_slicing(a, b) or rewired:
                cut = [(p.outer, f"{display_name(p.inner)} = {slice_text(p, 'i')}") for p in (a, b)]
                one, other = self._distinguish(cut[0], cut[1]) if rewired else (cut[0][1], cut[1][1])
                yield self.difference("sliced input", (a.inner.name, one), (b.inner.name, other))

    def _initial_values(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.edges:
            one, other = a.initial, b.initial
            if isinstance(one, SlicedInput) or isinstance(other, SlicedInput):
                parts = isinstance(one, SlicedInput) and isinstance(other, SlicedInput)
                if not (parts and self._same_slice(one, other)):
                    yield self.difference("initial value", _initial_text(a), _initial_text(b))
            elif self.alignment.rewired(one, other):
                texts = self._distinguish((one, _initial_text(a)[1]), (other, _initial_text(b)[1]))
                yield self.difference("initial value", (a.param.name, texts[0]), (b.param.name, texts[1]))
            else:
                yield from self.constant_difference(one, other, "initial value")

    def _same_slice(self, one: Any, other: Any) -> bool:
        return same_slicing(one, other) and not self.alignment.rewired(one.outer, other.outer)

    def _back_edges(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.edges:
            if self.alignment.rewired(a.result, b.result):
                halves = (self.alignment.left, a), (self.alignment.right, b)
                told = [f"{half.phrases.operand(edge.result)} → {display_name(edge.param)}" for half, edge in halves]
                texts = self._distinguish((a.result, told[0]), (b.result, told[1]))
                yield self.difference("back edge", (a.param.name, texts[0]), (b.param.name, texts[1]))
            else:
                yield from self.constant_difference(a.result, b.result)

    def _scans(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.scans:
            order = a.reverse is not b.reverse or (self.alignment.same_system and a.axis != b.axis)
            rewired = self.alignment.rewired(a.result, b.result)
            if not rewired:
                yield from self.constant_difference(a.result, b.result)
            yield from self._lengths(a, b)
            if order or rewired:
                told = [
                    f"{display_name(scan.outer)} collects {display_name(scan.result)} on axis {scan.axis}"
                    f"{', the last iteration first' if scan.reverse else ''}"
                    for scan in (a, b)
                ]
                texts = self._distinguish((a.result, told[0]), (b.result, told[1]))
                yield self.difference("scan output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))

    def _lengths(self, left: ScanOutput, right: ScanOutput) -> Iterator[StaticDifference]:
        """The lengths that two scan outputs are padded to."""
        if left.length is None or right.length is None:
            return
        if self.alignment.rewired(left.length, right.length):
            texts = [
                f"{display_name(scan.outer)} is padded to {display_name(scan.length)}"
                for scan in (left, right)
                if scan.length
            ]
            yield self.difference("scan output", (left.outer.name, texts[0]), (right.outer.name, texts[1]))
        else:
            yield from self.constant_difference(left.length, right.length)

    def _last_values(self) -> Iterator[StaticDifference]:
        for a, b, same in self.pair.last_values:
            edges = a.edge, b.edge
            # Without an iteration what is carried is what it begins with, and anything else is nothing.
            begun = self.alignment.same_system and (edges[0] is None) is not (edges[1] is None)
            if begun or (not same and self.alignment.rewired(a.result, b.result)):
                told = [
                    f"{display_name(last.outer)} is the last {_result_text(loop, last.result)}"
                    f"{f', or what {display_name(edge.param)} begins with' if begun and edge is not None else ''}"
                    for loop, last, edge in ((self.pair.left, a, edges[0]), (self.pair.right, b, edges[1]))
                ]
                texts = self._distinguish((a.result, told[0]), (b.result, told[1]))
                yield self.difference("last-value output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))


def _identity_text(half: NumberedGraph, value: Value) -> str:
    """Which value an input is: one of several results by its place, another by its name and by what it hands on."""
    origin = half.origin(value)
    node = half.producer(origin)
    if node is not None and len(node.outputs) > 1:
        return f"{display_name(value)} is output {node.outputs.index(origin)} of {node.op_type} '{node.name}'"
    return display_name(value) if origin is value else f"{display_name(value)} is {display_name(origin)}"


def _kind_text(half: NumberedGraph, value: Value) -> str:
    """What kind of thing a value is, for two that go by one name."""
    origin = half.origin(value)
    node = half.producer_or_folded_node(origin)
    if node is not None:
        return f"the result of {node.op_type}"
    loop, role = half.params.get(origin, (None, "constant" if half.is_constant(origin) else "input"))
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}{' value' if role in ('carried', 'sliced') and loop else ''}"


def _result_text(loop: Loop, value: Value) -> str:
    """A body's result, with the name that the file gives it as a result."""
    names = dict(zip(loop.body.outputs, loop.body.output_names, strict=False))
    name = names.get(value, value.name)
    return display_name(value) if name == value.name else f"{display_name(value)} ({name})"


def _initial_text(edge: BackEdge) -> tuple[str, str]:
    initial = edge.initial
    told = slice_text(initial, None) if isinstance(initial, SlicedInput) else display_name(initial)
    return edge.param.name, f"{display_name(edge.param)} = {told}"


def _loop_ending(loop: Loop, half: NumberedGraph, one_system: bool) -> TerminationRule:
    """What ends a loop. In an IR a condition that is handed on is carried: that is no other loop than one in ONNX
    without. Of one system it is told as what is carried."""
    found = termination_rule(loop, half.origins)
    carried = not one_system and forwards_condition(loop, half.origins)
    return replace(found, condition_decides=False, condition_forwarded=True) if carried else found


def _count_text(half: NumberedGraph, found: TerminationRule) -> str:
    trips = _scalar_constant(half, found.trip_count_value) if found.trip_count is None else found.trip_count
    if trips is not None and trips >= 0:
        return str(trips)
    if found.slices:
        return "the sliced inputs' parts"
    return "none" if found.trip_count_value is None else display_name(found.trip_count_value)


def _deciding_value(loop: Loop, found: TerminationRule) -> Value | None:
    """What decides whether a loop goes on; where nothing does, what the body hands on as its condition."""
    if found.condition_decides:
        return loop.condition
    return None if loop.condition_input is None else loop.condition or loop.ignored_condition


def _scalar_constant(half: NumberedGraph, value: Value | None) -> Any:
    """The number or truth that one element is, also where it follows from constants alone."""
    data = None if value is None else half.origin_constant(value)
    return data.reshape(-1)[0].item() if data is not None and data.size == 1 else None


def _condition_text(loop: Loop, half: NumberedGraph, found: TerminationRule) -> str:
    if found.condition_decides:
        return "always false" if found.constant_condition is False else "the body's condition decides"
    return "nothing in the body ends it"


def _nodes_with_branches(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, those of branches included."""
    for node in graph.nodes:
        yield node
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _nodes_with_branches(branch)
