"""A case at full speed: one engine for all of them, which stops where an assertion or a breakpoint may be met.

What stops it is only a sign: the case is then run under the debugger, which knows exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, LimitError
from ...runtime.frame import Frame
from ...runtime.inputs import Data
from ...runtime.model import Model
from .bounds import Bounds
from .job import MAIN, Wanted
from .outcome import Outcome, hash_of_outputs, totals_of
from .row import Status
from .ticks import Ticks

if TYPE_CHECKING:
    from ..breakpoints.breakpoint import Breakpoint
    from ..breakpoints.predicates import Filter
    from .measures import Measures


class Probe:
    """One engine. ``measures``: None where nothing is measured."""

    def __init__(self, model: Model, wanted: Wanted, measures: Measures | None) -> None:
        self.model = model
        self._engine = Engine(model.plan)
        self._wanted = wanted
        self._measures = measures
        self._bounds = Bounds(wanted.timeout, wanted.max_memory)
        self._ticks = Ticks(self._engine, self._bounds, wanted.max_iterations is not None)
        self._count = len(model.plan.loops)
        #: Nothing reads a value on the way.
        self._unseen = measures is None
        #: The outputs of the last case that came to its end.
        self.outputs: Mapping[str, Data] = {}

    def arm(self, breakpoints: Sequence[Breakpoint]) -> bool:
        """Let the engine stop wherever one of these may hit; False: it cannot find all of them itself."""
        # Here: what stops nowhere need not wait for what stops.
        from ..breakpoints.predicates import filters_of

        engine = self._engine
        found: list[tuple[int, Filter]] = []
        for breakpoint_ in breakpoints:
            if breakpoint_.in_main:
                return False
            for index in breakpoint_.loops:
                filters = filters_of(breakpoint_, engine, index)
                if not filters:
                    return False
                found += [(index, filter_) for filter_ in filters]
        for index, one in found:
            # Where it cannot be asked without Python the answer is yes.
            engine.observers.add_predicate(index, one.op, one.slots, one.needs_body, lambda _: True)
        self._unseen = self._unseen and not found
        return True

    def run(self, inputs: Mapping[str, Data]) -> Outcome | None:
        """Run a case; None: an assertion or a breakpoint may be met.

        Raises:
            InputError: the inputs do not fit.
        """
        engine, wanted = self._engine, self._wanted
        if self.model.state:
            self.model.reset()
        given = self.model.check(inputs)
        self._ticks.begin()
        try:
            engine.start(given, self._unseen)
            engine.set_limits(wanted.max_iterations, True)
            engine.on_tick = self._ticks.tick
            try:
                if self._measures is None:
                    return self._ended(*self._ticks.resume())
                return self._measured(self._measures)
            finally:
                engine.on_tick = None
                engine.clear_interrupt()
        except LimitError as error:
            return Outcome(Status.LIMIT, totals_of(engine, self._count, "limit"), message=error.what)
        except ExecutionError as error:
            return self._failed(error)

    def _ended(self, what: str, index: int) -> Outcome | None:
        engine = self._engine
        if what == "end":
            self.outputs = outputs = self.model._inside.results(engine)
            return Outcome(Status.OK, totals_of(engine, self._count), hash_of_outputs(outputs))
        if what == "predicate":
            return None
        if what == "limit":
            name = engine.plan.loops[index].loop.name
            told = f"loop '{name}' reached the limit of {self._wanted.max_iterations} iterations without ending"
            now = engine.loop_state(index)[0]
            return Outcome(Status.LIMIT, totals_of(engine, self._count, "limit"), message=told, bad=(index, now, None))
        if what == "interrupt":
            return self._bounds.outcome(self._count, self._where())
        # A sentence that nothing will ever end it; when that was seen says nothing of the case.
        told = what.split(":", 1)[0] + ": what it carries repeats bit for bit, and nothing else enters"
        return Outcome(Status.LIMIT, [(None, "limit")] * self._count, message=told)

    def _where(self) -> str:
        stack = self._engine.stack
        return f"in loop '{self._engine.plan.loops[stack[-1]].loop.name}'" if stack else "outside of any loop"

    def _measured(self, measures: Measures) -> Outcome | None:
        """Run with a look at the end of each loop that is measured."""
        engine = self._engine
        taken: dict[tuple[int, int], float | None] = {}
        while True:
            engine.clear_stops()
            for index in measures.loops:
                engine.stop_at_end(index)
            what, index = self._ticks.resume()
            if what != "boundary":
                break
            taken |= measures.take(index, Frame(engine, index))
        outcome = self._ended(what, index)
        if outcome is not None and what == "end" and measures.in_main:
            taken |= measures.take(MAIN, Frame(engine, MAIN))
        if outcome is not None:
            outcome.measured = taken
        return outcome

    def _failed(self, error: ExecutionError) -> Outcome:
        engine = self._engine
        bad = None
        if engine.stack:
            index = engine.stack[-1]
            node = engine.plan.code[engine.pc].node
            bad = index, engine.loop_state(index)[0], None if node is None else node.name
        return Outcome(Status.ERROR, totals_of(engine, self._count, "error"), message=error.what, bad=bad)
