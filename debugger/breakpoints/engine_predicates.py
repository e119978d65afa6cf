"""Breakpoints as predicates that the engine evaluates at each boundary without Python.

The predicate of a condition is exact. Other predicates are necessary conditions only: they are true wherever the
breakpoint would hit, and the test is repeated where the engine stops. So every watchpoint becomes "differs from
before".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.frame_internals import FrameInternals
from ...runtime.graph import Value
from ...runtime.ops.primitive_types import NoNativeKernel
from ...runtime.ops.registry import ResolvedOperator
from ..diagnostics.node_checks import FLOAT16_MAX
from ..expression.expression import Expression, InputRef, parse
from .breakpoint import Breakpoint, Trigger, WatchMode

_NOT_FINITE = parse("not all(abs(x) < inf)")
_BEYOND_FLOAT16 = parse("not all(abs(x) <= 65504)")
_CHANGED = parse("any(x != prev(x))")
#: Written so that a NaN counts: a value that is not settled now may be settled at the next boundary.
_UNSETTLED = parse("not any(abs(x - prev(x)) >= level)")


@dataclass(frozen=True)
class EnginePredicate:
    """A predicate for one loop. ``needs_body``: it is not evaluated before iteration 0; ``exact``: if it is true, the
    breakpoint hits."""

    op: ResolvedOperator
    slots: tuple[int, ...]
    needs_body: bool
    exact: bool = False


def make_predicates(breakpoint_: Breakpoint, engine: Engine, index: int) -> tuple[EnginePredicate, ...]:
    """The predicates of which one is true wherever a breakpoint may hit at the boundaries of a loop; none: it must be
    tested in Python."""
    slots = _SlotResolver(engine, index)
    if breakpoint_.kind is Trigger.OVERFLOW:
        return ()
    if breakpoint_.kind in _ELEMENT_TESTS and breakpoint_.expression is None:
        return _result_predicates(slots, _ELEMENT_TESTS[breakpoint_.kind])
    expression = _predicate_expression(breakpoint_)
    lowered = None if expression is None else expression.lower()
    if lowered is None:
        return ()
    slot_of_input = {ref: slot for ref in lowered.inputs if (slot := slots.resolve(ref)) is not None}
    if len(slot_of_input) < len(lowered.inputs):
        return ()
    body_inputs = {ref for ref, slot in slot_of_input.items() if slot.needs_body}
    is_condition = breakpoint_.kind is Trigger.CONDITION
    if is_condition and body_inputs and lowered.may_be_true_without(body_inputs):
        # Before iteration 0 it may be true, but is not evaluated.
        return ()
    exact = is_condition and all(slot.exact for slot in slot_of_input.values())
    return (EnginePredicate(lowered.op, tuple(slot.slot for slot in slot_of_input.values()), bool(body_inputs), exact),)


def _predicate_expression(breakpoint_: Breakpoint) -> Expression | None:
    """An expression that is true wherever a breakpoint may hit."""
    expression = breakpoint_.expression
    assert expression is not None
    if breakpoint_.kind is Trigger.CONDITION:
        return expression
    if breakpoint_.kind is Trigger.FLOAT16:
        return _BEYOND_FLOAT16.substitute(x=expression)
    if breakpoint_.kind is Trigger.NAN or breakpoint_.mode is WatchMode.NAN:
        return _NOT_FINITE.substitute(x=expression)
    if expression.uses_history or breakpoint_.mode is WatchMode.SHAPE:
        return None
    if breakpoint_.mode is WatchMode.SETTLES:
        assert breakpoint_.level is not None
        return _UNSETTLED.substitute(x=expression, level=breakpoint_.level)
    return _CHANGED.substitute(x=expression)


class _BoundarySlot(NamedTuple):
    """The slot of a value at a boundary. ``needs_body``: invalid before iteration 0; not ``exact``: before iteration 1
    it holds another value."""

    slot: int
    needs_body: bool
    exact: bool = True


class _SlotResolver:
    """Finds the slots of a loop body's values at its boundaries."""

    def __init__(self, engine: Engine, index: int) -> None:
        self.engine = engine
        self._index = index
        self.plan = engine.plan.loops[index]
        # A name in both branches of an If has another slot in each iteration: it is tested in Python.
        ambiguous = _ambiguous_names(engine, index)
        scope = FrameInternals(engine, index).scope()
        self._scope = {name: value for name, value in scope.items() if name not in ambiguous}

    def resolve(self, ref: InputRef) -> _BoundarySlot | None:
        """The slot of an input of a lowered expression; None: no slot has it."""
        if ref.kind == "iteration":
            return _BoundarySlot(self.engine.monitor.iteration_slot(self._index), False)
        value = self._scope.get(ref.name)
        slot = None if value is None else self.engine.plan.slot_of.get(value)
        if slot is None:
            return None
        computed = self._is_computed(slot)
        if ref.kind == "value":
            # Inputs of an iteration stay in their slot, also if a back edge carries them.
            return _BoundarySlot(
                self.engine.monitor.slot_at_boundary(self._index, slot) if computed else slot, computed
            )
        for k, edge in enumerate(self.plan.edges):
            if slot == edge.param:
                return _BoundarySlot(self.engine.monitor.previous_slot(self._index, k), True)
        for k, edge in enumerate(self.plan.edges):
            if computed and slot == edge.result:
                # The first computed value has no predecessor; the carried value has.
                return _BoundarySlot(self.engine.monitor.previous_slot(self._index, k), True, exact=False)
        return None if self._varies_in_entry(slot) else _BoundarySlot(slot, True)

    def _is_computed(self, slot: int) -> bool:
        code = self.engine.plan.code
        return any(slot in i.outputs for i in code[self.plan.head : self.plan.exit] if i.inside == self._index)

    def _varies_in_entry(self, slot: int) -> bool:
        sliced = any(slot == entry.inner for entry in self.plan.slices)
        tested = any(slot in i.outputs for i in self.engine.plan.code[self.plan.top : self.plan.head])
        return self._is_computed(slot) or tested or sliced or slot in (self.plan.iteration, self.plan.condition_input)

    def carried_float_slots(self) -> Sequence[int]:
        """Slots that may hold a NaN at every boundary: carried values, and values of the loop test."""
        slots = [edge.param for edge in self.plan.edges]
        slots += [s for i in self.engine.plan.code[self.plan.top : self.plan.head] for s in i.outputs if s >= 0]
        return self._float_slots(slots)

    def computed_float_slots(self) -> Sequence[int]:
        """Slots that may hold a NaN at every boundary but the first: values that the body computes."""
        slots: list[int] = []
        for instruction in self.engine.plan.code[self.plan.head : self.plan.exit]:
            if instruction.inside == self._index:
                outputs = (slot for slot in instruction.outputs if slot >= 0)
                slots += [self.engine.monitor.slot_at_boundary(self._index, slot) for slot in outputs]
        return self._float_slots(slots)

    def _float_slots(self, slots: Sequence[int]) -> list[int]:
        return [slot for slot in dict.fromkeys(slots) if _may_be_float(self.engine.plan.slots[slot])]


def _ambiguous_names(engine: Engine, index: int) -> set[str]:
    """Names that several branches in a body, or in the enclosing bodies, use."""
    counts: Counter[tuple[int, str]] = Counter()
    while True:
        counts.update((index, name) for value in FrameInternals(engine, index).branch_paths() for name in value.names)
        if index < 0:
            return {name for (_, name), count in counts.items() if count > 1}
        index = engine.plan.loops[index].parent


def _may_be_float(value: Value) -> bool:
    dtype = getattr(value.type, "dtype", None)
    return dtype is None or dtype.kind not in "biuO"


def _is_finite(p: Any, value: Any) -> Any:
    return p.map(np.isfinite, value)


def _is_within_float16(p: Any, value: Any) -> Any:
    limit = p.constant(np.array(min(FLOAT16_MAX, float(np.finfo(value.dtype).max)), value.dtype))
    return p.map(np.less_equal, p.map(np.absolute, value), limit)


#: Tests that are true for the elements that a breakpoint does not wait for.
_ELEMENT_TESTS: Mapping[Trigger, Callable[[Any, Any], Any]] = {
    Trigger.NAN: _is_finite,
    Trigger.FLOAT16: _is_within_float16,
}


def _result_predicates(slots: _SlotResolver, is_good: Callable[[Any, Any], Any]) -> tuple[EnginePredicate, ...]:
    """Whether a float value in a loop's body has an element that is not good. Carried values have their own
    predicate: they exist before iteration 0, where a predicate that also reads results of the body is not evaluated."""
    # Values in a branch that was not taken are undefined; they are tested in Python.
    code = slots.engine.plan.code
    if any(i.moves for i in code[slots.plan.top : slots.plan.exit]):
        return ()
    carried = tuple(slots.carried_float_slots())
    computed = tuple(slot for slot in slots.computed_float_slots() if slot not in carried)

    def function(p: Any, *values: Any) -> Any:
        finite = []
        for value in values:
            if value.dtype.kind == "f":
                test = is_good(p, value)
                finite.append(p.reduce(np.logical_and, test, range(len(value.shape)), False) if value.shape else test)
            elif value.dtype.kind not in "biu":
                raise NoNativeKernel
        if not finite:
            return p.constant(np.array(False))
        return p.map(np.logical_not, reduce(lambda a, b: p.map(np.logical_and, a, b), finite))

    op = ResolvedOperator(function, {})
    return tuple(EnginePredicate(op, group, late) for group, late in ((carried, False), (computed, True)) if group)
