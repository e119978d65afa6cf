"""Checkpoints in traces, from which a run can be resumed (``resume.py``).

A checkpoint has the state of each running loop: iteration, condition, carried values and scan outputs. If every
boundary is recorded completely, each boundary is a checkpoint, and nothing more is stored. Otherwise checkpoints are
written about twice a second: scan elements once, other data of the newest few.
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

#: Seconds between two checkpoints, and their maximum share of the time.
CHECKPOINT_INTERVAL_SECONDS = 0.5
_MAX_TIME_SHARE = 0.05
#: Number of stored checkpoints.
_CHECKPOINTS_KEPT = 2


@dataclass
class LoopResumeState:
    """The state of one entry of a loop. ``iteration``: the next one; ``scans``: all elements so far, or the new
    ones."""

    loop: int
    outer_iterations: tuple[int, ...]
    iteration: int
    condition: bool
    carried: list[Any]
    #: Slot -> value, for outputs that are computed by the last iteration.
    last_values: dict[int, Any]
    scans: list[Array]
    ended: bool


@dataclass
class CheckpointSaver:
    """Creates the checkpoints of a run if not every boundary is recorded completely."""

    plans: Sequence[LoopPlan]
    _next_time: float = 0.0
    #: (loop, outer iterations) -> number of elements of each scan output that were sent to the writer.
    _elements_sent: dict[tuple[int, tuple[int, ...]], list[int]] = field(default_factory=dict)
    #: States of ended loops of the main graph.
    _ended: list[LoopResumeState] = field(default_factory=list)

    def states_to_save(self, engine: Engine, now: float) -> list[LoopResumeState] | None:
        """The states to save at this boundary; None if no checkpoint is due."""
        stack = engine.stack
        _, _, _, ended, _ = engine.loop_state(stack[-1])
        if len(stack) == 1 and ended is not None:
            state = self._take_loop_state(engine, stack[0], ())
            self._ended.append(state)
            return self._with_ended_loops([])
        if now < self._next_time:
            return None
        around: tuple[int, ...] = ()
        running = []
        for index in stack:
            running.append(self._take_loop_state(engine, index, around))
            around = (*around, running[-1].iteration)
        self._next_time = now + max(CHECKPOINT_INTERVAL_SECONDS, (time.perf_counter() - now) / _MAX_TIME_SHARE)
        return self._with_ended_loops(running)

    def resume_from(self, states: Sequence[LoopResumeState]) -> None:
        """Initialize from the existing data of a resumed run."""
        for state in states:
            self._elements_sent[state.loop, state.outer_iterations] = [len(rows) for rows in state.scans]
            if state.ended and not state.outer_iterations:
                self._ended.append(replace(state, scans=[np.empty((0,)) for _ in state.scans]))

    def _with_ended_loops(self, running: list[LoopResumeState]) -> list[LoopResumeState]:
        # Scan elements of an ended loop were sent already.
        return [*self._ended, *running]

    def _take_loop_state(self, engine: Engine, index: int, around: tuple[int, ...]) -> LoopResumeState:
        plan = self.plans[index]
        iteration, _, condition, ended, _ = engine.loop_state(index)
        key = (index, around)
        if key not in self._elements_sent:
            # A new entry of an inner loop: drop the previous one.
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
            condition,
            [engine.value(edge.param) for edge in plan.edges],
            last_value_results(engine, plan) if iteration else {},
            scans,
            ended is not None,
        )


def save_checkpoint(store: TraceFileWriter, states: Sequence[LoopResumeState], boundary: int) -> None:
    """Write a checkpoint at or after a boundary, and delete the oldest."""
    ask = store.execute
    number = queries.last_id(ask, "checkpoint") + 1
    states_json = []
    for state in states:
        around = queries.outer_iterations_text(state.outer_iterations)
        for k, rows in enumerate(state.scans):
            if len(rows):
                first = queries.count_scan_elements(ask, state.loop, around, k)
                dtype, shape, data = encode_value(rows)
                row = (state.loop, around, k, first, len(rows), store.types.number_for(dtype, shape), data)
                store.insert("checkpoint_scan", [row])
        # The new elements are written: the state of an ended loop is part of the next checkpoint as well.
        state.scans = [np.empty((0,)) for _ in state.scans]
        parts = []
        for role, values in (("carried", state.carried), ("last", state.last_values.values())):
            for k, value in enumerate(values):
                dtype, shape, data = encode_value(value)
                parts.append((number, state.loop, role, k, store.types.number_for(dtype, shape), data))
        store.insert("checkpoint_part", parts)
        states_json.append(
            {
                "loop": state.loop,
                "around": around,
                "iteration": state.iteration,
                "keep": state.condition,
                "ended": state.ended,
            }
        )
    store.insert("checkpoint", [(number, boundary, json.dumps(states_json))])
    queries.delete_checkpoints(ask, number - _CHECKPOINTS_KEPT)
    for index in {state.loop for state in states if state.outer_iterations}:
        # For inner loops keep only the entries of a checkpoint.
        queries.delete_unused_scan_elements(ask, index)
