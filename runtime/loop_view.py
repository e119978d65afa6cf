"""Internal view of a frame's loop body: nodes, branches and values.

Users see a :class:`~.frame.Frame`; this module adds what the debugger, recordings and comparisons need.
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
#: The branches that lead to a node: positions of BRANCH instructions, and their outcomes.
BranchPath = tuple[tuple[int, bool], ...]


class NodeState(StrEnum):
    """The progress of a body node in the current iteration."""

    DONE = "done"
    NEXT = "next"
    TODO = "todo"
    #: In a branch not taken.
    SKIPPED = "skipped"


@record(frozen=True)
class BodyNode:
    """A node of the body. ``branch``: "then" or "else" inside an If; ``depth``: number of enclosing Ifs."""

    position: int
    node: Node
    depth: int
    branch: str
    state: NodeState


@public_class
class LoopView:
    """A loop of a stopped engine, or the main graph; base class of frames.

    ``index``: index of the loop in the plan, -1 for the main graph.
    """

    def __init__(self, engine: Engine, index: int) -> None:
        self._engine = engine
        self._index = index
        self._epoch = engine.epoch
        self._plan = engine.plan.loops[index] if index >= 0 else None
        #: Cache of derived data, and the loop state for which it is valid: an edit invalidates it.
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

    def _cached(self, key: str, find: Callable[[], _T]) -> _T:
        """The result of ``find``, cached while the loop's state is unchanged."""
        state = self._state()
        if self._cache_state != state:
            self._cache, self._cache_state = {}, state
        if key not in self._cache:
            self._cache[key] = find()
        result: _T = self._cache[key]
        return result

    @property
    def _internals(self) -> FrameInternals:
        """Internal accessors, which may change with any version."""
        return FrameInternals(self)

    @property
    def index(self) -> int:
        """The loop's index in the plan; -1 for the main graph.

        ``session.totals[frame.index]`` has its iteration counts.

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
        """The name of the loop or of the main graph.

        >>> session.frame.name
        'sqrt'
        """
        return self._plan.loop.name if self._plan else MAIN

    @property
    def path(self) -> str:
        """The path of the loop: ``main ▸ outer ▸ inner``.

        >>> session.frame.path
        'main ▸ sqrt'
        """
        return self._plan.path if self._plan else self.name

    @property
    def iteration(self) -> int:
        """The running iteration, or at a boundary the next one.

        >>> _ = session.step(2)
        >>> session.frame.iteration
        2
        """
        return self._state()[0]

    @property
    def at_boundary(self) -> bool:
        """True between iterations: before iteration 0, after the last one, and after the loop has ended.

        >>> _ = session.next_node()
        >>> session.frame.at_boundary
        False
        """
        running = self._state()[4]
        return self._plan is not None and (not running or self._engine.pc == self._plan.head)

    @property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order, including those inside Ifs, with their progress in the current iteration.

        >>> _ = session.next_node(2)
        >>> [(entry.node.op_type, str(entry.state)) for entry in session.frame.nodes][:3]
        [('Mul', 'done'), ('Div', 'done'), ('Mul', 'next')]
        """
        return list(self._cached("nodes", self._internals.find_nodes))

    def _value(self, slot: int) -> Any:
        """A copy of a slot's value."""
        return self._engine.value(slot)

    def _previous(self, k: int) -> Any:
        """A copy of the value that back edge k carried into the previous iteration."""
        return self._engine.loops.previous(self._index, k)


class FrameInternals:
    """Internals of a frame, created lazily, since most frames of hooks never need them."""

    __slots__ = ("_engine", "_frame", "_index", "_plan")

    def __init__(self, frame: LoopView) -> None:
        self._frame = frame
        self._engine = frame._engine
        self._index = frame._index
        self._plan = frame._plan

    @property
    def engine(self) -> Engine:
        """The engine of the frame, for callers that read many frames."""
        return self._engine

    @property
    def enter(self) -> int:
        """Plan position of the loop's first instruction; -1: no loop."""
        return self._plan.enter if self._plan else -1

    @property
    def head(self) -> int:
        """Plan position of the loop's boundaries; -1: no loop."""
        return self._plan.head if self._plan else -1

    def previous_frame(self) -> None:
        """The frame at the previous boundary, if available without execution; always None here."""

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """The element count, full shape, dtype and newest elements of scan output k."""
        self._frame._state()
        assert self._plan is not None
        count, full, latest = self._engine.scans.view(self._index, k, length)
        return count, tuple(full.shape), full.dtype.name, [np.array(row, latest.dtype) for row in latest]

    def find_nodes(self) -> list[BodyNode]:
        engine = self._engine
        code = engine.plan.code
        boundary = self._frame.at_boundary
        first = self._plan.top if self._plan else 0
        last = self._plan.next if self._plan else len(code) - 1
        ended = self._frame._state()[3] is not None and boundary
        current_pc = self._plan.head + 1 if self._plan and boundary else engine.pc
        # The nodes of a condition that ended the loop were computed.
        condition_end = self._plan.head if self._plan and self._frame._state()[3] is StoppedBy.CONDITION else -1
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
                # Inside a branch the If is active, but its outputs are written at the JOIN.
                k = next(k for k, n in enumerate(nodes) if n.node is start)
                if current_pc <= pc and nodes[k].state is NodeState.DONE:
                    nodes[k] = replace(nodes[k], state=NodeState.TODO)
            elif instruction.node is not None and instruction.kind is not Opcode.HEAD:
                skipped = any(not taken for _, _, taken in branches) and pc < current_pc
                state = NodeState.SKIPPED if skipped else NodeState.DONE if pc < current_pc else NodeState.TODO
                is_inside = instruction.kind is Opcode.ENTER and pc < current_pc <= self._exit_of(pc)
                if (pc == current_pc or is_inside) and not ended:
                    state = NodeState.NEXT
                if ended and pc > condition_end:
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
        """True if the running iteration has computed the value."""
        return all(n.state is NodeState.DONE for n in self._frame.nodes if value in n.node.outputs)

    def branch_paths(self) -> dict[Value, BranchPath]:
        """Values computed inside the body's Ifs, with their branch paths."""
        plan: Plan = self._engine.plan
        if self._index not in plan.branch_paths:
            plan.branch_paths[self._index] = {
                value: branch_path for value, branch_path in values_with_branches(plan, self._plan) if branch_path
            }
        return plan.branch_paths[self._index]

    def branch_was_taken(self, branch_path: BranchPath) -> bool:
        """True if the body's Ifs last took this branch path."""
        return all(self._engine.loops.branch_taken(pc) is outcome for pc, outcome in branch_path)

    def scope(self) -> dict[str, Value]:
        """The visible values by name: the body's names shadow those of enclosing graphs; for names in both branches of
        an If, those of the branch taken last."""
        return dict(self._frame._cached("scope", self._find_scope))

    def _find_scope(self) -> dict[str, Value]:
        scope = dict(self._visible_values())
        for value, branch_path in self.branch_paths().items():
            if scope[value.name] is not value and self.branch_was_taken(branch_path):
                scope.update(dict.fromkeys(value.names, value))
        return scope

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

    A body value not yet computed in the current iteration has its value of the previous iteration; it is absent in
    iteration 0, and if that iteration took another branch.
    """

    def __init__(self, frame: LoopView) -> None:
        self._frame = frame
        self._scope = frame._internals.scope()
        # Precomputed, since a body can have thousands of nodes and values.
        self._producers = {value: node for node in frame.nodes for value in node.node.outputs if value is not None}
        self._branch_paths = frame._internals.branch_paths()

    def _read(self, value: Value) -> tuple[bool, Any]:
        frame = self._frame
        engine = frame._engine
        slot = engine.plan.slot_of.get(value)
        if slot is None or not engine.has_value(slot):
            return False, None
        producer = self._producers.get(value)
        if producer is not None and producer.state is not NodeState.DONE:
            if frame._index < 0 or frame.iteration == 0 or not self._is_from_previous_iteration(value, producer):
                return False, None
            # The last boundary may have swapped the buffers of result and parameter.
            for k, edge in enumerate(frame._plan.edges if frame._plan else []):
                if edge.result == slot and engine.loops.was_swapped(frame._index, k):
                    slot = edge.param
        return True, frame._value(slot)

    def _is_from_previous_iteration(self, value: Value, node: BodyNode) -> bool:
        """True if the previous iteration computed the value."""
        frame = self._frame
        branch_path = self._branch_paths.get(value, ())
        # After this iteration passed an If, the previous iteration's branch is no longer known.
        decided = not frame.at_boundary and any(pc < frame._engine.pc for pc, _ in branch_path)
        return node.state is not NodeState.SKIPPED and not decided and frame._internals.branch_was_taken(branch_path)

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph is available, and a copy of it; works for values that share a name."""
        self._frame._state()
        return self._read(value)

    def __getitem__(self, name: str) -> Any:
        if name not in self._scope:
            hint = did_you_mean(name, self._scope)
            scope_text = "the main graph" if self._frame._index < 0 else f"loop '{self._frame.name}'"
            raise KeyError(f"{scope_text} has no value '{name}'{hint}")
        available, value = self._read(self._scope[name])
        if not available:
            raise KeyError(self._absence_reason(name, self._scope[name]))
        return value

    def _absence_reason(self, name: str, value: Value) -> str:
        """Why a value is absent."""
        frame = self._frame
        if frame._index < 0:
            return f"'{name}' is not computed yet"
        is_between = frame.at_boundary and frame.iteration > 0
        producer = self._producers.get(value)
        if producer is not None and (
            producer.state is NodeState.SKIPPED
            or (is_between and not frame._internals.branch_was_taken(self._branch_paths.get(value, ())))
        ):
            return f"'{name}' has no value in iteration {frame.iteration - is_between}, which took the other branch"
        return f"'{name}' is not computed yet in iteration {frame.iteration}"

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._scope.items() if name != value.short_name and self._read(value)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _branch_start(code: list[Any], node: Node) -> int:
    return next(pc for pc, i in enumerate(code) if i.node is node and i.kind is Opcode.BRANCH)


def values_with_branches(plan: Plan, loop: LoopPlan | None) -> Iterator[tuple[Value, BranchPath]]:
    """Values computed in a body (None: in the main graph), including those inside Ifs, each with its branch path."""
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
