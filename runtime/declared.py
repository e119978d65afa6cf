"""Where a run contradicts what the model declares: said as a note, since the numbers are right all the same.

A runtime that relies on what is declared may fail over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .engine.engine import Engine
from .graph import ANY, TensorType, ValueType
from .plan.plan import LoopPlan

#: Of values that contradict their declaration so many are named.
_MOST = 4


def contradicted(engine: Engine, loop: LoopPlan | None) -> Iterator[str]:
    """Values of a loop's body, or of the main graph, that are not what the model declares them to be."""
    plan = engine.plan
    inside = plan.inside(-1 if loop is None else loop.index)
    held = {plan.slots[slot]: slot for pc in inside for slot in plan.code[pc].outputs if slot >= 0}
    for edge in loop.edges if loop is not None else ():
        # What an iteration yields is the parameter's by now.
        held.pop(plan.slots[edge.result], None)
        held[edge.edge.param if edge.edge.result.type is ANY else edge.edge.result] = edge.param
    told = []
    for value, slot in held.items():
        kind = engine.memory.kind(slot)
        if kind is not None and not _fits(value.type, *kind):
            told.append(f"'{value.name}' is declared as {value.type}, and was {TensorType(*kind)}")
    if told:
        more = f", and so on for {len(told) - _MOST} more" if len(told) > _MOST else ""
        when = "" if loop is None else " in the last iteration"
        yield f"{'; '.join(told[:_MOST])}{more}{when}."


def _fits(declared: ValueType, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    if not isinstance(declared, TensorType):
        return True
    if declared.dtype is not None and declared.dtype != dtype:
        return False
    if declared.shape is None:
        return True
    return len(declared.shape) == len(shape) and all(
        not isinstance(wanted, int) or wanted == have for wanted, have in zip(declared.shape, shape, strict=True)
    )
