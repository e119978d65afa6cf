"""Static termination rules of loops, their kinds, and phrases for stop reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...runtime.errors import ExecutionError
from ...runtime.graph import BackEdge, Loop, SlicedInput, StoppedBy, TensorType, Value, effective_trip_count
from ...runtime.graph.producers import ProducerMap
from ...runtime.graph.slicing import part_geometry

#: Cause and event of a loop's end: ``stopped by X``, ``ended: X``.
_STOP_PHRASES: Mapping[StoppedBy, tuple[str, str]] = {
    StoppedBy.TRIP_COUNT: ("the trip count", "the trip count is reached"),
    StoppedBy.CONDITION: ("the condition", "the condition is false"),
    StoppedBy.INPUT_EXHAUSTED: ("the end of the sliced inputs", "the sliced inputs are exhausted"),
    StoppedBy.LIMIT: ("a limit", "a limit is reached"),
    StoppedBy.INTERRUPT: ("an interrupt", "it was interrupted"),
    StoppedBy.BREAKPOINT: ("a breakpoint", "a breakpoint stopped the run"),
    StoppedBy.ERROR: ("an error", "an error stopped the run"),
}


def loop_end_cause(reason: StoppedBy) -> str:
    """The cause of a loop's end: ``the trip count``."""
    return _STOP_PHRASES[reason][0]


def end_reason(reason: StoppedBy) -> str:
    """The event that ended a loop: ``the trip count is reached``."""
    return _STOP_PHRASES[reason][1]


class LoopKind(StrEnum):
    """The kind of a loop in programming terms."""

    FOR = "for"
    WHILE = "while"
    DO_WHILE = "do-while"
    FOR_WHILE = "for with condition"
    ENDLESS = "endless"


@dataclass(frozen=True)
class TerminationRule:
    """The possible ends of a loop.

    ``trip_count``: the known maximum number of iterations; ``declared_trip_count``: as in the model, may be negative;
    ``trip_count_value``: its outer value if unknown; ``slices``: the inputs whose parts are counted; ``unequal_parts``:
    inputs with contradictory numbers of parts, so that nothing can run. ``condition_decides``: the body's condition can
    end the loop; ``constant_condition``: its constant value; ``condition_forwarded``: it is the initial one.
    ``initial_condition``: None if known only at the entry.
    """

    trip_count: int | None = None
    declared_trip_count: int | None = None
    trip_count_value: Value | None = None
    slices: tuple[SlicedInput, ...] = ()
    unequal_parts: tuple[tuple[SlicedInput, int], ...] = ()
    condition_decides: bool = False
    constant_condition: bool | None = None
    condition_forwarded: bool = False
    initial_condition: bool | None = True
    #: The condition is computed for an iteration and tested before it (TensorRT's kWHILE).
    tests_first: bool = False

    @property
    def has_iteration_bound(self) -> bool:
        """True if the number of iterations is bounded."""
        return self.trip_count is not None or self.trip_count_value is not None or bool(self.slices)

    @property
    def kind(self) -> LoopKind:
        if not self.condition_decides:
            return LoopKind.FOR if self.has_iteration_bound else LoopKind.ENDLESS
        if self.has_iteration_bound:
            return LoopKind.FOR_WHILE
        return LoopKind.DO_WHILE if self.initial_condition is True and not self.tests_first else LoopKind.WHILE


def termination_rule(loop: Loop, origins: ProducerMap) -> TerminationRule:
    """The termination rule of a loop; ``origins``: producers of the entire model."""
    constant = origins.constant_scalar(loop.condition)
    is_forwarded = loop.condition is not None and origins.skip_identities(loop.condition) is loop.condition_input
    initial = True if loop.initial_condition is None else origins.constant_scalar(loop.initial_condition)
    tests_first = loop.condition_node_count is not None
    if tests_first and constant is not None and not constant:
        initial = constant
    trips = loop.fixed_trips
    count: Value | None = None
    slices: tuple[SlicedInput, ...] = ()
    unequal_parts: tuple[tuple[SlicedInput, int], ...] = ()
    declared: int | None = None
    if loop.counted_by_slices:
        slices = all_sliced_inputs(loop)
        counts = tuple(
            (port, number) for port, number in zip(slices, map(part_count, slices), strict=True) if number is not None
        )
        unequal_parts = counts if len({number for _, number in counts}) > 1 else ()
        trips = counts[0][1] if counts and not unequal_parts else None
    elif trips is None and loop.trip_count is not None:
        number = origins.constant_integer(loop.trip_count)
        if number is None:
            count = loop.trip_count
        elif effective_trip_count(number) is not None and not (number == -1 and loop.minus_one_is_no_limit):
            declared = number
            trips = max(declared, 0)
    return TerminationRule(
        trips,
        declared,
        count,
        slices,
        unequal_parts,
        loop.condition is not None and not is_forwarded and (constant is None or not constant),
        None if constant is None else bool(constant),
        is_forwarded,
        None if initial is None else bool(initial),
        tests_first,
    )


def carried_condition(loop: Loop) -> BackEdge | None:
    """The back edge whose parameter is the condition tested before each iteration, if there is one."""
    if loop.condition_node_count is None:
        return None
    return next((edge for edge in loop.back_edges if edge.param is loop.condition), None)


def all_sliced_inputs(loop: Loop) -> tuple[SlicedInput, ...]:
    """All sliced inputs, those that only feed iteration 0 of a back edge included."""
    initials = (edge.initial for edge in loop.back_edges)
    return (*loop.sliced_inputs, *(initial for initial in initials if isinstance(initial, SlicedInput)))


def part_count(port: SlicedInput) -> int | None:
    """The number of parts by the declared shape; None if unknown."""
    shape = port.outer.type.shape if isinstance(port.outer.type, TensorType) else None
    length = shape[port.axis] if shape is not None and -len(shape) <= port.axis < len(shape) else None
    if not isinstance(length, int):
        return None
    try:
        return part_geometry(length, port, port.axis, lambda: port.outer.name)[2]
    except ExecutionError:
        return None
