"""Probes of the recorded values of each loop, computed before the run so that a boundary only copies values."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.frame import values_with_branch_paths
from ...runtime.graph import If, StoppedBy, Value, own_nodes
from ...runtime.plan.plan import LoopPlan, Plan
from ...runtime.text import did_you_mean


class PortKind(StrEnum):
    """The role of a recorded value in its loop."""

    #: A body parameter: the value that the back edge carries into the next iteration.
    CARRIED = "carried"
    #: A scan output: the element added by the iteration that just ended.
    SCAN = "scan"
    #: A body value of the iteration that just ended; values of the loop test are of the next iteration.
    NODE = "node"
    #: A value of an enclosing graph that the loop reads; recorded at its entry.
    CAPTURE = "capture"


class _MissingValue:
    def __repr__(self) -> str:
        return "MISSING"


#: Sentinel for a missing value at a boundary: a scan element before iteration 0, a branch that was not taken.
MISSING: Final = _MissingValue()


@dataclass(frozen=True)
class Probe:
    """One recorded value of one loop. ``source``: probes of one loop with equal sources have equal values."""

    port: int
    kind: PortKind
    name: str
    slot: int
    source: object
    #: The edge of the loop that may hold the result after buffers were swapped; -1: none.
    edge: int = -1
    #: The scan output to read if no slot holds the element at a boundary; -1: the slot holds it.
    scan_index: int = -1
    #: A carried value that the body returns unchanged: read the value of this iteration, not of the next one.
    reads_previous: bool = False
    #: (position of a BRANCH, branch) pairs that must have been taken.
    branches: tuple[tuple[int, bool], ...] = ()
    #: It is computed before the boundary of its iteration, unless the trip count ends the loop there.
    precedes_boundary: bool = False


@dataclass(frozen=True)
class ProbeSet:
    """All probes of one loop."""

    index: int
    #: Read at every boundary.
    boundary_probes: tuple[Probe, ...]
    #: Read at boundaries after an iteration.
    iteration_probes: tuple[Probe, ...]
    #: Read at the entry of the loop.
    entry_probes: tuple[Probe, ...]

    def __iter__(self) -> Iterator[Probe]:
        yield from (*self.boundary_probes, *self.iteration_probes, *self.entry_probes)


def make_probes(plan: Plan, *, nodes: bool = False, only: Collection[str] | None = None) -> list[ProbeSet]:
    """The probes of all loops. A body value that ``only`` names is recorded even without ``nodes``.

    Raises:
        UsageError: ``only`` has a name that is unknown in the loops.
    """
    names = None if only is None else set(only)
    finder = _ProbeFinder(plan, nodes, names)
    probe_sets = [finder.probes_of_loop(loop) for loop in plan.loops]
    for name in sorted((names or set()) - finder.known):
        hint = did_you_mean(name, finder.known)
        raise UsageError(f"no loop of the model has a value '{name}' that could be recorded{hint}", name=name)
    return probe_sets


def read_probe(engine: Engine, index: int, probe: Probe) -> Any:
    """The probe's value at a boundary, as a copy; MISSING if there is none."""
    if probe.precedes_boundary and engine.loop_state(index)[3] is StoppedBy.TRIP_COUNT:
        return MISSING
    for pc, branch in probe.branches:
        if engine.loops.branch_taken(pc) is not branch:
            return MISSING
    if probe.scan_index >= 0:
        newest = engine.scans.view(index, probe.scan_index, 1)[2]
        return np.array(newest[-1], newest.dtype)  # a scalar string is no array
    if probe.reads_previous:
        return engine.loops.previous(index, probe.edge)
    slot = probe.slot
    if probe.edge >= 0 and engine.loops.was_swapped(index, probe.edge):
        slot = engine.plan.loops[index].edges[probe.edge].param
    return engine.value(slot) if engine.has_value(slot) else MISSING


def last_value_results(engine: Engine, loop: LoopPlan) -> dict[int, Any]:
    """Slot -> value of the previous iteration, for outputs without a back edge."""
    swapped = {e.result: e.param for k, e in enumerate(loop.edges) if engine.loops.was_swapped(loop.index, k)}
    return {slot: engine.value(swapped.get(slot, slot)) for slot in last_value_slots(engine.plan, loop)}


def last_value_slots(plan: Plan, loop: LoopPlan) -> list[int]:
    """The slots of body values that are outputs without a back edge."""
    computed = {plan.slot_of[value] for value, _ in values_with_branch_paths(plan, loop)}
    return [last.source for last in loop.last_values if last.edge < 0 and last.source in computed]


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
        computed = dict(values_with_branch_paths(self.plan, loop))
        edge_of = {e.edge.result: k for k, e in enumerate(loop.edges)}
        param_of = {e.edge.param: k for k, e in enumerate(loop.edges)}
        test_slots = {slot for i in self.plan.code[loop.top : loop.head] for slot in i.outputs}
        boundary, iteration = [], []
        for e in loop.edges:
            if self.is_wanted(e.edge.param.name):
                boundary.append(Probe(self.next_port(), PortKind.CARRIED, e.edge.param.name, e.param, e.edge.result))
        for k, s in enumerate(loop.scans):
            result = s.output.result
            if not self.is_wanted(s.output.outer.name):
                continue
            fields = (self.next_port(), PortKind.SCAN, s.output.outer.name, s.result, result)
            if result in computed and s.result not in test_slots:
                iteration.append(Probe(*fields, edge=edge_of.get(result, -1)))
            elif result in param_of:
                # The parameter's slot holds the value of the next iteration.
                iteration.append(Probe(*fields[:4], (result, "previous"), edge=param_of[result], reads_previous=True))
            else:
                iteration.append(Probe(*fields[:4], (result, "element"), scan_index=k))
        # Needed to resume a run from a boundary.
        last_slots = {last.source for last in loop.last_values if last.edge < 0}
        for value, branches in computed.items():
            is_wanted = self.is_wanted(value.name, self.nodes or self.plan.slot_of[value] in last_slots)
            if is_wanted:
                slot = self.plan.slot_of[value]
                precedes = slot in test_slots
                source = (value, "tested") if precedes else value
                edge = -1 if precedes else edge_of.get(value, -1)
                (boundary if precedes else iteration).append(
                    Probe(
                        self.next_port(),
                        PortKind.NODE,
                        value.name,
                        slot,
                        source,
                        edge,
                        branches=branches,
                        precedes_boundary=precedes,
                    )
                )
        entry = [
            Probe(self.next_port(), PortKind.CAPTURE, value.name, self.plan.slot_of[value], value)
            for value in loop_captures(self.plan, loop)
        ]
        return ProbeSet(loop.index, tuple(boundary), tuple(iteration), tuple(entry))


def loop_captures(plan: Plan, loop: LoopPlan) -> list[Value]:
    """Values of enclosing graphs that the loop or its body reads, except constants and model inputs.

    Initial values of back edges are excluded: they are the carried values of iteration 0.
    """
    inner_values = (
        {value for value, _ in values_with_branch_paths(plan, loop)}
        | set(loop.loop.body.inputs)
        | set(loop.loop.body.constants)
    )
    node = loop.loop
    initial = {edge.initial for edge in node.back_edges if isinstance(edge.initial, Value)}
    read: list[Value | None] = [value for value in node.inputs if value not in initial]
    read += [node.trip_count, node.initial_condition, *(s.outer for s in node.sliced_inputs)]
    read += [invariant.outer for invariant in node.invariants]
    for inner in own_nodes(node.body):
        read += inner.inputs
        if isinstance(inner, If):
            inner_values.update(inner.then_branch.constants, inner.else_branch.constants)
    aliases = {invariant.inner for invariant in node.invariants}
    outside = dict.fromkeys(value for value in read if value is not None)
    model_inputs = set(plan.graph.inputs)
    return [
        value
        for value in outside
        if value not in inner_values | aliases | model_inputs and value.constant is None and value in plan.slot_of
    ]
