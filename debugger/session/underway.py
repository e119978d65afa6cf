"""How running loops stand, told now and then while they run on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.graph import Array, ScanOutput
from ...runtime.graph.slices import from_start, joined_shape
from ...runtime.limits import most_iterations
from ..statistics.history import Evolution
from ..statistics.sample import Sample, evenly, folded, folded_numbers, sampled, sampled_numbers
from ..statistics.tensor import LARGE
from .histories import Histories

#: It is told so often, for so long after somebody asked, and takes at most this part of the time.
_EVERY, _ASKED, _SHARE = 0.09, 1.0, 0.02
#: Of a scan output so many elements in so many lines are read, and so many numbers of each; so many single ones.
_LINES, _EACH, _NUMBERS, _SINGLE = 64, 2, 512, 1 << 15
#: Of so many numbers each is read, while the loop waits.
_ALL = 1 << 20
#: Carried tensors of so many bytes are copied; of others there is the history.
_SMALL = LARGE


@dataclass(frozen=True, eq=False)
class Collected:
    """What a scan output has so far: ``newest`` is its newest element, where that is small."""

    count: int
    shape: tuple[int, ...]
    dtype: str
    newest: Any
    sample: Sample | None


@dataclass(frozen=True, eq=False)
class Carried:
    """What a back edge carries: what the next iteration gets and what the one before got, where they are small."""

    dtype: str
    shape: tuple[int, ...]
    value: Array | None
    previous: Array | None


@dataclass(frozen=True, eq=False)
class Underway:
    """The recent state of a running loop, at a boundary of it or of one inside. What is carried and collected is in
    the order of its back edges and scan outputs; None: no tensor. ``history``: what its values were so far."""

    entry: tuple[int, ...]
    iteration: int
    trip_count: int | None
    carried: tuple[Carried | None, ...]
    scans: tuple[Collected, ...]
    history: Evolution


class Underways:
    """Reads an engine at a boundary that it passes anyway."""

    def __init__(self, engine: Engine, histories: Histories) -> None:
        self._engine = engine
        self._histories = histories
        self._asked = self._told = 0.0
        self._cost = 0.0
        self._found: Mapping[str, Underway] = {}

    @property
    def lately(self) -> Mapping[str, Underway]:
        """Path of each loop that was met running -> how it stood. From any thread, while the engine runs in another."""
        self._asked = time.monotonic()
        return self._found

    def forget(self) -> None:
        """A command begins."""
        self._found = {}

    @property
    def is_due(self) -> bool:
        """Whether the engine should stop at the next boundary, to be read."""
        now = time.monotonic()
        return now - self._asked < _ASKED and now - self._told > max(_EVERY, self._cost / _SHARE)

    def look(self) -> None:
        """In the thread that runs the engine, while it stands at a boundary."""
        if not self.is_due:
            return
        # Without the time in which others run.
        begun = time.thread_time()
        # Nobody ever changes what others may be reading.
        self._found = {**self._found, **self._look()}
        self._cost = time.thread_time() - begun
        self._told = time.monotonic()

    def _look(self) -> dict[str, Underway]:
        engine, found = self._engine, {}
        entry: tuple[int, ...] = ()
        for index in engine.stack:
            plan = engine.plan.loops[index]
            iteration, trips = engine.loop_state(index)[0], most_iterations(engine, plan)
            between = engine.pc == plan.head and iteration > 0
            carried = tuple(self._carried(index, k, one.param, between) for k, one in enumerate(plan.edges))
            scans = tuple(self._collected(index, k, one.output) for k, one in enumerate(plan.scans))
            found[plan.path] = Underway(entry, iteration, trips, carried, scans, self._histories.of(index))
            entry = (*entry, iteration)
        return found

    def _carried(self, index: int, k: int, slot: int, between: bool) -> Carried | None:
        value = self._engine.peek(slot)
        if not isinstance(value, np.ndarray):
            return None
        small = value.nbytes <= _SMALL
        before = self._engine.loops.peek_previous(index, k) if small and between else None
        known = isinstance(before, np.ndarray) and before.nbytes <= _SMALL
        return Carried(
            value.dtype.name, value.shape, np.array(value) if small else None, np.array(before) if known else None
        )

    def _collected(self, index: int, k: int, port: ScanOutput) -> Collected:
        rows = self._engine.scans.rows(index, k)
        if rows is None:
            return Collected(0, (0,), "", None, None)
        count, element = len(rows), rows.shape[1:]
        newest = np.array(rows[-1]) if rows[-1].nbytes < LARGE or rows.dtype.hasobject else None
        told = count, joined_shape(element, port, count), rows.dtype.name, newest
        size = int(np.prod(element, dtype=np.int64))
        if not size or rows.dtype.kind in "OUST":
            return Collected(*told, None)
        # As they stand in the output.
        rows = rows[::-1] if port.reverse else rows
        if size == 1:
            take = folded_numbers if rows.size <= _ALL else sampled_numbers
            return Collected(*told, take(rows, _SINGLE))
        axis = 0 if port.stack else from_start(port.axis, len(element))
        if rows.size <= _ALL:
            return Collected(*told, folded(rows, size, _NUMBERS, axis))
        return Collected(*told, sampled(rows, size, evenly(count, _LINES, _EACH), _NUMBERS, axis))
