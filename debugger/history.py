"""Values of other iterations, computed by an engine of their own so that nothing that stands still has to move."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..runtime.engine import Engine
from ..runtime.errors import UsageError
from ..runtime.frame import Frame
from ..runtime.model import Data, Model
from .condition import condition_slice
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
                engine.restore(found)
            run_to(engine, position)
            self._branch = home
            return engine


#: What is carried at the boundaries that ``History.recent`` gives takes about this much at most.
_RECENT_BYTES = 64 << 20


class History:
    """What the values of one entry of a loop were in other iterations."""

    def __init__(self, past: Past, timeline: Timeline, frame: Frame, position: Position) -> None:
        self._past = past
        self._timeline = timeline
        self._frame = frame
        depth = 2 * len(frame.entry)
        self._around = position[:depth]
        self._position = position

    def value(self, name: str, iteration: int) -> Any:
        """The value in an iteration: parameters as it got them, body values as it computed them.

        Raises:
            UsageError: there is no such iteration, or it has not run yet, or there is no such value.
        """
        frame = self._frame
        if frame.loop is None:
            raise UsageError("the main graph has no iterations")
        if iteration < 0:
            raise UsageError(f"there is no iteration {iteration}")
        made = any(v is not None and v.name == name for entry in frame.nodes for v in entry.node.outputs)
        boundary = iteration + made
        if boundary > frame.iteration:
            raise UsageError(f"iteration {iteration} has not run yet; this is iteration {frame.iteration}")
        if boundary == frame.iteration and frame.at_boundary:
            return frame.values[name]
        try:
            return self.boundary(boundary).values[name]
        except KeyError as error:
            raise UsageError(str(error.args[0])) from None

    def boundary(self, iteration: int) -> Frame:
        """The frame as it stood at an earlier boundary of this entry; good until something else is asked."""
        frame = self._frame
        position = (*self._around, frame.enter, iteration, frame.enter + 1)
        return Frame(self._past.at(self._timeline, position), frame.index)

    def recent(self, count: int = 24) -> list[Mapping[str, Any]]:
        """The last boundaries of this entry, oldest first, up to this one: of each the carried values, and what was
        computed of what the condition depends on; fewer where they are large."""
        frame = self._frame
        if frame.loop is None:
            return []
        made = [value for node in condition_slice(frame.loop).nodes for value in node.outputs if value is not None]
        size = sum(value.nbytes for value in frame.carried.values() if isinstance(value, np.ndarray))
        count = max(min(count, _RECENT_BYTES // max(size, 1)), 2)
        told: list[Mapping[str, Any]] = []
        for iteration in range(max(frame.iteration - count, 0), frame.iteration + 1):
            there: Frame = frame
            if iteration < frame.iteration or not frame.at_boundary:
                there = self.boundary(iteration)
            values = there.values
            read = {value.name: values.read(value) for value in made}
            told.append({**{name: data for name, (known, data) in read.items() if known}, **there.carried})
        return told
