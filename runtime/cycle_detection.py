"""Runs that can never end: what a loop carries is what it was before, bit for bit, and nothing else enters.

A run that takes long is looked at now and then: what its loops carry at one boundary is kept, and compared at each of
the boundaries that follow, for a number that doubles from look to look, so that a period of any length is found
(Brent's algorithm) and looking takes a small part of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .engine.engine import Engine
from .frame import Frame
from .graph import Loop, values_read, walk
from .max_trip_count import max_trip_count
from .ops.registry import is_random

#: Boundaries that are compared in the first look.
FIRST_CHECK_BOUNDARIES = 256
#: Bytes that are compared in a look at most.
MAX_COMPARED_BYTES = 1 << 26


@dataclass(frozen=True)
class StateCycle:
    """A loop whose state before iteration ``now`` is that before iteration ``then``."""

    loop: Loop
    first_iteration: int
    repeated_iteration: int

    def __str__(self) -> str:
        one = self.repeated_iteration - self.first_iteration == 1
        period = self.repeated_iteration - self.first_iteration
        every = "is bit for bit as one iteration ago" if one else f"repeats bit for bit every {period} iterations"
        return (
            f"loop '{self.loop.name}' never ends: before iteration {self.repeated_iteration} what it carries {every}, "
            "and nothing else"
            " enters"
        )


def bitwise_equal(a: Any, b: Any) -> bool:
    """The same bits in the same shape and type: NaN is itself, and -0.0 is not 0.0."""
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
    """Whether an iteration depends on what the loop carries alone: it reads no slices, no number of its own, and draws
    nothing."""
    if loop.sliced_inputs or loop.counted_by_slices:
        return False
    return loop.iteration not in values_read(loop.body) and not any(
        is_random(node, loop.system) for node in walk(loop.body)
    )


def is_fixed_point(engine: Engine, index: int) -> bool:
    """Whether the last iteration of a loop, at a boundary, left all that it carries as it was; nothing else enters."""
    if not depends_on_state_only(engine.plan.loops[index].loop):
        return False
    edges = Frame(engine, index).back_edges
    return all(edge.previous is not None and bitwise_equal(edge.previous, edge.value) for edge in edges)


class CycleDetector:
    """Looks at a run that takes long. ``start``: when it began; ``asked``: the next boundary is to be looked at."""

    def __init__(self, engine: Engine, start: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._start = self._next_check_at = start
        self._boundaries = FIRST_CHECK_BOUNDARIES
        self.stop_requested = False

    def tick(self) -> None:
        """Ask for a stop, if it is time for a look; called while the engine runs."""
        if not self.stop_requested and self._clock() >= self._next_check_at:
            self.stop_requested = True
            self._engine.stop_anywhere()

    def check(self) -> tuple[str, int] | None:
        """At a boundary: go on for a while and compare. What ended the run meanwhile, or that nothing will; None: it is
        to go on."""
        found = self._run_and_compare()
        self._engine.clear_stops()
        self.stop_requested = False
        self._boundaries *= 2
        # Looking takes as long as it takes, and no more than a small part of the run.
        self._next_check_at = self._clock() + (self._clock() - self._start)
        return found

    def _run_and_compare(self) -> tuple[str, int] | None:
        """Go on from boundary to boundary, and compare; what ended the run meanwhile, if anything did."""
        kept: dict[int, tuple[Any, int, list[Any]]] = {}
        room = MAX_COMPARED_BYTES
        for _ in range(self._boundaries):
            for index in self._engine.stack:
                frame = Frame(self._engine, index)
                if not frame.at_boundary or index not in kept:
                    continue
                entry, then, state = kept[index]
                if frame.entry == entry and frame.iteration > then and bitwise_equal(state, _carried_state(frame)):
                    return str(StateCycle(self._engine.plan.loops[index].loop, then, frame.iteration)), index
            index = self._engine.stack[-1]
            frame = Frame(self._engine, index)
            state = _carried_state(frame) if index not in kept and self._can_repeat(index) else []
            if state:
                kept[index] = frame.entry, frame.iteration, state
            room -= sum(getattr(value, "nbytes", 0) for _, _, state in kept.values() for value in state)
            if room < 0:
                return None
            self._engine.clear_stops()
            self._engine.stop_anywhere()
            what, index = self._engine.resume()
            if what != "boundary":
                return what, index
        return None

    def _can_repeat(self, index: int) -> bool:
        plan = self._engine.plan.loops[index]
        return max_trip_count(self._engine, plan) is None and depends_on_state_only(plan.loop)


def _carried_state(frame: Frame) -> list[Any]:
    carried = list(frame.carried.values())
    return carried if sum(getattr(value, "nbytes", 0) for value in carried) <= MAX_COMPARED_BYTES else []
