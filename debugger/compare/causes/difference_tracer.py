"""Where a difference comes from: from a value that differs back to the first thing that does.

A node is to blame only where all that it is fed is the same. Where what comes in differs, that is followed: through
nodes that correspond, captures and initial values, up to a constant, a sliced input, an input of the model, or the
iteration in which a carried value began to differ. It ends where two nodes do not correspond, where one reads another
value than the other, and where a value is not known.

Between two runs of ours bits tell: what is the same to the bit has no share in a difference. A peer rounds otherwise,
and so does another float type: there the tolerance tells.
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

#: A pair of values, as their readers take them.
_OperandPair = tuple[Operand, Operand]
#: Both sides at another iteration of a carried value (its parameters): the first of those in which it differs without
#: a gap up to the given one; None: it is what the loop began with.
FindEarlier = Callable[[Value, Value, int], tuple[int | None, ValueReader, ValueReader] | None]


@dataclass
class DifferenceTracer:
    """Follows one difference. ``symptom`` says where it was found: its place is that of all that is found.

    ``exact``: bits tell, not the tolerance. ``earlier`` finds where a carried value began to differ.
    """

    alignment: Correspondence
    left: ValueReader
    right: ValueReader
    tolerance: Tolerance
    symptom: Difference
    bit_exact: bool = False
    find_earlier: FindEarlier | None = None

    def find_cause(self, left: Value, right: Value) -> Cause | None:
        """What makes these two differ; None where they do not, or nothing is known of them."""
        pair = Operand(left), Operand(right)
        delta = self._delta(pair)
        if delta is None or not delta.kind:
            return None
        seen: set[tuple[_OperandPair, int | None]] = set()
        reader: tuple[Node, Node] | None = None
        while (pair, self.symptom.iteration) not in seen and len(seen) < 10_000:
            seen.add((pair, self.symptom.iteration))
            found = self._trace_step(pair, reader)
            if isinstance(found, Cause):
                found = self._refine_by_name(found)
                if reader is None or found.source is None:
                    return found
                return replace(found, reader_source_line=self.alignment.left.code.describe_node(reader[0]))
            pair, reader = found
        return None

    def find_operator_cause(self, one: Node, other: Node, left: Value, right: Value) -> Cause | None:
        """What makes these two differ, which two operators compute that were opened as loops, each in its own way: an
        LSTM, and the same in 8 bits, say."""
        fed = [
            (Operand(a), Operand(b))
            for a, b in zip(one.inputs, other.inputs, strict=False)
            if a is not None and b is not None and self._is_different((Operand(a), Operand(b)))
        ]
        floats = [(a, b) for a, b in fed if not (self._is_constant(a, 0) or self._is_constant(b, 1))]
        if floats:
            return self.find_cause(floats[0][0].value, floats[0][1].value)
        return self._node_cause(
            one, other, left, right, [Operand(value) for value in one.inputs[:1] if value is not None]
        )

    def _refine_by_name(self, found: Cause) -> Cause:
        """Where structure says no more which is which, of two systems: what the names that a converter kept say."""
        if found.unmatched_pair is None or self.alignment.same_system:
            return found
        halves = self.alignment.left, self.alignment.right
        at = find_name_divergence(halves, *found.unmatched_pair, self._values_agree)
        if at is None:
            return found
        one, other = (half.producer(half.origin(v)) for half, v in zip(halves, (at.left, at.right), strict=True))
        if one is None or other is None:
            return found
        told = "the two have one name, and what they are computed from is the same"
        if any(at.one_sided_sources):
            here, there = (
                " and ".join(f"'{name}'" for name in names) or "nothing else" for names in at.one_sided_sources
            )
            told = f"it is computed from {here} here, from {there} there"
        return self._node_cause(one, other, at.left, at.right, [Operand(value) for value in at.sources], told)

    def _values_agree(self, left: Value, right: Value) -> bool | None:
        delta = self._delta((Operand(left), Operand(right)))
        return None if delta is None else not self._is_significant(delta)

    def _is_constant(self, operand: Operand, side: int) -> bool:
        return (self.alignment.left, self.alignment.right)[side].is_constant(operand.value)

    # -- one value back

    def _trace_step(
        self, pair: _OperandPair, reader: tuple[Node, Node] | None
    ) -> Cause | tuple[_OperandPair, tuple[Node, Node] | None]:
        """The pair of values that makes these two differ, with who reads it, or the end of the search."""
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
        one, other = self.alignment.producers(a, b)
        if one is None or other is None:
            return self._trace_source(pair) if one is other else self._uncorresponding_cause(left, right)
        if not self.alignment.nodes_match(one, other) or one.outputs.index(a) != other.outputs.index(b):
            return self._uncorresponding_cause(left, right)
        if not self.alignment.same_operator(one, other):
            return self._different_operator_cause(one, other, a, b)
        if isinstance(one, If) and isinstance(other, If):
            inside = self._taken_branch_results(one, other, a, b)
            if inside is not None:
                return inside, None
        return self._trace_node(one, other, a, b)

    def _trace_node(
        self, one: Node, other: Node, left: Value, right: Value
    ) -> Cause | tuple[_OperandPair, tuple[Node, Node]]:
        unknown: Value | None = None
        differing: list[tuple[tuple[bool, float], _OperandPair]] = []
        pairs = list(self.alignment.input_pairs(one, other))
        for pair in pairs:
            delta = self._delta(pair)
            if delta is None:
                unknown = unknown or pair[0].value
            elif self._is_significant(delta):
                # First what differs beyond the tolerance, then what differs most.
                differing.append(((not delta.kind, -min(delta.relative, 1e300)), pair))
        # Another value that is equal makes no difference.
        rewired = [
            pair for pair in pairs if self.alignment.rewired(pair[0].value, pair[1].value) and not self._is_equal(pair)
        ]
        if rewired:
            return self._rewired_cause(rewired[0], (one, other))
        if differing:
            return min(differing, key=lambda found: found[0])[1], (one, other)
        if isinstance(one, Loop):
            # What happens inside is compared by itself; not all that two loops are fed can be paired.
            return Cause(self._make_difference("result", left, right), remark=f"the loop '{one.name}' computes it")
        alone = self._unpaired_input_text(one, other)
        if alone:
            return self._node_cause(one, other, left, right, [pair[0] for pair in pairs], alone)
        if len(values_read(one)) != len(values_read(other)) and len(pairs) != len(
            self.alignment.left.normal_form(one).operands
        ):
            return self._uncorresponding_cause(left, right)
        told = f"{one.op_type} '{one.name}'"
        if unknown is not None:
            return Cause(
                self._make_difference("result", left, right),
                remark=f"{told} computes it; '{unknown.name}', which it is fed, is not known on both sides",
            )
        return self._node_cause(one, other, left, right, [pair[0] for pair in pairs])

    def _unpaired_input_text(self, one: Node, other: Node) -> str:
        """What one of two operators is fed, and the other is not."""
        if not self.alignment.same_system:
            return ""
        ours, theirs = self.alignment.unpaired_inputs(one, other)
        told = [f"'{value.name}' here, nothing there" for value in ours]
        told += [f"nothing here, '{value.name}' there" for value in theirs]
        return f"it is fed {', '.join(told)}" if told else ""

    def _node_cause(
        self, one: Node, other: Node, left: Value, right: Value, fed: list[Operand], remark: str = ""
    ) -> Cause:
        inputs = [(operand.value.name, self._read(0, operand)[1]) for operand in fed]
        one, other = self.alignment.left.working_node(one), self.alignment.right.working_node(other)
        difference = self._make_difference("node", left, right)
        codes = self.alignment.left.code.describe_node(one), self.alignment.right.code.describe_node(other)
        there = (other.name, other.op_type, *codes, one.origin)
        return Cause(None, NodeDifference(one.name, left.name, one.op_type, inputs, difference, *there), remark)

    def _conversion_cause(self, left: Value, right: Value) -> Cause | None:
        """The conversion to blame where two values differ, and what they were converted from does not."""
        halves = (self.alignment.left, left), (self.alignment.right, right)
        for side, (half, value) in enumerate(halves):
            for node in half.conversions(value):
                made, fed = (next(one for one in ports if one is not None) for ports in (node.outputs, node.inputs))
                source = half.origin(fed)
                (here, a), (known, b) = self._read(side, Operand(source)), self._read(side, Operand(made))
                if not (here and known and self._is_significant(compare(a, b, self.tolerance))):
                    continue
                told = half.working_node(node)
                inputs = [(one.name, self._read(side, Operand(one))[1]) for one in told.inputs if one is not None]
                difference = self._make_difference("node", left, right)
                there = (told.name, told.op_type, half.code.describe_node(told), "", told.origin)
                blamed = NodeDifference(told.name, made.name, told.op_type, inputs, difference, *there)
                return Cause(None, blamed, f"the {('left', 'right')[side]} side alone has it")
        return None

    def _different_operator_cause(self, one: Node, other: Node, left: Value, right: Value) -> Cause:
        """Two operators in one place: to blame where both are fed the same; else nothing before them corresponds."""
        fed = [
            node_form.operands
            for node_form in (self.alignment.left.normal_form(one), self.alignment.right.normal_form(other))
        ]
        pairs = [(a, b) for a, b in zip(*fed, strict=False) if a is not None and b is not None]
        if len(fed[0]) == len(fed[1]) and all(
            self.alignment.same_value(a, b) or not self._is_different((a, b)) for a, b in pairs
        ):
            return self._node_cause(one, other, left, right, [a for a, _ in pairs])
        return Cause(
            self._make_difference("result", left, right),
            remark=f"{one.op_type} '{one.name}' here, {other.op_type} '{other.name}' there: what they are fed does not "
            "correspond",
            unmatched_pair=(left, right),
        )

    def _rewired_cause(self, pair: _OperandPair, reader: tuple[Node, Node] | None) -> Cause:
        """A reader takes another value on one side than on the other."""
        names = (
            f"'{pair[0].value.name}' here, '{pair[1].value.name}' there{self.alignment.counterpart_text(pair[1].value)}"
        )
        if reader is None:
            return Cause(self._make_difference("result", pair[0].value, pair[1].value), remark=f"it is {names}")
        one, other = reader
        results = [next(value for value in node.outputs if value is not None) for node in reader]
        return self._node_cause(one, other, results[0], results[1], [pair[0]], f"it reads {names}")

    def _taken_branch_results(self, one: If, other: If, left: Value, right: Value) -> _OperandPair | None:
        """The results of the branch that both took."""
        taken = []
        for side, node in enumerate((one, other)):
            value = node.inputs[0]
            there, data = (False, None) if value is None else self._read(side, Operand(value))
            if not there:
                return None
            taken.append(bool(np.asarray(data).reshape(-1)[:1].all()))
        if taken[0] is not taken[1]:
            return None
        k = 0 if taken[0] else 1
        pair = (
            Operand(bodies(one)[k][1].outputs[one.outputs.index(left)]),
            Operand(bodies(other)[k][1].outputs[other.outputs.index(right)]),
        )
        return pair if self._is_different(pair) else None

    # -- ends of the search

    def _trace_source(self, pair: _OperandPair) -> Cause | tuple[_OperandPair, None]:
        """What no node computes: it comes in so, or an iteration before computed it."""
        left, right = pair[0].value, pair[1].value
        roles = [self._role(half, v) for half, v in ((self.alignment.left, left), (self.alignment.right, right))]
        if roles[0] != roles[1]:
            return self._uncorresponding_cause(left, right)
        before = {"carried": self._previous_iteration_pair, "sliced input": self._slice_source_pair}.get(roles[0])
        origins = self.alignment.left.origin(left), self.alignment.right.origin(right)
        back = None if before is None else before(*origins)
        if back is not None:
            return back
        return Cause(self._make_difference(roles[0], *pair))

    def _previous_iteration_pair(self, left: Value, right: Value) -> tuple[_OperandPair, None] | None:
        """What a carried value came from: a result of an iteration before, or what the loop began with."""
        at = self.symptom
        (loop, _), (other, _) = self.alignment.left.params[left], self.alignment.right.params[right]
        edges = [next(edge for edge in one.back_edges if edge.param is v) for one, v in ((loop, left), (other, right))]
        found = None
        if at.iteration is not None and at.iteration > 0 and self.find_earlier is not None:
            found = self.find_earlier(left, right, at.iteration)
        if found is not None:
            iteration, self.left, self.right = found
            self.symptom = replace(at, iteration=iteration)
            if iteration is not None:
                return (Operand(edges[0].result), Operand(edges[1].result)), None
        elif at.iteration:
            return None
        pair = Operand(initial_outer_value(edges[0].initial)), Operand(initial_outer_value(edges[1].initial))
        return (pair, None) if self._is_different(pair) else None

    def _slice_source_pair(self, left: Value, right: Value) -> tuple[_OperandPair, None] | None:
        """What a part was cut from, or the trip count that it is counted back from; None where both are the same, or
        where it is cut otherwise."""
        loops = self.alignment.left.params[left][0], self.alignment.right.params[right][0]
        a, b = (next((p for p in loop.sliced_inputs if p.inner in (left, right)), None) for loop in loops)
        if a is None or b is None or not same_slicing(a, b):
            return None
        pairs = [(Operand(a.outer), Operand(b.outer))]
        counts = loops[0].trip_count, loops[1].trip_count
        if a.from_trip_count and counts[0] is not None and counts[1] is not None:
            pairs.append((Operand(counts[0]), Operand(counts[1])))
        return next(((pair, None) for pair in pairs if self._is_different(pair)), None)

    def _role(self, half: NumberedGraph, value: Value) -> str:
        if half.is_constant(value):
            return "constant"
        loop, role = half.params.get(half.origin(value), (None, "input"))
        return {"sliced": "sliced input", "iteration": "iteration number"}.get(role, role) if loop else role

    def _uncorresponding_cause(self, left: Value, right: Value) -> Cause:
        told = []
        for half, value in ((self.alignment.left, left), (self.alignment.right, right)):
            node = half.producer(half.origin(value))
            if node is not None:
                where = f" ({node.origin})" if node.origin.file else ""
                told.append(f"'{value.name}' is computed by {node.op_type} '{node.name}'{where}")
            else:
                told.append(f"'{value.name}' is a {self._role(half, half.origin(value))}")
        return Cause(
            self._make_difference("result", left, right),
            remark=f"the two are computed in other ways from here on: {told[0]}, {told[1]}",
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
        """Whether a difference is one that can be the cause of another."""
        return bool(delta.kind) or (self.bit_exact and delta.absolute > 0)

    def _delta(self, pair: _OperandPair) -> Delta | None:
        """How two values differ; None where one is not known."""
        (here, a), (there, b) = self._read(0, pair[0]), self._read(1, pair[1])
        if not (here and there):
            return None
        if self.alignment.is_weight_pair(*pair):
            return NO_DIFFERENCE
        return compare(a, b, self.tolerance, loose_shape=not self.alignment.same_system)

    def _read(self, side: int, operand: Operand) -> tuple[bool, Any]:
        half = (self.alignment.left, self.alignment.right)[side]
        data = half.constant(operand.value)
        there, data = (
            (True, data) if data is not None else self._read_from_run(side, half.resolve_invariant(operand.value))
        )
        return there, operand.apply_transpose(data)

    def _read_from_run(self, side: int, value: Value) -> tuple[bool, Any]:
        return (self.left, self.right)[side].read(value)

    def _make_difference(self, role: str, left: Operand | Value, right: Operand | Value) -> Difference:
        one, other = (operand if isinstance(operand, Operand) else Operand(operand) for operand in (left, right))
        a, b = self._read(0, one)[1], self._read(1, other)[1]
        delta = self._delta((one, other)) or Delta()
        at = self.symptom
        return Difference(role, one.value.name, other.value.name, delta, at.loop, at.entry, at.iteration, a, b)


def differing_values(ports: LoopAlignment, first: Difference) -> tuple[Value, Value] | None:
    """The values in both loop graphs that came to differ: of a back edge its result, or what it begins with."""
    if first.role == "carried":
        edge = next(((a, b) for a, b, _ in ports.edges if a.param.name == first.name), None)
        if edge is None:
            return None
        if first.iteration is not None:
            return edge[0].result, edge[1].result
        begin = [one.initial.outer if isinstance(one.initial, SlicedInput) else one.initial for one in edge]
        return begin[0], begin[1]
    if first.role == "scan":
        return next(((a.result, b.result) for a, b, _ in ports.scans if a.outer.name == first.name), None)
    if first.iteration is None:
        left, right = ports.left.initial_condition, ports.right.initial_condition
    else:
        left, right = ports.left.condition, ports.right.condition
    return None if left is None or right is None else (left, right)
