"""Where a session can stop: loops and nodes by name, and the names that a loop's body knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cached_property

from ..runtime.engine import Engine
from ..runtime.errors import UsageError
from ..runtime.frame import Frame
from ..runtime.graph import Node
from ..runtime.plan import Kind, LoopPlan
from .expression.errors import near
from .expressions import Expression
from .source import Source, positions, source

#: Instructions that are nodes to step over: operations, loops and Ifs.
_STOPPABLE = (Kind.NODE, Kind.ENTER, Kind.BRANCH)


class Places:
    """The places of one plan, and where its engine stands among them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._names: dict[int, frozenset[str]] = {}

    @cached_property
    def loops(self) -> list[LoopPlan]:
        """The plan's loops, outer before inner."""
        return self._engine.plan.loops

    def around(self, index: int) -> list[int]:
        """The loops around one, innermost first."""
        found = []
        while (index := self.loops[index].parent) >= 0:
            found.append(index)
        return found

    def loop_named(self, name: str) -> int:
        """The index of a loop by its name or its path.

        Raises:
            UsageError: there is none of that name, or several.
        """
        found = [plan.index for plan in self.loops if name in (plan.loop.name, plan.path)]
        if len(found) == 1:
            return found[0]
        if found:
            paths = ", ".join(f"'{self.loops[k].path}'" for k in found)
            raise UsageError(f"several loops are called '{name}': {paths}; give the path in quotes")
        have = [plan.loop.name for plan in self.loops]
        near = difflib.get_close_matches(name, have, 1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(have) or 'none'}"
        raise UsageError(f"there is no loop '{name}'{hint}")

    def here(self) -> int:
        """The loop that the engine is in; else the one that ended last, else the first; -1: the model has none."""
        stack = self._engine.stack
        if stack:
            return stack[-1]
        last = self.last_loop()
        return last if last >= 0 else 0 if self.loops else -1

    def last_loop(self) -> int:
        """The loop of the main graph that was left last; -1: none was."""
        pc = self._engine.pc
        left = [p for p in self.loops if p.parent < 0 and p.exit < pc and self._engine.totals(p.index)[1]]
        return max(left, key=lambda plan: plan.exit).index if left else -1

    def at_boundary(self) -> bool:
        """True where the engine stands at a boundary of its innermost loop."""
        stack = self._engine.stack
        return bool(stack) and self._engine.pc == self.loops[stack[-1]].head

    def head(self, enter: int) -> int:
        """Where the boundaries of a loop are, by its first instruction."""
        return enter + 1

    def node_at(self, pc: int) -> Node:
        """The node of an instruction."""
        node = self._engine.plan.code[pc].node
        assert node is not None
        return node

    @cached_property
    def source(self) -> Source:
        """The model as pseudo-code; its lines are what ``break 9`` means."""
        return source(self._engine.plan.graph)

    def node_of_line(self, number: int) -> int:
        """The node of a line of the pseudo-code, or the first after it.

        Raises:
            UsageError: there is none.
        """
        by_node = positions(self._engine.plan)
        for line in self.source.lines:
            if line.number >= number and line.node is not None:
                return by_node[line.node]
        raise UsageError(f"there is no node on line {number} or after it; the model has {len(self.source.lines)} lines")

    def node_here(self) -> int:
        """The node that runs next.

        Raises:
            UsageError: none does.
        """
        code = self._engine.plan.code
        pc = self._engine.pc
        while pc < len(code):
            if code[pc].kind in _STOPPABLE:
                return pc
            pc += 1
        raise UsageError("no node comes after this")

    def nodes(self, index: int | None = None) -> Iterator[tuple[int, Node]]:
        """Positions and nodes that a session can stop before; ``index``: only those directly in that loop's body."""
        for pc, instruction in enumerate(self._engine.plan.code):
            if instruction.kind in _STOPPABLE and index in (None, instruction.inside):
                yield pc, self.node_at(pc)

    def inside(self, pc: int) -> int:
        """The loop whose body holds an instruction; -1: the main graph."""
        return self._engine.plan.code[pc].inside

    def names(self, index: int) -> frozenset[str]:
        """Every name that has a value somewhere in a loop's body (-1: the main graph), scan outputs included."""
        if index not in self._names:
            names = set(Frame(self._engine, index).scope())
            if index >= 0:
                names.update(scan.output.outer.name for scan in self.loops[index].scans)
            self._names[index] = frozenset(names)
        return self._names[index]

    def check(self, expression: Expression, index: int) -> None:
        """See that a loop's body has all the names of an expression.

        Raises:
            UsageError: it does not; the text says what is near.
        """
        names = self.names(index)
        for name in sorted(expression.names - names):
            similar = near(name, names)
            hint = f"; did you mean {' or '.join(repr(one) for one in similar)}?" if similar else ""
            where = f"loop '{self.loops[index].loop.name}'" if index >= 0 else "the main graph"
            raise UsageError(f"{where} has no value '{name}' (in '{expression.text}'){hint}")

    def ifs(self, pc: int) -> list[tuple[Node, str]]:
        """The Ifs of the same body in whose branches an instruction stands, with the branch, innermost first."""
        code = self._engine.plan.code
        found = []
        for start, instruction in enumerate(code[:pc]):
            if instruction.kind is Kind.BRANCH and instruction.inside == self.inside(pc):
                join = code[instruction.target - 1].target - 1
                if pc <= join:
                    found.append((self.node_at(start), "then" if pc < instruction.target else "else"))
        return found[::-1]
