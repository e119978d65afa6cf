"""How long a run may take, and whether it can end: what is looked at while the engine runs."""

from __future__ import annotations

from ...runtime.cycle_detection import CycleDetector
from ...runtime.engine.engine import Engine
from .case_limits import CaseLimits

#: Seconds until a run is looked at whether it can end.
CYCLE_CHECK_AFTER_SECONDS = 2.0


class Watchdog:
    """Stops an engine at a boundary when a case has passed its bounds, and tells of one that nothing will ever end.

    ``limited``: iterations are limited, which ends any loop; how far it came is then no matter of time.
    """

    def __init__(self, engine: Engine, bounds: CaseLimits, limited: bool) -> None:
        self._engine = engine
        self._limits = bounds
        self._iterations_limited = limited
        self._cycle_watch: CycleDetector | None = None

    def begin(self) -> None:
        """Another run begins."""
        self._limits.begin()
        self._cycle_watch = None

    def tick(self) -> None:
        """Called by the engine every few milliseconds."""
        bounds = self._limits
        now = bounds.check()
        if bounds.exceeded is not None:
            self._engine.interrupt()
        elif self._cycle_watch is not None:
            self._cycle_watch.tick()
        elif now - bounds.started_at >= CYCLE_CHECK_AFTER_SECONDS and not self._iterations_limited:
            self._cycle_watch = CycleDetector(self._engine, bounds.started_at)

    def resume(self) -> tuple[str, int]:
        """Run until something ends the run: as the engine says it, or in a sentence that nothing will."""
        while True:
            what, index = self._engine.resume()
            if what != "boundary" or self._cycle_watch is None or not self._cycle_watch.stop_requested:
                return what, index
            found = self._cycle_watch.check()
            if found is not None:
                return found
