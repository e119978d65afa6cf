"""A case at full speed: one engine for all of them, which stops where an assertion or a breakpoint may be met.

What stops it is only a sign: the case is then run under the debugger, which knows exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

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
    from .measures import MeasureSet


class FastRunner:
    """One engine. ``measures``: None where nothing is measured."""

    def __init__(self, model: Model, wanted: SweepSpec, measures: MeasureSet | None) -> None:
        self.model = model
        self._engine = Engine(model.plan)
        self._spec = wanted
        self._measures = measures
        self._limits = CaseLimits(wanted.timeout, wanted.max_memory)
        self._watchdog = Watchdog(self._engine, self._limits, wanted.max_iterations is not None)
        self._loop_count = len(model.plan.loops)
        #: Nothing reads a value on the way.
        self._outputs_only = measures is None
        #: The outputs of the last case that came to its end.
        self.outputs: Mapping[str, Data] = {}

    def install_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> bool:
        """Let the engine stop wherever one of these may hit; False: it cannot find all of them itself."""
        # Here: what stops nowhere need not wait for what stops.
        from ..breakpoints.engine_predicates import make_predicates

        engine = self._engine
        found: list[tuple[int, EnginePredicate]] = []
        for breakpoint_ in breakpoints:
            if breakpoint_.is_in_main_graph:
                return False
            for index in breakpoint_.loops:
                filters = make_predicates(breakpoint_, engine, index)
                if not filters:
                    return False
                found += [(index, filter_) for filter_ in filters]
        for index, one in found:
            # Where it cannot be asked without Python the answer is yes.
            engine.monitor.add_predicate(index, one.op, one.slots, one.needs_body, lambda _: True)
        self._outputs_only = self._outputs_only and not found
        return True

    def run(self, inputs: Mapping[str, Data]) -> CaseOutcome | None:
        """Run a case; None: an assertion or a breakpoint may be met.

        Raises:
            InputError: the inputs do not fit.
        """
        engine, wanted = self._engine, self._spec
        if self.model.state:
            self.model.reset()
        given = self.model.check(inputs)
        self._watchdog.begin()
        try:
            engine.start(given, self._outputs_only)
            engine.set_limits(wanted.max_iterations, True)
            engine.on_tick = self._watchdog.tick
            try:
                if self._measures is None:
                    return self._outcome(*self._watchdog.resume())
                return self._run_measured(self._measures)
            finally:
                engine.on_tick = None
                engine.clear_interrupt()
        except LimitError as error:
            return CaseOutcome(Status.LIMIT, loop_totals(engine, self._loop_count, "limit"), message=error.what)
        except ExecutionError as error:
            return self._error_outcome(error)

    def _outcome(self, what: str, index: int) -> CaseOutcome | None:
        engine = self._engine
        if what == "end":
            self.outputs = outputs = self.model._internals.results(engine)
            return CaseOutcome(Status.OK, loop_totals(engine, self._loop_count), hash_outputs(outputs))
        if what == "predicate":
            return None
        if what == "limit":
            name = engine.plan.loops[index].loop.name
            told = f"loop '{name}' reached the limit of {self._spec.max_iterations} iterations without ending"
            now = engine.loop_state(index)[0]
            return CaseOutcome(
                Status.LIMIT, loop_totals(engine, self._loop_count, "limit"), message=told, bad=(index, now, None)
            )
        if what == "interrupt":
            return self._limits.outcome(self._loop_count, self._location_text())
        # A sentence that nothing will ever end it; when that was seen says nothing of the case.
        told = what.split(":", 1)[0] + ": what it carries repeats bit for bit, and nothing else enters"
        return CaseOutcome(Status.LIMIT, [(None, "limit")] * self._loop_count, message=told)

    def _location_text(self) -> str:
        stack = self._engine.stack
        return f"in loop '{self._engine.plan.loops[stack[-1]].loop.name}'" if stack else "outside of any loop"

    def _run_measured(self, measures: MeasureSet) -> CaseOutcome | None:
        """Run with a look at the end of each loop that is measured."""
        engine = self._engine
        taken: dict[tuple[int, int], float | None] = {}
        while True:
            engine.clear_stops()
            for index in measures.loops:
                engine.stop_at_end(index)
            what, index = self._watchdog.resume()
            if what != "boundary":
                break
            taken |= measures.evaluate(index, Frame(engine, index))
        outcome = self._outcome(what, index)
        if outcome is not None and what == "end" and measures.in_main:
            taken |= measures.evaluate(MAIN_GRAPH, Frame(engine, MAIN_GRAPH))
        if outcome is not None:
            outcome.measured = taken
        return outcome

    def _error_outcome(self, error: ExecutionError) -> CaseOutcome:
        engine = self._engine
        bad = None
        if engine.stack:
            index = engine.stack[-1]
            node = engine.plan.code[engine.pc].node
            bad = index, engine.loop_state(index)[0], None if node is None else node.name
        return CaseOutcome(Status.ERROR, loop_totals(engine, self._loop_count, "error"), message=error.what, bad=bad)
