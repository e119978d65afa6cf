"""What ends a loop, in sentences: the same wherever it is told."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.graph import Loop, SlicedInput, System
from ...runtime.text import counted
from .condition import condition_slice, condition_text
from .endings import Ending, carried_condition, ending
from .names import named
from .node_text import Phrases


def ends(loop: Loop, phrases: Phrases, asked_before: bool = False) -> Iterator[str]:
    """Sentences on what ends a loop; the first says it, the others what else is to know.

    ``asked_before``: it is told in the words of a system whose condition is tested before an iteration.
    """
    found = ending(loop, phrases.origins)
    condition = condition_text(loop, phrases)
    if found.initial is False:
        yield f"It never starts: the {'' if found.tested else 'initial '}condition is the constant false."
        return
    if found.uneven:
        told = ", ".join(f"{named(port.outer)} has {count}" for port, count in found.uneven)
        yield f"Nothing runs: the sliced inputs disagree on the number of parts ({told}), which is an error."
        return
    if found.trips == 0:
        if found.slices:
            why = f"{', '.join(named(port.outer) for port in found.slices)} has no part"
        else:
            given = found.trips if found.given is None else found.given
            why = f"the trip count is {given}" + (", and a negative one is none" if given < 0 else "")
        yield f"Nothing runs: {why}. The carried values come out as they went in."
        return
    if found.decides and found.known is False:
        yield "After one iteration: the body's condition is always false."
    elif found.decides and found.limited:
        yield f"When {condition} is false, or after {_count(found)}, whichever comes first."
    elif found.decides:
        yield f"When {condition} is false; there is no trip count."
    elif found.limited:
        yield f"After {'' if found.slices else 'exactly '}{_count(found)}."
    else:
        yield f"Never: there is no trip count, and {_why_always(loop, found)}."
    if found.decides and found.known is None:
        if found.tested:
            yield "It is asked before each iteration, about that iteration: where it is false, that one does not run."
        elif asked_before:
            yield "It is asked before each iteration, about what the one before yielded, which has run in full."
        else:
            yield "The iteration that yields false still counts."
        if not condition_slice(loop).can_change:
            yield "The condition depends on nothing that changes between iterations: what it is first, it stays."
    yield from _zero(loop, found, phrases)


def _why_always(loop: Loop, found: Ending) -> str:
    if loop.condition is None:
        return "the condition is absent"
    return "the condition stays what it was at the entry" if found.passed else "the condition is always true"


def _count(found: Ending) -> str:
    if found.slices:
        names = ", ".join(named(port.outer) for port in found.slices)
        many = "" if found.trips is None else f" ({counted(found.trips, 'iteration')})"
        return f"the last part of {names}{many}"
    if found.count is not None:
        return f"{named(found.count)} iterations"
    return counted(found.trips or 0, "iteration")


def _zero(loop: Loop, found: Ending, phrases: Phrases) -> Iterator[str]:
    """Whether it can be that nothing runs."""
    reasons = []
    if found.count is not None:
        least = "0" if loop.minus_one_is_no_limit or loop.system is System.TENSORRT else "0 or negative"
        reasons.append(f"{named(found.count)} is {least}")
        if loop.minus_one_is_no_limit:
            yield f"-1 in {named(found.count)} means no limit."
    elif found.slices and found.trips is None:
        reasons.append(f"{named(found.slices[0].outer)} has no part")
    if found.initial is None:
        reasons.append(f"{named(loop.initial_condition)} is false")
    if found.tested and found.decides:
        edge = carried_condition(loop)
        first = None if edge is None or isinstance(edge.initial, SlicedInput) else edge.initial
        if first is None or phrases.origins.scalar(first) is None:
            reasons.append("the condition is false at first" if first is None else f"{named(first)} is false")
    if reasons:
        yield f"Nothing runs where {' or '.join(reasons)}."
    elif found.decides:
        yield "The first iteration always runs."
