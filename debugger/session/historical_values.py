"""Values of other iterations, computed by a separate engine so that the session does not move."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.model import Data
from ...runtime.plan.plan import Plan
from .branches import Branch
from .positions import Position, run_to


class HistoricalEngine:
    """An engine that visits past positions; created lazily."""

    def __init__(self, plan: Plan, inputs: Mapping[int, Data]) -> None:
        self._plan = plan
        self._inputs = inputs
        self._engine: Engine | None = None
        #: The branch of the engine's state; None: none yet.
        self._branch: Branch | None = None
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Stop a running visit."""
        if self._lock.locked() and self._engine is not None:
            self._engine.interrupt()

    def invalidate(self) -> None:
        """Discard the engine's state after checkpoints were replaced."""
        self._branch = None

    def engine_at(self, branch: Branch, position: Position) -> Engine:
        """The engine at a position that a branch has passed; valid until the next visit.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError: it was interrupted.
        """
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self._plan)
                self._engine.start(self._inputs)
            engine = self._engine
            checkpoint = branch.latest_checkpoint(position)
            if checkpoint is None:
                raise UsageError("nothing is known of that time")
            if self._branch is not branch or not checkpoint.position <= engine.position <= position:
                self._branch = None
                engine.checkpoints.restore(checkpoint)
            run_to(engine, position)
            self._branch = branch
            return engine
