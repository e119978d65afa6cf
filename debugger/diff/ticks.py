"""Tells now and then how far a run that is compared is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...runtime.model import LoopTotals, Run
from ..session.boundary import Boundary

#: Called with the totals of a run so far; the second is true of one that was compared, and is run again to find where
#: a difference comes from.
OnTick = Callable[[Run, bool], object]
#: Seconds between two calls.
INTERVAL = 0.1


class Ticks:
    """One run; called at its boundaries and between them. ``totals``: how its loops went so far."""

    def __init__(self, on_tick: OnTick | None, again: bool, totals: Callable[[], Sequence[LoopTotals]]) -> None:
        self._on_tick = on_tick
        self._again = again
        self._totals = totals
        self._next = 0.0

    def __call__(self) -> None:
        if self._on_tick is None:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL
            self._on_tick(Run({}, list(self._totals())), self._again)


class Read:
    """How many iterations of each loop were read of a recording, which need not have them all."""

    def __init__(self) -> None:
        #: By loop: the entry that is read, the iterations of those before, and those of it.
        self._at: dict[str, tuple[tuple[int, ...], int, int]] = {}

    def see(self, boundary: Boundary) -> None:
        """Count one boundary more."""
        entry, before, now = self._at.get(boundary.loop, (boundary.entry, 0, 0))
        if boundary.entry != entry:
            before += now
        self._at[boundary.loop] = boundary.entry, before, boundary.iteration

    def totals(self, whole: Sequence[LoopTotals]) -> list[LoopTotals]:
        """The totals up to here; those of the ``whole`` recording are their trip counts."""
        there = ((loop, self._at[loop.path]) for loop in whole if loop.path in self._at)
        return [
            replace(loop, iterations=before + now, stopped_by=None, trip_count=loop.iterations)
            for loop, (_, before, now) in there
        ]
