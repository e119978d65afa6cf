"""Values of other iterations, computed by an engine of their own so that nothing that stands still has to move."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.frame import Frame
from ...runtime.model import Data, Model
from .iterations import Iterations
from .timeline import Branch, Timeline
from .travel import Position, run_to


class Past:
    """An engine that visits positions of the past; made when it is first needed."""

    def __init__(self, model: Model, given: Mapping[int, Data]) -> None:
        self._model = model
        self._given = given
        self._engine: Engine | None = None
        #: The branch that the engine's state is on, None: none yet.
        self._branch: Branch | None = None
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Stop a visit that is under way."""
        if self._lock.locked() and self._engine is not None:
            self._engine.interrupt()

    def forget(self) -> None:
        """What it stands on is no more: checkpoints were replaced."""
        self._branch = None

    def at(self, timeline: Timeline, position: Position, branch: Branch | None = None) -> Engine:
        """The engine, standing at a position that a line of time has come by; good until the next visit.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError: it was interrupted.
        """
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self._model.plan)
                self._engine.start(self._given)
            engine = self._engine
            home = timeline.at(position, branch)
            found = home.latest(position)
            if found is None:
                raise UsageError("nothing is known of that time")
            if self._branch is not home or not found.position <= engine.position <= position:
                self._branch = None
                engine.checkpoints.restore(found)
            run_to(engine, position)
            self._branch = home
            return engine


class History(Iterations):
    """What the values of one entry of a loop were in other iterations of a run."""

    frame: Frame

    def __init__(self, past: Past, timeline: Timeline, frame: Frame, position: Position) -> None:
        super().__init__(frame)
        self._past = past
        self._timeline = timeline
        self._around = position[: 2 * len(frame.entry)]

    def boundary(self, iteration: int) -> Frame:
        """The frame as it stood at an earlier boundary of this entry; good until something else is asked."""
        frame = self.frame
        position = (*self._around, frame.enter, iteration, frame.enter + 1)
        return Frame(self._past.at(self._timeline, position), frame.index)
