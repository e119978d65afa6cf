"""Tells now and then how far a run that is compared is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ....runtime.model import LoopTotals, Run
from ...session.boundary import Boundary

#: Called with the totals of a run so far; the second is true of one that was compared, and is run again to find where
#: a difference comes from.
OnTick = Callable[[Run, bool], object]
#: Seconds between two calls.
REPORT_INTERVAL_SECONDS = 0.1


class ProgressReporter:
    """One run; called at its boundaries and between them. ``totals``: how its loops went so far."""

    def __init__(self, on_tick: OnTick | None, again: bool, totals: Callable[[], Sequence[LoopTotals]]) -> None:
        self._on_tick = on_tick
        self._is_rerun = again
        self._totals = totals
        self._next_report_time = 0.0

    def __call__(self) -> None:
        if self._on_tick is None:
            return
        now = time.monotonic()
        if now >= self._next_report_time:
            self._next_report_time = now + REPORT_INTERVAL_SECONDS
            self._on_tick(Run({}, list(self._totals())), self._is_rerun)


class ReadProgress:
    """How many iterations of each loop were read of a recording, which need not have them all."""

    def __init__(self) -> None:
        #: By loop: the entry that is read, the iterations of those before, and those of it.
        self._positions: dict[str, tuple[tuple[int, ...], int, int]] = {}

    def count_boundary(self, boundary: Boundary) -> None:
        """Count one boundary more."""
        entry, before, now = self._positions.get(boundary.loop, (boundary.entry, 0, 0))
        if boundary.entry != entry:
            before += now
        self._positions[boundary.loop] = boundary.entry, before, boundary.iteration

    def totals(self, whole: Sequence[LoopTotals]) -> list[LoopTotals]:
        """The totals up to here; those of the ``whole`` recording are their trip counts."""
        there = ((loop, self._positions[loop.path]) for loop in whole if loop.path in self._positions)
        return [
            replace(loop, iterations=before + now, stopped_by=None, trip_count=loop.iterations)
            for loop, (_, before, now) in there
        ]
