"""Keys that tell the contents of slots apart, so that what was found of a value holds wherever it is met again.

A run gives the same values each time it comes by a position of one line of time. So a value is told by what writes its
slot, by the iterations in which that was done, and by the line.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from ...runtime.engine.engine import Engine
from ...runtime.plan.plan import LoopPlan, Opcode, Plan
from .branches import Branch


class _SlotWriter(NamedTuple):
    """What writes a slot. ``loop``: in whose iterations that is, -1: in none; ``pc``: the instruction after which it is
    done, -1: the boundary has done it."""

    loop: int
    pc: int


class ValueFingerprints:
    """The keys for a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        #: None: more than one thing writes it.
        self._writers: dict[int, _SlotWriter | None] = {}
        #: Result -> parameter: what an iteration yields is what the next one gets.
        self._param_of_result: dict[int, int] = {}
        for slot in [slot for _, slot in plan.inputs] + [slot for slot, _ in plan.constants]:
            self._set_writer(slot, _SlotWriter(-1, -1))
        for pc, instruction in enumerate(plan.code):
            if instruction.kind in (Opcode.NODE, Opcode.JOIN):
                for slot in instruction.outputs:
                    self._set_writer(slot, _SlotWriter(instruction.inside, pc))
        for loop in plan.loops:
            self._add_loop(loop)

    def _set_writer(self, slot: int, home: _SlotWriter) -> None:
        self._writers[slot] = home if self._writers.get(slot, home) == home else None

    def _add_loop(self, loop: LoopPlan) -> None:
        given = [edge.param for edge in loop.edges] + [one.inner for one in loop.slices]
        for slot in given:
            self._set_writer(slot, _SlotWriter(loop.index, -1))
        for slot in [last.outer for last in loop.last_values] + [scan.outer for scan in loop.scans]:
            self._set_writer(slot, _SlotWriter(loop.parent, loop.exit))
        for edge in loop.edges:
            home = self._writers.get(edge.result)
            if home is not None and home.loop == loop.index and home.pc >= 0:
                self._param_of_result.setdefault(edge.result, edge.param)

    def fingerprint(self, engine: Engine, slot: int, branch: Branch, before: int = 0) -> Hashable | None:
        """What tells the contents of a slot, where the engine stands on a branch; None: nothing does. ``before``: of so
        many iterations ago."""
        home = self._writers.get(slot)
        if home is None:
            return None
        line = branch.number, len(branch.edits)
        if home.loop < 0:
            return line, slot
        stack, loop = engine.stack, self._plan.loops[home.loop]
        # What is tested before its boundary is of neither iteration.
        if home.loop not in stack or loop.top != loop.head:
            return None
        position = engine.position[: 2 * stack.index(home.loop) + 2]
        around, iteration = position[1:-1:2], position[-1] - before
        if home.pc >= 0:
            iteration -= engine.pc <= home.pc
            written = (*position[:-1], iteration, home.pc)
            # Of what was there when something was set by hand, the parameter may be what was set.
            if slot in self._param_of_result and (branch.fork is None or written > branch.fork):
                slot, iteration = self._param_of_result[slot], iteration + 1
        return line, slot, around, iteration
