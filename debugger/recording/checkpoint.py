"""Checkpoints: what a trace holds so that its run can go on from there, and how it goes on.

A checkpoint is made of the running loops' own terms: for each of them the iteration, the condition, what its back
edges carry and what its scan outputs collected. Where every boundary is recorded whole, each boundary is one, and
nothing more is stored. Else (``--every``, ``--only``) they are written about twice a second: scan elements once, all
else of the newest few.

A run goes on like this: the model is started on the recorded inputs, and each loop that is met on the way is put where
it was. What lies before and between is computed again, and so is an inner loop that had ended and of which nothing is
known.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import InterruptError, TraceError, UsageError
from ...runtime.graph import Array, OptionalType
from ...runtime.graph.encoding import encode
from ...runtime.model import Model
from ...runtime.plan.plan import LoopPlan
from .cells import places, text, whole
from .database import DAMAGE
from .ports import PortKind, Tapped, result_slots, results, tap

if TYPE_CHECKING:
    from .reader import Mark, Trace
    from .writer import Store

#: Seconds between two checkpoints, and the share of the time that making them may take.
INTERVAL = 0.5
_SHARE = 0.05
#: So many are kept.
_KEPT = 2


@dataclass
class LoopState:
    """Where one entry of a loop stands. ``iteration`` would run next; ``scans``: elements so far, or what was added."""

    loop: int
    around: tuple[int, ...]
    iteration: int
    keep: bool
    carried: list[Any]
    #: Slot -> value, of outputs that take what the last iteration computed.
    lasts: dict[int, Any]
    scans: list[Array]
    ended: bool


# -- writing


@dataclass
class Saver:
    """Makes the checkpoints of a run of which not every boundary is recorded whole."""

    plans: Sequence[LoopPlan]
    _next: float = 0.0
    #: (loop, iterations around) -> of each scan output how many elements are on their way to the file.
    _sent: dict[tuple[int, tuple[int, ...]], list[int]] = field(default_factory=dict)
    #: States of loops of the main graph that have ended.
    _ended: list[LoopState] = field(default_factory=list)

    def at(self, engine: Engine, now: float) -> list[LoopState] | None:
        """The states to be saved at this boundary, None where it is too early."""
        stack = engine.stack
        _, _, _, ended, _ = engine.loop_state(stack[-1])
        if len(stack) == 1 and ended is not None:
            state = self._state(engine, stack[0], ())
            self._ended.append(state)
            return self._all([])
        if now < self._next:
            return None
        around: tuple[int, ...] = ()
        running = []
        for index in stack:
            running.append(self._state(engine, index, around))
            around = (*around, running[-1].iteration)
        self._next = now + max(INTERVAL, (time.perf_counter() - now) / _SHARE)
        return self._all(running)

    def go_on(self, position: Position) -> None:
        """Take note of what the file has already, of a run that goes on."""
        for state in position.path:
            self._sent[state.loop, state.around] = [len(rows) for rows in state.scans]
            if state.ended and not state.around:
                self._ended.append(replace(state, scans=[np.empty((0,)) for _ in state.scans]))

    def _all(self, running: list[LoopState]) -> list[LoopState]:
        # Of a loop that has ended its scan elements are on their way already.
        return [*self._ended, *running]

    def _state(self, engine: Engine, index: int, around: tuple[int, ...]) -> LoopState:
        plan = self.plans[index]
        iteration, _, keep, ended, _ = engine.loop_state(index)
        key = (index, around)
        if key not in self._sent:
            # An inner loop was entered anew: the entry before is over.
            self._sent = {k: v for k, v in self._sent.items() if k[0] != index}
        sent = self._sent.setdefault(key, [0] * len(plan.scans))
        scans = []
        for k in range(len(plan.scans)):
            count, _, newest = engine.scan_view(index, k, iteration - sent[k])
            scans.append(np.array(newest) if count > sent[k] else np.empty((0,)))
            sent[k] = count
        return LoopState(
            index,
            around,
            iteration,
            keep,
            [engine.value(edge.param) for edge in plan.edges],
            results(engine, plan) if iteration else {},
            scans,
            ended is not None,
        )


def save(store: Store, states: Sequence[LoopState], boundary: int) -> None:
    """Write a checkpoint, which comes after a boundary or is of it, and forget the oldest."""
    (last,) = store.execute("SELECT coalesce(max(id), 0) FROM checkpoint")[0]
    number = last + 1
    told = []
    for state in states:
        around = "/".join(map(str, state.around))
        for k, rows in enumerate(state.scans):
            if len(rows):
                (first,) = store.execute(
                    "SELECT coalesce(max(first + count), 0) FROM checkpoint_scan"
                    " WHERE loop = ? AND around = ? AND scan = ?",
                    (state.loop, around, k),
                )[0]
                dtype, shape, data = encode(rows)
                row = (state.loop, around, k, first, len(rows), store.types.number(dtype, shape), data)
                store.insert("checkpoint_scan", 7, [row])
        # What was added is written: the state of a loop that ended is told again with the next checkpoint.
        state.scans = [np.empty((0,)) for _ in state.scans]
        parts = []
        for role, values in (("carried", state.carried), ("last", state.lasts.values())):
            for k, value in enumerate(values):
                dtype, shape, data = encode(value)
                parts.append((number, state.loop, role, k, store.types.number(dtype, shape), data))
        store.insert("checkpoint_part", 6, parts)
        told.append(
            {
                "loop": state.loop,
                "around": around,
                "iteration": state.iteration,
                "keep": state.keep,
                "ended": state.ended,
            }
        )
    store.execute("INSERT INTO checkpoint VALUES (?, ?, ?)", (number, boundary, json.dumps(told)))
    store.execute("DELETE FROM checkpoint WHERE id <= ?", (number - _KEPT,))
    store.execute("DELETE FROM checkpoint_part WHERE checkpoint <= ?", (number - _KEPT,))
    for index in {state.loop for state in states if state.around}:
        # Of inner loops only the entries that a checkpoint is in.
        kept = {
            state["around"]
            for (text,) in store.execute("SELECT state FROM checkpoint")
            for state in json.loads(text)
            if state["loop"] == index
        }
        marks = ",".join("?" * len(kept))
        store.execute(f"DELETE FROM checkpoint_scan WHERE loop = ? AND around NOT IN ({marks})", (index, *kept))


# -- reading


@dataclass(frozen=True)
class Position:
    """Where a run can go on."""

    #: The loops to be put somewhere, in the order in which they are met.
    path: Sequence[LoopState]
    #: The newest boundary that lies before it; 0: none.
    boundary: int

    @property
    def running(self) -> list[LoopState]:
        """The loops that still run, outermost first."""
        return [state for state in self.path if not state.ended]

    @property
    def told(self) -> str:
        """For a person: ``iteration 137``, of nested loops ``iteration 3/7``."""
        if not self.path:
            return "the start"
        if not self.running:
            return "the end of a loop"
        return f"iteration {'/'.join(str(state.iteration) for state in self.running)}"

    def runs_again(self, trace: Trace, loop: int, around: tuple[int, ...]) -> bool:
        """True for an entry that lies in an iteration that runs, and that is run again since nothing is known of it."""
        if any((state.loop, state.around) == (loop, around) for state in self.path):
            return False
        lineage = trace.around(loop)
        for state in self.path:
            depth = len(state.around)
            if state.ended and lineage[depth : depth + 1] == [state.loop] and around[:depth] == state.around:
                return False
        for depth, state in enumerate(self.running):
            if depth >= len(lineage) or lineage[depth] != state.loop or around[:depth] != state.around:
                # Beside a running loop, in the iteration that runs around both.
                return True
            if around[depth : depth + 1] != (state.iteration,):
                return False
        return True


def newest(trace: Trace, model: Model) -> Position:
    """The position at which a recorded run can go on.

    Raises:
        UsageError: the trace is one of another model, or its run came to its end.
        TraceError: it is damaged.
    """
    from .recorder import model_hash

    have = model_hash(model)
    if trace.model_hash and have and trace.model_hash != have:
        raise UsageError(f"{trace.path}: was recorded with another model ({trace.model}), not with this {model.name}")
    plans = [plan.path for plan in model.plan.loops]
    if plans != [loop.path for loop in trace.loops]:
        raise UsageError(f"{trace.path}: was recorded with a model that has other loops than {model.name}")
    if trace.ended == "end":
        raise UsageError(f"{trace.path}: this run came to its end; there is nothing to go on with")
    return _from_boundaries(trace, model) if trace.whole else _from_checkpoint(trace, model)


def _from_boundaries(trace: Trace, model: Model) -> Position:
    """Every boundary is recorded whole: the newest one is where it stands."""
    last = next(trace.marks("ORDER BY id DESC LIMIT 1"), None)
    if last is None:
        return Position([], 0)
    entry = trace.entry(last.entry)
    chain = trace.around(entry.loop)
    taps = tap(model.plan, nodes=trace.nodes)
    if [(t.kind, t.name) for loop in taps for t in loop] != [
        one for loop in trace.loops for one in trace.ports(loop.index)
    ]:
        raise UsageError(f"{trace.path}: was recorded by another version of this program; record it again")
    path: list[LoopState] = []
    for depth in range(len(chain) + 1):
        # The entries directly in the iteration that runs: those that are over, and the one that still runs.
        parent = chain[depth - 1] if depth else None
        around = (*entry.around, last.iteration)[:depth]
        inside = False
        for number in _entries(trace, parent, around):
            mark = next(trace.marks("WHERE entry = ? ORDER BY iteration DESC LIMIT 1", number), None)
            if mark is None:
                raise trace.damaged(f"entry {number} has no boundary")
            path.append(_recorded_state(trace, model, taps, mark))
            inside = mark.ended is None
        if not inside:
            break
    return Position(path, last.id)


def _entries(trace: Trace, parent: int | None, around: tuple[int, ...]) -> list[int]:
    return [
        number
        for (number,) in trace.rows(
            "SELECT e.id FROM entry e JOIN loop l ON l.id = e.loop WHERE e.around = ? AND l.parent IS ? ORDER BY e.id",
            "/".join(map(str, around)),
            parent,
        )
    ]


def _recorded_state(trace: Trace, model: Model, taps: list[Tapped], mark: Mark) -> LoopState:
    entry = trace.entry(mark.entry)
    plan = model.plan.loops[entry.loop]
    carried: list[Any] = []
    lasts: dict[int, Any] = {}
    scans: list[Array] = []
    free = result_slots(model.plan, plan) if mark.iteration else []
    for one in taps[entry.loop]:
        if one.kind is PortKind.SCAN:
            rows = trace.port_values(one.port, "entry = ? AND iteration BETWEEN 1 AND ?", mark.entry, mark.iteration)
            scans.append(_joined(trace, np.stack, rows))
        elif one.kind is PortKind.CARRIED:
            carried += trace.port_values(one.port, "id = ?", mark.id)
        elif one.kind is PortKind.NODE and one.slot in free:
            # In a branch that the last iteration did not take: it has the value that it had before.
            found = trace.port_values(one.port, "entry = ? AND iteration <= ?", mark.entry, mark.iteration, newest=True)
            lasts.update((one.slot, value) for value in found)
    if len(carried) != len(plan.edges) or any(len(rows) != mark.iteration for rows in scans):
        raise trace.damaged(f"boundary {mark.id} is not whole")
    keep = mark.condition is not False
    return LoopState(entry.loop, entry.around, mark.iteration, keep, carried, lasts, scans, mark.ended is not None)


def _from_checkpoint(trace: Trace, model: Model) -> Position:
    row = next(trace.rows("SELECT id, boundary, state FROM checkpoint ORDER BY id DESC LIMIT 1"), None)
    if row is None:
        return Position([], 0)
    number, boundary, states = row
    try:
        path = [_saved_state(trace, model, number, told) for told in json.loads(text(states))]
        return Position(path, whole(boundary))
    except DAMAGE as error:
        raise trace.damaged(error) from None


def _joined(trace: Trace, join: Callable[[list[Array]], Array], rows: list[Any]) -> Array:
    """The elements of a scan output in one array."""
    if not rows:
        return np.empty((0,))
    if any(not isinstance(row, np.ndarray) or row.dtype != rows[0].dtype for row in rows):
        raise trace.damaged("elements of a scan output are of several types")
    try:
        return join(rows)
    except ValueError as error:
        raise trace.damaged(error) from None


def _counted(rows: Any, count: int) -> Any:
    if len(rows) != count:
        raise ValueError(f"{len(rows)} elements of a scan output stand where there should be {count}")
    return rows


def _saved_state(trace: Trace, model: Model, number: int, told: Mapping[str, Any]) -> LoopState:
    loop, iteration = whole(told["loop"], 0, len(trace.loops) - 1), whole(told["iteration"])
    around = text(told["around"])
    plan = model.plan.loops[loop]
    parts: dict[str, list[Any]] = {"carried": [], "last": []}
    for role, type_, data in trace.rows(
        "SELECT role, type, data FROM checkpoint_part WHERE checkpoint = ? AND loop = ? ORDER BY role, number",
        number,
        loop,
    ):
        parts[role].append(trace.decoded(type_, data))
    scans = []
    for k in range(len(plan.scans)):
        rows = [
            _counted(trace.decoded(type_, data), whole(count))
            for type_, data, count in trace.rows(
                "SELECT type, data, count FROM checkpoint_scan WHERE loop = ? AND around = ? AND scan = ?"
                " ORDER BY first",
                loop,
                around,
                k,
            )
        ]
        scans.append(_joined(trace, np.concatenate, rows))
    free = result_slots(model.plan, plan) if iteration else []
    if (
        len(parts["carried"]) != len(plan.edges)
        or len(parts["last"]) != len(free)
        or any(len(rows) != iteration for rows in scans)
    ):
        raise trace.damaged(f"checkpoint {number} is not whole")
    lasts = dict(zip(free, parts["last"], strict=True))
    entry = places(around, len(trace.around(loop)) - 1)
    return LoopState(loop, entry, iteration, bool(told["keep"]), parts["carried"], lasts, scans, bool(told["ended"]))


# -- going on


def go_to(engine: Engine, position: Position, trace: Trace) -> None:
    """Bring an engine that was started on the recorded inputs to a position.

    Raises:
        TraceError: the run does not come by there: the model or this program computes something else than it did.
        InterruptError: Ctrl-C.
    """
    _count_before(engine, position, trace)
    for state in position.path:
        engine.clear_stops()
        engine.stop_at(state.loop, 0)
        what, index = engine.resume()
        if what == "interrupt":
            raise InterruptError("interrupted before the recorded run went on")
        iterations = tuple(engine.loop_state(k)[0] for k in engine.stack)
        if (what, index, iterations) != ("boundary", state.loop, (*state.around, 0)):
            raise TraceError(f"{trace.path}: the run does not come by where the recorded one was; it cannot go on")
        for edge, value in zip(engine.plan.loops[state.loop].edges, state.carried, strict=True):
            before = engine.value(edge.param)
            optional = isinstance(edge.edge.param.type, OptionalType) and (before is None or value is None)
            if _kind(before) != _kind(value) and not optional:
                raise trace.damaged(f"a carried value is {_kind(value)} there, and {_kind(before)} in the model")
        engine.forward(state.loop, state.iteration, state.keep, state.carried, state.scans, state.lasts)
    engine.clear_stops()


def _kind(value: Any) -> str:
    """What does not change from iteration to iteration."""
    return value.dtype.name if isinstance(value, np.ndarray) else "sequence" if isinstance(value, list) else "other"


def _count_before(engine: Engine, position: Position, trace: Trace) -> None:
    """Entries that are neither run again nor put somewhere count as well."""
    ours = {(state.loop, state.around) for state in position.path}
    for mark in trace.marks("WHERE ended IS NOT NULL AND id <= ? ORDER BY id", position.boundary):
        entry = trace.entry(mark.entry)
        if (entry.loop, entry.around) not in ours and not position.runs_again(trace, entry.loop, entry.around):
            assert mark.ended is not None
            engine.count_entry(entry.loop, mark.iteration, mark.ended, entry.trip_count)
