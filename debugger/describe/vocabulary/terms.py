"""What the three vocabularies share: the layout, and questions about a loop that more than one of them asks."""

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
    """Rows in two columns under one word."""

    title: str
    rows: tuple[Row, ...]


@dataclass
class LoopTerms:
    """A loop in one system's words.

    ``what``: the operator, as in ``ONNX Loop``; ``needs``: what has to be added to say the same; ``cannot``: what the
    system has no way to say.
    """

    operator_name: str
    sections: list[TermsSection] = field(default_factory=list)
    requirements: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)

    def add_section(self, title: str, rows: Iterable[Row]) -> None:
        """A section, unless it would be empty."""
        rows = tuple(rows)
        if rows:
            self.sections.append(TermsSection(title, rows))


class TermsContext:
    """A loop, and what the rest of its model tells about it. ``scopes``: where each value of the model is defined."""

    def __init__(self, loop: Loop, phrases: NodeFormatter, scopes: Mapping[Value, str]) -> None:
        self.loop = loop
        self.formatter = phrases
        self.termination: TerminationRule = termination_rule(loop, phrases.origins)
        self.scopes = scopes
        self.captures = captured_values(loop.body)
        #: What nodes of the body read, those inside of others included.
        self.node_operands = {value for node in walk(loop.body) for value in node.inputs}
        inside = (inner for node in walk(loop.body) for _, inner in bodies(node))
        self.node_operands.update(value for inner in inside for value in inner.outputs)
        self.used_values = self.node_operands | set(loop.body.outputs)

    @property
    def needs_iteration(self) -> bool:
        """The body reads the iteration number."""
        return self.loop.iteration is not None and self.loop.iteration in self.used_values

    def operand(self, value: Value | None) -> str:
        return self.formatter.operand(value, bare=True)

    def trip_count(self) -> str:
        """What bounds the number of iterations; empty where nothing does."""
        found = self.termination
        if found.trip_count is not None:
            return str(found.trip_count)
        if found.slices:
            return f"parts of {display_name(found.slices[0].outer)}"
        return "" if found.trip_count_value is None else declaration_text(found.trip_count_value)

    @property
    def carried_condition(self) -> BackEdge | None:
        """The back edge that a condition which is asked before the iteration is read from: what one iteration yields
        decides about the next, as in the systems that ask after it."""
        return carried_condition(self.loop)

    @property
    def recurrent_condition(self) -> BackEdge | None:
        """The same where the condition alone is made of it: systems that ask after an iteration have it without a
        back edge, and give no last value of it."""
        edge = self.carried_condition
        return None if edge is None or self.outputs_of(edge) else edge

    def control_input_text(self, value: Value) -> str:
        """An input that controls the loop: a constant as it is, anything else with its type."""
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
        """What the body takes from around it: values, and how many constants."""
        found = [*self.captures, *(port.outer for port in self.loop.invariants if port.outer not in self.captures)]
        rows = [
            (declaration_text(value), f"from {self.scopes.get(value, 'outside')}")
            for value in found
            if self.formatter.constant(value) is None
        ]
        constants = [value for value in found if self.formatter.constant(value) is not None]
        large = [value for value in constants if self.formatter.operand(value) == display_name(value)]
        rows += [
            (declaration_text(value), f"constant, from {self.scopes.get(value, 'outside')}")
            for value in large[:_MAX_LISTED_CONSTANTS]
        ]
        if len(large) > _MAX_LISTED_CONSTANTS:
            rows.append((f"and {len(large) - _MAX_LISTED_CONSTANTS} more constants", ""))
        return rows

    def last_values_without_edge(self) -> list[LastValueOutput]:
        """Last values that no back edge carries."""
        return [last for last in self.loop.last_values if self.edge_of(last) is None]

    def edge_of(self, last: LastValueOutput) -> BackEdge | None:
        """The back edge whose value a last-value output returns."""
        return self.loop.back_edge_for(last)

    def outputs_of(self, edge: BackEdge) -> list[Value]:
        """The outputs that return what a back edge carries."""
        return [last.outer for last in self.loop.last_values if self.edge_of(last) is edge]

    def output_position(self, outer: Value) -> int:
        """Which output of the loop a value is."""
        return self.loop.outputs.index(outer)

    def non_tensor_values(self) -> list[Value]:
        """Parameters and results that are sequences or optionals."""
        values = [*(edge.param for edge in self.loop.back_edges), *(edge.result for edge in self.loop.back_edges)]
        values += [scan.result for scan in self.loop.scan_outputs]
        return [value for value in dict.fromkeys(values) if not isinstance(value.type, TensorType)]


def eager_requirements(context: TermsContext, pad: str) -> Iterator[str]:
    """What a system needs to say that decides after an iteration, and collects no more than was computed; ``pad``: its
    operator that adds zeros."""
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
                f"{display_name(scan.outer)} has the length {context.operand(scan.length)}, whatever runs: {pad} after"
                " the loop adds the zeros"
            )


def _is_trip_count(context: TermsContext, length: Value) -> bool:
    """Whether a length is the trip count, by its number or as the same value."""
    origins, count = context.formatter.origins, context.loop.trip_count
    known = origins.constant_integer(length)
    if known is not None:
        return known == context.termination.trip_count
    return count is not None and _strip_cast(origins, length) is _strip_cast(origins, count)


def _strip_cast(origins: ProducerMap, value: Value) -> Value:
    """The value that a Cast to another integer type was made of."""
    found = origins.skip_identities(value)
    node = origins.producer(found)
    first = node.inputs[0] if node is not None and node.op_type == "Cast" else None
    return found if first is None else origins.skip_identities(first)


#: Of constants at most so many are listed.
_MAX_LISTED_CONSTANTS = 6


def declaration_text(value: Value) -> str:
    """``x : float32[1,4]``, or the name alone where the model does not tell."""
    return display_name(value) if value.type == ANY_TYPE else f"{display_name(value)} : {value.type}"


def initial_text(edge: BackEdge, phrases: NodeFormatter) -> str:
    """What iteration 0 gets."""
    initial = edge.initial
    return f"part 0 of {display_name(initial.outer)}" if isinstance(initial, SlicedInput) else phrases.operand(initial)


def is_unit_slicing(sliced: SlicedInput) -> bool:
    """All of the tensor in parts of one element, forward or backward: what Scan and IIterator can do."""
    forward = (sliced.start, sliced.end, sliced.stride) == (0, -1, 1)
    return (forward or (sliced.start, sliced.end, sliced.stride) == (-1, 0, -1)) and sliced.part_size == 1


def changes_shape(edge: BackEdge) -> bool:
    """The declared shapes of what is carried say that it cannot stay the same."""
    initial = edge.initial.type if isinstance(edge.initial, Value) else edge.param.type
    shapes = [kind.shape for kind in (initial, edge.param.type, edge.result.type) if isinstance(kind, TensorType)]
    known = [shape for shape in shapes if shape is not None]
    for one in known:
        for two in known:
            if len(one) != len(two) or any(
                isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(one, two, strict=False)
            ):
                return True
    return False


def tensor_dtype(kind: ValueType) -> np.dtype[np.generic] | None:
    return kind.dtype if isinstance(kind, TensorType) else None
