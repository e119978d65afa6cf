"""Values of other iterations, computed by an engine of their own so that nothing that stands still has to move."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from ...runtime.api_boundary import public_class
from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.frame import Frame
from ...runtime.model import Data
from ...runtime.plan.plan import Plan
from ..scope.iteration_values import IterationValues
from ..statistics.value_history import Evolution
from .branches import Branch
from .positions import Position, run_to


class HistoricalEngine:
    """An engine that visits positions of the past; made when it is first needed."""

    def __init__(self, plan: Plan, given: Mapping[int, Data]) -> None:
        self._plan = plan
        self._inputs = given
        self._engine: Engine | None = None
        #: The branch that the engine's state is on, None: none yet.
        self._branch: Branch | None = None
        self._lock = threading.Lock()

    def interrupt(self) -> None:
        """Stop a visit that is under way."""
        if self._lock.locked() and self._engine is not None:
            self._engine.interrupt()

    def invalidate(self) -> None:
        """What it stands on is no more: checkpoints were replaced."""
        self._branch = None

    def engine_at(self, branch: Branch, position: Position) -> Engine:
        """The engine, standing at a position that a branch has come by; good until the next visit.

        Raises:
            UsageError: nothing is known of that time.
            InterruptError: it was interrupted.
        """
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self._plan)
                self._engine.start(self._inputs)
            engine = self._engine
            found = branch.latest_checkpoint(position)
            if found is None:
                raise UsageError("nothing is known of that time")
            if self._branch is not branch or not found.position <= engine.position <= position:
                self._branch = None
                engine.checkpoints.restore(found)
            run_to(engine, position)
            self._branch = branch
            return engine


@public_class
class HistoricalValues(IterationValues):
    """What the values of one entry of a loop were in other iterations of a run. ``visit`` gives an engine that
    stands at a position; ``position``: that of the frame; ``evolution``: what was noted of it."""

    frame: Frame

    def __init__(
        self, visit: Callable[[Position], Engine], frame: Frame, position: Position, evolution: Callable[[], Evolution]
    ) -> None:
        super().__init__(frame)
        self._visit = visit
        self._evolution = evolution
        self._outer_position = position[: 2 * len(frame.entry)]

    def boundary(self, iteration: int) -> Frame:
        """The frame as it stood at an earlier boundary of this entry; good until something else is asked."""
        frame = self.frame
        return Frame(
            self._visit((*self._outer_position, frame._internals.enter, iteration, frame._internals.head)), frame.index
        )

    def evolution(self) -> Evolution:
        """See :class:`~..scope.iteration_values.IterationValues`."""
        return self._evolution()
