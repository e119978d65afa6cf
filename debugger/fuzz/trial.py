"""One run of a model on inputs, with what fails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ...runtime.engine.engine import Engine
from ...runtime.errors import InputError, LoopdbgError
from ...runtime.frame_internals import max_trip_count
from ...runtime.infinite_loop_detection import SavedState, is_fixed_point
from ...runtime.input_validation import Data
from ...runtime.model import Model
from ..session.session import Session
from ..session.stop import Reason
from ..sweep.case_executor import CaseExecutor
from ..sweep.cases import Case
from ..sweep.job import MAIN_GRAPH, SweepSpec
from ..sweep.outcome import CaseOutcome
from ..sweep.row import Status
from ..termination.explanation import Why
from ..termination.trend import Trend
from .finding import FindingKind, FuzzFinding
from .job import FuzzJob
from .observer import FeatureObserver

_KINDS = {
    Status.ERROR: FindingKind.ERROR,
    Status.ASSERT: FindingKind.ASSERT,
    Status.BREAK: FindingKind.ASSERT,
    Status.DIFFERS: FindingKind.DIFFERS,
    Status.TIMEOUT: FindingKind.TIMEOUT,
}
#: Time to examine loops at their limit, as a part of the time of all runs.
_EXAMINED_SHARE = 0.5
#: Iterations after the limit in which the state of the loop may return, and the seconds that they may take.
_CYCLE_ITERATIONS, _CYCLE_SECONDS = 1 << 16, 5.0
#: Trends of a condition with which it does not end its loop.
_ENDLESS_TRENDS = frozenset({Trend.DIVERGING, Trend.STEPS_OVER, Trend.NAN, Trend.SETTLING})


class TrialRunner:
    """Runs a model on inputs.

    ``features``, ``operands``: of the last run (observer.py); ``passed``: it ended, and nothing failed. ``thorough``:
    whether a loop ever ends is examined whenever it reaches its limit, and not only while that takes a part of the time
    and ``known``, signatures of findings, has no such one.
    """

    def __init__(self, job: FuzzJob, model: Model) -> None:
        self.model = model
        self._spec: SweepSpec = job.spec
        self.executor = CaseExecutor(job, model)
        if self.executor.oracle is not None:
            self.executor.oracle.locates = False
        self._observer = FeatureObserver(self.executor.fast_runner.engine)
        self.executor.fast_runner.observer = self._observer
        self.passed = False
        self.thorough = False
        self.known: set[tuple[str, str]] = set()
        self._seconds = self._examined_seconds = 0.0

    @property
    def features(self) -> set[int]:
        return self._observer.features

    @property
    def operands(self) -> set[int | float]:
        return self._observer.operands

    def shortened_timeout(self) -> AbstractContextManager[None]:
        """In this block a runtime that does not answer is given up soon."""
        return nullcontext() if self.executor.oracle is None else self.executor.oracle.shortened_timeout()

    @contextmanager
    def reproduction_mode(self) -> Iterator[None]:
        """In this block runs repeat a failure: thorough, and without features."""
        runner = self.executor.fast_runner
        self.thorough, runner.observer = True, None
        try:
            with self.shortened_timeout():
                yield
        finally:
            self.thorough, runner.observer = False, self._observer

    def locate(self, inputs: Mapping[str, Data]) -> FuzzFinding | None:
        """Run the model thoroughly, and locate a difference; None: nothing fails, or a runtime rounds differently."""
        oracle = self.executor.oracle
        self.thorough = True
        if oracle is not None:
            oracle.locates, oracle.rounding = True, ""
        try:
            finding = self.run(inputs)
        finally:
            self.thorough = False
            if oracle is not None:
                oracle.locates = False
        return None if oracle is not None and oracle.rounding else finding

    def run(self, inputs: Mapping[str, Data]) -> FuzzFinding | None:
        """Run the model; None: nothing fails, or the inputs do not fit."""
        self._observer.begin()
        self.passed = False
        case = Case(inputs)
        start = time.perf_counter()
        try:
            outcome = self.executor.run_case("fuzz", case)
        except InputError:
            return None
        except LoopdbgError as error:
            # The model ran, and the other side fails.
            return FuzzFinding(FindingKind.DIFFERS, inputs, f"the other side fails: {' '.join(error.what.split())}")
        except MemoryError:
            return None
        finally:
            self._seconds += time.perf_counter() - start
        return self._make_finding(case, outcome)

    def _make_finding(self, case: Case, outcome: CaseOutcome) -> FuzzFinding | None:
        if outcome.status is Status.OK:
            self.passed = True
            return None
        bad = outcome.failure_location
        loop = None if bad is None or bad[0] == MAIN_GRAPH else self.model.plan.loops[bad[0]].path
        place = (loop, None if bad is None else bad[1], None if bad is None else bad[2])
        message = outcome.message or ""
        if outcome.status is Status.LIMIT:
            known = (FindingKind.ENDLESS.value, loop) in self.known
            if not self.thorough and (known or self._examined_seconds > _EXAMINED_SHARE * (self._seconds + 1)):
                return None
            start = time.perf_counter()
            finding = self._endless_loop_finding(case, message, loop)
            self._examined_seconds += time.perf_counter() - start
            return finding
        kind = _KINDS[outcome.status]
        if outcome.status is Status.ERROR:
            if outcome.outputs:  # the model has outputs, so the other side failed
                other = FindingKind.TIMEOUT if " hung: " in message else FindingKind.DIFFERS
                return FuzzFinding(other, case.inputs, message, *place)
            oracle = self.executor.oracle
            if _is_memory_error(message) or (oracle is not None and oracle.refuses(case)):
                return None
            if oracle is not None and oracle.name:
                message += f"; {oracle.name} runs with these inputs"
        return FuzzFinding(kind, case.inputs, message, *place)

    def _endless_loop_finding(self, case: Case, message: str, loop: str | None) -> FuzzFinding | None:
        """The finding of a run that reached a limit, if the loop never ends."""
        cycle = self._describe_cycle(case)
        if cycle is not None:
            return FuzzFinding(FindingKind.ENDLESS, case.inputs, *cycle)
        try:
            limit = self._spec.max_iterations
            with Session(self.model, case.inputs, max_iterations=limit, attended=False) as session:
                stop = session.continue_()
                if stop.reason is not Reason.LIMIT or session.frame.loop is None:
                    return None
                why = session.why()
                path, iteration = session.frame.path, session.frame.iteration
        except LoopdbgError as error:
            # Nothing can end it: refused before it runs.
            return FuzzFinding(FindingKind.ENDLESS, case.inputs, message, error.loop or loop)
        reason = never_ends_reason(why)
        if reason is None:
            return None
        name = path.rsplit(" ▸ ", 1)[-1]
        return FuzzFinding(FindingKind.ENDLESS, case.inputs, f"loop '{name}' never ends: {reason}", path, iteration)

    def _describe_cycle(self, case: Case) -> tuple[str, str] | None:
        """The sentence on a loop whose state repeats, and its path."""
        engine = self.executor.fast_runner.engine
        if engine.stack:
            plan = engine.plan.loops[engine.stack[-1]]
            if max_trip_count(engine, plan) is None and is_fixed_point(engine, plan.index):
                text = "what it carries is bit for bit as one iteration ago, and nothing else enters"
                return f"loop '{plan.loop.name}' never ends: {text}", plan.path
        engine = Engine(self.model.plan)
        try:
            engine.start(self.model.check(case.inputs))
            engine.set_limits(self._spec.max_iterations)
            event, index = engine.resume()
            state = SavedState.save(engine, index) if event == "limit" else None
            if state is None:
                return None
            engine.raise_limit(index, _CYCLE_ITERATIONS)
            ends_at = time.monotonic() + _CYCLE_SECONDS
            engine.on_tick = lambda: engine.interrupt() if time.monotonic() > ends_at else None
            while engine.resume() == ("predicate", index) and not state.is_exhausted:
                cycle = state.find_cycle()
                if cycle is not None:
                    return str(cycle), engine.plan.loops[index].path
        except LoopdbgError:
            pass
        return None


def never_ends_reason(why: Why) -> str | None:
    """Why a loop at its limit never ends; None: it may end."""
    if why.trip_count is not None:
        return None
    if why.never:
        return why.never
    if why.about is not None:
        return None
    for side in why.sides:
        estimate = side.estimate
        if estimate is None or estimate.iterations is not None or estimate.trend not in _ENDLESS_TRENDS:
            continue
        if estimate.trend is Trend.DIVERGING and estimate.rate < 0:  # it ends, after very many iterations
            continue
        return f"{side.text}: {estimate.text}"
    return None


def _is_memory_error(message: str) -> bool:
    """Whether a run failed for lack of memory, which is no fault of the model."""
    return any(text in message for text in ("out of memory", "not enough memory", "too large"))
