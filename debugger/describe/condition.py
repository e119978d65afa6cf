"""What a loop's condition depends on: the part of the body that computes it, and the comparison that decides."""

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

#: What hands a truth on as it is.
_TRUTH_PRESERVING_OPS = frozenset(
    {"Identity", "Cast", "Convert", "CastLike", "ConvertLike", "Squeeze", "Unsqueeze", "Reshape"}
)
_COMPARISON_SIGNS = frozenset({">", "<", ">=", "<=", "==", "!="})
NEGATED_SIGN = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
#: How far a truth is followed through operators that hand it on, and into how many parts a condition is taken apart; a
#: value stands for what lies deeper. Parts can share values, so that their number says more than how deep they lie.
_MAX_DEPTH, _MAX_PARTS = 16, 32


@dataclass(frozen=True, eq=False)
class ConditionSlice:
    """What the condition of a loop depends on.

    ``nodes``: the body's nodes that compute it, in order, those inside Ifs included; ``carried``, ``captures`` (with
    invariant inputs, as the body names them), ``constants``, ``slices`` and ``iteration`` are what those nodes read.
    ``all_carried`` and the ``ever_`` fields also count what reaches the condition in later iterations, through back
    edges.
    """

    loop: Loop
    nodes: tuple[Node, ...] = ()
    carried: tuple[BackEdge, ...] = ()
    captures: tuple[Value, ...] = ()
    constants: tuple[Value, ...] = ()
    slices: tuple[SlicedInput, ...] = ()
    reads_iteration: bool = False
    all_nodes: tuple[Node, ...] = ()
    #: Back edges whose values reach the condition sooner or later, without those that hand their value on unchanged.
    all_carried: tuple[BackEdge, ...] = ()
    all_slices: tuple[SlicedInput, ...] = ()
    depends_on_iteration: bool = False
    #: Random operators that reach the condition.
    random_nodes: tuple[Node, ...] = ()

    @property
    def can_change(self) -> bool:
        """Something that differs between iterations reaches the condition."""
        return bool(self.all_carried or self.all_slices or self.depends_on_iteration or self.random_nodes)

    @property
    def depends_on_carried_only(self) -> bool:
        """The carried values alone decide: where they are as they were before, so is what follows."""
        return not (self.all_slices or self.depends_on_iteration or self.random_nodes)


def condition_slice(loop: Loop) -> ConditionSlice:
    """What a loop's condition depends on; empty where the loop has none."""
    if loop.condition is None:
        return ConditionSlice(loop)
    near = _backward_slice(loop.body, {loop.condition})
    origins = ProducerMap.for_graph(loop.body)
    moving = [edge for edge in loop.back_edges if origins.skip_identities(edge.result) is not edge.param]
    ever = near
    while True:
        reached = ever | {edge.result for edge in moving if edge.param in ever}
        more = _backward_slice(loop.body, reached)
        if more == ever:
            break
        ever = more
    made = {value for node in walk(loop.body) for value in node.outputs}
    params = {*loop.body.inputs, *(invariant.inner for invariant in loop.invariants)}
    invariants = {invariant.inner for invariant in loop.invariants}
    outer = [value for value in _in_read_order(loop, near) if value not in made and value not in params]
    all_nodes = _nodes_computing(loop.body, ever)
    return ConditionSlice(
        loop,
        _nodes_computing(loop.body, near),
        tuple(edge for edge in loop.back_edges if edge.param in near),
        (
            *(value for value in loop.body.inputs if value in invariants and value in near),
            *(value for value in outer if value.constant is None),
        ),
        tuple(value for value in outer if value.constant is not None),
        tuple(sliced for sliced in loop.sliced_inputs if sliced.inner in near),
        loop.iteration in near,
        all_nodes,
        tuple(edge for edge in moving if edge.param in ever),
        tuple(sliced for sliced in loop.sliced_inputs if sliced.inner in ever),
        loop.iteration in ever,
        tuple(node for node in all_nodes if any(is_random(one, loop.system) for one in (node, *_inner_nodes(node)))),
    )


def _inner_nodes(node: Node) -> Iterator[Node]:
    for _, inner in bodies(node):
        yield from walk(inner)


def _backward_slice(graph: Graph, wanted: set[Value]) -> set[Value]:
    """All values that some values are computed from, they themselves included."""
    needed = set(wanted)
    for node in reversed(graph.nodes):
        asked = [k for k, value in enumerate(node.outputs) if value is not None and value in needed]
        if not asked:
            continue
        needed.update(value for value in node.inputs if value is not None)
        if isinstance(node, If):
            for _, branch in bodies(node):
                needed |= _backward_slice(branch, {branch.outputs[k] for k in asked})
        elif isinstance(node, Loop):
            needed.update(captured_values(node.body))
            needed.update(invariant.outer for invariant in node.invariants)
    return needed


def _nodes_computing(graph: Graph, needed: set[Value]) -> tuple[Node, ...]:
    """The nodes that compute needed values, in order; a loop inside is one node."""
    found: list[Node] = []
    for node in graph.nodes:
        if any(value in needed for value in node.outputs):
            found.append(node)
            if isinstance(node, If):
                for _, branch in bodies(node):
                    found += _nodes_computing(branch, needed)
    return tuple(found)


def _in_read_order(loop: Loop, needed: set[Value]) -> list[Value]:
    """Needed values in the order in which the body reads them; then those that only inner bodies read."""
    read: dict[Value, None] = {}
    for node in _nodes_computing(loop.body, needed):
        read.update((value, None) for value in node.inputs if value is not None and value in needed)
    read.update(dict.fromkeys(needed))
    return list(read)


# -- the decision


@dataclass(frozen=True, eq=False)
class DecidingComparison:
    """``left sign right``, as the node ``node`` compares."""

    value: Value
    left: Value
    sign: str
    right: Value
    node: Node | None = None


@dataclass(frozen=True, eq=False)
class NegatedDecision:
    """``not of``."""

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
    """What an If gives: the decision of the branch that its condition takes."""

    value: Value
    condition: Value
    then_decision: Decision
    else_decision: Decision


@dataclass(frozen=True, eq=False)
class OpaqueDecision:
    """A truth that is not taken apart: a parameter, a capture, or what some other operator computes."""

    value: Value


Decision = DecidingComparison | NegatedDecision | LogicalDecision | ConditionalDecision | OpaqueDecision


def decompose_condition(value: Value, origins: ProducerMap) -> Decision:
    """A truth taken apart into the comparisons that it comes from."""
    return _DecisionBuilder(origins).decision(value)


class _DecisionBuilder:
    def __init__(self, origins: ProducerMap) -> None:
        self.origins = origins
        self.parts_left = _MAX_PARTS

    def decision(self, value: Value) -> Decision:
        self.parts_left -= 1
        source = value
        for _ in range(_MAX_DEPTH):
            node = self.origins.producer(source)
            first = node.inputs[0] if node is not None and node.inputs else None
            if node is None or node.op_type not in _TRUTH_PRESERVING_OPS or first is None:
                break
            source = first
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
                k = node.outputs.index(source)
                then, otherwise = (self.decision(branch.outputs[k]) for _, branch in bodies(node))
                return ConditionalDecision(value, inputs[0], then, otherwise)
        if source is not value and isinstance(source.type, TensorType) and source.type.dtype not in (None, np.bool_):
            # A number taken as a truth.
            return DecidingComparison(value, source, "!=", Value("0", TensorType(source.type.dtype, ()), np.array(0)))
        return OpaqueDecision(value)


def comparisons(of: Decision) -> list[DecidingComparison]:
    """Every comparison of a decision, in order."""
    if isinstance(of, DecidingComparison):
        return [of]
    return [found for part in sub_decisions(of) for found in comparisons(part)]


def sub_decisions(of: Decision) -> Sequence[Decision]:
    """What a decision is made of."""
    if isinstance(of, NegatedDecision):
        return (of.operand,)
    if isinstance(of, LogicalDecision):
        return of.operands
    return (of.then_decision, of.else_decision) if isinstance(of, ConditionalDecision) else ()


class OperandWriter(Protocol):
    """Writes the operands of a decision: their names, or what they are now."""

    def operand(self, value: Value | None, *, bare: bool = False) -> str: ...


def decision_text(of: Decision, phrases: OperandWriter) -> str:
    """``err_new > tol``, ``not (n == 1) and k < limit``."""
    if isinstance(of, DecidingComparison):
        return f"{phrases.operand(of.left, bare=True)} {of.sign} {phrases.operand(of.right, bare=True)}"
    if isinstance(of, NegatedDecision):
        inner = of.operand
        if isinstance(inner, DecidingComparison) and inner.sign in ("==", "!="):
            # Exact with NaN as well.
            left, right = (phrases.operand(side, bare=True) for side in (inner.left, inner.right))
            return f"{left} {NEGATED_SIGN[inner.sign]} {right}"
        text = decision_text(inner, phrases)
        return f"not {text}" if isinstance(inner, OpaqueDecision) else f"not ({text})"
    if isinstance(of, LogicalDecision):
        texts = (
            f"({decision_text(part, phrases)})"
            if isinstance(part, ConditionalDecision)
            or (isinstance(part, LogicalDecision) and part.operator != of.operator)
            else decision_text(part, phrases)
            for part in of.operands
        )
        return f" {of.operator} ".join(texts)
    if isinstance(of, ConditionalDecision):
        then, otherwise = (decision_text(part, phrases) for part in (of.then_decision, of.else_decision))
        return f"({then}) if {phrases.operand(of.condition, bare=True)} else ({otherwise})"
    return phrases.operand(of.value, bare=True)


def condition_text(loop: Loop, phrases: NodeFormatter) -> str:
    """What the body yields as the condition: ``keep = err_new > tol``; "" where there is none."""
    if loop.condition is None:
        return ""
    name = phrases.operand(loop.condition, bare=True)
    text = decision_text(decompose_condition(loop.condition, phrases.origins), phrases)
    return name if text in ("", name) else f"{name} = {text}"


def deciding_comparison(loop: Loop) -> DecidingComparison | None:
    """The one comparison that a loop's condition is, or is the opposite of."""
    if loop.condition is None:
        return None
    found = comparisons(decompose_condition(loop.condition, ProducerMap.for_graph(loop.body)))
    return found[0] if len(found) == 1 and found[0].node is not None else None
