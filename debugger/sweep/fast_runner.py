"""Runs a case at full speed: one engine for all cases, which stops where an assertion or a breakpoint may be hit.

A stop is only an indication: the case is then run under the debugger, which is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, LimitError
from ...runtime.frame import Frame
from ...runtime.input_validation import Data
from ...runtime.model import Model
from .case_limits import CaseLimits
from .job import MAIN_GRAPH, SweepSpec
from .outcome import CaseOutcome, hash_outputs, loop_totals
from .row import Status
from .watchdog import Watchdog

if TYPE_CHECKING:
    from ..breakpoints.breakpoint import Breakpoint
    from ..breakpoints.engine_predicates import EnginePredicate
    from ..coverage.recorder import CoverageRecorder
    from .measures import MeasureSet


class CaseObserver(Protocol):
    """Reads the values of runs at their boundaries."""

    def begin(self) -> None:
        """Begin another run."""

    def on_boundary(self, index: int) -> None:
        """A loop is at a boundary."""

    def finish(self, event: str) -> None:
        """The run has ended with an event of the engine."""


class FastRunner:
    """One engine. ``measures``: None without measures. ``observer``: is called in each run, if there is one."""

    def __init__(self, model: Model, spec: SweepSpec, measures: MeasureSet | None) -> None:
        self.model = model
        self._engine = Engine(model.plan)
        self.observer: CaseObserver | None = None
        self._spec = spec
        self._measures = measures
        self._limits = CaseLimits(spec.timeout, spec.max_memory)
        self._watchdog = Watchdog(self._engine, self._limits, spec.max_iterations is not None)
        self._loop_count = len(model.plan.loops)
        #: No intermediate value is read.
        self._outputs_only = measures is None
        self.coverage: CoverageRecorder | None = None
        if spec.coverage:
            from ..coverage.recorder import CoverageRecorder

            self.coverage = CoverageRecorder(model, accumulate=True, engine=self._engine)
        #: The outputs of the last case that ended.
        self.outputs: Mapping[str, Data] = {}

    @property
    def engine(self) -> Engine:
        """The engine, with the values of the last run."""
        return self._engine

    def install_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> bool:
        """Let the engine stop where a breakpoint may hit; False: it cannot check all of them itself."""
        # Lazy import: a sweep without breakpoints does not need it.
        from ..breakpoints.engine_predicates import make_predicates

        engine = self._engine
        predicates: list[tuple[int, EnginePredicate]] = []
        for breakpoint_ in breakpoints:
            if breakpoint_.is_in_main_graph:
                return False
            for index in breakpoint_.loops:
                filters = make_predicates(breakpoint_, engine, index)
                if not filters:
                    return False
                predicates += [(index, filter_) for filter_ in filters]
        for index, predicate in predicates:
            # A predicate that needs Python is assumed to be true.
            engine.monitor.add_predicate(index, predicate.op, predicate.slots, predicate.needs_body, lambda _: True)
        self._outputs_only = self._outputs_only and not predicates
        return True

    def run(self, inputs: Mapping[str, Data]) -> CaseOutcome | None:
        """Run a case; None: an assertion or a breakpoint may be hit.

        Raises:
            InputError: the inputs do not fit.
        """
        engine, spec = self._engine, self._spec
        if self.model.state:
            self.model.reset()
        checked = self.model.check(inputs)
        self._watchdog.begin()
        try:
            engine.start(checked, self._outputs_only and self.observer is None)
            engine.set_limits(spec.max_iterations, True)
            engine.on_tick = self._watchdog.tick
            if self.coverage is not None:
                self.coverage.begin()
            if self.observer is not None:
                self.observer.begin()
                engine.set_hook(self.observer.on_boundary)
            try:
                if self._measures is None:
                    event, index = self._resume()
                    if self.observer is not None:
                        self.observer.finish(event)
                    return self._case_outcome(event, index)
                return self._run_measured(self._measures)
            finally:
                engine.on_tick = None
                engine.clear_interrupt()
                if self.observer is not None:
                    engine.set_hook(None)
        except LimitError as error:
            return CaseOutcome(Status.LIMIT, loop_totals(engine, self._loop_count, "limit"), message=error.what)
        except ExecutionError as error:
            return self._error_outcome(error)

    def _resume(self) -> tuple[str, int]:
        """Run until the run ends, or stops for another reason than coverage."""
        coverage = self.coverage
        if coverage is None:
            return self._watchdog.run_to_end()
        event, index = "error", -1
        try:
            while True:
                coverage.set_stops()
                event, index = self._watchdog.run_to_end()
                is_stop = event in ("boundary", "predicate", "node")
                is_foreign = event == "predicate" and coverage.has_foreign_hits()
                if is_stop:
                    coverage.stopped(event, index)
                if is_foreign or not is_stop or (event == "boundary" and self._measures is not None):
                    return event, index
        except LimitError:
            event, index = "limit", self._engine.stack[-1]
            raise
        finally:
            if event not in ("boundary", "node"):
                coverage.finish(event, index)

    def _case_outcome(self, event: str, index: int) -> CaseOutcome | None:
        engine = self._engine
        if event == "end":
            self.outputs = outputs = engine.results()
            return CaseOutcome(Status.OK, loop_totals(engine, self._loop_count), hash_outputs(outputs))
        if event == "predicate":
            return None
        if event == "limit":
            name = engine.plan.loops[index].loop.name
            text = f"loop '{name}' reached the limit of {self._spec.max_iterations} iterations without ending"
            step = engine.loop_state(index)[0]
            return CaseOutcome(
                Status.LIMIT, loop_totals(engine, self._loop_count, "limit"), message=text, bad=(index, step, None)
            )
        if event == "interrupt":
            return self._limits.outcome(self._loop_count, self._location_text())
        # A sentence that the loop never ends; the time of detection is not a property of the case.
        text = event.split(":", 1)[0] + ": what it carries repeats bit for bit, and nothing else enters"
        return CaseOutcome(Status.LIMIT, [(None, "limit")] * self._loop_count, message=text)

    def _location_text(self) -> str:
        stack = self._engine.stack
        return f"in loop '{self._engine.plan.loops[stack[-1]].loop.name}'" if stack else "outside of any loop"

    def _run_measured(self, measures: MeasureSet) -> CaseOutcome | None:
        """Run with a stop at the end of each loop that is measured."""
        engine = self._engine
        measured: dict[tuple[int, int], float | None] = {}
        while True:
            engine.clear_stops()
            for index in measures.loops:
                engine.stop_at_end(index)
            event, index = self._resume()
            if event != "boundary":
                break
            measured |= measures.evaluate(index, Frame(engine, index))
        outcome = self._case_outcome(event, index)
        if outcome is not None and event == "end" and measures.in_main:
            measured |= measures.evaluate(MAIN_GRAPH, Frame(engine, MAIN_GRAPH))
        if outcome is not None:
            outcome.measured = measured
        return outcome

    def _error_outcome(self, error: ExecutionError) -> CaseOutcome:
        engine = self._engine
        bad: tuple[int, int | None, str | None] = MAIN_GRAPH, None, error.node
        if engine.stack:
            index = engine.stack[-1]
            node = engine.plan.code[engine.pc].node
            bad = index, engine.loop_state(index)[0], None if node is None else node.name
        return CaseOutcome(Status.ERROR, loop_totals(engine, self._loop_count, "error"), message=error.what, bad=bad)
