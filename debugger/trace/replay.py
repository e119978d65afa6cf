"""Replay sessions: recorded runs under the debugger, without execution."""

from __future__ import annotations

from ...runtime.api_boundary import public_class
from ..session.session import Session
from .reader import Trace, store_of
from .replay_controller import ReplayController


@public_class
class Replay(Session):
    """A recording with a current boundary; it begins before iteration 0 of the first loop.

    It is a :class:`Session` that moves between recorded boundaries, in either direction: a step
    goes to the next recorded boundary of this loop, ``until`` to the first one at or after an iteration, ``goto`` only
    to a recorded one. Commands that need execution raise :class:`UsageError`.

    >>> replay = loopdbg.Replay(trace)
    >>> replay.goto(3).text, replay.frame.carried["x"]
    ("before iteration 3 of loop 'sqrt'", array(1.4142157, dtype=float32))
    >>> replay.step(2).text, replay.back(4).text
    ("loop 'sqrt' ends after 5 iterations: the condition is false", "before iteration 1 of loop 'sqrt'")
    """

    def __init__(self, trace: Trace) -> None:
        self.controller = ReplayController(store_of(trace))
        self._trace = trace
        self.restart()

    def __repr__(self) -> str:
        return "<Replay, closed>" if self.closed else f"<Replay {self.trace.path}: {self.stop.text}>"

    @property
    def trace(self) -> Trace:
        """The trace of this replay.

        >>> loopdbg.Replay(trace).trace is trace
        True
        """
        return self._trace
