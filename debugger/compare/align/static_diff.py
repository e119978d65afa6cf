"""Static comparison of two models: constants, slices, initial values, back edges, conditions, trip counts, operators.

Models of different systems are compared less strictly, since their operators and attributes are written differently.
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
    """Differences of the compared loops, outer before inner; ``everything``: also of the main graph."""
    differences: list[StaticDifference] = []
    seen: set[tuple[Value, Value]] = set()
    for pair in alignment.loops.values():
        if pair.left in paths and not alignment.compared_as_operators(pair.left, pair.right):
            differences += _LoopStaticDiff(alignment, pair, paths[pair.left], seen).differences()
    if everything:
        left = alignment.left.graph
        main = _GraphStaticDiff(alignment, left, alignment.right.graph, MAIN, seen)
        differences += [*main.differences(), *main.output_differences()]
    # A difference whose texts are equal is not informative.
    differences = [d for d in differences if d.delta is not None or d.left_text != d.right_text]
    order = {path: k for k, path in enumerate(paths.values())}
    return sorted(differences, key=lambda d: order.get(d.loop_path, len(order)))


class _GraphStaticDiff:
    """Differences of the nodes of one graph, without those of nested loops."""

    def __init__(
        self, alignment: Correspondence, left: Graph, right: Graph, path: str, seen: set[tuple[Value, Value]]
    ) -> None:
        self.alignment = alignment
        self.graphs = left, right
        self.path = path
        self.seen = seen
        #: Nodes that the condition depends on.
        self.condition_nodes: set[Node] = set()
        #: Nodes that read carried values on one side and their results on the other.
        self.shifted_nodes: set[Node] = set()

    def differences(self) -> Iterator[StaticDifference]:
        """All differences."""
        operators: set[Node] = set()
        for node in _nodes_with_branches(self.graphs[0]):
            other = self.alignment.nodes_by_left.get(node)
            if other is None or self._opened_from_different_operators(node, other):
                continue
            origins = self.alignment.same_opened_operators(node, other)
            if origins is not None:
                # Nodes expanded from a source operator are compared as that operator.
                if origins[0] in operators:
                    continue
                operators.add(origins[0])
                node, other = origins
            if not isinstance(node, Loop):
                yield from self._constant_differences(node, other)
                yield from self._node_difference(node, other)
            if isinstance(node, If) and isinstance(other, If):
                yield from self._branch_differences(node, other)

    def _opened_from_different_operators(self, node: Node, other: Node) -> bool:
        """Whether two nodes were expanded from different operators, one of them quantised."""
        origins = self.alignment.opened_operators(node, other)
        return (
            self.alignment.quantized_side is not None
            and origins is not None
            and origins[0].op_type != origins[1].op_type
        )

    def output_differences(self) -> Iterator[StaticDifference]:
        """Outputs of the graphs that do not correspond."""
        left, right = self.graphs
        for a, b in zip(left.outputs, right.outputs, strict=False):
            if self.alignment.rewired(a, b):
                left_text, right_text = self._distinguish(
                    (a, f"{display_name(a)} is an output"), (b, f"{display_name(b)} is an output")
                )
                yield self.difference("output", (a.name, left_text), (b.name, right_text))
            else:
                yield from self.constant_difference(a, b)

    def _distinguish(self, left: tuple[Value, str], right: tuple[Value, str]) -> tuple[str, str]:
        """Texts about two values, with the values themselves if the texts are equal."""
        if left[1] != right[1]:
            counterpart = self.alignment.counterpart_text(right[0])
            return left[1], f"{right[1]} ({display_name(right[0])}{counterpart})" if counterpart else right[1]
        texts = self._distinguishing_texts(left[0], right[0])
        return f"{left[1]} ({texts[0]})", f"{right[1]} ({texts[1]})"

    def _distinguishing_texts(self, left: Value, right: Value, depth: int = 10) -> tuple[str, str]:
        """Texts that identify two values: their names, or the first difference in their computation."""
        names = _identity_text(self.alignment.left, left), _identity_text(self.alignment.right, right)
        producers = [
            graph.producer_or_folded_node(graph.origin(v))
            for graph, v in zip(self._numbered_graphs(), (left, right), strict=True)
        ]
        if names[0] != names[1] or not depth:
            return names[0], f"{names[1]}{self.alignment.counterpart_text(right)}"
        inputs = [[] if node is None else node.inputs for node in producers]
        for a, b in zip(*inputs, strict=False):
            if a is not None and b is not None and self.alignment.rewired(a, b):
                return self._distinguishing_texts(a, b, depth - 1)
        left_kind, right_kind = (
            _kind_text(graph, value) for graph, value in zip(self._numbered_graphs(), (left, right), strict=True)
        )
        if left_kind == right_kind and self.alignment.same_system:
            twin = self.alignment.counterpart(1, right)
            right_kind = f"which corresponds to {'nothing' if twin is None else display_name(twin)}"
        return f"{names[0]}, {left_kind}", f"{names[1]}, {right_kind}"

    def _numbered_graphs(self) -> tuple[NumberedGraph, NumberedGraph]:
        return self.alignment.left, self.alignment.right

    def _branch_differences(self, node: If, other: If) -> Iterator[StaticDifference]:
        """Results of an If's branches that do not correspond."""
        for (word, branch), (_, other_branch) in zip(bodies(node), bodies(other), strict=True):
            for a, b in zip(branch.outputs, other_branch.outputs, strict=False):
                if self.alignment.rewired(a, b):
                    texts = [(v, f"{display_name(v)} is a result of the {word} branch") for v in (a, b)]
                    left_text, right_text = self._distinguish(texts[0], texts[1])
                    yield self.difference("branch result", (a.name, left_text), (b.name, right_text))
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
        """A difference, with a name and a text for each side."""
        return StaticDifference(kind, self.path, left[0], right[0], left[1], right[1], deciding, *values)

    def constant_difference(
        self, left: Operand | Value, right: Operand | Value, kind: str = "constant", deciding: bool = False
    ) -> Iterator[StaticDifference]:
        """The difference of two constants with the same use, if there is one."""
        x, y = (operand if isinstance(operand, Operand) else Operand(operand) for operand in (left, right))
        origins = self.alignment.left.origin(x.value), self.alignment.right.origin(y.value)
        a, b = self.alignment.left.origin_constant(x.value), self.alignment.right.origin_constant(y.value)
        if a is None or b is None or origins in self.seen or self.alignment.same_value(x, y):
            return
        if None not in self.alignment.producers(*origins):
            return  # their operands are reported
        self.seen.add(origins)
        if self.alignment.is_weight_pair(x, y):
            return
        # Rounding by one quantisation step of the largest weight is expected.
        rounding = Tolerance(0.0, 0.0, peak_fraction=0.0 if self.alignment.quantized_side is None else 1 / 127)
        delta = compare(
            x.apply_transpose(a), y.apply_transpose(b), rounding, loose_shape=not self.alignment.same_system
        )
        if delta.kind:
            values = x.apply_transpose(a), y.apply_transpose(b)
            values_text = (*values, delta, describe_constant_relation(*values))
            yield self.difference(kind, (origins[0].name, ""), (origins[1].name, ""), values_text, deciding)

    def _constant_differences(self, node: Node, other: Node) -> Iterator[StaticDifference]:
        if not self.alignment.same_operator(node, other):
            return  # the operands of different operators do not correspond
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
            difference = self.difference(kind, (value.name, texts[0]), (other_value.name, texts[1]), deciding=deciding)
            yield replace(difference, source_line=self.alignment.left.code.describe_node(node))

    def _difference_kind(self, node: Node, other: Node) -> str:
        """The kind of difference between two nodes; empty if there is none."""
        same_system = self.alignment.same_system
        if not self.alignment.same_operator(node, other):
            return "operator" if same_system or {node.op_type, other.op_type} <= set(OPERATOR_SIGNS) else ""
        operations = isinstance(node, Operation) and isinstance(other, Operation)
        if same_system and operations and not self.alignment.same_attributes(node, other):
            return "attributes"
        if node in self.shifted_nodes:
            return ""
        rewired = any(self._rewired(a, b) for a, b in self.alignment.input_pairs(node, other))
        unpaired = same_system and operations and any(self.alignment.unpaired_inputs(node, other))
        return "inputs" if rewired or unpaired else ""

    def _node_texts(self, left: tuple[Node, Value], right: tuple[Node, Value], inputs: bool) -> list[str]:
        """Texts of both nodes; ``inputs``: with the inputs that differ, unless the texts show them."""
        graphs = self.alignment.left, self.alignment.right
        texts = [
            f"{node.op_type}: {display_name(value)} = {graph.phrases.expression(node)}"
            for graph, (node, value) in zip(graphs, (left, right), strict=True)
        ]
        if texts[0] == texts[1] and left[0].version != right[0].version:
            texts = [f"{text} (opset {node.version})" for text, (node, _) in zip(texts, (left, right), strict=True)]
        rewired = [pair for pair in self.alignment.input_pairs(left[0], right[0]) if inputs and self._rewired(*pair)]
        for pair in rewired:
            constant = [graph.is_constant(operand.value) for graph, operand in zip(graphs, pair, strict=True)]
            if texts[0] == texts[1] or any(constant) or self.alignment.counterpart_text(pair[1].value):
                input_texts = self._distinguishing_texts(pair[0].value, pair[1].value)
                texts = [f"{text} ({input_text})" for text, input_text in zip(texts, input_texts, strict=True)]
        return texts

    def _rewired(self, left: Operand, right: Operand) -> bool:
        if left.transposed is not right.transposed and self.alignment.counterpart(0, left.value) is not None:
            left_graph, right_graph = self.alignment.left, self.alignment.right
            return not (left_graph.is_constant(left.value) and right_graph.is_constant(right.value))
        return self.alignment.rewired(left.value, right.value)


class _LoopStaticDiff(_GraphStaticDiff):
    """Differences of a pair of loops: ports and bodies."""

    def __init__(
        self, alignment: Correspondence, pair: LoopAlignment, path: str, seen: set[tuple[Value, Value]]
    ) -> None:
        super().__init__(alignment, pair.left.body, pair.right.body, path, seen)
        self.pair = pair
        sides = (pair.left, alignment.left), (pair.right, alignment.right)
        left_ending, right_ending = (_loop_ending(loop, graph, alignment.same_system) for loop, graph in sides)
        self.endings = left_ending, right_ending
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
        """A difference of texts, if they differ."""
        if texts[0] != texts[1]:
            yield self.difference(kind, ("", texts[0]), ("", texts[1]), deciding=deciding)

    def _trip_count(self) -> Iterator[StaticDifference]:
        a, b = self.endings
        if a.trip_count_value is not None and b.trip_count_value is not None:
            if not self.alignment.rewired(a.trip_count_value, b.trip_count_value):
                yield from self.constant_difference(a.trip_count_value, b.trip_count_value, "trip count")
                return
            if not self.alignment.same_system and self._is_computed(a.trip_count_value, b.trip_count_value):
                return  # systems differ in the type and range of a trip count
        elif a.slices and b.slices:
            return  # reported as slices
        texts = [_count_text(graph, rule) for _, graph, rule in self._sides()]
        if a.trip_count_value is not None and b.trip_count_value is not None:
            texts = list(self._distinguish((a.trip_count_value, texts[0]), (b.trip_count_value, texts[1])))
        yield from self._text_difference("trip count", texts)

    def _is_computed(self, left: Value, right: Value) -> bool:
        a, b = self.alignment.left, self.alignment.right
        return a.producer(a.origin(left)) is not None or b.producer(b.origin(right)) is not None

    def _condition(self) -> Iterator[StaticDifference]:
        texts = [_condition_text(loop, graph, rule) for loop, graph, rule in self._sides()]
        yield from self._text_difference("condition", texts, True)
        values = [_deciding_value(loop, rule) for loop, _, rule in self._sides()]
        if values[0] is not None and values[1] is not None and self.alignment.rewired(values[0], values[1]):
            roles = [f"{display_name(value)} is the condition" for value in values if value is not None]
            a, b = self._distinguish((values[0], roles[0]), (values[1], roles[1]))
            yield self.difference("condition", (values[0].name, a), (values[1].name, b), deciding=True)
        if self.endings[0].tests_first != self.endings[1].tests_first:
            return  # a condition tested before each iteration has no initial condition
        first = [loop.initial_condition for loop, _, _ in self._sides()]
        constants = [rule.initial_condition for rule in self.endings]
        if first[0] is not None and first[1] is not None and None in constants:
            # If both sides compute it, their producers are compared.
            if self.alignment.rewired(first[0], first[1]):
                a, b = self._distinguish((first[0], display_name(first[0])), (first[1], display_name(first[1])))
                yield self.difference("initial condition", ("", a), ("", b), deciding=True)
            return
        words = [{True: "true", False: "false", None: "not constant"}[word] for word in constants]
        yield from self._text_difference("initial condition", words, True)

    def _slices(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.slices:
            rewired = self.alignment.rewired(a.outer, b.outer)
            if not rewired:
                yield from self.constant_difference(a.outer, b.outer)
            if not same_slicing(a, b) or rewired:
                texts = [(p.outer, f"{display_name(p.inner)} = {slice_text(p, 'i')}") for p in (a, b)]
                left, right = self._distinguish(texts[0], texts[1]) if rewired else (texts[0][1], texts[1][1])
                yield self.difference("sliced input", (a.inner.name, left), (b.inner.name, right))

    def _initial_values(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.edges:
            left, right = a.initial, b.initial
            if isinstance(left, SlicedInput) or isinstance(right, SlicedInput):
                both_sliced = isinstance(left, SlicedInput) and isinstance(right, SlicedInput)
                if not (both_sliced and self._same_slice(left, right)):
                    yield self.difference("initial value", _initial_text(a), _initial_text(b))
            elif self.alignment.rewired(left, right):
                texts = self._distinguish((left, _initial_text(a)[1]), (right, _initial_text(b)[1]))
                yield self.difference("initial value", (a.param.name, texts[0]), (b.param.name, texts[1]))
            else:
                yield from self.constant_difference(left, right, "initial value")

    def _same_slice(self, left: Any, right: Any) -> bool:
        return same_slicing(left, right) and not self.alignment.rewired(left.outer, right.outer)

    def _back_edges(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.edges:
            if self.alignment.rewired(a.result, b.result):
                sides = (self.alignment.left, a), (self.alignment.right, b)
                words = [f"{side.phrases.operand(edge.result)} → {display_name(edge.param)}" for side, edge in sides]
                texts = self._distinguish((a.result, words[0]), (b.result, words[1]))
                yield self.difference("back edge", (a.param.name, texts[0]), (b.param.name, texts[1]))
            else:
                yield from self.constant_difference(a.result, b.result)

    def _scans(self) -> Iterator[StaticDifference]:
        for a, b, _ in self.pair.scans:
            order_differs = a.reverse is not b.reverse or (self.alignment.same_system and a.axis != b.axis)
            rewired = self.alignment.rewired(a.result, b.result)
            if not rewired:
                yield from self.constant_difference(a.result, b.result)
            yield from self._lengths(a, b)
            if order_differs or rewired:
                scan_texts = [
                    f"{display_name(scan.outer)} collects {display_name(scan.result)} on axis {scan.axis}"
                    f"{', the last iteration first' if scan.reverse else ''}"
                    for scan in (a, b)
                ]
                texts = self._distinguish((a.result, scan_texts[0]), (b.result, scan_texts[1]))
                yield self.difference("scan output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))

    def _lengths(self, left: ScanOutput, right: ScanOutput) -> Iterator[StaticDifference]:
        """Differences of the padded lengths of two scan outputs."""
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
            # Without an iteration a carried value is its initial value; any other last value is empty.
            one_carried = self.alignment.same_system and (edges[0] is None) is not (edges[1] is None)
            if one_carried or (not same and self.alignment.rewired(a.result, b.result)):
                value_texts = [
                    f"{display_name(last.outer)} is the last {_result_text(loop, last.result)}"
                    f"{f', or what {display_name(edge.param)} begins with' if one_carried and edge is not None else ''}"
                    for loop, last, edge in ((self.pair.left, a, edges[0]), (self.pair.right, b, edges[1]))
                ]
                texts = self._distinguish((a.result, value_texts[0]), (b.result, value_texts[1]))
                yield self.difference("last-value output", (a.outer.name, texts[0]), (b.outer.name, texts[1]))


def _identity_text(graph: NumberedGraph, value: Value) -> str:
    """Identifies a value: one of several results by its index, another value by its name and origin."""
    origin = graph.origin(value)
    node = graph.producer(origin)
    if node is not None and len(node.outputs) > 1:
        return f"{display_name(value)} is output {node.outputs.index(origin)} of {node.op_type} '{node.name}'"
    return display_name(value) if origin is value else f"{display_name(value)} is {display_name(origin)}"


def _kind_text(graph: NumberedGraph, value: Value) -> str:
    """The kind of a value, to tell apart values of the same name."""
    origin = graph.origin(value)
    node = graph.producer_or_folded_node(origin)
    if node is not None:
        return f"the result of {node.op_type}"
    loop, role = graph.params.get(origin, (None, "constant" if graph.is_constant(origin) else "input"))
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}{' value' if role in ('carried', 'sliced') and loop else ''}"


def _result_text(loop: Loop, value: Value) -> str:
    """A result of a body, with its output name in the file."""
    names = dict(zip(loop.body.outputs, loop.body.output_names, strict=False))
    name = names.get(value, value.name)
    return display_name(value) if name == value.name else f"{display_name(value)} ({name})"


def _initial_text(edge: BackEdge) -> tuple[str, str]:
    initial = edge.initial
    text = slice_text(initial, None) if isinstance(initial, SlicedInput) else display_name(initial)
    return edge.param.name, f"{display_name(edge.param)} = {text}"


def _loop_ending(loop: Loop, graph: NumberedGraph, same_system: bool) -> TerminationRule:
    """The termination rule of a loop. A forwarded condition of an IR counts as carried, so that it equals a loop of
    ONNX without one; within one system it is compared as a carried value."""
    rule = termination_rule(loop, graph.origins)
    carried = not same_system and forwards_condition(loop, graph.origins)
    return replace(rule, condition_decides=False, condition_forwarded=True) if carried else rule


def _count_text(graph: NumberedGraph, rule: TerminationRule) -> str:
    trips = _scalar_constant(graph, rule.trip_count_value) if rule.trip_count is None else rule.trip_count
    if trips is not None and trips >= 0:
        return str(trips)
    if rule.slices:
        return "the sliced inputs' parts"
    return "none" if rule.trip_count_value is None else display_name(rule.trip_count_value)


def _deciding_value(loop: Loop, rule: TerminationRule) -> Value | None:
    """The value that decides whether a loop continues; if none does, the condition that the body returns."""
    if rule.condition_decides:
        return loop.condition
    return None if loop.condition_input is None else loop.condition or loop.ignored_condition


def _scalar_constant(graph: NumberedGraph, value: Value | None) -> Any:
    """The value of a constant or computed constant of one element."""
    data = None if value is None else graph.origin_constant(value)
    return data.reshape(-1)[0].item() if data is not None and data.size == 1 else None


def _condition_text(loop: Loop, graph: NumberedGraph, rule: TerminationRule) -> str:
    if rule.condition_decides:
        return "always false" if rule.constant_condition is False else "the body's condition decides"
    return "nothing in the body ends it"


def _nodes_with_branches(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, including those of branches."""
    for node in graph.nodes:
        yield node
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _nodes_with_branches(branch)
