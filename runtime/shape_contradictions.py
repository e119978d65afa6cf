"""Where a run contradicts what the model declares: said as a note, since the numbers are right all the same.

A runtime that relies on what is declared may fail over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .engine.engine import Engine
from .graph import TensorType, Value, ValueType
from .plan.plan import LoopPlan

#: Of values that contradict their declaration so many are named.
_MAX_LISTED_VALUES = 4

#: What a value was: its dtype, and its shape where that is known.
_TensorKind = tuple[np.dtype[Any], tuple[int, ...] | None]


def contradiction_notes(engine: Engine, loop: LoopPlan | None) -> Iterator[str]:
    """Values of a loop's body, or of the main graph, that are not what the model declares them to be."""
    plan = engine.plan
    inside = plan.body_positions(-1 if loop is None else loop.index)
    held = {plan.slots[slot]: slot for pc in inside for slot in plan.code[pc].outputs if slot >= 0}
    for edge in loop.edges if loop is not None else ():
        # What an iteration yields is the parameter's by now.
        held.pop(plan.slots[edge.result], None)
    computed = {value: engine.memory.dtype_and_shape(slot) for value, slot in held.items()}
    if loop is None:
        yield from _contradiction_sentence(_contradiction_texts(computed), "")
        return
    got: dict[Value, _TensorKind | None] = {}
    first: dict[Value, _TensorKind | None] = {}
    if engine.loop_state(loop.index)[0]:
        got = _last_iteration_kinds(engine, loop)
        first = _first_iteration_kinds(engine, loop)
        computed.update((edge.edge.result, engine.memory.dtype_and_shape(edge.param)) for edge in loop.edges)
    last = _contradiction_texts({**got, **computed})
    yield from _contradiction_sentence(last, " in the last iteration")
    yield from _contradiction_sentence(
        {value: told for value, told in _contradiction_texts(first).items() if value not in last}, " in iteration 0"
    )


def _last_iteration_kinds(engine: Engine, loop: LoopPlan) -> dict[Value, _TensorKind | None]:
    """What the body's parameters were in the last iteration."""
    memory, moving = engine.memory, _slots_written_by_outer_loops(engine, loop)
    found: dict[Value, _TensorKind | None] = {}
    for value in loop.loop.body.inputs:
        slot = engine.plan.slot_of[value]
        found[value] = _kind_of_slot(engine, slot, moving)
    for k, edge in enumerate(loop.edges):
        if edge.param == edge.result:
            continue
        if engine.loops.was_swapped(loop.index, k):
            found[edge.edge.param] = memory.dtype_and_shape(edge.result)
        else:
            before = engine.loops.peek_previous(loop.index, k)
            found[edge.edge.param] = (before.dtype, before.shape) if isinstance(before, np.ndarray) else None
    return found


def _first_iteration_kinds(engine: Engine, loop: LoopPlan) -> dict[Value, _TensorKind | None]:
    """What iteration 0 got of what is carried, where the loop around has not changed it since."""
    moving = _slots_written_by_outer_loops(engine, loop)
    return {edge.edge.param: _kind_of_slot(engine, edge.initial, moving) for edge in loop.edges if edge.initial >= 0}


def _slots_written_by_outer_loops(engine: Engine, loop: LoopPlan) -> set[int]:
    """The slots that loops around write to at their boundaries, after this one has read them. Dtypes stay."""
    found: set[int] = set()
    index = loop.parent
    while index >= 0:
        around = engine.plan.loops[index]
        found.update(slot for edge in around.edges for slot in (edge.param, edge.result))
        index = around.parent
    return found


def _kind_of_slot(engine: Engine, slot: int, moving: set[int]) -> _TensorKind | None:
    kind = engine.memory.dtype_and_shape(slot)
    return (kind[0], None) if kind is not None and slot in moving else kind


def _contradiction_texts(kinds: Mapping[Value, _TensorKind | None]) -> dict[Value, str]:
    """What is said of those that are not as they are declared."""
    return {
        value: f"'{value.name}' is declared as {value.type}, and was {TensorType(*kind)}"
        for value, kind in kinds.items()
        if kind is not None and not _matches_declaration(value.type, *kind)
    }


def _contradiction_sentence(told: Mapping[Value, str], when: str) -> Iterator[str]:
    if told:
        more = f", and so on for {len(told) - _MAX_LISTED_VALUES} more" if len(told) > _MAX_LISTED_VALUES else ""
        yield f"{'; '.join([*told.values()][:_MAX_LISTED_VALUES])}{more}{when}."


def _matches_declaration(declared: ValueType, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> bool:
    if not isinstance(declared, TensorType):
        return True
    if declared.dtype is not None and declared.dtype != dtype:
        return False
    if declared.shape is None or shape is None:
        return True
    return len(declared.shape) == len(shape) and all(
        not isinstance(wanted, int) or wanted == have for wanted, have in zip(declared.shape, shape, strict=True)
    )
