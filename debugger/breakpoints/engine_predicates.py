"""Breakpoints as predicates that the engine asks at each boundary without Python.

That of a condition is the condition itself, and its answer counts. Another need not be the breakpoint's own test: it is
enough that it is true wherever that would hit, since the test is made again where the engine stops. So a watchpoint
becomes "differs from before", whatever it waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.frame import Frame
from ...runtime.graph import Value
from ...runtime.ops.primitives import NoNativeKernel
from ...runtime.ops.registry import ResolvedOperator
from ..expression.language import Expression, InputRef, parse
from .breakpoint import Breakpoint, Trigger, WatchMode

_NOT_FINITE = parse("not all(abs(x) < inf)")
_CHANGED = parse("any(x != prev(x))")
#: Written so that a NaN counts: what is not settled now may be the next time.
_UNSETTLED = parse("not any(abs(x - prev(x)) >= level)")


@dataclass(frozen=True)
class EnginePredicate:
    """A predicate for one loop. ``needs_body``: it is not asked before iteration 0; ``exact``: where it is true the
    breakpoint hits."""

    op: ResolvedOperator
    slots: tuple[int, ...]
    needs_body: bool
    exact: bool = False


def make_predicates(breakpoint_: Breakpoint, engine: Engine, index: int) -> tuple[EnginePredicate, ...]:
    """The predicates of which one is true wherever a breakpoint may hit at the boundaries of a loop; none: only Python
    can tell."""
    slots = _SlotResolver(engine, index)
    if breakpoint_.kind is Trigger.NAN and breakpoint_.expression is None:
        return _not_finite_predicates(slots)
    expression = _predicate_expression(breakpoint_)
    lowered = None if expression is None else expression.lower()
    if lowered is None:
        return ()
    places = {ref: place for ref in lowered.inputs if (place := slots.resolve(ref)) is not None}
    if len(places) < len(lowered.inputs):
        return ()
    late = {ref for ref, place in places.items() if place.needs_body}
    is_condition = breakpoint_.kind is Trigger.CONDITION
    if is_condition and late and lowered.may_be_true_without(late):
        # Before iteration 0 it may be true, and is not asked.
        return ()
    exact = is_condition and all(place.exact for place in places.values())
    return (EnginePredicate(lowered.op, tuple(place.slot for place in places.values()), bool(late), exact),)


def _predicate_expression(breakpoint_: Breakpoint) -> Expression | None:
    """What is true wherever a breakpoint may hit."""
    expression = breakpoint_.expression
    assert expression is not None
    if breakpoint_.kind is Trigger.CONDITION:
        return expression
    if breakpoint_.kind is Trigger.NAN or breakpoint_.mode is WatchMode.NAN:
        return _NOT_FINITE.substitute(x=expression)
    if expression.uses_history or breakpoint_.mode is WatchMode.SHAPE:
        return None
    if breakpoint_.mode is WatchMode.SETTLES:
        assert breakpoint_.level is not None
        return _UNSETTLED.substitute(x=expression, level=breakpoint_.level)
    return _CHANGED.substitute(x=expression)


class _BoundarySlot(NamedTuple):
    """Where a value is at a boundary. ``needs_body``: not before iteration 0; not ``exact``: nor before iteration 1,
    though there is something else."""

    slot: int
    needs_body: bool
    exact: bool = True


class _SlotResolver:
    """Where the values of a loop's body are at its boundaries."""

    def __init__(self, engine: Engine, index: int) -> None:
        self._engine = engine
        self._index = index
        self.plan = engine.plan.loops[index]
        # Of what both branches of an If call the same another slot counts in each iteration: for Python to test.
        several = _ambiguous_names(engine, index)
        self._scope = {
            name: value for name, value in Frame(engine, index)._internals.scope().items() if name not in several
        }

    def resolve(self, ref: InputRef) -> _BoundarySlot | None:
        """The slot that a lowered expression means; None: no slot has it."""
        if ref.kind == "iteration":
            return _BoundarySlot(self._engine.monitor.iteration_slot(self._index), False)
        value = self._scope.get(ref.name)
        slot = None if value is None else self._engine.plan.slot_of.get(value)
        if slot is None:
            return None
        computed = self._is_computed(slot)
        if ref.kind == "value":
            # What an iteration is only given stays where it is, also where a back edge carries it.
            return _BoundarySlot(
                self._engine.monitor.slot_at_boundary(self._index, slot) if computed else slot, computed
            )
        for k, edge in enumerate(self.plan.edges):
            if slot == edge.param:
                return _BoundarySlot(self._engine.monitor.previous_slot(self._index, k), True)
        for k, edge in enumerate(self.plan.edges):
            if computed and slot == edge.result:
                # What the body computed first has none before it; what it was carried into has.
                return _BoundarySlot(self._engine.monitor.previous_slot(self._index, k), True, exact=False)
        return None if self._varies(slot) else _BoundarySlot(slot, True)

    def _is_computed(self, slot: int) -> bool:
        code = self._engine.plan.code
        return any(slot in i.outputs for i in code[self.plan.head : self.plan.exit] if i.inside == self._index)

    def _varies(self, slot: int) -> bool:
        sliced = any(slot == entry.inner for entry in self.plan.slices)
        tested = any(slot in i.outputs for i in self._engine.plan.code[self.plan.top : self.plan.head])
        return self._is_computed(slot) or tested or sliced or slot in (self.plan.iteration, self.plan.condition_input)

    def carried_float_slots(self) -> Sequence[int]:
        """What may hold a NaN at every boundary: carried values, and what decides about an iteration."""
        found = [edge.param for edge in self.plan.edges]
        found += [s for i in self._engine.plan.code[self.plan.top : self.plan.head] for s in i.outputs if s >= 0]
        return self._float_slots(found)

    def computed_float_slots(self) -> Sequence[int]:
        """What may hold a NaN at every boundary but the first: what the body computes."""
        found: list[int] = []
        for instruction in self._engine.plan.code[self.plan.head : self.plan.exit]:
            if instruction.inside == self._index:
                outputs = (slot for slot in instruction.outputs if slot >= 0)
                found += [self._engine.monitor.slot_at_boundary(self._index, slot) for slot in outputs]
        return self._float_slots(found)

    def _float_slots(self, slots: Sequence[int]) -> list[int]:
        return [slot for slot in dict.fromkeys(slots) if _may_be_float(self._engine.plan.slots[slot])]


def _ambiguous_names(engine: Engine, index: int) -> set[str]:
    """Names that more than one branch in a body, or in those around it, uses."""
    counted: Counter[tuple[int, str]] = Counter()
    while True:
        counted.update(
            (index, name) for value in Frame(engine, index)._internals.branch_paths() for name in value.names
        )
        if index < 0:
            return {name for (_, name), count in counted.items() if count > 1}
        index = engine.plan.loops[index].parent


def _may_be_float(value: Value) -> bool:
    dtype = getattr(value.type, "dtype", None)
    return dtype is None or dtype.kind not in "biuO"


def _not_finite_predicates(slots: _SlotResolver) -> tuple[EnginePredicate, ...]:
    """Whether anything in a loop's body is NaN or Inf. Carried values apart: they are there before iteration 0, and a
    predicate that also reads results of the body would not be asked there."""
    # A value in a branch that was not taken may hold anything; those are for Python to test.
    code = slots._engine.plan.code
    if any(i.moves for i in code[slots.plan.top : slots.plan.exit]):
        return ()
    carried = tuple(slots.carried_float_slots())
    computed = tuple(slot for slot in slots.computed_float_slots() if slot not in carried)

    def function(p: Any, *values: Any) -> Any:
        finite = []
        for value in values:
            if value.dtype.kind == "f":
                one = p.map(np.isfinite, value)
                finite.append(p.reduce(np.logical_and, one, range(len(value.shape)), False) if value.shape else one)
            elif value.dtype.kind not in "biu":
                raise NoNativeKernel
        if not finite:
            return p.constant(np.array(False))
        return p.map(np.logical_not, reduce(lambda a, b: p.map(np.logical_and, a, b), finite))

    op = ResolvedOperator(function, {})
    return tuple(EnginePredicate(op, found, late) for found, late in ((carried, False), (computed, True)) if found)
