"""A boundary as a record: what a trace keeps of it, and what comparisons compare."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...runtime.frame import Frame, values_with_branches
from ...runtime.graph import StoppedBy
from ...runtime.graph.dependence import condition_values


@dataclass(frozen=True, eq=False)
class Boundary:
    """One boundary of one loop, copied out of a run.

    ``loop``: its path, as in ``main ▸ outer ▸ inner``; ``entry``: the iterations that the loops around it are in,
    outermost first, which tell one entry of a nested loop from another. ``iteration`` would run next.
    """

    loop: str
    entry: tuple[int, ...]
    iteration: int
    #: Whether the next iteration may run; None where the loop has no condition.
    condition: bool | None
    #: Why the loop ends here; None while it goes on.
    ended: StoppedBy | None
    #: Parameter -> what the back edge carries into the next iteration.
    carried: Mapping[str, Any]
    #: Scan output -> the element that the iteration which just ended added; empty before iteration 0.
    scanned: Mapping[str, Any] = field(default_factory=dict)
    #: Body value -> what the iteration which just ended computed, and of what decides about the next one what that did;
    #: empty where not asked for.
    computed: Mapping[str, Any] = field(default_factory=dict)


def read_boundary(frame: Frame, *, computed: bool = False, only: Collection[str] | None = None) -> Boundary:
    """The record of a frame that stands at a boundary; ``only`` leaves out every value not named in it."""
    loop = frame.loop
    assert loop is not None and frame.at_boundary
    wanted = None if only is None else set(only)

    def chosen(name: str) -> bool:
        return wanted is None or name in wanted

    ran = frame.iteration > 0
    scanned = {}
    for k, port in enumerate(loop.scan_outputs if ran else ()):
        if chosen(port.outer.name):
            scanned[port.outer.name] = frame._internals.scan_tail(k, 1)[3][-1]
    values: dict[str, Any] = {}
    if computed:
        read_from = frame.values
        plan = frame._internals.engine.plan
        tested = condition_values(loop)
        for value, branches in values_with_branches(plan, plan.loops[frame.index]):
            # What decides about an iteration is computed before its boundary, unless the trip count ends the loop.
            if frame.stopped_by is StoppedBy.TRIP_COUNT if value in tested else not ran:
                continue
            # What a branch computed that was not taken is of an earlier iteration.
            taken = all(frame._internals.engine.loops.branch_taken(pc) is word for pc, word in branches)
            if taken and chosen(value.name) and value.name in read_from:
                values[value.name] = read_from[value.name]
    return Boundary(
        frame.path,
        frame.entry,
        frame.iteration,
        frame.condition,
        frame.stopped_by,
        {name: value for name, value in frame.carried.items() if chosen(name)},
        scanned,
        values,
    )
