"""Detection of infinite loops: the carried state recurs bit for bit, and nothing else enters the loop.

A long run is checked periodically: the carried state at one boundary is saved and compared at each of the following
boundaries, whose number doubles from check to check (Brent's algorithm), so that a period of any length is found with
small overhead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .engine.engine import Engine
from .frame import Frame
from .frame_internals import max_trip_count
from .graph import Loop, values_read_in_graph, walk
from .ops.registry import is_random
from .record import record

#: Boundaries compared in the first check.
FIRST_CHECK_BOUNDARIES = 256
#: Maximum number of bytes compared in a check.
MAX_COMPARED_BYTES = 1 << 26


@record(frozen=True)
class StateCycle:
    """A loop with equal states before ``first_iteration`` and ``repeated_iteration``."""

    loop: Loop
    first_iteration: int
    repeated_iteration: int

    def __str__(self) -> str:
        constant = self.repeated_iteration - self.first_iteration == 1
        period = self.repeated_iteration - self.first_iteration
        repetition = (
            "is bit for bit as one iteration ago" if constant else f"repeats bit for bit every {period} iterations"
        )
        return (
            f"loop '{self.loop.name}' never ends: before iteration {self.repeated_iteration} what it carries "
            f"{repetition}, and nothing else enters"
        )


def bitwise_equal(a: Any, b: Any) -> bool:
    """Equal bits, shape and type: NaN equals itself, and -0.0 differs from 0.0."""
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        if not (isinstance(a, list | tuple) and isinstance(b, list | tuple)) or len(a) != len(b):
            return False
        return all(bitwise_equal(x, y) for x, y in zip(a, b, strict=True))
    if a is None or b is None:
        return a is b
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    return bool((x == y).all()) if x.dtype.hasobject else x.tobytes() == y.tobytes()


def depends_on_state_only(loop: Loop) -> bool:
    """True if an iteration depends on the carried state only: no slices, no iteration number, no random numbers."""
    if loop.sliced_inputs or loop.counted_by_slices:
        return False
    return loop.iteration not in values_read_in_graph(loop.body) and not any(
        is_random(node, loop.system) for node in walk(loop.body)
    )


def is_fixed_point(engine: Engine, index: int) -> bool:
    """True if the last iteration of a loop, at a boundary, left its carried state unchanged and nothing else enters."""
    if not depends_on_state_only(engine.plan.loops[index].loop):
        return False
    edges = Frame(engine, index).back_edges
    return all(edge.previous is not None and bitwise_equal(edge.previous, edge.value) for edge in edges)


class CycleDetector:
    """Checks a long run for cycles. ``start``: start time; ``stop_requested``: a check at the next boundary is due."""

    def __init__(self, engine: Engine, start: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._start = self._next_check_at = start
        self._boundaries = FIRST_CHECK_BOUNDARIES
        self.stop_requested = False

    def tick(self) -> None:
        """Request a stop if a check is due; called while the engine runs."""
        if not self.stop_requested and self._clock() >= self._next_check_at:
            self.stop_requested = True
            self._engine.stop_anywhere()

    def check(self) -> tuple[str, int] | None:
        """At a boundary, run on and compare. Returns the event that ended the run, or a detected cycle; None:
        continue."""
        result = self._run_and_compare()
        self._engine.clear_stops()
        self.stop_requested = False
        self._boundaries *= 2
        # Keep the overhead of checks proportional to the run time.
        self._next_check_at = self._clock() + (self._clock() - self._start)
        return result

    def _run_and_compare(self) -> tuple[str, int] | None:
        """Run from boundary to boundary, and compare; returns the event that ended the run, if any."""
        saved: dict[int, tuple[Any, int, list[Any]]] = {}
        remaining_bytes = MAX_COMPARED_BYTES
        for _ in range(self._boundaries):
            for index in self._engine.stack:
                frame = Frame(self._engine, index)
                if not frame.at_boundary or index not in saved:
                    continue
                entry, start, state = saved[index]
                if frame.entry == entry and frame.iteration > start and bitwise_equal(state, _carried_state(frame)):
                    return str(StateCycle(self._engine.plan.loops[index].loop, start, frame.iteration)), index
            index = self._engine.stack[-1]
            frame = Frame(self._engine, index)
            state = _carried_state(frame) if index not in saved and self._can_repeat(index) else []
            if state:
                saved[index] = frame.entry, frame.iteration, state
            remaining_bytes -= sum(getattr(value, "nbytes", 0) for _, _, state in saved.values() for value in state)
            if remaining_bytes < 0:
                return None
            self._engine.clear_stops()
            self._engine.stop_anywhere()
            event, index = self._engine.resume()
            if event != "boundary":
                return event, index
        return None

    def _can_repeat(self, index: int) -> bool:
        plan = self._engine.plan.loops[index]
        return max_trip_count(self._engine, plan) is None and depends_on_state_only(plan.loop)


def _carried_state(frame: Frame) -> list[Any]:
    carried = list(frame.carried.values())
    return carried if sum(getattr(value, "nbytes", 0) for value in carried) <= MAX_COMPARED_BYTES else []
