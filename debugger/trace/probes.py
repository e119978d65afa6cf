"""What is recorded of each loop, found once before the run, so that a boundary costs no more than copying values."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.frame import values_with_branches
from ...runtime.graph import If, Node, StoppedBy, Value
from ...runtime.plan.plan import LoopPlan, Plan
from ...runtime.text import did_you_mean


class PortKind(StrEnum):
    """What a recorded value is to its loop."""

    #: A body parameter: what the back edge carries into the next iteration.
    CARRIED = "carried"
    #: A scan output: the element that the iteration which just ended added.
    SCAN = "scan"
    #: A body value, as the iteration which just ended computed it; what decides whether an iteration runs: as that did.
    NODE = "node"
    #: A value of an enclosing graph that the loop reads; recorded where the loop is entered.
    CAPTURE = "capture"


class _MissingValue:
    def __repr__(self) -> str:
        return "MISSING"


#: Stands where a boundary has no value: no scan element before iteration 0, a branch that was not taken.
MISSING: Final = _MissingValue()


@dataclass(frozen=True)
class Probe:
    """One value of one loop. ``source``: taps of one loop with one source have one value at a boundary."""

    port: int
    kind: PortKind
    name: str
    slot: int
    source: object
    #: Which of the loop's edges may hold the result after swapping buffers, -1: none.
    edge: int = -1
    #: The scan output to ask where no slot holds the element at a boundary; -1: the slot does.
    scan_index: int = -1
    #: A carried value passed on as it is: what the iteration got, not what the next one gets.
    reads_previous: bool = False
    #: (position of a BRANCH, branch) that must have been taken.
    branches: tuple[tuple[int, bool], ...] = ()
    #: It is computed before the boundary of its iteration, unless the trip count ends the loop there.
    precedes_boundary: bool = False


@dataclass(frozen=True)
class ProbeSet:
    """All taps of one loop."""

    index: int
    #: Read at every boundary.
    boundary_probes: tuple[Probe, ...]
    #: Read at boundaries after an iteration.
    iteration_probes: tuple[Probe, ...]
    #: Read where the loop is entered.
    entry_probes: tuple[Probe, ...]

    def __iter__(self) -> Iterator[Probe]:
        yield from (*self.boundary_probes, *self.iteration_probes, *self.entry_probes)


def make_probes(plan: Plan, *, nodes: bool = False, only: Collection[str] | None = None) -> list[ProbeSet]:
    """The taps of all loops. A body value that ``only`` names is recorded also without ``nodes``.

    Raises:
        UsageError: ``only`` has a name that nothing in the loops has.
    """
    wanted = None if only is None else set(only)
    finder = _ProbeFinder(plan, nodes, wanted)
    tapped = [finder.probes_of_loop(loop) for loop in plan.loops]
    for name in sorted((wanted or set()) - finder.known):
        hint = did_you_mean(name, finder.known)
        raise UsageError(f"no loop of the model has a value '{name}' that could be recorded{hint}")
    return tapped


def read_probe(engine: Engine, index: int, one: Probe) -> Any:
    """The tap's value at a boundary, as a copy; MISSING where there is none."""
    if one.precedes_boundary and engine.loop_state(index)[3] is StoppedBy.TRIP_COUNT:
        return MISSING
    for pc, taken in one.branches:
        if engine.loops.branch_taken(pc) is not taken:
            return MISSING
    if one.scan_index >= 0:
        newest = engine.scans.view(index, one.scan_index, 1)[2]
        return np.array(newest[-1], newest.dtype)  # a scalar string is no array
    if one.reads_previous:
        return engine.loops.previous(index, one.edge)
    slot = one.slot
    if one.edge >= 0 and engine.loops.was_swapped(index, one.edge):
        slot = engine.plan.loops[index].edges[one.edge].param
    return engine.value(slot) if engine.has_value(slot) else MISSING


def last_value_results(engine: Engine, loop: LoopPlan) -> dict[int, Any]:
    """Slot -> value: what the iteration before this boundary computed for outputs that no back edge feeds."""
    swapped = {e.result: e.param for k, e in enumerate(loop.edges) if engine.loops.was_swapped(loop.index, k)}
    return {slot: engine.value(swapped.get(slot, slot)) for slot in last_value_slots(engine.plan, loop)}


def last_value_slots(plan: Plan, loop: LoopPlan) -> list[int]:
    """The slots of body values that outputs take though no back edge carries them."""
    made = {plan.slot_of[value] for value, _ in values_with_branches(plan, loop)}
    return [last.source for last in loop.last_values if last.edge < 0 and last.source in made]


@dataclass
class _ProbeFinder:
    plan: Plan
    nodes: bool
    wanted: set[str] | None

    def __post_init__(self) -> None:
        self.known: set[str] = set()
        self._port_count = 0

    def is_wanted(self, name: str, by_default: bool = True) -> bool:
        self.known.add(name)
        return by_default if self.wanted is None else name in self.wanted

    def next_port(self) -> int:
        self._port_count += 1
        return self._port_count

    def probes_of_loop(self, loop: LoopPlan) -> ProbeSet:
        made = dict(values_with_branches(self.plan, loop))
        edge_of = {e.edge.result: k for k, e in enumerate(loop.edges)}
        param_of = {e.edge.param: k for k, e in enumerate(loop.edges)}
        tested = {slot for i in self.plan.code[loop.top : loop.head] for slot in i.outputs}
        always, after = [], []
        for e in loop.edges:
            if self.is_wanted(e.edge.param.name):
                always.append(Probe(self.next_port(), PortKind.CARRIED, e.edge.param.name, e.param, e.edge.result))
        for k, s in enumerate(loop.scans):
            result = s.output.result
            if not self.is_wanted(s.output.outer.name):
                continue
            here = (self.next_port(), PortKind.SCAN, s.output.outer.name, s.result, result)
            if result in made and s.result not in tested:
                after.append(Probe(*here, edge=edge_of.get(result, -1)))
            elif result in param_of:
                # A parameter's slot holds what the next iteration gets.
                after.append(Probe(*here[:4], (result, "previous"), edge=param_of[result], reads_previous=True))
            else:
                after.append(Probe(*here[:4], (result, "element"), scan_index=k))
        # Without them a run could not go on from a boundary.
        lasts = {last.source for last in loop.last_values if last.edge < 0}
        for value, branches in made.items():
            wanted = self.is_wanted(value.name, self.nodes or self.plan.slot_of[value] in lasts)
            if wanted:
                slot = self.plan.slot_of[value]
                ahead = slot in tested
                source = (value, "tested") if ahead else value
                edge = -1 if ahead else edge_of.get(value, -1)
                (always if ahead else after).append(
                    Probe(
                        self.next_port(),
                        PortKind.NODE,
                        value.name,
                        slot,
                        source,
                        edge,
                        branches=branches,
                        precedes_boundary=ahead,
                    )
                )
        entered = [
            Probe(self.next_port(), PortKind.CAPTURE, value.name, self.plan.slot_of[value], value)
            for value in captures(self.plan, loop)
        ]
        return ProbeSet(loop.index, tuple(always), tuple(after), tuple(entered))


def captures(plan: Plan, loop: LoopPlan) -> list[Value]:
    """Values of enclosing graphs that the loop or its body read and that neither constants nor model inputs hold.

    What the back edges start with is left out: it is what they carry into iteration 0.
    """
    inside = (
        {value for value, _ in values_with_branches(plan, loop)}
        | set(loop.loop.body.inputs)
        | set(loop.loop.body.constants)
    )
    node = loop.loop
    initial = {edge.initial for edge in node.back_edges if isinstance(edge.initial, Value)}
    read: list[Value | None] = [value for value in node.inputs if value not in initial]
    read += [node.trip_count, node.initial_condition, *(s.outer for s in node.sliced_inputs)]
    read += [invariant.outer for invariant in node.invariants]
    for inner in _nodes(node.body.nodes):
        read += inner.inputs
        if isinstance(inner, If):
            inside.update(inner.then_branch.constants, inner.else_branch.constants)
    aliases = {invariant.inner for invariant in node.invariants}
    outside = dict.fromkeys(value for value in read if value is not None)
    given = set(plan.graph.inputs)
    return [
        value
        for value in outside
        if value not in inside | aliases | given and value.constant is None and value in plan.slot_of
    ]


def _nodes(nodes: list[Node]) -> Iterator[Node]:
    """Nodes of a body and of the branches of its Ifs, but not of loops inside."""
    for node in nodes:
        yield node
        if isinstance(node, If):
            yield from _nodes(node.then_branch.nodes)
            yield from _nodes(node.else_branch.nodes)
