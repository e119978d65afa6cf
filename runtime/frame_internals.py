"""Internals of frames: the state of a loop, the nodes of its body, branches and values.

Users see a :class:`~.frame.Frame`; this module adds what the debugger, recordings and comparisons need.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Protocol, Self

import numpy as np

from .engine.engine import Engine
from .errors import UsageError
from .graph import MAIN, Array, Loop, Node, StoppedBy, Value, ValueType, effective_trip_count, visible_values
from .plan.plan import LoopPlan, Opcode, Plan
from .record import record
from .text import did_you_mean

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
    previous: Array | Any
    value: Array | Any
    ready: bool = True


#: The state of the main graph, as ``Engine.loop_state`` gives it for loops.
_MAIN_STATE = (0, None, True, None, True)


class FrameInternals:
    """The state of a loop of a stopped engine, or of the main graph (``index`` -1): its fields are read once, its
    values when they are asked for.

    Internal: it may change with any version.
    """

    __slots__ = (
        "_loop_state", "_nodes", "_scope", "_states", "at_boundary", "condition", "engine", "epoch", "index",
        "iteration", "loop", "name", "path", "plan", "stopped_by",
    )  # fmt: skip

    def __init__(self, engine: Engine, index: int) -> None:
        self.engine = engine
        self.index = index
        self.epoch = engine.epoch
        plan: LoopPlan | None = engine.plan.loops[index] if index >= 0 else None
        self.plan = plan
        self.loop: Loop | None = plan.loop if plan else None
        self.name: str = plan.loop.name if plan else MAIN
        self.path: str = plan.path if plan else MAIN
        self._read_state()

    def _read_state(self) -> None:
        plan = self.plan
        state = _MAIN_STATE if plan is None else self.engine.loop_state(self.index)
        self._loop_state = state
        self.iteration: int = state[0]
        has_condition = plan is not None and (plan.condition >= 0 or plan.initial_condition >= 0)
        self.condition: bool | None = state[2] if has_condition else None
        self.stopped_by: StoppedBy | None = state[3]
        self.at_boundary: bool = plan is not None and (not state[4] or self.engine.pc == plan.head)
        self._nodes: list[BodyNode] | None = None
        #: The states of the nodes that compute the body's values.
        self._states: dict[Value, NodeState] = {}
        self._scope: dict[str, Value] | None = None

    def current(self) -> Self:
        """This state, read again if it was edited.

        Raises:
            UsageError: the engine has continued since.
        """
        if self.engine.epoch != self.epoch:
            raise UsageError("this frame is over: the loop has gone on since; copy what is needed while it is current")
        if self.plan is not None and self.engine.loop_state(self.index) != self._loop_state:
            self._read_state()
        return self

    # The members of a frame without their documentation, for readers that need no checked arguments.

    @property
    def entry(self) -> tuple[int, ...]:
        iterations = []
        index = self.plan.parent if self.plan else -1
        while index >= 0:
            iterations.append(self.engine.loop_state(index)[0])
            index = self.engine.plan.loops[index].parent
        return tuple(reversed(iterations))

    @property
    def around(self) -> FrameInternals | None:
        return None if self.plan is None else FrameInternals(self.engine, self.plan.parent)

    @property
    def trip_count(self) -> int | None:
        return None if self.plan is None else max_trip_count(self.engine, self.plan)

    @property
    def carried(self) -> dict[str, Any]:
        edges = self.plan.edges if self.plan else []
        return {e.edge.param.name: self.engine.value(e.param) for e in edges}

    @property
    def back_edges(self) -> list[CarriedValue]:
        plans = self.plan.edges if self.plan else []
        edges: list[CarriedValue] = []
        states = {} if self.at_boundary or not self.nodes else self._states
        for k, (e, current) in enumerate(zip(plans, self.copy_slots([e.param for e in plans]), strict=True)):
            names = (e.edge.param.name, e.edge.result.name, e.edge.param.type)
            if self.at_boundary:
                edges.append(CarriedValue(*names, self.previous(k) if self.iteration else None, current))
            else:
                ready = e.result == e.param or states.get(e.edge.result, NodeState.DONE) is NodeState.DONE
                edges.append(CarriedValue(*names, current, self.copy_slots((e.result,))[0] if ready else None, ready))
        return edges

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        scans = self.plan.scans if self.plan else []
        return {s.output.outer.name: self.scan_output(k) for k, s in enumerate(scans)}

    @property
    def nodes(self) -> list[BodyNode]:
        return self._read_nodes() if self._nodes is None else self._nodes

    @property
    def values(self) -> FrameValues:
        return FrameValues(self)

    def previous_frame(self) -> None:
        """The frame at the previous boundary, if available without execution; always None here."""

    def copy_slots(self, slots: Sequence[int]) -> list[Any]:
        """Copies of the values of slots."""
        return [self.engine.value(slot) for slot in slots]

    def previous(self, k: int) -> Any:
        """A copy of the value that back edge k carried into the previous iteration."""
        return self.engine.loops.previous(self.index, k)

    def scan_output(self, k: int) -> Any:
        """A copy of scan output k so far."""
        return self.engine.scans.output_so_far(self.index, k).copy()

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """The element count, full shape, dtype and newest elements of scan output k."""
        count, full, latest = self.engine.scans.view(self.index, k, length)
        return count, tuple(full.shape), full.dtype.name, [np.array(row, latest.dtype) for row in latest]

    # -- values

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph is available, and a copy of it; works for values that share a name."""
        available = self.read_all((value,))
        return value in available, available.get(value)

    def read_all(self, values: Iterable[Value]) -> dict[Value, Any]:
        """Copies of those values of the loop graph that are available."""
        slots = self.available(values)
        return dict(zip(slots, self.copy_slots(tuple(slots.values())), strict=True))

    def read_filled_slots(self, values: Iterable[Value]) -> dict[Value, Any]:
        """Copies of those values whose slots are filled. Faster than :meth:`read_all`, which looks at all nodes of the
        body: for values that no node of the running iteration computes."""
        slots = ((value, self.engine.plan.slot_of.get(value)) for value in values)
        return {value: self.engine.value(k) for value, k in slots if k is not None and self.engine.has_value(k)}

    def available(self, values: Iterable[Value]) -> dict[Value, int]:
        """The available ones of some values, with the slots that hold them as this frame shows them.

        A body value not yet computed in the current iteration has its value of the previous iteration; it is absent in
        iteration 0, and if that iteration took another branch.
        """
        engine, plan = self.engine, self.plan
        if self._nodes is None:
            self._read_nodes()
        slot_of, has_value, states = engine.plan.slot_of, engine.has_value, self._states
        branch_paths = engine.plan.branch_paths.get(self.index)
        if branch_paths is None:
            branch_paths = self.branch_paths()
        slots: dict[Value, int] = {}
        for value in values:
            slot = slot_of.get(value)
            if slot is None or not has_value(slot):
                continue
            state = states.get(value, NodeState.DONE)
            if state is not NodeState.DONE:
                if plan is None or not self.iteration or state is NodeState.SKIPPED:
                    continue
                if value in branch_paths and not self._was_branch_taken_before(branch_paths[value]):
                    continue
                # The last boundary may have swapped the buffers of result and parameter.
                for k, edge in enumerate(plan.edges):
                    if edge.result == slot and engine.loops.was_swapped(self.index, k):
                        slot = edge.param
                        break
            slots[value] = slot
        return slots

    def _was_branch_taken_before(self, branch_path: BranchPath) -> bool:
        """True if the previous iteration is known to have taken a branch path: after this iteration passed an If, that
        of the previous one is no longer known."""
        is_decided = not self.at_boundary and any(pc < self.engine.pc for pc, _ in branch_path)
        return not is_decided and self.branch_was_taken(branch_path)

    def absence_reason(self, name: str, value: Value) -> str:
        """Why a value is absent."""
        if self.index < 0:
            return f"'{name}' is not computed yet"
        is_between = self.at_boundary and self.iteration > 0
        state = self._states.get(value)
        if state is not None and (
            state is NodeState.SKIPPED or (is_between and not self.branch_was_taken(self.branch_paths().get(value, ())))
        ):
            return f"'{name}' has no value in iteration {self.iteration - is_between}, which took the other branch"
        return f"'{name}' is not computed yet in iteration {self.iteration}"

    # -- the body

    def _read_nodes(self) -> list[BodyNode]:
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
                exit_pc = engine.plan.loops[instruction.loop].exit if instruction.kind is Opcode.ENTER else pc
                is_inside = pc < current_pc <= exit_pc
                if (pc == current_pc or is_inside) and not ended:
                    state = NodeState.NEXT
                if ended and pc > condition_end:
                    state = NodeState.TODO
                nodes.append(BodyNode(pc, instruction.node, len(branches), branches[-1][1] if branches else "", state))
                if instruction.kind is Opcode.BRANCH:
                    branches.append((instruction.node, "then", engine.loops.branch_taken(pc)))
                step = exit_pc + 1 - pc
            pc += step
        self._nodes = nodes
        for entry in nodes:
            for value in entry.node.outputs:
                if value is not None:
                    self._states[value] = entry.state
        return nodes

    def is_computed(self, value: Value) -> bool:
        """True if the running iteration has computed the value."""
        return not self.nodes or self._states.get(value, NodeState.DONE) is NodeState.DONE

    def branch_paths(self) -> dict[Value, BranchPath]:
        """Values computed inside the body's Ifs, with their branch paths."""
        plan: Plan = self.engine.plan
        if self.index not in plan.branch_paths:
            plan.branch_paths[self.index] = {
                value: branch_path for value, branch_path in values_with_branch_paths(plan, self.plan) if branch_path
            }
        return plan.branch_paths[self.index]

    def branch_was_taken(self, branch_path: BranchPath) -> bool:
        """True if the body's Ifs last took this branch path."""
        return all(self.engine.loops.branch_taken(pc) is outcome for pc, outcome in branch_path)

    def scope(self) -> Mapping[str, Value]:
        """The visible values by name: the body's names shadow those of enclosing graphs; for names in both branches of
        an If, those of the branch taken last."""
        if self._scope is None:
            self._scope = dict(self._visible_values())
            for value, branch_path in self.branch_paths().items():
                if self._scope[value.name] is not value and self.branch_was_taken(branch_path):
                    self._scope.update(dict.fromkeys(value.names, value))
        return self._scope

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


class FrameValueSource(Protocol):
    """What :class:`FrameValues` reads: a frame of a live engine, or of a recording."""

    index: int
    name: str

    def current(self) -> Self: ...
    def scope(self) -> Mapping[str, Value]: ...
    def read(self, value: Value) -> tuple[bool, Any]: ...
    def read_all(self, values: Iterable[Value]) -> dict[Value, Any]: ...
    def available(self, values: Iterable[Value]) -> Container[Value]: ...
    def absence_reason(self, name: str, value: Value) -> str: ...


class FrameValues(Mapping[str, Array | Any]):
    """The values of a frame by name; reading one copies it.

    A body value not yet computed in the current iteration has its value of the previous iteration; it is absent in
    iteration 0, and if that iteration took another branch.
    """

    def __init__(self, reader: FrameValueSource) -> None:
        self._reader = reader

    def scope(self) -> Mapping[str, Value]:
        """The values of the loop graph that are visible here by name."""
        return self._reader.current().scope()

    def read(self, value: Value) -> tuple[bool, Any]:
        """Whether a value of the loop graph is available, and a copy of it; works for values that share a name."""
        return self._reader.current().read(value)

    def read_all(self, values: Iterable[Value]) -> dict[Value, Any]:
        """Copies of those values of the loop graph that are available."""
        return self._reader.current().read_all(values)

    def __getitem__(self, name: str) -> Array | Any:
        reader = self._reader.current()
        scope = reader.scope()
        if name not in scope:
            hint = did_you_mean(name, scope)
            scope_text = "the main graph" if reader.index < 0 else f"loop '{reader.name}'"
            raise KeyError(f"{scope_text} has no value '{name}'{hint}")
        is_present, value = reader.read(scope[name])
        if not is_present:
            raise KeyError(reader.absence_reason(name, scope[name]))
        return value

    def __contains__(self, name: object) -> bool:
        value = self.scope().get(name)  # type: ignore[call-overload]
        return value is not None and value in self._reader.available((value,))

    def __iter__(self) -> Iterator[str]:
        scope = self.scope()
        available = self._reader.available(scope.values())
        return (name for name, value in scope.items() if name != value.short_name and value in available)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _branch_start(code: list[Any], node: Node) -> int:
    return next(pc for pc, i in enumerate(code) if i.node is node and i.kind is Opcode.BRANCH)


def values_with_branch_paths(plan: Plan, loop: LoopPlan | None) -> Iterator[tuple[Value, BranchPath]]:
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


def max_trip_count(engine: Engine, plan: LoopPlan) -> int | None:
    """The maximum number of iterations of the last entry; None: unlimited. Includes the limit by sliced inputs."""
    if plan.loop.counted_by_slices:
        return engine.loops.part_count(plan.index)
    return effective_trip_count(engine.loop_state(plan.index)[1])
