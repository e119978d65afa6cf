"""Traces a difference from a value back to its cause.

A node is the cause only if all its operands are equal. A differing operand is followed through corresponding terms,
captures and initial values, up to a constant, a sliced input, a model input, or the iteration in which a carried value
first differs. The search also ends where terms do not correspond, where one reads another value than the other, and
where a value is unknown.

Two runs of loopdbg are compared bit for bit: bit-identical values do not contribute to a difference. Peers and other
float types round differently: there the tolerance decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....runtime.graph import Loop, Node, Value
from ....runtime.graph.producers import ProducerMap
from ..alignment.edit_texts import LEAF_WORDS
from ..alignment.model_alignment import AlignedModels
from ..alignment.port_alignment import LoopAlignment
from ..normal_form.terms import LOOP_RESULTS, LoopPortTerms, Term
from ..numbering.value_numbers import changed_slice_fields
from ..report.findings import Cause, Difference, NodeDifference
from ..running.value_comparison import NO_DIFFERENCE, Delta, Tolerance, compare
from ..running.value_readers import ValueReader
from .divergence_by_value_name import find_name_divergence
from .quantization_tie_rounding import graph_value_by_role

#: A pair of terms as operands of their readers.
_TermPair = tuple[Term, Term]
#: Readers of both sides at the first iteration from which on a carried value (its parameters) differs without a gap up
#: to the given iteration; None as iteration: its initial value differs.
FindEarlier = Callable[[Value, Value, int], tuple[int | None, ValueReader, ValueReader] | None]
_ROLES = {"slice": "sliced input", "iteration": "iteration number", "condition input": "condition"}


@dataclass
class DifferenceTracer:
    """Traces one difference. ``symptom``: the observed difference, whose location is reported.

    ``bit_exact``: compare bits, without tolerance. ``find_earlier``: finds where a carried value started to differ.
    """

    alignment: AlignedModels
    left: ValueReader
    right: ValueReader
    tolerance: Tolerance
    symptom: Difference
    bit_exact: bool = False
    find_earlier: FindEarlier | None = None

    def __post_init__(self) -> None:
        self._pairs = self.alignment.pairs
        self._compared: tuple[Value, ...] = ()

    def find_cause(self, left: Value, right: Value) -> Cause | None:
        """The cause of the difference of two values; None if they do not differ or are unknown."""
        delta = self._value_delta(left, right)
        if delta is None or not delta.kind:
            return None
        pair = self._term_pair(left, right)
        self._compared = left, right
        converted = self._conversion_cause(left, right, pair)
        if converted is not None:
            return converted
        seen: set[tuple[_TermPair, int | None]] = set()
        reader: _TermPair | None = None
        while (pair, self.symptom.iteration) not in seen:
            seen.add((pair, self.symptom.iteration))
            step = self._trace_step(pair, reader)
            if isinstance(step, Cause):
                step = self._refine_cause_by_name(step)
                if reader is None or step.source is None or reader[0].node is None:
                    return step
                return replace(step, reader_source_line=self._node_code_text(0, reader[0].node))
            pair, reader = step
        return None

    def find_operator_cause(self, left_node: Node, right_node: Node, left: Value, right: Value) -> Cause | None:
        """The cause of a difference between results of two operators that were expanded to different loops, such as an
        LSTM and a quantised LSTM."""
        for a, b in zip(left_node.inputs, right_node.inputs, strict=False):
            if a is not None and b is not None:
                pair = self._term_pair(a, b)
                if not (pair[0].is_constant or pair[1].is_constant) and self._is_different(pair):
                    return self.find_cause(a, b)
        operands = [self._pairs.left.by_value[value] for value in left_node.inputs[:1] if value is not None]
        return self._node_cause((left_node, right_node), self._term_pair(left, right), operands)

    def _refine_cause_by_name(self, cause: Cause) -> Cause:
        """Continue at unmatched nodes of two systems with the names that a converter kept."""
        if cause.unmatched_pair is None or self.alignment.same_system:
            return cause
        divergence = find_name_divergence(self._pairs.sides, *cause.unmatched_pair, self._values_agree)
        if divergence is None:
            return cause
        pair = self._term_pair(divergence.left, divergence.right)
        if pair[0].node is None or pair[1].node is None:
            return cause
        remark = "the two have one name, and what they are computed from is the same"
        if any(divergence.one_sided_sources):
            left_sources, right_sources = (
                " and ".join(f"'{name}'" for name in names) or "nothing else" for names in divergence.one_sided_sources
            )
            remark = f"it is computed from {left_sources} here, from {right_sources} there"
        operands = [self._pairs.left.by_value[value] for value in divergence.sources]
        return self._node_cause((pair[0].node, pair[1].node), pair, operands, remark)

    def _values_agree(self, left: Value, right: Value) -> bool | None:
        delta = self._term_delta(self._term_pair(left, right))
        return None if delta is None else not self._is_significant(delta)

    def _term_pair(self, left: Value, right: Value) -> _TermPair:
        return self._pairs.left.by_value[left], self._pairs.right.by_value[right]

    # -- one step back

    def _trace_step(self, pair: _TermPair, reader: _TermPair | None) -> Cause | tuple[_TermPair, _TermPair | None]:
        """The pair of operands that causes the difference, with its readers, or the end of the search."""
        left, right = pair
        if self._is_rewired(*pair):
            return self._rewired_cause(pair, reader)
        if left.is_constant and right.is_constant and not (left.operands and right.operands):
            changed = next(iter(self._pairs.folded_constant_pairs(*pair)), None)
            read = self._values_read_by_reader(0, reader), self._values_read_by_reader(1, reader)
            return Cause(self._make_difference("constant", changed or self._pairs.resolve_folded_namesakes(pair, read)))
        if left.is_leaf and right.is_leaf:
            return self._trace_parameter_or_input(pair)
        if left.is_leaf or right.is_leaf or not self._terms_correspond(*pair) or left.index != right.index:
            return self._no_counterpart_cause(pair)
        if left.operator in LOOP_RESULTS and right.operator in LOOP_RESULTS:
            return self._trace_loop(pair)
        if left.operator != right.operator:
            return self._different_operator_cause(pair)
        if left.operator == "If":
            results = self._taken_branch_result_pair(pair)
            if results is not None:
                return results, None
        return self._trace_node_operands(pair)

    def _terms_correspond(self, left: Term, right: Term) -> bool:
        return left is right or self._pairs.twins.get(left) is right or self._pairs.same(left, right)

    def _is_rewired(self, left: Term, right: Term) -> bool:
        """Whether two values with the same use do not correspond to each other."""
        if self._terms_correspond(left, right) or self._pairs.equal_by_declared_shape(left, right):
            return False
        if left.is_constant and right.is_constant:
            return self._pairs.are_different_constants(left, right) or bool(self._pairs.one_sided_path(left, right)[1])
        twins = self._pairs.twins.get(left), self._pairs.twins.get(right)
        if not self.alignment.same_system and not (left.is_leaf and right.is_leaf):
            # The other system may need more or fewer nodes for the same computation.
            return None not in twins
        return twins != (None, None) or left.is_leaf or right.is_leaf

    def _trace_node_operands(self, pair: _TermPair) -> Cause | tuple[_TermPair, _TermPair]:
        nodes, operands = self._readable_operands(pair)
        unknown_value = ""
        differing: list[tuple[tuple[bool, float], _TermPair]] = []
        both = [(a, b) for a, b in operands if a is not None and b is not None]
        for operand_pair in both:
            delta = self._term_delta(operand_pair)
            if delta is None:
                unknown_value = unknown_value or _value_or_node_name(operand_pair[0])
            elif self._is_significant(delta):
                # Differences beyond the tolerance first, then the largest.
                differing.append(((not delta.kind, -min(delta.relative, 1e300)), operand_pair))
        # A different operand with an equal value is harmless.
        rewired = [item for item in both if self._is_rewired(*item) and not self._is_equal(item)]
        lefts = [a for a, _ in both]
        if rewired:
            return self._rewired_cause(rewired[0], pair)
        if differing:
            return min(differing, key=lambda entry: entry[0])[1], pair
        unpaired = _unpaired_text(operands) if self.alignment.same_system else ""
        if unpaired:
            return self._node_cause(nodes, pair, lefts, unpaired)
        if len(both) != len(operands):
            return self._no_counterpart_cause(pair)
        if unknown_value:
            source = self._source_node(0, nodes[0])
            name = f"{source.op_type} '{source.name}'"
            remark = f"{name} computes it; '{unknown_value}', which it is fed, is not known on both sides"
            return Cause(self._make_difference("result", pair), remark=remark)
        # Other operands within the tolerance, of which the node makes more: no operand has the same number on both
        # sides, and nothing else differs.
        amplified = next((item for item in both if self._is_rewired_and_close(item)), None)
        if amplified is not None:
            return self._rewired_cause(amplified, pair)
        converted = (self._operand_conversion_cause(nodes, item) for item in both)
        return next((cause for cause in converted if cause is not None), None) or self._node_cause(nodes, pair, lefts)

    def _operand_conversion_cause(self, nodes: tuple[Node, Node], operands: _TermPair) -> Cause | None:
        """The cause before two operands that are equal in normal form, if what the nodes read differs."""
        values = [
            next((v for v in node.inputs if v is not None and side.by_value[v] is term), None)
            for side, node, term in zip(self._pairs.sides, nodes, operands, strict=True)
        ]
        if values[0] is None or values[1] is None:
            return None
        delta = self._value_delta(values[0], values[1])
        if delta is None or not self._is_significant(delta):
            return None
        return self._conversion_cause(values[0], values[1], operands)

    def _readable_operands(self, pair: _TermPair) -> tuple[tuple[Node, Node], list[tuple[Term | None, Term | None]]]:
        """The operands of two terms. Results on the way, which a node does not give, are replaced by their own
        operands; the nodes are those of the last one."""
        assert pair[0].node is not None and pair[1].node is not None
        nodes = pair[0].node, pair[1].node
        operands: list[tuple[Term | None, Term | None]] = []
        for a, b in self._pairs.operand_pairs(*pair):
            is_inner = (
                a is not None and b is not None and not (a.is_leaf or b.is_leaf) and self._term_delta((a, b)) is None
            )
            if (
                a is not None
                and b is not None
                and is_inner
                and None in (a.value, b.value)
                and self._terms_correspond(a, b)
            ):
                nodes, inner = self._readable_operands((a, b))
                operands += inner
            else:
                operands.append((a, b))
        return nodes, operands

    def _trace_loop(self, pair: _TermPair) -> Cause | tuple[_TermPair, _TermPair]:
        """A result of a nested loop, which is compared separately: its operands, or the loop itself."""
        left, right = pair
        ports = self._pairs.loops.get(left.node) if isinstance(left.node, Loop) else None
        pairs = [] if ports is None or ports.right is not right.node else list(self._loop_operand_pairs(ports))
        if left.node is right.node and isinstance(left.node, Loop):
            terms = self._pairs.left.loops[left.node]
            pairs = [(term, term) for term in _loop_input_terms(terms)]
        differing = next((item for item in pairs if self._is_different(item)), None)
        if differing is not None:
            return differing, pair
        name = "" if left.node is None else left.node.name
        return Cause(self._make_difference("result", pair), remark=f"the loop '{name}' computes it")

    def _loop_operand_pairs(self, ports: LoopAlignment) -> Iterator[_TermPair]:
        left, right = self._pairs.left.loops[ports.left], self._pairs.right.loops[ports.right]
        for a, b in ((left.trip_count, right.trip_count), (left.initial_condition, right.initial_condition)):
            if a is not None and b is not None:
                yield a, b
        for edge, other, _ in ports.edges:
            yield left.initials[edge], right.initials[other]
        for port, other_port, _ in ports.slices:
            yield self._term_pair(port.outer, other_port.outer)

    def _is_rewired_and_close(self, pair: _TermPair) -> bool:
        """Whether two values that do not correspond are equal within the tolerance, but not the same number."""
        delta = self._term_delta(pair)
        return delta is not None and delta.absolute > 0 and self._is_rewired(*pair)

    def _node_cause(self, nodes: tuple[Node, Node], pair: _TermPair, operands: list[Term], remark: str = "") -> Cause:
        node, twin = self._source_node(0, nodes[0]), self._source_node(1, nodes[1])
        inputs = [
            (_value_or_node_name(operand), self._read_term_of_side(0, operand)[1])
            for operand in operands
            if operand.value is not None
        ]
        difference = self._make_difference("node", pair)
        details = (twin.name, twin.op_type, self._node_code_text(0, node), self._node_code_text(1, twin), node.origin)
        name = _value_or_node_name(pair[0])
        return Cause(None, NodeDifference(node.name, name, node.op_type, inputs, difference, *details), remark)

    def _source_node(self, side: int, node: Node) -> Node:
        """The node of the file that a node was expanded from, or the node itself."""
        return self._pairs.sides[side].opened.get(node, node)

    def _node_code_text(self, side: int, node: Node) -> str:
        return self.alignment.code[side].describe_node(node)

    def _conversion_cause(self, left: Value, right: Value, pair: _TermPair) -> Cause | None:
        """The node without effect in normal form that causes the difference, if the values before it are equal."""
        if (pair[0].value, pair[1].value) == (left, right) or self._is_different(pair):
            return None
        for side, value in enumerate((left, right)):
            for node, operand, output in self._conversion_nodes(side, value):
                (has_a, a), (has_b, b) = self._read_term_of_side(side, operand), self._read_value(side, output)
                if not (has_a and has_b and self._is_significant(compare(a, b, self.tolerance))):
                    continue
                inputs = [(v.name, self._read_value(side, v)[1]) for v in node.inputs if v is not None]
                values = self._read_value(0, left)[1], self._read_value(1, right)[1]
                site = self.symptom
                delta = self._value_delta(left, right) or Delta()
                names = left.name, right.name
                difference = Difference("node", *names, delta, site.loop, site.entry, site.iteration, *values)
                details = (node.name, node.op_type, self._node_code_text(side, node), "", node.origin)
                blame = NodeDifference(node.name, output.name, node.op_type, inputs, difference, *details)
                return Cause(None, blame, f"the {('left', 'right')[side]} side alone has it")
        return None

    def _conversion_nodes(self, side: int, value: Value) -> Iterator[tuple[Node, Term, Value]]:
        """The nodes between a value and the one that it equals in normal form, the last one first, each with the
        operand and the result."""
        graph = self._pairs.sides[side]
        term = graph.by_value[value]
        producers = ProducerMap.for_graph(graph.graph)
        while value is not term.value:
            node = producers.get(value)
            source = None if node is None else next((item for item in node.inputs if item is not None), None)
            if node is None or source is None:
                return
            inner = producers.get(source)
            if graph.by_value.get(source) is not term and inner is not None and inner.inputs[0] is not None:
                node, source = inner, inner.inputs[0]
            if graph.by_value.get(source) is not term:
                return
            yield node, term, value
            value = source

    def _different_operator_cause(self, pair: _TermPair) -> Cause:
        """Different operators: the cause if their operands are equal; else nothing before them corresponds."""
        left, right = pair
        assert left.node is not None and right.node is not None
        pairs = [(a, b) for a, b in zip(left.operands, right.operands, strict=False) if a is not None and b is not None]
        if len(left.operands) != len(right.operands) or any(map(self._is_different, pairs)):
            return self._no_counterpart_cause(pair)
        return self._node_cause((left.node, right.node), pair, [a for a, _ in pairs])

    def _rewired_cause(self, pair: _TermPair, reader: _TermPair | None) -> Cause | tuple[_TermPair, _TermPair]:
        """The readers use different values, or operands of which one has no effect in one of the models."""
        side, path = self._pairs.one_sided_path(*pair)
        if path and path[0].node is path[-1].node and pair[0].node is not None and pair[1].node is not None:
            # The node is in both models, and has an operand more in one of them.
            extra = [operand for operand in path[0].operands if operand is not None and operand is not path[1]]
            remark = _unpaired_text([(None, operand) if side else (operand, None) for operand in extra])
            return self._node_cause((pair[0].node, pair[1].node), pair, [], remark)
        nodes_there = self._pairs.bypassed_nodes(
            side, path[:-1], self._values_read_by_reader(1 - side, reader), pair[1 - side]
        )
        bypassed = next(iter(nodes_there), None)
        if bypassed is not None and path[0].node is not None and bypassed.node is not None:
            own = (bypassed, path[0]) if side else (path[0], bypassed)
            nodes = (bypassed.node, path[0].node) if side else (path[0].node, bypassed.node)
            different = next(filter(self._is_different, self._written_operand_pairs(own)), None)
            if different is not None:
                return different, own
            return self._node_cause(nodes, own, [pair[0] if side else path[-1]])
        counterpart = self._pairs.counterpart_text(pair[1])
        left_name, right_name = (_value_or_node_name(term) for term in pair)
        names = f"'{left_name}' here, '{right_name}' there{f', which {counterpart}' if counterpart else ''}"
        if not counterpart and left_name == right_name:
            names = f"{self._describe_term(0, pair[0])} here, {self._describe_term(1, pair[1])} there"
        if path and path[0].node is not None:
            words = [
                f"'{_value_or_node_name(term)}' {word}" for term, word in zip(pair, ("here", "there"), strict=True)
            ]
            node = self._source_node(side, path[0].node)
            words[side] += f", which {node.op_type} '{node.name}' computes on that side alone"
            names = ", ".join(words)
        if reader is None or reader[0].node is None or reader[1].node is None:
            return Cause(self._make_difference("result", pair), remark=f"it is {names}")
        inputs = [(_value_or_node_name(term), self._read_term_of_side(k, term)[1]) for k, term in enumerate(pair)]
        if inputs[0][0] == inputs[1][0]:
            inputs = [(f"{name} {word}", data) for (name, data), word in zip(inputs, ("here", "there"), strict=True)]
        cause = self._node_cause((reader[0].node, reader[1].node), reader, [], f"it reads {names}")
        assert cause.node is not None
        return replace(cause, node=replace(cause.node, inputs=inputs))

    def _written_operand_pairs(self, pair: _TermPair) -> Iterator[_TermPair]:
        """The operands of two terms as the files have them, before any rule was applied."""
        left, right = (
            None if term.value is None else side.written.get(term.value)
            for side, term in zip(self._pairs.sides, pair, strict=True)
        )
        if left is not None and right is not None and left.operator == right.operator:
            yield from ((a, b) for a, b in self._pairs.operand_pairs(left, right) if a is not None and b is not None)

    def _values_read_by_reader(self, side: int, reader: _TermPair | None) -> Sequence[Value | None]:
        """The values that a reader reads; without one those that are compared."""
        node = None if reader is None else reader[side].node
        return self._compared[side : side + 1] if node is None else node.inputs

    def _describe_term(self, side: int, term: Term) -> str:
        """The name of a term and what it is."""
        node = None if term.node is None else self._source_node(side, term.node)
        if term.data is not None and term.data.size == 1:
            return f"'{_value_or_node_name(term)}' (the constant {term.data.item()})"
        if term.is_constant or node is None:
            words = LEAF_WORDS.get("constant" if term.is_constant else term.operator, "")
            return f"'{_value_or_node_name(term)}' ({words})"
        location = f" at {node.origin}" if node.origin.file else ""
        return f"'{_value_or_node_name(term)}' (the result of {node.op_type} '{node.name}'{location})"

    def _taken_branch_result_pair(self, pair: _TermPair) -> _TermPair | None:
        """The results of the branch that both sides took."""
        conditions = []
        for side, term in enumerate(pair):
            operand = term.operands[0]
            is_known, data = (False, None) if operand is None else self._read_term_of_side(side, operand)
            if not is_known:
                return None
            conditions.append(bool(np.asarray(data).reshape(-1)[:1].all()))
        if conditions[0] is not conditions[1]:
            return None
        k = 0 if conditions[0] else 1
        results = pair[0].port[k], pair[1].port[k]
        return results if self._is_different(results) else None

    # -- ends of the search

    def _trace_parameter_or_input(self, pair: _TermPair) -> Cause | tuple[_TermPair, None]:
        """Trace a value that no node computes: an input, or the result of an earlier iteration."""
        left, right = pair
        if left.operator != right.operator:
            return self._no_counterpart_cause(pair)
        find_source = {"carried": self._previous_iteration_pair, "slice": self._slice_source_pair}.get(left.operator)
        step = None if find_source is None else find_source(*pair)
        role = "constant" if left.is_constant else _ROLES.get(left.operator, left.operator)
        return Cause(self._make_difference(role, pair)) if step is None else step

    def _previous_iteration_pair(self, left: Term, right: Term) -> tuple[_TermPair, None] | None:
        """The source of a carried value: the result of an earlier iteration, or the initial value."""
        symptom = self.symptom
        assert left.value is not None and right.value is not None
        ports = self._loop_of_parameter(0, left), self._loop_of_parameter(1, right)
        earlier = None
        if symptom.iteration is not None and symptom.iteration > 0 and self.find_earlier is not None:
            earlier = self.find_earlier(left.value, right.value, symptom.iteration)
        if earlier is not None:
            iteration, self.left, self.right = earlier
            self.symptom = replace(symptom, iteration=iteration)
            if iteration is not None:
                return (ports[0].results[left.port], ports[1].results[right.port]), None
        elif symptom.iteration:
            return None
        pair = ports[0].initials[left.port], ports[1].initials[right.port]
        return (pair, None) if self._is_different(pair) else None

    def _slice_source_pair(self, left: Term, right: Term) -> tuple[_TermPair, None] | None:
        """The source of a sliced input, or the trip count that it is counted back from; None if both are equal or the
        slices differ."""
        outers = left.operands[0], right.operands[0]
        if outers[0] is None or outers[1] is None:
            return None
        shapes = outers[0].shape or outers[1].shape, outers[1].shape or outers[0].shape
        if changed_slice_fields(left.port, right.port, shapes):
            return None
        pairs = [(outers[0], outers[1])]
        counts = self._loop_of_parameter(0, left).trip_count, self._loop_of_parameter(1, right).trip_count
        if left.port.from_trip_count and counts[0] is not None and counts[1] is not None:
            pairs.append((counts[0], counts[1]))
        return next(((pair, None) for pair in pairs if self._is_different(pair)), None)

    def _loop_of_parameter(self, side: int, param: Term) -> LoopPortTerms:
        """The loop that a parameter belongs to."""
        return next(terms for terms in self._pairs.sides[side].loops.values() if terms.loop.body is param.scope)

    def _no_counterpart_cause(self, pair: _TermPair) -> Cause:
        texts = self._describe_term(0, pair[0]), self._describe_term(1, pair[1])
        remark = f"the two are computed in other ways from here on: {texts[0]} here, {texts[1]} there"
        values = pair[0].value, pair[1].value
        unmatched = None if values[0] is None or values[1] is None else (values[0], values[1])
        return Cause(self._make_difference("result", pair), remark=remark, unmatched_pair=unmatched)

    # -- values

    def _is_different(self, pair: _TermPair) -> bool:
        delta = self._term_delta(pair)
        return delta is not None and self._is_significant(delta)

    def _is_equal(self, pair: _TermPair) -> bool:
        delta = self._term_delta(pair)
        return delta is not None and not self._is_significant(delta)

    def _is_significant(self, delta: Delta) -> bool:
        """Whether a difference can cause another one."""
        return bool(delta.kind) or (self.bit_exact and delta.absolute > 0)

    def _term_delta(self, pair: _TermPair) -> Delta | None:
        """The difference of two values; None if one is unknown."""
        (left_known, a), (right_known, b) = self._read_term_of_side(0, pair[0]), self._read_term_of_side(1, pair[1])
        if not (left_known and right_known):
            return None
        if self._pairs.is_quantized_weight_pair(*pair):
            return NO_DIFFERENCE
        return compare(a, b, self.tolerance, loose_shape=not self.alignment.same_system)

    def _value_delta(self, left: Value, right: Value) -> Delta | None:
        """The difference of two values as the models have them, not in normal form."""
        (left_known, a), (right_known, b) = self._read_value(0, left), self._read_value(1, right)
        if not (left_known and right_known):
            return None
        return compare(a, b, self.tolerance, loose_shape=not self.alignment.same_system)

    def _read_term_of_side(self, side: int, term: Term) -> tuple[bool, Any]:
        if term.data is not None:
            return True, term.data
        if term.value is not None:
            return (self.left, self.right)[side].read(term.value)
        operand = term.operands[0] if term.operator == "Transpose" else None
        is_known, data = (False, np.empty(0)) if operand is None else self._read_term_of_side(side, operand)
        return is_known, np.transpose(data, term.attribute("perm")) if is_known else None

    def _read_value(self, side: int, value: Value) -> tuple[bool, Any]:
        """A value; an invariant of a loop is read as the outer value."""
        term = self._pairs.sides[side].by_value[value]
        if term.data is not None:
            return True, term.data
        is_known, data = (self.left, self.right)[side].read(value)
        return (is_known, data) if is_known else self._read_term_of_side(side, term)

    def _make_difference(self, role: str, pair: _TermPair) -> Difference:
        a, b = self._read_term_of_side(0, pair[0])[1], self._read_term_of_side(1, pair[1])[1]
        site = self.symptom
        names = _value_or_node_name(pair[0]), _value_or_node_name(pair[1])
        return Difference(role, *names, self._term_delta(pair) or Delta(), site.loop, site.entry, site.iteration, a, b)


def _value_or_node_name(term: Term) -> str:
    """The name of a value; of a result on the way that of its node."""
    return term.value.name if term.value is not None else "" if term.node is None else term.node.name


def _unpaired_text(operands: list[tuple[Term | None, Term | None]]) -> str:
    """Operands that only one of two operators has, in words."""
    texts = [f"'{_value_or_node_name(a)}' here, nothing there" for a, b in operands if a is not None and b is None]
    texts += [f"nothing here, '{_value_or_node_name(b)}' there" for a, b in operands if a is None and b is not None]
    return f"it is fed {', '.join(texts)}" if texts else ""


def _loop_input_terms(terms: LoopPortTerms) -> Iterator[Term]:
    yield from (term for term in (terms.trip_count, terms.initial_condition) if term is not None)
    yield from terms.initials.values()
    yield from (term.operands[0] for term in terms.slices.values() if term.operands[0] is not None)


def differing_values(ports: LoopAlignment, first: Difference) -> tuple[Value, Value] | None:
    """The values in both loop graphs that differ: for a back edge its result, or its initial value."""
    left = graph_value_by_role(ports.left, first.role, first.name, first.iteration)
    right = graph_value_by_role(ports.right, first.role, first.other, first.iteration)
    return None if left is None or right is None else (left, right)
