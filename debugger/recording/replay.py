"""A recorded run under the debugger: everything but execution.

A replay stands at recorded boundaries and goes from one to another, in either direction.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.model import Data
from ..breakpoints.locations import LAST
from ..session.debuggee import Debuggee
from ..session.stop import Reason, Stop, no_iteration
from .frames import RecordedFrame
from .queries import Which
from .reader import Trace
from .replaying import Replaying


@public_class
class Replay(Debuggee):
    """A recording, standing at one of its boundaries; at first before iteration 0 of the first loop.

    It is used as a :class:`~..session.session.Session` is; what would have to run something is a :class:`UsageError`.

    >>> replay = loopdbg.Replay(trace)
    >>> replay.goto(3).text, replay.frame.carried["x"]
    ("before iteration 3 of loop 'sqrt'", array(1.4142157, dtype=float32))
    """

    _inside: Replaying

    def __init__(self, trace: Trace) -> None:
        super().__init__(Replaying(trace._inside))
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
        return self._inside.frame

    @property
    def frames(self) -> list[RecordedFrame]:
        """All loops that ran here, outermost first, the main graph before them.

        >>> [frame.path for frame in replay.frames]
        ['main', 'main ▸ sqrt']
        """
        return self._inside.frames

    # -- on

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """Go to the first boundary.

        >>> _ = replay.step(3)
        >>> replay.restart().text
        "before iteration 0 of loop 'sqrt'"
        """
        if inputs:
            self._inside.refuse("giving other inputs")
        inside = self._inside
        with inside.turns.turn():
            return inside.to_first()

    def step(self, count: int = 1) -> Stop:
        """To the next recorded boundary of this loop, ``count`` times; from a loop's end to that of any loop.

        >>> replay.step(2).text
        "before iteration 2 of loop 'sqrt'"
        """
        return self._repeat(count, self._step)

    def _step(self) -> Stop:
        inside = self._inside
        with inside.turns.turn():
            mark = inside.current("step")
            following = None if mark.ended else inside.in_entry(mark, 1)
            return inside.advance(following or inside.after(mark))

    def into(self) -> Stop:
        """To the next recorded boundary of any loop: down into a loop inside this one.

        >>> replay.into().text
        "before iteration 1 of loop 'sqrt'"
        """
        inside = self._inside
        with inside.turns.turn():
            return inside.advance(inside.after(inside.current("go on")))

    def finish(self, count: int = 1) -> Stop:
        """To the end of this loop; at its end already: to the end of the loop around it. ``count``: so many loops, from
        the inside out.

        >>> replay.finish().text
        "loop 'sqrt' ends after 5 iterations: the condition is false"
        """
        return self._repeat(count, self._finish)

    def _finish(self) -> Stop:
        inside = self._inside
        with inside.turns.turn():
            mark = inside.running_mark(inside.current("finish"))
            if mark is None:
                return inside.advance(inside.after(inside.current("finish")))
            end = inside.trace.mark(Which(entry=mark.entry), newest=True)
            # A loop that was cut off has no end.
            return inside.advance(end if end is not None and end.ended else None)

    def until(self, where: int | str) -> Stop:
        """On to the first recorded boundary of this entry from that iteration on, or to the loop's end; to a place in
        the words of ``breakpoints.add``, or to what stops before it.

        Raises:
            UsageError: the iteration is not ahead, no loop is running, or there is no such place.

        >>> replay.until(3).text
        "before iteration 3 of loop 'sqrt'"
        """
        return super().until(where)

    def _to_iteration(self, iteration: int) -> Stop:
        inside = self._inside
        with inside.turns.turn():
            mark = inside.running_mark(inside.current("go on"))
            if mark is None:
                raise UsageError("no loop is running here; until needs one")
            if iteration <= mark.iteration:
                raise UsageError(f"iteration {iteration} is not ahead of {mark.iteration}; goto {iteration} goes back")
            found = inside.trace.mark(Which(entry=mark.entry, above=mark.iteration, until=iteration))
            return inside.advance(found)

    def continue_(self) -> Stop:
        """To the next recorded boundary at which a breakpoint hits, or to the end of the recording.

        >>> replay.continue_().reason
        <Reason.DONE: 'done'>
        """
        inside = self._inside
        with inside.turns.turn():
            inside.current("go on")
            return inside.advance(None)

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
        inside = self._inside
        with inside.turns.turn():
            if self.done:
                return inside.go(inside.last())
            mark = inside.current("go back")
            before = inside.in_entry(mark, -1) or inside.trace.mark(Which(before=mark.id), newest=True)
            if before is None:
                raise UsageError("this is the first boundary of the recording; there is nothing before")
            return inside.go(before)

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary before that iteration, of the loop and entry where the replay stands; breakpoints in
        between do not stop it.

        Raises:
            UsageError: there is no such boundary, or it was not recorded.

        >>> replay.goto(4).text, replay.goto(1).text
        ("before iteration 4 of loop 'sqrt'", "before iteration 1 of loop 'sqrt'")
        """
        if not 0 <= iteration <= LAST:
            raise UsageError(f"there is no iteration {iteration}")
        inside = self._inside
        with inside.turns.turn():
            mark = inside.mark or inside.current("go there")
            found = inside.trace.mark(Which(entry=mark.entry, iteration=iteration))
            if found is not None:
                return inside.go(found)
            below = inside.trace.mark(Which(entry=mark.entry, below=iteration), newest=True)
            above = inside.trace.mark(Which(entry=mark.entry, above=iteration))
            loop = self.frame.loop
            assert loop is not None
            if below is not None and above is None and below.ended is not None:
                why = no_iteration(loop, iteration, below.iteration)
                if mark.id != below.id:
                    # As a run, which has to get there to find out.
                    inside.go(below)
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
        inside = self._inside
        with inside.turns.turn():
            here = inside.mark
            if inside.look(Which(before=0 if here is None else here.id + self.done), back=True):
                return self.stop
            stop = inside.to_first()
            if here is not None:
                inside.stop = stop = Stop(Reason.START, f"no breakpoint would have stopped before; {stop.text}")
            return stop
