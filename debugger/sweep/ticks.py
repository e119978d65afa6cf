"""How long a run may take, and whether it can end: what is looked at while the engine runs."""

from __future__ import annotations

from ...runtime.engine.engine import Engine
from ...runtime.repeats import Watch
from .bounds import Bounds

#: Seconds until a run is looked at whether it can end.
FIRST_LOOK = 2.0


class Ticks:
    """Stops an engine at a boundary when a case has passed its bounds, and tells of one that nothing will ever end.

    ``limited``: iterations are limited, which ends any loop; how far it came is then no matter of time.
    """

    def __init__(self, engine: Engine, bounds: Bounds, limited: bool) -> None:
        self._engine = engine
        self._bounds = bounds
        self._limited = limited
        self._watch: Watch | None = None

    def begin(self) -> None:
        """Another run begins."""
        self._bounds.begin()
        self._watch = None

    def tick(self) -> None:
        """Called by the engine every few milliseconds."""
        bounds = self._bounds
        now = bounds.look()
        if bounds.passed is not None:
            self._engine.interrupt()
        elif self._watch is not None:
            self._watch.tick()
        elif now - bounds.start >= FIRST_LOOK and not self._limited:
            self._watch = Watch(self._engine, bounds.start)

    def resume(self) -> tuple[str, int]:
        """Run until something ends the run: as the engine says it, or in a sentence that nothing will."""
        while True:
            what, index = self._engine.resume()
            if what != "boundary" or self._watch is None or not self._watch.asked:
                return what, index
            found = self._watch.look()
            if found is not None:
                return found
