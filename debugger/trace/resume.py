"""Resumes recorded runs: finds the resume point in a trace, and brings an engine there.

The model is started on the recorded inputs, and each loop on the way is fast-forwarded to its state. Code before and
between is computed again, as well as inner loops that had ended without a known state.
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
from ...runtime.errors import InterruptError, TraceError, UsageError, file_error
from ...runtime.graph import Array, OptionalType
from ...runtime.model import Model
from ...runtime.safe_file_reading import open_regular_file
from . import queries
from .cell_validation import integer, outer_iterations, validate_string
from .database import DAMAGE_ERRORS
from .probes import PortKind, ProbeSet, last_value_slots, make_probes
from .queries import BoundaryFilter
from .resume_checkpoints import LoopResumeState
from .trace_store import BoundaryRef, TraceStore


@dataclass(frozen=True)
class ResumePoint:
    """A position where a run can be resumed."""

    #: The states of the loops to restore, in execution order.
    loop_states: Sequence[LoopResumeState]
    #: The newest earlier boundary; 0: none.
    boundary: int

    @property
    def running_loops(self) -> list[LoopResumeState]:
        """The running loops, outermost first."""
        return [state for state in self.loop_states if not state.ended]

    @property
    def label(self) -> str:
        """Description: ``iteration 137``, for nested loops ``iteration 3/7``."""
        if not self.loop_states:
            return "the start"
        if not self.running_loops:
            return "the end of a loop"
        return f"iteration {'/'.join(str(state.iteration) for state in self.running_loops)}"

    def is_rerun(self, trace: TraceStore, loop: int, around: tuple[int, ...]) -> bool:
        """True for an entry in a running iteration that must be run again since its state is unknown."""
        if any((state.loop, state.outer_iterations) == (loop, around) for state in self.loop_states):
            return False
        lineage = trace.loop_chain(loop)
        for state in self.loop_states:
            depth = len(state.outer_iterations)
            if state.ended and lineage[depth : depth + 1] == [state.loop] and around[:depth] == state.outer_iterations:
                return False
        for depth, state in enumerate(self.running_loops):
            if depth >= len(lineage) or lineage[depth] != state.loop or around[:depth] != state.outer_iterations:
                # A sibling of a running loop, in the same outer iteration.
                return True
            if around[depth : depth + 1] != (state.iteration,):
                return False
        return True


def find_resume_point(trace: TraceStore, model: Model) -> ResumePoint:
    """The position where a recorded run can be resumed.

    Raises:
        UsageError: the trace is of another model, or its run is complete.
        TraceError: it is damaged.
    """
    digest = model_hash(model)
    if trace.model_hash and digest and trace.model_hash != digest:
        raise UsageError(
            f"{trace.path}: was recorded with another model ({trace.model}), not with this {model.name}",
            name="model",
            expected=trace.model,
            got=model.name,
        )
    paths = [plan.path for plan in model.plan.loops]
    if paths != [loop.path for loop in trace.loops]:
        raise UsageError(
            f"{trace.path}: was recorded with a model that has other loops than {model.name}",
            name="loops",
            got=model.name,
        )
    if trace.ended == "end":
        raise UsageError(f"{trace.path}: this run came to its end; there is nothing to go on with")
    return (
        _resume_point_from_boundaries(trace, model)
        if trace.has_every_boundary
        else _resume_point_from_checkpoint(trace, model)
    )


def _resume_point_from_boundaries(trace: TraceStore, model: Model) -> ResumePoint:
    """The newest boundary, since every boundary is recorded completely."""
    newest = trace.boundary_ref(newest=True)
    if newest is None:
        return ResumePoint([], 0)
    entry = trace.entry(newest.entry)
    chain = trace.loop_chain(entry.loop)
    probe_sets = make_probes(model.plan, nodes=trace.nodes)
    if [(probe.kind, probe.name) for loop in probe_sets for probe in loop] != [
        port for loop in trace.loops for port in trace.ports(loop.index)
    ]:
        raise UsageError(f"{trace.path}: was recorded by another version of this program; record it again")
    path: list[LoopResumeState] = []
    for depth in range(len(chain) + 1):
        # The entries directly in the running iteration: ended ones, and the running one.
        parent = chain[depth - 1] if depth else None
        around = (*entry.around, newest.iteration)[:depth]
        is_running = False
        for number in queries.entries_in_iteration(trace.rows, parent, around):
            ref = trace.boundary_ref(BoundaryFilter(entry=number), newest=True)
            if ref is None:
                raise trace.damage_error(f"entry {number} has no boundary")
            path.append(_loop_state_from_boundary(trace, model, probe_sets, ref))
            is_running = ref.ended is None
        if not is_running:
            break
    return ResumePoint(path, newest.id)


def _loop_state_from_boundary(
    trace: TraceStore, model: Model, probe_sets: list[ProbeSet], ref: BoundaryRef
) -> LoopResumeState:
    entry = trace.entry(ref.entry)
    plan = model.plan.loops[entry.loop]
    carried: list[Any] = []
    last_values: dict[int, Any] = {}
    scans: list[Array] = []
    slots = last_value_slots(model.plan, plan) if ref.iteration else []
    for probe in probe_sets[entry.loop]:
        if probe.kind is PortKind.SCAN:
            rows = trace.port_values(probe.port, BoundaryFilter(entry=ref.entry, above=0, below=ref.iteration + 1))
            scans.append(_join_elements(trace, np.stack, rows))
        elif probe.kind is PortKind.CARRIED:
            carried += trace.port_values(probe.port, BoundaryFilter(number=ref.id))
        elif probe.kind is PortKind.NODE and probe.slot in slots:
            # If the last iteration did not take its branch, the older value is still valid.
            values = trace.newest_value(probe.port, BoundaryFilter(entry=ref.entry, below=ref.iteration + 1))
            last_values.update((probe.slot, value) for value in values)
    if len(carried) != len(plan.edges) or any(len(rows) != ref.iteration for rows in scans):
        raise trace.damage_error(f"boundary {ref.id} is not whole")
    condition = ref.condition is not False
    return LoopResumeState(
        entry.loop, entry.around, ref.iteration, condition, carried, last_values, scans, ref.ended is not None
    )


def _resume_point_from_checkpoint(trace: TraceStore, model: Model) -> ResumePoint:
    row = next(iter(queries.newest_checkpoint(trace.rows)), None)
    if row is None:
        return ResumePoint([], 0)
    number, boundary, states = row
    try:
        path = [
            _loop_state_from_checkpoint(trace, model, number, state) for state in json.loads(validate_string(states))
        ]
        return ResumePoint(path, integer(boundary))
    except DAMAGE_ERRORS as error:
        raise trace.damage_error(error) from None


def _join_elements(trace: TraceStore, join: Callable[[list[Array]], Array], rows: list[Any]) -> Array:
    """Join the elements of a scan output into one array."""
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
        raise ValueError(f"there are {len(rows)} elements of a scan output instead of {count}")
    return rows


def _loop_state_from_checkpoint(
    trace: TraceStore, model: Model, number: int, state: Mapping[str, Any]
) -> LoopResumeState:
    loop, iteration = integer(state["loop"], 0, len(trace.loops) - 1), integer(state["iteration"])
    around = validate_string(state["around"])
    plan = model.plan.loops[loop]
    parts: dict[str, list[Any]] = {"carried": [], "last": []}
    for role, type_, data in queries.checkpoint_parts(trace.rows, number, loop):
        parts[role].append(trace.decode_value(type_, data))
    scans = []
    for index in range(len(plan.scans)):
        rows = [
            _check_count(trace.decode_value(type_, data), integer(count))
            for type_, data, count in queries.checkpoint_scan_elements(trace.rows, loop, around, index)
        ]
        scans.append(_join_elements(trace, np.concatenate, rows))
    slots = last_value_slots(model.plan, plan) if iteration else []
    if (
        len(parts["carried"]) != len(plan.edges)
        or len(parts["last"]) != len(slots)
        or any(len(rows) != iteration for rows in scans)
    ):
        raise trace.damage_error(f"checkpoint {number} is not whole")
    last_values = dict(zip(slots, parts["last"], strict=True))
    entry = outer_iterations(around, len(trace.loop_chain(loop)) - 1)
    return LoopResumeState(
        loop, entry, iteration, bool(state["keep"]), parts["carried"], last_values, scans, bool(state["ended"])
    )


def restore_engine(engine: Engine, position: ResumePoint, trace: TraceStore) -> None:
    """Bring an engine that was started on the recorded inputs to a resume point.

    Raises:
        TraceError: the run does not reach it: the model or this program computes other values than before.
        InterruptError: Ctrl-C.
    """
    _restore_totals(engine, position, trace)
    for state in position.loop_states:
        engine.clear_stops()
        engine.stop_at(state.loop, 0)
        event, index = engine.resume()
        if event == "interrupt":
            raise InterruptError("interrupted before the recorded run went on")
        iterations = tuple(engine.loop_state(k)[0] for k in engine.stack)
        if (event, index, iterations) != ("boundary", state.loop, (*state.outer_iterations, 0)):
            raise TraceError(f"{trace.path}: the run does not come by where the recorded one was; it cannot go on")
        for edge, value in zip(engine.plan.loops[state.loop].edges, state.carried, strict=True):
            current = engine.value(edge.param)
            optional = isinstance(edge.edge.param.type, OptionalType) and (current is None or value is None)
            if _value_kind(current) != _value_kind(value) and not optional:
                raise trace.damage_error(
                    f"a carried value is {_value_kind(value)} there, and {_value_kind(current)} in the model"
                )
        engine.loops.fast_forward(
            state.loop, state.iteration, state.condition, state.carried, state.scans, state.last_values
        )
        engine.retest_condition()
    engine.clear_stops()


def _value_kind(value: Any) -> str:
    """The type that is the same in all iterations."""
    return value.dtype.name if isinstance(value, np.ndarray) else "sequence" if isinstance(value, list) else "other"


def _restore_totals(engine: Engine, position: ResumePoint, trace: TraceStore) -> None:
    """Count the entries that are neither run again nor restored."""
    restored = {(state.loop, state.outer_iterations) for state in position.loop_states}
    for ref in trace.boundary_refs(BoundaryFilter(ended=True, before=position.boundary + 1)):
        entry = trace.entry(ref.entry)
        if (entry.loop, entry.around) not in restored and not position.is_rerun(trace, entry.loop, entry.around):
            assert ref.ended is not None
            engine.loops.add_finished_entry(entry.loop, ref.iteration, ref.ended, entry.trip_count)


def model_hash(model: Model) -> str:
    """SHA-256 of the model's file, an IR's weights, and the function name of a script; empty if the model has no file,
    or it was deleted.

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
        path = model.graph.weights or path.with_suffix(".bin")
        if model.path.suffix == ".xml" and path.is_file():
            _hash_file(digest, path)
    except OSError as error:
        raise file_error(UsageError, path, "cannot be read", error) from None
    digest.update(model.graph.function.encode())
    return digest.hexdigest()


def _hash_file(digest: hashlib._Hash, path: Path) -> None:
    with open_regular_file(path) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
