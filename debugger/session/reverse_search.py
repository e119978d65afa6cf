"""The last position of a piece of time at which something is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ...runtime.engine.engine import Engine
from ...runtime.engine.history.checkpoints import Checkpoint
from ...runtime.errors import InterruptError
from .positions import Position, loop_levels, run_to, set_next_stop

#: So many hits are looked at one after the other; where there are more, the time that is left is halved.
LINEAR_SEARCH_MAX_HITS = 16

Hits = TypeVar("Hits")


def iterations_of_ended_loops(engine: Engine) -> dict[int, int]:
    """ENTER of each loop of the main graph that ran and was left -> its iterations."""
    running = set(engine.stack)
    return {
        plan.enter: engine.loop_state(plan.index)[0]
        for plan in engine.plan.loops
        if plan.parent < 0 and plan.index not in running and engine.loops.totals(plan.index)[1]
    }


class ReverseSearch(Generic[Hits]):
    """A search from a checkpoint to a position.

    ``arm`` asks the engine to stop where something may be found, and at further instructions, until ``disarm``;
    ``test`` decides about a stop; ``restored`` is called where the engine was put elsewhere. ``ended``: see
    :func:`iterations_of_ended_loops`.
    """

    def __init__(
        self,
        engine: Engine,
        arm: Callable[[tuple[int, ...]], None],
        disarm: Callable[[], None],
        restored: Callable[[], None],
        test: Callable[[], Hits | None],
        ended: Mapping[int, int],
    ) -> None:
        self.engine = engine
        self._arm, self._disarm, self._on_restore, self._test, self._ended_loops = arm, disarm, restored, test, ended

    def find_last_hit(self, checkpoint: Checkpoint, end: Position, here: Position) -> tuple[Position, Hits] | None:
        """The last one up to ``end``, but before ``here``. The engine stands somewhere on the way then.

        Raises:
            InterruptError: somebody called ``Engine.interrupt``.
        """
        self._restore_at(checkpoint, checkpoint.position)
        last = None
        for _ in range(LINEAR_SEARCH_MAX_HITS):
            found = self._next_hit(end, here)
            if found is None:
                return last
            last = found
        # Halving begins at the last hit that is known, so that all of it takes as long as the time that is left.
        nearest = self.engine.checkpoints.save()
        while last is not None and (middle := self._midpoint(last[0], end)) is not None:
            self._restore_at(nearest, middle)
            found = self._next_hit(end, here)
            if found is None:
                end = middle
            else:
                last, nearest = found, self.engine.checkpoints.save()
        if last is not None:
            self._restore_at(nearest, last[0])
        while (found := self._next_hit(end, here)) is not None:
            last = found
        return last

    def _restore_at(self, checkpoint: Checkpoint, position: Position) -> None:
        self._disarm()
        self.engine.checkpoints.restore(checkpoint)
        run_to(self.engine, position)
        self._on_restore()

    def _next_hit(self, end: Position, here: Position) -> tuple[Position, Hits] | None:
        """The next one up to ``end``; None: there is none, and the engine stands there."""
        engine = self.engine
        try:
            while engine.position < end:
                engine.clear_stops()
                trap = set_next_stop(engine, end)
                self._arm(() if trap is None else (trap,))
                what, _ = engine.resume()
                if what == "interrupt":
                    raise InterruptError("interrupted while going back")
                if what in ("node", "boundary", "predicate") and engine.position < here:
                    found = self._test()
                    if found is not None:
                        return engine.position, found
        finally:
            engine.clear_stops()
        return None

    def _midpoint(self, start: Position, end: Position) -> Position | None:
        """A boundary between two positions, in the outermost loop in which they are apart; None: no more is known."""
        first, last = loop_levels(start), loop_levels(end)
        level = next((k for k, pair in enumerate(first) if last[k : k + 1] != [pair]), len(first))
        if level == len(first):
            return None
        enter, iteration = first[level]
        if level < len(last) and last[level][0] == enter:
            behind = last[level][1]
        elif level == 0 and enter in self._ended_loops:
            behind = self._ended_loops[enter]
        else:
            return None
        plan = self.engine.plan.loops[self.engine.plan.code[enter].loop]
        middle = (*start[: 2 * level], enter, max((iteration + behind) // 2, iteration + 1), plan.head)
        return middle if start < middle < end and middle[2 * level + 1] <= behind else None
