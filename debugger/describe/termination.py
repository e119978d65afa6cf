"""What kind of loop a loop is, what can end it as far as the model alone tells, and the words for what did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...runtime.errors import ExecutionError
from ...runtime.graph import BackEdge, Loop, SlicedInput, StoppedBy, TensorType, Value, effective_trip_count
from ...runtime.graph.producers import ProducerMap
from ...runtime.graph.slicing import part_geometry

#: What ended a loop, as a thing and as what happened: ``stopped by X``, ``ended: X``.
_STOP_PHRASES: Mapping[StoppedBy, tuple[str, str]] = {
    StoppedBy.TRIP_COUNT: ("the trip count", "the trip count is reached"),
    StoppedBy.CONDITION: ("the condition", "the condition is false"),
    StoppedBy.INPUT_EXHAUSTED: ("the end of the sliced inputs", "the sliced inputs are exhausted"),
    StoppedBy.LIMIT: ("a limit", "a limit is reached"),
    StoppedBy.INTERRUPT: ("an interrupt", "it was interrupted"),
    StoppedBy.BREAKPOINT: ("a breakpoint", "a breakpoint stopped the run"),
    StoppedBy.ERROR: ("an error", "an error stopped the run"),
}


def stop_cause(reason: StoppedBy) -> str:
    """What ended a loop, as a thing: ``the trip count``."""
    return _STOP_PHRASES[reason][0]


def end_reason(reason: StoppedBy) -> str:
    """What ended a loop, as what happened: ``the trip count is reached``."""
    return _STOP_PHRASES[reason][1]


class LoopKind(StrEnum):
    """A loop in a programmer's word."""

    FOR = "for"
    WHILE = "while"
    DO_WHILE = "do-while"
    FOR_WHILE = "for with condition"
    ENDLESS = "endless"


@dataclass(frozen=True)
class TerminationRule:
    """What can end a loop.

    ``trips``: the most iterations, where that number is known; ``given``: as the model has it, which may be negative;
    ``count``: the outer value that gives it otherwise; ``slices``: the inputs whose parts are counted; ``uneven``:
    those of known numbers that disagree, so that nothing can run. ``decides``: the body's condition can end the loop;
    ``known``: what it always is, ``passed``: it is the initial one, handed on. ``initial``: None where it is known only
    at the entry.
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
    #: The condition is that of the iteration itself, tested before it (TensorRT's kWHILE).
    tests_first: bool = False

    @property
    def is_counted(self) -> bool:
        """Something counts the iterations."""
        return self.trip_count is not None or self.trip_count_value is not None or bool(self.slices)

    @property
    def kind(self) -> LoopKind:
        if not self.condition_decides:
            return LoopKind.FOR if self.is_counted else LoopKind.ENDLESS
        if self.is_counted:
            return LoopKind.FOR_WHILE
        return LoopKind.DO_WHILE if self.initial_condition is True and not self.tests_first else LoopKind.WHILE


def termination_rule(loop: Loop, origins: ProducerMap) -> TerminationRule:
    """What can end a loop; ``origins`` are those of the whole model."""
    always = origins.constant_scalar(loop.condition)
    passed = loop.condition is not None and origins.skip_identities(loop.condition) is loop.condition_input
    initial = True if loop.initial_condition is None else origins.constant_scalar(loop.initial_condition)
    tested = loop.condition_node_count is not None
    if tested and always is not None and not always:
        initial = always
    trips = loop.fixed_trips
    count: Value | None = None
    slices: tuple[SlicedInput, ...] = ()
    uneven: tuple[tuple[SlicedInput, int], ...] = ()
    given: int | None = None
    if loop.counted_by_slices:
        slices = all_sliced_inputs(loop)
        known = tuple(
            (port, number) for port, number in zip(slices, map(part_count, slices), strict=True) if number is not None
        )
        uneven = known if len({number for _, number in known}) > 1 else ()
        trips = known[0][1] if known and not uneven else None
    elif trips is None and loop.trip_count is not None:
        number = origins.constant_integer(loop.trip_count)
        if number is None:
            count = loop.trip_count
        elif effective_trip_count(number) is not None and not (number == -1 and loop.minus_one_is_no_limit):
            given = number
            trips = max(given, 0)
    return TerminationRule(
        trips,
        given,
        count,
        slices,
        uneven,
        loop.condition is not None and not passed and (always is None or not always),
        None if always is None else bool(always),
        passed,
        None if initial is None else bool(initial),
        tested,
    )


def forwards_condition(loop: Loop, origins: ProducerMap) -> bool:
    """Whether the body's condition is the initial one, handed on as a carried value."""
    if loop.condition is None:
        return False
    source = origins.skip_identities(loop.condition)
    edge = next((edge for edge in loop.back_edges if edge.param is source), None)
    return (
        edge is not None
        and origins.skip_identities(edge.result) is source
        and begins_with_condition(edge, loop, origins)
    )


def begins_with_condition(edge: BackEdge, loop: Loop, origins: ProducerMap) -> bool:
    """Whether what an edge carries is the initial condition at first."""
    initial = loop.initial_condition
    if isinstance(edge.initial, SlicedInput) or initial is None:
        return False
    return origins.skip_identities(edge.initial) is origins.skip_identities(initial)


def carried_condition(loop: Loop) -> BackEdge | None:
    """The back edge whose parameter is the condition that is tested before each iteration, if one is."""
    if loop.condition_node_count is None:
        return None
    return next((edge for edge in loop.back_edges if edge.param is loop.condition), None)


def all_sliced_inputs(loop: Loop) -> tuple[SlicedInput, ...]:
    """All sliced inputs, those that only feed iteration 0 of a back edge included."""
    carried = (edge.initial for edge in loop.back_edges)
    return (*loop.sliced_inputs, *(initial for initial in carried if isinstance(initial, SlicedInput)))


def part_count(port: SlicedInput) -> int | None:
    """How many parts the declared shape gives; None where it does not tell."""
    shape = port.outer.type.shape if isinstance(port.outer.type, TensorType) else None
    length = shape[port.axis] if shape is not None and -len(shape) <= port.axis < len(shape) else None
    if not isinstance(length, int):
        return None
    try:
        return part_geometry(length, port, port.axis, port.outer.name)[2]
    except ExecutionError:
        return None
