"""A debugging session: where it stands, the steps that lead on, and those that lead back.

A session drives one engine. Every step runs until its stop and returns a :class:`Stop` that says why. A session may be
driven from any thread, by one at a time; :meth:`Session.interrupt` may be called from any thread at any time.

Where it has been, and going there again, is a matter of its :mod:`.timeline`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.model import Data, Model, load
from . import destinations
from .boundary import Boundary
from .branches import Branch
from .frames import SessionFrame
from .positions import Position
from .running import Running, kept
from .stop import Reason, Stop, no_iteration


class Session(Running):
    """A model that runs under control.

    ``attended``: False where nobody could interrupt a loop that nothing ends, so that running into one is an error.

    Raises:
        InputError: inputs that do not fit the signature.
        ExecutionError: a node failed before the first loop.
    """

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data] | None = None,
        *,
        max_iterations: int | None = None,
        attended: bool = True,
    ) -> None:
        given = {slot: kept(value) for slot, value in model.check(inputs or {}).items()}
        super().__init__(model, inputs or {}, given, max_iterations, attended)
        self.restart()

    def __repr__(self) -> str:
        return f"<Session {self.model.name}: {self.stop.text}>"

    def __iter__(self) -> Iterator[SessionFrame]:
        """The frame at this stop and after each step, to the end of the model or an error."""
        while not self.done:
            yield self.frame
            if self.step().reason in (Reason.ERROR, Reason.INTERRUPT, Reason.LIMIT):
                return

    # -- on

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        with self._turns.turn():
            if inputs:
                self._give(inputs)
            timeline, entry = self._timeline, self._timeline.entry
            if entry is not None:
                return self._travel(lambda: timeline.go_to(entry, timeline.branches[0]))
            self._engine.start(self._given)
            self._engine.set_limits(self.max_iterations)
            timeline.save()
            stop = self._advance(
                destinations.AnyBoundary() if self.places.loops else destinations.FirstNode(),
                quietly=True,
                raising=True,
            )
            timeline.entry = self.position
            self._prime_all()
            return stop

    def step(self, count: int = 1) -> Stop:
        return self._repeat(count, self._step)

    def next_node(self, count: int = 1) -> Stop:
        return self._repeat(count, self._next_node)

    def into(self) -> Stop:
        with self._going_on():
            return self._from_boundary() or self._advance(self._next(into=True))

    def finish(self, count: int = 1) -> Stop:
        return self._repeat(count, self._finish)

    def until(self, iteration: int) -> Stop:
        with self._going_on():
            stack = self._running_stack()
            if not stack:
                raise UsageError("no loop is running here; until needs one")
            now = self._engine.loop_state(stack[-1])[0]
            if iteration <= now:
                raise UsageError(f"iteration {iteration} is not ahead of {now}; goto {iteration} goes back")
            return self._advance(destinations.LoopBoundary(stack[-1], iteration))

    def continue_(self) -> Stop:
        with self._going_on():
            return self._advance(destinations.TheEnd())

    # -- back

    def back(self, count: int = 1) -> Stop:
        return self._repeat(count, self._back, back=True)

    def back_node(self, count: int = 1) -> Stop:
        return self._repeat(count, self._back_node, back=True)

    def goto(self, iteration: int) -> Stop:
        iteration = operator.index(iteration)
        if iteration < 0:
            raise UsageError(f"there is no iteration {iteration}")
        with self._turns.turn():
            around, index = self._timeline.this_entry()
            target = self._timeline.boundary(around, index, iteration)
            now, _, _, ended, _ = self._engine.loop_state(index)
            if iteration > now and ended is not None:
                raise UsageError(no_iteration(self.places.loops[index].loop, iteration, now))
            if iteration < now or target <= self.position:
                return self._travel(lambda: self._timeline.go_to(target))
            stop = self._advance(destinations.LoopBoundary(index, iteration), quietly=True)
            if self.position != target and stop.reason in (Reason.LOOP_END, Reason.ENTRY):
                ran = self._engine.loop_state(index)[0]
                why = no_iteration(self.places.loops[index].loop, iteration, ran)
                raise UsageError(f"{why}, where the session stands now")
            return stop

    def reverse_continue(self) -> Stop:
        with self._turns.turn():
            return self._reverse()

    def travel(self, position: Position) -> Stop:
        """Go to a position at which this line of time has stood."""
        with self._turns.turn():
            return self._travel(lambda: self._timeline.go_to(position))

    # -- what if

    def set(self, target: str, value: Any) -> Branch:
        return self._edit(self.frame, lambda editor: editor.set(target, value))

    def assign(self, text: str, frame: SessionFrame | None = None) -> Branch:
        return self._edit(frame or self.frame, lambda editor: editor.assign(text))

    def _edit(self, frame: SessionFrame, change: Callable[[Any], str]) -> Branch:
        from .edit import Editor

        with self._turns.turn():
            if self.done:
                raise UsageError("the model ran to its end, so nothing would use it; go back first: back, or goto N")
            branch = self._timeline.edit(lambda: change(Editor(self._engine, frame, frame.history)))
            self._outputs = None
            self.stop = self._where()
            return branch

    @property
    def branches(self) -> list[Branch]:
        return list(self._timeline.branches)

    @property
    def branch(self) -> Branch:
        return self._timeline.current

    def switch(self, number: int) -> Stop:
        with self._turns.turn():
            branch = self._timeline.numbered(number)
            self._timeline.reached()
            return self._travel(lambda: self._timeline.go_to(branch.tip, branch))

    def undo(self) -> Stop:
        with self._turns.turn():
            parent, fork = self.branch.parent, self.branch.fork
            if parent is None or fork is None:
                raise UsageError("nothing was set on this branch")
            return self._travel(lambda: self._timeline.go_to(fork, parent))

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        with self._turns.turn():
            yield from self._timeline.side_by_side(first, second)

    # -- how

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Hold the session for a step that leads on, which needs somewhere to go."""
        with self._turns.turn():
            if self.done:
                raise UsageError("the model ran to its end; restart to run it again")
            if self.stop.reason is Reason.LIMIT and self._engine.stack:
                self._engine.raise_limit(self._engine.stack[-1], self.max_iterations or 1)
            yield

    def _step(self) -> Stop:
        with self._going_on():
            stack = self._running_stack()
            if stack and len(stack) == len(self._engine.stack):
                return self._advance(destinations.LoopBoundary(stack[-1], self.frame.iteration + 1))
            return self._advance(destinations.AnyBoundary())

    def _next_node(self) -> Stop:
        with self._going_on():
            return self._from_boundary() or self._advance(self._next())

    def _from_boundary(self) -> Stop | None:
        """From a boundary to the first node of the body; a stop that came instead, or None."""
        if not self.at_boundary() or self.frame.stopped_by is not None:
            return None
        stop = self._advance(self._next())
        return None if stop.reason is Reason.NODE else stop

    def _finish(self) -> Stop:
        with self._going_on():
            stack = self._running_stack()
            if stack:
                return self._advance(destinations.LoopEnd(stack[-1]))
            return self._advance(destinations.AnyBoundary() if self._engine.stack else destinations.TheEnd())

    def _running_stack(self) -> list[int]:
        """The running loops without the one whose end we stand at."""
        stack = list(self._engine.stack)
        if self.at_boundary() and self.frame.stopped_by is not None:
            stack.pop()
        return stack

    def _next(self, into: bool = False) -> destinations.NextNode:
        ahead = [destinations.LoopBoundary(k, self._engine.loop_state(k)[0] + 1) for k in self._running_stack()]
        return destinations.NextNode(len(self._engine.stack), ahead, into)

    def _back(self) -> Stop:
        with self._turns.turn():
            return self._travel(self._timeline.back)

    def _back_node(self) -> Stop:
        with self._turns.turn():
            return self._travel(self._timeline.back_node)


def debug(
    model: str | Path | Model, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None
) -> Session:
    """Start a session on a model or a path, stopped before iteration 0 of its first loop.

    Raises:
        ModelError: the file cannot be read.
        InputError: the inputs do not fit.
    """
    return Session(model if isinstance(model, Model) else load(model), inputs, max_iterations=max_iterations)


__all__ = ["Reason", "Session", "Stop", "debug"]
