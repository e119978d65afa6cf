"""Replay sessions: recorded runs under the debugger, without execution.

A replay moves between recorded boundaries, in either direction.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.model import Data
from ..breakpoints.location_parser import MAX_ITERATION
from ..session.session_base import SessionBase
from ..session.session_frames import SessionFrame
from ..session.stop import Stop, no_hit_stop, no_iteration_text
from .queries import BoundaryFilter
from .reader import Trace
from .replay_controller import ReplayController


@public_class
class Replay(SessionBase):
    """A recording with a current boundary; it begins before iteration 0 of the first loop.

    It has the interface of :class:`~..session.session.Session`; commands that need execution raise :class:`UsageError`.

    >>> replay = loopdbg.Replay(trace)
    >>> replay.goto(3).text, replay.frame.carried["x"]
    ("before iteration 3 of loop 'sqrt'", array(1.4142157, dtype=float32))
    """

    _internals: ReplayController

    def __init__(self, trace: Trace) -> None:
        super().__init__(ReplayController(trace._internals))
        self._trace = trace
        self.restart()

    def __repr__(self) -> str:
        return "<Replay, closed>" if self.closed else f"<Replay {self.trace.path}: {self.stop.text}>"

    @property
    def trace(self) -> Trace:
        """The trace of this replay.

        >>> loopdbg.Replay(trace).trace is trace
        True
        """
        return self._trace

    @property
    def frame(self) -> SessionFrame:
        """The frame of the innermost running loop; at the end of the loop that ended last.

        >>> replay.frame
        <Frame main ▸ sqrt, before iteration 0>
        """
        return SessionFrame(self._internals.frame)

    @property
    def frames(self) -> list[SessionFrame]:
        """The frames of the main graph and of all running loops, outermost first.

        >>> [frame.path for frame in replay.frames]
        ['main', 'main ▸ sqrt']
        """
        return [SessionFrame(reader) for reader in self._internals.frames]

    # -- forward

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """Go to the first boundary.

        >>> _ = replay.step(3)
        >>> replay.restart().text
        "before iteration 0 of loop 'sqrt'"
        """
        if inputs:
            self._internals.refuse("giving other inputs")
        control = self._internals
        with control.session_lock.hold():
            return control.go_to_first()

    def step(self, count: int = 1) -> Stop:
        """Go to the next recorded boundary of this loop, ``count`` times; from a loop's end to that of any loop.

        >>> replay.step(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        return self._repeat(count, self._step)

    def _step(self) -> Stop:
        control = self._internals
        with control.session_lock.hold():
            ref = control.require_boundary("step")
            target = None if ref.ended else control.adjacent_boundary(ref, 1)
            return control.run_to(target or control.next_boundary(ref))

    def into(self) -> Stop:
        """Go to the next recorded boundary of any loop, possibly of an inner loop.

        >>> replay.into().text
        "before iteration 1 of loop 'sqrt'"
        """
        control = self._internals
        with control.session_lock.hold():
            return control.run_to(control.next_boundary(control.require_boundary("go on")))

    def finish(self, count: int = 1) -> Stop:
        """Go to the end of this loop; from there, to the end of the enclosing loop. ``count``: number of loops,
        innermost first.

        >>> replay.finish().text
        "loop 'sqrt' ends after 5 iterations: the condition is false"
        """
        return self._repeat(count, self._finish)

    def _finish(self) -> Stop:
        control = self._internals
        with control.session_lock.hold():
            ref = control.running_boundary(control.require_boundary("finish"))
            if ref is None:
                return control.run_to(control.next_boundary(control.require_boundary("finish")))
            end = control.trace.boundary_ref(BoundaryFilter(entry=ref.entry), newest=True)
            # A loop of an incomplete recording may have no end.
            return control.run_to(end if end is not None and end.ended else None)

    def until(self, where: int | str) -> Stop:
        """Go to the first recorded boundary of this entry at or after an iteration, or to the loop's end; or to a
        location in the syntax of ``breakpoints.add``, or an earlier stop.

        Raises:
            UsageError: the iteration is not ahead, no loop is running, or there is no such location.

        >>> replay.until(3).text
        "before iteration 3 of loop 'sqrt'"
        """
        return super().until(where)

    def _run_to_iteration(self, iteration: int) -> Stop:
        control = self._internals
        with control.session_lock.hold():
            ref = control.running_boundary(control.require_boundary("go on"))
            if ref is None:
                raise UsageError("no loop is running here; until needs one")
            if iteration <= ref.iteration:
                raise UsageError(f"iteration {iteration} is not ahead of {ref.iteration}; goto {iteration} goes back")
            target = control.trace.boundary_ref(BoundaryFilter(entry=ref.entry, above=ref.iteration, until=iteration))
            return control.run_to(target)

    def continue_(self) -> Stop:
        """Go to the next recorded boundary with a breakpoint hit, or to the end of the recording.

        >>> replay.continue_().reason
        <Reason.DONE: 'done'>
        """
        control = self._internals
        with control.session_lock.hold():
            control.require_boundary("go on")
            return control.run_to(None)

    # -- backward

    def back(self, count: int = 1) -> Stop:
        """Go to the previous recorded boundary of this loop, up to ``count`` times; from its entry to that of any loop.

        Raises:
            UsageError: there is nothing before.

        >>> _ = replay.step(4)
        >>> replay.back(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        return self._repeat(count, self._back, back=True)

    def _back(self) -> Stop:
        control = self._internals
        with control.session_lock.hold():
            if self.done:
                return control.go_to(control.last_boundary())
            ref = control.require_boundary("go back")
            previous = control.adjacent_boundary(ref, -1) or control.trace.boundary_ref(
                BoundaryFilter(before=ref.id), newest=True
            )
            if previous is None:
                raise UsageError("this is the first boundary of the recording; there is nothing before")
            return control.go_to(previous)

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary before an iteration of the current loop entry; ignores breakpoints in between.

        Raises:
            UsageError: there is no such boundary, or it was not recorded.

        >>> replay.goto(4).text, replay.goto(1).text
        ("before iteration 4 of loop 'sqrt'", "before iteration 1 of loop 'sqrt'")
        """
        if not 0 <= iteration <= MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}")
        control = self._internals
        with control.session_lock.hold():
            ref = control.boundary or control.require_boundary("go there")
            target = control.trace.boundary_ref(BoundaryFilter(entry=ref.entry, iteration=iteration))
            if target is not None:
                return control.go_to(target)
            below = control.trace.boundary_ref(BoundaryFilter(entry=ref.entry, below=iteration), newest=True)
            above = control.trace.boundary_ref(BoundaryFilter(entry=ref.entry, above=iteration))
            loop = control.frame.loop
            assert loop is not None
            if below is not None and above is None and below.ended is not None:
                message = no_iteration_text(loop, iteration, below.iteration)
                if ref.id != below.id:
                    # As a live session, which must run to the end to detect this.
                    control.go_to(below)
                    message += ", where the session is now"
                raise UsageError(message)
            nearest = " and ".join(str(r.iteration) for r in (below, above) if r is not None)
            raise UsageError(
                f"iteration {iteration} of loop '{loop.name}' is not recorded here; the nearest are {nearest}"
            )

    def reverse_continue(self) -> Stop:
        """Go back to the last earlier recorded boundary with a breakpoint hit; without one to the first boundary.

        >>> _ = replay.breakpoints.add("iter 2")
        >>> _ = replay.finish(), replay.finish()
        >>> replay.reverse_continue().text
        "breakpoint 1 (iter 2): before iteration 2 of loop 'sqrt'"
        """
        control = self._internals
        with control.session_lock.hold():
            current = control.boundary
            if control.search_hit(BoundaryFilter(before=0 if current is None else current.id + self.done), back=True):
                return self.stop
            stop = control.go_to_first()
            if current is not None:
                control.stop = stop = no_hit_stop(stop)
            return stop
