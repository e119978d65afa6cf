"""How long a run may take, and whether it can end: what is looked at while the engine runs."""

from __future__ import annotations

import time

from ...runtime.engine.engine import Engine
from ...runtime.repeats import Watch

#: Seconds until a run is looked at whether it can end.
FIRST_LOOK = 2.0


class Ticks:
    """Stops an engine at a boundary when the time of a case is over, and tells of one that nothing will ever end.

    ``bounded``: iterations are limited, which ends any loop; how far it came is then no matter of time.
    """

    def __init__(self, engine: Engine, timeout: float | None, bounded: bool) -> None:
        self._engine = engine
        self._timeout = timeout
        self._bounded = bounded
        #: When it was first asked, a few milliseconds after the run began; 0: not yet.
        self._start = 0.0
        self._watch: Watch | None = None

    def begin(self) -> None:
        """Another run begins."""
        self._start = 0.0
        self._watch = None

    def tick(self) -> None:
        """Called by the engine every few milliseconds."""
        now = time.monotonic()
        self._start = self._start or now
        if self._timeout is not None and now - self._start >= self._timeout:
            self._engine.interrupt()
        elif self._watch is not None:
            self._watch.tick()
        elif now - self._start >= FIRST_LOOK and not self._bounded:
            self._watch = Watch(self._engine, self._start)

    def resume(self) -> tuple[str, int]:
        """Run until something ends the run: as the engine says it, or in a sentence that nothing will."""
        while True:
            what, index = self._engine.resume()
            if what != "boundary" or self._watch is None or not self._watch.asked:
                return what, index
            found = self._watch.look()
            if found is not None:
                return found
