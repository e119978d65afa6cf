"""Lowers a model to terms in normal form (terms.py), by the rules of rules.py."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ....runtime.graph import (
    Array,
    BackEdge,
    Graph,
    If,
    Loop,
    Operation,
    ScanOutput,
    SlicedInput,
    TensorType,
    Value,
    bodies,
    walk,
    walk_graphs,
)
from ....runtime.graph.producers import ProducerMap
from ....runtime.graph.slicing import normalize_axis
from ....runtime.ops.constant_folding import ConstantFolder
from .operator_normalization import (
    arguments_as_attributes,
    attributes_without_defaults,
    canonical_operator,
    constant_as_attribute,
    hashable_attribute,
)
from .rules import BOOLEAN, DTYPE_PRESERVING, cast_target_dtype, infer_shape, is_static, rules_for
from .terms import LoopPortTerms, LoweredGraph, Shape, Term

#: The most rules that are applied to one term.
_MAX_REWRITES = 8
#: Before this opset these operators flatten all axes from the given one.
_FLATTENING, _FLATTENING_UNTIL = frozenset({"Softmax", "LogSoftmax", "Hardmax"}), 13


def lower(
    graph: Graph,
    ignore_float_casts: bool = False,
    across_systems: bool = False,
    unknown_constants: Collection[str] = (),
    is_quantized: bool = False,
) -> LoweredGraph:
    """A model in normal form. ``ignore_float_casts``: the other model computes in other float types;
    ``across_systems``: the other model is of another system; ``unknown_constants``: the names of constants of which
    one of the models lacks the data, as recordings do; ``is_quantized``: one of the models is quantised to 8 bits."""
    return _Lowering(graph, ignore_float_casts, across_systems, unknown_constants, is_quantized).lowered


def constants_without_data(graph: Graph) -> set[str]:
    """The names of a model's constants whose data is missing."""
    return {value.name for item in walk_graphs(graph) for value in item.constants if value.constant is None}


class _Lowering:
    """Lowers one model."""

    def __init__(
        self,
        graph: Graph,
        ignore_float_casts: bool,
        across_systems: bool,
        unknown_constants: Collection[str],
        is_quantized: bool,
    ) -> None:
        self.ignore_float_casts = ignore_float_casts
        self.across_systems = across_systems
        self.is_quantized = is_quantized
        self._unknown_constants = unknown_constants
        self.system = graph.system
        producers = ProducerMap.for_graph(graph)
        self._constants = ConstantFolder(producers, graph.system)
        declared = ConstantFolder(producers, graph.system, use_declared_shapes=True)
        self.lowered = LoweredGraph(graph, declared, opened=dict(graph.expanded_from))
        for inner in (inner for node in walk(graph) for _, inner in bodies(node)):
            self.lowered.opened.update(inner.expanded_from)
        for position, value in enumerate(graph.inputs):
            self._add_leaf_term("input", value, graph, position)
        self._lower_graph(graph, 0)

    # -- for the rules

    def add_derived_term(self, source: Term, operator: str, operands: Sequence[Term | None], **attributes: Any) -> Term:
        """A term that is computed on the way to ``source``."""
        hashable = sorted((name, hashable_attribute(value)) for name, value in attributes.items())
        term = Term(operator, tuple(operands), tuple(hashable), 0, source.node, None, source.scope, dtype=source.dtype)
        term.shape = infer_shape(operator, term.operands, attributes)
        self.lowered.terms.append(term)
        return term

    def constant(self, source: Term, data: Array) -> Term:
        """A constant made of that of ``source``."""
        return Term("constant", value=source.value, scope=source.scope, data=data, dtype=data.dtype, shape=data.shape)

    def transpose(self, source: Term, operand: Term) -> Term:
        """An operand with its last two axes exchanged; a constant is exchanged itself."""
        if operand.data is not None:
            return self.constant(operand, operand.data.swapaxes(-1, -2) if operand.data.ndim >= 2 else operand.data)
        rank = 2 if operand.rank is None else operand.rank
        perm = (*range(rank - 2), rank - 1, rank - 2)
        inner = operand.attribute("perm") if operand.operator == "Transpose" else None
        if inner == perm and operand.operands[0] is not None:
            return operand.operands[0]
        return self.add_derived_term(source, "Transpose", [operand], perm=perm)

    def note_quantized_weight(self, weight: Term) -> None:
        """Record that a constant holds a weight in 8 bits."""
        self.lowered.quantized_weights.add(weight)

    # -- graphs

    def _lower_graph(self, graph: Graph, depth: int) -> None:
        for node in graph.nodes:
            if isinstance(node, Loop):
                self._lower_loop(node, graph, depth)
            elif isinstance(node, If):
                self._lower_if(node, graph, depth)
            elif isinstance(node, Operation):
                self._lower_operation(node, graph)
        for loop in (node for node in graph.nodes if isinstance(node, Loop)):
            # A length may be computed after the loop.
            lengths = {scan: self._optional_term(scan.length) for scan in loop.scan_outputs}
            self.lowered.loops[loop].lengths = {scan: term for scan, term in lengths.items() if term is not None}
        self.lowered.constants += [
            Term("constant", value=value, data=value.constant)
            for value in graph.constants
            if value.constant is not None
        ]
        self.lowered.outputs[graph] = [self._term_of_value(value) for value in graph.outputs]

    def _term_of_value(self, value: Value) -> Term:
        """The term of a value; a constant gets one where it is first read."""
        if value not in self.lowered.by_value:
            data = None if value.name in self._unknown_constants else self._constants.value_of(value)
            term = Term("constant", value=value, data=data)
            if data is not None:
                term.dtype, term.shape = data.dtype, data.shape
            else:
                term.dtype, term.shape = _declared_type(value)
            self._add_term(value, term)
        return self.lowered.by_value[value]

    def _optional_term(self, value: Value | None) -> Term | None:
        return None if value is None else self._term_of_value(value)

    def _add_term(self, value: Value, term: Term) -> None:
        self.lowered.by_value[value] = term
        self.lowered.terms.append(term)

    def _add_leaf_term(
        self, operator: str, value: Value, scope: Graph, port: Any, operands: Sequence[Term] = ()
    ) -> Term:
        dtype, shape = _declared_type(value)
        term = Term(operator, tuple(operands), value=value, scope=scope, port=port, dtype=dtype, shape=shape)
        self._add_term(value, term)
        return term

    # -- nodes

    def _lower_operation(self, node: Operation, scope: Graph) -> None:
        operator = (
            node.op_type if node.is_custom_operator and node.domain != "com.microsoft" else canonical_operator(node)
        )
        attributes = dict(attributes_without_defaults(node, self.system))
        operands = [self._optional_term(value) for value in node.inputs]
        arguments = arguments_as_attributes(operator, self.system)
        kept: list[Term | None] = []
        for k, operand in enumerate(operands):
            if k in arguments and operand is not None and operand.data is not None:
                attributes[arguments[k]] = constant_as_attribute(operand.data)
            elif k not in arguments or operand is not None:
                kept.append(operand)
        while kept and kept[-1] is None:
            kept.pop()
        if operator in _FLATTENING and node.domain == "" and node.version < _FLATTENING_UNTIL:
            rank = None if not kept or kept[0] is None else kept[0].rank
            axis: Any = attributes.get("axis", 1)
            if rank is None or axis % rank != rank - 1:
                attributes["flattened"] = True
        ordered = tuple(sorted(attributes.items(), key=lambda item: item[0]))
        for k, value in enumerate(node.outputs):
            if value is None:
                continue
            data = self._constants.value_of(value)
            is_written = data is not None and not node.inputs
            term = Term("constant" if is_written else operator, tuple(kept), ordered, k, node, value, scope, data)
            self._set_type(term, operands, attributes)
            if operator == "Shape" and operands[0] is not None and is_static(operands[0].shape):
                shape = np.array(operands[0].shape, np.int64)
                self.lowered.declared.folded[value] = shape[attributes.get("start", 0) : attributes.get("end")]
            self.lowered.written[value] = term
            self.lowered.by_value[value] = self._apply_rules(term, value)

    def _set_type(self, term: Term, operands: Sequence[Term | None], attributes: dict[str, Any]) -> None:
        assert term.value is not None
        term.dtype, term.shape = _declared_type(term.value)
        if term.data is not None:
            term.dtype, term.shape = term.data.dtype, term.data.shape
            return
        if term.shape is None or not all(isinstance(dim, int) for dim in term.shape):
            inferred = infer_shape(term.operator, operands, attributes)
            term.shape = inferred if inferred is not None else term.shape
        if term.dtype is None:
            first = next((operand for operand in operands if operand is not None), None)
            if term.operator in BOOLEAN:
                term.dtype = np.dtype(bool)
            elif term.operator == "Cast":
                term.dtype = cast_target_dtype(term)
            elif term.operator == "Shape":
                term.dtype = np.dtype(np.int64)
            elif term.operator == "Where":
                term.dtype = None if operands[-1] is None else operands[-1].dtype
            elif term.operator in DTYPE_PRESERVING or infer_shape(term.operator, operands, attributes) is not None:
                term.dtype = None if first is None else first.dtype

    def _apply_rules(self, term: Term, value: Value) -> Term:
        """Apply rules until none applies; the term of an existing value is taken over."""
        source = term
        for _ in range(_MAX_REWRITES):
            rules = ((rule, rule.rewrite(self, term)) for rule in rules_for(term.operator))
            rule, result = next(((rule, new) for rule, new in rules if new is not None), (None, None))
            if rule is None or result is None or result is term:
                break
            self.lowered.rewritten.append((rule.name, value))
            term = result
            if term.node is not source.node or term.value is not None:
                if source.operator == "Identity" and is_static(source.shape) and not is_static(term.shape):
                    term.shape = source.shape  # a tool may declare that of the copy alone
                return term  # a value that exists already
        if term is source:
            self.lowered.terms.append(term)
        term.value, term.data = value, source.data
        term.dtype, term.shape = source.dtype, source.shape if source.shape is not None else term.shape
        return term

    def _lower_if(self, node: If, scope: Graph, depth: int) -> None:
        condition = self._optional_term(node.inputs[0])
        for _, branch in bodies(node):
            self._lower_graph(branch, depth)
        branches = [self.lowered.outputs[branch] for _, branch in bodies(node)]
        for k, value in enumerate(node.outputs):
            if value is not None:
                port = tuple(results[k] for results in branches)
                term = Term("If", (condition,), (), k, node, value, scope, port=port)
                term.dtype, term.shape = _declared_type(value)
                self._add_term(value, term)

    def _lower_loop(self, loop: Loop, scope: Graph, depth: int) -> None:
        terms = LoopPortTerms(
            loop, depth, self._optional_term(loop.trip_count), self._optional_term(loop.initial_condition)
        )
        self.lowered.loops[loop] = terms
        body = loop.body
        for invariant in loop.invariants:
            term = self.lowered.by_value[invariant.inner] = self._term_of_value(invariant.outer)
            self._constants.folded[invariant.inner] = term.data
        initials: dict[BackEdge, Term] = {}
        for edge in loop.back_edges:
            outer = edge.initial.outer if isinstance(edge.initial, SlicedInput) else edge.initial
            initials[edge] = self._term_of_value(outer)
            terms.params[edge] = self._add_leaf_term("carried", edge.param, body, edge)
            if terms.params[edge].dtype is None:
                terms.params[edge].dtype = initials[edge].dtype
        terms.initials = initials
        for port in loop.sliced_inputs:
            if port.inner not in self.lowered.by_value:
                terms.slices[port] = self._add_leaf_term(
                    "slice", port.inner, body, port, [self._term_of_value(port.outer)]
                )
        if loop.iteration is not None and loop.iteration not in self.lowered.by_value:
            self._add_leaf_term("iteration", loop.iteration, body, depth)
        if loop.condition_input is not None and loop.condition_input not in self.lowered.by_value:
            terms.condition_input = self._add_leaf_term("condition input", loop.condition_input, body, loop)
        self._lower_graph(body, depth + 1)
        terms.results = {edge: self._term_of_value(edge.result) for edge in loop.back_edges}
        condition = loop.condition or loop.ignored_condition
        terms.condition = self._optional_term(condition)
        for operator, ports in (("last", loop.last_values), ("scan", loop.scan_outputs)):
            for item in ports:
                terms.inner[item] = self._term_of_value(item.result)
                term = Term(operator, (), (), 0, loop, item.outer, scope, port=item)
                term.dtype, term.shape = _declared_type(item.outer)
                term.dtype = terms.inner[item].dtype if term.dtype is None else term.dtype
                if term.shape is None:
                    inner = terms.inner[item].shape
                    term.shape = _scan_output_shape(item, inner) if isinstance(item, ScanOutput) else inner
                term.operands = (terms.inner[item],)
                terms.outer[item] = term
                self._add_term(item.outer, term)


def _scan_output_shape(scan: ScanOutput, shape: Shape | None) -> Shape | None:
    """The shape of a scan output by that of its elements; its length is unknown."""
    if shape is None:
        return None
    axis = normalize_axis(scan.axis, len(shape) + scan.stack)
    return (*shape[:axis], None, *shape[axis + (not scan.stack) :])


def _declared_type(value: Value) -> tuple[np.dtype[Any] | None, tuple[Any, ...] | None]:
    return (value.type.dtype, value.type.shape) if isinstance(value.type, TensorType) else (None, None)
