"""What ends a loop, in sentences: the same wherever it is told."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.graph import Loop, SlicedInput, System
from ...runtime.text import count_text
from .condition import condition_slice, condition_text
from .node_text import NodeFormatter
from .termination import TerminationRule, carried_condition, termination_rule
from .value_names import display_name


def termination_sentences(loop: Loop, phrases: NodeFormatter, asked_before: bool = False) -> Iterator[str]:
    """Sentences on what ends a loop; the first says it, the others what else is to know.

    ``asked_before``: it is told in the words of a system whose condition is tested before an iteration.
    """
    found = termination_rule(loop, phrases.origins)
    condition = condition_text(loop, phrases)
    if found.initial_condition is False:
        yield f"It never starts: the {'' if found.tests_first else 'initial '}condition is the constant false."
        return
    if found.unequal_parts:
        told = ", ".join(f"{display_name(port.outer)} has {count}" for port, count in found.unequal_parts)
        yield f"Nothing runs: the sliced inputs disagree on the number of parts ({told}), which is an error."
        return
    if found.trip_count == 0:
        if found.slices:
            why = f"{', '.join(display_name(port.outer) for port in found.slices)} has no part"
        else:
            given = found.trip_count if found.declared_trip_count is None else found.declared_trip_count
            why = f"the trip count is {given}" + (", and a negative one is none" if given < 0 else "")
        yield f"Nothing runs: {why}. The carried values come out as they went in."
        return
    if found.condition_decides and found.constant_condition is False:
        yield "After one iteration: the body's condition is always false."
    elif found.condition_decides and found.is_counted:
        yield f"When {condition} is false, or after {_count_text(found)}, whichever comes first."
    elif found.condition_decides:
        yield f"When {condition} is false; there is no trip count."
    elif found.is_counted:
        yield f"After {'' if found.slices else 'exactly '}{_count_text(found)}."
    else:
        yield f"Never: there is no trip count, and {_always_true_reason(loop, found)}."
    if found.condition_decides and found.constant_condition is None:
        if found.tests_first:
            yield "It is asked before each iteration, about that iteration: where it is false, that one does not run."
        elif asked_before:
            yield "It is asked before each iteration, about what the one before yielded, which has run in full."
        else:
            yield "The iteration that yields false still counts."
        if not condition_slice(loop).can_change:
            yield "The condition depends on nothing that changes between iterations: what it is first, it stays."
    yield from _zero_iteration_sentences(loop, found, phrases)


def _always_true_reason(loop: Loop, found: TerminationRule) -> str:
    if loop.condition is None:
        return "the condition is absent"
    return (
        "the condition stays what it was at the entry" if found.condition_forwarded else "the condition is always true"
    )


def _count_text(found: TerminationRule) -> str:
    if found.slices:
        names = ", ".join(display_name(port.outer) for port in found.slices)
        many = "" if found.trip_count is None else f" ({count_text(found.trip_count, 'iteration')})"
        return f"the last part of {names}{many}"
    if found.trip_count_value is not None:
        return f"{display_name(found.trip_count_value)} iterations"
    return count_text(found.trip_count or 0, "iteration")


def _zero_iteration_sentences(loop: Loop, found: TerminationRule, phrases: NodeFormatter) -> Iterator[str]:
    """Whether it can be that nothing runs."""
    reasons = []
    if found.trip_count_value is not None:
        least = "0" if loop.minus_one_is_no_limit or loop.system is System.TENSORRT else "0 or negative"
        reasons.append(f"{display_name(found.trip_count_value)} is {least}")
        if loop.minus_one_is_no_limit:
            yield f"-1 in {display_name(found.trip_count_value)} means no limit."
    elif found.slices and found.trip_count is None:
        reasons.append(f"{display_name(found.slices[0].outer)} has no part")
    if found.initial_condition is None:
        reasons.append(f"{display_name(loop.initial_condition)} is false")
    if found.tests_first and found.condition_decides:
        edge = carried_condition(loop)
        first = None if edge is None or isinstance(edge.initial, SlicedInput) else edge.initial
        if first is None or phrases.origins.constant_scalar(first) is None:
            reasons.append("the condition is false at first" if first is None else f"{display_name(first)} is false")
    if reasons:
        yield f"Nothing runs where {' or '.join(reasons)}."
    elif found.condition_decides:
        yield "The first iteration always runs."
