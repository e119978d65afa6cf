"""A recorded run under the debugger: everything but execution.

A replay stands at recorded boundaries and goes from one to another, in either direction.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.model import Data
from ..breakpoints.location_parser import MAX_ITERATION
from ..session.session_base import SessionBase
from ..session.stop import Reason, Stop, no_iteration_text
from .queries import BoundaryFilter
from .reader import Trace
from .recorded_frames import RecordedFrame
from .replay_controller import ReplayController


@public_class
class Replay(SessionBase):
    """A recording, standing at one of its boundaries; at first before iteration 0 of the first loop.

    It is used as a :class:`~..session.session.Session` is; what would have to run something is a :class:`UsageError`.

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
        """What is replayed.

        >>> loopdbg.Replay(trace).trace is trace
        True
        """
        return self._trace

    @property
    def frame(self) -> RecordedFrame:
        """The innermost loop that ran here; at the end the loop that ended last.

        >>> replay.frame
        <RecordedFrame main ▸ sqrt, before iteration 0>
        """
        return self._internals.frame

    @property
    def frames(self) -> list[RecordedFrame]:
        """All loops that ran here, outermost first, the main graph before them.

        >>> [frame.path for frame in replay.frames]
        ['main', 'main ▸ sqrt']
        """
        return self._internals.frames

    # -- on

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """Go to the first boundary.

        >>> _ = replay.step(3)
        >>> replay.restart().text
        "before iteration 0 of loop 'sqrt'"
        """
        if inputs:
            self._internals.refuse("giving other inputs")
        inside = self._internals
        with inside.session_lock.hold():
            return inside.go_to_first()

    def step(self, count: int = 1) -> Stop:
        """To the next recorded boundary of this loop, ``count`` times; from a loop's end to that of any loop.

        >>> replay.step(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        return self._repeat(count, self._step)

    def _step(self) -> Stop:
        inside = self._internals
        with inside.session_lock.hold():
            mark = inside.require_boundary("step")
            following = None if mark.ended else inside.adjacent_boundary(mark, 1)
            return inside.run_to(following or inside.next_boundary(mark))

    def into(self) -> Stop:
        """To the next recorded boundary of any loop: down into a loop inside this one.

        >>> replay.into().text
        "before iteration 1 of loop 'sqrt'"
        """
        inside = self._internals
        with inside.session_lock.hold():
            return inside.run_to(inside.next_boundary(inside.require_boundary("go on")))

    def finish(self, count: int = 1) -> Stop:
        """To the end of this loop; at its end already: to the end of the loop around it. ``count``: so many loops, from
        the inside out.

        >>> replay.finish().text
        "loop 'sqrt' ends after 5 iterations: the condition is false"
        """
        return self._repeat(count, self._finish)

    def _finish(self) -> Stop:
        inside = self._internals
        with inside.session_lock.hold():
            mark = inside.running_boundary(inside.require_boundary("finish"))
            if mark is None:
                return inside.run_to(inside.next_boundary(inside.require_boundary("finish")))
            end = inside.trace.boundary_ref(BoundaryFilter(entry=mark.entry), newest=True)
            # A loop that was cut off has no end.
            return inside.run_to(end if end is not None and end.ended else None)

    def until(self, where: int | str) -> Stop:
        """On to the first recorded boundary of this entry from that iteration on, or to the loop's end; to a place in
        the words of ``breakpoints.add``, or to what stops before it.

        Raises:
            UsageError: the iteration is not ahead, no loop is running, or there is no such place.

        >>> replay.until(3).text
        "before iteration 3 of loop 'sqrt'"
        """
        return super().until(where)

    def _run_to_iteration(self, iteration: int) -> Stop:
        inside = self._internals
        with inside.session_lock.hold():
            mark = inside.running_boundary(inside.require_boundary("go on"))
            if mark is None:
                raise UsageError("no loop is running here; until needs one")
            if iteration <= mark.iteration:
                raise UsageError(f"iteration {iteration} is not ahead of {mark.iteration}; goto {iteration} goes back")
            found = inside.trace.boundary_ref(BoundaryFilter(entry=mark.entry, above=mark.iteration, until=iteration))
            return inside.run_to(found)

    def continue_(self) -> Stop:
        """To the next recorded boundary at which a breakpoint hits, or to the end of the recording.

        >>> replay.continue_().reason
        <Reason.DONE: 'done'>
        """
        inside = self._internals
        with inside.session_lock.hold():
            inside.require_boundary("go on")
            return inside.run_to(None)

    # -- back

    def back(self, count: int = 1) -> Stop:
        """To the previous recorded boundary of this loop, up to ``count`` times; from its entry to that of any loop.

        Raises:
            UsageError: there is nothing before.

        >>> _ = replay.step(4)
        >>> replay.back(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        return self._repeat(count, self._back, back=True)

    def _back(self) -> Stop:
        inside = self._internals
        with inside.session_lock.hold():
            if self.done:
                return inside.go_to(inside.last_boundary())
            mark = inside.require_boundary("go back")
            before = inside.adjacent_boundary(mark, -1) or inside.trace.boundary_ref(
                BoundaryFilter(before=mark.id), newest=True
            )
            if before is None:
                raise UsageError("this is the first boundary of the recording; there is nothing before")
            return inside.go_to(before)

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary before that iteration, of the loop and entry where the replay stands; breakpoints in
        between do not stop it.

        Raises:
            UsageError: there is no such boundary, or it was not recorded.

        >>> replay.goto(4).text, replay.goto(1).text
        ("before iteration 4 of loop 'sqrt'", "before iteration 1 of loop 'sqrt'")
        """
        if not 0 <= iteration <= MAX_ITERATION:
            raise UsageError(f"there is no iteration {iteration}")
        inside = self._internals
        with inside.session_lock.hold():
            mark = inside.boundary or inside.require_boundary("go there")
            found = inside.trace.boundary_ref(BoundaryFilter(entry=mark.entry, iteration=iteration))
            if found is not None:
                return inside.go_to(found)
            below = inside.trace.boundary_ref(BoundaryFilter(entry=mark.entry, below=iteration), newest=True)
            above = inside.trace.boundary_ref(BoundaryFilter(entry=mark.entry, above=iteration))
            loop = self.frame.loop
            assert loop is not None
            if below is not None and above is None and below.ended is not None:
                why = no_iteration_text(loop, iteration, below.iteration)
                if mark.id != below.id:
                    # As a run, which has to get there to find out.
                    inside.go_to(below)
                    why += ", where the session stands now"
                raise UsageError(why)
            near = " and ".join(str(one.iteration) for one in (below, above) if one is not None)
            raise UsageError(
                f"iteration {iteration} of loop '{loop.name}' is not recorded here; the nearest are {near}"
            )

    def reverse_continue(self) -> Stop:
        """Go back to the last recorded boundary before this at which a breakpoint hits; without one to the first.

        >>> _ = replay.breakpoints.add("iter 2")
        >>> _ = replay.finish(), replay.finish()
        >>> replay.reverse_continue().text
        "breakpoint 1 (iter 2): before iteration 2 of loop 'sqrt'"
        """
        inside = self._internals
        with inside.session_lock.hold():
            here = inside.boundary
            if inside.search_hit(BoundaryFilter(before=0 if here is None else here.id + self.done), back=True):
                return self.stop
            stop = inside.go_to_first()
            if here is not None:
                inside.stop = stop = Stop(Reason.START, f"no breakpoint would have stopped before; {stop.text}")
            return stop
