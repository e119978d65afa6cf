"""Debugging sessions of live runs: stepping forward and backward, edits and branches.

A session drives one engine. Every step runs until a stop and returns a :class:`Stop` with its reason. A session may be
driven from any thread, by one at a time; :meth:`Session.interrupt` may be called from any thread at any time.

:mod:`.live_controller` runs the steps; :mod:`.timeline` has the checkpoints and branches for time travel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...runtime.api_boundary import public, public_class
from ...runtime.errors import UsageError
from ...runtime.model import Data, Model, load
from ..breakpoints.location_parser import MAX_ITERATION
from ..frame_protocol import FrameReader
from . import destinations
from .boundary import Boundary
from .branches import Branch
from .live_controller import LiveController
from .session_base import SessionBase
from .session_frames import SessionFrame
from .stop import Reason, Stop


@public_class
class Session(SessionBase):
    """A model run under the debugger; it begins stopped before iteration 0 of the first loop.

    Iterating over it yields the frame at this stop and after each step, to the end of the model or an error.

    Args:
        inputs: by name, anything that ``np.asarray`` converts without loss; they are copied.
        max_iterations: the number of iterations of a loop after which a command stops; None: no limit.
        attended: False if no user can interrupt an infinite loop, so that running into one is an error.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
        ExecutionError: a node failed before the first loop.

    >>> session = loopdbg.Session(loopdbg.load("newton_sqrt.onnx"), {"a": 2.0, "tol": 1e-6})
    >>> [frame.iteration for frame in session]
    [0, 1, 2, 3, 4, 5]
    """

    _internals: LiveController

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data] | None = None,
        *,
        max_iterations: int | None = None,
        attended: bool = True,
    ) -> None:
        super().__init__(LiveController(model, inputs or {}, max_iterations, attended))
        self.restart()

    def __repr__(self) -> str:
        return "<Session, closed>" if self.closed else f"<Session {self.model.name}: {self.stop.text}>"

    def __iter__(self) -> Iterator[SessionFrame]:
        while not self.done:
            yield self.frame
            if self.step().reason in (Reason.ERROR, Reason.INTERRUPT, Reason.LIMIT):
                return

    @property
    def max_iterations(self) -> int | None:
        """The number of iterations of a loop after which a command stops; None: no limit. Continuing from such a stop
        allows as many again.

        >>> session = loopdbg.debug("newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}, max_iterations=3)
        >>> session.continue_().text
        "loop 'sqrt' reached the limit of 3 iterations"
        """
        return self._internals.max_iterations

    @max_iterations.setter
    def max_iterations(self, limit: int | None) -> None:
        self._internals.max_iterations = limit

    @property
    def frame(self) -> SessionFrame:
        return SessionFrame(self._internals.frame)

    @property
    def frames(self) -> list[SessionFrame]:
        return [SessionFrame(reader) for reader in self._internals.frames]

    # -- forward

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        controller = self._internals
        with controller.session_lock.hold():
            if inputs:
                controller.set_inputs(inputs)
            timeline, start = controller.timeline, controller.timeline.start_position
            if start is not None:
                return controller.travel(lambda: timeline.go_to(start, timeline.branches[0]))
            return controller.run_to_first_loop()

    def step(self, count: int = 1) -> Stop:
        return self._repeat(count, self._step)

    def next_node(self, count: int = 1) -> Stop:
        return self._repeat(count, self._next_node)

    def into(self) -> Stop:
        with self._resumable() as controller:
            return self._enter_body() or controller.run_to(controller.next_node_destination(into=True))

    def finish(self, count: int = 1) -> Stop:
        return self._repeat(count, self._finish)

    def _run_to_iteration(self, iteration: int) -> Stop:
        if operator.index(iteration) > MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}")
        with self._resumable() as controller:
            stack = controller.active_loops()
            if not stack:
                raise UsageError("no loop is running here; until needs one")
            current = controller.engine.loop_state(stack[-1])[0]
            if iteration <= current:
                raise UsageError(f"iteration {iteration} is not ahead of {current}; goto {iteration} goes back")
            return controller.run_to(destinations.LoopBoundaryDestination(stack[-1], iteration))

    def continue_(self) -> Stop:
        with self._resumable() as controller:
            return controller.run_to(destinations.ModelEndDestination())

    # -- back

    def back(self, count: int = 1) -> Stop:
        return self._repeat_batched(count, self._back, back=True)

    def back_node(self, count: int = 1) -> Stop:
        return self._repeat(count, self._back_node, back=True)

    def goto(self, iteration: int) -> Stop:
        iteration = operator.index(iteration)
        if not 0 <= iteration <= MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}")
        with self._internals.session_lock.hold():
            return self._internals.go_to_iteration(iteration)

    def reverse_continue(self) -> Stop:
        with self._internals.session_lock.hold():
            return self._internals.reverse_continue()

    # -- edits and branches

    def set(self, target: str, value: Any) -> Branch:
        from .editor import normalize_value

        new = normalize_value(value)
        return self._edit(self._internals.frame, lambda editor: editor.set(target, new))

    def assign(self, text: str, frame: SessionFrame | None = None) -> Branch:
        return self._edit(self._internals.reader_of(frame), lambda editor: editor.assign(text))

    def _edit(self, frame: FrameReader, change: Callable[[Any], str]) -> Branch:
        from .editor import StateEditor

        controller = self._internals
        with controller.session_lock.hold():
            ancestry = reversed(self.branch.ancestry())
            edited = {e.value: e.new_value for branch in ancestry for e in branch.edit_records if e.value is not None}
            editor = StateEditor(controller.engine, frame, frame.history, edited)
            branch = controller.apply_edit(lambda: change(editor))
            branch.edit_records += editor.edit_records
            return branch

    def save(self, path: str | Path, *, force: bool = False) -> list[Path]:
        from .save_edits import save_edits

        return save_edits(self.model, self.branch, Path(path), force)

    @property
    def branches(self) -> list[Branch]:
        return list(self._internals.timeline.branches)

    @property
    def branch(self) -> Branch:
        return self._internals.timeline.current_branch

    def switch(self, number: int) -> Stop:
        timeline = self._internals.timeline
        with self._internals.session_lock.hold():
            branch = timeline.branch_numbered(number)
            timeline.update_tip()
            return self._internals.travel(lambda: timeline.go_to(branch.tip, branch))

    def undo(self) -> Stop:
        with self._internals.session_lock.hold():
            return self._internals.travel(self._internals.timeline.undo)

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        with self._internals.session_lock.hold():
            yield from self._internals.timeline.boundary_pairs(first, second)

    # -- helpers

    @contextmanager
    def _resumable(self) -> Iterator[LiveController]:
        """Hold the session lock for a forward step; rejects a model that ran to its end."""
        controller = self._internals
        with controller.session_lock.hold():
            if self.done:
                raise UsageError("the model ran to its end; restart to run it again")
            if self.stop.reason is Reason.LIMIT and controller.engine.stack:
                controller.engine.raise_limit(controller.engine.stack[-1], self.max_iterations or 1)
            yield controller

    def _step(self) -> Stop:
        with self._resumable() as controller:
            if not controller.model.loops:
                return controller.run_to(controller.next_node_destination())
            stack = controller.active_loops()
            if stack and len(stack) == len(controller.engine.stack):
                return controller.run_to(
                    destinations.LoopBoundaryDestination(stack[-1], controller.frame.iteration + 1)
                )
            return controller.run_to(destinations.AnyBoundaryDestination())

    def _next_node(self) -> Stop:
        with self._resumable() as controller:
            return self._enter_body() or controller.run_to(controller.next_node_destination())

    def _enter_body(self) -> Stop | None:
        """Go from a boundary to the first node of the body; returns any other stop on the way, or None."""
        controller = self._internals
        if not controller.is_at_boundary() or controller.frame.stopped_by is not None:
            return None
        stop = controller.run_to(controller.next_node_destination())
        return None if stop.reason is Reason.NODE else stop

    def _finish(self) -> Stop:
        with self._resumable() as controller:
            stack = controller.active_loops()
            if stack:
                return controller.run_to(destinations.LoopEndDestination(stack[-1]))
            return controller.run_to(
                destinations.AnyBoundaryDestination() if controller.engine.stack else destinations.ModelEndDestination()
            )

    def _back(self, count: int) -> tuple[Stop, int]:
        counts = [count]
        with self._internals.session_lock.hold():
            return self._internals.travel(lambda: counts.append(self._internals.timeline.back(count))), counts[-1]

    def _back_node(self) -> Stop:
        with self._internals.session_lock.hold():
            return self._internals.travel(self._internals.timeline.back_node)


@public
def debug(model: Any, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None) -> Session:
    """Start a session on a model, or a source for :func:`load`, stopped before iteration 0 of its first loop.

    Args:
        inputs: by name, anything that ``np.asarray`` converts without loss.
        max_iterations: the number of iterations of a loop after which a command stops; None: no limit.

    Raises:
        ModelError: the file cannot be read.
        InputError: the inputs do not fit.
        UnsupportedError: an operator that nothing can run.
        ExecutionError: a node failed before the first loop.

    >>> loopdbg.debug("newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}).stop.text
    "before iteration 0 of loop 'sqrt'"
    """
    return Session(model if isinstance(model, Model) else load(model), inputs, max_iterations=max_iterations)


__all__ = ["Reason", "Session", "Stop", "debug"]
