"""Backward slices of loop conditions, and their decomposition into comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...runtime.graph import (
    BackEdge,
    Graph,
    If,
    Loop,
    Node,
    SlicedInput,
    TensorType,
    Value,
    bodies,
    captured_values,
    walk,
)
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.registry import is_random
from .node_text import NOT_OPERATORS, OPERATOR_SIGNS, NodeFormatter

#: Operators that preserve a truth value.
_TRUTH_PRESERVING_OPS = frozenset(
    {"Identity", "Cast", "Convert", "CastLike", "ConvertLike", "Squeeze", "Unsqueeze", "Reshape"}
)
_COMPARISON_SIGNS = frozenset({">", "<", ">=", "<=", "==", "!="})
NEGATED_SIGN = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
#: Maximum number of truth-preserving operators in a chain, and of parts of a condition; deeper parts are opaque. Parts
#: can share values, so the number of parts is limited instead of the depth.
_MAX_DEPTH, _MAX_PARTS = 16, 32


@dataclass(frozen=True, eq=False)
class ConditionSlice:
    """The backward slice of a loop's condition.

    ``nodes``: the body's nodes that compute it, in order, including those inside Ifs; ``carried``, ``captures`` (with
    invariant inputs, by their inner names), ``constants``, ``slices`` and ``reads_iteration`` are their inputs. The
    ``all_`` fields and ``depends_on_iteration`` include indirect inputs of later iterations through back edges.
    """

    loop: Loop
    nodes: tuple[Node, ...] = ()
    carried: tuple[BackEdge, ...] = ()
    captures: tuple[Value, ...] = ()
    constants: tuple[Value, ...] = ()
    slices: tuple[SlicedInput, ...] = ()
    reads_iteration: bool = False
    all_nodes: tuple[Node, ...] = ()
    #: Back edges whose values reach the condition in any iteration, except those that carry their value unchanged.
    all_carried: tuple[BackEdge, ...] = ()
    all_slices: tuple[SlicedInput, ...] = ()
    depends_on_iteration: bool = False
    #: Random operators that reach the condition.
    random_nodes: tuple[Node, ...] = ()

    @property
    def depends_on_varying_values(self) -> bool:
        """True if the condition depends on anything that varies between iterations."""
        return bool(self.all_carried or self.all_slices or self.depends_on_iteration or self.random_nodes)

    @property
    def depends_on_carried_only(self) -> bool:
        """True if only carried values decide: if they repeat, so does the rest of the run."""
        return not (self.all_slices or self.depends_on_iteration or self.random_nodes)


def condition_slice(loop: Loop) -> ConditionSlice:
    """The backward slice of a loop's condition; empty if the loop has none."""
    if loop.condition is None:
        return ConditionSlice(loop)
    direct = _backward_slice(loop.body, {loop.condition})
    origins = ProducerMap.for_graph(loop.body)
    varying_edges = [edge for edge in loop.back_edges if origins.skip_identities(edge.result) is not edge.param]
    reachable = direct
    while True:
        sources = reachable | {edge.result for edge in varying_edges if edge.param in reachable}
        closure = _backward_slice(loop.body, sources)
        if closure == reachable:
            break
        reachable = closure
    results = {value for node in walk(loop.body) for value in node.outputs}
    params = {*loop.body.inputs, *(invariant.inner for invariant in loop.invariants)}
    invariants = {invariant.inner for invariant in loop.invariants}
    outer_values = [
        value for value in _sort_by_read_order(loop, direct) if value not in results and value not in params
    ]
    all_nodes = _nodes_computing(loop.body, reachable)
    return ConditionSlice(
        loop,
        _nodes_computing(loop.body, direct),
        tuple(edge for edge in loop.back_edges if edge.param in direct),
        (
            *(value for value in loop.body.inputs if value in invariants and value in direct),
            *(value for value in outer_values if value.constant is None),
        ),
        tuple(value for value in outer_values if value.constant is not None),
        tuple(sliced for sliced in loop.sliced_inputs if sliced.inner in direct),
        loop.iteration in direct,
        all_nodes,
        tuple(edge for edge in varying_edges if edge.param in reachable),
        tuple(sliced for sliced in loop.sliced_inputs if sliced.inner in reachable),
        loop.iteration in reachable,
        tuple(node for node in all_nodes if any(is_random(n, loop.system) for n in (node, *_inner_nodes(node)))),
    )


def _inner_nodes(node: Node) -> Iterator[Node]:
    for _, inner in bodies(node):
        yield from walk(inner)


def _backward_slice(graph: Graph, roots: set[Value]) -> set[Value]:
    """The given values and all values that they are computed from."""
    needed = set(roots)
    for node in reversed(graph.nodes):
        outputs_needed = [k for k, value in enumerate(node.outputs) if value is not None and value in needed]
        if not outputs_needed:
            continue
        needed.update(value for value in node.inputs if value is not None)
        if isinstance(node, If):
            for _, branch in bodies(node):
                needed |= _backward_slice(branch, {branch.outputs[k] for k in outputs_needed})
        elif isinstance(node, Loop):
            needed.update(captured_values(node.body))
            needed.update(invariant.outer for invariant in node.invariants)
    return needed


def _nodes_computing(graph: Graph, needed: set[Value]) -> tuple[Node, ...]:
    """The nodes that compute needed values, in order; an inner loop is one node."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if any(value in needed for value in node.outputs):
            nodes.append(node)
            if isinstance(node, If):
                for _, branch in bodies(node):
                    nodes += _nodes_computing(branch, needed)
    return tuple(nodes)


def _sort_by_read_order(loop: Loop, needed: set[Value]) -> list[Value]:
    """Needed values in the order in which the body reads them, followed by those that only inner bodies read."""
    read: dict[Value, None] = {}
    for node in _nodes_computing(loop.body, needed):
        read.update((value, None) for value in node.inputs if value is not None and value in needed)
    read.update(dict.fromkeys(needed))
    return list(read)


# -- decisions


@dataclass(frozen=True, eq=False)
class DecidingComparison:
    """``left sign right``, compared by ``node``."""

    value: Value
    left: Value
    sign: str
    right: Value
    node: Node | None = None


@dataclass(frozen=True, eq=False)
class NegatedDecision:
    """``not operand``."""

    value: Value
    operand: Decision


@dataclass(frozen=True, eq=False)
class LogicalDecision:
    """``a and b``, ``a or b``."""

    value: Value
    operator: str
    operands: tuple[Decision, Decision]


@dataclass(frozen=True, eq=False)
class ConditionalDecision:
    """The output of an If: the decision of the taken branch."""

    value: Value
    condition: Value
    then_decision: Decision
    else_decision: Decision


@dataclass(frozen=True, eq=False)
class OpaqueDecision:
    """A truth value that is not decomposed: a parameter, a capture, or the output of another operator."""

    value: Value


Decision = DecidingComparison | NegatedDecision | LogicalDecision | ConditionalDecision | OpaqueDecision


def decompose_condition(value: Value, origins: ProducerMap) -> Decision:
    """Decompose a truth value into its comparisons."""
    return _DecisionBuilder(origins).decision(value)


class _DecisionBuilder:
    def __init__(self, origins: ProducerMap) -> None:
        self.origins = origins
        self.parts_left = _MAX_PARTS

    def decision(self, value: Value) -> Decision:
        self.parts_left -= 1
        source = value
        for _ in range(_MAX_DEPTH):
            node = self.origins.get(source)
            operand = node.inputs[0] if node is not None and node.inputs else None
            if node is None or node.op_type not in _TRUTH_PRESERVING_OPS or operand is None:
                break
            source = operand
        inputs = [] if node is None else [operand for operand in node.inputs if operand is not None]
        if node is not None and self.parts_left > 0 and inputs:
            sign = OPERATOR_SIGNS.get(node.op_type, "")
            if sign in _COMPARISON_SIGNS and len(inputs) == 2:
                return DecidingComparison(value, inputs[0], sign, inputs[1], node)
            if sign in ("and", "or") and len(inputs) == 2:
                left, right = map(self.decision, inputs)
                return LogicalDecision(value, sign, (left, right))
            if node.op_type in NOT_OPERATORS:
                return NegatedDecision(value, self.decision(inputs[0]))
            if isinstance(node, If):
                index = node.outputs.index(source)
                then_branch, else_branch = (self.decision(branch.outputs[index]) for _, branch in bodies(node))
                return ConditionalDecision(value, inputs[0], then_branch, else_branch)
        if source is not value and isinstance(source.type, TensorType) and source.type.dtype not in (None, np.bool_):
            # A number as a truth value.
            return DecidingComparison(value, source, "!=", Value("0", TensorType(source.type.dtype, ()), np.array(0)))
        return OpaqueDecision(value)


def comparisons(decision: Decision) -> list[DecidingComparison]:
    """Every comparison of a decision, in order."""
    if isinstance(decision, DecidingComparison):
        return [decision]
    return [comparison for part in sub_decisions(decision) for comparison in comparisons(part)]


def sub_decisions(decision: Decision) -> Sequence[Decision]:
    """The operands of a decision."""
    if isinstance(decision, NegatedDecision):
        return (decision.operand,)
    if isinstance(decision, LogicalDecision):
        return decision.operands
    return (decision.then_decision, decision.else_decision) if isinstance(decision, ConditionalDecision) else ()


class OperandWriter(Protocol):
    """Formats the operands of a decision: their names or current values."""

    def operand(self, value: Value | None, *, bare: bool = False) -> str: ...


def decision_text(decision: Decision, writer: OperandWriter) -> str:
    """``err_new > tol``, ``not (n == 1) and k < limit``."""
    if isinstance(decision, DecidingComparison):
        return f"{writer.operand(decision.left, bare=True)} {decision.sign} {writer.operand(decision.right, bare=True)}"
    if isinstance(decision, NegatedDecision):
        inner = decision.operand
        if isinstance(inner, DecidingComparison) and inner.sign in ("==", "!="):
            # Exact with NaN as well.
            left, right = (writer.operand(side, bare=True) for side in (inner.left, inner.right))
            return f"{left} {NEGATED_SIGN[inner.sign]} {right}"
        text = decision_text(inner, writer)
        return f"not {text}" if isinstance(inner, OpaqueDecision) else f"not ({text})"
    if isinstance(decision, LogicalDecision):
        texts = (
            f"({decision_text(part, writer)})"
            if isinstance(part, ConditionalDecision)
            or (isinstance(part, LogicalDecision) and part.operator != decision.operator)
            else decision_text(part, writer)
            for part in decision.operands
        )
        return f" {decision.operator} ".join(texts)
    if isinstance(decision, ConditionalDecision):
        then_, else_ = (decision_text(part, writer) for part in (decision.then_decision, decision.else_decision))
        return f"({then_}) if {writer.operand(decision.condition, bare=True)} else ({else_})"
    return writer.operand(decision.value, bare=True)


def condition_text(loop: Loop, formatter: NodeFormatter) -> str:
    """The expression of the body's condition: ``keep = err_new > tol``; "" if there is none."""
    if loop.condition is None:
        return ""
    name = formatter.operand(loop.condition, bare=True)
    text = decision_text(decompose_condition(loop.condition, formatter.origins), formatter)
    return name if text in ("", name) else f"{name} = {text}"


def deciding_comparison(loop: Loop) -> DecidingComparison | None:
    """The single comparison that a loop's condition consists of, possibly negated."""
    if loop.condition is None:
        return None
    comparisons_ = comparisons(decompose_condition(loop.condition, ProducerMap.for_graph(loop.body)))
    return comparisons_[0] if len(comparisons_) == 1 and comparisons_[0].node is not None else None
