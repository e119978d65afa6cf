"""Common parts of the vocabularies: layout, and properties of loops that several of them need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ....runtime.graph import (
    ANY_TYPE,
    BackEdge,
    LastValueOutput,
    Loop,
    SlicedInput,
    TensorType,
    Value,
    ValueType,
    bodies,
    captured_values,
    walk,
)
from ....runtime.graph.producers import ProducerMap
from ..node_text import NodeFormatter
from ..termination import TerminationRule, carried_condition, termination_rule
from ..value_names import display_name

Row = tuple[str, str]


@dataclass(frozen=True)
class TermsSection:
    """Rows in two columns under a title."""

    title: str
    rows: tuple[Row, ...]


@dataclass
class LoopTerms:
    """A loop in the terms of one system.

    ``operator_name``: as in ``ONNX Loop``; ``requirements``: additions for the same semantics; ``unsupported``:
    features that the system cannot express.
    """

    operator_name: str
    sections: list[TermsSection] = field(default_factory=list)
    requirements: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)

    def add_section(self, title: str, rows: Iterable[Row]) -> None:
        """Add a section unless it is empty."""
        rows = tuple(rows)
        if rows:
            self.sections.append(TermsSection(title, rows))


class TermsContext:
    """A loop with data about its model. ``scopes``: where each value of the model is defined."""

    def __init__(self, loop: Loop, formatter: NodeFormatter, scopes: Mapping[Value, str]) -> None:
        self.loop = loop
        self.formatter = formatter
        self.termination: TerminationRule = termination_rule(loop, formatter.origins)
        self.scopes = scopes
        self.captures = captured_values(loop.body)
        #: Values that nodes of the body read, nested ones included.
        self.node_operands = {value for node in walk(loop.body) for value in node.inputs}
        bodies_ = (inner for node in walk(loop.body) for _, inner in bodies(node))
        self.node_operands.update(value for inner in bodies_ for value in inner.outputs)
        self.used_values = self.node_operands | set(loop.body.outputs)

    @property
    def reads_iteration_number(self) -> bool:
        """True if the body reads the iteration number."""
        return self.loop.iteration is not None and self.loop.iteration in self.used_values

    def operand(self, value: Value | None) -> str:
        return self.formatter.operand(value, bare=True)

    def trip_count(self) -> str:
        """The bound of the number of iterations; empty if there is none."""
        rule = self.termination
        if rule.trip_count is not None:
            return str(rule.trip_count)
        if rule.slices:
            return f"parts of {display_name(rule.slices[0].outer)}"
        return "" if rule.trip_count_value is None else declaration_text(rule.trip_count_value)

    @property
    def carried_condition(self) -> BackEdge | None:
        """The back edge of a condition that is tested before the iteration: as in systems that test afterwards, each
        iteration decides whether the next one runs."""
        return carried_condition(self.loop)

    @property
    def recurrent_condition(self) -> BackEdge | None:
        """The same if only the condition uses it: systems that test after an iteration need no back edge for it, and
        have no last value of it."""
        edge = self.carried_condition
        return None if edge is None or self.outputs_of(edge) else edge

    def control_input_text(self, value: Value) -> str:
        """A control input of the loop: a constant as a literal, another value with its type."""
        return declaration_text(value) if self.formatter.constant(value) is None else self.operand(value)

    def initial_condition(self) -> str:
        """The condition before iteration 0."""
        edge = self.carried_condition
        if edge is not None:
            return initial_text(edge, self.formatter)
        if self.termination.tests_first and self.termination.condition_decides:
            return f"{self.operand(self.loop.condition)}, for iteration 0"
        if self.termination.initial_condition is not None:
            return "true" if self.termination.initial_condition else "false"
        return display_name(self.loop.initial_condition)

    def capture_rows(self) -> list[Row]:
        """Captured values and constants of the body."""
        values = [*self.captures, *(port.outer for port in self.loop.invariants if port.outer not in self.captures)]
        rows = [
            (declaration_text(value), f"from {self.scopes.get(value, 'outside')}")
            for value in values
            if self.formatter.constant(value) is None
        ]
        constants = [value for value in values if self.formatter.constant(value) is not None]
        large = [value for value in constants if self.formatter.operand(value) == display_name(value)]
        rows += [
            (declaration_text(value), f"constant, from {self.scopes.get(value, 'outside')}")
            for value in large[:_MAX_LISTED_CONSTANTS]
        ]
        if len(large) > _MAX_LISTED_CONSTANTS:
            rows.append((f"and {len(large) - _MAX_LISTED_CONSTANTS} more constants", ""))
        return rows

    def last_values_without_edge(self) -> list[LastValueOutput]:
        """Last values without a back edge."""
        return [last for last in self.loop.last_values if self.edge_of(last) is None]

    def edge_of(self, last: LastValueOutput) -> BackEdge | None:
        """The back edge of a last-value output."""
        return self.loop.back_edge_for(last)

    def outputs_of(self, edge: BackEdge) -> list[Value]:
        """The last-value outputs of a back edge."""
        return [last.outer for last in self.loop.last_values if self.edge_of(last) is edge]

    def output_position(self, outer: Value) -> int:
        """The position of a value among the outputs of the loop."""
        return self.loop.outputs.index(outer)

    def non_tensor_values(self) -> list[Value]:
        """Parameters and results that are sequences or optionals."""
        values = [*(edge.param for edge in self.loop.back_edges), *(edge.result for edge in self.loop.back_edges)]
        values += [scan.result for scan in self.loop.scan_outputs]
        return [value for value in dict.fromkeys(values) if not isinstance(value.type, TensorType)]


def post_test_loop_requirements(context: TermsContext) -> Iterator[str]:
    """Requirements of a system that tests the condition after an iteration and does not pad scan outputs."""
    loop = context.loop
    if (
        loop.condition_node_count is not None
        and context.termination.condition_decides
        and context.carried_condition is None
    ):
        yield (
            f"kWHILE is about the iteration itself: {context.operand(loop.condition)} has to be computed before the"
            " loop for iteration 0, and in the body from what the next iteration gets"
        )
    for scan in loop.scan_outputs:
        if scan.length is not None and (
            context.termination.condition_decides or not _is_trip_count(context, scan.length)
        ):
            yield (
                f"{display_name(scan.outer)} has the length {context.operand(scan.length)}, whatever runs: Pad after"
                " the loop adds the zeros"
            )


def _is_trip_count(context: TermsContext, length: Value) -> bool:
    """Whether a length equals the trip count, as a constant or as the same value."""
    origins, count = context.formatter.origins, context.loop.trip_count
    constant = origins.constant_integer(length)
    if constant is not None:
        return constant == context.termination.trip_count
    return count is not None and _strip_cast(origins, length) is _strip_cast(origins, count)


def _strip_cast(origins: ProducerMap, value: Value) -> Value:
    """The input value of a Cast to another integer type."""
    source = origins.skip_identities(value)
    node = origins.get(source)
    operand = node.inputs[0] if node is not None and node.op_type == "Cast" else None
    return source if operand is None else origins.skip_identities(operand)


#: Maximum number of listed constants.
_MAX_LISTED_CONSTANTS = 6


def declaration_text(value: Value) -> str:
    """``x : float32[1,4]``, or only the name if the type is unknown."""
    return display_name(value) if value.type == ANY_TYPE else f"{display_name(value)} : {value.type}"


def initial_text(edge: BackEdge, formatter: NodeFormatter) -> str:
    """The initial value of a back edge."""
    initial = edge.initial
    return (
        f"part 0 of {display_name(initial.outer)}" if isinstance(initial, SlicedInput) else formatter.operand(initial)
    )


def is_unit_slicing(sliced: SlicedInput) -> bool:
    """Whether a slicing covers the tensor in parts of one element, forward or backward, as in Scan and IIterator."""
    forward = (sliced.start, sliced.end, sliced.stride) == (0, -1, 1)
    return (forward or (sliced.start, sliced.end, sliced.stride) == (-1, 0, -1)) and sliced.part_size == 1


def changes_shape(edge: BackEdge) -> bool:
    """Whether the declared shapes prove that a carried value changes its shape."""
    initial = edge.initial.type if isinstance(edge.initial, Value) else edge.param.type
    shapes = [type_.shape for type_ in (initial, edge.param.type, edge.result.type) if isinstance(type_, TensorType)]
    known = [shape for shape in shapes if shape is not None]
    for a in known:
        for b in known:
            if len(a) != len(b) or any(
                isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(a, b, strict=False)
            ):
                return True
    return False


def tensor_dtype(type_: ValueType) -> np.dtype[np.generic] | None:
    return type_.dtype if isinstance(type_, TensorType) else None
