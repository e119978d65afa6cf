"""A debugging session: the steps that lead on, those that lead back, and what if.

A session drives one engine. Every step runs until its stop and returns a :class:`Stop` that says why. A session may be
driven from any thread, by one at a time; :meth:`Session.interrupt` may be called from any thread at any time.

How a step runs is a matter of :mod:`.running`; where it has been, and going there again, of its :mod:`.timeline`.
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
from . import destinations
from .boundary import Boundary
from .branches import Branch
from .live_controller import LiveController
from .session_base import SessionBase
from .session_frames import SessionFrame
from .stop import Reason, Stop


@public_class
class Session(SessionBase):
    """A model that runs under control, stopped before iteration 0 of its first loop at first.

    Iterating over it gives the frame at this stop and after each step, to the end of the model or an error.

    ``inputs``: by name, anything that ``np.asarray`` takes where that loses nothing; they are copied.
    ``max_iterations``: the most iterations of a loop before a command stops there; None: no limit. ``attended``: False
    where nobody could interrupt a loop that nothing ends, so that running into one is an error.

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
        """The most iterations of a loop before a command stops there; None: no limit. Going on from such a stop runs as
        many again.

        >>> session = loopdbg.debug("newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}, max_iterations=3)
        >>> session.continue_().text
        "loop 'sqrt' reached the limit of 3 iterations"
        """
        return self._internals.max_iterations

    @max_iterations.setter
    def max_iterations(self, most: int | None) -> None:
        self._internals.max_iterations = most

    @property
    def frame(self) -> SessionFrame:
        return self._internals.frame

    @property
    def frames(self) -> list[SessionFrame]:
        return self._internals.frames

    # -- on

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        inside = self._internals
        with inside.session_lock.hold():
            if inputs:
                inside.set_inputs(inputs)
            timeline, entry = inside.timeline, inside.timeline.start_position
            if entry is not None:
                return inside.travel(lambda: timeline.go_to(entry, timeline.branches[0]))
            return inside.run_to_first_loop()

    def step(self, count: int = 1) -> Stop:
        return self._repeat(count, self._step)

    def next_node(self, count: int = 1) -> Stop:
        return self._repeat(count, self._next_node)

    def into(self) -> Stop:
        with self._resumable() as inside:
            return self._enter_body() or inside.run_to(inside.next_node_destination(into=True))

    def finish(self, count: int = 1) -> Stop:
        return self._repeat(count, self._finish)

    def _run_to_iteration(self, iteration: int) -> Stop:
        if operator.index(iteration) > MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}")
        with self._resumable() as inside:
            stack = inside.active_loops()
            if not stack:
                raise UsageError("no loop is running here; until needs one")
            now = inside.engine.loop_state(stack[-1])[0]
            if iteration <= now:
                raise UsageError(f"iteration {iteration} is not ahead of {now}; goto {iteration} goes back")
            return inside.run_to(destinations.LoopBoundaryDestination(stack[-1], iteration))

    def continue_(self) -> Stop:
        with self._resumable() as inside:
            return inside.run_to(destinations.ModelEndDestination())

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

    # -- what if

    def set(self, target: str, value: Any) -> Branch:
        from .editor import normalize_value

        new = normalize_value(value)
        return self._edit(self.frame, lambda editor: editor.set(target, new))

    def assign(self, text: str, frame: SessionFrame | None = None) -> Branch:
        return self._edit(self._internals.frame_or_innermost(frame), lambda editor: editor.assign(text))

    def _edit(self, frame: SessionFrame, change: Callable[[Any], str]) -> Branch:
        from .editor import StateEditor

        inside = self._internals
        with inside.session_lock.hold():
            line = reversed(self.branch.ancestry())
            earlier = {
                one.value: one.new_value for branch in line for one in branch.edit_records if one.value is not None
            }
            editor = StateEditor(inside.engine, frame, frame.history, earlier)
            branch = inside.apply_edit(lambda: change(editor))
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

    # -- how

    @contextmanager
    def _resumable(self) -> Iterator[LiveController]:
        """Hold the session for a step that leads on, which needs somewhere to go."""
        inside = self._internals
        with inside.session_lock.hold():
            if self.done:
                raise UsageError("the model ran to its end; restart to run it again")
            if self.stop.reason is Reason.LIMIT and inside.engine.stack:
                inside.engine.raise_limit(inside.engine.stack[-1], self.max_iterations or 1)
            yield inside

    def _step(self) -> Stop:
        with self._resumable() as inside:
            if not inside.model.loops:
                return inside.run_to(inside.next_node_destination())
            stack = inside.active_loops()
            if stack and len(stack) == len(inside.engine.stack):
                return inside.run_to(destinations.LoopBoundaryDestination(stack[-1], self.frame.iteration + 1))
            return inside.run_to(destinations.AnyBoundaryDestination())

    def _next_node(self) -> Stop:
        with self._resumable() as inside:
            return self._enter_body() or inside.run_to(inside.next_node_destination())

    def _enter_body(self) -> Stop | None:
        """From a boundary to the first node of the body; a stop that came instead, or None."""
        inside = self._internals
        if not inside.is_at_boundary() or self.frame.stopped_by is not None:
            return None
        stop = inside.run_to(inside.next_node_destination())
        return None if stop.reason is Reason.NODE else stop

    def _finish(self) -> Stop:
        with self._resumable() as inside:
            stack = inside.active_loops()
            if stack:
                return inside.run_to(destinations.LoopEndDestination(stack[-1]))
            return inside.run_to(
                destinations.AnyBoundaryDestination() if inside.engine.stack else destinations.ModelEndDestination()
            )

    def _back(self, count: int) -> tuple[Stop, int]:
        made = [count]
        with self._internals.session_lock.hold():
            return self._internals.travel(lambda: made.append(self._internals.timeline.back(count))), made[-1]

    def _back_node(self) -> Stop:
        with self._internals.session_lock.hold():
            return self._internals.travel(self._internals.timeline.back_node)


@public
def debug(model: Any, inputs: Mapping[str, Data] | None = None, *, max_iterations: int | None = None) -> Session:
    """Start a session on a model, or on what :func:`load` takes, stopped before iteration 0 of its first loop.

    ``inputs``: by name, anything that ``np.asarray`` takes where that loses nothing. ``max_iterations``: the most
    iterations of a loop before a command stops there; None: no limit.

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
