"""Notes on contradictions between a run and the model's declarations; the results are correct nevertheless.

A runtime that relies on the declarations may fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .engine.engine import Engine
from .graph import TensorType, Value, ValueType
from .plan.plan import LoopPlan

#: Number of contradicting values that are listed.
_MAX_LISTED_VALUES = 4

#: The actual dtype, and the shape if known.
_TensorKind = tuple[np.dtype[Any], tuple[int, ...] | None]


def contradiction_notes(engine: Engine, loop: LoopPlan | None) -> Iterator[str]:
    """Values of a loop's body, or of the main graph, that contradict their declarations."""
    plan = engine.plan
    positions = plan.body_positions(-1 if loop is None else loop.index)
    slots = {plan.slots[slot]: slot for pc in positions for slot in plan.code[pc].outputs if slot >= 0}
    for edge in loop.edges if loop is not None else ():
        # The result of an iteration has moved to the parameter.
        slots.pop(plan.slots[edge.result], None)
    computed = {value: engine.memory.dtype_and_shape(slot) for value, slot in slots.items()}
    if loop is None:
        yield from _contradiction_sentence(_contradiction_texts(computed), "")
        return
    last_inputs: dict[Value, _TensorKind | None] = {}
    first: dict[Value, _TensorKind | None] = {}
    if engine.loop_state(loop.index)[0]:
        last_inputs = _last_iteration_types(engine, loop)
        first = _first_iteration_types(engine, loop)
        computed.update((edge.edge.result, engine.memory.dtype_and_shape(edge.param)) for edge in loop.edges)
    last = _contradiction_texts({**last_inputs, **computed})
    yield from _contradiction_sentence(last, " in the last iteration")
    yield from _contradiction_sentence(
        {value: text for value, text in _contradiction_texts(first).items() if value not in last}, " in iteration 0"
    )


def _last_iteration_types(engine: Engine, loop: LoopPlan) -> dict[Value, _TensorKind | None]:
    """Dtypes and shapes of the body's parameters in the last iteration."""
    memory, overwritten = engine.memory, _slots_written_by_outer_loops(engine, loop)
    kinds: dict[Value, _TensorKind | None] = {}
    for value in loop.loop.body.inputs:
        slot = engine.plan.slot_of[value]
        kinds[value] = _kind_of_slot(engine, slot, overwritten)
    for k, edge in enumerate(loop.edges):
        if edge.param == edge.result:
            continue
        if engine.loops.was_swapped(loop.index, k):
            kinds[edge.edge.param] = memory.dtype_and_shape(edge.result)
        else:
            previous = engine.loops.peek_previous(loop.index, k)
            kinds[edge.edge.param] = (previous.dtype, previous.shape) if isinstance(previous, np.ndarray) else None
    return kinds


def _first_iteration_types(engine: Engine, loop: LoopPlan) -> dict[Value, _TensorKind | None]:
    """Dtypes and shapes of the carried inputs of iteration 0, unless an outer loop has overwritten them."""
    stale = _slots_written_by_outer_loops(engine, loop)
    return {edge.edge.param: _kind_of_slot(engine, edge.initial, stale) for edge in loop.edges if edge.initial >= 0}


def _slots_written_by_outer_loops(engine: Engine, loop: LoopPlan) -> set[int]:
    """The slots that enclosing loops write at their boundaries, after this loop read them. Dtypes are preserved."""
    slots: set[int] = set()
    index = loop.parent
    while index >= 0:
        outer_loop = engine.plan.loops[index]
        slots.update(slot for edge in outer_loop.edges for slot in (edge.param, edge.result))
        index = outer_loop.parent
    return slots


def _kind_of_slot(engine: Engine, slot: int, overwritten: set[int]) -> _TensorKind | None:
    kind = engine.memory.dtype_and_shape(slot)
    return (kind[0], None) if kind is not None and slot in overwritten else kind


def _contradiction_texts(kinds: Mapping[Value, _TensorKind | None]) -> dict[Value, str]:
    """Texts for the values that contradict their declarations."""
    return {
        value: f"'{value.name}' is declared as {value.type}, and was {TensorType(*kind)}"
        for value, kind in kinds.items()
        if kind is not None and not _matches_declaration(value.type, *kind)
    }


def _contradiction_sentence(texts: Mapping[Value, str], time_text: str) -> Iterator[str]:
    if texts:
        remainder = f", and so on for {len(texts) - _MAX_LISTED_VALUES} more" if len(texts) > _MAX_LISTED_VALUES else ""
        yield f"{'; '.join([*texts.values()][:_MAX_LISTED_VALUES])}{remainder}{time_text}."


def _matches_declaration(declared: ValueType, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> bool:
    if not isinstance(declared, TensorType):
        return True
    if declared.dtype is not None and declared.dtype != dtype:
        return False
    if declared.shape is None or shape is None:
        return True
    pairs = zip(declared.shape, shape, strict=False)
    return len(declared.shape) == len(shape) == len([a for a, b in pairs if not isinstance(a, int) or a == b])
