"""How a recorded run goes on: where it stood, found in its trace, and an engine brought there.

The model is started on the recorded inputs, and each loop that is met on the way is put where it was. What lies before
and between is computed again, and so is an inner loop that had ended and of which nothing is known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import InterruptError, TraceError, UsageError, one_line
from ...runtime.graph import Array, OptionalType
from ...runtime.model import Model
from ...runtime.stable_file import open_regular_file
from . import queries
from .cell_validation import integer, outer_iterations, string
from .database import DAMAGE_ERRORS
from .probes import PortKind, ProbeSet, last_value_slots, make_probes
from .queries import BoundaryFilter
from .resume_checkpoints import LoopResumeState
from .trace_store import BoundaryRef, TraceStore


@dataclass(frozen=True)
class ResumePoint:
    """Where a run can go on."""

    #: The loops to be put somewhere, in the order in which they are met.
    loop_states: Sequence[LoopResumeState]
    #: The newest boundary that lies before it; 0: none.
    boundary: int

    @property
    def running_loops(self) -> list[LoopResumeState]:
        """The loops that still run, outermost first."""
        return [state for state in self.loop_states if not state.ended]

    @property
    def label(self) -> str:
        """For a person: ``iteration 137``, of nested loops ``iteration 3/7``."""
        if not self.loop_states:
            return "the start"
        if not self.running_loops:
            return "the end of a loop"
        return f"iteration {'/'.join(str(state.iteration) for state in self.running_loops)}"

    def is_rerun(self, trace: TraceStore, loop: int, around: tuple[int, ...]) -> bool:
        """True for an entry that lies in an iteration that runs, and that is run again since nothing is known of it."""
        if any((state.loop, state.outer_iterations) == (loop, around) for state in self.loop_states):
            return False
        lineage = trace.loop_chain(loop)
        for state in self.loop_states:
            depth = len(state.outer_iterations)
            if state.ended and lineage[depth : depth + 1] == [state.loop] and around[:depth] == state.outer_iterations:
                return False
        for depth, state in enumerate(self.running_loops):
            if depth >= len(lineage) or lineage[depth] != state.loop or around[:depth] != state.outer_iterations:
                # Beside a running loop, in the iteration that runs around both.
                return True
            if around[depth : depth + 1] != (state.iteration,):
                return False
        return True


def find_resume_point(trace: TraceStore, model: Model) -> ResumePoint:
    """The position at which a recorded run can go on.

    Raises:
        UsageError: the trace is one of another model, or its run came to its end.
        TraceError: it is damaged.
    """
    have = model_hash(model)
    if trace.model_hash and have and trace.model_hash != have:
        raise UsageError(f"{trace.path}: was recorded with another model ({trace.model}), not with this {model.name}")
    plans = [plan.path for plan in model.plan.loops]
    if plans != [loop.path for loop in trace.loops]:
        raise UsageError(f"{trace.path}: was recorded with a model that has other loops than {model.name}")
    if trace.ended == "end":
        raise UsageError(f"{trace.path}: this run came to its end; there is nothing to go on with")
    return _from_boundaries(trace, model) if trace.has_every_boundary else _from_checkpoint(trace, model)


def _from_boundaries(trace: TraceStore, model: Model) -> ResumePoint:
    """Every boundary is recorded whole: the newest one is where it stands."""
    last = trace.boundary_ref(newest=True)
    if last is None:
        return ResumePoint([], 0)
    entry = trace.entry(last.entry)
    chain = trace.loop_chain(entry.loop)
    taps = make_probes(model.plan, nodes=trace.nodes)
    if [(t.kind, t.name) for loop in taps for t in loop] != [
        one for loop in trace.loops for one in trace.ports(loop.index)
    ]:
        raise UsageError(f"{trace.path}: was recorded by another version of this program; record it again")
    path: list[LoopResumeState] = []
    for depth in range(len(chain) + 1):
        # The entries directly in the iteration that runs: those that are over, and the one that still runs.
        parent = chain[depth - 1] if depth else None
        around = (*entry.around, last.iteration)[:depth]
        inside = False
        for number in queries.entries_in_iteration(trace.rows, parent, around):
            mark = trace.boundary_ref(BoundaryFilter(entry=number), newest=True)
            if mark is None:
                raise trace.damage_error(f"entry {number} has no boundary")
            path.append(_recorded_state(trace, model, taps, mark))
            inside = mark.ended is None
        if not inside:
            break
    return ResumePoint(path, last.id)


def _recorded_state(trace: TraceStore, model: Model, taps: list[ProbeSet], mark: BoundaryRef) -> LoopResumeState:
    entry = trace.entry(mark.entry)
    plan = model.plan.loops[entry.loop]
    carried: list[Any] = []
    lasts: dict[int, Any] = {}
    scans: list[Array] = []
    free = last_value_slots(model.plan, plan) if mark.iteration else []
    for one in taps[entry.loop]:
        if one.kind is PortKind.SCAN:
            rows = trace.port_values(one.port, BoundaryFilter(entry=mark.entry, above=0, below=mark.iteration + 1))
            scans.append(_join_elements(trace, np.stack, rows))
        elif one.kind is PortKind.CARRIED:
            carried += trace.port_values(one.port, BoundaryFilter(number=mark.id))
        elif one.kind is PortKind.NODE and one.slot in free:
            # In a branch that the last iteration did not take: it has the value that it had before.
            found = trace.newest_value(one.port, BoundaryFilter(entry=mark.entry, below=mark.iteration + 1))
            lasts.update((one.slot, value) for value in found)
    if len(carried) != len(plan.edges) or any(len(rows) != mark.iteration for rows in scans):
        raise trace.damage_error(f"boundary {mark.id} is not whole")
    keep = mark.condition is not False
    return LoopResumeState(
        entry.loop, entry.around, mark.iteration, keep, carried, lasts, scans, mark.ended is not None
    )


def _from_checkpoint(trace: TraceStore, model: Model) -> ResumePoint:
    row = next(iter(queries.newest_checkpoint(trace.rows)), None)
    if row is None:
        return ResumePoint([], 0)
    number, boundary, states = row
    try:
        path = [_saved_state(trace, model, number, told) for told in json.loads(string(states))]
        return ResumePoint(path, integer(boundary))
    except DAMAGE_ERRORS as error:
        raise trace.damage_error(error) from None


def _join_elements(trace: TraceStore, join: Callable[[list[Array]], Array], rows: list[Any]) -> Array:
    """The elements of a scan output in one array."""
    if not rows:
        return np.empty((0,))
    if any(not isinstance(row, np.ndarray) or row.dtype != rows[0].dtype for row in rows):
        raise trace.damage_error("elements of a scan output are of several types")
    try:
        return join(rows)
    except ValueError as error:
        raise trace.damage_error(error) from None


def _check_count(rows: Any, count: int) -> Any:
    if len(rows) != count:
        raise ValueError(f"{len(rows)} elements of a scan output stand where there should be {count}")
    return rows


def _saved_state(trace: TraceStore, model: Model, number: int, told: Mapping[str, Any]) -> LoopResumeState:
    loop, iteration = integer(told["loop"], 0, len(trace.loops) - 1), integer(told["iteration"])
    around = string(told["around"])
    plan = model.plan.loops[loop]
    parts: dict[str, list[Any]] = {"carried": [], "last": []}
    for role, type_, data in queries.checkpoint_parts(trace.rows, number, loop):
        parts[role].append(trace.decode_value(type_, data))
    scans = []
    for k in range(len(plan.scans)):
        rows = [
            _check_count(trace.decode_value(type_, data), integer(count))
            for type_, data, count in queries.checkpoint_scans(trace.rows, loop, around, k)
        ]
        scans.append(_join_elements(trace, np.concatenate, rows))
    free = last_value_slots(model.plan, plan) if iteration else []
    if (
        len(parts["carried"]) != len(plan.edges)
        or len(parts["last"]) != len(free)
        or any(len(rows) != iteration for rows in scans)
    ):
        raise trace.damage_error(f"checkpoint {number} is not whole")
    lasts = dict(zip(free, parts["last"], strict=True))
    entry = outer_iterations(around, len(trace.loop_chain(loop)) - 1)
    return LoopResumeState(
        loop, entry, iteration, bool(told["keep"]), parts["carried"], lasts, scans, bool(told["ended"])
    )


def restore_engine(engine: Engine, position: ResumePoint, trace: TraceStore) -> None:
    """Bring an engine that was started on the recorded inputs to a position.

    Raises:
        TraceError: the run does not come by there: the model or this program computes something else than it did.
        InterruptError: Ctrl-C.
    """
    _restore_totals(engine, position, trace)
    for state in position.loop_states:
        engine.clear_stops()
        engine.stop_at(state.loop, 0)
        what, index = engine.resume()
        if what == "interrupt":
            raise InterruptError("interrupted before the recorded run went on")
        iterations = tuple(engine.loop_state(k)[0] for k in engine.stack)
        if (what, index, iterations) != ("boundary", state.loop, (*state.outer_iterations, 0)):
            raise TraceError(f"{trace.path}: the run does not come by where the recorded one was; it cannot go on")
        for edge, value in zip(engine.plan.loops[state.loop].edges, state.carried, strict=True):
            before = engine.value(edge.param)
            optional = isinstance(edge.edge.param.type, OptionalType) and (before is None or value is None)
            if _value_kind(before) != _value_kind(value) and not optional:
                raise trace.damage_error(
                    f"a carried value is {_value_kind(value)} there, and {_value_kind(before)} in the model"
                )
        engine.loops.fast_forward(
            state.loop, state.iteration, state.condition, state.carried, state.scans, state.last_values
        )
        engine.retest_condition()
    engine.clear_stops()


def _value_kind(value: Any) -> str:
    """What does not change from iteration to iteration."""
    return value.dtype.name if isinstance(value, np.ndarray) else "sequence" if isinstance(value, list) else "other"


def _restore_totals(engine: Engine, position: ResumePoint, trace: TraceStore) -> None:
    """Entries that are neither run again nor put somewhere count as well."""
    ours = {(state.loop, state.outer_iterations) for state in position.loop_states}
    for mark in trace.boundary_refs(BoundaryFilter(ended=True, before=position.boundary + 1)):
        entry = trace.entry(mark.entry)
        if (entry.loop, entry.around) not in ours and not position.is_rerun(trace, entry.loop, entry.around):
            assert mark.ended is not None
            engine.loops.add_finished_entry(entry.loop, mark.iteration, mark.ended, entry.trip_count)


def model_hash(model: Model) -> str:
    """SHA-256 of the model's file, of an IR's weights, and of the function that a script was asked for; empty where
    the model came from no file, or that is gone.

    Raises:
        UsageError: one of them cannot be read.
    """
    if model.path is None:
        return ""
    digest = hashlib.sha256()
    path = model.path
    try:
        if not path.is_file():
            return ""
        _hash_file(digest, path)
        path = model._internals.weights or path.with_suffix(".bin")
        if model.path.suffix == ".xml" and path.is_file():
            _hash_file(digest, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from None
    digest.update(model._internals.function.encode())
    return digest.hexdigest()


def _hash_file(digest: hashlib._Hash, path: Path) -> None:
    with open_regular_file(path) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
