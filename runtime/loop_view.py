"""Internals of frames: the state of a loop, the nodes of its body, branches and values.

Users see a :class:`~.frame.Frame`; this module adds what the debugger, recordings and comparisons need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from .engine.engine import Engine
from .errors import UsageError
from .graph import MAIN, Array, Loop, Node, StoppedBy, Value, ValueType, visible_values
from .max_trip_count import max_trip_count
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


@record(frozen=True, eq=False)
class CarriedValue:
    """The value carried by a back edge.

    At a boundary, ``previous`` is the input of the last iteration and ``value`` its result, the input of the next one;
    at iteration 0 ``previous`` is None. Inside an iteration, ``previous`` is its input and ``value`` its result, None
    (and ``ready`` false) until computed.

    >>> _ = session.step()
    >>> edge = session.frame.back_edges[0]
    >>> edge.param, edge.previous, edge.value
    ('x', array(2., dtype=float32), array(1.5, dtype=float32))
    """

    param: str
    result: str
    type: ValueType
    previous: Any
    value: Any
    ready: bool = True


class FrameInternals:
    """The state of a loop of a stopped engine, or of the main graph (``index`` -1), as frames show it.

    Internal: it may change with any version.
    """

    __slots__ = ("_cache", "_cache_state", "engine", "epoch", "index", "plan")

    def __init__(self, engine: Engine, index: int) -> None:
        self.engine = engine
        self.index = index
        self.epoch = engine.epoch
        self.plan = engine.plan.loops[index] if index >= 0 else None
        #: The loop state for which the cache of derived data is valid: an edit invalidates it. None: no cache yet.
        self._cache_state: tuple[Any, ...] | None = None

    def state(self) -> tuple[int, int | None, bool, StoppedBy | None, bool]:
        """As ``Engine.loop_state``.

        Raises:
            UsageError: the engine has continued since.
        """
        if self.engine.epoch != self.epoch:
            raise UsageError("this frame is over: the loop has gone on since; copy what is needed while it is current")
        if self.index < 0:
            return 0, None, True, None, True
        return self.engine.loop_state(self.index)

    def _cached(self, key: str, find: Callable[[], _T]) -> _T:
        """The result of ``find``, cached while the loop's state is unchanged."""
        state = self.state()
        if self._cache_state != state:
            self._cache: dict[str, Any] = {}
            self._cache_state = state
        if key not in self._cache:
            self._cache[key] = find()
        result: _T = self._cache[key]
        return result

    @property
    def enter(self) -> int:
        """Plan position of the loop's first instruction; -1: no loop."""
        return self.plan.enter if self.plan else -1

    @property
    def head(self) -> int:
        """Plan position of the loop's boundaries; -1: no loop."""
        return self.plan.head if self.plan else -1

    # The members of a frame without their documentation, for readers that need no checked arguments.

    @property
    def loop(self) -> Loop | None:
        return self.plan.loop if self.plan else None

    @property
    def name(self) -> str:
        return self.plan.loop.name if self.plan else MAIN

    @property
    def path(self) -> str:
        return self.plan.path if self.plan else MAIN

    @property
    def entry(self) -> tuple[int, ...]:
        self.state()
        iterations = []
        index = self.plan.parent if self.plan else -1
        while index >= 0:
            iterations.append(self.engine.loop_state(index)[0])
            index = self.engine.plan.loops[index].parent
        return tuple(reversed(iterations))

    @property
    def iteration(self) -> int:
        return self.state()[0]

    @property
    def trip_count(self) -> int | None:
        self.state()
        return None if self.plan is None else max_trip_count(self.engine, self.plan)

    @property
    def condition(self) -> bool | None:
        keep, plan = self.state()[2], self.plan
        return None if plan is None or (plan.condition < 0 and plan.initial_condition < 0) else keep

    @property
    def stopped_by(self) -> StoppedBy | None:
        return self.state()[3]

    @property
    def at_boundary(self) -> bool:
        running = self.state()[4]
        return self.plan is not None and (not running or self.engine.pc == self.plan.head)

    @property
    def back_edges(self) -> list[CarriedValue]:
        iteration, boundary = self.state()[0], self.at_boundary
        edges = []
        for k, e in enumerate(self.plan.edges if self.plan else []):
            current = self.value(e.param)
            names = (e.edge.param.name, e.edge.result.name, e.edge.param.type)
            if boundary:
                edges.append(CarriedValue(*names, self.previous(k) if iteration else None, current))
            else:
                ready = e.result == e.param or self.is_computed(e.edge.result)
                edges.append(CarriedValue(*names, current, self.value(e.result) if ready else None, ready))
        return edges

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        self.state()
        scans = self.plan.scans if self.plan else []
        return {s.output.outer.name: self.scan_output(k) for k, s in enumerate(scans)}

    @property
    def nodes(self) -> list[BodyNode]:
        return self._cached("nodes", self._find_nodes)

    @property
    def values(self) -> FrameValues:
        return self._cached("values", lambda: FrameValues(self))

    def previous_frame(self) -> None:
        """The frame at the previous boundary, if available without execution; always None here."""

    def value(self, slot: int) -> Any:
        """A copy of a slot's value."""
        return self.engine.value(slot)

    def previous(self, k: int) -> Any:
        """A copy of the value that back edge k carried into the previous iteration."""
        return self.engine.loops.previous(self.index, k)

    def scan_output(self, k: int) -> Any:
        """A copy of scan output k so far."""
        return self.engine.scans.output_so_far(self.index, k).copy()

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """The element count, full shape, dtype and newest elements of scan output k."""
        self.state()
        assert self.plan is not None
        count, full, latest = self.engine.scans.view(self.index, k, length)
        return count, tuple(full.shape), full.dtype.name, [np.array(row, latest.dtype) for row in latest]

    def _find_nodes(self) -> list[BodyNode]:
        engine = self.engine
        code = engine.plan.code
        boundary, stopped_by = self.at_boundary, self.stopped_by
        first = self.plan.top if self.plan else 0
        last = self.plan.next if self.plan else len(code) - 1
        ended = stopped_by is not None and boundary
        current_pc = self.plan.head + 1 if self.plan and boundary else engine.pc
        # The nodes of a condition that ended the loop were computed.
        condition_end = self.plan.head if self.plan and stopped_by is StoppedBy.CONDITION else -1
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
                skipped = pc < current_pc and bool(branches) and any(not taken for _, _, taken in branches)
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
        plan = self.engine.plan
        exit_: int = plan.loops[plan.code[enter].loop].exit
        return exit_

    def is_computed(self, value: Value) -> bool:
        """True if the running iteration has computed the value."""
        return all(n.state is NodeState.DONE for n in self.nodes if value in n.node.outputs)

    def branch_paths(self) -> dict[Value, BranchPath]:
        """Values computed inside the body's Ifs, with their branch paths."""
        plan: Plan = self.engine.plan
        if self.index not in plan.branch_paths:
            plan.branch_paths[self.index] = {
                value: branch_path for value, branch_path in values_with_branches(plan, self.plan) if branch_path
            }
        return plan.branch_paths[self.index]

    def branch_was_taken(self, branch_path: BranchPath) -> bool:
        """True if the body's Ifs last took this branch path."""
        return all(self.engine.loops.branch_taken(pc) is outcome for pc, outcome in branch_path)

    def scope(self) -> dict[str, Value]:
        """The visible values by name: the body's names shadow those of enclosing graphs; for names in both branches of
        an If, those of the branch taken last."""
        return dict(self._cached("scope", self._find_scope))

    def _find_scope(self) -> dict[str, Value]:
        scope = dict(self._visible_values())
        for value, branch_path in self.branch_paths().items():
            if scope[value.name] is not value and self.branch_was_taken(branch_path):
                scope.update(dict.fromkeys(value.names, value))
        return scope

    def _visible_values(self) -> dict[str, Value]:
        plan: Plan = self.engine.plan
        if self.index not in plan.names_by_body:
            graphs = []
            index = self.index
            while index >= 0:
                graphs.append(plan.loops[index].loop.body)
                index = plan.loops[index].parent
            plan.names_by_body[self.index] = visible_values([*graphs, plan.graph])
        return plan.names_by_body[self.index]


class FrameValues(Mapping[str, Any]):
    """The values of a frame by name; reading one copies it.

    A body value not yet computed in the current iteration has its value of the previous iteration; it is absent in
    iteration 0, and if that iteration took another branch.
    """

    def __init__(self, internals: FrameInternals) -> None:
        self._internals = internals
        self._scope = internals.scope()
        # Precomputed, since a body can have thousands of nodes and values.
        self._producers = {value: node for node in internals.nodes for value in node.node.outputs if value is not None}
        self._branch_paths = internals.branch_paths()

    def readable_slot(self, value: Value) -> int:
        """The slot that holds a value as this frame shows it; -1: the value is not available."""
        internals, engine = self._internals, self._internals.engine
        slot = engine.plan.slot_of.get(value)
        if slot is None or not engine.has_value(slot):
            return -1
        producer = self._producers.get(value)
        if producer is not None and producer.state is not NodeState.DONE:
            if internals.plan is None or not self._is_from_previous_iteration(value, producer):
                return -1
            # The last boundary may have swapped the buffers of result and parameter.
            for k, edge in enumerate(internals.plan.edges):
                if edge.result == slot and engine.loops.was_swapped(internals.index, k):
                    return edge.param
        return slot

    def _is_from_previous_iteration(self, value: Value, node: BodyNode) -> bool:
        """True if the previous iteration computed the value."""
        internals = self._internals
        if not internals.iteration or node.state is NodeState.SKIPPED:
            return False
        branch_path = self._branch_paths.get(value)
        if not branch_path:
            return True
        # After this iteration passed an If, the previous iteration's branch is no longer known.
        decided = not internals.at_boundary and any(pc < internals.engine.pc for pc, _ in branch_path)
        return not decided and internals.branch_was_taken(branch_path)

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph is available, and a copy of it; works for values that share a name."""
        self._internals.state()
        slot = self.readable_slot(value)
        return (False, None) if slot < 0 else (True, self._internals.value(slot))

    def read_all(self, values: Iterable[Value]) -> dict[Value, Any]:
        """Copies of those values of the loop graph that are available."""
        self._internals.state()
        available: dict[Value, Any] = {}
        for value in values:
            slot = self.readable_slot(value)
            if slot >= 0:
                available[value] = self._internals.value(slot)
        return available

    def __getitem__(self, name: str) -> Any:
        if name not in self._scope:
            hint = did_you_mean(name, self._scope)
            scope_text = "the main graph" if self._internals.index < 0 else f"loop '{self._internals.name}'"
            raise KeyError(f"{scope_text} has no value '{name}'{hint}")
        available, value = self.read(self._scope[name])
        if not available:
            raise KeyError(self._absence_reason(name, self._scope[name]))
        return value

    def _absence_reason(self, name: str, value: Value) -> str:
        """Why a value is absent."""
        internals = self._internals
        if internals.index < 0:
            return f"'{name}' is not computed yet"
        is_between = internals.at_boundary and internals.iteration > 0
        producer = self._producers.get(value)
        if producer is not None and (
            producer.state is NodeState.SKIPPED
            or (is_between and not internals.branch_was_taken(self._branch_paths.get(value, ())))
        ):
            return f"'{name}' has no value in iteration {internals.iteration - is_between}, which took the other branch"
        return f"'{name}' is not computed yet in iteration {internals.iteration}"

    def __iter__(self) -> Iterator[str]:
        return (
            name for name, value in self._scope.items() if name != value.short_name and self.readable_slot(value) >= 0
        )

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
