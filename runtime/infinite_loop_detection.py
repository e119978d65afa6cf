"""Detection of infinite loops: the carried state recurs bit for bit, and nothing else enters the loop.

A long run is checked periodically: the carried state at one boundary is saved, and a predicate of the engine, which
compares a few of its elements natively, stops the run where all of it may have returned. Checks take a constant part of
the time of the run, so that each covers more iterations than those before (Brent's algorithm): a period of any length
is found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .engine.engine import Engine
from .frame import Frame
from .frame_internals import CarriedValue, max_trip_count
from .graph import Loop, values_read_in_graph, walk
from .ops.operator_helpers import constant
from .ops.registry import ResolvedOperator, is_random
from .record import record

#: Seconds from the start of a run to its first check.
CHECK_AFTER_SECONDS = 0.25
#: Duration of a check: a part of the time since the start of the run, and in seconds.
_CHECK_SHARE, _MIN_CHECK_SECONDS = 0.1, 0.05
#: Maximum size of a state that is compared.
_MAX_STATE_BYTES = 1 << 26
#: Elements of a carried value that its predicate compares.
_MAX_PROBES = 16
#: States that seemed to have returned, and had not, after which a check gives up: each costs a stop.
_MAX_FALSE_HITS = 1000
P = Any
T = Any


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


class SavedState:
    """The carried state of a loop at a boundary, and a predicate that stops the engine where it may have returned.

    Attributes:
        index: the loop.
        is_exhausted: the loop was left, or too many hits were false.
    """

    def __init__(self, engine: Engine, frame: Frame, edges: list[CarriedValue]) -> None:
        plan = engine.plan.loops[frame.index]
        self.index = frame.index
        self.is_exhausted = False
        self._engine, self._loop = engine, plan.loop
        self._entry, self._iteration = frame.entry, frame.iteration
        self._false_hits = 0
        self._state = [edge.value for edge in edges]
        probes = [_probes(edge.previous, edge.value) for edge in edges]
        self._key = engine.monitor.add_predicate(
            frame.index,
            ResolvedOperator(_probe_test([elements for elements in probes if elements]), {}),
            tuple(edge.param for edge, elements in zip(plan.edges, probes, strict=True) if elements),
        )

    @classmethod
    def save(cls, engine: Engine, index: int) -> SavedState | None:
        """Save the state of a loop at a boundary; None: it cannot recur, or it is too large."""
        plan = engine.plan.loops[index]
        if not plan.edges or max_trip_count(engine, plan) is not None or not depends_on_state_only(plan.loop):
            return None
        tensors = (engine.memory.dtype_and_shape(edge.param) for edge in plan.edges)
        if sum(dtype.itemsize * math.prod(shape) for dtype, shape in filter(None, tensors)) > _MAX_STATE_BYTES:
            return None
        frame = Frame(engine, index)
        edges = frame.back_edges
        grows = any(edge.previous is not None and np.shape(edge.previous) != np.shape(edge.value) for edge in edges)
        return None if grows else cls(engine, frame, edges)

    def find_cycle(self) -> StateCycle | None:
        """Where the engine stopped at the predicate: the cycle, if the state has returned."""
        frame = Frame(self._engine, self.index)
        if frame.entry != self._entry:
            self.is_exhausted = True
        elif frame.iteration > self._iteration:
            if all(map(bitwise_equal, self._state, frame.carried.values())):
                return StateCycle(self._loop, self._iteration, frame.iteration)
            self._false_hits += 1
            self.is_exhausted = self._false_hits >= _MAX_FALSE_HITS
        return None

    def remove(self) -> None:
        """Remove the predicate."""
        self._engine.monitor.remove_predicate(self._key)

    def take_hit(self) -> bool:
        """Whether the engine stopped at the predicate, which is removed from the engine's hits."""
        monitor = self._engine.monitor
        is_hit = self._key in monitor.hits
        monitor.hits = tuple(key for key in monitor.hits if key != self._key)
        return is_hit


def _probes(previous: Any, value: Any) -> list[tuple[int, Any]]:
    """Elements of a carried value that tell its states apart, by flat index; not NaN, which equals nothing.

    Those of a large value are some that the last iteration changed.
    """
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "biuf":
        return []
    flat = np.reshape(value, -1)
    candidates = flat == flat
    if flat.size > _MAX_PROBES and previous is not None:
        candidates &= flat != np.reshape(previous, -1)
    indices = np.flatnonzero(candidates)
    chosen = indices[np.unique(np.linspace(0, len(indices) - 1, _MAX_PROBES).astype(int))] if len(indices) else indices
    return [(int(k), flat[k]) for k in chosen]


def _probe_test(probes: list[list[tuple[int, Any]]]) -> Callable[..., T]:
    """Whether values have the elements that ``_probes`` gave."""

    def test(p: P, *values: T) -> T:
        result = constant(p, True, np.dtype(np.bool_))
        for value, elements in zip(values, probes, strict=True):
            flat = p.reshape(value, (math.prod(value.shape),))
            for k, expected in elements:
                element = p.reshape(p.slice(flat, (k,), (1,), (1,)), ())
                same = p.map(np.equal, element, constant(p, expected, expected.dtype))
                result = p.map(np.logical_and, result, same)
        return result

    return test


class CycleDetector:
    """Checks a long run for cycles. ``start``: start time; ``stop_requested``: a check at the next boundary is due."""

    def __init__(self, engine: Engine, start: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._start = start
        self._next_check_at = start + CHECK_AFTER_SECONDS
        #: End of the running check.
        self._check_ends_at: float | None = None
        self.stop_requested = False

    def tick(self) -> None:
        """Request a stop if a check is due, or over; called while the engine runs."""
        due_at = self._next_check_at if self._check_ends_at is None else self._check_ends_at
        if self._clock() >= due_at:
            self.stop_requested = True
            self._engine.stop_anywhere()

    def check(self) -> tuple[str, int] | None:
        """At a boundary, save the states of the running loops, and run on until one returns or the time is over.

        Returns:
            A cycle, as a sentence, and its loop, or the event that ended the run; None: continue.
        """
        now = self._clock()
        self.stop_requested = False
        self._check_ends_at = now + max(_MIN_CHECK_SECONDS, _CHECK_SHARE * (now - self._start))
        saved: dict[int, SavedState | None] = {}
        try:
            return self._run_until_repetition(saved)
        finally:
            for state in saved.values():
                if state is not None:
                    state.remove()
            self._engine.clear_stops()
            self.stop_requested, self._check_ends_at = False, None
            # Keep the overhead of checks proportional to the run time.
            now = self._clock()
            self._next_check_at = now + (now - self._start)

    def _run_until_repetition(self, saved: dict[int, SavedState | None]) -> tuple[str, int] | None:
        engine = self._engine
        while True:
            engine.clear_stops()
            stack = engine.stack
            for index in stack:
                if index in saved:
                    continue
                if index == stack[-1]:
                    saved[index] = SavedState.save(engine, index)
                else:  # it is inside an iteration
                    engine.stop_at(index, engine.loop_state(index)[0] + 1)
            event, index = engine.resume()
            if event == "predicate":
                state = saved.get(index)
                if state is not None and state.take_hit():
                    cycle = state.find_cycle()
                    if cycle is not None:
                        return str(cycle), index
                    if state.is_exhausted:
                        state.remove()
                        saved[index] = None
                if engine.monitor.hits:  # of others
                    return event, index
            elif event != "boundary":
                return event, index
            elif self.stop_requested:
                return None
