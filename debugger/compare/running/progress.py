"""Reports the progress of compared runs periodically."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ....runtime.model import LoopTotals, Run
from ...session.boundary import Boundary

#: Called with the totals of a run so far; the second argument is true for a repeated run that traces a
#: cause.
OnTick = Callable[[Run, bool], object]
#: Seconds between two reports.
REPORT_INTERVAL_SECONDS = 0.1


class ProgressReporter:
    """Reports one run; called at its boundaries and between them. ``totals``: the loop totals so far."""

    def __init__(self, on_tick: OnTick | None, is_rerun: bool, totals: Callable[[], Sequence[LoopTotals]]) -> None:
        self._on_tick = on_tick
        self._is_rerun = is_rerun
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
    """Counts the read iterations of each loop of a recording, which may be incomplete."""

    def __init__(self) -> None:
        #: By loop: the current entry, the iterations of earlier entries, and those of the current one.
        self._positions: dict[str, tuple[tuple[int, ...], int, int]] = {}

    def count_boundary(self, boundary: Boundary) -> None:
        """Count one boundary."""
        entry, earlier, current = self._positions.get(boundary.loop, (boundary.entry, 0, 0))
        if boundary.entry != entry:
            earlier += current
        self._positions[boundary.loop] = boundary.entry, earlier, boundary.iteration

    def totals(self, recorded: Sequence[LoopTotals]) -> list[LoopTotals]:
        """The totals so far; trip counts are those of the complete recording."""
        positions = ((loop, self._positions[loop.path]) for loop in recorded if loop.path in self._positions)
        return [
            replace(loop, iterations=earlier + current, stopped_by=None, trip_count=loop.iterations)
            for loop, (_, earlier, current) in positions
        ]
