"""How often a loop runs, before it runs: exact numbers, proven bounds, and loops that cannot end.

Three proofs, the strongest first: counters of the condition as arithmetic progressions over the inputs of the model; a
run of the condition alone, where it depends on constants; and float counters whose step is lost by rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.graph import Graph, If, Loop, Node, Operation, ScanOutput, SlicedInput, StoppedBy, TensorType, Value
from ...runtime.graph.producers import ProducerMap
from .condition_analysis import (
    NEGATED_SIGN,
    DecidingComparison,
    Decision,
    LogicalDecision,
    NegatedDecision,
    condition_slice,
    condition_text,
    decompose_condition,
)
from .integer_turning_points import (
    COMPARISON_OPERATORS,
    MAX_SIMULATED_ITERATIONS,
    MIRRORED_SIGN,
    IntegerRecurrence,
    IntegerRing,
    RecurrenceKind,
    find_turning_point,
)
from .node_text import NOT_OPERATORS, OPERATOR_SIGNS, NodeFormatter
from .symbolic_integer import (
    KEEPING_OPERATORS,
    SymbolicInteger,
    SymbolicIntegers,
    combine,
    integer_ring,
    outer_value,
)
from .termination import TerminationRule, termination_rule
from .value_names import display_name

#: Limits of a condition that is run alone: nodes, and elements of a value.
_MAX_RUN_NODES, _MAX_RUN_ELEMENTS = 64, 64
#: Operators with results of the size of an operand.
_SMALL_OPERATORS = frozenset(
    {
        *KEEPING_OPERATORS,
        "Abs",
        "Neg",
        "Negative",
        "Cast",
        "Convert",
        "CastLike",
        "ConvertLike",
        "Where",
        "Select",
        "If",
    }
    | {
        "Sqrt",
        "Exp",
        "Log",
        "Floor",
        "Ceil",
        "Ceiling",
        "Round",
        "Sign",
        "Reciprocal",
        "Min",
        "Max",
        "Minimum",
        "Maximum",
    }
)
_ZERO = SymbolicInteger(0)


@dataclass(frozen=True)
class TripCountBound:
    """What is known of the number of iterations before a run.

    ``maximum``: a proven upper bound; ``is_exact``: it is the number. ``cannot_end``: once begun, nothing ends it.
    ``text``: the number as an expression over the inputs, with the number where that is known; "" if nothing is known.
    ``by_trip_count``: the trip count gives it; ``is_open``: the condition may end the loop before, no one knows when.
    """

    maximum: int | None = None
    is_exact: bool = False
    cannot_end: bool = False
    text: str = ""
    by_trip_count: bool = False
    is_open: bool = False
    _loop: _LoopBounds | None = None

    def evaluate(self, values: Mapping[Value, Any]) -> TripCountBound:
        """The bound for inputs of the model."""
        return self if self._loop is None else self._loop.bound(values)


@dataclass(frozen=True)
class _Progression:
    """``base + step * k`` in iteration k, with wrap-around."""

    base: SymbolicInteger
    step: int


@dataclass(frozen=True)
class _Linear:
    """``base + factors * parameters``, of an iteration."""

    base: SymbolicInteger
    factors: Mapping[Value, int]


@dataclass(frozen=True)
class _Ending:
    """When a part of the condition first fails. ``index``: the iteration; ``is_exact``: it does not before; ``never``:
    proven. ``text``: the number of iterations that this allows, as an expression."""

    index: int | None = None
    is_exact: bool = False
    never: bool = False
    text: str = ""


_UNKNOWN = _Ending()


def trip_count_bound(loop: Loop, origins: ProducerMap) -> TripCountBound:
    """What is known of the number of iterations of a loop; ``origins``: producers of the entire model."""
    return _LoopBounds(loop, origins).bound({})


class _LoopBounds:
    def __init__(self, loop: Loop, origins: ProducerMap) -> None:
        self.loop = loop
        self.origins = origins
        self.symbols = SymbolicIntegers(origins)
        self.rule: TerminationRule = termination_rule(loop, origins)
        self.body_values = {value for node in loop.body.nodes for value in node.outputs if value is not None}
        self._run_ending: _Ending | None = None

    def bound(self, values: Mapping[Value, Any]) -> TripCountBound:
        """The bound; ``values``: of the model's inputs, as far as known."""
        rule = self.rule
        if rule.unequal_parts:
            return TripCountBound()
        if rule.initial_condition is False:
            return TripCountBound(0, True, text="0")
        count = self._symbolic_trip_count(values)
        number = None if count is None else count.evaluate(values)
        number = None if number is None else max(number, 0)
        if number == 0:
            text = _equation_text(count.text if count is not None else "", 0)
            return TripCountBound(0, True, text=text, by_trip_count=True)
        ending = self._condition_ending(values) if rule.condition_decides else _Ending(never=True)
        limit = None if ending.index is None else self._iterations_until_failure(ending.index)
        if not rule.has_iteration_bound and ending.never:
            return TripCountBound(cannot_end=True, _loop=self)
        maximum = min((bound for bound in (number, limit) if bound is not None), default=None)
        # A trip count that is not known may be smaller than any other bound.
        is_exact = (
            maximum is not None
            and self._entry_condition_holds(values)
            and (ending.is_exact or ending.never)
            and (number is not None or not rule.has_iteration_bound)
        )
        by_count = number == maximum if number is not None else count is not None and not ending.text and limit is None
        is_open = not (ending.is_exact or ending.never or (limit is None and ending.text))
        text = self._bound_text(count, number, ending, limit)
        return TripCountBound(maximum, is_exact, False, text, by_count, is_open, self)

    def _entry_condition_holds(self, values: Mapping[Value, Any]) -> bool:
        """Whether the condition at the entry is true."""
        if self.rule.initial_condition is not None:
            return self.rule.initial_condition
        initial = self.loop.initial_condition
        data = None if initial is None else values.get(self.origins.skip_identities(initial))
        return data is not None and bool(np.asarray(data).reshape(-1)[:1].all())

    def _iterations_until_failure(self, index: int) -> int:
        """The number of iterations if the condition first fails in iteration ``index``."""
        return index if self.rule.tests_first else index + 1

    # -- the trip count

    def _symbolic_trip_count(self, values: Mapping[Value, Any]) -> SymbolicInteger | None:
        """The trip count or the number of parts; None if there is none, or it is not known."""
        rule, loop = self.rule, self.loop
        if rule.trip_count is not None:
            return SymbolicInteger(rule.trip_count)
        if rule.slices:
            return (
                self._symbolic_part_count(rule.slices[0]) if len(rule.slices) == 1 or loop.op_type == "Scan" else None
            )
        if rule.trip_count_value is None:
            return None
        count = self.symbols.expression(rule.trip_count_value)
        number = count.evaluate(values)
        if number is not None and number < 0 and loop.minus_one_is_no_limit:
            return None
        return count

    def _symbolic_part_count(self, port: SlicedInput) -> SymbolicInteger | None:
        if (port.start, port.end, abs(port.stride), port.part_size) not in ((0, -1, 1, 1), (-1, 0, 1, 1)):
            return None
        return self.symbols.axis_length(port.outer, port.axis)

    # -- the condition

    def _condition_ending(self, values: Mapping[Value, Any]) -> _Ending:
        loop = self.loop
        assert loop.condition is not None
        if self.rule.constant_condition is False:
            return _Ending(0, True, text="1")
        ending = self._decision_ending(decompose_condition(loop.condition, self.origins), True, values)
        if ending.is_exact or ending.never:
            return ending
        if self._run_ending is None:
            self._run_ending = self._ending_by_run()
        by_run = self._run_ending
        return replace(by_run, text=ending.text) if by_run.is_exact or by_run.never else ending

    def _decision_ending(self, decision: Decision, wanted: bool, values: Mapping[Value, Any]) -> _Ending:
        """When a decision first is not ``wanted``."""
        if isinstance(decision, NegatedDecision):
            return self._decision_ending(decision.operand, not wanted, values)
        if isinstance(decision, DecidingComparison):
            return self._comparison_ending(decision, wanted, values)
        if not isinstance(decision, LogicalDecision):
            constant = self.origins.constant_scalar(decision.value)
            if constant is None:
                return _UNKNOWN
            return _Ending(never=True) if bool(constant) is wanted else _Ending(0, True)
        parts = [self._decision_ending(part, wanted, values) for part in decision.operands]
        if (decision.operator == "and") is wanted:
            return _first_ending(parts)
        # Either part keeps the loop running.
        return _Ending(never=True) if any(part.never for part in parts) else _UNKNOWN

    def _comparison_ending(self, node: DecidingComparison, wanted: bool, values: Mapping[Value, Any]) -> _Ending:
        sign = node.sign if wanted else NEGATED_SIGN[node.sign]
        ring = next(
            (ring for side in (node.left, node.right) if (ring := self._integer_ring_of(side)) is not None), None
        )
        if ring is None:
            return self._float_ending(node, sign)
        left, right = self._progression(node.left, ring), self._progression(node.right, ring)
        if left is None or right is None:
            return _UNKNOWN
        text, formula_number = self._iteration_count_formula(left, right, sign)
        start = left.base.evaluate(values), right.base.evaluate(values)
        if start[0] is None or start[1] is None:
            return _Ending(text=text)
        index: int | None = 0
        numbers = ring.wrap(start[0]), ring.wrap(start[1])
        if COMPARISON_OPERATORS[sign](*numbers) and sign == "==":
            index = None if left.step == right.step else 1
        elif COMPARISON_OPERATORS[sign](*numbers):
            sides = [IntegerRecurrence(RecurrenceKind.ADDED, side.step) for side in (left, right)]
            turn = find_turning_point((numbers[0], sides[0]), (numbers[1], sides[1]), sign, ring)
            if not turn.certain:
                return _Ending(text=text)
            index = turn.iterations
        if index is None:
            return _Ending(never=True)
        # Where the counter begins beyond the limit, or wraps around, the formula does not hold.
        return _Ending(
            index, True, text=text if formula_number in (None, self._iterations_until_failure(index)) else ""
        )

    # -- counters

    def _progression(self, value: Value, ring: IntegerRing) -> _Progression | None:
        """A side of a comparison of integers over the iterations."""
        linear = self._linear_form(value, ring, 0)
        if linear is None:
            return None
        base, step = linear.base, 0
        for parameter, factor in linear.factors.items():
            counter = self._counter_start_and_step(parameter, ring)
            if counter is None:
                return None
            start, own_step = counter
            scaled = start if factor == 1 else combine("*", start, SymbolicInteger(factor), ring)
            base = combine("+", scaled, base, ring)
            step += factor * own_step
        return _Progression(base, step)

    def _integer_ring_of(self, value: Value) -> IntegerRing | None:
        """The integers of a value; where its type is not declared, those of what it is computed from."""
        for _ in range(_MAX_RUN_NODES):
            ring = integer_ring(value)
            node = self.origins.get(value)
            if ring is not None or not isinstance(node, Operation) or node.is_custom_operator:
                return ring
            keeps = OPERATOR_SIGNS.get(node.op_type) in ("+", "-", "*") or node.op_type in KEEPING_OPERATORS
            if not keeps or not node.inputs or node.inputs[0] is None:
                return None
            value = node.inputs[0]
        return None

    def _counter_start_and_step(self, parameter: Value, ring: IntegerRing) -> tuple[SymbolicInteger, int] | None:
        """The start and the step of a parameter of the body that counts."""
        if parameter is self.loop.iteration:
            return _ZERO, 1
        edge = next((edge for edge in self.loop.back_edges if edge.param is parameter), None)
        if edge is None or isinstance(edge.initial, SlicedInput):
            return None
        if integer_ring(edge.initial) not in (None, ring):
            return None
        start = self.symbols.expression(edge.initial)
        linear = self._linear_form(edge.result, ring, 0)
        if linear is None or dict(linear.factors) != {parameter: 1} or linear.base.number is None:
            return None
        return start, linear.base.number

    def _linear_form(self, value: Value, ring: IntegerRing, depth: int) -> _Linear | None:
        """A value of the body as a linear form of the parameters of the body."""
        if depth > _MAX_RUN_NODES or integer_ring(value) not in (None, ring):
            return None
        number = self.origins.constant_integer(value)
        if number is not None:
            return _Linear(SymbolicInteger(number), {})
        if value is self.loop.iteration or any(edge.param is value for edge in self.loop.back_edges):
            return _Linear(_ZERO, {value: 1})
        if value not in self.body_values:
            outer = outer_value(self.loop, value)
            if value in self.loop.body.inputs and outer is value:
                return None
            return _Linear(self.symbols.expression(outer), {})
        node = self.origins.get(value)
        if not isinstance(node, Operation) or node.is_custom_operator:
            return None
        inputs = [operand for operand in node.inputs if operand is not None]
        if node.op_type in KEEPING_OPERATORS and inputs:
            return self._linear_form(inputs[0], ring, depth + 1)
        sign = OPERATOR_SIGNS.get(node.op_type)
        if sign not in ("+", "-", "*") or len(inputs) != 2:
            return None
        left, right = (self._linear_form(operand, ring, depth + 1) for operand in inputs)
        if left is None or right is None:
            return None
        return _combine_linear(sign, left, right, ring)

    # -- texts

    def _iteration_count_formula(self, left: _Progression, right: _Progression, sign: str) -> tuple[str, int | None]:
        """The number of iterations where nothing wraps around, as text, ``ceil((10 - 0) / 3)``, and where both sides
        are known as a number; "" if there is no formula."""
        if left.step and right.step:
            return "", None
        if right.step:
            left, right, sign = right, left, MIRRORED_SIGN[sign]
        # An iteration that fails still counts, so the start is one step earlier.
        start = left.base if self.rule.tests_first else combine("-", left.base, SymbolicInteger(left.step), None)
        rising = sign in ("<", "<=", "!=") and left.step > 0
        falling = sign in (">", ">=", "!=") and left.step < 0
        if not (rising or falling) or (sign == "!=" and abs(left.step) > 1):
            return "", None
        low, high = (start, right.base) if rising else (right.base, start)
        width, is_closed = abs(left.step), sign in ("<=", ">=")
        known = high.number is not None and low.number is not None
        distance = (
            high.text
            if low.number == 0 and (width == 1 or not known)
            else f"{high.text} - {_parenthesized_operand(low)}"
        )
        if width > 1:
            distance = f"{'floor' if is_closed else 'ceil'}({_parenthesized_operand(distance)} / {width})"
        text = f"{distance} + 1" if is_closed else distance
        if sign == "!=" and not known:
            return text, None
        if high.number is None or low.number is None:
            return f"max({text}, {0 if self.rule.tests_first else 1})", None
        gap = high.number - low.number
        return text, gap // width + 1 if is_closed else -(-gap // width)

    def _bound_text(self, count: SymbolicInteger | None, number: int | None, ending: _Ending, limit: int | None) -> str:
        """The smaller one of the trip count, which may be a known number, and of the limit by the condition."""
        by_count = "" if count is None else count.text if number is None else _equation_text(count.text, number)
        if ending.never or not (ending.text or limit is not None):
            return by_count
        by_condition = ending.text if limit is None else _equation_text(ending.text, limit)
        if count is None:
            return by_condition
        if number is not None and limit is not None:
            return by_count if number <= limit else by_condition
        return f"min({by_count}, {by_condition})"

    # -- the condition alone

    def _ending_by_run(self) -> _Ending:
        """Run the condition alone, where it depends on constants."""
        graph = self._condition_graph()
        if graph is None:
            return _UNKNOWN
        from ...runtime.model import Model

        try:
            run = Model(graph).execute({})
        except Exception:  # a node fails, as in the model
            return _UNKNOWN
        (total,) = run.loops
        if total.stopped_by is StoppedBy.CONDITION:
            return _Ending(total.iterations if self.rule.tests_first else total.iterations - 1, True)
        depends_on_state = condition_slice(self.loop).depends_on_carried_only
        return _Ending(never=True) if depends_on_state and _has_repeated_state(list(run.outputs.values())) else _UNKNOWN

    def _condition_graph(self) -> Graph | None:
        """A model of the loop with what its condition needs alone; None if it needs inputs of the model, or much."""
        loop = self.loop
        part = condition_slice(loop)
        if part.random_nodes or part.all_slices or len(part.all_nodes) > _MAX_RUN_NODES or loop.condition is None:
            return None
        needed = set(part.all_nodes)
        nodes = [node for node in loop.body.nodes if node in needed]
        if any(isinstance(node, Loop) for node in part.all_nodes):
            return None
        read = {value for node in part.all_nodes for value in node.inputs if value is not None} | {loop.condition}
        read |= {output for branch in _branch_graphs(part.all_nodes) for output in branch.outputs}
        edges = [edge for edge in loop.back_edges if edge.param in read or edge in part.all_carried]
        results = dict.fromkeys(edge.result for edge in edges)
        if not all(map(_has_small_outputs, part.all_nodes)):
            return None
        inner = {value for node in part.all_nodes for value in node.outputs} | {edge.param for edge in edges}
        inner |= {loop.iteration, loop.condition_input}
        local = {value for branch in _branch_graphs(part.all_nodes) for value in branch.constants} | set(
            loop.body.constants
        )
        outside = [value for value in (read | results.keys()) - inner - local if value not in loop.body.inputs]
        initials = [edge.initial for edge in edges]
        if any(isinstance(value, SlicedInput) for value in initials) or any(
            value in loop.body.inputs and value not in inner for value in read
        ):
            return None
        outer = self._constant_nodes([*outside, *(value for value in initials if isinstance(value, Value))])
        if outer is None:
            return None
        outer_nodes, constants = outer
        tested = loop.condition_node_count
        count = None if tested is None else sum(node in needed for node in loop.body.nodes[:tested])
        body_inputs = [value for value in loop.body.inputs if value in inner]
        body = replace(
            loop.body,
            inputs=body_inputs,
            nodes=nodes,
            outputs=list(dict.fromkeys([loop.condition, *results])),
            constants=[value for value in loop.body.constants if value in read | results.keys()],
        )
        # All carried values of each iteration, to find out whether they repeat.
        rows = [Value(f"rows{k}") for k in range(len(results) + 1)]
        limit = Value("limit", TensorType(np.dtype(np.int64), ()), np.array(MAX_SIMULATED_ITERATIONS))
        mini = replace(
            loop,
            body=body,
            inputs=[*(value for value in initials if isinstance(value, Value))],
            outputs=list(rows),
            trip_count=limit,
            initial_condition=None,
            condition_node_count=count,
            sliced_inputs=[],
            back_edges=edges,
            invariants=[],
            last_values=[],
            scan_outputs=[ScanOutput(v, row) for v, row in zip((loop.condition, *results), rows, strict=True)],
            input_ports=[],
            output_ports=[],
            fixed_trips=None,
            counted_by_slices=False,
        )
        nodes_of_main = [*outer_nodes, mini]
        return Graph("condition", outputs=rows, nodes=nodes_of_main, constants=[limit, *constants], system=loop.system)

    def _constant_nodes(self, values: list[Value]) -> tuple[list[Operation], list[Value]] | None:
        """The nodes and constants outside of the loop that compute values; None if they need anything else."""
        nodes: dict[Operation, None] = {}
        constants: dict[Value, None] = {}

        def add(value: Value, depth: int) -> bool:
            if value.constant is not None:
                constants[value] = None
                return _has_few_elements(value)
            node = self.origins.get(value)
            if not isinstance(node, Operation) or depth > _MAX_RUN_NODES or len(nodes) > _MAX_RUN_NODES:
                return False
            if node in nodes:
                return True
            if not all(add(operand, depth + 1) for operand in node.inputs if operand is not None):
                return False
            nodes[node] = None
            return _has_small_outputs(node)

        return (list(nodes), list(constants)) if all(add(value, 0) for value in values) else None

    # -- float counters

    def _float_ending(self, node: DecidingComparison, sign: str) -> _Ending:
        """A float counter cannot reach a limit beyond which its step is lost by rounding."""
        for value, other, relation in ((node.left, node.right, sign), (node.right, node.left, MIRRORED_SIGN[sign])):
            limit = self.origins.constant_scalar(other)
            edge = self._float_counter_start_and_step(value)
            if not isinstance(limit, int | float) or edge is None or relation not in ("<", "<=", ">", ">="):
                continue
            start, step, dtype = edge
            rising = step > 0
            if rising is not (relation in ("<", "<=")) or not np.isfinite([start, step, limit]).all():
                continue
            largest = _largest_reachable_counter(abs(step), dtype)
            distance, begin = (limit, start) if rising else (-limit, -start)
            if (
                largest is not None
                and begin <= largest
                and (largest < distance or (relation[-1] == "=" and largest == distance))
            ):
                return _Ending(never=True)
        return _UNKNOWN

    def _float_counter_start_and_step(self, value: Value) -> tuple[float, float, np.dtype[Any]] | None:
        """The start, the step and the dtype of a carried float, or of its next value, that a constant is added to."""
        value = self.origins.skip_identities(value)
        for edge in self.loop.back_edges:
            result = self.origins.skip_identities(edge.result)
            if value not in (edge.param, result) or isinstance(edge.initial, SlicedInput):
                continue
            node = self.origins.get(result)
            if not isinstance(node, Operation) or node.is_custom_operator or len(node.inputs) != 2:
                continue
            sign = OPERATOR_SIGNS.get(node.op_type)
            if sign not in ("+", "-"):
                continue
            operands = [None if item is None else self.origins.skip_identities(item) for item in node.inputs]
            if operands[0] is not edge.param and (sign == "-" or operands[1] is not edge.param):
                continue
            step = self.origins.constant_scalar(operands[1] if operands[0] is edge.param else operands[0])
            start = self.origins.constant_scalar(edge.initial)
            dtype = edge.param.type.dtype if isinstance(edge.param.type, TensorType) else None
            if (
                isinstance(step, float)
                and isinstance(start, float)
                and dtype is not None
                and dtype.kind == "f"
                and step
            ):
                return start, -step if sign == "-" else step, dtype
        return None


def _first_ending(parts: list[_Ending]) -> _Ending:
    """When the first one of several parts fails."""
    parts = [part for part in parts if not part.never]
    if not parts:
        return _Ending(never=True)
    indices = [part.index for part in parts if part.index is not None]
    index = min(indices, default=None)
    first = next((part for part in parts if part.index is not None and part.index == index), parts[0])
    text = first.text if index is not None or len(parts) == 1 else ""
    return _Ending(index, all(part.is_exact for part in parts) or index == 0, text=text)


def _combine_linear(sign: str, left: _Linear, right: _Linear, ring: IntegerRing) -> _Linear | None:
    if sign == "*":
        if left.factors and right.factors:
            return None
        varying, fixed = (left, right) if left.factors else (right, left)
        if varying.factors and fixed.base.number is None:
            return None
        factors = {value: factor * (fixed.base.number or 0) for value, factor in varying.factors.items()}
        return _Linear(combine("*", left.base, right.base, ring), factors)
    factors = dict(left.factors)
    for value, factor in right.factors.items():
        factors[value] = factors.get(value, 0) + (factor if sign == "+" else -factor)
    base = combine(sign, left.base, right.base, ring)
    return _Linear(base, {value: factor for value, factor in factors.items() if factor})


def _parenthesized_operand(operand: SymbolicInteger | str) -> str:
    """An expression as the operand of an operator that binds tighter than ``+``."""
    text = operand if isinstance(operand, str) else operand.text
    return f"({text})" if " " in text or text.startswith("-") else text


def _equation_text(text: str, number: int) -> str:
    return str(number) if text in ("", str(number)) else f"{text} = {number}"


def _has_repeated_state(rows: list[Any]) -> bool:
    """Whether the values of two iterations are equal bit by bit; ``rows``: of each value over all iterations."""
    states = {tuple(np.asarray(row[k]).tobytes() for row in rows) for k in range(len(rows[0]))}
    return len(states) < len(rows[0])


def _branch_graphs(nodes: Iterable[Node]) -> Iterator[Graph]:
    """The branches of the Ifs."""
    for node in nodes:
        if isinstance(node, If):
            yield from (node.then_branch, node.else_branch)


def _has_few_elements(value: Value) -> bool:
    """Whether a value surely has few elements."""
    if value.constant is not None:
        return value.constant.size <= _MAX_RUN_ELEMENTS
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return False
    return int(np.prod([dim for dim in shape if isinstance(dim, int)], initial=1)) <= _MAX_RUN_ELEMENTS


def _has_small_outputs(node: Node) -> bool:
    """Whether the results of a node surely have few elements, if its operands have."""
    if isinstance(node, Operation) and node.op_type == "Constant":
        return all(np.size(data) <= _MAX_RUN_ELEMENTS for data in node.attributes.values())
    keeps = node.op_type in OPERATOR_SIGNS or node.op_type in NOT_OPERATORS or node.op_type in _SMALL_OPERATORS
    return (keeps and not node.is_custom_operator) or all(
        _has_few_elements(value) for value in node.outputs if value is not None
    )


def _largest_reachable_counter(step: float, dtype: np.dtype[Any]) -> float | None:
    """The smallest power of two from which on adding ``step`` changes nothing: a counter from below stops there at the
    latest. None: there is none in the type."""
    info = np.finfo(dtype)
    if not np.isfinite(dtype.type(step)):
        return None
    exponent = int(np.floor(np.log2(step))) + info.nmant
    for power in range(exponent, info.maxexp):
        number = 2.0**power
        # Half of the distance to the next number: a sum in the middle is rounded to the even one, which is this.
        if step <= 2.0 ** (power - info.nmant) / 2:
            return number
    return None


def iterations_text(loop: Loop, formatter: NodeFormatter, bound: TripCountBound | None = None) -> str:
    """How often a loop runs, as far as that is known before a run; "" if nothing is.

    Such as ``exactly ceil((10 - 0) / 3) = 4``, ``at most 100 (trip count), ends earlier when keep = x > y is false``
    or ``cannot end: keep = x < 1e9 never becomes false``.
    """
    bound = bound or trip_count_bound(loop, formatter.origins)
    rule = termination_rule(loop, formatter.origins)
    condition = condition_text(loop, formatter)
    entry = "" if rule.initial_condition is not None else f"; none if {display_name(loop.initial_condition)} is false"
    if bound.cannot_end:
        reason = f"{condition} never becomes false" if rule.condition_decides else "nothing ends it"
        return f"cannot end: {reason}{entry}"
    if not bound.text:
        return ""
    source = " (trip count)" if bound.by_trip_count and rule.condition_decides else ""
    if loop.minus_one_is_no_limit and rule.trip_count_value is not None:
        source += " unless it is -1, no limit"
    if bound.is_open:
        return f"at most {bound.text}{source}, ends earlier when {condition} is false{entry}"
    overflow = "" if bound.maximum is not None or not rule.condition_decides else ", where no integer overflows"
    return f"exactly {bound.text}{source}{overflow}{entry}"


def says_more_than_rule(text: str, loop: Loop, origins: ProducerMap) -> bool:
    """Whether the text of :func:`iterations_text` says more than the sentences on the rule of the loop."""
    rule = termination_rule(loop, origins)
    if rule.condition_decides and rule.constant_condition is None and rule.initial_condition is not False:
        return bool(text)
    count = rule.trip_count_value
    return rule.trip_count is None and count is not None and text != f"exactly {display_name(count)}"
