"""A debugging session: where it stands, the steps that lead on, and those that lead back.

A session drives one engine. Every step runs until its stop and returns a :class:`Stop` that says why. A session may be
driven from any thread, by one at a time; :meth:`Session.interrupt` may be called from any thread at any time.

Time travel: checkpoints of the execution are kept (:mod:`.timeline`); going back restores the nearest one before and
runs on from there, which gives the same numbers to the bit.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.model import Data, LoopTotals, Model, load
from ..breakpoints.collection import Breakpoint
from . import goals
from .boundary import Boundary
from .frames import Frame
from .running import Running
from .side_by_side import together
from .standing import no_iteration
from .stop import Reason, Stop
from .timeline import Branch
from .travel import Position, levels, nodes_until


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
        self.inputs = dict(inputs or {})
        # Copies: a notebook may change its arrays while the session stands.
        given = {slot: copy.deepcopy(value) for slot, value in model.check(self.inputs).items()}
        super().__init__(model, given, max_iterations, attended)
        self.restart()

    def __repr__(self) -> str:
        return f"<Session {self.model.name}: {self.stop.text}>"

    def __iter__(self) -> Iterator[Frame]:
        """The frame at this stop and after each step, to the end of the model or an error."""
        while not self.done:
            yield self.frame
            if self.step().reason in (Reason.ERROR, Reason.INTERRUPT, Reason.LIMIT):
                return

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name once it ran to its end; None before."""
        return self._outputs

    @property
    def totals(self) -> list[LoopTotals]:
        """How often each loop of the model ran so far."""
        return self.model.totals(self._engine)

    # -- on

    def restart(self) -> Stop:
        """Go back to before iteration 0 of the first loop, with the same inputs, on the first branch."""
        with self._held():
            if self._entry is not None:
                return self._travel(self._entry, self.timeline.branches[0])
            self._engine.start(self._given)
            self._engine.set_limits(self.max_iterations)
            self._save()
            stop = self._advance(goals.AnyBoundary() if self.places.loops else goals.FirstNode(), raising=True)
            self._entry = self.position
            return stop

    def step(self, count: int = 1) -> Stop:
        """Run to the next boundary of this loop, ``count`` times; inner loops run through.

        The last iteration's boundary, where the loop ends, is a stop as well; a step from there leaves the loop and
        goes on to the next boundary of any loop.
        """
        return self._repeat(count, self._step)

    def next_node(self, count: int = 1) -> Stop:
        """Run one node of this body, ``count`` times; an inner loop counts as one node. After the last node: the
        boundary."""
        return self._repeat(count, self._next_node)

    def into(self) -> Stop:
        """Run one node, but stop at the first boundary of the loop where it is a loop."""
        with self._going_on():
            return self._from_boundary() or self._advance(self._node_goal(into=True))

    def finish(self, count: int = 1) -> Stop:
        """Run to the end of this loop and stop there; at its end already: to the end of the loop around it.

        ``count``: so many loops, from the inside out.
        """
        return self._repeat(count, self._finish)

    def until(self, iteration: int) -> Stop:
        """Run to the boundary of this loop before an iteration ahead, or to its end.

        Raises:
            UsageError: the iteration is not ahead, or no loop is running.
        """
        with self._going_on():
            stack = self._running_stack()
            if not stack:
                raise UsageError("no loop is running here; until needs one")
            now = self._engine.loop_state(stack[-1])[0]
            if iteration <= now:
                raise UsageError(f"iteration {iteration} is not ahead of {now}; goto {iteration} goes back")
            return self._advance(goals.Boundary(stack[-1], iteration))

    def continue_(self) -> Stop:
        """Run to the next breakpoint, the end of the model, or the first limit."""
        with self._going_on():
            return self._advance(goals.Nothing())

    # -- back

    def back(self, count: int = 1) -> Stop:
        """Go back to the boundary before, up to ``count`` times: of this loop, or from its first one to before the
        loop.

        Raises:
            UsageError: there is nothing before.
        """
        return self._repeat(count, self._back, back=True)

    def back_node(self, count: int = 1) -> Stop:
        """Go back by one node of this body, up to ``count`` times; an inner loop counts as one node.

        Raises:
            UsageError: there is nothing before.
        """
        return self._repeat(count, self._back_node, back=True)

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary of this loop before an iteration, back or ahead; breakpoints in between do not stop it.

        Raises:
            UsageError: no loop is running, or it ends before that iteration (and the session stands at its end).
        """
        iteration = operator.index(iteration)
        if iteration < 0:
            raise UsageError(f"there is no iteration {iteration}")
        with self._held():
            around, index = self._this_entry()
            target = self._boundary(around, index, iteration)
            now, _, _, ended, _ = self._engine.loop_state(index)
            if iteration > now and ended is not None:
                raise UsageError(no_iteration(self.places.loops[index].loop, iteration, now))
            if iteration < now or target <= self.position:
                return self._travel(target)
            stop = self._advance(goals.Boundary(index, iteration), quietly=True)
            if self.position != target and stop.reason in (Reason.LOOP_END, Reason.ENTRY):
                ran = self._engine.loop_state(index)[0]
                why = no_iteration(self.places.loops[index].loop, iteration, ran)
                raise UsageError(f"{why}, where the session stands now")
            return stop

    def reverse_continue(self) -> Stop:
        """Go back to the last stop that a breakpoint or watchpoint would have made before this; without one to where
        the session began."""
        with self._held():
            return self._reverse()

    def travel(self, position: Position) -> Stop:
        """Go to a position at which this line of time has stood."""
        with self._held():
            return self._travel(position)

    # -- breakpoints

    def watch(self, text: str) -> Breakpoint:
        """Set a watchpoint: ``session.watch("h")``, ``session.watch("err crosses 1e-3")``; see
        :meth:`..breakpoints.collection.Breakpoints.watch`."""
        return self.breakpoints.watch(text)

    # -- what if

    def set(self, target: str, value: Any) -> Branch:
        """Change a value and begin a branch of the timeline with it.

        ``target``: a carried, computed or captured value or a constant by name, ``name[indices]``, ``cond`` or
        ``trip_count``; ``value``: what it becomes. Tensors keep their dtype.

        Raises:
            UsageError: there is no such value, it is not computed yet, or the new one does not fit.
        """
        return self._edit(self.frame, lambda editor: editor.set(target, value))

    def assign(self, text: str, frame: Frame | None = None) -> Branch:
        """``h = zeros_like(h)``, ``h[0, 3] = 1.5``, ``cond = false``, ``trip_count = 10``: as :meth:`set`, from text.

        ``frame``: the one whose values are meant, the innermost by default.

        Raises:
            UsageError: as for :meth:`set`, or the text is no assignment.
        """
        return self._edit(frame or self.frame, lambda editor: editor.assign(text))

    def _edit(self, frame: Frame, change: Callable[[Any], str]) -> Branch:
        from .edit import Editor

        with self._held():
            if self.done:
                raise UsageError("the model ran to its end, so nothing would use it; go back first: back, or goto N")
            self.timeline.reached(self.position)
            self._save(always=True)
            told = change(Editor(self._engine, frame, self.history(frame)))
            self._past.forget()
            branch = self.timeline.edited(self._engine.checkpoints.take(), told)
            self._outputs = None
            self.stop = self._where()
            return branch

    @property
    def branches(self) -> list[Branch]:
        """The lines of time: the first run, and one more for each edit."""
        return list(self.timeline.branches)

    @property
    def branch(self) -> Branch:
        """The line of time that the session is on."""
        return self.timeline.current

    def switch(self, number: int) -> Stop:
        """Go to the last position that was reached on another branch.

        Raises:
            UsageError: there is no such branch.
        """
        with self._held():
            branch = self.timeline.numbered(number)
            self.timeline.reached(self.position)
            return self._travel(branch.tip, branch)

    def undo(self) -> Stop:
        """Leave the current branch for the one that it came from, where it began.

        Raises:
            UsageError: nothing was set on this line.
        """
        with self._held():
            branch = self.timeline.current
            if branch.parent is None or branch.fork is None:
                raise UsageError("nothing was set on this branch")
            return self._travel(branch.fork, branch.parent)

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """The boundaries of two branches in pairs, from where they parted to where either was left."""
        with self._held():
            yield from together(self.model, self._given, self.timeline, first, second)

    # -- how

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Hold the session for a step that leads on, which needs somewhere to go."""
        with self._held():
            if self.done:
                raise UsageError("the model ran to its end; restart to run it again")
            if self.stop.reason is Reason.LIMIT and self._engine.stack:
                self._engine.raise_limit(self._engine.stack[-1], self.max_iterations or 1)
            yield

    def _step(self) -> Stop:
        with self._going_on():
            stack = self._running_stack()
            if stack and len(stack) == len(self._engine.stack):
                return self._advance(goals.Boundary(stack[-1], self.frame.iteration + 1))
            return self._advance(goals.AnyBoundary())

    def _next_node(self) -> Stop:
        with self._going_on():
            return self._from_boundary() or self._advance(self._node_goal())

    def _from_boundary(self) -> Stop | None:
        """From a boundary to the first node of the body; a stop that came instead, or None."""
        if not self.places.at_boundary() or self.frame.stopped_by is not None:
            return None
        stop = self._advance(self._node_goal())
        return None if stop.reason is Reason.NODE else stop

    def _finish(self) -> Stop:
        with self._going_on():
            stack = self._running_stack()
            if stack:
                return self._advance(goals.End(stack[-1]))
            return self._advance(goals.AnyBoundary() if self._engine.stack else goals.Nothing())

    def _running_stack(self) -> list[int]:
        """The running loops without the one whose end we stand at."""
        stack = list(self._engine.stack)
        if self.places.at_boundary() and self.frame.stopped_by is not None:
            stack.pop()
        return stack

    def _node_goal(self, into: bool = False) -> goals.NextNode:
        ahead = [goals.Boundary(k, self._engine.loop_state(k)[0] + 1) for k in self._running_stack()]
        return goals.NextNode(len(self._engine.stack), ahead, into)

    def _this_entry(self) -> tuple[Position, int]:
        """What is around the entry of the loop that is meant by "this loop", and the loop."""
        stack = self._engine.stack
        if stack:
            return self.position[: 2 * len(stack) - 2], stack[-1]
        last = self.places.last_loop()
        if last < 0:
            raise UsageError("no loop is running here, and none has run")
        return (), last

    def _boundary(self, around: Position, index: int, iteration: int) -> Position:
        plan = self.places.loops[index]
        return (*around, plan.enter, iteration, plan.head)

    def _back(self) -> Stop:
        with self._held():
            here = self.position
            if not self._engine.stack and self.places.last_loop() < 0:
                return self._to_node_before(here)
            around, index = self._this_entry()
            iteration = self._engine.loop_state(index)[0]
            boundary = self._boundary(around, index, iteration)
            if boundary < here:
                return self._travel(boundary)
            return (
                self._travel(self._boundary(around, index, iteration - 1)) if iteration else self._to_node_before(here)
            )

    def _back_node(self) -> Stop:
        with self._held():
            return self._to_node_before(self.position)

    def _to_node_before(self, here: Position) -> Stop:
        """Go to the node before a position in the same body, or to the boundary before its first."""
        if self._entry is not None and here <= self._entry:
            raise UsageError("this is where the session began; there is nothing before")
        pairs = levels(here)
        if not pairs:
            start: Position = (0,)
        elif here[-1] != self.places.head(pairs[-1][0]):
            start = (*here[:-1], self.places.head(pairs[-1][0]))
        elif pairs[-1][1] > 0:
            start = (*here[:-2], pairs[-1][1] - 1, here[-1])
        else:
            # The first boundary of a loop: the loop itself is the node before.
            return self._travel(here[:-2])
        stop = self._travel(start)
        if self.position != start:
            return stop
        before = list(nodes_until(self._engine, here))
        # Before the first node of an iteration is the boundary.
        target = before[-1] if len(before) > bool(pairs) else start
        return self._travel(max(target, self._entry or target))

    def _reverse(self) -> Stop:
        """Look for the last hit before here, piece of time by piece of time."""
        here = self.position
        self.timeline.reached(here)
        entry = self._entry or (0,)
        for checkpoint, end in self.timeline.segments(here):
            found = self._last_hit(checkpoint, end, here)
            if found is not None:
                position, seen = found
                self._go_to(position, anew=True)
                for breakpoint_, change, failure in seen:
                    breakpoint_.change, breakpoint_.failure = change, failure
                hits = [breakpoint_ for breakpoint_, _, _ in seen]
                self.stop = self._hit_stop(hits)
                return self.stop
            if checkpoint.position <= entry:
                break
        self._go_to(entry, anew=True)
        self.stop = Stop(Reason.START, f"no breakpoint would have stopped before; {self._where().text}")
        return self.stop


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
