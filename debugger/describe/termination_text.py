"""Sentences on the termination of a loop, shared by all front ends."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.graph import Loop, SlicedInput, System
from ...runtime.text import count_text
from .condition_analysis import condition_slice, condition_text
from .node_text import NodeFormatter
from .termination import TerminationRule, carried_condition, termination_rule
from .value_names import display_name


def termination_sentences(loop: Loop, formatter: NodeFormatter, tested_before: bool = False) -> Iterator[str]:
    """Sentences on the termination of a loop; the first is the rule, the others are details.

    ``tested_before``: use the terms of a system that tests the condition before an iteration.
    """
    rule = termination_rule(loop, formatter.origins)
    condition = condition_text(loop, formatter)
    if rule.initial_condition is False:
        yield f"It never starts: the {'' if rule.tests_first else 'initial '}condition is the constant false."
        return
    if rule.unequal_parts:
        counts = ", ".join(f"{display_name(port.outer)} has {count}" for port, count in rule.unequal_parts)
        yield f"Nothing runs: the sliced inputs disagree on the number of parts ({counts}), which is an error."
        return
    if rule.trip_count == 0:
        if rule.slices:
            reason = f"{', '.join(display_name(port.outer) for port in rule.slices)} has no part"
        else:
            declared = rule.trip_count if rule.declared_trip_count is None else rule.declared_trip_count
            reason = f"the trip count is {declared}" + (", and a negative one is none" if declared < 0 else "")
        yield f"Nothing runs: {reason}. The carried values come out as they went in."
        return
    if rule.condition_decides and rule.constant_condition is False:
        yield "After one iteration: the body's condition is always false."
    elif rule.condition_decides and rule.has_iteration_bound:
        yield f"When {condition} is false, or after {_count_text(rule)}, whichever comes first."
    elif rule.condition_decides:
        yield f"When {condition} is false; there is no trip count."
    elif rule.has_iteration_bound:
        yield f"After {'' if rule.slices else 'exactly '}{_count_text(rule)}."
    else:
        yield f"Never: there is no trip count, and {_always_true_reason(loop, rule)}."
    if rule.condition_decides and rule.constant_condition is None:
        if rule.tests_first:
            yield "It is asked before each iteration, about that iteration: where it is false, that one does not run."
        elif tested_before:
            yield "It is asked before each iteration, about what the one before yielded, which has run in full."
        else:
            yield "The iteration that yields false still counts."
        if not condition_slice(loop).depends_on_varying_values:
            yield "The condition depends on nothing that changes between iterations: what it is first, it stays."
    yield from _zero_iteration_sentences(loop, rule, formatter)


def _always_true_reason(loop: Loop, rule: TerminationRule) -> str:
    if loop.condition is None:
        return "the condition is absent"
    return (
        "the condition stays what it was at the entry" if rule.condition_forwarded else "the condition is always true"
    )


def _count_text(rule: TerminationRule) -> str:
    if rule.slices:
        names = ", ".join(display_name(port.outer) for port in rule.slices)
        count = "" if rule.trip_count is None else f" ({count_text(rule.trip_count, 'iteration')})"
        return f"the last part of {names}{count}"
    if rule.trip_count_value is not None:
        return f"{display_name(rule.trip_count_value)} iterations"
    return count_text(rule.trip_count or 0, "iteration")


def _zero_iteration_sentences(loop: Loop, rule: TerminationRule, formatter: NodeFormatter) -> Iterator[str]:
    """Sentences on whether no iteration may run."""
    reasons = []
    if rule.trip_count_value is not None:
        zero = "0" if loop.minus_one_is_no_limit or loop.system is System.TENSORRT else "0 or negative"
        reasons.append(f"{display_name(rule.trip_count_value)} is {zero}")
        if loop.minus_one_is_no_limit:
            yield f"-1 in {display_name(rule.trip_count_value)} means no limit."
    elif rule.slices and rule.trip_count is None:
        reasons.append(f"{display_name(rule.slices[0].outer)} has no part")
    if rule.initial_condition is None:
        reasons.append(f"{display_name(loop.initial_condition)} is false")
    if rule.tests_first and rule.condition_decides:
        edge = carried_condition(loop)
        start = None if edge is None or isinstance(edge.initial, SlicedInput) else edge.initial
        if start is None or formatter.origins.constant_scalar(start) is None:
            reasons.append("the condition is false at first" if start is None else f"{display_name(start)} is false")
    if reasons:
        yield f"Nothing runs where {' or '.join(reasons)}."
    elif rule.condition_decides:
        yield "The first iteration always runs."
