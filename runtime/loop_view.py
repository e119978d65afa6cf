"""The body of a frame's loop: its nodes, its branches and its values, for what reads frames from within.

Users see a :class:`~.frame.Frame`; here is what the debugger, recordings and comparisons need besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from .api_boundary import public_class
from .engine.engine import Engine
from .errors import UsageError
from .graph import MAIN, Array, Loop, Node, StoppedBy, Value, visible_values
from .plan.plan import LoopPlan, Opcode, Plan
from .record import record
from .text import did_you_mean

_T = TypeVar("_T")
#: The branches that lead to a node: positions of BRANCHes, and which way each must have gone.
BranchPath = tuple[tuple[int, bool], ...]


class NodeState(StrEnum):
    """Where a body node stands in the current iteration."""

    DONE = "done"
    NEXT = "next"
    TODO = "todo"
    #: In the branch that the iteration did not take.
    SKIPPED = "skipped"


@record(frozen=True)
class BodyNode:
    """One node of the body, in order. ``branch``: then or else inside an If; ``depth`` counts Ifs around it."""

    position: int
    node: Node
    depth: int
    branch: str
    state: NodeState


@public_class
class LoopView:
    """A loop of an engine, or the main graph, as long as the engine stands still; a frame is one that shows more.

    ``index``: the loop's in the plan, -1 for the main graph.
    """

    def __init__(self, engine: Engine, index: int) -> None:
        self._engine = engine
        self._index = index
        self._epoch = engine.epoch
        self._plan = engine.plan.loops[index] if index >= 0 else None
        #: What was computed of the frame, and the state of the loop that it is right for: an edit can change that.
        self._cache: dict[str, Any] = {}
        self._cache_state: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"<Frame {self.path}, iteration {self.iteration}>"

    def _state(self) -> tuple[int, int | None, bool, StoppedBy | None, bool]:
        if self._engine.epoch != self._epoch:
            raise UsageError("this frame is over: the loop has gone on since; copy what is needed while it is current")
        if self._index < 0:
            return 0, None, True, None, True
        return self._engine.loop_state(self._index)

    def _cached(self, what: str, find: Callable[[], _T]) -> _T:
        """What ``find`` gives, which is asked once as long as the frame's loop stands as it does."""
        state = self._state()
        if self._cache_state != state:
            self._cache, self._cache_state = {}, state
        if what not in self._cache:
            self._cache[what] = find()
        found: _T = self._cache[what]
        return found

    @property
    def _internals(self) -> FrameInternals:
        """For our own readers: what is in there may change with any version."""
        return FrameInternals(self)

    @property
    def index(self) -> int:
        """The loop's index in the plan; -1 for the main graph.

        ``session.totals[frame.index]`` tells how often it ran.

        >>> session.frame.index, session.frames[0].index
        (0, -1)
        """
        return self._index

    @property
    def loop(self) -> Loop | None:
        """The loop in the loop graph; None in the main graph.

        >>> [edge.param.name for edge in session.frame.loop.back_edges]
        ['x', 'err']
        """
        return self._plan.loop if self._plan else None

    @property
    def name(self) -> str:
        """The loop's name, or that of the main graph.

        >>> session.frame.name
        'sqrt'
        """
        return self._plan.loop.name if self._plan else MAIN

    @property
    def path(self) -> str:
        """Where the loop stands: ``main ▸ outer ▸ inner``.

        >>> session.frame.path
        'main ▸ sqrt'
        """
        return self._plan.path if self._plan else self.name

    @property
    def iteration(self) -> int:
        """The iteration that runs, or at a boundary the one that would run next.

        >>> _ = session.step(2)
        >>> session.frame.iteration
        2
        """
        return self._state()[0]

    @property
    def at_boundary(self) -> bool:
        """True between two iterations: before iteration 0, after the last one, and once the loop has been left.

        >>> _ = session.next_node()
        >>> session.frame.at_boundary
        False
        """
        running = self._state()[4]
        return self._plan is not None and (not running or self._engine.pc == self._plan.head)

    @property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order, those inside Ifs included, and where each stands in the current iteration.

        >>> _ = session.next_node(2)
        >>> [(entry.node.op_type, str(entry.state)) for entry in session.frame.nodes][:3]
        [('Mul', 'done'), ('Div', 'done'), ('Mul', 'next')]
        """
        return list(self._cached("nodes", self._internals.find_nodes))

    def _value(self, slot: int) -> Any:
        """What is shown of a slot: a copy."""
        return self._engine.value(slot)

    def _previous(self, k: int) -> Any:
        """What is shown of what back edge k carried into the iteration before."""
        return self._engine.loops.previous(self._index, k)


class FrameInternals:
    """What is behind a frame. It is made when it is asked for: most frames are those of hooks, of which few are."""

    __slots__ = ("_engine", "_frame", "_index", "_plan")

    def __init__(self, frame: LoopView) -> None:
        self._frame = frame
        self._engine = frame._engine
        self._index = frame._index
        self._plan = frame._plan

    @property
    def engine(self) -> Engine:
        """The engine that the frame looks at: for what has to read very many frames."""
        return self._engine

    @property
    def enter(self) -> int:
        """Position in the plan of the loop's first instruction; -1: no loop."""
        return self._plan.enter if self._plan else -1

    @property
    def head(self) -> int:
        """Position in the plan where the loop's boundaries are; -1: no loop."""
        return self._plan.head if self._plan else -1

    def previous_frame(self) -> None:
        """The frame at the boundary before this one, where that can be had without running anything: never here."""

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """Of scan output k: how many elements, the shape of the whole, its dtype, and the newest elements."""
        self._frame._state()
        assert self._plan is not None
        count, whole, newest = self._engine.scans.view(self._index, k, length)
        return count, tuple(whole.shape), whole.dtype.name, [np.array(row, newest.dtype) for row in newest]

    def find_nodes(self) -> list[BodyNode]:
        engine = self._engine
        code = engine.plan.code
        boundary = self._frame.at_boundary
        first = self._plan.top if self._plan else 0
        last = self._plan.next if self._plan else len(code) - 1
        ended = self._frame._state()[3] is not None and boundary
        now = self._plan.head + 1 if self._plan and boundary else engine.pc
        # What decided that the iteration does not run was computed for it all the same.
        decided = self._plan.head if self._plan and self._frame._state()[3] is StoppedBy.CONDITION else -1
        nodes: list[BodyNode] = []
        branches: list[tuple[Node, str, bool]] = []
        pc = first
        while pc < last:
            instruction = code[pc]
            step = 1
            if instruction.kind is Opcode.JUMP:
                branches[-1] = (
                    branches[-1][0],
                    "else",
                    not engine.loops.branch_taken(_branch_start(code, branches[-1][0])),
                )
            elif instruction.kind is Opcode.JOIN:
                start = branches.pop()[0]
                # Inside a branch the If has begun, but its outputs are written where the branches join.
                k = next(k for k, n in enumerate(nodes) if n.node is start)
                if now <= pc and nodes[k].state is NodeState.DONE:
                    nodes[k] = replace(nodes[k], state=NodeState.TODO)
            elif instruction.node is not None and instruction.kind is not Opcode.HEAD:
                skipped = any(not taken for _, _, taken in branches) and pc < now
                state = NodeState.SKIPPED if skipped else NodeState.DONE if pc < now else NodeState.TODO
                inside_now = instruction.kind is Opcode.ENTER and pc < now <= self._exit_of(pc)
                if (pc == now or inside_now) and not ended:
                    state = NodeState.NEXT
                if ended and pc > decided:
                    state = NodeState.TODO
                nodes.append(BodyNode(pc, instruction.node, len(branches), branches[-1][1] if branches else "", state))
                if instruction.kind is Opcode.BRANCH:
                    branches.append((instruction.node, "then", engine.loops.branch_taken(pc)))
                elif instruction.kind is Opcode.ENTER:
                    step = self._exit_of(pc) + 1 - pc
            pc += step
        return nodes

    def _exit_of(self, enter: int) -> int:
        plan = self._engine.plan
        exit_: int = plan.loops[plan.code[enter].loop].exit
        return exit_

    def is_computed(self, value: Value) -> bool:
        """True where a body node computed the value in the iteration that runs."""
        return all(n.state is NodeState.DONE for n in self._frame.nodes if value in n.node.outputs)

    def branch_paths(self) -> dict[Value, BranchPath]:
        """What the nodes inside the body's Ifs compute, with the branches that lead there."""
        plan: Plan = self._engine.plan
        if self._index not in plan.branch_paths:
            plan.branch_paths[self._index] = {
                value: way for value, way in values_with_branches(plan, self._plan) if way
            }
        return plan.branch_paths[self._index]

    def branch_was_taken(self, way: BranchPath) -> bool:
        """True where the Ifs of the body went that way when they last ran."""
        return all(self._engine.loops.branch_taken(pc) is word for pc, word in way)

    def scope(self) -> dict[str, Value]:
        """The values of the graph by name. Names as the body sees them: its own before those of enclosing graphs; of
        those that both branches of an If use, the branch that was taken last."""
        return dict(self._frame._cached("scope", self._find_scope))

    def _find_scope(self) -> dict[str, Value]:
        found = dict(self._visible_values())
        for value, way in self.branch_paths().items():
            if found[value.name] is not value and self.branch_was_taken(way):
                found.update(dict.fromkeys(value.names, value))
        return found

    def _visible_values(self) -> dict[str, Value]:
        plan: Plan = self._engine.plan
        if self._index not in plan.names_by_body:
            graphs = []
            index = self._index
            while index >= 0:
                graphs.append(plan.loops[index].loop.body)
                index = plan.loops[index].parent
            plan.names_by_body[self._index] = visible_values([*graphs, plan.graph])
        return plan.names_by_body[self._index]


class FrameValues(Mapping[str, Any]):
    """The values of a frame by name; reading one copies it.

    A body value that the current iteration has not computed yet has the value of the iteration before; it has none,
    and is not listed, in iteration 0 and where that iteration took another branch.
    """

    def __init__(self, frame: LoopView) -> None:
        self._frame = frame
        self._scope = frame._internals.scope()
        # Which node of the body makes a value; a body can have thousands of both.
        self._producers = {value: node for node in frame.nodes for value in node.node.outputs if value is not None}
        self._branch_paths = frame._internals.branch_paths()

    def _read(self, value: Value) -> tuple[bool, Any]:
        frame = self._frame
        engine = frame._engine
        slot = engine.plan.slot_of.get(value)
        if slot is None or not engine.has_value(slot):
            return False, None
        made_here = self._producers.get(value)
        if made_here is not None and made_here.state is not NodeState.DONE:
            if frame._index < 0 or frame.iteration == 0 or not self._is_from_previous_iteration(value, made_here):
                return False, None
            # The last boundary may have swapped this result's buffer with its parameter's.
            for k, edge in enumerate(frame._plan.edges if frame._plan else []):
                if edge.result == slot and engine.loops.was_swapped(frame._index, k):
                    slot = edge.param
        return True, frame._value(slot)

    def _is_from_previous_iteration(self, value: Value, node: BodyNode) -> bool:
        """Whether the iteration before computed what this one has not."""
        frame = self._frame
        way = self._branch_paths.get(value, ())
        # Where this iteration came by an If, which way the one before went is not known any more.
        decided = not frame.at_boundary and any(pc < frame._engine.pc for pc, _ in way)
        return node.state is not NodeState.SKIPPED and not decided and frame._internals.branch_was_taken(way)

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph has one now, and a copy of it; tells values that share a name apart."""
        self._frame._state()
        return self._read(value)

    def __getitem__(self, name: str) -> Any:
        if name not in self._scope:
            hint = did_you_mean(name, self._scope)
            where = "the main graph" if self._frame._index < 0 else f"loop '{self._frame.name}'"
            raise KeyError(f"{where} has no value '{name}'{hint}")
        there, value = self._read(self._scope[name])
        if not there:
            raise KeyError(self._absence_reason(name, self._scope[name]))
        return value

    def _absence_reason(self, name: str, value: Value) -> str:
        """Why a value has none."""
        frame = self._frame
        if frame._index < 0:
            return f"'{name}' is not computed yet"
        between = frame.at_boundary and frame.iteration > 0
        made = self._producers.get(value)
        if made is not None and (
            made.state is NodeState.SKIPPED
            or (between and not frame._internals.branch_was_taken(self._branch_paths.get(value, ())))
        ):
            return f"'{name}' has no value in iteration {frame.iteration - between}, which took the other branch"
        return f"'{name}' is not computed yet in iteration {frame.iteration}"

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._scope.items() if name != value.short_name and self._read(value)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _branch_start(code: list[Any], node: Node) -> int:
    return next(pc for pc, i in enumerate(code) if i.node is node and i.kind is Opcode.BRANCH)


def values_with_branches(plan: Plan, loop: LoopPlan | None) -> Iterator[tuple[Value, BranchPath]]:
    """What a body's nodes compute (None: those of the main graph), those inside Ifs included, each with the branches
    that lead to it."""
    branches: list[tuple[int, bool]] = []
    pc, end = (0, len(plan.code) - 1) if loop is None else (loop.top, loop.next)
    while pc < end:
        instruction = plan.code[pc]
        node = None if instruction.kind is Opcode.HEAD else instruction.node
        outputs: list[Value | None] = [] if node is None else node.outputs
        if instruction.kind is Opcode.ENTER:
            pc = plan.loops[instruction.loop].exit
        elif instruction.kind is Opcode.BRANCH:
            branches.append((pc, True))
            outputs = []
        elif instruction.kind is Opcode.JUMP:
            branches[-1] = (branches[-1][0], False)
            outputs = []
        elif instruction.kind is Opcode.JOIN:
            branches.pop()
        yield from ((value, tuple(branches)) for value in outputs if value is not None)
        pc += 1
