"""Runs a case under the debugger: the exact location of a failed assertion, a breakpoint hit or a NaN."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...runtime.errors import ExecutionError
from ...runtime.input_validation import Data
from ...runtime.model import Model
from ..breakpoints.assertion import violation_location
from ..breakpoints.breakpoint import Breakpoint
from ..describe.value_names import quote
from ..session.session import Session
from ..session.stop import Reason, Stop
from .case_limits import CaseLimits
from .job import MAIN_GRAPH, NAN_BREAKPOINT, SweepSpec
from .measures import MeasureSet
from .outcome import CaseOutcome, LoopTotalRows, hash_outputs
from .row import Status

#: Seconds between two checks of the limits of a case.
_CHECK_INTERVAL_SECONDS = 0.02


class DebugRunner:
    """One session, which is restarted for each case."""

    def __init__(self, model: Model, spec: SweepSpec, measures: MeasureSet | None = None) -> None:
        self._model = model
        self._spec = spec
        self._limits = CaseLimits(spec.timeout, spec.max_memory)
        self._measures = measures or MeasureSet(model, ())
        self._session: Session | None = None
        self._assert_texts: dict[int, str] = {}
        self._break_texts: dict[int, str] = {}
        self._loop_end_numbers: set[int] = set()
        self.outputs: Mapping[str, Data] = {}

    def breakpoints(self, inputs: Mapping[str, Data]) -> Sequence[Breakpoint]:
        """Return the breakpoints of a case, for the engine to check; ``inputs``: those of any case."""
        session = self._begin_session(inputs)
        return [breakpoint_ for breakpoint_ in session.breakpoints if breakpoint_.number not in self._loop_end_numbers]

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
        max_iterations = self._spec.max_iterations
        session = Session(self._model, inputs, max_iterations=max_iterations, attended=False)
        for text in self._spec.asserts:
            self._assert_texts[session.breakpoints.add(violation_location(text)).number] = text
        for text in self._spec.breaks:
            self._break_texts[
                session.breakpoints.add(NAN_BREAKPOINT if text == NAN_BREAKPOINT else f"if {text}").number
            ] = text
        for index in self._measures.loops if self._measures.uses_history else ():
            path = self._model.plan.loops[index].path
            self._loop_end_numbers.add(session.breakpoints.add(f"end in {quote(path)}").number)
        self._session = session
        return session

    def _run_session(self, session: Session) -> CaseOutcome:
        """Go on from the first boundary to the end of the case."""
        measured: dict[tuple[int, int], float | None] = {}
        stop = session.controller.check_breakpoints()
        if not stop.breakpoints:
            stop = session.continue_()
        while stop.breakpoints and set(stop.breakpoints) <= self._loop_end_numbers and stop.reason is not Reason.ERROR:
            frame = session.frame
            measured |= self._measures.evaluate(frame.index, frame, frame.history)
            stop = session.continue_()
        outcome = self._case_outcome(session, stop)
        if session.done and self._measures.in_main:
            main = session.frames[0]
            measured |= self._measures.evaluate(MAIN_GRAPH, main, main.history)
        outcome.measured = measured
        return outcome

    def _case_outcome(self, session: Session, stop: Stop) -> CaseOutcome:
        totals = _session_totals(session, _STOPPED_BY.get(stop.reason))
        if stop.done:
            self.outputs = outputs = session.outputs or {}
            return CaseOutcome(Status.OK, totals, hash_outputs(outputs))
        if stop.reason is Reason.INTERRUPT:
            frame = session.frame
            location = f"in loop '{frame.name}'" if frame.loop is not None else "outside of any loop"
            return self._limits.outcome(len(totals), location)
        bad = _failure_location(session, stop)
        if stop.reason is Reason.LIMIT:
            return CaseOutcome(Status.LIMIT, totals, message=f"{stop.text} without ending", bad=bad)
        if stop.reason is Reason.ERROR:
            return CaseOutcome(Status.ERROR, totals, message=stop.text, bad=bad)
        failed = next((self._assert_texts[number] for number in stop.breakpoints if number in self._assert_texts), None)
        if failed is not None:
            return CaseOutcome(Status.ASSERT, totals, message=f"{failed} is false", bad=bad)
        reason = next(self._break_texts[number] for number in stop.breakpoints if number in self._break_texts)
        message = stop.text.split(": ", 1)[-1] if reason == NAN_BREAKPOINT else f"{reason} is true"
        return CaseOutcome(Status.BREAK, totals, message=message, bad=bad)


@contextmanager
def _enforce_limits(limits: CaseLimits, session: Session) -> Iterator[None]:
    """Stop a session that exceeds its limits."""
    limits.begin()
    limits.check()
    has_ended = threading.Event()

    def check_limits() -> None:
        while not has_ended.wait(_CHECK_INTERVAL_SECONDS):
            limits.check()
            # Repeatedly: between two steps a session cannot be interrupted.
            if limits.exceeded is not None:
                session.interrupt()

    thread = threading.Thread(target=check_limits, daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


_STOPPED_BY = {Reason.LIMIT: "limit", Reason.ERROR: "error", Reason.BREAKPOINT: "breakpoint"}


def _session_totals(session: Session, end_reason: str | None) -> LoopTotalRows:
    return [
        (total.iterations, total.stopped_by.value if total.stopped_by else end_reason if total.entries else None)
        for total in session.totals
    ]


def _failure_location(session: Session, stop: Stop) -> tuple[int, int | None, str | None] | None:
    """The loop, the iteration and the node at which a session is stopped."""
    frame = session.frame
    if frame.loop is None:
        return None
    internals = session.controller
    engine, node = internals.timeline.engine, None
    if stop.reason is Reason.ERROR and not stop.breakpoints:
        node = engine.plan.code[engine.pc].node
    elif stop.breakpoints and not internals.is_at_boundary():
        # The node that computed a NaN has just run.
        node = engine.plan.code[engine.pc - 1].node
    return frame.index, frame.iteration, None if node is None else node.name
