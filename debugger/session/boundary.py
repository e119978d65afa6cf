"""Records of boundaries, as stored in traces and compared by diffs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...runtime.frame import Frame, FrameInternals, frame_reader, values_with_branches
from ...runtime.graph import StoppedBy
from ...runtime.graph.dependence import condition_values


@dataclass(frozen=True, eq=False)
class Boundary:
    """One boundary of one loop, copied from a run.

    ``loop``: its path, as in ``main ▸ outer ▸ inner``; ``entry``: the iterations of the enclosing loops, outermost
    first, which identify the entry of a nested loop. ``iteration``: the one that would run next.
    """

    loop: str
    entry: tuple[int, ...]
    iteration: int
    #: Whether the next iteration may run; None if the loop has no condition.
    condition: bool | None
    #: Why the loop ends here; None while it goes on.
    ended: StoppedBy | None
    #: Parameter -> value that the back edge carries into the next iteration.
    carried: Mapping[str, Any]
    #: Scan output -> element added by the iteration that just ended; empty before iteration 0.
    scanned: Mapping[str, Any] = field(default_factory=dict)
    #: Body value -> result of the iteration that just ended; values of the loop test belong to the next iteration.
    #: Empty unless requested.
    computed: Mapping[str, Any] = field(default_factory=dict)


def read_boundary(frame: Frame, *, computed: bool = False, only: Collection[str] | None = None) -> Boundary:
    """The record of a frame at a boundary; ``only``: names of the values to include."""
    reader: FrameInternals = frame_reader(frame)
    loop = reader.loop
    assert loop is not None and reader.at_boundary
    names = None if only is None else set(only)

    def is_selected(name: str) -> bool:
        return names is None or name in names

    has_iterated = reader.iteration > 0
    scanned = {}
    for index, port in enumerate(loop.scan_outputs if has_iterated else ()):
        if is_selected(port.outer.name):
            scanned[port.outer.name] = reader.scan_tail(index, 1)[3][-1]
    values: dict[str, Any] = {}
    if computed:
        frame_values = reader.values
        plan = reader.engine.plan
        test_values = condition_values(loop)
        for value, branches in values_with_branches(plan, plan.loops[reader.index]):
            # The loop test is computed before its boundary, unless the trip count ends the loop.
            if reader.stopped_by is StoppedBy.TRIP_COUNT if value in test_values else not has_iterated:
                continue
            # Values in a branch that was not taken belong to an earlier iteration.
            if reader.branch_was_taken(branches) and is_selected(value.name) and value.name in frame_values:
                values[value.name] = frame_values[value.name]
    return Boundary(
        reader.path,
        reader.entry,
        reader.iteration,
        reader.condition,
        reader.stopped_by,
        {name: value for name, value in reader.carried.items() if is_selected(name)},
        scanned,
        values,
    )
