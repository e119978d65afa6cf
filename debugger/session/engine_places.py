"""Where an engine can stop, and where it stands: places of a plan, whose nodes are known by their instructions."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.graph import Node, visible
from ...runtime.plan.plan import Kind, LoopPlan
from ..expression.language import Expression
from ..words.source import positions
from .places import Places

#: Instructions that are nodes to step over: operations, loops and Ifs.
_STOPPABLE = (Kind.NODE, Kind.ENTER, Kind.BRANCH)


class EnginePlaces(Places):
    """The places of one plan, and where its engine stands among them."""

    loops: list[LoopPlan]

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.plan.graph, engine.plan.loops)
        self._engine = engine

    def here(self) -> int:
        stack = self._engine.stack
        if stack:
            return stack[-1]
        last = self.last_loop()
        return last if last >= 0 else 0 if self.loops else -1

    def last_loop(self) -> int:
        """The loop of the main graph that was left last; -1: none was."""
        pc = self._engine.pc
        left = [p for p in self.loops if p.parent < 0 and p.exit < pc and self._engine.loops.totals(p.index)[1]]
        return max(left, key=lambda plan: plan.exit).index if left else -1

    def at_boundary(self) -> bool:
        stack = self._engine.stack
        return bool(stack) and self._engine.pc == self.loops[stack[-1]].head

    def head(self, enter: int) -> int:
        """Where the boundaries of a loop are, by its first instruction."""
        return enter + 1

    def check_nodes(self) -> None:
        """Any node will do."""

    def nodes(self, index: int | None = None) -> Iterator[tuple[int, Node]]:
        for pc, instruction in enumerate(self._engine.plan.code):
            if instruction.kind in _STOPPABLE and index in (None, instruction.inside):
                yield pc, self.node_at(pc)

    def node_at(self, position: int) -> Node:
        node = self._engine.plan.code[position].node
        assert node is not None
        return node

    def inside(self, position: int) -> int:
        return self._engine.plan.code[position].inside

    def traps(self, expression: Expression) -> frozenset[int]:
        scope = visible([self.graph])
        made = {scope[name] for name in expression.names}
        code = self._engine.plan.code
        # A loop and an If have several instructions; their outputs are there after the last.
        last = max(
            (pc for pc, i in enumerate(code) if i.node is not None and made.intersection(i.node.outputs)), default=-1
        )
        after = range(last + 1, len(code))
        return frozenset(pc for pc in after if code[pc].kind in _STOPPABLE and code[pc].inside < 0)

    def before_loops(self, position: int) -> bool:
        return bool(self.loops) and position < min(plan.enter for plan in self.loops)

    def node_of_line(self, number: int) -> int:
        by_node = positions(self._engine.plan)
        for line in self.source.lines:
            if line.number >= number and line.node is not None:
                return by_node[line.node]
        raise UsageError(f"there is no node on line {number} or after it; the model has {len(self.source.lines)} lines")

    def node_here(self) -> int:
        code = self._engine.plan.code
        pc = self._engine.pc
        while pc < len(code):
            if code[pc].kind in _STOPPABLE:
                return pc
            pc += 1
        raise UsageError("no node comes after this")
