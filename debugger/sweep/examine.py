"""A case under the debugger: where exactly an assertion fails, a breakpoint is met, a NaN comes up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...runtime.errors import ExecutionError
from ...runtime.inputs import Data
from ...runtime.model import Model
from ..breakpoints.breakpoint import Breakpoint
from ..session.session import Session
from ..session.stop import Reason, Stop
from ..words.names import quote
from .bounds import Bounds
from .job import MAIN, NAN, Wanted
from .measures import Measures
from .outcome import Outcome, Totals, hash_of_outputs
from .row import Status

#: Seconds between two looks at what a case takes.
_OFTEN = 0.02


class Examiner:
    """One session, which begins anew with each case."""

    def __init__(self, model: Model, wanted: Wanted, measures: Measures | None = None) -> None:
        self._model = model
        self._wanted = wanted
        self._bounds = Bounds(wanted.timeout, wanted.max_memory)
        self._measures = measures or Measures(model, ())
        self._session: Session | None = None
        self._asserts: dict[int, str] = {}
        self._breaks: dict[int, str] = {}
        self._ends: set[int] = set()
        self.outputs: Mapping[str, Data] = {}

    def breakpoints(self, inputs: Mapping[str, Data]) -> Sequence[Breakpoint]:
        """What stops a case, for the engine to look for; ``inputs``: of any case."""
        session = self._begin(inputs)
        return [one for one in session.breakpoints if one.number not in self._ends]

    def run(self, inputs: Mapping[str, Data]) -> Outcome:
        """Run a case.

        Raises:
            InputError: the inputs do not fit.
        """
        try:
            session = self._begin(inputs)
            with _watched(self._bounds, session):
                return self._run(session)
        except ExecutionError as error:
            self._session = None
            count = len(self._model.plan.loops)
            return Outcome(Status.ERROR, [(0, None)] * count, message=error.what)

    def _begin(self, inputs: Mapping[str, Data]) -> Session:
        if self._model.state:
            self._model.reset()
        if self._session is not None:
            self._session.restart(inputs)
            return self._session
        most = self._wanted.max_iterations
        session = Session(self._model, inputs, max_iterations=most, attended=False)
        for text in self._wanted.asserts:
            self._asserts[session.breakpoints.add(f"if not ({text})").number] = text
        for text in self._wanted.breaks:
            self._breaks[session.breakpoints.add(NAN if text == NAN else f"if {text}").number] = text
        for index in self._measures.loops if self._measures.uses_history else ():
            path = session._inside.places.loops[index].path
            self._ends.add(session.breakpoints.add(f"end in {quote(path)}").number)
        self._session = session
        return session

    def _run(self, session: Session) -> Outcome:
        """Go on from the first boundary to what ends the case."""
        measured: dict[tuple[int, int], float | None] = {}
        stop = session._inside.check()
        if not stop.breakpoints:
            stop = session.continue_()
        while stop.breakpoints and set(stop.breakpoints) <= self._ends and stop.reason is not Reason.ERROR:
            frame = session.frame
            measured |= self._measures.take(frame.index, frame, frame.history)
            stop = session.continue_()
        outcome = self._outcome(session, stop)
        if session.done and self._measures.in_main:
            main = session._inside._frame(MAIN)
            measured |= self._measures.take(MAIN, main, main.history)
        outcome.measured = measured
        return outcome

    def _outcome(self, session: Session, stop: Stop) -> Outcome:
        totals = _totals(session, _ENDINGS.get(stop.reason))
        if stop.reason is Reason.DONE:
            self.outputs = outputs = session.outputs or {}
            return Outcome(Status.OK, totals, hash_of_outputs(outputs))
        if stop.reason is Reason.INTERRUPT:
            frame = session.frame
            where = f"in loop '{frame.name}'" if frame.loop is not None else "outside of any loop"
            return self._bounds.outcome(len(totals), where)
        bad = _bad(session, stop)
        if stop.reason is Reason.LIMIT:
            return Outcome(Status.LIMIT, totals, message=f"{stop.text} without ending", bad=bad)
        if stop.reason is Reason.ERROR:
            return Outcome(Status.ERROR, totals, message=stop.text, bad=bad)
        failed = next((self._asserts[number] for number in stop.breakpoints if number in self._asserts), None)
        if failed is not None:
            return Outcome(Status.ASSERT, totals, message=f"{failed} is false", bad=bad)
        met = next(self._breaks[number] for number in stop.breakpoints if number in self._breaks)
        told = stop.text.split(": ", 1)[-1] if met == NAN else f"{met} is true"
        return Outcome(Status.BREAK, totals, message=told, bad=bad)


@contextmanager
def _watched(bounds: Bounds, session: Session) -> Iterator[None]:
    """Stop a session that passes its bounds."""
    bounds.begin()
    bounds.look()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_OFTEN):
            bounds.look()
            # Again and again: between two moves of a session there is nothing to interrupt.
            if bounds.passed is not None:
                session.interrupt()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


_ENDINGS = {Reason.LIMIT: "limit", Reason.ERROR: "error", Reason.BREAKPOINT: "breakpoint"}


def _totals(session: Session, ended: str | None) -> Totals:
    return [
        (total.iterations, total.stopped_by.value if total.stopped_by else ended if total.entries else None)
        for total in session.totals
    ]


def _bad(session: Session, stop: Stop) -> tuple[int, int | None, str | None] | None:
    """The loop, the iteration and the node at which a session stands."""
    frame = session.frame
    if frame.loop is None:
        return None
    inside = session._inside
    node = None
    if stop.reason is Reason.ERROR and not stop.breakpoints:
        node = inside.engine.plan.code[inside.engine.pc].node
    elif stop.breakpoints and not inside.at_boundary():
        # What made a NaN has just run.
        node = inside.engine.plan.code[inside.engine.pc - 1].node
    return frame.index, frame.iteration, None if node is None else node.name
