"""Traces a difference from a value back to its cause.

A node is the cause only if all its operands are equal. A differing operand is followed through corresponding nodes,
captures and initial values, up to a constant, a sliced input, a model input, or the iteration in which a carried value
first differs. The search also ends where nodes do not correspond, where one reads another value than the other, and
where a value is unknown.

Two runs of loopdbg are compared bit for bit: bit-identical values do not contribute to a difference. Peers and other
float types round differently: there the tolerance decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....runtime.graph import If, Loop, Node, SlicedInput, Value, bodies
from ..align.correspondence import Correspondence, values_read
from ..align.loop_ports import LoopAlignment, same_slicing
from ..align.normal_form import Operand
from ..align.value_numbering import NumberedGraph, initial_outer_value
from ..report.findings import Cause, Difference, NodeDifference
from ..running.value_comparison import NO_DIFFERENCE, Delta, Tolerance, compare
from ..running.value_readers import ValueReader
from .name_divergence import find_name_divergence

#: A pair of values as operands of their readers.
_OperandPair = tuple[Operand, Operand]
#: Readers of both sides at the first iteration from which on a carried value (its parameters) differs without a gap up
#: to the given iteration; None as iteration: its initial value differs.
FindEarlier = Callable[[Value, Value, int], tuple[int | None, ValueReader, ValueReader] | None]


@dataclass
class DifferenceTracer:
    """Traces one difference. ``symptom``: the observed difference, whose location is reported.

    ``bit_exact``: compare bits, without tolerance. ``find_earlier``: finds where a carried value started to differ.
    """

    alignment: Correspondence
    left: ValueReader
    right: ValueReader
    tolerance: Tolerance
    symptom: Difference
    bit_exact: bool = False
    find_earlier: FindEarlier | None = None

    def find_cause(self, left: Value, right: Value) -> Cause | None:
        """The cause of the difference of two values; None if they do not differ or are unknown."""
        pair = Operand(left), Operand(right)
        delta = self._delta(pair)
        if delta is None or not delta.kind:
            return None
        seen: set[tuple[_OperandPair, int | None]] = set()
        reader: tuple[Node, Node] | None = None
        while (pair, self.symptom.iteration) not in seen and len(seen) < 10_000:
            seen.add((pair, self.symptom.iteration))
            step = self._trace_step(pair, reader)
            if isinstance(step, Cause):
                step = self._refine_by_name(step)
                if reader is None or step.source is None:
                    return step
                return replace(step, reader_source_line=self.alignment.left.code.describe_node(reader[0]))
            pair, reader = step
        return None

    def find_operator_cause(self, left_node: Node, right_node: Node, left: Value, right: Value) -> Cause | None:
        """The cause of a difference between results of two operators that were expanded to different loops, such as an
        LSTM and a quantised LSTM."""
        inputs = [
            (Operand(a), Operand(b))
            for a, b in zip(left_node.inputs, right_node.inputs, strict=False)
            if a is not None and b is not None and self._is_different((Operand(a), Operand(b)))
        ]
        floats = [(a, b) for a, b in inputs if not (self._is_constant(a, 0) or self._is_constant(b, 1))]
        if floats:
            return self.find_cause(floats[0][0].value, floats[0][1].value)
        return self._node_cause(
            left_node, right_node, left, right, [Operand(value) for value in left_node.inputs[:1] if value is not None]
        )

    def _refine_by_name(self, cause: Cause) -> Cause:
        """Continue at unmatched nodes of two systems with the names that a converter kept."""
        if cause.unmatched_pair is None or self.alignment.same_system:
            return cause
        sides = self.alignment.left, self.alignment.right
        d = find_name_divergence(sides, *cause.unmatched_pair, self._values_agree)
        if d is None:
            return cause
        node, twin = (side.producer(side.origin(v)) for side, v in zip(sides, (d.left, d.right), strict=True))
        if node is None or twin is None:
            return cause
        remark = "the two have one name, and what they are computed from is the same"
        if any(d.one_sided_sources):
            left_sources, right_sources = (
                " and ".join(f"'{name}'" for name in names) or "nothing else" for names in d.one_sided_sources
            )
            remark = f"it is computed from {left_sources} here, from {right_sources} there"
        return self._node_cause(node, twin, d.left, d.right, [Operand(value) for value in d.sources], remark)

    def _values_agree(self, left: Value, right: Value) -> bool | None:
        delta = self._delta((Operand(left), Operand(right)))
        return None if delta is None else not self._is_significant(delta)

    def _is_constant(self, operand: Operand, side: int) -> bool:
        return (self.alignment.left, self.alignment.right)[side].is_constant(operand.value)

    # -- one step back

    def _trace_step(
        self, pair: _OperandPair, reader: tuple[Node, Node] | None
    ) -> Cause | tuple[_OperandPair, tuple[Node, Node] | None]:
        """The pair of operands that causes the difference, with its readers, or the end of the search."""
        left, right = pair[0].value, pair[1].value
        a, b = self.alignment.left.origin(left), self.alignment.right.origin(right)
        if (a, b) != (left, right):
            origins = replace(pair[0], value=a), replace(pair[1], value=b)
            delta = self._delta(origins)
            if delta is not None and self._is_significant(delta):
                left, right, pair = a, b, origins
            elif delta is not None:
                converted = self._conversion_cause(left, right)
                if converted is not None:
                    return converted
        if self.alignment.rewired(a, b):
            return self._rewired_cause(pair, reader)
        node, twin = self.alignment.producers(a, b)
        if node is None or twin is None:
            return self._trace_source(pair) if node is twin else self._uncorresponding_cause(left, right)
        if not self.alignment.nodes_match(node, twin) or node.outputs.index(a) != twin.outputs.index(b):
            return self._uncorresponding_cause(left, right)
        if not self.alignment.same_operator(node, twin):
            return self._different_operator_cause(node, twin, a, b)
        if isinstance(node, If) and isinstance(twin, If):
            results = self._taken_branch_results(node, twin, a, b)
            if results is not None:
                return results, None
        return self._trace_node(node, twin, a, b)

    def _trace_node(
        self, node: Node, twin: Node, left: Value, right: Value
    ) -> Cause | tuple[_OperandPair, tuple[Node, Node]]:
        unknown_value: Value | None = None
        differing: list[tuple[tuple[bool, float], _OperandPair]] = []
        pairs = list(self.alignment.input_pairs(node, twin))
        for pair in pairs:
            delta = self._delta(pair)
            if delta is None:
                unknown_value = unknown_value or pair[0].value
            elif self._is_significant(delta):
                # Differences beyond the tolerance first, then the largest.
                differing.append(((not delta.kind, -min(delta.relative, 1e300)), pair))
        # A different operand with an equal value is harmless.
        rewired = [
            pair for pair in pairs if self.alignment.rewired(pair[0].value, pair[1].value) and not self._is_equal(pair)
        ]
        if rewired:
            return self._rewired_cause(rewired[0], (node, twin))
        if differing:
            return min(differing, key=lambda entry: entry[0])[1], (node, twin)
        if isinstance(node, Loop):
            # Nested loops are compared separately; not all of their operands can be paired.
            return Cause(self._make_difference("result", left, right), remark=f"the loop '{node.name}' computes it")
        unpaired = self._unpaired_input_text(node, twin)
        if unpaired:
            return self._node_cause(node, twin, left, right, [pair[0] for pair in pairs], unpaired)
        if len(values_read(node)) != len(values_read(twin)) and len(pairs) != len(
            self.alignment.left.normal_form(node).operands
        ):
            return self._uncorresponding_cause(left, right)
        name = f"{node.op_type} '{node.name}'"
        if unknown_value is not None:
            return Cause(
                self._make_difference("result", left, right),
                remark=f"{name} computes it; '{unknown_value.name}', which it is fed, is not known on both sides",
            )
        # Other operands within the tolerance, of which the node makes more: no operand has the same number on both
        # sides, and nothing else differs.
        amplified = next((pair for pair in pairs if self._is_rewired_and_close(pair)), None)
        if amplified is not None:
            return self._rewired_cause(amplified, (node, twin))
        return self._node_cause(node, twin, left, right, [pair[0] for pair in pairs])

    def _is_rewired_and_close(self, pair: _OperandPair) -> bool:
        """Whether two values that do not correspond are equal within the tolerance, but not the same number."""
        delta = self._delta(pair)
        return delta is not None and delta.absolute > 0 and self.alignment.rewired(pair[0].value, pair[1].value)

    def _unpaired_input_text(self, node: Node, twin: Node) -> str:
        """Operands that only one of two operators has, in words."""
        if not self.alignment.same_system:
            return ""
        left_only, right_only = self.alignment.unpaired_inputs(node, twin)
        texts = [f"'{value.name}' here, nothing there" for value in left_only]
        texts += [f"nothing here, '{value.name}' there" for value in right_only]
        return f"it is fed {', '.join(texts)}" if texts else ""

    def _node_cause(
        self, node: Node, twin: Node, left: Value, right: Value, operands: list[Operand], remark: str = ""
    ) -> Cause:
        inputs = [(operand.value.name, self._read(0, operand)[1]) for operand in operands]
        node, twin = self.alignment.left.working_node(node), self.alignment.right.working_node(twin)
        difference = self._make_difference("node", left, right)
        codes = self.alignment.left.code.describe_node(node), self.alignment.right.code.describe_node(twin)
        details = (twin.name, twin.op_type, *codes, node.origin)
        return Cause(None, NodeDifference(node.name, left.name, node.op_type, inputs, difference, *details), remark)

    def _conversion_cause(self, left: Value, right: Value) -> Cause | None:
        """The conversion that causes the difference if the values before it are equal."""
        graphs = (self.alignment.left, left), (self.alignment.right, right)
        for side, (graph, value) in enumerate(graphs):
            for node in graph.conversions(value):
                output, operand = (next(v for v in ports if v is not None) for ports in (node.outputs, node.inputs))
                source = graph.origin(operand)
                (has_a, a), (has_b, b) = self._read(side, Operand(source)), self._read(side, Operand(output))
                if not (has_a and has_b and self._is_significant(compare(a, b, self.tolerance))):
                    continue
                work = graph.working_node(node)
                inputs = [(v.name, self._read(side, Operand(v))[1]) for v in work.inputs if v is not None]
                difference = self._make_difference("node", left, right)
                details = (work.name, work.op_type, graph.code.describe_node(work), "", work.origin)
                blame = NodeDifference(work.name, output.name, work.op_type, inputs, difference, *details)
                return Cause(None, blame, f"the {('left', 'right')[side]} side alone has it")
        return None

    def _different_operator_cause(self, node: Node, twin: Node, left: Value, right: Value) -> Cause:
        """Different operators: the cause if their operands are equal; else nothing before them corresponds."""
        operands = [
            node_form.operands
            for node_form in (self.alignment.left.normal_form(node), self.alignment.right.normal_form(twin))
        ]
        pairs = [(a, b) for a, b in zip(*operands, strict=False) if a is not None and b is not None]
        if len(operands[0]) == len(operands[1]) and all(
            self.alignment.same_value(a, b) or not self._is_different((a, b)) for a, b in pairs
        ):
            return self._node_cause(node, twin, left, right, [a for a, _ in pairs])
        return Cause(
            self._make_difference("result", left, right),
            remark=f"{node.op_type} '{node.name}' here, {twin.op_type} '{twin.name}' there: what they are fed does not "
            "correspond",
            unmatched_pair=(left, right),
        )

    def _rewired_cause(self, pair: _OperandPair, reader: tuple[Node, Node] | None) -> Cause:
        """The readers use different values."""
        names = (
            f"'{pair[0].value.name}' here, '{pair[1].value.name}' there{self.alignment.counterpart_text(pair[1].value)}"
        )
        if reader is None:
            return Cause(self._make_difference("result", pair[0].value, pair[1].value), remark=f"it is {names}")
        node, twin = reader
        results = [next(value for value in node.outputs if value is not None) for node in reader]
        return self._node_cause(node, twin, results[0], results[1], [pair[0]], f"it reads {names}")

    def _taken_branch_results(self, left_if: If, right_if: If, left: Value, right: Value) -> _OperandPair | None:
        """The results of the branch that both sides took."""
        conditions = []
        for side, node in enumerate((left_if, right_if)):
            value = node.inputs[0]
            is_known, data = (False, None) if value is None else self._read(side, Operand(value))
            if not is_known:
                return None
            conditions.append(bool(np.asarray(data).reshape(-1)[:1].all()))
        if conditions[0] is not conditions[1]:
            return None
        k = 0 if conditions[0] else 1
        pair = (
            Operand(bodies(left_if)[k][1].outputs[left_if.outputs.index(left)]),
            Operand(bodies(right_if)[k][1].outputs[right_if.outputs.index(right)]),
        )
        return pair if self._is_different(pair) else None

    # -- ends of the search

    def _trace_source(self, pair: _OperandPair) -> Cause | tuple[_OperandPair, None]:
        """Trace a value that no node computes: an input, or the result of an earlier iteration."""
        left, right = pair[0].value, pair[1].value
        roles = [self._role(graph, v) for graph, v in ((self.alignment.left, left), (self.alignment.right, right))]
        if roles[0] != roles[1]:
            return self._uncorresponding_cause(left, right)
        find_source = {"carried": self._previous_iteration_pair, "sliced input": self._slice_source_pair}.get(roles[0])
        origins = self.alignment.left.origin(left), self.alignment.right.origin(right)
        step = None if find_source is None else find_source(*origins)
        if step is not None:
            return step
        return Cause(self._make_difference(roles[0], *pair))

    def _previous_iteration_pair(self, left: Value, right: Value) -> tuple[_OperandPair, None] | None:
        """The source of a carried value: the result of an earlier iteration, or the initial value."""
        symptom = self.symptom
        (loop, _), (twin, _) = self.alignment.left.params[left], self.alignment.right.params[right]
        edges = [next(edge for edge in x.back_edges if edge.param is v) for x, v in ((loop, left), (twin, right))]
        earlier = None
        if symptom.iteration is not None and symptom.iteration > 0 and self.find_earlier is not None:
            earlier = self.find_earlier(left, right, symptom.iteration)
        if earlier is not None:
            iteration, self.left, self.right = earlier
            self.symptom = replace(symptom, iteration=iteration)
            if iteration is not None:
                return (Operand(edges[0].result), Operand(edges[1].result)), None
        elif symptom.iteration:
            return None
        pair = Operand(initial_outer_value(edges[0].initial)), Operand(initial_outer_value(edges[1].initial))
        return (pair, None) if self._is_different(pair) else None

    def _slice_source_pair(self, left: Value, right: Value) -> tuple[_OperandPair, None] | None:
        """The source of a sliced input, or the trip count that it is counted back from; None if both are equal or the
        slices differ."""
        loops = self.alignment.left.params[left][0], self.alignment.right.params[right][0]
        a, b = (next((p for p in loop.sliced_inputs if p.inner in (left, right)), None) for loop in loops)
        if a is None or b is None or not same_slicing(a, b):
            return None
        pairs = [(Operand(a.outer), Operand(b.outer))]
        counts = loops[0].trip_count, loops[1].trip_count
        if a.from_trip_count and counts[0] is not None and counts[1] is not None:
            pairs.append((Operand(counts[0]), Operand(counts[1])))
        return next(((pair, None) for pair in pairs if self._is_different(pair)), None)

    def _role(self, graph: NumberedGraph, value: Value) -> str:
        if graph.is_constant(value):
            return "constant"
        loop, role = graph.params.get(graph.origin(value), (None, "input"))
        return {"sliced": "sliced input", "iteration": "iteration number"}.get(role, role) if loop else role

    def _uncorresponding_cause(self, left: Value, right: Value) -> Cause:
        texts = []
        for graph, value in ((self.alignment.left, left), (self.alignment.right, right)):
            node = graph.producer(graph.origin(value))
            if node is not None:
                location = f" ({node.origin})" if node.origin.file else ""
                texts.append(f"'{value.name}' is computed by {node.op_type} '{node.name}'{location}")
            else:
                texts.append(f"'{value.name}' is a {self._role(graph, graph.origin(value))}")
        return Cause(
            self._make_difference("result", left, right),
            remark=f"the two are computed in other ways from here on: {texts[0]}, {texts[1]}",
            unmatched_pair=(left, right),
        )

    # -- values

    def _is_different(self, pair: _OperandPair) -> bool:
        delta = self._delta(pair)
        return delta is not None and self._is_significant(delta)

    def _is_equal(self, pair: _OperandPair) -> bool:
        delta = self._delta(pair)
        return delta is not None and not self._is_significant(delta)

    def _is_significant(self, delta: Delta) -> bool:
        """Whether a difference can cause another one."""
        return bool(delta.kind) or (self.bit_exact and delta.absolute > 0)

    def _delta(self, pair: _OperandPair) -> Delta | None:
        """The difference of two values; None if one is unknown."""
        (left_known, a), (right_known, b) = self._read(0, pair[0]), self._read(1, pair[1])
        if not (left_known and right_known):
            return None
        if self.alignment.is_weight_pair(*pair):
            return NO_DIFFERENCE
        return compare(a, b, self.tolerance, loose_shape=not self.alignment.same_system)

    def _read(self, side: int, operand: Operand) -> tuple[bool, Any]:
        graph = (self.alignment.left, self.alignment.right)[side]
        data = graph.constant(operand.value)
        is_known, data = (
            (True, data) if data is not None else self._read_from_run(side, graph.resolve_invariant(operand.value))
        )
        return is_known, operand.apply_transpose(data)

    def _read_from_run(self, side: int, value: Value) -> tuple[bool, Any]:
        return (self.left, self.right)[side].read(value)

    def _make_difference(self, role: str, left: Operand | Value, right: Operand | Value) -> Difference:
        x, y = (operand if isinstance(operand, Operand) else Operand(operand) for operand in (left, right))
        a, b = self._read(0, x)[1], self._read(1, y)[1]
        delta = self._delta((x, y)) or Delta()
        site = self.symptom
        return Difference(role, x.value.name, y.value.name, delta, site.loop, site.entry, site.iteration, a, b)


def differing_values(ports: LoopAlignment, first: Difference) -> tuple[Value, Value] | None:
    """The values in both loop graphs that differ: for a back edge its result, or its initial value."""
    if first.role == "carried":
        edge = next(((a, b) for a, b, _ in ports.edges if a.param.name == first.name), None)
        if edge is None:
            return None
        if first.iteration is not None:
            return edge[0].result, edge[1].result
        initial = [e.initial.outer if isinstance(e.initial, SlicedInput) else e.initial for e in edge]
        return initial[0], initial[1]
    if first.role == "scan":
        return next(((a.result, b.result) for a, b, _ in ports.scans if a.outer.name == first.name), None)
    if first.iteration is None:
        left, right = ports.left.initial_condition, ports.right.initial_condition
    else:
        left, right = ports.left.condition, ports.right.condition
    return None if left is None or right is None else (left, right)
