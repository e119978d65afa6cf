"""Fingerprints of slot contents, as cache keys for what is computed from a value.

Execution is deterministic: each pass through a position of a branch gives the same values. So the writer of a slot,
the iterations of the write and the branch identify a value.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from ...runtime.engine.engine import Engine
from ...runtime.plan.plan import LoopPlan, Opcode, Plan
from .positions import Position


class _SlotWriter(NamedTuple):
    """The writer of a slot. ``loop``: the loop whose iterations write it, -1: none; ``pc``: the instruction that writes
    it, -1: it is written at the boundary."""

    loop: int
    pc: int


class ValueFingerprints:
    """The fingerprints for a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        #: None: there are several writers.
        self._writers: dict[int, _SlotWriter | None] = {}
        #: Result -> parameter of the next iteration with the same value.
        self._param_of_result: dict[int, int] = {}
        for slot in [slot for _, slot in plan.inputs] + [slot for slot, _ in plan.constants]:
            self._set_writer(slot, _SlotWriter(-1, -1))
        for pc, instruction in enumerate(plan.code):
            if instruction.kind in (Opcode.NODE, Opcode.JOIN):
                for slot in instruction.outputs:
                    self._set_writer(slot, _SlotWriter(instruction.inside, pc))
        for loop in plan.loops:
            self._add_loop(loop)

    def _set_writer(self, slot: int, writer: _SlotWriter) -> None:
        self._writers[slot] = writer if self._writers.get(slot, writer) == writer else None

    def _add_loop(self, loop: LoopPlan) -> None:
        params = [edge.param for edge in loop.edges] + [s.inner for s in loop.slices]
        for slot in params:
            self._set_writer(slot, _SlotWriter(loop.index, -1))
        for slot in [value.outer for value in loop.last_values] + [port.outer for port in loop.scans]:
            self._set_writer(slot, _SlotWriter(loop.parent, loop.exit))
        for edge in loop.edges:
            writer = self._writers.get(edge.result)
            if writer is not None and writer.loop == loop.index and writer.pc >= 0:
                self._param_of_result.setdefault(edge.result, edge.param)

    def fingerprint(
        self, engine: Engine, slot: int, branch_state: Hashable, fork: Position | None, before: int = 0
    ) -> Hashable | None:
        """The key of a slot's contents at the current position of a branch; None: unknown. ``branch_state``: the branch
        and its edits at ``fork``; ``before``: number of iterations ago."""
        writer = self._writers.get(slot)
        if writer is None:
            return None
        if writer.loop < 0:
            return branch_state, slot
        stack, loop = engine.stack, self._plan.loops[writer.loop]
        # Values of a loop test before the boundary belong to neither iteration.
        if writer.loop not in stack or loop.top != loop.head:
            return None
        position = engine.position[: 2 * stack.index(writer.loop) + 2]
        outer, iteration = position[1:-1:2], position[-1] - before
        if writer.pc >= 0:
            iteration -= engine.pc <= writer.pc
            write_position = (*position[:-1], iteration, writer.pc)
            # After an edit the parameter may hold the edited value.
            if slot in self._param_of_result and (fork is None or write_position > fork):
                slot, iteration = self._param_of_result[slot], iteration + 1
        return branch_state, slot, outer, iteration
