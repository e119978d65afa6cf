"""Limits of a run, and detection of a run that cannot end: checks while the engine runs."""

from __future__ import annotations

from ...runtime.engine.engine import Engine
from ...runtime.infinite_loop_detection import CycleDetector
from .case_limits import CaseLimits


class Watchdog:
    """Stops an engine at a boundary when a case exceeds its limits, and reports a loop that never ends.

    ``limited``: iterations are limited, which ends any loop; its progress is then independent of time.
    """

    def __init__(self, engine: Engine, bounds: CaseLimits, limited: bool) -> None:
        self._engine = engine
        self._limits = bounds
        self._iterations_limited = limited
        self._cycle_watch: CycleDetector | None = None

    def begin(self) -> None:
        """Begin another run."""
        self._limits.begin()
        self._cycle_watch = None

    def tick(self) -> None:
        """Called by the engine every few milliseconds."""
        bounds = self._limits
        bounds.check()
        if bounds.exceeded is not None:
            self._engine.interrupt()
        elif not self._iterations_limited:
            self._cycle_watch = self._cycle_watch or CycleDetector(self._engine, bounds.started_at)
            self._cycle_watch.tick()

    def run_to_end(self) -> tuple[str, int]:
        """Run until the run ends: return the engine's event, or a sentence that the loop never ends."""
        while True:
            event, index = self._engine.resume()
            if event != "boundary" or self._cycle_watch is None or not self._cycle_watch.stop_requested:
                return event, index
            cycle = self._cycle_watch.check()
            if cycle is not None:
                return cycle
