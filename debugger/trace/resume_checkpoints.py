"""Checkpoints: what a trace holds so that its run can go on from there (``resume.py``).

A checkpoint is made of the running loops' own terms: for each of them the iteration, the condition, what its back
edges carry and what its scan outputs collected. Where every boundary is recorded whole, each boundary is one, and
nothing more is stored. Else they are written about twice a second: scan elements once, all
else of the newest few.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.graph import Array
from ...runtime.graph.value_encoding import encode_value
from ...runtime.plan.plan import LoopPlan
from . import queries
from .probes import last_value_results
from .writer import TraceFileWriter

#: Seconds between two checkpoints, and the share of the time that making them may take.
CHECKPOINT_INTERVAL_SECONDS = 0.5
_MAX_TIME_SHARE = 0.05
#: So many are kept.
_CHECKPOINTS_KEPT = 2


@dataclass
class LoopResumeState:
    """Where one entry of a loop stands. ``iteration`` would run next; ``scans``: elements so far, or what was added."""

    loop: int
    outer_iterations: tuple[int, ...]
    iteration: int
    condition: bool
    carried: list[Any]
    #: Slot -> value, of outputs that take what the last iteration computed.
    last_values: dict[int, Any]
    scans: list[Array]
    ended: bool


@dataclass
class CheckpointSaver:
    """Makes the checkpoints of a run of which not every boundary is recorded whole."""

    plans: Sequence[LoopPlan]
    _next_time: float = 0.0
    #: (loop, iterations around) -> of each scan output how many elements are on their way to the file.
    _elements_sent: dict[tuple[int, tuple[int, ...]], list[int]] = field(default_factory=dict)
    #: States of loops of the main graph that have ended.
    _ended: list[LoopResumeState] = field(default_factory=list)

    def states_due(self, engine: Engine, now: float) -> list[LoopResumeState] | None:
        """The states to be saved at this boundary, None where it is too early."""
        stack = engine.stack
        _, _, _, ended, _ = engine.loop_state(stack[-1])
        if len(stack) == 1 and ended is not None:
            state = self._state(engine, stack[0], ())
            self._ended.append(state)
            return self._with_ended_loops([])
        if now < self._next_time:
            return None
        around: tuple[int, ...] = ()
        running = []
        for index in stack:
            running.append(self._state(engine, index, around))
            around = (*around, running[-1].iteration)
        self._next_time = now + max(CHECKPOINT_INTERVAL_SECONDS, (time.perf_counter() - now) / _MAX_TIME_SHARE)
        return self._with_ended_loops(running)

    def resume_from(self, states: Sequence[LoopResumeState]) -> None:
        """Take note of what the file has already, of a run that goes on."""
        for state in states:
            self._elements_sent[state.loop, state.outer_iterations] = [len(rows) for rows in state.scans]
            if state.ended and not state.outer_iterations:
                self._ended.append(replace(state, scans=[np.empty((0,)) for _ in state.scans]))

    def _with_ended_loops(self, running: list[LoopResumeState]) -> list[LoopResumeState]:
        # Of a loop that has ended its scan elements are on their way already.
        return [*self._ended, *running]

    def _state(self, engine: Engine, index: int, around: tuple[int, ...]) -> LoopResumeState:
        plan = self.plans[index]
        iteration, _, keep, ended, _ = engine.loop_state(index)
        key = (index, around)
        if key not in self._elements_sent:
            # An inner loop was entered anew: the entry before is over.
            self._elements_sent = {k: v for k, v in self._elements_sent.items() if k[0] != index}
        sent = self._elements_sent.setdefault(key, [0] * len(plan.scans))
        scans = []
        for k in range(len(plan.scans)):
            count, _, newest = engine.scans.view(index, k, iteration - sent[k])
            scans.append(np.array(newest) if count > sent[k] else np.empty((0,)))
            sent[k] = count
        return LoopResumeState(
            index,
            around,
            iteration,
            keep,
            [engine.value(edge.param) for edge in plan.edges],
            last_value_results(engine, plan) if iteration else {},
            scans,
            ended is not None,
        )


def save_checkpoint(store: TraceFileWriter, states: Sequence[LoopResumeState], boundary: int) -> None:
    """Write a checkpoint, which comes after a boundary or is of it, and forget the oldest."""
    ask = store.execute
    number = queries.last_id(ask, "checkpoint") + 1
    told = []
    for state in states:
        around = queries.outer_iterations_text(state.outer_iterations)
        for k, rows in enumerate(state.scans):
            if len(rows):
                first = queries.count_scan_elements(ask, state.loop, around, k)
                dtype, shape, data = encode_value(rows)
                row = (state.loop, around, k, first, len(rows), store.types.number_for(dtype, shape), data)
                store.insert("checkpoint_scan", [row])
        # What was added is written: the state of a loop that ended is told again with the next checkpoint.
        state.scans = [np.empty((0,)) for _ in state.scans]
        parts = []
        for role, values in (("carried", state.carried), ("last", state.last_values.values())):
            for k, value in enumerate(values):
                dtype, shape, data = encode_value(value)
                parts.append((number, state.loop, role, k, store.types.number_for(dtype, shape), data))
        store.insert("checkpoint_part", parts)
        told.append(
            {
                "loop": state.loop,
                "around": around,
                "iteration": state.iteration,
                "keep": state.condition,
                "ended": state.ended,
            }
        )
    store.insert("checkpoint", [(number, boundary, json.dumps(told))])
    queries.delete_checkpoints(ask, number - _CHECKPOINTS_KEPT)
    for index in {state.loop for state in states if state.outer_iterations}:
        # Of inner loops only the entries that a checkpoint is in.
        queries.delete_scans(ask, index)
