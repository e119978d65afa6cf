"""A case under the debugger: where exactly an assertion fails, a breakpoint is met, a NaN comes up."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...runtime.errors import ExecutionError
from ...runtime.input_validation import Data
from ...runtime.model import Model
from ..breakpoints.breakpoint import Breakpoint
from ..describe.value_names import quote
from ..session.session import Session
from ..session.stop import Reason, Stop
from .case_limits import CaseLimits
from .job import MAIN_GRAPH, NAN_BREAKPOINT, SweepSpec
from .measures import MeasureSet
from .outcome import CaseOutcome, LoopTotalRows, hash_outputs
from .row import Status

#: Seconds between two looks at what a case takes.
_CHECK_INTERVAL_SECONDS = 0.02


class DebugRunner:
    """One session, which begins anew with each case."""

    def __init__(self, model: Model, wanted: SweepSpec, measures: MeasureSet | None = None) -> None:
        self._model = model
        self._spec = wanted
        self._limits = CaseLimits(wanted.timeout, wanted.max_memory)
        self._measures = measures or MeasureSet(model, ())
        self._session: Session | None = None
        self._assert_texts: dict[int, str] = {}
        self._break_texts: dict[int, str] = {}
        self._loop_end_numbers: set[int] = set()
        self.outputs: Mapping[str, Data] = {}

    def breakpoints(self, inputs: Mapping[str, Data]) -> Sequence[Breakpoint]:
        """What stops a case, for the engine to look for; ``inputs``: of any case."""
        session = self._begin_session(inputs)
        return [one for one in session.breakpoints if one.number not in self._loop_end_numbers]

    def run(self, inputs: Mapping[str, Data]) -> CaseOutcome:
        """Run a case.

        Raises:
            InputError: the inputs do not fit.
        """
        try:
            session = self._begin_session(inputs)
            with _enforce_limits(self._limits, session):
                return self._run_session(session)
        except ExecutionError as error:
            self._session = None
            count = len(self._model.plan.loops)
            return CaseOutcome(Status.ERROR, [(0, None)] * count, message=error.what)

    def _begin_session(self, inputs: Mapping[str, Data]) -> Session:
        if self._model.state:
            self._model.reset()
        if self._session is not None:
            self._session.restart(inputs)
            return self._session
        most = self._spec.max_iterations
        session = Session(self._model, inputs, max_iterations=most, attended=False)
        for text in self._spec.asserts:
            self._assert_texts[session.breakpoints.add(f"if not ({text})").number] = text
        for text in self._spec.breaks:
            self._break_texts[
                session.breakpoints.add(NAN_BREAKPOINT if text == NAN_BREAKPOINT else f"if {text}").number
            ] = text
        for index in self._measures.loops if self._measures.uses_history else ():
            path = session._internals.symbols.loops[index].path
            self._loop_end_numbers.add(session.breakpoints.add(f"end in {quote(path)}").number)
        self._session = session
        return session

    def _run_session(self, session: Session) -> CaseOutcome:
        """Go on from the first boundary to what ends the case."""
        measured: dict[tuple[int, int], float | None] = {}
        stop = session._internals.check_breakpoints()
        if not stop.breakpoints:
            stop = session.continue_()
        while stop.breakpoints and set(stop.breakpoints) <= self._loop_end_numbers and stop.reason is not Reason.ERROR:
            frame = session.frame
            measured |= self._measures.evaluate(frame.index, frame, frame.history)
            stop = session.continue_()
        outcome = self._outcome(session, stop)
        if session.done and self._measures.in_main:
            main = session._internals._frame(MAIN_GRAPH)
            measured |= self._measures.evaluate(MAIN_GRAPH, main, main.history)
        outcome.measured = measured
        return outcome

    def _outcome(self, session: Session, stop: Stop) -> CaseOutcome:
        totals = _session_totals(session, _STOPPED_BY.get(stop.reason))
        if stop.reason is Reason.DONE:
            self.outputs = outputs = session.outputs or {}
            return CaseOutcome(Status.OK, totals, hash_outputs(outputs))
        if stop.reason is Reason.INTERRUPT:
            frame = session.frame
            where = f"in loop '{frame.name}'" if frame.loop is not None else "outside of any loop"
            return self._limits.outcome(len(totals), where)
        bad = _failure_location(session, stop)
        if stop.reason is Reason.LIMIT:
            return CaseOutcome(Status.LIMIT, totals, message=f"{stop.text} without ending", bad=bad)
        if stop.reason is Reason.ERROR:
            return CaseOutcome(Status.ERROR, totals, message=stop.text, bad=bad)
        failed = next((self._assert_texts[number] for number in stop.breakpoints if number in self._assert_texts), None)
        if failed is not None:
            return CaseOutcome(Status.ASSERT, totals, message=f"{failed} is false", bad=bad)
        met = next(self._break_texts[number] for number in stop.breakpoints if number in self._break_texts)
        told = stop.text.split(": ", 1)[-1] if met == NAN_BREAKPOINT else f"{met} is true"
        return CaseOutcome(Status.BREAK, totals, message=told, bad=bad)


@contextmanager
def _enforce_limits(bounds: CaseLimits, session: Session) -> Iterator[None]:
    """Stop a session that passes its bounds."""
    bounds.begin()
    bounds.check()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_CHECK_INTERVAL_SECONDS):
            bounds.check()
            # Again and again: between two moves of a session there is nothing to interrupt.
            if bounds.exceeded is not None:
                session.interrupt()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


_STOPPED_BY = {Reason.LIMIT: "limit", Reason.ERROR: "error", Reason.BREAKPOINT: "breakpoint"}


def _session_totals(session: Session, ended: str | None) -> LoopTotalRows:
    return [
        (total.iterations, total.stopped_by.value if total.stopped_by else ended if total.entries else None)
        for total in session.totals
    ]


def _failure_location(session: Session, stop: Stop) -> tuple[int, int | None, str | None] | None:
    """The loop, the iteration and the node at which a session stands."""
    frame = session.frame
    if frame.loop is None:
        return None
    inside = session._internals
    node = None
    if stop.reason is Reason.ERROR and not stop.breakpoints:
        node = inside.engine.plan.code[inside.engine.pc].node
    elif stop.breakpoints and not inside.is_at_boundary():
        # What made a NaN has just run.
        node = inside.engine.plan.code[inside.engine.pc - 1].node
    return frame.index, frame.iteration, None if node is None else node.name
