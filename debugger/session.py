"""The state machine of a debugging session: where it stands, and the steps that lead on.

A session drives one engine. Every step runs until its stop and returns a :class:`Stop` that says why. A session may be
driven from any thread, by one at a time; :meth:`Session.interrupt` may be called from any thread at any time.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ..runtime.engine import Engine
from ..runtime.errors import LoopdbgError, UsageError
from ..runtime.frame import Frame
from ..runtime.graph import StoppedBy
from ..runtime.model import Data, LoopTotals, Model, load


class Reason(StrEnum):
    """Why a session stands where it stands."""

    ENTRY = "entry"
    STEP = "step"
    NODE = "node"
    LOOP_END = "loop end"
    LIMIT = "limit"
    INTERRUPT = "interrupt"
    ERROR = "error"
    DONE = "done"


@dataclass(frozen=True)
class Stop:
    """One stop: why, and one line about it for a person."""

    reason: Reason
    text: str


class Session:
    """A model run under the debugger, stopped before iteration 0 of its first loop.

    A model without loops stops before its first node. ``max_iterations`` stops each entry of each loop once it ran
    that many iterations; going on from there is allowed.

    Raises:
        InputError: inputs that do not fit the signature.
        ExecutionError: a node before the first loop failed.
    """

    def __init__(
        self, model: Model, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None
    ) -> None:
        self.model = model
        self.inputs = dict(inputs or {})
        self.max_iterations = max_iterations
        # Copies: a notebook may change its arrays while the session stands.
        self._given = {slot: copy.deepcopy(value) for slot, value in model.check(self.inputs).items()}
        self._engine = Engine(model.plan)
        self._lock = threading.Lock()
        #: Held while an interrupt is set or forgotten, so that none outlives the step that it was meant for.
        self._interrupting = threading.Lock()
        self.stop = Stop(Reason.ENTRY, "")
        self._outputs: dict[str, Data] | None = None
        self._last_loop = -1
        self.restart()

    def __repr__(self) -> str:
        return f"<Session {self.model.name}: {self.stop.text}>"

    # -- where it stands

    @property
    def done(self) -> bool:
        """True once the model ran to its end."""
        return self.stop.reason is Reason.DONE

    @property
    def running(self) -> bool:
        """True while another thread runs a step."""
        return bool(self._engine.running)

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name once it ran to its end; None before."""
        return self._outputs

    @property
    def frame(self) -> Frame:
        """The innermost running loop; the main graph where none runs; after the end the loop that ended last."""
        stack = self._engine.stack
        if stack:
            return Frame(self._engine, stack[-1])
        return Frame(self._engine, self._last_loop if self.done else -1)

    @property
    def frames(self) -> list[Frame]:
        """All running loops, outermost first, the main graph before them."""
        return [Frame(self._engine, index) for index in (-1, *self._engine.stack)]

    @property
    def totals(self) -> list[LoopTotals]:
        """How often each loop of the model ran so far."""
        return self.model.totals(self._engine)

    # -- steps

    def restart(self) -> Stop:
        """Go back to before iteration 0 of the first loop, with the same inputs."""

        def ask() -> None:
            self._engine.start(self._given)
            self._engine.set_limits(self.max_iterations)
            self._outputs = None
            self._last_loop = -1
            if self._engine.plan.loops:
                self._engine.stop_anywhere()
            else:
                self._engine.stop_before_node()

        return self._go(ask, restart=True)

    def step(self, count: int = 1) -> Stop:
        """Run to the next boundary of this loop, ``count`` times; inner loops run through.

        The last iteration's boundary, where the loop ends, is a stop as well; a step from there leaves the loop and
        goes on to the next boundary of any loop.
        """
        stop = self.stop
        for _ in range(count):
            stop = self._go(self._ask_step)
            if stop.reason not in (Reason.STEP, Reason.ENTRY, Reason.LOOP_END):
                break
        return stop

    def next_node(self) -> Stop:
        """Run one node of this body; an inner loop counts as one node. After the last node: the boundary."""
        if self._engine.stack and self.frame.at_boundary and self.frame.stopped_by is None:
            # Past the boundary to the first node, then that node.
            stop = self._go(self._ask_node)
            if stop.reason is not Reason.NODE:
                return stop
        return self._go(self._ask_node)

    def into(self) -> Stop:
        """Run one node, but stop at the first boundary of the loop where it is a loop."""

        def ask() -> None:
            self._ask_node()
            self._engine.stop_anywhere()

        if self._engine.stack and self.frame.at_boundary and self.frame.stopped_by is None:
            stop = self._go(self._ask_node)
            if stop.reason is not Reason.NODE:
                return stop
        return self._go(ask)

    def finish(self) -> Stop:
        """Run to the end of this loop and stop there; at its end already: to the end of the loop around it."""

        def ask() -> None:
            stack = self._running_stack()
            if stack:
                self._engine.stop_at_end(stack[-1])
            elif self._engine.stack:
                self._engine.stop_anywhere()

        return self._go(ask)

    def continue_(self) -> Stop:
        """Run to the end of the model, or to the first limit."""
        return self._go(lambda: None)

    def interrupt(self) -> None:
        """Stop a step that is under way at the next boundary; from any thread. Without one it does nothing."""
        with self._interrupting:
            if self._lock.locked():
                self._engine.interrupt()

    # -- how a step is done

    def _running_stack(self) -> list[int]:
        """The running loops without the one whose end we stand at."""
        stack = list(self._engine.stack)
        if stack and self.frame.at_boundary and self.frame.stopped_by is not None:
            stack.pop()
        return stack

    def _ask_step(self) -> None:
        stack = self._running_stack()
        if stack and len(stack) == len(self._engine.stack):
            self._engine.stop_at(stack[-1], self.frame.iteration + 1)
        else:
            self._engine.stop_anywhere()

    def _ask_node(self) -> None:
        self._engine.stop_at_node()
        for index in self._running_stack():
            self._engine.stop_at(index, self._engine.loop_state(index)[0] + 1)

    def _go(self, ask: Callable[[], None], restart: bool = False) -> Stop:
        if not self._lock.acquire(blocking=False):
            raise UsageError("the session is running; interrupt it first")
        try:
            if self.done and not restart:
                raise UsageError("the model ran to its end; restart to run it again")
            if self.stop.reason is Reason.LIMIT and self._engine.stack:
                self._engine.raise_limit(self._engine.stack[-1], self.max_iterations or 1)
            before = self._engine.stack
            self._engine.clear_stops()
            ask()
            try:
                what, index = self._engine.resume()
            except LoopdbgError as error:
                self.stop = Stop(Reason.ERROR, str(error))
                raise
            finally:
                self._engine.clear_stops()
            self.stop = self._explain(what, index, before)
            return self.stop
        finally:
            with self._interrupting:
                self._engine.clear_interrupt()
                self._lock.release()

    def _explain(self, what: str, index: int, before: list[int]) -> Stop:
        stack = self._engine.stack
        if what == "end":
            self._outputs = self.model.results(self._engine)
            entered = [t for t in range(len(self.model.plan.loops)) if self._engine.totals(t)[1]]
            top = [t for t in entered if self.model.plan.loops[t].parent < 0]
            self._last_loop = top[-1] if top else -1
            text = "the model ran to its end" if self.model.loops else "the model ran to its end; it has no loop"
            return Stop(Reason.DONE, text)
        if what == "node":
            node = self._engine.plan.code[self._engine.pc].node
            assert node is not None
            text = f"before {node.describe()}"
            return Stop(Reason.NODE, text if self.model.loops else f"{text}; the model has no loop")
        frame = self.frame
        if what == "limit":
            return Stop(Reason.LIMIT, f"loop '{frame.name}' reached the limit of {frame.iteration} iterations")
        if what == "interrupt":
            where = f"in loop '{frame.name}', iteration {frame.iteration}" if stack else "outside of any loop"
            return Stop(Reason.INTERRUPT, f"interrupted {where}")
        ended = frame.stopped_by
        if ended is not None:
            why = _WHY[ended]
            if frame.iteration == 0:
                return Stop(Reason.ENTRY, f"loop '{frame.name}' runs no iteration: {why} before the first")
            return Stop(Reason.LOOP_END, f"loop '{frame.name}' ends after {frame.iteration} iterations: {why}")
        if frame.iteration == 0:
            return Stop(Reason.ENTRY, f"before iteration 0 of loop '{frame.name}'")
        return Stop(Reason.STEP, f"before iteration {frame.iteration} of loop '{frame.name}'")


_WHY = {
    StoppedBy.TRIP_COUNT: "the trip count is reached",
    StoppedBy.CONDITION: "the condition is false",
    StoppedBy.INPUT_EXHAUSTED: "the sliced inputs are exhausted",
}


def debug(
    model: str | Path | Model, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None
) -> Session:
    """Start a session on a model or a path, stopped before iteration 0 of its first loop.

    Raises:
        ModelError: the file cannot be read.
        InputError: the inputs do not fit.
    """
    return Session(model if isinstance(model, Model) else load(model), inputs, max_iterations=max_iterations)
